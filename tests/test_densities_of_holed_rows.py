"""Log densities of rows of which some cells are unobserved."""

import warnings
from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
from scipy.special import gammaln, logsumexp
from scipy.stats import multivariate_normal, multivariate_t
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_val_score

from helpers import random_dag
from skbidag import OrderMCMCStructure
from skbidag._posterior import DAGSamples
from skbidag._predictive import _categorical, log_density
from skbidag.scores import BaseScore, BDe, BGe, LinearPredictiveScore
from skbidag.scores._interventional import with_interventions

LEVELS = [2, 3, 2, 3, 2]


def packed(dags, background=None):
    bits = np.packbits(np.asarray(dags, dtype=bool)[None], axis=-1)
    return DAGSamples(bits) if background is None else DAGSamples(bits, background)


def some_dags(rng, n=5, density=0.6):
    """Random DAGs, the first of them twice."""
    dags = [random_dag(rng, n, density=density) for _ in range(7)]
    return [*dags, dags[0]]


def with_holes(rng, X, share):
    return np.where(rng.random(X.shape) < share, np.nan, X)


def over_dags(log_densities):
    """Log mean of densities, DAG by DAG."""
    return logsumexp(log_densities, axis=0) - np.log(len(log_densities))


@pytest.fixture(scope="module")
def categorical():
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.integers(0, r, 80) for r in LEVELS]).astype(float)
    X[:, 1] = np.where(rng.random(80) < 0.6, X[:, 3], X[:, 1])
    return BDe().fit(X), some_dags(rng), X


def gaussian(n_rows, n, seed=0, density=0.6):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n)) @ rng.normal(size=(n, n)) + 3
    return X, some_dags(rng, n, density)


# Categorical rows: sums over completions


def sum_over_completions(score, samples, row, cells=None):
    holes = np.flatnonzero(np.isnan(row))
    completions = []
    for values in product(*(range(LEVELS[hole]) for hole in holes)):
        completions.append(row.copy())
        completions[-1][holes] = values
    cells = None if cells is None else np.tile(cells, (len(completions), 1))
    return logsumexp(log_density(score, samples, np.array(completions), cells))


@pytest.mark.parametrize("max_summed", [1 << 14, 2])
@pytest.mark.parametrize("max_enumerated", [1024, 2])
def test_sums_over_completions(categorical, monkeypatch, max_summed, max_enumerated):
    monkeypatch.setattr(_categorical, "MAX_SUMMED", max_summed)
    monkeypatch.setattr(_categorical, "MAX_ENUMERATED", max_enumerated)
    score, dags, X = categorical
    rng = np.random.default_rng(2)
    holed = with_holes(rng, X, 0.4)
    holed[:40, 1:3] = np.nan  # rows that share what they lack
    holed[:40, [0, 3, 4]] = X[:40, [0, 3, 4]]
    holed[50, 0] = 99  # a level that fit has not seen
    got = log_density(score, packed(dags), holed)
    expected = [sum_over_completions(score, packed(dags), row) for row in holed]
    np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-13)


def test_sums_where_cells_were_set(categorical):
    score, dags, X = categorical
    rng = np.random.default_rng(3)
    holed, cells = with_holes(rng, X[:30], 0.3), rng.random((30, 5)) < 0.3
    cells &= ~np.isnan(holed)
    got = log_density(score, packed(dags), holed, cells)
    expected = [
        sum_over_completions(score, packed(dags), *row)
        for row in zip(holed, cells, strict=True)
    ]
    np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-13)


# Continuous rows: integrals


def log_integral(score, samples, row, node, spread, cells=None):
    """Log of the integral of the density over one more cell."""
    x = row[node] + spread * np.linspace(-30, 30, 3001)
    rows = np.tile(row, (len(x), 1))
    rows[:, node] = x
    cells = None if cells is None else np.tile(cells, (len(x), 1))
    return logsumexp(log_density(score, samples, rows, cells)) + np.log(x[1] - x[0])


class Plugged(BaseScore, LinearPredictiveScore):
    """BGe's regressions with normal densities."""

    def _fit(self, X, sample_weight):
        self.bge = BGe().fit(X)
        self.posterior_mean_ = self.bge.posterior_mean_

    def log_marginal_likelihood(self, node, parents):
        return self.bge.log_marginal_likelihood(node, parents)

    def regression(self, node, parents):
        return self.bge.regression(node, parents)


def test_normal_densities_have_normal_marginals():
    X, dags = gaussian(60, 5)
    score = Plugged().fit(X)
    rng = np.random.default_rng(2)
    holed = with_holes(rng, X, 0.4)
    expected = np.zeros((len(dags), len(X)))
    for dag, out in zip(dags, expected, strict=True):
        roots = np.zeros((5, 5))
        for node in range(5):
            parents = np.flatnonzero(dag[:, node])
            slopes, variance = score.regression(node, parents)
            roots[node, node], roots[node, parents] = 1.0, -slopes
            roots[node] /= np.sqrt(variance)
        covariance = np.linalg.inv(roots.T @ roots)
        for k, row in enumerate(holed):
            seen = np.flatnonzero(~np.isnan(row))
            if len(seen):
                mean = score.posterior_mean_[seen]
                normal = multivariate_normal(mean, covariance[np.ix_(seen, seen)])
                out[k] = normal.logpdf(row[seen])
    got = log_density(score, packed(dags), holed)
    np.testing.assert_allclose(got, over_dags(expected), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("n_rows", [10, 200])
def test_one_cell_is_integrated_out(n_rows):
    X, dags = gaussian(n_rows, 4)
    score, samples = BGe().fit(X), packed(dags)
    for node in range(4):
        holed = X[node].copy()
        expected = log_integral(score, samples, holed, node, X[:, node].std())
        holed[node] = np.nan
        (got,) = log_density(score, samples, holed[None])
        # the grid leaves out tails, which with few rows are heavy
        assert abs(got - expected) < (1e-4 if n_rows == 10 else 1e-9)


def test_one_cell_far_out():
    X, dags = gaussian(30, 4)
    X[0] *= 1e6
    X[0, 1] = np.nan
    assert np.isfinite(log_density(BGe().fit(X[1:]), packed(dags), X[:1])).all()


def test_with_all_edges_marginals_are_student():
    X, _ = gaussian(12, 4)
    score, order = BGe().fit(X), [2, 0, 3, 1]
    full = np.zeros((4, 4), dtype=bool)
    full[np.ix_(order, order)] = np.triu(np.ones((4, 4), dtype=bool), 1)
    mean, T, _, offset, df = score.student_t()
    holed = np.array([X[0]] * 15)
    for row, seen in zip(holed, product([False, True], repeat=4), strict=False):
        row[~np.array(seen)] = np.nan
    expected = np.zeros(15)
    for k, row in enumerate(holed):
        seen = np.flatnonzero(~np.isnan(row))
        if len(seen):
            shape = T[np.ix_(seen, seen)] * offset / df
            expected[k] = multivariate_t(mean[seen], shape, df).logpdf(row[seen])
    got = log_density(score, packed([full, full.T]), holed)
    np.testing.assert_allclose(got, expected, rtol=1e-8, atol=1e-9)


def test_what_has_no_observed_descendant_leaves_nothing():
    X, _ = gaussian(30, 8)
    dag = np.triu(np.random.default_rng(0).random((8, 8)) < 0.4, 1)
    score = BGe().fit(X)
    for n_seen in range(1, 8):
        holed = X[:9].copy()
        holed[:, n_seen:] = np.nan
        expected = sum(
            score.log_predictive(X[:9], node, np.flatnonzero(dag[:, node]))
            for node in range(n_seen)
        )
        got = log_density(score, packed([dag]), holed)
        np.testing.assert_allclose(got, expected, rtol=1e-7)


def naive_part(score, dag, row, cells, children):
    """Log integral over linked cells, as if their families had all edges."""
    mean, T, _, offset, df = score.student_t()
    n, z = len(row), np.where(np.isnan(row), 0.0, row - score.posterior_mean_)
    roots = np.zeros((len(children), n))
    for root, child in zip(roots, children, strict=True):
        parents = np.flatnonzero(dag[:, child])
        slopes, variance = score.regression(child, parents)
        root[child], root[parents] = 1.0, -slopes
        root /= np.sqrt(variance * (df - 2))
    L = roots[:, cells].T @ roots[:, cells]
    z[cells] = -np.linalg.solve(L, roots[:, cells].T @ roots @ z)
    outer = [v for v in np.flatnonzero((roots != 0).any(axis=0)) if v not in children]
    D = offset + ((roots @ z) ** 2).sum()
    D += z[outer] @ np.linalg.solve(T[np.ix_(outer, outer)], z[outer])
    size, m = df + len(children) + len(outer), len(cells)
    log_product = sum(
        score.log_predictive(z[None] + mean, child, np.flatnonzero(dag[:, child]))[0]
        for child in children
    )
    return (
        log_product + gammaln((size - m) / 2) - gammaln(size / 2)
        + m / 2 * np.log(np.pi * D) - np.linalg.slogdet(L)[1] / 2
    )  # fmt: skip


def naive_log_density(score, dag, row):
    """Of the observed cells, part by part."""
    nodes = set(range(len(row)))
    holes = set(np.flatnonzero(np.isnan(row)))
    while barren := {v for v in holes & nodes if not nodes & {*np.flatnonzero(dag[v])}}:
        nodes -= barren
    family = {v: {v, *np.flatnonzero(dag[:, v])} for v in nodes}
    total = sum(
        score.log_predictive(row[None], v, np.flatnonzero(dag[:, v]))[0]
        for v in nodes
        if not family[v] & holes
    )
    left = {v for v in nodes if family[v] & holes}
    while left:
        children, cells = {left.pop()}, set()
        while True:
            cells = set().union(*(family[v] & holes for v in children))
            more = {v for v in left if family[v] & cells}
            if not more:
                break
            children, left = children | more, left - more
        total += naive_part(score, dag, row, sorted(cells), sorted(children))
    return total


@pytest.mark.parametrize("density", [0.2, 0.5])
def test_several_cells_against_a_twin(density):
    X, dags = gaussian(40, 9, seed=5, density=density)
    score = BGe().fit(X)
    holed = with_holes(np.random.default_rng(4), X, 0.4)
    holed[:20, 2:5] = np.nan
    holed = holed[np.isnan(holed).sum(axis=1) > 1]
    expected = [[naive_log_density(score, dag, row) for row in holed] for dag in dags]
    got = log_density(score, packed(dags), holed)
    np.testing.assert_allclose(got, over_dags(expected), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("n_rows", "tolerance"), [(20, 0.05), (200, 0.005)])
def test_several_cells_nearly(n_rows, tolerance):
    X, dags = gaussian(n_rows, 4)
    score, samples, errors = BGe().fit(X), packed(dags), []
    for row, (a, b) in zip(X, combinations(range(4), 2), strict=False):
        holed = row.copy()
        holed[a] = np.nan
        expected = log_integral(score, samples, holed, b, X[:, b].std())
        holed[b] = np.nan
        errors.append(log_density(score, samples, holed[None])[0] - expected)
    assert np.abs(errors).max() < tolerance


def experiment(score):
    """A score of data in which cells were set."""
    X, dags = gaussian(80, 4)
    rng = np.random.default_rng(6)
    set_cells = rng.random(X.shape) < 0.2
    X[set_cells] = rng.normal(size=set_cells.sum()) + 3
    return with_interventions(score, set_cells).fit(X), dags, X


def test_integrals_where_children_have_rows_of_their_own():
    score, dags, X = experiment(BGe())
    samples = packed(dags)
    for k, (a, b) in enumerate(combinations(range(4), 2)):
        holed = X[k].copy()
        expected = log_integral(score, samples, holed, a, X[:, a].std())
        holed[a] = np.nan
        (got,) = log_density(score, samples, holed[None])
        assert abs(got - expected) < 1e-8
        expected = log_integral(score, samples, holed, b, X[:, b].std())
        holed[b] = np.nan
        (got,) = log_density(score, samples, holed[None])
        assert abs(got - expected) < 0.05


@pytest.mark.parametrize("learned_from_experiments", [False, True])
@pytest.mark.parametrize("kind", [BGe, Plugged])
def test_integrals_where_cells_were_set(kind, learned_from_experiments):
    score, dags, X = experiment(kind())
    if not learned_from_experiments:
        score = kind().fit(X)
    samples, cells = packed(dags), np.array([True, False, False, False])
    for node in (1, 2, 3):
        holed = X[node].copy()
        spread = X[:, node].std()
        expected = log_integral(score, samples, holed, node, spread, cells)
        holed[node] = np.nan
        (got,) = log_density(score, samples, holed[None], cells[None])
        assert abs(got - expected) < 1e-8
    # all that is left was set
    holed[1:] = np.nan
    assert log_density(score, samples, holed[None], cells[None]) == 0.0


def test_a_background_is_given_as_far_as_it_is_observed():
    """With all edges but into the background, where two of it are independent."""
    X, _ = gaussian(50, 4)
    background = np.array([True, True, False, False])
    dag = np.triu(np.ones((4, 4), dtype=bool), 1)
    dag[0, 1] = False
    score, samples = BGe().fit(X), packed([dag], background)
    row = X[0].copy()
    row[2] = np.nan
    alone = [score.log_predictive(X[:1], v, np.array([], dtype=int))[0] for v in (0, 1)]
    (given,) = log_density(score, samples, row[None])
    (joint,) = log_density(score, packed([dag]), row[None])
    assert abs(given + sum(alone) - joint) < 1e-10
    row[[1, 3]] = np.nan
    assert log_density(score, samples, row[None]) == 0.0


# All rows


@pytest.mark.parametrize("kind", ["gaussian", "categorical"])
def test_complete_rows_are_as_they_were(kind, categorical):
    if kind == "categorical":
        score, dags, X = categorical
    else:
        X, dags = gaussian(80, 5)
        score = BGe().fit(X)
    holed = X.copy()
    holed[::3, 1:4] = np.nan
    holed[3] = np.nan
    complete = ~np.isnan(holed).any(axis=1)
    got = log_density(score, packed(dags), holed)
    alone = log_density(score, packed(dags), X[complete])
    np.testing.assert_array_equal(got[complete], alone)
    assert got[3] == 0.0
    frame = pd.DataFrame(holed, columns=[*"abcde"])
    np.testing.assert_array_equal(log_density(score, packed(dags), frame), got)


def quick(**params):
    return OrderMCMCStructure(
        n_iter=200, n_draws=5, n_chains=1, random_state=0, **params
    )


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_learners_are_chosen_by_what_they_say_of_rows_with_holes():
    X = with_holes(np.random.default_rng(0), gaussian(60, 4)[0], 0.1)
    learner = quick(search_space="full", score=BGe())
    assert np.isfinite(cross_val_score(learner, X, cv=2)).all()
    search = GridSearchCV(learner, {"score__alpha_mu": [0.1, 10.0]}, cv=2).fit(X)
    found = search.cv_results_["mean_test_score"]
    assert np.isfinite(found).all()
    assert found[0] != found[1]
    best = search.best_estimator_
    assert best.score(X) == best.score_samples(X).mean()


def test_bad_rows_are_named():
    X, dags = gaussian(30, 4)
    score = BGe().fit(X)
    X[2, 1], X[3, 2] = np.nan, np.inf
    with pytest.raises(ValueError, match="infinity in column 2"):
        log_density(score, packed(dags), X)


def test_mixed_rows_must_be_complete():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=40), "k": rng.choice(["a", "b"], 40)})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = quick().fit(frame)
    frame.loc[3, "k"] = None
    with pytest.raises(ValueError, match=r"first in column 'k'.* take complete rows"):
        model.score_samples(frame)
