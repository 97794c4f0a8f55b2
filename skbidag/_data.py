"""What data are: columns, categories, weights, and the names of things.

The bottom of the package: every other module may ask here, and this one asks none of
them. Data come as arrays or as frames (anything narwhals reads).

Categories become integer codes 0..r-1, where r is the number of a column's levels.
Levels are labels: their order is only the order in which they are listed, and negative
integers are as good as others.
"""

from datetime import date, time, timedelta
from numbers import Integral
from typing import Any, TypeAlias

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array

#: Data: an array, or a frame of any library
Rows: TypeAlias = ArrayLike | Any

#: A source of random numbers, as in scikit-learn
Seed: TypeAlias = int | np.random.RandomState | None

_MISSING = "holds missing values; every cell needs a category."


# Names


def names_of(estimator):
    """Names of the variables that an estimator saw, or None."""
    return getattr(estimator, "feature_names_in_", None)


def display_name(names, index):
    """A variable's name in quotes, or its index."""
    return repr(str(names[index])) if names is not None else str(int(index))


def resolve_index(variable, n_features, names, parameter):
    """Index of a variable given by name or index.

    Parameters
    ----------
    variable : str or int
        The variable.
    n_features : int
        Number of variables.
    names : sequence of str or None
        Their names.
    parameter : str
        What the variable was given as, for messages.

    Returns
    -------
    index : int
        Its index.
    """
    if isinstance(variable, str):
        if names is None or variable not in list(names):
            raise ValueError(f"{parameter} names an unknown variable: {variable!r}.")
        return list(names).index(variable)
    if isinstance(variable, Integral) and not isinstance(variable, bool | np.bool_):
        if not 0 <= variable < n_features:
            raise ValueError(
                f"{parameter} has the index {variable}, but there are {n_features} "
                "variables."
            )
        return int(variable)
    raise ValueError(f"{parameter} takes variables by name or index, got {variable!r}.")


# Frames in, frames out


def empty_like(X):
    """The frame without its rows, or None if the data are no frame.

    Parameters
    ----------
    X : {array-like, dataframe} of shape (n_samples, n_features)
        The data.

    Returns
    -------
    template : dataframe or None
        What :func:`to_frame` needs to know: library, names and types.
    """
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    return frame.head(0).to_native() if isinstance(frame, nw.DataFrame) else None


def to_frame(values, template, *, labels=False, index=None):
    """Make rows of values a frame of the same library and with the same columns.

    Parameters
    ----------
    values : ndarray of shape (n_samples, n_features)
        The rows.
    template : dataframe
        A frame with the columns.
    labels : bool or ndarray of bool of shape (n_features,), default=False
        Whether the values are categories, which take the types of the columns.
    index : pandas.Index, default=None
        The rows' labels, for pandas.

    Returns
    -------
    frame : dataframe of shape (n_samples, n_features)
        The rows.
    """
    like = nw.from_native(template, eager_only=True)
    columns = {name: values[:, j] for j, name in enumerate(like.columns)}
    labels = np.broadcast_to(labels, len(columns))
    if labels.any():
        columns = {name: column.tolist() for name, column in columns.items()}
    frame = nw.from_dict(columns, backend=like.implementation).to_native()
    if labels.any():
        labeled = [name for name, of in zip(columns, labels, strict=True) if of]
        if like.implementation.is_pandas():
            frame = frame.astype({name: template[name].dtype for name in labeled})
        else:
            frame = nw.from_native(frame)
            frame = frame.with_columns(
                nw.col(name).cast(like.schema[name]) for name in labeled
            ).to_native()
    if index is not None and like.implementation.is_pandas():
        frame.index = index
    return frame


def with_columns(X, columns):
    """Add columns at the end of a frame.

    Parameters
    ----------
    X : dataframe
        The frame.
    columns : dict
        Their names and values.

    Returns
    -------
    frame : dataframe
        A new frame of the same library.
    """
    frame = nw.from_native(X, eager_only=True)
    if frame.implementation.is_pandas():
        return X.assign(**columns)
    return frame.with_columns(
        nw.new_series(name, values, backend=frame.implementation)
        for name, values in columns.items()
    ).to_native()


# Columns


def check_table(X):
    """Something with columns, whatever they hold: a frame as it is, or an array."""
    if empty_like(X) is not None:
        return X
    array = check_array(X, dtype=None, ensure_all_finite=False, input_name="X")
    if not hasattr(X, "dtype") and array.dtype.kind == "U":
        # [[1, "a"]] became all strings; as objects each column keeps its type.
        array = check_array(X, dtype=object, ensure_all_finite=False)
    return array


def columns_of(X):
    """Take data apart into columns.

    Parameters
    ----------
    X : {array-like, dataframe} of shape (n_samples, n_features)
        The data.

    Returns
    -------
    columns : list of ndarray of shape (n_samples,)
        The values of each column.
    declared : list of (ndarray or None)
        The levels a column declares by its type (a pandas categorical, an Enum).
    """
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        array = check_table(X)
        return list(array.T), [None] * array.shape[1]
    if frame.is_empty():
        raise ValueError(
            f"Found array with {len(frame)} sample(s) (shape={frame.shape}) while a "
            "minimum of 1 is required."
        )
    columns = list(frame.iter_columns())
    return [column.to_numpy() for column in columns], [*map(_declared, columns)]


def _declared(column):
    # A polars Categorical shares one pool of strings between columns, so only what
    # pandas and Enum columns declare is about this column.
    if isinstance(column.dtype, nw.Enum):
        return np.asarray(column.dtype.categories)
    if column.dtype == nw.Categorical:
        categories = getattr(column.to_native(), "cat", None)
        categories = getattr(categories, "categories", None)
        return None if categories is None else np.asarray(categories)
    return None


def ordered_columns(X):
    """Tell which columns declare that their categories have an order.

    Parameters
    ----------
    X : {array-like, dataframe} of shape (n_samples, n_features)
        The data.

    Returns
    -------
    ordered : ndarray of bool of shape (n_features,)
        Ordered categorical columns of pandas. An Enum of polars lists its categories
        in some order, whether they have one or not.
    """
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return np.zeros(check_table(X).shape[1], dtype=bool)
    types = [
        getattr(column.to_native(), "dtype", None) for column in frame.iter_columns()
    ]
    return np.array([bool(getattr(of, "ordered", False)) for of in types])


def complete_rows(X):
    """Tell which rows have a value in every cell.

    Parameters
    ----------
    X : {array-like, dataframe} of shape (n_samples, n_features)
        The data.

    Returns
    -------
    complete : ndarray of bool of shape (n_samples,)
        False for rows with a missing cell.
    column : int or None
        The first column that has one.
    """
    missing = [missing_cells(values) for values in columns_of(X)[0]]
    column = next((k for k, cells in enumerate(missing) if cells.any()), None)
    return ~np.logical_or.reduce(missing), column


# Categories


def learn_levels(values, name):
    """Sorted distinct values of a column.

    Parameters
    ----------
    values : ndarray of shape (n_samples,)
        The column.
    name : str
        Its name, for messages.

    Returns
    -------
    levels : ndarray
        The levels. Floats that are integers are listed as integers.
    """
    return np.unique(_check_labels(values, name))


def encode_column(values, levels, name, unseen="error", missing="error"):
    """Code each value of a column by its place among the levels.

    Parameters
    ----------
    values : ndarray of shape (n_samples,)
        The column.
    levels : ndarray
        Its levels, distinct, in any order.
    name : str
        Its name, for messages.
    unseen : {"error", "code"}
        Whether a value that is not a level is an error or is coded -1.
    missing : {"error", "code"}
        Whether a missing value is an error or is coded -2.

    Returns
    -------
    codes : ndarray of int32 of shape (n_samples,)
        The codes.
    """
    if missing == "code":
        values = plain_values(values)
        absent = missing_cells(values)
        codes = np.full(len(values), -2, dtype=np.int32)
        codes[~absent] = encode_column(values[~absent], levels, name, unseen)
        return codes
    numeric = levels.dtype.kind in "biuf"
    fractional = numeric and levels.dtype.kind == "f"
    values = _check_labels(values, name, fractional=fractional)
    if numeric and values.dtype.kind in "biuf":
        order = np.argsort(levels)
        place = np.searchsorted(levels[order], values).clip(max=len(levels) - 1)
        codes = order[place].astype(np.int32)
        codes[levels[codes] != values] = -1
    else:
        code_of = {level: code for code, level in enumerate(levels.tolist())}
        codes = np.array([code_of.get(v, -1) for v in values.tolist()], dtype=np.int32)
    if unseen == "error" and (codes < 0).any():
        value = values[np.argmax(codes < 0)]
        raise ValueError(
            f"Column {name} holds {_show(value)}, which is not among its categories "
            f"[{', '.join(map(_show, levels[:10]))}{', ...' * (len(levels) > 10)}]."
        )
    return codes


def check_categories(categories, n_features, name_of=str):
    """Validate levels given by the user: one list of distinct values per column."""
    if len(categories) != n_features:
        raise ValueError(
            f"categories must be 'auto' or have one list of levels for each of the "
            f"{n_features} columns, got {len(categories)} lists."
        )
    checked = []
    for column, levels in enumerate(categories):
        plain = plain_values(np.array(list(levels), dtype=object))
        if len(plain) == 0 or missing_cells(plain).any():
            raise ValueError(
                f"categories of column {name_of(column)} are empty or hold missing "
                "values."
            )
        if len(set(plain.tolist())) < len(plain):
            raise ValueError(
                f"categories of column {name_of(column)} hold a level twice."
            )
        checked.append(plain)
    return checked


def _check_labels(values, name, fractional=False):
    """Values of one sortable type without missing ones, or an error."""
    values = plain_values(values)
    if values.dtype.kind in "mM" or any(
        isinstance(value, date | time | timedelta)
        for value in (values.tolist() if values.dtype.kind == "O" else ())
    ):
        raise ValueError(
            f"Column {name} holds dates or times, which are neither numbers nor "
            "categories: make them numbers, such as days since a date, or drop it."
        )
    if values.dtype.kind not in "biufOUST":
        raise ValueError(f"Column {name} has dtype {values.dtype}: not categories.")
    if missing_cells(values).any():
        raise ValueError(f"Column {name} {_MISSING}")
    if values.dtype.kind == "f":
        if np.isinf(values).any():
            raise ValueError(f"Column {name} holds infinity, which is not a category.")
        whole = values == np.floor(values)
        if not whole.all() and not fractional:
            raise ValueError(
                f"Column {name} holds {_show(values[np.argmin(whole)])}, which is not "
                "a category: categories are integers, booleans, strings or frame "
                "columns of a category type. Discretize the column first."
            )
        if whole.all() and np.abs(values).max(initial=0.0) < 2.0**53:
            values = values.astype(np.int64)
    elif values.dtype.kind == "O":
        types = sorted({type(value).__name__ for value in values.tolist()})
        if len(types) > 1:
            raise ValueError(
                f"Column {name} mixes values of the types {', '.join(types)}; "
                "the categories of a column have one type."
            )
        try:
            distinct = [*set(values.tolist())]
            sorted(distinct + distinct[:1])
        except TypeError as error:
            raise ValueError(
                f"Column {name} holds values of the type {types[0]}, which are not "
                "categories."
            ) from error
    return values


def plain_values(values):
    """Turn an object array of strings or of numbers into an array of that type."""
    if values.dtype.kind != "O":
        return values
    present = [v for v in values.tolist() if not _is_missing(v)]
    if all(isinstance(v, str) for v in present):
        return values if len(present) < len(values) else np.asarray(values, dtype=str)
    if all(isinstance(v, bool | int | float | np.number | np.bool_) for v in present):
        if len(present) < len(values):
            present = [np.nan if _is_missing(v) else v for v in values.tolist()]
        return np.asarray(present)
    return values


def missing_cells(values):
    """Tell which values of a column are missing."""
    if values.dtype.kind == "f":
        return np.isnan(values)
    if values.dtype.kind in ("O", "T"):
        return np.array([_is_missing(value) for value in values.tolist()], dtype=bool)
    return np.zeros(len(values), dtype=bool)


def _is_missing(value):
    # pandas.NA and NaT by name: pandas is not a dependency.
    return (
        value is None
        or type(value).__name__ in ("NAType", "NaTType")
        or (isinstance(value, float | np.floating) and value != value)
    )


def _show(value):
    return repr(value.item() if isinstance(value, np.generic) else value)


# Numbers


def check_continuous(X, column_name):
    """Validate a finite float matrix.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The data.
    column_name : callable
        Gives the name of a column, for messages.

    Returns
    -------
    X : ndarray of float64
        The data.
    """
    try:
        X = check_array(X, dtype=np.float64, ensure_all_finite=False, input_name="X")
    except (TypeError, ValueError) as error:
        column = first_column_without_numbers(X)
        if column is None:
            raise
        raise ValueError(
            f"Column {column_name(column)} holds values that are not numbers."
        ) from error
    finite = np.isfinite(X).all(axis=0)
    if not finite.all():
        column = int(np.argmin(finite))
        what = "NaN" if np.isnan(X[:, column]).any() else "infinity"
        raise ValueError(f"Input X contains {what} in column {column_name(column)}.")
    return X


def first_column_without_numbers(X):
    """Find the first column that floats cannot hold, None if there is none."""
    X = np.asarray(X)
    if X.ndim != 2 or np.iscomplexobj(X):
        return None
    for column in range(X.shape[1]):
        try:
            np.asarray(X[:, column], dtype=np.float64)
        except (TypeError, ValueError):
            return column
    return None


# Rows


# Rows that weights may stand for: with more, doubles do not tell one row more.
LARGEST_TOTAL = 1e15


def check_weights(sample_weight, n_samples):
    """Validate frequency weights.

    Parameters
    ----------
    sample_weight : array-like of shape (n_samples,) or None
        How often each row counts; None is once.
    n_samples : int
        Number of rows.

    Returns
    -------
    weights : ndarray of float64 of shape (n_samples,)
        The weights.
    """
    if sample_weight is None:
        return np.ones(n_samples)
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (n_samples,):
        raise ValueError(
            f"sample_weight must have shape ({n_samples},), got {weights.shape}."
        )
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError("sample_weight must be finite and not negative.")
    with np.errstate(over="ignore"):
        total = weights.sum()
    if total > LARGEST_TOTAL:
        raise ValueError(
            f"sample_weight adds up to {total:g}: weights say how often a row counts, "
            f"and more than {LARGEST_TOTAL:g} rows are too large a number to count by."
        )
    if not weights.any():
        raise ValueError("sample_weight is zero for every row: there are no data.")
    return weights


def unique_rows(array):
    """Distinct rows of an array.

    Parameters
    ----------
    array : ndarray of shape (n_rows, n_columns)
        The rows.

    Returns
    -------
    distinct : ndarray of shape (n_distinct, n_columns)
        Each of them once, where it first stands, in the order of their bytes.
    first : ndarray of int of shape (n_distinct,)
        The places where they first stand.
    which : ndarray of int of shape (n_rows,)
        Which of them each row is.
    """
    array = np.ascontiguousarray(array)
    # As bytes, which is ten times as fast as np.unique with an axis.
    keys = array.view(f"V{array.shape[1] * array.itemsize}").reshape(-1)
    _, first, which = np.unique(keys, return_index=True, return_inverse=True)
    return array[first], first, which
