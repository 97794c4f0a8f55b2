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

    /* Add `step` to the counts of the variables that have a value, for each row. Four
       rows at a time: the counts are loaded and stored once for all of them. */
    SKB_BYTE_LOOP void skb_add_rows(
        const uint8_t *codes, Py_ssize_t stride, const int *rows, int n_rows,
        uint8_t value, uint8_t step, Py_ssize_t width, uint8_t *restrict count)
    {
        int i = 0;
        for (; i + 4 <= n_rows; i += 4) {
            const uint8_t *x0 = codes + rows[i] * stride;
            const uint8_t *x1 = codes + rows[i + 1] * stride;
            const uint8_t *x2 = codes + rows[i + 2] * stride;
            const uint8_t *x3 = codes + rows[i + 3] * stride;
            for (Py_ssize_t j = 0; j < width; j++)
                count[j] += (uint8_t)((x0[j] == value ? step : 0)
                                      + (x1[j] == value ? step : 0)
                                      + (x2[j] == value ? step : 0)
                                      + (x3[j] == value ? step : 0));
        }
        for (; i < n_rows; i++) {
            const uint8_t *x0 = codes + rows[i] * stride;
            for (Py_ssize_t j = 0; j < width; j++)
                count[j] += x0[j] == value ? step : 0;
        }
    }

    /* Add the codes of rows, which are 0 or 1. */
    SKB_BYTE_LOOP void skb_add_binary_rows(
        const uint8_t *codes, Py_ssize_t stride, const int *rows, int n_rows,
        Py_ssize_t width, uint8_t *restrict count)
    {
        int i = 0;
        for (; i + 4 <= n_rows; i += 4) {
            const uint8_t *x0 = codes + rows[i] * stride;
            const uint8_t *x1 = codes + rows[i + 1] * stride;
            const uint8_t *x2 = codes + rows[i + 2] * stride;
            const uint8_t *x3 = codes + rows[i + 3] * stride;
            for (Py_ssize_t j = 0; j < width; j++)
                count[j] += (uint8_t)((x0[j] + x1[j]) + (x2[j] + x3[j]));
        }
        for (; i < n_rows; i++) {
            const uint8_t *x0 = codes + rows[i] * stride;
            for (Py_ssize_t j = 0; j < width; j++)
                count[j] += x0[j];
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
    void skb_add_rows(
        const unsigned char *codes, Py_ssize_t stride, const int *rows, int n_rows,
        unsigned char value, unsigned char step, Py_ssize_t width,
        unsigned char *count
    ) nogil
    void skb_add_binary_rows(
        const unsigned char *codes, Py_ssize_t stride, const int *rows, int n_rows,
        Py_ssize_t width, unsigned char *count
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
