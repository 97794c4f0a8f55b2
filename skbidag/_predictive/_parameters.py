"""Parameters drawn from their posterior, for rows that follow one network for a while.

Where a row is drawn by itself, the parameters are integrated out. Along a path, as of a
forecast, all steps share the parameters, and what is not known of these adds up from
step to step. So each network, a DAG with parameters, is drawn once.

How that is done depends on the score's type; of a score that is not listed here no more
than predictions are known, and each step is drawn by these.
"""

from functools import singledispatch

import numpy as np

from skbidag.scores import BGe, CategoricalParameterScore, MixedParameterScore
from skbidag.scores._interventional import InterventionalScore

# Entries of the largest tables of probabilities of a family. Of larger ones hardly any
# row is seen twice along a path, and rows that are not share no parameters.
MAX_ENTRIES = 1 << 24

# Draws of the parameters of a family of mixed data: further networks share them, which
# leaves the distribution of each as it is.
MOST_MIXED = 100


class DrawnNetworks:
    """DAGs with the parameters of some nodes, drawn from the posterior.

    Parameters
    ----------
    score : PredictiveScore
        A fitted score.
    families : tuple
        What ``DAGSamples.families`` gives.
    nodes : ndarray of int
        The nodes whose parameters are drawn.
    dags : ndarray of int, shape (n_networks,)
        The number of each network's DAG.
    rng : numpy.random.RandomState
        Random numbers.
    """

    def __init__(self, score, families, nodes, dags, rng):
        self.dags = dags
        parent_sets, membership = families
        self._place = np.zeros((len(membership), len(dags)), dtype=np.intp)
        self._drawn = {}
        for node in nodes:
            family_of = membership[node, dags]
            for family in np.unique(family_of):
                networks = np.flatnonzero(family_of == family)
                self._place[node, networks] = np.arange(len(networks))
                parents = parent_sets[node][family]
                self._drawn[node, tuple(parents)] = draw_parameters(
                    score, node, parents, len(networks), rng
                )

    def draw(self, values, node, parents, networks, rng):
        """Draw a column of rows, each by its own network.

        Parameters
        ----------
        values : ndarray of shape (n_rows, n_features)
            The rows, whose parents have values.
        node : int
            The column.
        parents : ndarray of int
            Its parents, which are the same in all of the networks.
        networks : ndarray of int, shape (n_rows,)
            The network of each row.
        rng : numpy.random.RandomState
            Random numbers.

        Returns
        -------
        drawn : ndarray of shape (n_rows,), or None
            None where the score has no parameters to draw.
        """
        drawn = self._drawn[node, tuple(parents)]
        if drawn is None:
            return None
        return drawn.draw(values, self._place[node, networks], rng)


@singledispatch
def draw_parameters(score, node, parents, n_draws, rng):
    """Parameters of a child given its parents, drawn several times; None if unknown."""
    return None


@draw_parameters.register
def _(score: InterventionalScore, node, parents, n_draws, rng):
    return draw_parameters(score.scores_[node], node, parents, n_draws, rng)


@draw_parameters.register
def _(score: BGe, node, parents, n_draws, rng):
    return _Regressions(score, node, parents, n_draws, rng)


@draw_parameters.register
def _(score: CategoricalParameterScore, node, parents, n_draws, rng):
    size = np.prod(score.n_levels_[[node, *parents]], dtype=float)
    if size * n_draws > MAX_ENTRIES:
        return None
    return _Probabilities(score, node, parents, n_draws, rng)


@draw_parameters.register
def _(score: MixedParameterScore, node, parents, n_draws, rng):
    return _MixedFamilies(score, node, parents, n_draws, rng)


class _Regressions:
    """Linear regressions with normal noise."""

    def __init__(self, score, node, parents, n_draws, rng):
        self.parents = np.asarray(parents, dtype=np.intp)
        drawn = score.draw_regressions(node, self.parents, n_draws, rng)
        self.constant, self.coefficients, self.deviation = drawn

    def draw(self, values, which, rng):
        location = np.einsum(
            "rp,rp->r", values[:, self.parents], self.coefficients[which]
        )
        noise = self.deviation[which] * rng.standard_normal(len(values))
        return self.constant[which] + location + noise


class _Probabilities:
    """Probabilities of levels, for each configuration of the parents."""

    def __init__(self, score, node, parents, n_draws, rng):
        self.parents = np.asarray(parents, dtype=np.intp)
        self.n_levels = np.asarray(score.n_levels_)[self.parents]
        counts = score.posterior_counts(node, self.parents)
        self.below = draw_dirichlet(counts, n_draws, rng).cumsum(axis=2)[:, :, :-1]

    def draw(self, codes, which, rng):
        configuration = np.zeros(len(codes), dtype=np.intp)
        for parent, n_levels in zip(self.parents, self.n_levels, strict=True):
            configuration = configuration * n_levels + codes[:, parent]
        below = self.below[which, configuration]
        return (below <= rng.random_sample((len(codes), 1))).sum(axis=1)


class _MixedFamilies:
    """Conditional distributions of mixed data, each with parameters of its own."""

    def __init__(self, score, node, parents, n_draws, rng):
        self.drawn = [
            score.draw_family(node, parents, rng)
            for _ in range(min(n_draws, MOST_MIXED))
        ]

    def draw(self, values, which, rng):
        which = which % len(self.drawn)
        result = np.empty(len(values))
        for number in np.unique(which):
            rows = np.flatnonzero(which == number)
            expect, deviation = self.drawn[number]
            expected = expect(values[rows])
            if deviation is None:
                below = expected.cumsum(axis=1)[:, :-1]
                drawn = (below <= rng.random_sample((len(rows), 1))).sum(axis=1)
            else:
                noise = rng.standard_normal(len(rows))
                drawn = expected + deviation(values[rows]) * noise
            result[rows] = drawn
        return result


def draw_dirichlet(counts, n_draws, rng):
    """Draw probabilities from Dirichlet distributions.

    Parameters
    ----------
    counts : ndarray of shape (n_configurations, n_levels)
        Their parameters.
    n_draws : int
        How many draws.
    rng : numpy.random.RandomState
        Random numbers.

    Returns
    -------
    probabilities : ndarray of shape (n_draws, n_configurations, n_levels)
        Each row sums to one.
    """
    shape = (n_draws, *counts.shape)
    # A gamma variable of a small shape a may be rounded to 0, its logarithm by way of
    # the shape a + 1 is not.
    log_gamma = np.log(rng.standard_gamma(counts + 1, shape))
    log_gamma += np.log1p(-rng.random_sample(shape)) / counts
    log_gamma -= log_gamma.max(axis=2, keepdims=True)
    np.exp(log_gamma, out=log_gamma)
    return log_gamma / log_gamma.sum(axis=2, keepdims=True)
