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


cdef struct Addition:
    double worth            # log score of the set with it
    int variable


cdef union Beyond:
    double worth            # log score of the set with one parent more
    Grown *set              # that set, once somebody has asked for it


cdef struct Step:
    Beyond beyond
    int variable
    int is_known            # whether that is the set


cdef struct Grown:
    # A set of parents. What walks read comes first, and the steps follow it at once,
    # of the additions that pay, the best first: a walk waits for memory above all.
    int n_steps
    int n_shrunk            # how many parents shrinking leaves, -1 if nobody has shrunk
    int is_met              # whether a walk has met it in its turn
    int n_parents
    double shrunk_value     # log score of what shrinking leaves
    double value            # its own
    # at the end stand the parents, and those that shrinking leaves


cdef struct Tree:
    Grown *root
    Grown **table           # the sets by their parents, by open addressing
    Py_ssize_t room, n_sets, n_met
    int *required
    int n_required
    PyThread_type_lock lock


cdef struct Chunk:
    # memory of many sets, which is given back with the trees
    Chunk *before
    Py_ssize_t used, size


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
    Looks looks             # for whoever wants to know
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
        Chunk *chunk
        PyThread_type_lock chunk_lock

    cdef object plant(self, Py_ssize_t node, score, required, Walker *walker)
    cdef int root(self, Py_ssize_t node, double value, Walker *walker) except -1 nogil
    cdef int forget(self, Walker *walker) except -1 nogil
    cdef Py_ssize_t n_met(self) noexcept nogil
    cdef Walker *new_walker(self) except NULL
    cdef void free_walker(self, Walker *walker) noexcept nogil
    cdef Grown *grow(
        self, Py_ssize_t node, Walker *walker, Looks *looks
    ) except NULL nogil
    cdef Grown *settle(
        self, Tree *tree, Py_ssize_t node, Grown *before, Py_ssize_t chosen,
        Walker *walker,
    ) except NULL nogil
    cdef Grown *make(
        self, Py_ssize_t node, const Py_ssize_t *parents, Py_ssize_t size,
        double value, Walker *walker,
    ) except NULL nogil
    cdef void *memory_for(self, Py_ssize_t size) except NULL nogil
    cdef int shrink(
        self, Tree *tree, Py_ssize_t node, Grown *grown, Walker *walker
    ) except -1 nogil
    cdef double value_at(
        self, Py_ssize_t node, const Grown *grown, const unsigned char *stands
    ) noexcept nogil


cdef inline Step *steps_of(const Grown *grown) noexcept nogil:
    return <Step *> (grown + 1)


cdef inline int *parents_of(const Grown *grown) noexcept nogil:
    """The parents, ascending."""
    return <int *> (steps_of(grown) + grown.n_steps)


cdef inline int *shrunk_of(const Grown *grown) noexcept nogil:
    """The parents that shrinking leaves."""
    return parents_of(grown) + grown.n_parents


cdef Looks new_looks(Py_ssize_t n) except *
cdef void free_looks(Looks *looks) noexcept nogil
