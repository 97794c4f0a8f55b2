"""Feature selection by the Markov blanket of a target."""

from numbers import Integral, Real
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import column_or_1d, get_tags
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    process_routing,
)
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from skbidag._data import (
    Rows,
    check_table,
    empty_like,
    missing_cells,
    names_of,
    plain_values,
    resolve_index,
    with_columns,
)
from skbidag._interventions import with_more_columns
from skbidag._kinds import column_kinds, warn_of_guesses
from skbidag._sklearn import (
    CallbackSupportMixin,
    HasMethods,
    Interval,
    StrOptions,
    _check_feature_names,
    _check_n_features,
    _fit_context,
    _routing_enabled,
    with_callbacks,
)
from skbidag.scores._resolve import kind_for


class MarkovBlanketSelector(
    CallbackSupportMixin, MetaEstimatorMixin, SelectorMixin, BaseEstimator
):
    """Select the variables that are probably in the Markov blanket of a target.

    The Markov blanket of a variable are its parents, its children and their other
    parents: given these, no other variable tells more about it. A variable is selected
    if the share of sampled DAGs that have it in the target's blanket exceeds a
    threshold.

    Parameters
    ----------
    estimator : estimator
        A structure learner that samples DAGs, such as
        :class:`~skbidag.OrderMCMCStructure`, or a pipeline that ends with one. It is
        cloned and fitted. To use one that
        is fitted already, wrap it into :class:`~sklearn.frozen.FrozenEstimator`.
    target : str or int, default=None
        The target, a column of `X` by name or index; it is itself never selected. None
        is for supervised learning: the target is the `y` of ``fit``, which joins the
        structure as one more variable after the columns of `X`.
    threshold : float, default=0.5
        The probability that a variable must exceed to be selected.
    target_type : {"auto", "continuous", "categorical"}, default="auto"
        What `y` is. "auto" is the rule for columns, see `categorical_features` of
        :class:`~skbidag.OrderMCMCStructure`.

    Attributes
    ----------
    blanket_probabilities_ : ndarray of shape (n_features,)
        Posterior probability of each column of `X` to be in the blanket; 0 for the
        target itself.
    estimator_ : estimator
        The fitted structure learner.
    target_ : ndarray of int
        The target's columns among the variables of ``estimator_``. They are more than
        one if `y` has several classes and the data are continuous.
    n_features_in_ : int
        Number of columns of `X`.
    feature_names_in_ : ndarray of str
        Their names, where `X` had string column names.

    See Also
    --------
    skbidag.graphs.markov_blanket : The blanket in one DAG.

    Notes
    -----
    `y` is called ``"y"`` in a structure with names (or as a pandas or polars Series is
    named, if that is not the name of a column), and has the index ``n_features_in_``
    in one without: `estimator` may have constraints about it. Arrays that it is given,
    such as ``edge_prior``, have a row and a column for it.

    Categorical data take a categorical `y` as it is. In continuous data it is a column
    of zeros and ones, or one such column for each class but the first; the blanket of
    these is the union of their blankets. For two classes the regressions on that column
    are those of linear discriminant analysis.

    Metadata, such as ``sample_weight``, are passed to the ``fit`` of `estimator`:
    directly, or as it requests them if metadata routing is enabled. ``interventions``
    may have the shape of `X` where `y` is one more variable, which was not set then.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from skbidag import MarkovBlanketSelector, OrderMCMCStructure
    >>> from skbidag.datasets import make_gaussian_network
    >>> X = make_gaussian_network(300, 8, random_state=0).data
    >>> y = X[:, 2] + X[:, 5] > 0
    >>> selector = MarkovBlanketSelector(OrderMCMCStructure(random_state=0))
    >>> pipeline = make_pipeline(StandardScaler(), selector, LogisticRegression())
    >>> pipeline.fit(X, y)[1].get_support(indices=True)
    array([2, 5])
    """

    _parameter_constraints = {  # noqa: RUF012 (scikit-learn's convention)
        "estimator": [HasMethods("fit")],
        "target": [None, str, Integral],
        "threshold": [Interval(Real, 0, 1, closed="both")],
        "target_type": [StrOptions({"auto", "continuous", "categorical"})],
    }

    def __init__(
        self,
        estimator: Any,
        *,
        target: str | int | None = None,
        threshold: float = 0.5,
        target_type: Literal["auto", "continuous", "categorical"] = "auto",
    ):
        self.estimator = estimator
        self.target = target
        self.threshold = threshold
        self.target_type = target_type

    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Rows, y: ArrayLike | None = None, **fit_params: Any) -> Self:
        """Learn the structure, and how probable each variable is in the blanket.

        Parameters
        ----------
        X : {array-like, dataframe} of shape (n_samples, n_features)
            The data.
        y : array-like of shape (n_samples,), default=None
            The target, if it is not a column of `X`; ignored if it is.
        **fit_params : dict
            Passed to the ``fit`` of `estimator`; if metadata routing is enabled, what
            that requests of it.

        Returns
        -------
        self : object
            The fitted selector.
        """
        _check_feature_names(self, X, reset=True)
        X = check_table(X)
        _check_n_features(self, X, reset=True)
        n, names = self.n_features_in_, names_of(self)
        if self.target is None:
            data = self._append(X, y)
            self.target_ = np.arange(n, data.shape[1])
        else:
            data = X
            self.target_ = np.array([resolve_index(self.target, n, names, "target")])
        if _routing_enabled():
            fit_params = process_routing(self, "fit", **fit_params).estimator.fit
        if "interventions" in fit_params:
            shape = len(data), n, data.shape[1] - n
            fit_params["interventions"] = with_more_columns(
                fit_params["interventions"], *shape, names
            )
        context = self._init_callback_context(max_subtasks=1)
        context.call_on_fit_task_begin(estimator=self, X=X, y=y)
        self.estimator_ = clone(self.estimator)
        step = context.subcontext(task_name="structure")
        with step.propagate_callback_context(self.estimator_):
            step.call_on_fit_task_begin(estimator=self, X=X, y=y)
            self.estimator_.fit(data, None, **fit_params)
            step.call_on_fit_task_end(estimator=self, X=X, y=y)
        samples = self._samples(data)
        self.blanket_probabilities_ = blanket_probabilities(samples, self.target_)[:n]
        context.call_on_fit_task_end(estimator=self, X=X, y=y)
        return self

    def _append(self, X, y):
        """The data and, after them, the target as one or more columns."""
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is "
                "None. Pass it, or say which column of X is the target."
            )
        name = getattr(y, "name", None)
        values = check_target(y)
        check_consistent_length(X, values)
        columns = self._target_columns(X, values)
        if empty_like(X) is None:
            return join(X, columns)
        taken = set(map(str, X.columns))
        name = name if isinstance(name, str) and name not in taken else "y"
        names = [name, *(f"{name}_{k}" for k in range(2, len(columns) + 1))]
        for k, given in enumerate(names):
            while given in taken:
                given += "_"
            names[k] = given
        return with_columns(X, dict(zip(names, columns, strict=True)))

    def _target_columns(self, X, y):
        """The target as the structure's score wants it."""
        if self._kind_of_target(y) == "continuous":
            try:
                return [np.asarray(y, dtype=np.float64)]
            except (TypeError, ValueError) as error:
                raise ValueError(
                    "y holds values that are not numbers, but target_type is "
                    "'continuous'."
                ) from error
        if takes_categories(self.estimator, X):
            return [y]
        classes, codes = np.unique(y, return_inverse=True)
        return [(codes == k).astype(float) for k in range(1, max(2, len(classes)))]

    def _kind_of_target(self, y):
        """What the target is, with a warning if that is a guess."""
        if self.target_type != "auto":
            return self.target_type
        found = column_kinds(y.reshape(-1, 1))
        warn_of_guesses(found, ["y"], "target_type", stacklevel=7)
        return found.common()

    def _samples(self, data):
        """The sampled DAGs, if they are of these variables."""
        samples = getattr(final_step(self.estimator_), "dag_samples_", None)
        if samples is None:
            raise TypeError(
                f"estimator must learn dag_samples_, as OrderMCMCStructure does; "
                f"{type(self.estimator_).__name__} does not."
            )
        # a frozen estimator was fitted on what may be something else
        _check_feature_names(self.estimator_, data, reset=False)
        if samples.n_features != data.shape[1]:
            raise ValueError(
                f"estimator has {samples.n_features} variables, but the data have "
                f"{data.shape[1]}, the target included."
            )
        return samples

    def _get_support_mask(self):
        check_is_fitted(self)
        return self.blanket_probabilities_ > self.threshold

    def get_metadata_routing(self):
        """Get metadata routing of this object.

        Returns
        -------
        routing : MetadataRouter
            What ``fit`` passes to the ``fit`` of `estimator`.
        """
        return MetadataRouter(owner=self).add(
            estimator=self.estimator,
            method_mapping=MethodMapping().add(caller="fit", callee="fit"),
        )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self.target is None
        inner = get_tags(self.estimator).input_tags
        tags.input_tags.allow_nan = inner.allow_nan
        tags.input_tags.string = inner.string
        return tags


def check_target(y):
    """The values of y, without missing ones."""
    values = plain_values(column_or_1d(y, warn=True))
    if missing_cells(values).any():
        raise ValueError("Input y contains NaN or missing values.")
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise ValueError("Input y contains infinity.")
    return values


def join(X, columns):
    """An array with more columns, of objects if their types differ."""
    numbers = all(part.dtype.kind in "biuf" for part in (X, *columns))
    if not numbers and any(part.dtype.kind != X.dtype.kind for part in columns):
        X = X.astype(object)
    return np.column_stack([X, *columns])


def final_step(estimator):
    """The structure learner: the estimator, or the last step of a pipeline."""
    return getattr(estimator, "_final_estimator", estimator)


def takes_categories(estimator, X):
    """Tell whether the structure's score takes categories."""
    params = final_step(estimator).get_params(deep=False)
    score = params.get("score", "auto")
    chosen = params.get("categorical_features", "auto")
    return kind_for(score, X, chosen) != "continuous"


def blanket_probabilities(samples, target):
    """Share of DAGs in which each variable is in the Markov blanket of the target.

    Parameters
    ----------
    samples : DAGSamples
        The sampled DAGs.
    target : sequence of int
        The target, which may be several variables.

    Returns
    -------
    probabilities : ndarray of shape (n_features,)
        The shares; 0 for the target itself.
    """
    counts = np.zeros(samples.n_features)
    for chain in range(samples.n_chains):
        for dags in samples.slices(chain):
            blanket = np.zeros((len(dags), samples.n_features), dtype=bool)
            for node in target:
                children = dags[:, node]
                blanket |= children | dags[:, :, node]
                # spouses: those with a child among the children
                blanket |= (dags & children[:, None]).any(axis=2)
            counts += blanket.sum(axis=0)
    counts[target] = 0.0
    return counts / len(samples)
