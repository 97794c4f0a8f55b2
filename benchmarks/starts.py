"""Whether chains over DAGs arrive at the same posterior from random starts.

    python benchmarks/starts.py                  # simulated, strong effects
    python benchmarks/starts.py --data DIR       # and the paper's own data sets
    python benchmarks/starts.py --quick          # a few seconds

On the space that the iterative search ends with, every chain begins at a random order
of its own. That is annealed, as the samplers do where no search tells where to begin
(`starting_orders`), and then the chain walks. None knows of the search's DAG, or of the
other chains. A chain has arrived if the mean log score of its draws and its edge
probabilities are those of the others within Monte Carlo error: the former within four
standard errors of the difference, and the root mean square difference of the latter at
most twice what their standard errors let expect.

`alone` counts chains that arrive without the annealing, from the same orders.
"""

import argparse
import math
import warnings
from pathlib import Path

import numpy as np
from common import (
    Table,
    dag_chain,
    draw_dags,
    effective_size,
    final_space,
    paper_score,
    tables_of,
    timed,
    write_results,
)

from skbidag._search import starting_orders
from skbidag.datasets import make_gaussian_network


def data_sets(arguments):
    """Names and data: simulated, and of the paper."""
    for n in arguments.sizes:
        for graph in range(arguments.graphs):
            data = make_gaussian_network(10 * n, n, random_state=8000 + graph).data
            yield f"n={n} graph {graph}", data
    if arguments.data:
        for path in sorted(Path(arguments.data).glob("n_80_*type_ERs*.npz")):
            yield path.stem.removeprefix("n_80_N_"), np.load(path)["X"]


def run(chain, n, n_steps, n_draws):
    """Draws after a burn-in of a fifth: edge indicators and log scores."""
    chain.run(n_steps // 5)
    packed, log_scores = draw_dags(
        chain, n, n_draws, max(1, n_steps * 4 // 5 // n_draws)
    )
    return np.unpackbits(packed, axis=-1, count=n).reshape(n_draws, -1), log_scores


def moments(draws):
    """Mean and squared standard error of each column."""
    means = draws.mean(axis=0)
    errors = np.zeros(draws.shape[1])
    for k in np.flatnonzero((means > 0) & (means < 1)):
        errors[k] = means[k] * (1 - means[k]) / effective_size(draws[:, k])
    return means, errors


def arrivals(runs):
    """Which chains have arrived, and the worst differences of scores and edges."""
    scores = np.array([log_scores.mean() for _, log_scores in runs])
    squares = np.array([s.var() / effective_size(s) for _, s in runs])
    means, errors = np.array([moments(dags) for dags, _ in runs]).swapaxes(0, 1)
    arrived, worst_score, worst_edges = [], 0.0, 0.0
    for k in range(len(runs)):
        others = np.arange(len(runs)) != k
        # the median of the others, lest one that is lost make all seem lost
        gap = scores[k] - np.median(scores[others])
        z = abs(gap) / math.sqrt(squares[k] + np.median(squares[others]))
        difference = means[k] - np.median(means[others], axis=0)
        expected = math.sqrt(np.mean(errors[k] + np.median(errors[others], axis=0)))
        ratio = math.sqrt(np.mean(difference**2)) / expected
        worst_score, worst_edges = max(worst_score, z), max(worst_edges, ratio)
        arrived.append(z <= 4 and ratio <= 2)
    return sum(arrived), worst_score, worst_edges


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", help="folder with the paper's data sets")
    parser.add_argument("--sizes", type=int, nargs="+", default=[40, 80])
    parser.add_argument("--graphs", type=int, default=3, help="graphs of each size")
    parser.add_argument("--chains", type=int, default=16)
    parser.add_argument(
        "--length", type=float, default=100.0, help="steps over n² ln n"
    )
    parser.add_argument("--quick", action="store_true", help="to see that it works")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")  # permissible sets that are trimmed
    note = ""
    if arguments.quick:
        note = "quick run, to be replaced"
        arguments.sizes, arguments.graphs, arguments.chains = [12], 1, 4
    table = Table(
        "data:>34 chains:d arrived:d alone:d score_z:.1f edges_ratio:.2f rmsd:.4f "
        "seconds:.2f"
    )
    rows = []
    for name, data in data_sets(arguments):
        n = data.shape[1]
        search = final_space(paper_score(), data)
        tables = tables_of(search.score_, search.search_space_)
        n_steps = int(arguments.length * n**2 * math.log(n))
        orders = [
            np.random.default_rng(k).permutation(n) for k in range(arguments.chains)
        ]
        annealed = starting_orders(tables, orders, (0,))

        def chains(starts, tables=tables, n=n, n_steps=n_steps):
            return [
                run(dag_chain(tables, tables.best_dag(order), k), n, n_steps, 1000)
                for k, order in enumerate(starts)
            ]

        runs, seconds = timed(chains, annealed)
        arrived, score_z, edges_ratio = arrivals(runs)
        means = np.array([dags.mean(axis=0) for dags, _ in runs])
        rows.append(
            {
                "data": name,
                "chains": len(runs),
                "arrived": arrived,
                "alone": arrivals(chains(orders))[0],
                "score_z": score_z,
                "edges_ratio": edges_ratio,
                "rmsd": float(np.sqrt(np.mean(means.var(axis=0)))),
                "seconds": seconds / len(runs),
            }
        )
        table.add(rows[-1])
        write_results("starts", rows, note=note)


if __name__ == "__main__":
    main()
