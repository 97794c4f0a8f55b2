"""PC: the compiled search against causal-learn, a naive twin, and degenerate data."""

import pickle
import subprocess
import sys
import warnings
from itertools import combinations
from math import comb

import numpy as np
import pandas as pd
import pytest
from joblib import Parallel, delayed
from scipy.stats import norm

from helpers import graph as edges
from skbidag import IterativeSearchStructure, OrderMCMCStructure, PCSkeleton, _pc
from skbidag._causal_learn import orient_quickly, to_causal_graph
from skbidag._core._pc import separate_discrete, separate_gaussian
from skbidag._parallel import run_threads
from skbidag._pc import pc_skeleton


def make_gaussian(n_features, n_samples, seed, n_parents=1.5):
    rng = np.random.default_rng(seed)
    edges = np.triu(rng.random((n_features, n_features)), 1)
    weights = (edges > 1 - 2 * n_parents / n_features) * rng.uniform(
        0.4, 2, edges.shape
    )
    X = np.zeros((n_samples, n_features))
    for j in range(n_features):
        X[:, j] = X @ weights[:, j] + rng.standard_normal(n_samples)
    return X[:, rng.permutation(n_features)]


def make_discrete(n_features, n_samples, seed, n_parents=1.5):
    rng = np.random.default_rng(seed)
    edges = np.triu(rng.random((n_features, n_features)), 1)
    parents = edges > 1 - 2 * n_parents / n_features
    n_levels = rng.integers(2, 5, n_features)
    X = np.zeros((n_samples, n_features), dtype=int)
    for j in range(n_features):
        signal = X @ (parents[:, j] * rng.uniform(0.5, 2, n_features))
        noisy = signal + rng.standard_normal(n_samples)
        cuts = np.quantile(noisy, np.arange(1, n_levels[j]) / n_levels[j])
        X[:, j] = np.searchsorted(cuts, noisy)
    return X[:, rng.permutation(n_features)]


def causal_learn_pc(X, alpha, test, **kwargs):
    from causallearn.search.ConstraintBased.PC import pc

    return pc(X, alpha, test, stable=True, show_progress=False, **kwargs)


def our_graph(X, alpha, test="fisherz", n_jobs=None):
    """What the compiled search finds, oriented, as causal-learn holds it."""
    X = X if test == "fisherz" else _pc._encode(X, test)
    none = np.zeros((X.shape[1], X.shape[1]), dtype=bool)
    skeleton, separators, *_ = _pc.compiled_search(
        _pc._COMPILED[test](X, None, alpha), none, none, n_jobs=n_jobs, collect=True
    )
    return orient_quickly(to_causal_graph(skeleton, separators), none, none)


def to_directed(graph):
    ends = graph.G.graph
    return (ends != 0) & ~((ends == 1) & (ends.T == -1))


def separating_sets(graph):
    n = len(graph.G.graph)
    return {
        (x, y): {z for found in graph.sepset[x, y] for z in found}
        for x in range(n)
        for y in range(n)
        if graph.sepset[x, y] is not None
    }


GAUSSIAN = [
    (n, size, alpha)
    for n, alpha in [(4, 0.05), (6, 0.4), (8, 0.2), (10, 0.1), (12, 0.01), (15, 0.001)]
    for size in [20, 25, 40, 80, 200, 500, 1000, 2000]
]


@pytest.mark.parametrize(("n_features", "n_samples", "alpha"), GAUSSIAN)
def test_gaussian_as_causal_learn(n_features, n_samples, alpha):
    # Skeleton, separating sets and orientation, on one data set each.
    X = make_gaussian(n_features, n_samples, seed=n_features * n_samples)
    expected = causal_learn_pc(X, alpha, "fisherz")
    result = pc_skeleton(X, alpha=alpha, orient=True)
    np.testing.assert_array_equal(result.skeleton, expected.G.graph != 0)
    np.testing.assert_array_equal(pc_skeleton(X, alpha=alpha).skeleton, result.skeleton)
    np.testing.assert_array_equal(result.directed, to_directed(expected))
    graph = our_graph(X, alpha)
    assert separating_sets(graph) == separating_sets(expected)
    np.testing.assert_array_equal(graph.G.graph, expected.G.graph)
    np.testing.assert_array_equal(graph.G.dpath, expected.G.dpath)


DISCRETE = [
    (n, size, alpha)
    for n, alpha in [(5, 0.3), (6, 0.05), (8, 0.01), (9, 0.001)]
    for size in [20, 50, 200, 1000]
]


@pytest.mark.parametrize("test", ["chisq", "gsq"])
@pytest.mark.parametrize(("n_features", "n_samples", "alpha"), DISCRETE)
def test_discrete_as_causal_learn(n_features, n_samples, alpha, test):
    X = make_discrete(n_features, n_samples, seed=n_features * n_samples)
    expected = causal_learn_pc(X, alpha, test)
    result = pc_skeleton(X, alpha=alpha, test=test, orient=True)
    np.testing.assert_array_equal(result.skeleton, expected.G.graph != 0)
    np.testing.assert_array_equal(
        pc_skeleton(X, alpha=alpha, test=test).skeleton, result.skeleton
    )
    assert separating_sets(our_graph(X, alpha, test)) == separating_sets(expected)
    np.testing.assert_array_equal(result.directed, to_directed(expected))


def test_without_acceleration_is_causal_learn():
    X = make_gaussian(7, 100, seed=3)
    expected = causal_learn_pc(X, 0.1, "fisherz")
    result = pc_skeleton(X, alpha=0.1, accelerate=False, orient=True)
    np.testing.assert_array_equal(result.skeleton, expected.G.graph != 0)
    np.testing.assert_array_equal(result.directed, to_directed(expected))
    assert result.n_tests[0] == 7 * 6


@pytest.mark.parametrize("max_conditioning", [0, 1, 2])
def test_max_conditioning(max_conditioning):
    X = make_gaussian(9, 300, seed=4, n_parents=3)
    result = pc_skeleton(X, alpha=0.05, max_conditioning=max_conditioning)
    expected = causal_learn_pc(X, 0.05, "fisherz", max_k=max_conditioning)
    np.testing.assert_array_equal(result.skeleton, expected.G.graph != 0)
    assert len(result.n_tests) == max_conditioning + 1


# The kernels against naive twins ---------------------------------------------


def naive_gaussian(correlation, n_samples, x, neighbors, depth, alpha):
    separators = np.zeros((len(neighbors), len(neighbors)), dtype=bool)
    separated = np.zeros(len(neighbors), dtype=bool)
    n_tests = 0
    for y in range(len(neighbors)):
        others = [z for z in range(len(neighbors)) if z != y]
        for chosen in combinations(others, depth):
            variables = [x, neighbors[y], *neighbors[list(chosen)]]
            inverse = np.linalg.inv(correlation[np.ix_(variables, variables)])
            r = -inverse[0, 1] / np.sqrt(inverse[0, 0] * inverse[1, 1])
            z = np.arctanh(r) * np.sqrt(n_samples - depth - 3)
            n_tests += 1
            if 2 * norm.sf(abs(z)) > alpha:
                separated[y] = True
                separators[y, list(chosen)] = True
    return separated, separators, n_tests


@pytest.mark.parametrize("depth", [1, 2, 3, 4, 6])
@pytest.mark.parametrize("seed", range(4))
def test_gaussian_kernel_against_naive_twin(depth, seed):
    X = make_gaussian(9, 60, seed=seed, n_parents=3)
    correlation = np.corrcoef(X.T)
    neighbors = np.array([0, 1, 2, 4, 5, 7, 8])
    alpha = 0.05 + 0.1 * seed
    critical = np.tanh(norm.isf(alpha / 2) / np.sqrt(60 - depth - 3))
    wanted = np.ones(7, dtype=bool)
    args = correlation, 3, neighbors, wanted, depth, critical, 1e-12
    expected = naive_gaussian(correlation, 60, 3, neighbors, depth, alpha)
    found = separate_gaussian(*args, True)
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(found[1], expected[1])
    assert found[2] == expected[2]
    # Stopping early finds the same, and makes fewer tests if it finds any.
    separated, separators, n_tests = separate_gaussian(*args, False)
    np.testing.assert_array_equal(separated, expected[0])
    assert separators is None
    assert n_tests <= expected[2]


@pytest.mark.parametrize("collect", [False, True])
def test_kernels_test_only_what_is_wanted(collect):
    X = np.random.default_rng(0).standard_normal((50, 6))
    neighbors = np.arange(1, 6)
    wanted = np.array([True, False, True, False, False])
    gaussian = separate_gaussian(
        np.corrcoef(X.T), 0, neighbors, wanted, 1, 0.9, 1e-12, collect
    )
    codes = np.ascontiguousarray((X.T > 0).astype(np.intc))
    discrete = separate_discrete(
        codes,
        np.full(6, 2, dtype=np.intc),
        np.ones(50),
        0,
        neighbors,
        wanted,
        1,
        np.full(20, 1e3),
        False,
        collect,
    )
    for separated, _, n_tests in (gaussian, discrete):
        np.testing.assert_array_equal(separated, wanted)
        # Given each of the others; or until separated, which the first set does.
        assert n_tests == (8 if collect else 2)


def test_partial_correlations_of_nearly_singular_data():
    # x2 is x0 + x1 up to a thousandth: still tested, and correctly.
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 4))
    X[:, 2] = X[:, 0] + X[:, 1] + 1e-3 * rng.standard_normal(500)
    X[:, 3] += X[:, 2]
    for alpha in (0.01, 0.2):
        expected = causal_learn_pc(X, alpha, "fisherz")
        result = pc_skeleton(X, alpha=alpha)
        np.testing.assert_array_equal(result.skeleton, expected.G.graph != 0)


# Weights and threads ---------------------------------------------------------


@pytest.mark.parametrize("test", ["fisherz", "chisq", "gsq", "mv_fisherz"])
def test_weights_are_repeated_rows(test):
    make = make_discrete if test in ("chisq", "gsq") else make_gaussian
    X = make(7, 120, seed=1)
    weight = np.random.default_rng(0).integers(0, 4, 120)
    weighted = pc_skeleton(X, alpha=0.1, test=test, sample_weight=weight, orient=True)
    repeated = pc_skeleton(np.repeat(X, weight, axis=0), alpha=0.1, test=test)
    np.testing.assert_array_equal(weighted.skeleton, repeated.skeleton)
    ones = pc_skeleton(X, alpha=0.1, test=test, sample_weight=np.ones(120))
    plain = pc_skeleton(X, alpha=0.1, test=test)
    np.testing.assert_array_equal(ones.skeleton, plain.skeleton)


@pytest.mark.parametrize("test", ["fisherz", "chisq", "gsq"])
def test_fractional_weights(test):
    make = make_gaussian if test == "fisherz" else make_discrete
    X = make(7, 200, seed=5)
    # Half the weight on each of two copies of the data is the data.
    halves = pc_skeleton(
        np.vstack([X, X]), alpha=0.1, test=test, sample_weight=np.full(400, 0.5)
    )
    np.testing.assert_array_equal(
        halves.skeleton, pc_skeleton(X, alpha=0.1, test=test).skeleton
    )


@pytest.mark.parametrize("test", ["fisherz", "gsq"])
@pytest.mark.parametrize("orient", [False, True])
def test_threads_do_not_change_the_result(test, orient, monkeypatch):
    monkeypatch.setattr(_pc, "_WORTH_THREADS", -1)
    make = make_gaussian if test == "fisherz" else make_discrete
    X = make(12, 300, seed=6, n_parents=2)
    one, two, three = (
        pc_skeleton(X, alpha=0.2, test=test, n_jobs=n_jobs, orient=orient)
        for n_jobs in (1, 2, 3)
    )
    for other in (two, three):
        np.testing.assert_array_equal(one.skeleton, other.skeleton)
        np.testing.assert_array_equal(one.directed, other.directed)
        assert one.n_tests == other.n_tests
    one, two, three = (
        separating_sets(our_graph(X, 0.2, test, n_jobs)) for n_jobs in (1, 2, 3)
    )
    assert one == two == three


@pytest.mark.parametrize("n_items", [0, 1, 2, 7, 100])
@pytest.mark.parametrize("n_jobs", [None, 1, 2])
def test_run_threads_keeps_the_order(n_items, n_jobs):
    items = list(range(n_items))
    assert run_threads(lambda i: i * i, items, n_jobs) == [i * i for i in items]


# Hubs ------------------------------------------------------------------------

TESTS = {"fisherz": _pc._FisherZ, "gsq": _pc._Contingency}


def make_hub(n_children, n_samples, seed, n_levels=None):
    """Data of a node, column 3, with three parents and many children."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_samples, n_children + 4))
    X[:, 3] += X[:, :3] @ rng.uniform(0.4, 0.8, 3)
    X[:, 4:] += X[:, [3]] * rng.uniform(0.4, 0.8, n_children)
    if n_levels is None:
        return X
    cuts = np.quantile(X, np.arange(1, n_levels) / n_levels, axis=0)
    return (X[None] > cuts[:, None]).sum(axis=0, dtype=np.intc)


def naive_search(independent, n, most_tests):
    """PC-stable, but who would need too many tests does not search a depth."""
    adjacent = ~np.eye(n, dtype=bool)
    undecided = np.zeros((n, n), dtype=bool)
    n_tests, separators = [], {}
    for depth in range(n):
        removed = np.zeros((n, n), dtype=bool)
        n_tests.append(0)
        for x in range(n):
            neighbors = np.flatnonzero(adjacent[x]).tolist()
            if len(neighbors) <= depth:
                continue
            others = len(neighbors) - 1
            needed = max(comb(others, smaller) for smaller in range(depth + 1))
            if needed * len(neighbors) > most_tests:
                undecided[x, neighbors] = True
                continue
            for y in neighbors:
                if depth == 0 and y < x:
                    continue
                for chosen in combinations([z for z in neighbors if z != y], depth):
                    n_tests[-1] += 1
                    if independent(x, y, chosen):
                        removed[x, y] = True
                        pair = min(x, y), max(x, y)
                        separators.setdefault(pair, set()).update(chosen)
        adjacent &= ~(removed | removed.T)
    while n_tests and not n_tests[-1]:
        n_tests.pop()
    return adjacent, (undecided | undecided.T) & adjacent, n_tests, separators


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize("most_tests", [30, 200, 1000, np.inf])
@pytest.mark.parametrize("seed", range(3))
def test_bounded_search_against_naive_twin(test, most_tests, seed, monkeypatch):
    from causallearn.utils.cit import CIT

    monkeypatch.setattr(TESTS[test], "most_tests", most_tests)
    X = make_hub(6, 300, seed, n_levels=None if test == "fisherz" else 2)
    p_value = CIT(X, test)
    adjacent, undecided, n_tests, expected = naive_search(
        lambda x, y, chosen: p_value(x, y, chosen) > 0.1, X.shape[1], most_tests
    )
    none = np.zeros_like(adjacent)
    found = _pc.compiled_search(
        _pc._COMPILED[test](X, None, 0.1), none, none, collect=True
    )
    np.testing.assert_array_equal(found[0], adjacent)
    separators = {pair: set().union(*sets) for pair, sets in found[1].items()}
    assert separators == expected
    assert found[2] == n_tests
    np.testing.assert_array_equal(found[3], undecided)
    # Also where a separated edge is not tested again.
    result = pc_skeleton(X, alpha=0.1, test=test)
    np.testing.assert_array_equal(result.skeleton, adjacent)
    np.testing.assert_array_equal(result.undecided, undecided)
    if most_tests in (30, np.inf):
        assert undecided.any() == (most_tests == 30)


@pytest.mark.parametrize("orient", [False, True])
@pytest.mark.parametrize("test", TESTS)
def test_hubs_end(test, orient):
    X = make_hub(40, 1000, seed=0, n_levels=None if test == "fisherz" else 3)
    result = pc_skeleton(X, alpha=0.01, test=test, orient=orient)
    # The hub alone would need 1e13 tests.
    assert sum(result.n_tests) < 2 * TESTS[test].most_tests
    assert result.skeleton[3].sum() >= 38
    np.testing.assert_array_equal(result.undecided[3], result.skeleton[3])
    # What the others have among each other is decided.
    assert not np.delete(np.delete(result.undecided, 3, 0), 3, 1).any()


@pytest.mark.parametrize(("test", "n_neighbors"), [("fisherz", 23), ("gsq", 17)])
def test_bound_in_neighbors(test, n_neighbors):
    # As documented: the costliest depth of so many neighbors is within the bound.
    costs = n_neighbors + np.arange(2)
    costs = costs * [comb(cost - 1, (cost - 1) // 2) for cost in costs]
    within = costs <= TESTS[test].most_tests
    assert within.tolist() == [True, False]


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize("n_features", [20, 50])
def test_no_bound_where_no_hub_is(test, n_features, monkeypatch):
    make = make_gaussian if test == "fisherz" else make_discrete
    X = make(n_features, 10 * n_features, seed=n_features, n_parents=2)
    bounded = pc_skeleton(X, alpha=0.1, test=test, orient=True)
    monkeypatch.setattr(TESTS[test], "most_tests", np.inf)
    free = pc_skeleton(X, alpha=0.1, test=test, orient=True)
    np.testing.assert_array_equal(bounded.skeleton, free.skeleton)
    np.testing.assert_array_equal(bounded.directed, free.directed)
    assert bounded.n_tests == free.n_tests
    assert not bounded.undecided.any()


@pytest.mark.parametrize("test", TESTS)
def test_bound_knows_no_order_of_columns_and_no_threads(test, monkeypatch):
    monkeypatch.setattr(TESTS[test], "most_tests", 500)
    monkeypatch.setattr(_pc, "_WORTH_THREADS", -1)
    X = make_hub(10, 300, seed=1, n_levels=None if test == "fisherz" else 3)
    expected = pc_skeleton(X, alpha=0.2, test=test)
    assert expected.undecided.any()
    order = np.random.default_rng(0).permutation(X.shape[1])
    for n_jobs in (1, 2):
        result = pc_skeleton(X[:, order], alpha=0.2, test=test, n_jobs=n_jobs)
        for name in ("skeleton", "undecided"):
            np.testing.assert_array_equal(
                getattr(result, name), getattr(expected, name)[np.ix_(order, order)]
            )


def test_what_is_not_tested_is_not_undecided():
    X = make_hub(40, 400, seed=0)
    shallow = pc_skeleton(X, alpha=0.1, max_conditioning=2)
    assert not shallow.undecided.any()
    required = edges(44, (3, 4), (3, 5))
    result = pc_skeleton(X, alpha=0.1, required=required)
    assert result.undecided[3, 6]
    assert not result.undecided[required].any()


def test_undecided_edges_are_permitted_and_told():
    X = pd.DataFrame(make_hub(40, 400, seed=0)).rename(columns=lambda j: f"x{j}")
    pc = PCSkeleton(alpha=0.1)
    with pytest.warns(
        UserWarning, match="41 edges undecided.* 'x3' has so many"
    ) as told:
        pc.fit(X)
    assert len(told) == 1
    assert told[0].filename == __file__
    assert pc.undecided_.sum() == 82
    assert pc.search_space_[pc.undecided_].all()
    # Here no node has so many neighbors, and filters make warnings errors.
    assert not pc.fit(X.iloc[:, :10]).undecided_.any()


def test_a_search_says_nothing_of_undecided_edges():
    X = make_hub(30, 300, seed=0)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        IterativeSearchStructure(n_draws=0, random_state=0).fit(X)
    # The hub's set is cut down by the score, which is told.
    assert ["permissible" in str(warning.message) for warning in told] == [True]


# Constraints -----------------------------------------------------------------


def to_knowledge(forbidden):
    from causallearn.graph.GraphNode import GraphNode
    from causallearn.utils.PCUtils.BackgroundKnowledge import BackgroundKnowledge

    knowledge = BackgroundKnowledge()
    for i, j in np.argwhere(forbidden):
        knowledge.add_forbidden_by_node(GraphNode(f"X{i + 1}"), GraphNode(f"X{j + 1}"))
    return knowledge


@pytest.mark.parametrize("accelerate", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_forbidden_as_causal_learn(seed, accelerate):
    X = make_gaussian(7, 150, seed=seed, n_parents=2)
    rng = np.random.default_rng(seed)
    forbidden = rng.random((7, 7)) < 0.3
    np.fill_diagonal(forbidden, False)
    expected = causal_learn_pc(
        X, 0.1, "fisherz", background_knowledge=to_knowledge(forbidden)
    )
    result = pc_skeleton(
        X, alpha=0.1, forbidden=forbidden, orient=True, accelerate=accelerate
    )
    np.testing.assert_array_equal(result.skeleton, expected.G.graph != 0)
    np.testing.assert_array_equal(result.directed, to_directed(expected))
    assert not result.skeleton[forbidden & forbidden.T].any()
    assert not result.directed[forbidden].any()


def test_a_pair_banned_both_ways_is_not_tested():
    X = make_gaussian(5, 100, seed=0)
    full = pc_skeleton(X, alpha=0.1)
    result = pc_skeleton(X, alpha=0.1, forbidden=edges(5, (0, 1), (1, 0), (2, 3)))
    assert result.n_tests[0] == full.n_tests[0] - 1


@pytest.mark.parametrize("accelerate", [True, False])
def test_required_edges_stay(accelerate):
    X = np.random.default_rng(0).standard_normal((200, 5))
    required = edges(5, (3, 0), (1, 2))
    result = pc_skeleton(
        X, alpha=0.001, required=required, orient=True, accelerate=accelerate
    )
    np.testing.assert_array_equal(result.skeleton, required | required.T)
    np.testing.assert_array_equal(result.directed, required)


def test_required_edges_are_neighbors_to_condition_on():
    # Both ways through the search agree when required edges enter neighborhoods.
    X = make_gaussian(8, 100, seed=2)
    required = edges(8, (0, 5), (6, 2), (7, 1))
    ours, theirs = (
        pc_skeleton(X, alpha=0.1, required=required, orient=True, accelerate=accelerate)
        for accelerate in (True, False)
    )
    np.testing.assert_array_equal(ours.skeleton, theirs.skeleton)
    np.testing.assert_array_equal(ours.directed, theirs.directed)
    assert ours.directed[required].all()
    assert not ours.directed.T[required].any()


# Degenerate data -------------------------------------------------------------


@pytest.mark.parametrize("value", [0.0, 0.1, 1e9])
def test_constant_column_is_independent(value):
    X = make_gaussian(6, 100, seed=1)
    expected = pc_skeleton(X, alpha=0.1)
    X = np.insert(X, 2, value, axis=1)
    result = pc_skeleton(X, alpha=0.1, orient=True)
    assert not result.skeleton[2].any()
    rest = np.delete(np.delete(result.skeleton, 2, 0), 2, 1)
    np.testing.assert_array_equal(rest, expected.skeleton)


@pytest.mark.parametrize("test", ["chisq", "gsq"])
def test_constant_discrete_column(test):
    X = make_discrete(5, 200, seed=1)
    X[:, 3] = 7
    result = pc_skeleton(X, alpha=0.1, test=test)
    assert not result.skeleton[3].any()
    expected = causal_learn_pc(X, 0.1, test)
    np.testing.assert_array_equal(result.skeleton, expected.G.graph != 0)


def test_duplicated_columns_stay_connected():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 4))
    X[:, 1] += X[:, 0]
    X[:, 2] += X[:, 1]
    X = np.column_stack([X, 3 - 2 * X[:, 1]])
    result = pc_skeleton(X, alpha=0.01, orient=True)
    expected = edges(5, (0, 1), (1, 2), (1, 4), (0, 4), (2, 4))
    # Given one duplicate, 0 and 2 are independent, as they are without the other.
    np.testing.assert_array_equal(result.skeleton, expected | expected.T)


@pytest.mark.parametrize("seed", range(15))
def test_a_determined_variable_keeps_its_edges(seed):
    # Column 3 is a sum of the first three: given these, nothing can be said of it.
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((2000, 5))
    X[:, 3] = X[:, :3] @ rng.uniform(0.7, 1.5, 3)
    X[:, 4] += 0.5 * X[:, 3]
    result = pc_skeleton(X, alpha=1e-3, orient=True)
    assert result.skeleton[3, [0, 1, 2, 4]].all()
    # Duplicates have the same neighbors, and each other.
    X = np.column_stack([X, -X[:, 3] / 7])
    result = pc_skeleton(X, alpha=1e-3, orient=True)
    assert result.skeleton[3, 5]
    assert result.skeleton[3, 4]
    np.testing.assert_array_equal(result.skeleton[3, :3], result.skeleton[5, :3])


@pytest.mark.parametrize("n_samples", [1, 2, 3, 4, 5, 8])
def test_few_rows(n_samples):
    X = np.random.default_rng(0).standard_normal((n_samples, 10))
    result = pc_skeleton(X, alpha=0.3, orient=True)
    assert len(result.n_tests) <= max(n_samples - 3, 0)
    if 2 <= n_samples <= 3:
        # No test has degrees of freedom, so nothing goes.
        np.testing.assert_array_equal(result.skeleton, ~np.eye(10, dtype=bool))


@pytest.mark.parametrize("n_samples", [1, 2, 3, 8])
@pytest.mark.parametrize("test", ["chisq", "gsq"])
def test_few_discrete_rows(n_samples, test):
    X = make_discrete(6, 100, seed=0)[:n_samples]
    ours, theirs = (
        pc_skeleton(X, alpha=0.3, test=test, accelerate=accelerate)
        for accelerate in (True, False)
    )
    np.testing.assert_array_equal(ours.skeleton, theirs.skeleton)


def test_extreme_scales():
    X = make_gaussian(5, 100, seed=1)
    scaled = X * np.array([1e-200, 1e200, 1.0, 1e-5, 1e150])
    np.testing.assert_array_equal(
        pc_skeleton(scaled, alpha=0.1).skeleton, pc_skeleton(X, alpha=0.1).skeleton
    )


@pytest.mark.parametrize("n_features", [0, 1, 2])
@pytest.mark.parametrize("test", ["fisherz", "gsq"])
def test_few_columns(n_features, test):
    X = make_discrete(2, 50, seed=0)[:, :n_features]
    result = pc_skeleton(X, alpha=0.1, test=test)
    assert result.skeleton.shape == (n_features, n_features)


def test_levels_can_be_anything():
    X = make_discrete(5, 300, seed=2)
    names = np.array(["low", "mid", "high", "top"])[X]
    expected = pc_skeleton(X, alpha=0.1, test="gsq").skeleton
    for same in (names, names.astype(object), X * 1.5 - 3):
        result = pc_skeleton(same, alpha=0.1, test="gsq")
        np.testing.assert_array_equal(result.skeleton, expected)


def test_many_levels():
    rng = np.random.default_rng(0)
    X = rng.integers(0, [2, 30, 5, 12, 2], (400, 5))
    X[:, 3] = (X[:, 1] + X[:, 3]) % 12
    for test in ("chisq", "gsq"):
        expected = causal_learn_pc(X, 0.05, test)
        result = pc_skeleton(X, alpha=0.05, test=test)
        np.testing.assert_array_equal(result.skeleton, expected.G.graph != 0)


@pytest.mark.parametrize("test", ["chisq", "gsq"])
@pytest.mark.parametrize("as_objects", [False, True])
def test_categorical_tests_refuse_continuous_columns(test, as_objects):
    X = make_gaussian(3, 100, seed=0)
    X[:, 0] = np.round(X[:, 0])
    X = X.astype(object) if as_objects else X
    with pytest.raises(ValueError, match="column 1 of X holds 100 different numbers"):
        pc_skeleton(X, alpha=0.1, test=test)
    frame = pd.DataFrame(np.array(X, dtype=float), columns=list("abc"))
    with pytest.raises(ValueError, match=f"test='{test}' is for categories.*'b'"):
        PCSkeleton(test=test).fit(frame)


# causal-learn's own graph ----------------------------------------------------


def sets_of(graph):
    """Union of the separating sets of each pair, None of pairs without."""
    return [
        None if sets is None else frozenset().union(*map(frozenset, flat(sets)))
        for sets in graph.sepset.ravel()
    ]


def flat(sets):
    return [s if isinstance(s, tuple) else (s,) for s in sets]


@pytest.mark.parametrize("orient", [False, True])
@pytest.mark.parametrize("accelerate", [False, True])
@pytest.mark.parametrize("test", ["fisherz", "gsq", "mv_fisherz"])
def test_causal_graph_is_that_of_causal_learn(test, accelerate, orient):
    make = make_discrete if test == "gsq" else make_gaussian
    X = make(8, 300, seed=4)
    pc = PCSkeleton(alpha=0.1, test=test, accelerate=accelerate, orient=orient).fit(X)
    ours, theirs = pc.causal_graph_, causal_learn_pc(X, 0.1, test)
    assert type(ours) is type(theirs)
    assert type(ours.G) is type(theirs.G)
    np.testing.assert_array_equal(ours.G.graph, theirs.G.graph)
    np.testing.assert_array_equal(ours.G.dpath, theirs.G.dpath)
    assert ours.G.get_node_names() == theirs.G.get_node_names()
    assert sets_of(ours) == sets_of(theirs)
    assert ours.find_fully_directed() == theirs.find_fully_directed()
    assert pc.causal_graph_ is ours


def test_causal_graph_has_names_and_constraints():
    X = pd.DataFrame(make_gaussian(6, 200, seed=2), columns=list("abcdef"))
    pc = PCSkeleton(required_edges=[("a", "b")], forbidden_edges=[("c", "d")]).fit(X)
    graph = pc.causal_graph_
    assert graph.G.get_node_names() == list("abcdef")
    np.testing.assert_array_equal(
        (graph.G.graph != 0), pc.search_space_ | pc.search_space_.T
    )
    assert (0, 1) in graph.find_fully_directed()
    # another fit, another graph; and a fitted one can be stored
    copy = pickle.loads(pickle.dumps(PCSkeleton().fit(X)))
    np.testing.assert_array_equal(
        copy.causal_graph_.G.graph, PCSkeleton().fit(X).causal_graph_.G.graph
    )
    assert pc.fit(X[["a", "b", "c", "d"]]).causal_graph_.G.get_num_nodes() == 4


# The rest of the interface ---------------------------------------------------


@pytest.mark.parametrize("orient", [False, True])
def test_result_can_be_pickled(orient):
    result = pc_skeleton(make_gaussian(6, 100, seed=1), alpha=0.1, orient=orient)
    copy = pickle.loads(pickle.dumps(result))
    np.testing.assert_array_equal(copy.directed, result.directed)


def test_other_tests_run_in_causal_learn():
    X = make_gaussian(5, 200, seed=8)
    expected = pc_skeleton(X, alpha=0.05).skeleton
    for accelerate in (True, False):
        result = pc_skeleton(
            X, alpha=0.05, test="mv_fisherz", accelerate=accelerate, orient=True
        )
        np.testing.assert_array_equal(result.skeleton, expected)
    X[::7, 2] = np.nan
    assert pc_skeleton(X, alpha=0.05, test="mv_fisherz").skeleton.any()


@pytest.mark.slow
def test_skeleton_needs_no_causal_learn():
    code = (
        "import sys, numpy as np; from skbidag._pc import pc_skeleton;"
        "X = np.random.default_rng(0).standard_normal((50, 4));"
        "pc_skeleton(X, alpha=0.1); pc_skeleton(X > 0, alpha=0.1, test='gsq');"
        "sys.exit('causallearn' in sys.modules)"
    )
    # -P: not the sources in the current folder, which hold no compiled kernels
    subprocess.run([sys.executable, "-P", "-c", code], check=True)


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"test": "nonsense"}, "test='nonsense' is not one of"),
        ({"test": "mc_fisherz"}, "use 'mv_fisherz'"),
        ({"test": "d_separation"}, "needs the true graph"),
        ({"alpha": 0}, "alpha must be between 0 and 1"),
        ({"alpha": 1.5}, "alpha must be between 0 and 1"),
        ({"max_conditioning": -1}, "max_conditioning"),
        ({"forbidden": np.zeros((2, 2))}, "forbidden must have shape"),
        ({"required": np.zeros(3)}, "required must have shape"),
        (
            {"required": edges(3, (0, 1)), "forbidden": edges(3, (0, 1))},
            "required and forbidden: 0 -> 1",
        ),
        ({"required": edges(3, (0, 1), (1, 0))}, "in both directions: 0 -> 1, 1 -> 0"),
        ({"sample_weight": np.ones(3)}, "sample_weight must have shape"),
        ({"sample_weight": -np.ones(20)}, "not negative"),
        ({"sample_weight": np.zeros(20)}, "zero for every row"),
        ({"sample_weight": np.full(20, 0.5), "accelerate": False}, "whole numbers"),
    ],
)
def test_bad_parameters(kwargs, message):
    X = make_gaussian(3, 20, seed=0)
    with pytest.raises(ValueError, match=message):
        pc_skeleton(X, **{"alpha": 0.1, **kwargs})


@pytest.mark.parametrize("test", ["fisherz", "chisq"])
def test_missing_values_name_the_column(test):
    X = make_gaussian(3, 20, seed=0).round()
    X[4, 1] = np.nan
    with pytest.raises(ValueError, match="Column 1 of X has missing"):
        pc_skeleton(X, alpha=0.1, test=test)
    with pytest.raises(ValueError, match="two dimensions"):
        pc_skeleton(X[0], alpha=0.1)


# Randomized tests ------------------------------------------------------------


@pytest.fixture(scope="module")
def chance():
    """A test that rolls dice, some of them in processes, as causal-learn's own do."""
    from causallearn.utils import cit

    def roll():
        return np.random.random()  # noqa: NPY002

    class Chance(cit.CIT_Base):
        method = "chance"

        def __call__(self, x, y, conditioning=None):
            return roll() * Parallel(n_jobs=2)(delayed(roll)() for _ in range(2))[0]

    cit.register_ci_test("chance", Chance)
    yield "chance"
    del cit._custom_ci_tests["chance"]


def edges_of(test, random_state, X):
    pc = PCSkeleton(alpha=0.2, test=test, random_state=random_state, max_conditioning=1)
    return pc.fit(X).search_space_.tolist()


def test_random_state_decides_alone(chance):
    X = make_gaussian(5, 20, seed=0)
    state = np.random.get_state()  # noqa: NPY002
    found = [edges_of(chance, seed, X) for seed in range(5)]
    np.testing.assert_equal(np.random.get_state(), state)  # noqa: NPY002
    np.random.seed(1)  # noqa: NPY002
    assert [edges_of(chance, seed, X) for seed in range(5)] == found
    np.random.set_state(state)  # noqa: NPY002
    assert any(other != found[0] for other in found)


def test_random_state_may_be_a_generator(chance):
    X = make_gaussian(5, 20, seed=0)
    one, two = np.random.RandomState(3), np.random.RandomState(3)
    first = [edges_of(chance, one, X) for _ in range(5)]
    assert [edges_of(chance, two, X) for _ in range(5)] == first
    assert any(other != first[0] for other in first)


def test_random_state_decides_in_threads(chance):
    X = make_gaussian(5, 20, seed=0)
    expected = [edges_of(chance, seed, X) for seed in range(6)]
    found = run_threads(lambda seed: edges_of(chance, seed, X), list(range(6)), 3)
    assert found == expected


@pytest.mark.parametrize("test", ["rcit", "kci"])
def test_randomized_tests_of_causal_learn(test):
    # ten pairs whose p-values scatter around alpha
    X = np.random.default_rng(0).standard_normal((40, 5))
    settings = {"alpha": 0.3, "test": test, "max_conditioning": 0}
    first, second = (
        PCSkeleton(random_state=0, **settings).fit(X).search_space_ for _ in range(2)
    )
    np.testing.assert_array_equal(first, second)


def test_global_state_comes_back_after_an_error():
    state = np.random.get_state()  # noqa: NPY002
    with pytest.raises(ValueError, match="is not one of"):
        edges_of("nonsense", 0, make_gaussian(3, 20, seed=0))
    np.testing.assert_equal(np.random.get_state(), state)  # noqa: NPY002


# Constraints of the estimator ------------------------------------------------


@pytest.mark.parametrize("orient", [False, True])
def test_constraints_by_name_index_and_array(orient):
    X = make_gaussian(5, 200, seed=3, n_parents=2)
    names = list("abcde")
    frame = pd.DataFrame(X, columns=names)
    by_name = PCSkeleton(
        orient=orient,
        forbidden_edges=[("a", "b"), ("b", "a"), ("c", "d")],
        required_edges=[("e", "a")],
    ).fit(frame)
    forbidden, required = edges(5, (0, 1), (1, 0), (2, 3)), edges(5, (4, 0))
    by_array = PCSkeleton(
        orient=orient, forbidden_edges=forbidden, required_edges=required
    ).fit(X)
    expected = pc_skeleton(
        X, alpha=0.4, forbidden=forbidden, required=required, orient=orient
    )
    expected = expected.directed if orient else expected.skeleton & ~forbidden
    np.testing.assert_array_equal(by_name.search_space_, expected)
    np.testing.assert_array_equal(by_array.search_space_, expected)
    assert by_name.search_space_[4, 0]
    assert not by_name.search_space_[forbidden].any()


def test_tiers_bar_the_way_back():
    X = make_gaussian(5, 200, seed=3, n_parents=2)
    free = PCSkeleton(alpha=0.3).fit(X).search_space_
    tiered = PCSkeleton(alpha=0.3, tiers=[[0, 1], [2, 3, 4]]).fit(X).search_space_
    assert free[2:, :2].any()
    assert not tiered[2:, :2].any()
    tiered[2:, :2] = free[2:, :2]
    np.testing.assert_array_equal(tiered, free)


@pytest.mark.parametrize(
    ("constraints", "message"),
    [
        ({"forbidden_edges": [("a", "z")]}, "unknown variable: 'z'"),
        ({"required_edges": [(0, 1), (1, 0)]}, "required_edges has a cycle"),
        (
            {"tiers": [["b"], ["a"]], "required_edges": [("a", "b")]},
            "against the tiers",
        ),
        ({"forbidden_edges": np.zeros((2, 2))}, "forbidden_edges must be an array"),
    ],
)
def test_bad_constraints(constraints, message):
    frame = pd.DataFrame(make_gaussian(3, 20, seed=0), columns=list("abc"))
    with pytest.raises(ValueError, match=message):
        PCSkeleton(**constraints).fit(frame)


@pytest.mark.parametrize("fitted", [False, True])
def test_constraints_in_a_search_space_are_refused(fitted):
    """Chains would leave the space, and the constraints with it."""
    X = make_gaussian(4, 50, seed=0)
    pc = PCSkeleton(forbidden_edges=[(0, 1)])
    model = OrderMCMCStructure(search_space=pc.fit(X) if fitted else pc)
    with pytest.raises(ValueError, match="give forbidden_edges to Order"):
        model.fit(X)


def test_parameters_are_keywords():
    with pytest.raises(TypeError, match="positional"):
        PCSkeleton(0.1)
