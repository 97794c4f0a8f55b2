"""Scores that stand in a table, made elsewhere."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skbidag._data import names_of
from skbidag._kinds import column_kinds
from skbidag.scores.base import BaseScore

# What a table has for a set that is not listed is so many nats below the least of
# those that are: a number, for kernels divide by it, and e to its power is 0.
BELOW_ALL = 10_000.0


class TabulatedScore(BaseScore):
    """Log scores of listed parent sets; all other sets are impossible.

    The scores may come from anywhere: a file that an exact solver reads
    (:func:`skbidag.score_files.read_jkl`), or a score that takes too long to be worked
    out twice. Data that are given to ``fit`` are not looked at, but for tests of
    independence if a search space is made of these.

    Parameters
    ----------
    tables : sequence of mapping
        For each variable, its parent sets, tuples of indices, mapped to log scores.
        Sets that are not there score -inf.
    feature_names : sequence of str, default=None
        Names of the variables, in the order of `tables`. Data whose columns have names
        may then have them in any order.

    Attributes
    ----------
    log_prior_odds_ : ndarray of shape (n_features, n_features)
        ``log_prior_odds_[i, j]`` is added whenever i is a parent of j: the
        ``edge_prior`` of the estimator, on top of what the table has.
    n_features_in_ : int
        Number of variables.

    Notes
    -----
    In tables, a set that is not listed scores 10,000 nats less than the least of those
    that are. No chain draws it, unless the constraints leave no other.

    Files for exact solvers often lack sets that score less than one of their subsets.
    The best DAG does not need them, the posterior does: with such a file, probabilities
    are those of the posterior given that no such set occurs.

    A search space of the sets that are listed is :meth:`candidate_edges`. A sampler on
    a smaller one leaves sets out, as with any score.

    Examples
    --------
    Three variables, of which the second may have the first or both others as parents:

    >>> from skbidag import ExactStructure
    >>> from skbidag.scores import TabulatedScore
    >>> score = TabulatedScore(
    ...     [{(): -10.0}, {(): -12.0, (0,): -9.0, (0, 2): -8.0}, {(): -11.0}]
    ... )
    >>> exact = ExactStructure(score).fit(score.stand_in_rows())
    >>> exact.adjacency_.astype(int)
    array([[0, 1, 0],
           [0, 0, 0],
           [0, 1, 0]])
    >>> exact.log_score_
    -29.0
    """

    entry_seconds = 1e-6

    def __init__(
        self,
        tables: Sequence[Mapping[tuple, float]],
        feature_names: Sequence[str] | None = None,
    ):
        self.tables = tables
        self.feature_names = feature_names

    def _fit(self, X, sample_weight):
        self._check_tables()
        n = len(self.tables)
        if self.n_features_in_ != n:
            raise ValueError(
                f"X has {self.n_features_in_} columns, but tables are of {n} variables."
            )
        # where each variable of the tables is among the columns
        names, place = names_of(self), np.arange(n)
        if names is not None and self.feature_names is not None:
            if set(names) != set(self.feature_names):
                raise ValueError(
                    f"The columns of X are {list(names)}, but the tables' variables "
                    f"are {list(self.feature_names)}."
                )
            where = {name: k for k, name in enumerate(names)}
            place = np.array([where[name] for name in self.feature_names])
        self._sets = [{} for _ in range(n)]
        for variable, table in enumerate(self.tables):
            self._sets[place[variable]] = {
                tuple(sorted(place[list(parents)].tolist())): float(log_score)
                for parents, log_score in table.items()
            }

    def _check_tables(self):
        n = len(self.tables)
        if self.feature_names is not None and len(self.feature_names) != n:
            raise ValueError(
                f"feature_names has {len(self.feature_names)} names for {n} tables."
            )
        for variable, table in enumerate(self.tables):
            for parents, log_score in table.items():
                others = set(parents) - {variable}
                if len(others) < len(parents) or not others <= set(range(n)):
                    raise ValueError(
                        f"tables: {tuple(parents)} is no set of parents of variable "
                        f"{variable}; parents are the numbers of other variables."
                    )
                if not np.isfinite(log_score):
                    raise ValueError(
                        f"tables: variable {variable} with parents {tuple(parents)} "
                        f"scores {log_score}; scores must be finite."
                    )
            if not table:
                raise ValueError(f"tables: variable {variable} has no parent set.")

    def test_data(self, X, sample_weight=None):
        if column_kinds(X).common() == "continuous":
            return super().test_data(X, sample_weight)
        cells = np.asarray(X)
        codes = [np.unique(column, return_inverse=True)[1] for column in cells.T]
        return np.column_stack(codes), sample_weight

    def log_marginal_likelihood(self, node, parents):
        return self._sets[node].get(tuple(int(p) for p in parents), -np.inf)

    def _finite_score(self, node, parents):
        return self.local_score(node, parents)

    def fill_table(self, node, candidates, outsiders, base_column, out, columns=None):
        columns = outsiders if columns is None else columns
        bits = {int(c): 1 << k for k, c in enumerate(candidates)}
        column_of = dict(zip(map(int, outsiders), map(int, columns), strict=True))
        # not -inf: rows are relative to the set without an outsider
        nothing = min(self._sets[node].values()) - BELOW_ALL
        out[:, base_column] = out[:, columns] = nothing
        found = False
        for parents, log_score in self._sets[node].items():
            outside = [parent for parent in parents if parent not in bits]
            if len(outside) > 1 or (outside and outside[0] not in column_of):
                continue
            mask = sum(bits[parent] for parent in parents if parent in bits)
            column = column_of[outside[0]] if outside else base_column
            log_prior = self.log_prior_odds_[list(parents), node].sum()
            out[mask, column] = log_score + log_prior
            found = True
        if not found:
            raise ValueError(
                f"Node {self._column_name(node)}: the search space and the constraints "
                "leave none of its listed parent sets."
            )

    def select_parents(self, node, allowed, max_size, kept=(), stop=True):
        chosen = [int(parent) for parent in kept]
        allowed = {*chosen, *np.asarray(allowed).tolist()}
        sets = [
            (self.local_score(node, parents), parents)
            for parents in self._sets[node]
            if set(chosen) <= set(parents) <= allowed and len(parents) <= max_size
        ]
        # the best set; and if that is not to be the end, what the next ones have
        sets.sort(key=lambda one: (-one[0], one[1]))
        for _, parents in sets[:1] if stop else sets:
            more = [parent for parent in parents if parent not in chosen]
            chosen += more[: max_size - len(chosen)]
        return chosen, self.local_score(node, chosen)

    def candidate_edges(self) -> "NDArray[np.bool_] | pd.DataFrame":
        """The edges of all listed parent sets, for ``search_space``.

        Returns
        -------
        edges : ndarray of bool or frame, shape (n_features, n_features)
            ``edges[i, j]`` where a set of j has i; with names, if there are any.
        """
        n = len(self.tables)
        edges = np.zeros((n, n), dtype=bool)
        for variable, table in enumerate(self.tables):
            for parents in table:
                edges[list(parents), variable] = True
        names = self.feature_names
        return edges if names is None else pd.DataFrame(edges, names, names)

    def stand_in_rows(self) -> "NDArray[np.float64] | pd.DataFrame":
        """Rows to give to ``fit`` where there are no data.

        Returns
        -------
        X : ndarray or frame of shape (2, n_features)
            Two rows that differ in every column, with the variables' names.
        """
        rows = np.repeat([[0.0], [0.5]], len(self.tables), axis=1)
        names = self.feature_names
        return rows if names is None else pd.DataFrame(rows, columns=list(names))
