"""A DAG of the tables, and the reversal of one of its edges."""

cimport cython
from libc.stdint cimport int64_t

from skbidag._core._parents cimport ParentSet
from skbidag._core._random cimport skb_bitgen
from skbidag._core._restricted cimport RestrictedSums
from skbidag._core._tables cimport TableViews


@cython.final
cdef class EdgeReversal:
    cdef:
        TableViews views
        RestrictedSums sums
        Py_ssize_t n
        # the DAG, and how many edges lead to each node at most
        ParentSet *dag
        Py_ssize_t *depth
        # who descends from either end, the place and the score of each node
        signed char *of_parent
        signed char *of_child
        double *place
        double *score
        # of the candidates of each node, those that are not in the background
        int64_t *main_parents

    cdef double propose(
        self, const Py_ssize_t *order, const Py_ssize_t *position, skb_bitgen *bitgen
    ) noexcept nogil
    cdef Py_ssize_t find_depths(self, const Py_ssize_t *order) noexcept nogil

    cdef Py_ssize_t n_parents(self, Py_ssize_t node) noexcept nogil
    cdef Py_ssize_t parent_of(self, Py_ssize_t node, Py_ssize_t index) noexcept nogil
    cdef bint has_parent(
        self, Py_ssize_t node, const signed char *among
    ) noexcept nogil
    cdef void find_descendants(
        self, Py_ssize_t node, Py_ssize_t other, const Py_ssize_t *order,
        Py_ssize_t position, signed char *marks
    ) noexcept nogil
    cdef double look_up_with(
        self, Py_ssize_t node, Py_ssize_t parent, const signed char *barred
    ) noexcept nogil
    cdef double look_up_without_either(self, Py_ssize_t node) noexcept nogil
