"""The posterior distribution of one regression, in closed form.

A child is its intercept, plus its parents times coefficients, plus normal noise. Under
a normal-Wishart prior the noise's variance has a scaled inverse chi-square distribution
and, given that, intercept and coefficients are normal: together they have a
multivariate t distribution.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import chdtri, stdtrit


@dataclass(frozen=True, eq=False)
class RegressionPosterior:
    """Posterior distribution of a child's regression on its parents.

    With c a chi-square variable of `df` degrees of freedom and z a vector of standard
    normal ones, the intercept and the coefficients are ``location + z @ root /
    sqrt(c)``, and the variance of the noise is ``residual / c``.

    Attributes
    ----------
    location : ndarray of shape (1 + n_parents,)
        Posterior mean of the intercept and of the coefficients.
    root : ndarray of shape (1 + n_parents, 1 + n_parents)
        See above.
    residual : float
        See above, positive.
    df : float
        Degrees of freedom.
    """

    location: np.ndarray
    root: np.ndarray
    residual: float
    df: float

    @cached_property
    def scale(self):
        """Scales of the t distributions of the intercept and of each coefficient."""
        return np.sqrt((self.root**2).sum(axis=0) / self.df)

    @property
    def deviation(self):
        """Posterior standard deviations of the intercept and of each coefficient."""
        return self.scale * np.sqrt(_ratio(self.df, self.df - 2))

    def interval(self, level):
        """Central credible intervals of the intercept and of each coefficient."""
        half = stdtrit(self.df, (1 + level) / 2) * self.scale
        return self.location - half, self.location + half

    @property
    def variance(self):
        """Posterior mean of the noise's variance, infinite with two df or fewer."""
        return _ratio(self.residual, self.df - 2)

    @property
    def variance_deviation(self):
        """Posterior standard deviation of the noise's variance."""
        return self.variance * np.sqrt(_ratio(2.0, self.df - 4))

    def variance_interval(self, level):
        """Central credible interval of the noise's variance."""
        tails = np.array([(1 - level) / 2, (1 + level) / 2])
        # chdtri takes the probability of a larger value
        return tuple(self.residual / chdtri(self.df, tails))

    def draw(self, n_draws, rng):
        """Draw regressions.

        Parameters
        ----------
        n_draws : int
            How many.
        rng : RandomState
            Source of the draws.

        Returns
        -------
        coefficients : ndarray of shape (n_draws, 1 + n_parents)
            The intercept, and the coefficients.
        variances : ndarray of shape (n_draws,)
            The variance of the noise.
        """
        chi_square = rng.chisquare(self.df, n_draws)
        z = rng.standard_normal((n_draws, len(self.location)))
        noise = z @ self.root / np.sqrt(chi_square)[:, None]
        return self.location + noise, self.residual / chi_square


def regression_posterior(mean, scatter, floor, worth, df):
    """Posterior of the regression of the last of some columns on the others.

    Parameters
    ----------
    mean : ndarray of shape (n_columns,)
        Posterior mean of the columns' means.
    scatter : ndarray of shape (n_columns, n_columns)
        Their posterior scale matrix.
    floor : float
        What the others leave of the last one's scatter, at least.
    worth : float
        How many observations the posterior mean is worth.
    df : float
        Degrees of freedom of the columns' posterior Wishart distribution.

    Returns
    -------
    posterior : RegressionPosterior
        The distribution.
    """
    whiten = np.linalg.inv(np.linalg.cholesky(scatter[:-1, :-1]))
    explained = whiten @ scatter[:-1, -1]
    residual = max(scatter[-1, -1] - explained @ explained, floor)
    coefficients = explained @ whiten
    location = np.append(mean[-1] - coefficients @ mean[:-1], coefficients)
    root = np.zeros((len(mean), len(mean)))
    root[0, 0] = np.sqrt(residual / worth)
    root[1:, 1:] = np.sqrt(residual) * whiten
    root[1:, 0] = -root[1:, 1:] @ mean[:-1]
    return RegressionPosterior(location, root, float(residual), float(df))


def in_units(posterior, means, units):
    """A regression of standardized columns as one of the columns themselves.

    Parameters
    ----------
    posterior : RegressionPosterior
        Of ``(x - means) / units``, the child last.
    means, units : ndarray of shape (n_columns,)
        What was subtracted, and what was divided by.

    Returns
    -------
    posterior : RegressionPosterior
        Of x.
    """
    unit, slopes = units[-1], units[-1] / units[:-1]
    # (intercept, coefficients) of x, linear in those of the standardized columns
    transform = np.diag(np.append(unit, slopes))
    transform[1:, 0] = -slopes * means[:-1]
    location = posterior.location @ transform
    location[0] += means[-1]
    return RegressionPosterior(
        location, posterior.root @ transform, posterior.residual * unit**2, posterior.df
    )


def _ratio(numerator, denominator):
    """A moment, which is infinite where it has no positive denominator."""
    return numerator / denominator if denominator > 0 else np.inf
