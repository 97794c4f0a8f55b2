"""Parents of hubs, found among what depends on them.

The parents of a node with many children are hard to tell from these. Where a search has
them as children, none can be turned with a gain, for it takes two parents to make a
collider. Often two do not pay either: one of them may depend on others below the node,
by a chain that must be turned as well, or the gain is there with a third one only.

So up to three neighbors at a time are put before the node in an order in which each
node chooses from all before it (`_free_orders.py`), and all others choose anew what
that makes better: the score of the order tells what the set is worth, whatever has to
be turned beside. Sets grow in a beam, as far as the node takes all of them for
parents, and from the best ones a climb starts.

An order is scored by walks in trees that are known, so a hub with 80 neighbors among
120 variables takes a tenth of a second.
"""

import numpy as np

from skbidag._search._expansion import descendants
from skbidag._search._orders import LEAST_GAIN, random_order
from skbidag.graphs import moral_graph

# Neighbors, parents of children among them, from which on a node is a hub.
HUB_SIZE = 24
# The largest sets that are tried, and how many sets of each size are enlarged.
MOST_TURNED = 3
BEAM_WIDTH = 16
# Sets from which a climb starts.
N_CLIMBS = 3


def turn_hubs(adjacency, free):
    """Find better parents of nodes with many neighbors.

    Parameters
    ----------
    adjacency : ndarray of bool, shape (n_features, n_features)
        The DAG.
    free : FreeOrders
        Climbs over orders in which nodes choose from all variables.

    Returns
    -------
    adjacency : ndarray of bool, shape (n_features, n_features)
        The better DAG, or None where nothing pays.
    """
    n_neighbors = moral_graph(adjacency).sum(axis=0)
    hubs = np.flatnonzero((n_neighbors > HUB_SIZE) & ~free.background)
    if hubs.size == 0:
        return None
    free.set_order(random_order(free.generator, adjacency))
    started = free.state.log_score
    for hub in hubs:
        if free.stop:
            break
        turn_hub(free, hub)
    if free.state.log_score > started + LEAST_GAIN:
        return free.state.adjacency()
    return None


def turn_hub(free, hub):
    """Move to an order with better parents of a node, where one is found."""
    state, order = free.state, free.state.order
    best, best_order = state.log_score, order
    adjacency = state.adjacency()
    above, below = split_at(free, order, hub)
    for parents in promising_parents(free, hub, above, below):
        state.set_order(before(above, parents, hub, below))
        near = free.near(np.array([hub, *parents]), adjacency)
        free.climb(near)
        if state.log_score > best + LEAST_GAIN:
            best, best_order = state.log_score, state.order
    state.set_order(best_order)


def split_at(free, order, hub):
    """What must stand before a node, and all others, both in the given order."""
    required = descendants(np.ascontiguousarray(free.required.T), hub)
    required[hub] = False
    return order[required[order]], order[~required[order] & (order != hub)]


def before(above, parents, hub, below):
    """The order with a node's parents directly before it."""
    others = below[~np.isin(below, parents)]
    return np.concatenate([above, parents, [hub], others]).astype(np.intp)


def promising_parents(free, hub, above, below):
    """Sets of variables that cost least, or pay most, as parents of a node."""
    state = free.state

    def values_of(trials):
        """Log scores, of those sets all of which the node takes for parents."""
        values = {}
        for parents in trials:
            state.set_order(before(above, parents, hub, below))
            if set(parents) <= set(state.parents(hub)):
                values[parents] = state.log_score
        return values

    def best_of(values, n_best):
        return sorted(values, key=lambda parents: (-values[parents], parents))[:n_best]

    values = values_of((other,) for other in below.tolist())
    candidates = sorted(parents[0] for parents in values)
    known = {}
    for _ in range(MOST_TURNED - 1):
        beam = best_of(values, BEAM_WIDTH)
        values = values_of({
            tuple(sorted((*parents, other)))
            for parents in beam
            for other in candidates
            if other not in parents
        })  # fmt: skip
        known.update(values)
    return best_of(known, N_CLIMBS)
