"""The score of mixed data: cells of categories, and a normal distribution in each.

The categorical ones of some columns divide the rows into cells. How often each cell
occurs has a Dirichlet prior, as in BDe, and within a cell the continuous ones are
normal with a normal-Wishart prior, as in BGe: the conditional Gaussian distributions of
Lauritzen & Wermuth (1989). So every set of columns S has a log marginal likelihood
L(S), and a child's score is

    s(child | parents) = L(parents and child) - L(parents).

Markov equivalent DAGs have the same score, whatever kinds of columns their edges join.

Ordered categories may be normal variables that are seen in classes only: then they are
continuous here, and their values are drawn (``_latent.py``).
"""

import math
from copy import copy
from dataclasses import dataclass
from functools import cached_property, partial
from numbers import Real
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln, logsumexp, ndtr, stdtr
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from skbidag._data import (
    check_categories,
    check_continuous,
    check_weights,
    columns_of,
    encode_column,
    learn_levels,
    missing_cells,
    names_of,
    ordered_columns,
    plain_values,
    unique_rows,
)
from skbidag._kinds import chosen_columns, column_kinds
from skbidag._sklearn import Interval, StrOptions
from skbidag.scores._categorical import _collapse, _kernel_rows
from skbidag.scores._density import EDGE_PENALTY
from skbidag.scores._gaussian import least_residual_share
from skbidag.scores._latent import draw_latents, normal_scores, thresholds
from skbidag.scores._mixed import MixedWalks
from skbidag.scores._noise import residual_scale
from skbidag.scores._regression import in_units, regression_posterior
from skbidag.scores._scatter import weighted_scatter
from skbidag.scores._walks import Walks
from skbidag.scores.base import BaseScore
from skbidag.scores.bde import _log_rising
from skbidag.scores.bge import RESIDUAL_SHARE_PER_ROW
from skbidag.scores.capabilities import (
    CellParameterScore,
    CompletableScore,
    EvidenceScore,
    MixedParameterScore,
    MixedPredictiveScore,
)

# Scores of pairs of parents that may be computed for one node: some tenths of a second.
MOST_PAIRS = 4000

# Cells without rows that have draws of their own
MOST_UNSEEN = 64

# Sets of columns whose cells are kept for the next rows
MOST_KEPT = 4096


class ConditionalGaussian(
    BaseScore,
    MixedPredictiveScore,
    MixedParameterScore,
    CellParameterScore,
    CompletableScore,
    EvidenceScore,
):
    """Score of continuous and categorical columns in one network.

    The categorical ones of a child's parents divide the rows into cells. A continuous
    child has, in each cell, a linear regression of its own on the continuous parents;
    a categorical one has probabilities in each cell that go with the continuous parents
    by Bayes' rule, as in quadratic discriminant analysis. Edges between columns of
    different kinds may have either direction, and Markov equivalent DAGs get the same
    score. With continuous columns alone this is :class:`BGe`, with categorical ones
    alone :class:`BDe`.

    Categories with an order are taken for numbers that were cut at thresholds, and of
    which only the class is seen.

    Parameters
    ----------
    equivalent_sample_size : float, default=1.0
        Sum of the pseudo-counts of all cells.
    alpha_mu : float, default=1.0
        How many observations the prior mean is worth, shared by all cells.
    edge_penalty : float or "auto", default="auto"
        Each edge divides the DAG's prior probability by this. "auto" is a third of the
        odds against an edge, by how many pairs of variables pick each other in forward
        selections.
    continuous_causes : bool, default=True
        Whether a continuous column may be a parent of a categorical one. False is the
        convention of conditional Gaussian networks elsewhere.
    categorical_features : "auto", None or array-like, default="auto"
        The categorical columns, by names, indices or a boolean mask; all others are
        continuous. "auto": strings, booleans, categories, and integers with few
        different values.
    categories : "auto" or list, default="auto"
        The levels of each column, None for a continuous one. With "auto" they are the
        values seen in fit, or those that a category column of a frame declares.
    ordinal : "auto", None or array-like, default="auto"
        The categorical columns whose levels are classes of a normal variable, in their
        order, by names, indices or a boolean mask. "auto" is what pandas declares as
        ordered categories, None is no column.

    Attributes
    ----------
    is_categorical_ : ndarray of bool of shape (n_features,)
        Which columns are categorical.
    is_ordinal_ : ndarray of bool of shape (n_features,)
        Which of these are ordinal.
    categories_ : list of (ndarray or None)
        The levels of each column, None for a continuous one.
    n_levels_ : ndarray of int of shape (n_features,)
        How many there are, 0 for a continuous column.
    n_effective_ : float
        Number of observations, the sum of the weights; fewer where columns are ordinal,
        as classes tell less than values.
    edge_penalty_ : float
        The penalty that was used.
    log_prior_odds_ : ndarray of shape (n_features, n_features)
        ``log_prior_odds_[i, j]`` is added to the score whenever i is a parent of j.
    forbidden_edges_ : ndarray of bool of shape (n_features, n_features)
        Edges that no DAG has, by `continuous_causes`.
    n_features_in_ : int
        Number of variables seen during ``fit``.
    feature_names_in_ : ndarray of str of shape (n_features,)
        Their names, if the data have string column names.

    See Also
    --------
    BGe : The same for continuous data.
    BDe : The same for categorical data.

    Notes
    -----
    With D the categorical and Z the continuous ones of a set of columns, q the number
    of cells that D can make and N_c the rows of cell c, L is the Dirichlet-multinomial
    likelihood of the counts with a pseudo-count of ``equivalent_sample_size / q`` each,
    plus the normal-Wishart likelihood of Z in each cell. Its prior mean, the mean of
    all data, is worth ``alpha_mu / q`` observations there; its degrees of freedom and
    its scale, what a column varies by that other columns do not tell, are those of BGe
    in every cell. A cell without rows adds nothing.

    The score is the marginal likelihood of a network whose conditional distributions
    come from such joint ones. Where a continuous column is a parent of a categorical
    one, conditionals of different children cannot in general come from one joint
    distribution with independent parameters, so that there it is a likelihood for each
    family, and the product of them for the DAG. With ``continuous_causes=False`` it is
    the DAG's marginal likelihood.

    The values of ordinal columns are drawn given their classes and all other columns,
    with a normal distribution of all columns, and the score is that of the drawn
    values. Densities and probabilities are of the classes themselves: a parent counts
    by its normal score, the expectation of a normal variable in its class, and an
    ordinal child's levels have the probabilities that its Student t distribution has
    between thresholds.

    References
    ----------
    Lauritzen & Wermuth (1989). Graphical models for associations between variables,
    some of which are qualitative and some quantitative. Annals of Statistics 17.

    Examples
    --------
    >>> import numpy as np
    >>> from skbidag.scores import ConditionalGaussian
    >>> rng = np.random.default_rng(0)
    >>> group = rng.integers(2, size=200)
    >>> X = np.column_stack([group, group + rng.normal(size=200)])
    >>> score = ConditionalGaussian(categorical_features=[0]).fit(X)
    >>> bool(score.local_score(1, [0]) > score.local_score(1, []))
    True
    """

    _parameter_constraints: ClassVar[dict] = {
        "equivalent_sample_size": [Interval(Real, 1e-300, 1e300, closed="both")],
        "alpha_mu": [Interval(Real, 0, None, closed="neither")],
        "edge_penalty": EDGE_PENALTY,
        "continuous_causes": ["boolean"],
        "categorical_features": [StrOptions({"auto"}), None, "array-like"],
        "categories": [StrOptions({"auto"}), list],
        "ordinal": [StrOptions({"auto"}), None, "array-like"],
    }

    def __init__(
        self,
        equivalent_sample_size: float = 1.0,
        alpha_mu: float = 1.0,
        edge_penalty: float | Literal["auto"] = "auto",
        continuous_causes: bool = True,
        categorical_features: ArrayLike | Literal["auto"] | None = "auto",
        categories: list | Literal["auto"] = "auto",
        ordinal: ArrayLike | Literal["auto"] | None = "auto",
    ):
        self.equivalent_sample_size = equivalent_sample_size
        self.alpha_mu = alpha_mu
        self.edge_penalty = edge_penalty
        self.continuous_causes = continuous_causes
        self.categorical_features = categorical_features
        self.categories = categories
        self.ordinal = ordinal

    # What tables cost, by measurement: a lane for each cell in them
    @property
    def entry_seconds(self):
        """About how long one entry of a table takes, in seconds."""
        return 2.5e-8 * (1.0 + self._mean_cells(12))

    @property
    def set_seconds(self):
        """About how long one parent set takes in a table without outsiders."""
        n_numbers = np.count_nonzero(~self.divides_)
        pass_over_rows = 1e-8 * len(self._counts) / 2.0 ** min(n_numbers, 60)
        return 2e-7 + 3e-8 * self._mean_cells(self.n_features_in_) + pass_over_rows

    def _mean_cells(self, n_candidates):
        """Cells of a set of some candidates, on average."""
        levels = self.n_levels_[self.divides_]
        share = min(1.0, n_candidates / self.n_features_in_)
        log_mean = share * np.log((1 + levels) / 2).sum()
        return min(float(len(self._counts)), np.exp(min(log_mean, 100.0)))

    # ------------------------------------------------------------------- fit

    def _fit(self, X, sample_weight):
        self._validate_params()
        columns, declared = columns_of(X)
        weights = check_weights(sample_weight, len(columns[0]))
        asked = self._find_ordinal(X)
        self.is_categorical_ = self._find_kinds(X, weights) | asked
        # A row of weight zero is absent: its values are not levels either.
        keep = weights > 0
        columns, weights = [values[keep] for values in columns], weights[keep]
        self.categories_ = self._find_levels(columns, declared)
        levels = [0 if known is None else len(known) for known in self.categories_]
        self.n_levels_ = np.array(levels, dtype=np.intp)
        self.is_ordinal_ = asked & (self.n_levels_ > 1)
        self._check_order(declared)
        self.forbidden_edges_ = np.zeros((len(levels), len(levels)), dtype=bool)
        if not self.continuous_causes:
            self.forbidden_edges_ |= ~self.divides_[:, None]
            self.forbidden_edges_ &= self.divides_
        # distinct rows in an order of their own: sums are the same to the last bit in
        # whatever order rows are, and whether a row has the weight 2 or is there twice
        self._set_rows(*_distinct(self._as_numbers(columns), weights))

    @property
    def divides_(self):
        """Which columns make cells; all others are numbers, or classes of some."""
        return self.is_categorical_ & ~self.is_ordinal_

    def _find_ordinal(self, X):
        """The columns that are to be ordinal."""
        if isinstance(self.ordinal, str):
            return ordered_columns(X)
        return chosen_columns(
            self.ordinal, self.n_features_in_, names_of(self), "ordinal"
        )

    def _check_order(self, declared):
        """Labels have no order of their own."""
        for k in np.flatnonzero(self.is_ordinal_):
            stated = declared[k] is not None or not isinstance(self.categories, str)
            if not stated and self.categories_[k].dtype.kind not in "biuf":
                raise ValueError(
                    f"Column {self._column_name(k)} cannot be ordinal: its levels "
                    f"{self.categories_[k][:3].tolist()}... have no order. Make it an "
                    "ordered categorical column, or list its levels in `categories`."
                )

    def _find_kinds(self, X, weights):
        if not isinstance(self.categories, str):
            return np.array([levels is not None for levels in self.categories])
        found = column_kinds(
            X, self.categorical_features, sample_weight=weights, names=names_of(self)
        )
        return found.kinds == "categorical"

    def _find_levels(self, columns, declared):
        """The levels of the categorical columns."""
        n = len(columns)
        if not isinstance(self.categories, str):
            # a continuous column's None stands for no levels
            given = [[0] if known is None else known for known in self.categories]
            found = check_categories(given, n, self._column_name)
        else:
            found = [
                learn_levels(columns[k], self._column_name(k))
                if declared[k] is None and self.is_categorical_[k]
                else declared[k]
                for k in range(n)
            ]
        return [
            levels if categorical else None
            for levels, categorical in zip(found, self.is_categorical_, strict=True)
        ]

    def _as_numbers(self, columns, unseen="error", missing="error"):
        """Codes of the categorical columns and values of the others, side by side."""
        numbers = np.empty((len(columns[0]), len(columns)))
        for k, (values, levels) in enumerate(
            zip(columns, self.categories_, strict=True)
        ):
            name = self._column_name(k)
            if levels is not None:
                codes = encode_column(values, levels, name, unseen, missing)
                numbers[:, k] = np.where(codes == -2, np.nan, codes)
                continue
            values = plain_values(values)
            absent = missing_cells(values) & (missing == "code")
            column = values[~absent].reshape(-1, 1)
            if len(column):
                column = check_continuous(column, lambda _, name=name: name)
            numbers[~absent, k], numbers[absent, k] = column[:, 0], np.nan
        return numbers

    def _set_rows(self, rows, counts):
        """Keep the rows, and take the prior's mean and units from them."""
        self._take_rows(rows, counts)
        divides, numbers, drawn = self.divides_, ~self.divides_, self._drawn
        mean, unit = np.zeros(len(divides)), np.ones(len(divides))
        if numbers.any():
            mean[numbers], unit[numbers] = self._scale(
                drawn[:, numbers], drawn[:, divides], self._counts
            )
        self._set_prior(rows, counts, mean, unit)

    def _take_rows(self, rows, counts, precision=None):
        """Keep the rows, and draw what of ordinal columns is not seen."""
        self._rows, self._row_counts = rows, counts
        self._cuts = {
            int(k): thresholds(
                rows[:, k].astype(np.intp),
                counts,
                self.n_levels_[k],
                self.equivalent_sample_size,
            )
            for k in np.flatnonzero(self.is_ordinal_)
        }
        self._scores = {k: normal_scores(cuts) for k, cuts in self._cuts.items()}
        if self._cuts:
            self._drawn, self._seen_rows, self._counts, self._precision = draw_latents(
                rows, counts, self._cuts, self._levels_of_cells, precision
            )
        else:
            self._drawn = self._seen_rows = rows
            self._counts = counts
        self.n_effective_ = float(self._counts.sum())

    def with_rows(self, rows, weights, which=None, beside=None):  # noqa: D102
        if beside is not None:
            known, counts = beside.test_data(None)
            rows = np.concatenate([known, rows])
            weights = np.concatenate([counts, weights])
        score = copy(self)
        rows, counts = _distinct(rows, weights)
        # latent values are drawn with covariances that start from these rows'
        score._take_rows(rows, counts, self._precision if self._cuts else None)
        score._set_prior(rows, counts, self._mean, self._unit)
        return score

    def with_prior_of(self, rows, weights):  # noqa: D102
        score = copy(self)
        score._set_rows(*_distinct(rows, weights))
        return score

    def with_same_levels(self):
        """A copy, not fitted, with the kinds and levels of the columns of this one."""
        score = clone(self)
        score.categories = list(self.categories_)
        score.ordinal = self.is_ordinal_
        return score

    @classmethod
    def with_one_prior(cls, scores, of_column):
        """Scores of parts of the rows with the mean and units that columns have."""
        columns = range(len(of_column))
        mean = np.array([of_column[j]._mean[j] for j in columns])
        unit = np.array([of_column[j]._unit[j] for j in columns])
        for score in scores:
            score._set_prior(*score.test_data(None), mean, unit)
        return scores

    def _set_prior(self, rows, counts, mean, unit):
        """Keep the rows as codes and as deviations in the prior's units."""
        if rows is not self._rows:
            self._take_rows(rows, counts)
        self._mean, self._unit, self._kept = mean, unit, _Kept()
        self._codes = np.where(self.divides_, self._drawn, 0).astype(np.int32)
        self._values = self._deviations(self._drawn)
        self._seen_values = self._values
        if self._cuts:
            self._seen_values = self._deviations(self._seen_rows)
        self._surplus = self.alpha_mu + 1.0
        self._prior_scale = self.alpha_mu**2 / (self.alpha_mu + 1)
        levels = np.maximum(self._levels_of_cells, 1)
        codes = _collapse(self._codes, self._counts, levels)
        self._categorical_walks = Walks(*_kernel_rows(*codes), levels)
        self._walks = self._make_walks(self._codes, self._values, self._counts)

    @property
    def _levels_of_cells(self):
        """Levels of what divides; a number, or a class of one, is a constant there."""
        return np.where(self.divides_, self.n_levels_, 0)

    def _make_walks(self, codes, values, counts):
        return MixedWalks(
            np.ascontiguousarray(codes.T),
            values,
            counts,
            self._levels_of_cells,
            float(self.equivalent_sample_size),
            float(self.alpha_mu),
            self._surplus,
            self._prior_scale,
        )

    def _scale(self, X, codes, counts):
        """Mean and unit of each continuous column."""
        names = [self._column_name(k) for k in np.flatnonzero(~self.divides_)]
        largest = np.abs(X).max(axis=0)
        # powers of two, so that nothing is rounded
        size = np.exp2(np.frexp(np.where(largest > 0, largest, 1.0))[1] - 1)
        # levels tell about numbers, too: each but the first is a column of 0 and 1
        levels = [
            column == level for column in codes.T for level in np.unique(column)[1:]
        ]
        n = X.shape[1]
        both = np.column_stack([X / size, *levels]).astype(np.float64)
        _, mean, scatter = weighted_scatter(both, counts)
        constant = both.max(axis=0) == both.min(axis=0)
        scatter[constant] = scatter[:, constant] = 0.0  # to the last digit
        noise = residual_scale(scatter, self.n_effective_, n)
        unit = noise * size
        self._check_columns_tell(scatter[:n, :n] / noise / noise[:, None], names)
        with np.errstate(over="ignore", under="ignore"):
            square = unit**2 * (1 + np.diag(scatter)[:n] / noise**2)
        fine = np.isfinite(square) & (square > np.finfo(float).tiny)
        if not fine.all():
            column = int(np.argmin(fine))
            extreme = "small" if square[column] < 1 else "large"
            raise ValueError(
                f"Column {names[column]} has values too {extreme} to square; "
                "rescale it."
            )
        return mean[:n] * size, unit

    def _check_columns_tell(self, scatter, names):
        """No continuous column may be told by the others, to rounding."""
        scale = self.alpha_mu**2 / (self.alpha_mu + 1)
        column, share = least_residual_share(scatter + scale * np.eye(len(scatter)))
        if share < RESIDUAL_SHARE_PER_ROW * max(self.n_effective_, 100.0):
            raise ValueError(
                f"Column {names[column]} is a linear combination of other columns, to "
                "rounding at the scale of the data; drop it."
            )

    def _deviations(self, rows):
        """The continuous columns from the prior mean, in units; 0 in the others."""
        values = np.where(self.divides_, 0.0, rows - self._mean)
        return np.ascontiguousarray(values / self._unit)

    def test_data(self, X, sample_weight=None):  # noqa: D102
        return self._rows, self._row_counts

    # --------------------------------------------------------------- scoring

    def log_marginal_likelihood(self, node, parents):
        """Log marginal likelihood of column `node` given the columns `parents`.

        Parameters
        ----------
        node : int
            The child.
        parents : sequence of int
            Its parents.

        Returns
        -------
        log_likelihood : float
            Without the edge prior.
        """
        parents = np.asarray(parents, dtype=np.intp)
        together = self._log_evidence(np.append(parents, node))
        return float(together - self._log_evidence(parents))

    def _log_evidence(self, columns):
        """Log marginal likelihood of a set of columns."""
        cells = self._cells(columns, self._values)
        counts, scatter = cells.counts[:-1], cells.scatter[:-1]  # those with rows
        log_size = np.log(self.equivalent_sample_size)
        log_likelihood = (
            _log_rising(log_size - cells.log_n_cells, counts).sum()
            - _log_rising(log_size, np.array([self.n_effective_])).sum()
        )
        size, nu = len(cells.numbers), self._surplus
        if size:
            k, n = np.arange(size), counts[:, None]
            log_alpha = np.log(self.alpha_mu) - cells.log_n_cells
            log_likelihood += (
                size / 2 * (log_alpha - np.log(cells.worth[:-1])).sum()
                - size * self.n_effective_ / 2 * np.log(np.pi)
                + (gammaln((nu + 1 + k + n) / 2) - gammaln((nu + 1 + k) / 2)).sum()
                + len(counts) * size * (nu + size) / 2 * np.log(self._prior_scale)
                - ((counts + nu + size) / 2 * self._log_det(scatter)).sum()
                - self.n_effective_ * np.log(self._unit[cells.numbers]).sum()
            )
        return log_likelihood

    def _log_det(self, scatter):
        """Log determinants of scatter matrices, whose pivots are not below the prior's.

        Rounding could make them so where columns are large and hardly vary.
        """
        left, log_det = scatter.copy(), np.zeros(len(scatter))
        for k in range(scatter.shape[1]):
            pivot = np.maximum(left[:, k, k], self._prior_scale)
            log_det += np.log(pivot)
            row = left[:, k] / pivot[:, None]
            left = left - left[:, :, k, None] * row[:, None]
        return log_det

    def _cells(self, columns, values):
        """The cells that some columns make, and what values tell of each."""
        columns = np.sort(np.asarray(columns, dtype=np.intp))
        divides = self.divides_[columns]
        dividers, numbers = columns[divides], columns[~divides]
        known, cell = self._codes[:1, dividers], np.zeros(len(self._codes), np.intp)
        if len(dividers):
            known, _, cell = unique_rows(self._codes[:, dividers])
        # the last cell stands for all without rows
        size = len(known) + 1
        weights, values = self._counts, values[:, numbers]
        counts = np.bincount(cell, weights, size)
        log_n_cells = np.log(self.n_levels_[dividers]).sum()
        worth = np.exp(np.log(self.alpha_mu) - log_n_cells) + counts
        sums = np.empty((size, len(numbers)))
        scatter = np.empty((size, len(numbers), len(numbers)))
        for a, of_a in enumerate(values.T):
            sums[:, a] = np.bincount(cell, weights * of_a, size)
            for b in range(a + 1):
                products = np.bincount(cell, weights * of_a * values[:, b], size)
                left = products - sums[:, a] * sums[:, b] / worth
                scatter[:, a, b] = scatter[:, b, a] = left
            scatter[:, a, a] += self._prior_scale
        mean = sums / worth[:, None]
        return _Cells(
            dividers, numbers, known, counts, worth, mean, scatter, log_n_cells
        )

    def _known_cells(self, columns, latent=None):
        """The cells of what is seen, and of one latent column; kept for the next rows.

        Of ordinal columns the normal scores of their classes are seen.
        """
        key = (tuple(sorted(map(int, columns))), latent)
        if key not in self._kept:
            if len(self._kept) >= MOST_KEPT:
                self._kept.clear()
            values = self._seen_values
            if latent is not None:
                values = values.copy()
                values[:, latent] = self._values[:, latent]
            self._kept[key] = self._cells(columns, values)
        return self._kept[key]

    def _seen(self, rows):
        """Encoded rows with the normal scores of ordinal columns instead of codes."""
        if not self._scores:
            return rows
        rows = rows.copy()
        for k, scores in self._scores.items():
            # of a level that nobody has seen, nothing is known
            known = rows[:, k] >= 0
            code = np.where(known, rows[:, k], 0).astype(np.intp)
            rows[:, k] = np.where(known, scores[code], 0.0)
        return rows

    def fill_table(  # noqa: D102
        self, node, candidates, outsiders, base_column, out, columns=None
    ):
        columns = outsiders if columns is None else columns
        candidates = np.asarray(candidates, dtype=np.intp)
        outsiders = np.asarray(outsiders, dtype=np.intp)
        columns = np.asarray(columns, dtype=np.intp)
        if self.divides_[node] and self.divides_[candidates].all():
            self._fill_categories(
                node, candidates, outsiders, columns, base_column, out
            )
        else:
            self._fill(node, candidates, outsiders, columns, base_column, out)

    def _fill_categories(self, node, candidates, outsiders, columns, base_column, out):
        """The same where no number is among child and candidates: that is BDe.

        Counting takes a fraction of the time.
        """
        number = ~self.divides_[outsiders]
        if number.any():
            self._fill(
                node, candidates, outsiders[number], columns[number], base_column, out
            )
        self._categorical_walks.fill_table(
            node,
            candidates,
            self._categorical_walks.outsiders(outsiders[~number], columns[~number]),
            base_column,
            self.log_prior_odds_[:, node],
            float(self.equivalent_sample_size),
            0.0,
            out,
        )

    def _fill(self, node, candidates, outsiders, columns, base_column, out, **options):
        self._walks.fill_table(
            node,
            candidates,
            outsiders,
            columns,
            base_column,
            self.log_prior_odds_[:, node],
            out,
            **options,
        )
        shift = self.n_effective_ * np.log(self._unit[node])
        if shift:
            out[:, base_column] -= shift
            out[:, columns] -= shift

    def addition_scores(self, node, parents):  # noqa: D102
        n = self.n_features_in_
        others = np.setdiff1d(np.arange(n), [*parents, node])
        table = np.full((1, n + 1), -np.inf)
        self._fill(node, parents, others, others, n, table, only_full=True)
        return table[0, :n]

    def log_bayes_factors(self, node, parents, others):  # noqa: D102
        return self._walks.log_bayes_factors(node, parents, others)

    def walks_over(self, rows, weights):  # noqa: D102
        if self.is_ordinal_.any():
            return None  # what is not seen of them was drawn for the rows of the fit
        codes = np.where(self.divides_, rows, 0).astype(np.int32)
        return self._make_walks(codes, self._deviations(rows), weights)

    def pair_scores(self, node, parents, others=None):  # noqa: D102
        n = self.n_features_in_
        others = np.arange(n) if others is None else np.asarray(others, dtype=np.intp)
        if len(others) * n > MOST_PAIRS:
            return None
        scores = np.full((len(others), len(others)), -np.inf)
        for k in np.flatnonzero(~np.isin(others, [*parents, node])):
            scores[k] = self.addition_scores(node, [*parents, others[k]])[others]
        return scores

    # ------------------------------------------------------------ densities of rows

    def encode(self, X, missing="error"):
        """New data as numbers: codes of categories, and the other values as they are.

        Parameters
        ----------
        X : {array-like, dataframe} of shape (n_samples, n_features)
            The data.
        missing : {"error", "code"}, default="error"
            Whether a missing cell (NaN, None) is an error or becomes NaN.

        Returns
        -------
        rows : ndarray of float64 of shape (n_samples, n_features)
            The numbers; -1 for a value that is not a level of its column.
        """
        check_is_fitted(self)
        columns, _ = columns_of(X)
        if len(columns) != self.n_features_in_:
            raise ValueError(
                f"X has {len(columns)} features, but {type(self).__name__} is "
                f"expecting {self.n_features_in_} features as input."
            )
        return self._as_numbers(columns, "code", missing)

    def log_predictive_rows(self, rows, node, parents):
        """Log predictive density or probability of a column, of rows already encoded.

        Parameters
        ----------
        rows : ndarray of float64 of shape (n_samples, n_features)
            New rows as :meth:`encode` gives them. A parent's unknown level makes a cell
            without data, in which the prior is all that is known.
        node : int
            The child.
        parents : sequence of int
            Its parents.

        Returns
        -------
        log_density : ndarray of shape (n_samples,)
            Of the value of `node` given those of `parents`: a Student t density in each
            cell of a continuous child, its probabilities between thresholds of an
            ordinal one, and Bayes' rule over the levels of another categorical one.
        """
        parents = np.asarray(parents, dtype=np.intp)
        if self.is_ordinal_[node]:
            return self._log_class_predictive(rows, node, parents)
        rows = self._seen(rows)
        if not self.is_categorical_[node]:
            together = self._log_joint(rows, np.append(parents, node))
            return together - self._log_joint(rows, parents) - np.log(self._unit[node])
        log_p = self._log_level_probabilities(rows, node, parents)
        code = rows[:, node].astype(np.intp)
        log_unseen = self._log_unseen(rows, node, parents, log_p)
        known = np.take_along_axis(log_p, np.maximum(code, 0)[:, None], axis=1)[:, 0]
        return np.where(code < 0, log_unseen, known)

    def log_predictive_of_values(self, rows, node, parents, varied, values):  # noqa: D102
        if self.is_categorical_[varied] or self.is_ordinal_[node]:
            # levels are few
            return super().log_predictive_of_values(rows, node, parents, varied, values)
        parents = np.asarray(parents, dtype=np.intp)
        family, rows = np.append(parents, node), self._seen(rows)
        if not self.is_categorical_[node]:
            together = self._log_joint_of_values(rows, family, varied, values)
            alone = self._log_joint_of_values(rows, parents, varied, values)
            return together - alone - np.log(self._unit[node])
        completed, log_joints = rows.copy(), []
        for level in range(self.n_levels_[node]):
            completed[:, node] = level
            log_joints.append(
                self._log_joint_of_values(completed, family, varied, values)
            )
        log_joint = self._log_joint_of_values(rows, family, varied, values)
        return log_joint - logsumexp(log_joints, axis=0)

    def _log_joint_of_values(self, rows, columns, varied, values):
        """The same as `_log_joint` with many values of a continuous column.

        The distance from the mean is a quadratic function of these.
        """
        cells = self._known_cells(columns)
        k = np.flatnonzero(cells.numbers == varied)
        if not len(k):
            return self._log_joint(rows, columns)[None]
        place, numbers = cells.place(rows), cells.numbers
        z = (rows[:, numbers] - self._mean[numbers]) / self._unit[numbers]
        z[:, k[0]] = 0.0
        whiten = cells.whiten[place]
        at_zero = np.einsum("rij,rj->ri", whiten, z - cells.mean[place])
        slope = whiten[:, :, k[0]]
        v = (values - self._mean[varied]) / self._unit[varied]
        log_peak, power, share = self._student_terms(cells)
        distance = (
            (at_zero**2).sum(axis=1)
            + 2 * (at_zero * slope).sum(axis=1) * v
            + (slope**2).sum(axis=1) * v**2
        )
        # rounding must not make it negative
        distance = share[place] * np.maximum(distance, 0.0)
        return log_peak[place] - power[place] * np.log1p(distance)

    def _log_class_predictive(self, rows, node, parents):
        """Log probabilities of the classes of an ordinal child."""
        p = self._class_probabilities(rows, node, parents)
        code = rows[:, node].astype(np.intp)
        known = np.take_along_axis(p, np.maximum(code, 0)[:, None], axis=1)[:, 0]
        # a level that nobody has seen is as rare as one without rows
        size = self.equivalent_sample_size
        unseen = size / self.n_levels_[node] / (self.n_effective_ + size)
        return np.log(np.where(code < 0, unseen, known))

    def _class_probabilities(self, rows, node, parents):
        """Probabilities of the classes of an ordinal child."""
        location, scale, df = self._student_t(rows, node, parents)
        z = (self._cuts[node] - location[:, None]) / scale[:, None]
        return class_shares(z, partial(stdtr, df[:, None]))

    def _log_level_probabilities(self, rows, node, parents):
        """Log probabilities of the levels of a categorical child, by Bayes' rule."""
        log_joint = self._log_joint_of_levels(rows, node, parents)
        return log_joint - logsumexp(log_joint, axis=1, keepdims=True)

    def _log_joint_of_levels(self, rows, node, parents):
        levels, family = self.n_levels_[node], np.append(parents, node)
        completed = np.tile(rows, (levels, 1))
        completed[:, node] = np.repeat(np.arange(levels), len(rows))
        return self._log_joint(completed, family).reshape(levels, -1).T

    def _log_unseen(self, rows, node, parents, log_p):
        """Log probabilities of a level that was never seen, beside those that were."""
        if not (rows[:, node] < 0).any():
            return log_p[:, 0]
        log_joint = self._log_joint(rows, np.append(parents, node))
        known = logsumexp(self._log_joint_of_levels(rows, node, parents), axis=1)
        return log_joint - known

    def _log_joint(self, rows, columns):
        """Log predictive density of some columns of a row together, in units."""
        cells = self._known_cells(columns)
        place, numbers = cells.place(rows), cells.numbers
        z = (rows[:, numbers] - self._mean[numbers]) / self._unit[numbers]
        whitened = np.einsum("rij,rj->ri", cells.whiten[place], z - cells.mean[place])
        log_peak, power, share = self._student_terms(cells)
        distance = share[place] * (whitened**2).sum(axis=1)
        return log_peak[place] - power[place] * np.log1p(distance)

    def _student_terms(self, cells):
        """Log density at the mean of each cell, power, and scale of the distance."""
        log_size = np.log(self.equivalent_sample_size)
        with np.errstate(divide="ignore"):
            log_counts = np.log(cells.counts)
        log_total = np.log(self.n_effective_ + self.equivalent_sample_size)
        log_share = np.logaddexp(log_counts, log_size - cells.log_n_cells) - log_total
        size, df = len(cells.numbers), self._surplus + 1 + cells.counts
        share = cells.worth / (cells.worth + 1)
        log_peak = (
            log_share
            + gammaln((df + size) / 2)
            - gammaln(df / 2)
            + size / 2 * np.log(share / np.pi)
            + np.log(np.diagonal(cells.whiten, axis1=1, axis2=2)).sum(axis=1)
        )
        return log_peak, (df + size) / 2, share

    def typical(self, node):
        """Where the values of a column are, whatever the others are.

        Parameters
        ----------
        node : int
            The column.

        Returns
        -------
        center, spread : float
            Mean and standard deviation, or the most frequent code and 0.
        """
        if self.is_categorical_[node]:
            codes = self._rows[:, node].astype(np.intp)
            return float(np.bincount(codes, self._row_counts).argmax()), 0.0
        variance = self._counts @ self._values[:, node] ** 2 / self.n_effective_
        return self._mean[node], self._unit[node] * np.sqrt(1.0 + variance)

    def sample_predictive_rows(self, rows, node, parents, rng):
        """Draw a column from its predictive distribution, of rows already encoded.

        Parameters
        ----------
        rows : ndarray of float64 of shape (n_samples, n_features)
            Rows of which only the columns of the parents are looked at.
        node : int
            The child.
        parents : ndarray of int
            Its parents.
        rng : RandomState
            Source of the draws.

        Returns
        -------
        values : ndarray of float64 of shape (n_samples,)
            One draw for each row; codes of a categorical child.
        """
        parents = np.asarray(parents, dtype=np.intp)
        if self.is_categorical_[node]:
            if self.is_ordinal_[node]:
                p = self._class_probabilities(rows, node, parents)
            else:
                seen = self._seen(rows)
                p = np.exp(self._log_level_probabilities(seen, node, parents))
            cumulative = p.cumsum(axis=1)
            drawn = rng.random_sample((len(rows), 1)) * cumulative[:, -1:]
            return (cumulative[:, :-1] <= drawn).sum(axis=1).astype(float)
        location, scale, df = self._student_t(rows, node, parents)
        return location + scale * rng.standard_t(df)

    def _student_t(self, rows, node, parents):
        """Location, scale and degrees of freedom of a number in each row."""
        latent = node if self.is_ordinal_[node] else None
        cells, rows = (
            self._known_cells(np.append(parents, node), latent),
            self._seen(rows),
        )
        place = cells.place(rows)
        child = np.flatnonzero(cells.numbers == node)[0]
        of_parents = np.flatnonzero(cells.numbers != node)
        numbers = cells.numbers[of_parents]
        z = (rows[:, numbers] - self._mean[numbers]) / self._unit[numbers]
        deviation = z - cells.mean[place][:, of_parents]
        block = cells.scatter[:, of_parents[:, None], of_parents]
        covariance = cells.scatter[:, of_parents, child]
        whiten = np.linalg.inv(np.linalg.cholesky(block))
        explained = np.einsum("cij,cj->ci", whiten, covariance)
        variance = cells.scatter[:, child, child] - (explained**2).sum(axis=1)
        variance = np.maximum(variance, self._prior_scale)
        whitened = np.einsum("rij,rj->ri", whiten[place], deviation)
        location = cells.mean[place, child] + (whitened * explained[place]).sum(axis=1)
        df = self._surplus + cells.counts[place] + 1 + len(numbers)
        worth = cells.worth[place]
        distance = (worth + 1) / worth + (whitened**2).sum(axis=1)
        scale = np.sqrt(variance[place] * distance / df)
        unit = self._unit[node]
        return self._mean[node] + unit * location, unit * scale, df

    # ---------------------------------------------------------------- parameters

    def draw_family(self, node, parents, rng):
        """Draw the parameters of a child given its parents.

        Means and covariances of each cell of the family are drawn from their posterior
        distribution, normal and inverse Wishart, and the probabilities of cells from
        theirs, Dirichlet; the child's distribution is their conditional. A cell without
        rows has a draw from the prior, of its own unless there are very many cells.

        Parameters
        ----------
        node : int
            The child.
        parents : ndarray of int
            Its parents.
        rng : RandomState
            Source of the draws.

        Returns
        -------
        expect : callable
            Of rows, an array of shape (n_rows, n_features) with codes of categories: it
            gives the child's expectation in each, or the probabilities of its levels,
            an array of shape (n_rows, n_levels).
        deviation : callable or None
            Of rows, too: a continuous child's standard deviation in each.
        """
        latent = node if self.is_ordinal_[node] else None
        cells = self._known_cells(np.append(parents, node), latent)
        drawn = _DrawnCells(self, cells, rng)
        if self.is_ordinal_[node]:
            return partial(drawn.class_probabilities, node), None
        if self.is_categorical_[node]:
            return partial(drawn.level_probabilities, node), None
        return partial(drawn.expectation, node), partial(drawn.deviation, node)

    def cell_regressions(self, node, parents):  # noqa: D102
        cells = self._known_cells(np.append(parents, node))
        # the child last, as the function has it
        order = np.argsort(cells.numbers == node, kind="stable")
        columns = cells.numbers[order]
        posteriors = [
            in_units(
                regression_posterior(
                    cells.mean[cell, order],
                    cells.scatter[cell][np.ix_(order, order)],
                    self._prior_scale,
                    cells.worth[cell],
                    self._surplus + cells.counts[cell] + len(order),
                ),
                self._mean[columns],
                self._unit[columns],
            )
            for cell in range(len(cells.known))
        ]
        return cells.known, cells.counts[: len(cells.known)], posteriors

    def cell_counts(self, node, parents):  # noqa: D102
        columns = [*parents, node]
        shape = tuple(self.n_levels_[columns])
        cell = np.ravel_multi_index(tuple(self._codes.T[columns]), shape)
        size = math.prod(shape)
        counts = np.bincount(cell, weights=self._counts, minlength=size)
        prior = max(self.equivalent_sample_size / size, np.finfo(float).tiny)
        return counts.reshape(-1, shape[-1]) + prior


def _distinct(rows, weights):
    """Distinct rows, and how often each counts."""
    rows, _, which = unique_rows(rows + 0.0)  # of one zero, not two
    return rows, np.bincount(which, weights=weights)


class _DrawnCells:
    """Probabilities, means and covariances of cells, drawn from their posterior.

    Parameters
    ----------
    score : ConditionalGaussian
        The fitted score.
    cells : _Cells
        What is known of the cells.
    rng : RandomState
        Source of the draws.
    """

    def __init__(self, score, cells, rng):
        self.score, self.cells = score, cells
        n_known, size = len(cells.known), cells.mean.shape[1]
        # one and the same draw for all cells without rows would make them alike
        possible = math.prod(score.n_levels_[cells.dividers].tolist())
        self.n_unseen = min(possible, MOST_UNSEEN) if possible > n_known else 1
        of = np.minimum(np.arange(n_known + self.n_unseen), n_known)
        n_cells, counts = len(of), cells.counts[of]
        pseudo_count = score.equivalent_sample_size * np.exp(-cells.log_n_cells)
        shape = counts + max(pseudo_count, np.finfo(float).tiny)
        # a gamma variable of a small shape may be rounded to 0, its logarithm is not
        self.log_weight = np.log(rng.standard_gamma(shape + 1.0))
        self.log_weight += np.log1p(-rng.random_sample(n_cells)) / shape
        # Bartlett's factor of a Wishart matrix
        df = score._surplus + counts + size
        factor = np.tril(rng.standard_normal((n_cells, size, size)), -1)
        places = np.arange(size)
        factor[:, places, places] = np.sqrt(rng.chisquare(df[:, None] - places))
        unwhiten = np.linalg.inv(cells.whiten)[of]
        root = unwhiten @ np.linalg.inv(factor).transpose(0, 2, 1)
        self.covariance = root @ root.transpose(0, 2, 1)
        noise = np.einsum("cij,cj->ci", root, rng.standard_normal((n_cells, size)))
        self.mean = cells.mean[of] + noise / np.sqrt(cells.worth[of])[:, None]

    def _place(self, rows):
        """Which of the draws is that of each row's cell."""
        place, number = self.cells.place(rows), 0
        for k in self.cells.dividers:
            code = rows[:, k].astype(np.intp)
            number = (number * self.score.n_levels_[k] + code) % self.n_unseen
        n_known = len(self.cells.known)
        return np.where(place < n_known, place, n_known + number)

    def _in_units(self, rows, columns):
        score, rows = self.score, self.score._seen(rows)
        return (rows[:, columns] - score._mean[columns]) / score._unit[columns]

    def _regression(self, node):
        """Places of the child and of the other numbers; coefficients and variances."""
        numbers = self.cells.numbers
        child, others = np.flatnonzero(numbers == node)[0], numbers != node
        block = self.covariance[:, others][:, :, others]
        covariance = self.covariance[:, others, child]
        coefficients = np.linalg.solve(block, covariance[:, :, None])[:, :, 0]
        left = self.covariance[:, child, child] - (coefficients * covariance).sum(
            axis=1
        )
        return child, others, coefficients, np.maximum(left, np.finfo(float).tiny)

    def expectation(self, node, rows):
        """Expectation of a number in each row."""
        child, others, coefficients, _ = self._regression(node)
        place = self._place(rows)
        z = self._in_units(rows, self.cells.numbers[others])
        deviation = z - self.mean[place][:, others]
        expected = self.mean[place, child] + (deviation * coefficients[place]).sum(
            axis=1
        )
        return self.score._mean[node] + self.score._unit[node] * expected

    def deviation(self, node, rows):
        """Standard deviation of a number in each row."""
        variance = self._regression(node)[3][self._place(rows)]
        return self.score._unit[node] * np.sqrt(variance)

    def class_probabilities(self, node, rows):
        """Probabilities of an ordinal child's classes in each row."""
        location, spread = self.expectation(node, rows), self.deviation(node, rows)
        z = (self.score._cuts[node] - location[:, None]) / spread[:, None]
        return class_shares(z, ndtr)

    def level_probabilities(self, node, rows):
        """Probabilities of a categorical child's levels in each row, by Bayes' rule."""
        levels = self.score.n_levels_[node]
        completed = np.tile(rows, (levels, 1))
        completed[:, node] = np.repeat(np.arange(levels), len(rows))
        place = self._place(completed)
        log_p = self.log_weight[place]
        if len(self.cells.numbers):
            z = self._in_units(completed, self.cells.numbers) - self.mean[place]
            whiten = np.linalg.inv(np.linalg.cholesky(self.covariance))
            distance = (np.einsum("rij,rj->ri", whiten[place], z) ** 2).sum(axis=1)
            log_scale = np.log(np.diagonal(whiten, axis1=1, axis2=2)).sum(axis=1)
            log_p = log_p + log_scale[place] - distance / 2
        log_p = log_p.reshape(levels, -1).T
        return np.exp(log_p - logsumexp(log_p, axis=1, keepdims=True))


def class_shares(z, distribution):
    """Probabilities between thresholds of a symmetric distribution about zero.

    Parameters
    ----------
    z : ndarray of shape (n_rows, n_thresholds)
        The thresholds.
    distribution : callable
        The distribution function.

    Returns
    -------
    shares : ndarray of shape (n_rows, n_thresholds + 1)
        They add up to one, and none is zero.
    """
    ends = np.full((len(z), 1), np.inf)
    low, high = np.hstack([-ends, z]), np.hstack([z, ends])
    # in the lower tail, where probabilities have all their digits
    swap = low > 0
    low, high = np.where(swap, -high, low), np.where(swap, -low, high)
    shares = np.maximum(distribution(high) - distribution(low), 1e-300)
    return shares / shares.sum(axis=1, keepdims=True)


class _Kept(dict):
    """What need not be worked out again; a copy starts without."""

    def __reduce__(self):
        return _Kept, ()


@dataclass(frozen=True, eq=False)
class _Cells:
    """What is known of the cells that some columns make.

    Attributes
    ----------
    dividers, numbers : ndarray of int
        The categorical ones among the columns, and the continuous ones.
    known : ndarray of int32 of shape (n_known, n_dividers)
        The codes of the cells that have rows.
    counts : ndarray of shape (n_known + 1,)
        How many rows each cell has. The last one has none, and stands for the others.
    worth : ndarray of shape (n_known + 1,)
        The same and what the prior mean is worth.
    mean : ndarray of shape (n_known + 1, n_numbers)
        The posterior mean, in units.
    scatter : ndarray of shape (n_known + 1, n_numbers, n_numbers)
        The posterior scale matrices, in units.
    log_n_cells : float
        Log of the number of cells that there could be.
    """

    dividers: np.ndarray
    numbers: np.ndarray
    known: np.ndarray
    counts: np.ndarray
    worth: np.ndarray
    mean: np.ndarray
    scatter: np.ndarray
    log_n_cells: float

    @cached_property
    def whiten(self):
        """Inverses of the scatter matrices' factors."""
        return np.linalg.inv(np.linalg.cholesky(self.scatter))

    def place(self, rows):
        """The cell of each of these rows."""
        if not len(self.dividers):
            return np.zeros(len(rows), dtype=np.intp)
        codes = rows[:, self.dividers].astype(np.int32)
        if self.strides is None:
            _, first, which = unique_rows(np.concatenate([self.known, codes]))
            # a cell that has rows stands where it is first
            return np.minimum(first, len(self.known))[which[len(self.known) :]]
        order, keys = self._sorted_keys
        key = (codes + 1) @ self.strides
        found = np.searchsorted(keys, key).clip(max=len(keys) - 1)
        return np.where(keys[found] == key, order[found], len(keys))

    @cached_property
    def strides(self):
        """By how much a level moves a cell's number; None if numbers are too large."""
        radix = [int(most) + 2 for most in self.known.max(axis=0)]
        # one more level than there is stands for those that are not known
        strides = [math.prod(r + 1 for r in radix[k + 1 :]) for k in range(len(radix))]
        return None if strides[0] * (radix[0] + 1) >= 2**62 else np.array(strides)

    @cached_property
    def _sorted_keys(self):
        keys = (self.known.astype(np.int64) + 1) @ self.strides
        order = np.argsort(keys)
        return order, keys[order]
