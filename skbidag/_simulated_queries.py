"""A query in one network of mixed data, by weighted simulation.

Rows are simulated from the roots on. What is observed gets its value, and the row the
density of that value given its parents as a weight (likelihood weighting). A
categorical target takes each of its levels in a copy of every row, with their
probabilities as weights, so that nothing is left to chance there. Random numbers are
points of a Sobol sequence, shifted at random.
"""

from functools import lru_cache

import numpy as np
from scipy.special import ndtri
from scipy.stats import qmc

# Rows that are simulated in each network
N_ROWS = 512

# Rows of equal weights that those simulated should be worth
LEAST_EFFECTIVE = 20


def needed(dag, order, asked):
    """Which nodes are asked for, or are ancestors of these.

    Parameters
    ----------
    dag : ndarray of bool of shape (n_features, n_features)
        The DAG.
    order : ndarray of int of shape (n_features,)
        A topological order of it.
    asked : list of int
        The nodes that are asked for.

    Returns
    -------
    needed : ndarray of bool of shape (n_features,)
        Without the others the answer is the same.
    """
    found = np.zeros(len(dag), dtype=bool)
    found[asked] = True
    for node in order[::-1]:
        if found[node]:
            found |= dag[:, node]
    return found


def simulated_answer(score, dag, order, question, rng):
    """Draw parameters of a network and answer a question in it.

    Parameters
    ----------
    score : MixedParameterScore
        A fitted score.
    dag : ndarray of bool of shape (n_features, n_features)
        The DAG, without edges into what is set.
    order : ndarray of int of shape (n_features,)
        A topological order of it.
    question : Question
        What is asked for.
    rng : RandomState
        Source of the draws.

    Returns
    -------
    answer : ndarray of shape (n_levels,) or float
        Probabilities of the target's levels, or its expectation.
    deviation : float
        Its standard deviation; NaN for levels.
    effective : float
        How many rows of equal weights the simulated ones are worth.
    """
    target, n = question.target, len(dag)
    asked = [target, *question.evidence]
    relevant = needed(dag, order, asked)
    uniform = (_points(n) + rng.random_sample((n, 1))) % 1.0
    rows, log_weight = np.zeros((N_ROWS, n)), np.zeros(N_ROWS)
    expected = deviation = None
    for node in order.tolist():
        if node in question.do:
            rows[:, node] = question.do[node]
        if node in question.do or not relevant[node]:
            continue
        parents = np.flatnonzero(dag[:, node])
        expect, spread = score.draw_family(node, parents, rng)
        mean = expect(rows)
        if node == target and spread is None:
            rows, log_weight = _with_each_level(rows, log_weight, node, mean)
            uniform = np.tile(uniform, mean.shape[1])
            continue
        spread = None if spread is None else spread(rows)
        if node in question.evidence:
            value = question.evidence[node]
            rows[:, node] = value
            log_weight = log_weight + _log_density(mean, spread, value)
            continue
        rows[:, node] = _draw(mean, spread, uniform[node])
        if node == target:
            expected, deviation = mean, spread
    weight = np.exp(log_weight - log_weight.max())
    weight /= weight.sum()
    effective = 1 / (weight @ weight)
    if score.is_categorical_[target]:
        n_levels = score.n_levels_[target]
        codes = rows[:, target].astype(int)
        return np.bincount(codes, weight, n_levels), np.nan, effective
    if needed(dag, order, list(question.evidence))[target]:
        # weights depend on what the target is in each row
        expected, deviation = rows[:, target], 0.0
    center = weight @ expected
    square = weight @ ((expected - center) ** 2 + deviation**2)
    return center, np.sqrt(square), effective


def _with_each_level(rows, log_weight, node, probabilities):
    """Copies of rows, one for each level of a node, with their log weights."""
    levels = probabilities.shape[1]
    copies = np.tile(rows, (levels, 1))
    copies[:, node] = np.repeat(np.arange(levels), len(rows))
    with np.errstate(divide="ignore"):
        return copies, np.tile(log_weight, levels) + np.log(probabilities.T.ravel())


def _log_density(mean, spread, value):
    """Log density of a value, or log probability of a level, in each row."""
    if spread is None:
        with np.errstate(divide="ignore"):
            return np.log(mean[:, value])
    return -(((value - mean) / spread) ** 2) / 2 - np.log(spread)


def _draw(mean, spread, uniform):
    if spread is None:
        below = mean.cumsum(axis=1)[:, :-1]
        return (below <= uniform[:, None]).sum(axis=1)
    # neither 0 nor 1, whose quantiles are infinite
    return mean + spread * ndtri(np.clip(uniform, 1e-12, 1 - 1e-12))


@lru_cache(4)
def _points(n):
    """Points of a Sobol sequence, one row for each variable."""
    return qmc.Sobol(n, rng=np.random.default_rng(0)).random(N_ROWS).T
