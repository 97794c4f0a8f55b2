"""The paper's own scheme, to the letter (Kuipers, Suter & Moffa 2022, section 3).

The first space is what `search_space` gives and nothing else. Then, again and again:
find the best DAG in the space extended by one parent per node, and let it into the
first space: H_{i+1} = H_0 with G_i, or, accumulated, H_i with G_i. It ends when the
best score does not rise, or with a space that was searched before. Instead of the best
DAG, it may be the edges that are probable in a chain over orders or partitions.

Orders are searched without what `_orders.py` adds to an engine: the first one is drawn
at random, others are where the last search ended, and nobody climbs at the end of a
walk.
"""

import time
from functools import partial

import numpy as np

from skbidag._blocks import partition_moves, partition_of_dag
from skbidag._chains import auto_n_iter, bit_generator, move_mixture
from skbidag._core._order import OrderChain
from skbidag._core._partition import PartitionChain
from skbidag._parallel import run_parallel
from skbidag._search._expansion import merge_graph
from skbidag._search._orders import (
    ENGINES,
    LEAST_GAIN,
    order_moves,
    random_order,
    search_orders,
    walk_annealed,
    walk_tempered,
)
from skbidag._search._spaces import EXPANSION_FIELDS, SearchResult
from skbidag._search_space import make_space, start_space
from skbidag._tables import build_tables

# Share of a chain that is dropped, and DAGs drawn from the rest.
BURN_IN = 0.2
N_DRAWS = 500


def search_plainly(problem, settings, entropy, stop=None):
    """Search by the paper's scheme; of several searches the best counts.

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
        The best DAG, and the last space.
    """
    first = start_edges(problem, settings.search_space, settings, entropy)
    begin = first
    if settings.first_space is not None:
        begin = first | start_edges(problem, settings.first_space, settings, entropy)
    jobs = [
        (problem, first, begin, settings, entropy, restart, stop)
        for restart in range(settings.n_restarts)
    ]
    results = run_parallel(search_once, jobs, settings.n_jobs)
    return max(results, key=lambda result: result.log_score)


def start_edges(problem, search_space, settings, entropy):
    """What a search space stands for, and nothing else."""
    return start_space(
        problem,
        search_space,
        alpha=settings.alpha,
        extended=False,
        max_parents=settings.max_parents,
        entropy=entropy,
        n_jobs=settings.n_jobs,
    ).permitted


def search_once(*args):
    """Search once; see :class:`PlainSearch`."""
    return PlainSearch(*args).run()


class PlainSearch:
    """One search by the paper's scheme.

    Parameters
    ----------
    problem : Problem
        Score and constraints.
    first : ndarray of bool, shape (n_features, n_features)
        The first space, H_0.
    begin : ndarray of bool, shape (n_features, n_features)
        Where to begin: the same, or with edges that only the first search has.
    settings : SearchSettings
        How to search, with numbers.
    entropy : tuple of int
        Seed.
    restart : int, default=0
        Which of several independent searches this is.
    stop : Stop, default=None
        Ends the search early.
    """

    def __init__(self, problem, first, begin, settings, entropy, restart=0, stop=None):
        self.problem, self.settings, self.stop = problem, settings, stop
        self.stream = bit_generator(entropy, 2, restart)
        self.n_iter = settings.n_iter or auto_n_iter(problem.n_features, 3.5)
        self.first, self.permitted = first, begin
        self.tables = ()
        self.order = settings.start if restart == 0 else None
        if self.order is None:
            generator = np.random.Generator(self.stream)
            self.order = random_order(generator, problem.constraints.required)
        self.best, self.log_score, self.best_space = None, -np.inf, None
        self.history, self.dags, self.probabilities, self.traces = [], [], [], []

    def run(self):
        """Make rounds to the end.

        Returns
        -------
        result : SearchResult
            The best DAG, and the last space; where that has lost the best DAG, the
            one in which it was found.
        """
        searched = set()
        while True:
            searched.add(self.permitted.tobytes())
            improved = self.search_space()
            larger = self.enlarged()
            if (
                self.stop
                or len(self.history) > self.settings.max_expansions
                or not self.settings.extra_parent
                or not (improved or self.by_posterior)
                or larger.tobytes() in searched
            ):
                break
            self.permitted = larger
        self.tables.release(self.problem.workspace)
        space = self.space()
        return SearchResult(
            space if space.contains(self.best) else self.best_space,
            self.best,
            log_score=float(self.log_score),
            expansions=np.array(self.history, dtype=EXPANSION_FIELDS),
            cut_short=bool(self.stop),
            dags=np.array(self.dags),
            probabilities=np.array(self.probabilities) if self.by_posterior else None,
            traces=self.traces,
        )

    @property
    def by_posterior(self):
        """Whether probable edges come in, instead of the best DAG."""
        return self.settings.threshold is not None

    def space(self):
        """The space, in which all other variables are outsiders."""
        return make_space(
            self.permitted,
            self.problem.constraints,
            extended=self.settings.extra_parent,
        )

    def search_space(self):
        """Search the space, and tell whether there is a better DAG in it."""
        began = time.perf_counter()
        self.tables = build_tables(
            self.problem.score,
            self.space(),
            scores=self.by_posterior,
            sums=self.by_posterior,
            maxima=True,
            previous=self.tables,
            workspace=self.problem.workspace,
            n_jobs=self.settings.n_jobs,
            memory_limit=self.settings.memory_limit,
            names=self.problem.names,
        )
        trace = self.sample() if self.by_posterior else self.maximize()
        found = self.tables.best_dag(self.order)
        log_score = self.problem.score.dag_score(found)
        improved = log_score > self.log_score + LEAST_GAIN
        if improved:
            self.best, self.log_score, self.best_space = found, log_score, self.space()
        sizes = self.permitted.sum(axis=0)
        seconds = time.perf_counter() - began
        self.history.append((log_score, found.sum(), sizes.sum(), sizes.max(), seconds))
        self.dags.append(found)
        self.traces.append(np.array(trace))
        return improved

    def maximize(self):
        """Move to the best order that is found; the scores on the way."""
        trace = []
        self.order, _ = search_orders(
            self.tables,
            self.order,
            self.stream,
            plain_engine(self.settings),
            self.n_iter,
            stop=self.stop,
            trace=trace,
        )
        return trace

    def sample(self):
        """Sample DAGs, and move to the best order; the scores of the DAGs."""
        n = len(self.tables)
        n_draws = min(N_DRAWS, self.n_iter)
        chain, best_order = self.start_chain()
        chain.run(int(BURN_IN * self.n_iter))
        packed = np.zeros((n, -(-n // 8)), dtype=np.uint8)
        counts, trace = np.zeros((n, n)), []
        for _ in range(n_draws):
            chain.run(max(1, int((1 - BURN_IN) * self.n_iter) // n_draws))
            trace.append(chain.draw_dag(packed))
            counts += np.unpackbits(packed, axis=-1, count=n)
            if self.stop:
                break
        self.probabilities.append(counts / len(trace))
        self.order = best_order(chain)
        return trace

    def start_chain(self):
        """A chain over orders or partitions, and what tells its best order."""
        views, n = self.tables.views(), self.tables.n_main
        if self.settings.walk == "orders":
            moves = move_mixture("auto", order_moves(n))
            chain = OrderChain(views, self.stream, self.order, moves)
            return chain, lambda chain: chain.best_order
        moves = move_mixture("auto", partition_moves(n))
        best = self.tables.best_dag(self.order)
        start = partition_of_dag(best, views.background)
        chain = PartitionChain(views, self.stream, start, moves)
        return chain, lambda chain: np.argsort(chain.best_partition, kind="stable")

    def enlarged(self):
        """The space of the next round."""
        settings = self.settings
        graph, merge = self.dags[-1], settings.merge
        if self.by_posterior:
            graph, merge = self.probabilities[-1] > settings.threshold, "dag"
        accumulates = settings.scheme == "accumulated"
        return merge_graph(
            self.permitted if accumulates else self.first,
            graph,
            merge,
            settings.soft_limit,
            settings.max_parents,
            self.problem.constraints.forbidden,
        )


def plain_engine(settings):
    """How the paper searches over orders, by name."""
    engines = ENGINES | {
        "annealing": walk_annealed,
        "mcmc": partial(walk_tempered, power=settings.power),
    }
    return engines[settings.engine]
