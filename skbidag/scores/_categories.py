"""Categories as integer codes.

The columns of arrays and frames (anything narwhals reads) become codes 0..r-1,
where r is the number of a column's levels. Levels are labels: their order is only
the order in which they are listed, and negative integers are as good as others.
"""

import narwhals as nw
import numpy as np
from sklearn.utils.validation import check_array

_MISSING = "holds missing values; every cell needs a category."


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
        array = check_array(X, dtype=None, ensure_all_finite=False)
        if not hasattr(X, "dtype") and array.dtype.kind == "U":
            # [[1, "a"]] became all strings; as objects each column keeps its type.
            array = check_array(X, dtype=object, ensure_all_finite=False)
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


def is_discrete(X, name_of=str):
    """Tell whether every column of the data is discrete.

    Parameters
    ----------
    X : {array-like, dataframe} of shape (n_samples, n_features)
        The data.
    name_of : callable
        Gives the name of a column, for messages.

    Returns
    -------
    discrete : bool
        True if all columns hold integers, booleans, strings or categories. False
        if they are numbers, some of them floats.
    """
    columns, declared = columns_of(X)
    is_float, is_label = [], []
    for values, levels in zip(columns, declared, strict=True):
        if levels is None and values.dtype.kind == "O":
            values = _plain(values)
        is_float.append(levels is None and values.dtype.kind == "f")
        is_label.append(levels is not None or values.dtype.kind not in "biuf")
    if any(is_float) and any(is_label):
        raise ValueError(
            f"Column {name_of(is_float.index(True))} is continuous and column "
            f"{name_of(is_label.index(True))} categorical; a score takes one kind. "
            "Discretize the continuous columns or leave the others out."
        )
    return not any(is_float)


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
    missing = [_missing(values) for values in columns_of(X)[0]]
    column = next((k for k, cells in enumerate(missing) if cells.any()), None)
    return ~np.logical_or.reduce(missing), column


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
        values = _plain(values)
        absent = _missing(values)
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
        plain = _plain(np.array(list(levels), dtype=object))
        if len(plain) == 0 or _missing(plain).any():
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
    values = _plain(values)
    if values.dtype.kind not in "biufOUST":
        raise ValueError(f"Column {name} has dtype {values.dtype}: not categories.")
    if _missing(values).any():
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
    return values


def _plain(values):
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


def _missing(values):
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
