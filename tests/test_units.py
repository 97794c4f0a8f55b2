"""Priors that the data set: units do not matter, and edges cost what density asks."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import quad

from helpers import quick
from skbidag import OrderMCMCStructure, PartitionMCMCStructure, causal_effects
from skbidag.datasets import make_discrete_network, make_gaussian_network
from skbidag.scores import BDe, BGe, CategoricalBIC, GaussianBIC
from skbidag.scores._density import automatic_penalty
from skbidag.scores._noise import LEAST_SHARE, residual_scale


def gaussian(n_samples, n_features, seed=0, **kwargs):
    network = make_gaussian_network(n_samples, n_features, random_state=seed, **kwargs)
    return network.data


def scatter_of(X):
    centered = X - X.mean(axis=0)
    return centered.T @ centered


# ------------------------------------------------------------ units of columns


def test_data_prior_is_the_paper_s_in_other_units():
    X = gaussian(150, 6) * [1.0, 20.0, 0.3, 1e4, 5.0, 1e-3] + [0, 7, -3, 1e5, 2, 1]
    unit = residual_scale(scatter_of(X), len(X))
    ours = BGe(alpha_mu=0.7, edge_penalty=1.0).fit(X)
    paper = BGe(alpha_mu=0.7, edge_penalty=1.0, prior="paper").fit(
        (X - X.mean(axis=0)) / unit
    )
    for node, parents in (0, []), (2, [1]), (5, [0, 3, 4]):
        expected = paper.local_score(node, parents) - len(X) * np.log(unit[node])
        assert_allclose(ours.local_score(node, parents), expected, rtol=1e-11)
    assert_allclose(ours.posterior_mean_, X.mean(axis=0), rtol=1e-12, atol=1e-12)
    assert_allclose(ours.scatter_, paper.scatter_ * np.outer(unit, unit), rtol=1e-9)


@pytest.mark.parametrize("parents", [[], [1], [1, 2]])
def test_densities_are_per_unit_of_the_data(parents):
    X = gaussian(30, 3) * [40.0, 0.01, 5.0] + [1000.0, -3.0, 0.0]
    score = BGe().fit(X)

    def density(value):
        row = np.array([[value, *X[0, 1:]]])
        return np.exp(score.log_predictive(row, 0, parents)[0])

    middle, spread = X[:, 0].mean(), X[:, 0].std()
    ends = middle - 200 * spread, middle + 200 * spread
    total, _ = quad(density, *ends, points=[middle], limit=500)
    assert_allclose(total, 1.0, rtol=1e-5)


def test_noise_is_what_others_leave():
    rng = np.random.default_rng(0)
    cause = rng.normal(size=2000)
    X = np.column_stack(
        [cause, 10 * cause + rng.normal(size=2000), rng.normal(size=2000) * 3]
    )
    scale = residual_scale(scatter_of(X), len(X))
    # of the cause its effect leaves 1 / (1 + 100) of the variance
    assert_allclose(scale, [1 / np.sqrt(101), 1.0, 3.0], rtol=0.05)
    # a copy is not without noise, a constant has no unit
    copies = np.column_stack([cause, cause, np.zeros(2000)])
    scale = residual_scale(scatter_of(copies), 2000)
    assert_allclose(scale[:2], np.sqrt(LEAST_SHARE) * cause.std())
    assert scale[2] == 1.0


def test_noise_does_not_follow_chance():
    """Of 200 independent columns some correlate: 50 rows would explain a lot."""
    X = np.random.default_rng(1).normal(size=(50, 200))
    scale = residual_scale(scatter_of(X), 50)
    assert np.median(scale / X.std(axis=0)) > 0.9


@pytest.mark.parametrize("n_samples", [1, 2, 3])
def test_hardly_any_rows(n_samples):
    X = np.random.default_rng(0).normal(size=(n_samples, 3)) * 50 + 1000
    score = BGe().fit(X)
    assert np.isfinite(score.dag_score(np.triu(np.ones((3, 3), bool), 1)))


transformations = st.lists(
    st.tuples(
        st.floats(-6, 6),  # the logarithm of the scale, to the base 10
        st.sampled_from([-1.0, 1.0]),
        st.floats(-1e3, 1e3),  # the shift, in units of the column
    ),
    min_size=6,
    max_size=6,
)


# units in which the local scores cancel, so that their sum is small beside its rounding
CANCELING = [(power, -1.0, 0.0) for power in (4.671875, 0.359375, *[0.0703125] * 2)]
CANCELING += [(power, -1.0, 0.0) for power in (-4.375, -0.6484375)]


@pytest.mark.parametrize("structure", [OrderMCMCStructure, PartitionMCMCStructure])
@settings(max_examples=15, deadline=None)
@example(CANCELING, 2)
@given(transformations, st.integers(0, 3))
def test_shifts_and_scales_change_nothing(structure, changes, seed):
    X = gaussian(80, 6, seed)
    power, sign, shift = np.array(changes).T
    scale = sign * 10.0**power
    shift = shift * scale
    plain = quick(structure, search_space="iterative").fit(X)
    moved = quick(structure, search_space="iterative").fit(X * scale + shift)
    assert_array_equal(plain.adjacency_probabilities_, moved.adjacency_probabilities_)
    assert_allclose(
        (moved.predict(X[:5] * scale + shift) - shift) / scale,
        plain.predict(X[:5]),
        atol=1e-8,
    )
    assert_allclose(
        moved.score_samples(X[:5] * scale + shift) + np.log(np.abs(scale)).sum(),
        plain.score_samples(X[:5]),
        atol=1e-8,
    )
    before, after = (causal_effects(model, random_state=0) for model in (plain, moved))
    assert_allclose(after.mean * scale[:, None] / scale, before.mean, atol=1e-9)


def test_columns_far_from_zero_are_not_joined():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        rng.normal(size=(300, 4)) * [5, 8, 100, 20] + [290, 1013, 2010, 500],
        columns=["temperature", "pressure", "year", "dose"],
    )
    model = OrderMCMCStructure(random_state=0).fit(X)
    assert model.adjacency_probabilities_.max() < 0.1


# ------------------------------------------------------------ structure prior


def test_penalty_is_a_third_of_the_odds_of_pairs_that_pick_each_other():
    X = gaussian(300, 12)
    score = BGe(edge_penalty=1.0).fit(X)
    picks = [
        set(score.select_parents(node, np.delete(np.arange(12), node), 11)[0])
        for node in range(12)
    ]
    n_mutual = sum(i in picks[j] and j in picks[i] for i in range(12) for j in range(i))
    expected = max(1.0, (66 - n_mutual) / n_mutual / 3)
    assert_allclose(automatic_penalty(score), expected)
    fitted = BGe().fit(X)
    assert_allclose(fitted.edge_penalty_, expected)
    gain = fitted.local_score(0, [1, 2]) - score.local_score(0, [1, 2])
    assert_allclose(gain, -2 * np.log(expected))


@pytest.mark.parametrize("make", [BGe, GaussianBIC, BDe, CategoricalBIC])
def test_penalty_grows_with_what_there_is_to_be_wrong_about(make):
    maker = make_gaussian_network
    if make in (BDe, CategoricalBIC):
        maker = make_discrete_network
    penalties = [
        make().fit(maker(500, n, random_state=0).data).edge_penalty_
        for n in (10, 30, 60)
    ]
    assert 1.0 <= penalties[0] < penalties[1] < penalties[2]
    uniform = make(edge_penalty=1.0).fit(maker(500, 10, random_state=0).data)
    assert uniform.edge_penalty_ == 1.0
    assert not uniform.log_prior_odds_.any()


def test_penalty_and_prior_odds_add_up():
    X = gaussian(200, 15)
    prior = np.random.default_rng(0).normal(size=(15, 15))
    score = BGe().fit(X, edge_prior=prior)
    assert_allclose(score.log_prior_odds_, prior - np.log(score.edge_penalty_))


@pytest.mark.parametrize("n", [1, 2, 3])
def test_penalty_of_hardly_any_variables(n):
    X = np.random.default_rng(0).normal(size=(20, n))
    assert BGe().fit(X).edge_penalty_ == 1.0


def test_independent_columns_stay_alone():
    X = np.random.default_rng(2).normal(size=(200, 40))
    model = OrderMCMCStructure(random_state=0).fit(X)
    # 780 pairs, of which fewer than two edges are expected
    assert model.adjacency_probabilities_.sum() < 2.0
