"""Of what kind the columns of a table are: the estimators' rule, in other words."""

import shlex

import numpy as np

from skbidag._cli._cells import is_comma_number
from skbidag._cli._errors import InputError
from skbidag._kinds import are_few, column_kinds

# What the command line calls the kinds
WORDS = {"continuous": "continuous", "categorical": "discrete", "mixed": "mixed"}


def kinds_of(columns, chosen):
    """Tell which columns are continuous and which discrete, by the estimators' rule.

    Parameters
    ----------
    columns : list of Column
        The columns.
    chosen : "auto", "mixed" or list of str
        The discrete ones; "mixed" goes by each column alone.

    Returns
    -------
    kinds : list of {"continuous", "discrete"}
        The kind of each.
    notes : list of str
        By what, if that was not said.
    """
    names = [column.name for column in columns]
    if chosen == "mixed":
        alone = [column_kinds(make_frame([column])).kind for column in columns]
        return [WORDS[kind] for kind in alone], []
    if chosen != "auto":
        chosen = [name in chosen for name in names]
    found = column_kinds(make_frame(columns), chosen, names=names)
    kinds = [WORDS[kind] for kind in found.kinds.tolist()]
    if chosen != "auto":
        return kinds, []
    reason = found.reasons[found.decisive]
    by = (
        f"column {names[found.decisive]!r} "
        f"{reason if reason.startswith('holds') else f'has {reason}'}"
    )
    if found.kind == "mixed":
        by = (
            f"continuous are {found.described('continuous', names)}, discrete "
            f"{found.described('categorical', names)}"
        )
    notes = [f"The data are taken as {WORDS[found.kind]}: {by}. (--kind forces it.)"]
    if found.guessed:
        notes.append(
            f"That is a guess. {' '.join(found.guesses(names))} (--categorical names "
            "the discrete columns.)"
        )
    return kinds, notes


def make_frame(columns):
    """A data frame of columns as they are: whole numbers, numbers, text."""
    import pandas  # takes a while

    return pandas.DataFrame({column.name: typed_values(column) for column in columns})


def stray_cell(table, column):
    """Say where a column has the first cell that is no number."""
    row = column.first_text
    label = table.column(column.name).labels[row]
    hint = ""
    if isinstance(label, str) and is_comma_number(label):
        hint = " (say --decimal , if these are decimal commas)"
    return f"column {column.name!r} holds {label!r} in {table.place(row)}{hint}"


def check_kinds(table, columns, kinds):
    """Complain about the first column that is not of its kind."""
    for column, kind in zip(columns, kinds, strict=True):
        if kind == "continuous" and column.numbers is None:
            raise InputError(
                f"{table.title}: {stray_cell(table, column)}, which is not a number; "
                f"discretize the data, or leave the column out with --drop."
            )
        if kind == "discrete" and column.numbers is not None and not column.is_whole:
            k = int(np.argmax(column.numbers != np.floor(column.numbers)))
            raise InputError(
                f"{table.title}: column {column.name!r} holds {column.numbers[k]:g}, "
                "which is not a category: discretize it first, or leave it out with "
                f"--drop {column.name}."
            )


def check_stray_cells(table, columns, chosen):
    """Complain about text among measurements, which would make categories of them."""
    said = () if chosen == "auto" else chosen
    for column in columns:
        if column.numbers is not None or column.name in said:
            continue
        if all(map(is_comma_number, column.labels)):
            raise InputError(f"{table.title}: {stray_cell(table, column)}.")
        few = are_few(column.n_levels, len(column.labels))
        if 2 * column.n_numbers > len(column.labels) and not few:
            label = shlex.quote(table.column(column.name).labels[column.first_text])
            raise InputError(
                f"{table.title}: {stray_cell(table, column)}, but numbers in "
                f"{column.n_numbers} rows. Mend the cell, say --na {label} if it is a "
                f"missing one, or leave the column out with --drop {column.name}."
            )


def typed_values(column, kind="auto"):
    """The values of a column: floats, whole numbers as integers, or text."""
    if kind == "continuous":
        return column.numbers
    if column.numbers is None:
        return column.labels.astype(str)
    if not column.is_whole:
        return column.numbers
    if np.abs(column.numbers).max() >= 2.0**53:
        return column.numbers if kind == "auto" else column.labels.astype(str)
    return column.numbers.astype(np.int64)
