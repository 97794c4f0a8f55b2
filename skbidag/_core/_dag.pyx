# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False
"""MCMC over DAGs, each with an order beside it.

State
    A DAG, one parent set in each node's table, and one of its orders, parents to the
    right of their children, with the standing of each node in it (`_order_state.pyx`).
"""

cimport cython
from libc.math cimport INFINITY, fabs
from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memset

import numpy as np

from skbidag._core._order_state cimport REFRESH, OrderState, Standing
from skbidag._core._parents cimport ParentSet, lowest_bit, mark_edges
from skbidag._core._random cimport below, bitgen_of, skb_bitgen, uniform
from skbidag._core._restricted cimport RestrictedSums
from skbidag._core._reversal cimport EdgeReversal
from skbidag._core._tables cimport NodeView, TableViews
from skbidag._core._vector cimport skb_exp, skb_log


cdef enum:
    REDRAW, TRANSPOSITION, RELOCATION, REVERSAL, REORDER, N_MOVES


@cython.final
cdef class DAGChain(OrderState):
    cdef:
        RestrictedSums sums
        EdgeReversal reversal
        object bit_generator
        skb_bitgen *bitgen
        double[::1] below_
        ParentSet *dag
        ParentSet *kept_dag
        Standing *kept_standing
        Py_ssize_t[::1] kept_order
        Py_ssize_t[::1] position
        Py_ssize_t *nearest
        Py_ssize_t *available
        Py_ssize_t *kept_available
        Py_ssize_t *waiting
        double *log_of
        double *log_step
        double *side
        double *scratch
        double[::1] weight
        uint64_t *children
        Py_ssize_t words
        Py_ssize_t[::1] best_order_
        readonly double best_log_score
        Py_ssize_t n_steps
        int64_t[::1] proposed
        int64_t[::1] accepted

    def __init__(self, TableViews views, bit_generator, adjacency, move_probabilities):
        cdef Py_ssize_t n = self.n, k
        cdef Py_ssize_t padded = max(n, self.width)
        self.sums = RestrictedSums(views)
        self.reversal = EdgeReversal(views, self.sums)
        self.bit_generator = bit_generator
        self.bitgen = bitgen_of(bit_generator)
        self.below_ = np.cumsum(move_probabilities)
        self.dag = self.reversal.dag
        self.words = (n + 63) // 64
        self.kept_dag = <ParentSet *> calloc(n, sizeof(ParentSet))
        self.kept_standing = <Standing *> calloc(n, sizeof(Standing))
        self.nearest = <Py_ssize_t *> calloc(n, sizeof(Py_ssize_t))
        self.available = <Py_ssize_t *> calloc(n + 1, sizeof(Py_ssize_t))
        self.kept_available = <Py_ssize_t *> calloc(n + 1, sizeof(Py_ssize_t))
        self.waiting = <Py_ssize_t *> calloc(2 * n, sizeof(Py_ssize_t))
        self.log_of = <double *> calloc(n + 2, sizeof(double))
        self.log_step = <double *> calloc(n + 2, sizeof(double))
        self.side = <double *> calloc(padded, sizeof(double))
        self.scratch = <double *> calloc(n, sizeof(double))
        self.children = <uint64_t *> calloc(n * self.words, sizeof(uint64_t))
        for k in range(2, n + 2):
            self.log_of[k] = skb_log(k)
        for k in range(n + 1):
            self.log_step[k] = self.log_of[k + 1] - self.log_of[k]
        for k in range(padded):
            self.side[k] = -1.0
        self.kept_order = np.zeros(n, dtype=np.intp)
        self.position = np.zeros(n, dtype=np.intp)
        self.weight = np.zeros(n)
        self.best_order_ = np.zeros(n, dtype=np.intp)
        self.best_log_score = -INFINITY
        self.proposed = np.zeros(N_MOVES, dtype=np.int64)
        self.accepted = np.zeros(N_MOVES, dtype=np.int64)
        self.set_dag(adjacency)

    def set_dag(self, adjacency):
        cdef Py_ssize_t node, parent
        cdef const NodeView *view
        cdef signed char bit
        for node in range(self.n):
            view = &self.views.nodes[node]
            self.dag[node] = ParentSet(0, view.base_column)
            for parent in np.flatnonzero(adjacency[:, node]):
                bit = self.views.bits[node * self.n + parent]
                if bit >= 0:
                    self.dag[node].subset |= <int64_t> 1 << bit
                else:
                    if self.dag[node].column != view.base_column or self.width == 1:
                        raise ValueError("not in space")
                    self.dag[node].column = parent
        self.reorder()

    @property
    def best_order(self):
        return np.array(self.best_order_)

    @property
    def proposed_moves(self):
        return np.array(self.proposed)

    @property
    def accepted_moves(self):
        return np.array(self.accepted)

    cdef inline void inspect(self) noexcept nogil:
        if self.current > self.best_log_score + 1e-12 * (1.0 + fabs(self.current)):
            self.best_log_score = self.current
            self.best_order_[:] = self.order_

    cdef inline bint accepts(self, double log_ratio) noexcept nogil:
        cdef double u = uniform(self.bitgen)
        return log_ratio >= 0 or u < skb_exp(log_ratio)

    # ---------------------------------------------------------------- the DAG

    cdef inline Py_ssize_t nearest_of(
        self, Py_ssize_t node, ParentSet parents
    ) noexcept nogil:
        """Place of the parent that is nearest; n if there is none."""
        cdef:
            const NodeView *view = &self.views.nodes[node]
            int64_t rest = parents.subset
            double found = self.n
        while rest:
            found = min(found, self.place[view.candidates[lowest_bit(rest)]])
            rest &= rest - 1
        if parents.column != view.base_column:
            found = min(found, self.place[parents.column])
        return <Py_ssize_t> found

    cdef inline void mark_children(
        self, Py_ssize_t node, ParentSet parents
    ) noexcept nogil:
        """Turn the marks of a node as its parents' child."""
        cdef:
            const NodeView *view = &self.views.nodes[node]
            int64_t rest = parents.subset
            uint64_t bit = <uint64_t> 1 << (node & 63)
            uint64_t *word = self.children + (node >> 6)
        while rest:
            word[view.candidates[lowest_bit(rest)] * self.words] ^= bit
            rest &= rest - 1
        if parents.column != view.base_column:
            word[parents.column * self.words] ^= bit

    cdef inline void set_parents(
        self, Py_ssize_t node, ParentSet parents
    ) noexcept nogil:
        self.mark_children(node, self.dag[node])
        self.mark_children(node, parents)
        self.dag[node] = parents

    cdef inline double move_end(
        self, Py_ssize_t old, Py_ssize_t new
    ) noexcept nogil:
        cdef Py_ssize_t p, c
        cdef double change = 0.0
        for p in range(old, new):
            c = self.available[p]
            change -= self.log_step[c]
            self.available[p] = c + 1
        for p in range(new, old):
            c = self.available[p] - 1
            change += self.log_step[c]
            self.available[p] = c
        return change

    # ---------------------------------------------------------------- one node

    cdef bint redraw(self, Py_ssize_t node) noexcept nogil:
        cdef ParentSet parents = self.draw_parents(node, self.bitgen)
        cdef Py_ssize_t near, before = self.nearest[node]
        if (
            parents.subset == self.dag[node].subset
            and parents.column == self.dag[node].column
        ):
            return False
        near = self.nearest_of(node, parents)
        if near != before and not self.accepts(self.move_end(before, near)):
            self.move_end(near, before)
            return False
        self.nearest[node] = near
        self.set_parents(node, parents)
        return True

    # ----------------------------------------------------------- transposition

    cdef inline Py_ssize_t count_only(
        self, Py_ssize_t one, Py_ssize_t other, Py_ssize_t nearest
    ) noexcept nogil:
        """Number of children of one but not the other, waiting for it."""
        cdef:
            const uint64_t *mine = self.children + one * self.words
            const uint64_t *others = self.children + other * self.words
            Py_ssize_t w, count = 0
            uint64_t rest
        for w in range(self.words):
            rest = mine[w] & ~others[w]
            while rest:
                count += self.nearest[64 * w + lowest_bit(rest)] == nearest
                rest &= rest - 1
        return count

    cdef inline void shift_only(
        self, Py_ssize_t one, Py_ssize_t other, Py_ssize_t nearest, Py_ssize_t to
    ) noexcept nogil:
        cdef:
            const uint64_t *mine = self.children + one * self.words
            const uint64_t *others = self.children + other * self.words
            Py_ssize_t w, child
            uint64_t rest
        for w in range(self.words):
            rest = mine[w] & ~others[w]
            while rest:
                child = 64 * w + lowest_bit(rest)
                if self.nearest[child] == nearest:
                    self.nearest[child] = to
                rest &= rest - 1

    cdef bint transpose(self, Py_ssize_t p) noexcept nogil:
        cdef:
            Py_ssize_t a = self.order_[p], b = self.order_[p + 1]
            Py_ssize_t near_a = self.nearest[a], near_b = self.nearest[b]
            Py_ssize_t more, end_a
            double u = uniform(self.bitgen), coin = uniform(self.bitgen)
            double change = self.propose_swap(p, p + 1), log_ratio = change
            bint loses = near_a == p + 1, gains
            Standing standing_a, standing_b
            ParentSet of_a
        if change == -INFINITY:
            return False
        gains = coin >= skb_exp(self.standing[b].score - self.new[p + 1].score)
        more = self.count_only(a, b, p) + loses - self.count_only(b, a, p + 1)
        log_ratio += self.log_of[self.available[p]]
        log_ratio -= self.log_of[self.available[p] + more]
        if gains:
            log_ratio += self.move_end(near_b, p + 1)
        if log_ratio < 0 and u >= skb_exp(log_ratio):
            if gains:
                self.move_end(p + 1, near_b)
            return False
        standing_a = self.standing[a]
        standing_b = self.standing[b]
        self.apply_swap(p, p + 1, change)
        if loses:
            of_a = self.draw_parents(a, self.bitgen)
            end_a = self.nearest_of(a, of_a)
            log_ratio += self.move_end(near_a, end_a)
            if log_ratio < 0 and u >= skb_exp(log_ratio):
                self.move_end(end_a, near_a)
                if gains:
                    self.move_end(p + 1, near_b)
                self.order_[p] = a
                self.order_[p + 1] = b
                self.place[a] = p
                self.place[b] = p + 1
                self.standing[a] = standing_a
                self.standing[b] = standing_b
                self.current -= change
                return False
        # the children first, as long as those of a and b are the others
        self.available[p] += more
        # a child of one alone waits for where that one stands now
        self.shift_both(a, b, p)
        if loses:
            self.set_parents(a, of_a)
            self.nearest[a] = end_a
        if gains:
            self.sums.look_up(&b, 1, &self.place[0], p + 1, self.scratch)
            if self.scratch[b] > -INFINITY:
                self.kept_dag[b] = self.dag[b]
                self.sums.draw(
                    &b, 1, &self.place[0], p + 1, self.scratch, self.kept_dag,
                    self.bitgen,
                )
                self.set_parents(b, self.kept_dag[b])
            self.nearest[b] = p + 1
        self.inspect()
        return True

    cdef void shift_both(
        self, Py_ssize_t a, Py_ssize_t b, Py_ssize_t p
    ) noexcept nogil:
        """Children of a alone wait for p + 1 now, those of b alone for p."""
        cdef:
            const uint64_t *of_a = self.children + a * self.words
            const uint64_t *of_b = self.children + b * self.words
            Py_ssize_t w, child
            uint64_t rest
        for w in range(self.words):
            rest = of_a[w] ^ of_b[w]
            while rest:
                child = 64 * w + lowest_bit(rest)
                if child != a:
                    if self.nearest[child] == p:
                        self.nearest[child] = p + 1
                    elif self.nearest[child] == p + 1:
                        self.nearest[child] = p
                rest &= rest - 1

    # ---------------------------------------------------------------- relocation

    cdef double arrange(self) noexcept nogil:
        """Find anew what waits for what; returns the log probability of the order."""
        cdef Py_ssize_t i, p, waiting = 0
        cdef double total = 0.0
        memset(self.available, 0, (self.n + 1) * sizeof(Py_ssize_t))
        for i in range(self.n):
            self.nearest[i] = self.nearest_of(i, self.dag[i])
            self.available[<Py_ssize_t> self.place[i]] += 1
            self.available[self.nearest[i]] -= 1
        for p in range(self.n):
            waiting += self.available[p]
            self.available[p] = waiting
            total -= self.log_of[waiting]
        return total

    cdef double log_probability(self) noexcept nogil:
        cdef Py_ssize_t p
        cdef double total = 0.0
        for p in range(self.n):
            total -= self.log_of[self.available[p]]
        return total

    cdef bint has_parent_between(
        self, Py_ssize_t node, double low, double high
    ) noexcept nogil:
        cdef:
            const NodeView *view = &self.views.nodes[node]
            int64_t rest = self.dag[node].subset
            double at
        while rest:
            at = self.place[view.candidates[lowest_bit(rest)]]
            if low <= at <= high:
                return True
            rest &= rest - 1
        if self.dag[node].column != view.base_column:
            at = self.place[self.dag[node].column]
            return low <= at <= high
        return False

    cdef void draw_with(
        self, Py_ssize_t node, double low, double high
    ) noexcept nogil:
        """Draw parents of which one is at the places from low to high at least."""
        cdef Py_ssize_t k
        cdef double at
        for k in range(self.n):
            at = self.place[k]
            self.side[k] = -1.0 if at <= self.place[node] else (
                1.0 if low <= at <= high else 2.0
            )
        self.sums.look_up(&node, 1, self.side, 1.0, self.scratch)
        if self.scratch[node] > -INFINITY:
            self.sums.draw(
                &node, 1, self.side, 1.0, self.scratch, self.dag, self.bitgen
            )

    cdef bint relocate(self, Py_ssize_t x) noexcept nogil:
        cdef:
            Py_ssize_t n = self.n, s, slot, p, y
            Py_ssize_t from_ = <Py_ssize_t> self.place[x]
            double top = -INFINITY, total = 0.0, u, before, current = self.current
        self.propose_relocation(x)
        for s in range(n):
            top = max(top, self.slot_total[s])
        for s in range(n):
            self.weight[s] = skb_exp(self.slot_total[s] - top)
            total += self.weight[s]
        u = uniform(self.bitgen) * total
        slot = from_
        for s in range(n):
            u -= self.weight[s]
            if u < 0:
                slot = s
                break
        if slot == from_:
            return False
        memcpy(self.kept_dag, self.dag, n * sizeof(ParentSet))
        memcpy(self.kept_standing, self.standing, n * sizeof(Standing))
        memcpy(self.kept_available, self.available, n * sizeof(Py_ssize_t))
        memcpy(self.waiting, self.nearest, n * sizeof(Py_ssize_t))
        self.kept_order[:] = self.order_
        before = self.log_probability()
        self.apply_relocation(x, slot)
        if slot > from_:
            for p in range(from_, slot):
                y = self.order_[p]
                if uniform(self.bitgen) >= skb_exp(
                    self.kept_standing[y].score - self.standing[y].score
                ):
                    self.draw_with(y, slot, slot)
            # what x lost stands to its left now
            if self.has_parent_between(x, from_, slot):
                self.dag[x] = self.draw_parents(x, self.bitgen)
        else:
            for p in range(slot + 1, from_ + 1):
                y = self.order_[p]
                if self.has_parent_between(y, slot, slot):
                    self.dag[y] = self.draw_parents(y, self.bitgen)
            if uniform(self.bitgen) >= skb_exp(
                self.kept_standing[x].score - self.standing[x].score
            ):
                self.draw_with(x, slot + 1, from_)
        if self.accepts(self.arrange() - before):
            for p in range(min(from_, slot), max(from_, slot) + 1):
                y = self.order_[p]
                self.mark_children(y, self.kept_dag[y])
                self.mark_children(y, self.dag[y])
            self.inspect()
            return True
        memcpy(self.dag, self.kept_dag, n * sizeof(ParentSet))
        memcpy(self.standing, self.kept_standing, n * sizeof(Standing))
        memcpy(self.available, self.kept_available, n * sizeof(Py_ssize_t))
        memcpy(self.nearest, self.waiting, n * sizeof(Py_ssize_t))
        self.order_[:] = self.kept_order
        for p in range(n):
            self.place[self.order_[p]] = p
        self.current = current
        return False

    # ---------------------------------------------------------- the whole order

    cdef void reorder(self) noexcept nogil:
        """Draw an order of the DAG: from the right, any node whose parents stand."""
        cdef:
            Py_ssize_t *free_ = self.waiting
            Py_ssize_t *n_left = self.waiting + self.n
            Py_ssize_t n_free = 0, p, node, child, k, w
            const uint64_t *word
            uint64_t rest
        memset(self.children, 0, self.n * self.words * sizeof(uint64_t))
        for node in range(self.n):
            self.mark_children(node, self.dag[node])
            n_left[node] = self.reversal.n_parents(node)
            if n_left[node] == 0:
                self.nearest[node] = self.n
                free_[n_free] = node
                n_free += 1
        for p in range(self.n - 1, -1, -1):
            self.available[p] = n_free
            k = below(self.bitgen, n_free)
            node = free_[k]
            n_free -= 1
            free_[k] = free_[n_free]
            self.order_[p] = node
            self.place[node] = p
            word = self.children + node * self.words
            for w in range(self.words):
                rest = word[w]
                while rest:
                    child = 64 * w + lowest_bit(rest)
                    n_left[child] -= 1
                    if n_left[child] == 0:
                        self.nearest[child] = p
                        free_[n_free] = child
                        n_free += 1
                    rest &= rest - 1
        self.stand_anew()
        self.inspect()

    cdef bint reverse_edge(self) noexcept nogil:
        cdef Py_ssize_t p
        cdef bint any_ = False
        for p in range(self.n):
            self.position[self.order_[p]] = p
            any_ |= self.nearest[p] < self.n
        if not any_:
            return False
        memcpy(self.kept_dag, self.dag, self.n * sizeof(ParentSet))
        if self.accepts(
            self.reversal.propose(&self.order_[0], &self.position[0], self.bitgen)
        ):
            self.reorder()
            return True
        memcpy(self.dag, self.kept_dag, self.n * sizeof(ParentSet))
        return False

    # ------------------------------------------------------------------ running

    cdef void step(self) noexcept nogil:
        cdef double u = uniform(self.bitgen)
        cdef int move = 0
        cdef bint changed = True
        while move < N_MOVES - 1 and u >= self.below_[move]:
            move += 1
        if move == REDRAW:
            changed = self.redraw(below(self.bitgen, self.n))
        elif move == TRANSPOSITION:
            changed = self.transpose(below(self.bitgen, self.n - 1))
        elif move == RELOCATION:
            changed = self.relocate(below(self.bitgen, self.n))
        elif move == REVERSAL:
            changed = self.reverse_edge()
        else:
            self.reorder()
        self.proposed[move] += 1
        self.accepted[move] += changed

    def run(self, Py_ssize_t n_steps):
        """Make `n_steps` steps without holding the GIL."""
        cdef Py_ssize_t _
        if self.n < 2:
            return
        with nogil:
            for _ in range(n_steps):
                self.step()
                self.n_steps += 1
                if self.n_steps % REFRESH == 0:
                    self.look_up_all()

    def draw_dag(self, unsigned char[:, ::1] packed):
        cdef Py_ssize_t i
        cdef const NodeView *view
        cdef double total = 0.0
        with nogil:
            memset(&packed[0, 0], 0, packed.shape[0] * packed.shape[1])
            for i in range(self.n):
                view = &self.views.nodes[i]
                total += view.scores[self.dag[i].subset * self.width + self.dag[i].column]
                mark_edges(&packed[0, 0], packed.shape[1], view, i, self.dag[i])
        return total

    def check(self):
        """For debugging: whether everything fits."""
        before = [self.available[p] for p in range(self.n)], [self.nearest[i] for i in range(self.n)]
        bits = [self.children[k] for k in range(self.n * self.words)]
        self.arrange()
        after = [self.available[p] for p in range(self.n)], [self.nearest[i] for i in range(self.n)]
        assert before == after, (before, after)
        memset(self.children, 0, self.n * self.words * sizeof(uint64_t))
        for i in range(self.n):
            self.mark_children(i, self.dag[i])
        assert bits == [self.children[k] for k in range(self.n * self.words)]
        for i in range(self.n):
            assert self.nearest[i] > self.place[i]
            assert self.order_[<Py_ssize_t> self.place[i]] == i
        return True
