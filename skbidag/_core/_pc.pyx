# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False
"""One node's share of one depth of the PC-stable skeleton search.

At depth l, PC asks of every edge x - y whether some set S of l other neighbors of x
makes x and y independent. The neighborhoods are frozen for the depth (Colombo &
Maathuis, JMLR 2014), so the nodes x do not wait for each other, and the answer does
not depend on the order in which anything is visited.

Both kernels walk the sets S of one node depth-first, in lexicographic order, and share
what belongs to S alone over all y:

- Fisher z: the Schur complement of S in the correlation matrix of x and its
  neighbors. Adding a variable is one rank-1 update. The last variable of S needs no
  update: the partial correlation given it is a closed form of the entries before, so
  a test costs a handful of flops in a loop over y without branches.
- chi-square and G²: the rows grouped by their configuration of S. Adding a variable
  splits the groups. A group with one row, or in which x does not vary, adds nothing
  to the statistic or to its degrees of freedom and is dropped.

The variables are named here by their position among the neighbors of x. An edge that
has been separated is not tested again, unless the caller wants all its separating sets.
"""

import numpy as np

from libc.math cimport log
from libc.string cimport memset


cdef struct Edges:
    # What the search knows of the edges between x and its neighbors.
    Py_ssize_t n  # neighbors of x
    Py_ssize_t depth  # size of the conditioning sets
    Py_ssize_t* chosen  # the set S, `depth` positions
    double* wanted  # 1.0: to be tested; a number, so that it masks arithmetic
    Py_ssize_t n_wanted
    unsigned char* separated
    unsigned char* separators  # (n, n), union of the sets that separate; or NULL
    long long n_tests


cdef inline void separate(Edges* edges, Py_ssize_t y) noexcept nogil:
    """Note that the chosen set separates x from y."""
    cdef Py_ssize_t k
    edges.separated[y] = 1
    if edges.separators == NULL:
        edges.wanted[y] = 0.0
        edges.n_wanted -= 1
    else:
        for k in range(edges.depth):
            edges.separators[y * edges.n + edges.chosen[k]] = 1


cdef inline void count_tests(Edges* edges) noexcept nogil:
    """Count one test for each wanted edge whose end is not in the chosen set."""
    cdef Py_ssize_t k
    edges.n_tests += edges.n_wanted
    for k in range(edges.depth):
        if edges.wanted[edges.chosen[k]] > 0:
            edges.n_tests -= 1


cdef class _Task:
    """Buffers for the edges of one node, and the answer they end in."""

    cdef Edges edges
    cdef Py_ssize_t[::1] chosen
    cdef double[::1] wanted
    cdef unsigned char[::1] separated_view
    cdef unsigned char[:, ::1] separators_view
    cdef object separated
    cdef object separators

    def __init__(self, wanted, Py_ssize_t depth, bint collect):
        cdef Py_ssize_t n = len(wanted)
        self.chosen = np.zeros(depth + 1, dtype=np.intp)
        self.wanted = np.array(wanted, dtype=np.float64)
        self.separated = np.zeros(n, dtype=np.uint8)
        self.separated_view = self.separated
        self.separators = None
        self.edges.n = n
        self.edges.depth = depth
        self.edges.chosen = &self.chosen[0]
        self.edges.wanted = &self.wanted[0]
        self.edges.n_wanted = np.count_nonzero(wanted)
        self.edges.separated = &self.separated_view[0]
        self.edges.separators = NULL
        self.edges.n_tests = 0
        if collect and depth > 0:
            self.separators = np.zeros((n, n), dtype=np.uint8)
            self.separators_view = self.separators
            self.edges.separators = &self.separators_view[0, 0]

    def answer(self):
        separators = self.separators
        if separators is not None:
            separators = separators.view(bool)
        return self.separated.view(bool), separators, self.edges.n_tests


# Fisher z --------------------------------------------------------------------


cdef struct Residuals:
    # Covariances of what the chosen variables leave unexplained, one layer per
    # number of chosen variables. The entries of the chosen variables are exactly 0.
    double* rows  # (depth, n, n), of the neighbors after the last chosen one
    double* row_x  # (depth, n), of x with its neighbors
    double* variances  # (depth, n), of the neighbors
    double variance_x
    double tolerance  # a variance up to this is taken as 0
    double limit  # squared critical correlation


cdef void test_last(
    Edges* edges,
    const double* row,
    const double* row_x,
    const double* variances,
    double variance_x,
    double tolerance,
    double limit,
    Py_ssize_t last,
) noexcept nogil:
    """Test x with every y given the chosen set, whose last member is `last`."""
    cdef Py_ssize_t y, n = edges.n
    cdef const double* wanted = edges.wanted
    cdef double scale = 1.0 / variances[last]
    cdef double slope = row_x[last] * scale
    cdef double left_x = variance_x - row_x[last] * slope
    cdef double left_y, covariance
    cdef double found = 0.0

    if left_x <= tolerance:
        return
    count_tests(edges)
    limit *= left_x
    # The common case, no separation, is decided in one loop that vectorizes. For y in
    # the chosen set left_y is 0 (up to rounding for the last), so nothing is found.
    for y in range(n):
        covariance = row_x[y] - slope * row[y]
        left_y = variances[y] - row[y] * row[y] * scale
        found += (
            wanted[y]
            if (left_y > tolerance) & (covariance * covariance < limit * left_y)
            else 0.0
        )
    if found == 0.0:
        return
    for y in range(n):
        covariance = row_x[y] - slope * row[y]
        left_y = variances[y] - row[y] * row[y] * scale
        if (
            y != last
            and wanted[y] > 0
            and left_y > tolerance
            and covariance * covariance < limit * left_y
        ):
            separate(edges, y)


cdef void extend_residuals(
    Residuals* now, Py_ssize_t n, Py_ssize_t level, Py_ssize_t p
) noexcept nogil:
    """Write the layer after `level`: the Schur complement once p is chosen too."""
    cdef Py_ssize_t q, y
    cdef const double* rows = now.rows + level * n * n
    cdef const double* row = rows + p * n
    cdef const double* row_x = now.row_x + level * n
    cdef const double* variances = now.variances + level * n
    cdef double* next_rows = now.rows + (level + 1) * n * n
    cdef double* next_x = now.row_x + (level + 1) * n
    cdef double* next_variances = now.variances + (level + 1) * n
    cdef double scale = 1.0 / variances[p]
    cdef double slope = row_x[p] * scale

    for y in range(n):
        next_x[y] = row_x[y] - slope * row[y]
        next_variances[y] = variances[y] - row[y] * row[y] * scale
    next_x[p] = 0.0
    next_variances[p] = 0.0
    for q in range(p + 1, n):
        slope = row[q] * scale
        for y in range(n):
            next_rows[q * n + y] = rows[q * n + y] - slope * row[y]
        next_rows[q * n + p] = 0.0


cdef void walk_residuals(
    Edges* edges, Residuals* now, Py_ssize_t level, Py_ssize_t start
) noexcept nogil:
    """Extend the `level` chosen variables to all sets by positions from `start`."""
    cdef Py_ssize_t p, n = edges.n
    cdef const double* row_x = now.row_x + level * n
    cdef const double* variances = now.variances + level * n
    cdef double variance_x = now.variance_x, left_x

    for p in range(start, n - (edges.depth - 1 - level)):
        if edges.n_wanted == 0:
            return
        # A variable that the chosen ones determine: no test with it means anything.
        if variances[p] <= now.tolerance:
            continue
        edges.chosen[level] = p
        if level == edges.depth - 1:
            test_last(
                edges,
                now.rows + (level * n + p) * n,
                row_x,
                variances,
                variance_x,
                now.tolerance,
                now.limit,
                p,
            )
            continue
        left_x = variance_x - row_x[p] * row_x[p] / variances[p]
        if left_x <= now.tolerance:
            continue
        extend_residuals(now, n, level, p)
        now.variance_x = left_x
        walk_residuals(edges, now, level + 1, p + 1)
        now.variance_x = variance_x


def separate_gaussian(
    const double[:, ::1] correlation,
    Py_ssize_t x,
    const Py_ssize_t[::1] neighbors,
    wanted,
    Py_ssize_t depth,
    double critical,
    double tolerance,
    bint collect,
):
    """Test the edges of x given every set of `depth` >= 1 of its neighbors.

    Parameters
    ----------
    correlation : (n, n) array
        Correlation matrix.
    x : int
        The node.
    neighbors : array of int
        Its neighbors, ascending.
    wanted : bool array, one per neighbor
        Which edges to test.
    depth : int
        Size of the conditioning sets.
    critical : float
        Independent is who has a partial correlation below this in absolute value.
    tolerance : float
        A residual variance up to this (of 1) counts as 0; such a test says nothing.
    collect : bool
        Whether to go on testing separated edges, for all their separating sets.

    Returns
    -------
    separated : bool array, one per neighbor
        Whether some set separates x from it.
    separators : bool array of shape (n_neighbors, n_neighbors) or None
        ``separators[y, z]``: z is in a set that separates x from y.
    n_tests : int
        Number of tests made.
    """
    cdef Py_ssize_t n = neighbors.shape[0], q, y
    cdef _Task task = _Task(wanted, depth, collect)
    cdef double[:, :, ::1] rows = np.empty((depth, n, n))
    cdef double[:, ::1] row_x = np.empty((depth, n))
    cdef double[:, ::1] variances = np.ones((depth, n))
    cdef Residuals now

    with nogil:
        for q in range(n):
            row_x[0, q] = correlation[x, neighbors[q]]
            for y in range(n):
                rows[0, q, y] = correlation[neighbors[q], neighbors[y]]
        now.rows = &rows[0, 0, 0]
        now.row_x = &row_x[0, 0]
        now.variances = &variances[0, 0]
        now.variance_x = 1.0
        now.tolerance = tolerance
        now.limit = critical * critical
        walk_residuals(&task.edges, &now, 0, 0)
    return task.answer()


# Chi-square and G² -----------------------------------------------------------


cdef struct Groups:
    # Rows of the data grouped by configuration of the chosen variables, one layer
    # per number of chosen variables, and the table of one group.
    Py_ssize_t n_rows
    int* order  # (depth + 1, n_rows), row numbers, group after group
    int* starts  # (depth + 1, n_rows + 1), where each group starts in it
    Py_ssize_t* n_groups  # (depth + 1,)
    const int* codes  # (n_features, n_rows)
    const int* n_levels  # (n_features,)
    const double* weight  # (n_rows,)
    const Py_ssize_t* neighbors
    Py_ssize_t x
    bint likelihood_ratio
    const double* critical  # by degrees of freedom
    int* last_order  # (n_rows,), rows of the groups in which x varies
    int* last_starts  # (n_rows + 1,)
    int* x_codes  # (n_rows,), codes of x in that order
    int* cursor  # (largest number of levels + 1,)
    double* table  # (levels of x, levels of y)
    double* margin_x
    double* margin_y


cdef void split_groups(
    Groups* now, Py_ssize_t level, Py_ssize_t variable
) noexcept nogil:
    """Write the layer after `level`: its groups split by a variable."""
    cdef const int* order = now.order + level * now.n_rows
    cdef const int* starts = now.starts + level * (now.n_rows + 1)
    cdef int* next_order = now.order + (level + 1) * now.n_rows
    cdef int* next_starts = now.starts + (level + 1) * (now.n_rows + 1)
    cdef const int* codes = now.codes + variable * now.n_rows
    cdef int n_levels = now.n_levels[variable], size, c
    cdef int* cursor = now.cursor
    cdef Py_ssize_t group, i, n_groups = 0
    cdef int end = 0

    next_starts[0] = 0
    for group in range(now.n_groups[level]):
        memset(cursor, 0, n_levels * sizeof(int))
        for i in range(starts[group], starts[group + 1]):
            cursor[codes[order[i]]] += 1
        for c in range(n_levels):
            size = cursor[c]
            if size < 2:
                cursor[c] = -1
                continue
            cursor[c] = end
            end += size
            n_groups += 1
            next_starts[n_groups] = end
        for i in range(starts[group], starts[group + 1]):
            c = codes[order[i]]
            if cursor[c] >= 0:
                next_order[cursor[c]] = order[i]
                cursor[c] += 1
    now.n_groups[level + 1] = n_groups


cdef Py_ssize_t keep_varying(Groups* now, Py_ssize_t level) noexcept nogil:
    """Copy the groups in which x varies, and return their number."""
    cdef const int* order = now.order + level * now.n_rows
    cdef const int* starts = now.starts + level * (now.n_rows + 1)
    cdef const int* codes = now.codes + now.x * now.n_rows
    cdef Py_ssize_t group, i, n_groups = 0
    cdef int end = 0, first
    cdef bint varies

    now.last_starts[0] = 0
    for group in range(now.n_groups[level]):
        first = codes[order[starts[group]]]
        varies = False
        for i in range(starts[group], starts[group + 1]):
            if codes[order[i]] != first:
                varies = True
                break
        if not varies:
            continue
        for i in range(starts[group], starts[group + 1]):
            now.last_order[end] = order[i]
            now.x_codes[end] = codes[order[i]]
            end += 1
        n_groups += 1
        now.last_starts[n_groups] = end
    return n_groups


cdef bint is_independent(
    Groups* now, Py_ssize_t n_groups, Py_ssize_t y
) noexcept nogil:
    """Test x with the variable y over the tables of the groups."""
    cdef const int* codes = now.codes + y * now.n_rows
    cdef const double* weight = now.weight
    cdef int levels_x = now.n_levels[now.x], levels_y = now.n_levels[y]
    cdef int a, b, seen_x, seen_y
    cdef Py_ssize_t group, i, row
    cdef long long freedom = 0
    cdef double statistic = 0.0, total, observed, expected

    for group in range(n_groups):
        memset(now.table, 0, levels_x * levels_y * sizeof(double))
        for i in range(now.last_starts[group], now.last_starts[group + 1]):
            row = now.last_order[i]
            now.table[now.x_codes[i] * levels_y + codes[row]] += weight[row]
        memset(now.margin_x, 0, levels_x * sizeof(double))
        memset(now.margin_y, 0, levels_y * sizeof(double))
        total = 0.0
        for a in range(levels_x):
            for b in range(levels_y):
                observed = now.table[a * levels_y + b]
                now.margin_x[a] += observed
                now.margin_y[b] += observed
            total += now.margin_x[a]
        seen_x = seen_y = 0
        for a in range(levels_x):
            seen_x += now.margin_x[a] > 0
        for b in range(levels_y):
            seen_y += now.margin_y[b] > 0
        if seen_y < 2:
            continue
        freedom += (seen_x - 1) * (seen_y - 1)
        for a in range(levels_x):
            if now.margin_x[a] == 0:
                continue
            for b in range(levels_y):
                if now.margin_y[b] == 0:
                    continue
                observed = now.table[a * levels_y + b]
                expected = now.margin_x[a] * now.margin_y[b] / total
                if not now.likelihood_ratio:
                    statistic += (observed - expected) ** 2 / expected
                elif observed > 0:
                    statistic += 2.0 * observed * log(observed / expected)
    return statistic < now.critical[freedom]


cdef void walk_groups(
    Edges* edges, Groups* now, Py_ssize_t level, Py_ssize_t start
) noexcept nogil:
    """Extend the `level` chosen variables to all sets by positions from `start`."""
    cdef Py_ssize_t k, p, y, n_groups

    if level == edges.depth:
        count_tests(edges)
        n_groups = keep_varying(now, level)
        # An edge to a chosen variable is left out of the loop over y.
        k = 0
        for y in range(edges.n):
            if k < edges.depth and edges.chosen[k] == y:
                k += 1
            elif edges.wanted[y] > 0 and is_independent(
                now, n_groups, now.neighbors[y]
            ):
                separate(edges, y)
        return
    for p in range(start, edges.n - (edges.depth - 1 - level)):
        if edges.n_wanted == 0:
            return
        edges.chosen[level] = p
        split_groups(now, level, now.neighbors[p])
        walk_groups(edges, now, level + 1, p + 1)


def separate_discrete(
    const int[:, ::1] codes,
    const int[::1] n_levels,
    const double[::1] weight,
    Py_ssize_t x,
    const Py_ssize_t[::1] neighbors,
    wanted,
    Py_ssize_t depth,
    const double[::1] critical,
    bint likelihood_ratio,
    bint collect,
):
    """Test the edges of x given every set of `depth` of its neighbors.

    Parameters
    ----------
    codes : (n, n_rows) array of int
        The level of each variable in each row, from 0.
    n_levels : array of int
        Number of levels of each variable.
    weight : array of float
        Positive weights of the rows.
    x, neighbors, wanted, depth, collect
        As in :func:`separate_gaussian`.
    critical : array of float
        By degrees of freedom; independent is who has a smaller statistic.
    likelihood_ratio : bool
        G² instead of Pearson's chi-square.

    Returns
    -------
    separated, separators, n_tests
        As in :func:`separate_gaussian`.
    """
    cdef Py_ssize_t n_rows = codes.shape[1], i
    cdef _Task task = _Task(wanted, depth, collect)
    cdef Py_ssize_t most = max(n_levels)
    cdef int[:, ::1] order = np.empty((depth + 1, n_rows), dtype=np.intc)
    cdef int[:, ::1] starts = np.empty((depth + 1, n_rows + 1), dtype=np.intc)
    cdef Py_ssize_t[::1] n_groups = np.empty(depth + 1, dtype=np.intp)
    cdef int[::1] last_order = np.empty(n_rows, dtype=np.intc)
    cdef int[::1] last_starts = np.empty(n_rows + 1, dtype=np.intc)
    cdef int[::1] x_codes = np.empty(n_rows, dtype=np.intc)
    cdef int[::1] cursor = np.empty(most, dtype=np.intc)
    cdef double[::1] table = np.empty(n_levels[x] * most)
    cdef double[:, ::1] margins = np.empty((2, most))
    cdef Groups now

    now.n_rows = n_rows
    now.order = &order[0, 0]
    now.starts = &starts[0, 0]
    now.n_groups = &n_groups[0]
    now.codes = &codes[0, 0]
    now.n_levels = &n_levels[0]
    now.weight = &weight[0]
    now.neighbors = &neighbors[0]
    now.x = x
    now.likelihood_ratio = likelihood_ratio
    now.critical = &critical[0]
    now.last_order = &last_order[0]
    now.last_starts = &last_starts[0]
    now.x_codes = &x_codes[0]
    now.cursor = &cursor[0]
    now.table = &table[0]
    now.margin_x = &margins[0, 0]
    now.margin_y = &margins[1, 0]
    with nogil:
        for i in range(n_rows):
            order[0, i] = i
        starts[0, 0] = 0
        starts[0, 1] = n_rows
        n_groups[0] = 1
        walk_groups(&task.edges, &now, 0, 0)
    return task.answer()
