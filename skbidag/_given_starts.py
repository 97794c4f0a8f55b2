"""Where the user wants chains, or a search, to start: orders and DAGs."""

from dataclasses import dataclass

import numpy as np

from skbidag._data import display_name, resolve_index
from skbidag.graphs import check_adjacency, topological_order


@dataclass(frozen=True)
class GivenStart:
    """An order, parents to the right, and the DAG that it was made of, if any."""

    order: np.ndarray
    dag: np.ndarray | None = None


def resolve_starts(start, n_features, names, constraints):
    """Turn what the user gives into starts.

    Parameters
    ----------
    start : None, order, DAG or list of these
        An order is a sequence of all variables by name or index, parents before their
        children; a DAG is an (n, n) array or frame.
    n_features : int
        Number of variables.
    names : sequence of str or None
        Their names.
    constraints : Constraints
        Forbidden and required edges, which the starts must respect.

    Returns
    -------
    starts : list of GivenStart
        Empty for None.
    """
    if start is None:
        return []
    starts = [
        given_dag(one, names, n_features)
        if is_matrix(one)
        else given_order(one, names, n_features)
        for one in parts_of(start, n_features)
    ]
    for one in starts:
        check_edges(one, names, constraints)
    return starts


def parts_of(start, n_features):
    """The starts in a list, one order or DAG being a list of one."""
    if is_matrix(start) or not any(has_parts(part) for part in start):
        return [start]
    if isinstance(start, list | tuple) and is_nested_dag(start, n_features):
        return [np.asarray(start)]
    return list(start)


def has_parts(part):
    """Whether it is an order or DAG, and no variable of an order."""
    return isinstance(part, list | tuple) or hasattr(part, "columns") or np.ndim(part)


def is_matrix(start):
    """Whether it is a DAG, an array or frame with two dimensions."""
    return len(getattr(start, "shape", ())) == 2


def is_nested_dag(start, n_features):
    """Tell a DAG as a nested list from a list of orders, which have other numbers."""
    rows = [list(row) if isinstance(row, list | tuple) else None for row in start]
    return len(rows) == n_features and all(
        row is not None and len(row) == n_features and set(row) <= {0, 1}
        for row in rows
    )


def given_dag(start, names, n_features):
    """Start at a DAG, in one of its orders."""
    dag = check_adjacency(start, "start", names=names)
    if dag.shape != (n_features, n_features):
        raise ValueError(
            f"start must be a DAG of shape ({n_features}, {n_features}), or an order "
            f"of {n_features} variables; got an array of shape {dag.shape}."
        )
    try:
        order = topological_order(dag)[::-1]
    except ValueError as error:
        raise ValueError("start must be a DAG, but it has a cycle.") from error
    return GivenStart(np.ascontiguousarray(order), dag)


def given_order(start, names, n_features):
    """Start at an order."""
    order = [resolve_index(one, n_features, names, "start") for one in start]
    if sorted(order) != list(range(n_features)):
        raise ValueError(
            f"start must be an order of all {n_features} variables, each once; got "
            f"{list(start)!r}."
        )
    return GivenStart(np.array(order[::-1], dtype=np.intp))


def check_edges(start, names, constraints):
    """Raise an error that names an edge by which a start breaks the constraints."""
    place = np.argsort(start.order)
    dag = place[:, None] > place if start.dag is None else start.dag
    wrong = constraints.required & ~dag  # of an order: all that it permits
    what = "lacks the required edge"
    if start.dag is None:
        what = "has no room for the required edge"
    elif not wrong.any():
        wrong, what = constraints.forbidden & dag, "has the forbidden edge"
    if wrong.any():
        i, j = (display_name(names, node) for node in np.argwhere(wrong)[0])
        raise ValueError(f"start {what} {i} -> {j}.")
