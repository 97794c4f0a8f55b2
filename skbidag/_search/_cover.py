"""Widening a space until it holds the posterior, not only the best DAG.

The search ends with a space around one DAG. Parents that are in other DAGs, the more
so those that come in together, may be missing, and one extra parent per node cannot
show a set that needs two. So short chains walk on the space: the parents that they
take from outside, and those that they would take if the space let them
(`_outside.py`), come in where they have some probability. Then the chains walk on the
larger space, which may lead them to other orders, and so on, until little is outside.
What is outside may matter most in orders that the space makes improbable; so a chain
at a lower power of the scores looks there first.
"""

import numpy as np

from skbidag._chains import auto_n_iter, bit_generator, move_mixture
from skbidag._core._order import OrderChain
from skbidag._outside import Additions, Draws, bulk_outside, edges_outside
from skbidag._search._orders import order_moves, random_order
from skbidag._search_space import space_within_budget
from skbidag._tables import MEMORY_SHARE, build_tables, free_memory, table_widths

# A node with more than this outside gets more candidates,
LARGEST_MASS = 0.02
# if they are more probable than this.
LEAST_PROBABILITY = 0.01
# Power of the orders' scores at which a chain looks around, once, before the space
# grows. At one alone, errors of 0.01 remained on insurance with 500 rows (in three of
# six data sets): sets outside may matter in orders that the space makes improbable.
FLAT_POWER = 0.25
# How often the space may grow.
MOST_ROUNDS = 2
# Orders, each with a DAG, that a short chain gives; fewer if their matrices have more
# entries in all.
N_DRAWS = 200
MOST_ENTRIES = 4e8
# What the tables of the larger space may cost, or half as much again as they did.
COVER_SECONDS = 0.05
COVER_BYTES = 3e8


def short_chain(tables, order, stream, n_iter=None, n_draws=None, power=1.0):
    """Let a chain walk on tables with sums, and keep what it sees.

    Parameters
    ----------
    tables : ScoreTables
        With sums.
    order : ndarray of shape (n_features,)
        Where to start.
    stream : numpy.random.BitGenerator
        Random numbers.
    n_iter : int, default=None
        Steps; None for as many as a search over orders makes.
    n_draws : int, default=None
        How many orders to keep; None for `N_DRAWS`, or what `MOST_ENTRIES` permit.
    power : float, default=1.0
        Of the scores of orders: with less than one it sees more kinds of orders.

    Returns
    -------
    draws : Draws
        Orders after a fifth of the steps, at equal distances, with a DAG of each.
    """
    n = len(tables)
    n_iter = n_iter or auto_n_iter(tables.n_main, 3.5)
    n_draws = n_draws or int(np.clip(MOST_ENTRIES / n**2, 1, N_DRAWS))
    moves = move_mixture("auto", order_moves(tables.n_main))
    chain = OrderChain(tables.views(), stream, order, moves)
    packed = np.zeros((n_draws, n, -(-n // 8)), dtype=np.uint8)
    orders = np.empty((n_draws, n), dtype=np.intp)
    log_sums = np.empty((n_draws, n))
    chain.power = power
    chain.run(n_iter // 5)
    for t in range(n_draws):
        chain.run(max(1, n_iter // n_draws))
        orders[t], log_sums[t] = chain.order, chain.node_scores
        chain.draw_dag(packed[t])
    return Draws(
        np.argsort(orders, axis=1),
        log_sums,
        np.unpackbits(packed, axis=-1, count=n).astype(bool),
        orders[-1],
    )


def cover_posterior(problem, space, best, settings, entropy, stop=None):
    """Widen a space until short chains put little mass outside.

    Parameters
    ----------
    problem : Problem
        Score and constraints.
    space : SearchSpace
        The space that a search has found.
    best : ndarray of bool, shape (n_features, n_features)
        The best DAG, from which chains start.
    settings : SearchSettings
        Limits, with numbers.
    entropy : tuple of int
        Seed.
    stop : Stop, default=None
        Ends the widening early.

    Returns
    -------
    space : SearchSpace
        The larger space.
    outside_mass : ndarray of shape (n_features,)
        Expected number of parents of each node in sets beyond it.
    tables : ScoreTables
        Of the larger space, with sums.
    """
    stream = bit_generator(entropy, 4)
    order = random_order(np.random.Generator(stream), best)
    additions = Additions(problem.score, problem.n_features)
    tables = ()

    def look(power):
        draws = short_chain(tables, order, stream, power=power)
        forbidden = problem.constraints.forbidden
        beyond = edges_outside(additions, space, forbidden, draws, settings.n_jobs)
        return draws, beyond

    for n_grown in range(MOST_ROUNDS + 1):
        tables = build_tables(
            problem.score,
            space,
            sums=True,
            previous=tables,
            workspace=problem.workspace,
            n_jobs=settings.n_jobs,
            memory_limit=settings.memory_limit,
            names=problem.names,
        )
        draws, beyond = look(power=1.0)
        if n_grown == MOST_ROUNDS or stop:
            break
        wanted = edges_to_let_in(space, draws, beyond)
        if n_grown == 0:
            wanted = np.maximum(wanted, edges_to_let_in(space, *look(FLAT_POWER)))
        permitted = let_in_probable(space, wanted, problem.score, settings)
        if np.array_equal(permitted, space.permitted):
            break
        order = draws.order
        space = space_within_budget(
            problem, permitted, settings.max_parents, extended=True
        )
    bulk = bulk_outside(
        problem.score,
        space,
        problem.constraints.forbidden,
        draws,
        np.random.Generator(stream),
        settings.n_jobs,
    )
    return space, np.maximum(beyond.sum(axis=0), bulk), tables


def edges_to_let_in(space, draws, beyond):
    """Probabilities of edges from outside, for the nodes whose space is too small."""
    taken = (draws.dags & space.extra).mean(axis=0)
    too_small = beyond.sum(axis=0) > LARGEST_MASS
    return np.where(too_small, np.maximum(beyond, taken), 0.0)


def let_in_probable(space, probabilities, score, settings):
    """Let in the probable edges, the most probable first, as far as tables permit.

    Parameters
    ----------
    space : SearchSpace
        The space.
    probabilities : ndarray of shape (n_features, n_features)
        Those of edges from outside it.
    score : BaseScore
        Tells how long tables take.
    settings : SearchSettings
        Tells how large they may be.

    Returns
    -------
    permitted : ndarray of bool, shape (n_features, n_features)
        The permitted edges of the larger space.
    """
    permitted = space.permitted.copy()
    sizes = permitted.sum(axis=0)
    widths = table_widths(space)
    width = widths.max()
    row_bytes = 8.0 * (2 * width + 1)
    # rows of hubs are short, so they count less
    shares = widths / width
    n_rows = (shares * 2.0**sizes).sum()
    most_rows = (settings.memory_limit or MEMORY_SHARE * free_memory()) / row_bytes
    limit = settings.max_parents
    if settings.thrifty:
        row_seconds = width * score.entry_seconds
        cheap = min(COVER_SECONDS / row_seconds, COVER_BYTES / row_bytes)
        most_rows = min(most_rows, max(cheap, 1.5 * n_rows))
        limit = settings.soft_limit
    wanted = np.argwhere((probabilities > LEAST_PROBABILITY) & ~permitted)
    order = np.argsort(-probabilities[tuple(wanted.T)], kind="stable")
    for parent, child in wanted[order]:
        more_rows = shares[child] * 2.0 ** sizes[child]
        if sizes[child] < limit and n_rows + more_rows <= most_rows:
            permitted[parent, child] = True
            sizes[child] += 1
            n_rows += more_rows
    return permitted
