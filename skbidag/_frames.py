"""Results as frames: tables in the library of the data, and labelled matrices."""

import narwhals as nw


def make_frame(columns, template=None):
    """A frame of named columns.

    Parameters
    ----------
    columns : dict
        Names and values of the columns.
    template : dataframe, default=None
        A frame of the library to use; None is pandas.

    Returns
    -------
    frame : dataframe
        The columns.
    """
    backend = "pandas"
    if template is not None:
        backend = nw.from_native(template, eager_only=True).implementation
    return nw.from_dict(columns, backend=backend).to_native()


def labelled_matrix(matrix, names):
    """A matrix over the variables with their names on rows and columns.

    Parameters
    ----------
    matrix : ndarray of shape (n_features, n_features)
        The matrix; rows are parents and columns children.
    names : sequence or None
        Names of the variables; None is their indices.

    Returns
    -------
    frame : pandas.DataFrame
        The matrix. pandas, whatever the data were: other libraries have no labels of
        rows.
    """
    import pandas as pd  # takes a while

    labels = range(len(matrix)) if names is None else [str(name) for name in names]
    return pd.DataFrame(
        matrix,
        index=pd.Index(labels, name="parent"),
        columns=pd.Index(labels, name="child"),
    )


def variable_labels(names, n_features):
    """What variables are called: by their names, or by their indices without any."""
    return list(range(n_features)) if names is None else [str(name) for name in names]


def names_for_others(labels):
    """Names as other programs take them: X0, X1, ... for indices."""
    return [f"X{x}" if isinstance(x, int) else str(x) for x in labels]
