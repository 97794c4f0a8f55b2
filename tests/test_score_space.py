"""Score tables as users see them, and as one fit hands them to another."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from helpers import assert_same_draws, graph, quick
from skbidag import (
    IterativeSearchStructure,
    OrderMCMCStructure,
    PartitionMCMCStructure,
    ScoreSpace,
    _tables,
)
from skbidag.datasets import make_discrete_network, make_gaussian_network
from skbidag.scores import BGe

pytestmark = pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning"  # chains are short
)


@pytest.fixture(scope="module")
def data():
    X = make_gaussian_network(80, 7, random_state=0).data
    return pd.DataFrame(X, columns=list("abcdefg"))


@pytest.fixture(scope="module")
def model(data):
    space = graph(7, (0, 1), (2, 1), (3, 4), (4, 3))
    return quick(search_space=space, required_edges=[("a", "b")]).fit(data)


def test_scores_are_those_of_the_score(model):
    scores, score = model.score_space(), model.score_
    assert_array_equal(scores.search_space_, model.search_space_)
    for node in range(7):
        parents, log_scores = scores.parent_sets(node)
        n_candidates = model.search_space_[:, node].sum() - (node == 1)
        assert len(parents) == 2**n_candidates * (7 - n_candidates - (node == 1))
        assert len({row.tobytes() for row in parents}) == len(parents)
        assert parents[:, 0].all() or node != 1  # required
        for row, value in zip(parents, log_scores, strict=True):
            assert_allclose(value, score.local_score(node, np.flatnonzero(row)))
    assert scores.log_score("b", ["a", "c"]) == scores.log_score(1, [2, 0])
    assert scores.log_score("b", ["c"]) == -np.inf
    assert scores.log_score("b", ["a", "c", "d", "e"]) == -np.inf
    assert_allclose(scores.dag_log_score(model.adjacency_), model.log_score_)
    assert scores.n_bytes > 0
    assert "n_features=7" in repr(scores)


def test_the_best_dag_of_an_order(model):
    scores = model.score_space()
    order = list("gfedcab")
    dag = scores.best_dag(order)
    place = np.argsort(["abcdefg".index(name) for name in order])
    assert not (dag & (place[:, None] > place)).any()
    for node in range(7):
        parents, log_scores = scores.parent_sets(node)
        before = place < place[node]
        inside = ~(parents & ~before).any(axis=1)
        assert scores.log_score(node, np.flatnonzero(dag[:, node])) == pytest.approx(
            log_scores[inside].max()
        )
    with pytest.raises(ValueError, match="every variable once"):
        scores.best_dag("abc")


@pytest.mark.parametrize("structure", [OrderMCMCStructure, PartitionMCMCStructure])
def test_tables_are_handed_on(model, data, structure, monkeypatch):
    scores = model.score_space()
    before = [table.scores.copy() for table in scores._tables]
    options = {"required_edges": [("a", "b")]}
    expected = quick(structure, search_space=model.search_space_, **options).fit(data)
    monkeypatch.setattr(_tables, "score_table", None)  # nobody may build one
    for _ in range(2):
        found = quick(structure, search_space=scores, **options).fit(data)
        assert_same_draws(found, expected)
    for table, values in zip(scores._tables, before, strict=True):
        assert_array_equal(table.scores, values)


def test_other_constraints_build_what_differs(model, data):
    scores = model.score_space()
    found = quick(search_space=scores, forbidden_edges=[("d", "e")]).fit(data)
    expected = quick(
        search_space=model.search_space_, forbidden_edges=[("d", "e")]
    ).fit(data)
    assert_same_draws(found, expected)


def test_other_data_are_refused(model, data):
    scores = model.score_space()
    with pytest.raises(ValueError, match="made with another X"):
        quick(search_space=scores).fit(data + 1)
    with pytest.raises(ValueError, match="made with another score"):
        quick(search_space=scores, score=BGe(2.0)).fit(data)
    with pytest.raises(ValueError, match="made with another edge_prior"):
        quick(search_space=scores, edge_prior=np.ones((7, 7))).fit(data)


def test_a_search_without_sampling(data):
    search = IterativeSearchStructure(n_draws=0, random_state=0).fit(data)
    scores = search.score_space()
    assert_allclose(scores.dag_log_score(search.adjacency_), search.log_score_)
    found = quick(search_space=scores).fit(data)
    assert_array_equal(found.search_space_, search.search_space_)
    # for a search it is a space like any other
    again = IterativeSearchStructure(
        search_space=scores, scheme="paper", max_expansions=0, n_draws=0
    ).fit(data)
    assert_array_equal(again.search_space_, search.search_space_)


def test_with_a_power_the_space_alone(model, data):
    scores = model.score_space()
    found = quick(search_space=scores, power=0.5).fit(data)
    expected = quick(search_space=model.search_space_, power=0.5).fit(data)
    assert_same_draws(found, expected)


def test_categories_and_pickles():
    X = make_discrete_network(100, 6, random_state=0).data
    model = quick().fit(X)
    scores = pickle.loads(pickle.dumps(model.score_space()))
    assert isinstance(scores, ScoreSpace)
    assert_same_draws(
        quick(search_space=scores).fit(X),
        quick(search_space=model.search_space_).fit(X),
    )


def test_it_goes_on(model, data):
    scores = model.score_space()
    found = quick(search_space=scores, warm_start=True).fit(data)
    found.set_params(n_draws=60).fit(data)
    assert found.dag_samples_.n_draws == 60
    other = quick(search_space=graph(7, (0, 1))).fit(data).score_space()
    with pytest.raises(ValueError, match="search_space changed"):
        found.set_params(search_space=other).fit(data)
