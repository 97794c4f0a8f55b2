"""Dense networks, whose nodes have more parents than tables hold."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning

from helpers import graph
from skbidag import IterativeSearchStructure, OrderMCMCStructure, PartitionMCMCStructure
from skbidag._constraints import resolve_constraints
from skbidag._problem import Problem
from skbidag._search import _dense, _free_orders
from skbidag._search._dense import DenseSearch, is_dense, most_parents
from skbidag._search._free_orders import FreeOrders
from skbidag._search._orders import random_order
from skbidag._search._sinks import best_explained, fewest_neighbors, order_of_sinks
from skbidag.datasets import make_gaussian_network
from skbidag.graphs import is_dag
from skbidag.scores import BGe, GaussianBIC

N = 32


def pose(X, weights=None, **constraints):
    score = GaussianBIC(edge_penalty=1.0).fit(X, sample_weight=weights)
    resolved = resolve_constraints(X.shape[1], **constraints)
    return Problem(score, X, weights, None, resolved)


@pytest.fixture(scope="module")
def network():
    return make_gaussian_network(
        1000,
        N,
        expected_parents=12,
        strengths=(0.0, 1.0),
        signs="random",
        random_state=0,
    )


@pytest.fixture(scope="module")
def searched(network):
    return search(network.data)


def search(X, **params):
    params = {"score": GaussianBIC(edge_penalty=1.0), "n_draws": 0} | params
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # PC's sets are too large
        return IterativeSearchStructure(**params, random_state=0).fit(X)


# ---------------------------------------------------------------------- the search


def test_the_best_dag_has_as_many_parents_as_it_takes(network, searched):
    assert is_dag(searched.adjacency_)
    assert searched.adjacency_.sum(axis=0).max() > 20
    assert searched.log_score_ == searched.score_.dag_score(searched.adjacency_)
    assert searched.log_score_ > searched.score_.dag_score(network.adjacency)
    assert searched.expansions_["log_score"].max() == searched.log_score_
    assert searched.search_space_.sum(axis=0).max() <= 20


def test_a_number_of_parents_is_meant(network):
    model = search(network.data, max_parents=6)
    assert model.adjacency_.sum(axis=0).max() <= 7  # one from outside


def test_threads_and_restarts(network, searched):
    again = search(network.data, n_jobs=2)
    assert_array_equal(again.adjacency_, searched.adjacency_)
    restarted = search(network.data, n_restarts=2)
    assert restarted.log_score_ > searched.log_score_ - 60  # with other random numbers


@pytest.mark.parametrize("estimator", [OrderMCMCStructure, PartitionMCMCStructure])
def test_samplers_keep_the_best_dag_and_say_what_draws_lack(
    network, searched, estimator
):
    model = estimator(
        GaussianBIC(edge_penalty=1.0), n_iter=2000, n_draws=20, random_state=0
    )
    with pytest.warns(ConvergenceWarning, match="more than tables of scores can hold"):
        model.fit(network.data)
    assert_array_equal(model.adjacency_, searched.adjacency_)
    assert_allclose(model.log_score_, searched.log_score_)
    assert model.log_score_trace_.max() < model.log_score_
    inside = model.search_space_.sum(axis=0) + 1
    assert inside.max() <= 21
    for dag in model.dag_samples_:
        assert (dag.sum(axis=0) <= inside).all()


def test_constraints_hold(network):
    wrong = np.argwhere(np.tril(np.ones((N, N), dtype=bool), -1))[::37]
    order = np.argsort(network.adjacency.sum(axis=0))
    forbidden = [(int(order[i]), int(order[j])) for i, j in wrong]
    required = [(int(order[-1]), int(order[0]))]
    problem = pose(
        network.data,
        forbidden_edges=forbidden,
        required_edges=required,
        background=[int(order[-1])],
    )
    start = np.zeros((N, N), dtype=bool)
    start[required[0]] = True
    found = DenseSearch(problem, np.random.default_rng(0)).run(start)
    assert is_dag(found)
    assert not any(found[edge] for edge in forbidden)
    assert found[required[0]]
    assert not found[:, order[-1]].any()
    assert found.sum(axis=0).max() > 14


def test_missing_cells(network):
    X = network.data.copy()
    X[np.random.default_rng(0).random(X.shape) < 0.02] = np.nan
    model = search(X, score=BGe())
    assert model.adjacency_.sum(axis=0).max() > 14
    assert model.log_score_ > model.score_.dag_score(network.adjacency)
    sampler = PartitionMCMCStructure(n_iter=500, n_draws=10, random_state=0)
    with pytest.warns(ConvergenceWarning, match="more than tables of scores can hold"):
        sampler.fit(X)
    assert sampler.search_space_.sum(axis=0).max() <= 14


def test_a_hub_among_many_variables():
    rng = np.random.default_rng(0)
    dag = np.triu(rng.random((300, 300)) < 1.5 / 300, 1)
    dag[:, -1] = rng.permutation(np.arange(300) < 30)
    dag[-1, -1] = False
    made = make_gaussian_network(
        1000, graph=dag, strengths=(0.4, 1.0), signs="random", random_state=0
    )
    model = search(made.data, score=BGe())
    assert (model.adjacency_[:, -1] >= dag[:, -1]).all()
    assert model.log_score_ > model.score_.dag_score(dag) - 1e-6


def test_what_is_dense():
    dense = np.triu(np.ones((12, 12), dtype=bool), 1)
    assert is_dense(dense, 10, 12)  # 5.5 parents of 10
    assert not is_dense(dense, 12, 12)
    assert is_dense(dense, 12, 11)  # the last one has 11
    assert not is_dense(graph(12, *((i, 11) for i in range(8))), 10, 12)


def test_parents_are_fewer_than_rows_would_explain(network):
    assert most_parents(pose(network.data)) == N - 1
    assert most_parents(pose(network.data[:230])) == 23
    weights = np.full(230, 0.5)
    assert most_parents(pose(network.data[:230], weights)) == 11


def test_steps_follow_each_other_while_they_pay(network):
    search = DenseSearch(pose(network.data), np.random.default_rng(0))
    calls = []

    def step(name, *results):
        results = list(results)

        def call(adjacency):
            calls.append((name, adjacency))
            return results.pop(0)

        return call

    search.steps = [step("a", None, 2, None), step("b", 1, 3, None)]
    assert search.improved(0) == 3
    assert calls == [("a", 0), ("b", 0), ("a", 1), ("b", 2), ("a", 3)]


# ------------------------------------------------------------------ memory of climbs


@pytest.mark.parametrize("score", [BGe(), GaussianBIC()])
def test_what_is_forgotten_is_scored_again(network, score):
    X = network.data
    problem = Problem(score.fit(X), X, None, None, resolve_constraints(N))
    free = FreeOrders(problem, N, np.random.default_rng(0))
    free.start()
    order, log_score, dag = (
        free.state.order,
        free.state.log_score,
        free.state.adjacency(),
    )
    n_sets = free.state.n_sets
    free.state.forget()
    assert_array_equal(free.state.order, order)
    assert_array_equal(free.state.adjacency(), dag)
    assert_allclose(free.state.log_score, log_score, rtol=1e-12)
    assert free.state.n_sets > n_sets
    assert not any(map(free.state.relocate, range(N)))


def test_forgetting_changes_nothing_that_is_found(network, monkeypatch):
    problem = pose(network.data)

    def climbed():
        free = FreeOrders(problem, N, np.random.default_rng(1))
        return free.start(
            random_order(np.random.default_rng(2), problem.constraints.required)
        )

    dag = climbed()
    monkeypatch.setattr(_free_orders, "MOST_KEPT", 100)
    assert_array_equal(climbed(), dag)


# ------------------------------------------------------------------ orders of sinks


def assert_best_first(order, correlations, worth, may_be_last):
    """Each is best by inverting the correlations of what is left each time."""
    left = list(range(N))
    for last in order:
        precision = np.linalg.inv(correlations[np.ix_(left, left)])
        worths = dict(zip(left, worth(precision, 1000), strict=True))
        highest = max(worths[node] for node in left if may_be_last(node, left))
        assert may_be_last(last, left)
        assert_allclose(worths[last], highest, rtol=1e-4)
        left.remove(last)
    assert not any(may_be_last(node, left) for node in left)


@pytest.mark.parametrize("worth", [fewest_neighbors, best_explained])
def test_orders_of_sinks(network, worth):
    correlations = np.corrcoef(network.data, rowvar=False)
    required, background = np.zeros((N, N), dtype=bool), np.zeros(N, dtype=bool)
    order = order_of_sinks(correlations, 1000, required, background, worth)
    assert_best_first(order, correlations, worth, lambda node, left: True)
    # what must be parents come later, and a background is in no order
    required[order[0], order[-1]] = required[order[3], order[7]] = True
    background[order[1]] = True
    order = order_of_sinks(correlations, 1000, required, background, worth)
    assert_best_first(
        order,
        correlations,
        worth,
        lambda node, left: not (required[node, left].any() or background[node]),
    )
    assert len(order) == N - 1


def test_the_last_of_a_dense_network_is_found():
    """Of many rows: all others have a child, so all are neighbors of each other."""
    rng = np.random.default_rng(0)
    dag = np.triu(rng.random((12, 12)) < 0.5, 1)
    dag[:-2, -2] = True
    dag[:, -1] = rng.random(12) < 0.4
    dag[-2, -1] = False
    X = make_gaussian_network(20_000, graph=dag, random_state=1).data
    correlations = np.corrcoef(X, rowvar=False)
    nothing = np.zeros((12, 12), dtype=bool)
    order = order_of_sinks(correlations, 20_000, nothing, nothing[0], fewest_neighbors)
    assert order[0] == 11


def test_constants_and_repeated_columns_do_no_harm(network):
    X = network.data.copy()
    X[:, 3], X[:, 5] = 1.0, X[:, 4]
    problem = Problem(None, X, None, None, None)
    correlations = _dense.correlations_of(problem)
    assert np.isfinite(correlations).all()
    nothing = np.zeros((N, N), dtype=bool)
    for worth in fewest_neighbors, best_explained:
        order = order_of_sinks(correlations, 1000, nothing, nothing[0], worth)
        assert sorted(order) == list(range(N))
