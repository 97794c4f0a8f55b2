"""The model string of bnlearn: ``[A][S][T|A:S]``, each node with its parents."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from skbidag.formats._labelled import (
    graph_and_names,
    labelled,
    plain_words,
    require_dag,
    require_text,
)
from skbidag.graphs import topological_order

if TYPE_CHECKING:
    import pandas as pd

_NODE = re.compile(r"\[([^][|:]+)(?:\|([^][|]+))?\]")


def to_modelstring(graph: ArrayLike, names: Sequence[str] | None = None) -> str:
    """A DAG as a model string, which bnlearn's ``model2network`` reads.

    Parameters
    ----------
    graph : array-like of shape (n_nodes, n_nodes)
        The DAG; ``graph[i, j]`` is the edge i -> j.
    names : sequence of str, default=None
        Names of the nodes. By default the labels of a frame, or else X0, X1, ...

    Returns
    -------
    text : str
        Nodes in topological order. The characters ``[ ] | :``, which the format has
        other uses for, are "_" in names.

    Examples
    --------
    >>> from skbidag.formats import to_modelstring
    >>> to_modelstring([[0, 0, 1], [0, 0, 1], [0, 0, 0]], ["A", "S", "T"])
    '[A][S][T|A:S]'
    """
    adjacency, names = graph_and_names(graph, names)
    require_dag(adjacency, "A model string")
    names = plain_words(names, r"[][|:]")
    text = ""
    for node in topological_order(adjacency):
        parents = ":".join(names[i] for i in np.flatnonzero(adjacency[:, node]))
        text += f"[{names[node]}|{parents}]" if parents else f"[{names[node]}]"
    return text


def from_modelstring(text: str) -> "pd.DataFrame":
    """The DAG of a model string.

    Parameters
    ----------
    text : str
        As bnlearn's ``modelstring`` gives it.

    Returns
    -------
    graph : pandas.DataFrame of bool of shape (n_nodes, n_nodes)
        The DAG, nodes in the order of the string. Row i, column j is the edge i -> j.

    Examples
    --------
    >>> from skbidag.formats import from_modelstring
    >>> from_modelstring("[A][S][T|A:S]").astype(int)
    child   A  S  T
    parent
    A       0  0  1
    S       0  0  1
    T       0  0  0
    """
    require_text(text)
    text = "".join(text.split("\n")).strip()
    found = list(_NODE.finditer(text))
    if not found or "".join(match.group() for match in found) != text:
        raise ValueError(
            "A model string is of nodes like [A] and [T|A:S], one after the other; got "
            f"{text[:60]!r}."
        )
    parents = {match[1]: (match[2] or "").split(":") for match in found}
    if len(parents) < len(found):
        raise ValueError("The model string has a node twice.")
    edges = []
    for child, of_child in parents.items():
        for parent in filter(None, of_child):
            if parent not in parents:
                raise ValueError(
                    f"The model string has the parent {parent!r} of {child!r}, which "
                    "is not among its nodes."
                )
            edges.append((parent, child))
    graph = labelled(list(parents), edges)
    require_dag(graph.to_numpy(), "A model string")
    return graph
