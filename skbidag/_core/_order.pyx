# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False
"""Order MCMC (Friedman & Koller 2003; Kuipers, Suter & Moffa 2022, section 2).

State
    An order of the nodes with the standing of each, see `_order_state.pyx`.
Moves
    *swap*: exchange two nodes at random. *transposition*: exchange two neighbors.
    Both are symmetric proposals, accepted with the ratio of the scores.
    *relocation*: take a node out and put it back at one of the n places, drawn in
    proportion to the scores: a Gibbs move, always accepted.
What stays true
    A chain never stands on an order that a required edge rules out (score -inf);
    proposals of such orders are rejected.
Cost
    A transposition has two passings, a swap about n / 3, a relocation 2 n, and the
    last two are tried once in n steps. So a step of the usual mixture costs O(K),
    however many nodes there are.

The scores may be raised to a power (tempering) when searching. Every order that is
looked at, accepted or not, is inspected for the best.
"""

cimport cython
from libc.math cimport INFINITY, fabs
from libc.stdint cimport int64_t
from libc.string cimport memcpy, memset

import numpy as np

from skbidag._core._order_state cimport REFRESH, OrderState, Standing
from skbidag._core._parents cimport NONE, ParentSet, mark_edges
from skbidag._core._random cimport below, bitgen_of, skb_bitgen, uniform
from skbidag._core._tables cimport NodeView, TableViews
from skbidag._core._vector cimport skb_exp


cdef enum:
    SWAP, TRANSPOSITION, RELOCATION


@cython.final
cdef class OrderChain(OrderState):
    """One chain over orders.

    Parameters
    ----------
    views : TableViews
        The tables, with sums for sampling or maxima for searching.
    bit_generator : numpy.random.BitGenerator
        The chain's own stream of random numbers.
    order : array of shape (n,)
        Where to start: a permutation, parents to the right of their children.
    move_probabilities : array of shape (3,)
        How often to swap, transpose and relocate.
    maximize : bool
        Whether a node's score is its best parent set or the sum over all.
    scan : bool
        Relocate the nodes in turn instead of at random.
    power : float
        Power of the scores; 1 samples from the posterior.
    """

    cdef:
        object bit_generator
        skb_bitgen *bitgen
        bint scan
        Py_ssize_t scan_node
        double swap_below
        double transposition_below
        public double power
        # the best order seen
        Py_ssize_t[::1] best_order_
        readonly double best_log_score
        Py_ssize_t n_steps
        int64_t[::1] proposed
        int64_t[::1] accepted
        # nodes whose relocation may pay, a ring
        Py_ssize_t[::1] queue
        Py_ssize_t first_waiting
        Py_ssize_t n_waiting
        unsigned char[::1] waits
        # where a kick began
        Py_ssize_t[::1] kept_order

    def __init__(
        self, TableViews views, bit_generator, order, move_probabilities,
        bint maximize=False, bint scan=False, double power=1.0,
    ):
        self.bit_generator = bit_generator
        self.bitgen = bitgen_of(bit_generator)
        self.maximize = maximize
        self.scan = scan
        self.scan_node = 0
        self.power = power
        self.swap_below = move_probabilities[SWAP]
        self.transposition_below = self.swap_below + move_probabilities[TRANSPOSITION]
        self.best_order_ = np.array(order, dtype=np.intp)
        self.proposed = np.zeros(3, dtype=np.int64)
        self.accepted = np.zeros(3, dtype=np.int64)
        self.queue = np.empty(self.n, dtype=np.intp)
        self.waits = np.zeros(self.n, dtype=np.uint8)
        self.kept_order = np.empty(self.n, dtype=np.intp)
        self.best_log_score = -INFINITY
        self.n_steps = 0
        self.set_order(order)

    # ------------------------------------------------------------------ state

    def set_order(self, order):
        """Move to an order."""
        self.take_order(order)
        self.inspect(self.current)

    @property
    def best_order(self):
        """The best order seen."""
        return np.array(self.best_order_)

    @property
    def proposed_moves(self):
        """Number of swaps, transpositions and relocations proposed."""
        return np.array(self.proposed)

    @property
    def accepted_moves(self):
        """Number of swaps, transpositions and relocations that changed the order."""
        return np.array(self.accepted)

    def __getstate__(self):
        return self.standings() | {
            "best_order": self.best_order,
            "best_log_score": self.best_log_score, "scan_node": self.scan_node,
            "proposed": self.proposed_moves, "accepted": self.accepted_moves,
            "bit_generator": self.bit_generator.state,
        }

    def restore(self, state):
        """Go on from a state that ``__getstate__`` gave."""
        self.restore_standings(state)
        self.best_order_ = np.array(state["best_order"], dtype=np.intp)
        self.best_log_score = state["best_log_score"]
        self.scan_node = state["scan_node"]
        self.proposed = np.array(state["proposed"], dtype=np.int64)
        self.accepted = np.array(state["accepted"], dtype=np.int64)
        self.n_steps = state["proposed"].sum()
        self.bit_generator.state = state["bit_generator"]

    cdef inline double least_gain(self, double log_score) noexcept nogil:
        """More than rounding, or two orders of one DAG could take turns.

        Hardly more where the score is larger: that depends on the units of the data,
        on which the path must not.
        """
        return 1e-7 + 1e-12 * fabs(log_score)

    cdef inline void inspect(self, double log_score) noexcept nogil:
        """Keep the present order if none was better, the first of equals."""
        if log_score > self.best_log_score + self.least_gain(log_score):
            self.best_log_score = log_score
            self.best_order_[:] = self.order_

    # ------------------------------------------------------------------ moves

    cdef inline bint accepts(self, double change) noexcept nogil:
        # One number however the change comes out: score equivalence makes many
        # changes zero to rounding, whose sign must not shift the stream.
        cdef double u = uniform(self.bitgen)
        return change >= 0 or u < skb_exp(self.power * change)

    cdef bint try_swap(self, Py_ssize_t p, Py_ssize_t q) noexcept nogil:
        cdef double change = self.propose_swap(p, q)
        cdef bint accept = self.accepts(change)
        if accept:
            self.apply_swap(p, q, change)
            self.inspect(self.current)
        return accept

    cdef bint relocate(self, Py_ssize_t node) noexcept nogil:
        cdef:
            Py_ssize_t from_ = <Py_ssize_t> self.place[node]
            Py_ssize_t k, slot, best = 0
            double top = -INFINITY, least
        self.propose_relocation(node)
        for k in range(self.n_passed + 1):
            top = max(top, self.stretch_total[k])
        least = self.least_gain(top)
        # the first of equals, which must not be up to rounding
        while self.stretch_total[best] < top - least:
            best += 1
        best = self.stretch_first[best]
        slot = self.draw_slot(self.power, top, best, self.bitgen)
        if self.maximize and top > self.best_log_score + least:
            slot = best  # do not walk past the best order so far
        self.apply_relocation(node, slot)
        self.inspect(self.current)
        return slot != from_

    cdef void step(self) noexcept nogil:
        cdef:
            double u = uniform(self.bitgen)
            Py_ssize_t n = self.n_main, p, q
            int move
            bint changed
        if u < self.swap_below:
            move = SWAP
            p = below(self.bitgen, n)
            q = below(self.bitgen, n - 1)
            if q >= p:
                q += 1
            changed = self.try_swap(min(p, q), max(p, q))
        elif u < self.transposition_below:
            move = TRANSPOSITION
            p = below(self.bitgen, n - 1)
            changed = self.try_swap(p, p + 1)
        else:
            move = RELOCATION
            if self.scan:
                p = self.scan_node
                self.scan_node = (p + 1) % n
            else:
                p = below(self.bitgen, n)
            changed = self.relocate(self.views.main[p])
        self.proposed[move] += 1
        self.accepted[move] += changed

    def run(self, Py_ssize_t n_steps):
        """Make `n_steps` steps without holding the GIL."""
        cdef Py_ssize_t _
        if self.n_main < 2:
            return  # one order only: every step stays on it
        with nogil:
            for _ in range(n_steps):
                self.step()
                # at fixed steps of the chain, not of the block
                self.n_steps += 1
                if self.n_steps % REFRESH == 0:
                    self.look_up_all()

    @property
    def few_relatives(self):
        """Whether nodes share tables with few others, so that relocations are cheap."""
        return self.views.few_relatives

    def sweep(self, Py_ssize_t n_sweeps):
        """Relocate every node in turn, `n_sweeps` times, without holding the GIL."""
        cdef Py_ssize_t _, k
        if self.n_main < 2:
            return
        with nogil:
            for _ in range(n_sweeps):
                for k in range(self.n_main):
                    self.relocate(self.views.main[k])
                self.look_up_all()

    def climb(self):
        """Relocate nodes to their best places until none can be bettered.

        Returns
        -------
        log_score : float
            Of the local optimum, at which the chain then stands.
        """
        cdef Py_ssize_t k, since_change = 0
        if self.n_main < 2:
            return self.current
        with nogil:
            self.refresh()
            k = below(self.bitgen, self.n_main)
            while since_change < self.n_main:
                since_change += 1
                if self.better(self.views.main[k]):
                    since_change = 0
                    if self.views.column_numbers != NULL:
                        # those concerned first, then all, which are many
                        self.better_waiting()
                k = (k + 1) % self.n_main
            self.refresh()
            self.inspect(self.current)
        return self.current

    cdef bint better(self, Py_ssize_t node) noexcept nogil:
        """Relocate a node to its best place, if that is another; tell whether it is."""
        cdef Py_ssize_t k, best
        cdef double least
        self.propose_relocation(node)
        best = self.n_left
        least = self.least_gain(self.stretch_total[best])
        # the first of equals, which must not be up to rounding
        for k in range(self.n_passed + 1):
            if self.stretch_total[k] > self.stretch_total[best] + least:
                best = k
        if best == self.n_left:
            return False
        self.move_with_notice(node, self.stretch_first[best])
        return True

    # ------------------------------------------ climbs among those that are concerned

    cdef void move_with_notice(self, Py_ssize_t node, Py_ssize_t slot) noexcept nogil:
        """Relocate a node as proposed; those whom that concerns wait for their turn.

        What a relocation of another one is worth may change for those who share a
        table with the node, or with one that it passes, in each case if one of the two
        is a candidate of the other. Outsiders matter rarely: they are left to the end.
        """
        cdef Py_ssize_t to, k
        if self.views.column_numbers != NULL:
            to = self.stretch_of(slot)
            self.wait_around(node)
            for k in range(min(to, self.n_left), max(to, self.n_left)):
                if self.new[k].score != self.standing[self.passed[k]].score:
                    self.wait(self.passed[k])
                    self.wait_candidates(self.passed[k])
        self.apply_relocation(node, slot)

    cdef inline void wait(self, Py_ssize_t node) noexcept nogil:
        """Put a node into the queue, unless it is there, or in the background."""
        if not (self.waits[node] or self.views.in_background[node]):
            self.waits[node] = True
            self.queue[(self.first_waiting + self.n_waiting) % self.n] = node
            self.n_waiting += 1

    cdef void wait_candidates(self, Py_ssize_t node) noexcept nogil:
        cdef Py_ssize_t k
        for k in range(self.views.nodes[node].n_candidates):
            self.wait(self.views.nodes[node].candidates[k])

    cdef void wait_around(self, Py_ssize_t node) noexcept nogil:
        """Let wait the node's candidates, and those of which it is one."""
        cdef Py_ssize_t k, other
        self.wait_candidates(node)
        for k in range(
            self.views.first_relative[node], self.views.first_relative[node + 1]
        ):
            other = self.views.relatives[k]
            if self.views.bits[other * self.n + node] >= 0:
                self.wait(other)

    cdef void better_waiting(self) noexcept nogil:
        """Relocate those who wait until nobody does."""
        cdef Py_ssize_t node
        while self.n_waiting:
            node = self.queue[self.first_waiting]
            self.first_waiting = (self.first_waiting + 1) % self.n
            self.n_waiting -= 1
            self.waits[node] = False
            self.better(node)

    def kick_around(self, Py_ssize_t n_kicks, Py_ssize_t size):
        """Iterated local search, here and there: for few relatives.

        A kick moves a random node past one of its candidates or of those whose
        candidate it is, that one past one of its own, and so on, `size` times. Then
        those climb whom that concerns, and a worse order is taken back.
        """
        cdef Py_ssize_t _, node
        cdef double before
        if not self.few_relatives:
            raise ValueError("nodes share tables with too many others")
        with nogil:
            self.refresh()
            for _ in range(n_kicks):
                before = self.current
                self.keep()
                node = self.views.main[below(self.bitgen, self.n_main)]
                self.kick_kin(node, size)
                self.better_waiting()
                if self.current < before - self.least_gain(before):
                    self.take_back(before)
            self.refresh()
            self.inspect(self.current)

    cdef void kick_kin(self, Py_ssize_t node, Py_ssize_t size) noexcept nogil:
        cdef Py_ssize_t _, k, n_kin, kin = 0, slot
        for _ in range(size):
            n_kin = 0
            for k in range(
                self.views.first_relative[node], self.views.first_relative[node + 1]
            ):
                if self.are_kin(node, self.views.relatives[k]):
                    n_kin += 1
                    if below(self.bitgen, n_kin) == 0:
                        kin = self.views.relatives[k]
            if n_kin == 0:
                return
            self.propose_relocation(node)
            slot = <Py_ssize_t> self.place[kin]
            if self.stretch_total[self.stretch_of(slot)] > -INFINITY:
                self.move_with_notice(node, slot)
                self.wait(node)
            node = kin

    cdef inline bint are_kin(self, Py_ssize_t i, Py_ssize_t j) noexcept nogil:
        """Whether one is a candidate of the other, which is not in the background."""
        return self.place[j] < self.n_main and (
            self.views.bits[i * self.n + j] >= 0
            or self.views.bits[j * self.n + i] >= 0
        )

    cdef void keep(self) noexcept nogil:
        memcpy(&self.kept_order[0], &self.order_[0], self.n * sizeof(Py_ssize_t))
        memcpy(self.kept_standing, self.standing, self.n * sizeof(Standing))

    cdef void take_back(self, double before) noexcept nogil:
        """Go back to what was kept."""
        cdef Py_ssize_t p
        memcpy(&self.order_[0], &self.kept_order[0], self.n * sizeof(Py_ssize_t))
        memcpy(self.standing, self.kept_standing, self.n * sizeof(Standing))
        for p in range(self.n):
            self.place[self.order_[p]] = p
        self.current = before

    def climb_by_swaps(self, Py_ssize_t reach):
        """Make the exchange that betters the order most, again and again.

        As :meth:`climb`, by exchanges of nodes up to `reach` places apart: 1 are
        transpositions of neighbors.
        """
        cdef Py_ssize_t p, q, left, right
        cdef double change, most
        if self.n_main < 2:
            return self.current
        with nogil:
            self.refresh()
            while True:
                left, right, most = 0, 0, self.least_gain(self.current)
                # the first of equals, which must not be up to rounding
                for p in range(self.n_main - 1):
                    for q in range(p + 1, min(p + reach + 1, self.n_main)):
                        change = self.propose_swap(p, q)
                        if change > most:
                            left, right = p, q
                            most = change + self.least_gain(self.current)
                if right == 0:
                    break
                # what a proposal leaves behind is that of the last one
                change = self.propose_swap(left, right)
                self.apply_swap(left, right, change)
            self.refresh()
            self.inspect(self.current)
        return self.current

    def kick(self, Py_ssize_t n_moves):
        """Put `n_moves` random nodes at random places, required edges permitting."""
        cdef Py_ssize_t _, node, slot
        if self.n_main < 2:
            return
        with nogil:
            for _ in range(n_moves):
                node = self.views.main[below(self.bitgen, self.n_main)]
                slot = below(self.bitgen, self.n_main)
                self.propose_relocation(node)
                if self.stretch_total[self.stretch_of(slot)] > -INFINITY:
                    self.apply_relocation(node, slot)

    # -------------------------------------------------- one move, for the tests

    def swap_change(self, Py_ssize_t p, Py_ssize_t q):
        """Change in log score if the nodes at places p < q were exchanged."""
        return self.propose_swap(p, q)

    def relocation_scores(self, Py_ssize_t node):
        """Log scores with `node` put at each of the places."""
        self.propose_relocation(node)
        lengths = np.diff(self.stretch_first[:self.n_passed + 2])
        return np.repeat(self.stretch_total[:self.n_passed + 1], lengths)

    # ------------------------------------------------------------ drawing a DAG

    def draw_dag(self, unsigned char[:, ::1] packed):
        """Draw a DAG from the posterior given the order.

        Parameters
        ----------
        packed : (n, ceil(n / 8)) array of bytes
            Gets the adjacency matrix, A[i, j] = 1 for i -> j, with eight columns to
            a byte as in ``numpy.packbits``.

        Returns
        -------
        log_score : float
            The log score of the DAG.
        """
        cdef Py_ssize_t i
        cdef const NodeView *view
        cdef ParentSet parents
        cdef double total = 0.0
        with nogil:
            memset(&packed[0, 0], 0, packed.shape[0] * packed.shape[1])
            for i in range(self.n):
                view = &self.views.nodes[i]
                parents = self.draw_parents(i, ParentSet(NONE, NONE), self.bitgen)
                total += view.scores[parents.subset * view.width + parents.column]
                mark_edges(&packed[0, 0], packed.shape[1], view, i, parents)
        return total
