"""An imputer that knows the network."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import (
    BaseEstimator,
    MetaEstimatorMixin,
    OneToOneFeatureMixin,
    TransformerMixin,
    clone,
)
from sklearn.utils import _safe_indexing, check_array
from sklearn.utils.validation import check_is_fitted

from skbidag import _predictive
from skbidag._data import Rows, Seed, check_table
from skbidag._learner import StructureLearner
from skbidag._missing import find_holes, with_values
from skbidag._order import OrderMCMCStructure
from skbidag._sklearn import (
    _check_feature_names,
    _check_n_features,
    _fit_context,
)

# Steps of the default estimator's chains, and DAGs they draw: too few to tell whether
# they have converged
N_ITER, N_DRAWS = 25_000, 25

# Sampled DAGs that count: cells that are averaged over more hardly differ
MOST_DAGS = 100


def some_of(samples):
    """Some of sampled DAGs, evenly spaced."""
    packed = samples.packed.reshape(len(samples), *samples.packed.shape[2:])
    chosen = np.linspace(0, len(packed) - 1, min(MOST_DAGS, len(packed)))
    return samples.with_dags(np.ascontiguousarray(packed[chosen.astype(int)][None]))


class StructureImputer(
    OneToOneFeatureMixin, MetaEstimatorMixin, TransformerMixin, BaseEstimator
):
    """Fill in missing cells by what sampled Bayesian networks say of them.

    The network is learned from data with missing cells, all of whose observed cells
    count. A missing cell is then filled in by its expectation given the other observed
    cells of its row, or by its most probable category, averaged over sampled DAGs.

    Parameters
    ----------
    estimator : estimator, default=None
        A structure learner, such as :class:`~skbidag.PartitionMCMCStructure`, which is
        cloned and fitted. None is an :class:`~skbidag.OrderMCMCStructure` with short
        chains: imputations do not need edge probabilities to the last digit.
    random_state : int, RandomState instance or None, default=None
        Seed of the default estimator.

    Attributes
    ----------
    estimator_ : estimator
        The fitted structure learner. Its ``missing_draws_`` are draws of the cells
        that were missing in fit, for multiple imputation.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of str
        Their names, where the data had string column names.

    See Also
    --------
    sklearn.impute.IterativeImputer : Regressions of each column on all others.

    Notes
    -----
    Cells must be missing at random: whether one is missing may depend on what is
    observed, not on its own value.

    Examples
    --------
    >>> import numpy as np
    >>> from skbidag import OrderMCMCStructure, StructureImputer
    >>> from skbidag.datasets import make_gaussian_network
    >>> X = make_gaussian_network(200, 5, random_state=0).data
    >>> X[::7, 2] = np.nan
    >>> learner = OrderMCMCStructure(n_iter=20_000, n_draws=100, random_state=0)
    >>> filled = StructureImputer(learner).fit_transform(X)
    >>> bool(np.isnan(filled).any())
    False
    """

    _parameter_constraints = {  # noqa: RUF012 (scikit-learn's convention)
        "estimator": [None, StructureLearner],
        "random_state": ["random_state"],
    }

    def __init__(self, estimator: Any = None, *, random_state: Seed = None):
        self.estimator = estimator
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(
        self, X: Rows, y: None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn the network.

        Parameters
        ----------
        X : {array-like, dataframe} of shape (n_samples, n_features)
            The data, with missing cells or without.
        y : None
            Ignored, present for API consistency.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each row counts.

        Returns
        -------
        self : object
            The fitted imputer.
        """
        _check_feature_names(self, X, reset=True)
        _check_n_features(
            self, X if hasattr(X, "shape") else check_table(X), reset=True
        )
        learner = self.estimator
        if learner is None:
            learner = OrderMCMCStructure(
                n_iter=N_ITER, n_draws=N_DRAWS, random_state=self.random_state
            )
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        self.estimator_ = clone(learner).fit(X, **weights)
        return self

    def transform(self, X: Rows) -> Any:
        """Fill in missing cells.

        Parameters
        ----------
        X : {array-like, dataframe} of shape (n_samples, n_features)
            The rows, of any number.

        Returns
        -------
        X : {ndarray, dataframe} of shape (n_samples, n_features)
            The same without missing cells; a frame if it was one.
        """
        check_is_fitted(self)
        if not hasattr(X, "columns"):
            check_array(X, dtype=None, ensure_all_finite=False, input_name="X")
            X = check_table(X)
        _check_feature_names(self, X, reset=False)
        _check_n_features(self, X, reset=False)
        missing = find_holes(X)
        rows = np.flatnonzero(missing.any(axis=1))
        if not len(rows):
            return X.copy() if isinstance(X, np.ndarray) else X
        fitted = self.estimator_
        predicted = _predictive.predict_missing(
            fitted.score_, some_of(fitted.dag_samples_), _safe_indexing(X, rows)
        )
        values = {}
        for column in np.flatnonzero(missing.any(axis=0)).tolist():
            of_column = predicted[missing[rows, column], column]
            if fitted.feature_kinds_[column] == "continuous":
                of_column = of_column.astype(float)
            values[column] = of_column
        return with_values(X, missing, values)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        return tags
