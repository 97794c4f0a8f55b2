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


cdef class HoledRows:
    """Probabilities of variables in rows with unobserved cells, one row at a time.

    What an observed or unobserved variable is, given what is observed, depends in a
    DAG on the families it is in (its *surrounding*), on those of the unobserved
    variables in them, and so on. DAGs in which all these are the same are one. Their
    families' probabilities are multiplied and summed over the joint values of these
    variables, depth first: a factor comes in as soon as its variables have values.

    DAGs are weighted by how probable the row's other observed cells are in them.

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
    of_dag : ndarray of int32, shape (n_dags, n)
        The families of each DAG.
    log_shares : ndarray of shape (n_dags,)
        Log weights of the DAGs before the row is looked at.
    max_values : int
        How many joint values are summed over at most.
    """

    cdef:
        const Py_ssize_t[::1] n_levels, table_start, member_first, members, strides
        const Py_ssize_t[:, ::1] surrounding
        const Py_ssize_t[::1] owner, family_first, families, linked_first, linked
        const double[::1] table, log_table, log_shares
        const int32_t[:, ::1] of_dag
        Py_ssize_t max_values, n, n_dags, n_families
        # of the present row
        Py_ssize_t[::1] base
        unsigned char[::1] is_open
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
        Py_ssize_t[::1] path_length, slots, path_of
        double[::1] log_weights, group, sums_of

    def __init__(
        self, n_levels, table, table_start, member_first, members, strides,
        surrounding, owner, family_first, families, linked_first, linked, of_dag,
        log_shares, max_values,
    ):
        self.n_levels, self.table, self.table_start = n_levels, table, table_start
        self.member_first, self.members, self.strides = member_first, members, strides
        self.surrounding, self.owner = surrounding, owner
        self.family_first, self.families = family_first, families
        self.linked_first, self.linked = linked_first, linked
        self.of_dag, self.log_shares = of_dag, log_shares
        self.log_table = np.log(table)
        self.max_values = max_values
        self.n, self.n_dags = surrounding.shape
        self.n_families = len(table_start)
        self.base = np.zeros(self.n_families, dtype=np.intp)
        self.is_open = np.zeros(self.n_families, dtype=np.uint8)
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
        self.path_of = np.zeros(self.n_dags, dtype=np.intp)
        self.log_weights = np.zeros(self.n_dags)
        self.group = np.zeros(self.n_dags)
        self.sums_of = np.zeros(self.n_dags)
        self.slots = np.zeros(1 << (2 * self.n_dags).bit_length(), dtype=np.intp)

    def set_row(self, int32_t[::1] codes):
        """Look at a row of codes; unobserved cells have codes below -1."""
        cdef Py_ssize_t family, k
        self.codes = codes
        with nogil:
            for family in range(self.n_families):
                self.base[family] = self.table_start[family]
                self.is_open[family] = 0
                for k in range(
                    self.member_first[family], self.member_first[family + 1]
                ):
                    if codes[self.members[k]] < -1:
                        self.is_open[family] = 1
                    else:
                        self.base[family] += (
                            self.strides[k] * (codes[self.members[k]] + 1)
                        )

    def weigh(self):
        """Work out how probable the row is in each DAG: its observed cells.

        Returns
        -------
        done : bool
            False if in some DAG there is too much to sum over.
        """
        cdef:
            Py_ssize_t dag, node, other, k, n_paths
            bint done = True
        with nogil:
            for dag in range(self.n_dags):
                self.log_weights[dag] = self.log_shares[dag]
                for node in range(self.n):
                    k = self.of_dag[dag, node]
                    if not self.is_open[k]:
                        self.log_weights[dag] += self.log_table[self.base[k]]
            for node in range(self.n):
                if self.codes[node] >= -1 or not done:
                    continue
                n_paths = self.follow(node)
                for k in range(n_paths):
                    self.sums_of[k] = self.sum_over(k)
                    if self.sums_of[k] < SMALLEST:
                        done = False
                    # what is linked is summed over together, and once
                    for other in range(self.path_length[k]):
                        if self.owner[self.paths[k, other]] < node:
                            self.sums_of[k] = 1.0
                if done:
                    for dag in range(self.n_dags):
                        self.log_weights[dag] += log(self.sums_of[self.path_of[dag]])
        return done

    def add_probabilities(self, Py_ssize_t node, double[::1] out):
        """Probabilities of a variable's levels given the row's other cells.

        Parameters
        ----------
        node : int
            The variable.
        out : ndarray of shape (n_levels,)
            Gets the probabilities.

        Returns
        -------
        done : bool
            False if in some DAG there is too much to sum over.
        """
        cdef:
            Py_ssize_t k, level, n_paths
            double total, peak = -1e300
            bint done = True
        with nogil:
            n_paths = self.follow(node)
            self.group_weights(n_paths)
            # Of what is observed the node itself must not count: its sums are made
            # relative to that of the level it has, or to all if it is unobserved.
            for k in range(n_paths):
                total = self.sum_over(k)
                if total > 0.0 and self.codes[node] >= 0:
                    total = self.sums[self.codes[node]]
                if total < SMALLEST:
                    done = False
                    break
                self.group[k] -= log(total)
                peak = max(peak, self.group[k])
            if done:
                for level in range(self.n_levels[node]):
                    out[level] = 0.0
                for k in range(n_paths):
                    self.sum_over(k)
                    for level in range(self.n_levels[node]):
                        out[level] += exp(self.group[k] - peak) * self.sums[level]
                total = 0.0
                for level in range(self.n_levels[node]):
                    total += out[level]
                for level in range(self.n_levels[node]):
                    out[level] /= total
        return done

    cdef Py_ssize_t follow(self, Py_ssize_t node) noexcept nogil:
        """Find the paths from a variable in all DAGs, and tell how many there are."""
        cdef Py_ssize_t k, dag, n_paths = 0
        for k in range(self.slots.shape[0]):
            self.slots[k] = -1
        for dag in range(self.n_dags):
            self.path_of[dag] = self.find_path(dag, node, &n_paths)
        return n_paths

    cdef void group_weights(self, Py_ssize_t n_paths) noexcept nogil:
        """Log sums of the weights of the DAGs that share a path."""
        cdef Py_ssize_t k, dag
        for k in range(n_paths):
            self.group[k] = -1e300
            self.sums_of[k] = 0.0
        for dag in range(self.n_dags):
            k = self.path_of[dag]
            self.group[k] = max(self.group[k], self.log_weights[dag])
        for dag in range(self.n_dags):
            k = self.path_of[dag]
            self.sums_of[k] += exp(self.log_weights[dag] - self.group[k])
        for k in range(n_paths):
            self.group[k] += log(self.sums_of[k])

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
