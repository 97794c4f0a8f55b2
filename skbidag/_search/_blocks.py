"""Exact search in small blocks of the DAG: what no single step shows.

A search that is stuck often lacks no edge, but has some the wrong way round: a chain
x -> y -> z with the parents of x before it and the children of z behind it, where in
truth two children of z are its parents and the chain runs the other way. In between
lies nothing that pays. Or two colliders of the same variables change places, which takes
an edge that is removed, others that turn within the equivalence class, and then the
one that pays.

So small blocks of nodes choose their parents anew, all at once and exactly, while the
rest stays as it is (`_core/_block_search.pyx`). A block is a path of up to three nodes
along the edges, with the parents of its first node and the children of its last.
"""

import numpy as np

from skbidag._core._block_search import BlockSearch
from skbidag._search._expansion import descendants
from skbidag._search._orders import LEAST_GAIN

# Edges of the paths.
PATH_LENGTH = 2
# The most nodes of a block.
MOST_NODES = 12
# What a node has to choose from, unless its block is larger.
MOST_CANDIDATES = 10


class Blocks:
    """Better DAGs by exact search in blocks.

    Blocks that did not pay are not tried again while all their nodes have the same
    parents.

    Parameters
    ----------
    problem : Problem
        Score and constraints.
    max_parents : int
        The largest set of parents.
    stop : Stop, default=None
        Ends the search early.
    """

    def __init__(self, problem, max_parents, stop=None):
        self.problem, self.max_parents, self.stop = problem, max_parents, stop
        self.failed = set()

    def __call__(self, adjacency):
        """Improve blocks of a DAG.

        Parameters
        ----------
        adjacency : ndarray of bool, shape (n_features, n_features)
            The DAG.

        Returns
        -------
        adjacency : ndarray of bool, shape (n_features, n_features)
            The better DAG, or None where no block pays.
        """
        constraints = self.problem.constraints
        better, improved = None, True
        while improved and not self.stop:
            improved = False
            for step in (self.families, self.blocks):
                found = step(adjacency)
                if found is not None:
                    better, adjacency, improved = found, found, True
        return better

    def families(self, adjacency):
        """The better DAG with other parents of single nodes, or None."""
        adjacency, better = adjacency.copy(), None
        for node in np.flatnonzero(~self.problem.constraints.background):
            chosen = self.better_parents(adjacency, node)
            if chosen is not None:
                adjacency[:, node] = False
                adjacency[chosen, node] = True
                better = adjacency
        return better

    def better_parents(self, adjacency, node):
        """Parents that score more than a node's own, or None.

        Forward selection goes on from its parents, and from these without each one.
        """
        score, constraints = self.problem.score, self.problem.constraints
        allowed = ~(descendants(adjacency, node) | constraints.forbidden[:, node])
        parents = np.flatnonzero(adjacency[:, node]).tolist()
        state = node, tuple(parents), allowed.tobytes()
        if state in self.failed:
            return None
        most = max(self.max_parents, len(parents))
        best, highest = None, score.local_score(node, parents) + LEAST_GAIN
        for left_out in [node, *parents]:
            if constraints.required[left_out, node]:
                continue
            may_be = allowed.copy()
            may_be[left_out] = False
            kept = [parent for parent in parents if parent != left_out]
            chosen, value = score.select_parents(
                node, np.flatnonzero(may_be), most, kept=kept
            )
            if value > highest:
                best, highest = chosen, value
        if best is None:
            self.failed.add(state)
        return best

    def blocks(self, adjacency):
        """The better DAG with other parents of blocks, or None."""
        constraints = self.problem.constraints
        search = BlockSearch(
            self.problem.score,
            adjacency,
            constraints.forbidden,
            constraints.required,
            self.max_parents,
            MOST_CANDIDATES,
            LEAST_GAIN,
        )
        improved = False
        for block in blocks_of(adjacency, constraints.background):
            state = block, tuple(map(search.parents_of, block))
            if state in self.failed or self.stop:
                continue
            if search.improve(block) > 0:
                improved = True
            else:
                self.failed.add(state)
        return search.adjacency() if improved else None


def blocks_of(adjacency, background):
    """Blocks of a DAG that are in no other one, the largest first."""
    main = ~background
    parents = [frozenset(np.flatnonzero(column & main).tolist()) for column in adjacency.T]
    children = [frozenset(np.flatnonzero(row).tolist()) for row in adjacency]
    found = set()
    for start in np.flatnonzero(main).tolist():
        paths = [(start,)]
        for _ in range(PATH_LENGTH + 1):
            for path in paths:
                found.add(parents[start].union(path, children[path[-1]]))
            paths = [(*path, child) for path in paths for child in children[path[-1]]]
    fitting = sorted(
        (sorted(block) for block in found if 2 < len(block) <= MOST_NODES),
        key=lambda block: (-len(block), block),
    )
    return [tuple(block) for block in without_parts(fitting)]


def without_parts(blocks):
    """Leave out what is part of an earlier block."""
    containing = {}
    for block in blocks:
        nodes = frozenset(block)
        if not any(nodes <= other for other in containing.get(block[0], ())):
            yield block
            for node in block:
                containing.setdefault(node, []).append(nodes)
