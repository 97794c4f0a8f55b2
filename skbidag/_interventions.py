"""Which cells were set by the experimenter rather than observed."""

from collections.abc import Collection
from numbers import Integral

import numpy as np

from skbidag._data import columns_of, display_name, resolve_index, unique_rows

# Between names of a row in which several variables were set
SEPARATOR = ";"

# Rows without interventions, over the columns, which are enough by themselves for what
# knows nothing of interventions.
ROWS_PER_COLUMN = 5


def resolve_interventions(interventions, n_rows, n_features, names=None):
    """Which cells were set, from any way to say it.

    Parameters
    ----------
    interventions : array-like, sequence or None
        A boolean array or frame with the shape of the data; or for each row what was
        set in it: None, NaN or "" for nothing, a name or an index, several names with
        ";" between them, or a collection of names or indices.
    n_rows, n_features : int
        The shape of the data.
    names : ndarray of str, default=None
        Names of the columns.

    Returns
    -------
    cells : ndarray of bool of shape (n_rows, n_features), or None
        Which cells were set; None where none was.
    """
    if interventions is None:
        return None
    if _is_table(interventions):
        cells = _from_matrix(interventions, (n_rows, n_features), names)
    else:
        cells = _from_labels(list(interventions), n_rows, n_features, names)
    return cells if cells.any() else None


def with_more_columns(interventions, n_rows, n_features, n_more, names=None):
    """Interventions of data to which columns were added, in which nothing was set.

    Parameters
    ----------
    interventions : array-like, sequence or None
        As in :func:`resolve_interventions`. Rows of names, or an array with all
        columns, are taken as they are.
    n_rows, n_features : int
        The shape of the data before that.
    n_more : int
        How many columns were added, at the end.
    names : ndarray of str, default=None
        Names of the columns before that.

    Returns
    -------
    interventions : array-like, sequence or None
        The same of all columns.
    """
    is_table = _is_table(interventions)
    if not n_more or not is_table or np.shape(interventions)[1] != n_features:
        return interventions
    cells = resolve_interventions(interventions, n_rows, n_features, names)
    if cells is None:
        return None
    return np.hstack([cells, np.zeros((n_rows, n_more), dtype=bool)])


def _is_table(interventions):
    """Whether these are cells, of an array, a frame or nested lists, and not labels."""
    if hasattr(interventions, "columns"):  # polars has no number of dimensions
        return True
    return getattr(interventions, "ndim", 1) == 2 or _is_matrix(interventions)


def _is_matrix(rows):
    """Whether nested lists are of truth values, not of names or indices."""
    return isinstance(rows, list | tuple) and all(
        isinstance(row, list | tuple | np.ndarray)
        and all(isinstance(cell, bool | np.bool_) for cell in row)
        and len(row) > 0
        for row in rows
    )


def _from_matrix(matrix, shape, names):
    if hasattr(matrix, "columns"):
        labels = [str(label) for label in matrix.columns]
        columns, _ = columns_of(matrix)
        if names is not None and set(labels) == set(names):
            columns = [columns[labels.index(str(name))] for name in names]
        matrix = np.column_stack(columns)
    matrix = np.asarray(matrix)
    if matrix.shape != shape:
        raise ValueError(
            f"interventions must have the shape of X, {shape}, got {matrix.shape}."
        )
    if not np.isin(matrix, [0, 1]).all():
        raise ValueError("interventions must be true or false in every cell.")
    return matrix.astype(bool)


def _from_labels(labels, n_rows, n_features, names):
    if len(labels) != n_rows:
        raise ValueError(
            f"interventions must have an entry for each of the {n_rows} rows of X, "
            f"got {len(labels)}."
        )
    cells = np.zeros((n_rows, n_features), dtype=bool)
    known = {}
    for row, label in enumerate(labels):
        for name in _names_in(label, names):
            if name not in known:
                known[name] = resolve_index(name, n_features, names, "interventions")
            cells[row, known[name]] = True
    return cells


def _names_in(label, names):
    """What was set in a row, as names or indices."""
    if label is None or (isinstance(label, float) and np.isnan(label)):
        return []
    if isinstance(label, str):
        if names is not None and label in names:
            return [label]
        return [part.strip() for part in label.split(SEPARATOR) if part.strip()]
    if isinstance(label, Integral):
        return [label]
    if isinstance(label, Collection):
        return list(label)
    raise ValueError(
        f"interventions must be names or indices of columns, got {label!r}."
    )


def targets_of(cells):
    """The different sets of variables that were set together.

    Parameters
    ----------
    cells : ndarray of bool of shape (n_rows, n_features), or None
        Which cells were set.

    Returns
    -------
    targets : tuple of tuples of int
        Without the empty one.
    """
    if cells is None:
        return ()
    distinct, _, _ = unique_rows(cells)
    return tuple(tuple(np.flatnonzero(row).tolist()) for row in distinct if row.any())


def undisturbed_rows(cells):
    """Rows for what knows nothing of interventions: to find a first search space.

    Parameters
    ----------
    cells : ndarray of bool of shape (n_rows, n_features)
        Which cells were set.

    Returns
    -------
    rows : ndarray of int
        Those in which nothing was set, if they are five to each variable; or else all.
    """
    alone = np.flatnonzero(~cells.any(axis=1))
    n_rows, n_features = cells.shape
    enough = len(alone) >= ROWS_PER_COLUMN * n_features
    return alone if enough else np.arange(n_rows)


def check_left_alone(cells, weights, background, names):
    """Refuse a variable that was set in every row: nothing is known of its causes."""
    always = cells[weights > 0].all(axis=0) & ~background
    if always.any():
        column = display_name(names, int(np.argmax(always)))
        raise ValueError(
            f"interventions: column {column} was set in every row, so that nothing can "
            "be learned of its causes. Put it into the background."
        )
