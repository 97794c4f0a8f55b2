"""GraphML, which Cytoscape, Gephi, yEd and igraph read, by way of networkx."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from xml.etree.ElementTree import ParseError

from skbidag._frames import labelled_matrix, names_for_others
from skbidag.formats._labelled import graph_and_names, require_text
from skbidag.graphs import from_networkx, to_networkx

if TYPE_CHECKING:
    import pandas as pd


def to_graphml(graph: Any, names: Sequence[str] | None = None) -> str:
    """A graph as GraphML.

    Parameters
    ----------
    graph : array-like of shape (n_nodes, n_nodes) or networkx graph
        A matrix in which ``graph[i, j]`` is the edge i -> j; or what a fitted
        estimator's ``to_networkx`` gives, with probability, error, R-hat and effect as
        attributes of the edges.
    names : sequence of str, default=None
        Names of a matrix's nodes. By default the labels of a frame, or else X0, X1,
        ...

    Returns
    -------
    text : str
        XML. Attributes that are numbers are declared as such; nodes have their name as
        ``id``, ``name`` and ``label``. An undirected edge is one in each direction.

    Examples
    --------
    >>> from skbidag.formats import to_graphml
    >>> text = to_graphml([[0, 1], [0, 0]], ["rain", "wet"])
    >>> 'edge source="rain" target="wet"' in text
    True
    """
    import networkx  # takes a while

    if not isinstance(graph, networkx.Graph):
        graph = to_networkx(*graph_and_names(graph, names))
    names = dict(zip(graph.nodes, names_for_others(graph.nodes), strict=True))
    graph = networkx.relabel_nodes(graph, names)  # a copy
    for node in graph.nodes:
        graph.nodes[node].update(name=node, label=node)
    return "\n".join(networkx.generate_graphml(graph)) + "\n"


def from_graphml(text: str) -> "pd.DataFrame":
    """The graph of a GraphML text.

    Parameters
    ----------
    text : str
        XML.

    Returns
    -------
    graph : pandas.DataFrame of bool of shape (n_nodes, n_nodes)
        Row i, column j is the edge i -> j; an undirected edge has both directions.
        Nodes are called what their attribute ``name`` says, or else ``label``, or else
        by their ``id``.

    Examples
    --------
    >>> from skbidag.formats import from_graphml, to_graphml
    >>> from_graphml(to_graphml([[0, 1], [0, 0]], ["rain", "wet"])).astype(int)
    child   rain  wet
    parent
    rain       0    1
    wet        0    0
    """
    import networkx  # takes a while

    require_text(text)
    try:
        graph = networkx.parse_graphml(text)
    except (networkx.NetworkXError, ParseError) as error:
        raise ValueError(f"The text is not GraphML: {error}.") from error
    names = list(graph.nodes)
    for attribute in ("name", "label"):
        given = [graph.nodes[node].get(attribute) for node in names]
        if None not in given and len(set(given)) == len(names):
            names = given
            break
    return labelled_matrix(from_networkx(graph), names)
