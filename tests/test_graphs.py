from collections import defaultdict
from itertools import combinations

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import helpers
from helpers import graph
from skbidag._core import _graphs
from skbidag._equivalence import to_cpdags
from skbidag.graphs import (
    align_labels,
    ancestors,
    connected_nodes,
    descendants,
    from_networkx,
    is_cpdag,
    is_dag,
    labels_of,
    markov_blanket,
    neighborhood,
    skeleton,
    subgraph,
    to_cpdag,
    to_networkx,
    to_sparse,
    topological_order,
    v_structures,
)


def all_digraphs(n):
    """Every directed graph without self-loops on n nodes."""
    places = [(i, j) for i in range(n) for j in range(n) if i != j]
    for code in range(2 ** len(places)):
        A = np.zeros((n, n), dtype=bool)
        for bit, (i, j) in enumerate(places):
            A[i, j] = code >> bit & 1
        yield A


def acyclic(A):
    """Whether the powers of A vanish, the slow and certain way."""
    return not np.linalg.matrix_power(A.astype(int), len(A)).any()


def naive_v_structures(A):
    return [
        (i, k, j)
        for i in range(len(A))
        for k in range(len(A))
        for j in range(i + 1, len(A))
        if A[i, k] and A[j, k] and not A[i, j] and not A[j, i]
    ]


def random_dag(rng, n, n_parents=2.0):
    return helpers.random_dag(rng, n, 2 * n_parents / (n - 1))


@pytest.fixture(scope="module")
def dags4():
    return [A for A in all_digraphs(4) if acyclic(A)]


@pytest.fixture(scope="module")
def cpdags4(dags4):
    """The CPDAG of each DAG, as the union of the DAGs equivalent to it."""
    classes = defaultdict(list)
    for A in dags4:
        classes[(A | A.T).tobytes(), tuple(naive_v_structures(A))].append(A)
    assert len(classes) == 185  # the number of equivalence classes on four nodes
    union = {key: np.any(members, axis=0) for key, members in classes.items()}
    return [union[(A | A.T).tobytes(), tuple(naive_v_structures(A))] for A in dags4]


def test_to_cpdag_of_all_dags_with_four_nodes(dags4, cpdags4):
    assert len(dags4) == 543
    for A, expected in zip(dags4, cpdags4, strict=True):
        np.testing.assert_array_equal(to_cpdag(A), expected)


def interventional_classes(dags, targets):
    """Classes as Hauser & Bühlmann (2012) define them, and the union of each.

    The same skeleton and v-structures and, for each experiment, the same skeleton
    without the edges into its targets.
    """
    classes = defaultdict(list)
    keys = []
    for A in dags:
        key = [(A | A.T).tobytes(), tuple(naive_v_structures(A))]
        for target in targets:
            left = A.copy()
            left[:, target] = 0
            key.append((left | left.T).tobytes())
        keys.append(tuple(key))
        classes[keys[-1]].append(A)
    union = {key: np.any(members, axis=0) for key, members in classes.items()}
    return [union[key] for key in keys]


def families_of_targets():
    """All families of one or two experiments with four nodes, and some of more."""
    subsets = [
        list(members) for size in (1, 2, 3) for members in combinations(range(4), size)
    ]
    yield from ([one] for one in subsets)
    yield from combinations(subsets, 2)
    rng = np.random.default_rng(0)
    for size in (3, 4, 5) * 5:
        yield [subsets[k] for k in rng.choice(len(subsets), size, replace=False)]


@pytest.mark.slow
def test_interventional_cpdags_of_all_dags_with_four_nodes(dags4):
    dags = np.array(dags4, dtype=bool)
    for targets in families_of_targets():
        expected = interventional_classes(dags4, targets)
        found, cyclic = to_cpdags(dags, targets=targets)
        assert cyclic == -1
        np.testing.assert_array_equal(found, expected, err_msg=str(targets))


def test_targets_of_one_dag(dags4):
    A = dags4[300]
    np.testing.assert_array_equal(to_cpdag(A, targets=[[]]), to_cpdag(A))
    everything = [[node] for node in range(4)]
    np.testing.assert_array_equal(to_cpdag(A, targets=everything), A)
    with pytest.raises(ValueError, match="node must be below 4, got 4"):
        to_cpdag(A, targets=[[0, 4]])


def test_batch_of_cpdags(dags4, cpdags4):
    dags = np.array(dags4, dtype=np.uint8)
    out = np.full_like(dags, 7)
    assert _graphs.cpdags(dags, out) == -1
    np.testing.assert_array_equal(out, cpdags4)

    dags[5] = 1 - np.eye(4)
    dags[8] = 1 - np.eye(4)
    assert _graphs.cpdags(dags, out) == 5


def test_is_cpdag_of_all_graphs_with_four_nodes(cpdags4):
    complete = {G.tobytes() for G in cpdags4}
    found = [G for G in all_digraphs(4) if is_cpdag(G)]
    assert {G.tobytes() for G in found} == complete


def test_is_cpdag_on_larger_graphs():
    rng = np.random.default_rng(0)
    n_changed = 0
    for n in rng.integers(5, 70, size=40):
        A = random_dag(rng, n)
        G = to_cpdag(A)
        assert is_cpdag(G)
        # A graph that is not the CPDAG of its own members is no CPDAG.
        if not np.array_equal(A, G):
            assert not is_cpdag(A)
            n_changed += 1
    assert n_changed > 20
    # An undirected cycle of four cannot be directed without a v-structure.
    square = skeleton(np.roll(np.eye(4), 1, axis=1))
    assert not is_cpdag(square)
    assert not is_cpdag(np.eye(3))


def test_cpdag_is_the_same_for_equivalent_dags():
    """Reversing covered edges at random stays in the equivalence class."""
    rng = np.random.default_rng(1)
    for _ in range(10):
        A = random_dag(rng, 30, 3.0)
        B = A.copy()
        n_reversed = 0
        for _ in range(300):
            i, j = rng.choice(np.argwhere(B))
            others = B[:, j].copy()
            others[i] = False
            if np.array_equal(others, B[:, i]):
                B[i, j], B[j, i] = False, True
                n_reversed += 1
        assert n_reversed
        cpdag = to_cpdag(A)
        np.testing.assert_array_equal(to_cpdag(B), cpdag)
        np.testing.assert_array_equal(skeleton(cpdag), skeleton(A))
        assert v_structures(cpdag) == v_structures(A) == v_structures(B)


def test_is_dag_agrees_with_networkx():
    rng = np.random.default_rng(2)
    verdicts = []
    for n in range(1, 40):
        A = rng.random((n, n)) < 0.7 / n
        verdicts.append(is_dag(A))
        assert verdicts[-1] == nx.is_directed_acyclic_graph(nx.DiGraph(A))
        assert is_dag(random_dag(rng, n + 1))
    assert 5 < sum(verdicts) < 34
    assert all(is_dag(A) == acyclic(A) for A in all_digraphs(3))


def test_topological_order():
    rng = np.random.default_rng(3)
    for n in (1, 2, 10, 60):
        A = random_dag(rng, n + 1)
        order = topological_order(A)
        assert order.tolist() == list(
            nx.lexicographical_topological_sort(to_networkx(A))
        )
    with pytest.raises(ValueError, match="cycle"):
        topological_order([[0, 1], [1, 0]])


def test_relatives_agree_with_networkx():
    rng = np.random.default_rng(4)
    for n in (5, 20, 50):
        A = random_dag(rng, n)
        graph = to_networkx(A)
        for node in range(n):
            assert ancestors(A, node).tolist() == sorted(nx.ancestors(graph, node))
            assert descendants(A, node).tolist() == sorted(nx.descendants(graph, node))
            # The Markov blanket is the neighborhood in the moral graph.
            moral = set(graph.predecessors(node)) | set(graph.successors(node))
            for a, b in combinations(range(n), 2):
                if node in (a, b) and set(graph[a]) & set(graph[b]):
                    moral |= {a, b}
            assert markov_blanket(A, node).tolist() == sorted(moral - {node})


def test_v_structures(dags4):
    for A in dags4:
        assert v_structures(A) == naive_v_structures(A)
    (triple,) = v_structures([[0, 1, 0], [0, 0, 0], [0, 1, 0]])
    assert all(type(node) is int for node in triple)
    # Two undirected edges make no v-structure.
    assert v_structures([[0, 1, 0], [1, 0, 1], [0, 1, 0]]) == []


def test_networkx_round_trip():
    rng = np.random.default_rng(5)
    A = random_dag(rng, 12)
    names = [f"x{i}" for i in range(12)]
    graph = to_networkx(A, names=names)
    assert list(graph) == names
    np.testing.assert_array_equal(from_networkx(graph), A)
    np.testing.assert_array_equal(from_networkx(to_networkx(to_cpdag(A))), to_cpdag(A))
    order = rng.permutation(12)
    np.testing.assert_array_equal(
        from_networkx(graph, nodes=[names[i] for i in order]), A[np.ix_(order, order)]
    )
    np.testing.assert_array_equal(from_networkx(graph, nodes=names[:5]), A[:5, :5])
    np.testing.assert_array_equal(from_networkx(graph.to_undirected()), skeleton(A))


def test_networkx_errors():
    graph = nx.DiGraph([("a", "b")])
    with pytest.raises(ValueError, match="'c' is not"):
        from_networkx(graph, nodes=["a", "c"])
    with pytest.raises(ValueError, match="nodes must differ"):
        from_networkx(graph, nodes=["a", "a"])
    with pytest.raises(TypeError, match="networkx graph, got list"):
        from_networkx([[0, 1], [0, 0]])
    with pytest.raises(ValueError, match="one entry per node"):
        to_networkx([[0, 1], [0, 0]], names=["a"])
    with pytest.raises(ValueError, match="names must differ"):
        to_networkx([[0, 1], [0, 0]], names=["a", "a"])


@pytest.mark.parametrize(
    "convert",
    [
        np.asarray,
        np.asfortranarray,
        pd.DataFrame,
        np.ndarray.tolist,
        *(lambda A, t=t: A.astype(t) for t in (bool, np.int8, np.float32, object)),
    ],
)
def test_any_kind_of_matrix(convert):
    A = random_dag(np.random.default_rng(6), 9).astype(int)
    given = convert(A)
    assert is_dag(given)
    np.testing.assert_array_equal(to_cpdag(given), to_cpdag(A))
    np.testing.assert_array_equal(np.asarray(given), A)  # left as it was
    frozen = A.astype(bool)
    frozen.setflags(write=False)
    np.testing.assert_array_equal(to_cpdag(frozen), to_cpdag(A))


@pytest.mark.parametrize(
    "function", [is_dag, to_cpdag, is_cpdag, skeleton, v_structures, topological_order]
)
def test_bad_matrices(function):
    with pytest.raises(ValueError, match=r"square matrix.*shape \(2, 3\)"):
        function(np.zeros((2, 3)))
    with pytest.raises(ValueError, match="square matrix"):
        function([0, 1])
    with pytest.raises(ValueError, match=r"zeros and ones only, got .\[0, 1\] = 0.5"):
        function([[0, 0.5], [0, 0]])
    with pytest.raises(ValueError, match="= nan"):
        function([[0, 0], [np.nan, 0]])
    with pytest.raises(ValueError, match="zeros and ones"):
        function([["0", "1"], ["0", "0"]])
    with pytest.raises(ValueError, match="must be an array-like"):
        function(3)


def test_cyclic_graphs_and_bad_nodes():
    cycle = np.roll(np.eye(3), 1, axis=1)
    with pytest.raises(ValueError, match="cycle"):
        to_cpdag(cycle)
    with pytest.raises(ValueError, match="cycle"):
        to_cpdag(1 - np.eye(3))
    with pytest.raises(ValueError, match="node 0 to itself"):
        to_cpdag(np.eye(3))
    for function in (ancestors, descendants, markov_blanket):
        with pytest.raises(ValueError, match="cycle"):
            function(cycle, 0)
        with pytest.raises(ValueError, match="below 3, got 3"):
            function(np.zeros((3, 3)), 3)
        with pytest.raises(ValueError, match="'node' parameter"):
            function(np.zeros((3, 3)), -1)


def test_smallest_graphs():
    for n in (0, 1):
        A = np.zeros((n, n))
        assert is_dag(A)
        assert is_cpdag(A)
        assert to_cpdag(A).shape == (n, n)
        assert topological_order(A).tolist() == list(range(n))


# ---------------------------------------------------------------------- labels

CHAIN = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]])


def test_rows_follow_the_columns():
    names = ["a", "b", "c"]
    frame = pd.DataFrame(CHAIN, index=names, columns=names)
    for rows in (["c", "a", "b"], ["b", "a", "c"]):
        turned = frame.loc[rows]
        assert topological_order(turned).tolist() == [0, 1, 2]
        assert ancestors(turned, 2).tolist() == [0, 1]
        np.testing.assert_array_equal(align_labels(turned, names), CHAIN)


def test_frames_that_name_columns_only_or_nothing():
    names = ["a", "b", "c"]
    for frame, labels in [
        (pd.DataFrame(CHAIN), None),
        (pl.DataFrame(CHAIN), None),
        (pd.DataFrame(CHAIN, columns=names), names),
        (pd.DataFrame(CHAIN, index=names), names),
        (pl.DataFrame(CHAIN, schema=names), names),
    ]:
        assert labels_of(frame) == labels
        np.testing.assert_array_equal(align_labels(frame, names), CHAIN)
        np.testing.assert_array_equal(skeleton(frame), skeleton(CHAIN))
    assert labels_of(CHAIN) is None
    assert labels_of(CHAIN.tolist()) is None


@pytest.mark.parametrize("index", [["b", "c", "a"], None])
def test_align_labels(index):
    columns = ["b", "c", "a"]
    order = [1, 2, 0]  # of a b c
    frame = pd.DataFrame(CHAIN[np.ix_(order, order)], index=index, columns=columns)
    np.testing.assert_array_equal(align_labels(frame, np.array(["a", "b", "c"])), CHAIN)
    np.testing.assert_array_equal(align_labels(frame, None), frame.to_numpy())


def test_numbers_as_labels_are_indices():
    frame = pd.DataFrame(CHAIN).iloc[[2, 0, 1], [1, 2, 0]]
    assert labels_of(frame) is None
    np.testing.assert_array_equal(align_labels(frame, ["x", "y", "z"]), CHAIN)
    np.testing.assert_array_equal(to_cpdag(frame), to_cpdag(CHAIN))


def test_labels_that_do_not_fit():
    frame = pd.DataFrame(CHAIN, index=list("abc"), columns=list("abc"))
    with pytest.raises(ValueError, match="graph has the label 'c', which is not among"):
        align_labels(frame, ["a", "b", "z"], "graph")
    with pytest.raises(
        ValueError, match="graph has no label 'd', unlike the variables"
    ):
        align_labels(frame, list("abcd"), "graph")
    with pytest.raises(ValueError, match=r"A has the label 'z', .* among the columns"):
        is_dag(frame.rename(index={"a": "z"}))
    with pytest.raises(ValueError, match="A has a label more than once"):
        is_dag(frame.rename(columns={"a": "b"}))
    with pytest.raises(ValueError, match="square matrix"):
        is_dag(frame.drop(columns="a"))


def test_to_networkx_takes_labels_for_names():
    names = ["a", "b", "c"]
    frame = pd.DataFrame(CHAIN, index=names, columns=names)
    turned = frame.loc[::-1, ["b", "a", "c"]]
    assert set(to_networkx(turned).edges) == {("a", "b"), ("b", "c")}
    graph = to_networkx(turned, names=names)
    assert list(graph) == names
    assert set(graph.edges) == {("a", "b"), ("b", "c")}
    with pytest.raises(ValueError, match="A has the label 'b'"):
        to_networkx(turned, names=["x", "y", "z"])


# ---------------------------------------------------------------- parts of graphs


def test_subgraph_by_index_and_label():
    A = graph(4, (0, 2), (1, 2), (2, 3))
    assert_array_equal(subgraph(A, [3, 2]), [[False, False], [True, False]])
    frame = pd.DataFrame(A.astype(int), index=list("abcd"), columns=list("abcd"))
    assert_array_equal(subgraph(frame, ["d", "c"]), subgraph(A, [3, 2]))
    assert subgraph(A, []).shape == (0, 0)
    with pytest.raises(ValueError, match=r"nodes must be indices below 4.*'e'"):
        subgraph(frame, ["a", "e"])
    with pytest.raises(ValueError, match="nodes must be indices below 4"):
        subgraph(A, [4])


def test_connected_nodes():
    assert_array_equal(connected_nodes(graph(5, (3, 1), (1, 4))), [1, 3, 4])
    assert len(connected_nodes(graph(3))) == 0


def test_neighborhood_against_networkx():
    rng = np.random.default_rng(0)
    for _ in range(10):
        A = random_dag(rng, 9, 1.0)
        undirected = nx.from_numpy_array(A | A.T)
        for distance in range(4):
            near = nx.ego_graph(undirected, 0, radius=distance).nodes
            assert_array_equal(neighborhood(A, 0, distance), sorted(near))
            both = set(near) | set(nx.ego_graph(undirected, 5, radius=distance).nodes)
            assert_array_equal(neighborhood(A, [0, 5], distance), sorted(both))


def test_to_sparse():
    A = graph(4, (0, 2), (1, 2), (2, 3))
    assert_array_equal(to_sparse(A).toarray(), A)
    assert to_sparse(A).dtype == bool
    assert_allclose(to_sparse(0.3 * A).sum(), 0.9)
