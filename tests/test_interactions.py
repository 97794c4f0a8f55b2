"""Parents that pay off only together: small sets against naive twins, and searches."""

from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skbidag import IterativeSearchStructure
from skbidag._constraints import resolve_constraints
from skbidag._problem import Problem
from skbidag._search._expansion import add_selected_parents
from skbidag.scores import BDe, BGe, CategoricalBIC
from skbidag.scores._categorical import masks_to_try


def with_parity(n_rows, n, n_parents, seed, flipped=0.05):
    """Fair coins, of which the last is the parity of those before it."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (n_rows, n))
    parity = X[:, -1 - n_parents : -1].sum(axis=1)
    X[:, -1] = (parity + (rng.random(n_rows) < flipped)) % 2
    return X


@pytest.mark.parametrize("make", [BDe, CategoricalBIC])
@pytest.mark.parametrize("size", [2, 3, 4])
def test_best_small_set_is_the_best_of_all(make, size, monkeypatch):
    monkeypatch.setattr("skbidag.scores._categorical.MOST_TOGETHER", size)
    rng = np.random.default_rng(size)
    X = rng.integers(0, [2, 3, 2, 4, 1, 3, 20], size=(60, 7))
    X[:, 1] = (X[:, [0, 2, 3]].sum(axis=1) + (rng.random(60) < 0.1)) % 3
    for weights in (None, rng.random(60)):
        score = make(edge_penalty=1.5).fit(X, sample_weight=weights)
        for node in 0, 1, 3:
            others = np.delete(np.arange(7), node)
            parents, log_score = score.best_small_set(node, others, 10.0)
            best = max(
                score.local_score(node, list(some))
                for k in range(1, size + 1)
                for some in combinations(others, k)
            )
            assert_allclose(log_score, best, rtol=1e-10)
            assert_allclose(score.local_score(node, parents), best, rtol=1e-10)


def test_small_sets_are_as_large_as_time_permits():
    score = BDe().fit(with_parity(500, 10, 3, seed=0))
    others = np.arange(9)
    sizes = [len(score.best_small_set(9, others, s)[0]) for s in (1e-7, 1e-4, 1.0)]
    # pairs do not show a parity of three, and one parent is as good as two
    assert sizes[0] == 0
    assert sizes[1] < 3
    assert sizes[2] == 3
    parents, _ = score.best_small_set(9, others, 1.0)
    assert parents == [6, 7, 8]
    # too few to choose from, nothing to explain, and no such way
    assert score.best_small_set(9, others[:1], 1.0) == ([], -np.inf)
    constant = BDe().fit(np.column_stack([others % 2, others % 3, 0 * others]))
    assert constant.best_small_set(2, np.array([0, 1]), 1.0) == ([], -np.inf)
    continuous = BGe().fit(np.random.default_rng(0).normal(size=(20, 4)))
    assert continuous.best_small_set(0, np.array([1, 2, 3]), 1.0) == ([], -np.inf)


def test_small_sets_come_into_a_space_where_selection_explains_little():
    X = with_parity(500, 12, 3, seed=1)
    problem = Problem(BDe().fit(X), X, None, None, resolve_constraints(12))
    permitted = add_selected_parents(np.zeros((12, 12), bool), problem, 12)
    assert permitted[8:11, 11].all()
    # as parents of each of the four
    assert permitted[[8, 9, 11], 10].all()


@pytest.mark.parametrize(("n_parents", "n"), [(2, 30), (3, 20), (4, 18)])
def test_a_planted_parity_is_found(n_parents, n):
    X = with_parity(1000 if n_parents == 4 else 500, n, n_parents, seed=n)
    model = IterativeSearchStructure(BDe(), n_draws=0, random_state=0).fit(X)
    truth = np.zeros((n, n), dtype=bool)
    truth[-1 - n_parents : -1, -1] = True
    assert model.log_score_ >= model.score_.dag_score(truth) - 1e-6


def test_masks_to_try():
    masks = masks_to_try(12, [4, 7])
    assert_array_equal(masks, np.unique(masks))
    sizes = np.array([mask.bit_count() for mask in masks.tolist()])
    assert (sizes <= 2).sum() == 1 + 12 + 66
    around = [(1 << 4 | 1 << 7) ^ (1 << k) for k in range(12)]
    assert np.isin(around, masks).all()
    assert sizes.max() > 4


def test_screened_outsiders_leave_the_rest_as_it_is():
    """Columns are complete or empty, and what matters is in them."""
    rng = np.random.default_rng(2)
    X = rng.integers(0, 2, (400, 16))
    X[:, 15] = (X[:, 0] & X[:, 1]) ^ (X[:, 12] & X[:, 13]) ^ (rng.random(400) < 0.1)
    score = BDe(edge_penalty=1.0).fit(X)
    candidates, outsiders = np.arange(11), np.arange(11, 15)
    complete, partial, beside = np.full((3, 1 << 11, 16), -np.inf)
    score.fill_table(15, candidates, outsiders, 15, complete)
    score.fill_table_for_maxima(15, candidates, outsiders, 15, partial)
    known = np.isfinite(partial)
    assert_allclose(partial[known], complete[known], rtol=1e-10)
    promising = outsiders[known[:, outsiders].any(axis=0)]
    assert {12, 13} <= set(promising) < set(outsiders)
    # beside a parent that every set has: the upper half of a larger table
    larger = np.full((1 << 12, 16), -np.inf)
    score.fill_table(15, np.append(candidates, 12), outsiders[[0, 2, 3]], 15, larger)
    floor = np.maximum.reduce(complete[:, [15]], axis=1)
    score.fill_table_beside(12, floor, 15, candidates, outsiders[[0, 2, 3]], 15, beside)
    known = np.isfinite(beside)
    assert known[:, [13, 15]].any(axis=0).all()
    assert_allclose(beside[known], larger[1 << 11 :][known], rtol=1e-10)


def test_more_equal_groups_than_a_byte_counts():
    # 300 pairs and 300 triples of rows, and fours, with the same and other levels
    rng = np.random.default_rng(3)
    group = np.repeat(np.arange(900), np.repeat([2, 3, 4], 300))
    n_rows = len(group)
    others = rng.integers(0, [2, 3, 4], (n_rows, 3))
    X = np.column_stack([rng.integers(0, 3, n_rows), group, others])
    X[: n_rows // 2, 0] = 0
    score = BDe().fit(X)
    scores = score.addition_scores(0, [1])
    for other in 2, 3, 4:
        assert_allclose(scores[other], score.local_score(0, [1, other]), rtol=1e-10)
