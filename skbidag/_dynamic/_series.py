"""Series of rows in time, and the rows that transitions are learned from."""

from dataclasses import dataclass
from functools import cached_property

import narwhals as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skbidag._data import Rows, check_table, columns_of, display_name, resolve_index


@dataclass(frozen=True)
class Series:
    """Rows of several series, each in the order of time, one series after the other.

    Attributes
    ----------
    columns : list of ndarray of shape (n_rows,)
        The values of the variables.
    declared : list of (ndarray or None)
        The levels that a column declares by its type.
    names : list of str
        Names of the variables.
    labels : ndarray of shape (n_series,)
        What the series are called.
    number : ndarray of int, shape (n_rows,)
        Which series each row is of.
    step : ndarray of int, shape (n_rows,)
        Its place in time: one more than the row before, unless a time is skipped.
    origin : ndarray of int, shape (n_rows,)
        Which row of the data it is.
    """

    columns: list
    declared: list
    names: list
    labels: np.ndarray
    number: np.ndarray
    step: np.ndarray
    origin: np.ndarray

    @cached_property
    def first(self):
        """The first row of each series."""
        return np.flatnonzero(np.diff(self.number, prepend=-1))

    @cached_property
    def last(self):
        """The last row of each series."""
        return np.flatnonzero(np.diff(self.number, append=-1))

    def n_before(self, n_lags):
        """How many predecessors in time rows have without a gap, up to `n_lags`."""
        places = np.arange(len(self.number))
        known = np.zeros(len(places), dtype=int)
        for lag in range(1, n_lags + 1):
            before = (places - lag).clip(0)
            there = (places >= lag) & (self.number[before] == self.number)
            there &= self.step[before] == self.step - lag
            known += there & (known == lag - 1)
        return known

    def complete(self, n_lags):
        """Rows whose `n_lags` predecessors in time are there."""
        return np.flatnonzero(self.n_before(n_lags) == n_lags)

    def table(self, rows, static, n_lags=0, n_known=None):
        """Rows beside their predecessors.

        Parameters
        ----------
        rows : ndarray of int
            Which rows.
        static : ndarray of bool, shape (n_variables,)
            Which variables do not change in time.
        n_lags : int, default=0
            How many predecessors.
        n_known : int, default=None
            How many of them there are, None for all. The last one stands for those
            before.

        Returns
        -------
        table : pandas.DataFrame
            The static variables, the others at the times t - 1, t - 2 and so on, and
            at the time t.
        """
        moving = np.flatnonzero(~static)
        parts = {self.names[j]: self.columns[j][rows] for j in np.flatnonzero(static)}
        for lag in [*range(1, n_lags + 1), 0]:
            for j in moving:
                name = lagged_name(self.names[j], lag)
                before = lag if n_known is None else min(lag, n_known)
                parts[name] = self.columns[j][rows - before]
        return pd.DataFrame(parts)


def lagged_name(name, lag):
    """What a variable is called some steps before the present."""
    return f"{name}[t-{lag}]" if lag else name


def read_series(X, groups=None, *, time=None, series=None):
    """Sort rows into series.

    Parameters
    ----------
    X : {array-like, dataframe} of shape (n_rows, n_columns)
        The rows.
    groups : array-like of shape (n_rows,), default=None
        Which series each row is of; None, and no `series`, is one series.
    time, series : str or int, default=None
        Columns that say when a row was observed, and of which series it is. Without
        `time`, the rows of a series are in its order, without gaps.

    Returns
    -------
    series : Series
        The rows, without these columns.
    """
    table = check_table(X)
    columns, declared = columns_of(table)
    frame = nw.from_native(table, eager_only=True, pass_through=True)
    names = [f"x{j}" for j in range(len(columns))]
    if isinstance(frame, nw.DataFrame):
        names = [str(name) for name in frame.columns]
    if series is not None and groups is not None:
        raise ValueError(
            "groups and the parameter series both say which series a row is of."
        )
    special = {
        parameter: resolve_index(column, len(names), names, parameter)
        for parameter, column in {"time": time, "series": series}.items()
        if column is not None
    }
    n_rows = len(columns[0])
    labels, number = np.zeros(1, dtype=int), np.zeros(n_rows, dtype=int)
    if series is not None:
        groups = columns[special["series"]]
    if groups is not None:
        labels, number = _numbered(groups, n_rows)
    if time is None:
        origin = np.argsort(number, kind="stable")
        starts = np.flatnonzero(np.diff(number[origin], prepend=-1))
        lengths = np.diff(np.append(starts, n_rows))
        step = np.concatenate([np.arange(length) for length in lengths])
    else:
        step = _steps(columns[special["time"]], names[special["time"]])
        origin = np.lexsort((step, number))
        step = step[origin]
        twice = (np.diff(step) == 0) & (np.diff(number[origin]) == 0)
        if twice.any():
            row = origin[np.argmax(twice)]
            raise ValueError(
                f"time: a series has two rows for {columns[special['time']][row]!s} in "
                f"column {names[special['time']]!r}."
            )
    kept = [j for j in range(len(names)) if j not in special.values()]
    return Series(
        [columns[j][origin] for j in kept],
        [declared[j] for j in kept],
        [names[j] for j in kept],
        labels,
        number[origin],
        step,
        origin,
    )


def _numbered(groups, n_rows):
    """Labels of series in the order of their appearance, and the series of each row."""
    groups = np.asarray(groups)
    if groups.shape != (n_rows,):
        raise ValueError(
            f"groups must have one entry for each of the {n_rows} rows, got the shape "
            f"{groups.shape}."
        )
    if pd.isna(groups).any():
        raise ValueError("groups, or the column of series, has missing entries.")
    number, labels = pd.factorize(groups)
    return np.asarray(labels), number


def _steps(times, name):
    """Numbers of the times: what is next to each other is one apart.

    Whole numbers are counted in the largest step that all of them are made of; of other
    times, those that some series has are next to each other.
    """
    if pd.isna(times).any():
        raise ValueError(f"time: column {name!r} has missing entries.")
    distinct, step = np.unique(times, return_inverse=True)
    if distinct.dtype.kind in "iu" and len(distinct) > 1:
        step = (times - distinct[0]) // np.gcd.reduce(np.diff(distinct))
    return step


def check_static(series, static):
    """Complain about a static variable that changes within a series."""
    for j in np.flatnonzero(static):
        values = series.columns[j]
        changed = values != values[series.first][series.number]
        changed &= ~pd.isna(values)
        if changed.any():
            row = int(np.argmax(changed))
            raise ValueError(
                f"static: column {display_name(series.names, j)} changes within the "
                f"series {series.labels[series.number[row]]!s}."
            )


def series_from_wide(
    X: Rows, n_slices: int, n_static: int = 0
) -> tuple[pd.DataFrame, NDArray[np.intp]]:
    """Turn a row per series into a row per time, as `DynamicStructure` takes them.

    Parameters
    ----------
    X : {array-like, dataframe} of shape (n_series, n_static + n_slices * n_variables)
        A row for each series: the static columns, then the variables slice by slice.
        That is the layout of BiDAG's dynamic networks.
    n_slices : int
        Number of slices.
    n_static : int, default=0
        Number of columns that do not change in time.

    Returns
    -------
    rows : pandas.DataFrame of shape (n_series * n_slices, n_static + n_variables)
        The rows, series by series, with the names of the first slice.
    groups : ndarray of shape (n_series * n_slices,)
        The series of each row.

    Examples
    --------
    >>> from skbidag import series_from_wide
    >>> rows, groups = series_from_wide([[7, 1, 2, 3, 4], [8, 5, 6, 7, 8]], 2, 1)
    >>> rows
       x0  x1  x2
    0   7   1   2
    1   7   3   4
    2   8   5   6
    3   8   7   8
    >>> groups
    array([0, 0, 1, 1])
    """
    table = check_table(X)
    columns, _ = columns_of(table)
    frame = nw.from_native(table, eager_only=True, pass_through=True)
    names = [f"x{j}" for j in range(len(columns))]
    if isinstance(frame, nw.DataFrame):
        names = [str(name) for name in frame.columns]
    n_moving = len(columns) - n_static
    if n_slices < 1 or n_moving < n_slices or n_moving % n_slices:
        raise ValueError(
            f"n_slices={n_slices} does not divide the {n_moving} columns that are not "
            "static."
        )
    size = n_moving // n_slices
    rows = {names[j]: np.repeat(columns[j], n_slices) for j in range(n_static)}
    for j in range(n_static, n_static + size):
        slices = [columns[j + k * size] for k in range(n_slices)]
        rows[names[j]] = np.stack(slices, axis=1).ravel()
    return pd.DataFrame(rows), np.repeat(np.arange(len(columns[0])), n_slices)
