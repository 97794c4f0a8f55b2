"""What the displays draw, and where."""

import subprocess
import sys
from itertools import pairwise

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import NotFittedError

from helpers import quick
from skbidag import (
    DynamicGraph,
    DynamicStructure,
    IterativeSearchStructure,
    OrderMCMCStructure,
)
from skbidag.datasets import load_network, make_gaussian_network
from skbidag.diagnostics import chain_edge_probabilities, concordance
from skbidag.graphs import is_dag, skeleton, to_cpdag
from skbidag.inspection import (
    ConcordanceDisplay,
    DynamicGraphDisplay,
    EdgeProbabilityDisplay,
    EdgeTraceDisplay,
    ExpansionDisplay,
    GraphDisplay,
    TraceDisplay,
)
from skbidag.inspection._layout import acyclic_orientation, layered_layout

matplotlib.use("Agg")
import matplotlib.pyplot as plt

DISPLAYS = [
    ConcordanceDisplay,
    EdgeProbabilityDisplay,
    EdgeTraceDisplay,
    ExpansionDisplay,
    GraphDisplay,
    TraceDisplay,
]

# Variables whose drawing takes a second
MANY = pytest.param(100, marks=pytest.mark.slow)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def network():
    return make_gaussian_network(100, 8, random_state=3)


@pytest.fixture(scope="module")
def model(network):
    return IterativeSearchStructure(
        search_space=np.ones((8, 8)), n_draws=60, n_chains=3, random_state=0
    ).fit(network.data)


def alarm():
    network = load_network("alarm")
    return network.adjacency, network.names


def random_graph(rng, n, density):
    """A graph with directed and undirected edges, and cycles."""
    A = rng.random((n, n)) < density
    np.fill_diagonal(A, False)
    return A


# --------------------------------------------------------------- all displays


@pytest.mark.parametrize("display", DISPLAYS)
def test_from_estimator(display, model):
    _, (left, right) = plt.subplots(1, 2)
    drawn = display.from_estimator(model, ax=left)
    assert drawn.ax_ is left
    assert drawn.figure_ is left.figure
    assert len(plt.get_fignums()) == 1
    assert not right.has_data()
    again = drawn.plot()
    assert again is drawn
    assert drawn.ax_ is not left
    assert len(plt.get_fignums()) == 2
    drawn.figure_.canvas.draw()


@pytest.mark.parametrize("display", DISPLAYS)
def test_estimators_must_be_fitted(display):
    with pytest.raises(NotFittedError):
        display.from_estimator(OrderMCMCStructure())


@pytest.mark.slow
def test_matplotlib_is_needed_only_to_draw():
    code = """
import sys
sys.modules["matplotlib"] = None
import numpy as np
from skbidag.inspection import GraphDisplay, TraceDisplay
display = TraceDisplay(np.zeros((2, 10)))
try:
    display.plot()
except ImportError as error:
    print(error)
try:
    GraphDisplay.from_graph(np.zeros((2, 2)))
except ImportError as error:
    print(error)
"""
    run = subprocess.run(
        [sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True
    )
    lines = run.stdout.splitlines()
    assert lines[0].startswith("TraceDisplay.plot needs matplotlib")
    assert lines[1].startswith("GraphDisplay.plot needs matplotlib")
    assert all("skbidag[plot]" in line for line in lines)


# ------------------------------------------------------------------ heat map


@pytest.mark.parametrize("kind", ["dag", "cpdag", "skeleton"])
def test_heat_map(model, network, kind):
    display = EdgeProbabilityDisplay.from_estimator(
        model, kind=kind, true_graph=network.adjacency, cmap="cividis"
    )
    assert_array_equal(display.im_.get_array(), model.edge_probabilities(kind))
    assert display.im_.get_clim() == (0, 1)
    assert display.im_.get_cmap().name == "cividis"
    assert display.colorbar_.ax.get_ylabel() == "posterior probability (order-weighted)"
    # a frame around the cell of each true edge: row parent, column child
    frames = [path.get_extents() for path in display.truth_.get_paths()]
    centers = {((f.y0 + f.y1) / 2, (f.x0 + f.x1) / 2) for f in frames}
    assert_allclose(sorted(centers), np.argwhere(network.adjacency))
    assert all(f.width < 1 for f in frames)


def test_heat_map_without_extras():
    display = EdgeProbabilityDisplay.from_probabilities(
        [[0, 0.5], [0.2, 0]], feature_names=["a$", "$b"], colorbar=False, vmax=0.5
    )
    assert display.colorbar_ is display.truth_ is None
    assert [t.get_text() for t in display.ax_.get_xticklabels()] == ["a$", "$b"]
    assert display.im_.get_clim() == (0, 0.5)
    display.figure_.canvas.draw()


@pytest.mark.parametrize("n", [8, 37, MANY])
@pytest.mark.parametrize("own_axes", [True, False])
def test_labels_of_the_heat_map_do_not_overlap(n, own_axes):
    ax = None
    if own_axes:
        _, ax = plt.subplots(figsize=(4, 3), layout="constrained")
    display = EdgeProbabilityDisplay.from_probabilities(
        np.zeros((n, n)), feature_names=[f"variable_{k}" for k in range(n)], ax=ax
    )
    display.figure_.canvas.draw()
    for labels, side in [
        (display.ax_.get_xticklabels(), "x"),
        (display.ax_.get_yticklabels(), "y"),
    ]:
        extents = [label.get_window_extent() for label in labels]
        intervals = sorted(getattr(e, f"interval{side}").tolist() for e in extents)
        # ascenders may touch where the axes got smaller after drawing
        assert all(b[0] - a[1] > -2 for a, b in pairwise(intervals))
        assert all(label.get_fontsize() >= 5 for label in labels)
    if not own_axes:
        assert len(display.ax_.get_yticklabels()) == n


def test_probabilities_are_validated():
    draw = EdgeProbabilityDisplay.from_probabilities
    with pytest.raises(ValueError, match="probabilities must be a square matrix"):
        draw(np.zeros((2, 3)))
    with pytest.raises(ValueError, match="probabilities must lie between 0 and 1"):
        draw(np.full((2, 2), 1.5))
    with pytest.raises(ValueError, match=r"feature_names.*got 3 for 2 nodes"):
        draw(np.zeros((2, 2)), feature_names="abc")
    with pytest.raises(ValueError, match="true_graph must have 2 nodes, got 3"):
        draw(np.zeros((2, 2)), true_graph=np.zeros((3, 3)))


# -------------------------------------------------------------------- layout


def boxes(layout, widths, height):
    return np.column_stack(
        [
            layout.x - np.asarray(widths) / 2,
            layout.x + np.asarray(widths) / 2,
            layout.y - height / 2,
            layout.y + height / 2,
        ]
    )


def points_along(line):
    """Points along an edge's line."""
    return np.array(
        [
            curve(t)
            for curve, _ in line.get_path().iter_bezier()
            for t in np.linspace(0.02, 0.98, 25)
        ]
    )


@pytest.mark.parametrize("n", [2, 8, 40, MANY])
def test_layers_respect_directions(n):
    A = make_gaussian_network(5, n, random_state=n).adjacency
    layout = layered_layout(A, np.full(n, 3.0), 1.7)
    for i, j in np.argwhere(A):
        assert layout.layer[i] < layout.layer[j]
        assert layout.y[i] > layout.y[j]
    assert set(layout.routes) == {(i, j) for i, j in np.argwhere(A).tolist()}


@pytest.mark.parametrize("n", [8, 40, MANY])
def test_nodes_do_not_overlap(n):
    rng = np.random.default_rng(n)
    A = make_gaussian_network(5, n, random_state=n).adjacency
    widths = rng.uniform(2, 9, size=n)
    layout = layered_layout(A, widths, 1.7)
    left, right, low, high = boxes(layout, widths, 1.7).T
    apart = (
        (left[:, None] > right)
        | (left > right[:, None])
        | (low[:, None] > high)
        | (low > high[:, None])
    )
    assert (apart | np.eye(n, dtype=bool)).all()
    assert left.min() >= -1e-9
    assert low.min() >= -1e-9
    assert right.max() <= layout.size[0] + 1e-9
    assert high.max() <= layout.size[1] + 1e-9


@pytest.mark.parametrize("n", [8, 40, MANY])
def test_edges_do_not_run_through_nodes(n):
    A = make_gaussian_network(5, n, random_state=n).adjacency
    display = GraphDisplay.from_graph(A)
    box = np.array(
        [patch.get_bbox().extents for patch in node_patches(display)]
    )  # x0, y0, x1, y1
    for (i, j), line in display.edges_.items():
        x, y = points_along(line).T
        inside = (
            (x[:, None] > box[:, 0])
            & (x[:, None] < box[:, 2])
            & (y[:, None] > box[:, 1])
            & (y[:, None] < box[:, 3])
        ).any(axis=0)
        inside[[i, j]] = False
        assert not inside.any()


def node_patches(display):
    return [
        patch
        for patch in display.ax_.patches
        if isinstance(patch, matplotlib.patches.FancyBboxPatch)
    ]


def test_layout_has_few_crossings():
    """A tree needs none; of the alarm network few are needed."""
    n = 31
    tree = np.zeros((n, n), dtype=bool)
    for child in range(1, n):
        tree[(child - 1) // 2, child] = True
    shuffled = np.random.default_rng(0).permutation(n)
    tree = tree[np.ix_(shuffled, shuffled)]
    assert crossings(layered_layout(tree, np.full(n, 3.0), 1.7)) == 0
    A, names = alarm()
    assert crossings(layered_layout(A, np.full(len(names), 6.0), 1.7)) <= 20


def crossings(layout):
    """Crossings of the edges, each gap of each route as a straight line."""
    segments = [
        (*route[k], *route[k + 1])
        for route in layout.routes.values()
        for k in range(0, len(route), 2)
    ]
    x0, y0, x1, y1 = np.array(segments).T
    gap = np.unique(np.round(np.column_stack([y0, y1]), 6), axis=0, return_inverse=True)
    same = gap[1][:, None] == gap[1]
    crossed = ((x0[:, None] - x0) * (x1[:, None] - x1) < -1e-9) & same
    return int(np.triu(crossed).sum())


@pytest.mark.parametrize("seed", range(10))
def test_acyclic_orientation(seed):
    rng = np.random.default_rng(seed)
    A = random_graph(rng, 9, rng.uniform(0.05, 0.4))
    dag = acyclic_orientation(A)
    assert is_dag(dag)
    assert_array_equal(skeleton(dag), skeleton(A))
    # a DAG stays what it is
    assert_array_equal(acyclic_orientation(dag), dag)


@pytest.mark.parametrize("seed", range(5))
def test_layout_of_any_graph(seed):
    rng = np.random.default_rng(seed)
    A = random_graph(rng, 12, 0.15)
    layout = layered_layout(A, np.full(12, 2.0))
    undirected = A & A.T
    expected = {(i, j) for i, j in np.argwhere(A & ~undirected).tolist()}
    expected |= {(i, j) for i, j in np.argwhere(np.triu(undirected)).tolist()}
    assert set(layout.routes) == expected
    for (i, j), route in layout.routes.items():
        assert abs(route[0, 0] - layout.x[i]) <= 1
        assert abs(route[-1, 0] - layout.x[j]) <= 1
        assert_allclose(np.abs(route[[0, -1], 1] - layout.y[[i, j]]), 0.5)


def entangled(n, n_edges):
    rng = np.random.default_rng(n_edges)
    A = np.zeros((n, n), dtype=bool)
    A[np.triu_indices(n, 1)] = rng.permutation(n * (n - 1) // 2) < n_edges
    return A


def test_entangled_graphs_have_straight_edges():
    """Layers of these would take thousands of dummies."""
    A = entangled(60, 400)
    A |= A.T & (np.random.default_rng(0).random(A.shape) < 0.3)  # some undirected
    widths = np.linspace(2, 9, 60)
    layout = layered_layout(A, widths, 1.7)
    assert (layout.layer == -1).all()
    assert len(layout.routes) == np.triu(A | A.T).sum()
    left, right, low, high = boxes(layout, widths, 1.7).T
    apart = (left[:, None] > right) | (low[:, None] > high)
    assert (apart | apart.T | np.eye(60, dtype=bool)).all()
    assert min(left.min(), low.min()) >= -1e-9
    assert right.max() <= layout.size[0] + 1e-9
    assert high.max() <= layout.size[1] + 1e-9
    for (i, j), route in layout.routes.items():
        assert route.shape == (2, 2)
        for (x, y), node in zip(route, (i, j), strict=True):
            # on the border of its box, on the line between the centers
            across = abs(x - layout.x[node]) / (widths[node] / 2)
            along = abs(y - layout.y[node]) / (1.7 / 2)
            assert max(across, along) == pytest.approx(1)
        way = np.array([layout.x[j] - layout.x[i], layout.y[j] - layout.y[i]])
        drawn = route[1] - route[0]
        assert way[0] * drawn[1] == pytest.approx(way[1] * drawn[0], abs=1e-6)
    again = layered_layout(A, widths, 1.7)
    assert_array_equal(again.x, layout.x)
    display = GraphDisplay.from_graph(A)
    assert set(display.heads_) == {(i, j) for i, j in np.argwhere(A & ~A.T).tolist()}


def test_components_are_layered_each_by_itself():
    A = np.zeros((63, 63), dtype=bool)
    A[:60, :60] = entangled(60, 400)
    A[60, 61] = A[61, 62] = True
    layout = layered_layout(A, np.full(63, 3.0), 1.7)
    assert (layout.layer[:60] == -1).all()
    assert_array_equal(layout.layer[60:], [0, 1, 2])


@pytest.mark.parametrize("n", [0, 1, 5])
def test_layout_without_edges(n):
    layout = layered_layout(np.zeros((n, n), dtype=bool), np.full(n, 2.0))
    assert layout.routes == {}
    assert len({*zip(layout.x, layout.y, strict=True)}) == n


# --------------------------------------------------------------------- graph


def test_edges_and_heads():
    # 0 -> 2 <- 1, 2 -> 3, 3 - 4
    A = np.zeros((5, 5), dtype=int)
    A[[0, 1, 2, 3, 4], [2, 2, 3, 4, 3]] = 1
    display = GraphDisplay.from_graph(A, feature_names=list("abcde"))
    assert set(display.edges_) == {(0, 2), (1, 2), (2, 3), (3, 4)}
    assert set(display.heads_) == {(0, 2), (1, 2), (2, 3)}
    assert [label.get_text() for label in display.nodes_] == list("abcde")
    assert display.legend_ is None
    for (_, j), head in display.heads_.items():
        tip = head.get_xy()[0]
        assert tip[1] == pytest.approx(display.layout_.y[j] + 1.7 / 2)
        assert abs(tip[0] - display.layout_.x[j]) < 2


def test_probable_edges_are_wider_and_darker():
    A = [[0, 1, 1], [0, 0, 0], [0, 0, 0]]
    probabilities = [[0, 0.9, 0.3], [0, 0, 0], [0.6, 0, 0]]
    display = GraphDisplay.from_graph(A, probabilities=probabilities)
    strong, weak = display.edges_[0, 1], display.edges_[0, 2]
    assert strong.get_linewidth() > weak.get_linewidth()
    assert strong.get_alpha() > weak.get_alpha()
    # an average of ones may exceed 1 by rounding
    GraphDisplay.from_graph(A, probabilities=np.full((3, 3), 1 + 1e-12))
    # the larger of the two directions counts
    same = GraphDisplay.from_graph(A, probabilities=[[0, 0.9, 0.6], [0] * 3, [0] * 3])
    assert same.edges_[0, 2].get_linewidth() == pytest.approx(weak.get_linewidth())


def test_differences_to_the_true_graph():
    true = np.zeros((4, 4), dtype=bool)
    true[0, 1] = true[1, 2] = true[2, 3] = True
    drawn = np.zeros((4, 4), dtype=bool)
    drawn[0, 1] = drawn[2, 1] = drawn[0, 3] = True
    display = GraphDisplay.from_graph(drawn, true_graph=true)
    assert display.differences_ == {
        (0, 1): "right",
        (2, 1): "turned",
        (0, 3): "wrong",
        (2, 3): "missed",
    }
    colors = {to_hex(line.get_edgecolor()) for line in display.edges_.values()}
    assert len(colors) == 4
    assert len(display.legend_.get_texts()) == 4
    assert GraphDisplay.from_graph(drawn, true_graph=true, legend=False).legend_ is None
    # an edge without direction differs from one with
    undirected = true | true.T
    display = GraphDisplay.from_graph(undirected, true_graph=true)
    assert set(display.differences_.values()) == {"turned"}
    assert not display.heads_


def test_legend_is_inside_the_figure():
    true = np.zeros((4, 4), dtype=bool)
    true[0, 1] = true[1, 2] = true[2, 3] = True
    drawn = np.zeros((4, 4), dtype=bool)
    drawn[0, 1] = drawn[2, 1] = drawn[0, 3] = True
    for n_more in (0, 5, 12):
        # isolated nodes make the figure wider
        size = 4 + n_more
        pair = [np.zeros((size, size), dtype=bool) for _ in range(2)]
        pair[0][:4, :4], pair[1][:4, :4] = drawn, true
        display = GraphDisplay.from_graph(pair[0], true_graph=pair[1])
        display.figure_.canvas.draw()
        box = display.legend_.get_window_extent()
        width, height = display.figure_.canvas.get_width_height()
        assert min(box.x0, box.y0) >= 0
        assert box.x1 <= width
        assert box.y1 <= height


@pytest.mark.parametrize("n", [8, 30])
def test_long_names_leave_the_heat_map_as_it_is(n):
    sides = []
    for name in ("x", "a_name_that_somebody_took_from_a_spread_sheet"):
        names = [f"{name}{k}" for k in range(n)]
        display = EdgeProbabilityDisplay.from_probabilities(
            np.zeros((n, n)), feature_names=names
        )
        display.figure_.canvas.draw()
        sides.append(display.ax_.get_window_extent().width)
    assert sides[1] > 0.85 * sides[0]
    labels = [text.get_text() for text in display.ax_.get_xticklabels()]
    assert all("…" in label and len(label) == 40 for label in labels)


def test_graph_of_an_estimator(model, network):
    joined = model.edge_probabilities("skeleton")
    display = GraphDisplay.from_estimator(model)
    assert set(map(tuple, map(sorted, display.edges_))) == {
        (i, j) for i, j in np.argwhere(np.triu(joined > 0.5)).tolist()
    }
    few = GraphDisplay.from_estimator(model, threshold=0.999)
    assert len(few.edges_) <= len(display.edges_)

    cpdag = GraphDisplay.from_estimator(
        model, graph="cpdag", true_graph=network.adjacency
    )
    assert_array_equal(cpdag.adjacency, model.cpdag_)
    assert_array_equal(cpdag.true_graph, to_cpdag(network.adjacency))
    directed = model.cpdag_ & ~model.cpdag_.T
    missed = [e for e, kind in cpdag.differences_.items() if kind == "missed"]
    assert set(cpdag.heads_) - set(missed) == {
        (i, j) for i, j in np.argwhere(directed).tolist()
    }
    dag = GraphDisplay.from_estimator(model, graph="dag", true_graph=network.adjacency)
    assert_array_equal(dag.adjacency, model.adjacency_)
    assert_array_equal(dag.true_graph, network.adjacency)
    with pytest.raises(ValueError, match="graph must be 'consensus', 'cpdag' or"):
        GraphDisplay.from_estimator(model, graph="map")


@pytest.mark.parametrize("shape", ["own", (10, 6), (8, 9)])
def test_labels_fit_into_their_boxes(shape):
    """Also if the layout changes after the network was drawn."""
    A, names = alarm()
    ax = None
    if shape != "own":
        _, axes = plt.subplots(1, 2, figsize=shape, layout="constrained")
        ax = axes[0]
    display = GraphDisplay.from_graph(A, feature_names=names, ax=ax)
    if shape != "own":
        EdgeProbabilityDisplay.from_probabilities(np.zeros((5, 5)), ax=axes[1])
    display.figure_.canvas.draw()
    for label, patch in zip(display.nodes_, node_patches(display), strict=True):
        text, box = label.get_window_extent(), patch.get_window_extent()
        # text is set to whole pixels
        assert box.x0 - 0.5 <= text.x0 <= text.x1 <= box.x1 + 0.5
        assert text.height <= 1.05 * box.height
    assert display.nodes_[0].get_fontsize() > (8 if shape == "own" else 2)


def test_graphs_are_validated():
    draw = GraphDisplay.from_graph
    with pytest.raises(ValueError, match="adjacency must hold zeros and ones"):
        draw([[0, 0.5], [0, 0]])
    with pytest.raises(ValueError, match="probabilities must have 2 nodes, got 3"):
        draw(np.zeros((2, 2)), probabilities=np.zeros((3, 3)))
    with pytest.raises(ValueError, match="true_graph must have 2 nodes, got 3"):
        draw(np.zeros((2, 2)), true_graph=np.zeros((3, 3)))


# ------------------------------------------------------------- lines and points


def test_traces(model):
    display = TraceDisplay.from_estimator(model, linewidth=3)
    assert len(display.lines_) == 3
    for line, trace in zip(display.lines_, model.log_score_trace_, strict=True):
        assert_array_equal(line.get_ydata(), trace)
        assert line.get_linewidth() == 3
    assert display.best_.get_ydata()[0] == model.log_score_
    assert display.rhat_ == pytest.approx(model.log_score_rhat_)
    assert f"{model.log_score_rhat_:.3f}" in display.ax_.get_title()
    assert len(TraceDisplay(np.zeros((30, 5))).plot().lines_) == 30
    with pytest.raises(ValueError, match=r"shape \(n_chains, n_draws\), got \(4,\)"):
        TraceDisplay(np.zeros(4)).plot()


@pytest.mark.parametrize("kind", ["dag", "cpdag", "skeleton"])
def test_edge_traces(model, kind):
    display = EdgeTraceDisplay.from_estimator(model, kind=kind, n_edges=4, linewidth=3)
    assert len(display.lines_) == 3 * 4
    samples, probabilities = model.dag_samples_, model.edge_probabilities(kind)
    ends = np.array([line.get_ydata()[-1] for line in display.lines_])
    labels = [text.get_text() for text in display.ax_.texts]
    assert len(labels) == 4
    for k, label in enumerate(labels):
        i, j = map(int, label.split("-" if kind == "skeleton" else "→"))
        # the mean over chains at the end is the edge's probability
        assert ends[k::4].mean() == pytest.approx(probabilities[i, j])
        for chain, line in enumerate(display.lines_[k::4]):
            dags = samples[60 * chain : 60 * chain + 10]
            graphs = {
                "dag": dags,
                "cpdag": np.array([to_cpdag(dag) for dag in dags]),
                "skeleton": dags | dags.transpose(0, 2, 1),
            }[kind]
            assert line.get_ydata()[9] == pytest.approx(graphs[:, i, j].mean())
            assert line.get_linewidth() == 3


def test_edge_traces_of_any_numbers():
    assert len(EdgeTraceDisplay(np.zeros((1, 5, 3))).plot().lines_) == 3
    with pytest.raises(ValueError, match=r"\(n_chains, n_draws, n_edges\)"):
        EdgeTraceDisplay(np.zeros((5, 3))).plot()
    with pytest.raises(ValueError, match="labels must be 3 names"):
        EdgeTraceDisplay(np.zeros((1, 5, 3)), labels=["a"]).plot()


@pytest.mark.parametrize("kind", ["dag", "skeleton"])
def test_concordance_of_all_chains(model, kind):
    display = ConcordanceDisplay.from_estimator(model, kind=kind)
    probabilities = chain_edge_probabilities(model, kind)
    off_diagonal = ~np.eye(8, dtype=bool)
    assert len(display.points_) == 3
    for k, points in enumerate(display.points_):
        others = probabilities[[c for c in range(3) if c != k]].mean(axis=0)
        assert_allclose(points.get_xdata(), others[off_diagonal])
        assert_allclose(points.get_ydata(), probabilities[k][off_diagonal])
        agreement = concordance([others, probabilities[k]])
        assert display.r2_[k] == pytest.approx(agreement.r2[0, 1])
        assert display.rmsd_[k] == pytest.approx(agreement.rmsd[0, 1])
    assert f"{display.r2_.min():.4f}" in display.ax_.get_title()


def test_concordance_of_two_chains(model):
    display = ConcordanceDisplay.from_estimator(model, chains=(0, 2))
    probabilities = chain_edge_probabilities(model)
    agreement = concordance(probabilities[[0, 2]])
    (points,) = display.points_
    off_diagonal = ~np.eye(8, dtype=bool)
    assert_allclose(points.get_xdata(), probabilities[0][off_diagonal])
    assert_allclose(points.get_ydata(), probabilities[2][off_diagonal])
    assert_allclose(display.r2_, agreement.r2[0, 1])
    assert_allclose(display.rmsd_, agreement.rmsd[0, 1])
    assert display.ax_.get_xlabel().endswith("chain 1")
    assert display.ax_.get_ylabel().endswith("chain 3")


def test_concordance_is_validated(model):
    with pytest.raises(ValueError, match="chains must be below 3, got 3"):
        ConcordanceDisplay.from_estimator(model, chains=(0, 3))
    with pytest.raises(ValueError, match="at least two chains"):
        ConcordanceDisplay.from_estimator(model, chains=[1])
    with pytest.raises(ValueError, match="at least two runs"):
        ConcordanceDisplay.from_probabilities(np.zeros((1, 2, 2)))
    with pytest.raises(ValueError, match="labels must be 2 names, got 1"):
        ConcordanceDisplay.from_probabilities(np.zeros((2, 2, 2)), labels=["a"])


def test_expansions(model, network):
    display = ExpansionDisplay.from_estimator(model)
    assert_array_equal(display.score_line_.get_ydata(), model.expansions_["log_score"])
    assert_array_equal(
        display.space_line_.get_ydata(), model.expansions_["n_permitted"]
    )
    assert display.ax_space_ is not display.ax_
    sampler = OrderMCMCStructure(n_draws=5, random_state=0).fit(network.data)
    with pytest.raises(ValueError, match="OrderMCMCStructure, which has no expansions"):
        ExpansionDisplay.from_estimator(sampler)
    with pytest.raises(ValueError, match="vectors of the same length"):
        ExpansionDisplay([1.0, 2.0], [3]).plot()


# ---------------------------------------------------------------------- labels


@pytest.fixture
def turned(network):
    """The true graph as a frame, its labels in another order than the columns."""
    names = [f"x{i}" for i in range(8)]
    frame = pd.DataFrame(network.adjacency, index=names, columns=names)
    return frame.iloc[::-1, ::-1]


def test_a_labelled_true_graph_is_aligned(model, network, turned):
    named = IterativeSearchStructure(
        search_space=np.ones((8, 8)), n_draws=60, n_chains=3, random_state=0
    ).fit(pd.DataFrame(network.data, columns=turned.columns[::-1]))
    for graph in ("consensus", "cpdag", "dag"):
        plain = GraphDisplay.from_estimator(
            model, graph=graph, true_graph=network.adjacency
        )
        aligned = GraphDisplay.from_estimator(named, graph=graph, true_graph=turned)
        assert aligned.differences_ == plain.differences_
    map_of = EdgeProbabilityDisplay.from_estimator
    frames = [
        display.truth_.get_paths()
        for display in (
            map_of(model, true_graph=network.adjacency),
            map_of(named, true_graph=turned),
        )
    ]
    for one, other in zip(*frames, strict=True):
        assert_allclose(one.vertices, other.vertices)
    renamed = turned.rename(columns=str.upper, index=str.upper)
    for display in (GraphDisplay, EdgeProbabilityDisplay):
        with pytest.raises(ValueError, match="true_graph has the label 'X7'"):
            display.from_estimator(named, true_graph=renamed)


def test_labels_are_names(network, turned):
    graph = GraphDisplay.from_graph(turned, true_graph=turned.iloc[::-1, ::-1])
    assert [text.get_text() for text in graph.nodes_] == list(turned.columns)
    assert set(graph.differences_.values()) == {"right"}
    names = list(turned.columns[::-1])
    graph = GraphDisplay.from_graph(
        turned, probabilities=0.5 * turned, feature_names=names
    )
    assert set(graph.edges_) == {(i, j) for i, j in np.argwhere(network.adjacency)}
    heat_map = EdgeProbabilityDisplay.from_probabilities(0.5 * turned)
    labels = [text.get_text() for text in heat_map.ax_.get_yticklabels()]
    assert labels == list(turned.columns)


def test_labelled_runs_are_aligned(network, turned):
    plain, probabilities = 0.3 * network.adjacency, 0.5 * turned
    names = turned.columns[::-1]
    first = pd.DataFrame(plain, index=names, columns=names)
    expected = concordance([plain, 0.5 * network.adjacency])
    found = concordance([first, probabilities])
    assert_allclose(found.rmsd, expected.rmsd)
    display = ConcordanceDisplay.from_probabilities([first, probabilities])
    assert_allclose(display.rmsd_, expected.rmsd[0, 1])


def dynamic_graph(n_static=1, initial=True):
    rng = np.random.default_rng(0)
    transition = rng.random((3, 4, 4))
    transition[0] = np.triu(transition[0], 1)
    return DynamicGraph(
        transition,
        rng.random((n_static, 4)),
        np.triu(rng.random((4, 4)), 1) if initial else None,
        rng.random((n_static, 4)) if initial else None,
    )


@pytest.mark.parametrize("n_static", [0, 2])
@pytest.mark.parametrize("initial", [True, False])
def test_slices_have_the_probable_edges(n_static, initial):
    graph = dynamic_graph(n_static, initial)
    display = DynamicGraphDisplay(graph, threshold=0.6).plot()
    expected = {
        ("transition", *edge) for edge in np.argwhere(graph.transition > 0.6).tolist()
    }
    expected |= {("static", *e) for e in np.argwhere(graph.static > 0.6).tolist()}
    if initial:
        first = np.argwhere(graph.initial > 0.6).tolist()
        expected |= {("initial", *edge) for edge in first}
        first = np.argwhere(graph.initial_static > 0.6).tolist()
        expected |= {("initial_static", *edge) for edge in first}
    assert set(display.edges_) == expected
    columns = ["t-2", "t-1", "t"] + ["first"] * initial
    assert len(display.nodes_) == 4 * len(columns) + n_static
    colors = {
        lag: {
            display.edges_[key].get_edgecolor()[:3]
            for key in expected
            if key[:2] == ("transition", lag)
        }
        for lag in (0, 1, 2)
    }
    assert colors[0].isdisjoint(colors[1])
    assert colors[1] == colors[2]
    assert display.ax_.figure is display.figure_


def test_slices_of_an_estimator():
    X = np.random.default_rng(0).normal(size=(60, 3))
    X[1:, 1] += 2 * X[:-1, 0]
    model = DynamicStructure(quick(), initial=None).fit(X)
    _, ax = plt.subplots()
    display = DynamicGraphDisplay.from_estimator(model, ax=ax)
    assert display.ax_ is ax
    assert ("transition", 1, 0, 1) in display.edges_
    assert ("t-1", "x2") in display.nodes_
