"""The language of DAGitty: ``dag { A -> T S -> T }``, and ``pdag`` with ``A -- B``."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from skbidag.formats._labelled import (
    graph_and_names,
    labelled,
    require_dag,
    require_text,
)

if TYPE_CHECKING:
    import pandas as pd

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")
_TOKEN = re.compile(
    r"""\s*(?:(?P<quoted>"[^"]*"|'[^']*')|(?P<arrow><->|->|<-|--|@-@|@->|<-@)"""
    r"""|(?P<sign>[{}\[\]=,;])|(?P<word>[^\s{}\[\]=,;"'<>@-]+(?:-(?![->])"""
    r"""[^\s{}\[\]=,;"'<>@-]+)*))"""
)
_KINDS = ("dag", "pdag")


def to_dagitty(graph: ArrayLike, names: Sequence[str] | None = None) -> str:
    """A DAG or CPDAG in the language of DAGitty.

    Parameters
    ----------
    graph : array-like of shape (n_nodes, n_nodes)
        The graph; ``graph[i, j]`` is the edge i -> j, and together with
        ``graph[j, i]`` it is the undirected edge i - j.
    names : sequence of str, default=None
        Names of the nodes. By default the labels of a frame, or else X0, X1, ...

    Returns
    -------
    text : str
        For dagitty.net, or ``dagitty()`` in R. Names are quoted where they have to be;
        in these, a quotation mark is "'".

    Examples
    --------
    >>> from skbidag.formats import to_dagitty
    >>> print(to_dagitty([[0, 1], [0, 0]], ["rain", "wet grass"]))
    dag {
    rain
    "wet grass"
    rain -> "wet grass"
    }
    """
    adjacency, names = graph_and_names(graph, names)
    names = [
        name if _PLAIN.fullmatch(name) else '"' + name.replace('"', "'") + '"'
        for name in names
    ]
    undirected = adjacency & adjacency.T
    if not undirected.any():
        require_dag(adjacency, "dag { }")
    lines = [f"{'pdag' if undirected.any() else 'dag'} {{", *names]
    for i, j in np.argwhere(adjacency):
        if not undirected[i, j]:
            lines.append(f"{names[i]} -> {names[j]}")
        elif i < j:
            lines.append(f"{names[i]} -- {names[j]}")
    return "\n".join([*lines, "}"])


def from_dagitty(text: str) -> "pd.DataFrame":
    """The graph of a text in the language of DAGitty.

    Parameters
    ----------
    text : str
        A ``dag`` or a ``pdag``. What stands in brackets, such as places and roles of
        nodes, is skipped.

    Returns
    -------
    graph : pandas.DataFrame of bool of shape (n_nodes, n_nodes)
        Nodes in the order in which they first stand. Row i, column j is the edge
        i -> j; an undirected edge has both directions.

    Examples
    --------
    >>> from skbidag.formats import from_dagitty
    >>> from_dagitty('dag { rain [exposure] rain -> wet <- hose }').astype(int)
    child   rain  wet  hose
    parent
    rain       0    1     0
    wet        0    0     0
    hose       0    1     0
    """
    require_text(text)
    tokens = _without_brackets(_tokens(text))
    kind = tokens[0][1] if tokens else ""
    signs = [word for group, word in tokens if group == "sign"]
    if (
        kind not in _KINDS
        or tokens[1:2] != [("sign", "{")]
        or tokens[-1] != ("sign", "}")
        or len(signs) != 2 + signs.count(";")
    ):
        raise ValueError(
            "A graph in the language of DAGitty is 'dag { ... }' or 'pdag { ... }', "
            f"without braces inside; got {text[:60]!r}."
        )
    names, edges, before, arrow = {}, [], None, None
    for group, word in tokens[2:-1]:
        if group == "arrow":
            if before is None or arrow is not None or word not in ("->", "<-", "--"):
                raise ValueError(
                    f"{word!r} in the DAGitty graph cannot be read: edges are '->', "
                    "'<-' and '--', between two nodes."
                )
            arrow = word
            continue
        if group == "sign":  # of which ";" is left
            before = None
            continue
        names.setdefault(word)
        if arrow in ("->", "--"):
            edges.append((before, word))
        if arrow in ("<-", "--"):
            edges.append((word, before))
        before, arrow = word, None
    if arrow is not None:
        raise ValueError(f"The DAGitty graph ends with {arrow!r}.")
    graph = labelled(list(names), edges)
    if kind == "dag":
        require_dag(graph.to_numpy(), "dag { }")
    return graph


def _tokens(text):
    """Words, arrows and signs of a text, with quotation marks taken off."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.DOTALL).strip()
    tokens, place = [], 0
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            raise ValueError(
                f"The DAGitty graph cannot be read from {text[place:][:30]!r} on."
            )
        group = match.lastgroup
        word = match[group]
        tokens.append(("word", word[1:-1]) if group == "quoted" else (group, word))
        place = match.end()
    return tokens


def _without_brackets(tokens):
    """Tokens outside of [ ], and without what is said of the whole graph (bb=...)."""
    outside, depth = [], 0
    for token in tokens:
        depth += token == ("sign", "[")
        if not depth:
            outside.append(token)
        depth -= token == ("sign", "]")
    result = []
    for token in outside:
        if result and result[-1] == ("sign", "="):
            result[-2:] = []  # the name before it, and this value
        else:
            result.append(token)
    return result
