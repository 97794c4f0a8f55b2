"""PC's skeleton as an estimator, so that its settings can be tuned like any other."""

import warnings
from collections.abc import Sequence
from functools import partial
from itertools import zip_longest
from numbers import Integral, Real
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from skbidag._constraints import resolve_constraints
from skbidag._data import check_weights, display_name, names_of
from skbidag._interventions import resolve_interventions
from skbidag._kinds import column_kinds, warn_of_guesses
from skbidag._pc import correlation_skeleton, pc_skeleton
from skbidag._sklearn import (
    Interval,
    StrOptions,
    _check_feature_names,
    _check_n_features,
    _num_features,
    _num_samples,
)

# What `alpha` may be, here and in the estimators that run PC
ALPHA = [
    StrOptions({"auto"}),
    Interval(Real, 0, 1, closed="neither"),
    "array-like",
]

# What test="auto" is
TEST_OF_KIND = {"continuous": "fisherz", "categorical": "gsq", "mixed": "evidence"}


class PCSkeleton(BaseEstimator):
    """Search space from the PC algorithm.

    An edge is permitted unless a test finds its ends independent given some of
    their neighbors. The search is PC-stable, by compiled code for the tests named
    below and through causal-learn for any other.

    Parameters
    ----------
    alpha : float, sequence of floats or "auto", default="auto"
        Significance level of the tests: larger values permit more edges. "auto" is
        ``min(0.4, 20 / n_features)``. Of several levels, the edges that any of them
        leaves are permitted: a larger level need not leave all edges of a smaller one.
    test : str, default="auto"
        "fisherz" for continuous data, "gsq" or "chisq" for discrete data, "evidence"
        for mixed data (Bayes factors of :class:`~skbidag.scores.ConditionalGaussian`,
        in which `alpha` takes no part), or the name of any other test of causal-learn.
        "auto" is "fisherz", "gsq" or "evidence", by the estimators' rule for the kinds
        of columns.
    orient : bool, default=False
        Keep only the directions PC finds compelled, both where it finds none.
        This helps with nodes that have many children, whose children need not be
        considered as parents; a wrong direction is then wrong for good.
    max_conditioning : int, default=None
        Largest number of variables to condition on.
    forbidden_edges : array of shape (n_features, n_features) or list, default=None
        Edges that are not permitted: an array whose entry [i, j] is about i -> j, or
        (parent, child) pairs of names or indices. A pair that is forbidden in both
        directions is not tested.
    required_edges : array of shape (n_features, n_features) or list, default=None
        Edges that are permitted without a test, in the same form.
    tiers : list of list, default=None
        Groups of names or indices: no edge leads from a later group to an earlier
        one. Variables in no group are free.
    accelerate : bool, default=True
        Whether to use the compiled search. False runs causal-learn as it is.
    n_jobs : int, default=None
        Number of threads. The result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seed of those tests of causal-learn that draw random numbers ("rcit", "kci",
        "fastkci"). Pass an int for the same edges in every fit.

    Attributes
    ----------
    search_space_ : ndarray of bool, shape (n_features, n_features)
        ``search_space_[i, j]``: the edge i -> j is permitted.
    n_tests_ : list of int
        Number of tests for each size of the conditioning set.
    undecided_ : ndarray of bool, shape (n_features, n_features)
        Symmetric; pairs that are permitted because not all their tests were made, see
        Notes. A warning tells if there are any.
    causal_graph_ : causallearn.graph.GraphClass.CausalGraph
        The result as causal-learn has it, with its separating sets and directions. It
        is made when it is asked for, see Notes. There is none of several levels.
    n_features_in_ : int
        Number of variables.
    feature_names_in_ : ndarray of str
        Their names, where the data had string column names.

    Notes
    -----
    For "fisherz", "gsq" and "chisq" the skeleton is found by kernels of this package;
    it is the one that causal-learn finds, many times slower. Any other test, and all of
    them with ``accelerate=False``, runs in causal-learn, and directions are always
    found by its rules. ``causal_graph_`` is what its ``pc(X, alpha, test)`` returns as
    far as skeleton, separating sets and directions go. Since a skeleton does without
    them, separating sets are looked for when ``causal_graph_`` is asked for first: by
    the compiled search once more, for which a fitted `PCSkeleton` holds the
    correlations, or the rows of categorical data.

    The number of tests grows exponentially with a node's neighbors, so where it would
    be too large, a node's edges are not tested from its side given sets of that size:
    above 20 million for "fisherz" and 250,000 for "gsq" and "chisq", which all sets of
    up to 23, or 17, neighbors are within (for "evidence" 1000, which is 9 neighbors).
    An edge that no other test removes is permitted. Tests that run in causal-learn are
    all made; `max_conditioning` bounds them.

    Constraints here shape the space alone. What no sampled DAG may have, or what every
    one must have, is said to the estimator that samples: as its ``search_space`` a
    `PCSkeleton` with constraints of its own is refused.

    Examples
    --------
    >>> from skbidag import PCSkeleton
    >>> from skbidag.datasets import make_gaussian_network
    >>> network = make_gaussian_network(500, 8, random_state=0)
    >>> PCSkeleton(alpha=0.01).fit(network.data).search_space_.shape
    (8, 8)

    With prior knowledge:

    >>> pc = PCSkeleton(required_edges=[(0, 1)], forbidden_edges=[(2, 3)])
    >>> permitted = pc.fit(network.data).search_space_
    >>> bool(permitted[0, 1]), bool(permitted[2, 3])
    (True, False)

    As causal-learn's graph, for its tools:

    >>> graph = PCSkeleton(alpha=0.01).fit(network.data).causal_graph_
    >>> graph.G.get_num_nodes()
    8
    """

    _parameter_constraints = {  # noqa: RUF012 (scikit-learn's convention)
        "alpha": ALPHA,
        "test": [str],
        "orient": ["boolean"],
        "max_conditioning": [None, Interval(Integral, 0, None, closed="left")],
        "forbidden_edges": [None, "array-like", list, tuple],
        "required_edges": [None, "array-like", list, tuple],
        "tiers": [None, list, tuple],
        "accelerate": ["boolean"],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        *,
        alpha: float | Sequence[float] | str = "auto",
        test: str = "auto",
        orient: bool = False,
        max_conditioning: int | None = None,
        forbidden_edges: ArrayLike | Sequence[tuple] | None = None,
        required_edges: ArrayLike | Sequence[tuple] | None = None,
        tiers: Sequence[Sequence] | None = None,
        accelerate: bool = True,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ):
        self.alpha = alpha
        self.test = test
        self.orient = orient
        self.max_conditioning = max_conditioning
        self.forbidden_edges = forbidden_edges
        self.required_edges = required_edges
        self.tiers = tiers
        self.accelerate = accelerate
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(
        self,
        X: ArrayLike,
        y: None = None,
        sample_weight: ArrayLike | None = None,
        interventions: ArrayLike | None = None,
    ) -> Self:
        """Find the permitted edges.

        Parameters
        ----------
        X : {array-like, dataframe} of shape (n_samples, n_features)
            The data.
        y : None
            Ignored, present for API consistency.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each row counts.
        interventions : array-like, default=None
            Which variables were set in each row, as in the ``fit`` of
            :class:`~skbidag.OrderMCMCStructure`. A pair is tested on the rows in which
            neither of the two was set; by Bayes factors of ordinal columns, on those in
            which the variable at hand was not.

        Returns
        -------
        self : object
            The fitted search space.
        """
        _check_feature_names(self, X, reset=True)
        cells = None
        if interventions is not None:
            shape = _num_samples(X), _num_features(X)
            cells = resolve_interventions(interventions, *shape, names_of(self))
        self._find_edges(X, sample_weight, cells)
        n_undecided = np.count_nonzero(np.triu(self.undecided_))
        if n_undecided:
            hub = display_name(names_of(self), self.undecided_.sum(axis=0).argmax())
            warnings.warn(
                f"PC leaves {n_undecided} edges undecided, which are permitted "
                f"(undecided_): {hub} has so many neighbors that tests given all sets "
                "of them would not end. A smaller alpha leaves fewer neighbors.",
                UserWarning,
                stacklevel=2,
            )
        return self

    def _find_edges(self, X, sample_weight=None, cells=None, correlations=None):
        """Fit without a word on undecided edges, and return the permitted ones.

        `correlations` of the same rows, and their number, save reading these again.
        """
        self._validate_params()
        _check_feature_names(self, X, reset=True)
        test = self._usual_test(X, sample_weight) if self.test == "auto" else self.test
        _check_n_features(self, X, reset=True)
        n_features = self.n_features_in_
        constraints = resolve_constraints(
            n_features,
            getattr(self, "feature_names_in_", None),
            forbidden_edges=self.forbidden_edges,
            required_edges=self.required_edges,
            tiers=self.tiers,
        )
        if sample_weight is not None:
            sample_weight = check_weights(sample_weight, _num_samples(X))
        if correlations is not None and test == "fisherz" and self.accelerate:
            find = partial(correlation_skeleton, *correlations)
        else:
            find = partial(
                pc_skeleton,
                X,
                test=test,
                sample_weight=sample_weight,
                interventions=cells,
                random_state=self.random_state,
                accelerate=self.accelerate,
            )
        results = [
            find(
                alpha=alpha,
                forbidden=constraints.forbidden,
                required=constraints.required,
                max_conditioning=self.max_conditioning,
                n_jobs=self.n_jobs,
                orient=self.orient,
            )
            for alpha in self._levels(n_features)
        ]
        self._result = results[0] if len(results) == 1 else None
        self._causal_graph = None
        counts = zip_longest(*(result.n_tests for result in results), fillvalue=0)
        self.n_tests_ = [sum(of_size) for of_size in counts]
        decided = [result.skeleton & ~result.undecided for result in results]
        undecided = np.logical_or.reduce([result.undecided for result in results])
        self.undecided_ = undecided & ~np.logical_or.reduce(decided)
        found = np.logical_or.reduce(
            [result.directed if self.orient else result.skeleton for result in results]
        )
        self.search_space_ = (found & ~constraints.forbidden) | constraints.required
        return self.search_space_

    def _levels(self, n_features):
        """The significance levels."""
        if isinstance(self.alpha, str):
            return [min(0.4, 20 / n_features)]
        levels = np.atleast_1d(np.asarray(self.alpha, dtype=float))
        within = (levels > 0) & (levels < 1)
        if levels.ndim != 1 or not len(levels) or not within.all():
            raise ValueError(
                "alpha must be a number between 0 and 1, or a sequence of such, got "
                f"{self.alpha!r}."
            )
        return levels.tolist()

    @property
    def causal_graph_(self):
        """The result as causal-learn's ``CausalGraph``, made when it is asked for."""
        check_is_fitted(self)
        if self._result is None:
            raise AttributeError("causal_graph_ is there of one alpha, not of several.")
        if self._causal_graph is None:
            self._causal_graph = self._result.causal_graph(names_of(self))
        return self._causal_graph

    def _usual_test(self, X, sample_weight):
        """The test for columns of this kind."""
        names = names_of(self)
        found = column_kinds(X, sample_weight=sample_weight, names=names)
        warn_of_guesses(found, names, "which test to make (test)", stacklevel=4)
        return TEST_OF_KIND[found.kind]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        return tags


def with_test_for(pc, data):
    """Settle ``test="auto"`` for data as a score gives them for tests.

    Their type tells: integers are codes of categories, however many there are, and
    floats are numbers, whole or not.

    Parameters
    ----------
    pc : estimator
        A new PCSkeleton, or any other estimator, which is left alone.
    data : ndarray of shape (n_rows, n_features)
        Of :meth:`~skbidag.scores.BaseScore.test_data`.

    Returns
    -------
    pc : estimator
        The same.
    """
    if isinstance(pc, PCSkeleton) and pc.test == "auto":
        kind = "continuous" if data.dtype.kind == "f" else "categorical"
        pc.set_params(test=TEST_OF_KIND[kind])
    return pc
