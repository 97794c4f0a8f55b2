from importlib.resources import files

import numpy as np
import pandas as pd
import pytest

from helpers import DATA
from skbidag import datasets
from skbidag.datasets import (
    DiscreteNetwork,
    load_asia,
    load_network,
    make_discrete_network,
    make_gaussian_network,
)
from skbidag.graphs import is_dag, topological_order

GRAPHS = ["barabasi_albert", "erdos_renyi", "islands"]
NODES_AND_EDGES = {
    "cancer": (5, 4),
    "earthquake": (5, 4),
    "survey": (6, 6),
    "asia": (8, 8),
    "sachs": (11, 17),
    "child": (20, 25),
    "insurance": (27, 52),
    "alarm": (37, 46),
    "hailfinder": (56, 66),
    "hepar2": (70, 123),
    "win95pts": (76, 112),
    "andes": (223, 338),
}


def test_public_names():
    assert datasets.__all__ == sorted(datasets.__all__)


def test_source_and_terms_of_every_file_are_said():
    folder = files("skbidag.datasets") / "data"
    readme = (folder / "README.md").read_text(encoding="utf-8")
    for name, (n_nodes, _) in NODES_AND_EDGES.items():
        assert f"| `{name}.json` | {n_nodes} |" in readme
    for file in folder.iterdir():
        assert file.name == "README.md" or f"`{file.name}`" in readme


@pytest.mark.parametrize("make", [make_gaussian_network, make_discrete_network])
@pytest.mark.parametrize("graph", GRAPHS)
def test_seed_determines_everything(make, graph):
    first = make(30, 12, graph=graph, random_state=3)
    second = make(30, 12, graph=graph, random_state=3)
    other = make(30, 12, graph=graph, random_state=4)
    np.testing.assert_array_equal(first.data, second.data)
    np.testing.assert_array_equal(first.adjacency, second.adjacency)
    assert not np.array_equal(first.data, other.data)
    assert not np.array_equal(first.adjacency, other.adjacency)
    assert first.data.shape == (30, 12)
    assert first.data.flags.c_contiguous
    assert first.feature_names == [f"x{i}" for i in range(12)]
    assert "12 variables" in first.DESCR
    assert graph in first.DESCR


@pytest.mark.slow
@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("expected_parents", [0.5, 2.0, 2.6])
def test_mean_number_of_parents(graph, expected_parents):
    n, n_graphs = 40, 150
    rng = np.random.RandomState(0)
    counts = []
    share_upwards = []
    for _ in range(n_graphs):
        A = make_gaussian_network(
            2, n, graph=graph, expected_parents=expected_parents, random_state=rng
        ).adjacency
        assert is_dag(A)
        counts.append(A.sum())
        share_upwards.append(np.triu(A).sum() / A.sum())
    # Edges are independent, or less variable than that: the variance of their number
    # is at most its mean. Four standard errors.
    mean = expected_parents * n
    assert abs(np.mean(counts) - mean) < 4 * np.sqrt(mean / n_graphs)
    # Labels are shuffled: half of the edges go from a smaller to a larger one. A share
    # has a standard deviation of at most 1/2. Four standard errors.
    assert abs(np.mean(share_upwards) - 0.5) < 4 * 0.5 / np.sqrt(n_graphs)


def test_graphs_too_small_for_the_expected_parents():
    for graph in GRAPHS:
        for n in (1, 2, 4):
            A = make_gaussian_network(
                5, n, graph=graph, expected_parents=50, random_state=0
            ).adjacency
            assert A.sum() == n * (n - 1) / 2
        empty = make_gaussian_network(5, 4, graph=graph, expected_parents=0)
        assert not empty.adjacency.any()
        assert not empty.weights.any()


def test_preferential_attachment_makes_hubs():
    def largest_degree(power):
        rng = np.random.RandomState(0)
        degrees = []
        for _ in range(20):
            A = make_gaussian_network(
                2, 80, graph="barabasi_albert", power=power, random_state=rng
            ).adjacency
            degrees.append((A | A.T).sum(axis=0).max())
        return np.mean(degrees)

    assert largest_degree(0.0) < largest_degree(1.0) < largest_degree(2.0)


@pytest.mark.parametrize("interconnectivity", [0.0, 0.1, 1.0])
def test_islands(interconnectivity):
    from skbidag.datasets._random_graphs import _islands

    n, n_islands, n_edges, n_graphs = 40, 4, 80, 100
    rng = np.random.RandomState(1)
    island = np.repeat(np.arange(4), 10)
    within = np.triu(island[:, None] == island, 1)
    counts = []
    for _ in range(n_graphs):
        upper = _islands(rng, n, n_edges, n_islands, interconnectivity)
        assert not np.tril(upper).any()
        counts.append((upper & ~within).sum())
    mean = interconnectivity * n_edges
    assert abs(np.mean(counts) - mean) <= 4 * np.sqrt(mean / n_graphs)


def test_gaussian_covariance():
    """The sample covariance is that of the weights, (I - W)^-T D (I - W)^-1."""
    n_samples, noise = 50_000, 0.7
    network = make_gaussian_network(
        n_samples,
        8,
        signs="random",
        noise_scale=noise,
        standardize=False,
        random_state=0,
    )
    inverse = np.linalg.inv(np.eye(8) - network.weights)
    expected = noise**2 * inverse.T @ inverse
    variance = np.diag(expected)
    # The variance of a sample covariance s_ij is (s_ii s_jj + s_ij^2) / N. Five
    # standard errors for 36 of them: exceeded once in 50 000.
    error = np.sqrt((np.outer(variance, variance) + expected**2) / n_samples)
    assert (np.abs(np.cov(network.data.T) - expected) < 5 * error).all()


def test_gaussian_weights():
    network = make_gaussian_network(10, 60, strengths=(0.1, 1.0), random_state=0)
    A, W = network.adjacency, network.weights
    np.testing.assert_array_equal(W != 0, A)
    assert W[A].min() >= 0.1
    assert W[A].max() <= 1.0
    signed = make_gaussian_network(10, 60, signs="random", random_state=0).weights
    assert 0.3 < (signed[A] < 0).mean() < 0.7
    assert np.abs(signed[A]).min() >= 0.4


def test_gaussian_standardized_columns():
    data = make_gaussian_network(200, 15, random_state=0).data
    np.testing.assert_allclose(data.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(data.std(axis=0, ddof=1), 1)
    raw = make_gaussian_network(200, 15, standardize=False, random_state=0).data
    centred = raw - raw.mean(axis=0)
    np.testing.assert_allclose(data, centred / raw.std(axis=0, ddof=1))


@pytest.mark.parametrize("make", [make_gaussian_network, make_discrete_network])
def test_given_graph(make):
    A = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0]])
    network = make(20, graph=A, random_state=0)
    np.testing.assert_array_equal(network.adjacency, A)
    assert network.data.shape == (20, 3)
    with pytest.raises(ValueError, match="graph must be a DAG"):
        make(20, graph=[[0, 1], [1, 0]])
    with pytest.raises(ValueError, match="graph must be a square"):
        make(20, graph=[[0, 1]])
    with pytest.raises(ValueError, match="at least one node"):
        make(20, graph=np.zeros((0, 0)))


def test_column_order_is_not_topological():
    A = make_gaussian_network(5, 30, random_state=0).adjacency
    assert topological_order(A).tolist() != list(range(30))
    assert np.tril(A).any()
    assert np.triu(A).any()


@pytest.mark.parametrize("make", [make_gaussian_network, make_discrete_network])
@pytest.mark.parametrize(
    "parameters",
    [
        {"n_samples": 0},
        {"n_features": 0},
        {"graph": "star"},
        {"expected_parents": -1},
        {"power": -0.1},
        {"n_islands": 0},
        {"interconnectivity": 1.1},
        {"random_state": "seed"},
    ],
)
def test_bad_graph_parameters(make, parameters):
    with pytest.raises(ValueError, match=f"'{next(iter(parameters))}' parameter"):
        make(**parameters)


def test_bad_gaussian_parameters():
    for strengths in [(2, 1), (-1, 1), (0, 0), (1,), (0, np.inf), ("a", "b")]:
        with pytest.raises(ValueError, match="strengths must be a pair"):
            make_gaussian_network(strengths=strengths)
    with pytest.raises(ValueError, match="'noise_scale' parameter"):
        make_gaussian_network(noise_scale=0)
    with pytest.raises(ValueError, match="'signs' parameter"):
        make_gaussian_network(signs="negative")
    with pytest.raises(ValueError, match="at least 2"):
        make_gaussian_network(n_samples=1)
    assert make_gaussian_network(1, standardize=False).data.shape == (1, 10)


def test_bad_discrete_parameters():
    for n_levels in [(3, 2), (1, 4), (2,), (2, 2.5)]:
        with pytest.raises(ValueError, match="n_levels must be"):
            make_discrete_network(n_levels=n_levels)
    with pytest.raises(ValueError, match="'n_levels' parameter"):
        make_discrete_network(n_levels=1)
    with pytest.raises(ValueError, match="'concentration' parameter"):
        make_discrete_network(concentration=0)
    with pytest.raises(ValueError, match="too many for a conditional probability"):
        make_discrete_network(n_features=60, expected_parents=40)


def test_discrete_levels_and_probabilities():
    bunch = make_discrete_network(500, 60, n_levels=(2, 5), random_state=0)
    sizes = [len(levels) for levels in bunch.network.levels]
    assert set(sizes) == {2, 3, 4, 5}
    assert (bunch.data >= 0).all()
    assert (bunch.data < sizes).all()
    np.testing.assert_array_equal(bunch.network.adjacency, bunch.adjacency)

    def largest(concentration):
        network = make_discrete_network(
            5, 30, n_levels=3, concentration=concentration, random_state=0
        ).network
        return np.concatenate([cpt.max(axis=0) for cpt in network.cpts])

    # Of a flat Dirichlet with three levels the mean of the largest is 11/18. There are
    # hundreds of columns, with standard deviations below 0.17.
    assert abs(largest(1.0).mean() - 11 / 18) < 4 * 0.17 / np.sqrt(len(largest(1.0)))
    np.testing.assert_allclose(largest(1e6), 1 / 3, atol=0.01)
    # So small that gamma variables underflow.
    assert (largest(1e-4) > 0.99).mean() > 0.95


@pytest.mark.parametrize("name", NODES_AND_EDGES)
def test_networks_load(name):
    network = load_network(name)
    n_nodes, n_edges = NODES_AND_EDGES[name]
    assert network.adjacency.shape == (n_nodes, n_nodes)
    assert network.adjacency.sum() == n_edges
    assert is_dag(network.adjacency)
    assert repr(network) == f"DiscreteNetwork(n_nodes={n_nodes}, n_edges={n_edges})"
    for node, cpt in enumerate(network.cpts):
        parents = network.parents[node]
        assert sorted(parents) == np.flatnonzero(network.adjacency[:, node]).tolist()
        sizes = [len(network.levels[i]) for i in parents]
        assert cpt.shape == (len(network.levels[node]), np.prod(sizes))
        np.testing.assert_allclose(cpt.sum(axis=0), 1, rtol=1e-15)


def check_frequencies(network, rows):
    """Compare the frequencies given the parents with the tables.

    By Hoeffding's inequality a frequency among c rows is off by more than
    sqrt(ln(2 / q) / 2c) with a probability of at most q. One in a million that any of
    the M frequencies is.
    """
    log_term = np.log(2 * sum(cpt.size for cpt in network.cpts) / 1e-6)
    for node, cpt in enumerate(network.cpts):
        parents = network.parents[node]
        sizes = [len(network.levels[i]) for i in parents]
        table = cpt.reshape((len(cpt), *sizes), order="F")
        for configuration in np.ndindex(*sizes):
            matching = rows[(rows[:, parents] == configuration).all(axis=1), node]
            if len(matching) == 0:
                continue
            frequency = np.bincount(matching, minlength=len(cpt)) / len(matching)
            probability = table[:, *configuration]
            bound = np.sqrt(log_term / (2 * len(matching)))
            assert (np.abs(frequency - probability) <= bound).all()
            assert (frequency[probability == 0] == 0).all()


@pytest.mark.parametrize("name", ["asia", "child", "sachs"])
def test_sampled_frequencies(name):
    network = load_network(name)
    rows = network.sample(20_000, random_state=0)
    assert rows.dtype == np.int32
    check_frequencies(network, rows)
    np.testing.assert_array_equal(rows, network.sample(20_000, random_state=0))


def test_made_networks_have_their_frequencies():
    bunch = make_discrete_network(20_000, 8, n_levels=(2, 4), random_state=1)
    check_frequencies(bunch.network, bunch.data)


def test_first_parent_varies_fastest():
    network = load_network("asia")
    bronc, either, dysp = (network.names.index(x) for x in ("bronc", "either", "dysp"))
    assert network.parents[dysp].tolist() == [bronc, either]
    # Columns: both; no bronchitis but either disease; bronchitis alone; none.
    np.testing.assert_allclose(network.cpts[dysp][0], [0.9, 0.7, 0.8, 0.1])
    rows = network.sample(50_000, random_state=0)
    alone = rows[(rows[:, bronc] == 0) & (rows[:, either] == 1), dysp]
    # About 20 000 rows, standard error below 0.003.
    assert abs((alone == 0).mean() - 0.8) < 0.015


def test_sample_as_frame():
    network = load_network("child")
    rows = network.sample(50, random_state=1)
    frame = network.sample(50, random_state=1, as_frame=True)
    assert list(frame) == network.names
    for i, name in enumerate(frame):
        assert list(frame[name].cat.categories) == network.levels[i]
        np.testing.assert_array_equal(frame[name].cat.codes, rows[:, i])


def test_network_errors():
    with pytest.raises(ValueError, match=r"'name' parameter of load_network.*'asia'"):
        load_network("asian")
    with pytest.raises(ValueError, match="'n_samples' parameter"):
        load_network("asia").sample(0)

    good = {
        "names": ["a", "b"],
        "levels": [["x", "y"], ["x", "y"]],
        "parents": [[], [0]],
        "cpts": [[[0.5], [0.5]], [[0.1, 0.2], [0.9, 0.8]]],
    }
    DiscreteNetwork(**good)
    for changed, message in [
        ({"names": ["a", "a"]}, "names must differ"),
        ({"levels": [["x", "y"]]}, "levels must have one entry per variable"),
        ({"levels": [["x", "x"], ["x", "y"]]}, "levels of 'a' must differ"),
        ({"parents": [[], [2]]}, "parents of 'b' must be different numbers"),
        ({"parents": [[], [0, 0]]}, "parents of 'b' must be different numbers"),
        ({"parents": [[1], [0]]}, "cycle"),
        ({"parents": [[], []]}, r"table of 'b' must have shape \(2, 1\)"),
        (
            {"cpts": [[[0.5], [0.6]], [[0.1, 0.2], [0.9, 0.8]]]},
            "column of the table of 'a' must be a probability",
        ),
        (
            {"cpts": [[[1.5], [-0.5]], [[0.1, 0.2], [0.9, 0.8]]]},
            "column of the table of 'a' must be a probability",
        ),
    ]:
        with pytest.raises(ValueError, match=message):
            DiscreteNetwork(**{**good, **changed})


def test_load_asia():
    asia = load_asia()
    reference = pd.read_csv(DATA / "asia500.csv")
    np.testing.assert_array_equal(asia.data, reference)
    assert asia.feature_names == list(reference)
    np.testing.assert_array_equal(
        asia.adjacency, pd.read_csv(DATA / "asia500_dag.csv").astype(bool)
    )
    assert asia.levels == [["yes", "no"]] * 8
    # Codes are those of the levels: hardly anybody has been to Asia.
    assert (asia.data[:, 0] == 0).mean() < 0.05
    check_frequencies(load_network("asia"), asia.data)
    frame = load_asia(as_frame=True).data
    np.testing.assert_array_equal(frame["smoke"].cat.codes, asia.data[:, 2])


@pytest.mark.parametrize("max_parents", [0, 2, 5])
def test_no_node_has_more_than_max_parents(max_parents):
    kind = {"graph": "barabasi_albert", "power": 0.4, "random_state": 0}
    free = make_discrete_network(20, 100, **kind)
    limited = make_discrete_network(20, 100, max_parents=max_parents, **kind)
    n_parents = free.adjacency.sum(axis=0)
    assert n_parents.max() > 5
    assert (limited.adjacency <= free.adjacency).all()
    np.testing.assert_array_equal(
        limited.adjacency.sum(axis=0), np.minimum(n_parents, max_parents)
    )
    np.testing.assert_array_equal(limited.network.adjacency, limited.adjacency)


def test_a_given_graph_with_more_than_max_parents():
    collider = np.array([[0, 0, 1], [0, 0, 1], [0, 0, 0]])
    make_discrete_network(20, graph=collider, max_parents=2)
    with pytest.raises(ValueError, match="node 2 has 2 parents, more than max_parents"):
        make_discrete_network(20, graph=collider, max_parents=1)
