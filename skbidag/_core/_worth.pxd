# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False
"""Declarations of `_worth.pyx`, and its look-ups, which are parts of others' loops."""

from cython cimport final
from libc.math cimport lgamma, log

cdef enum:
    # Groups whose rows are compared pair by pair, the ways to part the rows of the
    # largest, and by the bits of six pairs the length of a table of these.
    LARGEST_TINY = 4
    N_PARTINGS = 15
    N_PLACES = 64
    # Small groups: numbers below LARGEST_SPAN, which have at most 7 digits.
    LARGEST_SPAN = 128
    N_DIGITS = 7
    N_SHAPES = 256
    # Counts that a byte holds.
    LARGEST_BYTE = 255


@final
cdef class Worth:
    cdef:
        # The data: weights that are integers, their sum, and number of rows.
        readonly bint integral
        double total
        int n_rows
        # Which table belongs to what, and the constants of each.
        bint bayes
        dict numbers
        list memory  # of f and g, and of their pairs
        double[::1] a
        double[::1] big_a
        double[::1] log_gamma_a
        double[::1] log_gamma_big_a
        # f and g by table and count, how far they are filled, and how far the counts of
        # the present call reach.
        double[:, ::1] f
        double[:, ::1] g
        int[::1] f_filled
        int[::1] g_filled
        int[::1] f_reach
        int[::1] g_reach
        # f(n) + f(size - n), and the same of g, for each size up to the largest one.
        int largest_pair
        double[:, ::1] f_pairs
        double[:, ::1] g_pairs
        unsigned char[:, ::1] pairs_filled
        # The ways to part four rows.
        const int[::1] place_of_four
        const double[:, ::1] parts_of_four
        const double[:, :, ::1] cells_of_four
        # Worth of small groups, by the sizes of the segments and what else matters.
        long long[::1] shape
        long long[::1] shape_key
        double[:, ::1] of_shape

    cdef object make_room(self, set keys)
    cdef object take(self, int which, Py_ssize_t n_tables, Py_ssize_t length)
    cdef int add_table(self, tuple key) except -1
    cdef void extend(self, int t, double f_top, double g_top) noexcept nogil
    cdef void fill_pairs(self, int t, int size) noexcept nogil
    cdef void fill_four(self, int t, int shape, double* worth) noexcept nogil
    cdef void fill_small(
        self, int t, int levels, int n_segments, const int* sizes, int span,
        double* worth
    ) noexcept nogil


cdef inline double f_value(Worth worth, int t, double n) noexcept nogil:
    """Give f(n), for n > 0 or integral weights."""
    if worth.integral and n < worth.f_reach[t]:
        return worth.f[t, <int>n]
    if worth.bayes:
        return lgamma(n + worth.a[t]) - worth.log_gamma_a[t]
    return n * log(n)


cdef inline double g_value(Worth worth, int t, double n) noexcept nogil:
    """Give g(n), for n > 0 or integral weights."""
    if worth.integral and n < worth.g_reach[t]:
        return worth.g[t, <int>n]
    if worth.bayes:
        return worth.log_gamma_big_a[t] - lgamma(n + worth.big_a[t])
    return -n * log(n)


cdef inline Py_ssize_t place_of_pairs(Worth worth, int t, int size) noexcept nogil:
    """Give the place of f(n) + f(size - n), n = 0 to size; fill it if need be."""
    if not worth.pairs_filled[t, size]:
        worth.fill_pairs(t, size)
    return <Py_ssize_t>size * (size + 1) // 2


cdef inline double* table_of_shape(
    Worth worth, long long shape, long long key, bint* known
) noexcept nogil:
    """Give the place of a shape's table, and whether the table is there already."""
    cdef long long mixed = (shape ^ (shape >> 4) ^ (shape >> 9)) + 37 * key
    cdef int slot = <int>(mixed & (N_SHAPES - 1))
    known[0] = worth.shape[slot] == shape and worth.shape_key[slot] == key
    worth.shape[slot] = shape
    worth.shape_key[slot] = key
    return &worth.of_shape[slot, 0]
