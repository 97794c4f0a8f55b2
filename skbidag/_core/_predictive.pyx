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
from libc.math cimport exp, log
from libc.stdint cimport int32_t

from skbidag._core._vector cimport (
    skb_log,
    skb_log_add_exp,
    skb_log_array,
    skb_maximum,
)

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

    /* shares = exp(weights - peak), row by row. */
    SKB_CLONES void skb_share(
        const double *weights, const double *peak, double *shares, Py_ssize_t size)
    {
        for (Py_ssize_t j = 0; j < size; j += 4) {
            skb_vec share = SKB_LOAD(weights + j) - SKB_LOAD(peak + j);
            skb_exp_to(&share, &share);
            SKB_STORE(shares + j, share);
        }
    }

    /* total += shares, row by row. */
    SKB_CLONES void skb_add_shares(
        const double *shares, double *total, Py_ssize_t size)
    {
        for (Py_ssize_t j = 0; j < size; j += 4)
            SKB_STORE(total + j, SKB_LOAD(total + j) + SKB_LOAD(shares + j));
    }

    /* Sum of a DAG's terms, for 16 rows. */
    SKB_CLONES void skb_add_terms(
        const double *terms, Py_ssize_t stride, const int32_t *families, Py_ssize_t n,
        double *out)
    {
        skb_vec sum[4];
        for (int k = 0; k < 4; k++)
            sum[k] = SKB_LOAD(out + 4 * k);
        for (Py_ssize_t i = 0; i < n; i++) {
            if (families[i] < 0)
                continue;
            const double *term = terms + families[i] * stride;
            for (int k = 0; k < 4; k++)
                sum[k] += SKB_LOAD(term + 4 * k);
        }
        for (int k = 0; k < 4; k++)
            SKB_STORE(out + 4 * k, sum[k]);
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
    void skb_share(
        const double *, const double *, double *, Py_ssize_t,
    ) noexcept nogil
    void skb_add_shares(const double *, double *, Py_ssize_t) noexcept nogil
    void skb_add_terms(
        const double *, Py_ssize_t, const int32_t *, Py_ssize_t, double *,
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


def add_terms(
    const double[:, ::1] terms,
    const int32_t[:, ::1] of_dag,
    double[:, ::1] out,
):
    """Add up the terms of each DAG's families.

    Parameters
    ----------
    terms : ndarray of shape (n_families, n_padded)
        Row by row, padded to a multiple of 16.
    of_dag : ndarray of int32, shape (n_dags, n)
        The families of each DAG; -1 for one that does not count.
    out : ndarray of shape (n_dags, n_padded)
        The sums are added to it.
    """
    cdef Py_ssize_t start, d, n_rows = terms.shape[1], n = of_dag.shape[1]
    with nogil:
        for start in range(0, n_rows, 16):
            for d in range(of_dag.shape[0]):
                skb_add_terms(
                    &terms[0, start], n_rows, &of_dag[d, 0], n, &out[d, start]
                )


cdef class Weights:
    """Weights of DAGs in rows, to be added up over groups of DAGs.

    Relative to the largest of a row they are worked out once, and the sum over a group
    is left with additions. Where a group has next to nothing of a row, and may matter
    all the same to a cell that contradicts the others, its own largest one serves.

    Parameters
    ----------
    logs : ndarray of shape (n_dags, n_padded)
        Log weights, row by row, padded to a multiple of 16.
    """

    cdef:
        readonly Py_ssize_t n_padded
        const double[:, ::1] logs
        double[:, ::1] shares
        double[::1] peak

    def __init__(self, const double[:, ::1] logs):
        cdef Py_ssize_t d, n_rows = logs.shape[1]
        self.logs, self.n_padded = logs, n_rows
        self.shares = np.empty((logs.shape[0], n_rows))
        # not infinity: it is subtracted
        self.peak = np.full(n_rows, -1e300)
        with nogil:
            for d in range(logs.shape[0]):
                skb_maximum(&self.peak[0], &logs[d, 0], n_rows)
            for d in range(logs.shape[0]):
                skb_share(&logs[d, 0], &self.peak[0], &self.shares[d, 0], n_rows)

    def log_sums(
        self, const Py_ssize_t[::1] dags, const Py_ssize_t[::1] group,
        double[:, ::1] out,
    ):
        """Logarithms of the sums over groups of DAGs, row by row.

        Parameters
        ----------
        dags : ndarray of intp, shape (n_chosen,)
            Those that count.
        group : ndarray of intp, shape (n_chosen,)
            The group of each of these, in ascending order from 0, none left out.
        out : ndarray of shape (n_groups, n_padded)
            Gets the result.
        """
        cdef Py_ssize_t g, r, first, after = 0, n_rows = self.logs.shape[1]
        cdef double[::1] total = np.empty(n_rows)
        with nogil:
            for g in range(out.shape[0]):
                first = after
                while after < group.shape[0] and group[after] == g:
                    after += 1
                if after - first == 1:
                    out[g] = self.logs[dags[first]]
                    continue
                total[:] = self.shares[dags[first]]
                for r in range(first + 1, after):
                    skb_add_shares(&self.shares[dags[r], 0], &total[0], n_rows)
                skb_log_array(&total[0], &out[g, 0], n_rows)
                for r in range(n_rows):
                    if total[r] > SMALLEST:
                        out[g, r] += self.peak[r]
                    else:
                        out[g, r] = self.log_sum(dags[first:after], r)

    cdef double log_sum(self, const Py_ssize_t[::1] dags, Py_ssize_t r) noexcept nogil:
        """The same for one group and row, whatever the weights are."""
        cdef Py_ssize_t i
        cdef double result = log(0.0)
        for i in range(dags.shape[0]):
            result = skb_log_add_exp(result, self.logs[dags[i], r])
        return result


def level_log_sums(
    const double[:, :, ::1] factors,
    const int32_t[::1] first,
    const int32_t[::1] families,
    double[:, :, ::1] out,
):
    """Log sums of DAGs' products of probabilities, by the level of one variable.

    Parameters
    ----------
    factors : ndarray of shape (n_families, n_values, n_padded)
        Probabilities in each family, for each joint value of the variables that are
        free and each row. The first free variable changes slowest; rows are padded to
        a multiple of 16.
    first : ndarray of int32, shape (n_dags + 1,)
        Where the families of each DAG begin in `families`; there is at least one.
    families : ndarray of int32
        The families of all DAGs.
    out : ndarray of shape (n_dags, n_levels, n_padded)
        Gets for each level of the first free variable the logarithm of the sum, over
        the values of the others, of the product of the DAG's factors.
    """
    cdef:
        Py_ssize_t n_padded = factors.shape[2], n_values = factors.shape[1]
        Py_ssize_t n_levels = out.shape[1], n_rest = n_values // out.shape[1]
        Py_ssize_t start, d, level, r, n_families
        double[:, ::1] sums = np.empty((n_levels, SKB_TILE))
        const int32_t *own
    with nogil:
        for start in range(0, n_padded, 16):
            for d in range(out.shape[0]):
                own, n_families = &families[first[d]], first[d + 1] - first[d]
                skb_level_sums(
                    &factors[0, 0, start], n_values * n_padded, n_padded, own,
                    n_families, n_levels, n_rest, &sums[0, 0],
                )
                for level in range(n_levels):
                    for r in range(SKB_TILE):
                        if sums[level, r] < SMALLEST:
                            out[d, level, start + r] = log_sum_of_level(
                                factors, own, n_families, level * n_rest,
                                (level + 1) * n_rest, start + r,
                            )
                        else:
                            out[d, level, start + r] = skb_log(sums[level, r])


cdef double log_sum_of_level(
    const double[:, :, ::1] factors, const int32_t *families, Py_ssize_t n_families,
    Py_ssize_t first, Py_ssize_t stop, Py_ssize_t row,
) noexcept nogil:
    """The same for one row and level, product by product in logarithms."""
    cdef Py_ssize_t value, f
    cdef double log_product, peak = -1e308, total = 0.0
    cdef int scan
    for scan in range(2):
        for value in range(first, stop):
            log_product = 0.0
            for f in range(n_families):
                log_product += log(factors[families[f], value, row])
            if scan == 0:
                peak = max(peak, log_product)
            else:
                total += exp(log_product - peak)
    return peak + log(total)
