"""What a file holds: columns of cells, as text and as numbers."""

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np


@dataclass(frozen=True)
class Column:
    """One column of a table.

    Attributes
    ----------
    name : str
        Its name.
    labels : ndarray of object
        The cells as text, None where missing.
    numbers : ndarray of float or None
        The cells as numbers, NaN where missing; None if some cell is no number.
    first_text : int, default=0
        The first row of the table whose cell is no number, if some is not.
    n_numbers : int, default=0
        How many cells are numbers nevertheless, if some is not.
    marks : dict of str to int
        Texts that often stand for a missing cell, such as "?", and how many cells hold
        them. Among numbers these cells are missing, in text they are categories.
    """

    name: str
    labels: np.ndarray
    numbers: np.ndarray | None
    first_text: int = 0
    n_numbers: int = 0
    marks: dict = field(default_factory=dict)

    @cached_property
    def missing(self):
        """Which cells are missing."""
        return np.equal(self.labels, None)

    def rows(self, index):
        """The column with some of its rows."""
        numbers = None if self.numbers is None else self.numbers[index]
        return replace(self, labels=self.labels[index], numbers=numbers)

    @cached_property
    def is_whole(self):
        """Whether all its values are whole numbers."""
        if self.numbers is None:
            return False
        present = self.numbers[~np.isnan(self.numbers)]
        return bool((present == np.floor(present)).all())

    @cached_property
    def n_levels(self):
        """Number of different values."""
        present = ~self.missing
        if self.numbers is not None:
            return len(np.unique(self.numbers[present]))
        return len(set(self.labels[present].tolist()))


@dataclass(frozen=True)
class Table:
    """What a file holds.

    Attributes
    ----------
    title : str
        What to call the data.
    source : str
        The file, as given.
    sha256 : str
        Hash of its bytes.
    columns : list of Column
        The columns, of equal length and with different names.
    lines : list of int or None
        The line of the file that each row ends on, where there are lines.
    notes : list of str
        What was decided about the file, for the user.
    """

    title: str
    source: str
    sha256: str
    columns: list
    lines: list | None
    notes: list = field(default_factory=list)

    def column(self, name):
        """The column of a name."""
        return next(column for column in self.columns if column.name == name)

    def place(self, row):
        """Where a row is, for messages."""
        if self.lines is None:
            return f"row {row + 1}"
        return f"line {self.lines[row]}"
