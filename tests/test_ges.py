"""Greedy equivalence search as a space, and other spaces that have a name."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.utils.estimator_checks import check_param_validation

from helpers import quick
from skbidag import (
    ExactStructure,
    GESSkeleton,
    IterativeSearchStructure,
    OrderMCMCStructure,
    PCSkeleton,
)
from skbidag.datasets import make_discrete_network, make_gaussian_network
from skbidag.graphs import is_cpdag, to_cpdag


@pytest.fixture(scope="module")
def data():
    return make_gaussian_network(300, 7, random_state=1).data


def causal_learn_ges(X, **kwargs):
    from causallearn.search.ScoreBased.GES import ges

    return ges(X, **kwargs)["G"].graph


# GES


@pytest.mark.parametrize("penalty", ["auto", 0.1, 3.0])
def test_graph_is_that_of_causal_learn(data, penalty):
    model = GESSkeleton(penalty=penalty).fit(data)
    value = 0.5 if penalty == "auto" else penalty
    ends = causal_learn_ges(data, lambda_value=value)
    assert_array_equal(model.search_space_, ends != 0)
    arrows = (ends == -1) & (ends.T == 1)
    assert_array_equal(model.cpdag_ & ~model.cpdag_.T, arrows)
    assert is_cpdag(model.cpdag_)


def test_default_penalty_is_that_of_causal_learn(data):
    assert_array_equal(
        GESSkeleton().fit(data).search_space_, causal_learn_ges(data) != 0
    )


def test_a_larger_penalty_leaves_fewer_edges(data):
    sizes = [
        GESSkeleton(penalty=penalty).fit(data).search_space_.sum()
        for penalty in (0.05, 0.5, 5.0)
    ]
    assert sizes[0] > sizes[2]


def test_categories_are_scored_by_bdeu():
    codes = make_discrete_network(300, 5, n_levels=(2, 3), random_state=0).data
    ends = causal_learn_ges(codes, score_func="local_score_BDeu")
    words = np.array(["low", "mid", "high"])[codes]
    for X in (codes, pd.DataFrame(words, columns=list("abcde"))):
        model = GESSkeleton().fit(X)
        assert_array_equal(model.search_space_, ends != 0)
    assert list(model.feature_names_in_) == list("abcde")
    with pytest.raises(ValueError, match="penalty is of continuous data"):
        GESSkeleton(penalty=1.0).fit(codes)


def test_two_categorical_variables():
    codes = make_discrete_network(50, 2, random_state=0).data
    assert_array_equal(GESSkeleton().fit(codes).search_space_, ~np.eye(2, dtype=bool))


def test_constants_have_no_edges(data):
    X = data.copy()
    X[:, 2] = 1.5
    others = np.delete(np.arange(7), 2)
    found = GESSkeleton().fit(X).search_space_
    assert not found[2].any()
    assert_array_equal(
        found[np.ix_(others, others)], GESSkeleton().fit(data[:, others]).search_space_
    )
    assert not GESSkeleton().fit(np.ones((5, 3)) * 0.5).search_space_.any()


def test_bad_input(data):
    check_param_validation("GESSkeleton", GESSkeleton())
    X = data.copy()
    X[3, 1] = np.nan
    with pytest.raises(ValueError, match="1"):
        GESSkeleton().fit(X)


# Spaces by name


def test_ges_by_name(data):
    by_name = quick(search_space="ges", extra_parent=False, max_parents=6).fit(data)
    expected = GESSkeleton().fit(data).search_space_
    assert_array_equal(by_name.search_space_, expected)
    other = quick(
        search_space=GESSkeleton(penalty=0.1), extra_parent=False, max_parents=6
    ).fit(data)
    assert_array_equal(
        other.search_space_, GESSkeleton(penalty=0.1).fit(data).search_space_
    )


def test_weights_are_repeats(data):
    weights = np.arange(len(data)) % 3
    model = quick(search_space="ges", extra_parent=False, max_parents=6)
    weighted = model.fit(data, sample_weight=weights).search_space_
    repeated = GESSkeleton().fit(np.repeat(data, weights, axis=0)).search_space_
    assert_array_equal(weighted, repeated)


@pytest.mark.parametrize("structure", [OrderMCMCStructure, IterativeSearchStructure])
def test_exact_by_name(data, structure):
    best = ExactStructure(posterior="best DAG alone").fit(data)
    model = quick(structure, search_space="exact", max_parents=5).fit(data)
    assert (best.adjacency_ | best.adjacency_.T <= model.search_space_).all()
    assert np.isclose(model.log_score_, best.log_score_)
    assert_array_equal(to_cpdag(model.adjacency_), best.cpdag_)


def test_exact_space_respects_constraints(data):
    knowledge = {"forbidden_edges": [(0, 1), (1, 0)], "required_edges": [(2, 3)]}
    best = ExactStructure(posterior="best DAG alone", **knowledge).fit(data)
    model = ExactStructure(search_space="exact", n_draws=5, **knowledge).fit(data)
    either = best.adjacency_ | best.adjacency_.T
    either[3, 2] = model.search_space_[3, 2]  # the other way of a required edge
    assert_array_equal(model.search_space_, either & ~np.eye(7, dtype=bool))
    assert np.isclose(model.log_score_, best.log_score_)


def test_too_many_variables_for_exact():
    X = np.random.default_rng(0).normal(size=(50, 40))
    with pytest.raises(MemoryError, match="40 variables"):
        quick(search_space="exact").fit(X)


# Several levels of PC


def test_levels_of_pc_are_united():
    X = make_gaussian_network(80, 12, strengths=(0.2, 0.6), random_state=3).data
    levels = [0.01, 0.1, 0.4]
    parts = [PCSkeleton(alpha=alpha).fit(X) for alpha in levels]
    united = PCSkeleton(alpha=levels).fit(X)
    expected = np.logical_or.reduce([part.search_space_ for part in parts])
    assert_array_equal(united.search_space_, expected)
    assert sum(united.n_tests_) == sum(sum(part.n_tests_) for part in parts)
    assert not united.undecided_.any()
    assert not hasattr(united, "causal_graph_")
    assert hasattr(parts[0], "causal_graph_")
    model = quick(
        search_space="pc", alpha=levels, extra_parent=False, max_parents=11
    ).fit(X)
    assert_array_equal(model.search_space_, expected)


def test_what_no_level_decides_is_undecided(monkeypatch):
    from skbidag import _pc

    # with one test allowed nodes of more than two neighbors leave theirs undecided
    monkeypatch.setattr(_pc._FisherZ, "most_tests", 20)
    X = make_gaussian_network(200, 8, expected_parents=3, random_state=0).data
    parts = []
    for alpha in (0.001, 0.4):
        pc = PCSkeleton(alpha=alpha)
        pc._find_edges(X)
        parts.append(pc)
    united = PCSkeleton(alpha=[0.001, 0.4])
    united._find_edges(X)
    decided = [part.search_space_ & ~part.undecided_ for part in parts]
    assert parts[1].undecided_.any()
    assert_array_equal(
        united.undecided_,
        (parts[0].undecided_ | parts[1].undecided_) & ~(decided[0] | decided[1]),
    )


@pytest.mark.parametrize("alpha", [[], [0.1, 1.5], [[0.1], [0.2]], [0.0]])
def test_bad_levels(data, alpha):
    with pytest.raises(ValueError, match="alpha must be a number between 0 and 1"):
        PCSkeleton(alpha=alpha).fit(data)
    with pytest.raises(ValueError, match="alpha"):
        quick(search_space="pc", alpha=alpha).fit(data)
