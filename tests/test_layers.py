"""The layers that docs/architecture.rst claims, against what modules import."""

import ast
from pathlib import Path

import pytest

import skbidag

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "architecture.rst"
PACKAGE = Path(skbidag.__file__).parent

pytestmark = pytest.mark.skipif(not PAGE.exists(), reason="away from the checkout")


def layers():
    """The lines of the page's block, modules mapped to the numbers of their lines."""
    block = PAGE.read_text().split("The layers\n")[1].split("The modules\n")[0]
    lines = [line.split() for line in block.splitlines() if line.startswith("   ")]
    return {module: k for k, line in enumerate(lines) for module in line}


def modules():
    """Modules and packages right below skbidag, and the sources of each."""
    for path in sorted(PACKAGE.iterdir()):
        if path.is_dir() and (path / "__init__.py").exists():
            yield path.name, sorted(path.rglob("*.py"))
        elif path.suffix == ".py" and not path.stem.startswith("__"):
            yield path.stem, [path]


def imported(path):
    """Modules right below skbidag that a source imports, anywhere in it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            first, _, rest = node.module.partition(".")
            if first == "skbidag" and rest:
                yield rest.split(".")[0]
            elif first == "skbidag":
                yield from (alias.name for alias in node.names)


def test_every_module_has_a_layer():
    assert set(layers()) == {name for name, _ in modules()}


def test_modules_import_from_layers_above_alone():
    layer = layers()
    public = set(skbidag.__all__)  # what __init__ gives, the command line's way
    against = [
        f"{name} imports {other}"
        for name, sources in modules()
        for source in sources
        for other in imported(source)
        if other != name and other not in public and layer[other] >= layer[name]
    ]
    assert against == []
