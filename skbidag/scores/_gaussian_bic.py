"""The Gaussian half of the BIC score."""

import numpy as np

from skbidag.scores._linear_gaussian import (
    conditional_variance,
    fill_gaussian_table,
    gaussian_pair_scores,
    select_gaussian_parents,
    weighted_scatter,
)
from skbidag.scores._validation import check_continuous
from skbidag.scores._weights import check_weights

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
        X = check_continuous(X, name_of)
        weights = check_weights(sample_weight, len(X))
        X, weights = X[weights > 0], weights[weights > 0]
        for column in np.flatnonzero(X.max(axis=0) == X.min(axis=0)):
            raise ValueError(
                f"Column {name_of(column)} is constant; a constant has no Gaussian "
                "likelihood. Leave it out."
            )
        # scaled beforehand, because squares of large numbers may overflow
        scale = np.abs(X).max(axis=0)
        self.n_rows, _, scatter = weighted_scatter(X / scale, weights)
        spread = np.sqrt(np.diag(scatter))
        self.log_variance = 2 * np.log(spread * scale) - np.log(self.n_rows)
        self.correlation = scatter / np.outer(spread, spread)
        self.floor = np.full(len(spread), SMALLEST_RESIDUAL)

    def constants(self, node, n_parents):
        """Terms of the score that depend on the number of parents alone."""
        return -0.5 * self.n_rows * (
            np.log(2 * np.pi) + self.log_variance[node] + 1
        ) - 0.5 * np.log(self.n_rows) * (n_parents + 2)

    def log_marginal_likelihood(self, node, parents):
        """BIC of column `node` given the columns `parents`."""
        residual, _ = conditional_variance(self.correlation, node, parents, self.floor)
        return float(
            self.constants(node, len(parents)) - 0.5 * self.n_rows * np.log(residual)
        )

    def fill_table(self, log_odds, node, candidates, outsiders, base_column, out):
        """Write the score of every subset of `candidates` into a table."""
        sizes = np.arange(len(candidates) + 2)
        fill_gaussian_table(
            self.correlation, self.floor, self.constants(node, sizes),
            np.full(len(sizes), 0.5 * self.n_rows), 0.0, log_odds, node, candidates,
            outsiders, base_column, out,
        )  # fmt: skip

    def pair_scores(self, log_odds, node, parents):
        """Scores of `node` with `parents` and every pair of other variables."""
        sizes = np.arange(len(parents) + 3)
        return gaussian_pair_scores(
            self.correlation, self.floor, self.constants(node, sizes),
            np.full(len(sizes), 0.5 * self.n_rows), 0.0, log_odds, node, parents,
        )  # fmt: skip

    def select_parents(self, log_odds, node, allowed, max_size, kept, stop):
        """Forward selection; see BaseScore.select_parents."""
        sizes = np.arange(max(max_size, len(kept)) + 1)
        return select_gaussian_parents(
            self.correlation, self.floor, self.constants(node, sizes),
            np.full(len(sizes), 0.5 * self.n_rows), 0.0, log_odds, node, allowed,
            max_size, kept, stop,
        )  # fmt: skip
