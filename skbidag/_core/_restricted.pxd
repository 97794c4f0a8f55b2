"""Sums over the parent sets that a partition permits, and draws from them."""

cimport cython
from libc.stdint cimport int64_t

from skbidag._core._parents cimport Lot, ParentSet
from skbidag._core._random cimport skb_bitgen
from skbidag._core._tables cimport NodeView, TableViews


cdef struct RememberedRow:
    Py_ssize_t node  # -1 if there is none
    int64_t allowed
    int64_t needed
    double log_sum  # of the base column
    double *ratios


@cython.final
cdef class RestrictedSums:
    cdef:
        TableViews views
        Py_ssize_t n
        Py_ssize_t width
        # the masks of each node, as last found
        int64_t *allowed
        int64_t *needed
        # what each node has as a root, with parents in the background; and places
        # that permit these, and no others
        double *root_score
        double *background
        Py_ssize_t n_rows
        RememberedRow *rows
        double *ratios
        double *top
        int64_t counts[4]

    cdef bint look_up(
        self, const Py_ssize_t *nodes, Py_ssize_t n_nodes, const double *place,
        double near, double *scores
    ) noexcept nogil
    cdef void draw(
        self, const Py_ssize_t *nodes, Py_ssize_t n_nodes, const double *place,
        double near, const double *scores, ParentSet *drawn, skb_bitgen *bitgen
    ) noexcept nogil
    cdef double look_up_free(
        self, Py_ssize_t node, const double *place
    ) noexcept nogil
    cdef ParentSet draw_free(
        self, Py_ssize_t node, const double *place, double log_total,
        skb_bitgen *bitgen
    ) noexcept nogil

    # the two that each look-up calls: a swap took 7 % longer when they were calls
    cdef inline void find_masks(
        self, Py_ssize_t node, const double *place, double near
    ) noexcept nogil
    cdef inline double row_sums(
        self, const NodeView *view, int64_t mask, const double *place, double near,
        double *near_sum, double *far_sum
    ) noexcept nogil
    cdef double look_up_one(
        self, Py_ssize_t node, const double *place, double near
    ) noexcept nogil
    cdef double look_up_exactly(
        self, Py_ssize_t node, const double *place, double near, double total
    ) noexcept nogil
    cdef const RememberedRow *needed_row(self, Py_ssize_t node) noexcept nogil
    cdef void sum_needed(self, const NodeView *view, RememberedRow *row) noexcept nogil
    cdef double sum_near_outsiders(
        self, Py_ssize_t node, const double *place, double near
    ) noexcept nogil
    cdef bint is_outsider(self, Py_ssize_t node, Py_ssize_t column) noexcept nogil
    cdef double sum_column(self, Py_ssize_t node, Py_ssize_t column) noexcept nogil
    cdef ParentSet draw_one(
        self, Py_ssize_t node, const double *place, double near, double log_total,
        skb_bitgen *bitgen
    ) noexcept nogil
    cdef bint falls_on_near(
        self, Lot *lot, Py_ssize_t node, const double *place, double near,
        double log_total
    ) noexcept nogil
    cdef bint falls_on_needed(
        self, Lot *lot, Py_ssize_t node, const double *place, double near,
        double log_total
    ) noexcept nogil
