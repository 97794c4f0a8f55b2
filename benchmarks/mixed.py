"""Mixed data: the conditional Gaussian score beside what else one would do.

Half of the columns are categorical, with two to four levels. Two kinds of networks:

conditional   categories given their parents by a softmax, numbers linear in those of
              their parents that are numbers, with coefficients, means and noise of
              each cell of categories
latent        a linear Gaussian network, half of whose variables are cut into ordered
              categories, as ``pandas.cut`` does

Methods: "mixed" is ``score="auto"``; "nominal" is the same without the order of
categories (``ConditionalGaussian(ordinal=None)``), for latent networks; "categories"
cuts the numbers into thirds and uses BDe; "numbers" takes the categories' codes as
numbers and uses BGe. They sample orders with the defaults, and their edges are ranked
by probability.

Peers: "hc cg" is pgmpy's hill climbing with the BIC of conditional Gaussian networks,
"pc kci" and "pc rcit" are causal-learn's PC with its kernel test and with the faster
one (alpha 0.05), "ges cv" is its GES with the generalized score. A graph may take them
60 seconds, and of each setting they are asked about one graph after the other until 30
are spent. One that takes too long is not asked about larger tables of the same kind.
Seconds are of the processor.

    python benchmarks/mixed.py            # results/mixed.csv, about an hour
    python benchmarks/mixed.py --quick
    python benchmarks/mixed.py --n 40 --rows 1000 --graphs 3 --which ours
    python benchmarks/mixed.py --times    # tables beside BGe's, and the search

Average precision ("ap") and structural Hamming distance ("shd") are of CPDAGs.
"""

import argparse
import resource
import signal
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
# Numbers of columns, and how many graphs have so many
COLUMNS, ROWS = {10: 12, 20: 5, 40: 3}, (200, 1000, 5000)
# Seconds of a peer for one graph, and after which it gets no more of a setting
PEER_SECONDS, PEER_SPENT = 60, 30


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


def by_causal_learn(frame, test):
    """PC with a test by name; the codes of categories are numbers to it."""
    from causallearn.search.ConstraintBased.PC import pc

    X = frame.astype(float).to_numpy()
    found = pc(X, alpha=0.05, indep_test=test, show_progress=False)
    return as_cpdag(found.G.graph)


def by_ges(frame, categorical):
    """GES with the generalized score of kernels (Huang et al. 2018)."""
    from causallearn.search.ScoreBased.GES import ges

    X = frame.astype(float).to_numpy()
    return as_cpdag(ges(X, score_func="local_score_CV_general")["G"].graph)


def as_cpdag(graph):
    """Edges of causal-learn's graph, as probabilities and as they are."""
    # graph[i, j] = -1 is a tail at i, 1 an arrowhead at i
    cpdag = (graph.T == 1) | ((graph == -1) & (graph.T == -1))
    return cpdag.astype(float), cpdag


def by_kci(frame, categorical):
    """PC with the kernel test."""
    return by_causal_learn(frame, "kci")


def by_rcit(frame, categorical):
    """PC with random features instead of kernels."""
    return by_causal_learn(frame, "rcit")


METHODS = {
    "mixed": lambda frame, categorical: ours(frame),
    "nominal": lambda frame, categorical: ours(
        frame, ConditionalGaussian(ordinal=None)
    ),
    "categories": by_categories,
    "numbers": by_numbers,
}

PEERS = {"hc cg": by_pgmpy, "pc kci": by_kci, "pc rcit": by_rcit, "ges cv": by_ges}


def timed(method, frame, categorical):
    """What a method finds, and the seconds of the processor that it takes."""
    began = time.process_time()
    found = method(frame, categorical)
    return found, time.process_time() - began


def timed_peer(method, frame, categorical):
    """The same in a process that ends when it takes too long."""
    resource.setrlimit(resource.RLIMIT_CPU, (PEER_SECONDS, PEER_SECONDS + 5))
    np.random.seed(0)  # noqa: NPY002 (causal-learn draws from it)
    return timed(method, frame, categorical)


def run(setting, n_graphs, seed, which, too_slow):
    """Rows of results of one setting; peers that take too long are remembered."""
    kind, n, n_rows = setting
    rows, spent = [], dict.fromkeys(PEERS, 0.0)
    for graph in range(n_graphs):
        frame, A, categorical = make_network(kind, n, n_rows, [seed, n, n_rows, graph])
        row = dict(kind=kind, n=n, N=n_rows, graph=graph)
        for method in METHODS if "ours" in which else ():
            if method == "nominal" and kind != "latent":
                continue  # as "mixed"
            found = timed(METHODS[method], frame, categorical)
            rows.append(row | {"method": method} | judged(A, *found))
        for peer, function in PEERS.items() if "peers" in which else ():
            if spent[peer] >= PEER_SPENT or is_hopeless(setting, too_slow[peer]):
                continue
            outcome = in_process(timed_peer, function, frame, categorical)
            if outcome["status"] == "ok":
                rows.append(row | {"method": peer} | judged(A, *outcome["result"]))
                spent[peer] += outcome["result"][1]
            else:
                too_slow[peer].append(setting)
                rows.append(row | {"method": peer, "status": why(outcome["status"])})
    return rows


def is_hopeless(setting, too_slow):
    """Whether a table of the kind, and no larger than this one, took too long."""
    kind, n, n_rows = setting
    return any(k == kind and m <= n and r <= n_rows for k, m, r in too_slow)


def why(status):
    """Why a process ended."""
    ended = f"ended with code -{int(signal.SIGXCPU)}"
    return "time limit" if status == ended else status


def judged(A, found, seconds):
    """How near what was found is to a DAG."""
    probabilities, cpdag = found
    return {
        "status": "ok",
        "seconds": seconds,
        "ap": edge_average_precision(A, probabilities, "cpdag"),
        "shd": structural_hamming_distance(graphs.to_cpdag(A), cpdag, kind="dag"),
    }


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
    parser.add_argument("--n", type=int, nargs="+", default=COLUMNS)
    parser.add_argument("--rows", type=int, nargs="+", default=ROWS)
    parser.add_argument("--graphs", type=int, help="of each setting")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--which", nargs="+", default=("ours", "peers"), choices=("ours", "peers")
    )
    parser.add_argument("--times", action="store_true", help="of tables and searches")
    parser.add_argument(
        "--quick", action="store_true", help="two graphs of one setting, not written"
    )
    args = parser.parse_args()
    if args.times:
        print_times()
        return
    if args.quick:
        args.n, args.rows, args.graphs = [10], [200], 2
    settings = [*product(args.kind, args.n, args.rows)]
    # what is not run again stays
    rows, note = earlier_results(
        "mixed",
        lambda row: (
            (row["kind"], row["n"], row["N"]) not in settings
            or ("peers" if row["method"] in PEERS else "ours") not in args.which
        ),
        " and ".join(args.which),
    )
    table = Table("kind:>12 n:d N:d method:>12 graphs:d ap:.3f shd:.1f seconds:.2f")
    too_slow = {peer: [] for peer in PEERS}
    for setting in settings:
        n_graphs = args.graphs or COLUMNS.get(setting[1], 3)
        found = run(setting, n_graphs, args.seed, args.which, too_slow)
        rows += found
        for row in summary(found):
            table.add(row)
        if not args.quick:
            write_results("mixed", rows, packages=("pgmpy", "causal-learn"), note=note)


if __name__ == "__main__":
    main()
