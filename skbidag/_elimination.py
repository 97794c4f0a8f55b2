"""Categorical networks: one variable after the other is summed out.

A factor is a table over the levels of some variables, for several networks with the
same DAG at once: at first the probabilities of each node given its parents. To sum a
variable out, the factors that have it are multiplied, and the product's sums over its
levels are one new factor. The cost is that of the products' entries.
"""

from math import prod

import numpy as np

# Entries of the largest table for summing out a variable in one network
MAX_ENTRIES = 1 << 20


def elimination_order(scopes, n_levels, target, known):
    """In which order to sum variables out: that with the smallest table first.

    Parameters
    ----------
    scopes : list of list of int
        The variables of each factor.
    n_levels : ndarray of int of shape (n_features,)
        Number of levels of each variable.
    target : int
        The variable that is left.
    known : dict
        The variables whose values are known.

    Returns
    -------
    order : list of int
        The variables to sum out.
    size : int
        Entries of the largest table, those of the factors included.
    """
    n_levels = n_levels.tolist()

    def entries(scope):
        return prod(n_levels[node] for node in scope)

    largest = max(map(entries, scopes))
    scopes = [set(scope) - known.keys() for scope in scopes]
    # for each variable, all that are in a factor with it
    tables = {node: set() for scope in scopes for node in scope}
    for scope in scopes:
        for node in scope:
            tables[node] |= scope
    sizes = {node: entries(table) for node, table in tables.items() if node != target}
    order = []
    while sizes:
        node = min(sizes, key=lambda node: (sizes[node], node))
        size, together = sizes.pop(node), tables.pop(node) - {node}
        if size > MAX_ENTRIES:
            raise ValueError(
                f"Summing out what is not known takes a table of {size} entries, more "
                f"than {MAX_ENTRIES}: a DAG is too dense. Give more evidence, or fit "
                "with smaller max_parents."
            )
        for other in together:
            tables[other] = (tables[other] | together) - {node}
            if other != target:
                sizes[other] = entries(tables[other])
        largest = max(largest, size)
        order.append(node)
    return order, largest


def reduce_factor(scope, table, known):
    """A factor without the variables whose values are known."""
    for axis in reversed(range(len(scope))):
        if scope[axis] in known:
            table = np.take(table, known[scope[axis]], axis=1 + axis)
    return [node for node in scope if node not in known], table


def sum_out(factors, order, target):
    """Probabilities of the target, from factors of the joint distribution.

    Parameters
    ----------
    factors : list of (list of int, ndarray of shape (n_networks, ...))
        Variables, and a table over their levels for each network.
    order : list of int
        The variables to sum out.
    target : int
        The variable that is left.

    Returns
    -------
    probabilities : ndarray of shape (n_networks, n_levels)
        Of its levels.
    """
    for node in order:
        here = [factor for factor in factors if node in factor[0]]
        factors = [factor for factor in factors if node not in factor[0]]
        scope, table = _multiply(here, last=node)
        factors.append((scope[:-1], table.sum(axis=-1)))
    table = _multiply(factors, last=target)[1]
    return table / table.sum(axis=1, keepdims=True)


def _multiply(factors, last):
    """The product of factors, with one variable on the last axis."""
    scope = sorted({node for variables, _ in factors for node in variables} - {last})
    scope.append(last)
    product = 1.0
    for variables, table in factors:
        order = np.argsort([scope.index(node) for node in variables])
        shape = [1] * len(scope)
        for node, size in zip(variables, table.shape[1:], strict=True):
            shape[scope.index(node)] = size
        table = table.transpose(0, *(1 + order))
        product = product * table.reshape(len(table), *shape)
    # whose logarithms may be small together; only proportions count
    largest = product.reshape(len(product), -1).max(axis=1)
    return scope, product / largest.reshape(-1, *[1] * len(scope))
