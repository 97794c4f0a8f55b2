"""The BDe score of categorical data (Heckerman, Geiger & Chickering 1995)."""

from copy import copy
from numbers import Real
from typing import ClassVar, Literal

import numpy as np
from scipy.special import betaln, gammaln

from skbidag._sklearn import Interval, StrOptions
from skbidag.scores._categorical import CategoricalScore, _configurations
from skbidag.scores._density import EDGE_PENALTY
from skbidag.scores.capabilities import (
    CategoricalParameterScore,
    CategoricalPredictiveScore,
    CompletableScore,
)


class BDe(
    CategoricalScore,
    CategoricalPredictiveScore,
    CategoricalParameterScore,
    CompletableScore,
):
    """Bayesian Dirichlet equivalent uniform score, for categorical data.

    Columns hold integers, booleans, strings or categories, with any number of
    levels each. A child with r levels whose parents have q configurations has
    multinomial probabilities for each configuration, with a Dirichlet prior of
    pseudo-counts ``equivalent_sample_size / (q * r)``.

    Parameters
    ----------
    equivalent_sample_size : float, default=1.0
        Sum of the pseudo-counts of each variable's prior, between 1e-300 and 1e300.
    edge_penalty : float or "auto", default="auto"
        Each edge divides the DAG's prior probability by this. "auto" is a third of the
        odds against an edge, by how many pairs of variables pick each other in forward
        selections. 1 is the uniform prior of the paper.
    categories : "auto" or list of array-like, default="auto"
        The levels of each column. With "auto" they are the values seen in fit, or
        those that a category column of a frame declares. A level that is never seen
        still counts in r and q.

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
    CategoricalBIC : A score without a prior over the parameters.

    Notes
    -----
    With N_ck rows of configuration c and level k, the score is the sum over observed
    configurations of lnΓ(s/q) − lnΓ(s/q + N_c) + Σ_k [lnΓ(s/(qr) + N_ck) −
    lnΓ(s/(qr))], where s is the equivalent sample size; q counts every combination of
    the parents' levels, seen or not. Markov equivalent DAGs have the same score.
    BiDAG names: ``chi`` is the equivalent sample size, ``edgepf`` the edge penalty.

    References
    ----------
    Heckerman, Geiger & Chickering (1995). Learning Bayesian networks: the combination
    of knowledge and statistical data. Machine Learning 20, 197-243.

    Examples
    --------
    >>> from skbidag.scores import BDe
    >>> X = [["sun", "dry"], ["rain", "wet"], ["sun", "dry"], ["rain", "wet"]]
    >>> score = BDe().fit(X)
    >>> round(score.local_score(1, []), 4)
    -3.7534
    >>> round(score.local_score(1, [0]), 4)
    -1.7509
    """

    _parameter_constraints: ClassVar[dict] = {
        "equivalent_sample_size": [Interval(Real, 1e-300, 1e300, closed="both")],
        "edge_penalty": EDGE_PENALTY,
        "categories": [StrOptions({"auto"}), list],
    }

    def __init__(
        self,
        equivalent_sample_size: float = 1.0,
        edge_penalty: float | Literal["auto"] = "auto",
        categories: list | Literal["auto"] = "auto",
    ):
        self.equivalent_sample_size = equivalent_sample_size
        self.edge_penalty = edge_penalty
        self.categories = categories

    def _fit(self, X, sample_weight):
        self._validate_params()
        super()._fit(X, sample_weight)

    def log_marginal_likelihood(self, node, parents):
        """Log marginal likelihood of column `node` given the columns `parents`.

        Parameters
        ----------
        node : int
            The child.
        parents : sequence of int
            Its parents.

        Returns
        -------
        log_likelihood : float
            The probability of the child's values, its parameters integrated out.
        """
        parents = np.asarray(parents, dtype=np.intp)
        cells, configurations = self._counts(node, parents)
        log_q = np.log(self.n_levels_[parents]).sum()
        log_r = np.log(self.n_levels_[node])
        log_size = np.log(self.equivalent_sample_size)
        return float(
            _log_rising(log_size - log_q - log_r, cells).sum()
            - _log_rising(log_size - log_q, configurations).sum()
        )

    def log_predictive_codes(self, codes, node, parents):
        """Log posterior predictive probability of a column, of data already coded.

        Parameters
        ----------
        codes : ndarray of int32 of shape (n_samples, n_features)
            New data as ``encode`` gives them. Where the child has a value that is not
            one of its levels, it gets the probability of a level that was never seen.
            A parent's unknown value makes an unseen configuration, in which each of the
            child's r levels has the probability 1/r.
        node : int
            The child.
        parents : sequence of int
            Its parents.

        Returns
        -------
        log_probability : ndarray of shape (n_samples,)
            Log probability of the value of `node` given the values of `parents`.
        """
        parents = np.asarray(parents, dtype=np.intp)
        # The data of fit and the new rows share one numbering of configurations, so
        # that looking up a configuration is indexing. Codes are shifted by one to
        # make room for the unknown level.
        columns = [
            np.concatenate([self.codes_[:, column], codes[:, column]]) + 1
            for column in (*parents, node)
        ]
        radix = self.n_levels_ + 1
        configuration, size = _configurations(
            columns[:-1], radix[parents], len(columns[-1])
        )
        cell = configuration * radix[node] + columns[-1]
        seen = len(self.codes_)
        n_c = np.bincount(configuration[:seen], self.counts_, size)
        n_ck = np.bincount(cell[:seen], self.counts_, size * radix[node])
        # (N_ck + s/(qr)) / (N_c + s/q), in logs as q may be too large for a float.
        log_size = np.log(self.equivalent_sample_size)
        log_prior = log_size - np.log(self.n_levels_[parents]).sum()
        with np.errstate(divide="ignore"):
            log_n_ck, log_n_c = np.log(n_ck), np.log(n_c)
        log_r = np.log(self.n_levels_[node])
        return (
            np.logaddexp(log_n_ck, log_prior - log_r)[cell[seen:]]
            - np.logaddexp(log_n_c, log_prior)[configuration[seen:]]
        )

    def posterior_counts(self, node, parents):
        """Parameters of the posterior Dirichlet distributions of a child.

        Parameters
        ----------
        node : int
            The child.
        parents : sequence of int
            Its parents.

        Returns
        -------
        counts : ndarray of shape (n_configurations, n_levels)
            Observed counts plus pseudo-counts: a row for each configuration of the
            parents, of which the last parent's level changes fastest, and a column for
            each level of the child.
        """
        parents = np.asarray(parents, dtype=np.intp)
        shape = tuple(self.n_levels_[[*parents, node]])
        cell = np.ravel_multi_index(tuple(self.codes_.T[[*parents, node]]), shape)
        size = np.prod(shape)
        counts = np.bincount(cell, weights=self.counts_, minlength=size)
        # not rounded to zero, which would leave unseen configurations without a share
        prior = max(self.equivalent_sample_size / size, np.finfo(float).tiny)
        return counts.reshape(-1, shape[-1]) + prior

    def kernel_constants(self, node):  # noqa: D102
        return self.equivalent_sample_size, 0.0

    def with_rows(self, rows, weights, which=None, beside=None):  # noqa: D102
        codes = np.asarray(rows, dtype=np.int32)
        if beside is not None:
            codes = np.concatenate([beside.codes_, codes])
            weights = np.concatenate([beside.counts_, weights])
        score = copy(self)
        score._take_codes(codes, weights)
        return score

    def with_prior_of(self, rows, weights):  # noqa: D102
        return self.with_rows(rows, weights)  # which takes nothing from the data


def _log_rising(log_a, counts):
    """Give lnΓ(a + count) − lnΓ(a) for positive counts, however small a is."""
    a = np.exp(log_a)
    if a > 1e6:
        # the difference of two large numbers; betaln has a series for it
        return gammaln(counts) - betaln(a, counts)
    # lnΓ(a) = lnΓ(1 + a) − ln a holds when a itself is rounded to zero.
    return gammaln(counts + a) - gammaln(1 + a) + log_a
