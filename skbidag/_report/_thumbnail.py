"""A small picture of a fitted network, for notebooks: static SVG, no script."""

from html import escape

import numpy as np

from skbidag._report._network import THRESHOLD, node_names, places, shortened

# Variables with edges that are drawn; of more, those with the most probable edges.
MOST_NODES = 40
HEAD = 9.0
COLOR = "#7a8896"  # can be read on white and on black


def thumbnail(estimator, dynamic=None):
    """The variables that are more probably joined than not, as a small drawing.

    Parameters
    ----------
    estimator : estimator instance
        A fitted structure learner.
    dynamic : DynamicStructure, default=None
        What it is the transition of.

    Returns
    -------
    html : str
        A figure with an SVG element and a line of text.
    """
    names = node_names(estimator)
    direction = estimator.adjacency_probabilities_
    joined = np.minimum(direction + direction.T, 1.0)
    directed = direction > THRESHOLD
    graph = directed | ((joined > THRESHOLD) & ~(directed | directed.T))
    edges = int(np.triu(graph | graph.T).sum())
    caption = f"{edges} edges that are more probable than {THRESHOLD}"
    if dynamic is not None:
        chosen = np.arange(len(names))
    else:
        strength = np.where(graph | graph.T, joined, 0).sum(axis=1)
        chosen = np.flatnonzero(strength)
        if len(chosen) > MOST_NODES:
            chosen = np.sort(np.argsort(-strength, kind="stable")[:MOST_NODES])
            caption += f", those between the {MOST_NODES} variables with most of them"
    if not edges:
        return f"<p>{escape(caption)}</p>"
    graph, joined = (matrix[np.ix_(chosen, chosen)] for matrix in (graph, joined))
    layout = places(graph, [names[k] for k in chosen], dynamic)
    width, height = layout["size"]
    parts = [
        edge_svg(layout, int(i), int(j), not graph[j, i], joined[i, j])
        for i, j in np.argwhere(graph)
        if not (graph[j, i] and j < i)
    ]
    parts += [
        node_svg(layout, node, names[chosen[node]]) for node in range(len(chosen))
    ]
    return (
        f'<figure style="margin:0.5em 0"><svg xmlns="http://www.w3.org/2000/svg" '
        f'role="img" aria-label="{escape(caption)}" viewBox="-4 -4 {width + 8:.0f} '
        f'{height + 8:.0f}" style="width:{min(0.75 * width, 800):.0f}px;max-width:100%;'
        f'max-height:32em">{"".join(parts)}</svg><figcaption>{escape(caption)}.'
        "</figcaption></figure>"
    )


def node_svg(layout, node, name):
    """A box with a name."""
    x, y = layout["x"][node], layout["y"][node]
    width, height = layout["width"][node], layout["height"]
    return (
        f"<g><title>{escape(name)}</title>"
        f'<rect x="{x - width / 2:.1f}" y="{y - height / 2:.1f}" width="{width}" '
        f'height="{height}" rx="6" fill="#e8eef4" stroke="#708090"/>'
        f'<text x="{x}" y="{y}" font-size="{layout["font_size"]:g}" '
        'font-family="sans-serif" fill="#1c2630" text-anchor="middle" '
        f'dominant-baseline="central">{escape(shortened(name))}</text></g>'
    )


def edge_svg(layout, i, j, directed, weight):
    """A line, and an arrowhead if it has a direction."""
    routes = {(a, b): np.array(points) for a, b, points in layout["routes"]}
    route = routes.get((i, j))
    if route is None:
        route = straight(layout, i, j)
        path = f"M{point(route[0])} L{point(route[1])}"
        way = route[1] - route[0]
    else:
        path = f"M{point(route[0])}"
        for k in range(0, len(route), 2):
            start, end = route[k], route[k + 1]
            middle = (start[1] + end[1]) / 2
            path += (
                f" L{point(start)} C{point((start[0], middle))} "
                f"{point((end[0], middle))} {point(end)}"
            )
        way = (route[-1] - route[-2]) * [0, 1]
    head = ""
    if directed:
        way = way / max(np.hypot(*way), 1e-9)
        base, tip = route[-1] - HEAD * way, route[-1]
        across = 0.42 * HEAD * np.array([-way[1], way[0]])
        head = (
            f'<path d="M{point(tip)} L{point(base + across)} '
            f'L{point(base - across)} Z" fill="{COLOR}"/>'
        )
    return (
        f'<path d="{path}" fill="none" stroke="{COLOR}" '
        f'stroke-width="{0.8 + 1.6 * weight:.2f}"/>{head}'
    )


def straight(layout, i, j):
    """The line between two boxes."""
    centers = np.column_stack([layout["x"], layout["y"]])
    way = centers[j] - centers[i]
    ends = []
    for node, sign in [(i, 1), (j, -1)]:
        reach = np.array([layout["width"][node], layout["height"]]) / 2
        inside = np.min(reach / np.maximum(np.abs(way), 1e-9))
        ends.append(centers[node] + sign * inside * way)
    return np.array(ends)


def point(place):
    """Coordinates in a path."""
    return f"{place[0]:.1f},{place[1]:.1f}"
