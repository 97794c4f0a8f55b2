"""What the user says about edges: forbidden, required, tiers, background.

Edges come as (n, n) arrays, as frames whose labels say which row and column is which
variable, or as (parent, child) pairs of names or indices.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse.csgraph import connected_components, shortest_path

from skbidag._data import display_name, resolve_index
from skbidag.graphs import align_labels, is_dag

#: Edges as a user gives them
Edges: TypeAlias = ArrayLike | Sequence[tuple] | None


@dataclass(frozen=True)
class Constraints:
    """Edges that no DAG has, and edges that every DAG has.

    Attributes
    ----------
    forbidden, required : ndarray of bool, shape (n_features, n_features)
        ``forbidden[i, j]`` and ``required[i, j]`` concern the edge i -> j. The
        diagonal is forbidden.
    background : ndarray of bool, shape (n_features,), default=None
        Which variables are in the background: all edges to them are forbidden, and
        they have no place in orders and partitions. None is none of them.
    """

    forbidden: np.ndarray
    required: np.ndarray
    background: np.ndarray | None = None

    def __post_init__(self):
        if self.background is None:
            nothing = np.zeros(len(self.forbidden), dtype=bool)
            object.__setattr__(self, "background", nothing)

    @property
    def n_main(self):
        """Number of variables that are not in the background."""
        return int(np.count_nonzero(~self.background))

    @property
    def upstream(self):
        """Sets of variables that no edge may enter: those up to some tier, above all.

        Edges out of such a set have a direction that is known. Beside the background,
        which is one, these are the variables from which a path of permitted edges leads
        to a given one, as long as they are not all.
        """
        permitted = ~self.forbidden
        n_groups, group = connected_components(permitted, connection="strong")
        if n_groups == 1:
            return ()
        between = np.zeros((n_groups, n_groups), dtype=bool)
        parents, children = np.nonzero(permitted)
        between[group[parents], group[children]] = True
        leads = shortest_path(between, unweighted=True) < np.inf
        sets = {}
        for k in np.unique(group[~self.background]):
            inside = leads[group, k]
            if permitted[inside][:, ~inside].any():
                sets[tuple(np.flatnonzero(inside).tolist())] = None
        return tuple(sets)


def resolve_constraints(
    n_features,
    names=None,
    *,
    forbidden_edges=None,
    required_edges=None,
    tiers=None,
    background=None,
    max_parents=None,
):
    """Turn what the user said about edges into matrices, or say what contradicts.

    Parameters
    ----------
    n_features : int
        Number of variables.
    names : sequence of str, default=None
        Their names.
    forbidden_edges, required_edges : array, frame or list of pairs, default=None
        An (n, n) array or labeled frame whose entry [i, j] concerns i -> j, or
        (parent, child) pairs of names or indices.
    tiers : list of list, default=None
        Groups of names or indices: no edge leads from a later group to an earlier.
    background : sequence of str or int, or of bool, default=None
        Variables without parents, outside of orders: names, indices or a mask.
    max_parents : int, default=None
        The most parents a node may have.

    Returns
    -------
    constraints : Constraints
        The forbidden and required edges, and the background.
    """
    forbidden = resolve_edges(forbidden_edges, n_features, names, "forbidden_edges")
    required = resolve_edges(required_edges, n_features, names, "required_edges")
    refuse(
        forbidden & required,
        names,
        "Edges are both in required_edges and forbidden_edges",
    )
    if tiers is not None:
        against = tier_ban(tiers, n_features, names)
        refuse(against & required, names, "required_edges go against the tiers")
        forbidden |= against
    in_background = resolve_background(background, n_features, names)
    refuse(
        required & in_background,
        names,
        "required_edges lead to variables in the background",
    )
    forbidden |= in_background
    np.fill_diagonal(forbidden, True)
    check_required(required, names, max_parents)
    return Constraints(forbidden, required, in_background)


def resolve_background(background, n_features, names=None):
    """A mask from names, indices or a mask of the variables in the background.

    Parameters
    ----------
    background : sequence of str or int, or of bool, or None
        What the user says.
    n_features : int
        Number of variables.
    names : sequence of str, default=None
        Their names.

    Returns
    -------
    in_background : ndarray of bool, shape (n_features,)
        Which variables are.
    """
    in_background = np.zeros(n_features, dtype=bool)
    if background is None:
        return in_background
    if isinstance(background, str):
        raise ValueError(
            f"background must be a list of variables or a mask, got {background!r}."
        )
    background = list(background)
    if background and all(isinstance(one, bool | np.bool_) for one in background):
        if len(background) != n_features:
            raise ValueError(
                f"background, as a mask, must have {n_features} entries, got "
                f"{len(background)}."
            )
        in_background[:] = background
    else:
        for one in background:
            in_background[resolve_index(one, n_features, names, "background")] = True
    if in_background.all():
        raise ValueError(
            "background has every variable: at least one must be left to have parents."
        )
    return in_background


def without_constants(constraints, data, weights=None):
    """Forbid the edges of columns with one value, which data say nothing about.

    A score may give them a preference, but that is its prior's. Required edges stay.

    Parameters
    ----------
    constraints : Constraints
        What the user says.
    data : ndarray of shape (n_samples, n_features)
        The data; codes stand for categories.
    weights : ndarray of shape (n_samples,), default=None
        How often each row counts.

    Returns
    -------
    constraints : Constraints
        With more forbidden edges.
    """
    if weights is not None:
        data = data[weights > 0]
    constant = data.max(axis=0) == data.min(axis=0)
    idle = (constant | constant[:, None]) & ~constraints.required
    return replace(constraints, forbidden=constraints.forbidden | idle)


def without_impossible(constraints, impossible, names=None):
    """Forbid the edges that the score's model does not have.

    Parameters
    ----------
    constraints : Constraints
        What the user says.
    impossible : ndarray of bool of shape (n_features, n_features) or None
        The edges; None is none.
    names : sequence of str, default=None
        Names of the variables, for messages.

    Returns
    -------
    constraints : Constraints
        With more forbidden edges.
    """
    if impossible is None:
        return constraints
    refuse(
        constraints.required & impossible,
        names,
        "required_edges has edges that the score's model excludes",
    )
    return replace(constraints, forbidden=constraints.forbidden | impossible)


def refuse(edges, names, complaint):
    """Complain about edges, by name, if there are any."""
    if edges.any():
        raise ValueError(f"{complaint}: {edge_names(np.argwhere(edges), names)}.")


def check_required(required, names, max_parents):
    """Required edges must make a DAG, and leave every node within `max_parents`."""
    loops = np.flatnonzero(np.diag(required))
    if len(loops):
        raise ValueError(
            f"required_edges has an edge from {display_name(names, loops[0])} to "
            "itself."
        )
    if required.any() and not is_dag(required):
        cycle = find_cycle(required)
        edges = zip(cycle, np.roll(cycle, -1), strict=True)
        raise ValueError(f"required_edges has a cycle: {edge_names(edges, names)}.")
    n_required = required.sum(axis=0)
    if max_parents is not None and n_required.max(initial=0) > max_parents:
        child = int(np.argmax(n_required))
        edges = [(i, child) for i in np.flatnonzero(required[:, child])]
        raise ValueError(
            f"required_edges gives {display_name(names, child)} "
            f"{n_required[child]} parents, more than max_parents={max_parents}: "
            f"{edge_names(edges, names)}."
        )


def edge_names(edges, names):
    """Edges in words."""
    return ", ".join(
        f"{display_name(names, i)} -> {display_name(names, j)}" for i, j in edges
    )


def resolve_edges(edges, n_features, names, parameter):
    """An (n, n) bool matrix from a matrix, a frame or (parent, child) pairs."""
    if edges is None:
        return np.zeros((n_features, n_features), dtype=bool)
    if not isinstance(edges, np.ndarray) and not hasattr(edges, "columns"):
        edges = list(edges)
        if all(is_pair(pair) for pair in edges):
            return matrix_of_pairs(edges, n_features, names, parameter)
    given = align_labels(edges, names, parameter)
    if given.shape != (n_features, n_features):
        raise ValueError(
            f"{parameter} must be an array of shape ({n_features}, {n_features}) or a "
            f"list of (parent, child) pairs, got shape {given.shape}."
        )
    if given.dtype != bool and not np.isin(given, [0, 1]).all():
        raise ValueError(f"{parameter} must hold zeros and ones only.")
    return given.astype(bool)


def is_pair(edge):
    """Whether this may be a (parent, child) pair."""
    return not isinstance(edge, str) and hasattr(edge, "__len__") and len(edge) == 2


def matrix_of_pairs(pairs, n_features, names, parameter):
    """An (n, n) bool matrix from (parent, child) pairs of names or indices."""
    matrix = np.zeros((n_features, n_features), dtype=bool)
    for pair in pairs:
        parent, child = (
            resolve_index(end, n_features, names, parameter) for end in pair
        )
        matrix[parent, child] = True
    return matrix


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
