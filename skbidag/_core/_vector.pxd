"""Loops over the columns of a table row, four doubles at a time.

The loops are C because they need two things Cython cannot say: vector types, and
one function compiled for several processors (``target_clones``), of which the
loader picks the best at run time. Every sum is taken in the same fixed order by
all of them (four running sums, added pairwise at the end), and the build turns off
fused multiply-add, so a processor with wider vectors gives the same bits, only
faster.

``log`` and ``exp`` are series in plain arithmetic, correct to about 1 ulp: the C
library's take five times as long per value, and differ between systems in the last
bit, which would make chains differ too.

On processors without such vectors gcc and clang make several operations of one, which
give the same bits; on Windows it is clang-cl that compiles (`build_kernels.py`), for
Microsoft's compiler has no vector types.

Rows are padded to a multiple of four columns, so no loop has a remainder.
"""

cdef extern from *:
    """
    #include <stdint.h>
    #include <string.h>
    #include <math.h>

    #if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) \\
        && defined(__linux__)
      #define SKB_CLONES static __attribute__((noinline, unused, \\
          target_clones("avx2", "default")))
    #elif defined(__GNUC__) || defined(__clang__)
      #define SKB_CLONES static __attribute__((unused))
    #else
      #error "skbidag needs a compiler with vector types: gcc, clang or clang-cl"
    #endif

    #define SKB_INLINE static inline __attribute__((always_inline, unused))
    typedef double skb_vec __attribute__((vector_size(32), aligned(8)));
    typedef int64_t skb_int __attribute__((vector_size(32), aligned(8)));
    #define SKB_ALL(v) ((skb_vec){(v), (v), (v), (v)})
    #define SKB_ALLI(v) ((skb_int){(v), (v), (v), (v)})
    #define SKB_LOAD(p) (*(const skb_vec *)(p))
    #define SKB_STORE(p, v) (*(skb_vec *)(p) = (v))
    #define SKB_SELECT(m, a, b) \\
        ((skb_vec)(((m) & (skb_int)(a)) | (~(m) & (skb_int)(b))))
    #define SKB_ADD4(v) (((v)[0] + (v)[2]) + ((v)[1] + (v)[3]))

    /* ln x for positive normal x: x = 2^k m with m in [sqrt 1/2, sqrt 2),
       ln m = 2 atanh s, s = (m - 1)/(m + 1), |s| < 0.172. */
    SKB_INLINE void skb_log_to(const skb_vec *xp, skb_vec *out)
    {
        skb_vec x = *xp;
        const skb_int root_half = SKB_ALLI(0x3fe6a09e667f3bcdLL);
        const skb_int bias = SKB_ALLI(1024LL << 52);
        skb_int bits = (skb_int)x;
        /* as unsigned, because the shift must not drag the sign along */
        typedef uint64_t skb_uint __attribute__((vector_size(32)));
        skb_int biased = (skb_int)(((skb_uint)(bits - root_half + bias)) >> 52);
        skb_int k = biased - SKB_ALLI(1024);
        skb_vec m = (skb_vec)(bits - (k << 52));
        skb_vec kd = (skb_vec)(biased | SKB_ALLI(0x4330000000000000LL))
                     - SKB_ALL(4503599627370496.0 + 1024.0);
        skb_vec f = m - 1.0;
        skb_vec s = f / (m + 1.0);
        skb_vec z = s * s;
        skb_vec p = SKB_ALL(1.0 / 19);
        p = p * z + 1.0 / 17;
        p = p * z + 1.0 / 15;
        p = p * z + 1.0 / 13;
        p = p * z + 1.0 / 11;
        p = p * z + 1.0 / 9;
        p = p * z + 1.0 / 7;
        p = p * z + 1.0 / 5;
        p = p * z + 1.0 / 3;
        skb_vec twice = s + s;
        /* ln 2 in two parts: the first has zeros at its end, so k times it
           is exact */
        *out = kd * 6.93147180369123816490e-01
               + (twice + (twice * z * p + kd * 1.90821492927058770002e-10));
    }

    /* e^x for x <= 709; below -708 it is 0. */
    SKB_INLINE void skb_exp_to(const skb_vec *xp, skb_vec *out)
    {
        skb_vec x = *xp;
        const double shifter = 6755399441055744.0;  /* 1.5 * 2^52: rounds */
        skb_int tiny = (skb_int)(x < SKB_ALL(-708.0));
        x = SKB_SELECT(tiny, SKB_ALL(-708.0), x);
        skb_vec shifted = x * 1.4426950408889634074 + shifter;
        skb_vec k = shifted - shifter;
        skb_vec r = x - k * 6.93147180369123816490e-01;
        r = r - k * 1.90821492927058770002e-10;
        skb_vec p = SKB_ALL(1.0 / 6227020800.0);
        p = p * r + 1.0 / 479001600.0;
        p = p * r + 1.0 / 39916800.0;
        p = p * r + 1.0 / 3628800.0;
        p = p * r + 1.0 / 362880.0;
        p = p * r + 1.0 / 40320.0;
        p = p * r + 1.0 / 5040.0;
        p = p * r + 1.0 / 720.0;
        p = p * r + 1.0 / 120.0;
        p = p * r + 1.0 / 24.0;
        p = p * r + 1.0 / 6.0;
        p = p * r + 1.0 / 2.0;
        p = p * r + 1.0;
        p = p * r + 1.0;
        skb_vec y = (skb_vec)((skb_int)p + ((skb_int)shifted << 52));
        *out = SKB_SELECT(tiny, SKB_ALL(0.0), y);
    }

    /* Numbers below 2e-308 take a hundred times as long to multiply; where they
       cannot matter they are rounded to 0. Returns what to restore. */
    #if defined(__SSE2__) || defined(_M_X64)
    #include <xmmintrin.h>
    static inline unsigned skb_flush_tiny(void)
    {
        unsigned before = _mm_getcsr();
        _mm_setcsr(before | 0x8040);
        return before;
    }
    static inline void skb_restore_tiny(unsigned before) { _mm_setcsr(before); }
    #else
    static inline unsigned skb_flush_tiny(void) { return 0; }
    static inline void skb_restore_tiny(unsigned before) { (void)before; }
    #endif

    /* One value at a time, by the same operations and so with the same bits. */
    SKB_INLINE double skb_log(double x)
    {
        int64_t bits, k;
        memcpy(&bits, &x, 8);
        k = (int64_t)((uint64_t)(bits - 0x3fe6a09e667f3bcdLL + (1024LL << 52)) >> 52)
            - 1024;
        bits -= (int64_t)((uint64_t)k << 52);
        double m, kd = (double)k;
        memcpy(&m, &bits, 8);
        double s = (m - 1.0) / (m + 1.0), z = s * s, p = 1.0 / 19;
        p = p * z + 1.0 / 17;
        p = p * z + 1.0 / 15;
        p = p * z + 1.0 / 13;
        p = p * z + 1.0 / 11;
        p = p * z + 1.0 / 9;
        p = p * z + 1.0 / 7;
        p = p * z + 1.0 / 5;
        p = p * z + 1.0 / 3;
        double twice = s + s;
        return kd * 6.93147180369123816490e-01
               + (twice + (twice * z * p + kd * 1.90821492927058770002e-10));
    }

    SKB_INLINE double skb_exp(double x)
    {
        if (x < -708.0) return 0.0;
        double shifted = x * 1.4426950408889634074 + 6755399441055744.0;
        double k = shifted - 6755399441055744.0;
        double r = x - k * 6.93147180369123816490e-01;
        r = r - k * 1.90821492927058770002e-10;
        double p = 1.0 / 6227020800.0;
        p = p * r + 1.0 / 479001600.0;
        p = p * r + 1.0 / 39916800.0;
        p = p * r + 1.0 / 3628800.0;
        p = p * r + 1.0 / 362880.0;
        p = p * r + 1.0 / 40320.0;
        p = p * r + 1.0 / 5040.0;
        p = p * r + 1.0 / 720.0;
        p = p * r + 1.0 / 120.0;
        p = p * r + 1.0 / 24.0;
        p = p * r + 1.0 / 6.0;
        p = p * r + 1.0 / 2.0;
        p = p * r + 1.0;
        p = p * r + 1.0;
        int64_t power, bits;
        memcpy(&power, &shifted, 8);
        memcpy(&bits, &p, 8);
        bits += (int64_t)((uint64_t)power << 52);
        memcpy(&p, &bits, 8);
        return p;
    }

    /* ln(e^a + e^b); either may be -inf */
    SKB_INLINE double skb_log_add_exp(double a, double b)
    {
        double high = a > b ? a : b, low = a > b ? b : a;
        if (low == -INFINITY) return high;
        return high + skb_log(1.0 + skb_exp(low - high));
    }

    SKB_CLONES void skb_log_array(const double *x, double *out, Py_ssize_t size)
    {
        for (Py_ssize_t j = 0; j < size; j += 4) {
            skb_vec v = SKB_LOAD(x + j), y;
            skb_log_to(&v, &y);
            SKB_STORE(out + j, y);
        }
    }

    SKB_CLONES void skb_exp_array(const double *x, double *out, Py_ssize_t size)
    {
        for (Py_ssize_t j = 0; j < size; j += 4) {
            skb_vec v = SKB_LOAD(x + j), y;
            skb_exp_to(&v, &y);
            SKB_STORE(out + j, y);
        }
    }

    /* row = ln row, and -inf for 0 */
    SKB_CLONES void skb_log_or_nothing(double *row, Py_ssize_t size)
    {
        for (Py_ssize_t j = 0; j < size; j += 4) {
            skb_vec v = SKB_LOAD(row + j), y;
            skb_int zero = (skb_int)(v == SKB_ALL(0.0));
            skb_log_to(&v, &y);
            SKB_STORE(row + j, SKB_SELECT(zero, SKB_ALL(-INFINITY), y));
        }
    }

    /* target = old - factor * source */
    SKB_CLONES void skb_subtract_multiple(double *target, const double *old,
            const double *source, double factor, Py_ssize_t size)
    {
        skb_vec c = SKB_ALL(factor);
        for (Py_ssize_t j = 0; j < size; j += 4)
            SKB_STORE(target + j, SKB_LOAD(old + j) - c * SKB_LOAD(source + j));
    }

    /* target = old - factor * source^2 */
    SKB_CLONES void skb_subtract_square(double *target, const double *old,
            const double *source, double factor, Py_ssize_t size)
    {
        skb_vec c = SKB_ALL(factor);
        for (Py_ssize_t j = 0; j < size; j += 4) {
            skb_vec v = SKB_LOAD(source + j);
            SKB_STORE(target + j, SKB_LOAD(old + j) - c * v * v);
        }
    }

    /* target -= source / whole * source; the square itself may overflow */
    SKB_CLONES void skb_subtract_share(double *target, const double *source,
            double whole, Py_ssize_t size)
    {
        skb_vec w = SKB_ALL(whole);
        for (Py_ssize_t j = 0; j < size; j += 4) {
            skb_vec v = SKB_LOAD(source + j);
            SKB_STORE(target + j, SKB_LOAD(target + j) - v / w * v);
        }
    }

    /* The scores of a set plus each outsider, see _gaussian.pyx. */
    SKB_CLONES void skb_outsider_scores(double *out, const double *covariance,
            const double *variance, const double *floor, const double *bias,
            double child_variance, double child_floor, double offset,
            double slope, double det_weight, Py_ssize_t size)
    {
        const skb_vec nothing = SKB_ALL(-INFINITY);
        for (Py_ssize_t j = 0; j < size; j += 4) {
            skb_vec b = SKB_LOAD(bias + j);
            skb_vec c = SKB_LOAD(covariance + j);
            skb_vec v = SKB_LOAD(variance + j), f = SKB_LOAD(floor + j);
            v = SKB_SELECT((skb_int)(v < f), f, v);
            skb_vec u = child_variance - c / v * c;  /* c * c may overflow */
            u = SKB_SELECT((skb_int)(u < child_floor), SKB_ALL(child_floor), u);
            skb_vec log_u, log_v, s;
            skb_log_to(&u, &log_u);
            s = b + offset - slope * log_u;
            if (det_weight != 0.0) {
                skb_log_to(&v, &log_v);
                s = s - det_weight * log_v;
            }
            SKB_STORE(out + j, SKB_SELECT((skb_int)(b == nothing), nothing, s));
        }
    }

    /* target = a * source + b * target */
    SKB_CLONES void skb_mix(double *target, const double *source,
            double a, double b, Py_ssize_t size)
    {
        skb_vec va = SKB_ALL(a), vb = SKB_ALL(b);
        for (Py_ssize_t j = 0; j < size; j += 4)
            SKB_STORE(target + j,
                      va * SKB_LOAD(source + j) + vb * SKB_LOAD(target + j));
    }

    SKB_CLONES void skb_maximum(double *target, const double *source,
            Py_ssize_t size)
    {
        for (Py_ssize_t j = 0; j < size; j += 4) {
            skb_vec x = SKB_LOAD(target + j), y = SKB_LOAD(source + j);
            SKB_STORE(target + j, SKB_SELECT((skb_int)(x < y), y, x));
        }
    }

    /* target = ln(e^target + e^source), -inf standing for nothing */
    SKB_CLONES void skb_log_add_rows(double *target, const double *source,
            Py_ssize_t size)
    {
        for (Py_ssize_t j = 0; j < size; j += 4) {
            skb_vec x = SKB_LOAD(target + j), y = SKB_LOAD(source + j);
            skb_int less = (skb_int)(x < y);
            skb_vec high = SKB_SELECT(less, y, x), low = SKB_SELECT(less, x, y);
            skb_vec gap = low - high, e, l;
            /* e^-40 and less do not change the larger one; -inf - -inf is NaN */
            skb_int matters = (skb_int)(gap >= SKB_ALL(-40.0));
            if (!(matters[0] | matters[1] | matters[2] | matters[3])) {
                SKB_STORE(target + j, high);
                continue;
            }
            gap = SKB_SELECT(matters, gap, SKB_ALL(-800.0));
            skb_exp_to(&gap, &e);
            e = e + 1.0;
            skb_log_to(&e, &l);
            SKB_STORE(target + j, high + l);
        }
    }

    /* out = e^(row - base); returns the largest row - base */
    SKB_CLONES double skb_ratios(double *out, const double *row, double base,
            Py_ssize_t size)
    {
        skb_vec largest = SKB_ALL(-INFINITY);
        for (Py_ssize_t j = 0; j < size; j += 4) {
            skb_vec gap = SKB_LOAD(row + j) - base, y;
            largest = SKB_SELECT((skb_int)(largest < gap), gap, largest);
            gap = SKB_SELECT((skb_int)(gap > SKB_ALL(709.0)), SKB_ALL(709.0), gap);
            skb_exp_to(&gap, &y);
            SKB_STORE(out + j, y);
        }
        double best = largest[0];
        for (int k = 1; k < 4; k++) best = largest[k] > best ? largest[k] : best;
        return best;
    }

    /* Have a row on its way from memory before it is needed. */
    static inline void skb_prefetch(const double *row, Py_ssize_t size)
    {
        for (Py_ssize_t j = 0; j < size; j += 8) __builtin_prefetch(row + j);
    }

    /* The places of four columns: of their variables, or, where `columns` is NULL
       and column j is variable j, as they stand. */
    SKB_INLINE void skb_places_to(const double *place, const Py_ssize_t *columns,
            Py_ssize_t j, skb_vec *out)
    {
        if (columns)
            *out = (skb_vec){place[columns[j]], place[columns[j + 1]],
                             place[columns[j + 2]], place[columns[j + 3]]};
        else
            *out = SKB_LOAD(place + j);
    }

    /* Sum of row[j] over the columns whose place is at least `limit`. The first
       comparison in a node's life: which outsiders the order permits. */
    SKB_CLONES double skb_sum_from(const double *row, const double *place,
            const Py_ssize_t *columns, double limit, Py_ssize_t size)
    {
        skb_vec total = SKB_ALL(0.0), lim = SKB_ALL(limit), p;
        for (Py_ssize_t j = 0; j < size; j += 4) {
            skb_places_to(place, columns, j, &p);
            skb_int keep = (skb_int)(p >= lim);
            total += (skb_vec)(keep & (skb_int)SKB_LOAD(row + j));
        }
        return SKB_ADD4(total);
    }

    /* Sum of row[j] over the columns whose place is `at`; those with a larger
       place add up to *beyond. */
    SKB_CLONES double skb_sums_at(const double *row, const double *place,
            const Py_ssize_t *columns, double at, double *beyond, Py_ssize_t size)
    {
        skb_vec total = SKB_ALL(0.0), further = total, where = SKB_ALL(at);
        for (Py_ssize_t j = 0; j < size; j += 4) {
            skb_int x = (skb_int)SKB_LOAD(row + j);
            skb_vec p;
            skb_places_to(place, columns, j, &p);
            total += (skb_vec)((skb_int)(p == where) & x);
            further += (skb_vec)((skb_int)(p > where) & x);
        }
        *beyond = SKB_ADD4(further);
        return SKB_ADD4(total);
    }

    /* The same with e^(row[j] - shift) in place of row[j]. */
    SKB_CLONES double skb_exp_sums_at(const double *row, const double *place,
            const Py_ssize_t *columns, double at, double shift, double *beyond,
            Py_ssize_t size)
    {
        skb_vec total = SKB_ALL(0.0), further = total, where = SKB_ALL(at);
        for (Py_ssize_t j = 0; j < size; j += 4) {
            skb_vec p, x = SKB_LOAD(row + j) - shift, y;
            skb_places_to(place, columns, j, &p);
            skb_exp_to(&x, &y);  /* what is left out may overflow */
            total += (skb_vec)((skb_int)(p == where) & (skb_int)y);
            further += (skb_vec)((skb_int)(p > where) & (skb_int)y);
        }
        *beyond = SKB_ADD4(further);
        return SKB_ADD4(total);
    }

    /* total += e^(row - top) */
    SKB_CLONES void skb_add_exp(double *total, const double *row,
            const double *top, Py_ssize_t size)
    {
        for (Py_ssize_t j = 0; j < size; j += 4) {
            skb_vec gap = SKB_LOAD(row + j) - SKB_LOAD(top + j), y;
            skb_exp_to(&gap, &y);
            SKB_STORE(total + j, SKB_LOAD(total + j) + y);
        }
    }

    SKB_CLONES double skb_max_from(const double *row, const double *place,
            const Py_ssize_t *columns, double limit, Py_ssize_t size)
    {
        skb_vec best = SKB_ALL(-INFINITY), lim = SKB_ALL(limit), p;
        for (Py_ssize_t j = 0; j < size; j += 4) {
            skb_vec x = SKB_LOAD(row + j);
            skb_places_to(place, columns, j, &p);
            skb_int keep = (skb_int)(p >= lim) & (skb_int)(x > best);
            best = SKB_SELECT(keep, x, best);
        }
        double top = best[0];
        for (int k = 1; k < 4; k++) top = best[k] > top ? best[k] : top;
        return top;
    }

    /* ln of the sum of e^row[j] over the columns whose place is at least `limit` */
    SKB_CLONES double skb_log_sum_exp_from(const double *row, const double *place,
            const Py_ssize_t *columns, double limit, Py_ssize_t size)
    {
        skb_vec best = SKB_ALL(-INFINITY), lim = SKB_ALL(limit), p;
        for (Py_ssize_t j = 0; j < size; j += 4) {
            skb_vec x = SKB_LOAD(row + j);
            skb_places_to(place, columns, j, &p);
            skb_int keep = (skb_int)(p >= lim) & (skb_int)(x > best);
            best = SKB_SELECT(keep, x, best);
        }
        double top = best[0];
        for (int k = 1; k < 4; k++) top = best[k] > top ? best[k] : top;
        if (top == -INFINITY) return top;
        skb_vec total = SKB_ALL(0.0);
        for (Py_ssize_t j = 0; j < size; j += 4) {
            skb_places_to(place, columns, j, &p);
            skb_int keep = (skb_int)(p >= lim);
            skb_vec gap = SKB_LOAD(row + j) - top, y;
            skb_exp_to(&gap, &y);
            total += (skb_vec)(keep & (skb_int)y);
        }
        return top + skb_log(SKB_ADD4(total));
    }
    """
    unsigned skb_flush_tiny() noexcept nogil
    void skb_restore_tiny(unsigned before) noexcept nogil
    double skb_log(double x) noexcept nogil
    double skb_exp(double x) noexcept nogil
    double skb_log_add_exp(double a, double b) noexcept nogil
    void skb_log_array(
        const double *x, double *out, Py_ssize_t size) noexcept nogil
    void skb_exp_array(
        const double *x, double *out, Py_ssize_t size) noexcept nogil
    void skb_log_or_nothing(double *row, Py_ssize_t size) noexcept nogil
    void skb_subtract_multiple(
        double *target, const double *old, const double *source, double factor,
        Py_ssize_t size) noexcept nogil
    void skb_subtract_square(
        double *target, const double *old, const double *source, double factor,
        Py_ssize_t size) noexcept nogil
    void skb_subtract_share(
        double *target, const double *source, double whole,
        Py_ssize_t size) noexcept nogil
    void skb_outsider_scores(
        double *out, const double *covariance, const double *variance,
        const double *floor, const double *bias, double child_variance,
        double child_floor, double offset, double slope, double det_weight,
        Py_ssize_t size) noexcept nogil
    void skb_mix(
        double *target, const double *source, double a, double b,
        Py_ssize_t size) noexcept nogil
    void skb_maximum(
        double *target, const double *source, Py_ssize_t size) noexcept nogil
    void skb_log_add_rows(
        double *target, const double *source, Py_ssize_t size) noexcept nogil
    double skb_ratios(
        double *out, const double *row, double base, Py_ssize_t size) noexcept nogil
    void skb_prefetch(const double *row, Py_ssize_t size) noexcept nogil
    double skb_sum_from(
        const double *row, const double *place, const Py_ssize_t *columns,
        double limit, Py_ssize_t size) noexcept nogil
    double skb_sums_at(
        const double *row, const double *place, const Py_ssize_t *columns,
        double at, double *beyond, Py_ssize_t size) noexcept nogil
    double skb_exp_sums_at(
        const double *row, const double *place, const Py_ssize_t *columns,
        double at, double shift, double *beyond, Py_ssize_t size) noexcept nogil
    void skb_add_exp(
        double *total, const double *row, const double *top,
        Py_ssize_t size) noexcept nogil
    double skb_max_from(
        const double *row, const double *place, const Py_ssize_t *columns,
        double limit, Py_ssize_t size) noexcept nogil
    double skb_log_sum_exp_from(
        const double *row, const double *place, const Py_ssize_t *columns,
        double limit, Py_ssize_t size) noexcept nogil
