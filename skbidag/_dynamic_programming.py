"""Dynamic programming over subsets: the best DAG, and exact probabilities of edges.

A DAG can have cycles only where the space of permitted edges has some. So what the
space makes of the variables falls apart into *blocks*, each with its own sums:

- of the best DAG, and of the posterior over DAGs, blocks are the strongly connected
  components of the space. Parents from other blocks close no cycle, and a node may have
  any of them, whatever the DAG is within its block.
- of the order-weighted posterior, blocks are the components without any edge between
  them. The orders of two such blocks can be merged in the same number of ways,
  whatever the DAGs are. Variables in the background are in no order, so the edges from
  them do not count there: each is a block by itself.

Memory and time grow exponentially with the largest block, not with the number of
variables; ``_core/_exact.pyx`` says how.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse.csgraph import connected_components

from skbidag._core._exact import (
    Layers,
    Sums,
    best_order,
    draw_layers,
    draw_orders,
    draw_parents,
    layer_sums,
    layer_weights,
    order_sums,
    order_weights,
    parent_probabilities,
)
from skbidag._tables import MEMORY_SHARE, build_tables, free_memory, table_bytes

ORDER_WEIGHTED = "order-weighted"
OVER_DAGS = "over DAGs"

# The most variables of a block: masks of more would not fit any memory.
MOST_VARIABLES = 30


@dataclass(frozen=True, eq=False)
class NodeInBlock:
    """A node, and which rows of its table stand for sets of the block's others.

    Attributes
    ----------
    table : NodeTable
        Its table, with sums or with maxima.
    others : ndarray of int
        The block's other nodes, sorted.
    """

    table: object
    others: np.ndarray

    @cached_property
    def bits(self):
        """The bit of each of the others in the table's masks; 0 if it is no parent."""
        where = np.searchsorted(self.table.candidates, self.others)
        found = np.isin(self.others, self.table.candidates)
        return np.where(found, 1 << where, 0)

    @cached_property
    def elsewhere(self):
        """Mask of the candidates from other blocks, which may always be parents."""
        return (1 << self.table.n_candidates) - 1 - int(self.bits.sum())

    @cached_property
    def rows(self):
        """The row of each set of the others."""
        rows = np.array([self.elsewhere])
        for bit in self.bits:
            rows = np.concatenate([rows, rows | bit])
        return rows

    @property
    def has_all_rows(self):
        """Whether rows and sets are the same."""
        return len(self.others) == self.table.n_candidates and bool(self.bits.all())

    def by_set(self, of_rows):
        """Values of the rows, for each set of the others."""
        return of_rows if self.has_all_rows else of_rows[self.rows]

    def mask_of(self, of_all, nodes):
        """Masks over the table's candidates, from masks over the block's nodes.

        Parameters
        ----------
        of_all : ndarray of uint32
            Masks whose bit k is ``nodes[k]``.
        nodes : ndarray of int
            The block's nodes.

        Returns
        -------
        masks : ndarray of int
            The same candidates, without those from other blocks.
        """
        masks = np.zeros(of_all.shape, dtype=np.intp)
        places = np.searchsorted(nodes, self.others)
        for place, bit in zip(places, self.bits, strict=True):
            masks |= np.where(of_all >> place & 1, bit, 0)
        return masks


def blocks_of(space, posterior=OVER_DAGS):
    """The blocks of a space, those of parents after those of their children.

    Parameters
    ----------
    space : SearchSpace
        A space that is not extended.
    posterior : str
        What is asked for, "order-weighted" or "over DAGs"; the best DAG has the blocks
        of the latter.

    Returns
    -------
    blocks : list of ndarray
        The nodes of each block, sorted.
    """
    connection = "weak" if posterior == ORDER_WEIGHTED else "strong"
    among_main = space.permitted & ~space.in_background[:, None]
    n_blocks, block = connected_components(
        among_main, directed=True, connection=connection
    )
    blocks = [np.flatnonzero(block == number) for number in range(n_blocks)]
    # parents last: a block comes after all blocks that it has edges into
    between = np.zeros((n_blocks, n_blocks), dtype=bool)
    i, j = np.nonzero(space.permitted)
    between[block[i], block[j]] = True
    np.fill_diagonal(between, False)
    in_turn, left = [], np.ones(n_blocks, dtype=bool)
    while left.any():
        free = int(np.flatnonzero(left & ~between[:, left].any(axis=1))[0])
        in_turn.append(blocks[free])
        left[free] = False
    return in_turn


def check_effort(space, posterior, memory_limit=None):
    """Raise a MemoryError where blocks are too large, before anything is allocated.

    Parameters
    ----------
    space : SearchSpace
        A space that is not extended.
    posterior : str or None
        What is asked for beside the best DAG.
    memory_limit : float, default=None
        Bytes there are; None stands for a share of what is free.
    """
    blocks = blocks_of(space, posterior)
    largest = max(blocks, key=len)
    n_bytes = effort_bytes(space, blocks, posterior)
    limit = MEMORY_SHARE * free_memory() if memory_limit is None else memory_limit
    if len(largest) <= MOST_VARIABLES and n_bytes <= limit:
        return
    remedy = "permit fewer edges (search_space, max_parents, tiers)"
    for other in [ORDER_WEIGHTED] if posterior == OVER_DAGS else []:
        if effort_bytes(space, blocks_of(space, other), other) <= limit:
            remedy += f", ask for posterior={other!r}"
    raise MemoryError(
        f"Exact answers about {len(largest)} variables that may all be ancestors of "
        f"each other would take {n_bytes:.3g} bytes, the limit is {limit:.3g}. Either "
        f"{remedy}, or use an estimator that samples."
    )


def effort_bytes(space, blocks, posterior):
    """Memory of the tables and of the largest block's sums, as a float."""
    sizes = np.array([len(nodes) for nodes in blocks], dtype=float)
    with np.errstate(over="ignore"):
        sets = 2.0**sizes
        # best scores per set; or weights before and after, and of each node and set,
        # with the rows of the tables that stand for these sets
        per_block = 8 * sets + (8 * 3 * sizes * sets / 2)
        if posterior is not None:
            per_block += 8 * 2 * sets
        if posterior == OVER_DAGS:
            per_block += 8 * (3.0**sizes + 5 * sets)
    return float(table_bytes(space, n_tables=2).sum() + per_block.max())


def nodes_in_blocks(blocks, tables):
    """Each block's nodes with their tables."""
    for nodes in blocks:
        yield (
            nodes,
            [NodeInBlock(tables[i], nodes[nodes != i]) for i in nodes],
        )


def find_best_dag(score, space, n_jobs=None):
    """The DAG with the highest score of all in the space.

    Parameters
    ----------
    score : BaseScore
        A fitted score.
    space : SearchSpace
        A space that is not extended.
    n_jobs : int, default=None
        Number of threads for the tables.

    Returns
    -------
    adjacency : ndarray of bool, shape (n_features, n_features)
        ``adjacency[i, j]`` is the edge i -> j.
    """
    tables = build_tables(
        score, space, scores=False, maxima=True, n_jobs=n_jobs, memory_limit=np.inf
    )
    order = []
    for nodes, members in nodes_in_blocks(blocks_of(space), tables):
        maxima = [member.by_set(member.table.maxima[:, 0]) for member in members]
        order.extend(nodes[best_order(Sums(maxima))])
    return tables.best_dag(order)


@dataclass(frozen=True, eq=False)
class ExactPosterior:
    """What is known exactly of a posterior.

    Attributes
    ----------
    probabilities : ndarray of shape (n_features, n_features)
        ``probabilities[i, j]`` is that of the edge i -> j.
    dags : ndarray of bool, shape (n_draws, n_features, n_features)
        Independent draws.
    log_scores : ndarray of shape (n_draws,)
        Their log scores.
    """

    probabilities: np.ndarray
    dags: np.ndarray
    log_scores: np.ndarray


def exact_posterior(score, space, posterior, generator, n_draws, n_jobs=None):
    """Edge probabilities, and DAGs drawn independently.

    Parameters
    ----------
    score : BaseScore
        A fitted score.
    space : SearchSpace
        A space that is not extended.
    posterior : {"order-weighted", "over DAGs"}
        Whether a DAG counts once for each of its orders, or once.
    generator : numpy.random.Generator
        For the draws.
    n_draws : int
        Number of DAGs to draw.
    n_jobs : int, default=None
        Number of threads for the tables.

    Returns
    -------
    exact : ExactPosterior
        The probabilities and the DAGs.
    """
    n = space.n_features
    tables = build_tables(score, space, n_jobs=n_jobs, memory_limit=np.inf)
    # relative to the best set: differences of logarithms in the thousands would have
    # fewer digits
    best = sum(table.scores.max() for table in tables)
    for table in tables:
        table.scores -= table.scores.max()
        table.add_sums(_NoWorkspace)
    probabilities = np.zeros((n, n))
    dags = np.zeros((n_draws, n, n), dtype=bool)
    log_scores = np.full(n_draws, best)
    for nodes, members in nodes_in_blocks(blocks_of(space, posterior), tables):
        sums = Sums([member.by_set(member.table.log_sums) for member in members])
        uniforms = generator.random((n_draws, len(nodes)))
        solve = solve_orders if posterior == ORDER_WEIGHTED else solve_dags
        weights, before, needed = solve(sums, uniforms)
        for k, member in enumerate(members):
            table = member.table
            probabilities[table.candidates, table.node] = parent_probabilities(
                table.log_sums, member.rows, weights[k], table.n_candidates
            )
            drawn = draw_parents(
                table.scores[:, 0],
                table.log_sums,
                member.mask_of(before[:, k], nodes) | member.elsewhere,
                member.mask_of(needed[:, k], nodes),
                generator.random(n_draws),
            )
            chosen = drawn[:, None] >> np.arange(table.n_candidates) & 1
            dags[:, table.candidates, table.node] = chosen == 1
            log_scores += table.scores[drawn, 0]
    return ExactPosterior(np.clip(probabilities, 0.0, 1.0), dags, log_scores)


class _NoWorkspace:
    """Memory that nobody hands on."""

    take = staticmethod(np.empty)


def solve_orders(sums, uniforms):
    """Weights of the predecessors of each node over orders, and draws of them.

    Parameters
    ----------
    sums : Sums
        Of the block's nodes.
    uniforms : ndarray of shape (n_draws, n_nodes)
        Random numbers.

    Returns
    -------
    weights : ndarray of shape (n_nodes, 2**(n_nodes - 1))
        Of each set of a node's others.
    predecessors, needed : ndarray of uint32, shape (n_draws, n_nodes)
        Where parents may be, and where one must be, as masks over the nodes.
    """
    before = order_sums(sums)
    predecessors = draw_orders(sums, before, uniforms)
    return order_weights(sums, before), predecessors, np.zeros_like(predecessors)


def solve_dags(sums, uniforms):
    """The same over DAGs, of which each counts once; see `solve_orders`."""
    layers = Layers(sums, order_sums(sums))
    ending = layer_sums(layers)
    predecessors, needed = draw_layers(layers, ending, uniforms)
    return layer_weights(layers, ending), predecessors, needed
