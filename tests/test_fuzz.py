"""Whatever comes in: an error with a message, or finite probabilities.

No input may crash the process, hang, or give NaN. An example that once failed stays in
the file as an explicit one.
"""

import os
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from skbidag import (
    IterativeSearchStructure,
    MarkovBlanketSelector,
    OrderMCMCStructure,
    PartitionMCMCStructure,
    PCSkeleton,
    causal_effects,
    graphs,
    metrics,
)
from skbidag.scores import BDe, BGe, CategoricalBIC, GaussianBIC, PredictiveScore

# The same examples every time: a change either passes or does not. To look for more,
# set SKBIDAG_FUZZ to a number of examples.
fuzz = settings(
    max_examples=int(os.environ.get("SKBIDAG_FUZZ", 40)),
    deadline=None,
    derandomize="SKBIDAG_FUZZ" not in os.environ,
    database=None,
    suppress_health_check=list(HealthCheck),
)

pytestmark = pytest.mark.slow

TINY = {"n_iter": 20, "n_draws": 4, "n_chains": 2}
STRUCTURES = [OrderMCMCStructure, PartitionMCMCStructure, IterativeSearchStructure]

# how something may be refused, and must then say why; memory_limit is a MemoryError
REFUSALS = (ValueError, TypeError, MemoryError)


def attempt(function, *args, **kwargs):
    """The result, or None if it was refused with a message."""
    with warnings.catch_warnings():
        # of constant columns, missing cells, chains too short: not at issue here,
        # but a division by zero or an overflow would be
        warnings.simplefilter("ignore", UserWarning)
        warnings.simplefilter("ignore", FutureWarning)
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.simplefilter("error", RuntimeWarning)
        try:
            return function(*args, **kwargs)
        except REFUSALS as error:
            if not str(error).strip():
                raise AssertionError("refused without a word") from error
            return None


# Data

SHAPES = st.one_of(
    st.tuples(st.integers(2, 12), st.integers(1, 5)),
    st.sampled_from([(0, 3), (1, 3), (3, 0), (0, 0), (4, 1), (1, 1), (2, 2)]),
)
ANY_FLOAT = st.floats(allow_nan=True, allow_infinity=True)
EXTREME = st.sampled_from(
    [0.0, -0.0, 1.0, 1e-320, 1e-300, 1e-12, 1e8, 1e12, 1e150, 1.5e154, 1e300, -1e308]
)
TAME = st.floats(-10, 10, width=32)
LABEL = st.one_of(
    st.text(max_size=3),
    st.integers(-3, 3),
    st.booleans(),
    st.none(),
    TAME,
    st.sampled_from([b"x", (1, 2), float("nan"), 2**70]),
)


@st.composite
def degenerate(draw):
    """Columns that are constant, equal, or sums of each other, at any scale."""
    n_rows, n = draw(st.integers(1, 15)), draw(st.integers(1, 5))
    X = np.random.default_rng(draw(st.integers(0, 99))).normal(size=(n_rows, n))
    for column in range(n):
        what = draw(
            st.sampled_from(["as it is", "constant", "equal", "sum", "scale", "shift"])
        )
        with np.errstate(over="ignore", invalid="ignore"):
            if what == "constant":
                X[:, column] = draw(EXTREME)
            elif what == "equal":
                X[:, column] = X[:, 0]
            elif what == "sum":
                X[:, column] = X.sum(axis=1)
            elif what == "scale":
                X[:, column] *= draw(EXTREME)
            elif what == "shift":
                X[:, column] += draw(EXTREME)
    return X


DATA = st.one_of(
    degenerate(),
    hnp.arrays(np.float64, SHAPES, elements=TAME),
    hnp.arrays(np.float64, SHAPES, elements=ANY_FLOAT),
    hnp.arrays(np.float64, SHAPES, elements=EXTREME),
    hnp.arrays(np.float32, SHAPES, elements=st.floats(width=32)),
    hnp.arrays(np.int64, SHAPES, elements=st.integers(-2, 3)),
    hnp.arrays(np.int64, SHAPES),
    hnp.arrays(np.uint8, SHAPES),
    hnp.arrays(bool, SHAPES),
    hnp.arrays("U3", SHAPES, elements=st.text(max_size=3)),
    hnp.arrays(object, SHAPES, elements=LABEL),
    hnp.arrays(object, SHAPES, elements=st.sampled_from(["a", "b", None])),
    hnp.arrays(np.complex128, SHAPES),
    hnp.arrays("datetime64[D]", SHAPES),
    hnp.arrays(np.float64, st.sampled_from([(), (3,), (2, 2, 2)]), elements=TAME),
    st.lists(st.lists(LABEL, max_size=3), max_size=3),
    st.sampled_from([None, "data", 3, {"a": [1.0]}, [[]], [[1.0, 2.0], [3.0]]]),
)


def check_probabilities(P):
    P = np.asarray(P)
    assert np.isfinite(P).all()
    assert (P >= 0).all()
    assert (P <= 1 + 1e-12).all()


def check_structure(model, X):
    check_probabilities(model.adjacency_probabilities_)
    for kind in ("dag", "cpdag", "skeleton"):
        check_probabilities(model.edge_probabilities(kind))
    assert graphs.is_dag(model.adjacency_)
    assert np.isfinite(model.log_score_)
    assert np.isfinite(model.log_score_trace_).all()
    density = attempt(model.score_samples, X)
    if density is not None:
        assert not np.isnan(density).any()
        assert (density < np.inf).all()
    predicted = attempt(model.predict, X)
    if predicted is not None and not hasattr(model.score_, "categories_"):
        assert np.isfinite(np.asarray(predicted)).all()
    rows = attempt(model.sample, 3, random_state=0)
    if rows is not None and not hasattr(model.score_, "categories_"):
        assert np.isfinite(np.asarray(rows)).all()
    if hasattr(model.score_, "categories_") and predicted is not None:
        for P in model.predict_probabilities(X).values():
            check_probabilities(P)
    effects = attempt(causal_effects, model, random_state=0)
    if effects is not None:
        check_probabilities(effects.probability_nonzero)
        assert np.isfinite(effects.draws).all()
        assert np.isfinite(effects.mean).all()


@pytest.mark.parametrize("structure", STRUCTURES)
@fuzz
@given(X=DATA, score=st.sampled_from(["auto", "bge", "bde", "bic"]))
def test_structures(structure, X, score):
    model = attempt(structure(score=score, random_state=0, **TINY).fit, X)
    if model is not None:
        check_structure(model, X)


@fuzz
@given(X=DATA, new=DATA)
def test_new_rows(X, new):
    model = attempt(OrderMCMCStructure(random_state=0, **TINY).fit, X)
    if model is None:
        return
    density = attempt(model.score_samples, new)
    if density is not None:
        assert not np.isnan(density).any()
    attempt(model.predict, new)


@fuzz
@given(
    columns=st.lists(
        st.lists(LABEL, min_size=4, max_size=4).map(tuple), min_size=1, max_size=4
    ),
    category=st.booleans(),
)
def test_frames(columns, category):
    frame = pd.DataFrame({f"x{k}": list(values) for k, values in enumerate(columns)})
    if category:
        frame = attempt(frame.astype, "category")
        if frame is None:
            return
    model = attempt(OrderMCMCStructure(random_state=0, **TINY).fit, frame)
    if model is not None:
        check_structure(model, frame)


@fuzz
@given(X=DATA, alpha=st.sampled_from(["auto", 1e-300, 0.05, 0.999999]))
def test_skeletons(X, alpha):
    for orient in (False, True):
        skeleton = attempt(PCSkeleton(alpha=alpha, orient=orient).fit, X)
        if skeleton is not None:
            space = skeleton.search_space_
            assert space.dtype == bool
            assert not space.diagonal().any()


@pytest.mark.parametrize("score", [BGe, BDe, GaussianBIC, CategoricalBIC])
@fuzz
@given(X=DATA, parents=st.lists(st.integers(-2, 5), max_size=4))
def test_scores(score, X, parents):
    fitted = attempt(score().fit, X)
    if fitted is None:
        return
    value = attempt(fitted.local_score, 0, parents)
    if value is not None:
        assert np.isfinite(value)
    if isinstance(fitted, PredictiveScore):
        density = attempt(fitted.log_predictive, X, 0, [])
        if density is not None:
            assert not np.isnan(density).any()


# Parameters

WORDS = ["auto", "pc", "full", "glasso", "iterative", "bge"]
EDGES = [[], [[]], [(0, 1)], [("a", "b")], [[0], [1, 2]], {}]
ARRAYS = [np.eye(3), np.ones((3, 3)), np.full((3, 3), np.nan), np.zeros((2, 2))]
OBJECTS = [np.int64(3), np.float32(0.5), object, len, BGe(), BGe]
WEIRD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 40),
    ANY_FLOAT,
    st.text(max_size=4),
    st.sampled_from([*WORDS, *EDGES, *ARRAYS, *OBJECTS]),
)
# a huge number of these is a long run, which is what was asked for
LENGTHS = ["n_iter", "n_draws", "n_chains", "n_restarts", "max_expansions", "verbose"]


def weird_params(structure):
    names = sorted(structure().get_params(deep=False).keys() - {*LENGTHS})
    values = st.one_of(WEIRD, st.sampled_from([10**30, -(10**30)]))
    return st.dictionaries(st.sampled_from(names), values, min_size=1, max_size=2)


@pytest.mark.parametrize("structure", STRUCTURES)
@fuzz
@given(data=st.data())
def test_parameters(structure, data):
    params = data.draw(weird_params(structure))
    X = np.random.default_rng(0).normal(size=(20, 3))
    model = attempt(structure(**{**TINY, "random_state": 0, **params}).fit, X)
    if model is not None:
        check_probabilities(model.adjacency_probabilities_)
        assert graphs.is_dag(model.adjacency_)


@pytest.mark.parametrize("name", LENGTHS)
@fuzz
@given(value=WEIRD)
def test_lengths(name, value):
    X = np.random.default_rng(0).normal(size=(20, 3))
    params = {**TINY, "random_state": 0, name: value}
    model = attempt(IterativeSearchStructure(**params).fit, X)
    if model is not None:
        check_probabilities(model.adjacency_probabilities_)


@fuzz
@given(
    alpha_mu=st.floats(0, allow_infinity=False, exclude_min=True),
    alpha_w=st.one_of(st.none(), st.floats(0, allow_infinity=False)),
    edge_penalty=st.floats(0, allow_infinity=False, exclude_min=True),
    size=st.floats(0, allow_infinity=False, exclude_min=True),
)
def test_priors(alpha_mu, alpha_w, edge_penalty, size):
    rng = np.random.default_rng(0)
    for score, X in (
        (BGe(alpha_mu, alpha_w, edge_penalty), rng.normal(size=(20, 3))),
        (BDe(size, edge_penalty), rng.integers(3, size=(20, 3))),
    ):
        model = attempt(OrderMCMCStructure(score, random_state=0, **TINY).fit, X)
        if model is not None:
            check_structure(model, X)


@fuzz
@given(
    weights=st.one_of(
        hnp.arrays(np.float64, 6, elements=st.one_of(ANY_FLOAT, EXTREME)),
        hnp.arrays(object, 6, elements=LABEL),
        st.sampled_from([1.0, "w", [1.0], np.ones((6, 1))]),
    ),
    discrete=st.booleans(),
)
def test_weights(weights, discrete):
    rng = np.random.default_rng(0)
    X = rng.integers(2, size=(6, 3)) if discrete else rng.normal(size=(6, 3))
    model = OrderMCMCStructure(random_state=0, **TINY)
    model = attempt(model.fit, X, sample_weight=weights)
    if model is not None:
        check_structure(model, X)


@fuzz
@given(X=DATA, y=DATA, target=st.sampled_from([None, 0, 1, -1, "a"]))
def test_selector(X, y, target):
    estimator = OrderMCMCStructure(random_state=0, **TINY)
    y = y[..., 0] if isinstance(y, np.ndarray) and y.ndim == 2 and y.shape[1] else y
    selector = MarkovBlanketSelector(estimator, target=target)
    if attempt(selector.fit, X, y) is not None:
        check_probabilities(selector.blanket_probabilities_)
        attempt(selector.transform, X)


# Graphs and metrics

MATRICES = st.one_of(
    hnp.arrays(bool, st.tuples(st.integers(0, 5), st.integers(0, 5))),
    hnp.arrays(
        np.int8, st.integers(0, 5).map(lambda n: (n, n)), elements=st.integers(0, 1)
    ),
    hnp.arrays(
        np.float64,
        st.integers(0, 4).map(lambda n: (n, n)),
        elements=st.one_of(ANY_FLOAT, st.sampled_from([0.0, 1.0])),
    ),
    hnp.arrays(object, (2, 2), elements=LABEL),
    st.sampled_from([None, 3, "graph", [[0]], [[0, 1]], [], [[]], [[0, 2], [0, 0]]]),
)


@fuzz
@given(A=MATRICES, node=st.one_of(st.integers(-2, 6), st.none(), st.just("a")))
def test_graphs(A, node):
    for function in (
        graphs.is_dag,
        graphs.is_cpdag,
        graphs.topological_order,
        graphs.to_cpdag,
        graphs.skeleton,
        graphs.v_structures,
        graphs.to_networkx,
    ):
        attempt(function, A)
    for function in (graphs.markov_blanket, graphs.ancestors, graphs.descendants):
        attempt(function, A, node)


@fuzz
@given(
    A=MATRICES,
    B=MATRICES,
    kind=st.sampled_from(["skeleton", "dag", "cpdag", "other", None]),
)
def test_metrics(A, B, kind):
    distance = attempt(metrics.structural_hamming_distance, A, B, kind)
    if distance is not None:
        assert distance >= 0
    attempt(metrics.compare_graphs, A, B, kind)
    roc = attempt(metrics.edge_roc, A, B, kind)
    if roc is not None:
        assert np.isfinite(roc[0]).all()
    precision = attempt(metrics.edge_average_precision, A, B, kind)
    if precision is not None and np.any(np.asarray(A)):
        assert 0 <= precision <= 1
