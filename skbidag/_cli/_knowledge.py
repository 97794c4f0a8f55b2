"""Reading what is known beforehand: constraints and tiers."""

from skbidag._cli._errors import InputError
from skbidag._cli._read import read_bytes
from skbidag._cli._text import decode, guess_delimiter, parse_rows


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
