# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False
"""Climbing over orders where every node may choose its parents from all before it.

Written from Andrews, Ramsey, Sanchez Romero, Camchong & Kummerfeld (2023), *Fast
scalable and accurate discovery of DAGs using the best order score search and
grow-shrink trees*, NeurIPS 36.

State
    An order of the nodes, and the parents that each node gets in it by its tree
    (`_grow_shrink_trees.pyx`). No table limits whom it chooses from.
Move
    *relocation*: a node moves to the place that is best for the whole order.
What stays true
    All parents of a node stand before it, the required ones among them, and the log
    score is the sum of what the nodes' parents are worth.
Cost
    What a walk looked at, it depends on: the variables that it took, and those that it
    would have taken had they stood. Whether any other one stands does not matter to
    the node. So a relocation takes a walk for each node that looks at the one that
    moves, one wherever this one looks, and a glance at each of the others.

Helpers
    Most relocations of a sweep come to nothing. So other threads try nodes whose turn
    comes later, in the order as it is. Where all that this took was settled before, and
    the node stays where it is, it need not be tried again unless another one moves
    first; otherwise it is, with all sets at hand. So a sweep goes the same way
    whoever helps. The order moves while nobody looks at it: helpers break off.
"""

from cpython.pythread cimport (
    PyThread_acquire_lock,
    PyThread_allocate_lock,
    PyThread_free_lock,
    PyThread_release_lock,
    PyThread_type_lock,
    WAIT_LOCK,
)

cimport cython
from libc.math cimport INFINITY
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

import numpy as np

from skbidag._core._grow_shrink_trees cimport (
    Grown,
    GrowShrinkTrees,
    Looks,
    Walker,
    free_looks,
    load_int,
    new_looks,
    shrunk_of,
    store_int,
)

# What is known of a node whose turn has not come
cdef enum:
    NOTHING
    BEING_TRIED
    STAYS
    TRIED  # it may move, or not all was settled

cdef enum:
    BROKEN_OFF = -1
    FEWEST_TOGETHER = 8  # nodes that are not worth waking helpers for


cdef struct Trial:
    # a node that is tried elsewhere, and the others without it before them and with it
    Walker *walker
    Looks looks             # of the node; the walker has those of the others
    Py_ssize_t place        # where it stands
    Py_ssize_t *others
    double *own_value
    double *value_without
    double *value_with
    Grown **own_set
    Grown **set_without
    Grown **set_with


cdef struct Helper:
    PyThread_type_lock wake     # held while there is nothing to do
    bint waits


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
        GrowShrinkTrees trees
        double least_gain
        Py_ssize_t n, n_main
        unsigned char[::1] standing
        Py_ssize_t[::1] order_              # parents first
        double[::1] values
        Grown **chosen                      # the set in the tree that each node ends at
        Looks *looks                        # of each node, on its walk
        unsigned char[:, ::1] looked_at_by  # [variable, node]
        Trial *trial
        Trial *trial_ahead
        # the sweep that is going on
        Py_ssize_t[::1] turns
        unsigned char[::1] known            # of each turn
        Py_ssize_t n_turns, next_turn       # the first one that nobody has looked at
        PyThread_type_lock board            # for all that is below
        PyThread_type_lock silence          # held unless the last helper has broken off
        Helper *helpers
        Py_ssize_t n_helpers, n_busy
        bint is_open, is_over
        int is_moving                       # helpers are to break off

    def __cinit__(
        self, score, forbidden, required, standing, Py_ssize_t max_parents,
        double least_gain,
    ):
        cdef Py_ssize_t n = len(forbidden)
        self.trees = GrowShrinkTrees(
            score, forbidden, required, standing, max_parents, least_gain
        )
        self.least_gain = least_gain
        self.n = n
        self.standing = np.array(standing, dtype=np.uint8)
        self.n_main = n - int(np.sum(standing))
        self.order_ = np.empty(self.n_main, dtype=np.intp)
        self.values = np.zeros(n)
        self.looked_at_by = np.zeros((n, n), dtype=np.uint8)
        self.turns = np.empty(0, dtype=np.intp)
        self.known = np.empty(0, dtype=np.uint8)
        self.chosen = <Grown **> calloc(n + 1, sizeof(Grown *))
        self.looks = <Looks *> calloc(n + 1, sizeof(Looks))
        self.board = PyThread_allocate_lock()
        self.silence = PyThread_allocate_lock()
        if (
            self.chosen == NULL or self.looks == NULL or self.board == NULL
            or self.silence == NULL
        ):
            raise MemoryError
        PyThread_acquire_lock(self.silence, WAIT_LOCK)
        self.trial = self.new_trial()
        self.trial_ahead = self.new_trial()
        self.trial_ahead.walker.ahead = True

    def __dealloc__(self):
        cdef Py_ssize_t node
        self.free_trial(self.trial)
        self.free_trial(self.trial_ahead)
        if self.looks != NULL:
            for node in range(self.n):
                free(self.looks[node].variables)
        free(self.looks)
        free(self.chosen)
        if self.board != NULL:
            PyThread_free_lock(self.board)
        if self.silence != NULL:
            PyThread_release_lock(self.silence)
            PyThread_free_lock(self.silence)

    cdef Trial *new_trial(self) except NULL:
        cdef:
            Trial *trial = <Trial *> calloc(1, sizeof(Trial))
            Py_ssize_t n = self.n + 1
        if trial == NULL:
            raise MemoryError
        trial.others = <Py_ssize_t *> malloc(n * sizeof(Py_ssize_t))
        trial.own_value = <double *> malloc(3 * n * sizeof(double))
        trial.own_set = <Grown **> malloc(3 * n * sizeof(Grown *))
        if trial.others == NULL or trial.own_value == NULL or trial.own_set == NULL:
            self.free_trial(trial)
            raise MemoryError
        trial.value_without = trial.own_value + n
        trial.value_with = trial.own_value + 2 * n
        trial.set_without = trial.own_set + n
        trial.set_with = trial.own_set + 2 * n
        trial.looks = new_looks(self.n)
        trial.walker = self.trees.new_walker()
        return trial

    cdef void free_trial(self, Trial *trial) noexcept:
        if trial == NULL:
            return
        if trial.walker != NULL:
            self.trees.free_walker(trial.walker)
        free_looks(&trial.looks)
        free(trial.others)
        free(trial.own_value)
        free(trial.own_set)
        free(trial)

    # ------------------------------------------------------------------ orders

    cdef void restart(self, Walker *walker) noexcept nogil:
        """Let those stand that stand before all others."""
        memcpy(walker.stands, &self.standing[0], self.n)

    cdef int keep_looks(self, Py_ssize_t node, const Looks *looks) except -1 nogil:
        """Remember what a node's walk looked at."""
        cdef:
            Looks *kept = &self.looks[node]
            Py_ssize_t k
        for k in range(kept.n):
            self.looked_at_by[kept.variables[k], node] = False
        free(kept.variables)
        kept.n = 0
        kept.variables = <int *> malloc((looks.n + 1) * sizeof(int))
        if kept.variables == NULL:
            with gil:
                raise MemoryError
        kept.n = looks.n
        for k in range(looks.n):
            kept.variables[k] = looks.variables[k]
            self.looked_at_by[looks.variables[k], node] = True
        return 0

    def set_order(self, order):
        """Move to an order of the nodes that do not stand before all; parents first."""
        cdef Py_ssize_t k, node
        cdef Walker *walker = self.trial.walker
        self.order_ = np.array(order, dtype=np.intp)
        with nogil:
            self.restart(walker)
            for k in range(self.n_main):
                node = self.order_[k]
                self.chosen[node] = self.trees.grow(node, walker, &walker.looks)
                self.keep_looks(node, &walker.looks)
                self.values[node] = self.trees.value_at(
                    node, self.chosen[node], walker.stands
                )
                walker.stands[node] = True

    def forget(self):
        """Give back the memory of all sets but those that the order is on.

        The order stays, and the sets that it leads to are scored again. No sweep may
        be going on.
        """
        with nogil:
            self.trees.forget(self.trial.walker)
        self.set_order(self.order_)

    @property
    def order(self):
        """The order, parents first."""
        return np.array(self.order_)

    @property
    def log_score(self):
        """Log score of the DAG."""
        return float(np.sum(self.values))

    @property
    def n_sets(self):
        """How many sets of parents have been looked at."""
        return self.trees.n_met()

    def edges(self):
        """The edges of the DAG: two arrays, of parents and of children."""
        cdef:
            Py_ssize_t k, i, node, n_edges = 0
            Py_ssize_t[::1] parents, children
        for k in range(self.n_main):
            n_edges += self.chosen[self.order_[k]].n_shrunk
        of_parents = parents = np.empty(n_edges, dtype=np.intp)
        of_children = children = np.empty(n_edges, dtype=np.intp)
        n_edges = 0
        for k in range(self.n_main):
            node = self.order_[k]
            for i in range(self.chosen[node].n_shrunk):
                parents[n_edges] = shrunk_of(self.chosen[node])[i]
                children[n_edges] = node
                n_edges += 1
        return np.asarray(of_parents), np.asarray(of_children)

    def adjacency(self):
        """The DAG, A[i, j] for i -> j."""
        graph = np.zeros((self.n, self.n), dtype=bool)
        graph[self.edges()] = True
        return graph

    def ancestors(self, Py_ssize_t node):
        """Which variables paths lead from to a node, itself among them."""
        cdef:
            Py_ssize_t k, i, other
            unsigned char[::1] found = np.zeros(self.n, dtype=np.uint8)
        found[node] = True
        for k in range(self.n_main - 1, -1, -1):
            other = self.order_[k]
            if found[other]:
                for i in range(self.chosen[other].n_shrunk):
                    found[shrunk_of(self.chosen[other])[i]] = True
        return np.asarray(found).view(bool)

    def score_with_parents(self, Py_ssize_t node, tuple parents):
        """Log score of the order with nodes behind this one right before it instead.

        It is -inf unless the node takes all of them for parents. The order stays.
        """
        cdef Py_ssize_t k, n_moved = len(parents)
        cdef double total
        for k in range(n_moved):
            self.trial.others[k] = parents[k]
        with nogil:
            total = self.moved_before(node, self.trial.others, n_moved)
        return total

    cdef double moved_before(
        self, Py_ssize_t node, const Py_ssize_t *moved, Py_ssize_t n_moved
    ) except? -1 nogil:
        cdef:
            Walker *walker = self.trial.walker
            Grown *found
            Py_ssize_t k = 0, left = n_moved, i, other
            double total = 0.0
            bint is_moved, matters
        self.restart(walker)
        while self.order_[k] != node:
            total += self.values[self.order_[k]]
            walker.stands[self.order_[k]] = True
            k += 1
        for i in range(n_moved):
            found = self.trees.grow(moved[i], walker, NULL)
            total += self.trees.value_at(moved[i], found, walker.stands)
            walker.stands[moved[i]] = True
        found = self.trees.grow(node, walker, NULL)
        for i in range(n_moved):
            if not has_kept(found, moved[i]):
                return -INFINITY
        total += self.trees.value_at(node, found, walker.stands)
        walker.stands[node] = True
        for k in range(k + 1, self.n_main):
            other = self.order_[k]
            is_moved = matters = False
            if left:  # those behind the last of the moved had them all before
                for i in range(n_moved):
                    is_moved = is_moved or moved[i] == other
                    matters = matters or self.looked_at_by[moved[i], other]
            if is_moved:
                left -= 1
            elif matters:
                found = self.trees.grow(other, walker, NULL)
                total += self.trees.value_at(other, found, walker.stands)
            else:
                total += self.values[other]
            walker.stands[other] = True
        return total

    # -------------------------------------------------------------- relocations

    def relocate(self, Py_ssize_t node):
        """Move a node to its best place; tell whether that was another one."""
        cdef Py_ssize_t best
        with nogil:
            best = self.best_place(node, self.trial)
            if best != self.trial.place:
                self.move(node, best)
        return best != self.trial.place

    cdef Py_ssize_t best_place(self, Py_ssize_t node, Trial *trial) except -2 nogil:
        """The best place of a node, which may be its own; helpers may break off."""
        cdef:
            Py_ssize_t k, place = -1, best, n_others = self.n_main - 1
            double before, total, highest
            double *value_with = trial.value_with
        for k in range(self.n_main):
            if self.order_[k] == node:
                place = k
            else:
                trial.others[k - (place >= 0)] = self.order_[k]
        trial.place = place
        trial.walker.is_sure = True
        if self.try_places(node, trial) == BROKEN_OFF:
            return BROKEN_OFF
        # values of those after each place, if they have the node before them
        value_with[n_others] = 0.0
        for k in range(n_others - 1, -1, -1):
            value_with[k] += value_with[k + 1]
        before, best, highest = 0.0, place, -INFINITY
        for k in range(n_others + 1):
            total = before + trial.own_value[k] + value_with[k]
            if k == place:
                total += self.least_gain
            if total > highest:
                best, highest = k, total
            if k < n_others:
                before += trial.value_without[k]
        return best

    cdef int try_places(self, Py_ssize_t node, Trial *trial) except -2 nogil:
        """What the node, and those that it may pass, are worth wherever it stands."""
        cdef:
            Walker *walker = trial.walker
            unsigned char *stands = walker.stands
            const unsigned char *looked_at_by = &self.looked_at_by[node, 0]
            Py_ssize_t k, other, place = trial.place
            Grown *found
            double value
        self.restart(walker)
        found = self.trees.grow(node, walker, &trial.looks)
        trial.own_set[0] = found
        trial.own_value[0] = self.trees.value_at(node, found, stands)
        for k in range(self.n_main - 1):
            other = trial.others[k]
            trial.set_without[k] = trial.set_with[k] = self.chosen[other]
            trial.value_without[k] = trial.value_with[k] = self.values[other]
            if looked_at_by[other]:
                if walker.ahead and load_int(self.is_moving):
                    return BROKEN_OFF
                stands[node] = k < place
                found = self.trees.grow(other, walker, NULL)
                value = self.trees.value_at(other, found, stands)
                stands[node] = False
                if k < place:
                    trial.set_with[k], trial.value_with[k] = found, value
                else:
                    trial.set_without[k], trial.value_without[k] = found, value
            stands[other] = True
            if trial.looks.marked[other]:
                if walker.ahead and load_int(self.is_moving):
                    return BROKEN_OFF
                found = self.trees.grow(node, walker, &trial.looks)
                trial.own_set[k + 1] = found
                trial.own_value[k + 1] = self.trees.value_at(node, found, stands)
            else:
                trial.own_set[k + 1] = trial.own_set[k]
                trial.own_value[k + 1] = trial.own_value[k]
        return 0

    cdef int move(self, Py_ssize_t node, Py_ssize_t best) except -1 nogil:
        """Put the node at a place that was tried, and walk again whom that concerns."""
        cdef:
            Trial *trial = self.trial
            Walker *walker = trial.walker
            Py_ssize_t k, other, low = min(trial.place, best)
            Py_ssize_t high = max(trial.place, best)
        for k in range(self.n_main - 1):
            other = trial.others[k]
            self.order_[k if k < best else k + 1] = other
            self.chosen[other] = (
                trial.set_without[k] if k < best else trial.set_with[k]
            )
            self.values[other] = self.chosen[other].shrunk_value
        self.order_[best] = node
        self.chosen[node] = trial.own_set[best]
        self.values[node] = trial.own_value[best]
        self.restart(walker)
        for k in range(high + 1):
            other = self.order_[k]
            if k >= low and (other == node or self.looked_at_by[node, other]):
                self.trees.grow(other, walker, &walker.looks)
                self.keep_looks(other, &walker.looks)
            walker.stands[other] = True
        return 0

    # -------------------------------------------------------------- looking ahead

    def look_ahead(self, Py_ssize_t node):
        """Score the sets of a node that relocations ask for as long as none pays.

        They change nothing else, so that several threads may look ahead for different
        nodes.
        """
        cdef Walker *walker = self.trees.new_walker()
        try:
            with nogil:
                self.look_around(node, walker)
        finally:
            self.trees.free_walker(walker)

    cdef int look_around(self, Py_ssize_t node, Walker *walker) except -1 nogil:
        cdef:
            Py_ssize_t k, place = 0, other
            unsigned char *stands = walker.stands
            Looks *looks = &walker.looks
        self.restart(walker)
        # its own places
        self.trees.grow(node, walker, looks)
        for k in range(self.n_main):
            other = self.order_[k]
            if other == node:
                place = k
                continue
            stands[other] = True
            if looks.marked[other]:
                self.trees.grow(node, walker, looks)
        # where it stands, while others pass by
        for k in range(place + 1, self.n_main):
            stands[self.order_[k]] = False
        for k in range(self.n_main):
            other = self.order_[k]
            if k != place and self.looked_at_by[other, node]:
                stands[other] = not stands[other]
                self.trees.grow(node, walker, NULL)
                stands[other] = not stands[other]
        return 0

    # --------------------------------------------------------------------- sweeps

    def sweep(self, nodes):
        """Relocate nodes in turn; how many have moved."""
        cdef Py_ssize_t n_moved
        self.turns = np.array(nodes, dtype=np.intp)
        self.known = np.zeros(len(nodes), dtype=np.uint8)
        self.n_turns = len(nodes)
        try:
            with nogil:
                n_moved = self.relocate_in_turn()
        finally:
            # without the interpreter, which a helper may be waiting for
            with nogil:
                self.close()
        return n_moved

    cdef Py_ssize_t relocate_in_turn(self) except -1 nogil:
        cdef:
            Py_ssize_t turn = 0, ahead, best, n_moved = 0
            bint helped = self.n_helpers > 0 and self.n_turns >= FEWEST_TOGETHER
        if helped:
            self.open()
        while turn < self.n_turns:
            if helped:
                ahead = self.look_up_turn(&turn)
                if ahead >= 0:
                    self.try_ahead(ahead, self.trial_ahead)
                    continue
                if turn == self.n_turns:
                    break
            best = self.best_place(self.turns[turn], self.trial)
            if best != self.trial.place:
                if helped:
                    self.silence_helpers()
                self.move(self.turns[turn], best)
                if helped:
                    self.go_on_from(turn + 1)
                n_moved += 1
            turn += 1
        return n_moved

    cdef void open(self) noexcept nogil:
        """Let helpers come."""
        PyThread_acquire_lock(self.board, WAIT_LOCK)
        self.is_open = True
        PyThread_release_lock(self.board)
        self.go_on_from(0)

    cdef void close(self) noexcept nogil:
        """Let nobody look at the order any more."""
        if not self.is_open:
            return
        self.silence_helpers()
        PyThread_acquire_lock(self.board, WAIT_LOCK)
        self.is_open = False
        store_int(self.is_moving, False)
        PyThread_release_lock(self.board)

    cdef Py_ssize_t look_up_turn(self, Py_ssize_t *turn) noexcept nogil:
        """Pass over nodes that stay; the turn to try ahead of the next one, or -1.

        That is where another thread is at the next one.
        """
        cdef Py_ssize_t ahead = -1
        PyThread_acquire_lock(self.board, WAIT_LOCK)
        while turn[0] < self.n_turns and self.known[turn[0]] == STAYS:
            turn[0] += 1
        if turn[0] < self.n_turns:
            if self.known[turn[0]] == BEING_TRIED and self.next_turn < self.n_turns:
                ahead = self.take_turn()
            elif self.next_turn <= turn[0]:
                self.next_turn = turn[0] + 1
        PyThread_release_lock(self.board)
        return ahead

    cdef Py_ssize_t take_turn(self) noexcept nogil:
        """The first turn that nobody has looked at, for who holds the board."""
        cdef Py_ssize_t turn = self.next_turn
        self.next_turn += 1
        self.known[turn] = BEING_TRIED
        return turn

    cdef int try_ahead(self, Py_ssize_t turn, Trial *trial) except -1 nogil:
        """Find out whether a node stays where it is, before it is its turn."""
        cdef Py_ssize_t best
        cdef unsigned char known = TRIED
        try:
            best = self.best_place(self.turns[turn], trial)
            if best == trial.place and trial.walker.is_sure:
                known = STAYS
        finally:
            PyThread_acquire_lock(self.board, WAIT_LOCK)
            self.known[turn] = known
            PyThread_release_lock(self.board)
        return 0

    cdef void silence_helpers(self) noexcept nogil:
        """Wait until nobody looks at the order any more."""
        cdef bint is_silent
        PyThread_acquire_lock(self.board, WAIT_LOCK)
        store_int(self.is_moving, True)
        is_silent = self.n_busy == 0
        PyThread_release_lock(self.board)
        if not is_silent:
            PyThread_acquire_lock(self.silence, WAIT_LOCK)

    cdef void go_on_from(self, Py_ssize_t turn) noexcept nogil:
        """Forget what was known of later turns, and let helpers look at these."""
        PyThread_acquire_lock(self.board, WAIT_LOCK)
        if turn < self.n_turns:
            memset(&self.known[turn], NOTHING, self.n_turns - turn)
        self.next_turn = turn + 1  # the next one is that of who sweeps
        store_int(self.is_moving, False)
        if self.next_turn < self.n_turns:
            self.wake_helpers()
        PyThread_release_lock(self.board)

    # -------------------------------------------------------------------- helpers

    def expect_helpers(self, Py_ssize_t n_helpers):
        """Let so many other threads help, each of which calls :meth:`help`."""
        cdef Py_ssize_t k
        self.helpers = <Helper *> calloc(n_helpers + 1, sizeof(Helper))
        if self.helpers == NULL:
            raise MemoryError
        self.is_over = False
        self.n_helpers = 0
        while self.n_helpers < n_helpers:
            k = self.n_helpers
            self.helpers[k].wake = PyThread_allocate_lock()
            if self.helpers[k].wake == NULL:
                raise MemoryError
            PyThread_acquire_lock(self.helpers[k].wake, WAIT_LOCK)
            self.n_helpers += 1

    def help(self, Py_ssize_t which):
        """Look ahead in sweeps until helpers are dismissed."""
        cdef Trial *trial = self.new_trial()
        trial.walker.ahead = True
        try:
            with nogil:
                self.stay_ahead(&self.helpers[which], trial)
        except Exception:
            # whoever's turn it is meets what is wrong
            return
        finally:
            self.free_trial(trial)

    def dismiss_helpers(self):
        """Let helpers return; to be called before they are waited for."""
        PyThread_acquire_lock(self.board, WAIT_LOCK)
        self.is_over = True
        self.wake_helpers()
        PyThread_release_lock(self.board)

    def forget_helpers(self):
        """Give back what helpers needed, who must have returned."""
        cdef Py_ssize_t k
        for k in range(self.n_helpers):
            PyThread_release_lock(self.helpers[k].wake)
            PyThread_free_lock(self.helpers[k].wake)
        free(self.helpers)
        self.helpers, self.n_helpers = NULL, 0

    cdef void wake_helpers(self) noexcept nogil:
        """Wake those who wait, for who holds the board."""
        cdef Py_ssize_t k
        for k in range(self.n_helpers):
            if self.helpers[k].waits:
                self.helpers[k].waits = False
                PyThread_release_lock(self.helpers[k].wake)

    cdef int stay_ahead(self, Helper *helper, Trial *trial) except -1 nogil:
        cdef Py_ssize_t turn
        while True:
            turn = -1
            PyThread_acquire_lock(self.board, WAIT_LOCK)
            if self.is_over:
                PyThread_release_lock(self.board)
                return 0
            if (
                self.is_open and not self.is_moving
                and self.next_turn < self.n_turns
            ):
                turn = self.take_turn()
                self.n_busy += 1
            else:
                helper.waits = True
            PyThread_release_lock(self.board)
            if turn < 0:
                PyThread_acquire_lock(helper.wake, WAIT_LOCK)
                continue
            try:
                self.try_ahead(turn, trial)
            finally:
                PyThread_acquire_lock(self.board, WAIT_LOCK)
                self.n_busy -= 1
                if self.is_moving and self.n_busy == 0:
                    PyThread_release_lock(self.silence)
                PyThread_release_lock(self.board)


cdef inline bint has_kept(const Grown *grown, Py_ssize_t parent) noexcept nogil:
    """Whether a parent is left when a set has been shrunk."""
    cdef Py_ssize_t k
    for k in range(grown.n_shrunk):
        if shrunk_of(grown)[k] == parent:
            return True
    return False
