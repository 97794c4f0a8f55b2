"""Local steps from a DAG that the search over orders is stuck at.

What no relocation in an order shows, though it is near:

- *Families*: other parents of a single node. In an order, one of them may stand behind
  the node although nothing in the DAG asks for that, with too much in between to pass.
- *Pairs*: two more parents of a single node that pay together, found for the space.
- *Insertions*: an edge that would close a cycle in this DAG, but not in an equivalent
  one (Chickering 2002). Of the neighbors of a node that may be its parents as well as
  its children, none, one, or two that are joined become parents, and the others
  children; then each variable that no path leads to may become a parent.
- *Blocks*: a chain x -> y -> z with the parents of x before it and the children of z
  behind it, where two children of z should be its parents and the chain run the other
  way. Or colliders that change places, which takes an edge that is removed, others that
  turn, and then the one that pays. In between lies nothing that pays. So small blocks
  of nodes choose their parents anew, all at once and exactly, while the rest stays as
  it is (`_core/_block_search.pyx`). A block is a path of up to three nodes along the
  edges, with the parents of its first node and the children of its last.
"""

from functools import cache
from itertools import combinations

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from skbidag._core._block_search import BlockSearch
from skbidag._core._graphs import topological_order
from skbidag._equivalence import to_cpdags
from skbidag._search._expansion import descendants
from skbidag._search._orders import LEAST_GAIN

# Edges of the paths that blocks are made of, and the most nodes of a block.
PATH_LENGTH = 2
MOST_NODES = 12
# What a node of a block has to choose from, unless the block is larger.
MOST_CANDIDATES = 8


class LocalSearch:
    """Better DAGs by local steps, made while they pay.

    What did not pay is not tried again while all that it depends on stays.

    Parameters
    ----------
    problem : Problem
        Score and constraints.
    max_parents : int
        The largest set of parents.
    pairs : callable
        The pairs of new parents that pay, as a function of a DAG: `paying_pairs`.
    stop : Stop, default=None
        Ends the search early.
    """

    def __init__(self, problem, max_parents, pairs, stop=None):
        self.problem, self.max_parents, self.stop = problem, max_parents, stop
        self.paying_pairs = pairs
        self.failed = set()

    def __call__(self, adjacency):
        """Improve a DAG.

        Parameters
        ----------
        adjacency : ndarray of bool, shape (n_features, n_features)
            The DAG.

        Returns
        -------
        adjacency : ndarray of bool, shape (n_features, n_features)
            The better DAG, or None where no step pays.
        """
        better, found = None, self.step(adjacency)
        while found is not None:
            better = found
            found = None if self.stop else self.step(better)
        return better

    def step(self, adjacency):
        """The DAG after steps of the first kind that pays, or None."""
        for improve in (self.families, self.insertions, self.blocks, self.pairs):
            better = improve(adjacency)
            if better is not None:
                return better
        return None

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
        best, highest = None, self.value(node, parents) + LEAST_GAIN
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

    def value(self, node, parents):
        """The local score; what selects nothing is compiled, and checks no input."""
        score = self.problem.score
        return score.select_parents(node, parents, len(parents), kept=parents)[1]

    def pairs(self, adjacency):
        """The better DAG in which single nodes have two parents more, or None."""
        better = None
        pairs = self.paying_pairs(adjacency)
        for node in np.flatnonzero(pairs.any(axis=0)):
            trial = adjacency.copy()
            trial[pairs[:, node], node] = True
            few = trial[:, node].sum() <= self.max_parents
            if few and self.is_better(trial, adjacency):
                better = adjacency = trial
        return better

    def insertions(self, adjacency):
        """The better DAG with more edges than an equivalent one, or None."""
        equivalent = EquivalentDAGs(adjacency, self.problem)
        better, changed = None, set()
        for _, node, parent, chosen in self.paying_edges(equivalent.cpdag):
            component = equivalent.labels[node]
            if component in changed:
                continue
            trial = equivalent.starting_with([*chosen, node], adjacency)
            trial[parent, node] = True
            if self.is_better(trial, adjacency):
                better = adjacency = trial
                changed.add(component)
        return better

    def paying_edges(self, cpdag):
        """Edges that pay in some DAG of the class, what pays most first.

        Returns
        -------
        edges : list of tuple
            The gain, the node, the parent, and those of its undirected neighbors that
            are parents as well.
        """
        undirected = cpdag & cpdag.T
        edges = []
        for node in np.flatnonzero(~self.problem.constraints.background):
            always = np.flatnonzero(cpdag[:, node] & ~undirected[node]).tolist()
            neighbors = np.flatnonzero(undirected[node]).tolist()
            pairs = [(i, j) for i, j in combinations(neighbors, 2) if undirected[i, j]]
            for chosen in [(), *((i,) for i in neighbors), *pairs]:
                edges.extend(self.paying_into(cpdag, node, always, chosen))
        return sorted(edges, reverse=True)

    def paying_into(self, cpdag, node, always, chosen):
        """Edges into one node, with certain neighbors of it as its parents."""
        parents = sorted([*always, *chosen])
        if len(parents) >= self.max_parents:
            return
        forbidden = self.problem.constraints.forbidden[:, node]
        gains = self.problem.score.addition_scores(node, parents)
        gains = gains - self.value(node, parents)
        pays = (gains > LEAST_GAIN) & ~forbidden & ~cpdag[node] & ~cpdag[:, node]
        if not pays.any():
            return
        others = cpdag.copy()
        others[:, list(chosen)] = False
        pays &= ~descendants(others, node)
        for parent in np.flatnonzero(pays).tolist():
            yield float(gains[parent]), int(node), parent, chosen

    def is_better(self, better, adjacency, least_gain=LEAST_GAIN):
        """Whether this is a DAG that keeps to the constraints, and scores more."""
        constraints = self.problem.constraints
        if topological_order(better.view(np.uint8)) is None:
            return False
        if (better & constraints.forbidden).any():
            return False
        if (constraints.required & ~better).any():
            return False
        gain = sum(
            self.value(node, np.flatnonzero(better[:, node]))
            - self.value(node, np.flatnonzero(adjacency[:, node]))
            for node in np.flatnonzero((better != adjacency).any(axis=0))
        )
        return gain > least_gain

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
        main = np.flatnonzero(~constraints.background)
        better = None
        if self.improved(search, adjacency, main):
            better = adjacency = search.adjacency()
        # each node once before all that it may be before in an equivalent DAG
        equivalent, present = EquivalentDAGs(adjacency, self.problem), adjacency
        for node in np.flatnonzero(equivalent.undirected.any(axis=0)):
            other = equivalent.starting_with([node], adjacency)
            if not self.is_better(other, adjacency, -LEAST_GAIN):
                continue
            search.set_dag(other, np.flatnonzero((other != present).any(axis=0)))
            present = other
            if self.improved(search, other, [node]):
                better = adjacency = present = search.adjacency()
                equivalent = EquivalentDAGs(adjacency, self.problem)
        return better

    def improved(self, search, adjacency, starts):
        """Improve blocks of a DAG, by paths from some nodes; tell whether one was."""
        improved = False
        paths = Paths(adjacency, self.problem.constraints.background)
        for block in paths.blocks_from(starts):
            state = block, tuple(map(search.parents_of, block))
            if state in self.failed or self.stop:
                continue
            if search.improve(block) > 0:
                improved = True
            else:
                self.failed.add(state)
        return improved


class EquivalentDAGs:
    """DAGs that are equivalent to one.

    Parameters
    ----------
    adjacency : ndarray of bool, shape (n_features, n_features)
        The DAG.
    problem : Problem
        Which edges experiments and a background give a direction.
    """

    def __init__(self, adjacency, problem):
        cpdags, _ = to_cpdags(
            adjacency[None], problem.constraints.background, problem.targets
        )
        self.cpdag = cpdags[0]
        self.undirected = self.cpdag & self.cpdag.T
        _, self.labels = connected_components(
            csr_array(self.undirected), directed=False
        )

    def starting_with(self, nodes, adjacency):
        """A DAG with nodes before all that they may come before in an equivalent one.

        They are joined to each other by undirected edges, and stand in the given order.
        Their component of undirected edges follows by maximum cardinality, which leads
        to no collider. All else is as in `adjacency`.
        """
        adjacency = adjacency.copy()
        left = self.labels == self.labels[nodes[0]]
        n_placed = np.zeros(len(left), dtype=int)  # of a node's neighbors
        waiting = list(nodes)
        while left.any():
            node = (
                waiting.pop(0) if waiting else np.argmax(np.where(left, n_placed, -1))
            )
            left[node] = False
            behind = self.undirected[node] & left
            adjacency[node, behind], adjacency[behind, node] = True, False
            n_placed[behind] += 1
        return adjacency


class Paths:
    """The paths of a DAG, for the blocks around them.

    Parameters
    ----------
    adjacency : ndarray of bool, shape (n_features, n_features)
        The DAG.
    background : ndarray of bool, shape (n_features,)
        Nodes that are in no block.
    """

    def __init__(self, adjacency, background):
        main = ~background
        self.parents = cache(lambda node: entries(adjacency[:, node] & main))
        self.children = cache(lambda node: entries(adjacency[node]))

    def blocks_from(self, nodes):
        """Blocks of paths from some nodes, those in no other one, the largest first."""
        found = set()
        for start in map(int, nodes):
            paths = [(start,)]
            for _ in range(PATH_LENGTH + 1):
                for path in paths:
                    ends = self.parents(start) | self.children(path[-1])
                    found.add(ends.union(path))
                paths = [
                    (*path, child)
                    for path in paths
                    for child in self.children(path[-1])
                ]
        fitting = sorted(
            (sorted(block) for block in found if 2 < len(block) <= MOST_NODES),
            key=lambda block: (-len(block), block),
        )
        return [tuple(block) for block in without_parts(fitting)]


def entries(chosen):
    """The numbers of what is chosen."""
    return frozenset(np.flatnonzero(chosen).tolist())


def without_parts(blocks):
    """Leave out what is part of an earlier block."""
    containing = {}
    for block in blocks:
        nodes = frozenset(block)
        if not any(nodes <= other for other in containing.get(block[0], ())):
            yield block
            for node in block:
                containing.setdefault(node, []).append(nodes)
