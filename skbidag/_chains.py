"""Running chains: seeds, blocks of steps, draws, and merging what they give.

A chain is an object of ``_core`` with ``run(n_steps)`` and ``draw_dag(packed)``. It
runs in blocks of some ten milliseconds without the GIL; between blocks there is
time for signals, progress and a stop. Where blocks end does not change a chain's
path: draws are made at fixed steps, and chain k's random numbers depend on the seed
and on k alone.
"""

import math
import threading
from dataclasses import dataclass, field

import numpy as np

from skbidag._core._tables import TableViews
from skbidag._parallel import run_parallel

# Lookups in a block: a block takes about ten milliseconds.
BLOCK_LOOKUPS = 2_000_000


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


class StopFlag:
    """Tells running chains to stop after their block. Copies are independent."""

    def __init__(self):
        self._event = threading.Event()

    def set(self):
        """Ask for a stop."""
        self._event.set()

    def is_set(self):
        """Tell whether a stop was asked for."""
        return self._event.is_set()

    def __reduce__(self):
        return StopFlag, ()


@dataclass
class ChainRun:
    """What one chain gives.

    Attributes
    ----------
    packed : ndarray of uint8, shape (n_draws, n, ceil(n / 8))
        The sampled DAGs.
    log_scores : ndarray of shape (n_draws,)
        Their log scores.
    state : dict
        Where the chain stands, to go on from.
    """

    packed: np.ndarray
    log_scores: np.ndarray
    state: dict = field(repr=False)


def run_chain(make_chain, tables, schedule, state, observer, stop, index):
    """Run one chain through its schedule.

    Parameters
    ----------
    make_chain : callable
        Makes chain number `index` on views of the tables.
    tables : list of NodeTable
        The tables, shared by all chains.
    schedule : Schedule
        Burn-in, thinning and number of draws.
    state : dict or None
        Where to go on from; None starts afresh.
    observer : callable or None
        Called with (chain, steps done, steps in all) after every block; a true
        value ends the chain early.
    stop : StopFlag
        Ends the chain early when set.
    index : int
        The chain's number.

    Returns
    -------
    run : ChainRun
        With fewer draws than planned if the chain was stopped.
    """
    n = len(tables)
    chain = make_chain(TableViews(tables), index)
    if state is not None:
        chain.restore(state)
    packed = np.zeros((schedule.n_draws, n, -(-n // 8)), dtype=np.uint8)
    log_scores = np.empty(schedule.n_draws)
    block = max(100, BLOCK_LOOKUPS // n)
    done, drawn = 0, 0
    while done < schedule.n_iter and not stop.is_set():
        # up to the next draw, or a block, whichever is nearer
        until_draw = schedule.burn_in + (drawn + 1) * schedule.thin - done
        steps_in_block = 0
        while steps_in_block < block and drawn < schedule.n_draws:
            steps = min(until_draw, block - steps_in_block)
            chain.run(steps)
            steps_in_block += steps
            until_draw -= steps
            if until_draw == 0:
                log_scores[drawn] = chain.draw_dag(packed[drawn])
                drawn += 1
                until_draw = schedule.thin
        done += steps_in_block
        if observer is not None and observer(index, done, schedule.n_iter):
            break
    return ChainRun(packed[:drawn], log_scores[:drawn], chain.__getstate__())


def run_chains(
    make_chain, tables, schedule, n_chains, *, states=None, observer=None,
    n_jobs=None,
):  # fmt: skip
    """Run several chains on the same tables.

    Returns
    -------
    runs : list of ChainRun
        One per chain; the same whatever `n_jobs` and the joblib backend are.
    """
    stop = StopFlag()
    states = states or [None] * n_chains
    jobs = [
        (make_chain, tables, schedule, states[k], observer, stop, k)
        for k in range(n_chains)
    ]
    try:
        return run_parallel(run_chain, jobs, n_jobs)
    except BaseException:
        stop.set()  # threads cannot be killed: let them end after their block
        raise
