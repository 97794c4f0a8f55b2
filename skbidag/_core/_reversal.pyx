# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False
"""Reversal of an edge of a DAG (Grzegorczyk & Husmeier 2008).

State
    A DAG, as one parent set in each node's table. Edges from the background, which
    cannot be turned around, do not count as edges here.
Move
    An edge is drawn, each as probable as another, and turned around, both its ends
    getting new parents. Both lose theirs; the former parent draws new ones with the
    former child among them, then that draws its own, without making a cycle. The way
    back begins with the same graph without their parents, which is why sums over what
    could have been drawn are all that acceptance takes: for the edge i -> j,

        Z(i with j) Z(j) / (Z(j with i) Z(i)) × edges before / edges after

    with Z the sums over the parent sets among which there are no descendants.
What stays true
    The posterior over DAGs. Who descends from whom is read off the graph before the
    move, in any order in which parents stand to the right of their children.
Cost
    Four look-ups and two draws; the descendants of both ends take O(n K).
"""

from libc.math cimport INFINITY
from libc.stdint cimport int64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memset

from skbidag._core._parents cimport ParentSet, count_bits, lowest_bit
from skbidag._core._random cimport below, skb_bitgen
from skbidag._core._restricted cimport RestrictedSums
from skbidag._core._tables cimport NodeView, TableViews
from skbidag._core._vector cimport skb_log


cdef class EdgeReversal:
    """A DAG of which an edge can be reversed.

    Parameters
    ----------
    views : TableViews
        The tables, with sums.
    sums : RestrictedSums
        What looks up and draws in them.
    """

    def __cinit__(self, TableViews views, RestrictedSums sums):
        cdef Py_ssize_t n = views.n_nodes, j, k
        cdef const NodeView *view
        cdef Py_ssize_t padded = views.n_places
        self.views = views
        self.sums = sums
        self.n = n
        self.dag = <ParentSet *> calloc(n, sizeof(ParentSet))
        self.depth = <Py_ssize_t *> calloc(n, sizeof(Py_ssize_t))
        self.of_parent = <signed char *> calloc(2 * n, sizeof(signed char))
        self.place = <double *> calloc(padded + n, sizeof(double))
        self.main_parents = <int64_t *> calloc(n, sizeof(int64_t))
        if (
            self.dag == NULL or self.depth == NULL or self.of_parent == NULL
            or self.place == NULL or self.main_parents == NULL
        ):
            raise MemoryError
        self.of_child = self.of_parent + n
        self.score = self.place + padded
        for j in range(padded):
            self.place[j] = -1.0
        for j in range(n):
            view = &views.nodes[j]
            for k in range(view.n_candidates):
                if not views.in_background[view.candidates[k]]:
                    self.main_parents[j] |= <int64_t> 1 << k

    def __dealloc__(self):
        free(self.dag)
        free(self.depth)
        free(self.of_parent)
        free(self.place)
        free(self.main_parents)

    cdef double propose(
        self, const Py_ssize_t *order, const Py_ssize_t *position, skb_bitgen *bitgen
    ) noexcept nogil:
        """Reverse an edge of the DAG; returns the log ratio that acceptance takes.

        `order` has the nodes with parents to the right of their children, `position`
        their places in it. With -inf, there was no way to reverse the edge.
        """
        cdef Py_ssize_t n_edges = 0, others, i, j, chosen
        cdef double log_ratio
        for j in range(self.n):
            n_edges += self.n_parents(j)
        chosen = below(bitgen, n_edges)
        j = 0
        while chosen >= self.n_parents(j):
            chosen -= self.n_parents(j)
            j += 1
        i = self.parent_of(j, chosen)
        others = n_edges - self.n_parents(i) - self.n_parents(j)
        self.find_descendants(i, j, order, position[i], self.of_parent)
        self.find_descendants(j, i, order, position[j], self.of_child)
        # the way back: j with i, then i; the way there: i with j, then j
        log_ratio = -self.look_up_with(j, i, self.of_child)
        log_ratio -= self.look_up_without_either(i)
        log_ratio += self.look_up_with(i, j, self.of_parent)
        if log_ratio == -INFINITY:
            return log_ratio
        self.sums.draw(&i, 1, self.place, 1.0, self.score, self.dag, bitgen)
        self.score[j] = self.look_up_without_either(j)
        log_ratio += self.score[j]
        if log_ratio == -INFINITY:
            return log_ratio
        self.dag[j] = self.sums.draw_free(j, self.place, self.score[j], bitgen)
        others += self.n_parents(i) + self.n_parents(j)
        return log_ratio + skb_log(<double> n_edges) - skb_log(<double> others)

    # -------------------------------------------------------------------- the DAG

    cdef Py_ssize_t n_parents(self, Py_ssize_t node) noexcept nogil:
        """Number of parents that are not in the background."""
        cdef const NodeView *view = &self.views.nodes[node]
        return count_bits(self.dag[node].subset & self.main_parents[node]) + (
            self.dag[node].column != view.base_column
            and not self.views.in_background[view.columns[self.dag[node].column]]
        )

    cdef Py_ssize_t parent_of(self, Py_ssize_t node, Py_ssize_t index) noexcept nogil:
        """One of these parents."""
        cdef const NodeView *view = &self.views.nodes[node]
        cdef int64_t rest = self.dag[node].subset & self.main_parents[node]
        while rest:
            if index == 0:
                return view.candidates[lowest_bit(rest)]
            rest &= rest - 1
            index -= 1
        return view.columns[self.dag[node].column]

    cdef bint has_parent(
        self, Py_ssize_t node, const signed char *among
    ) noexcept nogil:
        """Whether a node has a parent among those marked."""
        cdef const NodeView *view = &self.views.nodes[node]
        cdef int64_t rest = self.dag[node].subset
        while rest:
            if among[view.candidates[lowest_bit(rest)]]:
                return True
            rest &= rest - 1
        return self.dag[node].column != view.base_column and (
            among[view.columns[self.dag[node].column]]
        )

    cdef void find_descendants(
        self, Py_ssize_t node, Py_ssize_t other, const Py_ssize_t *order,
        Py_ssize_t position, signed char *marks
    ) noexcept nogil:
        """Mark a node, at its position, and its descendants, `other` being a root."""
        cdef Py_ssize_t p
        memset(marks, 0, self.n)
        marks[node] = 1
        for p in range(position - 1, -1, -1):
            if order[p] != other:
                marks[order[p]] = self.has_parent(order[p], marks)

    cdef Py_ssize_t find_depths(self, const Py_ssize_t *order) noexcept nogil:
        """Find the length of the longest path to each node; returns the longest.

        In any order, though best in one in which parents are to the right.
        """
        cdef:
            Py_ssize_t p, node, depth, deepest = 0
            const NodeView *view
            int64_t rest
            bint changed = True
        for node in range(self.n):
            # parents in the background leave a root where it is
            self.depth[node] = -1 if self.views.in_background[node] else 0
        while changed:
            changed = False
            for p in range(self.views.n_main - 1, -1, -1):
                node = order[p]
                view = &self.views.nodes[node]
                depth = 0
                rest = self.dag[node].subset
                while rest:
                    depth = max(
                        depth, self.depth[view.candidates[lowest_bit(rest)]] + 1
                    )
                    rest &= rest - 1
                if self.dag[node].column != view.base_column:
                    depth = max(
                        depth, self.depth[view.columns[self.dag[node].column]] + 1
                    )
                if depth != self.depth[node]:
                    self.depth[node] = depth
                    deepest = max(deepest, depth)
                    changed = True
        return deepest

    # ------------------------------------------------------------------- look-ups

    cdef double look_up_with(
        self, Py_ssize_t node, Py_ssize_t parent, const signed char *barred
    ) noexcept nogil:
        """Log sum over the parent sets with one parent, none barred.

        That is a look-up with the parent in the next block and all others behind.
        """
        cdef Py_ssize_t k
        for k in range(self.n):
            self.place[k] = -1.0 if barred[k] else 2.0
        self.place[parent] = 1.0
        self.sums.look_up(&node, 1, self.place, 1.0, self.score)
        return self.score[node]

    cdef double look_up_without_either(self, Py_ssize_t node) noexcept nogil:
        """Log sum over the parent sets without descendants of either end."""
        cdef Py_ssize_t k
        for k in range(self.n):
            self.place[k] = -1.0 if self.of_parent[k] or self.of_child[k] else 2.0
        return self.sums.look_up_free(node, self.place)
