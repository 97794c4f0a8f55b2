"""Of what kind columns are: continuous or categorical.

One rule for all who ask, the estimators, PC, the feature selector and the command line.

==============================================  ===========  ======================
k different values in N rows                    kind         a guess, which is told
==============================================  ===========  ======================
strings, booleans, categories                   categorical
an array of floats, floats with a fraction      continuous
integers, k <= 5, or k <= 10 and N >= 5 k       categorical
integers, 10 < k <= 20 and N >= 5 k             categorical  yes
other integers                                  continuous   unless beside floats
a frame's whole floats, k <= 20 and N >= 5 k    categorical  yes
a frame's other whole floats                    continuous
==============================================  ===========  ======================

Whole floats in a frame are what pandas makes of integers as soon as a cell is missing.
In an array one type holds for all columns, and floats are meant as numbers.

Codes 0, 1, 2 are categories even in ten rows, and so are counts from 0 to 12 in a
thousand rows (it is told); ages and values from 0 to 999 are not. A constant column is
of the kind of the others.

Whole numbers can be read either way, so that numbers alone are never mixed: if one of
the columns is continuous, all are, and those that look like categories are told. Beside
strings, booleans or categories no number is bent, and the data are mixed unless they
all look like categories.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from skbidag._data import (
    check_table,
    check_weights,
    columns_of,
    display_name,
    empty_like,
    missing_cells,
    plain_values,
    resolve_index,
)

Kind = Literal["continuous", "categorical"]

# So few different integers are categories in any number of rows.
ALWAYS_FEW = 5
# So many are categories without a word, given enough rows.
SURELY_FEW = 10
# More are numbers.
MOST_LEVELS = 20
# Rows that a category has at least, on average.
ROWS_PER_LEVEL = 5
# A number that is the same in more than this share of rows is no normal variable.
MOST_OF_ONE_VALUE = 0.5
# Columns that a message names.
MOST_NAMED = 6


@dataclass(frozen=True)
class ColumnKinds:
    """The kinds of the columns of a table.

    Attributes
    ----------
    kinds : ndarray of str of shape (n_features,)
        "continuous" or "categorical".
    reasons : list of str
        By what each column is taken for that.
    guessed : list of int
        The columns of which another kind would have been possible.
    decisive : int
        A column that would be of its kind by itself.
    """

    kinds: np.ndarray
    reasons: list
    guessed: list
    decisive: int = 0

    def of_kind(self, kind):
        """The columns of one kind, by index."""
        return np.flatnonzero(self.kinds == kind).tolist()

    @property
    def kind(self) -> Literal["continuous", "categorical", "mixed"]:
        """The kind of all columns, "mixed" if there are both."""
        return str(self.kinds[0]) if len(set(self.kinds)) == 1 else "mixed"

    def common(self, names=None) -> Kind:
        """The kind of all columns, or an error that names columns of both.

        Parameters
        ----------
        names : sequence of str, default=None
            Names of the columns, for the message.

        Returns
        -------
        kind : {"continuous", "categorical"}
            The kind.
        """
        if self.kind != "mixed":
            return self.kind
        raise ValueError(
            "The columns are of mixed kinds, but this score takes one; score='auto' "
            f"takes both. Continuous: {self.described('continuous', names)}. "
            f"Categorical: {self.described('categorical', names)}. Where a kind is "
            "wrong, say categorical_features, or score='bde' to take all as "
            "categories and score='bge' to take all as numbers."
        )

    def described(self, kind, names=None, among=None):
        """Name the columns of a kind, each with its reason, the first few of them."""
        columns = self.of_kind(kind)
        if among is not None:
            columns = [column for column in columns if column in among]
        named = [
            f"column {display_name(names, column)} ({self.reasons[column]})"
            for column in columns[:MOST_NAMED]
        ]
        if len(columns) > MOST_NAMED:
            named.append(f"{len(columns) - MOST_NAMED} more")
        return ", ".join(named)

    def guesses(self, names=None):
        """Say what was guessed, a sentence for each kind.

        Parameters
        ----------
        names : sequence of str, default=None
            Names of the columns.

        Returns
        -------
        sentences : list of str
            Nothing where no column's kind is open to doubt.
        """
        found = {
            kind: self.described(kind, names, self.guessed)
            for kind in ("continuous", "categorical")
        }
        return [f"Taken as {kind}: {text}." for kind, text in found.items() if text]


def column_kinds(X, categorical_features="auto", *, sample_weight=None, names=None):
    """Tell of what kind each column is.

    Parameters
    ----------
    X : {array-like, dataframe} of shape (n_samples, n_features)
        The data.
    categorical_features : "auto", None or array-like, default="auto"
        The categorical columns, by names, indices or a boolean mask; all others are
        continuous then. None is no column. "auto" is the rule of this module.
    sample_weight : array-like of shape (n_samples,), default=None
        How often each row counts.
    names : sequence of str, default=None
        Names of the columns.

    Returns
    -------
    kinds : ColumnKinds
        The kinds, and by what.

    Examples
    --------
    >>> import numpy as np
    >>> from skbidag._kinds import column_kinds
    >>> rng = np.random.default_rng(0)
    >>> found = column_kinds(rng.integers(1000, size=(500, 2)))
    >>> print(found.kinds)
    ['continuous' 'continuous']
    >>> print(found.guesses(["a", "b"])[0])
    Taken as continuous: column 'a' (399 different integers in 500 rows), ...
    """
    columns, declared = columns_of(X)
    if not isinstance(categorical_features, str):
        chosen = chosen_columns(categorical_features, len(columns), names)
        kinds = np.where(chosen, "categorical", "continuous")
        return ColumnKinds(kinds, ["by categorical_features"] * len(columns), [])
    weights = check_weights(sample_weight, len(columns[0]))
    present = weights > 0
    if is_float_array(X):
        n_features = len(columns)
        return ColumnKinds(
            np.full(n_features, "continuous"), ["floats"] * n_features, []
        )
    looks = [
        look_at(values[present], levels, weights.sum())
        for values, levels in zip(columns, declared, strict=True)
    ]
    return decide(looks, names)


def is_float_array(X):
    """Whether the data are an array whose type makes all of them floats."""
    return empty_like(X) is None and check_table(X).dtype.kind == "f"


def warn_of_guesses(found, names, remedy="categorical_features", stacklevel=2):
    """Warn once of all kinds that were guessed."""
    guesses = found.guesses(names)
    if guesses:
        warnings.warn(
            f"The kinds of some columns are guessed. {' '.join(guesses)} If that is "
            f"not what they are, or to do without this message, say {remedy}.",
            UserWarning,
            stacklevel=stacklevel + 1,
        )


def warn_of_point_masses(X, kinds, names, sample_weight=None, cells=None, stacklevel=2):
    """Warn of numbers beside categories that are mostly one and the same.

    In a small cell of categories such a number does not vary, by chance, and a normal
    distribution of that cell alone has its value for nearly certain.

    Parameters
    ----------
    X : {array-like, dataframe} of shape (n_samples, n_features)
        The data; missing cells do not count.
    kinds : array-like of str
        Of each column, "categorical" or "continuous".
    names : array-like of str or None
        Names of the columns.
    sample_weight : array-like of shape (n_samples,), default=None
        How often each row counts.
    cells : ndarray of bool, shape (n_samples, n_features), default=None
        What an experimenter has set, which does not count either.
    stacklevel : int, default=2
        As in ``warnings.warn``.
    """
    kinds = np.asarray(kinds)
    if not (kinds == "categorical").any():
        return
    columns, _ = columns_of(X)
    weights = check_weights(sample_weight, len(columns[0]))
    for k in np.flatnonzero(kinds == "continuous"):
        values = plain_values(columns[k])
        seen = ~missing_cells(values) & (weights > 0)
        if cells is not None:
            seen &= ~cells[:, k]
        found, which = np.unique(values[seen], return_inverse=True)
        if len(found) < 2:
            continue
        shares = np.bincount(which, weights[seen]) / weights[seen].sum()
        if shares.max() > MOST_OF_ONE_VALUE:
            warnings.warn(
                f"Column {display_name(names, k)} is {found[shares.argmax()]:g} in "
                f"{shares.max():.0%} of the rows. Where it does not vary within a "
                "small cell of categories, these look as if they told its value, and "
                "it may get edges that are not there. Take it as categorical "
                "(categorical_features), cut into classes if it has many values.",
                UserWarning,
                stacklevel=stacklevel + 1,
            )


def chosen_columns(
    chosen_features, n_features, names, parameter="categorical_features"
):
    """Turn names, indices or a mask into a mask."""
    chosen = np.zeros(n_features, dtype=bool)
    if chosen_features is None:
        return chosen
    given = np.asarray(chosen_features)
    if given.dtype == bool:
        if given.shape != (n_features,):
            raise ValueError(
                f"{parameter} as a mask must have shape ({n_features},), got "
                f"{given.shape}."
            )
        return given
    if given.ndim != 1:
        raise ValueError(
            f"{parameter} must be 'auto', None, or a list of names, indices "
            f"or booleans; got an array of shape {given.shape}."
        )
    for column in given.tolist():
        chosen[resolve_index(column, n_features, names, parameter)] = True
    return chosen


# ------------------------------------------------------------------- the rule


@dataclass(frozen=True)
class Look:
    """What one column looks like.

    Attributes
    ----------
    type : {"label", "integer", "float"}
        How its values are held.
    kind : {"continuous", "categorical"} or None
        What it would be by itself; None if it is constant.
    sure : bool
        Whether it can be nothing else.
    n_levels : int
        Number of different values, if they are whole.
    reason : str
        What the kind was seen by.
    """

    type: str
    kind: Kind | None
    sure: bool
    n_levels: int
    reason: str


def look_at(values, levels, n_rows):
    """What a column looks like by itself.

    Parameters
    ----------
    values : ndarray
        The column.
    levels : ndarray or None
        The levels it declares by its type.
    n_rows : float
        Number of rows, or their weight.

    Returns
    -------
    look : Look
        The impression.
    """
    if levels is not None:
        return Look("label", "categorical", True, len(levels), "declared categories")
    values = plain_values(values)
    values = values[~missing_cells(values)]
    if values.dtype.kind not in "iuf":
        reason = f"holds {values[:1].tolist()[0]!r:.22}" if len(values) else "empty"
        return Look("label", "categorical", True, 0, reason)
    if values.dtype.kind == "f":
        fraction = ~np.isfinite(values) | (values != np.floor(values))
        if fraction.any():
            reason = f"holds {values[np.argmax(fraction)]:.6g}"
            return Look("float", "continuous", True, 0, reason)
    n_levels = len(np.unique(values))
    whole = "integers" if values.dtype.kind in "iu" else "whole numbers"
    reason = f"{n_levels} different {whole} in {n_rows:g} rows"
    type_ = "float" if values.dtype.kind == "f" else "integer"
    if n_levels < 2:
        return Look(type_, None, False, n_levels, "constant")
    always = ALWAYS_FEW if type_ == "integer" else 0
    kind = "categorical" if are_few(n_levels, n_rows, always) else "continuous"
    return Look(type_, kind, False, n_levels, reason)


def are_few(n_levels, n_rows, always=ALWAYS_FEW):
    """Whether so many different values are few for so many rows."""
    return n_levels <= always or (
        n_levels <= MOST_LEVELS and n_rows >= ROWS_PER_LEVEL * n_levels
    )


def decide(looks: Sequence[Look], names=None):
    """The kinds of columns that stand beside each other.

    Parameters
    ----------
    looks : sequence of Look
        What each of them looks like by itself.
    names : sequence of str, default=None
        Names of the columns, for the reasons.

    Returns
    -------
    kinds : ColumnKinds
        The kinds.
    """
    seen = [look.kind for look in looks]
    labels = any(look.sure and look.kind == "categorical" for look in looks)
    fractions = any(look.sure and look.kind == "continuous" for look in looks)
    if labels:
        kinds = [kind or "categorical" for kind in seen]
    elif "continuous" in seen:
        kinds = ["continuous"] * len(looks)
    elif "categorical" in seen:
        kinds = ["categorical"] * len(looks)
    else:  # all are constant, so that their type is all there is
        floats = any(look.type == "float" for look in looks)
        kinds = ["continuous" if floats else "categorical"] * len(looks)
    guessed = [
        column
        for column, (look, kind) in enumerate(zip(looks, kinds, strict=True))
        if is_guess(look, kind, fractions)
    ]
    reasons = [look.reason for look in looks]
    for column, look in enumerate(looks):
        if look.kind == "categorical" and kinds[column] == "continuous":
            other = display_name(names, seen.index("continuous"))
            reasons[column] += f", but column {other} is continuous"
    by_itself = [k for k, look in enumerate(looks) if look.kind == kinds[k]]
    surely = [k for k in by_itself if looks[k].sure]
    decisive = (surely or by_itself or [0])[0]
    return ColumnKinds(np.array(kinds), reasons, guessed, decisive)


def is_guess(look, kind, fractions):
    """Whether another kind would have been as possible, so that it is to be told."""
    if look.sure or look.kind is None:
        return False
    if kind == "categorical":
        return look.type == "float" or look.n_levels > SURELY_FEW
    # integers with many values beside fractions are numbers among numbers
    return look.type == "integer" and (look.kind == "categorical" or not fractions)
