# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False
"""What counts are worth in a score of categorical data.

Such a score is a sum of f(count) over the observed cells (parent configuration, child
level), plus a sum of g(count) over the observed configurations. BDe has
f(n) = lnΓ(a + n) − lnΓ(a) and g(n) = lnΓ(A) − lnΓ(A + n), with pseudo-counts
A = s / q and a = A / r that depend on the equivalent sample size s, on the parents
through their number of configurations q, and on the child through its number of levels
r; BIC has f(n) = n ln n = −g(n).

The state is tables of f and g by count, one table for each (s, q, r) that was asked
for. A table is filled as far as counts have come, by a recursion with one logarithm for
each count, and what lies beyond its end is computed. On these stand tables of what is
looked up at once: f(n) + f(size − n) for binary variables, and what a small group is
worth, by which of its rows are equal or by all its counts together.

Tables of f and g are kept from call to call, until there are too many of them or a call
with more of them wants shorter ones. What stays true: what a call looks up does not
depend on the calls before. Therefore a count beyond those that a call has come to is
computed, which may differ in the last digit, even if its table is filled already.

Cost: an f or g takes a logarithm when it is filled, a look-up otherwise.
"""

from libc.math cimport lgamma, log
from libc.string cimport memset

import numpy as np

cdef enum:
    # Number of doubles in all tables of f and g, at most; untouched ones cost no
    # memory.
    TABLE_BUDGET = 1 << 22
    SHORTEST_TABLE = 1 << 6
    LONGEST_TABLE = 1 << 13
    # The same of the pairs.
    PAIR_BUDGET = 1 << 22
    # Tables there is room for if a call does not need more of them.
    N_TABLES = 1 << 6


cdef class Worth:
    """Look-up tables of f and g.

    Parameters
    ----------
    weights : ndarray of float64 of shape (n_rows,)
        How often each row counts. Fractions are not looked up.
    """

    def __init__(self, weights):
        self.integral = (weights == np.floor(weights)).all()
        self.total = weights.sum()
        self.n_rows = len(weights)
        self.numbers = {}
        self.a, self.big_a = np.empty(0), np.empty(0)
        self.f = np.empty((0, 0))
        self.memory = [np.empty(0), np.empty(0)]
        self.place_of_four, self.parts_of_four, self.cells_of_four = _OF_FOUR
        self.shape = np.empty(N_SHAPES, dtype=np.longlong)
        self.shape_key = np.empty(N_SHAPES, dtype=np.longlong)
        self.of_shape = np.empty((N_SHAPES, LARGEST_SPAN))

    def tables_of(self, double pseudo_count, list n_configurations, int n_levels):
        """Begin a call: give the numbers of the tables that it looks up.

        Parameters
        ----------
        pseudo_count : float
            Equivalent sample size of BDe; zero is BIC.
        n_configurations : list of float
            Numbers of configurations of the parents.
        n_levels : int
            Number of levels of the child.

        Returns
        -------
        numbers : list of int
            The table of each number of configurations, until the next call.
        """
        self.bayes = pseudo_count > 0
        if self.bayes:
            keys = [(pseudo_count, q, n_levels) for q in n_configurations]
        else:  # f and g are the same for all
            keys = [(0.0, 1.0, 1)] * len(n_configurations)
        cdef int t
        distinct = set(keys)
        self.make_room(distinct)
        for key in distinct:
            t = self.numbers[key] if key in self.numbers else self.add_table(key)
            self.f_reach[t] = self.g_reach[t] = 0
            self.pairs_filled[t, :] = 0
        return [self.numbers[key] for key in keys]

    cdef object make_room(self, set keys):
        """See to it that all the tables of a call have room."""
        cdef int length = 1
        if self.integral:
            length = <int>min(
                self.total + 1,
                LONGEST_TABLE,
                max(SHORTEST_TABLE, TABLE_BUDGET // (2 * len(keys))),
            )
        cdef int largest_pair = min(
            LARGEST_BYTE, self.n_rows, length - 1,
            <int>((PAIR_BUDGET / <double>len(keys)) ** 0.5),
        )
        fits = length == self.f.shape[1] and largest_pair == self.largest_pair
        n_tables = len(keys | self.numbers.keys())
        if fits and n_tables <= self.f.shape[0]:
            return
        if not fits or len(keys) > self.f.shape[0]:
            n_tables = max(len(keys), N_TABLES)
            n_pairs = (largest_pair + 1) * (largest_pair + 2) // 2
            self.largest_pair = largest_pair
            self.a, self.big_a = np.empty((2, n_tables))
            self.log_gamma_a, self.log_gamma_big_a = np.empty((2, n_tables))
            self.f, self.g = self.take(0, n_tables, length)
            self.f_filled, self.g_filled = np.empty((2, n_tables), dtype=np.intc)
            self.f_reach, self.g_reach = np.empty((2, n_tables), dtype=np.intc)
            self.f_pairs, self.g_pairs = self.take(1, n_tables, n_pairs)
            self.pairs_filled = np.empty((n_tables, largest_pair + 1), dtype=np.uint8)
        self.numbers = {}
        self.shape[:] = 0

    cdef object take(self, int which, Py_ssize_t n_tables, Py_ssize_t length):
        """Give room for tables of f and of g, in memory that is used again.

        Calls want more and fewer tables in turn, and to clear fresh memory took a tenth
        of a search.
        """
        size = 2 * n_tables * length
        if len(self.memory[which]) < size:
            self.memory[which] = np.empty(size)
        return self.memory[which][:size].reshape(2, n_tables, length)

    cdef int add_table(self, tuple key) except -1:
        """Give the number of a new table."""
        cdef int t = len(self.numbers)
        pseudo_count, n_configurations, n_levels = key
        self.numbers[key] = t
        self.big_a[t] = pseudo_count / n_configurations
        self.a[t] = self.big_a[t] / <double>n_levels
        self.log_gamma_a[t] = lgamma(self.a[t])
        self.log_gamma_big_a[t] = lgamma(self.big_a[t])
        self.f_filled[t] = self.g_filled[t] = 0
        return t

    cdef void extend(self, int t, double f_top, double g_top) noexcept nogil:
        """Have f up to f_top and g up to g_top, as far as the tables are long."""
        cdef double* f = &self.f[t, 0]
        cdef double* g = &self.g[t, 0]
        cdef double length = self.f.shape[1]
        cdef int n, stop
        stop = <int>min(f_top + 1, length)
        for n in range(self.f_filled[t], stop):
            if n == 0:
                f[n] = 0.0
            elif self.bayes:
                f[n] = f[n - 1] + log(self.a[t] + (n - 1))
            else:
                f[n] = n * log(<double>n)
        self.f_filled[t] = max(self.f_filled[t], stop)
        self.f_reach[t] = max(self.f_reach[t], stop)
        stop = <int>min(g_top + 1, length)
        for n in range(self.g_filled[t], stop):
            if n == 0:
                g[n] = 0.0
            elif self.bayes:
                g[n] = g[n - 1] - log(self.big_a[t] + (n - 1))
            else:
                g[n] = -n * log(<double>n)
        self.g_filled[t] = max(self.g_filled[t], stop)
        self.g_reach[t] = max(self.g_reach[t], stop)

    cdef void fill_pairs(self, int t, int size) noexcept nogil:
        """Tabulate f(n) + f(size - n) and g(n) + g(size - n), n = 0 to size."""
        cdef Py_ssize_t place = <Py_ssize_t>size * (size + 1) // 2
        cdef int n
        self.pairs_filled[t, size] = True
        for n in range(size + 1):
            self.f_pairs[t, place + n] = (
                f_value(self, t, n) + f_value(self, t, size - n)
            )
            self.g_pairs[t, place + n] = (
                g_value(self, t, n) + g_value(self, t, size - n)
            )

    cdef void fill_four(self, int t, int shape, double* worth) noexcept nogil:
        """Tabulate what a group of four rows is worth, by which of them are equal.

        Bit by bit, a place in the table tells of each pair of rows, (0, 1), (0, 2),
        (1, 2), (0, 3) and so on, whether the outsider has the same level in both. Of
        the places, only those of the 15 ways to part the rows are filled. A bit of
        `shape` tells of each row but the first whether it begins a segment.
        """
        cdef double f[LARGEST_TINY + 1]
        cdef double g[LARGEST_TINY + 1]
        cdef int n, parting
        cdef double score
        for n in range(1, LARGEST_TINY + 1):
            f[n] = f_value(self, t, n)
            g[n] = g_value(self, t, n)
        for parting in range(N_PARTINGS):
            score = 0.0
            for n in range(1, LARGEST_TINY + 1):
                score += self.cells_of_four[shape, parting, n] * f[n]
                score += self.parts_of_four[parting, n] * g[n]
            worth[self.place_of_four[parting]] = score

    cdef void fill_small(
        self, int t, int levels, int n_segments, const int* sizes, int span,
        double* worth
    ) noexcept nogil:
        """Tabulate the worth of all counts in a group with segments of these sizes.

        The counts of the levels from 1 on, segment by segment, are the digits of the
        place in the table, the first one the lowest.
        """
        cdef int place, segment, level, n, left
        cdef int d = 0
        cdef int digit[N_DIGITS]
        cdef int total[N_DIGITS + 1]
        cdef double score
        memset(digit, 0, sizeof(digit))
        for place in range(span):
            score = 0.0
            memset(total, 0, sizeof(total))
            d = 0
            for segment in range(n_segments):
                left = sizes[segment]
                for level in range(1, levels):
                    n = digit[d]
                    d += 1
                    left -= n
                    total[level] += n
                    score += f_value(self, t, n)
                if left < 0:
                    break  # more rows than there are: never looked up
                total[0] += left
                score += f_value(self, t, left)
            for level in range(levels):
                score += g_value(self, t, total[level])
            worth[place] = score
            d = 0
            while d < n_segments * (levels - 1):
                if digit[d] < sizes[d // (levels - 1)]:
                    digit[d] += 1
                    break
                digit[d] = 0
                d += 1


def _partings_of_four():
    """Give the ways to part four rows, and how many cells of each size they make.

    Returns
    -------
    places : ndarray of shape (n_partings,)
        A bit for each pair of rows that stay together.
    parts : ndarray of shape (n_partings, 5)
        Number of parts with so many rows.
    cells : ndarray of shape (8, n_partings, 5)
        Number of cells, which have a part and a segment, with so many rows, for each
        shape: a bit for each row but the first tells whether it begins a segment.
    """
    labels = [
        row for row in np.ndindex(1, 2, 3, 4)
        if all(row[k] <= max(row[:k]) + 1 for k in range(1, LARGEST_TINY))
    ]
    pairs = [(other, row) for row in range(LARGEST_TINY) for other in range(row)]
    places = [
        sum((label[i] == label[j]) << bit for bit, (i, j) in enumerate(pairs))
        for label in labels
    ]

    def sizes(keys):
        counts = [keys.count(key) for key in set(keys)]
        return np.bincount(counts, minlength=LARGEST_TINY + 1)

    parts = [sizes([*label]) for label in labels]
    cells = [
        [
            sizes([(part, sum(shape >> k & 1 for k in range(row)))
                   for row, part in enumerate(label)])
            for label in labels
        ]
        for shape in range(1 << (LARGEST_TINY - 1))
    ]
    return (
        np.array(places, dtype=np.intc),
        np.array(parts, dtype=float),
        np.array(cells, dtype=float),
    )


_OF_FOUR = _partings_of_four()
