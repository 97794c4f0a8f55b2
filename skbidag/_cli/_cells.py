"""From cells of text to columns: numbers, decimal marks, and what is missing."""

import math
import re
from collections import Counter

import numpy as np

from skbidag._cli._table import Column

# Missing wherever they stand.
MISSING = frozenset(
    {"", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "<NA>", "#N/A"}
)
# Missing among numbers, in upper or lower case. In a column of text they may be
# categories: "none" is a degree of pain, "-" the result of a test.
MARKS = frozenset(
    {"?", ".", "-", "--", "na", "n/a", "nan", "null", "none"}
    | {"#n/a", "#div/0!", "#num!", "#value!"}
)
# A number with a decimal comma, and one whose commas may separate thousands.
COMMA = re.compile(r"[-+]?\d*,\d+([eE][-+]?\d+)?")
THOUSANDS = re.compile(r"[-+]?[1-9]\d{0,2}(,\d{3})+")
POINT = re.compile(r"[-+]?\d*\.\d+([eE][-+]?\d+)?")


def text_column(name, cells, decimal, missing=MISSING):
    """Make a column of cells of text.

    Parameters
    ----------
    name : str
        Its name.
    cells : sequence of str
        The cells.
    decimal : str
        The decimal mark.
    missing : collection of str
        Texts that stand for a missing cell anywhere.

    Returns
    -------
    column : Column
        Of numbers, if all cells are numbers or look like missing ones.
    """
    labels = np.array([None if c in missing else c for c in cells], dtype=object)
    numbers = np.full(len(cells), math.nan)
    marks, strays = Counter(), []
    for k, label in enumerate(labels):
        if label is None:
            continue
        number = to_number(label, decimal)
        if number is not None:
            numbers[k] = number
        elif label.casefold() in MARKS:
            marks[label] += 1
        else:
            strays.append(k)
    present = numbers[~np.isnan(numbers)]
    n_numbers = len(present)
    # the same number everywhere else makes a flag of the mark, unless it is rare
    rare = 2 * marks.total() <= n_numbers
    if n_numbers and not strays and (rare or len(np.unique(present)) > 1):
        labels[np.isnan(numbers)] = None
        return Column(name, labels, numbers, marks=dict(marks))
    texts = strays or np.flatnonzero(~np.equal(labels, None)).tolist() or [0]
    return Column(name, labels, None, texts[0], n_numbers, dict(marks))


def to_number(text, decimal="."):
    """Read a number, None if it is not one. Unlike float(), 1_000 and nan are not."""
    if decimal != ".":
        if "." in text:
            return None
        text = text.replace(decimal, ".")
    try:
        number = float(text)
    except ValueError:
        return None
    return None if "_" in text or math.isnan(number) else number


def is_comma_number(text):
    """Whether a text is a number with a decimal comma, or may be one."""
    return COMMA.fullmatch(text) is not None


def guess_decimal(columns):
    """Find out which decimal mark the numbers of a table have.

    Parameters
    ----------
    columns : list of sequence of str
        The cells of each column; a comma is not what separates them.

    Returns
    -------
    decimal : {".", ","}
        A comma, if there are numbers with one, none with a point, and not all of them
        may be thousands.
    example : str or None
        A number with a decimal comma, if that is the mark.
    """
    example = None
    for cells in columns:
        for cell in cells:
            if POINT.fullmatch(cell):
                return ".", None
            if example is None and COMMA.fullmatch(cell):
                example = None if THOUSANDS.fullmatch(cell) else cell
    return (".", None) if example is None else (",", example)
