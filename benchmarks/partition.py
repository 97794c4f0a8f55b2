"""Speed of partition chains, and how well they mix beside order chains.

On the space that the iterative search ends with, extra parents allowed: steps per
second of each move and of the default mixture; how many lookups go beyond the
difference of two sums; effective draws per second of the score and of the edges
(the median over edges with probabilities between 0.05 and 0.95). Every speed is the
best of several runs on one core.
"""

import argparse
import sys
import warnings
from functools import partial

import numpy as np
from common import (
    best_of,
    draw_dags,
    effective_edges,
    effective_size,
    final_space,
    order_chain,
    paper_score,
    tables_of,
    timed,
)

from skbidag._chains import bit_generator, move_mixture
from skbidag._core._partition import PartitionChain
from skbidag._core._tables import TableViews
from skbidag._partition import partition_moves, partition_of_dag
from skbidag.datasets import make_discrete_network, make_gaussian_network
from skbidag.scores import BDe

TARGETS = {20: 400_000, 80: 150_000}  # steps per second, Gaussian, 10 n rows
MOVES = ["swap", "adjacent swap", "split or join", "relocation", "reversal"]


def problem(n, kind, rows_per_variable):
    """Tables and the best DAG of a data set's final space."""
    if kind == "bge":
        data = make_gaussian_network(rows_per_variable * n, n, random_state=0).data
        score = paper_score()
    else:
        data = make_discrete_network(rows_per_variable * n, n, random_state=0).data
        score = BDe(edge_penalty=1.0)
    search = final_space(score, data)
    return data, search, tables_of(search.score_, search.search_space_)


def time_moves(n, tables, adjacency, repeats):
    partition = partition_of_dag(adjacency)
    mixtures = dict(zip(MOVES, np.eye(len(MOVES)), strict=True))
    mixtures["default mixture"] = move_mixture("auto", partition_moves(n))
    for name, moves in mixtures.items():
        chain = PartitionChain(
            TableViews(tables), bit_generator((0,), 0), partition, moves
        )
        slow = name in ("relocation", "reversal")
        n_steps = 2000 if slow else 50_000
        rate = n_steps / best_of(partial(chain.run, n_steps), repeats)
        lookups, exact, rows, columns = chain.lookup_counts
        accepted = chain.accepted_moves.sum() / chain.proposed_moves.sum()
        print(
            f"  {name:<16}{rate:>12,.0f} steps/s  {100 * accepted:>5.1f} % accepted; "
            f"of all lookups {100 * exact / lookups:.2f} % exact, "
            f"{100 * rows / lookups:.4f} % new rows, "
            f"{100 * columns / lookups:.4f} % columns",
            flush=True,
        )
    return rate


def mixing(chain, n, n_draws, thin):
    """Effective draws per second: of the score, and the median over edges."""
    chain.run(n_draws * thin // 10)
    (packed, log_scores), seconds = timed(draw_dags, chain, n, n_draws, thin)
    edges = effective_edges(np.unpackbits(packed, axis=-1, count=n))
    return effective_size(log_scores) / seconds, edges / seconds, seconds


def compare_mixing(n, tables, adjacency, n_draws, thin, mixtures):
    partition = partition_of_dag(adjacency)
    order = np.argsort(partition, kind="stable")
    views = TableViews(tables)
    chains = {"order": order_chain(tables, order)}
    for moves in mixtures:
        chains[f"partition {moves}"] = PartitionChain(
            views, bit_generator((0,), 0), partition, move_mixture(moves, MOVES)
        )
    for name, chain in chains.items():
        score, edges, seconds = mixing(chain, n, n_draws, thin)
        print(
            f"  {name:<34} effective draws/s: score {score:>8.1f}, "
            f"edges {edges:>8.1f}  ({seconds:.1f} s)",
            flush=True,
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--draws", type=int, default=4000)
    parser.add_argument("--thin", type=int, default=100)
    parser.add_argument("--sizes", type=int, nargs="+", default=[20, 80])
    parser.add_argument("--tuning", action="store_true", help="compare mixtures")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    ok = True
    for n in arguments.sizes:
        for kind, rows in [("bge", 10), ("bge", 100), ("bde", 10), ("bde", 100)]:
            _, search, tables = problem(n, kind, rows)
            sizes = search.search_space_.sum(axis=0)
            print(
                f"n={n} {kind} {rows * n} rows: {sizes.mean():.1f} permissible parents "
                f"on average, at most {sizes.max()}"
            )
            rate = time_moves(n, tables, search.adjacency_, arguments.repeats)
            if (kind, rows) == ("bge", 10) and n in TARGETS:
                met = rate >= TARGETS[n]
                ok &= met
                print(f"  target {TARGETS[n]:,}: {'ok' if met else 'MISSED'}")
            mixtures = [partition_moves(n)]
            if arguments.tuning:
                mixtures += [
                    (2 * n, 2 * n, n, 12, 0),
                    (2 * n, 2 * n, n, 12, 12),
                    (2 * n, 2 * n, 0, 12, 1),
                    (2 * n, 2 * n, n, n, 1),
                ]
            compare_mixing(
                n, tables, search.adjacency_, arguments.draws, arguments.thin, mixtures
            )
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
