"""Graphs as adjacency matrices.

A graph with n nodes is an (n, n) matrix of zeros and ones in which ``A[i, j]`` is the
edge i -> j. A partially directed graph, such as a CPDAG, has both ``A[i, j]`` and
``A[j, i]`` where the edge i - j has no direction.

Matrices may be frames. Rows whose labels are those of the columns in another order are
put into the order of the columns, which is that of the nodes.
"""

from collections.abc import Hashable, Sequence
from itertools import combinations
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skbidag._core import _graphs
from skbidag._equivalence import to_cpdags
from skbidag._sklearn import Interval, StrOptions, validate_params

if TYPE_CHECKING:
    import networkx
    import scipy.sparse

__all__ = [
    "ancestor_matrix",
    "ancestors",
    "connected_nodes",
    "descendants",
    "from_networkx",
    "has_path",
    "has_v_structure",
    "is_cpdag",
    "is_dag",
    "markov_blanket",
    "markov_blanket_matrix",
    "neighborhood",
    "skeleton",
    "subgraph",
    "to_cpdag",
    "to_networkx",
    "to_sparse",
    "topological_order",
    "v_structure_matrix",
    "v_structures",
]

# What of a graph is looked at: its edges as they are, those of its equivalence class,
# or which nodes are joined. The default is "dag" everywhere.
Kind = Literal["dag", "cpdag", "skeleton"]
KIND = StrOptions(set(get_args(Kind)))

_NODE = Interval(Integral, 0, None, closed="left")


# ------------------------------------------------------------------------ labels


def labels_of(matrix: Any, parameter: str = "A") -> list[Hashable] | None:
    """Labels of the nodes, if a matrix is a frame that has any.

    Parameters
    ----------
    matrix : array-like of shape (n_nodes, n_nodes)
        A frame, or anything else.
    parameter : str, default="A"
        What messages call it.

    Returns
    -------
    labels : list or None
        Those of the columns, or else of the rows. None if there are none, or if they
        are the numbers 0 to n_nodes - 1.
    """
    return _take_labels(matrix, parameter)[1]


def align_labels(
    matrix: Any, names: Sequence[Hashable] | None, parameter: str = "A"
) -> NDArray:
    """Put the nodes of a matrix into the order of the names, if it is labelled.

    Parameters
    ----------
    matrix : array-like of shape (n_nodes, n_nodes)
        A frame, or anything else, which is taken as it is.
    names : sequence or None
        Names of the nodes. None leaves the order of the columns.
    parameter : str, default="A"
        What messages call the matrix.

    Returns
    -------
    values : ndarray of shape (n_nodes, n_nodes)
        The entries, without labels.

    Raises
    ------
    ValueError
        If the labels of rows and columns differ, or are not the names.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame([[0, 1], [0, 0]], index=["b", "a"], columns=["b", "a"])
    >>> align_labels(frame, ["a", "b"])
    array([[0, 0],
           [1, 0]])
    """
    values, labels = _take_labels(matrix, parameter)
    return reorder(values, labels, names, parameter)


def reorder(values, labels, names, parameter="A"):
    """Put a matrix whose nodes have these labels into the order of the names."""
    if labels is None or names is None:
        return values
    labels, names = list(labels), list(names)
    _check_same_labels(labels, names, parameter, "variables")
    order = [labels.index(name) for name in names]
    return values[np.ix_(order, order)]


def _take_labels(matrix, parameter):
    """Entries of a matrix with rows in the order of the columns, and its labels."""
    if not hasattr(matrix, "columns"):
        return np.asarray(matrix), None
    values = matrix.to_numpy()
    if values.shape[0] != values.shape[1]:
        return values, None  # whoever wants a square matrix says so
    columns = _meaningful(matrix.columns, parameter)
    rows = _meaningful(getattr(matrix, "index", None), parameter)
    if rows is not None and columns is not None and rows != columns:
        _check_same_labels(rows, columns, parameter, "columns")
        values = values[[rows.index(label) for label in columns]]
    labels = rows if columns is None else columns
    if labels is not None and set(labels) == set(range(len(labels))):
        order = np.argsort(labels)  # the nodes' numbers
        return values[np.ix_(order, order)], None
    return values, labels


def _meaningful(labels, parameter):
    """Labels as a list, or None for what frames call columns without a name."""
    if labels is None:
        return None
    labels = list(labels)
    n = len(labels)
    if labels in (list(range(n)), [f"column_{k}" for k in range(n)]):
        return None
    if len(set(labels)) != n:
        raise ValueError(f"{parameter} has a label more than once.")
    return labels


def _check_same_labels(labels, names, parameter, what):
    known = set(names)
    unknown = [label for label in labels if label not in known]
    if unknown:
        raise ValueError(
            f"{parameter} has the label {unknown[0]!r}, which is not among the {what}."
        )
    if len(labels) != len(names):
        present = set(labels)
        missing = next(name for name in names if name not in present)
        raise ValueError(f"{parameter} has no label {missing!r}, unlike the {what}.")


# -------------------------------------------------------------------- validation


def check_adjacency(
    A: ArrayLike,
    name: str = "A",
    *,
    self_loops: bool = False,
    names: Sequence[Hashable] | None = None,
) -> NDArray[np.bool_]:
    """Validate an adjacency matrix.

    Parameters
    ----------
    A : array-like of shape (n_nodes, n_nodes)
        Zeros and ones of any numeric or bool dtype.
    name : str, default="A"
        What messages call it.
    self_loops : bool, default=False
        Whether the diagonal may have ones.
    names : sequence, default=None
        Names of the nodes, into whose order a labelled matrix is put.

    Returns
    -------
    adjacency : ndarray of bool of shape (n_nodes, n_nodes)
        The matrix, C-contiguous. It shares memory with `A` where it can.
    """
    values = align_labels(A, names, name)
    if values.ndim != 2 or values.shape[0] != values.shape[1]:
        raise ValueError(
            f"{name} must be a square matrix of shape (n_nodes, n_nodes), got an "
            f"array of shape {values.shape}."
        )
    if values.dtype != bool:
        # Not astype(bool), which would take a probability or NaN for an edge.
        wrong = (values != 0) & (values != 1)
        if np.any(wrong):
            i, j = np.argwhere(wrong)[0]
            raise ValueError(
                f"{name} must hold zeros and ones only, got {name}[{i}, {j}] = "
                f"{values[i, j]!s}."
            )
        values = values == 1
    if not self_loops and values.diagonal().any():
        node = np.flatnonzero(values.diagonal())[0]
        raise ValueError(f"{name} has an edge from node {node} to itself.")
    return np.ascontiguousarray(values)


def check_probabilities(
    probabilities: ArrayLike, names: Sequence[Hashable] | None = None
) -> NDArray[np.float64]:
    """Validate a matrix of edge probabilities.

    Parameters
    ----------
    probabilities : array-like of shape (n_nodes, n_nodes)
        Numbers between 0 and 1; the diagonal is ignored.
    names : sequence, default=None
        Names of the nodes, into whose order a labelled matrix is put.

    Returns
    -------
    probabilities : ndarray of shape (n_nodes, n_nodes)
        The matrix.
    """
    values = align_labels(probabilities, names, "probabilities")
    values = np.asarray(values, dtype=np.float64)
    if values.ndim != 2 or values.shape[0] != values.shape[1]:
        raise ValueError(
            "probabilities must be a square matrix of shape (n_nodes, n_nodes), got "
            f"an array of shape {values.shape}."
        )
    # Averages of many ones may exceed 1 by rounding. NaN is not within, either.
    within = (values >= 0) & (values <= 1 + 1e-9)
    if not (within | np.eye(len(within), dtype=bool)).all():
        raise ValueError("probabilities must lie between 0 and 1.")
    return values


def _check_node(node, n_nodes):
    if node >= n_nodes:
        raise ValueError(f"node must be below {n_nodes}, got {node}.")
    return int(node)


def _check_dag(A):
    dag = check_adjacency(A)
    if _graphs.topological_order(dag.view(np.uint8)) is None:
        raise ValueError("A must be a DAG, but it has a cycle.")
    return dag


@validate_params({"A": ["array-like"]}, prefer_skip_nested_validation=True)
def is_dag(A: ArrayLike) -> bool:
    """Tell whether a directed graph has no cycle.

    Parameters
    ----------
    A : array-like of shape (n_nodes, n_nodes)
        ``A[i, j]`` is 1 where there is an edge i -> j, 0 elsewhere.

    Returns
    -------
    acyclic : bool
        Whether the graph is a DAG.

    Examples
    --------
    >>> from skbidag.graphs import is_dag
    >>> is_dag([[0, 1], [0, 0]])
    True
    >>> is_dag([[0, 1], [1, 0]])
    False
    """
    graph = check_adjacency(A, self_loops=True)
    return _graphs.topological_order(graph.view(np.uint8)) is not None


@validate_params({"A": ["array-like"]}, prefer_skip_nested_validation=True)
def topological_order(A: ArrayLike) -> NDArray[np.intp]:
    """Put the nodes of a DAG in an order in which parents come before children.

    Of all such orders it is the first in the dictionary's sense: each place has the
    smallest node whose parents all come before.

    Parameters
    ----------
    A : array-like of shape (n_nodes, n_nodes)
        ``A[i, j]`` is 1 where there is an edge i -> j, 0 elsewhere.

    Returns
    -------
    order : ndarray of int of shape (n_nodes,)
        The nodes, parents first.

    Raises
    ------
    ValueError
        If the graph has a cycle.

    Examples
    --------
    >>> from skbidag.graphs import topological_order
    >>> topological_order([[0, 0, 0], [1, 0, 0], [1, 1, 0]])
    array([2, 1, 0])
    """
    dag = check_adjacency(A)
    order = _graphs.topological_order(dag.view(np.uint8))
    if order is None:
        raise ValueError("A has no topological order: it has a cycle.")
    return order.astype(np.intp)


@validate_params({"A": ["array-like"]}, prefer_skip_nested_validation=True)
def to_cpdag(
    A: ArrayLike,
    background: ArrayLike | None = None,
    targets: Sequence[Sequence[int]] = (),
) -> NDArray[np.bool_]:
    """Turn a DAG into the CPDAG of its Markov equivalence class.

    DAGs with the same skeleton and v-structures imply the same conditional
    independences, and data alone cannot tell them apart. The completed partially
    directed acyclic graph (CPDAG, also essential graph) stands for all of them.

    Interventions tell more: an experiment that sets some variables gives the direction
    of every edge between one of these and another variable. DAGs that agree in these
    as well make up an interventional equivalence class [2]_.

    Parameters
    ----------
    A : array-like of shape (n_nodes, n_nodes)
        A DAG. ``A[i, j]`` is 1 where there is an edge i -> j, 0 elsewhere.
    background : array-like of bool, shape (n_nodes,), default=None
        Nodes that have no parents in any DAG that counts as equivalent.
    targets : sequence of sequences of int, default=()
        The nodes that are set in each experiment. Every node must be left alone in
        some rows of the data, which need not be without any intervention.

    Returns
    -------
    cpdag : ndarray of bool of shape (n_nodes, n_nodes)
        An edge i -> j that has its direction in every equivalent DAG has only
        ``cpdag[i, j]``; one that can be reversed has ``cpdag[j, i]`` as well.

    Raises
    ------
    ValueError
        If the graph has a cycle.

    Notes
    -----
    The edges are labelled in the order of [1]_, in time proportional to their number
    once the matrix is read. Interventional classes are Markov equivalence classes of
    larger DAGs [3]_, in which each experiment has a node that points at its targets:
    here two, not joined, so that these edges keep their direction in the whole class.

    References
    ----------
    .. [1] D. M. Chickering (1995). A transformational characterization of equivalent
       Bayesian network structures. UAI.
    .. [2] A. Hauser & P. Bühlmann (2012). Characterization and greedy learning of
       interventional Markov equivalence classes of directed acyclic graphs. JMLR 13.
    .. [3] K. D. Yang, A. Katcoff & C. Uhler (2018). Characterizing and learning
       equivalence classes of causal DAGs under interventions. ICML.

    Examples
    --------
    A chain can be turned around, two causes of one effect cannot:

    >>> from skbidag.graphs import to_cpdag
    >>> to_cpdag([[0, 1, 0], [0, 0, 1], [0, 0, 0]]).astype(int)
    array([[0, 1, 0],
           [1, 0, 1],
           [0, 1, 0]])
    >>> to_cpdag([[0, 1, 0], [0, 0, 0], [0, 1, 0]]).astype(int)
    array([[0, 1, 0],
           [0, 0, 0],
           [0, 1, 0]])

    Once its middle has been set, the chain cannot be turned around either:

    >>> to_cpdag([[0, 1, 0], [0, 0, 1], [0, 0, 0]], targets=[[1]]).astype(int)
    array([[0, 1, 0],
           [0, 0, 1],
           [0, 0, 0]])
    """
    dag = check_adjacency(A)
    if background is not None:
        background = np.asarray(background, dtype=bool)
        if dag[:, background].any():
            raise ValueError("A has edges to nodes that are in the background.")
    for target in targets:
        for node in target:
            _check_node(node, len(dag))
    cpdags, cyclic = to_cpdags(dag[None], background, targets)
    if cyclic >= 0:
        raise ValueError("A must be a DAG to have a CPDAG, but it has a cycle.")
    return cpdags[0]


def _consistent_extension(G):
    """Direct the undirected edges of `G` without a cycle or a new v-structure.

    This is the algorithm of Dor & Tarsi (1992), A simple algorithm to construct a
    consistent extension of a partially oriented graph: take away, one after the other,
    a node x that no edge leaves, and whose undirected neighbors are each adjacent to
    all other nodes adjacent to x; its undirected edges then point at it.

    Sets of nodes are the bits of Python's integers. Returns None if `G` has no
    consistent extension.
    """
    n_nodes = len(G)
    bits = [int.from_bytes(row, "little") for row in _packed_rows(G)]
    into = [int.from_bytes(row, "little") for row in _packed_rows(G.T)]
    adjacent = [a | b for a, b in zip(bits, into, strict=True)]
    undirected = [a & b for a, b in zip(bits, into, strict=True)]
    leaving = [a & ~b for a, b in zip(bits, into, strict=True)]

    dag = G & ~G.T
    left = (1 << n_nodes) - 1
    waiting = list(range(n_nodes))
    while waiting:
        x = waiting.pop()
        if not left >> x & 1 or leaving[x] & left:
            continue
        around = adjacent[x] & left
        neighbors = list(_members(undirected[x] & left))
        if any(around & ~adjacent[y] & ~(1 << y) for y in neighbors):
            continue
        dag[neighbors, x] = True
        left &= ~(1 << x)
        # Only the nodes around x can have become removable.
        waiting.extend(_members(around))
    return None if left else dag


def _packed_rows(G):
    return [row.tobytes() for row in np.packbits(G, axis=1, bitorder="little")]


def _members(bits):
    while bits:
        yield (bits & -bits).bit_length() - 1
        bits &= bits - 1


@validate_params({"G": ["array-like"]}, prefer_skip_nested_validation=True)
def is_cpdag(G: ArrayLike) -> bool:
    """Tell whether a graph is the CPDAG of some DAG.

    Parameters
    ----------
    G : array-like of shape (n_nodes, n_nodes)
        ``G[i, j]`` alone is the edge i -> j, together with ``G[j, i]`` it is the
        undirected edge i - j.

    Returns
    -------
    complete : bool
        Whether `G` is the CPDAG of a Markov equivalence class.

    Examples
    --------
    >>> from skbidag.graphs import is_cpdag
    >>> is_cpdag([[0, 1], [1, 0]])
    True

    A single edge can be reversed, so a CPDAG does not direct it:

    >>> is_cpdag([[0, 1], [0, 0]])
    False
    """
    adjacency = check_adjacency(G, "G", self_loops=True)
    if adjacency.diagonal().any():
        return False
    dag = _consistent_extension(adjacency)
    return dag is not None and bool(np.array_equal(to_cpdag(dag), adjacency))


@validate_params({"A": ["array-like"]}, prefer_skip_nested_validation=True)
def skeleton(A: ArrayLike) -> NDArray[np.bool_]:
    """Drop the directions of the edges.

    Parameters
    ----------
    A : array-like of shape (n_nodes, n_nodes)
        A directed or partially directed graph. ``A[i, j]`` is 1 where there is an
        edge i -> j, 0 elsewhere.

    Returns
    -------
    adjacent : ndarray of bool of shape (n_nodes, n_nodes)
        Symmetric, True where two nodes are joined by an edge.

    Examples
    --------
    >>> from skbidag.graphs import skeleton
    >>> skeleton([[0, 1, 0], [0, 0, 0], [0, 1, 0]]).astype(int)
    array([[0, 1, 0],
           [1, 0, 1],
           [0, 1, 0]])
    """
    graph = check_adjacency(A)
    return graph | graph.T


@validate_params({"A": ["array-like"]}, prefer_skip_nested_validation=True)
def v_structures(A: ArrayLike) -> list[tuple[int, int, int]]:
    """List the pairs of non-adjacent nodes that point at the same node.

    Parameters
    ----------
    A : array-like of shape (n_nodes, n_nodes)
        A directed or partially directed graph. ``A[i, j]`` is 1 where there is an
        edge i -> j, 0 elsewhere; an edge with both directions does not count.

    Returns
    -------
    triples : list of tuple of int
        Sorted (i, k, j) with i < j, for i -> k <- j where i and j are not adjacent.

    Examples
    --------
    >>> from skbidag.graphs import v_structures
    >>> v_structures([[0, 1, 0], [0, 0, 0], [0, 1, 0]])
    [(0, 1, 2)]
    """
    graph = check_adjacency(A)
    directed = graph & ~graph.T
    adjacent = graph | graph.T
    return sorted(
        (i, k, j)
        for k in range(len(graph))
        for i, j in combinations(np.flatnonzero(directed[:, k]).tolist(), 2)
        if not adjacent[i, j]
    )


@validate_params(
    {"A": ["array-like"], "node": [_NODE]}, prefer_skip_nested_validation=True
)
def markov_blanket(A: ArrayLike, node: int) -> NDArray[np.intp]:
    """Parents, children and children's other parents of a node in a DAG.

    Given these, the node is independent of all others.

    Parameters
    ----------
    A : array-like of shape (n_nodes, n_nodes)
        A DAG. ``A[i, j]`` is 1 where there is an edge i -> j, 0 elsewhere.
    node : int
        The node's index.

    Returns
    -------
    blanket : ndarray of int
        Sorted indices, without `node`.

    Examples
    --------
    >>> from skbidag.graphs import markov_blanket
    >>> A = [[0, 0, 1, 0], [0, 0, 1, 0], [0, 0, 0, 1], [0, 0, 0, 0]]
    >>> markov_blanket(A, 0)
    array([1, 2])
    """
    dag = _check_dag(A)
    node = _check_node(node, len(dag))
    blanket = dag[:, node] | dag[node] | dag[:, dag[node]].any(axis=1)
    blanket[node] = False
    return np.flatnonzero(blanket)


@validate_params(
    {"A": ["array-like"], "node": [_NODE]}, prefer_skip_nested_validation=True
)
def ancestors(A: ArrayLike, node: int) -> NDArray[np.intp]:
    """Nodes from which a directed path leads to a node of a DAG.

    Parameters
    ----------
    A : array-like of shape (n_nodes, n_nodes)
        A DAG. ``A[i, j]`` is 1 where there is an edge i -> j, 0 elsewhere.
    node : int
        The node's index.

    Returns
    -------
    indices : ndarray of int
        Sorted indices, without `node`.

    Examples
    --------
    >>> from skbidag.graphs import ancestors
    >>> ancestors([[0, 1, 0], [0, 0, 1], [0, 0, 0]], 2)
    array([0, 1])
    """
    dag = _check_dag(A)
    node = _check_node(node, len(dag))
    dag = np.ascontiguousarray(dag.T)
    return np.flatnonzero(_graphs.reachable(dag.view(np.uint8), node))


@validate_params(
    {"A": ["array-like"], "node": [_NODE]}, prefer_skip_nested_validation=True
)
def descendants(A: ArrayLike, node: int) -> NDArray[np.intp]:
    """Nodes to which a directed path leads from a node of a DAG.

    Parameters
    ----------
    A : array-like of shape (n_nodes, n_nodes)
        A DAG. ``A[i, j]`` is 1 where there is an edge i -> j, 0 elsewhere.
    node : int
        The node's index.

    Returns
    -------
    indices : ndarray of int
        Sorted indices, without `node`.

    Examples
    --------
    >>> from skbidag.graphs import descendants
    >>> descendants([[0, 1, 0], [0, 0, 1], [0, 0, 0]], 0)
    array([1, 2])
    """
    dag = _check_dag(A)
    node = _check_node(node, len(dag))
    return np.flatnonzero(_graphs.reachable(dag.view(np.uint8), node))


@validate_params({"A": ["array-like"]}, prefer_skip_nested_validation=True)
def ancestor_matrix(A: ArrayLike) -> NDArray[np.bool_]:
    """Tell of all pairs of nodes of a DAG whether a directed path joins them.

    Parameters
    ----------
    A : array-like of shape (n_nodes, n_nodes)
        A DAG. ``A[i, j]`` is 1 where there is an edge i -> j, 0 elsewhere.

    Returns
    -------
    reaches : ndarray of bool of shape (n_nodes, n_nodes)
        ``reaches[i, j]`` tells whether i is an ancestor of j. False on the diagonal.

    Examples
    --------
    >>> from skbidag.graphs import ancestor_matrix
    >>> ancestor_matrix([[0, 1, 0], [0, 0, 1], [0, 0, 0]]).astype(int)
    array([[0, 1, 1],
           [0, 0, 1],
           [0, 0, 0]])
    """
    dag = check_adjacency(A)
    reaches = dag.copy()
    for node in reversed(topological_order(dag)):
        reaches[node] |= reaches[dag[node]].any(axis=0)
    return reaches


@validate_params(
    {"A": ["array-like"], "source": [_NODE], "target": [_NODE]},
    prefer_skip_nested_validation=True,
)
def has_path(A: ArrayLike, source: int, target: int) -> bool:
    """Tell whether a directed path leads from one node of a DAG to another.

    Parameters
    ----------
    A : array-like of shape (n_nodes, n_nodes)
        A DAG. ``A[i, j]`` is 1 where there is an edge i -> j, 0 elsewhere.
    source, target : int
        The nodes' indices.

    Returns
    -------
    leads : bool
        Whether `source` is an ancestor of `target`.

    Examples
    --------
    >>> from skbidag.graphs import has_path
    >>> chain = [[0, 1, 0], [0, 0, 1], [0, 0, 0]]
    >>> has_path(chain, 0, 2), has_path(chain, 2, 0)
    (True, False)
    """
    dag = _check_dag(A)
    source, target = _check_node(source, len(dag)), _check_node(target, len(dag))
    return bool(_graphs.reachable(dag.view(np.uint8), source)[target])


@validate_params({"A": ["array-like"]}, prefer_skip_nested_validation=True)
def markov_blanket_matrix(A: ArrayLike) -> NDArray[np.bool_]:
    """Tell of all pairs of nodes whether they are in each other's Markov blankets.

    Parameters
    ----------
    A : array-like of shape (n_nodes, n_nodes)
        A DAG. ``A[i, j]`` is 1 where there is an edge i -> j, 0 elsewhere.

    Returns
    -------
    within : ndarray of bool of shape (n_nodes, n_nodes)
        Symmetric. ``within[i, j]`` where one is the other's parent or they have a child
        in common.

    Examples
    --------
    >>> from skbidag.graphs import markov_blanket_matrix
    >>> markov_blanket_matrix([[0, 0, 1], [0, 0, 1], [0, 0, 0]]).astype(int)
    array([[0, 1, 1],
           [1, 0, 1],
           [1, 1, 0]])
    """
    return moral_graph(_check_dag(A))


def moral_graph(A):
    """Pairs of nodes that are adjacent or have a child in common.

    Parameters
    ----------
    A : ndarray of bool of shape (n_nodes, n_nodes)
        A DAG, which is taken as such. ``A[i, j]`` is the edge i -> j.

    Returns
    -------
    moral : ndarray of bool of shape (n_nodes, n_nodes)
        Symmetric.
    """
    as_float = A.astype(np.float32)  # products of bool matrices are slow
    moral = A | A.T | (as_float @ as_float.T > 0)
    np.fill_diagonal(moral, False)
    return moral


@validate_params(
    {"A": ["array-like"], "child": [_NODE]}, prefer_skip_nested_validation=True
)
def v_structure_matrix(A: ArrayLike, child: int) -> NDArray[np.bool_]:
    """Tell which pairs of nodes are in a v-structure with a given child.

    Parameters
    ----------
    A : array-like of shape (n_nodes, n_nodes)
        A directed or partially directed graph. ``A[i, j]`` is 1 where there is an
        edge i -> j, 0 elsewhere; an edge with both directions does not count.
    child : int
        The child's index.

    Returns
    -------
    pairs : ndarray of bool of shape (n_nodes, n_nodes)
        Symmetric. ``pairs[i, j]`` where i -> child <- j, and i and j are not adjacent.

    Examples
    --------
    >>> from skbidag.graphs import v_structure_matrix
    >>> v_structure_matrix([[0, 1, 0], [0, 0, 0], [0, 1, 0]], 1).astype(int)
    array([[0, 0, 1],
           [0, 0, 0],
           [1, 0, 0]])
    """
    graph = check_adjacency(A)
    child = _check_node(child, len(graph))
    parents = graph[:, child] & ~graph[child]
    pairs = parents[:, None] & parents & ~(graph | graph.T)
    np.fill_diagonal(pairs, False)
    return pairs


@validate_params(
    {"A": ["array-like"], "left": [_NODE], "child": [_NODE], "right": [_NODE]},
    prefer_skip_nested_validation=True,
)
def has_v_structure(A: ArrayLike, left: int, child: int, right: int) -> bool:
    """Tell whether two non-adjacent nodes point at a third.

    Parameters
    ----------
    A : array-like of shape (n_nodes, n_nodes)
        A directed or partially directed graph. ``A[i, j]`` is 1 where there is an
        edge i -> j, 0 elsewhere; an edge with both directions does not count.
    left, child, right : int
        The nodes' indices.

    Returns
    -------
    present : bool
        Whether left -> child <- right, and left and right are not adjacent.

    Examples
    --------
    >>> from skbidag.graphs import has_v_structure
    >>> has_v_structure([[0, 1, 0], [0, 0, 0], [0, 1, 0]], 0, 1, 2)
    True
    """
    pairs = v_structure_matrix(A, child)
    return bool(pairs[_check_node(left, len(pairs)), _check_node(right, len(pairs))])


# ---------------------------------------------------------------- parts of graphs


def _resolve_nodes(nodes, A, n_nodes):
    """Indices of nodes that are given by index, or by label if `A` has labels."""
    labels = labels_of(A)
    nodes = [nodes] if isinstance(nodes, Integral | str) else list(nodes)
    indices = []
    for node in nodes:
        if labels is not None and node in labels:
            indices.append(labels.index(node))
        elif isinstance(node, Integral) and 0 <= node < n_nodes:
            indices.append(int(node))
        else:
            raise ValueError(
                f"nodes must be indices below {n_nodes}, or labels of A; got {node!r}."
            )
    return np.array(indices, dtype=np.intp)


@validate_params(
    {"A": ["array-like"], "nodes": "no_validation"}, prefer_skip_nested_validation=True
)
def subgraph(A: ArrayLike, nodes: Sequence[Hashable]) -> NDArray[np.bool_]:
    """The edges of a graph between some of its nodes.

    Parameters
    ----------
    A : array-like of shape (n_nodes, n_nodes)
        A graph. ``A[i, j]`` is 1 where there is an edge i -> j, 0 elsewhere.
    nodes : sequence of int or str
        The nodes, by index, or by label if `A` is a labelled frame.

    Returns
    -------
    part : ndarray of bool of shape (n_chosen, n_chosen)
        The subgraph; row and column k are of ``nodes[k]``.

    Examples
    --------
    >>> from skbidag.graphs import subgraph
    >>> subgraph([[0, 1, 0], [0, 0, 1], [0, 0, 0]], [1, 2])
    array([[False,  True],
           [False, False]])
    """
    graph = check_adjacency(A)
    nodes = _resolve_nodes(nodes, A, len(graph))
    return graph[np.ix_(nodes, nodes)]


@validate_params({"A": ["array-like"]}, prefer_skip_nested_validation=True)
def connected_nodes(A: ArrayLike) -> NDArray[np.intp]:
    """Nodes that have an edge.

    Parameters
    ----------
    A : array-like of shape (n_nodes, n_nodes)
        A graph. ``A[i, j]`` is 1 where there is an edge i -> j, 0 elsewhere.

    Returns
    -------
    indices : ndarray of int
        Sorted indices, for :func:`subgraph` without the isolated nodes.

    Examples
    --------
    >>> from skbidag.graphs import connected_nodes
    >>> connected_nodes([[0, 0, 1], [0, 0, 0], [0, 0, 0]])
    array([0, 2])
    """
    joined = skeleton(A)
    return np.flatnonzero(joined.any(axis=0))


@validate_params(
    {
        "A": ["array-like"],
        "nodes": "no_validation",
        "distance": [Interval(Integral, 0, None, closed="left")],
    },
    prefer_skip_nested_validation=True,
)
def neighborhood(
    A: ArrayLike, nodes: int | str | Sequence[Hashable], distance: int = 1
) -> NDArray[np.intp]:
    """Nodes within a distance of some nodes, whatever the direction of edges.

    Parameters
    ----------
    A : array-like of shape (n_nodes, n_nodes)
        A graph. ``A[i, j]`` is 1 where there is an edge i -> j, 0 elsewhere.
    nodes : int, str or sequence of these
        The nodes, by index, or by label if `A` is a labelled frame.
    distance : int, default=1
        The most edges between one of these and another node.

    Returns
    -------
    indices : ndarray of int
        Sorted indices, with those of `nodes`, for :func:`subgraph`.

    Examples
    --------
    >>> from skbidag.graphs import neighborhood
    >>> chain = [[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], [0, 0, 0, 0]]
    >>> neighborhood(chain, 3), neighborhood(chain, 3, distance=2)
    (array([2, 3]), array([1, 2, 3]))
    """
    joined = skeleton(A)
    within = np.zeros(len(joined), dtype=bool)
    within[_resolve_nodes(nodes, A, len(joined))] = True
    for _ in range(min(distance, len(joined))):
        within |= joined[within].any(axis=0)
    return np.flatnonzero(within)


def to_sparse(matrix: ArrayLike) -> "scipy.sparse.csr_array":
    """A graph, or edge probabilities, as a sparse matrix.

    Parameters
    ----------
    matrix : array-like of shape (n_nodes, n_nodes)
        Entry [i, j] is about the edge i -> j.

    Returns
    -------
    sparse : scipy.sparse.csr_array of shape (n_nodes, n_nodes)
        The entries that are not zero.

    Examples
    --------
    >>> from skbidag.graphs import to_sparse
    >>> to_sparse([[0, 1, 0], [0, 0, 1], [0, 0, 0]]).nnz
    2
    """
    from scipy.sparse import csr_array

    return csr_array(np.asarray(matrix))


@validate_params(
    {"A": ["array-like"], "names": ["array-like", None]},
    prefer_skip_nested_validation=True,
)
def to_networkx(
    A: ArrayLike, names: Sequence[Hashable] | None = None
) -> "networkx.DiGraph":
    """Turn an adjacency matrix into a graph of networkx.

    Parameters
    ----------
    A : array-like of shape (n_nodes, n_nodes)
        A directed or partially directed graph. ``A[i, j]`` is 1 where there is an
        edge i -> j, 0 elsewhere.
    names : array-like of shape (n_nodes,), default=None
        What the nodes are called. By default the labels of `A`, if it is a frame that
        has any, and otherwise their indices. Labels in another order are put into
        that of the names.

    Returns
    -------
    graph : networkx.DiGraph
        The graph, nodes in the order of the matrix. An undirected edge is one edge in
        each direction.

    Examples
    --------
    >>> from skbidag.graphs import to_networkx
    >>> to_networkx([[0, 1], [0, 0]], names=["rain", "wet"]).edges
    OutEdgeView([('rain', 'wet')])
    """
    import networkx  # takes a while

    if names is None:
        names = labels_of(A)
    adjacency = check_adjacency(A, names=names)
    names = list(range(len(adjacency)) if names is None else names)
    if len(names) != len(adjacency):
        raise ValueError(
            f"names must have one entry per node: got {len(names)} for "
            f"{len(adjacency)} nodes."
        )
    if len(set(names)) != len(names):
        raise ValueError("names must differ from each other.")
    graph = networkx.DiGraph()
    graph.add_nodes_from(names)
    graph.add_edges_from((names[i], names[j]) for i, j in np.argwhere(adjacency))
    return graph


@validate_params(
    {"G": "no_validation", "nodes": ["array-like", None]},
    prefer_skip_nested_validation=True,
)
def from_networkx(
    G: "networkx.Graph", nodes: Sequence[Hashable] | None = None
) -> NDArray[np.bool_]:
    """Turn a graph of networkx into an adjacency matrix.

    Parameters
    ----------
    G : networkx graph
        Directed or not; weights do not matter. An undirected edge gets both
        directions.
    nodes : array-like, default=None
        The nodes to take, in the order of the matrix. By default all of them in the
        order of ``G.nodes``.

    Returns
    -------
    adjacency : ndarray of bool of shape (n_nodes, n_nodes)
        ``adjacency[i, j]`` is the edge from ``nodes[i]`` to ``nodes[j]``.

    Examples
    --------
    >>> import networkx as nx
    >>> from skbidag.graphs import from_networkx
    >>> graph = nx.DiGraph([("rain", "wet")])
    >>> from_networkx(graph, nodes=["wet", "rain"]).astype(int)
    array([[0, 0],
           [1, 0]])
    """
    import networkx  # takes a while

    if not isinstance(G, networkx.Graph):
        raise TypeError(f"G must be a networkx graph, got {type(G).__name__}.")
    nodes = list(G if nodes is None else nodes)
    position = {node: i for i, node in enumerate(nodes)}
    if len(position) != len(nodes):
        raise ValueError("nodes must differ from each other.")
    unknown = [node for node in nodes if node not in G]
    if unknown:
        raise ValueError(f"nodes must be nodes of G, but {unknown[0]!r} is not.")
    adjacency = np.zeros((len(nodes), len(nodes)), dtype=bool)
    for source, target in G.edges():
        if source in position and target in position:
            adjacency[position[source], position[target]] = True
    return adjacency if G.is_directed() else adjacency | adjacency.T
