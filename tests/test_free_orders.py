"""Climbs over orders in which nodes choose their parents from all variables."""

import threading

import numpy as np
import pytest

from skbidag import IterativeSearchStructure
from skbidag._constraints import resolve_constraints
from skbidag._core._grow_shrink import GrowShrinkOrder
from skbidag._parallel import helped, run_threads
from skbidag._problem import Problem
from skbidag._search._free_orders import FreeOrders, is_affordable
from skbidag.datasets import make_discrete_network, make_gaussian_network
from skbidag.graphs import is_dag
from skbidag.scores import BDe, BGe, GaussianBIC

N = 9
N_PARENTS = 7
GAIN = 1e-7


@pytest.fixture(scope="module", params=["gaussian", "categorical"])
def score(request):
    if request.param == "gaussian":
        return BGe().fit(make_gaussian_network(100, N, random_state=1).data)
    return BDe().fit(make_discrete_network(150, N, random_state=1).data)


def constraints():
    forbidden, required = np.eye(N, dtype=bool), np.zeros((N, N), dtype=bool)
    forbidden[2, [3, 4]] = True
    required[5, 6] = True
    standing = np.arange(N) == 0
    forbidden[:, standing] = True
    return forbidden, required, standing


@pytest.mark.parametrize("gaussian", [BGe(), GaussianBIC()])
def test_gaussian_scores_are_fast_enough(gaussian):
    X = make_gaussian_network(100, N, random_state=1).data
    problem = Problem(gaussian.fit(X), X, None, None, resolve_constraints(N))
    assert is_affordable(problem)


def grown_and_shrunk(score, node, before, forbidden, required):
    """The naive twin: parents of a node, from those that stand before it."""
    parents = np.flatnonzero(required[:, node]).tolist()
    if not set(parents) <= set(before):
        return parents, -np.inf
    value = score.local_score(node, parents)
    while True:
        others = [j for j in before if not (forbidden[j, node] or j in parents)]
        trials = [(score.local_score(node, [*parents, j]), -j) for j in others]
        if not trials or max(trials)[0] <= value + GAIN:
            break
        value, parent = max(trials)
        parents = [*parents, -parent]
    while True:
        trials = [
            (score.local_score(node, [k for k in parents if k != j]), j)
            for j in parents
            if not required[j, node]
        ]
        if not trials or max(trials)[0] <= value + GAIN:
            return parents, value
        value, parent = max(trials)
        parents = [k for k in parents if k != parent]


def naive(score, order, forbidden, required, standing):
    """DAG and log score of an order, parents first."""
    graph, total = np.zeros((N, N), dtype=bool), 0.0
    before = np.flatnonzero(standing).tolist()
    for node in order:
        parents, value = grown_and_shrunk(score, node, before, forbidden, required)
        graph[parents, node] = True
        total += value
        before = [*before, int(node)]
    return graph, total


@pytest.mark.parametrize("seed", range(3))
def test_relocations_as_the_naive_twin_makes_them(score, seed):
    limits = constraints()
    main = np.flatnonzero(~limits[2])
    state = GrowShrinkOrder(score, *limits, N, GAIN)
    rng = np.random.default_rng(seed)
    order = rng.permutation(main[main != 6])
    order = np.append(order, 6)  # its required parent stands before it
    state.set_order(order)
    for node in rng.permutation(main):
        order = state.order
        rest = order[order != node]
        totals = [
            naive(score, np.insert(rest, place, node), *limits)[1]
            for place in range(len(rest) + 1)
        ]
        moved = state.relocate(node)
        assert state.log_score >= max(totals) - 1e-6
        assert moved == (not np.array_equal(state.order, order))
        graph, total = naive(score, state.order, *limits)
        np.testing.assert_array_equal(state.adjacency(), graph)
        np.testing.assert_allclose(state.log_score, total)
        assert is_dag(graph)


@pytest.mark.parametrize("seed", range(3))
def test_scores_with_parents_moved_are_those_of_the_orders(score, seed):
    limits = constraints()
    state = GrowShrinkOrder(score, *limits, N, GAIN)
    rng = np.random.default_rng(seed)
    order = rng.permutation(np.flatnonzero(~limits[2]))
    order = np.append(order[order != 6], 6)
    state.set_order(order)
    n_taken = 0
    for place in range(len(order) - 3):
        for _ in range(6):
            size = rng.integers(1, 4)
            moved = tuple(rng.choice(order[place + 1 :], size, replace=False).tolist())
            rest = order[place:][~np.isin(order[place:], moved)]
            trial = np.concatenate([order[:place], moved, rest]).astype(np.intp)
            graph, total = naive(score, trial, *limits)
            found = state.score_with_parents(order[place], moved)
            if graph[list(moved), order[place]].all():
                np.testing.assert_allclose(found, total)
                n_taken += np.isfinite(total)
            else:
                assert found == -np.inf
            np.testing.assert_array_equal(state.order, order)
    assert n_taken > 0


def test_no_more_parents_than_permitted(score):
    nothing = np.zeros((N, N), dtype=bool)
    state = GrowShrinkOrder(
        score, np.eye(N, dtype=bool), nothing, np.zeros(N, dtype=bool), 1, GAIN
    )
    state.set_order(np.arange(N))
    assert state.adjacency().sum(axis=0).max() == 1


def test_removal_scores(score):
    parents = [5, 1, 7, 2]
    expected = [
        score.local_score(0, [k for k in parents if k != parent]) for parent in parents
    ]
    np.testing.assert_allclose(score.removal_scores(0, parents), expected)


def test_removal_scores_of_many_and_nearly_dependent_parents():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 30)) @ rng.normal(size=(30, 30))
    X = np.column_stack([X, X[:, 0] + 1e-6 * rng.normal(size=200), X[:, 1]])
    for made in (BGe(), GaussianBIC()):
        score = made.fit(X)
        for parents in ([3], rng.permutation(29) + 1, rng.permutation(31) + 1):
            expected = [
                score.local_score(0, [k for k in parents if k != parent])
                for parent in parents
            ]
            found = score.removal_scores(0, parents)
            np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_looking_ahead_scores_what_a_sweep_asks_for(score):
    def state_at(order):
        state = GrowShrinkOrder(score, *constraints(), N, GAIN)
        state.set_order(order)
        return state

    nodes = np.flatnonzero(~constraints()[2])
    best = state_at(nodes)
    while sum(map(best.relocate, nodes)):
        pass
    ahead, plain = state_at(best.order), state_at(best.order)
    n_sets = ahead.n_sets
    run_threads(ahead.look_ahead, nodes, n_jobs=2)
    n_ahead = ahead.n_sets
    assert n_ahead > n_sets
    for state in (ahead, plain):
        assert not sum(map(state.relocate, nodes))
        assert state.n_sets == n_ahead
        assert state.log_score == best.log_score
        np.testing.assert_array_equal(state.adjacency(), best.adjacency())


def sparse_data(n_samples, n, seed):
    network = make_gaussian_network(
        n_samples, n, expected_parents=2.0, random_state=seed
    )
    return network.data


def path_of_sweeps(score, limits, n_jobs, seed=0):
    """Where sweeps lead from some orders, and how many sets were looked at."""
    state = GrowShrinkOrder(score, *limits, N_PARENTS, GAIN)
    rng = np.random.default_rng(seed)
    nodes = np.flatnonzero(~limits[2])
    path = []
    with helped(state, n_jobs):
        for _ in range(3):
            state.set_order(rng.permutation(nodes))
            moved = True
            while moved:
                moved = state.sweep(rng.permutation(nodes))
                path.append((moved, state.n_sets, state.log_score, *state.order))
    return path


@pytest.mark.parametrize("n_jobs", [2, 3, 5])
def test_a_sweep_goes_the_same_way_whoever_helps(score, n_jobs):
    alone = path_of_sweeps(score, constraints(), 1)
    assert path_of_sweeps(score, constraints(), n_jobs) == alone
    assert sum(moved for moved, *_ in alone) > 0


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_helpers_leave_no_trace_among_more_variables(seed):
    n = 60
    score = BGe().fit(sparse_data(300, n, seed))
    nothing = np.zeros((n, n), dtype=bool)
    limits = np.eye(n, dtype=bool), nothing, nothing[0]
    alone = path_of_sweeps(score, limits, 1, seed)
    for n_jobs in 2, 3, 5:
        assert path_of_sweeps(score, limits, n_jobs, seed) == alone


def test_a_sweep_relocates_in_turn(score):
    limits = constraints()
    states = [GrowShrinkOrder(score, *limits, N_PARENTS, GAIN) for _ in range(2)]
    nodes = np.flatnonzero(~limits[2])
    for state in states:
        state.set_order(nodes[::-1])
    assert states[0].sweep(nodes) == sum(map(states[1].relocate, nodes))
    np.testing.assert_array_equal(states[0].order, states[1].order)
    assert states[0].n_sets == states[1].n_sets


def test_edges_and_ancestors(score):
    limits = constraints()
    state = GrowShrinkOrder(score, *limits, N_PARENTS, GAIN)
    state.set_order(np.flatnonzero(~limits[2]))
    adjacency = state.adjacency()
    np.testing.assert_array_equal(np.sort(state.edges()), np.sort(adjacency.nonzero()))
    paths = np.linalg.matrix_power(np.eye(N) + adjacency, N) > 0
    for node in range(N):
        np.testing.assert_array_equal(state.ancestors(node), paths[:, node])


class Failing(BGe):
    """A score that fails after so many questions."""

    def addition_scores(self, node, parents):
        self.n_left_ = getattr(self, "n_left_", 60) - 1
        if self.n_left_ < 0:
            raise ArithmeticError("no more")
        return super().addition_scores(node, parents)


def test_an_error_of_a_score_reaches_who_sweeps():
    score = Failing().fit(make_gaussian_network(100, 12, random_state=1).data)
    nothing = np.zeros((12, 12), dtype=bool)
    limits = np.eye(12, dtype=bool), nothing, nothing[0]
    n_threads = threading.active_count()
    with pytest.raises(ArithmeticError, match="no more"):
        path_of_sweeps(score, limits, 3)
    assert threading.active_count() == n_threads


def test_helpers_go_home_when_the_block_is_left():
    score = BGe().fit(make_gaussian_network(100, 12, random_state=1).data)
    nothing = np.zeros((12, 12), dtype=bool)
    state = GrowShrinkOrder(
        score, np.eye(12, dtype=bool), nothing, nothing[0], N_PARENTS, GAIN
    )
    state.set_order(np.arange(12))
    n_threads = threading.active_count()

    def interrupted():
        with helped(state, 4):
            state.sweep(np.arange(12))
            assert threading.active_count() == n_threads + 3
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert threading.active_count() == n_threads
    with helped(state, 2):  # others may help later
        assert threading.active_count() == n_threads + 1
        state.sweep(np.arange(12))
    with helped(state, 1):
        assert threading.active_count() == n_threads


@pytest.mark.filterwarnings("ignore:.*permissible parents")
@pytest.mark.parametrize(
    "n", [40, pytest.param(270, marks=pytest.mark.slow)]
)  # beyond 256 variables threads look ahead of the first sweep as well
def test_a_search_does_not_depend_on_the_number_of_threads(n):
    def search(n_jobs):
        model = IterativeSearchStructure(n_draws=0, random_state=0, n_jobs=n_jobs)
        return model.fit(sparse_data(200, n, 3))

    alone = search(1)
    for n_jobs in 2, 3:
        other = search(n_jobs)
        assert other.log_score_ == alone.log_score_
        np.testing.assert_array_equal(other.adjacency_, alone.adjacency_)
        np.testing.assert_array_equal(other.search_space_, alone.search_space_)


def free_orders(seed=0):
    network = make_gaussian_network(400, 30, random_state=3)
    score = BGe().fit(network.data)
    problem = Problem(
        score, network.data, None, names=None, constraints=resolve_constraints(30)
    )
    return FreeOrders(problem, 14, np.random.default_rng(seed)), score


def test_a_kick_turns_an_edge():
    free, _ = free_orders()
    dag = free.start()
    order = free.state.order
    for _ in range(50):
        kicked = free.kicked()
        assert sorted(kicked) == sorted(order)
        place = np.argsort(kicked)
        assert (dag & (place[:, None] > place)).any()
    free.required = ~np.eye(30, dtype=bool)
    assert free.kicked() is None  # no edge may be turned


def test_improvements_are_better():
    free, score = free_orders()
    nothing = np.zeros((30, 30), dtype=bool)
    better = free.improve(nothing, score.dag_score(nothing))
    assert is_dag(better)
    assert score.dag_score(better) > score.dag_score(nothing)
    # what kicks have left to find, if anything, is better again
    again = free.improve(better, score.dag_score(better))
    assert again is None or score.dag_score(again) > score.dag_score(better)
