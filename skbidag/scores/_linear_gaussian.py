"""What the scores of continuous data share: a scatter matrix and its tables."""

import numpy as np
from scipy.linalg import solve_triangular

from skbidag._core._gaussian import fill_table


def weighted_scatter(X, weights):
    """Sum of weights, weighted mean, and scatter matrix about the mean."""
    total = weights.sum()
    mean = weights @ X / total
    centered = X - mean
    return total, mean, (centered * weights[:, None]).T @ centered


def conditional_variance(matrix, node, parents, floor):
    """Schur complement of `node` given `parents`, and ln det of the parents' block.

    The pivots of the Cholesky factorization are conditional variances; none can be
    smaller than the column's `floor`.
    """
    columns = np.append(parents, node).astype(np.intp)
    block = matrix[np.ix_(columns, columns)].copy()
    log_det = 0.0
    for k in range(len(parents)):
        pivot = max(block[k, k], floor[columns[k]])
        log_det += np.log(pivot)
        block[k + 1 :, k + 1 :] -= (
            np.outer(block[k + 1 :, k], block[k, k + 1 :]) / pivot
        )
    return max(block[-1, -1], floor[node]), log_det


def least_residual_share(matrix):
    """The column best explained by the others, and the share of it that is not.

    Returns
    -------
    column : int
        The column.
    share : float
        Its variance given all others over its variance; 0 if singular to rounding.
    """
    scale = 1.0 / np.sqrt(np.diag(matrix))
    scaled = matrix * scale[:, None] * scale
    try:
        factor = np.linalg.cholesky(scaled)
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(scaled)
        return int(np.argmax(np.abs(vectors[:, 0]))), 0.0
    inverse = solve_triangular(factor, np.eye(len(scaled)), lower=True)
    shares = 1.0 / (inverse**2).sum(axis=0)
    column = int(np.argmin(shares))
    return column, float(shares[column])


def fill_gaussian_table(
    matrix, floor, offset, slope, det_weight, log_odds, node, candidates, outsiders,
    base_column, out,
):  # fmt: skip
    """Lay out one node's rows of `matrix` and let the kernel fill its table.

    With outsiders the kernel's columns are all variables, padded to whole vectors;
    without, only the node and its candidates, which is all that the walk needs.
    """
    candidates = np.asarray(candidates, dtype=np.intp)
    outsiders = np.asarray(outsiders, dtype=np.intp)
    n = len(matrix)
    if len(outsiders):
        variables = np.arange(n)
        columns, child_column = candidates, node
    else:
        variables = np.append(candidates, node)
        columns, child_column = np.arange(len(candidates)), len(candidates)
    width = -(-len(variables) // 4) * 4

    rows = np.zeros((len(candidates) + 1, width))
    rows[:, : len(variables)] = matrix[np.ix_(np.append(node, candidates), variables)]
    diagonal, floors = np.ones(width), np.ones(width)
    diagonal[: len(variables)] = np.diag(matrix)[variables]
    floors[: len(variables)] = floor[variables]
    bias = np.full(width, -np.inf)
    bias[outsiders] = log_odds[outsiders]

    # The kernel writes whole rows: into the table itself if it is laid out alike.
    table, base = out, base_column
    if len(outsiders) and (out.shape[1] != width or base_column != node):
        table, base = np.empty((len(out), width)), node
    elif not len(outsiders) and out.shape[1] > 1:
        table, base = np.empty((len(out), 1)), 0
    fill_table(
        rows, diagonal, floors, child_column, columns, bias,
        np.ascontiguousarray(log_odds[candidates]), offset, slope, det_weight,
        base, table,
    )  # fmt: skip
    if table is not out:
        out[:, outsiders] = table[:, outsiders]
        out[:, base_column] = table[:, base]
