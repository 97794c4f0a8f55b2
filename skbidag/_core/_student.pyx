# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False
"""Student t densities of scatter matrices, and expectations of cells under them.

With T the scatter matrix and D(Q) = z_Q' T_QQ^-1 z_Q, a child with p parents P has in a
row of deviations z from the mean the density

    c (offset + D(P))^((df + p) / 2) (offset + D(P + child))^(-(df + p + 1) / 2)

As a function of one cell x of the row, D(Q) is a quadratic: what the others leave open.
With m and w the prediction of x from the set S of the others and its precision,

    offset + D(S + x) = offset + D(S) + w (x - m)^2

So a DAG's density is, as a function of x, a product of powers of such quadratics, one
from the cell's own family (S are its parents) and two from each child's (S are the
child's other parents, with a positive power, and these and the child).

Where each child has rows of its own to learn from, and so another mean and another T,
one more variable is 1 in every row and in every set. T then has the products about one
point for all, and the constant's regressions are the means (:class:`Regressions`).

The expectation of x is an integral over a sum of such products, one for each blanket:
the families that have x, which several DAGs may share. With many degrees of freedom
these are nearly normal, and Laplace's approximation gives mass and mean of each from
six derivatives, which are sums over families (:meth:`Cell.expand`). It tells the size
of what it leaves out. Where that is too much, the integral is taken by the trapezoidal
rule (:meth:`Cell.integrate`), which converges exponentially for such functions, at
x = x0 + s sinh(k t) / k for whole numbers t. The step s is smaller than the narrowest
product's standard deviation, by its normal approximation, and k makes steps grow in
the tails, which fall as a power. Thirty points give eight digits and more, at twenty
times the cost. Where families contradict each other, by hundreds of steps, most of what
they say does not matter: the grid is for the peaks that do (:meth:`Cell.narrow_grid`).

Where other cells of a row are unobserved as well, a DAG is taken for a normal
distribution (``_normal_mixture.pyx``).

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

    /* Log products of powers: those of the families at one point. */
    SKB_CLONES void skb_log_families(
        Py_ssize_t n_families, const int32_t *first, const int32_t *sets,
        const double *powers, const double *logs, double *out)
    {
        for (Py_ssize_t f = 0; f < n_families; f++)
            for (int k = 0; k < 4; k++) {
                skb_vec total = SKB_ALL(0.0);
                for (Py_ssize_t i = first[f]; i < first[f + 1]; i++)
                    total += SKB_ALL(powers[i])
                             * SKB_LOAD(logs + SKB_TILE * sets[i] + 4 * k);
                SKB_STORE(out + SKB_TILE * f + 4 * k, total);
            }
    }

    /* The log product of a family at x relative to that at z, and its first six
       derivatives at x. Those of ln q are polynomials in a = q' / q and b = q'' / q. */
    SKB_CLONES void skb_derivatives(
        Py_ssize_t n_families, const int32_t *first, const int32_t *sets,
        const double *powers, const double *x, const double *z,
        const double *location, const double *rest, const double *precision,
        double *out)
    {
        for (Py_ssize_t f = 0; f < n_families; f++)
            for (int k = 0; k < 4; k++) {
                skb_vec total[7];
                for (int d = 0; d < 7; d++)
                    total[d] = SKB_ALL(0.0);
                for (Py_ssize_t i = first[f]; i < first[f + 1]; i++) {
                    const Py_ssize_t here = SKB_TILE * sets[i] + 4 * k;
                    skb_vec w = SKB_ALL(precision[sets[i]]), power = SKB_ALL(powers[i]);
                    skb_vec away = SKB_LOAD(x + 4 * k) - SKB_LOAD(location + here);
                    skb_vec seen = SKB_LOAD(z + 4 * k) - SKB_LOAD(location + here);
                    skb_vec q = SKB_LOAD(rest + here) + w * away * away;
                    skb_vec ratio = q / (SKB_LOAD(rest + here) + w * seen * seen);
                    skb_vec b = 2.0 * w / q, a = b * away, aa = a * a;
                    skb_log_to(&ratio, &ratio);
                    total[0] += power * ratio;
                    total[1] += power * a;
                    total[2] += power * (b - aa);
                    total[3] += power * a * (2.0 * aa - 3.0 * b);
                    total[4] += power * (aa * (12.0 * b - 6.0 * aa) - 3.0 * b * b);
                    total[5] += power * a * (aa * (24.0 * aa - 60.0 * b)
                                             + 30.0 * b * b);
                    total[6] += power * (aa * (aa * (360.0 * b - 120.0 * aa)
                                               - 270.0 * b * b) + 30.0 * b * b * b);
                }
                for (int d = 0; d < 7; d++)
                    SKB_STORE(out + SKB_TILE * (7 * f + d) + 4 * k, total[d]);
            }
    }

    /* A point amid the blankets: where all quadratics pull together. */
    SKB_CLONES void skb_find_middle(
        Py_ssize_t n_sets, const double *importance, const double *location,
        const double *rest, double *x)
    {
        for (int k = 0; k < 4; k++) {
            skb_vec total = SKB_ALL(0.0), moment = SKB_ALL(0.0);
            for (Py_ssize_t i = 0; i < n_sets; i++) {
                const Py_ssize_t here = SKB_TILE * i + 4 * k;
                skb_vec pull = SKB_ALL(importance[i]) / SKB_LOAD(rest + here);
                total += pull;
                moment += pull * SKB_LOAD(location + here);
            }
            SKB_STORE(x + 4 * k, moment / total);
        }
    }

    /* Laplace's approximation of one blanket's integral and mean, to the second order:
       the log mass, the mean as a deviation from where the derivatives are taken, and
       the size of the first terms left out, in standard deviations, squared. */
    SKB_CLONES void skb_expand(
        const int32_t *families, Py_ssize_t n, const double *derivatives,
        const double *weights, double *mass, double *mean, double *left_out)
    {
        /* one family after the other, whose numbers lie side by side */
        skb_vec sums[7 * 4];
        for (int i = 0; i < 28; i++)
            sums[i] = SKB_ALL(0.0);
        for (Py_ssize_t f = 0; f < n; f++) {
            const double *own = derivatives + SKB_TILE * 7 * families[f];
            for (int i = 0; i < 28; i++)
                sums[i] += SKB_LOAD(own + 4 * i);
        }
        for (int k = 0; k < 4; k++) {
            skb_vec h[7];
            for (int d = 0; d < 7; d++)
                h[d] = sums[4 * d + k];
            /* coefficients of the Taylor series */
            const skb_vec c1 = h[1], c2 = h[2] * 0.5, c3 = h[3] * (1.0 / 6.0);
            const skb_vec c4 = h[4] * (1.0 / 24.0), c5 = h[5] * (1.0 / 120.0);
            const skb_vec c6 = h[6] * (1.0 / 720.0);
            const skb_vec d2 = 2.0 * c2, d3 = 6.0 * c3, d4 = 12.0 * c4;
            const skb_vec d5 = 20.0 * c5, d6 = 30.0 * c6;
            /* two of Newton's steps to the peak */
            skb_vec t = -c1 / d2;
            t -= (c1 + t * (d2 + t * (0.5 * d3 + t * (4.0 * c4 + t * (5.0 * c5
                  + t * (6.0 * c6))))))
                 / (d2 + t * (d3 + t * (d4 + t * (d5 + t * d6))));
            skb_vec value = h[0] + t * (c1 + t * (c2 + t * (c3 + t * (c4 + t * (c5
                            + t * c6)))));
            skb_vec curve = -(d2 + t * (d3 + t * (d4 + t * (d5 + t * d6))));
            skb_vec third = d3 + t * (2.0 * d4 + t * (3.0 * d5 + t * (4.0 * d6)));
            skb_vec fourth = 2.0 * d4 + t * (6.0 * d5 + t * (12.0 * d6));
            skb_vec fifth = 6.0 * d5 + t * (24.0 * d6), sixth = 24.0 * d6;
            /* in units of the width, of which only even powers are needed */
            skb_int peaked = (skb_int)(curve > SKB_ALL(1e-300));
            curve = SKB_SELECT(peaked, curve, SKB_ALL(1e-300));
            const skb_vec s2 = 1.0 / curve, s4 = s2 * s2, s6 = s4 * s2;
            const skb_vec tt = third * third * s6, tv = third * fifth * s6 * s2;
            fourth *= s4;
            sixth *= s6;
            skb_vec around = 1.0 + fourth * 0.125 + tt * (5.0 / 24.0)
                + sixth * (1.0 / 48.0) + fourth * fourth * (35.0 / 384.0)
                + tv * (7.0 / 48.0) + tt * fourth * (35.0 / 64.0)
                + tt * tt * (385.0 / 1152.0);
            around = SKB_SELECT((skb_int)(around > SKB_ALL(0.1)), around, SKB_ALL(0.1));
            around = around * around * s2;
            skb_log_to(&around, &around);
            SKB_STORE(mass + 4 * k, SKB_LOAD(weights + 4 * k) + value + 0.5 * around);
            SKB_STORE(mean + 4 * k, t + s4 * (third * (0.5 + fourth * (2.0 / 3.0)
                      + tt * (5.0 / 8.0)) + fifth * s2 * 0.125));
            /* the first terms left out, squared; and far from where derivatives are
               taken, the seventh, of the order of the third times the fourth squared */
            const skb_vec far = t * t * curve, even = fourth * fourth;
            const skb_vec more = even * (1.0 + far * far * far) + tt * tt;
            const skb_vec square = tt * (more * more + tt * tt * even);
            SKB_STORE(left_out + 4 * k, SKB_SELECT(peaked, square, SKB_ALL(1.0)));
        }
    }

    /* Normal approximation of one blanket. At x, a quadratic pulls towards its own
       minimum by its power times w / (value at x), some of them away from it; where all
       is in balance is a peak. Starts as if x were at every minimum. Where those that
       push leave nothing, those that pull are taken alone. */
    SKB_CLONES void skb_approximate(
        const int32_t *members, Py_ssize_t n, const int32_t *first, const int32_t *sets,
        const double *powers, const double *location, const double *rest,
        const double *precision, double *center, double *width)
    {
        for (int k = 0; k < 4; k++) {
            skb_vec x = SKB_ALL(0.0), most = SKB_ALL(0.0);
            for (int turn = 0; turn < 4; turn++) {
                skb_vec total = SKB_ALL(0.0), moment = total, pulls = total, to = total;
                for (Py_ssize_t f = 0; f < n; f++)
                for (Py_ssize_t i = first[members[f]]; i < first[members[f] + 1]; i++) {
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

    /* Log product of one blanket at its center. */
    SKB_CLONES void skb_log_at(
        const int32_t *members, Py_ssize_t n, const int32_t *first, const int32_t *sets,
        const double *powers, const double *x, const double *location,
        const double *rest, const double *precision, double *out)
    {
        for (int k = 0; k < 4; k++) {
            skb_vec total = SKB_ALL(0.0);
            for (Py_ssize_t f = 0; f < n; f++)
            for (Py_ssize_t i = first[members[f]]; i < first[members[f] + 1]; i++) {
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

    /* Log product of one blanket at x, and how narrow it may be there: all quadratics
       as if they pulled together. */
    SKB_CLONES void skb_look_at(
        const int32_t *members, Py_ssize_t n, const int32_t *first, const int32_t *sets,
        const double *powers, const double *x, const double *location,
        const double *rest, const double *precision, const double *shift, double *out,
        double *width)
    {
        for (int k = 0; k < 4; k++) {
            skb_vec total = SKB_LOAD(shift + 4 * k), pulls = SKB_ALL(0.0);
            for (Py_ssize_t f = 0; f < n; f++)
            for (Py_ssize_t i = first[members[f]]; i < first[members[f] + 1]; i++) {
                const Py_ssize_t here = SKB_TILE * sets[i] + 4 * k;
                const double power = powers[i];
                skb_vec away = SKB_LOAD(x + 4 * k) - SKB_LOAD(location + here);
                skb_vec w = SKB_ALL(precision[sets[i]]);
                skb_vec value = SKB_LOAD(rest + here) + w * away * away;
                pulls += SKB_ALL(power < 0.0 ? -2.0 * power : 2.0 * power) * w / value;
                skb_log_to(&value, &value);
                total += SKB_ALL(power) * value;
            }
            SKB_STORE(out + 4 * k, total);
            for (int r = 0; r < 4; r++)
                width[4 * k + r] = 1.0 / sqrt(pulls[r]);
        }
    }

    /* out = weights - log products of a blanket's families, for 16 rows. */
    SKB_CLONES void skb_take_out(
        const double *families, const int32_t *members, Py_ssize_t n,
        const double *weights, double *out)
    {
        for (int k = 0; k < 4; k++) {
            skb_vec total = SKB_LOAD(weights + 4 * k);
            for (Py_ssize_t f = 0; f < n; f++)
                total -= SKB_LOAD(families + SKB_TILE * members[f] + 4 * k);
            SKB_STORE(out + 4 * k, total);
        }
    }

    /* Mean over blankets of their means, weighted by exp(mass), for 16 rows. */
    SKB_CLONES void skb_average(
        Py_ssize_t n_blankets, const double *mass, const double *mean, double *out)
    {
        for (int k = 0; k < 4; k++) {
            skb_vec peak = SKB_ALL(-1e300), total = SKB_ALL(0.0), moment = total;
            for (Py_ssize_t b = 0; b < n_blankets; b++) {
                skb_vec value = SKB_LOAD(mass + SKB_TILE * b + 4 * k);
                peak = SKB_SELECT((skb_int)(value > peak), value, peak);
            }
            for (Py_ssize_t b = 0; b < n_blankets; b++) {
                skb_vec value = SKB_LOAD(mass + SKB_TILE * b + 4 * k) - peak;
                skb_exp_to(&value, &value);
                total += value;
                moment += value * SKB_LOAD(mean + SKB_TILE * b + 4 * k);
            }
            SKB_STORE(out + 4 * k, moment / total);
        }
    }

    /* The sum over blankets of exp(shift + log products), for 16 rows. */
    SKB_CLONES void skb_add_blankets(
        Py_ssize_t n_blankets, const int32_t *first, const int32_t *members,
        const double *families, const double *shift, double *out)
    {
        skb_vec total[4];
        for (int k = 0; k < 4; k++)
            total[k] = SKB_ALL(0.0);
        for (Py_ssize_t b = 0; b < n_blankets; b++) {
            for (int k = 0; k < 4; k++) {
                skb_vec value = SKB_LOAD(shift + SKB_TILE * b + 4 * k);
                for (Py_ssize_t f = first[b]; f < first[b + 1]; f++)
                    value += SKB_LOAD(families + SKB_TILE * members[f] + 4 * k);
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
    void skb_log_families(
        Py_ssize_t, const int32_t *, const int32_t *, const double *, const double *,
        double *,
    ) noexcept nogil
    void skb_derivatives(
        Py_ssize_t, const int32_t *, const int32_t *, const double *, const double *,
        const double *, const double *, const double *, const double *, double *,
    ) noexcept nogil
    void skb_find_middle(
        Py_ssize_t, const double *, const double *, const double *, double *,
    ) noexcept nogil
    void skb_expand(
        const int32_t *, Py_ssize_t, const double *, const double *, double *,
        double *, double *,
    ) noexcept nogil
    void skb_average(
        Py_ssize_t, const double *, const double *, double *,
    ) noexcept nogil
    void skb_approximate(
        const int32_t *, Py_ssize_t, const int32_t *, const int32_t *, const double *,
        const double *, const double *, const double *, double *, double *,
    ) noexcept nogil
    void skb_log_at(
        const int32_t *, Py_ssize_t, const int32_t *, const int32_t *, const double *,
        const double *, const double *, const double *, const double *, double *,
    ) noexcept nogil
    void skb_look_at(
        const int32_t *, Py_ssize_t, const int32_t *, const int32_t *, const double *,
        const double *, const double *, const double *, const double *, const double *,
        double *, double *,
    ) noexcept nogil
    void skb_take_out(
        const double *, const int32_t *, Py_ssize_t, const double *, double *,
    ) noexcept nogil
    void skb_add_blankets(
        Py_ssize_t, const int32_t *, const int32_t *, const double *, const double *,
        double *,
    ) noexcept nogil

# Steps in units of the narrowest standard deviation: at 0.7 the rule's error is of the
# order of exp(-2 (pi / 0.7)^2) in the middle, and still 1e-8 where steps are 1. With
# few degrees of freedom functions are less smooth, and steps are up to half as long.
cdef double STEP = 0.7

# A pair of points that adds less than this ends the sum.
cdef double ENOUGH = 1e-12

# And so does this number, in a row that contradicts itself by thousands of steps.
# Where few blankets matter it may be larger.
cdef Py_ssize_t MOST_POINTS = 4096, MOST_OF_FEW = 1 << 16

# Where peaks are more than so many steps away from the middle, those are left out that
# are lower than the highest by this and half of the degrees of freedom, in logarithms.
# (A peak may be higher than its family's own, by terms of the order of these.)
cdef double MANY_STEPS = 32.0
cdef double NEGLIGIBLE = 40.0

cdef double ROOT_2_PI = 2.506628274631000502416


cdef class Regressions:
    """Regressions of variables on sets of others, and Student t densities from them.

    Parameters
    ----------
    scatter : ndarray of shape (n_groups, n, n)
        Posterior scatter matrices T, one for each group of rows to learn from.
    floor : ndarray of shape (n_groups, n)
        The least variances.
    offset : float
        See above.
    df : ndarray of shape (n_groups,)
        The degrees of freedom without parents.
    groups : ndarray of int32, shape (n_sets,)
        The group that each regression is learned from.
    nodes : ndarray of int32, shape (n_sets,)
        What is regressed.
    first : ndarray of int32, shape (n_sets + 1,)
        Where their sets begin in `members`.
    members : ndarray of int32
        The members of all sets.
    """

    # `df` are the fewest of all groups. Of each set, `numbers` has the factor by rows
    # and the whitened covariances, which begin at `start`; `location` and `rest` are of
    # 16 rows.

    def __init__(
        self, const double[:, :, ::1] scatter, const double[:, ::1] floor,
        double offset, const double[::1] df, const int32_t[::1] groups,
        const int32_t[::1] nodes, const int32_t[::1] first,
        const int32_t[::1] members,
    ):
        cdef Py_ssize_t f, p, g
        sizes = np.diff(first)
        ends = np.cumsum(sizes * (sizes + 1) // 2 + sizes)
        self.offset, self.df = offset, np.min(df)
        self.n, self.n_sets = scatter.shape[1], nodes.shape[0]
        self.nodes, self.first, self.members = nodes, first, members
        self.start = np.concatenate([[0], ends]).astype(np.intp)
        self.numbers = np.zeros(self.start[self.n_sets] + 1)
        self.precision = np.zeros(self.n_sets + 1)
        self.half_df = np.zeros(self.n_sets + 1)
        self.constant = np.zeros(self.n_sets + 1)
        self.most_members = sizes.max(initial=0)
        self.whitened = np.zeros(SKB_TILE * (self.most_members + 1))
        self.location = np.zeros((self.n_sets + 1, SKB_TILE))
        self.rest = np.zeros((self.n_sets + 1, SKB_TILE))
        with nogil:
            for f in range(self.n_sets):
                p, g = first[f + 1] - first[f], groups[f]
                self.factorize(scatter[g], floor[g], f, p)
                self.half_df[f] = 0.5 * (df[g] + p)
                self.constant[f] = (
                    lgamma(self.half_df[f] + 0.5) - lgamma(self.half_df[f])
                    + 0.5 * skb_log(self.precision[f] / 3.141592653589793238463)
                )

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

    cdef double log_density_of(
        self, const double *row, Py_ssize_t f, double *whitened
    ) noexcept nogil:
        """Log Student t density given one set, of one row, by variables."""
        cdef:
            const int32_t *of_set = &self.members[0] + self.first[f]
            const double *factor = &self.numbers[self.start[f]]
            Py_ssize_t i, p = self.first[f + 1] - self.first[f]
            const double *explained = factor + p * (p + 1) // 2
            double rest = self.offset, residual = row[self.nodes[f]]
        for i in range(p):
            whitened[i] = (row[of_set[i]] - dot(factor, whitened, i)) * factor[i]
            rest += whitened[i] * whitened[i]
            residual -= explained[i] * whitened[i]
            factor += i + 1
        return (
            self.constant[f] + self.half_df[f] * skb_log(rest)
            - (self.half_df[f] + 0.5)
            * skb_log(rest + self.precision[f] * residual * residual)
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
        cdef Py_ssize_t f, tile
        cdef const double *rows
        with nogil:
            for tile in range(z.shape[0] // self.n):
                rows = &z[tile * self.n, 0]
                self.regress(rows)
                for f in range(self.n_sets):
                    skb_log_t(
                        rows + SKB_TILE * self.nodes[f], &self.location[f, 0],
                        &self.rest[f, 0], self.precision[f], self.constant[f],
                        self.half_df[f], &out[f, tile * SKB_TILE],
                    )


cdef class Cell:
    """Expectations of one variable given all others of a row, and their density.

    What is regressed must be that variable in all sets. Its own values have no effect
    on the results.

    Parameters
    ----------
    regressions : Regressions
        Of the variable, on all sets that occur.
    family_first : ndarray of int32, shape (n_families + 1,)
        Where the quadratics of each family begin in `sets`.
    sets, powers : ndarrays
        The sets of the quadratics, and the powers they are raised to.
    blanket_first : ndarray of int32, shape (n_blankets + 1,)
        Where the families of each blanket begin in `members`.
    members : ndarray of int32
        The families of all blankets.
    """

    cdef:
        Regressions of
        const int32_t[::1] family_first, sets, blanket_first, members
        const double[::1] powers
        double[::1] importance
        Py_ssize_t n_families, n_blankets
        # of 16 rows: of sets, of families, of blankets
        double[:, ::1] logs, families, derivatives
        double[:, ::1] shift, center, width, mass
        # where peaks are many steps apart: which blankets matter, and those in use
        unsigned char[:, ::1] matters
        int32_t[::1] active

    def __init__(
        self, Regressions regressions, const int32_t[::1] family_first,
        const int32_t[::1] sets, const double[::1] powers,
        const int32_t[::1] blanket_first, const int32_t[::1] members,
    ):
        self.of = regressions
        self.family_first, self.sets, self.powers = family_first, sets, powers
        self.blanket_first, self.members = blanket_first, members
        self.n_families = family_first.shape[0] - 1
        self.n_blankets = blanket_first.shape[0] - 1
        # by how much the quadratic of a set pulls in all blankets together
        used = np.asarray(members)[: blanket_first[self.n_blankets]]
        n_blankets_with = np.bincount(used, minlength=self.n_families)
        n_terms = np.diff(family_first)
        pull = np.repeat(n_blankets_with, n_terms) * np.asarray(powers)
        self.importance = np.bincount(
            np.asarray(sets)[: len(pull)], weights=pull, minlength=regressions.n_sets
        ) * np.asarray(regressions.precision)[: regressions.n_sets]
        self.logs = np.empty((regressions.n_sets, SKB_TILE))
        self.families = np.empty((self.n_families, SKB_TILE))
        self.derivatives = np.empty((7 * self.n_families, SKB_TILE))
        self.shift = np.empty((self.n_blankets, SKB_TILE))
        self.center = np.empty((self.n_blankets, SKB_TILE))
        self.width = np.empty((self.n_blankets, SKB_TILE))
        self.mass = np.empty((self.n_blankets, SKB_TILE))
        self.matters = np.empty((self.n_blankets, SKB_TILE), dtype=np.uint8)
        self.active = np.empty(self.n_blankets, dtype=np.int32)

    def expand(
        self,
        const double[:, ::1] z,
        const double[:, ::1] log_weights,
        double[::1] out,
        double[::1] left_out,
    ):
        """Expectations by Laplace's approximation to the second order.

        Parameters
        ----------
        z : ndarray of shape (n_tiles * n, 16)
            Deviations from the mean, 16 rows at a time, by variables.
        log_weights : ndarray of shape (n_blankets, n_tiles * 16)
            Log densities of the rows in the DAGs of each blanket, added up.
        out : ndarray of shape (n_tiles * 16,)
            Gets the expectations, as deviations from the mean.
        left_out : ndarray of shape (n_tiles * 16,)
            Gets the size of what is neglected, in standard deviations, squared: that of
            the worst blanket.
        """
        cdef:
            Py_ssize_t tile, b, r, at
            const double *rows
            const double *own
            double x[16]
            double mean[16]
        with nogil:
            for tile in range(z.shape[0] // self.of.n):
                rows = &z[tile * self.of.n, 0]
                own = rows + SKB_TILE * self.of.nodes[0]
                self.of.regress(rows)
                skb_find_middle(
                    self.of.n_sets, &self.importance[0], &self.of.location[0, 0],
                    &self.of.rest[0, 0], x,
                )
                skb_derivatives(
                    self.n_families, &self.family_first[0], &self.sets[0],
                    &self.powers[0], x, own, &self.of.location[0, 0],
                    &self.of.rest[0, 0], &self.of.precision[0],
                    &self.derivatives[0, 0],
                )
                for r in range(SKB_TILE):
                    left_out[tile * SKB_TILE + r] = 0.0
                for b in range(self.n_blankets):
                    at = self.blanket_first[b]
                    skb_expand(
                        &self.members[at], self.blanket_first[b + 1] - at,
                        &self.derivatives[0, 0], &log_weights[b, tile * SKB_TILE],
                        &self.mass[b, 0], &self.center[b, 0], &self.width[b, 0],
                    )
                    for r in range(SKB_TILE):
                        left_out[tile * SKB_TILE + r] = max(
                            left_out[tile * SKB_TILE + r], self.width[b, r]
                        )
                skb_average(
                    self.n_blankets, &self.mass[0, 0], &self.center[0, 0], mean
                )
                for r in range(SKB_TILE):
                    out[tile * SKB_TILE + r] = x[r] + mean[r]

    def integrate(
        self,
        const double[:, ::1] z,
        const double[:, ::1] log_weights,
        double[::1] out,
        double[::1] log_masses,
    ):
        """Expectations by numerical integration, of any accuracy that matters.

        Parameters
        ----------
        z : ndarray of shape (n_tiles * n, 16)
            Deviations from the mean, 16 rows at a time, by variables.
        log_weights : ndarray of shape (n_blankets, n_tiles * 16)
            Log densities of the rows in the DAGs of each blanket, added up.
        out : ndarray of shape (n_tiles * 16,)
            Gets the expectations, as deviations from the mean.
        log_masses : ndarray of shape (n_tiles * 16,)
            Gets the logarithms of the integrals: log densities of the rest of the row.
        """
        cdef:
            Grid grid
            const double *rows
            Py_ssize_t tile, b, at, size
            bint is_apart
        with nogil:
            for tile in range(z.shape[0] // self.of.n):
                rows = &z[tile * self.of.n, 0]
                self.of.regress(rows)
                self.log_families(rows + SKB_TILE * self.of.nodes[0])
                for b in range(self.n_blankets):
                    at = self.blanket_first[b]
                    size = self.blanket_first[b + 1] - at
                    skb_take_out(
                        &self.families[0, 0], &self.members[at], size,
                        &log_weights[b, tile * SKB_TILE], &self.shift[b, 0],
                    )
                    skb_approximate(
                        &self.members[at], size, &self.family_first[0], &self.sets[0],
                        &self.powers[0], &self.of.location[0, 0], &self.of.rest[0, 0],
                        &self.of.precision[0], &self.center[b, 0], &self.width[b, 0],
                    )
                    skb_log_at(
                        &self.members[at], size, &self.family_first[0], &self.sets[0],
                        &self.powers[0], &self.center[b, 0], &self.of.location[0, 0],
                        &self.of.rest[0, 0], &self.of.precision[0], &self.mass[b, 0],
                    )
                self.make_relative(&grid)
                self.place_grid(&grid)
                is_apart = is_wide(&grid)
                if is_apart:
                    self.narrow_grid(&grid)
                self.add_points(
                    &grid, is_apart, &out[tile * SKB_TILE], &log_masses[tile * SKB_TILE]
                )

    cdef void log_families(self, const double *x) noexcept nogil:
        """Log products of all families at one point for each of 16 rows."""
        skb_log_quadratics(
            self.of.n_sets, x, &self.of.location[0, 0], &self.of.rest[0, 0],
            &self.of.precision[0], &self.logs[0, 0],
        )
        skb_log_families(
            self.n_families, &self.family_first[0], &self.sets[0], &self.powers[0],
            &self.logs[0, 0], &self.families[0, 0],
        )

    cdef void make_relative(self, Grid *grid) noexcept nogil:
        """Shift the blankets' logarithms so that the highest center has none."""
        cdef Py_ssize_t b, r
        cdef double top
        for r in range(SKB_TILE):
            top = -1e308
            grid.peak[r] = self.center[0, r]
            grid.width[r] = self.width[0, r]
            for b in range(self.n_blankets):
                if self.shift[b, r] + self.mass[b, r] > top:
                    top = self.shift[b, r] + self.mass[b, r]
                    grid.peak[r] = self.center[b, r]
                    grid.width[r] = self.width[b, r]
            grid.top[r] = top
            for b in range(self.n_blankets):
                self.shift[b, r] -= top

    cdef void place_grid(self, Grid *grid) noexcept nogil:
        """Middle, step and growth of steps for 16 rows."""
        cdef Py_ssize_t b, f, k, r
        cdef double low, high, narrow, location
        for r in range(SKB_TILE):
            low, high, narrow = 1e308, -1e308, 1e308
            for b in range(self.n_blankets):
                low = min(low, self.center[b, r])
                high = max(high, self.center[b, r])
                narrow = min(narrow, self.width[b, r])
                # where families contradict each other, each may have a peak
                for f in range(self.blanket_first[b], self.blanket_first[b + 1]):
                    for k in range(
                        self.family_first[self.members[f]],
                        self.family_first[self.members[f] + 1],
                    ):
                        if self.powers[k] < 0.0:
                            location = self.of.location[self.sets[k], r]
                            low = min(low, location)
                            high = max(high, location)
            self.set_steps(grid, r, low, high, narrow)

    cdef void set_steps(
        self, Grid *grid, Py_ssize_t r, double low, double high, double narrow
    ) noexcept nogil:
        cdef double half = 0.5 * (high - low)
        grid.middle[r] = low + half
        grid.half[r] = half
        grid.step[r] = STEP * narrow / (1.0 + 5.0 / self.of.df)
        # steps grow by an eighth at most between the peaks
        half /= grid.step[r]
        grid.growth[r] = 1.0 / sqrt(self.of.df + 4.0 * half * half)

    cdef void narrow_grid(self, Grid *grid) noexcept nogil:
        """The same without what is far lower than the highest peak."""
        cdef:
            Peaks peaks
            Py_ssize_t b, f, i, k, r
        self.matters[:] = 0
        for r in range(SKB_TILE):
            peaks.top[r] = -1e308
            peaks.low[r] = peaks.narrow[r] = 1e308
            peaks.high[r] = -1e308
        for peaks.are_known in range(2):
            for b in range(self.n_blankets):
                self.look_at(b, &self.center[b, 0], &peaks)
                for f in range(self.blanket_first[b], self.blanket_first[b + 1]):
                    i = self.members[f]
                    for k in range(self.family_first[i], self.family_first[i + 1]):
                        self.look_at(b, &self.of.location[self.sets[k], 0], &peaks)
        for r in range(SKB_TILE):
            if grid.half[r] <= MANY_STEPS * grid.step[r]:
                continue  # so that no row depends on the others
            grid.top[r] += peaks.top[r]
            grid.peak[r], grid.width[r] = peaks.at[r], peaks.width[r]
            for b in range(self.n_blankets):
                self.shift[b, r] -= peaks.top[r]
            self.set_steps(grid, r, peaks.low[r], peaks.high[r], peaks.narrow[r])

    cdef void look_at(
        self, Py_ssize_t b, const double *x, Peaks *peaks
    ) noexcept nogil:
        """Take account of a point: of its height, and then of its place."""
        cdef:
            double value[16]
            double width[16]
            double least = NEGLIGIBLE + 0.5 * self.of.df
            Py_ssize_t r
        self.log_blanket(b, x, value, width)
        for r in range(SKB_TILE):
            if not peaks.are_known:
                if value[r] > peaks.top[r]:
                    peaks.top[r], peaks.at[r] = value[r], x[r]
                    peaks.width[r] = width[r]
            elif value[r] > peaks.top[r] - least:
                self.matters[b, r] = 1
                peaks.low[r] = min(peaks.low[r], x[r])
                peaks.high[r] = max(peaks.high[r], x[r])
                peaks.narrow[r] = min(peaks.narrow[r], width[r])

    cdef void add_points(
        self, Grid *grid, bint is_apart, double *out, double *log_mass
    ) noexcept nogil:
        """Trapezoidal sums from the middle outwards, for 16 rows.

        Where peaks are many steps apart, rows for which these are enough may wait for
        others, for which few blankets matter.
        """
        cdef:
            double x[16]
            double value[16]
            double total[16]
            double moment[16]
            double grown[16]
            double factor[16]
            double added[16]
            double away[16]
            Py_ssize_t t = 0, r, n_active = self.n_blankets
            unsigned char goes_on[16]
            int side
            bint go_on = True
        for r in range(SKB_TILE):
            total[r] = moment[r] = 0.0
            grown[r] = 1.0
            factor[r] = exp(grid.growth[r])
        while go_on and t < (
            MOST_POINTS if n_active == self.n_blankets else MOST_OF_FEW
        ):
            for r in range(SKB_TILE):
                away[r] = 0.5 * (grown[r] - 1.0 / grown[r]) / grid.growth[r]
                away[r] *= grid.step[r]
                added[r] = 0.0
            for side in range(1 if t == 0 else 2):
                for r in range(SKB_TILE):
                    x[r] = grid.middle[r] + (away[r] if side == 0 else -away[r])
                if n_active < self.n_blankets:
                    self.add_active(n_active, x, value)
                else:
                    self.log_families(x)
                    skb_add_blankets(
                        self.n_blankets, &self.blanket_first[0], &self.members[0],
                        &self.families[0, 0], &self.shift[0, 0], value,
                    )
                for r in range(SKB_TILE):
                    value[r] *= 0.5 * (grown[r] + 1.0 / grown[r])
                    total[r] += value[r]
                    moment[r] += value[r] * (x[r] - grid.middle[r])
                    added[r] += value[r]
            go_on = False
            for r in range(SKB_TILE):
                # its share in the first moment, of which tails have more
                added[r] *= 1.0 + away[r] / grid.step[r]
                goes_on[r] = away[r] <= grid.half[r] or added[r] > ENOUGH * total[r]
                go_on |= goes_on[r]
                grown[r] *= factor[r]
            t += 1
            if is_apart and t % 64 == 0:
                n_active = self.find_active(goes_on)
        for r in range(SKB_TILE):
            # no point came near a peak where the row contradicts itself that much
            out[r] = grid.peak[r]
            log_mass[r] = grid.top[r] + log(ROOT_2_PI * grid.width[r])
            if total[r] > 0.0:
                out[r] = grid.middle[r] + moment[r] / total[r]
                log_mass[r] = grid.top[r] + log(grid.step[r] * total[r])

    cdef Py_ssize_t find_active(self, const unsigned char *goes_on) noexcept nogil:
        """How many blankets matter in some rows, `active`; all if these are many."""
        cdef Py_ssize_t b, r, n_active = 0, work = 0
        cdef bint any_row
        for b in range(self.n_blankets):
            any_row = False
            for r in range(SKB_TILE):
                any_row |= goes_on[r] & self.matters[b, r]
            if any_row:
                self.active[n_active] = <int32_t> b
                n_active += 1
                work += 2 * (self.blanket_first[b + 1] - self.blanket_first[b])
        return n_active if work < self.of.n_sets else self.n_blankets

    cdef void add_active(
        self, Py_ssize_t n_active, const double *x, double *out
    ) noexcept nogil:
        """The sum over active blankets at one point for each of 16 rows."""
        cdef:
            double value[16]
            double width[16]
            Py_ssize_t i, r
        for r in range(SKB_TILE):
            out[r] = 0.0
        for i in range(n_active):
            self.log_blanket(self.active[i], x, value, width)
            for r in range(SKB_TILE):
                out[r] += exp(min(value[r], 700.0))

    cdef void log_blanket(
        self, Py_ssize_t b, const double *x, double *value, double *width
    ) noexcept nogil:
        """Log product of a blanket at one point for each of 16 rows."""
        cdef Py_ssize_t at = self.blanket_first[b]
        skb_look_at(
            &self.members[at], self.blanket_first[b + 1] - at, &self.family_first[0],
            &self.sets[0], &self.powers[0], x, &self.of.location[0, 0],
            &self.of.rest[0, 0], &self.of.precision[0], &self.shift[b, 0],
            value, width,
        )


cdef struct Grid:
    # the log height of the highest center, which all is relative to
    double top[16]
    double peak[16]
    double width[16]
    double middle[16]
    double half[16]
    double step[16]
    double growth[16]


# What matters among the points at which there may be a peak
cdef struct Peaks:
    int are_known
    # the highest: logarithm, place, and width
    double top[16]
    double at[16]
    double width[16]
    double low[16]
    double high[16]
    double narrow[16]


cdef bint is_wide(const Grid *grid) noexcept nogil:
    """Whether peaks are many steps apart in some row."""
    cdef Py_ssize_t r
    for r in range(SKB_TILE):
        if grid.half[r] > MANY_STEPS * grid.step[r]:
            return True
    return False


cdef inline double dot(const double *a, const double *b, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t k
    cdef double total = 0.0
    for k in range(n):
        total += a[k] * b[k]
    return total
