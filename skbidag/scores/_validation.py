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
    try:
        X = check_array(X, dtype=np.float64, ensure_all_finite=False, input_name="X")
    except (TypeError, ValueError) as error:
        column = first_column_without_numbers(X)
        if column is None:
            raise
        raise ValueError(
            f"Column {column_name(column)} holds values that are not numbers."
        ) from error
    finite = np.isfinite(X).all(axis=0)
    if not finite.all():
        column = int(np.argmin(finite))
        what = "NaN" if np.isnan(X[:, column]).any() else "infinity"
        raise ValueError(f"Input X contains {what} in column {column_name(column)}.")
    return X


def first_column_without_numbers(X):
    """Find the first column that floats cannot hold, None if there is none."""
    X = np.asarray(X)
    if X.ndim != 2 or np.iscomplexobj(X):
        return None
    for column in range(X.shape[1]):
        try:
            np.asarray(X[:, column], dtype=np.float64)
        except (TypeError, ValueError):
            return column
    return None
