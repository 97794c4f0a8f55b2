"""Mixed data: the conditional Gaussian score beside what else one would do.

Half of the columns are categorical, with two to four levels. Two kinds of networks:

conditional   categories given their parents by a softmax, numbers linear in those of
              their parents that are numbers, with coefficients, means and noise of
              each cell of categories
latent        a linear Gaussian network, half of whose variables are cut into categories

Methods: "mixed" is ``score="auto"``; "categories" cuts the numbers into thirds and uses
BDe; "numbers" takes the categories' codes as numbers and uses BGe; "pgmpy" is its hill
climbing with the BIC of conditional Gaussian networks, within a limit of time and on
two graphs of each setting. The others sample orders with the defaults, and their edges
are ranked by probability.

    python benchmarks/mixed.py            # results/mixed.csv, an hour
    python benchmarks/mixed.py --quick
    python benchmarks/mixed.py --n 40 --rows 1000 --graphs 3
    python benchmarks/mixed.py --times    # tables beside BGe's, and the search

Average precision ("ap") and structural Hamming distance ("shd") are of CPDAGs.
"""

import argparse
import time
import warnings
from functools import partial
from itertools import product

import numpy as np
import pandas as pd
from common import Table, best_of, earlier_results, in_process, write_results

from skbidag import IterativeSearchStructure, OrderMCMCStructure, graphs
from skbidag.datasets import make_gaussian_network
from skbidag.graphs import topological_order
from skbidag.metrics import edge_average_precision, structural_hamming_distance
from skbidag.scores import BGe, ConditionalGaussian

KINDS = ("conditional", "latent")
SIZES, N_GRAPHS = ((10, 200), (10, 1000), (10, 5000), (40, 200), (40, 1000)), 6
PEER_SECONDS, PEER_GRAPHS = 60, 2


def make_network(kind, n, n_rows, seed):
    """A mixed frame and the DAG it is from."""
    rng = np.random.default_rng(seed)
    made = make_gaussian_network(
        n_rows,
        n,
        expected_parents=1.5,
        strengths=(0.4, 1.5),
        signs="random",
        random_state=int(rng.integers(2**31)),
    )
    A = made.adjacency
    categorical = np.zeros(n, dtype=bool)
    categorical[rng.permutation(n)[: n // 2]] = True
    levels = np.where(categorical, rng.integers(2, 5, n), 0)
    values = np.array(made.data, dtype=float)
    if kind == "latent":
        for j in np.flatnonzero(categorical):
            cuts = np.quantile(
                values[:, j], np.sort(rng.uniform(0.1, 0.9, levels[j] - 1))
            )
            values[:, j] = np.searchsorted(cuts, values[:, j])
    else:
        for j in topological_order(A):
            values[:, j] = conditional_column(rng, values, A[:, j], levels, j)
    frame = pd.DataFrame(values, columns=[f"x{j}" for j in range(n)])
    for j in np.flatnonzero(categorical):
        frame[f"x{j}"] = pd.Categorical(
            frame[f"x{j}"].astype(int),
            categories=range(levels[j]),
            ordered=kind == "latent",
        )
    return frame, A, categorical


def conditional_column(rng, values, parents, levels, j):
    """Draw a column given those of its parents."""
    dividers = np.flatnonzero(parents & (levels > 0))
    numbers = np.flatnonzero(parents & (levels == 0))
    shape = tuple(levels[dividers])
    cell = np.zeros(len(values), dtype=int)
    if len(dividers):
        cell = np.ravel_multi_index(tuple(values[:, dividers].astype(int).T), shape)
    n_cells, x = int(np.prod(shape)), values[:, numbers]
    if levels[j]:
        means = rng.normal(scale=1.2, size=(n_cells, levels[j]))
        slopes = rng.normal(scale=1.2, size=(len(numbers), levels[j]))
        return np.argmax(
            means[cell] + x @ slopes + rng.gumbel(size=(len(x), levels[j])), axis=1
        )
    means, spread = rng.normal(size=n_cells), np.exp(0.3 * rng.normal(size=n_cells))
    slopes = rng.uniform(0.4, 1.5, len(numbers)) * rng.choice([-1, 1], len(numbers))
    slopes = slopes + 0.3 * rng.normal(size=(n_cells, len(numbers)))
    noise = spread[cell] * rng.normal(size=len(x))
    column = means[cell] + (x * slopes[cell]).sum(axis=1) + noise
    return (column - column.mean()) / column.std()


# ----------------------------------------------------------------------- the methods


def ours(frame, score="auto"):
    """Edge probabilities of CPDAGs, and the best one."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # on convergence: all have the same defaults
        model = OrderMCMCStructure(score, random_state=0).fit(frame)
    return model.edge_probabilities("cpdag"), model.cpdag_


def by_categories(frame, categorical):
    """The numbers cut into thirds."""
    cut = frame.copy()
    for name in frame.columns[~categorical]:
        cut[name] = pd.qcut(frame[name], 3, labels=False)
    return ours(cut.astype(int), "bde")


def by_numbers(frame, categorical):
    """The categories' codes as numbers."""
    return ours(frame.astype(float), "bge")


def by_pgmpy(frame, categorical):
    """Hill climbing with the BIC of conditional Gaussian networks."""
    from pgmpy.estimators import HillClimbSearch

    named = frame.copy()
    for name in frame.columns[categorical]:
        named[name] = frame[name].astype(str).astype("category")
    dag = HillClimbSearch(named).estimate(scoring_method="bic-cg", show_progress=False)
    n = len(frame.columns)
    found = np.zeros((n, n), dtype=bool)
    for i, j in dag.edges():
        found[int(i[1:]), int(j[1:])] = True
    cpdag = graphs.to_cpdag(found)
    return cpdag.astype(float), cpdag


METHODS = {
    "mixed": lambda frame, categorical: ours(frame),
    "categories": by_categories,
    "numbers": by_numbers,
}


def run(setting, n_graphs, seed, peers):
    """Rows of results of one setting."""
    kind, n, n_rows = setting
    rows, slow = [], set()
    for graph in range(n_graphs):
        frame, A, categorical = make_network(kind, n, n_rows, [seed, n, n_rows, graph])
        with_peers = peers and graph < PEER_GRAPHS
        for method in [*METHODS, *(["pgmpy"] if with_peers else [])]:
            row = dict(kind=kind, n=n, N=n_rows, graph=graph, method=method)
            if method in METHODS:
                began = time.perf_counter()
                probabilities, cpdag = METHODS[method](frame, categorical)
                row |= {"status": "ok", "seconds": time.perf_counter() - began}
            elif method in slow:
                continue
            else:
                outcome = in_process(by_pgmpy, frame, categorical, timeout=PEER_SECONDS)
                row["status"] = outcome["status"]
                if row["status"] != "ok":
                    slow.add(method)
                    rows.append(row)
                    continue
                row["seconds"] = outcome["seconds"]
                probabilities, cpdag = outcome["result"]
            row["ap"] = edge_average_precision(A, probabilities, "cpdag")
            row["shd"] = structural_hamming_distance(A, cpdag, "cpdag")
            rows.append(row)
    return rows


# --------------------------------------------------------------------------- times


def table_times(n=40, n_rows=1000, n_candidates=12):
    """Seconds of tables by how many candidates are binary, beside those of BGe."""
    frame, _, categorical = make_network("conditional", n, n_rows, [0, n, n_rows])
    X = frame.astype(float).to_numpy()
    X[:, categorical] = X[:, categorical] > 0
    mixed = ConditionalGaussian(edge_penalty=1.0, categorical_features=categorical)
    mixed, bge = mixed.fit(X), BGe(edge_penalty=1.0).fit(X)
    numbers, binary = np.flatnonzero(~categorical), np.flatnonzero(categorical)
    table = np.empty((2**n_candidates, n + 1))
    for child, kind in ((numbers[0], "number"), (binary[0], "category")):
        for n_binary in (0, 3, 6):
            candidates = np.concatenate(
                [binary[1 : 1 + n_binary], numbers[1 : 1 + n_candidates - n_binary]]
            )
            outsiders = np.setdiff1d(np.arange(n), [*candidates, child])
            seconds = [
                best_of(
                    partial(score.fill_table, child, candidates, outsiders, n, table),
                    5,
                    time.process_time,
                )
                for score in (mixed, bge)
            ]
            entries = len(table) * (len(outsiders) + 1)
            yield {
                "what": f"table of a {kind}",
                "binary": n_binary,
                "nanoseconds": 1e9 * seconds[0] / entries,
                "times_bge": seconds[0] / seconds[1],
            }


def search_times(n=40, n_rows=1000, n_graphs=5):
    """Seconds of the iterative search."""
    for graph in range(n_graphs):
        frame, *_ = make_network("conditional", n, n_rows, [2, n, n_rows, graph])
        search = IterativeSearchStructure(n_draws=0, random_state=0)
        began = time.process_time()
        search.fit(frame)
        yield {
            "what": f"search, {n} columns",
            "graph": graph,
            "seconds": time.process_time() - began,
        }


def print_times():
    """Tables and searches, as they come in."""
    table = Table("what:>20 binary:d nanoseconds:.1f times_bge:.1f graph:d seconds:.2f")
    rows = []
    for row in (*table_times(), *search_times()):
        rows.append(row)
        table.add(row)
    write_results("mixed_times", rows)


def summary(rows):
    """Means over graphs of each method."""
    for method in dict.fromkeys(row["method"] for row in rows):
        of_method = [row for row in rows if row["method"] == method]
        means = {
            key: float(
                np.mean([row[key] for row in of_method if key in row] or [np.nan])
            )
            for key in ("ap", "shd", "seconds")
        }
        yield {**of_method[0], **means, "graphs": len(of_method)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kind", nargs="+", default=KINDS, choices=KINDS)
    parser.add_argument("--n", type=int, nargs="+", help="columns")
    parser.add_argument("--rows", type=int, nargs="+", help="rows")
    parser.add_argument("--graphs", type=int, default=N_GRAPHS, help="of each setting")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--no-peers", action="store_true", help="without pgmpy")
    parser.add_argument("--times", action="store_true", help="of tables and searches")
    parser.add_argument(
        "--quick", action="store_true", help="two graphs of one setting, not written"
    )
    args = parser.parse_args()
    if args.times:
        print_times()
        return
    sizes = SIZES
    if args.n or args.rows:
        sizes = [*product(args.n or (10, 40), args.rows or (200, 1000, 5000))]
    if args.quick:
        sizes, args.graphs = [(10, 200)], 2
    settings = [(kind, *size) for kind, size in product(args.kind, sizes)]
    # what is not run again stays
    rows, note = earlier_results(
        "mixed",
        lambda row: (row["kind"], row["n"], row["N"]) not in settings,
        f"{' and '.join(args.kind)} networks",
    )
    table = Table("kind:>12 n:d N:d method:>12 graphs:d ap:.3f shd:.1f seconds:.2f")
    for setting in settings:
        found = run(setting, args.graphs, args.seed, not args.no_peers)
        rows += found
        for row in summary(found):
            table.add(row)
        if not args.quick:
            write_results("mixed", rows, packages=("pgmpy",), note=note)


if __name__ == "__main__":
    main()
