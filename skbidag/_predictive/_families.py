"""The families of sampled DAGs: a node with its parents, each once."""

from functools import cached_property, lru_cache
from itertools import chain
from typing import NamedTuple

import numpy as np
from sklearn.utils import gen_batches

from skbidag._data import unique_rows

# What the arrays of one slice of rows may take, in bytes
SLICE_BYTES = 1 << 28

# Rows that the kernels look at together
TILE = 16


class Chosen(NamedTuple):
    """Some families, and the groups of DAGs that agree in them.

    Attributes
    ----------
    families : ndarray of shape (n_families,)
        The families.
    first, members : ndarrays of int32
        The families of group g, by their places in `families`, are
        ``members[first[g] : first[g + 1]]``.
    dags : ndarray of intp of shape (n_dags,)
        The DAGs, group by group.
    group : ndarray of intp of shape (n_dags,)
        The group of each of them.
    """

    families: np.ndarray
    first: np.ndarray
    members: np.ndarray
    dags: np.ndarray
    group: np.ndarray

    @property
    def n_groups(self):
        """How many groups there are."""
        return len(self.first) - 1

    def log_sums(self, weights):
        """Log sums over each group of the weights of the DAGs, row by row.

        Parameters
        ----------
        weights : Weights
            Of all DAGs.

        Returns
        -------
        log_sums : ndarray of shape (n_groups, n_padded)
            Of the groups.
        """
        result = np.empty((self.n_groups, weights.n_padded))
        weights.log_sums(self.dags, self.group, result)
        return result


class SurroundingSets(NamedTuple):
    """The families that a variable is in, for all variables and DAGs, each set once.

    Attributes
    ----------
    number : ndarray of int32 of shape (n_features, n_distinct_dags)
        Which each variable has in each DAG, counted through over the variables.
    owner_first : ndarray of int32 of shape (n_features + 1,)
        Where those of each variable begin.
    family_first, families : ndarrays of int32
        The families of each, one after the other, and where they begin.
    linked_first, linked : ndarrays of int32
        The other variables in them.
    """

    number: np.ndarray
    owner_first: np.ndarray
    family_first: np.ndarray
    families: np.ndarray
    linked_first: np.ndarray
    linked: np.ndarray


class Families:
    """The distinct families of sampled DAGs, numbered through over all nodes.

    Attributes
    ----------
    node : ndarray of shape (n_families,)
        The child of each family.
    parents : list of ndarray
        Its parents.
    of_dag : ndarray of shape (n_features, n_distinct_dags)
        The families of each distinct DAG.
    counts : ndarray of shape (n_distinct_dags,)
        How often it was sampled.
    log_shares : ndarray of shape (n_distinct_dags,)
        Logarithms of the counts' shares.
    of_dag_by_dag : ndarray of int32 of shape (n_distinct_dags, n_features)
        ``of_dag`` the other way round, as kernels take it.
    """

    def __init__(self, samples):
        parent_sets, membership = samples.families()
        sizes = [len(sets) for sets in parent_sets]
        first = np.cumsum([0, *sizes[:-1]])
        self.node = np.repeat(np.arange(samples.n_features), sizes)
        self.parents = [parents for sets in parent_sets for parents in sets]
        distinct, _, place = unique_rows((membership + first[:, None]).T)
        self.of_dag = distinct.T
        self.of_dag_by_dag = np.ascontiguousarray(distinct, dtype=np.int32)
        self.counts = np.bincount(place).astype(float)
        self.log_shares = np.log(self.counts / self.counts.sum())
        self.links = lru_cache(max(1, SLICE_BYTES // distinct.size))(self._links)

    @cached_property
    def has(self):
        """Which family has which variable, as child or parent."""
        has = np.zeros((len(self.node), len(self.of_dag)), dtype=bool)
        has[np.arange(len(has)), self.node] = True
        for row, parents in zip(has, self.parents, strict=True):
            row[parents] = True
        return has

    @cached_property
    def linked(self):
        """Which variables are together in some family of any DAG."""
        linked = np.zeros((len(self.of_dag), len(self.of_dag)), dtype=bool)
        for node, parents in zip(self.node, self.parents, strict=True):
            members = np.append(parents, node)
            linked[members[:, None], members] = True
        return linked

    @cached_property
    def surroundings(self):
        """The families around each variable in each DAG."""
        number, sizes = np.empty(self.of_dag.shape, dtype=np.int32), []
        families, n_families, linked, n_linked = [], [], [], []
        for variable, of_variable in enumerate(number):
            around = np.where(self.has[self.of_dag, variable], self.of_dag, -1)
            distinct, _, place = unique_rows(around[(around >= 0).any(axis=1)].T)
            of_variable[:] = sum(sizes) + place
            sizes.append(len(distinct))
            families.append(distinct[distinct >= 0])
            n_families.append((distinct >= 0).sum(axis=1))
            # every surrounding has at least the variable's own family
            first = np.cumsum([0, *n_families[-1][:-1]])
            others = np.logical_or.reduceat(self.has[families[-1]], first, axis=0)
            others[:, variable] = False
            linked.append(np.nonzero(others)[1])
            n_linked.append(others.sum(axis=1))
        return SurroundingSets(
            number,
            np.cumsum([0, *sizes], dtype=np.int32),
            *joined(families, n_families),
            *joined(linked, n_linked),
        )

    def _links(self, variable):
        """Which variables are in a family with this one, in each DAG."""
        dag, child = np.nonzero(self.has[:, variable][self.of_dag].T)
        members = self.has[self.of_dag[child, dag]]
        # Every DAG has at least the variable's own family.
        first = np.searchsorted(dag, np.arange(self.of_dag.shape[1]))
        return np.logical_or.reduceat(members, first, axis=0)

    def split_by_linked(self, node, missing):
        """Divide the DAGs by which of the missing variables bear on `node`.

        These are in a family with it, or with another one that bears on it.

        Yields
        ------
        bearing : tuple of int
            Some of the missing variables.
        dags : ndarray of intp
            The DAGs in which just these do.
        """
        if not len(missing):
            yield (), np.arange(self.of_dag.shape[1])
            return
        linked = np.stack([self.links(variable) for variable in missing])
        reached, among = linked[:, :, node], linked[:, :, missing]
        for _ in missing:
            reached = reached | (reached[:, :, None] & among).any(axis=0).T
        distinct, _, place = unique_rows(reached.T)
        for number, bearing in enumerate(distinct):
            yield tuple(missing[bearing]), np.flatnonzero(place == number)

    def select(self, wanted, dags):
        """Which DAG has which of the wanted families.

        Parameters
        ----------
        wanted : ndarray of bool of shape (n_families,)
            The families to look at. DAGs that differ in others only are one group.
        dags : ndarray of intp
            The DAGs to look at.

        Returns
        -------
        chosen : Chosen
            These families, and the DAGs that have them.
        """
        of_dag = self.of_dag[:, dags]
        of_dag = np.where(wanted[of_dag], of_dag, -1)
        of_dag, _, group = unique_rows(of_dag[(of_dag >= 0).any(axis=1)].T)
        number, child = np.nonzero(of_dag >= 0)
        used, members = np.unique(of_dag[number, child], return_inverse=True)
        first = np.searchsorted(number, np.arange(len(of_dag) + 1))
        by_group = np.argsort(group, kind="stable")
        return Chosen(
            used,
            first.astype(np.int32),
            members.astype(np.int32),
            dags[by_group].astype(np.intp),
            group[by_group].astype(np.intp),
        )

    def blankets(self, node):
        """Group the DAGs by the families that have `node`, its own and its children's.

        Parameters
        ----------
        node : int
            The variable.

        Returns
        -------
        chosen : Chosen
            These families, and the groups.
        """
        return self.select(self.has[:, node], np.arange(self.of_dag.shape[1]))


def row_slices(n_rows, height):
    """Slices of rows such that `height` numbers for each take little memory."""
    return gen_batches(n_rows, max(1, SLICE_BYTES // (8 * max(1, height))))


def padded(n_rows):
    """How many rows whole tiles have."""
    return -(-n_rows // TILE) * TILE


def joined(parts, sizes):
    """Arrays one after the other, and where each of the lists in them begins."""
    first = np.cumsum([0, *chain.from_iterable(sizes)], dtype=np.int32)
    # never empty, as kernels take the address of the first
    whole = np.zeros(max(1, first[-1]), dtype=np.int32)
    whole[: first[-1]] = np.concatenate(parts)
    return first, whole


def csr(lists):
    """Lists one after the other, and where each begins."""
    first = np.cumsum([0, *map(len, lists)], dtype=np.int32)
    # never empty, as kernels take the address of the first
    joined = np.zeros(max(1, first[-1]), dtype=np.int32)
    joined[: first[-1]] = np.fromiter(chain.from_iterable(lists), np.int32, first[-1])
    return first, joined
