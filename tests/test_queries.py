"""Queries against enumeration of the joint distribution and closed forms."""

import itertools

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from helpers import graph, quick, random_dag
from skbidag import PartitionMCMCStructure, _causal, _elimination, causal_effects
from skbidag._posterior import DAGSamples
from skbidag._queries import QueryResult, Question, normal_answer
from skbidag.datasets import load_asia
from skbidag.scores import BDe, BGe, CategoricalBIC, ConditionalGaussian


def with_dags(model, *dags):
    """The same model as if these had been sampled."""
    model.dag_samples_ = DAGSamples(np.packbits(np.array(dags)[None], axis=-1))
    return model


# --------------------------------------------------------------------- categorical


LEVELS = np.array([2, 3, 2, 2, 3])


def enumerated(tables, dag, question):
    """Probabilities of the target's levels, by all rows that there are."""
    total = np.zeros(LEVELS[question.target])
    for row in itertools.product(*map(range, LEVELS)):
        known = {**question.evidence, **question.do}
        if any(row[i] != value for i, value in known.items()):
            continue
        p = 1.0
        for node, table in enumerate(tables):
            if node not in question.do:
                p *= table[tuple(row[i] for i in np.flatnonzero(dag[:, node]))][
                    row[node]
                ]
        total[row[question.target]] += p
    return total / total.sum()


class FixedTables(BDe):
    """Dirichlet distributions that are all but a point."""

    def posterior_counts(self, node, parents):
        rng = np.random.default_rng([node, *parents])
        shape = (*LEVELS[parents], LEVELS[node])
        return 1e14 * rng.dirichlet(np.ones(shape[-1]), np.prod(shape[:-1], dtype=int))


QUESTIONS = [
    Question(0, {}, {}),
    Question(4, {0: 1}, {}),
    Question(0, {4: 2}, {}),
    Question(2, {1: 0, 4: 1}, {}),
    Question(3, {}, {2: 1}),
    Question(1, {3: 0}, {0: 1}),
    Question(4, {0: 1, 3: 1}, {1: 2, 2: 0}),
]


@pytest.mark.parametrize("question", QUESTIONS, ids=str)
def test_one_network_is_summed_exactly(question):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(r, size=40) for r in LEVELS])
    X[:3] = [[0, 0, 0, 0, 0], [1, 1, 1, 1, 1], [0, 2, 0, 0, 2]]  # every level
    model = quick(score=FixedTables()).fit(X)
    for density in (0.3, 0.6, 1.0):
        dag = random_dag(rng, 5, density)
        result = with_dags(model, dag).query(
            question.target, question.evidence, question.do, n_draws=2, random_state=0
        )
        tables = []
        for node in range(5):
            parents = np.flatnonzero(dag[:, node])
            counts = model.score_.posterior_counts(node, parents) / 1e14
            tables.append(counts.reshape(*LEVELS[parents], LEVELS[node]))
        expected = enumerated(tables, dag, question)
        # relative errors of the draws are about 1e-7
        assert_allclose(result.draws, [expected] * 2, rtol=1e-5)
        assert result.levels == list(range(LEVELS[question.target]))


def test_draws_are_dirichlet_where_that_is_known():
    """P(child | its only parent) has a beta distribution, and so has do(parent)."""
    asia = load_asia(as_frame=True).data[["smoke", "lung"]]
    model = with_dags(quick(score=BDe()).fit(asia), graph(2, (0, 1)))
    counts = model.score_.posterior_counts(1, [0])
    for known in ({"evidence": {"smoke": "no"}}, {"do": {"smoke": "no"}}):
        result = model.query("lung", **known, n_draws=4000, random_state=0)
        assert result.levels == ["yes", "no"]
        beta = stats.beta(*counts[1])
        assert stats.kstest(result.draws[:, 0], beta.cdf).pvalue > 0.01
        assert_allclose(result.draws.sum(axis=1), 1.0)
    # what is set tells nothing about its causes
    result = model.query("smoke", do={"lung": "yes"}, n_draws=4000, random_state=0)
    beta = stats.beta(*model.score_.posterior_counts(0, [])[0])
    assert stats.kstest(result.draws[:, 0], beta.cdf).pvalue > 0.01


def test_differences_are_causal_effects():
    asia = load_asia(as_frame=True).data
    model = quick(PartitionMCMCStructure, score=BDe()).fit(asia)
    n = len(model.dag_samples_)
    yes, no = (
        model.query("dysp", do={"smoke": value}, n_draws=40 * n, random_state=0).mean[1]
        for value in ("yes", "no")
    )
    effects = causal_effects(model, ["smoke"], ["dysp"])
    # draws have a spread of 0.06 at most; effects' means are exact
    assert_allclose(no - yes, effects.mean[0, 0], atol=4 * 0.09 / (40 * n) ** 0.5)


def test_slices_do_not_matter(monkeypatch):
    """Draws are others, but what they are draws of is not."""
    asia = load_asia(as_frame=True).data[["smoke", "lung"]]
    model = with_dags(quick(score=BDe()).fit(asia), graph(2, (0, 1)))
    beta = stats.beta(*model.score_.posterior_counts(1, [0])[1])
    monkeypatch.setattr(_causal, "SLICE_BYTES", 8 * 4 * 7)
    result = model.query("lung", {"smoke": "no"}, n_draws=2000, random_state=0)
    assert stats.kstest(result.draws[:, 0], beta.cdf).pvalue > 0.01


def test_tables_that_are_too_large(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.integers(2, size=(30, 5))
    model = with_dags(quick(score=BDe()).fit(X), random_dag(rng, 5, 1.0))
    monkeypatch.setattr(_elimination, "MAX_ENTRIES", 8)
    with pytest.raises(ValueError, match="table of 32 entries"):
        model.query(int(model.dag_samples_[0].sum(axis=0).argmax()))


# ---------------------------------------------------------------------- continuous


def test_normal_networks_are_conditioned_exactly():
    """Against the joint normal distribution, with what is set as a constant."""
    rng = np.random.default_rng(1)
    for _ in range(10):
        dag = random_dag(rng, 6, 0.6)
        weights = rng.normal(size=(1, 6, 6)) * dag
        intercepts, variances = rng.normal(size=(1, 6)), rng.gamma(2, size=(1, 6))
        target, first, second, was_set = rng.permutation(6)[:4].tolist()
        weights[:, :, was_set], variances[:, was_set] = 0.0, 0.0
        intercepts[:, was_set] = 3.0
        question = Question(target, {first: 0.5, second: -1.0}, {was_set: 3.0})
        mean, deviation = normal_answer(weights, intercepts, variances, question)
        paths = np.linalg.inv(np.eye(6) - weights[0])
        center = intercepts[0] @ paths
        covariance = paths.T @ np.diag(variances[0]) @ paths
        known = [first, second]
        gain = covariance[target, known] @ np.linalg.inv(
            covariance[np.ix_(known, known)]
        )
        assert_allclose(mean, center[target] + gain @ ([0.5, -1.0] - center[known]))
        left = covariance[target, target] - gain @ covariance[known, target]
        assert_allclose(deviation**2, left)


def test_expectations_given_parents():
    """A child's expectation given its parents is t distributed, observed or set."""
    rng = np.random.default_rng(2)
    X = pd.DataFrame(rng.normal(5, 2, size=(25, 3)), columns=list("abc"))
    X["c"] += X["a"] - 2 * X["b"]
    model = with_dags(quick(score=BGe()).fit(X), graph(3, (0, 2), (1, 2)))
    posterior = model.score_.regression_posterior(2, [0, 1])
    at = np.array([1.0, 2.0, 3.0])  # with 1 for the intercept
    scale = np.sqrt(((posterior.root @ at) ** 2).sum() / posterior.df)
    student = stats.t(posterior.df, posterior.location @ at, scale)
    for known in (
        {"evidence": {"a": 2, "b": 3}},
        {"do": {"a": 2, "b": 3}},
        {"evidence": {"a": 2}, "do": {"b": 3}},
    ):
        result = model.query("c", **known, n_draws=4000, random_state=0)
        assert stats.kstest(result.draws, student.cdf).pvalue > 0.01
        assert_allclose(result.deviations.mean() ** 2, posterior.variance, rtol=0.1)
    # what is set tells nothing about its causes
    result = model.query("a", do={"c": 100.0}, n_draws=4000, random_state=0)
    assert_allclose(result.mean, X["a"].mean(), atol=0.1)
    result = model.query("a", {"c": 30.0}, n_draws=100, random_state=0)
    assert result.mean > X["a"].mean() + 2


def test_predictive_interval_is_that_of_new_rows():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(15, 2))
    model = with_dags(quick(score=BGe()).fit(X), graph(2, (0, 1)))
    result = model.query(1, {0: 1.0}, n_draws=20_000, random_state=0)
    score = model.score_
    location, scale, df = score._student_t(np.array([[1.0]]), 1, np.array([0]))
    expected = stats.t(df, location, scale).ppf([0.1, 0.9])
    assert_allclose(result.predictive_interval(0.8), expected, atol=0.03)


@pytest.mark.parametrize("interventions", [None, ["b"] * 30 + [None] * 90])
def test_differences_are_effects_per_unit(interventions):
    rng = np.random.default_rng(5)
    X = pd.DataFrame(rng.normal(size=(120, 3)), columns=list("abc"))
    X["c"] += X["a"] + X["b"]
    model = quick(PartitionMCMCStructure, score=BGe())
    model.fit(X, interventions=interventions)
    n = len(model.dag_samples_)
    low, high = (
        model.query("c", do={"b": value}, n_draws=50 * n, random_state=0)
        for value in (0.0, 1.0)
    )
    effects = causal_effects(model, ["b"], ["c"])
    # the same random numbers: draws of the difference have a spread of 0.5 at most
    difference = (high.draws - low.draws).mean()
    assert_allclose(difference, effects.mean[0, 0], atol=4 * 0.5 / (50 * n) ** 0.5)


def test_what_is_in_the_background_can_be_known():
    rng = np.random.default_rng(6)
    X = pd.DataFrame(rng.normal(size=(200, 3)), columns=list("abc"))
    X["c"] += 2 * X["a"]
    model = quick(score=BGe(), background=["a"]).fit(X)
    result = model.query("c", {"a": 2.0}, random_state=0)
    assert_allclose(result.mean, 4.0, atol=0.5)
    # and where it is not, it varies as it did
    result = model.query("c", random_state=0)
    assert_allclose(result.deviations.mean(), 5**0.5, atol=0.3)


def test_answers_of_several_dags_are_all_there():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(200, 2)) @ [[1, 1], [0, 1]]
    model = quick(score=BGe()).fit(X)
    model = with_dags(model, graph(2, (0, 1)), graph(2, (1, 0)))
    result = model.query(1, do={0: 3.0}, n_draws=1000, random_state=0)
    assert_allclose(result.draws[:499].mean(), 3.0, atol=0.3)
    assert_allclose(result.draws[501:].mean(), 0.0, atol=0.3)


# --------------------------------------------------------------------------- mixed


class FixedMixed(ConditionalGaussian):
    """Parameters that are known: a -> x -> b, a -> b; x normal, a and b of 2 levels."""

    def draw_family(self, node, parents, rng):
        if node == 0:
            return lambda rows: np.tile([0.3, 0.7], (len(rows), 1)), None
        if node == 1:
            return lambda rows: 2 * rows[:, 0], lambda rows: np.full(len(rows), 0.8)

        def expect(rows):
            p = 1 / (1 + np.exp(rows[:, 1] - 1 + rows[:, 0]))
            return np.column_stack([p, 1 - p])

        return expect, None


def mixed_truth(question):
    """By a fine grid of the number."""
    x = np.linspace(-6, 8, 4001)
    joint = np.empty((2, len(x), 2))
    for a in range(2):
        p = 1 / (1 + np.exp(x - 1 + a))
        density = stats.norm(2 * a, 0.8).pdf(x)
        if 1 in question.do:
            density = np.exp(-(((x - question.do[1]) / 1e-3) ** 2))
            density /= density.sum()
        joint[a] = ([0.3, 0.7][a] * density * np.array([p, 1 - p])).T
    if 0 in question.evidence:
        joint[1 - question.evidence[0]] = 0
    if 2 in question.evidence:
        joint[:, :, 1 - question.evidence[2]] = 0
    if 1 in question.evidence:
        joint = joint[:, [np.argmin(abs(x - question.evidence[1]))]]
    joint /= joint.sum()
    if question.target == 1:
        p = joint.sum(axis=(0, 2))
        return p @ x
    return joint.sum(axis=(1, 2 - question.target))


@pytest.mark.parametrize(
    "question",
    [
        Question(0, {}, {}),
        Question(0, {1: 1.0}, {}),
        Question(0, {2: 1}, {}),
        Question(0, {1: 0.0, 2: 1}, {}),
        Question(0, {2: 0}, {1: 1.0}),
        Question(2, {0: 1}, {}),
        Question(2, {}, {1: 0.0}),
        Question(1, {0: 1}, {}),
        Question(1, {2: 0}, {}),
        Question(1, {0: 1, 2: 0}, {}),
    ],
    ids=str,
)
def test_mixed_networks_are_simulated(question):
    rng = np.random.default_rng(0)
    X = np.column_stack(
        [rng.integers(2, size=30), rng.normal(size=30), rng.integers(2, size=30)]
    )
    model = quick(score=FixedMixed(categorical_features=[0, 2])).fit(X)
    model = with_dags(model, graph(3, (0, 1), (1, 2), (0, 2)))
    result = model.query(
        question.target, question.evidence, question.do, n_draws=16, random_state=0
    )
    truth = mixed_truth(question)
    assert_allclose(result.mean, truth, atol=0.01)
    assert result.draws.std(axis=0).max() < 0.03


def test_mixed_answers_have_the_posteriors_spread():
    """The mean of a number in a category is t distributed."""
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"a": rng.integers(2, size=40).astype(bool)})
    X["x"] = X["a"] + rng.normal(size=40)
    model = quick(score=ConditionalGaussian()).fit(X)
    model = with_dags(model, graph(2, (0, 1)))
    _, _, (_, posterior) = model.score_.cell_regressions(1, np.array([0]))
    result = model.query("x", {"a": True}, n_draws=1000, random_state=0)
    student = stats.t(posterior.df, posterior.location[0], posterior.scale[0])
    assert stats.kstest(result.draws, student.cdf).pvalue > 0.01


def test_improbable_evidence_is_warned_of():
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"a": rng.integers(2, size=40).astype(bool)})
    X["x"] = X["a"] + rng.normal(size=40)
    X["y"] = X["x"] + 0.01 * rng.normal(size=40)
    model = quick(score=ConditionalGaussian()).fit(X)
    model = with_dags(model, graph(3, (0, 1), (1, 2)))
    with pytest.warns(UserWarning, match="so improbable"):
        model.query("x", {"y": 30.0}, n_draws=5, random_state=0)


# -------------------------------------------------------------------------- others


def test_the_seed_alone_decides():
    asia = load_asia(as_frame=True).data.iloc[:, 2:]
    model = quick(score=BDe()).fit(asia)
    one, two = (model.query("lung", random_state=3) for _ in range(2))
    assert_array_equal(one.draws, two.draws)
    other = model.query("lung", random_state=4)
    assert (one.draws != other.draws).any()


def test_frames_and_text():
    asia = load_asia(as_frame=True).data.iloc[:, 2:5]
    result = quick(score=BDe()).fit(asia).query("lung", random_state=0)
    frame = result.to_frame(0.9)
    assert list(frame.columns) == ["target", "level", "mean", "sd", "lower", "upper"]
    assert_array_equal(frame["mean"], result.mean)
    assert_array_equal(frame[["lower", "upper"]].T, result.interval(0.9))
    assert repr(result).startswith("QueryResult(lung=yes: 0.0")
    X = pl.DataFrame(np.random.default_rng(0).normal(size=(30, 2)), schema=["a", "b"])
    result = quick().fit(X).query("a", {"b": 1}, random_state=0)
    assert isinstance(result.to_frame(), pl.DataFrame)
    assert isinstance(result.mean, float)
    assert isinstance(QueryResult("a", None, np.zeros(3)).to_frame(), pd.DataFrame)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"target": "lungs"}, "target names an unknown variable: 'lungs'"),
        ({"target": "lung", "evidence": {"x": 1}}, "evidence names an unknown"),
        ({"target": "lung", "do": {"smoke": 1}}, r"one of its categories \['yes', 'no"),
        ({"target": "lung", "do": ["smoke"]}, "do must map variables to values"),
        ({"target": "lung", "do": {"lung": "yes"}}, "must not be in do"),
        ({"target": "lung", "evidence": {"lung": "yes"}}, "must not be in evidence"),
        ({"target": "lung", "n_draws": 0}, "n_draws must be a positive integer"),
        (
            {"target": "lung", "evidence": {"smoke": "no"}, "do": {"smoke": "no"}},
            "'smoke' is in evidence and in do",
        ),
    ],
)
def test_errors(arguments, message):
    model = quick(score=BDe()).fit(load_asia(as_frame=True).data.iloc[:, 2:5])
    with pytest.raises(ValueError, match=message):
        model.query(**arguments)


def test_errors_of_other_kinds():
    asia = load_asia(as_frame=True).data.iloc[:, 2:5]
    model = quick(score=CategoricalBIC()).fit(asia)
    with pytest.raises(TypeError, match="CategoricalBIC has no posterior"):
        model.query("lung", {"smoke": "yes"})
    model = quick().fit(np.random.default_rng(0).normal(size=(30, 2)))
    with pytest.raises(ValueError, match="must give 1 a number"):
        model.query(0, {1: "high"})
    result = quick(score=BDe()).fit(asia).query("lung")
    with pytest.raises(ValueError, match="is categorical"):
        result.predictive_interval()
    with pytest.raises(ValueError, match="level must be between"):
        result.interval(2)
