"""Choosing a node's parents anew from its whole Markov blanket.

A node with several parents is a collider of them. Where a search has it the other way
round, as the parent of some or all of these, no single edge can be reversed with a
gain: it takes two parents to make a collider, and the first alone is worth nothing or
less. Nor does a search over orders get there where the node's permissible set is
filled with its children, which is how hubs look: their few parents are squeezed out.

So for each node all neighbors, and the other parents of its children, may become
parents, and its parents children, several at once. What each of them would lose by
that is known beforehand, the difference of two forward selections: as a parent it has
to do without the node and all that is below. Given these, the best pair of parents is
found, for it takes two, then more of them one by one. The DAG that this leads to is
tried in earnest.

A blanket that fits the permissible set is the search's over orders, whose tables have
all its subsets. So this is for nodes with larger ones. For each of these it takes a
forward selection for each variable in the blanket, and one look at pairs.
"""

import numpy as np

from skbidag._search._expansion import descendants
from skbidag._search._orders import LEAST_GAIN
from skbidag.graphs import moral_graph

# Pairs from which parents are selected.
N_STARTS = 3


def turn_blankets(adjacency, problem, max_parents, usual_size):
    """Choose nodes' parents from their blankets while it pays.

    Parameters
    ----------
    adjacency : ndarray of bool, shape (n_features, n_features)
        The DAG.
    problem : Problem
        Score and constraints.
    max_parents : int
        The most parents of a node.
    usual_size : int
        Blankets up to this size are left alone.

    Returns
    -------
    adjacency : ndarray of bool, shape (n_features, n_features)
        The better DAG, or None where nothing pays.
    """
    best = None
    for node in np.flatnonzero(moral_graph(adjacency).sum(axis=0) > usual_size):
        better = turn_blanket(adjacency, node, problem, max_parents)
        if better is not None:
            adjacency = best = better
    return best


def turn_blanket(adjacency, node, problem, max_parents):
    """The better DAG with other parents of one node, or None."""
    required = problem.constraints.required
    trial = adjacency.copy()
    # without parents to begin with: these become children if that suits them
    trial[:, node] = required[:, node]
    changed = list(np.flatnonzero(adjacency[:, node] & ~trial[:, node]))
    for parent in changed:
        add_parents(trial, parent, problem, max_parents)
    worth = worth_as_parents(trial, node, problem, max_parents)
    if np.isfinite(worth).sum() < 2:
        return None
    below = descendants(trial, node)
    chosen = select_by_worth(problem, node, worth, max_parents)
    if set(chosen) == set(np.flatnonzero(adjacency[:, node])):
        return None
    turned = [parent for parent in chosen if below[parent]]
    trial[:, turned] = required[:, turned]
    trial[chosen, node] = True
    changed = np.unique([*changed, *turned, node])
    for child in [*turned, node]:
        add_parents(trial, child, problem, max_parents)
    gain = sum(
        value_of(problem.score, trial, child)
        - value_of(problem.score, adjacency, child)
        for child in changed
    )
    return trial if gain > LEAST_GAIN else None


def worth_as_parents(adjacency, node, problem, max_parents):
    """What the blanket's variables lose if they become parents of a node.

    Returns
    -------
    worth : ndarray of shape (n_features,)
        Zero where nothing has to change; -inf for variables that are not in the
        blanket, and for those that cannot be parents.
    """
    score, constraints = problem.score, problem.constraints
    below = descendants(adjacency, node)
    below[node] = True
    may_be = blanket_of(adjacency, node) & ~constraints.forbidden[:, node]
    may_be &= ~(constraints.required.T & below).any(axis=1)
    worth = np.where(may_be & ~below, 0.0, -np.inf)
    for other in np.flatnonzero(may_be & below):
        _, value = score.select_parents(
            other,
            np.flatnonzero(~below & ~constraints.forbidden[:, other]),
            max_parents,
            kept=np.flatnonzero(constraints.required[:, other]),
        )
        worth[other] = value - value_of(score, adjacency, other)
    return worth


def blanket_of(adjacency, node):
    """A node's parents, children, and the other parents of these."""
    children = adjacency[node]
    blanket = adjacency[:, node] | children | adjacency[:, children].any(axis=1)
    blanket[node] = False
    return blanket


def add_parents(adjacency, node, problem, max_parents):
    """Let forward selection add parents in place; returns the node's log score."""
    forbidden = problem.constraints.forbidden[:, node]
    parents, value = problem.score.select_parents(
        node,
        np.flatnonzero(~forbidden & ~descendants(adjacency, node)),
        max_parents,
        kept=np.flatnonzero(adjacency[:, node]),
    )
    adjacency[parents, node] = True
    return value


def value_of(score, adjacency, node):
    """Log score of a node with its parents in a DAG."""
    # a selection that adds nothing is compiled, where `local_score` checks its input
    parents = np.flatnonzero(adjacency[:, node])
    return score.select_parents(node, parents, len(parents), kept=parents)[1]


def select_by_worth(problem, node, worth, max_parents):
    """Select parents, a pair first, where each has a worth of its own.

    The best pair need not lead to the best set: the best without these two is a start
    as well, and so on.

    Parameters
    ----------
    problem : Problem
        Score and constraints.
    node : int
        The child.
    worth : ndarray of shape (n_features,)
        What each parent adds beside the score, -inf for never.
    max_parents : int
        The most parents.

    Returns
    -------
    parents : list of int
        The best set that was found.
    """
    required = np.flatnonzero(problem.constraints.required[:, node])
    worth = worth.copy()
    best, highest = list(required), -np.inf
    for pair in starting_pairs(problem.score, node, required, worth):
        parents, value = add_by_worth(
            problem.score, node, [*required, *pair], worth, max_parents
        )
        if value > highest:
            best, highest = parents, value
    return best


def starting_pairs(score, node, required, worth):
    """Pairs of variables that raise a node's score most, none of them in two pairs."""
    others = np.setdiff1d(np.flatnonzero(np.isfinite(worth)), required)
    scores = score.pair_scores(node, required, others)
    if scores is None or scores.size == 0:
        return [()]
    scores = scores + worth[others] + worth[others][:, None]
    pairs = []
    for _ in range(N_STARTS):
        pair = list(np.unravel_index(np.argmax(scores), scores.shape))
        if scores[tuple(pair)] == -np.inf:
            break
        pairs.append(tuple(others[pair]))
        scores[pair], scores[:, pair] = -np.inf, -np.inf
    return pairs


def add_by_worth(score, node, parents, worth, max_parents):
    """Forward selection from given parents; returns the set, and all it is worth."""
    parents = [int(parent) for parent in parents]
    _, value = score.select_parents(node, parents, len(parents), kept=parents)
    while len(parents) < max_parents:
        scores = score.addition_scores(node, parents) + worth
        parent = int(np.argmax(scores))
        if scores[parent] <= value:
            break
        parents.append(parent)
        value = scores[parent] - worth[parent]
    chosen = [parent for parent in parents if np.isfinite(worth[parent])]
    return parents, value + worth[chosen].sum()
