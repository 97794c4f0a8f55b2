"""The BIC score (Schwarz 1978), for continuous and for categorical data."""

from numbers import Real
from typing import ClassVar

import numpy as np
from scipy.special import xlogy

from skbidag._sklearn import Interval, StrOptions
from skbidag.scores._categories import is_discrete
from skbidag.scores._discrete import DiscreteScore
from skbidag.scores._gaussian_bic import GaussianBIC
from skbidag.scores.base import BaseScore


class BIC(DiscreteScore):
    """Bayesian information criterion: log-likelihood minus ½ ln N per parameter.

    It approximates the log marginal likelihood (it is not negated nor doubled, as
    other uses of the name are), so it takes the place of BGe or BDe where no prior
    over the parameters is wanted.

    Parameters
    ----------
    edge_penalty : float, default=1.0
        Each edge divides the DAG's prior probability by this.
    kind : {"auto", "gaussian", "discrete"}, default="auto"
        The likelihood. "auto" is "discrete" if all columns hold integers, booleans,
        strings or categories, and "gaussian" if they are numbers with floats among
        them.
    categories : "auto" or list of array-like, default="auto"
        The levels of each column of categorical data. With "auto" they are the values
        seen in fit, or those that a category column of a frame declares.

    Attributes
    ----------
    kind_ : {"gaussian", "discrete"}
        The likelihood used.
    categories_ : list of ndarray
        The levels of each column; only of categorical data, as the next three.
    n_levels_ : ndarray of int of shape (n_features,)
        How many there are.
    codes_ : ndarray of int32 of shape (n_rows, n_features)
        The rows of the data, each distinct one once if they are few:
        ``categories_[j][codes_[:, j]]`` are the values of column j.
    counts_ : ndarray of shape (n_rows,)
        How often each of these rows counts: the sum of its weights.
    log_prior_odds_ : ndarray of shape (n_features, n_features)
        ``log_prior_odds_[i, j]`` is added to the score whenever i is a parent of j.
    n_features_in_ : int
        Number of variables seen during ``fit``.
    feature_names_in_ : ndarray of str of shape (n_features,)
        Their names, if the data have string column names.

    See Also
    --------
    BDe : The Bayesian score of categorical data.

    Notes
    -----
    Categorical: Σ N_ck ln(N_ck / N_c) − ½ ln N · q (r − 1), for a child with r levels
    and parents with q configurations, N_ck rows of configuration c and level k.

    Gaussian: −N/2 (ln 2πv + 1) − ½ ln N · (l + 2), for l parents and the residual
    variance v of the child's regression on them, which is not let below 1e-10 of the
    child's variance: a perfect fit has no finite likelihood.

    N is the sum of the weights.

    Examples
    --------
    >>> from skbidag.scores import BIC
    >>> X = [["sun", "dry"], ["rain", "wet"], ["sun", "dry"], ["rain", "wet"]]
    >>> score = BIC().fit(X)
    >>> round(score.local_score(1, []), 4)
    -3.4657
    >>> round(score.local_score(1, [0]), 4)
    -1.3863
    """

    _parameter_constraints: ClassVar[dict] = {
        "edge_penalty": [Interval(Real, 0, None, closed="neither")],
        "kind": [StrOptions({"auto", "gaussian", "discrete"})],
        "categories": [StrOptions({"auto"}), list],
    }

    def __init__(self, edge_penalty=1.0, kind="auto", categories="auto"):
        self.edge_penalty = edge_penalty
        self.kind = kind
        self.categories = categories

    def _fit(self, X, sample_weight):
        self._validate_params()
        self.kind_ = self.kind
        if self.kind == "auto":
            discrete = is_discrete(X, self._column_name)
            self.kind_ = "discrete" if discrete else "gaussian"
        if self.kind_ == "discrete":
            super()._fit(X, sample_weight)
        else:
            self._gaussian = GaussianBIC(X, sample_weight, self._column_name)

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
        if self.kind_ == "gaussian":
            return self._gaussian.log_marginal_likelihood(node, parents)
        cells, configurations = self._counts(node, parents)
        n_configurations = np.prod(self.n_levels_[parents], dtype=np.float64)
        return float(
            xlogy(cells, cells).sum()
            - xlogy(configurations, configurations).sum()
            - self._cost(node) * n_configurations
        )

    def fill_table(self, node, candidates, outsiders, base_column, out):  # noqa: D102
        if self.kind_ == "discrete":
            super().fill_table(node, candidates, outsiders, base_column, out)
        else:
            self._gaussian.fill_table(
                self.log_prior_odds_[:, node],
                node,
                candidates,
                outsiders,
                base_column,
                out,
            )

    def fill_table_for_maxima(  # noqa: D102
        self, node, candidates, outsiders, base_column, out
    ):
        if self.kind_ == "discrete":
            super().fill_table_for_maxima(node, candidates, outsiders, base_column, out)
        else:
            self.fill_table(node, candidates, outsiders, base_column, out)

    def _kernel_constants(self, node):
        return 0.0, self._cost(node)

    def addition_scores(self, node, parents):  # noqa: D102
        if self.kind_ == "discrete":
            return super().addition_scores(node, parents)
        return BaseScore.addition_scores(self, node, parents)

    def select_parents(  # noqa: D102
        self, node, allowed, max_size, kept=(), stop=True
    ):
        if self.kind_ == "discrete":
            return super().select_parents(node, allowed, max_size, kept, stop)
        return self._gaussian.select_parents(
            self.log_prior_odds_[:, node], node, allowed, max_size, kept, stop
        )

    def pair_scores(self, node, parents):  # noqa: D102
        if self.kind_ == "discrete":
            return super().pair_scores(node, parents)
        return self._gaussian.pair_scores(self.log_prior_odds_[:, node], node, parents)

    def _cost(self, node):
        """Half ln N for each of the child's free probabilities in a configuration."""
        return 0.5 * np.log(self.counts_.sum()) * (self.n_levels_[node] - 1)
