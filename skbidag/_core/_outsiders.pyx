# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False
"""Scores of a parent set of categorical data plus each outsider, by counting bytes.

An outsider is a variable that may join a parent set as its only further member. The
set's rows come in groups of equal configuration, and within a group in segments of
equal levels of the child. The score of the set plus an outsider needs the counts of the
outsider's levels in each segment, and what they are worth (`_worth.pyx`).

Outsiders with the same number of levels, a class, share f and g and lie side by side,
so that a row adds to the counts of all of them at once, 16 or 32 bytes an instruction
(`_bytes.pxd`): counting takes a fraction of the time of looking up f and g. So what is
looked up is worth as much as possible. Of a group of up to four rows it matters only
which of them the outsider tells apart. Pairs and triples of rows with the same levels
of the child are worth the same, so it is counted how often an outsider tells them
apart, for all classes at once, and looked up in the end; fours take a look-up each, by
one bit for each pair of rows. In larger groups a binary outsider takes one look-up for
each segment, of f(n) + f(size − n), and one of g. With more levels, the counts of all
cells of a small group together make one number below 128. Many groups have segments of
the same sizes and share those tables. What none of this suits (many levels, weighted
rows) is counted outsider by outsider.

The state of a tally is the scores of all classes, to which every group adds its part,
in a fixed order: the same bits whatever was tallied before.

Cost: O(N · levels / 16) per outsider to count, with a look-up for each small group and
one for each cell of a large one.
"""

from libc.string cimport memset

from skbidag._core._bytes cimport (
    skb_add_counts, skb_compare_four, skb_count_equal, skb_count_equal_of_three,
    skb_count_levels
)
from skbidag._core._worth cimport (
    LARGEST_BYTE, LARGEST_SPAN, LARGEST_TINY, N_DIGITS, N_PLACES, Worth, f_value,
    g_value, place_of_pairs, table_of_shape
)

import numpy as np

cdef enum:
    # Columns with more levels are counted outsider by outsider.
    MOST_DENSE_LEVELS = 16
    LANES = 16
    # Shapes of groups of two and three rows, and what is counted of each.
    N_SHAPES_OF_FEW = 5
    N_COUNTERS = 3
    # Ways to look up a group: not with others, by f(n) + f(size - n), by one number for
    # all its counts, or level by level.
    BY_ITSELF, BY_PAIRS, BY_NUMBER, LEVEL_BY_LEVEL


cdef class Outsiders:
    """Variables of which single ones join parent sets, laid out to be counted.

    Those with equally many levels, a class, lie side by side, a byte for each row's
    code if the weights are all one and the levels few.

    Parameters
    ----------
    codes : ndarray of int32 of shape (n_features, n_rows)
        The data as codes from 0, one row of the array per variable.
    weights : ndarray of float64 of shape (n_rows,)
        How often each row counts.
    n_levels : ndarray of int of shape (n_features,)
        Number of levels of each variable.
    variables : ndarray of int
        Which variables.
    places : ndarray of int, default=None
        The column of the table for each of them; None if it is the variable's number.
    """

    def __init__(self, codes, weights, n_levels, variables, places=None):
        variables = np.asarray(variables, dtype=np.intc)
        places = variables if places is None else np.asarray(places, dtype=np.intc)
        levels = np.asarray(n_levels)[variables]
        order = np.argsort(levels, kind="stable")
        self.variables = np.ascontiguousarray(variables[order])
        class_levels, starts = np.unique(levels[order], return_index=True)
        starts = np.append(starts, len(variables)).astype(np.intc)
        sizes = np.diff(starts)
        dense = (weights == 1.0).all() & (class_levels <= MOST_DENSE_LEVELS)
        width = np.where(dense, -(-sizes // LANES) * LANES, 0).astype(np.intp)
        # A class begins where the one before ends. Whole lanes are counted from there
        # on, which those of the next class, or zeros, fill.
        packed = np.where(dense, sizes, 0).astype(np.intp)
        offset = np.cumsum(packed) - packed
        stride = -(-np.max(offset + width, initial=0) // LANES) * LANES
        laid_out = np.zeros((codes.shape[1], max(1, stride)), dtype=np.uint8)
        lane_levels = np.repeat(class_levels, packed)
        self.lane_levels = np.append(
            lane_levels, np.full(stride, np.max(lane_levels, initial=0))
        ).astype(np.uint8)
        for c in np.flatnonzero(dense):
            laid_out[:, offset[c]:offset[c] + sizes[c]] = codes[
                self.variables[starts[c]:starts[c + 1]]
            ].T
        self.n_classes = len(class_levels)
        self.columns = self.variables
        self.places = np.ascontiguousarray(places[order])
        self.class_start = starts
        self.class_levels = class_levels.tolist()
        self.levels = class_levels.astype(np.intc)
        self.bytes = laid_out
        self.offset = offset
        self.width = width


cdef class Tally:
    """Scores of a set with one more parent, added up group by group.

    Parameters
    ----------
    codes, weights, n_levels
        The data, as for `Outsiders`.
    worth : Worth
        What counts are worth.
    """

    def __init__(self, codes, weights, n_levels, Worth worth):
        self.worth = worth
        self.codes = codes
        self.weights = weights
        self.scores = np.empty(0)
        self.counters = np.empty(0, dtype=np.uint8)
        self.worth_of_four = np.empty((0, 8, N_PLACES))
        self.block = self.in_group = np.empty(0, dtype=np.uint8)
        self.cell = np.zeros(n_levels.max(initial=1))
        self.marginal = np.zeros(n_levels.max(initial=1))

    cdef object prepare(self, Outsiders outsiders):
        """Have room for the classes of these outsiders."""
        cdef Py_ssize_t most = outsiders.bytes.shape[1]
        cdef int c
        self.outsiders = outsiders
        for c in range(outsiders.n_classes):
            most = max(most, outsiders.width[c] * (outsiders.levels[c] + 1))
        if self.scores.shape[0] <= outsiders.columns.shape[0]:
            self.scores = np.empty(outsiders.columns.shape[0] + 1)
        if self.block.shape[0] < most:
            self.block = np.empty(most, dtype=np.uint8)
            self.count, self.total = np.empty((2, most), dtype=np.intc)
        if self.worth_of_four.shape[0] < outsiders.n_classes:
            self.worth_of_four = np.empty((outsiders.n_classes, 8, N_PLACES))
            self.way, self.step = np.empty((2, outsiders.n_classes), dtype=np.intc)
        most = MOST_DENSE_LEVELS * outsiders.bytes.shape[1]
        if self.in_group.shape[0] < most:
            self.in_segment, self.in_group = np.empty((2, most), dtype=np.uint8)
            self.number = np.empty(outsiders.bytes.shape[1], dtype=np.uint8)
        most = N_SHAPES_OF_FEW * N_COUNTERS * outsiders.bytes.shape[1]
        if self.counters.shape[0] < most:
            self.counters = np.empty(most, dtype=np.uint8)

    cdef void score_outsiders(
        self, const Groups* groups, const int* tables, const double* singles
    ) noexcept nogil:
        """Score a set plus each outsider.

        Parameters
        ----------
        groups : Groups
            The set's rows.
        tables : array of int
            The look-up table of each class.
        singles : array of double
            What the scores of each class begin with.
        """
        cdef int group, size, c, j
        cdef bint binary
        self.stride = self.outsiders.bytes.shape[1]
        for c in range(self.outsiders.n_classes):
            for j in range(
                self.outsiders.class_start[c], self.outsiders.class_start[c + 1]
            ):
                self.scores[j] = singles[c]
        if self.stride > 1:
            self.count_few(groups, tables)
            self.begin_class(0, tables[0])
            binary = self.outsiders.n_classes == 1 and self.levels == 2
            for group in range(groups.n_groups):
                size = groups.start[group + 1] - groups.start[group]
                if not LARGEST_TINY < size <= LARGEST_BYTE:
                    continue
                # one class alone takes a tenth of the time less by itself
                if binary and size <= self.worth.largest_pair:
                    self.count_binary(groups, group)
                else:
                    self.count_middle(groups, group, tables)
        for c in range(self.outsiders.n_classes):
            if self.outsiders.levels[c] == 1:
                continue  # a constant tells nothing apart
            self.begin_class(c, tables[c])
            for group in range(groups.n_groups):
                self.add_group(groups, group)

    cdef void begin_class(self, int c, int t) noexcept nogil:
        """Go on to the outsiders of class c."""
        cdef int first = self.outsiders.class_start[c]
        self.columns = &self.outsiders.columns[first]
        self.score = &self.scores[first]
        self.n_outsiders = self.outsiders.class_start[c + 1] - first
        self.levels = self.outsiders.levels[c]
        self.width = self.outsiders.width[c]
        self.dense = &self.outsiders.bytes[0, 0] + self.outsiders.offset[c]
        self.lane_levels = &self.outsiders.lane_levels[self.outsiders.offset[c]]
        self.t = t

    cdef void add_group(self, const Groups* groups, int group) noexcept nogil:
        """Add the part of a group in the scores of the class at hand.

        Unless that is done already, for all classes at once.
        """
        cdef int size = groups.start[group + 1] - groups.start[group]
        cdef int cells = groups.first_segment[group + 1] - groups.first_segment[group]
        cdef int j
        if self.width > 0:
            if size <= LARGEST_BYTE:
                return
            # A row counted alone costs about as much as five look-ups.
            if 5 * size >= (cells + 1) * self.levels:
                self.count_dense(groups, group)
                return
        for j in range(self.n_outsiders):
            self.score[j] += self.count_sparse(
                groups, group, &self.codes[self.columns[j], 0]
            )

    cdef void count_few(self, const Groups* groups, const int* tables) noexcept nogil:
        """Add the parts of groups of up to four rows. Needs unit weights.

        Groups of two and three rows with the same child's levels are worth the same for
        the same equalities among their rows. So these are counted, for the outsiders of
        all classes at once, and looked up in the end.
        """
        cdef int n_of[N_SHAPES_OF_FEW]
        cdef const unsigned char* dense = &self.outsiders.bytes[0, 0]
        cdef Py_ssize_t width = self.stride
        cdef unsigned char* counters
        cdef const int* rows
        cdef const int* end
        cdef int group, size, shape, first
        memset(n_of, 0, sizeof(n_of))
        self.shapes_of_four = 0
        for group in range(groups.n_groups):
            size = groups.start[group + 1] - groups.start[group]
            if size > LARGEST_TINY:
                continue
            if size == LARGEST_TINY:
                self.count_four(groups, group, tables)
                continue
            rows = groups.rows + groups.start[group]
            end = groups.segment_end + groups.first_segment[group]
            shape = groups.first_segment[group + 1] - groups.first_segment[group] - 1
            shape += 2 * (size == 3)
            counters = &self.counters[shape * N_COUNTERS * width]
            if n_of[shape] == 0:
                memset(counters, 0, N_COUNTERS * width)
            n_of[shape] += 1
            if size == 2:
                skb_count_equal(
                    dense + rows[0] * width, dense + rows[1] * width, width, counters
                )
            else:
                # those of the same level of the child, if two are, come first
                first = end[0] == groups.start[group] + 1
                skb_count_equal_of_three(
                    dense + rows[first] * width, dense + rows[first + 1] * width,
                    dense + rows[2 - 2 * first] * width, width, counters
                )
            if n_of[shape] == LARGEST_BYTE:
                self.settle(shape, n_of[shape], tables)
                n_of[shape] = 0
        for shape in range(N_SHAPES_OF_FEW):
            if n_of[shape] > 0:
                self.settle(shape, n_of[shape], tables)

    cdef void settle(self, int shape, int n_groups, const int* tables) noexcept nogil:
        """Add what groups of two or three rows are worth that have been counted."""
        cdef Py_ssize_t width = self.stride
        cdef const unsigned char* pair
        cdef const unsigned char* other
        cdef const unsigned char* whole
        cdef double* score
        cdef double worth[4]
        cdef int c, j, n_outsiders
        for c in range(self.outsiders.n_classes):
            if self.outsiders.width[c] == 0 or self.outsiders.levels[c] == 1:
                continue
            worth_of_few(self.worth, tables[c], shape, worth)
            n_outsiders = self.outsiders.class_start[c + 1]
            n_outsiders -= self.outsiders.class_start[c]
            score = &self.scores[self.outsiders.class_start[c]]
            pair = &self.counters[shape * N_COUNTERS * width] + self.outsiders.offset[c]
            if shape < 2:
                for j in range(n_outsiders):
                    score[j] += n_groups * worth[0] + pair[j] * worth[1]
                continue
            other = pair + width
            whole = other + width
            for j in range(n_outsiders):
                score[j] += (
                    (n_groups * worth[0] + pair[j] * worth[1])
                    + (other[j] * worth[2] + whole[j] * worth[3])
                )

    cdef void count_four(
        self, const Groups* groups, int group, const int* tables
    ) noexcept nogil:
        """Add the part of a group of four rows. Needs unit weights."""
        cdef const int* rows = groups.rows + groups.start[group]
        cdef const unsigned char* dense = &self.outsiders.bytes[0, 0]
        cdef int shape = 0
        cdef int segment, c, j
        cdef double* worth
        cdef double* score
        cdef const unsigned char* number
        for segment in range(
            groups.first_segment[group], groups.first_segment[group + 1] - 1
        ):
            shape |= 1 << (groups.segment_end[segment] - groups.start[group] - 1)
        skb_compare_four(
            dense + rows[0] * self.stride, dense + rows[1] * self.stride,
            dense + rows[2] * self.stride, dense + rows[3] * self.stride, self.stride,
            &self.block[0]
        )
        for c in range(self.outsiders.n_classes):
            if self.outsiders.width[c] == 0 or self.outsiders.levels[c] == 1:
                continue
            worth = &self.worth_of_four[c, shape, 0]
            if not self.shapes_of_four >> shape & 1:
                self.worth.fill_four(tables[c], shape, worth)
            score = &self.scores[self.outsiders.class_start[c]]
            number = &self.block[self.outsiders.offset[c]]
            for j in range(
                self.outsiders.class_start[c + 1] - self.outsiders.class_start[c]
            ):
                score[j] += worth[number[j]]
        self.shapes_of_four |= 1 << shape

    cdef void count_binary(self, const Groups* groups, int group) noexcept nogil:
        """Add a group's part where all outsiders are binary: the class is at hand.

        Needs unit weights, and a group of at most `largest_pair` rows.
        """
        cdef int t = self.t
        cdef int begin = groups.start[group]
        cdef int size = groups.start[group + 1] - begin
        cdef int last = groups.first_segment[group + 1] - 1
        cdef int segment, end
        cdef Py_ssize_t width = self.width
        cdef unsigned char* count = &self.block[width]
        cdef unsigned char* total = count + width
        cdef double* score = self.score
        cdef const double* f
        cdef const double* g
        cdef Py_ssize_t j
        g = &self.worth.g_pairs[t, place_of_pairs(self.worth, t, size)]
        memset(total, 0, width)
        for segment in range(groups.first_segment[group], last + 1):
            end = groups.segment_end[segment]
            skb_count_levels(
                self.dense, self.stride, groups.rows + begin, end - begin,
                self.lane_levels, 2, width, &self.block[0]
            )
            for j in range(width):
                total[j] += count[j]
            f = &self.worth.f_pairs[t, place_of_pairs(self.worth, t, end - begin)]
            if segment < last:
                for j in range(self.n_outsiders):
                    score[j] += f[count[j]]
            else:
                for j in range(self.n_outsiders):
                    score[j] += f[count[j]] + g[total[j]]
            begin = end

    cdef void count_middle(
        self, const Groups* groups, int group, const int* tables
    ) noexcept nogil:
        """Add a group's part for all classes. Needs unit weights, and counts in bytes.

        Levels are counted for all the classes that have them at once: with many levels
        the classes are many, and each has few outsiders.
        """
        cdef int begin = groups.start[group]
        cdef int n_levels = self.choose_ways(groups, group, tables)
        cdef Py_ssize_t width = self.stride
        cdef int c, segment, end
        cdef bint zeros = False
        if n_levels == 0:
            return
        for c in range(self.outsiders.n_classes):
            zeros |= self.way[c] == LEVEL_BY_LEVEL
        memset(&self.in_group[0], 0, n_levels * width)
        memset(&self.number[0], 0, width)
        for segment in range(
            groups.first_segment[group], groups.first_segment[group + 1]
        ):
            end = groups.segment_end[segment]
            self.count_bytes(groups.rows + begin, end - begin, n_levels, zeros)
            skb_add_counts(
                &self.in_segment[0], 1, n_levels * width, &self.in_group[0]
            )
            for c in range(self.outsiders.n_classes):
                if self.way[c] != BY_ITSELF:
                    self.begin_class(c, tables[c])
                    self.add_segment(c, end - begin)
            begin = end
        for c in range(self.outsiders.n_classes):
            if self.way[c] != BY_ITSELF:
                self.begin_class(c, tables[c])
                self.add_whole(groups, group, c)

    cdef int choose_ways(
        self, const Groups* groups, int group, const int* tables
    ) noexcept nogil:
        """Choose how a group is looked up for each class.

        Where that is outsider by outsider it is done. Gives the levels that are left to
        be counted.
        """
        cdef int size = groups.start[group + 1] - groups.start[group]
        cdef int cells = groups.first_segment[group + 1] - groups.first_segment[group]
        cdef int n_levels = 0
        cdef int c, j
        for c in range(self.outsiders.n_classes):
            self.begin_class(c, tables[c])
            self.way[c] = BY_ITSELF
            if self.width == 0 or self.levels == 1:
                continue
            if self.levels == 2 and size <= self.worth.largest_pair:
                self.way[c] = BY_PAIRS
            elif span_of(groups, group, self.levels, self.n_outsiders // 2) > 0:
                self.way[c] = BY_NUMBER
                self.step[c] = 1
            # A row counted alone costs about as much as five look-ups.
            elif 5 * size >= (cells + 1) * self.levels:
                self.way[c] = LEVEL_BY_LEVEL
            else:
                for j in range(self.n_outsiders):
                    self.score[j] += self.count_sparse(
                        groups, group, &self.codes[self.columns[j], 0]
                    )
                continue
            n_levels = self.levels
        return n_levels

    cdef void count_bytes(
        self, const int* rows, int n_rows, int n_levels, bint zeros
    ) noexcept nogil:
        """Count the levels of the outsiders that have them; zeros only if asked to."""
        cdef Py_ssize_t width = self.stride
        cdef int level
        memset(&self.in_segment[0], 0, n_levels * width)
        skb_count_levels(
            &self.outsiders.bytes[0, 0], width, rows, n_rows,
            &self.outsiders.lane_levels[0], n_levels, width, &self.in_segment[0]
        )
        if not zeros:
            return
        # what the other levels leave; 255 times a byte is what is subtracted
        memset(&self.in_segment[0], n_rows, width)
        for level in range(1, n_levels):
            skb_add_counts(
                &self.in_segment[level * width], 255, width, &self.in_segment[0]
            )

    cdef void add_segment(self, int c, int n_rows) noexcept nogil:
        """Add what a segment of so many rows is worth for class c, which is at hand."""
        cdef Py_ssize_t width = self.stride
        cdef const unsigned char* count = &self.in_segment[self.outsiders.offset[c]]
        cdef double* score = self.score
        cdef const double* f
        cdef int level, j
        if self.way[c] == BY_PAIRS:
            count += width
            f = &self.worth.f_pairs[
                self.t, place_of_pairs(self.worth, self.t, n_rows)
            ]
            for j in range(self.n_outsiders):
                score[j] += f[count[j]]
        elif self.way[c] == BY_NUMBER:
            for level in range(1, self.levels):
                skb_add_counts(
                    count + level * width, <unsigned char>self.step[c],
                    self.n_outsiders,
                    &self.number[self.outsiders.offset[c]]
                )
                self.step[c] *= n_rows + 1
        else:
            for level in range(self.levels):
                self.add_bytes_of_cells(count + level * width, n_rows)

    cdef void add_whole(self, const Groups* groups, int group, int c) noexcept nogil:
        """Add what a group is worth as a whole for class c, which is at hand."""
        cdef int size = groups.start[group + 1] - groups.start[group]
        cdef Py_ssize_t width = self.stride
        cdef const unsigned char* count = &self.in_group[self.outsiders.offset[c]]
        cdef double* score = self.score
        cdef const double* worth
        cdef int level, j
        if self.way[c] == BY_PAIRS:
            count += width
            worth = &self.worth.g_pairs[
                self.t, place_of_pairs(self.worth, self.t, size)
            ]
            for j in range(self.n_outsiders):
                score[j] += worth[count[j]]
        elif self.way[c] == BY_NUMBER:
            count = &self.number[self.outsiders.offset[c]]
            worth = worth_of_small(self.worth, self.t, self.levels, groups, group)
            for j in range(self.n_outsiders):
                score[j] += worth[count[j]]
        else:
            for level in range(self.levels):
                self.add_bytes_of_configurations(count + level * width, size)

    cdef void add_bytes_of_cells(
        self, const unsigned char* count, int most
    ) noexcept nogil:
        """Add f of counts, which are at most `most`."""
        cdef const double* f = &self.worth.f[self.t, 0]
        cdef double* score = self.score
        cdef int j
        if most < self.worth.f_reach[self.t]:
            for j in range(self.n_outsiders):
                score[j] += f[count[j]]
        else:
            for j in range(self.n_outsiders):
                score[j] += f_value(self.worth, self.t, count[j])

    cdef void add_bytes_of_configurations(
        self, const unsigned char* count, int most
    ) noexcept nogil:
        """Add g of counts, which are at most `most`."""
        cdef const double* g = &self.worth.g[self.t, 0]
        cdef double* score = self.score
        cdef int j
        if most < self.worth.g_reach[self.t]:
            for j in range(self.n_outsiders):
                score[j] += g[count[j]]
        else:
            for j in range(self.n_outsiders):
                score[j] += g_value(self.worth, self.t, count[j])

    cdef void count_dense(self, const Groups* groups, int group) noexcept nogil:
        """Add a group's part, all outsiders side by side. Needs unit weights."""
        cdef Py_ssize_t width = self.width
        cdef Py_ssize_t j
        cdef int level, segment
        cdef int begin = groups.start[group]
        cdef int* total = &self.total[0]
        cdef int* count
        memset(total, 0, self.levels * width * sizeof(int))
        for segment in range(
            groups.first_segment[group], groups.first_segment[group + 1]
        ):
            self.count_levels(
                groups.rows + begin, groups.segment_end[segment] - begin
            )
            for level in range(self.levels):
                count = &self.count[level * width]
                for j in range(self.n_outsiders):
                    total[level * width + j] += count[j]
                self.add_cells(count, groups.segment_end[segment] - begin)
            begin = groups.segment_end[segment]
        for level in range(self.levels):
            self.add_configurations(total + level * width, begin - groups.start[group])

    cdef void count_levels(self, const int* rows, int n_rows) noexcept nogil:
        """Count the levels of all outsiders in a segment."""
        cdef Py_ssize_t width = self.width
        cdef Py_ssize_t j
        cdef int place = 0
        cdef int level, n
        cdef int* first = &self.count[0]
        cdef int* count
        cdef unsigned char* block
        # The counts of level 0 are what the other levels leave.
        for j in range(width):
            first[j] = n_rows
        memset(first + width, 0, (self.levels - 1) * width * sizeof(int))
        while place < n_rows:
            n = min(LARGEST_BYTE, n_rows - place)
            skb_count_levels(
                self.dense, self.stride, rows + place, n, self.lane_levels,
                self.levels, width, &self.block[0]
            )
            for level in range(1, self.levels):
                block = &self.block[level * width]
                count = first + level * width
                for j in range(width):
                    count[j] += block[j]
                    first[j] -= block[j]
            place += n

    cdef void add_cells(self, const int* count, int most) noexcept nogil:
        """Add f of counts, which are at most `most`."""
        cdef const double* f = &self.worth.f[self.t, 0]
        cdef double* score = self.score
        cdef int j
        if most < self.worth.f_reach[self.t]:
            for j in range(self.n_outsiders):
                score[j] += f[count[j]]
        else:
            for j in range(self.n_outsiders):
                score[j] += f_value(self.worth, self.t, count[j])

    cdef void add_configurations(self, const int* count, int most) noexcept nogil:
        """Add g of counts, which are at most `most`."""
        cdef const double* g = &self.worth.g[self.t, 0]
        cdef double* score = self.score
        cdef int j
        if most < self.worth.g_reach[self.t]:
            for j in range(self.n_outsiders):
                score[j] += g[count[j]]
        else:
            for j in range(self.n_outsiders):
                score[j] += g_value(self.worth, self.t, count[j])

    cdef double count_sparse(
        self, const Groups* groups, int group, const int* x
    ) noexcept nogil:
        """Give a group's part in the score of the set plus the outsider x."""
        cdef const int* rows = groups.rows
        cdef double* cell = &self.cell[0]
        cdef double* marginal = &self.marginal[0]
        cdef int begin = groups.start[group]
        cdef int segment, place, level, end
        cdef double n
        cdef double score = 0.0
        for segment in range(
            groups.first_segment[group], groups.first_segment[group + 1]
        ):
            end = groups.segment_end[segment]
            for place in range(begin, end):
                cell[x[rows[place]]] += self.weights[rows[place]]
            for place in range(begin, end):
                level = x[rows[place]]
                n = cell[level]
                if n > 0.0:
                    score += f_value(self.worth, self.t, n)
                    marginal[level] += n
                    cell[level] = 0.0
            begin = end
        for place in range(groups.start[group], groups.start[group + 1]):
            level = x[rows[place]]
            n = marginal[level]
            if n > 0.0:
                score += g_value(self.worth, self.t, n)
                marginal[level] = 0.0
        return score


cdef inline void worth_of_few(
    Worth worth, int t, int shape, double* parts
) noexcept nogil:
    """Tell what a group of two or three rows is worth.

    The shapes are those of two rows with one and two levels of the child, then of three
    rows with one, two and three. Gives what the group is worth if the outsider parts
    all of its rows; then how much more if it leaves the first two together, one of
    these with the third, and all three.
    """
    cdef double f1 = f_value(worth, t, 1)
    cdef double f2 = f_value(worth, t, 2)
    cdef double g2 = g_value(worth, t, 2)
    cdef double single = f1 + g_value(worth, t, 1)
    cdef double alike = f2 + g2 - 2 * single         # of one level, and together
    cdef double unlike = 2 * f1 + g2 - 2 * single    # of two levels
    parts[0] = 2 * single if shape < 2 else 3 * single
    parts[1] = unlike if shape == 1 or shape == 4 else alike
    if shape < 2:
        return
    parts[2] = alike if shape == 2 else unlike
    if shape == 2:
        parts[3] = f_value(worth, t, 3)
    elif shape == 3:
        parts[3] = f2 + f1
    else:
        parts[3] = 3 * f1
    parts[3] += g_value(worth, t, 3) - parts[0]


cdef inline int span_of(
    const Groups* groups, int group, int levels, int most
) noexcept nogil:
    """Tell in how many ways the counts of a group can come out, 0 if in too many.

    Filling a place of a table takes as long as an outsider's look-ups elsewhere, and
    the larger a group, the less often its shape comes again: so the limit is what the
    outsiders are worth.
    """
    cdef int first = groups.first_segment[group]
    cdef int n_segments = groups.first_segment[group + 1] - first
    cdef int begin = groups.start[group]
    cdef int span = 1
    cdef int segment, _level
    if n_segments * (levels - 1) > N_DIGITS:
        return 0
    most = min(most, <int>LARGEST_SPAN)
    for segment in range(n_segments):
        for _level in range(1, levels):
            span *= groups.segment_end[first + segment] - begin + 1
            if span > most:
                return 0
        begin = groups.segment_end[first + segment]
    return span


cdef inline const double* worth_of_small(
    Worth worth, int t, int levels, const Groups* groups, int group
) noexcept nogil:
    """Give the table of what all counts of a small group are worth."""
    cdef int first = groups.first_segment[group]
    cdef int n_segments = groups.first_segment[group + 1] - first
    cdef int begin = groups.start[group]
    cdef int sizes[N_DIGITS]
    cdef long long shape = 0
    cdef double* table
    cdef bint known
    cdef int segment
    for segment in range(n_segments):
        sizes[segment] = groups.segment_end[first + segment] - begin
        begin = groups.segment_end[first + segment]
        shape = (shape << 7) | sizes[segment]
    table = table_of_shape(worth, shape, (<long long>t << 5) + levels, &known)
    if not known:
        worth.fill_small(
            t, levels, n_segments, sizes,
            span_of(groups, group, levels, LARGEST_SPAN), table
        )
    return table
