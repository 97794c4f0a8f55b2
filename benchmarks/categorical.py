"""Categorical data at equal time: error of edge probabilities against long runs.

    python benchmarks/categorical.py            # 25 minutes, estimated, on one core
    python benchmarks/categorical.py --quick    # a minute

Samples of 1000 rows of benchmark networks, BDe with an equivalent sample size of 1 and
a uniform prior over DAGs, on the space of the iterative search, extra parents allowed.
A chain starts at the search's DAG; of the time it is given (scores, tables and search
not counted: they are the same for all) the first fifth is burn-in. `rmse` is the root
mean square error of the probabilities of all edges, against the mean of two long runs
over DAGs, which differ from each other by `reference`. That of asia, whose space is
everything, is against exact probabilities (exact.py).
"""

import argparse
import time
import warnings

import numpy as np
from common import (
    Table,
    chain_from_dag,
    draw_dags,
    edge_means,
    final_space,
    tables_of,
    write_results,
)
from exact import edge_probabilities, local_scores

from skbidag.datasets import load_network
from skbidag.scores import BDe


def run(chain, n, seconds):
    """Edge means of a chain that runs for so many seconds of the processor."""
    start = time.thread_time()
    while time.thread_time() - start < 0.2 * seconds:
        chain.run(100)
    total, n_draws = np.zeros((n, n)), 0
    while n_draws == 0 or time.thread_time() - start < seconds:
        packed, _ = draw_dags(chain, n, 16, max(10, n))
        total += 16 * edge_means(packed, n)
        n_draws += 16
    return total / n_draws


def rmse(one, other):
    off_diagonal = ~np.eye(len(one), dtype=bool)
    return float(np.sqrt(np.mean((one - other)[off_diagonal] ** 2)))


def reference(score, search, tables, seconds):
    """Edge probabilities to compare with, and how well they are known."""
    n = len(tables)
    if search.search_space_.sum() == n * (n - 1) and n <= 10:
        return edge_probabilities(local_scores(search.score_)), 0.0
    one, other = (
        run(chain_from_dag("dag", tables, search.adjacency_, seed), n, seconds)
        for seed in (1000, 1001)
    )
    return (one + other) / 2, rmse(one, other)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--networks",
        nargs="+",
        default=["asia", "child", "insurance", "alarm", "hailfinder"],
    )
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--seconds", type=float, nargs="+", default=[1, 3, 10])
    parser.add_argument("--repeats", type=int, default=3, help="chains of each kind")
    parser.add_argument(
        "--reference", type=float, default=100.0, help="seconds of a long run"
    )
    parser.add_argument("--quick", action="store_true", help="to see that it works")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    note = ""
    if arguments.quick:
        note = "quick run, to be replaced"
        arguments.networks, arguments.seconds = ["asia"], [0.3]
        arguments.repeats, arguments.reference = 1, 1.0
    table = Table(
        "network:>10 n:d kind:>9 seconds:.0f rmse:.5f worst:.5f reference:.5f"
    )
    rows = []
    for name in arguments.networks:
        network = load_network(name)
        n = len(network.adjacency)
        score = BDe(edge_penalty=1.0)
        search = final_space(score, network.sample(arguments.rows, random_state=0))
        tables = tables_of(search.score_, search.search_space_)
        known, uncertainty = reference(score, search, tables, arguments.reference)
        for kind in ("dag", "partition"):
            for seconds in arguments.seconds:
                errors = []
                for repeat in range(arguments.repeats):
                    chain = chain_from_dag(kind, tables, search.adjacency_, repeat)
                    errors.append(rmse(run(chain, n, seconds), known))
                rows.append(
                    {
                        "network": name,
                        "n": n,
                        "kind": kind,
                        "seconds": seconds,
                        "rmse": float(np.median(errors)),
                        "worst": max(errors),
                        "reference": uncertainty,
                    }
                )
                table.add(rows[-1])
                write_results("categorical", rows, note=note)


if __name__ == "__main__":
    main()
