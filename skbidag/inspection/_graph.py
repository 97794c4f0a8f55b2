"""The network itself."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from skbidag._data import names_of
from skbidag.graphs import check_adjacency, check_probabilities, to_cpdag
from skbidag.inspection._layout import layered_layout
from skbidag.inspection._plotting import (
    COLORS,
    check_names,
    check_true_graph,
    choose_names,
    import_pyplot,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Lengths are in units of the font size (em).
NODE_HEIGHT, PADDING = 1.7, 1.0
HEAD_LENGTH, HEAD_WIDTH = 0.75, 0.6
# Inches that an entry of the legend takes
LEGEND_WIDTH = 2.0
# Points
FONT_SIZE, LARGEST_FONT, LARGEST_FIGURE = 9.0, 14.0, 24 * 72

# Of an edge in the drawn graph, the true one, or both: color, line style, name
STYLES = {
    "right": ("#404040", "-", "right"),
    "turned": (COLORS["orange"], (0, (5, 1.2, 1, 1.2)), "direction differs"),
    "wrong": (COLORS["vermilion"], "-", "not in the true graph"),
    "missed": (COLORS["blue"], (0, (4, 2)), "missed"),
}


class GraphDisplay:
    """Drawing of a network in layers, parents above children.

    Edges without direction have no arrowhead. The more probable an edge, the wider
    and darker its line. If there is a true graph, colors tell how edges differ from it.

    Use :meth:`from_estimator` or :meth:`from_graph` to make one.

    Parameters
    ----------
    adjacency : array-like of shape (n_nodes, n_nodes)
        ``adjacency[i, j]`` is the edge i -> j, together with ``adjacency[j, i]`` it is
        the undirected edge i - j.
    probabilities : array-like of shape (n_nodes, n_nodes), default=None
        How probable edges are: an edge's weight is the larger of [i, j] and [j, i]. By
        default 1.
    feature_names : sequence of str, default=None
        Names of the nodes. By default the labels of `adjacency`, if it is a frame, or
        the nodes' numbers.
    true_graph : array-like of shape (n_nodes, n_nodes), default=None
        The graph to compare with, taken as it is given: a CPDAG, if `adjacency` is
        one. Of any matrix that is a labelled frame, the nodes are put into the order
        of the names.

    Attributes
    ----------
    layout_ : Layout
        Where nodes (``x``, ``y``, ``layer``) and edges (``routes``) are.
    edges_ : dict
        Maps edges (i, j), with i < j if undirected, to their lines.
    heads_ : dict
        Maps directed edges (i, j) to their arrowheads.
    differences_ : dict
        Maps the edges to "right", "turned" (the direction differs), "wrong" (not in
        the true graph) or "missed".
    nodes_ : list of matplotlib Text
        The nodes' names in their boxes.
    legend_ : matplotlib Legend or None
        What colors mean, if there is a true graph.
    ax_ : matplotlib Axes
        Axes with the picture.
    figure_ : matplotlib Figure
        Figure with the axes.

    See Also
    --------
    EdgeProbabilityDisplay : All edge probabilities.

    Examples
    --------
    >>> from skbidag.inspection import GraphDisplay
    >>> chain = [[0, 1, 0], [0, 0, 1], [0, 0, 0]]
    >>> display = GraphDisplay.from_graph(chain, feature_names=["a", "b", "c"])
    >>> sorted(display.edges_)
    [(0, 1), (1, 2)]
    """

    def __init__(
        self,
        adjacency: ArrayLike,
        *,
        probabilities: ArrayLike | None = None,
        feature_names: Sequence[str] | None = None,
        true_graph: ArrayLike | None = None,
    ):
        self.adjacency = adjacency
        self.probabilities = probabilities
        self.feature_names = feature_names
        self.true_graph = true_graph

    def plot(
        self,
        ax: "Axes | None" = None,
        *,
        node_color: Any = "#E8EEF4",
        legend: bool = True,
    ) -> Self:
        """Draw the network.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw. By default a new figure as large as the network needs.
        node_color : color, default="#E8EEF4"
            Color of the nodes' boxes.
        legend : bool, default=True
            Whether to tell what colors mean, if there is a true graph.

        Returns
        -------
        display : GraphDisplay
            The display itself.
        """
        plt = import_pyplot(f"{type(self).__name__}.plot")
        names = choose_names(self.feature_names, self.adjacency, "adjacency")
        adjacency = check_adjacency(self.adjacency, "adjacency", names=names)
        n = len(adjacency)
        true_graph = check_true_graph(self.true_graph, n, names)
        weights = np.ones((n, n))
        if self.probabilities is not None:
            weights = check_probabilities(self.probabilities, names)
            if len(weights) != n:
                raise ValueError(
                    f"probabilities must have {n} nodes, got {len(weights)}."
                )
            weights = np.minimum(np.maximum(weights, weights.T), 1.0)
        names = check_names(names, n)

        drawn = _union(adjacency, true_graph)
        # at least as wide as the arrowheads side by side
        ends = np.maximum(drawn.sum(axis=0), drawn.sum(axis=1))
        widths = np.maximum(_text_widths(names) + PADDING, 1.2 * HEAD_WIDTH * ends)
        self.layout_ = layered_layout(drawn, widths, NODE_HEIGHT, spacing=1.2)
        if ax is None:
            ax = _new_axes(plt, self.layout_.size, legend and true_graph is not None)
        self.ax_, self.figure_ = ax, ax.figure
        font_size = _fit(ax, self.layout_.size)
        self._draw_edges(adjacency, true_graph, weights, font_size)
        self._draw_nodes(names, widths, node_color, font_size)
        self.legend_ = None
        if legend and true_graph is not None:
            self.legend_ = self._draw_legend()
        return self

    def _draw_edges(self, adjacency, true_graph, weights, font_size):
        from matplotlib.patches import PathPatch, Polygon

        self.edges_, self.heads_, self.differences_ = {}, {}, {}
        for (i, j), route in self.layout_.routes.items():
            self.differences_[i, j] = kind = _difference(adjacency, true_graph, i, j)
            graph = true_graph if kind == "missed" else adjacency
            weight = 1.0 if kind == "missed" else weights[i, j]
            color, style, _ = STYLES[kind]
            look = {
                "color": color,
                "alpha": 0.35 + 0.65 * weight,
                "zorder": 1 + weight,
            }
            straight = self.layout_.layer[i] < 0
            route, head = _split_head(route, not graph[j, i], straight)
            self.edges_[i, j] = self.ax_.add_patch(
                PathPatch(
                    _line(route) if straight else _curve(route),
                    fill=False,
                    linestyle=style,
                    linewidth=(0.4 + 1.2 * weight) * font_size / FONT_SIZE,
                    capstyle="butt",
                    **look,
                )
            )
            if head is not None:
                self.heads_[i, j] = self.ax_.add_patch(
                    Polygon(head, linewidth=0, **look)
                )

    def _draw_nodes(self, names, widths, node_color, font_size):
        from matplotlib.patches import FancyBboxPatch

        from skbidag.inspection._label import Label

        self.nodes_ = []
        for x, y, width, name in zip(
            self.layout_.x, self.layout_.y, widths, names, strict=True
        ):
            self.ax_.add_patch(
                FancyBboxPatch(
                    (x - width / 2, y - NODE_HEIGHT / 2),
                    width,
                    NODE_HEIGHT,
                    boxstyle="round,pad=0,rounding_size=0.5",
                    facecolor=node_color,
                    edgecolor="#708090",
                    linewidth=0.08 * font_size,
                    zorder=3,
                )
            )
            look = {"ha": "center", "va": "center_baseline", "parse_math": False}
            label = Label(x, y, name, zorder=4, **look)
            self.nodes_.append(self.ax_.add_artist(label))

    def _draw_legend(self):
        from matplotlib.lines import Line2D

        kinds = [kind for kind in STYLES if kind in self.differences_.values()]
        handles = [
            Line2D([], [], color=color, linestyle=style, label=label, linewidth=1.8)
            for color, style, label in (STYLES[kind] for kind in kinds)
        ]
        return self.ax_.legend(
            handles=handles,
            loc="upper center",
            bbox_to_anchor=(0.5, 0.0),
            ncols=_columns(self.ax_.get_window_extent().width / self.figure_.dpi),
            frameon=False,
        )

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        graph: Literal["consensus", "cpdag", "dag"] = "consensus",
        threshold: float = 0.5,
        true_graph: ArrayLike | None = None,
        ax: "Axes | None" = None,
        node_color: Any = "#E8EEF4",
        legend: bool = True,
    ) -> Self:
        """Draw what a fitted estimator has learned.

        Parameters
        ----------
        estimator : estimator instance
            A fitted structure estimator.
        graph : {"consensus", "cpdag", "dag"}, default="consensus"
            What is drawn. "consensus": two nodes are joined if that has a posterior
            probability above `threshold`, and the edge is directed if that direction
            alone has one in the CPDAGs of the sampled DAGs. "cpdag" and "dag": the best
            DAG's equivalence class, and the best DAG.
        threshold : float, default=0.5
            See `graph`.
        true_graph : array-like of shape (n_features, n_features), default=None
            A DAG or CPDAG to compare with. Unless `graph` is "dag", a DAG is turned
            into its CPDAG, with interventions that of the interventional class.
        ax : matplotlib Axes, default=None
            Where to draw. By default a new figure as large as the network needs.
        node_color : color, default="#E8EEF4"
            Color of the nodes' boxes.
        legend : bool, default=True
            Whether to tell what colors mean, if there is a true graph.

        Returns
        -------
        display : GraphDisplay
            The display. Lines are the wider, the more probable it is that the two
            nodes are joined ("dag": in that direction).
        """
        check_is_fitted(estimator)
        if graph == "dag":
            adjacency = estimator.adjacency_
            probabilities = estimator.edge_probabilities("dag") * adjacency
        elif graph in ("consensus", "cpdag"):
            probabilities = estimator.edge_probabilities("skeleton")
            adjacency = estimator.cpdag_
            if graph == "consensus":
                adjacency = _consensus(estimator, probabilities, threshold)
            samples = estimator.dag_samples_
            targets = (*samples.targets, *samples.upstream)
            true_graph = _as_cpdag(
                true_graph, len(adjacency), names_of(estimator), targets
            )
        else:
            raise ValueError(
                f"graph must be 'consensus', 'cpdag' or 'dag', got {graph!r}."
            )
        return cls.from_graph(
            adjacency,
            probabilities=probabilities,
            feature_names=names_of(estimator),
            true_graph=true_graph,
            ax=ax,
            node_color=node_color,
            legend=legend,
        )

    @classmethod
    def from_graph(
        cls,
        adjacency: ArrayLike,
        *,
        probabilities: ArrayLike | None = None,
        feature_names: Sequence[str] | None = None,
        true_graph: ArrayLike | None = None,
        ax: "Axes | None" = None,
        node_color: Any = "#E8EEF4",
        legend: bool = True,
    ) -> Self:
        """Draw any directed or partially directed graph.

        Parameters
        ----------
        adjacency : array-like of shape (n_nodes, n_nodes)
            ``adjacency[i, j]`` is the edge i -> j, together with ``adjacency[j, i]`` it
            is the undirected edge i - j.
        probabilities : array-like of shape (n_nodes, n_nodes), default=None
            How probable edges are: an edge's weight is the larger of [i, j] and
            [j, i]. By default 1.
        feature_names : sequence of str, default=None
            Names of the nodes. By default the labels of `adjacency`, if it is a frame,
            or the nodes' numbers.
        true_graph : array-like of shape (n_nodes, n_nodes), default=None
            The graph to compare with, taken as it is given.
        ax : matplotlib Axes, default=None
            Where to draw. By default a new figure as large as the network needs.
        node_color : color, default="#E8EEF4"
            Color of the nodes' boxes.
        legend : bool, default=True
            Whether to tell what colors mean, if there is a true graph.

        Returns
        -------
        display : GraphDisplay
            The display.
        """
        display = cls(
            adjacency,
            probabilities=probabilities,
            feature_names=feature_names,
            true_graph=true_graph,
        )
        return display.plot(ax=ax, node_color=node_color, legend=legend)


def _as_cpdag(true_graph, n_nodes, names, targets):
    """Turn a true DAG into its CPDAG; a CPDAG, or None, stays what it is."""
    true_graph = check_true_graph(true_graph, n_nodes, names)
    if true_graph is None or (true_graph & true_graph.T).any():
        return true_graph
    return to_cpdag(true_graph, targets=targets)


def _consensus(estimator, joined, threshold):
    """Pairs joined above the threshold, directed where CPDAGs agree."""
    directed = estimator.consensus_graph(threshold, kind="cpdag")
    undecided = (joined > threshold) & ~(directed | directed.T)
    return directed | undecided


def _union(adjacency, true_graph):
    """The edges of a graph, and of the true one where it has none."""
    if true_graph is None:
        return adjacency
    return adjacency | (true_graph & ~(adjacency | adjacency.T))


def _difference(adjacency, true_graph, i, j):
    """How the edge between i and j differs from the true graph."""
    if true_graph is None:
        return "right"
    drawn = adjacency[i, j], adjacency[j, i]
    true = true_graph[i, j], true_graph[j, i]
    if drawn == true:
        return "right"
    if not any(true):
        return "wrong"
    return "turned" if any(drawn) else "missed"


def _text_widths(names):
    """Widths of the names in units of the font size."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(size=100)
    sizes = [
        text_to_path.get_text_width_height_descent(name, font, ismath=False)
        for name in names
    ]
    return np.array([width for width, *_ in sizes]) / 100


def _new_axes(plt, size, legend):
    """Axes in which a drawing of this size, in em, has letters of FONT_SIZE."""
    width, height = (max(side, 12.0) * FONT_SIZE for side in size)
    shrink = min(1.0, LARGEST_FIGURE / width, LARGEST_FIGURE / height)
    width = max(width * shrink / 72 + 0.4, 3.5)
    bottom = 0.1 + legend * 0.25 * -(-len(STYLES) // _columns(0.98 * width))
    height = height * shrink / 72 + 0.2 + bottom
    figure = plt.figure(figsize=(width, height))
    return figure.add_axes((0.01, bottom / height, 0.98, 1 - (bottom + 0.1) / height))


def _columns(width):
    """Columns of a legend, which may be so many inches wide."""
    return int(np.clip(width // LEGEND_WIDTH, 1, len(STYLES)))


def _fit(ax, size):
    """Fit the drawing into the axes; returns the font size, in points."""
    ax.set_axis_off()
    box = ax.get_window_extent()
    width, height = box.width * 72 / ax.figure.dpi, box.height * 72 / ax.figure.dpi
    font_size = min(width / (size[0] + 1), height / (size[1] + 1), LARGEST_FONT)
    font_size = max(font_size, 0.1)
    # centered, with what the axes have too much of around it
    for side, length, limits in [
        (size[0], width, ax.set_xlim),
        (size[1], height, ax.set_ylim),
    ]:
        middle, reach = side / 2, length / font_size / 2
        limits(middle - reach, middle + reach)
    ax.set_aspect("equal")
    return font_size


def _split_head(route, directed, straight):
    """Shorten a route by its arrowhead, a triangle, if there is one."""
    if not directed:
        return route, None
    tip, way = route[-1], route[-1] - route[-2]
    if not straight:
        way = way * [0, 1]  # edges come in from above or below
    way = way / max(np.hypot(*way), 1e-9)
    across = HEAD_WIDTH / 2 * np.array([way[1], -way[0]])
    base = tip - HEAD_LENGTH * way
    route = np.vstack([route[:-1], base])
    return route, np.array([tip, base - across, base + across])


def _line(route):
    """A straight path."""
    from matplotlib.path import Path

    return Path(route)


def _curve(route):
    """A smooth path: S-shaped through gaps, straight through layers."""
    from matplotlib.path import Path

    points, codes = [route[0]], [Path.MOVETO]
    for start, end in zip(route[0::2], route[1::2], strict=True):
        if len(points) > 1:
            points.append(start)
            codes.append(Path.LINETO)
        middle = (start[1] + end[1]) / 2
        points += [(start[0], middle), (end[0], middle), end]
        codes += [Path.CURVE4] * 3
    return Path(points, codes)
