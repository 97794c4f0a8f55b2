"""Whether chains agree on the probabilities of edges."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from skbidag.diagnostics import chain_edge_probabilities, check_runs, concordance
from skbidag.graphs import Kind
from skbidag.inspection._plotting import chain_colors, import_pyplot, legend_beside

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class ConcordanceDisplay:
    """Edge probabilities by each chain against those by the others.

    On the diagonal the chains agree. How well they do is told by the squared
    correlation (R²) and the root mean squared difference (RMSD) over the edges that are
    more probable than 5 % by at least one, of which the worst are shown.

    Use :meth:`from_estimator` or :meth:`from_probabilities` to make one.

    Parameters
    ----------
    probabilities : array-like of shape (n_runs, n_nodes, n_nodes)
        Edge probabilities by each of at least two chains or runs; entry [c, i, j] is
        about the edge i -> j.
    labels : sequence of str, default=None
        Names of the runs. By default "chain 1" and so on.

    Attributes
    ----------
    r2_, rmsd_ : ndarray of shape (n_compared,)
        Squared correlation and root mean squared difference of each run and the mean
        of the others; of two runs, of the one and the other.
    points_ : list of matplotlib Line2D
        The edges: one group of points for each comparison.
    ax_ : matplotlib Axes
        Axes with the picture.
    figure_ : matplotlib Figure
        Figure with the axes.

    See Also
    --------
    skbidag.diagnostics.concordance : The numbers for all pairs of runs.

    Examples
    --------
    >>> from skbidag import OrderMCMCStructure
    >>> from skbidag.datasets import make_gaussian_network
    >>> from skbidag.inspection import ConcordanceDisplay
    >>> network = make_gaussian_network(200, 8, random_state=0)
    >>> model = OrderMCMCStructure(random_state=0).fit(network.data)
    >>> display = ConcordanceDisplay.from_estimator(model)
    >>> bool(display.r2_.min() > 0.95)
    True
    """

    def __init__(
        self, probabilities: ArrayLike, *, labels: Sequence[str] | None = None
    ):
        self.probabilities = probabilities
        self.labels = labels

    def plot(self, ax: "Axes | None" = None, **point_kw: Any) -> Self:
        """Draw the points.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw. By default a new figure.
        **point_kw : dict
            Passed on to :meth:`matplotlib.axes.Axes.plot`.

        Returns
        -------
        display : ConcordanceDisplay
            The display itself.
        """
        plt = import_pyplot(f"{type(self).__name__}.plot")
        probabilities = check_runs(self.probabilities)
        n_runs = len(probabilities)
        if n_runs < 2:
            raise ValueError(
                f"probabilities must be of at least two runs, not {n_runs}."
            )
        labels = self.labels
        if labels is None:
            labels = [f"chain {k + 1}" for k in range(n_runs)]
        if len(labels) != n_runs:
            raise ValueError(f"labels must be {n_runs} names, got {len(labels)}.")
        if ax is None:
            _, ax = plt.subplots(figsize=(6, 4.8), layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        ax.plot([0, 1], [0, 1], color="0.6", linewidth=1, zorder=1)
        ax.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03), aspect="equal")
        self._draw_points(probabilities, labels, point_kw)
        if n_runs == 2:
            ax.set(
                xlabel=f"edge probability, {labels[0]}",
                ylabel=f"edge probability, {labels[1]}",
                title=f"R² = {self.r2_[0]:.4f}, RMSD = {self.rmsd_[0]:.4f}",
            )
        else:
            ax.set(
                xlabel="edge probability by the other chains",
                ylabel="edge probability by the chain",
                title=f"R² ≥ {self.r2_.min():.4f}, RMSD ≤ {self.rmsd_.max():.4f}",
            )
            legend_beside(ax, ncols=1 + (n_runs - 1) // 20)
        return self

    def _draw_points(self, probabilities, labels, point_kw):
        """Draw each run against the mean of the others, and keep how they agree."""
        n_runs = len(probabilities)
        # two runs are compared once
        compared = range(n_runs) if n_runs > 2 else [1]
        off_diagonal = ~np.eye(probabilities.shape[1], dtype=bool)
        colors = chain_colors(n_runs)
        self.points_, r2, rmsd = [], [], []
        for k in compared:
            others = np.delete(probabilities, k, axis=0).mean(axis=0)
            agreement = concordance([others, probabilities[k]])
            r2.append(agreement.r2[0, 1])
            rmsd.append(agreement.rmsd[0, 1])
            look = {
                "color": colors[k],
                "marker": "o",
                "linestyle": "none",
                "markersize": 5,
                "markeredgewidth": 0.8,
                "fillstyle": "none",
                "label": labels[k],
                **point_kw,
            }
            self.points_ += self.ax_.plot(
                others[off_diagonal], probabilities[k][off_diagonal], **look
            )
        self.r2_, self.rmsd_ = np.array(r2), np.array(rmsd)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        kind: Kind = "dag",
        chains: Sequence[int] | None = None,
        ax: "Axes | None" = None,
        **point_kw: Any,
    ) -> Self:
        """Compare the chains of a fitted estimator.

        Parameters
        ----------
        estimator : estimator instance
            A fitted structure estimator with at least two chains.
        kind : {"dag", "cpdag", "skeleton"}, default="dag"
            Which edges, see the estimator's ``edge_probabilities``.
        chains : sequence of int, default=None
            Numbers of the chains to compare, from 0. Of two chains, the second is
            drawn against the first. By default each is drawn against the mean of all
            others.
        ax : matplotlib Axes, default=None
            Where to draw. By default a new figure.
        **point_kw : dict
            Passed on to :meth:`matplotlib.axes.Axes.plot`.

        Returns
        -------
        display : ConcordanceDisplay
            The display.
        """
        check_is_fitted(estimator)
        probabilities = chain_edge_probabilities(estimator, kind)
        n_chains = len(probabilities)
        if chains is None:
            chains = range(n_chains)
        wrong = [c for c in chains if not 0 <= c < n_chains]
        if wrong:
            raise ValueError(f"chains must be below {n_chains}, got {wrong[0]}.")
        if len(chains) < 2:
            raise ValueError(
                f"at least two chains are needed for a comparison, got {len(chains)}."
            )
        return cls.from_probabilities(
            probabilities[list(chains)],
            labels=[f"chain {c + 1}" for c in chains],
            ax=ax,
            **point_kw,
        )

    @classmethod
    def from_probabilities(
        cls,
        probabilities: ArrayLike,
        *,
        labels: Sequence[str] | None = None,
        ax: "Axes | None" = None,
        **point_kw: Any,
    ) -> Self:
        """Compare the edge probabilities of any runs.

        Parameters
        ----------
        probabilities : array-like of shape (n_runs, n_nodes, n_nodes)
            Edge probabilities by each of at least two runs.
        labels : sequence of str, default=None
            Names of the runs. By default "chain 1" and so on.
        ax : matplotlib Axes, default=None
            Where to draw. By default a new figure.
        **point_kw : dict
            Passed on to :meth:`matplotlib.axes.Axes.plot`.

        Returns
        -------
        display : ConcordanceDisplay
            The display.
        """
        return cls(probabilities, labels=labels).plot(ax=ax, **point_kw)
