"""The categorical family of scores: codes, counts and tables."""

from abc import abstractmethod
from math import comb

import numpy as np
from sklearn.base import clone

from skbidag._data import (
    check_categories,
    check_weights,
    columns_of,
    encode_column,
    learn_levels,
)
from skbidag.scores._memory import Memory
from skbidag.scores._walks import Walks
from skbidag.scores.base import BaseScore

# Configurations beyond which pseudo-counts come near the smallest numbers.
MOST_CONFIGURATIONS = 1e200
# Rows that may be counted, pair by pair, for one node: some hundredths of a second.
MOST_COUNTS = 2e7
# What additions are worth is kept: in searches every other call asks for it again.
MOST_KEPT_BYTES = 50_000_000
# Likelihoods are, too: of ten calls nine ask for one again.
MOST_KEPT_SETS = 100_000
# The largest sets of which all are scored, and about how long a cell takes there.
MOST_TOGETHER = 4
CELL_SECONDS = 5e-9
# Candidates and rows from which on it pays to try which outsiders matter, and how many
# sets are drawn for that. With fewer rows most of them matter somewhere.
SCREENED_CANDIDATES = 10
SCREENED_ROWS = 256
N_DRAWN_SETS = 64


class CategoricalScore(BaseScore):
    """Base class of scores that see categorical data through counts.

    Their marginal likelihood is a sum of f(count) over the observed cells (parent
    configuration, child level) and of g(count) over the observed configurations,
    which is what the compiled tables are made of. A score of this family writes
    ``log_marginal_likelihood`` and, for the tables, :meth:`kernel_constants`.

    Attributes
    ----------
    categories_ : list of ndarray
        The levels of each column.
    n_levels_ : ndarray of int of shape (n_features,)
        How many there are.
    codes_ : ndarray of int32 of shape (n_rows, n_features)
        The rows of the data, each distinct one once if they are few:
        ``categories_[j][codes_[:, j]]`` are the values of column j.
    counts_ : ndarray of shape (n_rows,)
        How often each of these rows counts: the sum of its weights.
    """

    entry_seconds = 1e-7
    grows_tables = True

    #: The levels of each column, or "auto": those seen in fit, or declared by a frame.
    #: A score that has it among its parameters lets the user choose.
    categories = "auto"

    @property
    def set_seconds(self):
        """About how long one parent set takes: its rows are sorted for it alone."""
        return 1e-7 + 5e-9 * self._columns.shape[1]

    @abstractmethod
    def kernel_constants(self, node):
        """What the tables of a node are made of.

        The scores are those of BDe if the pseudo-counts are positive, and maximized
        log-likelihoods if they are zero, in both cases minus the costs.

        Parameters
        ----------
        node : int
            The child.

        Returns
        -------
        pseudo_count : float
            Sum of the prior's pseudo-counts, the equivalent sample size.
        cost : float
            What each configuration of the parents costs, seen or not.
        """

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        # Who fills tables in another way has other maxima, too.
        if "fill_table" in vars(cls) and "fill_table_for_maxima" not in vars(cls):
            cls.fill_table_for_maxima = BaseScore.fill_table_for_maxima
            cls.grows_tables = False

    def _fit(self, X, sample_weight):
        columns, declared = columns_of(X)
        weights = check_weights(sample_weight, len(columns[0]))
        # A row of weight zero is absent: its values are not levels either.
        keep = weights > 0
        columns = [values[keep] for values in columns]
        names = [self._column_name(column) for column in range(len(columns))]
        if not isinstance(self.categories, str):
            levels = check_categories(self.categories, len(columns), self._column_name)
        else:
            levels = [
                learn_levels(values, name) if known is None else known
                for values, known, name in zip(columns, declared, names, strict=True)
            ]
        codes = np.column_stack([*map(encode_column, columns, levels, names)])
        self.categories_ = levels
        self.n_levels_ = np.array([len(known) for known in levels], dtype=np.intp)
        self._take_codes(codes, weights[keep])

    def _take_codes(self, codes, weights):
        """Keep rows, of which the levels are known."""
        self.codes_, self.counts_ = _collapse(codes, weights, self.n_levels_)
        self._columns, self._weights = _kernel_rows(self.codes_, self.counts_)
        self._walks = Walks(self._columns, self._weights, self.n_levels_)
        self._additions = Memory(MOST_KEPT_BYTES)
        self._likelihoods = Memory(8 * MOST_KEPT_SETS)

    def with_same_levels(self):
        score = clone(self)
        score.categories = list(self.categories_)
        return score

    def test_data(self, X, sample_weight=None):
        return self.codes_, self.counts_

    def _counts(self, node, parents):
        """Count the observed cells and configurations: N_ck and N_c, all positive."""
        levels = self.n_levels_[node]
        configuration, _ = _configurations(
            self.codes_.T[parents], self.n_levels_[parents], len(self.codes_)
        )
        cell = configuration * levels + self.codes_[:, node]
        of_cell = np.bincount(cell, weights=self.counts_)
        of_configuration = np.bincount(configuration, weights=self.counts_)
        return of_cell[of_cell > 0], of_configuration[of_configuration > 0]

    def _checked_likelihood(self, node, parents):
        compute = super()._checked_likelihood
        return self._likelihoods.recall(
            (int(node), parents.tobytes()), lambda: np.float64(compute(node, parents))
        )

    def addition_scores(self, node, parents):
        # in one order: the last digits must not depend on who asked before
        parents = np.sort(np.asarray(parents, dtype=np.intp))
        n_configurations = np.prod(self.n_levels_[parents].astype(float))
        if n_configurations > MOST_CONFIGURATIONS:
            return super().addition_scores(node, parents)
        log_scores = self._additions.recall(
            (int(node), parents.tobytes()), lambda: self._count_additions(node, parents)
        )
        log_odds = self.log_prior_odds_[:, node]
        log_scores += log_odds + log_odds[parents].sum()
        log_scores[parents] = log_scores[node] = -np.inf
        return log_scores

    def _count_additions(self, node, parents):
        """Log likelihoods of `node` with `parents` and each variable in addition."""
        n = self.n_features_in_
        configuration, n_configurations, _ = self._fixed(node, parents)
        table = np.empty((1, n + 1))
        pseudo_count, cost = self.kernel_constants(node)
        self._walks.fill_table(
            node,
            [],
            self._walks.all_variables,
            n,
            np.zeros(n),
            pseudo_count,
            cost,
            table,
            fixed=(configuration, n_configurations, 0.0),
        )
        return table[0, :n]

    def pair_scores(self, node, parents, others=None):
        n, n_rows = self.n_features_in_, self._columns.shape[1]
        others = np.arange(n) if others is None else np.asarray(others, dtype=np.intp)
        if len(others) * n * n_rows > MOST_COUNTS:
            return None
        scores = np.full((len(others), len(others)), -np.inf)
        for k in np.flatnonzero(~np.isin(others, [*parents, node])):
            scores[k] = self.addition_scores(node, [*parents, others[k]])[others]
        return scores

    def best_small_set(self, node, others, seconds):
        others = np.asarray(others, dtype=np.intp)
        size = self._affordable_size(node, others, seconds)
        if size < 2 or self.n_levels_[node] == 1:
            return [], -np.inf
        return self._walks.best_set(
            node,
            others,
            self._walks.outsiders(others),
            self.log_prior_odds_[:, node],
            *self.kernel_constants(node),
            size,
        )

    def _affordable_size(self, node, others, seconds):
        """Size of parent sets that can all be scored in this time."""
        n_levels = self.n_levels_[others]
        cells = self.n_levels_[node] * n_levels.sum()
        n_configurations = 1.0
        size = 0
        while size < min(MOST_TOGETHER, len(others)):
            # sets of this size, each with every other variable in addition
            n_configurations = min(n_configurations, self._columns.shape[1] / 2)
            seconds -= comb(len(others), size) * (
                self.set_seconds + n_configurations * cells * CELL_SECONDS
            )
            if seconds < 0:
                break
            size += 1
            n_configurations *= n_levels.mean()
        return size

    def fill_table(self, node, candidates, outsiders, base_column, out, columns=None):
        outsiders = self._walks.outsiders(outsiders, columns)
        self._fill_table(node, candidates, outsiders, base_column, out)

    def fill_table_for_maxima(
        self, node, candidates, outsiders, base_column, out, columns=None
    ):
        promising = self._promising(node, candidates, outsiders)
        if columns is not None:
            columns = columns[np.isin(outsiders, promising)]
        outsiders = self._walks.outsiders(promising, columns)
        self._fill_table(node, candidates, outsiders, base_column, out, best_only=True)

    def fill_table_beside(
        self, parent, floor, node, candidates, outsiders, base_column, out
    ):
        beside = np.array([parent])
        promising = self._promising(node, candidates, outsiders, beside, floor)
        self._fill_table(
            node,
            candidates,
            self._walks.outsiders(promising),
            base_column,
            out,
            fixed=self._fixed(node, beside),
            best_only=True,
            floor=floor,
        )

    def _promising(self, node, candidates, outsiders, beside=(), floor=None):
        """Outsiders that raise the score beside some of the sets that are tried.

        Most of them never do, and the others are counted many times as fast if they
        are few. The sets are those of up to two candidates, those around forward
        selection's, and some that are drawn: with few rows it may take many parents.
        """
        n_candidates, n_outsiders = len(candidates), len(outsiders)
        if (
            n_candidates < SCREENED_CANDIDATES
            or self._columns.shape[1] < SCREENED_ROWS
            or self.n_levels_[node] == 1
        ):
            return outsiders
        selected, _ = self.select_parents(node, candidates, n_candidates, kept=beside)
        path = [k for s in selected for k in np.flatnonzero(candidates == s)]
        masks = masks_to_try(n_candidates, path)
        scores = np.empty((len(masks), n_outsiders + 1))
        pseudo_count, cost = self.kernel_constants(node)
        self._walks.fill_rows(
            node,
            candidates,
            self._walks.outsiders(outsiders, np.arange(n_outsiders)),
            n_outsiders,
            self.log_prior_odds_[:, node],
            pseudo_count,
            cost,
            masks,
            scores,
            fixed=self._fixed(node, np.asarray(beside, dtype=np.intp)),
        )
        within = masks[:, None] & ~masks == 0
        best = np.where(within.T, scores[:, -1], -np.inf).max(axis=1)
        if floor is not None:
            best = np.maximum(best, floor[masks])
        return outsiders[(scores[:, :-1] > best[:, None]).any(axis=0)]

    def _fixed(self, node, parents):
        """What the kernel has to know of parents that every set has."""
        n_configurations = np.prod(self.n_levels_[parents].astype(float))
        configuration, _ = _configurations(
            self._columns[parents], self.n_levels_[parents], self._columns.shape[1]
        )
        log_odds = self.log_prior_odds_[parents, node].sum()
        return configuration, n_configurations, log_odds

    def _fill_table(self, node, candidates, outsiders, base_column, out, **options):
        """Let the kernel fill a table."""
        pseudo_count, cost = self.kernel_constants(node)
        self._walks.fill_table(
            node,
            candidates,
            outsiders,
            base_column,
            self.log_prior_odds_[:, node],
            pseudo_count,
            cost,
            out,
            **options,
        )


def masks_to_try(n_candidates, path):
    """Subsets of candidates beside which outsiders are tried, sorted.

    Parameters
    ----------
    n_candidates : int
        Number of candidates.
    path : list of int
        Candidates in the order in which they were selected.
    """
    bits = 1 << np.arange(n_candidates)
    steps = np.append(0, np.cumsum(bits[path]))
    around = [steps, (steps[:, None] ^ bits).ravel()]
    pairs = (bits[:, None] | bits).ravel()
    drawn = np.random.default_rng(0).integers(0, 1 << n_candidates, N_DRAWN_SETS)
    return np.unique(np.concatenate([*around, pairs, drawn]))


def _collapse(codes, weights, n_levels):
    """Give the distinct rows and their weights, if they are far fewer than the rows.

    A few variables have few distinct rows, and counting those is all it takes. Of
    many variables hardly two rows are alike, which the first columns tell.
    """
    number = np.zeros(len(codes), dtype=np.int64)
    for column, levels in zip(codes.T, n_levels, strict=True):
        values, number = np.unique(number * levels + column, return_inverse=True)
        if 16 * len(values) > len(codes):
            return codes, weights
    _, first = np.unique(number, return_index=True)
    return codes[first], np.bincount(number, weights=weights)


def _kernel_rows(codes, counts):
    """Give the kernel's view of the data: columns of codes, and weights."""
    # The kernel counts rows of weight one more than ten times as fast as others.
    if (counts == np.floor(counts)).all() and counts.sum() <= 16 * len(counts):
        codes = np.repeat(codes, counts.astype(np.intp), axis=0)
        counts = np.ones(len(codes))
    return np.ascontiguousarray(codes.T, dtype=np.intc), counts


def _configurations(columns, n_levels, n_rows):
    """Give equal configurations of columns of codes equal numbers.

    Returns
    -------
    configuration : ndarray of int64 of shape (n_rows,)
        The number of each row's configuration.
    size : int
        Numbers are below this.
    """
    configuration, size = np.zeros(n_rows, dtype=np.int64), 1
    for column, levels in zip(columns, n_levels, strict=True):
        configuration = configuration * levels + column
        size *= int(levels)
        if size > n_rows:
            # Leaving out what does not occur keeps numbers and tables small.
            values, configuration = np.unique(configuration, return_inverse=True)
            size = len(values)
    return configuration, size
