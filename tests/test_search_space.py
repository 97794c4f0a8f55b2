"""Search spaces and constraints: what a user may say about edges, and how it holds."""

import itertools
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator
from sklearn.covariance import GraphicalLasso, GraphicalLassoCV

import helpers
from helpers import graph as matrix
from skbidag import PCSkeleton
from skbidag._constraints import resolve_constraints, resolve_edges, tier_ban
from skbidag._problem import Problem
from skbidag._search_space import (
    SearchSpace,
    is_union,
    make_space,
    parent_limit,
    permitted_edges,
    start_space,
    trim,
)
from skbidag.datasets import make_discrete_network, make_gaussian_network
from skbidag.scores import BDe, BGe

NAMES = np.array(["a", "b", "c", "d"])

quick = partial(helpers.quick, search_space="pc")


@pytest.fixture(scope="module")
def data():
    return make_gaussian_network(200, 8, random_state=3).data


def space_of(search_space, X, names=None, sample_weight=None, constraints=None):
    if constraints is None:
        constraints = resolve_constraints(X.shape[1])
    problem = Problem(None, X, sample_weight, names, constraints)
    return permitted_edges(search_space, problem, pc=PCSkeleton())


def test_pc_of_what_the_score_has_read(data):
    constraints = resolve_constraints(8, forbidden_edges=[(0, 1), (1, 0)])
    weights = np.random.default_rng(0).integers(0, 3, len(data)).astype(float)
    for sample_weight in (None, weights):
        score = BGe().fit(data, sample_weight=sample_weight)
        problem = Problem(score, data, sample_weight, None, constraints)
        assert_array_equal(
            permitted_edges("pc", problem, pc=PCSkeleton()),
            space_of("pc", data, None, sample_weight, constraints),
        )


# ------------------------------------------------------- edges in any shape


@pytest.mark.parametrize(
    "edges",
    [
        [("a", "b"), ("d", "c")],
        [(0, 1), (3, 2)],
        (("a", 1), [np.int64(3), "c"]),
        np.array(matrix(4, (0, 1), (3, 2))),
        matrix(4, (0, 1), (3, 2)).astype(float),
        matrix(4, (0, 1), (3, 2)).astype(int).tolist(),
        pd.DataFrame(matrix(4, (0, 1), (3, 2)), index=NAMES, columns=NAMES),
        pl.DataFrame(matrix(4, (0, 1), (3, 2)).astype(int), schema=list(NAMES)),
        iter([("a", "b"), ("d", "c")]),
    ],
)
def test_edges_by_name_index_or_matrix(edges):
    resolved = resolve_edges(edges, 4, NAMES, "required_edges")
    assert resolved.dtype == bool
    assert_array_equal(resolved, matrix(4, (0, 1), (3, 2)))


def test_no_edges():
    for nothing in (None, [], (), np.zeros((4, 4))):
        assert not resolve_edges(nothing, 4, NAMES, "required_edges").any()


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ([("a", "e")], "forbidden_edges names an unknown variable: 'e'"),
        ([(0, 4)], "forbidden_edges has the index 4, but there are 4 variables"),
        ([(0, -1)], "forbidden_edges has the index -1"),
        ([(0, 1.0)], r"by name or index, got 1\.0"),
        ([(0, True)], "by name or index, got True"),
        ([(0, 1, 2)], r"\(4, 4\) or a list of \(parent, child\) pairs"),
        (["ab", "cd"], r"\(4, 4\) or a list of \(parent, child\) pairs"),
        (np.zeros((2, 4)), r"got shape \(2, 4\)"),
        (np.full((4, 4), 0.5), "zeros and ones only"),
        (np.full((4, 4), np.nan), "zeros and ones only"),
    ],
)
def test_edges_that_are_none(edges, message):
    with pytest.raises(ValueError, match=message):
        resolve_edges(edges, 4, NAMES, "forbidden_edges")


def test_names_need_named_data(data):
    with pytest.raises(ValueError, match="required_edges names an unknown variable"):
        quick(required_edges=[("a", "b")]).fit(data)


# --------------------------------------------------------------- contradictions


@pytest.mark.parametrize(
    ("constraints", "message"),
    [
        (
            {"required_edges": [("a", "b")], "forbidden_edges": [(0, 1), ("b", "c")]},
            r"both in required_edges and forbidden_edges: 'a' -> 'b'\.",
        ),
        ({"required_edges": [("a", "a")]}, "edge from 'a' to itself"),
        (
            {"required_edges": [("b", "c"), ("c", "d"), ("d", "b"), ("a", "b")]},
            "required_edges has a cycle: ('b' -> 'c', 'c' -> 'd', 'd' -> 'b'"
            "|'c' -> 'd', 'd' -> 'b', 'b' -> 'c'|'d' -> 'b', 'b' -> 'c', 'c' -> 'd')",
        ),
        (
            {"required_edges": [("a", "b")], "tiers": [["b"], ["a"]]},
            "required_edges go against the tiers: 'a' -> 'b'",
        ),
        (
            {"required_edges": [("a", "d"), ("b", "d")], "max_parents": 1},
            "gives 'd' 2 parents, more than max_parents=1: 'a' -> 'd', 'b' -> 'd'",
        ),
        ({"tiers": [["a"], ["b", "a"]]}, "tiers has 'a' more than once"),
        ({"tiers": [["a"], ["e"]]}, "tiers names an unknown variable: 'e'"),
        ({"tiers": [["a"], "b"]}, "tiers must be a list of groups"),
        ({"tiers": ["a", 3]}, "tiers must be a list of groups"),
    ],
)
def test_contradictions_are_named(constraints, message):
    with pytest.raises(ValueError, match=message):
        resolve_constraints(4, NAMES, **constraints)


def test_contradictions_fail_before_any_work(data):
    """Before the search space is even looked for."""

    def never(X):
        raise AssertionError("called")

    frame = pd.DataFrame(data, columns=list("abcdefgh"))
    model = quick(
        search_space=never,
        required_edges=[("a", "b"), ("b", "c"), ("c", "a")],
    )
    with pytest.raises(ValueError, match=r"cycle: .*'a' -> 'b'"):
        model.fit(frame)


@pytest.mark.parametrize("seed", range(20))
def test_a_cycle_is_shown_edge_by_edge(seed):
    rng = np.random.default_rng(seed)
    required = rng.random((7, 7)) < 0.3
    np.fill_diagonal(required, False)
    try:
        resolve_constraints(7, required_edges=required)
    except ValueError as error:
        shown = str(error).split(": ")[1].rstrip(".").split(", ")
        edges = [tuple(map(int, edge.split(" -> "))) for edge in shown]
        assert all(required[edge] for edge in edges)
        for (_, child), (parent, _) in itertools.pairwise([*edges, edges[0]]):
            assert child == parent
    else:
        reach = required.copy()
        for _ in range(7):
            reach |= reach @ required
        assert not np.diag(reach).any()


def test_tiers():
    ban = tier_ban([["c"], ["a", 3]], 4, NAMES)
    # from a and d, later, to c; b, in no tier, is free
    assert_array_equal(ban, matrix(4, (0, 2), (3, 2)))
    three = tier_ban([[0], [1], [2, 3]], 4, None)
    assert_array_equal(
        three, matrix(4, (1, 0), (2, 0), (3, 0), (2, 1), (3, 1))
    )  # fmt: skip
    assert not tier_ban([], 4, None).any()
    assert not tier_ban([[0, 1, 2, 3]], 4, None).any()


# -------------------------------------------------------------------- spaces


def test_make_space():
    constraints = resolve_constraints(
        4, forbidden_edges=[(0, 1), (2, 1)], required_edges=[(3, 1)]
    )
    permitted = matrix(4, (0, 1), (2, 3), (1, 1))
    space = make_space(permitted, constraints, extended=True)
    assert_array_equal(space.permitted, matrix(4, (2, 3), (3, 1)))
    # an extra parent is neither permitted already, nor forbidden, nor oneself
    assert not (space.extra & (space.permitted | constraints.forbidden)).any()
    assert (space.extra | space.permitted | constraints.forbidden).all()
    assert space.required_mask(1) == 1
    assert space.required_mask(3) == 0
    plain = make_space(permitted, constraints, extended=False)
    assert not plain.extra.any()
    assert not plain.extended
    # nobody is outside a full space: nothing to extend
    full = make_space(np.ones((4, 4), dtype=bool), constraints, extended=True)
    assert not full.extended


def test_spaces_by_word(data):
    n = data.shape[1]
    assert_array_equal(space_of("full", data), ~np.eye(n, dtype=bool))
    pc = space_of("pc", data)
    assert_array_equal(pc, PCSkeleton().fit(data).search_space_)
    assert_array_equal(pc, pc.T)
    rng = np.random.default_rng(0)
    mild = rng.normal(size=(200, n)) + 0.5 * rng.normal(size=(200, 1))
    mild *= 10.0  # of no consequence
    scaled = (mild - mild.mean(axis=0)) / mild.std(axis=0)
    precision = GraphicalLassoCV().fit(scaled).precision_
    expected = precision != 0
    np.fill_diagonal(expected, False)
    assert_array_equal(space_of("glasso", mild), expected)
    weights = rng.integers(0, 3, size=200)
    repeated = np.repeat(mild, weights, axis=0)
    assert_array_equal(
        space_of("glasso", mild, sample_weight=weights), space_of("glasso", repeated)
    )
    assert space_of("glasso", data).any()  # penalties that do not converge are left
    with pytest.raises(ValueError, match="search_space must be 'pc'"):
        space_of("everything", data)


def test_glasso_of_constants_and_of_codes(data):
    X = data.copy()
    X[:, 2] = 1.0
    permitted = space_of("glasso", X)
    assert not permitted[2].any()
    assert not permitted[:, 2].any()
    assert permitted.any()
    assert not space_of("glasso", np.ones((5, 3))).any()
    codes = make_discrete_network(50, 4, random_state=0).data
    with pytest.raises(ValueError, match="'glasso' needs continuous data"):
        quick(search_space="glasso").fit(codes)


class Neighbors(BaseEstimator):
    """Learns a graph by the name of the attribute given."""

    def __init__(self, attribute="adjacency_"):
        self.attribute = attribute

    def fit(self, X, y=None):
        setattr(self, self.attribute, np.eye(X.shape[1], k=1))
        return self


def test_spaces_from_callables_and_estimators(data):
    n = data.shape[1]
    chain = np.eye(n, k=1, dtype=bool)
    seen = []

    def make(X):
        seen.append(X)
        return np.eye(X.shape[1], k=1, dtype=int)

    for search_space in (
        chain, chain.astype(int), chain.astype(float).tolist(), make, Neighbors(),
        Neighbors("search_space_"), Neighbors().fit(data),
        quick(search_space=chain).fit(data), quick(search_space=chain),
    ):  # fmt: skip
        permitted = space_of(search_space, data)
        assert permitted.dtype == bool
        assert_array_equal(permitted, chain)
    assert_array_equal(seen[0], data)
    oriented = PCSkeleton(alpha=0.1, orient=True)
    expected = PCSkeleton(alpha=0.1, orient=True).fit(data).search_space_
    assert_array_equal(space_of(oriented, data), expected)
    assert not hasattr(oriented, "search_space_")  # a clone was fitted
    lasso = GraphicalLasso(alpha=0.3)
    noise = np.random.default_rng(1).normal(size=(100, n)) + data[:100, :1] / 2
    expected = GraphicalLasso(alpha=0.3).fit(noise).precision_ != 0
    assert_array_equal(space_of(lasso, noise), expected & ~np.eye(n, dtype=bool))
    with pytest.raises(ValueError, match="Neighbors learns none of search_space_"):
        space_of(Neighbors("coef_"), data)


def test_weights_reach_callables_and_estimators():
    """Rows are repeated for those that take no weights; discrete rows are merged."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, size=(500, 3))  # eight distinct rows
    weights = rng.integers(0, 3, size=500)
    seen = []

    def look(X):
        seen.append(X)
        return ~np.eye(3, dtype=bool)

    class Looker(BaseEstimator):
        def fit(self, X, y=None):
            self.adjacency_ = look(X)
            return self

    for search_space in (look, Looker()):
        quick(search_space=search_space).fit(codes)
        assert_array_equal(seen[-1].mean(axis=0), codes.mean(axis=0))
        quick(search_space=search_space).fit(codes, sample_weight=weights)
        expected = np.repeat(codes, weights, axis=0)
        assert_array_equal(seen[-1].sum(axis=0), expected.sum(axis=0))
        with pytest.raises(ValueError, match=r"takes no weights.*whole numbers"):
            quick(search_space=search_space).fit(codes, sample_weight=weights + 0.5)


def test_a_fitted_estimator_is_not_fitted_again(data):
    fitted = quick().fit(data)
    before = fitted.search_space_
    model = quick(search_space=fitted).fit(data[:50])
    assert_array_equal(model.search_space_, before)
    assert_array_equal(quick(search_space=before).fit(data).search_space_, before)


def test_unions(data):
    n = data.shape[1]
    chain = np.eye(n, k=1, dtype=bool)
    union = space_of(["pc", chain, lambda X: matrix(n, (7, 0))], data)
    assert_array_equal(union, space_of("pc", data) | chain | matrix(n, (7, 0)))
    model = quick(search_space=["pc", chain]).fit(data)
    assert_array_equal(model.search_space_, space_of("pc", data) | chain)
    assert is_union(["pc"])
    assert is_union([chain, chain])
    # a nested list is one array
    assert not is_union(chain.tolist())


# ------------------------------------------------------------------- trimming


def test_trimming_keeps_the_strongest():
    """One after the other, what raises the score most beside those kept."""
    rng = np.random.default_rng(0)
    n = 7
    X = rng.normal(size=(300, n))
    X[:, 0] = X[:, 1:] @ np.array([3.0, 0.05, 2.0, 0.1, 1.0, 0.0])
    X[:, 0] += rng.normal(size=300)
    score = BGe().fit(X)
    constraints = resolve_constraints(n, required_edges=[(6, 0)])
    full = make_space(np.ones((n, n), dtype=bool), constraints, extended=True)
    column = np.zeros((n, n), dtype=bool)
    column[:, 0] = full.permitted[:, 0]
    space = SearchSpace(column, np.zeros_like(column), full.required, False)
    with pytest.warns(UserWarning, match="Node 'x0' has 6 permissible parents; the 4 "):
        trimmed = trim(space, score, 4, [f"x{k}" for k in range(n)])
    # the rule, naively
    kept = [6]
    while len(kept) < 4:
        left = [k for k in range(1, n) if k not in kept]
        kept.append(max(left, key=lambda k: score.local_score(0, [*kept, k])))
    assert_array_equal(np.flatnonzero(trimmed[:, 0]), sorted(kept))
    assert {1, 3, 5, 6} == set(kept)
    # without names, by number
    with pytest.warns(UserWarning, match="Node 0 has 6"):
        trim(space, score, 4)
    # none is trimmed that fits
    assert_array_equal(trim(space, score, 6), space.permitted)


def test_who_falls_out_of_a_full_space_may_be_the_extra_parent():
    X = make_gaussian_network(100, 7, random_state=0).data
    problem = Problem(BGe().fit(X), X, None, None, resolve_constraints(7))
    with pytest.warns(UserWarning, match="6 permissible parents; the 4"):
        space = start_space(
            problem,
            "full",
            alpha="auto",
            extended=True,
            max_parents=4,
            entropy=(0,),
            n_jobs=None,
        )
    assert (space.permitted.sum(axis=0) == 4).all()
    assert (space.extra.sum(axis=0) == 2).all()
    assert not (space.extra & space.permitted).any()


def test_max_parents_bounds_what_is_sampled(data):
    n = data.shape[1]
    with pytest.warns(UserWarning, match="max_parents") as caught:
        model = quick(search_space="full", max_parents=2, extra_parent=False).fit(data)
    assert len(caught) == n
    assert (model.search_space_.sum(axis=0) == 2).all()
    assert model.dag_samples_[:].sum(axis=1).max() <= 2
    dense = np.full((n, n), 50.0)
    with pytest.warns(UserWarning, match="max_parents"):
        model = quick(search_space="full", max_parents=2, edge_prior=dense).fit(data)
    assert model.dag_samples_[:].sum(axis=1).max() == 3
    with pytest.warns(UserWarning, match="max_parents"):
        model = quick(search_space="full", max_parents=0, extra_parent=False).fit(data)
    assert not model.dag_samples_[:].any()


def problem_of(score, X, **constraints):
    X = np.asarray(X)
    resolved = resolve_constraints(X.shape[1], **constraints)
    return Problem(score.fit(X), X, None, None, resolved)


@pytest.mark.parametrize(
    ("score", "n_features", "n_rows", "limit"),
    [
        (BDe(), 5, 40, 14),
        (BDe(), 16, 40, 15),
        (BDe(), 16, 200, 15),
        (BDe(), 17, 101, 16),
        (BDe(), 16, 5000, 14),
        (BDe(), 24, 40, 14),
        (BGe(), 16, 40, 15),
        (BGe(), 18, 400, 17),
        (BGe(), 20, 400, 14),
        (BGe(), 60, 400, 14),
    ],
)
def test_parent_limit_goes_by_cost(score, n_features, n_rows, limit):
    X = np.random.default_rng(0).integers(0, 2, (n_rows, n_features))
    X = X.astype(float) if isinstance(score, BGe) else X
    problem = problem_of(score, X)
    assert parent_limit("auto", problem) == limit
    for asked in (0, 3, 26):
        assert parent_limit(asked, problem) == asked


def test_parent_limit_looks_at_constraints():
    X = np.random.default_rng(0).normal(size=(40, 40))
    # what is forbidden costs nothing: of two halves each has 19 candidates or less
    tiers = [list(range(20)), list(range(20, 40))]
    assert parent_limit("auto", problem_of(BGe(), X, tiers=tiers)) == 14
    apart = np.ones((40, 40), dtype=bool)
    apart[:20, :20] = apart[20:, 20:] = False
    assert parent_limit("auto", problem_of(BGe(), X, forbidden_edges=apart)) == 14
    apart[16:20] = apart[36:] = True
    assert parent_limit("auto", problem_of(BGe(), X, forbidden_edges=apart)) == 16
    required = [(parent, 0) for parent in range(1, 18)]
    problem = problem_of(BGe(), X, required_edges=required)
    assert parent_limit("auto", problem) == 17


@pytest.mark.filterwarnings("ignore:The search space leaves out")  # with a limit
@pytest.mark.parametrize(
    "n_features", [15, 16, pytest.param(17, marks=pytest.mark.slow)]
)
def test_no_cliff_where_everything_is_affordable(n_features):
    rng = np.random.default_rng(n_features)
    X = rng.integers(0, 2, (40, n_features))
    model = quick(search_space="iterative", n_draws=2, n_chains=1).fit(X)
    assert (model.search_space_ | np.eye(n_features, dtype=bool)).all()
    model = quick(search_space="full", n_draws=2, n_chains=1).fit(X)  # no warning
    assert (model.search_space_ | np.eye(n_features, dtype=bool)).all()
    # the user's number is a limit
    limit = n_features - 2
    model = quick(search_space="iterative", n_draws=2, n_chains=1, max_parents=limit)
    assert model.fit(X).search_space_.sum(axis=0).max() <= limit


# --------------------------------------------- constraints hold in every DAG


# a search without extra parents has PC's edges alone
@pytest.mark.filterwarnings("ignore:The search space leaves out")
@pytest.mark.parametrize("extra_parent", [True, False])
@pytest.mark.parametrize("search_space", ["pc", "full", "iterative", "nothing"])
@pytest.mark.parametrize("kind", ["gaussian", "discrete"])
def test_constraints_hold_in_every_sampled_dag(kind, search_space, extra_parent):
    if kind == "gaussian":
        network = make_gaussian_network(150, 8, random_state=1)
    else:
        network = make_discrete_network(150, 8, random_state=1)
    frame = pd.DataFrame(network.data, columns=list("abcdefgh"))
    # against the data: half of the true edges are forbidden, a reversal is required
    true = np.argwhere(network.adjacency)
    forbidden = [(f"{'abcdefgh'[i]}", int(j)) for i, j in true[::2]]
    i, j = (int(k) for k in true[1])
    required = [(j, i)]
    tiers = [["h"], ["a", "b"]] if {i, j}.isdisjoint({0, 1, 7}) else None
    if search_space == "nothing":
        search_space = np.zeros((8, 8))
    model = quick(
        search_space=search_space, extra_parent=extra_parent,
        forbidden_edges=forbidden, required_edges=required, tiers=tiers,
    ).fit(frame)  # fmt: skip
    dags = np.concatenate([model.dag_samples_[:], model.adjacency_[None]])
    assert dags[:, j, i].all()
    assert not dags[:, true[::2, 0], true[::2, 1]].any()
    if tiers:
        assert not dags[:, [0, 1], 7].any()
    assert not model.search_space_[true[::2, 0], true[::2, 1]].any()
    assert model.search_space_[j, i]
    # at most one parent comes from outside
    outside = (dags & ~model.search_space_).sum(axis=1)
    assert outside.max() <= extra_parent


def test_an_order_that_constraints_leave(data):
    """Tiers of one variable each leave one DAG order; required edges the DAG."""
    tiers = [[k] for k in range(8)]
    model = quick(search_space="full", tiers=tiers).fit(data)
    assert not np.tril(model.dag_samples_[:]).any()
    chain = np.eye(8, k=1, dtype=bool)
    forbidden = ~chain & ~np.eye(8, dtype=bool)
    model = quick(required_edges=chain, forbidden_edges=forbidden).fit(data)
    assert (model.dag_samples_[:] == chain).all()
    assert_array_equal(model.adjacency_, chain)


def test_edge_prior_moves_probabilities(data):
    neutral = quick(n_iter=20_000).fit(data).adjacency_probabilities_
    prior = np.zeros((8, 8))
    prior[0, 5], prior[5, 0] = 30.0, -30.0
    model = quick(n_iter=20_000, edge_prior=prior).fit(data)
    assert model.adjacency_probabilities_[0, 5] > 0.99 > neutral[0, 5]
    assert model.adjacency_probabilities_[5, 0] == 0.0


def test_space_contains():
    permitted = np.zeros((4, 4), dtype=bool)
    permitted[0, 1] = permitted[1, 2] = True
    constraints = resolve_constraints(4, forbidden_edges=[(3, 2)])
    space = make_space(permitted, constraints, extended=True)

    def contains(space, *edges):
        adjacency = np.zeros((4, 4), dtype=bool)
        adjacency[tuple(np.transpose(edges))] = True
        return space.contains(adjacency)

    assert contains(space, (0, 1), (1, 2))
    assert contains(space, (0, 1), (0, 2), (0, 3))
    assert not contains(space, (0, 3), (1, 3))  # two outsiders
    assert not contains(space, (3, 2))
    plain = make_space(permitted, constraints, extended=False)
    assert contains(plain, (0, 1))
    assert not contains(plain, (0, 2))
    constraints = resolve_constraints(4, required_edges=[(0, 1)])
    assert not contains(make_space(permitted, constraints, extended=True), (1, 2))


# ------------------------------------------------------------- labeled frames


def labeled(values, order, library="pandas", index=True):
    """A matrix over a, b, c, d as a frame whose labels stand in another order."""
    values = np.asarray(values)[np.ix_(order, order)]
    names = NAMES[list(order)]
    if library == "polars":
        return pl.DataFrame(values, schema=names.tolist())
    return pd.DataFrame(values, columns=names, index=names if index else None)


@pytest.mark.parametrize("library", ["pandas", "polars", "pandas without index"])
def test_frames_are_aligned_by_label(library):
    edges = matrix(4, (0, 1), (3, 2))
    library, *without = library.split(" without ")
    frame = labeled(edges, (2, 0, 3, 1), library, index=not without)
    assert_array_equal(resolve_edges(frame, 4, NAMES, "forbidden_edges"), edges)
    # rows and columns may be in different orders
    mixed = pd.DataFrame(edges, index=NAMES, columns=NAMES).loc[
        ["d", "a", "b", "c"], ["b", "a", "d", "c"]
    ]
    assert_array_equal(resolve_edges(mixed, 4, NAMES, "forbidden_edges"), edges)


def test_frames_with_indices_for_labels():
    edges = matrix(4, (0, 1), (3, 2))
    frame = pd.DataFrame(edges).iloc[[1, 0, 3, 2], [3, 2, 1, 0]]
    assert_array_equal(resolve_edges(frame, 4, NAMES, "required_edges"), edges)
    assert_array_equal(resolve_edges(frame, 4, None, "required_edges"), edges)


def test_labels_that_are_none_of_the_data():
    frame = labeled(np.zeros((4, 4)), (0, 1, 2, 3)).rename(columns={"a": "x"})
    with pytest.raises(ValueError, match="forbidden_edges has the label 'a'"):
        resolve_edges(frame, 4, NAMES, "forbidden_edges")
    twice = labeled(np.zeros((4, 4)), (0, 1, 2, 3)).set_axis(list("aabc"), axis=0)
    with pytest.raises(ValueError, match="has a label more than once"):
        resolve_edges(twice, 4, NAMES, "forbidden_edges")
    with pytest.raises(ValueError, match="shape"):
        resolve_edges(twice.iloc[:3], 4, NAMES, "forbidden_edges")


@pytest.mark.parametrize(
    "parameter", ["forbidden_edges", "required_edges", "edge_prior", "search_space"]
)
def test_labeled_parameters_of_an_estimator(parameter):
    X = pd.DataFrame(make_gaussian_network(80, 4, random_state=1).data, columns=NAMES)
    value = matrix(4, (0, 1), (3, 2))
    if parameter == "edge_prior":
        value = np.random.default_rng(0).normal(size=(4, 4))
    plain = quick(**{parameter: value}).fit(X)
    model = quick(**{parameter: labeled(value, (2, 0, 3, 1))}).fit(X)
    assert_array_equal(model.log_score_trace_, plain.log_score_trace_)
    assert_array_equal(model.search_space_, plain.search_space_)
    with pytest.raises(ValueError, match=f"{parameter} has the label 'x'"):
        quick(**{parameter: labeled(value, range(4)).set_axis(list("abcx"))}).fit(X)


def test_scores_align_their_prior_too():
    X = pd.DataFrame(make_gaussian_network(80, 4, random_state=1).data, columns=NAMES)
    prior = np.random.default_rng(0).normal(size=(4, 4))
    score = BGe().fit(X, edge_prior=labeled(prior, (2, 0, 3, 1)))
    assert_array_equal(score.log_prior_odds_, prior)
