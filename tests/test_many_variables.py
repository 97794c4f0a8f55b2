"""Searches among many variables: relocations, climbs, reversals, crossover."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from test_outsiders import SCORES, N, both_layouts, sparse_space

from skbidag import IterativeSearchStructure, _outsiders
from skbidag._chains import bit_generator
from skbidag._constraints import resolve_constraints
from skbidag._core._graphs import Descent, reachable
from skbidag._core._order import OrderChain
from skbidag._problem import Problem
from skbidag._search import _free_orders
from skbidag._search._crossover import best_of_both, crossover
from skbidag._search._orders import random_order, search_orders
from skbidag._search._reversals import Reversals
from skbidag._tables import build_tables
from skbidag.datasets import make_gaussian_network
from skbidag.graphs import is_dag
from skbidag.scores import BGe
from skbidag.scores.base import BaseScore


def random_dag(rng, n, n_edges):
    """A random DAG with about so many edges."""
    order = rng.permutation(n)
    dag = np.zeros((n, n), dtype=bool)
    dag[np.ix_(order, order)] = np.triu(rng.random((n, n)) < 2 * n_edges / n**2, 1)
    return dag


def a_start(rng):
    """A random order in which the required edge holds."""
    return random_order(rng, sparse_space().required)


def chain_on(tables, start, maximize, seed=0):
    stream = bit_generator((seed,), 0)
    return OrderChain(tables.views(), stream, start, [0, 0, 1], maximize=maximize)


def placed(order, node, slot):
    """The order with a node put elsewhere."""
    return np.insert(order[order != node], slot, node)


# ------------------------------------------------------- relocations by stretches


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("kind", ["bge", "bde"])
def test_relocations_score_as_placing_the_node(kind, maximize, monkeypatch):
    few, wide = both_layouts(SCORES[kind](), monkeypatch, sums=True, maxima=True)
    rng = np.random.default_rng(0)
    chain, twin = (chain_on(tables, a_start(rng), maximize) for tables in (few, wide))
    assert chain.few_relatives
    assert not twin.few_relatives
    for _ in range(3):
        order = a_start(rng)
        chain.set_order(order)
        for node in range(N):
            scores = chain.relocation_scores(node)
            assert scores.shape == (N,)
            for slot in range(N):
                twin.set_order(placed(order, node, slot))
                assert_allclose(scores[slot], twin.log_score, rtol=1e-12)


@pytest.mark.parametrize("maximize", [False, True])
def test_sweeps_walk_the_same_way(maximize, monkeypatch):
    pair = both_layouts(SCORES["bge"](), monkeypatch, sums=True, maxima=True)
    start = a_start(np.random.default_rng(1))
    few, wide = (chain_on(tables, start, maximize) for tables in pair)
    for power in (0.05, 0.3, 1.0):
        few.power = wide.power = power
        few.sweep(5)
        wide.sweep(5)
        assert_array_equal(few.order, wide.order)
        assert_allclose(few.log_score, wide.log_score, rtol=1e-12)
    assert not np.array_equal(few.order, start)
    assert_allclose(few.best_log_score, wide.best_log_score, rtol=1e-12)


def test_columns_that_matter():
    tables = build_tables(SCORES["bde"](), sparse_space(), scores=False, maxima=True)
    matter = 0
    for table in tables:
        for column, matters in enumerate(table.columns_that_matter):
            above = table.maxima[:, column] > table.maxima[:, table.base_column]
            assert matters == above.any()
        matter += table.columns_that_matter.sum()
    assert 0 < matter < sum(len(table.outsiders) for table in tables)


@pytest.mark.parametrize("scattered", [True, False])
@pytest.mark.parametrize("kind", ["bge", "bde"])
def test_walks_on_maxima_pass_by_what_does_not_matter(kind, scattered, monkeypatch):
    few, wide = both_layouts(SCORES[kind](), monkeypatch, maxima=True)
    tables = few if scattered else wide
    start = a_start(np.random.default_rng(4))
    moves = [0.2, 0.6, 0.2]

    def chain_of(maximize):
        views, stream = tables.views(maximize), bit_generator((5,), 0)
        return OrderChain(views, stream, start, moves, maximize=True)

    quick, twin = chain_of(True), chain_of(False)
    assert quick.few_relatives == twin.few_relatives == scattered
    for power in (0.05, 0.3, 1.0):
        quick.power = twin.power = power
        quick.run(2000)
        twin.run(2000)
        assert_array_equal(quick.order, twin.order)
        assert_allclose(quick.node_scores, twin.node_scores, rtol=1e-12)
    assert_array_equal(quick.accepted_moves, twin.accepted_moves)
    assert not np.array_equal(quick.order, start)
    assert_allclose(quick.climb(), twin.climb(), rtol=1e-12)


def assert_scores_are_those_of_the_order(chain, tables):
    """What was changed step by step is what a look-up of the whole order gives."""
    anew = chain_on(tables, chain.order, maximize=True)
    assert_allclose(chain.node_scores, anew.node_scores, rtol=1e-12)
    assert_allclose(chain.log_score, anew.log_score, rtol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_climbs_end_where_no_relocation_pays(seed, monkeypatch):
    few, wide = both_layouts(SCORES["bge"](), monkeypatch, maxima=True)
    chain = chain_on(few, a_start(np.random.default_rng(seed)), maximize=True)
    before = chain.log_score
    top = chain.climb()
    assert top > before
    assert_scores_are_those_of_the_order(chain, few)
    twin = chain_on(wide, chain.order, maximize=True)
    for node in range(N):
        for slot in range(N):
            twin.set_order(placed(chain.order, node, slot))
            assert twin.log_score <= top + 1e-6


@pytest.mark.parametrize("size", [1, 3])
def test_kicks_here_and_there_never_make_it_worse(size, monkeypatch):
    few, _ = both_layouts(SCORES["bde"](), monkeypatch, maxima=True)
    rng = np.random.default_rng(2)
    gained = 0.0
    for seed in range(5):
        chain = chain_on(few, a_start(rng), maximize=True, seed=seed)
        before = chain.climb()
        chain.kick_around(200, size)
        assert chain.log_score >= before - 1e-6
        assert chain.best_log_score >= chain.log_score - 1e-6
        gained += chain.best_log_score - before
        assert_scores_are_those_of_the_order(chain, few)
        place = np.argsort(chain.order)
        parent, child = np.argwhere(sparse_space().required)[0]
        assert place[parent] > place[child]
    assert gained > 0


def test_annealing_by_relocations_finds_what_climbs_miss(monkeypatch):
    few, _ = both_layouts(SCORES["bge"](), monkeypatch, maxima=True)
    start = a_start(np.random.default_rng(3))
    climbed = chain_on(few, start, maximize=True).climb()
    stream = bit_generator((0,), 0)
    order, log_score = search_orders(few, start, stream, "annealing", 100)
    assert log_score > climbed
    assert_allclose(chain_on(few, order, maximize=True).log_score, log_score)


# ----------------------------------------------------------- selection, descendants


@pytest.mark.parametrize("n", [5, 6, 7, 8, 9])
def test_selection_among_any_number_of_variables(n):
    """Vectors hold four variables: none is lost at the end, and none is made up."""
    score = BGe().fit(make_gaussian_network(50, n, random_state=n).data)
    for node in range(n):
        others = np.flatnonzero(np.arange(n) != node)
        for stop in (True, False):
            given = (node, others, n - 2, others[-1:], stop)
            parents, value = score.select_parents(*given)
            expected, best = BaseScore.select_parents(score, *given)
            assert parents == expected
            assert_allclose(value, best, rtol=1e-12)


def test_descendants_in_a_changed_dag():
    rng = np.random.default_rng(0)
    for _ in range(50):
        n = int(rng.integers(2, 30))
        dag = random_dag(rng, n, 2 * n)
        descent = Descent([np.flatnonzero(column) for column in dag.T])
        x, y = rng.choice(n, 2, replace=False).tolist()
        # which may make cycles
        changed = {x: rng.choice(n, min(n, 3), replace=False).tolist(), y: []}
        other = dag.copy()
        other[:, [x, y]] = False
        other[changed[x], x] = True
        for node in range(n):
            assert_array_equal(
                descent.descendants(node, changed),
                reachable(other.view(np.uint8), node),
            )
            assert_array_equal(
                descent.descendants(node, {}), reachable(dag.view(np.uint8), node)
            )


# ----------------------------------------------------------------------- reversals


def pose_among_many(monkeypatch, n=24, **constraints):
    """A problem whose variables count as many."""
    monkeypatch.setattr(_outsiders, "FEW_FEATURES", 5)
    X = make_gaussian_network(200, n, expected_parents=2.0, random_state=0).data
    problem = Problem(
        BGe().fit(X), X, None, None, resolve_constraints(n, **constraints)
    )
    assert problem.outsiders is not None
    return problem


@pytest.mark.parametrize("seed", range(4))
def test_reversals_among_many(seed, monkeypatch):
    n = 24
    dag = random_dag(np.random.default_rng(seed), n, n)
    edges = np.argwhere(dag)
    problem = pose_among_many(
        monkeypatch,
        required_edges=edges[:2].tolist(),
        forbidden_edges=edges[2:4, ::-1].tolist(),
    )
    score, constraints = problem.score, problem.constraints
    reverse = Reversals(problem, 4)
    before = dag.copy()
    better = reverse(dag)
    assert_array_equal(dag, before)
    assert is_dag(better)
    assert not (better & constraints.forbidden).any()
    assert better[constraints.required].all()
    assert score.dag_score(better) > score.dag_score(dag)
    # whoever tries, and however often, in one thread or in two
    assert_array_equal(Reversals(problem, 4, n_jobs=2)(dag), better)
    while (again := reverse(better)) is not None:
        assert score.dag_score(again) > score.dag_score(better)
        better = again
    # what reversals among few, which forget nothing, find no better either
    monkeypatch.setattr(reverse, "many", False)
    assert reverse(better) is None


# ------------------------------------------------------------------ the whole search


@pytest.mark.slow
def test_search_among_many_does_not_depend_on_threads(monkeypatch):
    monkeypatch.setattr(_outsiders, "FEW_FEATURES", 20)
    monkeypatch.setattr(_outsiders, "MOST_OUTSIDERS", 6)
    monkeypatch.setattr(_free_orders, "MOST_SWEPT", 20)
    network = make_gaussian_network(300, 50, expected_parents=2.0, random_state=5)
    fits = [
        IterativeSearchStructure(n_draws=0, n_jobs=n_jobs, random_state=0).fit(
            network.data
        )
        for n_jobs in (1, 2)
    ]
    for name in ("adjacency_", "search_space_", "log_score_"):
        assert_array_equal(*(getattr(fit, name) for fit in fits))
    assert_array_equal(*(fit.expansions_["log_score"] for fit in fits))


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_search_among_300_variables_reaches_the_truth(seed):
    network = make_gaussian_network(1000, 300, expected_parents=2.0, random_state=seed)
    search = IterativeSearchStructure(n_draws=0, random_state=0).fit(network.data)
    truth = np.asarray(network.adjacency) != 0
    assert search.log_score_ >= search.score_.dag_score(truth) - 1e-6
    assert is_dag(search.adjacency_)


# ----------------------------------------------------------------------- crossover


def test_crossover_takes_the_better_parts():
    network = make_gaussian_network(300, 20, expected_parents=1.0, random_state=1)
    truth = np.asarray(network.adjacency) != 0
    score = BGe().fit(network.data)
    children = np.flatnonzero(truth.any(axis=0))
    first, second = truth.copy(), truth.copy()
    # two nodes that are no neighbors lose their parents, in one DAG each
    one = children[0]
    two = next(j for j in children[1:] if not (truth | truth.T)[one, j])
    first[:, one] = second[:, two] = False
    value = score.dag_score(truth)
    assert max(map(score.dag_score, (first, second))) < value
    for pair in ((first, second), (second, first)):
        better = crossover(*pair, score)
        assert_allclose(score.dag_score(better), value)
        assert_array_equal(best_of_both(*pair, score), better)
    assert crossover(truth, first, score) is None
    assert best_of_both(truth, first, score) is None
    assert_array_equal(best_of_both(first, truth, score), truth)


def test_crossover_makes_no_cycle():
    rng = np.random.default_rng(0)
    X = make_gaussian_network(100, 12, expected_parents=2.0, random_state=2).data
    score = BGe().fit(X)
    n_better = 0
    for _ in range(50):
        first, second = random_dag(rng, 12, 12), random_dag(rng, 12, 12)
        mixed = crossover(first, second, score)
        best = best_of_both(first, second, score)
        if mixed is not None:
            n_better += 1
            assert is_dag(mixed)
            assert score.dag_score(mixed) > score.dag_score(first)
            assert score.dag_score(best) >= score.dag_score(mixed) - 1e-9
    assert n_better > 5
