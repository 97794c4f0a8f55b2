"""The contract of a decomposable score.

A score gets the data once, in ``fit``, and keeps what it needs of them (sufficient
statistics). From then on it answers one question: how well do these parents explain
this child? The log score of a DAG is the sum of the answers over its nodes.

A score of your own subclasses :class:`BaseScore` and writes two methods, ``_fit``
and ``log_marginal_likelihood``. Everything else (priors over edges, tables, DAG
scores) is inherited, and every estimator takes it. ``fill_table`` may be overridden
by a compiled routine; it must give the same numbers. Two families do so for all their
members, :class:`~skbidag.scores.GaussianScore` and
:class:`~skbidag.scores.CategoricalScore`. What a score can do beyond scoring is in
``capabilities.py``.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone

from skbidag._core._set_scores import SetScores
from skbidag._data import (
    Rows,
    check_continuous,
    check_weights,
    display_name,
    names_of,
)
from skbidag._sklearn import _check_feature_names, _check_n_features, _num_samples
from skbidag.graphs import align_labels, check_adjacency, is_dag
from skbidag.scores._density import automatic_penalty

# Up to so many variables `fill_subsets` takes what it is asked for from a table of all
# their subsets.
_MOST_IN_ONE_TABLE = 16


class BaseScore(ABC, BaseEstimator):
    """Base class of decomposable scores.

    Attributes
    ----------
    log_prior_odds_ : ndarray of shape (n_features, n_features)
        ``log_prior_odds_[i, j]`` is added to the score whenever i is a parent of j:
        ``edge_prior`` minus the log of ``edge_penalty_``.
    edge_penalty_ : float
        The penalty of an edge that was used.
    n_features_in_ : int
        Number of variables seen during ``fit``.
    """

    #: About how long one entry of a table takes, in seconds; searches plan with it.
    entry_seconds = 1e-4

    #: Whether there is `fill_table_beside`, by which tables grow out of earlier ones.
    grows_tables = False

    @property
    def set_seconds(self):
        """About how long one parent set takes in a table without outsiders."""
        return self.entry_seconds

    #: Each edge divides the DAG's prior probability by this. A score that has it among
    #: its parameters lets the user choose.
    edge_penalty = 1.0

    #: Edges that no DAG of the score's model has, set in fit where there are any.
    forbidden_edges_ = None

    @abstractmethod
    def _fit(self, X, sample_weight):
        """Validate the data and keep their sufficient statistics."""

    @abstractmethod
    def log_marginal_likelihood(self, node, parents):
        """Log marginal likelihood of column `node` given the columns `parents`.

        Parameters
        ----------
        node : int
            The child.
        parents : ndarray of int
            Its parents, sorted.

        Returns
        -------
        log_likelihood : float
            Finite, and without the prior over edges.
        """

    def fit(
        self,
        X: Rows,
        y: None = None,
        sample_weight: ArrayLike | None = None,
        edge_prior: ArrayLike | None = None,
    ) -> Self:
        """Take what the score needs from the data.

        Parameters
        ----------
        X : {array-like, dataframe} of shape (n_samples, n_features)
            The data.
        y : None
            Ignored, present for API consistency.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each row counts. A weight of 2 is the row given twice.
        edge_prior : array-like of shape (n_features, n_features), default=None
            ``edge_prior[i, j]`` is the log prior odds of the edge i -> j.

        Returns
        -------
        self : object
            The fitted score.
        """
        if isinstance(X, Mapping):
            raise TypeError("X must be an array or a frame, got a mapping.")
        if _num_samples(X) == 0:
            raise ValueError("X has no rows: 0 sample(s) where at least 1 is needed.")
        _check_feature_names(self, X, reset=True)
        _check_n_features(self, X, reset=True)
        self._fit(X, sample_weight)
        n = self.n_features_in_
        # what is asked for is a child's column
        self.log_prior_odds_ = np.zeros((n, n), order="F")
        if edge_prior is not None:
            edge_prior = align_labels(edge_prior, names_of(self), "edge_prior")
            self.log_prior_odds_ += check_edge_prior(edge_prior, n)
        self._take_penalty()
        return self

    def _take_penalty(self):
        """Take the penalty of an edge from log prior odds that have none."""
        self.edge_penalty_ = self.edge_penalty
        if isinstance(self.edge_penalty, str):
            self.edge_penalty_ = automatic_penalty(self)
        self.log_prior_odds_ = self.log_prior_odds_ - np.log(self.edge_penalty_)

    def test_data(self, X, sample_weight=None):
        """The data as tests of independence take them, which precede the search.

        Parameters
        ----------
        X : {array-like, dataframe} of shape (n_samples, n_features)
            The data of ``fit``.
        sample_weight : array-like of shape (n_samples,), default=None
            Their weights.

        Returns
        -------
        data : ndarray of shape (n_rows, n_features)
            Floats; integer codes stand for categories.
        weights : ndarray of shape (n_rows,) or None
            How often each of these rows counts; None is once.
        """
        data = check_continuous(X, self._column_name)
        if sample_weight is None:
            return data, None
        return data, check_weights(sample_weight, len(data))

    def local_score(self, node: int, parents: Sequence[int]) -> float:
        """Log score of `node` with the given parents: marginal likelihood and prior.

        Parameters
        ----------
        node : int
            The child.
        parents : sequence of int
            Its parents.

        Returns
        -------
        log_score : float
            The child's term in the log score of a DAG.
        """
        parents = np.sort(np.asarray(parents, dtype=np.intp).reshape(-1))
        log_likelihood = self._checked_likelihood(node, parents)
        return float(log_likelihood + self.log_prior_odds_[parents, node].sum())

    def _checked_likelihood(self, node, parents):
        """Log marginal likelihood, once the parents, which are sorted, are checked."""
        family = np.append(parents, node)
        if (
            family.min() < 0
            or family.max() >= self.n_features_in_
            or len(np.unique(family)) < len(family)
        ):
            raise ValueError(
                f"parents must be different columns other than node {node}, "
                f"got {parents.tolist()}."
            )
        return self.log_marginal_likelihood(node, parents)

    def dag_score(self, adjacency: ArrayLike) -> float:
        """Log score of a DAG: the sum of its nodes' local scores.

        Parameters
        ----------
        adjacency : array-like of shape (n_features, n_features)
            ``adjacency[i, j]`` is non-zero where there is an edge i -> j.

        Returns
        -------
        log_score : float
            Unnormalized log posterior probability of the DAG.
        """
        n = self.n_features_in_
        adjacency = np.asarray(adjacency, dtype=bool)
        if adjacency.shape != (n, n):
            raise ValueError(
                f"adjacency must have shape ({n}, {n}), got {adjacency.shape}."
            )
        if not is_dag(check_adjacency(adjacency, "adjacency")):
            raise ValueError("adjacency must be a DAG, but it has a cycle.")
        return sum(
            self.local_score(node, np.flatnonzero(adjacency[:, node]))
            for node in range(n)
        )

    def fill_table(self, node, candidates, outsiders, base_column, out, columns=None):
        """Write the score of every subset of `candidates` into a table.

        Parameters
        ----------
        node : int
            The child.
        candidates : ndarray of int
            Its K permissible parents. Bit k of a row's number stands for
            ``candidates[k]``.
        outsiders : ndarray of int
            Variables of which one may be added to any of the subsets.
        base_column : int
            The column for the subsets as they are.
        out : ndarray of shape (2**K, n_columns)
            ``out[mask, base_column]`` gets the score of the subset `mask`, and
            ``out[mask, columns[k]]`` that of the subset plus ``outsiders[k]``. Other
            entries are left alone.
        columns : ndarray of int, default=None
            The column of each outsider; None if that of j is j. Given where few of
            many variables are outsiders.
        """
        columns = outsiders if columns is None else columns
        for mask in range(len(out)):
            subset = [int(c) for k, c in enumerate(candidates) if mask >> k & 1]
            out[mask, base_column] = self._finite_score(node, subset)
            for outsider, column in zip(outsiders, columns, strict=True):
                parents = [*subset, int(outsider)]
                out[mask, column] = self._finite_score(node, parents)

    def fill_table_for_maxima(
        self, node, candidates, outsiders, base_column, out, columns=None
    ):
        """Like `fill_table`, for a table of which only maxima over subsets are wanted.

        Parameters
        ----------
        node, candidates, outsiders, base_column
            As in :meth:`fill_table`.
        out : ndarray of shape (2**K, n_columns)
            Filled with -inf. Entries for which a subset of their candidates, in the
            base column, scores higher may stay so: a score that can tell without
            computing them, or has good reason to expect it of an outsider, saves most
            of a large table. Entries of the base column that are not beaten are there.
        columns : ndarray of int, default=None
            As in :meth:`fill_table`.
        """
        where = {} if columns is None else {"columns": columns}
        self.fill_table(node, candidates, outsiders, base_column, out, **where)

    def fill_table_beside(
        self, parent, floor, node, candidates, outsiders, base_column, out
    ):
        """Like `fill_table_for_maxima`, of the sets that all have one more parent.

        Parameters
        ----------
        parent : int
            The parent that every set has, beside a subset of the candidates.
        floor : ndarray of shape (2**K,)
            What the best subset of each row's candidates scores without it. Entries
            that are below may stay as they are, too.
        node, candidates, outsiders, base_column
            As in :meth:`fill_table`.
        out : ndarray of shape (2**K, n_columns)
            As in :meth:`fill_table_for_maxima`.
        """
        # asked of scores alone whose `grows_tables` is true
        raise NotImplementedError(f"{type(self).__name__} does not grow tables")

    def fill_subsets(self, node, candidates, kept, out):
        """Write the score of every subset of `candidates`, beside parents that stay.

        Parameters
        ----------
        node : int
            The child.
        candidates : ndarray of int
            Its K candidates. Bit k of an entry's number stands for ``candidates[k]``.
        kept : ndarray of int
            Parents that every set has.
        out : ndarray of shape (2**K,)
            The scores.
        """
        everything = np.append(candidates, kept).astype(np.intp)
        if len(everything) <= _MOST_IN_ONE_TABLE:
            table = np.empty((1 << len(everything), 1))
            self.fill_table(node, everything, everything[:0], 0, table)
            out[:] = table[len(table) - len(out) :, 0]
            return
        for mask in range(len(out)):
            subset = [int(c) for k, c in enumerate(candidates) if mask >> k & 1]
            out[mask] = self._finite_score(node, [*subset, *map(int, kept)])

    def _finite_score(self, node, parents):
        """Give the local score; sums over a table cannot hold an infinite one."""
        log_score = self.local_score(node, parents)
        if not np.isfinite(log_score):
            raise ValueError(
                f"The score of node {self._column_name(node)} with parents {parents} "
                f"is {log_score}; scores must be finite."
            )
        return log_score

    def addition_scores(self, node, parents):
        """Scores of `node` with one more parent, for each variable in turn.

        Parameters
        ----------
        node : int
            The child.
        parents : sequence of int
            Its parents.

        Returns
        -------
        log_scores : ndarray of shape (n_features,)
            Entry j is the score of `parents` and j; -inf for the node itself and
            for those that are parents already.
        """
        n = self.n_features_in_
        parents = np.asarray(parents, dtype=np.intp)
        log_scores = np.full(n, -np.inf)
        for other in np.setdiff1d(np.arange(n), [*parents, node]):
            log_scores[other] = self._finite_score(node, [*parents, other])
        return log_scores

    def removal_scores(self, node, parents):
        """Scores of `node` with one parent less, for each of them in turn.

        Parameters
        ----------
        node : int
            The child.
        parents : sequence of int
            Its parents.

        Returns
        -------
        log_scores : ndarray of shape (n_parents,)
            Entry k is the score without ``parents[k]``.
        """
        sets = [[j for j in parents if j != parent] for parent in parents]
        # a selection that adds nothing, for where that is compiled
        scores = [self.select_parents(node, s, len(s), kept=s)[1] for s in sets]
        return np.array(scores, dtype=float)

    def set_scores(self):
        """What compiled searches ask for sets with one parent more, or one less."""
        return SetScores(self, self.n_features_in_)

    def select_parents(self, node, allowed, max_size, kept=(), stop=True):
        """Forward selection: add the best parent until none raises the score.

        Parameters
        ----------
        node : int
            The child.
        allowed : ndarray of int
            Variables to choose from.
        max_size : int
            The most parents to select, `kept` included.
        kept : sequence of int, default=()
            Parents that are in from the start.
        stop : bool, default=True
            Whether to stop when no addition raises the score. If False, go on to
            `max_size`.

        Returns
        -------
        parents : list of int
            `kept`, then the selected ones in the order of their selection.
        log_score : float
            Their score.
        """
        parents = [int(parent) for parent in kept]
        best = self.local_score(node, parents)
        may_add = np.zeros(self.n_features_in_, dtype=bool)
        may_add[allowed] = True
        while len(parents) < max_size:
            may_add[parents] = False
            scores = np.where(may_add, self.addition_scores(node, parents), -np.inf)
            parent = int(np.argmax(scores))
            if scores[parent] == -np.inf or (stop and scores[parent] <= best):
                break
            parents.append(parent)
            best = float(scores[parent])
        return parents, best

    def pair_scores(self, node, parents, others=None):
        """Scores of `node` with two more parents, for each pair of variables.

        Searches use it to find parents that pay off only together.

        Parameters
        ----------
        node : int
            The child.
        parents : sequence of int
            Its parents.
        others : ndarray of int, default=None
            Variables to make pairs of; None for all.

        Returns
        -------
        log_scores : ndarray of shape (n_others, n_others) or None
            Entry [j, k] is the score of `parents`, ``others[j]`` and ``others[k]``;
            -inf where that is not two more parents. None where it would take too long
            to compute.
        """
        return None

    def best_small_set(self, node, others, seconds):
        """The best of all parent sets of a few variables.

        Searches use it where one parent at a time leads nowhere.

        Parameters
        ----------
        node : int
            The child.
        others : ndarray of int
            Variables to choose from.
        seconds : float
            About how long it may take: that decides how many parents a set may have.

        Returns
        -------
        parents : list of int
            The best set; empty where two parents would take too long.
        log_score : float
            Its score, -inf where there is none.
        """
        return [], -np.inf

    # Several scores of parts of the rows, see `_interventional.py`

    @property
    def of_all_rows(self):
        """The score of all rows, where each variable has some of its own."""
        return self

    @property
    def of_parameters(self):
        """The score with the parameters of families, where others have some as well."""
        return self

    @property
    def _shown_name(self):
        """What it is called where results are shown."""
        return type(self.of_all_rows).__name__

    def with_same_levels(self):
        """A copy, not fitted, that takes what values columns can have from this one.

        Returns
        -------
        score : BaseScore
            A clone; of categorical data with the levels that this score knows.
        """
        return clone(self)

    @classmethod
    def with_one_prior(cls, scores, of_column):
        """Scores of parts of the rows as they are when their priors are one.

        Parameters
        ----------
        scores : list of BaseScore
            The scores, fitted.
        of_column : list of BaseScore
            For each column the one of `scores` that knows what the prior takes from
            the data for this column.

        Returns
        -------
        scores : list of BaseScore
            The same scores, where the prior takes nothing from the data.
        """
        return scores

    def _column_name(self, column):
        """Name of a column, for messages."""
        return display_name(names_of(self), column)


def check_edge_prior(edge_prior, n_features):
    """Validate an (n, n) matrix of finite log prior odds."""
    edge_prior = np.asarray(edge_prior, dtype=np.float64)
    if edge_prior.shape != (n_features, n_features):
        raise ValueError(
            f"edge_prior must have shape ({n_features}, {n_features}), "
            f"got {edge_prior.shape}."
        )
    if not np.isfinite(edge_prior).all():
        raise ValueError(
            "edge_prior must be finite; rule edges out or in with forbidden_edges "
            "and required_edges."
        )
    return edge_prior
