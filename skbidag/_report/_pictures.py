"""Pictures that matplotlib draws, if it is there.

The network, the heat map and the traces need none: the page's script and `_charts.py`
draw them.
"""

import io
import re
from html import escape

# Pictures up to this width, in points, stand side by side.
WIDEST_OF_PAIR = 520
# Wider ones than this are shrunk to the page, and can be shown in full size.
WIDEST_OF_PAGE = 810
# More points than this are drawn as pixels.
MOST_POINTS = 10_000


def make_pictures(estimator, dynamic=None):
    """Draw everything.

    Parameters
    ----------
    estimator : estimator instance
        A fitted structure learner.
    dynamic : DynamicStructure, default=None
        What it is the transition of.

    Returns
    -------
    pictures : dict of str to str
        SVG elements by name; none without matplotlib.
    """
    try:
        from matplotlib import pyplot as plt
    except ImportError:
        return {}
    pictures = {}
    # text stays text; the salt makes the same picture the same text
    look = {"svg.fonttype": "none", "svg.hashsalt": "skbidag"}
    with plt.ioff(), plt.rc_context(look):
        for name, (label, draw) in wanted_pictures(estimator, dynamic).items():
            figure = draw().figure_
            pictures[name] = inline_svg(figure, name, label)
            plt.close(figure)
    return pictures


def wanted_pictures(estimator, dynamic):
    """Labels of the pictures, and what draws them."""
    from skbidag import inspection

    n = estimator.n_features_in_
    n_chains, n_draws = estimator.log_score_trace_.shape
    wanted = {}
    if dynamic is not None:
        wanted["slices"] = (
            "Slices of the dynamic network side by side, with the edges that are more "
            "probable than not; the table below lists them.",
            lambda: inspection.DynamicGraphDisplay.from_estimator(dynamic),
        )
    if n_draws > 1 and n_chains > 1:
        crowded = n_chains * n**2 > MOST_POINTS
        wanted["concordance"] = (
            "Edge probabilities of the chains against each other.",
            lambda: inspection.ConcordanceDisplay.from_estimator(
                estimator, rasterized=crowded
            ),
        )
    if hasattr(estimator, "expansions_"):
        wanted["expansions"] = (
            "Best log score and size of the search space along the search.",
            lambda: inspection.ExpansionDisplay.from_estimator(estimator),
        )
    return wanted


def inline_svg(figure, name, label):
    """A figure as an SVG element, with ids that occur nowhere else in the page."""
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", dpi=200, metadata={"Date": None})
    svg = buffer.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"\s*<metadata>.*?</metadata>", "", svg, flags=re.S)
    svg = re.sub(r'\bid="', f'id="{name}-', svg)
    svg = re.sub(r'href="#', f'href="#{name}-', svg)
    svg = svg.replace("url(#", f"url(#{name}-")
    return svg.replace(
        "<svg ", f'<svg id="{name}" role="img" aria-label="{escape(label)}" ', 1
    )


def figures(pictures, **captions):
    """Pictures with their captions, side by side where they are small enough."""
    shown = [name for name in captions if name in pictures]
    small = all(width_of(pictures[name]) <= WIDEST_OF_PAIR for name in shown)
    look = "pair" if small and len(shown) > 1 else ""
    parts = [
        f'<figure class="{paper(pictures[name])}"><figcaption>{captions[name]}'
        f"{zoom(pictures[name])}</figcaption>"
        f'<div class="scroll">{pictures[name]}</div></figure>'
        for name in shown
    ]
    return f'<div class="figures {look}">{"".join(parts)}</div>'


def paper(svg):
    """Pictures of matplotlib have dark ink and stay on white paper."""
    return "" if 'class="native"' in svg else "white"


def zoom(svg):
    """A button that shows a picture in full size, if it is wider than the page."""
    if width_of(svg) <= WIDEST_OF_PAGE:
        return ""
    return ' <button type="button" class="zoom" aria-pressed="false">full size</button>'


def width_of(svg):
    """Width of a picture, in points."""
    return float(re.search(r' width="([\d.]+)pt"', svg)[1])
