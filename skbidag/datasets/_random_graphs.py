"""Random DAGs.

Each kind of graph is first a random undirected graph. The nodes are then shuffled, and
every edge points from the earlier to the later node of a random order, so neither the
labels nor the directions tell how the graph came about.

All are made so that a node has `expected_parents` parents on average, as far as a DAG
of that size can hold so many.
"""

from numbers import Integral, Real

import numpy as np

from skbidag._sklearn import Interval, StrOptions
from skbidag.graphs import check_adjacency, is_dag

GRAPH_CONSTRAINTS = {
    "n_features": [Interval(Integral, 1, None, closed="left")],
    "graph": [StrOptions({"barabasi_albert", "erdos_renyi", "islands"}), "array-like"],
    "expected_parents": [Interval(Real, 0, None, closed="left")],
    "power": [Interval(Real, 0, None, closed="left")],
    "n_islands": [Interval(Integral, 1, None, closed="left")],
    "interconnectivity": [Interval(Real, 0, 1, closed="both")],
}


def draw_dag(
    rng, n_nodes, graph, expected_parents, power, n_islands, interconnectivity
):
    """Draw a DAG of the kind `graph`, or validate `graph` if it is a matrix."""
    if not isinstance(graph, str):
        adjacency = check_adjacency(graph, "graph")
        if len(adjacency) == 0:
            raise ValueError("graph must have at least one node.")
        if not is_dag(adjacency):
            raise ValueError("graph must be a DAG, but it has a cycle.")
        return adjacency.copy()

    n_edges = expected_parents * n_nodes
    if graph == "erdos_renyi":
        upper = _islands(rng, n_nodes, n_edges, 1, 0.0)
    elif graph == "islands":
        upper = _islands(rng, n_nodes, n_edges, n_islands, interconnectivity)
    else:
        upper = _barabasi_albert(rng, n_nodes, n_edges, power)
    labels = rng.permutation(n_nodes)
    joined = (upper | upper.T)[np.ix_(labels, labels)]
    place = rng.permutation(n_nodes)
    return joined & (place[:, None] < place)


def limit_parents(rng, adjacency, max_parents, may_drop):
    """Let no node have more parents than `max_parents`.

    The surplus of a drawn graph is dropped at random. A graph that was given is either
    within the limit or wrong.
    """
    limited = adjacency.copy()
    for node in np.flatnonzero(adjacency.sum(axis=0) > max_parents):
        parents = np.flatnonzero(adjacency[:, node])
        if not may_drop:
            raise ValueError(
                f"graph: node {node} has {len(parents)} parents, more than "
                f"max_parents={max_parents}."
            )
        dropped = rng.permutation(parents)[max_parents:]
        limited[dropped, node] = False
    return limited


def _islands(rng, n_nodes, n_edges, n_islands, interconnectivity):
    """Independent edges, a given share of them between the islands."""
    island = np.arange(n_nodes) * n_islands // n_nodes
    possible = np.triu(np.ones((n_nodes, n_nodes), dtype=bool), 1)
    within = possible & (island[:, None] == island)
    between = possible & ~within
    if not between.any():
        interconnectivity = 0.0
    elif not within.any():
        interconnectivity = 1.0
    probability = np.zeros((n_nodes, n_nodes))
    probability[within] = (1 - interconnectivity) * n_edges / max(within.sum(), 1)
    probability[between] = interconnectivity * n_edges / max(between.sum(), 1)
    return rng.random_sample((n_nodes, n_nodes)) < probability


def _barabasi_albert(rng, n_nodes, n_edges, power):
    """Preferential attachment: a node with k edges attracts with weight k^power + 1.

    Nodes come one by one and join m of those before them, or all if these are fewer;
    m is such that the expected number of edges is right, and where it is not a whole
    number it is rounded up or down at random.
    """
    whole = np.arange(n_nodes)
    edges_with = whole * n_nodes - whole * (whole + 1) / 2
    m = np.interp(n_edges, edges_with, whole)
    upper = np.zeros((n_nodes, n_nodes), dtype=bool)
    degree = np.zeros(n_nodes)
    for new in range(1, n_nodes):
        size = min(new, int(m + rng.random_sample()))
        # 0^0 is 1, but a node without edges attracts by its one alone.
        weight = np.where(degree[:new] > 0, degree[:new] ** power, 0.0) + 1.0
        chosen = rng.choice(new, size=size, replace=False, p=weight / weight.sum())
        upper[chosen, new] = True
        degree[chosen] += 1
        degree[new] = size
    return upper
