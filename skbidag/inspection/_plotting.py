"""What the displays share."""

import numpy as np

from skbidag.graphs import check_adjacency, labels_of

# Okabe & Ito's colors, which color-blind readers can tell apart
COLORS = {
    "blue": "#0072B2",
    "vermilion": "#D55E00",
    "green": "#009E73",
    "purple": "#CC79A7",
    "orange": "#E69F00",
    "sky": "#56B4E9",
    "black": "#000000",
}


def import_pyplot(caller):
    """matplotlib.pyplot, or an error that says how to get it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            f"{caller} needs matplotlib. Install it with "
            "\"pip install 'skbidag[plot]'\"."
        ) from error
    return plt


def chain_colors(n_chains):
    """One color per chain."""
    import matplotlib

    if n_chains <= len(COLORS):
        return list(COLORS.values())[:n_chains]
    return list(matplotlib.colormaps["cividis"](np.linspace(0, 0.95, n_chains)))


def legend_beside(ax, ncols):
    """Put the legend to the right of the axes."""
    ax.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False, ncols=ncols)


def choose_names(feature_names, matrix, parameter):
    """Names that are given, or else the labels of a frame, or None."""
    return labels_of(matrix, parameter) if feature_names is None else feature_names


def check_names(feature_names, n_nodes):
    """Names of the nodes as a list of str; by default their numbers."""
    if feature_names is None:
        return [str(node) for node in range(n_nodes)]
    names = [str(name) for name in feature_names]
    if len(names) != n_nodes:
        raise ValueError(
            f"feature_names must have one entry per node: got {len(names)} for "
            f"{n_nodes} nodes."
        )
    return names


def shorten(name, longest):
    """A name without its middle, if it has more letters than may be shown."""
    if len(name) <= longest:
        return name
    tail = longest // 3
    return f"{name[: longest - tail - 1]}…{name[-tail:]}"


def check_true_graph(true_graph, n_nodes, names=None):
    """Validate the graph to compare with, or None; its labels are to be the names."""
    if true_graph is None:
        return None
    true_graph = check_adjacency(true_graph, "true_graph", names=names)
    if len(true_graph) != n_nodes:
        raise ValueError(
            f"true_graph must have {n_nodes} nodes, got {len(true_graph)}."
        )
    return true_graph
