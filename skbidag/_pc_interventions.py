"""PC with interventions: each pair is tested where neither of the two was set.

Where x was set, it depends on none of its causes, and where y was, on none of its own:
an edge between them does not show there as it does by itself, or not at all. What was
done to other variables does no harm. Given its parents, x is independent of all that
comes before it, experiments included, as long as x itself was left alone; so the sets
that PC looks for are there in these rows. All numbers of a test come from the same
rows, whose number is its sample size.
"""

from abc import ABC, abstractmethod

import numpy as np

from skbidag._data import unique_rows

# A column that has less than this share of its variance left where a pair was left
# alone is constant there: rounding leaves some 1e-15.
_CONSTANT = 1e-12


class PairsLeftAlone(ABC):
    """A test of each pair on the rows in which neither of the two was set.

    Parameters
    ----------
    test : object
        The test of all rows, one of the compiled ones of ``_pc.py``.
    rows : ndarray of shape (n_rows, n_features)
        The rows.
    weight : ndarray of shape (n_rows,)
        How often each counts.
    interventions : ndarray of bool of shape (n_rows, n_features)
        Which cells were set.
    """

    def __init__(self, test, rows, weight, interventions):
        self.test, self.rows, self.weight = test, rows, weight
        # variables that were set in the same rows are tested together
        self.was_set, _, self.group = unique_rows(interventions.T)
        self.most_tests, self.cost = test.most_tests, test.cost

    def prepare(self, depth):
        """Whether there are tests of this depth if all rows count."""
        return self.test.prepare(depth)

    def separate(self, x, neighbors, wanted, depth, collect):
        """Test the edges of one node, those to one group of neighbors after another."""
        separated = np.zeros(len(neighbors), dtype=bool)
        separators = np.zeros((len(neighbors),) * 2, dtype=bool) if collect else None
        n_tests = 0
        groups = self.group[neighbors]
        for group in np.unique(groups[wanted]):
            mine = wanted & (groups == group)
            # given nothing, others do not take part
            among = np.flatnonzero(mine) if depth == 0 else np.arange(len(neighbors))
            left_out = self.was_set[self.group[x]] | self.was_set[group]
            test = self._test_without(left_out, np.append(x, neighbors[among]))
            if not test.prepare(depth):
                continue  # too few rows: nothing is removed
            places = np.arange(1, len(among) + 1)
            found, sets, count = test.separate(0, places, mine[among], depth, collect)
            separated[among[found]] = True
            if collect and sets is not None:
                separators[np.ix_(among, among)] |= np.asarray(sets, dtype=bool)
            n_tests += count
        return separated, separators, n_tests

    @abstractmethod
    def _test_without(self, left_out, columns):
        """The test of some columns without some rows."""


class CountsLeftAlone(PairsLeftAlone):
    """The same for tests of contingency tables."""

    def _test_without(self, left_out, columns):
        rows = np.flatnonzero(~left_out)
        return self.test.of_rows(self.rows[np.ix_(rows, columns)], self.weight[rows])


class CorrelationsLeftAlone(PairsLeftAlone):
    """The same for tests of correlations, of standardized rows.

    Sums over the rows of a pair are those over all rows without those over the rows
    that are left out, which are few where each experiment sets one variable of many.
    """

    def __init__(self, test, rows, weight, interventions):
        # a constant, so that products with it are sums
        rows = np.column_stack([rows, np.ones(len(rows))])
        super().__init__(test, rows, weight, interventions)
        self.products = (rows * weight[:, None]).T @ rows

    def _test_without(self, left_out, columns):
        columns = np.append(columns, -1)
        places = np.ix_(columns, columns)
        few = left_out if 2 * np.count_nonzero(left_out) < len(left_out) else ~left_out
        part = self.rows[np.ix_(few, columns)]
        products = (part * self.weight[few][:, None]).T @ part
        if few is left_out:
            products = self.products[places] - products
        n_samples = products[-1, -1]
        if n_samples <= 0:
            return self.test.of_correlations(np.eye(len(columns) - 1), 0.0)
        mean = products[-1, :-1] / n_samples
        scatter = products[:-1, :-1] - n_samples * np.outer(mean, mean)
        squares = np.diag(scatter).copy()
        squares[squares < _CONSTANT] = np.inf
        spread = np.sqrt(squares)
        correlation = np.clip(scatter / spread / spread[:, None], -1.0, 1.0)
        np.fill_diagonal(correlation, 1.0)
        return self.test.of_correlations(correlation, n_samples)
