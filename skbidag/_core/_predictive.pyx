# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False
"""Averages over sampled DAGs of what they say about rows.

A quantity of a DAG is a sum (in logs) or a product over its families, and each family
is worked out once, for all DAGs that have it. What is left is adding up: DAGs times
nodes times rows. The loops go through the rows 16 at a time, so that the terms of all
families for these rows stay in the cache while the DAGs pick theirs.

The inner loops are C for the reasons that ``_vector.pxd`` gives.
"""

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
