"""BIF, the interchange format of discrete Bayesian networks.

Each variable has a block with its levels, and one with its probabilities: a line for
each configuration of its parents, with the levels of the parents in parentheses.
"""

import re
from itertools import product

import numpy as np

from skbidag.datasets import DiscreteNetwork
from skbidag.formats._labelled import plain_words, require_text

# What names and levels must not hold, so that bnlearn, pgmpy and others can read them;
# // and /* begin comments
_FORBIDDEN = r"[^A-Za-z0-9_.<>=+/-]|/(?=[/*])"
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_VARIABLE = re.compile(
    r"""variable\s+("[^"]*"|[^\s{]+)\s*\{\s*type\s+discrete\s*\[\s*\d+\s*\]\s*"""
    r"""\{([^}]*)\}\s*;[^}]*\}"""
)
_PROBABILITY = re.compile(r"probability\s*\(([^)]*)\)\s*\{(.*?)\}", re.DOTALL)
_STATEMENT = re.compile(r"(?:\(([^)]*)\)|(table|default))\s*([^;()]*);")


def to_bif(network: DiscreteNetwork) -> str:
    """A discrete network in the interchange format BIF.

    Parameters
    ----------
    network : DiscreteNetwork
        The network, such as ``model.parameters("best").network()``.

    Returns
    -------
    text : str
        For bnlearn's ``read.bif``, pgmpy's ``BIFReader`` and others. Characters of
        names and levels that these do not read are "_". Probabilities have all their
        digits.

    Examples
    --------
    >>> from skbidag.datasets import load_network
    >>> from skbidag.formats import to_bif
    >>> print(to_bif(load_network("cancer")))
    network unknown {
    }
    variable Pollution {
      type discrete [ 2 ] { low, high };
    }
    ...
    """
    if not isinstance(network, DiscreteNetwork):
        raise TypeError(
            f"BIF is for discrete networks, got {type(network).__name__}. It is "
            "model.parameters('best').network() that makes one of categorical data."
        )
    names = plain_words(network.names, _FORBIDDEN)
    levels = [
        plain_words([str(level) for level in of_node], _FORBIDDEN)
        for of_node in network.levels
    ]
    lines = ["network unknown {", "}"]
    for name, of_node in zip(names, levels, strict=True):
        lines += [
            f"variable {name} {{",
            f"  type discrete [ {len(of_node)} ] {{ {', '.join(of_node)} }};",
            "}",
        ]
    for node, (parents, table) in enumerate(
        zip(network.parents, network.cpts, strict=True)
    ):
        columns = [", ".join(map(repr, column.tolist())) for column in table.T]
        if not len(parents):
            lines += [
                f"probability ( {names[node]} ) {{",
                f"  table {columns[0]};",
                "}",
            ]
            continue
        of = ", ".join(names[i] for i in parents)
        lines.append(f"probability ( {names[node]} | {of} ) {{")
        # the first parent's level changes fastest
        cells = product(*(levels[i] for i in reversed(parents)))
        for cell, column in zip(cells, columns, strict=True):
            lines.append(f"  ({', '.join(reversed(cell))}) {column};")
        lines.append("}")
    return "\n".join([*lines, ""])


def from_bif(text: str) -> DiscreteNetwork:
    """The network of a BIF text.

    Parameters
    ----------
    text : str
        As in the files of the Bayesian network repository.

    Returns
    -------
    network : DiscreteNetwork
        The network, with names, levels, adjacency and tables.

    Examples
    --------
    >>> from skbidag.datasets import load_network
    >>> from skbidag.formats import from_bif, to_bif
    >>> from_bif(to_bif(load_network("asia")))
    DiscreteNetwork(n_nodes=8, n_edges=8)
    """
    require_text(text)
    text = _COMMENT.sub(" ", text)
    levels = {_plain(m[1]): _words(m[2]) for m in _VARIABLE.finditer(text)}
    if not levels:
        raise ValueError("The text is not BIF: it has no discrete variables.")
    place = {name: node for node, name in enumerate(levels)}
    parents, tables = [None] * len(place), [None] * len(place)
    for match in _PROBABILITY.finditer(text):
        child, _, given = match[1].partition("|")
        family = [_plain(child), *_words(given)]
        unknown = [name for name in family if name not in place]
        if unknown:
            raise ValueError(f"The BIF text has no variable {unknown[0]!r}.")
        node = place[family[0]]
        parents[node] = [place[name] for name in family[1:]]
        tables[node] = _table(match[2], family, levels)
    missing = [name for name, node in place.items() if tables[node] is None]
    if missing:
        raise ValueError(f"The BIF text has no probabilities of {missing[0]!r}.")
    return DiscreteNetwork(list(place), list(levels.values()), parents, tables)


def _table(body, family, levels):
    """Probabilities of shape (n_levels, n_configurations), the first parent fastest."""
    child, *parents = family
    n_levels, shape = len(levels[child]), [len(levels[name]) for name in parents]
    cube = np.full((n_levels, *shape), np.nan)
    for match in _STATEMENT.finditer(body):
        numbers = np.array([_number(word, child) for word in _words(match[3])])
        whole = match[2] == "table"
        if len(numbers) != (cube.size if whole else n_levels):
            raise ValueError(
                f"The BIF text has {len(numbers)} probabilities of {child!r} where "
                f"{cube.size if whole else n_levels} belong."
            )
        if whole:
            cube[:] = numbers.reshape(cube.shape)
        elif match[2] == "default":
            cube[np.isnan(cube)] = np.broadcast_to(
                numbers.reshape(-1, *[1] * len(shape)), cube.shape
            )[np.isnan(cube)]
        else:
            cube[(slice(None), *_codes(match[1], family, levels))] = numbers
    if np.isnan(cube).any():
        raise ValueError(f"The BIF text lacks probabilities of {child!r}.")
    return cube.reshape(n_levels, -1, order="F")


def _codes(text, family, levels):
    """The configuration that a line is about."""
    values, parents = _words(text), family[1:]
    if len(values) != len(parents):
        raise ValueError(
            f"The BIF text has {len(values)} levels of the {len(parents)} parents of "
            f"{family[0]!r}: ({text.strip()})."
        )
    for parent, value in zip(parents, values, strict=True):
        if value not in levels[parent]:
            raise ValueError(f"The BIF text has no level {value!r} of {parent!r}.")
    pairs = zip(parents, values, strict=True)
    return [levels[parent].index(value) for parent, value in pairs]


def _words(text):
    """Words between commas or spaces."""
    return [_plain(word) for word in re.findall(r'"[^"]*"|[^\s,]+', text)]


def _plain(word):
    return word.strip().strip('"')


def _number(word, child):
    try:
        return float(word)
    except ValueError:
        raise ValueError(
            f"The BIF text has the probability {word!r} of {child!r}, not a number."
        ) from None
