"""Sampling: chains on the tables of one space, and what they have given so far.

A function of the problem, of the space and of how chains walk, like the search. What
a fit with ``warm_start`` goes on from is a :class:`Progress`; what chains give, a
:class:`Sampled`.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

import numpy as np

from skbidag._chains import (
    ChainRun,
    Schedule,
    auto_n_iter,
    bit_generator,
    draw_once,
    make_schedule,
    run_chains,
)
from skbidag._outside import mass_outside
from skbidag._posterior import DAGSamples
from skbidag._search import (
    LEAST_GAIN,
    SearchResult,
    random_order,
    short_chain,
    starting_orders,
)
from skbidag._tables import build_tables


class Walk(ABC):
    """How chains walk: what their state is, and which moves they make."""

    @abstractmethod
    def chain_maker(self, tables, orders, best, entropy):
        """What makes chains.

        Parameters
        ----------
        tables : ScoreTables
            What they will walk on.
        orders : list of ndarray of shape (n_features,)
            For each chain an order to start from, parents to the right.
        best : ndarray of bool, shape (n_features, n_features), or None
            The DAG these orders are of, if there is one.
        entropy : tuple of int
            Seed of the chains.

        Returns
        -------
        make_chain : callable
            Gives, of views of the tables and a number, a chain of ``_core``; it can
            be pickled.
        """

    @abstractmethod
    def best_dag(self, tables, state):
        """The best DAG of what a chain, whose state this is, has seen."""


@dataclass(frozen=True)
class SamplingSettings:
    """How many chains and draws, and how long the chains are."""

    n_iter: int | None
    n_draws: int
    burn_in: float
    n_chains: int
    n_jobs: int | None = None
    memory_limit: float | None = None

    def schedule(self, n_features):
        """When chains draw; without `n_iter`, as the number of variables asks for."""
        n_iter = self.n_iter or auto_n_iter(n_features, 5.0)
        return make_schedule(n_iter, self.burn_in, self.n_draws)


@dataclass(frozen=True)
class Progress:
    """What a fit with ``warm_start`` goes on from: the space, and the chains.

    Attributes
    ----------
    found : SearchResult
        The search space, and the best DAG known in it.
    entropy : tuple of int
        Seed of the chains.
    schedule : Schedule or None
        The chains' burn-in and thinning; None before they have started.
    n_draws : int
        How many draws all chains have made: those of ``dag_samples_``, unless no
        chain has made any and these are something to begin with.
    runs : list of ChainRun or None
        Where the chains stand, with the draws they have made beyond `n_draws`.
    """

    found: SearchResult
    entropy: tuple
    schedule: Schedule | None = None
    n_draws: int = 0
    runs: list[ChainRun] | None = None


@dataclass(frozen=True)
class Sampled:
    """What chains have given.

    Attributes
    ----------
    samples : DAGSamples
        The draws that all chains have made.
    log_scores : ndarray of shape (n_chains, n_draws)
        Their log scores.
    adjacency : ndarray of bool, shape (n_features, n_features)
        The best DAG of the search, of the draws, and of all that the chains saw.
    log_score : float
        Its log score.
    acceptance_rate : ndarray of shape (n_chains,)
        Share of the steps that changed a chain's state.
    n_steps : int
        Steps of the longest chain.
    outside_mass : ndarray of shape (n_features,)
        Expected number of parents of each node in sets that the space leaves out; NaN
        where there was no time to look.
    progress : Progress
        Where to go on from.
    """

    samples: DAGSamples
    log_scores: np.ndarray
    adjacency: np.ndarray
    log_score: float
    acceptance_rate: np.ndarray
    n_steps: int
    outside_mass: np.ndarray
    progress: Progress


class Sampling:
    """Chains on the tables of one space.

    Parameters
    ----------
    problem : Problem
        Score and constraints.
    progress : Progress
        The space, and the chains to go on with if there are any.
    walk : Walk
        How chains walk.
    settings : SamplingSettings
        How many, and how long.
    stop : Stop
        Ends the chains early.
    """

    def __init__(self, problem, progress, walk, settings, stop):
        schedule = progress.schedule or settings.schedule(problem.n_features)
        self.progress = replace(
            progress, schedule=replace(schedule, n_draws=settings.n_draws)
        )
        self.walk, self.settings, self.stop = walk, settings, stop
        self.tables = build_tables(
            problem.score,
            progress.found.space,
            sums=True,
            previous=progress.found.tables,
            workspace=problem.workspace,
            n_jobs=settings.n_jobs,
            memory_limit=settings.memory_limit,
            names=problem.names,
        )
        orders = self._starting_orders(problem.constraints.required)
        self.progress = replace(self.progress, found=self._examined(problem, orders[0]))
        self.make_chain = walk.chain_maker(
            self.tables, orders, progress.found.adjacency, progress.entropy
        )
        self.runs = [None] * settings.n_chains
        if progress.runs is not None:
            self.runs = [run.draws(0, 0) for run in progress.runs]

    def _starting_orders(self, required):
        """An order for each chain to start from: of the best DAG, if that is known."""
        progress, n_jobs = self.progress, self.settings.n_jobs
        generator = np.random.Generator(bit_generator(progress.entropy, 1))
        best = progress.found.adjacency
        fixed = required if best is None else best
        orders = [random_order(generator, fixed) for _ in range(self.settings.n_chains)]
        if best is not None or progress.runs is not None:
            return orders  # good already, or of no matter to chains that go on
        return starting_orders(self.tables, orders, progress.entropy, self.stop, n_jobs)

    def _examined(self, problem, order):
        """The space with what is known of what it leaves out; its tables are here."""
        found = replace(self.progress.found, tables=())
        if found.outside_mass is not None or self.stop:
            return found
        outside_mass = np.zeros(problem.n_features)
        forbidden = problem.constraints.forbidden
        if not (found.space.permitted | forbidden).all():
            stream = bit_generator(self.progress.entropy, 4)
            draws = short_chain(self.tables, order, stream)
            outside_mass = mass_outside(
                problem.score,
                found.space,
                forbidden,
                draws,
                stream,
                self.settings.n_jobs,
            )
        return replace(found, outside_mass=outside_mass)

    def _outside_mass(self):
        found = self.progress.found
        if found.outside_mass is None:
            return np.full(found.space.n_features, np.nan)
        return found.outside_mass.copy()

    def run(self, observer):
        """Run the chains until they have made their draws or are stopped."""
        run_chains(
            self.make_chain,
            self.tables,
            self.progress.schedule,
            self.runs,
            observer=observer,
            stop=self.stop,
            n_jobs=self.settings.n_jobs,
        )

    @property
    def has_started(self):
        """Whether every chain has come somewhere."""
        return all(run is not None for run in self.runs)

    def so_far(self, samples=None, log_scores=None):
        """What the chains have given, now that they rest.

        Parameters
        ----------
        samples : DAGSamples, default=None
            Draws of the fit that this one goes on from.
        log_scores : ndarray of shape (n_chains, n_draws), default=None
            Their log scores.

        Returns
        -------
        sampled : Sampled
            Those draws and the new ones.
        """
        runs = self.runs
        if self.progress.runs is not None:
            runs = self._after_earlier(samples, log_scores)
        # chains that were stopped may differ in length: what all have is compared
        n_draws = min(len(run.log_scores) for run in runs)
        kept = [run.draws(0, n_draws) for run in runs]
        if n_draws == 0:
            kept = [
                draw_once(self.make_chain, self.tables, k, run)
                for k, run in enumerate(runs)
            ]
        samples = DAGSamples(np.stack([run.packed for run in kept]))
        log_scores = np.stack([run.log_scores for run in kept])
        best = samples[int(log_scores.argmax())]
        adjacency, log_score = self._best_dag([run.state for run in runs], best)
        moves = [(run.state["accepted"], run.state["proposed"]) for run in runs]
        return Sampled(
            samples,
            log_scores,
            adjacency,
            log_score,
            np.array([made.sum() / max(1, tried.sum()) for made, tried in moves]),
            max(run.n_steps for run in runs),
            self._outside_mass(),
            replace(
                self.progress,
                n_draws=n_draws,
                runs=[run.draws(n_draws) for run in runs],
            ),
        )

    def _after_earlier(self, samples, log_scores):
        """The runs with the draws of earlier fits before their own."""
        n_draws = self.progress.n_draws
        packed, log_scores = samples.packed[:, :n_draws], log_scores[:, :n_draws]
        return [
            replace(old, packed=packed[k], log_scores=log_scores[k])
            .before(old)
            .before(new)
            for k, (old, new) in enumerate(
                zip(self.progress.runs, self.runs, strict=True)
            )
        ]

    def _best_dag(self, states, best_draw):
        """The best DAG of the search, the draws, and what the chains saw.

        Of those that are equally good, the one with the fewest edges: an edge from a
        constant, say, changes no score.
        """
        known = [self.walk.best_dag(self.tables, state) for state in states]
        if self.progress.found.adjacency is not None:
            known.append(self.progress.found.adjacency)
        known.append(best_draw)
        values = [self.tables.log_score(adjacency) for adjacency in known]
        best, value = min(
            (
                (adjacency, value)
                for adjacency, value in zip(known, values, strict=True)
                if value >= max(values) - LEAST_GAIN
            ),
            key=lambda pair: pair[0].sum(),
        )
        return best, float(value)
