"""Parents of hubs, found among what depends on them.

The parents of a node with many children are hard to tell from these. Where a search has
them as children, none can be turned with a gain, for it takes two parents to make a
collider. Often two do not pay either: one of them may depend on what is below the node,
which must be turned as well, or the gain is there with a third one only.

So up to three variables at a time are put before the node in an order in which each
node chooses from all before it (`_free_orders.py`), and all others choose anew what
that makes better: the score of the order tells what the set is worth, whatever has to
be turned beside. Sets grow in a beam, as far as the node takes all of them for
parents. From the best one, if it pays, a climb starts.

Most of an order is known, and the trees that nodes choose by are as well: with 120
variables, 60 of which depend on the hub, 3000 orders take a tenth of a second.
"""

import numpy as np

from skbidag._search._expansion import descendants
from skbidag._search._orders import LEAST_GAIN, random_order

# A node with more neighbors is a hub: they would fill its permissible set.
HUB_SIZE = 14
# The largest sets that are tried, and how many sets of each size are enlarged.
MOST_TURNED = 3
BEAM_WIDTH = 32


def turn_hubs(adjacency, log_score, free):
    """Find better parents of hubs.

    Parameters
    ----------
    adjacency : ndarray of bool, shape (n_features, n_features)
        The DAG.
    log_score : float
        Its log score.
    free : FreeOrders
        Climbs over orders in which nodes choose from all variables.

    Returns
    -------
    adjacency : ndarray of bool, shape (n_features, n_features)
        The better DAG, or None where nothing pays.
    """
    n_neighbors = (adjacency | adjacency.T).sum(axis=0)
    hubs = np.flatnonzero((n_neighbors > HUB_SIZE) & ~free.background)
    if hubs.size == 0:
        return None
    free.set_order(random_order(free.generator, adjacency))
    for hub in hubs:
        if free.stop:
            break
        turn_hub(free, hub)
    if free.state.log_score > log_score + LEAST_GAIN:
        return free.state.adjacency()
    return None


def turn_hub(free, hub):
    """Move to an order with better parents of a node, where one is found."""
    state, order = free.state, free.state.order
    log_score, edges = state.log_score, state.edges()
    above, below = split_at(free, order, hub)
    parents = best_parents(free, hub, above, below)
    state.set_order(before(above, parents, hub, below))
    if state.log_score > log_score + LEAST_GAIN:
        free.climb(free.near(np.array([hub, *parents]), edges))
    else:
        state.set_order(order)


def split_at(free, order, hub):
    """What must stand before a node, and all others, both in the given order."""
    required = descendants(np.ascontiguousarray(free.required.T), hub)
    required[hub] = False
    return order[required[order]], order[~required[order] & (order != hub)]


def before(above, parents, hub, below):
    """The order with a node's parents directly before it."""
    others = below[~np.isin(below, parents)]
    return np.concatenate([above, parents, [hub], others]).astype(np.intp)


def best_parents(free, hub, above, below):
    """The set of several variables that pays most, or costs least, as parents."""
    state = free.state
    state.set_order(before(above, (), hub, below))

    def values_of(trials):
        """Log scores, of those sets all of which the node takes for parents."""
        values = {parents: state.score_with_parents(hub, parents) for parents in trials}
        return {parents: v for parents, v in values.items() if v > -np.inf}

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
    return next(iter(best_of(known, 1)), ())
