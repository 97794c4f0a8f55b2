"""BDe and BIC: reference values, tables against naive twins, input of every kind."""

import csv
import pickle
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from itertools import product
from math import lgamma, log

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from helpers import DATA, all_dags
from skbidag._core._subsets import subset_maxima
from skbidag.scores import (
    BDe,
    BGe,
    CategoricalBIC,
    CategoricalScore,
    ConditionalGaussian,
    GaussianBIC,
)
from skbidag.scores._resolve import kind_for, resolve_score
from skbidag.scores.base import BaseScore


def load(name):
    return np.loadtxt(DATA / f"{name}.csv", delimiter=",", skiprows=1, dtype=int)


def rows_of(file):
    with open(DATA / file, newline="") as lines:
        return [row for row in csv.DictReader(lines) if row["score"] != "bge"]


def bde_of(setting):
    values = dict(item.split("=") for item in setting.split(";"))
    return BDe(float(values["chi"]), edge_penalty=float(values["edgepf"]))


def random_data(rng, n_samples, n_levels):
    X = np.column_stack([rng.integers(r, size=n_samples) for r in n_levels])
    for j in range(1, len(n_levels)):
        copied = rng.random(n_samples) < 0.5
        X[copied, j] = X[copied, j - 1] % n_levels[j]
    return X


def naive_counts(X, weights, node, parents):
    """Weight of each (configuration, level), by a dictionary."""
    cells = {}
    for row, weight in zip(X.tolist(), weights, strict=True):
        cell = cells.setdefault(tuple(row[p] for p in parents), {})
        cell[row[node]] = cell.get(row[node], 0.0) + weight
    return cells


def naive_bde(X, weights, n_levels, node, parents, size):
    q = float(np.prod([n_levels[p] for p in parents]))
    r = n_levels[node]
    total = 0.0
    for levels in naive_counts(X, weights, node, parents).values():
        total += lgamma(size / q) - lgamma(size / q + sum(levels.values()))
        for n in levels.values():
            total += lgamma(n + size / (q * r)) - lgamma(size / (q * r))
    return total


def naive_bic(X, weights, n_levels, node, parents):
    q = float(np.prod([n_levels[p] for p in parents]))
    total = -0.5 * log(sum(weights)) * q * (n_levels[node] - 1)
    for levels in naive_counts(X, weights, node, parents).values():
        n_c = sum(levels.values())
        total += sum(n * log(n / n_c) for n in levels.values())
    return total


def table(score, node, candidates, outsiders):
    n = score.n_features_in_
    out = np.full((2 ** len(candidates), n + 1), np.nan)
    score.fill_table(node, np.asarray(candidates), np.asarray(outsiders), n, out)
    return out


def assert_table(score, node, candidates, outsiders):
    """Compare every entry with local_score; nothing else may be written."""
    out = table(score, node, candidates, outsiders)
    expected = np.full_like(out, np.nan)
    n = score.n_features_in_
    BaseScore.fill_table(score, node, candidates, outsiders, n, expected)
    assert_allclose(out, expected, rtol=1e-10, atol=1e-9)
    assert np.isfinite(out[:, -1]).all()


# Reference values


def test_local_scores_of_bidag():
    rows = rows_of("local_scores.csv")
    assert len(rows) == 360
    fitted = {}
    for row in rows:
        key = row["dataset"], row["setting"]
        if key not in fitted:
            fitted[key] = bde_of(row["setting"]).fit(load(row["dataset"]))
        parents = [int(p) for p in row["parents"].split(";") if p]
        value = fitted[key].local_score(int(row["node"]), parents)
        assert_allclose(value, float(row["value"]), rtol=1e-8)


@pytest.mark.parametrize("row", rows_of("dag_scores.csv"), ids=str)
def test_dag_scores_of_bidag(row):
    score = bde_of(row["setting"]).fit(load(row["dataset"]))
    dag = load(f"{row['dataset']}_dag")
    assert_allclose(score.dag_score(dag), float(row["value"]), rtol=1e-8)


# Against naive twins


@pytest.mark.parametrize("weighting", ["none", "integer", "large", "float"])
@pytest.mark.parametrize("seed", range(3))
def test_local_scores_and_tables(seed, weighting):
    rng = np.random.default_rng(seed)
    n_levels = rng.integers(2, 6, size=8)
    X = random_data(rng, 60, n_levels)
    X[: n_levels.max()] = np.arange(n_levels.max())[:, None] % n_levels
    weights = {
        "none": None,
        "integer": rng.integers(0, 4, size=60) + (np.arange(60) < 5),
        "large": rng.integers(1, 10_000, size=60),
        "float": rng.exponential(size=60),
    }[weighting]
    w = np.ones(60) if weights is None else weights.astype(float)
    kept, w = X[w > 0], w[w > 0]
    edge_prior = rng.normal(size=(8, 8))
    for score in BDe(2.5, edge_penalty=1.7), CategoricalBIC(edge_penalty=1.7):
        score.fit(X, sample_weight=weights, edge_prior=edge_prior)
        assert_array_equal(score.n_levels_, n_levels)
        for _ in range(10):
            node, *parents = rng.permutation(8)[: rng.integers(1, 7)]
            if isinstance(score, BDe):
                expected = naive_bde(kept, w, n_levels, node, parents, 2.5)
            else:
                expected = naive_bic(kept, w, n_levels, node, parents)
            marginal = score.log_marginal_likelihood(node, parents)
            assert_allclose(marginal, expected, rtol=1e-10)
            expected += edge_prior[parents, node].sum() - len(parents) * log(1.7)
            assert_allclose(score.local_score(node, parents), expected, rtol=1e-10)
        for k in (0, 1, 4):
            node, *others = rng.permutation(8)
            assert_table(score, node, others[:k], others[k:])
            assert_table(score, node, others[:k], others[k + 2 :])
            assert_table(score, node, others[:k], np.array([], dtype=int))


def test_wide_columns_and_long_groups():
    # More levels than are counted side by side, segments beyond 255 rows, and counts
    # beyond the look-up tables.
    rng = np.random.default_rng(0)
    n_levels = [2, 2, 3, 40, 2, 300, 17]
    for n_samples in (700, 20_000):
        X = random_data(rng, n_samples, n_levels)
        for score in BDe(), CategoricalBIC():
            score.fit(X)
            assert_table(score, 0, [1, 4], [2, 3, 5, 6])
            assert_table(score, 3, [2], [1, 0, 4, 5])


@pytest.mark.parametrize("n_samples", [2, 30, 1000])
@pytest.mark.parametrize("levels", [[2], [3], [2, 3, 4, 5], [2, 1, 5, 7, 11, 17]])
def test_many_outsiders(levels, n_samples):
    # Enough outsiders that small groups are looked up at once, of every shape.
    rng = np.random.default_rng(n_samples)
    X = random_data(rng, n_samples, np.resize(levels, 60))
    score = BDe(3.0).fit(X)
    candidates, outsiders = np.arange(1, 8), np.arange(8, 60)
    out = table(score, 0, candidates, outsiders)
    for mask in rng.choice(2**7, size=20, replace=False):
        subset = candidates[mask >> np.arange(7) & 1 == 1]
        assert_allclose(out[mask, 60], score.local_score(0, subset), rtol=1e-10)
        expected = [score.local_score(0, [*subset, j]) for j in outsiders]
        assert_allclose(out[mask, outsiders], expected, rtol=1e-10)


@pytest.mark.parametrize("n_samples", [200, 3000])
@pytest.mark.parametrize("sizes", [[1, 1, 1, 1], [3, 15, 17, 16], [31, 2, 34, 33]])
def test_classes_side_by_side(sizes, n_samples):
    # Outsiders of one to five levels, which fill lanes of 16 and 32 in part, share them
    # with the next class, or reach beyond; in groups of up to 255 rows and larger.
    rng = np.random.default_rng(n_samples)
    levels = np.repeat([2, 3, 4, 5], sizes)
    X = random_data(rng, n_samples, [3, 4, 3, 2, *levels, 1])
    outsiders = rng.permutation(np.arange(4, X.shape[1]))
    for score in BDe().fit(X), CategoricalBIC().fit(X):
        out = table(score, 0, [1, 2, 3], outsiders)
        for mask in range(8):
            subset = np.array([1, 2, 3])[mask >> np.arange(3) & 1 == 1]
            expected = [score.local_score(0, [*subset, j]) for j in outsiders]
            assert_allclose(out[mask, outsiders], expected, rtol=1e-10)


@pytest.mark.parametrize("n_samples", [100, 600])
def test_constant_columns(n_samples):
    # As a parent a constant changes nothing, however many rows a group has and however
    # many levels the child; as a child it has nothing to explain.
    rng = np.random.default_rng(n_samples)
    X = random_data(rng, n_samples, [9, 2, 1, 3, 1, 2, 1])
    for score in BDe(edge_penalty=1.0), CategoricalBIC(edge_penalty=1.0):
        score.fit(X)
        assert_table(score, 0, [1, 2, 3], [4, 5, 6])
        assert_table(score, 2, [0, 1, 4], [3, 5, 6])
        out = table(score, 0, [1, 2, 3], [4, 5, 6])
        assert_allclose(out[:, [4, 6]], out[:, [7, 7]], rtol=1e-12)


@pytest.mark.parametrize("skew", [0.5, 0.9])
def test_groups_of_every_size(skew):
    # From pairs of rows to more than bytes can count, with two levels and more.
    rng = np.random.default_rng(0)
    X = (rng.random((900, 8)) > skew).astype(int)
    X[:, 5:] += 2 * (rng.random((900, 3)) > skew)
    score = BDe().fit(X)
    for child in 0, 6:
        others = np.delete(np.arange(8), child)
        assert_table(score, child, others[1:6], others[[0, 6]])


@pytest.mark.parametrize("weighting", ["none", "integer", "float"])
@pytest.mark.parametrize("make", [BDe, CategoricalBIC], ids=["BDe", "BIC"])
def test_maxima_need_no_complete_table(make, weighting):
    left_out = 0
    for seed in range(4):
        rng = np.random.default_rng(seed)
        n_samples = [20, 60, 200, 500][seed]
        X = random_data(rng, n_samples, [3, 3, *rng.integers(1, 5, size=7)])
        X[3:, 0] = X[3:, 1]  # one parent explains nearly everything
        weights = {
            "none": None,
            "integer": rng.integers(1, 4, size=n_samples),
            "float": 2 * rng.random(n_samples),
        }[weighting]
        prior = rng.normal(scale=2, size=(9, 9)) if seed % 2 else None
        score = make().fit(X, sample_weight=weights, edge_prior=prior)
        candidates, outsiders = np.arange(1, 7), np.array([7, 8])
        complete, partial = np.full((2, 64, 10), -np.inf)
        score.fill_table(0, candidates, outsiders, 9, complete)
        score.fill_table_for_maxima(0, candidates, outsiders, 9, partial)
        known = np.isfinite(partial)
        assert_allclose(partial[known], complete[known], rtol=1e-10)
        left_out += (np.isfinite(complete) & ~known).sum()
        subset_maxima(complete)
        subset_maxima(partial)
        for column in (*outsiders, 9):
            assert_allclose(
                np.maximum(partial[:, column], partial[:, 9]),
                np.maximum(complete[:, column], complete[:, 9]),
                rtol=1e-10,
            )
    # with less than an observation in a row, BDe has no bound
    assert (left_out > 0) == (make is CategoricalBIC or weighting != "float")


def test_a_table_filled_in_another_way_has_its_own_maxima():
    class Doubled(BDe):
        def fill_table(self, node, candidates, outsiders, base_column, out):
            super().fill_table(node, candidates, outsiders, base_column, out)
            out *= 2

    score = Doubled().fit(np.random.default_rng(0).integers(3, size=(50, 4)))
    one, other = np.full((2, 4, 5), -np.inf)
    score.fill_table(0, np.array([1, 2]), np.array([3]), 4, one)
    score.fill_table_for_maxima(0, np.array([1, 2]), np.array([3]), 4, other)
    assert_array_equal(one, other)


class Regional(CategoricalScore):
    """BDe of which each node has another equivalent sample size."""

    def kernel_constants(self, node):
        return 0.5 + node, 0.0

    def log_marginal_likelihood(self, node, parents):
        score = BDe(0.5 + node)
        vars(score).update(vars(self))
        score.equivalent_sample_size = 0.5 + node
        return score.log_marginal_likelihood(node, parents)


def test_constants_of_each_node():
    X = random_data(np.random.default_rng(4), 60, [2, 3, 2, 4])
    score = Regional().fit(pd.DataFrame(X).astype(str))
    for node in range(4):
        others = np.setdiff1d(np.arange(4), [node])
        ours, naive = np.zeros((2, 4, 5))
        score.fill_table(node, others[:2], others[2:], 4, ours)
        BaseScore.fill_table(score, node, others[:2], others[2:], 4, naive)
        assert_allclose(ours, naive, rtol=1e-11)
        assert_allclose(
            score.addition_scores(node, others[:1]),
            BaseScore.addition_scores(score, node, others[:1]),
            rtol=1e-11,
        )
    codes, counts = score.test_data(X)
    assert codes is score.codes_
    assert counts is score.counts_


def test_counts_beyond_the_tables_of_collapsed_rows():
    rng = np.random.default_rng(0)
    X = rng.integers(2, size=(30_000, 4))
    score = BDe().fit(X)
    assert len(score.codes_) == 16
    assert score.counts_.sum() == 30_000
    assert_table(score, 0, [1, 2], [3])


def test_column_order_of_the_table_and_views():
    rng = np.random.default_rng(0)
    score = BDe().fit(random_data(rng, 50, [2, 3, 2, 4, 3]))
    out = np.zeros((4, 12))[:, ::2]
    candidates = np.array([3, 0], dtype=np.int32)
    score.fill_table(2, candidates, np.array([4, 1], dtype=np.intp), 5, out)
    assert_allclose(out[1, 5], score.local_score(2, [3]))
    assert_allclose(out[2, 5], score.local_score(2, [0]))
    assert_allclose(out[2, 4], score.local_score(2, [0, 4]))
    assert_allclose(out[3, 1], score.local_score(2, [0, 1, 3]))
    assert (out[:, [0, 2, 3]] == 0).all()
    with pytest.raises(ValueError, match="4 rows"):
        score.fill_table(2, candidates, np.array([4]), 5, np.zeros((3, 6)))


def test_tables_in_threads():
    rng = np.random.default_rng(0)
    score = BDe().fit(random_data(rng, 300, [2, 3, 4] * 4))
    nodes = list(range(12)) * 4

    def build(node):
        others = np.delete(np.arange(12), node)
        return table(score, node, others[:5], others[5:])

    with ThreadPoolExecutor(4) as pool:
        threaded = list(pool.map(build, nodes))
    for node, result in zip(nodes, threaded, strict=True):
        assert_array_equal(result, build(node))


def questions(rng, n, n_questions):
    """Tables and additions of all sizes, as functions of a score."""
    for _ in range(n_questions):
        node, *others = rng.permutation(n)
        k = rng.integers(min(n, 8))
        candidates, outsiders = others[:k], others[k : rng.integers(k, n)]

        def complete(score, ask=(node, candidates, outsiders)):
            return table(score, *ask)

        def maxima(score, ask=(node, candidates, outsiders)):
            node, candidates, outsiders = map(np.asarray, ask)
            out = np.full((2 ** len(candidates), n + 1), -np.inf)
            score.fill_table_for_maxima(node, candidates, outsiders, n, out)
            return out

        def additions(score, ask=(node, candidates)):
            return score.addition_scores(*ask)

        yield from (complete, maxima, additions)


@pytest.mark.parametrize("weighting", ["none", "float"])
@pytest.mark.parametrize("make", [BDe, CategoricalBIC], ids=["BDe", "BIC"])
@pytest.mark.parametrize(
    "n_levels", [[2, 3, 1, 4] * 4, [2, 3, 5, 7, 11, 13, 17, 19, 23, 2]], ids=len
)
def test_what_was_asked_before_makes_no_difference(make, weighting, n_levels):
    # With many products of levels there are more look-up tables than room for them,
    # and in some calls so many that they are shorter.
    rng = np.random.default_rng(0)
    X = random_data(rng, 250, n_levels)
    weights = rng.exponential(size=250) if weighting == "float" else None
    score = make().fit(X, sample_weight=weights)
    for ask in questions(rng, len(n_levels), 8):
        fresh = make().fit(X, sample_weight=weights)
        assert_array_equal(ask(score), ask(fresh))


def test_a_prior_that_changes_counts_in_what_was_asked_before():
    X = np.random.default_rng(0).integers(0, 3, size=(40, 3))
    score = BDe(edge_penalty=1.0).fit(X)
    before = score.local_score(2, [1, 0])
    assert score.local_score(2, [0, 1]) == before
    score.log_prior_odds_[0, 2] = -5.0
    assert_allclose(score.local_score(2, [0, 1]), before - 5.0, rtol=1e-12)
    with pytest.raises(ValueError, match="parents must be different columns"):
        score.local_score(2, [0, 0])


def test_questions_in_threads():
    rng = np.random.default_rng(0)
    n_levels = [2, 3, 4, 2, 7] * 3
    X = random_data(rng, 300, n_levels)
    score, alone = BDe().fit(X), BDe().fit(X)
    asked = list(questions(rng, len(n_levels), 20))
    with ThreadPoolExecutor(4) as pool:
        threaded = list(pool.map(lambda ask: ask(score), asked))
    for ask, answer in zip(asked, threaded, strict=True):
        assert_array_equal(answer, ask(alone))
    assert 1 <= len(score._walks._idle) <= 4
    assert len(alone._walks._idle) == 1


@pytest.mark.parametrize(
    "copied", [deepcopy, lambda score: pickle.loads(pickle.dumps(score))]
)
def test_copies_and_other_data(copied):
    rng = np.random.default_rng(0)
    X = random_data(rng, 300, [2, 3, 4, 2, 7, 2])
    score = BDe().fit(X)
    unused = len(pickle.dumps(score))
    before = score.addition_scores(0, [1]), table(score, 2, [0, 1], [3, 4])
    assert len(pickle.dumps(score)) == unused  # memory of a walk is left out
    other = copied(score)
    # more and fewer rows, variables and levels
    for n_samples, n_levels in ((900, [2, 9, 4, 3, 2, 2, 3]), (20, [2, 2, 3])):
        Y = random_data(rng, n_samples, n_levels)
        score.fit(Y)
        fresh = BDe().fit(Y)
        assert_array_equal(score.addition_scores(0, [1]), fresh.addition_scores(0, [1]))
        assert_array_equal(table(score, 0, [1], [2]), table(fresh, 0, [1], [2]))
    assert_array_equal(other.addition_scores(0, [1]), before[0])
    assert_array_equal(table(other, 2, [0, 1], [3, 4]), before[1])


def test_a_table_of_the_wrong_size_leaves_the_score_usable():
    rng = np.random.default_rng(0)
    score = BDe().fit(random_data(rng, 50, [2, 3, 2, 4]))
    expected = table(score, 0, [1, 2], [3])
    with pytest.raises(ValueError, match="4 rows"):
        score.fill_table(0, np.array([1, 2]), np.array([3]), 4, np.zeros((2, 5)))
    assert_array_equal(table(score, 0, [1, 2], [3]), expected)


def test_many_configurations():
    # With the pseudo-counts a and A of q configurations next to zero, a row alone in
    # its configuration has Γ(1 + a) Γ(A) / (Γ(a) Γ(1 + A)) = a/A = 1/r exactly.
    rng = np.random.default_rng(0)
    X = np.column_stack([np.arange(200) % 4, rng.integers(4, size=(200, 700))])
    score = BDe().fit(X)
    for n_parents in (16, 100, 700):
        parents = np.arange(1, n_parents + 1)
        assert_allclose(
            score.log_marginal_likelihood(0, parents), -200 * log(4), rtol=1e-12
        )
        assert_allclose(score.log_predictive(X[:5], 0, parents), 0, atol=1e-6)
    # Two rows in each configuration: lnΓ(2 + a) − lnΓ(a) = ln a + ln(1 + a).
    X = np.repeat(X, 2, axis=0)
    score.fit(X)
    a, big_a = 4.0**-17, 4.0**-16
    expected = 200 * (log(a) + np.log1p(a) - log(big_a) - np.log1p(big_a))
    parents = np.arange(1, 17)
    assert_allclose(score.log_marginal_likelihood(0, parents), expected, rtol=1e-12)
    out = table(score, 0, parents[:3], parents[3:])
    assert np.isfinite(out[:, parents[3:]]).all()


# What a score means


def equivalence_class(dag):
    """Skeleton and v-structures, which Markov equivalent DAGs share (Verma & Pearl)."""
    n = len(dag)
    skeleton = dag | dag.T
    v_structures = [
        (a, c, b)
        for c, a, b in product(range(n), repeat=3)
        if a < b and dag[a, c] and dag[b, c] and not skeleton[a, b]
    ]
    return skeleton.tobytes(), tuple(v_structures)


@pytest.mark.parametrize("score", [BDe(), BDe(7.0), CategoricalBIC(), GaussianBIC()])
def test_score_equivalence(score):
    X = random_data(np.random.default_rng(1), 80, [2, 3, 4])
    score = clone(score).fit(X)
    classes = {}
    for dag in all_dags(3):
        classes.setdefault(equivalence_class(dag), []).append(score.dag_score(dag))
    assert sum(map(len, classes.values())) == 25
    assert len(classes) == 11
    for scores in classes.values():
        assert_allclose(scores, scores[0], rtol=1e-11)


@pytest.mark.parametrize("score", [BDe(), CategoricalBIC()])
def test_reversal_of_covered_edges(score):
    rng = np.random.default_rng(2)
    n_levels = [2, 3, 4, 5, 2, 3]
    score.fit(random_data(rng, 100, n_levels))
    for _ in range(20):
        i, j, *rest = rng.permutation(6)
        shared = rest[: rng.integers(4)]
        forth = score.local_score(i, shared) + score.local_score(j, [*shared, i])
        back = score.local_score(j, shared) + score.local_score(i, [*shared, j])
        assert_allclose(forth, back, rtol=1e-11)


def test_sample_weight_repeats_rows():
    rng = np.random.default_rng(3)
    X = random_data(rng, 50, [2, 3, 4, 2])
    weights = rng.integers(0, 3, size=50)
    Z = X.copy()
    Z[weights == 0] = 99  # absent rows teach no levels
    for score in BDe(), CategoricalBIC(), GaussianBIC():
        repeated = clone(score).fit(np.repeat(X, weights, axis=0))
        weighted = clone(score).fit(Z, sample_weight=weights)
        assert_allclose(
            table(weighted, 0, [1, 2], [3]), table(repeated, 0, [1, 2], [3])
        )


def test_marginal_likelihood_is_a_product_of_predictions():
    # The chain rule: p(rows) = Π p(row | rows before).
    X = random_data(np.random.default_rng(4), 12, [3, 2, 4])
    levels = [[0, 1, 2], [0, 1], [0, 1, 2, 3]]
    score = BDe(1.5, categories=levels)
    total = log(1 / 3)
    for row in range(1, len(X)):
        score.fit(X[:row])
        total += score.log_predictive(X[row : row + 1], 0, [1, 2])[0]
    assert_allclose(score.fit(X).log_marginal_likelihood(0, [1, 2]), total)


def test_predictive_probabilities():
    X = random_data(np.random.default_rng(5), 40, [3, 2, 4])
    score = BDe(2.0).fit(X)
    for parents in ([], [1], [1, 2]):
        total = 0.0
        for level in range(3):
            Z = X.copy()
            Z[:, 0] = level
            total += np.exp(score.log_predictive(Z, 0, parents))
        assert_allclose(total, 1.0)
    unseen = np.array([[7, 0, 0]])
    n_c = ((X[:, 1] == 0) & (X[:, 2] == 0)).sum()
    expected = np.log((2 / 24) / (n_c + 2 / 8))
    assert_allclose(score.log_predictive(unseen, 0, [1, 2]), expected)
    unseen_parent = np.array([[1, 0, 9]])
    assert_allclose(score.log_predictive(unseen_parent, 0, [1, 2]), -log(3))
    assert_array_equal(score.encode([[7, 0, 9]]), [[-1, 0, -1]])
    with pytest.raises(ValueError, match="X has 2 features"):
        score.log_predictive(X[:, :2], 0, [])


# Input


@pytest.fixture
def codes():
    X = random_data(np.random.default_rng(6), 40, [2, 3, 2, 3])
    X[:3] = [[0, 0, 0, 0], [1, 1, 1, 1], [0, 2, 1, 2]]
    return X


@pytest.mark.parametrize("make", [BDe, CategoricalBIC], ids=["BDe", "BIC"])
def test_the_same_data_in_any_dress(codes, make):
    words = np.array(["a", "b", "c"])[codes]
    frame = {
        "flag": codes[:, 0].astype(bool),
        "word": words[:, 1],
        "int": codes[:, 2] - 7,
        "category": words[:, 3],
    }
    pandas = pd.DataFrame(frame).astype({"category": "category", "int": "Int64"})
    polars = pl.DataFrame(frame)
    dresses = [
        codes.astype(np.uint8),
        codes - 5,
        words,
        words.astype(object),
        codes.tolist(),
        words.tolist(),
        [[int(a), str(b), bool(c), -int(d)] for a, b, c, d in codes],
        pandas,
        pandas.astype({"word": "object", "flag": "boolean"}),
        polars,
        polars.with_columns(
            pl.col("category").cast(pl.Categorical),
            pl.col("word").cast(pl.Enum(["a", "b", "c"])),
        ),
    ]
    if make is BDe:
        dresses.append(codes.astype(float))
    expected = table(make().fit(codes), 0, [1, 2], [3])
    for X in dresses:
        assert_allclose(table(make().fit(X), 0, [1, 2], [3]), expected)


def test_levels(codes):
    score = BDe().fit(codes - 1)
    assert_array_equal(score.categories_[1], [-1, 0, 1])
    assert_array_equal(score.n_levels_, [2, 3, 2, 3])
    assert_array_equal(score.encode(codes - 1), codes)
    given = [[0, 1, 5], [2, 1, 0], [0, 1], [0, 1, 2]]
    score = BDe(categories=given).fit(codes.astype(float))
    assert_array_equal(score.n_levels_, [3, 3, 2, 3])
    declared = pd.DataFrame(codes)
    declared[0] = pd.Categorical(codes[:, 0], categories=[5, 1, 0])
    frame_score = BDe().fit(declared)
    assert_array_equal(frame_score.categories_[0], [5, 1, 0])
    assert_allclose(frame_score.local_score(1, [0, 2]), score.local_score(1, [0, 2]))
    ordered = pd.DataFrame(
        {
            "x": pd.Categorical(
                ["lo", "hi"], categories=["lo", "mid", "hi"], ordered=True
            )
        }
    )
    assert_array_equal(BDe().fit(ordered).categories_[0], ["lo", "mid", "hi"])
    enum = pl.DataFrame({"x": ["lo", "hi"]}).cast(pl.Enum(["lo", "mid", "hi"]))
    assert_array_equal(BDe().fit(enum).categories_[0], ["lo", "mid", "hi"])
    fractions = BDe(categories=[[0.5, 1.5]]).fit([[0.5], [1.5], [0.5]])
    assert_array_equal(fractions.codes_, [[0], [1], [0]])


def frame_with(column):
    return pd.DataFrame({"good": [0, 1, 0], "x3": column})


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (frame_with([1.0, np.nan, 0.0]), "Column 'x3' holds missing"),
        (frame_with(["a", None, "b"]), "Column 'x3' holds missing"),
        (frame_with(pd.array([1, None, 2], dtype="Int64")), "Column 'x3' holds miss"),
        (frame_with(pd.array([True, None, 2], dtype="object")), "'x3' holds missing"),
        (frame_with(pd.Categorical(["a", None, "b"])), "Column 'x3' holds missing"),
        (pl.DataFrame({"x3": ["a", None]}), "Column 'x3' holds missing"),
        (pl.DataFrame({"x3": [True, None]}), "Column 'x3' holds missing"),
        (pl.DataFrame({"x3": [1, None]}), "Column 'x3' holds missing"),
        (frame_with([1.0, np.inf, 0.0]), "Column 'x3' holds infinity"),
        (frame_with([1.0, 2.5, 0.0]), "Column 'x3' holds 2.5, which is not a category"),
        (frame_with([1, "a", 0]), "Column 'x3' mixes values of the types int, str"),
        (
            frame_with(pd.to_datetime(["2020", "2021", "2022"])),
            "Column 'x3' holds dates",
        ),
        (np.array([[0.0, 1.0], [1.0, 2.5]]), "Column 1 holds 2.5"),
        (np.array([[0.0, np.nan], [1.0, 2.0]]), "Column 1 holds missing"),
        (np.array([[0, None], [1, 2]], dtype=object), "Column 1 holds missing"),
        (np.empty((0, 3), dtype=int), "0 sample"),
        (frame_with([0, 1, 2]).iloc[:0], "0 sample"),
        (np.array([0, 1]), "1D array|1 dimension"),
    ],
)
def test_bad_data(X, message):
    with pytest.raises((ValueError, TypeError), match=message):
        BDe().fit(X)
    with pytest.raises((ValueError, TypeError), match=message):
        CategoricalBIC().fit(X)


@pytest.mark.parametrize(
    ("categories", "message"),
    [
        ([[0, 1]], "each of the 2 columns"),
        ([[0, 1], [0, 1]], "Column 1 holds 2, which is not among its categories"),
        ([[0, 1], [0, 1, 1]], "column 1 hold a level twice"),
        ([[0, 1], []], "column 1 are empty"),
        ([[0, 1], [0, 1, None]], "column 1 are empty or hold missing"),
        ("all", "categories"),
    ],
)
def test_bad_categories(categories, message):
    with pytest.raises(ValueError, match=message):
        BDe(categories=categories).fit([[0, 0], [1, 2]])


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0, -1.0], "not negative"),
        ([1.0, np.nan], "finite"),
        ([0.0, 0.0], "zero for every row"),
        ([1.0], "shape"),
    ],
)
def test_bad_weights(weights, message):
    for score in BDe(), CategoricalBIC(), GaussianBIC():
        with pytest.raises(ValueError, match=message):
            score.fit([[0, 0], [1, 2]], sample_weight=weights)


@pytest.mark.parametrize(
    "score",
    [
        BDe(equivalent_sample_size=0),
        BDe(equivalent_sample_size=np.inf),
        BDe(edge_penalty=-1),
        CategoricalBIC(edge_penalty=0),
        GaussianBIC(edge_penalty=0),
        CategoricalBIC(categories="none"),
    ],
)
def test_bad_parameters(score):
    with pytest.raises(ValueError, match="parameter of"):
        score.fit([[0, 0], [1, 2]])


@pytest.mark.parametrize("make", [BDe, CategoricalBIC], ids=["BDe", "BIC"])
def test_little_data(make):
    one_row = make().fit([[3, 4, 5]])
    assert_array_equal(one_row.n_levels_, [1, 1, 1])
    assert_allclose(table(one_row, 0, [1], [2])[:, [2, 3]], 0, atol=1e-12)
    one_column = make().fit([[0], [1], [1]])
    assert_table(one_column, 0, [], np.array([], dtype=int))
    # A constant child has nothing to explain; a constant parent explains nothing.
    X = np.column_stack(
        [np.zeros(20, dtype=int), random_data(np.random.default_rng(7), 20, [2, 3])]
    )
    score = make().fit(X)
    assert_allclose(score.local_score(0, [1, 2]), 0, atol=1e-12)
    assert_allclose(score.local_score(1, [0, 2]), score.local_score(1, [2]))
    assert_table(score, 0, [1], [2])
    assert_table(score, 1, [0], [2])
    duplicated = make().fit(X[:, [1, 1, 2, 2]])
    assert np.isfinite(table(duplicated, 0, [1, 2], [3])[:, [3, 4]]).all()
    few = make().fit(np.random.default_rng(8).integers(3, size=(4, 9)))
    assert_table(few, 0, [1, 2, 3], [4, 5, 6, 7, 8])


# BIC of both kinds


def test_bic_takes_its_kind_from_the_data():
    floats = np.random.default_rng(9).normal(size=(20, 3))
    frame = pd.DataFrame(
        {"age": [*range(20, 26)], "height": [1.7, 1.8, 1.6, 1.75, 1.65, 1.5]}
    )
    for score, X, family in (
        ("bic", floats, GaussianBIC),
        ("auto", floats, BGe),
        ("bic", frame, GaussianBIC),
        ("bic", (floats > 0).tolist(), CategoricalBIC),
        ("bic", floats > 0, CategoricalBIC),
        ("auto", floats > 0, BDe),
        # who says what it is to be is not asked again
        ("bge", floats > 0, BGe),
        ("bde", np.floor(floats), BDe),
        (GaussianBIC(), np.arange(9).reshape(3, 3) ** 2, GaussianBIC),
        (CategoricalBIC(), np.floor(floats), CategoricalBIC),
    ):
        resolved = resolve_score(score, X)
        assert type(resolved) is family
        assert resolved is not score
        resolved.fit(X)
        categorical = family in (BDe, CategoricalBIC)
        assert kind_for(score, X) == ("categorical" if categorical else "continuous")
    mixed = frame.assign(name=["a", "b", "a"] * 2)
    with pytest.raises(ValueError, match=r"column 1 \(holds 1.7\)\. .* column 2"):
        resolve_score("bic", mixed)
    with pytest.raises(ValueError, match=r"column 'height' .* column 'name'"):
        resolve_score("bic", mixed, names=list(mixed))
    assert type(resolve_score("auto", mixed)) is ConditionalGaussian


@pytest.mark.parametrize("weighted", [False, True])
def test_gaussian_bic_is_a_regression(weighted):
    rng = np.random.default_rng(10)
    X = rng.normal(size=(50, 4)) @ rng.normal(size=(4, 4)) + 3
    weights = rng.exponential(size=50) if weighted else np.ones(50)
    score = GaussianBIC().fit(X, sample_weight=weights)
    n = weights.sum()
    for node, parents in (0, []), (1, [0]), (2, [0, 1, 3]):
        design = np.column_stack([np.ones(50), X[:, parents]])
        root = np.sqrt(weights)[:, None]
        fit = np.linalg.lstsq(design * root, X[:, node] * root[:, 0], rcond=None)[0]
        residual = X[:, node] - design @ fit
        variance = (weights * residual**2).sum() / n
        log_density = -0.5 * (np.log(2 * np.pi * variance) + residual**2 / variance)
        expected = (weights * log_density).sum() - 0.5 * log(n) * (len(parents) + 2)
        assert_allclose(score.local_score(node, parents), expected)


def test_gaussian_bic_of_awkward_columns():
    rng = np.random.default_rng(11)
    X = rng.normal(size=(30, 3))
    score = GaussianBIC().fit(X)
    scaled = GaussianBIC().fit(X * [1e8, 1e-8, 1.0])
    shift = 30 * np.log(1e8)
    assert_allclose(scaled.local_score(0, [1, 2]), score.local_score(0, [1, 2]) - shift)
    copies = GaussianBIC().fit(X[:, [0, 1, 1]])
    assert_allclose(
        copies.local_score(0, [1, 2]), copies.local_score(0, [1]) - 0.5 * log(30)
    )
    assert np.isfinite(copies.local_score(1, [2]))
    wide = GaussianBIC().fit(rng.normal(size=(4, 8)))
    assert np.isfinite(wide.local_score(0, range(1, 8)))
    for bad, message in (
        (np.column_stack([X, np.ones(30)]), "Column 3 is constant"),
        (X[:1], "Column 0 is constant"),
        (np.where(X > 1, np.inf, X), "infinity in column 0"),
        (np.where(X > 1, np.nan, X), "NaN in column 0"),
    ):
        with pytest.raises(ValueError, match=message):
            GaussianBIC().fit(bad)
