"""Reading Parquet files."""

import io
import math

import numpy as np

from skbidag._cli._errors import InputError
from skbidag._cli._table import Column


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
    present = [v for v in cells if v is not None]
    if all(isinstance(v, int | float) and not isinstance(v, bool) for v in present):
        numbers = np.array([math.nan if v is None else v for v in cells], dtype=float)
        return Column(name, _texts(cells), numbers)
    if not all(isinstance(v, str | bool) for v in present):
        raise InputError(
            f"{path}: column {name!r} has the type {values.dtype}; use numbers, "
            f"booleans or text, or leave it out with --drop {name}."
        )
    return Column(name, _texts(cells), None)


def _texts(cells):
    return np.array([None if v is None else str(v) for v in cells], dtype=object)
