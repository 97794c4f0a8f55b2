"""Edge probabilities as a heat map."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from skbidag._data import names_of
from skbidag.graphs import Kind, check_probabilities
from skbidag.inspection._plotting import (
    COLORS,
    check_names,
    check_true_graph,
    choose_names,
    import_pyplot,
    shorten,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap

# Points a tick label needs, and what the largest one takes
LEAST_LABEL, LARGEST_LABEL = 5.0, 10.0
# Letters of a name that are written, and the width of one over its height
LONGEST_NAME, LETTER_WIDTH = 40, 0.6


class EdgeProbabilityDisplay:
    """Heat map of edge probabilities.

    Use :meth:`from_estimator` or :meth:`from_probabilities` to make one.

    Parameters
    ----------
    probabilities : array-like of shape (n_nodes, n_nodes)
        ``probabilities[i, j]`` is the probability of the edge i -> j: parents are
        rows, children columns.
    feature_names : sequence of str, default=None
        Names of the nodes. By default the labels of `probabilities`, if it is a frame,
        or the nodes' numbers.
    true_graph : array-like of shape (n_nodes, n_nodes), default=None
        A graph whose edges are framed. Where it or `probabilities` is a labelled
        frame, its nodes are put into the order of the names.

    Attributes
    ----------
    im_ : matplotlib AxesImage
        The heat map.
    colorbar_ : matplotlib Colorbar or None
        Its colors' meaning.
    truth_ : matplotlib PatchCollection or None
        The frames of the true edges.
    ax_ : matplotlib Axes
        Axes with the picture.
    figure_ : matplotlib Figure
        Figure with the axes.

    See Also
    --------
    GraphDisplay : The network itself.

    Examples
    --------
    >>> from skbidag import OrderMCMCStructure
    >>> from skbidag.datasets import load_asia
    >>> from skbidag.inspection import EdgeProbabilityDisplay
    >>> asia = load_asia(as_frame=True)
    >>> model = OrderMCMCStructure(random_state=0).fit(asia.data)
    >>> display = EdgeProbabilityDisplay.from_estimator(model)
    >>> display.im_.get_array().shape
    (8, 8)
    """

    def __init__(
        self,
        probabilities: ArrayLike,
        *,
        feature_names: Sequence[str] | None = None,
        true_graph: ArrayLike | None = None,
    ):
        self.probabilities = probabilities
        self.feature_names = feature_names
        self.true_graph = true_graph

    def plot(
        self,
        ax: "Axes | None" = None,
        *,
        cmap: "str | Colormap" = "Blues",
        colorbar: bool = True,
        **im_kw: Any,
    ) -> Self:
        """Draw the heat map.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw. By default a new figure that fits the number of nodes.
        cmap : str or matplotlib Colormap, default="Blues"
            Colors of probabilities from 0 to 1.
        colorbar : bool, default=True
            Whether to show what the colors mean.
        **im_kw : dict
            Passed on to :meth:`matplotlib.axes.Axes.imshow`.

        Returns
        -------
        display : EdgeProbabilityDisplay
            The display itself.
        """
        plt = import_pyplot(f"{type(self).__name__}.plot")
        from matplotlib.collections import PatchCollection
        from matplotlib.patches import Rectangle

        names = choose_names(self.feature_names, self.probabilities, "probabilities")
        probabilities = check_probabilities(self.probabilities, names)
        n = len(probabilities)
        true_graph = check_true_graph(self.true_graph, n, names)
        names = check_names(names, n)
        share = 1.0  # of the figure, without what long names take
        if ax is None:
            side = min(max(4.5, 1.5 + 0.13 * n), 24)
            extra = max(0.0, self._label_inches(names, side) - 0.5)
            size = 1.15 * side + extra, side + extra
            _, ax = plt.subplots(figsize=size, layout="compressed")
            share = side / (side + extra)
        im_kw = {"vmin": 0, "vmax": 1, "interpolation": "nearest", **im_kw}
        self.ax_, self.figure_ = ax, ax.figure
        self.im_ = ax.imshow(probabilities, cmap=cmap, **im_kw)
        self.colorbar_ = self.truth_ = None
        if colorbar:
            self.colorbar_ = self.figure_.colorbar(
                self.im_, ax=ax, label="posterior probability", shrink=0.8
            )
        ax.set(xlabel="child", ylabel="parent")
        cell = self._label(ax, names, share)
        if true_graph is not None:
            frames = [
                Rectangle((j - 0.36, i - 0.36), 0.72, 0.72)
                for i, j in np.argwhere(true_graph)
            ]
            self.truth_ = ax.add_collection(
                PatchCollection(
                    frames,
                    facecolors="none",
                    edgecolors=COLORS["vermilion"],
                    linewidths=np.clip(0.12 * cell, 0.6, 1.8),
                    label="true edge",
                )
            )
            ax.set_xlabel("child (true edges are framed)")
        return self

    @staticmethod
    def _label_inches(names, side):
        """About how long the longest label is, in inches; so is the picture's side."""
        cell = 0.77 * side * 72 / max(1, len(names))
        size = min(max(0.75 * cell, LEAST_LABEL), LARGEST_LABEL)
        longest = min(max(map(len, names), default=0), LONGEST_NAME)
        return longest * LETTER_WIDTH * size / 72

    def _label(self, ax, names, share):
        """Write the names as large as they fit; returns a cell's side in points."""
        names = [shorten(name, LONGEST_NAME) for name in names]
        box = ax.get_window_extent()
        pixels = share * min(box.width, box.height) / max(1, len(names))
        cell = pixels * 72 / ax.figure.dpi
        size = min(max(0.75 * cell, LEAST_LABEL), LARGEST_LABEL)
        # what does not fit is left out, so that the rest can be read
        shown = range(0, len(names), max(1, int(np.ceil(1.15 * size / cell))))
        labels = [names[k] for k in shown]
        upright = max(map(len, names), default=0) * LETTER_WIDTH * size > cell
        ax.set_xticks(shown, labels, rotation=90 if upright else 0, fontsize=size)
        ax.set_yticks(shown, labels, fontsize=size)
        for text in [*ax.get_xticklabels(), *ax.get_yticklabels()]:
            text.set_parse_math(False)
        return cell

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        kind: Kind = "dag",
        true_graph: ArrayLike | None = None,
        ax: "Axes | None" = None,
        cmap: "str | Colormap" = "Blues",
        colorbar: bool = True,
        **im_kw: Any,
    ) -> Self:
        """Draw the edge probabilities of a fitted estimator.

        Parameters
        ----------
        estimator : estimator instance
            A fitted structure estimator.
        kind : {"dag", "cpdag", "skeleton"}, default="dag"
            Which probabilities, see the estimator's ``edge_probabilities``.
        true_graph : array-like of shape (n_features, n_features), default=None
            A graph whose edges are framed.
        ax : matplotlib Axes, default=None
            Where to draw. By default a new figure.
        cmap : str or matplotlib Colormap, default="Blues"
            Colors of probabilities from 0 to 1.
        colorbar : bool, default=True
            Whether to show what the colors mean.
        **im_kw : dict
            Passed on to :meth:`matplotlib.axes.Axes.imshow`.

        Returns
        -------
        display : EdgeProbabilityDisplay
            The display.
        """
        check_is_fitted(estimator)
        display = cls.from_probabilities(
            estimator.edge_probabilities(kind),
            feature_names=names_of(estimator),
            true_graph=true_graph,
            ax=ax,
            cmap=cmap,
            colorbar=colorbar,
            **im_kw,
        )
        posterior = getattr(estimator, "posterior_", None)
        if colorbar and posterior is not None:
            display.colorbar_.set_label(f"posterior probability ({posterior})")
        return display

    @classmethod
    def from_probabilities(
        cls,
        probabilities: ArrayLike,
        *,
        feature_names: Sequence[str] | None = None,
        true_graph: ArrayLike | None = None,
        ax: "Axes | None" = None,
        cmap: "str | Colormap" = "Blues",
        colorbar: bool = True,
        **im_kw: Any,
    ) -> Self:
        """Draw any matrix of edge probabilities.

        Parameters
        ----------
        probabilities : array-like of shape (n_nodes, n_nodes)
            ``probabilities[i, j]`` is the probability of the edge i -> j.
        feature_names : sequence of str, default=None
            Names of the nodes. By default the labels of `probabilities`, if it is a
            frame, or the nodes' numbers.
        true_graph : array-like of shape (n_nodes, n_nodes), default=None
            A graph whose edges are framed.
        ax : matplotlib Axes, default=None
            Where to draw. By default a new figure.
        cmap : str or matplotlib Colormap, default="Blues"
            Colors of probabilities from 0 to 1.
        colorbar : bool, default=True
            Whether to show what the colors mean.
        **im_kw : dict
            Passed on to :meth:`matplotlib.axes.Axes.imshow`.

        Returns
        -------
        display : EdgeProbabilityDisplay
            The display.
        """
        display = cls(probabilities, feature_names=feature_names, true_graph=true_graph)
        return display.plot(ax=ax, cmap=cmap, colorbar=colorbar, **im_kw)
