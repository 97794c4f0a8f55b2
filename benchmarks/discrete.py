"""Categorical data from benchmark networks: how good, how fast, beside the peers.

    python benchmarks/discrete.py            # at most 4 1/2 hours, estimated
    python benchmarks/discrete.py --no-peers # 1 1/2 hours, estimated
    python benchmarks/discrete.py --quick    # a minute or two
    python benchmarks/discrete.py --methods search    # the others' results stay
    python benchmarks/discrete.py --methods search --networks andes --factors 10

Samples of N = 2n and 10n rows from well-known networks, and from binary networks on
power-law graphs (Barabási–Albert) with n = 100 variables, as in the paper, where a node
has at most five parents (``--networks power-law-five``) or any number. Each method
learns in a process of its own with a time limit; where it does not finish, the table
says so. Methods are the iterative search, order and partition MCMC on its final space,
causal-learn's GES with BDeu, and pgmpy's hill climbing with BDeu; peers that are not
installed are left out (``pip install skbidag[bench]``). causal-learn's score has a
prior over edges, odds of 1 to n - 2; the *sparse search* is the iterative search with
that prior (``edge_penalty=n - 2``).

`gain` is the log score (BDe, equivalent sample size 1) above that of the generating
DAG, `SHD` the distance from its CPDAG; `AP` the average precision of the skeleton's
edge probabilities. `seconds` are those of the processor, without imports. The ROC
curves' points go to ``results/discrete_roc.csv``.
"""

import argparse
import time
import warnings

import numpy as np
from common import Table, earlier_results, in_process, write_results

from skbidag import (
    IterativeSearchStructure,
    OrderMCMCStructure,
    PartitionMCMCStructure,
)
from skbidag.datasets import load_network, make_discrete_network
from skbidag.graphs import _consistent_extension
from skbidag.metrics import (
    compare_graphs,
    edge_average_precision,
    edge_roc,
    structural_hamming_distance,
)
from skbidag.scores import BDe

NETWORKS = [
    "child",
    "insurance",
    "alarm",
    "hailfinder",
    "win95pts",
    "hepar2",
    "andes",
    "power-law",
    "power-law-five",
]
THRESHOLDS = [0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99]


def make_data(name, factor, seed):
    """Rows, as codes of the levels, and the DAG they come from."""
    if name.startswith("power-law"):
        bunch = make_discrete_network(
            factor * 100,
            100,
            graph="barabasi_albert",
            max_parents=5 if name == "power-law-five" else None,
            random_state=seed,
        )
        return bunch.data, bunch.adjacency
    network = load_network(name)
    n_samples = factor * len(network.names)
    return network.sample(n_samples, random_state=seed), network.adjacency


# Each method returns its graph (a DAG or a CPDAG), edge probabilities or None, and the
# seconds it took without imports.


def learn_search(X, seed):
    start = time.process_time()
    model = IterativeSearchStructure(
        BDe(edge_penalty=1.0), n_draws=0, random_state=seed
    ).fit(X)
    return model.adjacency_, None, time.process_time() - start


def learn_sparse(X, seed):
    start = time.process_time()
    score = BDe(edge_penalty=X.shape[1] - 2)
    model = IterativeSearchStructure(score, n_draws=0, random_state=seed).fit(X)
    return model.adjacency_, None, time.process_time() - start


def learn_order(X, seed):
    return sample_structure(
        OrderMCMCStructure(BDe(edge_penalty=1.0), random_state=seed), X
    )


def learn_partition(X, seed):
    return sample_structure(
        PartitionMCMCStructure(BDe(edge_penalty=1.0), random_state=seed), X
    )


def sample_structure(model, X):
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # chains that disagree: the table shows it
        model.fit(X)
    seconds = time.process_time() - start
    return model.adjacency_, model.adjacency_probabilities_, seconds


def learn_ges(X, seed):
    from causallearn.search.ScoreBased.GES import ges

    start = time.process_time()
    # the end mark at j of i -> j is graph[j, i] = 1
    graph = ges(X, score_func="local_score_BDeu")["G"].graph
    seconds = time.process_time() - start
    return (graph == -1) & ((graph.T == 1) | (graph.T == -1)), None, seconds


def learn_hill_climbing(X, seed):
    import pandas as pd
    from pgmpy.causal_discovery import HillClimbSearch
    from pgmpy.structure_score import BDeu

    frame = pd.DataFrame(X, columns=[str(j) for j in range(X.shape[1])]).astype(str)
    start = time.process_time()
    model = HillClimbSearch(
        scoring_method=BDeu(frame, equivalent_sample_size=1),
        return_type="dag",
        show_progress=False,
    ).fit(frame)
    seconds = time.process_time() - start
    adjacency = np.zeros((X.shape[1], X.shape[1]), dtype=bool)
    for parent, child in model.causal_graph_.edges():
        adjacency[int(parent), int(child)] = True
    return adjacency, None, seconds


METHODS = {
    "search": learn_search,
    "sparse search": learn_sparse,
    "order": learn_order,
    "partition": learn_partition,
    "GES": learn_ges,
    "hill climbing": learn_hill_climbing,
}
PEERS = {"GES": "causal-learn", "hill climbing": "pgmpy"}


def assess(graph, probabilities, score, true):
    """Quality of what was learned."""
    dag = _consistent_extension(graph)
    distance = structural_hamming_distance(true, graph, kind="cpdag")
    row = {
        "SHD": distance,
        "SHDn": distance / len(true),
        "edges": int(np.triu(graph | graph.T).sum()),
    }
    comparison = compare_graphs(true, graph, kind="skeleton")
    row.update(TPR=comparison.TPR, FPRp=comparison.FPRp)
    if dag is not None:
        row["log_score"] = float(score.dag_score(dag))
        row["gain"] = row["log_score"] - float(score.dag_score(true))
    if probabilities is not None:
        row["AP"] = edge_average_precision(true, probabilities, kind="skeleton")
    return row


def roc_points(true, probabilities):
    """Rates of the edges above each of some thresholds."""
    rates, sensitivities, thresholds = edge_roc(
        true, probabilities, kind="skeleton", normalize="positives"
    )
    for threshold in THRESHOLDS:
        k = np.flatnonzero(thresholds >= threshold)[-1]
        yield {
            "threshold": threshold,
            "TPR": float(sensitivities[k]),
            "FPRp": float(rates[k]),
        }


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--networks",
        nargs="+",
        choices=NETWORKS,
        default=NETWORKS,
        metavar="NAME",
        help=" ".join(NETWORKS),
    )
    parser.add_argument(
        "--factors", type=int, nargs="+", default=[2, 10], help="rows are so many n"
    )
    parser.add_argument(
        "--methods",
        nargs="+",
        choices=METHODS,
        default=list(METHODS),
        metavar="NAME",
        help=", ".join(METHODS),
    )
    parser.add_argument("--repeats", type=int, default=3, help="samples of each")
    parser.add_argument(
        "--limit", type=float, default=300.0, help="seconds a method may take"
    )
    parser.add_argument("--no-peers", action="store_true", help="only skbidag")
    parser.add_argument("--quick", action="store_true", help="to see that it works")
    arguments = parser.parse_args()
    note = ""
    if arguments.quick:
        note = "quick run, to be replaced"
        arguments.networks, arguments.factors = ["child"], [10]
        arguments.repeats, arguments.limit = 1, 30.0
    methods = [m for m in arguments.methods if not (arguments.no_peers and m in PEERS)]

    table = Table(
        "network:>10 n:.0f N:.0f repeat:.0f method:>13 seconds:.2f gain:.1f SHD:.0f "
        "edges:.0f TPR:.3f FPRp:.3f AP:.3f status:"
    )
    rows, points = [], []
    chosen = [methods, arguments.networks, arguments.factors]
    if not arguments.quick and chosen != [[*METHODS], NETWORKS, [2, 10]]:

        def stays(row):
            return not (
                row["method"] in methods
                and row["network"] in arguments.networks
                and row["N"] / row["n"] in arguments.factors
            )

        again = ", ".join(methods)
        if arguments.networks != NETWORKS:
            again += " of " + ", ".join(arguments.networks)
        rows, note = earlier_results("discrete", stays, again)
        points, _ = earlier_results("discrete_roc", stays, again)
    place = [*NETWORKS, *METHODS].index
    for name in arguments.networks:
        for factor in arguments.factors:
            exceeded = set()  # no second try where the first took too long
            for repeat in range(arguments.repeats):
                X, true = make_data(name, factor, repeat)
                score = BDe(edge_penalty=1.0).fit(X)
                setting = {
                    "network": name,
                    "n": len(true),
                    "N": len(X),
                    "repeat": repeat,
                }
                for method in methods:
                    row = {**setting, "method": method, "status": "time limit"}
                    if method not in exceeded:
                        outcome = in_process(
                            METHODS[method], X, repeat, timeout=arguments.limit
                        )
                        row["status"] = outcome["status"]
                    if row["status"] == "ok":
                        graph, probabilities, row["seconds"] = outcome["result"]
                        row["peak_mb"] = outcome["peak_mb"]
                        row.update(assess(graph, probabilities, score, true))
                        if probabilities is not None:
                            points += [
                                {**setting, "method": method, **point}
                                for point in roc_points(true, probabilities)
                            ]
                    else:
                        exceeded.add(method)
                    rows.append(row)
                    table.add(row)
                    packages = ("causal-learn", "pgmpy")
                    rows.sort(
                        key=lambda row: (
                            place(row["network"]),
                            row["N"],
                            row["repeat"],
                            place(row["method"]),
                        )
                    )
                    write_results("discrete", rows, packages=packages, note=note)
                    write_results("discrete_roc", points, packages=packages, note=note)


if __name__ == "__main__":
    main()
