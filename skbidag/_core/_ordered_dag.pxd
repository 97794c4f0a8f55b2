"""A DAG and an order beside it, and how probable that order is."""

from libc.stdint cimport uint64_t

from skbidag._core._order_state cimport OrderState
from skbidag._core._parents cimport ParentSet
from skbidag._core._random cimport skb_bitgen
from skbidag._core._restricted cimport RestrictedSums
from skbidag._core._reversal cimport EdgeReversal


cdef class OrderedDAG(OrderState):
    cdef:
        RestrictedSums sums
        EdgeReversal reversal
        object bit_generator
        skb_bitgen *bitgen
        # the DAG, and the children of each node as bits, `n_words` of 64 for a node
        ParentSet *dag
        uint64_t *children
        Py_ssize_t n_words
        # the place of each node's nearest parent, and by place how many nodes were
        # available when it was filled
        Py_ssize_t *nearest
        Py_ssize_t *available
        Py_ssize_t *work
        # ln k, and ln (k + 1) - ln k
        double *log_of
        double *log_step
        # what look-ups of one node take and give
        double *side
        double *log_sum

    cdef object take_dag(self, object adjacency)
    cdef object ordered_dag(self)
    cdef object restore_ordered_dag(self, object state)
    cdef void reorder(self) noexcept nogil
    cdef double arrange(self) noexcept nogil
    cdef double log_probability(self) noexcept nogil
    cdef double move_end(self, Py_ssize_t old, Py_ssize_t new) noexcept nogil
    cdef Py_ssize_t nearest_of(
        self, Py_ssize_t node, ParentSet parents
    ) noexcept nogil
    cdef bint has_parent_between(
        self, Py_ssize_t node, double low, double high
    ) noexcept nogil
    cdef void turn_marks(self, Py_ssize_t node, ParentSet parents) noexcept nogil
    cdef void set_parents(self, Py_ssize_t node, ParentSet parents) noexcept nogil
    cdef bint draw_with(
        self, Py_ssize_t node, double low, double high, ParentSet *drawn
    ) noexcept nogil
