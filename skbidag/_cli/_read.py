"""Reading a table from a file, whatever its format."""

import gzip
import hashlib
import sys
import zlib
from pathlib import Path

import numpy as np

from skbidag._cli._cells import MISSING, guess_decimal, text_column
from skbidag._cli._errors import InputError
from skbidag._cli._excel import excel_rows
from skbidag._cli._parquet import read_parquet
from skbidag._cli._table import Column, Table
from skbidag._cli._text import check_header, decode, guess_delimiter, parse_rows

# The first bytes of a file tell its format, also where there is no name.
GZIP = b"\x1f\x8b"
PARQUET = b"PAR1"
ZIP = b"PK\x03\x04"
OLD_EXCEL = b"\xd0\xcf\x11\xe0"


def read_table(
    path,
    *,
    delimiter=None,
    decimal=None,
    encoding="utf-8",
    header=True,
    missing=(),
    sheet=None,
):
    """Read a table from a CSV, TSV, Excel or Parquet file.

    Parameters
    ----------
    path : str or None
        The file, which may be compressed by gzip. "-" is stdin, None stands for the
        asia data.
    delimiter : str, default=None
        What is between the columns of text. None: a tab in .tsv and .tab files, else
        what occurs most in the first line.
    decimal : str, default=None
        The decimal mark. None: what the numbers have.
    encoding : str, default="utf-8"
        Encoding of text.
    header : bool, default=True
        Whether the first line of text names the columns.
    missing : iterable of str
        Texts that stand for a missing cell, beside the usual ones.
    sheet : str, default=None
        The sheet of an Excel file; None is the first.

    Returns
    -------
    table : Table
        The table.
    """
    if path is None:
        return asia_table()
    content = read_bytes(path)
    sha256 = hashlib.sha256(content).hexdigest()
    title = "stdin" if path == "-" else Path(path).name
    if content.startswith(GZIP):
        content = decompress(content, title)
    if content.startswith(PARQUET) or title.lower().endswith((".parquet", ".pq")):
        return Table(title, path, sha256, read_parquet(content, path), None)
    if content.startswith(OLD_EXCEL):
        raise InputError(
            f"{title} is an Excel file of the old format: save it as .xlsx or CSV."
        )
    if content.startswith(ZIP):
        rows, lines, notes = excel_rows(content, title, sheet)
        delimiter = decimal = None  # of text cells alone, numbers have their type
    else:
        text = decode(content, encoding, title)
        delimiter = resolve_delimiter(delimiter, title, text)
        if delimiter == decimal:
            raise InputError(f"--decimal and --delimiter are both {decimal!r}.")
        rows, lines = parse_rows(text, delimiter, title)
        notes = []
    names = check_header(rows, lines, header, title)
    cells = list(zip(*rows, strict=True)) if rows else [()] * len(names)
    if decimal is None:
        decimal = resolve_decimal(cells, delimiter, notes)
    columns = [
        text_column(name, values, decimal, MISSING.union(missing))
        for name, values in zip(names, cells, strict=True)
    ]
    return Table(title, path, sha256, columns, lines, notes)


def read_bytes(path):
    """Read a file, or stdin for "-"."""
    if path == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"Cannot read {path}: {error.strerror}.") from error


def decompress(content, title):
    """Undo gzip."""
    try:
        return gzip.decompress(content)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"Cannot decompress {title}: {error}.") from error


def resolve_delimiter(delimiter, title, text):
    """What is between columns, as given or as the file has it."""
    if delimiter in ("\\t", "tab"):
        return "\t"
    if delimiter is None:
        name = title.lower().removesuffix(".gz")
        return "\t" if name.endswith((".tsv", ".tab")) else guess_delimiter(text)
    if len(delimiter) != 1:
        raise InputError(f"--delimiter must be one character, got {delimiter!r}.")
    return delimiter


def resolve_decimal(cells, delimiter, notes):
    """The decimal mark that the numbers have, with a note if it is a comma."""
    if delimiter == ",":
        return "."
    decimal, example = guess_decimal(cells)
    if example is not None:
        notes.append(
            f"Numbers are taken to have decimal commas, as {example!r}; --decimal . "
            "says otherwise."
        )
    return decimal


def asia_table():
    """Make a table of the built-in asia data."""
    from skbidag.datasets import load_asia

    asia = load_asia()
    columns = [
        Column(name, np.array(levels, dtype=object)[codes], None)
        for name, levels, codes in zip(
            asia.feature_names, asia.levels, asia.data.T, strict=True
        )
    ]
    sha256 = hashlib.sha256(np.ascontiguousarray(asia.data).tobytes()).hexdigest()
    return Table("asia", "the built-in asia data", sha256, columns, None)
