"""The report of a command: the page, and what the files beside it are."""

from html import escape

from skbidag._cli._summary import REMEDY
from skbidag._report._page import make_page

FILES = {
    "edges.csv": "every edge that was seen, with probability, standard error and "
    "R-hat; the column posterior says what the probabilities are of",
    "map.csv": "the best DAG as a matrix: 1 in row i and column j is the edge i → j",
    "samples.npz": "the sampled DAGs, their log scores, and the names",
    "graph.graphml": "the best DAG for Cytoscape, Gephi, yEd, networkx or igraph",
    "graph.dot": "the best DAG for Graphviz",
    "summary.json": "the settings below and the result in brief",
}
FILES_OF_FIRST = {
    "initial_edges.csv": "every edge that was seen in the first slice's network",
    "initial_map.csv": "the best DAG of that",
}
LOADING = """\
import numpy as np

with np.load("samples.npz") as saved:
    names, log_scores = saved["names"], saved["log_scores"]
    dags = np.unpackbits(saved["packed"], axis=-1, count=len(names)).astype(bool)
# dags[chain, draw, i, j] is the edge names[i] -> names[j]"""


def make_report(summary, result):
    """Make the page.

    Parameters
    ----------
    summary : dict
        What ``summary.json`` holds.
    result : Fit
        The fitted estimator.

    Returns
    -------
    page : str
        HTML.
    """
    there = FILES | (FILES_OF_FIRST if "initial" in summary["result"] else {})
    items = "".join(
        f'<li><a href="{name}"><code>{name}</code></a>: {text}</li>'
        for name, text in there.items()
    )
    files = (
        f"<h3>Files beside this page</h3><ul>{items}</ul>"
        f"<p>To load the sampled DAGs in Python:</p><pre><code>{escape(LOADING)}"
        "</code></pre>"
    )
    return make_page(
        summary, result.estimator, result.dynamic, remedy=REMEDY, files=files
    )
