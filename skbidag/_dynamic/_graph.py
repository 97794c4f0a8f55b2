"""A dynamic network's edges: between slices, within them, and in the first."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Bunch

from skbidag.graphs import Kind
from skbidag.metrics import compare_graphs


@dataclass(frozen=True)
class DynamicGraph:
    """Edges of a dynamic network, or their probabilities.

    Attributes
    ----------
    transition : ndarray of shape (n_lags + 1, n_variables, n_variables)
        ``transition[lag, i, j]``: the edge from i, so many steps before, to j. With lag
        0 both are at the same time.
    static : ndarray of shape (n_static, n_variables)
        ``static[i, j]``: the edge from i, which does not change, to j at any time but
        the first.
    initial : ndarray of shape (n_variables, n_variables) or None
        ``initial[i, j]``: the edge i -> j within the first slice. None where nothing is
        said of that.
    initial_static : ndarray of shape (n_static, n_variables) or None
        The same from what does not change.

    Examples
    --------
    A variable that keeps its value, and another that follows it:

    >>> import numpy as np
    >>> from skbidag import DynamicGraph
    >>> graph = DynamicGraph.fold(
    ...     [[0, 0, 1, 1], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]], n_variables=2
    ... )
    >>> graph.transition[1].astype(int)
    array([[1, 1],
           [0, 0]])
    >>> graph.unroll(3).astype(int)
    array([[0, 0, 1, 1, 0, 0],
           [0, 0, 0, 0, 0, 0],
           [0, 0, 0, 0, 1, 1],
           [0, 0, 0, 0, 0, 0],
           [0, 0, 0, 0, 0, 0],
           [0, 0, 0, 0, 0, 0]])
    """

    transition: np.ndarray
    static: np.ndarray
    initial: np.ndarray | None = None
    initial_static: np.ndarray | None = None

    @property
    def n_lags(self) -> int:
        """How far back edges reach."""
        return len(self.transition) - 1

    @property
    def n_variables(self) -> int:
        """Number of variables of a slice."""
        return self.transition.shape[1]

    @property
    def n_static(self) -> int:
        """Number of variables that do not change."""
        return len(self.static)

    @classmethod
    def from_matrices(cls, transition, initial, n_static, n_lags):
        """The graph of matrices as estimators learn them.

        Parameters
        ----------
        transition : ndarray of shape (n, n)
            Between the static variables, the slices at t - 1, t - 2, ..., and that at
            t, in this order.
        initial : ndarray of shape (m, m) or None
            Between the static variables and the first slice.
        n_static, n_lags : int
            Numbers of static variables and of lags.

        Returns
        -------
        graph : DynamicGraph
            The graph.
        """
        size = (len(transition) - n_static) // (n_lags + 1)
        present = transition[:, len(transition) - size :]
        slices = present[n_static:].reshape(n_lags + 1, size, size)
        return cls(
            np.concatenate([slices[-1:], slices[:-1]]),
            present[:n_static],
            None if initial is None else initial[n_static:, n_static:],
            None if initial is None else initial[:n_static, n_static:],
        )

    @classmethod
    def fold(
        cls,
        adjacency: ArrayLike,
        n_variables: int,
        n_static: int = 0,
        n_lags: int = 1,
    ) -> "DynamicGraph":
        """Fold a graph over slices back.

        Parameters
        ----------
        adjacency : array-like of shape (n, n)
            The static variables, then the slices from the first on; at least one more
            than lags. ``adjacency[i, j]`` is the edge i -> j.
        n_variables : int
            Number of variables of a slice.
        n_static : int, default=0
            Number of variables that do not change.
        n_lags : int, default=1
            How far back edges reach.

        Returns
        -------
        graph : DynamicGraph
            The edges into the first slice are the initial ones, those into the slice
            after the first `n_lags` the transition. All later slices must have the
            same as that.
        """
        adjacency = np.asarray(adjacency)
        n_slices, rest = divmod(len(adjacency) - n_static, n_variables)
        if rest or n_slices <= n_lags or adjacency.shape != (len(adjacency),) * 2:
            raise ValueError(
                f"adjacency must have {n_static} static nodes and more than {n_lags} "
                f"slices of {n_variables}, got the shape {adjacency.shape}."
            )

        def at(number):
            start = n_static + number * n_variables
            return slice(start, start + n_variables)

        graph = cls(
            np.stack(
                [adjacency[at(n_lags - k), at(n_lags)] for k in range(n_lags + 1)]
            ),
            adjacency[:n_static, at(n_lags)],
            adjacency[at(0), at(0)],
            adjacency[:n_static, at(0)],
        )
        again = graph.unroll(n_slices)
        # slices between the first and the one with a whole past are cut off
        if not np.array_equal(again, adjacency):
            raise ValueError(
                "adjacency does not fold: a slice has other edges than the one before, "
                "edges reach further back than n_lags, or lead to static nodes."
            )
        return graph

    def unroll(self, n_slices: int) -> NDArray:
        """The graph over so many slices.

        Parameters
        ----------
        n_slices : int
            Number of slices.

        Returns
        -------
        adjacency : ndarray of shape (n_static + n_slices * n_variables,) * 2
            The static variables, then the slices from the first on. The first slice has
            the initial edges, none if nothing is known of these; the others those of
            the transition, as far as the slices that they come from are there.
        """
        b, d = self.n_static, self.n_variables
        adjacency = np.zeros((b + n_slices * d,) * 2, dtype=self.transition.dtype)
        for number in range(n_slices):
            here = slice(b + number * d, b + (number + 1) * d)
            if number == 0:
                if self.initial is not None:
                    adjacency[:b, here] = self.initial_static
                    adjacency[here, here] = self.initial
                continue
            adjacency[:b, here] = self.static
            for lag in range(min(self.n_lags, number) + 1):
                start = b + (number - lag) * d
                adjacency[start : start + d, here] = self.transition[lag]
        return adjacency

    def compare(self, true: "DynamicGraph", kind: Kind = "dag") -> Bunch:
        """Compare with the true graph, initial and transition edges apart.

        Parameters
        ----------
        true : DynamicGraph
            The true graph.
        kind : {"dag", "skeleton"}, default="dag"
            Whether directions count; those between slices are known.

        Returns
        -------
        comparison : Bunch
            ``initial`` and ``transition``, each what
            :func:`~skbidag.metrics.compare_graphs` says of it; ``initial`` is None if
            one of the graphs says nothing of that.
        """
        initial = None
        if self.initial is not None and true.initial is not None:
            initial = compare_graphs(true._first_slice(), self._first_slice(), kind)
        return Bunch(
            initial=initial,
            transition=compare_graphs(true._transition(), self._transition(), kind),
        )

    def _first_slice(self):
        b = self.n_static
        adjacency = np.zeros((b + self.n_variables,) * 2, dtype=bool)
        adjacency[:b, b:], adjacency[b:, b:] = self.initial_static, self.initial
        return adjacency

    def _transition(self):
        """Edges into the slice that has a whole past, and no others."""
        adjacency = self.unroll(self.n_lags + 1).astype(bool)
        adjacency[:, : -self.n_variables] = False
        return adjacency
