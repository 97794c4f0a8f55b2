"""Sampled DAGs, and what they say about edges.

The samples are kept packed, eight edges to a byte: 2000 DAGs of 1000 nodes take
250 MB. Everything here works through them in slices, so that little more than one
slice is ever unpacked.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skbidag._data import unique_rows
from skbidag._equivalence import to_cpdags

# DAGs unpacked at a time, in bytes
SLICE_BYTES = 1 << 25


class DAGSamples:
    """Sampled DAGs, stored packed, eight edges to a byte.

    What a fitted estimator has as ``dag_samples_``. It is a sequence: its length is the
    number of DAGs, those of all chains one after the other. An index gives one DAG, a
    bool array ``A`` of shape (n_features, n_features) with ``A[i, j]`` for the edge
    i -> j; a slice, a list of indices or a mask gives an array of shape (m, n_features,
    n_features); iteration gives one DAG after the other.

    Parameters
    ----------
    packed : ndarray of uint8, shape (n_chains, n_draws, n_features, \
            ceil(n_features / 8))
        Adjacency matrices with rows packed as by :func:`numpy.packbits`.
    background : ndarray of bool, shape (n_features,), default=None
        Which variables are in the background: given, not modeled. None is none.
    targets : tuple of tuples of int, default=()
        The variables that were set in each experiment. CPDAGs of the DAGs are those
        of interventional equivalence classes, see :func:`skbidag.graphs.to_cpdag`.
    upstream : tuple of tuples of int, default=()
        Sets of variables that no edge enters from the others, by what was said
        beforehand: DAGs with such an edge are none of a CPDAG's.

    Attributes
    ----------
    packed : ndarray of uint8
        The packed adjacency matrices.
    background : ndarray of bool, shape (n_features,)
        Which variables are in the background.
    targets : tuple of tuples of int
        The variables that were set in each experiment.
    upstream : tuple of tuples of int
        Sets of variables that no edge enters from the others.
    n_chains : int
        Number of chains.
    n_draws : int
        Number of DAGs that each chain has drawn.
    n_features : int
        Number of variables.

    Examples
    --------
    >>> from skbidag import OrderMCMCStructure
    >>> from skbidag.datasets import make_gaussian_network
    >>> network = make_gaussian_network(200, 8, random_state=0)
    >>> model = OrderMCMCStructure(random_state=0).fit(network.data)
    >>> samples = model.dag_samples_
    >>> samples
    DAGSamples(n_chains=4, n_draws=500, n_features=8)
    >>> len(samples), samples[0].shape, samples[-100:].shape
    (2000, (8, 8), (100, 8, 8))

    The second chain alone, and how often it has each edge:

    >>> samples.chain(1)
    DAGSamples(n_chains=1, n_draws=500, n_features=8)
    >>> samples.chain(1)[:].mean(axis=0).shape
    (8, 8)

    DAGs from elsewhere, here two without edges:

    >>> import numpy as np
    >>> from skbidag import DAGSamples
    >>> dags = np.zeros((1, 2, 3, 3), dtype=bool)
    >>> DAGSamples(np.packbits(dags, axis=-1))
    DAGSamples(n_chains=1, n_draws=2, n_features=3)
    """

    def __init__(
        self,
        packed: NDArray[np.uint8],
        background: NDArray[np.bool_] | None = None,
        targets: tuple[tuple[int, ...], ...] = (),
        upstream: tuple[tuple[int, ...], ...] = (),
    ):
        shape = packed.shape
        if packed.dtype != np.uint8 or len(shape) != 4 or shape[3] != -(-shape[2] // 8):
            raise ValueError(
                "packed must hold uint8 in the shape (n_chains, n_draws, n_features, "
                f"ceil(n_features / 8)), got {packed.dtype} in the shape {shape}."
            )
        self.packed, self.targets, self.upstream = packed, targets, upstream
        self.n_chains, self.n_draws, self.n_features = shape[:3]
        self.background = np.zeros(self.n_features, dtype=bool)
        if background is not None:
            self.background |= background

    def __len__(self) -> int:
        return self.n_chains * self.n_draws

    def __getitem__(self, index: Any) -> NDArray[np.bool_]:
        if isinstance(index, tuple):
            raise TypeError("DAGSamples takes one index; see chain for one chain.")
        flat = self.packed.reshape(len(self), *self.packed.shape[2:])
        return self._unpack(flat[index])

    def __iter__(self) -> Iterator[NDArray[np.bool_]]:
        return (self[index] for index in range(len(self)))

    def __repr__(self):
        return (
            f"{type(self).__name__}(n_chains={self.n_chains}, "
            f"n_draws={self.n_draws}, n_features={self.n_features})"
        )

    def _unpack(self, packed):
        unpacked = np.unpackbits(packed, axis=-1, count=self.n_features)
        return unpacked.view(bool)

    def chain(self, number: int) -> "DAGSamples":
        """The DAGs of one chain.

        Parameters
        ----------
        number : int
            The chain's number, from 0; negative numbers count from the last.

        Returns
        -------
        samples : DAGSamples
            Its DAGs, in the order in which they were drawn. The memory is shared.
        """
        return self.with_dags(self.packed[number][None])

    def with_dags(self, packed: NDArray[np.uint8]) -> "DAGSamples":
        """Other DAGs with the same background, experiments and knowledge.

        Parameters
        ----------
        packed : ndarray of uint8, shape (n_chains, n_draws, n_features, n_bytes)
            Their adjacency matrices, packed.

        Returns
        -------
        samples : DAGSamples
            The DAGs.
        """
        return DAGSamples(packed, self.background, self.targets, self.upstream)

    def as_kind(self, dags, kind):
        """Some DAGs, their CPDAGs or their skeletons.

        Parameters
        ----------
        dags : ndarray of bool, shape (m, n_features, n_features)
            The DAGs.
        kind : {"dag", "cpdag", "skeleton"}
            What to make of them. The class of a DAG is that of those which have the
            same background, go against nothing that is known, and which experiments
            cannot tell from it.

        Returns
        -------
        graphs : ndarray of bool, shape (m, n_features, n_features)
            The graphs.
        """
        if kind == "dag":
            return dags
        if kind == "skeleton":
            return dags | dags.transpose(0, 2, 1)
        known = (*self.targets, *self.upstream)
        return to_cpdags(dags, self.background, known)[0]

    def slices(self, chain: int) -> Iterator[NDArray[np.bool_]]:
        """Go through the DAGs of one chain, little memory at a time.

        Parameters
        ----------
        chain : int
            The chain's number, from 0.

        Yields
        ------
        dags : ndarray of bool, shape (m, n_features, n_features)
            The next m DAGs of the chain; m differs from slice to slice.
        """
        step = max(1, SLICE_BYTES // max(1, self.n_features**2))
        for start in range(0, self.n_draws, step):
            yield self._unpack(self.packed[chain, start : start + step])

    def families(self) -> tuple[list[list[NDArray[np.intp]]], NDArray[np.intp]]:
        """Distinct parent sets of each node, and which DAG has which.

        Returns
        -------
        parent_sets : list of list of ndarray
            ``parent_sets[node][f]`` are the parents in the f-th distinct family.
        membership : ndarray of shape (n_features, len(self))
            ``membership[node, d]`` tells which of them DAG d has.
        """
        n, words = self.n_features, self.packed.shape[3]
        # keys[d, child] is the packed parent set: the packed columns of DAG d
        keys = np.empty((len(self), n, words), dtype=np.uint8)
        done = 0
        for chain in range(self.n_chains):
            for dags in self.slices(chain):
                keys[done : done + len(dags)] = np.packbits(
                    dags.transpose(0, 2, 1), axis=-1
                )
                done += len(dags)
        parent_sets, membership = [], np.empty((n, len(self)), dtype=np.intp)
        for node in range(n):
            distinct, _, membership[node] = unique_rows(keys[:, node])
            bits = np.unpackbits(distinct, axis=1, count=n)
            parent_sets.append([np.flatnonzero(row) for row in bits])
        return parent_sets, membership


def graph_counts(samples, kind="dag"):
    """How often each edge occurs, in the two halves of each chain.

    Parameters
    ----------
    samples : DAGSamples
        The samples.
    kind : {"dag", "cpdag", "skeleton"}, default="dag"
        What is counted: the edges i -> j of the DAGs; those of their CPDAGs, where
        an undirected edge counts as both i -> j and j -> i; or adjacencies.

    Returns
    -------
    counts : ndarray of shape (n_chains, 2, n_features, n_features)
        Number of graphs with the edge in each half.
    sizes : ndarray of shape (2,)
        Number of graphs in each half.
    """
    n = samples.n_features
    half = samples.n_draws // 2
    counts = np.zeros((samples.n_chains, 2, n, n), dtype=np.int64)
    for chain in range(samples.n_chains):
        done = 0
        for dags in samples.slices(chain):
            graphs = samples.as_kind(dags, kind)
            first = min(max(half - done, 0), len(graphs))
            counts[chain, 0] += graphs[:first].sum(axis=0)
            counts[chain, 1] += graphs[first:].sum(axis=0)
            done += len(graphs)
    return counts, np.array([half, samples.n_draws - half])


def edge_draws(samples, chosen, kind="dag"):
    """Which draws have some of the edges.

    Parameters
    ----------
    samples : DAGSamples
        The samples.
    chosen : ndarray of bool, shape (n_features, n_features)
        The edges in question.
    kind : {"dag", "cpdag", "skeleton"}, default="dag"
        Of which graphs they are, as for :func:`graph_counts`.

    Returns
    -------
    draws : ndarray of bool, shape (n_chains, n_draws, n_chosen)
        Whether each of the graphs has each of the edges.
    """
    shape = samples.n_chains, samples.n_draws, np.count_nonzero(chosen)
    draws = np.empty(shape, dtype=bool)
    for chain in range(samples.n_chains):
        done = 0
        for dags in samples.slices(chain):
            graphs = samples.as_kind(dags, kind)
            draws[chain, done : done + len(dags)] = graphs[:, chosen]
            done += len(dags)
    return draws


def split_rhat_of_counts(counts, sizes):
    """Split R-hat of 0/1 indicators from their counts in half chains.

    Values are 1 where every half has the same constant value, and infinite where each
    has a constant value of its own.
    """
    sizes = sizes.astype(float)
    if sizes.min() < 2:
        return np.full(counts.shape[2:], np.nan)
    means = counts / sizes[:, None, None]
    within = (means * (1 - means) * (sizes / (sizes - 1))[:, None, None]).mean((0, 1))
    between = means.reshape(-1, *means.shape[2:]).var(axis=0, ddof=1)
    length = sizes.mean()
    with np.errstate(divide="ignore", invalid="ignore"):
        rhat = np.sqrt((length - 1) / length + between / within)
    return np.where(between == 0, 1.0, rhat)
