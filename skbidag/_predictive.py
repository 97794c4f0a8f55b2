"""What sampled DAGs say about rows of data: density, prediction, new samples.

All of it averages over the sampled DAGs, each with the same weight. DAGs that occur
more than once are merged, and a family (a node with its parents) is worked out once
however many DAGs share it: a quantity of a DAG is a sum over its families, so that
all DAGs together are one product with a sparse 0/1 matrix.

A score takes part by its methods. Densities need ``log_predictive``; samples need
``sample_predictive``. Prediction needs ``regression`` (linear Gaussian networks, such
as :class:`~skbidag.scores.BGe`) or ``log_predictive_codes`` (categorical data, such
as :class:`~skbidag.scores.BDe`).
"""

from collections import defaultdict
from functools import cached_property, lru_cache, partial, reduce

import numpy as np
from scipy.sparse import csr_array
from sklearn.utils import _safe_indexing, check_array, check_random_state, gen_batches

from skbidag._core._predictive import (
    HoledRows,
    log_mean_over_dags,
    log_mean_student_t,
    mean_level_probabilities,
)
from skbidag._sklearn import _check_n_features, _num_samples

# What the arrays of one slice of rows may take, in bytes
SLICE_BYTES = 1 << 28

# Rows that the kernels look at together
TILE = 16

# The code of an unobserved cell
MISSING = -2

# Up to this many joint values of unobserved variables are enumerated for all DAGs at
# once. From there on, summing out one variable after the other is faster.
MAX_ENUMERATED = 1024

# The same where rows are dealt with one by one, without much ado for each DAG
MAX_SUMMED = 1 << 14

# Patterns of unobserved cells that fewer rows have are dealt with row by row.
FEW_ROWS = 32

# Entries of the largest table of a family's probabilities that is kept
MAX_LOOK_UP = 1 << 14

# Entries of the largest table for summing out a variable
MAX_TABLE = 1 << 20


def log_density(score, samples, X):
    """Log posterior predictive density of each row, averaged over DAGs.

    Parameters
    ----------
    score : BaseScore
        A fitted score with a predictive density.
    samples : DAGSamples
        The sampled DAGs.
    X : {array-like, dataframe} of shape (n_samples, n_features)
        New rows, without missing values.

    Returns
    -------
    log_density : ndarray of shape (n_samples,)
        Log of the mean over DAGs of the row's predictive density.

    Examples
    --------
    >>> import numpy as np
    >>> from skbidag._posterior import DAGSamples
    >>> from skbidag._predictive import log_density
    >>> from skbidag.scores import BGe
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> samples = DAGSamples(np.packbits(np.zeros((1, 2, 3, 3), bool), axis=-1))
    >>> log_density(BGe().fit(X), samples, [[0.0, 0.0, 0.0], [9.0, 9.0, 9.0]]).round(1)
    array([ -2.8, -93.2])
    """
    _require(score, "log_predictive", "predictive density")
    families = _Families(samples)
    if _is_discrete(score):
        X = np.asfortranarray(score.encode(X))
        local = partial(_log_local, score, families)
    else:
        X = _check_rows(score, X)
        local = partial(_log_predictive, score, families)
    log_shares = np.log(families.counts / families.counts.sum())
    of_dag = np.ascontiguousarray(families.of_dag.T, dtype=np.int32)
    result = np.empty(_num_samples(X))
    if hasattr(score, "student_t"):
        result[:] = _log_mean_student_t(score, families, X, of_dag, log_shares)
        return result
    for rows in _row_slices(len(result), len(families.node)):
        part = _safe_indexing(X, rows)
        n_rows = rows.stop - rows.start
        densities = np.zeros((len(families.node), _padded(n_rows)))
        for family, density in enumerate(densities):
            density[:n_rows] = local(part, family)
        log_mean = np.empty(densities.shape[1])
        log_mean_over_dags(densities, of_dag, log_shares, log_mean)
        result[rows] = log_mean[:n_rows]
    return result


def _log_mean_student_t(score, families, X, of_dag, log_shares):
    """Log densities where those of families are Student t of one scatter matrix."""
    mean, scatter, floor, offset, df = score.student_t()
    n_rows, n = X.shape
    z = np.zeros((_padded(n_rows), n))
    z[:n_rows] = X - mean
    tiles = z.reshape(-1, TILE, n).transpose(0, 2, 1).reshape(-1, TILE)
    out = np.empty(len(z))
    log_mean_student_t(
        np.ascontiguousarray(tiles), scatter, floor, offset, df,
        families.node.astype(np.int32), *_csr(families.parents), of_dag, log_shares,
        out,
    )  # fmt: skip
    return out[:n_rows]


def _csr(lists):
    """Lists one after the other, and where each begins."""
    first = np.cumsum([0, *map(len, lists)], dtype=np.int32)
    # never empty, as kernels take the address of the first
    return first, np.concatenate([*lists, [0]]).astype(np.int32)


def _padded(n_rows):
    return -(-n_rows // TILE) * TILE


def predict(score, samples, X):
    """Predict every cell from the other cells of its row, averaged over DAGs.

    Parameters
    ----------
    score : BaseScore
        A fitted score of linear Gaussian networks or of categorical data.
    samples : DAGSamples
        The sampled DAGs.
    X : {array-like, dataframe} of shape (n_samples, n_features)
        The rows. A missing cell (NaN, None) is unobserved: it is predicted as any
        other, and nothing is conditioned on it.

    Returns
    -------
    predicted : ndarray of shape (n_samples, n_features)
        Continuous data: the mean over DAGs of the expectation of the variable given
        the row's other observed cells, in the network at the posterior mean of the
        parameters. Categorical data: the category with the largest probability by
        :func:`predict_probabilities`, the first of equals.
    """
    if _is_discrete(score):
        families = _Families(samples)
        codes = score.encode(X, missing="code")
        probabilities = _probabilities(score, families, codes, range(codes.shape[1]))
        return _join_columns(
            [
                levels[of_level.argmax(axis=1)]
                for levels, of_level in zip(
                    score.categories_, probabilities, strict=True
                )
            ]
        )
    _require(score, "regression", "predictions")
    return _gaussian_predict(score, _Families(samples), X)


def predict_probabilities(score, samples, X, node):
    """Probabilities of a variable's categories given the rest of each row.

    Parameters
    ----------
    score : BaseScore
        A fitted score of categorical data.
    samples : DAGSamples
        The sampled DAGs.
    X : {array-like, dataframe} of shape (n_samples, n_features)
        The rows. A missing cell (NaN, None) is unobserved and is summed over. The
        column `node` itself is not looked at.
    node : int
        The variable.

    Returns
    -------
    probabilities : ndarray of shape (n_samples, n_levels)
        Mean over DAGs of the probability of each of ``score.categories_[node]``.

    Notes
    -----
    The sum over unobserved cells is exact. It runs over those that bear on `node` in
    the DAG at hand: they are linked to it directly or through others of them, where
    the parents of one child are linked as well. Few are summed over by enumerating
    their joint values, more by eliminating one variable after the other, which is
    slower. An error says so if that takes tables too large for memory.
    """
    if not _is_discrete(score):
        raise TypeError(
            f"{type(score).__name__} has no category probabilities: these take a "
            "score of categorical data, such as BDe."
        )
    codes = score.encode(X, missing="code")
    return _probabilities(score, _Families(samples), codes, [node])[0]


def sample(score, samples, n_samples=1, random_state=None):
    """Draw rows from the posterior predictive distribution.

    Parameters
    ----------
    score : BaseScore
        A fitted score with ``sample_predictive``.
    samples : DAGSamples
        The sampled DAGs.
    n_samples : int, default=1
        Number of rows.
    random_state : int, RandomState instance or None, default=None
        Source of the draws.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        Rows, each from a DAG drawn anew: every variable is drawn from its predictive
        distribution given its parents. Labels in the case of categorical data.
    """
    n = samples.n_features
    rng = check_random_state(random_state)
    if _is_discrete(score):
        values = np.zeros((n_samples, n), dtype=np.int32)
        draw = partial(_draw_codes, score)
    else:
        _require(score, "sample_predictive", "predictive distribution to draw from")
        values = np.full((n_samples, n), np.nan)
        draw = score.sample_predictive
    parent_sets, membership = samples.families()
    drawn = membership[:, rng.randint(len(samples), size=n_samples)]

    # Rows wait in groups that share a family until the parents have values. Some
    # group always has such rows, as every DAG has a node whose parents are done.
    waiting = [
        (node, parent_sets[node][family], np.flatnonzero(drawn[node] == family))
        for node in range(n)
        for family in np.unique(drawn[node])
    ]
    done = np.zeros((n_samples, n), dtype=bool)
    while waiting:
        left = []
        for node, parents, rows in waiting:
            ready = done[rows[:, None], parents].all(axis=1)
            now = rows[ready]
            if len(now):
                values[now, node] = draw(values[now], node, parents, rng)
                done[now, node] = True
            if len(now) < len(rows):
                left.append((node, parents, rows[~ready]))
        waiting = left
    if _is_discrete(score):
        return _join_columns(
            [
                levels[codes]
                for levels, codes in zip(score.categories_, values.T, strict=True)
            ]
        )
    return values


class _Families:
    """The distinct families of sampled DAGs, numbered through over all nodes.

    Attributes
    ----------
    node : ndarray of shape (n_families,)
        The child of each family.
    parents : list of ndarray
        Its parents.
    of_dag : ndarray of shape (n_features, n_distinct_dags)
        The families of each distinct DAG.
    counts : ndarray of shape (n_distinct_dags,)
        How often it was sampled.
    tables : dict
        A score's log probabilities of families, kept for looking up.
    """

    def __init__(self, samples):
        parent_sets, membership = samples.families()
        sizes = [len(sets) for sets in parent_sets]
        first = np.cumsum([0, *sizes[:-1]])
        self.node = np.repeat(np.arange(samples.n_features), sizes)
        self.parents = [parents for sets in parent_sets for parents in sets]
        distinct, place = _unique_rows((membership + first[:, None]).T)
        self.of_dag = distinct.T
        self.counts = np.bincount(place).astype(float)
        self.tables = {}
        self.links = lru_cache(max(1, SLICE_BYTES // distinct.size))(self._links)

    @cached_property
    def has(self):
        """Which family has which variable, as child or parent."""
        has = np.zeros((len(self.node), len(self.of_dag)), dtype=bool)
        has[np.arange(len(has)), self.node] = True
        for row, parents in zip(has, self.parents, strict=True):
            row[parents] = True
        return has

    @cached_property
    def linked(self):
        """Which variables are together in some family of any DAG."""
        linked = np.zeros((len(self.of_dag), len(self.of_dag)), dtype=bool)
        for node, parents in zip(self.node, self.parents, strict=True):
            members = np.append(parents, node)
            linked[members[:, None], members] = True
        return linked

    def _links(self, variable):
        """Which variables are in a family with this one, in each DAG."""
        dag, child = np.nonzero(self.has[:, variable][self.of_dag].T)
        members = self.has[self.of_dag[child, dag]]
        # Every DAG has at least the variable's own family.
        first = np.searchsorted(dag, np.arange(self.of_dag.shape[1]))
        return np.logical_or.reduceat(members, first, axis=0)

    def split_by_linked(self, node, missing, counts=None):
        """Divide the DAGs by which of the missing variables bear on `node`.

        These are in a family with it, or with another one that bears on it. `counts`
        are the weights of the DAGs if they are not to count as often as sampled.

        Yields
        ------
        bearing : tuple of int
            Some of the missing variables.
        counts : ndarray of shape (n_distinct_dags,)
            How often each DAG in which just these do was sampled; 0 for other DAGs.
        """
        counts = self.counts if counts is None else counts
        if not len(missing):
            yield (), counts
            return
        linked = np.stack([self.links(variable) for variable in missing])
        reached, among = linked[:, :, node], linked[:, :, missing]
        for _ in missing:
            reached = reached | (reached[:, :, None] & among).any(axis=0).T
        distinct, place = _unique_rows(reached.T)
        for number, bearing in enumerate(distinct):
            weights = np.where(place == number, counts, 0.0)
            if weights.any():
                yield tuple(missing[bearing]), weights

    def select(self, wanted, counts):
        """Which DAG has which of the wanted families.

        Parameters
        ----------
        wanted : ndarray of bool of shape (n_families,)
            The families to look at. DAGs that differ in others only are merged.
        counts : ndarray of shape (k, n_distinct_dags)
            How often to count each DAG, in k ways; one that does not count in any of
            them is left out.

        Returns
        -------
        selection : sparse array of shape (n_dags, n_used)
            Zeros and ones, which add up quantities of the families to those of DAGs.
        used : ndarray of shape (n_used,)
            The families of the columns.
        shares : ndarray of shape (k, n_dags)
            The counts of the merged DAGs over all of `counts`.
        """
        dags = np.flatnonzero(counts.any(axis=0))
        of_dag = self.of_dag[:, dags]
        of_dag = np.where(wanted[of_dag], of_dag, -1)
        of_dag, place = _unique_rows(of_dag[(of_dag >= 0).any(axis=1)].T)
        dag, child = np.nonzero(of_dag >= 0)
        used, column = np.unique(of_dag[dag, child], return_inverse=True)
        selection = csr_array(
            (np.ones(len(dag)), (dag, column)), shape=(len(of_dag), len(used))
        )
        merged = [np.bincount(place, weights=weights) for weights in counts[:, dags]]
        return selection, used, np.array(merged) / self.counts.sum()


def _unique_rows(array):
    """Distinct rows, and which of them each row is."""
    array = np.ascontiguousarray(array)
    # As bytes, which is ten times as fast as np.unique with an axis.
    keys = array.view(f"V{array.shape[1] * array.itemsize}").reshape(-1)
    _, first, place = np.unique(keys, return_index=True, return_inverse=True)
    return array[first], place


def _log_predictive(score, families, X, family):
    return score.log_predictive(X, families.node[family], families.parents[family])


def _row_slices(n_rows, height):
    """Slices of rows such that `height` numbers for each take little memory."""
    return gen_batches(n_rows, max(1, SLICE_BYTES // (8 * max(1, height))))


def _is_discrete(score):
    return hasattr(score, "log_predictive_codes")


def _require(score, method, what):
    if not hasattr(score, method):
        raise TypeError(
            f"The score {type(score).__name__} has no {what}: it has no method "
            f"{method}. BGe and BDe have."
        )


def _check_rows(score, X):
    """Let the score check the rows if it can, or else check how many columns."""
    if hasattr(score, "check_rows"):
        return score.check_rows(X)
    if not hasattr(X, "shape"):
        X = np.asarray(X)
    _check_n_features(score, X, reset=False)
    return X


def _join_columns(columns):
    """Columns of labels as one array: of their type, or of objects if that differs."""
    if len({column.dtype.kind for column in columns}) == 1:
        return np.column_stack(columns)
    joined = np.empty((len(columns[0]), len(columns)), dtype=object)
    for j, column in enumerate(columns):
        joined[:, j] = column.tolist()
    return joined


# Linear Gaussian networks


def _gaussian_predict(score, families, X):
    """Average over DAGs the expectation of each cell given the others of its row.

    A DAG with regressions x_i = b_i x_P + noise of variance v_i has the precision
    matrix Λ = Σ_i w_i w_iᵀ / v_i, where w_i is 1 at i and −b_i at the parents. In a
    row, as deviations from the mean with zeros z_M at the unobserved M,

        e_M = −Λ_MM⁻¹ (Λ z)_M

    is the expectation of the unobserved ones. With it filled in, an observed v has
    the expectation z_v − (Λ z)_v / (Λ_vv − Λ_vM Λ_MM⁻¹ Λ_Mv) given the others.

    All this is linear in z for a given M. Where more rows than variables share M, it
    is done for unit vectors instead of the rows.
    """
    X = check_array(X, dtype=np.float64, ensure_all_finite="allow-nan", input_name="X")
    _check_n_features(score, X, reset=False)
    missing = np.isnan(X)
    z = np.where(missing, 0.0, X - score.posterior_mean_)
    patterns, pattern_of = _unique_rows(missing)
    # Patterns in the order of how many are missing: equal numbers go together.
    order = np.argsort(patterns.sum(axis=1), kind="stable")
    patterns, pattern_of = patterns[order], np.argsort(order)[pattern_of]
    rows_of = np.split(
        np.argsort(pattern_of, kind="stable"), np.cumsum(np.bincount(pattern_of))[:-1]
    )
    tasks = [
        np.eye(X.shape[1]) if len(rows) > X.shape[1] else z[rows] for rows in rows_of
    ]
    chunks = [
        _PatternChunk(patterns[part], tasks[part]) for part in _pattern_parts(patterns)
    ]

    weights = _regression_weights(score, families)
    shares = families.counts / families.counts.sum()
    for of_dag, share in zip(families.of_dag.T, shares, strict=True):
        of_node = weights[of_dag]
        precision = of_node.T @ of_node
        dense = precision.toarray()
        for chunk in chunks:
            chunk.add_expectations(precision, dense, share)

    expected = [e for chunk in chunks for e in chunk.split()]
    result = np.empty_like(z)
    for rows, task, e in zip(rows_of, tasks, expected, strict=True):
        result[rows] = z[rows] @ e if len(rows) > len(task) else e
    return result + score.posterior_mean_


def _regression_weights(score, families):
    """Row w_i / √v_i for each family: 1 at the child and −b_i at the parents."""
    columns, values = [], []
    for node, parents in zip(families.node, families.parents, strict=True):
        coefficients, variance = score.regression(node, parents)
        columns.append(np.append(parents, node))
        values.append(np.append(-coefficients, 1.0) / np.sqrt(variance))
    ends = np.cumsum([0, *map(len, columns)])
    return csr_array(
        (np.concatenate(values), np.concatenate(columns), ends),
        shape=(len(columns), len(families.of_dag)),
    )


def _pattern_parts(patterns):
    """Slices of patterns that miss equally many, none too large for memory."""
    sizes, starts = np.unique(patterns.sum(axis=1), return_index=True)
    stops = np.append(starts[1:], len(patterns))
    for size, start, stop in zip(sizes, starts, stops, strict=True):
        for part in _row_slices(stop - start, (2 * size + 1) * patterns.shape[1]):
            yield slice(start + part.start, start + part.stop)


class _PatternChunk:
    """Rows whose patterns miss equally many cells, worked on at once."""

    def __init__(self, patterns, tasks):
        lengths = [len(task) for task in tasks]
        self.ends = np.cumsum(lengths)
        self.pattern = np.repeat(np.arange(len(patterns)), lengths)
        self.z = np.concatenate(tasks)
        self.missing = np.nonzero(patterns)[1].reshape(len(patterns), -1)
        self.total = np.zeros_like(self.z)

    def add_expectations(self, precision, dense, share):
        """Add one DAG's expectations to the total."""
        z, M = self.z, self.missing
        left = np.diag(dense)
        if M.shape[1]:
            at_rows = np.arange(len(z))[:, None], M[self.pattern]
            z = z.copy()
            z[at_rows] = 0.0
            inverse = np.linalg.inv(dense[M[:, :, None], M[:, None, :]])
            pull = (precision @ z.T).T[at_rows]
            z[at_rows] = -(inverse[self.pattern] @ pull[:, :, None])[:, :, 0]
            rows = dense[M]
            left = left - np.einsum("pmn,pmn->pn", rows, inverse @ rows)
            # Unobserved variables have their expectation already, and no pull left.
            left[np.arange(len(M))[:, None], M] = np.inf
            left = left[self.pattern]
        self.total += share * (z - (precision @ z.T).T / left)

    def split(self):
        """Give the expectations of each pattern."""
        return np.split(self.total, self.ends[:-1])


# Categorical data


def _probabilities(score, families, codes, nodes):
    """Probabilities of the levels of each node given the other observed cells."""
    patterns, pattern_of = _unique_rows(codes == MISSING)
    alone = (np.bincount(pattern_of) < FEW_ROWS) & patterns.any(axis=1)
    alone = alone[pattern_of]
    if alone.any() and not _can_look_up(score, families):
        alone[:] = False
    result = [np.empty((len(codes), score.n_levels_[node])) for node in nodes]
    for of_node, node in zip(result, nodes, strict=True):
        of_node[~alone] = _shared_probabilities(score, families, codes[~alone], node)
    if alone.any():
        one_by_one = _single_probabilities(score, families, codes[alone], nodes)
        for of_node, single in zip(result, one_by_one, strict=True):
            of_node[alone] = single
    return result


def _can_look_up(score, families):
    """Whether the tables of all families are small enough to be kept."""
    return all(
        _radix(score, families, family).prod(dtype=float) <= MAX_LOOK_UP
        for family in range(len(families.node))
    )


def _single_probabilities(score, families, codes, nodes):
    """Do as `_probabilities`, row by row, where rows differ in what is unobserved."""
    rows = _holed_rows(score, families)
    result = [np.zeros((len(codes), score.n_levels_[node])) for node in nodes]
    left = np.empty(len(families.counts), dtype=np.uint8)
    for r, row in enumerate(np.ascontiguousarray(codes, dtype=np.int32)):
        rows.set_row(row)
        for of_node, node in zip(result, nodes, strict=True):
            if rows.add_probabilities(node, of_node[r], left):
                counts = np.where(left, families.counts, 0.0)
                of_node[r] += (
                    families.counts.sum()
                    * _shared_probabilities(
                        score, families, codes[r : r + 1], node, counts
                    ).ravel()
                )
    return [of_node / families.counts.sum() for of_node in result]


def _holed_rows(score, families):
    """The kernel for single rows: tables and surroundings as plain arrays."""
    n, n_dags = families.of_dag.shape
    members = [
        np.append(parents, node)
        for node, parents in zip(families.node, families.parents, strict=True)
    ]
    radices = [_radix(score, families, family) for family in range(len(members))]
    strides = [np.append(radix[1:], 1)[::-1].cumprod()[::-1] for radix in radices]
    tables = [np.exp(_table(score, families, f)) for f in range(len(members))]
    # Of each variable, the distinct sets of families it is in
    number, owner = np.empty((n, n_dags), dtype=np.intp), []
    families_of, linked = [], []
    for variable in range(n):
        around = np.where(families.has[families.of_dag, variable], families.of_dag, -1)
        distinct, place = _unique_rows(around[(around >= 0).any(axis=1)].T)
        number[variable] = len(owner) + place
        owner += [variable] * len(distinct)
        for row in distinct:
            families_of.append(row[row >= 0])
            others = families.has[families_of[-1]].any(axis=0)
            others[variable] = False
            linked.append(np.flatnonzero(others))

    def flat(lists):
        first, joined = _csr(lists)
        return first.astype(np.intp), joined.astype(np.intp)

    member_first, all_members = flat(members)
    return HoledRows(
        score.n_levels_,
        np.concatenate(tables),
        np.cumsum([0, *map(len, tables[:-1])], dtype=np.intp),
        member_first,
        all_members,
        flat(strides)[1],
        number,
        np.array(owner, dtype=np.intp),
        *flat(families_of),
        *flat(linked),
        families.counts,
        MAX_SUMMED,
    )


def _shared_probabilities(score, families, codes, node, counts=None):
    """Do as `_probabilities` of one node, for rows that share what is unobserved.

    `counts` are the weights of the DAGs if not all of them are to count.
    """
    missing = codes == MISSING
    missing[:, node] = False
    patterns, pattern_of = _unique_rows(_linked_missing(families.linked, missing, node))
    # What is summed over depends on the DAG and the row. Each such set of variables
    # is dealt with once, for all its rows, with the DAGs that count in them.
    parts = defaultdict(list)
    for number, pattern in enumerate(patterns):
        rows = np.flatnonzero(pattern_of == number)
        missing = np.flatnonzero(pattern)
        for summed, weights in families.split_by_linked(node, missing, counts):
            parts[summed].append((rows, weights))
    result = np.zeros((len(codes), score.n_levels_[node]))
    for summed, rows_and_weights in parts.items():
        rows, weights = zip(*rows_and_weights, strict=True)
        way = np.repeat(np.arange(len(rows)), [len(r) for r in rows])
        rows = np.concatenate(rows)
        result[rows] += _sum_over(
            score, families, codes[rows], node, summed, way, np.array(weights)
        )
    return result


def _linked_missing(linked, missing, node):
    """Missing variables linked to `node`, directly or through others of them."""
    reached = missing & linked[node]
    frontier = reached.any(axis=1)
    while frontier.any():
        new = missing & (reached.astype(np.float32) @ linked > 0) & ~reached
        reached |= new
        frontier = new.any(axis=1)
    return reached


def _sum_over(score, families, codes, node, summed, way, counts):
    """Probabilities of `node` where the variables `summed` are unobserved.

    The DAGs of row r are weighted by ``counts[way[r]]``.
    """
    free = np.array([node, *summed])
    selection, used, shares = families.select(families.has[:, free].any(axis=1), counts)
    # Rows that agree in all variables of the families used are one and the same.
    others = families.has[used].any(axis=0)
    others[free] = False
    codes, place = _unique_rows(np.column_stack([np.where(others, codes, 0), way]))
    codes, way = codes[:, :-1], codes[:, -1]

    # A float, as the product may be too large for an integer.
    n_values = np.prod(score.n_levels_[free], dtype=float)
    if n_values <= MAX_ENUMERATED:
        height, of_dags = int(n_values) * sum(selection.shape), _enumerate
    else:
        height, of_dags = MAX_TABLE, _eliminate
    result = np.zeros((len(codes), score.n_levels_[node]))
    for rows in _row_slices(len(codes), height):
        of_dags(
            score, families, codes[rows], free, selection, used, shares, way[rows],
            result[rows],
        )  # fmt: skip
    return result[place]


def _enumerate(
    score, families, codes, free, selection, used, shares, way, out
):  # fmt: skip
    """Probabilities of ``free[0]``, summed over all joint values of the other free.

    Parameters
    ----------
    shares : ndarray of shape (n_ways, n_dags)
        Weights of the DAGs.
    way : ndarray of shape (n_rows,)
        Which of them count in each row.
    out : ndarray of shape (n_rows, n_levels)
        Gets the weighted mean over DAGs of the probability of each level.
    """
    n_values = int(np.prod(score.n_levels_[free]))
    factors = np.empty((len(used), n_values, _padded(len(codes))))
    factors[:, :, len(codes) :] = 1.0
    for factor, family in zip(factors, used, strict=True):
        factor[:, : len(codes)] = _factor(score, families, codes, free, family)
    mean_level_probabilities(
        factors,
        score.n_levels_[free[0]],
        selection.indptr.astype(np.int32),
        selection.indices.astype(np.int32),
        shares,
        np.ascontiguousarray(way, dtype=np.intp),
        out,
    )


def _eliminate(
    score, families, codes, free, selection, used, shares, way, out
):  # fmt: skip
    """Do as `_enumerate`, DAG by DAG, summing out one variable after the other.

    A factor has one axis for each free variable, of length 1 if it does not depend on
    that one, and a last axis for the rows.
    """
    factors = []
    for family in used:
        has = families.has[family, free]
        completed = _complete(score, codes, free[has])
        log_factor = _log_local(score, families, completed, family).reshape(
            *np.where(has, score.n_levels_[free], 1), len(codes)
        )
        factors.append(np.exp(log_factor - _peak(log_factor)))
    for dag in range(selection.shape[0]):
        own = selection.indices[selection.indptr[dag] : selection.indptr[dag + 1]]
        left = _sum_out([factors[f] for f in own], score, free)
        of_level = reduce(np.multiply, left).reshape(-1, len(codes))
        out += (of_level * (shares[way, dag] / of_level.sum(axis=0))).T


def _sum_out(factors, score, free):
    """Sum the product of factors over all axes but the first and the last."""
    axes = set(range(1, len(free)))

    def table_size(axis):
        shapes = [f.shape[:-1] for f in factors if f.shape[axis] > 1]
        return np.max(shapes, axis=0).prod(dtype=float) if shapes else 0.0

    while axes:
        axis = min(axes, key=lambda a: (table_size(a), a))
        if table_size(axis) > MAX_TABLE:
            names = ", ".join(score._column_name(column) for column in free[1:])
            raise ValueError(
                "A row of X leaves too much open to predict column "
                f"{score._column_name(free[0])}: summing over the unobserved columns "
                f"{names} takes a table of more than {MAX_TABLE} entries. Impute some "
                "of them first."
            )
        axes.remove(axis)
        together = [f for f in factors if f.shape[axis] > 1]
        if together:
            factors = [f for f in factors if f.shape[axis] == 1]
            total = reduce(np.multiply, together).sum(axis=axis, keepdims=True)
            # Scaled row by row, or the product of many factors would vanish.
            total /= _peak(total)
            factors.append(total)
    return factors


def _log_local(score, families, codes, family):
    """Log probabilities of a family's child given its parents, row by row."""
    node, parents = families.node[family], families.parents[family]
    radix = _radix(score, families, family)
    if radix.prod(dtype=float) > MAX_LOOK_UP:
        return score.log_predictive_codes(codes, node, parents)
    strides = np.append(radix[1:], 1)[::-1].cumprod()[::-1]
    place = np.full(len(codes), strides.sum())
    for member, stride in zip([*parents, node], strides, strict=True):
        place += codes[:, member] * stride
    return _table(score, families, family)[place]


def _factor(score, families, codes, free, family):
    """Probabilities in a family for all joint values of the free variables and rows."""
    radix = _radix(score, families, family)
    if radix.prod(dtype=float) > MAX_LOOK_UP:
        log_p = _log_local(score, families, _complete(score, codes, free), family)
        return np.exp(log_p).reshape(-1, len(codes))
    strides = np.append(radix[1:], 1)[::-1].cumprod()[::-1]
    values = dict(zip(free, _joint_values(score, free), strict=True))
    of_row, of_value = np.full(len(codes), strides.sum()), 0
    for member, stride in zip(
        [*families.parents[family], families.node[family]], strides, strict=True
    ):
        if member in values:
            of_value = of_value + values[member] * stride
        else:
            of_row += codes[:, member] * stride
    return np.exp(_table(score, families, family))[of_row + of_value[:, None]]


def _joint_values(score, free):
    """All joint values of variables, a row for each; the first changes slowest."""
    return np.indices(score.n_levels_[free]).reshape(len(free), -1)


def _radix(score, families, family):
    """How many codes the parents and the child have, from -1 for an unseen level."""
    node, parents = families.node[family], families.parents[family]
    return score.n_levels_[np.append(parents, node)] + 1


def _table(score, families, family):
    """Log probabilities of a family for all codes of its parents and its child."""
    if family not in families.tables:
        node, parents = families.node[family], families.parents[family]
        radix = _radix(score, families, family)
        cells = np.zeros((radix.prod(), len(families.of_dag)), dtype=np.int32)
        cells[:, [*parents, node]] = np.indices(radix).reshape(len(radix), -1).T - 1
        families.tables[family] = score.log_predictive_codes(cells, node, parents)
    return families.tables[family]


def _peak(factor):
    """Largest value of a factor in each row."""
    return factor.max(axis=tuple(range(factor.ndim - 1)), keepdims=True)


def _complete(score, codes, free):
    """Rows with all joint values of the free variables, which change slowest."""
    values = _joint_values(score, free)
    # Columns are made contiguous, as a family looks at few of them.
    completed = np.asfortranarray(np.tile(codes, (values.shape[1], 1)))
    for variable, value in zip(free, values, strict=True):
        completed[:, variable] = np.repeat(value, len(codes))
    return completed


def _draw_codes(score, codes, node, parents, rng):
    """Draw the level of `node` for each row of codes."""
    levels = score.n_levels_[node]
    completed = np.tile(codes, (levels, 1))
    completed[:, node] = np.repeat(np.arange(levels), len(codes))
    log_p = score.log_predictive_codes(completed, node, parents)
    cumulative = np.exp(log_p).reshape(levels, -1).cumsum(axis=0)
    return (cumulative[:-1] <= rng.random_sample(len(codes)) * cumulative[-1]).sum(0)
