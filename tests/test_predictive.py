import warnings
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy.special import logsumexp
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from helpers import DATA, random_dag
from skbidag import OrderMCMCStructure
from skbidag._core._predictive import (
    Weights,
    add_terms,
    level_log_sums,
    log_mean_over_dags,
)
from skbidag._posterior import DAGSamples
from skbidag._predictive import (
    _categorical,
    _families,
    _gaussian,
    log_density,
    predict,
    sample,
)
from skbidag._predictive import predict_probabilities as predict_several
from skbidag.scores import (
    BaseScore,
    BDe,
    BGe,
    CategoricalPredictiveScore,
    LinearPredictiveScore,
    PredictiveScore,
)

LEVELS = [2, 3, 2, 3, 2]


def packed(dags):
    return DAGSamples(np.packbits(np.asarray(dags, dtype=bool)[None], axis=-1))


def some_dags(rng):
    """Random DAGs, the first three of them twice."""
    dags = [random_dag(rng, 5, density=0.8) for _ in range(7)]
    return dags + dags[:3]


def predict_probabilities(score, samples, X, node):
    """Those of one variable."""
    (probabilities,) = predict_several(score, samples, X, [node])
    return probabilities


def parents_of(dag, node):
    return np.flatnonzero(dag[:, node])


def log_joint(score, dag, X):
    """Sum of a DAG's local log predictive densities."""
    return sum(
        score.log_predictive(X, node, parents_of(dag, node)) for node in range(len(dag))
    )


@pytest.fixture(scope="module")
def gaussian():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5)) @ rng.normal(size=(5, 5)) + 3
    dags = some_dags(rng)
    return BGe().fit(X), dags, X


@pytest.fixture(scope="module")
def categorical():
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.integers(0, r, 80) for r in LEVELS])
    X[:, 1] = np.where(rng.random(80) < 0.6, X[:, 3], X[:, 1])
    dags = some_dags(rng)
    return BDe().fit(X), dags, X


# Density


@pytest.mark.parametrize("kind", ["gaussian", "categorical"])
def test_density_is_the_mean_over_dags(kind, request):
    score, dags, X = request.getfixturevalue(kind)
    naive = logsumexp([log_joint(score, dag, X) for dag in dags], axis=0)
    got = log_density(score, packed(dags), X)
    np.testing.assert_allclose(got, naive - np.log(len(dags)), rtol=1e-12)


@pytest.mark.parametrize("kind", ["gaussian", "categorical"])
def test_density_does_not_depend_on_slices(kind, request, monkeypatch):
    score, dags, X = request.getfixturevalue(kind)
    whole = log_density(score, packed(dags), X)
    monkeypatch.setattr(_families, "SLICE_BYTES", 2000)
    in_slices = log_density(score, packed(dags), X)
    np.testing.assert_allclose(in_slices, whole, rtol=1e-12)


def test_density_of_one_dag_is_the_reference():
    data = pd.read_csv(DATA / "gauss12.csv")
    dag = pd.read_csv(DATA / "gauss12_dag.csv").to_numpy(dtype=bool)
    expected = pd.read_csv(DATA / "predictive_gauss12.csv")
    rows = data.iloc[expected["row"]]
    score = BGe(prior="paper").fit(data.iloc[:100])
    got = log_density(score, packed([dag]), rows)
    np.testing.assert_allclose(got, expected["marginal"], atol=1e-7)


def test_density_far_out_is_not_lost(gaussian):
    score, dags, X = gaussian
    dense = log_density(score, packed(dags), X[:2] + 1e6)
    assert np.isfinite(dense).all()


def test_unseen_level_has_its_prior_mass(categorical):
    score, dags, X = categorical
    new = X[:1].copy()
    new[0, 2] = 99
    assert np.isfinite(log_density(score, packed(dags), new)).all()


# Kernels against plain twins


def test_log_mean_over_dags():
    rng = np.random.default_rng(0)
    terms = rng.normal(scale=300, size=(9, 32))
    terms[:, 3] -= 5000.0
    terms[2, 5] = -np.inf
    terms[:, 6] = -np.inf
    of_dag = rng.integers(0, 9, size=(20, 4)).astype(np.int32)
    shares = rng.dirichlet(np.ones(20))
    out = np.empty(32)
    log_mean_over_dags(terms, of_dag, np.log(shares), out)
    naive = logsumexp(terms[of_dag].sum(axis=1), b=shares[:, None], axis=0)
    np.testing.assert_allclose(out, naive, rtol=1e-12)
    assert out[6] == -np.inf


@pytest.mark.parametrize("scale", [1.0, 1e-300])
def test_level_log_sums(scale):
    """With small factors the products vanish, and logarithms take over."""
    rng = np.random.default_rng(1)
    factors = rng.random((6, 3 * 4, 32)) * scale
    factors[:, 0] *= 1e-200 if scale == 1.0 else 1.0
    chosen = [[0], [1, 2], [0, 3, 5], [2, 4]]
    first = np.cumsum([0, *map(len, chosen)], dtype=np.int32)
    families = np.concatenate(chosen).astype(np.int32)
    out = np.empty((4, 3, 32))
    level_log_sums(factors, first, families, out)
    for got, own in zip(out, chosen, strict=True):
        logs = np.log(factors[own]).sum(axis=0).reshape(3, 4, 32)
        np.testing.assert_allclose(got, logsumexp(logs, axis=1), rtol=1e-12)


def test_sums_over_groups_of_dags():
    rng = np.random.default_rng(2)
    terms = rng.normal(scale=400, size=(9, 32))
    of_dag = rng.integers(-1, 9, size=(20, 4)).astype(np.int32)
    weights = rng.normal(size=(20, 32))
    expected = weights + np.where(
        of_dag[:, :, None] < 0, 0.0, terms[np.maximum(of_dag, 0)]
    ).sum(axis=1)
    add_terms(terms, of_dag, weights)
    np.testing.assert_allclose(weights, expected, rtol=1e-12)
    dags, group = np.array([5, 19, 3, 7, 8]), np.array([0, 0, 1, 1, 2])
    out = np.empty((3, 32))
    weights[dags[group == 1], 7] = -np.inf
    Weights(weights).log_sums(dags, group, out)
    for number, got in enumerate(out):
        naive = logsumexp(weights[dags[group == number]], axis=0)
        np.testing.assert_allclose(got, naive, rtol=1e-12)


# Prediction, continuous


def on_a_wide_grid(score, samples, row, nodes, n_points=4001, reach=16.0):
    """Expectation of nodes of a row under exp(log_density), by brute force.

    A grid of standard deviations times sinh, about the mean: the trapezoidal rule with
    very many points.
    """
    T, mean = score.scatter_, score.posterior_mean_
    t = np.linspace(-reach, reach, n_points)
    values, stretch = np.sinh(t), np.cosh(t)
    grids = np.meshgrid(*[values] * len(nodes), indexing="ij")
    rows = np.tile(row, (n_points ** len(nodes), 1))
    log_weight = 0.0
    for node, grid in zip(nodes, grids, strict=True):
        width = np.sqrt(T[node, node] / score.n_effective_)
        rows[:, node] = mean[node] + width * grid.ravel()
        log_weight = log_weight + np.log(np.cosh(np.arcsinh(grid.ravel())))
    log_f = log_density(score, samples, rows) + log_weight
    f = np.exp(log_f - log_f.max())
    assert stretch[0] > 1e6
    return [f @ rows[:, node] / f.sum() for node in nodes]


def naive_normal_expectation(score, dags, X):
    """A mixture of the DAGs' joint normal distributions, conditioned cell by cell."""
    n, mean = X.shape[1], score.posterior_mean_
    covariances = []
    for dag in dags:
        B, variances = np.zeros((n, n)), np.empty(n)
        for node in range(n):
            parents = parents_of(dag, node)
            B[parents, node], variances[node] = score.regression(node, parents)
        effects = np.linalg.inv(np.eye(n) - B)
        covariances.append(effects.T @ np.diag(variances) @ effects)
    result = np.empty_like(X)
    for row, v in product(range(len(X)), range(n)):
        seen = np.flatnonzero(~np.isnan(X[row]) & (np.arange(n) != v))
        z = X[row, seen] - mean[seen]
        expected, log_weights = [], []
        for covariance in covariances:
            block = covariance[np.ix_(seen, seen)]
            expected.append(covariance[v, seen] @ np.linalg.solve(block, z))
            log_weights.append(
                -0.5 * (z @ np.linalg.solve(block, z) + np.linalg.slogdet(block)[1])
            )
        weights = np.exp(log_weights - logsumexp(log_weights))
        result[row, v] = mean[v] + weights @ expected
    return result


def test_regression_is_that_of_the_plug_in_density(gaussian):
    score, _, X = gaussian
    coefficients, variance = score.regression(2, [0, 3])
    mean = score.posterior_mean_
    residual = X[:, 2] - mean[2] - (X[:, [0, 3]] - mean[[0, 3]]) @ coefficients
    expected = -0.5 * (np.log(2 * np.pi * variance) + residual**2 / variance)
    np.testing.assert_allclose(
        score.log_predictive(X, 2, [0, 3], plug_in=True), expected
    )
    T = score.scatter_
    np.testing.assert_allclose(
        coefficients, np.linalg.solve(T[np.ix_([0, 3], [0, 3])], T[[0, 3], 2])
    )


def gaussian_case(n_rows, seed, n=4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n)) @ rng.normal(size=(n, n)) + 3
    dags = [random_dag(rng, n, density=0.7) for _ in range(6)]
    return BGe().fit(X), packed(dags + dags[:2]), X


@pytest.mark.parametrize("n_rows", [2, 4, 20, 500])
def test_expectation_is_that_of_the_density(n_rows):
    """Of what score_samples says, to a millionth of a standard deviation."""
    score, samples, X = gaussian_case(n_rows, n_rows)
    spread = X.std(axis=0)
    new = X[:3].copy()
    new[-1] += 3 * spread  # far from the others
    got = predict(score, samples, new)
    for row, v in product(range(len(new)), range(4)):
        (expected,) = on_a_wide_grid(score, samples, new[row], [v], n_points=40_001)
        assert abs(got[row, v] - expected) < 1e-6 * spread[v]


@pytest.mark.parametrize("n_rows", [60, 500, 5000])
def test_expansion_where_integrals_are_many(n_rows, monkeypatch):
    """It tells where it would not do."""
    _, samples, X = gaussian_case(n_rows, n_rows)
    score = BGe(prior="paper").fit(X)
    spread = X.std(axis=0)
    new = X[:50].copy()
    new[40:, 1] += 5 * spread[1]
    integrated = predict(score, samples, new)
    monkeypatch.setattr(_gaussian, "FEW_BLANKETS", 0)
    expanded = predict(score, samples, new)
    # what is left out is known by its order, and is here up to ten times as much
    assert (np.abs(expanded - integrated) < 1e-5 * spread).all()
    assert (expanded != integrated).any()


@pytest.mark.slow
def test_outliers_are_integrated_as_well():
    """Families contradict each other by many standard deviations."""
    for n_rows, away in (5, 30.0), (50, 30.0), (50, 300.0), (5000, 30.0):
        score, samples, X = gaussian_case(n_rows, 7)
        spread = X.std(axis=0)
        new = X[:1].copy()
        new[0, 1] += away * spread[1]
        got = predict(score, samples, new)
        for v in (0, 2, 3):
            (expected,) = on_a_wide_grid(score, samples, new[0], [v], n_points=200_001)
            assert abs(got[0, v] - expected) < 1e-5 * spread[v]


def on_intervals(score, samples, row, v):
    """Expectation of a node, and the log density of the rest of the row.

    By Gauss's rule between points around all predictions.
    """
    T, z, sets = score.scatter_, row - score.posterior_mean_, set()
    for dag in samples:
        sets.add(tuple(parents_of(dag, v)))
        for child in np.flatnonzero(dag[v]):
            others = set(parents_of(dag, child)) - {v}
            sets |= {tuple(sorted(others)), tuple(sorted({*others, child}))}
    ends, steps = [], 0.25 * 1.5 ** np.arange(40)
    for given in map(list, sets):
        slopes = np.linalg.solve(T[np.ix_(given, given)], T[given, v])
        width = np.sqrt((T[v, v] - slopes @ T[given, v]) / score.n_effective_)
        ends.append(slopes @ z[given] + width * np.r_[-steps, 0.0, steps])
    ends = np.unique(ends)
    nodes, weights = np.polynomial.legendre.leggauss(12)
    half, middle = np.diff(ends)[:, None] / 2, (ends[1:] + ends[:-1])[:, None] / 2
    rows = np.tile(row, (half.size * len(nodes), 1))
    rows[:, v] = score.posterior_mean_[v] + (middle + half * nodes).ravel()
    log_f = log_density(score, samples, rows)
    f = np.exp(log_f - log_f.max()) * (half * weights).ravel()
    return f @ rows[:, v] / f.sum(), log_f.max() + np.log(f.sum())


@pytest.mark.parametrize("n", [6, 10])
def test_rows_that_contradict_narrow_families(n):
    """Peaks are hundreds of steps apart, and few of them matter."""
    rng = np.random.default_rng(n)
    X = rng.random((10, n))
    dags = [random_dag(rng, n, density=0.9) for _ in range(12)]
    # eight rows with the weight of 32: families leave little open, of these rows alone
    score, samples = BGe().fit(X[:8].repeat(4, axis=0)), packed(dags)
    got = predict(score, samples, X[7:])
    for row, v in product(range(3), range(0, n, 5)):
        expected, log_mass = on_intervals(score, samples, X[7 + row], v)
        assert abs(got[row, v] - expected) < 1e-8
        holed = X[[7 + row]]
        holed[0, v] = np.nan
        assert abs(log_density(score, samples, holed)[0] - log_mass) < 1e-8


def test_one_unobserved_cell_is_integrated(gaussian):
    score, dags, X = gaussian
    holed = X[:6].copy()
    holed[range(6), [0, 1, 2, 3, 4, 0]] = np.nan
    got = predict(score, packed(dags), holed)[range(6), [0, 1, 2, 3, 4, 0]]
    known = predict(score, packed(dags), X[:6])[range(6), [0, 1, 2, 3, 4, 0]]
    np.testing.assert_allclose(got, known, rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(("n_rows", "tolerance"), [(20, 0.02), (200, 0.005)])
def test_several_unobserved_cells_nearly(n_rows, tolerance):
    """The normal approximation against a grid, in standard deviations."""
    score, samples, X = gaussian_case(n_rows, 3)
    spread, errors = X.std(axis=0), []
    for known, (a, b) in zip(X, [(0, 1), (1, 3), (0, 2), (2, 3)], strict=False):
        row = known.copy()
        row[a] = np.nan  # and b is predicted, without a look at it
        (got,) = predict(score, samples, row[None])
        expected = on_a_wide_grid(score, samples, known, [a, b], 301)
        errors.append(abs(got[b] - expected[1]) / spread[b])
        row[b] = np.nan
        (got,) = predict(score, samples, row[None])
        errors.extend(np.abs(got[[a, b]] - expected) / spread[[a, b]])
    assert max(errors) < tolerance


class Plugged(BaseScore, LinearPredictiveScore):
    """BGe's regressions with normal densities."""

    def _fit(self, X, sample_weight):
        self.bge = BGe().fit(X)
        self.posterior_mean_ = self.bge.posterior_mean_

    def log_marginal_likelihood(self, node, parents):
        return self.bge.log_marginal_likelihood(node, parents)

    def regression(self, node, parents):
        return self.bge.regression(node, parents)


@pytest.mark.parametrize("slice_bytes", [1 << 28, 400])
def test_expectation_of_a_mixture_of_normals(gaussian, monkeypatch, slice_bytes):
    monkeypatch.setattr(_families, "SLICE_BYTES", slice_bytes)
    _, dags, X = gaussian
    score = Plugged().fit(X)
    X = X.copy()
    X[np.random.default_rng(2).random(X.shape) < 0.3] = np.nan
    X[0] = np.nan  # nothing observed
    X[1, 1:] = np.nan
    X[10:20, 3] = np.nan  # one pattern with more rows than variables
    X[10:20, [0, 1, 2, 4]] = 1.5 + np.arange(40).reshape(10, 4) % 7
    X[30:40] = np.arange(50).reshape(10, 5) % 9  # complete rows
    got = predict(score, packed(dags), X)
    np.testing.assert_allclose(got, naive_normal_expectation(score, dags, X), atol=1e-8)
    np.testing.assert_allclose(got[0], score.posterior_mean_)


def naive_student_expectation(score, dags, X):
    """As if each DAG's joint density were one Student t of its scatter matrix."""
    n, (mean, _, _, offset, df) = X.shape[1], score.student_t()
    precisions = []
    for dag in dags:
        roots = np.zeros((n, n))
        for node in range(n):
            parents = parents_of(dag, node)
            slopes, variance = score.regression(node, parents)
            roots[node, node], roots[node, parents] = 1.0, -slopes
            roots[node] /= np.sqrt(variance * (df - 2))
        precisions.append(roots.T @ roots)

    def fill_in(L, row, cells):
        """The row with expectations, its quadratic, and the cells' log determinant."""
        z = np.where(np.isin(np.arange(n), cells), 0.0, row - mean)
        block = L[np.ix_(cells, cells)]
        z[cells] = -np.linalg.solve(block, (L @ z)[cells])
        return z, offset + z @ L @ z, np.linalg.slogdet(block)[1]

    result = np.empty_like(X)
    for k, row in enumerate(X):
        unobserved = np.flatnonzero(np.isnan(row))
        own_df = df + n - len(unobserved) - 1
        expected, log_weights = np.empty((2, len(dags), n))
        for d, (dag, L) in enumerate(zip(dags, precisions, strict=True)):
            z, whole, log_det = fill_in(L, row, unobserved)
            expected[d] = z
            log_weights[d] = log_joint(score, dag, z[None] + mean) + 0.5 * (
                len(unobserved) * np.log(whole) - log_det
            )
            for v in np.flatnonzero(~np.isnan(row)):
                # without the density of the cell itself
                z, rest, more = fill_in(L, row, np.append(unobserved, v))
                expected[d, v] = z[v]
                log_weights[d, v] -= 0.5 * (
                    more - log_det - np.log(rest) - (own_df + 1) * np.log(whole / rest)
                )
        weights = np.exp(log_weights - logsumexp(log_weights, axis=0))
        result[k] = mean + (weights * expected).sum(axis=0)
    return result


@pytest.mark.parametrize("n_rows", [7, 200])
def test_several_unobserved_cells_against_a_twin(n_rows):
    score, samples, X = gaussian_case(n_rows, 11, n=6)
    new = np.tile(X[:5], (5, 1))
    holes = np.random.default_rng(6).random(new.shape) < 0.4
    holes[:20, :2] = True  # one pattern of more rows than a tile has
    holes[:20, 2:] = False
    new[holes] = np.nan
    new[:20, 2:] += np.arange(20)[:, None] % 7
    new[-1] = np.nan
    new = new[np.isnan(new).sum(axis=1) > 1]
    got = predict(score, samples, new)
    expected = naive_student_expectation(score, list(samples), new)
    np.testing.assert_allclose(got, expected, atol=1e-9 * X.std(axis=0).max())


@pytest.mark.parametrize("most_kept", [0, 30, 1 << 20])
def test_clusters_that_many_dags_share(monkeypatch, most_kept):
    """Few parents and many DAGs: clusters of all sizes, shared and not."""
    monkeypatch.setattr(_gaussian, "MOST_KEPT", most_kept)
    rng = np.random.default_rng(8)
    X = rng.normal(size=(50, 8)) @ rng.normal(size=(8, 8))
    dags = [random_dag(rng, 8, density=0.3) for _ in range(40)]
    new = X[:8].copy()
    new[rng.random(new.shape) < 0.4] = np.nan
    new[7] = np.nan
    new[7, 0] = X[7, 0]
    # rows that lack the same cells, of which much is kept, are not side by side
    new = np.concatenate([new, 1.5 * new[::-1], new + 1.0])
    score = BGe().fit(X)
    got = predict(score, packed(dags), new)
    several = np.isnan(new).sum(axis=1) > 1
    expected = naive_student_expectation(score, dags, new[several])
    np.testing.assert_allclose(got[several], expected, atol=1e-9 * X.std())
    score = Plugged().fit(X)
    got = predict(score, packed(dags), new)
    expected = naive_normal_expectation(score, dags, new)
    np.testing.assert_allclose(got, expected, atol=1e-8)


@pytest.mark.parametrize("make", [BGe, lambda: Plugged()])
def test_rows_do_not_depend_on_each_other(make):
    """What is kept for rows that lack the same cells is the same in each."""
    rng = np.random.default_rng(9)
    X = rng.normal(size=(50, 6)) @ rng.normal(size=(6, 6))
    samples = packed([random_dag(rng, 6, density=0.4) for _ in range(30)])
    score, new = make().fit(X), rng.normal(size=(40, 6))
    holes = rng.random((4, 6)) < 0.5
    new[holes[rng.integers(4, size=40)]] = np.nan
    for function in (predict, log_density):
        alone = [function(score, samples, row[None])[0] for row in new]
        together = function(score, samples, new)
        np.testing.assert_allclose(together, alone, rtol=1e-12, atol=1e-12)


def test_with_all_edges_unobserved_cells_are_exact():
    """There the joint density is Student t, whose conditionals are known."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(12, 4)) @ rng.normal(size=(4, 4))
    score, n = BGe().fit(X), 4
    order = [2, 0, 3, 1]
    full = np.zeros((4, 4), dtype=bool)
    full[np.ix_(order, order)] = np.triu(np.ones((4, 4), dtype=bool), 1)
    # another DAG of the same class, and one whose cells 0 and 1 are independent of all
    apart = full.copy()
    apart[[0, 1]] = apart[:, [0, 1]] = False
    new = np.array([[0.5, np.nan, np.nan, 1.0], [np.nan, 1.0, np.nan, np.nan]])
    got = predict(score, packed([full, full.T]), new)
    T, mean = score.scatter_, score.posterior_mean_
    for row, v in product(range(2), range(n)):
        seen = np.flatnonzero(np.isfinite(new[row]) & (np.arange(n) != v))
        z = new[row, seen] - mean[seen]
        slope = np.linalg.solve(T[np.ix_(seen, seen)], T[seen, v])
        assert abs(got[row, v] - mean[v] - slope @ z) < 1e-10


def test_expectation_does_not_depend_on_slices(gaussian, monkeypatch):
    score, dags, X = gaussian
    X = np.where(np.random.default_rng(3).random(X.shape) < 0.1, np.nan, X)
    whole = predict(score, packed(dags), X)
    monkeypatch.setattr(_families, "SLICE_BYTES", 2000)
    np.testing.assert_allclose(predict(score, packed(dags), X), whole, rtol=1e-8)


def test_prediction_does_not_look_at_the_cell_itself(gaussian):
    score, dags, X = gaussian
    for away in (10, 1000):
        changed = X.copy()
        changed[:, 2] += away
        np.testing.assert_allclose(
            predict(score, packed(dags), X)[:, 2],
            predict(score, packed(dags), changed)[:, 2],
            rtol=1e-9,
        )


# Prediction, categorical


def naive_probabilities(score, dags, X, v):
    """Sum each DAG's joint probability over all values of what is unobserved."""
    result = np.zeros((len(X), LEVELS[v]))
    for row in range(len(X)):
        free = np.flatnonzero(np.isnan(X[row]) | (np.arange(len(LEVELS)) == v))
        values = np.array(list(product(*[range(LEVELS[u]) for u in free])))
        complete = np.tile(np.nan_to_num(X[row]), (len(values), 1)).astype(int)
        complete[:, free] = values
        for dag in dags:
            p = np.exp(log_joint(score, dag, complete))
            result[row] += np.bincount(complete[:, v], weights=p)
    return result / result.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("node", range(5))
def test_probabilities_are_those_of_the_density(categorical, node):
    """The share of each level in what score_samples says."""
    score, dags, X = categorical
    got = predict_probabilities(score, packed(dags), X, node)
    log_p = []
    for level in range(LEVELS[node]):
        changed = X.copy()
        changed[:, node] = level
        log_p.append(log_density(score, packed(dags), changed))
    expected = np.exp(log_p - logsumexp(log_p, axis=0)).T
    np.testing.assert_allclose(got, expected, atol=1e-10)


def test_few_rows_make_dags_count_differently():
    """With four rows a row says much about the DAG."""
    rng = np.random.default_rng(8)
    X = np.repeat([[0, 0, 1], [1, 1, 0]], 2, axis=0)
    score, samples = BDe().fit(X), packed([random_dag(rng, 3, 0.7) for _ in range(9)])
    new = np.array(list(product(*[range(2)] * 3)))
    joint = np.exp(log_density(score, samples, new)).reshape(2, 2, 2)
    for node in range(3):
        p = predict_probabilities(score, samples, new, node)
        expected = joint / joint.sum(axis=node, keepdims=True)
        given = np.moveaxis(expected, node, -1)
        others = np.delete(new, node, axis=1)
        np.testing.assert_allclose(p, given[tuple(others.T)], atol=1e-12)


@pytest.fixture(scope="module")
def with_holes(categorical):
    X = categorical[2][:30].astype(float)
    X[np.random.default_rng(3).random(X.shape) < 0.35] = np.nan
    X[0] = np.nan
    X[1] = categorical[2][1]
    X[2, 3] = 7  # a level that fit has not seen
    return X


# 1: sum out variable by variable; 5: both ways; 1024: enumerate
# 0: rows all together; 2 and 32: those with holes one by one
@pytest.mark.slow
@pytest.mark.parametrize(
    ("max_enumerated", "few_rows"), [(1, 0), (5, 0), (5, 2), (1024, 0), (1024, 32)]
)
@pytest.mark.parametrize("node", range(5))
def test_probabilities_by_enumeration(
    categorical, with_holes, monkeypatch, node, max_enumerated, few_rows
):
    monkeypatch.setattr(_categorical, "MAX_ENUMERATED", max_enumerated)
    monkeypatch.setattr(_categorical, "MAX_SUMMED", max_enumerated)
    monkeypatch.setattr(_categorical, "FEW_ROWS", few_rows)
    score, dags, _ = categorical
    got = predict_probabilities(score, packed(dags), with_holes, node)
    expected = naive_probabilities(score, dags, with_holes, node)
    np.testing.assert_allclose(got, expected, atol=1e-12)


def test_sums_that_many_dags_share(categorical):
    """Few parents and many DAGs: cells see one or more cells of a cluster."""
    score, _, X = categorical
    rng = np.random.default_rng(9)
    dags = [random_dag(rng, 5, density=0.4) for _ in range(20)]
    new = X[:6].astype(float)
    new[rng.random(new.shape) < 0.4] = np.nan
    got = predict_several(score, packed(dags), new, range(5))
    for node, of_node in enumerate(got):
        expected = naive_probabilities(score, dags, new, node)
        np.testing.assert_allclose(of_node, expected, atol=1e-12)


def test_probabilities_do_not_depend_on_slices(categorical, with_holes, monkeypatch):
    score, dags, _ = categorical
    whole = predict_probabilities(score, packed(dags), with_holes, 1)
    monkeypatch.setattr(_families, "SLICE_BYTES", 2000)
    in_slices = predict_probabilities(score, packed(dags), with_holes, 1)
    np.testing.assert_allclose(in_slices, whole, rtol=1e-12)


def test_looking_up_is_computing(categorical, with_holes, monkeypatch):
    score, dags, X = categorical
    looked_up = predict_probabilities(score, packed(dags), with_holes, 1)
    density = log_density(score, packed(dags), X)
    monkeypatch.setattr(_categorical, "MAX_LOOK_UP", 1)
    computed = predict_probabilities(score, packed(dags), with_holes, 1)
    np.testing.assert_allclose(looked_up, computed, rtol=1e-12)
    np.testing.assert_allclose(density, log_density(score, packed(dags), X))


def test_most_probable_category(categorical, with_holes):
    score, dags, _ = categorical
    got = predict(score, packed(dags), with_holes)
    assert got.dtype.kind == "i"
    for node in range(5):
        p = predict_probabilities(score, packed(dags), with_holes, node)
        np.testing.assert_array_equal(got[:, node], p.argmax(axis=1))


def test_labels_come_back():
    side, number = ["head"] * 60 + ["tail"] * 40, [3] * 60 + [4] * 40
    score = BDe().fit(pd.DataFrame({"side": side, "number": number}))
    samples = packed([[[0, 1], [0, 0]]])
    new = pd.DataFrame({"side": ["tail", None], "number": [None, 4]}, dtype=object)
    # Each cell by the other one; where that is missing, by the larger share.
    assert predict(score, samples, new).tolist() == [["head", 4], ["tail", 3]]
    drawn = sample(score, samples, 20, random_state=0)
    assert set(drawn[:, 0]) == {"head", "tail"}
    assert set(drawn[:, 1]) == {3, 4}


def test_too_much_unobserved_is_an_error(categorical, monkeypatch):
    monkeypatch.setattr(_categorical, "MAX_ENUMERATED", 1)
    monkeypatch.setattr(_categorical, "MAX_SUMMED", 1)
    monkeypatch.setattr(_categorical, "MAX_TABLE", 3)
    score, dags, _ = categorical
    with pytest.raises(ValueError, match=r"predict column 0.*more than 3 entries"):
        predict_probabilities(score, packed(dags), np.full((1, 5), np.nan), 0)


# Samples


def test_samples_are_seeded(gaussian, categorical):
    for score, dags, _ in (gaussian, categorical):
        first = sample(score, packed(dags), 20, random_state=0)
        assert first.shape == (20, 5)
        np.testing.assert_array_equal(
            first, sample(score, packed(dags), 20, random_state=0)
        )
        assert (first != sample(score, packed(dags), 20, random_state=1)).any()


def test_means_of_gaussian_samples(gaussian):
    score, dags, _ = gaussian
    n_samples = 40_000
    X = sample(score, packed(dags), n_samples, random_state=0)
    # All DAGs share the mean: 5 columns at 4 standard errors each.
    distance = np.abs(X.mean(axis=0) - score.posterior_mean_)
    assert (distance < 4 * X.std(axis=0) / np.sqrt(n_samples)).all()


def test_gaussian_samples_have_the_predictive_density():
    # Few data, so that Student t and normal densities differ.
    X = np.random.default_rng(5).normal(size=(12, 2)) @ [[1.0, 0.8], [0.0, 0.5]]
    score = BGe().fit(X)
    samples = packed([[[0, 1], [0, 0]], [[0, 0], [0, 0]]])
    n_samples = 50_000
    drawn = sample(score, samples, n_samples, random_state=0)
    edges = np.linspace(-3, 3, 7)
    fine = np.linspace(-3, 3, 6 * 40 + 1)
    middle = (fine[1:] + fine[:-1]) / 2
    grid = np.stack(np.meshgrid(middle, middle, indexing="ij"), axis=-1).reshape(-1, 2)
    mass = np.exp(log_density(score, samples, grid)) * (fine[1] - fine[0]) ** 2
    mass = mass.reshape(6, 40, 6, 40).sum(axis=(1, 3))
    share = np.histogram2d(*drawn.T, bins=[edges, edges])[0] / n_samples
    # 36 cells at 4 standard errors each; the midpoint rule adds less than 1e-4.
    error = np.sqrt(mass * (1 - mass) / n_samples)
    assert (np.abs(share - mass) < 4 * error + 1e-4).all()


def test_frequencies_of_categorical_samples(categorical):
    score, dags, _ = categorical
    n_samples = 40_000
    drawn = sample(score, packed(dags), n_samples, random_state=0)
    cells = np.array(list(product(*map(range, LEVELS))))
    p = np.exp(log_density(score, packed(dags), cells))
    assert p.sum() == pytest.approx(1)
    share = np.bincount(
        np.ravel_multi_index(drawn.T, LEVELS), minlength=len(cells)
    ) / n_samples  # fmt: skip
    # Pearson's statistic has 71 degrees of freedom: 71 ± 12, and the limit is at 4.
    assert (n_samples * (share - p) ** 2 / p).sum() < 71 + 4 * 12


# Scores of one's own


class Plain(BaseScore):
    """Nothing but a score."""

    def _fit(self, X, sample_weight):
        pass

    def log_marginal_likelihood(self, node, parents):
        return 0.0


class Density(Plain, PredictiveScore):
    """Standard normal columns, whatever their parents are."""

    def log_predictive(self, X, node, parents):
        x = np.asarray(X)[:, node]
        return -0.5 * (np.log(2 * np.pi) + x**2)

    def sample_predictive(self, X, node, parents, random_state=None):
        return check_random_state(random_state).standard_normal(len(X))


class LeastSquares(BaseScore, LinearPredictiveScore):
    """Regressions by least squares, with what the capability lists and no more."""

    def _fit(self, X, sample_weight):
        X = np.asarray(X, dtype=float)
        self.posterior_mean_ = X.mean(axis=0)
        self.deviation_ = X - self.posterior_mean_

    def regression(self, node, parents):
        design, y = self.deviation_[:, parents], self.deviation_[:, node]
        coefficients = np.linalg.lstsq(design, y)[0]
        return coefficients, np.mean((y - design @ coefficients) ** 2)

    def log_marginal_likelihood(self, node, parents):
        n_rows, (_, variance) = len(self.deviation_), self.regression(node, parents)
        return -0.5 * n_rows * np.log(variance) - np.log(n_rows) * len(parents)


class Laplace(BaseScore, CategoricalPredictiveScore):
    """Relative frequencies with one more row in every cell."""

    def _fit(self, X, sample_weight):
        columns = np.asarray(X).T
        self.categories_ = [np.unique(column) for column in columns]
        self.n_levels_ = np.array([len(levels) for levels in self.categories_])
        self.codes_seen_ = self.encode(X)

    def counts(self, node, parents):
        family = [*parents, node]
        counts = np.ones(self.n_levels_[family] + 1)  # the last is a level never seen
        np.add.at(counts, tuple(self.codes_seen_.T[family]), 1.0)
        return counts

    def log_predictive_codes(self, codes, node, parents):
        counts = self.counts(node, parents)
        p = counts / counts[..., :-1].sum(axis=-1, keepdims=True)
        return np.log(p[tuple(codes.T[[*parents, node]])])

    def log_marginal_likelihood(self, node, parents):
        log_p = self.log_predictive_codes(self.codes_seen_, node, parents)
        return log_p.sum() - self.counts(node, parents).size


def learned(score, X):
    model = OrderMCMCStructure(
        score, n_iter=500, n_draws=20, n_chains=2, random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X)


def test_own_score_with_a_density():
    X = pd.DataFrame(np.arange(8.0).reshape(4, 2), columns=["a", "b"])
    score, samples = Density().fit(X), packed([np.zeros((2, 2))])
    expected = -np.log(2 * np.pi) - (X**2).sum(axis=1) / 2
    np.testing.assert_allclose(log_density(score, samples, X), expected)
    np.testing.assert_array_equal(
        sample(score, samples, 3, 0), sample(score, samples, 3, 0)
    )
    with pytest.raises(TypeError, match=r"Density has no predictions.*Linear"):
        predict(score, samples, X)


@pytest.mark.parametrize("bases", [(0, 1), (1, 0)], ids=["score first", "mixin first"])
def test_own_linear_score_does_it_all(gaussian, bases):
    _, dags, X = gaussian
    parts = [BaseScore, LinearPredictiveScore]
    members = {k: v for k, v in vars(LeastSquares).items() if callable(v)}
    own = type("LeastSquares", tuple(parts[k] for k in bases), members)
    frame = pd.DataFrame(X, columns=list("abcde"))
    model = learned(own(), frame)
    score, samples = model.score_, packed(dags[:1])
    np.testing.assert_allclose(
        predict(score, samples, X), naive_normal_expectation(score, dags[:1], X)
    )
    density = log_joint(score, dags[0], X)
    np.testing.assert_allclose(log_density(score, samples, X), density)
    holes = frame.mask(frame > 4)
    assert model.predict(holes).columns.tolist() == list("abcde")
    assert np.isfinite(model.predict(holes).to_numpy()).all()
    assert np.isfinite(model.score_samples(frame)).all()
    rows = model.sample(4000, random_state=0)
    # in units of the standard error of a mean of 4000 draws
    error = (rows.mean() - frame.mean()) / (rows.std() / np.sqrt(len(rows)))
    assert (error.abs() < 4).all()
    with pytest.raises(TypeError, match=r"category probabilities.*Categorical"):
        model.predict_probabilities(frame)


def test_own_categorical_score_does_it_all(categorical):
    _, dags, X = categorical
    model = learned(Laplace(), X)
    score, samples = model.score_, packed(dags[:1])
    # one row in every cell is BDe's prior of a child without parents, too
    prior = BDe(equivalent_sample_size=2).fit(X)
    empty = packed([np.zeros((5, 5))])
    np.testing.assert_allclose(
        predict_probabilities(score, empty, X, 0),
        predict_probabilities(prior, empty, X, 0),
    )
    np.testing.assert_allclose(
        log_density(score, samples, X), log_joint(score, dags[0], X)
    )
    assert model.predict(X).shape == X.shape
    assert np.isin(model.sample(50, random_state=0), [0, 1, 2]).all()
    assert [p.shape[1] for p in model.predict_probabilities(X).values()] == LEVELS
    assert np.isfinite(model.score_samples(X)).all()


def test_labels_are_drawn_given_labels():
    X = np.array([["a", "x"], ["b", "y"]] * 50)
    score = BDe(0.01).fit(X)
    drawn = score.sample_predictive(X, 1, [0], random_state=0)
    assert (drawn == X[:, 1]).all()


# What does not fit


def test_score_without_predictive_density():
    X = np.zeros((4, 2))
    score, samples = Plain().fit(X), packed([np.zeros((2, 2))])
    for call, message in (
        (lambda: log_density(score, samples, X), "predictive density.*PredictiveScore"),
        (lambda: predict(score, samples, X), "predictions.*scores.LinearPredictiveS"),
        (lambda: sample(score, samples), "predictive distribution.*PredictiveScore"),
        (
            lambda: predict_probabilities(score, samples, X, 0),
            "category probabilities.*scores.CategoricalPredictiveScore",
        ),
    ):
        with pytest.raises(TypeError, match=f"Plain has no {message}"):
            call()


@pytest.mark.parametrize(
    ("capability", "missing"),
    [
        (PredictiveScore, "log_predictive"),
        (LinearPredictiveScore, "regression"),
        (CategoricalPredictiveScore, "log_predictive_codes"),
    ],
)
def test_what_a_capability_lists_must_be_written(capability, missing):
    own = type("Own", (Plain, capability), {})
    with pytest.raises(TypeError, match=missing):
        own()


def test_bad_rows_are_named(gaussian, categorical):
    score, dags, X = gaussian
    with pytest.raises(ValueError, match="5 features"):
        log_density(score, packed(dags), X[:, :4])
    with pytest.raises(ValueError, match="5 features"):
        predict(score, packed(dags), X[:, :4])
    bad = X.copy()
    bad[3, 2] = np.inf
    with pytest.raises(ValueError, match="infinity in column 2"):
        log_density(score, packed(dags), bad)
    with pytest.raises(ValueError, match="infinity"):
        predict(score, packed(dags), bad)
    score, dags, X = categorical
    with pytest.raises(ValueError, match="5 features"):
        predict(score, packed(dags), X[:, :4])


def test_a_row_that_contradicts_itself():
    # two rows that count, one of them 243 times: no point of a grid between them comes
    # near a peak
    X = np.random.default_rng(0).normal(size=(6, 3))
    weights = np.array([1.0, 243.0, 0.0, 0.0, 0.0, 0.0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = OrderMCMCStructure(
            n_iter=400, n_draws=10, search_space="full", random_state=0
        ).fit(X, sample_weight=weights)
    predicted = model.predict(X)
    # the line through the two rows, on which both lie
    np.testing.assert_allclose(predicted[:2], X[:2], atol=5e-3)
    assert np.isfinite(predicted).all()
