"""Tables of maxima that grow out of earlier ones.

A search enlarges a node's permissible set by one or two candidates at a time. The sets
without a newcomer stand in the earlier table already: they are half of the new one,
where the newcomer takes the last bit. Of the other half, the sets that all have it, the
scores are computed. A candidate that leaves becomes an outsider: its column holds what
the rows with it held.

What stays true: of each row, the maxima of the columns and of the base column together
are those of a table built afresh. (The column of one who left may hold the maximum of
the base column where that is larger, which nobody can tell.)
"""

import numpy as np

from skbidag._core._subsets import subset_maxima

# Newcomers at most: with more, little of the earlier table is left.
MOST_NEWCOMERS = 2


def grow_maxima(earlier, candidates, newcomers, outsiders, base_column, take, fill):
    """Make a table of maxima out of an earlier one.

    Parameters
    ----------
    earlier : tuple of (ndarray of int, ndarray of shape (2**K, width))
        The candidates of the earlier table, and its maxima.
    candidates : ndarray of int
        Those of them that stay, in the same order.
    newcomers : ndarray of int
        The candidates that join them.
    outsiders : ndarray of int
        The outsiders of the new table; the column of j is j.
    base_column : int
        The column of the sets without an outsider.
    take : callable
        Gives memory for a table of some shape.
    fill : callable
        ``fill(newcomer, floor, candidates, out)`` writes the scores of the sets of
        `candidates` that all have the newcomer beside; where one is below its row's
        `floor` it may be left out.

    Returns
    -------
    maxima : ndarray of shape (2**(n_candidates + n_newcomers), width)
        The table, whose last bits are the newcomers'.
    """
    before, old = earlier
    width = old.shape[1]
    size = 1 << len(candidates)
    maxima = take((size << len(newcomers), width))
    stays = np.isin(before, candidates)
    maxima[:size] = rows_of(old, stays)
    for k in np.flatnonzero(~stays):
        if before[k] in outsiders:
            with_it = rows_of(old, stays, joined=k)
            maxima[:size, before[k]] = with_it[:, base_column]
    maxima[:size, newcomers] = -np.inf
    for newcomer in newcomers:
        lower, upper = maxima[:size], maxima[size : 2 * size]
        upper.fill(-np.inf)
        floor = np.ascontiguousarray(lower[:, base_column])
        fill(newcomer, floor, candidates, upper)
        subset_maxima(upper)
        np.maximum(upper, lower, out=upper)
        candidates = np.append(candidates, newcomer)
        size *= 2
    return maxima


def rows_of(table, stays, joined=None):
    """The rows of masks within the bits that stay, and one more if one is `joined`."""
    # the last axis but one is that of the first bit
    bits = [slice(None) if stay else int(k == joined) for k, stay in enumerate(stays)]
    shape = (2,) * len(stays)
    rows = table.reshape(*shape, table.shape[1])[tuple(bits[::-1])]
    return rows.reshape(-1, table.shape[1])
