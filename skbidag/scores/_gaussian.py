"""The Gaussian family of scores: a matrix for each node, and what depends on sizes.

The score of a child with l parents P is

    offset[l] - slope[l] ln v - det_weight ln det T_PP

and the log prior odds of its edges, where v is the variance that the parents leave of
the child: the Schur complement of T_PP in the matrix T of both. A member of the family
says for each node what T, the offsets and the slopes are (:class:`GaussianTerms`).
Tables, additions, forward selection and pairs follow from that.
"""

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from skbidag._core import _gaussian
from skbidag.scores.base import BaseScore


@dataclass(frozen=True, eq=False)
class GaussianTerms:
    """What the scores of one node are made of.

    Attributes
    ----------
    matrix : ndarray of float64 of shape (n_features, n_features)
        The scatter matrix T, symmetric and C-contiguous.
    floor : ndarray of float64 of shape (n_features,)
        The smallest variance that others may leave of each variable.
    offset : ndarray of float64 of shape (n_features + 1,)
        ``offset[l]`` is the constant of a child with l parents.
    slope : ndarray of float64 of shape (n_features + 1,)
        ``slope[l]`` is the weight of ln v with l parents.
    det_weight : float
        The weight of ln det T_PP.
    diagonal : ndarray of float64 of shape (n_features,), default=None
        The diagonal of T. None is for it to be read off: nodes that share T may share
        it, too.
    """

    matrix: np.ndarray
    floor: np.ndarray
    offset: np.ndarray
    slope: np.ndarray
    det_weight: float
    diagonal: np.ndarray | None = None

    def __post_init__(self):
        if self.diagonal is None:
            diagonal = np.ascontiguousarray(np.diag(self.matrix))
            object.__setattr__(self, "diagonal", diagonal)


class GaussianScore(BaseScore):
    """Base class of scores of linear Gaussian networks.

    A score of this family writes ``_fit`` and :meth:`node_terms`. Its tables are
    compiled.
    """

    entry_seconds = 1e-8
    set_seconds = 1e-7

    @abstractmethod
    def node_terms(self, node):
        """What the scores of a node are made of.

        Parameters
        ----------
        node : int
            The child.

        Returns
        -------
        terms : GaussianTerms
            They may differ from node to node.
        """

    def log_marginal_likelihood(self, node, parents):
        """Log marginal likelihood of column `node` given the columns `parents`.

        Parameters
        ----------
        node : int
            The child.
        parents : sequence of int
            Its parents.

        Returns
        -------
        log_likelihood : float
            Without the edge prior.
        """
        terms, size = self.node_terms(node), len(parents)
        variance, log_det = conditional_variance(
            terms.matrix, node, parents, terms.floor
        )
        return float(
            terms.offset[size]
            - terms.slope[size] * np.log(variance)
            - terms.det_weight * log_det
        )

    def fill_table(self, node, candidates, outsiders, base_column, out, columns=None):
        candidates = np.ascontiguousarray(candidates, dtype=np.intp)
        if len(outsiders) == 0:
            self._fill_subsets(node, candidates, (), base_column, out)
            return
        # The kernel's columns are those of the table, then the candidates, which a
        # table with a column for every variable has already.
        terms, log_odds = self.node_terms(node), self.log_prior_odds_[:, node]
        outsiders = np.asarray(outsiders, dtype=np.intp)
        n, n_candidates = len(terms.matrix), len(candidates)
        # variable n is nobody: padding to whole vectors
        if columns is None:
            table_width, where = -(-n // 4) * 4, np.arange(n)
        else:
            table_width = out.shape[1]
            where = np.full(table_width + n_candidates, n)
            where[base_column], where[columns] = node, outsiders
            where[table_width:] = candidates
        where = np.pad(where, (0, -len(where) % 4), constant_values=n)
        place = np.full(n + 1, -1)
        place[where] = np.arange(len(where))

        present = where < n
        variables = where[present]
        rows = np.zeros((n_candidates + 1, len(where)))
        rows[:, present] = terms.matrix[np.ix_(np.append(node, candidates), variables)]
        diagonal, floors = np.ones(len(where)), np.ones(len(where))
        diagonal[present] = terms.diagonal[variables]
        floors[present] = terms.floor[variables]
        bias = np.full(len(where), -np.inf)
        bias[place[outsiders]] = log_odds[outsiders]

        # The kernel writes whole rows: into the table itself if it is laid out alike.
        table, base = out, int(place[node])
        if out.shape[1] != table_width or base_column != base:
            table = np.empty((len(out), table_width))
        _gaussian.fill_table(
            rows,
            diagonal,
            floors,
            base,
            np.ascontiguousarray(place[candidates]),
            bias,
            np.ascontiguousarray(log_odds[candidates]),
            terms.offset,
            terms.slope,
            terms.det_weight,
            base,
            table,
        )
        if table is not out:
            out[:, outsiders] = table[:, outsiders]
            out[:, base_column] = table[:, base]

    def fill_subsets(self, node, candidates, kept, out):
        self._fill_subsets(node, candidates, kept, 0, out[:, None])

    def _fill_subsets(self, node, candidates, kept, base_column, out):
        _gaussian.fill_subsets(
            *self._of_node(node),
            np.ascontiguousarray(candidates, dtype=np.intp),
            np.ascontiguousarray(kept, dtype=np.intp),
            base_column,
            out,
        )

    def addition_scores(self, node, parents):
        if len(parents) == self.n_features_in_ - 1:
            return np.full(self.n_features_in_, -np.inf)
        parents = np.array(parents, dtype=np.intp)
        return _gaussian.addition_scores(*self._of_node(node), parents)

    def removal_scores(self, node, parents):
        parents = np.array(parents, dtype=np.intp)
        return _gaussian.removal_scores(*self._of_node(node), parents)

    def set_scores(self):
        score, n = type(self), self.n_features_in_
        if (
            score.addition_scores is not GaussianScore.addition_scores
            or score.removal_scores is not GaussianScore.removal_scores
        ):
            return super().set_scores()  # who overrides these is asked
        return _gaussian.GaussianSetScores(
            None, n, [self._of_node(k) for k in range(n)]
        )

    def select_parents(self, node, allowed, max_size, kept=(), stop=True):
        may_add = np.zeros(self.n_features_in_, dtype=np.uint8)
        may_add[allowed] = 1
        return _gaussian.select_parents(
            *self._of_node(node),
            may_add,
            min(max_size, self.n_features_in_ - 1),
            np.ascontiguousarray(kept, dtype=np.intp),
            stop,
        )

    def _of_node(self, node):
        """What the kernels are to know of a node, and itself."""
        terms = self.node_terms(node)
        return (
            terms.matrix,
            terms.diagonal,
            terms.floor,
            terms.offset,
            terms.slope,
            terms.det_weight,
            np.ascontiguousarray(self.log_prior_odds_[:, node]),
            node,
        )

    def pair_scores(self, node, parents, others=None):
        size = len(parents)
        if size + 2 > self.n_features_in_ - 1:
            return None
        terms, log_odds = self.node_terms(node), self.log_prior_odds_[:, node]
        asked = np.arange(self.n_features_in_) if others is None else np.asarray(others)
        new = ~np.isin(asked, [*parents, node])
        others = asked[new]
        # the parents come first, the node last
        variables = np.array([*parents, *others, node], dtype=np.intp)
        residual, log_det = residual_scatter(
            terms.matrix[np.ix_(variables, variables)],
            range(size),
            terms.floor[variables],
        )
        floor = terms.floor
        block = residual[size:-1, size:-1]
        covariance = residual[-1, size:-1]
        spread = np.maximum(np.diag(block), floor[others])
        # variance of k given j (and the parents), and covariance of node and k given j
        given = np.maximum(spread - block**2 / spread[:, None], floor[others])
        partial = covariance - covariance[:, None] * block / spread[:, None]
        variance = residual[-1, -1] - (covariance**2 / spread)[:, None]
        variance = np.maximum(variance - partial**2 / given, floor[node])
        pairs = (
            terms.offset[size + 2]
            - terms.slope[size + 2] * np.log(variance)
            - terms.det_weight * (log_det + np.log(given) + np.log(spread)[:, None])
            + log_odds[list(parents)].sum()
            + log_odds[others]
            + log_odds[others][:, None]
        )
        np.fill_diagonal(pairs, -np.inf)
        scores = np.full((len(asked), len(asked)), -np.inf)
        scores[np.ix_(new, new)] = pairs
        return scores


def conditional_variance(matrix, node, parents, floor):
    """Schur complement of `node` given `parents`, and ln det of the parents' block.

    The pivots of the Cholesky factorization are conditional variances; none can be
    smaller than the column's `floor`.
    """
    columns = np.append(parents, node).astype(np.intp)
    block = matrix[np.ix_(columns, columns)].copy()
    log_det = 0.0
    for k in range(len(parents)):
        pivot = max(block[k, k], floor[columns[k]])
        log_det += np.log(pivot)
        # divided first: a product of large covariances may overflow
        block[k + 1 :, k + 1 :] -= np.outer(
            block[k + 1 :, k] / pivot, block[k, k + 1 :]
        )
    return max(block[-1, -1], floor[node]), log_det


def residual_scatter(matrix, parents, floor):
    """Schur complement of `parents` in the whole matrix; ln det of their block."""
    residual = matrix.copy()
    log_det = 0.0
    for parent in parents:
        pivot = max(residual[parent, parent], floor[parent])
        log_det += np.log(pivot)
        residual -= np.outer(residual[:, parent], residual[parent]) / pivot
    return residual, log_det


def least_residual_share(matrix):
    """Find the column best explained by the others, and the share that is not.

    Returns
    -------
    column : int
        The column.
    share : float
        Its variance given all others over its variance; 0 if singular to rounding.
    """
    scale = 1.0 / np.sqrt(np.diag(matrix))
    scaled = matrix * scale[:, None] * scale
    try:
        factor = np.linalg.cholesky(scaled)
    except np.linalg.LinAlgError:
        _, vectors = np.linalg.eigh(scaled)
        return int(np.argmax(np.abs(vectors[:, 0]))), 0.0
    inverse = solve_triangular(factor, np.eye(len(scaled)), lower=True)
    shares = 1.0 / (inverse**2).sum(axis=0)
    column = int(np.argmin(shares))
    return column, float(shares[column])
