"""Which cells are missing, and tables in which they are not."""

from collections.abc import Sequence
from dataclasses import dataclass

import narwhals as nw
import numpy as np
from sklearn.utils import _safe_indexing

from skbidag._data import check_table, check_weights, columns_of, missing_cells
from skbidag._kinds import is_float_array

# A row with a weight and holes stands for so many rows at most, with holes of their own
MOST_COPIES = 20


@dataclass(frozen=True, eq=False)
class Holes:
    """The missing cells of rows to learn from.

    Attributes
    ----------
    missing : ndarray of bool of shape (n_rows, n_features)
        Which cells are missing.
    weights : ndarray of shape (n_rows,)
        How often each row counts.
    origin : ndarray of int of shape (n_rows,)
        The row of the data that each of them is.
    interventions : ndarray of bool of shape (n_rows, n_features) or None
        Which cells were set by the experimenter.
    n_cells : int
        How many cells of the data are missing.
    """

    missing: np.ndarray
    weights: np.ndarray
    origin: np.ndarray
    interventions: np.ndarray | None
    n_cells: int

    @property
    def columns(self):
        """The columns that have missing cells."""
        return np.flatnonzero(self.missing.any(axis=0))


def find_holes(X):
    """Which cells of data are missing, an array of bool with their shape."""
    if is_float_array(X):
        return missing_cells(check_table(X))
    return np.column_stack([missing_cells(values) for values in columns_of(X)[0]])


def take_apart(X, missing, sample_weight, interventions, column_name):
    """Rows to learn from, whose missing cells have some value of their column.

    Parameters
    ----------
    X : {array-like, dataframe} of shape (n_samples, n_features)
        The data.
    missing : ndarray of bool of shape (n_samples, n_features)
        Which cells are missing.
    sample_weight : array-like of shape (n_samples,) or None
        How often each row counts. A row with holes that counts twice is two rows,
        which are completed by themselves.
    interventions : ndarray of bool of shape (n_samples, n_features) or None
        Which cells were set.
    column_name : callable
        Gives the name of a column, for messages.

    Returns
    -------
    X : {ndarray, dataframe} of shape (n_rows, n_features)
        The rows, without missing cells: these hold values that other rows have.
    holes : Holes
        What is missing in them. What a column that has one value lacks is known.
    """
    weights = check_weights(sample_weight, len(missing))
    counted = missing[weights > 0]
    if counted.all(axis=0).any():
        column = int(np.argmax(counted.all(axis=0)))
        raise ValueError(
            f"Input X contains NaN or missing cells in every row of column "
            f"{column_name(column)}: leave the column out."
        )
    if interventions is not None and (missing & interventions).any():
        row, column = np.argwhere(missing & interventions)[0]
        raise ValueError(
            f"interventions: column {column_name(column)} was set in row {row}, but "
            "its value is missing there. Leave the row out, or give what it was set to."
        )
    copies = np.clip(np.rint(weights), 1, MOST_COPIES).astype(np.intp)
    copies[~missing.any(axis=1)] = 1
    copies[weights == 0] = 0
    origin = np.repeat(np.arange(len(missing)), copies)
    open_, n_cells = missing[origin], int(missing.sum())
    X = _with_donors(_safe_indexing(X, origin), open_)
    open_ = open_ & ~_is_constant(X)
    cells = None if interventions is None else interventions[origin]
    weights = (weights / np.maximum(copies, 1))[origin]
    return X, Holes(open_, weights, origin, cells, n_cells)


def _is_constant(X):
    """Which columns have one value."""
    columns, _ = columns_of(X)
    return np.array([len(set(values.tolist())) == 1 for values in columns])


def _with_donors(X, missing):
    """The table with values of other rows in the place of missing cells."""
    sources = {}
    for column in np.flatnonzero(missing.any(axis=0)):
        holes = np.flatnonzero(missing[:, column])
        donors = np.flatnonzero(~missing[:, column])
        source = np.arange(len(missing))
        # from all over the column, which may be sorted
        source[holes] = donors[np.arange(len(holes)) * len(donors) // len(holes)]
        sources[int(column)] = source
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        array = check_table(X).copy()
        for column, source in sources.items():
            array[:, column] = array[source, column]
        return array
    if frame.implementation.is_pandas():
        X = X.copy()
        for column, source in sources.items():
            X.isetitem(column, X.iloc[:, column].array.take(source))
        return X
    return frame.with_columns(
        frame[frame.columns[column]][source.tolist()]
        for column, source in sources.items()
    ).to_native()


class CompletedTables(Sequence):
    """Draws of the missing cells of a table: completed tables, one for each draw.

    A sequence, whose items are the data with values in the place of missing cells.

    Parameters
    ----------
    X : {array-like, dataframe} of shape (n_samples, n_features)
        The data.
    missing : ndarray of bool of shape (n_samples, n_features)
        Which cells are missing.
    draws : list of dict
        For each draw the values of each column's missing cells.
    """

    def __init__(self, X, missing, draws):
        self._X = X if hasattr(X, "columns") else check_table(X)
        self._missing, self._draws = missing, draws

    def __len__(self):
        return len(self._draws)

    def __repr__(self):
        return f"{type(self).__name__}(n_draws={len(self)}, n_missing={self.n_missing})"

    @property
    def n_missing(self):
        """Number of missing cells."""
        return int(self._missing.sum())

    def __getitem__(self, index):
        if isinstance(index, slice):
            return CompletedTables(self._X, self._missing, self._draws[index])
        return with_values(self._X, self._missing, self._draws[index])


def with_values(X, missing, values):
    """A table with values in the place of missing cells.

    Parameters
    ----------
    X : {ndarray, dataframe} of shape (n_samples, n_features)
        The table.
    missing : ndarray of bool of shape (n_samples, n_features)
        Which cells are missing.
    values : dict of ndarray
        By column the values of its missing cells, in the order of the rows.

    Returns
    -------
    X : {ndarray, dataframe} of shape (n_samples, n_features)
        A new table.
    """
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        array = X.copy()
        for column, of_column in values.items():
            array[missing[:, column], column] = of_column
        return array
    new = []
    for column, of_column in values.items():
        series = frame[frame.columns[column]]
        if of_column.dtype.kind == "f" and series.dtype.is_integer():
            series = series.cast(nw.Float64)  # a mean is no whole number
        rows = np.flatnonzero(missing[:, column])
        new.append(series.scatter(rows.tolist(), of_column.tolist()))
    return frame.with_columns(new).to_native()
