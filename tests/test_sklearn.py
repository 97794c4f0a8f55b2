"""At home in scikit-learn: pipelines, searches, frames, routing, callbacks, errors."""

import os
import threading

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import clone, config_context
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OrdinalEncoder, StandardScaler
from sklearn.utils.estimator_checks import check_param_validation

from helpers import Callback, assert_same_draws, quick
from skbidag import (
    IterativeSearchStructure,
    MarkovBlanketSelector,
    OrderMCMCStructure,
    PartitionMCMCStructure,
    PCSkeleton,
    _chains,
    _parallel,
)
from skbidag.scores import BDe, BGe, CategoricalBIC, GaussianBIC

SAMPLERS = [OrderMCMCStructure, PartitionMCMCStructure]
STRUCTURES = [*SAMPLERS, IterativeSearchStructure]
NAMES = list("abcd")


def gaussian(seed=0, n_rows=120):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 4))
    X[:, 1] += X[:, 0]
    X[:, 2] += X[:, 1]
    return X


def labels(seed=0):
    return np.array(["low", "high"])[(gaussian(seed) > 0).astype(int)]


@pytest.fixture(scope="module")
def X():
    return gaussian()


# Pipelines and searches


@pytest.mark.parametrize("structure", STRUCTURES)
def test_pipeline(X, structure):
    pipeline = Pipeline([("scale", StandardScaler()), ("learn", quick(structure))])
    units = [1, 8, 64, 1024]  # powers of two: no rounding
    pipeline.fit(X * units)
    alone = quick(structure).fit(StandardScaler().fit_transform(X))
    assert_array_equal(
        pipeline["learn"].adjacency_probabilities_, alone.adjacency_probabilities_
    )
    new = gaussian(1, 10)
    scaled = StandardScaler().fit(X).transform(new)
    assert_allclose(pipeline.score_samples(new * units), alone.score_samples(scaled))
    assert np.isclose(pipeline.score(new * units), alone.score(scaled))
    assert_allclose(pipeline.predict(new * units), alone.predict(scaled))


def test_encoded_categories_in_a_pipeline():
    pipeline = Pipeline(
        [("encode", OrdinalEncoder(dtype=int)), ("learn", quick())]
    ).fit(labels())
    direct = quick().fit(labels())
    assert isinstance(pipeline["learn"].score_, BDe)
    assert_allclose(pipeline.score_samples(labels(1)), direct.score_samples(labels(1)))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Node . has . permissible parents")
def test_grid_search_by_held_out_density(X):
    grid = {
        "score__alpha_mu": [0.01, 1.0, 500.0],
        "max_parents": [0, 3],
        "alpha": ["auto", 0.05],
    }
    model = quick(score=BGe(), search_space="pc", extra_parent=False)
    search = GridSearchCV(model, grid, cv=3).fit(X)
    assert len(search.cv_results_["params"]) == 12
    scores = search.cv_results_["mean_test_score"]
    assert np.isfinite(scores).all()
    # a prior of 500 rows with mean zero and no edges hurts
    worst = search.cv_results_["params"][int(np.argmin(scores))]
    assert worst["score__alpha_mu"] == 500.0
    assert search.best_params_["max_parents"] == 3
    best = search.best_estimator_
    assert (
        best.get_params()["score__alpha_mu"] == search.best_params_["score__alpha_mu"]
    )
    assert best.score_.alpha_mu == search.best_params_["score__alpha_mu"]
    assert_allclose(search.score_samples(X), best.score_samples(X))
    # the number is what it says: the mean over folds of the density of the held-out
    folds = [
        clone(best).fit(X[train]).score(X[test]) for train, test in KFold(3).split(X)
    ]
    assert_allclose(search.best_score_, np.mean(folds))


def test_grid_search_of_a_pipeline(X):
    pipeline = Pipeline([("scale", StandardScaler()), ("learn", quick(score="bge"))])
    search = GridSearchCV(pipeline, {"learn__score": [BGe(), BGe(0.1), "bic"]}, cv=2)
    with pytest.warns(UserWarning, match="non-finite|Scoring failed"):
        search.fit(X)  # BIC has no predictive density
    scores = search.cv_results_["mean_test_score"]
    assert np.isfinite(scores[:2]).all()
    assert np.isnan(scores[2])


def test_cross_val_score(X):
    scores = cross_val_score(quick(), X, cv=4)
    assert scores.shape == (4,)
    # four independent standard normal rows would have -2 ln(2 pi e) = -5.7
    assert (np.abs(scores + 5.7) < 1.0).all()


def test_clone_and_set_params_of_nested_scores():
    model = quick(score=BGe(alpha_mu=2.0))
    copy = clone(model)
    assert copy.get_params()["score"] is not model.get_params()["score"]
    copy.set_params(score__alpha_mu=3.0, max_parents=2)
    assert copy.get_params()["score__alpha_mu"] == 3.0
    assert model.get_params()["score__alpha_mu"] == 2.0
    copy.set_params(score=BDe(), score__equivalent_sample_size=5.0)
    assert copy.get_params()["score__equivalent_sample_size"] == 5.0
    with pytest.raises(ValueError, match="Invalid parameter 'alpha_mu'"):
        copy.set_params(score__alpha_mu=1.0)
    selector = MarkovBlanketSelector(model)
    selector.set_params(estimator__score__alpha_mu=4.0, threshold=0.3)
    assert model.get_params()["score__alpha_mu"] == 4.0


@pytest.mark.parametrize("structure", [*STRUCTURES, PCSkeleton])
def test_diagrams(X, structure):
    model = quick(structure) if structure is not PCSkeleton else structure()
    pipeline = Pipeline([("scale", StandardScaler()), ("learn", model)])
    with config_context(display="diagram"):
        for estimator in (pipeline, pipeline.fit(X), MarkovBlanketSelector(model)):
            html = estimator._repr_html_()
            assert structure.__name__ in html
            assert "sk-container" in html or "sk-top-container" in html


# Frames


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_names_are_kept(X, library):
    make = {
        "pandas": lambda X: pd.DataFrame(X, columns=NAMES),
        "polars": lambda X: pl.DataFrame(X, schema=NAMES),
    }[library]
    frame = make(X)
    model, plain = quick().fit(frame), quick().fit(X)
    assert model.feature_names_in_.tolist() == NAMES
    assert not hasattr(plain, "feature_names_in_")
    for rows, expected in (
        (model.predict(frame[:5]), plain.predict(X[:5])),
        (model.sample(5, random_state=0), plain.sample(5, random_state=0)),
    ):
        assert type(rows) is type(frame)
        assert list(rows.columns) == NAMES
        assert_allclose(rows.to_numpy(), expected)
        assert isinstance(expected, np.ndarray)
    assert_allclose(model.score_samples(frame), plain.score_samples(X))
    assert list(model.to_networkx().nodes) == NAMES


def test_rows_keep_their_index(X):
    frame = pd.DataFrame(X, columns=NAMES, index=range(1000, 1120))
    model = quick().fit(frame)
    assert_array_equal(model.predict(frame[7:9]).index, [1007, 1008])
    # an array after a frame is what scikit-learn makes of it: a warning
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        assert isinstance(model.predict(X), np.ndarray)


@pytest.mark.parametrize(
    "make",
    [
        lambda values: pd.DataFrame(values, columns=NAMES),
        lambda values: pd.DataFrame(values, columns=NAMES).astype("category"),
        lambda values: pd.DataFrame(values == "low", columns=NAMES),
        lambda values: pl.DataFrame(values, schema=NAMES),
        lambda values: pl.DataFrame(
            values, schema=dict.fromkeys(NAMES, pl.Categorical)
        ),
        lambda values: pl.DataFrame(
            values, schema=dict.fromkeys(NAMES, pl.Enum(["high", "low"]))
        ),
    ],
    ids=["str", "category", "bool", "polars", "polars categorical", "polars enum"],
)
def test_categories_are_kept(make):
    frame = make(labels())
    model = quick().fit(frame)
    assert isinstance(model.score_, BDe)
    for rows in (model.predict(frame[:6]), model.sample(6, random_state=0)):
        assert type(rows) is type(frame)
        assert list(rows.columns) == NAMES
        assert list(rows.dtypes) == list(frame.dtypes)
        assert len(rows) == 6
    probabilities = model.predict_probabilities(frame[:6])
    assert list(probabilities) == NAMES
    predicted = model.predict(frame[:6])
    for name, levels in zip(NAMES, model.score_.categories_, strict=True):
        assert probabilities[name].shape == (6, 2)
        assert_allclose(probabilities[name].sum(axis=1), 1.0)
        best = levels[probabilities[name].argmax(axis=1)]
        assert_array_equal(best, np.asarray(predicted[name]))


def test_probabilities_of_some_variables(X):
    model = quick().fit(labels())
    everything = model.predict_probabilities(labels(1))
    assert list(everything) == [0, 1, 2, 3]
    some = model.predict_probabilities(labels(1), columns=[2])
    assert list(some) == [2]
    assert_array_equal(some[2], everything[2])
    holes = labels(1).astype(object)
    holes[0, :3] = None
    assert np.isfinite(model.predict_probabilities(holes)[2]).all()
    with pytest.raises(ValueError, match="columns has the index 4"):
        model.predict_probabilities(labels(), columns=[4])
    with pytest.raises(ValueError, match="must be a list"):
        model.predict_probabilities(labels(), columns="a")
    with pytest.raises(TypeError, match="BGe has no category probabilities"):
        quick().fit(X).predict_probabilities(X)


# Metadata routing


@pytest.mark.filterwarnings("ignore:Node . has . permissible parents")
def test_weights_are_routed(X):
    weights = np.r_[np.ones(80), np.zeros(40)]
    expected = quick().fit(X[:80])
    with config_context(enable_metadata_routing=True):
        model = quick().set_fit_request(sample_weight=True)
        pipeline = Pipeline(
            [
                ("scale", StandardScaler().set_fit_request(sample_weight=True)),
                ("learn", model),
            ]
        )
        pipeline.fit(X, sample_weight=weights)
        assert pipeline["learn"].score_.n_effective_ == 80
        model.set_score_request(sample_weight=False)
        search = GridSearchCV(model, {"max_parents": [1, 3]}, cv=2)
        search.fit(X, sample_weight=weights)
        assert search.best_estimator_.score_.n_effective_ == 80
        with pytest.raises(ValueError, match="not explicitly set as requested"):
            GridSearchCV(quick(), {"max_parents": [1]}).fit(X, sample_weight=weights)
    direct = quick().fit(X, sample_weight=weights)
    assert_array_equal(direct.dag_samples_.packed, expected.dag_samples_.packed)


# Parallel loops in parallel loops


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_one_worker_inside_a_parallel_search(X, backend):
    """The scorer runs in the worker, and counts the threads of a fit made there."""

    here = os.getpid()

    def n_threads(estimator, X, y=None):
        import os
        import threading

        from sklearn import clone

        from skbidag import _parallel

        assert (os.getpid() == here) == (backend == "threading")
        threads = set()

        def permit_all(X):
            import numpy as np

            # tables and chains are spread in the same way as this
            blocks = _parallel.run_threads(
                lambda item: threads.add(threading.get_ident()), range(100), n_jobs=4
            )
            jobs = [(threading.get_ident,)] * 8
            threads.update(_parallel.run_parallel(lambda f: f(), jobs, n_jobs=4))
            assert len(blocks) == 100
            return np.ones((X.shape[1], X.shape[1]), dtype=bool)

        clone(estimator).set_params(search_space=permit_all).fit(X)
        return len(threads)

    model = quick(n_jobs=4)
    with joblib.parallel_config(backend=backend):
        search = GridSearchCV(
            model, {"max_parents": [3, 4]}, cv=2, n_jobs=2, scoring=n_threads
        ).fit(X)
    assert_array_equal(search.cv_results_["mean_test_score"], [1.0, 1.0])


def test_workers_of_a_fit(X, monkeypatch):
    """Chains run in several threads alone, and in one inside a parallel loop."""
    one_worker = quick(n_chains=4).fit(X)
    threads = {}
    run_group, lock = _chains.run_group, threading.Lock()
    meeting, together = threading.Barrier(2), True

    def watched(make_chain, tables, *args):
        with lock:  # the tables stay alive, so their number is one fit's
            threads.setdefault(id(tables), (tables, set()))[1].add(
                threading.get_ident()
            )
        if together:
            meeting.wait(60.0)  # one thread cannot take the other's chains
        return run_group(make_chain, tables, *args)

    monkeypatch.setattr(_chains, "run_group", watched)
    two_workers = quick(n_jobs=2, n_chains=4).fit(X)
    assert [len(used) for _, used in threads.values()] == [2]
    threads.clear()
    together = False
    with joblib.parallel_config(backend="threading"):
        search = GridSearchCV(
            quick(n_jobs=2, n_chains=4),
            {"max_parents": [3, 14]},
            cv=2,
            n_jobs=2,
            refit=False,
        )
        search.fit(X)
    assert [len(used) for _, used in threads.values()] == [1] * 4
    # a sequential outer loop leaves the workers to the inner one
    threads.clear()
    together = True
    search.set_params(n_jobs=1).fit(X)
    assert [len(used) for _, used in threads.values()] == [2] * 4
    assert _parallel.n_workers(3) == 3
    assert_same_draws(two_workers, one_worker)


# Progress


class StopAfter(Callback):
    """A callback that lets every chain make so many hundredths of its steps."""

    def __init__(self, hundredths):
        self.hundredths = hundredths

    def setup(self, estimator, context):
        self.seen = {}

    def on_fit_task_end(self, estimator, context):
        if context.task_name != "steps":
            return False
        chain = context.parent.task_id
        self.seen[chain] = self.seen.get(chain, 0) + 1
        return self.seen[chain] >= self.hundredths


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("structure", SAMPLERS)
def test_early_stopping(X, structure, n_jobs, monkeypatch):
    monkeypatch.setattr(_chains, "BLOCK_LOOKUPS", 1)  # blocks of a hundred steps
    params = {"n_iter": 2000, "n_draws": 40, "n_jobs": n_jobs}
    whole = quick(structure, **params).fit(X)
    callback = StopAfter(60)
    model = quick(structure, **params).set_callbacks(callback)
    pipeline = Pipeline([("scale", StandardScaler(with_std=False)), ("learn", model)])
    pipeline.fit(X)
    assert callback.seen == {0: 60, 1: 60}
    model = pipeline["learn"]
    # 1200 of 2000 steps, of which 400 are burn-in: half of the draws
    assert model.log_score_trace_.shape == (2, 20)
    assert model.rhat_.shape == (4, 4)
    unstopped = quick(structure, **params).fit(X - X.mean(axis=0))
    assert_array_equal(model.log_score_trace_, unstopped.log_score_trace_[:, :20])
    assert np.isfinite(pipeline.score(X))
    assert whole.log_score_trace_.shape == (2, 40)


def test_stopped_before_the_first_draw(X, monkeypatch):
    monkeypatch.setattr(_chains, "BLOCK_LOOKUPS", 1)
    model = quick(n_iter=2000).set_callbacks(StopAfter(1))
    with pytest.warns(ConvergenceWarning, match="stopped.*none of 40 draws"):
        model.fit(X)
    assert len(model.dag_samples_) == 2  # one from where each chain stands
    assert np.isfinite(model.adjacency_probabilities_).all()
    assert np.isfinite(model.predict(X)).all()
    assert np.isfinite(model.score(X))
    assert np.isfinite(model.sample()).all()


@pytest.mark.parametrize("structure", STRUCTURES)
def test_progress_bars(X, structure, capsys):
    pytest.importorskip("rich")
    from sklearn.callback import ProgressBar

    quick(structure, n_chains=3).set_callbacks(ProgressBar()).fit(X)
    out = capsys.readouterr().out
    for chain in range(3):
        assert out.count(f"{structure.__name__} - chain #{chain}") == 1
    assert out.count("100%") == 4
    pipeline = Pipeline([("scale", StandardScaler()), ("learn", quick(structure))])
    pipeline.set_callbacks(ProgressBar()).fit(X)
    assert capsys.readouterr().out.count("chain #") == 2


@pytest.mark.parametrize("structure", STRUCTURES)
def test_verbose_lines(X, structure, capsys, monkeypatch):
    monkeypatch.setattr(_chains, "BLOCK_LOOKUPS", 1)
    quick(structure, verbose=10_000_000).fit(X)
    lines = capsys.readouterr().out.splitlines()
    total = quick(structure).fit(X).n_iter_
    # a block has a hundred steps, or fewer and some draws
    assert len(lines) >= 2 * -(-total // 100)
    for chain in (1, 2):
        own = [line for line in lines if f"chain {chain}: " in line]
        assert len(own) == len(lines) // 2
        assert f"{total:,} of {total:,} steps" in own[-1]
    for line in lines:
        assert line.startswith(f"[{structure.__name__}] chain ")
        assert " steps/s, " in line
    left = [float(line.split(", ")[-1].removesuffix(" s left")) for line in lines]
    assert left[-1] == 0.0
    assert all(seconds >= 0 for seconds in left)


# Errors


@pytest.mark.parametrize("structure", STRUCTURES)
def test_other_columns(X, structure):
    frame = pd.DataFrame(X, columns=NAMES)
    model = quick(structure).fit(frame)
    for method in (model.predict, model.score, model.score_samples):
        with pytest.raises(ValueError, match="Feature names unseen at fit time"):
            method(frame.rename(columns={"a": "z"}))
        with pytest.raises(ValueError, match="must be in the same order"):
            method(frame[NAMES[::-1]])
        with pytest.raises(ValueError, match="Feature names seen at fit time, yet now"):
            method(frame[["a", "b"]])
        with pytest.raises(ValueError, match="Feature names unseen"):
            method(frame.assign(z=1.0))
    model = quick(structure).fit(X)
    for method in (model.predict, model.score, model.score_samples):
        with pytest.raises(ValueError, match=r"X has 3 features, but \w+Structure is"):
            method(X[:, :3])
        with pytest.raises(ValueError, match="Expected 2D array, got 1D array"):
            method(X[0])
        with pytest.raises(ValueError, match=r"not numbers|could not convert"):
            method(np.full((2, 4), "low"))
        with pytest.raises(ValueError, match=r"0 sample\(s\)"):
            method(X[:0])


@pytest.mark.parametrize("structure", STRUCTURES)
def test_unfitted(X, structure):
    model = quick(structure)
    for method in (
        lambda: model.predict(X),
        lambda: model.predict_probabilities(X),
        lambda: model.score(X),
        lambda: model.score_samples(X),
        lambda: model.sample(),
        lambda: model.edge_probabilities(),
        lambda: model.consensus_graph(),
        lambda: model.to_networkx(),
    ):
        with pytest.raises(NotFittedError):
            method()


@pytest.mark.parametrize("structure", STRUCTURES)
def test_wrong_data(X, structure):
    model = quick(structure)
    for data, message in (
        (X[0], "Expected 2D array"),
        (X[:, :, None], "dim 3|3 dim"),
        (X[:0], r"0 sample\(s\)"),
        (X[:, :0], r"0 feature\(s\)"),
        (X + 1j, "[Cc]omplex"),
        (np.where(X > 2, np.inf, X), "infinity"),
        (np.full_like(X, np.nan), "NaN"),
        (None, "1D|0D|scalar|array"),
    ):
        with pytest.raises((ValueError, TypeError), match=message):
            model.fit(data)
    with pytest.raises(ValueError, match="sample_weight must have shape"):
        model.fit(X, sample_weight=[1.0])
    for n_samples in (0, -1, 1.5, "2"):
        with pytest.raises(ValueError, match="n_samples must be a positive integer"):
            quick(structure).fit(X).sample(n_samples)


@pytest.mark.parametrize(
    "estimator",
    [
        *(structure() for structure in STRUCTURES),
        PCSkeleton(),
        BGe(),
        BDe(),
        GaussianBIC(),
        CategoricalBIC(),
        MarkovBlanketSelector(OrderMCMCStructure()),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_parameter_ranges(estimator):
    """Every parameter has constraints, and breaking any is scikit-learn's error."""
    check_param_validation(type(estimator).__name__, estimator)


# Columns that say nothing


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("kind", ["continuous", "categorical"])
@pytest.mark.parametrize("search_space", ["pc", "full"])
def test_constants_have_no_edges(structure, kind, search_space):
    X = gaussian() if kind == "continuous" else (gaussian() > 0).astype(int)
    X = np.column_stack([X, np.full((len(X), 2), 3)])
    model = quick(structure, search_space=search_space).fit(X)
    present = model.adjacency_probabilities_ > 0
    assert present[:4, :4].any()
    assert not present[4:].any()
    assert not present[:, 4:].any()
    assert not model.adjacency_[4:].any()
    assert not model.search_space_[:, 4:].any()
    # other values that do not count are none
    X = np.vstack([X, X[:1] + 1])
    weights = np.append(np.ones(len(X) - 1), 0.0)
    model = quick(structure, search_space=search_space).fit(X, sample_weight=weights)
    assert not (model.adjacency_probabilities_[:, 4:] > 0).any()
    # what the user knows, stays
    model = quick(structure, search_space=search_space, required_edges=[(4, 0)]).fit(X)
    assert model.adjacency_probabilities_[4, 0] == 1


def test_a_constant_is_in_no_markov_blanket():
    X = np.column_stack([gaussian(), np.ones((120, 2))])
    selector = MarkovBlanketSelector(quick(search_space="full"), target=5)
    with pytest.warns(UserWarning, match="No features were selected"):
        assert selector.fit_transform(X).shape[1] == 0


# Going on with what was asked for before


WARM = {"n_draws": 20, "n_iter": 300, "n_chains": 2, "random_state": 0}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("structure", "other"),
    [
        (OrderMCMCStructure, {"score": BGe(alpha_mu=0.5)}),
        (OrderMCMCStructure, {"score": "bic"}),
        (OrderMCMCStructure, {"search_space": "full"}),
        (OrderMCMCStructure, {"forbidden_edges": [(0, 1)]}),
        (OrderMCMCStructure, {"required_edges": [(0, 1)]}),
        (OrderMCMCStructure, {"tiers": [[0], [1, 2, 3]]}),
        (OrderMCMCStructure, {"edge_prior": np.full((4, 4), 0.5)}),
        (OrderMCMCStructure, {"max_parents": 2}),
        (OrderMCMCStructure, {"extra_parent": False}),
        (OrderMCMCStructure, {"n_iter": 600}),
        (OrderMCMCStructure, {"burn_in": 0.5}),
        (PartitionMCMCStructure, {"move_probabilities": [1, 1, 1, 1, 1, 1]}),
        (PartitionMCMCStructure, {"walk": "partitions"}),
        (IterativeSearchStructure, {"soft_limit": 2}),
        (IterativeSearchStructure, {"alpha": 0.2}),
    ],
)
def test_warm_start_refuses_other_parameters(X, structure, other):
    (name,) = other
    model = structure(search_space="pc", warm_start=True).set_params(**WARM).fit(X)
    trace, kept = model.log_score_trace_, model.get_params()[name]
    with pytest.raises(ValueError, match=f"{name} changed.*warm_start=False"):
        model.set_params(**other, n_draws=40).fit(X)
    # as it was: the old question goes on
    assert model.log_score_trace_ is trace
    assert model.set_params(**{name: kept}).fit(X).log_score_trace_.shape == (2, 40)
    assert_array_equal(model.log_score_trace_[:, :20], trace)
    # and a fit that does not go on may ask anything
    model.set_params(**other, warm_start=False).fit(X)


def test_warm_start_refuses_other_data(X):
    model = OrderMCMCStructure(warm_start=True, **WARM).fit(X)
    weights = np.arange(len(X)) % 2 + 1.0
    for rows, sample_weight in [
        (X + 1e-9, None),
        (X[:-1], None),
        (X[:, ::-1], None),
        (X[:, 1:], None),
        (pd.DataFrame(X, columns=NAMES), None),
        (X, weights),
    ]:
        with pytest.raises(ValueError, match="X or sample_weight changed"):
            model.fit(rows, sample_weight=sample_weight)
        assert model.n_features_in_ == 4
        assert not hasattr(model, "feature_names_in_")
    model.set_params(n_draws=30, n_jobs=2, verbose=0, max_time=1e9).fit(X.tolist())
    assert model.log_score_trace_.shape == (2, 30)


def test_warm_start_tells_categories_apart():
    rows = labels()
    model = quick(warm_start=True).fit(rows)
    with pytest.raises(ValueError, match="X or sample_weight changed"):
        model.fit(np.where(rows == "low", "small", rows))
    with pytest.raises(ValueError, match="score changed"):
        model.set_params(score=BDe(2.0)).fit(rows)


def test_warm_start_with_estimators_and_scores_by_name(X):
    search = IterativeSearchStructure(n_draws=0, random_state=np.random.RandomState(0))
    model = OrderMCMCStructure("bge", search_space=search, warm_start=True, **WARM)
    copy = joblib.hash(model.fit(X).log_score_trace_)
    # the same question in other words: names of scores, other seeds, equal objects
    model.set_params(score=BGe(), search_space=clone(search), random_state=7)
    assert joblib.hash(model.fit(X).log_score_trace_) == copy
    with pytest.raises(ValueError, match="search_space changed"):
        model.set_params(search_space=clone(search).set_params(soft_limit=1)).fit(X)
    with pytest.raises(ValueError, match="search_space changed"):
        model.set_params(search_space=search.fit(X)).fit(X)
    with pytest.raises(ValueError, match="search_space changed"):
        model.set_params(search_space=no_edges).fit(X)


def no_edges(X):
    return np.zeros((4, 4), dtype=bool)


def test_a_search_alone_leaves_no_chains_to_go_on_with(X):
    model = IterativeSearchStructure(warm_start=True).set_params(**WARM).fit(X)
    model.set_params(n_draws=0, warm_start=False).fit(X)
    model.set_params(n_draws=10, warm_start=True).fit(X)
    assert model.log_score_trace_.shape == (2, 10)
