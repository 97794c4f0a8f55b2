"""Grow-shrink trees: how nodes choose parents from those that stand before them."""

from cpython.pythread cimport PyThread_type_lock

from skbidag._core._set_scores cimport SetScores


cdef extern from *:
    """
    /* What one thread publishes, others read without a lock. */
    #define SKB_LOAD_ACQUIRE(place) __atomic_load_n(&(place), __ATOMIC_ACQUIRE)
    #define SKB_STORE_RELEASE(place, value) \\
        __atomic_store_n(&(place), (value), __ATOMIC_RELEASE)
    """
    int load_int "SKB_LOAD_ACQUIRE" (int place) noexcept nogil
    void store_int "SKB_STORE_RELEASE" (int place, int value) noexcept nogil
    Grown *load_set "SKB_LOAD_ACQUIRE" (Grown *place) noexcept nogil
    void store_set "SKB_STORE_RELEASE" (Grown *place, Grown *value) noexcept nogil


cdef struct Addition:
    double worth            # log score of the set with it
    Grown *leads_to         # that set, NULL if nobody has asked for it
    int variable


cdef struct Grown:
    # a set of parents, and the additions that pay, the best first
    double value            # its log score
    double shrunk_value     # and that of what shrinking leaves of it
    int n_parents
    int n_shrunk            # how many parents that are, -1 if nobody has shrunk it
    int n_additions
    int is_met              # whether a walk has met it in its turn
    int *parents            # ascending
    int *shrunk
    Addition *additions


cdef struct Tree:
    Grown *root
    Grown **table           # the sets by their parents, by open addressing
    Py_ssize_t room, n_sets, n_met
    Grown **replaced        # those that others stand for now
    Py_ssize_t n_replaced
    int *required
    int n_required
    PyThread_type_lock lock


cdef struct Looks:
    # the variables that a walk looked at
    unsigned char *marked
    int *variables
    int n


cdef struct Walker:
    # what a thread needs to walk
    unsigned char *stands   # the variables that a node may choose from
    bint ahead              # whether it is not its turn
    bint is_sure            # whether, if so, it has met nothing that is not settled
    Looks looks
    double *scores
    Py_ssize_t *parents
    Addition *additions


cdef class GrowShrinkTrees:
    cdef:
        SetScores scores
        double least_gain
        readonly Py_ssize_t n
        Py_ssize_t max_parents
        const unsigned char[:, ::1] forbidden   # [node, parent]
        Tree *trees

    cdef object plant(self, Py_ssize_t node, score, required, Walker *walker)
    cdef Py_ssize_t n_met(self) noexcept nogil
    cdef Walker *new_walker(self) except NULL
    cdef void free_walker(self, Walker *walker) noexcept nogil
    cdef Grown *grow(
        self, Py_ssize_t node, Walker *walker, Looks *looks
    ) except NULL nogil
    cdef Grown *settle(
        self, Tree *tree, Py_ssize_t node, const Grown *before, Addition *addition,
        Walker *walker,
    ) except NULL nogil
    cdef Grown *make(
        self, Py_ssize_t node, const Py_ssize_t *parents, Py_ssize_t size,
        double value, Walker *walker,
    ) except NULL nogil
    cdef int shrink(
        self, Tree *tree, Py_ssize_t node, Grown *grown, Walker *walker
    ) except -1 nogil
    cdef double value_at(
        self, Py_ssize_t node, const Grown *grown, const unsigned char *stands
    ) noexcept nogil


cdef Looks new_looks(Py_ssize_t n) except *
cdef void free_looks(Looks *looks) noexcept nogil
