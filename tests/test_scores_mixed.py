"""The score of mixed data: against a naive twin, BGe, BDe, and itself."""

import itertools

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import integrate
from scipy.special import gammaln, multigammaln
from sklearn.base import clone

from helpers import all_dags
from skbidag import graphs
from skbidag.scores import BDe, BGe, ConditionalGaussian


def mixed_data(seed, n_rows=60, kinds="ccdd", levels=3, shift=1.0):
    """Rows in which every column depends on those before; d is categorical."""
    rng = np.random.default_rng(seed)
    X = np.zeros((n_rows, len(kinds)))
    for j, kind in enumerate(kinds):
        y = X[:, :j] @ rng.normal(scale=shift, size=j) + rng.normal(size=n_rows)
        if kind == "d":
            cuts = np.quantile(y, np.sort(rng.uniform(0.1, 0.9, levels - 1)))
            y = np.searchsorted(cuts, y)
        X[:, j] = y
    return X, np.array([kind == "d" for kind in kinds])


# ------------------------------------------------------------------- a naive twin


def naive_evidence(score, X, categorical, columns, weights=None):
    """L(S) cell by cell, from the densities in the papers."""
    weights = np.ones(len(X)) if weights is None else weights
    dividers = [c for c in columns if categorical[c]]
    numbers = [c for c in columns if not categorical[c]]
    levels = [len(np.unique(X[:, c])) for c in dividers]
    n_cells = np.prod(levels, dtype=float)
    size, alpha = score.equivalent_sample_size, score.alpha_mu / n_cells
    t = score.alpha_mu**2 / (score.alpha_mu + 1)
    total = gammaln(size) - gammaln(size + weights.sum())
    dim, nu = len(numbers), score.alpha_mu + 1
    cells = itertools.product(*[np.unique(X[:, c]) for c in dividers])
    for cell in cells:
        rows = (X[:, dividers] == np.array(cell)).all(axis=1)
        w, n = weights[rows], weights[rows].sum()
        total += gammaln(size / n_cells + n) - gammaln(size / n_cells)
        if n == 0 or dim == 0:
            continue
        z = (X[rows][:, numbers] - score._mean[numbers]) / score._unit[numbers]
        mean = np.average(z, axis=0, weights=w)
        scatter = ((z - mean).T * w) @ (z - mean)
        R = t * np.eye(dim) + scatter + alpha * n / (alpha + n) * np.outer(mean, mean)
        total += (
            dim / 2 * np.log(alpha / (alpha + n))
            + multigammaln((n + nu + dim) / 2, dim)
            - multigammaln((nu + dim) / 2, dim)
            - dim * n / 2 * np.log(np.pi)
            + (nu + dim) / 2 * dim * np.log(t)
            - (n + nu + dim) / 2 * np.linalg.slogdet(R)[1]
            - n * np.log(score._unit[numbers]).sum()
        )
    return total


@pytest.mark.parametrize("kinds", ["cdcdc", "ddcc", "dcddd", "cccdc"])
@pytest.mark.parametrize("levels", [2, 4])
def test_local_scores_are_those_of_a_naive_twin(kinds, levels):
    X, categorical = mixed_data(3, kinds=kinds, levels=levels)
    weights = np.random.default_rng(0).uniform(0.2, 3.0, len(X))
    for w in (None, weights):
        score = ConditionalGaussian(2.0, 0.7, 1.0, categorical_features=categorical)
        score.fit(X, sample_weight=w)
        for node in range(len(kinds)):
            others = [k for k in range(len(kinds)) if k != node]
            for size in range(len(others) + 1):
                for parents in itertools.combinations(others, size):
                    expected = naive_evidence(
                        score, X, categorical, [*parents, node], w
                    ) - naive_evidence(score, X, categorical, parents, w)
                    got = score.log_marginal_likelihood(node, parents)
                    assert_allclose(got, expected, rtol=1e-9, atol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_tables_are_those_of_local_scores(seed):
    rng = np.random.default_rng(seed)
    kinds = "".join(rng.permutation(list("ccccddddd")[: rng.integers(5, 9)]))
    X, categorical = mixed_data(seed, 40 if seed % 2 else 300, kinds, 2 + seed % 3)
    weights = None if seed % 3 else rng.uniform(0.3, 2.5, len(X))
    n = len(kinds)
    prior = rng.normal(size=(n, n))
    score = ConditionalGaussian(categorical_features=categorical)
    score.fit(X, sample_weight=weights, edge_prior=prior)
    for node in range(n):
        others = rng.permutation(np.delete(np.arange(n), node))
        for n_candidates in (0, 2, n - 2, n - 1):
            candidates, outsiders = others[:n_candidates], others[n_candidates:]
            table = np.full((2**n_candidates, n + 1), np.nan)
            score.fill_table(node, candidates, outsiders, n, table)
            expected = np.full_like(table, np.nan)
            super(ConditionalGaussian, score).fill_table(
                node, candidates, outsiders, n, expected
            )
            assert_allclose(table, expected, rtol=1e-10, atol=1e-8)


def test_tables_with_columns_of_their_own():
    X, categorical = mixed_data(5, kinds="cdcdcd")
    score = ConditionalGaussian(categorical_features=categorical).fit(X)
    table, plain = np.full((4, 3), np.nan), np.full((4, 7), np.nan)
    score.fill_table(0, [1, 2], [3, 4], 2, table, columns=np.array([1, 0]))
    score.fill_table(0, [1, 2], [3, 4], 6, plain)
    assert_allclose(table, plain[:, [4, 3, 6]])


@pytest.mark.parametrize("node", [0, 1])
def test_additions_and_pairs(node):
    X, categorical = mixed_data(7, kinds="cdcdcd")
    score = ConditionalGaussian(categorical_features=categorical).fit(X)
    for parents in ([], [2], [3], [2, 3, 5]):
        got = score.addition_scores(node, parents)
        expected = super(ConditionalGaussian, score).addition_scores(node, parents)
        assert_allclose(got, expected, rtol=1e-10)
        pairs = score.pair_scores(node, parents)
        for j, k in itertools.product(range(6), repeat=2):
            new = {j, k} - {node, *parents}
            if len(new) == 2:
                expected = score.local_score(node, [*parents, j, k])
                assert_allclose(pairs[j, k], expected, rtol=1e-10)
            else:
                assert pairs[j, k] == -np.inf


# ------------------------------------------------------------ BGe, BDe, equivalence


def test_continuous_data_give_bge():
    X, _ = mixed_data(1, kinds="ccccc")
    X = X * [1e-3, 1, 50, 1, 1] + [0, 1e3, 0, 0, 1]
    weights = np.random.default_rng(1).uniform(0, 2, len(X))
    for alpha_mu, w in ((1.0, None), (0.3, weights)):
        mixed = ConditionalGaussian(alpha_mu=alpha_mu).fit(X, sample_weight=w)
        bge = BGe(alpha_mu=alpha_mu).fit(X, sample_weight=w)
        for A in all_dags(4)[::37]:
            A = np.pad(A, (0, 1))
            A[0, 4] = A[2, 4] = True
            assert_allclose(mixed.dag_score(A), bge.dag_score(A), rtol=1e-10)
        new = X[:7] + 0.5
        assert_allclose(
            mixed.log_predictive(new, 3, [0, 4]), bge.log_predictive(new, 3, [0, 4])
        )
        assert_allclose(mixed.edge_penalty_, bge.edge_penalty_)


def test_categorical_data_give_bde():
    X, _ = mixed_data(2, kinds="ddddd", levels=4)
    X = X.astype(int)
    mixed = ConditionalGaussian(equivalent_sample_size=3.0).fit(X)
    bde = BDe(3.0).fit(X)
    for A in all_dags(4)[::37]:
        A = np.pad(A, (0, 1))
        A[0, 4] = A[2, 4] = True
        assert_allclose(mixed.dag_score(A), bde.dag_score(A), rtol=1e-10)
    new = X[:7].copy()
    new[0, 3], new[1, 0] = 9, 9
    for parents in ([], [0, 4]):
        assert_allclose(
            mixed.log_predictive(new, 3, parents), bde.log_predictive(new, 3, parents)
        )


@pytest.mark.slow
@pytest.mark.parametrize("kinds", ["ccdd", "cddd", "cccd"])
def test_equivalent_dags_have_the_same_score(kinds):
    X, categorical = mixed_data(11, kinds=kinds)
    score = ConditionalGaussian(categorical_features=categorical).fit(X)
    dags = all_dags(4)
    scores = np.array([score.dag_score(A) for A in dags])
    classes = {}
    for A, value in zip(dags, scores, strict=True):
        classes.setdefault(graphs.to_cpdag(A).tobytes(), []).append(value)
    assert len(classes) == 185
    for values in classes.values():
        assert_allclose(values, values[0], rtol=1e-11)


# -------------------------------------------------------------------- what rows say


def test_rows_in_another_order_and_weights_give_the_same_bits():
    X, categorical = mixed_data(4, kinds="cdcd")
    rng = np.random.default_rng(0)
    weights = rng.integers(0, 4, len(X))
    order = rng.permutation(len(X))
    score = ConditionalGaussian(categorical_features=categorical)
    tables = []
    for rows, w in (
        (X, weights),
        (X[order], weights[order]),
        (np.repeat(X, weights, axis=0), None),
    ):
        table = np.zeros((4, 5))
        clone(score).fit(rows, sample_weight=w).fill_table(0, [1, 2], [3], 4, table)
        tables.append(table)
    assert_array_equal(tables[0], tables[1])
    assert_array_equal(tables[0], tables[2])


def test_units_do_not_matter():
    X, categorical = mixed_data(6, kinds="cdcd")
    moved = X * [1e-4, 1, 1e5, 1] + [1e3, 0, -7, 0]
    score = ConditionalGaussian(categorical_features=categorical)
    one, other = clone(score).fit(X), clone(score).fit(moved)
    for node, parents in ((0, [1, 2]), (1, [0, 2, 3]), (3, [0])):
        gain = one.local_score(node, parents) - one.local_score(node, [])
        again = other.local_score(node, parents) - other.local_score(node, [])
        assert_allclose(again, gain, rtol=1e-6)


@pytest.mark.parametrize("library", [pd, pl])
def test_frames_say_which_columns_are_categorical(library):
    X, _ = mixed_data(8, kinds="cdcd")
    labels = np.array(["low", "mid", "high"])
    columns = {
        "age": X[:, 0],
        "group": labels[X[:, 1].astype(int)],
        "dose": X[:, 2],
        "sick": X[:, 3] > 0,
    }
    score = ConditionalGaussian().fit(library.DataFrame(columns))
    assert score.is_categorical_.tolist() == [False, True, False, True]
    assert score.categories_[1].tolist() == ["high", "low", "mid"]
    assert score.categories_[0] is None
    codes = np.column_stack(
        [X[:, 0], [(2, 0, 1).index(c) for c in X[:, 1]], X[:, 2], X[:, 3] > 0]
    )
    plain = ConditionalGaussian(categorical_features=[1, 3]).fit(codes)
    assert_allclose(score.local_score(3, [0, 1]), plain.local_score(3, [0, 1]))


def test_categories_that_are_given():
    X, categorical = mixed_data(8, kinds="cd", levels=2)
    given = ConditionalGaussian(categories=[None, [0, 1, 2]]).fit(X)
    seen = ConditionalGaussian(categorical_features=categorical).fit(X)
    assert given.n_levels_.tolist() == [0, 3]
    assert given.local_score(0, [1]) != seen.local_score(0, [1])
    with pytest.raises(ValueError, match="not among its categories"):
        ConditionalGaussian(categories=[None, [0, 2]]).fit(X)


# -------------------------------------------------------------------- extreme cells


def test_extreme_cells_have_finite_scores():
    rng = np.random.default_rng(0)
    n_rows = 50
    rare = np.zeros(n_rows)
    rare[0] = 1  # a cell with one row
    many = rng.integers(20, size=n_rows)  # 20 levels, most with a few rows
    within = rng.normal(size=n_rows)
    within[rare == 0] = 3.0  # constant within a cell
    constant = np.full(n_rows, 2.0)
    X = np.column_stack(
        [rare, many, within, constant, 1e8 + rng.normal(size=n_rows), constant]
    )
    score = ConditionalGaussian(categorical_features=[0, 1, 5]).fit(X)
    n = X.shape[1]
    for node in range(n):
        others = np.delete(np.arange(n), node)
        table, expected = np.empty((2 ** (n - 1), 1)), np.empty((2 ** (n - 1), 1))
        score.fill_table(node, others, others[:0], 0, table)
        super(ConditionalGaussian, score).fill_table(
            node, others, others[:0], 0, expected
        )
        assert np.isfinite(table).all()
        assert_allclose(table, expected, rtol=1e-9)
        assert np.isfinite(score.log_predictive(X, node, others)).all()


def test_many_rows():
    X, categorical = mixed_data(2, 100_000, "cdcd")
    score = ConditionalGaussian(categorical_features=categorical).fit(X)
    table = np.empty((8, 1))
    score.fill_table(0, [1, 2, 3], [], 0, table)
    for mask in range(8):
        parents = [k + 1 for k in range(3) if mask >> k & 1]
        assert_allclose(table[mask, 0], score.local_score(0, parents), rtol=1e-10)


def test_a_column_told_by_others_is_refused():
    X, _ = mixed_data(2, kinds="cdcc")
    X[:, 3] = 2 * X[:, 0]
    score = ConditionalGaussian(categorical_features=[1])
    assert np.isfinite(score.fit(X).local_score(3, [0, 1]))
    with pytest.raises(ValueError, match="linear combination"):
        score.fit(X, sample_weight=np.full(len(X), 1e6))


# ------------------------------------------------------------- conditionals of rows


def total_density(score, row, node, parents):
    """Integral of the density of a number in a row over all its values."""
    location, scale, _ = score._student_t(row[None], node, np.array(parents, int))

    def density(angle):
        completed = row.copy()
        completed[node] = location[0] + scale[0] * np.tan(angle)
        log_density = score.log_predictive_rows(completed[None], node, parents)
        return np.exp(log_density[0]) * scale[0] / np.cos(angle) ** 2

    return integrate.quad(density, -np.pi / 2, np.pi / 2, epsabs=1e-9)[0]


@pytest.mark.parametrize("parents", [[], [1], [2], [1, 2, 3]])
def test_conditionals_of_numbers_integrate_to_one(parents):
    X, categorical = mixed_data(9, kinds="cdcd")
    score = ConditionalGaussian(categorical_features=categorical).fit(X)
    for row in (X[0], np.array([0.0, -1.0, 5.0, 2.0])):  # -1: a level never seen
        assert_allclose(total_density(score, row, 0, parents), 1.0, atol=1e-6)


@pytest.mark.parametrize("parents", [[], [0], [3], [0, 2, 3]])
def test_conditionals_of_categories_add_up_to_one(parents):
    X, categorical = mixed_data(9, kinds="cdcd")
    score = ConditionalGaussian(categorical_features=categorical).fit(X)
    total = 0.0
    for level in range(3):
        rows = X.copy()
        rows[:, 1] = level
        total = total + np.exp(score.log_predictive(rows, 1, parents))
    assert_allclose(total, 1.0)


def without_last_row(score, X):
    """The score of all rows but the last, with the prior of all of them."""
    fewer = clone(score).fit(X)
    prior = score._mean, score._unit
    fewer._scale = lambda *_: [part[~score.is_categorical_] for part in prior]
    fewer._set_rows(score._as_numbers([*X.T])[:-1], np.ones(len(X) - 1))
    return fewer


def test_predictions_follow_from_the_score():
    # without a continuous parent of a category, the score is the product of predictions
    X, categorical = mixed_data(9, 30, kinds="cdcd")
    score = ConditionalGaussian(edge_penalty=1.0, categorical_features=categorical)
    score.fit(X)
    before = without_last_row(score, X)
    for node, parents in ((0, [1, 2]), (2, [3]), (1, [3]), (3, [])):
        gain = score.local_score(node, parents) - before.log_marginal_likelihood(
            node, parents
        )
        assert_allclose(gain, before.log_predictive(X[-1:], node, parents)[0])


def test_drawn_values_have_their_distribution():
    X, categorical = mixed_data(9, kinds="cdcd")
    score = ConditionalGaussian(categorical_features=categorical).fit(X)
    n = 40_000
    rows = np.tile(X[:1], (n, 1))
    drawn = score.sample_predictive(rows, 1, [0, 3], random_state=0)
    for level in range(3):
        one = X[:1].copy()
        one[0, 1] = level
        p = np.exp(score.log_predictive(one, 1, [0, 3]))[0]
        # five standard errors
        assert abs((drawn == level).mean() - p) < 5 * np.sqrt(p * (1 - p) / n)
    drawn = score.sample_predictive(rows, 0, [1, 2], random_state=0)
    grid = np.linspace(np.quantile(drawn, 0.001), np.quantile(drawn, 0.7), 2001)
    on_grid = np.tile(X[:1], (len(grid), 1))
    on_grid[:, 0] = grid
    density = np.exp(score.log_predictive(on_grid, 0, [1, 2]))
    share = integrate.trapezoid(density, grid)
    assert abs(share - 0.699) < 5 * np.sqrt(0.7 * 0.3 / n) + 1e-3


def test_no_continuous_causes():
    X, categorical = mixed_data(9, kinds="cdcd")
    score = ConditionalGaussian(
        continuous_causes=False, categorical_features=categorical
    ).fit(X)
    expected = np.zeros((4, 4), dtype=bool)
    expected[np.ix_([0, 2], [1, 3])] = True
    assert_array_equal(score.forbidden_edges_, expected)


def test_cells_without_rows_are_drawn_from_the_prior_each_by_itself():
    rng = np.random.default_rng(0)
    cause = np.repeat([0, 1], 30)  # 2 and 3 are never seen
    X = np.column_stack([cause, rng.integers(3, size=60), rng.normal(size=60)])
    score = ConditionalGaussian(
        categories=[np.arange(4), np.arange(3), None], ordinal=None
    ).fit(X)
    draw = np.random.RandomState(1)
    unseen = np.array([[2.0, 0.0, 0.0], [3.0, 0.0, 0.0]])
    levels, numbers = [], []
    for _ in range(2000):
        levels.append(score.draw_family(1, np.array([0]), draw)[0](unseen))
        numbers.append(score.draw_family(2, np.array([0]), draw)[0](unseen))
    levels, numbers = np.array(levels), np.array(numbers)
    # a Dirichlet distribution with a twelfth for each level, the same but independent
    variance = 1 / 3 * 2 / 3 / (1 / 4 + 1)
    assert_allclose(levels.mean(axis=0), 1 / 3, atol=4 * np.sqrt(variance / 2000))
    assert_allclose(levels.var(axis=0), variance, atol=0.02)
    for draws in (levels[:, :, 0], np.tanh(numbers)):
        assert abs(np.corrcoef(draws.T)[0, 1]) < 4 / np.sqrt(2000)
