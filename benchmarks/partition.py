"""Sampling from the posterior over DAGs: speed of the moves, and price beside orders.

    python benchmarks/partition.py            # half an hour, estimated, on one core
    python benchmarks/partition.py --moves    # steps per second of each move alone
    python benchmarks/partition.py --quick    # a minute

The price: on the space that the iterative search ends with, extra parents allowed,
effective draws per second over orders, over DAGs with an order beside them (the default
of `PartitionMCMCStructure`) and over partitions, of the score and of the edges (the
median over edges with probabilities between 0.05 and 0.95 by the chain's own draws, and
the tenth part of them that mixes worst). A draw is taken after every 10 n steps, as in
versus.py. Chains of a graph run one after the other on the same tables, several of each
kind, whose effective draws per second of processor time are averaged: those of one
chain's score scatter by a third. The shares that are printed in the end are medians
over graphs of each kind's over that of orders.

The posteriors of orders and of DAGs differ, and so do the edges that are uncertain: a
mode that orders hardly weigh is one more that chains over DAGs have to find.
"""

import argparse
import time
import warnings
from functools import partial

import numpy as np
from common import (
    Table,
    best_of,
    chain_from_dag,
    draw_dags,
    effective_size,
    final_space,
    paper_score,
    tables_of,
    write_results,
)

from skbidag._chains import bit_generator
from skbidag._core._dag import DAGChain
from skbidag._core._partition import PartitionChain
from skbidag._core._tables import TableViews
from skbidag._partition import partition_of_dag
from skbidag.datasets import make_discrete_network, make_gaussian_network
from skbidag.scores import BDe, BGe

# Shares of the order chain's effective draws per second that are asked for: of the
# edges; of the score half of it
TARGETS = {20: 1 / 2, 60: 1 / 3, 100: 1 / 4, 200: 1 / 5}
MOVES = {
    "dag": ["redraw", "transposition", "swap", "relocation", "reversal", "reordering"],
    "partition": ["swap", "adjacent swap", "split or join", "relocation", "reversal"],
}
SCORES = {"paper": paper_score, "default": BGe}


def problem(n, kind, seed, score="paper"):
    """The search's result, and tables on its space."""
    if kind == "bge":
        data = make_gaussian_network(10 * n, n, random_state=seed).data
        score = SCORES[score]()
    else:
        data = make_discrete_network(10 * n, n, random_state=seed).data
        score = BDe(edge_penalty=1.0)
    search = final_space(score, data)
    return search, tables_of(search.score_, search.search_space_)


def time_moves(sizes, repeats):
    """Steps per second of each move alone, and of the default mixture."""
    table = Table("n:d kind:>9 data:>4 move:>15 steps_per_s:,.0f accepted:.3f")
    for n in sizes:
        for data in ("bge", "bde"):
            search, tables = problem(n, data, seed=0)
            views, dag = TableViews(tables), search.adjacency_
            for kind, names in MOVES.items():
                mixtures = dict(zip(names, np.eye(len(names)), strict=True))
                for name, moves in {**mixtures, "all": None}.items():
                    stream = bit_generator((0,), 0)
                    if moves is None:
                        chain = chain_from_dag(kind, tables, dag)
                    elif kind == "dag":
                        chain = DAGChain(views, stream, dag, moves)
                    else:
                        start = partition_of_dag(dag)
                        chain = PartitionChain(views, stream, start, moves)
                    n_steps = 20_000 if moves is None else 2000
                    seconds = best_of(partial(chain.run, n_steps), repeats)
                    accepted = chain.accepted_moves.sum() / chain.proposed_moves.sum()
                    table.add(
                        {
                            "n": n,
                            "kind": kind,
                            "data": data,
                            "move": name,
                            "steps_per_s": n_steps / seconds,
                            "accepted": accepted,
                        }
                    )


def effective_draws(chain, n, n_draws, thin):
    """Effective draws per second of the score, and of the edges; and how many."""
    chain.run(n_draws * thin // 10)
    began = time.process_time()
    packed, log_scores = draw_dags(chain, n, n_draws, thin)
    seconds = time.process_time() - began
    dags = np.unpackbits(packed, axis=-1, count=n)
    means = dags.mean(axis=0)
    uncertain = np.argwhere((means > 0.05) & (means < 0.95))
    sizes = [effective_size(dags[:, i, j]) for i, j in uncertain] or [np.nan]
    return {
        "seconds": seconds,
        "score": effective_size(log_scores) / seconds,
        "edges": float(np.median(sizes)) / seconds,
        "worst": float(np.quantile(sizes, 0.1)) / seconds,
        "uncertain": len(uncertain),
    }


def compare(arguments, note):
    """Effective draws per second of each kind, graph by graph; then shares."""
    table = Table(
        "n:d graph:d kind:>9 seconds:.1f uncertain:.0f score:.1f edges:.1f worst:.1f"
    )
    rows = []
    for n in arguments.sizes:
        for graph in range(arguments.graphs):
            search, tables = problem(n, "bge", 7000 + graph, arguments.score)
            for kind in ("order", "dag", "partition"):
                if kind == "partition" and n > arguments.largest_partition:
                    continue
                results = [
                    effective_draws(
                        chain_from_dag(kind, tables, search.adjacency_, seed),
                        n,
                        arguments.draws,
                        arguments.thin * n,
                    )
                    for seed in range(arguments.chains)
                ]
                row = {"n": n, "graph": graph, "kind": kind}
                row |= {
                    name: float(np.mean([result[name] for result in results]))
                    for name in results[0]
                }
                rows.append(row)
                table.add(row)
            write_results("price", rows, note=note)
    print(
        "\nShares of the order chain's effective draws per second, medians over graphs"
    )
    shares = Table("n:d kind:>9 edges:.2f asked:.2f score:.2f asked_2:.2f worst:.2f")
    for n in arguments.sizes:
        for kind in ("dag", "partition"):
            mine = [row for row in rows if (row["n"], row["kind"]) == (n, kind)]
            over = [row for row in rows if (row["n"], row["kind"]) == (n, "order")]
            if not mine:
                continue
            share = {
                name: float(
                    np.median(
                        [a[name] / b[name] for a, b in zip(mine, over, strict=True)]
                    )
                )
                for name in ("edges", "score", "worst")
            }
            asked = TARGETS.get(n, np.nan)
            shares.add(
                {"n": n, "kind": kind, **share, "asked": asked, "asked_2": asked / 2}
            )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--moves", action="store_true", help="speed of each move alone")
    parser.add_argument(
        "--repeats", type=int, default=7, help="of which the best counts"
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=list(TARGETS))
    parser.add_argument("--graphs", type=int, default=5, help="graphs of each size")
    parser.add_argument("--draws", type=int, default=10_000, help="draws of each chain")
    parser.add_argument("--chains", type=int, default=3, help="chains of each kind")
    parser.add_argument("--thin", type=int, default=10, help="steps between, over n")
    parser.add_argument("--score", choices=list(SCORES), default="paper")
    parser.add_argument(
        "--largest-partition",
        type=int,
        default=60,
        help="with more variables chains over partitions are left out",
    )
    parser.add_argument("--quick", action="store_true", help="to see that it works")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")  # permissible sets that are trimmed
    note = (
        f"draws every {arguments.thin} n steps, {arguments.score} score, "
        f"{arguments.chains} chains of {arguments.draws} draws"
    )
    if arguments.quick:
        note = "quick run, to be replaced"
        arguments.sizes, arguments.graphs, arguments.draws = [12], 2, 1000
        arguments.repeats = 2
    if arguments.moves:
        time_moves(arguments.sizes, arguments.repeats)
    else:
        compare(arguments, note)


if __name__ == "__main__":
    main()
