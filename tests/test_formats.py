"""Other programs' formats: what is written is read again, and by these programs."""

import xml.etree.ElementTree as ElementTree

import networkx
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from helpers import graph, quick, random_dag
from skbidag import OrderMCMCStructure
from skbidag.datasets import DiscreteNetwork, load_asia, load_network
from skbidag.formats import (
    from_bif,
    from_dagitty,
    from_graphml,
    from_modelstring,
    from_pgmpy,
    to_bif,
    to_dagitty,
    to_graphml,
    to_modelstring,
    to_pgmpy,
)
from skbidag.graphs import from_networkx, to_cpdag
from skbidag.metrics import structural_hamming_distance

NAMES = ["rain", "wet grass", "x[t-1]", "3rd", "dag", "a.b_c"]


def frame(A, names):
    return pd.DataFrame(A, index=names, columns=names)


def aligned(read, names):
    return read.loc[names, names].to_numpy()


def assert_same_network(one, other):
    assert one.names == other.names
    assert one.levels == other.levels
    assert_array_equal(one.adjacency, other.adjacency)
    for node in range(len(one.names)):
        assert_array_equal(one.parents[node], other.parents[node])
        assert_allclose(one.cpts[node], other.cpts[node], atol=1e-15)


# -------------------------------------------------------------------------- graphs


@pytest.mark.parametrize(
    ("write", "read"),
    [
        (to_modelstring, from_modelstring),
        (to_dagitty, from_dagitty),
        (to_graphml, from_graphml),
    ],
)
def test_dags_round_trip(write, read):
    rng = np.random.default_rng(0)
    names = NAMES if write is not to_modelstring else [*"abcd", "e f", "g.h_i-j"]
    for density in (0.0, 0.3, 1.0):
        A = random_dag(rng, 6, density)
        for text in (write(A, names), write(frame(A, names))):
            found = read(text)
            assert set(found.columns) == set(names)
            assert_array_equal(aligned(found, names), A)
            # a labelled frame goes wherever a graph does
            assert structural_hamming_distance(found, frame(A, names)) == 0
    assert set(read(write(np.zeros((2, 2)))).columns) == {"X0", "X1"}


@pytest.mark.parametrize(
    ("write", "read"), [(to_dagitty, from_dagitty), (to_graphml, from_graphml)]
)
def test_cpdags_round_trip(write, read):
    rng = np.random.default_rng(1)
    for _ in range(5):
        G = to_cpdag(random_dag(rng, 6, 0.4))
        assert_array_equal(aligned(read(write(G, NAMES)), NAMES), G)


def test_all_graphs_that_fit_have_names_that_differ():
    for write in (to_modelstring, to_dagitty, to_graphml):
        with pytest.raises(ValueError, match="names must differ"):
            write(graph(2, (0, 1)), ["a", "a"])
        with pytest.raises(ValueError, match="one entry per node"):
            write(graph(2, (0, 1)), ["a"])
        with pytest.raises(ValueError, match="square"):
            write(np.zeros((2, 3)))


def test_no_cycles_where_dags_are_meant():
    cycle = graph(3, (0, 1), (1, 2), (2, 0))
    for write in (to_modelstring, to_dagitty):
        with pytest.raises(ValueError, match="cycle"):
            write(cycle)
    with pytest.raises(ValueError, match="undirected"):
        to_modelstring(graph(2, (0, 1), (1, 0)))
    with pytest.raises(ValueError, match="cycle"):
        from_modelstring("[a|b][b|a]")
    with pytest.raises(ValueError, match="cycle"):
        from_dagitty("dag { a -> b -> a }")


def test_modelstring_is_bnlearns():
    # the example of bnlearn's documentation of its survey network
    text = "[A][S][E|A:S][O|E][R|E][T|O:R]"
    survey = load_network("survey")
    assert_array_equal(aligned(from_modelstring(text), survey.names), survey.adjacency)
    # parents in the order of the nodes, nodes in topological order
    assert to_modelstring(from_modelstring(text)) == text


def test_modelstring_names_without_its_signs():
    text = to_modelstring(graph(3, (0, 1)), ["x[t-1]", "a:b", "x_t-1_"])
    assert text == "[x_t-1__2][a_b|x_t-1__2][x_t-1_]"


@pytest.mark.parametrize("text", ["", "a|b", "[a][b|a", "[a][]", "[a] [b]x"])
def test_modelstrings_that_are_none(text):
    with pytest.raises(ValueError, match="A model string is of nodes"):
        from_modelstring(text)


def test_modelstrings_with_unknown_or_double_nodes():
    with pytest.raises(ValueError, match="'c' of 'b'"):
        from_modelstring("[a][b|a:c]")
    with pytest.raises(ValueError, match="twice"):
        from_modelstring("[a][a]")


def test_dagitty_as_its_page_writes_it():
    text = """dag {
    bb="-2.5,-2,2.5,2"
    "wet grass" [outcome,pos="1.0,0.5"]
    Rain [exposure, pos="-1.0,0.5"]
    Hose [pos="0.1,-1"] // not observed
    Rain -> "wet grass" [beta=0.4]
    Hose -> "wet grass"; Rain <- Season -> Hose
    }
    """
    found = from_dagitty(text)
    assert list(found.columns) == ["wet grass", "Rain", "Hose", "Season"]
    assert_array_equal(found, graph(4, (1, 0), (2, 0), (3, 1), (3, 2)))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is 'dag"),
        ("mag { a -> b }", "is 'dag"),
        ("dag a -> b", "is 'dag"),
        ("dag { {a b} -> c }", "without braces inside"),
        ("dag { a <-> b }", "'<->' in the DAGitty graph"),
        ("dag { -> b }", "'->' in the DAGitty graph"),
        ("dag { a -> }", "ends with '->'"),
        ("dag { a > b }", "cannot be read from"),
    ],
)
def test_dagitty_that_cannot_be_read(text, message):
    with pytest.raises(ValueError, match=message):
        from_dagitty(text)


def test_graphml_declares_numbers():
    """As Cytoscape wants them: a key with a type for each attribute, no NaN."""
    asia = load_asia(as_frame=True).data.iloc[:, 2:]
    model = quick(OrderMCMCStructure).fit(asia)
    network = model.to_networkx()
    first = next(iter(network.edges))
    del network.edges[first]["effect"]
    root = ElementTree.fromstring(to_graphml(network))
    space = "{http://graphml.graphdrawing.org/xmlns}"
    keys = {
        (key.get("for"), key.get("attr.name")): key.get("attr.type")
        for key in root.iter(f"{space}key")
    }
    assert keys == {
        ("node", "name"): "string",
        ("node", "label"): "string",
        ("edge", "probability"): "double",
        ("edge", "error"): "double",
        ("edge", "rhat"): "double",
        ("edge", "effect"): "double",
    }
    assert root.find(f"{space}graph").get("edgedefault") == "directed"
    back = networkx.parse_graphml(to_graphml(network))
    assert {e: back.edges[e] for e in back.edges} == dict(network.edges)
    assert "name" not in network.nodes[first[0]]  # the graph itself stays as it was


def test_graphml_of_others():
    text = to_graphml(networkx.Graph([(0, 1), (1, 2)]))
    found = from_graphml(text)
    assert list(found.columns) == ["X0", "X1", "X2"]
    assert_array_equal(found, graph(3, (0, 1), (1, 0), (1, 2), (2, 1)))
    with pytest.raises(ValueError, match="not GraphML"):
        from_graphml("<graphml>")
    with pytest.raises(ValueError, match="not GraphML"):
        from_graphml("<html></html>")


# ----------------------------------------------------------------------------- BIF


@pytest.mark.parametrize("name", ["asia", "sachs", "child", "alarm"])
def test_bif_round_trips(name):
    network = load_network(name)
    assert_same_network(from_bif(to_bif(network)), network)


def test_bif_as_others_write_it():
    network = from_bif(
        """
        // a comment
        network "x" { property "made by hand"; }
        variable rain { type discrete[2] { no, yes }; property "position = (1, 2)"; }
        variable "wet" { type discrete [ 3 ] { dry, "damp", wet }; }
        /* another
           one */
        probability ( rain ) { table 0.8 0.2; }
        probability ( wet | rain ) { default 0.9, 0.1, 0; (yes) 0.1, 0.2, 0.7; }
        """
    )
    assert network.levels == [["no", "yes"], ["dry", "damp", "wet"]]
    assert_array_equal(network.adjacency, graph(2, (0, 1)))
    assert_allclose(network.cpts[1].T, [[0.9, 0.1, 0.0], [0.1, 0.2, 0.7]])


def test_bif_tables_of_several_variables():
    """Of all combinations the last one's level changes fastest, the child's slowest."""
    text = to_bif(load_network("cancer"))
    network = from_bif(text)
    place = network.names.index("Cancer")
    body = text.split("probability ( Cancer | Pollution, Smoker ) {")[1].split("}")[0]
    table = network.cpts[place].reshape(2, 2, 2, order="F")
    numbers = ", ".join(map(str, table.ravel()))
    other = from_bif(text.replace(body, f" table {numbers}; "))
    assert_same_network(network, other)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("variable", "thing", "no discrete variables"),
        ("(yes) 0.0", "(maybe) 0.0", "no level 'maybe' of 'asia'"),
        ("(yes) 0.0", "(yes, no) 0.0", "2 levels of the 1 parents of 'tub'"),
        ("( tub | asia )", "( tub | africa )", "no variable 'africa'"),
        ("(yes) 0.05, 0.95", "(yes) 0.05", "1 probabilities of 'tub' where 2"),
        ("(yes) 0.05", "(yes) much", "'much' of 'tub', not a number"),
        ("  (yes) 0.05, 0.95;\n", "", "lacks probabilities of 'tub'"),
        ("probability ( tub", "chance ( tub", "no probabilities of 'tub'"),
    ],
)
def test_bif_that_cannot_be_read(old, new, message):
    text = to_bif(load_network("asia"))
    assert old in text
    with pytest.raises(ValueError, match=message):
        from_bif(text.replace(old, new, 1 if old != "variable" else -1))


def test_bif_names_that_others_can_read():
    network = DiscreteNetwork(
        ["NK cells", "a,b", "NK_cells"],
        [["< 5", ">= 5"], ["1//", "2"], ["no", "yes (sure)"]],
        [[], [0], []],
        [[[0.5], [0.5]], [[0.1, 0.2], [0.9, 0.8]], [[0.4], [0.6]]],
    )
    found = from_bif(to_bif(network))
    assert found.names == ["NK_cells_2", "a_b", "NK_cells"]
    assert found.levels == [["<_5", ">=_5"], ["1_/", "2"], ["no", "yes__sure_"]]
    assert_allclose(found.cpts[1], network.cpts[1])


def test_bif_is_for_discrete_networks():
    X = np.random.default_rng(0).normal(size=(30, 2))
    model = quick().fit(X)
    with pytest.raises(ValueError, match="'bif' is for categorical data"):
        model.export("bif")
    with pytest.raises(TypeError, match="GaussianNetwork"):
        to_bif(model.parameters("best").network())


# --------------------------------------------------------------------------- pgmpy


@pytest.fixture
def pgmpy():
    return pytest.importorskip("pgmpy")


def assert_pgmpy_has(model, network):
    """Node by node, level by level: that of pgmpy knows levels by their names."""
    assert set(model.nodes()) == set(network.names)
    assert_array_equal(from_networkx(model, network.names), network.adjacency)
    assert model.check_model()
    for node, name in enumerate(network.names):
        table = model.get_cpds(name)
        parents = network.parents[node]
        sizes = [len(network.levels[i]) for i in parents]
        for column, probabilities in enumerate(network.cpts[node].T):
            codes = np.unravel_index(column, sizes, order="F") if sizes else ()
            given = {
                network.names[i]: network.levels[i][code]
                for i, code in zip(parents, codes, strict=True)
            }
            for level, p in zip(network.levels[node], probabilities, strict=True):
                assert abs(table.get_value(**{name: level}, **given) - p) < 1e-9


@pytest.mark.slow
def test_pgmpy_reads_what_is_written(pgmpy):
    BIFReader = pytest.importorskip("pgmpy.readwrite").BIFReader
    network = load_network("asia")
    assert_pgmpy_has(BIFReader(string=to_bif(network)).get_model(), network)


@pytest.mark.slow
def test_pgmpy_reads_signs_in_levels(pgmpy):
    BIFReader = pytest.importorskip("pgmpy.readwrite").BIFReader
    network = DiscreteNetwork(
        ["a.b", "c-d"],
        [["<5", ">=5", "+", "1.5e-3"], ["high-risk", "low/risk"]],
        [[], [0]],
        [np.full((4, 1), 0.25), [[0.1, 0.2, 0.3, 0.4], [0.9, 0.8, 0.7, 0.6]]],
    )
    assert_pgmpy_has(BIFReader(string=to_bif(network)).get_model(), network)


@pytest.mark.parametrize("name", ["asia", "sachs", "survey"])
def test_pgmpy_models_round_trip(pgmpy, name):
    network = load_network(name)
    model = to_pgmpy(network)
    assert_pgmpy_has(model, network)
    back = from_pgmpy(model)
    assert back.names == network.names
    assert_pgmpy_has(model, back)


def test_pgmpy_of_a_fit(pgmpy):
    asia = load_asia(as_frame=True)
    model = quick().fit(asia.data)
    network = model.parameters("best").network()
    assert_pgmpy_has(to_pgmpy(network), network)
    X = np.random.default_rng(0).normal(size=(100, 3)) @ np.triu(np.ones((3, 3)))
    fitted = quick().fit(pd.DataFrame(X, columns=list("abc")))
    network = fitted.parameters("best").network()
    joint = to_pgmpy(network)
    assert_array_equal(from_networkx(joint, list("abc")), fitted.adjacency_)
    for node, name in enumerate("abc"):
        parents = np.flatnonzero(fitted.adjacency_[:, node])
        regression = joint.get_cpds(name)
        assert list(regression.evidence) == ["abc"[i] for i in parents]
        expected = [network.intercepts[node], *network.coefficients[parents, node]]
        assert_allclose(regression.beta, expected)
        assert_allclose(regression.std**2, network.variances[node])


def test_pgmpy_without_tables(pgmpy):
    models = pytest.importorskip("pgmpy.models")
    with pytest.raises(ValueError, match="no table of probabilities of 'a'"):
        from_pgmpy(models.DiscreteBayesianNetwork([("a", "b")]))
    with pytest.raises(TypeError, match="got ndarray"):
        to_pgmpy(graph(2))


def test_pgmpy_is_asked_for(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pgmpy", None)
    with pytest.raises(ImportError, match=r"skbidag\[pgmpy\]"):
        to_pgmpy(load_network("asia"))


# ----------------------------------------------------------------------- estimators


def test_export_of_the_best_dag():
    asia = load_asia(as_frame=True)
    model = quick().fit(asia.data)
    names = asia.feature_names
    for name, read in (
        ("modelstring", from_modelstring),
        ("dagitty", from_dagitty),
        ("graphml", from_graphml),
    ):
        found = read(model.export(name))
        assert_array_equal(aligned(found, names), model.adjacency_)
    network = from_bif(model.export("bif"))
    assert_same_network(network, model.parameters("best").network())
    with pytest.raises(ValueError, match="format must be one of 'bif'"):
        model.export("xls")


def test_export_without_names():
    X = np.random.default_rng(0).integers(2, size=(40, 3))
    model = quick().fit(X)
    assert list(from_dagitty(model.export("dagitty")).columns) == ["X0", "X1", "X2"]
    assert set(from_modelstring(model.export("modelstring"))) == {"X0", "X1", "X2"}
    assert list(from_graphml(model.export("graphml")).columns) == ["X0", "X1", "X2"]
    assert from_bif(model.export("bif")).names == ["X0", "X1", "X2"]


def test_text_is_asked_for(tmp_path):
    for read in (from_bif, from_dagitty, from_graphml, from_modelstring):
        with pytest.raises(TypeError, match="what is in the file, got PosixPath"):
            read(tmp_path)
