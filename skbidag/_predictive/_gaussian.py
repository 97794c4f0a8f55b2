"""Continuous data: expectations of cells given the rest of a row, and densities.

They are those of the mixture of DAGs that ``score_samples`` tells the density of: DAGs
count by the density they give to the other observed cells of the row. That is the
density of all observed cells, which is worked out once, divided by that of the cell to
predict given the others.

With BGe a DAG's density is a product of Student t densities. Where all other cells are
observed, the expectation is an integral in one dimension (``_core/_student.pyx``).
Where some are not, it takes the DAG for a normal distribution about the regressions.
The density of the observed cells is the integral over the others, by the same means.
"""

from abc import ABC, abstractmethod
from functools import cached_property, partial
from itertools import chain

import numpy as np
from sklearn.utils import check_array, gen_batches

from skbidag._core._alike import Surroundings
from skbidag._core._normal_mixture import NormalMixture
from skbidag._core._predictive import Weights
from skbidag._core._student import Cell, Regressions
from skbidag._core._student_marginals import log_densities
from skbidag._data import unique_rows
from skbidag._predictive._families import TILE, csr, padded, row_slices
from skbidag._predictive._holes import HoledPredictor
from skbidag._sklearn import _check_n_features

# An integral takes twenty times as long as an expansion. Where a cell has more than so
# many different blankets, the latter is good enough if what it leaves out is not larger
# than this, by its order and in standard deviations. With 500 rows to learn from and 50
# variables, errors were 2e-8 in the worst cell of 10,000 rows; with few rows, ten times
# the limit in the worst (tests/test_predictive.py).
FEW_BLANKETS, LARGEST_ERROR = 10, 1e-6

# Numbers that are kept of the clusters of a row's unobserved cells
MOST_KEPT = 1 << 20

# Rows of which the densities of all families stay near the processor
ROWS_IN_CACHE = 8 * TILE


class LinearPredictor(HoledPredictor):
    """Predictions by the regressions of a :class:`LinearPredictiveScore`.

    A DAG with regressions x_i = b_i x_P + noise of variance v_i has the precision
    matrix Λ = Σ_i w_i w_iᵀ / v_i, where w_i is 1 at i and −b_i at the parents.
    """

    def predict(self, X):
        """Expectation of each cell given the others of its row."""
        X = check_array(
            X, dtype=np.float64, ensure_all_finite="allow-nan", input_name="X"
        )
        _check_n_features(self.score, X, reset=False)
        missing = np.isnan(X)
        z = np.where(missing, 0.0, X - self.score.posterior_mean_)
        return self._expectations(z, missing) + self.score.posterior_mean_

    def _read_holed(self, X):
        X = check_array(X, dtype=np.float64, ensure_all_finite=False, input_name="X")
        missing = np.isnan(X)
        return self.score.check_rows(np.where(missing, 0.0, X)), missing

    def _log_observed(self, rows, missing):
        z = np.where(missing, 0.0, rows - self.score.posterior_mean_)
        return self._log_marginals(z, missing)

    def _log_marginals(self, z, missing):
        """Log densities where every DAG is a normal distribution, from deviations."""
        result = np.empty(len(z))
        return self._fill(self._mixture.log_densities, z, missing, result)

    def _expectations(self, z, missing):
        """Expectations where every DAG is a normal distribution, as deviations."""
        return self._fill(self._mixture.expect, z, missing, np.empty(missing.shape))

    def _fill(self, kernel, z, missing, result, densities=None):
        """Have a kernel fill in a result.

        Rows that lack the same cells follow each other, as they share much.
        """
        densities = self._log_densities if densities is None else densities
        order = np.argsort(unique_rows(missing)[2], kind="stable")
        for part in row_slices(len(z), len(self.families.node)):
            rows = order[part]
            here = np.ascontiguousarray(self._columns(z[rows]))
            holes = np.ascontiguousarray(missing[rows]).view(np.uint8)
            filled = np.empty((len(rows), *result.shape[1:]))
            kernel(here, holes, densities(z[rows]), filled)
            result[rows] = filled
        return result

    def _columns(self, z):
        """Rows with all variables of the regressions."""
        return z

    def _log_densities(self, z):
        """Log densities of all families in rows, where they are not normal."""
        return np.empty((0, 0))

    @cached_property
    def _mixture(self):
        return self._make_mixture()

    @cached_property
    def _regression(self):
        """Coefficients and residual variance of each family."""
        families = self.families
        pairs = zip(families.node, families.parents, strict=True)
        return [self.score.regression(node, parents) for node, parents in pairs]

    def _make_mixture(self):
        """The DAGs' precision matrices, each as rows w_i / √v_i."""
        log_roots = -0.5 * np.log([variance for _, variance in self._regression])
        families = self.families
        return NormalMixture(
            families.of_dag_by_dag,
            Surroundings(*families.surroundings),
            *self._roots(),
            families.log_shares + log_roots[families.of_dag].sum(axis=0),
            most_kept=MOST_KEPT,
        )

    def _roots(self, scale=1.0):
        """The rows of the families, times a number, as lists one after the other."""
        families = self.families
        pairs = zip(families.parents, families.node, strict=True)
        roots = [
            np.append(-coefficients, 1.0) * (scale / np.sqrt(variance))
            for coefficients, variance in self._regression
        ]
        members = csr([[*parents, node] for parents, node in pairs])
        return *members, np.concatenate(roots)


class ConstantsPredictor(LinearPredictor):
    """The same where regressions have constants, beside deviations from the mean.

    A constant is the coefficient of one more variable, which is 1 in every row.
    """

    def _columns(self, z):
        return np.hstack([z, np.ones((len(z), 1))])

    def _roots(self):
        families = self.families
        members, roots = [], []
        for node, parents, (coefficients, variance) in zip(
            families.node, families.parents, self._regression, strict=True
        ):
            constant = self.score.constant(node, parents)
            members.append([*parents, node, self.samples.n_features])
            roots.append(np.array([*-coefficients, 1.0, -constant]) / np.sqrt(variance))
        return *csr(members), np.concatenate(roots)


class StudentMixin(ABC):
    """Densities and expectations of BGe, whose families are Student t.

    Where another cell of the row is unobserved, expectations are those of the class
    that this is mixed into.
    """

    # Scatter matrices, least variances, offset and degrees of freedom, and the group
    # of rows that each child is learned from; see `Regressions`
    constants: tuple
    group: np.ndarray

    @property
    @abstractmethod
    def _scatter(self):
        """The scatter matrix and least variances that all families share, if any."""

    @abstractmethod
    def _student_roots(self):
        """The families' roots, in units of the scatter matrix if they share one."""

    @cached_property
    def _members(self):
        """What each family's child is regressed on, and the child, as plain numbers."""
        families = self.families
        parents = (tuple(parents.tolist()) for parents in families.parents)
        return list(zip(parents, families.node.tolist(), strict=True))

    @cached_property
    def _of_families(self):
        sets, nodes = zip(*self._members, strict=True)
        return self._regressions(nodes, sets, self.group[list(nodes)])

    def _regressions(self, nodes, sets, groups):
        numbers = [np.asarray(of_set, np.int32) for of_set in (groups, nodes)]
        return Regressions(*self.constants, *numbers, *csr(sets))

    def _slices(self, n_rows):
        return gen_batches(n_rows, ROWS_IN_CACHE)

    def _log_terms(self, X, n_rows):
        return self._densities(X - self.score.posterior_mean_, self._of_families)

    def _densities(self, z, regressions):
        """Log densities of the regressions' nodes given their sets, row by row."""
        tiles = _tiles(self._columns(z))
        terms = np.empty((regressions.n_sets, padded(len(z))))
        regressions.log_densities(tiles, terms)
        return terms

    def _expectations(self, z, missing):
        result, n_missing = np.empty_like(z), missing.sum(axis=1)
        nodes = range(z.shape[1])
        complete = np.flatnonzero(n_missing == 0)
        if len(complete):
            self._integrate(z, complete, nodes, result)
        # A cell's prediction does not look at it: where no other one is unobserved, it
        # may have any value.
        for node in nodes:
            rows = np.flatnonzero(missing[:, node] & (n_missing == 1))
            if len(rows):
                self._integrate(z, rows, [node], result)
        rows = np.flatnonzero(n_missing > 0)
        if len(rows):
            integrated = missing & (n_missing == 1)[:, None]
            normal = super()._expectations(z[rows], missing[rows])
            result[rows] = np.where(integrated[rows], result[rows], normal)
        return result

    def _log_marginals(self, z, missing):
        result, n_missing = np.empty(len(z)), missing.sum(axis=1)
        for node in range(z.shape[1]):
            rows = np.flatnonzero(missing[:, node] & (n_missing == 1))
            if len(rows):
                result[rows] = self._integrate_out(z[rows], node)
        rows = np.flatnonzero(n_missing > 1)
        if len(rows):
            result[rows] = self._approximate(z[rows], missing[rows])
        return result

    def _approximate(self, z, missing):
        """Log densities where several cells are unobserved."""
        kernel = partial(log_densities, self._student_mixture, *self._scatter)
        densities = partial(self._densities, regressions=self._of_families)
        return self._fill(kernel, z, missing, np.empty(len(z)), densities)

    @cached_property
    def _student_mixture(self):
        """The DAGs with Student t densities, and normal distributions near them."""
        families = self.families
        return NormalMixture(
            families.of_dag_by_dag,
            Surroundings(*families.surroundings),
            *self._student_roots(),
            families.log_shares,
            self._of_families,
            MOST_KEPT,
        )

    def _integrate_out(self, z, node):
        """Log densities where a node alone is unobserved."""
        result, (chosen, cell) = np.empty(len(z)), self._cell(node)
        for part in self._slices(len(z)):
            terms = self._densities(z[part], self._of_families)
            log_weights = chosen.log_sums(Weights(self._log_weights(terms)))
            _, log_masses = _integrals(cell, self._columns(z[part]), log_weights)
            result[part] = log_masses[: len(z[part])]
        return result

    def _integrate(self, z, rows, nodes, result):
        """Expectations of nodes in rows without another unobserved cell."""
        cells = [self._cell(node) for node in nodes]
        for part in self._slices(len(rows)):
            here = z[rows[part]]
            terms = self._densities(here, self._of_families)
            weights = Weights(self._log_weights(terms))
            for node, (chosen, cell) in zip(nodes, cells, strict=True):
                log_weights = chosen.log_sums(weights)
                expected = _expectation(cell, self._columns(here), log_weights)
                result[rows[part], node] = expected

    def _cell(self, node):
        """What the density of DAGs is as a function of one cell.

        Returns
        -------
        chosen : Chosen
            The families that have the node, and the groups of DAGs that agree in them.
        cell : Cell
            The product of powers of quadratics that they are.
        """
        chosen = self.families.blankets(node)
        numbers, sets, powers = {}, [], []
        _, _, _, df = self.constants
        for family in chosen.families.tolist():
            parents, child = self._members[family]
            group = self.group[child]
            size = df[group] + len(parents)
            if child == node:
                used = (parents,)
                powers.append((-(size + 1) / 2,))
            else:
                others = tuple(parent for parent in parents if parent != node)
                used = others, tuple(sorted((*others, child)))
                powers.append((size / 2, -(size + 1) / 2))
            sets.append([numbers.setdefault((group, s), len(numbers)) for s in used])
        groups, regressors = zip(*numbers, strict=True)
        of_node = self._regressions(np.full(len(groups), node), regressors, groups)
        powers = np.array([*chain.from_iterable(powers)])
        return chosen, Cell(of_node, *csr(sets), powers, chosen.first, chosen.members)


class StudentPredictor(StudentMixin, LinearPredictor):
    """The same for BGe, whose densities are Student t of one scatter matrix T.

    Λ is T⁻¹ here, without the edges that a DAG lacks.
    """

    def __init__(self, score, samples):
        super().__init__(score, samples)
        _, scatter, floor, offset, self.df = score.student_t()
        self.constants = scatter[None], floor[None], offset, np.array([self.df])
        self.group = np.zeros(len(scatter), dtype=np.int32)

    # Several cells unobserved: in a DAG with all edges the joint density is Student t,
    # and what follows is exact. In others it is for many degrees of freedom.

    def _make_mixture(self):
        return self._student_mixture

    def _student_roots(self):
        # from variances to what they are estimated from
        return self._roots(scale=(self.df - 2) ** -0.5)

    @property
    def _scatter(self):
        _, scatter, floor, _, _ = self.score.student_t()
        return scatter, floor

    def _log_densities(self, z):
        return self._densities(z, self._of_families)


class OwnRowsPredictor(StudentMixin, ConstantsPredictor):
    """The same for BGe where each child has rows of its own to learn from.

    Families have scatter matrices and means of their own rows, and so a constant
    beside their parents: the last variable, which is 1 in every row.
    """

    def __init__(self, score, samples):
        super().__init__(score, samples)
        *constants, self.group = score.student_t_of_groups()
        self.constants = tuple(constants)

    def _student_roots(self):
        return self._roots()

    @property
    def _scatter(self):
        return np.empty((0, 0)), np.empty(0)

    @cached_property
    def _members(self):
        one = self.samples.n_features
        return [((*parents, one), child) for parents, child in super()._members]


def _expectation(cell, z, log_weights):
    """Expectations by an expansion where that is good enough, or else by a grid."""
    expected, left_out = np.empty(padded(len(z))), np.full(padded(len(z)), np.inf)
    if len(log_weights) > FEW_BLANKETS:
        cell.expand(_tiles(z), log_weights, expected, left_out)
    expected, left_out = expected[: len(z)], left_out[: len(z)]
    bad = np.flatnonzero(~(left_out < LARGEST_ERROR**2))
    if len(bad):
        weights = np.zeros((len(log_weights), padded(len(bad))))
        weights[:, : len(bad)] = log_weights[:, bad]
        expected[bad] = _integrals(cell, z[bad], weights)[0][: len(bad)]
    return expected


def _integrals(cell, z, log_weights):
    """Expectations of a cell, and log densities of all others, by a grid."""
    expected, log_masses = np.empty((2, padded(len(z))))
    cell.integrate(_tiles(z), log_weights, expected, log_masses)
    return expected, log_masses


def _tiles(z):
    """Rows 16 at a time, by variables, filled up with zeros."""
    whole = np.zeros((padded(len(z)), z.shape[1]))
    whole[: len(z)] = z
    tiles = whole.reshape(-1, TILE, z.shape[1]).transpose(0, 2, 1)
    return np.ascontiguousarray(tiles.reshape(-1, TILE))
