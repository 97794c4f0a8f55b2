"""Scatter matrices that are the same to the last bit however they are added up.

The last bits of a score steer chains. So they must not depend on the order of the rows,
on how BLAS adds up and in how many threads, nor on whether a row has the weight 2 or
stands there twice. For that, columns are cut into whole numbers of so few bits that all
sums of their products are exact.

Rows are read block by block, and no copy of them is made.
"""

import itertools
import math

import numpy as np

# Bits of a double, and those of exactly added products
PRECISION = 53

# Numbers of a block of rows that are looked at together: what lies in the cache
BLOCK_SIZE = 1 << 17

# The weight of rows whose products are added up in one go. More of them would leave
# fewer bits to each part of a number, which would ask for more parts.
LONGEST_SUM = 1 << 14

# The unit of the upper half of a longer sum
HALF = 2.0**26

# Two to this power is a double, and so is its inverse.
LARGEST_EXPONENT = 1000

# Multiplications of a product of matrices that one thread does, and of one that is
# worth several
SMALL_PRODUCT = 1 << 18
LARGE_PRODUCT = 1 << 23

# Weights that are whole numbers up to this sum count as repeated rows, bit by bit.
LARGEST_WHOLE = 1 << 24


def weighted_scatter(X, weights, size=1.0):
    """Sum of weights, weighted mean, and scatter matrix about the mean.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
        The rows.
    weights : ndarray of shape (n_rows,)
        How often each row counts.
    size : float or ndarray of shape (n_features,), default=1.0
        What columns are divided by.

    Returns
    -------
    total : float
        The sum of the weights.
    mean : ndarray of shape (n_features,)
        The weighted mean.
    scatter : ndarray of shape (n_features, n_features)
        The weighted sum of products of deviations from the mean.
    """
    if not weights.all():
        X, weights = X[weights > 0], weights[weights > 0]
    total = math.fsum(weights)
    whole = total <= LARGEST_WHOLE and bool((weights == np.rint(weights)).all())
    counts = weights if whole else np.ones(len(weights))
    factors = None if whole else weights
    # the caller looks for columns whose squares overflow, and can name them
    with np.errstate(over="ignore", invalid="ignore"):
        mean = _column_sums(_Columns(X, size, 0.0, factors), counts) / total
        centered = _Columns(X, size, mean)
        if whole:
            return total, mean, _products(centered, counts, centered)
        weighted = _Columns(X, size, mean, weights)
        scatter = _products(weighted, counts, centered)
        return total, mean, (scatter + scatter.T) / 2


def pooled(one, other):
    """Sum of weights, mean and scatter matrix of two sets of rows together."""
    (n_one, mean, scatter), (n_other, other_mean, other_scatter) = one, other
    total = n_one + n_other
    shift = other_mean - mean
    joint = scatter + other_scatter
    joint += n_one * n_other / total * np.outer(shift, shift)
    return total, mean + n_other / total * shift, joint


class _Columns:
    """Columns divided, shifted and multiplied, whose rows are made as they are needed.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns)
        The rows.
    size, shift : float, or ndarray of shape (n_columns,)
        What columns are divided by, and what is then taken from them.
    factors : ndarray of shape (n_rows,), default=None
        What rows are multiplied by in the end.
    """

    def __init__(self, X, size, shift, factors=None):
        self.X, self.size, self.shift, self.factors = X, size, shift, factors
        largest = np.zeros(X.shape[1])
        for rows in _blocks(*X.shape):
            np.maximum(largest, np.abs(self[rows]).max(axis=0), out=largest)
        #: Columns all of whose values are numbers
        self.finite = np.isfinite(largest)
        #: Exponents of two of the columns' largest values, 0 for columns of zeros
        self.exponent = np.frexp(np.where(self.finite, largest, 0.0))[1]

    def __getitem__(self, rows):
        """A new array of these rows."""
        values = self.X[rows] / self.size
        values -= self.shift
        if self.factors is not None:
            values *= self.factors[rows, None]
        return values

    def parts(self, rows, bits):
        """Cut rows into whole numbers of few bits, the leading ones first.

        The sum over parts k of part / 2 ** (bits * (k + 1)), times 2 ** exponent, is
        the rows.
        """
        left = self[rows]
        for factor in self._powers(bits - self.exponent):
            left *= factor
        if not self.finite.all():
            left[~np.isfinite(left)] = 0.0
        parts = [np.rint(left)]
        while len(parts) < _n_parts(bits):
            left -= parts[-1]
            left *= 2.0**bits
            parts.append(np.rint(left))
        return parts

    @staticmethod
    def _powers(exponent):
        """Powers of two by factors that are doubles."""
        if np.abs(exponent).max() < LARGEST_EXPONENT:
            return [np.ldexp(1.0, exponent)]
        half = exponent // 2
        return [np.ldexp(1.0, half), np.ldexp(1.0, exponent - half)]


def _column_sums(columns, counts):
    """Exact sums of columns, rounded once; rows count so often."""
    bits, sums = PRECISION - _n_bits(counts.sum()), 0.0
    for rows in _blocks(*columns.X.shape):
        parts = columns.parts(rows, bits)
        weighted = (part * counts[rows, None] for part in parts)
        sums = sums + np.stack([part.sum(axis=0) for part in weighted])
    return _in_units(sums, columns.exponent, bits)


def _products(left, counts, right):
    """Sums over rows of all products of left and right columns, nearly exact.

    What is left out is less than the last bit of the largest product.
    """
    total, alike = counts.sum(), left is right
    bits = (PRECISION - _n_bits(min(total, LONGEST_SUM))) // 2
    n_parts, n = _n_parts(bits), len(left.exponent)
    pairs = [
        (i, j)
        for i, j in itertools.product(range(n_parts), repeat=2)
        if i + j < n_parts and (not alike or i <= j)
    ]
    sums = _WholeSum((len(pairs), n, n), total > LONGEST_SUM)
    for rows in _blocks(*left.X.shape):
        of_left = left.parts(rows, bits)
        of_right = of_left if alike else right.parts(rows, bits)
        for digits, unit in _digits(counts[rows], total):
            heavy = of_left
            if (digits != 1).any():
                heavy = [part * digits[:, None] for part in of_left]
            for k, (i, j) in enumerate(pairs):
                sums.add(k, _dot(heavy[i], of_right[j]), unit)
    by_size = np.zeros((n_parts, n, n))
    for k, (i, j) in enumerate(pairs):
        product = sums.rounded(k)
        by_size[i + j] += product
        if alike and i < j:
            by_size[i + j] += product.T
    exponent = left.exponent[:, None] + right.exponent - bits
    result = _in_units(by_size, exponent, bits)
    # a column beyond all numbers has no finite scatter
    result[~left.finite] = np.inf
    return result


class _WholeSum:
    """Sums of arrays of whole numbers, in two halves where they outgrow a double."""

    def __init__(self, shape, is_long):
        self.low = np.zeros(shape)
        self.high = np.zeros(shape) if is_long else None

    def add(self, k, term, unit):
        """Add to the k-th array a term of whole numbers, so many units each."""
        if self.high is not None:
            term *= unit
            high = np.rint(term / HALF)
            self.high[k] += high
            term -= high * HALF
        self.low[k] += term

    def rounded(self, k):
        """The k-th sum, rounded once."""
        return self.low[k] if self.high is None else self.high[k] * HALF + self.low[k]


def _digits(counts, total):
    """Take counts of a block apart, so that each part adds up to a short sum.

    Yields
    ------
    digits : ndarray
        The digits of the counts in a number system, from the last one on.
    unit : float
        What they stand for.
    """
    if total <= LONGEST_SUM:
        yield counts, 1.0
        return
    base, unit = 2.0 ** int(np.log2(LONGEST_SUM / len(counts))), 1.0
    while counts.any():
        digits = np.fmod(counts, base)
        yield digits, unit
        counts, unit = (counts - digits) / base, unit * base


def _dot(left, right):
    """Sums over rows of products of whole numbers, which are exact in any order.

    Of few columns it takes few rows at a time, unless there is a lot to do: BLAS would
    give each thread some of many, and where the processor has other work they wait for
    each other.
    """
    n_rows = SMALL_PRODUCT // left.shape[1] ** 2
    large = left.size * right.shape[1] >= LARGE_PRODUCT
    if n_rows < 16 or len(left) < n_rows or large:
        return left.T @ right
    end = len(left) // n_rows * n_rows
    shape = (-1, n_rows, left.shape[1])
    stacks = left[:end].reshape(shape).transpose(0, 2, 1) @ right[:end].reshape(shape)
    return stacks.sum(axis=0) + left[end:].T @ right[end:]


def _blocks(n_rows, n_columns):
    """Slices of rows that are looked at together.

    What lies in the cache is fast; but a sum of products must have more to do than to
    add up matrices.
    """
    size = max(BLOCK_SIZE, min(4 * n_columns**2, 16 * BLOCK_SIZE)) // n_columns
    size = min(max(1, size), LONGEST_SUM // 4)
    return [slice(start, start + size) for start in range(0, n_rows, size)]


def _n_bits(total):
    """Bits that a sum of so many terms has more than one of them."""
    return int(np.ceil(np.log2(max(total, 1.0)))) + 1


def _n_parts(bits):
    """How many parts hold a double, and a little more, as not all begin with a one."""
    return -(-(PRECISION + 2) // bits)


def _in_units(sums, exponent, bits):
    """Put sums of parts together, the smallest first, and scale them."""
    total = np.zeros_like(sums[0])
    for part in sums[::-1]:
        total = total / 2.0**bits + part
    return np.ldexp(total, exponent - bits)
