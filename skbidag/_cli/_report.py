"""One page that shows a result and says how to repeat it.

Everything is inside the page, and its security policy keeps a browser from loading
anything else.
"""

import io
import json
import math
import re
from html import escape
from importlib import resources

from skbidag._cli._summary import POSTERIORS, sample_text

ROWS_SHOWN = 100
# Pictures up to this width, in points, stand side by side.
WIDEST_OF_PAIR = 520
# Wider ones than this are shrunk to the page, and can be shown in full size.
WIDEST_OF_PAGE = 810
# More points than this are drawn as pixels.
MOST_POINTS = 10_000
POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
    "img-src data:"
)
FILES = {
    "edges.csv": "every edge that was seen, with probability, standard error and "
    "R-hat; the column posterior says what the probabilities are of",
    "map.csv": "the best DAG as a matrix: 1 in row i and column j is the edge i → j",
    "samples.npz": "the sampled DAGs, their log scores, and the names",
    "graph.graphml": "the best DAG for Cytoscape, Gephi, yEd, networkx or igraph",
    "graph.dot": "the best DAG for Graphviz",
    "summary.json": "the settings below and the result in brief",
}
LOADING = """\
import numpy as np

with np.load("samples.npz") as saved:
    names, log_scores = saved["names"], saved["log_scores"]
    dags = np.unpackbits(saved["packed"], axis=-1, count=len(names)).astype(bool)
# dags[chain, draw, i, j] is the edge names[i] -> names[j]"""


def make_report(summary, edges, result):
    """Make the page.

    Parameters
    ----------
    summary : dict
        What ``summary.json`` holds.
    edges : list of dict
        The edges, the most probable first.
    result : Fit
        The fitted estimator, for the pictures.

    Returns
    -------
    page : str
        HTML.
    """
    pictures = make_pictures(result, summary)
    title = f"{summary['data']['title']}: Bayesian network"
    body = [
        heading(summary),
        "<main>",
        facts(summary),
        warnings_section(summary),
        graph_section(pictures, summary),
        edges_section(edges, summary),
        probabilities_section(pictures, summary),
        chains_section(pictures, summary),
        data_section(summary),
        settings_section(summary),
        "</main>",
        f"<footer>Made by skbidag {escape(summary['versions']['skbidag'])} on "
        f"{escape(summary['date'])}.</footer>",
    ]
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<link rel="icon" href="data:,">',
            f"<title>{escape(title)}</title>",
            f"<style>\n{asset('report.css')}</style>",
            "</head>",
            "<body>",
            *filter(None, body),
            f"<script>\n{asset('report.js')}</script>",
            "</body>",
            "</html>",
            "",
        ]
    )


def asset(name):
    """A file beside this module."""
    return resources.files("skbidag._cli").joinpath(name).read_text(encoding="utf-8")


# ---------------------------------------------------------------------- pictures


def make_pictures(result, summary):
    """Draw everything.

    Parameters
    ----------
    result : Fit
        The fitted estimator.
    summary : dict
        For what the pictures are called.

    Returns
    -------
    pictures : dict of str to str, or None
        SVG elements by name; None without matplotlib.
    """
    try:
        import matplotlib
    except ImportError:
        return None
    matplotlib.use("agg")  # no windows
    from matplotlib import pyplot as plt

    from skbidag import inspection

    estimator, n = result.estimator, summary["data"]["n_variables"]
    n_edges = summary["result"]["n_edges"]
    n_chains, n_draws = summary["result"]["n_chains"], summary["result"]["n_draws"]
    wanted = {
        "consensus": (
            f"Graph of {n} variables with the edges that are more probable than not; "
            "the table below lists them.",
            lambda: inspection.GraphDisplay.from_estimator(estimator),
        ),
        "best": (
            f"Graph of the best DAG, {n} variables and {n_edges} edges; map.csv lists "
            "them.",
            lambda: inspection.GraphDisplay.from_estimator(estimator, graph="dag"),
        ),
        "probabilities": (
            f"Heat map of the probabilities of the edges between {n} variables.",
            lambda: inspection.EdgeProbabilityDisplay.from_estimator(estimator),
        ),
    }
    if result.dynamic is not None:
        wanted["slices"] = (
            "Slices of the dynamic network side by side, with the edges that are more "
            "probable than not; the table below lists them.",
            lambda: inspection.DynamicGraphDisplay.from_estimator(result.dynamic),
        )
    if n_draws > 1:
        many = n_chains * n_draws > MOST_POINTS
        wanted["traces"] = (
            "Log scores of the sampled DAGs along each chain.",
            lambda: inspection.TraceDisplay.from_estimator(estimator, rasterized=many),
        )
        if n_chains > 1:
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
    pictures = {}
    # text stays text; the salt makes the same picture the same text
    with plt.rc_context({"svg.fonttype": "none", "svg.hashsalt": "skbidag"}):
        for name, (label, draw) in wanted.items():
            figure = draw().figure_
            pictures[name] = inline_svg(figure, name, label)
            plt.close(figure)
    return pictures


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
    shown = [name for name in captions if pictures and name in pictures]
    small = all(width_of(pictures[name]) <= WIDEST_OF_PAIR for name in shown)
    look = "pair" if small and len(shown) > 1 else ""
    parts = [
        f"<figure><figcaption>{captions[name]}{zoom(pictures[name])}</figcaption>"
        f'<div class="scroll">{pictures[name]}</div></figure>'
        for name in shown
    ]
    return f'<div class="figures {look}">{"".join(parts)}</div>'


def zoom(svg):
    """A button that shows a picture in full size, if it is wider than the page."""
    if width_of(svg) <= WIDEST_OF_PAGE:
        return ""
    return ' <button type="button" class="zoom" aria-pressed="false">full size</button>'


def width_of(svg):
    """Width of a picture, in points."""
    return float(re.search(r' width="([\d.]+)pt"', svg)[1])


# ---------------------------------------------------------------------- sections


def heading(summary):
    """The title and what the page is about."""
    data = summary["data"]
    return (
        f"<header><h1>{escape(data['title'])}</h1>"
        f'<p class="quiet">Bayesian network of {data["n_variables"]} variables, '
        f"learned from {data['n_rows']} rows of {data['kind']} data by "
        f"{escape(summary['estimator'])}.</p></header>"
    )


def facts(summary):
    """The result in a few numbers."""
    result = summary["result"]
    converged = result["converged"]
    tiles = [
        ("Edges of the best DAG", str(result["n_edges"]), ""),
        ("Its log score", number(result["log_score"], 2), ""),
        ("Sampled DAGs", f"{result['n_chains']} &times; {result['n_draws']}", ""),
    ]
    if converged is not None:
        mood = "good" if converged else "bad"
        tiles += [
            ("R-hat of the log score", number(result["log_score_rhat"], 3), mood),
            ("Largest R-hat of an edge", number(result["largest_edge_rhat"], 3), mood),
        ]
    cells = [
        f'<div><dt>{label}</dt><dd class="{mood}">{value}</dd></div>'
        for label, value, mood in tiles
    ]
    return f'<dl class="facts">{"".join(cells)}</dl>'


def warnings_section(summary):
    """What the fit warned of."""
    if not summary["warnings"]:
        return ""
    items = "".join(f"<li>{escape(text)}</li>" for text in summary["warnings"])
    return section("Warnings", f"<ul>{items}</ul>", "warning")


def graph_section(pictures, summary):
    """The network."""
    if pictures is None:
        return section(
            "The network",
            "<p>Pictures need the package matplotlib. Install it with "
            "<code>pip install 'skbidag[plot]'</code> and run the command again.</p>",
        )
    return section(
        "The network",
        "<p>The darker and wider an edge, the more probable it is. The data tell an "
        "edge's direction only where all DAGs that fit equally well share it."
        f"{background_text(summary)}{interventions_text(summary)}</p>"
        + figures(
            pictures,
            slices="<b>The slices.</b> Edges to the present, t, that are more probable "
            "than not, from the steps before and within it.",
            consensus="<b>The consensus.</b> Variables are joined where that is more "
            "probable than not; an edge without arrowhead has no certain direction.",
            best="<b>The best DAG.</b> The one with the highest score that was found.",
        ),
    )


def background_text(summary):
    """Which variables are given."""
    names = ", ".join(escape(name) for name in summary["data"]["background"])
    return f" In the background, given and without parents: {names}." if names else ""


def interventions_text(summary):
    """What experiments tell of directions."""
    if not summary["data"]["interventions"]:
        return ""
    return (
        " Experiments tell more: every edge between a variable that was set and one "
        "that was not has a direction, in all of an interventional equivalence class."
    )


def edges_section(edges, summary):
    """The most probable edges, in a table that can be sorted."""
    shown = edges[:ROWS_SHOWN]
    columns = [
        ("From", "text", "", ""),
        ("To", "text", "", ""),
        ("Probability", "number", "", ' aria-sort="descending"'),
        ("Standard error", "number", "number", ""),
        ("R-hat", "number", "number", ""),
        ("Either direction", "number", "number", ""),
        ("In the best DAG", "number", "", ""),
    ]
    head = "".join(
        f'<th scope="col" data-type="{kind}" class="{look}"{sort}>'
        f'<button type="button">{label}</button></th>'
        for label, kind, look, sort in columns
    )
    rows = "\n".join(f"<tr>{edge_row(edge)}</tr>" for edge in shown)
    more = len(edges) - len(shown)
    rest = f" The {more} others are in <code>edges.csv</code>." if more else ""
    return section(
        "The most probable edges",
        f"<p>{posterior_text(summary)} The standard error says how far the probability "
        "may be off because the sample is finite; R&#8209;hat is near 1 where the "
        f"chains agree.{rest}</p>"
        '<div class="scroll tall" tabindex="0" role="region" '
        'aria-label="The most probable edges"><table class="sortable" id="edges">'
        f"<thead><tr>{head}</tr></thead>\n<tbody>{rows}</tbody></table></div>",
    )


def edge_row(edge):
    """The cells of one edge."""

    def cell(value, text, look="number"):
        value = value if isinstance(value, str) else f"{sortable(value):.6g}"
        return f'<td class="{look}" data-value="{escape(value)}">{text}</td>'

    share = f'style="--share: {100 * edge["probability"]:.1f}%"'
    probability = cell(edge["probability"], number(edge["probability"], 3), "share")
    return "".join(
        [
            cell(edge["from"], escape(edge["from"]), ""),
            cell(edge["to"], escape(edge["to"]), ""),
            probability.replace("<td ", f"<td {share} ", 1),
            cell(edge["standard_error"], number(edge["standard_error"], 3)),
            cell(edge["rhat"], number(edge["rhat"], 3)),
            cell(edge["either_direction"], number(edge["either_direction"], 3)),
            cell(float(edge["in_best_dag"]), "yes" if edge["in_best_dag"] else "", ""),
        ]
    )


def probabilities_section(pictures, summary):
    """The heat map."""
    if pictures is None:
        return ""
    return section(
        "All edge probabilities",
        f"<p>{posterior_text(summary)}</p>"
        + figures(
            pictures, probabilities="The row is the parent, the column the child."
        ),
    )


def posterior_text(summary):
    """What the probabilities are of, to stand wherever they are shown."""
    text = escape(POSTERIORS[summary["result"]["posterior"]])
    return re.sub(r"--[a-z ]+(?= every)", r"<code>\g<0></code>", text)


def chains_section(pictures, summary):
    """Whether the chains agree."""
    text = f"<p>{escape(sample_text(summary['result']))}. "
    rates = summary["result"]["acceptance_rate"]
    if rates:
        text += f"Acceptance rates: {', '.join(number(rate, 2) for rate in rates)}."
    text += "</p>"
    return section(
        "The chains",
        text
        + figures(
            pictures,
            traces="<b>Traces.</b> Chains that agree look alike, without a trend.",
            concordance="<b>Concordance.</b> Each edge's probability in one chain "
            "against the others: near the diagonal where they agree.",
            expansions="<b>The search.</b> Best score and size of the search space.",
        ),
    )


def data_section(summary):
    """What was read, and what was made of it."""
    data = summary["data"]
    rows = {
        "source": data["source"],
        "SHA-256": data["sha256"],
        "rows": data["n_rows"],
        "kind": data["kind"],
        "variables": ", ".join(data["variables"]),
    }
    if data["background"]:
        rows["background"] = ", ".join(data["background"])
    if data["interventions"]:
        rows["interventions"] = "; ".join(map(", ".join, data["interventions"]))
    notes = "".join(f"<li>{escape(note)}</li>" for note in data["notes"])
    return section("The data", settings_table(rows) + f"<ul>{notes}</ul>")


def settings_section(summary):
    """Everything to repeat it."""
    files = "".join(
        f'<li><a href="{name}"><code>{name}</code></a>: {text}</li>'
        for name, text in FILES.items()
    )
    return section(
        "To repeat it",
        f"<pre><code>{escape(summary['command'])}</code></pre>"
        f"<p>It took {summary['result']['seconds']:.1f} seconds. The same data, "
        "settings and versions give the same result, whatever <code>n_jobs</code> "
        "is.</p>"
        f"<h3>Parameters of {escape(summary['estimator'])}</h3>"
        + settings_table(summary["parameters"])
        + "<h3>Versions</h3>"
        + settings_table(summary["versions"])
        + f"<h3>Files beside this page</h3><ul>{files}</ul>"
        f"<p>To load the sampled DAGs in Python:</p><pre><code>{escape(LOADING)}"
        "</code></pre>",
    )


def section(title, content, look=""):
    """A part of the page."""
    return f'<section class="{look}"><h2>{escape(title)}</h2>{content}</section>'


def settings_table(rows):
    """Names and values."""
    cells = "\n".join(
        f'<tr><th scope="row">{escape(str(name))}</th>'
        f"<td><code>{escape(as_text(value))}</code></td></tr>"
        for name, value in rows.items()
    )
    return f'<div class="scroll"><table class="settings">{cells}</table></div>'


def as_text(value):
    """A setting as text."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def number(value, decimals):
    """A number as text, a dash if there is none."""
    if value is None or math.isnan(value):
        return "&ndash;"
    return f"{value:.{decimals}f}" if math.isfinite(value) else "&infin;"


def sortable(value):
    """A number that sorts: NaN last."""
    return -1.0 if math.isnan(value) else value
