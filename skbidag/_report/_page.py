"""The page: its parts as HTML, put into the template beside this module.

Everything is inside the page, and its security policy keeps a browser from loading
anything else.
"""

import json
import math
from html import escape
from importlib import resources
from string import Template

from skbidag._convergence import assess
from skbidag._report._charts import make_charts
from skbidag._report._facts import result_of, sample_text
from skbidag._report._network import network_of
from skbidag._report._pictures import figures, make_pictures
from skbidag._report._trust import REMEDY, bias, headline
from skbidag.scores import LinearParameterScore

ROWS_OF_FIRST = 50
MOODS = {"good": "speaks for it", "note": "to be known", "bad": "speaks against it"}


def make_page(facts, estimator, dynamic=None, *, remedy=REMEDY, files=None):
    """Make the page.

    Parameters
    ----------
    facts : dict
        What is said of the estimator, see :func:`~skbidag._report._facts.facts_of`.
        If it has a "command", it says how to repeat it.
    estimator : estimator instance
        The fitted structure learner.
    dynamic : DynamicStructure, default=None
        What it is the transition of.
    remedy : str
        What samples from the posterior over DAGs, in words or code.
    files : str, default=None
        HTML about the files that stand beside the page.

    Returns
    -------
    page : str
        HTML.
    """
    network = network_of(estimator, dynamic)
    network["signed"] = isinstance(estimator.score_.of_parameters, LinearParameterScore)
    pictures = {**make_charts(estimator), **make_pictures(estimator, dynamic)}
    _, posterior = bias(estimator, remedy)
    posterior = escape(posterior).replace(escape(remedy), f"<code>{remedy}</code>")
    return Template(asset("page.html")).substitute(
        title=escape(f"{facts['data']['title']}: Bayesian network"),
        style=asset("style.css"),
        script=asset("script.js"),
        network=embedded(network),
        header=heading(facts),
        trust=trust_section(facts["trust"]),
        facts=tiles(facts["result"]),
        warnings=warnings_section(facts["warnings"]),
        network_text=network_text(network, facts),
        slices=slices(pictures),
        first_slice=first_slice_section(dynamic),
        edges_text=f"{posterior} {edges_text(network)}",
        probabilities=probabilities_section(pictures, posterior),
        chains=chains_section(pictures, facts["result"]),
        data=data_section(facts["data"]),
        settings=settings_section(facts, files),
        footer=f"<footer>Made by skbidag {escape(facts['versions']['skbidag'])} on "
        f"{escape(facts['date'])}.</footer>",
    )


def asset(name):
    """A file beside this module."""
    return resources.files("skbidag._report").joinpath(name).read_text(encoding="utf-8")


def embedded(value):
    """JSON that can stand inside a script element: without tags and comments."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c")


# ---------------------------------------------------------------------- sections


def heading(facts):
    """The title and what the page is about."""
    data = facts["data"]
    rows = "" if data["n_rows"] is None else f"{data['n_rows']} rows of "
    return (
        f"<header><h1>{escape(data['title'])}</h1>"
        f'<p class="quiet">Bayesian network of {data["n_variables"]} variables, '
        f"learned from {rows}{data['kind']} data by "
        f"{escape(facts['estimator'])}.</p></header>"
    )


def trust_section(points):
    """What speaks for the result and what against it."""
    items = "".join(
        f'<li class="{point["verdict"]}"><b>{escape(point["question"])}'
        f'<span class="unseen"> ({MOODS[point["verdict"]]})</span></b>'
        f"<p>{escape(point['text'])}</p></li>"
        for point in points
    )
    return section(
        "Can I trust this?",
        f'<p class="headline">{headline(points)}</p><ul>{items}</ul>',
        "trust",
    )


def tiles(result):
    """The result in a few numbers."""
    converged = result["converged"]
    shown = [
        ("Edges of the best DAG", str(result["n_edges"]), ""),
        ("Its log score", number(result["log_score"], 2), ""),
        ("Sampled DAGs", f"{result['n_chains']} &times; {result['n_draws']}", ""),
    ]
    if converged is not None:
        mood = "good" if converged else "bad"
        shown += [
            ("R-hat of the log score", number(result["log_score_rhat"], 3), mood),
            ("Largest R-hat of an edge", number(result["largest_edge_rhat"], 3), mood),
        ]
    cells = [
        f'<div><dt>{label}</dt><dd class="{mood}">{value}</dd></div>'
        for label, value, mood in shown
    ]
    return f'<dl class="facts">{"".join(cells)}</dl>'


def warnings_section(warnings):
    """What the fit warned of."""
    if not warnings:
        return ""
    items = "".join(f"<li>{escape(text)}</li>" for text in warnings)
    return section("Warnings", f"<ul>{items}</ul>", "warning")


def network_text(network, facts):
    """How to read the picture."""
    text = (
        "In the <b>consensus</b>, variables are joined where that is more probable "
        "than the threshold, and an edge has an arrowhead if one direction alone is. "
        "The darker and wider a line, the more probable the edge. Of the other graphs "
        "all edges are drawn, the less probable ones dashed."
    )
    if network["signed"]:
        text += (
            ' <span class="positive">Blue</span>: the child grows with the parent; '
            '<span class="negative">orange</span>: it falls.'
        )
    names = ", ".join(escape(name) for name in facts["data"]["background"])
    if names:
        text += f" In the background, given and without parents: {names}."
    if facts["data"]["interventions"]:
        text += (
            " Experiments tell more: every edge between a variable that was set and "
            "one that was not has a direction, in all of an interventional "
            "equivalence class."
        )
    return text


def slices(pictures):
    """The slices of a dynamic network, if there are any."""
    return figures(
        pictures,
        slices="<b>The slices.</b> Edges to the present, t, that are more probable "
        "than not, from the steps before and within it; and, where it is learned, the "
        "network of the first time.",
    )


def first_slice_section(dynamic):
    """The network of the first slice, where there is one."""
    initial = getattr(dynamic, "initial_estimator_", None)
    if initial is None:
        return ""
    reached = assess(initial.dag_samples_, initial.log_score_trace_)
    result = result_of(initial, reached)
    edges = initial.edges_frame()
    rows = "".join(
        f"<tr><td>{escape(str(edge.parent))}</td><td>{escape(str(edge.child))}</td>"
        f'<td class="number">{number(edge.probability, 3)}</td>'
        f'<td class="number">{number(edge.error, 3)}</td></tr>'
        for edge in edges[:ROWS_OF_FIRST].itertuples()
    )
    heads = "".join(
        f'<th scope="col">{name}</th>'
        for name in ("From", "To", "Probability", "Standard error")
    )
    return section(
        "The first slice",
        "<p>Nothing is known of what was before the first time, so it has a network of "
        f"its own, learned from the first row of each series: {result['n_edges']} "
        f"edges in the best DAG, with a log score of {number(result['log_score'], 2)}. "
        f"{escape(sample_text(result))}. The most probable edges:</p>"
        f'<div class="scroll"><table id="initial-edges"><thead><tr>{heads}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>",
    )


def edges_text(network):
    """What the table's columns are."""
    text = (
        "<b>Joined</b> is the probability of an edge in either direction, "
        "<b>direction</b> that of the edge as it is listed. Its standard error says "
        "how far it may be off because the sample is finite; R&#8209;hat is near 1 "
        f"where the chains agree. {escape(network['effect'])}"
    )
    if network["left_out"]:
        text += (
            f" {network['left_out']} pairs of variables that are joined with a "
            f"probability below {network['least']} or so are left out."
        )
    return text


def probabilities_section(pictures, posterior):
    """The heat map."""
    return section(
        "All edge probabilities",
        f"<p>{posterior}</p>"
        + figures(
            pictures,
            probabilities="The row is the parent, the column the child; "
            "the stronger its color, the more probable the edge.",
        ),
    )


def chains_section(pictures, result):
    """Whether the chains agree."""
    text = f"<p>{escape(sample_text(result))}. "
    rates = result["acceptance_rate"]
    if rates:
        text += f"Acceptance rates: {', '.join(number(rate, 2) for rate in rates)}."
    text += "</p>"
    several = result["n_chains"] > 1 and result["n_draws"] > 1
    if several and "concordance" not in pictures:
        text += (
            "<p>The agreement of several chains is drawn by the package matplotlib: "
            "<code>pip install 'skbidag[plot]'</code>.</p>"
        )
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


def data_section(data):
    """What was read, and what was made of it."""
    rows = {
        "source": data.get("source"),
        "SHA-256": data.get("sha256"),
        "rows": data["n_rows"],
        "kind": data["kind"],
        "variables": ", ".join(data["variables"]),
        "background": ", ".join(data["background"]),
        "interventions": "; ".join(map(", ".join, data["interventions"])),
    }
    notes = "".join(f"<li>{escape(note)}</li>" for note in data["notes"])
    shown = {name: value for name, value in rows.items() if value not in (None, "")}
    return section("The data", settings_table(shown) + f"<ul>{notes}</ul>")


def settings_section(facts, files):
    """Everything to repeat it."""
    parts = []
    if "command" in facts:
        parts.append(f"<pre><code>{escape(facts['command'])}</code></pre>")
    took = facts["result"].get("seconds")
    took = "" if took is None else f"It took {took:.1f} seconds. "
    parts += [
        f"<p>{took}The same data, settings and versions give the same result, whatever "
        "<code>n_jobs</code> is.</p>",
        f"<h3>Parameters of {escape(facts['estimator'])}</h3>",
        settings_table(facts["parameters"]),
        "<h3>Versions</h3>",
        settings_table(facts["versions"]),
        files or "",
    ]
    return section("To repeat it", "".join(parts))


# ------------------------------------------------------------------------ pieces


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
