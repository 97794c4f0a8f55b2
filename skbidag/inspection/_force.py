"""Drawing of graphs that are too entangled for layers, by distances.

Nodes are placed so that their distances on the page come near those along the graph:
the weighted squared deviations, the *stress*, are made small by majorization (Gansner,
Koren & North 2004, Graph drawing by stress majorization). An edge is to be the longer,
the fewer neighbors its ends share, so that what is densely joined is seen as a cluster
and hubs get room. The drawing is then turned so that edges point downwards on average,
and nodes that overlap are pushed apart. Nothing is drawn at random.

A step takes n² operations, and there are at most STEPS of them.
"""

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh
from scipy.sparse import coo_array
from scipy.sparse.csgraph import shortest_path
from scipy.spatial.distance import cdist

STEPS = 100
# The stress that a step must take away, as a share, for another one to follow.
LEAST_GAIN = 1e-4
PUSHES = 100


def force_places(adjacency, widths, height, spacing, aspect):
    """Places of the nodes of a connected graph.

    Parameters
    ----------
    adjacency : ndarray of bool, shape (n_nodes, n_nodes)
        ``adjacency[i, j]`` is the edge i -> j, together with ``adjacency[j, i]`` an
        edge without direction.
    widths : ndarray of shape (n_nodes,)
        Widths of the nodes.
    height : float
        Height of all nodes.
    spacing : float
        Least distance of two nodes, in one of the two directions.
    aspect : float
        Width over height that the drawing is to have, about.

    Returns
    -------
    x, y : ndarray of shape (n_nodes,)
        Centers; y grows upwards.
    """
    places = _least_stress(_distances(adjacency | adjacency.T))
    places = _turned(places, adjacency & ~adjacency.T)
    # as much room as the boxes take three times, in the shape that was asked for
    room = 3 * np.sum((widths + spacing) * (height + spacing))
    sides = np.sqrt([room * aspect, room / aspect])
    places *= sides / np.maximum(np.ptp(places, axis=0), 1e-9)
    places = _pushed_apart(places, widths, height, spacing)
    return places[:, 0], places[:, 1]


def straight_routes(adjacency, x, y, widths, height):
    """Straight lines between the nodes' boxes, by their edges.

    Parameters
    ----------
    adjacency : ndarray of bool, shape (n_nodes, n_nodes)
        The edges.
    x, y : ndarray of shape (n_nodes,)
        Centers of the nodes.
    widths : ndarray of shape (n_nodes,)
        Their widths.
    height : float
        Their height.

    Returns
    -------
    routes : dict
        For each edge (i, j), with i < j if it has no direction, the two ends.
    """
    routes = {}
    centers = np.column_stack([x, y])
    for i, j in np.argwhere(adjacency).tolist():
        if adjacency[j, i] and j < i:
            continue
        way = centers[j] - centers[i]
        ends = []
        for node, sign in [(i, 1), (j, -1)]:
            # the share of the way that is within the box
            reach = np.array([widths[node], height]) / 2
            inside = np.min(reach / np.maximum(np.abs(way), 1e-12))
            ends.append(centers[node] + sign * way * inside)
        routes[i, j] = np.array(ends)
    return routes


def _distances(joined):
    """Lengths of the shortest paths."""
    i, j = np.nonzero(joined)
    shared = joined.astype(float) @ joined
    degree = joined.sum(axis=1)
    lengths = np.sqrt(degree[i] + degree[j] - 2 * shared[i, j])
    return shortest_path(coo_array((lengths, (i, j)), shape=joined.shape).tocsr())


def _least_stress(distances):
    """Places in the plane with about these distances."""
    n = len(distances)
    # classical scaling: a first guess that is right where a plane can hold it
    squares = distances**2
    centered = squares - squares.mean(axis=0) - squares.mean(axis=1)[:, None]
    values, vectors = eigh(
        -(centered + squares.mean()) / 2, subset_by_index=[max(0, n - 2), n - 1]
    )
    places = vectors * np.sqrt(np.maximum(values, 1e-9))
    # the sign of an eigenvector is any; the farthest node goes to the same side always
    places *= np.sign(places[np.abs(places).argmax(axis=0), np.arange(2)])
    # nodes that look the same to all others would stay in one place
    angle = np.arange(n) * np.pi * (3 - np.sqrt(5))
    places += 0.05 * np.column_stack([np.cos(angle), np.sin(angle)])

    far = distances + np.eye(n)
    weights = far**-2.0
    np.fill_diagonal(weights, 0)
    laplacian = np.diag(weights.sum(axis=1)) - weights
    # the first node stays at the origin: all else is determined
    factor = cho_factor(laplacian[1:, 1:])
    last = np.inf
    for _ in range(STEPS):
        seen = cdist(places, places)
        stress = np.sum(weights * (seen - distances) ** 2)
        if stress > (1 - LEAST_GAIN) * last:
            break
        last = stress
        pull = weights * distances / np.maximum(seen, 1e-9)
        # the sum of pull[i, j] (place[i] - place[j]) over j
        target = pull.sum(axis=1)[:, None] * places - pull @ places
        places = np.vstack([np.zeros(2), cho_solve(factor, target[1:])])
    return places - places.mean(axis=0)


def _turned(places, directed):
    """Turn a drawing so that its arrows point downwards, on average."""
    parents, children = np.nonzero(directed)
    ways = places[children] - places[parents]
    lengths = np.sqrt(np.sum(ways**2, axis=1))
    x, y = np.sum(ways / np.maximum(lengths, 1e-9)[:, None], axis=0)
    length = np.hypot(x, y)
    if length < 1e-9:
        return places
    cosine, sine = -y / length, -x / length
    # (x, y) / length goes to (0, -1)
    return places @ np.array([[cosine, -sine], [sine, cosine]]).T


def _pushed_apart(places, widths, height, spacing):
    """Push overlapping nodes apart, each the shorter way."""
    wide, tall = (widths[:, None] + widths) / 2 + spacing, height + spacing
    while True:
        for _ in range(PUSHES):
            x, y = places.T
            first, second = np.nonzero(
                (np.abs(x[:, None] - x) < wide - 1e-9)
                & (np.abs(y[:, None] - y) < tall - 1e-9)
            )
            first, second = first[first < second], second[first < second]
            if not len(first):
                return places
            apart = places[first] - places[second]
            lacking = np.column_stack([wide[first, second], np.full(len(first), tall)])
            lacking -= np.abs(apart)
            # one direction is enough; of two in one place the first goes left and down
            lacking[np.arange(len(first)), lacking.argmax(axis=1)] = 0
            push = 0.51 * lacking * np.where(apart > 0, 1, -1)
            moves, counts = np.zeros_like(places), np.zeros(len(places))
            for nodes, sign in [(first, 1), (second, -1)]:
                np.add.at(moves, nodes, sign * push)
                np.add.at(counts, nodes, 1)
            places = places + moves / np.maximum(1, counts)[:, None]
        places = places * 1.1
