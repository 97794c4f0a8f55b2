"""The walk over DAGs with an order beside them, against enumeration of the pairs."""

import itertools
import math
import pickle
from collections import Counter, defaultdict
from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp

from enumeration import (
    SETTINGS,
    assert_same_posterior,
    dag_posterior,
    draw,
    gaussian_data,
    local_scores,
    make_space,
    reversal_matrix,
    standard_errors,
    tables_of,
)
from helpers import all_dags, graph
from skbidag import PartitionMCMCStructure
from skbidag._chains import bit_generator
from skbidag._core._dag import DAGChain
from skbidag._core._partition import PartitionChain
from skbidag._core._tables import TableViews
from skbidag._dag_walk import dag_moves
from skbidag._partition import partition_moves, partition_of_dag
from skbidag._tables import build_tables
from skbidag.datasets import make_gaussian_network
from skbidag.scores import BGe

MOVES = ["redraw", "transposition", "swap", "relocation", "reversal", "reordering"]
OVER_ORDERS = MOVES[:4]


def required_dag(tables):
    """The DAG that has required edges alone."""
    dag = np.zeros((len(tables),) * 2, dtype=bool)
    for table in tables:
        bits = table.required >> np.arange(table.n_candidates) & 1
        dag[table.candidates[bits == 1], table.node] = True
    return dag


def chain_on(tables, dag=None, moves=(1, 1, 1, 1, 1, 1), seed=0):
    return DAGChain(
        TableViews(tables),
        bit_generator((seed,), 0),
        required_dag(tables) if dag is None else dag,
        np.asarray(moves, dtype=float) / np.sum(moves),
    )


# ---------------------------------------------------------------- the naive twin


class Twin:
    """Pairs of a DAG and an order, and where moves lead from them, by enumeration.

    A DAG is a tuple of parent sets, an order a tuple with parents to the right.
    """

    def __init__(self, tables):
        self.n = len(tables)
        self.scores = [
            {parents: score for parents, score in scores.items() if score > -np.inf}
            for scores in local_scores(tables)
        ]

    def log_score(self, dag):
        return math.fsum(self.scores[i][dag[i]] for i in range(self.n))

    def log_q(self, dag, order):
        """Log probability of an order: from the right, each available one alike."""
        standing, total = set(), 0.0
        for node in reversed(order):
            left = set(range(self.n)) - standing
            total -= math.log(sum(dag[i] <= standing for i in left))
            assert dag[node] <= standing
            standing.add(node)
        return total

    def pairs(self):
        """All pairs, and their log weights."""
        states, weights = [], []
        for order in itertools.permutations(range(self.n)):
            right = {v: set(order[p + 1 :]) for p, v in enumerate(order)}
            choices = [self.sets(i, right[i]) for i in range(self.n)]
            for dag in itertools.product(*choices):
                states.append((dag, order))
                weights.append(self.log_score(dag) + self.log_q(dag, order))
        return states, np.array(weights)

    def sets(self, node, right):
        return [parents for parents in self.scores[node] if parents <= right]

    def log_sum(self, node, right):
        return logsumexp([self.scores[node][s] for s in self.sets(node, right)])

    def outcomes(self, node, now, before, after):
        """New parents of a node whose permitted ones change, with probabilities.

        It loses some: if it has none of them, its set stays. Then it gains some: a
        draw with one of them counts, any other is no change.
        """
        common = before & after
        left = {now: 1.0} if now <= common else self.shares(node, common)
        gained = {
            s: share for s, share in self.shares(node, after).items() if not s <= common
        }
        kept = math.exp(self.log_sum(node, common) - self.log_sum(node, after))
        assert_allclose(kept + sum(gained.values()), 1.0)
        return {**{s: share * kept for s, share in left.items()}, **gained}

    def shares(self, node, right):
        """Probabilities of the sets within some permitted parents."""
        log_z = self.log_sum(node, right)
        sets = self.sets(node, right)
        return {s: math.exp(self.scores[node][s] - log_z) for s in sets}

    def moved(self, dag, order, new_order, log_ratio, probability, leads_to):
        """Add where a change of the order leads: all sets that have to change do."""
        before = {v: set(order[p + 1 :]) for p, v in enumerate(order)}
        after = {v: set(new_order[p + 1 :]) for p, v in enumerate(new_order)}
        choices = [
            self.outcomes(i, dag[i], before[i], after[i]).items() for i in range(self.n)
        ]
        log_q = self.log_q(dag, order)
        for outcome in itertools.product(*choices):
            new = tuple(parents for parents, _ in outcome)
            share = probability * math.prod(share for _, share in outcome)
            ratio = log_ratio + self.log_q(new, new_order) - log_q
            accept = math.exp(min(0.0, ratio))
            leads_to[new, new_order] += share * accept
            leads_to[dag, order] += share * (1.0 - accept)

    def order_score(self, order):
        try:
            return math.fsum(
                self.log_sum(v, set(order[p + 1 :])) for p, v in enumerate(order)
            )
        except ValueError:  # no set is permitted
            return -math.inf

    def steps(self, dag, order, move):
        """Where a step of one kind leads, with probabilities."""
        leads_to = defaultdict(float)
        getattr(self, move)(dag, order, leads_to)
        return leads_to

    def redraw(self, dag, order, leads_to):
        log_q = self.log_q(dag, order)
        for p, node in enumerate(order):
            for parents, share in self.shares(node, set(order[p + 1 :])).items():
                new = (*dag[:node], parents, *dag[node + 1 :])
                accept = math.exp(min(0.0, self.log_q(new, order) - log_q))
                leads_to[new, order] += share / self.n * accept
                leads_to[dag, order] += share / self.n * (1.0 - accept)

    def transposition(self, dag, order, leads_to):
        for p in range(self.n - 1):
            new = (*order[:p], order[p + 1], order[p], *order[p + 2 :])
            log_ratio = self.order_score(new) - self.order_score(order)
            if log_ratio == -math.inf:
                leads_to[dag, order] += 1 / (self.n - 1)
                continue
            self.moved(dag, order, new, log_ratio, 1 / (self.n - 1), leads_to)

    def swap(self, dag, order, leads_to):
        pairs = list(itertools.combinations(range(self.n), 2))
        for p, q in pairs:
            new = list(order)
            new[p], new[q] = new[q], new[p]
            new = tuple(new)
            # accepted among orders, then with the ratio of the orders' probabilities
            ratio = self.order_score(new) - self.order_score(order)
            accept = math.exp(min(0.0, ratio))
            leads_to[dag, order] += (1.0 - accept) / len(pairs)
            if accept > 0:
                self.moved(dag, order, new, 0.0, accept / len(pairs), leads_to)

    def relocation(self, dag, order, leads_to):
        for node in order:
            others = [v for v in order if v != node]
            places = [(*others[:s], node, *others[s:]) for s in range(self.n)]
            scores = np.array([self.order_score(place) for place in places])
            for place, share in zip(
                places, np.exp(scores - logsumexp(scores)), strict=True
            ):
                if share > 0:
                    self.moved(dag, order, place, 0.0, share / self.n, leads_to)

    def orders_of(self, dag):
        return [
            order
            for order in itertools.permutations(range(self.n))
            if all(dag[v] <= set(order[p + 1 :]) for p, v in enumerate(order))
        ]

    def reordering(self, dag, order, leads_to):
        for new in self.orders_of(dag):
            leads_to[dag, new] += math.exp(self.log_q(dag, new))


def as_matrix(dag):
    return graph(len(dag), *((p, i) for i, parents in enumerate(dag) for p in parents))


def as_sets(adjacency):
    return tuple(frozenset(np.flatnonzero(column).tolist()) for column in adjacency.T)


@cache
def twin_of(setting, n):
    twin = Twin(tables_of(setting, n))
    states, weights = twin.pairs()
    return twin, states, np.exp(weights - logsumexp(weights))


def transition_matrix(twin, states, move):
    number = {state: k for k, state in enumerate(states)}
    matrix = np.zeros((len(states),) * 2)
    for row, (dag, order) in enumerate(states):
        for state, probability in twin.steps(dag, order, move).items():
            matrix[row, number[state]] += probability
    return matrix


# -------------------------------------------------------------------------- the walk


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("n", [3, 4])
def test_pairs_have_the_posterior_over_dags(setting, n):
    _, states, target = twin_of(setting, n)
    dags = all_dags(n)
    posterior, _ = dag_posterior(tables_of(setting, n), dags)
    of_dag = Counter()
    for (dag, _), weight in zip(states, target, strict=True):
        of_dag[dag] += weight
    assert_allclose([of_dag[as_sets(dag)] for dag in dags], posterior, atol=1e-12)


@pytest.mark.parametrize("move", OVER_ORDERS)
@pytest.mark.parametrize("setting", SETTINGS)
def test_transition_matrix(setting, move):
    twin, states, target = twin_of(setting, 3)
    matrix = transition_matrix(twin, states, move)
    assert_allclose(matrix.sum(axis=1), 1.0, atol=1e-12)
    flow = target[:, None] * matrix
    assert_allclose(flow, flow.T, rtol=0, atol=1e-12)
    assert_allclose(target @ matrix, target, rtol=0, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("setting", "move"),
    [
        ("bge extended", "redraw"),
        ("bge extended", "transposition"),
        ("bde levels", "redraw"),
        ("bde levels", "transposition"),
        ("bge restricted", "swap"),
        ("bge constraints", "swap"),
        ("bge restricted", "relocation"),
        ("bge constraints", "relocation"),
    ],
)
def test_transition_matrix_of_four(setting, move):
    twin, states, target = twin_of(setting, 4)
    matrix = transition_matrix(twin, states, move)
    assert_allclose(target @ matrix, target, rtol=0, atol=1e-12)


def assert_steps(chain, dag, expected, n_steps):
    """Single steps from a DAG, in any of its orders, against what is expected.

    `expected` gives, for an order, where a step leads. Each frequency is within 4.5
    standard errors, or one step.
    """
    seen = defaultdict(Counter)
    adjacency = as_matrix(dag)
    for _ in range(n_steps):
        chain.set_dag(adjacency)
        order = tuple(chain.order.tolist())
        chain.run(1)
        seen[order][as_sets(chain.adjacency), tuple(chain.order.tolist())] += 1
    for order, counts in seen.items():
        total = counts.total()
        leads_to = expected(order)
        assert set(counts) <= {state for state, p in leads_to.items() if p > 0}
        for state, probability in leads_to.items():
            error = 4.5 * math.sqrt(max(0.0, probability * (1 - probability)) / total)
            assert abs(counts[state] / total - probability) <= error + 1 / total
    return seen


@pytest.mark.slow
@pytest.mark.parametrize("move", OVER_ORDERS)
@pytest.mark.parametrize("setting", ["bge", "bge extended", "bge constraints", "bde"])
def test_single_steps(setting, move):
    tables = tables_of(setting, 4)
    twin, states, _ = twin_of(setting, 4)
    dags = sorted({dag for dag, _ in states}, key=str)
    chain = chain_on(tables, moves=np.eye(6)[MOVES.index(move)])
    rng = np.random.default_rng(0)
    for k in rng.choice(len(dags), 4, replace=False):
        dag = dags[k]
        seen = assert_steps(
            chain, dag, lambda order, dag=dag: twin.steps(dag, order, move), 3000
        )
        # orders come by their probability
        shares = {order: math.exp(twin.log_q(dag, order)) for order in seen}
        for order, share in shares.items():
            error = 4.5 * math.sqrt(share * (1 - share) / 3000) + 1 / 3000
            assert abs(seen[order].total() / 3000 - share) <= error


@pytest.mark.slow
@pytest.mark.parametrize("setting", ["bge", "bge extended", "bge constraints"])
def test_reversals(setting):
    # the twin, over DAGs, leaves the posterior alone (test_partition.py); what an
    # accepted one leads to gets an order by its probability
    tables = tables_of(setting, 4)
    dags = all_dags(4)
    posterior, _ = dag_posterior(tables, dags)
    dags = dags[posterior > 0]
    matrix = reversal_matrix(tables, dags)
    chain = chain_on(tables, moves=np.eye(6)[MOVES.index("reversal")])
    n_steps = 20_000
    for row in range(7, len(dags), len(dags) // 4):
        counts = Counter()
        for _ in range(n_steps):
            chain.set_dag(dags[row])
            chain.run(1)
            counts[as_sets(chain.adjacency)] += 1
        for dag, probability in zip(dags, matrix[row], strict=True):
            variance = max(probability * (1 - probability), 0.0)
            error = 4.5 * math.sqrt(variance / n_steps) + 1.0 / n_steps
            assert abs(counts[as_sets(dag)] / n_steps - probability) <= error


@pytest.mark.parametrize("setting", ["bge extended", "bge constraints", "bde levels"])
def test_what_is_known_of_the_order(setting):
    tables = tables_of(setting, 6)
    twin = Twin(tables)
    chain = chain_on(tables)
    for _ in range(200):
        chain.run(37)
        dag, order = as_sets(chain.adjacency), chain.order.tolist()
        place = {node: p for p, node in enumerate(order)}
        nearest, available = chain.waits
        for node, parents in enumerate(dag):
            assert all(place[parent] > place[node] for parent in parents)
            assert nearest[node] == min((place[p] for p in parents), default=6)
        for p in range(6):
            standing = set(order[p + 1 :])
            left = set(order[: p + 1])
            assert available[p] == sum(dag[i] <= standing for i in left)
        assert_allclose(chain.log_order_probability, twin.log_q(dag, order))
        sums = [twin.log_sum(i, set(order[place[i] + 1 :])) for i in range(6)]
        assert_allclose(chain.node_scores, sums, rtol=0, atol=1e-9)
    assert (chain.accepted_moves > 0).all()
    assert (chain.accepted_moves <= chain.proposed_moves).all()
    assert chain.proposed_moves.sum() == 200 * 37
    # the best order's score: no order has a larger one
    assert chain.best_log_score >= chain.log_score
    best = twin.order_score(tuple(chain.best_order.tolist()))
    assert_allclose(chain.best_log_score, best)


@pytest.mark.parametrize("n", [70, 130])
def test_more_than_a_word_of_children(n):
    # a hub of which all others are children, in words of 64 bits
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, n))
    X[:, 1:] += X[:, :1]
    permitted = np.zeros((n, n), dtype=bool)
    permitted[0] = permitted[:, 0] = True
    permitted[5:, 0] = False
    space = make_space(n, permitted=permitted & ~np.eye(n, dtype=bool))
    tables = build_tables(BGe().fit(X), space, sums=True)
    chain = chain_on(tables, moves=dag_moves(n))
    for _ in range(20):
        chain.run(500)
        dag = chain.adjacency
        place = np.argsort(chain.order)
        nearest, available = chain.waits
        for node in range(n):
            assert nearest[node] == min(place[dag[:, node]], default=n)
        covered = [np.sum((place <= p) & (nearest > p)) for p in range(n)]
        assert_array_equal(available, covered)
    assert dag[0].sum() > 64


def test_chain_goes_on_from_its_state():
    tables = tables_of("bge extended", 6)
    whole, first, second = (chain_on(tables) for _ in range(3))
    whole.run(20_000)
    first.run(9000)
    second.restore(pickle.loads(pickle.dumps(first.__getstate__())))
    second.run(11_000)
    for name in ("adjacency", "order", "best_order", "proposed_moves", "node_scores"):
        assert_array_equal(getattr(second, name), getattr(whole, name))
    packed = np.zeros((2, 6, 1), dtype=np.uint8)
    assert second.draw_dag(packed[0]) == whole.draw_dag(packed[1])
    assert_array_equal(*packed)


def test_a_dag_that_is_not_in_the_tables():
    tables = tables_of("bge restricted", 4)
    outside = ~np.eye(4, dtype=bool)
    for table in tables:
        outside[table.candidates, table.node] = False
    i, j = np.argwhere(outside)[0]
    with pytest.raises(ValueError, match=f"do not have the parents of {j}"):
        chain_on(tables, graph(4, (i, j)))


# ---------------------------------------------------------------------- posterior


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("n", [4, 5])
def test_posterior(setting, n):
    tables = tables_of(setting, n)
    dags = all_dags(n)
    posterior, scores = dag_posterior(tables, dags)
    exact = np.tensordot(posterior, dags, axes=1)
    samples, log_scores = draw(chain_on(tables, moves=dag_moves(n)), n, 15_000, 10)
    assert_same_posterior(samples, exact)
    possible = posterior > 0
    mean = posterior[possible] @ scores[possible]
    assert abs(log_scores.mean() - mean) < 4 * standard_errors(log_scores)


@pytest.mark.parametrize(
    "moves",
    [(1, 1, 0, 0, 0, 0), (1, 0, 1, 0, 0, 0), (1, 0, 0, 1, 0, 0), (1, 0, 0, 0, 1, 1)],
)
def test_posterior_by_few_moves(moves):
    tables = tables_of("bge", 4)
    dags = all_dags(4)
    posterior, _ = dag_posterior(tables, dags)
    exact = np.tensordot(posterior, dags, axes=1)
    samples, _ = draw(chain_on(tables, moves=moves), 4, 20_000, 20)
    assert_same_posterior(samples, exact)


@pytest.mark.parametrize("penalty", [1.0, 50.0])
def test_posterior_of_one_node(penalty):
    # nine candidates, of which a draw decides some by sums without the present set,
    # and two outsiders; with the penalty one set is far above the others
    n = 12
    permitted = np.zeros((n, n), dtype=bool)
    permitted[1:10, 0] = True
    forbidden = [(i, j) for i in range(n) for j in range(1, n) if i != j]
    space = make_space(n, permitted=permitted, forbidden=forbidden)
    score = BGe(edge_penalty=penalty).fit(gaussian_data(0, 40, n))
    tables = build_tables(score, space, sums=True)
    ((sets, scores),) = [
        zip(*scores.items(), strict=True) for scores in local_scores(tables)[:1]
    ]
    shares = np.exp(scores - logsumexp(scores))
    exact = [sum(shares[k] for k, s in enumerate(sets) if v in s) for v in range(n)]
    size = sum(share * len(s) for s, share in zip(sets, shares, strict=True))
    # no other node may have parents: the DAG is this one's set
    chain = chain_on(tables, moves=(1, 0, 0, 0, 0, 1))
    samples, _ = draw(chain, n, 20_000, 20 * n)
    into = samples[:, :, 0]
    assert_same_posterior(into, np.array(exact))
    assert abs(into.sum(axis=1).mean() - size) < 4 * standard_errors(into.sum(axis=1))


def edges_by_sinks(tables):
    """Exact edge probabilities: DAGs summed over their sinks, subset by subset.

    By inclusion and exclusion, in long doubles. What is left when sinks are taken off
    is summed from nothing to all nodes, then from all to nothing; both together tell
    how much DAGs weigh in which a node is a sink over a given rest.
    """
    n = len(tables)
    weights = np.full((n, 1 << n), -np.inf, dtype=np.longdouble)
    for node, scores in enumerate(local_scores(tables)):
        for parents, score in scores.items():
            weights[node, sum(1 << p for p in parents)] = score
    sums = np.exp(weights - weights.max(axis=1, keepdims=True))
    for bit in range(n):
        halves = sums.reshape(n, -1, 2, 1 << bit)
        halves[:, :, 1] += halves[:, :, 0]

    def layers(rest):
        """Sets of sinks over a rest, and the products of their sums, with signs."""
        sinks, products = np.zeros(1, dtype=int), -np.ones(1, dtype=np.longdouble)
        for i in range(n):
            if not rest >> i & 1:
                sinks = np.concatenate([sinks, sinks | 1 << i])
                products = np.concatenate([products, -products * sums[i, rest]])
        return sinks[1:], products[1:]

    below, above = np.zeros((2, 1 << n), dtype=np.longdouble)
    below[0] = above[-1] = 1.0
    for rest in range((1 << n) - 1):
        sinks, products = layers(rest)
        below[rest | sinks] += below[rest] * products
    probabilities = np.zeros((n, n))
    for rest in range((1 << n) - 2, -1, -1):
        sinks, products = layers(rest)
        flow = products * above[rest | sinks]
        above[rest] = flow.sum()
        parents = [p for p in range(n) if rest >> p & 1]
        for child in range(n):
            if not rest >> child & 1 and sums[child, rest] > 0:
                share = below[rest] * flow[sinks >> child & 1 == 1].sum() / below[-1]
                for p in parents:
                    without = sums[child, rest ^ 1 << p] / sums[child, rest]
                    probabilities[p, child] += share * (1 - without)
    return probabilities


def test_sums_by_sinks():
    tables = tables_of("bge extended", 4)
    dags = all_dags(4)
    posterior, _ = dag_posterior(tables, dags)
    exact = np.tensordot(posterior, dags, axes=1)
    assert_allclose(edges_by_sinks(tables), exact, atol=1e-10)


@cache
def exact_edges(setting, n):
    return edges_by_sinks(tables_of(setting, n))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("setting", "n", "walk"),
    [
        (*problem, walk)
        for problem in [
            *((setting, 8) for setting in list(SETTINGS)[:5]),
            ("bde", 9),
            ("bge", 10),
            ("bde", 10),
            ("bge constraints", 11),
            ("bge restricted", 12),
            ("bge extended", 12),
        ]
        for walk in ("dags", "partitions")
    ],
)
def test_posterior_of_more(setting, n, walk):
    tables = tables_of(setting, n)
    if walk == "dags":
        chain = chain_on(tables, moves=dag_moves(n))
    else:
        moves = np.array(partition_moves(n))
        chain = PartitionChain(
            TableViews(tables),
            bit_generator((0,), 0),
            partition_of_dag(required_dag(tables)),
            moves / moves.sum(),
        )
    # errors by batches are too small where batches depend on each other: with more
    # nodes, and over partitions, which mix slowly, more steps between draws
    thin = 20 if n == 8 else 10 * n if walk == "dags" else 30 * n
    samples, _ = draw(chain, n, 20_000, thin)
    assert_same_posterior(samples, exact_edges(setting, n))


# ---------------------------------------------------------------------- estimator


@pytest.fixture(scope="module")
def network():
    return make_gaussian_network(100, 10, random_state=0)


def test_walks_agree():
    # both of the posterior over DAGs; within 4.5 standard errors of the difference
    data = gaussian_data(0, 60, 6)
    means, errors = [], []
    for walk in ("dags", "partitions"):
        model = PartitionMCMCStructure(
            walk=walk, n_iter=100_000, n_draws=2000, random_state=0
        ).fit(data)
        chains = [np.array(list(model.dag_samples_.chain(k))) for k in range(4)]
        means.append(model.adjacency_probabilities_)
        errors.append(sum(standard_errors(chain) ** 2 for chain in chains) / 16)
        assert model.posterior_ == "over DAGs"
    difference = np.abs(means[0] - means[1])
    assert (difference <= 4.5 * np.sqrt(errors[0] + errors[1])).all()


def test_walk_must_be_known(network):
    with pytest.raises(ValueError, match="'walk' parameter"):
        PartitionMCMCStructure(walk="orders").fit(network.data)


def test_another_walk_does_not_go_on(network):
    model = PartitionMCMCStructure(
        search_space="full", n_iter=2000, n_draws=20, warm_start=True, random_state=0
    ).fit(network.data)
    model.set_params(walk="partitions", n_draws=40)
    with pytest.raises(ValueError, match="walk changed"):
        model.fit(network.data)
