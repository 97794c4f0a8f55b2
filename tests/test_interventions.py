import itertools
import json
import math
import re
import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from causallearn.utils.cit import CIT
from scipy.special import gammaln, logsumexp
from scipy.stats import wishart
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from test_scores_mixed import naive_evidence

from helpers import all_dags, quick
from skbidag import (
    ExactStructure,
    IterativeSearchStructure,
    MarkovBlanketSelector,
    OrderMCMCStructure,
    PartitionMCMCStructure,
    PCSkeleton,
    causal_effects,
)
from skbidag._cli import main
from skbidag._equivalence import to_cpdags
from skbidag._interventions import resolve_interventions, targets_of
from skbidag.graphs import to_cpdag
from skbidag.inspection import GraphDisplay
from skbidag.metrics import (
    compare_graphs,
    make_graph_scorer,
    structural_hamming_distance,
)
from skbidag.scores import (
    BaseScore,
    BDe,
    BGe,
    CategoricalBIC,
    ConditionalGaussian,
    GaussianBIC,
    LinearPredictiveScore,
)
from skbidag.scores._interventional import with_interventions

SCORES = {
    "bge": BGe,
    "bde": BDe,
    "gaussian bic": GaussianBIC,
    "bic": CategoricalBIC,
    "mixed": ConditionalGaussian,
}
KINDS = {"bde": "categorical", "bic": "categorical", "mixed": "mixed"}


def experiment(seed, n_rows, n, kind="continuous"):
    """Data of a chain 0 -> 1 -> ..., of which some rows have one or two cells set."""
    rng = np.random.default_rng(seed)
    cells = np.zeros((n_rows, n), dtype=bool)
    for row in range(n_rows // 3, n_rows):
        cells[row, rng.choice(n, size=rng.integers(1, 3), replace=False)] = True
    X = np.zeros((n_rows, n))
    for j in range(n):
        if kind != "categorical":
            own = rng.normal(size=n_rows) + (0.9 * X[:, j - 1] if j else 5.0)
            X[:, j] = np.where(cells[:, j], rng.normal(3.0, 2.0, size=n_rows), own)
        else:
            own = rng.integers(3, size=n_rows)
            copied = (rng.random(n_rows) < 0.6) & (j > 0)
            own = np.where(copied, X[:, j - 1], own)
            X[:, j] = np.where(cells[:, j], rng.integers(3, size=n_rows), own)
    if kind == "mixed":
        labels = [pd.qcut(X[:, j], 3, labels=False).astype(str) for j in (1, 3)]
        columns = {"a": X[:, 0], "b": labels[0], "c": X[:, 2], "d": labels[1]}
        return pd.DataFrame(columns), cells
    return (X if kind == "continuous" else X.astype(int)), cells


def kind_of(name):
    return KINDS.get(name, "continuous")


def fitted(name, seed=0, n_rows=60, n=4, **params):
    X, cells = experiment(seed, n_rows, n, kind_of(name))
    return with_interventions(SCORES[name](**params), cells).fit(X), X, cells


# --------------------------------------------------------------------- what was set


def test_ways_to_say_what_was_set():
    names = np.array(["a", "b", "c"])
    expected = np.array([[0, 0, 0], [0, 1, 0], [1, 0, 1], [0, 0, 1]], dtype=bool)
    frame = pd.DataFrame(expected, columns=names)
    for said in (
        expected,
        expected.tolist(),
        expected.astype(int),
        frame,
        frame[["c", "a", "b"]],
        pl.DataFrame({name: expected[:, names == name].ravel() for name in "cab"}),
        [None, "b", "a; c", "c"],
        ["", "b", ["a", "c"], ("c",)],
        [float("nan"), 1, {0, 2}, 2],
        pd.Series(["", "b", "a;c", "c"]),
        pl.Series([None, "b", "a;c", "c"]),
        np.array([None, "b", "a;c", "c"], dtype=object),
    ):
        found = resolve_interventions(said, 4, 3, names)
        np.testing.assert_array_equal(found, expected)
    assert resolve_interventions([None] * 4, 4, 3, names) is None
    assert resolve_interventions(None, 4, 3, names) is None
    assert set(targets_of(expected)) == {(1,), (0, 2), (2,)}


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (np.zeros((3, 3), bool), r"shape of X, \(4, 3\), got \(3, 3\)"),
        (np.full((4, 3), 2), "true or false"),
        ([None, "b"], "each of the 4 rows of X, got 2"),
        ([None, "d", "b", "c"], "interventions names an unknown variable: 'd'"),
        ([None, 3, 0, 0], "interventions has the index 3"),
        ([None, 1.5, 0, 0], "names or indices of columns, got 1.5"),
    ],
)
def test_wrong_ways_to_say_it(said, message):
    with pytest.raises(ValueError, match=message):
        resolve_interventions(said, 4, 3, np.array(["a", "b", "c"]))


def test_a_variable_set_in_every_row_is_refused():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(9, 2)), columns=["a", "b"])
    with pytest.raises(ValueError, match="column 'b' was set in every row"):
        quick().fit(X, interventions=["b"] * 9)
    given = quick(background=["b"]).fit(X, interventions=["b"] * 9)
    assert not given.adjacency_probabilities_[:, 1].any()


# --------------------------------------------------------------------------- scores


@pytest.mark.parametrize("name", ["bde", "bic", "gaussian bic"])
def test_local_scores_are_those_of_the_rows_left_alone(name):
    params = {"edge_penalty": 2.5}
    score, X, cells = fitted(name, **params)
    if kind_of(name) == "categorical":
        params["categories"] = [np.unique(column) for column in X.T]
    for node in range(4):
        alone = SCORES[name](**params).fit(X[~cells[:, node]])
        for parents in ([], [(node + 1) % 4], [(node + 1) % 4, (node + 2) % 4]):
            assert score.local_score(node, parents) == pytest.approx(
                alone.local_score(node, parents), rel=1e-12
            )


def log_normal_wishart(X, mean, units, alpha_mu, alpha_w, scale, n):
    """Log marginal likelihood of rows of some of n columns (Kuipers et al. 2014)."""
    n_rows, size = X.shape
    df = alpha_w - n + size
    deviation = X.mean(axis=0) - mean
    prior = np.diag(scale * units**2)
    centered = X - X.mean(axis=0)
    posterior = prior + centered.T @ centered
    posterior += (
        alpha_mu * n_rows / (alpha_mu + n_rows) * np.outer(deviation, deviation)
    )
    places = np.arange(1, size + 1)
    return (
        -size * n_rows / 2 * math.log(math.pi)
        + size / 2 * math.log(alpha_mu / (alpha_mu + n_rows))
        + (
            gammaln((df + n_rows + 1 - places) / 2) - gammaln((df + 1 - places) / 2)
        ).sum()
        + df / 2 * np.linalg.slogdet(prior)[1]
        - (df + n_rows) / 2 * np.linalg.slogdet(posterior)[1]
    )


def test_local_scores_of_bge_have_one_prior():
    score, X, cells = fitted("bge", edge_penalty=1.0)
    alone = [BGe(edge_penalty=1.0).fit(X[~cells[:, j]]) for j in range(4)]
    mean = np.array([X[~cells[:, j], j].mean() for j in range(4)])
    units = np.array([alone[j]._units[j] for j in range(4)])
    alpha_mu, alpha_w = 1.0, 6.0
    scale = alpha_mu * (alpha_w - 5) / (alpha_mu + 1)
    for node in range(4):
        rows = X[~cells[:, node]]
        others = [j for j in range(4) if j != node]
        for size in range(4):
            for parents in itertools.combinations(others, size):
                whole, part = [
                    log_normal_wishart(
                        rows[:, list(columns)],
                        mean[list(columns)],
                        units[list(columns)],
                        alpha_mu,
                        alpha_w,
                        scale,
                        4,
                    )
                    if columns
                    else 0.0
                    for columns in ((*parents, node), parents)
                ]
                assert score.local_score(node, parents) == pytest.approx(
                    whole - part, rel=1e-10
                )


def test_local_scores_of_mixed_data_have_one_prior():
    frame, cells = experiment(0, 60, 4, "mixed")
    params = {"equivalent_sample_size": 2.0, "alpha_mu": 0.7, "edge_penalty": 1.0}
    score = with_interventions(ConditionalGaussian(**params), cells).fit(frame)
    codes = frame.assign(b=frame["b"].astype(int), d=frame["d"].astype(int))
    X, categorical = codes.to_numpy(dtype=float), np.array([False, True] * 2)
    prior = SimpleNamespace(**params, _mean=np.zeros(4), _unit=np.ones(4))
    for j in (0, 2):  # mean and unit of a number are those where it was left alone
        alone = ConditionalGaussian(**params).fit(frame[~cells[:, j]])
        prior._mean[j], prior._unit[j] = alone._mean[j], alone._unit[j]
    for node in range(4):
        others = [j for j in range(4) if j != node]
        for size in range(4):
            for parents in itertools.combinations(others, size):
                whole, part = [
                    naive_evidence(
                        prior, X, categorical, list(columns), 1.0 * ~cells[:, node]
                    )
                    for columns in ((*parents, node), parents)
                ]
                assert score.local_score(node, parents) == pytest.approx(
                    whole - part, rel=1e-10
                )


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize("seed", [0, 1])
def test_equivalent_dags_have_the_same_score(name, seed):
    score, _, cells = fitted(name, seed, edge_penalty=1.7)
    dags = all_dags(4)
    classes, _ = to_cpdags(dags, targets=targets_of(cells))
    log_scores = np.array([score.dag_score(dag) for dag in dags])
    for cpdag in np.unique(classes, axis=0):
        same = log_scores[(classes == cpdag).all(axis=(1, 2))]
        assert np.ptp(same) < 1e-8 * np.abs(same).max()


def test_observational_rows_alone_change_nothing():
    X, cells = experiment(3, 80, 4)
    plain = quick().fit(X)
    same = quick().fit(X, interventions=np.zeros_like(cells))
    np.testing.assert_array_equal(plain.dag_samples_.packed, same.dag_samples_.packed)
    assert type(same.score_) is BGe


class Plain(BaseScore):
    """A score of one's own, that knows nothing of interventions or weights."""

    def _fit(self, X, sample_weight):
        self.X = np.asarray(X, dtype=float)

    def log_marginal_likelihood(self, node, parents):
        design = np.column_stack([self.X[:, parents], np.ones(len(self.X))])
        left = np.linalg.lstsq(design, self.X[:, node], rcond=None)[1].sum()
        n_rows = len(self.X)
        return -n_rows / 2 * math.log(left) - len(parents) / 2 * math.log(n_rows)


def test_scores_of_ones_own_see_the_rows_left_alone():
    X, cells = experiment(5, 60, 3)
    score = with_interventions(Plain(), cells).fit(X)
    for node, parents in [(0, []), (1, [0]), (2, [0, 1]), (0, [2])]:
        alone = Plain().fit(X[~cells[:, node]])
        assert score.local_score(node, parents) == alone.local_score(node, parents)
    model = quick(score=Plain()).fit(X, interventions=cells)
    assert model.adjacency_.shape == (3, 3)


# ------------------------------------------------------------------------ PC's start


def naive_skeleton(X, cells, alpha, test):
    """PC-stable by causal-learn's tests, each on the rows left alone of its pair."""
    n = X.shape[1]
    adjacent = ~np.eye(n, dtype=bool)
    for depth in range(n - 1):
        before = adjacent.copy()
        for x, y in itertools.permutations(range(n), 2):
            rows = ~cells[:, [x, y]].any(axis=1)
            independent = CIT(X[rows], test)
            others = [z for z in np.flatnonzero(before[x]) if z != y]
            for given in itertools.combinations(others, depth):
                if before[x, y] and independent(x, y, given) > alpha:
                    adjacent[x, y] = adjacent[y, x] = False
    return adjacent


@pytest.mark.parametrize("test", ["fisherz", "gsq", "chisq"])
def test_pairs_are_tested_where_neither_was_set(test):
    kind, n_other = "continuous" if test == "fisherz" else "categorical", 0
    for seed in range(4):
        X, cells = experiment(seed, 60, 4, kind)
        expected = naive_skeleton(X, cells, 0.3, test)
        for n_jobs in (1, 2):
            pc = PCSkeleton(alpha=0.3, test=test, n_jobs=n_jobs)
            pc.fit(X, interventions=cells)
            np.testing.assert_array_equal(pc.search_space_, expected)
        n_other += (pc.fit(X).search_space_ != expected).any()
        # weights are repetitions, and a row that does not count is absent
        weights = np.random.default_rng(seed).integers(3, size=len(X))
        twice = np.repeat(np.arange(len(X)), weights)
        pc.fit(X, sample_weight=weights, interventions=cells)
        repeated = PCSkeleton(alpha=0.3, test=test)
        repeated.fit(X[twice], interventions=cells[twice])
        np.testing.assert_array_equal(pc.search_space_, repeated.search_space_)
    assert n_other  # all rows say something else


def naive_factor(prior, X, categorical, rows, x, y, given):
    """Log Bayes factor of x and y given others, on some rows."""
    both, of_x, of_y, alone = [
        naive_evidence(prior, X, categorical, columns, 1.0 * rows) if columns else 0.0
        for columns in ([*given, x, y], [*given, x], [*given, y], list(given))
    ]
    return both - of_x - of_y + alone


def test_pairs_of_mixed_data_are_tested_where_neither_was_set():
    """By a naive twin of PC-stable with naive Bayes factors."""
    n_other = 0
    for seed in range(3):
        frame, cells = experiment(seed, 70, 4, "mixed")
        score = with_interventions(ConditionalGaussian(edge_penalty=1.0), cells)
        score.fit(frame)
        prior, categorical = score.scores_[0], np.array([False, True] * 2)
        X, adjacent = score.encode(frame), ~np.eye(4, dtype=bool)
        for depth in range(3):
            before = adjacent.copy()
            for x, y in itertools.permutations(range(4), 2):
                rows = ~cells[:, [x, y]].any(axis=1)
                others = [z for z in np.flatnonzero(before[x]) if z != y]
                for given in itertools.combinations(others, depth):
                    factor = naive_factor(prior, X, categorical, rows, x, y, given)
                    found = score.log_bayes_factors(x, given, [y])
                    np.testing.assert_allclose(found, factor, rtol=1e-9, atol=1e-8)
                    adjacent[x, y] &= factor > 0
            adjacent &= adjacent.T
        for n_jobs in (1, 2):
            pc = PCSkeleton(n_jobs=n_jobs).fit(frame, interventions=cells)
            np.testing.assert_array_equal(pc.search_space_, adjacent)
        n_other += (pc.fit(frame).search_space_ != adjacent).any()
        # weights are repetitions, and a row that does not count is absent
        weights = np.random.default_rng(seed).integers(3, size=len(frame))
        twice = np.repeat(np.arange(len(frame)), weights)
        pc.fit(frame, sample_weight=weights, interventions=cells)
        repeated = PCSkeleton().fit(frame.iloc[twice], interventions=cells[twice])
        np.testing.assert_array_equal(pc.search_space_, repeated.search_space_)
    assert n_other  # all rows say something else


def test_mixed_pairs_that_were_never_left_alone_together_stay():
    frame, cells = experiment(3, 60, 4, "mixed")
    cells[:] = False
    cells[:30, 0] = cells[30:, 1] = True
    pc = PCSkeleton().fit(frame, interventions=cells)
    assert pc.search_space_[0, 1]


def test_pairs_of_completed_rows_are_those_left_alone():
    """Scores of rows that were completed know what was set in them."""
    frame, cells = experiment(4, 60, 4, "mixed")
    score = with_interventions(ConditionalGaussian(edge_penalty=1.0), cells).fit(frame)
    rows, weights = score.test_data(frame)
    some = np.arange(0, 60, 2)
    part = score.with_rows(rows[some], weights[some], which=some)
    X, categorical = rows[some], np.array([False, True] * 2)
    left = ~cells[some][:, [1, 2]].any(axis=1)
    factor = naive_factor(score.scores_[0], X, categorical, left, 1, 2, (3,))
    np.testing.assert_allclose(part.log_bayes_factors(1, [3], [2]), factor, rtol=1e-9)
    same = score.renewed(rows, weights)
    np.testing.assert_allclose(
        same.log_bayes_factors(1, [3], [2]), score.log_bayes_factors(1, [3], [2])
    )


def test_separating_sets_are_those_of_the_rows_left_alone():
    """The chain 0 -> 1 -> ... is found, with its separating sets."""
    X, cells = experiment(2, 3000, 4)
    pc = PCSkeleton(alpha=0.001, test="fisherz").fit(X, interventions=cells)
    distance = np.abs(np.subtract.outer(np.arange(4), np.arange(4)))
    np.testing.assert_array_equal(pc.search_space_, distance == 1)
    assert pc.causal_graph_.sepset[0, 2] == [(1,), (1,)]  # from both ends


def test_pairs_with_hardly_a_row_stay():
    X, cells = experiment(3, 60, 3)
    cells[:] = False
    cells[:30, 0] = cells[30:, 1] = True  # never left alone together
    pc = PCSkeleton(alpha=0.5, test="fisherz").fit(X, interventions=cells)
    assert pc.search_space_[0, 1]
    constant = X.copy()
    constant[30:, 2] = 1.0  # where 0 was left alone, 2 is constant
    pc.fit(constant, interventions=cells)
    assert not pc.search_space_[0, 2]


@pytest.mark.parametrize("kind", ["continuous", "categorical", "mixed"])
def test_search_space_is_that_of_pairs_left_alone(kind):
    """Whether "pc" or a PCSkeleton; rows that do not count are absent."""
    X, cells = experiment(5, 200, 4, kind)
    given = PCSkeleton().fit(X, interventions=cells).search_space_
    weights = np.ones(len(X))
    weights[:20] = 0.0
    for search_space in ("pc", PCSkeleton()):
        model = quick(search_space=search_space).fit(X, interventions=cells)
        np.testing.assert_array_equal(model.search_space_, given)
        model.fit(X, sample_weight=weights, interventions=cells)
        alone = X[20:], cells[20:]
        other = quick(search_space=search_space).fit(alone[0], interventions=alone[1])
        np.testing.assert_array_equal(model.search_space_, other.search_space_)


def test_other_search_spaces_see_rows_without_interventions():
    X, cells = experiment(5, 100, 4)
    undisturbed = X[~cells.any(axis=1)]
    assert 20 <= len(undisturbed) < 50
    for search_space in ("glasso", "ges"):
        model = quick(search_space=search_space).fit(X, interventions=cells)
        alone = quick(search_space=search_space).fit(undisturbed)
        np.testing.assert_array_equal(model.search_space_, alone.search_space_)
    seen = []

    def everything(X):
        seen.append(len(X))
        return np.ones((4, 4), dtype=bool)

    quick(search_space=everything).fit(X, interventions=cells)
    quick(search_space=everything).fit(X[25:], interventions=cells[25:])
    assert seen == [len(undisturbed), 75]  # all, where those without are few


# ----------------------------------------------------------------------- posteriors


def exact_probabilities(score, kind, targets):
    """Over all DAGs with four nodes, and by how many orders each has."""
    dags = all_dags(4)
    log_scores = np.array([score.dag_score(dag) for dag in dags])
    if kind == "order-weighted":
        orders = list(itertools.permutations(range(4)))
        places = np.array([np.argsort(order) for order in orders])
        before = places[:, :, None] < places[:, None, :]
        fits = ~(dags[:, None] & ~before).any(axis=(2, 3))
        log_scores = log_scores + np.log(fits.sum(axis=1))
    weights = np.exp(log_scores - logsumexp(log_scores))
    classes, _ = to_cpdags(dags, targets=targets)
    return np.tensordot(weights, dags, 1), np.tensordot(weights, classes, 1)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bge", "bde", "mixed"])
@pytest.mark.parametrize(
    "estimator",
    [
        OrderMCMCStructure(),
        PartitionMCMCStructure(),
        PartitionMCMCStructure(walk="partitions"),
    ],
    ids=["orders", "DAGs", "partitions"],
)
def test_exact_posteriors(name, estimator):
    X, cells = experiment(7, 60, 4, kind_of(name))
    estimator.set_params(
        score=SCORES[name](), n_iter=200_000, n_draws=5000, n_chains=2, random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # two chains of a given length need not agree
        estimator.fit(X, interventions=cells)
    exact, of_classes = exact_probabilities(
        estimator.score_, estimator.posterior_, targets_of(cells)
    )
    # 10,000 draws, a hundred or so steps apart: nearly independent. Four standard
    # errors of half of them.
    error = 4 * np.sqrt(exact * (1 - exact) / 5000) + 1e-3
    assert (np.abs(estimator.adjacency_probabilities_ - exact) < error).all()
    error = 4 * np.sqrt(of_classes * (1 - of_classes) / 5000) + 1e-3
    assert (np.abs(estimator.edge_probabilities("cpdag") - of_classes) < error).all()


@pytest.mark.parametrize("posterior", ["over DAGs", "order-weighted"])
@pytest.mark.parametrize("name", ["bge", "bde", "mixed"])
def test_exact_structure(name, posterior):
    X, cells = experiment(7, 60, 4, kind_of(name))
    model = ExactStructure(SCORES[name](), posterior=posterior, random_state=0)
    model.fit(X, interventions=cells)
    exact, _ = exact_probabilities(model.score_, posterior, targets_of(cells))
    np.testing.assert_allclose(model.adjacency_probabilities_, exact, atol=1e-10)
    directed = to_cpdag(model.adjacency_, targets=targets_of(cells))
    np.testing.assert_array_equal(model.cpdag_, directed)


def test_interventions_give_directions():
    X, cells = experiment(11, 600, 4)
    model = quick(PartitionMCMCStructure).fit(X, interventions=cells)
    chain = np.eye(4, k=1, dtype=bool)
    assert (model.adjacency_probabilities_[chain] > 0.95).all()
    np.testing.assert_array_equal(
        model.cpdag_, to_cpdag(model.adjacency_, targets=[[1], [2]])
    )
    assert model.dag_samples_.targets == targets_of(cells)
    # the same rows, taken for observed ones
    pooled = quick(PartitionMCMCStructure).fit(X)
    assert pooled.adjacency_probabilities_[chain].min() < 0.95


def test_graphs_are_compared_by_interventional_classes():
    chain = np.eye(4, k=1, dtype=bool)
    turned = chain.T.copy()
    assert structural_hamming_distance(chain, turned, "cpdag") == 0
    assert structural_hamming_distance(chain, turned, "cpdag", [[1, 2]]) == 3
    assert compare_graphs(chain, turned, "cpdag", targets=[[1]])["SHD"] == 3
    X, cells = experiment(11, 600, 4)
    model = quick(PartitionMCMCStructure).fit(X, interventions=cells)
    for metric, best in (("shd", 0.0), ("f1", 1.0), ("average_precision", 1.0)):
        assert make_graph_scorer(chain, metric, "cpdag")(model) == best
        assert make_graph_scorer(turned, metric, "cpdag")(model) < best


def test_displays_compare_with_interventional_classes():
    pytest.importorskip("matplotlib")
    X, cells = experiment(4, 90, 4)
    chain = np.eye(4, k=1, dtype=bool)
    model = quick().fit(X, interventions=cells)
    for graph in ("consensus", "cpdag"):
        display = GraphDisplay.from_estimator(model, graph=graph, true_graph=chain)
        expected = to_cpdag(chain, targets=targets_of(cells))
        np.testing.assert_array_equal(display.true_graph, expected)
    assert (expected != to_cpdag(chain)).any()


def test_weights_are_repeated_rows():
    X, cells = experiment(2, 60, 4)
    weights = np.random.default_rng(0).integers(0, 3, size=60)
    rows = np.repeat(np.arange(60), weights)
    weighted = quick().fit(X, sample_weight=weights, interventions=cells)
    repeated = quick().fit(X[rows], interventions=cells[rows])
    np.testing.assert_array_equal(
        weighted.dag_samples_.packed, repeated.dag_samples_.packed
    )


def test_rows_with_holes_go_with_what_was_set_in_them():
    X, cells = experiment(2, 60, 4)
    holes = X.copy()
    holes[[3, 40], 1] = np.nan
    kept = np.setdiff1d(np.arange(60), [3, 40])
    with pytest.warns(UserWarning, match="2 of 60 rows"):
        model = quick(missing="drop").fit(holes, interventions=cells)
    same = quick().fit(X[kept], interventions=cells[kept])
    np.testing.assert_array_equal(model.dag_samples_.packed, same.dag_samples_.packed)


def test_search_with_interventions():
    X, cells = experiment(4, 300, 6)
    search = IterativeSearchStructure(random_state=0).fit(X, interventions=cells)
    assert search.log_score_ == pytest.approx(
        search.score_.dag_score(search.adjacency_), rel=1e-12
    )
    np.testing.assert_array_equal(
        search.cpdag_, to_cpdag(search.adjacency_, targets=targets_of(cells))
    )


def test_warm_start_refuses_other_interventions():
    X, cells = experiment(4, 60, 4)
    model = quick(warm_start=True).fit(X, interventions=cells)
    with pytest.raises(ValueError, match="changed"):
        model.fit(X, interventions=np.roll(cells, 1, axis=0))
    model.fit(X, interventions=cells)


def test_metadata_are_routed():
    X, cells = experiment(4, 90, 4)
    with sklearn.config_context(enable_metadata_routing=True):
        model = quick().set_fit_request(interventions=True)
        model.set_score_request(interventions=True)
        scores = cross_val_score(model, X, params={"interventions": cells}, cv=3)
        for fold, (train, test) in enumerate(KFold(3).split(X)):
            model.fit(X[train], interventions=cells[train])
            expected = model.score(X[test], interventions=cells[test])
            assert scores[fold] == pytest.approx(expected)
        grid = GridSearchCV(model, {"burn_in": [0.2, 0.5]}, cv=2)
        grid.fit(X, interventions=cells)
        assert grid.best_estimator_.dag_samples_.targets == targets_of(cells)


def test_metadata_are_routed_through_pipelines():
    X, cells = experiment(4, 90, 4)
    with sklearn.config_context(enable_metadata_routing=True):
        model = quick().set_fit_request(interventions=True)
        model.set_score_request(interventions=True)
        model.set_predict_request(interventions=True)
        pipeline = make_pipeline(StandardScaler(), model)
        pipeline.fit(X, interventions=cells)
        scaled = pipeline[0].transform(X)
        alone = quick().fit(scaled, interventions=cells)
        learned = pipeline[-1]
        assert learned.dag_samples_.targets == targets_of(cells)
        np.testing.assert_array_equal(
            learned.dag_samples_.packed, alone.dag_samples_.packed
        )
        for done in (cells, None):
            np.testing.assert_array_equal(
                pipeline.predict(X, interventions=done),
                alone.predict(scaled, interventions=done),
            )
            assert pipeline.score(X, interventions=done) == alone.score(
                scaled, interventions=done
            )
        params = {"interventions": cells}
        assert np.isfinite(cross_val_score(pipeline, X, params=params, cv=2)).all()
        name = pipeline.steps[-1][0]
        grid = GridSearchCV(pipeline, {f"{name}__burn_in": [0.2, 0.5]}, cv=2)
        grid.fit(X, interventions=cells)
        assert grid.best_estimator_[-1].dag_samples_.targets == targets_of(cells)


def test_score_takes_weights():
    X, cells = experiment(4, 30, 3)
    model = quick().fit(X, interventions=cells)
    weights = np.arange(30.0)
    log_densities = model.score_samples(X, interventions=cells)
    expected = np.average(log_densities, weights=weights)
    found = model.score(X, sample_weight=weights, interventions=cells)
    assert found == pytest.approx(expected, rel=1e-12)
    with pytest.raises(ValueError, match="sample_weight"):
        model.score(X, sample_weight=weights[1:])
    with sklearn.config_context(enable_metadata_routing=True):
        model.set_score_request(sample_weight=True, interventions=True)
        pipeline = make_pipeline(model).fit(X)
        weighted = pipeline.score(X, sample_weight=weights)
        log_densities = pipeline.score_samples(X)
        assert weighted == pytest.approx(np.average(log_densities, weights=weights))


@pytest.mark.parametrize("routing", [False, True])
def test_selector_passes_interventions_on(routing):
    X, cells = experiment(4, 120, 4)
    frame = pd.DataFrame(X, columns=list("abcd"))
    with sklearn.config_context(enable_metadata_routing=routing):
        model = quick(PartitionMCMCStructure)
        if routing:
            model.set_fit_request(interventions=True)
        selector = MarkovBlanketSelector(model, target="b")
        selector.fit(frame, interventions=cells)
        assert selector.estimator_.dag_samples_.targets == targets_of(cells)
        assert selector.get_support().tolist() == [True, False, True, False]

        # the target as y, in which nothing was set unless that is said by its name
        cells[:, 3] = False
        names = [";".join(np.array(list("abc"))[row]) for row in cells[:, :3]]
        for said in (cells[:, :3], cells, names, frame[list("abc")] * 0 + cells[:, :3]):
            selector = MarkovBlanketSelector(model)
            selector.fit(frame[list("abc")], frame["d"], interventions=said)
            assert selector.estimator_.dag_samples_.targets == targets_of(cells)
        selector.fit(frame[list("abc")], frame["d"], interventions=cells[:, :3] & False)
        assert selector.estimator_.dag_samples_.targets == ()


# ---------------------------------------------------------------------- predictions


@pytest.mark.parametrize("name", ["bge", "bde", "mixed"])
def test_density_is_that_of_what_was_not_set(name):
    X, cells = experiment(6, 60, 4, kind_of(name))
    model = quick(score=SCORES[name]()).fit(X, interventions=cells)
    score, rows = model.score_, X[25:35]
    terms = np.zeros((len(model.dag_samples_), len(rows)))
    for term, dag in zip(terms, model.dag_samples_, strict=True):
        for node in range(4):
            local = score.log_predictive(rows, node, np.flatnonzero(dag[:, node]))
            term += np.where(cells[25:35, node], 0.0, local)
    expected = logsumexp(terms, axis=0) - math.log(len(terms))
    found = model.score_samples(rows, interventions=cells[25:35])
    np.testing.assert_allclose(found, expected, rtol=1e-10)
    assert model.score(rows, interventions=cells[25:35]) == pytest.approx(found.mean())


def joint_normal(score, dag):
    """Mean and covariance of the linear network that regressions make."""
    n = len(dag)
    weights, constants, variances = np.zeros((n, n)), np.zeros(n), np.zeros(n)
    for node in range(n):
        parents = np.flatnonzero(dag[:, node])
        coefficients, variances[node] = score.regression(node, parents)
        weights[parents, node] = coefficients
        constants[node] = score.constant(node, parents)
    spread = np.linalg.inv(np.eye(n) - weights)
    mean = score.posterior_mean_ + constants @ spread
    return mean, spread.T @ np.diag(variances) @ spread


def test_regressions_have_constants():
    X, cells = experiment(6, 200, 4)
    score = with_interventions(BGe(), cells).fit(X)
    for node, parents in [(1, [0]), (3, [1, 2]), (0, [])]:
        part = score.scores_[node]
        coefficients, _ = part.regression(node, parents)
        z = X[:, parents] - score.posterior_mean_[parents]
        mine = score.posterior_mean_[node] + z @ coefficients
        mine += score.constant(node, parents)
        location, _, _ = part._student_t(X[:, parents], node, np.array(parents, int))
        np.testing.assert_allclose(mine, location, rtol=1e-10)


@pytest.mark.parametrize("n_rows", [24, 90])
@pytest.mark.parametrize("prior", ["data", "paper"])
def test_expectations_are_those_of_the_density(n_rows, prior):
    """By sums over a fine grid of the density, which is that of all sampled DAGs."""
    X, cells = experiment(6, n_rows, 4)
    score = BGe(prior=prior)
    model = quick(PartitionMCMCStructure, score=score).fit(X, interventions=cells)
    rows, was_set = X[-6:].copy(), cells[-6:].copy()
    for kwargs in ({}, {"interventions": was_set}):
        found = model.predict(rows, **kwargs)
        for row, node in itertools.product(range(6), range(4)):
            if kwargs and was_set[row, node]:
                continue  # a variable without causes, see below
            grid = found[row, node] + np.sinh(np.linspace(-14, 14, 4001)) / 50
            many = np.repeat(rows[[row]], len(grid), axis=0)
            many[:, node] = grid
            if kwargs:
                kwargs["interventions"] = np.repeat(was_set[[row]], len(grid), axis=0)
            log_density = model.score_samples(many, **kwargs)
            weights = np.exp(log_density - log_density.max()) * np.gradient(grid)
            expected = np.average(grid, weights=weights)
            assert found[row, node] == pytest.approx(expected, rel=1e-5)
            missing = rows[[row]].copy()
            missing[0, node] = np.nan
            if not kwargs:
                (filled,) = model.predict(missing)
                assert filled[node] == pytest.approx(found[row, node], rel=1e-9)


def test_densities_are_integrals_over_parameters():
    """Monte Carlo over the posterior of the rows in which the child was left alone."""
    X, cells = experiment(6, 30, 3)
    score = with_interventions(BGe(edge_penalty=1.0), cells).fit(X)
    rng, n_draws, row = np.random.default_rng(0), 20_000, X[3]
    for node, parents in [(0, []), (1, [0]), (2, [0, 1])]:
        rows = X[~cells[:, node]]
        part = score.scores_[node]
        worth = part.alpha_mu + len(rows)
        precisions = wishart.rvs(
            part._alpha_w + len(rows),
            np.linalg.inv(part.scatter_),
            size=n_draws,
            random_state=rng,
        )
        covariances = np.linalg.inv(precisions)
        noise = rng.normal(size=(n_draws, 3, 1)) / math.sqrt(worth)
        shift = (np.linalg.cholesky(covariances) @ noise)[:, :, 0]
        means = part.posterior_mean_ + shift
        densities = np.empty(n_draws)
        for k, (mean, covariance) in enumerate(zip(means, covariances, strict=True)):
            gain = np.linalg.solve(
                covariance[np.ix_(parents, parents)], covariance[parents, node]
            )
            location = mean[node] + gain @ (row[parents] - mean[parents])
            variance = covariance[node, node] - gain @ covariance[parents, node]
            densities[k] = math.exp(-((row[node] - location) ** 2) / variance / 2)
            densities[k] /= math.sqrt(2 * math.pi * variance)
        error = densities.std() / math.sqrt(n_draws)
        expected = math.exp(score.log_predictive(row[None], node, parents)[0])
        assert abs(densities.mean() - expected) < 4 * error < 0.05 * expected


class LeastSquares(Plain, LinearPredictiveScore):
    """A linear score of one's own."""

    def _fit(self, X, sample_weight):
        super()._fit(X, sample_weight)
        self.posterior_mean_ = self.X.mean(axis=0)

    def regression(self, node, parents):
        deviations = self.X - self.posterior_mean_
        design, y = deviations[:, parents], deviations[:, node]
        coefficients = np.linalg.lstsq(design, y)[0]
        return coefficients, np.mean((y - design @ coefficients) ** 2)


@pytest.mark.parametrize(
    ("score", "hole"),
    [
        (LeastSquares(), []),
        (LeastSquares(), [1]),
        (LeastSquares(), [0, 2]),
        (BGe(), [0, 2]),
    ],
)
def test_predictions_of_one_dag(score, hole):
    """Of one DAG, the conditional expectation of a normal distribution.

    With BGe, where cells beside the predicted one are unobserved.
    """
    X, cells = experiment(6, 200, 4)
    search = IterativeSearchStructure(score=score, n_draws=0, random_state=0)
    search.fit(X, interventions=cells)
    mean, covariance = joint_normal(search.score_, search.adjacency_)
    row = X[5].copy()
    row[hole] = np.nan
    (found,) = search.predict(row[None])
    for node in range(4):
        given = [j for j in range(4) if j != node and j not in hole]
        gain = np.linalg.solve(
            covariance[np.ix_(given, given)], covariance[given, node]
        )
        expected = mean[node] + gain @ (row[given] - mean[given])
        assert found[node] == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("name", ["bge", "bde"])
def test_set_cells_tell_nothing_about_their_causes(name):
    """Of one DAG, predictions of rows are those of the DAG without some edges."""
    X, _ = experiment(8, 300, 4, kind_of(name))
    chain = [[0, 1], [1, 2], [2, 3]]
    model = IterativeSearchStructure(
        score=name,
        required_edges=chain,
        forbidden_edges=[
            [i, j] for i in range(4) for j in range(4) if [i, j] not in chain
        ],
        n_draws=0,
        random_state=0,
    ).fit(X)
    row, other = X[[0]].copy(), X[[0]].copy()
    other[0, 1] = X[:, 1].max() if row[0, 1] != X[:, 1].max() else X[:, 1].min()

    def predict(row, **kwargs):
        if name == "bge":
            return model.predict(row, **kwargs)[0]
        found = model.predict_probabilities(row, **kwargs)
        return np.array([found[node][0, 0] for node in range(4)])

    before = predict(row, interventions=[1])
    after = predict(other, interventions=[1])
    assert after[0] == pytest.approx(before[0], rel=1e-9)  # a cause
    assert after[2] != pytest.approx(before[2], rel=1e-3)  # an effect
    assert predict(other)[0] != pytest.approx(predict(row)[0], rel=1e-3)


def test_predictions_of_mixed_rows():
    X, cells = experiment(6, 300, 4, "mixed")
    model = quick(PartitionMCMCStructure).fit(X, interventions=cells)
    predicted = model.predict(X[:20], interventions=cells[:20])
    assert list(predicted.columns) == list(X.columns)
    of_level = model.predict_probabilities(X[:20], interventions=cells[:20])
    np.testing.assert_allclose(of_level["b"].sum(axis=1), 1.0)
    effects = causal_effects(model, "a", "c", random_state=0)
    assert effects.mean.ravel()[0] > 0.1


def test_effects_take_parameters_from_each_familys_own_rows():
    X, cells = experiment(9, 3000, 3)
    model = quick(PartitionMCMCStructure).fit(X, interventions=cells)
    effects = causal_effects(model, random_state=0)
    expected = np.array([[0, 0.9, 0.81], [0, 0, 0.9], [0, 0, 0]])
    off = ~np.eye(3, dtype=bool)
    np.testing.assert_allclose(effects.mean[off], expected[off], atol=0.08)


# --------------------------------------------------------------------- command line


def knock_outs(n_rows=240):
    X, cells = experiment(11, n_rows, 4)
    frame = pd.DataFrame(X, columns=list("abcd"))
    names = np.array(list("abcd"))
    frame["set"] = [";".join(names[row]) for row in cells]
    return frame


@pytest.mark.slow
def test_command_line(tmp_path):
    path = tmp_path / "data.csv"
    knock_outs().to_csv(path, index=False)
    options = ["--interventions", "set", "--n-iter", "5000", "--quiet"]
    code = main(["learn", str(path), "--out", str(tmp_path / "out"), *options])
    assert code == 0
    edges = pd.read_csv(tmp_path / "out" / "edges.csv").set_index(["parent", "child"])
    assert (edges.probability[[("a", "b"), ("b", "c"), ("c", "d")]] > 0.9).all()
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert ["a"] in summary["data"]["interventions"]
    assert "In 160 of 240 rows something was set" in summary["data"]["notes"][-1]
    report = (tmp_path / "out" / "report.html").read_text()
    assert "interventional equivalence class" in report


@pytest.mark.parametrize(
    ("column", "label", "message"),
    [
        ("other", "a", "--interventions other: .* has no such column"),
        ("set", "e", "line 5: set is 'e', but there is no column 'e'"),
        ("set", "a; e", "line 5: set is 'a; e', but there is no column 'e'"),
    ],
)
def test_command_line_names_what_is_wrong(tmp_path, capsys, column, label, message):
    frame, path = knock_outs(20), tmp_path / "data.csv"
    frame.loc[3, "set"] = label
    frame.to_csv(path, index=False)
    code = main(["learn", str(path), "--interventions", column])
    assert code == 2
    assert re.search(message, capsys.readouterr().err)


@pytest.mark.parametrize(
    ("labels", "options", "message"),
    [
        ("a", [], "--interventions: column 'a' was set in every row.*--background"),
        (" a ; b ", ["--drop", "b"], "column 'b' was set in some rows, but it is left"),
    ],
)
def test_command_line_refuses_what_tells_nothing(
    tmp_path, capsys, labels, options, message
):
    path = tmp_path / "data.csv"
    knock_outs(20).assign(set=labels).to_csv(path, index=False)
    assert main(["learn", str(path), "--interventions", "set", *options]) == 2
    assert re.search(message, capsys.readouterr().err)
