"""Sampling: chains on the tables of one space, and what they have given so far.

A function of the problem, of the space and of how chains walk, like the search. What
a fit with ``warm_start`` goes on from is a :class:`Progress`; what chains give, a
:class:`Sampled`.

Chains of no given length run in rounds until they agree. Each round makes them twice
as long: of the draws so far those that the burn-in, now twice as long, leaves are
thinned to every other one, so that there never are more than were asked for.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
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
from skbidag._convergence import Convergence, assess
from skbidag._given_starts import GivenStart
from skbidag._outside import mass_outside
from skbidag._posterior import DAGSamples, graph_counts
from skbidag._search import LEAST_GAIN, SearchResult, short_chain
from skbidag._starts import Modes, find_starts
from skbidag._tables import build_tables

# Chains run for this many times the paper's length at most, unless they agree before;
# or for so many steps, which with few variables take a second or two.
MOST_LENGTHS = 32
MOST_STEPS = 3_200_000


class Walk(ABC):
    """How chains walk: what their state is, and which moves they make."""

    @abstractmethod
    def chain_maker(self, starts, modes, entropy):
        """What makes chains.

        Parameters
        ----------
        starts : list of Start or None
            Where each chain starts; None for chains that go on from elsewhere.
        modes : Modes
            DAGs between which chains may leap.
        entropy : tuple of int
            Seed of the chains.

        Returns
        -------
        make_chain : ChainMaker
            Makes the chains.
        """

    @abstractmethod
    def best_dag(self, tables, state):
        """The best DAG of what a chain, whose state this is, has seen."""

    @abstractmethod
    def traces(self, points, log_scores):
        """What the points of a walk are to a user.

        Parameters
        ----------
        points : ndarray of int, shape (n_chains, n_draws, n)
            Where chains were when they drew, as :meth:`ChainMaker.point_of` tells.
        log_scores : ndarray of shape (n_chains, n_draws)
            Log scores of these points.

        Returns
        -------
        traces : dict of ndarray
            Learned attributes by name.
        """


@dataclass(frozen=True)
class ChainMaker(ABC):
    """Makes the chains of one fit, and makes them leap; can be pickled.

    Attributes
    ----------
    entropy : tuple of int
        Seed of the chains.
    modes : Modes
        DAGs between which chains may leap.
    """

    entropy: tuple
    modes: Modes

    @abstractmethod
    def __call__(self, views, index):
        """Chain number `index` on the tables of `views`."""

    @abstractmethod
    def point_of(self, chain):
        """Where on its walk a chain stands, n integers, and the log score there."""

    @abstractmethod
    def go_on_from(self, chain, dag, mode, generator):
        """Take a chain that has drawn `dag`, a mode, to another `mode`."""

    def settle(self, chain):
        """Look everything up anew: a state was restored on tables with other scores."""
        raise NotImplementedError(f"{type(self).__name__} keeps its tables")

    #: Steps that take as long as an attempt to leap
    leap_steps = 0

    @property
    def leap_interval(self):
        """Steps between attempts to leap, infinite where there is nowhere to go."""
        return self.modes.interval if len(self.modes) > 1 else math.inf

    def leap(self, chain, index, n_steps):
        """Draw a DAG and, if it is a mode, let the chain go on from another.

        The random numbers depend on the chain's number and steps alone.
        """
        packed = np.zeros_like(self.modes.packed[0])
        chain.draw_dag(packed)
        number = self.modes.number_of(packed)
        if number is None:
            return
        stream = bit_generator(self.entropy, 1, 3, index, n_steps)
        generator = np.random.Generator(stream)
        chosen = self.modes.draw(generator)
        if chosen != number:
            self.go_on_from(chain, self.modes[number], self.modes[chosen], generator)


@dataclass(frozen=True)
class SamplingSettings:
    """How many chains and draws, how long the chains are, and where they start.

    Without `n_iter` they run in rounds until they agree, of `max_iter` steps at most.
    Given `starts` they take in turn.
    """

    n_iter: int | None
    n_draws: int
    burn_in: float
    n_chains: int
    max_iter: int | None = None
    n_jobs: int | None = None
    memory_limit: float | None = None
    starts: Sequence[GivenStart] = ()

    def schedule(self, n_features):
        """When chains draw; without `n_iter`, in the first round."""
        n_iter = self.n_iter or min(
            auto_n_iter(n_features, 5.0), self.most_steps(n_features)
        )
        return make_schedule(n_iter, self.burn_in, self.n_draws)

    def most_steps(self, n_features):
        """The most steps of chains without a given length."""
        lengths = MOST_LENGTHS * auto_n_iter(n_features, 5.0)
        return self.max_iter or max(lengths, MOST_STEPS)


@dataclass(frozen=True)
class Progress:
    """What a fit with ``warm_start`` goes on from: the space, and the chains.

    Attributes
    ----------
    found : SearchResult
        The search space, and the best DAG known in it.
    entropy : tuple of int
        Seed of the chains.
    asked : dict of str
        Fingerprint of the data and parameters that the fit was given.
    schedule : Schedule or None
        The chains' burn-in and thinning; None before they have started.
    n_draws : int
        How many draws all chains have made: those of ``dag_samples_``, unless no
        chain has made any and these are something to begin with.
    runs : list of ChainRun or None
        Where the chains stand, with the draws they have made beyond `n_draws`.
    modes : Modes or None
        DAGs between which chains may leap; None before they have started.
    points, point_scores : ndarray or None
        Where chains were when they made their draws, and the log scores there.
    """

    found: SearchResult
    entropy: tuple
    asked: dict[str, str]
    schedule: Schedule | None = None
    n_draws: int = 0
    runs: list[ChainRun] | None = None
    modes: Modes | None = None
    points: np.ndarray | None = None
    point_scores: np.ndarray | None = None


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
    counts : tuple of ndarray
        How often each edge occurs in halves of chains, and the halves' sizes.
    reached : Convergence
        Whether the chains have converged.
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
    counts: tuple
    reached: Convergence
    progress: Progress


@dataclass(frozen=True)
class Round:
    """Chains on their way to the end of a schedule.

    Attributes
    ----------
    schedule : Schedule
        Burn-in, thinning and number of draws.
    earlier : list of ChainRun or None
        For each chain the draws that it had made before, if it goes on.
    runs : list of ChainRun or None
        How far it has come since, brought up to date while it runs.
    """

    schedule: Schedule
    earlier: list
    runs: list

    @classmethod
    def from_runs(cls, schedule, runs):
        """Go on from where chains, with all their draws, stand."""
        return cls(schedule, runs, [run.draws(0, 0) for run in runs])

    def whole(self):
        """The chains with all their draws."""
        return [
            new if old is None else old.before(new)
            for old, new in zip(self.earlier, self.runs, strict=True)
        ]

    def doubled(self):
        """The round after this one, which makes the chains twice as long."""
        kept = self.schedule.kept_when_doubled
        runs = [run.with_draws(kept) for run in self.whole()]
        return Round.from_runs(self.schedule.doubled(), runs)


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
    samples : DAGSamples, default=None
        Draws of the fit that this one goes on from.
    log_scores : ndarray of shape (n_chains, n_draws), default=None
        Their log scores.
    """

    def __init__(
        self, problem, progress, walk, settings, stop, samples=None, log_scores=None
    ):
        self.walk, self.settings, self.stop = walk, settings, stop
        self.known = problem.targets, problem.constraints.upstream
        self.most_steps = settings.most_steps(problem.n_main)
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
        starts, modes = None, progress.modes
        if progress.runs is None:
            starts, modes = find_starts(
                self.tables,
                progress.found.adjacency,
                problem.constraints.required,
                settings.n_chains,
                progress.entropy,
                stop,
                settings.n_jobs,
                settings.starts,
            )
        self.make_chain = walk.chain_maker(starts, modes, progress.entropy)
        found = replace(progress.found, tables=())  # they are here
        if starts is not None:
            found = self._examined(problem, found, starts[0].order, progress.entropy)
        self.progress = replace(progress, found=found, modes=modes)
        schedule = progress.schedule or settings.schedule(problem.n_main)
        schedule = replace(schedule, n_draws=settings.n_draws)
        if progress.runs is None:
            nothing = [None] * settings.n_chains
            self.round = Round(schedule, nothing, list(nothing))
        else:
            earlier = self._earlier_runs(samples, log_scores)
            self.round = Round.from_runs(schedule, earlier)
        self._at_rest = None

    def _earlier_runs(self, samples, log_scores):
        """Where the chains of the fit before stand, with all their draws."""
        n_draws = self.progress.n_draws
        packed, log_scores = samples.packed[:, :n_draws], log_scores[:, :n_draws]
        return [
            replace(
                run,
                packed=packed[k],
                log_scores=log_scores[k],
                points=self.progress.points[k, :n_draws],
                point_scores=self.progress.point_scores[k, :n_draws],
            ).before(run)
            for k, run in enumerate(self.progress.runs)
        ]

    def _examined(self, problem, found, order, entropy):
        """The space with what is known of what it leaves out."""
        if found.outside_mass is not None or self.stop:
            return found
        outside_mass = np.zeros(problem.n_features)
        forbidden = problem.constraints.forbidden
        if not (found.space.permitted | forbidden).all():
            stream = bit_generator(entropy, 4)
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
        """Run the chains until they have made their draws, or are stopped.

        Without a given length they go on in rounds: until they agree, or a further
        round would take too many steps.
        """
        while True:
            self._at_rest = None
            observer.open_round()
            run_chains(
                self.make_chain,
                self.tables,
                self.round.schedule,
                self.round.runs,
                observer=observer,
                stop=self.stop,
                n_jobs=self.settings.n_jobs,
            )
            observer.close_round()
            self._at_rest = self._gather()
            if not self._goes_on():
                return
            self.round = self.round.doubled()

    def _goes_on(self):
        """Whether there is another round."""
        sampled = self._at_rest
        return (
            self.settings.n_iter is None
            and sampled.reached.verdict is False
            and sampled.samples.n_draws == self.settings.n_draws
            and self.round.schedule.doubled().n_iter <= self.most_steps
            and not self.stop
        )

    @property
    def has_started(self):
        """Whether every chain has come somewhere."""
        return all(run is not None for run in self.round.runs)

    def so_far(self):
        """What the chains have given, now that they rest: a :class:`Sampled`."""
        return self._gather() if self._at_rest is None else self._at_rest

    def _gather(self):
        runs = self.round.whole()
        # chains that were stopped may differ in length: what all have is compared
        n_draws = min(len(run.log_scores) for run in runs)
        kept = [run.draws(0, n_draws) for run in runs]
        if n_draws == 0:
            kept = [
                draw_once(self.make_chain, self.tables, k, run)
                for k, run in enumerate(runs)
            ]
        packed = np.stack([run.packed for run in kept])
        background = self.progress.found.space.background
        samples = DAGSamples(packed, background, *self.known)
        log_scores = np.stack([run.log_scores for run in kept])
        best = samples[int(log_scores.argmax())]
        adjacency, log_score = self._best_dag([run.state for run in runs], best)
        moves = [(run.state["accepted"], run.state["proposed"]) for run in runs]
        counts = graph_counts(samples)
        return Sampled(
            samples=samples,
            log_scores=log_scores,
            adjacency=adjacency,
            log_score=log_score,
            acceptance_rate=np.array(
                [made.sum() / max(1, tried.sum()) for made, tried in moves]
            ),
            n_steps=max(run.n_steps for run in runs),
            outside_mass=self._outside_mass(),
            counts=counts,
            reached=assess(samples, log_scores, counts),
            progress=replace(
                self.progress,
                schedule=self.round.schedule,
                n_draws=n_draws,
                runs=[run.draws(n_draws) for run in runs],
                points=np.stack([run.points for run in kept]),
                point_scores=np.stack([run.point_scores for run in kept]),
            ),
        )

    def _best_dag(self, states, best_draw):
        """The best DAG of the search, the draws, and what the chains saw.

        Of those that are equally good, the one with the fewest edges.
        """
        found = self.progress.found
        known = [self.walk.best_dag(self.tables, state) for state in states]
        known.append(best_draw)
        values = [self.tables.log_score(adjacency) for adjacency in known]
        if found.adjacency is not None:
            value = self.tables.log_score(found.adjacency)
            known.append(found.adjacency)
            values.append(found.log_score if found.is_beyond_tables else value)
        best, value = min(
            (
                (adjacency, value)
                for adjacency, value in zip(known, values, strict=True)
                if value >= max(values) - LEAST_GAIN
            ),
            key=lambda pair: pair[0].sum(),
        )
        return best, float(value)
