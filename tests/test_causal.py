"""Effects of interventions against closed forms and enumeration."""

import itertools
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression

from helpers import graph, random_dag
from skbidag import (
    IterativeSearchStructure,
    OrderMCMCStructure,
    PCSkeleton,
    _causal,
    causal_effects,
)
from skbidag._posterior import DAGSamples
from skbidag.scores import (
    BaseScore,
    BDe,
    BGe,
    CategoricalParameterScore,
    GaussianBIC,
    LinearParameterScore,
)

CHAIN = [(0, 1), (1, 2)]
COLLIDER = [(0, 2), (1, 2)]
CONFOUNDER = [(0, 1), (0, 2), (1, 2)]
FORK = [(1, 0), (1, 2)]


class Given(BaseEstimator):
    """A structure that is known: each of some DAGs so many times."""

    def __init__(self, score, X, dags, names=None):
        self.score_ = score.fit(X)
        self.dag_samples_ = DAGSamples(np.packbits(np.array(dags)[None], axis=-1))
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)

    def fit(self):
        raise AssertionError("it is fitted")

    def __sklearn_is_fitted__(self):
        return True


def linear_data(rng, A, n_rows=400):
    X = np.zeros((n_rows, len(A)))
    for node in np.argsort(A.sum(axis=0) + 10 * (A @ A).any(axis=0), kind="stable"):
        X[:, node] = X @ (A[:, node] * 0.8) + rng.normal(size=n_rows)
    return X


def coefficients(score, A):
    B = np.zeros(A.shape)
    for node in range(len(A)):
        parents = np.flatnonzero(A[:, node])
        T = score.scatter_
        B[parents, node] = np.linalg.solve(
            T[np.ix_(parents, parents)], T[parents, node]
        )
    return B


@pytest.mark.parametrize("edges", [CHAIN, COLLIDER, CONFOUNDER, FORK])
def test_mean_of_linear_effects_of_one_dag(edges):
    A = graph(3, *edges)
    X = linear_data(np.random.default_rng(0), A)
    model = Given(BGe(), X, [A] * 4000)
    effects = causal_effects(model, random_state=0)
    B = coefficients(model.score_, A)
    expected = np.eye(3) + B + B @ B
    assert_allclose(effects.mean, expected, atol=1e-12)
    # four standard errors of the draws' mean, whose spread is about 0.05
    assert_allclose(effects.draws.mean(axis=0), expected, atol=4 * 0.1 / 4000**0.5)
    reach = np.eye(3, dtype=bool) | A | (A @ A)
    assert_array_equal(effects.probability_nonzero, reach)
    assert_array_equal((effects.draws != 0).all(axis=0), reach)
    lower, upper = effects.interval(0.9)
    inside = (lower <= expected) & (expected <= upper)
    assert inside.all()
    assert_array_equal(lower == upper, ~reach | np.eye(3, dtype=bool))


def test_confounding_is_adjusted_for():
    """The effect of 1 on 2 is its regression coefficient beside 0, not alone."""
    A = graph(3, *CONFOUNDER)
    X = linear_data(np.random.default_rng(1), A, 5000)
    effects = causal_effects(Given(BGe(), X, [A]), [1], outcomes=[2])
    adjusted = LinearRegression().fit(X[:, :2], X[:, 2]).coef_[1]
    naive = LinearRegression().fit(X[:, [1]], X[:, 2]).coef_[0]
    assert effects.mean.shape == (1, 1)
    assert abs(effects.mean[0, 0] - adjusted) < 1e-3
    assert abs(effects.mean[0, 0] - naive) > 0.1


def test_coefficients_have_their_posterior():
    """A multivariate t distribution, checked by its covariance."""
    A = graph(3, *COLLIDER)
    X = linear_data(np.random.default_rng(2), A, 12)
    score = BGe().fit(X)
    location, root, df = score.coefficient_posterior([2], [[0, 1]])
    assert_allclose(location[0], score.regression(2, [0, 1])[0])
    T = score.scatter_
    residual = T[2, 2] - T[2, :2] @ np.linalg.solve(T[:2, :2], T[:2, 2])
    expected = residual * np.linalg.inv(T[:2, :2]) / (df - 2)
    effects = causal_effects(
        Given(BGe(), X, [A] * 5000), outcomes=[2], draws_per_dag=10, random_state=0
    )
    drawn = np.cov(effects.draws[:, :2, 0].T)
    assert_allclose(drawn, expected, atol=0.04 * np.diag(expected).max())
    assert_allclose(root[0].T @ root[0] / (df - 2), expected)
    # N and the prior's degrees of freedom, less one for each variable not involved
    assert df == 12 + (3 + 1 + 1)


def test_effects_are_averaged_over_dags():
    chain, reverse = graph(3, *CHAIN), graph(3, (2, 1), (1, 0))
    X = linear_data(np.random.default_rng(3), chain)
    one, other = (causal_effects(Given(BGe(), X, [A])).mean for A in (chain, reverse))
    both = causal_effects(Given(BGe(), X, [chain, reverse, chain, chain]))
    assert_allclose(both.mean, 0.75 * one + 0.25 * other)
    assert both.probability_nonzero[0, 2] == 0.75
    assert both.probability_nonzero[2, 0] == 0.25
    assert_array_equal((both.draws[:, 0, 2] != 0), [True, False, True, True])


def test_slices_do_not_matter(monkeypatch):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(50, 6)) @ rng.normal(size=(6, 6))
    model = Given(BGe(), X, [random_dag(rng, 6, 0.4) for _ in range(37)])
    whole = causal_effects(model, random_state=0)
    monkeypatch.setattr(_causal, "SLICE_BYTES", 8 * 36 * 5)
    parts = causal_effects(model, random_state=0)
    assert_allclose(parts.draws, whole.draws)
    assert_allclose(parts.mean, whole.mean)
    assert_array_equal(parts.probability_nonzero, whole.probability_nonzero)


# Categorical data


LEVELS = np.array([2, 3, 2, 2])


def codes(rng, n_rows=60):
    X = np.column_stack([rng.integers(r, size=n_rows) for r in LEVELS])
    X[:, 2] = np.where(rng.random(n_rows) < 0.7, X[:, 0], X[:, 2])
    X[:, 3] = np.where(rng.random(n_rows) < 0.7, X[:, 1] > 0, X[:, 3])
    return X


def probabilities_under(score, A, tables, node, code):
    """The joint probability of all states, by its definition, one after the other."""
    total = {}
    for state in itertools.product(*map(range, score.n_levels_)):
        p = 1.0
        for j in range(len(A)):
            parents = np.flatnonzero(A[:, j])
            if j == node:
                p *= state[j] == code
                continue
            row = 0
            for parent in parents:
                row = row * score.n_levels_[parent] + state[parent]
            p *= tables[j][row, state[j]]
        for j, level in enumerate(state):
            total[j, level] = total.get((j, level), 0.0) + p
    return total


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_mean_of_categorical_effects_by_enumeration(seed):
    rng = np.random.default_rng(seed)
    X = codes(rng)
    A = random_dag(rng, 4, 0.7)
    model = Given(BDe(), X, [A] * 2000)
    score = model.score_
    effects = causal_effects(model, random_state=0)
    tables = []
    for j in range(4):
        counts = score.posterior_counts(j, np.flatnonzero(A[:, j]))
        tables.append(counts / counts.sum(axis=1, keepdims=True))
    assert effects.interventions == [(0, 1), (1, 1), (1, 2), (2, 1), (3, 1)]
    assert effects.outcomes == effects.interventions
    expected = np.empty((5, 5))
    for row, (i, code) in enumerate(effects.interventions):
        with_it = probabilities_under(score, A, tables, i, code)
        without = probabilities_under(score, A, tables, i, 0)
        for column, outcome in enumerate(effects.outcomes):
            expected[row, column] = with_it[outcome] - without[outcome]
    assert_allclose(effects.mean, expected, atol=1e-12)
    # four standard errors; effects spread by less than 0.3
    assert_allclose(effects.draws.mean(axis=0), expected, atol=4 * 0.3 / 2000**0.5)


def test_tables_are_dirichlet():
    X = codes(np.random.default_rng(0))
    counts = BDe(0.01).fit(X).posterior_counts(1, [0, 2])
    assert_allclose(counts.sum(), len(X) + 0.01)
    drawn = _causal._Counts(BDe(0.01).fit(X)).draw(
        1, [0, 2], 20_000, np.random.RandomState(0)
    )
    assert_allclose(drawn.sum(axis=2), 1.0)
    share = counts / counts.sum(axis=1, keepdims=True)
    assert_allclose(drawn.mean(axis=0), share, atol=4 * 0.5 / 20_000**0.5)
    variance = share * (1 - share) / (counts.sum(axis=1, keepdims=True) + 1)
    assert_allclose(drawn.var(axis=0), variance, atol=0.01)
    # as the predictive probabilities
    log_p = BDe(0.01).fit(X).log_predictive(X[:5], 1, [0, 2])
    assert_allclose(share[2 * X[:5, 0] + X[:5, 2], X[:5, 1]], np.exp(log_p))


def effects_of(model, seed):
    """Effects in each DAG, all of one draw of parameters, and the draw itself."""
    score, samples = model.score_, model.dag_samples_
    families, rng = list(_causal._members(samples)), np.random.RandomState(seed)
    counts = _causal._Counts(score)
    tables = [counts.draw(v, parents, len(dags), rng) for v, parents, dags in families]
    settings = [(i, 0, k) for i, r in enumerate(score.n_levels_) for k in range(1, r)]
    columns = [(i, k) for i, _, k in settings]
    networks = _causal._Networks(score, settings, columns)
    return networks.effects(samples, families, tables, rng), families, tables


@pytest.mark.parametrize("seed", range(4))
def test_summing_out_is_summing_over_all_states(seed):
    """Draw by draw, in DAGs of every density."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([codes(rng), rng.integers(3, size=60)])
    X[:20, 4] = X[:20, 0] + 1
    dags = [random_dag(rng, 5, density) for density in (0.2, 0.5, 0.8, 1.0)]
    model = Given(BDe(), X, dags)
    got, families, tables = effects_of(model, seed)
    score = model.score_
    for number, (A, effects) in enumerate(zip(dags, got, strict=True)):
        own = {
            v: table[list(of).index(number)]
            for (v, _, of), table in zip(families, tables, strict=True)
            if number in of
        }
        settings = [(i, k) for i, r in enumerate(score.n_levels_) for k in range(1, r)]
        under = {
            (i, k): probabilities_under(score, A, own, i, k)
            for i, r in enumerate(score.n_levels_)
            for k in range(r)
        }
        expected = [
            [under[i, k][outcome] - under[i, 0][outcome] for outcome in settings]
            for i, k in settings
        ]
        assert_allclose(effects, expected, atol=1e-14)
        reach = np.eye(5, dtype=bool)
        for _ in range(5):
            reach |= reach @ A
        causes = [i for i, _ in settings]
        assert not effects[~reach[causes][:, causes]].any()


@pytest.mark.slow
def test_simulation_agrees_with_summing(monkeypatch):
    """Draw by draw: the same tables give nearly the same effects."""
    rng = np.random.default_rng(5)
    model = Given(BDe(), codes(rng), [random_dag(rng, 4, 0.5) for _ in range(200)])
    exact, *_ = effects_of(model, 0)
    monkeypatch.setattr(_causal, "MAX_ENTRIES", 1)
    simulated, *_ = effects_of(model, 0)
    error = simulated - exact
    assert_array_equal(simulated == 0, exact == 0)
    # a parent's effect on its child needs no simulation, where no other is between
    assert (error != 0).any()
    # 1024 points; plain Monte Carlo would have up to 0.5 / 1024 ** 0.5 = 0.016
    assert np.abs(error).max() < 0.02
    assert error.std() < 0.002
    # unbiased: four standard errors of the mean over 200 DAGs
    assert_allclose(error.mean(axis=0), 0.0, atol=4 * error.std() / 200**0.5)
    effects = causal_effects(model, draws_per_dag=3, random_state=0)
    monkeypatch.undo()
    summed = causal_effects(model, draws_per_dag=3, random_state=0)
    assert effects.draws.shape == summed.draws.shape == (600, 5, 5)
    # of 600 draws, whose spread is less than 0.3
    assert_allclose(effects.mean, summed.mean, atol=4 * 0.3 / 600**0.5)
    on_itself = effects.draws[:, range(5), range(5)]
    assert_array_equal(on_itself, np.ones_like(on_itself))


def diamonds(n_rows, seed=0):
    """Rows and the DAG of 14 binary variables: four diamonds, each fed by the last."""
    rng = np.random.default_rng(seed)
    A = np.zeros((14, 14), dtype=bool)
    for top in range(0, 12, 3):
        A[top, [top + 1, top + 2]] = True
        A[[top + 1, top + 2], top + 3] = True
    A[12, 13] = True
    X = np.zeros((n_rows, 14), dtype=int)
    for j in range(14):
        log_odds = 2.5 * (2 * X[:, A[:, j]] - 1).sum(axis=1)
        X[:, j] = rng.random(n_rows) < 1 / (1 + np.exp(-log_odds))
    return X, A


@pytest.mark.slow
@pytest.mark.parametrize("n_rows", [100, 10_000])
@pytest.mark.parametrize("way", ["summed", "simulated"])
def test_width_of_intervals_is_the_posteriors(n_rows, way, monkeypatch):
    """More joint states than could be listed for each of 2000 draws: 16,384."""
    X, A = diamonds(n_rows)
    n_dags = 1500
    model = Given(BDe(), X, [A] * n_dags)
    # P(4 | 1) and so on, one diamond after the other: a product of 2 x 2 matrices
    counts = _causal._Counts(model.score_)
    rng = np.random.RandomState(1)
    total = np.tile(np.eye(2), (n_dags, 1, 1))
    for top in range(0, 12, 3):
        left = counts.draw(top + 1, [top], n_dags, rng)
        right = counts.draw(top + 2, [top], n_dags, rng)
        end = counts.draw(top + 3, [top + 1, top + 2], n_dags, rng)
        end = end.reshape(n_dags, 2, 2, 2)
        total = total @ np.einsum("dta,dtb,dabe->dte", left, right, end)
    expected = total[:, 1, 1] - total[:, 0, 1]
    if way == "simulated":
        monkeypatch.setattr(_causal, "MAX_ENTRIES", 1)
    effects = causal_effects(model, 0, 12, random_state=0)
    lower, upper = effects.interval(0.9)
    exact = np.quantile(expected, [0.05, 0.95])
    # A quantile of 1500 draws has a standard error of 0.054 standard deviations, a
    # difference of two such widths, which are 3.3, about 0.09: three of these.
    ratio = (upper - lower).item() / (exact[1] - exact[0])
    assert abs(ratio - 1) < 3 * 0.09 / 3.3
    distance = abs(effects.mean.item() - expected.mean())
    assert distance < 4 * 2**0.5 * expected.std() / n_dags**0.5


def test_a_network_too_large_to_list():
    """60 variables in a row, each the last one but for noise: a product of matrices."""
    rng = np.random.default_rng(0)
    X = np.empty((300, 60), dtype=int)
    X[:, 0] = rng.integers(2, size=300)
    for j in range(1, 60):
        X[:, j] = np.where(rng.random(300) < 0.05, 1 - X[:, j - 1], X[:, j - 1])
    chain = graph(60, *[(j, j + 1) for j in range(59)])
    model = Given(BDe(), X, [chain])
    effects = causal_effects(model, 0, 59)
    total = np.eye(2)
    for j in range(1, 60):
        total = total @ _causal._Counts(model.score_).mean(j, [j - 1])[0]
    assert_allclose(effects.mean, total[1, 1] - total[0, 1], atol=1e-14)


def test_what_is_compared_can_be_chosen():
    X = codes(np.random.default_rng(6))
    labels = np.array(["low", "mid", "top"])
    frame = pd.DataFrame(labels[X], columns=list("abcd"))
    A = graph(4, (1, 3), (0, 2))
    model = Given(BDe(), frame, [A], names=list("abcd"))
    effects = causal_effects(model, {"b": ("top", "mid")}, outcomes=["d"])
    assert effects.interventions == [("b", "mid")]
    assert effects.outcomes == [("d", "mid")]
    everything = causal_effects(model).mean
    # d is column 4 of 5; b's rows are mid and top against low
    assert_allclose(effects.mean[0, 0], everything[1, 4] - everything[2, 4])
    for bad in ("top", ("top",), ("top", "none"), 3):
        with pytest.raises(ValueError, match="two of its categories"):
            causal_effects(model, {"b": bad})


# Estimators


def test_names_and_fitted_estimators():
    rng = np.random.default_rng(7)
    X = linear_data(rng, graph(3, *CONFOUNDER))
    frame = pd.DataFrame(X, columns=["season", "rain", "wet"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = OrderMCMCStructure(random_state=0, n_iter=2000).fit(frame)
    effects = causal_effects(model, ["rain"], outcomes=["wet", "season"])
    assert effects.draws.shape == (2000, 1, 2)
    assert effects.interventions == ["rain"]
    assert effects.outcomes == ["wet", "season"]
    assert (
        repr(effects) == "CausalEffects(n_draws=2000, n_interventions=1, n_outcomes=2)"
    )
    again = causal_effects(model, [1], outcomes=[2, 0], random_state=0)
    assert_array_equal(
        again.draws, causal_effects(model, [1], outcomes=[2, 0], random_state=0).draws
    )
    assert_allclose(again.mean, effects.mean)
    best = IterativeSearchStructure(n_draws=0, random_state=0).fit(frame)
    assert causal_effects(best).draws.shape == (1, 3, 3)


def test_one_variable_by_name_or_index():
    X = linear_data(np.random.default_rng(7), graph(3, *CHAIN))
    model = Given(BGe(), X, [graph(3, *CHAIN)], names=list("xyz"))
    expected = causal_effects(model, ["x"], ["z"], random_state=0)
    for cause, outcome in ("x", "z"), (0, 2), (np.int64(0), "z"):
        effects = causal_effects(model, cause, outcome, random_state=0)
        assert_array_equal(effects.draws, expected.draws)
        assert effects.interventions == ["x"]
        assert effects.outcomes == ["z"]


class Regression(BaseScore, LinearParameterScore):
    """A score of one's own: coefficients known to be 2, but for a small error."""

    def _fit(self, X, sample_weight):
        pass

    def log_marginal_likelihood(self, node, parents):
        return 0.0

    def coefficient_posterior(self, nodes, parents):
        shape = np.shape(parents)
        root = np.zeros((*shape, shape[1])) + 1e-6 * np.eye(shape[1])
        return np.full(shape, 2.0), root, 10.0


class Frequencies(BaseScore, CategoricalParameterScore):
    """A score of one's own: the child is its last parent, but for a small share."""

    def _fit(self, X, sample_weight):
        self.categories_ = [np.array(["no", "yes"])] * X.shape[1]
        self.n_levels_ = np.full(X.shape[1], 2)

    def log_marginal_likelihood(self, node, parents):
        return 0.0

    def posterior_counts(self, node, parents):
        if not len(parents):
            return np.array([[1.0, 1.0]])
        return np.tile([[9e9, 1e9], [1e9, 9e9]], (2 ** (len(parents) - 1), 1))


def test_scores_of_ones_own():
    X = np.zeros((4, 3))
    chain = graph(3, *CHAIN)
    effects = causal_effects(Given(Regression(), X, [chain]), 0, 2, random_state=0)
    assert_allclose(effects.draws, 4.0, rtol=1e-4)
    effects = causal_effects(Given(Frequencies(), X, [chain]), 0, 2, random_state=0)
    assert effects.interventions == [(0, "yes")]
    assert_allclose(effects.mean, 0.8**2)
    assert_allclose(effects.draws, 0.8**2, rtol=1e-3)


def test_errors():
    X = linear_data(np.random.default_rng(8), graph(3, *CHAIN))
    model = Given(BGe(), X, [graph(3, *CHAIN)])
    with pytest.raises(NotFittedError):
        causal_effects(OrderMCMCStructure())
    with pytest.raises(ValueError, match="dag_samples_"):
        causal_effects(PCSkeleton().fit(X))
    with pytest.raises(
        TypeError, match=r"GaussianBIC has no posterior.*LinearParameterS"
    ):
        causal_effects(Given(GaussianBIC(), X, [graph(3, *CHAIN)]))
    with pytest.raises(ValueError, match="interventions names an unknown variable"):
        causal_effects(model, ["rain"])
    with pytest.raises(ValueError, match="outcomes has the index 3"):
        causal_effects(model, outcomes=[3])
    with pytest.raises(ValueError, match="at least one variable"):
        causal_effects(model, [])
    with pytest.raises(ValueError, match="must be a list of variables"):
        causal_effects(model, {0: (0, 1)})
    with pytest.raises(ValueError, match="draws_per_dag"):
        causal_effects(model, draws_per_dag=0)
    with pytest.raises(ValueError, match="level must be"):
        causal_effects(model).interval(1.0)
    constant = Given(BDe(), np.zeros((5, 2), dtype=int), [np.zeros((2, 2), dtype=bool)])
    with pytest.raises(ValueError, match="two categories"):
        causal_effects(constant)


def test_tables_too_large_are_named(monkeypatch):
    X = codes(np.random.default_rng(9))
    monkeypatch.setattr(_causal, "MAX_TABLE", 10)
    model = Given(BDe(), X, [graph(4, (0, 3), (1, 3))])
    with pytest.raises(ValueError, match="Column 3 has 2 parents"):
        causal_effects(model)


# Frames


def test_effects_as_a_frame():
    A = graph(3, *CHAIN)
    X = linear_data(np.random.default_rng(0), A)
    effects = causal_effects(Given(BGe(), X, [A] * 50, list("abc")), ["a", "b"])
    frame = effects.to_frame(0.9)
    assert list(frame["intervention"]) == ["a"] * 3 + ["b"] * 3
    assert list(frame["outcome"]) == ["a", "b", "c"] * 2
    assert_array_equal(frame["mean"], effects.mean.ravel())
    ends = np.reshape(effects.interval(0.9), (2, -1))
    assert_array_equal(frame[["lower", "upper"]].T, ends)
    assert_array_equal(frame["probability_nonzero"], [1, 1, 1, 0, 1, 1])


def test_effects_of_categories_as_a_frame():
    X = pd.DataFrame({"a": list("xyxyxx"), "b": [1, 2, 1, 2, 2, 1]})
    model = Given(BDe(), X, [graph(2, (0, 1))] * 20, ["a", "b"])
    frame = causal_effects(model, ["a"], ["b"], random_state=0).to_frame()
    assert list(frame["intervention"]) == ["a=y"]
    assert list(frame["outcome"]) == ["b=2"]


def test_intervals_are_as_wide_as_missing_cells_make_them():
    """Rows without the outcome say nothing about what it does given its cause."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(120, 2))
    X[:, 1] += 0.5 * X[:, 0]
    X[rng.random(120) < 0.6, 1] = np.nan
    model = OrderMCMCStructure(
        BGe(prior="paper"),
        required_edges=[(0, 1)],
        n_iter=5_000,
        n_draws=800,
        n_chains=2,
        random_state=0,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        drawn = causal_effects(model.fit(X), [0], [1], random_state=0)
        model.set_params(missing="drop").fit(X)
    exact = causal_effects(model, [0], [1], random_state=0)
    assert drawn.draws.shape == exact.draws.shape == (1600, 1, 1)
    assert (drawn.probability_nonzero == 1).all()
    # two thirds of the variance are between 20 completions: its error is a fifth
    assert drawn.draws.var() == pytest.approx(exact.draws.var(), rel=0.4)
    assert abs(drawn.mean - exact.mean) < 4 * exact.draws.std() / np.sqrt(20)
    # one DAG has no completion of its own
    best = IterativeSearchStructure(n_draws=0, required_edges=[(0, 1)], random_state=0)
    assert causal_effects(best.fit(X), [0], [1]).draws.shape == (1, 1, 1)


def test_mixed_effects_where_cells_are_missing():
    rng = np.random.default_rng(6)
    group = rng.integers(2, size=150).astype(float)
    number = group + rng.normal(size=150)
    number[:30] = np.nan
    frame = pd.DataFrame({"group": group, "number": number})
    model = OrderMCMCStructure(
        categorical_features=["group"],
        n_iter=2_000,
        n_draws=600,
        n_chains=1,
        random_state=0,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(frame)
    effects = causal_effects(model, ["group"], ["number"], random_state=0)
    assert 380 < len(effects.draws) <= 400
    assert 0.3 < effects.mean[0, 0] < 1.5
