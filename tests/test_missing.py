"""Missing values in the fit, against exact answers."""

import itertools
import warnings
from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp

from enumeration import assert_same_posterior
from helpers import all_dags, assert_same_draws, quick
from skbidag import (
    ExactStructure,
    IterativeSearchStructure,
    OrderMCMCStructure,
    PartitionMCMCStructure,
    PCSkeleton,
    StructureImputer,
    _augmentation,
)
from skbidag._missing import Completion, Holes, encoded, find_holes, take_apart
from skbidag._missing._first import available_moments, stand_in_rows
from skbidag.scores import BDe, BGe, ConditionalGaussian, GaussianBIC
from skbidag.scores._interventional import with_interventions

BOTH = [OrderMCMCStructure, PartitionMCMCStructure]


def n_linear_extensions(dag):
    return sum(
        all(not dag[b, a] for a, b in itertools.combinations(order, 2))
        for order in itertools.permutations(range(len(dag)))
    )


def edge_probabilities(log_evidence, dags, sampler):
    """Exact ones, from the log evidence of each DAG."""
    weights = np.exp(log_evidence - logsumexp(log_evidence))
    if sampler is OrderMCMCStructure:
        weights = weights * [n_linear_extensions(dag) for dag in dags]
        weights /= weights.sum()
    return np.tensordot(weights, dags, 1)


def dag_scores(score, dags):
    """Log scores of DAGs, each family worked out once."""
    known = {}

    def local(node, parents):
        key = node, parents.tobytes()
        if key not in known:
            known[key] = score.local_score(node, parents)
        return known[key]

    return np.array(
        [
            sum(local(node, np.flatnonzero(dag[:, node])) for node in range(len(dag)))
            for dag in dags
        ]
    )


def sample_long(sampler, X, n_completions, monkeypatch, **params):
    """Draws of one long chain that renews its cells every few steps."""
    fit = params.pop("fit", {})
    stretch = 40
    monkeypatch.setattr(_augmentation, "STRETCH_SHARE", stretch / 25_000)
    model = sampler(
        n_iter=n_completions * stretch,
        n_draws=n_completions // 2,
        n_chains=1,
        burn_in=0.05,
        search_space="full",
        random_state=0,
        **params,
    )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The chain is too short")
        return model.fit(X, **fit)


def coded_data(seed, n_rows, levels, n_holes):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.integers(r, size=n_rows) for r in levels]).astype(float)
    copied = rng.random(n_rows) < 0.9
    X[copied, 1] = X[copied, 0] % levels[1]
    holes = rng.permutation(X.size)[:n_holes]
    X.ravel()[holes] = np.nan
    return X


# ------------------------------------------------------------ the posterior, exactly


@cache
def categorical_evidence(levels):
    """Data with holes, all DAGs, and their log evidence: a sum over completions."""
    X = coded_data(3, 12, levels, 6)
    dags, missing = all_dags(len(levels)), np.isnan(X)
    log_evidence = []
    columns = np.nonzero(missing)[1]
    for values in itertools.product(*[range(levels[c]) for c in columns]):
        completed = X.copy()
        completed[missing] = values
        score = BDe(edge_penalty=1.0, categories=[list(range(r)) for r in levels])
        log_evidence.append(dag_scores(score.fit(completed), dags))
    return X, dags, logsumexp(log_evidence, axis=0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sampler", "levels", "params"),
    [
        (OrderMCMCStructure, (2, 2, 2, 2), {}),
        (PartitionMCMCStructure, (2, 2, 2, 2), {}),
        (PartitionMCMCStructure, (3, 2, 2), {"walk": "partitions"}),
    ],
)
def test_categorical_posterior_is_a_sum_over_completions(
    sampler, levels, params, monkeypatch
):
    X, dags, log_evidence = categorical_evidence(levels)
    exact = edge_probabilities(log_evidence, dags, sampler)
    score = BDe(edge_penalty=1.0)
    model = sample_long(sampler, X, 800, monkeypatch, score=score, **params)
    assert_same_posterior(model.dag_samples_[:], exact)
    # rows without the holes would say something else
    assert np.abs(exact - naive(BDe(edge_penalty=1.0), X, dags, sampler)).max() > 0.1


def naive(score, X, dags, sampler):
    """What the complete rows say."""
    complete = X[~np.isnan(X).any(axis=1)]
    return edge_probabilities(dag_scores(score.fit(complete), dags), dags, sampler)


@cache
def gaussian_evidence():
    """The same with two missing numbers: an integral, by a sum over a grid."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(9, 3))
    X[:, 1] += X[:, 0]
    X[:, 2] += 0.8 * X[:, 1]
    X[0, 0], X[0, 2] = 2.5, -1.0
    X[0, 1] = X[3, 2] = np.nan
    dags, missing, log_evidence = all_dags(3), np.isnan(X), []
    for values in itertools.product(np.linspace(-9.0, 9.0, 31), repeat=2):
        completed = X.copy()
        completed[missing] = values
        score = BGe(edge_penalty=1.0, prior="paper").fit(completed)
        log_evidence.append(dag_scores(score, dags))
    return X, dags, logsumexp(log_evidence, axis=0)


@pytest.mark.slow
@pytest.mark.parametrize("sampler", BOTH)
def test_gaussian_posterior_is_an_integral_over_cells(sampler, monkeypatch):
    X, dags, log_evidence = gaussian_evidence()
    exact = edge_probabilities(log_evidence, dags, sampler)
    score = BGe(edge_penalty=1.0, prior="paper")
    model = sample_long(sampler, X, 800, monkeypatch, score=score)
    assert_same_posterior(model.dag_samples_[:], exact)
    assert np.abs(exact - naive(score, X, dags, sampler)).max() > 0.05


@pytest.mark.slow
def test_posterior_with_what_was_set(monkeypatch):
    """A variable that was set says nothing of its parents, drawn or not."""
    X, dags, _ = categorical_evidence((3, 2, 2))
    missing = np.isnan(X)
    cells = np.zeros(X.shape, dtype=bool)
    cells[::2, 2] = True
    cells &= ~missing
    log_evidence = []
    columns = np.nonzero(missing)[1]
    for values in itertools.product(*[range((3, 2, 2)[c]) for c in columns]):
        completed = X.copy()
        completed[missing] = values
        whole = BDe(edge_penalty=1.0, categories=[[0, 1, 2], [0, 1], [0, 1]])
        score = with_interventions(whole, cells).fit(completed)
        log_evidence.append(dag_scores(score, dags))
    log_evidence = logsumexp(log_evidence, axis=0)
    exact = edge_probabilities(log_evidence, dags, PartitionMCMCStructure)
    model = sample_long(
        PartitionMCMCStructure,
        X,
        800,
        monkeypatch,
        score=BDe(edge_penalty=1.0),
        fit={"interventions": cells},
    )
    assert_same_posterior(model.dag_samples_[:], exact)


# ------------------------------------------------------------------- cells given DAGs


def holes_of(X, cells=None):
    missing = np.isnan(X)
    n = len(X)
    return Holes(missing, np.ones(n), np.arange(n), cells, int(missing.sum()))


def test_cells_have_their_conditional_distribution():
    """Given regressions that are certain, cells are normal given the others."""
    rng = np.random.default_rng(0)
    n_rows = 4000
    X = rng.normal(size=(n_rows, 3))
    X[:, 1] += X[:, 0]
    X[:, 2] += X[:, 1]
    holed = X.copy()
    holed[:2000, 1] = np.nan
    holed[2000:3000, [0, 2]] = np.nan
    filled, holes = take_apart(holed, np.isnan(holed), None, None, str)
    score = BGe(edge_penalty=1.0).fit(X)
    dag = np.zeros((3, 3), dtype=bool)
    dag[0, 1] = dag[1, 2] = True
    completion = Completion(score, X, holes)
    drawn = completion.draw(X, dag, np.random.RandomState(0))
    assert_array_equal(drawn[~np.isnan(holed)], X[~np.isnan(holed)])
    assert_array_equal(filled[~np.isnan(holed)], X[~np.isnan(holed)])
    # x1 given x0 and x2: mean (x0 + x2) / 2, variance 1 / 2; four standard errors, and
    # as much for the parameters, which are drawn
    residual = drawn[:2000, 1] - (X[:2000, 0] + X[:2000, 2]) / 2
    assert abs(residual.mean()) < 8 * np.sqrt(0.5 / 2000)
    assert abs(residual.var() - 0.5) < 8 * 0.5 * np.sqrt(2 / 2000)
    # x0 given x1: half of it; x2 given x1: x1 and noise
    x0, x1, x2 = drawn[2000:3000].T
    assert abs((x0 - x1 / 2).var() - 0.5) < 8 * 0.5 * np.sqrt(2 / 1000)
    assert abs((x2 - x1).var() - 1.0) < 8 * np.sqrt(2 / 1000)
    assert abs(np.corrcoef(x0 - x1 / 2, x2 - x1)[0, 1]) < 4 / np.sqrt(1000)


def test_mixed_cells_have_their_conditional_distribution():
    rng = np.random.default_rng(1)
    n_rows = 3000
    group = rng.integers(2, size=n_rows)
    x = 1.5 * group + rng.normal(size=n_rows)
    y = x + rng.normal(size=n_rows)
    X = np.column_stack([group, x, y]).astype(float)
    holed = X.copy()
    holed[:1000, 0] = np.nan
    holed[1000:2000, 1] = np.nan
    score = ConditionalGaussian(categorical_features=[0], edge_penalty=1.0).fit(X)
    dag = np.zeros((3, 3), dtype=bool)
    dag[0, 1] = dag[1, 2] = True
    completion = Completion(score, X, holes_of(holed))
    drawn = completion.draw(X, dag, np.random.RandomState(0), n_sweeps=5)
    # by Bayes' rule; four standard errors, and as much for drawn parameters
    odds = np.exp(1.5 * X[:1000, 1] - 1.5**2 / 2)
    expected = (odds / (1 + odds)).mean()
    assert abs(drawn[:1000, 0].mean() - expected) < 8 * 0.5 / np.sqrt(1000)
    agreement = np.corrcoef(drawn[:1000, 0], odds / (1 + odds))[0, 1]
    assert agreement > 0.4
    middle = (1.5 * X[1000:2000, 0] + X[1000:2000, 2]) / 2
    residual = drawn[1000:2000, 1] - middle
    assert abs(residual.mean()) < 8 * np.sqrt(0.5 / 1000)
    assert abs(residual.var() - 0.5) < 8 * 0.5 * np.sqrt(2 / 1000)


@pytest.mark.parametrize("prior", ["data", "paper"])
def test_rows_without_holes_enter_once(prior):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(60, 4)).cumsum(axis=1)
    holed = X.copy()
    holed[:20, 1] = np.nan
    score = BGe(edge_penalty=1.0, prior=prior).fit(X)
    completion = Completion(score, X, holes_of(holed))
    assert completion.closed.n_effective_ == 40
    same = completion.score_of(X)
    for node, parents in [(0, []), (1, [0]), (3, [0, 2])]:
        parents = np.array(parents, dtype=int)
        assert_allclose(
            same.local_score(node, parents), score.local_score(node, parents), rtol=1e-9
        )
    several = completion.score_of_all([X, X])
    assert_allclose(several.local_score(2, [1]), score.local_score(2, [1]), rtol=1e-9)


def test_available_cases():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 3))
    X[:, 2] += X[:, 0]
    observed = rng.random(X.shape) > 0.2
    mean, covariance = available_moments(X, observed, np.ones(300))
    for j in range(3):
        assert mean[j] == pytest.approx(X[observed[:, j], j].mean())
        assert covariance[j, j] == pytest.approx(X[observed[:, j], j].var())
    correlation = covariance[0, 2] / np.sqrt(covariance[0, 0] * covariance[2, 2])
    both = observed[:, 0] & observed[:, 2]
    z = X - mean
    expected = (z[both, 0] @ z[both, 2]) / np.sqrt(
        (z[both, 0] ** 2).sum() * (z[both, 2] ** 2).sum()
    )
    assert correlation == pytest.approx(expected)
    holes = Holes(~observed, np.ones(300), np.arange(300), None, 0)
    rows, weights = stand_in_rows(X, holes)
    assert_allclose(np.cov(rows.T, aweights=weights, ddof=0), covariance)
    # three correlations that no three columns have are made positive definite
    X = rng.normal(size=(9, 3))
    observed = np.ones((9, 3), dtype=bool)
    observed[:3, 2] = observed[3:6, 1] = observed[6:, 0] = False
    X[:3, 1], X[3:6, 2], X[6:, 2] = X[:3, 0], X[3:6, 0], -X[6:, 1]
    _, covariance = available_moments(X, observed, np.ones(9))
    assert np.linalg.eigvalsh(covariance).min() > 0.01


# -------------------------------------------------------------------------- estimators


@pytest.fixture
def holed():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(120, 5)).cumsum(axis=1)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X


@pytest.mark.parametrize("sampler", BOTH)
def test_nothing_missing_changes_nothing(sampler, holed):
    X = np.nan_to_num(holed)
    first = quick(sampler).fit(X)
    for missing in ("drop", "error"):
        assert_same_draws(first, quick(sampler, missing=missing).fit(X))
    assert not hasattr(first, "missing_draws_")


def test_what_is_learned_from_holes(holed):
    model = quick().fit(holed)
    assert model.log_score_ == pytest.approx(model.score_.dag_score(model.adjacency_))
    assert len(model.missing_draws_) == 20
    assert "n_missing=" in repr(model.missing_draws_)
    missing = np.isnan(holed)
    tables = [*model.missing_draws_]
    for table in tables:
        assert not np.isnan(table).any()
        assert_array_equal(table[~missing], holed[~missing])
    assert len(model.missing_draws_[:3]) == 3
    assert np.ptp(np.array(tables)[:, missing], axis=0).min() > 0
    assert np.isfinite(model.score_samples(tables[0])).all()
    assert np.isfinite(model.predict(holed)).all()
    assert model.score_.n_effective_ == pytest.approx(len(holed))


def test_same_draws_in_parallel(holed):
    one = quick(PartitionMCMCStructure, n_iter=500)
    both = quick(PartitionMCMCStructure, n_iter=500, n_jobs=2)
    assert_same_draws(one.fit(holed), both.fit(holed))


def test_warm_start_goes_on_with_the_cells(holed):
    longer = quick(n_iter=500, n_draws=40, warm_start=True).fit(holed)
    first = longer.dag_samples_.packed.copy()
    longer.set_params(n_draws=60).fit(holed)
    assert_array_equal(longer.dag_samples_.packed[:, :40], first)
    assert longer.n_iter_ == 700
    other = holed.copy()
    other[0, 0] = np.nan
    with pytest.raises(ValueError, match="X or sample_weight changed"):
        longer.fit(other)


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_frames_of_both_kinds(kind):
    rng = np.random.default_rng(5)
    group = rng.choice(["a", "b", "c"], size=80).astype(object)
    x = np.where(group == "a", 2.0, 0.0) + rng.normal(size=80)
    y = x + rng.normal(size=80)
    group[[3, 50]] = None
    x[[3, 7]] = np.nan
    frame = pd.DataFrame({"group": group, "x": x, "y": y})
    frame["group"] = frame["group"].astype("category")
    frame.index = np.arange(80)[::-1]
    if kind == "polars":
        frame = pl.DataFrame({"group": list(group), "x": x, "y": y}).with_columns(
            pl.col("x").fill_nan(None), pl.col("group").cast(pl.Enum(["a", "b", "c"]))
        )
    model = quick(n_iter=500, n_draws=20).fit(frame)
    assert model.feature_kinds_.tolist() == ["categorical", "continuous", "continuous"]
    table = model.missing_draws_[0]
    assert type(table) is type(frame)
    assert list(table.columns) == ["group", "x", "y"]
    if kind == "pandas":
        assert table["group"].dtype == frame["group"].dtype
        assert table.index.equals(frame.index)
        assert not table.isna().to_numpy().any()
    else:
        assert table.schema == frame.schema
        assert table.null_count().sum_horizontal().item() == 0


def test_labels_weights_and_background():
    rng = np.random.default_rng(6)
    X = rng.choice(["no", "yes"], size=(60, 4)).astype(object)
    X[:, 1] = X[:, 0]
    X[rng.random(X.shape) < 0.1] = None
    weights = rng.integers(0, 3, size=60)
    model = quick(n_iter=500, background=[3]).fit(X, sample_weight=weights)
    assert model.score_.codes_.shape[1] == 4
    assert model.score_.counts_.sum() == pytest.approx(weights.sum())
    table = model.missing_draws_[-1]
    counted = weights > 0
    assert set(np.unique(table[counted].astype(str))) == {"no", "yes"}
    assert not model.adjacency_[:, 3].any()


def test_a_weight_is_a_row_given_so_often():
    X = np.array([[1.0, np.nan], [2.0, 3.0], [0.0, 1.0], [4.0, np.nan]])
    missing = np.isnan(X)
    _, holes = take_apart(X, missing, [3, 2, 0, 50], None, str)
    assert holes.origin.tolist() == [0, 0, 0, 1] + [3] * 20
    assert_allclose(holes.weights, [1, 1, 1, 2] + [2.5] * 20)
    assert holes.missing.sum() == 0  # the column has one value where rows count


def test_best_dag_alone(holed):
    search = IterativeSearchStructure(n_draws=0, random_state=0).fit(holed)
    assert search.log_score_ == pytest.approx(
        search.score_.dag_score(search.adjacency_)
    )
    assert len(search.missing_draws_) == 10
    again = IterativeSearchStructure(n_draws=0, random_state=0).fit(holed)
    assert_array_equal(search.adjacency_, again.adjacency_)


def test_pc_of_available_cases(holed):
    space = PCSkeleton(test="mv_fisherz")
    model = quick(search_space=space, n_iter=500).fit(holed)
    expected = PCSkeleton(test="mv_fisherz").fit(holed).search_space_
    assert_array_equal(model.search_space_, expected)
    seen = []

    def space(X):
        seen.append(X)
        return ~np.eye(5, dtype=bool)

    quick(search_space=space, n_iter=500).fit(holed)
    assert np.isfinite(seen[0]).all()  # others get completed rows


def test_bad_input(holed):
    with pytest.raises(ValueError, match="first in column 0, and missing='error'"):
        quick(missing="error").fit(holed)
    with pytest.raises(ValueError, match="missing='drop'"):
        quick(score=GaussianBIC()).fit(holed)
    with pytest.raises(ValueError, match=r"power=0.5 does not go with missing"):
        quick(power=0.5).fit(holed)
    empty = holed.copy()
    empty[:, 2] = np.nan
    with pytest.raises(ValueError, match="every row of column 2"):
        quick().fit(empty)
    with pytest.raises(ValueError, match="every row of column 2"):
        quick(missing="drop").fit(empty)
    cells = np.isnan(holed)
    with pytest.raises(ValueError, match=r"was set in row .* its value is missing"):
        quick().fit(holed, interventions=cells)
    with pytest.raises(ValueError, match="'missing' parameter of ExactStructure"):
        ExactStructure(missing="augment").fit(holed)
    infinite = holed.copy()
    infinite[~np.isnan(holed)] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        quick().fit(infinite)


def test_constant_columns_with_holes():
    X = np.random.default_rng(7).normal(size=(40, 3))
    X[:, 1] = 2.0
    X[5, 1] = np.nan
    model = quick().fit(X)
    X[5, 1] = 2.0
    assert_same_draws(model, quick().fit(X))


def test_find_holes_in_anything():
    frame = pd.DataFrame({"a": pd.array([1, None], dtype="Int64"), "b": ["x", None]})
    assert_array_equal(find_holes(frame), [[False, False], [True, True]])
    score = BDe().fit([["u", "v"], ["v", "u"]])
    assert_array_equal(encoded(score, [["v", "v"]]), [[1, 1]])


# ------------------------------------------------------------------------- the imputer


def test_imputer(holed):
    learner = quick(n_iter=500)
    imputer = StructureImputer(learner).fit(holed)
    filled, missing = imputer.transform(holed), np.isnan(holed)
    assert_array_equal(filled[~missing], holed[~missing])
    assert_array_equal(imputer.transform(filled), filled)
    # a random walk tells its steps better than the mean of a column does
    rng = np.random.default_rng(8)
    new = rng.normal(size=(200, 5)).cumsum(axis=1)
    hidden = new.copy()
    hidden[:, 2] = np.nan
    error = np.sqrt(np.mean((imputer.transform(hidden) - new)[:, 2] ** 2))
    # the conditional deviation is sqrt(1/2), that of the column sqrt(3)
    assert error < 0.9
    assert imputer.get_feature_names_out().tolist() == [f"x{k}" for k in range(5)]


def test_imputer_keeps_frames():
    rng = np.random.default_rng(9)
    group = rng.choice(["a", "b"], size=60)
    frame = pd.DataFrame({"g": group, "h": group, "x": rng.normal(size=60)})
    frame.loc[4, "g"] = None
    frame.loc[5, "x"] = np.nan
    filled = StructureImputer(quick(n_iter=500, n_draws=10)).fit_transform(frame)
    assert filled["g"].tolist() == group.tolist()  # a copy of the next column
    assert filled["x"].notna().all()
    assert filled.dtypes.equals(frame.dtypes)


def test_imputer_by_default():
    X = np.random.default_rng(10).normal(size=(30, 2))
    X[0, 0] = np.nan
    filled = StructureImputer(random_state=0).fit_transform(X)
    assert_array_equal(filled, StructureImputer(random_state=0).fit_transform(X))
