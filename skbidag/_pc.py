"""PC through causal-learn, with a compiled search for the skeleton.

This is the one module that knows causal-learn. The PC algorithm (Spirtes, Glymour &
Scheines 2000, in the order-independent form of Colombo & Maathuis, JMLR 2014) starts
from the complete graph. At depth l = 0, 1, ... it removes every edge x - y for which x
and y are independent given some l neighbors of x or of y, the neighborhoods being
those at the start of the depth. Then it orients.

The first part takes nearly all the time. For Fisher's z, chi-square and G² the
kernels in ``_core/_pc.pyx`` do it, one call for each node and depth, and their result
goes into a causal-learn ``CausalGraph``; causal-learn orients it. Any other test runs
in causal-learn alone. causal-learn is imported when it is needed: importing it takes
seconds, and a skeleton from the kernels does without.
"""

import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np
from scipy.special import chdtri, comb, ndtri

from skbidag._core._pc import separate_discrete, separate_gaussian
from skbidag._data import check_weights
from skbidag._parallel import run_threads

# Share of a variable's variance below which it counts as determined by others. The
# rounding error of a residual variance is some 1e-15, so above this the partial
# correlation still has a few correct digits.
_TOLERANCE = 1e-12

# Nanoseconds of work at a depth below which threads cost more than they bring.
_WORTH_THREADS = 5e7

# Tests of causal-learn that need more than the data.
_NOT_FROM_DATA = {
    "d_separation": "needs the true graph",
    "mc_fisherz": "needs the graph of the missing values; use 'mv_fisherz'",
}


@dataclass(eq=False)
class PCResult:
    """What PC found.

    Attributes
    ----------
    skeleton : ndarray of shape (n_features, n_features), bool
        Symmetric; ``skeleton[i, j]`` tells whether there is an edge between i and j.
    directed : ndarray of shape (n_features, n_features), bool
        The CPDAG: ``directed[i, j]`` without ``directed[j, i]`` is the edge i -> j,
        both are an edge without direction. The skeleton if it was not oriented.
    n_tests : list of int
        Number of independence tests for each size of the conditioning set.
    causal_graph : causallearn.graph.GraphClass.CausalGraph
        The graph as causal-learn holds it, with separating sets; oriented if that was
        asked for. Otherwise it is made at the first access, which repeats the search
        to collect the separating sets.
    """

    skeleton: np.ndarray
    directed: np.ndarray
    n_tests: list
    _make_causal_graph: Callable[[], Any] = field(repr=False)

    @cached_property
    def causal_graph(self):
        """Graph as causal-learn holds it."""
        return self._make_causal_graph()


def pc_skeleton(
    X,
    *,
    alpha,
    test="fisherz",
    sample_weight=None,
    forbidden=None,
    required=None,
    max_conditioning=None,
    n_jobs=None,
    accelerate=True,
    orient=False,
):
    """Skeleton of a Bayesian network by PC-stable, and its orientation.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The data. For ``"chisq"`` and ``"gsq"`` each distinct value of a column is one
        of its levels.
    alpha : float
        Significance level of the tests, between 0 and 1. An edge goes when the
        p-value of one of its tests is larger.
    test : str, default="fisherz"
        ``"fisherz"`` for continuous data, ``"chisq"`` or ``"gsq"`` for discrete data,
        or the name of any other test of causal-learn (``"mv_fisherz"``, ``"kci"``,
        ``"rcit"``, ...), which then runs there.
    sample_weight : array-like of shape (n_samples,), default=None
        How often each row counts. The sample size is their sum. Tests that run in
        causal-learn need whole numbers.
    forbidden : array-like of shape (n_features, n_features), default=None
        ``forbidden[i, j]`` bans the edge i -> j. A pair with both directions banned
        is not tested and not in the skeleton. One banned direction shows in
        `directed` only.
    required : array-like of shape (n_features, n_features), default=None
        ``required[i, j]`` requires the edge i -> j: the pair is not tested and is in
        the skeleton, and the edge is oriented so.
    max_conditioning : int, default=None
        Largest size of a conditioning set. No limit by default.
    n_jobs : int, default=None
        Number of threads over the nodes, for the compiled search. The result does not
        depend on it.
    accelerate : bool, default=True
        Whether the compiled search takes the place of causal-learn's. False runs
        causal-learn as it is.
    orient : bool, default=False
        Whether to orient the skeleton by causal-learn's rules (unshielded colliders
        by separating sets, existing ones first; then Meek's rules).

    Returns
    -------
    result : PCResult
        The skeleton, the CPDAG, the numbers of tests and causal-learn's graph.

    Notes
    -----
    The skeleton is that of causal-learn's ``skeleton_discovery`` with
    ``stable=True``, and the orientation that of its ``pc``. For this the separating
    sets are kept as there: of an edge x - y, the union of *all* sets that separate it
    at the depth where it goes, from either side. So a common neighbor becomes a
    collider only if no such set has it, which does not depend on the order of the
    columns. As in causal-learn, a pair banned in both directions counts as separated
    by the empty set, so its common neighbors can become colliders.

    Degenerate data, where causal-learn fails or compares with NaN:

    - Fisher's z: a constant column is independent of everything.
    - Fisher's z: if a variable of a test is a linear function of the others in it
      (duplicated columns, a singular correlation matrix), the test says nothing and
      removes no edge. So duplicates stay connected and have the same neighbors.
    - Fisher's z: a test without degrees of freedom (sample size - set size - 3 <= 0)
      removes no edge, so the search ends there. (causal-learn takes p = 1 if they are
      exactly 0, and fails below.)
    - chi-square, G²: only observed rows and columns of the table of an observed
      configuration count for the degrees of freedom, and with none left, p = 1, as in
      causal-learn. So a constant column is independent of everything.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((500, 3))
    >>> X[:, 1] += X[:, 0] + X[:, 2]
    >>> pc_skeleton(X, alpha=0.01).skeleton.astype(int)
    array([[0, 1, 0],
           [1, 0, 1],
           [0, 1, 0]])
    """
    X = np.asarray(X)
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions, got {X.ndim}.")
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must be between 0 and 1, got {alpha!r}.")
    if max_conditioning is not None and max_conditioning < 0:
        raise ValueError(
            f"max_conditioning must not be negative, got {max_conditioning!r}."
        )
    n_features = X.shape[1]
    forbidden = _check_edges(forbidden, n_features, "forbidden")
    required = _check_edges(required, n_features, "required")
    _check_contradictions(forbidden, required)
    X, sample_weight = _check_weight(X, sample_weight)

    make_test = {
        "fisherz": _FisherZ,
        "chisq": partial(_Contingency, likelihood_ratio=False),
        "gsq": partial(_Contingency, likelihood_ratio=True),
    }.get(test)
    if test in ("chisq", "gsq"):
        X = _encode(X)
    if accelerate and make_test is not None:
        search = partial(
            _compiled_search,
            make_test(X, sample_weight, alpha),
            forbidden & forbidden.T,
            required | required.T,
            max_conditioning,
            n_jobs,
        )
        skeleton, separators, n_tests = search(collect=orient)
        # causal-learn's tests know no weights; the graph then goes without one.
        tested = (X, test) if sample_weight is None else None
        if not orient:
            make_graph = partial(_search_to_causal_graph, search, tested)
            return PCResult(skeleton, skeleton.copy(), n_tests, make_graph)
        graph = _to_causal_graph(skeleton, separators, tested)
        graph = _orient_quickly(graph, forbidden, required)
    else:
        graph, n_tests = _causal_learn_search(
            X, alpha, test, sample_weight, forbidden, required, max_conditioning
        )
        skeleton = graph.G.graph != 0
        if orient:
            graph = _orient(graph, forbidden, required)
    result = PCResult(skeleton, _to_directed(graph, skeleton), n_tests, None)
    result.causal_graph = graph
    return result


# Input -----------------------------------------------------------------------


def _check_edges(edges, n_features, name):
    if edges is None:
        return np.zeros((n_features, n_features), dtype=bool)
    edges = np.array(edges, dtype=bool)
    if edges.shape != (n_features, n_features):
        raise ValueError(
            f"{name} must have shape ({n_features}, {n_features}), got {edges.shape}."
        )
    np.fill_diagonal(edges, False)
    return edges


def _check_contradictions(forbidden, required):
    for reason, clash in (
        ("required and forbidden", required & forbidden),
        ("required in both directions", required & required.T),
    ):
        if clash.any():
            edges = ", ".join(f"{i} -> {j}" for i, j in np.argwhere(clash))
            raise ValueError(f"Edges are {reason}: {edges}.")


def _check_weight(X, sample_weight):
    """Validate the weights, and drop the rows that do not count."""
    if sample_weight is None:
        if not len(X):
            raise ValueError("X has no rows.")
        return X, None
    sample_weight = check_weights(sample_weight, len(X))
    counts = sample_weight > 0
    return X[counts], sample_weight[counts]


def _encode(X):
    """Replace the values of each column by the numbers of its levels."""
    codes = np.empty(X.shape, dtype=np.intc)
    for j, column in enumerate(X.T):
        if (column != column).any():
            raise ValueError(f"Column {j} of X has missing values.")
        codes[:, j] = np.unique(column, return_inverse=True)[1]
    return codes


# The compiled search ---------------------------------------------------------


class _FisherZ:
    """Fisher's z test of zero partial correlation."""

    def __init__(self, X, sample_weight, alpha):
        X = X.astype(np.float64)
        bad = np.flatnonzero(~np.isfinite(X).all(axis=0))
        if bad.size:
            raise ValueError(f"Column {bad[0]} of X has missing or infinite values.")
        weight = np.ones(len(X)) if sample_weight is None else sample_weight
        self.n_samples = weight.sum()
        self.correlation = _correlation(X, weight)
        self.quantile = -ndtri(alpha / 2)
        self.cost = 1.5  # nanoseconds per test, roughly

    def prepare(self, depth):
        """Work out the critical correlation, or return False if there is none."""
        freedom = self.n_samples - depth - 3
        if freedom > 0:
            self.critical = np.tanh(self.quantile / np.sqrt(freedom))
        return freedom > 0

    def separate(self, x, neighbors, wanted, depth, collect):
        if depth == 0:
            separated = np.abs(self.correlation[x, neighbors]) < self.critical
            return separated & wanted, None, np.count_nonzero(wanted)
        return separate_gaussian(
            self.correlation,
            x,
            neighbors,
            wanted,
            depth,
            self.critical,
            _TOLERANCE,
            collect,
        )


def _correlation(X, weight):
    """Correlation matrix of weighted rows; a constant column has correlations 0."""
    constant = X.max(axis=0) == X.min(axis=0)
    # By powers of two, which rounds nothing: a sum of large numbers may overflow.
    X = np.ldexp(X, -np.frexp(np.abs(X).max(axis=0))[1])
    centered = X - np.average(X, axis=0, weights=weight)
    centered[:, constant] = 0.0
    # The largest entry first: the sum of squares must neither over- nor underflow.
    centered /= _nonzero(np.abs(centered).max(axis=0))
    centered /= _nonzero(np.sqrt(weight @ centered**2))
    correlation = np.clip((centered * weight[:, None]).T @ centered, -1.0, 1.0)
    correlation = (correlation + correlation.T) / 2
    np.fill_diagonal(correlation, 1.0)
    return correlation


def _nonzero(size):
    return np.where(size > 0, size, 1.0)


class _Contingency:
    """Pearson's chi-square or the G² test on contingency tables."""

    def __init__(self, codes, sample_weight, alpha, likelihood_ratio):
        n_samples = len(codes)
        self.codes = np.ascontiguousarray(codes.T)
        self.n_levels = codes.max(axis=0, initial=0).astype(np.intc) + np.intc(1)
        self.weight = np.ones(n_samples) if sample_weight is None else sample_weight
        self.alpha = alpha
        self.likelihood_ratio = likelihood_ratio
        self.critical = np.array([np.inf])
        self.cost = 1.5 * n_samples

    def prepare(self, depth):
        """Have critical values for all degrees of freedom that may come up."""
        levels = np.sort(self.n_levels)[::-1].astype(float)
        first, second = levels[:2] - 1
        # Two bounds: all tables full, and all tables as wide as they have rows.
        most = min(
            np.prod(levels[:depth]) * first * second, (len(self.weight) - 1) * second
        )
        have = len(self.critical)
        if most >= have:
            freedom = np.arange(have, int(most) + 1)
            self.critical = np.append(self.critical, chdtri(freedom, self.alpha))
        return True

    def separate(self, x, neighbors, wanted, depth, collect):
        return separate_discrete(
            self.codes,
            self.n_levels,
            self.weight,
            x,
            neighbors,
            wanted,
            depth,
            self.critical,
            self.likelihood_ratio,
            collect,
        )


def _compiled_search(test, banned, kept, max_conditioning, n_jobs, collect):
    """PC-stable from the complete graph.

    Parameters
    ----------
    test : _FisherZ or _Contingency
        Tests the edges of one node at one depth.
    banned, kept : ndarray of shape (n_features, n_features), bool
        Symmetric; pairs that are never, or always, in the skeleton.
    max_conditioning : int or None
        Largest depth.
    n_jobs : int or None
        Number of threads.
    collect : bool
        Whether to return separating sets.

    Returns
    -------
    skeleton : ndarray of shape (n_features, n_features), bool
        Which pairs are left.
    separators : dict or None
        For each pair x < y that is not left, the sets found at x and at y.
    n_tests : list of int
        Number of tests at each depth.
    """
    n_features = len(banned)
    adjacent = ~(banned | np.eye(n_features, dtype=bool))
    separators = {tuple(pair): [(), ()] for pair in np.argwhere(np.triu(banned))}
    n_tests = []
    depth = 0
    while max_conditioning is None or depth <= max_conditioning:
        wanted = adjacent & ~kept
        nodes = np.flatnonzero((adjacent.sum(axis=1) > depth) & wanted.any(axis=1))
        if not nodes.size or not test.prepare(depth):
            break
        if depth == 0:
            # Given nothing, x with y is y with x.
            wanted = np.triu(wanted)
        share = partial(_separate_node, test, adjacent, wanted, depth, collect)
        degrees = adjacent[nodes].sum(axis=1)
        work = test.cost * np.sum(degrees * comb(degrees, depth))
        found = run_threads(share, nodes, n_jobs if work > _WORTH_THREADS else 1)
        n_tests.append(int(sum(count for *_, count in found)))
        removed = np.zeros_like(adjacent)
        for x, (neighbors, separated, _, _) in zip(nodes, found, strict=True):
            removed[x, neighbors[separated]] = True
        if collect:
            by_node = dict(zip(nodes.tolist(), found, strict=True))
            for x, y in np.argwhere(np.triu(removed | removed.T)).tolist():
                at_x = [_set_found(by_node, x, y)] if removed[x, y] else []
                separators[x, y] = [*at_x, _set_found(by_node, y, x)]
        adjacent &= ~(removed | removed.T)
        depth += 1
    return adjacent, separators if collect else None, n_tests


def _separate_node(test, adjacent, wanted, depth, collect, x):
    neighbors = np.flatnonzero(adjacent[x])
    return neighbors, *test.separate(x, neighbors, wanted[x, neighbors], depth, collect)


def _set_found(by_node, x, y):
    """Union of the sets that separate x from y, as found at x."""
    if x not in by_node:
        return ()
    neighbors, _, separators, _ = by_node[x]
    if separators is None:
        return ()
    return tuple(neighbors[separators[np.searchsorted(neighbors, y)]].tolist())


# causal-learn ----------------------------------------------------------------


def _search_to_causal_graph(search, tested):
    skeleton, separators, _ = search(collect=True)
    return _to_causal_graph(skeleton, separators, tested)


def _to_causal_graph(skeleton, separators, tested):
    """Fill a causal-learn graph, past its constructor's object for every pair."""
    from causallearn.graph.GeneralGraph import GeneralGraph
    from causallearn.graph.GraphClass import CausalGraph
    from causallearn.graph.GraphNode import GraphNode

    graph = CausalGraph(0)
    graph.G = GeneralGraph([GraphNode(name) for name in _node_names(len(skeleton))])
    graph.G.graph[skeleton] = -1
    graph.sepset = np.empty(skeleton.shape, dtype=object)
    for (x, y), sets in separators.items():
        graph.sepset[x, y] = sets
        graph.sepset[y, x] = list(sets)
    if tested is not None:
        # A constant column makes causal-learn divide by zero.
        with warnings.catch_warnings(action="ignore", category=RuntimeWarning):
            graph.set_ind_test(_causal_learn_test(*tested))
    return graph


def _node_names(n_features):
    """Names that causal-learn gives to nodes."""
    return [f"X{i + 1}" for i in range(n_features)]


def _causal_learn_test(X, test):
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


def _causal_learn_search(
    X, alpha, test, sample_weight, forbidden, required, max_conditioning
):
    """Let causal-learn find the skeleton."""
    from causallearn.utils.PCUtils.SkeletonDiscovery import skeleton_discovery

    if sample_weight is not None:
        if (sample_weight != np.floor(sample_weight)).any():
            raise ValueError(
                f"sample_weight must be whole numbers if causal-learn runs {test!r}."
            )
        X = np.repeat(X, sample_weight.astype(np.intp), axis=0)
    counted = _CountedTest(_causal_learn_test(X, test), required | required.T)
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
    graph.set_ind_test(counted.test)
    n_depths = max(counted.n_tests, default=-1) + 1
    return graph, [counted.n_tests[depth] for depth in range(n_depths)]


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


def _orient_quickly(graph, forbidden, required):
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
    graph = _orient(graph, forbidden, required)
    graph.sepset = graph.sepset.view(np.ndarray)
    graph.G.__class__ = GeneralGraph
    return graph


class _NotCopied(np.ndarray):
    """An array that a deep copy of its owner shares."""

    def __deepcopy__(self, memo):
        return self


def _to_directed(graph, skeleton):
    """Read the CPDAG, where [i, j] is i -> j, from causal-learn's end points."""
    # G.graph[i, j] is the end at i of the edge between i and j: -1 is a tail, 1 an
    # arrowhead. What is not an arrow one way is left open.
    arrow = (graph.G.graph == -1) & (graph.G.graph.T == 1)
    return skeleton & ~arrow.T
