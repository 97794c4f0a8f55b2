"""Reversing single edges, with all parents of both ends chosen anew.

Order search alone does not get there: an edge x -> y whose reversal pays often does so
only if y takes over parents of x that were never permitted for y. Both ends lose their
parents; forward selection from all variables finds x new ones, y among them, then y
(the move of Grzegorczyk & Husmeier 2008, made greedy).
"""

import numpy as np

from skbidag._core._graphs import Descent
from skbidag._parallel import run_threads
from skbidag._search._orders import LEAST_GAIN


class Reversals:
    """Reversals of single edges, made while they pay.

    With few variables edges are tried one after the other, each in the DAG that those
    before it left. With many (`Problem.outsiders` are some of them) all edges are tried
    in the DAG as it was, in threads, and those that pay once more, one after the other,
    until none does. An edge that did not pay is not tried again while both its ends
    have the same parents, unless nothing else pays.

    Parameters
    ----------
    problem : Problem
        Score and constraints.
    max_parents : int
        The largest set of parents.
    n_jobs : int, default=None
        Number of threads.
    """

    def __init__(self, problem, max_parents, n_jobs=None):
        constraints = problem.constraints
        self.score, self.constraints = problem.score, constraints
        self.max_parents, self.n_jobs = max_parents, n_jobs
        self.most = max_parents
        self.many = problem.outsiders is not None
        self.allowed = np.ascontiguousarray(~constraints.forbidden.T)
        self.required = [np.flatnonzero(column) for column in constraints.required.T]
        self.failed = {}
        self.values = {}  # local scores: most nodes have the same parents in other DAGs

    def __call__(self, adjacency):
        """Reverse edges of a DAG.

        Parameters
        ----------
        adjacency : ndarray of bool, shape (n_features, n_features)
            The DAG.

        Returns
        -------
        adjacency : ndarray of bool, shape (n_features, n_features)
            The better DAG, or None where no reversal pays.
        """
        self.most = self.limit(adjacency)
        dag = _Dag(adjacency, self.score, self.values)
        if not self.many:
            n_reversed = sum([self.reverse(dag, edge) for edge in self.edges(dag)])
        else:
            n_reversed = n_new = self.reverse_together(dag, self.open_edges(dag))
            while n_new:
                n_new = self.reverse_together(dag, self.open_edges(dag))
            if not n_reversed:
                n_reversed = self.reverse_together(dag, self.edges(dag))
        return dag.adjacency() if n_reversed else None

    def limit(self, adjacency):
        """The most parents of a node: as many as a hub has that found room."""
        return max(self.max_parents, int(adjacency.sum(axis=0).max(initial=0)))

    def edges(self, dag):
        """The edges whose reversal constraints permit."""
        edges = [
            (x, y)
            for y, parents in enumerate(dag.parents)
            for x in parents
            if self.may(x, y)
        ]
        return sorted(edges)

    def open_edges(self, dag):
        """Those not yet tried with the parents that both ends have."""
        return [
            edge
            for edge in self.edges(dag)
            if self.failed.get(edge) != dag.parents_of(edge)
        ]

    def may(self, x, y):
        """Whether constraints permit a reversal of x -> y."""
        return (
            self.allowed[x, y]
            and not self.constraints.required[x, y]
            and len(self.required[x]) < self.most
        )

    def reverse_together(self, dag, edges):
        """Try all edges in one DAG, then reverse those that pay; return how many."""
        trials = run_threads(lambda edge: self.attempt(dag, edge), edges, self.n_jobs)
        self.failed.update(
            (edge, dag.parents_of(edge))
            for edge, trial in zip(edges, trials, strict=True)
            if trial is None
        )
        paying = [e for e, trial in zip(edges, trials, strict=True) if trial]
        return sum(self.reverse(dag, edge) for edge in paying)

    def reverse(self, dag, edge):
        """Reverse an edge if it is there and that pays; tell whether it was done."""
        trial = self.attempt(dag, edge)
        if trial is not None:
            dag.change(*trial)
        return trial is not None

    def attempt(self, dag, edge):
        """New parents of both ends, and their scores; None if they are not better."""
        x, y = edge
        if x not in dag.parents[y]:
            return None
        parents = {x: self.required[x], y: self.required[y]}
        below = dag.descent.descendants(x, parents)
        if below[y]:
            return None
        values = {}
        parents[x], values[x] = self.select(x, below, [y])
        below = dag.descent.descendants(y, parents)
        parents[y], values[y] = self.select(y, below, [])
        if sum(values.values()) > dag.value(x) + dag.value(y) + LEAST_GAIN:
            return parents, values
        return None

    def select(self, node, below, kept):
        """Forward selection of parents from all variables that are not below."""
        kept = sorted({*kept, *self.required[node]})
        allowed = np.flatnonzero(self.allowed[node] & (below == 0))
        return self.score.select_parents(node, allowed, self.most, kept=kept)


class _Dag:
    """A DAG by its parent sets, which change, and the score of each, worked out once.

    Parameters
    ----------
    adjacency : ndarray of bool, shape (n_features, n_features)
        The DAG.
    score : BaseScore
        The score.
    known : dict
        The scores of nodes with parents that are known; it gets those that are not.
    """

    def __init__(self, adjacency, score, known):
        children, parents = np.nonzero(adjacency.T)
        self.parents = [
            of_node.tolist()
            for of_node in np.split(
                parents, np.searchsorted(children, np.arange(1, len(adjacency)))
            )
        ]
        self.score, self.known = score, known
        self.descent = Descent(self.parents)

    def parents_of(self, nodes):
        """The parents of nodes, as a key."""
        return tuple(tuple(self.parents[node]) for node in nodes)

    def value(self, node):
        """The local score of a node."""
        key = node, *self.parents[node]
        if key not in self.known:
            self.known[key] = self.score.local_score(node, self.parents[node])
        return self.known[key]

    def change(self, parents, values):
        """Give nodes other parents, of which the local scores are known."""
        for node in parents:
            self.parents[node] = sorted(parents[node])
            self.known[node, *self.parents[node]] = values[node]
        self.descent = Descent(self.parents)

    def adjacency(self):
        """The DAG as a matrix."""
        matrix = np.zeros((len(self.parents),) * 2, dtype=bool)
        for node, parents in enumerate(self.parents):
            matrix[parents, node] = True
        return matrix
