# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False
"""An order of the nodes, and how each of them stands in it.

State
    A permutation of the nodes. The parents of a node stand to the right of it. With
    each node, its standing: the mask of its candidates to the right, and its log
    score, the sum (for sampling) or the maximum (for searching) over all its parent
    sets within them and with at most one outsider to the right. Nodes in the background
    stand at the end, where nothing moves them: all others may have them as parents.
What stays true
    Every node's score is that of the present order. Where a candidate passes a node,
    the score is looked up: the row of its new mask is added up. Where an outsider
    passes, the row stays, and the sum changes by one of its terms. Differences round:
    so a sum is added up afresh when little is left of what it was, and all sums are
    when a chain asks for it, after every REFRESH steps; between, an error stays below
    REFRESH * LITTLE_LEFT units in the last place. A maximum has no rounding; it is
    looked up when the outsider that held it goes.
Cost
    A lookup is one row, O(n / 4) additions, and one logarithm; an outsider that
    passes, one entry and one logarithm. Of the n nodes that may pass, K are
    candidates. Where each node shares tables with few others, a relocation is a
    matter of these alone.

Chains over orders and chains over DAGs with an order beside them walk on it: it says
what a change of the order would be worth, and makes it. How parents are drawn given
the order says `_parents.pxd`.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport calloc, free

cimport cython
import numpy as np

from skbidag._core._parents cimport (
    NONE,
    Lot,
    ParentSet,
    draw_subset,
    falls_on,
    falls_on_column,
    in_logs,
    lowest_bit,
)
from skbidag._core._random cimport skb_bitgen, uniform
from skbidag._core._tables cimport HAS_TABLE, IN_TABLE, NodeView, TableViews
from skbidag._core._vector cimport (
    skb_exp,
    skb_log,
    skb_log_sum_exp_from,
    skb_max_from,
    skb_sum_from,
)


cdef extern from *:
    """
    #define SKB_PREFETCH(place) __builtin_prefetch(place)
    """
    void prefetch "SKB_PREFETCH" (const void *place) noexcept nogil


cdef inline void fetch_row(const NodeView *view, int64_t mask) noexcept nogil:
    """Ask for a row of maxima, a line of the cache at a time."""
    cdef Py_ssize_t k
    for k in range(0, view.width, 8):
        prefetch(view.maxima + mask * view.width + k)


cdef enum:
    LITTLE_LEFT = 64  # a sum that shrank by as much is added up afresh

cdef double LOG_LITTLE_LEFT = 4.1588830833596715


cdef class OrderState:
    """An order, and the standing of each node in it.

    Parameters
    ----------
    views : TableViews
        The tables, with sums for sampling or maxima for searching.
    maximize : bool
        Whether a node's score is its best parent set or the sum over all.
    """

    def __cinit__(self, TableViews views, *args, **kwargs):
        cdef Py_ssize_t n = views.n_nodes
        self.views = views
        self.n = n
        self.n_main = views.n_main
        self.standing = <Standing *> calloc(4 * n, sizeof(Standing))
        if self.standing == NULL:
            raise MemoryError()
        self.new = self.standing + n
        self.stretch = self.new + n
        self.kept_standing = self.stretch + n
        self.order_ = np.empty(n, dtype=np.intp)
        self.place = np.full(views.n_places, -1.0)
        self.passed = np.empty(n, dtype=np.intp)
        self.stretch_first = np.empty(n + 1, dtype=np.intp)
        self.stretch_total = np.zeros(n)
        self.weight = np.zeros(n)
        self.marked = np.zeros(n // 64 + 1, dtype=np.uint64)

    def __dealloc__(self):
        free(self.standing)

    # ------------------------------------------------------------------ state

    cdef object take_order(self, object order):
        """Move to an order; those in the background are at its end in any case."""
        cdef Py_ssize_t p, q = 0, r = self.n_main
        cdef const Py_ssize_t[::1] given = np.ascontiguousarray(order, dtype=np.intp)
        if sorted(given) != list(range(self.n)):
            raise ValueError("order must be a permutation of the nodes")
        for p in range(self.n):
            if self.views.in_background[given[p]]:
                self.order_[r] = given[p]
                r += 1
            else:
                self.order_[q] = given[p]
                q += 1
        with nogil:
            for p in range(self.n):
                self.place[self.order_[p]] = p
            self.stand_anew()

    cdef void stand_anew(self) noexcept nogil:
        """Look up all nodes in an order that is new as a whole."""
        cdef Py_ssize_t i
        for i in range(self.n):
            self.standing[i].mask = self.mask_from(i, self.place[i])
        self.look_up_all()

    @property
    def order(self):
        """The present order, parents to the right of their children."""
        return np.array(self.order_)

    @property
    def background(self):
        """Which nodes are in the background, at the end of every order."""
        return self.views.background

    @property
    def node_scores(self):
        """The log score of each node."""
        return np.array([self.standing[i].score for i in range(self.n)])

    @property
    def log_score(self):
        """The log score of the present order."""
        return self.total()

    cdef object standings(self):
        """Masks and sums of all nodes, to the last bit, which a lookup would change."""
        cdef Py_ssize_t i
        cdef int64_t[::1] mask = (masks := np.empty(self.n, dtype=np.int64))
        cdef double[:, ::1] sum_ = (sums := np.empty((self.n, 3)))
        for i in range(self.n):
            mask[i] = self.standing[i].mask
            sum_[i, 0] = self.standing[i].score
            sum_[i, 1] = self.standing[i].excess
            sum_[i, 2] = self.standing[i].peak
        return {"order": self.order, "current": self.current, "masks": masks,
                "sums": sums}

    cdef object restore_standings(self, object state):
        """Go back to where :meth:`standings` was asked for."""
        cdef Py_ssize_t i
        cdef const int64_t[::1] mask = state["masks"]
        cdef const double[:, ::1] sum_ = state["sums"]
        self.take_order(state["order"])
        self.current = state["current"]
        for i in range(self.n):
            self.standing[i].mask = mask[i]
            self.standing[i].score = sum_[i, 0]
            self.standing[i].excess = sum_[i, 1]
            self.standing[i].peak = sum_[i, 2]

    # ---------------------------------------------------------------- lookups

    @cython.final
    cdef inline Standing look_up(
        self, Py_ssize_t node, int64_t mask, double limit
    ) noexcept nogil:
        """Standing of a node whose parents stand at `limit` or to the right of it.

        The node's own place must be `limit`: its column is the base column.
        """
        cdef const NodeView *view = &self.views.nodes[node]
        cdef Py_ssize_t width = view.width
        cdef const double *row
        cdef Standing found
        found.mask = mask
        found.excess = found.peak = 0.0
        found.logs = False
        if self.maximize:
            found.score = view.maxima[mask] if width == 1 else skb_max_from(
                view.maxima + mask * width, &self.place[0], view.scattered, limit, width
            )
            return found
        found.score = view.log_sums[mask]
        if width == 1 or found.score == -INFINITY:
            return found
        row = view.ratios + mask * width
        found.logs = in_logs(view, row)
        if not found.logs:
            found.excess = skb_sum_from(
                row, &self.place[0], view.scattered, limit, width
            )
            found.score += skb_log(found.excess)
        else:
            found.excess = skb_log_sum_exp_from(
                row, &self.place[0], view.scattered, limit, width
            )
            found.score += found.excess
        found.peak = found.excess
        return found

    @cython.final
    cdef inline Standing pass_by(
        self, Py_ssize_t node, const Standing *present, Py_ssize_t gained,
        Py_ssize_t lost, double limit
    ) noexcept nogil:
        """Standing of a node after others passed it.

        One, `gained`, came to its right, another, `lost`, went to its left; either
        may be NOBODY. `place` must hold the places they have then, and the node's.
        """
        cdef const NodeView *view = &self.views.nodes[node]
        cdef Py_ssize_t width = view.width
        cdef int64_t mask = present.mask
        cdef const double *row
        cdef double growth
        cdef Standing found
        if gained != NOBODY and not self.views.are_related(node, gained, IN_TABLE):
            gained = NOBODY
        if lost != NOBODY and not self.views.are_related(node, lost, IN_TABLE):
            lost = NOBODY
        if gained == NOBODY and lost == NOBODY:
            return present[0]
        if gained != NOBODY:
            mask = self.with_parent(mask, node, gained)
        if lost != NOBODY:
            mask = self.without_parent(mask, node, lost)
        if mask != present.mask:
            return self.look_up(node, mask, limit)
        found = present[0]
        if width == 1 or found.score == -INFINITY:
            return found
        if gained != NOBODY:
            gained = self.views.column_of(node, gained)
        if lost != NOBODY:
            lost = self.views.column_of(node, lost)
        if self.maximize:
            row = view.maxima + mask * width
            if lost != NOBODY and row[lost] >= found.score:
                return self.look_up(node, mask, limit)
            if gained != NOBODY and row[gained] > found.score:
                found.score = row[gained]
            return found
        row = view.ratios + mask * width
        if not found.logs:
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

    @cython.final
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

    @cython.final
    cdef inline int64_t with_parent(
        self, int64_t mask, Py_ssize_t node, Py_ssize_t parent
    ) noexcept nogil:
        cdef signed char bit = self.views.bits[node * self.n + parent]
        return mask | (<int64_t> 1 << bit) if bit >= 0 else mask

    @cython.final
    cdef inline int64_t without_parent(
        self, int64_t mask, Py_ssize_t node, Py_ssize_t parent
    ) noexcept nogil:
        cdef signed char bit = self.views.bits[node * self.n + parent]
        return mask & ~(<int64_t> 1 << bit) if bit >= 0 else mask

    @cython.final
    cdef double total(self) noexcept nogil:
        """The order's score, added up anew."""
        cdef Py_ssize_t i
        cdef double total = 0.0
        for i in range(self.n):
            total += self.standing[i].score
        return total

    @cython.final
    cdef void look_up_all(self) noexcept nogil:
        """Rid all scores of their rounding errors."""
        cdef Py_ssize_t i
        for i in range(self.n):
            self.standing[i] = self.look_up(i, self.standing[i].mask, self.place[i])
        self.refresh()

    @cython.final
    cdef void refresh(self) noexcept nogil:
        """Rid the running total of its rounding errors."""
        self.current = self.total()

    # ------------------------------------------------------- changes of the order

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
                if not (
                    self.views.are_related(left, node, HAS_TABLE)
                    or self.views.are_related(right, node, HAS_TABLE)
                ):
                    self.new[r] = self.standing[node]
                    continue
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

    cdef void propose_relocation(self, Py_ssize_t node) noexcept nogil:
        """Log scores of the order with `node` at any place.

        With the others in their present order, slot s has the first s of them to
        the left of `node`, which then may be their parent, and the rest to its
        right. Where it passes a node with which it shares no table nothing changes:
        so slots form stretches, from one that it may `pass` with an effect to the
        next. (Where nearly all nodes share tables, each slot is one.) The score in
        stretch k is the sum of the scores *with* it over the first k of `passed`,
        *without* it over the rest, of its own score there, and of the others'.
        `new` gets what those of `passed` have on the side they are not on now.
        """
        cdef:
            Py_ssize_t n = self.n_main
            Py_ssize_t from_ = <Py_ssize_t> self.place[node]
            Py_ssize_t k, other
            double total, elsewhere = 0.0, right = n - 0.5
        self.list_passed(node)
        if self.maximize and self.views.column_numbers != NULL:
            self.fetch_rows(node)
        # Left of all: nobody may have it as a parent. Right of all but the background:
        # everybody.
        self.place[node] = -1.0
        for k in range(self.n_left):
            other = self.passed[k]
            self.new[k] = self.standing[other]
            if self.views.are_related(node, other, HAS_TABLE):
                self.new[k] = self.pass_by(
                    other, &self.standing[other], NOBODY, node, self.place[other]
                )
        self.place[node] = right
        for k in range(self.n_left, self.n_passed):
            other = self.passed[k]
            self.new[k] = self.standing[other]
            if self.views.are_related(node, other, HAS_TABLE):
                self.new[k] = self.pass_by(
                    other, &self.standing[other], node, NOBODY, self.place[other]
                )

        # Its own score: start right of all, step left over one node at a time.
        self.stretch[self.n_passed] = self.look_up(
            node, self.mask_from(node, right), right
        )
        for k in range(self.n_passed - 1, -1, -1):
            other = self.passed[k]
            self.place[node] = self.place[other] - 0.5
            self.stretch[k] = self.pass_by(
                node, &self.stretch[k + 1], other, NOBODY, self.place[node]
            )
        self.place[node] = from_

        total = 0.0
        for k in range(self.n_passed + 1):
            self.stretch_total[k] = total + self.stretch[k].score
            if k < self.n_passed:
                total += self.standing[self.passed[k]].score if k < self.n_left else (
                    self.new[k].score
                )
        total = 0.0
        for k in range(self.n_passed, -1, -1):
            self.stretch_total[k] += total
            if k > 0:
                total += self.new[k - 1].score if k - 1 < self.n_left else (
                    self.standing[self.passed[k - 1]].score
                )
        if self.views.related != NULL:
            elsewhere = self.current - self.stretch_total[self.n_left]
            for k in range(self.n_passed + 1):
                self.stretch_total[k] += elsewhere

    cdef void fetch_rows(self, Py_ssize_t node) noexcept nogil:
        """Ask at once for all rows that a proposal will read one after the other.

        Tables of many variables are far larger than the cache, so that each would be
        waited for.
        """
        cdef:
            const NodeView *view
            Py_ssize_t k, other
            int64_t mask
            signed char bit
        for k in range(self.n_passed):
            prefetch(&self.views.bits[self.passed[k] * self.n + node])
            prefetch(&self.views.column_numbers[self.passed[k] * self.n + node])
            prefetch(&self.views.related[self.passed[k] * self.n + node])
        for k in range(self.n_passed):
            other = self.passed[k]
            view = &self.views.nodes[other]
            mask = self.standing[other].mask
            bit = self.views.bits[other * self.n + node]
            if bit >= 0:
                fetch_row(view, mask ^ (<int64_t> 1 << bit))
            else:
                prefetch(
                    view.maxima + mask * view.width + self.views.column_of(other, node)
                )
        view = &self.views.nodes[node]
        mask = self.mask_from(node, self.n - 0.5)
        fetch_row(view, mask)
        for k in range(self.n_passed - 1, -1, -1):
            bit = self.views.bits[node * self.n + self.passed[k]]
            if bit >= 0:
                mask |= <int64_t> 1 << bit
                fetch_row(view, mask)

    cdef void list_passed(self, Py_ssize_t node) noexcept nogil:
        """List whom a node may pass with an effect, by place, and the stretches."""
        cdef:
            const Py_ssize_t *relatives = self.views.relatives
            Py_ssize_t from_ = <Py_ssize_t> self.place[node]
            Py_ssize_t p, w, size = 0
            uint64_t word
        if self.views.related == NULL:
            for p in range(self.n_main):
                if p != from_:
                    self.passed[size] = self.order_[p]
                    size += 1
                self.stretch_first[p] = p
            self.n_passed = size
            self.n_left = from_
            self.stretch_first[self.n_main] = self.n_main
            return
        # sorted by marks on the places, whose words are then read in turn
        for w in range(
            self.views.first_relative[node], self.views.first_relative[node + 1]
        ):
            p = <Py_ssize_t> self.place[relatives[w]]
            if p < self.n_main:
                self.marked[p >> 6] |= <uint64_t> 1 << (p & 63)
        self.n_left = 0
        self.stretch_first[0] = 0
        for w in range(self.marked.shape[0]):
            word = self.marked[w]
            self.marked[w] = 0
            while word:
                p = (w << 6) + lowest_bit(word)
                word &= word - 1
                self.passed[size] = self.order_[p]
                self.n_left += p < from_
                size += 1
                # the others' places have a gap at from_
                self.stretch_first[size] = p + 1 if p < from_ else p
        self.n_passed = size
        self.stretch_first[size + 1] = self.n_main

    cdef Py_ssize_t draw_slot(
        self, double power, double top, Py_ssize_t otherwise, skb_bitgen *bitgen
    ) noexcept nogil:
        """Draw a slot in proportion to the orders' scores, of which `top` is the best.

        Rounding may leave nothing: then it is `otherwise`.
        """
        cdef Py_ssize_t k, length
        cdef double total = 0.0, u
        for k in range(self.n_passed + 1):
            length = self.stretch_first[k + 1] - self.stretch_first[k]
            self.weight[k] = length * skb_exp(power * (self.stretch_total[k] - top))
            total += self.weight[k]
        u = uniform(bitgen) * total
        for k in range(self.n_passed + 1):
            if u < self.weight[k]:
                length = self.stretch_first[k + 1] - self.stretch_first[k]
                return self.stretch_first[k] + min(
                    length - 1, <Py_ssize_t> (u / self.weight[k] * length)
                )
            u -= self.weight[k]
        return otherwise

    cdef Py_ssize_t stretch_of(self, Py_ssize_t slot) noexcept nogil:
        """The stretch that a slot is in."""
        cdef Py_ssize_t low = 0, high = self.n_passed, middle
        while low < high:
            middle = (low + high + 1) // 2
            if self.stretch_first[middle] <= slot:
                low = middle
            else:
                high = middle - 1
        return low

    cdef void apply_relocation(self, Py_ssize_t node, Py_ssize_t slot) noexcept nogil:
        cdef:
            Py_ssize_t from_ = <Py_ssize_t> self.place[node]
            Py_ssize_t step = 1 if slot > from_ else -1
            Py_ssize_t to = self.stretch_of(slot)
            Py_ssize_t p, k, other
        for k in range(min(to, self.n_left), max(to, self.n_left)):
            self.standing[self.passed[k]] = self.new[k]
        p = from_
        while p != slot:
            other = self.order_[p + step]
            self.order_[p] = other
            self.place[other] = p
            p += step
        self.order_[slot] = node
        self.place[node] = slot
        self.standing[node] = self.stretch[to]
        self.current = self.stretch_total[to]

    # -------------------------------------------------------------------- drawing

    cdef ParentSet draw_parents(
        self, Py_ssize_t node, ParentSet present, skb_bitgen *bitgen
    ) noexcept nogil:
        """Draw a parent set of the node: its column, then its subset.

        The base column, which is that of most sets, comes first: a row is long. Of
        the subsets that one comes first which the node has at present, as it may well
        be drawn again; NONE and NONE if it is not permitted any more.
        """
        cdef:
            const NodeView *view = &self.views.nodes[node]
            int64_t mask = self.standing[node].mask
            double excess = self.standing[node].excess
            const double *row = view.ratios + mask * view.width
            bint logs = self.standing[node].logs
            Lot lot = Lot(0.0, -1.0, view.base_column)
        if view.width > 1:
            lot.rest = uniform(bitgen) * (1.0 if logs else excess)
            if not falls_on(
                &lot, skb_exp(-excess) if logs else 1.0, view.base_column
            ):
                # the node's own column is the base column
                falls_on_column(
                    &lot, view, row, &self.place[0], self.place[node] + 0.25,
                    INFINITY, -excess if logs else 1.0,
                )
        return ParentSet(
            draw_subset(
                view, <Py_ssize_t> lot.chosen, mask, 0,
                present.subset if lot.chosen == present.column else NONE, bitgen,
            ),
            <Py_ssize_t> lot.chosen,
        )
