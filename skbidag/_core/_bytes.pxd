"""Loops over the bytes of a row: the codes of many variables side by side.

They are C for the same reason as those of `_vector.pxd`: one function compiled for
several processors, of which the loader picks the best. Integers are exact, so that all
of them give the same.
"""

cdef extern from *:
    """
    #include <stdint.h>

    #if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) \\
        && defined(__linux__)
      #define SKB_BYTE_LOOP static __attribute__((noinline, unused, \\
          target_clones("avx2", "default")))
    #elif defined(__GNUC__) || defined(__clang__)
      #define SKB_BYTE_LOOP static __attribute__((unused))
    #else
      #define SKB_BYTE_LOOP static
    #endif

    /* Count the levels from 1 to n_levels - 1 of LANES variables: up to three at a time
       in registers, through all the rows. Codes of two levels are added as they are. */
    #define SKB_COUNT_LANES(NAME, LANES) \\
    typedef uint8_t NAME##_t __attribute__(( \\
        vector_size(LANES), aligned(1), may_alias)); \\
    static inline __attribute__((always_inline, unused)) void NAME( \\
        const uint8_t *codes, Py_ssize_t stride, const int *rows, int n_rows, \\
        int n_levels, Py_ssize_t width, uint8_t *count) \\
    { \\
        const NAME##_t zero = {0}; \\
        for (int level = 1; level < n_levels; level += 3) { \\
            NAME##_t n1 = zero, n2 = zero, n3 = zero; \\
            const NAME##_t one = zero + (uint8_t)level; \\
            const NAME##_t two = one + 1, three = one + 2; \\
            const int left = n_levels - level; \\
            if (n_levels == 2) \\
                for (int i = 0; i < n_rows; i++) \\
                    n1 += *(const NAME##_t *)(codes + rows[i] * stride); \\
            else if (left == 1) \\
                for (int i = 0; i < n_rows; i++) { \\
                    NAME##_t x = *(const NAME##_t *)(codes + rows[i] * stride); \\
                    n1 -= (NAME##_t)(x == one); \\
                } \\
            else if (left == 2) \\
                for (int i = 0; i < n_rows; i++) { \\
                    NAME##_t x = *(const NAME##_t *)(codes + rows[i] * stride); \\
                    n1 -= (NAME##_t)(x == one); \\
                    n2 -= (NAME##_t)(x == two); \\
                } \\
            else \\
                for (int i = 0; i < n_rows; i++) { \\
                    NAME##_t x = *(const NAME##_t *)(codes + rows[i] * stride); \\
                    n1 -= (NAME##_t)(x == one); \\
                    n2 -= (NAME##_t)(x == two); \\
                    n3 -= (NAME##_t)(x == three); \\
                } \\
            *(NAME##_t *)(count + level * width) = n1; \\
            if (left > 1) \\
                *(NAME##_t *)(count + (level + 1) * width) = n2; \\
            if (left > 2) \\
                *(NAME##_t *)(count + (level + 2) * width) = n3; \\
        } \\
    }

    #if defined(__GNUC__) || defined(__clang__)
    SKB_COUNT_LANES(skb_count_32, 32)
    SKB_COUNT_LANES(skb_count_16, 16)
    #else
    static void skb_count_16(
        const uint8_t *codes, Py_ssize_t stride, const int *rows, int n_rows,
        int n_levels, Py_ssize_t width, uint8_t *count)
    {
        for (int level = 1; level < n_levels; level++) {
            uint8_t *n = count + level * width;
            for (int j = 0; j < 16; j++)
                n[j] = 0;
            for (int i = 0; i < n_rows; i++)
                for (int j = 0; j < 16; j++)
                    n[j] += codes[rows[i] * stride + j] == level;
        }
    }
    #endif

    /* Count the levels of variables in up to 255 rows: those from 1 on that one of the
       16 or 32 side by side has, and below `most`. `levels` has how many each variable
       has, ascending; `width`, the distance of counts, is a multiple of 16. */
    SKB_BYTE_LOOP void skb_count_levels(
        const uint8_t *codes, Py_ssize_t stride, const int *rows, int n_rows,
        const uint8_t *levels, int most, Py_ssize_t width, uint8_t *count)
    {
        Py_ssize_t j = 0;
    #if defined(__GNUC__) || defined(__clang__)
        for (; j + 32 <= width; j += 32) {
            int n_levels = levels[j + 31] < most ? levels[j + 31] : most;
            skb_count_32(
                codes + j, stride, rows, n_rows, n_levels, width, count + j);
        }
    #endif
        for (; j < width; j += 16) {
            int n_levels = levels[j + 15] < most ? levels[j + 15] : most;
            skb_count_16(
                codes + j, stride, rows, n_rows, n_levels, width, count + j);
        }
    }

    /* Add counts, each times a step. */
    SKB_BYTE_LOOP void skb_add_counts(
        const uint8_t *restrict more, uint8_t step, Py_ssize_t width,
        uint8_t *restrict count)
    {
        for (Py_ssize_t j = 0; j < width; j++)
            count[j] += (uint8_t)(step * more[j]);
    }

    /* Count the variables that have the same level in two rows. */
    SKB_BYTE_LOOP void skb_count_equal(
        const uint8_t *x0, const uint8_t *x1, Py_ssize_t width,
        uint8_t *restrict count)
    {
        for (Py_ssize_t j = 0; j < width; j++)
            count[j] += x0[j] == x1[j];
    }

    /* Count where the first two of three rows have a level for themselves, where one
       of them has it with the third, and where all have the same: one after the
       other, `width` counts each. */
    SKB_BYTE_LOOP void skb_count_equal_of_three(
        const uint8_t *x0, const uint8_t *x1, const uint8_t *x2, Py_ssize_t width,
        uint8_t *restrict count)
    {
        uint8_t *restrict other = count + width, *restrict all = other + width;
        for (Py_ssize_t j = 0; j < width; j++) {
            uint8_t first = x0[j] == x1[j], second = x0[j] == x2[j];
            uint8_t third = x1[j] == x2[j];
            count[j] += first & (second ^ 1);
            other[j] += second ^ third;
            all[j] += first & second;
        }
    }

    /* Set a bit for each pair of four rows that have the same level. */
    SKB_BYTE_LOOP void skb_compare_four(
        const uint8_t *x0, const uint8_t *x1, const uint8_t *x2, const uint8_t *x3,
        Py_ssize_t width, uint8_t *restrict number)
    {
        for (Py_ssize_t j = 0; j < width; j++)
            number[j] = (uint8_t)(
                (x0[j] == x1[j]) | ((x0[j] == x2[j]) << 1) | ((x1[j] == x2[j]) << 2)
                | ((x0[j] == x3[j]) << 3) | ((x1[j] == x3[j]) << 4)
                | ((x2[j] == x3[j]) << 5));
    }
    """
    void skb_count_levels(
        const unsigned char *codes, Py_ssize_t stride, const int *rows, int n_rows,
        const unsigned char *levels, int most, Py_ssize_t width, unsigned char *count
    ) nogil
    void skb_add_counts(
        const unsigned char *more, unsigned char step, Py_ssize_t width,
        unsigned char *count
    ) nogil
    void skb_count_equal(
        const unsigned char *x0, const unsigned char *x1, Py_ssize_t width,
        unsigned char *count
    ) nogil
    void skb_count_equal_of_three(
        const unsigned char *x0, const unsigned char *x1, const unsigned char *x2,
        Py_ssize_t width, unsigned char *count
    ) nogil
    void skb_compare_four(
        const unsigned char *x0, const unsigned char *x1, const unsigned char *x2,
        const unsigned char *x3, Py_ssize_t width, unsigned char *number
    ) nogil
