"""Graphs with names: how they come, and how they go."""

import re

import numpy as np

from skbidag._frames import labelled_matrix, names_for_others
from skbidag.graphs import check_adjacency, is_dag, labels_of


def graph_and_names(graph, names):
    """An adjacency matrix and what its nodes are called.

    Parameters
    ----------
    graph : array-like of shape (n_nodes, n_nodes)
        A matrix, or a labelled frame.
    names : sequence or None
        Names of the nodes; by default the frame's labels, or else X0, X1, ...

    Returns
    -------
    adjacency : ndarray of bool of shape (n_nodes, n_nodes)
        The graph.
    names : list of str
        The names, all different.
    """
    names = labels_of(graph, "graph") if names is None else list(names)
    adjacency = check_adjacency(graph, "graph", names=names)
    names = range(len(adjacency)) if names is None else names
    if len(names) != len(adjacency):
        raise ValueError(
            f"names must have one entry per node: got {len(names)} for "
            f"{len(adjacency)} nodes."
        )
    names = names_for_others(names)
    if len(set(names)) != len(names):
        raise ValueError("names must differ from each other.")
    return adjacency, names


def require_dag(adjacency, what):
    """Refuse a graph with a cycle or with undirected edges."""
    if not is_dag(adjacency):
        raise ValueError(
            f"{what} holds DAGs alone, but graph has a cycle or an undirected edge."
        )


def require_text(text):
    """Refuse what is no text, such as the path of a file."""
    if not isinstance(text, str):
        raise TypeError(
            f"text must be a str, what is in the file, got {type(text).__name__}."
        )


def labelled(names, edges):
    """A labelled adjacency matrix from pairs of names, parent first.

    Parameters
    ----------
    names : sequence of str
        The nodes, in order.
    edges : iterable of tuple of str
        The edges.

    Returns
    -------
    graph : pandas.DataFrame of bool of shape (n_nodes, n_nodes)
        The graph.
    """
    place = {name: i for i, name in enumerate(names)}
    adjacency = np.zeros((len(place), len(place)), dtype=bool)
    for parent, child in edges:
        adjacency[place[parent], place[child]] = True
    return labelled_matrix(adjacency, list(place))


def plain_words(words, forbidden):
    """Words without characters that a format has other uses for, all different.

    Parameters
    ----------
    words : sequence of str
        The words.
    forbidden : str
        A regular expression for such characters, each of which becomes "_".

    Returns
    -------
    words : list of str
        The words; a number at the end tells apart what would be the same.
    """
    taken, result = set(words), []
    for word in words:
        plain = re.sub(forbidden, "_", word) or "_"
        if plain != word:
            base, number = plain, 2
            while plain in taken:
                plain = f"{base}_{number}"
                number += 1
            taken.add(plain)
        result.append(plain)
    return result
