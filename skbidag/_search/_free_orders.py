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
from scipy.sparse import csr_array

from skbidag._core._grow_shrink import GrowShrinkOrder
from skbidag._parallel import helped, run_threads
from skbidag._search._orders import LEAST_GAIN, random_order

# Sets of parents that kicks may score, over those that climbs had scored before.
KICK_SHARE = 1.0
# Variables beyond which a climb after a kick is of the nodes near it alone: a sweep of
# all takes time in proportion to the square of their number. Then kicks are few, too.
MOST_SWEPT = 256
FEW_KICKS = 100
# Nodes between two of which an interrupt may come.
PART_OF_SWEEP = 64
# Variables beyond which fresh starts are better, and faster.
MOST_VARIABLES = 1024
# Sets of parents that are kept. They take some 16 bytes a variable, and sets of other
# orders are rarely met again.
MOST_KEPT = 500_000
# Seconds per score that it may take. Slower ones are those of categorical data, which
# annealing serves better: in andes, with 2230 rows, by 37 nats in one sample of two.
SLOWEST_ENTRY = 2e-8


def is_affordable(problem):
    """Whether climbs in which nodes choose from all variables are worth their time."""
    few = problem.n_features <= MOST_VARIABLES
    return few and problem.score.entry_seconds <= SLOWEST_ENTRY


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
    n_jobs : int, default=None
        Number of threads that look ahead of a climb.
    """

    def __init__(self, problem, max_parents, generator, stop=None, n_jobs=None):
        constraints = problem.constraints
        self.max_parents, self.generator = max_parents, generator
        self.stop, self.n_jobs = stop, n_jobs
        self.required = constraints.required
        self.background = constraints.background
        self.most_sets, self.n_forgotten = None, 0
        many = len(self.background) > MOST_SWEPT
        self.kicks_left = FEW_KICKS if many else np.inf
        self.state = GrowShrinkOrder(
            problem.score,
            constraints.forbidden,
            constraints.required,
            self.background,
            max_parents,
            LEAST_GAIN,
        )

    def start(self, order=None):
        """A good DAG, from a random order or a given one."""
        if order is None:
            order = random_order(self.generator, self.required)
        with self.helped():
            self.set_order(order)
            self.climb()
        return self.state.adjacency()

    def improve(self, adjacency, log_score):
        """A better DAG than the given one, which has this log score, or None."""
        with self.helped():
            self.set_order(random_order(self.generator, adjacency))
            self.climb()
            self.kick_and_climb()
        if self.state.log_score > log_score + LEAST_GAIN:
            return self.state.adjacency()
        return None

    def helped(self):
        """Context in which other threads help with climbs."""
        return helped(self.state, self.n_jobs)

    def set_order(self, order):
        """Move to an order, parents to the right."""
        order = order[::-1]
        self.state.set_order(order[~self.background[order]])

    def climb(self, nodes=None):
        """Relocate nodes, by default all, to their best places while that betters."""
        if nodes is None:
            nodes = np.flatnonzero(~self.background)
            if len(nodes) > MOST_SWEPT:
                run_threads(self.state.look_ahead, nodes, self.n_jobs)
        moved = True
        while moved and not self.stop:
            turns = self.generator.permutation(nodes)
            # in parts, for an interrupt waits for the end of one
            moved = sum(
                self.state.sweep(turns[k : k + PART_OF_SWEEP])
                for k in range(0, len(turns), PART_OF_SWEEP)
            )
            if self.state.n_sets > self.n_forgotten + MOST_KEPT:
                self.n_forgotten = self.state.n_sets
                self.state.forget()

    def kick_and_climb(self):
        """Turn an edge and climb, again and again; worse orders are taken back."""
        best, order = self.state.log_score, self.state.order
        if self.most_sets is None:
            self.most_sets = (1 + KICK_SHARE) * self.state.n_sets
        for _ in range(int(min(len(order), self.kicks_left))):
            self.kicks_left -= 1
            edges = self.state.edges()
            kicked = self.kicked()
            if kicked is None or self.stop or self.state.n_sets >= self.most_sets:
                break
            self.state.set_order(kicked)
            near = None
            if len(order) > MOST_SWEPT:
                near = self.near(order[order != kicked], edges)
            self.climb(near)
            if self.state.log_score < best - LEAST_GAIN:
                self.state.set_order(order)
            else:
                best, order = self.state.log_score, self.state.order

    def near(self, moved, edges):
        """Nodes that a kick has moved, and their neighbors before it and after."""
        is_moved = np.zeros(len(self.background), dtype=bool)
        is_moved[moved] = True
        near = is_moved.copy()
        for parents, children in edges, self.state.edges():
            near[children[is_moved[parents]]] = True
            near[parents[is_moved[children]]] = True
        return np.flatnonzero(near & ~self.background)

    def kicked(self):
        """The order with one edge turned; None where there is no edge to turn.

        A family is drawn the more often the more triangles it has. The child, and its
        ancestors that stand after the parent, move to before it.
        """
        parents, children = self.state.edges()
        n, order = len(self.background), self.state.order
        may_turn = ~(self.required[parents, children] | self.background[parents])
        one_way = csr_array((np.ones(len(parents)), (parents, children)), shape=(n, n))
        turnable = csr_array(
            (np.ones(may_turn.sum()), (parents[may_turn], children[may_turn])),
            shape=(n, n),
        )
        n_triangles = (((one_way + one_way.T) @ turnable) * turnable).sum(axis=0)
        weights = n_triangles if n_triangles.any() else turnable.sum(axis=0)
        if not weights.any():
            return None
        child = self.generator.choice(n, p=weights / weights.sum())
        parent = self.generator.choice(np.sort(parents[may_turn & (children == child)]))
        start, end = (int(np.flatnonzero(order == x)[0]) for x in (parent, child))
        above = self.state.ancestors(child)
        above[parent] = False
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
