"""Missing cells of continuous data, given a DAG with drawn regressions.

A DAG with regressions x_i = c_i + b_i x_P + noise of variance v_i gives a row x the
density of W x - c, a vector of independent standard normal variables, where row i of W
is (1 at i, -b_i at the parents) / √v_i. The missing cells M of a row are then normal
with the precision matrix WᵀW, restricted to M: rows that lack the same cells share its
factor. In a row in which a variable was set, W has no row for it.
"""

import numpy as np

from skbidag._data import unique_rows


class GaussianCells:
    """Draws of missing cells.

    Parameters
    ----------
    score : LinearCompletableScore
        A score of the data.
    holes : Holes
        Which cells are missing.
    """

    def __init__(self, score, holes):
        self.missing = holes.missing
        open_rows = np.flatnonzero(self.missing.any(axis=1))
        groups = [(slice(None), open_rows)]
        if holes.interventions is not None:
            experiments, _, of_row = unique_rows(holes.interventions[open_rows])
            groups = [
                (np.flatnonzero(~was_set), open_rows[of_row == k])
                for k, was_set in enumerate(experiments)
            ]
        # by the number of missing cells, so that arrays are rectangular
        self.groups = [
            (left_alone, rows, _by_size(self.missing[rows]))
            for left_alone, rows in groups
        ]

    def draw(self, score, parents, rows, rng):
        """Draw regressions, then the missing cells of rows, which are changed.

        Parameters
        ----------
        score : LinearCompletableScore
            The score of the rows.
        parents : list of ndarray of int
            The parents of each variable.
        rows : ndarray of shape (n_rows, n_features)
            Completed rows.
        rng : RandomState
            Random numbers.
        """
        n = len(parents)
        whiten, constants = np.zeros((n, n)), np.empty(n)
        for node, of_node in enumerate(parents):
            constant, coefficients, variance = score.draw_regression(node, of_node, rng)
            whiten[node, of_node] = -coefficients
            whiten[node, node] = 1.0
            whiten[node] /= np.sqrt(variance)
            constants[node] = constant / np.sqrt(variance)
        for left_alone, of_rows, sizes in self.groups:
            W, c = whiten[left_alone], constants[left_alone]
            precision = W.T @ W
            observed = np.where(self.missing[of_rows], 0.0, rows[of_rows])
            slope = c @ W - observed @ precision
            for places, patterns, which in sizes:
                block = precision[patterns[:, :, None], patterns[:, None, :]]
                factor = np.linalg.inv(np.linalg.cholesky(block))[which]
                cells = patterns[which]
                whitened = np.einsum(
                    "rij,rj->ri", factor, slope[places[:, None], cells]
                )
                whitened += rng.standard_normal(whitened.shape)
                drawn = np.einsum("rji,rj->ri", factor, whitened)
                rows[of_rows[places][:, None], cells] = drawn


def _by_size(missing):
    """Rows by how many cells they lack.

    Returns
    -------
    sizes : list of tuples
        The places of rows; the patterns of missing cells that there are among them, an
        array of shape (n_patterns, n_cells); and which pattern each row has.
    """
    n_cells, sizes = missing.sum(axis=1), []
    for size in np.unique(n_cells):
        places = np.flatnonzero(n_cells == size)
        patterns, _, which = unique_rows(missing[places])
        sizes.append((places, np.nonzero(patterns)[1].reshape(-1, size), which))
    return sizes
