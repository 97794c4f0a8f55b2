"""Lookup tables: every score the chains need, computed once per node.

A node with K permissible parents has one row per subset of them (`mask`; bit k
stands for ``candidates[k]``). Where an extra parent is allowed, a row has one
column per variable: column j holds the subset plus the outsider j, and the node's
own column, which no outsider can claim, holds the subset alone (the *base
column*). Columns of variables that are not outsiders, and the padding to a multiple
of four, hold nothing. An order or partition then selects columns by comparing
positions, the base column among them, in one vector loop. Where only few variables
are outsiders, the columns are those of the node and of these (they are *scattered*),
and positions are looked up. Without an extra parent the base column is all there is.

Three tables may stand on one layout:

``scores``
    The log score of every parent set.
``ratios`` with ``log_sums``
    Sums over all subsets of a mask, for sampling (see ``_core/_subsets.pyx``).
``maxima``
    The best score over all subsets of a mask, for searching.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

from skbidag._core._subsets import subset_maxima, subset_sums
from skbidag._core._tables import TableViews
from skbidag._data import display_name
from skbidag._growth import MOST_NEWCOMERS, grow_maxima
from skbidag._parallel import run_threads
from skbidag._workspace import Workspace

# Share of the free memory that tables may take unless the user says otherwise.
MEMORY_SHARE = 0.6
# Entries of a table with more candidates than usual: as the rows double, half of the
# columns go.
LARGEST_TABLE = 1 << 22
POWERS_OF_TWO = 1 << np.arange(63, dtype=np.int64)


@dataclass
class NodeTable:
    """The tables of one node.

    Attributes
    ----------
    node : int
        The child.
    candidates : ndarray of shape (K,)
        Its permissible parents.
    outsiders : ndarray
        Variables of which one may join any subset of the candidates.
    required : int
        Mask of the candidates that every parent set contains.
    columns : ndarray of shape (width,)
        The variable of each column, the node itself for the base column; the number of
        variables where there is none.
    scores : ndarray of shape (2**K, width) or None
        Log score of each parent set, -inf where there is none. None where only
        maxima are kept.
    background : bool
        Whether the node is in the background: it has no parents, and no score.
    """

    node: int
    candidates: np.ndarray
    outsiders: np.ndarray
    required: int
    columns: np.ndarray
    scores: np.ndarray | None
    log_sums: np.ndarray | None = field(default=None, repr=False)
    ratios: np.ndarray | None = field(default=None, repr=False)
    maxima: np.ndarray | None = field(default=None, repr=False)
    background: bool = False

    @property
    def n_candidates(self):
        """Number of permissible parents, K."""
        return len(self.candidates)

    @cached_property
    def base_column(self):
        """The column of the subsets without an outsider."""
        return int(np.flatnonzero(self.columns == self.node)[0])

    @property
    def width(self):
        """Number of columns."""
        return len(self.columns)

    @cached_property
    def scattered(self):
        """Whether columns are those of few outsiders, not of all variables in turn."""
        in_turn = np.minimum(np.arange(self.width), self.columns.max())
        return self.width > 1 and not np.array_equal(self.columns, in_turn)

    @cached_property
    def columns_that_matter(self):
        """Columns whose maxima are above those of the base column in some row."""
        base = self.maxima[:, [self.base_column]]
        return (self.maxima > base).any(axis=0).view(np.uint8)

    @property
    def n_bytes(self):
        """Memory of the tables that are there."""
        tables = (self.scores, self.ratios, self.log_sums, self.maxima)
        return sum(table.nbytes for table in tables if table is not None)

    def add_sums(self, workspace):
        """Build the sums over subsets, unless they are there."""
        if self.ratios is None:
            ratios = workspace.take(self.scores.shape)
            log_sums = np.empty(len(self.scores))
            subset_sums(self.scores, self.base_column, ratios, log_sums)
            self.ratios, self.log_sums = ratios, log_sums

    def add_maxima(self, workspace, keep_scores=True):
        """Build the maxima over subsets, unless they are there.

        A search needs nothing else: without the scores it takes half the memory.
        """
        if self.maxima is None:
            self.maxima = self.scores
            if keep_scores:
                self.maxima = workspace.take(self.scores.shape)
                self.maxima[:] = self.scores
            subset_maxima(self.maxima)
        if not keep_scores:
            self.scores = None

    def release(self, workspace):
        """Give the memory back: the table is of no use any more."""
        for table in (self.scores, self.ratios, self.maxima):
            if table is not None:
                workspace.give(table)
        self.scores = self.ratios = self.log_sums = self.maxima = None

    def best_parents(self, mask, columns):
        """Best parent set within `mask` plus at most one of the outsiders `columns`.

        Parameters
        ----------
        mask : int
            Candidates that may be parents.
        columns : sequence of int
            Outsiders that may be parents.

        Returns
        -------
        parents : ndarray of int
            The parents, sorted.
        log_score : float
            Their score.
        """
        columns = np.append(self.base_column, self.columns_of(columns))
        if self.maxima is None:
            subsets = np.arange(len(self.scores))
            subsets = subsets[subsets & ~mask == 0]
            block = self.scores[np.ix_(subsets, columns)]
            row, column = np.unravel_index(np.argmax(block), block.shape)
            best, column = subsets[row], columns[column]
            return self.parents_of(best, column), float(block.max())
        column = columns[np.argmax(self.maxima[mask, columns])]
        value = self.maxima[mask, column]
        # The best set has the maximum that every set above it has: leave out
        # candidates as long as the maximum stays.
        for k in range(self.n_candidates):
            bit = 1 << k
            if mask & bit and self.maxima[mask ^ bit, column] == value:
                mask ^= bit
        return self.parents_of(mask, column), float(value)

    def log_score(self, parents):
        """Log score of a parent set, -inf if it does not stand in the table."""
        outside = np.setdiff1d(parents, self.candidates)
        if len(outside) > 1 or not np.isin(outside, self.outsiders).all():
            return -np.inf
        column = self.columns_of(outside)[0] if len(outside) else self.base_column
        return self.scores[mask_of(np.isin(self.candidates, parents)), column]

    def columns_of(self, outsiders):
        """The columns of outsiders."""
        outsiders = np.asarray(outsiders, dtype=np.intp)
        if not self.scattered:
            return outsiders
        return 1 + np.searchsorted(self.outsiders, outsiders)

    def parents_of(self, mask, column):
        """Variables in a subset, and the outsider of a column, sorted."""
        bits = [k for k in range(self.n_candidates) if mask >> k & 1]
        parents = self.candidates[bits]
        if column != self.base_column:
            parents = np.append(parents, self.columns[column])
        return np.sort(parents)


class ScoreTables(Sequence):
    """The tables of all nodes, a sequence of :class:`NodeTable`.

    Parameters
    ----------
    nodes : list of NodeTable
        One per node, in order.
    space : SearchSpace, default=None
        The space that they describe, if that is known.
    """

    def __init__(self, nodes, space=None):
        self.nodes, self.space = nodes, space

    def __len__(self):
        return len(self.nodes)

    def __getitem__(self, node):
        return self.nodes[node]

    @property
    def n_main(self):
        """Number of nodes that are not in the background: what orders are of."""
        return sum(not table.background for table in self.nodes)

    def views(self, maximize=False):
        """What kernels see of the tables, if they ask for maxima alone or not."""
        return TableViews(self.nodes, maximize)

    def log_score(self, adjacency):
        """Log score of a DAG, -inf if not all its parent sets stand in the tables."""
        return sum(
            table.log_score(np.flatnonzero(adjacency[:, table.node]))
            for table in self.nodes
        )

    def best_dag(self, order):
        """The best DAG whose parents all stand to the right of their children.

        Those in the background do so wherever the order has them.
        """
        n = len(self)
        place = np.empty(n, dtype=np.intp)
        place[order] = np.arange(n)
        place[[table.background for table in self.nodes]] = n
        adjacency = np.zeros((n, n), dtype=bool)
        for table in self.nodes:
            after = place > place[table.node]
            outsiders = table.outsiders[after[table.outsiders]]
            parents, _ = table.best_parents(mask_of(after[table.candidates]), outsiders)
            adjacency[parents, table.node] = True
        return adjacency

    def release(self, workspace):
        """Give the memory back: the tables are of no use any more."""
        for table in self.nodes:
            table.release(workspace)


def mask_of(chosen):
    """The number whose bit k is set where ``chosen[k]`` is true."""
    return int(chosen @ POWERS_OF_TWO[: len(chosen)])


def table_columns(space, node):
    """The variable of each column of a node's table, see `NodeTable`."""
    n = space.n_features
    if not space.extended:
        return np.array([node])
    outsiders = space.outsiders(node)
    width = table_width(n, len(outsiders), int(space.permitted[:, node].sum()))
    few = width < _whole_vectors(n)
    columns = np.append(node, outsiders) if few else np.arange(n)
    return np.pad(columns, (0, width - len(columns)), constant_values=n)


def table_width(n_features, n_outsiders, n_candidates):
    """Columns of a table row: few outsiders', or all variables', in whole vectors.

    A row of scattered columns has one at least that holds nothing. It pays where it is
    a quarter as long: places are looked up one by one. In a table larger than
    `LARGEST_TABLE` memory matters more, and half as long will do.
    """
    few, all_ = _whole_vectors(n_outsiders + 2), _whole_vectors(n_features)
    shorter = 2 if all_ << n_candidates > LARGEST_TABLE else 4
    return few if shorter * few <= all_ else all_


def outsiders_within_budget(n_candidates):
    """How many outsiders a table with many candidates has room for."""
    return max(0, (LARGEST_TABLE >> n_candidates) - 2)


def _whole_vectors(size):
    return -(-size // 4) * 4


def table_widths(space):
    """Columns of each node's table."""
    n = space.n_features
    if not space.extended:
        return np.ones(n)
    sizes = zip(space.extra.sum(axis=0), space.permitted.sum(axis=0), strict=True)
    return np.array([table_width(n, few, int(size)) for few, size in sizes], float)


def table_bytes(space, n_tables=2):
    """Memory of each node's tables.

    Parameters
    ----------
    space : SearchSpace
        The search space.
    n_tables : int, default=2
        How many tables of doubles stand side by side.

    Returns
    -------
    n_bytes : ndarray of shape (n_features,)
        Bytes per node, as floats: a node with many candidates exceeds integers.
    """
    sizes = space.permitted.sum(axis=0)
    with np.errstate(over="ignore"):
        return 8.0 * (n_tables * table_widths(space) + 1) * 2.0**sizes


def free_memory(cgroup=Path("/sys/fs/cgroup")):
    """Bytes that are free, or infinity where the system does not tell.

    In a container, what its control group (version 2 or 1) leaves, if that is less.
    """
    free = float("inf")
    try:
        with open("/proc/meminfo") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    free = 1024.0 * int(line.split()[1])
    except (OSError, ValueError):
        pass
    for limit, usage in (
        ("memory.max", "memory.current"),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"),
    ):
        try:
            limit, usage = ((cgroup / name).read_text() for name in (limit, usage))
            free = min(free, max(0.0, float(limit) - float(usage)))
        except (OSError, ValueError):  # not there, or "max"
            pass
    return free


def check_memory(space, memory_limit=None, names=None, n_tables=2, held=0.0, spare=0.0):
    """Raise a MemoryError that names the largest node if the tables do not fit.

    Parameters
    ----------
    space : SearchSpace
        The search space.
    memory_limit : float, default=None
        Bytes all tables may take; None stands for a share of what is free.
    names : sequence of str, default=None
        Names of the variables, for the message.
    n_tables : int, default=2
        How many tables stand side by side.
    held : array-like of shape (n_features,), default=0.0
        Bytes of each node's tables that are there already, and so need no memory
        that is free. A `memory_limit` counts them, too.
    spare : float, default=0.0
        Bytes that are held for tables and not in use.
    """
    n_bytes = table_bytes(space, n_tables)
    limit = memory_limit
    if limit is None:
        limit = MEMORY_SHARE * free_memory() + spare
        n_bytes = np.maximum(n_bytes - held, 0.0)
    if n_bytes.sum() <= limit:
        return
    node = int(np.argmax(n_bytes))
    raise MemoryError(
        f"The score tables would take {n_bytes.sum():.3g} bytes, the limit is "
        f"{limit:.3g}. The largest is that of node {display_name(names, node)}: "
        f"{int(space.permitted[:, node].sum())} permissible parents need "
        f"{n_bytes[node]:.3g} bytes. Lower max_parents or alpha, set "
        "extra_parent=False, or raise memory_limit."
    )


def build_tables(
    score,
    space,
    *,
    scores=True,
    sums=False,
    maxima=False,
    previous=(),
    workspace=None,
    n_jobs=None,
    memory_limit=None,
    names=None,
):
    """Build the tables of all nodes.

    Parameters
    ----------
    score : BaseScore
        A fitted score.
    space : SearchSpace
        Which parents each node may have.
    scores : bool, default=True
        Whether to keep the scores beside the maxima.
    sums, maxima : bool, default=False
        Which tables to build from the scores.
    previous : ScoreTables, default=()
        Tables of an earlier space with the same score. Nodes whose parents may
        still be the same keep theirs; the others' are released.
    workspace : Workspace, default=None
        Where the tables' memory comes from, and that of `previous` goes.
    n_jobs : int, default=None
        Number of threads.
    memory_limit : float, default=None
        Bytes all tables may take; None stands for a share of what is free.
    names : sequence of str, default=None
        Names of the variables, for messages.

    Returns
    -------
    tables : ScoreTables
        Of all nodes.
    """
    workspace = Workspace() if workspace is None else workspace
    unchanged = unchanged_nodes(getattr(previous, "space", None), space)
    kept = {t.node: t for t in previous if unchanged[t.node] or is_current(t, space)}
    others = {t.node: t for t in previous if t.node not in kept}
    growing = {}
    if maxima and score.grows_tables and not (scores or sums):
        growing = {node: t for node, t in others.items() if can_grow(t, space)}
    for node in others.keys() - growing.keys():
        others[node].release(workspace)
    held = np.zeros(space.n_features)
    held[list(kept)] = [table.n_bytes for table in kept.values()]
    spare = workspace.free_bytes + sum(t.n_bytes for t in growing.values())
    check_memory(space, memory_limit, names, scores + sums + maxima, held, spare)

    def build(node):
        table = kept.get(node)
        if node in growing:
            table = grown_table(score, space, growing[node], workspace)
            growing[node].release(workspace)
        elif table is None:
            table = score_table(score, space, node, workspace, scores or sums)
        if sums:
            table.add_sums(workspace)
        if maxima:
            table.add_maxima(workspace, keep_scores=scores)
        return table

    return ScoreTables(run_threads(build, range(space.n_features), n_jobs), space)


def unchanged_nodes(earlier, space):
    """Which nodes have the same permissible parents, for sure, as in another space."""
    if earlier is None or earlier.extended != space.extended:
        return np.zeros(space.n_features, dtype=bool)
    pairs = [
        (earlier.permitted, space.permitted),
        (earlier.extra, space.extra),
        (earlier.required, space.required),
        (earlier.in_background, space.in_background),
    ]
    return np.logical_and.reduce([
        np.atleast_2d(before == now).all(axis=0) for before, now in pairs
    ])  # fmt: skip


def is_current(table, space):
    """Tell whether a table still describes its node's parents in `space`."""
    return (
        np.array_equal(np.sort(table.candidates), space.candidates(table.node))
        and np.array_equal(table.outsiders, space.outsiders(table.node))
        and table.required == space.required_mask(table.node)
        and (table.width > 1) == (space.extended and not table.background)
        and table.background == space.in_background[table.node]
    )


def can_grow(table, space):
    """Tell whether a new table's maxima can be made out of an earlier one's."""
    node = table.node
    candidates, outsiders = space.candidates(node), space.outsiders(node)
    everybody = np.append(table.candidates, table.outsiders)
    return (
        table.maxima is not None
        and space.extended
        and not (table.scattered or table.required or space.required_mask(node))
        and np.array_equal(table.columns, table_columns(space, node))
        and np.array_equal(np.sort(everybody), np.union1d(candidates, outsiders))
        and len(np.setdiff1d(candidates, table.candidates)) <= MOST_NEWCOMERS
    )


def grown_table(score, space, earlier, workspace):
    """A table of maxima made out of an earlier one."""
    node = earlier.node
    candidates, outsiders = space.candidates(node), space.outsiders(node)
    staying = earlier.candidates[np.isin(earlier.candidates, candidates)]
    newcomers = np.setdiff1d(candidates, staying)

    def fill(newcomer, floor, candidates, out):
        score.fill_table_beside(
            newcomer, floor, node, candidates, outsiders, earlier.base_column, out
        )

    maxima = grow_maxima(
        (earlier.candidates, earlier.maxima),
        staying,
        newcomers,
        outsiders,
        earlier.base_column,
        workspace.take,
        fill,
    )
    candidates = np.append(staying, newcomers)
    return NodeTable(
        node, candidates, outsiders, 0, earlier.columns, None, maxima=maxima
    )


def score_table(score, space, node, workspace, complete=True):
    """Score all parent sets that `space` permits for `node`.

    If not `complete`, sets that score less than one of their subsets may be left out.
    """
    candidates, outsiders = space.candidates(node), space.outsiders(node)
    if space.in_background[node]:
        scores, own = workspace.take((1, 1)), np.array([node])
        scores[:] = 0.0
        return NodeTable(node, candidates, outsiders, 0, own, scores, background=True)
    columns = table_columns(space, node)
    scores = workspace.take((1 << len(candidates), len(columns)))
    required = space.required_mask(node)
    table = NodeTable(node, candidates, outsiders, required, columns, scores)
    scores.fill(-np.inf)
    # what is left out may be less than a subset that lacks a required parent
    complete = complete or bool(required)
    fill = score.fill_table if complete else score.fill_table_for_maxima
    where = {"columns": table.columns_of(outsiders)} if table.scattered else {}
    fill(node, candidates, outsiders, table.base_column, scores, **where)
    if required:
        scores[np.arange(len(scores)) & required != required] = -np.inf
    return table
