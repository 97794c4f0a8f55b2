"""An order of the nodes, and how each of them stands in it."""

from libc.stdint cimport int64_t, uint64_t

from skbidag._core._parents cimport ParentSet
from skbidag._core._random cimport skb_bitgen
from skbidag._core._tables cimport TableViews


cdef enum:
    NOBODY = -1  # no node passes
    REFRESH = 8192  # steps between two refreshments of all sums


cdef struct Standing:
    int64_t mask  # the node's candidates to its right
    double score  # its log score
    # Sampling with extra parents: the score over that of the mask without them, in
    # logarithms if the row is; and the largest it was since it was last added up.
    double excess
    double peak
    bint logs  # whether it is; the row says so, which is far from what else is read


cdef class OrderState:
    cdef:
        TableViews views
        Py_ssize_t n
        Py_ssize_t n_main  # places that moves change: the first ones
        bint maximize
        # `place` is the position of each node, with -1 in the padding
        Py_ssize_t[::1] order_
        double[::1] place
        Standing *standing
        double current
        # what a swap would lead to, by place
        Standing *new
        # A node that is relocated: whom it may pass with an effect, by place, and what
        # these have on the side they are not on now (`new`); the stretches between
        # them with their first places, the node's standing there and the order's score.
        Py_ssize_t n_passed
        Py_ssize_t n_left  # of these, to the left of where the node stands
        Py_ssize_t[::1] passed
        Py_ssize_t[::1] stretch_first
        Standing *stretch
        double[::1] stretch_total
        double[::1] weight
        Standing *kept_standing  # to go back to
        uint64_t[::1] marked  # a bit for each place, all 0 between two calls

    cdef object take_order(self, object order)
    cdef void stand_anew(self) noexcept nogil
    cdef object standings(self)
    cdef object restore_standings(self, object state)

    cdef inline Standing look_up(
        self, Py_ssize_t node, int64_t mask, double limit
    ) noexcept nogil
    cdef inline Standing pass_by(
        self, Py_ssize_t node, const Standing *present, Py_ssize_t gained,
        Py_ssize_t lost, double limit
    ) noexcept nogil
    cdef inline int64_t mask_from(
        self, Py_ssize_t node, double limit
    ) noexcept nogil
    cdef inline int64_t with_parent(
        self, int64_t mask, Py_ssize_t node, Py_ssize_t parent
    ) noexcept nogil
    cdef inline int64_t without_parent(
        self, int64_t mask, Py_ssize_t node, Py_ssize_t parent
    ) noexcept nogil
    cdef double total(self) noexcept nogil
    cdef void look_up_all(self) noexcept nogil
    cdef void refresh(self) noexcept nogil

    cdef double propose_swap(self, Py_ssize_t p, Py_ssize_t q) noexcept nogil
    cdef void apply_swap(
        self, Py_ssize_t p, Py_ssize_t q, double change
    ) noexcept nogil
    cdef void propose_relocation(self, Py_ssize_t node) noexcept nogil
    cdef void fetch_rows(self, Py_ssize_t node) noexcept nogil
    cdef void list_passed(self, Py_ssize_t node) noexcept nogil
    cdef Py_ssize_t draw_slot(
        self, double power, double top, Py_ssize_t otherwise, skb_bitgen *bitgen
    ) noexcept nogil
    cdef Py_ssize_t stretch_of(self, Py_ssize_t slot) noexcept nogil
    cdef void apply_relocation(self, Py_ssize_t node, Py_ssize_t slot) noexcept nogil
    cdef ParentSet draw_parents(
        self, Py_ssize_t node, ParentSet present, skb_bitgen *bitgen
    ) noexcept nogil
