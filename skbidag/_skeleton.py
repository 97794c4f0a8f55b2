"""PC's skeleton as an estimator, so that its settings can be tuned like any other."""

from numbers import Integral, Real

import numpy as np
from sklearn.base import BaseEstimator

from skbidag._data import check_weights, kind_of
from skbidag._pc import pc_skeleton
from skbidag._sklearn import (
    Interval,
    StrOptions,
    _check_feature_names,
    _check_n_features,
    _num_samples,
)

# What test="auto" is
TEST_OF_KIND = {"continuous": "fisherz", "categorical": "gsq"}


class PCSkeleton(BaseEstimator):
    """Search space from the PC algorithm.

    An edge is permitted unless a test finds its ends independent given some of
    their neighbors. The search is PC-stable, by compiled code for the tests named
    below and through causal-learn for any other.

    Parameters
    ----------
    alpha : float or "auto", default="auto"
        Significance level of the tests: larger values permit more edges. "auto" is
        ``min(0.4, 20 / n_features)``.
    test : str, default="auto"
        "fisherz" for continuous data, "gsq" or "chisq" for discrete data, or the
        name of any other test of causal-learn. "auto" is "fisherz" or "gsq".
    orient : bool, default=False
        Keep only the directions PC finds compelled, both where it finds none.
        This helps with nodes that have many children, whose children need not be
        considered as parents; a wrong direction is then wrong for good.
    max_conditioning : int, default=None
        Largest number of variables to condition on.
    accelerate : bool, default=True
        Whether to use the compiled search. False runs causal-learn as it is.
    n_jobs : int, default=None
        Number of threads. The result does not depend on it.

    Attributes
    ----------
    search_space_ : ndarray of bool, shape (n_features, n_features)
        ``search_space_[i, j]``: the edge i -> j is permitted.
    n_tests_ : list of int
        Number of tests for each size of the conditioning set.
    n_features_in_ : int
        Number of variables.
    feature_names_in_ : ndarray of str
        Their names, where the data had string column names.

    Examples
    --------
    >>> from skbidag import PCSkeleton
    >>> from skbidag.datasets import make_gaussian_network
    >>> network = make_gaussian_network(500, 8, random_state=0)
    >>> PCSkeleton(alpha=0.01).fit(network.data).search_space_.shape
    (8, 8)
    """

    _parameter_constraints = {  # noqa: RUF012 (scikit-learn's convention)
        "alpha": [StrOptions({"auto"}), Interval(Real, 0, 1, closed="neither")],
        "test": [str],
        "orient": ["boolean"],
        "max_conditioning": [None, Interval(Integral, 0, None, closed="left")],
        "accelerate": ["boolean"],
        "n_jobs": [None, Integral],
    }

    def __init__(
        self,
        alpha="auto",
        test="auto",
        orient=False,
        max_conditioning=None,
        accelerate=True,
        n_jobs=None,
    ):
        self.alpha = alpha
        self.test = test
        self.orient = orient
        self.max_conditioning = max_conditioning
        self.accelerate = accelerate
        self.n_jobs = n_jobs

    def fit(self, X, y=None, sample_weight=None, constraints=None):
        """Find the permitted edges.

        Parameters
        ----------
        X : {array-like, dataframe} of shape (n_samples, n_features)
            The data.
        y : None
            Ignored, present for API consistency.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each row counts.
        constraints : Constraints, default=None
            Forbidden and required edges, as an estimator resolved them.

        Returns
        -------
        self : object
            The fitted search space.
        """
        self._validate_params()
        _check_feature_names(self, X, reset=True)
        test = self.test
        if test == "auto":
            test = TEST_OF_KIND[kind_of(X)]
        _check_n_features(self, X, reset=True)
        n_features = self.n_features_in_
        if sample_weight is not None:
            sample_weight = check_weights(sample_weight, _num_samples(X))
        alpha = self.alpha
        if alpha == "auto":
            alpha = min(0.4, 20 / n_features)
        result = pc_skeleton(
            X,
            alpha=alpha,
            test=test,
            sample_weight=sample_weight,
            forbidden=self._without_diagonal(constraints),
            required=None if constraints is None else constraints.required,
            max_conditioning=self.max_conditioning,
            n_jobs=self.n_jobs,
            accelerate=self.accelerate,
            orient=self.orient,
        )
        self.n_tests_ = result.n_tests
        self.search_space_ = result.directed if self.orient else result.skeleton
        return self

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        return tags

    @staticmethod
    def _without_diagonal(constraints):
        if constraints is None:
            return None
        return constraints.forbidden & ~np.eye(len(constraints.forbidden), dtype=bool)
