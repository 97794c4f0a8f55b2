# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False
"""The best parents of a few nodes of a DAG at a time, found exactly.

State
    A DAG, as a list of parents for each node.
Move
    *a block*: its nodes, a dozen at most, choose parents anew, all of them together,
    among each other and from the parents that they have outside the block. All other
    nodes keep theirs. The best choice of all is found, by dynamic programming over the
    subsets of the block (Silander & Myllymäki 2006), so that any number of edges may
    turn at a time, whatever lies between.
What stays true
    No cycle. One could lead out of the block and back in by a parent from outside: that
    parent may be chosen after all nodes of the block that it descends from, outside the
    block, and not before.
Cost
    For each node a table of the scores of its candidates' subsets. With m nodes the
    dynamic programming takes m 2^m additions. What descends from what is told by one
    pass over the edges.
"""

cimport cython
from libc.math cimport INFINITY
from libc.stdint cimport uint32_t

import numpy as np

from skbidag._core._graphs import topological_order
from skbidag._core._subsets import subset_maxima

cdef enum:
    MOST_NODES = 20
    MOST_CANDIDATES = 30


cdef struct Member:
    # A node of the block. Its candidates are the block's other nodes, then its parents
    # outside, as far as there is room; the table has the best score of all subsets for
    # each set of them.
    Py_ssize_t node
    Py_ssize_t n_candidates
    Py_ssize_t candidates[MOST_CANDIDATES]
    uint32_t free_bits      # parents outside that descend from no node of the block
    Py_ssize_t n_bound      # the others, and the nodes that they descend from
    uint32_t bound_bits[MOST_CANDIDATES]
    uint32_t above[MOST_CANDIDATES]
    uint32_t needed         # nodes that the parents it keeps descend from
    double *maxima


cdef inline uint32_t row_of(
    const Member *member, uint32_t before, Py_ssize_t place
) noexcept nogil:
    """The row of a table for the nodes of the block that stand before its own."""
    cdef:
        Py_ssize_t k
        uint32_t low = (<uint32_t> 1 << place) - 1
        uint32_t row = (before & low) | ((before >> 1) & ~low) | member.free_bits
    for k in range(member.n_bound):
        if not member.above[k] & ~before:
            row |= member.bound_bits[k]
    return row


@cython.final
cdef class BlockSearch:
    """A DAG of which blocks are made the best they can be.

    Parameters
    ----------
    score : BaseScore
        A fitted score.
    adjacency, forbidden, required : arrays of bool, shape (n, n)
        The DAG, and edges that none, or every one, has.
    max_parents : int
        The most parents of a node, unless it has more.
    most_candidates : int
        The most that a node has to choose from, unless its block is larger: it keeps
        other parents outside.
    least_gain : float
        What a change must be worth.
    """

    cdef:
        object score
        double least_gain
        Py_ssize_t n, max_parents, most_candidates
        const unsigned char[:, ::1] forbidden, required     # [child, parent]
        int[:, ::1] parents
        int[::1] n_parents
        Py_ssize_t[::1] order           # parents first
        uint32_t[::1] bit_of            # of the block's nodes; of all others 0
        uint32_t[::1] above             # nodes of the block that a node descends from
        Member members[MOST_NODES]

    def __init__(
        self, score, adjacency, forbidden, required, Py_ssize_t max_parents,
        Py_ssize_t most_candidates, double least_gain,
    ):
        cdef Py_ssize_t n = len(adjacency)
        self.score = score
        self.n = n
        self.forbidden = np.ascontiguousarray(forbidden.T, dtype=np.uint8)
        self.required = np.ascontiguousarray(required.T, dtype=np.uint8)
        self.max_parents = max_parents
        self.most_candidates = min(most_candidates, MOST_CANDIDATES)
        self.least_gain = least_gain
        self.parents = np.empty((n, n), dtype=np.intc)
        self.n_parents = np.empty(n, dtype=np.intc)
        self.bit_of = np.zeros(n, dtype=np.uint32)
        self.above = np.zeros(n, dtype=np.uint32)
        self.set_dag(adjacency, range(n))

    def set_dag(self, adjacency, changed):
        """Move to a DAG, in which some nodes have other parents."""
        for node in changed:
            self.set_parents(node, np.flatnonzero(adjacency[:, node]))
        self.sort()

    cdef int set_parents(self, Py_ssize_t node, chosen) except -1:
        cdef Py_ssize_t k
        self.n_parents[node] = len(chosen)
        for k in range(len(chosen)):
            self.parents[node, k] = chosen[k]
        return 0

    cdef int sort(self) except -1:
        """Find an order of the DAG."""
        order = topological_order(self.adjacency().view(np.uint8))
        self.order = np.ascontiguousarray(order, dtype=np.intp)
        return 0

    def parents_of(self, Py_ssize_t node):
        """The parents of a node, sorted."""
        cdef Py_ssize_t k
        return tuple([self.parents[node, k] for k in range(self.n_parents[node])])

    def adjacency(self):
        """The DAG, A[i, j] for i -> j."""
        cdef:
            Py_ssize_t node, k
            unsigned char[:, ::1] graph = np.zeros((self.n, self.n), dtype=np.uint8)
        for node in range(self.n):
            for k in range(self.n_parents[node]):
                graph[self.parents[node, k], node] = True
        return np.asarray(graph).view(bool)

    def improve(self, block):
        """Give the nodes of a block the best parents; the DAG changes if that pays.

        Parameters
        ----------
        block : sequence of int
            The nodes.

        Returns
        -------
        gain : float
            In log score; 0 where nothing pays.
        """
        cdef:
            Py_ssize_t m = len(block), k
            double before = 0.0, gain = 0.0
        if m > MOST_NODES:
            raise ValueError(f"a block has {MOST_NODES} nodes at most, not {m}")
        for k in range(m):
            self.members[k].node = block[k]
            self.bit_of[self.members[k].node] = <uint32_t> 1 << k
        self.find_ancestors()
        tables = []  # they are referred to by pointers
        for k in range(m):
            before += self.fill(k, m, tables)
        gain = self.rearrange(m, before)
        for k in range(m):
            self.bit_of[self.members[k].node] = 0
        if gain > 0:
            self.sort()
        return gain

    cdef void find_ancestors(self) noexcept nogil:
        """The nodes of the block above all others, by paths outside the block."""
        cdef:
            Py_ssize_t place, k, node, parent
            uint32_t above
        for place in range(self.n):
            node = self.order[place]
            above = 0
            for k in range(self.n_parents[node]):
                parent = self.parents[node, k]
                above |= self.bit_of[parent] if self.bit_of[parent] else (
                    self.above[parent]
                )
            self.above[node] = above

    cdef double fill(self, Py_ssize_t place, Py_ssize_t m, list tables) except? -1:
        """Make the table of a node; returns the score that it has."""
        cdef:
            Member *member = &self.members[place]
            Py_ssize_t node = member.node, k, j, parent, n_kept = 0
            Py_ssize_t most = max(self.max_parents, self.n_parents[node])
            uint32_t row, bit, n_rows, present = 0, required = 0, forbidden = 0
            Py_ssize_t[::1] kept = np.empty(self.n_parents[node], dtype=np.intp)
            double[:, ::1] table
            double value
        member.n_candidates = member.n_bound = 0
        member.free_bits = member.needed = 0
        for k in range(m):
            if k != place:
                member.candidates[member.n_candidates] = self.members[k].node
                member.n_candidates += 1
        for j in range(self.n_parents[node]):
            parent = self.parents[node, j]
            if self.bit_of[parent]:
                continue
            if member.n_candidates >= self.most_candidates:
                member.needed |= self.above[parent]
                kept[n_kept] = parent
                n_kept += 1
                continue
            bit = <uint32_t> 1 << member.n_candidates
            member.candidates[member.n_candidates] = parent
            member.n_candidates += 1
            if not self.above[parent]:
                member.free_bits |= bit
            else:
                member.bound_bits[member.n_bound] = bit
                member.above[member.n_bound] = self.above[parent]
                member.n_bound += 1
        for k in range(member.n_candidates):
            bit = <uint32_t> 1 << k
            if self.required[node, member.candidates[k]]:
                required |= bit
            if self.forbidden[node, member.candidates[k]]:
                forbidden |= bit
            for j in range(self.n_parents[node]):
                if member.candidates[k] == self.parents[node, j]:
                    present |= bit
        n_rows = <uint32_t> 1 << member.n_candidates
        table = np.empty((n_rows, 1))
        self.score.fill_subsets(
            node,
            np.array([member.candidates[k] for k in range(member.n_candidates)],
                     dtype=np.intp),
            np.asarray(kept)[:n_kept],
            np.asarray(table)[:, 0],
        )
        value = table[present, 0]
        if required or forbidden or member.n_candidates + n_kept > most:
            for row in range(n_rows):
                if required & ~row or forbidden & row or n_kept + size_of(row) > most:
                    table[row, 0] = -INFINITY
        subset_maxima(table)
        member.maxima = &table[0, 0]
        tables.append(table)
        return value

    cdef double rearrange(self, Py_ssize_t m, double before) except? -1:
        """Find the best order of the block, and its parents if these pay."""
        cdef:
            uint32_t n_sets = <uint32_t> 1 << m, mask, rest, row
            Py_ssize_t k, j
            double value, gain
            Member *member
            double[::1] best = np.empty(n_sets)
            unsigned char[::1] last = np.empty(n_sets, dtype=np.uint8)
        with nogil:
            best[0] = 0.0
            for mask in range(1, n_sets):
                best[mask] = -INFINITY
                last[mask] = 0
                for k in range(m):
                    if mask >> k & 1:
                        rest = mask ^ (<uint32_t> 1 << k)
                        member = &self.members[k]
                        if member.needed & ~rest:
                            continue
                        value = best[rest] + member.maxima[row_of(member, rest, k)]
                        if value > best[mask]:
                            best[mask] = value
                            last[mask] = k
        gain = best[n_sets - 1] - before
        if not gain > self.least_gain:
            return 0.0
        mask = n_sets - 1
        while mask:
            k = last[mask]
            mask ^= <uint32_t> 1 << k
            member = &self.members[k]
            row = row_of(member, mask, k)
            value = member.maxima[row]
            # the best set has the maximum that every set above it has
            for j in range(member.n_candidates):
                rest = row & ~(<uint32_t> 1 << j)
                if member.maxima[rest] == value:
                    row = rest
            chosen = [
                self.parents[member.node, j] for j in range(self.n_parents[member.node])
                if not is_candidate(member, self.parents[member.node, j])
            ]
            for j in range(member.n_candidates):
                if row >> j & 1:
                    chosen.append(member.candidates[j])
            self.set_parents(member.node, sorted(chosen))
        return gain


cdef inline bint is_candidate(const Member *member, Py_ssize_t other) noexcept nogil:
    """Whether a variable is one of the node's candidates."""
    cdef Py_ssize_t k
    for k in range(member.n_candidates):
        if member.candidates[k] == other:
            return True
    return False


cdef inline int size_of(uint32_t mask) noexcept nogil:
    """How many bits are set."""
    cdef int size = 0
    while mask:
        mask &= mask - 1
        size += 1
    return size
