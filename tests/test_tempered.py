"""Samplers that draw from a power of the posterior, against enumeration."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from enumeration import assert_same_posterior
from helpers import all_dags, assert_same_draws, graph, quick
from skbidag import OrderMCMCStructure, PartitionMCMCStructure
from skbidag.datasets import make_discrete_network, make_gaussian_network
from skbidag.scores import BDe, BGe
from skbidag.scores._tempered import TemperedScore

N = 4
SAMPLERS = {
    "orders": (OrderMCMCStructure, {}),
    "dags": (PartitionMCMCStructure, {}),
    "partitions": (PartitionMCMCStructure, {"walk": "partitions"}),
}
DATA = {
    "continuous": (BGe(), make_gaussian_network(40, N, random_state=1).data),
    "categorical": (BDe(), make_discrete_network(60, N, random_state=0).data),
}


def n_orders(dag):
    """How many orders, parents first, a DAG fits."""
    return sum(
        all(order.index(i) < order.index(j) for i, j in np.argwhere(dag))
        for order in itertools.permutations(range(len(dag)))
    )


def exact_probabilities(score, power, by_orders, possible=lambda dags: slice(None)):
    dags = all_dags(N)
    dags = dags[possible(dags)]
    log_scores = power * np.array([score.dag_score(dag) for dag in dags])
    weights = np.exp(log_scores - log_scores.max())
    if by_orders:
        weights *= [n_orders(dag) for dag in dags]
    return np.tensordot(weights / weights.sum(), dags, 1)


@pytest.mark.slow
@pytest.mark.parametrize("power", [0.3, 2.0])
@pytest.mark.parametrize("kind", DATA)
@pytest.mark.parametrize("sampler", SAMPLERS)
def test_draws_are_of_the_power_of_the_posterior(sampler, kind, power):
    structure, options = SAMPLERS[sampler]
    score, X = DATA[kind]
    model = structure(
        score, power=power, n_chains=1, n_iter=400_000, n_draws=10_000,
        required_edges=[(0, 1)], forbidden_edges=[(2, 3)], random_state=0, **options,
    ).fit(X)  # fmt: skip
    exact = exact_probabilities(
        model.score_, power, sampler == "orders",
        lambda dags: dags[:, 0, 1] & ~dags[:, 2, 3],
    )  # fmt: skip
    assert_same_posterior(model.dag_samples_[:], exact)
    plain = exact_probabilities(
        model.score_, 1.0, sampler == "orders",
        lambda dags: dags[:, 0, 1] & ~dags[:, 2, 3],
    )  # fmt: skip
    assert np.abs(plain - exact).max() > 0.05  # or this tests nothing
    # log scores are those of the DAGs
    scores = [model.score_.dag_score(dag) for dag in model.dag_samples_[:20]]
    assert_allclose(model.log_score_trace_[0, :20], scores)
    assert_allclose(model.log_score_, model.score_.dag_score(model.adjacency_))
    assert model.posterior_.endswith(f", to the power {power:g}")


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("structure", [OrderMCMCStructure, PartitionMCMCStructure])
def test_fits_go_on(structure):
    X = make_gaussian_network(60, 6, random_state=0).data
    whole = quick(structure, power=0.7, burn_in=0.0, n_iter=4000, n_draws=80).fit(X)
    parts = quick(structure, power=0.7, burn_in=0.0, warm_start=True).fit(X)
    parts.set_params(n_draws=80).fit(X)
    assert_same_draws(whole, parts)
    with pytest.raises(ValueError, match="power changed"):
        parts.set_params(power=1.0).fit(X)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_power_one_changes_nothing():
    X = make_gaussian_network(60, 6, random_state=0).data
    assert_same_draws(quick().fit(X), quick(power=1).fit(X))
    assert quick().fit(X).posterior_ == "order-weighted"


@pytest.mark.parametrize("kind", DATA)
def test_tempered_scores(kind):
    score, X = DATA[kind]
    score = score.fit(X)
    half = TemperedScore(score, 0.5)
    dag = graph(N, (0, 1), (2, 1))
    assert_allclose(half.dag_score(dag), 0.5 * score.dag_score(dag))
    assert_allclose(half.addition_scores(1, [0]), 0.5 * score.addition_scores(1, [0]))
    assert_allclose(half.pair_scores(1, []), 0.5 * score.pair_scores(1, []))
    parents, value = half.select_parents(1, np.array([0, 2, 3]), 3)
    expected, log_score = score.select_parents(1, np.array([0, 2, 3]), 3)
    assert_array_equal(parents, expected)
    assert value == 0.5 * log_score
    for fill in ("fill_table", "fill_table_for_maxima"):
        tables = np.full((2, 4, N), -np.inf)
        for table, one in zip(tables, (score, half), strict=True):
            getattr(one, fill)(1, np.array([0, 2]), np.array([3]), 1, table)
        assert_allclose(tables[1], 0.5 * tables[0])


@pytest.mark.parametrize("power", [0, -1.0, "flat"])
def test_bad_powers(power):
    with pytest.raises(ValueError, match="'power' parameter"):
        OrderMCMCStructure(power=power).fit(DATA["continuous"][1])
