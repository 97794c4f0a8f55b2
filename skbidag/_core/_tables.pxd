"""Views of the score tables that chain kernels walk on."""


cdef struct NodeView:
    Py_ssize_t n_candidates
    const Py_ssize_t *candidates
    Py_ssize_t base_column
    const double *scores
    # its base column alone: in the table each entry is in another line of the cache
    const double *base_scores
    const double *ratios
    const double *log_sums
    const double *maxima


cdef class TableViews:
    cdef:
        Py_ssize_t n_nodes
        Py_ssize_t width
        NodeView *nodes
        # bits[i * n_nodes + j]: which bit of node i's mask stands for parent j,
        # -1 if j is not a candidate of i
        signed char *bits
        list arrays

    cdef const double *_matrix(self, object array) except? NULL
    cdef const double *_vector(self, object array) except? NULL
