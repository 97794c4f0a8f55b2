"""The only module that knows causal-learn: its tests, its orientation, its GES.

causal-learn is imported when it is needed: importing it takes seconds, and a skeleton
from the compiled search does without.

A pair of nodes in causal-learn's graph has two end points: ``G.graph[i, j]`` is the end
at i of the edge between i and j, -1 a tail and 1 an arrowhead.
"""

import warnings
from collections import Counter
from contextlib import contextmanager
from functools import partial
from threading import Lock

import numpy as np
from sklearn.utils import check_random_state

from skbidag._parallel import in_turn

# Tests of causal-learn that need more than the data.
_NOT_FROM_DATA = {
    "d_separation": "needs the true graph",
    "mc_fisherz": "needs the graph of the missing values; use 'mv_fisherz'",
}

# Held while numpy's global generator is ours: fits in two threads would mix it up.
_GLOBAL_GENERATOR = Lock()


# The search ------------------------------------------------------------------


def find_skeleton(
    X,
    *,
    test,
    alpha,
    forbidden,
    required,
    max_conditioning=None,
    random_state=None,
    orient=False,
):
    """Let causal-learn find the skeleton, and orient it.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The data.
    test : str
        Name of a conditional independence test of causal-learn.
    alpha : float
        Significance level of the tests.
    forbidden, required : ndarray of bool, shape (n_features, n_features)
        The constraints; entry [i, j] concerns the edge i -> j.
    max_conditioning : int, default=None
        Largest size of a conditioning set.
    random_state : int, RandomState instance or None, default=None
        Seed of tests that draw random numbers.
    orient : bool, default=False
        Whether to orient the skeleton.

    Returns
    -------
    skeleton : ndarray of bool, shape (n_features, n_features)
        Which pairs are left.
    directed : ndarray of bool, shape (n_features, n_features)
        The CPDAG, or the skeleton if it is not oriented.
    separators : dict
        For each pair x < y that is not left, the sets that separate it.
    n_tests : list of int
        Number of tests for each size of the conditioning set.
    """
    from causallearn.utils.PCUtils.SkeletonDiscovery import skeleton_discovery

    # what causal-learn spreads over processes draws from their generators
    with _global_generator(random_state), in_turn():
        counted = _CountedTest(_make_test(X, test), required | required.T)
        graph = skeleton_discovery(
            X,
            alpha,
            counted,
            stable=True,
            background_knowledge=_background_knowledge(forbidden, required),
            verbose=False,
            show_progress=False,
            max_k=max_conditioning,
        )
    skeleton = graph.G.graph != 0
    separators = {
        (x, y): graph.sepset[x, y]
        for x, y in np.argwhere(np.triu(~skeleton, 1)).tolist()
        if graph.sepset[x, y] is not None
    }
    if orient:
        graph = _orient(graph, forbidden, required)
    n_depths = max(counted.n_tests, default=-1) + 1
    n_tests = [counted.n_tests[depth] for depth in range(n_depths)]
    return skeleton, _to_directed(graph.G.graph, skeleton), separators, n_tests


@contextmanager
def _global_generator(random_state):
    """Seed numpy's global generator, from which causal-learn draws, for a while."""
    seed = check_random_state(random_state).randint(np.iinfo(np.int32).max)
    with _GLOBAL_GENERATOR:
        before = np.random.get_state()  # noqa: NPY002
        np.random.seed(seed)  # noqa: NPY002
        try:
            yield
        finally:
            np.random.set_state(before)  # noqa: NPY002


def _make_test(X, test):
    from causallearn.utils.cit import CIT

    if test in _NOT_FROM_DATA:
        raise ValueError(f"test={test!r} {_NOT_FROM_DATA[test]}.")
    try:
        return CIT(X, test)
    except ValueError as error:
        if "Unknown method" not in str(error):
            raise
        raise ValueError(
            f"test={test!r} is not one of 'fisherz', 'chisq', 'gsq' or another "
            "conditional independence test of causal-learn, such as 'mv_fisherz', "
            "'kci' or 'rcit'."
        ) from None


class _CountedTest:
    """A test of causal-learn that counts its calls and never removes kept pairs."""

    def __init__(self, test, kept):
        self.test = test
        self.kept = kept
        self.method = test.method
        self.n_tests = Counter()

    def __call__(self, x, y, conditioning):
        if self.kept[x, y]:
            return 0.0
        self.n_tests[len(conditioning)] += 1
        return self.test(x, y, conditioning)


def _background_knowledge(forbidden, required):
    """Give causal-learn the constraints, or None if there are none."""
    from causallearn.utils.PCUtils.BackgroundKnowledge import BackgroundKnowledge

    if not (forbidden.any() or required.any()):
        return None
    number = {name: i for i, name in enumerate(_node_names(len(forbidden)))}

    def look_up(edges, node1, node2):
        return bool(edges[number[node1.get_name()], number[node2.get_name()]])

    knowledge = BackgroundKnowledge()
    # causal-learn scans a list of all rules at each question and takes no subclass.
    knowledge.is_forbidden = partial(look_up, forbidden)
    knowledge.is_required = partial(look_up, required)
    return knowledge


def _node_names(n_features):
    """Names that causal-learn gives to nodes."""
    return [f"X{i + 1}" for i in range(n_features)]


# Greedy equivalence search ---------------------------------------------------


def greedy_equivalence_search(X, penalty):
    """The CPDAG that causal-learn's GES finds.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Floats, which are scored by BIC, or codes of categories, by BDeu. No column is
        constant.
    penalty : float
        The price of a parameter in BIC, over the logarithm of the number of rows.

    Returns
    -------
    cpdag : ndarray of bool, shape (n_features, n_features)
        [i, j] without [j, i] is the edge i -> j.
    """
    from causallearn.search.ScoreBased.GES import ges

    n_features = X.shape[1]
    if X.dtype.kind == "f":
        how = {
            "score_func": "local_score_BIC",
            "parameters": {"lambda_value": penalty},
        }
    elif n_features == 2:
        # the prior of its BDeu has no number for this: the pair is left to the score
        return ~np.eye(2, dtype=bool)
    else:
        how = {"score_func": "local_score_BDeu"}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The number of features is much larger")
        graph = ges(X, **how)["G"]
    return _to_directed(graph.graph, graph.graph != 0)


# Orientation -----------------------------------------------------------------


def orient_skeleton(skeleton, separators, forbidden, required):
    """Orient a skeleton that was found elsewhere, by causal-learn's rules.

    Parameters
    ----------
    skeleton : ndarray of bool, shape (n_features, n_features)
        Which pairs are joined.
    separators : dict
        For each pair x < y that is not joined, the sets that separate it.
    forbidden, required : ndarray of bool, shape (n_features, n_features)
        The constraints; entry [i, j] concerns the edge i -> j.

    Returns
    -------
    directed : ndarray of bool, shape (n_features, n_features)
        The CPDAG: [i, j] without [j, i] is the edge i -> j.
    """
    graph = to_causal_graph(skeleton, separators)
    oriented = orient_quickly(graph, forbidden, required)
    return _to_directed(oriented.G.graph, skeleton)


def oriented_graph(skeleton, separators, forbidden, required, names=None):
    """causal-learn's graph of a skeleton that was found elsewhere, oriented.

    Parameters
    ----------
    skeleton, separators, forbidden, required
        As in :func:`orient_skeleton`.
    names : sequence of str, default=None
        Names of the nodes; None for causal-learn's own, X1, X2, ...

    Returns
    -------
    graph : causallearn.graph.GraphClass.CausalGraph
        What causal-learn's ``pc`` returns, but for the test and the time.
    """
    quick = orient_quickly(to_causal_graph(skeleton, separators), forbidden, required)
    graph = to_causal_graph(skeleton, separators, names)
    graph.G.graph[:] = quick.G.graph
    graph.G.dpath[:] = quick.G.dpath
    graph.definite_UC = quick.definite_UC
    graph.definite_non_UC = quick.definite_non_UC
    return graph


def to_causal_graph(skeleton, separators, names=None):
    """Fill a causal-learn graph, past its constructor's object for every pair."""
    from causallearn.graph.GeneralGraph import GeneralGraph
    from causallearn.graph.GraphClass import CausalGraph
    from causallearn.graph.GraphNode import GraphNode

    names = _node_names(len(skeleton)) if names is None else names
    graph = CausalGraph(0)
    graph.G = GeneralGraph([GraphNode(str(name)) for name in names])
    graph.G.graph[skeleton] = -1
    graph.sepset = np.empty(skeleton.shape, dtype=object)
    for (x, y), sets in separators.items():
        graph.sepset[x, y] = sets
        graph.sepset[y, x] = list(sets)
    return graph


def orient_quickly(graph, forbidden, required):
    """Orient with causal-learn's rules on a graph that keeps its books with numpy.

    For each arrow causal-learn visits all pairs of nodes in Python, and each set of
    rules copies all separating sets: 10 s at 200 variables, 1 s this way.
    """
    from causallearn.graph.GeneralGraph import GeneralGraph

    class QuickGraph(GeneralGraph):
        def adjust_dpath(self, i, j):
            self.dpath[j, i] = 1
            self.dpath[j] |= self.dpath[i]
            self.dpath[:, i] |= self.dpath[:, j]

        def get_graph_edges(self):
            # In the order of the original, where all edges have two plain ends.
            pairs = np.argwhere(np.triu(self.graph != 0))
            return [self.get_edge(self.nodes[i], self.nodes[j]) for i, j in pairs]

    graph.G.__class__ = QuickGraph
    graph.sepset = graph.sepset.view(_NotCopied)
    return _orient(graph, forbidden, required)


class _NotCopied(np.ndarray):
    """An array that a deep copy of its owner shares."""

    def __deepcopy__(self, memo):
        return self


def _orient(graph, forbidden, required):
    """Orient a skeleton as causal-learn's ``pc`` does by default."""
    from causallearn.utils.PCUtils import Meek, UCSepset
    from causallearn.utils.PCUtils.BackgroundKnowledgeOrientUtils import (
        orient_by_background_knowledge,
    )

    knowledge = _background_knowledge(forbidden, required)
    if knowledge is not None:
        orient_by_background_knowledge(graph, knowledge)
    # 2: a collider does not turn an edge that an earlier one has oriented.
    graph = UCSepset.uc_sepset(graph, 2, background_knowledge=knowledge)
    return Meek.meek(graph, background_knowledge=knowledge)


def _to_directed(ends, skeleton):
    """Read the CPDAG, where [i, j] is i -> j, from causal-learn's end points."""
    # What is not an arrow one way is left open.
    arrow = (ends == -1) & (ends.T == 1)
    return skeleton & ~arrow.T
