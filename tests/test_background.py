"""Background variables: given, never explained, and outside of orders.

Exact answers come from all DAGs over the main variables, each with all sets of parents
in the background. The reference values are those of BiDAG, and an exact posterior.
"""

import itertools
from functools import cache

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp

from enumeration import (
    SETTINGS,
    assert_same_posterior,
    dag_posterior,
    draw,
    gaussian_data,
    local_scores,
)
from helpers import DATA, all_dags, assert_same_draws, quick, random_dag
from skbidag import (
    ExactStructure,
    IterativeSearchStructure,
    OrderMCMCStructure,
    PartitionMCMCStructure,
    causal_effects,
)
from skbidag._chains import bit_generator, move_mixture
from skbidag._core._dag import DAGChain
from skbidag._core._order import OrderChain
from skbidag._core._partition import PartitionChain
from skbidag._dag_walk import dag_moves
from skbidag._dynamic_programming import (
    ORDER_WEIGHTED,
    OVER_DAGS,
    exact_posterior,
    find_best_dag,
)
from skbidag._partition import partition_moves, partition_of_dag
from skbidag._search import order_moves, random_order
from skbidag._search_space import SearchSpace
from skbidag._starts import log_probability_of_order
from skbidag._tables import build_tables
from skbidag.diagnostics import top_cpdags
from skbidag.graphs import to_cpdag
from skbidag.scores import BDe, BGe

ESTIMATORS = [OrderMCMCStructure, PartitionMCMCStructure, IterativeSearchStructure]
PAPER = BGe(prior="paper", edge_penalty=1.0)

# Which variables of five are in the background: first, between and last, or all but one
MASKS = {
    "two": np.array([False, True, False, False, True]),
    "first": np.array([True, False, False, False, False]),
    "all but one": np.array([True, True, False, True, True]),
}


def reference(name):
    return pd.read_csv(DATA / "dynamic" / f"{name}.csv")


def with_background(space, background):
    """The same space with variables in the background."""
    main = ~background
    return SearchSpace(
        space.permitted & main,
        space.extra & main,
        space.required & main,
        space.extended,
        background,
    )


@cache
def example(setting, name):
    """Tables, all DAGs that fit, and their exact posterior."""
    background = MASKS[name]
    score, space = SETTINGS[setting](5)
    tables = build_tables(score, with_background(space, background), sums=True)
    dags = all_dags(5)
    dags = dags[~dags[:, :, background].any(axis=(1, 2))]
    exact, _ = dag_posterior(tables, dags)
    return tables, dags, exact, background


def n_orders(dag, main):
    """How many orders of the main variables a DAG fits."""
    return sum(
        not any(dag[left, right] for left, right in itertools.combinations(order, 2))
        for order in itertools.permutations(np.flatnonzero(main))
    )


CASES = [(setting, "two") for setting in SETTINGS] + [
    ("bge extended", "first"),
    ("bge constraints", "first"),
    ("bge extended", "all but one"),
    ("bde levels", "all but one"),
]


# ---------------------------------------------------------------------------- scores


@pytest.mark.parametrize("kind", ["bge", "bde"])
def test_scores_of_dags_are_those_of_the_reference(kind):
    data = reference("bg_gauss_data" if kind == "bge" else "bg_binary_data")
    score = PAPER if kind == "bge" else BDe(equivalent_sample_size=0.5, edge_penalty=2)
    names = list(data.columns)
    background = np.isin(names, ["b1", "b2"])
    score.fit(data)
    everything = ~np.eye(len(names), dtype=bool) & ~background
    nothing = np.zeros_like(everything)
    space = SearchSpace(everything, nothing, nothing, False, background)
    tables = build_tables(score, space)
    edges = reference("bg_dags")
    values = reference("bg_scores").query("score == @kind").set_index("dag")
    assert len(values) == 5
    for name, row in values.iterrows():
        dag = np.zeros((len(names),) * 2, dtype=bool)
        for _, parent, child in edges[edges.dag == name].itertuples(index=False):
            dag[names.index(parent), names.index(child)] = True
        assert_allclose(tables.log_score(dag), row["with_bgnodes"], rtol=1e-8)


# ----------------------------------------------------------- chains, by enumeration


@pytest.mark.slow
@pytest.mark.parametrize(("setting", "name"), CASES)
def test_order_chains_sample_the_exact_posterior(setting, name):
    tables, dags, exact, background = example(setting, name)
    weights = exact * [n_orders(dag, ~background) for dag in dags]
    probabilities = np.tensordot(weights / weights.sum(), dags, axes=1)
    moves = move_mixture("auto", order_moves(tables.n_main))
    chain = OrderChain(tables.views(), bit_generator((1,)), np.arange(5), moves)
    samples, log_scores = draw(chain, 5, 20_000, 5)
    assert_same_posterior(samples, probabilities)
    assert_allclose(log_scores[:50], [tables.log_score(dag) for dag in samples[:50]])


def a_dag(tables, background):
    order = random_order(np.random.default_rng(0), np.zeros((5, 5), dtype=bool))
    for _ in range(100):
        dag = tables.best_dag(order)
        if np.isfinite(tables.log_score(dag)):
            return dag
        order = np.random.default_rng(order).permutation(5)
    raise AssertionError("no DAG of the tables was found")


@pytest.mark.slow
@pytest.mark.parametrize(("setting", "name"), CASES)
def test_dag_chains_sample_the_exact_posterior(setting, name):
    tables, dags, exact, background = example(setting, name)
    moves = move_mixture("auto", dag_moves(tables.n_main))
    start = a_dag(tables, background)
    chain = DAGChain(tables.views(), bit_generator((2,)), start, moves)
    samples, _ = draw(chain, 5, 20_000, 10)
    assert_same_posterior(samples, np.tensordot(exact, dags, axes=1))


@pytest.mark.slow
@pytest.mark.parametrize("move", range(6))
def test_each_move_over_dags_leaves_the_posterior_as_it_is(move):
    tables, dags, exact, background = example("bge extended", "two")
    moves = np.full(6, 0.02)
    moves[move] = 0.9
    start = a_dag(tables, background)
    chain = DAGChain(tables.views(), bit_generator((3,)), start, moves)
    samples, _ = draw(chain, 5, 20_000, 15)
    assert_same_posterior(samples, np.tensordot(exact, dags, axes=1))


@pytest.mark.slow
@pytest.mark.parametrize(("setting", "name"), CASES)
def test_partition_chains_sample_the_exact_posterior(setting, name):
    tables, dags, exact, background = example(setting, name)
    moves = move_mixture("auto", partition_moves(tables.n_main))
    partition = partition_of_dag(a_dag(tables, background), background)
    chain = PartitionChain(tables.views(), bit_generator((4,)), partition, moves)
    samples, _ = draw(chain, 5, 20_000, 10)
    assert_same_posterior(samples, np.tensordot(exact, dags, axes=1))


@pytest.mark.slow
@pytest.mark.parametrize("move", range(5))
def test_each_move_over_partitions_leaves_the_posterior_as_it_is(move):
    tables, dags, exact, background = example("bge extended", "two")
    moves = np.full(5, 0.02)
    moves[move] = 0.92
    partition = partition_of_dag(a_dag(tables, background), background)
    chain = PartitionChain(tables.views(), bit_generator((5,)), partition, moves)
    samples, _ = draw(chain, 5, 20_000, 15)
    assert_same_posterior(samples, np.tensordot(exact, dags, axes=1))


# ---------------------------------------------------------------- dynamic programming


@pytest.mark.parametrize("posterior", [OVER_DAGS, ORDER_WEIGHTED])
@pytest.mark.parametrize("name", MASKS)
@pytest.mark.parametrize("setting", ["bge", "bge restricted", "bde levels"])
def test_dynamic_programming_is_enumeration(setting, name, posterior):
    background = MASKS[name]
    score, space = SETTINGS[setting](5)
    space = with_background(
        SearchSpace(space.permitted, space.extra & False, space.required, False),
        background,
    )
    dags = all_dags(5)
    dags = dags[~dags[:, :, background].any(axis=(1, 2))]
    weights, log_scores = dag_posterior(build_tables(score, space), dags)
    if posterior == ORDER_WEIGHTED:
        weights = weights * [n_orders(dag, ~background) for dag in dags]
    expected = np.tensordot(weights / weights.sum(), dags, axes=1)
    found = exact_posterior(score, space, posterior, np.random.default_rng(0), 5000)
    assert_allclose(found.probabilities, expected, atol=1e-11)
    # 5000 independent draws: five standard errors
    assert_allclose(found.dags.mean(axis=0), expected, atol=5 * np.sqrt(0.25 / 5000))
    best = find_best_dag(score, space)
    number = np.argmax((dags == best).all(axis=(1, 2)))
    assert log_scores[number] == pytest.approx(log_scores.max(), rel=1e-12)


def test_exact_structure_has_the_posterior_of_the_reference():
    data = reference("bg_gauss_data")
    exact = reference("bg_gauss15_exact_order_posterior")
    model = ExactStructure(
        PAPER, background=["b1", "b2"], posterior="order-weighted", random_state=0
    ).fit(data[:15])
    assert_allclose(model.adjacency_probabilities_, exact, atol=1e-6)
    given = data.columns.isin(["b1", "b2"])
    assert not model.dag_samples_[:][:, :, given].any()
    assert_array_equal(model.dag_samples_.background, given)
    scores = [model.score_.local_score(node, []) for node in np.flatnonzero(given)]
    assert model.log_score_ == pytest.approx(
        model.score_.dag_score(model.adjacency_) - sum(scores)
    )
    assert not model.cpdag_[:, given].any()
    assert model.predict(data[:3]).shape == data[:3].shape
    alone = ExactStructure(PAPER, background=given, posterior="best DAG alone")
    assert_array_equal(alone.fit(data[:15]).adjacency_, model.adjacency_)


def test_the_best_dag_as_a_space():
    X = gaussian_data(7, 40, 5)
    model = quick(background=[1], search_space="exact").fit(X)
    best = ExactStructure(background=[1]).fit(X)
    assert model.log_score_ == pytest.approx(best.log_score_)


# -------------------------------------------------------- chains against naive twins


def sum_over(scores, permitted, needed=None):
    """Log sum over the parent sets within some variables, with one of others."""
    terms = [
        score
        for parents, score in scores.items()
        if parents <= permitted and (needed is None or parents & needed)
    ]
    return logsumexp(terms or [-np.inf])


@pytest.mark.parametrize(("setting", "name"), CASES)
@pytest.mark.parametrize("kind", ["order", "dag"])
def test_what_chains_know_of_an_order(setting, name, kind):
    tables, _, _, background = example(setting, name)
    scores, main = local_scores(tables), ~background
    stream, views = bit_generator((6,)), tables.views()
    if kind == "order":
        moves = move_mixture("auto", order_moves(tables.n_main))
        chain = OrderChain(views, stream, np.arange(5)[::-1], moves)
    else:
        moves = move_mixture("auto", dag_moves(tables.n_main))
        chain = DAGChain(views, stream, a_dag(tables, background), moves)
    for _ in range(50):
        chain.run(3)
        order = chain.order
        assert background[order[tables.n_main :]].all()
        expected = [
            0.0
            if background[node]
            else sum_over(scores[node], set(order[np.argmax(order == node) + 1 :]))
            for node in range(5)
        ]
        assert_allclose(chain.node_scores, expected, atol=1e-9)
        if kind == "dag":
            log_q = log_probability_of_right(order, chain.adjacency, main)
            assert_allclose(chain.log_order_probability, log_q, atol=1e-12)
            assert not chain.adjacency[:, background].any()


def log_probability_of_right(order, dag, main):
    """Log probability to build an order of the main variables from the right."""
    placed, total = set(), 0.0
    for node in order[main[order]][::-1]:
        free = [
            other
            for other in np.flatnonzero(main)
            if other not in placed
            and set(np.flatnonzero(dag[:, other] & main)) <= placed
        ]
        assert node in free
        total -= np.log(len(free))
        placed.add(node)
    return total


@pytest.mark.parametrize(("setting", "name"), CASES)
def test_what_chains_know_of_a_partition(setting, name):
    tables, _, _, background = example(setting, name)
    scores = local_scores(tables)
    outside = set(np.flatnonzero(background))

    def naive(partition):
        values = np.zeros(5)
        for node in np.flatnonzero(~background):
            block = partition[node]
            near = set(np.flatnonzero(~background & (partition == block + 1)))
            right = set(np.flatnonzero(~background & (partition > block))) | outside
            values[node] = sum_over(scores[node], right, near or None)
        return values

    moves = move_mixture("auto", partition_moves(tables.n_main))
    start = partition_of_dag(a_dag(tables, background), background)
    chain = PartitionChain(tables.views(), bit_generator((7,)), start, moves)
    for _ in range(50):
        chain.run(3)
        partition = chain.partition
        assert_array_equal(partition == -1, background)
        assert_allclose(chain.node_scores, naive(partition), atol=1e-9)
        copy = PartitionChain(tables.views(), bit_generator((8,)), partition, moves)
        copy.restore(chain.__getstate__())
        assert_array_equal(copy.partition, partition)
        node = int(np.flatnonzero(~background)[0])
        totals = chain.relocation_scores(node)
        assert np.isclose(totals, chain.log_score, atol=1e-9).any()
        assert_array_equal(chain.partition, partition)


def test_orders_of_a_dag_are_drawn_among_main_variables():
    rng, background = np.random.default_rng(0), MASKS["two"]
    main = ~background
    for _ in range(5):
        dag = random_dag(rng, 5, 0.5)
        dag[:, background] = False
        orders = {
            order: np.exp(log_probability_of_order(np.array(order), dag, main))
            for order in itertools.permutations(np.flatnonzero(main))
            if not any(dag[i, j] for i, j in itertools.combinations(order, 2))
        }
        assert sum(orders.values()) == pytest.approx(1.0)
        drawn = [random_order(rng, dag & main[:, None]) for _ in range(2000)]
        for order, probability in orders.items():
            share = np.mean([tuple(one[main[one]]) == order for one in drawn])
            # five standard errors of 2000 draws
            assert abs(share - probability) < 5 * np.sqrt(0.25 / 2000)


# ------------------------------------------------------------------------ estimators


@pytest.mark.slow
@pytest.mark.parametrize("search_space", ["full", "iterative"])
def test_exact_posterior_over_orders(search_space):
    data = reference("bg_gauss_data")
    exact = reference("bg_gauss15_exact_order_posterior")
    model = OrderMCMCStructure(
        PAPER,
        background=["b1", "b2"],
        search_space=search_space,
        n_draws=5000,
        random_state=0,
    ).fit(data[:15])
    assert model.converged_
    # 20,000 draws, which are not independent: five times the error of 4000 that are
    tolerance = 5 * np.sqrt(0.25 / 4000)
    assert_allclose(model.adjacency_probabilities_, exact, atol=tolerance)
    assert exact.loc[1, "x2"] == pytest.approx(0.2412, abs=1e-4)
    forbidden = [(name, b) for name in data for b in ("b1", "b2") if name != b]
    other = OrderMCMCStructure(
        PAPER, forbidden_edges=forbidden, n_draws=5000, random_state=0
    ).fit(data[:15])
    assert other.adjacency_probabilities_[1, 2] < 0.17


@pytest.mark.slow
@pytest.mark.parametrize("walk", ["dags", "partitions"])
def test_exact_posterior_over_dags(walk):
    X, background = gaussian_data(7, 40, 5), MASKS["two"]
    model = PartitionMCMCStructure(
        background=background, walk=walk, n_draws=4000, random_state=0
    ).fit(X)
    space = with_background(SETTINGS["bge"](5)[1], background)
    tables = build_tables(model.score_, space)
    dags = all_dags(5)
    exact, log_scores = dag_posterior(tables, dags)
    tolerance = 5 * np.sqrt(0.25 / 3000)
    expected = np.tensordot(exact, dags, axes=1)
    assert_allclose(model.adjacency_probabilities_, expected, atol=tolerance)
    assert model.log_score_ == pytest.approx(log_scores.max(), rel=1e-10)
    assert not model.adjacency_[:, background].any()


@pytest.mark.parametrize("structure", ESTIMATORS)
def test_names_indices_and_masks_are_the_same(structure):
    X = pd.DataFrame(gaussian_data(8, 50, 6), columns=list("abcdef"))
    first = quick(structure, background=["b", "e"]).fit(X)
    for background in ([1, 4], np.isin(np.arange(6), [1, 4]), (4, "b")):
        other = quick(structure, background=background).fit(X)
        assert_same_draws(first, other)
    assert not first.adjacency_probabilities_[:, [1, 4]].any()
    assert first.adjacency_probabilities_[[1, 4]].any()
    assert_array_equal(first.dag_samples_.background, np.isin(np.arange(6), [1, 4]))
    assert not first.search_space_[:, [1, 4]].any()


@pytest.mark.parametrize("structure", ESTIMATORS)
@pytest.mark.parametrize("kind", ["continuous", "categorical"])
def test_log_scores_are_sums_over_main_variables(structure, kind):
    X = gaussian_data(9, 60, 6)
    X = X if kind == "continuous" else (X > 0).astype(int)
    model = quick(structure, background=[0, 3]).fit(X)

    def log_score(dag):
        return sum(
            model.score_.local_score(node, np.flatnonzero(dag[:, node]))
            for node in (1, 2, 4, 5)
        )

    assert log_score(model.adjacency_) == pytest.approx(model.log_score_)
    traced = [log_score(dag) for dag in model.dag_samples_]
    assert_allclose(model.log_score_trace_.ravel(), traced)


def test_the_best_dag_alone():
    X = gaussian_data(9, 60, 6)
    search = IterativeSearchStructure(n_draws=0, background=[0, 3], random_state=0)
    sampled = quick(IterativeSearchStructure, background=[0, 3]).fit(X)
    assert search.fit(X).log_score_ == pytest.approx(sampled.log_score_)


@pytest.mark.parametrize("walk", ["dags", "partitions"])
def test_one_main_variable(walk):
    X = gaussian_data(10, 60, 4)
    model = PartitionMCMCStructure(
        background=[0, 1, 3], walk=walk, n_draws=2000, random_state=0
    ).fit(X)
    sets = [s for size in range(4) for s in itertools.combinations([0, 1, 3], size)]
    log_scores = np.array([model.score_.local_score(2, s) for s in sets])
    weights = np.exp(log_scores - logsumexp(log_scores))
    for parent in (0, 1, 3):
        expected = weights[[parent in s for s in sets]].sum()
        found = model.adjacency_probabilities_[parent, 2]
        assert abs(found - expected) < 5 * np.sqrt(0.25 / 2000)


@pytest.mark.parametrize("structure", ESTIMATORS)
def test_chains_go_on_and_are_spread_over_workers(structure):
    X = gaussian_data(11, 60, 6)
    whole = quick(structure, background=[2], n_draws=40).fit(X)
    assert_same_draws(whole, quick(structure, background=[2], n_jobs=2).fit(X))
    first = quick(structure, background=[2], warm_start=True).fit(X)
    with pytest.raises(ValueError, match="background changed"):
        first.set_params(background=[3]).fit(X)
    first.set_params(background=[2], n_draws=60).fit(X)
    assert_array_equal(first.dag_samples_.packed[:, :40], whole.dag_samples_.packed)


@pytest.mark.parametrize("space", ["pc", "glasso", "full"])
@pytest.mark.parametrize("extra_parent", [True, False])
def test_spaces(space, extra_parent):
    X = gaussian_data(12, 80, 8)
    model = quick(
        search_space=space, background=[0, 7], extra_parent=extra_parent, max_parents=7
    ).fit(X)
    assert not model.search_space_[:, [0, 7]].any()
    assert model.search_space_[[0, 7]].any()
    assert not model.adjacency_probabilities_[:, [0, 7]].any()


def test_many_variables():
    X = np.random.default_rng(13).normal(size=(50, 300))
    X[:, 1] += 2 * X[:, 0]
    X[:, 3] += 2 * X[:, 299]
    background = [0, *range(200, 300)]
    model = IterativeSearchStructure(
        background=background, n_draws=0, max_expansions=2, random_state=0
    ).fit(X)
    assert model.adjacency_[0, 1]
    assert model.adjacency_[299, 3]
    assert not model.adjacency_[:, background].any()


# ------------------------------------------------------- what is said of rows and DAGs


@pytest.mark.parametrize("kind", ["bge", "bde"])
def test_densities_are_given_the_background(kind):
    X = gaussian_data(14, 60, 5)
    X = X if kind != "bde" else (X > 0).astype(int)
    model = quick(score=kind, background=[1, 4]).fit(X[:40])
    score, codes = model.score_, X[40:]
    terms = np.array(
        [
            sum(
                score.log_predictive(codes, node, np.flatnonzero(dag[:, node]))
                for node in (0, 2, 3)
            )
            for dag in model.dag_samples_
        ]
    )
    expected = logsumexp(terms, axis=0) - np.log(len(terms))
    assert_allclose(model.score_samples(X[40:]), expected, rtol=1e-10)
    assert model.predict(X[40:]).shape == (20, 5)
    assert model.sample(30, random_state=0).shape == (30, 5)


def test_predictions_given_the_background_do_not_depend_on_its_distribution():
    """A main variable is predicted by the DAGs' conditionals alone."""
    X = gaussian_data(15, 100, 4)
    model = quick(background=[0]).fit(X)
    dag_weights, means = [], []
    row = X[:1].copy()
    for dag in model.dag_samples_:
        grid = np.repeat(row, 4001, axis=0)
        grid[:, 2] = np.linspace(-40, 40, 4001)
        density = np.exp(
            sum(
                model.score_.log_predictive(grid, node, np.flatnonzero(dag[:, node]))
                for node in (1, 2, 3)
            )
        )
        dag_weights.append(density.sum())
        means.append((density * grid[:, 2]).sum() / density.sum())
    expected = np.average(means, weights=dag_weights)
    assert model.predict(row)[0, 2] == pytest.approx(expected, abs=1e-5)


def test_effects_of_and_on_the_background():
    rng = np.random.default_rng(16)
    X = rng.normal(size=(200, 3))
    X[:, 1] += X[:, 0]
    X[:, 2] += X[:, 1]
    model = quick(PartitionMCMCStructure, background=[0]).fit(X)
    effects = causal_effects(model, random_state=0)
    assert not effects.mean[1:, 0].any()
    assert effects.mean[0, 1] == pytest.approx(1.0, abs=0.2)


def equivalents(dag, background):
    """All DAGs with the same skeleton and v-structures, without other parents."""
    n = len(dag)

    def signature(A):
        colliders = {
            (i, j, k)
            for j in range(n)
            for i, k in itertools.combinations(np.flatnonzero(A[:, j]), 2)
            if not (A[i, k] or A[k, i])
        }
        return (A | A.T).tobytes(), frozenset(colliders)

    wanted = signature(dag)
    return [
        A for A in all_dags(n) if not A[:, background].any() and signature(A) == wanted
    ]


def test_cpdags_keep_the_directions_that_the_background_gives():
    rng, background = np.random.default_rng(17), np.array([True, False, False, True])
    changed = 0
    for _ in range(15):
        dag = random_dag(rng, 4, 0.6)
        dag[:, background] = False
        expected = np.logical_or.reduce(equivalents(dag, background))
        assert_array_equal(to_cpdag(dag, background), expected)
        changed += not np.array_equal(to_cpdag(dag), expected)
    assert changed > 3
    with pytest.raises(ValueError, match="in the background"):
        to_cpdag(np.array([[0, 0], [1, 0]]), [True, False])


def test_estimators_have_such_cpdags():
    X = gaussian_data(18, 200, 5)
    model = quick(PartitionMCMCStructure, background=[2]).fit(X)
    expected = np.mean(
        [to_cpdag(dag, [0, 0, 1, 0, 0]) for dag in model.dag_samples_], 0
    )
    assert_allclose(model.edge_probabilities("cpdag"), expected)
    assert not model.edge_probabilities("cpdag")[:, 2].any()
    assert not model.cpdag_[:, 2].any()
    assert not top_cpdags(model, k=2).cpdags[:, :, 2].any()


# -------------------------------------------------------------------------- bad input


@pytest.mark.parametrize("structure", [*ESTIMATORS, ExactStructure])
@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"background": ["z"]}, "background.*'?z'?"),
        ({"background": [7]}, "background.*7"),
        ({"background": "a"}, "background"),
        ({"background": [True, False]}, "as a mask, must have 4 entries"),
        ({"background": list("abcd")}, "has every variable"),
        (
            {"background": ["a"], "required_edges": [("b", "a")]},
            "required_edges lead to variables in the background: 'b' -> 'a'",
        ),
    ],
)
def test_bad_background(structure, params, message):
    X = pd.DataFrame(gaussian_data(0, 30, 4), columns=list("abcd"))
    model = ExactStructure() if structure is ExactStructure else quick(structure)
    with pytest.raises((ValueError, TypeError), match=message):
        model.set_params(**params).fit(X)


def test_a_search_space_has_no_background_of_its_own():
    search = IterativeSearchStructure(background=[0])
    model = quick(search_space=search)
    with pytest.raises(ValueError, match="give background to OrderMCMCStructure"):
        model.fit(gaussian_data(0, 30, 4))
    model.set_params(background=[0]).fit(gaussian_data(0, 30, 4))
    assert not model.adjacency_[:, 0].any()
