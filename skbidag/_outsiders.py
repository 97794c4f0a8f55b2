"""Who may be a node's one additional parent, where not everybody can.

In tables, an outsider takes a column: with n variables, n columns for each of n nodes,
nearly all of them of variables that have nothing to do with the node. With many
variables only the strongest are outsiders: those that add most to the node's score by
themselves, and beside the first few parents that forward selection picks, the first of
each of these steps, then the second, and so on. One that depends on the node shows at
some step, unless others cancel its effect. Which variables these are does not depend on
the space, so that tables of nodes whose candidates stay are kept. A search still looks
at all variables as additions to the parents that a node has (`_search/_expansion.py`),
and what chains miss is told as `outside_mass_`.

A node with more candidates than usual has few outsiders as well, however many variables
there are, for its rows are many: those that add most beside all its candidates.

Cost: a handful of calls of `addition_scores` per node.
"""

import numpy as np

from skbidag._parallel import run_threads

# With so many variables or fewer, all are outsiders.
FEW_FEATURES = 256
# Outsiders of a node beyond that; 48 columns with the node's own and an empty one.
MOST_OUTSIDERS = 46
# Parents that are selected before, one after the other.
N_SELECTED = 4


def strongest_outsiders(score, forbidden, n_jobs=None):
    """Who may be an additional parent of whom.

    Parameters
    ----------
    score : BaseScore
        A fitted score.
    forbidden : ndarray of bool, shape (n_features, n_features)
        Edges that no DAG has.
    n_jobs : int, default=None
        Number of threads.

    Returns
    -------
    outsiders : ndarray of bool, shape (n_features, n_features), or None
        ``outsiders[i, j]`` for i as a parent of j; None if all may be.
    """
    n = len(forbidden)
    if n <= FEW_FEATURES:
        return None

    def of_node(node):
        allowed = ~forbidden[:, node]
        rank = np.full(n, n)
        parents, value = [], score.local_score(node, [])
        for _ in range(N_SELECTED + 1):
            scores = np.where(allowed, score.addition_scores(node, parents), -np.inf)
            order = np.argsort(-scores, kind="stable")
            rank[order] = np.minimum(rank[order], np.arange(n))
            best = int(order[0])
            if scores[best] <= value:
                break
            parents.append(best)
            value = scores[best]
        rank[~allowed] = n
        strong = np.zeros(n, dtype=bool)
        strong[np.argsort(rank, kind="stable")[:MOST_OUTSIDERS]] = True
        return strong & allowed

    return np.column_stack(run_threads(of_node, range(n), n_jobs))


def strongest_beside(score, node, candidates, allowed, n_outsiders):
    """The outsiders that add most to a node's score beside all its candidates.

    Parameters
    ----------
    score : BaseScore
        A fitted score.
    node : int
        The child.
    candidates : ndarray of int
        Its candidates.
    allowed : ndarray of bool, shape (n_features,)
        Who may be an outsider.
    n_outsiders : int
        How many there may be.

    Returns
    -------
    outsiders : ndarray of bool, shape (n_features,)
        The chosen ones.
    """
    scores = np.where(allowed, score.addition_scores(node, candidates), -np.inf)
    chosen = np.zeros(len(allowed), dtype=bool)
    chosen[np.argsort(-scores, kind="stable")[:n_outsiders]] = True
    return chosen & allowed
