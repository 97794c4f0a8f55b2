"""Calibration beside the bootstrap: what probabilities of edges are worth.

    python benchmarks/bootstrap.py            # ten minutes on one core
    python benchmarks/bootstrap.py --quick    # seconds

Linear Gaussian networks (two parents on average, coefficients of 0.2 to 1 with random
signs, standardized). A probability for every edge: `posterior` over DAGs
(PartitionMCMCStructure) and `orders` (OrderMCMCStructure), both with the defaults; and
what is offered otherwise, the share of 100 bootstrap samples of the rows in which a
search finds the edge: causal-learn's GES and BOSS, and, as a check that it is not the
search, this package's own with the same BIC. An undirected edge of a CPDAG counts one
half each way.

Of directed edges and of the skeleton's: the Brier score (mean squared error of the
probabilities), the log loss (probabilities kept within 0.005 and 0.995, for one wrong 0
would be infinite), and reliability: in bins of the probability, the share of edges that
are there. Scores are means over the graphs of a setting; `seconds` are of the processor
for one graph. GES is left out beyond 10 variables.
"""

import argparse
import random
import time
import warnings

import numpy as np
from common import Table, groups, installed, write_results
from others import SEARCHES

from skbidag import (
    IterativeSearchStructure,
    OrderMCMCStructure,
    PartitionMCMCStructure,
)
from skbidag.datasets import make_gaussian_network
from skbidag.scores import GaussianBIC

SETTINGS = {(10, 100): 8, (10, 1000): 8, (20, 100): 4, (20, 1000): 4}  # graphs
BINS = np.array([0, 0.02, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.98, 1.001])
SMALLEST = 0.005
LARGEST_GES = 10


def sampled(estimator):
    """Probabilities of directed edges by a sampler."""

    def learn(X, seed, n_samples):
        model = estimator(random_state=seed)
        return model.fit(X).adjacency_probabilities_

    return learn


def own_search(X):
    """The CPDAG of this package's search, by the peers' score."""
    model = IterativeSearchStructure(
        GaussianBIC(edge_penalty=1.0), n_draws=0, random_state=0
    )
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
            "edges": int(chosen.sum()),
            "probability": float(probability[chosen].mean()),
            "share": float(there[chosen].mean()),
        }


def one_graph(n, n_rows, seed, methods, n_samples):
    """Probabilities by each method for one data set, and whether edges are there."""
    made = make_gaussian_network(
        n_rows, n, strengths=(0.2, 1.0), signs="random", random_state=seed
    )
    for method in methods:
        if method == "bootstrapped GES" and n > LARGEST_GES:
            continue
        began = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            probabilities = METHODS[method](made.data, seed, n_samples)
        seconds = time.process_time() - began
        for kind in ("directed", "skeleton"):
            setting = {"n": n, "N": n_rows, "edges": kind, "method": method}
            yield (
                setting | {"seconds": seconds},
                pairs(made.adjacency, probabilities, kind),
            )


def summarize(found):
    """Scores by setting and method, and reliability over all settings."""
    scores, curves = [], []
    for key, group in groups(
        [about | {"pairs": both} for about, both in found], "n", "N", "edges", "method"
    ).items():
        each = [judge(*row["pairs"]) for row in group]
        row = dict(zip(("n", "N", "edges", "method"), key, strict=True))
        for what in ("Brier", "log loss"):
            numbers = [one[what] for one in each]
            row[what] = float(np.mean(numbers))
            if len(each) > 1:
                row[f"{what} error"] = float(
                    np.std(numbers, ddof=1) / np.sqrt(len(each))
                )
        row["seconds"] = float(np.mean([row["seconds"] for row in group]))
        row["graphs"] = len(each)
        scores.append(row)
        probability, there = (
            np.concatenate(parts)
            for parts in zip(*(row["pairs"] for row in group), strict=True)
        )
        for bin_ in reliability(probability, there):
            curves.append(
                dict(zip(("n", "N", "kind", "method"), key, strict=True)) | bin_
            )
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
        settings, arguments.samples = {(8, 100): 1}, 5
    methods = list(METHODS)
    if installed("causal-learn") == "not installed":
        methods = methods[:3]
    found = []
    for (n, n_rows), n_graphs in settings.items():
        for seed in range(n_graphs):
            found += one_graph(n, n_rows, seed, methods, arguments.samples)
        scores, curves = summarize(found)
        packages = ("causal-learn",)
        write_results("bootstrap", scores, packages=packages, note=note)
        write_results("bootstrap_reliability", curves, packages=packages, note=note)
    table = Table(
        "n:d N:d edges:>9 method:>20 graphs:d Brier:.4f log_loss:.4f seconds:.2f"
    )
    for row in scores:
        table.add(row | {"log_loss": row["log loss"]})


if __name__ == "__main__":
    main()
