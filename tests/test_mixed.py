"""Mixed data from end to end: samplers against enumeration, search, constraints."""

import itertools

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp
from test_scores_mixed import mixed_data

from helpers import all_dags
from skbidag import (
    IterativeSearchStructure,
    MarkovBlanketSelector,
    OrderMCMCStructure,
    PartitionMCMCStructure,
    PCSkeleton,
)
from skbidag.scores import BDe, BGe, ConditionalGaussian


def mixed_frame(seed, n_rows=300, kinds="cdcd", library=pd):
    """The same with names and labels."""
    X, categorical = mixed_data(seed, n_rows, kinds)
    labels = np.array(["low", "mid", "top"])
    return library.DataFrame(
        {
            f"{kind}{j}": labels[X[:, j].astype(int)] if is_label else X[:, j]
            for j, (kind, is_label) in enumerate(zip(kinds, categorical, strict=True))
        }
    )


# ------------------------------------------------------------------ exact posteriors


def exact_edges(score, by_orders):
    """Edge probabilities over all DAGs, which count once or once for each order."""
    dags = all_dags(score.n_features_in_)
    log_weights = np.array([score.dag_score(A) for A in dags])
    if by_orders:
        orders = [*itertools.permutations(range(dags.shape[1]))]
        places = np.argsort(orders, axis=1)
        forward = places[:, :, None] < places[:, None, :]
        log_weights += np.log([(~A | forward).all(axis=(1, 2)).sum() for A in dags])
    weights = np.exp(log_weights - logsumexp(log_weights))
    return np.einsum("d,dij->ij", weights, dags)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("sampler", [OrderMCMCStructure, PartitionMCMCStructure])
def test_samplers_have_the_exact_posterior(sampler, seed):
    X, categorical = mixed_data(seed, 40, "cdcd", shift=0.4)
    model = sampler(
        categorical_features=categorical,
        n_iter=60_000,
        n_draws=6_000,
        random_state=seed,
    ).fit(X)
    assert isinstance(model.score_, ConditionalGaussian)
    exact = exact_edges(model.score_, sampler is OrderMCMCStructure)
    assert ((exact > 0.05) & (exact < 0.95)).any()
    # some 20,000 draws, of which a tenth count as independent: four standard errors
    assert_allclose(model.edge_probabilities(), exact, atol=4 * 0.5 / np.sqrt(2_000))


@pytest.mark.slow
def test_the_search_finds_the_best_dag():
    for seed in range(4):
        X, categorical = mixed_data(seed, 80, "dcdc", shift=0.7)
        search = IterativeSearchStructure(
            categorical_features=categorical, n_draws=0, random_state=0
        ).fit(X)
        best = max(search.score_.dag_score(A) for A in all_dags(4))
        assert_allclose(search.log_score_, best)


# ------------------------------------------------------------------ what data become


def test_auto_is_by_the_kinds_of_columns():
    quick = {"n_iter": 400, "n_draws": 20, "random_state": 0}
    frame = mixed_frame(0)
    model = OrderMCMCStructure(**quick).fit(frame)
    assert isinstance(model.score_, ConditionalGaussian)
    assert model.feature_kinds_.tolist() == [
        "continuous",
        "categorical",
        "continuous",
        "categorical",
    ]
    numbers, labels = frame[["c0", "c2"]], frame[["d1", "d3"]]
    assert type(OrderMCMCStructure(**quick).fit(numbers).score_) is BGe
    assert type(OrderMCMCStructure(**quick).fit(labels).score_) is BDe
    with pytest.raises(ValueError, match="mixed kinds, but this score takes one"):
        OrderMCMCStructure("bic", **quick).fit(frame)


def test_categorical_features_of_the_estimator_hold_for_the_score():
    X, _ = mixed_data(0, 100, "cdcd")
    score = ConditionalGaussian(equivalent_sample_size=2.0)
    model = OrderMCMCStructure(
        score, categorical_features=[1, 3], n_iter=400, n_draws=20, random_state=0
    ).fit(X)
    assert model.score_.is_categorical_.tolist() == [False, True, False, True]
    assert model.score_.equivalent_sample_size == 2.0
    assert score.categorical_features == "auto"  # the parameter is left alone


def test_frames_of_both_libraries_give_the_same():
    models = [
        PartitionMCMCStructure(n_iter=20_000, n_draws=500, random_state=0).fit(
            mixed_frame(3, library=library)
        )
        for library in (pd, pl)
    ]
    assert_array_equal(models[0].edge_probabilities(), models[1].edge_probabilities())


def test_jobs_and_order_of_rows_do_not_matter():
    frame = mixed_frame(4, kinds="cdcdcc")
    settings = {"n_iter": 20_000, "n_draws": 500, "random_state": 0}
    one = OrderMCMCStructure(**settings).fit(frame)
    two = OrderMCMCStructure(n_jobs=2, **settings).fit(frame)
    turned = OrderMCMCStructure(**settings).fit(frame[::-1])
    assert_array_equal(one.edge_probabilities(), two.edge_probabilities())
    assert_array_equal(one.edge_probabilities(), turned.edge_probabilities())


# ---------------------------------------------------------------------- constraints


def test_no_continuous_causes():
    X, categorical = mixed_data(5, 200, "cdcd")
    score = ConditionalGaussian(continuous_causes=False)
    settings = {"categorical_features": categorical, "random_state": 0}
    for model in (
        OrderMCMCStructure(score, n_iter=20_000, n_draws=500, **settings),
        IterativeSearchStructure(score, **settings),
    ):
        edges = model.fit(X).edge_probabilities()
        assert (edges[np.ix_(~categorical, categorical)] == 0).all()
        assert edges[np.ix_(categorical, ~categorical)].any()
    with pytest.raises(ValueError, match="the score's model excludes: 0 -> 1"):
        OrderMCMCStructure(score, required_edges=[(0, 1)], **settings).fit(X)


def test_constraints_hold():
    X, categorical = mixed_data(5, 200, "cdcd")
    model = OrderMCMCStructure(
        categorical_features=categorical,
        required_edges=[(3, 0)],
        forbidden_edges=[(1, 2)],
        n_iter=20_000,
        n_draws=500,
        random_state=0,
    ).fit(X)
    edges = model.edge_probabilities()
    assert edges[3, 0] == 1
    assert edges[1, 2] == 0


# ---------------------------------------------------------------- the feature selector


def test_the_selector_takes_mixed_columns():
    rng = np.random.default_rng(0)
    frame = mixed_frame(7, 400)
    settings = {"n_iter": 20_000, "n_draws": 200, "random_state": 0}
    selector = MarkovBlanketSelector(OrderMCMCStructure(**settings))
    # a class and a number, each of which two columns of different kinds tell
    on = 1.5 * frame["c0"] + 2.0 * (frame["d1"] == "top")
    noise = rng.normal(size=len(frame))
    for y in (
        pd.Series(np.where(on + noise > 1.0, "ill", "well"), name="state"),
        pd.Series(on + 0.3 * noise, name="level"),
    ):
        kept = selector.fit(frame, y).get_feature_names_out()
        assert {"c0", "d1"} <= {*kept}
        score = selector.estimator_.score_
        assert isinstance(score, ConditionalGaussian)
        assert score.is_categorical_[-1] == (y.name == "state")


# ------------------------------------------------------------------------------- PC


def test_pc_by_evidence():
    rng = np.random.default_rng(0)
    n = 2_000
    a = rng.integers(3, size=n)
    b = 2.0 * (a == 1) + rng.normal(size=n)
    c = (b + rng.normal(size=n) > 0.7).astype(int)
    d = rng.normal(size=n)
    frame = pd.DataFrame({"a": a.astype(str), "b": b, "c": c.astype(bool), "d": d})
    pc = PCSkeleton().fit(frame)
    expected = np.zeros((4, 4), dtype=bool)
    for i, j in ((0, 1), (1, 2)):
        expected[i, j] = expected[j, i] = True
    assert_array_equal(pc.search_space_, expected)
    assert pc.n_tests_[0] == 6
    for space in ("pc", PCSkeleton(), PCSkeleton(orient=True)):
        model = OrderMCMCStructure(
            search_space=space, extra_parent=False, n_iter=400, n_draws=20
        ).fit(frame)
        assert not model.search_space_[~expected].any()
    with pytest.raises(ValueError, match="needs data of one kind"):
        OrderMCMCStructure(search_space="glasso").fit(frame)


def test_bayes_factors_are_symmetric():
    X, categorical = mixed_data(6, 100, "cdcdc")
    score = ConditionalGaussian(categorical_features=categorical).fit(X)
    for x, y, given in ((0, 1, [2]), (1, 3, [0, 4]), (0, 2, [1, 3])):
        (one,) = score.log_bayes_factors(x, given, np.array([y]))
        (other,) = score.log_bayes_factors(y, given, np.array([x]))
        assert_allclose(one, other)
        gain = score.log_marginal_likelihood(
            x, [*given, y]
        ) - score.log_marginal_likelihood(x, given)
        assert_allclose(one, gain)
