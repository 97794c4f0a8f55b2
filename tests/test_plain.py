"""The paper's own scheme: what comes into the space is what it says, no more."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from helpers import graph, read_data, read_exact_posterior
from skbidag import IterativeSearchStructure, OrderMCMCStructure, PCSkeleton
from skbidag._chains import move_mixture
from skbidag._constraints import resolve_constraints
from skbidag._core._order import OrderChain
from skbidag._search._orders import order_moves, walk_tempered
from skbidag._search_space import make_space
from skbidag._tables import build_tables
from skbidag.datasets import make_gaussian_network
from skbidag.graphs import is_dag, skeleton
from skbidag.scores import BGe

ENGINES = ["mcmc", "annealing", "greedy", "transpositions", "swaps", "kicks"]


@pytest.fixture(scope="module")
def data():
    return make_gaussian_network(200, 20, random_state=3).data


@pytest.fixture(scope="module")
def pc(data):
    return PCSkeleton().fit(data).search_space_


def search(X, scheme="paper", **options):
    options = {"n_draws": 0, "random_state": 0, **options}
    score = BGe(alpha_mu=0.25, edge_penalty=1.0, prior="paper")
    return IterativeSearchStructure(score, scheme=scheme, **options).fit(X)


def assert_grows_by(found, first, graphs, accumulated=False):
    """The spaces are the first one with the last graph, or with all so far."""
    sizes, space = [found.expansions_["n_permitted"][0]], first
    for graph_ in graphs[:-1]:
        space = (space if accumulated else first) | graph_
        sizes.append(space.sum())
    assert_array_equal(found.expansions_["n_permitted"], sizes)
    assert_array_equal(found.search_space_, space)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("scheme", ["paper", "accumulated"])
def test_the_space_is_the_first_one_with_the_best_dag(data, pc, engine, scheme):
    found = search(data, scheme, search=engine)
    assert found.expansions_["n_permitted"][0] == pc.sum()
    assert found.n_expansions_ > 2
    skeletons = [skeleton(dag) for dag in found.expansion_dags_]
    assert_grows_by(found, pc, skeletons, scheme == "accumulated")
    # every search but the last was better than the one before
    scores = found.expansions_["log_score"]
    assert (np.diff(scores)[:-1] > 0).all()
    assert_allclose(scores, [found.score_.dag_score(d) for d in found.expansion_dags_])
    assert found.log_score_ == scores.max()
    assert is_dag(found.adjacency_)


@pytest.mark.parametrize("merge", ["dag", "cpdag"])
def test_merges(data, pc, merge):
    found = search(data, merge=merge)
    n_added = found.expansions_["n_permitted"][1] - pc.sum()
    new = found.expansion_dags_[0] & ~pc
    assert n_added == new.sum() if merge == "dag" else n_added >= new.sum()


def test_an_array_is_taken_as_it_is(data):
    one = graph(20, (0, 1))
    found = search(data, search_space=one, max_expansions=0)
    assert_array_equal(found.search_space_, one)
    assert found.n_expansions_ == 0
    assert found.adjacency_.sum(axis=0).max() <= 2
    found = search(data, search_space=one, extra_parent=False)
    assert not (found.adjacency_ & ~one).any()
    sampled = search(
        data, search_space=one, max_expansions=0, n_draws=60, n_chains=2,
        n_iter=200_000,
    )  # fmt: skip
    assert_array_equal(sampled.search_space_, one)


def test_a_space_for_the_first_search_alone(data, pc):
    first = graph(20, (0, 1), (1, 2), (5, 0), (0, 5))
    found = search(data, first_space=first)
    assert found.expansions_["n_permitted"][0] == (pc | first).sum()
    assert_grows_by(found, pc, [skeleton(dag) for dag in found.expansion_dags_])


@pytest.mark.parametrize("expansion", ["posterior", "partition"])
def test_probable_edges_alone(data, pc, expansion):
    found = search(data, expansion=expansion, threshold=0.3)
    assert found.n_expansions_ > 2
    probable = found.expansion_probabilities_ > 0.3
    # the last graph has led back to a space that was searched before
    assert_grows_by(found, pc, probable)
    seen = {(pc | graph_).tobytes() for graph_ in [pc, *probable[:-1]]}
    assert (pc | probable[-1]).tobytes() in seen
    assert [len(trace) for trace in found.expansion_traces_] == [500] * len(probable)
    assert found.expansion_dags_.shape == found.expansion_probabilities_.shape


@pytest.mark.slow
@pytest.mark.parametrize(
    ("expansion", "kind"), [("posterior", "order"), ("partition", "dag")]
)
def test_probabilities_are_those_of_the_posterior(expansion, kind):
    X = read_data("gauss5")
    found = IterativeSearchStructure(
        BGe(alpha_mu=1, edge_penalty=1.0, prior="paper"), scheme="paper",
        search_space="full", expansion=expansion, search_iter=2_000_000, n_draws=0,
        random_state=0,
    ).fit(X)  # fmt: skip
    exact = read_exact_posterior("gauss5", kind)
    # 500 draws, far enough apart to be independent: four standard errors
    error = np.sqrt(exact * (1 - exact) / 500)
    difference = np.abs(found.expansion_probabilities_[0] - exact)
    assert (difference <= 4 * error + 0.004).all()


def test_traces(data):
    found = search(data)
    assert len(found.expansion_traces_) == len(found.expansions_)
    for trace, best in zip(
        found.expansion_traces_, found.expansions_["log_score"], strict=True
    ):
        assert len(trace) == 200
        assert trace.max() <= best + 1e-8
    assert found.expansion_probabilities_ is None
    wide = search(data, "wide")
    assert wide.expansion_traces_ is None
    assert len(wide.expansion_dags_) == len(wide.expansions_)
    best = wide.expansion_dags_[wide.expansions_["log_score"].argmax()]
    assert_array_equal(best, wide.adjacency_)


@pytest.mark.parametrize("power", [None, 0.3, 2.0])
def test_the_power_is_set_or_tuned(data, power):
    space = make_space(
        graph(20, (0, 1)), resolve_constraints(20), extended=True
    )  # fmt: skip
    tables = build_tables(BGe().fit(data), space, maxima=True)
    chain = OrderChain(
        tables.views(), np.random.PCG64(0), np.arange(20),
        move_mixture("auto", order_moves(20)), maximize=True,
    )  # fmt: skip
    powers = []
    for _ in walk_tempered(chain, 20, 2000, power):
        powers.append(chain.power)
    assert (len(set(powers)) > 50) if power is None else set(powers) == {power}


def test_powers_differ(data):
    traces = [
        search(data, search_power=power, max_expansions=0).expansion_traces_[0]
        for power in (0.05, 1.0)
    ]
    # flat scores let the walk stay lower
    assert traces[0][100:].mean() < traces[1][100:].mean()


def test_the_best_of_several_searches_counts(data):
    one, four = search(data), search(data, n_restarts=4)
    assert four.log_score_ >= one.log_score_
    assert_array_equal(four.adjacency_, search(data, n_restarts=4, n_jobs=2).adjacency_)


def test_constraints(data):
    forbidden = graph(20, (0, 1), (1, 0), (2, 3))
    required = graph(20, (7, 8), (3, 2))
    for expansion in ("map", "posterior", "partition"):
        found = search(
            data, forbidden_edges=forbidden, required_edges=required,
            expansion=expansion, search_iter=3000,
        )  # fmt: skip
        assert not (found.adjacency_ & forbidden).any()
        assert not (found.search_space_ & forbidden).any()
        assert found.adjacency_[required].all()


@pytest.mark.parametrize("max_parents", [2, 3])
@pytest.mark.filterwarnings("ignore:.*strongest are kept:UserWarning")
def test_the_best_dag_is_in_the_space_though_that_is_small(data, max_parents):
    found = search(data, max_parents=max_parents, soft_limit=2)
    outside = found.adjacency_ & ~found.search_space_
    assert outside.sum(axis=0).max() <= 1
    assert found.search_space_.sum(axis=0).max() <= max_parents
    assert found.log_score_ == found.expansions_["log_score"].max()


def test_samplers_search_by_the_scheme_of_their_search(data, pc):
    plain = IterativeSearchStructure(scheme="paper", max_expansions=0)
    sampler = OrderMCMCStructure(
        search_space=plain, n_chains=1, n_iter=1000, n_draws=10, random_state=0
    )
    with pytest.warns(match="leaves out"):
        sampler.fit(data)
    assert_array_equal(sampler.search_space_, pc)


@pytest.mark.parametrize(
    ("name", "value"),
    [("first_space", "full"), ("search_power", 0.5), ("expansion", "partition")],
)
def test_what_is_for_the_paper_alone(data, name, value):
    with pytest.raises(ValueError, match=f"{name}=.*is for scheme='paper'"):
        search(data, "wide", **{name: value})
