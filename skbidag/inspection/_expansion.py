"""How the iterative search went."""

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from skbidag.inspection._plotting import COLORS, import_pyplot

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class ExpansionDisplay:
    """Log score and size of the space over the expansions of a search.

    Use :meth:`from_estimator` to make one.

    Parameters
    ----------
    log_scores : array-like of shape (n_searches,)
        Log score of the best DAG of each search.
    n_permitted : array-like of shape (n_searches,)
        Number of edges that its space permitted.

    Attributes
    ----------
    score_line_, space_line_ : matplotlib Line2D
        The two lines.
    ax_ : matplotlib Axes
        Axes of the score.
    ax_space_ : matplotlib Axes
        Axes of the space's size, on the right.
    figure_ : matplotlib Figure
        Figure with the axes.

    Examples
    --------
    >>> from skbidag.inspection import ExpansionDisplay
    >>> display = ExpansionDisplay([-510.0, -480.0, -475.0], [40, 52, 55]).plot()
    >>> display.space_line_.get_ydata()
    array([40, 52, 55])
    """

    def __init__(self, log_scores: ArrayLike, n_permitted: ArrayLike):
        self.log_scores = log_scores
        self.n_permitted = n_permitted

    def plot(self, ax: "Axes | None" = None) -> Self:
        """Draw the two lines.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw. By default a new figure.

        Returns
        -------
        display : ExpansionDisplay
            The display itself.
        """
        plt = import_pyplot(f"{type(self).__name__}.plot")
        log_scores = np.asarray(self.log_scores)
        n_permitted = np.asarray(self.n_permitted)
        if log_scores.ndim != 1 or log_scores.shape != n_permitted.shape:
            raise ValueError(
                "log_scores and n_permitted must be vectors of the same length, got "
                f"shapes {log_scores.shape} and {n_permitted.shape}."
            )
        if ax is None:
            _, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        self.ax_space_ = right = ax.twinx()
        searches = np.arange(len(log_scores))
        self.space_line_ = right.step(
            searches, n_permitted, "s--", where="post", label="permitted edges"
        )[0]
        self.space_line_.set(color=COLORS["vermilion"], markersize=5)
        self.score_line_ = ax.plot(searches, log_scores, "o-", label="log score")[0]
        self.score_line_.set(color=COLORS["blue"], markersize=5)
        # the score in front of the space
        ax.set_zorder(right.get_zorder() + 1)
        ax.patch.set_visible(False)
        ax.set(xlabel="expansion", xlim=(-0.5, len(searches) - 0.5))
        ax.set_ylabel("log score of the best DAG", color=COLORS["blue"])
        right.set_ylabel("permitted edges", color=COLORS["vermilion"])
        right.set_ylim(bottom=0)
        ax.locator_params("x", integer=True)
        ax.ticklabel_format(axis="y", useOffset=False)
        ax.legend(handles=[self.score_line_, self.space_line_], loc="lower right")
        return self

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: "Axes | None" = None) -> Self:
        """Draw how the search of a fitted estimator went.

        Parameters
        ----------
        estimator : IterativeSearchStructure
            A fitted search.
        ax : matplotlib Axes, default=None
            Where to draw. By default a new figure.

        Returns
        -------
        display : ExpansionDisplay
            The display.
        """
        check_is_fitted(estimator)
        if not hasattr(estimator, "expansions_"):
            raise ValueError(
                "estimator must be a fitted IterativeSearchStructure, got "
                f"{type(estimator).__name__}, which has no expansions_."
            )
        expansions = estimator.expansions_
        return cls(expansions["log_score"], expansions["n_permitted"]).plot(ax=ax)
