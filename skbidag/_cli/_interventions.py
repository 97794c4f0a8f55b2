"""Interventions: the column that says what was set in each row."""

from dataclasses import replace

import numpy as np

from skbidag._cli._errors import InputError
from skbidag._cli._prepare import check_columns_exist
from skbidag._interventions import SEPARATOR


def take_interventions(table, arguments):
    """Take the column of what was set out of a table.

    Parameters
    ----------
    table : Table
        The table.
    arguments : argparse.Namespace
        The options.

    Returns
    -------
    table : Table
        Without this column.
    labels : ndarray of str of shape (n_rows,), or None
        What was set in each row, names with ";" between them, "" for nothing; None if
        the options do not say.
    """
    name = arguments.interventions
    if name is None:
        return table, None
    check_columns_exist(table, {"--drop": (), "--interventions": [name]})
    column = table.column(name)
    labels = np.where(column.missing, "", column.labels.astype(str)).astype(object)
    known = {column.name for column in table.columns} - {name}
    for row, label in enumerate(labels):
        for part in () if label in known else names_in(label)[1:]:
            if part not in known:
                raise InputError(
                    f"{table.title}, {table.place(row)}: {name} is {label!r}, but "
                    f"there is no column {part!r}. Rows in which nothing was set have "
                    "an empty cell there."
                )
    left = [column for column in table.columns if column.name != name]
    return replace(table, columns=left), labels


def labels_of(variables, labels):
    """What was set in the rows that are used, of variables that are.

    Parameters
    ----------
    variables : Variables
        The data.
    labels : ndarray of str, or None
        What was set in each row of the table.

    Returns
    -------
    labels : ndarray of str, or None
        As ``fit`` takes it. What that means is added to the notes on the variables.
    """
    if labels is None:
        return None
    for name, why in variables.left_out.items():
        if any(name in names_in(label) for label in labels):
            raise InputError(
                f"--interventions: column {name!r} was set in some rows, but it is "
                f"left out: {why}. (--keep keeps a column.)"
            )
    labels = labels[variables.rows]
    variables.notes.append(what_was_set(labels))
    return labels


def names_in(label):
    """What may be named in a cell: all of it, or its parts."""
    parts = (part.strip() for part in label.split(SEPARATOR))
    return [label, *filter(None, parts)]


def what_was_set(labels):
    """How many rows have something set, and what that means."""
    n_set = np.count_nonzero(labels != "")
    return (
        f"In {n_set} of {len(labels)} rows something was set (--interventions). They "
        "tell nothing of its causes: PC leaves them out of its tests, and equivalence "
        "classes are interventional ones."
    )
