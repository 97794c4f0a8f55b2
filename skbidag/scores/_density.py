"""A structure prior that is right at every size: the penalty that the density asks for.

With a uniform prior over DAGs, a pair of variables without an edge has no better chance
than one with. But of 80 variables 3160 pairs are there, of which some 160 have an edge
in a sparse network: each of the others is one more chance to be wrong. How dense a
network is, the data tell before any search: forward selection by the score picks for
each variable what tells about it, and pairs that pick each other are about as many as
there are edges.
"""

from numbers import Real

import numpy as np

from skbidag._sklearn import Interval, StrOptions

#: What the parameter ``edge_penalty`` may be
EDGE_PENALTY = [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")]

# The penalty over the odds against an edge, by measurement (docs/architecture.rst).
SHARE_OF_ODDS = 1 / 3

# The most variables that are selected for each
MOST_SELECTED = 14


def automatic_penalty(score):
    """Penalty of an edge, at least 1, for a fitted score without one."""
    return max(1.0, SHARE_OF_ODDS * odds_against_an_edge(score))


def odds_against_an_edge(score):
    """Pairs without an edge to each with one, as forward selections tell.

    Parameters
    ----------
    score : BaseScore
        A fitted score without a penalty.

    Returns
    -------
    odds : float
        0 where there is no pair.
    """
    n = score.n_features_in_
    n_pairs = n * (n - 1) // 2
    picked = np.zeros((n, n), dtype=bool)
    for node in range(n):
        others = np.flatnonzero(np.arange(n) != node)
        if score.forbidden_edges_ is not None:
            others = others[~score.forbidden_edges_[others, node]]
        parents, _ = score.select_parents(node, others, min(n - 1, MOST_SELECTED))
        picked[parents, node] = True
    n_mutual = max(1, np.triu(picked & picked.T).sum())
    return max(0.0, (n_pairs - n_mutual) / n_mutual)
