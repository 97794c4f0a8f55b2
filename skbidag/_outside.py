"""The mass that lies outside a search space.

A space is right for sampling if the parent sets that it leaves out hardly matter. To
see whether that is so, a short chain on the space gives orders and DAGs. For each node,
sets that are left out are looked for around the parents that it has in these DAGs: one
of them is dropped or none, and up to three are added, the most promising sets first (a
beam search by the score). Given an order, the weight of a set is its exponentiated
score over the node's sum in the tables, so that all sets that the order permits have,
together, so much mass beside the sum's.

It is a bound from below: what the beam does not reach is not counted, and orders that a
chain on the space never sees are not asked. `edges_outside` says which edges the mass
is in, so that a space can grow by them.

With few data and no penalty on edges the mass may be in the sheer number of large sets,
each of which has next to none. These a beam never sees; `bulk_outside` estimates them
from a few sets at random, of all sizes.

Cost: about forty calls of `addition_scores` per node, of which those that were made
before, for a smaller space, cost nothing; and ten for the bulk.
"""

import heapq
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from skbidag._data import unique_rows
from skbidag._parallel import run_threads

# Parent sets of a node from which its search starts, the most frequent ones.
MOST_STARTS = 4
# Sets that are enlarged at each depth, and how many parents are added.
BEAM = 8
DEPTH = 3
# Sets with less than exp of this beside nine of ten sums are not counted.
LEAST_LOG_SHARE = -6.0
# More parents than this from outside the space, per DAG, and a node's are not known.
LARGEST_OUTSIDE_MASS = 0.25
# Random sets of each node to which all further parents are added.
N_RANDOM = 10


@dataclass(frozen=True)
class Draws:
    """What a chain over orders saw.

    Attributes
    ----------
    places : ndarray of int, shape (n_draws, n_features)
        ``places[t, i] > places[t, j]``: order t permits i as a parent of j.
    log_sums : ndarray of shape (n_draws, n_features)
        Each node's log sum over the parent sets of the space that the order permits.
    dags : ndarray of bool, shape (n_draws, n_features, n_features)
        A DAG of each order.
    order : ndarray of shape (n_features,)
        The last order.
    """

    places: np.ndarray
    log_sums: np.ndarray
    dags: np.ndarray
    order: np.ndarray


class Additions:
    """Scores of parent sets with one more parent, each computed once.

    Parameters
    ----------
    score : BaseScore
        The fitted score.
    n_features : int
        Number of variables.
    """

    def __init__(self, score, n_features):
        self.score = score
        self._known = [{} for _ in range(n_features)]

    def __call__(self, node, mask):
        """As ``score.addition_scores``, of parents that are the bits of a number."""
        known = self._known[node]
        if mask not in known:
            known[mask] = self.score.addition_scores(node, members_of(mask))
        return known[mask]


def members_of(mask):
    """The places of the bits of a number."""
    return [place for place, bit in enumerate(reversed(f"{mask:b}")) if bit == "1"]


def sets_of(masks, n_features):
    """The bits of several numbers, one row of `n_features` each."""
    n_bytes = -(-n_features // 8)
    packed = b"".join(mask.to_bytes(n_bytes, "little") for mask in masks)
    rows = np.frombuffer(packed, np.uint8).reshape(-1, n_bytes)
    bits = np.unpackbits(rows, axis=1, count=n_features, bitorder="little")
    return bits.astype(bool)


def mass_outside(score, space, forbidden, draws, stream, n_jobs=None):
    """How many parents of each node, per DAG, are in sets that the space leaves out.

    The larger of what the beam finds and what random sets tell; parameters as those of
    `edges_outside` and `bulk_outside`.
    """
    additions = Additions(score, space.n_features)
    beyond = edges_outside(additions, space, forbidden, draws, n_jobs).sum(axis=0)
    generator = np.random.Generator(stream)
    bulk = bulk_outside(score, space, forbidden, draws, generator, n_jobs)
    return np.maximum(beyond, bulk)


def edges_outside(additions, space, forbidden, draws, n_jobs=None):
    """Expected number of edges per DAG, in parent sets that the space leaves out.

    Parameters
    ----------
    additions : Additions
        What one more parent is worth.
    space : SearchSpace
        The space.
    forbidden : ndarray of bool, shape (n_features, n_features)
        Edges that no DAG has, wherever the space ends.
    draws : Draws
        What a chain on it saw.
    n_jobs : int, default=None
        Number of threads.

    Returns
    -------
    edges : ndarray of shape (n_features, n_features)
        Entry [i, j] is for i as a parent of j, and zero for candidates of j. The sum
        of column j is what that node would take from outside.
    """

    def of_node(node):
        places = draws.places
        may_join = (places > places[:, [node]]) & ~forbidden[:, node]
        others = may_join.any(axis=0) & ~space.permitted[:, node]
        extra = space.extra[:, node]
        edges = np.zeros(space.n_features)
        if others.sum() <= 1 and not (others & ~extra).any():
            return edges
        log_sums = draws.log_sums[:, node]
        least = np.quantile(log_sums, 0.1) + LEAST_LOG_SHARE
        starts = starting_sets(
            draws.dags[:, :, node], space.required[:, node], space.candidates(node)
        )
        sets, log_scores = sets_outside(additions, node, starts, others, extra, least)
        shares = shares_outside(sets, log_scores, may_join, log_sums)
        edges[others] = shares @ sets[:, others]
        return edges

    columns = run_threads(of_node, range(space.n_features), n_jobs)
    return np.column_stack(columns)


def starting_sets(parents, required, candidates=()):
    """The most frequent parent sets, and each of these without one of its members.

    And the most frequent one with each of the candidates: one that hardly ever is a
    parent by itself may be together with somebody from outside.
    """
    distinct, _, which = unique_rows(parents)
    order = np.argsort(-np.bincount(which), kind="stable")
    starts = {}
    for row in distinct[order[:MOST_STARTS]]:
        bits = [1 << int(parent) for parent in np.flatnonzero(row)]
        whole = sum(bits)
        free = [1 << int(parent) for parent in np.flatnonzero(row & ~required)]
        if not starts:
            starts = dict.fromkeys(whole | 1 << int(one) for one in candidates)
        starts |= dict.fromkeys([whole, *(whole ^ bit for bit in free)])
    return list(starts)


def sets_outside(additions, node, starts, others, extra, least):
    """Parent sets that the space leaves out, with a score above `least`.

    Sets are numbers here, whose bits stand for variables.

    Parameters
    ----------
    additions : Additions
        What one more parent is worth.
    node : int
        The child.
    starts : list of int
        Parent sets to start from.
    others : ndarray of bool, shape (n_features,)
        Variables that are not candidates.
    extra : ndarray of bool, shape (n_features,)
        Those of which the space permits one, no more.
    least : float
        See above.

    Returns
    -------
    sets : ndarray of bool, shape (n_sets, n_features)
        Each set once.
    log_scores : ndarray of shape (n_sets,)
        Their scores.
    """
    outsiders = np.flatnonzero(others)
    bits = [1 << int(outsider) for outsider in outsiders]
    outside = sum(bits)
    beyond = sum(
        bit for bit, inside in zip(bits, extra[others], strict=True) if not inside
    )
    found, frontier = {}, starts
    for _ in range(DEPTH):
        larger = {}
        for members in frontier:
            scores = additions(node, members)[outsiders]
            n_best = max(min(BEAM, np.isfinite(scores).sum()), (scores > least).sum())
            best = np.argsort(-scores, kind="stable")[:n_best]
            for k, value in zip(best.tolist(), scores[best].tolist(), strict=True):
                larger[members | bits[k]] = value
        found.update(
            (members, value)
            for members, value in larger.items()
            if value > least
            and (members & beyond or (members & outside).bit_count() > 1)
        )
        frontier = heapq.nlargest(BEAM, larger, key=larger.get)
    return sets_of(found, len(others)), np.array([*found.values()])


def shares_outside(sets, log_scores, may_join, log_sums):
    """Share of each of these sets in its node's mass, averaged over orders.

    A set counts in the orders in which all its members may be parents, beside the sum
    over the sets of the space and the other sets.
    """
    # whole numbers: how many members may not be parents
    possible = sets.astype(np.float32) @ (~may_join.T).astype(np.float32) == 0
    log_weights = np.where(possible, log_scores[:, None], -np.inf)
    # the largest term is one, be it the sum or a set
    largest = np.maximum(log_sums, log_weights.max(axis=0, initial=-np.inf))
    weights = np.exp(log_weights - largest)
    total = np.exp(log_sums - largest) + weights.sum(axis=0)
    return (weights / total).mean(axis=1)


def bulk_outside(score, space, forbidden, draws, generator, n_jobs=None):
    """Expected number of parents per DAG in sets outside, by sets at random.

    Of a node's predecessors in a sampled order, m, a number k < m is drawn, then k of
    them: adding each of the others in turn, the mean weight times the number of sets
    with k + 1 members, times m sizes, estimates the weight of all sets without bias.

    Parameters
    ----------
    score : BaseScore
        The score.
    space : SearchSpace
        The space.
    forbidden : ndarray of bool, shape (n_features, n_features)
        Edges that no DAG has.
    draws : Draws
        What a chain on the space saw.
    generator : numpy.random.Generator
        Random numbers.
    n_jobs : int, default=None
        Number of threads.

    Returns
    -------
    n_parents : ndarray of shape (n_features,)
        For each node. Sets of little weight in all are told roughly.
    """
    n = space.n_features
    chosen = generator.integers(len(draws.places), size=(n, N_RANDOM))
    ranks = generator.random((n, N_RANDOM, n))
    sizes = generator.random((n, N_RANDOM))

    def of_node(node):
        outside = ~space.permitted[:, node]
        beyond = outside & ~space.extra[:, node]
        total = 0.0
        for t, rank, size in zip(chosen[node], ranks[node], sizes[node], strict=True):
            places = draws.places[t]
            before = np.flatnonzero((places > places[node]) & ~forbidden[:, node])
            m, k = len(before), int(size * len(before))
            if outside[before].sum() <= 1 and not beyond[before].any():
                continue
            before = before[np.argsort(rank[before])]
            rest = before[k:]
            log_scores = score.addition_scores(node, np.sort(before[:k]))[rest]
            log_number = gammaln(m + 1) - gammaln(k + 2) - gammaln(m - k) + np.log(m)
            log_weights = log_scores - draws.log_sums[t, node] + log_number
            n_outside = outside[before[:k]].sum() + outside[rest]
            n_beyond = beyond[before[:k]].sum() + beyond[rest]
            log_weights[(n_outside <= 1) & (n_beyond == 0)] = -np.inf
            # the largest term is one, be it the sum or a set
            largest = max(0.0, log_weights.max())
            weights = np.exp(log_weights - largest) / len(rest)
            total += weights @ n_outside / (np.exp(-largest) + weights.sum())
        return total / N_RANDOM

    return np.array(run_threads(of_node, range(n), n_jobs))
