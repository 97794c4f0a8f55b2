"""Edges as a table, their effects, the summary, and labelled matrices."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError

from helpers import graph, quick, random_dag
from skbidag import (
    ExactStructure,
    IterativeSearchStructure,
    OrderMCMCStructure,
    PartitionMCMCStructure,
)
from skbidag._edge_effects import direct_effects
from skbidag._posterior import DAGSamples
from skbidag.datasets import load_asia, make_gaussian_network
from skbidag.diagnostics import edge_diagnostics
from skbidag.scores import BDe, BGe, ConditionalGaussian, GaussianBIC

COLUMNS = [
    "parent",
    "child",
    "probability",
    "error",
    "rhat",
    "effect",
    "either_direction",
    "in_best_dag",
]


def samples_of(*dags):
    return DAGSamples(np.packbits(np.array(dags)[None], axis=-1))


@pytest.fixture(scope="module")
def gaussian():
    X = make_gaussian_network(200, 6, random_state=0).data
    frame = pd.DataFrame(X, columns=list("abcdef"))
    return quick(PartitionMCMCStructure, n_iter=80_000, n_draws=200).fit(frame)


# --------------------------------------------------------------------------- frame


def test_a_frame_has_every_edge_that_was_seen(gaussian):
    frame = gaussian.edges_frame()
    assert list(frame.columns) == COLUMNS
    diagnostics = edge_diagnostics(gaussian)
    seen = (diagnostics.probability > 0) | gaussian.adjacency_
    assert len(frame) == seen.sum()
    place = {name: i for i, name in enumerate("abcdef")}
    ends = frame["parent"].map(place).to_numpy(), frame["child"].map(place).to_numpy()
    assert_array_equal(frame["probability"], diagnostics.probability[ends])
    assert_array_equal(frame["error"], diagnostics.mcse[ends])
    assert_array_equal(frame["rhat"], diagnostics.rhat[ends])
    assert_array_equal(frame["in_best_dag"], gaussian.adjacency_[ends])
    either = gaussian.edge_probabilities("skeleton")
    assert_array_equal(frame["either_direction"], either[ends])
    assert (np.diff(frame["probability"]) <= 0).all()
    assert frame["effect"].notna().all()


def test_the_library_of_the_data():
    X = make_gaussian_network(60, 3, random_state=0).data
    frame = quick().fit(pl.DataFrame(X, schema=list("abc"))).edges_frame()
    assert isinstance(frame, pl.DataFrame)
    assert frame.columns == COLUMNS
    frame = quick().fit(X).edges_frame()
    assert isinstance(frame, pd.DataFrame)
    assert set(frame["parent"]) <= {0, 1, 2}


def test_no_edges_at_all():
    X = np.random.default_rng(0).normal(size=(50, 3))
    model = quick(search_space=np.zeros((3, 3)), extra_parent=False).fit(X)
    frame = model.edges_frame()
    assert list(frame.columns) == COLUMNS
    assert len(frame) == 0
    assert "No edge was seen." in str(model.summary())


def test_exact_probabilities_have_no_error():
    X = make_gaussian_network(100, 4, random_state=0).data
    model = ExactStructure(random_state=0).fit(X)
    frame = model.edges_frame()
    assert (frame["error"] == 0).all()
    assert frame["rhat"].isna().all()
    ends = frame["parent"].to_numpy(), frame["child"].to_numpy()
    assert_array_equal(frame["probability"], model.adjacency_probabilities_[ends])
    assert model.summary().converged is None


def test_not_fitted():
    for ask in (
        lambda model: model.edges_frame(),
        lambda model: model.summary(),
        lambda model: model.parameters(),
        lambda model: model.query(0),
        lambda model: model.export("dagitty"),
    ):
        with pytest.raises(NotFittedError):
            ask(OrderMCMCStructure())


def test_matrices_with_names(gaussian):
    frame = gaussian.edge_probabilities(as_frame=True)
    assert list(frame.index) == list(frame.columns) == list("abcdef")
    assert (frame.index.name, frame.columns.name) == ("parent", "child")
    assert_array_equal(frame, gaussian.adjacency_probabilities_)
    frame = gaussian.consensus_graph(0.3, "skeleton", as_frame=True)
    assert_array_equal(frame, gaussian.consensus_graph(0.3, "skeleton"))
    assert frame.loc["a", "b"] == frame.loc["b", "a"]


def test_networkx_has_the_same_numbers(gaussian):
    frame = gaussian.edges_frame()
    network = gaussian.to_networkx()
    best = frame[frame["in_best_dag"]]
    assert set(network.edges) == set(zip(best["parent"], best["child"], strict=True))
    for _, row in best.iterrows():
        attributes = network.edges[row["parent"], row["child"]]
        for name in ("probability", "error", "rhat", "effect"):
            assert attributes[name] == row[name]


# ------------------------------------------------------------------------- effects


def test_linear_effects_are_averaged_over_dags_with_the_edge():
    rng = np.random.default_rng(0)
    score = BGe().fit(rng.normal(size=(60, 5)) @ rng.normal(size=(5, 5)))
    dags = [random_dag(rng, 5, 0.5) for _ in range(7)]
    dags += dags[:3]
    expected = np.full((10, 5, 5), np.nan)
    for of_dag, dag in zip(expected, dags, strict=True):
        for node in range(5):
            parents = np.flatnonzero(dag[:, node])
            of_dag[parents, node] = score.regression(node, parents)[0]
    seen = np.any(dags, axis=0)
    effects = direct_effects(score, samples_of(*dags))
    assert_array_equal(np.isfinite(effects), seen)
    assert_allclose(effects[seen], np.nanmean(expected[:, seen], axis=0))


def test_change_of_a_probability():
    """Two binary parents: differences within what the other is, by its rows."""
    rng = np.random.default_rng(1)
    X = rng.integers(2, size=(300, 3))
    X[:, 2] = rng.random(300) < 0.2 + 0.5 * X[:, 0] - 0.1 * X[:, 1]
    score = BDe(equivalent_sample_size=1e-9).fit(X)
    effects = direct_effects(score, samples_of(graph(3, (0, 2), (1, 2))))
    expected = 0.0
    for other in (0, 1):
        rows = X[X[:, 1] == other]
        change = rows[rows[:, 0] == 1, 2].mean() - rows[rows[:, 0] == 0, 2].mean()
        expected += change * len(rows) / 300
    assert_allclose(effects[0, 2], expected, atol=1e-6)
    assert effects[0, 2] > 0.3
    assert_array_equal(np.isfinite(effects), graph(3, (0, 2), (1, 2)))


def test_what_no_number_tells():
    rng = np.random.default_rng(2)
    X = np.column_stack([rng.integers(3, size=50), rng.integers(2, size=(50, 2))])
    dag = graph(3, (0, 1), (1, 2))
    effects = direct_effects(BDe().fit(X), samples_of(dag))
    assert np.isnan(effects[0, 1])
    assert np.isfinite(effects[1, 2])
    effects = direct_effects(
        GaussianBIC().fit(rng.normal(size=(50, 3))), samples_of(dag)
    )
    assert np.isnan(effects).all()


def test_effects_in_mixed_data():
    rng = np.random.default_rng(3)
    group, x = rng.integers(2, size=4000), rng.normal(size=4000)
    y = 2 * group + np.where(group, 1.0, 3.0) * x + 0.1 * rng.normal(size=4000)
    sex = (rng.random(4000) < 0.3 + 0.4 * group).astype(int)
    X = np.column_stack([group, x, y, sex])
    score = ConditionalGaussian(categorical_features=[0, 3]).fit(X)
    dag = graph(4, (0, 2), (1, 2), (0, 3))
    effects = direct_effects(score, samples_of(dag))
    # errors of some hundredths, from the shares of the groups and from noise
    assert_allclose(effects[0, 2], 2.0, atol=0.05)
    assert_allclose(effects[1, 2], 2.0, atol=0.05)
    assert_allclose(effects[0, 3], 0.4, atol=0.05)
    assert_array_equal(np.isfinite(effects), dag)
    # a number that is a cause of a category has no such effect
    effects = direct_effects(score, samples_of(graph(4, (1, 0))))
    assert np.isnan(effects).all()


# ------------------------------------------------------------------------- summary


def test_a_summary_says_what_was_fitted(gaussian):
    summary = gaussian.summary()
    text = str(summary)
    assert text == repr(summary)
    assert text.startswith("PartitionMCMCStructure: 6 continuous variables, BGe\n")
    assert "over DAGs" in text
    assert "2 chains of 200 DAGs" in text
    assert f"Best DAG:  {gaussian.adjacency_.sum()} edges" in text
    first = gaussian.edges_frame().iloc[0]
    assert f"{first['parent']} -> {first['child']}" in text
    assert summary.converged == gaussian.converged_
    assert len(summary.edges) == len(gaussian.edges_frame())


@pytest.mark.filterwarnings("ignore:The chains:sklearn.exceptions.ConvergenceWarning")
def test_a_summary_says_that_chains_disagree():
    X = make_gaussian_network(100, 12, random_state=1).data
    model = quick(n_iter=300, n_draws=60, search_space="full").fit(X)
    assert not model.converged_
    assert "Converged: NO" in str(model.summary())


def test_a_summary_of_mixed_kinds_and_of_a_power():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {"a": rng.normal(size=60), "b": rng.integers(2, size=60).astype(bool)}
    )
    model = quick(power=0.5).fit(X)
    text = str(model.summary())
    assert "1 categorical and 1 continuous variables, ConditionalGaussian" in text
    assert "to the power 0.5" in text


@pytest.mark.parametrize("posterior", ["over DAGs", "order-weighted", "best DAG alone"])
def test_a_summary_of_every_posterior(posterior):
    asia = load_asia(as_frame=True).data.iloc[:, :4]
    model = ExactStructure(posterior=posterior, random_state=0).fit(asia)
    assert f"Posterior: {posterior} (" in str(model.summary())
    model = quick(IterativeSearchStructure).fit(asia)
    assert f"Posterior: {model.posterior_} (" in str(model.summary())
