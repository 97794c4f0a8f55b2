# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False
"""Climbing over orders where every node may choose its parents from all before it.

Written from Andrews, Ramsey, Sanchez Romero, Camchong & Kummerfeld (2023), *Fast
scalable and accurate discovery of DAGs using the best order score search and
grow-shrink trees*, NeurIPS 36.

State
    An order of the nodes, and the parents that each node gets in it: *grow*, add the
    best of those before it until none raises the score, then *shrink*, take out the
    worst until that does not raise it either. No table limits whom it chooses from.
Move
    *relocation*: a node moves to the place that is best for the whole order.
What stays true
    All parents of a node stand before it, the required ones among them, and the log
    score is the sum of what the nodes' parents are worth.
Cost
    Growing walks down a tree that each node has: at a set of parents stand the
    additions that pay, the best first, and each leads to the set with it. A set is
    scored once, whatever order it is met in. What a walk looked at, it depends on: the
    variables that it took, and those that it would have taken had they stood. Whether
    any other one stands does not matter to the node. So a relocation takes a walk for
    each node that looks at the one that moves, one wherever this one looks, and a
    glance at each of the others.
"""

cimport cython
from libc.math cimport INFINITY
from libc.stdlib cimport free, qsort, realloc

from threading import Lock

import numpy as np


cdef struct Addition:
    double worth            # log score of the set with it
    int variable
    int leads_to            # that set, -1 if nobody has asked for it


cdef int better_first(const void *left, const void *right) noexcept nogil:
    cdef:
        const Addition *first = <const Addition *> left
        const Addition *second = <const Addition *> right
    if first.worth != second.worth:
        return 1 if first.worth < second.worth else -1
    return 1 if first.variable > second.variable else -1


@cython.final
cdef class GrowShrinkOrder:
    """An order in which nodes choose their parents by growing and shrinking.

    Parameters
    ----------
    score : BaseScore
        A fitted score.
    forbidden, required : arrays of bool, shape (n, n)
        Edges that no DAG, or every DAG, has.
    standing : array of bool, shape (n,)
        Variables that stand before all others, and have no place in the order.
    max_parents : int
        The most parents that growing takes.
    least_gain : float
        What an addition, a removal or a relocation must be worth.
    """

    cdef:
        object score
        object lock             # for what threads write that look ahead
        double least_gain
        Py_ssize_t n, n_main, max_parents
        const unsigned char[:, ::1] forbidden
        list required
        unsigned char[::1] standing
        # all trees in one: sets of parents, each with the additions that pay
        list sets
        list shrunk_sets
        list known              # of each node, the places of its sets
        list numbers            # one object for each variable
        readonly Py_ssize_t n_sets
        Addition *additions
        Py_ssize_t n_additions, room
        Py_ssize_t[::1] root
        double[::1] grown, shrunk
        unsigned char[::1] is_shrunk
        Py_ssize_t[::1] first, end
        # where the search stands
        Py_ssize_t[::1] order_          # parents first
        Py_ssize_t[::1] chosen          # the set in the tree that each node ends at
        double[::1] values
        unsigned char[::1] stands
        unsigned char[:, ::1] looks_at  # [node, variable], on its walk
        # of the node that is tried elsewhere, and of the others without and with it
        double[::1] own_value, value_without, value_with
        Py_ssize_t[::1] own_set, set_without, set_with, others
        unsigned char[::1] own_looks, other_looks

    def __init__(
        self, score, forbidden, required, standing, Py_ssize_t max_parents,
        double least_gain,
    ):
        cdef Py_ssize_t n = len(forbidden), node
        self.score = score
        self.lock = Lock()
        self.least_gain = least_gain
        self.n = n
        self.max_parents = max_parents
        self.forbidden = np.ascontiguousarray(forbidden.T, dtype=np.uint8)
        self.required = [
            tuple(np.flatnonzero(column).tolist()) for column in required.T
        ]
        self.standing = np.array(standing, dtype=np.uint8)
        self.n_main = n - int(np.sum(standing))
        self.sets, self.shrunk_sets = [], []
        self.known, self.numbers = [{} for _ in range(n)], list(range(n))
        self.n_sets = self.n_additions = 0
        self.grown = np.empty(16 * n)
        self.shrunk = np.empty(16 * n)
        self.is_shrunk = np.zeros(16 * n, dtype=np.uint8)
        self.first = np.empty(16 * n, dtype=np.intp)
        self.end = np.empty(16 * n, dtype=np.intp)
        self.looks_at = np.zeros((n, n), dtype=np.uint8)
        self.own_looks = np.zeros(n, dtype=np.uint8)
        self.other_looks = np.zeros(n, dtype=np.uint8)
        self.root = np.full(n, -1, dtype=np.intp)
        self.order_ = np.empty(self.n_main, dtype=np.intp)
        self.others = np.empty(self.n_main, dtype=np.intp)
        self.chosen = np.empty(n, dtype=np.intp)
        self.values = np.zeros(n)
        self.stands = np.zeros(n, dtype=np.uint8)
        self.own_value = np.empty(n + 1)
        self.value_without, self.value_with = np.empty(n + 1), np.empty(n + 1)
        self.own_set = np.empty(n + 1, dtype=np.intp)
        self.set_without = np.empty(n, dtype=np.intp)
        self.set_with = np.empty(n, dtype=np.intp)
        for node in range(n):
            if not self.standing[node]:
                value = score.local_score(node, self.required[node])
                self.root[node] = self.set_of(node, self.required[node], value)

    def __dealloc__(self):
        free(self.additions)

    # ------------------------------------------------------------------ trees

    cdef Py_ssize_t set_of(
        self, Py_ssize_t node, tuple parents, double value
    ) except -1:
        """The place of a set in a node's tree, with its log score."""
        cdef:
            Py_ssize_t index, other
            const double[::1] scores
            Addition *new
        found = self.known[node].get(parents)
        if found is not None:
            return found
        scores = self.score.addition_scores(node, parents)
        with self.lock:
            self.make_room()
            index = self.n_sets
            self.first[index] = self.n_additions
            for other in range(self.n):
                if scores[other] > value + self.least_gain:
                    if not self.forbidden[node, other]:
                        new = self.additions + self.n_additions
                        new.worth, new.variable = scores[other], other
                        new.leads_to = -1
                        self.n_additions += 1
            self.end[index] = self.n_additions
            qsort(
                self.additions + self.first[index],
                self.end[index] - self.first[index], sizeof(Addition), better_first,
            )
            self.grown[index] = value
            self.is_shrunk[index] = False
            self.sets.append(parents)
            self.shrunk_sets.append(None)
            self.known[node][parents] = index
            self.n_sets += 1
        return index

    cdef int make_room(self) except -1:
        """Let there be room for one more set, and for all its additions."""
        cdef:
            Py_ssize_t room = 2 * self.n_additions + self.n
            Addition *larger
        if self.n_sets == self.grown.shape[0]:
            self.grown = np.resize(self.grown, 2 * self.n_sets)
            self.shrunk = np.resize(self.shrunk, 2 * self.n_sets)
            self.is_shrunk = np.resize(self.is_shrunk, 2 * self.n_sets)
            self.first = np.resize(self.first, 2 * self.n_sets)
            self.end = np.resize(self.end, 2 * self.n_sets)
        if self.n_additions + self.n > self.room:
            larger = <Addition *> realloc(self.additions, room * sizeof(Addition))
            if larger == NULL:
                raise MemoryError
            self.additions, self.room = larger, room
        return 0

    cdef int shrink(self, Py_ssize_t node, Py_ssize_t index) except -1:
        """Take parents out of a set while that raises the score."""
        cdef:
            Py_ssize_t k
            double best = self.grown[index]
            tuple parents = self.sets[index]
        # of two additions each pays beside the other, or the first had been the other
        pays = len(parents) > len(self.required[node]) + 2
        while pays and parents:
            values = self.score.removal_scores(node, parents)
            for k in range(len(parents)):
                if parents[k] in self.required[node]:
                    values[k] = -INFINITY
            k = int(values.argmax())
            pays = values[k] > best + self.least_gain
            if pays:
                best, parents = values[k], parents[:k] + parents[k + 1:]
        with self.lock:
            self.shrunk[index] = best
            self.shrunk_sets[index] = parents
            self.is_shrunk[index] = True
        return 0

    cdef Py_ssize_t grow(
        self, Py_ssize_t node, const unsigned char[::1] stands,
        unsigned char[::1] looks_at,
    ) except -1:
        """The set that a node grows from the variables that stand.

        Tells the variables on which that depends.
        """
        cdef Py_ssize_t index = self.root[node], k, n_parents
        looks_at[:] = 0
        for parent in self.required[node]:
            looks_at[parent] = True
        n_parents = len(self.required[node])
        while n_parents < self.max_parents:
            for k in range(self.first[index], self.end[index]):
                looks_at[self.additions[k].variable] = True
                if stands[self.additions[k].variable]:
                    break
            else:
                break
            if self.additions[k].leads_to < 0:
                parents = [*self.sets[index], self.numbers[self.additions[k].variable]]
                found = self.set_of(
                    node, tuple(sorted(parents)), self.additions[k].worth
                )
                self.additions[k].leads_to = found
            index = self.additions[k].leads_to
            n_parents += 1
        if not self.is_shrunk[index]:
            self.shrink(node, index)
        return index

    cdef double value_at(self, Py_ssize_t node, Py_ssize_t index) except? -1:
        """What a node's set is worth: -inf if a required parent is missing."""
        for parent in self.required[node]:
            if not self.stands[parent]:
                return -INFINITY
        return self.shrunk[index]

    # ------------------------------------------------------------------ orders

    def set_order(self, order):
        """Move to an order of the nodes that do not stand before all; parents first."""
        cdef Py_ssize_t k, node
        self.order_ = np.array(order, dtype=np.intp)
        self.stands[:] = self.standing
        for k in range(self.n_main):
            node = self.order_[k]
            self.chosen[node] = self.grow(node, self.stands, self.looks_at[node])
            self.values[node] = self.value_at(node, self.chosen[node])
            self.stands[node] = True

    @property
    def order(self):
        """The order, parents first."""
        return np.array(self.order_)

    @property
    def log_score(self):
        """Log score of the DAG."""
        return float(np.sum(self.values))

    def adjacency(self):
        """The DAG, A[i, j] for i -> j."""
        graph = np.zeros((self.n, self.n), dtype=bool)
        for node in self.order_:
            graph[list(self.shrunk_sets[self.chosen[node]]), node] = True
        return graph

    def score_with_parents(self, Py_ssize_t node, tuple parents):
        """Log score of the order with nodes behind this one right before it instead.

        It is -inf unless the node takes all of them for parents. The order stays.
        """
        cdef:
            Py_ssize_t k = 0, n_moved = len(parents), left = n_moved, i, other, found
            double total = 0.0
            bint is_moved, matters
        self.stands[:] = self.standing
        while self.order_[k] != node:
            total += self.values[self.order_[k]]
            self.stands[self.order_[k]] = True
            k += 1
        for i in range(n_moved):
            other = self.others[i] = parents[i]
            found = self.grow(other, self.stands, self.other_looks)
            total += self.value_at(other, found)
            self.stands[other] = True
        other = self.grow(node, self.stands, self.other_looks)
        if not set(parents) <= set(self.shrunk_sets[other]):
            return -INFINITY
        total += self.value_at(node, other)
        self.stands[node] = True
        for k in range(k + 1, self.n_main):
            other = self.order_[k]
            is_moved = matters = False
            if left:  # those behind the last of the moved had them all before
                for i in range(n_moved):
                    is_moved = is_moved or self.others[i] == other
                    matters = matters or self.looks_at[other, self.others[i]]
            if is_moved:
                left -= 1
            elif matters:
                found = self.grow(other, self.stands, self.other_looks)
                total += self.value_at(other, found)
            else:
                total += self.values[other]
            self.stands[other] = True
        return total

    def relocate(self, Py_ssize_t node):
        """Move a node to its best place; tell whether that was another one."""
        cdef:
            Py_ssize_t k, place = -1, best, n_others = self.n_main - 1
            double before, total, highest
        for k in range(self.n_main):
            if self.order_[k] == node:
                place = k
            else:
                self.others[k - (place >= 0)] = self.order_[k]
        self.try_places(node, place)
        # values of those after each place, if they have the node before them
        self.value_with[n_others] = 0.0
        for k in range(n_others - 1, -1, -1):
            self.value_with[k] += self.value_with[k + 1]
        before, best, highest = 0.0, place, -INFINITY
        for k in range(n_others + 1):
            total = before + self.own_value[k] + self.value_with[k]
            if k == place:
                total += self.least_gain
            if total > highest:
                best, highest = k, total
            if k < n_others:
                before += self.value_without[k]
        if best == place:
            return False
        self.place(node, best)
        self.look_again(node, place, best)
        return True

    def look_ahead(self, Py_ssize_t node):
        """Score the sets of a node that relocations ask for as long as none pays.

        They change nothing else, so that several threads may look ahead for different
        nodes.
        """
        cdef:
            Py_ssize_t k, place = 0, other
            unsigned char[::1] stands = self.standing.copy()
            unsigned char[::1] looks = np.empty(self.n, dtype=np.uint8)
        # its own places
        self.grow(node, stands, looks)
        for k in range(self.n_main):
            other = self.order_[k]
            if other == node:
                place = k
                continue
            stands[other] = True
            if looks[other]:
                self.grow(node, stands, looks)
        # where it stands, while others pass by
        for k in range(place + 1, self.n_main):
            stands[self.order_[k]] = False
        for k in range(self.n_main):
            other = self.order_[k]
            if k != place and self.looks_at[node, other]:
                stands[other] = not stands[other]
                self.grow(node, stands, looks)
                stands[other] = not stands[other]

    cdef int try_places(self, Py_ssize_t node, Py_ssize_t place) except -1:
        """What the node, and those that it may pass, are worth wherever it stands."""
        cdef:
            Py_ssize_t k, other, index
            double value
        self.stands[:] = self.standing
        self.own_set[0] = self.grow(node, self.stands, self.own_looks)
        self.own_value[0] = self.value_at(node, self.own_set[0])
        for k in range(self.n_main - 1):
            other = self.others[k]
            self.set_without[k] = self.set_with[k] = self.chosen[other]
            self.value_without[k] = self.value_with[k] = self.values[other]
            if self.looks_at[other, node]:
                self.stands[node] = k < place
                index = self.grow(other, self.stands, self.other_looks)
                value = self.value_at(other, index)
                self.stands[node] = False
                if k < place:
                    self.set_with[k], self.value_with[k] = index, value
                else:
                    self.set_without[k], self.value_without[k] = index, value
            self.stands[other] = True
            if self.own_looks[other]:
                self.own_set[k + 1] = self.grow(node, self.stands, self.own_looks)
                self.own_value[k + 1] = self.value_at(node, self.own_set[k + 1])
            else:
                self.own_set[k + 1] = self.own_set[k]
                self.own_value[k + 1] = self.own_value[k]
        return 0

    cdef int place(self, Py_ssize_t node, Py_ssize_t best) except -1:
        """Put the node at a place that was tried."""
        cdef Py_ssize_t k, other
        for k in range(self.n_main - 1):
            other = self.others[k]
            self.order_[k if k < best else k + 1] = other
            self.chosen[other] = self.set_without[k] if k < best else self.set_with[k]
            self.values[other] = self.shrunk[self.chosen[other]]
        self.order_[best] = node
        self.chosen[node] = self.own_set[best]
        self.values[node] = self.own_value[best]
        return 0

    cdef int look_again(
        self, Py_ssize_t node, Py_ssize_t place, Py_ssize_t now
    ) except -1:
        """Walk again for those that look at a node that has moved, and for itself."""
        cdef Py_ssize_t k, other
        self.stands[:] = self.standing
        for k in range(max(place, now) + 1):
            other = self.order_[k]
            if k >= min(place, now) and (other == node or self.looks_at[other, node]):
                self.grow(other, self.stands, self.looks_at[other])
            self.stands[other] = True
        return 0
