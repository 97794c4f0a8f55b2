"""The shape of the package: lines per module, long functions, cycles of imports.

    python benchmarks/shape.py             # this checkout
    python benchmarks/shape.py ../other    # beside another one

A function is long if it has more than 60 lines, its docstring not counted. Imports
inside functions count as well: a cycle that is put off until a call is still one.
"""

import argparse
import ast
import re
from dataclasses import dataclass
from pathlib import Path

import networkx

LONG = 60


@dataclass(frozen=True)
class Shape:
    """What is measured of one checkout."""

    lines: dict  # of each file
    functions: dict  # lines by file and name
    cycles: list  # of sets of modules

    @property
    def long_functions(self):
        """Functions above the limit, the longest first."""
        found = [key for key, length in self.functions.items() if length > LONG]
        return sorted(found, key=self.functions.get, reverse=True)


def measure(checkout):
    """The shape of the package in a checkout."""
    lines, functions, imports = {}, {}, networkx.DiGraph()
    for path in sorted((checkout / "skbidag").rglob("*.p*")):
        if path.suffix not in (".py", ".pyx", ".pxd"):
            continue
        text = path.read_text(encoding="utf-8")
        name = path.relative_to(checkout).as_posix()
        lines[name] = len(text.splitlines())
        if path.suffix == ".py":
            tree = ast.parse(text)
            found = python_functions(tree)
            module = ".".join(path.relative_to(checkout).with_suffix("").parts)
            imports.add_node(module.removesuffix(".__init__"))
            imports.add_edges_from(
                (module.removesuffix(".__init__"), other) for other in imported(tree)
            )
        else:
            found = cython_functions(text.splitlines())
        functions |= {f"{name}:{line} {of}": length for line, of, length in found}
    cycles = networkx.strongly_connected_components(imports)
    return Shape(lines, functions, [cycle for cycle in cycles if len(cycle) > 1])


def imported(tree):
    """Names that a module imports from the package; what is no module does no harm."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module.startswith("skbidag"):
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def python_functions(tree):
    """Line, name and length of the functions of a Python module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            length = node.end_lineno - node.lineno + 1
            if ast.get_docstring(node) is not None:
                length -= node.body[0].end_lineno - node.body[0].lineno + 1
            yield node.lineno, node.name, length


def cython_functions(lines):
    """The same of a Cython module, by indentation."""
    for start, line in enumerate(lines):
        head = re.match(r"( *)(?:def|cdef|cpdef) [^=(]*?(\w+)\(", line)
        if not head:
            continue
        end = start + 1
        while open_brackets("".join(lines[start:end])):
            end += 1
        if not lines[end - 1].endswith(":"):
            continue  # a declaration
        inside, docstring = " " * (len(head[1]) + 1), 0
        if '"""' in lines[end]:
            text = "\n".join(lines[end:])
            docstring = text[: text.index('"""', text.index('"""') + 3)].count("\n") + 1
        while end < len(lines) and (lines[end].startswith(inside) or not lines[end]):
            end += 1
        while not lines[end - 1]:
            end -= 1
        yield start + 1, head[2], end - start - docstring


def open_brackets(text):
    return text.count("(") - text.count(")")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("other", type=Path, nargs="?", help="another checkout")
    here = Path(__file__).parents[1]
    other = parser.parse_args().other
    shapes = {"here": measure(here)}
    if other:
        shapes["other"] = measure(other)

    print(f"{'lines':<42}" + "".join(f"{column:>8}" for column in shapes))
    for name in sorted(set().union(*(shape.lines for shape in shapes.values()))):
        counts = (shape.lines.get(name, "-") for shape in shapes.values())
        print(f"{name:<42}" + "".join(f"{count:>8}" for count in counts))
    sums = (sum(shape.lines.values()) for shape in shapes.values())
    print(f"{'all':<42}" + "".join(f"{count:>8}" for count in sums))
    for column, shape in shapes.items():
        long = shape.long_functions
        print(f"\n{column}: {len(long)} of {len(shape.functions)} functions are long")
        for name in long:
            print(f"{shape.functions[name]:>6} lines, {name}")
        print(f"{column}: {len(shape.cycles)} cycle(s) of imports")
        for cycle in shape.cycles:
            print("      ", *sorted(cycle))


if __name__ == "__main__":
    main()
