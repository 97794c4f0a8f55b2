"""The heat map of all probabilities and the traces of the chains, as plain SVG.

They need no matplotlib and take their colors from the page, so that they are right in
the dark, too.
"""

from html import escape

import numpy as np

from skbidag._report._network import node_names, shortened, text_width
from skbidag.inspection._plotting import COLORS

# Points: the side of the heat map, of a cell at most, and of letters at most and least
MAP_SIDE, LARGEST_CELL, LARGEST_FONT, SMALLEST_FONT = 560.0, 22.0, 11.0, 6.0
# Cells with less than this are left white.
LEAST_PROBABILITY = 0.005
# Points of a trace that are drawn; of longer ones every second, third, ... is.
MOST_POINTS = 500
# The picture of the traces, and the room for numbers at its left and below
TRACE_SIZE, LEFT, BELOW = (500.0, 240.0), 70.0, 34.0


def make_charts(estimator):
    """Draw both.

    Parameters
    ----------
    estimator : estimator instance
        A fitted structure learner.

    Returns
    -------
    charts : dict of str to str
        SVG elements by name: "probabilities" and, unless nothing was sampled, "traces".
    """
    names, probabilities = node_names(estimator), estimator.edge_probabilities("dag")
    charts = {"probabilities": heat_map(names, probabilities)}
    if estimator.log_score_trace_.shape[1] > 1:
        charts["traces"] = traces(estimator.log_score_trace_, estimator.log_score_)
    return charts


def chart(name, label, width, height, parts):
    """An SVG element; its letters have the color of the page's."""
    return (
        f'<svg id="{name}" class="native" role="img" aria-label="{escape(label)}" '
        f'width="{width:.0f}pt" height="{height:.0f}pt" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" fill="currentColor">'
        f"{''.join(parts)}</svg>"
    )


def upright(x, y):
    """What turns a text around its place, to be read from below."""
    return f'transform="rotate(-90 {x:.1f} {y:.1f})"'


def write(x, y, words, size=LARGEST_FONT, look=""):
    """A text."""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size:.1f}" {look}>{escape(words)}'
        "</text>"
    )


def heat_map(names, probabilities):
    """Probabilities of edges: rows are parents, columns children.

    Parameters
    ----------
    names : list of str
        The variables.
    probabilities : ndarray of shape (n, n)
        ``probabilities[i, j]`` is that of the edge i -> j.

    Returns
    -------
    svg : str
        An SVG element. Who points at a cell is told what it is.
    """
    n = len(names)
    cell = min(LARGEST_CELL, max(MAP_SIDE / n, 2.0))
    font = min(LARGEST_FONT, 0.75 * cell)
    labels = [shortened(name) for name in names] if font >= SMALLEST_FONT else []
    room = max((text_width(label) for label in labels), default=0) * font + 6
    left, top, side = room + 18, room + 18, n * cell
    across = top + side / 2
    parts = [
        write(left + side / 2, 11, "child", look='text-anchor="middle"'),
        write(11, across, "parent", look=f'text-anchor="middle" {upright(11, across)}'),
        f'<rect class="sheet" x="{left:.1f}" y="{top:.1f}" width="{side:.1f}" '
        f'height="{side:.1f}"/>',
    ]
    for k, label in enumerate(labels):
        place = (k + 0.5) * cell + 0.35 * font
        parts.append(
            write(left - 4, top + place, label, font, 'text-anchor="end"')
            + write(
                *(left + place, top - 4, label, font),
                upright(left + place, top - 4),
            )
        )
    for i, j in np.argwhere(probabilities >= LEAST_PROBABILITY):
        p = min(float(probabilities[i, j]), 1.0)
        parts.append(
            f'<rect class="cell" x="{left + j * cell:.1f}" y="{top + i * cell:.1f}" '
            f'width="{cell:.1f}" height="{cell:.1f}" fill-opacity="{p:.3g}">'
            f"<title>{escape(names[i])} → {escape(names[j])}: {p:.3f}</title></rect>"
        )
    label = f"Heat map of the probabilities of the edges between {n} variables."
    return chart("probabilities", label, left + side + 4, top + side + 4, parts)


def traces(log_scores, best):
    """Log scores along the chains.

    Parameters
    ----------
    log_scores : ndarray of shape (n_chains, n_draws)
        The scores.
    best : float
        That of the best DAG, a dashed line.

    Returns
    -------
    svg : str
        An SVG element.
    """
    width, height = TRACE_SIZE
    n_chains, n_draws = log_scores.shape
    draws = np.arange(0, n_draws, -(-n_draws // MOST_POINTS))
    finite = np.append(log_scores[np.isfinite(log_scores)], best)
    low, high = finite.min(), max(finite.max(), finite.min() + 1e-9)

    def x(draw):
        return LEFT + (width - LEFT - 8) * draw / max(1, n_draws - 1)

    def y(score):
        return 8 + (height - BELOW - 16) * (high - score) / (high - low)

    colors = [color for name, color in COLORS.items() if name != "black"]
    lines = []
    for k in range(n_chains):
        points = " ".join(
            f"{x(draw):.1f},{y(log_scores[k, draw]):.1f}"
            for draw in draws
            if np.isfinite(log_scores[k, draw])
        )
        color = colors[k % len(colors)]
        lines.append(
            f'<polyline points="{points}" fill="none" stroke="{color}" '
            f'stroke-width="0.8"><title>chain {k + 1}</title></polyline>'
        )
    floor = height - BELOW
    step = 1 if high - low >= 3 else 0.1 ** np.ceil(-np.log10((high - low) / 3))
    decimals = max(0, round(-np.log10(step)))
    marks = [
        write(LEFT - 6, y(score) + 4, f"{score:.{decimals}f}", look='text-anchor="end"')
        for score in (low, (low + high) / 2, high)
    ]
    marks += [
        write(x(draw), floor + 13, str(draw + 1), look=f'text-anchor="{anchor}"')
        for draw, anchor in [(0, "start"), (n_draws - 1, "end")]
    ]
    marks += [
        write((LEFT + width) / 2, floor + 26, "draw", look='text-anchor="middle"'),
        write(
            *(11, floor / 2, "log score"),
            look=f'text-anchor="middle" {upright(11, floor / 2)}',
        ),
        f'<path d="M{LEFT},8 V{floor - 4:.1f} H{width - 8:.1f}" class="axis"/>',
        f'<path d="M{LEFT},{y(best):.1f} H{width - 8:.1f}" class="axis best">'
        "<title>the best DAG</title></path>",
    ]
    label = f"Log scores of the sampled DAGs along each of {n_chains} chains."
    return chart("traces", label, width, height, marks + lines)
