"""Calibration: whether edges with probability p are there in a share p of the cases.

    python benchmarks/calibration.py            # some minutes on one core
    python benchmarks/calibration.py --quick    # a few seconds
    python benchmarks/calibration.py --figure calibration.svg
    python benchmarks/calibration.py --holes 0.2 --cases 200

DAGs with four variables are drawn from the prior, parameters from theirs, and rows
from that network, in some cases with random perfect interventions. The posterior is
then exact (all 543 DAGs, or those in which no number is the cause of a category, with
mixed data; local scores as the estimators have them), and an edge that it
gives the probability p must be in a share p of the DAGs that were drawn. If the score
were that of another model, or counted a row that tells nothing, it would not be.

For each score, without and with interventions: the probabilities of all edges in ten
bins, their mean, the share of edges that are there, and by how many standard errors
these differ. `pooled` is the same data with interventions taken for observations.

With `--holes` a share of the cells is missing at random: more of them where the first
variable, which is observed, is large. Probabilities are then those of chains that draw
what is missing (PartitionMCMCStructure), not exact, and go to a table of their own.
Data with a constant column are left out there.
"""

import argparse
import itertools
import warnings

import numpy as np
from common import Table, earlier_results, write_results
from scipy.special import logsumexp
from scipy.stats import invwishart

from skbidag import PartitionMCMCStructure
from skbidag.scores import BDe, BGe, ConditionalGaussian
from skbidag.scores._interventional import with_interventions

N = 4
EDGES = 10  # bins
# Of the chains that draw missing cells: a hundred completions
CHAIN = {"n_iter": 10_000, "n_draws": 200, "n_chains": 1}


def all_dags():
    """All DAGs with four nodes, [d, i, j] for i -> j."""
    pairs = [(i, j) for i in range(N) for j in range(N) if i != j]
    graphs = np.zeros((2 ** len(pairs), N, N), dtype=bool)
    for k, (i, j) in enumerate(pairs):
        graphs[:, i, j] = np.arange(len(graphs)) >> k & 1
    paths = graphs.astype(np.int64)
    for _ in range(N):
        paths = np.minimum(paths + paths @ graphs, 1)
    return graphs[~paths[:, range(N), range(N)].any(axis=1)]


def draw_cells(rng, n_rows):
    """Experiments of ten rows each, in which one or two variables are set."""
    cells = np.zeros((n_rows, N), dtype=bool)
    for start in range(n_rows // 4, n_rows, 10):
        chosen = rng.choice(N, size=rng.integers(1, 3), replace=False)
        cells[start : start + 10, chosen] = True
    return cells


class Gaussian:
    """BGe with a prior that does not look at the data."""

    forbidden = np.zeros((N, N), dtype=bool)
    score = BGe(prior="paper", edge_penalty=1.0)

    @staticmethod
    def draw(rng, dag, order, cells):
        """Rows of a network with parameters from BGe's prior."""
        alpha_mu, alpha_w = 1.0, N + 2.0
        scale = alpha_mu * (alpha_w - N - 1) / (alpha_mu + 1)
        X = np.zeros(cells.shape)
        for node in order:
            parents = np.flatnonzero(dag[:, node])
            chi_square = rng.chisquare(alpha_w - N + len(parents) + 1)
            variance = scale / chi_square
            weights = rng.normal(size=len(parents)) / np.sqrt(chi_square)
            constant = rng.normal() * np.sqrt(variance / alpha_mu)
            noise = rng.normal(size=len(X)) * np.sqrt(variance)
            X[:, node] = X[:, parents] @ weights + constant + noise
            given = rng.normal(size=len(X))
            X[:, node] = np.where(cells[:, node], given, X[:, node])
        return X


class Categorical:
    """BDe, with three levels for each variable."""

    forbidden = np.zeros((N, N), dtype=bool)
    levels = 3
    score = BDe(edge_penalty=1.0, categories=[np.arange(3)] * N)

    @classmethod
    def draw(cls, rng, dag, order, cells):
        """Rows of a network with probabilities from BDe's prior."""
        X = np.zeros(cells.shape, dtype=int)
        for node in order:
            parents = np.flatnonzero(dag[:, node])
            n_configurations = cls.levels ** len(parents)
            counts = np.full(cls.levels, 1.0 / (n_configurations * cls.levels))
            table = draw_dirichlet(rng, counts, n_configurations)
            configuration = X[:, parents] @ cls.levels ** np.arange(len(parents))
            u = rng.random(len(X))[:, None]
            own = (np.cumsum(table, axis=1)[configuration] < u).sum(axis=1)
            own = np.minimum(own, cls.levels - 1)
            given = rng.integers(cls.levels, size=len(X))
            X[:, node] = np.where(cells[:, node], given, own)
        return X


class KnownPrior(ConditionalGaussian):
    """The score of mixed data with a prior that does not look at the data."""

    def _scale(self, X, codes, counts):
        return np.zeros(X.shape[1]), np.ones(X.shape[1])


class Mixed:
    """Two variables with three levels and two numbers, which are no causes of levels.

    (With such causes the score is a likelihood for each family, and not of a model.)
    """

    levels = 3
    divides = np.arange(N) % 2 == 0
    forbidden = ~divides[:, None] & divides
    score = KnownPrior(
        edge_penalty=1.0,
        continuous_causes=False,
        categories=[np.arange(3) if j % 2 == 0 else None for j in range(N)],
    )

    @classmethod
    def draw(cls, rng, dag, order, cells):
        """Rows of a network with parameters from the score's prior."""
        X = np.zeros(cells.shape)
        for node in order:
            parents = np.flatnonzero(dag[:, node])
            dividers = parents[cls.divides[parents]]
            n_cells = cls.levels ** len(dividers)
            cell = X[:, dividers].astype(int) @ cls.levels ** np.arange(len(dividers))
            if cls.divides[node]:
                shape = np.full(cls.levels, 1.0 / (n_cells * cls.levels))
                shares = draw_dirichlet(rng, shape, n_cells)
                own = (shares.cumsum(axis=1)[cell] < rng.random(len(X))[:, None]).sum(1)
                own = np.minimum(own, cls.levels - 1)
                given = rng.integers(cls.levels, size=len(X))
            else:
                numbers = [*parents[~cls.divides[parents]], node]
                drawn = [
                    draw_normal(rng, len(numbers), n_cells) for _ in range(n_cells)
                ]
                mean, covariance = (np.array(part) for part in zip(*drawn, strict=True))
                own = draw_last(rng, X[:, numbers[:-1]], mean[cell], covariance[cell])
                given = rng.normal(size=len(X))
            X[:, node] = np.where(cells[:, node], given, own)
        return X


def draw_normal(rng, size, n_cells):
    """Mean and covariance of some numbers in one of the cells, from their prior."""
    alpha_mu = 1.0
    scale, df = alpha_mu**2 / (alpha_mu + 1), alpha_mu + 1 + size
    covariance = np.atleast_2d(invwishart(df, scale * np.eye(size)).rvs(1, rng))
    mean = rng.multivariate_normal(np.zeros(size), covariance * n_cells / alpha_mu)
    return mean, covariance


def draw_last(rng, X, mean, covariance):
    """Draw the last of some numbers given the others, row by row."""
    weights = np.linalg.solve(covariance[:, :-1, :-1], covariance[:, :-1, -1:])[..., 0]
    variance = covariance[:, -1, -1] - (weights * covariance[:, :-1, -1]).sum(axis=1)
    location = mean[:, -1] + (weights * (X - mean[:, :-1])).sum(axis=1)
    return location + rng.normal(size=len(X)) * np.sqrt(variance)


def draw_dirichlet(rng, counts, size):
    """Draw shares with the same pseudo-counts, which may be very small."""
    shares = rng.dirichlet(counts, size=size)
    # so small counts may give no number: all on one level, then
    bad = ~np.isfinite(shares).all(axis=1)
    shares[bad] = np.eye(len(counts))[rng.integers(len(counts), size=bad.sum())]
    return shares


def edge_probabilities(score, dags):
    """Exact probabilities of edges."""
    weights = 1 << np.arange(N)
    keys = (dags.transpose(0, 2, 1) @ weights).astype(int)
    log_scores = np.zeros(len(dags))
    for node in range(N):
        others = [j for j in range(N) if j != node]
        known = np.zeros(1 << N)
        for size in range(N):
            for parents in itertools.combinations(others, size):
                known[sum(1 << j for j in parents)] = score.local_score(node, parents)
        log_scores += known[keys[:, node]]
    return np.tensordot(np.exp(log_scores - logsumexp(log_scores)), dags, 1)


def with_holes(rng, X, share):
    """The data without some cells, at random given the first variable."""
    holed = X.astype(float)
    more = X[:, 0] > np.median(X[:, 0])
    rate = np.where(more, 1.5, 0.5)[:, None] * share * N / (N - 1)
    holed[:, 1:][rng.random((len(X), N - 1)) < rate] = np.nan
    return holed


def has_constant(X):
    """Whether some column has one value: estimators give it no edges."""
    return any(len(np.unique(column[~np.isnan(column)])) < 2 for column in X.T)


def sampled_probabilities(rng, score, holed):
    """Probabilities of edges from data with missing cells."""
    sampler = PartitionMCMCStructure(
        score, search_space="full", random_state=int(rng.integers(2**31)), **CHAIN
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return sampler.fit(holed).adjacency_probabilities_


def one_case(rng, model, dags, how, n_rows, holes=None):
    """Probabilities of the edges, and which of them are there."""
    dag = dags[rng.integers(len(dags))]
    order = sorted(range(N), key=lambda node: n_ancestors(dag, node))
    cells = np.zeros((n_rows, N), dtype=bool)
    if how != "observed":
        cells = draw_cells(rng, n_rows)
    X = model.draw(rng, dag, order, cells)
    used = cells if how == "interventions" else None
    score = with_interventions(model.score, used if cells.any() else None)
    off = ~np.eye(N, dtype=bool) & ~model.forbidden
    if holes is not None:
        holed = with_holes(rng, X, holes)
        if has_constant(holed):  # another one: what is left out depends on data alone
            return one_case(rng, model, dags, how, n_rows, holes)
        return sampled_probabilities(rng, model.score, holed)[off], dag[off]
    return edge_probabilities(score.fit(X), dags)[off], dag[off]


def n_ancestors(dag, node):
    """How many nodes lead to a node, by which parents come first."""
    found, new = set(), {node}
    while new:
        new = {int(i) for j in new for i in np.flatnonzero(dag[:, j])} - found
        found |= new
    return len(found)


def calibrate(model, how, n_cases, n_rows, seed, holes=None):
    """Rows of a table: bins of probabilities beside shares."""
    rng = np.random.default_rng(seed)
    dags = all_dags()
    dags = dags[~(dags & model.forbidden).any(axis=(1, 2))]
    cases = [one_case(rng, model, dags, how, n_rows, holes) for _ in range(n_cases)]
    probability, there = (np.array(part) for part in zip(*cases, strict=True))
    bins = np.minimum((probability * EDGES).astype(int), EDGES - 1)
    for k in range(EDGES):
        chosen = bins == k
        if not chosen.any():
            continue
        # edges of one DAG depend on each other: errors are of cases
        difference = np.where(chosen, there - probability, 0.0).sum(axis=1)
        total = chosen.sum()
        # and not below those of independent edges: what is nearly certain hardly fails
        least = np.where(chosen, probability * (1 - probability), 0.0).sum()
        variance = max(n_cases * difference.var(ddof=1), least)
        error = np.sqrt(variance) / total
        yield {
            "bin": k / EDGES,
            "edges": int(total),
            "probability": float(probability[chosen].mean()),
            "share": float(there[chosen].mean()),
            "z": float(difference.sum() / total / max(error, 1e-12)),
        }


def draw_figure(rows, path):
    """Shares over probabilities, a panel for each score."""
    import matplotlib.pyplot as plt

    scores = list(dict.fromkeys(row["score"] for row in rows))
    figure, axes = plt.subplots(
        1, len(scores), figsize=(4 * len(scores), 4), layout="constrained"
    )
    for axis, score in zip(np.atleast_1d(axes), scores, strict=True):
        axis.plot([0, 1], [0, 1], color="0.7", linewidth=1)
        for how, marker in zip(HOW, "osx", strict=True):
            mine = [row for row in rows if (row["score"], row["data"]) == (score, how)]
            axis.plot(
                [row["probability"] for row in mine],
                [row["share"] for row in mine],
                marker=marker,
                linestyle=":" if how == "pooled" else "none",
                label=how,
            )
        axis.set(title=score, xlabel="probability", aspect="equal")
    np.atleast_1d(axes)[0].set_ylabel("share of edges that are there")
    np.atleast_1d(axes)[-1].legend(loc="lower right", frameon=False)
    figure.savefig(path)


MODELS = {"BGe": Gaussian, "BDe": Categorical, "mixed": Mixed}
HOW = ["observed", "interventions", "pooled"]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", type=int, default=3000, help="networks of each kind")
    parser.add_argument("--rows", type=int, default=60, help="rows of each")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--scores", nargs="+", default=list(MODELS), choices=MODELS)
    parser.add_argument("--holes", type=float, help="share of cells that are missing")
    parser.add_argument("--figure", metavar="FILE", help="draw it, too")
    parser.add_argument("--quick", action="store_true", help="to see that it works")
    arguments = parser.parse_args()
    note = f"{arguments.cases} networks of each kind, {arguments.rows} rows"
    if arguments.holes is not None:
        note += f", {arguments.holes:.0%} holes"
    if arguments.quick:
        note, arguments.cases = "quick run, to be replaced", 20
    table = Table("score:>5 data:>13 bin:.1f edges:d probability:.3f share:.3f z:.1f")
    results = "calibration" if arguments.holes is None else "calibration_missing"
    rows, together = earlier_results(
        results, lambda row: row["score"] not in arguments.scores, note
    )
    note = together if rows else note
    for name in arguments.scores:
        model = MODELS[name]
        for how in HOW if arguments.holes is None else ["observed"]:
            found = calibrate(
                model,
                how,
                arguments.cases,
                arguments.rows,
                arguments.seed,
                arguments.holes,
            )
            for row in found:
                rows.append({"score": name, "data": how} | row)
                table.add(rows[-1])
            write_results(results, rows, note=note)
    if arguments.figure:
        draw_figure(rows, arguments.figure)


if __name__ == "__main__":
    main()
