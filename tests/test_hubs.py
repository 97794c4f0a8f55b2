"""Nodes with many parents or children: room for them, and how they are found."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp
from sklearn.frozen import FrozenEstimator

from helpers import graph, random_dag
from skbidag import IterativeSearchStructure, OrderMCMCStructure, _search_space, _tables
from skbidag._chains import bit_generator, move_mixture
from skbidag._constraints import resolve_constraints
from skbidag._core._dag import DAGChain
from skbidag._core._order import OrderChain
from skbidag._core._partition import PartitionChain
from skbidag._dag_walk import dag_moves
from skbidag._partition import partition_moves, partition_of_dag
from skbidag._problem import Problem
from skbidag._search import _colliders, _hubs, _spaces, order_moves
from skbidag._search._colliders import turn_hubs
from skbidag._search._free_orders import FreeOrders
from skbidag._search._hubs import (
    hub_parents,
    large_limits,
    without_needless_room,
)
from skbidag._search._spaces import SpaceSearch
from skbidag._search._turning import turn_blankets
from skbidag._search_space import hub_limit, make_space, space_within_budget
from skbidag._tables import build_tables
from skbidag.datasets import make_gaussian_network
from skbidag.graphs import is_dag
from skbidag.scores import BGe


def pose(X, score=None, **constraints):
    score = score or BGe(edge_penalty=1.0)
    resolved = resolve_constraints(X.shape[1], **constraints)
    return Problem(score.fit(X), X, None, None, resolved)


def hub_network(n_parents, n_features, n_samples, seed=0):
    """The last variable has the first ones as parents, the others are as they come."""
    rng = np.random.default_rng(seed)
    dag = np.triu(rng.random((n_features, n_features)) < 1.5 / n_features, 1)
    dag[:, -1] = np.arange(n_features) < n_parents
    return make_gaussian_network(
        n_samples, graph=dag, strengths=(0.4, 1.0), signs="random", random_state=seed
    )


# ------------------------------------------------------------------------ the search


@pytest.fixture(scope="module")
def searched():
    network = hub_network(18, 40, 400)
    model = IterativeSearchStructure(n_draws=0, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # PC's set of the hub is too large
        return network, model.fit(network.data)


def test_a_hub_with_18_parents_is_found(searched):
    network, model = searched
    assert model.adjacency_[:18, -1].all()
    assert model.log_score_ >= model.score_.dag_score(network.adjacency) - 1e-6
    sizes = model.search_space_.sum(axis=0)
    assert 18 <= sizes[-1] <= 20
    assert sizes[:-1].max() <= 14


def test_a_number_is_a_limit_for_hubs_too(searched):
    network, _ = searched
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = IterativeSearchStructure(n_draws=0, max_parents=9, random_state=0).fit(
            network.data
        )
    assert model.search_space_.sum(axis=0).max() <= 9
    assert model.adjacency_.sum(axis=0).max() <= 10


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # short
def test_chains_sample_on_the_hubs_of_a_search(searched):
    network, model = searched
    sampler = OrderMCMCStructure(
        search_space=FrozenEstimator(model),
        n_iter=2000,
        n_draws=50,
        n_chains=1,
        random_state=0,
    ).fit(network.data)
    assert_array_equal(sampler.search_space_, model.search_space_)
    assert (sampler.edge_probabilities()[:18, -1] > 0.9).all()


# ------------------------------------------------------------------------- the budget


def test_hub_limit_is_a_matter_of_time_and_of_the_user():
    X = np.random.default_rng(0).normal(size=(50, 30))
    problem = pose(X)
    assert hub_limit("auto", problem) == 20
    assert hub_limit(7, problem) == 7
    slow = SimpleNamespace(
        constraints=problem.constraints,
        score=SimpleNamespace(set_seconds=1e-4),
        completion=None,
    )
    assert hub_limit("auto", slow) == 14
    faster = SimpleNamespace(
        constraints=problem.constraints,
        score=SimpleNamespace(set_seconds=3e-6),
        completion=None,
    )
    assert hub_limit("auto", faster) == 16


def settings(usual, most):
    return SimpleNamespace(max_parents=usual, hub_limit=most)


def test_hubs_get_what_they_lack(monkeypatch):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 8))
    X[:, 6] += X[:, :5].sum(axis=1)
    X[:, 7] += 3 * X[:, :4].sum(axis=1)
    # 7 is no parent of 6, though it has the same causes, nor the other way round
    problem = pose(X, forbidden_edges=[(4, 6), (6, 7), (7, 6)])
    dag = graph(8, (0, 6), (1, 6), (0, 7), (1, 7))
    nothing = np.zeros_like(dag)
    hubs = hub_parents(nothing, dag, problem, settings(2, 4))
    assert_array_equal(hubs, graph(8, *((i, j) for i in range(4) for j in (6, 7))))
    # the usual size, and no more than there is room for: who gains most comes first
    assert not hub_parents(nothing, dag, problem, settings(2, 2)).any()
    assert not hub_parents(nothing, dag, problem, settings(4, 6)).any()
    monkeypatch.setattr(_hubs, "MOST_HUBS", 1)
    hubs = hub_parents(nothing, dag, problem, settings(2, 4))
    assert_array_equal(hubs.sum(axis=0), [0] * 7 + [4])
    # a hub stays one
    had = graph(8, (0, 6), (1, 6), (2, 6))
    hubs = hub_parents(had, dag, problem, settings(2, 4))
    assert_array_equal(hubs.sum(axis=0), [0] * 6 + [4, 0])


def test_parents_beyond_all_tables_are_not_let_in():
    X = np.random.default_rng(1).normal(size=(300, 8))
    X[:, 7] += X[:, :7] @ np.arange(1, 8)
    dag = graph(8, *((i, 7) for i in range(7)))
    nothing = np.zeros_like(dag)
    hubs = hub_parents(nothing, dag, pose(X), settings(2, 4))
    assert_array_equal(hubs, graph(8, *((i, 7) for i in range(3, 7))))
    # what must be there stays
    hubs = hub_parents(nothing, dag, pose(X, required_edges=[(0, 7)]), settings(2, 4))
    assert_array_equal(hubs, graph(8, *((i, 7) for i in (0, 4, 5, 6))))


def test_large_sets_are_within_a_budget(monkeypatch):
    monkeypatch.setattr(_hubs, "MOST_HUBS", 2)
    n_parents = np.array([0, 9, 7, 6, 8, 3])
    # two sets of eight take as much room as one of eight and two of seven
    assert large_limits(n_parents, 5, 8).tolist() == [5, 8, 5, 5, 8, 5]
    assert large_limits(n_parents, 5, 9).tolist() == [5, 9, 7, 6, 8, 5]
    assert large_limits(n_parents[:1], 5, 9).tolist() == [5]


def test_a_search_sets_out_with_as_many_parents_as_memory_has_room_for(monkeypatch):
    monkeypatch.setattr(_hubs, "MOST_HUBS", 2)
    X = np.random.default_rng(0).normal(size=(50, 12))
    problem = pose(X)
    dense = np.triu(np.ones((12, 12), dtype=bool), 1)  # variable j has j parents
    search = SpaceSearch(
        problem,
        np.zeros((12, 12), dtype=bool),
        _spaces.SearchSettings(
            max_parents=6, soft_limit=6, hub_limit=10, thrifty=False
        ),
        (0,),
    )
    search.set_out(dense)
    # a node keeps its own parents first, as many as there is room for
    assert search.permitted.sum(axis=0).tolist() == [6] * 10 + [10, 10]
    kept = [*range(7), 6, 6, 6, 10, 10]
    assert (search.permitted & dense).sum(axis=0).tolist() == kept


def test_needless_room_is_given_back():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 8))
    X[:, 6] += X[:, :5] @ [0.1, 1.0, 2.0, 3.0, 0.2]
    problem = pose(X, required_edges=[(5, 6)])
    permitted = graph(8, *((i, 6) for i in range(6)), (0, 1))
    smaller = without_needless_room(permitted, graph(8, (0, 6)), problem, 4)
    assert_array_equal(np.flatnonzero(smaller[:, 6]), [0, 2, 3, 5])
    assert smaller[0, 1]
    full = graph(8, *((i, 6) for i in range(4)))
    assert_array_equal(without_needless_room(permitted, full, problem, 4), permitted)


# ------------------------------------------------------- tables with few outsiders

N = 24


def mixed_space(monkeypatch):
    """A node with seven candidates and six outsiders, others with two and all."""
    monkeypatch.setattr(_tables, "LARGEST_TABLE", 1 << 10)
    problem = pose(make_gaussian_network(100, N, random_state=0).data)
    permitted = np.zeros((N, N), dtype=bool)
    for node in range(N):
        ranks = np.argsort(-problem.score.addition_scores(node, []))
        permitted[ranks[: 7 if node == 4 else 2], node] = True
    return problem, space_within_budget(problem, permitted, 3, extended=True)


def test_large_sets_have_few_outsiders(monkeypatch):
    problem, space = mixed_space(monkeypatch)
    n_outsiders = space.extra.sum(axis=0)
    assert n_outsiders[4] == 6
    assert_array_equal(np.delete(n_outsiders, 4), N - 3)
    scores = problem.score.addition_scores(4, space.candidates(4))
    outsiders, others = space.extra[:, 4], ~space.extra[:, 4] & np.isfinite(scores)
    assert scores[outsiders].min() > scores[others].max()
    widths = _tables.table_widths(space)
    assert widths[4] == 8
    assert_array_equal(np.delete(widths, 4), N)
    # without an extra parent there is nothing to choose
    plain = space_within_budget(problem, space.permitted, 3, extended=False)
    assert not plain.extra.any()


@pytest.mark.parametrize("kind", ["order", "maxima", "dag", "partition"])
def test_chains_walk_the_same_way_beside_a_narrow_table(kind, monkeypatch):
    problem, space = mixed_space(monkeypatch)

    def chain():
        tables = build_tables(problem.score, space, sums=True, maxima=True)
        views, stream = tables.views(), bit_generator((3,), 0)
        dag = tables.best_dag(np.arange(N))
        if kind == "dag":
            moves = move_mixture("auto", dag_moves(N))
            return tables, DAGChain(views, stream, dag, moves)
        if kind == "partition":
            moves = move_mixture("auto", partition_moves(N))
            return tables, PartitionChain(views, stream, partition_of_dag(dag), moves)
        moves = move_mixture("auto", order_moves(N))
        order = np.arange(N)
        return tables, OrderChain(
            views, stream, order, moves, maximize=kind == "maxima"
        )

    tables, mixed = chain()
    assert [table.scattered for table in tables] == [node == 4 for node in range(N)]
    monkeypatch.setattr(_tables, "LARGEST_TABLE", 1 << 22)
    tables, full = chain()
    assert not any(table.scattered for table in tables)
    packed = np.zeros((2, N, -(-N // 8)), dtype=np.uint8)
    dags = set()
    for _ in range(30):
        mixed.run(200)
        full.run(200)
        log_scores = mixed.draw_dag(packed[0]), full.draw_dag(packed[1])
        assert_array_equal(packed[0], packed[1])
        assert_allclose(*log_scores, rtol=1e-12)
        dags.add(packed[0].tobytes())
    assert len(dags) > 5


@pytest.mark.slow
def test_draws_from_the_largest_table():
    # twenty candidates of about one nat each: more than a thousand sets matter
    rng = np.random.default_rng(0)
    n = 24
    X = rng.normal(size=(400, n))
    X[:, 20] += X[:, :20] @ np.linspace(0.08, 0.2, 20)
    score = BGe(edge_penalty=1.0).fit(X)
    permitted = np.zeros((n, n), dtype=bool)
    permitted[:20, 20] = True
    outsiders = np.zeros((n, n), dtype=bool)
    outsiders[21:23, 20] = True
    space = make_space(
        permitted, resolve_constraints(n), extended=True, outsiders=outsiders
    )
    tables = build_tables(score, space, sums=True)
    table = tables[20]
    assert table.scores.shape == (1 << 20, 4)
    # all others stand to the right of the node
    order = np.append(20, np.delete(np.arange(n), 20))
    weights = np.exp(table.scores - table.scores.max())
    total = weights.sum()
    chain = OrderChain(tables.views(), bit_generator((0,), 0), order, (1.0, 0.0, 0.0))
    assert_allclose(chain.node_scores[20], logsumexp(table.scores), rtol=1e-12)
    by_set = weights.sum(axis=1)
    masks = np.arange(1 << 20)
    expected = [by_set[masks >> k & 1 == 1].sum() / total for k in range(20)]
    expected += [weights[:, table.columns_of([j])[0]].sum() / total for j in (21, 22)]
    n_draws = 4000
    counts = np.zeros(n)
    for _ in range(n_draws):
        packed = np.zeros((n, 3), dtype=np.uint8)
        chain.draw_dag(packed)
        counts += np.unpackbits(packed, axis=1, count=n)[:, 20]
    # four standard errors of a share: 22 of them miss it with probability 0.0014
    errors = np.sqrt(np.multiply(expected, 1 - np.array(expected)) / n_draws)
    parents = [*range(20), 21, 22]
    assert (np.abs(counts[parents] / n_draws - expected) < 4 * errors + 1e-9).all()


# --------------------------------------------------------------------------- turning


def turned_network(n_children=6, seed=0):
    """A hub, 0, with three parents and some children, and the DAG upside down."""
    rng = np.random.default_rng(seed)
    n = 4 + n_children
    edges = [(1, 0), (2, 0), (3, 0), *((0, child) for child in range(4, n))]
    right = graph(n, *edges)
    weights = right * rng.uniform(0.6, 1.0, size=right.shape)
    X = rng.normal(size=(1000, n))
    X[:, 0] += X @ weights[:, 0]
    X[:, 4:] += X[:, :1] * weights[0, 4:]
    # the hub is the parent of its parents, which are joined for that
    wrong = graph(n, *((0, j) for j in range(1, n)), (1, 2), (1, 3), (2, 3))
    return X, right, wrong


def test_blankets_are_turned():
    X, right, wrong = turned_network()
    problem = pose(X)
    better = turn_blankets(wrong, problem, 9, 0)
    assert is_dag(better)
    assert_array_equal(np.flatnonzero(better[:, 0]), [1, 2, 3])
    assert problem.score.dag_score(better) >= problem.score.dag_score(right) - 1e-6
    # nothing is left to do, and blankets of a usual size are others' business
    assert turn_blankets(better, problem, 9, 0) is None
    assert turn_blankets(wrong, problem, 9, 9) is None


def test_turning_respects_constraints():
    X, _, wrong = turned_network()
    forbidden, required = [(1, 0)], [(0, 4), (0, 5)]
    problem = pose(X, forbidden_edges=forbidden, required_edges=required)
    better = turn_blankets(wrong, problem, 9, 0)
    if better is None:
        better = wrong
    assert is_dag(better)
    assert not better[1, 0]
    assert better[0, [4, 5]].all()
    limited = turn_blankets(wrong, pose(X), 2, 0)
    assert limited is None or limited[:, 0].sum() <= 2


@pytest.mark.parametrize("seed", range(5))
def test_turning_never_makes_it_worse(seed):
    rng = np.random.default_rng(seed)
    network = make_gaussian_network(150, 12, random_state=seed)
    dag = random_dag(rng, 12, 0.3)
    required = dag & (rng.random(dag.shape) < 0.1)
    problem = pose(network.data, required_edges=required)
    n_better = 0
    while dag is not None and n_better < 50:
        better = turn_blankets(dag, problem, 6, 0)
        if better is not None:
            assert is_dag(better)
            assert not (required & ~better).any()
            assert better.sum(axis=0).max() <= max(6, dag.sum(axis=0).max())
            gain = problem.score.dag_score(better) - problem.score.dag_score(dag)
            assert gain > 0
            n_better += 1
        dag = better
    assert n_better > 0


# ------------------------------------------------- parents among what depends on a hub


def turned_hubs(dag, problem, seed=0, max_parents=14):
    free = FreeOrders(problem, max_parents, np.random.default_rng(seed))
    return turn_hubs(dag, problem.log_score(dag), free)


def tangled_network(n_children=26):
    """A hub, 0, whose parents have children below it, and that DAG upside down."""
    rng = np.random.default_rng(3)
    n = 4 + n_children
    common = [(1, 4), (2, 5), (1, 6), (3, 6)]
    edges = [(1, 0), (2, 0), (3, 0), *((0, child) for child in range(4, n))]
    right = graph(n, *edges, *common)
    weights = right * rng.uniform(0.4, 1.0, size=right.shape)
    X = rng.normal(size=(2000, n))
    X[:, 0] += X @ weights[:, 0]
    for child in range(4, n):
        X[:, child] += X @ weights[:, child]
    # the children that they have in common stand above these parents
    wrong = [(0, j) for j in range(1, n)] + [(child, j) for j, child in common]
    return X, right, graph(n, *wrong)


def test_parents_of_a_hub_are_found_among_its_children():
    X, right, wrong = tangled_network()
    problem = pose(X)
    score = problem.score
    better = turned_hubs(wrong, problem)
    assert is_dag(better)
    assert_array_equal(np.flatnonzero(better[:, 0]), [1, 2, 3])
    assert score.dag_score(better) >= score.dag_score(right) - 1e-6
    # nothing is left to do, and few neighbors are others' business
    assert turned_hubs(better, problem) is None
    few, _, wrong = turned_network()
    assert turned_hubs(wrong, pose(few)) is None


def test_hubs_turn_within_constraints():
    X, _, wrong = tangled_network()
    problem = pose(X, forbidden_edges=[(1, 0)], required_edges=[(0, 2), (0, 7)])
    better = turned_hubs(wrong, problem)
    if better is None:
        better = wrong
    assert is_dag(better)
    assert not better[1, 0]
    assert better[0, [2, 7]].all()
    limited = turned_hubs(wrong, pose(X), max_parents=2)
    assert limited is None or limited.sum(axis=0).max() <= 2


@pytest.mark.parametrize("seed", range(3))
def test_turned_hubs_are_never_worse(seed, monkeypatch):
    monkeypatch.setattr(_colliders, "HUB_SIZE", 2)
    rng = np.random.default_rng(seed)
    network = make_gaussian_network(150, 12, random_state=seed)
    dag = random_dag(rng, 12, 0.3)
    required = dag & (rng.random(dag.shape) < 0.1)
    background = np.flatnonzero(dag.sum(axis=0) == 0)[:1].tolist()
    problem = pose(network.data, required_edges=required, background=background)
    better = turned_hubs(dag, problem, seed)
    assert is_dag(better)
    assert not (required & ~better).any()
    assert problem.score.dag_score(better) > problem.score.dag_score(dag)


def test_most_hubs_of_a_given_space_are_kept(monkeypatch):
    monkeypatch.setattr(_search_space, "USUAL_PARENTS", 3)
    monkeypatch.setattr(_search_space, "MOST_HUBS", 1)
    X = np.random.default_rng(0).normal(size=(50, 24))
    given = graph(24, *((i, 23) for i in range(6)), *((i, 22) for i in range(5)))
    with pytest.warns(UserWarning, match="has 5 permissible parents; the 3 strongest"):
        space = _search_space.start_space(
            pose(X),
            given,
            alpha="auto",
            extended=True,
            max_parents="auto",
            entropy=(0,),
            n_jobs=None,
        )
    assert_array_equal(space.permitted.sum(axis=0)[-2:], [3, 6])
