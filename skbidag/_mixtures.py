"""Moments and quantiles of mixtures, such as averages over DAGs are."""

import numpy as np

# Halvings of the interval in which a quantile lies
N_HALVINGS = 60


def mixture_moments(weight, mean, deviation):
    """Mean and standard deviation of a mixture of distributions and of the number 0.

    Parameters
    ----------
    weight : ndarray of shape (n_components,)
        Probabilities of the components; what they lack of 1 is that of the number 0.
    mean, deviation : ndarray of shape (n_components,)
        Means and standard deviations of the components.

    Returns
    -------
    mean, deviation : float
        Those of the mixture.
    """
    total = weight @ mean
    # about the mixture's own mean, so that large numbers do not cancel
    square = weight @ (deviation**2 + (mean - total) ** 2)
    square += max(1 - weight.sum(), 0.0) * total**2
    return float(total), float(np.sqrt(square))


def mixture_quantiles(cumulative, tails, ends, absent=0.0):
    """Quantiles of a mixture of continuous distributions and of the number 0.

    Parameters
    ----------
    cumulative : callable
        Of numbers, their cumulative probabilities under the continuous part.
    tails : ndarray of shape (2,)
        The probabilities.
    ends : ndarray of shape (2, n_components)
        The components' quantiles, between which those of the mixture lie.
    absent : float, default=0.0
        Probability of the number 0.

    Returns
    -------
    quantiles : tuple of float
        For each of the probabilities.
    """
    low, high = ends.min(axis=1), ends.max(axis=1)
    at_zero = np.zeros(2, dtype=bool)
    if absent > 0:
        low, high = np.minimum(low, 0.0), np.maximum(high, 0.0)
        below = cumulative(np.zeros(2))
        at_zero = (below < tails) & (tails <= below + absent)
    for _ in range(N_HALVINGS):
        middle = (low + high) / 2
        less = cumulative(middle) + absent * (middle >= 0) < tails
        low, high = np.where(less, middle, low), np.where(less, high, middle)
    return tuple(np.where(at_zero, 0.0, (low + high) / 2).tolist())
