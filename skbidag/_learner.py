"""What every structure learner has: the parameters that make a problem, and its pose.

The data, a score and constraints become a :class:`~skbidag._problem.Problem`; all input
errors arise there. What is then learned from it is a subclass's own.
"""

import warnings
from abc import ABC
from numbers import Integral, Real

import numpy as np
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.frozen import FrozenEstimator
from sklearn.utils import _safe_indexing

from skbidag._constraints import (
    resolve_constraints,
    without_constants,
    without_impossible,
)
from skbidag._data import (
    check_weights,
    display_name,
    empty_like,
    names_of,
)
from skbidag._fitted import EdgesMixin, RowsMixin
from skbidag._interventions import check_left_alone, resolve_interventions, targets_of
from skbidag._kinds import warn_of_point_masses
from skbidag._missing import (
    Completion,
    can_complete,
    encoded,
    find_holes,
    first_completion,
    take_apart,
)
from skbidag._problem import Problem
from skbidag._report import ReportMixin
from skbidag._results import ResultsMixin
from skbidag._score_space import ScoreSpace
from skbidag._search import Searcher
from skbidag._search_space import MOST_PARENTS, is_union
from skbidag._skeleton import ALPHA
from skbidag._sklearn import (
    HasMethods,
    Interval,
    StrOptions,
    _check_feature_names,
    _num_features,
    _num_samples,
)
from skbidag.scores import BaseScore
from skbidag.scores._interventional import with_interventions
from skbidag.scores._resolve import SCORE_NAMES, kinds_seen, resolve_score

# What says which DAGs there are, and what else makes a problem, with their defaults
CONSTRAINTS = {
    "forbidden_edges": None,
    "required_edges": None,
    "tiers": None,
    "background": None,
}
PROBLEM = {
    **CONSTRAINTS,
    "score": "auto",
    "categorical_features": "auto",
    "edge_prior": None,
}


class StructureLearner(
    ReportMixin, RowsMixin, EdgesMixin, ResultsMixin, DensityMixin, ABC, BaseEstimator
):
    """Base class of the structure learners."""

    _parameter_constraints = {  # noqa: RUF012 (scikit-learn's convention)
        "score": [StrOptions(SCORE_NAMES), BaseScore],
        "categorical_features": [StrOptions({"auto"}), None, "array-like"],
        "search_space": [
            StrOptions({"pc", "ges", "glasso", "exact", "iterative", "full"}),
            "array-like",
            callable,
            HasMethods("fit"),
            ScoreSpace,
            list,
        ],
        "alpha": ALPHA,
        "max_parents": [
            StrOptions({"auto"}),
            Interval(Integral, 0, MOST_PARENTS, closed="both"),
        ],
        "forbidden_edges": [None, "array-like", list, tuple],
        "required_edges": [None, "array-like", list, tuple],
        "tiers": [None, list, tuple],
        "edge_prior": [None, "array-like"],
        "missing": [StrOptions({"augment", "drop", "error"})],
        "memory_limit": [None, Interval(Real, 0, None, closed="neither")],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
    }

    #: What edge probabilities are of: "order-weighted" or "over DAGs".
    _posterior: str

    #: Variables that are given. A learner that has it among its parameters lets the
    #: user choose.
    background = None

    #: What becomes of rows with missing cells, likewise.
    missing = "drop"

    # --------------------------------------------------------------- the problem

    def _pose(self, X, sample_weight, interventions=None):
        """Fit the score and resolve the constraints; all input errors arise here."""
        self._refuse_other_problems()
        _check_feature_names(self, X, reset=True)
        self._template = empty_like(X)
        names, categorical = names_of(self), self.categorical_features
        cells = None
        if interventions is not None:
            shape = _num_samples(X), _num_features(X)
            cells = resolve_interventions(interventions, *shape, names)
        if cells is not None and sample_weight is not None:
            X, sample_weight, cells = without_absent_rows(X, sample_weight, cells)
        as_given = X, sample_weight, cells
        X, sample_weight, cells, holes = self._see_to_holes(X, sample_weight, cells)
        score = resolve_score(
            vars(self)["score"],
            X,
            categorical,
            sample_weight=sample_weight,
            names=names,
        )
        score = with_interventions(score, cells)
        if holes is not None and not can_complete(score):
            raise ValueError(
                f"missing='augment' draws missing cells, which the score "
                f"{type(score).__name__} has no parameters for. With missing='drop' "
                "rows with missing cells are left out."
            )
        score.fit(X, sample_weight=sample_weight, edge_prior=self.edge_prior)
        self.n_features_in_ = score.n_features_in_
        self.posterior_ = self._posterior
        of_all_rows = score.of_all_rows
        self.feature_kinds_ = kinds_seen(of_all_rows, X, categorical, sample_weight)
        warn_of_point_masses(
            as_given[0], self.feature_kinds_, names, *as_given[1:], stacklevel=6
        )
        most_parents = MOST_PARENTS if self.max_parents == "auto" else self.max_parents
        constraints = resolve_constraints(
            self.n_features_in_,
            names,
            forbidden_edges=self.forbidden_edges,
            required_edges=self.required_edges,
            tiers=self.tiers,
            background=self.background,
            max_parents=most_parents,
        )
        constraints = without_impossible(constraints, score.forbidden_edges_, names)
        if cells is not None:
            weights = check_weights(sample_weight, len(cells))
            check_left_alone(cells, weights, constraints.background, names)
        constraints = without_constants(
            constraints, *of_all_rows.test_data(X, sample_weight)
        )
        completion = None
        if holes is None:
            data, weights = score.test_data(X, sample_weight)
        else:
            score, data = first_completion(score, encoded(score, X), holes)
            completion = Completion(score, data, holes)
            weights = None if (holes.weights == 1.0).all() else holes.weights
        targets = targets_of(cells)
        if cells is not None and len(cells) != len(data):
            cells = None  # a score that puts rows together: tests are made on all
        problem = Problem(
            score,
            data,
            weights,
            names,
            constraints,
            targets,
            cells,
            completion,
            n_jobs=self.n_jobs,
        )
        self._check_problem(problem)
        return problem

    def _check_problem(self, problem):
        """What else a subclass asks before any long work; nothing by default."""

    def _refuse_other_problems(self):
        """Estimators inside `search_space` must not have constraints of their own.

        They would hold for the search space alone, which chains may leave. Nor may a
        search that this estimator runs have another score or prior: they would be
        ignored. The same ones twice do no harm.
        """
        spaces, mine = self.search_space, self.get_params(deep=False)
        for space in spaces if is_union(spaces) else [spaces]:
            if isinstance(space, FrozenEstimator):
                space = space.estimator
            if not isinstance(space, BaseEstimator):
                continue
            runs = isinstance(space, Searcher) and not hasattr(space, "search_space_")
            own = space.get_params(deep=False)
            for name, default in (PROBLEM if runs else CONSTRAINTS).items():
                value = own.get(name, default)
                if not (same(value, default) or same(value, mine.get(name, default))):
                    raise ValueError(
                        f"search_space={type(space).__name__}({name}=...): give {name} "
                        f"to {type(self).__name__} itself. There it holds for every "
                        "DAG; here it would for the search space alone."
                    )

    def _see_to_holes(self, X, sample_weight, cells):
        """Rows without missing cells, by what `missing` says.

        Returns
        -------
        X, sample_weight, cells
            The rows, with any values in the place of missing cells if these are to be
            drawn.
        holes : Holes or None
            Which they are.
        """
        given = X, sample_weight, cells, None
        if _num_samples(X) == 0:
            return given  # the score's complaint
        absent = find_holes(X)
        if not absent.any():
            return given
        column = self._column_name(int(np.argmax(absent.any(axis=0))))
        if self.missing == "error":
            raise ValueError(
                f"Input X contains NaN or missing cells, {absent.sum()} of them, first "
                f"in column {column}, and missing='error'."
            )
        if self.missing == "augment":
            X, holes = take_apart(X, absent, sample_weight, cells, self._column_name)
            drawn = holes if holes.missing.any() else None  # constants are known
            weights = None if sample_weight is None else holes.weights
            return X, weights, holes.interventions, drawn
        return (*self._without_holes(X, sample_weight, cells, absent, column), None)

    def _without_holes(self, X, sample_weight, cells, absent, column):
        """Leave out rows with missing cells, with a warning."""
        complete = ~absent.any(axis=1)
        if not complete.any():
            empty = absent.all(axis=0)
            if empty.any():
                column = self._column_name(int(np.argmax(empty)))
                raise ValueError(
                    f"Input X contains NaN or missing cells in every row of column "
                    f"{column}: leave the column out."
                )
            raise ValueError(
                "Input X contains NaN or missing cells in every row, first in column "
                f"{column}: there is no complete row to learn from."
            )
        warnings.warn(
            f"{np.sum(~complete)} of {len(complete)} rows of X have missing cells, "
            f"first in column {column}; they are left out.",
            UserWarning,
            stacklevel=5,
        )
        if sample_weight is not None:
            sample_weight = check_weights(sample_weight, len(complete))[complete]
        cells = None if cells is None else cells[complete]
        return _safe_indexing(X, np.flatnonzero(complete)), sample_weight, cells

    def _column_name(self, column):
        return display_name(names_of(self), column)

    # --------------------------------------------------- scikit-learn's conventions

    def get_params(self, deep=True):
        """Get parameters for this estimator.

        Parameters
        ----------
        deep : bool, default=True
            Whether to include those of the score and of other objects that are
            estimators, as ``score__alpha_mu``.

        Returns
        -------
        params : dict
            Parameter names mapped to their values.
        """
        params = super().get_params(deep=deep)
        score = params["score"] = vars(self)["score"]  # getattr gives the method
        if deep and isinstance(score, BaseScore):
            nested = score.get_params().items()
            params.update((f"score__{name}", value) for name, value in nested)
        return params

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        tags.input_tags.string = True
        tags.input_tags.allow_nan = True  # in predict: an unobserved cell
        return tags

    def __sklearn_is_fitted__(self):
        return hasattr(self, "adjacency_")


def without_absent_rows(X, sample_weight, cells):
    """Rows that count, for what has one entry for each row."""
    weights = check_weights(sample_weight, len(cells))
    rows = np.flatnonzero(weights > 0)
    return _safe_indexing(X, rows), weights[rows], cells[rows]


def same(one, other):
    """Whether two parameters have the same value: arrays, scores, or plain objects."""
    if one is other:
        return True
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return np.array_equal(one, other)
    if isinstance(one, BaseScore) and type(one) is type(other):
        params = other.get_params()
        return all(same(value, params[k]) for k, value in one.get_params().items())
    equal = one == other
    return isinstance(equal, bool) and equal
