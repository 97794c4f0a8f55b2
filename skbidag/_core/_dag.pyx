# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False
"""MCMC over DAGs, by the moves of order MCMC.

State
    A DAG and one of its orders (`_ordered_dag.pyx`). The target is P(DAG) times the
    probability q of the order given the DAG, so that over DAGs it is P: each counts
    once, where over orders it counts as often as it has orders.
Moves
    A walk over orders in which parents are drawn anew has P(DAG), for all pairs that
    fit, as its target. Any move that is reversible for that is accepted here with
    q'/q beside. For q to change little, as few parents as can be are drawn anew: where
    a node *loses* permitted parents, its set stays if it has none of them; where it
    *gains* some, it stays with the probability that a new draw had none of them, which
    is Z/Z', the ratio of the node's sums before and after. Both together leave P(DAG)
    as it is: with S the set without and S' one with what is gained, moves in one
    direction have P(S) × P(S')/Z', in the other P(S') × P(S)/Z, and Z'/Z is what the
    orders' ratio holds for this node.

    *redraw*: a node's parents, from all sets to its right; accepted with q'/q.
    *transposition*: exchange two neighbors a b; a loses b, b gains a. Accepted with
    the ratio of all sums, times q'/q. If b gains a, its nearest parent is a whatever
    the others are: they are drawn when the move is accepted. What a draws instead of b
    can only make q smaller, which rejects most before it is drawn.
    *swap*: exchange any two nodes. If that is accepted among orders, it is with q'/q.
    What stands between loses one of them, then gains the other.
    *relocation*: a node goes to one of the n places drawn in proportion to the orders'
    scores, a Gibbs move over orders; it loses or gains what it passes, and that
    gains or loses it. Accepted with q'/q.
    *reversal*: of an edge, parents of both ends chosen anew (`_reversal.pyx`), a move
    over DAGs; then an order of the new DAG is drawn.
    *reordering*: an order is drawn by q, always accepted.
What stays true
    The order fits the DAG. A chain never stands on a DAG without a required edge.
Cost
    A redraw is a draw (`_parents.pxd`), a transposition two passings
    (`_order_state.pyx`) and few draws; the change of q takes the places between the
    old nearest parent and the new, an addition each. Swaps and relocations take O(n)
    passings, reversals O(n K), and reorderings n look-ups: all of them are tried about
    once in n steps, so that a step costs about as much however many nodes there are.
"""

cimport cython
from libc.math cimport INFINITY, fabs
from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memset

import numpy as np

from skbidag._core._order_state cimport NOBODY, REFRESH, Standing
from skbidag._core._ordered_dag cimport OrderedDAG
from skbidag._core._parents cimport NONE, ParentSet, lowest_bit, mark_edges
from skbidag._core._random cimport below, uniform
from skbidag._core._tables cimport NodeView, TableViews
from skbidag._core._vector cimport skb_exp


cdef enum:
    REDRAW, TRANSPOSITION, SWAP, RELOCATION, REVERSAL, REORDERING, N_MOVES


@cython.final
cdef class DAGChain(OrderedDAG):
    """One chain over DAGs.

    Parameters
    ----------
    views : TableViews
        The tables, with sums.
    bit_generator : numpy.random.BitGenerator
        The chain's own stream of random numbers.
    adjacency : array of shape (n, n)
        Where to start: a DAG that the tables have.
    move_probabilities : array of shape (6,)
        How often to redraw, transpose, swap, relocate, reverse an edge, and reorder.
    """

    cdef:
        double[::1] move_below
        # where a relocation or reversal began, to go back to
        ParentSet *kept_dag
        Standing *kept_standing
        Py_ssize_t[::1] kept_order
        double kept_current
        Py_ssize_t[::1] position
        # the best order seen
        Py_ssize_t[::1] best_order_
        readonly double best_log_score
        Py_ssize_t n_steps
        int64_t[::1] proposed
        int64_t[::1] accepted

    def __cinit__(self, TableViews views, *args, **kwargs):
        self.kept_dag = <ParentSet *> calloc(self.n, sizeof(ParentSet))
        self.kept_standing = <Standing *> calloc(self.n, sizeof(Standing))
        if self.kept_dag == NULL or self.kept_standing == NULL:
            raise MemoryError()

    def __dealloc__(self):
        free(self.kept_dag)
        free(self.kept_standing)

    def __init__(self, TableViews views, bit_generator, adjacency, move_probabilities):
        self.move_below = np.cumsum(np.asarray(move_probabilities, dtype=float))
        self.kept_order = np.zeros(self.n, dtype=np.intp)
        self.position = np.zeros(self.n, dtype=np.intp)
        self.best_order_ = np.zeros(self.n, dtype=np.intp)
        self.best_log_score = -INFINITY
        self.n_steps = 0
        self.proposed = np.zeros(N_MOVES, dtype=np.int64)
        self.accepted = np.zeros(N_MOVES, dtype=np.int64)
        self.set_dag(adjacency)

    # ------------------------------------------------------------------ state

    def set_dag(self, adjacency):
        """Move to a DAG, ``adjacency[i, j]`` being i -> j, and to an order of it."""
        self.take_dag(np.asarray(adjacency, dtype=bool))
        self.inspect()

    @property
    def best_order(self):
        """The best order seen."""
        return np.array(self.best_order_)

    @property
    def proposed_moves(self):
        """Number of moves of each kind proposed."""
        return np.array(self.proposed)

    @property
    def accepted_moves(self):
        """Number of moves of each kind that changed the DAG or the order."""
        return np.array(self.accepted)

    def __getstate__(self):
        return self.ordered_dag() | {
            "best_order": self.best_order, "best_log_score": self.best_log_score,
            "proposed": self.proposed_moves, "accepted": self.accepted_moves,
            "bit_generator": self.bit_generator.state,
        }

    def restore(self, state):
        """Go on from a state that ``__getstate__`` gave."""
        self.restore_ordered_dag(state)
        self.best_order_ = np.array(state["best_order"], dtype=np.intp)
        self.best_log_score = state["best_log_score"]
        self.proposed = np.array(state["proposed"], dtype=np.int64)
        self.accepted = np.array(state["accepted"], dtype=np.int64)
        self.n_steps = state["proposed"].sum()
        self.bit_generator.state = state["bit_generator"]

    cdef inline void inspect(self) noexcept nogil:
        """Keep the present order if none was better, the first of equals."""
        if self.current > self.best_log_score + 1e-12 * (1.0 + fabs(self.current)):
            self.best_log_score = self.current
            self.best_order_[:] = self.order_

    cdef inline bint accepts(self, double log_ratio) noexcept nogil:
        cdef double u = uniform(self.bitgen)
        return log_ratio >= 0 or u < skb_exp(log_ratio)

    # ------------------------------------------------------------------ redraw

    cdef bint redraw(self, Py_ssize_t node) noexcept nogil:
        cdef:
            ParentSet parents = self.draw_parents(node, self.dag[node], self.bitgen)
            Py_ssize_t before = self.nearest[node], after
        if (
            parents.subset == self.dag[node].subset
            and parents.column == self.dag[node].column
        ):
            return False
        after = self.nearest_of(node, parents)
        if before != after and not self.accepts(self.move_end(before, after)):
            self.move_end(after, before)
            return False
        self.set_parents(node, parents)
        self.nearest[node] = after
        return True

    # ----------------------------------------------------------- transposition

    cdef inline Py_ssize_t n_waiting(
        self, Py_ssize_t parent, Py_ssize_t other, Py_ssize_t place
    ) noexcept nogil:
        """How many wait for a parent, at a place, and not for the other as well."""
        cdef:
            const uint64_t *mine = self.children + parent * self.n_words
            const uint64_t *others = self.children + other * self.n_words
            Py_ssize_t w, count = 0
            uint64_t rest
        for w in range(self.n_words):
            rest = mine[w] & ~others[w]
            while rest:
                count += self.nearest[64 * w + lowest_bit(rest)] == place
                rest &= rest - 1
        return count

    cdef inline void follow(
        self, Py_ssize_t parent, Py_ssize_t other, Py_ssize_t old, Py_ssize_t new
    ) noexcept nogil:
        """Tell those who wait for a parent alone that it is at another place."""
        cdef:
            const uint64_t *mine = self.children + parent * self.n_words
            const uint64_t *others = self.children + other * self.n_words
            Py_ssize_t w, child
            uint64_t rest
        for w in range(self.n_words):
            rest = mine[w] & ~others[w]
            while rest:
                child = 64 * w + lowest_bit(rest)
                if self.nearest[child] == old:
                    self.nearest[child] = new
                rest &= rest - 1

    cdef bint transpose(self, Py_ssize_t p) noexcept nogil:
        """Exchange the nodes a at p and b at p + 1.

        Of other nodes, those who wait for a alone become available one place earlier,
        those who wait for b alone one later: that is felt at p, and nowhere else.
        """
        cdef:
            Py_ssize_t a = self.order_[p], b = self.order_[p + 1]
            Py_ssize_t nearest_a = self.nearest[a], nearest_b = self.nearest[b]
            Py_ssize_t more, after = nearest_a
            bint loses = nearest_a == p + 1, gains
            double u = uniform(self.bitgen), coin = uniform(self.bitgen)
            double change = self.propose_swap(p, p + 1), log_ratio = change
            Standing standing_a = self.standing[a], standing_b = self.standing[b]
            ParentSet parents
        if change == -INFINITY:
            return False
        gains = coin >= skb_exp(standing_b.score - self.new[p + 1].score)
        # a waits for b, if that is its parent, but stands at p itself
        more = self.n_waiting(a, b, p) - (self.n_waiting(b, a, p + 1) - loses)
        log_ratio += self.log_of[self.available[p]]
        log_ratio -= self.log_of[self.available[p] + more]
        if gains:
            log_ratio += self.move_end(nearest_b, p + 1)
        if not (log_ratio >= 0 or u < skb_exp(log_ratio)):
            if gains:
                self.move_end(p + 1, nearest_b)
            return False
        self.apply_swap(p, p + 1, change)
        if loses:
            parents = self.draw_parents(a, ParentSet(NONE, NONE), self.bitgen)
            after = self.nearest_of(a, parents)
            log_ratio += self.move_end(nearest_a, after)
            if not (log_ratio >= 0 or u < skb_exp(log_ratio)):
                self.move_end(after, nearest_a)
                if gains:
                    self.move_end(p + 1, nearest_b)
                self.new[p] = standing_b
                self.new[p + 1] = standing_a
                self.apply_swap(p, p + 1, -change)
                return False
        self.available[p] += more
        self.follow(a, b, p, p + 1)
        self.follow(b, a, p + 1, p)
        self.nearest[a] = after  # its own, not what follows
        if loses:
            self.set_parents(a, parents)
        if gains:
            self.gain(b, nearest_b)
        self.inspect()
        return True

    cdef void gain(self, Py_ssize_t node, Py_ssize_t before) noexcept nogil:
        """Draw parents of a node, its right neighbor, which it gained, among them."""
        cdef double place = self.place[node] + 1.0
        cdef ParentSet *drawn = self.kept_dag
        if not self.sums.look_up(&node, 1, &self.place[0], place, self.log_sum):
            # there are none: it was rounding that made the sum larger
            self.move_end(<Py_ssize_t> place, before)
            return
        self.sums.draw(
            &node, 1, &self.place[0], place, self.log_sum, drawn, self.bitgen
        )
        self.set_parents(node, drawn[node])
        self.nearest[node] = <Py_ssize_t> place

    # -------------------------------------------------------------- relocation

    cdef bint relocate(self, Py_ssize_t node) noexcept nogil:
        cdef:
            Py_ssize_t from_ = <Py_ssize_t> self.place[node], p
            Py_ssize_t k, slot
            double before, top = -INFINITY
        self.propose_relocation(node)
        for k in range(self.n_passed + 1):
            top = max(top, self.stretch_total[k])
        slot = self.draw_slot(1.0, top, from_, self.bitgen)
        if slot == from_:
            return False
        before = self.keep()
        self.apply_relocation(node, slot)
        if slot > from_:
            for p in range(from_, slot):
                self.gain_between(self.order_[p], slot, slot)
            self.lose_between(node, from_, slot - 1)
        else:
            for p in range(slot + 1, from_ + 1):
                self.lose_between(self.order_[p], slot, slot)
            self.gain_between(node, slot + 1, from_)
        return self.settle(before, min(from_, slot), max(from_, slot))

    # -------------------------------------------------------------------- swap

    cdef bint swap(self, Py_ssize_t p, Py_ssize_t q) noexcept nogil:
        """Exchange the nodes at p < q.

        Those between lose the one, then gain the other.
        """
        cdef:
            Py_ssize_t left = self.order_[p], right = self.order_[q], r, node
            double before, change = self.propose_swap(p, q)
            Standing now
        if not self.accepts(change):
            return False
        before = self.keep()
        self.place[right] = -1.0
        for r in range(p + 1, q):
            node = self.order_[r]
            self.stretch[node] = self.pass_by(
                node, &self.standing[node], NOBODY, right, r
            )
        self.apply_swap(p, q, change)
        self.place[left] = -1.0  # not yet
        for r in range(p + 1, q):
            node = self.order_[r]
            if self.has_parent_between(node, p, p):
                now = self.standing[node]
                self.standing[node] = self.stretch[node]
                self.dag[node] = self.draw_parents(
                    node, ParentSet(NONE, NONE), self.bitgen
                )
                self.standing[node] = now
        self.place[left] = q
        for r in range(p + 1, q):
            node = self.order_[r]
            self.gain_from(self.stretch[node].score, node, q, q)
        self.lose_between(left, p, q - 1)
        self.gain_between(right, p + 1, q)
        return self.settle(before, p, q)

    # ----------------------------------------------- what the larger moves share

    cdef double keep(self) noexcept nogil:
        """Remember where the chain stands; returns the order's log probability."""
        self.kept_order[:] = self.order_
        self.kept_current = self.current
        memcpy(self.kept_dag, self.dag, self.n * sizeof(ParentSet))
        memcpy(self.kept_standing, self.standing, self.n * sizeof(Standing))
        return self.log_probability()

    cdef bint settle(
        self, double before, Py_ssize_t first, Py_ssize_t last
    ) noexcept nogil:
        """Accept what became of DAG and order with q'/q, or go back.

        What changed are the places from `first` to `last`, and parents of those there.
        """
        cdef Py_ssize_t p, node
        if not self.accepts(self.arrange() - before):
            self.order_[:] = self.kept_order
            self.current = self.kept_current
            for p in range(first, last + 1):
                self.place[self.order_[p]] = p
            memcpy(self.dag, self.kept_dag, self.n * sizeof(ParentSet))
            memcpy(self.standing, self.kept_standing, self.n * sizeof(Standing))
            self.arrange()
            return False
        for p in range(first, last + 1):
            node = self.order_[p]
            self.turn_marks(node, self.kept_dag[node])
            self.turn_marks(node, self.dag[node])
        self.inspect()
        return True

    cdef void gain_between(
        self, Py_ssize_t node, double low, double high
    ) noexcept nogil:
        """A node may have parents at some places now: perhaps it takes one."""
        self.gain_from(self.kept_standing[node].score, node, low, high)

    cdef void gain_from(
        self, double before, Py_ssize_t node, double low, double high
    ) noexcept nogil:
        """The same, for a node whose log score was `before` without them."""
        if uniform(self.bitgen) >= skb_exp(before - self.standing[node].score):
            self.draw_with(node, low, high, self.dag)

    cdef void lose_between(
        self, Py_ssize_t node, double low, double high
    ) noexcept nogil:
        """A node may have no parents at some places any more."""
        if self.has_parent_between(node, low, high):
            self.dag[node] = self.draw_parents(
                node, ParentSet(NONE, NONE), self.bitgen
            )

    # ---------------------------------------------------------------- reversal

    cdef bint reverse_edge(self) noexcept nogil:
        """Reverse an edge, and draw an order of what that leads to."""
        cdef Py_ssize_t i
        cdef bint empty = True
        for i in range(self.n):
            self.position[i] = <Py_ssize_t> self.place[i]
            empty = empty and self.nearest[i] == self.n_main
        if empty:
            return False
        memcpy(self.kept_dag, self.dag, self.n * sizeof(ParentSet))
        if not self.accepts(
            self.reversal.propose(&self.order_[0], &self.position[0], self.bitgen)
        ):
            memcpy(self.dag, self.kept_dag, self.n * sizeof(ParentSet))
            return False
        self.reorder()
        self.inspect()
        return True

    # ----------------------------------------------------------------- running

    cdef void step(self) noexcept nogil:
        cdef double u = uniform(self.bitgen)
        cdef Py_ssize_t p, q
        cdef int move = REDRAW
        cdef bint changed = True
        # a single node has one order, but other parents in the background
        if self.n_main > 1:
            while move < REORDERING and u >= self.move_below[move]:
                move += 1
        if move == REDRAW:
            changed = self.redraw(self.views.main[below(self.bitgen, self.n_main)])
        elif move == TRANSPOSITION:
            changed = self.transpose(below(self.bitgen, self.n_main - 1))
        elif move == SWAP:
            p = below(self.bitgen, self.n_main)
            q = below(self.bitgen, self.n_main - 1)
            q += q >= p
            changed = self.swap(min(p, q), max(p, q))
        elif move == RELOCATION:
            changed = self.relocate(
                self.views.main[below(self.bitgen, self.n_main)]
            )
        elif move == REVERSAL:
            changed = self.reverse_edge()
        else:
            self.reorder()
            self.inspect()
        self.proposed[move] += 1
        self.accepted[move] += changed

    def run(self, Py_ssize_t n_steps):
        """Make `n_steps` steps without holding the GIL."""
        cdef Py_ssize_t _
        if self.n < 2:
            return  # one DAG only: every step stays on it
        with nogil:
            for _ in range(n_steps):
                self.step()
                # at fixed steps of the chain, not of the block
                self.n_steps += 1
                if self.n_steps % REFRESH == 0:
                    self.look_up_all()

    def draw_dag(self, unsigned char[:, ::1] packed):
        """Give the present DAG.

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
                parents = self.dag[i]
                total += view.scores[parents.subset * view.width + parents.column]
                mark_edges(&packed[0, 0], packed.shape[1], view, i, parents)
        return total
