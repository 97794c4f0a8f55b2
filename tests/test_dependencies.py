"""What is imported is declared in pyproject.toml."""

import ast
import re
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DISTRIBUTIONS = {
    "causallearn": "causal-learn",
    "dibs": "dibs-lib",
    "jpype": "jpype1",
    "sklearn": "scikit-learn",
}
# What the package imports only where it is asked for, and where that is.
OPTIONAL = {
    "arviz": {"skbidag/diagnostics.py"},
    "cloudpickle": {"skbidag/_parallel.py"},
    "matplotlib": {"skbidag/_report/_pictures.py", "skbidag/inspection/"},
    "openpyxl": {"skbidag/_cli/_excel.py"},
    "pgmpy": {"skbidag/formats/_pgmpy.py"},
    "polars": {"skbidag/_cli/_parquet.py"},
}

pytestmark = pytest.mark.skipif(
    not (ROOT / "pyproject.toml").exists(), reason="no checkout around the tests"
)


def imports_of(path):
    """Modules that a file imports, those inside functions as well."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module


def foreign(folder):
    """Pairs of a file and a distribution that it imports from."""
    files = sorted((ROOT / folder).rglob("*.py"))
    assert files
    own = {"skbidag", *sys.stdlib_module_names, *(path.stem for path in files)}
    for path in files:
        for name in {module.partition(".")[0] for module in imports_of(path)} - own:
            yield path.relative_to(ROOT).as_posix(), DISTRIBUTIONS.get(name, name)


def declared(*extras):
    """Distributions of pyproject.toml, with some extras or with "all"."""
    with open(ROOT / "pyproject.toml", "rb") as file:
        project = tomllib.load(file)["project"]
    optional = project["optional-dependencies"]
    wanted = optional if "all" in extras else extras
    requirements = sum((optional[extra] for extra in wanted), project["dependencies"])
    return {re.match(r"[\w.-]+", line)[0] for line in requirements}


def test_package():
    needed = {}
    for file, name in foreign("skbidag"):
        if not any(file.startswith(place) for place in OPTIONAL.get(name, ())):
            needed.setdefault(name, file)
    assert needed.keys() == declared()
    assert declared("all") >= OPTIONAL.keys()


@pytest.mark.parametrize(
    ("folder", "extras"),
    [
        ("tests", ["test"]),
        ("examples", ["docs", "dask"]),
        ("benchmarks", ["bench"]),
    ],
)
def test_beside_the_package(folder, extras):
    missing = [pair for pair in foreign(folder) if pair[1] not in declared(*extras)]
    assert missing == []


def test_one_place_for_what_scikit_learn_may_change():
    for path in sorted((ROOT / "skbidag").rglob("*.py")):
        if path.name != "_sklearn.py":
            assert "sklearn.callback" not in imports_of(path), path
            assert not any("sklearn._" in name for name in imports_of(path)), path


@pytest.mark.skipif(
    not (ROOT / "CITATION.cff").exists(), reason="away from the checkout"
)
def test_one_version():
    """CITATION.cff cannot read pyproject.toml; docs and the conda recipe do."""
    with open(ROOT / "pyproject.toml", "rb") as file:
        version = tomllib.load(file)["project"]["version"]
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.search(r"^version: (.+)$", citation, flags=re.M)[1] == version
    assert metadata.version("skbidag") == version
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(r"^## (\S+)", changes, flags=re.M)[1] == version
