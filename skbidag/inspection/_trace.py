"""How the log score goes along the chains."""

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from skbidag.diagnostics import rhat
from skbidag.inspection._plotting import chain_colors, import_pyplot, legend_beside

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D


class TraceDisplay:
    """Log scores along each chain.

    Chains that have converged look alike, without a trend, and R-hat is about 1.

    Use :meth:`from_estimator` to make one.

    Parameters
    ----------
    log_scores : array-like of shape (n_chains, n_draws)
        Log scores of the draws.
    best : float, default=None
        Log score of the best DAG, drawn as a line.

    Attributes
    ----------
    rhat_ : float
        Split R-hat of the log scores.
    lines_ : list of matplotlib Line2D
        One line per chain.
    best_ : matplotlib Line2D or None
        The best DAG's line.
    ax_ : matplotlib Axes
        Axes with the picture.
    figure_ : matplotlib Figure
        Figure with the axes.

    See Also
    --------
    ConcordanceDisplay : Whether chains agree on edges.

    Examples
    --------
    >>> import numpy as np
    >>> from skbidag.inspection import TraceDisplay
    >>> log_scores = np.random.default_rng(0).normal(size=(4, 100))
    >>> display = TraceDisplay(log_scores).plot()
    >>> len(display.lines_), round(display.rhat_, 1)
    (4, 1.0)
    """

    def __init__(self, log_scores: ArrayLike, *, best: float | None = None):
        self.log_scores = log_scores
        self.best = best

    def plot(self, ax: "Axes | None" = None, **line_kw: Any) -> Self:
        """Draw the traces.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw. By default a new figure.
        **line_kw : dict
            Passed on to :meth:`matplotlib.axes.Axes.plot`.

        Returns
        -------
        display : TraceDisplay
            The display itself.
        """
        plt = import_pyplot(f"{type(self).__name__}.plot")
        log_scores = np.asarray(self.log_scores, dtype=float)
        if log_scores.ndim != 2:
            raise ValueError(
                "log_scores must have the shape (n_chains, n_draws), got "
                f"{log_scores.shape}."
            )
        if ax is None:
            _, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        self.rhat_ = rhat(log_scores, method="split")
        n_chains, n_draws = log_scores.shape
        self.lines_: list[Line2D] = []
        for k, color in enumerate(chain_colors(n_chains)):
            look = {
                "color": color,
                "linewidth": 0.8,
                "alpha": 0.8,
                "marker": "." if n_draws == 1 else None,
                "label": f"chain {k + 1}",
                **line_kw,
            }
            self.lines_ += ax.plot(np.arange(1, n_draws + 1), log_scores[k], **look)
        self.best_ = None
        if self.best is not None:
            self.best_ = ax.axhline(
                self.best, color="black", linestyle="--", linewidth=1, label="best DAG"
            )
        title = "" if np.isnan(self.rhat_) else f"R-hat {self.rhat_:.3f}"
        ax.set(xlabel="draw", ylabel="log score", title=title)
        ax.ticklabel_format(axis="y", useOffset=False)
        legend_beside(ax, ncols=1 + (n_chains + 1) // 16)
        return self

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, ax: "Axes | None" = None, **line_kw: Any
    ) -> Self:
        """Draw the traces of a fitted estimator.

        Parameters
        ----------
        estimator : estimator instance
            A fitted structure estimator.
        ax : matplotlib Axes, default=None
            Where to draw. By default a new figure.
        **line_kw : dict
            Passed on to :meth:`matplotlib.axes.Axes.plot`.

        Returns
        -------
        display : TraceDisplay
            The display.
        """
        check_is_fitted(estimator)
        display = cls(estimator.log_score_trace_, best=estimator.log_score_)
        return display.plot(ax=ax, **line_kw)
