"""Search spaces: which parents each node may have.

A space starts from a graph of plausible edges (PC's skeleton, what GES finds, a
graphical lasso, the best DAG of all, everything, or what the user gives), from which
forbidden edges are taken and to which required ones are added, and which is cut down to
`max_parents` per node.
Whether everything can be had is a matter of what the tables cost, see `parent_limit`.
"""

import warnings
from dataclasses import dataclass, replace

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import has_fit_parameter

from skbidag._constraints import resolve_edges
from skbidag._data import display_name, names_of
from skbidag._dynamic_programming import check_effort, find_best_dag
from skbidag._ges import GESSkeleton
from skbidag._outsiders import strongest_beside
from skbidag._pc import evidence_skeleton
from skbidag._skeleton import PCSkeleton, with_test_for
from skbidag._tables import outsiders_within_budget
from skbidag.graphs import align_labels, reorder
from skbidag.scores.capabilities import CorrelationScore, EvidenceScore

# The largest permissible set where not everything can be had.
USUAL_PARENTS = 14
# The largest of a hub, a node whose parents fill the usual set, as long as scoring all
# of its subsets does not take more seconds. Only so many nodes may be hubs: the tables
# of each take up to 32 MB, twice that for chains.
HUB_PARENTS = 20
HUB_SECONDS = 0.2
MOST_HUBS = 8
# What the tables of all nodes may cost, in seconds, where they are built again and
# again for other values of missing cells.
RENEWED_SECONDS = 0.015
FEWEST_RENEWED = 5
# The largest that may be asked for.
MOST_PARENTS = 26
# What the tables of the space that holds everything may cost: seconds, and bytes. In
# larger tables every step of a chain waits for memory: with 20 variables a fit took ten
# times as long, over partitions thirty times.
FULL_SECONDS = 1.5
FULL_BYTES = 6e7


@dataclass(frozen=True)
class SearchSpace:
    """The parent sets that are permitted.

    A node's parents are any subset of its permissible parents that contains the
    required ones, plus, where the space is extended, at most one of its outsiders.

    Attributes
    ----------
    permitted : ndarray of bool, shape (n_features, n_features)
        ``permitted[i, j]``: i is a permissible parent of j.
    extra : ndarray of bool, shape (n_features, n_features)
        ``extra[i, j]``: i may be the one additional parent of j.
    required : ndarray of bool, shape (n_features, n_features)
        ``required[i, j]``: i is in every parent set of j.
    extended : bool
        Whether nodes may take a parent from outside their permissible set.
    background : ndarray of bool, shape (n_features,), or None
        Which variables have no parents, and no place in orders; None for none.
    """

    permitted: np.ndarray
    extra: np.ndarray
    required: np.ndarray
    extended: bool
    background: np.ndarray | None = None

    @property
    def n_features(self):
        """Number of variables."""
        return len(self.permitted)

    @property
    def in_background(self):
        """Which variables are in the background."""
        if self.background is None:
            return np.zeros(self.n_features, dtype=bool)
        return self.background

    def candidates(self, node):
        """Permissible parents of a node, sorted."""
        return np.flatnonzero(self.permitted[:, node])

    def outsiders(self, node):
        """Variables that may be a node's one additional parent, sorted."""
        return np.flatnonzero(self.extra[:, node])

    def contains(self, adjacency):
        """Whether the parents of every node in a DAG are permitted."""
        outside = adjacency & ~self.permitted
        return bool(
            not (self.required & ~adjacency).any()
            and not (outside & ~self.extra).any()
            and (outside.sum(axis=0) <= 1).all()
        )

    def required_mask(self, node):
        """Return the required parents as a mask over the candidates."""
        bits = self.required[self.candidates(node), node]
        return int(bits @ (1 << np.arange(len(bits), dtype=np.int64)))


def make_space(permitted, constraints, *, extended, outsiders=None):
    """Bring a graph of permitted edges in line with the constraints.

    Outsiders, where the space is `extended`, are all others, or those given.
    """
    permitted = (permitted & ~constraints.forbidden) | constraints.required
    extra = ~permitted & ~constraints.forbidden & extended
    if outsiders is not None:
        extra &= outsiders
    return SearchSpace(
        permitted,
        extra,
        constraints.required,
        bool(extended and extra.any()),
        constraints.background,
    )


def parent_limit(max_parents, problem):
    """How large permissible sets may be: `max_parents`, or what "auto" stands for.

    Everything, where the tables of all parent sets take a second or so and not much
    memory; otherwise `USUAL_PARENTS`, with an extra parent for what is outside. The
    required parents fit in any case.
    """
    if max_parents != "auto":
        return max_parents
    constraints = problem.constraints
    all_others = (~constraints.forbidden).sum(axis=0)
    if problem.completion is not None:
        entries = RENEWED_SECONDS / problem.score.entry_seconds
        limit = int(np.log2(max(2.0, entries / problem.n_features**2)))
        required = int(constraints.required.sum(axis=0).max())
        return max(required, min(int(all_others.max()), max(FEWEST_RENEWED, limit)))
    n_sets = (2.0**all_others).sum()
    limit = max(USUAL_PARENTS, int(constraints.required.sum(axis=0).max()))
    # scores, ratios of sums, and sums stand side by side
    affordable = (
        n_sets * problem.score.set_seconds <= FULL_SECONDS and 24 * n_sets <= FULL_BYTES
    )
    return max(limit, int(all_others.max())) if affordable else limit


def hub_limit(max_parents, problem):
    """How large the sets of single nodes may be: more than usual for "auto" alone."""
    limit = parent_limit(max_parents, problem)
    if max_parents != "auto" or problem.completion is not None:
        return limit
    n_sets = HUB_SECONDS / problem.score.set_seconds
    return max(limit, min(HUB_PARENTS, int(np.log2(n_sets))))


def space_within_budget(problem, permitted, usual, *, extended):
    """The space of permitted edges, in line with a problem's constraints.

    Outsiders, where the space is `extended`, are those of the problem. Nodes with more
    than `usual` candidates have few of them: the larger the set, the fewer.
    """
    space = make_space(
        permitted,
        problem.constraints,
        extended=extended,
        outsiders=problem.outsiders if extended else None,
    )
    sizes = space.permitted.sum(axis=0)
    if not space.extended or sizes.max() <= usual:
        return space
    extra = space.extra.copy()
    for node in np.flatnonzero(sizes > usual):
        allowed = ~(space.permitted | problem.constraints.forbidden)[:, node]
        n_outsiders = outsiders_within_budget(int(sizes[node]))
        if n_outsiders < allowed.sum():
            extra[:, node] = strongest_beside(
                problem.score, node, space.candidates(node), allowed, n_outsiders
            )
    return replace(space, extra=extra)


def space_of_several(problem, spaces, adjacency):
    """The union of spaces that were found for one problem.

    Where a node has more candidates than the largest set of them, it keeps the parents
    of the best DAG and those that raise its score most.
    """
    usual = max(int(space.permitted.sum(axis=0).max()) for space in spaces)
    permitted = np.logical_or.reduce([space.permitted for space in spaces])
    for node in np.flatnonzero(permitted.sum(axis=0) > usual):
        candidates = np.flatnonzero(permitted[:, node])
        chosen = np.flatnonzero(problem.constraints.required[:, node])
        of_best = np.intersect1d(candidates, np.flatnonzero(adjacency[:, node]))
        for pool in (of_best, candidates):
            chosen, _ = problem.score.select_parents(
                node, pool, usual, kept=chosen, stop=False
            )
        permitted[:, node] = False
        permitted[chosen, node] = True
    extended = any(space.extended for space in spaces)
    return space_within_budget(problem, permitted, usual, extended=extended)


def start_space(
    problem, search_space, *, alpha, extended, max_parents, entropy, n_jobs
):
    """The space that `search_space` stands for, cut down to `max_parents`.

    Parameters
    ----------
    problem : Problem
        Score, data and constraints.
    search_space : {"pc", "ges", "glasso", "exact", "full"}, array, callable, \
estimator or list
        Where the edges come from; a list stands for the union of its members.
    alpha : float, sequence of floats or "auto"
        Significance level of PC's tests; of several, the skeletons are united.
    extended : bool
        Whether nodes may take one parent from outside.
    max_parents : int or "auto"
        The largest permissible set.
    entropy : tuple of int
        Seed, for estimators that leave theirs open.
    n_jobs : int or None
        Number of threads of PC.

    Returns
    -------
    space : SearchSpace
        The space.
    """
    permitted = permitted_edges(
        search_space,
        problem,
        pc=PCSkeleton(alpha=alpha, n_jobs=n_jobs),
        seed=entropy[0] if entropy else None,
    )
    # trimmed without outsiders: who falls out of a full space is one afterwards
    space = make_space(permitted, problem.constraints, extended=False)
    usual = parent_limit(max_parents, problem)
    limits = np.full(problem.n_features, usual)
    if not isinstance(search_space, str | list | tuple):
        # one that was made with care, by a search for instance, may have hubs
        sizes = space.permitted.sum(axis=0)
        largest = np.argsort(-sizes, kind="stable")[:MOST_HUBS]
        limits[largest] = hub_limit(max_parents, problem)
    permitted = trim(space, problem.score, limits, problem.names)
    return space_within_budget(problem, permitted, usual, extended=extended)


def permitted_edges(search_space, problem, *, pc, seed=None):
    """The graph of plausible edges that `search_space` stands for.

    Parameters
    ----------
    search_space : {"pc", "ges", "glasso", "exact", "full"}, array, callable, \
estimator or list
        Where the edges come from; a list stands for the union of its members.
    problem : Problem
        The data and what is known of edges. PC does not test pairs that are
        forbidden in both directions.
    pc : PCSkeleton
        What "pc" stands for.
    seed : int, default=None
        For estimators whose random state is open.

    Returns
    -------
    permitted : ndarray of bool, shape (n_features, n_features)
        ``permitted[i, j]``: the edge i -> j is plausible.
    """
    (X, weights), names = problem.undisturbed, problem.names
    if is_union(search_space):
        parts = [
            permitted_edges(part, problem, pc=pc, seed=seed) for part in search_space
        ]
        return np.logical_or.reduce(parts)
    if isinstance(search_space, str):
        return edges_by_word(search_space, problem, pc)
    if hasattr(search_space, "search_space_"):
        edges = in_order_of(names, search_space, search_space.search_space_)
    elif isinstance(search_space, PCSkeleton) and is_mixed(search_space, problem):
        edges = mixed_edges(search_space, problem)
    elif isinstance(search_space, PCSkeleton) and problem.cells is not None:
        fitted = with_test_for(clone(search_space), problem.data)
        edges = fitted._find_edges(problem.data, problem.weights, problem.cells)
    elif hasattr(search_space, "fit"):
        if problem.completion is not None and takes_holes(search_space):
            X = problem.completion.with_holes()
        edges = edges_of_estimator(search_space, X, weights, seed)
    elif callable(search_space):
        edges = search_space(repeat_rows(X, weights, "A search_space callable"))
    else:
        edges = search_space
    edges = align_labels(edges, names, "search_space")
    permitted = resolve_edges(edges, problem.n_features, names, "search_space")
    np.fill_diagonal(permitted, False)
    return permitted


def edges_by_word(word, problem, pc):
    """The graph of plausible edges that a word stands for."""
    X, weights = problem.undisturbed
    if word == "full":
        return ~np.eye(problem.n_features, dtype=bool)
    if word == "pc":
        known = problem.constraints
        if is_mixed(pc, problem):
            return mixed_edges(pc, problem)
        constrained = with_test_for(clone(pc), X).set_params(
            forbidden_edges=known.forbidden, required_edges=known.required
        )
        # Undecided edges go unmentioned: the score decides, and `trim` names a node
        # that has too many.
        return constrained._find_edges(
            problem.data, problem.weights, problem.cells, known_correlations(problem)
        )
    if word in ("ges", "glasso") and has_both_kinds(problem):
        raise ValueError(f"search_space='{word}' needs data of one kind.")
    if word == "ges":
        return GESSkeleton()._find_edges(repeat_rows(X, weights, "search_space='ges'"))
    if word == "exact":
        return edges_of_best_dag(problem)
    if word == "glasso":
        return glasso_edges(repeat_rows(X, weights, "search_space='glasso'"))
    raise ValueError(
        f"search_space must be 'pc', 'ges', 'glasso', 'exact', 'iterative', 'full', an "
        f"array, a callable, an estimator or a list of these; got {word!r}."
    )


def known_correlations(problem):
    """What the score knows for PC's tests, if that is of the rows as they were seen."""
    as_seen = problem.cells is None and problem.completion is None
    if as_seen and isinstance(problem.score, CorrelationScore):
        return problem.score.correlations()
    return None


def takes_holes(estimator):
    """Whether PC is to test with available cases, by a test of causal-learn's."""
    return isinstance(estimator, PCSkeleton) and estimator.test == "mv_fisherz"


def is_mixed(pc, problem):
    """Whether PC is to test mixed data by their score."""
    return has_both_kinds(problem) and pc.test == "auto"


def has_both_kinds(problem):
    """Whether the data are mixed."""
    return isinstance(problem.score, EvidenceScore)


def mixed_edges(pc, problem):
    """What PC finds by the Bayes factors of the score of mixed data."""
    result = evidence_skeleton(
        problem.score,
        forbidden=problem.constraints.forbidden,
        required=problem.constraints.required,
        max_conditioning=pc.max_conditioning,
        n_jobs=pc.n_jobs,
        orient=pc.orient,
    )
    return result.directed if pc.orient else result.skeleton


def edges_of_best_dag(problem):
    """The edges, both ways, of the DAG with the highest score of all."""
    everything = ~np.eye(problem.n_features, dtype=bool)
    space = make_space(everything, problem.constraints, extended=False)
    check_effort(space, None)
    best = find_best_dag(problem.score, space)
    return best | best.T


def is_union(search_space):
    """Tell a list of spaces from a nested list that is an array."""
    return isinstance(search_space, list | tuple) and any(
        isinstance(part, str | np.ndarray) or callable(part) or hasattr(part, "fit")
        for part in search_space
    )


def in_order_of(names, estimator, matrix):
    """What a fitted estimator learned, in the order of the data's columns, by name."""
    return reorder(matrix, names_of(estimator), names, "search_space")


def repeat_rows(X, sample_weight, who):
    """Give rows as often as they count, for what takes no weights."""
    if sample_weight is None:
        return X
    counts = np.asarray(sample_weight)
    if (counts != np.floor(counts)).any():
        raise ValueError(
            f"{who} takes no weights, and rows can be repeated only if sample_weight "
            "holds whole numbers."
        )
    return np.repeat(X, counts.astype(np.intp), axis=0)


def edges_of_estimator(estimator, X, sample_weight, seed=None):
    """Fit a clone, and read a graph off what it learned."""
    fitted = with_test_for(clone(estimator), X)
    if isinstance(fitted, GESSkeleton):
        # the data's type tells their kind, as a score sees them
        return fitted._find_edges(
            repeat_rows(X, sample_weight, type(estimator).__name__)
        )
    open_seeds = [
        name
        for name, value in fitted.get_params().items()
        if value is None and name.split("__")[-1] == "random_state"
    ]
    fitted.set_params(**dict.fromkeys(open_seeds, seed))
    if sample_weight is not None and has_fit_parameter(fitted, "sample_weight"):
        fitted.fit(X, sample_weight=sample_weight)
    else:
        fitted.fit(repeat_rows(X, sample_weight, type(estimator).__name__))
    if hasattr(fitted, "search_space_"):
        return fitted.search_space_
    if hasattr(fitted, "precision_"):
        return fitted.precision_ != 0
    if hasattr(fitted, "adjacency_"):
        return np.asarray(fitted.adjacency_) != 0
    raise ValueError(
        f"search_space: {type(estimator).__name__} learns none of search_space_, "
        "precision_ and adjacency_."
    )


def glasso_edges(X):
    """Pairs with a non-zero entry in the precision matrix of a graphical lasso."""
    from sklearn.covariance import GraphicalLassoCV

    if not np.issubdtype(X.dtype, np.floating):
        raise ValueError("search_space='glasso' needs continuous data.")
    spread = X.std(axis=0)
    varying = spread > 0
    scaled = (X[:, varying] - X[:, varying].mean(axis=0)) / spread[varying]
    permitted = np.zeros((X.shape[1], X.shape[1]), dtype=bool)
    if varying.sum() > 1:
        with warnings.catch_warnings():
            # small penalties may not converge; they score -inf and are not chosen
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.filterwarnings("ignore", "invalid value", RuntimeWarning)
            precision = GraphicalLassoCV().fit(scaled).precision_
        permitted[np.ix_(varying, varying)] = precision != 0
    np.fill_diagonal(permitted, False)
    return permitted


def trim(space, score, max_parents, names=None):
    """Permitted edges of a space, cut down to `max_parents` of each node.

    A node with too many keeps the required ones and then, one after the other, the
    candidate that raises its score most beside those already kept (the first of
    equals), with a warning.
    """
    permitted = space.permitted.copy()
    max_parents = np.broadcast_to(max_parents, len(permitted))
    for node in np.flatnonzero(permitted.sum(axis=0) > max_parents):
        candidates = space.candidates(node)
        required = np.flatnonzero(space.required[:, node])
        kept, _ = score.select_parents(
            node, candidates, int(max_parents[node]), kept=required, stop=False
        )
        permitted[:, node] = False
        permitted[kept, node] = True
        warnings.warn(
            f"Node {display_name(names, node)} has {len(candidates)} permissible "
            f"parents; the {max_parents[node]} strongest are kept (max_parents).",
            UserWarning,
            stacklevel=2,
        )
    return permitted
