"""The Gaussian half of the BIC score."""

import numpy as np
from sklearn.utils.validation import check_array

from ._weights import check_weights

# A child that its parents determine has an unbounded likelihood. The residual
# variance stops at this share of the child's variance.
SMALLEST_RESIDUAL = 1e-10


class GaussianBIC:
    """Maximized Gaussian log-likelihood minus half ln N per parameter.

    Parameters
    ----------
    X : {array-like, dataframe} of shape (n_samples, n_features)
        The data.
    sample_weight : array-like of shape (n_samples,) or None
        How often each row counts.
    name_of : callable
        Gives the name of a column, for messages.
    """

    def __init__(self, X, sample_weight, name_of):
        X = check_array(X, dtype=np.float64, ensure_all_finite=False)
        weights = check_weights(sample_weight, len(X))
        X, weights = X[weights > 0], weights[weights > 0]
        for column in np.flatnonzero(~np.isfinite(X).all(axis=0)):
            what = "NaN" if np.isnan(X[:, column]).any() else "infinity"
            raise ValueError(f"Column {name_of(column)} holds {what}.")
        for column in np.flatnonzero(np.ptp(X, axis=0) == 0):
            raise ValueError(
                f"Column {name_of(column)} is constant; a constant has no Gaussian "
                "likelihood. Leave it out."
            )
        self.n_rows = weights.sum()
        X = X - np.average(X, axis=0, weights=weights)
        self.variance = np.average(X**2, axis=0, weights=weights)
        X = X / np.sqrt(self.variance)
        self.correlation = (X.T * weights) @ X / self.n_rows

    def log_marginal_likelihood(self, node, parents):
        """BIC of column `node` given the columns `parents`."""
        among = self.correlation[np.ix_(parents, parents)]
        with_child = self.correlation[parents, node]
        # Least squares: collinear parents explain what one of them explains.
        coefficients = np.linalg.lstsq(among, with_child, rcond=1e-12)[0]
        residual = max(1.0 - with_child @ coefficients, SMALLEST_RESIDUAL)
        log_variance = np.log(2 * np.pi * residual * self.variance[node])
        cost = 0.5 * np.log(self.n_rows) * (len(parents) + 2)
        return float(-0.5 * self.n_rows * (log_variance + 1) - cost)
