"""Searching over spaces: find the best DAG, enlarge the space around it, and again."""

import time
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace

import numpy as np

from skbidag._chains import auto_n_iter, bit_generator
from skbidag._given_starts import resolve_starts
from skbidag._parallel import run_parallel, run_threads
from skbidag._search._colliders import turn_hubs
from skbidag._search._cover import cover_posterior, short_chain
from skbidag._search._crossover import best_of_both
from skbidag._search._dense import search_if_dense
from skbidag._search._expansion import (
    add_selected_parents,
    expand,
    let_in,
    let_in_hubs,
    make_room,
    merge_graph,
    once_per_dag,
    paying_pairs,
    widen,
)
from skbidag._search._free_orders import FreeOrders, is_affordable
from skbidag._search._hubs import large_limits, without_needless_room
from skbidag._search._local import LocalSearch
from skbidag._search._orders import (
    LEAST_GAIN,
    climb_once,
    random_order,
    search_orders,
)
from skbidag._search._reversals import Reversals
from skbidag._search._turning import turn_blankets
from skbidag._search_space import (
    SearchSpace,
    hub_limit,
    parent_limit,
    space_within_budget,
    start_space,
)
from skbidag._tables import ScoreTables, build_tables

# Expansions in a row without a better DAG before a search ends.
PATIENCE = 4
# Fresh starts at a time, with many variables.
FRESH_STARTS = 2
# Steps of a fresh start, at the beginning and when a search is stuck, over `n_iter`;
# and at most. (With many variables it makes sweeps instead, see `_orders.py`.)
FRESH_SHARE = 4
MOST_FRESH_STEPS = 100_000_000
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
class SearchSettings:
    """How to search; the defaults are those of IterativeSearchStructure.

    Attributes
    ----------
    search_space, alpha, extra_parent, max_parents, soft_limit, merge, max_expansions, \
n_restarts, n_jobs, memory_limit
        As in IterativeSearchStructure. :meth:`resolved` makes a number of
        `max_parents`, which `soft_limit` does not exceed.
    engine : str
        How orders are searched, one of ``ENGINES``.
    n_iter : int or None
        Steps of each search over orders; None for as many as the variables ask for.
    threshold : float or None
        Edges that are more probable come into the space; None for none.
    thorough : bool
        Whether to try all that may help when the best DAG adds nothing.
    cover : bool
        Whether the space, at the end, is to hold the posterior, for chains.
    hub_limit : int or None
        The largest permissible set of the few nodes whose parents fill `max_parents`;
        None for what :meth:`resolved` makes of "auto".
    thrifty : bool
        Whether it may do so only as far as tables cost little; otherwise each set may
        have `max_parents`. That is how it is where the user gives a number.
    scheme : {"wide", "paper", "accumulated"}
        What comes into the space: all that may help, or what the paper lets in.
    first_space : object or None
        By the paper's scheme, what the first space has beside `search_space`.
    power : float or None
        By the paper's scheme, of the scores in the engine "mcmc"; None to tune it.
    walk : {"orders", "partitions"}
        By the paper's scheme, what is walked over to find the probable edges.
    start : object
        Where the first search starts, see `resolve_starts`. :meth:`resolved` makes an
        order of it, or None.
    """

    search_space: object = "pc"
    alpha: float | str = "auto"
    extra_parent: bool = True
    max_parents: int | str = "auto"
    soft_limit: int = 12
    engine: str = "kicks"
    merge: str = "skeleton"
    threshold: float | None = None
    max_expansions: int = 50
    n_restarts: int = 1
    n_iter: int | None = None
    n_jobs: int | None = None
    memory_limit: float | None = None
    thorough: bool = True
    cover: bool = True
    hub_limit: int | None = None
    thrifty: bool = True
    scheme: str = "wide"
    first_space: object = None
    power: float | None = None
    walk: str = "orders"
    start: object = None

    def resolved(self, problem):
        """The settings with numbers for what the problem decides."""
        limit = parent_limit(self.max_parents, problem)
        starts = resolve_starts(
            self.start, problem.n_features, problem.names, problem.constraints
        )
        return replace(
            self,
            start=starts[0].order if starts else None,
            max_parents=limit,
            soft_limit=min(self.soft_limit, limit),
            hub_limit=hub_limit(self.max_parents, problem),
            thrifty=self.max_parents == "auto",
        )


@dataclass(frozen=True)
class SearchResult:
    """A search space, and what is known of it.

    Attributes
    ----------
    space : SearchSpace
        The space.
    adjacency : ndarray of bool, shape (n_features, n_features), or None
        The best DAG found; None if nobody has searched. The space holds it, unless its
        nodes have more parents than tables could hold.
    log_score : float
        Its log score.
    expansions : ndarray or None
        What each expansion found, see `EXPANSION_FIELDS`.
    cut_short : bool
        Whether the search was ended early.
    outside_mass : ndarray of shape (n_features,) or None
        Expected number of parents of each node, per DAG, in sets that the space leaves
        out; None if nobody has looked.
    tables : ScoreTables
        With sums, as far as there are any: chains need not build them anew.
    dags : ndarray of bool, shape (n_searches, n_features, n_features), or None
        The best DAG of each search.
    probabilities : ndarray of shape (n_searches, n_features, n_features) or None
        Edge probabilities on each space, if it grows by these.
    traces : list of ndarray or None
        Log scores along each search.
    """

    space: SearchSpace
    adjacency: np.ndarray | None = None
    log_score: float = float("nan")
    expansions: np.ndarray | None = None
    cut_short: bool = False
    outside_mass: np.ndarray | None = None
    tables: ScoreTables | tuple = field(default=(), repr=False)
    dags: np.ndarray | None = field(default=None, repr=False)
    probabilities: np.ndarray | None = field(default=None, repr=False)
    traces: list | None = field(default=None, repr=False)

    @property
    def is_beyond_tables(self):
        """Whether the best DAG is not one of the space."""
        return self.adjacency is not None and not self.space.contains(self.adjacency)


class Searcher(ABC):
    """An estimator that searches: a sampler may have it search in its stead."""

    @abstractmethod
    def search_settings(self):
        """How it searches, a :class:`SearchSettings`; its parameters are checked."""


def search_widely(problem, settings, entropy, stop=None):
    """Search for the best DAG, and let all that helps into the space around it.

    The restarts are quick; what they found comes into one space, on which the last
    search is thorough. Then the space is widened until it holds the posterior.

    Parameters
    ----------
    problem : Problem
        Score, data and constraints.
    settings : SearchSettings
        How to search, with numbers.
    entropy : tuple of int
        Seed.
    stop : Stop, default=None
        Ends the search early.

    Returns
    -------
    result : SearchResult
        The best DAG ever seen, and the space that was found for it.
    """
    permitted = first_permitted(problem, settings, entropy)
    if settings.extra_parent:
        permitted = add_selected_parents(permitted, problem, settings.soft_limit)
    result = search_with_restarts(problem, permitted, settings, entropy, stop)
    covers = settings.cover and result.space.extended
    if not covers or result.cut_short or result.is_beyond_tables:
        return result
    space, outside_mass, tables = cover_posterior(
        problem, result.space, result.adjacency, settings, entropy, stop
    )
    return replace(result, space=space, outside_mass=outside_mass, tables=tables)


def search_with_restarts(problem, permitted, settings, entropy, stop):
    """Search from one space, several times if so wished."""
    if settings.n_restarts == 1:
        return search_once(problem, permitted, settings, entropy, stop=stop)
    quick = replace(settings, thorough=False)
    jobs = [
        (problem, permitted, quick, entropy, restart, None, stop)
        for restart in range(settings.n_restarts)
    ]
    results = run_parallel(search_once, jobs, settings.n_jobs)
    results.sort(key=lambda result: -result.log_score)
    best = results[0]
    permitted = best.space.permitted
    for other in results[1:]:
        permitted = merge_graph(
            permitted,
            other.adjacency,
            settings.merge,
            settings.soft_limit,
            settings.max_parents,
            problem.constraints.forbidden,
        )
    return search_once(
        problem,
        permitted,
        settings,
        entropy,
        settings.n_restarts,
        best.adjacency,
        stop,
    )


def first_permitted(problem, settings, entropy):
    """Everything, where that fits and the user asks for no space in particular."""
    if (
        settings.extra_parent
        and isinstance(settings.search_space, str)
        and fits_whole(problem.constraints, settings.max_parents)
    ):
        return ~problem.constraints.forbidden
    return start_space(
        problem,
        settings.search_space,
        alpha=settings.alpha,
        extended=settings.extra_parent,
        max_parents=settings.max_parents,
        entropy=entropy,
        n_jobs=settings.n_jobs,
    ).permitted


def fits_whole(constraints, max_parents):
    """Whether every node may have all others, forbidden ones aside, as candidates."""
    return (~constraints.forbidden).sum(axis=0).max() <= max_parents


def wide_limit(score, n_features, max_parents):
    """Size of permissible sets whose tables can be built in `WIDE_SECONDS`."""
    entries = WIDE_SECONDS / score.entry_seconds
    return int(np.clip(np.log2(entries / n_features**2), 0, max_parents))


def search_once(
    problem, permitted, settings, entropy, restart=0, start=None, stop=None
):
    """Search from one space until nothing changes; see :class:`SpaceSearch`."""
    return SpaceSearch(
        problem, permitted, settings, entropy, restart, start, stop
    ).run()


def may_be_free(problem, permitted, settings):
    """Whether nodes may choose parents beyond the space, and something is beyond it."""
    everything = (permitted | problem.constraints.forbidden).all()
    return settings.extra_parent and not everything and is_affordable(problem)


def turned_edges(adjacency, problem, settings, free):
    """The better DAG with other parents of nodes with large blankets, or None."""
    max_parents = max(settings.max_parents, int(adjacency.sum(axis=0).max()))
    better = turn_blankets(adjacency, problem, max_parents, settings.soft_limit)
    if better is None and free is not None:
        better = turn_hubs(adjacency, problem.log_score(adjacency), free)
    return better


class SpaceSearch:
    """One search: rounds of finding the best DAG and enlarging the space around it.

    It starts from a DAG that a climb finds without a space, which also looks for a
    better one when the search is stuck; where that is not to be had, by a slow score or
    thousands of variables, from an annealed order, and then from another one. It ends
    when neither the space nor the best score changes. Where the best DAG is too dense
    for tables, it makes no rounds: what was found without them is the result.

    Parameters
    ----------
    problem : Problem
        Score and constraints.
    permitted : ndarray of bool, shape (n_features, n_features)
        The space to start from.
    settings : SearchSettings
        How to search.
    entropy : tuple of int
        Seed.
    restart : int, default=0
        Which of several independent searches this is.
    start : ndarray of bool, shape (n_features, n_features), default=None
        A DAG to start from; None for one that a climb or annealing finds.
    stop : Stop, default=None
        Ends the search early.
    """

    def __init__(
        self, problem, permitted, settings, entropy, restart=0, start=None, stop=None
    ):
        n, score = problem.n_features, problem.score
        self.problem, self.settings, self.stop = problem, settings, stop
        self.stream = bit_generator(entropy, 2, restart)
        self.generator = np.random.Generator(self.stream)
        self.n_iter = settings.n_iter or auto_n_iter(problem.n_main, 3.5)
        self.wide_limit = wide_limit(score, n, settings.max_parents)
        self.reversals = once_per_dag(
            Reversals(problem, settings.max_parents, settings.n_jobs)
        )
        self.pairs = once_per_dag(paying_pairs, problem)
        # where the search stands
        self.permitted = permitted
        self.before_widening = None
        self.tables = ()
        self.order = None if start is None else random_order(self.generator, start)
        if start is None and restart == 0:
            self.order = settings.start
        self.best, self.log_score = None, -np.inf
        self.n_stalled = 0
        # With many variables, climbs alone follow the space as long as it grows.
        self.many = problem.outsiders is not None
        self.quick = self.many and settings.engine == "kicks"
        self.cut_short = False
        self.began = time.perf_counter()
        self.has_searched_densely, self.beyond_tables = False, None
        self.history, self.dags = [], []
        self.free = None
        if settings.thorough and may_be_free(problem, permitted, settings):
            limit = settings.hub_limit or settings.max_parents
            self.free = FreeOrders(
                problem, limit, self.generator, stop, settings.n_jobs
            )
            # with many variables reversals come nearer to the best DAG, and faster
            if not self.many:
                self.start_freely()
            self.local = once_per_dag(LocalSearch(problem, limit, self.pairs, stop))
        self.turned = once_per_dag(turned_edges, problem, settings, self.free)

    def start_freely(self):
        """Start from a DAG that a climb finds, or a search where it is dense.

        Where an order is given, the climb from it tells whether that is so.
        """
        found = self.free.start(self.order)
        dense = self.search_densely(found)
        if dense is not None:
            self.go_on_from(dense)
        elif self.order is None:
            self.set_out(found)

    def search_densely(self, adjacency):
        """The DAG of a search without tables if this one is dense, or None; once."""
        if self.free is None or self.has_searched_densely:
            return None
        found = search_if_dense(
            adjacency,
            self.problem,
            self.settings,
            self.free.max_parents,
            self.generator,
            self.stop,
        )
        self.has_searched_densely = found is not None
        return found

    def end_densely(self):
        """Go on without tables where the best DAG is dense; tell whether that pays."""
        found = None if self.stop else self.search_densely(self.best)
        least = self.log_score + LEAST_GAIN
        if found is None or self.problem.log_score(found) <= least:
            return False
        self.go_on_from(found)
        return True

    def go_on_from(self, adjacency):
        """Go on from a DAG that was found without tables."""
        self.n_stalled = 0
        self.set_out(adjacency)
        if (adjacency.sum(axis=0) > self.limits_around(adjacency)).any():
            self.beyond_tables = adjacency

    def set_out(self, adjacency):
        """Let a DAG into the space, as far as there is room, and start from there."""
        neighbors = (adjacency | adjacency.T) & ~self.problem.constraints.forbidden
        limits = self.limits_around(adjacency)
        self.permitted = make_room(
            self.permitted, neighbors, adjacency, self.problem, limits
        )
        self.order = random_order(self.generator, adjacency)

    def limits_around(self, adjacency):
        """The largest permissible set of each node in a space around a DAG."""
        n_parents, usual = adjacency.sum(axis=0), self.settings.max_parents
        return large_limits(n_parents, usual, self.free.max_parents)

    def run(self):
        """Make rounds to the end.

        Returns
        -------
        result : SearchResult
            The best DAG ever seen, and the space that was found for it.
        """
        while self.beyond_tables is None:
            if not self.advance() and not self.end_densely():
                break
        if self.beyond_tables is not None:
            self.take_beyond_tables()
        if self.tables:
            self.tables.release(self.problem.workspace)
        return SearchResult(
            self.final_space(),
            self.best,
            log_score=float(self.log_score),
            expansions=np.array(self.history, dtype=EXPANSION_FIELDS),
            cut_short=self.cut_short,
            dags=np.array(self.dags),
        )

    def advance(self):
        """Make a round; tell whether there is another."""
        began = time.perf_counter()
        space = self.space_of(self.permitted)
        self.build_tables(space)
        log_score = self.search_orders()
        found = self.tables.best_dag(self.order)
        improved = log_score > self.log_score + LEAST_GAIN
        self.n_stalled = 0 if improved else self.n_stalled + 1
        if improved:
            self.best, self.log_score = found, log_score
        self.cut_short = bool(self.stop)
        # a better DAG that an expansion finds must get its turn, so none at the end
        ends = (
            self.cut_short
            or self.n_stalled == PATIENCE
            or len(self.history) == self.settings.max_expansions
        )
        larger = self.permitted
        if space.extended and not ends:
            larger = self.enlarge(found)
        self.keep_history(log_score, found, began)
        unchanged = np.array_equal(larger, self.permitted)
        if self.quick and not improved:
            self.quick, self.n_stalled, self.permitted = False, 0, larger
            return not ends
        if ends or (unchanged and (not improved or not space.extended)):
            return False
        self.permitted = larger
        return True

    def take_beyond_tables(self):
        """Make the DAG that tables cannot hold the result."""
        self.best = self.beyond_tables
        self.log_score = self.problem.log_score(self.best)
        self.cut_short = bool(self.stop)
        self.keep_history(self.log_score, self.best, self.began)

    def keep_history(self, log_score, found, began):
        """Remember what a round has found."""
        sizes = self.permitted.sum(axis=0)
        seconds = time.perf_counter() - began
        self.history.append((log_score, found.sum(), sizes.sum(), sizes.max(), seconds))
        self.dags.append(found)

    def space_of(self, permitted):
        """The space with these permitted edges."""
        return space_within_budget(
            self.problem,
            permitted,
            self.settings.max_parents,
            extended=self.settings.extra_parent,
        )

    def build_tables(self, space):
        """Tables of the space, of which those of nodes that did not change stay."""
        by_posterior = self.settings.threshold is not None
        self.tables = build_tables(
            self.problem.score,
            space,
            scores=by_posterior,
            sums=by_posterior,
            maxima=True,
            previous=self.tables,
            workspace=self.problem.workspace,
            n_jobs=self.settings.n_jobs,
            memory_limit=self.settings.memory_limit,
            names=self.problem.names,
        )

    def search_orders(self):
        """Move to the best order that is found, and return its log score."""
        if self.order is None:
            self.order = self.anneal_afresh()
        self.order, log_score = self.search_from(self.order)
        stuck = log_score <= self.log_score + LEAST_GAIN
        afresh = self.settings.thorough and self.free is None and not self.many
        if afresh and stuck and not self.n_stalled:
            # by now the space may hold a better DAG far from here
            fresh, fresh_score = self.search_from(self.anneal_afresh())
            if fresh_score > log_score + LEAST_GAIN:
                self.order, log_score = fresh, fresh_score
        return log_score

    def search_from(self, order):
        """The best order that the engine finds from here, and its log score."""
        engine = climb_once if self.quick else self.settings.engine
        n_iter = self.n_iter
        return search_orders(
            self.tables, order, self.stream, engine, n_iter, stop=self.stop
        )

    def anneal_afresh(self):
        """A good order, whatever the search has found so far."""
        start = random_order(self.generator, self.problem.constraints.required)
        n_iter = min(FRESH_SHARE * self.n_iter, MOST_FRESH_STEPS)
        order, _ = search_orders(
            self.tables, start, self.stream, "annealing", n_iter, stop=self.stop
        )
        return order

    def improve(self, adjacency):
        """A better DAG that reversals lead to, local steps or orders without a space.

        None where there is none. The first that is found will do: the search goes on.

        With many variables and without these, also from fresh starts: what one has over
        the present DAG reversals often show first, and each may be better in some
        places.
        """
        better = self.reversals(adjacency)
        if better is not None or self.stop:
            return better
        if self.free is not None:
            # with a thousand variables local steps would take seconds
            better = None if self.many else self.local(adjacency)
            if better is not None or self.stop:
                return better
            return self.free.improve(adjacency, self.problem.log_score(adjacency))
        for order in self.fresh_orders() if self.many else ():
            fresh = self.tables.best_dag(order)
            reversed_ = self.reversals(fresh)
            other = fresh if reversed_ is None else reversed_
            present = adjacency if better is None else better
            both = best_of_both(present, other, self.problem.score)
            better = better if both is None else both
        return better

    def fresh_orders(self):
        """Orders annealed from random ones, each by random numbers of its own."""
        required = self.problem.constraints.required
        starts = [
            (random_order(self.generator, required), self.generator.integers(2**63))
            for _ in range(FRESH_STARTS)
        ]

        def anneal(start):
            order, seed = start
            stream = bit_generator(int(seed))
            order, _ = search_orders(
                self.tables, order, stream, "annealing", self.n_iter, stop=self.stop
            )
            return order

        return run_threads(anneal, starts, self.settings.n_jobs)

    def enlarge(self, found):
        """A larger space around the DAG of this round, or the same one."""
        problem, settings = self.problem, self.settings
        larger, better = expand(
            self.permitted,
            found,
            problem,
            settings,
            self.improve,
            self.turned,
            self.pairs,
        )
        if better is not found:
            self.order = random_order(self.generator, better)
        if settings.thorough and np.array_equal(larger, self.permitted):
            larger = widen(self.permitted, found, problem, self.wide_limit)
            if self.before_widening is None:
                self.before_widening = self.permitted
        if settings.threshold is None:
            return larger
        draws = short_chain(self.tables, self.order, self.stream, self.n_iter)
        probable = draws.dags.mean(axis=0) > settings.threshold
        limit, forbidden = settings.max_parents, problem.constraints.forbidden
        return merge_graph(larger, probable, "dag", limit, limit, forbidden)

    def final_space(self):
        """The space to sample on.

        Widening is for the search: it fills sets up with what is hardly ever a
        parent, which tables for sampling would pay for. And the best DAG may be of
        an earlier space, parts of which have made room since.
        """
        widened = self.before_widening is not None
        permitted = self.before_widening if widened else self.permitted
        permitted = without_needless_room(
            permitted, self.best, self.problem, self.settings.max_parents
        )
        space = self.space_of(permitted)
        outside = (self.best & ~permitted).sum(axis=0)
        if widened or (outside > space.extended).any():
            permitted = let_in(permitted, self.best, self.problem, self.settings)
            permitted = let_in_hubs(permitted, self.best, self.problem, self.settings)
        return self.space_of(permitted)
