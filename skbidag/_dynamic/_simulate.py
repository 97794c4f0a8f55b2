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
        ``draws[s, m, k, j]``: variable j of series s, k + 1 steps ahead, in draw m. All
        of a draw follows one network, a sampled DAG with parameters. Of categorical
        data, the categories.
    series : ndarray of shape (n_series,)
        What the series are called.
    variables : list of str
        Names of the variables.
    categories : list of (ndarray or None), or None
        The categories of each variable, None for a continuous one; None if all are.
    """

    draws: np.ndarray
    series: np.ndarray
    variables: list
    categories: list | None = None

    @property
    def mean(self):
        """Means, of shape (n_series, n_steps, n_variables), NaN for categories."""
        return self._numbers("mean").mean(axis=1)

    def interval(self, level=0.9):
        """Central prediction intervals of continuous variables.

        Parameters
        ----------
        level : float, default=0.9
            Probability of the interval, between 0 and 1.

        Returns
        -------
        lower, upper : ndarray of shape (n_series, n_steps, n_variables)
            Ends of the intervals, quantiles of the draws; NaN for categories.
        """
        numbers = self._numbers("interval")
        if not (isinstance(level, Real) and 0 < level < 1):
            raise ValueError(f"level must be between 0 and 1, got {level!r}.")
        ends = [(1 - level) / 2, (1 + level) / 2]
        lower, upper = np.quantile(numbers, ends, axis=1)
        return lower, upper

    def probabilities(self):
        """Probabilities of the categories of categorical variables.

        Returns
        -------
        probabilities : list of (ndarray of shape (n_series, n_steps, n_levels) or None)
            For each variable, the share of draws with each of its ``categories``; None
            for a continuous one.
        """
        if self.categories is None:
            raise ValueError("probabilities are of categorical data; use interval.")
        return [
            None
            if levels is None
            else (self.draws[..., j, None] == levels).mean(axis=1)
            for j, levels in enumerate(self.categories)
        ]

    def _numbers(self, what):
        """The draws, with NaN for categories."""
        if self.categories is None:
            return self.draws
        is_number = np.array([levels is None for levels in self.categories])
        if not is_number.any():
            raise ValueError(f"{what} is for continuous data; use probabilities.")
        numbers = np.full(self.draws.shape, np.nan)
        numbers[..., is_number] = self.draws[..., is_number]
        return numbers

    def __repr__(self):
        n_series, n_samples, n_steps, n_variables = self.draws.shape
        return (
            f"{type(self).__name__}(n_series={n_series}, n_samples={n_samples}, "
            f"n_steps={n_steps}, n_variables={n_variables})"
        )


def simulate(predictor, static, history, networks, which, n_steps, rng):
    """Draw what comes next, each row along one network.

    Parameters
    ----------
    predictor : Predictor
        Of the transition.
    static : ndarray of shape (n_rows, n_static)
        What does not change.
    history : list of ndarray of shape (n_rows, n_variables)
        The slices at t - 1, t - 2 and so on.
    networks : DrawnNetworks
        DAGs with parameters.
    which : ndarray of int, shape (n_rows,)
        The network of each row.
    n_steps : int
        How many steps.
    rng : numpy.random.RandomState
        Random numbers.

    Returns
    -------
    slices : list of ndarray of shape (n_rows, n_variables)
        The slices that follow.
    """
    history, dags = list(history), networks.dags[which]
    slices = []
    for _ in range(n_steps):
        present = next_slice(predictor, static, history, dags, rng, networks, which)
        slices.append(present)
        history = [present, *history[:-1]]
    return slices


def next_slice(predictor, static, history, dags, rng, networks=None, which=None):
    """Draw one slice, see `simulate`; without networks the parameters are integrated.

    Parameters
    ----------
    predictor : Predictor
        Of the transition.
    static, history : ndarray, list of ndarray
        What was before.
    dags : ndarray of int, shape (n_rows,)
        The number of the DAG of each row.
    rng : numpy.random.RandomState
        Random numbers.
    networks, which : DrawnNetworks and ndarray of int, default=None
        DAGs with parameters, and that of each row.

    Returns
    -------
    present : ndarray of shape (n_rows, n_variables)
        The slice.
    """
    size = history[0].shape[1]
    values = np.concatenate([static, *history, np.zeros_like(history[0])], axis=1)
    given = given_columns(values.shape[1], size)
    predictor.complete(values, given, dags, rng, networks, which)
    return values[:, -size:].copy()


def given_columns(n_columns, size):
    """Which columns of a transition are not of the present slice."""
    return np.arange(n_columns) < n_columns - size


def without_lags(samples, columns, n_known):
    """Sampled DAGs of a transition without the edges from slices that are not there.

    Parameters
    ----------
    samples : DAGSamples
        The sampled DAGs.
    columns : list of tuple of int
        Variable and lag of each column.
    n_known : int
        How many slices before the present there are.

    Returns
    -------
    samples : DAGSamples
        The DAGs.
    """
    absent = np.array([lag > n_known for _, lag in columns])
    if not absent.any():
        return samples
    packed = samples.packed.copy()
    packed[:, :, absent] = 0
    return samples.with_dags(packed)
