"""Orders and DAGs that chains and searches are to start from."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from helpers import assert_same_draws, graph, quick
from skbidag import (
    IterativeSearchStructure,
    OrderMCMCStructure,
    PartitionMCMCStructure,
)
from skbidag._constraints import resolve_constraints
from skbidag._given_starts import resolve_starts
from skbidag.datasets import make_gaussian_network
from skbidag.graphs import topological_order

SAMPLERS = [
    (OrderMCMCStructure, {"move_probabilities": [0, 1, 0]}),
    (PartitionMCMCStructure, {"move_probabilities": [0, 1, 0, 0, 0, 0]}),
    (PartitionMCMCStructure, {"walk": "partitions"}),
]
NAMES = ["a", "b", "c"]
DAG = graph(3, (2, 0), (0, 1))

short = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def resolve(start, names=NAMES, **constraints):
    return resolve_starts(start, 3, names, resolve_constraints(3, names, **constraints))


@pytest.mark.parametrize(
    "start",
    [["c", "a", "b"], (2, 0, 1), np.array([2, 0, 1]), np.array(["c", "a", "b"])],
)
def test_orders(start):
    (one,) = resolve(start)
    assert_array_equal(one.order, [1, 0, 2])  # parents to the right
    assert one.dag is None


@pytest.mark.parametrize(
    "start",
    [
        DAG,
        DAG.astype(int).tolist(),
        pd.DataFrame(DAG, index=NAMES, columns=NAMES).loc[::-1, ::-1],
        [DAG],
        DAG[None],
    ],
)
def test_dags(start):
    (one,) = resolve(start)
    assert_array_equal(one.order, [1, 0, 2])
    assert_array_equal(one.dag, DAG)


def test_several():
    starts = resolve([["c", "a", "b"], DAG, np.array([0, 1, 2])])
    assert [start.order.tolist() for start in starts] == [
        [1, 0, 2],
        [1, 0, 2],
        [2, 1, 0],
    ]
    assert [start.dag is None for start in starts] == [True, False, True]
    # as many orders as variables are no DAG
    assert len(resolve([[0, 1, 2], [1, 0, 2], [2, 1, 0]])) == 3
    assert resolve(None) == []


@pytest.mark.parametrize(
    ("start", "message"),
    [
        (["a", "b"], "order of all 3 variables"),
        (["a", "b", "b"], "order of all 3 variables"),
        (["a", "b", "d"], "start names an unknown variable: 'd'"),
        ([0, 1, 5], "start has the index 5"),
        (np.array([0.5, 1.0, 2.0]), "by name or index"),
        (np.zeros((2, 2)), r"shape \(3, 3\)"),
        (graph(3, (0, 1), (1, 0)), "cycle"),
        (graph(3, (0, 1)), "start lacks the required edge 'c' -> 'b'"),
        (["a", "b", "c"], "start has no room for the required edge 'c' -> 'b'"),
        (graph(3, (2, 1), (1, 0)), "start has the forbidden edge 'b' -> 'a'"),
    ],
)
def test_bad_starts(start, message):
    with pytest.raises(ValueError, match=message):
        resolve(start, required_edges=[("c", "b")], forbidden_edges=[("b", "a")])


@pytest.fixture(scope="module")
def data():
    return make_gaussian_network(100, 8, random_state=0).data


@short
@pytest.mark.parametrize(("structure", "options"), SAMPLERS[:2])
def test_chains_start_there(data, structure, options):
    orders = [list(range(8)), list(range(7, -1, -1))]
    model = quick(
        structure, start=orders, n_iter=1, n_draws=1, burn_in=0.0, n_chains=4, **options
    ).fit(data)
    for k, run in enumerate(model._progress.runs):
        if structure is OrderMCMCStructure:
            # one exchange of neighbors, at most
            far = np.flatnonzero(run.state["order"] != orders[k % 2][::-1])
            assert len(far) in (0, 2)
        else:
            # the best DAG of the order, of which one edge has been turned at most
            against = model.dag_samples_[k][np.ix_(orders[k % 2], orders[k % 2])]
            assert np.tril(against).sum() <= 1
            assert against.sum() > 4


@short
@pytest.mark.parametrize(("structure", "options"), SAMPLERS)
def test_chains_start_at_a_dag(data, structure, options):
    best = IterativeSearchStructure(n_draws=0, random_state=0).fit(data)
    empty = np.zeros((8, 8), dtype=bool)
    traces = []
    for start in (best.adjacency_, empty):
        model = quick(
            structure, start=start, n_iter=1, n_draws=1, burn_in=0.0, **options
        ).fit(data)
        traces.append(model.log_score_trace_.mean())
    # the DAGs of an order that fits nothing score less
    assert traces[0] > traces[1]
    assert traces[0] > best.log_score_ - 25


@short
@pytest.mark.parametrize(("structure", "options"), SAMPLERS)
def test_a_dag_outside_of_the_space(data, structure, options):
    full = np.triu(np.ones((8, 8), dtype=bool), 1)
    space = graph(8, (0, 1), (2, 3))
    model = quick(
        structure, start=full, search_space=space, extra_parent=False, **options
    ).fit(data)
    assert not (model.adjacency_ & ~space).any()


@short
@pytest.mark.parametrize("scheme", ["wide", "paper"])
def test_searches_start_there(data, scheme):
    best = IterativeSearchStructure(n_draws=0, random_state=0).fit(data)
    order = topological_order(best.adjacency_)
    found = IterativeSearchStructure(
        n_draws=0, random_state=0, scheme=scheme, start=order, search_space="full",
        max_expansions=0, search="greedy", search_iter=1,
    ).fit(data)  # fmt: skip
    assert found.log_score_ >= best.log_score_ - 1e-8


def test_a_start_is_checked_before_work(data):
    with pytest.raises(ValueError, match="start must be an order of all 8"):
        OrderMCMCStructure(start=[0, 1]).fit(data)
    search = IterativeSearchStructure(start=[0, 1])
    with pytest.raises(ValueError, match="start must be an order of all 8"):
        search.fit(data)
    with pytest.raises(ValueError, match="start must be an order of all 8"):
        OrderMCMCStructure(search_space=search).fit(data)


@short
def test_the_same_seed_and_start_give_the_same(data):
    options = {"start": [list(range(8)), graph(8, (0, 1))], "n_chains": 3}
    assert_same_draws(quick(**options).fit(data), quick(n_jobs=2, **options).fit(data))


@short
def test_one_variable():
    X = np.random.default_rng(0).normal(size=(20, 1))
    model = quick(start=[0]).fit(X)
    assert model.adjacency_.shape == (1, 1)
