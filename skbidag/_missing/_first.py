"""The first completion of data with missing cells.

Correlations of continuous columns are at first those of available cases, pair by pair,
which are made positive definite. Then each column in turn is drawn given a few others,
which forward selection by the score picks, round by round: chained equations (van
Buuren & Groothuis-Oudshoorn 2011), with the score's own predictive distributions.

The prior that a score takes from the data (means, units, the penalty of edges) is taken
from the last round, once for all that comes after. Random numbers are always the same,
so that the same data have the same prior.
"""

import numpy as np

from skbidag.scores import CategoricalPredictiveScore, LinearPredictiveScore

N_ROUNDS = 10

# The most columns that another is drawn from
MOST_PREDICTORS = 10

# The smallest eigenvalue of correlations
LEAST_EIGENVALUE = 0.05


def first_completion(score, rows, holes):
    """Complete rows.

    Parameters
    ----------
    score : CompletableScore
        Fitted to rows in which any values stand for the missing cells.
    rows : ndarray of shape (n_rows, n_features)
        These rows, encoded. They are changed.
    holes : Holes
        Which cells are missing.

    Returns
    -------
    score : CompletableScore
        Of the completed rows, with the prior that is taken from these.
    rows : ndarray of shape (n_rows, n_features)
        The completed rows.
    """
    rng = np.random.RandomState(0)
    if isinstance(score, LinearPredictiveScore) and holes.interventions is None:
        score = score.with_prior_of(*stand_in_rows(rows, holes))
    for _ in range(N_ROUNDS):
        for node in holes.columns:
            _draw_column(score, rows, node, holes.missing[:, node], rng)
        score = score.with_prior_of(rows, holes.weights)
    return score.renewed(rows, holes.weights), rows


def _draw_column(score, rows, node, missing, rng):
    others = np.flatnonzero(np.arange(rows.shape[1]) != node)
    most = min(len(others), MOST_PREDICTORS)
    parents, _ = score.select_parents(node, others, most)
    parents = np.sort(np.asarray(parents, dtype=np.intp))
    if isinstance(score, LinearPredictiveScore):
        draw = score.sample_predictive
    elif isinstance(score, CategoricalPredictiveScore):
        draw = score.sample_predictive_codes
    else:
        draw = score.sample_predictive_rows
    rows[missing, node] = draw(rows[missing], node, parents, rng)


def stand_in_rows(rows, holes):
    """Rows with the mean and the covariances of available cases.

    Returns
    -------
    rows : ndarray of shape (2 * n_features, n_features)
        Rows, two for each column.
    weights : ndarray of shape (2 * n_features,)
        Equal ones, which add up to those of the data.
    """
    mean, covariance = available_moments(rows, ~holes.missing, holes.weights)
    n = len(mean)
    steps = np.sqrt(n) * np.linalg.cholesky(covariance).T
    total = holes.weights.sum()
    return np.vstack([mean + steps, mean - steps]), np.full(2 * n, total / (2 * n))


def available_moments(rows, observed, weights):
    """Mean and covariance matrix of available cases.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_features)
        The rows.
    observed : ndarray of bool of shape (n_rows, n_features)
        Which cells count.
    weights : ndarray of shape (n_rows,)
        How often each row counts.

    Returns
    -------
    mean : ndarray of shape (n_features,)
        The mean of each column.
    covariance : ndarray of shape (n_features, n_features)
        Variances, and covariances of rows that have both columns, as far as they are
        positive definite: eigenvalues of the correlations are not below a limit.
    """
    share = observed * weights[:, None]
    mean = (np.where(observed, rows, 0.0) * share).sum(axis=0) / share.sum(axis=0)
    z = np.where(observed, rows - mean, 0.0)
    variance = (share * z**2).sum(axis=0) / share.sum(axis=0)
    deviation = np.where(variance > 0, np.sqrt(variance), 1.0)
    z /= deviation
    # of the rows that have both: products, and the squares of one
    products = (z * weights[:, None]).T @ z
    squares = (z**2 * weights[:, None]).T @ observed.astype(float)
    norm = np.sqrt(squares * squares.T)
    correlation = np.where(norm > 0, products / np.where(norm > 0, norm, 1.0), 0.0)
    np.fill_diagonal(correlation, 1.0)
    values, vectors = np.linalg.eigh(correlation)
    repaired = (vectors * np.maximum(values, LEAST_EIGENVALUE)) @ vectors.T
    scale = deviation / np.sqrt(np.diag(repaired))
    return mean, repaired * scale * scale[:, None]
