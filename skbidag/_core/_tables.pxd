"""Views of the score tables that chain kernels walk on."""

from libc.stdint cimport int16_t


cdef enum:
    HAS_TABLE = 1
    IN_TABLE = 2


cdef struct NodeView:
    Py_ssize_t n_candidates
    const Py_ssize_t *candidates
    Py_ssize_t width
    Py_ssize_t base_column
    # the variable of each column, the number of variables where it has none
    const Py_ssize_t *columns
    # the same for loops over places, NULL if column j is variable j
    const Py_ssize_t *scattered
    const double *scores
    # its base column alone: in the table each entry is in another line of the cache
    const double *base_scores
    const double *ratios
    const double *log_sums
    const double *maxima


cdef class TableViews:
    cdef:
        Py_ssize_t n_nodes
        # those that are not in the background: all that walks move
        Py_ssize_t n_main
        Py_ssize_t *main
        unsigned char *in_background
        Py_ssize_t width  # of the widest table
        # places that kernels need: of all variables, and -1 for nobody's
        Py_ssize_t n_places
        NodeView *nodes
        # bits[i * n_nodes + j]: which bit of node i's mask stands for parent j,
        # -1 if j is not a candidate of i
        signed char *bits
        # the same for columns, one that holds nothing if j is no outsider of i; NULL
        # where column j is variable j in all tables
        int16_t *column_numbers
        # related[i * n_nodes + j] & IN_TABLE: j is a candidate of i, or an outsider
        # that matters, and & HAS_TABLE: i is one of j. NULL where that is so of most
        # pairs.
        unsigned char *related
        # the nodes that i is related to, either way, are those from first_relative[i]
        # to first_relative[i + 1] in `relatives`; NULL where `related` is
        Py_ssize_t *relatives
        Py_ssize_t *first_relative
        list arrays

    cdef object _number_columns(self, Py_ssize_t node)
    cdef Py_ssize_t _relate(self, tables, bint maximize) except -1
    cdef object _list_relatives(self, Py_ssize_t n_pairs)
    cdef const double *_matrix(self, object array, Py_ssize_t width) except? NULL
    cdef const double *_vector(self, object array) except? NULL

    cdef inline Py_ssize_t column_of(
        self, Py_ssize_t node, Py_ssize_t variable
    ) noexcept nogil:
        """The column of a node's table that stands for a variable."""
        if self.nodes[node].scattered == NULL:
            return variable
        return self.column_numbers[node * self.n_nodes + variable]

    cdef inline bint are_related(
        self, Py_ssize_t i, Py_ssize_t j, unsigned char how
    ) noexcept nogil:
        """Whether j is in the table of i (IN_TABLE), or i in that of j."""
        return self.related == NULL or self.related[i * self.n_nodes + j] & how
