# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False
"""Sampled DAGs that say the same of a cell, in a row with unobserved cells.

The families that a variable is in are its *surrounding* in a DAG. Sampled DAGs have few
different ones of each variable, and what holds for one of them holds for all DAGs that
have it.

Unobserved cells that are linked in a DAG, by families that they share, directly or
through others of them, are a *cluster*: given what is observed they are independent of
the rest. Two DAGs have the same cluster if its cells have the same surroundings in
both.

An observed variable sees its surrounding, and the clusters in it. DAGs in which these
are the same are a *group*. So the work that a row takes is one of clusters and groups,
of which there are far fewer than DAGs times variables; DAGs are only added up.

To find clusters, unobserved cells are followed from surrounding to surrounding in each
DAG, and met again by a hash table. Groups are found by dividing the DAGs of a
surrounding by one cluster after the other.

Both hang on which cells are unobserved, and not on values: rows that lack the same
cells, one after the other, are looked at once, and the groups of all variables may be
kept for them.
"""

import numpy as np
from libc.string cimport memcpy, memset


cdef class Surroundings:
    """The surroundings of variables in sampled DAGs.

    Parameters
    ----------
    number : ndarray of int32, shape (n, n_dags)
        The surrounding of each variable in each DAG, counted through over variables.
    owner_first : ndarray of int32, shape (n + 1,)
        Where those of each variable begin.
    family_first, families : ndarrays of int32
        The families of each, one after the other, and where they begin.
    linked_first, linked : ndarrays of int32
        The other variables in them.
    """

    def __init__(
        self, number, owner_first, family_first, families, linked_first, linked
    ):
        self.number, self.owner_first = number, owner_first
        self.family_first, self.families = family_first, families
        self.n, self.n_dags = number.shape
        self.n_surroundings = owner_first[-1]
        # the DAGs of each surrounding
        self.dags = np.argsort(number, axis=1, kind="stable").astype(np.int32).ravel()
        sizes = np.bincount(number.ravel(), minlength=self.n_surroundings)
        self.dag_first = np.cumsum([0, *sizes]).astype(np.int32)
        # and the surroundings that link each variable to theirs
        n_linked = np.diff(linked_first)
        of_link = np.repeat(np.arange(self.n_surroundings, dtype=np.int32), n_linked)
        linked = linked[:len(of_link)]
        by_variable = np.argsort(linked, kind="stable")
        self.linking = np.append(of_link[by_variable], 0).astype(np.int32)
        sizes = np.bincount(linked, minlength=self.n)
        self.linking_first = np.cumsum([0, *sizes]).astype(np.int32)


cdef class AlikeDags:
    """Clusters and groups of one row after the other.

    Parameters
    ----------
    around : Surroundings
        Of the variables.
    most_cells : int
        How many cells of a row are unobserved at most.
    """

    def __init__(self, Surroundings around, Py_ssize_t most_cells):
        cdef Py_ssize_t n_dags = around.n_dags, most = max(1, most_cells) * n_dags
        self.around = around
        self.n_cells = self.n_clusters = self.n_groups = 0
        self.place = np.full(around.n, -1, dtype=np.int32)
        self.cells = np.empty(around.n, dtype=np.int32)
        self.near_first = np.empty(around.n_surroundings + 1, dtype=np.int32)
        self.near_end = np.empty(around.n_surroundings + 1, dtype=np.int32)
        self.near = np.empty(around.linking.shape[0], dtype=np.int32)
        self.cluster = np.empty((max(1, most_cells), n_dags), dtype=np.int32)
        self.cluster_dag = np.empty(most, dtype=np.int32)
        self.cluster_first = np.zeros(most + 1, dtype=np.int32)
        self.cluster_cells = np.empty(most, dtype=np.int32)
        self.slots = np.empty(1 << (2 * most).bit_length(), dtype=np.int32)
        self.queue = np.empty(around.n, dtype=np.int32)
        self.seen = np.zeros(most, dtype=np.int64)
        self.now = 0
        self.n_groups_of = np.zeros(around.n, dtype=np.int32)
        self.keep(0)
        self.buckets = np.empty(max(most, n_dags), dtype=np.int32)
        self.counts = np.empty(n_dags + 1, dtype=np.int32)
        self.moved = np.empty(n_dags, dtype=np.int32)
        self.starts = np.empty(n_dags + 1, dtype=np.int32)

    cdef bint keep(self, Py_ssize_t most):
        """Keep the groups of all variables until cells change, if they are few enough.

        Parameters
        ----------
        most : int
            How many numbers are kept at most.

        Returns
        -------
        keeps : bool
            Whether they are kept.
        """
        cdef Py_ssize_t n = self.around.n, n_dags = self.around.n_dags
        self.keeps = n * n_dags <= most
        self.group_firsts = np.zeros((n if self.keeps else 1, n_dags + 1), np.int32)
        self.orders = np.empty((n if self.keeps else 1, n_dags), np.int32)
        return self.keeps

    cdef void look_at(self, const unsigned char *missing) noexcept nogil:
        """Find the clusters of a row, given which of its cells are unobserved."""
        cdef Py_ssize_t v
        self.n_cells = 0
        for v in range(self.around.n):
            self.n_groups_of[v] = 0
            self.place[v] = -1
            if missing[v]:
                self.place[v] = <int32_t> self.n_cells
                self.cells[self.n_cells] = <int32_t> v
                self.n_cells += 1
        self.find_near()
        self.find_clusters()

    cdef void find_near(self) noexcept nogil:
        """The unobserved cells in each surrounding, in ascending order."""
        cdef:
            const int32_t *linking = &self.around.linking[0]
            const int32_t *first = &self.around.linking_first[0]
            int32_t *end = &self.near_end[0]
            Py_ssize_t i, t, k, v
            int32_t total = 0
        memset(end, 0, self.near_end.shape[0] * sizeof(int32_t))
        for i in range(self.n_cells):
            v = self.cells[i]
            for t in range(first[v], first[v + 1]):
                end[linking[t]] += 1
        for k in range(self.around.n_surroundings):
            self.near_first[k] = total
            total += end[k]
            end[k] = self.near_first[k]
        for i in range(self.n_cells):
            v = self.cells[i]
            for t in range(first[v], first[v + 1]):
                k = linking[t]
                self.near[end[k]] = <int32_t> i
                end[k] += 1

    cdef void find_clusters(self) noexcept nogil:
        """Which cluster each unobserved cell is in, in each DAG."""
        cdef:
            Py_ssize_t i, k, t, v, n_slots = 1
        while n_slots < 2 * self.n_cells * self.around.n_dags:
            n_slots *= 2
        memset(&self.slots[0], 255, n_slots * sizeof(int32_t))
        if self.n_cells:
            memset(
                &self.cluster[0, 0], 255,
                self.n_cells * self.around.n_dags * sizeof(int32_t),
            )
        self.n_clusters = 0
        for i in range(self.n_cells):
            v = self.cells[i]
            for k in range(self.around.owner_first[v], self.around.owner_first[v + 1]):
                if self.near_first[k] == self.near_end[k]:  # it is one by itself
                    t = self.n_clusters
                    self.n_clusters += 1
                    self.cluster_dag[t] = self.around.dags[self.around.dag_first[k]]
                    self.cluster_cells[self.cluster_first[t]] = <int32_t> i
                    self.cluster_first[t + 1] = self.cluster_first[t] + 1
                    self.fill_in(i, k, <int32_t> t)
                    continue
                for t in range(self.around.dag_first[k], self.around.dag_first[k + 1]):
                    if self.cluster[i, self.around.dags[t]] == -1:
                        self.cluster_of(i, self.around.dags[t])

    cdef void fill_in(self, Py_ssize_t i, Py_ssize_t k, int32_t c) noexcept nogil:
        cdef Py_ssize_t t
        for t in range(self.around.dag_first[k], self.around.dag_first[k + 1]):
            self.cluster[i, self.around.dags[t]] = c

    cdef int32_t cluster_of(self, Py_ssize_t i, Py_ssize_t d) noexcept nogil:
        """Follow the links of an unobserved cell in a DAG, and number what is met."""
        cdef:
            Py_ssize_t length = 1, done = 0, k, t, slot, mask, n_slots = 1
            int32_t other, c
            size_t mixed = 14695981039346656037u
        self.queue[0] = <int32_t> i
        self.cluster[i, d] = -2
        while done < length:
            k = self.around.number[self.cells[self.queue[done]], d]
            mixed = (mixed ^ <size_t> k) * 1099511628211u
            mixed ^= mixed >> 29
            done += 1
            for t in range(self.near_first[k], self.near_end[k]):
                other = self.near[t]
                if self.cluster[other, d] == -1:
                    self.cluster[other, d] = -2
                    self.queue[length] = other
                    length += 1
        while n_slots < 2 * self.n_cells * self.around.n_dags:
            n_slots *= 2
        mask = n_slots - 1
        slot = <Py_ssize_t> (mixed & <size_t> mask)
        while self.slots[slot] >= 0 and not self.is_cluster(
            self.slots[slot], d, length
        ):
            slot = (slot + 1) & mask
        c = self.slots[slot]
        if c < 0:
            c = <int32_t> self.n_clusters
            self.n_clusters += 1
            self.slots[slot] = c
            self.cluster_dag[c] = <int32_t> d
            memcpy(
                &self.cluster_cells[self.cluster_first[c]], &self.queue[0],
                length * sizeof(int32_t),
            )
            self.cluster_first[c + 1] = self.cluster_first[c] + <int32_t> length
        for t in range(length):
            self.cluster[self.queue[t], d] = c
        return c

    cdef bint is_cluster(
        self, int32_t c, Py_ssize_t d, Py_ssize_t length
    ) noexcept nogil:
        """Whether what was followed in a DAG is this cluster."""
        cdef:
            Py_ssize_t t, v, first = self.cluster_first[c], there = self.cluster_dag[c]
        if self.cluster_first[c + 1] - first != length:
            return False
        for t in range(length):
            v = self.cells[self.queue[t]]
            if (
                self.cluster_cells[first + t] != self.queue[t]
                or self.around.number[v, d] != self.around.number[v, there]
            ):
                return False
        return True

    cdef bint group(self, Py_ssize_t variable) noexcept nogil:
        """Divide the DAGs by what they say of a variable: `order`, `group_first`.

        Returns
        -------
        is_known : bool
            Whether they were kept.
        """
        cdef Py_ssize_t slot = variable if self.keeps else 0
        self.group_first = &self.group_firsts[slot, 0]
        self.order = &self.orders[slot, 0]
        self.n_groups = self.n_groups_of[variable] if self.keeps else 0
        if self.n_groups:
            return True
        self.divide(variable)
        self.n_groups_of[variable] = <int32_t> self.n_groups
        return False

    cdef void divide(self, Py_ssize_t variable) noexcept nogil:
        cdef Py_ssize_t k, t, size, begin, at = 0
        self.group_first[0] = 0
        if self.place[variable] >= 0:
            for t in range(self.around.n_dags):
                self.order[t] = <int32_t> t
            self.n_groups = 1
            self.group_first[1] = <int32_t> self.around.n_dags
            self.split(0, self.place[variable])
            return
        for k in range(
            self.around.owner_first[variable], self.around.owner_first[variable + 1]
        ):
            size = self.around.dag_first[k + 1] - self.around.dag_first[k]
            memcpy(
                &self.order[at], &self.around.dags[self.around.dag_first[k]],
                size * sizeof(int32_t),
            )
            at += size
            begin = self.n_groups
            self.n_groups += 1
            self.group_first[self.n_groups] = <int32_t> at
            for t in range(self.near_first[k], self.near_end[k]):
                self.split(begin, self.near[t])

    cdef void split(self, Py_ssize_t begin, Py_ssize_t i) noexcept nogil:
        """Divide the groups from `begin` on by the clusters of an unobserved cell."""
        cdef:
            const int32_t *of_dag = &self.cluster[i, 0]
            Py_ssize_t g, p, low, high, n_buckets, n_starts = 0
            int32_t c, start, size
        for g in range(begin, self.n_groups):
            low, high = self.group_first[g], self.group_first[g + 1]
            self.starts[n_starts] = <int32_t> low
            n_starts += 1
            if high - low == 1:
                continue
            self.now += 1
            n_buckets = 0
            for p in range(low, high):
                c = of_dag[self.order[p]]
                if self.seen[c] != self.now:
                    self.seen[c] = self.now
                    self.buckets[c] = <int32_t> n_buckets
                    self.counts[n_buckets] = 0
                    n_buckets += 1
                self.counts[self.buckets[c]] += 1
            if n_buckets == 1:
                continue
            start = <int32_t> low
            n_starts -= 1
            for p in range(n_buckets):
                self.starts[n_starts] = start
                n_starts += 1
                size = self.counts[p]
                self.counts[p] = start
                start += size
            for p in range(low, high):
                c = self.buckets[of_dag[self.order[p]]]
                self.moved[self.counts[c]] = self.order[p]
                self.counts[c] += 1
            memcpy(
                &self.order[low], &self.moved[low], (high - low) * sizeof(int32_t)
            )
        high = self.group_first[self.n_groups]
        memcpy(&self.group_first[begin], &self.starts[0], n_starts * sizeof(int32_t))
        self.n_groups = begin + n_starts
        self.group_first[self.n_groups] = <int32_t> high
