# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False
"""Score tables of mixed data: a walk over cells, and in each over covariances.

A set of columns has a log marginal likelihood L: the categorical ones make cells,
whose counts N have a Dirichlet prior, and within a cell the l continuous ones have the
scatter matrix R = t I + Q - s s' / (a + N), from the rows' sums s and sums of products
Q and the a observations that the prior mean is worth there. A cell adds to L

    constant(N, a, l) - (N + nu + l) / 2 ln det R,

and the score of a child is the difference of L with and without it.

The subsets of the categorical candidates are walked depth-first, the rows sorted so
that each cell is a run of them. For each such subset, the subsets of the continuous
candidates are walked by Schur complements of R, for all cells side by side: a *lane* is
one cell with what may come on top of the candidates, so that every step is the same
arithmetic for sixteen of them. Lanes are

- the cells of the set itself;
- for each continuous outsider, the same cells with the outsider as one more variable;
- for each categorical outsider, the cells that it divides these into.

A continuous child is the last variable of a lane. A categorical child divides cells
itself, and these count positive, the undivided ones negative.

What stays true: rows count in their given order, and what a call gives does not depend
on the calls before. Cost of a subset: about four multiplications and two logarithms per
lane, and for each subset of the categorical candidates one pass over the rows.
"""

from cython cimport final
from libc.math cimport lgamma, log
from libc.string cimport memcpy, memset

from skbidag._core._vector cimport skb_log

import numpy as np


cdef extern from *:
    """
    /* Lanes that go side by side */
    #define SKB_LANES 16

    /* Schur complement of the first of m variables, in all lanes. The upper
       triangle stands row by row, and `below` gets the rows but the first.
       Adds the logarithm of the pivot to log_det. */
    SKB_CLONES void skb_sweep(double *below, const double *level,
            const double *log_det, double *log_det_below, double floor,
            Py_ssize_t m)
    {
        for (int lane = 0; lane < SKB_LANES; lane += 4) {
            skb_vec least = SKB_ALL(floor), pivot = SKB_LOAD(level + lane), log_pivot;
            pivot = SKB_SELECT((skb_int)(pivot < least), least, pivot);
            skb_log_to(&pivot, &log_pivot);
            SKB_STORE(log_det_below + lane, SKB_LOAD(log_det + lane) + log_pivot);
            skb_vec inverse = 1.0 / pivot;
            const double *first = level + lane, *old = first + m * SKB_LANES;
            double *to = below + lane;
            for (Py_ssize_t a = 1; a < m; a++) {
                skb_vec factor = SKB_LOAD(first + a * SKB_LANES) * inverse;
                for (Py_ssize_t b = a; b < m; b++) {
                    SKB_STORE(to, SKB_LOAD(old)
                              - factor * SKB_LOAD(first + b * SKB_LANES));
                    old += SKB_LANES;
                    to += SKB_LANES;
                }
            }
        }
    }

    /* What lanes are worth given a set of size 2 half_size: minus (N + nu + l) / 2
       times ln det, or, with a continuous child, times the logarithm of the variance
       that is left of it, and half of ln det. `tail` has the variables after the
       candidates, the child last. */
    SKB_CLONES void skb_lane_values(double *value, const double *tail,
            const double *log_det, const double *power, const double *signs,
            double half_size, int has_child, double floor, int n_tail)
    {
        for (int lane = 0; lane < SKB_LANES; lane += 4) {
            skb_vec least = SKB_ALL(floor), det = SKB_LOAD(log_det + lane);
            skb_vec sign = SKB_LOAD(signs + lane), v, log_v, spread;
            skb_vec half = SKB_LOAD(power + lane) + half_size * sign;
            if (n_tail == 0) {
                SKB_STORE(value + lane, -half * det);
                continue;
            }
            v = SKB_LOAD(tail + lane);
            v = SKB_SELECT((skb_int)(v < least), least, v);
            if (n_tail == 2) {
                skb_vec c = SKB_LOAD(tail + SKB_LANES + lane);
                skb_log_to(&v, &log_v);
                det = det + log_v;
                spread = SKB_LOAD(tail + 2 * SKB_LANES + lane) - c * c / v;
                v = SKB_SELECT((skb_int)(spread < least), least, spread);
            }
            skb_log_to(&v, &log_v);
            if (has_child)
                SKB_STORE(value + lane, -half * log_v - 0.5 * sign * det);
            else
                SKB_STORE(value + lane, -half * (log_v + det));
        }
    }

    /* What a row adds to a cell: its weight, values, and the upper triangle of
       their products. */
    SKB_CLONES void skb_row_sums(double *sums, const double *x, double weight,
            Py_ssize_t m)
    {
        double *to = sums + 1 + m;
        sums[0] = weight;
        for (Py_ssize_t a = 0; a < m; a++) {
            double wx = weight * x[a];
            sums[1 + a] = wx;
            for (Py_ssize_t b = a; b < m; b++) *to++ = wx * x[b];
        }
    }

    /* Where the constants of a cell with this count and prior may stand */
    #define SKB_PLACES 256
    static inline Py_ssize_t skb_place(double count, double alpha)
    {
        unsigned long long of_count, of_alpha;
        memcpy(&of_count, &count, sizeof(count));
        memcpy(&of_alpha, &alpha, sizeof(alpha));
        return ((of_count ^ of_alpha * 3) * 0x9E3779B97F4A7C15ull) >> 56;
    }

    SKB_CLONES void skb_add_array(double *target, const double *source,
            Py_ssize_t size)
    {
        for (Py_ssize_t j = 0; j < size; j++) target[j] += source[j];
    }

    /* What a row adds to the sums that concern outsiders */
    SKB_CLONES void skb_add_products(double *target, const double *x, Py_ssize_t m,
            const double *others, double weight, Py_ssize_t width)
    {
        for (Py_ssize_t j = 0; j < width; j++) target[j] += weight * others[j];
        target += width;
        for (Py_ssize_t j = 0; j < width; j++)
            target[j] += weight * others[j] * others[j];
        for (Py_ssize_t a = 0; a < m; a++) {
            double wx = weight * x[a];
            target += width;
            for (Py_ssize_t j = 0; j < width; j++) target[j] += wx * others[j];
        }
    }
    """
    enum: SKB_LANES
    enum: SKB_PLACES
    Py_ssize_t skb_place(double, double) noexcept nogil
    void skb_sweep(
        double*, const double*, const double*, double*, double, Py_ssize_t
    ) noexcept nogil
    void skb_lane_values(
        double*, const double*, const double*, const double*, const double*, double,
        int, double, int
    ) noexcept nogil
    void skb_row_sums(double*, const double*, double, Py_ssize_t) noexcept nogil
    void skb_add_array(double*, const double*, Py_ssize_t) noexcept nogil
    void skb_add_products(
        double*, const double*, Py_ssize_t, const double*, double, Py_ssize_t
    ) noexcept nogil


cdef double LOG_PI = log(3.141592653589793)


@final
cdef class MixedWalk:
    """The walk over the parent sets of mixed data.

    Parameters
    ----------
    codes : ndarray of int32 of shape (n_features, n_rows), C-contiguous
        The categorical columns as codes from 0; those of others are not looked at.
    values : ndarray of float64 of shape (n_rows, n_features), C-contiguous
        The continuous columns as deviations from the prior mean, in the prior's units.
    weights : ndarray of float64 of shape (n_rows,)
        How often each row counts, positive.
    n_levels : ndarray of int of shape (n_features,)
        Number of levels of each categorical column; 0 for a continuous one.
    pseudo_count : float
        Sum of the pseudo-counts of the cells.
    alpha_mu : float
        How many observations the prior mean is worth, all cells together.
    surplus : float
        By how much the degrees of freedom exceed the number of variables (nu).
    prior_scale : float
        The prior's scatter of a column (t).
    """

    cdef:
        # The data and the prior.
        Py_ssize_t n_rows
        const int[:, ::1] codes
        const double[:, ::1] values
        const double[::1] weights
        const Py_ssize_t[::1] n_levels
        double pseudo_count, alpha_mu, surplus, prior_scale, log_prior_scale
        double total
        double[::1] log_gamma          # lnΓ((surplus + 1 + m) / 2) for whole m
        bint whole                     # counts are whole numbers
        # What a call asks for.
        Py_ssize_t node
        int child_levels               # 0 if the child is continuous
        bint only_full
        Py_ssize_t n_divisors, n_numbers
        Py_ssize_t[::1] divisors       # the categorical candidates
        Py_ssize_t[::1] divisor_bit
        Py_ssize_t[::1] number_bit     # of the continuous candidates
        Py_ssize_t[::1] dividers       # the categorical outsiders
        Py_ssize_t n_dividers, n_others
        Py_ssize_t[::1] slot_column    # the set itself, then outsiders of both kinds
        double[::1] slot_bias
        double[::1] divisor_bias, number_bias
        double[:, :] out
        # The rows' narrow values (candidates and child) and wide ones (outsiders).
        Py_ssize_t narrow, wide, n_sums, n_far
        double[:, ::1] x, others
        # Rows in cells at each depth.
        Py_ssize_t[:, ::1] order
        Py_ssize_t[:, ::1] start
        Py_ssize_t[::1] n_cells
        Py_ssize_t[::1] slots
        # Sums of one cell: of itself by the child's levels, wide ones, and divided.
        double[:, ::1] own
        double[:, ::1] far
        double[:, ::1] divided
        Py_ssize_t[::1] first_part     # where each divider's parts begin
        double[::1] row_sums
        double[::1] pooled, pooled_far
        # Lanes that wait, and the levels of their walk.
        double[:, ::1] level
        double[:, ::1] log_det
        double[::1] power, sign, value
        Py_ssize_t[::1] lane_column
        int n_lanes, n_tail
        Py_ssize_t mask                # of the categorical candidates at hand
        # Constants of the slots by the number of continuous candidates.
        double[:, ::1] constant
        # Constants of cells by count and prior, which are few, in many cells: a row of
        # each, at a place that a hash of both gives.
        double[:, ::1] offset
        double[::1] offset_count, offset_alpha, log_share

    def __init__(
        self, codes, values, weights, n_levels, double pseudo_count, double alpha_mu,
        double surplus, double prior_scale
    ):
        self.n_rows = len(weights)
        self.codes = codes
        self.values = values
        self.weights = weights
        self.n_levels = n_levels
        self.pseudo_count = pseudo_count
        self.alpha_mu = alpha_mu
        self.surplus = surplus
        self.prior_scale = prior_scale
        self.log_prior_scale = log(prior_scale)
        self.total = weights.sum()
        self.whole = (weights == np.floor(weights)).all() and self.total < 1e6
        most = int(self.total) if self.whole else 0
        self.log_gamma = np.empty(most + len(n_levels) + 4)
        cdef Py_ssize_t m
        for m in range(self.log_gamma.shape[0]):
            self.log_gamma[m] = lgamma((surplus + 1 + m) / 2)

    def fill_table(
        self, Py_ssize_t node, candidates, outsiders, columns, Py_ssize_t base_column,
        log_odds, double[:, :] out, bint only_full=False
    ):
        """Write the score of every subset of `candidates` into a table.

        Parameters
        ----------
        node : int
            The child.
        candidates : ndarray of int
            The parents of which all subsets are scored.
        outsiders : ndarray of int
            Variables of which single ones are added to the subsets.
        columns : ndarray of int
            The column of `out` of each outsider.
        base_column : int
            The column of `out` for the subsets as they are.
        log_odds : ndarray of float64 of shape (n_features,)
            Log prior odds of each variable as a parent.
        out : ndarray of float64 of shape (2^K, n_columns)
            The table; entries that are not asked for are left alone.
        only_full : bool, default=False
            Whether the set of all candidates alone is asked for: then `out` has one
            row.
        """
        levels = np.asarray(self.n_levels)
        candidates = np.asarray(candidates, dtype=np.intp)
        outsiders = np.asarray(outsiders, dtype=np.intp)
        columns = np.asarray(columns, dtype=np.intp)
        categorical = levels[candidates] > 0
        bit = np.left_shift(1, np.arange(len(candidates)))
        if only_full:
            bit[:] = 0
        self.node, self.only_full = node, only_full
        self.child_levels = levels[node]
        self.divisors = np.append(candidates[categorical], 0)
        self.divisor_bit = np.append(bit[categorical], 0)
        self.divisor_bias = np.append(log_odds[candidates[categorical]], 0.0)
        numbers = candidates[~categorical]
        self.number_bit = np.append(bit[~categorical], 0)
        self.number_bias = np.append(log_odds[numbers], 0.0)
        self.n_divisors, self.n_numbers = categorical.sum(), len(numbers)
        divides = levels[outsiders] > 0
        others, dividers = outsiders[~divides], outsiders[divides]
        self.dividers = np.append(dividers, 0)
        self.n_others, self.n_dividers = len(others), len(dividers)
        self.slot_column = np.concatenate(
            [[base_column], columns[~divides], columns[divides]]
        ).astype(np.intp)
        self.slot_bias = np.concatenate([[0.0], log_odds[others], log_odds[dividers]])
        self.out = out

        values = np.asarray(self.values)
        inner = numbers if self.child_levels else np.append(numbers, node)
        self.narrow, self.wide = len(inner), (len(others) + 3) // 4 * 4
        self.n_sums = 1 + self.narrow + self.narrow * (self.narrow + 1) // 2
        self.x = np.ascontiguousarray(np.pad(values[:, inner], ((0, 0), (0, 1))))
        padding = ((0, 0), (0, self.wide - len(others) + 1))
        self.others = np.ascontiguousarray(np.pad(values[:, others], padding))

        order = np.empty((self.n_divisors + 1, self.n_rows), dtype=np.intp)
        order[0] = np.arange(self.n_rows)
        self.order = order
        self.start = np.empty((self.n_divisors + 1, self.n_rows + 1), dtype=np.intp)
        self.n_cells = np.empty(self.n_divisors + 1, dtype=np.intp)
        self.slots = np.empty(levels.max(initial=0) + 1, dtype=np.intp)
        by_child = max(1, self.child_levels)
        self.own = np.empty((by_child, self.n_sums))
        self.n_far = (self.narrow + 2) * self.wide
        self.far = np.empty((by_child, self.n_far + 1))
        self.first_part = np.cumsum(np.append(0, levels[dividers] * by_child))
        n_parts = self.first_part[self.n_dividers]
        self.divided = np.empty((n_parts + 1, self.n_sums))
        self.row_sums = np.empty(self.n_sums)
        self.pooled = np.empty(self.n_sums)
        self.pooled_far = np.empty(self.n_far + 1)
        size = self.n_numbers + 2
        self.level = np.zeros(
            (self.n_numbers + 1, size * (size + 1) // 2 * SKB_LANES)
        )
        self.log_det = np.zeros((self.n_numbers + 1, SKB_LANES))
        self.power, self.sign = np.zeros(SKB_LANES), np.zeros(SKB_LANES)
        self.value = np.empty(SKB_LANES)
        self.lane_column = np.zeros(SKB_LANES, dtype=np.intp)
        self.constant = np.empty((len(self.slot_column), self.n_numbers + 1))
        self.offset = np.empty((SKB_PLACES, self.n_numbers + 3))
        self.offset_count = np.full(SKB_PLACES, -1.0)
        self.offset_alpha = np.empty(SKB_PLACES)
        self.log_share = np.empty(SKB_PLACES)
        self.n_lanes = 0

        self.start[0, 0], self.start[0, 1] = 0, self.n_rows
        self.n_cells[0] = 1
        with nogil:
            self.divide(0, 0, 1.0, 0.0)

    # ------------------------------------------------------ sets of categories

    cdef void divide(
        self, Py_ssize_t depth, Py_ssize_t first, double n_cells, double bias
    ) noexcept nogil:
        """Score the sets with these categorical parents, and those with more."""
        cdef Py_ssize_t k, bits = self.mask
        if depth == 0:
            self.mask = bits = 0
        if not self.only_full or depth == self.n_divisors:
            self.score_cells(depth, n_cells, bias)
        for k in range(first, self.n_divisors):
            self.split(depth, self.divisors[k])
            self.mask = bits | self.divisor_bit[k]
            self.divide(
                depth + 1, k + 1, n_cells * self.n_levels[self.divisors[k]],
                bias + self.divisor_bias[k],
            )
            self.mask = bits
            if self.only_full:
                break

    cdef void split(self, Py_ssize_t depth, Py_ssize_t column) noexcept nogil:
        """Sort the rows of each cell by the levels of a column, for the next depth."""
        cdef:
            const int* code = &self.codes[column, 0]
            const Py_ssize_t* old = &self.order[depth, 0]
            Py_ssize_t* new = &self.order[depth + 1, 0]
            Py_ssize_t* slot = &self.slots[0]
            Py_ssize_t levels = self.n_levels[column]
            Py_ssize_t cell, begin, end, row, level, place, count, found = 0
        for cell in range(self.n_cells[depth]):
            begin, end = self.start[depth, cell], self.start[depth, cell + 1]
            if end - begin == 1:
                new[begin] = old[begin]
                self.start[depth + 1, found] = begin
                found += 1
                continue
            memset(slot, 0, levels * sizeof(Py_ssize_t))
            for row in range(begin, end):
                slot[code[old[row]]] += 1
            place = begin
            for level in range(levels):
                count = slot[level]
                slot[level] = place
                if count:
                    self.start[depth + 1, found] = place
                    found += 1
                place += count
            for row in range(begin, end):
                level = code[old[row]]
                new[slot[level]] = old[row]
                slot[level] += 1
        self.start[depth + 1, found] = self.n_rows
        self.n_cells[depth + 1] = found

    cdef void score_cells(
        self, Py_ssize_t depth, double n_cells, double bias
    ) noexcept nogil:
        """Score all sets with these cells."""
        cdef Py_ssize_t cell
        memset(
            &self.constant[0, 0], 0,
            self.constant.shape[0] * self.constant.shape[1] * sizeof(double),
        )
        self.clear(0, 0)
        for cell in range(self.n_cells[depth]):
            self.add_up(depth, cell)
            self.emit_own(n_cells)
            self.emit_divided(n_cells)
        # the lanes of outsiders have one variable more, so that they go by themselves
        self.flush()
        if self.n_others:
            for cell in range(self.n_cells[depth]):
                self.add_up_far(depth, cell)
                self.emit_others(n_cells)
            self.flush()
        self.add_constants(0, 0, 0, bias)

    cdef void clear(self, Py_ssize_t first, Py_ssize_t mask) noexcept nogil:
        """Set the entries of all sets with these cells to zero."""
        cdef Py_ssize_t k, slot
        for slot in range(self.slot_column.shape[0]):
            self.out[self.mask | mask, self.slot_column[slot]] = 0.0
        if not self.only_full:
            for k in range(first, self.n_numbers):
                self.clear(k + 1, mask | self.number_bit[k])

    cdef void add_constants(
        self, Py_ssize_t first, Py_ssize_t mask, Py_ssize_t size, double bias
    ) noexcept nogil:
        """Add what depends on counts and on the prior over edges."""
        cdef Py_ssize_t k, slot
        if not self.only_full or size == self.n_numbers:
            for slot in range(self.slot_column.shape[0]):
                self.out[self.mask | mask, self.slot_column[slot]] += (
                    self.constant[slot, size] + self.slot_bias[slot] + bias
                )
        for k in range(first, self.n_numbers):
            self.add_constants(
                k + 1, mask | self.number_bit[k], size + 1,
                bias + self.number_bias[k],
            )
            if self.only_full:
                break

    # ---------------------------------------------------------- sums of cells

    cdef void add_up(self, Py_ssize_t depth, Py_ssize_t cell) noexcept nogil:
        """Sums of a cell by the child's levels, and of the parts it is divided into."""
        cdef:
            Py_ssize_t n_sums = self.n_sums, by_child = self.own.shape[0]
            Py_ssize_t at, row, k, level, part
            size_t n_bytes = n_sums * sizeof(double)
            double* sums = &self.row_sums[0]
            double* to
        # a weight of zero says that there is nothing yet
        for part in range(by_child):
            self.own[part, 0] = 0.0
        for part in range(self.first_part[self.n_dividers]):
            self.divided[part, 0] = 0.0
        for at in range(self.start[depth, cell], self.start[depth, cell + 1]):
            row = self.order[depth, at]
            skb_row_sums(sums, &self.x[row, 0], self.weights[row], self.narrow)
            level = self.codes[self.node, row] if self.child_levels else 0
            for k in range(-1, self.n_dividers):
                if k < 0:
                    to = &self.own[level, 0]
                else:
                    part = self.codes[self.dividers[k], row] * by_child + level
                    to = &self.divided[self.first_part[k] + part, 0]
                if to[0] == 0.0:
                    memcpy(to, sums, n_bytes)
                else:
                    skb_add_array(to, sums, n_sums)

    cdef void add_up_far(self, Py_ssize_t depth, Py_ssize_t cell) noexcept nogil:
        """Sums of a cell, those that concern continuous outsiders among them."""
        cdef:
            Py_ssize_t at, row, level
            double* sums = &self.row_sums[0]
        memset(&self.own[0, 0], 0, self.own.shape[0] * self.n_sums * sizeof(double))
        memset(
            &self.far[0, 0], 0, self.far.shape[0] * (self.n_far + 1) * sizeof(double)
        )
        for at in range(self.start[depth, cell], self.start[depth, cell + 1]):
            row = self.order[depth, at]
            level = self.codes[self.node, row] if self.child_levels else 0
            skb_row_sums(sums, &self.x[row, 0], self.weights[row], self.narrow)
            skb_add_array(&self.own[level, 0], sums, self.n_sums)
            skb_add_products(
                &self.far[level, 0], &self.x[row, 0], self.narrow, &self.others[row, 0],
                self.weights[row], self.wide,
            )

    # ------------------------------------------------------------------ lanes

    cdef void emit_own(self, double n_cells) noexcept nogil:
        """Lanes of a cell itself."""
        if self.child_levels:
            self.emit_parts(&self.own[0, 0], n_cells, 0)
        else:
            self.emit(&self.own[0, 0], NULL, 0, n_cells, 1.0, 0)

    cdef void emit_divided(self, double n_cells) noexcept nogil:
        """Lanes of the parts that categorical outsiders divide a cell into."""
        cdef Py_ssize_t k, level, levels, slot, part
        for k in range(self.n_dividers):
            levels = self.n_levels[self.dividers[k]]
            slot = 1 + self.n_others + k
            for level in range(levels):
                part = self.first_part[k] + level * self.own.shape[0]
                if self.child_levels:
                    self.emit_parts(&self.divided[part, 0], n_cells * levels, slot)
                elif self.divided[part, 0] > 0.0:
                    self.emit(
                        &self.divided[part, 0], NULL, 0, n_cells * levels, 1.0, slot
                    )

    cdef void emit_parts(
        self, double* parts, double n_cells, Py_ssize_t slot
    ) noexcept nogil:
        """Lanes of what a categorical child divides a cell into, and of the cell."""
        cdef:
            Py_ssize_t level
            double* part
            double* pooled = &self.pooled[0]
        memset(pooled, 0, self.n_sums * sizeof(double))
        for level in range(self.child_levels):
            part = parts + level * self.n_sums
            if part[0] > 0.0:
                skb_add_array(pooled, part, self.n_sums)
                self.emit(part, NULL, 0, n_cells * self.child_levels, 1.0, slot)
        if pooled[0] > 0.0:
            self.emit(pooled, NULL, 0, n_cells, -1.0, slot)

    cdef void emit_others(self, double n_cells) noexcept nogil:
        """Lanes of a cell with each continuous outsider."""
        cdef Py_ssize_t j, level
        cdef double part_cells = n_cells
        if self.child_levels:
            part_cells *= self.child_levels
            memset(&self.pooled[0], 0, self.n_sums * sizeof(double))
            memset(&self.pooled_far[0], 0, self.n_far * sizeof(double))
        for level in range(self.own.shape[0]):
            if self.own[level, 0] == 0.0:
                continue
            for j in range(self.n_others):
                self.emit(
                    &self.own[level, 0], &self.far[level, 0], j, part_cells, 1.0, 1 + j
                )
            if self.child_levels:
                skb_add_array(&self.pooled[0], &self.own[level, 0], self.n_sums)
                skb_add_array(
                    &self.pooled_far[0], &self.far[level, 0], self.n_far
                )
        if self.child_levels:
            for j in range(self.n_others):
                self.emit(
                    &self.pooled[0], &self.pooled_far[0], j, n_cells, -1.0, 1 + j
                )

    cdef void emit(
        self, const double* sums, const double* far, Py_ssize_t j, double n_cells,
        double sign, Py_ssize_t slot
    ) noexcept nogil:
        """Add a lane, and the constants of its cell to those of its slot."""
        cdef:
            double count = sums[0], alpha = self.alpha_mu / n_cells
            double worth = alpha + count, mean
            Py_ssize_t numbers = self.n_numbers, narrow = self.narrow
            Py_ssize_t a, b
            const double* s = sums + 1
            const double* products = s + narrow
            const double* other
            double* to = &self.level[0, self.n_lanes]
        self.n_tail = narrow - numbers + (far != NULL)
        self.add_constant(count, alpha, n_cells, sign, slot)
        # candidates, then the outsider, then a continuous child
        for a in range(numbers):
            mean = s[a] / worth
            for b in range(a, numbers):
                to[0] = products[b - a] - mean * s[b]
                if a == b:
                    to[0] += self.prior_scale
                to += SKB_LANES
            if far != NULL:
                to[0] = far[(2 + a) * self.wide + j] - mean * far[j]
                to += SKB_LANES
            if narrow > numbers:
                to[0] = products[numbers - a] - mean * s[numbers]
                to += SKB_LANES
            products += narrow - a
        if far != NULL:
            other = far + j
            mean = other[0] / worth
            to[0] = other[self.wide] - mean * other[0] + self.prior_scale
            to += SKB_LANES
            if narrow > numbers:
                to[0] = other[(2 + numbers) * self.wide] - mean * s[numbers]
                to += SKB_LANES
        if narrow > numbers:
            to[0] = products[0] - s[numbers] / worth * s[numbers] + self.prior_scale
        self.sign[self.n_lanes] = sign
        self.power[self.n_lanes] = sign * (count + self.surplus + self.n_tail) / 2
        self.lane_column[self.n_lanes] = self.slot_column[slot]
        self.n_lanes += 1
        if self.n_lanes == SKB_LANES:
            self.flush()

    cdef void add_constant(
        self, double count, double alpha, double n_cells, double sign, Py_ssize_t slot
    ) noexcept nogil:
        """Add the terms of a cell that depend on its count and on sizes alone."""
        cdef:
            Py_ssize_t size, added = self.n_tail
            Py_ssize_t place = skb_place(count, alpha)
            double joint
            double* constant = &self.constant[slot, 0]
            const double* offset = &self.offset[place, 0]
        if count != self.offset_count[place] or alpha != self.offset_alpha[place]:
            self.set_offsets(place, count, alpha, n_cells)
        if self.narrow > self.n_numbers:
            # a continuous child: density of the child given l others
            for size in range(self.n_numbers + 1):
                constant[size] += sign * offset[size + added - 1]
            return
        # a categorical child: probability of the cell, and density of l variables
        joint = self.log_share[place]
        for size in range(added):
            joint += offset[size]
        for size in range(self.n_numbers + 1):
            constant[size] += sign * joint
            joint += offset[size + added]

    cdef void set_offsets(
        self, Py_ssize_t place, double count, double alpha, double n_cells
    ) noexcept nogil:
        """Constants of a variable given l others, in a cell with so many rows."""
        cdef:
            Py_ssize_t size, n = <Py_ssize_t> count
            double common, log_gamma, a = self.pseudo_count / n_cells
        self.offset_count[place], self.offset_alpha[place] = count, alpha
        if self.child_levels:
            # what the count is worth; lnΓ(a) = lnΓ(1 + a) - ln a for small a, too
            self.log_share[place] = (
                lgamma(a + count) - lgamma(1 + a) + skb_log(self.pseudo_count)
                - skb_log(n_cells)
            )
        common = (
            0.5 * (skb_log(alpha) - skb_log(alpha + count)) - count / 2 * LOG_PI
        )
        for size in range(self.n_numbers + 3):
            if self.whole:
                log_gamma = self.log_gamma[size + n]
            else:
                log_gamma = lgamma((self.surplus + 1 + size + count) / 2)
            self.offset[place, size] = (
                common + log_gamma - self.log_gamma[size]
                + (self.surplus + 2 * size + 1) / 2 * self.log_prior_scale
            )

    cdef void flush(self) noexcept nogil:
        """Walk the lanes that wait, after filling up with lanes that are worth 0."""
        cdef Py_ssize_t lane, entry, entries, m = self.n_numbers + self.n_tail
        if self.n_lanes == 0:
            return
        entries = m * (m + 1) // 2
        for lane in range(self.n_lanes, SKB_LANES):
            for entry in range(entries):
                self.level[0, entry * SKB_LANES + lane] = 1.0
            self.power[lane] = self.sign[lane] = 0.0
            self.lane_column[lane] = self.slot_column[0]
        self.walk(0, 0, 0)
        self.n_lanes = 0

    cdef void walk(
        self, Py_ssize_t size, Py_ssize_t first, Py_ssize_t mask
    ) noexcept nogil:
        """Add what the lanes are worth given a set, then go on to those that extend it.

        The level of a set of l holds the rows of the variables after its last one.
        """
        cdef:
            Py_ssize_t numbers = self.n_numbers, m = numbers + self.n_tail - first
            Py_ssize_t k, lane
            int tail = self.n_tail
            double* level = &self.level[size, 0]
            double* last
        if not self.only_full or size == numbers:
            last = level + (m * (m + 1) - tail * (tail + 1)) // 2 * SKB_LANES
            skb_lane_values(
                &self.value[0], last, &self.log_det[size, 0], &self.power[0],
                &self.sign[0], 0.5 * size, self.child_levels == 0,
                self.prior_scale, tail,
            )
            for lane in range(self.n_lanes):
                self.out[self.mask | mask, self.lane_column[lane]] += self.value[lane]
        for k in range(first, numbers):
            skb_sweep(
                &self.level[size + 1, 0], level, &self.log_det[size, 0],
                &self.log_det[size + 1, 0], self.prior_scale, m,
            )
            self.walk(size + 1, k + 1, mask | self.number_bit[k])
            if self.only_full:
                break
            level += m * SKB_LANES
            m -= 1
