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
    candidates.

Chains over orders and chains over DAGs with an order beside them walk on it: it says
what a change of the order would be worth, and makes it. How parents are drawn given
the order says `_parents.pxd`.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int64_t
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
        self.standing = <Standing *> calloc(3 * n, sizeof(Standing))
        if self.standing == NULL:
            raise MemoryError()
        self.new = self.standing + n
        self.slot = self.new + n
        self.order_ = np.empty(n, dtype=np.intp)
        self.place = np.full(views.n_places, -1.0)
        self.slot_total = np.zeros(n)

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
        """Log scores of the order with `node` at each of the places.

        With the others in their present order, slot s has the first s of them to
        the left of `node`, which then may be their parent, and the rest to its
        right. So the score at slot s is the sum of the scores *with* it over the
        first s, *without* it over the rest, and of its own score there.
        `new` gets what the others have on the side they are not on now, by their
        places in the present order.
        """
        cdef:
            Py_ssize_t n = self.n_main
            Py_ssize_t from_ = <Py_ssize_t> self.place[node]
            Py_ssize_t p, s, other
            double total, right = n - 0.5
        # Left of all: nobody may have it as a parent. Right of all but the background:
        # everybody.
        self.place[node] = -1.0
        for p in range(from_):
            other = self.order_[p]
            self.new[p] = self.standing[other]
            if self.views.are_related(node, other, HAS_TABLE):
                self.new[p] = self.pass_by(
                    other, &self.standing[other], NOBODY, node, p
                )
        self.place[node] = right
        for p in range(from_ + 1, n):
            other = self.order_[p]
            self.new[p] = self.standing[other]
            if self.views.are_related(node, other, HAS_TABLE):
                self.new[p] = self.pass_by(
                    other, &self.standing[other], node, NOBODY, p
                )

        # Its own score: start right of all, step left over one node at a time.
        self.slot[n - 1] = self.look_up(node, self.mask_from(node, right), right)
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
