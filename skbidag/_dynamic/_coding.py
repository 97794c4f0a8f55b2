"""Values of variables as numbers, and back: what steps are drawn in."""

from dataclasses import dataclass

import numpy as np
from sklearn.base import clone

from skbidag._data import (
    check_categories,
    encode_column,
    learn_levels,
    missing_cells,
)
from skbidag._kinds import column_kinds
from skbidag.scores import CategoricalScore, ConditionalGaussian


@dataclass(frozen=True)
class Coding:
    """Levels of the variables.

    Attributes
    ----------
    names : list of str
        Names of the variables.
    levels : list of (ndarray or None)
        The levels of each variable, None for a number.
    """

    names: list
    levels: list

    @property
    def has_levels(self):
        """Whether some variable has levels."""
        return any(known is not None for known in self.levels)

    @property
    def dtype(self):
        """Type of coded rows."""
        return float if any(known is None for known in self.levels) else int

    def encode(self, j, values):
        """Values of a variable as numbers."""
        name = repr(self.names[j])
        if self.levels[j] is not None:
            return encode_column(values, self.levels[j], name)
        numbers = np.asarray(values, dtype=float)
        if not np.isfinite(numbers).all():
            raise ValueError(f"X has NaN or infinity in column {name}.")
        return numbers

    def decode(self, j, numbers):
        """Numbers as values of a variable."""
        if self.levels[j] is None:
            return numbers
        return self.levels[j][numbers.astype(np.intp)]


def learn_coding(score, series, frame):
    """The levels that a score sees in series, all of them: a slice may show few.

    Parameters
    ----------
    score : BaseScore
        A score, not fitted.
    series : Series
        The rows.
    frame : pandas.DataFrame
        The same rows without those that have missing cells.

    Returns
    -------
    coding : Coding
        The levels.
    """
    names = series.names
    mixed = isinstance(score, ConditionalGaussian)
    if not (mixed or isinstance(score, CategoricalScore)):
        return Coding(names, [None] * len(names))
    if not isinstance(score.categories, str):
        # a number's None stands for no levels
        given = [[0] if known is None else known for known in score.categories]
        checked = check_categories(given, len(names))
        pairs = zip(checked, score.categories, strict=True)
        return Coding(names, [None if g is None else known for known, g in pairs])
    categorical = np.ones(len(names), dtype=bool)
    if mixed:
        found = column_kinds(frame, score.categorical_features, names=names)
        categorical = found.kinds == "categorical"
    levels = [
        (learn_levels(values[~missing_cells(values)], name) if known is None else known)
        if has_levels
        else None
        for values, known, name, has_levels in zip(
            series.columns, series.declared, names, categorical, strict=True
        )
    ]
    return Coding(names, levels)


def with_levels(score, levels):
    """A copy of a score, not fitted, for columns with these levels."""
    score = clone(score)
    if isinstance(score, ConditionalGaussian):
        score.set_params(categorical_features="auto")
    elif not isinstance(score, CategoricalScore):
        return score
    return score.set_params(
        categories=[None if known is None else list(known) for known in levels]
    )
