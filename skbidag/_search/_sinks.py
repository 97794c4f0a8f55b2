"""Orders to set out from where networks are dense, by the correlations alone.

In a dense network a random order gives most nodes far more parents than they have in
the best one, and a climb from there gets stuck. But whatever a good order is, its last
variable is the child of all its neighbors given all others, the one before that is so
once the last is left out, and so on. So variables are taken out one by one, from the
last to the first, by what tells of a variable that it is nobody's parent:

- *It has few neighbors.* If it has a child, the child's other parents are neighbors as
  well. This leads to few edges, as minimum degree does in factorizing sparse matrices.
- *The others explain it well*, its children, if it has any, among them; but then these
  are explained as well, and in networks where effects add up, better (Reisach et al.
  2023, *A scale-invariant sorting criterion to find a causal order in additive noise
  models*).

Neither is more than a place to start a climb from.
"""

import numpy as np

# Added to the variances, that what others determine can be taken out as well.
LEAST_VARIANCE = 1e-8


def sink_orders(correlations, n_rows, required, background):
    """Orders by both criteria.

    Parameters
    ----------
    correlations : ndarray of shape (n_features, n_features)
        Of the variables.
    n_rows : float
        Number of rows that these are of.
    required : ndarray of bool, shape (n_features, n_features)
        Edges that hold in the orders.
    background : ndarray of bool, shape (n_features,)
        Variables that stand before all others, and are in no order.

    Returns
    -------
    orders : list of ndarray
        Parents to the right.
    """
    return [
        order_of_sinks(correlations, n_rows, required, background, worth)
        for worth in (fewest_neighbors, best_explained)
    ]


def order_of_sinks(correlations, n_rows, required, background, worth):
    """Take out the variable that is worth most, again and again."""
    n = len(correlations)
    precision = np.linalg.inv(correlations + LEAST_VARIANCE * np.eye(n))
    left = np.ones(n, dtype=bool)
    n_children = required.sum(axis=1)
    order = []
    for _ in range(n - background.sum()):
        may_be_last = left & ~background & (n_children == 0)
        worths = np.where(may_be_last, worth(precision, n_rows), -np.inf)
        last = int(np.argmax(worths))
        order.append(last)
        left[last] = False
        n_children -= required[:, last]
        of_last = precision[:, last].copy()
        precision -= np.outer(of_last, of_last / of_last[last])
        # out of the way, and nobody's neighbor
        precision[:, last] = precision[last] = 0.0
        precision[last, last] = 1.0
    return np.array(order, dtype=np.intp)


def best_explained(precision, n_rows):
    """How little the others leave of each variable."""
    return np.diag(precision)


def fewest_neighbors(precision, n_rows):
    """How few neighbors each variable has given all others, weak ones for less.

    A neighbor counts for the log-likelihood that it adds, up to half the logarithm of
    the number of rows, which an edge costs by BIC.
    """
    spread = np.diag(precision)
    shares = precision**2 / np.outer(spread, spread)
    np.fill_diagonal(shares, 0.0)
    gains = -n_rows / 2 * np.log1p(-np.minimum(shares, 1 - 1e-12))
    return -np.minimum(gains, np.log(n_rows) / 2).sum(axis=0)
