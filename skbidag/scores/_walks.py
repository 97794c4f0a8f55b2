"""The compiled walks over categorical data, each with memory that is used again."""

from contextlib import contextmanager
from functools import cached_property

import numpy as np

from skbidag._core._discrete import DiscreteWalk
from skbidag._core._outsiders import Outsiders


class Walks:
    """As many walks over the same data as there are threads that fill tables.

    A thread takes a walk that nobody uses, or a new one, and leaves it for others. A
    copy, in another process for instance, starts without walks.

    Parameters
    ----------
    codes : ndarray of int32 of shape (n_features, n_rows)
        The data as codes from 0, one row of the array per variable.
    weights : ndarray of float64 of shape (n_rows,)
        How often each row counts.
    n_levels : ndarray of int of shape (n_features,)
        Number of levels of each variable.
    """

    def __init__(self, codes, weights, n_levels):
        self._data = codes, weights, n_levels
        self._idle = []

    def __reduce__(self):
        return Walks, self._data

    def outsiders(self, variables, columns=None):
        """Lay out variables of which single ones join parent sets, in these columns."""
        return Outsiders(*self._data, variables, columns)

    @cached_property
    def all_variables(self):
        """All variables as outsiders, laid out once."""
        return self.outsiders(np.arange(len(self._data[0])))

    def fill_table(self, *arguments, **options):
        """Fill a table as :meth:`DiscreteWalk.fill_table` does."""
        with self._walk() as walk:
            walk.fill_table(*arguments, **options)

    def fill_rows(self, *arguments, **options):
        """Fill rows of a table as :meth:`DiscreteWalk.fill_rows` does."""
        with self._walk() as walk:
            walk.fill_rows(*arguments, **options)

    def best_set(self, *arguments):
        """Find the best small parent set as :meth:`DiscreteWalk.best_set` does."""
        with self._walk() as walk:
            return walk.best_set(*arguments)

    @contextmanager
    def _walk(self):
        """A walk that nobody else uses."""
        try:
            walk = self._idle.pop()
        except IndexError:
            walk = DiscreteWalk(*self._data)
        try:
            yield walk
        finally:
            self._idle.append(walk)
