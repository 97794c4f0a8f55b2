"""Larger spaces around a DAG: what else may be worth having as a parent.

One extra parent at a time misses parents that pay off only together, and PC misses
many edges to begin with (half of them with strong effects and 20 variables). What
gets around that; `docs/architecture.rst` has the measurements:

- forward selection by the score itself picks parents for each node from all
  variables: that is the node's Markov blanket, which its parents are in;
- what an expansion found stays in the space as long as there is room, and where
  there is none the strongest stay;
- when the best DAG adds nothing, edges are reversed, spouses come in, and pairs of
  new parents that raise a node's score together;
- then, for the search alone, each set is filled up with what is strongest beside the
  node's parents, as far as that costs little.

Spaces are matrices here: ``permitted[i, j]`` for i as a parent of j.
"""

import numpy as np

from skbidag._core._graphs import reachable
from skbidag._search._hubs import hub_parents
from skbidag._search._orders import LEAST_GAIN
from skbidag.graphs import moral_graph, to_cpdag

# Seconds that the scan of small parent sets may take, if all nodes ask for it; and the
# share of the log score that forward selection explains in a node that does.
TOGETHER_SECONDS = 0.25
LITTLE = 0.25
# The largest set that spouses come into where there are many variables. (With 12 a
# search among 2000 variables took 3.2 GB, not 2.9, to the same DAG.)
MOST_WITH_SPOUSES = 10


def descendants(adjacency, node):
    """Nodes that paths from `node` lead to; no checks, for inner loops."""
    return np.asarray(reachable(adjacency.view(np.uint8), node)).astype(bool)


def add_selected_parents(permitted, problem, soft_limit):
    """Let in what forward selection by the score picks for each node.

    Where that explains little, the parents may pay off only together, as those of a
    parity do. Then the best of all small sets comes in first, if it is better.
    """
    permitted = permitted.copy()
    seconds = TOGETHER_SECONDS / len(permitted)
    for node in range(len(permitted)):
        allowed = np.flatnonzero(~problem.constraints.forbidden[:, node])
        room = soft_limit - permitted[:, node].sum()
        required = np.flatnonzero(problem.constraints.required[:, node])
        selected, value = problem.score.select_parents(
            node, allowed, soft_limit, kept=required
        )
        weak = value < (1 - LITTLE) * problem.score.local_score(node, required)
        if weak and not permitted[allowed, node].all():
            together, log_score = problem.score.best_small_set(node, allowed, seconds)
            if log_score > value + LEAST_GAIN:
                selected = list(dict.fromkeys([*together, *selected]))
        new = [parent for parent in selected if not permitted[parent, node]]
        permitted[new[: max(0, room)], node] = True
    return permitted


def paying_pairs(adjacency, problem):
    """For each node, the pair of new parents that raises its score most, if any.

    Descendants are left out: those parents would make a cycle. With many variables,
    pairs are of the outsiders alone; then the one new parent of all variables that
    raises the score most comes in, too, for it need not be an outsider.
    """
    pairs = np.zeros_like(adjacency)
    score = problem.score
    for node in range(len(adjacency)):
        parents = np.flatnonzero(adjacency[:, node])
        least = score.local_score(node, parents) + LEAST_GAIN
        allowed = ~problem.constraints.forbidden[:, node]
        allowed[descendants(adjacency, node)] = False
        if problem.outsiders is not None:
            scores = np.where(allowed, score.addition_scores(node, parents), -np.inf)
            pairs[np.argmax(scores), node] = scores.max() > least
            allowed &= problem.outsiders[:, node]
        others = np.flatnonzero(allowed)
        scores = score.pair_scores(node, parents, others)
        if scores is None or scores.size == 0:
            continue
        best = np.unravel_index(np.argmax(scores), scores.shape)
        if scores[best] > least:
            pairs[others[list(best)], node] = True
    return pairs


def widen(permitted, adjacency, problem, size):
    """Fill up each node's set to `size` with what is strongest beside its parents."""
    permitted = permitted.copy()
    for node in range(len(permitted)):
        room = size - permitted[:, node].sum()
        if room <= 0:
            continue
        parents = np.flatnonzero(adjacency[:, node])
        others = ~permitted[:, node] & ~problem.constraints.forbidden[:, node]
        selected, _ = problem.score.select_parents(
            node, np.flatnonzero(others), len(parents) + room, kept=parents, stop=False
        )
        permitted[selected, node] = True
    return permitted


def merge_graph(permitted, adjacency, merge, soft_limit, hard_limit, forbidden):
    """Let a DAG into a space.

    Per node, the neighbors in the DAG's skeleton come in; if that makes more than
    `soft_limit`, those the CPDAG permits as parents; if these are too many as well,
    the DAG's own parents, up to `hard_limit`; if even these do not fit, the node
    keeps what it had.

    Parameters
    ----------
    permitted : ndarray of bool, shape (n_features, n_features)
        The space.
    adjacency : ndarray of bool, shape (n_features, n_features)
        The DAG.
    merge : {"skeleton", "cpdag", "dag"}
        What to begin with.
    soft_limit, hard_limit : int
        The largest sets.
    forbidden : ndarray of bool, shape (n_features, n_features)
        Edges that do not come in: a DAG's edge may be forbidden the other way.

    Returns
    -------
    permitted : ndarray of bool, shape (n_features, n_features)
        The larger space.
    """
    choices = [(adjacency, hard_limit)]
    if merge != "dag":
        choices.insert(0, (to_cpdag(adjacency), soft_limit))
    if merge == "skeleton":
        choices.insert(0, (adjacency | adjacency.T, soft_limit))
    result = permitted.copy()
    waiting = np.ones(len(permitted), dtype=bool)
    for graph, limit in choices:
        larger = permitted | (graph & ~forbidden)
        fits = waiting & (larger.sum(axis=0) <= limit)
        result[:, fits] = larger[:, fits]
        waiting &= ~fits
    return result


def let_in(permitted, adjacency, problem, settings):
    """Let a DAG into a space; where there is no room, its parents at least."""
    larger = merge_graph(
        permitted,
        adjacency,
        settings.merge,
        settings.soft_limit,
        settings.max_parents,
        problem.constraints.forbidden,
    )
    return make_room(larger, adjacency, adjacency, problem, settings.max_parents)


def let_in_hubs(permitted, adjacency, problem, settings):
    """Let in what nodes need whose parents in a DAG fill their sets."""
    hubs = hub_parents(permitted, adjacency, problem, settings)
    limits = np.maximum(settings.max_parents, hubs.sum(axis=0))
    return make_room(permitted, hubs, adjacency, problem, limits)


def once_per_dag(function, *args):
    """A function of a DAG that remembers what it gave: searches often come back."""
    known = {}

    def remembered(adjacency):
        key = np.packbits(adjacency).tobytes()
        if key not in known:
            known[key] = function(adjacency, *args)
        return known[key]

    return remembered


def expand(permitted, adjacency, problem, settings, reversals, turned, pairs):
    """Let a DAG, and what else looks promising beside it, into a space.

    First the DAG itself. Once that adds nothing: more parents for hubs; the DAG that
    reversals of single edges lead to, or one in which nodes with large blankets have
    other parents; the other parents of each node's children, for to turn such a child
    into a parent they must become parents too; pairs of parents. `reversals`,
    `turned` and `pairs` are `Reversals`, `turn_blankets` and `paying_pairs` of a DAG.
    With many variables reversals are tried at once: they lead further than the search
    over orders, and take less time.

    Returns
    -------
    larger : ndarray of bool, shape (n_features, n_features)
        The space.
    adjacency : ndarray of bool, shape (n_features, n_features)
        The DAG to go on from: the one given, or a better one.
    """
    limit, forbidden = settings.max_parents, problem.constraints.forbidden
    larger = let_in(permitted, adjacency, problem, settings)
    if np.array_equal(larger, permitted):
        larger = let_in_hubs(permitted, adjacency, problem, settings)
    new = not np.array_equal(larger, permitted)
    if new and problem.outsiders is None:
        return larger, adjacency
    if settings.thorough:
        better = reversals(adjacency)
        if better is None and not new:
            better = turned(adjacency)
        if better is not None:
            neighbors = (better | better.T) & ~forbidden
            return make_room(larger, neighbors, better, problem, limit), better
    if new:
        return larger, adjacency
    blankets = moral_graph(adjacency) & ~forbidden
    most = settings.soft_limit
    if problem.outsiders is not None:
        most = min(most, MOST_WITH_SPOUSES)
    larger = make_room(larger, blankets, adjacency, problem, most)
    if settings.thorough and np.array_equal(larger, permitted):
        larger = merge_graph(larger, pairs(adjacency), "dag", limit, limit, forbidden)
    return larger, adjacency


def make_room(permitted, graph, adjacency, problem, max_parents):
    """Let a graph's edges in; where they do not fit, the strongest stay.

    A node with too many keeps its parents in the DAG `adjacency`, then the
    strongest of `graph`, then the strongest of what it had. It never keeps fewer
    than it had. `max_parents` is a number, or one for each node.
    """
    larger = permitted | graph
    max_parents = np.broadcast_to(max_parents, len(permitted))
    for node in np.flatnonzero(larger.sum(axis=0) > max_parents):
        if not (graph[:, node] & ~permitted[:, node]).any():
            continue
        size = max(max_parents[node], permitted[:, node].sum())
        kept = np.flatnonzero(problem.constraints.required[:, node])
        for pool in (adjacency, graph, permitted):
            kept, _ = problem.score.select_parents(
                node, np.flatnonzero(pool[:, node]), size, kept=kept, stop=False
            )
        larger[:, node] = False
        larger[kept, node] = True
    return larger
