"""Exact structure learning: against enumeration, and against sums in whole numbers."""

import itertools
import pickle
import sys
from functools import cache

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp
from sklearn import clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import check_param_validation

from enumeration import (
    assert_same_posterior,
    dag_posterior,
    discrete_data,
    gaussian_data,
    make_space,
    sparse,
)
from helpers import (
    MadeUpScore,
    all_dags,
    control_c,
    python_process,
    quick,
    read_data,
    read_exact_posterior,
)
from skbidag import (
    ExactStructure,
    MarkovBlanketSelector,
    PartitionMCMCStructure,
    causal_effects,
)
from skbidag._dynamic_programming import (
    ORDER_WEIGHTED,
    OVER_DAGS,
    blocks_of,
    exact_posterior,
    find_best_dag,
)
from skbidag._tables import build_tables
from skbidag.datasets import make_gaussian_network
from skbidag.diagnostics import edge_diagnostics
from skbidag.inspection import EdgeProbabilityDisplay, GraphDisplay
from skbidag.scores import BDe, BGe, CategoricalBIC, GaussianBIC

POSTERIORS = [OVER_DAGS, ORDER_WEIGHTED]


def no_rows(n):
    return np.random.default_rng(0).normal(size=(5, n))


# name -> score and space of n variables
PROBLEMS = {
    "bge": lambda n: (
        BGe().fit(gaussian_data(0, 60, n)),
        make_space(n, extended=False),
    ),
    "bde levels": lambda n: (
        BDe().fit(discrete_data(5, 150, [2, 8, 3, 5, 4][:n])),
        make_space(n, extended=False),
    ),
    "bic, many rows": lambda n: (
        GaussianBIC().fit(gaussian_data(1, 20_000, n, 1.5)),
        make_space(n, extended=False),
    ),
    "categorical bic": lambda n: (
        CategoricalBIC().fit(discrete_data(4, 300, [2] * n)),
        make_space(n, extended=False),
    ),
    "sparse": lambda n: (
        BGe().fit(gaussian_data(2, 60, n)),
        make_space(n, permitted=sparse(n, 0), extended=False),
    ),
    "constraints": lambda n: (
        BGe().fit(gaussian_data(3, 500, n, 2.0)),
        make_space(
            n,
            required=[(0, 1), (1, 3)],
            forbidden=[(2, 0), (1, 2)],
            extended=False,
        ),
    ),
    # two blocks of two, edges between them one way
    "tiers": lambda n: (
        BGe().fit(gaussian_data(3, 40, n)),
        make_space(
            n,
            forbidden=itertools.product(range(2, n), range(2)),
            extended=False,
        ),
    ),
    "apart": lambda n: (
        BGe().fit(gaussian_data(4, 40, n)),
        make_space(
            n,
            forbidden=[
                (i, j) for i in range(n) for j in range(n) if (i < 2) != (j < 2)
            ],
            extended=False,
        ),
    ),
    "hundreds of nats": lambda n: (
        MadeUpScore(spread=100.0).fit(no_rows(n)),
        make_space(n, extended=False),
    ),
    # a thousand nats for parents 0 or 1, which most may not have
    "against the data": lambda n: (
        MadeUpScore(bonus=1000.0).fit(no_rows(n)),
        make_space(n, forbidden=[(0, 2), (1, 2), (0, 3)], extended=False),
    ),
}


@cache
def dags_and_orders(n):
    """All DAGs, and how many orders each of them fits."""
    dags = all_dags(n)
    counts = np.zeros(len(dags))
    for order in itertools.permutations(range(n)):
        place = np.argsort(order)
        counts += ~(dags & (place[:, None] > place)).any(axis=(1, 2))
    return dags, counts


def enumerated(score, space, posterior):
    """All DAGs, their probabilities and log scores."""
    dags, n_orders = dags_and_orders(space.n_features)
    tables = build_tables(score, space)
    probabilities, log_scores = dag_posterior(tables, dags)
    if posterior == ORDER_WEIGHTED:
        weights = log_scores + np.log(n_orders)
        probabilities = np.exp(weights - logsumexp(weights))
    return dags, probabilities, log_scores


@pytest.mark.parametrize("posterior", POSTERIORS)
@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("n", [4, 5])
def test_edge_probabilities_are_those_of_all_dags(problem, n, posterior):
    score, space = PROBLEMS[problem](n)
    dags, probabilities, _ = enumerated(score, space, posterior)
    exact = exact_posterior(score, space, posterior, np.random.default_rng(0), 1)
    expected = np.tensordot(probabilities, dags, axes=1)
    # enumeration itself has log scores in the thousands, with errors of 1e-12
    assert_allclose(exact.probabilities, expected, atol=1e-11)


@pytest.mark.parametrize("problem", PROBLEMS)
def test_best_dag_is_the_best_of_all(problem):
    score, space = PROBLEMS[problem](5)
    dags, _, log_scores = enumerated(score, space, OVER_DAGS)
    best = find_best_dag(score, space)
    assert space.contains(best)
    assert np.isclose(score.dag_score(best), log_scores.max(), rtol=1e-13)
    assert dags[log_scores.argmax()].shape == best.shape


@pytest.mark.parametrize("posterior", POSTERIORS)
@pytest.mark.parametrize("problem", ["bge", "bde levels", "constraints", "tiers"])
def test_draws_have_the_probabilities_of_dags(problem, posterior):
    score, space = PROBLEMS[problem](4)
    dags, probabilities, _ = enumerated(score, space, posterior)
    draws = exact_posterior(
        score, space, posterior, np.random.default_rng(1), 20_000
    ).dags
    number = {dag.tobytes(): d for d, dag in enumerate(dags)}
    drawn = np.array([number[dag.tobytes()] for dag in draws])
    counts = np.bincount(drawn, minlength=len(dags))
    expected = probabilities * len(draws)
    common = expected > 5
    # chi-square of independent draws, with the rare DAGs as one cell
    cells = np.append(counts[common], counts[~common].sum())
    means = np.append(expected[common], max(expected[~common].sum(), 1e-9))
    statistic = np.sum((cells - means)[means > 5] ** 2 / means[means > 5])
    freedom = np.sum(means > 5) - 1
    assert statistic < freedom + 4 * np.sqrt(2 * freedom)  # four standard deviations
    assert counts[probabilities == 0].sum() == 0


# Sums in whole numbers: no rounding, so that inclusion and exclusion cancels exactly


def in_whole_numbers(score, n):
    """Weights of all parent sets, times a power of two, as whole numbers."""
    weights = []
    for node in range(n):
        others = [i for i in range(n) if i != node]
        by_set = {}
        for size in range(n):
            for parents in itertools.combinations(others, size):
                mask = sum(1 << i for i in parents)
                by_set[mask] = score.local_score(node, parents)
        top, low = max(by_set.values()), min(by_set.values())
        bits = 60 + int((top - low) / np.log(2))
        scaled = {}
        for mask, log_score in by_set.items():
            whole, rest = divmod((log_score - top) / np.log(2), 1)
            scaled[mask] = int(2.0 ** (rest + 52)) << (bits + int(whole) - 52)
        weights.append(scaled)
    return weights


def sum_over_sinks(weights, n):
    """Weight of all DAGs by inclusion and exclusion over sinks (Tian & He 2009)."""
    sums = []
    for node in range(n):
        of_node = [weights[node].get(mask, 0) for mask in range(1 << n)]
        for bit in range(n):
            for mask in range(1 << n):
                if mask >> bit & 1:
                    of_node[mask] += of_node[mask ^ (1 << bit)]
        sums.append(of_node)
    of_set = [1]
    for mask in range(1, 1 << n):
        total, sinks = 0, mask
        while sinks:
            rest = mask ^ sinks
            term = of_set[rest]
            for node in range(n):
                if sinks >> node & 1:
                    term *= sums[node][rest]
            total += term if sinks.bit_count() % 2 else -term
            sinks = (sinks - 1) & mask
        of_set.append(total)
    return of_set[-1]


@pytest.mark.slow
@pytest.mark.parametrize(("n_samples", "seed"), [(100, 0), (3000, 1)])
def test_eight_variables_against_sums_in_whole_numbers(n_samples, seed):
    n = 8
    X = make_gaussian_network(n_samples, n, random_state=seed).data
    score = BGe().fit(X)
    exact = ExactStructure(n_draws=1, score=BGe()).fit(X).adjacency_probabilities_
    weights = in_whole_numbers(score, n)
    everything = sum_over_sinks(weights, n)
    for child, parent in [(0, 1), (3, 5), (7, 2), (4, 6)]:
        without = list(weights)
        without[child] = {
            mask: weight
            for mask, weight in weights[child].items()
            if not mask >> parent & 1
        }
        part = everything - sum_over_sinks(without, n)
        expected = part * 10**15 // everything / 1e15
        assert abs(exact[parent, child] - expected) < 1e-11


@pytest.mark.slow
def test_twelve_variables_against_layers_and_chains():
    # with data that leave much open, a sampler of DAGs agrees within its error
    X = make_gaussian_network(60, 12, random_state=3).data
    exact = ExactStructure(n_draws=4000, random_state=0).fit(X)
    sampled = PartitionMCMCStructure(random_state=0, n_draws=2000).fit(X)
    assert_same_posterior(exact.dag_samples_[:], exact.adjacency_probabilities_)
    difference = np.abs(
        sampled.adjacency_probabilities_ - exact.adjacency_probabilities_
    )
    # 8000 draws, of which at least 400 count as independent: five standard errors
    assert difference.max() < 5 * 0.5 / np.sqrt(400)
    assert sampled.log_score_ <= exact.log_score_ + 1e-9


@pytest.mark.parametrize(
    ("posterior", "kind"), [(OVER_DAGS, "dag"), (ORDER_WEIGHTED, "order")]
)
@pytest.mark.parametrize(
    ("name", "score", "dtype"),
    [
        ("gauss5", BGe(alpha_mu=1.0, edge_penalty=1.0, prior="paper"), float),
        ("cancer300", BDe(edge_penalty=1.0), int),
    ],
)
def test_reference_values(name, score, dtype, posterior, kind):
    X = read_data(name, dtype)
    model = ExactStructure(score=score, posterior=posterior, n_draws=1).fit(X)
    expected = read_exact_posterior(name, kind)
    assert_allclose(model.adjacency_probabilities_, expected, atol=2e-6)
    assert model.posterior_ == posterior


def test_order_posterior_of_ten_variables_by_chains_of_maxima():
    # the best DAG of all orders: no order's best DAG is better
    rng = np.random.default_rng(0)
    X = make_gaussian_network(300, 10, random_state=0).data
    score, space = BGe().fit(X), make_space(10, extended=False)
    tables = build_tables(score, space, maxima=True)
    best = score.dag_score(find_best_dag(score, space))
    found = [score.dag_score(tables.best_dag(rng.permutation(10))) for _ in range(200)]
    assert best >= max(found) - 1e-9


# The estimator


@pytest.fixture(scope="module")
def X():
    return gaussian_data(0, 80, 5)


def test_attributes(X):
    model = ExactStructure(random_state=0).fit(X)
    assert model.posterior_ == "over DAGs"
    assert model.log_score_ == model.score_.dag_score(model.adjacency_)
    assert (model.log_score_trace_ <= model.log_score_ + 1e-9).all()
    assert model.log_score_trace_.shape == (1, 500)
    assert_allclose(
        model.log_score_trace_[0, :20],
        [model.score_.dag_score(dag) for dag in model.dag_samples_[:20]],
    )
    assert len(model.dag_samples_) == 500
    assert_array_equal(model.search_space_, ~np.eye(5, dtype=bool))
    assert_array_equal(
        model.edge_probabilities("skeleton"),
        model.adjacency_probabilities_ + model.adjacency_probabilities_.T,
    )
    assert_array_equal(model.edge_probabilities(), model.adjacency_probabilities_)
    drawn = model.edge_probabilities("cpdag")
    assert (drawn >= model.dag_samples_[:].mean(axis=0) - 1e-12).all()
    assert model.score_samples(X).shape == (80,)
    assert model.predict(X).shape == X.shape
    assert model.sample(3, random_state=0).shape == (3, 5)


def test_best_dag_alone(X):
    model = ExactStructure(posterior="best DAG alone").fit(X)
    whole = ExactStructure(random_state=0).fit(X)
    assert_array_equal(model.adjacency_, whole.adjacency_)
    assert_array_equal(model.adjacency_probabilities_, model.cpdag_)
    assert_array_equal(model.dag_samples_[0], model.adjacency_)
    assert_array_equal(
        model.edge_probabilities("skeleton"),
        (model.cpdag_ > 0) * 1.0 + (model.cpdag_.T & ~model.cpdag_),
    )


def test_seed_and_threads(X):
    model = ExactStructure(random_state=0).fit(X)
    same = ExactStructure(random_state=0, n_jobs=2).fit(X)
    other = ExactStructure(random_state=1).fit(X)
    assert_array_equal(model.dag_samples_.packed, same.dag_samples_.packed)
    assert not np.array_equal(model.dag_samples_.packed, other.dag_samples_.packed)
    assert_array_equal(model.adjacency_probabilities_, other.adjacency_probabilities_)


def test_order_of_columns(X):
    turned = ExactStructure().fit(X[:, ::-1]).adjacency_probabilities_
    assert_allclose(
        turned[::-1, ::-1], ExactStructure().fit(X).adjacency_probabilities_, atol=1e-12
    )


def test_weights_are_repeats(X):
    weights = np.arange(len(X)) % 3
    weighted = ExactStructure().fit(X, sample_weight=weights)
    repeated = ExactStructure().fit(np.repeat(X, weights, axis=0))
    assert_allclose(
        weighted.adjacency_probabilities_,
        repeated.adjacency_probabilities_,
        atol=1e-10,
    )


def test_frames_constraints_and_names(X):
    frame = pd.DataFrame(X, columns=list("abcde"))
    model = ExactStructure(
        required_edges=[("a", "b")],
        forbidden_edges=[("c", "d")],
        tiers=[["a", "b", "c"], ["d", "e"]],
        random_state=0,
    ).fit(frame)
    probabilities = model.adjacency_probabilities_
    assert np.isclose(probabilities[0, 1], 1.0)
    assert probabilities[2, 3] == 0.0
    assert (probabilities[3:, :3] == 0.0).all()
    assert model.adjacency_[0, 1]
    assert model.dag_samples_[:][:, 0, 1].all()
    assert list(model.to_networkx()) == list("abcde")
    assert list(model.sample(2, random_state=0).columns) == list("abcde")


def test_search_spaces(X):
    permitted = sparse(5, 3)
    np.fill_diagonal(permitted, False)
    with pytest.warns(UserWarning, match="the 2 strongest are kept"):
        model = ExactStructure(search_space=permitted, max_parents=2).fit(X)
    assert (model.search_space_ <= permitted).all()
    assert (model.adjacency_probabilities_[~permitted] == 0).all()
    pc = ExactStructure(search_space="pc", alpha=0.05).fit(X)
    assert (pc.adjacency_ <= pc.search_space_).all()


def test_clone_pickle_and_grid(X):
    model = ExactStructure(score=BGe(), random_state=0).fit(X)
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.score_samples(X), model.score_samples(X))
    assert clone(model).get_params()["posterior"] == "over DAGs"
    grid = GridSearchCV(
        ExactStructure(score=BGe(), n_draws=20, random_state=0),
        {"score__alpha_mu": [0.5, 1.0]},
        cv=2,
    ).fit(X)
    assert grid.best_params_["score__alpha_mu"] in (0.5, 1.0)


def test_parameters_are_checked():
    check_param_validation("ExactStructure", ExactStructure())


def test_one_variable():
    model = ExactStructure(random_state=0).fit(gaussian_data(0, 20, 2)[:, :1])
    assert_array_equal(model.adjacency_probabilities_, [[0.0]])


def test_blocks_make_many_variables_affordable():
    # ten tiers of four: 40 variables, of which four at a time may be in a cycle
    X = make_gaussian_network(200, 40, random_state=0).data
    tiers = [list(range(k, k + 4)) for k in range(0, 40, 4)]
    model = ExactStructure(
        tiers=tiers, search_space="pc", max_parents=8, alpha=0.01, random_state=0
    ).fit(X)
    assert_same_posterior(model.dag_samples_[:], model.adjacency_probabilities_)


def test_blocks():
    space = make_space(4, forbidden=itertools.product([2, 3], [0, 1]), extended=False)
    assert [list(b) for b in blocks_of(space, OVER_DAGS)] == [[2, 3], [0, 1]]
    assert [list(b) for b in blocks_of(space, ORDER_WEIGHTED)] == [[0, 1, 2, 3]]


@pytest.mark.parametrize("posterior", [*POSTERIORS, "best DAG alone"])
def test_too_many_variables(posterior):
    X = np.random.default_rng(0).normal(size=(50, 40))
    with pytest.raises(MemoryError, match="40 variables that may all be ancestors"):
        ExactStructure(posterior=posterior).fit(X)


def test_memory_limit_and_what_would_help(X):
    with pytest.raises(MemoryError, match=r"posterior='order-weighted'"):
        ExactStructure(memory_limit=7000).fit(X)
    ExactStructure(memory_limit=1e6).fit(X)


def test_samplers_start_from_the_best_dag(X):
    exact = ExactStructure(posterior="best DAG alone").fit(X)
    model = quick(PartitionMCMCStructure, search_space=FrozenEstimator(exact)).fit(X)
    assert_array_equal(model.search_space_, exact.search_space_)
    assert model.log_score_ == exact.log_score_


def test_what_else_takes_a_fitted_estimator(X):
    model = ExactStructure(random_state=0).fit(X)
    effects = causal_effects(model, random_state=0)
    assert effects.mean.shape == (5, 5)
    drawn = edge_diagnostics(model)["probability"]
    assert_allclose(drawn, model.dag_samples_[:].mean(axis=0))
    selector = MarkovBlanketSelector(ExactStructure(n_draws=50, random_state=0))
    assert selector.fit(X[:, 1:], X[:, 0]).get_support().shape == (4,)
    GraphDisplay.from_estimator(model)
    EdgeProbabilityDisplay.from_estimator(model)
    plt.close("all")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_control_c():
    script = """
        import sys, time
        import numpy as np
        from skbidag import ExactStructure
        from skbidag import _dynamic_programming as programming
        sums = programming.layer_sums
        def announced(layers):
            print("begun")
            return sums(layers)
        programming.layer_sums = announced
        X = np.random.default_rng(0).normal(size=(50, 17))
        try:
            ExactStructure().fit(X)
        except KeyboardInterrupt:
            print(time.process_time(), file=sys.stderr)
    """
    with python_process(script) as process:
        assert process.stdout.readline() == "begun\n"
        assert control_c(process) < 2.0  # of some twenty seconds
