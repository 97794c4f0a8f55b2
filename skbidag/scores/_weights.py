"""Weights of rows."""

import numpy as np


def check_weights(sample_weight, n_samples):
    """Validate frequency weights.

    Parameters
    ----------
    sample_weight : array-like of shape (n_samples,) or None
        How often each row counts; None is once.
    n_samples : int
        Number of rows.

    Returns
    -------
    weights : ndarray of float64 of shape (n_samples,)
        The weights.
    """
    if sample_weight is None:
        return np.ones(n_samples)
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (n_samples,):
        raise ValueError(
            f"sample_weight must have shape ({n_samples},), got {weights.shape}."
        )
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError("sample_weight must be finite and not negative.")
    with np.errstate(over="ignore"):
        if not np.isfinite(weights.sum()):
            raise ValueError("sample_weight is too large to add up.")
    if not weights.any():
        raise ValueError("sample_weight is zero for every row: there are no data.")
    return weights
