"""Categorical data: probabilities of the levels of a variable given the rest of a row.

They are those of the mixture of DAGs that ``score_samples`` tells the density of: in
each DAG the joint probability of the level and of what is observed otherwise, added up
over DAGs and divided by the sum over levels.

Rows are codes. What is unobserved in a row is summed over, exactly: by enumerating
joint values if they are few, or else by eliminating one variable after the other. In a
DAG, unobserved variables that are linked are summed over together; a variable that is
not in their families sees them as one factor. So a DAG's weight in a row, the
probability of all that is observed, is worked out once; where the variable to predict
is set free, only what is linked with it changes.

Rows that share what is unobserved go together; where each row lacks something else, a
kernel deals with them one by one.
"""

from functools import cache, cached_property, reduce
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from skbidag._core._alike import Surroundings
from skbidag._core._holed_rows import HoledRows
from skbidag._core._predictive import Weights, level_log_sums
from skbidag._data import unique_rows
from skbidag._predictive._families import csr, padded, row_slices
from skbidag._predictive._holes import HoledPredictor

# The codes of an unobserved cell, and of a level that fit has not seen
MISSING, UNSEEN = -2, -1

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


class CategoricalPredictor(HoledPredictor):
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
        codes, _, place = unique_rows(self.score.encode(X, missing="code"))
        result = self._probabilities(codes, nodes)
        for node, of_node in zip(nodes, result, strict=True):
            # Its sums have no entry for a level that there is not: as if it were
            # unobserved, which to its own prediction is the same.
            rows = np.flatnonzero(codes[:, node] == UNSEEN)
            if len(rows):
                unobserved = codes[rows]
                unobserved[:, node] = MISSING
                (of_node[rows],) = self._probabilities(unobserved, [node])
        return [of_node[place] for of_node in result]

    def _probabilities(self, codes, nodes):
        result = [np.empty((len(codes), self.local.n_levels[node])) for node in nodes]
        shared, single = self._by_pattern(codes)
        for rows in shared:
            self._fill_shared(codes, rows, nodes, result)
        if len(single):
            self._fill_single(codes, single, nodes, result)
        return result

    def _by_pattern(self, codes):
        """Rows that share what is unobserved, a list, and those to go one by one."""
        patterns, _, pattern_of = unique_rows(codes == MISSING)
        alone = (np.bincount(pattern_of) < FEW_ROWS) & patterns.any(axis=1)
        if alone.any() and not self.local.can_look_up():
            alone[:] = False
        shared = [np.flatnonzero(pattern_of == k) for k in np.flatnonzero(~alone)]
        return shared, np.flatnonzero(alone[pattern_of])

    def _log_observed(self, rows, missing):
        codes, _, place = unique_rows(rows)
        result = np.empty(len(codes))
        shared, single = self._by_pattern(codes)
        for of_pattern in shared:
            self._add_up_shared(codes, of_pattern, result)
        if len(single):
            self._add_up_single(codes, single, result)
        return result[place]

    # Rows are codes, and labels only outside.

    def _read_holed(self, X):
        codes = self.score.encode(X, missing="code")
        return codes, codes == MISSING

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

    def _fill_single(self, codes, rows, nodes, result):
        """Probabilities where rows differ in what is unobserved."""
        nodes = np.asarray(nodes, dtype=np.intp)
        ends = np.cumsum(self.local.n_levels[nodes])
        for part in row_slices(len(rows), ends[-1] + self.samples.n_features):
            here = rows[part]
            out = np.empty((len(here), ends[-1]))
            done = np.zeros((len(here), len(nodes)), dtype=np.uint8)
            own_codes = np.ascontiguousarray(codes[here], dtype=np.int32)
            self._holed_rows.probabilities(own_codes, nodes, out, done)
            for of_node, found in zip(result, np.split(out, ends[:-1], 1), strict=True):
                of_node[here] = found
            for row, number in zip(*np.nonzero(done == 0), strict=True):
                # too much to sum over value by value
                left = here[[row]], [nodes[number]], [result[number]]
                self._fill_shared(codes, *left)

    def _add_up_single(self, codes, rows, result):
        """Log probabilities of what is observed, over all DAGs."""
        log_p, done = np.empty(len(rows)), np.zeros(len(rows), dtype=np.uint8)
        own_codes = np.ascontiguousarray(codes[rows], dtype=np.int32)
        self._holed_rows.log_probabilities(own_codes, log_p, done)
        result[rows] = log_p
        for row in rows[done == 0]:
            # too much to sum over value by value
            self._add_up_shared(codes, np.array([row]), result)

    @cached_property
    def _holed_rows(self):
        """The kernel for single rows: tables and surroundings as plain arrays."""
        families, local = self.families, self.local
        layouts = [*map(local.layout, range(len(families.node)))]
        tables = [np.exp(local.table(family)) for family in range(len(layouts))]
        member_first, members = csr([layout.members for layout in layouts])
        return HoledRows(
            local.n_levels,
            np.concatenate(tables),
            np.cumsum([0, *map(len, tables[:-1])], dtype=np.intp),
            member_first.astype(np.intp),
            members.astype(np.intp),
            csr([layout.strides for layout in layouts])[1].astype(np.intp),
            Surroundings(*families.surroundings),
            families.of_dag_by_dag,
            families.log_shares,
            MAX_SUMMED,
        )

    # Rows that share what is unobserved

    def _fill_shared(self, codes, rows, nodes, result):
        """Probabilities in rows that share what is unobserved."""
        for here, missing, log_weights in self._weigh(codes, rows):
            weights = Weights(log_weights)
            for node, of_node in zip(nodes, result, strict=True):
                of_node[here] = self._given_others(codes[here], node, missing, weights)

    def _add_up_shared(self, codes, rows, result):
        """Log probabilities of what is observed, over all DAGs."""
        for here, _, log_weights in self._weigh(codes, rows):
            result[here] = logsumexp(log_weights, axis=0)[: len(here)]

    def _weigh(self, codes, rows):
        """Some of the rows, what they lack, and the DAGs' log weights in them."""
        families = self.families
        missing = np.flatnonzero(codes[rows[0]] == MISSING)
        for part in row_slices(len(rows), len(families.node) + len(families.counts)):
            here = rows[part]
            yield here, missing, self._log_evidence(codes[here], missing)

    def _log_evidence(self, codes, missing):
        """Log shares of the DAGs, and the log probabilities of what is observed.

        Returns
        -------
        log_weights : ndarray of shape (n_distinct_dags, n_padded)
            Their sum in each DAG and row.
        """
        families, n_rows = self.families, len(codes)
        is_open = families.has[:, missing].any(axis=1)
        terms = np.zeros((len(families.node), padded(n_rows)))
        by_columns = np.asfortranarray(codes)
        for family in np.flatnonzero(~is_open):
            terms[family, :n_rows] = self._log_local(by_columns, family)
        of_dag = families.of_dag_by_dag
        log_weights = self._log_weights(
            terms, np.where(is_open[of_dag], -1, of_dag).astype(np.int32)
        )
        for node in missing:
            for free, dags in self._linked(node, missing):
                if min(free) < node:
                    continue  # what is linked is summed over together, and once
                for part, chosen, log_sums in self._parts(codes, free, dags):
                    summed = logsumexp(log_sums, axis=1)
                    log_weights[chosen.dags, part] += summed[chosen.group]
        return log_weights

    def _given_others(self, codes, node, missing, weights):
        """Probabilities of one node's levels, given the weights of DAGs and rows."""
        observed = node not in missing
        joint, peak = np.zeros((self.local.n_levels[node], len(codes))), -np.inf
        for free, dags in self._linked(node, missing):
            log_joint, of_groups = np.full((len(joint), len(codes)), -np.inf), None
            for part, chosen, log_sums in self._parts(codes, free, dags):
                if of_groups is None:  # which are the same in all parts
                    of_groups = chosen.log_sums(weights)
                # The weights count what is to be predicted, too, if it is observed.
                if observed:
                    at = codes[part, node][None, None, :]
                    counted = np.take_along_axis(log_sums, at, axis=1)[:, 0]
                else:
                    counted = logsumexp(log_sums, axis=1)
                log_joint[:, part] = logsumexp(
                    log_sums + (of_groups[:, part] - counted)[:, None], axis=0
                )
            # groups of DAGs add up
            new = np.maximum(peak, log_joint.max(axis=0))
            joint = joint * np.exp(peak - new) + np.exp(log_joint - new)
            peak = new
        return (joint / joint.sum(axis=0)).T

    def _linked(self, node, missing):
        """The free variables, `node` first, and the DAGs in which just these are."""
        others = missing[missing != node]
        for summed, dags in self.families.split_by_linked(node, others):
            yield np.array([node, *summed], dtype=np.intp), dags

    def _parts(self, codes, free, dags):
        """Log sums of products over the free variables but the first, row by row.

        Yields
        ------
        part : slice
            Some rows.
        chosen : Chosen
            The families that have a free variable, and the groups of DAGs.
        log_sums : ndarray of shape (n_groups, n_levels, n_rows)
            By the level of the first free variable.
        """
        families = self.families
        chosen = families.select(families.has[:, free].any(axis=1), dags)
        # A float, as the product may be too large for an integer.
        n_values = np.prod(self.local.n_levels[free], dtype=float)
        height = chosen.n_groups * self.local.n_levels[free[0]]
        if n_values <= MAX_ENUMERATED:
            height, sums = (
                height + int(n_values) * len(chosen.families),
                self._enumerate,
            )
        else:
            height, sums = height + MAX_TABLE, self._eliminate
        for part in row_slices(len(codes), height):
            yield part, chosen, sums(codes[part], free, chosen)

    def _enumerate(self, codes, free, chosen):
        """Log sums over all joint values of the free variables but the first."""
        n_levels, n_rows = self.local.n_levels[free], len(codes)
        factors = np.ones((len(chosen.families), n_levels.prod(), padded(n_rows)))
        for factor, family in zip(factors, chosen.families, strict=True):
            factor[:, :n_rows] = self.local.factor(codes, free, family)
        log_sums = np.empty((chosen.n_groups, n_levels[0], padded(n_rows)))
        level_log_sums(factors, chosen.first, chosen.members, log_sums)
        return log_sums[:, :, :n_rows]

    def _eliminate(self, codes, free, chosen):
        """Do as `_enumerate`, DAG by DAG, summing out one variable after the other.

        A factor has one axis for each free variable, of length 1 if it does not depend
        on that one, and a last axis for the rows.
        """
        factors, peaks, n_levels = [], [], self.local.n_levels[free]
        for family in chosen.families:
            has = self.families.has[family, free]
            completed = self.local.complete(codes, free[has])
            log_factor = self.local.log_probabilities(completed, family).reshape(
                *np.where(has, n_levels, 1), len(codes)
            )
            peaks.append(_peak(log_factor))
            factors.append(np.exp(log_factor - peaks[-1]))
        log_sums = np.empty((chosen.n_groups, n_levels[0], len(codes)))
        for number, of_level in enumerate(log_sums):
            own = chosen.members[chosen.first[number] : chosen.first[number + 1]]
            left, log_scale = self._sum_out([factors[f] for f in own], free)
            log_scale = log_scale + sum(peaks[f].reshape(-1) for f in own)
            with np.errstate(divide="ignore"):
                of_level[:] = np.log(reduce(np.multiply, left)).reshape(of_level.shape)
            of_level += log_scale
        return log_sums

    def _sum_out(self, factors, free):
        """Sum the product of factors over all axes but the first and the last.

        Returns
        -------
        factors : list of ndarray
            Their product is the sum, divided by a scale.
        log_scale : ndarray of shape (n_rows,)
            Its logarithm.
        """
        axes, log_scale = set(range(1, len(free))), 0.0

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
                scale = _peak(total)
                log_scale = log_scale + np.log(scale).reshape(-1)
                factors.append(total / scale)
        return factors, log_scale


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


def _peak(factor):
    """Largest value of a factor in each row."""
    return factor.max(axis=tuple(range(factor.ndim - 1)), keepdims=True)
