"""How long it takes to lay a network out, and how large the drawing gets.

Usage: python benchmarks/layout.py [--quick] [--write]

Random DAGs and the graphs without directions that they leave, boxes of five letters'
width; CPU seconds, the best of three (one, if it is a long one), and the size of the
drawing in units of the font's size. "layered" draws in layers whatever it takes, and is
left out with 500 nodes; "chosen" is what the displays and the report do, which draw
entangled graphs by distances. With --write the numbers become
benchmarks/results/layout.csv.
"""

import argparse
import time

import numpy as np
from common import Table, best_of, write_results

from skbidag.inspection import _layout

# Nodes, edges, and whether they have directions.
GRAPHS = [
    (37, 46, True),
    (100, 200, True),
    (100, 200, False),
    (200, 400, True),
    (200, 746, True),
    (200, 746, False),
    (500, 1000, True),
]
# More nodes than this are not laid out in layers.
MOST_LAYERED = 200


def random_graph(n_nodes, n_edges, directed):
    """A random DAG, or its skeleton."""
    rng = np.random.default_rng(n_nodes + n_edges)
    graph = np.zeros((n_nodes, n_nodes), dtype=bool)
    chosen = rng.permutation(n_nodes * (n_nodes - 1) // 2) < n_edges
    graph[np.triu_indices(n_nodes, 1)] = chosen
    shuffled = rng.permutation(n_nodes)
    graph = graph[np.ix_(shuffled, shuffled)]
    return graph if directed else graph | graph.T


def measure(way, n_nodes, n_edges, directed):
    """Seconds and size of one drawing."""
    graph = random_graph(n_nodes, n_edges, directed)
    usual = _layout.MOST_PLACES
    if way == "layered":
        _layout.MOST_PLACES = np.inf
    try:
        layouts = []
        seconds = best_of(
            lambda: layouts.append(
                _layout.layered_layout(graph, np.full(n_nodes, 5.0), 1.7, 1.2)
            ),
            1 if way == "layered" and n_nodes > 100 else 3,
            clock=time.process_time,
        )
    finally:
        _layout.MOST_PLACES = usual
    width, height = layouts[-1].size
    return {
        "way": way,
        "nodes": n_nodes,
        "edges": n_edges,
        "directed": int(directed),
        "seconds": seconds,
        "width": width,
        "height": height,
    }


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="the two smallest alone")
    parser.add_argument("--write", action="store_true", help="keep the results")
    args = parser.parse_args()
    columns = "way:>8 nodes:.0f edges:.0f directed:.0f seconds:.2f width:.0f height:.0f"
    table, rows = Table(columns), []
    for n_nodes, n_edges, directed in GRAPHS[:2] if args.quick else GRAPHS:
        for way in ("layered", "chosen"):
            if way == "layered" and n_nodes > MOST_LAYERED:
                continue
            row = measure(way, n_nodes, n_edges, directed)
            table.add(row)
            rows.append(row)
    if args.write:
        write_results("layout", rows)


if __name__ == "__main__":
    main()
