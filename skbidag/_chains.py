"""Running chains: seeds, blocks of steps, draws, and merging what they give.

A chain is an object of ``_core`` with ``run(n_steps)`` and ``draw_dag(packed)``. It
runs in blocks of some ten milliseconds without the GIL; between blocks there is
time for signals, progress and a stop. Where blocks end does not change a chain's
path: draws are made at fixed steps, and chain k's random numbers depend on the seed
and on k alone. So a chain that was stopped, by a callback, by the clock or by the
user, goes on from the end of its last block as if nothing had happened.

A worker that has several chains advances them in turn, a block each. When it is
stopped they have got about equally far, and their draws can be compared.
"""

import math
import threading
import time
from dataclasses import dataclass, field, replace

import numpy as np

from skbidag._parallel import n_workers, run_parallel

# Lookups in a block: a block takes about ten milliseconds.
BLOCK_LOOKUPS = 2_000_000

# With fewer variables than this a step takes no less time.
FEW_VARIABLES = 50

# Steps that take as long as a draw.
DRAW_STEPS = 20


@dataclass(frozen=True)
class Schedule:
    """When a chain draws: `burn_in` steps, then a draw after every `thin` steps."""

    burn_in: int
    thin: int
    n_draws: int

    @property
    def n_iter(self):
        """Steps in all."""
        return self.burn_in + self.thin * self.n_draws

    def n_draws_after(self, n_steps):
        """How many draws the first `n_steps` steps have."""
        return min(self.n_draws, max(0, n_steps - self.burn_in) // self.thin)

    def doubled(self):
        """As many draws from twice as many steps; see :attr:`kept_when_doubled`."""
        aligned = self.burn_in // self.thin * self.thin
        return Schedule(self.burn_in + aligned, 2 * self.thin, self.n_draws)

    @property
    def kept_when_doubled(self):
        """Which draws are also those of the schedule that is twice as long.

        Those that its burn-in, twice as long, leaves, and of these every other one.
        """
        return slice(self.burn_in // self.thin + 1, None, 2)


def make_schedule(n_iter, burn_in, n_draws):
    """Spread `n_draws` draws over the steps that `burn_in`, a share, leaves.

    The steps are at least one per draw, and a whole number of them between draws.
    """
    dropped = int(burn_in * n_iter)
    thin = max(1, (n_iter - dropped) // max(1, n_draws))
    return Schedule(dropped, thin, n_draws)


def auto_n_iter(n_features, factor):
    """Steps that the paper's convergence study asks for: about n^2 ln n."""
    n = max(2, n_features)
    return max(25_000, math.ceil(factor * n**2 * math.log(n)))


def entropy_of(random_state):
    """Numbers that seed all chains, drawn once from a RandomState."""
    return tuple(int(word) for word in random_state.randint(2**32, size=4, dtype="u4"))


def bit_generator(entropy, *key):
    """The stream of random numbers of one chain."""
    return np.random.PCG64(np.random.SeedSequence(entropy, spawn_key=key))


def move_mixture(move_probabilities, default):
    """Probabilities of the moves, summing to one.

    Parameters
    ----------
    move_probabilities : "auto" or sequence of float
        What the user asks for, up to a factor.
    default : sequence of float
        What "auto" stands for, up to a factor.

    Returns
    -------
    probabilities : ndarray of shape (n_moves,)
        The probability of each move.
    """
    weights = default if isinstance(move_probabilities, str) else move_probabilities
    weights = np.asarray(weights, dtype=float)
    if (
        weights.shape != (len(default),)
        or not np.isfinite(weights).all()
        or (weights < 0).any()
        or not weights.sum() > 0
    ):
        raise ValueError(
            f"move_probabilities must be {len(default)} non-negative numbers, not all "
            f"zero; got {move_probabilities!r}."
        )
    return weights / weights.sum()


class Stop:
    """Tells running chains to stop after their block: on demand, or at a time.

    Parameters
    ----------
    max_time : float, default=None
        Seconds from now on; None for no limit.

    Attributes
    ----------
    asked : bool
        Whether someone asked for a stop. A copy in another process does not hear of
        it, but knows the time.
    """

    def __init__(self, max_time=None):
        self.deadline = None if max_time is None else time.monotonic() + max_time
        self._event = threading.Event()

    def ask(self):
        """Ask for a stop."""
        self._event.set()

    @property
    def time_is_up(self):
        """Whether the time is over."""
        return self.deadline is not None and time.monotonic() >= self.deadline

    def __bool__(self):
        return self._event.is_set() or self.time_is_up

    def __reduce__(self):
        # Monotonic clocks differ between processes and machines, the time of day
        # does not. It counts from when a worker starts: one that waits in a queue
        # first does not get the time anew.
        if self.deadline is None:
            return Stop, ()
        return _stop_at, (time.time() + self.deadline - time.monotonic(),)


def _stop_at(time_of_day):
    return Stop(time_of_day - time.time())


@dataclass(frozen=True)
class ChainRun:
    """How far a chain has come, at the end of a block.

    Attributes
    ----------
    packed : ndarray of uint8, shape (n_draws, n, ceil(n / 8))
        The sampled DAGs.
    log_scores : ndarray of shape (n_draws,)
        Their log scores.
    points : ndarray of int32, shape (n_draws, n)
        Where on its walk the chain was when it drew: orders, or partitions.
    point_scores : ndarray of shape (n_draws,)
        Log scores of these.
    state : dict
        Where the chain stands, to go on from.
    n_steps : int
        Steps it has made since its start.
    """

    packed: np.ndarray
    log_scores: np.ndarray
    points: np.ndarray
    point_scores: np.ndarray
    state: dict = field(repr=False)
    n_steps: int = 0

    def before(self, later):
        """What this run and the one that went on from it give together."""
        return replace(
            later,
            **{
                name: np.concatenate([getattr(self, name), getattr(later, name)])
                for name in DRAWN
            },
        )

    def draws(self, start, stop=None):
        """The run with the draws from one to another."""
        return self.with_draws(slice(start, stop))

    def with_draws(self, chosen):
        """The run with some of its draws, a slice."""
        return replace(self, **{name: getattr(self, name)[chosen] for name in DRAWN})


# What a run has one of for each draw
DRAWN = ("packed", "log_scores", "points", "point_scores")


class RunningChain:
    """A chain and its draws, to be advanced block by block.

    Parameters
    ----------
    make_chain : callable
        Makes chain number `index` on views of the tables.
    tables : ScoreTables
        The tables, shared by all chains.
    schedule : Schedule
        Burn-in, thinning and number of draws.
    start : ChainRun or None
        Where to go on from; None starts afresh. Draws made before do not count as
        the run's own.
    index : int
        The chain's number.
    """

    def __init__(self, make_chain, tables, schedule, start, index):
        self.index = index
        self.schedule = schedule
        self.make_chain = make_chain
        self.chain = make_chain(tables.views(), index)
        self.start = 0
        if start is not None:
            self.chain.restore(start.state)
            self.start = start.n_steps
        self.n_steps, self.drawn = self.start, 0
        self.first = schedule.n_draws_after(self.start)
        n = len(tables)
        self.packed = np.zeros(
            (schedule.n_draws - self.first, n, -(-n // 8)), dtype=np.uint8
        )
        self.log_scores = np.empty(len(self.packed))
        self.points = np.empty((len(self.packed), n), dtype=np.int32)
        self.point_scores = np.empty(len(self.packed))
        # steps between attempts to leap from mode to mode
        self.interval = make_chain.leap_interval
        self.block = max(100, BLOCK_LOOKUPS // max(n, FEW_VARIABLES))

    @property
    def is_done(self):
        """Whether all draws are made."""
        return self.drawn == len(self.packed)

    def advance(self):
        """Run for a block, and draw where a draw is due."""
        left = self.block
        while left > 0 and not self.is_done:
            number = self.first + self.drawn + 1
            until_draw = (
                self.schedule.burn_in + number * self.schedule.thin - self.n_steps
            )
            until_leap = self.interval - self.n_steps % self.interval
            steps = int(min(until_draw, until_leap, left))
            self.chain.run(steps)
            self.n_steps += steps
            left -= steps
            if steps == until_draw:
                k, chain = self.drawn, self.chain
                point = self.make_chain.point_of(chain)
                self.points[k], self.point_scores[k] = point
                self.log_scores[k] = chain.draw_dag(self.packed[k])
                self.drawn += 1
                left -= DRAW_STEPS
            if steps == until_leap:
                self.make_chain.leap(self.chain, self.index, self.n_steps)
                left -= self.make_chain.leap_steps

    def so_far(self):
        """Draws and state, independent of what comes after."""
        drawn = (getattr(self, name)[: self.drawn] for name in DRAWN)
        return ChainRun(*drawn, self.chain.__getstate__(), self.n_steps)


def run_group(make_chain, tables, schedule, observer, stop, runs, indices, starts):
    """Run some of the chains in turn, a block each, until they end or are stopped.

    Parameters
    ----------
    make_chain : callable
        Makes a chain from views of the tables and its number.
    tables : ScoreTables
        The tables, shared by all chains.
    schedule : Schedule
        Burn-in, thinning and number of draws.
    observer : callable or None
        Called with (chain, steps done, steps in all) after every block; a true
        value ends the chain early.
    stop : Stop
        Ends all chains early.
    runs : list of ChainRun
        How far each of all the chains has come. Brought up to date after every block
        in one piece, so whoever shares the list has something whole whenever the
        worker is cut off.
    indices : sequence of int
        The numbers of the chains of this worker.
    starts : list of ChainRun or None
        Where to go on from with these; None starts afresh.

    Returns
    -------
    runs : list of ChainRun
        Those of `indices`, with fewer draws than planned if they were stopped.
    """
    running = [
        RunningChain(make_chain, tables, schedule, start, k)
        for k, start in zip(indices, starts, strict=True)
    ]
    for one in running:
        runs[one.index] = one.so_far()
    running = [one for one in running if not one.is_done]
    while running and not stop:
        for one in tuple(running):
            one.advance()
            runs[one.index] = one.so_far()
            done, total = one.n_steps - one.start, schedule.n_iter - one.start
            stopped = observer is not None and observer(one.index, done, total)
            if stopped or one.is_done:
                running.remove(one)
            if stop:
                break
    return [runs[k] for k in indices]


def run_chains(
    make_chain, tables, schedule, runs, *, observer=None, stop=None, n_jobs=None
):
    """Run several chains on the same tables.

    Parameters
    ----------
    make_chain, tables, schedule, observer
        As for :func:`run_group`.
    runs : list of ChainRun or None
        One for each chain: where to go on from, or None. Replaced in place by how
        far the chains have come, the same whatever `n_jobs` and the joblib backend
        are. Also where an exception ends the chains, except that nothing is known
        of those in other processes.
    stop : Stop, default=None
        Ends the chains early.
    n_jobs : int, default=None
        Number of workers.
    """
    stop = Stop() if stop is None else stop
    n_groups = min(n_workers(n_jobs), len(runs))
    groups = [range(k, len(runs), n_groups) for k in range(n_groups)]
    common = make_chain, tables, schedule, observer, stop, runs
    jobs = [(*common, indices, [runs[k] for k in indices]) for indices in groups]
    try:
        results = run_parallel(run_group, jobs, n_jobs)
    except BaseException:
        stop.ask()  # threads cannot be killed: let them end after their block
        raise
    for indices, result in zip(groups, results, strict=True):
        for k, run in zip(indices, result, strict=True):
            runs[k] = run


def draw_once(make_chain, tables, index, run):
    """One draw from where a chain stands, which its path does not feel.

    Returns
    -------
    run : ChainRun
        The chain with this one draw.
    """
    n = len(tables)
    chain = make_chain(tables.views(), index)
    chain.restore(run.state)
    packed = np.zeros((1, n, -(-n // 8)), dtype=np.uint8)
    point, point_score = make_chain.point_of(chain)
    return ChainRun(
        packed,
        np.array([chain.draw_dag(packed[0])]),
        np.array([point], dtype=np.int32),
        np.array([point_score]),
        run.state,
        run.n_steps,
    )
