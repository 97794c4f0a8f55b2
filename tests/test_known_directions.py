"""Directions that tiers and forbidden edges give, in equivalence classes."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from helpers import all_dags, graph, quick
from skbidag import ExactStructure, IterativeSearchStructure, PartitionMCMCStructure
from skbidag._constraints import resolve_constraints
from skbidag._posterior import DAGSamples
from skbidag.graphs import skeleton, v_structures
from skbidag.inspection import GraphDisplay


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ({}, []),
        ({"tiers": [[0], [1, 2], [3]]}, [{0}, {0, 1, 2}]),
        ({"tiers": [[3, 1], [0, 2]]}, [{1, 3}]),
        # 3 may be before 0 and after 2: nothing is settled
        ({"tiers": [[0], [1, 2]]}, []),
        ({"background": [1, 2]}, []),
        ({"background": [3], "tiers": [[0], [1, 2]]}, [{0, 3}]),
        ({"forbidden_edges": [(1, 0), (2, 0), (3, 0)]}, [{0}]),
        # nothing leads into 0, nor out of it
        (
            {
                "forbidden_edges": [(k, 0) for k in (1, 2, 3)]
                + [(0, k) for k in (1, 2, 3)]
            },
            [],
        ),
    ],
)
def test_sets_that_no_edge_enters(said, expected):
    found = resolve_constraints(4, **said).upstream
    assert sorted(map(set, found), key=sorted) == sorted(expected, key=sorted)


@pytest.mark.parametrize(
    "tiers", [[[0], [1, 2, 3]], [[2, 0], [1], [3]], [[1, 3], [0, 2]]]
)
def test_classes_are_of_the_dags_that_the_tiers_permit(tiers):
    """Every DAG over four variables: the union of those that are equivalent to it."""
    constraints = resolve_constraints(4, tiers=tiers)
    dags = all_dags(4)
    dags = dags[~(dags & constraints.forbidden).any(axis=(1, 2))]
    classes = {}
    for dag in dags:
        key = skeleton(dag).tobytes(), frozenset(map(tuple, v_structures(dag)))
        classes.setdefault(key, []).append(dag)
    samples = DAGSamples(
        np.packbits(dags[None], axis=-1), upstream=constraints.upstream
    )
    found = samples.as_kind(dags, "cpdag")
    for dag, cpdag in zip(dags, found, strict=True):
        key = skeleton(dag).tobytes(), frozenset(map(tuple, v_structures(dag)))
        assert_array_equal(cpdag, np.any(classes[key], axis=0))


def test_a_known_direction_settles_others():
    """a - b - c without a v-structure: with a first, the chain leads away from it."""
    dags = graph(3, (0, 1), (1, 2))[None]
    samples = DAGSamples(np.packbits(dags[None], axis=-1), upstream=((0,),))
    assert_array_equal(samples.as_kind(dags, "cpdag"), dags)
    for same in (samples.chain(0), samples.with_dags(samples.packed)):
        assert same.upstream == ((0,),)


@pytest.mark.parametrize(
    "model",
    [
        quick(PartitionMCMCStructure),
        IterativeSearchStructure(n_draws=0, random_state=0),
        ExactStructure(random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_estimators_and_pictures_know(model):
    """Four variables in a row, whose directions the data do not tell."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    for k in (1, 2, 3):
        X[:, k] += X[:, k - 1]
    X = pd.DataFrame(X, columns=list("abcd"))
    chain = graph(4, (0, 1), (1, 2), (2, 3))
    assert_array_equal(model.fit(X).cpdag_, chain | chain.T)
    model.set_params(tiers=[["a", "b"], ["c", "d"]]).fit(X)
    expected = chain | graph(4, (1, 0))
    assert_array_equal(model.cpdag_, expected)
    assert_array_equal(model.consensus_graph(0.5, "cpdag"), expected)
    display = GraphDisplay.from_estimator(model, true_graph=chain)
    assert set(display.heads_) == {(1, 2), (2, 3)}
    assert set(display.differences_.values()) == {"right"}
