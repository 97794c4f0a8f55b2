"""Greedy equivalence search as a search space: causal-learn's."""

from numbers import Real
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from skbidag._causal_learn import greedy_equivalence_search
from skbidag._data import check_continuous, display_name, names_of
from skbidag._kinds import column_kinds
from skbidag._sklearn import (
    Interval,
    StrOptions,
    _check_feature_names,
    _check_n_features,
    _num_samples,
)


class GESSkeleton(BaseEstimator):
    """Search space from greedy equivalence search (GES), by causal-learn.

    GES adds, and then removes, edges of a CPDAG one by one, as long as a score gains by
    it. The space permits the edges that are left, in both directions. The search runs
    in causal-learn, in Python: seconds with 20 variables, minutes with 40.

    Parameters
    ----------
    penalty : float or "auto", default="auto"
        For continuous data: the price of a parameter in the score (BIC), times the
        logarithm of the number of rows; a smaller one leaves more edges. "auto" is
        causal-learn's, 1/2. Categorical data are scored by BDeu, which has none.

    Attributes
    ----------
    search_space_ : ndarray of bool, shape (n_features, n_features)
        ``search_space_[i, j]``: the edge i -> j is permitted.
    cpdag_ : ndarray of bool, shape (n_features, n_features)
        The CPDAG found. An undirected edge has both [i, j] and [j, i].
    n_features_in_ : int
        Number of variables.
    feature_names_in_ : ndarray of str
        Their names, where the data had string column names.

    References
    ----------
    Chickering (2002), *Optimal structure identification with greedy search*, JMLR 3.

    Examples
    --------
    >>> from skbidag import GESSkeleton, OrderMCMCStructure
    >>> from skbidag.datasets import make_gaussian_network
    >>> network = make_gaussian_network(200, 6, random_state=0)
    >>> GESSkeleton().fit(network.data).search_space_.shape
    (6, 6)

    As a search space, with more edges than by default:

    >>> model = OrderMCMCStructure(search_space=GESSkeleton(penalty=0.2))
    """

    _parameter_constraints = {  # noqa: RUF012 (scikit-learn's convention)
        "penalty": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left")],
    }

    def __init__(self, *, penalty: float | str = "auto"):
        self.penalty = penalty

    def fit(self, X: ArrayLike, y: None = None) -> Self:
        """Find the permitted edges.

        Parameters
        ----------
        X : {array-like, dataframe} of shape (n_samples, n_features)
            The data.
        y : None
            Ignored, present for API consistency.

        Returns
        -------
        self : object
            The fitted search space.
        """
        self._validate_params()
        if _num_samples(X) == 0:
            raise ValueError("X has no rows: 0 sample(s) where at least 1 is needed.")
        _check_feature_names(self, X, reset=True)
        kind = column_kinds(X, names=names_of(self)).common(names_of(self))
        if kind == "continuous":
            data = check_continuous(
                X, lambda column: display_name(names_of(self), column)
            )
        else:
            data = np.column_stack(
                [np.unique(cells, return_inverse=True)[1] for cells in np.asarray(X).T]
            )
        _check_n_features(self, X, reset=True)
        self._find_edges(data)
        return self

    def _find_edges(self, data):
        """The permitted edges; data are floats, or integer codes of categories."""
        if data.dtype.kind != "f" and self.penalty != "auto":
            raise ValueError(
                "penalty is of continuous data; categorical data are scored by BDeu."
            )
        penalty = 0.5 if self.penalty == "auto" else float(self.penalty)
        # a constant is independent of everything, and has no scale
        varying = np.flatnonzero(data.max(axis=0) > data.min(axis=0))
        n = data.shape[1]
        self.cpdag_ = np.zeros((n, n), dtype=bool)
        if len(varying) > 1:
            self.cpdag_[np.ix_(varying, varying)] = greedy_equivalence_search(
                data[:, varying], penalty
            )
        self.search_space_ = self.cpdag_ | self.cpdag_.T
        return self.search_space_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        return tags
