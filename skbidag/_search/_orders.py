"""Searching over orders: the best order, hence DAG, of one search space.

All engines walk with the kernel of order MCMC, on maxima over parent sets, or on sums
to find where chains start. An engine is a generator: it yields after every round, so
that a search can be ended.
"""

import numpy as np

from skbidag._chains import auto_n_iter, bit_generator, move_mixture
from skbidag._core._order import OrderChain
from skbidag._parallel import run_threads

# A gain in log score that is more than rounding.
LEAST_GAIN = 1e-7
# Nodes that a kick displaces before the next climb.
KICK_SIZE = 3
# Kicks of each node where these are cheap
ROUNDS_OF_KICKS = 1
# Powers of the score, from and to, and how many, of annealing by relocations
SWEPT_POWERS = 0.002, 2.0, 60


def order_moves(n):
    """Weights of swaps, transpositions and relocations, as the paper has them."""
    return 6, n, 1


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


def search_orders(
    tables, order, stream, engine, n_iter, *, maximize=True, stop=None, trace=None
):
    """Search for the best order.

    Parameters
    ----------
    tables : ScoreTables
        With maxima, or with sums.
    order : ndarray of shape (n,)
        Where to start.
    stream : numpy.random.BitGenerator
        Random numbers.
    engine : str or callable
        One of `ENGINES`, or a function like these.
    n_iter : int
        How long to search.
    maximize : bool, default=True
        Whether an order scores as its best DAG does, or as all its DAGs together.
    stop : Stop, default=None
        Ends the search early.
    trace : list, default=None
        Gets the score of where the search stands after each of its rounds.

    Returns
    -------
    order : ndarray of shape (n,)
        The best order seen.
    log_score : float
        Its score.
    """
    n = tables.n_main
    chain = OrderChain(
        tables.views(maximize),
        stream,
        order,
        move_mixture("auto", order_moves(n)),
        maximize=maximize,
    )
    for _ in ENGINES.get(engine, engine)(chain, n, n_iter):
        if trace is not None:
            trace.append(chain.log_score)
        if stop:
            break
    return chain.best_order, chain.best_log_score


def starting_orders(tables, orders, entropy, stop=None, n_jobs=None):
    """For each of several chains an order to start from that is good, and its own.

    Where dependences are strong, a chain may take far longer than its burn-in from a
    random order to those that matter. So each is annealed first, for four times the
    steps of the paper's chains, from its own order and by its own random numbers:
    should that lead them to different modes, the chains tell by disagreeing. (With the
    steps of one chain, 2 of 16 orders ended hundreds of nats below the others on one
    of the paper's data sets with 80 variables and strong effects, with four times as
    many none.)
    """
    n_iter = auto_n_iter(tables.n_main, 20.0)

    def anneal(index):
        stream = bit_generator(entropy, 3, index)
        order, _ = search_orders(
            tables,
            orders[index],
            stream,
            "annealing",
            n_iter,
            maximize=False,
            stop=stop,
        )
        return order

    return run_threads(anneal, range(len(orders)), n_jobs)


def climb_once(chain, n, n_iter):
    """Relocate nodes to their best places until none can be bettered."""
    chain.climb()
    yield


def climb_and_kick(chain, n, n_iter):
    """Iterated local search: climb, displace a few nodes, climb again.

    A climb relocates nodes to their best places until none can be bettered; a
    worse local optimum is taken back.
    """
    best, order = chain.climb(), chain.order
    if chain.few_relatives:
        for _ in range(ROUNDS_OF_KICKS):
            yield
            chain.kick_around(n, KICK_SIZE)
        chain.climb()
        return
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
    """Greedy search by the best exchange of neighbors from random starts."""
    yield from climb_by_swaps(chain, n, n_iter, reach=1)


def climb_by_swaps(chain, n, n_iter, reach=None):
    """Greedy search by the best exchange of any two nodes from random starts."""
    reach = reach or n
    # to look at an exchange is worth a step, and a climb makes about n of them
    n_starts = max(5, n_iter // (5 * n * min(n, reach + 4)))
    chain.climb_by_swaps(reach)
    for _ in range(n_starts):
        yield
        chain.kick(2 * n)
        chain.climb_by_swaps(reach)


def tempered_mcmc(chain, n, n_iter):
    """Order MCMC at a tuned power; at the end the best order is climbed from."""
    yield from walk_tempered(chain, n, n_iter)
    climb_from_the_best(chain)


def simulated_annealing(chain, n, n_iter):
    """Order MCMC at a growing power; at the end the best order is climbed from."""
    yield from walk_annealed(chain, n, n_iter)
    climb_from_the_best(chain)


def climb_from_the_best(chain):
    """Relocate nodes of the best order while that betters it."""
    chain.set_order(chain.best_order)
    chain.climb()


def walk_tempered(chain, n, n_iter, power=None):
    """Order MCMC at a power of the score: the one given, or a tuned one.

    It is tuned so that about 1/n of the moves change the order.
    """
    target = 1.0 / n
    block = max(100, n_iter // 200)
    before = np.zeros(2, dtype=np.int64)
    chain.power = power or 1.0
    for _ in range(200 if n > 1 else 0):
        chain.run(block)
        now = np.array([chain.accepted_moves.sum(), chain.proposed_moves.sum()])
        accepted, proposed = now - before
        before = now
        if power is None:
            chain.power *= np.exp(np.clip(accepted / proposed - target, -0.1, 0.1) * 5)
        yield


def walk_annealed(chain, n, n_iter):
    """Order MCMC at a growing power of the score.

    Where nodes share tables with few others, most neighbors change places without an
    effect, and a relocation costs little more than that: then relocations alone.
    """
    if chain.few_relatives:
        for power in np.geomspace(*SWEPT_POWERS):
            chain.power = power
            chain.sweep(1)
            yield
        return
    block = max(100, n_iter // 200)
    for power in np.geomspace(0.05, 20.0, 200):
        chain.power = power
        chain.run(block)
        yield


ENGINES = {
    "annealing": simulated_annealing,
    "greedy": climb_from_random_orders,
    "kicks": climb_and_kick,
    "mcmc": tempered_mcmc,
    "swaps": climb_by_swaps,
    "transpositions": climb_by_transpositions,
}
