"""A walk over DAGs, each with an order beside it."""

from dataclasses import dataclass

import numpy as np

from skbidag._chains import bit_generator
from skbidag._core._dag import DAGChain
from skbidag._sampling import ChainMaker, Walk


def dag_moves(n):
    """Weights of the moves: the expensive ones in the order of 1 in n.

    Redraws and transpositions do the work. Swaps, and relocations, reversals and
    reorderings, which cost about n times as much, carry a chain further: without swaps
    an edge that is part of a cycle of four took fifty times as long to turn around.
    """
    return (4 * n, 4 * n, 30, 1, 1, 2)


@dataclass(frozen=True)
class DAGChainMaker(ChainMaker):
    """Makes the chains of one fit; can be pickled."""

    starts: list
    probabilities: np.ndarray

    def __call__(self, views, index):
        """Chain number `index` on the tables of `views`."""
        # one that goes on from elsewhere may start anywhere
        start = self.starts[index].dag if self.starts else self.modes[0]
        stream = bit_generator(self.entropy, 0, index)
        return DAGChain(views, stream, start, self.probabilities)

    def point_of(self, chain):
        """The order; its score is no part of the walk."""
        return chain.order, np.nan

    def settle(self, chain):
        """The DAG stays; an order is drawn given it."""
        chain.set_dag(chain.adjacency)

    def go_on_from(self, chain, dag, mode, generator):
        """Move to the mode, and to an order that is drawn given it."""
        chain.set_dag(mode)


@dataclass(frozen=True)
class DAGWalk(Walk):
    """A walk over DAGs by redraws, transpositions and larger moves."""

    probabilities: np.ndarray

    def chain_maker(self, starts, modes, entropy):
        """Chains start at the DAGs."""
        return DAGChainMaker(entropy, modes, starts, self.probabilities)

    def best_dag(self, tables, state):
        """The best DAG of the best order."""
        return tables.best_dag(state["best_order"])

    def traces(self, points, log_scores):
        """Orders with the parents first."""
        return {"order_trace_": points[..., ::-1]}
