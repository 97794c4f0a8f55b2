"""Diagnostics against naive twins, closed forms and enumeration."""

import sys
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import ndtri
from scipy.stats import rankdata
from sklearn.exceptions import NotFittedError

from skbidag import OrderMCMCStructure
from skbidag._posterior import DAGSamples
from skbidag.datasets import make_gaussian_network
from skbidag.diagnostics import (
    chain_edge_probabilities,
    concordance,
    edge_diagnostics,
    ess,
    feature_probability,
    mcse,
    rhat,
    to_arviz,
    to_inference_dict,
    top_cpdags,
)
from skbidag.graphs import (
    ancestor_matrix,
    ancestors,
    has_path,
    has_v_structure,
    markov_blanket,
    markov_blanket_matrix,
    skeleton,
    to_cpdag,
    v_structure_matrix,
    v_structures,
)


@pytest.fixture(scope="module")
def model():
    X = make_gaussian_network(60, 7, random_state=1).data
    return OrderMCMCStructure(n_chains=3, n_draws=80, random_state=0).fit(X)


@pytest.fixture(scope="module")
def draws(model):
    """The sampled DAGs, unpacked: (chain, draw, parent, child)."""
    return model.dag_samples_[:].reshape(3, 80, 7, 7)


def autoregressive(rng, shape, coefficient):
    """Stationary AR(1) chains with variance 1."""
    x = rng.normal(size=shape)
    for t in range(1, shape[1]):
        x[:, t] = coefficient * x[:, t - 1] + np.sqrt(1 - coefficient**2) * x[:, t]
    return x


# ------------------------------------------------------------------------ R-hat


def naive_split_rhat(draws):
    half = draws.shape[1] // 2
    halves = np.concatenate([draws[:, :half], draws[:, -half:]])
    between = half * halves.mean(axis=1).var(ddof=1)
    within = halves.var(axis=1, ddof=1).mean()
    return np.sqrt(((half - 1) / half * within + between / half) / within)


def naive_rank(draws):
    ranks = rankdata(draws.ravel()).reshape(draws.shape)
    return ndtri((ranks - 3 / 8) / (draws.size + 1 / 4))


@pytest.mark.parametrize("n_draws", [20, 21])
def test_rhat_against_its_definition(n_draws):
    rng = np.random.default_rng(0)
    draws = rng.standard_t(3, size=(3, n_draws)) + np.array([[0.0], [0.5], [0.0]])
    assert rhat(draws, method="split") == pytest.approx(naive_split_rhat(draws))
    if n_draws % 2 == 0:
        folded = np.abs(draws - np.median(draws))
        expected = max(
            naive_split_rhat(naive_rank(draws)), naive_split_rhat(naive_rank(folded))
        )
        assert rhat(draws) == pytest.approx(expected)
    assert type(rhat(draws)) is float


@pytest.mark.parametrize("method", ["rank", "split"])
def test_rhat_of_constants_and_short_chains(method):
    assert rhat(np.full((2, 20), -3.3), method) == 1.0
    each_its_own = np.repeat([[0.0], [1.0]], 20, axis=1)
    assert rhat(each_its_own, method) == np.inf
    assert np.isnan(rhat(np.zeros((2, 3)), method))
    assert np.isnan(rhat(np.zeros((4, 0)), method))


def test_rank_normalized_rhat_sees_what_means_do_not():
    rng = np.random.default_rng(0)
    spread = rng.normal(size=(4, 500)) * np.array([[1.0], [1.0], [1.0], [5.0]])
    assert rhat(spread, method="split") < 1.02
    assert rhat(spread) > 1.1
    heavy = rng.standard_cauchy(size=(4, 500))
    heavy[3] += 20
    assert rhat(heavy) > 1.3


def test_many_quantities_at_once():
    rng = np.random.default_rng(0)
    draws = rng.normal(size=(3, 41, 2, 5)).cumsum(axis=1)
    for function in (rhat, ess, mcse):
        values = function(draws)
        assert values.shape == (2, 5)
        assert values[1, 3] == pytest.approx(function(draws[:, :, 1, 3]))


def test_draws_are_validated():
    with pytest.raises(ValueError, match=r"shape \(n_chains, n_draws, ...\)"):
        rhat([1.0, 2.0])
    with pytest.raises(ValueError, match="finite"):
        ess(np.full((2, 10), np.nan))


# -------------------------------------------------------------------------- ESS


def naive_ess(draws):
    """Geyer's initial monotone sequence, term by term."""
    half = draws.shape[1] // 2
    chains = np.concatenate([draws[:, :half], draws[:, -half:]])
    m, n = chains.shape
    centered = chains - chains.mean(axis=1, keepdims=True)
    autocovariance = [
        np.mean([c[: n - t] @ c[t:] / n for c in centered]) for t in range(n)
    ]
    within = autocovariance[0] * n / (n - 1)
    plus = autocovariance[0] + chains.mean(axis=1).var(ddof=1)
    rho = [1.0] + [1 - (within - a) / plus for a in autocovariance[1:]]
    total, smallest, t = 0.0, np.inf, 0
    while t < 2 * max(1, (n - 3) // 2):
        pair = rho[t] + rho[t + 1]
        if t > 0 and pair < 0:
            break
        smallest = min(smallest, pair)
        total += smallest
        t += 2
    tau = 2 * total - 1 + max(rho[min(t, n - 1)], 0)
    return m * n / max(tau, 1 / np.log10(m * n))


@pytest.mark.parametrize("coefficient", [-0.4, 0.0, 0.5, 0.95])
@pytest.mark.parametrize("shape", [(1, 50), (4, 101), (3, 8), (2, 5), (2, 4)])
def test_ess_against_its_definition(coefficient, shape):
    draws = autoregressive(np.random.default_rng(0), shape, coefficient)
    assert ess(draws, method="mean") == pytest.approx(naive_ess(draws))
    if shape[1] % 2 == 0:
        assert ess(draws) == pytest.approx(naive_ess(naive_rank(draws)))


@pytest.mark.parametrize("coefficient", [-0.3, 0.0, 0.6, 0.9])
def test_ess_of_autoregressive_chains(coefficient):
    draws = autoregressive(np.random.default_rng(1), (4, 20_000), coefficient)
    exact = 80_000 * (1 - coefficient) / (1 + coefficient)
    # the estimate's relative error is about sqrt(2 * 2 W / 80000), for a sum over a
    # window of W lags, which for 0.9 is about 60: below 6 % there, 3 of these is 18 %
    assert ess(draws, method="mean") == pytest.approx(exact, rel=0.15)
    assert ess(draws) == pytest.approx(exact, rel=0.15)


def test_ess_does_not_depend_on_blocks(monkeypatch):
    draws = np.random.default_rng(0).normal(size=(2, 30, 9)).cumsum(axis=1)
    whole = ess(draws)
    monkeypatch.setattr("skbidag.diagnostics.BLOCK_BYTES", 1)
    assert_allclose(ess(draws), whole, rtol=1e-12)


def test_constants_have_no_ess_and_no_error():
    constant = np.full((2, 20), 0.1)
    assert np.isnan(ess(constant))
    assert mcse(constant) == 0
    assert np.isnan(ess(np.zeros((4, 3))))
    assert np.isnan(mcse(np.zeros((4, 3))))


def test_what_only_the_middle_draw_has():
    draws = np.zeros((2, 21))
    draws[0, 10] = 1  # halves are without it
    p = 1 / 42
    assert mcse(draws) == pytest.approx(np.sqrt(p * (1 - p) / 41))


def test_mcse_of_independent_bernoulli_draws():
    rng = np.random.default_rng(0)
    draws = rng.random((4, 2500, 3)) < np.array([0.5, 0.1, 0.02])
    p = draws.mean(axis=(0, 1))
    # the effective sample size of independent draws is known to about 4 %
    assert_allclose(mcse(draws), np.sqrt(p * (1 - p) / 10_000), rtol=0.1)


def test_mcse_is_the_spread_of_means_over_runs():
    rng = np.random.default_rng(0)
    runs = [autoregressive(rng, (4, 400), 0.7) for _ in range(200)]
    spread = np.std([run.mean() for run in runs])
    # a standard deviation from 200 runs has a relative error of 1 / sqrt(400) = 5 %
    assert np.mean([mcse(run) for run in runs]) == pytest.approx(spread, rel=0.15)


# ------------------------------------------------------------------------ edges


@pytest.mark.parametrize("kind", ["dag", "cpdag", "skeleton"])
def test_edge_diagnostics(model, draws, kind):
    if kind == "cpdag":
        draws = np.array([[to_cpdag(A) for A in chain] for chain in draws])
    elif kind == "skeleton":
        draws = np.array([[skeleton(A) for A in chain] for chain in draws])
    result = edge_diagnostics(model, kind)
    assert_allclose(result.probability, draws.mean(axis=(0, 1)))
    assert_allclose(result.probability, model.edge_probabilities(kind))
    assert_allclose(result.mcse, mcse(draws), rtol=1e-10)
    assert_allclose(result.ess, ess(draws, method="mean"), rtol=1e-10)
    assert_allclose(result.rhat, rhat(draws, method="split"))
    assert_allclose(chain_edge_probabilities(model, kind), draws.mean(axis=1))
    assert np.isnan(result.ess.diagonal()).all()
    assert (result.mcse.diagonal() == 0).all()


def test_estimators_must_be_fitted():
    for function in (edge_diagnostics, top_cpdags, to_inference_dict):
        with pytest.raises(NotFittedError):
            function(OrderMCMCStructure())


@pytest.mark.parametrize("least", [None, 0.05, 0.5])
def test_concordance(model, least):
    probabilities = chain_edge_probabilities(model)
    result = concordance(probabilities, least)
    counts = ~np.eye(7, dtype=bool)
    if least is not None:
        counts &= probabilities.max(axis=0) > least
    assert result.n_edges == counts.sum()
    x, y = probabilities[0][counts], probabilities[2][counts]
    assert result.r2[0, 2] == pytest.approx(np.corrcoef(x, y)[0, 1] ** 2)
    assert result.rmsd[0, 2] == pytest.approx(np.sqrt(np.mean((x - y) ** 2)))
    assert_allclose(result.r2, result.r2.T)
    assert_allclose(result.r2.diagonal(), 1)
    assert_allclose(result.rmsd.diagonal(), 0)


def test_improbable_edges_do_not_count_as_agreement():
    probabilities = np.full((2, 6, 6), 0.01)
    probabilities[:, 0, 1:4] = [[0.9, 0.2, 0.5], [0.8, 0.6, 0.2]]
    assert concordance(probabilities).n_edges == 3
    assert concordance(probabilities).r2[0, 1] < 0.5
    assert concordance(probabilities, None).r2[0, 1] > 0.6


def test_concordance_of_nothing():
    nothing = concordance(np.zeros((2, 4, 4)))
    assert np.isnan(nothing.r2).all()
    assert np.isnan(nothing.rmsd).all()
    constant = concordance(np.full((2, 4, 4), 0.3))
    assert np.isnan(constant.r2).all()
    assert_allclose(constant.rmsd, 0)
    with pytest.raises(ValueError, match=r"\(n_runs, n_nodes, n_nodes\)"):
        concordance(np.zeros((4, 4)))


# --------------------------------------------------------------------- features


def test_features_of_graphs(draws):
    for A in draws[0, :20]:
        reaches, blankets = ancestor_matrix(A), markov_blanket_matrix(A)
        triples = set(v_structures(A))
        for j in range(7):
            assert_array_equal(np.flatnonzero(reaches[:, j]), ancestors(A, j))
            assert_array_equal(np.flatnonzero(blankets[j]), markov_blanket(A, j))
            pairs = np.argwhere(np.triu(v_structure_matrix(A, j)))
            assert {(i, j, k) for i, k in pairs.tolist()} == {
                triple for triple in triples if triple[1] == j
            }
            assert all(has_path(A, i, j) == reaches[i, j] for i in range(7))
        for i, k, j in triples:
            assert has_v_structure(A, i, k, j)
            assert has_v_structure(A, j, k, i)
            assert not has_v_structure(A, i, j, k)


def test_feature_probability(model, draws):
    exact = np.array([[ancestor_matrix(A) for A in chain] for chain in draws])
    result = feature_probability(model, ancestor_matrix)
    assert_allclose(result.probability, exact.mean(axis=(0, 1)))
    assert_allclose(result.mcse, mcse(exact), rtol=1e-10)
    assert_allclose(result.ess, ess(exact, method="mean"), rtol=1e-10)

    one = feature_probability(model, has_path, 0, 3)
    assert one.probability == pytest.approx(result.probability[0, 3])
    assert one.mcse == pytest.approx(result.mcse[0, 3])

    edges = feature_probability(model, np.sum)
    counts = draws.sum(axis=(2, 3))
    assert edges.probability == pytest.approx(counts.mean())
    assert edges.mcse == pytest.approx(mcse(counts))


def test_features_by_name(model):
    pd = pytest.importorskip("pandas")
    network = make_gaussian_network(60, 4, random_state=1)
    frame = pd.DataFrame(network.data, columns=list("abcd"))
    named = OrderMCMCStructure(n_draws=20, n_chains=2, random_state=0).fit(frame)
    by_name = feature_probability(named, has_path, "a", "c")
    assert by_name == feature_probability(named, has_path, 0, 2)
    with pytest.raises(ValueError, match="unknown variable: 'z'"):
        feature_probability(named, has_path, "a", "z")
    with pytest.raises(ValueError, match="nodes has the index 4"):
        feature_probability(named, has_path, 0, 4)
    with pytest.raises(ValueError, match="unknown variable: 'a'"):
        feature_probability(model, has_path, "a", 1)
    with pytest.raises(ValueError, match="truth values or numbers"):
        feature_probability(named, lambda A: "yes")
    with pytest.raises(ValueError, match="always of the same shape"):
        feature_probability(named, np.flatnonzero)


def test_every_distinct_dag_is_looked_at_once(model):
    seen = []
    feature_probability(model, lambda A: seen.append(A.tobytes()) or 0.0)
    assert len(seen) == len(set(seen)) == len({A.tobytes() for A in model.dag_samples_})


def test_top_cpdags(model, draws):
    classes = [to_cpdag(A) for A in draws.reshape(-1, 7, 7)]
    counts = Counter(C.tobytes() for C in classes)
    top = top_cpdags(model, k=4)
    assert_array_equal(
        np.round(top.probability * len(classes)),
        [count for _, count in counts.most_common(4)],
    )
    for C, probability, log_score in zip(
        top.cpdags, top.probability, top.log_score, strict=True
    ):
        assert counts[C.tobytes()] == round(probability * len(classes))
        members = [C.tobytes() == other.tobytes() for other in classes]
        # BGe gives equivalent DAGs the same score
        assert_allclose(model.log_score_trace_.ravel()[members], log_score)
        belongs = np.reshape(members, (3, 80))
        error = top.mcse[top.probability == probability]
        assert_allclose(error, mcse(belongs), rtol=0.5)
    is_first = [C.tobytes() == top.cpdags[0].tobytes() for C in classes]
    assert_allclose(top.mcse[0], mcse(np.reshape(is_first, (3, 80))))
    everything = top_cpdags(model, k=10_000)
    assert len(everything.cpdags) == len(counts)
    assert everything.probability.sum() == pytest.approx(1)


# ----------------------------------------------------------------------- export


def test_inference_dict(model, draws):
    groups, labels = to_inference_dict(model)
    assert set(groups) == {"posterior", "sample_stats"}
    assert_array_equal(groups["posterior"]["adjacency"], draws)
    assert_array_equal(groups["posterior"]["n_edges"], draws.sum(axis=(2, 3)))
    assert_array_equal(groups["sample_stats"]["lp"], model.log_score_trace_)
    assert labels["dims"] == {"adjacency": ["parent", "child"]}
    assert labels["coords"]["parent"] == [str(i) for i in range(7)]


@pytest.mark.parametrize("version", ["0.23.4", "1.0.0", "1.3.0rc1"])
def test_arviz_of_either_kind(model, monkeypatch, version):
    """Before 1.0 groups are keywords, from then on one dictionary."""

    def before(*, posterior, sample_stats, dims, coords):
        return {"posterior": posterior, "sample_stats": sample_stats}, dims, coords

    def after(data, *, dims, coords):
        return data, dims, coords

    from_dict = before if version.startswith("0") else after
    stand_in = SimpleNamespace(__version__=version, from_dict=from_dict)
    monkeypatch.setitem(sys.modules, "arviz", stand_in)
    groups, labels = to_inference_dict(model)
    found, dims, coords = to_arviz(model)
    assert {"dims": dims, "coords": coords} == labels
    assert found.keys() == groups.keys()
    adjacency = groups["posterior"]["adjacency"]
    assert_array_equal(found["posterior"]["adjacency"], adjacency)


def test_arviz_is_asked_for(model, monkeypatch):
    monkeypatch.setitem(sys.modules, "arviz", None)
    with pytest.raises(ImportError, match=r"skbidag\[arviz\]"):
        to_arviz(model)


@pytest.mark.filterwarnings("ignore:.*ArviZ is undergoing:FutureWarning")
def test_arviz_itself(model, draws):
    arviz = pytest.importorskip("arviz")
    found = to_arviz(model)
    adjacency = found["posterior"]["adjacency"]
    assert adjacency.dims == ("chain", "draw", "parent", "child")
    assert_array_equal(adjacency, draws)
    assert arviz.rhat(found, var_names=["n_edges"])["n_edges"] < 1.1


def test_diagnostics_need_no_more_than_samples():
    """One draw, as a search without sampling leaves it."""
    A = np.zeros((1, 1, 3, 3), dtype=bool)
    A[0, 0, 0, 1] = True
    one = SimpleNamespace(
        dag_samples_=DAGSamples(np.packbits(A, axis=-1)),
        log_score_trace_=np.zeros((1, 1)),
        n_features_in_=3,
        fit=None,
        __sklearn_is_fitted__=lambda: True,
    )
    one.__sklearn_tags__ = OrderMCMCStructure().__sklearn_tags__
    assert np.isnan(edge_diagnostics(one).mcse).all()
    assert feature_probability(one, has_path, 0, 1).probability == 1
    assert top_cpdags(one).probability.tolist() == [1]
