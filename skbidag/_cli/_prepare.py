"""From a table to variables: which columns and rows to take, and of what kind."""

import re
from dataclasses import dataclass

import numpy as np

from skbidag._cli._errors import InputError

# Whole numbers with at most so many values are taken as categories.
FEW_LEVELS = 20
# In fewer rows, values that all differ say nothing.
FEWEST_ROWS_OF_IDENTIFIERS = 10


@dataclass(frozen=True)
class Variables:
    """What an estimator is fitted on.

    Attributes
    ----------
    names : list of str
        Names of the variables.
    columns : list of ndarray
        Their values: floats, or integers and text.
    kind : {"continuous", "discrete"}
        What they are.
    left_out : dict of str to str
        The columns that were left out, and why.
    notes : list of str
        What was decided, for the user.
    """

    names: list
    columns: list
    kind: str
    left_out: dict
    notes: list

    @property
    def n_rows(self):
        """Number of rows."""
        return len(self.columns[0])


def prepare(table, *, kind="auto", drop=(), keep=(), standardize=True):
    """Choose columns and rows of a table, and tell continuous from discrete.

    Parameters
    ----------
    table : Table
        The table.
    kind : {"auto", "continuous", "discrete"}, default="auto"
        What the columns hold; "auto" guesses.
    drop, keep : sequence of str
        Columns to leave out, and columns not to leave out.
    standardize : bool, default=True
        Whether continuous columns are brought to mean 0 and variance 1.

    Returns
    -------
    variables : Variables
        The variables.
    """
    check_columns_exist(table, drop, keep)
    left_out, notes = {}, []
    columns = []
    for position, column in enumerate(table.columns):
        if column.name in drop:
            left_out[column.name] = "--drop"
        elif column.name in keep:
            columns.append(column)
        elif position == 0 and not column.name:
            left_out["(first)"] = "it has no name, as a column of row names"
        elif column.missing.all():
            left_out[column.name] = "every cell is missing"
        else:
            columns.append(column)
    columns = complete_rows(table, columns, notes)
    columns, reasons = without_useless(columns, keep)
    left_out.update(reasons)
    if len(columns) < 2:
        raise InputError(
            f"{table.title} has {len(columns)} usable column(s), at least 2 are "
            f"needed.{reasons_text(left_out)}"
        )
    if kind == "auto":
        kind, why = guess_kind(table, columns)
        notes.append(f"The data are taken as {kind}: {why}. (--kind forces it.)")
    check_kind(table, columns, kind)
    notes += [f"Column {name!r} is left out: {why}." for name, why in left_out.items()]
    if kind == "discrete":
        values = [discrete_values(column) for column in columns]
        notes += [
            f"Column {column.name!r} has {column.n_levels} levels, many for "
            f"{len(column.labels)} rows."
            for column in columns
            if column.n_levels > max(FEW_LEVELS, len(column.labels) // 10)
        ]
    else:
        values = [column.numbers for column in columns]
        if standardize:
            values = [standardized(numbers) for numbers in values]
            notes.append("The columns are brought to mean 0 and variance 1.")
    return Variables([c.name for c in columns], values, kind, left_out, notes)


def check_columns_exist(table, drop, keep):
    """Complain about names that no column has."""
    names = [column.name for column in table.columns]
    for option, given in (("--drop", drop), ("--keep", keep)):
        for name in given:
            if name not in names:
                raise InputError(
                    f"{option} {name}: {table.title} has no such column; it has "
                    f"{', '.join(names)}."
                )
    both = sorted({*drop} & {*keep})
    if both:
        raise InputError(f"Column {both[0]!r} is given to both --drop and --keep.")


def complete_rows(table, columns, notes):
    """Leave out the rows that have a missing cell."""
    n_rows = len(table.columns[0].labels)
    incomplete = np.zeros(n_rows, dtype=bool)
    counts = {}
    for column in columns:
        missing = column.missing
        if missing.any():
            counts[column.name] = int(missing.sum())
            incomplete |= missing
    if counts:
        per_column = ", ".join(f"{counts[name]} in {name!r}" for name in counts)
        if incomplete.all():
            raise InputError(
                f"{table.title} has no row without a missing cell ({per_column}). "
                "Leave out the columns that miss most with --drop."
            )
        notes.append(
            f"{incomplete.sum()} of {n_rows} rows have missing cells and are left out "
            f"({per_column})."
        )
    rows = np.flatnonzero(~incomplete)
    if len(rows) < 2:
        raise InputError(
            f"{table.title} has {len(rows)} usable row(s), at least 2 are needed."
        )
    for column in columns:
        if column.numbers is not None and np.isinf(column.numbers).any():
            row = int(np.argmax(np.isinf(column.numbers)))
            raise InputError(
                f"{table.title}, {table.place(row)}: column {column.name!r} holds "
                "infinity."
            )
    return [column.rows(rows) for column in columns]


def without_useless(columns, keep):
    """Leave out columns that are constant or look like identifiers, and say why."""
    reasons = {}
    for column in columns:
        if column.name in keep:
            continue
        if column.n_levels == 1:
            reasons[column.name] = f"it is constant, {column.labels[0]!r} in every row"
        elif counts_rows(column):
            reasons[column.name] = "it counts the rows, as an identifier"
        elif column.numbers is None and all_differ(column):
            reasons[column.name] = "it differs in every row, as an identifier"
    columns = [column for column in columns if column.name not in reasons]
    # A number that differs in every row is an identifier among categories, and a
    # measurement like the others elsewhere.
    differing = [c for c in columns if c.is_whole and all_differ(c)]
    others = [c for c in columns if not any(c is d for d in differing)]
    if others and all(is_categorical(c) for c in others):
        for column in differing:
            if column.name not in keep:
                reasons[column.name] = "it differs in every row, as an identifier"
    return [c for c in columns if c.name not in reasons], reasons


def all_differ(column):
    """Whether a column has a different value in each of many rows."""
    n_rows = len(column.labels)
    return n_rows >= FEWEST_ROWS_OF_IDENTIFIERS and column.n_levels == n_rows


def counts_rows(column):
    """Whether a column is 0, 1, 2, ... or the like."""
    return (
        column.is_whole and all_differ(column) and (np.diff(column.numbers) == 1).all()
    )


def is_categorical(column):
    """Whether a column has text, or a few whole numbers."""
    return column.numbers is None or (column.is_whole and column.n_levels <= FEW_LEVELS)


def guess_kind(table, columns):
    """Tell whether columns are continuous or discrete, and by what."""
    text = [c for c in columns if c.numbers is None]
    measured = [c for c in columns if not is_categorical(c)]
    if text and measured:
        raise InputError(mixed_message(table, text[0], measured[0]))
    if text:
        return "discrete", f"column {text[0].name!r} holds {text[0].labels[0]!r}"
    fractional = [c for c in measured if not c.is_whole]
    if fractional:
        column = fractional[0]
        k = int(np.argmax(column.numbers != np.floor(column.numbers)))
        return "continuous", f"column {column.name!r} holds {column.numbers[k]:g}"
    if measured:
        column = measured[0]
        return "continuous", (
            f"column {column.name!r} has {column.n_levels} different whole numbers, "
            f"more than {FEW_LEVELS}"
        )
    most = max(column.n_levels for column in columns)
    return "discrete", f"whole numbers, at most {most} different ones in a column"


def mixed_message(table, text, measured):
    """Say that one column is text and another a measurement."""
    return (
        f"{table.title} is of mixed kind: column {measured.name!r} holds numbers such "
        f"as {measured.labels[0]}, but {stray_cell(table, text)}. A score takes one "
        "kind: discretize the numbers, mend the cell, or leave columns out with --drop."
    )


def stray_cell(table, column):
    """Say where a column has the first cell that is no number."""
    original = next(c for c in table.columns if c.name == column.name)
    row = column.first_text
    label = original.labels[row]
    hint = ""
    if isinstance(label, str) and re.fullmatch(r"[-+]?\d+,\d+", label):
        hint = " (say --decimal , if these are decimal commas)"
    return f"column {column.name!r} holds {label!r} in {table.place(row)}{hint}"


def check_kind(table, columns, kind):
    """Complain about the first column that is not of this kind."""
    for column in columns:
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


def discrete_values(column):
    """Whole numbers as integers, everything else as text."""
    if column.numbers is None:
        return column.labels.astype(str)
    if np.abs(column.numbers).max() >= 2.0**53:
        return column.labels.astype(str)
    return column.numbers.astype(np.int64)


def standardized(numbers):
    """A column with mean 0 and variance 1; a constant one with mean 0."""
    centered = numbers - numbers.mean()
    spread = centered.std()
    return centered / spread if spread > 0 else centered


def reasons_text(left_out):
    """The columns that were left out, for messages."""
    if not left_out:
        return ""
    reasons = "; ".join(f"{name!r}: {why}" for name, why in left_out.items())
    return f" Left out: {reasons}. (--keep keeps a column.)"


def resolve_names(entries, variables, path):
    """Complain about the first name in a file that is no variable.

    Parameters
    ----------
    entries : iterable of (str, int)
        A name, and the line it stands in.
    variables : Variables
        The variables.
    path : str
        The file, for messages.
    """
    for name, line in entries:
        if name in variables.left_out:
            raise InputError(
                f"{path}, line {line}: column {name!r} is left out: "
                f"{variables.left_out[name]}."
            )
        if name not in variables.names:
            raise InputError(
                f"{path}, line {line}: there is no column {name!r}; there are "
                f"{', '.join(variables.names)}."
            )
