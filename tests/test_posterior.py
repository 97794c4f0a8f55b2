"""Sampled DAGs: a packed sequence that reads like an array."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import skbidag
from skbidag import DAGSamples
from skbidag.graphs import is_dag


@pytest.fixture(params=[3, 8, 9])
def dags(request):
    rng = np.random.default_rng(0)
    n = request.param
    return np.triu(rng.random((2, 5, n, n)) < 0.5, 1)


@pytest.fixture
def samples(dags):
    return DAGSamples(np.packbits(dags, axis=-1))


def test_it_is_public():
    assert "DAGSamples" in skbidag.__all__
    assert skbidag.DAGSamples is DAGSamples


def test_sequence_of_dags(samples, dags):
    flat = dags.reshape(10, *dags.shape[2:])
    assert len(samples) == 10
    assert (samples.n_chains, samples.n_draws) == (2, 5)
    assert samples.n_features == dags.shape[-1]
    assert samples[3].dtype == bool
    for index in (0, 7, -1, np.int64(4), slice(2, 8, 3), slice(None), [1, 1, 9]):
        assert_array_equal(samples[index], flat[index])
    mask = np.arange(10) % 3 == 0
    assert_array_equal(samples[mask], flat[mask])
    assert_array_equal(np.array(list(samples)), flat)
    assert all(is_dag(dag) for dag in samples)


def test_index_beyond_the_end(samples):
    with pytest.raises(IndexError):
        samples[10]
    with pytest.raises(IndexError):
        samples.chain(2)
    with pytest.raises(TypeError, match="one index"):
        samples[0, 1]


def test_one_chain(samples, dags):
    for number in (0, 1, -1):
        chain = samples.chain(number)
        assert (chain.n_chains, chain.n_draws) == (1, 5)
        assert_array_equal(chain[:], dags[number])
        assert np.shares_memory(chain.packed, samples.packed)


def test_slices_are_the_chain(samples, dags, monkeypatch):
    monkeypatch.setattr("skbidag._posterior.SLICE_BYTES", 2 * samples.n_features**2)
    for number in range(2):
        slices = list(samples.slices(number))
        assert [len(part) for part in slices] == [2, 2, 1]
        assert_array_equal(np.concatenate(slices), dags[number])


def test_pickle(samples):
    copy = pickle.loads(pickle.dumps(samples))
    assert_array_equal(copy.packed, samples.packed)
    assert repr(copy) == repr(samples)


def test_families(samples):
    parent_sets, membership = samples.families()
    for d, dag in enumerate(samples):
        for node in range(samples.n_features):
            parents = parent_sets[node][membership[node, d]]
            assert_array_equal(parents, np.flatnonzero(dag[:, node]))


@pytest.mark.parametrize(
    "packed",
    [
        np.zeros((2, 5, 9, 1), dtype=np.uint8),
        np.zeros((2, 5, 9), dtype=np.uint8),
        np.zeros((2, 5, 9, 9), dtype=bool),
    ],
)
def test_what_is_not_packed(packed):
    with pytest.raises(ValueError, match="packed must hold uint8 in the shape"):
        DAGSamples(packed)
