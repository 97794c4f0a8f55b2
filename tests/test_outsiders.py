"""Few of many variables as outsiders: who they are, and tables with their columns."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning

from skbidag import OrderMCMCStructure, _outsiders, _tables
from skbidag._chains import bit_generator, move_mixture
from skbidag._constraints import resolve_constraints
from skbidag._core._dag import DAGChain
from skbidag._core._order import OrderChain
from skbidag._core._partition import PartitionChain
from skbidag._dag_walk import dag_moves
from skbidag._outsiders import strongest_outsiders
from skbidag._partition import partition_moves, partition_of_dag
from skbidag._search import order_moves
from skbidag._search_space import make_space
from skbidag._tables import build_tables
from skbidag.datasets import make_discrete_network, make_gaussian_network
from skbidag.scores import BDe, BGe
from skbidag.scores.base import BaseScore

N = 30


class Plain(BGe):
    """A score whose tables are filled entry by entry."""

    fill_table = BaseScore.fill_table


SCORES = {
    "bge": lambda: BGe().fit(make_gaussian_network(100, N, random_state=0).data),
    "bde": lambda: BDe().fit(make_discrete_network(100, N, random_state=0).data),
    "plain": lambda: Plain().fit(make_gaussian_network(100, N, random_state=0).data),
}


def sparse_space(n_candidates=3, n_outsiders=4):
    """A space in which the nodes have few candidates, and few outsiders."""
    ranks = np.random.default_rng(0).random((N, N)) + 2.0 * np.eye(N)
    ranks = ranks.argsort(axis=0).argsort(axis=0)
    outsiders = ranks < n_candidates + n_outsiders
    required = [(int(np.argmax(ranks[:, 5] == 0)), 5)]
    return make_space(
        ranks < n_candidates,
        resolve_constraints(N, required_edges=required),
        extended=True,
        outsiders=outsiders,
    )


def both_layouts(score, monkeypatch, **which):
    """Tables with columns for few outsiders, and with columns for all variables."""
    space = sparse_space()
    few = build_tables(score, space, **which)
    with monkeypatch.context() as patch:
        patch.setattr(_tables, "table_width", lambda n, *sizes: -(-n // 4) * 4)
        wide = build_tables(score, space, **which)
    assert all(table.scattered and table.width == 8 for table in few)
    assert not any(table.scattered for table in wide)
    return few, wide


@pytest.mark.parametrize("kind", SCORES)
def test_tables_hold_the_same(kind, monkeypatch):
    few, wide = both_layouts(SCORES[kind](), monkeypatch, sums=True, maxima=True)
    for a, b in zip(few, wide, strict=True):
        columns = a.columns[a.columns < N]
        assert_array_equal(columns, [a.node, *a.outsiders])
        for name in ("scores", "ratios", "maxima"):
            mine, theirs = getattr(a, name), getattr(b, name)
            assert_allclose(mine[:, : len(columns)], theirs[:, columns], rtol=1e-12)
        assert (a.scores[:, len(columns) :] == -np.inf).all()
        assert_allclose(a.log_sums, b.log_sums, rtol=1e-13)
    order = np.random.default_rng(1).permutation(N)
    dag = few.best_dag(order)
    assert_array_equal(dag, wide.best_dag(order))
    assert_allclose(few.log_score(dag), wide.log_score(dag), rtol=1e-13)


def chain_on(tables, kind, start):
    """A chain at the best DAG of an order."""
    views, stream = tables.views(), bit_generator((3,), 0)
    dag = tables.best_dag(start)
    if kind == "dag":
        return DAGChain(views, stream, dag, move_mixture("auto", dag_moves(N)))
    if kind == "partition":
        moves = move_mixture("auto", partition_moves(N))
        return PartitionChain(views, stream, partition_of_dag(dag), moves)
    moves = move_mixture("auto", order_moves(N))
    return OrderChain(views, stream, start, moves, maximize=kind == "maxima")


@pytest.mark.parametrize("score", ["bge", "bde"])
@pytest.mark.parametrize("kind", ["order", "maxima", "dag", "partition"])
def test_chains_walk_the_same_way(kind, score, monkeypatch):
    pair = both_layouts(SCORES[score](), monkeypatch, sums=True, maxima=True)
    # children before what they require
    child, parent = 5, int(np.flatnonzero(sparse_space().required[:, 5])[0])
    start = np.setdiff1d(np.arange(N), [child, parent])
    start = np.array([child, *start, parent])
    few, wide = (chain_on(tables, kind, start) for tables in pair)
    packed = np.zeros((2, N, -(-N // 8)), dtype=np.uint8)
    dags = set()
    for _ in range(50):
        few.run(200)
        wide.run(200)
        log_scores = few.draw_dag(packed[0]), wide.draw_dag(packed[1])
        assert_array_equal(packed[0], packed[1])
        assert_allclose(*log_scores, rtol=1e-12)
        dags.add(packed[0].tobytes())
    assert len(dags) > 5
    assert_array_equal(few.accepted_moves, wide.accepted_moves)


def test_all_are_outsiders_of_few_variables():
    score = SCORES["bge"]()
    assert strongest_outsiders(score, np.eye(N, dtype=bool)) is None


@pytest.mark.parametrize("kind", ["bge", "bde"])
def test_the_strongest_are_outsiders(kind, monkeypatch):
    monkeypatch.setattr(_outsiders, "FEW_FEATURES", 10)
    monkeypatch.setattr(_outsiders, "MOST_OUTSIDERS", 6)
    score = SCORES[kind]()
    forbidden = np.eye(N, dtype=bool)
    forbidden[3] = True
    outsiders = strongest_outsiders(score, forbidden)
    assert_array_equal(outsiders.sum(axis=0), 6)
    assert not (outsiders & forbidden).any()
    for node in range(N):
        gains = score.addition_scores(node, [])
        gains[forbidden[:, node]] = -np.inf
        assert outsiders[np.argmax(gains), node]
        # and what is strongest beside it, if that is something
        first = int(np.argmax(gains))
        scores = score.addition_scores(node, [first])
        scores[forbidden[:, node]] = -np.inf
        if gains[first] > score.local_score(node, []):
            assert outsiders[np.argmax(scores), node]


@pytest.mark.slow
def test_search_among_many_variables():
    network = make_gaussian_network(600, 300, random_state=4)
    # chains that are too short, for the sake of time
    with pytest.warns(ConvergenceWarning):
        model = OrderMCMCStructure(random_state=0, n_iter=20_000).fit(network.data)
    truth = np.asarray(network.adjacency) != 0
    # the best DAG is at or above the generating one
    assert model.score_.dag_score(model.adjacency_) >= (
        model.score_.dag_score(truth) - 1e-6
    )
    assert model.outside_mass_.shape == (300,)
    assert (model.outside_mass_ >= 0).all()
