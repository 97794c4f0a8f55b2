"""The mass outside a search space: measured, and brought in."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning

from helpers import graph, quick
from skbidag import IterativeSearchStructure, OrderMCMCStructure, _outside
from skbidag._chains import bit_generator
from skbidag._constraints import resolve_constraints
from skbidag._outside import (
    Additions,
    bulk_outside,
    edges_outside,
    members_of,
    sets_outside,
    shares_outside,
    starting_sets,
)
from skbidag._problem import Problem
from skbidag._search import SearchSettings, short_chain
from skbidag._search._cover import cover_posterior, let_in_probable
from skbidag._search_space import make_space
from skbidag._tables import build_tables
from skbidag.datasets import make_gaussian_network
from skbidag.scores import BDe, BGe


def together(n_rows=300, n_others=4, random_state=0):
    """A child of two parents that say nothing about it alone, and other variables."""
    rng = np.random.default_rng(random_state)
    X = rng.integers(0, 2, (n_rows, 3 + n_others))
    X[:, 2] = X[:, 0] ^ X[:, 1] ^ (rng.random(n_rows) < 0.1)
    return X


def problem_of(score, X, **constraints):
    score.fit(X)
    resolved = resolve_constraints(X.shape[1], **constraints)
    return Problem(score, *score.test_data(X), None, resolved)


def nothing(n):
    return np.zeros((n, n), dtype=bool)


def drawn(problem, space, seed=0, n_draws=100):
    tables = build_tables(problem.score, space, sums=True)
    order = np.arange(space.n_features)
    return short_chain(tables, order, bit_generator((seed,)), 20_000, n_draws)


def exact_edges_outside(problem, space, draws):
    """All parent sets, order by order."""
    n = space.n_features
    edges = np.zeros((n, n))
    for node, (places, log_sums) in itertools.product(
        range(n), zip(draws.places, draws.log_sums, strict=True)
    ):
        before = np.flatnonzero(places > places[node])
        weights, kept = [], []
        for size in range(len(before) + 1):
            for parents in itertools.combinations(before, size):
                outside = [p for p in parents if not space.permitted[p, node]]
                if problem.constraints.forbidden[list(parents), node].any():
                    continue
                if len(outside) > space.extended:
                    score = problem.score.local_score(node, parents)
                    weights.append(np.exp(score - log_sums[node]))
                    kept.append(outside)
        total = 1.0 + sum(weights)
        for weight, outside in zip(weights, kept, strict=True):
            edges[outside, node] += weight / total / len(draws.places)
    return edges


def test_members_of():
    for members in ([], [0], [3], [0, 2, 70], [1, 64, 128]):
        assert members_of(sum(1 << k for k in members)) == members


@pytest.mark.parametrize("extended", [True, False])
@pytest.mark.parametrize("kind", ["gaussian", "discrete"])
def test_edges_outside_against_all_parent_sets(kind, extended):
    if kind == "gaussian":
        X, score = make_gaussian_network(60, 5, random_state=2).data, BGe()
    else:
        X, score = together(80, 2), BDe(edge_penalty=1.0)
    problem = problem_of(score, X, forbidden_edges=[(0, 1)])
    permitted = graph(5, (0, 2), (3, 4), (4, 1))
    space = make_space(permitted, problem.constraints, extended=extended)
    draws = drawn(problem, space)
    found = edges_outside(
        Additions(problem.score, 5), space, problem.constraints.forbidden, draws
    )
    exact = exact_edges_outside(problem, space, draws)
    assert exact.sum() > 0.05
    # with five variables the beam misses sets of little weight alone
    assert_allclose(found, exact, atol=0.01)
    assert not found[permitted].any()
    assert found[0, 1] == 0.0


def test_nothing_is_outside_a_full_space():
    X = make_gaussian_network(50, 5, random_state=0).data
    problem = problem_of(BGe(), X)
    space = make_space(~nothing(5), problem.constraints, extended=True)
    draws = drawn(problem, space, n_draws=5)
    forbidden = problem.constraints.forbidden
    assert not edges_outside(Additions(problem.score, 5), space, forbidden, draws).any()
    model = quick().fit(X)
    assert_array_equal(model.outside_mass_, np.zeros(5))


def test_starting_sets_have_the_required_parents():
    parents = np.array([[1, 1, 0, 0], [1, 1, 0, 0], [1, 0, 0, 1]], dtype=bool)
    starts = starting_sets(parents, np.array([True, False, False, False]))
    assert starts == [0b0011, 0b0001, 0b1001]


def test_parents_that_pay_together_are_found():
    X = together()
    problem = problem_of(BDe(), X)
    others = np.arange(7) != 2
    additions, least = Additions(problem.score, 7), problem.score.local_score(2, [])
    sets, log_scores = sets_outside(additions, 2, [0], others, others, least)
    assert_array_equal(sets[np.argmax(log_scores)], graph(7, (0, 2), (1, 2))[:, 2])
    for members, log_score in zip(sets, log_scores, strict=True):
        parents = np.flatnonzero(members)
        assert_allclose(log_score, problem.score.local_score(2, parents))
        assert len(parents) > 1
    assert len(np.unique(sets, axis=0)) == len(sets)
    # of those that are no outsiders either, a single one is left out as well
    extra = others & (np.arange(7) != 0)
    more, _ = sets_outside(additions, 2, [0], others, extra, least)
    single = more.sum(axis=1) == 1
    assert {tuple(row) for row in sets} <= {tuple(row) for row in more}
    assert (np.flatnonzero(more[single]) == 0).all()


def test_shares_count_a_set_where_the_order_permits_it():
    sets = np.array([[1, 1, 0], [1, 0, 0]], dtype=bool)
    may_join = np.array([[1, 1, 1], [1, 0, 1], [0, 0, 0]], dtype=bool)
    # two sets as good as the sum; then one; then none
    shares = shares_outside(sets, np.full(2, -3.0), may_join, np.full(3, -3.0))
    assert_allclose(shares, [1 / 9, (1 / 3 + 1 / 2) / 3])
    # however large the weights are
    shares = shares_outside(sets, np.array([5e3, 0.0]), may_join, np.full(3, -5e3))
    assert_allclose(shares, [1 / 3, 1 / 3])


@pytest.mark.slow
def test_bulk_outside_against_all_parent_sets(monkeypatch):
    # so few rows that sets of any size matter
    X = np.random.default_rng(0).integers(0, 2, (8, 6))
    problem = problem_of(BDe(edge_penalty=1.0), X, forbidden_edges=[(0, 1)])
    space = make_space(graph(6, (0, 2)), problem.constraints, extended=True)
    forbidden = problem.constraints.forbidden
    draws = drawn(problem, space)
    monkeypatch.setattr(_outside, "N_RANDOM", 3000)
    generator = np.random.default_rng(1)
    # beside large sums shares are weights, which are estimated without bias; over
    # seeds the standard error is 5 %
    beside = replace(draws, log_sums=draws.log_sums + 9)
    exact = exact_edges_outside(problem, space, beside).sum(axis=0)
    found = bulk_outside(problem.score, space, forbidden, beside, generator)
    assert_allclose(found, exact, rtol=0.2)
    # otherwise it is a bound from below: the share of a mean is above the mean share
    exact = exact_edges_outside(problem, space, draws).sum(axis=0)
    found = bulk_outside(problem.score, space, forbidden, draws, generator)
    assert exact.min() > 0.5
    assert (found < exact).all()
    assert (found > exact / 2).all()
    full = make_space(~nothing(6), problem.constraints, extended=True)
    draws = drawn(problem, full)
    assert not bulk_outside(problem.score, full, forbidden, draws, generator).any()


# -------------------------------------------------------------- widening a space


def test_cover_lets_pairs_in():
    X = together(400, 15)
    # each edge costs as much as there are variables to choose from
    problem = problem_of(BDe(edge_penalty=18), X)
    space = make_space(nothing(18), problem.constraints, extended=True)
    settings = SearchSettings().resolved(problem)
    larger, outside_mass, tables = cover_posterior(
        problem, space, nothing(18), settings, (0,)
    )
    # whichever of the three is the child in a sampled order
    assert larger.permitted[:3, :3].sum() >= 2
    assert outside_mass.max() < 0.05
    assert [table.n_candidates for table in tables] == larger.permitted.sum(
        axis=0
    ).tolist()
    again, _, _ = cover_posterior(problem, space, nothing(18), settings, (0,))
    assert_array_equal(again.permitted, larger.permitted)


def test_let_in_probable_takes_the_most_probable_within_limits():
    X = make_gaussian_network(50, 8, random_state=0).data
    problem = problem_of(BGe(), X)
    space = make_space(graph(8, (0, 1)), problem.constraints, extended=True)
    probabilities = np.zeros((8, 8))
    probabilities[2:6, 1] = [0.5, 0.005, 0.3, 0.4]
    probabilities[0, 1] = 1.0

    def grown(**settings):
        settings = SearchSettings(**settings).resolved(problem)
        larger = let_in_probable(space, probabilities, problem.score, settings)
        return np.flatnonzero(larger[:, 1]).tolist()

    assert grown() == [0, 2, 4, 5]
    assert grown(max_parents=3) == [0, 2, 5]
    assert grown(max_parents=0) == [0]
    # eight nodes have one row each, and two columns of eight to the row
    assert grown(memory_limit=8 * (2 * 8 + 1) * (9 + 2)) == [0, 2]


def test_samplers_know_parents_that_pay_together():
    # more variables than everything can be had of
    X = together(400, 20)
    # without a penalty the sheer number of large parent sets matters, see below
    length = {"n_draws": 200, "n_iter": 20_000, "random_state": 0}
    model = OrderMCMCStructure(BDe(edge_penalty=23), **length).fit(X)
    # each of the three may be the child of the two others, and has two edges then
    assert_allclose(model.adjacency_probabilities_[:3, :3].sum(), 2.0, atol=0.05)
    assert model.outside_mass_.shape == (23,)
    assert model.outside_mass_.max() < 0.1
    with pytest.warns(ConvergenceWarning, match="a larger edge_penalty"):
        model = OrderMCMCStructure(BDe(edge_penalty=1.0), **length).fit(X)
    assert model.outside_mass_.max() > 1.0


@pytest.mark.filterwarnings("ignore:Node:UserWarning")  # max_parents cuts PC's edges
def test_outside_mass_warns_with_a_remedy():
    X = make_gaussian_network(200, 25, expected_parents=3, random_state=0).data
    narrow = {"random_state": 0, "n_draws": 20, "n_iter": 2000, "n_chains": 1}
    with pytest.warns(ConvergenceWarning, match=r"leaves out .* try max_parents="):
        model = OrderMCMCStructure(max_parents=1, **narrow).fit(X)
    assert model.outside_mass_.max() > 0.25
    with pytest.warns(ConvergenceWarning, match="try extra_parent=True"):
        OrderMCMCStructure(extra_parent=False, **narrow).fit(X)
    # a space that was asked for is not commented on
    model = OrderMCMCStructure(search_space=nothing(25), **narrow).fit(X)
    assert model.outside_mass_.max() > 0.25
    alone = IterativeSearchStructure(n_draws=0, random_state=0).fit(X)
    assert np.isnan(alone.outside_mass_).all()


def test_outside_mass_goes_on_with_warm_start():
    X = make_gaussian_network(60, 22, random_state=1).data
    model = quick(search_space="pc", warm_start=True, n_draws=5).fit(X)
    first = model.outside_mass_
    model.set_params(n_draws=8).fit(X)
    assert_array_equal(model.outside_mass_, first)
    assert model._progress.found.tables == ()
