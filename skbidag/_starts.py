"""Where chains start, and the modes between which they may leap.

Chains that all start at one DAG agree about everything as long as none of them leaves
its surroundings, whatever else the posterior holds. So only half of them start at the
best DAG. The others start apart: at other DAGs of about its score from orders in which
no node can be relocated to advantage, if there are such, or else at orders annealed for
them. One that is annealed to where the posterior is not, far below the best, would only
stay there and tell nothing: its chain starts at the best DAG as well.

Such DAGs, the modes, are also where chains may leap (:class:`Modes`). Where constraints
contradict the data, what is left of the posterior may be a few DAGs of about the same
score, with hundreds of nats between them that no chain walks across.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from skbidag._chains import auto_n_iter, bit_generator, move_mixture
from skbidag._core._order import OrderChain
from skbidag._search import order_moves, random_order, starting_orders

# Modes further below the best, in nats, do not matter: a 22,000th of its weight.
REACH = 10.0
# Leaps are tried this often in a chain of the paper's length: one takes as long as a
# hundred steps with few variables, more where it succeeds.
LEAPS = 250


@dataclass(frozen=True)
class Modes:
    """DAGs that stand out, and leaps between them.

    From time to time a chain draws a DAG given its state. If that is one of the modes,
    it goes on from a mode that is drawn in proportion to the posterior: a Gibbs move
    over a few DAGs, which leaves the posterior as it is. How a chain goes on from a
    DAG is up to its walk.

    Attributes
    ----------
    packed : ndarray of uint8, shape (n_modes, n, ceil(n / 8))
        The DAGs, in an order that does not depend on their scores.
    log_scores : ndarray of shape (n_modes,)
        Their log scores.
    interval : int
        Steps between two attempts.
    """

    packed: np.ndarray
    log_scores: np.ndarray
    interval: int

    @classmethod
    def of(cls, packed, log_scores, n_main=None):
        """The modes among some DAGs: the best, and what is in reach of it.

        `n_main` is the number of variables that orders are of; None is all.
        """
        packed, first = np.unique(packed, axis=0, return_index=True)
        log_scores = log_scores[first]
        near = log_scores >= log_scores.max() - REACH
        interval = auto_n_iter(n_main or packed.shape[1], 5.0) // LEAPS
        return cls(packed[near], log_scores[near], interval)

    def __len__(self):
        return len(self.packed)

    @cached_property
    def numbers(self):
        """Number of each mode, by its bytes."""
        return {dag.tobytes(): k for k, dag in enumerate(self.packed)}

    @cached_property
    def shares(self):
        """The posterior over the modes alone, added up from the first."""
        shares = np.exp(self.log_scores - self.log_scores.max()).cumsum()
        return shares / shares[-1]

    def __getitem__(self, number):
        n = self.packed.shape[1]
        return np.unpackbits(self.packed[number], axis=-1, count=n).view(bool)

    def number_of(self, packed):
        """The number of a packed DAG, None if it is not among the modes."""
        return self.numbers.get(packed.tobytes())

    def draw(self, generator):
        """The number of a mode drawn from the posterior over the modes."""
        return int(np.searchsorted(self.shares, generator.random(), side="right"))


@dataclass(frozen=True)
class Start:
    """Where a chain starts: an order, parents to the right, and a DAG that fits it."""

    order: np.ndarray
    dag: np.ndarray


def find_starts(
    tables, best, required, n_chains, entropy, stop=None, n_jobs=None, given=()
):
    """Where chains start, and the modes.

    Parameters
    ----------
    tables : ScoreTables
        With sums.
    best : ndarray of bool, shape (n, n), or None
        The best DAG, if there was a search for it.
    required : ndarray of bool, shape (n, n)
        Edges of every DAG.
    n_chains : int
        Number of chains.
    entropy : tuple of int
        Seed of the chains.
    stop : Stop, default=None
        Ends the search for modes early.
    n_jobs : int, default=None
        Number of workers.
    given : sequence of GivenStart, default=()
        Where the user wants the chains to start, in turn.

    Returns
    -------
    starts : list of Start
        One for each chain. The first half, and a single chain, start at the best DAG,
        unless others are given.
    modes : Modes
        Those that were found on the way.
    """
    generator = np.random.Generator(bit_generator(entropy, 1))
    climber = make_climber(tables, random_order(generator, required), entropy)
    known = local_optima(climber, tables, required, entropy, stop)
    starts = []
    if given:
        starts = [
            start_as_given(tables, given[k % len(given)]) for k in range(n_chains)
        ]
        known += [weighed(tables, start.dag) for start in starts]
    elif best is not None:
        best = within(tables, best, generator)
        known.append(weighed(tables, best))
        rivals = modes_among(known, tables.n_main)
        starts = [start_at(best, generator) for _ in range((n_chains + 1) // 2)]
        chosen = generator.permutation(len(rivals))[: n_chains - len(starts)]
        for dag in (rivals[k] for k in chosen):
            if not np.array_equal(dag, best):
                starts.append(start_at(dag, generator))
    orders = [random_order(generator, required) for _ in range(n_chains - len(starts))]
    orders = starting_orders(tables, orders, entropy, stop, n_jobs)
    annealed = [Start(order, tables.best_dag(order)) for order in orders]
    known += [weighed(tables, start.dag) for start in annealed]
    starts += where_the_posterior_is(climber, annealed, starts[:1], generator)
    return starts, modes_among(known, tables.n_main)


def start_at(dag, generator):
    """Start at a DAG, in one of its orders."""
    return Start(random_order(generator, dag), dag)


def start_as_given(tables, given):
    """Start at a DAG if the space holds it, otherwise at the best one of the order."""
    dag = given.dag
    if dag is None or tables.log_score(dag) == -np.inf:
        dag = tables.best_dag(given.order)
    return Start(given.order, dag)


def within(tables, dag, generator):
    """A DAG, or what the space holds of it: the best one of the same order."""
    if tables.log_score(dag) > -np.inf:
        return dag
    return tables.best_dag(random_order(generator, dag))


def weighed(tables, dag):
    """A DAG, packed, and its log score."""
    return np.packbits(dag, axis=-1), tables.log_score(dag)


def where_the_posterior_is(climber, annealed, best, generator):
    """Annealed starts, those far below the best replaced by starts at the best.

    What is compared is how far one can climb from them, all DAGs of an order taken
    together.
    """
    if not annealed:
        return []
    starts, heights = best + annealed, []
    for start in starts:
        climber.set_order(start.order)
        heights.append(climber.climb())
    highest = int(np.argmax(heights))
    least = heights[highest] - max(REACH, np.count_nonzero(~climber.background) / 2)
    return [
        start if height >= least else start_at(starts[highest].dag, generator)
        for start, height in zip(annealed, heights[len(best) :], strict=True)
    ]


def make_climber(tables, order, entropy):
    """A chain over orders, to climb with."""
    return OrderChain(
        tables.views(),
        bit_generator(entropy, 1, 1),
        order,
        move_mixture("auto", order_moves(tables.n_main)),
    )


def local_optima(climber, tables, required, entropy, stop=None):
    """DAGs of orders in which no node can be relocated to advantage.

    Climbs start at random orders, as many as take about the time of one chain:
    hundreds with few variables, a handful with many. Two DAGs are drawn from each
    order.

    Returns
    -------
    optima : list of (ndarray of uint8, float)
        Packed DAGs, and their log scores.
    """
    generator = np.random.Generator(bit_generator(entropy, 1, 2))
    optima, n, n_main = [], len(tables), tables.n_main
    for _ in range(auto_n_iter(n_main, 5.0) // (5 * n_main**2) if n_main > 1 else 0):
        if stop:
            break
        climber.set_order(random_order(generator, required))
        climber.climb()
        for _ in range(2):
            packed = np.zeros((n, -(-n // 8)), dtype=np.uint8)
            optima.append((packed, climber.draw_dag(packed)))
    return optima


def modes_among(known, n_main):
    """The modes among packed DAGs with their log scores."""
    packed, log_scores = zip(*known, strict=True)
    return Modes.of(np.stack(packed), np.array(log_scores), n_main)


def log_probability_of_order(order, adjacency, main=None):
    """Log probability that :func:`random_order` gives an order of a DAG.

    Of those in `main`, a mask, if it is given: the others are not looked at.
    """
    left = np.ones(len(order), dtype=bool) if main is None else main.copy()
    n_children = adjacency[:, left].sum(axis=1)
    total = 0.0
    for node in order[left[order]]:
        total -= np.log(np.count_nonzero(left & (n_children == 0)))
        left[node] = False
        n_children = n_children - adjacency[:, node]
    return total
