"""Real tables: density of held-out rows, beside other models of continuous data.

    python benchmarks/real.py            # some minutes on one core
    python benchmarks/real.py --quick    # seconds

Nobody knows the network behind a real table, but rows that were not learned from tell
how good a model is. Mean log density per held-out row, in nats, columns standardized by
the training rows, by ten-fold cross-validation (`all`), and learning from only twice as
many rows as columns, drawn at random ten times (`few`). Differences from `posterior`
are of the same rows, and so is their standard error over folds (folds share training
rows, so it is rough).

posterior      average over sampled DAGs, PartitionMCMCStructure's defaults
orders         the same of OrderMCMCStructure
BIC search     this package's best DAG by BIC, coefficients by least squares
hill climbing  pgmpy's, likewise (left out with more than 15 columns, and in `few`)
tree           Chow & Liu's, likewise
full, Bayes    a normal distribution without a network, with BGe's prior: a complete
               DAG, its parameters integrated out as those of the sampled DAGs are
full           a normal distribution with the training rows' covariance
Ledoit-Wolf    the same, shrunk
glasso         graphical lasso, its penalty by cross-validation

The first two and `full, Bayes` integrate parameters out, so that their tails are as
wide as few rows make them; all others are one normal distribution. The tables are
installed with scikit-learn and statsmodels, and what statsmodels calls `cpunish`,
`statecrime` and so on has its terms beside it (`statsmodels.datasets`); Sachs' cells
are in a package of their own (``pip install --no-deps cdt``), and left out where it is
not installed.

wine           178 wines, 13 chemical analyses (UCI; CC BY 4.0)
diabetes       442 patients, 10 measures and the progress after a year (Efron et al.
               2004; sex, a category of two, is left out)
cancer         569 tumors, means of 10 measures of nuclei (UCI; CC BY 4.0)
schools        303 Californian districts, 11 shares and averages, before interactions
               (star98, Gill 2000; by permission of the author)
states         51 American states, 7 rates of crime and of living (public domain)
election       944 voters of 1996, 10 answers, scales taken as numbers (anes96; public
               domain)
Sachs          853 cells in the first condition, logarithms of 11 proteins
"""

import argparse
import time
import warnings
from importlib import import_module

import numpy as np
from common import Table, earlier_results, installed, write_results
from others import SEARCHES
from scipy.sparse.csgraph import breadth_first_order, minimum_spanning_tree
from scipy.stats import multivariate_t
from sklearn.covariance import (
    EmpiricalCovariance,
    GraphicalLassoCV,
    LedoitWolf,
)
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.model_selection import KFold

from skbidag import (
    IterativeSearchStructure,
    OrderMCMCStructure,
    PartitionMCMCStructure,
)
from skbidag.graphs import _consistent_extension, topological_order
from skbidag.scores import BGe, GaussianBIC

LARGEST_CLIMB = 15


# --------------------------------------------------------------------------- data


def of_statsmodels(name, columns):
    """Some columns of a table that is installed with statsmodels."""
    frame = import_module(f"statsmodels.datasets.{name}").load_pandas().data
    return frame[columns].to_numpy(float)


def diabetes():
    """Measures and target, without sex."""
    found = load_diabetes(as_frame=True).frame
    return found.drop(columns="sex").to_numpy(float)


def schools():
    """What districts report, before the products of columns."""
    columns = (
        "LOWINC PERASIAN PERBLACK PERHISP PERMINTE AVYRSEXP AVSALK PERSPENK "
        "PTRATIO PCTAF PCTCHRT PCTYRRND"
    )
    return of_statsmodels("star98", columns.split())


def states():
    """Rates of the states."""
    columns = "violent murder hs_grad poverty single white urban"
    return of_statsmodels("statecrime", columns.split())


def election():
    """Answers of voters; the population once, as a logarithm."""
    columns = "TVnews selfLR ClinLR DoleLR PID age educ income vote logpopul"
    return of_statsmodels("anes96", columns.split())


def sachs():
    """Proteins of the first condition."""
    from sachs import SIZES, read

    return np.log(read()[0].to_numpy()[: SIZES[0]])


TABLES = {
    "wine": lambda: load_wine().data,
    "diabetes": diabetes,
    "cancer": lambda: load_breast_cancer().data[:, :10],
    "schools": schools,
    "states": states,
    "election": election,
    "Sachs": sachs,
}


# ------------------------------------------------------------------------- models


def sampled(estimator):
    """Density of rows by a sampler."""

    def fit(X, seed):
        return estimator(random_state=seed).fit(X).score_samples

    return fit


def normal(covariance):
    """Log density of rows under a centered normal distribution."""
    factor = np.linalg.cholesky(covariance)
    constant = np.log(np.diag(factor)).sum() + len(factor) * np.log(2 * np.pi) / 2

    def density(rows):
        scaled = np.linalg.solve(factor, rows.T)
        return -0.5 * (scaled**2).sum(axis=0) - constant

    return density


def network_covariance(X, adjacency):
    """Covariance matrix of a linear network, by least squares."""
    n = X.shape[1]
    weights, variances = np.zeros((n, n)), np.zeros(n)
    for node in topological_order(adjacency):
        parents = np.flatnonzero(adjacency[:, node])
        weights[parents, node] = np.linalg.lstsq(X[:, parents], X[:, node])[0]
        residual = X[:, node] - X[:, parents] @ weights[parents, node]
        variances[node] = np.mean(residual**2)
    total = np.linalg.inv(np.eye(n) - weights)
    return total.T @ np.diag(variances) @ total


def bic_search(X, seed):
    """The best DAG of this package's search by BIC."""
    model = IterativeSearchStructure(
        GaussianBIC(edge_penalty=1.0), n_draws=0, random_state=seed
    )
    return normal(network_covariance(X, model.fit(X).adjacency_))


def hill_climbing(X, seed):
    """The DAG of pgmpy's hill climbing, by BIC."""
    graph = SEARCHES["pgmpy hill climbing"][0](X)
    return normal(network_covariance(X, _consistent_extension(graph)))


def tree(X, seed):
    """The tree of the largest mutual information."""
    n = X.shape[1]
    squares = np.minimum(np.corrcoef(X.T) ** 2, 1 - 1e-12)
    # a spanning tree is of the same edges if all weigh a constant less
    costs = np.log1p(-squares) - 100
    np.fill_diagonal(costs, 0.0)
    spanning = minimum_spanning_tree(costs)
    _, predecessors = breadth_first_order(spanning, 0, directed=False)
    adjacency = np.zeros((n, n), dtype=bool)
    for node in range(n):
        if predecessors[node] >= 0:
            adjacency[predecessors[node], node] = True
    return normal(network_covariance(X, adjacency))


def full_bayes(X, seed):
    """The posterior predictive density of all columns under BGe's prior."""
    score = BGe(edge_penalty=1.0).fit(X)
    worth = score.alpha_mu + len(X)
    df = worth + 2
    shape = score.scatter_ * (worth + 1) / (worth * df)
    return multivariate_t(score.posterior_mean_, shape, df).logpdf


def covariance_of(estimator):
    """A normal distribution with the covariance of a scikit-learn estimator."""

    def fit(X, seed):
        return normal(estimator(assume_centered=True).fit(X).covariance_)

    return fit


MODELS = {
    "posterior": sampled(PartitionMCMCStructure),
    "orders": sampled(OrderMCMCStructure),
    "BIC search": bic_search,
    "hill climbing": hill_climbing,
    "tree": tree,
    "full, Bayes": full_bayes,
    "full": covariance_of(EmpiricalCovariance),
    "Ledoit-Wolf": covariance_of(LedoitWolf),
    "glasso": covariance_of(GraphicalLassoCV),
}


# --------------------------------------------------------------------- comparison


def splits(n_rows, n_columns, how, n_splits):
    """Pairs of training and held-out rows."""
    if how == "all":
        yield from KFold(n_splits, shuffle=True, random_state=0).split(range(n_rows))
        return
    rng = np.random.default_rng(0)
    for _ in range(n_splits):
        order = rng.permutation(n_rows)
        yield order[: 2 * n_columns], order[2 * n_columns :]


def held_out(X, how, model, n_splits):
    """Mean log density of held-out rows, of each split, and seconds of a fit."""
    densities, seconds = [], 0.0
    for seed, (train, test) in enumerate(splits(*X.shape, how, n_splits)):
        mean, scale = X[train].mean(axis=0), X[train].std(axis=0)
        scale[scale == 0] = 1.0
        began = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a graphical lasso that did not converge
            try:
                density = MODELS[model]((X[train] - mean) / scale, seed)
                densities.append(density((X[test] - mean) / scale).mean())
            except (np.linalg.LinAlgError, FloatingPointError):
                densities.append(-np.inf)  # a covariance that is none
        seconds += time.process_time() - began
    return np.array(densities), seconds / n_splits


def compare(name, X, how, n_splits, models):
    """Rows of the results, one for each model."""
    reference = None
    for model in ("posterior", *models):
        climbs = model == "hill climbing"
        if climbs and (
            X.shape[1] > LARGEST_CLIMB
            or how == "few"
            or installed("pgmpy") == "not installed"
        ):
            continue
        densities, seconds = held_out(X, how, model, n_splits)
        reference = densities if reference is None else reference
        difference = densities - reference
        with np.errstate(invalid="ignore"):
            error = difference.std(ddof=1) / np.sqrt(n_splits)
        yield {
            "table": name,
            "rows": len(X),
            "columns": X.shape[1],
            "how": how,
            "model": model,
            "density": float(densities.mean()),
            "difference": float(difference.mean()),
            "error": float(error),
            "seconds": seconds,
        }


def main():
    others = [model for model in MODELS if model != "posterior"]
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--splits", type=int, default=10, help="of each table")
    parser.add_argument("--tables", nargs="+", choices=TABLES, help="some alone")
    parser.add_argument("--models", nargs="+", choices=others, help="some alone")
    parser.add_argument("--quick", action="store_true", help="to see that it works")
    arguments = parser.parse_args()
    note, names = "", arguments.tables or list(TABLES)
    models = arguments.models or others
    if installed("cdt") == "not installed":
        names = [name for name in names if name != "Sachs"]
    if arguments.quick:
        note, names, arguments.splits = "quick run, to be replaced", ["states"], 3
        models = [model for model in models if model != "hill climbing"]
    table = Table(
        "table:>9 how:>4 model:>14 density:.3f difference:+.3f error:.3f seconds:.2f"
    )
    rows = []
    if (arguments.tables or arguments.models) and not arguments.quick:
        again = f"{'; '.join(models)} of {', '.join(names)}"
        rows, note = earlier_results(
            "real",
            lambda row: (
                row["table"] not in names or row["model"] not in ("posterior", *models)
            ),
            again,
        )
    for name in names:
        X = TABLES[name]()
        for how in ("all", "few"):
            for row in compare(name, X, how, arguments.splits, models):
                rows.append(row)
                table.add(row)
        write_results("real", rows, packages=("statsmodels", "pgmpy"), note=note)


if __name__ == "__main__":
    main()
