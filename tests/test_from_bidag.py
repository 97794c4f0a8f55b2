"""The page for those who come from BiDAG: all of its Python column runs."""

import re
from pathlib import Path

import matplotlib.pyplot as plt
import pytest
from sklearn.base import BaseEstimator
from test_docs import python_blocks

PAGE = Path(__file__).parents[1] / "docs" / "from_bidag.rst"

pytestmark = pytest.mark.skipif(
    not PAGE.exists(), reason="the docs are not beside the tests"
)


def table_rows(text):
    """Cells of all rows of the list tables, headers aside."""
    rows = []
    for table in re.findall(r"^\.\. list-table::\n((?:[ ]{3}.*\n|\n)+)", text, re.M):
        for row in re.split(r"^   \* - ", table, flags=re.M)[2:]:
            cells = re.split(r"^     -(?: |$)", row, flags=re.M)
            rows.append([" ".join(cell.split()) for cell in cells])
    return rows


TEXT = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
ROWS = table_rows(TEXT)


def code_of(cell):
    """What stands between double backticks, without bare names of parameters."""
    snippets = re.findall(r"``(.+?)``", cell)
    return [code for code in snippets if re.search(r"[.(]", code) and "= " not in code]


@pytest.fixture(scope="module")
def namespace():
    names = {"__name__": "from_bidag"}
    for block in python_blocks(TEXT):
        exec(compile(block, PAGE.name, "exec"), names)
    yield names
    plt.close("all")


def test_the_tables_are_read():
    assert len(ROWS) > 45
    assert {len(row) for row in ROWS} == {2, 3}
    assert TEXT.count("\n   * - ") == len(ROWS) + 3


@pytest.mark.slow
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_the_python_column_runs(namespace, row):
    code = code_of(row[1])
    assert bool(code) != row[1].startswith("none")
    for snippet in code:
        value = eval(compile(snippet, PAGE.name, "eval"), namespace)
        assert value is not None
        if isinstance(value, BaseEstimator) and hasattr(value, "_validate_params"):
            value._validate_params()
