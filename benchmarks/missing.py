r"""Missing values: what drawing them with the DAGs gives beside other ways.

    python benchmarks/missing.py                 # an hour on one core
    python benchmarks/missing.py --quick         # a minute
    python benchmarks/missing.py --only 20       # networks of 20 variables alone
    python benchmarks/missing.py --only 10 --rows 100 --holes 0.05 0.1 --seed 1000 \
        --networks 60 --methods complete augment iterative   # what is noise
    python benchmarks/missing.py --cells         # the cells themselves: imputers

Linear Gaussian networks with two parents per variable on average, of whose data a share
of the cells is missing completely at random. The same data are

- `complete`, as if nothing were missing: the bound,
- `augment`-ed, the default, in chains of a hundred completions,
- `drop`-ped: rows with missing cells are left out (where no row is complete, there is
  no edge),
- filled in with the `mean` of the column,
- filled in once by scikit-learn's `iterative` imputer.

`adjacencies` is the average precision of adjacencies by their probabilities, `edges`
that of the edges of CPDAGs, whose directions hang on little in single networks,
`distance` the structural Hamming distance between CPDAGs, of the best DAG and of the
generating one. Means over networks, which are the same for all.

`ahead` is by how much `augment` is better than the method of the line, network by
network on average (its precision is higher, or its distance smaller), and `ahead_error`
the standard error of that: what is within two of these is noise. `below` is by how much
the line is worse than `complete`, in the same way: what could be gained at all.

With `--cells`: the root mean square error of held-out cells in standard deviations of
their columns, by the mean, scikit-learn's KNNImputer and IterativeImputer, and
StructureImputer.
"""

import argparse
import time
import warnings

import numpy as np
from common import Table, earlier_results, write_results
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer

from skbidag import OrderMCMCStructure, StructureImputer
from skbidag._chains import auto_n_iter
from skbidag.datasets import make_gaussian_network
from skbidag.metrics import edge_average_precision, structural_hamming_distance

SIZES, ROWS, SHARES = (10, 20, 50), (100, 1000), (0.05, 0.1, 0.3)

# Networks of each setting, by the number of variables: many where they are cheap
NETWORKS = {10: 40, 20: 12, 50: 4}

# Edges whose average precision is told, and what it is called
KINDS = {"skeleton": "adjacencies", "cpdag": "edges"}


def with_holes(X, share, seed):
    """The data without some cells."""
    rng = np.random.default_rng([seed, int(1000 * share)])
    return np.where(rng.random(X.shape) < share, np.nan, X)


def fit(X, **params):
    """A fitted sampler."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return OrderMCMCStructure(random_state=0, **params).fit(X)


def by_iterative(X):
    """The data filled in by regressions of each column on the others."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return IterativeImputer(random_state=0).fit_transform(X)


METHODS = {
    "complete": lambda full, holed: fit(full),
    "augment": lambda full, holed: fit(
        holed, n_iter=10 * auto_n_iter(full.shape[1], 5)
    ),
    "drop": lambda full, holed: fit(holed, missing="drop"),
    "mean": lambda full, holed: fit(SimpleImputer().fit_transform(holed)),
    "iterative": lambda full, holed: fit(by_iterative(holed)),
}


def measure(network, full, holed, method):
    """How near the result is to the generating DAG."""
    true = network.adjacency != 0
    began = time.process_time()
    try:
        model = METHODS[method](full, holed)
        kinds = {kind: model.edge_probabilities(kind) for kind in KINDS}
        best = model.adjacency_
    except ValueError:  # no complete row
        kinds = dict.fromkeys(KINDS, np.zeros(true.shape))
        best = np.zeros(true.shape, dtype=bool)
    return {
        name: edge_average_precision(true, kinds[kind], kind=kind)
        for kind, name in KINDS.items()
    } | {
        "distance": structural_hamming_distance(true, best, kind="cpdag"),
        "seconds": time.process_time() - began,
    }


def compare(n, n_rows, n_networks, arguments):
    """Means over networks, by the share of holes and how they are dealt with."""
    methods = ["augment", *(m for m in arguments.methods if m != "augment")]
    found = {(share, method): [] for share in arguments.holes for method in methods}
    bounds, first_seed = [], arguments.seed
    for seed in range(first_seed, first_seed + n_networks):
        network = make_gaussian_network(n_rows, n, random_state=seed)
        bound = measure(network, network.data, network.data, "complete")
        bounds.append(bound)
        for (share, method), results in found.items():
            holed = with_holes(network.data, share, seed)
            if method == "complete":
                results.append(bound)
            else:
                results.append(measure(network, network.data, holed, method))
    rows = []
    for (share, method), results in found.items():
        where = {"n": n, "rows": n_rows, "holes": share, "networks": n_networks}
        means = {key: float(np.mean([r[key] for r in results])) for key in bound}
        ahead = differences(found[share, "augment"], results, "ahead")
        below = differences(bounds, results, "below")
        rows.append(where | {"method": method} | means | ahead | below)
    return rows


def differences(better, worse, name):
    """By how much the first are better on the same networks, and standard errors."""
    found = {}
    for key, sign in {"adjacencies": 1, "edges": 1, "distance": -1}.items():
        pairs = zip(better, worse, strict=True)
        gaps = np.array([sign * (one[key] - other[key]) for one, other in pairs])
        found[f"{key}_{name}"] = float(gaps.mean())
        spread = gaps.std(ddof=1) if len(gaps) > 1 else np.nan
        found[f"{key}_{name}_error"] = float(spread / np.sqrt(len(gaps)))
    return found


IMPUTERS = {
    "mean": SimpleImputer(),
    "neighbors": KNNImputer(),
    "iterative": IterativeImputer(random_state=0),
    "structure": StructureImputer(random_state=0),
}


def compare_cells(n, n_rows, n_networks, arguments):
    """Errors of missing cells, by their share and the imputer."""
    return [
        row
        for share in arguments.holes
        for row in errors_of_cells(n, n_rows, share, n_networks, arguments.seed)
    ]


def errors_of_cells(n, n_rows, share, n_networks, first_seed):
    """The same for one share of holes."""
    errors = {name: [] for name in IMPUTERS}
    for seed in range(first_seed, first_seed + n_networks):
        X = make_gaussian_network(n_rows, n, random_state=seed).data
        X = (X - X.mean(axis=0)) / X.std(axis=0)
        holed = with_holes(X, share, seed)
        missing = np.isnan(holed)
        for name, imputer in IMPUTERS.items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                filled = imputer.fit_transform(holed)
            errors[name].append(np.sqrt(np.mean((filled - X)[missing] ** 2)))
    where = {"n": n, "rows": n_rows, "holes": share, "networks": n_networks}
    return [
        where | {"imputer": name, "error": float(np.mean(of))}
        for name, of in errors.items()
    ]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--networks", type=int, help="of each setting")
    parser.add_argument("--only", type=int, help="this number of variables alone")
    parser.add_argument("--rows", type=int, help="this number of rows alone")
    parser.add_argument("--holes", type=float, nargs="+", default=SHARES)
    parser.add_argument("--methods", nargs="+", default=METHODS, choices=METHODS)
    parser.add_argument("--seed", type=int, default=7000)
    parser.add_argument("--cells", action="store_true", help="compare imputers")
    parser.add_argument("--quick", action="store_true", help="to see that it works")
    arguments = parser.parse_args()
    sizes = (arguments.only,) if arguments.only else SIZES
    n_rows = (arguments.rows,) if arguments.rows else ROWS
    settings = [(n, N) for n in sizes for N in n_rows]
    note = ""
    if arguments.quick:
        settings, arguments.networks, arguments.holes = [(10, 100)], 1, [0.1]
        note = "quick run, to be replaced"
    name, function = "missing", compare
    columns = (
        "method:>10 adjacencies:.3f edges:.3f distance:.1f seconds:.1f "
        "adjacencies_ahead:+.3f adjacencies_ahead_error:.3f edges_ahead:+.3f "
        "edges_ahead_error:.3f distance_ahead:+.1f distance_ahead_error:.1f"
    )
    if arguments.cells:
        name, function = "missing_cells", compare_cells
        columns = "imputer:>10 error:.3f"
    table = Table(f"n:d rows:d holes:.2f networks:d {columns}")
    again = {(n, N, share) for n, N in settings for share in arguments.holes}

    def stays(row):
        is_again = (row["n"], row["rows"], row["holes"]) in again
        return not is_again or row.get("method", "augment") not in arguments.methods

    rows, _ = earlier_results(name, stays, "")
    for n, N in settings:
        n_networks = arguments.networks or NETWORKS[n]
        for row in function(n, N, n_networks, arguments):
            rows.append(row)
            table.add(row)
        write_results(name, rows, note=note)


if __name__ == "__main__":
    main()
