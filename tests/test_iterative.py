"""The search for the best DAG: against exact optima, BiDAG's best, and naive twins."""

import csv
from functools import partial

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from helpers import DATA, QUICK, graph, read_data
from skbidag import (
    IterativeSearchStructure,
    OrderMCMCStructure,
    PartitionMCMCStructure,
    PCSkeleton,
)
from skbidag._constraints import resolve_constraints
from skbidag._core._order import OrderChain
from skbidag._problem import Problem
from skbidag._search import ENGINES, SearchSettings, _spaces
from skbidag._search._expansion import (
    add_selected_parents,
    expand,
    make_room,
    merge_graph,
    moral_graph,
    once_per_dag,
    paying_pairs,
    widen,
)
from skbidag._search._orders import random_order, search_orders, starting_orders
from skbidag._search._reversals import Reversals
from skbidag._search._spaces import EXPANSION_FIELDS, SpaceSearch
from skbidag._search._turning import turn_blankets
from skbidag._search_space import make_space
from skbidag._tables import build_tables
from skbidag.datasets import make_discrete_network, make_gaussian_network
from skbidag.graphs import is_dag, to_cpdag
from skbidag.scores import BDe, BGe, CategoricalBIC, GaussianBIC, _categorical
from skbidag.scores.base import BaseScore

N_SEEDS = 10


def gaussian(n_samples, n_features, seed=0, **kwargs):
    network = make_gaussian_network(n_samples, n_features, random_state=seed, **kwargs)
    return network.data


def discrete(n_samples, n_features, seed=0, **kwargs):
    network = make_discrete_network(n_samples, n_features, random_state=seed, **kwargs)
    return network.data


def pose(X, score=None, edge_prior=None, **constraints):
    """Give what the functions of the search work on."""
    score = BGe() if score is None else score
    score = score.fit(X, edge_prior=edge_prior)
    resolved = resolve_constraints(X.shape[1], **constraints)
    return Problem(score, np.asarray(X), None, None, resolved)


def search(X, score=None, **kwargs):
    kwargs = {"n_draws": 0, "random_state": 0} | kwargs
    model = IterativeSearchStructure("auto" if score is None else score, **kwargs)
    return model.fit(X)


def assert_sound(model, forbidden=None, required=None):
    """Check what is true of every result: a DAG in the space, scored as it says."""
    A = model.adjacency_
    assert A.dtype == bool
    assert is_dag(A)
    assert_allclose(model.score_.dag_score(A), model.log_score_, rtol=1e-11)
    if model.tiers is None:  # these give directions of their own
        assert_array_equal(model.cpdag_, to_cpdag(A))
    outside = A & ~model.search_space_
    assert outside.sum(axis=0).max() <= model.extra_parent
    sizes = model.search_space_.sum(axis=0)
    assert model.max_parents == "auto" or sizes.max() <= model.max_parents
    if forbidden is not None:
        assert not (A & forbidden).any()
        assert not (model.search_space_ & forbidden).any()
    if required is not None:
        assert A[required].all()
        assert model.search_space_[required].all()


# ------------------------------------------------------------------ how good


def reference():
    with open(DATA / "bidag_best_scores.csv") as file:
        return [(row["dataset"], row["best_score"]) for row in csv.DictReader(file)]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "best"), reference())
def test_at_least_the_best_score_of_bidag(name, best):
    X = read_data(name)
    if name == "gauss12":
        score = BGe(prior="paper", edge_penalty=1.0)
    else:
        X, score = X.astype(int), BDe(1.0, edge_penalty=1.0)
    # half a unit of the last printed digit, and rounding
    tolerance = 10.0 ** -len(best.split(".")[1]) + 1e-9 * abs(float(best))
    for seed in range(N_SEEDS):
        found = search(X, score, random_state=seed)
        assert found.log_score_ >= float(best) - tolerance, seed


def best_score_by_dynamic_programming(score):
    """Find the best DAG's score over subsets (Silander & Myllymäki 2006).

    The best DAG on a set of nodes has a sink, whose parents are the best ones among
    the rest, on which the DAG is the best one.
    """
    n = score.n_features_in_
    full = 1 << n
    best_parents = np.full((n, full), -np.inf)
    for node in range(n):
        for subset in range(full):
            if subset >> node & 1:
                continue
            members = [i for i in range(n) if subset >> i & 1]
            best_parents[node, subset] = max(
                score.local_score(node, members),
                *(best_parents[node, subset ^ (1 << i)] for i in members),
                -np.inf,
            )
    best = np.full(full, -np.inf)
    best[0] = 0.0
    for subset in range(1, full):
        best[subset] = max(
            best[subset ^ (1 << sink)] + best_parents[sink, subset ^ (1 << sink)]
            for sink in range(n)
            if subset >> sink & 1
        )
    return best[-1]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["bge", "bic", "bde", "discrete bic"])
@pytest.mark.parametrize("n", [5, 6, 7, 8])
def test_global_optimum_of_small_problems(n, kind):
    # 4 kinds x 4 sizes x 7 data sets = 112 problems, few rows: many local optima
    for seed in range(7):
        rng = np.random.default_rng([seed, n])
        n_samples = int(rng.integers(8, 60))
        if kind in ("bge", "bic"):
            X = gaussian(n_samples, n, seed, signs="random")
            score = BGe() if kind == "bge" else GaussianBIC()
        else:
            X = discrete(n_samples, n, seed, n_levels=(2, 3))
            size = rng.choice([0.5, 1.0, 10.0])
            score = BDe(size) if kind == "bde" else CategoricalBIC()
        found = search(X, score, random_state=seed)
        exact = best_score_by_dynamic_programming(found.score_)
        assert_allclose(found.log_score_, exact, rtol=1e-10)
        assert_sound(found)
        assert found.n_expansions_ == 0


def test_global_optimum_under_constraints():
    X = gaussian(50, 6, 3)
    big = 1e6  # prior odds that do the work of constraints
    required, forbidden = graph(6, (0, 1), (4, 2)), graph(6, (3, 5), (1, 2), (5, 0))
    prior = big * required - big * forbidden
    exact = best_score_by_dynamic_programming(BGe().fit(X, edge_prior=prior))
    found = search(X, required_edges=required, forbidden_edges=forbidden)
    assert_sound(found, forbidden, required)
    assert_allclose(found.log_score_, exact - big * required.sum(), rtol=1e-8)


def test_reaches_the_generating_dag_where_pc_starts_elsewhere():
    network = make_gaussian_network(300, 30, random_state=1)
    found = search(network.data, BGe(alpha_mu=0.25))
    assert found.n_expansions_ >= 1
    # it may be that very DAG, whose scores are added up in another order
    assert found.log_score_ >= found.score_.dag_score(network.adjacency) - 1e-8


# ------------------------------------------------------- options and promises


# more variables than max_parents: the space does not hold everything
SMALL = {"max_parents": 5, "soft_limit": 3}
# and not all of the posterior either, of which chains warn
narrow = pytest.mark.filterwarnings("ignore:The search space leaves out")
# PC may start with larger sets than these tests allow
trims = pytest.mark.filterwarnings("ignore:.*strongest are kept:UserWarning")


@pytest.fixture(scope="module")
def data():
    return gaussian(100, 14, 5)


@pytest.mark.parametrize("engine", sorted(ENGINES))
@pytest.mark.parametrize("merge", ["skeleton", "cpdag", "dag"])
def test_engines_and_merges_respect_constraints(data, engine, merge):
    forbidden = graph(14, (0, 1), (1, 0), (2, 3), (4, 5), (6, 5))
    required = graph(14, (3, 2), (7, 8), (9, 8))
    tiers = [[10, 11], [12, 13]]
    found = search(
        data, search=engine, merge=merge, forbidden_edges=forbidden,
        required_edges=required, tiers=tiers, search_iter=2000, **SMALL,
    )  # fmt: skip
    forbidden[12:, 10:12] = True
    assert_sound(found, forbidden, required)


@pytest.mark.parametrize("engine", sorted(ENGINES))
def test_engines_agree_on_an_easy_problem(engine):
    X = gaussian(200, 8, 2)
    best = search(X).log_score_
    assert_allclose(search(X, search=engine).log_score_, best, rtol=1e-10)


@pytest.mark.parametrize("engine", sorted(ENGINES))
@pytest.mark.parametrize("n", [1, 2])
def test_hardly_any_variables(engine, n):
    X = np.random.default_rng(0).normal(size=(30, n))
    X[:, -1] += 3 * X[:, 0]
    found = search(X, search=engine)
    assert_sound(found)
    assert found.adjacency_.sum() == n - 1
    assert_allclose(found.log_score_, best_score_by_dynamic_programming(found.score_))


@pytest.mark.parametrize("merge", ["skeleton", "dag"])
def test_discrete_data_that_do_not_fit_whole(merge):
    X = discrete(200, 12, 1)
    found = search(X, merge=merge, **SMALL)
    assert isinstance(found.score_, BDe)
    assert_sound(found)


@trims
def test_user_score_searches():
    class PlainScore(BGe):
        """BGe as somebody writes a score of their own: without compiled parts."""

        entry_seconds = BaseScore.entry_seconds
        fill_table = BaseScore.fill_table
        addition_scores = BaseScore.addition_scores
        select_parents = BaseScore.select_parents
        pair_scores = BaseScore.pair_scores

    X = gaussian(60, 7, 0)
    options = {"max_parents": 3, "soft_limit": 3, "max_expansions": 2}
    found = search(X, PlainScore(), **options)
    assert_sound(found)
    assert_allclose(found.log_score_, search(X, BGe(), **options).log_score_)


@trims
@pytest.mark.parametrize("extra_parent", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_the_best_ever_seen_is_returned(seed, extra_parent):
    X = gaussian(40, 16, seed)
    found = search(X, extra_parent=extra_parent, max_parents=3, random_state=seed)
    assert_allclose(found.log_score_, found.expansions_["log_score"].max(), rtol=1e-11)
    assert_sound(found)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_best_dag_stays_though_the_space_moves_on(monkeypatch):
    """A space full to the brim loses parents of the best DAG in later expansions."""
    X = gaussian(40, 12, 0)

    def move_away(permitted, adjacency, problem, *args):
        others = ~problem.constraints.forbidden & ~permitted & ~adjacency
        for node in range(len(permitted)):
            others[np.flatnonzero(others[:, node])[3:], node] = False
        return others, adjacency

    monkeypatch.setattr(_spaces, "expand", move_away)
    lengths = {"n_chains": 1, "n_iter": 500, "search_iter": 500}
    settings = {"max_parents": 3, "max_expansions": 3, **lengths}
    for n_draws in (0, 10):
        found = search(X, n_draws=n_draws, **settings)
        best = found.expansions_["log_score"]
        assert found.log_score_ >= best.max() - 1e-8
        assert best[-1] < best.max()  # or this tests nothing
        assert_sound(found)


def test_expansion_by_posterior(data):
    found = search(
        data, expansion="posterior", threshold=0.3, search_iter=3000, **SMALL
    )
    assert_sound(found)
    plain = search(data, search_iter=3000, max_expansions=1, **SMALL)
    wide = search(
        data, expansion="posterior", threshold=0.0, search_iter=3000, max_expansions=1,
        **SMALL,
    )  # fmt: skip
    assert wide.search_space_.sum() >= plain.search_space_.sum()


def test_no_expansions(data):
    found = search(data, max_expansions=0, **SMALL)
    assert found.n_expansions_ == 0
    assert len(found.expansions_) == 1
    assert found.expansions_["n_permitted"][0] == found.search_space_.sum()
    assert_sound(found)


@pytest.mark.parametrize("limit", [0, 1, 3])
def test_max_expansions(limit):
    found = search(gaussian(60, 25, 1), max_expansions=limit)
    assert found.n_expansions_ <= limit


def test_restarts(data):
    one = search(data, **SMALL)
    three = search(data, n_restarts=3, **SMALL)
    assert three.log_score_ >= one.log_score_ - 1e-8
    assert_sound(three)
    parallel = search(data, n_restarts=3, n_jobs=2, **SMALL)
    assert_array_equal(three.adjacency_, parallel.adjacency_)
    assert_array_equal(three.search_space_, parallel.search_space_)
    assert three.log_score_ == parallel.log_score_
    for name, _ in EXPANSION_FIELDS[:-1]:
        assert_array_equal(three.expansions_[name], parallel.expansions_[name])


@narrow
def test_same_seed_same_result(data):
    settings = {"n_draws": 20, "search_iter": 1000, "n_chains": 2, **SMALL}
    first, second = search(data, **settings), search(data, **settings)
    assert_array_equal(first.adjacency_, second.adjacency_)
    assert_array_equal(first.search_space_, second.search_space_)
    assert_array_equal(first.log_score_trace_, second.log_score_trace_)
    assert_array_equal(first.adjacency_probabilities_, second.adjacency_probabilities_)
    assert first.log_score_ == second.log_score_


def test_without_extra_parent_the_space_never_grows(data):
    found = search(data, extra_parent=False, **SMALL)
    assert found.n_expansions_ == 0
    assert found.search_space_.sum() == found.expansions_["n_permitted"][0]
    assert_sound(found)


def test_what_there_is_without_sampling(data):
    found = search(data, **SMALL)
    n = data.shape[1]
    assert_array_equal(found.adjacency_probabilities_, found.cpdag_.astype(float))
    assert len(found.dag_samples_) == 1
    assert_array_equal(found.dag_samples_[0], found.adjacency_)
    assert_array_equal(found.log_score_trace_, [[found.log_score_]])
    assert found.rhat_.shape == (n, n)
    assert np.isnan(found.rhat_).all()
    assert np.isnan(found.log_score_rhat_)
    assert found.acceptance_rate_.shape == (0,)
    assert found.n_iter_ == 0
    assert found.score_samples(data[:3]).shape == (3,)


def test_expansions_table(data):
    found = search(data, **SMALL)
    table = found.expansions_
    assert table.dtype == np.dtype(EXPANSION_FIELDS)
    assert len(table) == found.n_expansions_ + 1
    assert (table["seconds"] > 0).all()
    assert (table["largest_set"] <= SMALL["max_parents"]).all()
    assert (table["n_edges"] > 0).all()
    assert found.adjacency_.sum() in table["n_edges"]
    # the last space was widened for the search, the final one holds the best DAG
    assert found.search_space_.sum() <= table["n_permitted"][-1]
    assert ((found.adjacency_ & ~found.search_space_).sum(axis=0) <= 1).all()
    assert table["largest_set"][-1] == found.search_space_.sum(axis=0).max()


@trims
@pytest.mark.parametrize("max_parents", [0, 1, 4])
def test_max_parents(max_parents):
    found = search(gaussian(100, 20, 0), max_parents=max_parents)
    assert_sound(found)
    most = found.adjacency_.sum(axis=0).max()
    assert most <= max_parents + 1


def test_forbidden_edges_take_no_room():
    """The skeleton brings in edges that are forbidden the other way."""
    X = gaussian(200, 14, 0)
    tiers = [[node] for node in range(14)]
    found = search(X, tiers=tiers, **SMALL)
    forbidden = np.tril(np.ones((14, 14), dtype=bool))
    assert_sound(found, forbidden)
    # a full order leaves no direction open
    assert_array_equal(found.cpdag_, found.adjacency_)
    assert not (found.search_space_ & forbidden).any()
    # a node has as many permitted as stand before it, at most
    assert found.expansions_["n_permitted"].max() <= sum(
        min(node, SMALL["max_parents"]) for node in range(14)
    )


def test_search_space_must_be_one_that_a_search_can_start_from(data):
    with pytest.raises(ValueError, match="search_space"):
        search(data, search_space="iterative")


@narrow
def test_sampling_on_the_final_space(data):
    dense = BGe(edge_penalty=1.0, prior="paper")
    found = search(data, dense, n_draws=60, search_iter=20_000, n_chains=2, **SMALL)
    assert len(found.dag_samples_) == 120
    alone = search(data, dense, search_iter=20_000, **SMALL)
    assert found.log_score_ >= alone.log_score_ - 1e-8
    # chains want the posterior in the space, beside the best DAG
    assert (found.search_space_ >= alone.search_space_).all()
    assert found.search_space_.sum() > alone.search_space_.sum()
    assert_array_equal(
        found.expansions_["n_permitted"], alone.expansions_["n_permitted"]
    )


# -------------------------------------------------------- parts of the search


def test_merge_graph_falls_back_node_by_node():
    # 0 -> 2 <- 1, 2 -> 3, 2 -> 4; the rest are candidates that take room
    dag = graph(8, (0, 2), (1, 2), (2, 3), (2, 4))
    nothing = np.zeros((8, 8), dtype=bool)
    merged = merge_graph(nothing, dag, "skeleton", 4, 4, nothing)
    assert_array_equal(merged, dag | dag.T)
    # node 2 has four neighbors; with three it falls back to the CPDAG's parents
    merged = merge_graph(nothing, dag, "skeleton", 3, 3, nothing)
    assert_array_equal(np.flatnonzero(merged[:, 2]), [0, 1])
    assert_array_equal(np.flatnonzero(merged[:, 0]), [2])
    # even its parents do not fit: it keeps what it had
    had = graph(8, (7, 2))
    merged = merge_graph(had, dag, "skeleton", 2, 2, nothing)
    assert_array_equal(np.flatnonzero(merged[:, 2]), [7])
    assert_array_equal(np.flatnonzero(merged[:, 3]), [2])


def test_merge_graph_between_cpdag_and_dag():
    # the chain 0 -> 1 -> 2 is undirected: its CPDAG gives node 1 two parents
    chain = graph(4, (0, 1), (1, 2))
    nothing = np.zeros((4, 4), dtype=bool)
    merged = merge_graph(nothing, chain, "cpdag", 2, 2, nothing)
    assert_array_equal(merged, chain | chain.T)
    merged = merge_graph(nothing, chain, "cpdag", 1, 1, nothing)
    assert_array_equal(merged, graph(4, (0, 1), (1, 2), (1, 0)))
    merged = merge_graph(nothing, chain, "dag", 0, 2, nothing)
    assert_array_equal(merged, chain)
    # only the DAG's own parents may go beyond the soft limit
    merged = merge_graph(nothing, chain, "skeleton", 0, 1, nothing)
    assert_array_equal(merged, chain)
    # a direction that is forbidden stays out and takes no room
    fork = graph(4, (0, 1), (1, 2), (1, 3))
    merged = merge_graph(nothing, fork, "skeleton", 2, 2, graph(4, (3, 1)))
    assert_array_equal(merged, (fork | fork.T) & ~graph(4, (3, 1)))


def test_make_room_keeps_the_strongest():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 7))
    X[:, 6] = X[:, :6] @ [0.1, 3.0, 0.2, 2.0, 1.0, 0.0] + rng.normal(size=500)
    problem = pose(X, required_edges=[(5, 6)])
    had = graph(7, (0, 6), (1, 6), (5, 6))
    dag = graph(7, (2, 6), (5, 6))
    new = graph(7, (2, 6), (3, 6), (4, 6))
    # required, then the DAG's, then the graph's strongest, then what it had
    for size, kept in [(3, [2, 3, 5]), (4, [2, 3, 4, 5]), (5, [1, 2, 3, 4, 5])]:
        larger = make_room(had, new, dag, problem, size)
        assert_array_equal(np.flatnonzero(larger[:, 6]), kept)
    assert_array_equal(make_room(had, new, dag, problem, 6), had | new)
    # never fewer than it had, and untouched if the graph brings nothing
    assert make_room(had, new, dag, problem, 1)[:, 6].sum() == 3
    assert_array_equal(make_room(had, had, dag, problem, 1), had)


def cancelling_problem(**constraints):
    """Effects of 0 and 1 on 2 that cancel: neither alone explains anything."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 6))
    X[:, 1] = X[:, 0] + 0.3 * X[:, 1]
    X[:, 2] += 5 * (X[:, 0] - X[:, 1])
    # what is left of an effect alone is not worth this penalty
    return pose(X, BGe(edge_penalty=1e20), **constraints)


def test_paying_pairs_finds_parents_that_pay_only_together():
    problem = cancelling_problem()
    score = problem.score
    empty = np.zeros((6, 6), dtype=bool)
    alone = score.local_score(2, [])
    assert score.addition_scores(2, []).max() < alone
    assert score.local_score(2, [0, 1]) > alone
    pairs = paying_pairs(empty, problem)
    assert_array_equal(np.flatnonzero(pairs[:, 2]), [0, 1])
    # a descendant or a forbidden one is not half of a pair
    assert not paying_pairs(graph(6, (2, 0)), problem)[:, 2].any()
    banned = cancelling_problem(forbidden_edges=[(1, 2)])
    assert not paying_pairs(empty, banned)[:, 2].any()
    # what a pair adds is beside the parents there are
    assert not paying_pairs(graph(6, (0, 2), (1, 2)), problem)[:, 2].any()


def test_paying_pairs_goes_on_after_a_node_without_room():
    problem = cancelling_problem()
    dag = graph(6, (1, 0), (3, 0), (4, 0), (5, 0))
    assert problem.score.pair_scores(0, [1, 3, 4, 5]) is None
    assert_array_equal(np.flatnonzero(paying_pairs(dag, problem)[:, 2]), [0, 1])


def test_paying_pairs_of_categories_and_without_pair_scores(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (200, 5))
    X[:, 2] = X[:, 0] ^ X[:, 1]
    problem = pose(X, BDe())
    empty = np.zeros((5, 5), dtype=bool)
    assert_array_equal(np.flatnonzero(paying_pairs(empty, problem)[:, 2]), [0, 1])
    # where pairs would take too long
    monkeypatch.setattr(_categorical, "MOST_COUNTS", 1000)
    assert problem.score.pair_scores(2, []) is None
    assert not paying_pairs(empty, problem).any()


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("kind", ["bge", "bde"])
def test_reversals_never_makes_it_worse(seed, kind):
    n = 9
    X = gaussian(60, n, seed) if kind == "bge" else discrete(60, n, seed)
    rng = np.random.default_rng(seed)
    order = rng.permutation(n)
    dag = np.zeros((n, n), dtype=bool)
    dag[np.ix_(order, order)] = np.triu(rng.random((n, n)) < 0.3, 1)
    edges = np.argwhere(dag)
    required = edges[:2].tolist()
    banned = edges[2:4, ::-1].tolist()
    limit = max(4, dag.sum(axis=0).max())
    score = BGe() if kind == "bge" else BDe()
    problem = pose(X, score, required_edges=required, forbidden_edges=banned)
    before = dag.copy()
    # until no reversal pays any more: each time a better DAG that may be one
    reverse = Reversals(problem, limit)
    better = reverse(dag)
    assert_array_equal(dag, before)
    assert better is not None
    while better is not None:
        assert is_dag(better)
        constraints = problem.constraints
        assert not (better & constraints.forbidden).any()
        assert better[constraints.required].all()
        assert better.sum(axis=0).max() <= limit
        assert score.dag_score(better) > score.dag_score(dag)
        dag, better = better, reverse(better)


def test_reversals_take_over_parents():
    """Turning 3 -> 0 pays only if 3 takes over 1 and 2, which 0 had for its sake."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(500, 4))
    X[:, 3] = X[:, :3].sum(axis=1) + 0.5 * X[:, 3]
    right, wrong = graph(4, (0, 3), (1, 3), (2, 3)), graph(4, (3, 0), (1, 0), (2, 0))
    problem = pose(X)
    score = problem.score
    turned = graph(4, (0, 3), (1, 0), (2, 0))
    assert score.dag_score(turned) < score.dag_score(wrong)
    better = Reversals(problem, 3)(wrong)
    assert score.dag_score(better) > score.dag_score(wrong)
    assert Reversals(problem, 3)(right) is None
    one = pose(X, required_edges=[(1, 3), (2, 3)])
    assert_array_equal(Reversals(one, 3)(graph(4, (3, 0), (1, 3), (2, 3))), right)


def test_widen_fills_up_with_the_strongest():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 6))
    X[:, 5] = X[:, :5] @ [0.5, 3.0, 0.0, 2.0, 1.0] + rng.normal(size=400)
    problem = pose(X, forbidden_edges=[(4, 5)])
    had = graph(6, (2, 5))
    dag = graph(6, (1, 5))
    wider = widen(had, dag, problem, 3)
    # the DAG's parent, which the next selection stands beside, comes in with them
    assert wider[[1, 2, 3], 5].all()
    assert not wider[4, 5]
    assert (wider.sum(axis=0) <= 4).all()
    assert wider[had].all()
    assert_array_equal(widen(had, dag, problem, 0), had)
    full = widen(had, dag, problem, 5)
    assert_array_equal(full, ~problem.constraints.forbidden)


def test_moral_graph():
    dag = graph(5, (0, 2), (1, 2), (2, 3))
    moral = graph(5, (0, 2), (1, 2), (2, 3), (0, 1))
    assert_array_equal(moral_graph(dag), moral | moral.T)


def test_random_order_is_uniform_enough_and_holds_edges():
    dag = graph(6, (0, 2), (1, 2), (2, 5), (3, 5))
    generator = np.random.default_rng(0)
    for _ in range(50):
        order = random_order(generator, dag)
        place = np.argsort(order)
        assert_array_equal(np.sort(order), np.arange(6))
        for parent, child in np.argwhere(dag):
            assert place[parent] > place[child]
    first = [random_order(generator, graph(3))[0] for _ in range(600)]
    # each of three comes first with probability 1/3: 4 standard deviations are 46
    assert_allclose(np.bincount(first, minlength=3), 200, atol=46)


def test_add_selected_parents():
    X = gaussian(200, 10, 1)
    problem = pose(X, required_edges=[(0, 1)], forbidden_edges=[(2, 3)])
    start = graph(10, (4, 5), (6, 5), (2, 7))
    space = add_selected_parents(start, problem, 3)
    assert space[start].all()
    assert (space.sum(axis=0) <= 3).all()
    assert not space[2, 3]
    assert not np.diag(space).any()
    assert not start[0, 1]  # the argument is left alone
    forbidden = problem.constraints.forbidden
    for node in range(10):
        selected, _ = problem.score.select_parents(
            node, np.flatnonzero(~forbidden[:, node]), 3,
            kept=np.flatnonzero(problem.constraints.required[:, node]),
        )  # fmt: skip
        new = space[:, node] & ~start[:, node]
        assert set(np.flatnonzero(new)) <= set(selected)
        if not start[:, node].any():
            assert_array_equal(np.flatnonzero(new), np.sort(selected))


def test_expand_lets_the_dag_in_first():
    problem = pose(gaussian(100, 10, 0))
    settings = SearchSettings(merge="dag", max_parents=4, soft_limit=3)
    dag = graph(10, (0, 1), (2, 1))
    calls = []

    def reversals(adjacency):
        calls.append(adjacency)
        return Reversals(problem, 4)(adjacency)

    def turned(adjacency):
        calls.append(adjacency)
        return turn_blankets(adjacency, problem, 4, 0)

    pairs = partial(paying_pairs, problem=problem)
    rest = problem, settings, reversals, turned, pairs
    space, same = expand(np.zeros_like(dag), dag, *rest)
    assert not calls
    assert same is dag
    assert_array_equal(space, dag)
    # with nothing new in the DAG there is something else
    space, better = expand(dag, dag, *rest)
    assert len(calls) == 1
    assert (space.sum(axis=0) <= 4).all()
    # and if no edge can be reversed, other parents of a node
    while (better := Reversals(problem, 4)(dag)) is not None:
        dag = better
    calls.clear()
    space, better = expand(dag, dag, *rest)
    assert len(calls) == 2
    assert space.sum() > dag.sum()
    assert problem.score.dag_score(better) >= problem.score.dag_score(dag)
    assert (space.sum(axis=0) <= 4).all()


@pytest.mark.parametrize("engine", sorted(ENGINES))
@pytest.mark.parametrize("maximize", [True, False])
def test_engines_keep_required_edges_and_the_best(engine, maximize):
    X = gaussian(80, 12, 4)
    problem = pose(X, required_edges=[(3, 2), (2, 1)])
    space = make_space(
        ~problem.constraints.forbidden, problem.constraints, extended=True
    )
    tables = build_tables(problem.score, space, sums=True, maxima=True)
    start = random_order(np.random.default_rng(0), problem.constraints.required)
    scores = []
    for stop in (True, None):
        order, log_score = search_orders(
            tables, start, np.random.PCG64(0), engine, 1000, maximize=maximize,
            stop=stop,
        )  # fmt: skip
        place = np.argsort(order)
        assert place[3] > place[2] > place[1]
        scores.append(log_score)
        if maximize:
            best = problem.score.dag_score(tables.best_dag(order))
            assert best == pytest.approx(log_score)
    # what was ended early has had less to choose from
    assert scores[0] <= scores[1]


def test_chains_start_at_good_orders_of_their_own():
    X = gaussian(400, 30, 4)
    problem = pose(X)
    space = make_space(
        PCSkeleton().fit(X).search_space_, problem.constraints, extended=True
    )
    tables = build_tables(problem.score, space, sums=True)
    random = [np.random.default_rng(k).permutation(30) for k in range(3)]
    orders = starting_orders(tables, random, (1, 2))
    again = starting_orders(tables, random, (1, 2), n_jobs=2)
    assert_array_equal(orders, again)
    assert len({tuple(order) for order in orders}) == 3

    def log_score(order):
        probabilities = np.full(3, 1 / 3)
        return OrderChain(
            tables.views(), np.random.PCG64(0), order, probabilities
        ).log_score

    for before, after in zip(random, orders, strict=True):
        assert log_score(after) > log_score(before) + 100


def test_once_per_dag():
    counted = []
    remembered = once_per_dag(lambda dag, unit: counted.append(1) or dag * unit, 2)
    dags = [graph(3, (0, 1)), graph(3, (1, 0)), graph(3, (0, 1))]
    assert_array_equal([remembered(dag) for dag in dags], 2 * np.array(dags))
    assert len(counted) == 2


def test_search_starts_from_a_dag():
    X = gaussian(80, 12, 4)
    problem = pose(X)
    settings = SearchSettings(
        engine="transpositions",
        max_parents=5,
        soft_limit=4,
        max_expansions=3,
        n_iter=10,
    )
    best = search(X).adjacency_
    if best.sum(axis=0).max() <= 5:
        result = SpaceSearch(problem, best, settings, (1, 2), 0, best).run()
        assert result.log_score >= problem.score.dag_score(best) - 1e-8


# ------------------------------------------------------- scores that it relies on


def scored(kind, n=8, n_samples=60, seed=0):
    prior = np.random.default_rng(seed).normal(size=(n, n))
    if kind in ("bge", "bic"):
        X = gaussian(n_samples, n, seed)
        make = BGe if kind == "bge" else GaussianBIC
    else:
        X = discrete(n_samples, n, seed, n_levels=(2, 4))
        make = BDe if kind == "bde" else CategoricalBIC
    return make(edge_penalty=2.0).fit(X, edge_prior=prior)


KINDS = ["bge", "bic", "bde", "discrete bic"]
PARENTS = [[], [3], [1, 5], [5, 1, 7, 2], [0, 1, 2, 3, 5, 6], [0, 1, 2, 3, 5, 6, 7]]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("parents", PARENTS)
def test_addition_scores(kind, parents):
    score = scored(kind)
    expected = np.full(8, -np.inf)
    for other in range(8):
        if other != 4 and other not in parents:
            expected[other] = score.local_score(4, [*parents, other])
    assert_allclose(score.addition_scores(4, parents), expected, rtol=1e-9)
    naive = BaseScore.addition_scores(score, 4, parents)
    assert_allclose(naive, expected, rtol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("parents", PARENTS)
def test_pair_scores(kind, parents):
    score = scored(kind)
    pairs = score.pair_scores(4, parents)
    if pairs is None:
        assert kind in ("bge", "bic")
        assert len(parents) > 5
        return
    expected = np.full((8, 8), -np.inf)
    others = [j for j in range(8) if j != 4 and j not in parents]
    for j in others:
        for k in others:
            if j != k:
                expected[j, k] = score.local_score(4, [*parents, j, k])
    assert_allclose(pairs, expected, rtol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_select_parents_against_its_twin(kind, seed):
    score = scored(kind, seed=seed)
    rng = np.random.default_rng(seed)
    for node in range(8):
        allowed = np.flatnonzero(rng.random(8) < 0.7)  # the node itself, too
        kept = rng.permutation(np.delete(np.arange(8), node))[: rng.integers(4)]
        for max_size in (0, 1, 4, 20):
            for stop in (True, False):
                given = (node, allowed, max_size, kept, stop)
                parents, value = score.select_parents(*given)
                twin, twin_value = BaseScore.select_parents(score, *given)
                assert [*parents] == twin
                assert_allclose(value, twin_value, rtol=1e-10)
                assert_allclose(value, score.local_score(node, parents), rtol=1e-10)
                assert parents[: len(kept)] == [*kept]
                assert len(parents) <= max(max_size, len(kept))
                if not stop:
                    room = set(allowed) - {node, *kept}
                    most = len(kept) + len(room)
                    assert len(parents) == max(len(kept), min(max_size, most))


# ------------------------------------------------------- under the samplers


def test_sampler_searches_by_default():
    X = gaussian(150, 18, 2)
    sampler = OrderMCMCStructure(**QUICK).fit(X)
    # the same seed gives the same search
    alone = search(X)
    assert sampler.log_score_ >= alone.log_score_ - 1e-8
    assert_array_equal(sampler.search_space_, alone.search_space_)
    # chains start from its best DAG: the first draws are not far below it
    one_step = OrderMCMCStructure(
        n_iter=1, n_draws=1, burn_in=0.0, n_chains=1, random_state=0
    ).fit(X)
    assert one_step.log_score_ >= alone.log_score_ - 1e-8
    assert one_step.log_score_trace_[0, 0] > alone.log_score_ - 50


@narrow
def test_sampler_takes_a_search_with_parameters():
    X = gaussian(100, 14, 1)
    inner = IterativeSearchStructure(max_expansions=1, **SMALL)
    sampler = OrderMCMCStructure(search_space=inner, max_parents=5, **QUICK).fit(X)
    # an inner search is for chains, with or without draws of its own
    draws = {"n_draws": 10, "n_chains": 1}
    expected = search(X, max_expansions=1, **draws, **SMALL)
    assert_array_equal(sampler.search_space_, expected.search_space_)
    assert not hasattr(inner, "search_space_")  # the argument is left alone
    sampler.set_params(search_space__max_expansions=2)
    assert inner.max_expansions == 2
    expected = search(X, max_expansions=2, **draws, **SMALL)
    assert_array_equal(sampler.fit(X).search_space_, expected.search_space_)
    assert clone(sampler).search_space.max_expansions == 2


def test_sampler_takes_a_fitted_search():
    X = gaussian(100, 14, 1)
    fitted = search(X, **SMALL)
    sampler = OrderMCMCStructure(search_space=fitted, max_parents=5, **QUICK).fit(X)
    assert_array_equal(sampler.search_space_, fitted.search_space_)


def test_sampler_checks_the_parameters_of_its_search():
    X = gaussian(50, 4, 0)
    sampler = OrderMCMCStructure(search_space=IterativeSearchStructure(search="magic"))
    with pytest.raises(ValueError, match="'search' parameter"):
        sampler.fit(X)


# ------------------------------------------------------------ common checks


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [
        IterativeSearchStructure(
            search_iter=200, n_iter=200, n_draws=10, n_chains=1, max_parents=6
        )
    ]
)
def test_sklearn_compatible(estimator, check):
    check(estimator)


def test_short_chains_warn_of_nothing_without_sampling(recwarn):
    search(gaussian(40, 6, 0))
    assert not [w for w in recwarn if issubclass(w.category, ConvergenceWarning)]


@pytest.mark.slow
@pytest.mark.parametrize("sampler", [OrderMCMCStructure, PartitionMCMCStructure])
def test_samplers_know_the_dag_of_a_fitted_search(sampler):
    X = gaussian(100, 20, 4)
    search = IterativeSearchStructure(n_draws=0, random_state=0).fit(X)
    settings = {"search_space": search, "n_iter": 100, "n_draws": 2, "random_state": 0}
    model = sampler(**settings).fit(X)
    assert model.log_score_ >= search.log_score_ - 1e-6
    # constraints of the sampler's own may rule that DAG out
    edge = tuple(np.argwhere(search.adjacency_)[0])
    model = sampler(**settings, forbidden_edges=[edge]).fit(X)
    assert not model.adjacency_[edge]
    assert np.isfinite(model.log_score_trace_).all()
    missing = next((i, j) for i, j in np.argwhere(~search.adjacency_) if i != j)
    model = sampler(**settings, required_edges=[missing]).fit(X)
    assert model.adjacency_[missing]
    assert np.isfinite(model.log_score_trace_).all()


# --------------------------------------------------- a search inside a sampler


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("forbidden_edges", [(0, 1)]),
        ("required_edges", [(0, 1)]),
        ("tiers", [[0], [1, 2]]),
        ("edge_prior", np.ones((6, 6))),
        ("score", BGe(alpha_mu=0.5)),
    ],
)
def test_a_search_inside_a_sampler_has_the_sampler_s_problem(name, value):
    X = gaussian(60, 6, 0)
    inner = IterativeSearchStructure(**{name: value})
    sampler = OrderMCMCStructure(search_space=inner, **QUICK)
    with pytest.raises(ValueError, match=f"give {name} to OrderMCMCStructure"):
        sampler.fit(X)
    # the same twice is no contradiction, also where both are copies
    clone(sampler.set_params(**{name: value})).fit(X)


@pytest.mark.slow
@pytest.mark.parametrize("sampler", [OrderMCMCStructure, PartitionMCMCStructure])
def test_a_frozen_search_survives_clones(sampler):
    X = gaussian(100, 20, 4)
    fitted = search(X, max_parents=5)
    settings = {**QUICK, "search_space": FrozenEstimator(fitted), "max_parents": 5}
    model = clone(clone(sampler(**settings))).fit(X)
    assert_array_equal(model.search_space_, fitted.search_space_)
    bare = sampler(**settings | {"search_space": fitted}).fit(X)
    assert_array_equal(model.log_score_trace_, bare.log_score_trace_)
    # so it does in model selection and in pipelines
    tuned = GridSearchCV(
        make_pipeline(StandardScaler(), sampler(**settings)),
        {f"{sampler.__name__.lower()}__burn_in": [0.1, 0.2]},
        cv=2,
    ).fit(X)
    best = tuned.best_estimator_[-1]
    assert best.search_space.estimator is fitted
    assert_array_equal(best.search_space_, fitted.search_space_)


def test_what_is_frozen_must_be_fitted():
    sampler = OrderMCMCStructure(
        search_space=FrozenEstimator(IterativeSearchStructure()), **QUICK
    )
    with pytest.raises(NotFittedError):
        sampler.fit(gaussian(60, 6, 0))


def test_a_fitted_search_knows_columns_by_name():
    X = gaussian(200, 16, 3)
    names = [f"x{k}" for k in range(16)]
    frame = pd.DataFrame(X, columns=names)
    fitted = IterativeSearchStructure(n_draws=0, random_state=0).fit(frame)
    order = np.random.default_rng(0).permutation(16)
    shuffled = frame.iloc[:, order]
    sampler = OrderMCMCStructure(search_space=FrozenEstimator(fitted), **QUICK)
    model = sampler.fit(shuffled)
    assert_array_equal(model.search_space_, fitted.search_space_[np.ix_(order, order)])
    assert model.log_score_ >= fitted.log_score_ - 1e-6
    with pytest.raises(ValueError, match="search_space has the label 'x3'"):
        sampler.fit(frame.rename(columns={"x3": "y"}))


def test_steps_of_the_search_and_of_the_chains_are_two_things():
    X = gaussian(100, 16, 0)
    model = IterativeSearchStructure(
        search_iter=100, n_iter=3000, n_draws=10, n_chains=1, random_state=0
    ).fit(X)
    assert model.n_iter_ == 3000
    longer = clone(model).set_params(n_iter=6000).fit(X)
    assert longer.n_iter_ == 6000
    # the same search
    for name in ("log_score", "n_edges", "n_permitted"):
        assert_array_equal(model.expansions_[name], longer.expansions_[name])


def test_an_estimator_without_a_seed_gets_one():
    X = gaussian(60, 16, 0)
    parts = ["pc", IterativeSearchStructure(n_draws=0, n_restarts=2, search_iter=10)]
    fits = [OrderMCMCStructure(search_space=parts, **QUICK).fit(X) for _ in range(2)]
    assert_array_equal(fits[0].search_space_, fits[1].search_space_)
