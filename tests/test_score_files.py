"""Scores in tables and files: round trips, and samplers on sets of which some lack."""

import itertools

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from enumeration import (
    assert_same_posterior,
    dag_posterior,
    discrete_data,
    gaussian_data,
    listed,
    make_space,
    sparse,
)
from helpers import all_dags
from skbidag import (
    ExactStructure,
    IterativeSearchStructure,
    OrderMCMCStructure,
    PartitionMCMCStructure,
)
from skbidag._tables import build_tables
from skbidag.score_files import read_jkl, write_jkl
from skbidag.scores import BDe, BGe, TabulatedScore

EXAMPLE = """\
META scorer = by hand
3
smoke 1
-310.5 0
# a comment
cancer 2
-205.25 0
-190.75 1 smoke
cough 3
-280.0 0
-271.5 1 cancer
-270 2 smoke cancer
"""


def all_sets(n, node):
    others = [i for i in range(n) if i != node]
    return [s for size in range(n) for s in itertools.combinations(others, size)]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "scores.jkl"


def test_read(path):
    path.write_text(EXAMPLE)
    score = read_jkl(path)
    assert score.feature_names == ["smoke", "cancer", "cough"]
    assert score.tables[2] == {(): -280.0, (1,): -271.5, (0, 1): -270.0}
    expected = [[False, True, True], [False, False, True], [False, False, False]]
    assert_array_equal(score.candidate_edges().to_numpy(), expected)
    model = ExactStructure(score, random_state=0).fit(score.stand_in_rows())
    assert np.isclose(model.log_score_, -310.5 - 190.75 - 270)
    assert_array_equal(model.adjacency_, expected)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("3\n", "three\n"), "line 2: 'three' is not a number"),
        (("3\n", "4\n"), "line 12: it ends where a variable and the number"),
        (("3\n", "2\n"), "line 9: there is more than the first line announces"),
        (("cancer 2\n", "cancer\n"), "line 6: a variable and the number"),
        (("1 cancer", "2 cancer"), "line 11: 2 parents are announced, 1 are there"),
        (("1 cancer", "1 flu"), "the parent flu is none of the variables"),
        (("cough 3", "smoke 3"), "a variable occurs twice"),
        (("-271.5", "low"), "line 11: 'low' is not a number"),
    ],
)
def test_errors_name_the_line(path, change, message):
    path.write_text(EXAMPLE.replace(*change, 1))
    with pytest.raises(ValueError, match=message):
        read_jkl(path)


@pytest.mark.parametrize("kind", ["gaussian", "discrete"])
def test_round_trip_of_a_score(path, kind):
    if kind == "gaussian":
        score = BGe().fit(gaussian_data(0, 60, 5))
    else:
        score = BDe().fit(discrete_data(0, 80, [2, 3, 2, 4, 2]))
    write_jkl(path, score)
    again = read_jkl(path)
    assert again.feature_names is None
    for node in range(5):
        assert len(again.tables[node]) == 16
        for parents in all_sets(5, node):
            expected = score.local_score(node, parents)
            assert_allclose(again.tables[node][parents], expected, rtol=1e-13)


def test_round_trip_of_estimators(path):
    X = pd.DataFrame(gaussian_data(1, 80, 6), columns=list("abcdef"))
    knowledge = {"required_edges": [("a", "b")], "forbidden_edges": [("c", "d")]}
    model = ExactStructure(random_state=0, **knowledge).fit(X)
    write_jkl(path, model)
    score = read_jkl(path)
    assert all(0 in parents for parents in score.tables[1])
    assert not any(2 in parents for parents in score.tables[3])
    again = ExactStructure(score, random_state=0).fit(X)
    assert_allclose(
        again.adjacency_probabilities_, model.adjacency_probabilities_, atol=1e-10
    )
    assert_array_equal(again.adjacency_, model.adjacency_)
    # columns in another order: names tell
    turned = ExactStructure(score).fit(X[list("fedcba")])
    assert_allclose(
        turned.adjacency_probabilities_[::-1, ::-1],
        model.adjacency_probabilities_,
        atol=1e-10,
    )


@pytest.mark.parametrize("n_draws", [0, 20])
def test_sets_of_an_extended_space(path, n_draws):
    X = gaussian_data(2, 100, 8)
    space = sparse(8, 1)
    np.fill_diagonal(space, False)
    if n_draws:
        model = OrderMCMCStructure(
            search_space=space, n_draws=n_draws, n_iter=500, random_state=0
        ).fit(X)
    else:
        model = IterativeSearchStructure(n_draws=0, random_state=0).fit(X)
    write_jkl(path, model)
    tables = read_jkl(path).tables
    for node, table in enumerate(tables):
        permitted = set(np.flatnonzero(model.search_space_[:, node]))
        expected = {
            s for s in all_sets(8, node) if len(set(s) - permitted) <= 1
        }  # and one from outside
        assert set(table) == expected


def test_pruned_and_small_sets(path):
    score = BGe().fit(gaussian_data(3, 100, 6))
    best = ExactStructure(BGe()).fit(gaussian_data(3, 100, 6))
    write_jkl(path, score, prune=True)
    pruned = read_jkl(path)
    for node, table in enumerate(pruned.tables):
        kept = {
            parents
            for parents in all_sets(6, node)
            if all(
                score.local_score(node, parents) > score.local_score(node, subset)
                for size in range(len(parents))
                for subset in itertools.combinations(parents, size)
            )
        }
        assert set(table) == kept
    again = ExactStructure(pruned, posterior="best DAG alone").fit(
        pruned.stand_in_rows()
    )
    assert np.isclose(again.log_score_, best.log_score_)
    write_jkl(path, score, max_parents=2)
    assert max(len(s) for table in read_jkl(path).tables for s in table) == 2


def test_pruned_sets_of_an_extended_space(path):
    X = gaussian_data(4, 100, 6)
    space = sparse(6, 2)
    np.fill_diagonal(space, False)
    model = OrderMCMCStructure(
        search_space=space, n_draws=20, n_iter=500, random_state=0
    ).fit(X)
    write_jkl(path, model)
    everything = read_jkl(path).tables
    write_jkl(path, model, prune=True)
    for table, whole in zip(read_jkl(path).tables, everything, strict=True):
        kept = {
            parents
            for parents, value in whole.items()
            if all(
                value > whole.get(subset, -np.inf)
                for size in range(len(parents))
                for subset in itertools.combinations(parents, size)
            )
        }
        assert set(table) == kept


def test_listed_sets_come_back(path):
    score = listed(5, seed=4)
    write_jkl(path, score)
    assert read_jkl(path).tables == score.tables


def test_what_cannot_be_written(path):
    with pytest.raises(ValueError, match="must be fitted"):
        write_jkl(path, BGe())
    with pytest.raises(ValueError, match="fitted structure learner"):
        write_jkl(path, ExactStructure())
    X = pd.DataFrame(gaussian_data(0, 20, 2), columns=["a b", "c"])
    with pytest.raises(ValueError, match="cannot hold the name 'a b'"):
        write_jkl(path, BGe().fit(X))


# Samplers


@pytest.mark.slow
@pytest.mark.parametrize(
    "sampler",
    [
        OrderMCMCStructure,
        PartitionMCMCStructure,
        lambda **params: PartitionMCMCStructure(walk="partitions", **params),
    ],
)
@pytest.mark.parametrize("extra_parent", [True, False])
def test_samplers_against_enumeration(sampler, extra_parent):
    n = 5
    score = listed(n, seed=11)
    permitted = sparse(n, 5)
    np.fill_diagonal(permitted, False)
    dags = all_dags(n)
    space = make_space(n, permitted=permitted, extended=extra_parent)
    probabilities, log_scores = dag_posterior(build_tables(score, space), dags)
    if sampler is OrderMCMCStructure:
        orders = np.zeros(len(dags))
        for order in itertools.permutations(range(n)):
            place = np.argsort(order)
            orders += ~(dags & (place[:, None] > place)).any(axis=(1, 2))
        probabilities = probabilities * orders / (probabilities @ orders)
    model = sampler(
        score=score,
        search_space=permitted,
        extra_parent=extra_parent,
        n_draws=2000,
        n_iter=100_000,
        random_state=0,
    ).fit(score.stand_in_rows())
    exact = np.tensordot(probabilities, dags, axes=1)
    assert_same_posterior(model.dag_samples_[:], exact)
    assert np.isclose(model.log_score_, log_scores.max())
    assert np.isfinite(model.log_score_trace_).all()


@pytest.mark.parametrize(
    "structure", [IterativeSearchStructure, PartitionMCMCStructure]
)
def test_searches_on_listed_sets(structure):
    score = listed(12, seed=3, share=0.02)
    rows = score.stand_in_rows()
    best = ExactStructure(score, posterior="best DAG alone").fit(rows)
    model = structure(
        score, search_space=score.candidate_edges(), n_draws=50, random_state=0
    ).fit(rows)
    assert np.isclose(model.log_score_, best.log_score_)


def test_data_are_used_for_tests_alone():
    X = gaussian_data(0, 200, 5)
    table = BGe().fit(X)
    score = TabulatedScore(
        [
            {parents: table.local_score(node, parents) for parents in all_sets(5, node)}
            for node in range(5)
        ]
    )
    expected = ExactStructure(BGe(), search_space="pc").fit(X)
    found = ExactStructure(score, search_space="pc").fit(X)
    assert_array_equal(found.search_space_, expected.search_space_)
    assert_allclose(
        found.adjacency_probabilities_, expected.adjacency_probabilities_, atol=1e-10
    )
    codes = discrete_data(0, 100, [2] * 5)
    by_words = ExactStructure(score, search_space="pc").fit(codes.astype(str))
    assert_array_equal(
        by_words.search_space_,
        ExactStructure(score, search_space="pc").fit(codes).search_space_,
    )
    assert clone(score).get_params() == score.get_params()


def test_edge_prior_comes_on_top():
    score = listed(4, seed=0)
    odds = np.full((4, 4), -1.5)
    score.fit(score.stand_in_rows(), edge_prior=odds)
    for node, table in enumerate(score.tables):
        for parents, value in table.items():
            expected = value - 1.5 * len(parents)
            assert np.isclose(score.local_score(node, parents), expected)


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ([{(): 0.0}, {(1,): 0.0}], "is no set of parents of variable 1"),
        ([{(): 0.0}, {(2,): 0.0}], "is no set of parents of variable 1"),
        ([{(): 0.0}, {(0, 0): 0.0}], "is no set of parents of variable 1"),
        ([{(): 0.0}, {(): np.nan}], "scores nan"),
        ([{(): 0.0}, {}], "variable 1 has no parent set"),
        ([{(): 0.0}], "X has 2 columns, but tables are of 1"),
    ],
)
def test_bad_tables(tables, message):
    with pytest.raises(ValueError, match=message):
        TabulatedScore(tables).fit(np.zeros((2, 2)))


def test_bad_names():
    tables = [{(): 0.0}, {(): 0.0}]
    with pytest.raises(ValueError, match="3 names for 2 tables"):
        TabulatedScore(tables, list("abc")).fit(np.zeros((2, 2)))
    X = pd.DataFrame(np.zeros((2, 2)), columns=["a", "x"])
    with pytest.raises(ValueError, match=r"The columns of X are \['a', 'x'\]"):
        TabulatedScore(tables, ["a", "b"]).fit(X)


@pytest.mark.parametrize("permitted", ["full", np.zeros((3, 3))])
def test_a_node_that_needs_parents(permitted):
    # variable 1 has no score without 0: sets of an outsider alone
    score = TabulatedScore([{(): 0.0}, {(0,): -1.0, (0, 2): -1.0}, {(): 0.0}])
    rows = score.stand_in_rows()
    exact = ExactStructure(score).fit(rows)
    assert_allclose(exact.adjacency_probabilities_[:, 1], [1.0, 0.0, 0.5])
    model = PartitionMCMCStructure(
        score, search_space=permitted, n_iter=2000, n_draws=50, random_state=0
    ).fit(rows)
    assert model.adjacency_probabilities_[0, 1] == 1.0


def test_nothing_is_left():
    score = TabulatedScore([{(): 0.0, (1,): 1.0}, {(0,): 0.0}])
    rows = score.stand_in_rows()
    with pytest.raises(ValueError, match="Node 1: the search space and the constra"):
        ExactStructure(score, forbidden_edges=[(0, 1)]).fit(rows)
    both = TabulatedScore([{(1,): 1.0}, {(0,): 0.0}])
    with pytest.raises(ValueError, match="No DAG of the search space has a score"):
        ExactStructure(both).fit(rows)
