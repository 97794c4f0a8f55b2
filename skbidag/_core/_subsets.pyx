# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False
"""Sums and maxima over all subsets of every subset: the zeta transform.

A table has one row per subset (`mask`) of a node's K candidates and one column per
outsider, plus the *base column* for the subset alone. In K passes, each of which
adds to every row whose mask has bit k the row whose mask has not, a row comes to
hold the sum (or the maximum) over all subsets of its mask: O(K 2^K) row operations.
The lower half of the rows lacks the last bit, the upper half has it; each half makes
its own passes first, so that most of them find their rows in the cache.

Sums are kept as ratios to the base column's sum. Then adding two rows is a convex
combination of them, one multiplication and addition per entry and no exp or log:
with b the log sum of the base column and r the ratios,

    b  = ln(e^b1 + e^b2)        r = e^(b1 - b) r1 + e^(b2 - b) r2

and the sum a chain asks for, over the base column and the outsiders that an order
permits, is b + ln(sum of the permitted r), where the base column counts 1. A ratio
that underflows is one that no such sum could feel. One that would overflow, an
outsider worth more than 600 nats, cannot be held this way: for its column the
passes are made on logarithms, and the rows concerned keep log ratios; such a row
has a 0 in its base column (ln 1) where the others have a 1. With strong
dependencies and many observations that is one column in ten, but up to 40 % of the
rows, few of which a chain ever visits. A table without outsiders is its base column
alone, and its passes are made on logarithms, too.
"""

from libc.math cimport INFINITY, fabs
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

from skbidag._core._vector cimport (
    skb_exp,
    skb_exp_array,
    skb_flush_tiny,
    skb_log,
    skb_log_add_exp,
    skb_log_add_rows,
    skb_log_array,
    skb_log_or_nothing,
    skb_maximum,
    skb_mix,
    skb_ratios,
    skb_restore_tiny,
)


# exp(600) squared is still finite, so convex combinations and sums of ratios are.
cdef double LARGEST_LOG_RATIO = 600.0


def subset_sums(
    const double[:, ::1] scores, Py_ssize_t base_column, double[:, ::1] ratios,
    double[::1] log_sums
):
    """Sums of exp(scores) over all subsets of each mask.

    Parameters
    ----------
    scores : (2^K, width) array
        Log scores, -inf where there is none.
    base_column : int
    ratios : (2^K, width) array
        Gets each column's sum divided by the base column's; the log of that in
        rows where a ratio is too large. Such rows have 0 in the base column,
        the others 1. Where the base column's sum is 0, all entries are 0.
    log_sums : (2^K,) array
        Gets the log of the base column's sums.
    """
    cdef:
        Py_ssize_t n_rows = scores.shape[0]
        Py_ssize_t width = scores.shape[1]
        Py_ssize_t row, j, n_wide = 0
        double largest, base, shift = -INFINITY
        # columns with a ratio too large for a double, see above
        Py_ssize_t *wide = NULL
        double *logs = NULL
        unsigned float_mode
    # The passes are made relative to the best set: the roundings of logarithms in
    # the thousands would add up to 1e-12, which differences of sums would feel.
    for row in range(n_rows):
        shift = max(shift, scores[row, base_column])
    if shift == -INFINITY:
        shift = 0.0
    if width == 1:
        with nogil:
            for row in range(n_rows):
                log_sums[row] = scores[row, 0] - shift
            add_logs(&log_sums[0], n_rows, 1)
            for row in range(n_rows):
                ratios[row, 0] = log_sums[row] > -INFINITY
                log_sums[row] += shift
        return
    wide = <Py_ssize_t *> calloc(width, sizeof(Py_ssize_t))
    if wide == NULL:
        raise MemoryError
    with nogil:
        for row in range(n_rows):
            base = scores[row, base_column]
            log_sums[row] = base - shift
            if base == -INFINITY:
                # no set here (a required parent is missing): nothing in any column
                memset(&ratios[row, 0], 0, width * sizeof(double))
            else:
                largest = skb_ratios(
                    &ratios[row, 0], &scores[row, 0], base, width
                )
                if largest > LARGEST_LOG_RATIO:
                    for j in range(width):
                        if scores[row, j] - base > LARGEST_LOG_RATIO:
                            wide[j] = 1
        for j in range(width):
            if wide[j]:
                wide[n_wide] = j
                n_wide += 1
        for row in range(n_rows):
            for j in range(n_wide):
                ratios[row, wide[j]] = 0.0
        float_mode = skb_flush_tiny()
        add_ratios(&ratios[0, 0], &log_sums[0], base_column, n_rows, width)
        skb_restore_tiny(float_mode)
        if n_wide:
            logs = <double *> malloc(
                n_rows * padded(n_wide) * sizeof(double)
            )
            if logs != NULL:
                add_logarithms(
                    &scores[0, 0], shift, &ratios[0, 0], &log_sums[0], base_column,
                    n_rows, width, wide, n_wide, logs,
                )
        for row in range(n_rows):
            log_sums[row] += shift
    free(wide)
    if n_wide and logs == NULL:
        raise MemoryError
    free(logs)


cdef inline Py_ssize_t padded(Py_ssize_t size) noexcept nogil:
    return (size + 3) // 4 * 4


cdef void add_ratios(
    double *ratios, double *log_sums, Py_ssize_t base_column, Py_ssize_t n_rows,
    Py_ssize_t width
) noexcept nogil:
    """The passes on ratios to the base column."""
    cdef:
        Py_ssize_t half = n_rows // 2
        Py_ssize_t row
        double gap, small, large
        double *sums = log_sums + half
        double *target
    if half == 0:
        return
    add_ratios(ratios, log_sums, base_column, half, width)
    add_ratios(ratios + half * width, sums, base_column, half, width)
    for row in range(half):
        if log_sums[row] == -INFINITY:
            continue
        # the shares of the larger and the smaller of the two sums
        gap = fabs(log_sums[row] - sums[row])
        small = skb_exp(-gap)
        large = 1.0 / (1.0 + small)
        small *= large
        target = ratios + (half + row) * width
        if log_sums[row] > sums[row]:
            sums[row] = log_sums[row] - skb_log(large)
            skb_mix(target, ratios + row * width, large, small, width)
        else:
            sums[row] -= skb_log(large)
            if small > 0.0:
                skb_mix(target, ratios + row * width, small, large, width)
        # exactly 1: the shares add up to it only to rounding
        target[base_column] = 1.0


cdef void add_logs(
    double *logs, Py_ssize_t n_rows, Py_ssize_t width
) noexcept nogil:
    """The passes on logarithms."""
    cdef:
        Py_ssize_t half = n_rows // 2
        Py_ssize_t row
        double *upper = logs + half * width
    if half == 0:
        return
    add_logs(logs, half, width)
    add_logs(upper, half, width)
    if half * width >= 4:
        skb_log_add_rows(upper, logs, half * width)
        return
    for row in range(half):
        upper[row] = skb_log_add_exp(upper[row], logs[row])


cdef void add_logarithms(
    const double *scores, double shift, double *ratios, const double *log_sums,
    Py_ssize_t base_column, Py_ssize_t n_rows, Py_ssize_t width,
    const Py_ssize_t *wide, Py_ssize_t n_wide, double *logs
) noexcept nogil:
    """Sum the columns `wide` as logarithms, and join them to the ratios."""
    cdef:
        Py_ssize_t log_width = padded(n_wide)
        Py_ssize_t row, j
        double largest
        double *entries
    for row in range(n_rows):
        for j in range(log_width):
            logs[row * log_width + j] = (
                scores[row * width + wide[j]] - shift if j < n_wide else -INFINITY
            )
    add_logs(logs, n_rows, log_width)
    for row in range(n_rows):
        if log_sums[row] == -INFINITY:
            continue
        entries = logs + row * log_width
        largest = -INFINITY
        for j in range(n_wide):
            entries[j] -= log_sums[row]
            largest = max(largest, entries[j])
        if largest > LARGEST_LOG_RATIO:
            skb_log_or_nothing(ratios + row * width, width)
        else:
            skb_exp_array(entries, entries, log_width)
        for j in range(n_wide):
            ratios[row * width + wide[j]] = entries[j]


def subset_maxima(double[:, ::1] table):
    """Replace each row by the maximum over the rows of all subsets of its mask."""
    with nogil:
        take_maxima(&table[0, 0], table.shape[0], table.shape[1])


cdef void take_maxima(
    double *table, Py_ssize_t n_rows, Py_ssize_t width
) noexcept nogil:
    """The passes on maxima."""
    cdef:
        Py_ssize_t half = n_rows // 2
        Py_ssize_t row
        double *upper = table + half * width
    if half == 0:
        return
    take_maxima(table, half, width)
    take_maxima(upper, half, width)
    if half * width >= 4:
        skb_maximum(upper, table, half * width)
        return
    for row in range(half):
        upper[row] = max(upper[row], table[row])


def log_values(const double[::1] x):
    """Natural logarithms by the kernels' own routine (for its test)."""
    cdef double[::1] padded = x.copy()
    skb_log_array(&padded[0], &padded[0], padded.shape[0])
    return padded


def exp_values(const double[::1] x):
    """Exponentials by the kernels' own routine (for its test)."""
    cdef double[::1] padded = x.copy()
    skb_exp_array(&padded[0], &padded[0], padded.shape[0])
    return padded
