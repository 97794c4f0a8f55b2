"""Runs that end early and go on: max_time, Ctrl-C, checkpoints."""

import pickle
import sys
import threading
import time
from functools import cache

import joblib
import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.exceptions import ConvergenceWarning

from helpers import (
    Callback,
    assert_same_draws,
    control_c,
    python_process,
    wait_for_chains,
)
from skbidag import (
    IterativeSearchStructure,
    OrderMCMCStructure,
    PartitionMCMCStructure,
    _chains,
)
from skbidag._chains import ChainRun, Schedule, Stop
from skbidag.datasets import make_gaussian_network
from skbidag.graphs import is_dag

# Chains are short here, or stopped, and where they agree is not the question.
pytestmark = pytest.mark.filterwarnings("ignore:The chains (disagree|are too)")

ESTIMATORS = [OrderMCMCStructure, PartitionMCMCStructure, IterativeSearchStructure]
# A draw every 100 steps after 5000, which blocks of a hundred do not keep step with.
SETTINGS = {"n_iter": 25_000, "n_draws": 200, "n_chains": 3, "random_state": 0}


@pytest.fixture(scope="module")
def data():
    return make_gaussian_network(150, 8, random_state=1).data


def make(estimator, **params):
    params = {**SETTINGS, **params}
    if estimator is not IterativeSearchStructure:
        params = {"search_space": "pc", **params}
    return estimator(**params)


@pytest.fixture(scope="module")
def whole(data):
    """What an estimator finds where nothing ends its run."""
    return cache(lambda estimator: make(estimator).fit(data))


class StopAfter(Stop):
    """A clock that is up after so many looks of each thread, in place of seconds.

    It runs from when a thread's chains do: `seen.looks` is set then.
    """

    def __init__(self, looks):
        super().__init__()
        self.looks = looks
        self.seen = threading.local()
        self.was_up = False

    @property
    def time_is_up(self):
        if hasattr(self.seen, "looks"):
            self.seen.looks += 1
            if self.seen.looks > self.looks:
                self.was_up = True
                return True
        # who waits for the workers sees it afterwards
        return self.was_up and threading.current_thread() is threading.main_thread()


@pytest.fixture
def blocks_of_hundred(monkeypatch):
    monkeypatch.setattr(_chains, "BLOCK_LOOKUPS", 1)


@pytest.fixture
def clock(monkeypatch, blocks_of_hundred):
    """Make `max_time` count looks at the clock, about one a block."""
    run_group = _chains.run_group

    def from_the_first_look(*args):
        stop = args[4]
        if isinstance(stop, StopAfter):
            stop.seen.looks = 0  # the thread may have had chains before
        return run_group(*args)

    monkeypatch.setattr(_chains, "run_group", from_the_first_look)
    monkeypatch.setattr(
        "skbidag._base.Stop",
        lambda looks: Stop() if looks is None else StopAfter(looks),
    )


# --------------------------------------------------------------------- max_time


@pytest.mark.slow
@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_max_time_ends_a_long_run(data, estimator, n_jobs):
    """A draw at every step would take minutes."""
    model = make(estimator, n_draws=3_000_000, n_jobs=n_jobs, max_time=0.3)
    began = time.perf_counter()
    with pytest.warns(ConvergenceWarning, match=r"max_time=0.3 .* of 3000000 draws"):
        model.fit(data)
    # half a second, and more for a busy machine
    assert time.perf_counter() - began < 10.0
    n_draws = model.log_score_trace_.shape[1]
    assert 1 <= n_draws < 3_000_000
    assert model.dag_samples_.packed.shape[:2] == (3, n_draws)
    assert model.sample(2, random_state=0).shape == (2, 8)


@pytest.mark.slow
@pytest.mark.parametrize("looks", [250, 251, 252, 280])
@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_fit_that_ran_out_of_time_goes_on(
    data, whole, clock, estimator, looks, n_jobs
):
    model = make(estimator, warm_start=True, max_time=looks, n_jobs=n_jobs)
    with pytest.warns(ConvergenceWarning, match=r"Each chain made \d+ of 200 draws"):
        model.fit(data)
    n_draws = model.log_score_trace_.shape[1]
    assert 0 < n_draws < 200
    # draws are those of the whole run, as far as all chains have come
    trace = whole(estimator).log_score_trace_[:, :n_draws]
    assert_array_equal(model.log_score_trace_, trace)
    probabilities = np.mean([dag for dag in model.dag_samples_], axis=0)
    np.testing.assert_allclose(model.adjacency_probabilities_, probabilities)
    copy = pickle.loads(pickle.dumps(model))
    for one in (model, copy):
        one.set_params(max_time=None).fit(data)
        assert_same_draws(one, whole(estimator))


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_no_time_for_a_single_draw(data, whole, clock, estimator, tmp_path):
    model = make(estimator, warm_start=True, max_time=0)
    for steps in (0, 100):
        with pytest.warns(
            ConvergenceWarning, match="none of 200 draws: one DAG is drawn"
        ):
            model.set_params(max_time=steps).fit(data)
        assert model.log_score_trace_.shape == (3, 1)
        assert len(model.dag_samples_) == 3
        assert np.isfinite(model.score(data))
        assert model.sample(2, random_state=0).shape == (2, 8)
    joblib.dump(model, tmp_path / "model.joblib")
    for one in (model, joblib.load(tmp_path / "model.joblib")):
        # the makeshift draws are gone, and left no trace
        one.set_params(max_time=None).fit(data)
        assert_same_draws(one, whole(estimator))


@pytest.mark.parametrize("n_restarts", [1, 2])
def test_max_time_ends_the_search(n_restarts):
    X = make_gaussian_network(100, 30, random_state=1).data
    settings = {"n_draws": 0, "random_state": 0, "n_restarts": n_restarts}
    whole = IterativeSearchStructure(**settings).fit(X)
    model = IterativeSearchStructure(max_time=0, **settings)
    with pytest.warns(ConvergenceWarning, match=r"max_time=0 .* search .* ended early"):
        model.fit(X)
    assert model.n_expansions_ == 0 < whole.n_expansions_
    assert is_dag(model.adjacency_)
    assert model.log_score_ <= whole.log_score_
    # a time that suffices changes nothing
    model.set_params(max_time=1000).fit(X)
    assert_array_equal(model.adjacency_, whole.adjacency_)


def test_max_time_ends_the_search_of_a_sampler():
    X = make_gaussian_network(100, 30, random_state=1).data
    model = OrderMCMCStructure(max_time=0, n_draws=5, random_state=0)
    with pytest.warns(ConvergenceWarning) as caught:
        model.fit(X)
    search, draws = (str(warning.message) for warning in caught)
    assert "max_time=0" in search
    assert "search" in search
    assert "none of 5 draws" in draws
    assert len(model.dag_samples_) == model.n_chains


def test_time_that_is_not_up_changes_nothing(data):
    assert_same_draws(
        make(OrderMCMCStructure, max_time=1000.0).fit(data),
        make(OrderMCMCStructure).fit(data),
    )


def test_max_time_is_checked(data):
    with pytest.raises(ValueError, match="'max_time'"):
        make(OrderMCMCStructure, max_time=-1).fit(data)


@pytest.mark.slow
def test_max_time_in_other_processes(data):
    """The clock goes along with the chains, and holds for those that wait as well."""
    model = make(
        OrderMCMCStructure, n_iter=10**9, burn_in=0.0, n_draws=10**6, n_chains=4
    )
    with joblib.parallel_config(backend="loky", n_jobs=2):
        quick = make(OrderMCMCStructure).fit(data)  # starts the workers
        began = time.perf_counter()
        with pytest.warns(ConvergenceWarning, match="max_time=1"):
            model.set_params(max_time=1.0).fit(data)
        assert time.perf_counter() - began < 10.0
    assert 1 < model.log_score_trace_.shape[1] < 10**6
    assert_same_draws(quick, make(OrderMCMCStructure).fit(data))


def test_stop_as_a_copy():
    assert not Stop()
    stop = Stop(1000.0)
    assert not stop
    copy = pickle.loads(pickle.dumps(stop))
    assert abs(copy.deadline - stop.deadline) < 1.0
    stop.ask()
    assert stop
    assert not stop.time_is_up
    assert not copy
    assert pickle.loads(pickle.dumps(Stop(0.0)))
    assert pickle.loads(pickle.dumps(Stop())).deadline is None


def test_chains_of_a_worker_take_turns(data, blocks_of_hundred):
    """When one is stopped, the others have come as far."""
    seen = []

    class Watch(Callback):
        def on_fit_task_end(self, estimator, context):
            if context.task_name == "steps":
                seen.append(context.parent.task_id)

    make(OrderMCMCStructure).set_callbacks(Watch()).fit(data)
    so_far = np.cumsum(np.array(seen)[:, None] == [0, 1, 2], axis=0)
    assert so_far[-1].tolist() == [100, 100, 100]
    assert np.ptp(so_far, axis=1).max() <= 1


def test_draws_at_a_number_of_steps():
    schedule = Schedule(burn_in=10, thin=4, n_draws=3)
    steps = [0, 10, 13, 14, 18, 22, 99]
    assert [schedule.n_draws_after(k) for k in steps] == [0, 0, 0, 1, 2, 3, 3]
    packed, points = np.zeros((3, 2, 1), np.uint8), np.arange(6).reshape(3, 2)
    run = ChainRun(packed, np.arange(3.0), points, np.arange(3.0), {}, 22)
    assert run.draws(2).log_scores.tolist() == [2.0]
    assert run.draws(2).points.tolist() == [[4, 5]]
    assert run.draws(0, 2).before(run.draws(2)).log_scores.tolist() == [0.0, 1.0, 2.0]


# ----------------------------------------------------------------------- Ctrl-C


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("estimator", ["OrderMCMCStructure", "PartitionMCMCStructure"])
def test_control_c_keeps_the_draws(estimator, n_jobs):
    """Twice: in the first fit, and in the one that goes on."""
    script = f"""
        import sys, time, warnings
        import numpy as np
        from skbidag import {estimator}
        warnings.simplefilter("error")
        X = np.random.default_rng(0).normal(size=(50, 8))
        model = {estimator}(
            search_space="pc", n_iter=10**9, n_draws=10**6, burn_in=0.0,
            n_jobs={n_jobs}, n_chains=3, warm_start=True, random_state=0,
            verbose=10**6,  # a line after every block of steps
        )
        n_draws = 0
        for _ in range(2):
            try:
                model.fit(X)
            except KeyboardInterrupt as interrupt:
                print(time.process_time(), file=sys.stderr)
                made = model.log_score_trace_.shape[1]
                assert made > n_draws, (made, n_draws)
                assert f"Each chain made {{made}} of" in interrupt.__notes__[0]
                n_draws = made
        model.score_samples(X[:3])
        # as if nothing had happened
        n_more = n_draws + 20
        model.set_params(n_draws=n_more, verbose=0).fit(X)
        whole = {estimator}(
            search_space="pc", n_iter=1000 * n_more, n_draws=n_more, burn_in=0.0,
            n_jobs={n_jobs}, n_chains=3, random_state=0,
        ).fit(X)
        np.testing.assert_array_equal(model.log_score_trace_, whole.log_score_trace_)
        np.testing.assert_array_equal(
            model.dag_samples_.packed, whole.dag_samples_.packed
        )
        print("same", file=sys.stderr)
    """
    with python_process(script) as process:
        for _ in range(2):
            wait_for_chains(process, 3)
            assert control_c(process) < 1.0
        assert process.stderr.readline() == "same\n"
        assert process.wait() == 0


class Interrupt(Callback):
    """A callback that interrupts at a chain's step."""

    def __init__(self, at):
        self.left = at

    def on_fit_task_end(self, estimator, context):
        self.left -= context.task_name == "steps"
        if self.left == 0:
            raise KeyboardInterrupt


@pytest.mark.slow
@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("at", [1, 120, 121])
def test_interrupts_anywhere(data, whole, blocks_of_hundred, estimator, at):
    model = make(estimator, warm_start=True).set_callbacks(Interrupt(at))
    with pytest.raises(KeyboardInterrupt):
        model.fit(data)
    made = model.log_score_trace_.shape[1]
    assert (made == 1) if at == 1 else (1 < made < 200)
    model.set_callbacks().fit(data)
    assert_same_draws(model, whole(estimator))


def test_interrupts_where_there_is_nothing_new(data, monkeypatch):
    """Before a chain has started: as it was before the fit, or not fitted."""

    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    for warm_start in (True, False):
        model = make(OrderMCMCStructure, warm_start=warm_start).fit(data)
        before = model.log_score_trace_
        with monkeypatch.context() as patch:
            patch.setattr("skbidag._sampling.build_tables", interrupt)
            with pytest.raises(KeyboardInterrupt):
                model.set_params(n_draws=400).fit(data)
        assert hasattr(model, "adjacency_") == warm_start
        if warm_start:
            assert model.log_score_trace_ is before
            model.fit(data)
            assert_array_equal(model.log_score_trace_[:, :200], before)
    model = make(OrderMCMCStructure, warm_start=True)
    monkeypatch.setattr("skbidag._sampling.build_tables", interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(data)
    assert not hasattr(model, "adjacency_")


# ------------------------------------------------------------------- checkpoints


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_a_checkpoint_goes_on_bit_for_bit(data, estimator, tmp_path):
    model = make(estimator, n_draws=100, warm_start=True).fit(data)
    joblib.dump(model, tmp_path / "model.joblib")
    model.set_params(n_draws=150).fit(data)
    loaded = joblib.load(tmp_path / "model.joblib")
    loaded.set_params(n_draws=150).fit(data)
    assert_same_draws(loaded, model)
    assert loaded.log_score_trace_.shape == (3, 150)
