"""What compiled searches ask of a score: sets with one parent more, or one less."""


cdef class SetScores:
    cdef object score
    cdef readonly Py_ssize_t n

    cdef int add_each(
        self, Py_ssize_t node, const Py_ssize_t *parents, Py_ssize_t size,
        double *scores,
    ) except -1 nogil
    cdef int remove_each(
        self, Py_ssize_t node, const Py_ssize_t *parents, Py_ssize_t size,
        double *scores,
    ) except -1 nogil
