"""Chains start apart and run until they agree: starts, leaps, rounds, the one rule."""

import importlib
import pickle
import sys
import warnings
from pathlib import Path

import joblib
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_diabetes
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import shuffle

from helpers import all_dags, assert_same_draws
from skbidag import (
    DAGSamples,
    IterativeSearchStructure,
    OrderMCMCStructure,
    PartitionMCMCStructure,
    _chains,
    _starts,
)
from skbidag._chains import Schedule, auto_n_iter
from skbidag._convergence import Convergence, assess, edges_that_matter
from skbidag._posterior import graph_counts
from skbidag._search import random_order
from skbidag._starts import (
    Modes,
    Start,
    log_probability_of_order,
    where_the_posterior_is,
)
from skbidag.datasets import make_gaussian_network
from skbidag.scores import BDe, BGe, GaussianBIC

pytestmark = pytest.mark.slow

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
SAMPLERS = [OrderMCMCStructure, PartitionMCMCStructure]
KINDS = {"order": OrderMCMCStructure, "dag": PartitionMCMCStructure}


@pytest.fixture(scope="module")
def data():
    return make_gaussian_network(150, 8, random_state=1).data


@pytest.fixture(scope="module")
def hard():
    """Columns that all depend on each other, and few rows: many edges are open."""
    rng = np.random.default_rng(3)
    return rng.normal(size=(60, 9)) + rng.normal(size=(60, 1))


@pytest.fixture
def constrained(monkeypatch):
    """The benchmark of constrained problems, which has the exact answers."""
    if not BENCHMARKS.exists():
        pytest.skip("the benchmarks are not beside the tests")
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    yield importlib.import_module("constrained")
    for name in ("constrained", "common", "exact"):
        sys.modules.pop(name, None)


def samples_of(draws):
    """Draws of one edge, 0 -> 1, shape (n_chains, n_draws), as DAGs."""
    dags = np.zeros((*np.shape(draws), 2, 2), dtype=bool)
    dags[..., 0, 1] = draws
    return DAGSamples(np.packbits(dags, axis=-1))


# ---------------------------------------------------------------------- the rule


def test_what_independent_draws_reach():
    rng = np.random.default_rng(0)
    reached = assess(samples_of(rng.random((4, 500)) < 0.3), rng.normal(size=(4, 500)))
    assert reached.verdict is True
    assert reached.n_edges == 1
    assert reached.largest_rhat == 1.01
    assert reached.fewest_effective == 400
    assert 1500 < reached.effective_size < 3000


def test_chains_that_stay_apart():
    """An edge that a chain always has and another never: R-hat is infinite."""
    stuck = np.repeat([[True], [True], [True], [False]], 500, axis=1)
    scores = np.random.default_rng(0).normal(size=(4, 500))
    reached = assess(samples_of(stuck), scores)
    assert reached.edge_rhat == np.inf
    assert reached.verdict is False
    # whatever its mean is
    rare = np.zeros((60, 100), dtype=bool)
    rare[0] = True
    reached = assess(samples_of(rare), np.zeros((60, 100)))
    assert reached.n_edges == 1
    assert reached.edge_rhat == np.inf


@pytest.mark.parametrize(
    ("by_chain", "matters"),
    [
        ([0.0, 0.0, 0.0, 0.0], False),
        ([1.0, 1.0, 1.0, 1.0], False),
        ([0.01, 0.01, 0.01, 0.02], False),
        ([0.02, 0.02, 0.02, 0.02], True),
        ([0.97, 0.98, 0.98, 0.98], True),
        ([0.99, 0.99, 0.98, 0.99], False),
        ([0.0, 0.0, 0.0, 0.06], True),
        ([1.0, 1.0, 1.0, 0.94], True),
    ],
)
def test_edges_that_matter(by_chain, matters):
    draws = np.arange(100) < np.rint(100 * np.array(by_chain))[:, None]
    assert_array_equal(draws.mean(axis=1), by_chain)
    found = edges_that_matter(*graph_counts(samples_of(draws)))
    assert found.tolist() == [[False, matters], [False, False]]


@pytest.mark.parametrize(
    ("n_chains", "n_draws", "rhat", "size", "verdict"),
    [
        (4, 500, 1.009, 401, True),
        (4, 500, 1.011, 2000, False),
        (4, 500, 1.009, 399, False),
        (4, 500, np.nan, 2000, False),
        (4, 49, 3.0, 1, None),
        (1, 500, 1.009, 401, None),
        (1, 500, 1.5, 401, False),
        (2, 100, 1.0, 41, True),
        (2, 100, 1.0, 39, False),
    ],
)
def test_verdict(n_chains, n_draws, rhat, size, verdict):
    for edge, score in ((rhat, 1.0), (1.0, rhat)):
        reached = Convergence(n_chains, n_draws, score, 3, edge, size)
        assert reached.verdict is verdict


@pytest.mark.parametrize(("n_chains", "n_draws"), [(2, 50), (4, 50), (3, 200)])
def test_few_independent_draws_are_not_taken_for_disagreement(n_chains, n_draws):
    rng = np.random.default_rng(0)
    n, shape = 7, (n_chains, n_draws)
    probability = rng.uniform(0.2, 0.8, size=(n, n))
    disagree = 0
    for _ in range(100):
        dags = rng.random((*shape, n, n)) < probability
        samples = DAGSamples(np.packbits(dags, axis=-1))
        disagree += not assess(samples, rng.normal(size=shape)).agree
    # once in a hundred times at most, so hardly ever more than four times
    assert disagree <= 4


# ------------------------------------------------------------- starts and leaps


def starts_of(model, n_chains, X, **params):
    """Where the chains of a fit start, and the modes."""
    found = []

    def watched(*args, **kwargs):
        found.append(_starts.find_starts(*args, **kwargs))
        return found[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("skbidag._sampling.find_starts", watched)
        model(n_chains=n_chains, n_iter=100, n_draws=5, random_state=0, **params).fit(X)
    ((starts, modes),) = found
    return starts, modes


@pytest.mark.parametrize("n_chains", [1, 2, 3, 4, 5])
def test_half_of_the_chains_start_at_the_best_dag(data, n_chains):
    search = IterativeSearchStructure(n_draws=0, random_state=0).fit(data)
    starts, _ = starts_of(OrderMCMCStructure, n_chains, data)
    at_best = [np.array_equal(start.dag, search.adjacency_) for start in starts]
    assert sum(at_best) == (n_chains + 1) // 2
    assert all(at_best[: sum(at_best)])


def test_starts_fit_the_constraints():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 6)).cumsum(axis=1)
    forbidden, required = [(0, 1), (2, 1)], [(3, 0), (5, 3)]
    starts, modes = starts_of(
        PartitionMCMCStructure, 6, X, forbidden_edges=forbidden, required_edges=required
    )
    for dag in [start.dag for start in starts] + [modes[k] for k in range(len(modes))]:
        assert not any(dag[edge] for edge in forbidden)
        assert all(dag[edge] for edge in required)
    for start in starts:
        place = np.argsort(start.order)
        assert all(place[i] > place[j] for i, j in np.argwhere(start.dag))


def test_hopeless_starts_are_left():
    """Where annealing leads far below the best DAG, a chain would only stay there."""

    class Climber:
        background = np.zeros(4, dtype=bool)

        def set_order(self, order):
            self.height = {0: -100.0, 1: -109.0, 2: -111.0, 3: -99.0}[order[0]]

        def climb(self):
            return self.height

    dags = [np.zeros((4, 4), dtype=bool) for _ in range(4)]
    best, near, far, better = (
        Start(np.roll(np.arange(4), -k), dags[k]) for k in range(4)
    )
    rng = np.random.default_rng(0)
    found = where_the_posterior_is(Climber(), [near, far], [best], rng)
    assert found[0] is near
    assert found[1].dag is best.dag
    # what was annealed may be better than what was known, or all that is known
    for known in ([best], []):
        found = where_the_posterior_is(Climber(), [better, far], known, rng)
        assert found[0] is better
        assert found[1].dag is better.dag
    assert where_the_posterior_is(Climber(), [], [best], rng) == []


def test_probability_of_an_order():
    rng = np.random.default_rng(0)
    dag = all_dags(4)[300]
    counts, n_draws = {}, 4000
    for _ in range(n_draws):
        order = tuple(random_order(rng, dag))
        counts[order] = counts.get(order, 0) + 1
    orders = np.array(list(counts))
    exact = np.exp([log_probability_of_order(order, dag) for order in orders])
    assert exact.sum() == pytest.approx(1.0)
    errors = np.sqrt(exact * (1 - exact) / n_draws)
    assert (
        np.abs(np.array(list(counts.values())) / n_draws - exact) < 4 * errors
    ).all()


def test_modes_are_drawn_from_their_posterior():
    dags = np.packbits(all_dags(3)[[1, 5, 9, 5]], axis=-1)
    modes = Modes.of(dags, np.array([-3.0, -4.0, -20.0, -4.0]))
    assert len(modes) == 2  # one of them twice, one far below the others
    rng = np.random.default_rng(0)
    share = np.mean([modes.log_scores[modes.draw(rng)] == -3.0 for _ in range(4000)])
    exact = 1 / (1 + np.exp(-1))
    assert abs(share - exact) < 4 * np.sqrt(exact * (1 - exact) / 4000)
    assert modes.number_of(dags[2]) is None
    copy = pickle.loads(pickle.dumps(modes))
    assert copy.number_of(dags[1]) == modes.number_of(dags[1]) is not None


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["order", "dag"])
def test_leaps_leave_the_posterior_alone(constrained, monkeypatch, kind):
    """Leaps at every other step, between most DAGs that have any weight."""
    monkeypatch.setattr(_starts, "LEAPS", 12_500)
    rng = np.random.default_rng(2)
    X = rng.normal(size=(60, 4)) @ np.triu(rng.uniform(-1, 1, (4, 4)))
    score = BGe(edge_penalty=1.0, prior="paper")  # which leaves many DAGs some weight
    model = KINDS[kind](score, random_state=0, n_draws=1000).fit(X)
    assert len(model._progress.modes) > 10
    assert model._progress.modes.interval == 2
    exact = constrained.exact_probabilities(model.score_, np.zeros((4, 4)) > 0, kind)
    # 4000 draws, nearly independent: four standard errors of one half
    assert_allclose(model.adjacency_probabilities_, exact, atol=4 * 0.5 / 4000**0.5)


# --------------------------------------------------------- what used to go wrong


@pytest.mark.slow
@pytest.mark.parametrize("Sampler", SAMPLERS)
def test_eleven_variables_of_diabetes(Sampler):
    diabetes = load_diabetes()
    X = np.column_stack([diabetes.data, diabetes.target])
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    model = Sampler(random_state=0).fit(X)
    assert model.converged_
    assert model.n_iter_ > 25_000
    assert model.log_score_rhat_ < 1.01
    assert model.rhat_.max() < 1.02


@pytest.mark.parametrize("score", [BGe(), GaussianBIC()])
@pytest.mark.parametrize("kind", ["order", "dag"])
def test_modes_far_apart(constrained, kind, score):
    """Complete DAGs with one cycle's edges forbidden: of the same score, nearly.

    Chains that start at the best of them stay there: what is between them fits
    10,000 rows far worse.
    """
    rng = np.random.default_rng(5)
    X = rng.normal(size=(10_000, 4))
    X[:, 1] += 0.81 * X[:, 0]
    X[:, 2] -= 1.07 * X[:, 1]
    X[:, 3] += X[:, :3] @ [-1.22, -1.01, 1.08]
    forbidden = np.zeros((4, 4), dtype=bool)
    forbidden[[0, 1, 2], [2, 0, 1]] = True
    for seed in range(3):
        model = KINDS[kind](score, forbidden_edges=forbidden, random_state=seed).fit(X)
        exact = constrained.exact_probabilities(model.score_, forbidden, kind)
        assert 0.3 < exact[2, 0] < 0.8
        assert model.converged_
        # 400 effective draws at least: four standard errors
        assert_allclose(model.adjacency_probabilities_, exact, atol=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["order", "dag"])
@pytest.mark.parametrize(
    ("n", "seeds"), [(4, range(20)), (5, range(20)), (6, range(16)), (8, range(8))]
)
def test_constrained_problems(constrained, kind, n, seeds):
    """No error above 0.1 goes without a warning; and there hardly are any warnings."""
    rows = [constrained.solve(kind, 1000 + seed, n) for seed in seeds]
    assert not [row for row in rows if row["failed"]]
    assert sum(row["warned"] for row in rows) <= 1


def test_last_bits_of_the_data_do_not_steer_the_chains():
    """Rows that are given several times, and rows with weights, in another order."""
    rng = np.random.RandomState(42)
    X, weights = rng.rand(15, 12), rng.randint(0, 5, size=15)
    for structure in (*SAMPLERS, IterativeSearchStructure):
        model = structure(random_state=0, max_iter=25_000)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            repeated = model.fit(X.repeat(weights, axis=0)).log_score_trace_
            shuffled, some = shuffle(X, weights, random_state=0)
            weighted = model.fit(shuffled, sample_weight=some).log_score_trace_
        assert_allclose(weighted, repeated, rtol=0, atol=1e-9)


# ------------------------------------------------------------------------ rounds


@pytest.mark.parametrize("burn_in", [0, 7, 10, 25, 43, 100])
def test_draws_of_a_doubled_schedule(burn_in):
    schedule = Schedule(burn_in, thin=3, n_draws=20)
    for _ in range(4):
        longer = schedule.doubled()
        assert longer.n_draws == 20
        assert 1.8 * schedule.n_iter <= longer.n_iter <= 2 * schedule.n_iter
        steps = [
            np.arange(1, 21) * one.thin + one.burn_in for one in (schedule, longer)
        ]
        kept = steps[0][schedule.kept_when_doubled]
        assert_array_equal(kept, steps[1][: len(kept)])
        assert len(kept) == longer.n_draws_after(schedule.n_iter)
        schedule = longer


@pytest.fixture
def rounds(monkeypatch):
    """The first round has three hundred steps, and all have 32 times as many."""
    monkeypatch.setattr("skbidag._sampling.auto_n_iter", lambda n_features, factor: 300)
    monkeypatch.setattr("skbidag._sampling.MOST_STEPS", 0)


def in_rounds(Sampler, **params):
    params = {"n_draws": 100, "n_chains": 3, "random_state": 0, **params}
    return Sampler(search_space="full", **params)


@pytest.mark.parametrize("Sampler", SAMPLERS)
def test_chains_run_until_they_agree(hard, rounds, Sampler):
    model = in_rounds(Sampler).fit(hard)  # no warning
    assert model.converged_
    assert 600 < model.n_iter_ <= 32 * 300
    assert model.log_score_trace_.shape == (3, 100)
    # one round less would not have done
    shorter = in_rounds(Sampler, max_iter=model.n_iter_ - 1)
    with pytest.warns(ConvergenceWarning, match=r"more than \d+ steps \(max_iter\)"):
        shorter.fit(hard)
    assert not shorter.converged_
    assert shorter.n_iter_ < model.n_iter_ <= 2 * shorter.n_iter_


@pytest.mark.slow
@pytest.mark.parametrize("Sampler", SAMPLERS)
def test_rounds_depend_on_the_seed_alone(hard, rounds, monkeypatch, Sampler):
    model = in_rounds(Sampler).fit(hard)
    assert_same_draws(in_rounds(Sampler, n_jobs=2).fit(hard), model)
    with joblib.parallel_config(backend="loky", n_jobs=2):
        assert_same_draws(in_rounds(Sampler, n_jobs=2).fit(hard), model)
    monkeypatch.setattr(_chains, "BLOCK_LOOKUPS", 1)
    assert_same_draws(in_rounds(Sampler).fit(hard), model)
    assert (
        in_rounds(Sampler, random_state=1).fit(hard).log_score_trace_
        != model.log_score_trace_
    ).any()


@pytest.mark.parametrize("Sampler", SAMPLERS)
def test_rounds_go_on(hard, rounds, Sampler):
    """Allowed more steps, a fit goes on to where one fit would have come."""
    # with this seed, further draws leave the chains agreeing without another round
    whole = in_rounds(Sampler, random_state=2).fit(hard)
    model = in_rounds(Sampler, random_state=2, warm_start=True)
    for max_iter in (300, 600):
        with pytest.warns(ConvergenceWarning, match="max_iter"):
            model.set_params(max_iter=max_iter).fit(hard)
        assert 0.8 * max_iter < model.n_iter_ <= max_iter
    copy = pickle.loads(pickle.dumps(model))
    for one in (model, copy):
        one.set_params(max_iter="auto").fit(hard)
        assert_same_draws(one, whole)
    # chains that agree stay where they are, unless there shall be more draws
    model.fit(hard)
    assert_same_draws(model, whole)
    model.set_params(n_draws=150).fit(hard)
    assert_array_equal(model.log_score_trace_[:, :100], whole.log_score_trace_)
    assert model.log_score_trace_.shape == (3, 150)
    assert model.converged_


@pytest.mark.filterwarnings("ignore:The chains (disagree|are too)")  # not yet
def test_rounds_that_are_interrupted_go_on(hard, rounds, monkeypatch):
    monkeypatch.setattr(_chains, "BLOCK_LOOKUPS", 1)  # blocks of a hundred steps
    whole = in_rounds(OrderMCMCStructure).fit(hard)
    run_chains, n_calls = _chains.run_chains, []

    class InTime(_chains.Stop):
        """A clock that is up after some looks, in the second round."""

        looks = 5

        @property
        def time_is_up(self):
            self.looks -= len(n_calls) > 1
            return self.looks < 0

    def counted(*args, **kwargs):
        n_calls.append(1)
        return run_chains(*args, **kwargs)

    monkeypatch.setattr("skbidag._sampling.run_chains", counted)
    model = in_rounds(OrderMCMCStructure, warm_start=True, max_time=1)
    with monkeypatch.context() as patch:
        patch.setattr("skbidag._base.Stop", lambda max_time: InTime())
        with pytest.warns(ConvergenceWarning, match=r"made \d+ of 100 draws"):
            model.fit(hard)
    assert 260 < model.n_iter_ < 520
    assert 30 < model.log_score_trace_.shape[1] < 100
    model.set_params(max_time=None).fit(hard)
    assert_same_draws(model, whole)


def test_a_length_that_is_given_is_kept(hard):
    model = OrderMCMCStructure(n_iter=300, n_draws=100, random_state=0)
    with pytest.warns(ConvergenceWarning, match=r"longer chains \(n_iter\)"):
        model.fit(hard)
    assert 250 <= model.n_iter_ <= 300


def test_easy_posteriors_take_one_round(data):
    # a step over DAGs changes less than one over orders
    for Sampler, rounds in ((OrderMCMCStructure, 4), (PartitionMCMCStructure, 8)):
        model = Sampler(random_state=0).fit(data)
        assert model.converged_
        assert model.n_iter_ <= rounds * auto_n_iter(8, 5.0)
    independent = np.random.default_rng(0).integers(0, 2, size=(2000, 5))
    model = OrderMCMCStructure(BDe(), random_state=0).fit(independent)
    assert model.n_iter_ == 25_000


# ---------------------------------------------------------------- what is said


def test_one_chain_never_agrees(data):
    model = OrderMCMCStructure(n_chains=1, random_state=0).fit(data)  # no warning
    assert model.converged_ is False
    assert model.log_score_rhat_ < 1.02
    with pytest.warns(ConvergenceWarning, match=r"The chain is too short.*\(n_iter\)"):
        model.set_params(n_iter=100, n_draws=100).fit(data)


def test_few_draws_tell_nothing(data):
    model = OrderMCMCStructure(n_draws=49, random_state=0).fit(data)  # no warning
    assert model.converged_ is False
    assert model.n_iter_ <= 25_000
    search = IterativeSearchStructure(n_draws=0, random_state=0).fit(data)
    assert search.converged_ is False


@pytest.mark.parametrize("search_space", ["full", "pc"])
@pytest.mark.parametrize("n_iter", ["auto", 60])
def test_advice_that_can_be_followed(hard, rounds, search_space, n_iter):
    model = OrderMCMCStructure(
        search_space=search_space,
        n_draws=60,
        n_iter=n_iter,
        max_iter=60,
        random_state=0,
    )
    with pytest.warns(ConvergenceWarning, match="Edge probabilities") as caught:
        model.fit(hard)
    (message,) = {str(warning.message) for warning in caught}
    assert "search_space" not in message
    assert ("max_iter" in message) == (n_iter == "auto")
    assert ("(n_iter)" in message) == (n_iter == 60)


def test_best_dag_is_the_best_ever_seen(hard):
    search = IterativeSearchStructure(n_draws=0, random_state=0).fit(hard)
    for Sampler in SAMPLERS:
        model = Sampler(random_state=0).fit(hard)
        assert model.log_score_ >= search.log_score_ - 1e-7
        assert model.log_score_ >= model.log_score_trace_.max() - 1e-7
