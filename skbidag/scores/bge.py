"""The BGe score: linear Gaussian networks with a normal-Wishart prior.

Geiger & Heckerman (2002), in the corrected form of Kuipers, Moffa & Heckerman,
*Addendum on the scoring of Gaussian directed acyclic graphical models*, Annals of
Statistics 42 (2014).
"""

from copy import copy
from numbers import Real
from typing import Literal

import numpy as np
from scipy.special import gammaln
from sklearn.utils import check_random_state

from skbidag._data import check_continuous, check_weights
from skbidag._sklearn import Interval, StrOptions
from skbidag.scores._density import EDGE_PENALTY
from skbidag.scores._gaussian import (
    GaussianScore,
    GaussianTerms,
    least_residual_share,
)
from skbidag.scores._noise import residual_scale
from skbidag.scores._regression import regression_posterior
from skbidag.scores._scatter import pooled, weighted_scatter
from skbidag.scores.capabilities import (
    CorrelationScore,
    LinearCompletableScore,
    LinearParameterScore,
    LinearPredictiveScore,
    RegressionScore,
)

# The smallest share of a column's scatter that the other columns may leave
# unexplained, per observation. Rounding puts an error of about 2e-16 / share into
# ln v, and N / 2 times that into a score: this keeps it to thousandths of a nat.
RESIDUAL_SHARE_PER_ROW = 1e-13

# The score is a difference of values of lnΓ at alpha_w and more, which rounding leaves
# right to about alpha_w ln(alpha_w) 1e-16: thousandths of a nat.
LARGEST_ALPHA_W = 1e12


class BGe(
    GaussianScore,
    CorrelationScore,
    LinearPredictiveScore,
    LinearParameterScore,
    LinearCompletableScore,
    RegressionScore,
):
    """Bayesian Gaussian equivalent score for continuous data.

    The log marginal likelihood of a linear Gaussian network under a normal-Wishart
    prior with a diagonal prior scale matrix. Markov equivalent DAGs get the same score.

    Parameters
    ----------
    alpha_mu : float, default=1.0
        How many observations the prior mean is worth.
    alpha_w : float, default=None
        Degrees of freedom of the Wishart prior, more than n_features + 1. None
        stands for ``n_features + alpha_mu + 1``.
    edge_penalty : float or "auto", default="auto"
        Each edge divides the DAG's prior probability by this. "auto" is a third of the
        odds against an edge, by how many pairs of variables pick each other in forward
        selections: about 2 for 20 and 5 for 80 variables with two parents each. 1 is
        the uniform prior of the paper.
    prior : {"data", "paper"}, default="data"
        Where the prior's mean and scale come from. "data": the means of the columns,
        and of each column the variance that others leave of it (by forward
        selection), so that units do not matter and strong effects are not taken for
        weak ones. "paper": mean 0 and the same scale for all, as in the paper and in
        BiDAG; then columns should be standardized.

    Attributes
    ----------
    scatter_ : ndarray of shape (n_features, n_features)
        The posterior scale matrix T.
    posterior_mean_ : ndarray of shape (n_features,)
        The posterior mean of the variables' means.
    n_effective_ : float
        Number of observations, the sum of the weights.
    edge_penalty_ : float
        The penalty that was used.
    log_prior_odds_ : ndarray of shape (n_features, n_features)
        ``log_prior_odds_[i, j]`` is what the edge i -> j adds to the log score.
    n_features_in_ : int
        Number of variables seen during ``fit``.
    feature_names_in_ : ndarray of str
        Their names, where the data had string column names.

    Notes
    -----
    BiDAG names: ``am`` is `alpha_mu`, ``aw`` is `alpha_w`, ``edgepf`` is
    `edge_penalty` (there, a node's score is lower by one more ``log(edgepf)``).

    Examples
    --------
    >>> import numpy as np
    >>> from skbidag.scores import BGe
    >>> rng = np.random.default_rng(0)
    >>> cause = rng.normal(size=200)
    >>> X = np.column_stack([cause, cause + rng.normal(size=200)])
    >>> score = BGe().fit(X)
    >>> bool(score.local_score(1, [0]) > score.local_score(1, []))
    True
    """

    _parameter_constraints = {  # noqa: RUF012 (scikit-learn's convention)
        "alpha_mu": [Interval(Real, 0, None, closed="neither")],
        "alpha_w": [None, Interval(Real, 0, None, closed="neither")],
        "edge_penalty": EDGE_PENALTY,
        "prior": [StrOptions({"data", "paper"})],
    }

    def __init__(
        self,
        alpha_mu: float = 1.0,
        alpha_w: float | None = None,
        edge_penalty: float | Literal["auto"] = "auto",
        prior: Literal["data", "paper"] = "data",
    ):
        self.alpha_mu = alpha_mu
        self.alpha_w = alpha_w
        self.edge_penalty = edge_penalty
        self.prior = prior

    def _fit(self, X, sample_weight):
        self._validate_params()
        X = check_continuous(X, self._column_name)
        weights = check_weights(sample_weight, len(X))
        n, alpha_mu = self.n_features_in_, float(self.alpha_mu)
        self._alpha_w = self._check_alpha_w(n + alpha_mu + 1)
        self._prior_scale = alpha_mu * (self._alpha_w - n - 1) / (alpha_mu + 1)
        self.n_effective_ = float(weights.sum())
        self._take_statistics(X, weights)
        if self.prior == "data":
            mean, size, scatter = self._statistics
            self._take_prior(mean, residual_scale(scatter, self.n_effective_) * size)
        else:
            self._take_paper_prior()

    def _take_prior(self, prior_mean, units):
        """Make the score what it is with a mean and units of the prior."""
        total = self.n_effective_
        mean, size, scatter = self._statistics
        noise = units / size
        scatter = scatter / noise / noise[:, None]
        # nothing where the prior's mean is that of the data
        shift = (mean - prior_mean) / units
        share = self.alpha_mu / (self.alpha_mu + total)
        scatter += share * total * np.outer(shift, shift)
        self.posterior_mean_ = mean + share * (prior_mean - mean)
        self._prior_mean, self._units = prior_mean, units
        self._finish(scatter, units)

    def with_rows(self, rows, weights, which=None, beside=None):  # noqa: D102
        size = self._statistics[1]
        moments = weighted_scatter(rows, weights, size)
        if beside is not None:
            moments = pooled(moments, beside._moments)
        score = copy(self)
        score._moments = moments
        score.n_effective_, mean, scatter = moments
        score._statistics = mean * size, size, scatter
        if self.prior == "data":
            score._take_prior(self._prior_mean, self._units)
        else:
            score._take_paper_prior()
        return score

    def with_prior_of(self, rows, weights):  # noqa: D102
        score = copy(self)
        score._fit(rows, weights)
        return score

    @classmethod
    def with_one_prior(cls, scores, of_column):  # noqa: D102
        if scores[0].prior == "paper":
            return scores  # nothing comes from the data
        columns = range(len(of_column))
        prior_mean = np.array([of_column[j]._prior_mean[j] for j in columns])
        units = np.array([of_column[j]._units[j] for j in columns])
        for score in scores:
            score._take_prior(prior_mean, units)
        return scores

    def _finish(self, scatter, units):
        """Keep the posterior's scale matrix, and what the local scores are made of."""
        n = self.n_features_in_
        scatter[np.diag_indices(n)] += self._prior_scale
        self._check_columns_tell(scatter)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            self.scatter_ = scatter * units * units[:, None]
        self._check_size(np.diag(self.scatter_))
        # Every Schur complement of T = t I + (something positive) is at least t.
        floor = np.full(n, self._prior_scale)
        self._floor = floor * units**2
        offset, slope = self._constants(np.arange(n + 1))
        # densities are per unit of the data, whatever the unit of the prior is
        shifts = self.n_effective_ * np.log(units)
        diagonal = np.ascontiguousarray(np.diag(scatter))
        self._terms = [
            GaussianTerms(scatter, floor, offset - shift, slope, 0.5, diagonal)
            for shift in shifts
        ]

    def _check_alpha_w(self, default):
        """Degrees of freedom of the prior."""
        least = self.n_features_in_ + 1
        alpha_w = default if self.alpha_w is None else self.alpha_w
        if not alpha_w > least:
            raise ValueError(
                f"alpha_w must be greater than n_features + 1 = {least}, got {alpha_w}."
            )
        if alpha_w > LARGEST_ALPHA_W:
            raise ValueError(
                f"alpha_w must be at most {LARGEST_ALPHA_W:g}, got {alpha_w}: "
                "with larger ones the data are lost in rounding. It is n_features + "
                "alpha_mu + 1 by default."
            )
        return alpha_w

    def _take_statistics(self, X, weights):
        """Keep the mean, and the scatter about it in units of the columns' sizes."""
        if not weights.all():
            X, weights = X[weights > 0], weights[weights > 0]
        highest, lowest = X.max(axis=0), X.min(axis=0)
        largest = np.maximum(highest, -lowest)
        # powers of two, so that nothing is rounded
        size = np.exp2(np.frexp(np.where(largest > 0, largest, 1.0))[1] - 1)
        _, mean, scatter = weighted_scatter(X, weights, size)
        constant = highest == lowest
        scatter[constant] = scatter[:, constant] = 0.0  # to the last digit
        self._statistics = mean * size, size, scatter

    def _take_paper_prior(self):
        """Make the score what it is with a prior of mean 0 and one scale for all."""
        total = self.n_effective_
        mean, size, scatter = self._statistics
        worth = self.alpha_mu + total
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            self.posterior_mean_ = total * mean / worth
            scatter = scatter * size * size[:, None]
            scatter += self.alpha_mu * total / worth * np.outer(mean, mean)
        self._check_size(np.diag(scatter) + self._prior_scale)
        self._finish(scatter, np.ones(self.n_features_in_))

    def correlations(self):  # noqa: D102
        scatter = self._statistics[2]
        spread = np.sqrt(np.diag(scatter))
        spread[spread == 0] = 1.0
        correlation = np.clip(scatter / spread / spread[:, None], -1.0, 1.0)
        np.fill_diagonal(correlation, 1.0)
        return correlation, self.n_effective_

    def _check_size(self, diagonal):
        """Squares must be numbers; where they are, so are products with others."""
        fine = np.isfinite(diagonal) & (diagonal > np.finfo(float).tiny)
        if not fine.all():
            column = int(np.argmin(fine))
            extreme = "small" if diagonal[column] < 1 else "large"
            raise ValueError(
                f"Column {self._column_name(column)} has values too {extreme} to "
                "square; rescale it."
            )

    def _check_columns_tell(self, scatter):
        """No column may be told by the others, to rounding."""
        column, share = least_residual_share(scatter)
        if share < RESIDUAL_SHARE_PER_ROW * max(self.n_effective_, 100.0):
            remedy = "drop it" if self.prior == "data" else "drop it, or prior='data'"
            raise ValueError(
                f"Column {self._column_name(column)} is a linear combination of other "
                f"columns, to rounding at the scale of the data; {remedy}."
            )

    def _constants(self, n_parents):
        """Terms of the score that depend on the number of parents alone."""
        n, total = self.n_features_in_, self.n_effective_
        df = self._alpha_w - n + n_parents + 1
        offset = (
            -total / 2 * np.log(np.pi)
            + np.log(self.alpha_mu / (self.alpha_mu + total)) / 2
            - gammaln(df / 2)
            + gammaln((df + total) / 2)
            + (df + n_parents) / 2 * np.log(self._prior_scale)
        )
        return offset, (df + total) / 2

    def node_terms(self, node):  # noqa: D102
        return self._terms[node]

    def regression(self, node, parents):
        """Linear regression of `node` on its parents at the posterior mean.

        Parameters
        ----------
        node : int
            The child.
        parents : sequence of int
            Its parents.

        Returns
        -------
        coefficients : ndarray of shape (n_parents,)
            Effect on the child of each parent's deviation from ``posterior_mean_``.
        residual_variance : float
            What the parents leave of the child's variance.
        """
        coefficients, variance, _ = self._regress(
            node, np.asarray(parents, dtype=np.intp)
        )
        return coefficients, variance / (self._posterior_df - 1)

    def coefficient_posterior(self, nodes, parents):
        """Posterior of regression coefficients, of several families at once.

        Given its parents, a child's residual variance has a scaled inverse chi-square
        distribution and, given that, its coefficients are normal: together they have
        a multivariate t distribution. With z a vector of standard normal variables and
        c an independent chi-square variable, the coefficients are ``location + z @
        root / sqrt(c)``.

        Parameters
        ----------
        nodes : array-like of int of shape (n_families,)
            The children.
        parents : array-like of int of shape (n_families, n_parents)
            Their parents, equally many for each.

        Returns
        -------
        location : ndarray of shape (n_families, n_parents)
            The mean, which is what :meth:`regression` gives.
        root : ndarray of shape (n_families, n_parents, n_parents)
            See above.
        df : float
            The degrees of freedom of c.
        """
        nodes = np.asarray(nodes, dtype=np.intp)
        parents = np.asarray(parents, dtype=np.intp)
        T = self.scatter_
        factor = np.linalg.cholesky(T[parents[:, :, None], parents[:, None, :]])
        whiten = np.linalg.inv(factor)
        explained = np.einsum("fij,fj->fi", whiten, T[parents, nodes[:, None]])
        variance = T[nodes, nodes] - np.einsum("fi,fi->f", explained, explained)
        variance = np.maximum(variance, self._floor[nodes])
        location = np.einsum("fi,fij->fj", explained, whiten)
        root = np.sqrt(variance)[:, None, None] * whiten
        return location, root, self._posterior_df + 1 + parents.shape[1]

    def regression_posterior(self, node, parents):  # noqa: D102
        columns = np.append(np.asarray(parents, dtype=np.intp), node)
        return regression_posterior(
            self.posterior_mean_[columns],
            self.scatter_[np.ix_(columns, columns)],
            self._floor[node],
            self.alpha_mu + self.n_effective_,
            self._posterior_df + len(columns),
        )

    def draw_regressions(self, node, parents, n_draws, rng):
        """Draw all parameters of a child given its parents from their posterior.

        Parameters
        ----------
        node : int
            The child.
        parents : ndarray of int
            Its parents.
        n_draws : int
            How many draws.
        rng : numpy.random.RandomState
            Random numbers.

        Returns
        -------
        constant : ndarray of shape (n_draws,)
            What the child is expected to be where all parents are 0.
        coefficients : ndarray of shape (n_draws, n_parents)
            Effects of the parents.
        deviation : ndarray of shape (n_draws,)
            Standard deviation of the child given its parents.
        """
        mean = self.posterior_mean_
        location, variance, whiten = self._regress(node, parents)
        df = self._posterior_df + 1 + len(parents)
        deviation = np.sqrt(variance / rng.chisquare(df, n_draws))
        z = deviation[:, None] * rng.standard_normal((n_draws, len(parents)))
        coefficients = location + z @ whiten
        # given the rest, the mean of the child where the parents are at their means
        worth = self.alpha_mu + self.n_effective_
        center = mean[node] + deviation * rng.standard_normal(n_draws) / np.sqrt(worth)
        return center - coefficients @ mean[parents], coefficients, deviation

    def draw_regression(self, node, parents, rng):  # noqa: D102
        constant, coefficients, deviation = self.draw_regressions(node, parents, 1, rng)
        return constant[0], coefficients[0], deviation[0] ** 2

    def log_predictive(self, X, node, parents, *, plug_in=False):
        """Row-wise log predictive density of column `node` given its parents.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New rows.
        node : int
            The child.
        parents : sequence of int
            Its parents.
        plug_in : bool, default=False
            False integrates over the parameters' posterior: a Student t density.
            True is the normal density at the posterior mean of the mean vector and
            of the covariance matrix.

        Returns
        -------
        log_density : ndarray of shape (n_samples,)
            Log density of each row's entry in column `node`.
        """
        if plug_in:
            return super().log_predictive(X, node, parents)
        X, parents = self._check_columns(X, node, parents)
        location, scale, df = self._student_t(X[:, :-1], node, parents)
        return (
            gammaln((df + 1) / 2)
            - gammaln(df / 2)
            - np.log(np.pi * df) / 2
            - np.log(scale)
            - (df + 1) / 2 * np.log1p(((X[:, -1] - location) / scale) ** 2 / df)
        )

    def log_plug_in(self, X, node, parents):  # noqa: D102
        return self.log_predictive(X, node, parents, plug_in=True)

    def sample_predictive(self, X, node, parents, random_state=None):
        """Draw column `node` from its predictive distribution given its parents.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows of which only the columns of the parents are looked at.
        node : int
            The child.
        parents : sequence of int
            Its parents.
        random_state : int, RandomState instance or None, default=None
            Source of the draws.

        Returns
        -------
        values : ndarray of shape (n_samples,)
            One draw for each row.
        """
        rng = check_random_state(random_state)
        X, parents = self._check_columns(X, None, parents)
        location, scale, df = self._student_t(X, node, parents)
        return location + scale * rng.standard_t(df, size=len(X))

    @property
    def _posterior_df(self):
        return self._alpha_w + self.n_effective_ - self.n_features_in_

    def student_t(self):
        """What the predictive densities of all families are made of.

        A child with p parents P has a Student t density with df + p degrees of
        freedom: in a row whose deviations from the mean are z, it is in proportion
        to (offset + D(P))^((df + p) / 2) (offset + D(P, child))^(-(df + p + 1) / 2),
        where D(Q) = z_Q' T_QQ^-1 z_Q and T is the scatter matrix.

        Returns
        -------
        mean, scatter, floor, offset, df
            The mean, the scatter matrix, the least variances, and two numbers.
        """
        worth = self.alpha_mu + self.n_effective_
        offset = (worth + 1) / worth
        df = self._posterior_df + 1
        return self.posterior_mean_, self.scatter_, self._floor, offset, df

    def _regress(self, node, parents):
        """Coefficients, what is left of T_ii, and the inverse of T_PP's factor."""
        T = self.scatter_
        factor = np.linalg.cholesky(T[np.ix_(parents, parents)])
        whiten = np.linalg.inv(factor)
        explained = whiten @ T[parents, node]
        variance = max(T[node, node] - explained @ explained, self._floor[node])
        return explained @ whiten, variance, whiten

    def _student_t(self, values, node, parents):
        """Location and scale for each row of the parents' values, and the df."""
        mean = self.posterior_mean_
        coefficients, variance, whiten = self._regress(node, parents)
        deviation = values - mean[parents]
        location = mean[node] + deviation @ coefficients
        whitened = deviation @ whiten.T
        distance = np.einsum("rp,rp->r", whitened, whitened)
        df = self._posterior_df + 1 + len(parents)
        worth = self.alpha_mu + self.n_effective_
        scale = np.sqrt(variance * ((worth + 1) / worth + distance) / df)
        return location, scale, df
