"""Scores of all parent sets of a search space, to look at and to hand on."""

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from skbidag._data import resolve_index
from skbidag._tables import ScoreTables
from skbidag.graphs import check_adjacency


class ScoreSpace:
    """The log scores of all parent sets that a search space permits.

    A fitted estimator makes one (``score_space()``). Given as `search_space` to a
    sampler with the same data, score and prior, it saves the time that the scores take;
    to any other estimator it is a search space.

    Parameters
    ----------
    tables : ScoreTables
        One table per variable, with scores.
    space : SearchSpace
        The space that they are of.
    names : sequence of str or None
        Names of the variables.
    made_of : dict of str
        Digests of data, score and prior.

    Attributes
    ----------
    search_space_ : ndarray of bool, shape (n_features, n_features)
        The permissible parents; ``search_space_[i, j]`` is about i -> j.
    n_features_in_ : int
        Number of variables.
    n_bytes : int
        Memory of the scores.

    Notes
    -----
    BiDAG name: ``scorespace``.

    Examples
    --------
    >>> from skbidag import IterativeSearchStructure, OrderMCMCStructure
    >>> from skbidag.datasets import make_gaussian_network
    >>> X = make_gaussian_network(200, 8, random_state=0).data
    >>> search = IterativeSearchStructure(n_draws=0, random_state=0).fit(X)
    >>> scores = search.score_space()
    >>> bool(scores.dag_log_score(search.adjacency_) == search.log_score_)
    True
    >>> model = OrderMCMCStructure(search_space=scores, random_state=0).fit(X)
    >>> parents, log_scores = scores.parent_sets(0)
    >>> parents.shape, log_scores.shape
    ((128, 8), (128,))
    """

    def __init__(self, tables, space, names, made_of):
        self._tables = tables
        self._space = space
        self.made_of = made_of
        self.n_features_in_ = space.n_features
        self.search_space_ = space.permitted.copy()
        if names is not None:
            self.feature_names_in_ = np.asarray(names, dtype=object)

    def __repr__(self):
        return (
            f"ScoreSpace(n_features={self.n_features_in_}, "
            f"n_permitted={self.search_space_.sum()}, n_bytes={self.n_bytes})"
        )

    @property
    def n_bytes(self):
        """Memory of the scores."""
        return sum(table.n_bytes for table in self._tables)

    def _node(self, node):
        names = getattr(self, "feature_names_in_", None)
        return resolve_index(node, self.n_features_in_, names, "node")

    def log_score(self, node: int | str, parents: ArrayLike) -> float:
        """Log score of a variable with some parents.

        Parameters
        ----------
        node : int or str
            The child, by index or name.
        parents : sequence of int or str
            Its parents.

        Returns
        -------
        log_score : float
            The score, -inf if the space does not permit these parents.
        """
        parents = np.array([self._node(parent) for parent in parents], dtype=np.intp)
        return float(self._tables[self._node(node)].log_score(np.sort(parents)))

    def parent_sets(
        self, node: int | str
    ) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        """All permitted parent sets of a variable, with their log scores.

        Parameters
        ----------
        node : int or str
            The child, by index or name.

        Returns
        -------
        parents : ndarray of bool, shape (n_sets, n_features)
            Whether each variable is in each set.
        log_scores : ndarray of shape (n_sets,)
            The scores.
        """
        table = self._tables[self._node(node)]
        rows, columns = np.nonzero(table.scores > -np.inf)
        parents = np.zeros((len(rows), self.n_features_in_), dtype=bool)
        bits = rows[:, None] >> np.arange(table.n_candidates) & 1
        parents[:, table.candidates] = bits.astype(bool)
        with_outsider = np.flatnonzero(columns != table.base_column)
        outsiders = table.columns[columns[with_outsider]]
        parents[with_outsider, outsiders] = True
        return parents, table.scores[rows, columns]

    def dag_log_score(self, adjacency: ArrayLike) -> float:
        """Log score of a DAG.

        Parameters
        ----------
        adjacency : array-like of shape (n_features, n_features)
            The DAG; ``adjacency[i, j]`` is the edge i -> j.

        Returns
        -------
        log_score : float
            The score, -inf if the space does not hold the DAG.
        """
        names = getattr(self, "feature_names_in_", None)
        return float(
            self._tables.log_score(check_adjacency(adjacency, "adjacency", names=names))
        )

    def best_dag(self, order: ArrayLike) -> NDArray[np.bool_]:
        """The best DAG of an order.

        Parameters
        ----------
        order : sequence of int or str
            All variables, parents before children.

        Returns
        -------
        adjacency : ndarray of bool, shape (n_features, n_features)
            The DAG; ``adjacency[i, j]`` is the edge i -> j.
        """
        order = [self._node(node) for node in order]
        if sorted(order) != list(range(self.n_features_in_)):
            raise ValueError("order must have every variable once.")
        return self._tables.best_dag(np.array(order[::-1], dtype=np.intp))

    def tables_to_hand_on(self):
        """Tables for another fit, which may take them apart: the scores stay here."""
        return ScoreTables([replace(table) for table in self._tables])
