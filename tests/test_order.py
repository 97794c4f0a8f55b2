"""The order sampler against enumeration of all orders, and as an estimator."""

import io
import itertools
import pickle
import sys
import threading
import time
from functools import partial

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

import helpers
from helpers import (
    Callback,
    MadeUpScore,
    control_c,
    python_process,
    random_space,
    read_data,
    read_exact_posterior,
    wait_for_chains,
)
from skbidag import OrderMCMCStructure, PartitionMCMCStructure, _chains, graphs
from skbidag._constraints import resolve_constraints
from skbidag._core._order import OrderChain
from skbidag._core._tables import TableViews
from skbidag._posterior import DAGSamples
from skbidag._search import LEAST_GAIN
from skbidag._search_space import SearchSpace, make_space
from skbidag._tables import build_tables
from skbidag.datasets import make_gaussian_network
from skbidag.diagnostics import rhat
from skbidag.scores import BDe, BGe

MOVES = {"swap": [1, 0, 0], "transposition": [0, 1, 0], "relocation": [0, 0, 1]}
# A chi-square test that is right fails with this probability, were its seed not fixed.
P_VALUE = 1e-4


def made_up(n, **params):
    return MadeUpScore(**params).fit(np.zeros((2, n)))


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
        X, score = read_data("gauss5"), BGe(prior="paper", edge_penalty=1.0)
    else:
        X = read_data("cancer300", dtype=int)
        score = BDe(edge_penalty=1.0)
    exact = read_exact_posterior(name, "order")
    model = sampler(score=score, extra_parent=extra_parent).fit(X)
    assert_probabilities(model, exact)
    space = make_space(~np.eye(5, dtype=bool), resolve_constraints(5), extended=False)
    enumeration = Enumeration(score.fit(X), space)
    assert_allclose(enumeration.edge_probabilities(), exact, atol=2e-10)


SPACES = ["full", "restricted", "extended"]


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.parametrize("spread", [1.0, 30.0, 400.0])
def test_outsiders_that_pass_leave_no_rounding(spread):
    """Sums updated term by term stay right when their largest terms come and go."""
    n = 12
    score = made_up(n, spread=spread, seed=2)
    # few candidates: nearly all that pass a node are outsiders
    space = random_space(np.random.default_rng(5), n, max_candidates=2, outsiders=1.0)
    tables = build_tables(score, space, sums=True)
    in_logs = {bool(t.ratios[mask, t.base_column] == 0.0)
               for t in tables for mask in range(len(t.ratios))}  # fmt: skip
    assert in_logs == ({True, False} if spread == 400.0 else {False})
    chain = chain_on(score, space, power=2.0 / spread)
    fresh = chain_on(score, space)
    for _ in range(40):
        chain.run(499)  # between two refreshments, most of the time
        fresh.set_order(chain.order)
        assert_allclose(chain.node_scores, fresh.node_scores, rtol=0, atol=1e-11)
    assert chain.accepted_moves.min() > 100


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


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.parametrize("spread", [0.3, 2.0, 8.0])
@pytest.mark.parametrize("n_required", [0, 2])
@pytest.mark.parametrize("extended", [False, True])
def test_draws_from_many_parent_sets(extended, n_required, spread):
    """Sets of up to nine candidates, drawn by alternating sums, are as enumerated."""
    n, node = 12, 3
    score = made_up(n, spread=spread, seed=3)
    permitted = np.zeros((n, n), dtype=bool)
    permitted[[0, 1, 2, 4, 5, 6, 7, 8, 9], node] = True
    required = np.zeros((n, n), dtype=bool)
    required[[4, 8][:n_required], node] = True
    extra = np.zeros((n, n), dtype=bool)
    extra[10:, node] = extended
    space = SearchSpace(permitted, extra, required, extended)
    order = np.array([node, *range(3), *range(4, n)])
    candidates = [j for j in range(10) if j != node]
    sets = [
        (*subset, *extras)
        for size in range(10)
        for subset in itertools.combinations(candidates, size)
        for extras in ([(), (10,), (11,)] if extended else [()])
        if set(np.flatnonzero(required[:, node])) <= set(subset)
    ]
    values = np.array([score.local_score(node, parents) for parents in sets])
    tables = build_tables(score, space, sums=True)
    chain = OrderChain(
        TableViews(tables), np.random.PCG64(7), order, np.array([0.0, 0.0, 1.0])
    )
    packed = np.zeros((20_000, n, 2), dtype=np.uint8)
    for draw in packed:
        chain.draw_dag(draw)
    drawn = np.unpackbits(packed, axis=-1, count=n)[:, :, node]
    number = {sum(1 << j for j in parents): k for k, parents in enumerate(sets)}
    counts = np.zeros(len(sets), dtype=int)
    for key, count in zip(
        *np.unique(drawn @ (1 << np.arange(n)), return_counts=True), strict=True
    ):
        counts[number[int(key)]] = count
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
            chain.climb_by_swaps(1)
            assert all(chain.swap_change(p, p + 1) <= 1e-6 for p in range(n - 1))
            chain.set_order(order)
            chain.climb_by_swaps(n)
            pairs = itertools.combinations(range(n), 2)
            assert all(chain.swap_change(p, q) <= 1e-6 for p, q in pairs)
    assert chain.best_log_score == pytest.approx(max(exact), rel=1e-11)


@pytest.mark.parametrize("reach", [1, 2, 5])
def test_climbs_by_swaps_are_steepest(reach):
    rng = np.random.default_rng(3)
    n = 5
    score = made_up(n, spread=10.0)
    space = random_space(rng, n)
    enumeration = Enumeration(score, space)
    chain = chain_on(score, space, maximize=True)
    for _ in range(20):
        order = list(rng.permutation(n))
        chain.set_order(order)
        while True:
            value = enumeration.log_score(order, maximize=True)
            others = []
            for p, q in itertools.combinations(range(n), 2):
                if q - p <= reach:
                    other = list(order)
                    other[p], other[q] = order[q], order[p]
                    others.append(other)
            values = [enumeration.log_score(o, maximize=True) for o in others]
            if max(values) <= value + 1e-6:
                break
            # the first of equals
            order = others[np.flatnonzero(np.array(values) > max(values) - 1e-6)[0]]
        assert chain.climb_by_swaps(reach) == pytest.approx(value, rel=1e-12)
        assert_array_equal(chain.order, order)


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
        chain.climb_by_swaps(1)


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
        assert chain.best_log_score == pytest.approx(best, rel=1e-11)
    found = enumeration.log_score(chain.best_order, maximize)
    assert found == pytest.approx(best, rel=1e-11)


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
    assert_array_equal(again.node_scores, whole.node_scores)
    assert_array_equal(again.proposed_moves, whole.proposed_moves)


def test_orders_that_are_none():
    n = 4
    chain = chain_on(made_up(n), random_space(np.random.default_rng(0), n))
    for order in ([0, 1, 2], [0, 1, 2, 2], [1, 2, 3, 4]):
        with pytest.raises(ValueError, match="permutation"):
            chain.set_order(order)


# ---------------------------------------------- seeds, processes, persistence

quick = partial(helpers.quick, search_space="pc", n_chains=3)


@pytest.fixture(scope="module")
def data():
    return make_gaussian_network(150, 10, random_state=1).data


def assert_same_results(model, other):
    """Every learned attribute has the same bits, but for the time it took."""
    learned = {name for name in vars(model) if name.endswith("_")}
    assert learned == {name for name in vars(other) if name.endswith("_")}
    for name in learned - {"fit_seconds_"}:
        one, two = getattr(model, name), getattr(other, name)
        if name == "dag_samples_":
            one, two = one.packed, two.packed
        if name == "score_":
            one, two = one.scatter_, two.scatter_
        assert_array_equal(one, two, err_msg=name)


@pytest.mark.slow
@pytest.mark.parametrize("search_space", ["pc", "iterative"])
def test_result_depends_on_the_seed_alone(data, search_space, monkeypatch):
    model = quick(search_space=search_space).fit(data)
    settings = {"search_space": search_space}
    assert_same_results(quick(n_jobs=1, **settings).fit(data), model)
    assert_same_results(quick(n_jobs=2, **settings).fit(data), model)
    with joblib.parallel_config(backend="loky", n_jobs=2):
        assert_same_results(quick(**settings).fit(data), model)
    with joblib.parallel_config(backend="threading", n_jobs=3):
        assert_same_results(quick(**settings).fit(data), model)
    # where a block ends changes nothing
    for lookups in (1, 3210):
        monkeypatch.setattr(_chains, "BLOCK_LOOKUPS", lookups)
        assert_same_results(quick(**settings).fit(data), model)
    # nor does the number of other chains change one
    more = quick(n_chains=5, **settings).fit(data)
    assert_array_equal(more.log_score_trace_[:3], model.log_score_trace_)


def test_other_seeds_give_other_chains(data):
    model = quick().fit(data)
    assert (quick(random_state=1).fit(data).log_score_trace_
            != model.log_score_trace_).any()  # fmt: skip
    for chain, other in itertools.combinations(model.log_score_trace_, 2):
        assert (chain != other).any()
    states = [np.random.RandomState(5), np.random.RandomState(5)]
    one, two = (quick(random_state=state).fit(data) for state in states)
    assert_same_results(one, two)
    # a RandomState moves on, as in scikit-learn
    assert (one.fit(data).log_score_trace_ != two.log_score_trace_).any()
    assert quick(random_state=None).fit(data).log_score_trace_.shape == (3, 40)


@pytest.mark.parametrize("search_space", ["pc", "iterative"])
def test_rounding_does_not_change_a_chain(data, search_space):
    """Rows in another order, or repeated, give the scores other last bits."""
    model = quick(search_space=search_space).fit(data)
    turned = quick(search_space=search_space).fit(data[::-1])
    assert_array_equal(turned.dag_samples_.packed, model.dag_samples_.packed)
    weights = np.random.default_rng(0).integers(0, 3, size=len(data))
    repeated = quick(search_space=search_space).fit(np.repeat(data, weights, axis=0))
    weighted = quick(search_space=search_space).fit(data, sample_weight=weights)
    assert_array_equal(repeated.dag_samples_.packed, weighted.dag_samples_.packed)
    assert_allclose(repeated.log_score_trace_, weighted.log_score_trace_, rtol=1e-10)


def test_clone_pickle_and_dump(data):
    model = quick(score=BGe(alpha_mu=0.5), n_jobs=2).fit(data)
    assert_same_results(pickle.loads(pickle.dumps(model)), model)
    file = io.BytesIO()
    joblib.dump(model, file)
    file.seek(0)
    loaded = joblib.load(file)
    assert_same_results(loaded, model)
    assert_array_equal(loaded.score_samples(data), model.score_samples(data))
    assert loaded.get_params()["score"].alpha_mu == 0.5
    copy = clone(model)
    assert not hasattr(copy, "adjacency_")
    with pytest.raises(NotFittedError):
        copy.edge_probabilities()
    assert_same_results(copy.fit(data), model)


def test_score_is_a_parameter_and_a_method(data):
    model = quick(score=BGe(alpha_mu=0.5))
    params = model.get_params()
    assert params["score"].alpha_mu == params["score__alpha_mu"] == 0.5
    assert "score__alpha_mu" not in model.get_params(deep=False)
    assert model.set_params(score__alpha_mu=2.0).get_params()["score__alpha_mu"] == 2.0
    assert "alpha_mu=2.0" in repr(model)
    assert model.set_params(score="bic").get_params()["score"] == "bic"
    model.set_params(score="bge").fit(data)
    assert model.score(data) == pytest.approx(model.score_samples(data).mean())
    assert callable(OrderMCMCStructure.score)
    assert "predictive density" in OrderMCMCStructure.score.__doc__
    search = GridSearchCV(
        quick(score=BGe(), n_chains=1), {"score__alpha_mu": [0.01, 1.0]}, cv=2
    )
    search.fit(data)
    assert search.best_score_ == max(search.cv_results_["mean_test_score"])


def test_lists_and_column_major_arrays(data):
    model = quick().fit(data)
    assert_same_results(quick().fit(data.tolist()), model)
    other = quick().fit(np.asfortranarray(data))  # sums of squares round otherwise
    assert_array_equal(other.dag_samples_.packed, model.dag_samples_.packed)


# ------------------------------------------------------ callbacks, interrupts


class Recorder(Callback):
    """A callback that remembers tasks, and may stop or break off a chain."""

    def __init__(self, stop_after=None, error=None):
        self.stop_after = stop_after
        self.error = error
        self.begun, self.ended, self.torn_down = [], [], 0

    def teardown(self, estimator, context):
        self.torn_down += 1

    def on_fit_task_begin(self, estimator, context):
        self.begun.append(context.task_name)

    def on_fit_task_end(self, estimator, context):
        self.ended.append(context.task_name)
        reached = self.ended.count("steps") == self.stop_after
        if reached and self.error is not None:
            raise self.error
        return context.task_name == "steps" and reached


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_callbacks_see_every_task(data, n_jobs):
    recorder = Recorder()
    model = quick(n_jobs=n_jobs).set_callbacks(recorder)
    model.fit(data)
    for tasks in (recorder.begun, recorder.ended):
        assert tasks.count("fit") == 1
        assert tasks.count("chain") == 3
        assert tasks.count("steps") == 3 * 100
    assert recorder.begun[0] == recorder.ended[-1] == "fit"
    assert recorder.torn_down == 1
    assert_same_results(quick().fit(data), model)
    model.fit(data)
    assert recorder.torn_down == 2


@pytest.mark.slow
def test_callbacks_of_chains_in_other_processes(data):
    """Their steps are not seen, but the chains' tasks begin and end."""
    recorder = Recorder()
    with joblib.parallel_config(backend="loky", n_jobs=2):
        quick().set_callbacks(recorder).fit(data)
    assert recorder.ended.count("chain") == recorder.begun.count("chain") == 3
    assert recorder.ended[-1] == "fit"


def test_progress_bar(data, capsys):
    pytest.importorskip("rich")
    from sklearn.callback import ProgressBar

    model = quick().set_callbacks(ProgressBar()).fit(data)
    assert "chain" in capsys.readouterr().out
    assert_same_results(quick().fit(data), model)


def test_a_callback_stops_a_chain(data, monkeypatch):
    monkeypatch.setattr(_chains, "BLOCK_LOOKUPS", 1)  # blocks of a hundred steps
    whole = quick().fit(data)
    # chains take turns, five reports each: this is the first chain's 60th, at 60 % of
    # its steps, a burn-in of 20 % and draws
    model = quick().set_callbacks(Recorder(stop_after=170)).fit(data)
    assert model.log_score_trace_.shape == (3, 20)
    assert len(model.dag_samples_) == 60
    assert_array_equal(model.log_score_trace_, whole.log_score_trace_[:, :20])
    assert model.rhat_.shape == (10, 10)
    # the others were not stopped, and going on loses nothing of what they made
    model.set_callbacks().set_params(warm_start=True).fit(data)
    assert_same_results(whole, model)
    # stopped before the first draw
    model = quick(n_chains=1).set_callbacks(Recorder(stop_after=1))
    with pytest.warns(ConvergenceWarning, match="stopped.*none of 40 draws"):
        model.fit(data)
    assert len(model.dag_samples_) == 1
    assert graphs.is_dag(model.adjacency_)
    assert np.isfinite(model.log_score_)


@pytest.mark.slow
@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_errors_in_callbacks_end_the_fit_at_once(data, n_jobs, error):
    """The chains would take many minutes; the others stop after their block."""
    n_threads = threading.active_count()
    recorder = Recorder(stop_after=1, error=error("enough"))
    model = quick(n_jobs=n_jobs).fit(data)
    # one hundredth of a chain is a block or two of steps, the rest takes minutes
    model.set_params(n_iter=2 * 100 * _chains.BLOCK_LOOKUPS // 10)
    began = time.perf_counter()
    with pytest.raises(error, match="enough"):
        model.set_callbacks(recorder).fit(data)
    assert time.perf_counter() - began < 10.0
    assert recorder.torn_down == 1
    # neither the old nor half a new fit
    with pytest.raises(NotFittedError):
        model.predict(data)
    while threading.active_count() > n_threads and time.perf_counter() - began < 10.0:
        time.sleep(0.01)
    assert threading.active_count() <= n_threads
    # and it can be fitted again
    model.set_callbacks().set_params(n_iter=2000).fit(data)
    assert_same_results(quick().fit(data), model)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_control_c(n_jobs):
    script = f"""
        import sys, time, numpy as np
        from skbidag import OrderMCMCStructure
        X = np.random.default_rng(0).normal(size=(50, 20))
        model = OrderMCMCStructure(
            search_space="pc", n_iter=10**10, n_jobs={n_jobs}, verbose=10**6
        )
        try:
            model.fit(X)
        except KeyboardInterrupt:
            print(time.process_time(), file=sys.stderr)
    """
    with python_process(script) as process:
        wait_for_chains(process, 4)
        assert control_c(process) < 1.0
        assert process.wait() == 0


def test_verbose_prints_the_progress(data, capsys):
    quick(verbose=1).fit(data)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert all("2,000 of 2,000 steps" in line for line in lines)
    assert lines[0].startswith("[OrderMCMCStructure] chain 1: ")
    quick().fit(data)
    assert capsys.readouterr().out == ""


# ------------------------------------------------------------ what is learned


def test_learned_attributes(data):
    model = quick(n_iter=2003).fit(data)
    n = 10
    for name, dtype in [
        ("adjacency_probabilities_", float), ("rhat_", float), ("adjacency_", bool),
        ("cpdag_", bool), ("search_space_", bool),
    ]:  # fmt: skip
        assert getattr(model, name).shape == (n, n), name
        assert getattr(model, name).dtype == dtype, name
    assert model.log_score_trace_.shape == (3, 40)
    assert model.acceptance_rate_.shape == (3,)
    assert ((model.acceptance_rate_ > 0) & (model.acceptance_rate_ < 1)).all()
    assert isinstance(model.log_score_, float)
    assert isinstance(model.log_score_rhat_, float)
    # whole steps between draws, as many as the burn-in leaves
    assert model.n_iter_ == 400 + 40 * (1603 // 40)
    assert model.n_features_in_ == n
    assert not hasattr(model, "feature_names_in_")
    assert isinstance(model.score_, BGe)

    samples = model.dag_samples_
    assert len(samples) == 120
    dags = np.array(list(samples))
    assert dags.shape == (120, n, n)
    assert dags.dtype == bool
    assert_array_equal(samples[-1], dags[-1])
    assert_array_equal(samples[5:8], dags[5:8])
    assert all(graphs.is_dag(dag) for dag in dags)
    assert_allclose(model.adjacency_probabilities_, dags.mean(axis=0))
    trace = [model.score_.dag_score(dag) for dag in dags]
    assert_allclose(model.log_score_trace_.ravel(), trace, rtol=1e-10)
    # of DAGs that are equally good, but for rounding, the sparsest is the best
    assert model.log_score_ >= model.log_score_trace_.max() - LEAST_GAIN
    assert model.score_.dag_score(model.adjacency_) == pytest.approx(model.log_score_)
    assert_array_equal(model.cpdag_, graphs.to_cpdag(model.adjacency_))
    assert "n_chains=3" in repr(samples)


def test_edge_probabilities_of_every_kind(data):
    model = quick().fit(data)
    dags = model.dag_samples_[:]
    assert_array_equal(model.edge_probabilities(), model.adjacency_probabilities_)
    skeletons = dags | dags.transpose(0, 2, 1)
    assert_allclose(model.edge_probabilities("skeleton"), skeletons.mean(axis=0))
    cpdags = np.array([graphs.to_cpdag(dag) for dag in dags])
    assert_allclose(model.edge_probabilities("cpdag"), cpdags.mean(axis=0))
    for kind in ("dag", "cpdag", "skeleton"):
        graph = model.consensus_graph(0.3, kind)
        assert graph.dtype == bool
        assert_array_equal(graph, model.edge_probabilities(kind) > 0.3)
    assert_array_equal(model.consensus_graph(), model.adjacency_probabilities_ > 0.5)
    with pytest.raises(ValueError, match="kind must be 'dag', 'cpdag' or 'skeleton'"):
        model.edge_probabilities("pdag")


def test_to_networkx_keeps_names_and_probabilities(data):
    names = [f"gene {k}" for k in range(10)]
    model = quick().fit(pd.DataFrame(data, columns=names))
    graph = model.to_networkx()
    assert list(graph.nodes) == names
    assert graph.number_of_edges() == model.adjacency_.sum()
    for parent, child, attributes in graph.edges(data=True):
        i, j = names.index(parent), names.index(child)
        assert model.adjacency_[i, j]
        assert attributes["probability"] == model.adjacency_probabilities_[i, j]
    assert list(quick().fit(data).to_networkx().nodes) == list(range(10))


def test_frames(data):
    names = [f"x{k}" for k in range(10)]
    model = quick().fit(data)
    for frame in (pd.DataFrame(data, columns=names), pl.DataFrame(data, schema=names)):
        named = quick().fit(frame)
        assert named.feature_names_in_.tolist() == names
        assert_array_equal(named.dag_samples_.packed, model.dag_samples_.packed)
        assert_allclose(named.score_samples(frame), model.score_samples(data))
        with pytest.raises(ValueError, match="feature names"):
            named.score_samples(frame[names[::-1]])


def test_discrete_frames():
    rng = np.random.default_rng(0)
    codes = discrete_data(rng, 4, 100)
    labels = np.array(["low", "mid", "top"])[codes]
    model = quick(search_space="full").fit(codes)
    assert isinstance(model.score_, BDe)
    names = list("abcd")
    frames = [
        pd.DataFrame(labels, columns=names),
        pd.DataFrame(labels, columns=names).astype("category"),
        pl.DataFrame(labels, schema=names),
        pl.DataFrame(codes == 0, schema=names),
    ]
    for frame in frames[:3]:
        other = quick(search_space="full").fit(frame)
        assert_array_equal(other.dag_samples_.packed, model.dag_samples_.packed)
        predicted = other.predict(frame)
        assert set(np.unique(predicted)) <= {"low", "mid", "top"}
    assert isinstance(quick().fit(frames[3]).score_, BDe)


@pytest.mark.parametrize("extra_parent", [True, False])
@pytest.mark.parametrize("search_space", ["pc", "full", "iterative", "glasso"])
@pytest.mark.parametrize("n", [1, 2])
def test_one_and_two_variables(n, search_space, extra_parent):
    X = gaussian_data(np.random.default_rng(3), n)
    model = quick(search_space=search_space, extra_parent=extra_parent).fit(X)
    assert model.adjacency_.shape == (n, n)
    assert len(model.dag_samples_) == 120
    assert np.isfinite(model.log_score_)
    if n == 1:
        assert not model.adjacency_probabilities_.any()
        assert_array_equal(model.rhat_, [[1.0]])
        assert_array_equal(model.acceptance_rate_, 0.0)


def test_one_row_and_constant_columns():
    rng = np.random.default_rng(0)
    one = quick(search_space="full").fit(rng.normal(size=(1, 3)))
    assert np.isfinite(one.log_score_)
    X = rng.normal(size=(40, 4))
    X[:, 2] = 3.0
    for search_space in ("pc", "full", "glasso", "iterative"):
        model = quick(search_space=search_space).fit(X)
        assert np.isfinite(model.log_score_trace_).all()
    codes = np.ones((20, 3), dtype=int)
    codes[::2, 0] = 0
    model = quick(search_space="full").fit(codes)
    # a constant says nothing: what it explains is what it does not
    assert np.isfinite(model.log_score_trace_).all()


def test_rows_with_missing_cells_are_left_out(data):
    X = data.copy()
    X[[3, 7], [2, 4]] = np.nan
    weights = np.arange(1.0, 1 + len(X))
    complete = np.isfinite(X).all(axis=1)
    with pytest.warns(UserWarning, match="2 of 150 rows .* first in column 2"):
        model = quick(missing="drop").fit(X, sample_weight=weights)
    expected = quick().fit(X[complete], sample_weight=weights[complete])
    assert_same_results(model, expected)
    labels = pd.DataFrame({"a": ["x", "y", None, "x"] * 5, "b": ["u", "v"] * 10})
    with pytest.warns(UserWarning, match="5 of 20 rows .* column 'a'"):
        model = quick(missing="drop").fit(labels)
    assert model.score_.categories_[0].tolist() == ["x", "y"]
    with pytest.raises(ValueError, match=r"NaN .* every row.*column 1"):
        quick(missing="drop").fit(np.array([[1.0, np.nan], [2.0, np.nan]]))
    X[3, 2] = np.inf
    with (
        pytest.warns(UserWarning, match="1 of 150 rows"),
        pytest.raises(ValueError, match="infinity in column 2"),
    ):
        quick(missing="drop").fit(X)
    # a missing cell is what predict is for; the density is of the others
    model, holed = expected, np.where(np.isinf(X), np.nan, X)
    assert np.isfinite(model.predict(holed)).all()
    log_densities = model.score_samples(holed)
    assert np.isfinite(log_densities).all()
    assert_allclose(
        log_densities[complete], model.score_samples(X[complete]), rtol=1e-12
    )


def test_packed_samples_of_a_large_network_fit_in_memory():
    """A thousand variables and 2000 draws take 250 MB; layout, not allocation."""
    draws = np.zeros((4, 3, 1000, -(-1000 // 8)), dtype=np.uint8)
    samples = DAGSamples(draws)
    per_draw = samples.packed.nbytes / len(samples)
    assert 2000 * per_draw == 250e6
    # a chain packs the same way
    n = 9
    space = random_space(np.random.default_rng(0), n, max_candidates=2)
    packed = np.zeros((n, 2), dtype=np.uint8)
    chain_on(made_up(n), space).draw_dag(packed)
    assert np.unpackbits(packed, axis=-1)[:, n:].sum() == 0


# ---------------------------------------------------------------- convergence


def test_chains_that_disagree_are_warned_of():
    """A chain that never moves keeps to the order that it started from."""
    X = make_gaussian_network(500, 12, random_state=0).data
    settings = {"n_chains": 4, "n_draws": 60, "random_state": 0, "n_iter": 75}
    with pytest.warns(ConvergenceWarning, match=r"The chains disagree.*n_iter"):
        model = OrderMCMCStructure(search_space="full", **settings).fit(X)
    assert model.log_score_rhat_ > 1.1 or model.rhat_.max() > 1.2
    settings["n_iter"] = "auto"
    model = OrderMCMCStructure(search_space="full", **settings).fit(X)  # no warning
    assert model.log_score_rhat_ < 1.1
    assert model.rhat_.max() < 1.2


@pytest.mark.parametrize("n_draws", [40, 41])
def test_rhat_of_edges(data, n_draws):
    model = quick(n_draws=n_draws).fit(data)
    draws = model.dag_samples_[:].reshape(3, n_draws, 10, 10).astype(float)
    exact = rhat(draws, method="split")
    # halves of an odd number of draws are one longer here
    assert_allclose(model.rhat_, exact, rtol=1e-12 if n_draws == 40 else 0.03)


# --------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"score": "aic"}, "'score' parameter"),
        ({"score": BGe}, "'score' parameter"),
        ({"search_space": "all"}, "'search_space' parameter"),
        ({"search_space": 3}, "'search_space' parameter"),
        ({"alpha": 0.0}, "'alpha' parameter"),
        ({"alpha": "high"}, "'alpha' parameter"),
        ({"extra_parent": "yes"}, "'extra_parent' parameter"),
        ({"max_parents": -1}, "'max_parents' parameter"),
        ({"max_parents": 40}, "'max_parents' parameter"),
        ({"n_iter": 0}, "'n_iter' parameter"),
        ({"n_iter": 1.5}, "'n_iter' parameter"),
        ({"n_draws": 0}, "'n_draws' parameter"),
        ({"burn_in": 1.0}, "'burn_in' parameter"),
        ({"burn_in": -0.1}, "'burn_in' parameter"),
        ({"n_chains": 0}, "'n_chains' parameter"),
        ({"memory_limit": -5}, "'memory_limit' parameter"),
        ({"n_jobs": 1.5}, "'n_jobs' parameter"),
        ({"random_state": "seed"}, "'random_state' parameter"),
        ({"relocation_scan": 2}, "'relocation_scan' parameter"),
        ({"tiers": "ab"}, "'tiers' parameter"),
        ({"move_probabilities": "often"}, "'move_probabilities' parameter"),
        ({"move_probabilities": [1, 2]}, "move_probabilities must be 3"),
        ({"move_probabilities": [1, -2, 3]}, "move_probabilities must be 3"),
        ({"move_probabilities": [0, 0, 0]}, "move_probabilities must be 3"),
        ({"move_probabilities": [1, np.nan, 0]}, "move_probabilities must be 3"),
        ({"edge_prior": np.zeros((2, 2))}, r"edge_prior must have shape \(10, 10\)"),
        ({"edge_prior": np.full((10, 10), np.inf)}, "edge_prior must be finite"),
        ({"search_space": np.ones((3, 3))}, r"search_space must be .* \(10, 10\)"),
        ({"search_space": 2 * np.ones((10, 10))}, "search_space .* zeros and ones"),
        ({"forbidden_edges": [(0, 10)]}, "forbidden_edges has the index 10"),
        ({"forbidden_edges": [("a", "b")]}, "unknown variable: 'a'"),
        ({"required_edges": np.ones((4, 4))}, r"required_edges must be .*\(10, 10\)"),
        ({"required_edges": [(0, 1), (1, 0)]}, "required_edges has a cycle"),
    ],
)
def test_parameter_errors(data, params, message):
    with pytest.raises(ValueError, match=message):
        quick(**params).fit(data)


@pytest.mark.parametrize("extra_parent", [True, False])
def test_tables_too_large_for_the_limit(data, extra_parent):
    frame = pd.DataFrame(data, columns=[f"x{k}" for k in range(10)])
    model = quick(search_space="full", extra_parent=extra_parent, memory_limit=10_000)
    with pytest.raises(MemoryError, match=r"node 'x0': 9 permissible .*memory_limit"):
        model.fit(frame)


def test_data_errors(data):
    with pytest.raises(ValueError, match=r"sample_weight must have shape \(150,\)"):
        quick().fit(data, sample_weight=np.ones(3))
    with pytest.raises(ValueError, match="Reshape your data"):
        quick().fit(data[0])
    with pytest.raises(ValueError, match="0 sample"):
        quick().fit(data[:0])
    mixed = pd.DataFrame({"a": [0.5, 1.5, 2.5], "b": ["x", "y", "x"]})
    with pytest.raises(ValueError, match=r"mixed kinds.* column 'a' .* column 'b'"):
        quick(score="bic").fit(mixed)
    model = quick().fit(data)
    with pytest.raises(ValueError, match="9 features"):
        model.score_samples(data[:, :9])
    with pytest.raises(ValueError, match="Reshape your data"):
        model.predict(data[0])


# ------------------------------------------------------------------- warm start


@pytest.mark.parametrize("estimator", [OrderMCMCStructure, PartitionMCMCStructure])
@pytest.mark.parametrize("search_space", ["pc", "iterative"])
def test_warm_start_goes_on_bit_for_bit(data, estimator, search_space, tmp_path):
    settings = {"search_space": search_space, "n_chains": 2, "random_state": 3}
    whole = estimator(n_iter=2500, burn_in=0.2, n_draws=40, **settings).fit(data)
    # 500 steps of burn-in, and a draw every 50: half of the draws, then the rest
    part = estimator(
        n_iter=1500, burn_in=1 / 3, n_draws=20, warm_start=True, **settings
    )
    part.fit(data)
    joblib.dump(part, tmp_path / "part.joblib")
    for model in (part, joblib.load(tmp_path / "part.joblib")):
        assert model.n_iter_ == 1500
        model.set_params(n_draws=40).fit(data)
        assert model.n_iter_ == whole.n_iter_ == 2500
        assert_array_equal(model.dag_samples_.packed, whole.dag_samples_.packed)
        assert_array_equal(model.log_score_trace_, whole.log_score_trace_)
        assert_array_equal(model.rhat_, whole.rhat_)
        assert_array_equal(model.acceptance_rate_, whole.acceptance_rate_)
        # nothing is missing: nothing changes
        model.fit(data)
        assert_array_equal(model.log_score_trace_, whole.log_score_trace_)


def test_warm_start_refuses_what_does_not_go_on(data):
    model = quick(warm_start=True).fit(data)
    with pytest.raises(ValueError, match="n_draws=3 must be at least"):
        model.set_params(n_draws=3).fit(data)
    with pytest.raises(ValueError, match="n_chains=5 must stay"):
        model.set_params(n_draws=80, n_chains=5).fit(data)


@pytest.mark.parametrize("Sampler", [OrderMCMCStructure, PartitionMCMCStructure])
def test_of_equally_good_dags_the_sparsest_is_best(Sampler):
    # Where no edge changes the score, half of the draws have it.
    X = np.random.default_rng(0).normal(size=(20, 4))
    model = quick(Sampler, score=helpers.MadeUpScore(spread=0.0)).fit(X)
    assert (model.adjacency_probabilities_ > 0).sum() == 12
    assert not model.adjacency_.any()
    assert_allclose(model.log_score_, model.log_score_trace_.max(), rtol=1e-10)
