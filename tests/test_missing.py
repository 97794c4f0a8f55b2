"""Missing values in the fit, against exact answers."""

import itertools
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp

from enumeration import assert_same_posterior
from helpers import all_dags, assert_same_draws, quick
from skbidag import (
    ExactStructure,
    IterativeSearchStructure,
    OrderMCMCStructure,
    PartitionMCMCStructure,
    _augmentation,
)
from skbidag._missing import Completion, Holes, encoded, find_holes, take_apart
from skbidag._missing._first import available_moments, stand_in_rows
from skbidag.scores import BDe, BGe, ConditionalGaussian, GaussianBIC
from skbidag.scores._interventional import with_interventions

BOTH = [OrderMCMCStructure, PartitionMCMCStructure]


def n_linear_extensions(dag):
    return sum(
        all(not dag[b, a] for a, b in itertools.combinations(order, 2))
        for order in itertools.permutations(range(len(dag)))
    )


def edge_probabilities(log_evidence, dags, sampler):
    """Exact ones, from the log evidence of each DAG."""
    weights = np.exp(log_evidence - logsumexp(log_evidence))
    if sampler is OrderMCMCStructure:
        weights = weights * [n_linear_extensions(dag) for dag in dags]
        weights /= weights.sum()
    return np.tensordot(weights, dags, 1)


def dag_scores(score, dags):
    """Log scores of DAGs, each family worked out once."""
    known = {}

    def local(node, parents):
        key = node, parents.tobytes()
        if key not in known:
            known[key] = score.local_score(node, parents)
        return known[key]

    return np.array(
        [
            sum(local(node, np.flatnonzero(dag[:, node])) for node in range(len(dag)))
            for dag in dags
        ]
    )


def sample_long(sampler, X, n_completions, monkeypatch, **params):
    """Draws of one long chain that renews its cells every few steps."""
    fit = params.pop("fit", {})
    stretch = 40
    monkeypatch.setattr(_augmentation, "STRETCH_SHARE", stretch / 25_000)
    model = sampler(
        n_iter=n_completions * stretch,
        n_draws=n_completions // 2,
        n_chains=1,
        burn_in=0.05,
        search_space="full",
        random_state=0,
        **params,
    )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The chain is too short")
        return model.fit(X, **fit)


def coded_data(seed, n_rows, levels, n_holes):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.integers(r, size=n_rows) for r in levels]).astype(float)
    copied = rng.random(n_rows) < 0.9
    X[copied, 1] = X[copied, 0] % levels[1]
    holes = rng.permutation(X.size)[:n_holes]
    X.ravel()[holes] = np.nan
    return X


# ------------------------------------------------------------ the posterior, exactly


@pytest.mark.slow
@pytest.mark.parametrize("sampler", BOTH)
@pytest.mark.parametrize("levels", [[2, 2, 2, 2], [3, 2, 2]])
def test_categorical_posterior_is_a_sum_over_completions(sampler, levels, monkeypatch):
    n, n_holes = len(levels), 6
    X = coded_data(0, 12, levels, n_holes)
    dags, missing = all_dags(n), np.isnan(X)
    log_evidence = []
    columns = np.nonzero(missing)[1]
    for values in itertools.product(*[range(levels[c]) for c in columns]):
        completed = X.copy()
        completed[missing] = values
        score = BDe(edge_penalty=1.0, categories=[list(range(r)) for r in levels])
        log_evidence.append(dag_scores(score.fit(completed), dags))
    exact = edge_probabilities(logsumexp(log_evidence, axis=0), dags, sampler)
    score = BDe(edge_penalty=1.0)
    model = sample_long(sampler, X, 1200, monkeypatch, score=score)
    assert_same_posterior(model.dag_samples_[:], exact)
    # rows without the holes would say something else
    assert np.abs(exact - naive(BDe(edge_penalty=1.0), X, dags, sampler)).max() > 0.05


def naive(score, X, dags, sampler):
    """What the complete rows say."""
    complete = X[~np.isnan(X).any(axis=1)]
    return edge_probabilities(dag_scores(score.fit(complete), dags), dags, sampler)


def gaussian_evidence(X, dags, width=12.0, n_points=61):
    """Log evidence of DAGs with two missing cells, by a sum over a grid."""
    missing = np.isnan(X)
    grid = np.linspace(-width, width, n_points)
    log_evidence = []
    for values in itertools.product(grid, repeat=missing.sum()):
        completed = X.copy()
        completed[missing] = values
        score = BGe(edge_penalty=1.0, prior="paper").fit(completed)
        log_evidence.append(dag_scores(score, dags))
    return logsumexp(log_evidence, axis=0)


@pytest.mark.slow
@pytest.mark.parametrize("sampler", BOTH)
def test_gaussian_posterior_is_an_integral_over_cells(sampler, monkeypatch):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(9, 3))
    X[:, 1] += X[:, 0]
    X[:, 2] += 0.8 * X[:, 1]
    X[0, 0], X[0, 2] = 2.5, -1.0
    X[0, 1] = X[3, 2] = np.nan
    dags = all_dags(3)
    exact = edge_probabilities(gaussian_evidence(X, dags), dags, sampler)
    score = BGe(edge_penalty=1.0, prior="paper")
    model = sample_long(sampler, X, 1200, monkeypatch, score=score)
    assert_same_posterior(model.dag_samples_[:], exact)
    assert np.abs(exact - naive(score, X, dags, sampler)).max() > 0.05
