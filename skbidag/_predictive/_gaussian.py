"""Continuous data: expectations of cells given the rest of a row, and densities.

They are those of the mixture of DAGs that ``score_samples`` tells the density of: DAGs
count by the density they give to the other observed cells of the row. That is the
density of all observed cells, which is worked out once, divided by that of the cell to
predict given the others.

With BGe a DAG's density is a product of Student t densities. Where all other cells are
observed, the expectation is an integral in one dimension (``_core/_student.pyx``).
Where some are not, it takes the DAG for a normal distribution about the regressions.
"""

from functools import cached_property
from itertools import chain

import numpy as np
from scipy.sparse import csr_array
from scipy.special import gammaln
from sklearn.utils import check_array, gen_batches

from skbidag._core._predictive import Weights
from skbidag._core._student import Cell, Regressions
from skbidag._data import unique_rows
from skbidag._predictive._families import TILE, csr, padded, row_slices
from skbidag._predictive._predictor import Predictor
from skbidag._sklearn import _check_n_features

# An integral takes twenty times as long as an expansion. Where a cell has more than so
# many different blankets, the latter is good enough if what it leaves out is not larger
# than this, by its order and in standard deviations; where it was compared, errors were
# a tenth of that in most cells, and ten times it in the worst.
FEW_BLANKETS, LARGEST_ERROR = 100, 1e-6

# Rows of which the densities of all families stay near the processor
ROWS_IN_CACHE = 8 * TILE


class LinearPredictor(Predictor):
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

    def _expectations(self, z, missing):
        """Expectations where every DAG is a normal distribution, as deviations."""
        result, families = np.empty_like(z), self.families
        chunks = [_PatternChunk(z, missing, rows) for rows in _equal_rows(missing)]
        roots = self._regression_weights()
        for dag, of_dag in enumerate(families.of_dag.T):
            network = _Network(dag, roots[of_dag])
            for chunk in chunks:
                chunk.add(network, self)
        for chunk in chunks:
            result[chunk.rows] = chunk.total / chunk.weight
        return result

    def _regression_weights(self):
        """Row w_i / √v_i for each family."""
        families, columns, values = self.families, [], []
        for node, parents in zip(families.node, families.parents, strict=True):
            coefficients, variance = self.score.regression(node, parents)
            columns.append(np.append(parents, node))
            values.append(np.append(-coefficients, 1.0) / np.sqrt(variance))
        ends = np.cumsum([0, *map(len, columns)])
        return csr_array(
            (np.concatenate(values), np.concatenate(columns), ends),
            shape=(len(columns), len(families.of_dag)),
        )

    def _log_observed(self, network, z, square, log_det, n_missing):
        """Log densities of the observed cells in a DAG, row by row.

        Parameters
        ----------
        network : _Network
            The DAG.
        z : ndarray of shape (n_rows, n_features)
            The rows, unobserved cells at their expectation.
        square : ndarray of shape (n_rows,)
            zᵀ Λ z.
        log_det : ndarray of shape (n_rows,)
            ln det Λ of the unobserved cells.
        n_missing : int
            How many cells are unobserved in each row.
        """
        n_seen = z.shape[1] - n_missing
        return 0.5 * (network.log_det - log_det - square - n_seen * np.log(2 * np.pi))

    def _log_cell(self, square, distance, left, n_missing):
        """Log densities of each observed cell given the others, in a DAG.

        Parameters
        ----------
        square : ndarray of shape (n_rows,)
            zᵀ Λ z.
        distance : ndarray of shape (n_rows, n_features)
            By how much each cell adds to that.
        left : ndarray of shape (n_rows, n_features)
            Its precision given the others.
        n_missing : int
            How many cells are unobserved in each row.
        """
        return 0.5 * (np.log(left / (2 * np.pi)) - distance)


class StudentPredictor(LinearPredictor):
    """The same for BGe, whose densities are Student t of one scatter matrix T.

    Λ is T⁻¹ here, without the edges that a DAG lacks.
    """

    def __init__(self, score, samples):
        super().__init__(score, samples)
        _, scatter, floor, self.offset, self.df = score.student_t()
        self.constants = scatter, floor, self.offset, self.df

    @cached_property
    def _of_families(self):
        return self._regressions(self.families.node, self.families.parents)

    def _regressions(self, nodes, sets):
        return Regressions(*self.constants, np.asarray(nodes, np.int32), *csr(sets))

    def _slices(self, n_rows):
        return gen_batches(n_rows, ROWS_IN_CACHE)

    def _log_terms(self, X, n_rows):
        return self._densities(X - self.score.posterior_mean_, self._of_families)

    def _densities(self, z, regressions):
        """Log densities of the regressions' nodes given their sets, row by row."""
        tiles = _tiles(z)
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

    def _integrate(self, z, rows, nodes, result):
        """Expectations of nodes in rows without another unobserved cell."""
        cells = [self._cell(node) for node in nodes]
        for part in self._slices(len(rows)):
            here = z[rows[part]]
            terms = self._densities(here, self._of_families)
            weights = Weights(self._log_weights(terms))
            for node, (chosen, cell) in zip(nodes, cells, strict=True):
                expected = _expectation(cell, here, chosen.log_sums(weights))
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
        for family in chosen.families.tolist():
            parents, child = self._members[family]
            size = self.df + len(parents)
            if child == node:
                used = (parents,)
                powers.append((-(size + 1) / 2,))
            else:
                others = tuple(parent for parent in parents if parent != node)
                used = others, tuple(sorted((*others, child)))
                powers.append((size / 2, -(size + 1) / 2))
            sets.append([numbers.setdefault(s, len(numbers)) for s in used])
        of_node = self._regressions(np.full(len(numbers), node), list(numbers))
        powers = np.array([*chain.from_iterable(powers)])
        return chosen, Cell(of_node, *csr(sets), powers, chosen.first, chosen.members)

    @cached_property
    def _members(self):
        """Parents and child of each family, as plain numbers."""
        families = self.families
        parents = (tuple(parents.tolist()) for parents in families.parents)
        return list(zip(parents, families.node.tolist(), strict=True))

    # Several cells unobserved: in a DAG with all edges the joint density is Student t,
    # and what follows is exact. In others it is for many degrees of freedom.

    def _regression_weights(self):
        # from variances to what they are estimated from
        return super()._regression_weights() / np.sqrt(self.df - 2)

    def _log_observed(self, network, z, square, log_det, n_missing):
        n, families = z.shape[1], self.families
        own = families.of_dag[:, network.dag]
        of_dag = self._regressions(np.arange(n), [families.parents[f] for f in own])
        log_joint = self._densities(z, of_dag)[:, : len(z)].sum(axis=0)
        return (
            log_joint
            + n_missing / 2 * np.log(np.pi * (self.offset + square))
            + gammaln((self.df + n - n_missing) / 2)
            - gammaln((self.df + n) / 2)
            - log_det / 2
        )

    def _log_cell(self, square, distance, left, n_missing):
        df = self.df + distance.shape[1] - n_missing - 1
        rest = self.offset + np.maximum(square[:, None] - distance, 0.0)
        return (
            gammaln((df + 1) / 2)
            - gammaln(df / 2)
            + 0.5 * np.log(left / (np.pi * rest))
            - (df + 1) / 2 * np.log1p(distance / rest)
        )


class _Network:
    """A DAG as a normal distribution.

    Parameters
    ----------
    dag : int
        Its number.
    roots : sparse array of shape (n_features, n_features)
        Row i is w_i / √v_i.
    """

    def __init__(self, dag, roots):
        self.dag = dag
        self.roots = roots
        self.precision = roots.T @ roots
        self.dense = self.precision.toarray()
        # w_i is 1 at i, and in the order of the DAG the matrix is triangular
        self.log_det = 2 * np.log(roots.diagonal()).sum()


def _equal_rows(missing):
    """Rows that miss equally many cells, none too many for memory."""
    n_missing = missing.sum(axis=1)
    for size in np.unique(n_missing):
        rows = np.flatnonzero(n_missing == size)
        # in the order of their patterns, of which a slice then has few
        rows = rows[np.lexsort(missing[rows].T)]
        for part in row_slices(len(rows), (2 * size + 8) * missing.shape[1]):
            yield rows[part]


class _PatternChunk:
    """Rows that miss equally many cells, and sums over DAGs of their expectations.

    With zeros z_M at the unobserved cells M, e_M = −Λ_MM⁻¹ (Λ z)_M is the expectation
    of these. With it filled in, an observed v has the expectation z_v − (Λ z)_v / l_v
    given the others, and l_v = Λ_vv − Λ_vM Λ_MM⁻¹ Λ_Mv is its precision.

    Attributes
    ----------
    rows : ndarray of int
        Which rows these are.
    total, weight : ndarray of shape (n_rows, n_features)
        Sums of weighted expectations and of weights, relative to the largest weight.
    """

    def __init__(self, z, missing, rows):
        self.rows, self.z = rows, z[rows]
        patterns, _, self.pattern = unique_rows(missing[rows])
        self.missing = np.nonzero(patterns)[1].reshape(len(patterns), -1)
        self.is_missing = missing[rows]
        self.total = np.zeros_like(self.z)
        self.weight = np.zeros_like(self.z)
        self.peak = np.full_like(self.z, -np.inf)

    def add(self, network, predictor):
        """Add one DAG's expectations to the total."""
        z, M, pattern = self.z, self.missing, self.pattern
        n_missing = M.shape[1]
        dense, left = network.dense, np.diag(network.dense)[None]
        log_det, at = np.zeros(len(M)), np.zeros(len(z), dtype=int)
        if n_missing:
            at_rows, at = (np.arange(len(z))[:, None], M[pattern]), pattern
            block = dense[M[:, :, None], M[:, None, :]]
            inverse, log_det = np.linalg.inv(block), np.linalg.slogdet(block)[1]
            pull = (network.precision @ z.T).T[at_rows]
            z = z.copy()
            z[at_rows] = -(inverse[pattern] @ pull[:, :, None])[:, :, 0]
            left = left - np.einsum("pmn,pmn->pn", dense[M], inverse @ dense[M])
            # Unobserved variables have their expectation already, and no pull left.
            left[np.arange(len(M))[:, None], M] = 1.0
        left = left[at]
        gap = (network.precision @ z.T).T / left
        gap[self.is_missing] = 0.0
        square = ((network.roots @ z.T) ** 2).sum(axis=0)
        log_weight = predictor.families.log_shares[network.dag] + (
            predictor._log_observed(network, z, square, log_det[pattern], n_missing)
        )
        of_cell = predictor._log_cell(square, gap**2 * left, left, n_missing)
        self._add(
            z - gap, log_weight[:, None] - np.where(self.is_missing, 0.0, of_cell)
        )

    def _add(self, expected, log_weight):
        peak = np.maximum(self.peak, log_weight)
        before, now = np.exp(self.peak - peak), np.exp(log_weight - peak)
        self.total = self.total * before + expected * now
        self.weight = self.weight * before + now
        self.peak = peak


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
        integrated = np.empty(padded(len(bad)))
        cell.integrate(_tiles(z[bad]), weights, integrated)
        expected[bad] = integrated[: len(bad)]
    return expected


def _tiles(z):
    """Rows 16 at a time, by variables, filled up with zeros."""
    whole = np.zeros((padded(len(z)), z.shape[1]))
    whole[: len(z)] = z
    tiles = whole.reshape(-1, TILE, z.shape[1]).transpose(0, 2, 1)
    return np.ascontiguousarray(tiles.reshape(-1, TILE))
