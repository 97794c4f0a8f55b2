# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False
"""A DAG and an order beside it, and how probable that order is given the DAG.

State
    A DAG, as one parent set in each node's table; one of its orders, parents to the
    right of their children, with the standing of each node in it
    (`_order_state.pyx`).
The order's probability
    An order of a DAG is built from the right: at each place any of the nodes that are
    *available*, which are those whose parents all stand already, is as probable as
    another. So the probability q of an order is the product of 1 / available over its
    places. A node is available from the place left of its nearest parent on (from the
    very first if it has none) to its own: what q takes are numbers of such intervals
    that cover a place. Nodes in the background have no part in it: they stand before
    the first is drawn, and nobody waits for them.
    Over the pairs of a DAG and an order, P(DAG) q(order | DAG) has P as its marginal
    over DAGs, for the q of all orders of a DAG add up to one. That is what makes a
    walk over orders one over DAGs: what would be accepted among orders, with parents
    drawn anew, is accepted here with q'/q.
What stays true
    Children, nearest parents and numbers of available nodes are those of the DAG and
    the order. They are integers, so that nothing drifts.
Cost
    An order is drawn, or its probability found, in O(n + edges). When a node's nearest
    parent becomes another, O(places between the two).
"""

from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memset

import numpy as np

from skbidag._core._parents cimport ParentSet, lowest_bit, mark_edges
from skbidag._core._random cimport below, bitgen_of
from skbidag._core._restricted cimport RestrictedSums
from skbidag._core._reversal cimport EdgeReversal
from skbidag._core._tables cimport NodeView, TableViews
from skbidag._core._vector cimport skb_log


cdef class OrderedDAG(OrderState):
    """A DAG of the tables, with an order.

    Parameters
    ----------
    views : TableViews
        The tables, with sums.
    bit_generator : numpy.random.BitGenerator
        Random numbers.
    """

    def __cinit__(self, TableViews views, bit_generator, *args, **kwargs):
        cdef Py_ssize_t n = views.n_nodes, k, n_placed = views.n_main
        cdef Py_ssize_t padded = views.n_places
        self.bit_generator = bit_generator
        self.bitgen = bitgen_of(bit_generator)
        self.sums = RestrictedSums(views)
        self.reversal = EdgeReversal(views, self.sums)
        self.dag = self.reversal.dag
        self.n_words = (n + 63) // 64
        self.children = <uint64_t *> calloc(n * self.n_words, sizeof(uint64_t))
        self.nearest = <Py_ssize_t *> calloc(4 * n + 1, sizeof(Py_ssize_t))
        self.log_of = <double *> calloc(2 * (n + 2) + padded + n, sizeof(double))
        if self.children == NULL or self.nearest == NULL or self.log_of == NULL:
            raise MemoryError()
        for k in range(n):
            self.nearest[k] = self.n_main
            if views.in_background[k]:
                self.order_[n_placed] = k
                self.place[k] = n_placed
                n_placed += 1
        self.available = self.nearest + n
        self.work = self.available + n + 1
        self.log_step = self.log_of + n + 2
        self.side = self.log_step + n + 2
        self.log_sum = self.side + padded
        # While two nodes change places, nobody may seem to be available at one of
        # them: ln 0 = 0 does, as what is added is subtracted again.
        for k in range(2, n + 2):
            self.log_of[k] = skb_log(k)
        for k in range(n + 1):
            self.log_step[k] = self.log_of[k + 1] - self.log_of[k]
        for k in range(padded):
            self.side[k] = -1.0

    def __dealloc__(self):
        free(self.children)
        free(self.nearest)
        free(self.log_of)

    # ------------------------------------------------------------------ state

    cdef object take_dag(self, object adjacency):
        """Move to a DAG of the tables, and to an order of it."""
        cdef Py_ssize_t node, parent
        cdef signed char bit
        cdef ParentSet parents
        for node in range(self.n):
            parents = ParentSet(0, self.views.nodes[node].base_column)
            for parent in np.flatnonzero(adjacency[:, node]):
                bit = self.views.bits[node * self.n + parent]
                if bit >= 0:
                    parents.subset |= <int64_t> 1 << bit
                elif (
                    self.views.nodes[node].width > 1
                    and parents.column == self.views.nodes[node].base_column
                    and self.views.nodes[node].columns[
                        self.views.column_of(node, parent)
                    ] == parent
                ):
                    parents.column = self.views.column_of(node, parent)
                else:
                    raise ValueError(f"the tables do not have the parents of {node}")
            self.dag[node] = parents
        with nogil:
            self.reorder()

    @property
    def adjacency(self):
        """The DAG: ``adjacency[i, j]`` is the edge i -> j."""
        cdef Py_ssize_t node
        cdef unsigned char[:, ::1] packed
        packed = np.zeros((self.n, (self.n + 7) // 8), dtype=np.uint8)
        for node in range(self.n):
            mark_edges(
                &packed[0, 0], packed.shape[1], &self.views.nodes[node], node,
                self.dag[node],
            )
        return np.unpackbits(packed, axis=-1, count=self.n).astype(bool)

    @property
    def log_order_probability(self):
        """Log probability of the order given the DAG."""
        return self.log_probability()

    @property
    def waits(self):
        """What is known of the order: nearest parents by node, available by place."""
        return (
            np.array([self.nearest[i] for i in range(self.n)]),
            np.array([self.available[p] for p in range(self.n_main)]),
        )

    cdef object ordered_dag(self):
        """State of DAG and order, to go back to."""
        cdef Py_ssize_t i
        parents = np.empty((self.n, 2), dtype=np.int64)
        for i in range(self.n):
            parents[i] = self.dag[i].subset, self.dag[i].column
        return self.standings() | {"parents": parents}

    cdef object restore_ordered_dag(self, object state):
        """Go back to where :meth:`ordered_dag` was asked for."""
        cdef Py_ssize_t i
        self.restore_standings(state)
        memset(self.children, 0, self.n * self.n_words * sizeof(uint64_t))
        for i in range(self.n):
            self.dag[i] = ParentSet(state["parents"][i, 0], state["parents"][i, 1])
            self.turn_marks(i, self.dag[i])
        self.arrange()

    # ------------------------------------------------------------------ parents

    cdef Py_ssize_t nearest_of(
        self, Py_ssize_t node, ParentSet parents
    ) noexcept nogil:
        """Place of the nearest of some parents; `n_main` if there is none.

        The background, which nobody waits for, stands there and beyond.
        """
        cdef:
            const NodeView *view = &self.views.nodes[node]
            int64_t rest = parents.subset
            double place = self.n_main
        while rest:
            place = min(place, self.place[view.candidates[lowest_bit(rest)]])
            rest &= rest - 1
        if parents.column != view.base_column:
            place = min(place, self.place[view.columns[parents.column]])
        return <Py_ssize_t> place

    cdef bint has_parent_between(
        self, Py_ssize_t node, double low, double high
    ) noexcept nogil:
        """Whether a parent of the node stands at the places from `low` to `high`."""
        cdef:
            const NodeView *view = &self.views.nodes[node]
            int64_t rest = self.dag[node].subset
        while rest:
            if low <= self.place[view.candidates[lowest_bit(rest)]] <= high:
                return True
            rest &= rest - 1
        return self.dag[node].column != view.base_column and (
            low <= self.place[view.columns[self.dag[node].column]] <= high
        )

    cdef void turn_marks(self, Py_ssize_t node, ParentSet parents) noexcept nogil:
        """Make a node a child of some parents, or no child if it is one."""
        cdef:
            const NodeView *view = &self.views.nodes[node]
            int64_t rest = parents.subset
            uint64_t bit = <uint64_t> 1 << (node & 63)
            uint64_t *word = self.children + (node >> 6)
        while rest:
            word[view.candidates[lowest_bit(rest)] * self.n_words] ^= bit
            rest &= rest - 1
        if parents.column != view.base_column:
            word[view.columns[parents.column] * self.n_words] ^= bit

    cdef void set_parents(self, Py_ssize_t node, ParentSet parents) noexcept nogil:
        """Give a node other parents; who is available stays as it was."""
        self.turn_marks(node, self.dag[node])
        self.turn_marks(node, parents)
        self.dag[node] = parents

    cdef bint draw_with(
        self, Py_ssize_t node, double low, double high, ParentSet *drawn
    ) noexcept nogil:
        """Draw parents with one at least at the places from `low` to `high`.

        The others may be anywhere to the right of the node. False if there are none.
        """
        cdef Py_ssize_t k
        cdef double at
        for k in range(self.n):
            at = self.place[k]
            self.side[k] = -1.0 if at <= self.place[node] else (
                1.0 if low <= at <= high else 2.0
            )
        if not self.sums.look_up(&node, 1, self.side, 1.0, self.log_sum):
            return False
        self.sums.draw(&node, 1, self.side, 1.0, self.log_sum, drawn, self.bitgen)
        return True

    # ---------------------------------------------------------- the order's probability

    cdef double log_probability(self) noexcept nogil:
        cdef Py_ssize_t p
        cdef double total = 0.0
        for p in range(self.n_main):
            total -= self.log_of[self.available[p]]
        return total

    cdef double arrange(self) noexcept nogil:
        """Find anew who is available where; returns the order's log probability."""
        cdef Py_ssize_t i, k, p, n_available = 0
        memset(self.available, 0, (self.n + 1) * sizeof(Py_ssize_t))
        for k in range(self.n_main):
            i = self.views.main[k]
            self.nearest[i] = self.nearest_of(i, self.dag[i])
            self.available[<Py_ssize_t> self.place[i]] += 1
            self.available[self.nearest[i]] -= 1
        for p in range(self.n_main):
            n_available += self.available[p]
            self.available[p] = n_available
        return self.log_probability()

    cdef double move_end(self, Py_ssize_t old, Py_ssize_t new) noexcept nogil:
        """A node's nearest parent is at another place; the change of ln q."""
        cdef Py_ssize_t p
        cdef double change = 0.0
        for p in range(old, new):
            change -= self.log_step[self.available[p]]
            self.available[p] += 1
        for p in range(new, old):
            self.available[p] -= 1
            change += self.log_step[self.available[p]]
        return change

    cdef void reorder(self) noexcept nogil:
        """Draw an order of the DAG by its probability, and look up all nodes."""
        cdef:
            Py_ssize_t *free_nodes = self.work
            Py_ssize_t *n_left = self.work + self.n
            Py_ssize_t n_free = 0, p, node, child, k, w
            uint64_t rest
        memset(self.children, 0, self.n * self.n_words * sizeof(uint64_t))
        for node in range(self.n):
            self.turn_marks(node, self.dag[node])
            n_left[node] = self.reversal.n_parents(node)
            if n_left[node] == 0 and not self.views.in_background[node]:
                self.nearest[node] = self.n_main
                free_nodes[n_free] = node
                n_free += 1
        for p in range(self.n_main - 1, -1, -1):
            self.available[p] = n_free
            k = below(self.bitgen, n_free)
            node = free_nodes[k]
            n_free -= 1
            free_nodes[k] = free_nodes[n_free]
            self.order_[p] = node
            self.place[node] = p
            for w in range(self.n_words):
                rest = self.children[node * self.n_words + w]
                while rest:
                    child = 64 * w + lowest_bit(rest)
                    rest &= rest - 1
                    n_left[child] -= 1
                    if n_left[child] == 0:
                        self.nearest[child] = p
                        free_nodes[n_free] = child
                        n_free += 1
        self.stand_anew()
