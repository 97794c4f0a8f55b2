"""A score to a power: what chains see that draw from a power of the posterior."""

import numpy as np

from skbidag.scores.base import BaseScore


class TemperedScore(BaseScore):
    """A fitted score, all of whose log scores are multiplied by a power.

    The DAGs of a search, the best parents of a node and all that depends on what is
    larger stay the same; sums over DAGs become those of a flatter posterior, or of one
    nearer to its best DAG.

    Parameters
    ----------
    score : BaseScore
        A fitted score.
    power : float
        The power, positive.
    """

    def __init__(self, score, power):
        self.score = score
        self.power = power
        self.n_features_in_ = score.n_features_in_
        self.log_prior_odds_ = power * score.log_prior_odds_
        self.entry_seconds = score.entry_seconds

    @property
    def set_seconds(self):
        return self.score.set_seconds

    def _fit(self, X, sample_weight):
        raise TypeError("A tempered score is made of one that is fitted.")

    def log_marginal_likelihood(self, node, parents):
        return self.power * self.score.log_marginal_likelihood(node, parents)

    def fill_table(self, node, candidates, outsiders, base_column, out, columns=None):
        where = {} if columns is None else {"columns": columns}
        self.score.fill_table(node, candidates, outsiders, base_column, out, **where)
        np.multiply(out, self.power, out=out)  # what is not there stays -inf

    def fill_table_for_maxima(
        self, node, candidates, outsiders, base_column, out, columns=None
    ):
        self.score.fill_table_for_maxima(
            node, candidates, outsiders, base_column, out, columns
        )
        np.multiply(out, self.power, out=out)

    def fill_subsets(self, node, candidates, kept, out):
        self.score.fill_subsets(node, candidates, kept, out)
        np.multiply(out, self.power, out=out)

    def addition_scores(self, node, parents):
        return self.power * self.score.addition_scores(node, parents)

    def select_parents(self, node, allowed, max_size, kept=(), stop=True):
        parents, log_score = self.score.select_parents(
            node, allowed, max_size, kept, stop
        )
        return parents, self.power * log_score

    def pair_scores(self, node, parents, others=None):
        log_scores = self.score.pair_scores(node, parents, others)
        return None if log_scores is None else self.power * log_scores

    def _column_name(self, column):
        return self.score._column_name(column)
