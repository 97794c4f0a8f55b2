"""Ordered categories as normal variables of which only the class is seen.

An ordered category, age groups or answers from "never" to "always", is taken for a
normal variable that was cut at thresholds (Pearson's polychoric correlations). What the
thresholds are, the shares of the levels tell. The variable itself is drawn: with
all other columns normal as well, each value comes from a normal distribution given the
rest of its row, truncated to its class, and the covariances of all columns come from
what was drawn last (a stochastic EM algorithm, Celeux & Diebolt 1985; with covariances
drawn as well it were Hoff's sampler, 2007). After a warm-up, several draws of each row
stand side by side, each with its share of the row's weight.

Categories without an order take part by their levels, each a column of 0 and 1.
"""

import numpy as np
from scipy.special import ndtr, ndtri

from skbidag._data import unique_rows
from skbidag.scores._scatter import weighted_scatter

# Sweeps over all cells before any is kept, of no more than so many rows
N_WARM_UP, MOST_WARM_UP = 50, 10_000

# Sweeps in which the rows that took no part in these come to join, or in which those
# of a completion come from the covariances of another to their own
N_SETTLING = 5

# Draws that are kept of each row of a completion, of which there are hundreds
MOST_DRAWS_AGAIN = 10

# Draws that are kept of each row, fewer where they are too many numbers
MOST_DRAWS, FEWEST_DRAWS, MOST_NUMBERS = 30, 3, 3_000_000

# How many rows of uncorrelated columns the prior of the covariances is worth
PRIOR_ROWS = 1.0

# A row that counts more often than this is drawn so many times
MOST_COPIES = 1000

# Rows of a cell over the columns from which on sums are worth more than rows
ROWS_PER_POINT = 4


def thresholds(codes, counts, n_levels, pseudo_count):
    """Where a standard normal variable is cut into levels as frequent as these.

    Parameters
    ----------
    codes : ndarray of int of shape (n_rows,)
        The levels.
    counts : ndarray of shape (n_rows,)
        How often each row counts.
    n_levels : int
        How many levels there are.
    pseudo_count : float
        What is added to the counts of the levels, all together, so that no level has
        the probability 0.

    Returns
    -------
    cuts : ndarray of shape (n_levels - 1,)
        Finite, and increasing.
    """
    shares = np.bincount(codes, counts, n_levels) + pseudo_count / n_levels
    below, above = shares.cumsum()[:-1], shares[::-1].cumsum()[::-1][1:]
    # from the nearer end, so that rare levels at both ends are told from none
    nearer = np.minimum(below, above) / (below + above)
    return np.copysign(ndtri(nearer), below - above)


def normal_scores(cuts):
    """Expectation of a standard normal variable in each of its classes.

    Parameters
    ----------
    cuts : ndarray of shape (n_levels - 1,)
        The thresholds.

    Returns
    -------
    scores : ndarray of shape (n_levels,)
        The expectations.
    """
    density = np.exp(-(cuts**2) / 2) / np.sqrt(2 * np.pi)
    density = np.concatenate([[0.0], density, [0.0]])
    edges = np.concatenate([[-np.inf], cuts, [np.inf]])
    # probabilities from the nearer end
    low, high = edges[:-1], edges[1:]
    swap = low > 0
    share = ndtr(np.where(swap, -low, high)) - ndtr(np.where(swap, -high, low))
    with np.errstate(invalid="ignore", divide="ignore"):
        scores = (density[:-1] - density[1:]) / share
    # what rounding leaves of a rare class is within it
    return np.clip(np.where(np.isfinite(scores), scores, cuts.mean()), low, high)


def share_of_information(cuts):
    """How much of the information about a small correlation its classes keep.

    Parameters
    ----------
    cuts : ndarray of shape (n_levels - 1,)
        The thresholds.

    Returns
    -------
    share : float
        The variance of the normal scores, 2 / pi for two halves.
    """
    scores = normal_scores(cuts)
    edges = np.concatenate([[0.0], ndtr(cuts), [1.0]])
    return float(np.clip(np.diff(edges) @ scores**2, 0.0, 1.0))


def information(shares):
    """What a row is worth when of some columns only classes are seen.

    Correlations of two columns keep the product of their shares where they are small,
    and less where they are large: the square of the mean over pairs does for all of
    them, by measurement (docs/architecture.rst).

    Parameters
    ----------
    shares : ndarray of shape (n_features,)
        Of each column, 1 for those that are seen.

    Returns
    -------
    worth : float
        At most 1.
    """
    n = len(shares)
    if n < 2:
        return 1.0
    of_pairs = (shares.sum() ** 2 - (shares**2).sum()) / (n * (n - 1))
    return float(of_pairs**2)


def draw_latents(rows, counts, cuts, levels, precision=None):
    """Rows in which ordered categories are drawn as normal variables.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_features)
        Codes of categories, and numbers.
    counts : ndarray of shape (n_rows,)
        How often each row counts.
    cuts : dict
        The thresholds of each ordinal column.
    levels : ndarray of int of shape (n_features,)
        How many levels the categorical columns without an order have, 0 for all others.
    precision : ndarray, default=None
        What was returned for rows that are nearly the same, which saves a warm-up.

    Returns
    -------
    drawn : ndarray of shape (n_drawn, n_features)
        The same with standard normal variables for ordered categories. Where columns
        without an order make the same cell of many rows, fewer rows with the same mean
        and covariances stand for them.
    seen : ndarray of shape (n_drawn, n_features)
        The same with normal scores for ordered categories.
    weights : ndarray of shape (n_drawn,)
        What each row is worth: their sum is that of `counts` times what is known of
        them, see :func:`information`.
    precision : ndarray
        The inverse of the covariance matrix of ordinal columns, numbers and levels,
        standardized.
    """
    ordinal, divides = np.array(sorted(cuts)), levels > 0
    codes = rows[:, ordinal].astype(np.intp)
    scores = [normal_scores(cuts[j]) for j in ordinal]
    known = rows.copy()
    for k, j in enumerate(ordinal):
        known[:, j] = scores[k][codes[:, k]]
    # each time a row counts it is another one, drawn by itself
    copies = np.minimum(np.ceil(counts), MOST_COPIES).astype(np.intp)
    which = np.repeat(np.arange(len(rows)), copies)
    weights = np.repeat(counts / copies, copies)
    edges = [np.concatenate([[-np.inf], cuts[j], [np.inf]]) for j in ordinal]
    classes = [
        (edge[code], edge[code + 1])
        for edge, code in zip(edges, codes[which].T, strict=True)
    ]
    others = _others(known[which], weights, ordinal, levels)
    start = known[which][:, ordinal]
    columns = np.column_stack([_standardized(start, weights), others])
    if precision is None:
        draws, precision = _draw(columns, classes, weights)
    else:
        draws = _draw_again(columns, classes, weights, precision)

    shares = np.ones(rows.shape[1])
    shares[ordinal] = [share_of_information(cuts[j]) for j in ordinal]
    seen = np.tile(known[which], (len(draws), 1))
    drawn = seen.copy()
    drawn[:, ordinal] = np.concatenate(draws)
    weights = np.tile(weights * information(shares) / len(draws), len(draws))
    return *_condensed(drawn, seen, weights, ordinal, divides), precision


def _others(rows, weights, ordinal, levels):
    """The other columns, levels as columns of 0 and 1, standardized."""
    continuous = levels == 0
    continuous[ordinal] = False
    of_levels = [
        rows[:, j] == level
        for j in np.flatnonzero(levels)
        for level in range(1, levels[j])
    ]
    others = np.column_stack([rows[:, continuous], *of_levels]).astype(np.float64)
    if not others.shape[1]:
        return others
    largest = np.abs(others).max(axis=0)
    return _standardized(others / np.where(largest > 0, largest, 1.0), weights)


def _standardized(columns, weights):
    total, mean, scatter = weighted_scatter(columns, weights)
    deviation = np.sqrt(np.diag(scatter) / total)
    return (columns - mean) / np.where(deviation > 0, deviation, 1.0)


def _draw(columns, classes, weights):
    """Draws of the latent columns from the last sweeps, and their precision."""
    rng = np.random.RandomState(0)
    n, n_rows = len(classes), len(columns)
    step = -(-n_rows // MOST_WARM_UP)
    some, few = slice(None, None, step), columns[::step].copy()
    some_classes = [(low[some], high[some]) for low, high in classes]
    for _ in range(N_WARM_UP):
        precision = _precision(few, weights[some])
        _sweep(few, precision, some_classes, rng)
        # classes tell nothing of units, which would drift
        few[:, :n] = _standardized(few[:, :n], weights[some])
    columns[some], precision = few, _precision(few, weights[some])
    n_draws = _n_draws(columns, MOST_DRAWS)
    draws, covariances = [], []
    for _ in range(n_draws + (N_SETTLING if step > 1 else 0)):
        _sweep(columns, precision, classes, rng)
        columns[:, :n] = _standardized(columns[:, :n], weights)
        precision = _precision(columns, weights)
        draws.append(columns[:, :n].copy())
        covariances.append(np.linalg.inv(precision))
    return draws[-n_draws:], np.linalg.inv(np.mean(covariances[-n_draws:], axis=0))


def _draw_again(columns, classes, weights, precision):
    """Draws of the latent columns with covariances that are nearly known.

    A few sweeps take them most of the way to those of these rows; halves of steps, so
    that they do not take over the noise of single draws.
    """
    rng, n = np.random.RandomState(0), len(classes)
    covariance = np.linalg.inv(precision)
    for _ in range(N_SETTLING):
        _sweep(columns, precision, classes, rng)
        covariance = (covariance + _covariance(columns, weights)) / 2
        precision = np.linalg.inv(covariance)
    n_draws, draws = _n_draws(columns, MOST_DRAWS_AGAIN), []
    for _ in range(n_draws):
        _sweep(columns, precision, classes, rng)
        draws.append(columns[:, :n].copy())
    return draws


def _n_draws(columns, most):
    """How many draws of each row there are to be."""
    return min(max(MOST_NUMBERS // columns.size, FEWEST_DRAWS), most)


def _precision(columns, weights):
    return np.linalg.inv(_covariance(columns, weights))


def _covariance(columns, weights):
    """The covariance matrix, with some weight on none."""
    total, _, scatter = weighted_scatter(columns, weights)
    scatter[np.diag_indices(len(scatter))] += PRIOR_ROWS
    return scatter / (total + PRIOR_ROWS)


def _sweep(columns, precision, classes, rng):
    """Draw the latent columns, the first ones, one after the other."""
    for j, (low, high) in enumerate(classes):
        spread = 1 / np.sqrt(precision[j, j])
        # not by BLAS, whose last digits depend on its threads
        pull = np.einsum("ij,j->i", columns, precision[j])
        center = columns[:, j] - pull * spread**2
        columns[:, j] = _truncated(center, spread, low, high, rng)


def _truncated(center, spread, low, high, rng):
    """Draw from normal distributions truncated to intervals."""
    a, b = (low - center) / spread, (high - center) / spread
    # in the lower tail, where probabilities have all their digits
    swap = a > 0
    a, b = np.where(swap, -b, a), np.where(swap, -a, b)
    below, above = ndtr(a), ndtr(b)
    p = below + (above - below) * rng.random_sample(len(center))
    z = ndtri(np.maximum(p, 1e-300))
    return np.clip(center + spread * np.where(swap, -z, z), low, high)


def _condensed(drawn, seen, weights, ordinal, divides):
    """Fewer rows with the same sums and sums of products within cells."""
    numbers = np.flatnonzero(~divides)
    both = np.column_stack([drawn[:, numbers], seen[:, ordinal]])
    size = both.shape[1] + 1
    _, first, cell = unique_rows(np.where(divides, drawn, 0.0))
    order = np.argsort(cell, kind="stable")
    ends = np.cumsum(np.bincount(cell))
    # contrasts: as many rows of mean 0 as there are points, uncorrelated
    contrasts = np.linalg.qr(np.eye(size) - 1 / size)[0][:, :-1]
    places, values, counts = [], [], []
    for at, rows in zip(first, np.split(order, ends[:-1]), strict=True):
        if len(rows) <= ROWS_PER_POINT * size:
            places.append(rows)
            values.append(both[rows])
            counts.append(weights[rows])
            continue
        unit = np.maximum(np.abs(both[rows]).max(axis=0), np.finfo(float).tiny)
        total, mean, scatter = weighted_scatter(both[rows] / unit, weights[rows])
        lengths, axes = np.linalg.eigh(scatter * size / total)
        points = contrasts @ (axes * np.sqrt(np.maximum(lengths, 0.0))).T
        places.append(np.full(size, at))
        values.append((mean + points) * unit)
        counts.append(np.full(size, total / size))
    places, values = np.concatenate(places), np.concatenate(values)
    drawn, seen = drawn[places], seen[places]
    drawn[:, numbers] = seen[:, numbers] = values[:, : len(numbers)]
    seen[:, ordinal] = values[:, len(numbers) :]
    return drawn, seen, np.concatenate(counts)
