"""What a column varies by that others do not tell: the unit of BGe's prior.

The standard deviation of a column is a poor unit for it. Where effects are strong, the
noise of a column is a small part of that, and a prior scale of the order of the whole
hides it: edges are then needed to explain what is no effect. The deviation that the
other columns leave is of the order of the noise whatever the effects are, and it is as
free of units.
"""

import numpy as np

from skbidag._core import _gaussian
from skbidag.scores._gaussian import conditional_variance

# The smallest share of a column's variance that counts as noise: columns that others
# determine are not without.
LEAST_SHARE = 1e-3

# Rows to each column that is selected, at least
ROWS_PER_PARENT = 4


def residual_scale(scatter, total, n_columns=None):
    """Standard deviation of each column given those that tell something about it.

    These are found by forward selection with the extended BIC (Chen & Chen 2008),
    which asks for ½ ln N + ln n nats from each: with many columns some correlate by
    chance.

    Parameters
    ----------
    scatter : ndarray of shape (n_features, n_features)
        The scatter matrix about the mean.
    total : float
        Number of rows, the sum of their weights.
    n_columns : int, default=None
        The columns that are asked for, the first ones. None is all of them.

    Returns
    -------
    scale : ndarray of shape (n_columns,)
        At most the column's own standard deviation; 1 for a constant.
    """
    n = len(scatter)
    n_columns = n if n_columns is None else n_columns
    spread = np.sqrt(np.diag(scatter))
    spread[spread == 0] = 1.0
    correlation = scatter / spread / spread[:, None]
    np.fill_diagonal(correlation, 1.0)
    most = int(min(n - 1, total / ROWS_PER_PARENT))
    sizes = np.arange(most + 1)
    offset, slope = -0.5 * np.log(total) * sizes, np.full(most + 1, total / 2)
    floor, log_odds = np.full(n, 1e-10), np.full(n, -np.log(n))
    share = np.ones(n)
    for node in range(n_columns if most else 0):
        allowed = np.ones(n, dtype=np.uint8)
        allowed[node] = 0
        parents, _ = _gaussian.select_parents(
            correlation,
            np.ones(n),
            floor,
            offset,
            slope,
            0.0,
            log_odds,
            node,
            allowed,
            most,
            np.empty(0, dtype=np.intp),
            True,
        )
        left, _ = conditional_variance(correlation, node, parents, floor)
        # what is fitted leaves less than the noise
        share[node] = left * total / (total - 1 - len(parents))
    scale = np.where(np.diag(scatter) > 0, spread / np.sqrt(total), 1.0)
    return (scale * np.sqrt(np.clip(share, LEAST_SHARE, 1.0)))[:n_columns]
