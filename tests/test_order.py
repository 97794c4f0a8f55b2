"""The order sampler against enumeration of all orders, and as an estimator."""

import io
import itertools
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV

from skbidag import OrderMCMCStructure, _chains, graphs
from skbidag._core._order import OrderChain
from skbidag._core._tables import TableViews
from skbidag._posterior import DAGSamples, split_rhat
from skbidag._search_space import SearchSpace, make_space, resolve_constraints
from skbidag._tables import build_tables
from skbidag.datasets import make_gaussian_network
from skbidag.scores import BDe, BGe
from skbidag.scores.base import BaseScore

DATA = Path(__file__).parent / "data"
MOVES = {"swap": [1, 0, 0], "transposition": [0, 1, 0], "relocation": [0, 0, 1]}
# A chi-square test that is right fails with this probability, were its seed not fixed.
P_VALUE = 1e-4


class MadeUpScore(BaseScore):
    """Arbitrary values: normal, times `spread`, and a `bonus` for some parents.

    With a bonus of a thousand nats for having parent 0 or 1, sums without them are
    nothing beside sums with them.
    """

    def __init__(self, spread=1.0, seed=0, bonus=0.0):
        self.spread = spread
        self.seed = seed
        self.bonus = bonus

    def _fit(self, X, sample_weight):
        pass

    def log_marginal_likelihood(self, node, parents):
        parents = np.sort(np.asarray(parents, dtype=int))
        key = [self.seed, node, *(parents + 1)]
        value = self.spread * np.random.default_rng(key).normal() - 100.0
        return value + self.bonus * np.isin(parents, [0, 1]).any()


def made_up(n, **params):
    return MadeUpScore(**params).fit(np.zeros((2, n)))


def read(name, **kwargs):
    return np.loadtxt(DATA / name, delimiter=",", **kwargs)


def gaussian_data(rng, n, n_samples=60):
    """Columns that depend, not too clearly, on columns before them."""
    X = rng.normal(size=(n_samples, n))
    for j in range(1, n):
        X[:, j] += X[:, :j] @ rng.normal(scale=0.3, size=j)
    return X[:, rng.permutation(n)]


def discrete_data(rng, n, n_samples=60):
    """Columns of two or three levels; some copy another column now and then."""
    X = rng.integers(0, rng.integers(2, 4, size=n), size=(n_samples, n))
    for j in range(1, n):
        copies = rng.random(n_samples) < 0.4
        X[copies, j] = X[copies, rng.integers(j)]
    return X[:, rng.permutation(n)]


def random_space(rng, n, extended=True, max_candidates=3, outsiders=0.8, required=0.0):
    """A random space in which some required edges, if any, form a DAG."""
    permitted = np.zeros((n, n), dtype=bool)
    for j in range(n):
        others = np.delete(np.arange(n), j)
        size = rng.integers(0, min(max_candidates, n - 1) + 1)
        permitted[rng.permutation(others)[:size], j] = True
    extra = ~permitted & ~np.eye(n, dtype=bool) & (rng.random((n, n)) < outsiders)
    place = rng.permutation(n)
    needed = permitted & (place[:, None] > place) & (rng.random((n, n)) < required)
    return SearchSpace(permitted, extra & extended, needed, extended)


def chain_on(score, space, order=None, moves="auto", seed=0, **kwargs):
    """A chain, and its tables, which it does not keep alive by itself."""
    maximize = kwargs.get("maximize", False)
    tables = build_tables(score, space, sums=not maximize, maxima=maximize)
    n = space.n_features
    moves = np.array([6, n, 1]) if isinstance(moves, str) else np.array(moves)
    return OrderChain(
        TableViews(tables),
        np.random.PCG64(seed),
        np.arange(n) if order is None else order,
        moves / moves.sum(),
        **kwargs,
    )


# -------------------------------------------------------------- naive twins


def parent_sets(space, node):
    """All parent sets that a space permits."""
    candidates = set(map(int, space.candidates(node)))
    required = set(map(int, np.flatnonzero(space.required[:, node])))
    for size in range(len(candidates) + 1):
        for subset in itertools.combinations(sorted(candidates), size):
            if required <= set(subset):
                yield subset
                for outsider in space.outsiders(node):
                    yield (*subset, int(outsider))


class Enumeration:
    """Everything about the orders of few variables, by enumeration.

    Attributes
    ----------
    sets : list of list of (parents, log score)
        All parent sets of each node.
    """

    def __init__(self, score, space):
        self.n = space.n_features
        self.sets = [
            [(s, score.local_score(node, s)) for s in parent_sets(space, node)]
            for node in range(self.n)
        ]

    def permitted(self, node, order):
        """Parent sets of a node, all to the right of it, and their log scores."""
        order = list(order)
        right = set(map(int, order[order.index(node) + 1 :]))
        inside = [(s, value) for s, value in self.sets[node] if right.issuperset(s)]
        return [s for s, _ in inside], np.array([value for _, value in inside])

    def log_score(self, order, maximize=False):
        total = 0.0
        for node in range(self.n):
            _, values = self.permitted(node, order)
            if not len(values):
                return -np.inf
            total += values.max() if maximize else logsumexp(values)
        return total

    def orders(self):
        return list(itertools.permutations(range(self.n)))

    def edge_probabilities(self):
        """Of the order posterior: the mean over orders, weighted by their scores."""
        orders = self.orders()
        log_scores = np.array([self.log_score(order) for order in orders])
        weights = np.exp(log_scores - logsumexp(log_scores))
        edges = np.zeros((self.n, self.n))
        for order, weight in zip(orders, weights, strict=True):
            if weight == 0.0:
                continue
            for node in range(self.n):
                sets, values = self.permitted(node, order)
                for parents, share in zip(
                    sets, np.exp(values - logsumexp(values)), strict=True
                ):
                    edges[list(parents), node] += weight * share
        return edges.clip(max=1.0)


def monte_carlo_errors(indicators, n_batches=20):
    """Standard errors of means over chains, from the means of batches of draws.

    Parameters
    ----------
    indicators : ndarray of shape (n_chains, n_draws, ...)
        What is averaged over chains and draws.
    """
    n_chains, n_draws = indicators.shape[:2]
    batches = indicators.reshape(n_chains, n_batches, n_draws // n_batches, -1)
    means = batches.mean(axis=2).reshape(n_chains * n_batches, -1)
    errors = means.std(axis=0, ddof=1) / np.sqrt(len(means))
    return errors.reshape(indicators.shape[2:])


def assert_probabilities(model, exact, n_errors=4.0):
    """Edge probabilities are within some Monte Carlo errors of the exact ones."""
    samples = model.dag_samples_
    draws = samples[:].reshape(samples.n_chains, samples.n_draws, *exact.shape)
    errors = monte_carlo_errors(draws.astype(float))
    # no better than independent draws; a rare edge may not be among the draws at all
    at_best = np.sqrt(exact * (1 - exact) / len(samples))
    bound = n_errors * np.maximum(errors, at_best) + 1.0 / len(samples)
    gap = np.abs(model.adjacency_probabilities_ - exact)
    assert (gap <= bound).all(), f"{(gap / bound).max():.2f} of the bound"
    # the bound means something: draws are worth a fifth of independent ones
    assert errors.max() < 0.5 / np.sqrt(len(samples) / 5)


def sampler(**kwargs):
    kwargs = {
        "search_space": "full",
        "n_iter": 60_000,
        "n_draws": 1000,
        "burn_in": 0.05,
        "random_state": 0,
        **kwargs,
    }
    return OrderMCMCStructure(**kwargs)


# ---------------------------------------------------- the posterior is right


@pytest.mark.parametrize("extra_parent", [True, False])
@pytest.mark.parametrize("name", ["gauss5", "cancer300"])
def test_reference_posteriors(name, extra_parent):
    if name == "gauss5":
        X, score = read("gauss5.csv", skiprows=1), BGe(alpha_mu=1.0)
    else:
        X = read("cancer300.csv", skiprows=1, dtype=int)
        score = BDe(equivalent_sample_size=1.0)
    exact = read(f"{name}_exact_order_posterior.csv")
    model = sampler(score=score, extra_parent=extra_parent).fit(X)
    assert_probabilities(model, exact)
    space = make_space(~np.eye(5, dtype=bool), resolve_constraints(5), extended=False)
    enumeration = Enumeration(score.fit(X), space)
    assert_allclose(enumeration.edge_probabilities(), exact, atol=2e-10)


SPACES = ["full", "restricted", "extended"]


@pytest.mark.parametrize("constrained", [False, True])
@pytest.mark.parametrize("kind", SPACES)
@pytest.mark.parametrize("score", ["bge", "bde"])
@pytest.mark.parametrize("seed", range(4))
def test_posterior_by_enumeration(seed, score, kind, constrained):
    rng = np.random.default_rng([seed, SPACES.index(kind), constrained])
    n = [2, 3, 4, 5][seed]
    X = gaussian_data(rng, n) if score == "bge" else discrete_data(rng, n)
    settings, edge_prior = {}, None
    if constrained:
        edge_prior = rng.normal(size=(n, n))
        order = rng.permutation(n)
        settings = {"required_edges": [(order[0], order[1])]}
        if n > 2:
            settings["forbidden_edges"] = [(order[0], order[2]), (order[2], order[0])]
            settings["tiers"] = [[order[-2]], [order[-1]]] if n > 3 else None
    permitted = ~np.eye(n, dtype=bool)
    if kind != "full":
        permitted &= rng.random((n, n)) < 0.4
    model = sampler(
        score=score,
        search_space=permitted,
        extra_parent=kind == "extended",
        edge_prior=edge_prior,
        random_state=seed,
        **settings,
    ).fit(X)
    space = make_space(
        permitted, resolve_constraints(n, **settings), extended=kind == "extended"
    )
    fitted = {"bge": BGe, "bde": BDe}[score]().fit(X, edge_prior=edge_prior)
    enumeration = Enumeration(fitted, space)
    assert_probabilities(model, enumeration.edge_probabilities())
    # the best DAG of all, too
    best = max(enumeration.log_score(o, maximize=True) for o in enumeration.orders())
    assert model.log_score_ == pytest.approx(best, rel=1e-10)
    assert fitted.dag_score(model.adjacency_) == pytest.approx(best, rel=1e-10)
    assert graphs.is_dag(model.adjacency_)


def test_posterior_of_scores_hundreds_of_nats_apart():
    """Where an outsider is worth a thousand nats, rows are kept in logs."""
    rng = np.random.default_rng(5)
    n = 5
    permitted = np.zeros((n, n), dtype=bool)
    permitted[[2, 3, 4], [3, 4, 2]] = True
    score = MadeUpScore(spread=0.7, seed=3, bonus=900.0)
    model = sampler(score=score, search_space=permitted).fit(rng.normal(size=(9, n)))
    space = make_space(permitted, resolve_constraints(n), extended=True)
    assert_probabilities(model, Enumeration(score.fit(np.zeros((2, n))), space)
                         .edge_probabilities())  # fmt: skip


@pytest.mark.parametrize(
    ("move", "scan"), [*((move, False) for move in MOVES), ("relocation", True)]
)
def test_every_move_alone_samples_the_posterior(move, scan):
    """All three kinds of moves reach every order of the full space."""
    X = gaussian_data(np.random.default_rng(9), 4)
    model = sampler(
        move_probabilities=MOVES[move], relocation_scan=scan, n_iter=200_000
    ).fit(X)
    space = make_space(~np.eye(4, dtype=bool), resolve_constraints(4), extended=False)
    assert_probabilities(model, Enumeration(BGe().fit(X), space).edge_probabilities())


# ------------------------------------------------------- the moves are right


def transition_matrix(chain, move, orders, power):
    """Exact probabilities of one move from every order to every other.

    From the kernel's own changes and scores, and the probabilities of proposals.
    """
    n = len(orders[0])
    number = {order: k for k, order in enumerate(orders)}
    matrix = np.zeros((len(orders), len(orders)))
    for k, order in enumerate(orders):
        chain.set_order(order)
        if move == "relocation":
            for node in range(n):
                scores = chain.relocation_scores(node)
                shares = np.exp(power * scores - logsumexp(power * scores)) / n
                rest = [other for other in order if other != node]
                for slot, share in enumerate(shares):
                    target = (*rest[:slot], node, *rest[slot:])
                    if target in number:
                        matrix[k, number[target]] += share
                    else:
                        assert share == 0.0
            continue
        pairs = list(itertools.combinations(range(n), 2))
        if move == "transposition":
            pairs = [(p, p + 1) for p in range(n - 1)]
        for p, q in pairs:
            change = chain.swap_change(p, q)
            accept = np.exp(min(0.0, power * change))
            target = list(order)
            target[p], target[q] = target[q], target[p]
            if tuple(target) in number:
                matrix[k, number[tuple(target)]] += accept / len(pairs)
            else:
                assert change == -np.inf
            matrix[k, k] += (1 - accept) / len(pairs)
    return matrix


@pytest.mark.parametrize("power", [1.0, 0.3, 2.5])
@pytest.mark.parametrize("required", [0.0, 0.6])
@pytest.mark.parametrize("extended", [False, True])
@pytest.mark.parametrize("n", [3, 4])
def test_transition_matrices(n, extended, required, power):
    rng = np.random.default_rng([n, extended, required > 0, 1])
    score = made_up(n, spread=2.0, seed=n)
    space = random_space(rng, n, extended, required=required)
    assert space.required.any() == (required > 0)
    enumeration = Enumeration(score, space)
    orders = enumeration.orders()
    chain = chain_on(score, space, power=power)
    log_scores = []
    for order in orders:
        chain.set_order(order)
        log_scores.append(chain.log_score)
        assert_allclose(chain.log_score, enumeration.log_score(order), rtol=1e-13)
    possible = [k for k in range(len(orders)) if log_scores[k] > -np.inf]
    assert (len(possible) < len(orders)) == (required > 0)
    orders = [orders[k] for k in possible]
    target = power * np.array(log_scores)[possible]
    target = np.exp(target - logsumexp(target))
    for move in MOVES:
        matrix = transition_matrix(chain, move, orders, power)
        assert_allclose(matrix.sum(axis=1), 1.0, atol=1e-12)
        flow = target[:, None] * matrix
        assert_allclose(flow, flow.T, rtol=0, atol=1e-12)
        assert_allclose(target @ matrix, target, rtol=0, atol=1e-12)


def one_step_counts(chain, start, numbers, n_repeats):
    counts = np.zeros(len(numbers), dtype=int)
    for _ in range(n_repeats):
        chain.set_order(start)
        chain.run(1)
        counts[numbers[tuple(chain.order.tolist())]] += 1
    return counts


def assert_frequencies(counts, expected):
    """Chi-square test; what cannot happen did not."""
    expected = expected * counts.sum()
    assert (counts[expected < 1e-9] == 0).all()
    rare = expected < 5
    # rare outcomes together, with a common one, to count as one cell
    rare[np.argmax(expected)] = True
    counts = np.append(counts[~rare], counts[rare].sum())
    expected = np.append(expected[~rare], expected[rare].sum())
    if len(counts) > 1:
        statistic = ((counts - expected) ** 2 / expected).sum()
        assert stats.chi2.sf(statistic, len(counts) - 1) > P_VALUE


@pytest.mark.parametrize("moves", ["auto", *MOVES])
@pytest.mark.parametrize("extended", [False, True])
@pytest.mark.parametrize(("n", "power"), [(3, 1.0), (4, 1.0), (4, 0.4)])
def test_one_step_frequencies(n, power, extended, moves):
    rng = np.random.default_rng([n, extended])
    score = made_up(n, spread=1.0, seed=7)
    space = random_space(rng, n, extended, required=0.2)
    enumeration = Enumeration(score, space)
    orders = [o for o in enumeration.orders() if enumeration.log_score(o) > -np.inf]
    mixture = MOVES.get(moves, [6, n, 1])
    chain = chain_on(score, space, orders[0], mixture, power=power, seed=n)
    matrix = sum(
        share * transition_matrix(chain, move, orders, power)
        for move, share in zip(MOVES, np.divide(mixture, sum(mixture)), strict=True)
    )
    numbers = {order: k for k, order in enumerate(orders)}
    start = len(orders) // 2
    counts = one_step_counts(chain, orders[start], numbers, 20_000)
    assert_frequencies(counts, matrix[start])
    assert chain.proposed_moves.sum() == 20_000
    shares = chain.proposed_moves / 20_000
    assert_allclose(shares, np.divide(mixture, sum(mixture)), atol=4 * 0.5 / 141)
    changed = 1.0 - counts[start] / 20_000
    assert chain.accepted_moves.sum() == round(20_000 * changed)


def test_scan_relocates_the_nodes_in_turn():
    n = 5
    chain = chain_on(made_up(n), random_space(np.random.default_rng(0), n),
                     moves=[0, 0, 1], scan=True, seed=2)  # fmt: skip
    for step in range(200):
        before = chain.order.tolist()
        chain.run(1)
        after = chain.order.tolist()
        node = step % n
        before.remove(node)
        after.remove(node)
        assert before == after


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("extended", [False, True])
@pytest.mark.parametrize("spread", [1.0, 400.0])
@pytest.mark.parametrize("seed", range(3))
def test_relocation_scores_against_placing_the_node(seed, spread, extended, maximize):
    rng = np.random.default_rng([seed, extended, maximize])
    n = 7
    score = made_up(n, spread=spread, seed=seed)
    space = random_space(rng, n, extended, required=0.15 * (seed % 2))
    enumeration = Enumeration(score, space)
    chain = chain_on(score, space, maximize=maximize)
    other = chain_on(score, space, maximize=maximize)
    for _ in range(4):
        order = rng.permutation(n)
        chain.set_order(order)
        exact = enumeration.log_score(order, maximize)
        assert_allclose(chain.log_score, exact, rtol=1e-11)
        for node in range(n):
            rest = order[order != node]
            placed = [np.insert(rest, slot, node) for slot in range(n)]
            totals = []
            for candidate in placed:
                other.set_order(candidate)
                totals.append(other.log_score)
            assert_allclose(chain.relocation_scores(node), totals, rtol=1e-11)
            # looking does not change where the chain stands
            assert_array_equal(chain.order, order)
            assert_allclose(chain.log_score, exact, rtol=1e-11)
        if exact > -np.inf:
            for p, q in itertools.combinations(range(n), 2):
                swapped = order.copy()
                swapped[[p, q]] = order[[q, p]]
                other.set_order(swapped)
                change = other.log_score - chain.log_score
                assert_allclose(chain.swap_change(p, q), change, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("extended", [False, True])
def test_state_stays_right_over_many_steps(extended, maximize):
    """After any number of steps a fresh chain agrees about the present order."""
    rng = np.random.default_rng(extended)
    n = 9
    score = made_up(n, spread=5.0, seed=4)
    space = random_space(rng, n, extended, max_candidates=4, required=0.1)
    start = np.argsort(-graphs.topological_order(space.required).argsort())
    chain = chain_on(score, space, start, maximize=maximize, power=0.5)
    fresh = chain_on(score, space, start, maximize=maximize)
    for _ in range(50):
        chain.run(37)
        fresh.set_order(chain.order)
        assert_allclose(chain.node_scores, fresh.node_scores, rtol=1e-13)


def test_rounding_does_not_drift():
    n = 8
    score = made_up(n, spread=3.0)
    space = random_space(np.random.default_rng(3), n)
    chain = chain_on(score, space)
    chain.run(1_000_000)
    fresh = chain_on(score, space, chain.order)
    assert chain.log_score == pytest.approx(fresh.log_score, rel=1e-10)
    # the running total, too, of which the best is kept
    fresh.set_order(chain.best_order)
    assert chain.best_log_score == pytest.approx(fresh.log_score, rel=1e-10)


# -------------------------------------------------------- DAGs from one order


@pytest.mark.parametrize("kind", ["plain", "linear", "logs", "required"])
def test_dags_of_one_order_have_exact_frequencies(kind):
    rng = np.random.default_rng(["plain", "linear", "logs", "required"].index(kind))
    n = 6
    score = made_up(n, seed=1, bonus=1000.0 * (kind == "logs"))
    if kind == "logs":
        # nodes 0 and 1, worth a thousand nats, are outsiders wherever they stand
        permitted = np.zeros((n, n), dtype=bool)
        permitted[[3, 4, 5, 5], [2, 2, 2, 3]] = True
        space = make_space(permitted, resolve_constraints(n), extended=True)
        order = np.array([2, 3, 0, 4, 1, 5])
    else:
        required = 0.5 * (kind == "required")
        space = random_space(rng, n, kind != "plain", required=required)
        order = np.argsort(-graphs.topological_order(space.required).argsort())
    enumeration = Enumeration(score, space)
    assert enumeration.log_score(order) > -np.inf
    tables = build_tables(score, space, sums=True)
    chain = OrderChain(
        TableViews(tables), np.random.PCG64(1), order, np.array([0.0, 0.0, 1.0])
    )
    if kind == "logs":
        assert any((t.ratios[:, t.base_column] == 0.0).any() for t in tables)
    n_draws = 20_000
    packed = np.zeros((n_draws, n, 1), dtype=np.uint8)
    log_scores = [chain.draw_dag(draw) for draw in packed]
    dags = np.unpackbits(packed, axis=-1, count=n).astype(bool)
    for dag, log_score in zip(dags[:50], log_scores, strict=False):
        assert graphs.is_dag(dag)
        assert log_score == pytest.approx(score.dag_score(dag), rel=1e-12)
    for node in range(n):
        sets, values = enumeration.permitted(node, order)
        number = {frozenset(s): k for k, s in enumerate(sets)}
        drawn = [number[frozenset(np.flatnonzero(dag[:, node]))] for dag in dags]
        counts = np.bincount(drawn, minlength=len(sets))
        assert_frequencies(counts, np.exp(values - logsumexp(values)))


# ------------------------------------------------------------------ searching


@pytest.mark.parametrize("extended", [False, True])
@pytest.mark.parametrize("required", [0.0, 0.4])
def test_maxima_of_all_orders(extended, required):
    rng = np.random.default_rng(2)
    n = 4
    score = made_up(n, spread=10.0)
    space = random_space(rng, n, extended, required=required)
    enumeration = Enumeration(score, space)
    chain = chain_on(score, space, maximize=True)
    exact = [enumeration.log_score(o, maximize=True) for o in enumeration.orders()]
    for order, value in zip(enumeration.orders(), exact, strict=True):
        chain.set_order(order)
        assert chain.log_score == pytest.approx(value, rel=1e-13)
        if value > -np.inf:
            # a node moved anywhere does no better: a local optimum
            top = chain.climb()
            assert chain.log_score == pytest.approx(top, rel=1e-12)
            for node in range(n):
                assert chain.relocation_scores(node).max() <= top + 1e-6
            chain.set_order(order)
            top = chain.climb_by_transpositions()
            assert all(chain.swap_change(p, p + 1) <= 1e-6 for p in range(n - 1))
    assert chain.best_log_score == pytest.approx(max(exact), rel=1e-12)


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_climbs_end_for_scores_of_any_sign(offset):
    """Rounding of large positive scores is no gain."""

    class Shifted(MadeUpScore):
        def log_marginal_likelihood(self, node, parents):
            return super().log_marginal_likelihood(node, parents) + offset

    n = 6
    score = Shifted(spread=1.0).fit(np.zeros((2, n)))
    chain = chain_on(
        score, random_space(np.random.default_rng(0), n), maximize=True
    )  # fmt: skip
    rng = np.random.default_rng(0)
    for _ in range(20):
        chain.set_order(rng.permutation(n))
        chain.climb()
        chain.set_order(rng.permutation(n))
        chain.climb_by_transpositions()


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("moves", ["auto", *MOVES])
def test_best_is_the_best_of_all_visited(moves, maximize):
    n = 6
    score = made_up(n, spread=5.0)
    space = random_space(np.random.default_rng(8), n)
    enumeration = Enumeration(score, space)
    chain = chain_on(
        score, space, moves=MOVES.get(moves, "auto"), maximize=maximize, power=0.2
    )
    best = enumeration.log_score(chain.order, maximize)
    for _ in range(300):
        chain.run(1)
        best = max(best, enumeration.log_score(chain.order, maximize))
        assert chain.best_log_score == pytest.approx(best, rel=1e-12)
    found = enumeration.log_score(chain.best_order, maximize)
    assert found == pytest.approx(best, rel=1e-12)


def test_kicks_respect_required_edges():
    n = 6
    rng = np.random.default_rng(1)
    space = random_space(rng, n, required=0.7)
    start = np.argsort(-graphs.topological_order(space.required).argsort())
    chain = chain_on(made_up(n), space, start, maximize=True)
    for _ in range(100):
        chain.kick(3)
        place = np.argsort(chain.order)
        parents, children = np.nonzero(space.required)
        assert (place[parents] > place[children]).all()
        assert np.isfinite(chain.log_score)


def test_a_chain_goes_on_where_it_was():
    n = 6
    score, space = made_up(n), random_space(np.random.default_rng(8), n)
    whole, part = chain_on(score, space), chain_on(score, space)
    whole.run(500)
    part.run(200)
    state = pickle.loads(pickle.dumps(part.__getstate__()))
    again = chain_on(score, space, seed=99)
    again.restore(state)
    again.run(300)
    assert_array_equal(again.order, whole.order)
    assert_array_equal(again.proposed_moves, whole.proposed_moves)


def test_orders_that_are_none():
    n = 4
    chain = chain_on(made_up(n), random_space(np.random.default_rng(0), n))
    for order in ([0, 1, 2], [0, 1, 2, 2], [1, 2, 3, 4]):
        with pytest.raises(ValueError, match="permutation"):
            chain.set_order(order)
