"""What a fit says about its time and memory."""

import time

import numpy as np
import pytest

from helpers import quick
from skbidag import (
    IterativeSearchStructure,
    OrderMCMCStructure,
    PartitionMCMCStructure,
)
from skbidag._tables import table_bytes
from skbidag.datasets import make_gaussian_network

pytestmark = pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning"  # chains are short
)


@pytest.fixture(scope="module")
def data():
    return make_gaussian_network(80, 7, random_state=0).data


@pytest.mark.parametrize("structure", [OrderMCMCStructure, PartitionMCMCStructure])
def test_time_and_memory(data, structure):
    began = time.perf_counter()
    model = quick(structure, search_space=np.ones((7, 7))).fit(data)
    assert 0 < model.fit_seconds_ < time.perf_counter() - began
    # scores, ratios and a vector of sums
    space = model._progress.found.space
    assert model.table_bytes_ == table_bytes(space, n_tables=2).sum()


def test_without_sampling(data):
    model = IterativeSearchStructure(n_draws=0, random_state=0).fit(data)
    assert model.fit_seconds_ > 0
    assert model.table_bytes_ > 0


def test_fits_that_go_on_add_up(data):
    model = quick(warm_start=True).fit(data)
    first = model.fit_seconds_
    model.set_params(n_draws=2 * model.n_draws).fit(data)
    second = model.fit_seconds_
    assert second > first
    with pytest.raises(ValueError, match="n_chains"):
        model.set_params(n_chains=7).fit(data)
    assert model.fit_seconds_ == second
