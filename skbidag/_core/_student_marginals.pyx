# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False
"""Log densities of what is observed in a row, where families are Student t.

In a DAG they are a product: of the families without an unobserved cell, and of an
integral for each cluster of unobserved cells (``_alike.pyx``), of the product of the
families they are in.

An unobserved cell without children, or none but such as have been left out already,
leaves the integral with its own family, exactly. What remains falls into parts that
have no family in common. Each is taken for a part of a DAG with all edges among the
variables U of its families. Let W be those that are not children in these: all of them
are observed, and

    D(U) = offset + z_W' T_WW^-1 z_W + the families' squared residuals

The product is in proportion to D(U)^(-(df + |U|) / 2), and D(U) is a quadratic in the m
unobserved cells, with its least value at their expectations and a precision matrix L as
in ``_normal_mixture.pyx``. So the integral is the product at the expectations times

    Gamma((df + |U| - m) / 2) / Gamma((df + |U|) / 2)
        (pi D(U))^(m / 2) det(L)^(-1 / 2)

That is exact where the edges are there, and otherwise up to terms of the order 1 / df.
Where children are learned from different rows, there is no such D, and L is that of the
normal distributions about the regressions: the factor is (2 pi)^(m / 2) there, beside
det(L)^(-1 / 2).
"""

import numpy as np
from libc.math cimport lgamma, sqrt
from libc.stdint cimport int32_t

from skbidag._core._normal_mixture cimport NormalMixture, Rows
from skbidag._core._vector cimport skb_log

cdef double PI = 3.141592653589793238463


def log_densities(
    NormalMixture mixture, const double[:, ::1] scatter, const double[::1] floor,
    const double[:, ::1] z, const unsigned char[:, ::1] missing,
    const double[:, ::1] terms, double[::1] out,
):
    """Log densities of the observed cells of rows, averaged over DAGs.

    Parameters
    ----------
    mixture : NormalMixture
        The DAGs, with Student t densities.
    scatter : ndarray of shape (n, n)
        The scatter matrix T of all families, or an empty one if they have several.
    floor : ndarray of shape (n,)
        The least variances in it.
    z, missing, terms : ndarrays
        As ``NormalMixture.expect`` takes them.
    out : ndarray of shape (n_rows,)
        Gets the log densities.
    """
    most = np.asarray(missing).sum(axis=1, dtype=np.intp).max(initial=0)
    Marginals(mixture, most, scatter, floor).fill(z, missing, terms, out)


cdef class Marginals(Rows):
    """What is worked out of one row after the other.

    Parameters
    ----------
    mixture : NormalMixture
        Of the DAGs.
    most_cells : int
        How many cells of a row are unobserved at most.
    scatter, floor : ndarrays
        As `log_densities` takes them.
    """

    cdef:
        const double[:, ::1] scatter
        const double[::1] floor
        bint is_one
        # of a cluster: the families that are not done with; of a variable, how many of
        # these it is in and whether it is a child of one
        int32_t[::1] waiting, n_with
        unsigned char[::1] is_child
        # of a part: its cells, its variables without families, their scatter's factor
        int32_t[::1] part, outer
        double[::1] chol, outer_z

    def __init__(
        self, NormalMixture mixture, Py_ssize_t most_cells,
        const double[:, ::1] scatter, const double[::1] floor,
    ):
        cdef Py_ssize_t n = mixture.around.n
        super().__init__(mixture, most_cells)
        self.scatter, self.floor = scatter, floor
        self.is_one = scatter.shape[0] > 0
        self.waiting = np.zeros(mixture.n_families, dtype=np.int32)
        self.n_with = np.zeros(n, dtype=np.int32)
        self.is_child = np.zeros(n, dtype=np.uint8)
        self.part = np.zeros(n, dtype=np.int32)
        self.outer = np.zeros(n, dtype=np.int32)
        self.chol = np.zeros(n * (n + 1) // 2)
        self.outer_z = np.zeros(2 * n)

    cdef void fill(
        self, const double[:, ::1] z, const unsigned char[:, ::1] missing,
        const double[:, ::1] terms, double[::1] out,
    ) noexcept:
        cdef Py_ssize_t start, r, c, n_rows = z.shape[0]
        with nogil:
            for start in range(0, n_rows, 16):
                self.add_tile(z, missing, terms, start)
                for r in range(start, min(n_rows, start + 16)):
                    self.look_at(z, missing, r)
                    for c in range(self.alike.n_clusters):
                        self.log_density[c] = self.log_integral(
                            c, &self.residuals[r - start, 0]
                        )
                    self.add_clusters(r - start)
                    out[r] = self.log_mean_weight()

    cdef void add_clusters(self, Py_ssize_t r) noexcept nogil:
        """Log densities of what is observed in each DAG."""
        cdef Py_ssize_t d, i
        cdef int32_t c
        for d in range(self.n_dags):
            self.weight[d] = self.sums[d, r]
        for i in range(self.alike.n_cells):
            for d in range(self.n_dags):
                c = self.alike.cluster[i, d]
                # what is linked is integrated out together, and once
                if self.alike.cluster_cells[self.alike.cluster_first[c]] == i:
                    self.weight[d] += self.log_density[c]

    cdef double log_integral(
        self, Py_ssize_t c, const double *residuals
    ) noexcept nogil:
        """Log integral over a cluster's cells."""
        cdef Py_ssize_t e, n_waiting
        cdef double total = 0.0
        n_waiting = self.leave_out_barren(c)
        for e in range(n_waiting):
            if self.waiting[e] >= 0:
                total += self.log_integral_of_part(e, n_waiting, residuals)
        return total

    cdef Py_ssize_t leave_out_barren(self, Py_ssize_t c) noexcept nogil:
        """The families of a cluster, -1 for those that integrate to one.

        Returns
        -------
        n_waiting : int
            How many there are, with the latter.
        """
        cdef:
            Py_ssize_t e, f, i, n_waiting, v
            Py_ssize_t low = self.alike.cluster_first[c]
            Py_ssize_t high = self.alike.cluster_first[c + 1]
            bint go_on = True
        n_waiting = self.find_touched(c)
        for i in range(low, high):
            v = self.alike.cells[self.alike.cluster_cells[i]]
            self.n_with[v] = 0
            self.position[v] = -1
        for e in range(n_waiting):
            self.waiting[e] = self.touched[e]
            self.count(self.touched[e], 1)
        while go_on:
            go_on = False
            for e in range(n_waiting):
                f = self.waiting[e]
                if f < 0:
                    continue
                v = self.of.densities.nodes[f]
                if self.alike.place[v] >= 0 and self.n_with[v] == 1:
                    self.count(f, -1)
                    self.waiting[e] = -1
                    go_on = True
        return n_waiting

    cdef void count(self, Py_ssize_t f, int32_t by) noexcept nogil:
        """Change the numbers of families that a family's unobserved cells are in."""
        cdef Py_ssize_t t, v
        for t in range(self.of.first[f], self.of.first[f + 1]):
            v = self.of.members[t]
            if v < self.of.around.n and self.alike.place[v] >= 0:
                self.n_with[v] += by

    cdef double log_integral_of_part(
        self, Py_ssize_t begin, Py_ssize_t n_waiting, const double *residuals
    ) noexcept nogil:
        """Log integral over the cells that a family is linked with."""
        cdef:
            Py_ssize_t e, f, i, n_touched = 1, size = 0, t, v
            double log_det, residual, square = 0.0, total = 0.0
        self.touched[0] = self.waiting[begin]
        self.waiting[begin] = -1
        e = 0
        while e < n_touched:
            f = self.touched[e]
            for t in range(self.of.first[f], self.of.first[f + 1]):
                v = self.of.members[t]
                if v >= self.of.around.n or self.alike.place[v] < 0:
                    continue
                if self.position[v] < 0:
                    self.position[v] = <int32_t> size
                    self.part[size] = <int32_t> v
                    size += 1
                    n_touched = self.take_families(v, n_touched, n_waiting)
            e += 1
        log_det = self.factorize(size, n_touched, &self.spare[0])
        self.solve(residuals, size, n_touched, &self.spare[0], &self.fills[0])
        for i in range(size):
            self.row[self.part[i]] = self.fills[i]
        for e in range(n_touched):
            f = self.touched[e]
            total += self.of.densities.log_density_of(
                &self.row[0], f, &self.whitened[0]
            )
            residual = residuals[f]
            for t in range(self.of.first[f], self.of.first[f + 1]):
                v = self.of.members[t]
                if v < self.of.around.n and self.alike.place[v] >= 0:
                    residual += self.of.roots[t] * self.row[v]
            square += residual * residual
        return total - 0.5 * log_det + self.log_volume(n_touched, size, square)

    cdef Py_ssize_t take_families(
        self, Py_ssize_t v, Py_ssize_t n_touched, Py_ssize_t n_waiting
    ) noexcept nogil:
        """Those with a cell join the present part; how many it has then."""
        cdef Py_ssize_t e, f, t
        for e in range(n_waiting):
            f = self.waiting[e]
            if f < 0:
                continue
            for t in range(self.of.first[f], self.of.first[f + 1]):
                if self.of.members[t] == v:
                    self.touched[n_touched] = <int32_t> f
                    n_touched += 1
                    self.waiting[e] = -1
                    break
        return n_touched

    cdef double log_volume(
        self, Py_ssize_t n_touched, Py_ssize_t size, double square
    ) noexcept nogil:
        """Log of the factor beside det(L), of a part with so many cells."""
        cdef Py_ssize_t e, f, t, v, n_outer = 0
        cdef double half_df
        if not self.is_one:
            return 0.5 * size * skb_log(2.0 * PI)
        for e in range(n_touched):
            self.is_child[self.of.densities.nodes[self.touched[e]]] = 1
        for e in range(n_touched):
            f = self.touched[e]
            for t in range(self.of.first[f], self.of.first[f + 1]):
                v = self.of.members[t]
                if not self.is_child[v]:
                    self.is_child[v] = 1  # once is enough
                    self.outer[n_outer] = <int32_t> v
                    n_outer += 1
        for e in range(n_touched):
            self.is_child[self.of.densities.nodes[self.touched[e]]] = 0
        for e in range(n_outer):
            self.is_child[self.outer[e]] = 0
        square += self.of.densities.offset + self.distance(n_outer)
        half_df = 0.5 * (self.of.densities.df + n_outer + n_touched)
        return (
            0.5 * size * skb_log(PI * square)
            + lgamma(half_df - 0.5 * size) - lgamma(half_df)
        )

    cdef double distance(self, Py_ssize_t n_outer) noexcept nogil:
        """The outer variables' z_W' T_WW^-1 z_W."""
        cdef:
            Py_ssize_t i, j, k
            double value, pivot, *row = &self.chol[0], *earlier
        for i in range(n_outer):
            pivot = self.scatter[self.outer[i], self.outer[i]]
            earlier = &self.chol[0]
            for j in range(i):
                value = self.scatter[self.outer[i], self.outer[j]]
                for k in range(j):
                    value -= row[k] * earlier[k]
                row[j] = value * earlier[j]
                pivot -= row[j] * row[j]
                earlier += j + 1
            row[i] = 1.0 / sqrt(max(pivot, self.floor[self.outer[i]]))
            row += i + 1
            self.outer_z[i] = self.row[self.outer[i]]
        return self.whiten(
            &self.chol[0], n_outer, &self.outer_z[0], &self.outer_z[self.of.around.n]
        )
