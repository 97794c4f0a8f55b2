"""PC's skeleton by a compiled search, and through causal-learn for any other test.

The PC algorithm (Spirtes, Glymour & Scheines 2000, in the order-independent form of
Colombo & Maathuis, JMLR 2014) starts from the complete graph. At depth l = 0, 1, ... it
removes every edge x - y for which x and y are independent given some l neighbors of x
or of y, the neighborhoods being those at the start of the depth. Then it orients.

The first part takes nearly all the time. For Fisher's z, chi-square and G² the
kernels in ``_core/_pc.pyx`` do it, one call for each node and depth. For mixed data the
compiled tables of their score give Bayes factors. Any other test runs in causal-learn,
which also orients what has been found.

A node with d neighbors makes up to d C(d - 1, l) tests at depth l, which among the
neighbors of a hub has no end. So each kind of test has a bound on that number,
`most_tests`. A node that would need more does not search the depth, and its edges are
left to their other ends; those that stay are undecided. It is all sets or none, since
the first so many would depend on the order of the columns.
"""

from copy import copy
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtri, comb, ndtri

from skbidag._causal_learn import find_skeleton, orient_skeleton, oriented_graph
from skbidag._core._pc import separate_discrete, separate_gaussian
from skbidag._data import check_weights, display_name
from skbidag._interventions import undisturbed_rows
from skbidag._kinds import are_few
from skbidag._parallel import run_threads
from skbidag._pc_interventions import (
    CorrelationsLeftAlone,
    CountsLeftAlone,
    PairsLeftAlone,
)
from skbidag.scores import ConditionalGaussian
from skbidag.scores._interventional import with_interventions

# Share of a variable's variance below which it counts as determined by others. The
# rounding error of a residual variance is some 1e-15, so above this the partial
# correlation still has a few correct digits.
_TOLERANCE = 1e-12

# Nanoseconds of work at a depth below which threads cost more than they bring.
_WORTH_THREADS = 5e7


@dataclass(frozen=True, eq=False)
class PCResult:
    """What PC found.

    Attributes
    ----------
    skeleton : ndarray of bool, shape (n_features, n_features)
        Symmetric; ``skeleton[i, j]`` tells whether there is an edge between i and j.
    directed : ndarray of bool, shape (n_features, n_features)
        The CPDAG: ``directed[i, j]`` without ``directed[j, i]`` is the edge i -> j,
        both are an edge without direction. The skeleton if it was not oriented.
    n_tests : list of int
        Number of independence tests for each size of the conditioning set.
    undecided : ndarray of bool, shape (n_features, n_features)
        Symmetric; edges of the skeleton that stayed because not all conditioning sets
        were tried, for these were too many.
    separators : callable
        Gives, for each pair x < y that is not joined, the sets that separate it. The
        compiled search looks for all of them only if it has to, and then again.
    forbidden, required : ndarray of bool, shape (n_features, n_features)
        The constraints.
    """

    skeleton: NDArray[np.bool_]
    directed: NDArray[np.bool_]
    n_tests: list[int]
    undecided: NDArray[np.bool_]
    separators: "_Known | _CompiledSearch"
    forbidden: NDArray[np.bool_]
    required: NDArray[np.bool_]

    def causal_graph(self, names=None):
        """The result as causal-learn has it, oriented by its rules.

        Parameters
        ----------
        names : sequence of str, default=None
            Names of the nodes.

        Returns
        -------
        graph : causallearn.graph.GraphClass.CausalGraph
            Skeleton, separating sets and directions.
        """
        return oriented_graph(
            self.skeleton, self.separators(), self.forbidden, self.required, names
        )


def pc_skeleton(
    X,
    *,
    alpha,
    test="fisherz",
    sample_weight=None,
    interventions=None,
    forbidden=None,
    required=None,
    max_conditioning=None,
    n_jobs=None,
    random_state=None,
    accelerate=True,
    orient=False,
):
    """Skeleton of a Bayesian network by PC-stable, and its orientation.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The data. For ``"chisq"`` and ``"gsq"`` each distinct value of a column is one
        of its levels.
    alpha : float
        Significance level of the tests, between 0 and 1. An edge goes when the
        p-value of one of its tests is larger.
    test : str, default="fisherz"
        ``"fisherz"`` for continuous data, ``"chisq"`` or ``"gsq"`` for discrete data,
        ``"evidence"`` for mixed data (Bayes factors, for which `alpha` is nothing),
        or the name of any other test of causal-learn (``"mv_fisherz"``, ``"kci"``,
        ``"rcit"``, ...), which then runs there.
    sample_weight : array-like of shape (n_samples,), default=None
        How often each row counts. The sample size is their sum. Tests that run in
        causal-learn need whole numbers.
    interventions : ndarray of bool of shape (n_samples, n_features), default=None
        Which cells were set. A pair is then tested on the rows in which neither of the
        two was. Tests that run in causal-learn take the rows in which nothing was set,
        if these are five to each variable, or else all.
    forbidden : array-like of shape (n_features, n_features), default=None
        ``forbidden[i, j]`` bans the edge i -> j. A pair with both directions banned
        is not tested and not in the skeleton. One banned direction shows in
        `directed` only.
    required : array-like of shape (n_features, n_features), default=None
        ``required[i, j]`` requires the edge i -> j: the pair is not tested and is in
        the skeleton, and the edge is oriented so.
    max_conditioning : int, default=None
        Largest size of a conditioning set. No limit by default.
    n_jobs : int, default=None
        Number of threads over the nodes, for the compiled search. The result does not
        depend on it.
    random_state : int, RandomState instance or None, default=None
        Seed of those tests of causal-learn that draw random numbers ("rcit", "kci",
        "fastkci"). numpy's global generator is left as it was.
    accelerate : bool, default=True
        Whether the compiled search takes the place of causal-learn's. False runs
        causal-learn as it is.
    orient : bool, default=False
        Whether to orient the skeleton by causal-learn's rules (unshielded colliders
        by separating sets, existing ones first; then Meek's rules).

    Returns
    -------
    result : PCResult
        The skeleton, the CPDAG and the numbers of tests.

    Notes
    -----
    The skeleton is that of causal-learn's ``skeleton_discovery`` with
    ``stable=True``, and the orientation that of its ``pc``. For this the separating
    sets are kept as there: of an edge x - y, the union of *all* sets that separate it
    at the depth where it goes, from either side. So a common neighbor becomes a
    collider only if no such set has it, which does not depend on the order of the
    columns. As in causal-learn, a pair banned in both directions counts as separated
    by the empty set, so its common neighbors can become colliders.

    A node with d neighbors takes up to d C(d - 1, l) tests given sets of l of them.
    If that is more than 20 million (Fisher's z) or 250,000 (chi-square and G², which
    cost more), its edges are not tested from its side given sets of that size, nor of
    a larger one while it has so many neighbors. All sets of up to 23, or 17, neighbors
    are within. Here causal-learn would go on for hours or for ever; an edge that stays
    for this reason is in `undecided`. Which ones do depends neither on the order of
    the columns nor on `n_jobs`. causal-learn's own search, for any other test or
    with ``accelerate=False``, has no such bound: `max_conditioning` is its limit.

    Degenerate data, where causal-learn fails or compares with NaN:

    - Fisher's z: a constant column is independent of everything.
    - Fisher's z: if a variable of a test is a linear function of the others in it
      (duplicated columns, a singular correlation matrix), the test says nothing and
      removes no edge. So duplicates stay connected and have the same neighbors.
    - Fisher's z: a test without degrees of freedom (sample size - set size - 3 <= 0)
      removes no edge, so the search ends there. (causal-learn takes p = 1 if they are
      exactly 0, and fails below.)
    - chi-square, G²: only observed rows and columns of the table of an observed
      configuration count for the degrees of freedom, and with none left, p = 1, as in
      causal-learn. So a constant column is independent of everything.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((500, 3))
    >>> X[:, 1] += X[:, 0] + X[:, 2]
    >>> pc_skeleton(X, alpha=0.01).skeleton.astype(int)
    array([[0, 1, 0],
           [1, 0, 1],
           [0, 1, 0]])
    """
    if test == "evidence":
        score = with_interventions(ConditionalGaussian(edge_penalty=1.0), interventions)
        return evidence_skeleton(
            score.fit(X, sample_weight=sample_weight),
            forbidden=forbidden,
            required=required,
            max_conditioning=max_conditioning,
            n_jobs=n_jobs,
            orient=orient,
        )
    names = getattr(X, "columns", None)
    X = np.asarray(X)
    _check_settings(X, alpha, max_conditioning)
    n_features = X.shape[1]
    forbidden = _check_edges(forbidden, n_features, "forbidden")
    required = _check_edges(required, n_features, "required")
    _check_contradictions(forbidden, required)
    is_compiled = accelerate and test in _COMPILED
    if interventions is not None and not is_compiled:
        rows, interventions = undisturbed_rows(interventions), None
        X = X[rows]
        sample_weight = None if sample_weight is None else sample_weight[rows]
    X, sample_weight, interventions = _check_weight(X, sample_weight, interventions)
    if test in ("chisq", "gsq"):
        X = _encode(X, test, names)
    if is_compiled:
        compiled = _COMPILED[test](X, sample_weight, alpha)
        if interventions is not None:
            compiled = compiled.where_left_alone(X, sample_weight, interventions)
        return _search_and_orient(
            compiled, forbidden, required, max_conditioning, n_jobs, orient
        )
    skeleton, directed, separators, n_tests = find_skeleton(
        _repeat_rows(X, sample_weight, test),
        test=test,
        alpha=alpha,
        forbidden=forbidden,
        required=required,
        max_conditioning=max_conditioning,
        random_state=random_state,
        orient=orient,
    )
    return PCResult(
        skeleton,
        directed,
        n_tests,
        np.zeros_like(skeleton),
        _Known(separators),
        forbidden,
        required,
    )


@dataclass(frozen=True, eq=False)
class _Known:
    """Separating sets that were found on the way."""

    separators: dict

    def __call__(self):
        return self.separators


@dataclass(frozen=True, eq=False)
class _CompiledSearch:
    """A compiled search that can be made again, for what it did not collect."""

    test: "_FisherZ | _Contingency | _Evidence | PairsLeftAlone"
    banned: NDArray[np.bool_]
    kept: NDArray[np.bool_]
    max_conditioning: int | None
    n_jobs: int | None

    def run(self, collect):
        return compiled_search(
            self.test,
            self.banned,
            self.kept,
            max_conditioning=self.max_conditioning,
            n_jobs=self.n_jobs,
            collect=collect,
        )

    def __call__(self):
        return self.run(collect=True)[1]


def evidence_skeleton(
    score,
    *,
    forbidden=None,
    required=None,
    max_conditioning=None,
    n_jobs=None,
    orient=False,
):
    """Skeleton by PC-stable with the Bayes factors of a score in the place of tests.

    An edge goes when, given some set, its ends tell nothing about each other by the
    score of mixed data: the Bayes factor of an edge is not above 1.

    Parameters
    ----------
    score : ConditionalGaussian
        The fitted score.
    forbidden, required, max_conditioning, n_jobs, orient
        As in :func:`pc_skeleton`.

    Returns
    -------
    result : PCResult
        The skeleton, the CPDAG and the numbers of Bayes factors.
    """
    n_features = score.n_features_in_
    forbidden = _check_edges(forbidden, n_features, "forbidden")
    required = _check_edges(required, n_features, "required")
    _check_contradictions(forbidden, required)
    return _search_and_orient(
        _Evidence(score), forbidden, required, max_conditioning, n_jobs, orient
    )


def correlation_skeleton(
    correlation,
    n_samples,
    *,
    alpha,
    forbidden=None,
    required=None,
    max_conditioning=None,
    n_jobs=None,
    orient=False,
):
    """Skeleton by PC-stable with Fisher's z, of correlations that are known.

    Parameters
    ----------
    correlation : ndarray of shape (n_features, n_features)
        The correlations; those of a constant column are 0.
    n_samples : float
        Number of rows, the sum of their weights.
    alpha, forbidden, required, max_conditioning, n_jobs, orient
        As in :func:`pc_skeleton`.

    Returns
    -------
    result : PCResult
        The skeleton, the CPDAG and the numbers of tests.
    """
    _check_settings(correlation, alpha, max_conditioning)
    forbidden = _check_edges(forbidden, len(correlation), "forbidden")
    required = _check_edges(required, len(correlation), "required")
    _check_contradictions(forbidden, required)
    test = _FisherZ(correlation, n_samples, alpha)
    return _search_and_orient(
        test, forbidden, required, max_conditioning, n_jobs, orient
    )


def _search_and_orient(test, forbidden, required, max_conditioning, n_jobs, orient):
    """The compiled search, and what causal-learn makes of its separating sets."""
    banned, kept = forbidden & forbidden.T, required | required.T
    search = _CompiledSearch(test, banned, kept, max_conditioning, n_jobs)
    skeleton, separators, n_tests, undecided = search.run(collect=orient)
    directed, of_pairs = skeleton.copy(), search
    if orient:
        directed = orient_skeleton(skeleton, separators, forbidden, required)
        of_pairs = _Known(separators)
    return PCResult(
        skeleton, directed, n_tests, undecided, of_pairs, forbidden, required
    )


# Input -----------------------------------------------------------------------


def _check_settings(X, alpha, max_conditioning):
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions, got {X.ndim}.")
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must be between 0 and 1, got {alpha!r}.")
    if max_conditioning is not None and max_conditioning < 0:
        raise ValueError(
            f"max_conditioning must not be negative, got {max_conditioning!r}."
        )


def _check_edges(edges, n_features, name):
    if edges is None:
        return np.zeros((n_features, n_features), dtype=bool)
    edges = np.array(edges, dtype=bool)
    if edges.shape != (n_features, n_features):
        raise ValueError(
            f"{name} must have shape ({n_features}, {n_features}), got {edges.shape}."
        )
    np.fill_diagonal(edges, False)
    return edges


def _check_contradictions(forbidden, required):
    for reason, clash in (
        ("required and forbidden", required & forbidden),
        ("required in both directions", required & required.T),
    ):
        if clash.any():
            edges = ", ".join(f"{i} -> {j}" for i, j in np.argwhere(clash))
            raise ValueError(f"Edges are {reason}: {edges}.")


def _check_weight(X, sample_weight, interventions):
    """Validate the weights, and drop the rows that do not count."""
    if sample_weight is None:
        if not len(X):
            raise ValueError("X has no rows.")
        return X, None, interventions
    sample_weight = check_weights(sample_weight, len(X))
    counts = sample_weight > 0
    if interventions is not None:
        interventions = interventions[counts]
    return X[counts], sample_weight[counts], interventions


def _repeat_rows(X, sample_weight, test):
    """Give rows as often as they count: causal-learn's tests know no weights."""
    if sample_weight is None:
        return X
    if (sample_weight != np.floor(sample_weight)).any():
        raise ValueError(
            f"sample_weight must be whole numbers if causal-learn runs {test!r}."
        )
    return np.repeat(X, sample_weight.astype(np.intp), axis=0)


def _encode(X, test, names=None):
    """Replace the values of each column by the numbers of its levels."""
    codes = np.empty(X.shape, dtype=np.intc)
    for j, column in enumerate(X.T):
        if (column != column).any():
            raise ValueError(f"Column {j} of X has missing values.")
        levels, codes[:, j] = np.unique(column, return_inverse=True)
        fraction = _some_fraction(levels)
        if fraction is not None and not are_few(len(levels), len(column)):
            # with about as many levels as rows, all pairs would pass for independent
            raise ValueError(
                f"test={test!r} is for categories, but column {display_name(names, j)} "
                f"of X holds {len(levels)} different numbers with fractions, such as "
                f"{fraction:g}. Use test='fisherz' for continuous data, or discretize."
            )
    return codes


def _some_fraction(levels):
    """The first of some values that is a number, and not whole; None if none is."""
    if levels.dtype.kind == "O":
        levels = np.array([v for v in levels if isinstance(v, float)], dtype=float)
    if levels.dtype.kind != "f":
        return None
    fractions = levels[levels != np.floor(levels)]
    return fractions[0] if len(fractions) else None


# The compiled search ---------------------------------------------------------


class _FisherZ:
    """Fisher's z test of zero partial correlation."""

    # Of one node at one depth, some 30 ms. The paper's data, with up to 200 variables,
    # need up to 137,000.
    most_tests = 20_000_000

    def __init__(self, correlation, n_samples, alpha):
        self.quantile = -ndtri(alpha / 2)
        self.cost = 1.5  # nanoseconds per test, roughly
        self.correlation, self.n_samples = correlation, n_samples

    @classmethod
    def of_rows(cls, X, sample_weight, alpha):
        """The test of rows and their weights."""
        X = X.astype(np.float64)
        bad = np.flatnonzero(~np.isfinite(X).all(axis=0))
        if bad.size:
            raise ValueError(f"Column {bad[0]} of X has missing or infinite values.")
        weight = np.ones(len(X)) if sample_weight is None else sample_weight
        return cls(_correlation(X, weight), weight.sum(), alpha)

    def where_left_alone(self, X, sample_weight, interventions):
        """The test of each pair on the rows in which neither of the two was set."""
        weight = np.ones(len(X)) if sample_weight is None else sample_weight
        rows = _standardized(X.astype(np.float64), weight)
        return CorrelationsLeftAlone(self, rows, weight, interventions)

    def of_correlations(self, correlation, n_samples):
        """The same test of other correlations."""
        other = copy(self)
        other.correlation, other.n_samples = correlation, n_samples
        return other

    def prepare(self, depth):
        """Work out the critical correlation, or return False if there is none."""
        freedom = self.n_samples - depth - 3
        if freedom > 0:
            self.critical = np.tanh(self.quantile / np.sqrt(freedom))
        return freedom > 0

    def separate(self, x, neighbors, wanted, depth, collect):
        if depth == 0:
            separated = np.abs(self.correlation[x, neighbors]) < self.critical
            return separated & wanted, None, np.count_nonzero(wanted)
        return separate_gaussian(
            self.correlation,
            x,
            neighbors,
            wanted,
            depth,
            self.critical,
            _TOLERANCE,
            collect,
        )


def _correlation(X, weight):
    """Correlation matrix of weighted rows; a constant column has correlations 0."""
    rows = _standardized(X, weight)
    correlation = np.clip((rows * weight[:, None]).T @ rows, -1.0, 1.0)
    correlation = (correlation + correlation.T) / 2
    np.fill_diagonal(correlation, 1.0)
    return correlation


def _standardized(X, weight):
    """Columns about their means, with weighted squares that add up to 1, or all 0."""
    constant = X.max(axis=0) == X.min(axis=0)
    # By powers of two, which rounds nothing: a sum of large numbers may overflow.
    X = np.ldexp(X, -np.frexp(np.abs(X).max(axis=0))[1])
    centered = X - np.average(X, axis=0, weights=weight)
    centered[:, constant] = 0.0
    # The largest entry first: the sum of squares must neither over- nor underflow.
    centered /= _nonzero(np.abs(centered).max(axis=0))
    centered /= _nonzero(np.sqrt(weight @ centered**2))
    return centered


def _nonzero(size):
    return np.where(size > 0, size, 1.0)


class _Contingency:
    """Pearson's chi-square or the G² test on contingency tables."""

    # Of one node at one depth, about a second with 1000 rows. The benchmark networks
    # need up to 6,000.
    most_tests = 250_000

    def __init__(self, codes, sample_weight, alpha, likelihood_ratio):
        self.alpha = alpha
        self.likelihood_ratio = likelihood_ratio
        self.critical = np.array([np.inf])
        self._take(codes, sample_weight)

    def _take(self, codes, sample_weight):
        n_samples = len(codes)
        self.codes = np.ascontiguousarray(codes.T)
        self.n_levels = codes.max(axis=0, initial=0).astype(np.intc) + np.intc(1)
        self.weight = np.ones(n_samples) if sample_weight is None else sample_weight
        self.cost = 1.5 * n_samples

    def where_left_alone(self, codes, sample_weight, interventions):
        """The test of each pair on the rows in which neither of the two was set."""
        return CountsLeftAlone(self, codes, self.weight, interventions)

    def of_rows(self, codes, sample_weight):
        """The same test of other rows, which may have other columns."""
        other = copy(self)  # with the critical values that are there
        other._take(codes, sample_weight)
        return other

    def prepare(self, depth):
        """Have critical values for all degrees of freedom that may come up."""
        levels = np.sort(self.n_levels)[::-1].astype(float)
        first, second = levels[:2] - 1
        # Two bounds: all tables full, and all tables as wide as they have rows.
        most = min(
            np.prod(levels[:depth]) * first * second, (len(self.weight) - 1) * second
        )
        have = len(self.critical)
        if most >= have:
            freedom = np.arange(have, int(most) + 1)
            self.critical = np.append(self.critical, chdtri(freedom, self.alpha))
        return True

    def separate(self, x, neighbors, wanted, depth, collect):
        return separate_discrete(
            self.codes,
            self.n_levels,
            self.weight,
            x,
            neighbors,
            wanted,
            depth,
            self.critical,
            self.likelihood_ratio,
            collect,
        )


_COMPILED = {
    "fisherz": _FisherZ.of_rows,
    "chisq": partial(_Contingency, likelihood_ratio=False),
    "gsq": partial(_Contingency, likelihood_ratio=True),
}


class _Evidence:
    """Bayes factors of a score: whether y tells about x beside a set.

    For mixed data, whose cells are often too small for a statistic to have its
    distribution. The factor is the same for y about x if Markov equivalent DAGs have
    the same score. No significance level takes part.
    """

    # Of one node at one depth, some seconds. All sets of up to 9 neighbors are within.
    most_tests = 1_000

    def __init__(self, score):
        self.score = score
        self.cost = 1e4

    def prepare(self, depth):
        return True

    def separate(self, x, neighbors, wanted, depth, collect):
        separated = np.zeros(len(neighbors), dtype=bool)
        separators = np.zeros((len(neighbors),) * 2, dtype=bool) if collect else None
        n_tests = 0
        for chosen in combinations(range(len(neighbors)), depth):
            tested = wanted & (collect | ~separated)
            tested[list(chosen)] = False
            if not tested.any():
                continue
            n_tests += np.count_nonzero(tested)
            log_factors = self.score.log_bayes_factors(
                x, neighbors[list(chosen)], neighbors[tested]
            )
            found = np.flatnonzero(tested)[log_factors <= 0.0]
            separated[found] = True
            if collect and depth:
                separators[np.ix_(found, chosen)] = True
        return separated, separators, n_tests


class _Found(NamedTuple):
    """What a node's tests at one depth found; see the kernels in ``_core/_pc.pyx``."""

    neighbors: np.ndarray
    separated: np.ndarray
    separators: np.ndarray | None
    n_tests: int


def compiled_search(
    test, banned, kept, *, max_conditioning=None, n_jobs=None, collect=False
):
    """PC-stable from the complete graph.

    Parameters
    ----------
    test : _FisherZ, _Contingency, _Evidence or PairsLeftAlone
        Tests the edges of one node at one depth.
    banned, kept : ndarray of bool, shape (n_features, n_features)
        Symmetric; pairs that are never, or always, in the skeleton.
    max_conditioning : int, default=None
        Largest depth. No limit by default.
    n_jobs : int, default=None
        Number of threads.
    collect : bool, default=False
        Whether to return separating sets.

    Returns
    -------
    skeleton : ndarray of bool, shape (n_features, n_features)
        Which pairs are left.
    separators : dict or None
        For each pair x < y that is not left, the sets found at x and at y.
    n_tests : list of int
        Number of tests at each depth.
    undecided : ndarray of bool, shape (n_features, n_features)
        Which pairs are left though not all their tests were made: at some depth, one
        end would have needed more than the test's `most_tests`.
    """
    adjacent = ~(banned | np.eye(len(banned), dtype=bool))
    separators = {tuple(pair): [(), ()] for pair in np.argwhere(np.triu(banned))}
    undecided = np.zeros_like(adjacent)
    n_tests = []
    depth = 0
    while max_conditioning is None or depth <= max_conditioning:
        wanted = adjacent & ~kept
        degrees = adjacent.sum(axis=1)
        ready = (degrees > depth) & wanted.any(axis=1)
        if not ready.any() or not test.prepare(depth):
            break
        costly = ready & (_tests_needed(degrees, depth) > test.most_tests)
        undecided |= wanted & costly[:, None]
        nodes = np.flatnonzero(ready & ~costly)
        if not nodes.size:
            break
        found = _search_depth(test, adjacent, wanted, nodes, depth, n_jobs, collect)
        n_tests.append(sum(of_node.n_tests for of_node in found.values()))
        removed = np.zeros_like(adjacent)
        for x, of_node in found.items():
            removed[x, of_node.neighbors[of_node.separated]] = True
        if collect:
            separators.update(_separating_sets(found, removed))
        adjacent &= ~(removed | removed.T)
        depth += 1
    undecided = (undecided | undecided.T) & adjacent
    return adjacent, separators if collect else None, n_tests, undecided


def _tests_needed(degrees, depth):
    """Number of tests of nodes at the depth, or at their costliest if that is past.

    Beyond the middle there are fewer sets again, but a node that could not afford the
    middle shall not come back for the largest sets alone.
    """
    others = np.maximum(degrees - 1, 0)
    return degrees * comb(others, np.minimum(depth, others // 2))


def _search_depth(test, adjacent, wanted, nodes, depth, n_jobs, collect):
    """Test the wanted edges of all nodes at one depth, in threads if that pays."""
    if depth == 0:
        # Given nothing, x with y is y with x.
        wanted = np.triu(wanted)

    def separate(x):
        neighbors = np.flatnonzero(adjacent[x])
        return _Found(
            neighbors,
            *test.separate(x, neighbors, wanted[x, neighbors], depth, collect),
        )

    degrees = adjacent[nodes].sum(axis=1)
    work = test.cost * np.sum(degrees * comb(degrees, depth))
    found = run_threads(separate, nodes, n_jobs if work > _WORTH_THREADS else 1)
    return dict(zip(nodes.tolist(), found, strict=True))


def _separating_sets(found, removed):
    """For each pair x < y that goes, the sets found at x, if any, and at y."""
    return {
        (x, y): [
            *([_set_found(found, x, y)] if removed[x, y] else []),
            _set_found(found, y, x),
        ]
        for x, y in np.argwhere(np.triu(removed | removed.T)).tolist()
    }


def _set_found(found, x, y):
    """Union of the sets that separate x from y, as found at x."""
    if x not in found or found[x].separators is None:
        return ()
    neighbors, _, separators, _ = found[x]
    return tuple(neighbors[separators[np.searchsorted(neighbors, y)]].tolist())
