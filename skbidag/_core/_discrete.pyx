# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False
"""Score tables of categorical data.

A score here is a sum of f(count) over the observed cells (parent configuration,
child level), plus a sum of g(count) over the observed configurations, plus a cost
per possible configuration. BDe has f(n) = lnΓ(a + n) − lnΓ(a) and
g(n) = lnΓ(A) − lnΓ(A + n), with pseudo-counts a and A that depend on the parents
only through their number of configurations q; BIC has f(n) = n ln n = −g(n).

The subsets of the candidates are walked depth-first, adding one parent at a time.
A subset is kept as the rows in an order in which each of its configurations is a
run (a group), and within a group each level of the child is a run (a segment).
Adding a parent is a stable counting sort of each group. A group of one row stays one
and does not see which outsider is added, so such rows leave the walk.

The scores of the subset plus each outsider need the counts of the outsider's levels
in each segment. Outsiders with the same number of levels share f and g and lie side
by side, so that a row adds to the counts of all of them at once, 16 bytes an
instruction: counting takes a fraction of the time of looking up f and g. So what is
looked up is worth as much as possible. Of a group of up to four rows it matters only
which of them the outsider tells apart: one bit for each pair of rows, and what these
bits are worth is looked up at once. In larger ones a binary outsider takes one look-up
for each segment, of f(n) + f(size − n), and one of g. With more levels, the counts of
all cells of a small group together make one number below 128. Many groups have segments
of the same sizes and share those tables. What none of this suits (many levels, weighted
rows) is counted outsider by outsider.

Cost of a subset: O(N) to split and O(N · levels / 16) per outsider to count, with
a look-up for each small group and one for each cell of a large one.

Where only the maxima over subsets are asked for, most of the walk can be left out. The
first value of the child in a cell has at most the probability 1/r by BDe, with r levels
of the child, and all others at most 1; and whatever parents join a set, its observed
cells only become more. So no superset of a set with c cells scores above −c ln r (de
Campos & Ji 2011, with cells in the place of configurations), nor by BIC above minus the
cost of the set itself. Once a subset does better than that, the set's supersets cannot
matter. Subsets are visited in the order of their numbers, all subsets of a set before
the set.
"""

from libc.math cimport lgamma, log
from libc.string cimport memcpy, memset

import numpy as np

# Columns with more levels are counted outsider by outsider.
cdef enum:
    MOST_DENSE_LEVELS = 16
    LANES = 16
    # Shapes of small groups: numbers below LARGEST_SPAN have at most 7 digits.
    LARGEST_SPAN = 128
    N_DIGITS = 7
    N_SHAPES = 256
    # Groups whose rows are compared pair by pair.
    LARGEST_TINY = 4
    # Counts that a byte holds.
    LARGEST_BYTE = 255

# Number of doubles in all look-up tables of f and g of a call, at most; untouched
# ones cost no memory. What lies beyond a table's end is computed.
TABLE_BUDGET = 1 << 22
LONGEST_TABLE = 1 << 13
PAIR_BUDGET = 1 << 22


cdef struct Walk:
    # The data: one contiguous run of codes per column.
    int n_rows
    const int* codes
    const double* weights
    bint unit                 # every weight is one
    bint integral             # every weight is an integer
    const int* child
    # The parents.
    int n_candidates
    const int* candidates
    const int* levels         # of each candidate
    const double* log_odds    # of every column as a parent
    double cost               # per configuration
    # Outsiders, by number of levels: class c holds those from start to start + 1.
    int n_classes
    const int* class_start
    const int* class_levels
    const int* outsiders
    const unsigned char* dense       # their codes, row by row
    Py_ssize_t dense_stride
    const Py_ssize_t* dense_offset   # of each class, in a row
    const Py_ssize_t* dense_width    # of each class, a multiple of LANES
    # Look-up tables of f and g, by number of configurations.
    bint bayes
    const double* configurations     # of each subset
    const int* table_of              # (subset, class + 1) -> table; 0 is the base
    const double* a
    const double* big_a
    const double* log_gamma_a
    const double* log_gamma_big_a
    int table_length
    double* f
    double* g
    int* f_filled
    int* g_filled
    # The row groups of the subset at each depth.
    int* order
    int* group_start
    int* n_groups
    int* n_active             # rows before this are in groups, the others single
    # Of the subset at hand.
    int* segment_end
    int* group_segment
    double* segment_weight
    double* group_weight
    double* acc
    unsigned char* block
    int* count
    int* total
    double* cell
    double* marginal
    int* slot
    int* aside
    # f(n) + f(size - n), and the same of g, for each size up to the largest one.
    int largest_pair
    double* f_pairs
    double* g_pairs
    unsigned char* pairs_filled
    # Worth of small groups, by the sizes of the segments and what else it depends on.
    long long* shape
    long long* shape_of
    double* worth
    # Whether entries that a subset beats may be left out; then for each subset the
    # best score within it, and whether its supersets cannot do better.
    bint best_only
    double* best
    unsigned char* dead
    double log_child_levels
    double odds_to_gain       # from any further parents, at most


cdef inline double f_value(Walk* w, int t, double n) noexcept nogil:
    """Give f(n), for n > 0 or integral weights."""
    if w.integral and n < w.f_filled[t]:
        return w.f[<Py_ssize_t>t * w.table_length + <int>n]
    if w.bayes:
        return lgamma(n + w.a[t]) - w.log_gamma_a[t]
    return n * log(n)


cdef inline double g_value(Walk* w, int t, double n) noexcept nogil:
    """Give g(n), for n > 0 or integral weights."""
    if w.integral and n < w.g_filled[t]:
        return w.g[<Py_ssize_t>t * w.table_length + <int>n]
    if w.bayes:
        return w.log_gamma_big_a[t] - lgamma(n + w.big_a[t])
    return -n * log(n)


cdef void extend_tables(Walk* w, int t, double f_top, double g_top) noexcept nogil:
    """Fill f up to f_top and g up to g_top, as far as the tables reach."""
    cdef double* f = w.f + <Py_ssize_t>t * w.table_length
    cdef double* g = w.g + <Py_ssize_t>t * w.table_length
    cdef int n, stop
    stop = <int>min(f_top + 1, <double>w.table_length)
    for n in range(w.f_filled[t], stop):
        if n == 0:
            f[n] = 0.0
        elif w.bayes:
            f[n] = f[n - 1] + log(w.a[t] + (n - 1))
        else:
            f[n] = n * log(<double>n)
    w.f_filled[t] = max(w.f_filled[t], stop)
    stop = <int>min(g_top + 1, <double>w.table_length)
    for n in range(w.g_filled[t], stop):
        if n == 0:
            g[n] = 0.0
        elif w.bayes:
            g[n] = g[n - 1] - log(w.big_a[t] + (n - 1))
        else:
            g[n] = -n * log(<double>n)
    w.g_filled[t] = max(w.g_filled[t], stop)


cdef inline int put_group(
    int* order, int* starts, int n_groups, const int* rows, int size, int* front,
    int* back
) noexcept nogil:
    """Put rows where the next group goes, or a single one to the end of the order."""
    if size == 1:
        back[0] -= 1
        order[back[0]] = rows[0]
    elif size > 1:
        starts[n_groups] = front[0]
        n_groups += 1
        memcpy(order + front[0], rows, size * sizeof(int))
        front[0] += size
    return n_groups


cdef void split(Walk* w, int depth, const int* x, int levels) noexcept nogil:
    """Split the groups at `depth` by the column x into those at depth + 1."""
    cdef const int* order = w.order + <Py_ssize_t>depth * w.n_rows
    cdef const int* start = w.group_start + <Py_ssize_t>depth * (w.n_rows + 1)
    cdef int* new_order = w.order + <Py_ssize_t>(depth + 1) * w.n_rows
    cdef int* new_start = w.group_start + <Py_ssize_t>(depth + 1) * (w.n_rows + 1)
    cdef int* slot = w.slot
    cdef int front = 0
    cdef int back = w.n_active[depth]
    cdef int n_new = 0
    cdef int group, level, place, size, row
    if not w.unit:  # their weights are looked up
        memcpy(new_order + back, order + back, (w.n_rows - back) * sizeof(int))
    for group in range(w.n_groups[depth]):
        if levels == 2:
            # One pass without branches: both kinds of rows are put aside.
            place = size = 0
            for row in order[start[group]:start[group + 1]]:
                w.aside[size] = row
                w.aside[w.n_rows + place] = row
                place += x[row]
                size += 1 - x[row]
            n_new = put_group(
                new_order, new_start, n_new, w.aside, size, &front, &back
            )
            n_new = put_group(
                new_order, new_start, n_new, w.aside + w.n_rows, place, &front, &back
            )
            continue
        memset(slot, 0, levels * sizeof(int))
        for place in range(start[group], start[group + 1]):
            slot[x[order[place]]] += 1
        for level in range(levels):
            size = slot[level]
            if size == 1:
                back -= 1
                slot[level] = back
            elif size > 1:
                new_start[n_new] = front
                n_new += 1
                slot[level] = front
                front += size
        for place in range(start[group], start[group + 1]):
            row = order[place]
            level = x[row]
            new_order[slot[level]] = row
            slot[level] += 1
    new_start[n_new] = front
    w.n_groups[depth + 1] = n_new
    w.n_active[depth + 1] = front


cdef inline void add_rows(
    Walk* w, const unsigned char* dense, const int* rows, int n_rows,
    unsigned char value, unsigned char step, Py_ssize_t width, unsigned char* count
) noexcept nogil:
    """Add `step` to the counts of the outsiders that have a value, for each row."""
    cdef const unsigned char* x0
    cdef const unsigned char* x1
    cdef const unsigned char* x2
    cdef const unsigned char* x3
    cdef int place = 0
    cdef Py_ssize_t j
    # Four rows at a time: the counts are loaded and stored once for all of them.
    while place + 4 <= n_rows:
        x0 = dense + rows[place] * w.dense_stride
        x1 = dense + rows[place + 1] * w.dense_stride
        x2 = dense + rows[place + 2] * w.dense_stride
        x3 = dense + rows[place + 3] * w.dense_stride
        for j in range(width):
            count[j] += (
                (step if x0[j] == value else 0) + (step if x1[j] == value else 0)
                + (step if x2[j] == value else 0) + (step if x3[j] == value else 0)
            )
        place += 4
    while place < n_rows:
        x0 = dense + rows[place] * w.dense_stride
        for j in range(width):
            count[j] += step if x0[j] == value else 0
        place += 1


cdef void count_dense(Walk* w, int depth, int c, int group, int t) noexcept nogil:
    """Add a group's part in the scores of all outsiders of a class.

    Needs unit weights.
    """
    cdef const double* f = w.f + <Py_ssize_t>t * w.table_length
    cdef const double* g = w.g + <Py_ssize_t>t * w.table_length
    cdef int levels = w.class_levels[c]
    cdef Py_ssize_t width = w.dense_width[c]
    cdef const int* order = w.order + <Py_ssize_t>depth * w.n_rows
    cdef const unsigned char* dense = w.dense + w.dense_offset[c]
    cdef unsigned char* block
    cdef int* count
    cdef int* total = w.total
    cdef double* acc = w.acc
    cdef Py_ssize_t j
    cdef Py_ssize_t n_outsiders = w.class_start[c + 1] - w.class_start[c]
    cdef int level, segment, place, stop, size, end
    cdef int first = w.group_segment[group]
    cdef int last = w.group_segment[group + 1]
    cdef int begin = w.group_start[<Py_ssize_t>depth * (w.n_rows + 1) + group]
    memset(total, 0, levels * width * sizeof(int))
    for segment in range(first, last):
        end = w.segment_end[segment]
        size = end - begin
        # The counts of level 0 are what the other levels leave.
        for j in range(width):
            w.count[j] = size
        memset(w.count + width, 0, (levels - 1) * width * sizeof(int))
        place = begin
        while place < end:
            # Bytes count to 255.
            stop = min(place + 255, end)
            memset(w.block, 0, (levels - 1) * width)
            for level in range(1, levels):
                block = w.block + (level - 1) * width
                add_rows(
                    w, dense, order + place, stop - place, <unsigned char>level, 1,
                    width, block
                )
                count = w.count + level * width
                for j in range(width):
                    count[j] += block[j]
                    w.count[j] -= block[j]
            place = stop
        for level in range(levels):
            count = w.count + level * width
            for j in range(n_outsiders):
                total[level * width + j] += count[j]
            if size < w.f_filled[t]:
                for j in range(n_outsiders):
                    acc[j] += f[count[j]]
            else:
                for j in range(n_outsiders):
                    acc[j] += f_value(w, t, count[j])
        begin = end
    for level in range(levels):
        count = total + level * width
        if w.group_weight[group] < w.g_filled[t]:
            for j in range(n_outsiders):
                acc[j] += g[count[j]]
        else:
            for j in range(n_outsiders):
                acc[j] += g_value(w, t, count[j])


cdef inline double* worth_of(
    Walk* w, long long shape, long long key, bint* known
) noexcept nogil:
    """Give the place of a shape's table, and whether the table is there already."""
    cdef long long mixed = (shape ^ (shape >> 4) ^ (shape >> 9)) + 37 * key
    cdef int slot = <int>(mixed & (N_SHAPES - 1))
    known[0] = w.shape[slot] == shape and w.shape_of[slot] == key
    w.shape[slot] = shape
    w.shape_of[slot] = key
    return w.worth + slot * LARGEST_SPAN


cdef void fill_tiny(
    Walk* w, int t, int n_rows, const int* segment_of, double* worth
) noexcept nogil:
    """Tabulate what a group of a few rows is worth, by which of them are equal.

    Bit by bit, a place in the table tells of each pair of rows, (0, 1), (0, 2), (1, 2),
    (0, 3) and so on, whether the outsider has the same level in both. Of the places,
    only those of the 2, 5 or 15 ways to part the rows are filled.
    """
    cdef int row, other, place, bit, segment
    cdef int label[LARGEST_TINY]
    cdef int total[LARGEST_TINY]
    cdef int cell[LARGEST_TINY][LARGEST_TINY]
    cdef double score
    memset(label, 0, sizeof(label))
    while True:
        memset(total, 0, sizeof(total))
        memset(cell, 0, sizeof(cell))
        place = bit = 0
        for row in range(n_rows):
            for other in range(row):
                place |= (label[row] == label[other]) << bit
                bit += 1
            total[label[row]] += 1
            cell[label[row]][segment_of[row]] += 1
        score = 0.0
        for row in range(n_rows):
            if total[row] > 0:
                score += g_value(w, t, total[row])
                for segment in range(n_rows):
                    if cell[row][segment] > 0:
                        score += f_value(w, t, cell[row][segment])
        worth[place] = score
        # The next way: a row's label is at most one above those of the rows before.
        row = n_rows - 1
        while row > 0:
            bit = 0
            for other in range(row):
                bit = max(bit, label[other] + 1)
            if label[row] < bit:
                label[row] += 1
                break
            label[row] = 0
            row -= 1
        if row == 0:
            return


cdef void count_tiny(Walk* w, int depth, int c, int group, int t) noexcept nogil:
    """Add the part of a group of up to four rows in the scores of a class.

    Needs unit weights.
    """
    cdef Py_ssize_t width = w.dense_width[c]
    cdef Py_ssize_t n_outsiders = w.class_start[c + 1] - w.class_start[c]
    cdef const int* order = w.order + <Py_ssize_t>depth * w.n_rows
    cdef const int* start = w.group_start + <Py_ssize_t>depth * (w.n_rows + 1)
    cdef int n_rows = start[group + 1] - start[group]
    cdef const unsigned char* x[LARGEST_TINY]
    cdef const unsigned char* x0
    cdef const unsigned char* x1
    cdef const unsigned char* x2
    cdef const unsigned char* x3
    cdef unsigned char* number = w.block
    cdef int segment_of[LARGEST_TINY]
    cdef int segment = w.group_segment[group]
    cdef int row
    cdef Py_ssize_t j
    cdef long long shape = 1
    cdef bint known
    cdef double* worth
    for row in range(n_rows):
        if start[group] + row == w.segment_end[segment]:
            segment += 1
        segment_of[row] = segment - w.group_segment[group]
        shape = (shape << 2) | segment_of[row]
        x[row] = (
            w.dense + w.dense_offset[c] + order[start[group] + row] * w.dense_stride
        )
    worth = worth_of(w, -shape, t, &known)
    if not known:
        fill_tiny(w, t, n_rows, segment_of, worth)
    x0, x1 = x[0], x[1]
    if n_rows == 2:
        for j in range(n_outsiders):
            w.acc[j] += worth[1] if x0[j] == x1[j] else worth[0]
        return
    x2 = x[2]
    if n_rows == 3:
        for j in range(width):
            number[j] = (
                (x0[j] == x1[j]) | ((x0[j] == x2[j]) << 1) | ((x1[j] == x2[j]) << 2)
            )
    else:
        x3 = x[3]
        for j in range(width):
            number[j] = (
                (x0[j] == x1[j]) | ((x0[j] == x2[j]) << 1) | ((x1[j] == x2[j]) << 2)
                | ((x0[j] == x3[j]) << 3) | ((x1[j] == x3[j]) << 4)
                | ((x2[j] == x3[j]) << 5)
            )
    for j in range(n_outsiders):
        w.acc[j] += worth[number[j]]


cdef void fill_worth(
    Walk* w, int t, int levels, int n_segments, const int* sizes, int span,
    double* worth
) noexcept nogil:
    """Tabulate the worth of all counts in a group with segments of these sizes.

    The counts of the levels from 1 on, segment by segment, are the digits of the
    place in the table, the first one the lowest.
    """
    cdef int place, segment, level, n, left
    cdef int d = 0
    cdef int digit[N_DIGITS]
    cdef int total[N_DIGITS + 1]
    cdef double score
    memset(digit, 0, sizeof(digit))
    for place in range(span):
        score = 0.0
        memset(total, 0, sizeof(total))
        d = 0
        for segment in range(n_segments):
            left = sizes[segment]
            for level in range(1, levels):
                n = digit[d]
                d += 1
                left -= n
                total[level] += n
                score += f_value(w, t, n)
            if left < 0:
                break  # more rows than there are: never looked up
            total[0] += left
            score += f_value(w, t, left)
        for level in range(levels):
            score += g_value(w, t, total[level])
        worth[place] = score
        d = 0
        while d < n_segments * (levels - 1):
            if digit[d] < sizes[d // (levels - 1)]:
                digit[d] += 1
                break
            digit[d] = 0
            d += 1


cdef bint count_small(Walk* w, int depth, int c, int group, int t) noexcept nogil:
    """Add a small group's part in the scores of all outsiders of a class.

    Needs unit weights and two levels or more. False, and nothing added, if the group is
    too large.
    """
    cdef int levels = w.class_levels[c]
    cdef Py_ssize_t width = w.dense_width[c]
    cdef Py_ssize_t n_outsiders = w.class_start[c + 1] - w.class_start[c]
    cdef const int* order = w.order + <Py_ssize_t>depth * w.n_rows
    cdef unsigned char* number = w.block
    cdef int first = w.group_segment[group]
    cdef int n_segments = w.group_segment[group + 1] - first
    cdef int start = w.group_start[<Py_ssize_t>depth * (w.n_rows + 1) + group]
    cdef int begin = start
    cdef int sizes[N_DIGITS]
    cdef int span = 1
    cdef int segment, level, _level
    cdef Py_ssize_t j
    cdef long long shape = 0
    cdef bint known
    cdef double* worth
    if n_segments * (levels - 1) > N_DIGITS:
        return False
    for segment in range(n_segments):
        sizes[segment] = w.segment_end[first + segment] - begin
        begin = w.segment_end[first + segment]
        for _level in range(1, levels):
            span *= min(sizes[segment] + 1, LARGEST_SPAN + 1)
            if span > LARGEST_SPAN:
                return False
        shape = (shape << 7) | sizes[segment]
    # Filling a place takes as long as an outsider's look-ups elsewhere, and the larger
    # a group, the less often its shape comes again.
    if span > n_outsiders // 2:
        return False
    worth = worth_of(w, shape, (<long long>t << 5) + levels, &known)
    if not known:
        fill_worth(w, t, levels, n_segments, sizes, span, worth)
    memset(number, 0, width)
    span = 1
    begin = start
    for segment in range(n_segments):
        for level in range(1, levels):
            add_rows(
                w, w.dense + w.dense_offset[c], order + begin, sizes[segment],
                <unsigned char>level, <unsigned char>span, width, number
            )
            span *= sizes[segment] + 1
        begin += sizes[segment]
    for j in range(n_outsiders):
        w.acc[j] += worth[number[j]]
    return True


cdef inline Py_ssize_t pairs_of(Walk* w, int t, int size) noexcept nogil:
    """Give the place of f(n) + f(size - n), n = 0 to size; fill it if need be."""
    cdef Py_ssize_t rows = w.largest_pair + 1
    cdef Py_ssize_t place = t * (rows * (rows + 1) // 2) + size * (size + 1) // 2
    cdef int n
    if not w.pairs_filled[t * rows + size]:
        w.pairs_filled[t * rows + size] = True
        for n in range(size + 1):
            w.f_pairs[place + n] = f_value(w, t, n) + f_value(w, t, size - n)
            w.g_pairs[place + n] = g_value(w, t, n) + g_value(w, t, size - n)
    return place


cdef void count_binary(Walk* w, int depth, int c, int group, int t) noexcept nogil:
    """Add a group's part in the scores of the binary outsiders.

    Needs unit weights, and a group of at most `largest_pair` rows.
    """
    cdef Py_ssize_t width = w.dense_width[c]
    cdef Py_ssize_t n_outsiders = w.class_start[c + 1] - w.class_start[c]
    cdef const int* order = w.order + <Py_ssize_t>depth * w.n_rows
    cdef const int* start = w.group_start + <Py_ssize_t>depth * (w.n_rows + 1)
    cdef int begin = start[group]
    cdef int last = w.group_segment[group + 1] - 1
    cdef int segment, end
    cdef unsigned char* count = w.block
    cdef unsigned char* total = w.block + width
    cdef double* acc = w.acc
    cdef const double* f
    cdef const double* g = w.g_pairs + pairs_of(w, t, start[group + 1] - begin)
    cdef Py_ssize_t j
    memset(total, 0, width)
    for segment in range(w.group_segment[group], last + 1):
        end = w.segment_end[segment]
        memset(count, 0, width)
        add_rows(
            w, w.dense + w.dense_offset[c], order + begin, end - begin, 1, 1, width,
            count
        )
        for j in range(width):
            total[j] += count[j]
        f = w.f_pairs + pairs_of(w, t, end - begin)
        if segment < last:
            for j in range(n_outsiders):
                acc[j] += f[count[j]]
        else:
            for j in range(n_outsiders):
                acc[j] += f[count[j]] + g[total[j]]
        begin = end


cdef double count_sparse(
    Walk* w, int depth, int group, const int* x, int t
) noexcept nogil:
    """Give a group's part in the score of the subset plus the outsider x."""
    cdef const int* order = w.order + <Py_ssize_t>depth * w.n_rows
    cdef int start = w.group_start[<Py_ssize_t>depth * (w.n_rows + 1) + group]
    cdef int begin = start
    cdef int end = start
    cdef int segment, place, level
    cdef double n
    cdef double score = 0.0
    for segment in range(w.group_segment[group], w.group_segment[group + 1]):
        end = w.segment_end[segment]
        for place in range(begin, end):
            w.cell[x[order[place]]] += w.weights[order[place]]
        for place in range(begin, end):
            level = x[order[place]]
            n = w.cell[level]
            if n > 0.0:
                score += f_value(w, t, n)
                w.marginal[level] += n
                w.cell[level] = 0.0
        begin = end
    for place in range(start, end):
        level = x[order[place]]
        n = w.marginal[level]
        if n > 0.0:
            score += g_value(w, t, n)
            w.marginal[level] = 0.0
    return score


cdef double score_singles(Walk* w, int depth, int t) noexcept nogil:
    """Give the part of the rows that are alone in their configuration."""
    cdef const int* order = w.order + <Py_ssize_t>depth * w.n_rows
    cdef int place
    cdef double n
    cdef double score = 0.0
    cdef int n_singles = w.n_rows - w.n_active[depth]
    if n_singles == 0:
        return 0.0
    if w.unit:
        return n_singles * (f_value(w, t, 1.0) + g_value(w, t, 1.0))
    for place in range(w.n_active[depth], w.n_rows):
        n = w.weights[order[place]]
        score += f_value(w, t, n) + g_value(w, t, n)
    return score


cdef inline int end_of_segment(
    Walk* w, const int* order, int begin, int stop
) noexcept nogil:
    """Give the end of the rows from `begin` on with the same level of the child.

    The child's levels ascend. Strides double as long as the level stays the same, and
    then are halved: a large group is not gone through row by row.
    """
    cdef int level = w.child[order[begin]]
    cdef int stride = 1
    cdef int place = begin
    while place + stride < stop and w.child[order[place + stride]] == level:
        place += stride
        stride *= 2
    while stride > 1:
        stride //= 2
        if place + stride < stop and w.child[order[place + stride]] == level:
            place += stride
    return place + 1


cdef void score_subset(
    Walk* w, int depth, Py_ssize_t mask, double log_prior, int base_column,
    double[:, :] out
) noexcept nogil:
    """Write the row of a table that belongs to the subset at `depth`."""
    cdef const int* order = w.order + <Py_ssize_t>depth * w.n_rows
    cdef const int* start = w.group_start + <Py_ssize_t>depth * (w.n_rows + 1)
    cdef int n_groups = w.n_groups[depth]
    cdef int n_segments = 0
    cdef int group, begin, end, place, t
    cdef double f_top = 1.0
    cdef double g_top = 1.0
    cdef double score, weight
    # Where the child's levels begin and end, and what they weigh.
    for group in range(n_groups):
        w.group_segment[group] = n_segments
        w.group_weight[group] = 0.0
        begin = start[group]
        while begin < start[group + 1]:
            end = end_of_segment(w, order, begin, start[group + 1])
            weight = end - begin
            if not w.unit:
                weight = 0.0
                for place in range(begin, end):
                    weight += w.weights[order[place]]
            w.segment_end[n_segments] = end
            w.segment_weight[n_segments] = weight
            w.group_weight[group] += weight
            f_top = max(f_top, weight)
            n_segments += 1
            begin = end
        g_top = max(g_top, w.group_weight[group])
    w.group_segment[n_groups] = n_segments
    if not w.unit:
        for place in range(w.n_active[depth], w.n_rows):
            f_top = max(f_top, w.weights[order[place]])
        g_top = max(g_top, f_top)

    t = w.table_of[mask * (w.n_classes + 1)]
    if w.integral:
        extend_tables(w, t, f_top, g_top)
    score = score_singles(w, depth, t)
    for place in range(n_segments):
        score += f_value(w, t, w.segment_weight[place])
    for group in range(n_groups):
        score += g_value(w, t, w.group_weight[group])
    score += log_prior - w.cost * w.configurations[mask]
    out[mask, base_column] = score
    if w.best_only and cannot_be_bettered(
        w, mask, score, log_prior, n_segments + w.n_rows - w.n_active[depth]
    ):
        return
    score_outsiders(w, depth, mask, score, log_prior, f_top, g_top, out)


cdef bint cannot_be_bettered(
    Walk* w, Py_ssize_t mask, double score, double log_prior, int n_cells
) noexcept nogil:
    """Note the best score within a subset; tell whether no superset can beat it."""
    cdef double best = score
    cdef double limit
    cdef int k
    for k in range(w.n_candidates):
        if mask >> k & 1:
            best = max(best, w.best[mask ^ (<Py_ssize_t>1 << k)])
    w.best[mask] = best
    if w.bayes:
        limit = -w.log_child_levels * n_cells
    else:
        limit = -w.cost * w.configurations[mask]
    # Rounding must not make a difference.
    w.dead[mask] = limit + log_prior + w.odds_to_gain < best - 1e-6
    return w.dead[mask]


cdef void score_outsiders(
    Walk* w, int depth, Py_ssize_t mask, double base, double log_prior, double f_top,
    double g_top, double[:, :] out
) noexcept nogil:
    """Write the scores of the subset at `depth` plus each outsider.

    `base` is the score of the subset itself.
    """
    cdef const int* start = w.group_start + <Py_ssize_t>depth * (w.n_rows + 1)
    cdef int c, group, j, t, size, cells, levels, outsider
    cdef double singles, fixed
    cdef const int* x
    cdef bint dense
    for c in range(w.n_classes):
        levels = w.class_levels[c]
        size = w.class_start[c + 1] - w.class_start[c]
        if levels == 1:  # a constant tells nothing apart
            for j in range(size):
                outsider = w.outsiders[w.class_start[c] + j]
                out[mask, outsider] = base + w.log_odds[outsider]
            continue
        t = w.table_of[mask * (w.n_classes + 1) + c + 1]
        if w.integral:
            extend_tables(w, t, f_top, g_top)
        singles = score_singles(w, depth, t)
        for j in range(size):
            w.acc[j] = singles
        for group in range(w.n_groups[depth]):
            if w.dense_width[c] > 0:
                if start[group + 1] - start[group] <= LARGEST_TINY:
                    count_tiny(w, depth, c, group, t)
                    continue
                if levels == 2 and start[group + 1] - start[group] <= w.largest_pair:
                    count_binary(w, depth, c, group, t)
                    continue
                if count_small(w, depth, c, group, t):
                    continue
            cells = w.group_segment[group + 1] - w.group_segment[group] + 1
            # A row counted alone costs about as much as five look-ups.
            dense = (
                w.dense_width[c] > 0
                and 5 * (start[group + 1] - start[group]) >= cells * levels
            )
            if dense:
                count_dense(w, depth, c, group, t)
            else:
                for j in range(size):
                    x = (
                        w.codes
                        + <Py_ssize_t>w.outsiders[w.class_start[c] + j] * w.n_rows
                    )
                    w.acc[j] += count_sparse(w, depth, group, x, t)
        fixed = log_prior - w.cost * w.configurations[mask] * levels
        for j in range(size):
            outsider = w.outsiders[w.class_start[c] + j]
            out[mask, outsider] = w.acc[j] + fixed + w.log_odds[outsider]


cdef bint cannot_matter(Walk* w, Py_ssize_t mask) noexcept nogil:
    """Tell whether a subset of `mask`, one candidate less, does better than all of it.

    Sets that are skipped need no mark: whoever contains one either contains a marked
    set with one candidate less, or is reached only through a marked set.
    """
    cdef int k
    for k in range(w.n_candidates):
        if mask >> k & 1 and w.dead[mask ^ (<Py_ssize_t>1 << k)]:
            w.dead[mask] = True
            return True
    return False


cdef void visit(
    Walk* w, int depth, Py_ssize_t mask, int lowest, double log_prior,
    int base_column, double[:, :] out
) noexcept nogil:
    """Score the subset at `depth`, then those that add candidates below `lowest`."""
    cdef int k
    cdef Py_ssize_t larger
    score_subset(w, depth, mask, log_prior, base_column, out)
    for k in range(lowest):
        larger = mask | (<Py_ssize_t>1 << k)
        if w.best_only and cannot_matter(w, larger):
            continue
        split(
            w, depth, w.codes + <Py_ssize_t>w.candidates[k] * w.n_rows, w.levels[k]
        )
        visit(
            w, depth + 1, larger, k, log_prior + w.log_odds[w.candidates[k]],
            base_column, out
        )


class Outsiders:
    """Variables of which single ones join parent sets, as the kernel reads them.

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
    """

    def __init__(self, codes, weights, n_levels, variables):
        variables = np.asarray(variables, dtype=np.intc)
        levels = np.asarray(n_levels)[variables]
        order = np.argsort(levels, kind="stable")
        self.variables = np.ascontiguousarray(variables[order])
        class_levels, class_start = np.unique(levels[order], return_index=True)
        self.class_levels = class_levels.astype(np.intc)
        self.class_start = np.append(class_start, len(variables)).astype(np.intc)
        self.class_size = np.diff(self.class_start).astype(np.intp)
        dense = (weights == 1.0).all() & (class_levels <= MOST_DENSE_LEVELS)
        self.width = np.where(dense, -(-self.class_size // LANES) * LANES, 0).astype(
            np.intp
        )
        self.offset = np.cumsum(self.width) - self.width
        self.bytes = np.zeros(
            (codes.shape[1], max(1, self.width.sum())), dtype=np.uint8
        )
        for c in np.flatnonzero(dense):
            self.bytes[:, self.offset[c]:self.offset[c] + self.class_size[c]] = codes[
                self.variables[self.class_start[c]:self.class_start[c + 1]]
            ].T


def fill_discrete_table(
    codes, weights, n_levels, int node, candidates, outsiders, int base_column,
    log_odds, double pseudo_count, double cost, double[:, :] out, *, fixed=None,
    bint best_only=False
):
    """Write the score of every subset of `candidates` into a table.

    Parameters
    ----------
    codes : ndarray of int32 of shape (n_features, n_rows), C-contiguous
        The data as codes from 0, one row of the array per variable.
    weights : ndarray of float64 of shape (n_rows,)
        How often each row counts, positive.
    n_levels : ndarray of int of shape (n_features,)
        Number of levels of each variable.
    node : int
        The child.
    candidates : ndarray of int
        The parents of which all subsets are scored.
    outsiders : Outsiders
        Variables of which single ones are added to the subsets.
    base_column : int
        The column of `out` for the subsets as they are.
    log_odds : ndarray of float64 of shape (n_features,)
        Added for each parent.
    pseudo_count : float
        Equivalent sample size of BDe; zero is BIC.
    cost : float
        Subtracted for each configuration of the parents.
    out : ndarray of float64 of shape (2**n_candidates, n_columns)
        The table.
    fixed : tuple of (ndarray, float, float), default=None
        Parents that every set has beside the subset: the number of each row's
        configuration of them, how many configurations are possible, and their log odds.
    best_only : bool, default=False
        Whether entries may be left as they are where a subset in the base column
        scores higher.
    """
    cdef Walk w
    cdef int n_rows = codes.shape[1]
    candidates = np.ascontiguousarray(candidates, dtype=np.intc)
    n_levels = np.asarray(n_levels, dtype=np.intc)
    cdef int n_candidates = len(candidates)
    if out.shape[0] != 1 << n_candidates:
        raise ValueError(
            f"out must have {1 << n_candidates} rows, got {out.shape[0]}."
        )
    cdef int n_classes = len(outsiders.class_levels)
    unit = bool((weights == 1.0).all())
    integral = unit or bool((weights == np.floor(weights)).all())
    cdef double fixed_odds = 0.0
    cdef double fixed_configurations = 1.0
    configuration = None
    if fixed is not None:
        configuration, fixed_configurations, fixed_odds = fixed
    if n_levels[node] == 1:
        # Nothing to explain: the likelihood is 1, without rounding that would make
        # some parents look better than none.
        log_prior = np.array([fixed_odds])
        for candidate in candidates:
            log_prior = np.append(log_prior, log_prior + log_odds[candidate])
        table = np.asarray(out)
        table[:, base_column] = log_prior
        table[:, outsiders.variables] = (
            log_prior[:, None] + log_odds[outsiders.variables]
        )
        return

    # The distinct numbers of configurations, and which table belongs to which.
    configurations = np.array([fixed_configurations])
    for candidate in candidates:
        configurations = np.append(
            configurations, configurations * n_levels[candidate]
        )
    if pseudo_count > 0:
        sizes, size_of = np.unique(configurations, return_inverse=True)
        distinct, table_of = np.unique(
            sizes[:, None] * np.append(1, outsiders.class_levels), return_inverse=True
        )
        table_of = table_of.reshape(len(sizes), -1)[size_of]
    else:
        distinct, table_of = np.ones(1), np.zeros((len(configurations), n_classes + 1))
    table_of = table_of.reshape(-1).astype(np.intc)
    big_a = pseudo_count / distinct
    a = big_a / n_levels[node]
    log_gamma_a = np.array([lgamma(value) for value in a.tolist()])
    log_gamma_big_a = np.array([lgamma(value) for value in big_a.tolist()])
    cdef int table_length = 1
    if integral:
        table_length = int(
            min(
                weights.sum() + 1,
                LONGEST_TABLE,
                max(64, TABLE_BUDGET // (2 * len(distinct))),
            )
        )

    cdef const int[:, ::1] codes_view = codes
    cdef const double[::1] weights_view = weights
    cdef const int[::1] candidates_view = candidates
    cdef const int[::1] levels_view = n_levels[candidates]
    cdef const double[::1] odds_view = np.ascontiguousarray(log_odds)
    cdef const int[::1] start_view = outsiders.class_start
    cdef const int[::1] class_levels_view = outsiders.class_levels
    cdef const int[::1] outsiders_view = outsiders.variables
    cdef const unsigned char[:, ::1] dense_view = outsiders.bytes
    cdef const Py_ssize_t[::1] offset_view = outsiders.offset
    cdef const Py_ssize_t[::1] width_view = outsiders.width
    cdef const double[::1] configurations_view = configurations
    cdef const int[::1] table_view = table_of
    cdef const double[::1] a_view = a
    cdef const double[::1] big_a_view = big_a
    cdef const double[::1] log_gamma_a_view = log_gamma_a
    cdef const double[::1] log_gamma_big_a_view = log_gamma_big_a
    cdef double[::1] f_view = np.empty(len(distinct) * table_length)
    cdef double[::1] g_view = np.empty(len(distinct) * table_length)
    cdef int[::1] f_filled = np.zeros(len(distinct), dtype=np.intc)
    cdef int[::1] g_filled = np.zeros(len(distinct), dtype=np.intc)
    cdef int depths = n_candidates + 1
    orders = np.empty((depths, n_rows), dtype=np.intc)
    group_starts = np.empty((depths, n_rows + 1), dtype=np.intc)
    first_order, first_starts = first_groups(codes[node], configuration)
    orders[0] = first_order
    group_starts[0, :len(first_starts)] = first_starts
    cdef int[:, ::1] order = orders
    cdef int[:, ::1] group_start = group_starts
    cdef int[::1] n_groups = np.empty(depths, dtype=np.intc)
    cdef int[::1] n_active = np.empty(depths, dtype=np.intc)
    n_groups[0] = len(first_starts) - 1
    n_active[0] = first_starts.max()
    cdef int[::1] segment_end = np.empty(n_rows, dtype=np.intc)
    cdef int[::1] group_segment = np.empty(n_rows + 1, dtype=np.intc)
    cdef double[::1] segment_weight = np.empty(n_rows)
    cdef double[::1] group_weight = np.empty(n_rows)
    cdef Py_ssize_t most = (outsiders.width * outsiders.class_levels).max(initial=1)
    cdef double[::1] acc = np.empty(outsiders.class_size.max(initial=1))
    cdef unsigned char[::1] block = np.empty(most, dtype=np.uint8)
    cdef int[::1] count = np.empty(most, dtype=np.intc)
    cdef int[::1] total = np.empty(most, dtype=np.intc)
    cdef double[::1] cell = np.zeros(n_levels.max(initial=1))
    cdef double[::1] marginal = np.zeros(n_levels.max(initial=1))
    cdef long long[::1] shape = np.zeros(N_SHAPES, dtype=np.longlong)
    cdef long long[::1] shape_of = np.zeros(N_SHAPES, dtype=np.longlong)
    cdef int largest_pair = min(
        LARGEST_BYTE, n_rows, table_length - 1,
        int((PAIR_BUDGET / len(distinct)) ** 0.5),
    )
    n_pairs = (largest_pair + 1) * (largest_pair + 2) // 2 * len(distinct)
    cdef double[::1] f_pairs = np.empty(n_pairs)
    cdef double[::1] g_pairs = np.empty(n_pairs)
    cdef unsigned char[::1] pairs_filled = np.zeros(
        (largest_pair + 1) * len(distinct), dtype=np.uint8
    )
    cdef double[::1] worth = np.empty(N_SHAPES * LARGEST_SPAN)
    cdef double[::1] best = np.empty(len(configurations) if best_only else 1)
    cdef unsigned char[::1] dead = np.zeros(len(best), dtype=np.uint8)
    cdef double odds_to_gain = (
        np.maximum(log_odds[candidates], 0.0).sum()
        + np.max(log_odds[outsiders.variables], initial=0.0)
    )
    cdef int[::1] aside = np.empty(2 * n_rows, dtype=np.intc)
    cdef int[::1] slot = np.empty(n_levels.max(initial=1), dtype=np.intc)

    w.n_rows = n_rows
    w.codes = &codes_view[0, 0]
    w.weights = &weights_view[0]
    w.unit = unit
    w.integral = integral
    w.child = &codes_view[node, 0]
    w.n_candidates = n_candidates
    w.candidates = &candidates_view[0] if n_candidates else NULL
    w.levels = &levels_view[0] if n_candidates else NULL
    w.log_odds = &odds_view[0]
    w.cost = cost
    w.n_classes = n_classes
    w.class_start = &start_view[0]
    w.class_levels = &class_levels_view[0] if n_classes else NULL
    w.outsiders = &outsiders_view[0] if n_classes else NULL
    w.dense = &dense_view[0, 0]
    w.dense_stride = dense_view.shape[1]
    w.dense_offset = &offset_view[0] if n_classes else NULL
    w.dense_width = &width_view[0] if n_classes else NULL
    w.bayes = pseudo_count > 0
    w.configurations = &configurations_view[0]
    w.table_of = &table_view[0]
    w.a = &a_view[0]
    w.big_a = &big_a_view[0]
    w.log_gamma_a = &log_gamma_a_view[0]
    w.log_gamma_big_a = &log_gamma_big_a_view[0]
    w.table_length = table_length
    w.f = &f_view[0]
    w.g = &g_view[0]
    w.f_filled = &f_filled[0]
    w.g_filled = &g_filled[0]
    w.order = &order[0, 0]
    w.group_start = &group_start[0, 0]
    w.n_groups = &n_groups[0]
    w.n_active = &n_active[0]
    w.segment_end = &segment_end[0]
    w.group_segment = &group_segment[0]
    w.segment_weight = &segment_weight[0]
    w.group_weight = &group_weight[0]
    w.acc = &acc[0]
    w.block = &block[0]
    w.count = &count[0]
    w.total = &total[0]
    w.cell = &cell[0]
    w.marginal = &marginal[0]
    w.slot = &slot[0]
    w.aside = &aside[0]
    w.largest_pair = largest_pair
    w.f_pairs = &f_pairs[0]
    w.g_pairs = &g_pairs[0]
    w.pairs_filled = &pairs_filled[0]
    w.shape = &shape[0]
    w.shape_of = &shape_of[0]
    w.worth = &worth[0]
    # A fraction of an observation may have a probability above 1/r.
    w.best_only = best_only and (pseudo_count <= 0 or weights.min() >= 1.0)
    w.best = &best[0]
    w.dead = &dead[0]
    w.log_child_levels = log(<double>n_levels[node])
    w.odds_to_gain = odds_to_gain

    with nogil:
        visit(&w, 0, 0, n_candidates, fixed_odds, base_column, out)


def first_groups(child, configuration=None):
    """Sort rows into groups of equal configurations, and these by the child.

    Returns
    -------
    order : ndarray of int
        The rows, those that are alone in their configuration at the end.
    starts : ndarray of int
        Where each group starts, and where the last one ends.
    """
    if configuration is None:
        order = np.argsort(child, kind="stable")
        return order, np.array([0, len(order)] if len(order) > 1 else [0])
    order = np.lexsort((child, configuration))
    group = configuration[order]
    begins = np.append(True, np.diff(group) != 0)
    single = begins & np.append(begins[1:], True)
    begins = np.append(begins[~single], True)
    return (
        np.concatenate([order[~single], order[single]]),
        np.flatnonzero(begins),
    )
