# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False
"""Averages over sampled DAGs of what they say about rows.

A quantity of a DAG is a sum (in logs) or a product over its families, and each family
is worked out once, for all DAGs that have it. What is left is adding up: DAGs times
nodes times rows. The loops go through the rows 16 at a time, so that the terms of all
families for these rows stay in the cache while the DAGs pick theirs.

The inner loops are C for the reasons that ``_vector.pxd`` gives.
"""

import numpy as np
from libc.math cimport exp, lgamma, log, sqrt
from libc.stdint cimport int32_t
from libc.stdlib cimport free, malloc

from skbidag._core._vector cimport skb_log

cdef extern from *:
    """
    #define SKB_TILE 16

    /* Mean over DAGs of exp(sum of terms) for 16 rows, as running peak and total. */
    SKB_CLONES void skb_add_dags(
        const double *terms, Py_ssize_t stride, const int32_t *of_dag,
        Py_ssize_t n_dags, Py_ssize_t n, const double *log_shares,
        double *peak, double *total)
    {
        for (Py_ssize_t d = 0; d < n_dags; d++) {
            const int32_t *families = of_dag + d * n;
            skb_vec sum[4];
            for (int k = 0; k < 4; k++)
                sum[k] = SKB_ALL(log_shares[d]);
            for (Py_ssize_t i = 0; i < n; i++) {
                const double *term = terms + families[i] * stride;
                for (int k = 0; k < 4; k++)
                    sum[k] += SKB_LOAD(term + 4 * k);
            }
            for (int k = 0; k < 4; k++) {
                skb_vec old = SKB_LOAD(peak + 4 * k), more, less, top;
                top = SKB_SELECT((skb_int)(sum[k] > old), sum[k], old);
                less = old - top;
                more = sum[k] - top;
                skb_exp_to(&less, &less);
                skb_exp_to(&more, &more);
                SKB_STORE(peak + 4 * k, top);
                SKB_STORE(total + 4 * k, SKB_LOAD(total + 4 * k) * less + more);
            }
        }
    }

    /* Log Student t density of one family for 16 rows of z, n by 16. `factor` is the
       Cholesky factor of the parents' scatter by rows, with inverted diagonal; y
       gets the parents' values whitened by it. */
    SKB_CLONES void skb_student_t(
        const double *z, const int32_t *parents, Py_ssize_t p, Py_ssize_t node,
        const double *factor, const double *explained, double precision,
        double offset, double constant, double half_df, double *y, double *out)
    {
        for (int k = 0; k < 4; k++) {
            skb_vec distance = SKB_ALL(offset);
            skb_vec residual = SKB_LOAD(z + SKB_TILE * node + 4 * k);
            const double *row = factor;
            for (Py_ssize_t i = 0; i < p; i++) {
                skb_vec value = SKB_LOAD(z + SKB_TILE * parents[i] + 4 * k);
                for (Py_ssize_t j = 0; j < i; j++)
                    value -= SKB_ALL(row[j]) * SKB_LOAD(y + 4 * j);
                value *= SKB_ALL(row[i]);
                SKB_STORE(y + 4 * i, value);
                distance += value * value;
                residual -= SKB_ALL(explained[i]) * value;
                row += i + 1;
            }
            skb_vec with_child = distance + residual * residual * SKB_ALL(precision);
            skb_log_to(&distance, &distance);
            skb_log_to(&with_child, &with_child);
            SKB_STORE(out + 4 * k, SKB_ALL(constant) + SKB_ALL(half_df) * distance
                      - SKB_ALL(half_df + 0.5) * with_child);
        }
    }

    /* Joint values in turn: the product of a DAG's factors for 16 rows, added to the
       sum of the level it belongs to. */
    SKB_CLONES void skb_level_sums(
        const double *factors, Py_ssize_t family_stride, Py_ssize_t value_stride,
        const int32_t *families, Py_ssize_t n_families, Py_ssize_t n_levels,
        Py_ssize_t n_rest, double *sums)
    {
        for (Py_ssize_t level = 0; level < n_levels; level++) {
            skb_vec total[4];
            for (int k = 0; k < 4; k++)
                total[k] = SKB_ALL(0.0);
            for (Py_ssize_t rest = 0; rest < n_rest; rest++) {
                const double *at = factors + (level * n_rest + rest) * value_stride;
                skb_vec product[4];
                for (int k = 0; k < 4; k++)
                    product[k] = SKB_LOAD(at + families[0] * family_stride + 4 * k);
                for (Py_ssize_t f = 1; f < n_families; f++) {
                    const double *factor = at + families[f] * family_stride;
                    for (int k = 0; k < 4; k++)
                        product[k] *= SKB_LOAD(factor + 4 * k);
                }
                for (int k = 0; k < 4; k++)
                    total[k] += product[k];
            }
            for (int k = 0; k < 4; k++)
                SKB_STORE(sums + SKB_TILE * level + 4 * k, total[k]);
        }
    }
    """
    enum: SKB_TILE
    void skb_add_dags(
        const double *, Py_ssize_t, const int32_t *, Py_ssize_t, Py_ssize_t,
        const double *, double *, double *,
    ) noexcept nogil
    void skb_student_t(
        const double *, const int32_t *, Py_ssize_t, Py_ssize_t, const double *,
        const double *, double, double, double, double, double *, double *,
    ) noexcept nogil
    void skb_level_sums(
        const double *, Py_ssize_t, Py_ssize_t, const int32_t *, Py_ssize_t,
        Py_ssize_t, Py_ssize_t, double *,
    ) noexcept nogil

# A product of probabilities that is smaller may have lost digits.
cdef double SMALLEST = 1e-280


def log_mean_over_dags(
    const double[:, ::1] terms,
    const int32_t[:, ::1] of_dag,
    const double[::1] log_shares,
    double[::1] out,
):
    """Log of the weighted mean over DAGs of exp(sum of their families' terms).

    Parameters
    ----------
    terms : ndarray of shape (n_families, n_padded)
        Row by row, padded to a multiple of 16.
    of_dag : ndarray of int32, shape (n_dags, n)
        The families of each DAG.
    log_shares : ndarray of shape (n_dags,)
        Log weights.
    out : ndarray of shape (n_padded,)
        Gets the result.
    """
    cdef Py_ssize_t start, n_rows = terms.shape[1]
    with nogil:
        for start in range(0, n_rows, 16):
            finish_tile(
                &terms[0, start], n_rows, of_dag, log_shares, &out[start]
            )


cdef void finish_tile(
    const double *terms, Py_ssize_t stride, const int32_t[:, ::1] of_dag,
    const double[::1] log_shares, double *out,
) noexcept nogil:
    cdef double peak[16]
    cdef double total[16]
    cdef Py_ssize_t r
    for r in range(SKB_TILE):
        peak[r] = -1e300  # and not infinity, which would be subtracted from itself
        total[r] = 0.0
    skb_add_dags(
        terms, stride, &of_dag[0, 0], of_dag.shape[0], of_dag.shape[1],
        &log_shares[0], peak, total,
    )
    for r in range(SKB_TILE):
        out[r] = peak[r] + (skb_log(total[r]) if total[r] > 0.0 else log(0.0))


def log_mean_student_t(
    const double[:, ::1] z,
    const double[:, ::1] scatter,
    const double[::1] floor,
    double offset,
    double df,
    const int32_t[::1] nodes,
    const int32_t[::1] first,
    const int32_t[::1] parents,
    const int32_t[:, ::1] of_dag,
    const double[::1] log_shares,
    double[::1] out,
):
    """Log of the weighted mean over DAGs of their Student t densities.

    A child with p parents P has df + p degrees of freedom. With T the scatter matrix
    and D(Q) = z_Q' T_QQ^-1 z_Q, its density in a row of deviations z from the mean is

        c (offset + D(P))^((df + p) / 2) (offset + D(P + child))^(-(df + p + 1) / 2)

    Parameters
    ----------
    z : ndarray of shape (n_tiles * n, 16)
        Deviations from the mean, 16 rows at a time, by variables.
    scatter : ndarray of shape (n, n)
        The posterior scatter matrix T.
    floor : ndarray of shape (n,)
        The least variances.
    offset : float
        See above.
    df : float
        Degrees of freedom without parents.
    nodes : ndarray of int32, shape (n_families,)
        The children.
    first : ndarray of int32, shape (n_families + 1,)
        Where their parents begin in `parents`.
    parents : ndarray of int32
        The parents of all families.
    of_dag, log_shares
        As in :func:`log_mean_over_dags`.
    out : ndarray of shape (n_tiles * 16,)
        Gets the result.
    """
    cdef:
        Py_ssize_t n = scatter.shape[0], n_families = nodes.shape[0]
        Py_ssize_t f, i, j, k, p, tile, size = 0, most = 1
        double value, pivot, variance, half_df
        double *row
        double *earlier
        double *target
        double *explained
        Py_ssize_t *start
        double *numbers
        double *terms
        double *y
    for f in range(n_families):
        p = first[f + 1] - first[f]
        size += p * (p + 1) // 2 + p + 3
        most = max(most, p)
    start = <Py_ssize_t *> malloc(max(1, n_families) * sizeof(Py_ssize_t))
    numbers = <double *> malloc(max(1, size) * sizeof(double))
    terms = <double *> malloc(max(1, n_families) * SKB_TILE * sizeof(double))
    y = <double *> malloc(most * SKB_TILE * sizeof(double))
    if start == NULL or numbers == NULL or terms == NULL or y == NULL:
        free(start)
        free(numbers)
        free(terms)
        free(y)
        raise MemoryError
    with nogil:
        size = 0
        for f in range(n_families):
            # factor by rows, then the child's whitened covariances, then constants
            p = first[f + 1] - first[f]
            start[f] = size
            row = numbers + size
            explained = row + p * (p + 1) // 2
            variance = scatter[nodes[f], nodes[f]]
            for i in range(p + 1):
                # the child comes last, as one more row
                k = parents[first[f] + i] if i < p else nodes[f]
                pivot = scatter[k, k]
                earlier = numbers + size
                target = row if i < p else explained
                for j in range(i):
                    value = scatter[k, parents[first[f] + j]]
                    value = (value - dot(target, earlier, j)) * earlier[j]
                    target[j] = value
                    pivot -= value * value
                    earlier += j + 1
                pivot = max(pivot, floor[k])
                if i < p:
                    row[i] = 1.0 / sqrt(pivot)
                    row += i + 1
                else:
                    variance = pivot
            half_df = 0.5 * (df + p)
            explained[p] = 1.0 / variance
            explained[p + 1] = (
                lgamma(half_df + 0.5) - lgamma(half_df)
                - 0.5 * log(3.141592653589793238463 * variance)
            )
            explained[p + 2] = half_df
            size += p * (p + 1) // 2 + p + 3
        for tile in range(z.shape[0] // n):
            for f in range(n_families):
                p = first[f + 1] - first[f]
                row = numbers + start[f]
                explained = row + p * (p + 1) // 2
                skb_student_t(
                    &z[tile * n, 0], &parents[0] + first[f], p, nodes[f], row,
                    explained, explained[p], offset, explained[p + 1],
                    explained[p + 2], y, terms + f * SKB_TILE,
                )
            finish_tile(terms, SKB_TILE, of_dag, log_shares, &out[tile * SKB_TILE])
    free(start)
    free(numbers)
    free(terms)
    free(y)


cdef inline double dot(const double *a, const double *b, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t k
    cdef double total = 0.0
    for k in range(n):
        total += a[k] * b[k]
    return total


def mean_level_probabilities(
    const double[:, :, ::1] factors,
    Py_ssize_t n_levels,
    const int32_t[::1] first,
    const int32_t[::1] families,
    const double[:, ::1] shares,
    const Py_ssize_t[::1] way,
    double[:, ::1] out,
):
    """Weighted mean over DAGs of a variable's probabilities.

    In a DAG the joint values of the variables that are free have probabilities in
    proportion to the product of the DAG's factors. Those that give the first free
    variable the same level are added up, and the levels made to sum to one.

    Parameters
    ----------
    factors : ndarray of shape (n_families, n_values, n_padded)
        Probabilities in each family, for each joint value and row. The first free
        variable changes slowest; rows are padded to a multiple of 16.
    n_levels : int
        Number of levels of the first free variable.
    first : ndarray of int32, shape (n_dags + 1,)
        Where the families of each DAG begin in `families`; there is at least one.
    families : ndarray of int32
        The families of all DAGs.
    shares : ndarray of shape (n_ways, n_dags)
        Weights of the DAGs.
    way : ndarray of intp, shape (n_rows,)
        Which weights count in each row.
    out : ndarray of shape (n_rows, n_levels)
        The result is added to it.
    """
    cdef:
        Py_ssize_t n_rows = way.shape[0], n_padded = factors.shape[2]
        Py_ssize_t n_values = factors.shape[1], n_dags = shares.shape[1]
        Py_ssize_t start, d, level, r, height
        double total, weight
        double *sums
    sums = <double *> malloc(n_levels * SKB_TILE * sizeof(double))
    if sums == NULL:
        raise MemoryError
    with nogil:
        for start in range(0, n_rows, 16):
            height = min(<Py_ssize_t> SKB_TILE, n_rows - start)
            for d in range(n_dags):
                skb_level_sums(
                    &factors[0, 0, start], n_values * n_padded, n_padded,
                    &families[first[d]], first[d + 1] - first[d], n_levels,
                    n_values // n_levels, sums,
                )
                for r in range(height):
                    weight = shares[way[start + r], d]
                    if weight == 0.0:
                        continue
                    total = 0.0
                    for level in range(n_levels):
                        total += sums[level * SKB_TILE + r]
                    if total < SMALLEST:
                        total = sums_from_logs(
                            factors, &families[first[d]], first[d + 1] - first[d],
                            n_levels, start + r, sums + r,
                        )
                    weight /= total
                    for level in range(n_levels):
                        out[start + r, level] += weight * sums[level * SKB_TILE + r]
    free(sums)


cdef double sums_from_logs(
    const double[:, :, ::1] factors, const int32_t *families, Py_ssize_t n_families,
    Py_ssize_t n_levels, Py_ssize_t row, double *sums,
) noexcept nogil:
    """Sums of one row's levels, scaled so that the largest product is one."""
    cdef:
        Py_ssize_t n_values = factors.shape[1], value, f, n_rest
        double log_product, peak = -1e308, total = 0.0
        int scan
    n_rest = n_values // n_levels
    for value in range(n_levels):
        sums[value * SKB_TILE] = 0.0
    for scan in range(2):
        for value in range(n_values):
            log_product = 0.0
            for f in range(n_families):
                log_product += log(factors[families[f], value, row])
            if scan == 0:
                peak = max(peak, log_product)
            else:
                log_product = exp(log_product - peak)
                sums[(value // n_rest) * SKB_TILE] += log_product
                total += log_product
    return total


cdef class HoledRows:
    """Probabilities of variables in rows with unobserved cells, one row at a time.

    What an observed or unobserved variable is, given what is observed, depends in a
    DAG on the families it is in (its *surrounding*), on those of the unobserved
    variables in them, and so on. DAGs in which all these are the same are one. Their
    families' probabilities are multiplied and summed over the joint values of these
    variables, depth first: a factor comes in as soon as its variables have values.

    Parameters
    ----------
    n_levels : ndarray of intp, shape (n,)
        Number of levels of each variable.
    table : ndarray of float64
        Probabilities in each family, by the codes of its members plus one.
    table_start : ndarray of intp, shape (n_families,)
        Where each family's begin.
    member_first, members, strides : ndarrays of intp
        Members of each family, one family after the other, and the distance between
        entries of the table that differ by one in the member's code.
    surrounding : ndarray of intp, shape (n, n_dags)
        Number of each variable's surrounding in each DAG, counted through.
    owner : ndarray of intp, shape (n_surroundings,)
        Whose surrounding it is.
    family_first, families : ndarrays of intp
        The families of each surrounding.
    linked_first, linked : ndarrays of intp
        The other variables in them.
    counts : ndarray of shape (n_dags,)
        Weights of the DAGs.
    max_values : int
        How many joint values are summed over at most.
    """

    cdef:
        const Py_ssize_t[::1] n_levels, table_start, member_first, members, strides
        const Py_ssize_t[:, ::1] surrounding
        const Py_ssize_t[::1] owner, family_first, families, linked_first, linked
        const double[::1] table, counts
        Py_ssize_t max_values, n, n_dags, n_families
        # of the present row
        Py_ssize_t[::1] base
        int32_t[::1] codes
        # the variables summed over, in turn, and their places
        Py_ssize_t[::1] free, place, values
        double[::1] products, sums
        # the families they are in: where the table begins, given what is observed, the
        # strides of the free members, and with which of them a family comes in
        Py_ssize_t[::1] seen, start, depth, stride_first, stride_place, stride
        Py_ssize_t[::1] in_turn, n_at, first_at
        Py_ssize_t stamp
        # DAGs met so far, by their paths from surrounding to surrounding
        Py_ssize_t[:, ::1] paths
        Py_ssize_t[::1] path_length, slots
        double[::1] weights

    def __init__(
        self, n_levels, table, table_start, member_first, members, strides,
        surrounding, owner, family_first, families, linked_first, linked, counts,
        max_values,
    ):
        self.n_levels, self.table, self.table_start = n_levels, table, table_start
        self.member_first, self.members, self.strides = member_first, members, strides
        self.surrounding, self.owner = surrounding, owner
        self.family_first, self.families = family_first, families
        self.linked_first, self.linked = linked_first, linked
        self.counts = counts
        self.max_values = max_values
        self.n, self.n_dags = surrounding.shape
        self.n_families = len(table_start)
        self.base = np.zeros(self.n_families, dtype=np.intp)
        self.free = np.zeros(self.n, dtype=np.intp)
        self.place = np.full(self.n, -1, dtype=np.intp)
        self.values = np.zeros(self.n, dtype=np.intp)
        self.products = np.zeros(self.n + 1)
        self.sums = np.zeros(max(n_levels))
        self.seen = np.full(self.n_families, -1, dtype=np.intp)
        self.start = np.zeros(self.n_families, dtype=np.intp)
        self.depth = np.zeros(self.n_families, dtype=np.intp)
        self.stride_first = np.zeros(self.n_families + 1, dtype=np.intp)
        self.stride_place = np.zeros(len(members), dtype=np.intp)
        self.stride = np.zeros(len(members), dtype=np.intp)
        self.in_turn = np.zeros(self.n_families, dtype=np.intp)
        self.n_at = np.zeros(self.n, dtype=np.intp)
        self.first_at = np.zeros(self.n + 1, dtype=np.intp)
        self.stamp = 0
        self.paths = np.zeros((self.n_dags, self.n), dtype=np.intp)
        self.path_length = np.zeros(self.n_dags, dtype=np.intp)
        self.weights = np.zeros(self.n_dags)
        self.slots = np.zeros(1 << (2 * self.n_dags).bit_length(), dtype=np.intp)

    def set_row(self, int32_t[::1] codes):
        """Look at a row of codes; unobserved cells have codes below -1."""
        cdef Py_ssize_t family, k
        self.codes = codes
        with nogil:
            for family in range(self.n_families):
                self.base[family] = self.table_start[family]
                for k in range(
                    self.member_first[family], self.member_first[family + 1]
                ):
                    if codes[self.members[k]] >= -1:
                        self.base[family] += (
                            self.strides[k] * (codes[self.members[k]] + 1)
                        )

    def add_probabilities(
        self, Py_ssize_t node, double[::1] out, unsigned char[::1] left
    ):
        """Add up the probabilities of a variable's levels over the DAGs.

        Parameters
        ----------
        node : int
            The variable.
        out : ndarray of shape (n_levels,)
            Gets the sum over DAGs of weight times probability.
        left : ndarray of uint8, shape (n_dags,)
            Gets 1 for DAGs that are left out, because there is too much to sum over.

        Returns
        -------
        n_left : int
            How many those are.
        """
        cdef:
            Py_ssize_t dag, k, number, n_paths = 0, n_left = 0, level
            double total
        with nogil:
            for k in range(self.slots.shape[0]):
                self.slots[k] = -1
            for dag in range(self.n_dags):
                number = self.find_path(dag, node, &n_paths)
                self.weights[number] += self.counts[dag]
            for number in range(n_paths):
                total = self.sum_over(number)
                if total < SMALLEST:
                    self.weights[number] = -1.0
                    continue
                for level in range(self.n_levels[node]):
                    out[level] += self.weights[number] * self.sums[level] / total
            for dag in range(self.n_dags):
                left[dag] = 0
            for number in range(n_paths):
                n_left += self.weights[number] < 0.0
            if n_left:
                n_left = 0
                for dag in range(self.n_dags):
                    number = self.find_path(dag, node, &n_paths)
                    left[dag] = self.weights[number] < 0.0
                    n_left += left[dag]
        return n_left

    cdef Py_ssize_t find_path(
        self, Py_ssize_t dag, Py_ssize_t node, Py_ssize_t *n_paths
    ) noexcept nogil:
        """Number of the path from `node` through unobserved variables in a DAG."""
        cdef:
            Py_ssize_t *path = &self.paths[n_paths[0], 0] if (
                n_paths[0] < self.n_dags) else &self.values[0]
            Py_ssize_t length = 1, done = 0, around, k, other, slot, mask
            size_t mixed = 14695981039346656037u
        self.free[0] = node
        self.place[node] = 0
        while done < length:
            around = self.surrounding[self.free[done], dag]
            path[done] = around
            mixed = (mixed ^ <size_t> around) * 1099511628211u
            mixed ^= mixed >> 29
            done += 1
            for k in range(self.linked_first[around], self.linked_first[around + 1]):
                other = self.linked[k]
                if self.codes[other] < -1 and self.place[other] < 0:
                    self.place[other] = length
                    self.free[length] = other
                    length += 1
        for k in range(length):
            self.place[self.free[k]] = -1
        mask = self.slots.shape[0] - 1
        slot = <Py_ssize_t> (mixed & <size_t> mask)
        while self.slots[slot] >= 0:
            k = self.slots[slot]
            if self.path_length[k] == length:
                done = 0
                while done < length and self.paths[k, done] == path[done]:
                    done += 1
                if done == length:
                    return k
            slot = (slot + 1) & mask
        k = n_paths[0]
        self.slots[slot] = k
        self.path_length[k] = length
        self.weights[k] = 0.0
        n_paths[0] += 1
        return k

    cdef double sum_over(self, Py_ssize_t number) noexcept nogil:
        """Sums of products for each level; their total, or 0 if there are too many."""
        cdef:
            Py_ssize_t length = self.path_length[number], around, family, member
            Py_ssize_t k, f, t, at, n_in_sight = 0, n_strides = 0
            double n_values = 1.0, product, total = 0.0
        for k in range(length):
            self.free[k] = self.owner[self.paths[number, k]]
            n_values *= self.n_levels[self.free[k]]
        if n_values > self.max_values:
            return 0.0
        for k in range(length):
            self.place[self.free[k]] = k
            self.n_at[k] = 0
        self.stamp += 1
        for k in range(length):
            around = self.paths[number, k]
            for f in range(self.family_first[around], self.family_first[around + 1]):
                family = self.families[f]
                if self.seen[family] == self.stamp:
                    continue
                self.seen[family] = self.stamp
                at = self.base[family]
                t = 0
                self.stride_first[n_in_sight] = n_strides
                for member in range(
                    self.member_first[family], self.member_first[family + 1]
                ):
                    if self.place[self.members[member]] < 0:
                        continue
                    if self.codes[self.members[member]] >= -1:  # the node itself
                        at -= self.strides[member] * (
                            self.codes[self.members[member]] + 1
                        )
                    at += self.strides[member]
                    t = max(t, self.place[self.members[member]])
                    self.stride_place[n_strides] = self.place[self.members[member]]
                    self.stride[n_strides] = self.strides[member]
                    n_strides += 1
                self.start[n_in_sight] = at
                self.depth[n_in_sight] = t
                self.n_at[t] += 1
                n_in_sight += 1
        self.stride_first[n_in_sight] = n_strides
        # factors in the order in which they come in
        at = 0
        for t in range(length):
            self.first_at[t] = at
            at += self.n_at[t]
            self.n_at[t] = self.first_at[t]
            self.place[self.free[t]] = -1
        self.first_at[length] = at
        for f in range(n_in_sight):
            self.in_turn[self.n_at[self.depth[f]]] = f
            self.n_at[self.depth[f]] += 1

        for k in range(self.n_levels[self.free[0]]):
            self.sums[k] = 0.0
        t = 0
        self.values[0] = 0
        self.products[0] = 1.0
        while t >= 0:
            if self.values[t] == self.n_levels[self.free[t]]:
                t -= 1
                if t >= 0:
                    self.values[t] += 1
                continue
            product = self.products[t]
            for k in range(self.first_at[t], self.first_at[t + 1]):
                f = self.in_turn[k]
                at = self.start[f]
                for member in range(self.stride_first[f], self.stride_first[f + 1]):
                    at += self.stride[member] * self.values[self.stride_place[member]]
                product *= self.table[at]
            if t == length - 1:
                self.sums[self.values[0]] += product
                total += product
                self.values[t] += 1
            else:
                t += 1
                self.products[t] = product
                self.values[t] = 0
        return total
