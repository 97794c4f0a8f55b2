"""What comes next: series drawn step by step, and forecasts made of them."""

from dataclasses import dataclass
from numbers import Real

import numpy as np


@dataclass(frozen=True)
class Forecast:
    """Draws of what comes next.

    Attributes
    ----------
    draws : ndarray of shape (n_series, n_samples, n_steps, n_variables)
        ``draws[s, m, k, j]``: variable j of series s, k + 1 steps ahead, in draw m. Of
        categorical data, the categories.
    series : ndarray of shape (n_series,)
        What the series are called.
    variables : list of str
        Names of the variables.
    categories : list of ndarray or None
        The categories of each variable; None for continuous data.
    """

    draws: np.ndarray
    series: np.ndarray
    variables: list
    categories: list | None = None

    @property
    def mean(self):
        """Means of continuous variables, shape (n_series, n_steps, n_variables)."""
        self._refuse_categories("mean")
        return self.draws.mean(axis=1)

    def interval(self, level=0.9):
        """Central prediction intervals of continuous variables.

        Parameters
        ----------
        level : float, default=0.9
            Probability of the interval, between 0 and 1.

        Returns
        -------
        lower, upper : ndarray of shape (n_series, n_steps, n_variables)
            Ends of the intervals, quantiles of the draws.
        """
        self._refuse_categories("interval")
        if not (isinstance(level, Real) and 0 < level < 1):
            raise ValueError(f"level must be between 0 and 1, got {level!r}.")
        lower, upper = np.quantile(
            self.draws, [(1 - level) / 2, (1 + level) / 2], axis=1
        )
        return lower, upper

    def probabilities(self):
        """Probabilities of the categories of categorical variables.

        Returns
        -------
        probabilities : list of ndarray of shape (n_series, n_steps, n_levels)
            For each variable, the share of draws with each of its ``categories``.
        """
        if self.categories is None:
            raise ValueError("probabilities are of categorical data; use interval.")
        return [
            (self.draws[..., j, None] == levels).mean(axis=1)
            for j, levels in enumerate(self.categories)
        ]

    def _refuse_categories(self, what):
        if self.categories is not None:
            raise ValueError(f"{what} is for continuous data; use probabilities.")

    def __repr__(self):
        n_series, n_samples, n_steps, n_variables = self.draws.shape
        return (
            f"{type(self).__name__}(n_series={n_series}, n_samples={n_samples}, "
            f"n_steps={n_steps}, n_variables={n_variables})"
        )


def simulate(predictor, static, history, dags, n_steps, rng):
    """Draw what comes next, each series by one DAG.

    Parameters
    ----------
    predictor : Predictor
        Of the transition.
    static : ndarray of shape (n_rows, n_static)
        What does not change.
    history : list of ndarray of shape (n_rows, n_variables)
        The slices at t - 1, t - 2 and so on.
    dags : ndarray of int, shape (n_rows,)
        The number of the DAG of each series.
    n_steps : int
        How many steps.
    rng : numpy.random.RandomState
        Random numbers.

    Returns
    -------
    slices : ndarray of shape (n_rows, n_steps, n_variables)
        The slices that follow.
    """
    history = list(history)
    n_rows, size = history[0].shape
    slices = np.empty((n_rows, n_steps, size), dtype=history[0].dtype)
    for step in range(n_steps):
        values = np.concatenate([static, *history, np.zeros_like(history[0])], axis=1)
        given = np.ones(values.shape[1], dtype=bool)
        given[-size:] = False
        predictor.complete(values, given, dags, rng)
        slices[:, step] = values[:, -size:]
        history = [slices[:, step], *history[:-1]]
    return slices
