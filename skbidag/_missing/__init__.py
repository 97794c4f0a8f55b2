"""Missing cells of the data: which they are, and how they are drawn.

``_holes.py`` knows which cells of a table are missing, and completes it; ``_first.py``
makes the first completion, from available cases. Given a DAG, parameters are drawn from
their posterior and the cells of each row given its others: ``_gaussian.py`` has normal
distributions, ``_categorical.py`` categories, and ``_mixed.py`` both. The score's type
says which, here and nowhere else.

What is missing is missing at random: whether a cell is missing may depend on what is
observed, not on the value that is not there.
"""

import numpy as np

from skbidag._missing._categorical import CategoricalCells
from skbidag._missing._first import first_completion
from skbidag._missing._gaussian import GaussianCells
from skbidag._missing._holes import (
    CompletedTables,
    Holes,
    find_holes,
    take_apart,
    with_values,
)
from skbidag._missing._mixed import MixedCells
from skbidag.scores import (
    CategoricalParameterScore,
    CompletableScore,
    LinearCompletableScore,
    MixedParameterScore,
)

__all__ = [
    "CompletedTables",
    "Completion",
    "Holes",
    "can_complete",
    "encoded",
    "find_holes",
    "first_completion",
    "take_apart",
    "with_values",
]

# Kinds of scores, and how cells are drawn for them
KINDS = [
    (LinearCompletableScore, GaussianCells),
    (CategoricalParameterScore, CategoricalCells),
    (MixedParameterScore, MixedCells),
]


def can_complete(score):
    """Whether missing cells can be drawn for a score."""
    return isinstance(score, CompletableScore) and any(
        isinstance(score, kind) for kind, _ in KINDS
    )


def encoded(score, X):
    """Rows as numbers: as they are, or codes of categories."""
    if isinstance(score, LinearCompletableScore):
        return score.check_rows(X).copy()
    return score.encode(X)


class Completion:
    """Draws of missing cells, and scores of the rows that they complete.

    Parameters
    ----------
    score : CompletableScore
        A fitted score, whose prior is that of all completions.
    rows : ndarray of shape (n_rows, n_features)
        Encoded rows, the first completion.
    holes : Holes
        Which cells are missing.
    """

    def __init__(self, score, rows, holes):
        self.score, self.rows, self.holes = score, rows, holes
        kind = next(cells for of, cells in KINDS if isinstance(score, of))
        self.sampler = kind(score, holes)
        # rows without holes enter the statistics once
        self.is_open = holes.missing.any(axis=1)
        self.closed = None
        if not score.adds_rows:
            self.is_open = np.ones(len(rows), dtype=bool)
        elif not self.is_open.all():
            closed = ~self.is_open
            self.closed = score.with_rows(rows[closed], holes.weights[closed])

    def with_holes(self):
        """The rows of continuous data with NaN in missing cells."""
        return np.where(self.holes.missing, np.nan, self.rows)

    def score_of(self, rows):
        """The score of completed rows."""
        return self.score.with_rows(
            rows[self.is_open], self.holes.weights[self.is_open], beside=self.closed
        )

    def score_of_all(self, completed):
        """The score of several completions, each counting by its share.

        Parameters
        ----------
        completed : sequence of ndarray
            Completed rows.

        Returns
        -------
        score : BaseScore
            Of the mean of their sufficient statistics.
        """
        open_rows = np.flatnonzero(self.is_open)
        return self.score.with_rows(
            np.concatenate([rows[open_rows] for rows in completed]),
            np.tile(self.holes.weights[open_rows] / len(completed), len(completed)),
            which=np.tile(open_rows, len(completed)),
            beside=self.closed,
        )

    def tables(self, X, completed):
        """Completed tables as the user has them.

        Parameters
        ----------
        X : {array-like, dataframe} of shape (n_samples, n_features)
            The data.
        completed : sequence of ndarray
            Completed rows.

        Returns
        -------
        tables : CompletedTables
            One for each.
        """
        missing, origin = find_holes(X), self.holes.origin
        # a row that does not count is left as it is; of copies of a row, the first
        given = np.arange(len(missing))
        missing[~np.isin(given, origin)] = False
        place = np.searchsorted(origin, given)
        categories = getattr(self.score, "categories_", [None] * missing.shape[1])
        draws = []
        for rows in completed:
            values = {}
            for node in np.flatnonzero(missing.any(axis=0)).tolist():
                of_node = rows[place[missing[:, node]], node]
                if categories[node] is not None:
                    of_node = categories[node][of_node.astype(np.intp)]
                values[node] = of_node
            draws.append(values)
        return CompletedTables(X, missing, draws)

    def draw(self, rows, dag, rng, n_sweeps=1):
        """Draw parameters and missing cells given a DAG, again and again.

        Parameters
        ----------
        rows : ndarray of shape (n_rows, n_features)
            Completed rows. They are not changed.
        dag : ndarray of bool, shape (n_features, n_features)
            ``dag[i, j]`` is the edge i -> j.
        rng : RandomState
            Random numbers.
        n_sweeps : int, default=1
            How often both are drawn.

        Returns
        -------
        rows : ndarray of shape (n_rows, n_features)
            New rows.
        """
        rows = rows.copy()
        parents = [np.flatnonzero(column) for column in dag.T]
        for _ in range(n_sweeps):
            self.sampler.draw(self.score_of(rows), parents, rows, rng)
        return rows
