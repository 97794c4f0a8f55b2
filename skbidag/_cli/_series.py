"""Series in time: the columns that say when and of what, and a dynamic network."""

from dataclasses import dataclass, replace

import numpy as np

from skbidag._cli._errors import InputError
from skbidag._cli._prepare import check_columns_exist


@dataclass(frozen=True)
class Series:
    """When each row of a table was observed, and of which series it is.

    Attributes
    ----------
    step : ndarray of shape (n_rows,)
        The times; without a column of them, the places in the series.
    label : ndarray of shape (n_rows,)
        The series.
    n_lags : int
        How many steps back parents may be.
    """

    step: np.ndarray
    label: np.ndarray
    n_lags: int


def take_series(table, arguments):
    """Take the columns of times and series out of a table.

    Parameters
    ----------
    table : Table
        The table.
    arguments : argparse.Namespace
        The options.

    Returns
    -------
    table : Table
        Without these columns.
    series : Series or None
        What they say; None if the options do not ask for a dynamic network.
    """
    given = {"--time": arguments.time, "--series": arguments.series}
    names = {option: name for option, name in given.items() if name is not None}
    if not names and arguments.lags is None:
        return table, None
    if arguments.lags is not None and arguments.lags < 1:
        raise InputError(f"--lags {arguments.lags}: at least 1 is needed.")
    check_columns_exist(table, {"--drop": (), **{o: [n] for o, n in names.items()}})
    for option, name in names.items():
        missing = table.column(name).missing
        if missing.any():
            place = table.place(int(np.argmax(missing)))
            raise InputError(f"{table.title}, {place}: {option} {name} is missing.")
    n_rows = len(table.columns[0].labels)
    label = np.zeros(n_rows, dtype=int)
    if arguments.series is not None:
        label = table.column(arguments.series).labels.astype(str)
    if arguments.time is not None:
        column = table.column(arguments.time)
        step = column.labels.astype(str) if column.numbers is None else column.numbers
        step = step.astype(int) if column.is_whole else step
    else:
        step = np.zeros(n_rows, dtype=int)
        for one in np.unique(label):
            step[label == one] = np.arange(np.count_nonzero(label == one))
    left = [c for c in table.columns if c.name not in names.values()]
    return replace(table, columns=left), Series(step, label, arguments.lags or 1)


def transition_names(variables, series, static):
    """Names of the variables as a transition has them, for constraints."""
    from skbidag._dynamic._series import lagged_name

    moving = [name for name in variables.names if name not in static]
    lags = [*range(1, series.n_lags + 1), 0]
    return [*static, *(lagged_name(name, lag) for lag in lags for name in moving)]


def make_dynamic(estimator, series, static):
    """The estimator of a dynamic network.

    Parameters
    ----------
    estimator : BaseStructure
        What learns it.
    series : Series
        How many lags there are.
    static : list of str
        Variables that do not change.

    Returns
    -------
    dynamic : DynamicStructure
        Not fitted.
    """
    from skbidag import DynamicStructure

    return DynamicStructure(
        estimator,
        series.n_lags,
        static=static or None,
        time="(time)",
        series="(series)",
    )
