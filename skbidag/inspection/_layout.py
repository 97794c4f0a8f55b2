"""Layered drawing of graphs (Sugiyama, Tagawa & Toda 1981).

Nodes stand in layers, parents above children. An edge that spans several layers gets a
dummy node in each layer between, so that it has a place of its own there and does not
run through other nodes. The steps, for each connected component:

- *acyclic*: edges without direction, and as few others as possible if there is a
  cycle, are turned to fit an order of the nodes;
- *layers* with the least total length of the edges, a linear program whose vertices are
  integral (Gansner, Koutsofios, North & Vo 1993, A technique for drawing directed
  graphs);
- *order within layers* by sweeps of barycenters and exchanges of neighbors, which leave
  fewer crossings;
- *places* with the least total deviation from straight edges, most of all of long ones:
  a linear program again.

A component in which that takes many dummies is entangled: layers would be long to find
and wider than any page. It is drawn by distances instead (``_force.py``), with straight
edges.

Components then go onto shelves, isolated nodes last. Lengths are in units of the
caller's; y grows upwards. matplotlib is not needed.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from skbidag.inspection._force import force_places, straight_routes

# What bending costs: an edge of one layer, an end of a long edge, its middle
STRAIGHTNESS = (1.0, 2.0, 8.0)
SWEEPS = 24
# Height of the gap between layers: the steepest edge climbs this share of its way
LEAST_GAP, SLOPE, LARGEST_GAP = 2.2, 0.12, 7.0
# Nodes and dummies that layers may hold: those of some 100 nodes with 200 edges, about
# what can be read on a screen.
MOST_PLACES = 400


@dataclass(frozen=True)
class Layout:
    """Where nodes and edges go.

    Attributes
    ----------
    x, y : ndarray of shape (n_nodes,)
        Centers of the nodes.
    layer : ndarray of int, shape (n_nodes,)
        Layers within the node's component, from the top; -1 where there are none.
    routes : dict
        For each edge (i, j), or (i, j) with i < j if it has no direction, the points
        that it passes on its way from i to j, an array of shape (2 k, 2). Between an
        even point and the next it passes a gap, from there to the next even one it
        goes straight through a layer. Where there are no layers, it is a straight line
        between two points.
    size : tuple of float
        Width and height of the drawing, whose lower left corner is the origin.
    """

    x: np.ndarray
    y: np.ndarray
    layer: np.ndarray
    routes: dict
    size: tuple


def layered_layout(adjacency, widths, height=1.0, spacing=1.0, aspect=1.6):
    """Place the nodes of a graph, in layers if it permits, and lay its edges between.

    Parameters
    ----------
    adjacency : ndarray of bool, shape (n_nodes, n_nodes)
        ``adjacency[i, j]`` is the edge i -> j, together with ``adjacency[j, i]`` an
        edge without direction. Cycles are permitted.
    widths : array-like of shape (n_nodes,)
        Widths of the nodes.
    height : float, default=1.0
        Height of all nodes.
    spacing : float, default=1.0
        Least distance of neighbors in a layer.
    aspect : float, default=1.6
        Width over height that shelves of several components are to have.

    Returns
    -------
    layout : Layout
        The places.
    """
    n = len(adjacency)
    widths = np.asarray(widths, dtype=float)
    x, y = np.zeros(n), np.zeros(n)
    layer = np.zeros(n, dtype=int)
    parts, boxes = [], []
    _, component = connected_components(coo_array(adjacency), directed=False)
    for label in range(component.max(initial=-1) + 1):
        nodes = np.flatnonzero(component == label)
        part = adjacency[np.ix_(nodes, nodes)]
        px, py, layer[nodes], ways = _place(
            part, widths[nodes], height, spacing, aspect
        )
        sides = [px - widths[nodes] / 2, px + widths[nodes] / 2]
        sides = np.concatenate([*sides, *(way[:, 0] for way in ways.values())])
        parts.append((nodes, px - sides.min(), py, ways, sides.min()))
        boxes.append((np.ptp(sides), height + np.ptp(py)))

    corners, size = _shelves(boxes, 2 * spacing, aspect)
    routes = {}
    for (nodes, px, py, ways, left), (dx, top) in zip(parts, corners, strict=True):
        dy = size[1] - top - height / 2
        shift = np.array([dx - left, dy])
        x[nodes], y[nodes] = px + dx, py + dy
        for (i, j), way in ways.items():
            routes[int(nodes[i]), int(nodes[j])] = way + shift
    return Layout(x, y, layer, routes, size)


def _shelves(boxes, gap, aspect):
    """Upper left corners of boxes on shelves, y downwards, and the size of all.

    The tallest boxes come first.
    """
    if not boxes:
        return [], (0.0, 0.0)
    area = sum((w + gap) * (h + gap) for w, h in boxes)
    widest = max(max(w for w, _ in boxes), np.sqrt(area * aspect))
    corners = [None] * len(boxes)
    left = top = shelf = width = 0.0
    for k in sorted(range(len(boxes)), key=lambda k: -boxes[k][1]):
        w, h = boxes[k]
        if left > 0 and left + w > widest + 1e-9:
            left, top, shelf = 0.0, top + shelf + gap, 0.0
        corners[k] = (left, top)
        width, shelf = max(width, left + w), max(shelf, h)
        left += w + gap
    return corners, (width, top + shelf)


def _place(adjacency, widths, height, spacing, aspect):
    """Places of the nodes of one component, the highest at y = 0."""
    n = len(adjacency)
    if n == 1:
        return np.zeros(1), np.zeros(1), np.zeros(1, dtype=int), {}
    acyclic = acyclic_orientation(adjacency)
    layer = _layers(acyclic)
    edges = [(int(i), int(j)) for i, j in np.argwhere(acyclic)]
    if n + sum(layer[j] - layer[i] - 1 for i, j in edges) > MOST_PLACES:
        x, y = force_places(adjacency, widths, height, spacing, aspect)
        y -= y.max()
        routes = straight_routes(adjacency, x, y, widths, height)
        return x, y, np.full(n, -1), routes
    chains, layer_of = _chains_of_dummies(edges, layer)
    order = _order_layers(chains, layer_of)
    all_widths = np.full(len(layer_of), 0.3 * spacing)
    all_widths[:n] = widths
    x = _coordinates(order, chains, all_widths, spacing, n)
    ways = _ways(chains, x, all_widths, n)
    y = _levels(ways, layer_of, chains, height)[layer_of]
    routes = {}
    for chain, way in zip(chains, ways, strict=True):
        # out of the parent's lower side, through the dummies, into the child's upper
        points = np.repeat(np.column_stack([way, y[chain]]), 2, axis=0)[1:-1]
        points[0::2, 1] -= height / 2
        points[1::2, 1] += height / 2
        i, j = chain[0], chain[-1]
        # back to how the edge was given
        backwards = i > j if adjacency[i, j] and adjacency[j, i] else adjacency[j, i]
        routes[(j, i) if backwards else (i, j)] = points[::-1] if backwards else points
    return x[:n], y[:n], layer, routes


def acyclic_orientation(adjacency):
    """Direct the edges of a graph so that there is no cycle.

    Directed edges stay as they are unless they lie on a cycle.

    Parameters
    ----------
    adjacency : ndarray of bool, shape (n_nodes, n_nodes)
        ``adjacency[i, j]`` is the edge i -> j, together with ``adjacency[j, i]`` an
        edge without direction.

    Returns
    -------
    dag : ndarray of bool, shape (n_nodes, n_nodes)
        A DAG with the same skeleton.
    """
    n = len(adjacency)
    adjacent = adjacency | adjacency.T
    directed = adjacency & ~adjacency.T
    undirected = adjacency & adjacency.T
    into, out = directed.sum(axis=0), directed.sum(axis=1)
    joined = np.zeros(n, dtype=int)  # undirected edges to nodes that are placed
    degree = adjacent.sum(axis=0)
    left = np.ones(n, dtype=bool)
    position = np.empty(n, dtype=int)
    for place in range(n):
        # a root next to what is placed; else what breaks fewest edges of a cycle
        key = np.where(into == 0, n**2 * (joined + n), n * (out - into)) + degree
        node = int(np.where(left, key, -(n**4)).argmax())
        position[node] = place
        left[node] = False
        into -= directed[node]
        out -= directed[:, node]
        joined += undirected[node]
    return adjacent & (position[:, None] < position)


def _layers(dag):
    """Layers, parents above children, with the least total length of the edges."""
    parents, children = np.nonzero(dag)
    m, n = len(parents), len(dag)
    rows = np.arange(m)
    # layer of the parent - layer of the child <= -1
    differences = coo_array(
        (
            np.repeat([1.0, -1.0], m),
            (np.tile(rows, 2), np.concatenate([parents, children])),
        ),
        shape=(m, n),
    )
    length = dag.sum(axis=0).astype(float) - dag.sum(axis=1)
    layer = np.rint(_solve(length, differences, -np.ones(m))).astype(int)
    return layer - layer.min()


def _solve(cost, matrix, bound):
    result = linprog(cost, A_ub=matrix.tocsr(), b_ub=bound, method="highs-ds")
    if not result.success:
        raise RuntimeError(f"the layout's linear program failed: {result.message}")
    return result.x


def _chains_of_dummies(edges, layer):
    """Each edge as a chain of nodes, one per layer, and the layer of all nodes."""
    layers, chains = list(layer), []
    for i, j in edges:
        between = range(layer[i] + 1, layer[j])
        dummies = range(len(layers), len(layers) + len(between))
        layers.extend(between)
        chains.append([i, *dummies, j])
    return chains, np.array(layers)


def _order_layers(chains, layer_of):
    """Order the nodes within layers so that few edges cross."""
    n_layers = layer_of.max() + 1
    above = [[] for _ in layer_of]
    below = [[] for _ in layer_of]
    for chain in chains:
        for u, v in pairwise(chain):
            below[u].append(v)
            above[v].append(u)

    order = [[] for _ in range(n_layers)]
    seen = np.zeros(len(layer_of), dtype=bool)
    # depth first, both ways: what belongs together stands together
    for start in np.argsort(layer_of, kind="stable"):
        waiting = [int(start)]
        while waiting:
            node = waiting.pop()
            if not seen[node]:
                seen[node] = True
                order[layer_of[node]].append(node)
                waiting.extend(reversed(below[node] + above[node]))

    position = np.empty(len(layer_of), dtype=int)

    def index(layers):
        for k in layers:
            position[order[k]] = np.arange(len(order[k]))

    index(range(n_layers))
    best, fewest = [list(layer) for layer in order], np.inf
    for sweep in range(SWEEPS):
        down = sweep % 2 == 0
        layers = range(1, n_layers) if down else range(n_layers - 2, -1, -1)
        for k in layers:
            fixed = above if down else below
            key = {
                node: np.mean(position[fixed[node]]) if fixed[node] else position[node]
                for node in order[k]
            }
            # every other time ties are turned around, to get out of plateaus
            if sweep % 4 >= 2:
                order[k].reverse()
            order[k].sort(key=key.__getitem__)
            index([k])
        _exchange(order, position, above, below)
        crossings = _crossings(order, below, position)
        if crossings < fewest:
            best, fewest = [list(layer) for layer in order], crossings
        if crossings == 0:
            break
    return best


def _pair_crossings(layer, near, position, width):
    """Crossings among the edges of two nodes u, v of a layer if u is left of v.

    `near` are the nodes' ends in a neighboring layer, `width` that layer's size.
    """
    ends = np.zeros((len(layer), width), dtype=np.float32)
    for row, node in enumerate(layer):
        np.add.at(ends[row], position[near[node]], 1)
    further_left = np.cumsum(ends, axis=1) - ends
    return ends @ further_left.T


def _crossings(order, below, position):
    """Crossings in all."""
    return sum(
        np.triu(_pair_crossings(layer, below, position, len(following)), 1).sum()
        for layer, following in pairwise(order)
    )


def _exchange(order, position, above, below):
    """Exchange neighbors while that leaves fewer crossings."""
    for k, layer in enumerate(order):
        crossings = np.zeros((len(layer), len(layer)))
        if k > 0:
            crossings += _pair_crossings(layer, above, position, len(order[k - 1]))
        if k + 1 < len(order):
            crossings += _pair_crossings(layer, below, position, len(order[k + 1]))
        worse = (crossings > crossings.T).tolist()
        places = list(range(len(layer)))
        improved = True
        while improved:
            improved = False
            for left in range(len(places) - 1):
                u, v = places[left : left + 2]
                if worse[u][v]:
                    places[left], places[left + 1] = v, u
                    improved = True
        layer[:] = [layer[place] for place in places]
        position[layer] = np.arange(len(layer))


def _coordinates(order, chains, widths, spacing, n):
    """Horizontal places with the least total deviation from straight edges."""
    segments = [(u, v) for chain in chains for u, v in pairwise(chain)]
    weights = [STRAIGHTNESS[int(u >= n) + int(v >= n)] for u, v in segments]
    n_all, m = len(widths), len(segments)
    left = np.array([u for layer in order for u in layer[:-1]], dtype=int)
    right = np.array([u for layer in order for u in layer[1:]], dtype=int)
    apart = (widths[left] + widths[right]) / 2 + spacing
    u, v = np.array(segments).T
    k, slack = np.arange(m), n_all + np.arange(m)
    separated = 2 * m + np.arange(len(left))
    # x_u - x_v <= d, x_v - x_u <= d, x_left - x_right <= -apart
    rows = np.concatenate([k, k, k, m + k, m + k, m + k, separated, separated])
    columns = np.concatenate([u, v, slack, v, u, slack, left, right])
    signs = np.repeat([1.0, -1, -1, 1, -1, -1, 1, -1], [m] * 6 + [len(left)] * 2)
    matrix = coo_array((signs, (rows, columns)), shape=(2 * m + len(left), n_all + m))
    cost = np.concatenate([np.zeros(n_all), weights])
    x = _solve(cost, matrix, np.concatenate([np.zeros(2 * m), -apart]))[:n_all]
    return _center(x, order, segments, widths, spacing, n)


def _center(x, order, segments, widths, spacing, n):
    """Move nodes to the middle of where they cost the least."""
    near = [[] for _ in x]
    for u, v in segments:
        near[u].append(v)
        near[v].append(u)
    for _ in range(10):
        for layer in order:
            for k, node in enumerate(layer):
                if node >= n:
                    continue
                ends = np.sort(x[near[node]])
                middle = (ends[(len(ends) - 1) // 2] + ends[len(ends) // 2]) / 2
                if k > 0:
                    other = layer[k - 1]
                    apart = (widths[other] + widths[node]) / 2 + spacing
                    middle = max(middle, x[other] + apart)
                if k + 1 < len(layer):
                    other = layer[k + 1]
                    apart = (widths[other] + widths[node]) / 2 + spacing
                    middle = min(middle, x[other] - apart)
                x[node] = middle
    return x


def _ways(chains, x, widths, n):
    """Horizontal places along each edge, which leaves and enters nodes at ports.

    The ports of a node stand side by side, in the order of where their edges go.
    """
    ways = [x[chain] for chain in chains]
    for end, next_to in [(0, 1), (-1, -2)]:
        at = [[] for _ in range(n)]
        for k, chain in enumerate(chains):
            at[chain[end]].append(k)
        for node, edges in enumerate(at):
            edges.sort(key=lambda k: x[chains[k][next_to]])
            room = min(0.8 * widths[node], 0.9 * (len(edges) - 1))
            for k, edge in enumerate(edges):
                share = k / (len(edges) - 1) - 0.5 if len(edges) > 1 else 0.0
                ways[edge][end] += room * share
    return ways


def _levels(ways, layer_of, chains, height):
    """Centers of the layers, the wider apart the flatter edges between would be."""
    reach = np.zeros(layer_of.max())
    for chain, way in zip(chains, ways, strict=True):
        first, last = layer_of[chain[0]], layer_of[chain[-1]]
        reach[first:last] = np.maximum(reach[first:last], np.abs(np.diff(way)))
    gaps = np.clip(SLOPE * reach, LEAST_GAP, LARGEST_GAP)
    return -np.concatenate([[0.0], np.cumsum(height * (1 + gaps))])
