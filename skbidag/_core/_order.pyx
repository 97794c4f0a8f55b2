# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False
"""Order MCMC (Friedman & Koller 2003; Kuipers, Suter & Moffa 2022, section 2).

State
    A permutation of the nodes. The parents of a node stand to the right of it. With
    each node, its standing: the mask of its candidates to the right, and its log
    score, the sum (for sampling) or the maximum (for searching) over all its parent
    sets within them and with at most one outsider to the right.
Moves
    *swap*: exchange two nodes at random. *transposition*: exchange two neighbors.
    Both are symmetric proposals, accepted with the ratio of the scores.
    *relocation*: take a node out and put it back at one of the n places, drawn in
    proportion to the scores: a Gibbs move, always accepted.
What stays true
    Every node's score is that of the present order. Where a candidate passes a node,
    the score is looked up: the row of its new mask is added up. Where an outsider
    passes, the row stays, and the sum changes by one of its terms. Differences round:
    so a sum is added up afresh when little is left of what it was, and all sums are
    after every REFRESH steps; between, an error stays below REFRESH * LITTLE_LEFT
    units in the last place. A maximum has no rounding; it is looked up when the
    outsider that held it goes.
    A chain never stands on an order that a required edge rules out (score -inf);
    proposals of such orders are rejected.
Cost
    A lookup is one row, O(n / 4) additions, and one logarithm; an outsider that
    passes, one entry and one logarithm. Of the n nodes that may pass, K are
    candidates, so a step of the usual mixture costs O(K), however many nodes there
    are: a transposition has two passings, a swap about n / 3, a relocation 2 n, and
    the last two are tried once in n steps.

How parents are drawn given the order says `_parents.pxd`. The scores may be raised to a
power (tempering) when searching. Every order that is looked at, accepted or not, is
inspected for the best.
"""

cimport cython
from libc.math cimport INFINITY, fabs
from libc.stdint cimport int64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memset

import numpy as np

from skbidag._core._parents cimport (
    Lot,
    ParentSet,
    draw_subset,
    falls_on_column,
    in_logs,
    mark_edges,
)
from skbidag._core._random cimport below, bitgen_of, skb_bitgen, uniform
from skbidag._core._tables cimport NodeView, TableViews
from skbidag._core._vector cimport (
    skb_exp,
    skb_log,
    skb_log_sum_exp_from,
    skb_max_from,
    skb_sum_from,
)


cdef enum:
    SWAP, TRANSPOSITION, RELOCATION

cdef enum:
    NOBODY = -1  # no node passes
    LITTLE_LEFT = 64  # a sum that shrank by as much is added up afresh
    REFRESH = 8192  # steps between two refreshments of all sums

cdef double LOG_LITTLE_LEFT = 4.1588830833596715


cdef struct Standing:
    int64_t mask  # the node's candidates to its right
    double score  # its log score
    # Sampling with extra parents: the score over that of the mask without them, in
    # logarithms if the row is; and the largest it was since it was last added up.
    double excess
    double peak


@cython.final
cdef class OrderChain:
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
        TableViews views
        object bit_generator
        skb_bitgen *bitgen
        Py_ssize_t n
        Py_ssize_t width
        bint maximize
        bint scan
        Py_ssize_t scan_node
        double swap_below
        double transposition_below
        public double power
        # state; `place` is the position of each node, with -1 in the padding
        Py_ssize_t[::1] order_
        double[::1] place
        Standing *standing
        # the best order seen
        Py_ssize_t[::1] best_order_
        readonly double best_log_score
        double current
        Py_ssize_t n_steps
        # what a proposal would change, by place; a relocated node's, by slot
        Standing *new
        Standing *slot
        double[::1] slot_total
        double[::1] weight
        int64_t[::1] proposed
        int64_t[::1] accepted

    def __cinit__(self, TableViews views, *args, **kwargs):
        self.standing = <Standing *> calloc(3 * views.n_nodes, sizeof(Standing))
        if self.standing == NULL:
            raise MemoryError()
        self.new = self.standing + views.n_nodes
        self.slot = self.new + views.n_nodes

    def __dealloc__(self):
        free(self.standing)

    def __init__(
        self, TableViews views, bit_generator, order, move_probabilities,
        bint maximize=False, bint scan=False, double power=1.0,
    ):
        cdef Py_ssize_t n = views.n_nodes
        self.views = views
        self.bit_generator = bit_generator
        self.bitgen = bitgen_of(bit_generator)
        self.n = n
        self.width = views.width
        self.maximize = maximize
        self.scan = scan
        self.scan_node = 0
        self.power = power
        self.swap_below = move_probabilities[SWAP]
        self.transposition_below = self.swap_below + move_probabilities[TRANSPOSITION]
        self.order_ = np.empty(n, dtype=np.intp)
        self.best_order_ = np.array(order, dtype=np.intp)
        self.place = np.full(max(self.width, n), -1.0)
        self.slot_total = np.zeros(n)
        self.weight = np.zeros(n)
        self.proposed = np.zeros(3, dtype=np.int64)
        self.accepted = np.zeros(3, dtype=np.int64)
        self.best_log_score = -INFINITY
        self.n_steps = 0
        self.set_order(order)

    # ------------------------------------------------------------------ state

    def set_order(self, order):
        """Move to an order."""
        cdef Py_ssize_t p
        cdef const Py_ssize_t[::1] given = np.ascontiguousarray(order, dtype=np.intp)
        if sorted(given) != list(range(self.n)):
            raise ValueError("order must be a permutation of the nodes")
        self.order_[:] = given
        for p in range(self.n):
            self.place[given[p]] = p
        with nogil:
            for p in range(self.n):
                self.standing[p].mask = self.mask_from(p, self.place[p])
            self.look_up_all()
            self.inspect(self.current)

    @property
    def order(self):
        """The present order, parents to the right of their children."""
        return np.array(self.order_)

    @property
    def best_order(self):
        """The best order seen."""
        return np.array(self.best_order_)

    @property
    def node_scores(self):
        """The log score of each node."""
        return np.array([self.standing[i].score for i in range(self.n)])

    @property
    def log_score(self):
        """The log score of the present order."""
        return self.total()

    @property
    def proposed_moves(self):
        """Number of swaps, transpositions and relocations proposed."""
        return np.array(self.proposed)

    @property
    def accepted_moves(self):
        """Number of swaps, transpositions and relocations that changed the order."""
        return np.array(self.accepted)

    def __getstate__(self):
        cdef Py_ssize_t i
        cdef int64_t[::1] mask = (masks := np.empty(self.n, dtype=np.int64))
        cdef double[:, ::1] sum_ = (sums := np.empty((self.n, 3)))
        for i in range(self.n):
            mask[i] = self.standing[i].mask
            sum_[i, 0] = self.standing[i].score
            sum_[i, 1] = self.standing[i].excess
            sum_[i, 2] = self.standing[i].peak
        return {
            "order": self.order, "best_order": self.best_order,
            "best_log_score": self.best_log_score, "scan_node": self.scan_node,
            "proposed": self.proposed_moves, "accepted": self.accepted_moves,
            "bit_generator": self.bit_generator.state,
            # to the last bit, which a lookup would change
            "current": self.current,
            "masks": masks, "sums": sums,
        }

    def restore(self, state):
        """Go on from a state that ``__getstate__`` gave."""
        cdef Py_ssize_t i
        cdef const int64_t[::1] mask = state["masks"]
        cdef const double[:, ::1] sum_ = state["sums"]
        self.set_order(state["order"])
        self.best_order_ = np.array(state["best_order"], dtype=np.intp)
        self.best_log_score = state["best_log_score"]
        self.scan_node = state["scan_node"]
        self.proposed = np.array(state["proposed"], dtype=np.int64)
        self.accepted = np.array(state["accepted"], dtype=np.int64)
        self.n_steps = state["proposed"].sum()
        self.bit_generator.state = state["bit_generator"]
        self.current = state["current"]
        for i in range(self.n):
            self.standing[i] = Standing(mask[i], sum_[i, 0], sum_[i, 1], sum_[i, 2])

    # ---------------------------------------------------------------- lookups

    cdef inline Standing look_up(
        self, Py_ssize_t node, int64_t mask, double limit
    ) noexcept nogil:
        """Standing of a node whose parents stand at `limit` or to the right of it.

        The node's own place must be `limit`: its column is the base column.
        """
        cdef const NodeView *view = &self.views.nodes[node]
        cdef Py_ssize_t width = self.width
        cdef const double *row
        cdef Standing found
        found.mask = mask
        found.excess = found.peak = 0.0
        if self.maximize:
            found.score = view.maxima[mask] if width == 1 else skb_max_from(
                view.maxima + mask * width, &self.place[0], limit, width
            )
            return found
        found.score = view.log_sums[mask]
        if width == 1 or found.score == -INFINITY:
            return found
        row = view.ratios + mask * width
        if row[view.base_column] == 1.0:
            found.excess = skb_sum_from(row, &self.place[0], limit, width)
            found.score += skb_log(found.excess)
        else:
            found.excess = skb_log_sum_exp_from(row, &self.place[0], limit, width)
            found.score += found.excess
        found.peak = found.excess
        return found

    cdef inline Standing pass_by(
        self, Py_ssize_t node, const Standing *present, Py_ssize_t gained,
        Py_ssize_t lost, double limit
    ) noexcept nogil:
        """Standing of a node after others passed it.

        One, `gained`, came to its right, another, `lost`, went to its left; either
        may be NOBODY. `place` must hold the places they have then, and the node's.
        """
        cdef const NodeView *view = &self.views.nodes[node]
        cdef Py_ssize_t width = self.width
        cdef int64_t mask = present.mask
        cdef const double *row
        cdef double growth
        cdef Standing found
        if gained != NOBODY:
            mask = self.with_parent(mask, node, gained)
        if lost != NOBODY:
            mask = self.without_parent(mask, node, lost)
        if mask != present.mask:
            return self.look_up(node, mask, limit)
        found = present[0]
        if width == 1 or found.score == -INFINITY:
            return found
        if self.maximize:
            row = view.maxima + mask * width
            if lost != NOBODY and row[lost] >= found.score:
                return self.look_up(node, mask, limit)
            if gained != NOBODY and row[gained] > found.score:
                found.score = row[gained]
            return found
        row = view.ratios + mask * width
        if row[view.base_column] == 1.0:
            if gained != NOBODY:
                found.excess += row[gained]
                if found.excess > found.peak:
                    found.peak = found.excess
            if lost != NOBODY:
                found.excess -= row[lost]
                if found.excess * LITTLE_LEFT < found.peak:
                    return self.look_up(node, mask, limit)
            found.score = view.log_sums[mask] + skb_log(found.excess)
        else:
            growth = 1.0
            if gained != NOBODY:
                if row[gained] > found.excess + 1.0:
                    return self.look_up(node, mask, limit)
                growth += skb_exp(row[gained] - found.excess)
            if lost != NOBODY:
                growth -= skb_exp(row[lost] - found.excess)
                if growth * LITTLE_LEFT < 1.0:
                    return self.look_up(node, mask, limit)
            found.excess += skb_log(growth)
            if found.excess > found.peak:
                found.peak = found.excess
            elif found.excess < found.peak - LOG_LITTLE_LEFT:
                return self.look_up(node, mask, limit)
            found.score = view.log_sums[mask] + found.excess
        return found

    cdef inline int64_t mask_from(
        self, Py_ssize_t node, double limit
    ) noexcept nogil:
        """The node's candidates to the right of `limit`."""
        cdef const NodeView *view = &self.views.nodes[node]
        cdef int64_t mask = 0
        cdef Py_ssize_t k
        for k in range(view.n_candidates):
            if self.place[view.candidates[k]] > limit:
                mask |= <int64_t> 1 << k
        return mask

    cdef inline int64_t with_parent(
        self, int64_t mask, Py_ssize_t node, Py_ssize_t parent
    ) noexcept nogil:
        cdef signed char bit = self.views.bits[node * self.n + parent]
        return mask | (<int64_t> 1 << bit) if bit >= 0 else mask

    cdef inline int64_t without_parent(
        self, int64_t mask, Py_ssize_t node, Py_ssize_t parent
    ) noexcept nogil:
        cdef signed char bit = self.views.bits[node * self.n + parent]
        return mask & ~(<int64_t> 1 << bit) if bit >= 0 else mask

    cdef double total(self) noexcept nogil:
        """The order's score, added up anew."""
        cdef Py_ssize_t i
        cdef double total = 0.0
        for i in range(self.n):
            total += self.standing[i].score
        return total

    cdef void look_up_all(self) noexcept nogil:
        """Rid all scores of their rounding errors."""
        cdef Py_ssize_t i
        for i in range(self.n):
            self.standing[i] = self.look_up(i, self.standing[i].mask, self.place[i])
        self.refresh()

    cdef void refresh(self) noexcept nogil:
        """Rid the running total of its rounding errors."""
        self.current = self.total()

    cdef inline double least_gain(self, double log_score) noexcept nogil:
        """More than rounding, or two orders of one DAG could take turns."""
        return 1e-9 * (1.0 + fabs(log_score))

    cdef inline void inspect(self, double log_score) noexcept nogil:
        """Keep the present order if none was better, the first of equals."""
        if log_score > self.best_log_score + 1e-12 * (1.0 + fabs(log_score)):
            self.best_log_score = log_score
            self.best_order_[:] = self.order_

    # ------------------------------------------------------------------ moves

    cdef double propose_swap(self, Py_ssize_t p, Py_ssize_t q) noexcept nogil:
        """Change in log score if the nodes at places p < q were exchanged.

        Leaves the new standings of the nodes from p to q in `new`, at their places
        in the *present* order.
        """
        cdef:
            Py_ssize_t left = self.order_[p]
            Py_ssize_t right = self.order_[q]
            Py_ssize_t r, node
            int64_t left_mask, right_mask
            double change = 0.0
        self.place[left] = q
        self.place[right] = p
        if q == p + 1:
            self.new[p] = self.pass_by(left, &self.standing[left], NOBODY, right, q)
            self.new[q] = self.pass_by(right, &self.standing[right], left, NOBODY, p)
        else:
            left_mask = self.without_parent(self.standing[left].mask, left, right)
            right_mask = self.with_parent(self.standing[right].mask, right, left)
            for r in range(p + 1, q):
                node = self.order_[r]
                left_mask = self.without_parent(left_mask, left, node)
                right_mask = self.with_parent(right_mask, right, node)
                self.new[r] = self.pass_by(
                    node, &self.standing[node], left, right, r
                )
                change += self.new[r].score - self.standing[node].score
            self.new[p] = self.look_up(left, left_mask, q)
            self.new[q] = self.look_up(right, right_mask, p)
        change += self.new[p].score - self.standing[left].score
        change += self.new[q].score - self.standing[right].score
        self.place[left] = p
        self.place[right] = q
        return change

    cdef void apply_swap(
        self, Py_ssize_t p, Py_ssize_t q, double change
    ) noexcept nogil:
        cdef Py_ssize_t left = self.order_[p], right = self.order_[q], r
        for r in range(p, q + 1):
            self.standing[self.order_[r]] = self.new[r]
        self.order_[p] = right
        self.order_[q] = left
        self.place[left] = q
        self.place[right] = p
        self.current += change

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

    cdef void propose_relocation(self, Py_ssize_t node) noexcept nogil:
        """Log scores of the order with `node` at each of the n places.

        With the others in their present order, slot s has the first s of them to
        the left of `node`, which then may be their parent, and the rest to its
        right. So the score at slot s is the sum of the scores *with* it over the
        first s, *without* it over the rest, and of its own score there.
        `new` gets what the others have on the side they are not on now, by their
        places in the present order.
        """
        cdef:
            Py_ssize_t n = self.n
            Py_ssize_t from_ = <Py_ssize_t> self.place[node]
            Py_ssize_t p, s, other
            double total
        # Left of all: nobody may have it as a parent. Right of all: everybody.
        self.place[node] = -1.0
        for p in range(from_):
            other = self.order_[p]
            self.new[p] = self.pass_by(other, &self.standing[other], NOBODY, node, p)
        self.place[node] = n
        for p in range(from_ + 1, n):
            other = self.order_[p]
            self.new[p] = self.pass_by(other, &self.standing[other], node, NOBODY, p)

        # Its own score: start right of all, step left over one node at a time.
        self.slot[n - 1] = self.look_up(node, 0, n)
        for s in range(n - 2, -1, -1):
            # the others' places have a gap at from_
            self.place[node] = (s if s <= from_ else s + 1) - 0.5
            other = self.order_[s if s < from_ else s + 1]
            self.slot[s] = self.pass_by(
                node, &self.slot[s + 1], other, NOBODY, self.place[node]
            )
        self.place[node] = from_

        total = 0.0
        for s in range(n):
            self.slot_total[s] = total + self.slot[s].score
            if s < n - 1:
                p = s if s < from_ else s + 1
                total += self.standing[self.order_[p]].score if p < from_ else (
                    self.new[p].score
                )
        total = 0.0
        for s in range(n - 1, -1, -1):
            self.slot_total[s] += total
            if s > 0:
                p = s - 1 if s - 1 < from_ else s
                total += self.new[p].score if p < from_ else (
                    self.standing[self.order_[p]].score
                )

    cdef void apply_relocation(self, Py_ssize_t node, Py_ssize_t slot) noexcept nogil:
        cdef:
            Py_ssize_t from_ = <Py_ssize_t> self.place[node]
            Py_ssize_t step = 1 if slot > from_ else -1
            Py_ssize_t p, other
        p = from_
        while p != slot:
            other = self.order_[p + step]
            self.standing[other] = self.new[p + step]
            self.order_[p] = other
            self.place[other] = p
            p += step
        self.order_[slot] = node
        self.place[node] = slot
        self.standing[node] = self.slot[slot]
        self.current = self.slot_total[slot]

    cdef bint relocate(self, Py_ssize_t node) noexcept nogil:
        cdef:
            Py_ssize_t n = self.n, s, slot = n - 1
            Py_ssize_t from_ = <Py_ssize_t> self.place[node]
            double top = -INFINITY, total = 0.0, u, least
            Py_ssize_t best = 0
        self.propose_relocation(node)
        for s in range(n):
            top = max(top, self.slot_total[s])
        least = self.least_gain(top)
        # the first of equals, which must not be up to rounding
        while self.slot_total[best] < top - least:
            best += 1
        for s in range(n):
            self.weight[s] = skb_exp(self.power * (self.slot_total[s] - top))
            total += self.weight[s]
        u = uniform(self.bitgen) * total
        slot = best
        for s in range(n):
            u -= self.weight[s]
            if u < 0:
                slot = s
                break
        if self.maximize and top > self.best_log_score + least:
            slot = best  # do not walk past the best order so far
        self.apply_relocation(node, slot)
        self.inspect(self.current)
        return slot != from_

    cdef void step(self) noexcept nogil:
        cdef:
            double u = uniform(self.bitgen)
            Py_ssize_t n = self.n, p, q, node
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
                node = self.scan_node
                self.scan_node = (node + 1) % n
            else:
                node = below(self.bitgen, n)
            changed = self.relocate(node)
        self.proposed[move] += 1
        self.accepted[move] += changed

    def run(self, Py_ssize_t n_steps):
        """Make `n_steps` steps without holding the GIL."""
        cdef Py_ssize_t _
        if self.n < 2:
            return  # one order only: every step stays on it
        with nogil:
            for _ in range(n_steps):
                self.step()
                # at fixed steps of the chain, not of the block
                self.n_steps += 1
                if self.n_steps % REFRESH == 0:
                    self.look_up_all()

    def climb(self):
        """Relocate nodes to their best places until none can be bettered.

        Returns
        -------
        log_score : float
            Of the local optimum, at which the chain then stands.
        """
        cdef Py_ssize_t node, s, best, since_change = 0
        cdef double least
        if self.n < 2:
            return self.current
        with nogil:
            self.refresh()
            node = below(self.bitgen, self.n)
            while since_change < self.n:
                self.propose_relocation(node)
                best = <Py_ssize_t> self.place[node]
                least = self.least_gain(self.slot_total[best])
                # the first of equals, which must not be up to rounding
                for s in range(self.n):
                    if self.slot_total[s] > self.slot_total[best] + least:
                        best = s
                since_change += 1
                if best != <Py_ssize_t> self.place[node]:
                    self.apply_relocation(node, best)
                    since_change = 0
                node = (node + 1) % self.n
            self.refresh()
            self.inspect(self.current)
        return self.current

    def climb_by_transpositions(self):
        """Exchange neighbors while that betters the order; as :meth:`climb`."""
        cdef Py_ssize_t p = 0, since_change = 0
        cdef double change
        if self.n < 2:
            return self.current
        with nogil:
            self.refresh()
            while since_change < self.n - 1:
                change = self.propose_swap(p, p + 1)
                since_change += 1
                if change > self.least_gain(self.current):
                    self.apply_swap(p, p + 1, change)
                    since_change = 0
                p = (p + 1) % (self.n - 1)
            self.refresh()
            self.inspect(self.current)
        return self.current

    def kick(self, Py_ssize_t n_moves):
        """Put `n_moves` random nodes at random places, required edges permitting."""
        cdef Py_ssize_t _, node, slot
        if self.n < 2:
            return
        with nogil:
            for _ in range(n_moves):
                node = below(self.bitgen, self.n)
                slot = below(self.bitgen, self.n)
                self.propose_relocation(node)
                if self.slot_total[slot] > -INFINITY:
                    self.apply_relocation(node, slot)

    # -------------------------------------------------- one move, for the tests

    def swap_change(self, Py_ssize_t p, Py_ssize_t q):
        """Change in log score if the nodes at places p < q were exchanged."""
        return self.propose_swap(p, q)

    def relocation_scores(self, Py_ssize_t node):
        """Log scores with `node` put at each of the n places."""
        self.propose_relocation(node)
        return np.array(self.slot_total)

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
                parents = self.draw_parents(i)
                total += view.scores[parents.subset * self.width + parents.column]
                mark_edges(&packed[0, 0], packed.shape[1], view, i, parents)
        return total

    cdef ParentSet draw_parents(self, Py_ssize_t node) noexcept nogil:
        """Draw a parent set of the node: its column, then its subset."""
        cdef:
            const NodeView *view = &self.views.nodes[node]
            int64_t mask = self.standing[node].mask
            double excess = self.standing[node].excess
            const double *row
            Lot lot = Lot(0.0, -1.0, view.base_column)
        if self.width > 1:
            row = view.ratios + mask * self.width
            lot.rest = uniform(self.bitgen)
            if not in_logs(view, row):
                lot.rest *= excess
            # the node's own column, the base column, stands for no outsider
            falls_on_column(
                &lot, view, row, &self.place[0], self.place[node], INFINITY,
                -excess if in_logs(view, row) else 1.0, self.width,
            )
        return ParentSet(
            draw_subset(
                view, self.width, <Py_ssize_t> lot.chosen, mask, 0, self.bitgen
            ),
            <Py_ssize_t> lot.chosen,
        )
