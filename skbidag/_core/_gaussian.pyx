# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False
"""Scores of all parent sets of a node under a linear Gaussian score.

With T a positive definite matrix (for BGe the posterior scatter, for BIC the
scatter), the score of node i with the l parents P is

    offset[l] - slope[l] ln v(i | P) - det_weight ln det T_PP

where v(i | P) = T_ii - T_iP T_PP^-1 T_Pi. The subsets are walked depth-first, one
parent added at a time, keeping the *Schur complement* of what is not yet in the
set: the rows of i and of the candidates still to come, over all columns, and the
diagonal. Adding a parent is one rank-1 update of those rows. Half of all subsets
contain the last candidate and have no rows to come, so on average a subset costs
three row updates and the logarithms of its entries; nothing is factorized.

In the same row stand, for every outsider j, the covariance with i and the variance
given the set: v(i | P + j) = r_ii - r_ij^2 / r_jj and ln det + ln r_jj give the
scores of the set plus each outsider in one vector loop.
"""

cimport cython
from libc.math cimport INFINITY
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy

import numpy as np

from skbidag._core._set_scores cimport SetScores
from skbidag._core._vector cimport (
    skb_log,
    skb_outsider_scores,
    skb_subtract_multiple,
    skb_subtract_share,
    skb_subtract_square,
)

# Of a parent's variance, what others must leave for their factorization to serve for
# sets without it as well.
cdef double LEAST_SHARE = 1e-8


cdef struct Walk:
    # One level per number of parents in the set. A level holds n_rows + 1 rows of
    # `width` doubles: the child, the candidates, and last the diagonal.
    double *levels
    Py_ssize_t level_size
    Py_ssize_t width
    Py_ssize_t n_candidates
    Py_ssize_t child_column
    const Py_ssize_t *columns      # where each candidate stands in a row
    const double *floor            # smallest conditional variance of each column
    const double *bias             # log prior odds of an outsider, -inf if none
    const double *candidate_bias   # log prior odds of each candidate
    const double *offset
    const double *slope
    double det_weight
    bint extended
    double *out
    Py_ssize_t out_width
    Py_ssize_t base_column


cdef void visit(
    const Walk *walk, Py_ssize_t size, Py_ssize_t mask, Py_ssize_t first,
    double log_det, double log_prior
) noexcept nogil:
    """Write the row of one subset, then go on to the subsets that extend it."""
    cdef:
        double *level = walk.levels + size * walk.level_size
        double *below = level + walk.level_size
        double *row = walk.out + mask * walk.out_width
        Py_ssize_t width = walk.width
        Py_ssize_t last = walk.n_candidates + 1
        Py_ssize_t i = walk.child_column
        Py_ssize_t k, later, column
        double child_floor = walk.floor[i]
        double variance = max(level[i], child_floor)
        double pivot
        double *source

    if walk.extended:
        skb_outsider_scores(
            row, level, level + last * width, walk.floor, walk.bias, variance,
            child_floor,
            walk.offset[size + 1] - walk.det_weight * log_det + log_prior,
            walk.slope[size + 1], walk.det_weight, walk.out_width,
        )
    row[walk.base_column] = (
        walk.offset[size] - walk.slope[size] * skb_log(variance)
        - walk.det_weight * log_det + log_prior
    )
    for k in range(first, walk.n_candidates):
        column = walk.columns[k]
        source = level + (k + 1) * width
        pivot = max(source[column], walk.floor[column])
        skb_subtract_multiple(below, level, source, level[column] / pivot, width)
        for later in range(k + 1, walk.n_candidates):
            skb_subtract_multiple(
                below + (later + 1) * width, level + (later + 1) * width, source,
                source[walk.columns[later]] / pivot, width,
            )
        if walk.extended:
            skb_subtract_square(
                below + last * width, level + last * width, source, 1.0 / pivot, width
            )
        visit(
            walk, size + 1, mask | (<Py_ssize_t> 1 << k), k + 1,
            log_det + skb_log(pivot), log_prior + walk.candidate_bias[k],
        )


def fill_table(
    const double[:, ::1] rows, const double[::1] diagonal, const double[::1] floor,
    Py_ssize_t child_column, const Py_ssize_t[::1] columns, const double[::1] bias,
    const double[::1] candidate_bias, const double[::1] offset,
    const double[::1] slope, double det_weight, Py_ssize_t base_column,
    double[:, ::1] out,
):
    """Write the scores of all subsets of the candidates, plus each outsider.

    Parameters
    ----------
    rows : (K + 1, width) array
        The rows of T of the child and of its K candidates; width a multiple of 4.
    diagonal, floor : (width,) arrays
        The diagonal of T, and the smallest value a conditional variance can have.
    child_column, columns : int, (K,) array
        Where the child and the candidates stand among the columns.
    bias : (width,) array
        Log prior odds of each outsider as a parent, -inf for columns that are not
        outsiders.
    candidate_bias : (K,) array
        Log prior odds of each candidate.
    offset, slope : (K + 2,) arrays
        The score's constants for each number of parents.
    det_weight : float
        The weight of ln det T_PP.
    base_column : int
        The column of `out` for the subsets without an outsider.
    out : (2^K, out_width) array, or (2^K, 1) where there are no outsiders
        Its columns are the first ones of `rows`.
    """
    cdef:
        Walk walk
        Py_ssize_t n_candidates = columns.shape[0]
        Py_ssize_t width = rows.shape[1]
        double *levels
    walk.n_candidates = n_candidates
    walk.width = width
    walk.level_size = (n_candidates + 2) * width
    walk.child_column = child_column
    walk.columns = &columns[0] if n_candidates else NULL
    walk.floor = &floor[0]
    walk.bias = &bias[0]
    walk.candidate_bias = &candidate_bias[0] if n_candidates else NULL
    walk.offset = &offset[0]
    walk.slope = &slope[0]
    walk.det_weight = det_weight
    walk.extended = out.shape[1] > 1
    walk.out = &out[0, 0]
    walk.out_width = out.shape[1]
    walk.base_column = base_column
    levels = <double *> malloc(
        (n_candidates + 1) * walk.level_size * sizeof(double)
    )
    if levels == NULL:
        raise MemoryError
    walk.levels = levels
    memcpy(levels, &rows[0, 0], (n_candidates + 1) * width * sizeof(double))
    memcpy(
        levels + (n_candidates + 1) * width, &diagonal[0], width * sizeof(double)
    )
    with nogil:
        visit(&walk, 0, 0, 0, 0.0, 0.0)
    free(levels)


def fill_subsets(
    const double[:, ::1] matrix, const double[::1] diagonal, const double[::1] floor,
    const double[::1] offset, const double[::1] slope, double det_weight,
    const double[::1] log_odds, Py_ssize_t node, const Py_ssize_t[::1] candidates,
    const Py_ssize_t[::1] kept, Py_ssize_t base_column, double[:, ::1] out,
):
    """Write the scores of all subsets of the candidates, without any outsider.

    Parameters
    ----------
    matrix, diagonal, floor, offset, slope, det_weight, log_odds, node
        As in :func:`select_parents`.
    candidates : (K,) array
        The candidates.
    kept : (l,) array
        Parents that every set has beside them.
    base_column : int
        The column of `out` for the scores.
    out : (2^K, out_width) array
        The table.
    """
    cdef:
        Walk walk
        Py_ssize_t n_candidates = candidates.shape[0], n_kept = kept.shape[0]
        # the child, its candidates, and what it keeps
        Py_ssize_t n_all = 1 + n_candidates + n_kept
        Py_ssize_t width = (n_all + 3) // 4 * 4  # whole vectors
        Py_ssize_t i, j, variable
        double log_det = 0.0, log_prior = 0.0, pivot
        Py_ssize_t *variables = <Py_ssize_t *> malloc(2 * n_all * sizeof(Py_ssize_t))
        Py_ssize_t *columns = variables + n_all
        double *levels = <double *> calloc(
            ((n_candidates + 1) * (n_candidates + 2) + n_kept + 2) * width,
            sizeof(double),
        )
        double *rows_of_kept
        double *floors
        double *bias
        double *row
        double *target
    if variables == NULL or levels == NULL:
        free(variables)
        free(levels)
        raise MemoryError
    walk.n_candidates = n_candidates
    walk.width = width
    walk.level_size = (n_candidates + 2) * width
    walk.levels = levels
    rows_of_kept = levels + (n_candidates + 1) * walk.level_size
    floors = rows_of_kept + n_kept * width
    bias = floors + width
    walk.child_column = 0
    walk.columns = columns
    walk.floor = floors
    walk.bias = NULL
    walk.candidate_bias = bias
    walk.offset = &offset[0] + n_kept
    walk.slope = &slope[0] + n_kept
    walk.det_weight = det_weight
    walk.extended = False
    walk.out = &out[0, 0]
    walk.out_width = out.shape[1]
    walk.base_column = base_column
    with nogil:
        variables[0] = node
        for i in range(n_candidates):
            variables[1 + i] = candidates[i]
            columns[i] = 1 + i
            bias[i] = log_odds[candidates[i]]
        for i in range(n_kept):
            variables[1 + n_candidates + i] = kept[i]
        for i in range(n_all):
            variable = variables[i]
            floors[i] = floor[variable]
            row = row_of(levels, rows_of_kept, i, n_candidates, width)
            for j in range(n_all):
                row[j] = matrix[variable, variables[j]]
        for i in range(1 + n_candidates, n_all):
            row = row_of(levels, rows_of_kept, i, n_candidates, width)
            pivot = max(row[i], floors[i])
            log_det += skb_log(pivot)
            log_prior += log_odds[variables[i]]
            for j in range(n_all):
                if j <= n_candidates or j > i:
                    target = row_of(levels, rows_of_kept, j, n_candidates, width)
                    skb_subtract_multiple(target, target, row, row[j] / pivot, width)
        visit(&walk, 0, 0, 0, log_det, log_prior)
    free(variables)
    free(levels)


cdef inline double *row_of(
    double *levels, double *rows_of_kept, Py_ssize_t i, Py_ssize_t n_candidates,
    Py_ssize_t width,
) noexcept nogil:
    """The row of the child, of a candidate, or of a parent that is kept."""
    if i <= n_candidates:
        return levels + i * width
    return rows_of_kept + (i - 1 - n_candidates) * width


cdef double add_parent(
    const double *of_parent, double floor, Py_ssize_t parent, Py_ssize_t n,
    Py_ssize_t size, double *rows, double *pivots, double *covariance,
    double *variances, Py_ssize_t width,
) noexcept nogil:
    """Condition on one more parent, the `size`-th, in place; returns its pivot.

    Its row of the matrix has n entries, all that is worked out has `width`.
    """
    cdef:
        double *row = rows + size * width
        Py_ssize_t k
        double pivot
    memcpy(row, of_parent, n * sizeof(double))
    for k in range(n, width):
        row[k] = 0.0
    for k in range(size):
        skb_subtract_multiple(
            row, row, rows + k * width, rows[k * width + parent] / pivots[k], width
        )
    pivot = max(row[parent], floor)
    pivots[size] = pivot
    skb_subtract_multiple(
        covariance, covariance, row, covariance[parent] / pivot, width
    )
    skb_subtract_share(variances, row, pivot, width)
    return pivot


def select_parents(
    const double[:, ::1] matrix, const double[::1] diagonal, const double[::1] floor,
    const double[::1] offset, const double[::1] slope, double det_weight,
    const double[::1] log_odds, Py_ssize_t node, const unsigned char[::1] allowed,
    Py_ssize_t max_size, const Py_ssize_t[::1] kept, bint stop,
):
    """Forward selection of parents: add the best until none raises the score.

    The child's covariances and all variances given the parents so far are updated
    by one row a step, the new parent's, which takes O(n l) for the l-th.

    Parameters
    ----------
    matrix, diagonal, floor, offset, slope, det_weight
        As in :func:`fill_table`, for all variables. (A diagonal by itself is read much
        faster than that of a large matrix.)
    log_odds : (n,) array
        Log prior odds of each variable as a parent.
    node : int
        The child.
    allowed : (n,) array of 0 and 1
        Which variables may be added.
    max_size : int
        The most parents, those in `kept` included.
    kept : (l,) array
        Parents to start from.
    stop : bool
        Whether to stop when no addition raises the score.

    Returns
    -------
    parents : list of int
        `kept`, then the selected ones in the order of their selection.
    log_score : float
        Their score.
    """
    cdef:
        Py_ssize_t n = matrix.shape[0]
        Py_ssize_t width = (n + 3) // 4 * 4  # whole vectors
        Py_ssize_t size = 0, j, k, parent, n_kept = kept.shape[0]
        Py_ssize_t most = max(max_size, n_kept, 1)
        double log_det = 0.0, log_prior = 0.0, pivot, score, best, variance
        double[:, ::1] rows = np.empty((most, width))
        double[::1] pivots = np.empty(most)
        double[::1] covariance = np.zeros(width)
        double[::1] variances = np.ones(width)
        double[::1] floors = np.ones(width)
        double[::1] bias = np.full(width, -INFINITY)
        double[::1] values = np.empty(width)
        Py_ssize_t[::1] parents = np.empty(most, dtype=np.intp)
    with nogil:
        for j in range(n):
            covariance[j] = matrix[node, j]
            variances[j] = diagonal[j]
            floors[j] = floor[j]
            if allowed[j] and j != node:
                bias[j] = log_odds[j]
        for k in range(n_kept):
            bias[kept[k]] = -INFINITY
        while True:
            variance = max(covariance[node], floor[node])
            score = (
                offset[size] - slope[size] * skb_log(variance) - det_weight * log_det
                + log_prior
            )
            if size < n_kept:
                parent = kept[size]
            else:
                if size >= max_size:
                    break
                skb_outsider_scores(
                    &values[0], &covariance[0], &variances[0], &floors[0], &bias[0],
                    variance, floor[node],
                    offset[size + 1] - det_weight * log_det + log_prior,
                    slope[size + 1], det_weight, width,
                )
                parent = -1
                best = score if stop else -INFINITY
                for j in range(n):
                    if values[j] > best:
                        best = values[j]
                        parent = j
                if parent < 0:
                    break
            pivot = add_parent(
                &matrix[parent, 0], floor[parent], parent, n, size, &rows[0, 0],
                &pivots[0], &covariance[0], &variances[0], width,
            )
            log_det += skb_log(pivot)
            log_prior += log_odds[parent]
            bias[parent] = -INFINITY
            parents[size] = parent
            size += 1
    return np.asarray(parents)[:size].tolist(), score


cdef struct Node:
    # What the score of one node is made of, as in `select_parents`.
    const double *matrix
    const double *diagonal
    const double *floor
    const double *offset
    const double *slope
    const double *log_odds
    double det_weight
    Py_ssize_t n
    Py_ssize_t node


cdef Node node_of(
    const double[:, ::1] matrix, const double[::1] diagonal, const double[::1] floor,
    const double[::1] offset, const double[::1] slope, double det_weight,
    const double[::1] log_odds, Py_ssize_t node,
):
    cdef Node found
    found.matrix, found.diagonal, found.floor = &matrix[0, 0], &diagonal[0], &floor[0]
    found.offset, found.slope, found.log_odds = &offset[0], &slope[0], &log_odds[0]
    found.det_weight = det_weight
    found.n = matrix.shape[0]
    found.node = node
    return found


cdef int add_each(
    const Node *of_node, const Py_ssize_t *parents, Py_ssize_t size, double *values
) noexcept nogil:
    """Write the scores with each variable in turn, to whole vectors; 1 on failure."""
    cdef:
        Py_ssize_t n = of_node.n, node = of_node.node, j, k, parent
        Py_ssize_t width = (n + 3) // 4 * 4  # whole vectors
        double log_det = 0.0, log_prior = 0.0, child_floor = of_node.floor[node]
        double *covariance = <double *> malloc(
            ((size + 4) * width + size) * sizeof(double)
        )
        double *variances = covariance + width
        double *floors = variances + width
        double *bias = floors + width
        double *rows = bias + width
        double *pivots = rows + size * width
    if covariance == NULL:
        return 1
    memcpy(covariance, of_node.matrix + node * n, n * sizeof(double))
    memcpy(variances, of_node.diagonal, n * sizeof(double))
    memcpy(floors, of_node.floor, n * sizeof(double))
    memcpy(bias, of_node.log_odds, n * sizeof(double))
    for j in range(n, width):
        covariance[j], variances[j], floors[j], bias[j] = 0.0, 1.0, 1.0, -INFINITY
    bias[node] = -INFINITY
    for k in range(size):
        parent = parents[k]
        log_det += skb_log(
            add_parent(
                of_node.matrix + parent * n, of_node.floor[parent], parent, n, k, rows,
                pivots, covariance, variances, width,
            )
        )
        log_prior += of_node.log_odds[parent]
        bias[parent] = -INFINITY
    skb_outsider_scores(
        values, covariance, variances, floors, bias,
        max(covariance[node], child_floor), child_floor,
        of_node.offset[size + 1] - of_node.det_weight * log_det + log_prior,
        of_node.slope[size + 1], of_node.det_weight, width,
    )
    free(covariance)
    return 0


cdef int remove_each(
    const Node *of_node, const Py_ssize_t *parents, Py_ssize_t size, double *values
) noexcept nogil:
    """Write the scores without each of the parents in turn; 1 on failure.

    One factorization L D L', of the parents and then the node, serves for all. The last
    row of the inverse of L has the coefficients; what leaving out a parent adds to the
    node's variance is its coefficient squared, by the parent's precision.
    """
    cdef:
        Py_ssize_t n = of_node.n, width = size + 1, i, j, k, variable
        double log_det = 0.0, log_prior = 0.0, variance, precision
        double *factor = <double *> malloc(width * (width + 2) * sizeof(double))
        double *pivots = factor + width * width
        double *inverse = pivots + width  # a row
        double *row
        bint is_sound = True
    if factor == NULL:
        return 1
    for i in range(width):
        variable = parents[i] if i < size else of_node.node
        row = factor + i * width
        for j in range(i):
            row[j] = of_node.matrix[variable * n + parents[j]]
            for k in range(j):
                row[j] -= row[k] * factor[j * width + k]
        pivots[i] = of_node.matrix[variable * n + variable]
        for j in range(i):
            pivots[i] -= row[j] * row[j] / pivots[j]
            row[j] /= pivots[j]
        is_sound = is_sound and pivots[i] > max(
            of_node.floor[variable],
            LEAST_SHARE * of_node.matrix[variable * n + variable],
        )
        if not is_sound:
            break
        if i < size:
            log_det += skb_log(pivots[i])
            log_prior += of_node.log_odds[variable]
    if not is_sound:
        free(factor)
        return remove_one_by_one(of_node, parents, size, values)
    # the factor makes room for its inverse, row by row
    for i in range(width):
        row = factor + i * width
        for j in range(i):
            inverse[j] = 0.0
        for k in range(i):
            for j in range(k):
                inverse[j] -= row[k] * factor[k * width + j]
            inverse[k] -= row[k]
        for j in range(i):
            row[j] = inverse[j]
    for k in range(size):
        precision = 1.0 / pivots[k]
        for i in range(k + 1, size):
            precision += factor[i * width + k] * factor[i * width + k] / pivots[i]
        variance = pivots[size] + factor[size * width + k] ** 2 / precision
        values[k] = (
            of_node.offset[size - 1]
            - of_node.slope[size - 1] * skb_log(variance)
            - of_node.det_weight * (log_det + skb_log(precision))
            + log_prior - of_node.log_odds[parents[k]]
        )
    free(factor)
    return 0


cdef int remove_one_by_one(
    const Node *of_node, const Py_ssize_t *parents, Py_ssize_t size, double *values
) noexcept nogil:
    """`remove_each` where floors may matter: each set is factorized by itself."""
    cdef:
        Py_ssize_t n = of_node.n, node = of_node.node, left, i, j, k, column
        double log_det, log_prior, pivot, factor
        double *block = <double *> malloc((size * size + size) * sizeof(double))
        Py_ssize_t *variables = <Py_ssize_t *> (block + size * size)
    if block == NULL:
        return 1
    for left in range(size):
        # the parents but one, then the node
        for k in range(size - 1):
            variables[k] = parents[k if k < left else k + 1]
        variables[size - 1] = node
        for i in range(size):
            for j in range(i + 1):
                block[i * size + j] = of_node.matrix[variables[i] * n + variables[j]]
        log_det, log_prior = 0.0, 0.0
        for k in range(size - 1):
            column = variables[k]
            pivot = max(block[k * size + k], of_node.floor[column])
            log_det += skb_log(pivot)
            log_prior += of_node.log_odds[column]
            for i in range(k + 1, size):
                factor = block[i * size + k] / pivot
                for j in range(k + 1, i + 1):
                    block[i * size + j] -= factor * block[j * size + k]
        values[left] = (
            of_node.offset[size - 1]
            - of_node.slope[size - 1]
            * skb_log(max(block[size * size - 1], of_node.floor[node]))
            - of_node.det_weight * log_det + log_prior
        )
    free(block)
    return 0


def addition_scores(
    const double[:, ::1] matrix, const double[::1] diagonal, const double[::1] floor,
    const double[::1] offset, const double[::1] slope, double det_weight,
    const double[::1] log_odds, Py_ssize_t node, const Py_ssize_t[::1] parents,
):
    """Scores of a node with its parents and one more, for each variable in turn.

    Parameters
    ----------
    matrix, diagonal, floor, offset, slope, det_weight, log_odds, node
        As in :func:`select_parents`.
    parents : (l,) array
        The parents, fewer than n - 1.

    Returns
    -------
    log_scores : (n,) array
        -inf for the node itself and its parents.
    """
    cdef:
        Node of_node = node_of(
            matrix, diagonal, floor, offset, slope, det_weight, log_odds, node
        )
        Py_ssize_t size = parents.shape[0]
        double[::1] values = np.empty((of_node.n + 3) // 4 * 4)
        int failed
    with nogil:
        failed = add_each(&of_node, &parents[0] if size else NULL, size, &values[0])
    if failed:
        raise MemoryError
    return np.asarray(values)[:of_node.n]


def removal_scores(
    const double[:, ::1] matrix, const double[::1] diagonal, const double[::1] floor,
    const double[::1] offset, const double[::1] slope, double det_weight,
    const double[::1] log_odds, Py_ssize_t node, const Py_ssize_t[::1] parents,
):
    """Scores of a node with its parents but one, for each of these in turn.

    That takes one factorization, O(l^3).

    Parameters
    ----------
    matrix, diagonal, floor, offset, slope, det_weight, log_odds, node
        As in :func:`select_parents`.
    parents : (l,) array
        The parents.

    Returns
    -------
    log_scores : (l,) array
        In the order of the parents.
    """
    cdef:
        Node of_node = node_of(
            matrix, diagonal, floor, offset, slope, det_weight, log_odds, node
        )
        Py_ssize_t size = parents.shape[0]
        double[::1] values = np.empty(size)
        int failed = 0
    if size:
        with nogil:
            failed = remove_each(&of_node, &parents[0], size, &values[0])
    if failed:
        raise MemoryError
    return np.asarray(values)


@cython.final
cdef class GaussianSetScores(SetScores):
    """Scores of sets with one parent more or less, without the interpreter.

    Parameters
    ----------
    score : None
        Nobody has to be asked.
    n : int
        Number of variables.
    nodes : list of tuple
        For each node what :func:`addition_scores` is to know of it.
    """

    cdef:
        Node *nodes
        list kept   # the arrays stay as long as they are pointed to

    def __cinit__(self, object score, Py_ssize_t n, list nodes):
        cdef Py_ssize_t k, node
        cdef double det_weight
        self.kept = nodes
        self.nodes = <Node *> malloc(n * sizeof(Node))
        if self.nodes == NULL:
            raise MemoryError
        for k in range(n):
            (
                matrix, diagonal, floor, offset, slope, det_weight, log_odds, node
            ) = nodes[k]
            self.nodes[k] = node_of(
                matrix, diagonal, floor, offset, slope, det_weight, log_odds, node
            )

    def __dealloc__(self):
        free(self.nodes)

    cdef int add_each(
        self, Py_ssize_t node, const Py_ssize_t *parents, Py_ssize_t size,
        double *scores,
    ) except -1 nogil:
        cdef Py_ssize_t k
        if size == self.n - 1:
            for k in range(self.n):
                scores[k] = -INFINITY
        elif add_each(&self.nodes[node], parents, size, scores):
            with gil:
                raise MemoryError
        return 0

    cdef int remove_each(
        self, Py_ssize_t node, const Py_ssize_t *parents, Py_ssize_t size,
        double *scores,
    ) except -1 nogil:
        if remove_each(&self.nodes[node], parents, size, scores):
            with gil:
                raise MemoryError
        return 0
