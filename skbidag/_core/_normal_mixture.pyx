# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False
"""Rows with unobserved cells, each DAG a normal distribution.

A DAG has the precision matrix L = R' R, of whose root R each family is a row, with a
residual r = (R z) in a row z. With zeros at the unobserved cells M of a row, these have
the expectation -L_MM^-1 (L z)_M. With that filled in, an observed v has z_v - (L z)_v /
l_v given the others, and l_v = L_vv - L_vM L_MM^-1 L_Mv is its precision.

DAGs count by the density of what is observed. With Student t densities of one scatter
matrix, D = offset + z' L z is in the place of the exponent, as if the DAG had all
edges. What is the same in all DAGs is left out.

L_MM falls into blocks, the clusters of ``_alike.pyx``: filled-in values, determinants
and what families with unobserved cells say are worked out once for each cluster, and (L
z)_v and l_v for each group of DAGs. DAGs add up the terms of their families, 16 rows at
a time, and of their clusters. What is left for each DAG and variable is to weigh the
DAG without the variable's own density: one logarithm and one exponential. What does not
hang on values, clusters and groups, determinants and l_v, stays while the rows that
follow lack the same cells.

The inner loops are C for the reasons that ``_vector.pxd`` gives.
"""

import numpy as np
from libc.math cimport sqrt
from libc.stdint cimport int32_t
from libc.string cimport memcmp

from skbidag._core._alike cimport AlikeDags, Surroundings
from skbidag._core._vector cimport skb_log, skb_log_array

cdef extern from *:
    """
    #define SKB_TILE 16

    /* Of a precision that others explain, this share at least is left: what rounding
       makes of less may be negative. */
    #define SKB_LEAST_LEFT 1e-15

    /* Sums over a DAG's families of two terms, for 16 rows. */
    SKB_CLONES void skb_add_families(
        const double *terms, const double *squares, const int32_t *families,
        Py_ssize_t n, double start, double *sum, double *square)
    {
        skb_vec a[4], b[4];
        for (int k = 0; k < 4; k++) {
            a[k] = SKB_ALL(start);
            b[k] = SKB_ALL(0.0);
        }
        for (Py_ssize_t i = 0; i < n; i++) {
            const Py_ssize_t at = SKB_TILE * (Py_ssize_t)families[i];
            for (int k = 0; k < 4; k++) {
                a[k] += SKB_LOAD(terms + at + 4 * k);
                b[k] += SKB_LOAD(squares + at + 4 * k);
            }
        }
        for (int k = 0; k < 4; k++) {
            SKB_STORE(sum + 4 * k, a[k]);
            SKB_STORE(square + 4 * k, b[k]);
        }
    }

    /* values -= factor ln rest, and then e^values relative to the largest. */
    SKB_CLONES void skb_relative(
        double *values, const double *rest, double factor, Py_ssize_t size)
    {
        skb_vec largest = SKB_ALL(-INFINITY);
        for (Py_ssize_t j = 0; j < size; j += 4) {
            skb_vec value = SKB_LOAD(values + j);
            if (factor != 0.0) {
                skb_vec logs = SKB_LOAD(rest + j);
                skb_log_to(&logs, &logs);
                value -= SKB_ALL(factor) * logs;
                SKB_STORE(values + j, value);
            }
            largest = SKB_SELECT((skb_int)(largest < value), value, largest);
        }
        double peak = largest[0];
        for (int k = 1; k < 4; k++) peak = largest[k] > peak ? largest[k] : peak;
        for (Py_ssize_t j = 0; j < size; j += 4) {
            skb_vec value = SKB_LOAD(values + j) - SKB_ALL(peak);
            skb_exp_to(&value, &value);
            SKB_STORE(values + j, value);
        }
    }
    """
    enum: SKB_TILE
    double SKB_LEAST_LEFT
    void skb_add_families(
        const double *, const double *, const int32_t *, Py_ssize_t, double, double *,
        double *,
    ) noexcept nogil
    void skb_relative(double *, const double *, double, Py_ssize_t) noexcept nogil

# The weight of what is not there
cdef double NOTHING = -1e300

cdef double LOG_ROOT_2_PI = 0.918938533204672741780


cdef class NormalMixture:
    """Expectations and densities where cells are unobserved.

    Parameters
    ----------
    of_dag : ndarray of int32, shape (n_dags, n)
        The families of each DAG.
    around : Surroundings
        Of the variables.
    first, members : ndarrays of int32
        The variables of each family, one after the other, and where they begin. There
        may be more of them than have surroundings: constants, which are observed.
    roots : ndarray
        Their entries of R.
    log_shares : ndarray of shape (n_dags,)
        Log weights of the DAGs before a row is looked at. With normal densities, and
        ln det R.
    densities : Regressions, default=None
        The Student t densities of all families; None is for normal ones.
    most_kept : int, default=1048576
        How many numbers of the factors of a row's clusters are kept at most; others are
        worked out again.
    """

    def __init__(
        self, const int32_t[:, ::1] of_dag, Surroundings around,
        const int32_t[::1] first, const int32_t[::1] members, const double[::1] roots,
        const double[::1] log_shares, densities=None, Py_ssize_t most_kept=1 << 20,
    ):
        cdef Py_ssize_t v, k, e, t
        self.most_kept = most_kept
        self.of_dag, self.around, self.densities = of_dag, around, densities
        self.first, self.members, self.roots = first, members, roots
        self.log_shares, self.n_families = log_shares, first.shape[0] - 1
        self.own_roots = np.zeros(around.families.shape[0])
        self.precision = np.zeros(around.n_surroundings)
        for v in range(around.n):
            for k in range(around.owner_first[v], around.owner_first[v + 1]):
                for e in range(around.family_first[k], around.family_first[k + 1]):
                    for t in range(
                        first[around.families[e]], first[around.families[e] + 1]
                    ):
                        if members[t] == v:
                            self.own_roots[e] = roots[t]
                            self.precision[k] += roots[t] * roots[t]

    def expect(
        self, const double[:, ::1] z, const unsigned char[:, ::1] missing,
        const double[:, ::1] terms, double[:, ::1] out,
    ):
        """Expectations of all cells given the other observed cells of their rows.

        Parameters
        ----------
        z : ndarray of shape (n_rows, n_members)
            Deviations from the mean, with zeros at the unobserved cells.
        missing : ndarray of uint8, shape (n_rows, n)
            Which cells are unobserved.
        terms : ndarray of shape (n_families, n_padded)
            With Student t densities, those of all families in z, row by row.
        out : ndarray of shape (n_rows, n)
            Gets the expectations.
        """
        most = np.asarray(missing).sum(axis=1, dtype=np.intp).max(initial=0)
        Rows(self, most).expect(z, missing, terms, out)

    def log_densities(
        self, const double[:, ::1] z, const unsigned char[:, ::1] missing,
        const double[:, ::1] terms, double[::1] out,
    ):
        """Log densities of the observed cells of rows, averaged over the DAGs.

        They are normal here; ``_student_marginals.pyx`` has the others.

        Parameters
        ----------
        z, missing, terms : ndarrays
            As :meth:`expect` takes them.
        out : ndarray of shape (n_rows,)
            Gets the log densities.
        """
        most = np.asarray(missing).sum(axis=1, dtype=np.intp).max(initial=0)
        Rows(self, most).log_densities(z, missing, terms, out)


cdef class Rows:
    """What is worked out of one row after the other.

    Parameters
    ----------
    mixture : NormalMixture
        Of the DAGs.
    most_cells : int
        How many cells of a row are unobserved at most.
    """

    def __init__(self, NormalMixture of, Py_ssize_t most_cells):
        cdef Py_ssize_t most = max(1, most_cells) * of.around.n_dags
        self.of, self.alike = of, AlikeDags(of.around, most_cells)
        self.n_dags = of.around.n_dags
        self.width = (self.n_dags + 3) // 4 * 4
        self.residuals = np.zeros((SKB_TILE, of.n_families))
        self.terms = np.zeros((of.n_families, SKB_TILE))
        self.squares = np.zeros((of.n_families, SKB_TILE))
        self.sums = np.zeros((self.n_dags, SKB_TILE))
        self.square_sums = np.zeros((self.n_dags, SKB_TILE))
        self.row = np.zeros(max(of.around.n, np.max(of.members)) + 1)
        self.fills, self.mass = np.zeros(most), np.zeros(most)
        self.log_dets = np.zeros(most)
        self.log_density, self.square = np.zeros(most), np.zeros(most)
        self.factor_start = np.zeros(most, dtype=np.intp)
        size = most_cells * (most_cells + 1) // 2 + 1
        self.spare = np.zeros(size)
        self.factors = np.zeros(max(1, min(of.most_kept, size * self.n_dags)))
        self.touched = np.zeros(of.n_families, dtype=np.int32)
        self.seen = np.zeros(of.n_families, dtype=np.int32)
        self.position = np.zeros(of.around.n, dtype=np.int32)
        self.pull, self.across = np.zeros(of.around.n), np.zeros(of.around.n)
        n_whitened = of.around.n
        if of.densities is not None:
            n_whitened = max(n_whitened, of.densities.most_members)
        self.whitened = np.zeros(n_whitened)
        self.weight, self.quadratic = np.zeros(self.width), np.ones(self.width)
        self.log_quadratic, self.without = np.zeros(self.width), np.zeros(self.width)
        self.expected, self.explained = np.zeros(self.width), np.zeros(self.width)
        self.lefts = np.ones((1, self.width))
        self.half_log_lefts = np.zeros((1, self.width))
        self.values, self.rest = np.zeros(self.width), np.ones(self.width)

    cdef void expect(
        self, const double[:, ::1] z, const unsigned char[:, ::1] missing,
        const double[:, ::1] terms, double[:, ::1] out,
    ) noexcept:
        cdef Py_ssize_t start, r, v, n = self.of.around.n, n_rows = z.shape[0]
        self.keep(missing)
        with nogil:
            for start in range(0, n_rows, 16):
                self.add_tile(z, missing, terms, start)
                for r in range(start, min(n_rows, start + 16)):
                    self.look_at(z, missing, r)
                    self.settle_clusters(&self.residuals[r - start, 0])
                    self.weigh_dags(r - start)
                    self.average_cells(&out[r, 0])
                    for v in range(n):
                        if self.alike.place[v] < 0:
                            self.settle_groups(v, &self.residuals[r - start, 0])
                            out[r, v] = self.average_groups()

    cdef void log_densities(
        self, const double[:, ::1] z, const unsigned char[:, ::1] missing,
        const double[:, ::1] terms, double[::1] out,
    ) noexcept:
        cdef Py_ssize_t start, r, n_rows = z.shape[0]
        with nogil:
            for start in range(0, n_rows, 16):
                self.add_tile(z, missing, terms, start)
                for r in range(start, min(n_rows, start + 16)):
                    self.look_at(z, missing, r)
                    self.settle_clusters(&self.residuals[r - start, 0])
                    self.weigh_dags(r - start)
                    out[r] = self.log_mean_weight() - LOG_ROOT_2_PI * (
                        self.of.around.n - self.alike.n_cells
                    )

    cdef void keep(self, const unsigned char[:, ::1] missing):
        """Have place for the groups of all variables, if rows lack the same cells."""
        cdef Py_ssize_t n = self.of.around.n
        cells = np.asarray(missing)
        again = (cells[1:] == cells[: len(cells) - 1]).all(axis=1).any()
        if again and self.alike.keep(self.of.most_kept):
            self.lefts = np.ones((n, self.width))
            self.half_log_lefts = np.zeros((n, self.width))

    cdef void look_at(
        self, const double[:, ::1] z, const unsigned char[:, ::1] missing, Py_ssize_t r
    ) noexcept nogil:
        """Make a row the present one."""
        cdef Py_ssize_t v
        for v in range(z.shape[1]):
            self.row[v] = z[r, v]
        self.is_first = r == 0 or memcmp(
            &missing[r, 0], &missing[r - 1, 0], self.of.around.n
        ) != 0
        if self.is_first:
            self.alike.look_at(&missing[r, 0])

    # 16 rows at a time

    cdef void add_tile(
        self, const double[:, ::1] z, const unsigned char[:, ::1] missing,
        const double[:, ::1] terms, Py_ssize_t start
    ) noexcept nogil:
        """What families without an unobserved cell add up to in each DAG."""
        cdef Py_ssize_t d, r
        for r in range(start, min(z.shape[0], start + 16)):
            self.add_row(&z[r, 0], &missing[r, 0], r - start)
            if self.of.densities is not None:
                self.add_terms(terms, r)
            self.leave_out(&missing[r, 0], r - start)
        for d in range(self.n_dags):
            skb_add_families(
                &self.terms[0, 0], &self.squares[0, 0], &self.of.of_dag[d, 0],
                self.of.around.n, self.of.log_shares[d], &self.sums[d, 0],
                &self.square_sums[d, 0],
            )

    cdef void add_row(
        self, const double *z, const unsigned char *missing, Py_ssize_t r
    ) noexcept nogil:
        """The residuals of all families in a row."""
        cdef:
            Py_ssize_t f, t
            double residual
        for f in range(self.of.n_families):
            residual = 0.0
            for t in range(self.of.first[f], self.of.first[f + 1]):
                residual += self.of.roots[t] * z[self.of.members[t]]
            self.residuals[r, f] = residual
            self.squares[f, r] = residual * residual

    cdef void add_terms(self, const double[:, ::1] terms, Py_ssize_t r) noexcept nogil:
        cdef Py_ssize_t f
        for f in range(self.of.n_families):
            self.terms[f, r % SKB_TILE] = terms[f, r]

    cdef void leave_out(
        self, const unsigned char *missing, Py_ssize_t r
    ) noexcept nogil:
        """Families with an unobserved cell are left to the clusters."""
        cdef Py_ssize_t f, t, n = self.of.around.n
        for f in range(self.of.n_families):
            for t in range(self.of.first[f], self.of.first[f + 1]):
                if self.of.members[t] < n and missing[self.of.members[t]]:
                    self.terms[f, r] = self.squares[f, r] = 0.0
                    break

    # Clusters

    cdef void settle_clusters(self, const double *residuals) noexcept nogil:
        """Expectations of unobserved cells, and what their families say then."""
        cdef Py_ssize_t c
        if self.is_first:
            self.n_kept = 0
        for c in range(self.alike.n_clusters):
            self.settle_cluster(c, residuals)

    cdef void settle_cluster(
        self, Py_ssize_t c, const double *residuals
    ) noexcept nogil:
        cdef:
            Py_ssize_t low = self.alike.cluster_first[c], e, f, i, t, v
            Py_ssize_t size = self.alike.cluster_first[c + 1] - low, n_touched
            double residual, *factor, *fills = &self.fills[low]
        n_touched = self.find_touched(c)
        if self.is_first:
            self.factor_start[c] = -1
            if self.n_kept + size * (size + 1) // 2 <= self.factors.shape[0]:
                self.factor_start[c] = self.n_kept
                self.n_kept += size * (size + 1) // 2
        factor = &self.spare[0]
        if self.factor_start[c] >= 0:
            factor = &self.factors[self.factor_start[c]]
        if self.is_first or self.factor_start[c] < 0:
            self.log_dets[c] = self.factorize(size, n_touched, factor)
        self.solve(residuals, size, n_touched, factor, fills)
        for i in range(size):
            self.row[self.alike.cells[self.alike.cluster_cells[low + i]]] = fills[i]
        self.log_density[c] = -0.5 * self.log_dets[c]
        self.square[c] = 0.0
        for e in range(n_touched):
            f = self.touched[e]
            residual = residuals[f]
            for t in range(self.of.first[f], self.of.first[f + 1]):
                v = self.of.members[t]
                if v < self.of.around.n and self.alike.place[v] >= 0:
                    residual += self.of.roots[t] * self.row[v]
            self.square[c] += residual * residual
            if self.of.densities is not None:
                self.log_density[c] += self.of.densities.log_density_of(
                    &self.row[0], f, &self.whitened[0]
                )

    cdef Py_ssize_t find_touched(self, Py_ssize_t c) noexcept nogil:
        """The families of a cluster, and the places of its cells.

        Returns
        -------
        n_touched : int
            How many families there are.
        """
        cdef:
            Py_ssize_t d = self.alike.cluster_dag[c], e, i, k, n_touched = 0, v
            Py_ssize_t low = self.alike.cluster_first[c]
        for i in range(low, self.alike.cluster_first[c + 1]):
            v = self.alike.cells[self.alike.cluster_cells[i]]
            self.position[v] = <int32_t> (i - low)
            k = self.of.around.number[v, d]
            for e in range(
                self.of.around.family_first[k], self.of.around.family_first[k + 1]
            ):
                if not self.seen[self.of.around.families[e]]:
                    self.seen[self.of.around.families[e]] = 1
                    self.touched[n_touched] = self.of.around.families[e]
                    n_touched += 1
        for e in range(n_touched):
            self.seen[self.touched[e]] = 0
        return n_touched

    cdef void solve(
        self, const double *residuals, Py_ssize_t size, Py_ssize_t n_touched,
        const double *factor, double *fills,
    ) noexcept nogil:
        """Expectations of the present cluster's cells; see `factorize`."""
        cdef:
            Py_ssize_t e, f, i, j, t, v
            double residual
        for i in range(size):
            self.pull[i] = 0.0
        for e in range(n_touched):
            f = self.touched[e]
            for t in range(self.of.first[f], self.of.first[f + 1]):
                v = self.of.members[t]
                if v < self.of.around.n and self.alike.place[v] >= 0:
                    self.pull[self.position[v]] += self.of.roots[t] * residuals[f]
        self.whiten(factor, size, &self.pull[0], fills)
        for i in range(size - 1, -1, -1):
            residual = -fills[i]
            for j in range(i + 1, size):
                residual -= factor[j * (j + 1) // 2 + i] * fills[j]
            fills[i] = residual * factor[i * (i + 1) // 2 + i]

    cdef double factorize(
        self, Py_ssize_t size, Py_ssize_t n_touched, double *factor
    ) noexcept nogil:
        """Cholesky factor of the present cluster's precision, by rows, with inverted
        diagonal; its log determinant."""
        cdef:
            Py_ssize_t e, f, i, j, s, t, u, v
            double least, value, log_det = 0.0
        for i in range(size * (size + 1) // 2):
            factor[i] = 0.0
        for e in range(n_touched):
            f = self.touched[e]
            for t in range(self.of.first[f], self.of.first[f + 1]):
                v = self.of.members[t]
                if v >= self.of.around.n or self.alike.place[v] < 0:
                    continue
                i = self.position[v]
                for s in range(self.of.first[f], self.of.first[f + 1]):
                    u = self.of.members[s]
                    if u >= self.of.around.n or self.alike.place[u] < 0:
                        continue
                    j = self.position[u]
                    if j <= i:
                        factor[i * (i + 1) // 2 + j] += (
                            self.of.roots[t] * self.of.roots[s]
                        )
        for i in range(size):
            s = i * (i + 1) // 2
            least = SKB_LEAST_LEFT * factor[s + i]
            for j in range(i):
                t = j * (j + 1) // 2
                value = factor[s + j]
                for e in range(j):
                    value -= factor[s + e] * factor[t + e]
                factor[s + j] = value * factor[t + j]
                factor[s + i] -= factor[s + j] * factor[s + j]
            value = max(factor[s + i], least)
            log_det += skb_log(value)
            factor[s + i] = 1.0 / sqrt(value)
        return log_det

    cdef double whiten(
        self, const double *factor, Py_ssize_t size, const double *x, double *out
    ) noexcept nogil:
        """Solve with a lower factor; the square of the result."""
        cdef:
            Py_ssize_t i, j
            double value, total = 0.0
        for i in range(size):
            value = x[i]
            for j in range(i):
                value -= factor[j] * out[j]
            out[i] = value * factor[i]
            total += out[i] * out[i]
            factor += i + 1
        return total

    # DAGs

    cdef void weigh_dags(self, Py_ssize_t r) noexcept nogil:
        """Log densities of what is observed, in each DAG."""
        cdef:
            Py_ssize_t d, i, m = self.alike.n_cells
            const int32_t *of_dag
            double half_df
            int32_t c
        for d in range(self.n_dags):
            self.weight[d] = self.sums[d, r]
            self.quadratic[d] = self.square_sums[d, r]
        for i in range(m):
            of_dag = &self.alike.cluster[i, 0]
            for d in range(self.n_dags):
                c = of_dag[d]
                if self.alike.cluster_cells[self.alike.cluster_first[c]] == i:
                    self.weight[d] += self.log_density[c]
                    self.quadratic[d] += self.square[c]
        if self.of.densities is None:
            for d in range(self.n_dags):
                self.weight[d] -= 0.5 * self.quadratic[d]
                self.without[d] = self.weight[d]
            return
        half_df = self.half_df()
        for d in range(self.n_dags):
            self.quadratic[d] += self.of.densities.offset
        skb_log_array(&self.quadratic[0], &self.log_quadratic[0], self.width)
        for d in range(self.n_dags):
            self.weight[d] += 0.5 * m * self.log_quadratic[d]
            self.without[d] = (
                self.weight[d] + (half_df + 0.5) * self.log_quadratic[d]
            )

    cdef double half_df(self) noexcept nogil:
        """Half of the degrees of freedom of one cell given the others."""
        if self.of.densities is None:
            return 0.0
        return 0.5 * (
            self.of.densities.df + self.of.around.n - self.alike.n_cells - 1
        )

    cdef double share_dags(self) noexcept nogil:
        """Weights of the DAGs relative to the largest, as `values`; their total."""
        cdef Py_ssize_t d
        cdef double total = 0.0
        for d in range(self.n_dags):
            self.values[d] = self.weight[d]
        for d in range(self.n_dags, self.width):
            self.values[d] = NOTHING
        skb_relative(&self.values[0], &self.rest[0], 0.0, self.width)
        for d in range(self.n_dags):
            total += self.values[d]
        return total

    cdef double log_mean_weight(self) noexcept nogil:
        """Log of the sum of the DAGs' weights, which have their shares."""
        cdef Py_ssize_t d
        cdef double peak = self.weight[0]
        for d in range(1, self.n_dags):
            peak = max(peak, self.weight[d])
        return peak + skb_log(self.share_dags())

    cdef void average_cells(self, double *out) noexcept nogil:
        """Expectations of the unobserved cells."""
        cdef:
            Py_ssize_t c, d, i, t
            const int32_t *of_dag
            double total = self.share_dags()
        for c in range(self.alike.n_clusters):
            self.mass[c] = 0.0
        for i in range(self.alike.n_cells):
            out[self.alike.cells[i]] = 0.0
            of_dag = &self.alike.cluster[i, 0]
            for d in range(self.n_dags):
                c = of_dag[d]
                if self.alike.cluster_cells[self.alike.cluster_first[c]] == i:
                    self.mass[c] += self.values[d]
        for c in range(self.alike.n_clusters):
            for t in range(
                self.alike.cluster_first[c], self.alike.cluster_first[c + 1]
            ):
                i = self.alike.cells[self.alike.cluster_cells[t]]
                out[i] += self.fills[t] * (self.mass[c] / total)

    # Groups of DAGs

    cdef void settle_groups(
        self, Py_ssize_t v, const double *residuals
    ) noexcept nogil:
        """Expectations of an observed cell, and what its density takes off D."""
        cdef:
            Py_ssize_t g, d, k, e, f, t, u
            double pull, left, residual, gap
            const int32_t *place = &self.alike.place[0]
            const int32_t *families = &self.of.around.families[0]
            const int32_t *family_first = &self.of.around.family_first[0]
            const int32_t *first = &self.of.first[0]
            const int32_t *members = &self.of.members[0]
            const double *roots = &self.of.roots[0]
            const double *own_roots = &self.of.own_roots[0]
            const double *row = &self.row[0]
            double *across = &self.across[0]
            Py_ssize_t n = self.of.around.n
            bint is_known = self.alike.group(v), is_near
        self.left = &self.lefts[v if self.alike.keeps else 0, 0]
        self.half_log_left = &self.half_log_lefts[v if self.alike.keeps else 0, 0]
        for g in range(self.alike.n_groups):
            d = self.alike.order[self.alike.group_first[g]]
            k = self.of.around.number[v, d]
            pull = 0.0
            is_near = self.alike.near_first[k] < self.alike.near_end[k]
            if is_near:
                self.fetch(k, d)
            for e in range(family_first[k], family_first[k + 1]):
                f = families[e]
                residual = residuals[f]
                if is_near:
                    for t in range(first[f], first[f + 1]):
                        u = members[t]
                        if u < n and place[u] >= 0:
                            residual += roots[t] * row[u]
                            across[place[u]] += roots[t] * own_roots[e]
                pull += own_roots[e] * residual
            if not is_known:
                left = self.of.precision[k]
                if is_near:
                    left -= self.take_across(k, d)
                left = max(left, SKB_LEAST_LEFT * self.of.precision[k])
                self.left[g], self.half_log_left[g] = left, 0.5 * skb_log(left)
            gap = pull / self.left[g]
            self.expected[g] = self.row[v] - gap
            self.explained[g] = gap * pull

    cdef void fetch(self, Py_ssize_t k, Py_ssize_t d) noexcept nogil:
        """The values of the unobserved cells in a surrounding, in a DAG."""
        cdef Py_ssize_t c, i, t, u
        for t in range(self.alike.near_first[k], self.alike.near_end[k]):
            i = self.alike.near[t]
            c = self.alike.cluster[i, d]
            u = self.alike.cluster_first[c]
            while self.alike.cluster_cells[u] != i:
                u += 1
            self.row[self.alike.cells[i]] = self.fills[u]
            self.across[i] = 0.0

    cdef double take_across(self, Py_ssize_t k, Py_ssize_t d) noexcept nogil:
        """What unobserved cells explain of an observed one's precision."""
        cdef:
            Py_ssize_t c, i, s, t, low, size
            double total = 0.0
            bint is_first
        for t in range(self.alike.near_first[k], self.alike.near_end[k]):
            c = self.alike.cluster[self.alike.near[t], d]
            is_first = True
            for s in range(self.alike.near_first[k], t):
                if self.alike.cluster[self.alike.near[s], d] == c:
                    is_first = False
            if not is_first:
                continue
            low = self.alike.cluster_first[c]
            size = self.alike.cluster_first[c + 1] - low
            for i in range(size):
                self.pull[i] = 0.0
            for s in range(t, self.alike.near_end[k]):
                i = self.alike.near[s]
                if self.alike.cluster[i, d] == c:
                    self.pull[self.place_in(i, low)] = self.across[i]
            total += self.whiten(
                self.factor_of(c), size, &self.pull[0], &self.whitened[0]
            )
        return total

    cdef Py_ssize_t place_in(self, Py_ssize_t i, Py_ssize_t low) noexcept nogil:
        cdef Py_ssize_t t = low
        while self.alike.cluster_cells[t] != i:
            t += 1
        return t - low

    cdef const double *factor_of(self, Py_ssize_t c) noexcept nogil:
        """A cluster's factor, made again if it was not kept."""
        cdef Py_ssize_t size
        if self.factor_start[c] >= 0:
            return &self.factors[self.factor_start[c]]
        size = self.alike.cluster_first[c + 1] - self.alike.cluster_first[c]
        self.factorize(size, self.find_touched(c), &self.spare[0])
        return &self.spare[0]

    cdef double average_groups(self) noexcept nogil:
        """Mean over DAGs of the groups' expectations.

        The cell is predicted without a look at it: its own density is taken out.
        """
        cdef:
            Py_ssize_t g, p, n_groups = self.alike.n_groups
            double share, shift, total = 0.0, moment = 0.0
            double half_df = self.half_df()
            bint is_student = self.of.densities is not None
            double offset = self.of.densities.offset if is_student else 0.0
            const int32_t *first = self.alike.group_first
            const int32_t *order = self.alike.order
            const double *without = &self.without[0]
            const double *quadratic = &self.quadratic[0]
            double *values = &self.values[0]
            double *rest = &self.rest[0]
        for g in range(n_groups):
            shift = self.half_log_left[g]
            if not is_student:
                shift -= 0.5 * self.explained[g]
            for p in range(first[g], first[g + 1]):
                values[p] = without[order[p]] - shift
            if is_student:
                shift = self.explained[g]
                for p in range(first[g], first[g + 1]):
                    rest[p] = max(quadratic[order[p]] - shift, offset)
        for p in range(self.n_dags, self.width):
            self.values[p] = NOTHING
        skb_relative(&self.values[0], &self.rest[0], half_df, self.width)
        for g in range(n_groups):
            share = 0.0
            for p in range(self.alike.group_first[g], self.alike.group_first[g + 1]):
                share += self.values[p]
            total += share
            moment += share * self.expected[g]
        return moment / total
