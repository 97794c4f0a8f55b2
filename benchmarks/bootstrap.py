"""Calibration beside the bootstrap: what probabilities of edges are worth.

    python benchmarks/bootstrap.py            # a quarter of an hour on one core
    python benchmarks/bootstrap.py --quick    # seconds

Linear Gaussian networks (coefficients of 0.2 to 1 with random signs, standardized; of
10 variables with two parents on average nearly half of all pairs are joined, with one
parent every fourth or fifth). A probability for every edge: `posterior` over DAGs
(PartitionMCMCStructure) and `orders` (OrderMCMCStructure), both with the defaults; and
what is offered otherwise, the share of 100 bootstrap samples of the rows in which a
search finds the edge: causal-learn's BOSS and GES, on the first graphs, and, as a check
that it is not the search, this package's own with the same BIC (up to 10 variables the
best DAG of all, by dynamic programming). An undirected edge of a CPDAG counts one half
each way. `posterior of BIC` is that of the searches' score, without a bootstrap: it
tells what of a difference is the score and its prior, and what the resampling.

Of directed edges and of the skeleton's: the Brier score (mean squared error of the
probabilities), the log loss (probabilities kept within 0.005 and 0.995, for one wrong 0
would be infinite), and reliability: in bins of the probability, the share of edges that
are there. Scores are means over the graphs of a setting, which need not be equally many
for all methods; `behind` is a method's score less the posterior's on the same graphs,
with its standard error. `seconds` are of the processor for one graph.
"""

import argparse
import random
import time
import warnings

import numpy as np
from common import Table, groups, installed, write_results
from others import SEARCHES

from skbidag import (
    ExactStructure,
    IterativeSearchStructure,
    OrderMCMCStructure,
    PartitionMCMCStructure,
)
from skbidag.datasets import make_gaussian_network
from skbidag.scores import GaussianBIC

# Variables, parents on average, rows; and how many graphs
SETTINGS = {
    (10, 2, 100): 20,
    (10, 2, 1000): 20,
    (10, 1, 100): 20,
    (10, 1, 1000): 20,
    (20, 2, 100): 6,
    (20, 2, 1000): 6,
}
BINS = np.array([0, 0.02, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.98, 1.001])
SMALLEST = 0.005
# Graphs of each setting that slow methods are given, by the number of variables
FEW = {"bootstrapped BOSS": {10: 10, 20: 2}, "bootstrapped GES": {10: 2}}
SCORES = ("Brier", "log loss")


def sampled(estimator, score="auto"):
    """Probabilities of directed edges by a sampler."""

    def learn(X, seed, n_samples):
        model = estimator(score, random_state=seed)
        return model.fit(X).adjacency_probabilities_

    return learn


def own_search(X):
    """The CPDAG of the best DAG by the peers' score."""
    score = GaussianBIC(edge_penalty=1.0)
    if X.shape[1] <= 10:
        model = ExactStructure(score, posterior="best DAG alone")
    else:
        model = IterativeSearchStructure(score, n_draws=0, random_state=0)
    return model.fit(X).cpdag_


def bootstrapped(search):
    """Shares of bootstrap samples with each directed edge."""

    def learn(X, seed, n_samples):
        rng = np.random.default_rng(seed)
        random.seed(seed)  # causal-learn's generator
        shares = np.zeros((X.shape[1], X.shape[1]))
        for _ in range(n_samples):
            graph = search(X[rng.integers(len(X), size=len(X))]).astype(float)
            shares += graph / (graph + graph.T).clip(1)
        return shares / n_samples

    return learn


METHODS = {
    "posterior": sampled(PartitionMCMCStructure),
    "orders": sampled(OrderMCMCStructure),
    "posterior of BIC": sampled(PartitionMCMCStructure, GaussianBIC(edge_penalty=1.0)),
    "bootstrapped search": bootstrapped(own_search),
    "bootstrapped BOSS": bootstrapped(SEARCHES["causal-learn BOSS"][0]),
    "bootstrapped GES": bootstrapped(SEARCHES["causal-learn GES"][0]),
}


def pairs(true, probabilities, kind):
    """Probabilities, and whether there is an edge, at all places for one."""
    if kind == "skeleton":
        places = np.triu(np.ones(true.shape, dtype=bool), 1)
        probabilities = np.minimum(probabilities + probabilities.T, 1.0)
        true = true | true.T
    else:
        places = ~np.eye(len(true), dtype=bool)
    return probabilities[places], true[places]


def judge(probability, there):
    """Brier score and log loss."""
    p = probability.clip(SMALLEST, 1 - SMALLEST)
    return {
        "Brier": float(np.mean((probability - there) ** 2)),
        "log loss": float(-np.mean(np.log(np.where(there, p, 1 - p)))),
    }


def reliability(probability, there):
    """Rows of a table: bins of probabilities, and shares of edges that are there."""
    bins = np.digitize(probability, BINS) - 1
    for k in np.unique(bins):
        chosen = bins == k
        yield {
            "bin": float(BINS[k]),
            "places": int(chosen.sum()),
            "probability": float(probability[chosen].mean()),
            "share": float(there[chosen].mean()),
        }


def one_graph(n, parents, n_rows, seed, methods, n_samples):
    """Probabilities by each method for one data set, and whether edges are there."""
    made = make_gaussian_network(
        n_rows,
        n,
        expected_parents=parents,
        strengths=(0.2, 1.0),
        signs="random",
        random_state=seed,
    )
    for method in methods:
        if method in FEW and seed >= FEW[method].get(n, 0):
            continue
        began = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            probabilities = METHODS[method](made.data, seed, n_samples)
        seconds = time.process_time() - began
        for kind in ("directed", "skeleton"):
            both = pairs(made.adjacency, probabilities, kind)
            setting = {"n": n, "parents": parents, "N": n_rows, "edges": kind}
            yield setting | {
                "method": method,
                "graph": seed,
                "pairs": both,
                "seconds": seconds,
                **judge(*both),
            }


def mean_and_error(numbers):
    """Mean, and its standard error if there is one."""
    few = len(numbers) < 2
    error = "" if few else float(np.std(numbers, ddof=1) / np.sqrt(len(numbers)))
    return float(np.mean(numbers)), error


def summarize(found):
    """Scores by setting and method, and reliability."""
    scores, curves = [], []
    keys = ("n", "parents", "N", "edges")
    for setting, here in groups(found, *keys).items():
        by_method = groups(here, "method")
        reference = {row["graph"]: row for row in by_method["posterior",]}
        for (method,), group in by_method.items():
            about = dict(zip(keys, setting, strict=True)) | {"method": method}
            row = about | {"graphs": len(group)}
            for what in SCORES:
                own = np.array([one[what] for one in group])
                others = np.array([reference[one["graph"]][what] for one in group])
                row[what], row[f"{what} error"] = mean_and_error(own)
                behind = mean_and_error(own - others)
                row[f"{what} behind"], row[f"{what} behind error"] = behind
            row["seconds"] = float(np.mean([one["seconds"] for one in group]))
            scores.append(row)
            probability, there = (
                np.concatenate(parts)
                for parts in zip(*(one["pairs"] for one in group), strict=True)
            )
            curves += [about | bin_ for bin_ in reliability(probability, there)]
    return scores, curves


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--samples", type=int, default=100, help="of the bootstrap")
    parser.add_argument("--quick", action="store_true", help="to see that it works")
    arguments = parser.parse_args()
    settings, note = SETTINGS, f"{arguments.samples} bootstrap samples"
    if arguments.quick:
        note = "quick run, to be replaced"
        settings, arguments.samples = {(8, 1, 100): 1}, 5
    methods = list(METHODS)
    if installed("causal-learn") == "not installed":
        methods = [name for name in methods if name not in FEW]
    found = []
    for (n, parents, n_rows), n_graphs in settings.items():
        for seed in range(n_graphs):
            found += one_graph(n, parents, n_rows, seed, methods, arguments.samples)
        scores, curves = summarize(found)
        packages = ("causal-learn",)
        write_results("bootstrap", scores, packages=packages, note=note)
        write_results("bootstrap_reliability", curves, packages=packages, note=note)
    table = Table(
        "n:d parents:d N:d edges:>9 method:>20 graphs:d Brier:.4f behind:+.4f "
        "error:.4f log_loss:.4f seconds:.2f"
    )
    for row in scores:
        behind, error = row["Brier behind"], row["Brier behind error"]
        table.add(row | {"log_loss": row["log loss"], "behind": behind, "error": error})


if __name__ == "__main__":
    main()
