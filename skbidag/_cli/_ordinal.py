"""Columns with an order, and which it is: ``--ordinal``."""

import shlex
from dataclasses import replace

import numpy as np

from skbidag._cli._errors import InputError
from skbidag._cli._kinds import typed_values

# Levels that a message lists
MOST_LISTED = 8


def read_orders(table, entries, series=None):
    """What ``--ordinal`` says of columns.

    Parameters
    ----------
    table : Table
        The table.
    entries : sequence of str
        Each the name of a column, whose numbers are its order, or a name and the levels
        of its text in their order, ``dose=low<mid<high``.
    series : Series, default=None
        When the rows were observed, if they are of series.

    Returns
    -------
    orders : dict of str to (list of str or None)
        By column its levels, None where they are numbers.
    """
    if entries and series is not None:
        raise InputError("--ordinal is not for series in time; leave it out.")
    names, orders = [column.name for column in table.columns], {}
    for entry in entries:
        name, levels = entry, None
        if entry not in names and "=" in entry:
            # names may hold the sign, too
            starts = [known for known in names if entry.startswith(known + "=")]
            name = max(starts, key=len, default=entry.partition("=")[0])
            levels = [level.strip() for level in entry[len(name) + 1 :].split("<")]
        if name not in names:
            raise InputError(
                f"--ordinal {name}: {table.title} has no such column; it has "
                f"{', '.join(names)}."
            )
        if levels is not None and ("" in levels or len(set(levels)) < len(levels)):
            raise InputError(
                f"--ordinal {entry}: levels must differ and have < between them, as in "
                f"{name}=low<mid<high."
            )
        orders[name] = levels
    return orders


def levels_in_order(table, column, order):
    """The levels of a column, from the lowest to the highest.

    Parameters
    ----------
    table : Table
        The table.
    column : Column
        The column, without missing cells.
    order : list of str or None
        Its levels in their order, if that was said.

    Returns
    -------
    levels : list
        Of the type that the values have.
    """
    if column.numbers is not None:
        if order is not None:
            raise InputError(
                f"--ordinal {column.name}: the column holds numbers, which have an "
                f"order of their own; say --ordinal {shlex.quote(column.name)}."
            )
        _, first = np.unique(column.numbers, return_index=True)
        return typed_values(column)[first].tolist()
    found = sorted(set(column.labels.tolist()))
    if order is None:
        said = "<".join(found[:MOST_LISTED])
        raise InputError(
            f"--ordinal {column.name}: the column holds text, whose order is not "
            f"known. Say it, as in --ordinal {shlex.quote(f'{column.name}={said}')}, "
            "from the lowest to the highest."
        )
    unknown = [level for level in found if level not in order]
    if unknown:
        raise InputError(
            f"--ordinal {column.name}: the column of {table.title} also holds "
            f"{unknown[0]!r}. List all of its levels, with < between them."
        )
    return order


def as_text(column):
    """A column whose kind nobody has to guess."""
    return replace(column, numbers=None)
