"""Directions from interventions: what knock-outs tell, and what ignoring them costs.

    python benchmarks/interventions.py            # some ten minutes on one core
    python benchmarks/interventions.py --quick    # a few seconds

Linear Gaussian networks with two parents per variable on average and strengths from 0.4
to 1.5. Of 100 + 20 n rows a share has one variable set, each equally often, to a value
that has nothing to do with its parents. The same rows are

- used as what they are (`fit(X, interventions=...)`),
- pooled, as if nothing had been set,
- dropped, so that the observed rows alone count,
- given to GIES (`pip install gies`), if it is installed, which has a graph and no
  probabilities.

`distance` is the number of pairs of variables in which the consensus at 0.5 and the
generating DAG differ (not their classes: a direction that is wrong or missing counts),
`precision` the average precision of directed edges by their probabilities. Means over
networks.
"""

import argparse
import time
import warnings

import numpy as np
from common import Table, installed, write_results
from sklearn.metrics import average_precision_score

from skbidag import PartitionMCMCStructure


def random_experiment(seed, n, share):
    """A network, rows of it, and what was set in them.

    Returns
    -------
    adjacency : ndarray of bool, shape (n, n)
        The generating DAG, [i, j] for i -> j.
    X : ndarray of shape (n_rows, n)
        The rows.
    cells : ndarray of bool, shape (n_rows, n)
        Which cells were set.
    """
    rng = np.random.default_rng([seed, n])
    order = rng.permutation(n)
    adjacency = np.zeros((n, n), dtype=bool)
    adjacency[np.ix_(order, order)] = np.triu(rng.random((n, n)) < 4 / (n - 1), 1)
    weights = adjacency * rng.choice([-1, 1], (n, n)) * rng.uniform(0.4, 1.5, (n, n))
    n_rows = 100 + 20 * n
    cells = np.zeros((n_rows, n), dtype=bool)
    perturbed = np.arange(n_rows - round(share * n_rows), n_rows)
    cells[perturbed, np.arange(len(perturbed)) % n] = True
    X = rng.normal(size=(n_rows, n))
    given = rng.normal(0.0, 2.0, size=(n_rows, n))
    for node in order:
        X[:, node] += X @ weights[:, node]
        X[:, node] = np.where(cells[:, node], given[:, node], X[:, node])
    return adjacency, X, cells


def probabilities(X, cells=None):
    """Edge probabilities by the defaults."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = PartitionMCMCStructure(random_state=0).fit(X, interventions=cells)
    return model.adjacency_probabilities_


def gies_graph(X, cells):
    """The graph of GIES, with undirected edges both ways."""
    import gies

    targets = np.where(cells.any(axis=1), cells.argmax(axis=1), -1)
    values = np.unique(targets)
    data = [X[targets == value] for value in values]
    family = [[] if value < 0 else [int(value)] for value in values]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        graph, _ = gies.fit_bic(data, family)
    return graph != 0


METHODS = {
    "interventions": probabilities,
    "pooled": lambda X, cells: probabilities(X),
    "dropped": lambda X, cells: probabilities(X[~cells.any(axis=1)]),
    "gies": gies_graph,
}


def distance(true, graph):
    """Pairs of variables in which two graphs differ."""
    differ = true != graph
    return int(np.triu(differ | differ.T).sum())


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=[12, 20, 50])
    parser.add_argument("--shares", type=float, nargs="+", default=[0.0, 0.2, 0.5, 0.8])
    parser.add_argument("--networks", type=int, default=8, help="of each size")
    parser.add_argument("--first", type=int, default=100, help="seed of the first")
    parser.add_argument("--largest-gies", type=int, default=20, help="variables")
    parser.add_argument("--quick", action="store_true", help="to see that it works")
    arguments = parser.parse_args()
    note = ""
    if arguments.quick:
        note = "quick run, to be replaced"
        arguments.sizes, arguments.shares, arguments.networks = [6], [0.5], 2
    methods = dict(METHODS)
    if installed("gies") == "not installed":
        print("gies is not installed, and left out")
        del methods["gies"]
    table = Table("n:d share:.1f method:>13 distance:.2f precision:.3f seconds:.2f")
    rows = []
    for n in arguments.sizes:
        for share in arguments.shares:
            for method, learn in methods.items():
                if method == "gies" and n > arguments.largest_gies:
                    continue
                found = []
                for seed in range(arguments.networks):
                    problem = random_experiment(arguments.first + seed, n, share)
                    true, X, cells = problem
                    began = time.process_time()
                    edges = learn(X, cells)
                    seconds = time.process_time() - began
                    off = ~np.eye(n, dtype=bool)
                    ranked = average_precision_score(true[off], edges[off])
                    if method == "gies":
                        ranked = np.nan  # a graph, nothing to rank by
                    found.append((distance(true, edges > 0.5), ranked, seconds))
                means = dict(
                    zip(
                        ("distance", "precision", "seconds"),
                        np.mean(found, axis=0).tolist(),
                        strict=True,
                    )
                )
                row = {"n": n, "share": share, "method": method} | means
                rows.append(row)
                table.add(row)
                write_results("interventions", rows, note=note)


if __name__ == "__main__":
    main()
