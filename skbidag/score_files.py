"""Score files: parent sets with their scores, for exact solvers and other samplers.

A ``.jkl`` file, as GOBNILP, r.blip, Gibby and others read it, has the number of
variables in its first line; then, for each variable, a line with its name and the
number of its parent sets, and for each set a line with its score, its size, and the
names of the parents::

    3
    smoke 1
    -310.5 0
    cancer 2
    -205.25 0
    -190.75 1 smoke
    cough 2
    -280.0 0
    -271.5 1 cancer

Lines that begin with ``#`` or ``META`` are passed over.
"""

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from skbidag._constraints import Constraints
from skbidag._core._subsets import subset_maxima
from skbidag._data import display_name, names_of
from skbidag._search_space import make_space
from skbidag._tables import check_memory, score_table
from skbidag._workspace import Workspace
from skbidag.scores import BaseScore, TabulatedScore

__all__ = ["read_jkl", "write_jkl"]


def read_jkl(path: str | Path) -> TabulatedScore:
    """Read a ``.jkl`` file as a score.

    Parameters
    ----------
    path : str or Path
        The file.

    Returns
    -------
    score : TabulatedScore
        To be given to an estimator as `score`, with ``search_space`` its
        ``candidate_edges()``. Sets that the file lacks are impossible. Its
        `feature_names` are the names in the file, None if these are 0, 1, 2, ...

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from skbidag import ExactStructure
    >>> from skbidag.score_files import read_jkl
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "scores.jkl")
    ...     lines = ["2", "a 1", "-3.0 0", "b 2", "-5.0 0", "-4.0 1 a"]
    ...     _ = path.write_text(chr(10).join(lines))
    ...     score = read_jkl(path)
    >>> score.feature_names
    ['a', 'b']
    >>> exact = ExactStructure(score).fit(score.stand_in_rows())
    >>> exact.log_score_
    -7.0
    """
    with open(path, encoding="utf-8") as file:
        lines = [
            (number, line.split())
            for number, line in enumerate(file, 1)
            if line.strip() and not line.startswith(("#", "META"))
        ]
    reader = _Lines(path, lines)
    n = reader.number(reader.next("the number of variables", 1)[0], int)
    names, sets = [], []
    for _ in range(n):
        name, size = reader.next("a variable and the number of its parent sets", 2)
        of_variable = {}
        for _ in range(reader.number(size, int)):
            score, k, *parents = reader.next("a score, a size and parents")
            if len(parents) != reader.number(k, int):
                reader.fail(f"{k} parents are announced, {len(parents)} are there")
            of_variable[tuple(parents)] = reader.number(score, float)
        names.append(name)
        sets.append(of_variable)
    reader.end()
    if len(set(names)) < n:
        reader.fail("a variable occurs twice")
    where = {name: k for k, name in enumerate(names)}
    unknown = {p for table in sets for parents in table for p in parents} - set(names)
    if unknown:
        reader.fail(f"the parent {min(unknown)} is none of the variables")
    tables = [
        {tuple(where[p] for p in parents): score for parents, score in table.items()}
        for table in sets
    ]
    if names == [str(k) for k in range(n)]:
        return TabulatedScore(tables)
    return TabulatedScore(tables, names)


class _Lines:
    """The lines of a file one after the other, and where to look if one is wrong."""

    def __init__(self, path, lines):
        self.path = path
        self.lines = iter(lines)
        self.place = 0

    def next(self, what, size=None):
        self.place, words = next(self.lines, (self.place, None))
        if words is None:
            self.fail(f"it ends where {what} should follow")
        if len(words) < 2 if size is None else len(words) != size:
            self.fail(f"{what} should be there, not {' '.join(words)!r}")
        return words

    def number(self, word, kind):
        try:
            return kind(word)
        except ValueError:
            self.fail(f"{word!r} is not a number")

    def end(self):
        self.place, words = next(self.lines, (self.place, None))
        if words is not None:
            self.fail("there is more than the first line announces")

    def fail(self, why):
        raise ValueError(f"{self.path}, line {self.place}: {why}.")


def write_jkl(
    path: str | Path,
    model: object,
    *,
    max_parents: int | None = None,
    prune: bool = False,
) -> None:
    """Write the scores of parent sets to a ``.jkl`` file.

    Parameters
    ----------
    path : str or Path
        The file to write.
    model : estimator or BaseScore
        A fitted structure learner, for the parent sets of its search space, with an
        extra parent if it permits one; or a fitted score, for all parent sets.
    max_parents : int, default=None
        The most parents of a set; None for any number.
    prune : bool, default=False
        Whether to leave out sets of which a subset scores at least as much. The best
        DAG does without them, and files are far smaller; the posterior is another.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from skbidag import IterativeSearchStructure
    >>> from skbidag.datasets import make_gaussian_network
    >>> from skbidag.score_files import read_jkl, write_jkl
    >>> X = make_gaussian_network(200, 8, random_state=0).data
    >>> search = IterativeSearchStructure(n_draws=0, random_state=0).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_jkl(Path(folder, "scores.jkl"), search, max_parents=3)
    ...     score = read_jkl(Path(folder, "scores.jkl"))
    >>> len(score.tables[0])
    64
    """
    score, space = _score_and_space(model)
    names = names_of(model)
    if names is None:
        names = range(space.n_features)
    names = [str(name) for name in names]
    for name in names:
        if len(name.split()) != 1 or name.startswith(("#", "META")):
            raise ValueError(
                f"A .jkl file cannot hold the name {name!r}: names must be one word."
            )
    check_memory(space, names=names, n_tables=1)
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"{space.n_features}\n")
        for node in range(space.n_features):
            lines = list(_lines_of(score, space, node, names, max_parents, prune))
            file.write(f"{names[node]} {len(lines)}\n")
            file.writelines(lines)


def _score_and_space(model):
    """The fitted score, and the space whose sets are to be written."""
    if isinstance(model, BaseScore):
        if not hasattr(model, "log_prior_odds_"):
            raise ValueError("model must be fitted.")
        nowhere = np.eye(model.n_features_in_, dtype=bool)
        anything = Constraints(nowhere, np.zeros_like(nowhere))
        return model, make_space(~nowhere, anything, extended=False)
    if not hasattr(model, "_space"):
        raise ValueError(
            "model must be a fitted structure learner or a fitted score, got "
            f"{type(model).__name__}."
        )
    return model.score_, model._space


def _lines_of(score, space, node, names, max_parents, prune) -> Iterable[str]:
    """A line for each parent set of a node, the smallest sets first."""
    table = score_table(score, space, node, Workspace())
    keep = np.isfinite(table.scores)
    if not keep.any():
        raise ValueError(f"Node {display_name(names, node)} has no parent set.")
    if prune:
        keep &= _beats_its_subsets(table)
    masks, columns = np.nonzero(keep)
    sets = [
        table.parents_of(mask, column)
        for mask, column in zip(masks, columns, strict=True)
    ]
    for k in sorted(range(len(sets)), key=lambda k: (len(sets[k]), tuple(sets[k]))):
        parents = sets[k]
        small = max_parents is None or len(parents) <= max_parents
        if small and _is_listed(score, node, parents):
            words = [repr(float(table.scores[masks[k], columns[k]])), str(len(parents))]
            yield " ".join([*words, *(names[p] for p in parents)]) + "\n"


def _is_listed(score, node, parents):
    """Whether a parent set has a score; in tables all sets have."""
    return not isinstance(score, TabulatedScore) or (
        score.local_score(node, parents) > -np.inf
    )


def _beats_its_subsets(table):
    """Where in a table a set scores more than each of its subsets."""
    best = table.scores.copy()
    subset_maxima(best)
    of_others = np.full_like(best, -np.inf)
    rows = np.arange(len(best))
    for bit in range(table.n_candidates):
        has = rows[rows >> bit & 1 == 1]
        of_others[has] = np.maximum(of_others[has], best[has ^ (1 << bit)])
    base = best[:, [table.base_column]]
    outside = np.arange(table.width) != table.base_column
    of_others[:, outside] = np.maximum(of_others[:, outside], base)
    return table.scores > of_others
