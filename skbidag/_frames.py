"""Frames in, frames out: rows of results with the columns of the data."""

import narwhals as nw


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
    labels : bool, default=False
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
    if labels:
        columns = {name: column.tolist() for name, column in columns.items()}
    frame = nw.from_dict(columns, backend=like.implementation).to_native()
    if labels:
        if like.implementation.is_pandas():
            frame = frame.astype(dict(template.dtypes))
        else:
            frame = nw.from_native(frame)
            frame = frame.with_columns(
                nw.col(name).cast(dtype) for name, dtype in like.schema.items()
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
