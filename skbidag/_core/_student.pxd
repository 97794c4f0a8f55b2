from libc.stdint cimport int32_t


cdef class Regressions:
    cdef:
        readonly double offset, df
        readonly Py_ssize_t n_sets, most_members
        Py_ssize_t n
        const int32_t[::1] nodes, first, members
        double[::1] numbers, precision, whitened
        double[::1] half_df, constant
        Py_ssize_t[::1] start
        double[:, ::1] location, rest
    cdef void factorize(
        self, const double[:, ::1] scatter, const double[::1] floor, Py_ssize_t f,
        Py_ssize_t p,
    ) noexcept nogil
    cdef void regress(self, const double *z) noexcept nogil
    cdef double log_density_of(
        self, const double *row, Py_ssize_t f, double *whitened
    ) noexcept nogil
