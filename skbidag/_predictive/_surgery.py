"""Rows in which some cells were set: what sampled DAGs say after graph surgery.

A cell that was set tells nothing about its causes, and all about its effects. So the
row is one of the DAGs without the edges into what was set, which is given there, as
what is in the background is.
"""

import numpy as np
from sklearn.utils import _safe_indexing

from skbidag._data import unique_rows
from skbidag._posterior import DAGSamples


def by_experiment(samples, X, cells):
    """Rows that have the same cells set, and the DAGs that hold for them.

    Parameters
    ----------
    samples : DAGSamples
        The sampled DAGs.
    X : {array-like, dataframe} of shape (n_samples, n_features)
        The rows.
    cells : ndarray of bool of shape (n_samples, n_features)
        Which cells were set.

    Yields
    ------
    rows : ndarray of int
        Places of the rows.
    there : {array-like, dataframe}
        The rows.
    dags : DAGSamples
        The DAGs without edges into what was set.
    """
    distinct, _, which = unique_rows(cells)
    for number, pattern in enumerate(distinct):
        rows = np.flatnonzero(which == number)
        yield rows, _safe_indexing(X, rows), cut(samples, pattern)


def cut(samples, was_set):
    """Sampled DAGs without the edges into some variables."""
    if not was_set.any():
        return samples
    left = samples.packed & np.packbits(~was_set)
    return DAGSamples(left, samples.background | was_set, samples.targets)
