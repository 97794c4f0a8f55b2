import inspect
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.metrics import average_precision_score, roc_curve
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from helpers import graph, random_dag
from skbidag import OrderMCMCStructure, diagnostics, inspection, metrics
from skbidag.datasets import make_gaussian_network
from skbidag.graphs import to_cpdag
from skbidag.metrics import (
    compare_each,
    compare_graphs,
    compare_thresholds,
    edge_average_precision,
    edge_roc,
    make_graph_scorer,
    structural_hamming_distance,
)

KINDS = ["cpdag", "dag", "skeleton"]


# 0 -> 2 <- 1, 2 -> 3: every edge is compelled.
COLLIDER = graph(4, (0, 2), (1, 2), (2, 3))
# 0 -> 2 -> 1, 2 -> 3: no edge is compelled.
FORK = graph(4, (0, 2), (2, 1), (2, 3))
EMPTY = graph(4)


@pytest.mark.parametrize(
    ("kind", "distance"), [("skeleton", 0), ("dag", 1), ("cpdag", 3)]
)
def test_distance_by_hand(kind, distance):
    assert structural_hamming_distance(COLLIDER, FORK, kind=kind) == distance
    assert structural_hamming_distance(FORK, COLLIDER, kind=kind) == distance
    assert distance == compare_graphs(COLLIDER, FORK, kind=kind).SHD


def test_distance_counts_inserted_deleted_and_flipped():
    other = graph(4, (2, 0), (2, 3), (0, 1))  # flipped 0-2, lost 1-2, new 0-1
    assert structural_hamming_distance(COLLIDER, other, kind="dag") == 3
    assert structural_hamming_distance(COLLIDER, other, kind="skeleton") == 2
    # All edges of the other are reversible: its one common edge differs as well.
    assert structural_hamming_distance(COLLIDER, other, kind="cpdag") == 4
    assert structural_hamming_distance(COLLIDER, EMPTY, kind="cpdag") == 3


def test_a_cpdag_is_taken_as_it_is():
    rng = np.random.default_rng(0)
    for _ in range(20):
        A, B = random_dag(rng, 8, 0.3), random_dag(rng, 8, 0.3)
        distance = structural_hamming_distance(A, B, "cpdag")
        assert structural_hamming_distance(to_cpdag(A), B, "cpdag") == distance
        assert structural_hamming_distance(A, to_cpdag(B), "cpdag") == distance
        assert structural_hamming_distance(to_cpdag(A), to_cpdag(B)) == distance
        assert structural_hamming_distance(A, to_cpdag(A), "cpdag") == 0


@pytest.mark.parametrize("kind", KINDS)
def test_distance_is_a_metric(kind):
    rng = np.random.default_rng(1)
    for _ in range(20):
        A, B, C = (random_dag(rng, 7, 0.3) for _ in range(3))
        AB = structural_hamming_distance(A, B, kind=kind)
        BC = structural_hamming_distance(B, C, kind=kind)
        AC = structural_hamming_distance(A, C, kind=kind)
        assert AC <= AB + BC
        assert structural_hamming_distance(B, A, kind=kind) == AB
        assert type(AB) is int
        assert AB <= 21


def test_comparison_by_hand():
    estimated = graph(4, (2, 0), (2, 3), (0, 1))
    result = compare_graphs(COLLIDER, estimated, kind="skeleton")
    # True pairs 02 12 23, estimated 02 23 01; three pairs have no true edge.
    assert dict(result) == pytest.approx(
        {
            "TP": 2,
            "FP": 1,
            "FN": 1,
            "TPR": 2 / 3,
            "FPR": 1 / 3,
            "FPRp": 1 / 3,
            "FDR": 1 / 3,
            "SHD": 2,
            "precision": 2 / 3,
            "recall": 2 / 3,
            "F1": 2 / 3,
        }
    )
    result = compare_graphs(COLLIDER, estimated, kind="dag")
    # Only 2 -> 3 is right; nine of the twelve places have no true edge.
    assert (result.TP, result.FP, result.FN) == (1, 2, 2)
    assert pytest.approx(2 / 9) == result.FPR
    result = compare_graphs(COLLIDER, estimated, kind="cpdag")
    # 0 - 2, 2 - 3 and 0 - 1 hold 0 -> 2 and 2 -> 3, and four wrong directions.
    assert (result.TP, result.FP, result.FN) == (2, 4, 1)
    assert pytest.approx(4 / 3) == result.FPRp


@pytest.mark.parametrize("kind", KINDS)
def test_comparison_of_empty_and_full_graphs(kind):
    same = compare_graphs(EMPTY, EMPTY, kind=kind)
    assert (same.TP, same.FP, same.FN, same.SHD) == (0, 0, 0, 0)
    assert same.TPR == same.recall == same.precision == same.F1 == 1
    assert same.FPR == same.FPRp == same.FDR == 0

    nothing_found = compare_graphs(COLLIDER, EMPTY, kind=kind)
    assert nothing_found.TPR == nothing_found.F1 == nothing_found.FPR == 0
    assert nothing_found.precision == 1

    nothing_there = compare_graphs(EMPTY, COLLIDER, kind=kind)
    assert nothing_there.TPR == nothing_there.FDR == 1
    assert nothing_there.precision == nothing_there.F1 == 0
    assert nothing_there.FPRp == np.inf

    full = np.triu(np.ones((4, 4)), 1)
    perfect = compare_graphs(full, full, kind=kind)
    assert perfect.TPR == perfect.F1 == 1
    assert perfect.FPR == 0


def test_roc_by_hand():
    true = graph(3, (0, 1), (1, 2))
    p = np.array([[0, 0.6, 0.1], [0.3, 0, 0.2], [0.1, 0.5, 0]])
    fpr, tpr, thresholds = edge_roc(true, p, kind="skeleton")
    np.testing.assert_allclose(thresholds, [np.inf, 0.9, 0.7, 0.2])
    np.testing.assert_allclose(tpr, [0, 0.5, 1, 1])
    np.testing.assert_allclose(fpr, [0, 0, 0, 1])
    fpr, tpr, thresholds = edge_roc(true, p, kind="dag", normalize="positives")
    np.testing.assert_allclose(thresholds, [np.inf, 0.6, 0.5, 0.3, 0.2, 0.1])
    np.testing.assert_allclose(tpr, [0, 0.5, 0.5, 0.5, 1, 1])
    np.testing.assert_allclose(fpr, [0, 0, 0.5, 1, 1, 2])
    assert edge_average_precision(true, p, kind="skeleton") == 1
    assert edge_average_precision(true, p, kind="dag") == pytest.approx((1 + 0.5) / 2)


@pytest.mark.parametrize("kind", KINDS)
def test_roc_agrees_with_comparison_and_sklearn(kind):
    rng = np.random.default_rng(2)
    n = 8
    true = random_dag(rng, n, 0.3)
    p = rng.integers(0, 6, size=(n, n)) / 10  # with ties
    pair = p
    truth = true
    places = ~np.eye(n, dtype=bool)
    if kind == "skeleton":
        pair, truth, places = np.minimum(p + p.T, 1), true | true.T, np.triu(places)
    elif kind == "cpdag":
        truth = to_cpdag(true)
    fpr, tpr, thresholds = edge_roc(true, p, kind=kind)
    fprp = edge_roc(true, p, kind=kind, normalize="positives")[0]
    for k, threshold in enumerate(thresholds):
        graph = (pair >= threshold) & ~np.eye(n, dtype=bool)
        # Compared as they are: what is above a threshold need not be acyclic.
        like = "skeleton" if kind == "skeleton" else "dag"
        result = compare_graphs(truth, graph, kind=like)
        assert (fpr[k], tpr[k], fprp[k]) == pytest.approx(
            (result.FPR, result.TPR, result.FPRp)
        )
    expected = roc_curve(truth[places], pair[places], drop_intermediate=False)
    for ours, theirs in zip((fpr, tpr, thresholds), expected, strict=True):
        np.testing.assert_allclose(ours, theirs)
    assert edge_average_precision(true, p, kind=kind) == pytest.approx(
        average_precision_score(truth[places], pair[places])
    )


@pytest.mark.parametrize("kind", KINDS)
def test_roc_without_true_edges_or_without_others(kind):
    p = np.full((4, 4), 0.25)
    fpr, tpr, _ = edge_roc(EMPTY, p, kind=kind)
    assert fpr.tolist() == [0, 1]
    assert tpr.tolist() == [1, 1]
    fprp, _, _ = edge_roc(EMPTY, p, kind=kind, normalize="positives")
    assert fprp.tolist() == [0, np.inf]
    assert np.isnan(edge_average_precision(EMPTY, p, kind=kind))
    full = np.triu(np.ones((4, 4)), 1)
    fpr, _, _ = edge_roc(full, p, kind="skeleton")
    assert fpr.tolist() == [0, 0]
    # One node has no place for an edge at all.
    fpr, tpr, thresholds = edge_roc([[0]], [[0]], kind=kind)
    assert (fpr.tolist(), tpr.tolist(), thresholds.tolist()) == ([0], [1], [np.inf])


def test_probabilities_may_exceed_one_by_rounding_only():
    p = np.where(COLLIDER, 1 + 1e-12, 0.0)
    assert edge_average_precision(COLLIDER, p) == 1
    for wrong in (1.1, -0.1, np.nan):
        p[0, 2] = wrong
        with pytest.raises(ValueError, match="between 0 and 1"):
            edge_roc(COLLIDER, p)


def test_bad_input():
    for function in (structural_hamming_distance, compare_graphs):
        with pytest.raises(ValueError, match="same nodes, got 4 and 3"):
            function(COLLIDER, np.zeros((3, 3)))
        with pytest.raises(ValueError, match="'kind' parameter"):
            function(COLLIDER, FORK, kind="pdag")
        with pytest.raises(ValueError, match=r"got estimated\[0, 0\] = 2"):
            function(COLLIDER, 2 * np.eye(4))
        with pytest.raises(ValueError, match="estimated has a directed cycle"):
            function(COLLIDER, np.roll(np.eye(4), 1, axis=0), kind="cpdag")
    for function in (edge_roc, edge_average_precision):
        with pytest.raises(ValueError, match="square matrix"):
            function(COLLIDER, np.zeros((4, 3)))
        with pytest.raises(ValueError, match="same nodes, got 4 and 3"):
            function(COLLIDER, np.zeros((3, 3)))
    with pytest.raises(ValueError, match="'normalize' parameter"):
        edge_roc(COLLIDER, COLLIDER, normalize="all")


# --------------------------------------------------------------------- scorers


@pytest.fixture(scope="module")
def network_and_model():
    network = make_gaussian_network(100, 6, random_state=0)
    model = OrderMCMCStructure(n_draws=50, n_chains=2, random_state=0)
    return network, model.fit(network.data)


@pytest.mark.parametrize("kind", KINDS)
def test_scorers(network_and_model, kind):
    network, model = network_and_model
    true = network.adjacency
    estimated = model.adjacency_ if kind == "dag" else model.cpdag_
    comparison = compare_graphs(true, estimated, kind=kind)
    expected = {
        "shd": -comparison.SHD,
        "fdr": -comparison.FDR,
        "f1": comparison.F1,
        "precision": comparison.precision,
        "recall": comparison.recall,
    }
    for metric, value in expected.items():
        scorer = make_graph_scorer(true, metric, kind)
        assert scorer(model, network.data) == scorer(model) == value
        assert type(scorer(model)) is float
        assert metric in repr(scorer)
    probabilities = model.edge_probabilities("dag" if kind == "skeleton" else kind)
    assert make_graph_scorer(true, "average_precision", kind)(model) == pytest.approx(
        edge_average_precision(true, probabilities, kind)
    )


def test_scorers_in_model_selection(network_and_model):
    network, _ = network_and_model
    model = OrderMCMCStructure("bge", n_draws=20, n_chains=2, random_state=0)
    scorer = pickle.loads(
        pickle.dumps(make_graph_scorer(network.adjacency, "f1", "cpdag"))
    )
    scores = cross_val_score(model, network.data, scoring=scorer, cv=2)
    assert scores.shape == (2,)
    assert (scores > 0.3).all()
    pipeline = make_pipeline(StandardScaler(), model).fit(network.data)
    assert scorer(pipeline) == scorer(pipeline[-1])


def test_scorers_validate():
    with pytest.raises(ValueError, match="'metric' parameter of make_graph_scorer"):
        make_graph_scorer(COLLIDER, "accuracy")
    with pytest.raises(ValueError, match="true must be a square matrix"):
        make_graph_scorer([[0, 1]])
    with pytest.raises(NotFittedError):
        make_graph_scorer(COLLIDER)(OrderMCMCStructure())


# ---------------------------------------------------------------------- kinds


def test_one_default_for_every_kind():
    """What a graph or its probabilities are, not what may be made of them."""
    methods = [
        OrderMCMCStructure.edge_probabilities,
        OrderMCMCStructure.consensus_graph,
        inspection.ConcordanceDisplay.from_estimator,
        inspection.EdgeProbabilityDisplay.from_estimator,
    ]
    functions = [
        getattr(module, name)
        for module in (diagnostics, metrics)
        for name in module.__all__
    ]
    defaults = {
        function.__qualname__: parameters["kind"].default
        for function in [*functions, *methods]
        if "kind" in (parameters := inspect.signature(function).parameters)
    }
    assert len(defaults) == 13
    assert set(defaults.values()) == {"dag"}


# --------------------------------------------------------------------- labels


@pytest.fixture
def labelled():
    """A DAG as a frame, another in another order, and that in the first's order."""
    rng = np.random.default_rng(3)
    true, other = random_dag(rng, 5, 0.3), random_dag(rng, 5, 0.3)
    names, order = list("abcde"), [3, 0, 4, 2, 1]
    frame = pd.DataFrame(true, index=names, columns=names)
    shuffled = [names[i] for i in order]
    estimated = pd.DataFrame(
        other[np.ix_(order, order)], index=shuffled, columns=shuffled
    )
    return frame, estimated, true, other


@pytest.mark.parametrize("kind", KINDS)
def test_labels_are_aligned(labelled, kind):
    frame, estimated, true, other = labelled
    assert not np.array_equal(estimated.to_numpy(), other)
    assert compare_graphs(frame, estimated, kind) == compare_graphs(true, other, kind)
    assert structural_hamming_distance(
        frame, estimated, kind
    ) == structural_hamming_distance(true, other, kind)
    assert edge_average_precision(
        frame, 0.5 * estimated, kind
    ) == edge_average_precision(true, 0.5 * other, kind)
    for ours, theirs in zip(
        edge_roc(frame, 0.5 * estimated, kind),
        edge_roc(true, 0.5 * other, kind),
        strict=True,
    ):
        np.testing.assert_array_equal(ours, theirs)


def test_labels_that_do_not_match(labelled):
    frame, estimated, _, _ = labelled
    renamed = estimated.rename(columns={"c": "z"}, index={"c": "z"})
    with pytest.raises(ValueError, match="estimated has the label 'z'"):
        compare_graphs(frame, renamed)
    fewer = estimated.drop(columns="c", index="c")
    with pytest.raises(ValueError, match="estimated has no label 'c'"):
        compare_graphs(frame, fewer)
    with pytest.raises(ValueError, match="true has the label 'z'"):
        compare_graphs(estimated.rename(index={"c": "z"}), frame)
    with pytest.raises(ValueError, match="probabilities has the label 'z'"):
        edge_roc(frame, renamed)
    # an array has no labels to go by
    assert compare_graphs(frame, estimated.to_numpy()).SHD >= 0


def test_a_scorer_finds_the_columns(network_and_model):
    network, _ = network_and_model
    names = [f"x{i}" for i in range(6)]
    model = OrderMCMCStructure(n_draws=50, n_chains=2, random_state=0)
    model.fit(pd.DataFrame(network.data, columns=names))
    frame = pd.DataFrame(network.adjacency, index=names, columns=names)
    turned = frame.iloc[::-1, ::-1]
    for metric in ("shd", "average_precision"):
        expected = make_graph_scorer(network.adjacency, metric)(model)
        scorer = pickle.loads(pickle.dumps(make_graph_scorer(turned, metric)))
        assert scorer(model) == expected
    renamed = turned.rename(columns=str.upper, index=str.upper)
    with pytest.raises(ValueError, match="true has the label 'X5'"):
        make_graph_scorer(renamed)(model)


# ---------------------------------------------------------------------- tables


@pytest.mark.parametrize("kind", KINDS)
def test_compare_thresholds(kind):
    rng = np.random.default_rng(1)
    true = random_dag(rng, 6, 0.4)
    probabilities = rng.random((6, 6))
    if kind == "skeleton":
        probabilities = np.minimum(probabilities, probabilities.T)
    thresholds = [0.9, 0.5, 0.1]
    table = compare_thresholds(true, probabilities, thresholds, kind)
    assert list(pd.DataFrame(table)["threshold"]) == thresholds
    truth = {"dag": true, "cpdag": to_cpdag(true), "skeleton": true | true.T}[kind]
    for row in table:
        estimate = probabilities > row["threshold"]
        np.fill_diagonal(estimate, False)
        assert row["SHD"] == structural_hamming_distance(truth, estimate)
        expected = compare_graphs(true, estimate, kind="skeleton")
        for name in ("TP", "FP", "FN", "TPR", "FPRp", "FDR"):
            assert row[name] == expected[name]


@pytest.mark.parametrize("kind", KINDS)
def test_compare_each(kind):
    rng = np.random.default_rng(2)
    true, dags = random_dag(rng, 6, 0.4), [random_dag(rng, 6, 0.4) for _ in range(4)]
    table = compare_each(true, np.array(dags), kind)
    assert len(table) == 4
    for row, dag in zip(table, dags, strict=True):
        assert row["SHD"] == structural_hamming_distance(true, dag, kind)
        assert row["TP"] == compare_graphs(true, dag, kind="skeleton").TP


def test_tables_of_an_estimator():
    network = make_gaussian_network(100, 6, random_state=0)
    model = OrderMCMCStructure(
        random_state=0, n_chains=2, n_draws=50, n_iter=50_000
    ).fit(network.data)
    table = compare_each(network.adjacency, model.dag_samples_)
    assert len(table) == 100
    table = compare_thresholds(network.adjacency, model.edge_probabilities("cpdag"))
    assert len(table) == 10
    assert (np.diff(table["TP"]) >= 0).all()


def test_tables_of_other_nodes():
    with pytest.raises(ValueError, match="same nodes"):
        compare_each(COLLIDER, [graph(3, (0, 1))])
    with pytest.raises(ValueError, match="same nodes"):
        compare_thresholds(COLLIDER, np.zeros((3, 3)))
