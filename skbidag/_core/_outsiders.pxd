"""Declarations of `_outsiders.pyx`."""

from cython cimport final

from skbidag._core._worth cimport Worth


cdef struct Groups:
    # Rows in groups, and within a group in segments.
    const int* rows
    int n_groups
    const int* start          # of each group, and the end of the last one
    const int* first_segment  # of each group, and the number of segments
    const int* segment_end


@final
cdef class Outsiders:
    cdef:
        readonly object variables
        int n_classes
        const int[::1] columns        # the variables, class by class
        const int[::1] places         # where they stand in a table
        const int[::1] class_start
        readonly object class_levels
        const int[::1] levels         # of each class
        # The codes, row by row, and how many levels each has; of each class where it
        # begins in a row, and its width, a multiple of LANES or zero.
        const unsigned char[:, ::1] bytes
        const unsigned char[::1] lane_levels
        const Py_ssize_t[::1] offset
        const Py_ssize_t[::1] width


@final
cdef class Tally:
    cdef:
        Worth worth
        const int[:, ::1] codes
        const double[::1] weights
        Outsiders outsiders
        double[::1] scores            # of the set plus each outsider, class by class
        unsigned char[::1] counters   # of equal rows in groups of two and three
        # What groups of four rows are worth, by class and shape, and a bit for each
        # shape of which that is known.
        double[:, :, ::1] worth_of_four
        int shapes_of_four
        # How the group at hand is looked up, class by class, and what its next count
        # is multiplied with in the number of a small group.
        int[::1] way
        int[::1] step
        # Counts of the outsiders side by side, in bytes (of a segment and of a group,
        # level by level, and numbers of small groups) and in integers.
        unsigned char[::1] block
        unsigned char[::1] in_segment
        unsigned char[::1] in_group
        unsigned char[::1] number
        int[::1] count
        int[::1] total
        # Weights of one outsider's levels.
        double[::1] cell
        double[::1] marginal
        # The class at hand, and its part of the scores.
        double* score
        const int* columns
        const unsigned char* dense
        const unsigned char* lane_levels
        Py_ssize_t stride
        Py_ssize_t width
        int n_outsiders
        int levels
        int t

    cdef object prepare(self, Outsiders outsiders)
    cdef void score_outsiders(
        self, const Groups* groups, const int* tables, const double* singles
    ) noexcept nogil
    cdef void begin_class(self, int c, int t) noexcept nogil
    cdef void add_group(self, const Groups* groups, int group) noexcept nogil
    cdef void count_few(self, const Groups* groups, const int* tables) noexcept nogil
    cdef void settle(self, int shape, int n_groups, const int* tables) noexcept nogil
    cdef void count_four(
        self, const Groups* groups, int group, const int* tables
    ) noexcept nogil
    cdef void count_binary(self, const Groups* groups, int group) noexcept nogil
    cdef void count_middle(
        self, const Groups* groups, int group, const int* tables
    ) noexcept nogil
    cdef int choose_ways(
        self, const Groups* groups, int group, const int* tables
    ) noexcept nogil
    cdef void count_bytes(
        self, const int* rows, int n_rows, int n_levels, bint zeros
    ) noexcept nogil
    cdef void add_segment(self, int c, int n_rows) noexcept nogil
    cdef void add_whole(
        self, const Groups* groups, int group, int c
    ) noexcept nogil
    cdef void add_bytes_of_cells(
        self, const unsigned char* count, int most
    ) noexcept nogil
    cdef void add_bytes_of_configurations(
        self, const unsigned char* count, int most
    ) noexcept nogil
    cdef void count_dense(self, const Groups* groups, int group) noexcept nogil
    cdef void count_levels(self, const int* rows, int n_rows) noexcept nogil
    cdef void add_cells(self, const int* count, int most) noexcept nogil
    cdef void add_configurations(self, const int* count, int most) noexcept nogil
    cdef double count_sparse(
        self, const Groups* groups, int group, const int* x
    ) noexcept nogil
