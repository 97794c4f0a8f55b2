"""One structure, several sets of rows: their scores added up."""

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from skbidag._data import columns_of, encode_column
from skbidag.scores import BaseScore, CategoricalScore, ConditionalGaussian
from skbidag.scores._interventional import with_interventions
from skbidag.scores.capabilities import EvidenceScore


class SummedScore(BaseScore):
    """The sum of a score over sets of rows that share a structure, not parameters.

    The rows of ``fit`` may be several sets. Beside these there may be rows of some of
    the columns alone: there, parents among the other columns are left out. The prior of
    an edge counts once.

    Parameters
    ----------
    score : BaseScore
        The score of each set.
    sets : ndarray of shape (n_samples,), default=None
        Which set each row of ``fit`` belongs to; None is one.
    initial : dataframe of shape (n_rows, n_columns), default=None
        The rows of some columns alone.
    initial_columns : ndarray of int, default=None
        Which columns these are.
    initial_weight : ndarray of shape (n_rows,), default=None
        How often each of these rows counts.
    initial_interventions : ndarray of bool, shape (n_rows, n_columns), default=None
        Which of their cells were set.
    interventions : ndarray of bool, shape (n_samples, n_features), default=None
        Which cells of the rows of ``fit`` were set.
    edge_penalty : float or "auto", default="auto"
        Each edge divides the prior probability of a DAG by this.

    Attributes
    ----------
    parts_ : list of (BaseScore, ndarray of int)
        The fitted scores, and the place of each column in it, -1 if it has it not.
    """

    def __init__(
        self,
        score,
        sets=None,
        initial=None,
        initial_columns=None,
        initial_weight=None,
        initial_interventions=None,
        interventions=None,
        edge_penalty="auto",
    ):
        self.score = score
        self.sets = sets
        self.initial = initial
        self.initial_columns = initial_columns
        self.initial_weight = initial_weight
        self.initial_interventions = initial_interventions
        self.interventions = interventions
        self.edge_penalty = edge_penalty

    def _fit(self, X, sample_weight):
        n = self.n_features_in_
        sets = np.zeros(len(X), dtype=int) if self.sets is None else self.sets
        self.parts_ = []
        for number in np.unique(sets):
            rows = np.flatnonzero(sets == number)
            weight = None if sample_weight is None else sample_weight[rows]
            cells = None if self.interventions is None else self.interventions[rows]
            part = with_interventions(without_penalty(self.score), cells)
            part.fit(_safe_indexing(X, rows), sample_weight=weight)
            self.parts_.append((part, np.arange(n)))
        if self.initial is not None:
            part = without_penalty(self.score)
            if isinstance(part, CategoricalScore | ConditionalGaussian):
                levels = [part.categories[column] for column in self.initial_columns]
                part.set_params(categories=levels)
            part = with_interventions(part, self.initial_interventions)
            part.fit(self.initial, sample_weight=self.initial_weight)
            place = np.full(n, -1)
            place[self.initial_columns] = np.arange(len(self.initial_columns))
            self.parts_.append((part, place))

    @property
    def of_parameters(self):
        """That of the rows of ``fit``, if they are one set."""
        return self.parts_[0][0] if self.sets is None else self

    @property
    def _shown_name(self):
        return type(self.score).__name__

    @property
    def entry_seconds(self):
        """About how long one entry of a table takes."""
        return sum(part.entry_seconds for part, _ in self.parts_)

    @property
    def set_seconds(self):
        """About how long one parent set takes."""
        return sum(part.set_seconds for part, _ in self.parts_)

    def test_data(self, X, sample_weight=None):
        if not isinstance(self.score, CategoricalScore | ConditionalGaussian):
            return super().test_data(X, sample_weight)
        columns, _ = columns_of(X)
        levels = self.parts_[0][0].of_all_rows.categories_
        codes = [
            np.asarray(values, dtype=float)
            if known is None
            else encode_column(values, known, self._column_name(column))
            for column, (values, known) in enumerate(zip(columns, levels, strict=True))
        ]
        return np.column_stack(codes), sample_weight

    @property
    def forbidden_edges_(self):
        """Those of the score."""
        return self.parts_[0][0].forbidden_edges_

    def log_marginal_likelihood(self, node, parents):
        parents = np.asarray(parents, dtype=np.intp)
        return sum(
            part.log_marginal_likelihood(place[node], present(place, parents))
            for part, place in self.parts_
            if place[node] >= 0
        )

    def addition_scores(self, node, parents):
        parents = np.asarray(parents, dtype=np.intp)
        total = np.zeros(self.n_features_in_)
        for part, place in self.parts_:
            if place[node] < 0:
                continue
            known = present(place, parents)
            scores = part.addition_scores(place[node], known)
            alone = part.local_score(place[node], known)
            total += np.where(place >= 0, scores[place], alone)
        odds = self.log_prior_odds_[:, node]
        total += odds + odds[parents].sum()
        total[node] = total[parents] = -np.inf
        return total

    def fill_table(self, node, candidates, outsiders, base_column, out, columns=None):
        candidates = np.asarray(candidates, dtype=np.intp)
        outsiders = np.asarray(outsiders, dtype=np.intp)
        columns = outsiders if columns is None else np.asarray(columns)
        odds, masks = self.log_prior_odds_[:, node], np.arange(len(out))
        log_prior = np.zeros(len(out))
        for k, candidate in enumerate(candidates):
            log_prior[masks >> k & 1 == 1] += odds[candidate]
        out[:, base_column] = log_prior
        out[:, columns] = log_prior[:, None] + odds[outsiders]
        for part, place in self.parts_:
            if place[node] < 0:
                continue
            kept = np.flatnonzero(place[candidates] >= 0)
            rows = np.zeros(len(out), dtype=np.intp)
            for bit, k in enumerate(kept):
                rows |= (masks >> k & 1) << bit
            known = place[outsiders] >= 0
            # as tables with few outsiders: the base column, theirs, one at least that
            # holds nothing, and all in whole vectors
            where = np.arange(1, known.sum() + 1)
            width = -(-(len(where) + 2) // 4) * 4 if len(where) else 1
            own = np.full((1 << len(kept), width), -np.inf)
            part.fill_table(
                place[node],
                place[candidates[kept]],
                place[outsiders[known]],
                0,
                own,
                columns=where,
            )
            own = own[rows]
            out[:, base_column] += own[:, 0]
            out[:, columns[known]] += own[:, where]
            out[:, columns[~known]] += own[:, :1]


class SummedMixedScore(SummedScore, EvidenceScore):
    """The same of a score of mixed data."""

    def log_bayes_factors(self, node, parents, others):
        parents, others = np.asarray(parents, dtype=np.intp), np.asarray(others)
        total = np.zeros(len(others))
        for part, place in self.parts_:
            known = place[others] >= 0
            if place[node] >= 0 and known.any():
                total[known] += part.log_bayes_factors(
                    place[node], present(place, parents), place[others[known]]
                )
        return total


@with_interventions.register
def _(score: SummedScore, cells):
    return clone(score).set_params(interventions=cells)


def present(place, columns):
    """The places of the columns that a part has."""
    return place[columns][place[columns] >= 0]


def without_penalty(score):
    """The score, not fitted, with a prior under which edges cost nothing."""
    part = clone(score)
    if "edge_penalty" in part.get_params():
        part.set_params(edge_penalty=1.0)
    return part
