"""A score of data in which some cells were set by the experimenter.

A variable that was set does not tell how it comes about: its row takes no part in its
own local score, and counts in full wherever the variable is a parent (Cooper & Yoo
1999). So there is a score for each set of rows, those in which one variable or several
were left alone, and each variable asks its own. What the prior takes from the data is
the same for all of them, so that DAGs of an interventional equivalence class have the
same score.
"""

from copy import copy
from functools import singledispatch

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from skbidag._data import check_weights, columns_of, encode_column, unique_rows
from skbidag.scores._pair_evidence import PairEvidence
from skbidag.scores.base import BaseScore
from skbidag.scores.bge import BGe
from skbidag.scores.capabilities import (
    CategoricalParameterScore,
    CategoricalPredictiveScore,
    CellParameterScore,
    CompletableScore,
    EvidenceScore,
    LinearCompletableScore,
    LinearParameterScore,
    LinearPredictiveScore,
    MixedParameterScore,
    MixedPredictiveScore,
    PredictiveScore,
    RegressionScore,
)


@singledispatch
def with_interventions(score, cells):
    """A score, not fitted, for data of which some cells were set.

    Parameters
    ----------
    score : BaseScore
        The score of the rows in which a variable was left alone.
    cells : ndarray of bool of shape (n_samples, n_features) or None
        Which cells were set.

    Returns
    -------
    score : BaseScore
        The score itself where none was.
    """
    if cells is None:
        return score
    for capability, kind in KINDS:
        if all(isinstance(score, needed) for needed in capability):
            return kind(score, cells)
    raise AssertionError("the last kind takes every score")


class InterventionalScore(BaseScore):
    """Local scores of the rows in which the child was left alone.

    Parameters
    ----------
    score : BaseScore
        The score.
    interventions : ndarray of bool of shape (n_samples, n_features)
        Which cells were set.

    Attributes
    ----------
    scores_ : list of BaseScore
        For each variable the score of its rows; variables of the same rows share one.
    """

    def __init__(self, score, interventions):
        self.score = score
        self.interventions = interventions

    @property
    def edge_penalty(self):
        """That of the score."""
        return self.score.edge_penalty

    @property
    def entry_seconds(self):
        """That of the score."""
        return self.scores_[0].entry_seconds

    @property
    def set_seconds(self):
        """That of the score."""
        return self.scores_[0].set_seconds

    @property
    def log_prior_odds_(self):
        """One matrix for all of the scores."""
        return self._log_prior_odds

    @log_prior_odds_.setter
    def log_prior_odds_(self, log_odds):
        self._log_prior_odds = log_odds
        for score in self.scores_:
            score.log_prior_odds_ = log_odds

    def _fit(self, X, sample_weight):
        score = clone(self.score)
        if "edge_penalty" in score.get_params(deep=False):
            score.set_params(edge_penalty=1.0)  # there is one for all
        whole = clone(score).fit(X, sample_weight=sample_weight)
        distinct, _, group = unique_rows(self.interventions.T)
        of_group = []
        for was_set in distinct:
            # of what was set throughout, which must be in the background, nothing
            # depends on this
            rows = np.flatnonzero(~was_set | was_set.all())
            weights = None
            if sample_weight is not None:
                weights = np.asarray(sample_weight)[rows]
            part = whole.with_same_levels()
            of_group.append(part.fit(_safe_indexing(X, rows), sample_weight=weights))
        scores = [of_group[k] for k in group]
        of_group = type(whole).with_one_prior(of_group, scores)
        self.scores_ = [of_group[k] for k in group]
        self._whole = whole

    @property
    def forbidden_edges_(self):
        """Those of the score."""
        return self._whole.forbidden_edges_

    @property
    def of_all_rows(self):
        """The score as if nothing had been set."""
        return self._whole

    def test_data(self, X, sample_weight=None):
        return self._whole.test_data(X, sample_weight)

    # What is asked of a node goes to the score of its rows.

    def log_marginal_likelihood(self, node, parents):
        return self.scores_[node].log_marginal_likelihood(node, parents)

    def fill_table(self, node, *args, **kwargs):
        self.scores_[node].fill_table(node, *args, **kwargs)

    def fill_table_for_maxima(self, node, *args, **kwargs):
        self.scores_[node].fill_table_for_maxima(node, *args, **kwargs)

    @property
    def grows_tables(self):
        """Whether the score does."""
        return self.scores_[0].grows_tables

    def fill_table_beside(self, parent, floor, node, *args, **kwargs):
        self.scores_[node].fill_table_beside(parent, floor, node, *args, **kwargs)

    def fill_subsets(self, node, candidates, kept, out):
        self.scores_[node].fill_subsets(node, candidates, kept, out)

    def addition_scores(self, node, parents):
        return self.scores_[node].addition_scores(node, parents)

    def select_parents(self, node, *args, **kwargs):
        return self.scores_[node].select_parents(node, *args, **kwargs)

    def pair_scores(self, node, *args, **kwargs):
        return self.scores_[node].pair_scores(node, *args, **kwargs)


class InterventionalCompletable(CompletableScore):
    """What scores of data share that were set in some cells and are missing in others.

    Rows without missing cells are not kept apart: which of them count depends on the
    variable.
    """

    adds_rows = False

    def with_rows(self, rows, weights, which=None, beside=None):
        def of_node(score, chosen):
            return score.with_rows(rows[chosen], weights[chosen])

        return self._of_rows(of_node, slice(None) if which is None else which)

    def with_prior_of(self, rows, weights):
        def of_node(score, chosen):
            return score.renewed(rows[chosen], weights[chosen])

        score = self._of_rows(of_node, slice(None))
        parts = list({id(part): part for part in score.scores_}.values())
        type(parts[0]).with_one_prior(parts, score.scores_)
        return score

    def _of_rows(self, of_node, which):
        """The same with other scores of the variables, each made once."""
        cells, made = self.interventions[which], {}
        for node, part in enumerate(self.scores_):
            if id(part) not in made:
                chosen = ~cells[:, node] | self.interventions[:, node].all()
                made[id(part)] = of_node(part, np.flatnonzero(chosen))
        score = copy(self)
        score.scores_ = [made[id(part)] for part in self.scores_]
        return score


class InterventionalPredictiveScore(InterventionalScore, PredictiveScore):
    """The same of a score that predicts."""

    def log_predictive(self, X, node, parents):
        return self.scores_[node].log_predictive(X, node, parents)

    def sample_predictive(self, X, node, parents, random_state=None):
        score = self.scores_[node]
        return score.sample_predictive(X, node, parents, random_state)

    def check_rows(self, X):
        return self._whole.check_rows(X)


class InterventionalLinearScore(InterventionalPredictiveScore, LinearPredictiveScore):
    """The same of a score that predicts by regressions.

    The regression of a child is about the means of its own rows, which differ from
    those of its parents' rows: beside coefficients it has a constant.
    """

    @property
    def posterior_mean_(self):
        """The mean of each variable where it was left alone."""
        nodes = range(self.n_features_in_)
        return np.array([self.scores_[i].posterior_mean_[i] for i in nodes])

    def regression(self, node, parents):
        return self.scores_[node].regression(node, parents)

    def constant(self, node, parents):
        """What to add to the regression on deviations from ``posterior_mean_``."""
        coefficients, _ = self.regression(node, parents)
        own, mean = self.scores_[node].posterior_mean_, self.posterior_mean_
        parents = np.asarray(parents, dtype=np.intp)
        return float(-coefficients @ (own[parents] - mean[parents]))


class InterventionalLinearParameterScore(
    InterventionalLinearScore, LinearParameterScore
):
    """The same of a score that also knows how certain regressions are."""

    def coefficient_posterior(self, nodes, parents):
        nodes, parents = np.asarray(nodes), np.asarray(parents, dtype=np.intp)
        size = parents.shape[1]
        location = np.empty((len(nodes), size))
        root = np.empty((len(nodes), size, size))
        df = np.empty(len(nodes))
        for node in np.unique(nodes):
            mine = np.flatnonzero(nodes == node)
            location[mine], root[mine], df[mine] = self.scores_[
                node
            ].coefficient_posterior(nodes[mine], parents[mine])
        return location, root, df


class InterventionalRegressionScore(
    InterventionalLinearParameterScore, RegressionScore
):
    """The same of a score that knows all about regressions."""

    def regression_posterior(self, node, parents):
        return self.scores_[node].regression_posterior(node, parents)


class InterventionalLinearCompletableScore(
    InterventionalCompletable,
    InterventionalLinearParameterScore,
    LinearCompletableScore,
):
    """The same of a score whose data may have missing cells."""

    def draw_regression(self, node, parents, rng):
        return self.scores_[node].draw_regression(node, parents, rng)


class InterventionalBGe(
    InterventionalLinearCompletableScore, InterventionalRegressionScore
):
    """The same of BGe, whose predictive densities are Student t."""

    def student_t_of_groups(self):
        """What the predictive densities of all families are made of.

        They are those of :meth:`BGe.student_t`, of the rows of the child. So that all
        are of the same deviations, from ``posterior_mean_``, families have one more
        parent, the last variable, which is 1 in every row. With m the mean of a group
        of rows as such a deviation, and w what it is worth in rows, the scatter matrix
        is then T + w m m', beside w m and w, and what is left of the offset 1 + 1 / w
        is 1.

        Returns
        -------
        scatter, floor, offset, df, group
            For each group of rows the scatter matrix and the least variances, an
            offset, for each group the degrees of freedom, where a parent more counts,
            and the group of each variable.
        """
        parts = list({id(score): score for score in self.scores_}.values())
        group = np.array([parts.index(score) for score in self.scores_])
        n, n_groups = self.n_features_in_, len(parts)
        scatter, floor = np.zeros((n_groups, n + 1, n + 1)), np.zeros((n_groups, n + 1))
        df = np.empty(n_groups)
        for g, part in enumerate(parts):
            mean, scatter[g, :n, :n], floor[g, :n], _, part_df = part.student_t()
            with_one = np.append(mean - self.posterior_mean_, 1.0)
            worth = part.alpha_mu + part.n_effective_
            scatter[g] += worth * np.outer(with_one, with_one)
            df[g] = part_df - 1.0
        return scatter, floor, 1.0, df, group


class InterventionalCategoricalScore(
    InterventionalPredictiveScore, CategoricalPredictiveScore
):
    """The same of a score of categorical data."""

    @property
    def categories_(self):
        """The levels of each column, in all rows."""
        return self._whole.categories_

    @property
    def n_levels_(self):
        """How many there are."""
        return self._whole.n_levels_

    def test_data(self, X, sample_weight=None):
        # row by row, as X has them: what was set differs between rows that are alike
        columns, _ = columns_of(X)
        names = [self._column_name(column) for column in range(len(columns))]
        codes = [*map(encode_column, columns, self.categories_, names)]
        return np.column_stack(codes), check_weights(sample_weight, len(codes[0]))

    def log_predictive_codes(self, codes, node, parents):
        return self.scores_[node].log_predictive_codes(codes, node, parents)

    def check_rows(self, X):
        return CategoricalPredictiveScore.check_rows(self, X)


class InterventionalCategoricalParameterScore(
    InterventionalCategoricalScore, CategoricalParameterScore
):
    """The same of a score that also knows how certain probabilities are."""

    def posterior_counts(self, node, parents):
        return self.scores_[node].posterior_counts(node, parents)


class InterventionalCategoricalCompletableScore(
    InterventionalCompletable, InterventionalCategoricalParameterScore
):
    """The same of a score whose data may have missing cells."""


class InterventionalMixedScore(
    InterventionalPredictiveScore,
    MixedPredictiveScore,
    MixedParameterScore,
    EvidenceScore,
):
    """The same of a score of mixed data."""

    def _fit(self, X, sample_weight):
        super()._fit(X, sample_weight)
        self._keep_pairs(*self.test_data(X, sample_weight), self.interventions)

    def _keep_pairs(self, rows, weights, cells):
        """Keep what gives Bayes factors of pairs, on rows that are encoded."""
        counts, walks, part = weights > 0, None, self.scores_[0]
        if isinstance(part, EvidenceScore):
            walks = part.walks_over(rows[counts], weights[counts])
        self._pairs = None if walks is None else PairEvidence(walks, cells[counts])

    @property
    def is_categorical_(self):
        """Which columns are categorical."""
        return self._whole.is_categorical_

    @property
    def categories_(self):
        """The levels of each column, in all rows."""
        return self._whole.categories_

    @property
    def n_levels_(self):
        """How many there are."""
        return self._whole.n_levels_

    def check_rows(self, X):
        return MixedPredictiveScore.check_rows(self, X)

    def log_predictive(self, X, node, parents):
        return MixedPredictiveScore.log_predictive(self, X, node, parents)

    def sample_predictive(self, X, node, parents, random_state=None):
        args = self, X, node, parents, random_state
        return MixedPredictiveScore.sample_predictive(*args)

    def test_data(self, X, sample_weight=None):
        rows = self.encode(X)  # as X has them, not distinct ones
        return rows, check_weights(sample_weight, len(rows))

    def encode(self, X, missing="error"):
        return self._whole.encode(X, missing)

    def log_predictive_rows(self, rows, node, parents):
        return self.scores_[node].log_predictive_rows(rows, node, parents)

    def log_predictive_of_values(self, rows, node, *args):
        return self.scores_[node].log_predictive_of_values(rows, node, *args)

    def sample_predictive_rows(self, rows, node, parents, rng):
        return self.scores_[node].sample_predictive_rows(rows, node, parents, rng)

    def log_bayes_factors(self, node, parents, others):
        """Of the rows in which neither of the two was set, or of those of the node."""
        of_node = self.scores_[node] if self._pairs is None else self._pairs
        return of_node.log_bayes_factors(node, parents, others)

    def typical(self, node):
        return self.scores_[node].typical(node)

    def draw_family(self, node, parents, rng):
        return self.scores_[node].draw_family(node, parents, rng)


class InterventionalMixedCompletableScore(
    InterventionalCompletable, InterventionalMixedScore
):
    """The same of a score whose data may have missing cells."""

    def with_rows(self, rows, weights, which=None, beside=None):
        score = super().with_rows(rows, weights, which, beside)
        cells = self.interventions if which is None else self.interventions[which]
        score._keep_pairs(rows, weights, cells)
        return score

    def with_prior_of(self, rows, weights):
        score = super().with_prior_of(rows, weights)
        score._keep_pairs(rows, weights, self.interventions)
        return score


class InterventionalCellScore(InterventionalMixedCompletableScore, CellParameterScore):
    """The same of a score that knows the parameters of cells."""

    @property
    def divides_(self):
        return self._whole.divides_

    def cell_regressions(self, node, parents):
        return self.scores_[node].cell_regressions(node, parents)

    def cell_counts(self, node, parents):
        return self.scores_[node].cell_counts(node, parents)


# What a score must be, and what it then is with interventions; the first that fits
KINDS = [
    ((BGe,), InterventionalBGe),
    (
        (LinearPredictiveScore, LinearParameterScore, RegressionScore),
        InterventionalRegressionScore,
    ),
    (
        (LinearPredictiveScore, LinearParameterScore, LinearCompletableScore),
        InterventionalLinearCompletableScore,
    ),
    (
        (CategoricalPredictiveScore, CategoricalParameterScore, CompletableScore),
        InterventionalCategoricalCompletableScore,
    ),
    (
        (MixedPredictiveScore, MixedParameterScore, CellParameterScore),
        InterventionalCellScore,
    ),
    (
        (MixedPredictiveScore, MixedParameterScore, CompletableScore),
        InterventionalMixedCompletableScore,
    ),
    (
        (LinearPredictiveScore, LinearParameterScore),
        InterventionalLinearParameterScore,
    ),
    ((LinearPredictiveScore,), InterventionalLinearScore),
    (
        (CategoricalPredictiveScore, CategoricalParameterScore),
        InterventionalCategoricalParameterScore,
    ),
    ((CategoricalPredictiveScore,), InterventionalCategoricalScore),
    ((MixedPredictiveScore, MixedParameterScore), InterventionalMixedScore),
    ((PredictiveScore,), InterventionalPredictiveScore),
    ((), InterventionalScore),
]
