"""Checks on data that name the column at fault."""

import numpy as np
from sklearn.utils import check_array


def check_continuous(X, column_name):
    """Validate a finite float matrix.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The data.
    column_name : callable
        Gives the name of a column, for messages.

    Returns
    -------
    X : ndarray of float64
        The data.
    """
    X = check_array(X, dtype=np.float64, ensure_all_finite=False, input_name="X")
    finite = np.isfinite(X).all(axis=0)
    if not finite.all():
        column = int(np.argmin(finite))
        what = "NaN" if np.isnan(X[:, column]).any() else "infinity"
        raise ValueError(f"Input X contains {what} in column {column_name(column)}.")
    return X
