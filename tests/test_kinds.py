"""Of what kind columns are: the rule as a table, and who follows it."""

import datetime
import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest

from skbidag import (
    IterativeSearchStructure,
    MarkovBlanketSelector,
    OrderMCMCStructure,
    PartitionMCMCStructure,
    PCSkeleton,
)
from skbidag._kinds import column_kinds
from skbidag.scores import BDe, BGe, GaussianBIC

QUICK = {"n_iter": 500, "n_draws": 20, "n_chains": 2, "random_state": 0}
RNG = np.random.default_rng(0)


def integers(n_levels, n_rows):
    """So many different integers, each in about as many rows."""
    return np.arange(n_rows) % n_levels


def fractions(n_rows):
    return np.linspace(0, 1, n_rows)


# One column alone: its values, its kind, whether that is told.
ALONE = [
    (["no", "yes"] * 10, "categorical", False),
    (np.array(["no", "yes"] * 10, dtype=object), "categorical", False),
    ([True, False] * 10, "categorical", False),
    (pd.Categorical([1.5, 2.5] * 10), "categorical", False),
    (fractions(20), "continuous", False),
    (np.where(np.arange(20) < 3, np.nan, fractions(20)), "continuous", False),
    # integers
    (integers(2, 10), "categorical", False),
    (integers(3, 10), "categorical", False),
    (-integers(3, 10), "categorical", False),
    (integers(5, 5), "categorical", False),
    (integers(6, 30), "categorical", False),
    (integers(6, 29), "continuous", True),
    (integers(10, 50), "categorical", False),
    (integers(11, 100), "categorical", True),
    (integers(13, 1000), "categorical", True),  # counts from 0 to 12
    (integers(20, 100), "categorical", True),
    (integers(20, 99), "continuous", True),
    (integers(21, 100_000), "continuous", True),
    (RNG.integers(1000, size=500), "continuous", True),
    # whole floats, as pandas has integers with holes
    (np.where(np.arange(50) < 9, np.nan, integers(2, 50)), "categorical", True),
    (integers(2, 50).astype(float), "categorical", True),
    (integers(2, 9).astype(float), "continuous", False),
    (integers(30, 1000).astype(float), "continuous", False),
    # nothing is known but the type
    (np.ones(50, dtype=int), "categorical", False),
    (np.ones(50), "continuous", False),
    (np.array([1.0, np.inf] * 10), "continuous", False),
]


@pytest.mark.parametrize(("values", "kind", "told"), ALONE)
def test_one_column(values, kind, told):
    found = column_kinds(pd.DataFrame({"a": values}))
    assert found.kinds.tolist() == [kind]
    assert found.guessed == [0] * told
    assert len(found.guesses(["a"])) == told


CODES, MANY = integers(2, 100), integers(40, 100)
SIZE, WORD = fractions(100), np.array(["u", "v"] * 50)
HOLES = np.where(np.arange(100) < 5, np.nan, CODES)


# Columns beside each other: their values, their kinds, and which are told.
TOGETHER = [
    ([CODES, CODES], "dd", []),
    ([CODES, WORD], "dd", []),
    ([CODES, SIZE], "cc", [0]),  # numbers alone are never mixed
    ([CODES, MANY], "cc", [0, 1]),
    ([MANY, SIZE], "cc", []),
    ([MANY, MANY], "cc", [0, 1]),
    ([HOLES, WORD], "dd", [0]),
    ([HOLES, SIZE], "cc", []),
    ([SIZE, WORD], "cd", []),
    ([MANY, WORD], "cd", [0]),
    ([SIZE, CODES == 0], "cd", []),
    ([SIZE, CODES, WORD], "cdd", []),
    ([np.ones(100), CODES], "dd", []),
    ([np.ones(100, dtype=int), SIZE], "cc", []),
    ([np.ones(100), WORD], "dd", []),
]


@pytest.mark.parametrize(("columns", "kinds", "told"), TOGETHER)
@pytest.mark.parametrize("library", [pd, pl])
def test_columns_together(columns, kinds, told, library):
    frame = library.DataFrame({f"x{k}": values for k, values in enumerate(columns)})
    found = column_kinds(frame)
    long = {"c": "continuous", "d": "categorical"}
    assert found.kinds.tolist() == [long[letter] for letter in kinds]
    assert found.guessed == told
    if len(set(kinds)) == 1:
        assert found.common() == found.kind == long[kinds[0]]
        return
    assert found.kind == "mixed"
    with pytest.raises(ValueError, match="mixed kinds") as caught:
        found.common(list(frame.columns))
    message = str(caught.value)
    for name in frame.columns:
        assert f"column {name!r} (" in message
    for remedy in ("score='auto'", "score='bde'", "categorical_features"):
        assert remedy in message


def test_arrays():
    X = np.column_stack([CODES, CODES])
    assert column_kinds(X).common() == "categorical"
    assert column_kinds(X > 0).common() == "categorical"
    # the type of an array holds for all of it, and floats are meant as numbers
    assert column_kinds(X.astype(float)).common() == "continuous"
    assert column_kinds(X.astype(np.float32)).guessed == []
    mixed = [[1, "a", 0.5], [0, "b", 1.5]]
    assert column_kinds(mixed).kinds.tolist() == [
        "categorical",
        "categorical",
        "continuous",
    ]


def test_weights_are_rows():
    X = integers(8, 16).reshape(-1, 1)
    twice = column_kinds(np.repeat(X, 3, axis=0))
    weighted = column_kinds(X, sample_weight=np.full(16, 3))
    assert column_kinds(X).common() == "continuous"
    assert twice.common() == weighted.common() == "categorical"
    assert twice.reasons == weighted.reasons
    absent = np.r_[np.ones(80), 0]
    assert column_kinds(np.r_[integers(2, 80), 999][:, None], sample_weight=absent)


def test_long_lists_are_cut():
    found = column_kinds(np.column_stack([MANY] * 9))
    (sentence,) = found.guesses()
    assert sentence.count("column ") == 6
    assert sentence.endswith("3 more.")


# ------------------------------------------------------------------- estimators


@pytest.mark.parametrize(
    "Estimator",
    [OrderMCMCStructure, PartitionMCMCStructure, IterativeSearchStructure],
)
def test_integers_to_999_are_continuous_and_it_is_said(Estimator):
    X = np.random.default_rng(1).integers(1000, size=(500, 4))
    frame = pd.DataFrame(X, columns=list("abcd"))
    text = r"guessed\. Taken as continuous: column 'a' \(\d+ different integers in 500"
    with pytest.warns(UserWarning, match=text) as caught:
        model = Estimator(**QUICK).fit(frame)
    (warning,) = caught
    assert warning.filename == __file__
    assert model.feature_kinds_.tolist() == ["continuous"] * 4
    assert type(model.score_) is BGe
    for silent in (
        Estimator(categorical_features=None, **QUICK),
        Estimator("bge", **QUICK),
    ):
        same = silent.fit(frame)
        np.testing.assert_array_equal(
            same.adjacency_probabilities_, model.adjacency_probabilities_
        )
    floats = Estimator(**QUICK).fit(frame.astype(float))
    np.testing.assert_array_equal(floats.log_score_trace_, model.log_score_trace_)


@pytest.mark.parametrize(
    "chosen",
    [
        "auto",
        ["a", "b", "c"],
        [0, 1, 2],
        [True, True, True],
        np.ones(3, dtype=bool),
        pd.Index(["c", "b", "a"]),
    ],
)
def test_categorical_features(chosen):
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(rng.integers(2, size=(50, 3)), columns=list("abc"))
    model = OrderMCMCStructure(categorical_features=chosen, **QUICK).fit(frame)
    assert type(model.score_) is BDe
    assert model.feature_kinds_.tolist() == ["categorical"] * 3


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        (["a", "z"], "categorical_features names an unknown variable: 'z'"),
        ([0, 3], "categorical_features has the index 3, but there are 3"),
        ([True, False], r"categorical_features as a mask must have shape \(3,\)"),
        ([[0, 1]], r"a list of names, indices or booleans; got an array"),
        ("all", "'categorical_features' parameter"),
    ],
)
def test_bad_categorical_features(chosen, message):
    frame = pd.DataFrame(np.eye(3, dtype=int), columns=list("abc"))
    with pytest.raises(ValueError, match=message):
        OrderMCMCStructure(categorical_features=chosen, **QUICK).fit(frame)


def test_a_score_of_one_kind_refuses_mixed_columns():
    frame = pd.DataFrame(np.eye(3, dtype=int), columns=list("abc"))
    for score in ("bic", BDe()):
        model = OrderMCMCStructure(score, categorical_features=["a"], **QUICK)
        message = r"mixed kinds.* Continuous: column 'b' \(by categorical_features\)"
        with pytest.raises(ValueError, match=message):
            model.fit(frame)


def test_a_score_decides_by_itself():
    X = np.random.default_rng(3).integers(3, size=(40, 3))
    for score, kind in ((GaussianBIC(), "continuous"), ("bge", "continuous")):
        model = OrderMCMCStructure(score, **QUICK).fit(X)
        assert model.feature_kinds_.tolist() == [kind] * 3
    model = OrderMCMCStructure(BDe(), **QUICK).fit(X.astype(float))
    assert model.feature_kinds_.tolist() == ["categorical"] * 3
    many = np.random.default_rng(3).integers(60, size=(100, 3))
    assert OrderMCMCStructure("bde", **QUICK).fit(many).score_.n_levels_.min() > 20
    with pytest.raises(ValueError, match="makes the columns continuous, but the score"):
        OrderMCMCStructure("bde", categorical_features=None, **QUICK).fit(X)


def test_kinds_do_not_depend_on_where_pc_looks():
    """PC gets codes of many categories, and whole numbers, as the score sees them."""
    rng = np.random.default_rng(4)
    X = rng.integers(40, size=(300, 3))
    for space in ("pc", PCSkeleton(alpha=0.1)):
        OrderMCMCStructure("bde", search_space=space, **QUICK).fit(X)
        OrderMCMCStructure("bge", search_space=space, **QUICK).fit(X % 3)


def test_a_search_inside_has_the_same_kinds():
    X = np.random.default_rng(5).integers(3, size=(40, 3))
    search = IterativeSearchStructure(categorical_features=None)
    with pytest.raises(ValueError, match="give categorical_features to Order"):
        OrderMCMCStructure(search_space=search, **QUICK).fit(X)


def test_integers_with_holes():
    rng = np.random.default_rng(6)
    whole = rng.integers(2, size=(60, 3))
    frame = pd.DataFrame(whole, columns=list("abc"), dtype=float)
    frame.iloc[:4, 0] = np.nan
    with pytest.warns(UserWarning, match="guessed|missing cells") as caught:
        model = OrderMCMCStructure(missing="drop", **QUICK).fit(frame)
    told = [str(warning.message) for warning in caught]
    assert any("4 of 60 rows of X have missing cells" in text for text in told)
    assert any(re.search("Taken as categorical: column 'a'", text) for text in told)
    complete = OrderMCMCStructure(**QUICK).fit(whole[4:])
    np.testing.assert_array_equal(complete.log_score_trace_, model.log_score_trace_)


# ------------------------------------------------------------------ who else asks


def test_pc_follows_the_rule():
    X = np.random.default_rng(7).integers(1000, size=(200, 3))
    with pytest.warns(UserWarning, match=r"say which test to make \(test\)") as caught:
        guessed = PCSkeleton().fit(X)
    assert caught[0].filename == __file__
    known = PCSkeleton(test="fisherz").fit(X)
    np.testing.assert_array_equal(guessed.search_space_, known.search_space_)
    frame = pd.DataFrame({"a": SIZE, "b": WORD})
    mixed, known = PCSkeleton().fit(frame), PCSkeleton(test="evidence").fit(frame)
    np.testing.assert_array_equal(mixed.search_space_, known.search_space_)


def test_the_selector_follows_the_rule():
    rng = np.random.default_rng(8)
    X = rng.normal(size=(80, 3))
    selector = MarkovBlanketSelector(OrderMCMCStructure(**QUICK))
    y = np.round(1000 * X[:, 0]).astype(int)
    with pytest.warns(UserWarning, match="column 'y' .* say target_type") as caught:
        selector.fit(X, y)
    assert caught[0].filename == __file__
    assert len(selector.target_) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        selector.fit(X, y.astype(float))
        assert len(selector.target_) == 1
        selector.fit(X, (X[:, 0] > 0) + (X[:, 1] > 0).astype(int))
        assert len(selector.target_) == 2
        categories = OrderMCMCStructure(categorical_features=[0, 1, 2, 3], **QUICK)
        MarkovBlanketSelector(categories).fit((X > 0).astype(int), X[:, 0] > 0)


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (pd.date_range("2020-01-01", periods=3), "'b' holds dates or times"),
        ([datetime.date(2020, 1, day) for day in (1, 2, 3)], "'b' holds dates or"),
        (pd.to_timedelta([1, 2, 3], unit="s"), "'b' holds dates or times"),
        ([[1], [2], [3]], "'b' holds values of the type list"),
        ([object()] * 3, "'b' holds values of the type object"),
    ],
)
def test_what_is_no_category_is_told(column, message):
    frame = pd.DataFrame({"a": [0.5, 1.5, 2.5], "b": column})
    with pytest.raises(ValueError, match=message):
        OrderMCMCStructure(n_iter=100).fit(frame)


def test_numbers_that_are_mostly_one_value_are_told():
    rng = np.random.default_rng(0)
    group = np.repeat([*"abcde"], 20)
    amount = np.where(rng.random(100) < 0.6, 0.0, rng.normal(size=100))
    share = f"{np.mean(amount == 0):.0%}"
    frame = pd.DataFrame({"amount": amount, "group": group, "size": rng.random(100)})
    with pytest.warns(UserWarning, match=f"'amount' is 0 in {share} of") as caught:
        OrderMCMCStructure(**QUICK).fit(frame)
    assert caught[0].filename == __file__
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # rows that do not count, missing cells and what was set, do not either
        OrderMCMCStructure(**QUICK).fit(frame, sample_weight=1.0 - 0.9 * (amount == 0))
        holes = frame.assign(amount=np.where(amount == 0, np.nan, amount))
        OrderMCMCStructure(**QUICK).fit(holes)
        was_set = [["amount"] if value == 0 else [] for value in amount]
        OrderMCMCStructure(**QUICK).fit(frame, interventions=was_set)
        # numbers alone, and what is constant
        OrderMCMCStructure(**QUICK).fit(frame.drop(columns="group"))
