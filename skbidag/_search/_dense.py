"""Searching without tables, where nodes have more parents than these hold.

A table has all subsets of a permissible set, 2^20 at most. In dense networks, with some
sixteen edges a node, parents are more than that; and where a node may not have all of
its parents, the others get more in its stead, so that every order looks bad. What needs
no tables does not mind: climbs and kicks over orders in which nodes choose from all
variables, reversals, and local steps.

From a random order a climb rarely comes near, so others are tried (`_sinks.py`).
The best is kicked, and what that led to is improved until nothing pays.
"""

import numpy as np

from skbidag._search._expansion import once_per_dag, paying_pairs
from skbidag._search._free_orders import FreeOrders
from skbidag._search._local import LocalSearch
from skbidag._search._orders import LEAST_GAIN, random_order
from skbidag._search._reversals import Reversals
from skbidag._search._sinks import sink_orders

# Rows for each parent of a node: with fewer a regression tells more of noise, and by
# BIC a node with as many parents as rows would be explained to perfection.
ROWS_OF_PARENT = 10
# Rows for each variable that a start by correlations asks for.
FEWEST_ROWS = 2
# Mean number of parents in a dense network, by what a table holds.
DENSE_SHARE = 0.5


def search_if_dense(adjacency, problem, settings, most, generator, stop=None):
    """The DAG that a search without tables finds, if a DAG is dense.

    None otherwise, and where nodes shall not have more parents than tables hold: the
    user has given their number, or there are too few rows.

    Parameters
    ----------
    adjacency : ndarray of bool, shape (n_features, n_features)
        The DAG.
    problem : Problem
        Score and constraints.
    settings : SearchSettings
        How to search, with numbers.
    most : int
        The most parents of a node by tables.
    generator : numpy.random.Generator
        Random numbers.
    stop : Stop, default=None
        Ends the search early.

    Returns
    -------
    adjacency : ndarray of bool, shape (n_features, n_features), or None
        The DAG that was found.
    """
    may_have_more = settings.thrifty and most < most_parents(problem)
    if not may_have_more or not is_dense(adjacency, settings.max_parents, most):
        return None
    return DenseSearch(problem, generator, stop, settings.n_jobs).run(adjacency)


def is_dense(adjacency, usual, most):
    """Whether a network is so dense that the search had better do without tables.

    Parameters
    ----------
    adjacency : ndarray of bool, shape (n_features, n_features)
        A DAG that was found where nodes may have no more than `most` parents.
    usual, most : int
        The largest permissible set of most nodes, and that of some.
    """
    n_parents = adjacency.sum(axis=0)
    return bool(n_parents.mean() > DENSE_SHARE * usual or (n_parents >= most).any())


def most_parents(problem):
    """How many parents a node may have in the absence of tables."""
    return int(min(problem.n_features - 1, n_rows_of(problem) // ROWS_OF_PARENT))


class DenseSearch:
    """A search for the best DAG with any number of parents.

    Parameters
    ----------
    problem : Problem
        Score and constraints.
    generator : numpy.random.Generator
        Random numbers.
    stop : Stop, default=None
        Ends the search early.
    n_jobs : int, default=None
        Number of threads that look ahead of a climb.
    """

    def __init__(self, problem, generator, stop=None, n_jobs=None):
        self.problem, self.generator, self.stop = problem, generator, stop
        most = most_parents(problem)
        self.free = FreeOrders(problem, most, generator, stop, n_jobs)
        self.steps = [Reversals(problem, most, n_jobs)]
        self.many = problem.outsiders is not None
        if not self.many:  # otherwise these would take seconds
            pairs = once_per_dag(paying_pairs, problem)
            self.steps.append(LocalSearch(problem, most, pairs, stop))

    def run(self, adjacency):
        """Find a good DAG.

        Parameters
        ----------
        adjacency : ndarray of bool, shape (n_features, n_features)
            A DAG that a climb has found where nodes may have few parents.

        Returns
        -------
        adjacency : ndarray of bool, shape (n_features, n_features)
            The best DAG.
        """
        with self.free.helped():
            self.climb_from_each(self.orders(adjacency))
            self.kick()
        return self.improved(self.free.state.adjacency())

    def orders(self, adjacency):
        """Orders to climb from, parents to the right.

        With many variables a search by tables has been there before.
        """
        orders = [random_order(self.generator, adjacency)]
        n_rows = n_rows_of(self.problem)
        if not self.many and n_rows >= FEWEST_ROWS * self.problem.n_features:
            constraints = self.problem.constraints
            orders += sink_orders(
                correlations_of(self.problem),
                n_rows,
                constraints.required,
                constraints.background,
            )
        return orders

    def climb_from_each(self, orders):
        """Climb from all orders, and stand at the best that this leads to."""
        best, highest = None, -np.inf
        for order in orders:
            self.free.set_order(order)
            self.free.climb()
            if self.free.state.log_score > highest:
                best, highest = self.free.state.order, self.free.state.log_score
        self.free.state.set_order(best)

    def kick(self):
        """Kick and climb, in one order of the best DAG and then in others."""
        before = -np.inf
        while self.free.state.log_score > before + LEAST_GAIN and not self.stop:
            before = self.free.state.log_score
            self.free.kick_and_climb()
            self.free.set_order(
                random_order(self.generator, self.free.state.adjacency())
            )
            self.free.climb()

    def improved(self, adjacency):
        """The DAG after all steps that pay."""
        waiting = list(self.steps)
        while waiting and not self.stop:
            step = waiting.pop(0)
            better = step(adjacency)
            if better is not None:
                adjacency = better
                waiting = [other for other in self.steps if other is not step]
        return adjacency


def n_rows_of(problem):
    """How many rows the data have, repeated ones and all."""
    return len(problem.data) if problem.weights is None else problem.weights.sum()


def correlations_of(problem):
    """Correlations of the variables; constants have none."""
    covariance = np.cov(problem.data, rowvar=False, aweights=problem.weights)
    spread = np.sqrt(np.diag(covariance))
    spread[spread == 0] = 1.0
    correlations = covariance / np.outer(spread, spread)
    np.fill_diagonal(correlations, 1.0)
    return correlations
