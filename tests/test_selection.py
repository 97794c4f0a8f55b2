"""Feature selection by Markov blankets."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import StandardScaler

from helpers import quick, random_dag
from skbidag import (
    IterativeSearchStructure,
    MarkovBlanketSelector,
    PCSkeleton,
    graphs,
)
from skbidag._posterior import DAGSamples
from skbidag._selection import blanket_probabilities
from skbidag.scores import BDe, BGe, CategoricalBIC, GaussianBIC

# a -> c <- b, c -> d; e alone
NAMES = list("abcde")


def make_data(seed=0, n_rows=300):
    rng = np.random.default_rng(seed)
    a, b, c, d, e = rng.normal(size=(5, n_rows))
    c += 2 * a - 2 * b
    d += 2 * c
    return np.column_stack([a, b, c, d, e])


@pytest.fixture(scope="module")
def X():
    return make_data()


def test_probabilities_are_shares_of_blankets():
    rng = np.random.default_rng(0)
    dags = [random_dag(rng, 7, 0.3) for _ in range(30)]
    samples = DAGSamples(np.packbits(np.array(dags).reshape(2, 15, 7, 7), axis=-1))
    for node in range(7):
        expected = np.zeros(7)
        for A in dags:
            expected[graphs.markov_blanket(A, node)] += 1 / 30
        assert_allclose(blanket_probabilities(samples, [node]), expected)
    both = np.zeros(7)
    for A in dags:
        union = {*graphs.markov_blanket(A, 2), *graphs.markov_blanket(A, 5)} - {2, 5}
        both[sorted(union)] += 1 / 30
    assert_allclose(blanket_probabilities(samples, [2, 5]), both)


def test_target_among_the_columns(X):
    frame = pd.DataFrame(X, columns=NAMES)
    selector = MarkovBlanketSelector(quick(), target="a").fit(frame)
    assert selector.get_feature_names_out().tolist() == ["b", "c"]
    assert selector.blanket_probabilities_[0] == 0.0
    assert selector.n_features_in_ == 5
    by_index = MarkovBlanketSelector(quick(), target=0).fit(X)
    assert_array_equal(by_index.blanket_probabilities_, selector.blanket_probabilities_)
    assert_array_equal(by_index.transform(X), X[:, [1, 2]])
    selected = selector.set_output(transform="pandas").transform(frame)
    pd.testing.assert_frame_equal(selected, frame[["b", "c"]])


def test_threshold(X):
    selector = MarkovBlanketSelector(quick(), target="d")
    selector.fit(pd.DataFrame(X, columns=NAMES))
    for threshold in (0.0, 0.3, 1.0):
        mask = selector.set_params(threshold=threshold).get_support()
        assert_array_equal(mask, selector.blanket_probabilities_ > threshold)
    with pytest.warns(UserWarning, match="No features were selected"):
        assert selector.transform(pd.DataFrame(X, columns=NAMES)).shape == (300, 0)


@pytest.mark.parametrize("kind", ["array", "pandas", "polars"])
def test_y_is_one_more_variable(X, kind):
    make = {
        "array": np.asarray,
        "pandas": lambda X: pd.DataFrame(X, columns=list("abde")),
        "polars": lambda X: pl.DataFrame(X, schema=list("abde")),
    }[kind]
    others, y = make(np.delete(X, 2, axis=1)), X[:, 2]
    selector = MarkovBlanketSelector(quick()).fit(others, y)
    assert_array_equal(selector.get_support(), [True, True, True, False])
    assert selector.n_features_in_ == 4
    assert selector.estimator_.n_features_in_ == 5
    assert_array_equal(selector.target_, [4])
    if kind != "array":
        assert selector.estimator_.feature_names_in_.tolist() == [*"abde", "y"]
        assert selector.feature_names_in_.tolist() == list("abde")
        selected = selector.set_output(transform=kind).transform(others)
        assert list(selected.columns) == ["a", "b", "d"]
        assert type(selected) is type(others)


def test_constraints_can_name_y(X):
    frame = pd.DataFrame(np.delete(X, 2, axis=1), columns=list("abde"))
    estimator = quick(forbidden_edges=[("a", "y"), ("y", "a")])
    selector = MarkovBlanketSelector(estimator).fit(frame, X[:, 2])
    edges = selector.estimator_.adjacency_probabilities_
    assert edges[0, 4] == edges[4, 0] == 0
    named = pd.Series(X[:, 2], name="c")
    selector = MarkovBlanketSelector(quick()).fit(frame, named)
    assert selector.estimator_.feature_names_in_.tolist() == list("abdec")
    # a name that is taken gives way
    selector.fit(frame, named.rename("a"))
    assert selector.estimator_.feature_names_in_.tolist() == [*"abde", "y"]
    selector.fit(frame.rename(columns={"e": "y"}), named.rename("a"))
    assert selector.estimator_.feature_names_in_.tolist() == ["a", "b", "d", "y", "y_"]


@pytest.mark.parametrize("labels", [[0, 1], [False, True], ["no", "yes"]])
def test_two_classes_are_zeros_and_ones(X, labels):
    y = np.array(labels)[(X[:, 0] + X[:, 4] > 0).astype(int)]
    selector = MarkovBlanketSelector(quick()).fit(X, y)
    assert_array_equal(selector.get_support(indices=True), [0, 4])
    expected = MarkovBlanketSelector(quick()).fit(X, (y == labels[1]).astype(float))
    assert_array_equal(selector.blanket_probabilities_, expected.blanket_probabilities_)


def test_more_classes_are_indicators(X):
    y = np.array(["low", "mid", "top"])[np.digitize(X[:, 4], [-1, 1])]
    selector = MarkovBlanketSelector(quick()).fit(X, y)
    assert selector.estimator_.n_features_in_ == 7
    assert_array_equal(selector.target_, [5, 6])
    assert_array_equal(selector.get_support(indices=True), [4])
    # class numbers are not amounts, unless the user says so
    numbers = np.digitize(X[:, 4], [-1, 1])
    selector.fit(X, numbers)
    assert selector.estimator_.n_features_in_ == 7
    selector.set_params(target_type="continuous").fit(X, numbers)
    assert selector.estimator_.n_features_in_ == 6
    with pytest.raises(ValueError, match="not numbers, but target_type"):
        selector.fit(X, y)


def test_categorical_data(X):
    labels = np.array(["low", "high"])[(X > 0).astype(int)]
    frame = pd.DataFrame(labels, columns=NAMES).astype("category")
    selector = MarkovBlanketSelector(quick()).fit(frame.drop(columns="c"), frame.c)
    assert isinstance(selector.estimator_.score_, BDe)
    assert selector.estimator_.feature_names_in_.tolist() == list("abdec")
    assert {"a", "b", "d"} <= {*selector.get_feature_names_out()}
    array = MarkovBlanketSelector(quick())
    array.fit(np.delete(labels, 2, axis=1), X[:, 2] > 0)
    assert isinstance(array.estimator_.score_, BDe)
    assert_allclose(array.blanket_probabilities_, selector.blanket_probabilities_)


@pytest.mark.parametrize(
    ("score", "n_variables"),
    [
        ("bde", 6),
        (BDe(), 6),
        (CategoricalBIC(), 6),
        ("bge", 7),
        (BGe(), 7),
        (GaussianBIC(), 7),
        ("bic", 6),
        ("auto", 6),
    ],
)
def test_y_is_what_the_score_takes(X, score, n_variables):
    codes = (X > 0).astype(int)
    y = codes[:, 0] + codes[:, 4]
    selector = MarkovBlanketSelector(quick(score=score)).fit(codes, y)
    assert selector.estimator_.n_features_in_ == n_variables


def test_supervised_pipeline(X):
    y = X[:, 0] + X[:, 4] > 0
    pipeline = make_pipeline(
        StandardScaler(), MarkovBlanketSelector(quick()), LogisticRegression()
    )
    assert pipeline.fit(X, y).score(X, y) > 0.95
    assert pipeline[-1].n_features_in_ == 2
    union = FeatureUnion(
        [
            ("blanket", MarkovBlanketSelector(quick(), target="a")),
            ("scaled", StandardScaler()),
        ]
    ).set_output(transform="pandas")
    both = union.fit_transform(pd.DataFrame(X, columns=NAMES))
    assert both.columns.tolist() == [
        "blanket__b",
        "blanket__c",
        *(f"scaled__{name}" for name in NAMES),
    ]


def test_the_structure_may_be_a_pipeline(X):
    estimator = make_pipeline(StandardScaler(), quick())
    selector = MarkovBlanketSelector(estimator).fit(X[:, :4] * 1000, X[:, 4] * 1e-3)
    assert selector.estimator_[-1].n_features_in_ == 5
    assert not selector.get_support().any()
    selector = MarkovBlanketSelector(estimator, target="c")
    selector.fit(pd.DataFrame(X, columns=NAMES))
    assert selector.get_feature_names_out().tolist() == ["a", "b", "d"]


def test_a_fitted_structure_serves_several_targets(X):
    frame = pd.DataFrame(X, columns=NAMES)
    fitted = quick().fit(frame)
    for target, blanket in {"a": "bc", "c": ["a", "b", "d"], "d": "c"}.items():
        selector = MarkovBlanketSelector(FrozenEstimator(fitted), target=target)
        selector.fit(frame)
        assert [*selector.get_feature_names_out()] == [*blanket]
        assert selector.estimator_.dag_samples_ is fitted.dag_samples_
    with pytest.raises(ValueError, match="feature names"):
        selector.fit(frame.rename(columns={"a": "z"}))
    frozen = FrozenEstimator(quick().fit(X))
    with pytest.raises(ValueError, match="5 variables, but the data have 4"):
        MarkovBlanketSelector(frozen, target=0).fit(X[:, :4])
    supervised = MarkovBlanketSelector(frozen).fit(X[:, :4], X[:, 4])
    assert not supervised.get_support().any()


def test_weights_reach_the_structure(X):
    weights = np.r_[np.ones(200), np.zeros(100)]
    plain = MarkovBlanketSelector(quick(), target=0).fit(X[:200])
    weighted = MarkovBlanketSelector(quick(), target=0)
    weighted.fit(X, sample_weight=weights)
    assert weighted.estimator_.score_.n_effective_ == 200
    assert_allclose(weighted.blanket_probabilities_, plain.blanket_probabilities_)
    with config_context(enable_metadata_routing=True):
        selector = MarkovBlanketSelector(quick(), target=0)
        with pytest.raises(ValueError, match="sample_weight"):
            selector.fit(X, sample_weight=weights)
        selector.estimator.set_fit_request(sample_weight=True)
        pipeline = make_pipeline(StandardScaler(), selector)
        pipeline[0].set_fit_request(sample_weight=False)
        pipeline.fit(X, sample_weight=weights)
        assert pipeline[1].estimator_.score_.n_effective_ == 200


def test_rows_with_missing_cells(X):
    holes = X.copy()
    holes[:10, 0] = np.nan
    selector = MarkovBlanketSelector(quick().set_params(missing="drop"), target=0)
    with pytest.warns(UserWarning, match="10 of 300 rows"):
        selector.fit(holes)
    assert selector.transform(holes).shape == (300, 2)
    selector = MarkovBlanketSelector(quick(), target=0).fit(holes)  # drawn
    assert selector.transform(holes).shape == (300, 2)


def test_callbacks_reach_the_structure(X, capsys):
    pytest.importorskip("rich")
    from sklearn.callback import ProgressBar

    bar = ProgressBar(max_propagation_depth=None)
    selector = MarkovBlanketSelector(quick(), target=0).set_callbacks(bar)
    selector.fit(X)
    assert capsys.readouterr().out.count("chain #") == 2
    frozen = FrozenEstimator(quick().fit(X))
    MarkovBlanketSelector(frozen, target=0).set_callbacks(bar).fit(X)


def test_errors(X):
    with pytest.raises(NotFittedError):
        MarkovBlanketSelector(quick()).transform(X)
    with pytest.raises(ValueError, match="requires y to be passed"):
        MarkovBlanketSelector(quick()).fit(X)
    with pytest.raises(ValueError, match="target names an unknown variable: 'z'"):
        MarkovBlanketSelector(quick(), target="z").fit(X)
    with pytest.raises(ValueError, match="target has the index 5"):
        MarkovBlanketSelector(quick(), target=5).fit(X)
    with pytest.raises(TypeError, match="must learn dag_samples_"):
        MarkovBlanketSelector(PCSkeleton(), target=0).fit(X)
    with pytest.raises(ValueError, match="y contains NaN"):
        MarkovBlanketSelector(quick()).fit(X, np.where(X[:, 0] > 0, 1, np.nan))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        MarkovBlanketSelector(quick()).fit(X, X[:-1, 0])
    for params in ({"threshold": 1.1}, {"target": 0.5}, {"target_type": "other"}):
        with pytest.raises(ValueError, match=f"'{next(iter(params))}' parameter"):
            MarkovBlanketSelector(quick(), **params).fit(X, X[:, 0])
    best = IterativeSearchStructure(n_draws=0, random_state=0)
    selector = MarkovBlanketSelector(best, target=2).fit(X)
    assert set(selector.blanket_probabilities_) == {0.0, 1.0}
