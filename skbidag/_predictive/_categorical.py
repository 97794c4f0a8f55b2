"""Categorical data: probabilities of the levels of a variable given the rest of a row.

Rows are codes. What is unobserved in a row and bears on the variable is summed over,
exactly: by enumerating joint values if they are few, or else by eliminating one
variable after the other. Rows that share what is unobserved go together; where each row
lacks something else, a kernel deals with them one by one.
"""

from collections import defaultdict
from functools import cache, cached_property, reduce
from typing import NamedTuple

import numpy as np

from skbidag._core._predictive import HoledRows, mean_level_probabilities
from skbidag._data import unique_rows
from skbidag._predictive._families import csr, padded, row_slices
from skbidag._predictive._predictor import Predictor

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


class CategoricalPredictor(Predictor):
    """Predictions by a :class:`CategoricalPredictiveScore`."""

    @cached_property
    def local(self):
        """The probabilities of the families."""
        return LocalProbabilities(self.score, self.families)

    def predict(self, X):
        """The most probable category of each cell, the first of equals."""
        probabilities = self.predict_probabilities(X, range(self.samples.n_features))
        codes = [of_level.argmax(axis=1) for of_level in probabilities]
        return self._labels(codes)

    def predict_probabilities(self, X, nodes):
        """Probabilities of the levels of each node given the other observed cells."""
        codes = self.score.encode(X, missing="code")
        patterns, _, pattern_of = unique_rows(codes == MISSING)
        alone = (np.bincount(pattern_of) < FEW_ROWS) & patterns.any(axis=1)
        alone = alone[pattern_of]
        if alone.any() and not self.local.can_look_up():
            alone[:] = False
        result = [np.empty((len(codes), self.local.n_levels[node])) for node in nodes]
        for of_node, node in zip(result, nodes, strict=True):
            of_node[~alone] = self._shared_probabilities(codes[~alone], node)
        if alone.any():
            one_by_one = self._single_probabilities(codes[alone], nodes)
            for of_node, single in zip(result, one_by_one, strict=True):
                of_node[alone] = single
        return result

    # Rows are codes, and labels only outside.

    def _read(self, X):
        return np.asfortranarray(self.score.encode(X))

    def _log_local(self, codes, family):
        return self.local.log_probabilities(codes, family)

    def _blank_rows(self, n_samples, n_features):
        return np.zeros((n_samples, n_features), dtype=np.int32)

    def _draw(self, codes, node, parents, rng):
        return self.score.sample_predictive_codes(codes, node, parents, rng)

    def _write(self, codes):
        return self._labels(codes.T)

    def _labels(self, codes):
        """Columns of codes as one array of labels, of objects if their types differ."""
        categories = self.score.categories_
        columns = [levels[of] for levels, of in zip(categories, codes, strict=True)]
        if len({column.dtype.kind for column in columns}) == 1:
            return np.column_stack(columns)
        joined = np.empty((len(columns[0]), len(columns)), dtype=object)
        for j, column in enumerate(columns):
            joined[:, j] = column.tolist()
        return joined

    # Rows one by one

    def _single_probabilities(self, codes, nodes):
        """Probabilities where rows differ in what is unobserved."""
        rows, counts = self._holed_rows(), self.families.counts
        result = [np.zeros((len(codes), self.local.n_levels[node])) for node in nodes]
        left = np.empty(len(counts), dtype=np.uint8)
        for r, row in enumerate(np.ascontiguousarray(codes, dtype=np.int32)):
            rows.set_row(row)
            for of_node, node in zip(result, nodes, strict=True):
                if rows.add_probabilities(node, of_node[r], left):
                    of_rest = self._shared_probabilities(
                        codes[r : r + 1], node, np.where(left, counts, 0.0)
                    )
                    of_node[r] += counts.sum() * of_rest.ravel()
        return [of_node / counts.sum() for of_node in result]

    def _holed_rows(self):
        """The kernel for single rows: tables and surroundings as plain arrays."""
        families, local = self.families, self.local
        layouts = [*map(local.layout, range(len(families.node)))]
        tables = [np.exp(local.table(family)) for family in range(len(layouts))]
        # Of each variable, the distinct sets of families it is in
        n, n_dags = families.of_dag.shape
        number, owner = np.empty((n, n_dags), dtype=np.intp), []
        families_of, linked = [], []
        for variable in range(n):
            has = families.has[families.of_dag, variable]
            around = np.where(has, families.of_dag, -1)
            distinct, _, place = unique_rows(around[(around >= 0).any(axis=1)].T)
            number[variable] = len(owner) + place
            owner += [variable] * len(distinct)
            for row in distinct:
                families_of.append(row[row >= 0])
                others = families.has[families_of[-1]].any(axis=0)
                others[variable] = False
                linked.append(np.flatnonzero(others))

        def flat(lists):
            first, joined = csr(lists)
            return first.astype(np.intp), joined.astype(np.intp)

        member_first, members = flat([layout.members for layout in layouts])
        return HoledRows(
            local.n_levels,
            np.concatenate(tables),
            np.cumsum([0, *map(len, tables[:-1])], dtype=np.intp),
            member_first,
            members,
            flat([layout.strides for layout in layouts])[1],
            number,
            np.array(owner, dtype=np.intp),
            *flat(families_of),
            *flat(linked),
            families.counts,
            MAX_SUMMED,
        )

    # Rows that share what is unobserved

    def _shared_probabilities(self, codes, node, counts=None):
        """Probabilities of one node where rows share what is unobserved.

        `counts` are the weights of the DAGs if not all of them are to count.
        """
        families = self.families
        missing = codes == MISSING
        missing[:, node] = False
        bearing = _linked_missing(families.linked, missing, node)
        patterns, _, pattern_of = unique_rows(bearing)
        # What is summed over depends on the DAG and the row. Each such set of variables
        # is dealt with once, for all its rows, with the DAGs that count in them.
        parts = defaultdict(list)
        for number, pattern in enumerate(patterns):
            rows = np.flatnonzero(pattern_of == number)
            missing = np.flatnonzero(pattern)
            for summed, weights in families.split_by_linked(node, missing, counts):
                parts[summed].append((rows, weights))
        result = np.zeros((len(codes), self.local.n_levels[node]))
        for summed, rows_and_weights in parts.items():
            rows, weights = zip(*rows_and_weights, strict=True)
            way = np.repeat(np.arange(len(rows)), [len(r) for r in rows])
            rows, free = np.concatenate(rows), np.array([node, *summed])
            result[rows] += self._sum_over(codes[rows], free, way, np.array(weights))
        return result

    def _sum_over(self, codes, free, way, counts):
        """Probabilities of ``free[0]`` where the other free variables are unobserved.

        The DAGs of row r are weighted by ``counts[way[r]]``.
        """
        families = self.families
        chosen = families.select(families.has[:, free].any(axis=1), counts)
        # Rows that agree in all variables of the families used are one and the same.
        others = families.has[chosen.families].any(axis=0)
        others[free] = False
        rows = np.column_stack([np.where(others, codes, 0), way])
        rows, _, place = unique_rows(rows)
        codes, way = rows[:, :-1], rows[:, -1]

        # A float, as the product may be too large for an integer.
        n_values = np.prod(self.local.n_levels[free], dtype=float)
        if n_values <= MAX_ENUMERATED:
            height, of_dags = int(n_values) * sum(chosen.matrix.shape), self._enumerate
        else:
            height, of_dags = MAX_TABLE, self._eliminate
        result = np.zeros((len(codes), self.local.n_levels[free[0]]))
        for part in row_slices(len(codes), height):
            of_dags(codes[part], free, chosen, way[part], result[part])
        return result[place]

    def _enumerate(self, codes, free, chosen, way, out):
        """Probabilities of ``free[0]``, summed over all joint values of the other free.

        Parameters
        ----------
        codes : ndarray of shape (n_rows, n_features)
            The rows.
        free : ndarray of int
            The variable whose probabilities are wanted, and those that are unobserved.
        chosen : Chosen
            The families that count, and the weights of the DAGs.
        way : ndarray of shape (n_rows,)
            Which of the weights count in each row.
        out : ndarray of shape (n_rows, n_levels)
            Gets the weighted mean over DAGs of the probability of each level.
        """
        n_levels, (n_rows, _) = self.local.n_levels[free], codes.shape
        factors = np.empty((len(chosen.families), n_levels.prod(), padded(n_rows)))
        factors[:, :, n_rows:] = 1.0
        for factor, family in zip(factors, chosen.families, strict=True):
            factor[:, :n_rows] = self.local.factor(codes, free, family)
        mean_level_probabilities(
            factors,
            n_levels[0],
            chosen.matrix.indptr.astype(np.int32),
            chosen.matrix.indices.astype(np.int32),
            chosen.shares,
            np.ascontiguousarray(way, dtype=np.intp),
            out,
        )

    def _eliminate(self, codes, free, chosen, way, out):
        """Do as `_enumerate`, DAG by DAG, summing out one variable after the other.

        A factor has one axis for each free variable, of length 1 if it does not depend
        on that one, and a last axis for the rows.
        """
        factors, n_levels = [], self.local.n_levels[free]
        for family in chosen.families:
            has = self.families.has[family, free]
            completed = self.local.complete(codes, free[has])
            log_factor = self.local.log_probabilities(completed, family).reshape(
                *np.where(has, n_levels, 1), len(codes)
            )
            factors.append(np.exp(log_factor - _peak(log_factor)))
        columns, ends = chosen.matrix.indices, chosen.matrix.indptr
        for dag in range(chosen.matrix.shape[0]):
            own = columns[ends[dag] : ends[dag + 1]]
            left = self._sum_out([factors[f] for f in own], free)
            of_level = reduce(np.multiply, left).reshape(-1, len(codes))
            out += (of_level * (chosen.shares[way, dag] / of_level.sum(axis=0))).T

    def _sum_out(self, factors, free):
        """Sum the product of factors over all axes but the first and the last."""
        axes = set(range(1, len(free)))

        def table_size(axis):
            shapes = [f.shape[:-1] for f in factors if f.shape[axis] > 1]
            return np.max(shapes, axis=0).prod(dtype=float) if shapes else 0.0

        while axes:
            axis = min(axes, key=lambda a: (table_size(a), a))
            if table_size(axis) > MAX_TABLE:
                name, *others = map(self.score._column_name, free)
                raise ValueError(
                    f"A row of X leaves too much open to predict column {name}: "
                    f"summing over the unobserved columns {', '.join(others)} takes a "
                    f"table of more than {MAX_TABLE} entries. Impute some of them "
                    "first."
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


class Layout(NamedTuple):
    """The table of a family: one axis for each member, with a place for each code.

    Attributes
    ----------
    members : ndarray of int
        The parents and, last, the child.
    radix : ndarray of int
        How many codes each has, from -1 for an unseen level.
    strides : ndarray of int
        By how much a code of each moves the place in the table.
    is_small : bool
        Whether the table is small enough to be kept.
    """

    members: np.ndarray
    radix: np.ndarray
    strides: np.ndarray
    is_small: bool


class LocalProbabilities:
    """Probabilities of a child given its parents, kept in tables to look them up.

    Parameters
    ----------
    score : CategoricalPredictiveScore
        Says what they are.
    families : Families
        The families.

    Attributes
    ----------
    n_levels : ndarray of int of shape (n_features,)
        Number of levels of each variable.
    """

    def __init__(self, score, families):
        self.score = score
        self.families = families
        self.n_levels = np.asarray(score.n_levels_, dtype=np.intp)
        self.layout = cache(self._layout)
        self.table = cache(self._table)

    def _layout(self, family):
        members = np.append(self.families.parents[family], self.families.node[family])
        radix = self.n_levels[members] + 1
        strides = np.append(radix[1:], 1)[::-1].cumprod()[::-1]
        # a float, as the product may be too large for an integer
        return Layout(members, radix, strides, radix.prod(dtype=float) <= MAX_LOOK_UP)

    def _table(self, family):
        """Log probabilities of a family for all codes of its parents and its child."""
        members, radix, *_ = self.layout(family)
        cells = np.zeros((radix.prod(), len(self.n_levels)), dtype=np.int32)
        cells[:, members] = np.indices(radix).reshape(len(radix), -1).T - 1
        return self._compute(cells, family)

    def _compute(self, codes, family):
        node, parents = self.families.node[family], self.families.parents[family]
        return self.score.log_predictive_codes(codes, node, parents)

    def can_look_up(self):
        """Whether the tables of all families are small enough to be kept."""
        return all(self.layout(f).is_small for f in range(len(self.families.node)))

    def log_probabilities(self, codes, family):
        """Log probabilities of a family's child given its parents, row by row."""
        members, _, strides, is_small = self.layout(family)
        if not is_small:
            return self._compute(codes, family)
        place = np.full(len(codes), strides.sum())
        for member, stride in zip(members, strides, strict=True):
            place += codes[:, member] * stride
        return self.table(family)[place]

    def factor(self, codes, free, family):
        """Probabilities for all joint values of the free variables and all rows."""
        members, _, strides, is_small = self.layout(family)
        if not is_small:
            log_p = self._compute(self.complete(codes, free), family)
            return np.exp(log_p).reshape(-1, len(codes))
        values = dict(zip(free, self._joint_values(free), strict=True))
        of_row, of_value = np.full(len(codes), strides.sum()), 0
        for member, stride in zip(members, strides, strict=True):
            if member in values:
                of_value = of_value + values[member] * stride
            else:
                of_row += codes[:, member] * stride
        return np.exp(self.table(family))[of_row + of_value[:, None]]

    def complete(self, codes, free):
        """Rows with all joint values of the free variables, which change slowest."""
        values = self._joint_values(free)
        # Columns are made contiguous, as a family looks at few of them.
        completed = np.asfortranarray(np.tile(codes, (values.shape[1], 1)))
        for variable, value in zip(free, values, strict=True):
            completed[:, variable] = np.repeat(value, len(codes))
        return completed

    def _joint_values(self, free):
        """All joint values of variables, a row for each; the first changes slowest."""
        return np.indices(self.n_levels[free]).reshape(len(free), -1)


def _linked_missing(linked, missing, node):
    """Missing variables linked to `node`, directly or through others of them."""
    reached = missing & linked[node]
    frontier = reached.any(axis=1)
    while frontier.any():
        new = missing & (reached.astype(np.float32) @ linked > 0) & ~reached
        reached |= new
        frontier = new.any(axis=1)
    return reached


def _peak(factor):
    """Largest value of a factor in each row."""
    return factor.max(axis=tuple(range(factor.ndim - 1)), keepdims=True)
