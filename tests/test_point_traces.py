"""Orders and partitions along the trace, and their scores."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp

from helpers import all_dags, quick
from skbidag import (
    IterativeSearchStructure,
    OrderMCMCStructure,
    PartitionMCMCStructure,
)
from skbidag._blocks import partition_of_dag
from skbidag.datasets import make_gaussian_network

N = 4
DAGS = all_dags(N)

pytestmark = pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning"  # chains are short
)


@pytest.fixture(scope="module")
def data():
    return make_gaussian_network(60, N, random_state=0).data


def fits(dag, order):
    """Whether parents stand before their children."""
    place = np.argsort(order)
    return not (dag & (place[:, None] > place)).any()


@pytest.mark.parametrize("structure", [OrderMCMCStructure, IterativeSearchStructure])
def test_orders(data, structure):
    model = quick(structure).fit(data)
    assert model.order_trace_.shape == (2, 40, N)
    scores = np.array([model.score_.dag_score(dag) for dag in DAGS])
    orders = model.order_trace_.reshape(-1, N)
    for k, order in enumerate(orders):
        assert fits(model.dag_samples_[k], order)
    for order, value in list(
        zip(orders, model.order_log_score_trace_.ravel(), strict=True)
    )[::8]:
        inside = [fits(dag, order) for dag in DAGS]
        assert_allclose(value, logsumexp(scores[inside]))


def test_orders_beside_dags(data):
    model = quick(PartitionMCMCStructure).fit(data)
    for dag, order in zip(
        model.dag_samples_, model.order_trace_.reshape(-1, N), strict=True
    ):
        assert fits(dag, order)
    assert not hasattr(model, "partition_trace_")


def test_partitions(data):
    model = quick(PartitionMCMCStructure, walk="partitions").fit(data)
    scores = np.array([model.score_.dag_score(dag) for dag in DAGS])
    blocks = np.array([partition_of_dag(dag) for dag in DAGS])
    blocks = blocks.max(axis=1, keepdims=True) - blocks  # roots are 0
    partitions = model.partition_trace_.reshape(-1, N)
    values = model.partition_log_score_trace_.ravel()
    for dag, partition, value in zip(
        model.dag_samples_, partitions, values, strict=True
    ):
        assert_array_equal(partition == 0, ~dag.any(axis=0))
        inside = (blocks == partition).all(axis=1)
        assert_allclose(value, logsumexp(scores[inside]))


@pytest.mark.parametrize("walk", ["dags", "partitions"])
def test_traces_go_on(data, walk):
    options = {"burn_in": 0.0, "walk": walk}
    whole = quick(PartitionMCMCStructure, n_iter=4000, n_draws=80, **options).fit(data)
    parts = quick(PartitionMCMCStructure, warm_start=True, **options).fit(data)
    parts.set_params(n_draws=80).fit(data)
    name = "order_trace_" if walk == "dags" else "partition_trace_"
    assert_array_equal(getattr(whole, name), getattr(parts, name))


def test_traces_of_chains_that_run_in_rounds(data):
    model = OrderMCMCStructure(random_state=0, n_draws=100, n_chains=2).fit(data)
    assert model.order_trace_.shape == (2, 100, N)
    for dag, order in zip(
        model.dag_samples_, model.order_trace_.reshape(-1, N), strict=True
    ):
        assert fits(dag, order)


def test_a_chain_that_has_drawn_nothing(data):
    model = quick(max_time=0.0)
    with pytest.warns(match="none of 40 draws"):
        model.fit(data)
    assert model.order_trace_.shape == (2, 1, N)
