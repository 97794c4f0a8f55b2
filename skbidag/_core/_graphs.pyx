# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False
"""Graph kernels on 0/1 adjacency matrices, where A[i, j] means i -> j.

A matrix is read once, row by row (``memchr`` finds the ones), into lists of edges;
from then on the cost is that of the edges, not of the matrix.

The CPDAG of a DAG has the DAG's skeleton. An edge is *compelled*, and keeps its
direction, if it points the same way in every DAG of the Markov equivalence class; it
is *reversible*, and stands in both directions, if not. The labels come from
Chickering (1995), A transformational characterization of equivalent Bayesian network
structures: nodes are visited parents first, and in each node y the parent x that
comes last in the order decides for all of y's edges:

- if x has a parent by a compelled edge that is not a parent of y, or y has a parent
  that is neither x nor a parent of x, then every edge into y is compelled;
- if not, all other parents of y are parents of x: x -> y is reversible, and each other
  edge w -> y is what w -> x is.
"""

from libc.string cimport memchr, memset

import numpy as np


cdef class EdgeLists:
    """The edges of one graph, and room to read the next graph into.

    ``child[child_start[x]:child_start[x + 1]]`` are the children of x in increasing
    order, ``parent[parent_start[y]:parent_start[y + 1]]`` the parents of y in
    topological order, and ``compelled`` goes along with ``parent``.
    """

    cdef int n_nodes
    cdef int[::1] child_start, child, parent_start, parent, order, pending
    cdef unsigned char[::1] compelled

    def __init__(self, n_nodes):
        most_edges = n_nodes * (n_nodes - 1) // 2
        self.n_nodes = n_nodes
        self.child_start = np.empty(n_nodes + 1, dtype=np.intc)
        self.parent_start = np.empty(n_nodes + 1, dtype=np.intc)
        self.child = np.empty(most_edges, dtype=np.intc)
        self.parent = np.empty(most_edges, dtype=np.intc)
        self.compelled = np.empty(most_edges, dtype=np.uint8)
        self.order = np.empty(n_nodes, dtype=np.intc)
        self.pending = np.empty(n_nodes, dtype=np.intc)

    cdef bint read(self, const unsigned char[:, ::1] adjacency) noexcept nogil:
        """List the children; False if a DAG cannot have that many edges."""
        cdef:
            int n = self.n_nodes
            int n_edges = 0, most_edges = <int> self.child.shape[0]
            int x, y
            const unsigned char *row
            const unsigned char *found
        for y in range(n):
            self.pending[y] = 0
        for x in range(n):
            self.child_start[x] = n_edges
            row = &adjacency[x, 0]
            found = <const unsigned char *> memchr(row, 1, n)
            while found != NULL:
                if n_edges == most_edges:
                    return False
                y = <int> (found - row)
                self.child[n_edges] = y
                self.pending[y] += 1
                n_edges += 1
                found = <const unsigned char *> memchr(found + 1, 1, n - y - 1)
        self.child_start[n] = n_edges
        return True

    cdef bint sort(self) noexcept nogil:
        """Put the nodes in topological order, smallest first; False if cyclic.

        ``pending`` counts the parents a node waits for, -1 once it is placed.
        """
        cdef:
            int n = self.n_nodes
            int first = 0  # no node below it is ready
            int k, x, y, e
        for k in range(n):
            while first < n and self.pending[first] != 0:
                first += 1
            if first == n:
                return False
            x = first
            self.order[k] = x
            self.pending[x] = -1
            for e in range(self.child_start[x], self.child_start[x + 1]):
                y = self.child[e]
                self.pending[y] -= 1
                if self.pending[y] == 0 and y < first:
                    first = y
        return True

    cdef void list_parents(self) noexcept nogil:
        """Turn the lists of children into lists of parents in topological order."""
        cdef:
            int n = self.n_nodes
            int k, x, y, e
        for y in range(n + 1):
            self.parent_start[y] = 0
        for e in range(self.child_start[n]):
            self.parent_start[self.child[e] + 1] += 1
        for y in range(n):
            self.parent_start[y + 1] += self.parent_start[y]
            self.pending[y] = self.parent_start[y]
        for k in range(n):
            x = self.order[k]
            for e in range(self.child_start[x], self.child_start[x + 1]):
                y = self.child[e]
                self.parent[self.pending[y]] = x
                self.pending[y] += 1

    cdef void label(self, const unsigned char[:, ::1] adjacency) noexcept nogil:
        """Tell compelled from reversible edges."""
        cdef:
            int k, x, y, e, f, begin, last
            bint compel
        for k in range(self.n_nodes):
            y = self.order[k]
            begin = self.parent_start[y]
            last = self.parent_start[y + 1] - 1
            if last < begin:
                continue
            x = self.parent[last]
            compel = False
            for e in range(begin, last):
                if not adjacency[self.parent[e], x]:
                    compel = True
                    break
            if not compel:
                for f in range(self.parent_start[x], self.parent_start[x + 1]):
                    if self.compelled[f] and not adjacency[self.parent[f], y]:
                        compel = True
                        break
            if compel:
                for e in range(begin, last + 1):
                    self.compelled[e] = True
                continue
            # The other parents of y are among those of x, in the same order.
            f = self.parent_start[x]
            for e in range(begin, last):
                while self.parent[f] != self.parent[e]:
                    f += 1
                self.compelled[e] = self.compelled[f]
            self.compelled[last] = False

    cdef void write(self, unsigned char[:, ::1] cpdag) noexcept nogil:
        """Write the labelled edges into a matrix."""
        cdef int x, y, e
        if self.n_nodes > 0:
            memset(&cpdag[0, 0], 0, <size_t> self.n_nodes * self.n_nodes)
        for y in range(self.n_nodes):
            for e in range(self.parent_start[y], self.parent_start[y + 1]):
                x = self.parent[e]
                cpdag[x, y] = 1
                if not self.compelled[e]:
                    cpdag[y, x] = 1


def topological_order(const unsigned char[:, ::1] adjacency):
    """Nodes with parents first, the smallest possible at each place.

    Returns an array of int, or None if the graph has a cycle.
    """
    cdef EdgeLists edges = EdgeLists(adjacency.shape[0])
    cdef bint acyclic
    with nogil:
        acyclic = edges.read(adjacency) and edges.sort()
    return np.asarray(edges.order) if acyclic else None


def cpdags(const unsigned char[:, :, ::1] dags, unsigned char[:, :, ::1] out):
    """Write the CPDAG of ``dags[k]`` into ``out[k]``, for every k.

    Both have the shape (m, n, n) and hold zeros and ones only. Returns the index of
    the first graph that has a cycle, where the work stops, or -1 if none has.
    """
    cdef EdgeLists edges = EdgeLists(dags.shape[1])
    cdef Py_ssize_t k, cyclic = -1
    with nogil:
        for k in range(dags.shape[0]):
            if not (edges.read(dags[k]) and edges.sort()):
                cyclic = k
                break
            edges.list_parents()
            edges.label(dags[k])
            edges.write(out[k])
    return cyclic


def reachable(const unsigned char[:, ::1] adjacency, int node):
    """Mark the nodes at the end of a directed path from `node`, with 1 or 0.

    The node itself is marked only if it lies on a cycle.
    """
    cdef:
        int n = <int> adjacency.shape[0]
        unsigned char[::1] marked = np.zeros(n, dtype=np.uint8)
        int[::1] stack = np.empty(n + 1, dtype=np.intc)
        int depth = 1, x, y
    stack[0] = node
    with nogil:
        while depth > 0:
            depth -= 1
            x = stack[depth]
            for y in range(n):
                if adjacency[x, y] and not marked[y]:
                    marked[y] = 1
                    stack[depth] = y
                    depth += 1
    return np.asarray(marked)


cdef class Descent:
    """Who descends from whom in a sparse DAG, also if some nodes had other parents.

    Lists of children: a path is followed in time proportional to the edges it meets,
    however many nodes there are. Several threads may ask at a time.

    Parameters
    ----------
    parents : sequence of int arrays
        The parents of each node.
    """

    cdef Py_ssize_t n_nodes
    # child[start[x]:start[x + 1]] are the children of x
    cdef Py_ssize_t[::1] start, child

    def __init__(self, parents):
        n = len(parents)
        child = np.repeat(np.arange(n), [len(of_node) for of_node in parents])
        parent = np.concatenate([*parents, np.empty(0, dtype=np.intp)])
        parent = parent.astype(np.intp)
        self.n_nodes = n
        self.start = np.append(0, np.bincount(parent, minlength=n).cumsum())
        self.child = child[np.argsort(parent, kind="stable")]

    def descendants(self, Py_ssize_t node, changed):
        """Mark the descendants of a node, with 1 or 0, in a DAG changed here and there.

        Parameters
        ----------
        node : int
            The node, which is marked only if it lies on a cycle.
        changed : dict
            The nodes that have other parents, and these.
        """
        cdef:
            Py_ssize_t n = self.n_nodes, depth = 1, x, y, k, j
            unsigned char[::1] marked = (result := np.zeros(n, dtype=np.uint8))
            Py_ssize_t[::1] stack = np.empty(n + 1, dtype=np.intp)
            const Py_ssize_t[::1] others = np.array([*changed], dtype=np.intp)
            const Py_ssize_t[::1] new_parents = np.array(
                [x for parents in changed.values() for x in parents], dtype=np.intp
            )
            const Py_ssize_t[::1] new_children = np.repeat(
                others, [len(parents) for parents in changed.values()]
            )
            bint as_before
        stack[0] = node
        with nogil:
            while depth > 0:
                depth -= 1
                x = stack[depth]
                for k in range(self.start[x], self.start[x + 1]):
                    y = self.child[k]
                    if marked[y]:
                        continue
                    as_before = True
                    for j in range(others.shape[0]):
                        as_before = as_before and y != others[j]
                    if as_before:
                        marked[y] = 1
                        stack[depth] = y
                        depth += 1
                for k in range(new_parents.shape[0]):
                    y = new_children[k]
                    if x == new_parents[k] and not marked[y]:
                        marked[y] = 1
                        stack[depth] = y
                        depth += 1
        return result
