# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False
"""Sums over the parent sets that a partition permits, and draws from them.

A node of an ordered partition has its parents in the blocks to the right of its own,
and at least one of them in the very next: it *needs* that. Blocks are told by a place
for every node; the next block is where the place is `near`, which may be a half in a
proposal, and what is left of it is not permitted.

State
    The masks of each node, of its permitted and of its needed candidates, as they were
    last found; and rows that were summed from the scores, remembered by these masks.
What stays true
    The logarithm of a sum is right to 1e-10, whatever the range of the scores, and a
    parent set is drawn in proportion to its score. What is remembered changes the time
    that a look-up takes, never its result.
Cost
    The sum over the parent sets that meet the need is the sum over all that are
    permitted minus the sum over those without a needed candidate: two rows of the
    tables that orders use. Outsiders in the next block meet the need whatever the
    candidates are, and are not subtracted but added. Where the needed parents are
    weak, the difference loses digits. Then the row of the sets that contain a needed
    candidate is summed from the scores, all terms being positive, and remembered: a
    chain comes back to few of the 3^K pairs of permitted and needed candidates. (A
    table of the sums over the sets with each candidate, in K 2^(K - 1) rows, could
    give all of them, but takes K/2 times the memory and time to build, and more rows
    to read: it made chains half as fast.)

The methods that chains call take all nodes of a block at once: the rows that they lead
to are on their way from memory before the first is added up.
"""

from libc.math cimport INFINITY, fabs
from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport calloc, free

from skbidag._core._parents cimport (
    LEAST_LOG_RATIO,
    NONE,
    Lot,
    ParentSet,
    draw_subset,
    falls_on,
    falls_on_column,
    in_logs,
)
from skbidag._core._random cimport skb_bitgen, uniform
from skbidag._core._tables cimport NodeView, TableViews
from skbidag._core._vector cimport (
    skb_add_exp,
    skb_exp,
    skb_exp_sums_at,
    skb_log,
    skb_log_add_exp,
    skb_log_or_nothing,
    skb_log_sum_exp_from,
    skb_max_from,
    skb_maximum,
    skb_prefetch,
    skb_ratios,
    skb_sum_from,
    skb_sums_at,
)


cdef enum:
    LOOKUPS, EXACT_LOOKUPS, NEW_ROWS, COLUMNS  # what is counted

# A share of an outsider's sums may be lost 100 nats below the base sum (see
# `_subsets.pyx`), or about 1e-40 for all subsets and outsiders together. Where a
# node's score is not far above that, outsiders are summed anew from the scores.
cdef double LEAST_SHARE = 1e-28
# The logarithms of sums are rounded to 1.1e-16 of themselves, and so is, beside the
# larger sum, a difference. Where it is smaller than this times the logarithm (or than
# LEAST_DIFFERENCE) beside that sum, its own logarithm could miss 1e-10.
cdef double DIFFERENCE_PER_LOG = 4e-6
cdef double LEAST_DIFFERENCE = 1e-3
cdef double LOG_SAFE_SHARE = -3.0
cdef double LARGEST_LOG_RATIO = 600.0
# Bytes of the rows that are remembered.
cdef Py_ssize_t MEMORY = 1 << 22


cdef class RestrictedSums:
    """Sums over restricted parent sets, and the rows remembered for them.

    Parameters
    ----------
    views : TableViews
        The tables, with sums.
    """

    def __cinit__(self, TableViews views):
        cdef Py_ssize_t k
        self.views = views
        self.n = views.n_nodes
        self.width = views.width
        self.n_rows = 256
        while self.n_rows * self.width * 16 <= MEMORY:
            self.n_rows *= 2
        self.allowed = <int64_t *> calloc(2 * self.n, sizeof(int64_t))
        self.rows = <RememberedRow *> calloc(self.n_rows, sizeof(RememberedRow))
        # numbers beyond the remembered rows are for the work on one
        self.ratios = <double *> calloc(
            (self.n_rows + 1) * self.width, sizeof(double)
        )
        if self.allowed == NULL or self.rows == NULL or self.ratios == NULL:
            raise MemoryError
        self.root_score = <double *> calloc(self.n + views.n_places, sizeof(double))
        if self.root_score == NULL:
            raise MemoryError
        self.background = self.root_score + self.n
        for k in range(views.n_places):
            self.background[k] = -1.0
        for k in range(self.n):
            if views.in_background[k]:
                self.background[k] = 1.0
        self.needed = self.allowed + self.n
        self.top = self.ratios + self.n_rows * self.width
        for k in range(self.n_rows):
            self.rows[k].node = -1
            self.rows[k].ratios = self.ratios + k * self.width
        for k in range(self.n):
            self.root_score[k] = self.look_up_free(k, self.background)

    def __dealloc__(self):
        free(self.root_score)
        free(self.allowed)
        free(self.rows)
        free(self.ratios)

    # ---------------------------------------------------------------- with a need

    cdef bint look_up(
        self, const Py_ssize_t *nodes, Py_ssize_t n_nodes, const double *place,
        double near, double *scores
    ) noexcept nogil:
        """Log sums of the nodes of one block, whose need is at `near`.

        Infinity says that they have none: they are roots, with parents in the
        background at most. `scores` gets the sums, by
        node. Stops, and tells, at the first node without a permitted parent set.
        """
        cdef Py_ssize_t k
        if near < INFINITY:
            for k in range(n_nodes):
                self.find_masks(nodes[k], place, near)
        for k in range(n_nodes):
            scores[nodes[k]] = self.look_up_one(nodes[k], place, near)
            if scores[nodes[k]] == -INFINITY:
                return False
        return True

    cdef void draw(
        self, const Py_ssize_t *nodes, Py_ssize_t n_nodes, const double *place,
        double near, const double *scores, ParentSet *drawn, skb_bitgen *bitgen
    ) noexcept nogil:
        """Draw parent sets from those that :meth:`look_up` sums to `scores`."""
        cdef Py_ssize_t k
        if near < INFINITY:
            for k in range(n_nodes):
                self.find_masks(nodes[k], place, near)
        for k in range(n_nodes):
            drawn[nodes[k]] = self.draw_one(
                nodes[k], place, near, scores[nodes[k]], bitgen
            )

    cdef inline void find_masks(
        self, Py_ssize_t node, const double *place, double near
    ) noexcept nogil:
        """Note which candidates lie at `near`, and to the right of it, too.

        The rows they lead to are asked for: most are not in the cache, and take
        longer to come than to add up.
        """
        cdef:
            const NodeView *view = &self.views.nodes[node]
            Py_ssize_t k
            int64_t allowed = 0, needed = 0
            double at
        for k in range(view.n_candidates):
            at = place[view.candidates[k]]
            allowed |= <int64_t> (at >= near) << k
            needed |= <int64_t> (at == near) << k
        self.allowed[node] = allowed
        self.needed[node] = needed
        skb_prefetch(view.log_sums + allowed, 1)
        if view.width > 1:
            skb_prefetch(view.ratios + allowed * view.width, view.width)
        if needed:
            skb_prefetch(view.log_sums + (allowed & ~needed), 1)
            if view.width > 1:
                skb_prefetch(
                    view.ratios + (allowed & ~needed) * view.width, view.width
                )

    cdef double look_up_one(
        self, Py_ssize_t node, const double *place, double near
    ) noexcept nogil:
        """Log sum over the sets with a parent at `near`; the masks must be found."""
        cdef:
            const NodeView *view = &self.views.nodes[node]
            int64_t allowed = self.allowed[node], needed = self.needed[node], rest
            double base, unit, total, least, least_near, scale
            double near_sum, unused, without
        if near == INFINITY:
            return self.root_score[node]
        self.counts[LOOKUPS] += 1
        base = view.log_sums[allowed]
        if base == -INFINITY:
            return base
        unit = self.row_sums(view, allowed, place, near, &near_sum, &total)
        base += unit
        least_near = LEAST_SHARE if unit == 0.0 else max(
            1e-280, LEAST_SHARE * skb_exp(-unit)
        )
        if needed == 0:
            total = near_sum
            least = least_near
        else:
            least = total * (LEAST_DIFFERENCE + DIFFERENCE_PER_LOG * fabs(base))
            rest = allowed & ~needed
            if view.log_sums[rest] > -INFINITY:
                scale = view.log_sums[rest] - base
                scale += self.row_sums(view, rest, place, near, &unused, &without)
                total -= skb_exp(scale) * without
            total += near_sum
        if total < least:
            return self.look_up_exactly(
                node, place, near,
                base + skb_log(near_sum) if near_sum >= least_near else -INFINITY,
            )
        return base + skb_log(total)

    cdef inline double row_sums(
        self, const NodeView *view, int64_t mask, const double *place, double near,
        double *near_sum, double *far_sum
    ) noexcept nogil:
        """Sums of a row: the outsiders at `near`; the rest that is permitted.

        That is the base column and the outsiders further right. Returns the
        logarithm of the unit of both, beside the row's log sum.
        """
        cdef Py_ssize_t width = view.width
        cdef const double *row = view.ratios + mask * width
        cdef double unit
        if width == 1:
            near_sum[0] = 0.0
            far_sum[0] = 1.0
            return 0.0
        if not in_logs(view, row):
            near_sum[0] = skb_sums_at(
                row, place, view.scattered, near, far_sum, width
            )
            far_sum[0] += 1.0
            return 0.0
        unit = max(0.0, skb_max_from(row, place, view.scattered, near, width))
        near_sum[0] = skb_exp_sums_at(
            row, place, view.scattered, near, unit, far_sum, width
        )
        far_sum[0] += skb_exp(-unit)
        return unit

    # ------------------------------------------------- where differences lose digits

    cdef double look_up_exactly(
        self, Py_ssize_t node, const double *place, double near, double total
    ) noexcept nogil:
        """As :meth:`look_up_one`, from positive terms, for any range of scores.

        `total` is the log sum over the sets with an outsider at `near`, or -inf if it
        is too small to be known.
        """
        cdef:
            const NodeView *view = &self.views.nodes[node]
            const RememberedRow *row
        self.counts[EXACT_LOOKUPS] += 1
        if total == -INFINITY:
            total = self.sum_near_outsiders(node, place, near)
        if self.needed[node] == 0:
            return total
        row = self.needed_row(node)
        if row.log_sum == -INFINITY:
            return total
        return skb_log_add_exp(
            total,
            row.log_sum + log_sum_with_base(
                view, row.ratios, place, near + 0.25
            ),
        )

    cdef const RememberedRow *needed_row(self, Py_ssize_t node) noexcept nogil:
        """The sums over the sets within the permitted that meet the need."""
        cdef:
            int64_t allowed = self.allowed[node], needed = self.needed[node]
            uint64_t mixed = <uint64_t> (allowed << 32 | needed) ^ <uint64_t> node << 20
            RememberedRow *row
        mixed = (mixed ^ mixed >> 31) * <uint64_t> 0x9e3779b97f4a7c15
        row = &self.rows[<Py_ssize_t> (mixed >> 33) & (self.n_rows - 1)]
        if row.node != node or row.allowed != allowed or row.needed != needed:
            row.node = node
            row.allowed = allowed
            row.needed = needed
            self.sum_needed(&self.views.nodes[node], row)
        return row

    cdef void sum_needed(
        self, const NodeView *view, RememberedRow *row
    ) noexcept nogil:
        """Sum a row from the scores.

        As in the tables, the log sum of the base column and the ratios to it, or
        their logarithms where one is too large.
        """
        cdef:
            Py_ssize_t width = view.width, j
            double *top = self.top
            double *ratios = row.ratios
            int64_t subset
        self.counts[NEW_ROWS] += 1
        for j in range(width):
            top[j] = -INFINITY
            ratios[j] = 0.0
        subset = row.allowed
        while subset:
            if subset & row.needed:
                if width == 1:
                    top[0] = max(top[0], view.scores[subset])
                else:
                    skb_maximum(top, view.scores + subset * width, width)
            subset = (subset - 1) & row.allowed
        row.log_sum = -INFINITY
        if top[view.base_column] == -INFINITY:
            return
        for j in range(width):
            if top[j] == -INFINITY:
                top[j] = 0.0  # nothing, but inf - inf is no number
        subset = row.allowed
        while subset:
            if subset & row.needed:
                if width == 1:
                    ratios[0] += skb_exp(view.scores[subset] - top[0])
                else:
                    skb_add_exp(ratios, view.scores + subset * width, top, width)
            subset = (subset - 1) & row.allowed
        if width == 1:
            row.log_sum = top[0] + skb_log(ratios[0])
            ratios[0] = 1.0
            return
        skb_log_or_nothing(ratios, width)
        for j in range(width):
            top[j] += ratios[j]
        row.log_sum = top[view.base_column]
        if skb_ratios(ratios, top, row.log_sum, width) > LARGEST_LOG_RATIO:
            for j in range(width):
                ratios[j] = top[j] - row.log_sum

    cdef double sum_near_outsiders(
        self, Py_ssize_t node, const double *place, double near
    ) noexcept nogil:
        """Log sum over the sets with an outsider at `near`, from the scores."""
        cdef:
            const NodeView *view = &self.views.nodes[node]
            Py_ssize_t j
            double total = -INFINITY
        if view.width > 1:
            for j in range(view.width):
                if place[view.columns[j]] == near and self.is_outsider(node, j):
                    total = skb_log_add_exp(total, self.sum_column(node, j))
        return total

    cdef bint is_outsider(self, Py_ssize_t node, Py_ssize_t column) noexcept nogil:
        """Whether a column may hold something; those of candidates do not."""
        cdef Py_ssize_t variable = self.views.nodes[node].columns[column]
        return variable < self.n and self.views.bits[node * self.n + variable] < 0

    cdef double sum_column(self, Py_ssize_t node, Py_ssize_t column) noexcept nogil:
        """Log sum over the permitted subsets in one column, from the scores."""
        cdef:
            const NodeView *view = &self.views.nodes[node]
            const double *scores = view.scores + column
            int64_t mask = self.allowed[node], subset = mask
            double score, top = -INFINITY, total = 0.0
        self.counts[COLUMNS] += 1
        while True:
            score = scores[subset * view.width]
            if score > top:
                total = 1.0 + total * skb_exp(top - score)
                top = score
            elif score > -INFINITY:
                total += skb_exp(score - top)
            if subset == 0:
                break
            subset = (subset - 1) & mask
        return top + skb_log(total) if top > -INFINITY else top

    # -------------------------------------------------------------------- drawing

    cdef ParentSet draw_one(
        self, Py_ssize_t node, const double *place, double near, double log_total,
        skb_bitgen *bitgen
    ) noexcept nogil:
        """Draw a parent set of the node; the masks must be found."""
        cdef:
            const NodeView *view = &self.views.nodes[node]
            int64_t allowed = self.allowed[node], needed = self.needed[node]
            Py_ssize_t column
            Lot lot
        if near == INFINITY:
            if self.views.n_main == self.n:
                return ParentSet(0, view.base_column)
            self.find_masks(node, self.background, 1.0)
            return self.draw_free(node, self.background, log_total, bitgen)
        lot = Lot(uniform(bitgen), -1.0, view.base_column)
        if not self.falls_on_near(&lot, node, place, near, log_total):
            self.falls_on_needed(&lot, node, place, near, log_total)
        column = <Py_ssize_t> lot.chosen
        if column != view.base_column and place[view.columns[column]] == near:
            needed = 0  # the outsider meets the need
        return ParentSet(
            draw_subset(view, column, allowed, needed, NONE, bitgen), column
        )

    cdef bint falls_on_near(
        self, Lot *lot, Py_ssize_t node, const double *place, double near,
        double log_total
    ) noexcept nogil:
        """Whether the lot falls on an outsider at `near`, with any subset."""
        cdef:
            const NodeView *view = &self.views.nodes[node]
            int64_t allowed = self.allowed[node]
            double log_scale = view.log_sums[allowed] - log_total
            const double *row = view.ratios + allowed * view.width
            Py_ssize_t j
        if view.width == 1:
            return False
        if log_scale > -LEAST_LOG_RATIO:
            for j in range(view.width):
                if place[view.columns[j]] == near and self.is_outsider(node, j):
                    if falls_on(lot, skb_exp(self.sum_column(node, j) - log_total), j):
                        return True
            return False
        return falls_on_column(
            lot, view, row, place, near, near,
            log_scale if in_logs(view, row) else skb_exp(log_scale),
        )

    cdef bint falls_on_needed(
        self, Lot *lot, Py_ssize_t node, const double *place, double near,
        double log_total
    ) noexcept nogil:
        """Whether it falls on none, or on one further right, with what is needed.

        By differences, too, unless what the node has is a small part of them.
        """
        cdef:
            const NodeView *view = &self.views.nodes[node]
            int64_t allowed = self.allowed[node], needed = self.needed[node]
            Py_ssize_t width = view.width, j
            double log_scale = view.log_sums[allowed] - log_total
            const double *row = view.ratios + allowed * width
            const double *without = row
            const RememberedRow *exact
            double scale, share = 0.0
        if needed == 0:
            return False
        if view.log_sums[allowed & ~needed] > -INFINITY:
            without = view.ratios + (allowed & ~needed) * width
            share = skb_exp(view.log_sums[allowed & ~needed] - view.log_sums[allowed])
        if log_scale < -LOG_SAFE_SHARE and not (
            in_logs(view, row) or in_logs(view, without)
        ):
            scale = skb_exp(log_scale)
            if falls_on(lot, scale * (1.0 - share), view.base_column):
                return True
            for j in range(width if width > 1 else 0):
                if place[view.columns[j]] > near and falls_on(
                    lot, scale * max(0.0, row[j] - share * without[j]), j
                ):
                    return True
            return False
        exact = self.needed_row(node)
        if exact.log_sum == -INFINITY:
            return False
        log_scale = exact.log_sum - log_total
        if falls_on(lot, skb_exp(log_scale), view.base_column):
            return True
        return width > 1 and falls_on_column(
            lot, view, exact.ratios, place, near + 0.25, INFINITY,
            log_scale if in_logs(view, exact.ratios) else skb_exp(log_scale),
        )

    # ------------------------------------------------------------- without a need

    cdef double look_up_free(
        self, Py_ssize_t node, const double *place
    ) noexcept nogil:
        """Log sum over the sets with all parents at 1 or to the right of it."""
        cdef const NodeView *view = &self.views.nodes[node]
        cdef int64_t allowed
        self.find_masks(node, place, 1.0)
        allowed = self.allowed[node]
        if view.log_sums[allowed] == -INFINITY:
            return -INFINITY
        return view.log_sums[allowed] + log_sum_with_base(
            view, view.ratios + allowed * view.width, place, 1.0
        )

    cdef ParentSet draw_free(
        self, Py_ssize_t node, const double *place, double log_total,
        skb_bitgen *bitgen
    ) noexcept nogil:
        """Draw a parent set from those that :meth:`look_up_free` sums."""
        cdef:
            const NodeView *view = &self.views.nodes[node]
            int64_t allowed = self.allowed[node]
            const double *row = view.ratios + allowed * view.width
            double log_scale = view.log_sums[allowed] - log_total
            Lot lot = Lot(uniform(bitgen), -1.0, view.base_column)
        if not falls_on(&lot, skb_exp(log_scale), view.base_column) and view.width > 1:
            falls_on_column(
                &lot, view, row, place, 1.0, INFINITY,
                log_scale if in_logs(view, row) else skb_exp(log_scale),
            )
        return ParentSet(
            draw_subset(
                view, <Py_ssize_t> lot.chosen, allowed, 0, NONE, bitgen
            ),
            <Py_ssize_t> lot.chosen,
        )


cdef inline double log_sum_with_base(
    const NodeView *view, const double *row, const double *place, double limit
) noexcept nogil:
    """Log of a row's sum over the base column and the outsiders from `limit` on."""
    if view.width == 1:
        return 0.0
    if in_logs(view, row):
        return skb_log_add_exp(0.0, skb_log_sum_exp_from(
            row, place, view.scattered, limit, view.width
        ))
    return skb_log(
        1.0 + skb_sum_from(row, place, view.scattered, limit, view.width)
    )
