"""Search spaces: which parents each node may have.

A space starts from a graph of plausible edges (PC's skeleton, a graphical lasso,
everything, or what the user gives), from which forbidden edges are taken and to
which required ones are added, and which is cut down to `max_parents` per node.
"""

import warnings
from dataclasses import dataclass, replace
from numbers import Integral

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import has_fit_parameter

from skbidag.graphs import is_dag


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
    """

    permitted: np.ndarray
    extra: np.ndarray
    required: np.ndarray
    extended: bool

    @property
    def n_features(self):
        """Number of variables."""
        return len(self.permitted)

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

    def with_permitted(self, permitted, forbidden):
        """The same space with other permissible parents."""
        return make_space(permitted, Constraints(forbidden, self.required),
                          extended=self.extended)  # fmt: skip


@dataclass(frozen=True)
class Constraints:
    """Edges that no DAG has, and edges that every DAG has.

    Attributes
    ----------
    forbidden, required : ndarray of bool, shape (n_features, n_features)
        ``forbidden[i, j]`` and ``required[i, j]`` concern the edge i -> j. The
        diagonal is forbidden.
    """

    forbidden: np.ndarray
    required: np.ndarray


def make_space(permitted, constraints, *, extended):
    """Bring a graph of permitted edges in line with the constraints."""
    permitted = (permitted & ~constraints.forbidden) | constraints.required
    extra = ~permitted & ~constraints.forbidden & extended
    return SearchSpace(
        permitted, extra, constraints.required, bool(extended and extra.any())
    )


# ---------------------------------------------------------------- constraints


def resolve_constraints(
    n_features, names=None, *, forbidden_edges=None, required_edges=None, tiers=None,
    max_parents=None,
):  # fmt: skip
    """Turn what the user said about edges into matrices, or say what contradicts.

    Parameters
    ----------
    n_features : int
        Number of variables.
    names : sequence of str, default=None
        Their names.
    forbidden_edges, required_edges : array or list of pairs, default=None
        An (n, n) array whose entry [i, j] concerns i -> j, or (parent, child)
        pairs of names or indices.
    tiers : list of list, default=None
        Groups of names or indices: no edge leads from a later group to an earlier.
    max_parents : int, default=None
        The most parents a node may have.

    Returns
    -------
    constraints : Constraints
        The forbidden and required edges.
    """
    forbidden = resolve_edges(forbidden_edges, n_features, names, "forbidden_edges")
    required = resolve_edges(required_edges, n_features, names, "required_edges")

    def edge_names(edges):
        return ", ".join(
            f"{display_name(names, i)} -> {display_name(names, j)}" for i, j in edges
        )

    clash = np.argwhere(forbidden & required)
    if len(clash):
        raise ValueError(
            f"Edges are both in required_edges and forbidden_edges: "
            f"{edge_names(clash)}."
        )
    if tiers is not None:
        against = tier_ban(tiers, n_features, names)
        clash = np.argwhere(against & required)
        if len(clash):
            raise ValueError(
                f"required_edges go against the tiers: {edge_names(clash)}."
            )
        forbidden |= against
    loops = np.flatnonzero(np.diag(required))
    if len(loops):
        raise ValueError(
            f"required_edges has an edge from {display_name(names, loops[0])} to "
            "itself."
        )
    np.fill_diagonal(forbidden, True)
    if required.any() and not is_dag(required):
        cycle = find_cycle(required)
        raise ValueError(
            f"required_edges has a cycle: "
            f"{edge_names(zip(cycle, np.roll(cycle, -1), strict=True))}."
        )
    n_required = required.sum(axis=0)
    if max_parents is not None and n_required.max(initial=0) > max_parents:
        child = int(np.argmax(n_required))
        edges = [(i, child) for i in np.flatnonzero(required[:, child])]
        raise ValueError(
            f"required_edges gives {display_name(names, child)} "
            f"{n_required[child]} parents, more than max_parents={max_parents}: "
            f"{edge_names(edges)}."
        )
    return Constraints(forbidden, required)


def display_name(names, index):
    """A variable's name in quotes, or its index."""
    return repr(str(names[index])) if names is not None else str(int(index))


def resolve_index(variable, n_features, names, parameter):
    """Index of a variable given by name or index."""
    if isinstance(variable, str):
        if names is None or variable not in list(names):
            raise ValueError(f"{parameter} names an unknown variable: {variable!r}.")
        return list(names).index(variable)
    if isinstance(variable, Integral) and not isinstance(variable, bool | np.bool_):
        if not 0 <= variable < n_features:
            raise ValueError(
                f"{parameter} has the index {variable}, but there are {n_features} "
                "variables."
            )
        return int(variable)
    raise ValueError(f"{parameter} takes variables by name or index, got {variable!r}.")


def resolve_edges(edges, n_features, names, parameter):
    """An (n, n) bool matrix from a matrix or from (parent, child) pairs."""
    matrix = np.zeros((n_features, n_features), dtype=bool)
    if edges is None:
        return matrix
    if hasattr(edges, "to_numpy"):
        edges = edges.to_numpy()
    if not isinstance(edges, np.ndarray):
        edges = list(edges)
        pairs = all(
            not isinstance(pair, str) and hasattr(pair, "__len__") and len(pair) == 2
            for pair in edges
        )
        if pairs:
            for parent, child in edges:
                i = resolve_index(parent, n_features, names, parameter)
                j = resolve_index(child, n_features, names, parameter)
                matrix[i, j] = True
            return matrix
    given = np.asarray(edges)
    if given.shape != (n_features, n_features):
        raise ValueError(
            f"{parameter} must be an array of shape ({n_features}, {n_features}) or a "
            f"list of (parent, child) pairs, got shape {given.shape}."
        )
    if given.dtype != bool and not np.isin(given, [0, 1]).all():
        raise ValueError(f"{parameter} must hold zeros and ones only.")
    return given.astype(bool)


def tier_ban(tiers, n_features, names):
    """Edges from a later tier to an earlier one; other variables are free."""
    level = np.full(n_features, -1)
    for number, group in enumerate(tiers):
        if isinstance(group, str) or not hasattr(group, "__iter__"):
            raise ValueError("tiers must be a list of groups of variables.")
        for variable in group:
            index = resolve_index(variable, n_features, names, "tiers")
            if level[index] >= 0:
                raise ValueError(
                    f"tiers has {display_name(names, index)} more than once."
                )
            level[index] = number
    known = level >= 0
    return (level[:, None] > level) & known[:, None] & known


def find_cycle(adjacency):
    """Nodes along some cycle of a cyclic graph."""
    remaining = np.ones(len(adjacency), dtype=bool)
    while True:
        # nodes without a parent among the rest are on no cycle
        roots = remaining & ~adjacency[remaining].any(axis=0)
        if not roots.any():
            break
        remaining &= ~roots
    path = [int(np.flatnonzero(remaining)[0])]
    while True:
        parent = int(np.flatnonzero(adjacency[:, path[-1]] & remaining)[0])
        if parent in path:
            return path[path.index(parent) :][::-1]
        path.append(parent)


# ------------------------------------------------------------ permitted edges


def permitted_edges(search_space, X, *, pc, names=None, sample_weight=None,
                    constraints=None):  # fmt: skip
    """The graph of plausible edges that `search_space` stands for.

    Parameters
    ----------
    search_space : {"pc", "glasso", "full"}, array, callable, estimator or list
        Where the edges come from; a list stands for the union of its members.
    X : ndarray of shape (n_samples, n_features)
        The data, discrete data as integer codes.
    pc : PCSkeleton
        What "pc" stands for.
    names : sequence of str, default=None
        Names of the variables, for messages.
    sample_weight : ndarray, default=None
        Weights of the rows.
    constraints : Constraints, default=None
        PC does not test pairs that are forbidden in both directions.

    Returns
    -------
    permitted : ndarray of bool, shape (n_features, n_features)
        ``permitted[i, j]``: the edge i -> j is plausible.
    """
    n = X.shape[1]
    if is_union(search_space):
        parts = [
            permitted_edges(part, X, pc=pc, names=names, sample_weight=sample_weight,
                            constraints=constraints)
            for part in search_space
        ]  # fmt: skip
        return np.logical_or.reduce(parts)
    if isinstance(search_space, str):
        if search_space == "full":
            return ~np.eye(n, dtype=bool)
        if search_space == "pc":
            pc = clone(pc)
            if constraints is not None:
                pc.set_params(
                    forbidden_edges=constraints.forbidden,
                    required_edges=constraints.required,
                )
            return pc.fit(X, sample_weight=sample_weight).search_space_
        if search_space == "glasso":
            return glasso_edges(repeat_rows(X, sample_weight, "search_space='glasso'"))
        raise ValueError(
            f"search_space must be 'pc', 'glasso', 'iterative', 'full', an array, a "
            f"callable, an estimator or a list of these; got {search_space!r}."
        )
    refuse_own_constraints(search_space)
    if hasattr(search_space, "search_space_"):
        edges = search_space.search_space_
    elif hasattr(search_space, "fit"):
        edges = edges_of_estimator(search_space, X, sample_weight)
    elif callable(search_space):
        edges = search_space(repeat_rows(X, sample_weight, "A search_space callable"))
    else:
        edges = search_space
    permitted = resolve_edges(np.asarray(edges), n, names, "search_space")
    np.fill_diagonal(permitted, False)
    return permitted


def refuse_own_constraints(search_space):
    """Complain about constraints that chains, which leave the space, would not keep."""
    for name in ("forbidden_edges", "required_edges", "tiers"):
        if getattr(search_space, name, None) is not None:
            raise ValueError(
                f"search_space={type(search_space).__name__}({name}=...): give {name} "
                "to the estimator itself. There it holds for every sampled DAG; here "
                "it would for the search space alone."
            )


def is_union(search_space):
    """Tell a list of spaces from a nested list that is an array."""
    return isinstance(search_space, list | tuple) and any(
        isinstance(part, str | np.ndarray) or callable(part) or hasattr(part, "fit")
        for part in search_space
    )


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


def edges_of_estimator(estimator, X, sample_weight):
    """Fit a clone, and read a graph off what it learned."""
    fitted = clone(estimator)
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


def trim_space(space, score, max_parents, names=None):
    """Cut permissible sets down to `max_parents`.

    A node with too many keeps the required ones and then, one after the other, the
    candidate that raises its score most beside those already kept (the first of
    equals), with a warning.
    """
    permitted = space.permitted.copy()
    for node in np.flatnonzero(permitted.sum(axis=0) > max_parents):
        candidates = space.candidates(node)
        kept, _ = score.select_parents(
            node, candidates, max_parents,
            kept=np.flatnonzero(space.required[:, node]), stop=False,
        )  # fmt: skip
        permitted[:, node] = False
        permitted[kept, node] = True
        warnings.warn(
            f"Node {display_name(names, node)} has {len(candidates)} permissible "
            f"parents; the {max_parents} strongest are kept (max_parents).",
            UserWarning,
            stacklevel=2,
        )
    if space.extended:
        extra = space.extra | (space.permitted & ~permitted)
        return replace(space, permitted=permitted, extra=extra)
    return replace(space, permitted=permitted)
