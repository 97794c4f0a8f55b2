from libc.stdint cimport int32_t

from skbidag._core._alike cimport AlikeDags, Surroundings
from skbidag._core._student cimport Regressions


cdef class NormalMixture:
    cdef:
        const int32_t[:, ::1] of_dag
        Surroundings around
        const int32_t[::1] first, members
        const double[::1] roots, log_shares
        Regressions densities
        Py_ssize_t n_families, most_kept
        # of each surrounding's families the owner's root; the owner's precision
        double[::1] own_roots, precision


cdef class Rows:
    cdef:
        NormalMixture of
        AlikeDags alike
        Py_ssize_t n_dags, width
        # whether the row before lacks other cells
        bint is_first
        # of 16 rows: of families, of DAGs
        double[:, ::1] residuals, terms, squares, sums, square_sums
        # of a row: its values; of clusters
        double[::1] row, fills, log_density, square, mass, factors, spare
        double[::1] log_dets
        Py_ssize_t[::1] factor_start
        Py_ssize_t n_kept
        # of a cluster: its families, the places of its cells
        int32_t[::1] touched, position
        int32_t[::1] seen
        double[::1] pull, across, whitened
        # of DAGs, of groups, and of DAGs by groups
        double[::1] weight, quadratic, log_quadratic, without
        double[::1] expected, explained, values, rest
        # what unobserved cells leave of the precision, its logarithm; see AlikeDags
        double[:, ::1] lefts, half_log_lefts
        double *left
        double *half_log_left
    cdef void expect(
        self, const double[:, ::1] z, const unsigned char[:, ::1] missing,
        const double[:, ::1] terms, double[:, ::1] out,
    ) noexcept
    cdef void log_densities(
        self, const double[:, ::1] z, const unsigned char[:, ::1] missing,
        const double[:, ::1] terms, double[::1] out,
    ) noexcept
    cdef void keep(self, const unsigned char[:, ::1] missing)
    cdef void look_at(
        self, const double[:, ::1] z, const unsigned char[:, ::1] missing, Py_ssize_t r
    ) noexcept nogil
    cdef void add_tile(
        self, const double[:, ::1] z, const unsigned char[:, ::1] missing,
        const double[:, ::1] terms, Py_ssize_t start,
    ) noexcept nogil
    cdef void add_row(
        self, const double *z, const unsigned char *missing, Py_ssize_t r
    ) noexcept nogil
    cdef void add_terms(self, const double[:, ::1] terms, Py_ssize_t r) noexcept nogil
    cdef void leave_out(
        self, const unsigned char *missing, Py_ssize_t r
    ) noexcept nogil
    cdef void settle_clusters(self, const double *residuals) noexcept nogil
    cdef void settle_cluster(
        self, Py_ssize_t c, const double *residuals
    ) noexcept nogil
    cdef Py_ssize_t find_touched(self, Py_ssize_t c) noexcept nogil
    cdef double factorize(
        self, Py_ssize_t size, Py_ssize_t n_touched, double *factor
    ) noexcept nogil
    cdef void solve(
        self, const double *residuals, Py_ssize_t size, Py_ssize_t n_touched,
        const double *factor, double *fills,
    ) noexcept nogil
    cdef double whiten(
        self, const double *factor, Py_ssize_t size, const double *x, double *out
    ) noexcept nogil
    cdef void weigh_dags(self, Py_ssize_t r) noexcept nogil
    cdef double half_df(self) noexcept nogil
    cdef double share_dags(self) noexcept nogil
    cdef double log_mean_weight(self) noexcept nogil
    cdef void average_cells(self, double *out) noexcept nogil
    cdef void settle_groups(
        self, Py_ssize_t v, const double *residuals
    ) noexcept nogil
    cdef void fetch(self, Py_ssize_t k, Py_ssize_t d) noexcept nogil
    cdef double take_across(self, Py_ssize_t k, Py_ssize_t d) noexcept nogil
    cdef Py_ssize_t place_in(self, Py_ssize_t i, Py_ssize_t low) noexcept nogil
    cdef const double *factor_of(self, Py_ssize_t c) noexcept nogil
    cdef double average_groups(self) noexcept nogil
