"""Searching for the best DAG: over orders, and over search spaces.

The search alternates (Kuipers, Suter & Moffa 2022, section 3): find the best DAG in
the present space, in which every node may take one parent from outside; let what
that DAG adds into the space; until neither the space nor the best score changes.

One extra parent at a time misses parents that pay off only together, and PC misses
many edges to begin with (half of them with strong effects and 20 variables). What
gets around that; `docs/architecture.rst` has the measurements:

- with few variables the space is everything from the start;
- the first space holds, beside PC's neighbors, the parents that forward selection
  by the score itself picks for each node from all variables: that is the node's
  Markov blanket, which its parents are in;
- the first order, and another one when the search is stuck, are annealed;
- what an expansion found stays in the space as long as there is room, and where
  there is none the strongest stay;
- when the best DAG adds nothing, pairs of new parents that raise a node's score
  together come in; then, for the search alone, each set is filled up with what is
  strongest beside the node's parents, as far as that costs little.
"""

import time
from dataclasses import dataclass, replace

import numpy as np

from skbidag._chains import auto_n_iter, bit_generator
from skbidag._core._graphs import reachable
from skbidag._core._order import OrderChain
from skbidag._core._tables import TableViews
from skbidag._parallel import run_parallel, run_threads
from skbidag._search_space import SearchSpace, make_space
from skbidag._tables import build_tables
from skbidag.graphs import moral_graph, to_cpdag

# A gain in log score that is more than rounding.
LEAST_GAIN = 1e-7
# Nodes that a kick displaces before the next climb.
KICK_SIZE = 3
# Expansions in a row without a better DAG before a search ends.
PATIENCE = 4
# Steps of a fresh start, at the beginning and when a search is stuck, over `n_iter`.
FRESH_SHARE = 4
# Draws of the short chain behind expansion by posterior probability.
POSTERIOR_DRAWS = 200
# Seconds that the tables of a widened space may take.
WIDE_SECONDS = 0.05

EXPANSION_FIELDS = [
    ("log_score", float),
    ("n_edges", int),
    ("n_permitted", int),
    ("largest_set", int),
    ("seconds", float),
]


@dataclass(frozen=True)
class SearchResult:
    """The best DAG found, the space it was found in, and how it went."""

    adjacency: np.ndarray
    log_score: float
    space: SearchSpace
    expansions: np.ndarray
    cut_short: bool = False


@dataclass(frozen=True)
class SearchOptions:
    """How to search; see IterativeSearchStructure."""

    engine: str
    merge: str
    extended: bool
    max_parents: int
    soft_limit: int
    wide_limit: int
    max_expansions: int
    n_iter: int
    thorough: bool = True
    threshold: float | None = None
    n_jobs: int | None = None
    memory_limit: float | None = None


def wide_limit(score, n_features, max_parents):
    """Size of permissible sets whose tables can be built in `WIDE_SECONDS`."""
    entries = WIDE_SECONDS / score.entry_seconds
    return int(np.clip(np.log2(entries / n_features**2), 0, max_parents))


# --------------------------------------------------------------- over orders


def descendants(adjacency, node):
    """Nodes that paths from `node` lead to; no checks, for inner loops."""
    return np.asarray(reachable(adjacency.view(np.uint8), node)).astype(bool)


def best_dag_of_order(tables, order):
    """The best DAG whose parents all stand to the right of their children."""
    n = len(tables)
    place = np.empty(n, dtype=np.intp)
    place[order] = np.arange(n)
    adjacency = np.zeros((n, n), dtype=bool)
    for table in tables:
        after = place > place[table.node]
        bits = after[table.candidates] << np.arange(table.n_candidates)
        outsiders = table.outsiders[after[table.outsiders]]
        parents, _ = table.best_parents(int(bits.sum()), outsiders)
        adjacency[parents, table.node] = True
    return adjacency


def random_order(generator, adjacency):
    """A random order, parents to the right, in which the edges of a DAG hold."""
    left = np.ones(len(adjacency), dtype=bool)
    n_children = adjacency.sum(axis=1)
    order = []
    for _ in range(len(adjacency)):
        # whose children are all placed may come next
        node = generator.choice(np.flatnonzero(left & (n_children == 0)))
        order.append(node)
        left[node] = False
        n_children -= adjacency[:, node]
    return np.array(order, dtype=np.intp)


def search_orders(tables, order, stream, engine, n_iter, *, maximize=True, stop=None):
    """Search for the best order.

    Parameters
    ----------
    tables : list of NodeTable
        With maxima, or with sums.
    order : ndarray of shape (n,)
        Where to start.
    stream : numpy.random.BitGenerator
        Random numbers.
    engine : str
        One of `ENGINES`.
    n_iter : int
        How long to search.
    maximize : bool, default=True
        Whether an order scores as its best DAG does, or as all its DAGs together.
    stop : Stop, default=None
        Ends the search early.

    Returns
    -------
    order : ndarray of shape (n,)
        The best order seen.
    log_score : float
        Its score.
    """
    n = len(tables)
    chain = OrderChain(
        TableViews(tables),
        stream,
        order,
        np.array([6, n, 1]) / (n + 7),
        maximize=maximize,
    )
    for _ in ENGINES[engine](chain, n, n_iter):
        if stop:
            break
    return chain.best_order, chain.best_log_score


def starting_orders(tables, orders, entropy, stop=None, n_jobs=None):
    """For each of several chains an order to start from that is good, and its own.

    Where dependences are strong, a chain may take far longer than its burn-in from a
    random order to those that matter. So each is annealed first, for as many steps as
    a chain has by default, from its own order and by its own random numbers: should
    that lead them to different modes, the chains tell by disagreeing.
    """
    n_iter = auto_n_iter(len(tables), 5.0)

    def anneal(index):
        order, _ = search_orders(
            tables, orders[index], bit_generator(entropy, 3, index), "annealing",
            n_iter, maximize=False, stop=stop,
        )  # fmt: skip
        return order

    return run_threads(anneal, range(len(orders)), n_jobs)


# An engine is a generator: it yields after every round, so that a search can be ended.


def climb_and_kick(chain, n, n_iter):
    """Iterated local search: climb, displace a few nodes, climb again.

    A climb relocates nodes to their best places until none can be bettered; a
    worse local optimum is taken back.
    """
    best, order = chain.climb(), chain.order
    # a climb looks at n or more relocations, each worth n steps
    for _ in range(max(20, n_iter // n**2)):
        yield
        chain.kick(KICK_SIZE)
        value = chain.climb()
        if value < best - LEAST_GAIN:
            chain.set_order(order)
        else:
            best, order = value, chain.order


def climb_from_random_orders(chain, n, n_iter):
    """Greedy search by relocations from random starts."""
    chain.climb()
    for _ in range(max(5, n_iter // (5 * n**2))):
        yield
        chain.kick(2 * n)
        chain.climb()


def climb_by_transpositions(chain, n, n_iter):
    """Greedy search by exchanges of neighbors from random starts."""
    chain.climb_by_transpositions()
    for _ in range(max(5, n_iter // (5 * n))):
        yield
        chain.kick(2 * n)
        chain.climb_by_transpositions()


def tempered_mcmc(chain, n, n_iter):
    """Order MCMC at a power of the score tuned so that about 1/n of moves change.

    At the end the best order is climbed from.
    """
    target = 1.0 / n
    block = max(100, n_iter // 200)
    before = np.zeros(2, dtype=np.int64)
    for _ in range(200 if n > 1 else 0):
        chain.run(block)
        now = np.array([chain.accepted_moves.sum(), chain.proposed_moves.sum()])
        accepted, proposed = now - before
        before = now
        chain.power *= np.exp(np.clip(accepted / proposed - target, -0.1, 0.1) * 5)
        yield
    chain.set_order(chain.best_order)
    chain.climb()


def simulated_annealing(chain, n, n_iter):
    """Order MCMC at a growing power of the score."""
    block = max(100, n_iter // 200)
    for power in np.geomspace(0.05, 20.0, 200):
        chain.power = power
        chain.run(block)
        yield
    chain.set_order(chain.best_order)
    chain.climb()


ENGINES = {
    "annealing": simulated_annealing,
    "greedy": climb_from_random_orders,
    "kicks": climb_and_kick,
    "mcmc": tempered_mcmc,
    "transpositions": climb_by_transpositions,
}


# --------------------------------------------------------------- over spaces


def fits_whole(constraints, max_parents):
    """Whether every node may have all others, forbidden ones aside, as candidates."""
    return (~constraints.forbidden).sum(axis=0).max() <= max_parents


def add_selected_parents(permitted, problem, soft_limit):
    """Let in what forward selection by the score picks for each node."""
    permitted = permitted.copy()
    for node in range(len(permitted)):
        allowed = np.flatnonzero(~problem.constraints.forbidden[:, node])
        room = soft_limit - permitted[:, node].sum()
        selected, _ = problem.score.select_parents(
            node, allowed, soft_limit,
            kept=np.flatnonzero(problem.constraints.required[:, node]),
        )  # fmt: skip
        new = [parent for parent in selected if not permitted[parent, node]]
        permitted[new[: max(0, room)], node] = True
    return permitted


def paying_pairs(adjacency, problem):
    """For each node, the pair of new parents that raises its score most, if any.

    Descendants are left out: those parents would make a cycle.
    """
    pairs = np.zeros_like(adjacency)
    for node in range(len(adjacency)):
        parents = np.flatnonzero(adjacency[:, node])
        scores = problem.score.pair_scores(node, parents)
        if scores is None:
            continue
        barred = problem.constraints.forbidden[:, node].copy()
        barred[descendants(adjacency, node)] = True
        scores[barred] = -np.inf
        scores[:, barred] = -np.inf
        first, second = np.unravel_index(np.argmax(scores), scores.shape)
        gain = scores[first, second] - problem.score.local_score(node, parents)
        if gain > LEAST_GAIN:
            pairs[[first, second], node] = True
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


def let_in(permitted, adjacency, problem, options):
    """Let a DAG into a space; where there is no room, its parents at least."""
    limit = options.max_parents
    larger = merge_graph(
        permitted, adjacency, options.merge, options.soft_limit, limit,
        problem.constraints.forbidden,
    )  # fmt: skip
    return make_room(larger, adjacency, adjacency, problem, limit)


def once_per_dag(function, *args):
    """A function of a DAG that remembers what it gave: searches often come back."""
    known = {}

    def remembered(adjacency):
        key = adjacency.tobytes()
        if key not in known:
            known[key] = function(adjacency, *args)
        return known[key]

    return remembered


def expand(permitted, adjacency, problem, options, reversals, pairs):
    """Let a DAG, and what else looks promising beside it, into a space.

    First the DAG itself. Once that adds nothing: the DAG that reversals of single
    edges lead to; the other parents of each node's children, for to turn such a
    child into a parent they must become parents too; pairs of parents. `reversals`
    and `pairs` are `reverse_edges` and `paying_pairs` of a DAG.

    Returns
    -------
    larger : ndarray of bool, shape (n_features, n_features)
        The space.
    adjacency : ndarray of bool, shape (n_features, n_features)
        The DAG to go on from: the one given, or a better one.
    """
    limit, forbidden = options.max_parents, problem.constraints.forbidden
    larger = let_in(permitted, adjacency, problem, options)
    if not np.array_equal(larger, permitted):
        return larger, adjacency
    if options.thorough:
        better = reversals(adjacency)
        if better is not None:
            neighbors = (better | better.T) & ~forbidden
            return make_room(larger, neighbors, better, problem, limit), better
    blankets = moral_graph(adjacency) & ~forbidden
    larger = make_room(larger, blankets, adjacency, problem, options.soft_limit)
    if options.thorough and np.array_equal(larger, permitted):
        larger = merge_graph(larger, pairs(adjacency), "dag", limit, limit, forbidden)
    return larger, adjacency


def reverse_edges(adjacency, problem, max_parents):
    """Reverse single edges, choosing all parents of both ends anew, while it pays.

    Order search alone does not get there: an edge x -> y whose reversal pays often
    does so only if y takes over parents of x that were never permitted for y. Both
    ends lose their parents; forward selection from all variables finds x new ones,
    y among them, then y (the move of Grzegorczyk & Husmeier 2008, made greedy).

    Returns
    -------
    adjacency : ndarray of bool, shape (n_features, n_features)
        The better DAG, or None where no reversal pays.
    """
    score, constraints = problem.score, problem.constraints
    best = None
    values = [
        score.local_score(node, np.flatnonzero(adjacency[:, node]))
        for node in range(len(adjacency))
    ]

    def select(trial, node, kept):
        allowed = ~constraints.forbidden[:, node]
        allowed[descendants(trial, node)] = False
        kept = np.union1d(kept, np.flatnonzero(constraints.required[:, node]))
        parents, value = score.select_parents(
            node, np.flatnonzero(allowed), max_parents, kept=kept.astype(np.intp)
        )
        trial[parents, node] = True
        return value

    for x, y in np.argwhere(adjacency):
        if (
            not adjacency[x, y]
            or constraints.required[x, y]
            or constraints.forbidden[y, x]
            or (constraints.required[:, x].sum() >= max_parents)
        ):
            continue
        trial = adjacency.copy()
        trial[:, [x, y]] = constraints.required[:, [x, y]]
        if descendants(trial, x)[y]:
            continue
        new = select(trial, x, [y]), select(trial, y, [])
        if sum(new) > values[x] + values[y] + LEAST_GAIN:
            adjacency = best = trial
            values[x], values[y] = new
    return best


def make_room(permitted, graph, adjacency, problem, max_parents):
    """Let a graph's edges in; where they do not fit, the strongest stay.

    A node with too many keeps its parents in the DAG `adjacency`, then the
    strongest of `graph`, then the strongest of what it had. It never keeps fewer
    than it had.
    """
    larger = permitted | graph
    for node in np.flatnonzero(larger.sum(axis=0) > max_parents):
        if not (graph[:, node] & ~permitted[:, node]).any():
            continue
        size = max(max_parents, permitted[:, node].sum())
        kept = np.flatnonzero(problem.constraints.required[:, node])
        for pool in (adjacency, graph, permitted):
            kept, _ = problem.score.select_parents(
                node, np.flatnonzero(pool[:, node]), size, kept=kept, stop=False
            )
        larger[:, node] = False
        larger[kept, node] = True
    return larger


def probable_edges(tables, order, stream, n_iter, threshold):
    """Edges whose probability, by a short order chain, exceeds a threshold."""
    n = len(tables)
    chain = OrderChain(TableViews(tables), stream, order, np.array([6, n, 1]) / (n + 7))
    packed = np.zeros((n, -(-n // 8)), dtype=np.uint8)
    counts = np.zeros((n, n))
    chain.run(n_iter // 5)
    for _ in range(POSTERIOR_DRAWS):
        chain.run(max(1, n_iter // POSTERIOR_DRAWS))
        chain.draw_dag(packed)
        counts += np.unpackbits(packed, axis=-1, count=n)
    return counts > threshold * POSTERIOR_DRAWS


def iterate_space(
    problem, permitted, options, entropy, restart=0, start=None, stop=None
):
    """Search, expand the space, and search again until nothing changes.

    Parameters
    ----------
    problem : Problem
        Score and constraints.
    permitted : ndarray of bool, shape (n_features, n_features)
        The space to start from.
    options : SearchOptions
        How to search.
    entropy : tuple of int
        Seed.
    restart : int, default=0
        Which of several independent searches this is.
    start : ndarray of bool, shape (n_features, n_features), default=None
        A DAG to start from; None for an order that is annealed.
    stop : Stop, default=None
        Ends the search early.

    Returns
    -------
    result : SearchResult
        The best DAG ever seen, and the space that was found for it.
    """
    stream = bit_generator(entropy, 2, restart)
    generator = np.random.Generator(stream)
    order = None if start is None else random_order(generator, start)
    best, log_score = None, -np.inf
    tables, history, n_stalled = None, [], 0
    before_widening = None
    how = options.engine, options.n_iter

    def anneal_afresh(tables):
        """A good order, whatever the search has found so far."""
        order, _ = search_orders(
            tables, random_order(generator, problem.constraints.required), stream,
            "annealing", FRESH_SHARE * options.n_iter, stop=stop,
        )  # fmt: skip
        return order

    reversals = once_per_dag(reverse_edges, problem, options.max_parents)
    pairs = once_per_dag(paying_pairs, problem)
    while True:
        began = time.perf_counter()
        space = make_space(permitted, problem.constraints, extended=options.extended)
        tables = build_tables(
            problem.score, space, scores=options.threshold is not None,
            sums=options.threshold is not None, maxima=True,
            previous=tables, workspace=problem.workspace, n_jobs=options.n_jobs,
            memory_limit=options.memory_limit, names=problem.names,
        )  # fmt: skip
        if order is None:
            order = anneal_afresh(tables)
        order, value = search_orders(tables, order, stream, *how, stop=stop)
        if options.thorough and not n_stalled and value <= log_score + LEAST_GAIN:
            # stuck: by now the space may hold a better DAG far from here
            fresh = anneal_afresh(tables)
            fresh, fresh_value = search_orders(tables, fresh, stream, *how, stop=stop)
            if fresh_value > value + LEAST_GAIN:
                order, value = fresh, fresh_value
        found = best_dag_of_order(tables, order)
        improved = value > log_score + LEAST_GAIN
        n_stalled = 0 if improved else n_stalled + 1
        if improved:
            best, log_score = found, value
        # a better DAG that an expansion finds must get its turn, so none at the end
        cut_short = bool(stop)
        ends = n_stalled == PATIENCE or len(history) == options.max_expansions
        ends |= cut_short
        larger = permitted
        if space.extended and not ends:
            larger, better = expand(
                permitted, found, problem, options, reversals, pairs
            )
            if better is not found:
                order = random_order(generator, better)
            if options.thorough and np.array_equal(larger, permitted):
                larger = widen(permitted, found, problem, options.wide_limit)
                if before_widening is None:
                    before_widening = permitted
            if options.threshold is not None:
                probable = probable_edges(
                    tables, order, stream, options.n_iter, options.threshold
                )
                larger = merge_graph(
                    larger, probable, "dag", options.max_parents, options.max_parents,
                    problem.constraints.forbidden,
                )  # fmt: skip
        history.append(
            (
                value, found.sum(), permitted.sum(), permitted.sum(axis=0).max(),
                time.perf_counter() - began,
            )
        )  # fmt: skip
        unchanged = np.array_equal(larger, permitted)
        if ends or (unchanged and (not improved or not space.extended)):
            break
        permitted = larger
    for table in tables:
        table.release(problem.workspace)
    # Widening is for the search: it fills sets up with what is hardly ever a parent,
    # which tables for sampling would pay for. And the best DAG may be of an earlier
    # space, parts of which have made room since.
    widened = before_widening is not None
    final = before_widening if widened else permitted
    if widened or ((best & ~final).sum(axis=0) > space.extended).any():
        final = let_in(final, best, problem, options)
        space = make_space(final, problem.constraints, extended=options.extended)
    return SearchResult(
        best, float(log_score), space, np.array(history, dtype=EXPANSION_FIELDS),
        cut_short,
    )  # fmt: skip


def search_structure(
    problem, permitted, options, entropy, n_restarts, n_jobs, stop=None
):
    """Search from several starts, and then where their best DAGs meet.

    The restarts are quick; what they found comes into one space, on which the last
    search is thorough.
    """
    if options.extended:
        permitted = add_selected_parents(permitted, problem, options.soft_limit)
    if n_restarts == 1:
        return iterate_space(problem, permitted, options, entropy, stop=stop)
    quick = replace(options, thorough=False)
    jobs = [
        (problem, permitted, quick, entropy, restart, None, stop)
        for restart in range(n_restarts)
    ]
    results = run_parallel(iterate_space, jobs, n_jobs)
    results.sort(key=lambda result: -result.log_score)
    best = results[0]
    permitted = best.space.permitted
    for other in results[1:]:
        permitted = merge_graph(
            permitted, other.adjacency, options.merge, options.soft_limit,
            options.max_parents, problem.constraints.forbidden,
        )  # fmt: skip
    return iterate_space(
        problem, permitted, options, entropy, n_restarts, best.adjacency, stop
    )
