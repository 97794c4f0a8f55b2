"""Reading Excel workbooks, as rows of text like those of a CSV file."""

import io
import warnings
from datetime import date

from skbidag._cli._errors import InputError


def excel_rows(content, title, sheet=None):
    """Read one sheet of a workbook.

    Parameters
    ----------
    content : bytes
        The file.
    title : str
        What to call it in messages.
    sheet : str, default=None
        Name of the sheet; None is the first one.

    Returns
    -------
    rows : list of list of str
        The cells of the rows that are not empty, as text and of equal number.
    lines : list of int
        Where these rows stand in the sheet.
    notes : list of str
        Which sheet was read, if there are several.
    """
    book = open_workbook(content, title)
    names = book.sheetnames
    if sheet is not None and sheet not in names:
        raise InputError(
            f"--sheet {sheet}: {title} has no such sheet; it has {', '.join(names)}."
        )
    notes = []
    if sheet is None and len(names) > 1:
        notes.append(f"Read is the sheet {names[0]!r}; --sheet names another.")
    rows, lines = [], []
    cells = book[sheet or names[0]].iter_rows(values_only=True)
    for line, values in enumerate(cells, start=1):
        row = [as_text(value) for value in values]
        if any(row):
            rows.append(row)
            lines.append(line)
    if not rows:
        raise InputError(f"{title} is empty.")
    # formatted cells without a value stand beyond the last column
    width = max(k + 1 for row in rows for k, cell in enumerate(row) if cell)
    return [(row + [""] * width)[:width] for row in rows], lines, notes


def open_workbook(content, title):
    """Open a workbook, or say why that fails."""
    try:
        import openpyxl
    except ImportError as error:
        raise InputError(
            f"Cannot read {title}: Excel files need the package openpyxl. Install it "
            "with 'pip install \"skbidag[excel]\"', or save the sheet as CSV."
        ) from error
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about formats and charts
            return openpyxl.load_workbook(
                io.BytesIO(content), read_only=True, data_only=True
            )
    except Exception as error:  # of zip, XML, or its own
        raise InputError(f"Cannot read {title} as an Excel file: {error}.") from error


def as_text(value):
    """A cell as it would stand in a CSV file."""
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, date):
        return value.isoformat()
    return str(value).strip()
