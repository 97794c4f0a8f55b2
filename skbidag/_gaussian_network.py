"""Linear Gaussian networks with known parameters: moments, and rows drawn from them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from skbidag._data import Seed
from skbidag._frames import make_frame


@dataclass(frozen=True, eq=False)
class GaussianNetwork:
    """A linear Gaussian network.

    Attributes
    ----------
    names : list of str
        Names of the variables.
    intercepts : ndarray of shape (n_features,)
        The intercept of each variable's regression on its parents.
    coefficients : ndarray of shape (n_features, n_features)
        ``coefficients[i, j]`` is that of the edge i -> j, 0 where there is none.
    variances : ndarray of shape (n_features,)
        What the parents leave of each variable's variance.
    adjacency : ndarray of bool of shape (n_features, n_features)
        ``adjacency[i, j]`` is the edge i -> j.
    """

    names: list
    intercepts: NDArray[np.float64]
    coefficients: NDArray[np.float64]
    variances: NDArray[np.float64]
    adjacency: NDArray[np.bool_]

    @property
    def mean(self) -> NDArray[np.float64]:
        """Means of the variables."""
        paths = np.linalg.inv(np.eye(len(self.names)) - self.coefficients)
        return self.intercepts @ paths

    @property
    def covariance(self) -> NDArray[np.float64]:
        """Their covariance matrix."""
        paths = np.linalg.inv(np.eye(len(self.names)) - self.coefficients)
        return paths.T * self.variances @ paths

    def sample(
        self, n_samples: int, random_state: Seed = None, *, as_frame: bool = False
    ) -> Any:
        """Draw rows from the joint distribution.

        Parameters
        ----------
        n_samples : int
            Number of rows.
        random_state : int, RandomState instance or None, default=None
            Determines the rows. Pass an int for the same rows in every call.
        as_frame : bool, default=False
            Whether to return a pandas DataFrame.

        Returns
        -------
        rows : {ndarray, DataFrame} of shape (n_samples, n_features)
            The rows.
        """
        rng = check_random_state(random_state)
        noise = rng.standard_normal((n_samples, len(self.names)))
        paths = np.linalg.inv(np.eye(len(self.names)) - self.coefficients)
        rows = (self.intercepts + noise * np.sqrt(self.variances)) @ paths
        if not as_frame:
            return rows
        return make_frame(dict(zip(self.names, rows.T, strict=True)))

    def __repr__(self):
        return (
            f"{type(self).__name__}(n_nodes={len(self.names)}, "
            f"n_edges={self.adjacency.sum()})"
        )
