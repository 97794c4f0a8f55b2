"""Partition MCMC against enumeration of partitions and of DAGs."""

import itertools
import math
import pickle
from dataclasses import replace

import joblib
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from scipy.special import logsumexp

from enumeration import (
    SETTINGS,
    assert_same_posterior,
    dag_posterior,
    draw,
    gaussian_data,
    make_space,
    reversal_matrix,
    standard_errors,
    tables_of,
)
from helpers import all_dags, read_data, read_exact_posterior
from skbidag import OrderMCMCStructure, PartitionMCMCStructure
from skbidag._chains import bit_generator
from skbidag._core._partition import PartitionChain
from skbidag._core._tables import TableViews
from skbidag._partition import partition_of_dag
from skbidag._search import LEAST_GAIN
from skbidag._tables import NodeTable, build_tables
from skbidag._workspace import Workspace
from skbidag.datasets import make_gaussian_network
from skbidag.scores import BDe, BGe

MOVES = ["swap", "adjacent", "split_join", "relocation"]
WALKS = ["dags", "partitions"]


# ------------------------------------------------------------------ naive twins


def all_partitions(n):
    """Every ordered partition, as the number of each node's block."""
    numbers = itertools.product(range(n), repeat=n)
    return [p for p in numbers if len(set(p)) == max(p) + 1]


def permitted_entries(table, partition):
    """Which entries of a node's table its block permits."""
    partition = np.asarray(partition)
    own = partition[table.node]
    masks = np.arange(len(table.scores))
    weights = 1 << np.arange(table.n_candidates)
    blocks = partition[table.candidates]
    allowed = weights[blocks > own].sum()
    needed = weights[blocks == own + 1].sum()
    fits = masks & ~allowed == 0
    meets = masks & needed != 0
    permitted = np.zeros(table.scores.shape, dtype=bool)
    if own == partition.max():
        permitted[0, table.base_column] = True
        return permitted
    permitted[:, table.base_column] = fits & meets
    for outsider in table.outsiders:
        if partition[outsider] == own + 1:
            permitted[:, outsider] = fits
        elif partition[outsider] > own + 1:
            permitted[:, outsider] = fits & meets
    return permitted


def naive_node_score(table, partition):
    entries = table.scores[permitted_entries(table, partition)]
    top = entries.max(initial=-np.inf)
    if top == -np.inf:
        return top
    # fsum: the twin's own rounding must not count against the kernel
    return top + math.log(math.fsum(np.exp(entries - top)))


def naive_score(tables, partition):
    return math.fsum(naive_node_score(table, partition) for table in tables)


# ------------------------------------------------------------------------- data


def chain_on(tables, partition=None, moves=(1, 1, 1, 1, 1), seed=0):
    if partition is None:
        required = np.zeros((len(tables),) * 2, dtype=bool)
        for table in tables:
            bits = table.required >> np.arange(table.n_candidates) & 1
            required[table.candidates[bits == 1], table.node] = True
        partition = partition_of_dag(required)
    return PartitionChain(
        TableViews(tables),
        bit_generator((seed,), 0),
        partition,
        np.asarray(moves, dtype=float) / np.sum(moves),
    )


# ---------------------------------------------------------------- restricted sums


def fake_tables(kind, n_candidates, n_outsiders, seed):
    """Tables of a child 0 with made-up scores, and of nodes without parents."""
    rng = np.random.default_rng(seed)
    n = n_candidates + n_outsiders + 2
    width = -(-n // 4) * 4 if n_outsiders else 1
    masks = np.arange(1 << n_candidates)
    bits = masks[:, None] >> np.arange(n_candidates) & 1
    candidates = np.arange(1, 1 + n_candidates)
    outsiders = np.arange(1 + n_candidates, n - 1)
    scores = np.full((len(masks), width), -np.inf)
    columns = np.append(0, outsiders)
    shape = (len(masks), len(columns))
    scores[:, columns] = rng.normal(scale=2.0, size=shape)
    if kind == "wide":
        scores[:, columns] = rng.uniform(-1e4, 0.0, size=shape)
    elif kind == "weak parents":
        # some parents worth hundreds of nats, others a loss
        gains = np.where(np.arange(n_candidates) % 2, 300.0, -25.0)
        scores[:, columns] += (bits @ gains)[:, None] - 1e4
        scores[:, outsiders] -= 30.0
    elif kind == "weak outsiders":
        gains = np.where(np.arange(n_candidates) % 2, 900.0, -400.0)
        scores[:, columns] += (bits @ gains)[:, None]
        scores[:, outsiders] -= rng.uniform(50.0, 2000.0, size=n_outsiders)
    elif kind == "faint outsiders":
        # lost in the tables beside the sets without them
        scores[:, outsiders] -= rng.uniform(720.0, 730.0, size=n_outsiders)
    elif kind == "strong outsiders":
        scores[:, outsiders] += rng.uniform(-900.0, 2500.0, size=n_outsiders)
        scores[:, outsiders] -= 700.0 * bits[:, :1]
    elif kind == "required":
        scores[masks & 5 != 5] = -np.inf
    tables = [NodeTable(0, candidates, outsiders, 0, np.arange(width), scores)]
    none = np.array([], dtype=np.intp)
    for node in range(1, n):
        scores = np.full((1, width), -np.inf)
        variables = np.arange(width) if width > 1 else np.array([node])
        scores[0, variables == node] = 0.0
        tables.append(NodeTable(node, none, none, 0, variables, scores))
    for table in tables:
        table.add_sums(Workspace())
    return tables


@pytest.mark.parametrize(
    ("kind", "n_outsiders"),
    [
        ("plain", 0),
        ("wide", 0),
        ("weak parents", 0),
        ("required", 0),
        ("plain", 3),
        ("wide", 3),
        ("weak parents", 3),
        ("weak outsiders", 3),
        ("faint outsiders", 3),
        ("strong outsiders", 3),
        ("required", 3),
    ],
)
@pytest.mark.parametrize("n_candidates", [1, 3, 7])
def test_restricted_sums(kind, n_outsiders, n_candidates):
    # all pairs of permitted and needed candidates, the outsiders at random
    if kind == "required" and n_candidates < 3:
        pytest.skip("needs three candidates")
    if n_candidates == 7 and kind in ("weak outsiders", "wide"):
        n_candidates = 8
    tables = fake_tables(kind, n_candidates, n_outsiders, seed=n_candidates)
    rng = np.random.default_rng(0)
    n = len(tables)
    chain = chain_on(tables, np.zeros(n, dtype=int))
    ours, naive = [], []
    for candidates in itertools.product(range(3), repeat=n_candidates):
        # the child and a last node, which is no parent, hold the first two blocks
        partition = np.array([0, *candidates, *rng.integers(3, size=n_outsiders), 1])
        chain.set_partition(partition)
        ours.append(chain.node_scores[0])
        naive.append(naive_node_score(tables[0], partition))
    assert_allclose(ours, naive, rtol=0, atol=1e-10)
    assert np.isfinite(naive).sum() > 0.1 * len(naive)
    if kind == "weak outsiders":
        assert chain.lookup_counts[3] > 0


@pytest.mark.parametrize("setting", SETTINGS)
def test_node_scores(setting):
    tables = tables_of(setting, 5)
    chain = chain_on(tables)
    for partition in all_partitions(5):
        chain.set_partition(partition)
        naive = [naive_node_score(table, partition) for table in tables]
        assert_allclose(chain.node_scores, naive, rtol=0, atol=1e-10)
        assert_array_equal(chain.partition, partition)


def test_no_parents_permitted():
    tables = build_tables(
        BGe().fit(gaussian_data(0, 20, 3)),
        make_space(3, permitted=np.zeros((3, 3), bool), extended=False),
        sums=True,
    )
    chain = chain_on(tables)
    chain.run(1000)
    assert_array_equal(chain.partition, [0, 0, 0])


# -------------------------------------------------------------------------- moves


def renumbered(partition):
    return tuple(np.unique(partition, return_inverse=True)[1].tolist())


def swapped(partition, i, j):
    new = list(partition)
    new[i], new[j] = new[j], new[i]
    return tuple(new)


def swaps(partition, adjacent):
    for i, j in itertools.combinations(range(len(partition)), 2):
        distance = abs(partition[i] - partition[j])
        if distance == 1 or (distance > 1 and not adjacent):
            yield i, j


def splits(partition):
    for b in range(max(partition) + 1):
        members = [i for i, block in enumerate(partition) if block == b]
        for size in range(1, len(members)):
            yield from itertools.combinations(members, size)


def split(partition, left):
    new = np.array(partition) + 0.5
    new[list(left)] -= 0.25
    return renumbered(new)


def join(partition, b):
    return tuple(block - (block > b) for block in partition)


def placed(partition, node, slot):
    """The partition with one node moved to a slot; see `relocation_scores`."""
    others = np.delete(np.asarray(partition), node)
    new = np.insert(np.array(renumbered(others), dtype=float), node, (slot - 1) / 2)
    return renumbered(new)


def move_probabilities(chain, partition, move):
    """Where a step leads, as a dict, from the kernel's own changes and counts."""
    chain.set_partition(partition)
    n = len(partition)
    leads_to = dict.fromkeys([partition], 0.0)

    def propose(new, probability, log_ratio):
        accept = min(1.0, math.exp(min(log_ratio, 0.0)))
        leads_to[new] = leads_to.get(new, 0.0) + probability * accept
        leads_to[partition] += probability * (1.0 - accept)

    if move in ("swap", "adjacent"):
        pairs = list(swaps(partition, move == "adjacent"))
        for i, j in pairs:
            propose(swapped(partition, i, j), 1 / len(pairs), chain.swap_change(i, j))
        if not pairs:
            leads_to[partition] = 1.0
    elif move == "split_join":
        probability = math.exp(-chain.log_n_neighbors)
        for left in splits(partition):
            change, neighbors = chain.split_change(left)
            propose(split(partition, left), probability, change - neighbors)
        for b in range(max(partition)):
            change, neighbors = chain.join_change(b)
            propose(join(partition, b), probability, change - neighbors)
    else:
        for node in range(n):
            totals = chain.relocation_scores(node)
            weights = np.exp(totals - logsumexp(totals))
            for slot, weight in enumerate(weights):
                new = placed(partition, node, slot)
                leads_to[new] = leads_to.get(new, 0.0) + weight / n
    assert_array_equal(chain.partition, partition)
    return leads_to


@pytest.mark.parametrize("move", MOVES)
@pytest.mark.parametrize("n", [3, 4])
@pytest.mark.parametrize("setting", SETTINGS)
def test_transition_matrix(setting, n, move):
    tables = tables_of(setting, n)
    partitions = all_partitions(n)
    assert len(partitions) == {3: 13, 4: 75}[n]
    number = {partition: k for k, partition in enumerate(partitions)}
    scores = np.array([naive_score(tables, partition) for partition in partitions])
    target = np.exp(scores - logsumexp(scores))
    matrix = np.zeros((len(partitions),) * 2)
    chain = chain_on(tables)
    for row, partition in enumerate(partitions):
        if scores[row] == -np.inf:
            continue  # no DAG: a chain is never there
        for new, probability in move_probabilities(chain, partition, move).items():
            matrix[row, number[new]] = probability
    possible = scores > -np.inf
    assert_allclose(matrix[possible].sum(axis=1), 1.0, atol=1e-12)
    assert_allclose(target @ matrix, target, rtol=0, atol=1e-12)
    flow = target[:, None] * matrix
    assert_allclose(flow, flow.T, rtol=0, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("setting", ["bge extended", "bde levels", "bge constraints"])
def test_changes_are_differences_of_scores(setting):
    tables = tables_of(setting, 6)
    rng = np.random.default_rng(0)
    chain = chain_on(tables)
    checked = 0
    for _ in range(60):
        partition = renumbered(rng.integers(rng.integers(1, 6), size=6))
        chain.set_partition(partition)
        now = naive_score(tables, partition)
        if now == -np.inf:
            continue
        checked += 1
        for i, j in swaps(partition, adjacent=False):
            new = naive_score(tables, swapped(partition, i, j))
            assert_allclose(chain.swap_change(i, j), new - now, rtol=0, atol=1e-9)
        for left in splits(partition):
            new = naive_score(tables, split(partition, left))
            change, _ = chain.split_change(left)
            assert_allclose(change, new - now, rtol=0, atol=1e-9)
        for b in range(max(partition)):
            new = naive_score(tables, join(partition, b))
            change, _ = chain.join_change(b)
            assert_allclose(change, new - now, rtol=0, atol=1e-9)
        for node in range(6):
            totals = chain.relocation_scores(node)
            new = [
                naive_score(tables, placed(partition, node, slot))
                for slot in range(len(totals))
            ]
            assert_allclose(totals, new, rtol=0, atol=1e-9)
        assert_array_equal(chain.partition, partition)
    assert checked > 5


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_neighbors(n):
    tables = build_tables(BGe().fit(gaussian_data(0, 20, n)), make_space(n), sums=True)
    partitions = all_partitions(n)
    assert len(partitions) == [1, 1, 3, 13, 75, 541][n]
    chain = chain_on(tables)
    placements = {}
    for partition, node in itertools.product(partitions, range(n)):
        others = renumbered(np.delete(partition, node))
        placements.setdefault((node, others), set()).add(partition)
    for partition in partitions:
        chain.set_partition(partition)
        neighbors = [split(partition, left) for left in splits(partition)]
        neighbors += [join(partition, b) for b in range(max(partition))]
        sizes = np.bincount(partition)
        assert len(neighbors) == len(sizes) - 1 + (2**sizes - 2).sum()
        assert len(set(neighbors)) == len(neighbors)
        assert set(neighbors) <= set(partitions) - {partition}
        if n == 1:
            continue
        assert_allclose(math.exp(chain.log_n_neighbors), len(neighbors), rtol=1e-12)
        for left in splits(partition):
            after = chain.log_n_neighbors + chain.split_change(left)[1]
            other = np.bincount(split(partition, left))
            count = len(other) - 1 + (2**other - 2).sum()
            assert_allclose(math.exp(after), count, rtol=1e-12)
        for b in range(max(partition)):
            after = chain.log_n_neighbors + chain.join_change(b)[1]
            other = np.bincount(join(partition, b))
            count = len(other) - 1 + (2**other - 2).sum()
            assert_allclose(math.exp(after), count, rtol=1e-12)
        for node in range(n):
            # every placement of a node, once, its own among them
            n_slots = len(chain.relocation_scores(node))
            places = [placed(partition, node, slot) for slot in range(n_slots)]
            assert len(set(places)) == n_slots
            others = renumbered(np.delete(partition, node))
            assert set(places) == placements[node, others]


def test_neighbors_of_large_blocks():
    # 2^1100 is too large for a double
    n = 1100
    table = fake_tables("plain", 0, 0, 0)[0]
    tables = [replace(table, node=i, columns=np.array([i])) for i in range(n)]
    chain = chain_on(tables, np.zeros(n, dtype=int))
    assert_allclose(chain.log_n_neighbors, n * math.log(2), rtol=1e-14)
    chain.run(100)  # splits and relocations of nodes that have no parents
    assert_array_equal(chain.partition, 0)


@pytest.mark.slow
@pytest.mark.parametrize("move", range(4))
def test_single_steps(move):
    # 20,000 steps from one partition: each frequency within 4.5 standard errors
    tables = tables_of("bge extended", 4)
    chain = chain_on(tables, moves=np.eye(5)[move], seed=move)
    for partition in [(0, 1, 1, 2), (0, 0, 0, 0), (1, 0, 1, 1)]:
        expected = move_probabilities(chain, partition, MOVES[move])
        counts = dict.fromkeys(expected, 0)
        n_steps = 20_000
        for _ in range(n_steps):
            chain.set_partition(partition)
            chain.run(1)
            counts[tuple(chain.partition)] += 1
        for new, probability in expected.items():
            error = 4.5 * math.sqrt(probability * (1 - probability) / n_steps)
            assert abs(counts[new] / n_steps - probability) <= error + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("setting", ["bge", "bge extended", "bge constraints"])
def test_reversal(setting):
    # The twin leaves the posterior alone; the kernel does what the twin does. Of
    # 20,000 steps, each frequency is within 4.5 standard errors.
    tables = tables_of(setting, 4)
    dags = all_dags(4)
    posterior, _ = dag_posterior(tables, dags)
    dags, posterior = dags[posterior > 0], posterior[posterior > 0]
    matrix = reversal_matrix(tables, dags)
    assert_allclose(posterior @ matrix, posterior, rtol=0, atol=1e-12)
    own = [tuple(partition_of_dag(dag).tolist()) for dag in dags]
    chain = chain_on(tables, moves=np.eye(5)[4])
    for partition in sorted(set(own))[::20]:
        mine = np.array([other == partition for other in own])
        after = np.where(mine, posterior, 0.0) / posterior[mine].sum() @ matrix
        expected = dict.fromkeys(own, 0.0)
        for other, probability in zip(own, after, strict=True):
            expected[other] += probability
        counts = dict.fromkeys(own, 0)
        n_steps = 20_000
        for _ in range(n_steps):
            chain.set_partition(partition)
            chain.run(1)
            counts[tuple(chain.partition.tolist())] += 1
        for other, probability in expected.items():
            variance = max(probability * (1 - probability), 0.0)
            error = 4.5 * math.sqrt(variance / n_steps) + 1.0 / n_steps
            assert abs(counts[other] / n_steps - probability) <= error


def test_scores_do_not_drift():
    tables = tables_of("bge extended", 6)
    chain = chain_on(tables)
    for _ in range(20):
        chain.run(997)
        naive = [naive_node_score(table, chain.partition) for table in tables]
        assert_allclose(chain.node_scores, naive, rtol=0, atol=1e-10)
    assert (chain.accepted_moves > 0).all()
    assert (chain.accepted_moves <= chain.proposed_moves).all()
    assert chain.proposed_moves.sum() == 20 * 997


def test_best_partition():
    tables = tables_of("bge", 4)
    chain = chain_on(tables)
    chain.run(20_000)
    scores = {p: naive_score(tables, p) for p in all_partitions(4)}
    best = max(scores, key=scores.get)
    assert_array_equal(chain.best_partition, best)
    assert_allclose(chain.best_log_score, scores[best])


def test_chain_goes_on_from_its_state():
    tables = tables_of("bge extended", 6)
    whole, first, second = (chain_on(tables) for _ in range(3))
    whole.run(5000)
    first.run(2000)
    state = pickle.loads(pickle.dumps(first.__getstate__()))
    second.restore(state)
    second.run(3000)
    assert_array_equal(second.partition, whole.partition)
    assert_array_equal(second.best_partition, whole.best_partition)
    assert_array_equal(second.proposed_moves, whole.proposed_moves)
    packed = np.zeros((2, 6, 1), dtype=np.uint8)
    assert second.draw_dag(packed[0]) == whole.draw_dag(packed[1])
    assert_array_equal(*packed)


@pytest.mark.parametrize("partition", [[0, 0], [0, 2, 2], [0, 0, 1, 1]])
def test_bad_partition(partition):
    tables = tables_of("bge", 3)
    with pytest.raises(ValueError, match="must number the blocks"):
        chain_on(tables, np.array(partition))


# ---------------------------------------------------------------------- posterior


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("n", [4, 5])
def test_posterior(setting, n):
    tables = tables_of(setting, n)
    dags = all_dags(n)
    assert len(dags) == {4: 543, 5: 29281}[n]
    posterior, scores = dag_posterior(tables, dags)
    exact = np.tensordot(posterior, dags, axes=1)
    samples, log_scores = draw(chain_on(tables), n, 15_000, 10)
    assert_same_posterior(samples, exact)
    # the score tells that each DAG was scored right
    possible = posterior > 0
    mean = posterior[possible] @ scores[possible]
    error = standard_errors(log_scores)
    assert abs(log_scores.mean() - mean) < 4 * error


@pytest.mark.parametrize("setting", ["bge", "bde levels"])
def test_draws_given_a_partition(setting):
    # every DAG of one partition, with its own probability
    tables = tables_of(setting, 4)
    dags = all_dags(4)
    posterior, _ = dag_posterior(tables, dags)
    partition = (0, 1, 1, 2)
    mine = np.array([tuple(partition_of_dag(dag)) == partition for dag in dags])
    expected = np.where(mine, posterior, 0.0) / posterior[mine].sum()
    chain = chain_on(tables, partition)
    number = {dag.tobytes(): d for d, dag in enumerate(dags)}
    counts = np.zeros(len(dags))
    packed = np.zeros((4, 1), dtype=np.uint8)
    n_draws = 20_000
    for _ in range(n_draws):
        chain.draw_dag(packed)
        counts[number[np.unpackbits(packed, axis=1, count=4).tobytes()]] += 1
    errors = np.sqrt(expected * (1 - expected) / n_draws)
    assert (np.abs(counts / n_draws - expected) <= 4.5 * errors + 1e-9).all()


def test_draws_with_weak_outsiders():
    # all that is permitted lies hundreds of nats below what is not
    tables = fake_tables("weak outsiders", 3, 3, seed=0)
    partition = np.array([0, 2, 2, 2, 1, 1, 2, 1])
    chain = chain_on(tables, partition)
    permitted = permitted_entries(tables[0], partition)
    weights = np.exp(tables[0].scores - chain.node_scores[0]) * permitted
    assert_allclose(weights.sum(), 1.0, rtol=1e-9)
    counts = np.zeros_like(weights)
    packed = np.zeros((8, 1), dtype=np.uint8)
    n_draws = 20_000
    for _ in range(n_draws):
        # the other nodes have no parents that their blocks would need
        chain.draw_dag(packed)
        parents = np.flatnonzero(packed[:, 0] & 128)
        mask = int((1 << (parents[parents <= 3] - 1)).sum())
        outside = parents[parents > 3]
        counts[mask, outside[0] if len(outside) else 0] += 1
    errors = np.sqrt(weights * (1 - weights) / n_draws)
    assert (np.abs(counts / n_draws - weights) <= 4.5 * errors + 1e-9).all()


def assert_frequencies(counts, expected, p_value=1e-4):
    """Chi-square test; what cannot happen did not."""
    expected = expected * counts.sum()
    assert not counts[expected == 0].any()
    rare = expected < 5
    # rare outcomes together, with a common one, to count as one cell
    rare[np.unravel_index(np.argmax(expected), expected.shape)] = True
    counts = np.append(counts[~rare], counts[rare].sum())
    expected = np.append(expected[~rare], expected[rare].sum())
    if len(counts) > 1:
        statistic = ((counts - expected) ** 2 / expected).sum()
        assert stats.chi2.sf(statistic, len(counts) - 1) > p_value


# Where the candidates and the outsiders of node 0 stand: in its own block (0), in the
# next (1), where one at least must be, or behind (2).
@pytest.mark.parametrize(
    ("candidates", "outsiders"),
    [
        ([2, 1, 1, 2, 1, 2, 1, 2, 2], [1, 2, 0]),  # most is permitted
        ([2, 2, 1, 2, 2, 2, 2, 2, 2], [2, 2, 0]),  # one is needed, without which none
        ([1, 2, 1, 2, 1, 2, 1, 2, 1], [2, 0, 2]),  # all that is needed may be weak
        ([1, 0, 1, 0, 0, 0, 2, 2, 2], [1, 1, 2]),  # few are permitted
        ([2, 0, 2, 2, 2, 2, 2, 2, 0], [1, 2, 1]),  # an outsider has to meet the need
        ([1, 1, 1, 1, 1, 1, 1, 1, 1], [1, 1, 1]),  # all meet it
    ],
)
@pytest.mark.parametrize(
    "kind",
    [
        "plain",
        "required",
        "wide",
        "weak parents",
        "weak outsiders",
        "faint outsiders",
        "strong outsiders",
    ],
)
@pytest.mark.parametrize("extended", [False, True])
def test_drawn_parents_given_a_partition(kind, extended, candidates, outsiders):
    """Every parent set of one node, with its own probability."""
    outsiders = outsiders if extended else []
    tables = fake_tables(kind, len(candidates), len(outsiders), seed=1)
    table = tables[0]
    # a last node, which is no parent, holds the next block if nobody else does
    partition = np.array([0, *candidates, *outsiders, 1])
    expected = np.where(permitted_entries(table, partition), table.scores, -np.inf)
    total = logsumexp(expected)
    chain = chain_on(tables, partition)
    assert_allclose(chain.node_scores[0], total, rtol=0, atol=1e-10)
    if total == -np.inf:
        return  # nothing is permitted, so there is nothing to draw
    expected = np.exp(expected - total)
    n = len(tables)
    packed = np.zeros((10_000, n, -(-n // 8)), dtype=np.uint8)
    for dag in packed:
        chain.draw_dag(dag)
    parents = np.unpackbits(packed, axis=-1, count=n)[:, :, 0]
    masks = parents[:, table.candidates] @ (1 << np.arange(table.n_candidates))
    outside = parents[:, table.outsiders]
    assert (outside.sum(axis=1) <= 1).all()
    columns = np.full(len(packed), table.base_column)
    draws, chosen = np.nonzero(outside)
    columns[draws] = table.outsiders[chosen]
    counts = np.zeros(table.scores.shape, dtype=int)
    np.add.at(counts, (masks, columns), 1)
    assert_frequencies(counts, expected)


def test_rows_of_the_drawn_parents():
    """The tables above have rows of logarithms, and needs that cancel."""
    table = fake_tables("strong outsiders", 9, 3, seed=1)[0]
    in_logs = table.ratios[:, table.base_column] == 0.0
    assert in_logs[-1]
    assert in_logs.any()
    tables = fake_tables("weak parents", 9, 3, seed=1)
    chain = chain_on(tables, [0, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 0, 2, 1])
    assert chain.lookup_counts[1] > 0
    tables = fake_tables("weak outsiders", 9, 3, seed=1)
    chain = chain_on(tables, [0, 2, 0, 2, 2, 2, 2, 2, 2, 0, 1, 2, 1, 1])
    assert chain.lookup_counts[3] > 0


def test_equivalent_dags():
    # strong dependence along 0 - 1 - 2 - 3: four DAGs share the posterior, and no
    # swap or relocation leads from one pair of them to the other
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 4))
    X = np.cumsum(X, axis=1) / np.sqrt(np.arange(1, 5))
    tables = build_tables(BGe().fit(X), make_space(4), sums=True)
    dags = all_dags(4)
    posterior, _ = dag_posterior(tables, dags)
    exact = np.tensordot(posterior, dags, axes=1)
    samples, _ = draw(chain_on(tables), 4, 20_000, 5)
    assert_same_posterior(samples, exact)


def test_empty_dag():
    # weak dependence: the one-block partition, from which no swap can be proposed
    X = np.random.default_rng(0).normal(size=(100, 4))
    tables = build_tables(BGe().fit(X), make_space(4), sums=True)
    dags = all_dags(4)
    posterior, _ = dag_posterior(tables, dags)
    empty = posterior[~dags.any(axis=(1, 2))].item()
    assert empty > 0.2
    samples, _ = draw(chain_on(tables), 4, 40_000, 5)
    indicator = ~samples.any(axis=(1, 2))
    assert abs(indicator.mean() - empty) < 4 * standard_errors(indicator)


@pytest.mark.parametrize(
    ("name", "score"),
    [
        ("gauss5", BGe(prior="paper", edge_penalty=1.0)),
        ("cancer300", BDe(edge_penalty=1.0)),
    ],
)
def test_reference_and_order_bias(name, score):
    # Both samplers on the same data: each gives its own exact posterior, and the
    # order's differs from the DAGs' by up to 0.1.
    X = read_data(name)
    X = X.astype(int) if name == "cancer300" else X
    settings = {
        "search_space": "full", "n_iter": 400_000, "n_draws": 20_000, "n_chains": 1,
        "random_state": 0,
    }  # fmt: skip
    dag_exact, order_exact = (
        read_exact_posterior(name, kind) for kind in ("dag", "order")
    )
    assert np.abs(dag_exact - order_exact).max() > 0.05
    partition = PartitionMCMCStructure(score, **settings).fit(X)
    order = OrderMCMCStructure(score, **settings).fit(X)
    for model, exact, other in [
        (partition, dag_exact, order_exact),
        (order, order_exact, dag_exact),
    ]:
        samples = np.array(list(model.dag_samples_))
        assert_same_posterior(samples, exact)
        worst = np.unravel_index(np.argmax(np.abs(exact - other)), exact.shape)
        gap = abs(model.adjacency_probabilities_[worst] - other[worst])
        assert gap > 10 * standard_errors(samples)[worst]


# ---------------------------------------------------------------------- estimator


@pytest.fixture(scope="module")
def network():
    return make_gaussian_network(100, 10, random_state=0)


def quick(**settings):
    settings = {"n_iter": 4000, "n_draws": 40, "random_state": 3, **settings}
    return PartitionMCMCStructure(**settings)


def same_fit(one, other):
    return (
        np.array_equal(one.dag_samples_.packed, other.dag_samples_.packed)
        and np.array_equal(one.log_score_trace_, other.log_score_trace_)
        and np.array_equal(one.adjacency_, other.adjacency_)
    )


@pytest.mark.slow
@pytest.mark.parametrize("walk", WALKS)
def test_seed_alone_decides(network, walk):
    settings = {"search_space": "pc", "walk": walk}
    model = quick(**settings).fit(network.data)
    assert same_fit(model, quick(**settings).fit(network.data))
    assert same_fit(model, quick(**settings, n_jobs=2).fit(network.data))
    with joblib.parallel_backend("loky", n_jobs=2):
        assert same_fit(model, quick(**settings).fit(network.data))
    other = quick(**settings, random_state=4).fit(network.data)
    assert not same_fit(model, other)


def test_pickle(network):
    model = quick(search_space="pc").fit(network.data)
    assert same_fit(model, pickle.loads(pickle.dumps(model)))


@pytest.mark.parametrize("walk", WALKS)
def test_learned_attributes(network, walk):
    model = quick(walk=walk).fit(network.data)
    n = model.n_features_in_
    assert model.dag_samples_.packed.shape[:2] == (4, 40)
    assert model.log_score_trace_.shape == (4, 40)
    assert model.acceptance_rate_.shape == (4,)
    assert ((model.acceptance_rate_ > 0) & (model.acceptance_rate_ < 1)).all()
    assert model.rhat_.shape == (n, n)
    # of DAGs that are equally good, but for rounding, the sparsest is the best
    assert model.log_score_ >= model.log_score_trace_.max() - LEAST_GAIN
    samples = np.array(list(model.dag_samples_))
    assert_allclose(model.adjacency_probabilities_, samples.mean(axis=0))
    for dag in samples[::37]:
        partition_of_dag(dag)  # would not end on a cycle
        assert_array_equal(dag & dag.T, False)
    score = model.score_
    trace = model.log_score_trace_.ravel()
    for dag, log_score in zip(samples[::37], trace[::37], strict=True):
        total = sum(score.local_score(j, np.flatnonzero(dag[:, j])) for j in range(n))
        assert_allclose(log_score, total)


@pytest.mark.parametrize("walk", WALKS)
def test_constraints_hold(network, walk):
    required, forbidden = [(0, 1), (1, 2)], [(3, 4), (5, 6)]
    model = quick(required_edges=required, forbidden_edges=forbidden, walk=walk).fit(
        network.data
    )
    for i, j in required:
        assert model.adjacency_probabilities_[i, j] == 1.0
        assert model.adjacency_[i, j]
    for i, j in forbidden:
        assert model.adjacency_probabilities_[i, j] == 0.0
        assert not model.adjacency_[i, j]


@pytest.mark.parametrize("walk", WALKS)
@pytest.mark.parametrize("n", [1, 2])
def test_few_variables(n, walk):
    X = gaussian_data(0, 30, n)
    model = quick(search_space="full", walk=walk).fit(X)
    assert model.adjacency_probabilities_.shape == (n, n)


@pytest.mark.parametrize(("walk", "n_moves"), [("dags", 6), ("partitions", 5)])
@pytest.mark.parametrize("moves", [[1, 1, 1], [0] * 5, [1, -1, 1, 1, 1, 1]])
def test_bad_move_probabilities(network, moves, walk, n_moves):
    with pytest.raises(ValueError, match=f"move_probabilities must be {n_moves}"):
        quick(search_space="full", walk=walk, move_probabilities=moves).fit(
            network.data
        )


@pytest.mark.parametrize(
    ("edges", "partition"),
    [
        ([], [0, 0, 0, 0]),
        ([(0, 1), (1, 2), (2, 3)], [3, 2, 1, 0]),
        ([(0, 1), (0, 2), (1, 3), (2, 3)], [2, 1, 1, 0]),
        ([(3, 0), (0, 1), (3, 1)], [1, 0, 2, 2]),
    ],
)
def test_partition_of_dag(edges, partition):
    adjacency = np.zeros((4, 4), dtype=bool)
    for i, j in edges:
        adjacency[i, j] = True
    assert_array_equal(partition_of_dag(adjacency), partition)
