"""The compiled walks over mixed data, one for each thread that fills tables."""

import numpy as np

from skbidag._core._mixed import MixedWalk


class MixedWalks:
    """As many walks over the same data as there are threads that fill tables.

    A thread takes a walk that nobody uses, or a new one, and leaves it for others. A
    copy, in another process for instance, starts without walks.

    Parameters
    ----------
    *data
        What a :class:`~skbidag._core._mixed.MixedWalk` is made of.
    """

    def __init__(self, *data):
        self._data = data
        self._idle = []

    def __reduce__(self):
        return MixedWalks, self._data

    def fill_table(self, *arguments, **options):
        """Fill a table as :meth:`MixedWalk.fill_table` does."""
        try:
            walk = self._idle.pop()
        except IndexError:
            walk = MixedWalk(*self._data)
        try:
            walk.fill_table(*arguments, **options)
        finally:
            self._idle.append(walk)

    def log_bayes_factors(self, node, parents, others):
        """By how much one more parent raises the log marginal likelihood.

        Parameters
        ----------
        node : int
            The child.
        parents : sequence of int
            Its parents.
        others : ndarray of int
            Further parents, one at a time.

        Returns
        -------
        log_factors : ndarray of shape (n_others,)
            Without the prior over edges. They are the same with child and further
            parent exchanged.
        """
        n_features = self._data[1].shape[1]
        table, no_prior = np.empty((1, len(others) + 1)), np.zeros(n_features)
        self.fill_table(
            node,
            parents,
            others,
            np.arange(len(others)),
            len(others),
            no_prior,
            table,
            only_full=True,
        )
        return table[0, :-1] - table[0, -1]

    def of_part(self, rows, columns):
        """Walks over some rows of some columns.

        Parameters
        ----------
        rows : ndarray of int
            The rows.
        columns : ndarray of int
            The columns, which are then counted from 0 on.

        Returns
        -------
        walks : MixedWalks
            With the same prior.
        """
        codes, values, weights, n_levels, *prior = self._data
        return MixedWalks(
            codes[np.ix_(columns, rows)],
            values[np.ix_(rows, columns)],
            weights[rows],
            n_levels[columns],
            *prior,
        )
