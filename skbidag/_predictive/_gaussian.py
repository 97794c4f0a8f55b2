"""Linear Gaussian networks: expectations of cells, and Student t densities."""

import numpy as np
from scipy.sparse import csr_array
from sklearn.utils import check_array

from skbidag._core._predictive import log_mean_student_t
from skbidag._data import unique_rows
from skbidag._predictive._families import TILE, csr, padded, row_slices
from skbidag._predictive._predictor import Predictor
from skbidag._sklearn import _check_n_features


class LinearPredictor(Predictor):
    """Predictions by the regressions of a :class:`LinearPredictiveScore`."""

    def predict(self, X):
        """Average over DAGs the expectation of each cell given the others of its row.

        A DAG with regressions x_i = b_i x_P + noise of variance v_i has the precision
        matrix Λ = Σ_i w_i w_iᵀ / v_i, where w_i is 1 at i and −b_i at the parents. In a
        row, as deviations from the mean with zeros z_M at the unobserved M,

            e_M = −Λ_MM⁻¹ (Λ z)_M

        is the expectation of the unobserved ones. With it filled in, an observed v has
        the expectation z_v − (Λ z)_v / (Λ_vv − Λ_vM Λ_MM⁻¹ Λ_Mv) given the others.

        All this is linear in z for a given M. Where more rows than variables share M,
        it is done for unit vectors instead of the rows.
        """
        X = check_array(
            X, dtype=np.float64, ensure_all_finite="allow-nan", input_name="X"
        )
        _check_n_features(self.score, X, reset=False)
        missing = np.isnan(X)
        z = np.where(missing, 0.0, X - self.score.posterior_mean_)
        patterns, rows_of = _rows_by_pattern(missing)
        tasks = [
            np.eye(X.shape[1]) if len(rows) > X.shape[1] else z[rows]
            for rows in rows_of
        ]
        expected = self._expectations(patterns, tasks)
        result = np.empty_like(z)
        for rows, task, e in zip(rows_of, tasks, expected, strict=True):
            result[rows] = z[rows] @ e if len(rows) > len(task) else e
        return result + self.score.posterior_mean_

    def _expectations(self, patterns, tasks):
        """Mean over DAGs of what `tasks` make each pattern of missing cells expect."""
        chunks = [
            _PatternChunk(patterns[part], tasks[part])
            for part in _pattern_parts(patterns)
        ]
        families = self.families
        weights = self._regression_weights()
        shares = families.counts / families.counts.sum()
        for of_dag, share in zip(families.of_dag.T, shares, strict=True):
            of_node = weights[of_dag]
            precision = of_node.T @ of_node
            dense = precision.toarray()
            for chunk in chunks:
                chunk.add_expectations(precision, dense, share)
        return [e for chunk in chunks for e in chunk.split()]

    def _regression_weights(self):
        """Row w_i / √v_i for each family: 1 at the child and −b_i at the parents."""
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


class StudentPredictor(LinearPredictor):
    """The same for BGe, whose densities are Student t of one scatter matrix."""

    def log_density(self, X):
        """Log of the mean over DAGs of each row's predictive density."""
        X, families = self._read(X), self.families
        mean, scatter, floor, offset, df = self.score.student_t()
        n_rows, n = X.shape
        z = np.zeros((padded(n_rows), n))
        z[:n_rows] = X - mean
        tiles = z.reshape(-1, TILE, n).transpose(0, 2, 1).reshape(-1, TILE)
        first_parent, parents = csr(families.parents)
        result = np.empty(len(z))
        log_mean_student_t(
            np.ascontiguousarray(tiles),
            scatter,
            floor,
            offset,
            df,
            families.node.astype(np.int32),
            first_parent,
            parents,
            families.of_dag_by_dag,
            families.log_shares,
            result,
        )
        return result[:n_rows]


def _rows_by_pattern(missing):
    """Distinct patterns of missing cells, and the rows that have each.

    Patterns stand in the order of how many are missing: equal numbers go together.
    """
    patterns, _, pattern_of = unique_rows(missing)
    order = np.argsort(patterns.sum(axis=1), kind="stable")
    patterns, pattern_of = patterns[order], np.argsort(order)[pattern_of]
    ends = np.cumsum(np.bincount(pattern_of))
    return patterns, np.split(np.argsort(pattern_of, kind="stable"), ends[:-1])


def _pattern_parts(patterns):
    """Slices of patterns that miss equally many, none too large for memory."""
    sizes, starts = np.unique(patterns.sum(axis=1), return_index=True)
    stops = np.append(starts[1:], len(patterns))
    for size, start, stop in zip(sizes, starts, stops, strict=True):
        for part in row_slices(stop - start, (2 * size + 1) * patterns.shape[1]):
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
