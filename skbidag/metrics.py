"""How far an estimated graph is from the true one.

Every function takes a `kind`, which says what is compared:

- ``"dag"``, the default here as everywhere: the graphs as they are given, edge by edge;
- ``"cpdag"``: the Markov equivalence classes. A DAG is turned into its CPDAG first; a
  graph that already has undirected edges is taken as it is;
- ``"skeleton"``: which pairs of nodes are joined, whatever the direction.

Data alone cannot tell equivalent DAGs apart. What is learned from them is fairly
compared by ``"cpdag"`` or ``"skeleton"``, and a DAG and a CPDAG are compared by these
only.

Counts of ``"dag"`` and ``"cpdag"`` are over ordered pairs of nodes: a reversed edge is
one false positive and one false negative, and the undirected edge of a CPDAG counts in
either direction. The structural Hamming distance counts each pair of nodes once.

Of two graphs that are labelled frames, the second is put into the order of the first.
"""

from collections.abc import Hashable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from skbidag._sklearn import StrOptions, validate_params
from skbidag.graphs import (
    KIND,
    Kind,
    check_adjacency,
    check_probabilities,
    is_dag,
    labels_of,
    reorder,
    to_cpdag,
)

__all__ = [
    "compare_each",
    "compare_graphs",
    "compare_thresholds",
    "edge_average_precision",
    "edge_roc",
    "make_graph_scorer",
    "structural_hamming_distance",
]

Metric = Literal["shd", "f1", "precision", "recall", "fdr", "average_precision"]

# Of what make_graph_scorer knows, the smaller the better of these
_LOSSES = {"fdr": "FDR", "shd": "SHD"}
_GAINS = {"f1": "F1", "precision": "precision", "recall": "recall"}


def _as_kind(A, name, kind, labels=None, targets=()):
    """Validate a graph and turn it into what `kind` compares.

    What was set in each experiment, `targets`, is known of DAGs alone: a graph with an
    undirected edge is a class already.
    """
    A = check_adjacency(A, name, names=labels)
    if kind == "skeleton":
        return A | A.T
    if kind == "dag" or (A & A.T).any():
        return A
    if not is_dag(A):
        raise ValueError(
            f"{name} has a directed cycle: it is neither a DAG nor a CPDAG."
        )
    return to_cpdag(A, targets=targets)


def _check_pair(true, estimated, kind, targets=()):
    labels = labels_of(true, "true")
    true = _as_kind(true, "true", kind, targets=targets)
    estimated = _as_kind(estimated, "estimated", kind, labels, targets)
    _check_same_shape(true, estimated, "estimated")
    return true, estimated


def _check_same_shape(true, other, name):
    if true.shape != other.shape:
        raise ValueError(
            f"true and {name} must have the same nodes, got {len(true)} and "
            f"{len(other)}."
        )


def _places(n_nodes, kind):
    """Mark the entries of an (n, n) matrix that can each hold an edge."""
    if kind == "skeleton":
        return np.triu(np.ones((n_nodes, n_nodes), dtype=bool), 1)
    return ~np.eye(n_nodes, dtype=bool)


def _share(part, whole, of_nothing):
    return float(part / whole) if whole else of_nothing


@validate_params(
    {"true": ["array-like"], "estimated": ["array-like"], "kind": [KIND]},
    prefer_skip_nested_validation=True,
)
def structural_hamming_distance(
    true: ArrayLike,
    estimated: ArrayLike,
    kind: Kind = "dag",
    targets: Sequence[Sequence[int]] = (),
) -> int:
    """Count the edges to insert, delete or flip to turn one graph into the other.

    Each pair of nodes counts at most once. Directing an undirected edge, or dropping
    the direction of a directed one, is a flip.

    Parameters
    ----------
    true : array-like of shape (n_nodes, n_nodes)
        The true DAG or CPDAG. ``true[i, j]`` is the edge i -> j, together with
        ``true[j, i]`` it is the undirected edge i - j.
    estimated : array-like of shape (n_nodes, n_nodes)
        The estimated DAG or CPDAG.
    kind : {"dag", "cpdag", "skeleton"}, default="dag"
        Compare the graphs as they are, the equivalence classes, or the skeletons. For
        "cpdag", a graph with an undirected edge is taken for a CPDAG and not converted.
    targets : sequence of sequences of int, default=()
        The nodes that were set in each experiment: classes are then interventional
        ones, see :func:`skbidag.graphs.to_cpdag`.

    Returns
    -------
    distance : int
        The number of pairs of nodes that differ.

    Examples
    --------
    Turned around, the chain 0 -> 1 -> 2 is equivalent to itself:

    >>> from skbidag.metrics import structural_hamming_distance
    >>> chain = [[0, 1, 0], [0, 0, 1], [0, 0, 0]]
    >>> turned = [[0, 0, 0], [1, 0, 0], [0, 1, 0]]
    >>> structural_hamming_distance(chain, turned)
    2
    >>> structural_hamming_distance(chain, turned, kind="cpdag")
    0
    """
    return _hamming(*_check_pair(true, estimated, kind, targets))


def _hamming(true, estimated):
    different = true != estimated
    return int(np.triu(different | different.T).sum())


@validate_params(
    {"true": ["array-like"], "estimated": ["array-like"], "kind": [KIND]},
    prefer_skip_nested_validation=True,
)
def compare_graphs(
    true: ArrayLike,
    estimated: ArrayLike,
    kind: Kind = "dag",
    targets: Sequence[Sequence[int]] = (),
) -> Bunch:
    """Count right and wrong edges of an estimated graph.

    Parameters
    ----------
    true : array-like of shape (n_nodes, n_nodes)
        The true DAG or CPDAG. ``true[i, j]`` is the edge i -> j, together with
        ``true[j, i]`` it is the undirected edge i - j.
    estimated : array-like of shape (n_nodes, n_nodes)
        The estimated DAG or CPDAG.
    kind : {"dag", "cpdag", "skeleton"}, default="dag"
        Compare the graphs as they are, the equivalence classes, or the skeletons. In
        the first two a reversed edge is a false positive and a false negative, and an
        undirected edge counts in either direction.
    targets : sequence of sequences of int, default=()
        The nodes that were set in each experiment, as in
        :func:`structural_hamming_distance`.

    Returns
    -------
    comparison : :class:`~sklearn.utils.Bunch`
        Dictionary-like object, with the following attributes.

        TP, FP, FN : int
            Edges in both graphs, only in the estimated one, only in the true one.
        TPR : float
            True positive rate, TP / P, where P = TP + FN is the number of true edges.
        FPR : float
            False positive rate, FP over the number of places without a true edge.
        FPRp : float
            FP / P. Large sparse graphs have so many places without an edge that FPR
            is always close to 0; this rate is comparable between sizes.
        FDR : float
            False discovery rate, FP / (TP + FP).
        SHD : int
            Structural Hamming distance of this `kind`.
        precision, recall, F1 : float
            1 - FDR, TPR, and their harmonic mean.

    Notes
    -----
    A share of nothing is what a perfect estimate has: without true edges TPR is 1,
    without estimated edges FDR is 0. FPRp is no share: without true edges it is 0 if
    there are no estimated ones either, and infinite otherwise.

    Examples
    --------
    >>> from skbidag.metrics import compare_graphs
    >>> true = [[0, 1, 0], [0, 0, 1], [0, 0, 0]]
    >>> estimated = [[0, 0, 1], [1, 0, 0], [0, 0, 0]]
    >>> compare_graphs(true, estimated).TP
    0
    >>> result = compare_graphs(true, estimated, kind="skeleton")
    >>> result.TP, result.FP, result.FN, result.TPR
    (1, 1, 1, 0.5)
    """
    truth, estimate = _check_pair(true, estimated, kind, targets)
    places = _places(len(truth), kind)
    n_true = int((truth & places).sum())
    n_estimated = int((estimate & places).sum())
    TP = int((truth & estimate & places).sum())
    FP, FN = n_estimated - TP, n_true - TP
    TPR = _share(TP, n_true, 1.0)
    FDR = _share(FP, n_estimated, 0.0)
    return Bunch(
        TP=TP,
        FP=FP,
        FN=FN,
        TPR=TPR,
        FPR=_share(FP, int(places.sum()) - n_true, 0.0),
        FPRp=_share(FP, n_true, np.inf if FP else 0.0),
        FDR=FDR,
        SHD=_hamming(truth, estimate),
        precision=1 - FDR,
        recall=TPR,
        F1=_share(2 * TP, n_true + n_estimated, 1.0),
    )


COMPARISON_FIELDS = [
    ("TP", int),
    ("FP", int),
    ("FN", int),
    ("TPR", float),
    ("FPRp", float),
    ("FDR", float),
    ("SHD", int),
]


def _comparison(true, estimated):
    """A row of a table: counts and rates of skeletons, distance as they are."""
    skeletons = compare_graphs(true, estimated, kind="skeleton")
    distance = _hamming(true, estimated)
    return (*(skeletons[name] for name, _ in COMPARISON_FIELDS[:-1]), distance)


@validate_params(
    {
        "true": ["array-like"],
        "probabilities": ["array-like"],
        "thresholds": ["array-like"],
        "kind": [KIND],
    },
    prefer_skip_nested_validation=True,
)
def compare_thresholds(
    true: ArrayLike,
    probabilities: ArrayLike,
    thresholds: ArrayLike = (0.99, 0.95, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2),
    kind: Kind = "dag",
) -> NDArray:
    """Compare the graphs of probable edges with a true graph, by threshold.

    Parameters
    ----------
    true : array-like of shape (n_nodes, n_nodes)
        The true DAG or CPDAG. ``true[i, j]`` is the edge i -> j.
    probabilities : array-like of shape (n_nodes, n_nodes)
        Edge probabilities of the same `kind`, such as an estimator's
        ``edge_probabilities(kind)``.
    thresholds : array-like, default=(0.99, 0.95, 0.9, 0.8, ..., 0.2)
        A graph has the edges whose probability exceeds its threshold.
    kind : {"dag", "cpdag", "skeleton"}, default="dag"
        What the true graph is turned into; the paper's tables are of "cpdag".

    Returns
    -------
    table : structured ndarray of shape (n_thresholds,)
        One row per threshold: ``threshold``; ``TP``, ``FP``, ``FN``, ``TPR``, ``FPRp``
        and ``FDR`` of the skeletons, see :func:`compare_graphs`; and ``SHD``, the
        structural Hamming distance of the graphs of this kind. ``pandas.DataFrame``
        takes it as it is.

    See Also
    --------
    edge_roc : Rates at every threshold that makes a difference.

    Notes
    -----
    BiDAG name: ``samplecomp``.

    Examples
    --------
    >>> from skbidag.metrics import compare_thresholds
    >>> true = [[0, 1, 0], [0, 0, 0], [0, 1, 0]]
    >>> probabilities = [[0, 0.9, 0.4], [0, 0, 0], [0.1, 0.6, 0]]
    >>> table = compare_thresholds(true, probabilities, [0.8, 0.5, 0.3], "cpdag")
    >>> table["TP"], table["FP"], table["SHD"]
    (array([1, 2, 2]), array([0, 0, 1]), array([1, 0, 1]))
    """
    labels = labels_of(true, "true")
    truth = _as_kind(true, "true", kind)
    probabilities = check_probabilities(probabilities, labels)
    _check_same_shape(truth, probabilities, "probabilities")
    probabilities = probabilities.copy()
    np.fill_diagonal(probabilities, 0.0)
    rows = [
        (threshold, *_comparison(truth, probabilities > threshold))
        for threshold in np.asarray(thresholds, dtype=float).ravel()
    ]
    return np.array(rows, dtype=[("threshold", float), *COMPARISON_FIELDS])


@validate_params(
    {"true": ["array-like"], "graphs": "no_validation", "kind": [KIND]},
    prefer_skip_nested_validation=True,
)
def compare_each(true: ArrayLike, graphs: Any, kind: Kind = "dag") -> NDArray:
    """Compare each of several DAGs with a true graph.

    Parameters
    ----------
    true : array-like of shape (n_nodes, n_nodes)
        The true DAG or CPDAG. ``true[i, j]`` is the edge i -> j.
    graphs : array-like of shape (n_graphs, n_nodes, n_nodes), or DAGSamples
        DAGs, such as ``expansion_dags_`` of a search, or sampled ones.
    kind : {"dag", "cpdag", "skeleton"}, default="dag"
        Which distance: between the graphs as they are, their equivalence classes, or
        their skeletons.

    Returns
    -------
    table : structured ndarray of shape (n_graphs,)
        One row per graph: ``TP``, ``FP``, ``FN``, ``TPR``, ``FPRp`` and ``FDR`` of the
        skeletons, see :func:`compare_graphs`; and ``SHD``, the structural Hamming
        distance of this kind. ``pandas.DataFrame`` takes it as it is.

    Notes
    -----
    BiDAG name: ``itercomp``.

    Examples
    --------
    >>> from skbidag.metrics import compare_each
    >>> true = [[0, 1, 0], [0, 0, 0], [0, 1, 0]]
    >>> chain = [[0, 1, 0], [0, 0, 1], [0, 0, 0]]
    >>> table = compare_each(true, [chain, true], kind="cpdag")
    >>> table["TP"], table["SHD"]
    (array([2, 2]), array([2, 0]))
    """
    labels = labels_of(true, "true")
    truth = _as_kind(true, "true", kind)
    rows = []
    for graph in graphs:
        graph = _as_kind(graph, "graphs", kind, labels)
        _check_same_shape(truth, graph, "graphs")
        rows.append(_comparison(truth, graph))
    return np.array(rows, dtype=COMPARISON_FIELDS)


def _cumulative_counts(true, probabilities, kind):
    """Count the true and false positives above each distinct probability.

    Returns them with the thresholds, in decreasing order of these, then the number of
    places that have, and that do not have, a true edge.
    """
    labels = labels_of(true, "true")
    true = _as_kind(true, "true", kind)
    probabilities = check_probabilities(probabilities, labels)
    _check_same_shape(true, probabilities, "probabilities")
    if kind == "skeleton":
        probabilities = np.minimum(probabilities + probabilities.T, 1.0)

    places = _places(len(true), kind)
    is_edge, values = true[places], probabilities[places]
    thresholds, group = np.unique(-values, return_inverse=True)
    TP = np.bincount(group, weights=is_edge, minlength=len(thresholds)).cumsum()
    FP = np.bincount(group, weights=~is_edge, minlength=len(thresholds)).cumsum()
    return TP, FP, -thresholds, int(is_edge.sum()), int((~is_edge).sum())


@validate_params(
    {
        "true": ["array-like"],
        "probabilities": ["array-like"],
        "kind": [KIND],
        "normalize": [StrOptions({"negatives", "positives"})],
    },
    prefer_skip_nested_validation=True,
)
def edge_roc(
    true: ArrayLike,
    probabilities: ArrayLike,
    kind: Kind = "dag",
    normalize: Literal["negatives", "positives"] = "negatives",
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Receiver operating characteristic of edge probabilities.

    Point k of the curve is the graph of all edges with a probability of at least
    ``thresholds[k]``.

    Parameters
    ----------
    true : array-like of shape (n_nodes, n_nodes)
        The true DAG or CPDAG. ``true[i, j]`` is the edge i -> j, together with
        ``true[j, i]`` it is the undirected edge i - j.
    probabilities : array-like of shape (n_nodes, n_nodes)
        ``probabilities[i, j]`` is the probability of the edge i -> j. The diagonal is
        ignored.
    kind : {"dag", "cpdag", "skeleton"}, default="dag"
        What the true graph is turned into. With ``"skeleton"``, `probabilities` are
        those of DAG edges, and the probability that i and j are joined is the sum of
        both directions, at most 1. Of a matrix that is symmetric already, pass the
        upper triangle.
    normalize : {"negatives", "positives"}, default="negatives"
        What false positives are divided by: the number of places without a true edge
        (FPR), or the number of true edges (FPRp).

    Returns
    -------
    fpr : ndarray of shape (n_thresholds,)
        False positive rates, from 0 on.
    tpr : ndarray of shape (n_thresholds,)
        True positive rates, up to 1. All 1 if there are no true edges.
    thresholds : ndarray of shape (n_thresholds,)
        Decreasing. The first is infinite, the threshold of the empty graph.

    See Also
    --------
    compare_graphs : The same rates for one graph.

    Examples
    --------
    >>> from skbidag.metrics import edge_roc
    >>> true = [[0, 1, 0], [0, 0, 1], [0, 0, 0]]
    >>> probabilities = [[0, 0.5, 0.25], [0.5, 0, 0.25], [0.25, 0, 0]]
    >>> fpr, tpr, thresholds = edge_roc(true, probabilities, kind="skeleton")
    >>> fpr
    array([0., 0., 1., 1.])
    >>> tpr
    array([0. , 0.5, 0.5, 1. ])
    >>> thresholds
    array([ inf, 1.  , 0.5 , 0.25])
    """
    TP, FP, thresholds, n_positive, n_negative = _cumulative_counts(
        true, probabilities, kind
    )
    TP, FP = np.append(0.0, TP), np.append(0.0, FP)
    thresholds = np.append(np.inf, thresholds)
    tpr = TP / n_positive if n_positive else np.ones_like(TP)
    n_reference = n_negative if normalize == "negatives" else n_positive
    if n_reference:
        fpr = FP / n_reference
    else:
        fpr = np.where(FP > 0, np.inf, 0.0)
    return fpr, tpr, thresholds


@validate_params(
    {"true": ["array-like"], "probabilities": ["array-like"], "kind": [KIND]},
    prefer_skip_nested_validation=True,
)
def edge_average_precision(
    true: ArrayLike, probabilities: ArrayLike, kind: Kind = "dag"
) -> float:
    """Average precision of edge probabilities.

    The mean, over the true edges, of the precision of the graph that holds all edges
    at least as probable. Unlike the area under the ROC curve it does not depend on how
    many places without an edge there are.

    Parameters
    ----------
    true : array-like of shape (n_nodes, n_nodes)
        The true DAG or CPDAG. ``true[i, j]`` is the edge i -> j, together with
        ``true[j, i]`` it is the undirected edge i - j.
    probabilities : array-like of shape (n_nodes, n_nodes)
        ``probabilities[i, j]`` is the probability of the edge i -> j. The diagonal is
        ignored.
    kind : {"dag", "cpdag", "skeleton"}, default="dag"
        As in :func:`edge_roc`.

    Returns
    -------
    average_precision : float
        Between 0 and 1; NaN if there are no true edges.

    Examples
    --------
    >>> from skbidag.metrics import edge_average_precision
    >>> true = [[0, 1, 0], [0, 0, 1], [0, 0, 0]]
    >>> probabilities = [[0, 0.5, 0.25], [0.5, 0, 0.25], [0.25, 0, 0]]
    >>> round(edge_average_precision(true, probabilities, kind="skeleton"), 4)
    0.8333
    """
    TP, FP, _, n_positive, _ = _cumulative_counts(true, probabilities, kind)
    if n_positive == 0:
        return np.nan
    gained = np.diff(TP, prepend=0.0)
    return float(np.sum(gained * TP / (TP + FP)) / n_positive)


@validate_params(
    {
        "true": ["array-like"],
        "metric": [StrOptions({"average_precision", *_GAINS, *_LOSSES})],
        "kind": [KIND],
    },
    prefer_skip_nested_validation=True,
)
def make_graph_scorer(
    true: ArrayLike, metric: Metric = "shd", kind: Kind = "dag"
) -> "GraphScorer":
    """Make a scorer that compares what an estimator learns with the true graph.

    For simulations and benchmarks: with it, scikit-learn's model selection finds the
    parameters that come closest to a known graph.

    Parameters
    ----------
    true : array-like of shape (n_nodes, n_nodes)
        The true DAG or CPDAG. ``true[i, j]`` is the edge i -> j, together with
        ``true[j, i]`` it is the undirected edge i - j. A labelled frame is put into the
        order of the columns that the estimator has seen.
    metric : {"shd", "f1", "precision", "recall", "fdr", "average_precision"}, \
            default="shd"
        How graphs are compared, see :func:`structural_hamming_distance`,
        :func:`compare_graphs` and :func:`edge_average_precision`. As with every
        scorer larger is better: "shd" and "fdr" are negated.
    kind : {"dag", "cpdag", "skeleton"}, default="dag"
        What is compared. "average_precision" looks at the edge probabilities of this
        kind, the others at the best DAG (``adjacency_``) or, if `kind` is "cpdag" or
        "skeleton", at its equivalence class, which is an interventional one if the
        estimator was told of interventions.

    Returns
    -------
    scorer : callable
        ``scorer(estimator, X=None, y=None)`` is the score of a fitted estimator, or of
        a pipeline whose last step is one. The data are ignored.

    Examples
    --------
    >>> from sklearn.model_selection import GridSearchCV
    >>> from skbidag import IterativeSearchStructure
    >>> from skbidag.datasets import make_gaussian_network
    >>> from skbidag.metrics import make_graph_scorer
    >>> from skbidag.scores import BGe
    >>> network = make_gaussian_network(100, 8, random_state=0)
    >>> search = GridSearchCV(
    ...     IterativeSearchStructure(BGe(), n_draws=0, random_state=0),
    ...     {"score__edge_penalty": [1, 1e50]},
    ...     scoring=make_graph_scorer(network.adjacency, kind="cpdag"),
    ... )
    >>> search.fit(network.data).best_params_
    {'score__edge_penalty': 1}
    """
    labels = labels_of(true, "true")
    _as_kind(true, "true", kind)  # complains now of what it cannot compare
    return GraphScorer(check_adjacency(true, "true"), metric, kind, labels)


class GraphScorer:
    """What :func:`make_graph_scorer` makes; can be pickled."""

    def __init__(
        self,
        true: NDArray[np.bool_],
        metric: Metric,
        kind: Kind,
        labels: Sequence[Hashable] | None = None,
    ):
        self.true = true
        self.metric = metric
        self.kind = kind
        self.labels = labels

    def __repr__(self):
        return f"make_graph_scorer(true, metric={self.metric!r}, kind={self.kind!r})"

    def __call__(self, estimator: Any, X: Any = None, y: Any = None) -> float:
        """Score of a fitted estimator; the data are ignored."""
        if hasattr(estimator, "steps"):
            estimator = estimator[-1]
        check_is_fitted(estimator)
        names = getattr(estimator, "feature_names_in_", None)
        true = reorder(self.true, self.labels, names, "true")
        samples = getattr(estimator, "dag_samples_", None)
        targets = getattr(samples, "targets", ())
        if self.metric == "average_precision":
            probabilities = estimator.edge_probabilities(self.kind)
            if self.kind == "skeleton":
                return edge_average_precision(true, np.triu(probabilities), self.kind)
            true = _as_kind(true, "true", self.kind, targets=targets)
            return edge_average_precision(true, probabilities)
        estimated = estimator.adjacency_ if self.kind == "dag" else estimator.cpdag_
        comparison = compare_graphs(true, estimated, self.kind, targets)
        if self.metric in _LOSSES:
            return -float(comparison[_LOSSES[self.metric]])
        return comparison[_GAINS[self.metric]]
