# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False
"""Student t densities of one scatter matrix, and expectations of cells under them.

With T the scatter matrix and D(Q) = z_Q' T_QQ^-1 z_Q, a child with p parents P has in a
row of deviations z from the mean the density

    c (offset + D(P))^((df + p) / 2) (offset + D(P + child))^(-(df + p + 1) / 2)

As a function of one cell x of the row, D(Q) is a quadratic: what the others leave open.
With m and w the prediction of x from the set S of the others and its precision,

    offset + D(S + x) = offset + D(S) + w (x - m)^2

So a DAG's density is, as a function of x, a product of powers of such quadratics, one
from the cell's own family (S are its parents) and two from each child's (S are the
child's other parents, with a positive power, and these and the child).

The expectation of x is an integral over a sum of such products, one for each blanket:
the families that have x, which several DAGs may share. It is taken by the trapezoidal
rule, which converges exponentially for such functions, at x = x0 + s sinh(k t) / k for
whole numbers t. The step s is smaller than the narrowest product's standard deviation,
by its normal approximation, and k makes steps grow in the tails, which fall as a power.
Twenty points give eight digits and more.

The loops go through the rows 16 at a time, and are C for the reasons that
``_vector.pxd`` gives.
"""

import numpy as np
from libc.math cimport exp, lgamma, log, sqrt
from libc.stdint cimport int32_t

from skbidag._core._vector cimport skb_log

cdef extern from *:
    """
    #define SKB_TILE 16

    /* Regression on p members for 16 rows of z, n by 16: the prediction, and what is
       at least in the quadratic. `factor` is the Cholesky factor of the members'
       scatter by rows, with inverted diagonal; y gets their values whitened by it. */
    SKB_CLONES void skb_regress(
        const double *z, const int32_t *members, Py_ssize_t p, const double *factor,
        const double *explained, double offset, double *y, double *location,
        double *rest)
    {
        for (int k = 0; k < 4; k++) {
            skb_vec distance = SKB_ALL(offset), predicted = SKB_ALL(0.0);
            const double *row = factor;
            for (Py_ssize_t i = 0; i < p; i++) {
                skb_vec value = SKB_LOAD(z + SKB_TILE * members[i] + 4 * k);
                for (Py_ssize_t j = 0; j < i; j++)
                    value -= SKB_ALL(row[j]) * SKB_LOAD(y + 4 * j);
                value *= SKB_ALL(row[i]);
                SKB_STORE(y + 4 * i, value);
                distance += value * value;
                predicted += SKB_ALL(explained[i]) * value;
                row += i + 1;
            }
            SKB_STORE(location + 4 * k, predicted);
            SKB_STORE(rest + 4 * k, distance);
        }
    }

    /* Log Student t density of 16 rows of a child, given its regression. */
    SKB_CLONES void skb_log_t(
        const double *z, const double *location, const double *rest, double precision,
        double constant, double half_df, double *out)
    {
        for (int k = 0; k < 4; k++) {
            skb_vec residual = SKB_LOAD(z + 4 * k) - SKB_LOAD(location + 4 * k);
            skb_vec distance = SKB_LOAD(rest + 4 * k);
            skb_vec with_child = distance + residual * residual * SKB_ALL(precision);
            skb_log_to(&distance, &distance);
            skb_log_to(&with_child, &with_child);
            SKB_STORE(out + 4 * k, SKB_ALL(constant) + SKB_ALL(half_df) * distance
                      - SKB_ALL(half_df + 0.5) * with_child);
        }
    }

    /* Logarithms of all quadratics at one point for each of 16 rows. */
    SKB_CLONES void skb_log_quadratics(
        Py_ssize_t n_sets, const double *x, const double *location, const double *rest,
        const double *precision, double *out)
    {
        for (Py_ssize_t i = 0; i < n_sets * SKB_TILE; i += 4) {
            skb_vec away = SKB_LOAD(x + i % SKB_TILE) - SKB_LOAD(location + i);
            skb_vec value = SKB_LOAD(rest + i)
                            + SKB_ALL(precision[i / SKB_TILE]) * away * away;
            skb_log_to(&value, &value);
            SKB_STORE(out + i, value);
        }
    }

    /* Log product of powers of one blanket. */
    SKB_INLINE void skb_log_product(
        const double *logs, const int32_t *sets, const double *powers, Py_ssize_t n,
        int k, skb_vec *out)
    {
        skb_vec total = SKB_ALL(0.0);
        for (Py_ssize_t i = 0; i < n; i++)
            total += SKB_ALL(powers[i]) * SKB_LOAD(logs + SKB_TILE * sets[i] + 4 * k);
        *out = total;
    }

    /* Normal approximation of one blanket. At x, a quadratic pulls towards its own
       minimum by its power times w / (value at x), some of them away from it; where all
       is in balance is a peak. Starts as if x were at every minimum. Where those that
       push leave nothing, those that pull are taken alone. */
    SKB_CLONES void skb_approximate(
        const int32_t *sets, const double *powers, Py_ssize_t n, const double *location,
        const double *rest, const double *precision, double *center, double *width)
    {
        for (int k = 0; k < 4; k++) {
            skb_vec x = SKB_ALL(0.0), most = SKB_ALL(0.0);
            for (int turn = 0; turn < 4; turn++) {
                skb_vec total = SKB_ALL(0.0), moment = total, pulls = total, to = total;
                for (Py_ssize_t i = 0; i < n; i++) {
                    const Py_ssize_t here = SKB_TILE * sets[i] + 4 * k;
                    skb_vec minimum = SKB_LOAD(location + here);
                    skb_vec w = SKB_ALL(precision[sets[i]]);
                    skb_vec value = SKB_LOAD(rest + here);
                    if (turn)
                        value += w * (x - minimum) * (x - minimum);
                    skb_vec pull = SKB_ALL(-2.0 * powers[i]) * w / value;
                    total += pull;
                    moment += pull * minimum;
                    if (powers[i] < 0.0) {
                        pulls += pull;
                        to += pull * minimum;
                    }
                }
                skb_int enough = (skb_int)(total > pulls * SKB_ALL(0.001));
                x = SKB_SELECT(enough, moment / total, to / pulls);
                total = SKB_SELECT(enough, total, pulls);
                most = SKB_SELECT((skb_int)(total > most), total, most);
            }
            SKB_STORE(center + 4 * k, x);
            for (int r = 0; r < 4; r++)
                width[4 * k + r] = 1.0 / sqrt(most[r]);
        }
    }

    /* Logarithms of one blanket's quadratics at its center, as a log product. */
    SKB_CLONES void skb_log_at(
        const int32_t *sets, const double *powers, Py_ssize_t n, const double *x,
        const double *location, const double *rest, const double *precision,
        double *out)
    {
        for (int k = 0; k < 4; k++) {
            skb_vec total = SKB_ALL(0.0);
            for (Py_ssize_t i = 0; i < n; i++) {
                const Py_ssize_t here = SKB_TILE * sets[i] + 4 * k;
                skb_vec away = SKB_LOAD(x + 4 * k) - SKB_LOAD(location + here);
                skb_vec value = SKB_LOAD(rest + here)
                                + SKB_ALL(precision[sets[i]]) * away * away;
                skb_log_to(&value, &value);
                total += SKB_ALL(powers[i]) * value;
            }
            SKB_STORE(out + 4 * k, total);
        }
    }

    /* out = weights - log product, for 16 rows. */
    SKB_CLONES void skb_take_out(
        const double *logs, const int32_t *sets, const double *powers, Py_ssize_t n,
        const double *weights, double *out)
    {
        for (int k = 0; k < 4; k++) {
            skb_vec value;
            skb_log_product(logs, sets, powers, n, k, &value);
            SKB_STORE(out + 4 * k, SKB_LOAD(weights + 4 * k) - value);
        }
    }

    /* The sum over blankets of exp(shift + log product), for 16 rows. */
    SKB_CLONES void skb_add_blankets(
        Py_ssize_t n_kept, const int32_t *kept, const int32_t *first,
        const int32_t *sets, const double *powers, const double *logs,
        const double *shift, double *out)
    {
        skb_vec total[4];
        for (int k = 0; k < 4; k++)
            total[k] = SKB_ALL(0.0);
        for (Py_ssize_t i = 0; i < n_kept; i++) {
            const Py_ssize_t b = kept[i], at = first[b], n = first[b + 1] - at;
            for (int k = 0; k < 4; k++) {
                skb_vec value;
                skb_log_product(logs, sets + at, powers + at, n, k, &value);
                value += SKB_LOAD(shift + SKB_TILE * b + 4 * k);
                value = SKB_SELECT((skb_int)(value > SKB_ALL(700.0)),
                                   SKB_ALL(700.0), value);
                skb_exp_to(&value, &value);
                total[k] += value;
            }
        }
        for (int k = 0; k < 4; k++)
            SKB_STORE(out + 4 * k, total[k]);
    }
    """
    enum: SKB_TILE
    void skb_regress(
        const double *, const int32_t *, Py_ssize_t, const double *, const double *,
        double, double *, double *, double *,
    ) noexcept nogil
    void skb_log_t(
        const double *, const double *, const double *, double, double, double,
        double *,
    ) noexcept nogil
    void skb_log_quadratics(
        Py_ssize_t, const double *, const double *, const double *, const double *,
        double *,
    ) noexcept nogil
    void skb_approximate(
        const int32_t *, const double *, Py_ssize_t, const double *, const double *,
        const double *, double *, double *,
    ) noexcept nogil
    void skb_log_at(
        const int32_t *, const double *, Py_ssize_t, const double *, const double *,
        const double *, const double *, double *,
    ) noexcept nogil
    void skb_take_out(
        const double *, const int32_t *, const double *, Py_ssize_t, const double *,
        double *,
    ) noexcept nogil
    void skb_add_blankets(
        Py_ssize_t, const int32_t *, const int32_t *, const int32_t *, const double *,
        const double *, const double *, double *,
    ) noexcept nogil

# A blanket whose share is below exp(-40) of another's does not count.
cdef double NEGLIGIBLE = 40.0

# Steps in units of the narrowest standard deviation: at 0.7 the rule's error is of the
# order of exp(-2 (pi / 0.7)^2) in the middle, and still 1e-8 where steps are 1. With few
# degrees of freedom functions are less smooth, and steps are up to half as long.
cdef double STEP = 0.7

# A pair of points that adds less than this ends the sum.
cdef double ENOUGH = 1e-12

# And so does this number, in a row that contradicts itself by thousands of steps.
cdef Py_ssize_t MOST_POINTS = 4096


cdef class Regressions:
    """Regressions of variables on sets of others, and Student t densities from them.

    Parameters
    ----------
    scatter : ndarray of shape (n, n)
        The posterior scatter matrix T.
    floor : ndarray of shape (n,)
        The least variances.
    offset, df : float
        See above; `df` are the degrees of freedom without parents.
    nodes : ndarray of int32, shape (n_sets,)
        What is regressed.
    first : ndarray of int32, shape (n_sets + 1,)
        Where their sets begin in `members`.
    members : ndarray of int32
        The members of all sets.
    """

    cdef:
        readonly double offset, df
        readonly Py_ssize_t n_sets
        Py_ssize_t n
        const int32_t[::1] nodes, first, members
        # of each set the factor by rows and the whitened covariances, and where they
        # begin; precisions
        double[::1] numbers, precision, whitened
        Py_ssize_t[::1] start
        # of 16 rows
        double[:, ::1] location, rest

    def __init__(
        self, const double[:, ::1] scatter, const double[::1] floor, double offset,
        double df, const int32_t[::1] nodes, const int32_t[::1] first,
        const int32_t[::1] members,
    ):
        cdef Py_ssize_t f, p
        sizes = np.diff(first)
        ends = np.cumsum(sizes * (sizes + 1) // 2 + sizes)
        self.offset, self.df = offset, df
        self.n, self.n_sets = scatter.shape[0], nodes.shape[0]
        self.nodes, self.first, self.members = nodes, first, members
        self.start = np.concatenate([[0], ends]).astype(np.intp)
        self.numbers = np.zeros(self.start[self.n_sets] + 1)
        self.precision = np.zeros(self.n_sets + 1)
        self.whitened = np.zeros(SKB_TILE * (sizes.max(initial=0) + 1))
        self.location = np.zeros((self.n_sets + 1, SKB_TILE))
        self.rest = np.zeros((self.n_sets + 1, SKB_TILE))
        with nogil:
            for f in range(self.n_sets):
                p = first[f + 1] - first[f]
                self.factorize(scatter, floor, f, p)

    cdef void factorize(
        self, const double[:, ::1] scatter, const double[::1] floor, Py_ssize_t f,
        Py_ssize_t p,
    ) noexcept nogil:
        """Cholesky factor of a set's scatter; what is regressed is one more row."""
        cdef:
            Py_ssize_t i, j, k
            double value, pivot
            double *row = &self.numbers[self.start[f]]
            double *explained = row + p * (p + 1) // 2
            double *earlier
            double *target
        for i in range(p + 1):
            k = self.members[self.first[f] + i] if i < p else self.nodes[f]
            pivot = scatter[k, k]
            earlier = &self.numbers[self.start[f]]
            target = row if i < p else explained
            for j in range(i):
                value = scatter[k, self.members[self.first[f] + j]]
                value = (value - dot(target, earlier, j)) * earlier[j]
                target[j] = value
                pivot -= value * value
                earlier += j + 1
            pivot = max(pivot, floor[k])
            if i < p:
                row[i] = 1.0 / sqrt(pivot)
                row += i + 1
            else:
                self.precision[f] = 1.0 / pivot

    cdef void regress(self, const double *z) noexcept nogil:
        """Predictions, and what the quadratics are at least, for 16 rows."""
        cdef Py_ssize_t f, p
        for f in range(self.n_sets):
            p = self.first[f + 1] - self.first[f]
            skb_regress(
                z, &self.members[0] + self.first[f], p, &self.numbers[self.start[f]],
                &self.numbers[self.start[f] + p * (p + 1) // 2], self.offset,
                &self.whitened[0], &self.location[f, 0], &self.rest[f, 0],
            )

    def log_densities(self, const double[:, ::1] z, double[:, ::1] out):
        """Log Student t densities given the sets.

        Parameters
        ----------
        z : ndarray of shape (n_tiles * n, 16)
            Deviations from the mean, 16 rows at a time, by variables.
        out : ndarray of shape (n_sets, n_tiles * 16)
            Gets the densities, row by row.
        """
        cdef:
            Py_ssize_t f, tile
            double[::1] half_df = np.empty(self.n_sets + 1)
            double[::1] constant = np.empty(self.n_sets + 1)
            const double *rows
        with nogil:
            for f in range(self.n_sets):
                half_df[f] = 0.5 * (self.df + self.first[f + 1] - self.first[f])
                constant[f] = (
                    lgamma(half_df[f] + 0.5) - lgamma(half_df[f])
                    + 0.5 * log(self.precision[f] / 3.141592653589793238463)
                )
            for tile in range(z.shape[0] // self.n):
                rows = &z[tile * self.n, 0]
                self.regress(rows)
                for f in range(self.n_sets):
                    skb_log_t(
                        rows + SKB_TILE * self.nodes[f], &self.location[f, 0],
                        &self.rest[f, 0], self.precision[f], constant[f], half_df[f],
                        &out[f, tile * SKB_TILE],
                    )

    def expectations(
        self,
        const double[:, ::1] z,
        const double[:, ::1] log_weights,
        const int32_t[::1] blanket_first,
        const int32_t[::1] sets,
        const double[::1] powers,
        double[::1] out,
    ):
        """Expectations of one variable given all others, row by row.

        What is regressed must be the same variable in all sets. Its own values have no
        effect on the result.

        Parameters
        ----------
        z : ndarray of shape (n_tiles * n, 16)
            Deviations from the mean, 16 rows at a time, by variables.
        log_weights : ndarray of shape (n_blankets, n_tiles * 16)
            Log densities of the rows in the DAGs of each blanket, added up.
        blanket_first : ndarray of int32, shape (n_blankets + 1,)
            Where the quadratics of each blanket begin in `sets`.
        sets, powers : ndarrays
            The sets of the quadratics, and the powers they are raised to.
        out : ndarray of shape (n_tiles * 16,)
            Gets the expectations, as deviations from the mean.
        """
        cdef:
            Py_ssize_t n_blankets = log_weights.shape[0], tile
            double[:, ::1] logs = np.empty((self.n_sets, SKB_TILE))
            double[:, ::1] shift = np.empty((n_blankets, SKB_TILE))
            double[:, ::1] center = np.empty((n_blankets, SKB_TILE))
            double[:, ::1] width = np.empty((n_blankets, SKB_TILE))
            double[:, ::1] mass = np.empty((n_blankets, SKB_TILE))
            int32_t[::1] kept = np.empty(n_blankets, dtype=np.int32)
            Grid grid
            const double *rows
            Py_ssize_t b, at, n_kept
        with nogil:
            for tile in range(z.shape[0] // self.n):
                rows = &z[tile * self.n, 0]
                self.regress(rows)
                skb_log_quadratics(
                    self.n_sets, rows + SKB_TILE * self.nodes[0], &self.location[0, 0],
                    &self.rest[0, 0], &self.precision[0], &logs[0, 0],
                )
                for b in range(n_blankets):
                    at = blanket_first[b]
                    skb_take_out(
                        &logs[0, 0], &sets[at], &powers[at], blanket_first[b + 1] - at,
                        &log_weights[b, tile * SKB_TILE], &shift[b, 0],
                    )
                    skb_approximate(
                        &sets[at], &powers[at], blanket_first[b + 1] - at,
                        &self.location[0, 0], &self.rest[0, 0], &self.precision[0],
                        &center[b, 0], &width[b, 0],
                    )
                    skb_log_at(
                        &sets[at], &powers[at], blanket_first[b + 1] - at,
                        &center[b, 0], &self.location[0, 0], &self.rest[0, 0],
                        &self.precision[0], &mass[b, 0],
                    )
                n_kept = choose_blankets(shift, mass, width, kept)
                self.place_grid(
                    blanket_first, sets, powers, center, width, mass,
                    kept[:n_kept], &grid,
                )
                self.integrate(
                    blanket_first, sets, powers, shift, kept[:n_kept], logs, &grid,
                    &out[tile * SKB_TILE],
                )

    cdef void place_grid(
        self, const int32_t[::1] first, const int32_t[::1] sets,
        const double[::1] powers, const double[:, ::1] center,
        const double[:, ::1] width, const double[:, ::1] mass,
        const int32_t[::1] kept, Grid *grid,
    ) noexcept nogil:
        """Middle, step and growth of steps for 16 rows."""
        cdef Py_ssize_t i, b, k, r
        cdef double low, high, narrow, location, half
        for r in range(SKB_TILE):
            low, high, narrow = 1e308, -1e308, 1e308
            for i in range(kept.shape[0]):
                b = kept[i]
                if mass[b, r] < -NEGLIGIBLE:
                    continue
                low = min(low, center[b, r])
                high = max(high, center[b, r])
                narrow = min(narrow, width[b, r])
                # where families contradict each other, each may have a peak
                for k in range(first[b], first[b + 1]):
                    if powers[k] < 0.0:
                        location = self.location[sets[k], r]
                        low = min(low, location)
                        high = max(high, location)
            half = 0.5 * (high - low)
            grid.middle[r] = low + half
            grid.half[r] = half
            grid.step[r] = STEP * narrow / (1.0 + 5.0 / self.df)
            # steps grow by an eighth at most between the peaks
            half /= grid.step[r]
            grid.growth[r] = 1.0 / sqrt(self.df + 4.0 * half * half)

    cdef void integrate(
        self, const int32_t[::1] first, const int32_t[::1] sets,
        const double[::1] powers, const double[:, ::1] shift,
        const int32_t[::1] kept, double[:, ::1] logs, Grid *grid, double *out,
    ) noexcept nogil:
        """Trapezoidal sums from the middle outwards, for 16 rows."""
        cdef:
            double x[16]
            double value[16]
            double total[16]
            double moment[16]
            double grown[16]
            double factor[16]
            double added[16]
            double away, stretch
            Py_ssize_t t, r
            int side
            bint go_on = True
        for r in range(SKB_TILE):
            total[r] = moment[r] = added[r] = 0.0
            grown[r] = 1.0
            factor[r] = exp(grid.growth[r])
        t = 0
        while go_on and t < MOST_POINTS:
            for side in range(1 if t == 0 else 2):
                for r in range(SKB_TILE):
                    away = 0.5 * (grown[r] - 1.0 / grown[r]) / grid.growth[r]
                    away *= grid.step[r]
                    x[r] = grid.middle[r] + (away if side == 0 else -away)
                skb_log_quadratics(
                    self.n_sets, x, &self.location[0, 0], &self.rest[0, 0],
                    &self.precision[0], &logs[0, 0],
                )
                skb_add_blankets(
                    kept.shape[0], &kept[0], &first[0], &sets[0], &powers[0],
                    &logs[0, 0], &shift[0, 0], value,
                )
                for r in range(SKB_TILE):
                    stretch = 0.5 * (grown[r] + 1.0 / grown[r])
                    value[r] *= stretch
                    total[r] += value[r]
                    moment[r] += value[r] * (x[r] - grid.middle[r])
                    added[r] = value[r] + (added[r] if side else 0.0)
            go_on = False
            for r in range(SKB_TILE):
                away = 0.5 * (grown[r] - 1.0 / grown[r]) / grid.growth[r]
                away *= grid.step[r]
                # its share in the first moment, of which tails have more
                added[r] *= 1.0 + away / grid.step[r]
                if away <= grid.half[r] or added[r] > ENOUGH * total[r]:
                    go_on = True
                grown[r] *= factor[r]
            t += 1
        for r in range(SKB_TILE):
            out[r] = grid.middle[r] + moment[r] / total[r]


cdef struct Grid:
    double middle[16]
    double half[16]
    double step[16]
    double growth[16]


cdef Py_ssize_t choose_blankets(
    double[:, ::1] shift, double[:, ::1] mass, const double[:, ::1] width,
    int32_t[::1] kept,
) noexcept nogil:
    """Those that count in any row. Shifts and masses become relative to the largest."""
    cdef:
        Py_ssize_t b, r, n_kept = 0, n_blankets = shift.shape[0]
        double peak[16]
        double top[16]
        double share
        bint counts
    for r in range(SKB_TILE):
        peak[r] = top[r] = -1e308
        for b in range(n_blankets):
            share = shift[b, r] + mass[b, r]
            top[r] = max(top[r], share)
            peak[r] = max(peak[r], share + skb_log(width[b, r]))
    for b in range(n_blankets):
        counts = False
        for r in range(SKB_TILE):
            mass[b, r] += shift[b, r] + skb_log(width[b, r]) - peak[r]
            if mass[b, r] > -NEGLIGIBLE:
                counts = True
            shift[b, r] -= top[r]
        if counts:
            kept[n_kept] = <int32_t> b
            n_kept += 1
    return n_kept


cdef inline double dot(const double *a, const double *b, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t k
    cdef double total = 0.0
    for k in range(n):
        total += a[k] * b[k]
    return total
