"""Orders in which every node may have any parents that stand before it.

A search over orders by tables takes the best of all sets within a node's permissible
parents. Where these lack several of the true ones, for others have filled the set, no
order shows what is missing. Here nodes choose from all variables, by growing and
shrinking, which is no exact maximum but has no such limit; and climbs and kicks find
orders that way as well (`_core/_grow_shrink.pyx`).

Kicks turn an edge. Where a node is a parent of its true parents, these
depend on each other given it, so that a search has edges between them as well, and
triangles: there edges are turned most often.
"""

import numpy as np

from skbidag._core._grow_shrink import GrowShrinkOrder
from skbidag._search._expansion import descendants
from skbidag._search._orders import LEAST_GAIN, random_order

# Sets of parents that kicks may score, over those that climbs had scored before.
KICK_SHARE = 1.0
# Sets that a climb scores, per node, and the seconds that these may take.
USUAL_SETS = 100
NODE_SECONDS = 0.02


def is_affordable(problem):
    """Whether the score is fast enough for climbs in which nodes choose from all."""
    set_seconds = problem.n_features * problem.score.entry_seconds
    return USUAL_SETS * set_seconds <= NODE_SECONDS


class FreeOrders:
    """Climbs and kicks over orders in which nodes choose from all variables.

    Parameters
    ----------
    problem : Problem
        Score and constraints.
    max_parents : int
        The most parents of a node.
    generator : numpy.random.Generator
        Random numbers.
    stop : Stop, default=None
        Ends a search early.
    """

    def __init__(self, problem, max_parents, generator, stop=None):
        constraints = problem.constraints
        self.generator, self.stop = generator, stop
        self.required = constraints.required
        self.background = constraints.background
        self.most_sets = None
        self.state = GrowShrinkOrder(
            problem.score,
            constraints.forbidden,
            constraints.required,
            self.background,
            max_parents,
            LEAST_GAIN,
        )

    def start(self):
        """A good DAG, from a random order."""
        self.set_order(random_order(self.generator, self.required))
        self.climb()
        return self.state.adjacency()

    def improve(self, adjacency, log_score):
        """A better DAG than the given one, which has this log score, or None."""
        self.set_order(random_order(self.generator, adjacency))
        self.climb()
        self.kick_and_climb()
        if self.state.log_score > log_score + LEAST_GAIN:
            return self.state.adjacency()
        return None

    def set_order(self, order):
        """Move to an order, parents to the right."""
        order = order[::-1]
        self.state.set_order(order[~self.background[order]])

    def climb(self):
        """Relocate nodes to their best places until none can be bettered."""
        nodes = np.flatnonzero(~self.background)
        moved = True
        while moved and not self.stop:
            moved = sum(map(self.state.relocate, self.generator.permutation(nodes)))

    def kick_and_climb(self):
        """Turn an edge and climb, again and again; worse orders are taken back."""
        best, order = self.state.log_score, self.state.order
        if self.most_sets is None:
            self.most_sets = (1 + KICK_SHARE) * self.state.n_sets
        for _ in range(len(order)):
            kicked = self.kicked(order, self.state.adjacency())
            if kicked is None or self.stop or self.state.n_sets >= self.most_sets:
                break
            self.state.set_order(kicked)
            self.climb()
            if self.state.log_score < best - LEAST_GAIN:
                self.state.set_order(order)
            else:
                best, order = self.state.log_score, self.state.order

    def kicked(self, order, adjacency):
        """The order with one edge turned; None where there is no edge to turn.

        A family is drawn the more often the more triangles it has. The child, and its
        ancestors that stand after the parent, move to before it.
        """
        turnable = adjacency & ~self.required & ~self.background[:, None]
        neighbors = adjacency | adjacency.T
        edges = turnable.astype(float)
        n_triangles = ((neighbors @ edges) * edges).sum(axis=0)
        weights = n_triangles if n_triangles.any() else turnable.sum(axis=0) * 1.0
        if not weights.any():
            return None
        child = self.generator.choice(len(weights), p=weights / weights.sum())
        parent = self.generator.choice(np.flatnonzero(turnable[:, child]))
        start, end = (int(np.flatnonzero(order == x)[0]) for x in (parent, child))
        above = descendants(np.ascontiguousarray(adjacency.T), child)
        above[child], above[parent] = True, False
        moves = above[order]
        moves[:start], moves[end + 1 :] = False, False
        stays = ~moves[start : end + 1]
        return np.concatenate(
            [
                order[:start],
                order[moves],
                order[start : end + 1][stays],
                order[end + 1 :],
            ]
        )
