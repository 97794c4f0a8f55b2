"""From a table to variables: which columns and rows to take, and of what kind."""

import shlex
from dataclasses import dataclass, field

import numpy as np

from skbidag._cli._errors import InputError
from skbidag._cli._kinds import (
    check_kinds,
    check_stray_cells,
    kinds_of,
    make_frame,
    typed_values,
)
from skbidag._cli._ordinal import as_text, levels_in_order
from skbidag._kinds import are_few, column_kinds

# In fewer rows, values that all differ say nothing.
FEWEST_ROWS_OF_IDENTIFIERS = 10

# Levels of an ordinal column that a note lists.
MOST_LEVELS_NAMED = 8


@dataclass(frozen=True)
class Variables:
    """What an estimator is fitted on.

    Attributes
    ----------
    names : list of str
        Names of the variables.
    columns : list of ndarray
        Their values: floats, or integers and text.
    kinds : list of {"continuous", "discrete"}
        What each of them is.
    left_out : dict of str to str
        The columns that were left out, and why.
    notes : list of str
        What was decided, for the user.
    rows : ndarray of int
        Which rows of the table they are.
    orders : dict of str to list
        The levels of ordinal columns in their order.
    """

    names: list
    columns: list
    kinds: list
    left_out: dict
    notes: list
    rows: np.ndarray
    orders: dict = field(default_factory=dict)

    @property
    def kind(self):
        """What they are together: continuous, discrete or mixed, as with an order."""
        alike = len(set(self.kinds)) == 1 and not self.orders
        return self.kinds[0] if alike else "mixed"

    @property
    def n_rows(self):
        """Number of rows."""
        return len(self.columns[0])


def prepare(
    table,
    *,
    kind="auto",
    categorical=None,
    orders=None,
    drop=(),
    keep=(),
    missing="augment",
):
    """Choose columns and rows of a table, and tell continuous from discrete.

    Parameters
    ----------
    table : Table
        The table.
    kind : {"auto", "continuous", "discrete", "mixed"}, default="auto"
        What the columns hold; "auto" guesses, as the estimators do, and "mixed" goes
        by each column alone.
    categorical : sequence of str, default=None
        The discrete columns, if that is said of each.
    orders : dict of str to (list of str or None), default=None
        The ordinal columns, beside these, and the order of those of text.
    drop, keep : sequence of str
        Columns to leave out, and columns not to leave out.
    missing : {"augment", "drop", "error"}, default="augment"
        What becomes of missing cells: the estimator draws them, their rows are left
        out, or they are refused.

    Returns
    -------
    variables : Variables
        The variables.
    """
    orders = {} if orders is None else orders
    options = {
        "--drop": drop,
        "--keep": keep,
        "--categorical": categorical or (),
        "--ordinal": orders,
    }
    check_columns_exist(table, options)
    left_out, notes = {}, [*table.notes]
    columns = wanted_columns(table, drop, keep, left_out)
    notes += notes_on_marks(columns)
    columns, rows, holes = rows_without_holes(table, columns, notes, missing)
    all_names = [column.name for column in columns]
    chosen = {"continuous": [], "discrete": all_names}.get(kind, kind)
    chosen = chosen if categorical is None else list(categorical)
    if not isinstance(chosen, str):
        chosen = [*chosen, *orders]
    check_stray_cells(table, [c for c in columns if c.name not in orders], chosen)
    columns, reasons = without_useless(columns, keep)
    left_out.update(reasons)
    if len(columns) < 2:
        raise InputError(
            f"{table.title} has {len(columns)} usable column(s), at least 2 are "
            f"needed.{reasons_text(left_out)}"
        )
    plain = [as_text(c) if c.name in orders else c for c in columns]
    kinds, why = kinds_of(plain, chosen)
    check_kinds(table, plain, kinds)
    notes += why
    orders = {
        column.name: levels_in_order(table, column, orders[column.name])
        for column in columns
        if column.name in orders
    }
    notes += notes_on_orders(orders)
    notes += [f"Column {name!r} is left out: {why}." for name, why in left_out.items()]
    pairs = [*zip(columns, kinds, strict=True)]
    notes += notes_on_levels([column for column, kind in pairs if kind == "discrete"])
    values = [
        with_holes(typed_values(column, kind), holes[column.name])
        for column, kind in pairs
    ]
    names = [column.name for column in columns]
    return Variables(names, values, kinds, left_out, notes, rows, orders)


def wanted_columns(table, drop, keep, left_out):
    """The columns that were not dropped and that have a name and values."""
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
    return columns


def check_columns_exist(table, options):
    """Complain about names that no column has."""
    names = [column.name for column in table.columns]
    for option, given in options.items():
        for name in given:
            if name not in names:
                raise InputError(
                    f"{option} {name}: {table.title} has no such column; it has "
                    f"{', '.join(names)}."
                )
    for option in options.keys() - {"--drop"}:
        both = sorted({*options["--drop"]} & {*options[option]})
        if both:
            raise InputError(
                f"Column {both[0]!r} is given to both --drop and {option}."
            )


def rows_without_holes(table, columns, notes, missing):
    """Columns without missing cells, of some rows.

    Returns
    -------
    columns : list of Column
        The columns. Missing cells that are to be drawn hold values of other rows.
    rows : ndarray of int
        Which rows they are of.
    holes : dict of ndarray of bool
        Which cells of these rows are missing.
    """
    n_rows = len(table.columns[0].labels)
    absent = np.zeros((n_rows, len(columns)), dtype=bool)
    for place, column in zip(absent.T, columns, strict=True):
        place[:] = column.missing
    left_out = absent.any(axis=1)
    if left_out.any():
        per_column = ", ".join(
            f"{count} in {column.name!r}"
            for column, count in zip(columns, absent.sum(axis=0), strict=True)
            if count
        )
        if missing == "error":
            raise InputError(f"{table.title} has missing cells ({per_column}).")
        if missing == "augment":
            notes.append(
                f"{absent.sum()} cells in {left_out.sum()} of {n_rows} rows are "
                f"missing ({per_column}). They are drawn together with the network, as "
                "missing at random; --missing drop leaves the rows out."
            )
            left_out = absent.all(axis=1)
        elif left_out.all():
            raise InputError(
                f"{table.title} has no row without a missing cell ({per_column}). "
                "Leave out the columns that miss most with --drop."
            )
        else:
            notes.append(
                f"{left_out.sum()} of {n_rows} rows have missing cells and are left "
                f"out ({per_column})."
            )
    rows = np.flatnonzero(~left_out)
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
    holes = {c.name: of for c, of in zip(columns, absent[rows].T, strict=True)}
    filled = [
        column.rows(rows[donors(holes[column.name])]) if len(rows) else column
        for column in columns
    ]
    return filled, rows, holes


def donors(missing):
    """For each row where to take its value from: itself, or one that has a value."""
    source, present = np.arange(len(missing)), np.flatnonzero(~missing)
    n_missing = len(missing) - len(present)
    source[missing] = present[np.arange(n_missing) * len(present) // max(1, n_missing)]
    return source


def with_holes(values, missing):
    """Values of a column with its missing cells."""
    if not missing.any():
        return values
    if values.dtype.kind == "U":
        return np.where(missing, None, values.astype(object))
    return np.where(missing, np.nan, values)


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
    if others and set(column_kinds(make_frame(others)).kinds) == {"categorical"}:
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


# ------------------------------------------------------------------------- notes


def notes_on_marks(columns):
    """Say what was taken as a missing cell, and what might be one."""
    counts = {}
    for column in columns:
        if column.numbers is not None:
            for mark, count in column.marks.items():
                counts.setdefault(mark, []).append(f"{count} in {column.name!r}")
    notes = [
        f"Cells with {mark!r} among numbers are taken as missing ({', '.join(where)})."
        for mark, where in counts.items()
    ]
    for column in columns:
        for mark in column.marks if column.numbers is None else ():
            notes.append(
                f"Column {column.name!r} has {mark!r} in {column.marks[mark]} row(s), "
                f"which is taken as a category; --na {shlex.quote(mark)} makes it "
                "missing."
            )
    return notes


def notes_on_orders(orders):
    """Say which columns are ordinal, and of which levels."""
    notes = []
    for name, levels in orders.items():
        listed = [str(level) for level in levels]
        if len(listed) > MOST_LEVELS_NAMED:
            listed = [*listed[: MOST_LEVELS_NAMED - 1], "...", listed[-1]]
        notes.append(f"Column {name!r} is ordinal: {' < '.join(listed)}.")
    return notes


def notes_on_levels(columns):
    """Name the columns with many levels."""
    return [
        f"Column {column.name!r} has {column.n_levels} levels, many for "
        f"{len(column.labels)} rows."
        for column in columns
        if not are_few(column.n_levels, len(column.labels))
    ]


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
        resolve_name(name, variables, f"{path}, line {line}")


def resolve_name(name, variables, place):
    """Complain about a name that is no variable, and say where it was given."""
    if name in variables.left_out:
        raise InputError(
            f"{place}: column {name!r} is left out: {variables.left_out[name]}."
        )
    if name not in variables.names:
        raise InputError(
            f"{place}: there is no column {name!r}; there are "
            f"{', '.join(variables.names)}."
        )
