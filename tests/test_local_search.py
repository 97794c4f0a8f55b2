"""Local steps of the search: parents of single nodes, insertions, and blocks."""

from itertools import combinations, product

import numpy as np
import pytest

from skbidag import IterativeSearchStructure
from skbidag._constraints import resolve_constraints
from skbidag._core._block_search import BlockSearch
from skbidag._problem import Problem
from skbidag._search._expansion import once_per_dag, paying_pairs
from skbidag._search._local import EquivalentDAGs, LocalSearch, Paths
from skbidag.datasets import make_discrete_network, make_gaussian_network
from skbidag.graphs import is_dag, to_cpdag
from skbidag.scores import BDe, BGe, GaussianBIC

N = 7
GAIN = 1e-7


def local_search(problem, max_parents):
    pairs = once_per_dag(paying_pairs, problem)
    return LocalSearch(problem, max_parents, pairs)


def random_dag(rng, n, share):
    order = rng.permutation(n)
    upper = np.triu(rng.random((n, n)) < share, 1)
    return upper[np.ix_(order, order)]


def problem_of(X, **constraints):
    constraints = resolve_constraints(X.shape[1], **constraints)
    return Problem(BGe().fit(X), X, None, names=None, constraints=constraints)


# ------------------------------------------------------------------ subsets


@pytest.mark.parametrize("score", [BGe(), GaussianBIC(), BDe()])
@pytest.mark.parametrize("kept", [[], [3], [6, 1]])
def test_scores_of_subsets_beside_parents_that_stay(score, kept):
    if isinstance(score, BDe):
        score.fit(make_discrete_network(60, N, random_state=0).data)
    else:
        score.fit(make_gaussian_network(60, N, random_state=0).data)
    candidates = np.array([5, 0, 2])
    out = np.empty(8)
    score.fill_subsets(4, candidates, np.array(kept, dtype=np.intp), out)
    for mask in range(8):
        parents = [*candidates[(mask >> np.arange(3) & 1).astype(bool)], *kept]
        assert out[mask] == pytest.approx(score.local_score(4, parents), abs=1e-9)


def test_scores_of_subsets_that_are_too_many_for_one_table():
    score = BDe().fit(make_discrete_network(60, 20, random_state=0).data)
    kept = np.arange(2, 19)
    out = np.empty(2)
    score.fill_subsets(0, np.array([1]), kept, out)
    assert out[0] == score.local_score(0, kept)
    assert out[1] == score.local_score(0, [1, *kept])


# ------------------------------------------------------------------ blocks


def naive(score, dag, block, forbidden, required, max_parents):
    """The best log score of all DAGs in which a block has other parents."""
    sets = []
    for node in block:
        may_be = [
            j
            for j in range(N)
            if j != node and not forbidden[j, node] and (j in block or dag[j, node])
        ]
        most = max(max_parents, dag[:, node].sum())
        needed = set(np.flatnonzero(required[:, node]))
        sets.append(
            [
                parents
                for size in range(most + 1)
                for parents in combinations(may_be, size)
                if needed <= set(parents)
            ]
        )
    best = -np.inf
    for chosen in product(*sets):
        trial = dag.copy()
        for node, parents in zip(block, chosen, strict=True):
            trial[:, node] = False
            trial[list(parents), node] = True
        if is_dag(trial):
            best = max(best, score.dag_score(trial))
    return best


@pytest.mark.parametrize("seed", range(6))
def test_a_block_gets_the_best_parents(seed):
    rng = np.random.default_rng(seed)
    score = BGe().fit(make_gaussian_network(60, N, random_state=seed).data)
    dag = random_dag(rng, N, 0.4)
    forbidden = np.eye(N, dtype=bool) | ((rng.random((N, N)) < 0.1) & ~dag)
    required = (rng.random((N, N)) < 0.1) & dag
    block = rng.choice(N, 3, replace=False)
    search = BlockSearch(score, dag, forbidden, required, 3, N, GAIN)
    gain = search.improve(block)
    better = search.adjacency()
    outside = np.setdiff1d(np.arange(N), block)
    np.testing.assert_array_equal(better[:, outside], dag[:, outside])
    before = score.dag_score(dag)
    assert score.dag_score(better) - before == pytest.approx(gain, abs=1e-8)
    best = naive(score, dag, block, forbidden, required, 3)
    assert score.dag_score(better) == pytest.approx(best, abs=1e-8)
    assert search.improve(block) == 0


@pytest.mark.parametrize("most_candidates", [2, 3, 4])
def test_a_block_keeps_parents_that_find_no_room(most_candidates):
    rng = np.random.default_rng(most_candidates)
    score = BGe().fit(make_gaussian_network(60, N, random_state=0).data)
    n_better = 0
    for _ in range(20):
        dag = random_dag(rng, N, 0.6)
        block = rng.choice(N, 3, replace=False)
        nothing = np.zeros((N, N), dtype=bool)
        search = BlockSearch(score, dag, nothing, nothing, N, most_candidates, GAIN)
        gain = search.improve(block)
        better = search.adjacency()
        assert is_dag(better)
        outside = np.setdiff1d(np.arange(N), block)
        for node in block:
            others = [j for j in outside if dag[j, node]]
            kept = others[max(0, most_candidates - 2) :]
            assert better[kept, node].all()
        found = score.dag_score(better) - score.dag_score(dag)
        assert found == pytest.approx(gain, abs=1e-8)
        n_better += gain > 0
    assert n_better > 5


def test_a_block_is_not_too_large():
    score = BGe().fit(make_gaussian_network(60, 21, random_state=0).data)
    nothing = np.zeros((21, 21), dtype=bool)
    search = BlockSearch(score, nothing, nothing, nothing, 3, 10, GAIN)
    with pytest.raises(ValueError, match="20 nodes at most, not 21"):
        search.improve(range(21))


def test_blocks_are_paths_with_parents_and_children():
    dag = np.zeros((8, 8), dtype=bool)
    for i, j in [(0, 1), (1, 2), (2, 3), (3, 4), (3, 5), (6, 0), (6, 1), (7, 0)]:
        dag[i, j] = True
    background = np.arange(8) == 7
    blocks = Paths(dag, background).blocks_from([0])
    assert blocks == [(0, 1, 2, 3, 6)]
    blocks = Paths(dag, background).blocks_from([1])
    assert blocks == [(0, 1, 2, 3, 4, 5, 6)]
    assert Paths(dag, background).blocks_from([4]) == []


# ------------------------------------------------------------------ equivalent DAGs


@pytest.mark.parametrize("seed", range(5))
def test_equivalent_dags_start_where_they_are_told_to(seed):
    rng = np.random.default_rng(seed)
    X = make_gaussian_network(60, N, random_state=0).data
    dag = random_dag(rng, N, 0.3)
    equivalent = EquivalentDAGs(dag, problem_of(X))
    np.testing.assert_array_equal(equivalent.cpdag, to_cpdag(dag))
    for node in range(N):
        other = equivalent.starting_with([node], dag)
        np.testing.assert_array_equal(to_cpdag(other), to_cpdag(dag))
        assert other[node, equivalent.undirected[node]].all()
        for neighbor in np.flatnonzero(equivalent.undirected[node]):
            other = equivalent.starting_with([neighbor, node], dag)
            np.testing.assert_array_equal(to_cpdag(other), to_cpdag(dag))
            assert other[neighbor, node]


# ------------------------------------------------------------------ steps


def test_a_node_exchanges_a_parent_for_two():
    rng = np.random.default_rng(0)
    x, y, e, z = rng.normal(size=(4, 300))
    X = np.column_stack([x, y, x + y + 0.5 * e, x + y + 0.3 * z])
    dag = np.zeros((4, 4), dtype=bool)
    dag[2, 3] = True
    assert set(local_search(problem_of(X), 3).better_parents(dag, 3)) == {0, 1}


def test_an_edge_is_added_in_an_equivalent_dag():
    # c is before b and a in the DAG, and e, which depends on a, may follow from that
    rng = np.random.default_rng(0)
    a, e = rng.normal(size=(2, 300))
    b = a + rng.normal(size=300)
    X = np.column_stack([a + e + 0.1 * rng.normal(size=300), b, a, e])
    dag = np.zeros((4, 4), dtype=bool)
    dag[2, 0] = dag[1, 2] = True
    problem = problem_of(X)
    better = local_search(problem, 3).insertions(dag)
    assert is_dag(better)
    assert better[3, 0] or better[0, 3]
    assert problem.log_score(better) > problem.log_score(dag)


def test_two_parents_are_added_that_pay_together():
    rng = np.random.default_rng(0)
    x, y, z = rng.normal(size=(3, 200))
    y = y - 0.9 * x
    X = np.column_stack([x, x + y + 0.1 * z, y])
    dag = np.zeros((3, 3), dtype=bool)
    dag[0, 2] = True
    better = local_search(problem_of(X), 2).pairs(dag)
    np.testing.assert_array_equal(np.argwhere(better), [[0, 1], [0, 2], [2, 1]])


@pytest.mark.parametrize("seed", range(4))
def test_constraints_hold(seed):
    rng = np.random.default_rng(seed)
    n = 12
    X = make_gaussian_network(60, n, random_state=seed).data
    dag = random_dag(rng, n, 0.2)
    dag[:, 0] = False
    forbidden = (rng.random((n, n)) < 0.3) & ~dag
    required = (rng.random((n, n)) < 0.3) & dag
    problem = problem_of(
        X, forbidden_edges=forbidden, required_edges=required, background=[0]
    )
    better = local_search(problem, 4)(dag)
    assert is_dag(better)
    assert not (better & problem.constraints.forbidden).any()
    assert better[required].all()
    assert problem.log_score(better) > problem.log_score(dag)
    assert local_search(problem, 4)(better) is None


def test_a_chain_with_a_collider_at_either_end_turns():
    # 0, 1 -> 2 -> 3 -> 4 <- 5 in truth; the DAG has the colliders' chain the other way
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(6, 2000))
    a, b, f = noise[[0, 1, 5]]
    c = a + b + noise[2]
    d = c + noise[3]
    X = np.column_stack([a, b, c, d, d + f + noise[4], f])
    truth = np.zeros((6, 6), dtype=bool)
    for i, j in [(0, 2), (1, 2), (2, 3), (3, 4), (5, 4)]:
        truth[i, j] = True
    dag = np.zeros((6, 6), dtype=bool)
    for i, j in [(5, 4), (4, 3), (3, 2), (2, 0), (2, 1)]:
        dag[i, j] = True
    problem = problem_of(X)
    better = local_search(problem, 5)(dag)
    np.testing.assert_array_equal(to_cpdag(better), to_cpdag(truth))


def test_the_search_does_not_end_where_local_steps_pay():
    X = make_gaussian_network(80, 40, random_state=2).data
    search = IterativeSearchStructure("bge", n_draws=0, random_state=0).fit(X)
    local = local_search(problem_of(X), 20)
    assert local(search.adjacency_) is None
