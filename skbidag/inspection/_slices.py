"""A dynamic network: its slices side by side."""

import itertools
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skbidag.inspection._plotting import COLORS, check_names, import_pyplot

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Inches between the slices, and between the rows
SLICE_WIDTH, ROW_HEIGHT = 2.1, 0.42

KINDS = {"lagged": "blue", "contemporaneous": "vermilion", "static": "green"}


class DynamicGraphDisplay:
    """Edges of a dynamic network, between slices and within them.

    A column is a slice, a row a variable. Edges between slices are lines from the left
    to the last slice, which is the present, past the slices between; those within the
    present are arcs to the right of it. The wider and darker, the more probable. Where
    a network of the first slice is learned, it is the first of the slices' columns, to
    which nothing leads but static variables.

    Use :meth:`from_estimator` to make one.

    Parameters
    ----------
    probabilities : DynamicGraph
        Edge probabilities, or edges as zeros and ones.
    threshold : float, default=0.5
        Edges that are more probable are drawn.
    feature_names, static_names : sequence of str, default=None
        Names of the variables and of those that do not change. By default, numbers.

    Attributes
    ----------
    edges_ : dict
        Maps edges to their arrows: ``("transition", lag, i, j)``, ``("static", i, j)``,
        ``("initial", i, j)`` and ``("initial_static", i, j)``.
    nodes_ : dict
        Maps (column, name) to texts; columns are "static", "first", and "t", "t-1" and
        so on.
    legend_ : matplotlib Legend
        Which edges have which color.
    ax_ : matplotlib Axes
        Axes with the picture.
    figure_ : matplotlib Figure
        Figure with the axes.

    Examples
    --------
    >>> import numpy as np
    >>> from skbidag import DynamicGraph
    >>> from skbidag.inspection import DynamicGraphDisplay
    >>> graph = DynamicGraph(np.array([[[0, 1], [0, 0]], [[1, 0], [0, 1]]]),
    ...                      np.zeros((0, 2)))
    >>> display = DynamicGraphDisplay(graph, feature_names=["rain", "mood"]).plot()
    >>> sorted(display.edges_)
    [('transition', 0, 0, 1), ('transition', 1, 0, 0), ('transition', 1, 1, 1)]
    """

    def __init__(
        self,
        probabilities: Any,
        *,
        threshold: float = 0.5,
        feature_names=None,
        static_names=None,
    ):
        self.probabilities = probabilities
        self.threshold = threshold
        self.feature_names = feature_names
        self.static_names = static_names

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, threshold: float = 0.5, ax: "Axes | None" = None
    ) -> Self:
        """Draw what a :class:`~skbidag.DynamicStructure` has learned.

        Parameters
        ----------
        estimator : DynamicStructure
            The fitted estimator.
        threshold : float, default=0.5
            Edges that are more probable are drawn.
        ax : matplotlib Axes, default=None
            Where to draw. By default a new figure as large as the network needs.

        Returns
        -------
        display : DynamicGraphDisplay
            The display.
        """
        check_is_fitted(estimator)
        return cls(
            estimator.probabilities_,
            threshold=threshold,
            feature_names=estimator.variables_,
            static_names=estimator.static_,
        ).plot(ax=ax)

    def plot(self, ax: "Axes | None" = None) -> Self:
        """Draw the network.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw. By default a new figure as large as the network needs.

        Returns
        -------
        display : DynamicGraphDisplay
            The display itself.
        """
        plt = import_pyplot(f"{type(self).__name__}.plot")
        graph = self.probabilities
        self._names = check_names(self.feature_names, graph.n_variables)
        self._static_names = check_names(self.static_names, graph.n_static)
        columns = self._columns(graph)
        n_rows = max(graph.n_variables, graph.n_static)
        if ax is None:
            size = SLICE_WIDTH * (len(columns) + 0.4), ROW_HEIGHT * (n_rows + 2.5)
            _, ax = plt.subplots(figsize=size, layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        self._x = {column: float(k) for k, column in enumerate(columns)}
        self.nodes_, self.edges_ = {}, {}
        for column in columns:
            self._draw_column(column)
        self._draw_edges(graph)
        # room for the arcs beside the last column, and for the names above
        ax.set_xlim(-0.45, len(columns) - 0.2)
        ax.set_ylim(n_rows - 0.3, -1.2)
        ax.axis("off")
        self.legend_ = self._draw_legend()
        return self

    def _columns(self, graph):
        columns = ["static"] if graph.n_static else []
        if graph.initial is not None:
            columns.append("first")
        before = [f"t-{lag}" for lag in range(graph.n_lags, 0, -1)]
        return [*columns, *before, "t"]

    def _draw_column(self, column):
        names = self._static_names if column == "static" else self._names
        self.ax_.text(
            self._x[column], -0.85, column, ha="center", va="center", fontweight="bold"
        )
        box = {"boxstyle": "round,pad=0.25", "fc": "#E8EEF4", "ec": "#8496A8"}
        for row, name in enumerate(names):
            self.nodes_[column, name] = self.ax_.text(
                self._x[column], row, name, ha="center", va="center", bbox=box, zorder=5
            )

    def _draw_edges(self, graph):
        for lag, i, j in np.argwhere(graph.transition > self.threshold).tolist():
            kind, start = "contemporaneous", "t"
            if lag:
                kind, start = "lagged", f"t-{lag}"
            probability = graph.transition[lag, i, j]
            key = "transition", lag, i, j
            self.edges_[key] = self._arrow((start, i), ("t", j), probability, kind)
        for i, j in np.argwhere(graph.static > self.threshold).tolist():
            self.edges_["static", i, j] = self._arrow(
                ("static", i), ("t", j), graph.static[i, j], "static"
            )
        if graph.initial is None:
            return
        for i, j in np.argwhere(graph.initial > self.threshold).tolist():
            self.edges_["initial", i, j] = self._arrow(
                ("first", i), ("first", j), graph.initial[i, j], "contemporaneous"
            )
        for i, j in np.argwhere(graph.initial_static > self.threshold).tolist():
            self.edges_["initial_static", i, j] = self._arrow(
                ("static", i), ("first", j), graph.initial_static[i, j], "static"
            )

    def _arrow(self, start, end, probability, kind):
        from matplotlib.patches import FancyArrowPatch

        look = {
            "arrowstyle": "-|>",
            "mutation_scale": 11,
            "color": COLORS[KINDS[kind]],
            "linewidth": 0.5 + 1.5 * probability,
            "alpha": float(0.35 + 0.65 * probability),
            "zorder": 2,
        }
        distance = abs(self._x[end[0]] - self._x[start[0]])
        if distance == 0:
            arrow = self._arc(start, end, look)
        elif distance == 1:
            arrow = FancyArrowPatch(
                self._center(start),
                self._center(end),
                patchA=self._box(start).get_bbox_patch(),
                patchB=self._box(end).get_bbox_patch(),
                **look,
            )
        else:
            arrow = FancyArrowPatch(path=self._way(start, end), **look)
        return self.ax_.add_patch(arrow)

    def _arc(self, start, end, look):
        """An arc to the right of a column, whichever way it goes."""
        from matplotlib.patches import FancyArrowPatch

        # from side to side: between centers it would run under the boxes
        ends = [(self._center(n)[0] + self._half_width(n), n[1]) for n in (start, end)]
        distance = end[1] - start[1]
        # the further the flatter
        bend = -np.sign(distance) * max(0.25, 0.6 - 0.04 * abs(distance))
        return FancyArrowPatch(
            *ends, connectionstyle=f"arc3,rad={bend}", shrinkA=8, shrinkB=8, **look
        )

    def _way(self, start, end):
        """A way past the columns between, each in the gap of two rows."""
        from matplotlib.path import Path

        (x, y), (x_end, y_end) = self._center(start), self._center(end)
        between = np.arange(x + 1, x_end)
        gaps = np.floor(np.interp(between, [x, x_end], [y, y_end])) + 0.5
        # ways in the same gap lie beside each other
        gaps += 0.07 * ((3 * start[1] + 5 * end[1]) % 5 - 2)
        points = [
            (x + self._half_width(start), y),
            *zip(between, gaps, strict=True),
            (x_end - self._half_width(end) - 0.03, y_end),
        ]
        vertices, codes = [points[0]], [Path.MOVETO]
        for (x0, y0), (x1, y1) in itertools.pairwise(points):
            middle = (x0 + x1) / 2
            vertices += [(middle, y0), (middle, y1), (x1, y1)]
            codes += [Path.CURVE4] * 3
        return Path(vertices, codes)

    def _center(self, node):
        return self._x[node[0]], node[1]

    def _box(self, node):
        return self.nodes_[node[0], self._row_name(*node)]

    def _half_width(self, node):
        """About half of a box's width, in slices."""
        return 0.03 + 0.012 * len(self._row_name(*node))

    def _row_name(self, column, row):
        return self._static_names[row] if column == "static" else self._names[row]

    def _draw_legend(self):
        from matplotlib.lines import Line2D

        shown = {
            "lagged": any(k[0] == "transition" and k[1] for k in self.edges_),
            "contemporaneous": any(
                k[0] == "initial" or (k[0] == "transition" and not k[1])
                for k in self.edges_
            ),
            "static": any("static" in k[0] for k in self.edges_),
        }
        lines = [
            Line2D([], [], color=COLORS[KINDS[kind]], label=kind)
            for kind in KINDS
            if shown[kind]
        ]
        return self.ax_.legend(
            handles=lines,
            loc="upper center",
            bbox_to_anchor=(0.5, 0.0),
            frameon=False,
            ncols=3,
        )
