"""The code blocks of the documentation run, page by page."""

import re
import textwrap
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

DOCS = Path(__file__).parents[1] / "docs"


def python_blocks(text):
    """Code of the ``.. code-block:: python`` directives, in order."""
    blocks = re.findall(
        r"^\.\. code-block:: python\n\n((?:[ ]{3}.*\n|\n)+)", text, flags=re.M
    )
    return [textwrap.dedent(block) for block in blocks]


@pytest.mark.skipif(not DOCS.exists(), reason="the docs are not beside the tests")
@pytest.mark.parametrize(
    "page",
    [
        "adding_a_score",
        "conclusions",
        "getting_started",
        "index",
        "interventions",
        "missing",
        "priors",
        "results",
        "samplers",
        "time_series",
        "to_the_letter",
        "user_guide",
    ],
)
def test_code_blocks_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some write files
    text = (DOCS / f"{page}.rst").read_text(encoding="utf-8")
    blocks = python_blocks(text)
    assert len(blocks) == text.count("code-block:: python") > 0
    # one namespace: a page is read from top to bottom
    namespace = {"__name__": page}
    for block in blocks:
        exec(compile(block, f"{page}.rst", "exec"), namespace)
    plt.close("all")
