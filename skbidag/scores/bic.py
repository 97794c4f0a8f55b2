"""The BIC scores (Schwarz 1978) of continuous and of categorical data.

They approximate the log marginal likelihood by the log-likelihood minus ½ ln N per
parameter (they are not negated nor doubled, as other uses of the name are), so they
take the place of BGe and BDe where no prior over the parameters is wanted. ``"bic"``
stands for the one that fits the data.
"""

from typing import ClassVar, Literal

import numpy as np
from scipy.special import xlogy

from skbidag._data import check_continuous, check_weights
from skbidag._sklearn import StrOptions
from skbidag.scores._categorical import CategoricalScore
from skbidag.scores._density import EDGE_PENALTY
from skbidag.scores._gaussian import GaussianScore, GaussianTerms
from skbidag.scores._scatter import weighted_scatter
from skbidag.scores.capabilities import CorrelationScore

# A child that its parents determine has an unbounded likelihood. The residual
# variance stops at this share of the child's variance.
SMALLEST_RESIDUAL = 1e-10


class GaussianBIC(GaussianScore, CorrelationScore):
    """Bayesian information criterion of linear Gaussian networks.

    Parameters
    ----------
    edge_penalty : float or "auto", default="auto"
        Each edge divides the DAG's prior probability by this. "auto" is a third of the
        odds against an edge, by how many pairs of variables pick each other in forward
        selections. 1 is the uniform prior of the paper.

    Attributes
    ----------
    correlation_ : ndarray of shape (n_features, n_features)
        The correlation matrix.
    n_effective_ : float
        Number of observations, the sum of the weights.
    edge_penalty_ : float
        The penalty that was used.
    log_prior_odds_ : ndarray of shape (n_features, n_features)
        ``log_prior_odds_[i, j]`` is added to the score whenever i is a parent of j.
    n_features_in_ : int
        Number of variables seen during ``fit``.
    feature_names_in_ : ndarray of str of shape (n_features,)
        Their names, if the data have string column names.

    See Also
    --------
    BGe : The Bayesian score of continuous data.
    CategoricalBIC : The same criterion for categorical data.

    Notes
    -----
    The score is −N/2 (ln 2πv + 1) − ½ ln N · (l + 2), for l parents and the residual
    variance v of the child's regression on them, which is not let below 1e-10 of the
    child's variance: a perfect fit has no finite likelihood. N is the sum of the
    weights.

    Examples
    --------
    >>> import numpy as np
    >>> from skbidag.scores import GaussianBIC
    >>> rng = np.random.default_rng(0)
    >>> cause = rng.normal(size=200)
    >>> X = np.column_stack([cause, cause + rng.normal(size=200)])
    >>> score = GaussianBIC().fit(X)
    >>> bool(score.local_score(1, [0]) > score.local_score(1, []))
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        "edge_penalty": EDGE_PENALTY,
    }

    def __init__(self, edge_penalty: float | Literal["auto"] = "auto"):
        self.edge_penalty = edge_penalty

    def _fit(self, X, sample_weight):
        self._validate_params()
        X = check_continuous(X, self._column_name)
        weights = check_weights(sample_weight, len(X))
        if not weights.all():
            X, weights = X[weights > 0], weights[weights > 0]
        highest, lowest = X.max(axis=0), X.min(axis=0)
        for column in np.flatnonzero(highest == lowest):
            raise ValueError(
                f"Column {self._column_name(column)} is constant; a constant has no "
                "Gaussian likelihood. Leave it out."
            )
        # scaled beforehand, because squares of large numbers may overflow
        scale = np.maximum(highest, -lowest)
        self.n_effective_, _, scatter = weighted_scatter(X, weights, scale)
        spread = np.sqrt(np.diag(scatter))
        self._log_variance = 2 * np.log(spread * scale) - np.log(self.n_effective_)
        self.correlation_ = scatter / np.outer(spread, spread)
        self._floor = np.full(len(spread), SMALLEST_RESIDUAL)

    def node_terms(self, node):  # noqa: D102
        n_rows, sizes = self.n_effective_, np.arange(self.n_features_in_ + 1)
        constant = -0.5 * n_rows * (np.log(2 * np.pi) + self._log_variance[node] + 1)
        offset = constant - 0.5 * np.log(n_rows) * (sizes + 2)
        slope = np.full(len(sizes), 0.5 * n_rows)
        return GaussianTerms(self.correlation_, self._floor, offset, slope, 0.0)

    def correlations(self):  # noqa: D102
        return self.correlation_, self.n_effective_


class CategoricalBIC(CategoricalScore):
    """Bayesian information criterion of categorical data.

    Parameters
    ----------
    edge_penalty : float or "auto", default="auto"
        Each edge divides the DAG's prior probability by this. "auto" is a third of the
        odds against an edge, by how many pairs of variables pick each other in forward
        selections. 1 is the uniform prior of the paper.
    categories : "auto" or list of array-like, default="auto"
        The levels of each column. With "auto" they are the values seen in fit, or
        those that a category column of a frame declares.

    Attributes
    ----------
    categories_ : list of ndarray
        The levels of each column.
    n_levels_ : ndarray of int of shape (n_features,)
        How many there are.
    codes_ : ndarray of int32 of shape (n_rows, n_features)
        The rows of the data, each distinct one once if they are few:
        ``categories_[j][codes_[:, j]]`` are the values of column j.
    counts_ : ndarray of shape (n_rows,)
        How often each of these rows counts: the sum of its weights.
    edge_penalty_ : float
        The penalty that was used.
    log_prior_odds_ : ndarray of shape (n_features, n_features)
        ``log_prior_odds_[i, j]`` is added to the score whenever i is a parent of j.
    n_features_in_ : int
        Number of variables seen during ``fit``.
    feature_names_in_ : ndarray of str of shape (n_features,)
        Their names, if the data have string column names.

    See Also
    --------
    BDe : The Bayesian score of categorical data.
    GaussianBIC : The same criterion for continuous data.

    Notes
    -----
    The score is Σ N_ck ln(N_ck / N_c) − ½ ln N · q (r − 1), for a child with r levels
    and parents with q configurations, N_ck rows of configuration c and level k. N is
    the sum of the weights.

    Examples
    --------
    >>> from skbidag.scores import CategoricalBIC
    >>> X = [["sun", "dry"], ["rain", "wet"], ["sun", "dry"], ["rain", "wet"]]
    >>> score = CategoricalBIC().fit(X)
    >>> round(score.local_score(1, []), 4)
    -3.4657
    >>> round(score.local_score(1, [0]), 4)
    -1.3863
    """

    _parameter_constraints: ClassVar[dict] = {
        "edge_penalty": EDGE_PENALTY,
        "categories": [StrOptions({"auto"}), list],
    }

    def __init__(
        self,
        edge_penalty: float | Literal["auto"] = "auto",
        categories: list | Literal["auto"] = "auto",
    ):
        self.edge_penalty = edge_penalty
        self.categories = categories

    def _fit(self, X, sample_weight):
        self._validate_params()
        super()._fit(X, sample_weight)

    def log_marginal_likelihood(self, node, parents):
        """BIC of column `node` given the columns `parents`.

        Parameters
        ----------
        node : int
            The child.
        parents : sequence of int
            Its parents.

        Returns
        -------
        log_likelihood : float
            The maximized log-likelihood minus ½ ln N per parameter.
        """
        parents = np.asarray(parents, dtype=np.intp)
        cells, configurations = self._counts(node, parents)
        n_configurations = np.prod(self.n_levels_[parents], dtype=np.float64)
        return float(
            xlogy(cells, cells).sum()
            - xlogy(configurations, configurations).sum()
            - self._cost(node) * n_configurations
        )

    def kernel_constants(self, node):  # noqa: D102
        return 0.0, self._cost(node)

    def _cost(self, node):
        """Half ln N for each of the child's free probabilities in a configuration."""
        return 0.5 * np.log(self.counts_.sum()) * (self.n_levels_[node] - 1)
