"""The README's example runs, and its commands name what is there."""

import re
from importlib.metadata import entry_points
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"

pytestmark = pytest.mark.skipif(
    not README.exists(), reason="the README is not beside the tests"
)


def blocks(language):
    text = README.read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.M | re.S)


def test_example_runs():
    (code,) = blocks("python")
    namespace = {"__name__": "readme"}
    exec(compile(code, "README.md", "exec"), namespace)
    assert namespace["model"].log_score_rhat_ < 1.1


def test_commands():
    """The continuous integration runs them; what they name must be there."""
    run, test = blocks("bash")
    assert run.rstrip().endswith('pip install ".[plot]" && skbidag learn')
    assert test.rstrip().endswith('pip install ".[test]" && pytest')
    (script,) = entry_points(group="console_scripts", name="skbidag")
    assert callable(script.load())


def test_links_lead_somewhere():
    links = re.findall(r"\]\(([^)]+)\)", README.read_text(encoding="utf-8"))
    assert links
    for link in links:
        assert (ROOT / link).exists(), link
