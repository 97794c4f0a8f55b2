"""Nodes with many parents, and room for these.

A permissible set of the usual size holds the parents of nearly every node. Where a
node's parents in the best DAG fill it, others that raise its score may be waiting: then
it is a hub, and its set may be larger, up to a size whose table costs no more than a
budget (`_search_space.hub_limit`). A larger table has fewer outsiders, so what a hub
gains at once is what forward selection picks beside its parents, from all variables
that are not below it in the DAG.
"""

import numpy as np

from skbidag._core._graphs import reachable
from skbidag._search_space import MOST_HUBS


def hub_parents(permitted, adjacency, problem, settings):
    """Parents of the nodes that need more room than usual.

    Parameters
    ----------
    permitted : ndarray of bool, shape (n_features, n_features)
        The space, in which some nodes may be hubs already.
    adjacency : ndarray of bool, shape (n_features, n_features)
        The best DAG so far.
    problem : Problem
        Score and constraints.
    settings : SearchSettings
        The usual limit, `max_parents`, and that of hubs.

    Returns
    -------
    parents : ndarray of bool, shape (n_features, n_features)
        Of each hub, its parents in the DAG and those that it should have beside;
        nothing for other nodes.
    """
    usual, most = settings.max_parents, settings.hub_limit or settings.max_parents
    parents = np.zeros_like(adjacency)
    if most <= usual:
        return parents
    gains = {}
    for node in np.flatnonzero(adjacency.sum(axis=0) >= usual):
        present = np.flatnonzero(adjacency[:, node])
        if len(present) > most:  # in dense networks
            selected, value = strongest(present, node, problem, most)
            _, without = strongest(present, node, problem, usual)
        else:
            below = reachable(adjacency.view(np.uint8), node)
            allowed = ~problem.constraints.forbidden[:, node]
            allowed &= ~np.asarray(below).astype(bool)
            selected, value = problem.score.select_parents(
                node, np.flatnonzero(allowed), most, kept=present
            )
            without = problem.score.local_score(node, present)
        if len(selected) > usual:
            parents[selected, node] = True
            gains[node] = value - without
    # hubs stay so; of others those come first that gain most
    is_hub = permitted.sum(axis=0) > usual
    waiting = sorted((node for node in gains if not is_hub[node]), key=gains.get)
    room = max(0, MOST_HUBS - int(is_hub.sum()))
    parents[:, waiting[: max(0, len(waiting) - room)]] = False
    return parents


def strongest(parents, node, problem, size):
    """The parents of a node that raise its score most, and that score."""
    required = np.flatnonzero(problem.constraints.required[:, node])
    return problem.score.select_parents(node, parents, size, kept=required, stop=False)


def large_limits(n_parents, usual, most):
    """How large the set of each node may be in a space that is to hold a DAG.

    All large tables together are no larger than those of the hubs that a space may
    have; nodes with the most parents come first.
    """
    wanted = np.clip(n_parents, usual, most)
    order = np.argsort(-wanted, kind="stable")
    fits = np.cumsum(2.0 ** wanted[order]) <= MOST_HUBS * 2.0**most
    limits = np.full(len(n_parents), usual)
    limits[order[fits]] = wanted[order[fits]]
    return limits


def without_needless_room(permitted, adjacency, problem, usual):
    """Cut sets down to the usual size where a DAG's parents do not need more.

    A search may have taken a node for a hub that was none in the end; chains would pay
    for its table. It keeps its parents, and the strongest of the others.
    """
    permitted = permitted.copy()
    too_large = permitted.sum(axis=0) > usual
    for node in np.flatnonzero(too_large & (adjacency.sum(axis=0) < usual)):
        kept, _ = problem.score.select_parents(
            node,
            np.flatnonzero(permitted[:, node]),
            usual,
            kept=np.flatnonzero((adjacency | problem.constraints.required)[:, node]),
            stop=False,
        )
        permitted[:, node] = False
        permitted[kept, node] = True
    return permitted
