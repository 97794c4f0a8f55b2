"""Moves in the paper's shares."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from enumeration import assert_same_posterior
from helpers import all_dags, assert_same_draws, quick
from skbidag import OrderMCMCStructure, PartitionMCMCStructure
from skbidag.datasets import make_gaussian_network
from skbidag.scores import BGe


@pytest.fixture(scope="module")
def data():
    return make_gaussian_network(40, 4, random_state=1).data


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_over_orders_they_are_ours(data):
    assert_same_draws(quick().fit(data), quick(move_probabilities="paper").fit(data))


def test_over_partitions_there_is_no_reversal(data):
    model = PartitionMCMCStructure(
        BGe(), walk="partitions", move_probabilities="paper", n_chains=1,
        n_iter=400_000, n_draws=10_000, random_state=0,
    ).fit(data)  # fmt: skip
    proposed = model._progress.runs[0].state["proposed"]
    shares = np.array([6, 4, 4, 1, 0]) / 15
    assert_allclose(proposed / proposed.sum(), shares, atol=0.005)
    dags = all_dags(4)
    log_scores = np.array([model.score_.dag_score(dag) for dag in dags])
    weights = np.exp(log_scores - log_scores.max())
    exact = np.tensordot(weights / weights.sum(), dags, 1)
    assert_same_posterior(model.dag_samples_[:], exact)


def test_over_dags_there_are_none(data):
    with pytest.raises(ValueError, match="is for walk='partitions'"):
        PartitionMCMCStructure(move_probabilities="paper").fit(data)


def test_other_words(data):
    with pytest.raises(ValueError, match="'move_probabilities' parameter"):
        OrderMCMCStructure(move_probabilities="ours").fit(data)
