"""Chains and restarts on a Dask cluster: two processes on this machine."""

import gc
import time

import joblib
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.exceptions import ConvergenceWarning

from helpers import assert_same_draws
from skbidag import (
    IterativeSearchStructure,
    OrderMCMCStructure,
    PartitionMCMCStructure,
    _parallel,
)
from skbidag._tables import NodeTable
from skbidag.datasets import make_gaussian_network

distributed = pytest.importorskip("distributed")

pytestmark = pytest.mark.slow

QUICK = {"n_iter": 5000, "n_draws": 40, "n_chains": 5, "random_state": 0}


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=2,
            processes=True,
            dashboard_address=None,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def data():
    return make_gaussian_network(150, 10, random_state=1).data


@pytest.fixture
def pickled(monkeypatch):
    """Nodes whose tables this process pickles, and what their size is."""
    nodes = []

    def reduce_ex(self, protocol):
        nodes.append(self.node)
        return object.__reduce_ex__(self, protocol)

    monkeypatch.setattr(NodeTable, "__reduce_ex__", reduce_ex, raising=False)
    # working out the size takes a pickle that goes nowhere
    monkeypatch.setattr(_parallel.Shared, "n_bytes", 10**6)
    return nodes


@pytest.mark.parametrize("estimator", [OrderMCMCStructure, PartitionMCMCStructure])
def test_chains_on_a_cluster_are_the_same(client, data, estimator, pickled):
    here = estimator(search_space="pc", **QUICK).fit(data)
    assert pickled == []
    with joblib.parallel_config(backend="dask"):
        there = estimator(search_space="pc", warm_start=True, **QUICK).fit(data)
    assert_same_draws(there, here)
    # the tables left this process once, for four jobs on two workers
    assert sorted(pickled) == list(range(10))
    # and go on, here
    there.set_params(n_draws=49).fit(data)
    assert_array_equal(there.log_score_trace_[:, :40], here.log_score_trace_)
    assert there.log_score_trace_.shape == (5, 49)


def test_tables_reach_each_worker_once_and_leave_it(client, data):
    def received(dask_worker):
        return [
            event[0]
            for event in dask_worker.state.log
            if event[1] == "receive-from-scatter"
        ]

    def held(dask_worker):
        return len(dask_worker.data)

    before = client.run(received)
    with joblib.parallel_config(backend="dask"):
        OrderMCMCStructure(search_space="pc", **QUICK).fit(data)
    for worker, keys in client.run(received).items():
        new = keys[len(before[worker]) :]
        assert len(new) == 1
        assert new[0].startswith("Shared")
    gc.collect()
    began = time.perf_counter()
    while any(client.run(held).values()) and time.perf_counter() - began < 10:
        time.sleep(0.05)
    assert not any(client.run(held).values())


def test_restarts_on_a_cluster_are_the_same(client, data):
    # a space given as an array, for which there is something to search
    space = ~np.eye(10, dtype=bool)
    space[:5] = False
    search = IterativeSearchStructure(
        search_space=space, n_restarts=3, n_draws=10, random_state=0
    )
    here = search.fit(data)
    expansions, adjacency = here.expansions_["log_score"], here.adjacency_
    with joblib.parallel_config(backend="dask"):
        search.fit(data)
    assert_array_equal(search.expansions_["log_score"], expansions)
    assert_array_equal(search.adjacency_, adjacency)


def test_max_time_on_a_cluster(client, data):
    model = OrderMCMCStructure(
        search_space="pc",
        n_iter=10**9,
        burn_in=0.0,
        n_draws=10**5,
        n_chains=5,
        max_time=1.0,
        random_state=0,
    )
    began = time.perf_counter()
    with (
        joblib.parallel_config(backend="dask"),
        pytest.warns(ConvergenceWarning, match=r"max_time=1.0 .* of 100000 draws"),
    ):
        model.fit(data)
    assert time.perf_counter() - began < 20.0
    assert 1 <= model.log_score_trace_.shape[1] < 10**5


def test_size_of_what_is_shared():
    shared = _parallel.Shared({1: [np.zeros(1000), {"a": np.zeros((10, 10))}]})
    assert 8 * 1100 < shared.__sizeof__() < 8 * 1100 + 2000
    assert shared.__dask_tokenize__() != shared.__dask_tokenize__()


class Loses:
    """A function that a cluster has lost the arguments of, some times."""

    def __init__(self, times):
        self.times = times

    def __call__(self):
        self.times -= 1
        if self.times >= 0:
            raise distributed.client.FutureCancelledError("key", "lost dependencies")
        return "done"


def test_jobs_are_run_again_where_what_they_share_is_lost(client):
    with joblib.parallel_config(backend="dask", client=client):
        for times in (0, 1, _parallel.MOST_LOSSES):
            assert _parallel._again_if_lost(Loses(times)) == "done"
        with pytest.raises(distributed.client.FutureCancelledError):
            _parallel._again_if_lost(Loses(_parallel.MOST_LOSSES + 1))
    # no cluster, nothing to lose
    with pytest.raises(distributed.client.FutureCancelledError):
        _parallel._again_if_lost(Loses(1))
