from libc.stdint cimport int32_t, int64_t


cdef class Surroundings:
    cdef:
        readonly Py_ssize_t n, n_dags, n_surroundings
        const int32_t[:, ::1] number
        const int32_t[::1] owner_first, family_first, families
        const int32_t[::1] dag_first, dags, linking_first, linking


cdef class AlikeDags:
    cdef:
        Surroundings around
        Py_ssize_t n_cells, n_clusters, n_groups
        int32_t[::1] place, cells
        int32_t[::1] near_first, near_end, near
        int32_t[:, ::1] cluster
        int32_t[::1] cluster_dag, cluster_first, cluster_cells
        # where the present variable's groups are, of those of all that are kept
        int32_t *group_first
        int32_t *order
        int32_t[:, ::1] group_firsts, orders
        int32_t[::1] n_groups_of
        bint keeps
        int32_t[::1] slots, queue, buckets, counts, moved, starts
        int64_t[::1] seen
        int64_t now
    cdef bint keep(self, Py_ssize_t most)
    cdef void look_at(self, const unsigned char *missing) noexcept nogil
    cdef bint group(self, Py_ssize_t variable) noexcept nogil
    cdef void divide(self, Py_ssize_t variable) noexcept nogil
    cdef void find_near(self) noexcept nogil
    cdef void find_clusters(self) noexcept nogil
    cdef void fill_in(self, Py_ssize_t i, Py_ssize_t k, int32_t c) noexcept nogil
    cdef bint is_cluster(
        self, int32_t c, Py_ssize_t d, Py_ssize_t length
    ) noexcept nogil
    cdef int32_t cluster_of(self, Py_ssize_t i, Py_ssize_t d) noexcept nogil
    cdef void split(self, Py_ssize_t begin, Py_ssize_t i) noexcept nogil
