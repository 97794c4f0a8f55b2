"""Effects of interventions in networks of mixed data, by simulation.

An effect on a number goes through categories and back, so that there is no formula for
it. For each of some sampled DAGs the parameters of every family are drawn, and rows are
simulated from the roots on: once as they are, and once for each value that a cause is
set to, where only what lies downstream changes. All of these share their random
numbers, points of a Sobol sequence that are shifted at random, so that in a difference
most of the error cancels; and what is averaged over rows is the outcome's expectation
given its simulated parents, not its value.
"""

from functools import lru_cache

import numpy as np
from scipy.special import ndtri
from scipy.stats import qmc

from skbidag.graphs import topological_order

# Rows that are simulated
N_ROWS = 256

# Sampled DAGs that count, evenly spaced: the posterior is seen well enough by these
MOST_DAGS = 400


def simulated_effects(score, samples, settings, columns, repeats, rng, most=MOST_DAGS):
    """Draws of the effects of settings on outcomes.

    Parameters
    ----------
    score : MixedParameterScore
        A fitted score.
    samples : DAGSamples
        The sampled DAGs.
    settings : list of tuple
        What is compared: (variable, value of the reference, value of the setting, by
        what to divide).
    columns : list of tuple
        What is looked at: (variable, code), None for the code of a number.
    repeats : int
        How often parameters are drawn for each DAG.
    rng : RandomState
        Source of the draws.
    most : int, default=MOST_DAGS
        How many of the DAGs count.

    Returns
    -------
    draws : ndarray of shape (n_draws, n_settings, n_columns)
        The effects; exactly 0 where no path leads from the cause to the outcome.
    """
    n_dags = min(most, len(samples))
    chosen = np.linspace(0, len(samples) - 1, n_dags).astype(int)
    draws = [
        _Network(score, dag, rng).effects(settings, columns)
        for dag in samples[chosen]
        for _ in range(repeats)
    ]
    return np.array(draws)


class _Network:
    """One DAG with parameters drawn from their posterior, and rows simulated from it.

    Parameters
    ----------
    score : MixedParameterScore
        A fitted score.
    dag : ndarray of bool of shape (n_features, n_features)
        The DAG.
    rng : RandomState
        Source of the draws.
    """

    def __init__(self, score, dag, rng):
        n = len(dag)
        self.score, self.dag, self.order = score, dag, topological_order(dag)
        self.families = [
            score.draw_family(node, np.flatnonzero(dag[:, node]), rng)
            for node in range(n)
        ]
        self.uniform = (_points(n) + rng.random_sample((n, 1))) % 1.0
        self.rows, self.expected = np.zeros((N_ROWS, n)), [None] * n
        self._simulate(self.rows, self.expected, self.order)

    def effects(self, settings, columns):
        """Effects of all settings on all outcomes."""
        result = np.zeros((len(settings), len(columns)))
        for effect, (cause, before, after, unit) in zip(result, settings, strict=True):
            below = self._descendants(cause)
            worlds = [self._set(cause, value, below) for value in (before, after)]
            for k, (outcome, code) in enumerate(columns):
                if outcome == cause:
                    change = after - before
                    if code is not None:
                        change = float(code == after) - float(code == before)
                    effect[k] = change / unit
                elif outcome in below:
                    means = [_mean(world[outcome], code) for world in worlds]
                    effect[k] = (means[1] - means[0]) / unit
        return result

    def _descendants(self, cause):
        """Where paths lead, in topological order."""
        reached, below = {cause}, []
        for node in self.order:
            if node != cause and any(
                p in reached for p in self.dag[:, node].nonzero()[0]
            ):
                reached.add(node)
                below.append(node)
        return below

    def _set(self, cause, value, below):
        """Expectations of what lies below a cause that is set to a value."""
        rows, expected = self.rows.copy(), [None] * len(self.dag)
        rows[:, cause] = value
        self._simulate(rows, expected, below)
        return expected

    def _simulate(self, rows, expected, nodes):
        """Fill in columns, and their expectations given the parents."""
        for node in nodes:
            expect, deviation = self.families[node]
            expected[node], u = expect(rows), self.uniform[node]
            if deviation is None:
                below = expected[node].cumsum(axis=1)[:, :-1]
                rows[:, node] = (below <= u[:, None]).sum(axis=1)
            else:
                # neither 0 nor 1, whose quantiles are infinite
                inside = np.clip(u, 1e-12, 1 - 1e-12)
                rows[:, node] = expected[node] + deviation(rows) * ndtri(inside)


def _mean(expected, code):
    """Mean over rows of an expectation, or of the probability of a level."""
    return expected.mean() if code is None else expected[:, code].mean()


@lru_cache(4)
def _points(n):
    """Points of a Sobol sequence, one row for each variable."""
    return qmc.Sobol(n, rng=np.random.default_rng(0)).random(N_ROWS).T
