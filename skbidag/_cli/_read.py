"""Reading tables and constraints from files.

Text is read with the standard library, so that messages can name the line.
"""

import csv
import hashlib
import io
import math
import re
import sys
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from skbidag._cli._errors import InputError

MISSING = frozenset({"", "NA", "N/A", "NaN", "nan", "null", "NULL"})
# XML, and so GraphML and the pictures, cannot hold these.
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
DELIMITERS = ",;\t|"
BYTE_ORDER_MARKS = {
    b"\xff\xfe": "utf-16",
    b"\xfe\xff": "utf-16",
    b"\xef\xbb\xbf": "utf-8-sig",
}


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
    """

    name: str
    labels: np.ndarray
    numbers: np.ndarray | None
    first_text: int = 0

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
    """

    title: str
    source: str
    sha256: str
    columns: list
    lines: list | None

    def place(self, row):
        """Where a row is, for messages."""
        if self.lines is None:
            return f"row {row + 1}"
        return f"line {self.lines[row]}"


def read_table(
    path, *, delimiter=None, decimal=".", encoding="utf-8", header=True, missing=()
):
    """Read a table from a CSV, TSV or Parquet file.

    Parameters
    ----------
    path : str or None
        The file. "-" is stdin, None stands for the asia data.
    delimiter : str, default=None
        What is between the columns of text. None: a tab in .tsv and .tab files, else
        what occurs most in the first line.
    decimal : str, default="."
        The decimal mark.
    encoding : str, default="utf-8"
        Encoding of text.
    header : bool, default=True
        Whether the first line of text names the columns.
    missing : iterable of str
        Texts that stand for a missing cell, beside the usual ones.

    Returns
    -------
    table : Table
        The table.
    """
    if path is None:
        return asia_table()
    content = read_bytes(path)
    title = "stdin" if path == "-" else Path(path).name
    sha256 = hashlib.sha256(content).hexdigest()
    suffix = Path(path).suffix.lower()
    if suffix in (".parquet", ".pq") or content[:4] == b"PAR1":
        return Table(title, path, sha256, read_parquet(content, path), None)
    text = decode(content, encoding, title)
    if delimiter in ("\\t", "tab"):
        delimiter = "\t"
    if delimiter is None:
        delimiter = "\t" if suffix in (".tsv", ".tab") else guess_delimiter(text)
    if len(delimiter) != 1:
        raise InputError(f"--delimiter must be one character, got {delimiter!r}.")
    if delimiter == decimal:
        raise InputError(f"--decimal and --delimiter are both {decimal!r}.")
    rows, lines = parse_rows(text, delimiter, title)
    names = check_header(rows, lines, header, title)
    missing = MISSING.union(missing)
    cells = zip(*rows, strict=True) if rows else [()] * len(names)
    columns = [
        text_column(name, values, decimal, missing)
        for name, values in zip(names, cells, strict=True)
    ]
    return Table(title, path, sha256, columns, lines)


def read_bytes(path):
    """Read a file, or stdin for "-"."""
    if path == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"Cannot read {path}: {error.strerror}.") from error


def decode(content, encoding, title):
    """Turn bytes into text, or say where that fails."""
    if encoding.lower() in ("utf-8", "utf8"):
        for mark, known in BYTE_ORDER_MARKS.items():
            if content.startswith(mark):
                encoding = known
    try:
        return content.decode(encoding)
    except LookupError as error:
        raise InputError(f"--encoding {encoding} is not known.") from error
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{title} is not {encoding}: byte 0x{content[error.start]:02x} in line "
            f"{line}. Name its encoding, for example --encoding latin-1."
        ) from error


def guess_delimiter(text):
    """Take what occurs most in the first line, a comma if nothing does."""
    first = next((line for line in text.splitlines() if line.strip()), "")
    outside = "".join(first.split('"')[::2])
    return max(DELIMITERS, key=outside.count)


def parse_rows(text, delimiter, title):
    """Split text into rows of cells, and give the line each row ends on."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    rows, lines = [], []
    try:
        for row in reader:
            row = [cell.strip() for cell in row]
            if not any(row) and len(row) < 2:
                continue  # a blank line
            rows.append(row)
            lines.append(reader.line_num)
            if len(row) != len(rows[0]):
                raise InputError(
                    f"{title}, line {reader.line_num}: {len(row)} cells, but the first "
                    f"line has {len(rows[0])}."
                )
    except csv.Error as error:
        raise InputError(f"{title}, line {reader.line_num}: {error}.") from error
    if not rows:
        raise InputError(f"{title} is empty.")
    return rows, lines


def check_header(rows, lines, header, title):
    """Take the names off the rows, or make some."""
    if not header:
        return [f"x{k + 1}" for k in range(len(rows[0]))]
    names = rows.pop(0)
    lines.pop(0)
    if all(to_number(name) is not None for name in names):
        raise InputError(
            f"{title}: the first line holds numbers only, but it has to name the "
            "columns. If it is data, say --no-header."
        )
    seen = {}
    for position, name in enumerate(names, start=1):
        if not name and position > 1:
            raise InputError(f"{title}: column {position} has no name.")
        if CONTROL.search(name):
            raise InputError(
                f"{title}: the name of column {position} has a control character."
            )
        if name in seen:
            raise InputError(
                f"{title}: columns {seen[name]} and {position} are both called "
                f"{name!r}."
            )
        seen[name] = position
    return names


def text_column(name, cells, decimal, missing):
    """Make a column of cells of text."""
    labels = np.array([None if c in missing else c for c in cells], dtype=object)
    numbers = np.empty(len(cells))
    for k, label in enumerate(labels):
        number = math.nan if label is None else to_number(label, decimal)
        if number is None:
            return Column(name, labels, None, first_text=k)
        numbers[k] = number
    return Column(name, labels, numbers)


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


def read_parquet(content, path):
    """Read the columns of a Parquet file with what is installed."""
    frame = parquet_frame(io.BytesIO(content), path)
    seen = set()
    columns = []
    for name in map(str, frame.columns):
        if name in seen:
            raise InputError(f"{path}: two columns are called {name!r}.")
        seen.add(name)
        values = np.asarray(frame[name].to_numpy())
        columns.append(typed_column(name, values, path))
    if not columns or not len(frame):
        raise InputError(f"{path} is empty.")
    return columns


def parquet_frame(buffer, path):
    """Read a Parquet file as a frame of pandas or polars."""
    try:
        import pandas

        try:
            return pandas.read_parquet(buffer)
        except ImportError:  # pandas has no Parquet engine
            import polars

            buffer.seek(0)
            return polars.read_parquet(buffer)
    except ImportError as error:
        raise InputError(
            f"Cannot read {path}: Parquet files need the package pyarrow. Install it "
            "with 'pip install \"skbidag[parquet]\"'."
        ) from error
    except Exception as error:  # each engine has its own
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"Cannot read {path} as Parquet: {reason}.") from error


def typed_column(name, values, path):
    """Make a column of an array of numbers, booleans or text."""
    if values.dtype.kind in "biuf":
        numbers = values.astype(float)
        labels = np.array(values.tolist(), dtype=object).astype(str).astype(object)
        labels[np.isnan(numbers)] = None
        if values.dtype.kind == "b":
            return Column(name, labels, None)
        return Column(name, labels, numbers)
    cells = [None if v is None or v != v else v for v in values.tolist()]
    if all(isinstance(v, int | float) and not isinstance(v, bool)
           for v in cells if v is not None):  # fmt: skip
        numbers = np.array([math.nan if v is None else v for v in cells], dtype=float)
        return Column(name, _texts(cells), numbers)
    if not all(isinstance(v, str | bool) for v in cells if v is not None):
        raise InputError(
            f"{path}: column {name!r} has the type {values.dtype}; use numbers, "
            f"booleans or text, or leave it out with --drop {name}."
        )
    return Column(name, _texts(cells), None)


def _texts(cells):
    return np.array([None if v is None else str(v) for v in cells], dtype=object)


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


# ------------------------------------------------------------------ constraints


def read_constraints(path):
    """Read forbidden and required edges: lines of from,to,forbidden|required.

    Returns
    -------
    edges : list of (str, str, str, int)
        From, to, what about the edge, and the line it stands in.
    """
    edges = []
    for row, line in small_csv(path, 3, "from,to,forbidden or from,to,required"):
        kind = row[2].lower()
        if [cell.lower() for cell in row[:2]] == ["from", "to"]:
            continue  # the header
        if kind not in ("forbidden", "required"):
            raise InputError(
                f"{path}, line {line}: the third cell must be 'forbidden' or "
                f"'required', got {row[2]!r}."
            )
        edges.append((row[0], row[1], kind, line))
    return edges


def read_tiers(path):
    """Read tiers: lines of variable,tier with whole numbers as tiers.

    Returns
    -------
    tiers : list of (str, int, int)
        Variable, its tier, and the line it stands in.
    """
    tiers = []
    for row, line in small_csv(path, 2, "variable,tier"):
        if [cell.lower() for cell in row] == ["variable", "tier"]:
            continue  # the header
        try:
            tiers.append((row[0], int(row[1]), line))
        except ValueError as error:
            raise InputError(
                f"{path}, line {line}: the tier must be a whole number, got {row[1]!r}."
            ) from error
    return tiers


def small_csv(path, width, form):
    """Rows and line numbers of a file with `width` cells in every line."""
    text = decode(read_bytes(path), "utf-8", path)
    rows, lines = parse_rows(text, guess_delimiter(text), path)
    if len(rows[0]) != width:
        raise InputError(f"{path}, line {lines[0]}: expected {form}.")
    return list(zip(rows, lines, strict=True))
