"""The edges of dynamic networks as a table, their effects, and the summary."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError

from helpers import quick
from skbidag import (
    DynamicStructure,
    ExactStructure,
    IterativeSearchStructure,
    PartitionMCMCStructure,
)
from skbidag._edge_effects import direct_effects
from skbidag.diagnostics import edge_diagnostics

COLUMNS = [
    "network",
    "parent",
    "child",
    "lag",
    "probability",
    "error",
    "rhat",
    "effect",
    "either_direction",
    "in_best_dag",
]


def patients(n_patients=40, n_times=6):
    """Series of two variables, and a treatment with an effect on one of them."""
    rng = np.random.default_rng(0)
    rows = []
    for number in range(n_patients):
        x = np.zeros((n_times, 4))
        x[:, 2], x[:, 3] = number % 2, number
        x[0, :2] = rng.normal(size=2)
        for t in range(1, n_times):
            x[t, 0] = 0.8 * x[t - 1, 0] + x[t, 2] + rng.normal()
            x[t, 1] = 0.8 * x[t - 1, 0] - 0.5 * x[t, 0] + rng.normal()
        rows.append(x)
    return pd.DataFrame(np.vstack(rows), columns=["a", "b", "arm", "who"])


def learner(estimator=None, n_lags=2, **parameters):
    estimator = estimator or quick(PartitionMCMCStructure, n_iter=20_000, n_draws=100)
    return DynamicStructure(
        estimator, n_lags, static=["arm"], series="who", **parameters
    )


@pytest.fixture(scope="module")
def fitted():
    return learner().fit(patients())


def test_every_edge_with_its_lag(fitted):
    frame = fitted.edges_frame()
    assert list(frame.columns) == COLUMNS
    assert set(frame["network"]) == {"transition", "initial"}
    number = {name: k for k, name in enumerate(fitted.variables_)}
    found = fitted.probabilities_
    for row in frame.itertuples():
        lagged, static = found.transition[row.lag], found.static[0]
        if row.network == "initial":
            assert row.lag == 0
            lagged, static = found.initial, found.initial_static[0]
        child = number[row.child]
        if row.parent == "arm":
            assert (row.lag, row.probability) == (0, static[child])
        else:
            assert row.probability == lagged[number[row.parent], child]
    seen = sum(
        (edges > 0).sum()
        for edges in (
            *(found.transition, found.static),
            *(found.initial, found.initial_static),
        )
    )
    assert len(frame) == seen
    for _, part in frame.groupby("network", sort=False):
        assert (np.diff(part["probability"]) <= 0).all()


def test_numbers_of_lagged_edges(fitted):
    """Columns of the transition: arm, a and b one and two steps before, and now."""
    model, frame = fitted.transition_estimator_, fitted.edges_frame()
    chosen = frame["network"] == "transition"
    columns = [("arm", 0), ("a", 1), ("b", 1), ("a", 2), ("b", 2), ("a", 0), ("b", 0)]
    edges = frame[chosen].set_index(["parent", "lag", "child"])
    diagnostics = edge_diagnostics(model)
    effects = direct_effects(model.score_, model.dag_samples_)
    for (parent, lag, child), edge in edges.iterrows():
        place = columns.index((parent, lag)), columns.index((child, 0))
        assert edge["error"] == diagnostics.mcse[place]
        assert_array_equal(edge["rhat"], diagnostics.rhat[place])
        assert_array_equal(edge["effect"], effects[place])
        assert edge["in_best_dag"] == model.adjacency_[place]


def test_the_library_of_the_data():
    X = patients(12, 4)
    model = learner(n_lags=1).fit(pl.DataFrame(X))
    frame = model.edges_frame()
    assert isinstance(frame, pl.DataFrame)
    assert frame.columns == COLUMNS
    assert isinstance(model.summary().edges, pl.DataFrame)
    model = DynamicStructure(quick(), initial=None).fit(X[["a", "b"]].to_numpy())
    frame = model.edges_frame()
    assert isinstance(frame, pd.DataFrame)
    assert set(frame["parent"]) <= {"x0", "x1"}


def test_no_edges_at_all():
    model = DynamicStructure(
        quick(search_space=np.zeros((4, 4)), extra_parent=False), initial=None
    )
    X = np.random.default_rng(0).normal(size=(30, 2))
    frame = model.fit(X).edges_frame()
    assert list(frame.columns) == COLUMNS
    assert len(frame) == 0
    assert frame["lag"].dtype == int


def test_effects_of_a_shared_first_slice_are_those_of_the_transition():
    """The same rows of the transition, so the same effects given the same DAG."""
    X, dag = patients(), [("a", "b"), ("a[t-1]", "a"), ("arm", "a")]
    effects = []
    for initial in ("apart", "shared"):
        model = ExactStructure(required_edges=dag, forbidden_edges=others(dag))
        frame = learner(model, initial=initial).fit(X).edges_frame()
        frame = frame[(frame["network"] == "transition") & frame["in_best_dag"]]
        assert len(frame) == 3
        effects.append(frame.set_index(["parent", "lag"])["effect"].sort_index())
    assert_allclose(effects[0], effects[1], rtol=1e-12)


def others(dag):
    """All pairs but those of the DAG."""
    names = ["arm", "a[t-1]", "b[t-1]", "a[t-2]", "b[t-2]", "a", "b"]
    return [
        (i, j) for i in names for j in ("a", "b") if i != j and (i, j) not in set(dag)
    ]


def test_changing_parameters_have_no_single_effect():
    model = learner(n_lags=1, stationary=False, initial=None).fit(patients(20, 4))
    assert model.edges_frame()["effect"].isna().all()
    assert "BGe" in str(model.summary())


def test_summary(fitted):
    summary = fitted.summary()
    assert summary.converged is fitted.converged_ is True
    assert summary.convergence.n_chains == fitted.transition_estimator_.n_chains
    pd.testing.assert_frame_equal(summary.edges, fitted.edges_frame())
    lines = str(summary).splitlines()
    assert lines[0] == "DynamicStructure by PartitionMCMCStructure, 2 lags"
    assert lines[1] == "3 continuous variables, BGe"
    assert lines.index("The transition network") < lines.index("The initial network")
    assert any(line.endswith(" a[t-1] -> b") for line in lines)
    assert any(line.endswith(" arm -> a") for line in lines)


def test_summary_without_chains():
    X = patients(12, 4)
    assert learner(ExactStructure(), 1).fit(X).summary().converged is None
    search = IterativeSearchStructure(n_draws=0, random_state=0)
    summary = learner(search, 1, initial=None).fit(X).summary()
    assert summary.converged is None
    assert "The initial network" not in str(summary)
    assert summary.edges["in_best_dag"].all()


def test_a_picture_in_notebooks_and_a_page(fitted, tmp_path):
    assert "<svg" in fitted._repr_html_()
    page = fitted.report(tmp_path / "page.html").read_text()
    assert "a[t-1]" in page


def test_not_fitted():
    for ask in (DynamicStructure.edges_frame, DynamicStructure.summary):
        with pytest.raises(NotFittedError):
            ask(learner())
