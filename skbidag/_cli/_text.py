"""From bytes to rows of text: encodings, delimiters and the line of names.

Text is read with the standard library, so that messages can name the line.
"""

import csv
import io
import re

from skbidag._cli._cells import to_number
from skbidag._cli._errors import InputError

# XML, and so GraphML and the pictures, cannot hold these.
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
DELIMITERS = ",;\t|"
BYTE_ORDER_MARKS = {
    b"\xff\xfe": "utf-16",
    b"\xfe\xff": "utf-16",
    b"\xef\xbb\xbf": "utf-8-sig",
}


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
