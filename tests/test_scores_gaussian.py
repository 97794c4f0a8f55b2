"""BGe: reference values, a naive twin, exact arithmetic, and bad input."""

import itertools
import math
import tracemalloc
from fractions import Fraction
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import quad
from scipy.special import gammaln
from sklearn.base import clone

from helpers import DATA, all_dags, read_data
from skbidag.graphs import to_cpdag
from skbidag.scores import (
    BaseScore,
    BGe,
    GaussianBIC,
    GaussianScore,
    GaussianTerms,
    _scatter,
)
from skbidag.scores._gaussian import least_residual_share
from skbidag.scores._scatter import weighted_scatter

# The reference values, and the twins here, have the mean 0 and one scale for all.
PaperBGe = partial(BGe, prior="paper", edge_penalty=1.0)
# BiDAG's names of the parameters
PARAMETERS = {"am": "alpha_mu", "aw": "alpha_w", "edgepf": "edge_penalty"}


def reference_rows(file):
    rows = pd.read_csv(DATA / file, keep_default_na=False)
    return rows[rows["score"] == "bge"]


def score_from(setting):
    """A BGe score from a setting such as ``am=0.1;aw=30``."""
    pairs = [pair.split("=") for pair in setting.split(";")]
    return PaperBGe(**{PARAMETERS[name]: float(value) for name, value in pairs})


def correlated(rng, n_samples, n):
    """Gaussian data in which every column depends on the ones before, and a mean."""
    X = rng.normal(size=(n_samples, n))
    for j in range(1, n):
        X[:, j] += X[:, :j] @ rng.normal(size=j)
    return X + rng.normal(size=n)


def naive_score(X, node, parents, alpha_mu=1.0, alpha_w=None):
    """The formula as it is written, with a determinant and a solution per set."""
    N, n = X.shape
    l = len(parents)  # noqa: E741 (the formula's letter)
    alpha_w = n + alpha_mu + 1 if alpha_w is None else alpha_w
    t = alpha_mu * (alpha_w - n - 1) / (alpha_mu + 1)
    mean = X.mean(axis=0)
    T = t * np.eye(n) + (X - mean).T @ (X - mean)
    T += alpha_mu * N / (alpha_mu + N) * np.outer(mean, mean)
    parents = list(parents)
    block, row = T[np.ix_(parents, parents)], T[node, parents]
    variance = T[node, node] - row @ np.linalg.solve(block, row)
    a = alpha_w - n + l + 1
    return (
        -N / 2 * np.log(np.pi)
        + np.log(alpha_mu / (alpha_mu + N)) / 2
        - gammaln(a / 2)
        + gammaln((a + N) / 2)
        + (a + l) / 2 * np.log(t)
        - (a + N) / 2 * np.log(variance)
        - np.linalg.slogdet(block).logabsdet / 2
    )


def exact_score(X, node, parents):
    """The default score with its linear algebra in exact fractions."""
    N, l = len(X), len(parents)  # noqa: E741
    columns = [[Fraction(float(x)) for x in X[:, j]] for j in [*parents, node]]
    means = [sum(c) / N for c in columns]
    block = [
        [
            sum((x - mi) * (y - mj) for x, y in zip(ci, cj, strict=True))
            + Fraction(N, N + 1) * mi * mj
            + (Fraction(1, 2) if i == j else 0)
            for j, (cj, mj) in enumerate(zip(columns, means, strict=True))
        ]
        for i, (ci, mi) in enumerate(zip(columns, means, strict=True))
    ]
    log_det = 0.0
    for k in range(l):
        log_det += math.log(block[k][k])
        for i in range(k + 1, l + 1):
            factor = block[i][k] / block[k][k]
            for j in range(k + 1, l + 1):
                block[i][j] -= factor * block[k][j]
    a = l + 3
    return (
        -N / 2 * math.log(math.pi)
        + math.log(1 / (1 + N)) / 2
        - math.lgamma(a / 2)
        + math.lgamma((a + N) / 2)
        + (a + l) / 2 * math.log(0.5)
        - (a + N) / 2 * math.log(block[l][l])
        - log_det / 2
    )


# ------------------------------------------------------------- reference values


@pytest.mark.parametrize(
    ("dataset", "setting"),
    sorted(
        set(reference_rows("local_scores.csv").groupby(["dataset", "setting"]).groups)
    ),
)
def test_local_scores_of_bidag(dataset, setting):
    score = score_from(setting).fit(read_data(dataset))
    rows = reference_rows("local_scores.csv").query(
        "dataset == @dataset and setting == @setting"
    )
    assert len(rows) == 30
    for node, parents, value in zip(
        rows["node"], rows["parents"], rows["value"], strict=True
    ):
        parents = [int(p) for p in str(parents).split(";") if p]
        # BiDAG penalizes a node with l parents l + 1 times
        ours = score.local_score(node, parents) - np.log(score.edge_penalty)
        assert_allclose(ours, float(value), rtol=1e-8)


@pytest.mark.parametrize(
    ("dataset", "setting", "value"),
    reference_rows("dag_scores.csv")[["dataset", "setting", "value"]].to_numpy(),
)
def test_dag_scores_of_bidag(dataset, setting, value):
    score = score_from(setting).fit(read_data(dataset))
    A = read_data(f"{dataset}_dag")
    ours = score.dag_score(A) - len(A) * np.log(score.edge_penalty)
    assert_allclose(ours, value, rtol=1e-8)


@pytest.mark.parametrize("column", ["plug_in", "marginal"])
def test_predictive_density_of_reference(column):
    X, A = read_data("gauss12"), read_data("gauss12_dag")
    reference = pd.read_csv(DATA / "predictive_gauss12.csv")
    score = PaperBGe().fit(X[:100])
    ours = score.dag_log_density(X[reference["row"]], A, plug_in=column == "plug_in")
    assert_allclose(ours, reference[column], rtol=1e-7)


def test_density_of_a_dag_checks_the_dag():
    X = correlated(np.random.default_rng(0), 30, 3)
    score = BGe().fit(X)
    with pytest.raises(ValueError, match="cycle"):
        score.dag_log_density(X, [[0, 1, 0], [1, 0, 0], [0, 0, 0]])
    with pytest.raises(ValueError, match=r"shape \(3, 3\)"):
        score.dag_log_density(X, np.zeros((2, 2)))
    with pytest.raises(ValueError, match="features"):
        score.dag_log_density(X[:, :2], np.zeros((3, 3)))


# ------------------------------------------------------------------------ twins


@pytest.mark.parametrize("n_samples", [1, 3, 200])
@pytest.mark.parametrize(
    "parameters", [{}, {"alpha_mu": 0.1}, {"alpha_mu": 2.5, "alpha_w": 11.5}]
)
def test_naive_twin(n_samples, parameters):
    X = correlated(np.random.default_rng(0), n_samples, 6)
    score = PaperBGe(**parameters).fit(X)
    for size in range(6):
        for parents in itertools.combinations(range(1, 6), size):
            expected = naive_score(X, 0, parents, **parameters)
            assert_allclose(score.local_score(0, parents), expected, rtol=1e-10)
            assert score.local_score(0, parents[::-1]) == score.local_score(0, parents)


@pytest.mark.parametrize(
    "scales",
    [
        [1, 1, 1, 1],
        [1e8] * 4,
        [1e-8] * 4,
        [1e8, 1, 1e-8, 1],
        [1, 1e8, 1, 1e-8],
        [1e80, 1, 1, 1e100],
        [1e100] * 4,
        [1e-200] * 4,
    ],
)
def test_scaled_columns_against_exact_arithmetic(scales):
    X = correlated(np.random.default_rng(1), 20, 4) * scales
    score = PaperBGe().fit(X)
    for node, parents in [(0, []), (0, [1, 2, 3]), (2, [0, 1]), (3, [0, 1, 2])]:
        assert_allclose(
            score.local_score(node, parents), exact_score(X, node, parents), rtol=1e-9
        )


def test_equivalent_dags_of_four_nodes_score_the_same():
    X = correlated(np.random.default_rng(2), 50, 4)
    score = PaperBGe(alpha_mu=0.7).fit(X)
    classes = {}
    for A in all_dags(4):
        classes.setdefault(to_cpdag(A).tobytes(), []).append(score.dag_score(A))
    assert len(classes) == 185
    for scores in classes.values():
        assert_allclose(scores, scores[0], rtol=1e-11)
    # and different classes do not
    assert len({round(scores[0], 6) for scores in classes.values()}) == 185


def test_covered_edge_reversals_leave_the_score():
    rng = np.random.default_rng(3)
    n, n_reversals = 12, 0
    score = PaperBGe().fit(correlated(rng, 40, n))
    for _ in range(20):
        order = rng.permutation(n)
        A = np.triu(rng.random((n, n)) < 0.4, 1)[np.ix_(order, order)]
        expected = score.dag_score(A)
        for _ in range(10):
            covered = [
                (i, j)
                for i, j in np.argwhere(A)
                if np.array_equal(
                    np.flatnonzero(A[:, i]), np.setdiff1d(np.flatnonzero(A[:, j]), i)
                )
            ]
            if not covered:
                break
            i, j = covered[rng.integers(len(covered))]
            A[i, j], A[j, i] = False, True
            n_reversals += 1
            assert_allclose(score.dag_score(A), expected, rtol=1e-10)
    assert n_reversals > 100


# ------------------------------------------------------------ weights and priors


def test_weights_count_rows():
    rng = np.random.default_rng(4)
    X = correlated(rng, 30, 4)
    weights = rng.integers(0, 4, size=30)
    weighted = PaperBGe().fit(X, sample_weight=weights)
    repeated = PaperBGe().fit(np.repeat(X, weights, axis=0))
    kept = PaperBGe().fit(X[weights > 0], sample_weight=weights[weights > 0])
    assert weighted.n_effective_ == weights.sum()
    for parents in ([], [1], [1, 2, 3]):
        expected = repeated.local_score(0, parents)
        assert_allclose(weighted.local_score(0, parents), expected, rtol=1e-12)
        assert_allclose(kept.local_score(0, parents), expected, rtol=1e-12)


def test_rows_without_weight_do_not_count_however_wild():
    X = correlated(np.random.default_rng(5), 20, 3)
    wild = np.vstack([X, [1e6, -1e6, 1e6]])
    weights = np.append(np.ones(20), 0.0)
    expected = PaperBGe().fit(X).local_score(0, [1, 2])
    ours = PaperBGe().fit(wild, sample_weight=weights).local_score(0, [1, 2])
    assert_allclose(ours, expected, rtol=1e-12)


def test_fractional_weights():
    X = correlated(np.random.default_rng(6), 20, 3)
    half = PaperBGe().fit(np.vstack([X, X]), sample_weight=np.full(40, 0.5))
    expected = PaperBGe().fit(X).local_score(0, [1, 2])
    assert_allclose(half.local_score(0, [1, 2]), expected, rtol=1e-12)


def test_edge_prior_and_penalty():
    rng = np.random.default_rng(7)
    X, prior = correlated(rng, 20, 4), rng.normal(size=(4, 4))
    plain = PaperBGe().fit(X)
    score = PaperBGe(edge_penalty=3.0).fit(X, edge_prior=prior)
    for node, parents in [(0, []), (0, [1, 3]), (2, [0, 1, 3])]:
        expected = plain.local_score(node, parents)
        expected += prior[parents, node].sum() - len(parents) * np.log(3.0)
        assert_allclose(score.local_score(node, parents), expected, rtol=1e-12)
    # not part of the likelihood
    assert score.log_marginal_likelihood(0, [1]) == plain.log_marginal_likelihood(
        0, [1]
    )
    # a new fit does not remember it
    assert score.fit(X).local_score(0, [1]) != score.fit(
        X, edge_prior=prior
    ).local_score(0, [1])


def test_clone_and_parameters():
    score = clone(PaperBGe(alpha_mu=2.0, edge_penalty=3.0))
    assert score.get_params() == {
        "alpha_mu": 2.0,
        "alpha_w": None,
        "edge_penalty": 3.0,
        "prior": "paper",
    }


# ----------------------------------------------------------- predictive density


@pytest.mark.parametrize("plug_in", [False, True])
@pytest.mark.parametrize("parents", [[], [1], [1, 2]])
def test_predictive_density_integrates_to_one(parents, plug_in):
    X = correlated(np.random.default_rng(8), 5, 3)
    score = PaperBGe().fit(X)
    row = np.array([[0.0, 0.3, -2.0]])

    def density(value):
        row[0, 0] = value
        return math.exp(score.log_predictive(row, 0, parents, plug_in=plug_in)[0])

    total, _ = quad(density, -np.inf, np.inf)
    assert_allclose(total, 1.0, atol=1e-7)


@pytest.mark.parametrize("n_samples", [1, 2, 30])
def test_predictive_density_is_a_ratio_of_marginal_likelihoods(n_samples):
    rng = np.random.default_rng(9)
    X, new = correlated(rng, n_samples, 5), correlated(rng, 4, 5)
    before = PaperBGe(alpha_mu=0.4, alpha_w=9.0).fit(X)
    for parents in ([], [2], [1, 2, 3, 4]):
        ours = before.log_predictive(new, 0, parents)
        for row, value in zip(new, ours, strict=True):
            after = clone(before).fit(np.vstack([X, row]))
            expected = after.log_marginal_likelihood(0, parents)
            expected -= before.log_marginal_likelihood(0, parents)
            assert_allclose(value, expected, rtol=1e-9)


def test_predictive_density_checks_its_rows():
    X = pd.DataFrame(correlated(np.random.default_rng(10), 9, 3), columns=list("abc"))
    score = PaperBGe().fit(X)
    with pytest.raises(ValueError, match="NaN in column 'b'"):
        score.log_predictive(X.assign(b=np.nan), 0, [1])
    with pytest.raises(ValueError, match="feature names"):
        score.log_predictive(X[["c", "b", "a"]], 0, [1])
    with pytest.raises(ValueError, match="1 features, but BGe is expecting 3"):
        PaperBGe().fit(X.to_numpy()).log_predictive(X.to_numpy()[:, :1], 0, [1])


# --------------------------------------------------- unusual data: right answers


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda X: np.c_[X, np.full(len(X), 3.0)], id="constant"),
        pytest.param(lambda X: np.c_[X, np.zeros(len(X))], id="zeros"),
        pytest.param(lambda X: np.c_[X, X[:, 0]], id="duplicated"),
        pytest.param(lambda X: np.c_[X, X[:, 0] - 2 * X[:, 1]], id="collinear"),
        pytest.param(lambda X: X[:2], id="fewer rows than columns"),
        pytest.param(lambda X: X[:1], id="one row"),
        pytest.param(lambda X: X[:1] * 0, id="one row of zeros"),
        pytest.param(lambda X: X + 1000.0, id="far from zero"),
    ],
)
def test_degenerate_data_have_exact_scores(make):
    X = make(correlated(np.random.default_rng(11), 15, 3))
    score = PaperBGe().fit(X)
    n = X.shape[1]
    for node in range(n):
        others = [j for j in range(n) if j != node]
        for parents in ([], others[:1], others):
            assert_allclose(
                score.local_score(node, parents),
                exact_score(X, node, parents),
                rtol=1e-8,
            )


def test_one_column():
    X = np.array([[1.0], [2.0], [4.0]])
    score = PaperBGe().fit(X)
    assert_allclose(score.local_score(0, []), exact_score(X, 0, []), rtol=1e-12)
    assert score.dag_score([[0]]) == score.local_score(0, [])


def test_integers_and_lists_are_numbers():
    X = np.arange(12).reshape(4, 3) ** 2
    expected = PaperBGe().fit(X.astype(float)).local_score(0, [1])
    assert PaperBGe().fit(X).local_score(0, [1]) == expected
    assert PaperBGe().fit(X.tolist()).local_score(0, [1]) == expected
    assert PaperBGe().fit(pl.DataFrame(X)).local_score(0, [1]) == expected


@pytest.mark.parametrize("noise", [1e-2, 1e-3, 2e-4])
def test_rounding_of_nearly_collinear_columns(noise):
    """Many rows magnify rounding; what is not refused is right to 0.01 nats."""
    rng = np.random.default_rng(12)
    N = 100_000
    X = rng.normal(size=(N, 3))
    X[:, 2] = X[:, 0] + X[:, 1] + noise * X[:, 2]
    score = PaperBGe().fit(X)
    wide = X.astype(np.longdouble)
    mean = wide.mean(axis=0)
    T = np.eye(3) * np.longdouble(0.5) + np.outer(mean, mean) * N / (N + 1)
    for i, j in itertools.product(range(3), repeat=2):
        T[i, j] += ((wide[:, i] - mean[i]) * (wide[:, j] - mean[j])).sum()
    for k in range(2):
        T[k + 1 :, k + 1 :] -= np.outer(T[k + 1 :, k], T[k, k + 1 :]) / T[k, k]
    log_det = np.log(T[0, 0]) + np.log(T[1, 1])
    terms = score.node_terms(2)
    expected = terms.offset[2] - terms.slope[2] * np.log(T[2, 2]) - log_det / 2
    assert_allclose(score.local_score(2, [0, 1]), float(expected), rtol=0, atol=0.01)


# ------------------------------------------------------------- bad data: messages


def frame(X):
    return pd.DataFrame(X, columns=[f"v{j}" for j in range(X.shape[1])])


@pytest.mark.parametrize(
    ("convert", "name"),
    [
        (np.asarray, "2"),
        (frame, "'v2'"),
        (lambda X: pl.DataFrame(frame(X).to_dict("list")), "'v2'"),
    ],
    ids=["numpy", "pandas", "polars"],
)
@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.nan, "Input X contains NaN in column {}."),
        (np.inf, "Input X contains infinity in column {}."),
        (-np.inf, "Input X contains infinity in column {}."),
        (1e200, "Column {} has values too large to square"),
        (-1.7e308, "Column {} has values too large to square"),
    ],
)
def test_values_that_are_refused_with_their_column(convert, name, value, message):
    X = correlated(np.random.default_rng(13), 10, 4)
    X[3:5, 2] = value
    with pytest.raises(ValueError, match=message.format(name)):
        PaperBGe().fit(convert(X))


@pytest.mark.parametrize("library", [pd, pl])
def test_text_is_refused_with_its_column(library):
    X = library.DataFrame({"a": [1.0, 2.0], "b": ["x", "1"], "c": ["y", "2"]})
    with pytest.raises(ValueError, match="Column 'b' holds values that are not num"):
        PaperBGe().fit(X)


@pytest.mark.parametrize("convert", [np.asarray, frame])
def test_collinear_columns_at_a_large_scale_are_named(convert):
    """The prior that tells them apart is lost beside squares of 1e16."""
    X = correlated(np.random.default_rng(14), 50, 5)
    X[:, 3] = X[:, 1] - X[:, 0]
    with pytest.raises(ValueError, match=r"Column '?v?[013]'? is a linear combination"):
        PaperBGe().fit(convert(X * 1e8))
    X[:, 3] = X[:, 1]
    with pytest.raises(ValueError, match=r"Column '?v?[13]'? is a linear combination"):
        PaperBGe().fit(convert(X * 1e8))


def test_columns_best_explained():
    rng = np.random.default_rng(15)
    X = rng.normal(size=(100, 4))
    X[:, 2] = X[:, 0] + 0.01 * X[:, 2]
    T = X.T @ X
    column, share = least_residual_share(T)
    assert column in (0, 2)
    assert_allclose(share, 1 / (T[column, column] * np.linalg.inv(T)[column, column]))
    assert least_residual_share(np.ones((3, 3)))[1] == 0.0


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([], "0 sample"),
        (np.empty((0, 3)), "0 sample"),
        (pd.DataFrame({"a": []}), "0 sample"),
        (np.empty((5, 0)), "0 feature"),
        (np.arange(5.0), "Expected 2D array"),
        (np.ones((2, 2, 2)), "dim 3"),
        (np.ones((3, 2)) * 1j, "Complex data"),
    ],
)
def test_shapes_that_are_refused(X, message):
    with pytest.raises(ValueError, match=message):
        PaperBGe().fit(X)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (-np.ones(5), "finite and not negative"),
        (np.ones(4), "sample_weight"),
        (np.zeros(5), "zero for every row"),
        (np.full(5, np.nan), "finite and not negative"),
        (np.full(5, np.inf), "finite and not negative"),
        (2.0, "must have shape"),
    ],
)
def test_weights_that_are_refused(weights, message):
    X = correlated(np.random.default_rng(16), 5, 2)
    with pytest.raises(ValueError, match=message):
        PaperBGe().fit(X, sample_weight=weights)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"alpha_mu": 0}, "'alpha_mu' parameter"),
        ({"alpha_mu": -1.0}, "'alpha_mu' parameter"),
        ({"alpha_mu": np.nan}, "'alpha_mu' parameter"),
        ({"alpha_mu": np.inf}, "'alpha_mu' parameter"),
        ({"alpha_mu": "1"}, "'alpha_mu' parameter"),
        ({"alpha_mu": None}, "'alpha_mu' parameter"),
        ({"alpha_w": -1.0}, "'alpha_w' parameter"),
        ({"alpha_w": "a"}, "'alpha_w' parameter"),
        ({"alpha_w": 4}, r"alpha_w must be greater than n_features \+ 1 = 4, got 4"),
        ({"alpha_w": 2.5}, r"alpha_w must be greater than n_features \+ 1 = 4"),
        ({"edge_penalty": 0.0}, "'edge_penalty' parameter"),
        ({"edge_penalty": [1.0]}, "'edge_penalty' parameter"),
    ],
)
def test_parameters_that_are_refused(parameters, message):
    X = correlated(np.random.default_rng(17), 5, 3)
    with pytest.raises(ValueError, match=message):
        PaperBGe(**parameters).fit(X)


def test_alpha_w_just_above_its_limit():
    X = correlated(np.random.default_rng(18), 9, 3)
    score = PaperBGe(alpha_w=4.001).fit(X)
    expected = naive_score(X, 0, [1, 2], alpha_w=4.001)
    assert_allclose(score.local_score(0, [1, 2]), expected, rtol=1e-10)


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        (np.zeros((2, 3)), r"edge_prior must have shape \(3, 3\), got \(2, 3\)"),
        (np.zeros(3), "edge_prior must have shape"),
        (np.full((3, 3), -np.inf), "edge_prior must be finite"),
        (np.full((3, 3), np.nan), "edge_prior must be finite"),
    ],
)
def test_edge_priors_that_are_refused(prior, message):
    X = correlated(np.random.default_rng(19), 5, 3)
    with pytest.raises(ValueError, match=message):
        PaperBGe().fit(X, edge_prior=prior)


@pytest.mark.parametrize(
    ("node", "parents"), [(0, [0]), (0, [1, 1]), (0, [3]), (0, [-1]), (5, []), (-1, [])]
)
def test_parents_that_are_refused(node, parents):
    score = PaperBGe().fit(correlated(np.random.default_rng(20), 5, 3))
    with pytest.raises(ValueError, match="parents must be different columns"):
        score.local_score(node, parents)


@pytest.mark.parametrize(
    ("adjacency", "message"),
    [
        (np.zeros((2, 3)), r"shape \(3, 3\), got \(2, 3\)"),
        (np.zeros((4, 4)), r"shape \(3, 3\), got \(4, 4\)"),
        (np.zeros(3), r"shape \(3, 3\), got \(3,\)"),
        (np.eye(3), "adjacency has an edge from node 0 to itself"),
        (np.eye(3)[[1, 2, 0]], "adjacency must be a DAG, but it has a cycle"),
    ],
)
def test_graphs_that_are_no_dag_of_the_variables(adjacency, message):
    score = PaperBGe().fit(correlated(np.random.default_rng(0), 10, 3))
    with pytest.raises(ValueError, match=message):
        score.dag_score(adjacency)


# ------------------------------------------------------------- terms of each node


class PerNode(GaussianScore):
    """Each node with rows, weights of terms and constants of its own.

    As if each node had been observed in other experiments than the next.
    """

    def _fit(self, X, sample_weight):
        rng, n = np.random.default_rng(0), X.shape[1]
        sizes = np.arange(n + 1)
        self.terms_ = []
        for node in range(n):
            rows = X[node::3]
            self.terms_.append(
                GaussianTerms(
                    matrix=rows.T @ rows + np.eye(n),
                    floor=rng.uniform(0.5, 1.0, n),
                    offset=rng.normal(size=n + 1),
                    slope=len(rows) / 2 + sizes * rng.random(),
                    det_weight=rng.random(),
                )
            )

    def node_terms(self, node):
        return self.terms_[node]


@pytest.mark.parametrize("make", [PerNode, GaussianBIC, BGe])
def test_everything_follows_from_the_terms_of_a_node(make):
    rng, n = np.random.default_rng(5), 7
    X, prior = correlated(rng, 60, n), rng.normal(size=(n, n))
    score = make().fit(X, edge_prior=prior)
    if make is PerNode:  # the formula as it is written
        for node, parents in (0, [1, 2]), (3, []), (6, [0, 2, 5]):
            terms = score.node_terms(node)
            T, size = terms.matrix, len(parents)
            block = T[np.ix_(parents, parents)]
            explained = T[node, parents] @ np.linalg.solve(block, T[parents, node])
            expected = (
                terms.offset[size]
                - terms.slope[size] * np.log(T[node, node] - explained)
                - terms.det_weight * np.linalg.slogdet(block).logabsdet
                + prior[parents, node].sum()
            )
            assert_allclose(score.local_score(node, parents), expected)
    for node in range(n):
        others = np.setdiff1d(np.arange(n), [node])
        candidates = rng.permutation(others)[:3]
        outsiders = np.setdiff1d(others, candidates)
        ours, naive = np.zeros((2, 8, n))
        score.fill_table(node, candidates, outsiders, node, ours)
        BaseScore.fill_table(score, node, candidates, outsiders, node, naive)
        assert_allclose(ours, naive, rtol=1e-10)
        alone = np.zeros((8, 1))
        score.fill_table_for_maxima(node, candidates, np.array([], int), 0, alone)
        assert_allclose(alone[:, 0], naive[:, node], rtol=1e-10)
        parents = candidates[:2]
        assert_allclose(
            score.addition_scores(node, parents),
            BaseScore.addition_scores(score, node, parents),
            rtol=1e-10,
        )
        found, value = score.select_parents(node, others, 4)
        expected, best = BaseScore.select_parents(score, node, others, 4)
        assert found == expected
        assert_allclose(value, best, rtol=1e-10)
        pairs = score.pair_scores(node, parents)
        for j, k in itertools.permutations(np.setdiff1d(others, parents), 2):
            both = score.local_score(node, [*parents, j, k])
            assert_allclose(pairs[j, k], both, rtol=1e-10)
        assert np.isinf(pairs[parents]).all()
        assert score.pair_scores(node, others[:-1]) is None


# ------------------------------------------------------------- the same to the last bit


def exact_scatter(X, weights, mean):
    """Sums of products about a given mean, in fractions."""
    rows = [[Fraction(x) for x in row] for row in (X - mean).tolist()]
    weights = [Fraction(w) for w in weights.tolist()]
    n = X.shape[1]
    return np.array(
        [
            [
                float(sum(w * r[i] * r[j] for w, r in zip(weights, rows, strict=True)))
                for j in range(n)
            ]
            for i in range(n)
        ]
    )


@pytest.mark.parametrize("kind", ["none", "whole", "fractions"])
def test_scatter_is_exact_and_knows_no_order(kind):
    rng = np.random.default_rng(0)
    scale, shift = [1.0, 1e3, 1e-4, 1e100], [5.0, 1e6, 0.0, 0.0]
    X = rng.normal(size=(300, 4)) * scale + shift
    weights = {
        "none": np.ones(300),
        "whole": rng.integers(0, 4, 300).astype(float),
        "fractions": rng.random(300),
    }[kind]
    total, mean, scatter = weighted_scatter(X, weights)
    expected = exact_scatter(X, weights, mean)
    size = np.outer(*[np.sqrt(np.diag(expected))] * 2)
    # with fractions, products of weights and values are rounded
    tolerance = 1e-15 if kind == "fractions" else 0.0
    assert_allclose(scatter / size, expected / size, rtol=0, atol=tolerance)
    order = rng.permutation(300)
    for again in (
        weighted_scatter(X[order], weights[order]),
        weighted_scatter(np.asfortranarray(X), weights),
    ):
        assert again[0] == total
        assert_array_equal(again[1], mean)
        assert_array_equal(again[2], scatter)
    if kind == "whole":
        rows = rng.permutation(np.repeat(X, weights.astype(int), axis=0))
        repeated = weighted_scatter(rows, np.ones(len(rows)))
        assert_array_equal(repeated[1], mean)
        assert_array_equal(repeated[2], scatter)


def test_scatter_does_not_depend_on_blocks(monkeypatch):
    X = np.random.default_rng(1).normal(size=(3000, 5)) + 100
    weights = np.ones(3000)
    _, mean, scatter = weighted_scatter(X, weights)
    assert_allclose(scatter, np.cov(X.T) * 2999, rtol=1e-12)
    monkeypatch.setattr(_scatter, "BLOCK_SIZE", 700)
    monkeypatch.setattr(_scatter, "SMALL_PRODUCT", 800)
    _, again, in_blocks = weighted_scatter(X, weights)
    assert_array_equal(again, mean)
    assert_array_equal(in_blocks, scatter)


@pytest.mark.parametrize("heaviest", [1, 3, 500])
def test_long_sums_are_exact(monkeypatch, heaviest):
    # sums of more weight than one go takes, and rows that weigh more by themselves
    monkeypatch.setattr(_scatter, "LONGEST_SUM", 64)
    rng = np.random.default_rng(2)
    X = rng.normal(size=(300, 3)) * [1.0, 1e3, 1e-4] + [5.0, 0.0, 0.0]
    weights = rng.integers(1, heaviest + 1, 300).astype(float)
    _, mean, scatter = weighted_scatter(X, weights)
    expected = exact_scatter(X, weights, mean)
    size = np.outer(*[np.sqrt(np.diag(expected))] * 2)
    # what is left out, and the quotients here, are less than one in the last place
    assert_allclose(scatter / size, expected / size, rtol=0, atol=2.0**-52)
    rows = rng.permutation(np.repeat(X, weights.astype(int), axis=0))
    monkeypatch.setattr(_scatter, "BLOCK_SIZE", 30)
    _, again, of_rows = weighted_scatter(rows, np.ones(len(rows)))
    assert_array_equal(again, mean)
    assert_array_equal(of_rows, scatter)


@pytest.mark.parametrize("score", [BGe(), BGe(prior="paper"), GaussianBIC()])
def test_rows_are_not_copied(score):
    X = np.random.default_rng(0).normal(size=(400_000, 5))
    tracemalloc.start()
    try:
        score.fit(X)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # weights, a mask of finite numbers, and blocks of rows
    assert peak < 0.75 * X.nbytes


@pytest.mark.parametrize("score", [BGe(), BGe(prior="paper"), GaussianBIC()])
def test_correlations_are_those_of_the_rows(score):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4)) * [1.0, 1e6, 1e-100, 1.0] + [0.0, 1e3, 0.0, 9.0]
    X[:, 3] -= X[:, 0]
    weights = rng.integers(0, 3, 60).astype(float)
    correlation, n_samples = score.fit(X, sample_weight=weights).correlations()
    assert n_samples == weights.sum()
    rows = np.repeat(X, weights.astype(int), axis=0)
    # about one mean and in one unit, or the reference would round away the second
    expected = np.corrcoef(((rows - rows.mean(axis=0)) / rows.std(axis=0)).T)
    assert_allclose(correlation, expected, atol=1e-12)


def test_correlations_of_a_constant_are_zero():
    X = np.random.default_rng(0).normal(size=(50, 3))
    X[:, 1] = 0.1
    for score in (BGe(), BGe(prior="paper")):
        correlation, _ = score.fit(X).correlations()
        assert not correlation[1, [0, 2]].any()
        assert correlation[1, 1] == 1.0


@pytest.mark.parametrize("score", [BGe(), GaussianBIC()])
def test_scores_know_no_order_of_rows(score):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(60, 4)) @ rng.normal(size=(4, 4))
    weights = rng.integers(1, 4, 60)
    rows = rng.permutation(np.repeat(X, weights, axis=0))
    weighted = score.fit(X, sample_weight=weights).local_score(0, [1, 3])
    assert score.fit(rows).local_score(0, [1, 3]) == weighted
