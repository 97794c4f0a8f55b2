"""Edge probabilities along the draws of chains."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from skbidag._data import names_of
from skbidag._posterior import edge_draws
from skbidag.graphs import Kind
from skbidag.inspection._plotting import chain_colors, import_pyplot, legend_beside

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class EdgeTraceDisplay:
    """Edge probabilities by the draws so far, against the number of draws.

    Where a chain has converged its lines are level, and those of other chains lie upon
    them.

    Use :meth:`from_estimator` to make one.

    Parameters
    ----------
    probabilities : array-like of shape (n_chains, n_draws, n_edges)
        Share of the first draws, up to each one, that have an edge.
    labels : sequence of str, default=None
        Names of the edges.

    Attributes
    ----------
    lines_ : list of matplotlib Line2D
        One for each chain and edge, the edges of the first chain first.
    ax_ : matplotlib Axes
        Axes with the picture.
    figure_ : matplotlib Figure
        Figure with the axes.

    Notes
    -----
    BiDAG name: ``plotpedges``.

    Examples
    --------
    >>> from skbidag import OrderMCMCStructure
    >>> from skbidag.datasets import make_gaussian_network
    >>> from skbidag.inspection import EdgeTraceDisplay
    >>> network = make_gaussian_network(200, 8, random_state=0)
    >>> model = OrderMCMCStructure(random_state=0).fit(network.data)
    >>> display = EdgeTraceDisplay.from_estimator(model, n_edges=5)
    >>> len(display.lines_)
    20
    """

    def __init__(
        self, probabilities: ArrayLike, *, labels: Sequence[str] | None = None
    ):
        self.probabilities = probabilities
        self.labels = labels

    def plot(self, ax: "Axes | None" = None, **line_kw: Any) -> Self:
        """Draw the lines.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw. By default a new figure.
        **line_kw : dict
            Passed on to :meth:`matplotlib.axes.Axes.plot`.

        Returns
        -------
        display : EdgeTraceDisplay
            The display itself.
        """
        plt = import_pyplot(f"{type(self).__name__}.plot")
        probabilities = np.asarray(self.probabilities, dtype=float)
        if probabilities.ndim != 3:
            raise ValueError(
                "probabilities must have the shape (n_chains, n_draws, n_edges), got "
                f"{probabilities.shape}."
            )
        n_chains, n_draws, n_edges = probabilities.shape
        if self.labels is not None and len(self.labels) != n_edges:
            raise ValueError(f"labels must be {n_edges} names, got {len(self.labels)}.")
        if ax is None:
            _, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
        self.ax_, self.figure_, self.lines_ = ax, ax.figure, []
        draws, colors = np.arange(1, n_draws + 1), chain_colors(n_chains)
        for k, chain in enumerate(probabilities):
            for edge in range(n_edges):
                look = {
                    "color": colors[k],
                    "linewidth": 0.8,
                    "label": f"chain {k + 1}" if edge == 0 else None,
                    **line_kw,
                }
                self.lines_ += ax.plot(draws, chain[:, edge], **look)
        if self.labels is not None:
            ends = probabilities[:, -1].mean(axis=0)
            for label, end in zip(self.labels, ends, strict=True):
                ax.annotate(label, (n_draws, end), fontsize="x-small", va="center")
        ax.set(xlabel="draws", ylabel="edge probability so far", ylim=(-0.03, 1.03))
        if n_chains > 1 and n_edges:
            legend_beside(ax, ncols=1 + (n_chains - 1) // 20)
        return self

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        kind: Kind = "dag",
        n_edges: int = 20,
        ax: "Axes | None" = None,
        **line_kw: Any,
    ) -> Self:
        """Follow the uncertain edges of a fitted estimator.

        Parameters
        ----------
        estimator : estimator instance
            A fitted structure estimator.
        kind : {"dag", "cpdag", "skeleton"}, default="dag"
            Which edges, see the estimator's ``edge_probabilities``.
        n_edges : int, default=20
            How many edges: those whose probabilities are nearest to one half.
        ax : matplotlib Axes, default=None
            Where to draw. By default a new figure.
        **line_kw : dict
            Passed on to :meth:`matplotlib.axes.Axes.plot`.

        Returns
        -------
        display : EdgeTraceDisplay
            The display.
        """
        check_is_fitted(estimator)
        samples = estimator.dag_samples_
        probabilities = estimator.edge_probabilities(kind)
        places = ~np.eye(len(probabilities), dtype=bool)
        if kind == "skeleton":
            places = np.triu(places)
        edges = np.argwhere(places)
        certainty = np.abs(probabilities[tuple(edges.T)] - 0.5)
        edges = edges[np.argsort(certainty, kind="stable")[:n_edges]]
        chosen = np.zeros_like(places)
        chosen[tuple(edges.T)] = True
        draws = edge_draws(samples, chosen, kind)
        numbers = np.arange(1, samples.n_draws + 1)[:, None]
        names = names_of(estimator)
        names = range(len(places)) if names is None else names
        arrow = "-" if kind == "skeleton" else "→"
        labels = [f"{names[i]} {arrow} {names[j]}" for i, j in np.argwhere(chosen)]
        shares = np.cumsum(draws, axis=1) / numbers
        return cls(shares, labels=labels).plot(ax=ax, **line_kw)
