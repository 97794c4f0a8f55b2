"""Convergence: how far independent runs agree, by number of steps.

    python benchmarks/convergence.py            # 25 minutes, estimated, on one core
    python benchmarks/convergence.py --quick    # half a minute

The paper's figures 4 and S3: squared correlation, and root mean square difference, of
the edge probabilities of independent runs, over the edges that are more probable than
5 % by at least one of both, against the steps in units of n² ln n.
Erdős–Rényi graphs with two parents, ten rows per variable, strong effects. On the
space that the iterative search ends with, extra parents allowed, every run starts at
an order of its own, drawn at random, at the best DAG of such an order, or at the
partition that puts every node into a block of its own in it. After t steps a run's
probabilities are those of the DAGs drawn from the last 80 % of them. All pairs of runs
are compared.
"""

import argparse
import itertools
import math
import time

import numpy as np
from common import (
    Table,
    dag_chain,
    draw_dags,
    edge_means,
    final_space,
    order_chain,
    paper_score,
    partition_chain,
    tables_of,
    write_results,
)

from skbidag.datasets import make_gaussian_network
from skbidag.diagnostics import concordance

BURN_IN = 0.2
DRAWS_PER_UNIT = 100


def start_chain(method, tables, seed):
    """A chain at a random order, its best DAG, or its partition into single nodes."""
    n = len(tables)
    order = np.random.default_rng(seed).permutation(n)
    if method == "order":
        return order_chain(tables, order, seed)
    if method == "dag":
        return dag_chain(tables, tables.best_dag(order), seed)
    partition = np.empty(n, dtype=np.intp)
    partition[order] = np.arange(n)
    return partition_chain(tables, partition, seed)


def agreement(probabilities):
    """Squared correlation and root mean square difference of each pair of runs."""
    pairs = [concordance([a, b]) for a, b in itertools.combinations(probabilities, 2)]
    return np.array([(pair.r2[0, 1], pair.rmsd[0, 1]) for pair in pairs])


def run_setting(n, method, tables, graph, arguments):
    """Rows of one graph and method: one for each number of steps."""
    unit = n**2 * math.log(n)
    thin = max(1, round(unit / DRAWS_PER_UNIT))
    scales = [s for s in arguments.scales if s * DRAWS_PER_UNIT >= 5]
    n_draws = math.ceil(max(scales) * unit / thin)
    start = time.perf_counter()
    runs = [
        draw_dags(start_chain(method, tables, seed), n, n_draws, thin)[0]
        for seed in range(arguments.runs)
    ]
    seconds = (time.perf_counter() - start) / arguments.runs
    rows = []
    for scale in scales:
        last = max(1, round(scale * unit / thin))
        first = int(BURN_IN * last)
        pairs = agreement(np.stack([edge_means(run[first:last], n) for run in runs]))
        low, median, high = np.quantile(pairs, [0.25, 0.5, 0.75], axis=0)
        rows.append(
            {
                "n": n,
                "N": arguments.factor * n,
                "graph": graph,
                "method": method,
                "scaled_steps": float(scale),
                "steps": last * thin,
                "R2": float(median[0]),
                "R2_q1": float(low[0]),
                "R2_q3": float(high[0]),
                "RMSD": float(median[1]),
                "RMSD_q1": float(low[1]),
                "RMSD_q3": float(high[1]),
                "seconds": seconds * last / n_draws,
            }
        )
    return rows


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--sizes",
        type=int,
        nargs="+",
        default=[20, 40, 80],
        help="numbers of variables",
    )
    parser.add_argument("--graphs", type=int, default=5, help="graphs of each size")
    parser.add_argument("--runs", type=int, default=6, help="runs that are compared")
    parser.add_argument("--factor", type=int, default=10, help="rows are so many n")
    parser.add_argument(
        "--scales",
        type=float,
        nargs="+",
        default=[0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100],
        help="steps, in n² ln n",
    )
    parser.add_argument("--note", default="", help="to stand beside the results")
    parser.add_argument("--quick", action="store_true", help="to see that it works")
    arguments = parser.parse_args()
    note = arguments.note
    if arguments.quick:
        note = "quick run, to be replaced"
        arguments.sizes, arguments.graphs, arguments.runs = [10, 20], 1, 3
        arguments.scales = [0.1, 0.5, 2, 10]

    print("Agreement of edge probabilities of independent runs: median over pairs")
    table = Table(
        "n:.0f graph:.0f method:>9 scaled_steps:.1f steps:.0f R2:.4f RMSD:.4f "
        "seconds:.2f"
    )
    rows = []
    for n in arguments.sizes:
        for graph in range(arguments.graphs):
            X = make_gaussian_network(
                arguments.factor * n, n, random_state=1000 + graph
            ).data
            search = final_space(paper_score(), X)
            tables = tables_of(search.score_, search.search_space_)
            for method in ("order", "dag", "partition"):
                new = run_setting(n, method, tables, graph, arguments)
                for row in new:
                    table.add(row)
                rows += new
                write_results("convergence", rows, note=note)


if __name__ == "__main__":
    main()
