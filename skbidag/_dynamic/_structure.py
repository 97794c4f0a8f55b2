"""The estimator of dynamic networks."""

import warnings
from numbers import Integral
from typing import Any, ClassVar, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, DensityMixin, MetaEstimatorMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from skbidag import _predictive
from skbidag._base import BaseStructure
from skbidag._constraints import resolve_background, resolve_constraints
from skbidag._data import (
    Rows,
    Seed,
    check_weights,
    complete_rows,
    empty_like,
    resolve_index,
)
from skbidag._dynamic._coding import learn_coding, with_levels
from skbidag._dynamic._graph import DynamicGraph
from skbidag._dynamic._results import DynamicResultsMixin
from skbidag._dynamic._score import SummedMixedScore, SummedScore
from skbidag._dynamic._series import check_static, read_series
from skbidag._dynamic._simulate import (
    Forecast,
    given_columns,
    next_slice,
    simulate,
    without_lags,
)
from skbidag._interventions import resolve_interventions
from skbidag._learner import StructureLearner
from skbidag._posterior import DAGSamples
from skbidag._report import ReportMixin
from skbidag._search_space import is_union
from skbidag._sklearn import Interval, StrOptions, _check_feature_names, _fit_context
from skbidag.graphs import align_labels
from skbidag.scores import ConditionalGaussian
from skbidag.scores._resolve import resolve_score


class DynamicStructure(
    ReportMixin, DynamicResultsMixin, MetaEstimatorMixin, DensityMixin, BaseEstimator
):
    """Learn a dynamic Bayesian network from series.

    The variables at a time t have parents among those at the same time
    (*contemporaneous* edges), those up to `n_lags` steps before (*lagged* edges), and
    variables that do not change (*static*). That is one network for all times, the
    *transition*; what is before the first time is not known, so the first slice has a
    network of its own, the *initial* one.

    Parameters
    ----------
    estimator : OrderMCMCStructure, PartitionMCMCStructure, IterativeSearchStructure \
            or ExactStructure
        What learns the networks, with its score, chains and constraints. Constraints
        and `edge_prior` are about the transition's columns: the static variables, then
        ``x[t-1]``, ..., ``x[t-2]``, ..., and ``x``, ... for those of the present. What
        they say of the static and present ones holds for the first slice as well.
    n_lags : int, default=1
        How many steps back parents may be.
    static : array-like, default=None
        Variables that do not change within a series, such as sex or treatment: names,
        indices or a boolean mask. They have no parents.
    initial : {"auto", "apart", "shared"} or None, default="auto"
        The first slice's edges: learned by themselves; the same as the contemporaneous
        ones of later slices, learned together; or not learned. "auto" learns them apart
        unless there is one series only, whose first row says nothing.
    contemporaneous : bool, default=True
        Whether there are edges between variables at the same time.
    stationary : bool, default=True
        Whether the parameters are the same at all times. If not, each time has its own,
        and one structure is learned for all of them.
    time, series : str or int, default=None
        Columns of the data that say when a row was observed, and of which series it is.
        Rows then may be in any order, and a series that skips a time gives no
        transition across it: times that are whole numbers are counted in the largest
        step that they are all made of; others, such as dates, are next to each other
        if no series has one between. Without `time`, rows are in the order of time.

    Attributes
    ----------
    transition_probabilities_ : ndarray of shape (n_lags + 1, n_variables, n_variables)
        ``transition_probabilities_[lag, i, j]`` is the probability of the edge from i,
        so many steps before, to j; with lag 0, of the edge at the same time.
    initial_probabilities_ : ndarray of shape (n_variables, n_variables) or None
        Probabilities of the edges within the first slice.
    probabilities_ : DynamicGraph
        All edge probabilities, of edges from static variables, too.
    graph_ : DynamicGraph
        The best networks that were found.
    log_score_ : float
        Their log score: that of the transition plus that of the first slice.
    converged_ : bool
        Whether the chains agree, for both networks; True if there are none.
    transition_estimator_ : estimator
        What has learned the transition, in the columns that `estimator` describes.
    initial_estimator_ : estimator or None
        What has learned the first slice's network, if that is learned apart.
    variables_, static_ : list of str
        Names of the variables that change, and of those that do not.
    n_features_in_ : int
        Number of columns of the data.
    feature_names_in_ : ndarray of str
        Their names, where the data had string column names.

    See Also
    --------
    series_from_wide : From a row per series to a row per time.
    skbidag.inspection.DynamicGraphDisplay : A picture of the slices.

    Notes
    -----
    The transition is learned from rows that have the `n_lags` slices before beside
    them, with these and the static variables in the background
    (:class:`OrderMCMCStructure` says what that means); the first slice from the first
    rows of the series, with the static variables in the background. Rows with missing
    cells are left out, with a warning.

    With ``initial="shared"`` the score of a variable with some parents is that of the
    transition plus that of the first slice with the same parents, those of earlier
    slices left out; an edge's prior counts once.

    With several lags, the slices between the first and the one with a whole past are
    not learned from as children. What is said of them, by `score_samples` and `sample`,
    is by the transition with fewer lags: the sampled DAGs without the edges from slices
    that are not there, as `unroll` has them, with the parameters that these families
    have in the rows of the transition. Where parameters are not stationary, these are
    the first that are known.

    BiDAG names: ``DBN=TRUE``, ``samestruct`` is ``initial="shared"``, ``dbnpar``'s
    ``b`` static variables, ``stationary``.

    Examples
    --------
    >>> import numpy as np
    >>> from skbidag import DynamicStructure, PartitionMCMCStructure
    >>> rng = np.random.default_rng(0)
    >>> X = np.zeros((300, 2))
    >>> for t in range(1, 300):
    ...     X[t] = [0.8 * X[t - 1, 0], 0.8 * X[t - 1, 0]] + rng.normal(size=2)
    >>> model = DynamicStructure(PartitionMCMCStructure(random_state=0), initial=None)
    >>> model.fit(X).transition_probabilities_[1].round(1)
    array([[1., 1.],
           [0., 0.]])
    >>> model.forecast(X, n_steps=3, random_state=0)
    Forecast(n_series=1, n_samples=1000, n_steps=3, n_variables=2)
    """

    _parameter_constraints: ClassVar[dict] = {
        "estimator": [StructureLearner],
        "n_lags": [Interval(Integral, 1, None, closed="left")],
        "static": [None, "array-like"],
        "initial": [StrOptions({"auto", "apart", "shared"}), None],
        "contemporaneous": ["boolean"],
        "stationary": ["boolean"],
        "time": [None, str, Integral],
        "series": [None, str, Integral],
    }

    def __init__(
        self,
        estimator: Any,
        n_lags: int = 1,
        *,
        static: ArrayLike | None = None,
        initial: Literal["auto", "apart", "shared"] | None = "auto",
        contemporaneous: bool = True,
        stationary: bool = True,
        time: str | int | None = None,
        series: str | int | None = None,
    ):
        self.estimator = estimator
        self.n_lags = n_lags
        self.static = static
        self.initial = initial
        self.contemporaneous = contemporaneous
        self.stationary = stationary
        self.time = time
        self.series = series

    # ------------------------------------------------------------------- fit

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(
        self,
        X: Rows,
        y: None = None,
        groups: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        interventions: ArrayLike | None = None,
    ) -> Self:
        """Learn the networks from series.

        Parameters
        ----------
        X : {array-like, dataframe} of shape (n_rows, n_features)
            A row for each time of each series, in the order of time unless there is a
            column of times.
        y : None
            Ignored, present for API consistency.
        groups : array-like of shape (n_rows,), default=None
            Which series each row is of. They may have different lengths. None, where
            there is no column of series either, is one series.
        sample_weight : array-like of shape (n_rows,), default=None
            How often each row counts as one that has parents.
        interventions : array-like, default=None
            Which variables were set in each row, as in the estimators: a boolean array
            or frame with the shape of `X`, or names or indices for each row. What was
            set tells about its effects, at the time and later, not about its causes. A
            variable that was set throughout has no parents.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        _check_feature_names(self, X, reset=True)
        self._template = empty_like(X)
        series = self._read(X, groups)
        self.n_features_in_ = len(series.names) + sum(
            column is not None for column in (self.time, self.series)
        )
        self._names = series.names
        self._static = resolve_static(self.static, X, series.names)
        check_static(series, self._static)
        self.static_ = [n for n, s in zip(series.names, self._static, strict=True) if s]
        self.variables_ = [n for n in series.names if n not in self.static_]
        self._times = None
        if not self.stationary and self.time is not None:
            times = times_of(X, self.time)[series.origin]
            self._times = dict(zip(series.step.tolist(), times, strict=True))
        score = self._resolve_score(series)
        weight = None
        if sample_weight is not None:
            weight = check_weights(sample_weight, len(series.number))[series.origin]
        self._learn(series, score, weight, self._cells(X, series, interventions))
        return self

    def _read(self, X, groups):
        return read_series(X, groups, time=self.time, series=self.series)

    def _resolve_score(self, series):
        """The score, which knows all categories: a slice may not show them."""
        parameters = self.estimator.get_params(deep=False)
        frame = pd.DataFrame(dict(zip(series.names, series.columns, strict=True)))
        complete, _ = complete_rows(frame)
        score = resolve_score(
            parameters["score"],
            frame[complete],
            parameters["categorical_features"],
            names=series.names,
        )
        self._coding = learn_coding(score, series, frame[complete])
        return score

    def _cells(self, X, series, interventions):
        """Which cells of the series' rows were set; None if none was."""
        if interventions is None:
            return None
        n_columns = self.n_features_in_
        names = getattr(self, "feature_names_in_", None)
        cells = resolve_interventions(
            interventions, len(series.number), n_columns, names
        )
        if cells is None:
            return None
        columns = list(range(n_columns))
        for special in (self.time, self.series):
            if special is not None:
                columns.remove(resolve_index(special, n_columns, names, "time"))
        return cells[np.ix_(series.origin, columns)]

    def _cells_of(self, cells, rows, n_lags=0):
        """The same in the columns of a table: those of the present may be set."""
        if cells is None:
            return None
        present = cells[rows][:, ~self._static]
        before = np.zeros(
            (len(rows), len(self.static_) + n_lags * present.shape[1]), dtype=bool
        )
        return np.hstack([before, present])

    @property
    def _columns(self):
        """For each column of the transition, its variable and its lag."""
        static, moving = np.flatnonzero(self._static), np.flatnonzero(~self._static)
        lags = [*range(1, self.n_lags + 1), 0]
        return [(j, 0) for j in static] + [(j, lag) for lag in lags for j in moving]

    @property
    def _in_first_slice(self):
        """Which columns of the transition the first slice has."""
        return np.array([lag == 0 for _, lag in self._columns])

    def _transitions(self, series):
        """The rows that have their past before them, and the table with it beside."""
        rows = series.complete(self.n_lags)
        table = series.table(rows, self._static, self.n_lags)
        if len(table) == 0:
            raise ValueError(
                f"No row of X has the n_lags={self.n_lags} rows of its series before "
                "it: the series are too short."
            )
        kept = rows_without_gaps(table, "transitions")
        return rows[kept], table[kept].reset_index(drop=True)

    def _first_rows(self, series):
        """The first rows of the series, and their table, if they are learned from."""
        rows, self._initial = series.first, self.initial
        if self.initial == "auto":
            self._initial = "apart" if len(rows) > 1 else None
        table = series.table(rows, self._static)
        if self._initial is None:
            return rows, table
        kept = rows_without_gaps(table, "first rows")
        if kept.sum() < 2:
            raise ValueError(
                f"initial={self.initial!r} has one first row to learn from, which says "
                "nothing: it takes several series."
            )
        return rows[kept], table[kept].reset_index(drop=True)

    def _learn(self, series, score, weight, cells):
        rows, table = self._transitions(series)
        first_rows, first = self._first_rows(series)
        first_cells = self._cells_of(cells, first_rows)
        cells = self._cells_of(cells, rows, self.n_lags)
        weights = first_weights = None
        if weight is not None:
            weights, first_weights = weight[rows], weight[first_rows]
        known = self._known_edges(list(table.columns))

        sets = None if self.stationary else series.step[rows]
        self._steps = np.unique(sets) if sets is not None else None
        penalty = score.edge_penalty
        of_transition = self._with_levels(score, self._columns)
        if self._initial == "shared" or sets is not None:
            summed, of_first = SummedScore, {}
            if isinstance(of_transition, ConditionalGaussian):
                summed = SummedMixedScore
            if self._initial == "shared":
                of_first = {
                    "initial": first,
                    "initial_columns": np.flatnonzero(self._in_first_slice),
                    "initial_weight": first_weights,
                    "initial_interventions": first_cells,
                }
            of_transition = summed(
                of_transition, sets, edge_penalty=penalty, **of_first
            )
        self.transition_estimator_ = self._fit_one(
            of_transition, table, weights, cells, known, np.arange(table.shape[1])
        )
        self.initial_estimator_ = None
        if self._initial == "apart":
            there = np.flatnonzero(self._in_first_slice)
            columns = [self._columns[column] for column in there]
            of_initial = self._with_levels(score, columns)
            self.initial_estimator_ = self._fit_one(
                of_initial, first, first_weights, first_cells, known, there
            )
        self._keep()

    def _with_levels(self, score, columns):
        return with_levels(score, [self._coding.levels[j] for j, _ in columns])

    def _known_edges(self, names):
        """What the estimator's parameters say of edges, as matrices."""
        parameters = self.estimator.get_params(deep=False)
        if parameters["background"] is not None:
            raise ValueError(
                "estimator has a background of its own: say static for what does not "
                "change; what is before is in the background anyway."
            )
        n = len(names)
        constraints = resolve_constraints(
            n,
            names,
            forbidden_edges=parameters["forbidden_edges"],
            required_edges=parameters["required_edges"],
            tiers=parameters["tiers"],
        )
        forbidden = constraints.forbidden.copy()
        np.fill_diagonal(forbidden, False)
        if not self.contemporaneous:
            present = np.arange(n) >= n - len(self.variables_)
            within = np.outer(present, present)
            if (constraints.required & within).any():
                raise ValueError(
                    "required_edges of the estimator are within a slice, but "
                    "contemporaneous=False."
                )
            forbidden |= within
            np.fill_diagonal(forbidden, False)
        return {
            "forbidden_edges": forbidden,
            "required_edges": constraints.required,
            "edge_prior": square(parameters["edge_prior"], names, "edge_prior"),
            "search_space": square(parameters["search_space"], names, "search_space"),
        }

    def _fit_one(self, score, table, weights, cells, known, columns):
        """Fit the estimator to some columns of the transition."""
        matrices = {
            name: value[np.ix_(columns, columns)]
            if isinstance(value, np.ndarray)
            else value
            for name, value in known.items()
        }
        given = columns < len(known["forbidden_edges"]) - len(self.variables_)
        if cells is not None:
            given |= cells.all(axis=0)  # nothing is known of causes of these
        model = clone(self.estimator).set_params(
            score=score,
            categorical_features="auto",
            tiers=None,
            background=given,
            **matrices,
        )
        return model.fit(table, sample_weight=weights, interventions=cells)

    def _keep(self):
        """Learned attributes from the estimators."""
        n_static, transition = len(self.static_), self.transition_estimator_
        first = self._in_first_slice
        within = np.ix_(first, first)
        of_first, models = self.initial_estimator_, [transition]
        best = initial = None
        if self._initial == "shared":
            best = transition.adjacency_[within]
            initial = transition.adjacency_probabilities_[within]
        elif of_first is not None:
            models.append(of_first)
            best, initial = of_first.adjacency_, of_first.adjacency_probabilities_
        self.graph_ = DynamicGraph.from_matrices(
            transition.adjacency_, best, n_static, self.n_lags
        )
        self.probabilities_ = DynamicGraph.from_matrices(
            transition.adjacency_probabilities_, initial, n_static, self.n_lags
        )
        self.transition_probabilities_ = self.probabilities_.transition
        self.initial_probabilities_ = self.probabilities_.initial
        self.log_score_ = sum(model.log_score_ for model in models)
        self.converged_ = all(
            model.converged_ for model in models if isinstance(model, BaseStructure)
        )

    # --------------------------------------------------------------- the graph

    def consensus_graph(self, threshold: float = 0.5) -> DynamicGraph:
        """Edges whose posterior probability exceeds a threshold.

        Parameters
        ----------
        threshold : float, default=0.5
            The threshold.

        Returns
        -------
        graph : DynamicGraph
            The edges.
        """
        check_is_fitted(self)
        found = self.probabilities_
        return DynamicGraph(
            *(
                None if edges is None else edges > threshold
                for edges in (
                    found.transition,
                    found.static,
                    found.initial,
                    found.initial_static,
                )
            )
        )

    def unroll(self, n_slices: int) -> NDArray[np.bool_]:
        """The best networks over so many slices.

        Parameters
        ----------
        n_slices : int
            Number of slices.

        Returns
        -------
        adjacency : ndarray of bool, shape (n_static + n_slices * n_variables,) * 2
            The static variables, then the slices from the first on;
            ``adjacency[i, j]`` is the edge i -> j. See :meth:`DynamicGraph.unroll`.
        """
        check_is_fitted(self)
        return self.graph_.unroll(n_slices)

    # -------------------------------------------------------------------- rows

    def score_samples(
        self,
        X: Rows,
        groups: ArrayLike | None = None,
        interventions: ArrayLike | None = None,
    ) -> NDArray:
        """Log posterior predictive density of each row given those before it.

        Each row by itself, averaged over the sampled DAGs, with the parameters
        integrated out. So are missing cells, as if those of the past were independent
        of the rest of it.

        Parameters
        ----------
        X : {array-like, dataframe} of shape (n_rows, n_features)
            Rows of series.
        groups : array-like of shape (n_rows,), default=None
            Which series each row is of.
        interventions : array-like, default=None
            Which variables were set in each row, as in `fit`. Their own densities do
            not count.

        Returns
        -------
        log_density : ndarray of shape (n_rows,)
            Log density of the variables given the `n_lags` rows before and the static
            variables; of the first row of a series, given the static variables alone;
            of rows between these, given the rows before that there are (see Notes of
            the class). NaN where the model says nothing: where nothing is learned of
            first slices, rows that lack some of the rows before; and rows after a gap.
        """
        check_is_fitted(self)
        _check_feature_names(self, X, reset=False)
        series = self._read_new(X, groups)
        cells = self._cells(X, series, interventions)
        result = np.full(len(series.number), np.nan)

        def fill(rows, score, samples, n_lags, n_known):
            if len(rows):
                result[series.origin[rows]] = _predictive.log_density(
                    score,
                    samples,
                    series.table(rows, self._static, n_lags, n_known),
                    self._cells_of(cells, rows, n_lags),
                )

        n_before, steps = series.n_before(self.n_lags), self._steps_of(X, series)
        whole, samples = n_before == self.n_lags, self._transition_samples()
        for step, score in self._transition_scores():
            rows = np.flatnonzero(whole if step is None else whole & (steps == step))
            fill(rows, score, samples, self.n_lags, self.n_lags)
        if self._initial is not None:
            _, score = self._transition_scores()[0]
            for n_known in range(1, self.n_lags):
                rows = np.flatnonzero(n_before == n_known)
                samples = self._transition_samples(n_known)
                fill(rows, score, samples, self.n_lags, n_known)
            fill(series.first, *self._initial_part, 0, 0)
        return result

    def score(
        self,
        X: Rows,
        y: None = None,
        groups: ArrayLike | None = None,
        interventions: ArrayLike | None = None,
    ) -> float:
        """Mean log posterior predictive density of the rows that have one.

        Parameters
        ----------
        X : {array-like, dataframe} of shape (n_rows, n_features)
            Rows of series.
        y : None
            Ignored, present for API consistency.
        groups : array-like of shape (n_rows,), default=None
            Which series each row is of.
        interventions : array-like, default=None
            Which variables were set in each row, as in `fit`.

        Returns
        -------
        log_density : float
            The mean of ``score_samples``.
        """
        log_density = self.score_samples(X, groups, interventions)
        known = ~np.isnan(log_density)
        if not known.any():
            raise ValueError(
                f"X has no row with the n_lags={self.n_lags} rows before it."
            )
        return float(log_density[known].mean())

    def forecast(
        self,
        X: Rows,
        n_steps: int = 1,
        n_samples: int = 1000,
        groups: ArrayLike | None = None,
        random_state: Seed = None,
    ) -> Forecast:
        """Draw what comes after the last row of each series.

        Each draw follows one network at all steps and in all series: a sampled DAG with
        parameters drawn from their posterior. So what is not known of the parameters
        adds up from step to step. (With a score of your own, and where a table of
        probabilities would be too large, they are integrated out anew at every step.)

        Parameters
        ----------
        X : {array-like, dataframe} of shape (n_rows, n_features)
            Rows of series; the last `n_lags` of each count.
        n_steps : int, default=1
            How many steps.
        n_samples : int, default=1000
            How many draws of each series.
        groups : array-like of shape (n_rows,), default=None
            Which series each row is of.
        random_state : int, RandomState instance or None, default=None
            Seed of the draws.

        Returns
        -------
        forecast : Forecast
            The draws, with means and intervals. Where parameters are not stationary,
            those of the last time go on.
        """
        check_is_fitted(self)
        _check_feature_names(self, X, reset=False)
        check_counts(n_steps=n_steps, n_samples=n_samples)
        series = self._read_new(X, groups)
        short = np.setdiff1d(series.last, series.complete(self.n_lags - 1))
        if len(short):
            label = series.labels[series.number[short[0]]]
            raise ValueError(
                f"The series {label!s} does not end with n_lags={self.n_lags} rows in "
                "a row."
            )
        rng = check_random_state(random_state)
        codes = np.column_stack(
            [self._coding.encode(j, series.columns[j]) for j in range(len(self._names))]
        )
        start = np.repeat(series.last, n_samples)
        moving = codes[:, ~self._static]
        static = codes[:, self._static][start]
        history = [moving[start - lag] for lag in range(self.n_lags)]
        dags = rng.randint(len(self._transition_samples()), size=n_samples)
        which = np.tile(np.arange(n_samples), len(series.last))
        _, score = self._transition_scores()[-1]
        slices = self._simulate([score], static, history, dags, which, n_steps, rng)
        shape = len(series.last), n_samples, n_steps, len(self.variables_)
        return Forecast(
            self._decoded(np.stack(slices, axis=1)).reshape(shape),
            series.labels,
            self.variables_,
            self._categories,
        )

    def sample(
        self, n_series: int = 1, n_slices: int = 10, random_state: Seed = None
    ) -> tuple[pd.DataFrame, NDArray[np.intp]]:
        """Draw new series.

        Each follows one network, a sampled DAG with parameters, which are those of
        each time where they are not stationary. Static variables are drawn as well,
        independent of each other.

        Parameters
        ----------
        n_series : int, default=1
            Number of series.
        n_slices : int, default=10
            Rows of each.
        random_state : int, RandomState instance or None, default=None
            Seed of the draws.

        Returns
        -------
        rows : pandas.DataFrame of shape (n_series * n_slices, n_static + n_variables)
            The rows.
        groups : ndarray of shape (n_series * n_slices,)
            The series of each row.
        """
        check_is_fitted(self)
        check_counts(n_series=n_series, n_slices=n_slices)
        if self._initial is None:
            raise ValueError(
                "sample needs a network of the first slice: several series to learn "
                "from, and initial other than None. Or see forecast, which goes on "
                "from rows that are given."
            )
        rng = check_random_state(random_state)
        score, samples = self._initial_part
        predictor = _predictive.predictor(score, samples)
        n_static, size = len(self.static_), len(self.variables_)
        values = np.zeros((n_series, n_static + size), dtype=self._coding.dtype)
        dags = rng.randint(len(samples), size=n_series)
        nothing = np.zeros(n_static + size, dtype=bool)
        predictor.complete(values, nothing, dags, rng)
        static, slices = values[:, :n_static], [values[:, n_static:]]
        if self._initial != "shared":
            dags = rng.randint(len(self._transition_samples()), size=n_series)
        scores = [score for _, score in self._transition_scores()]
        for n_known in range(1, min(self.n_lags, n_slices)):
            samples = self._transition_samples(n_known)
            predictor = _predictive.predictor(scores[0], samples)
            slices.append(next_slice(predictor, static, self._past(slices), dags, rng))
        args = dags, np.arange(n_series), n_slices - len(slices), rng
        slices += self._simulate(scores, static, self._past(slices), *args)
        slices = np.stack(slices, axis=1)
        groups = np.repeat(np.arange(n_series), n_slices)
        values = np.column_stack([static[groups], slices.reshape(-1, size)])
        names = [*self.static_, *self.variables_]
        columns = {
            name: self._coding.decode(self._names.index(name), values[:, k])
            for k, name in enumerate(names)
        }
        return pd.DataFrame(columns)[self._names], groups

    # ------------------------------------------------------------------ parts

    def _read_new(self, X, groups):
        series = self._read(X, groups)
        if series.names != self._names:
            raise ValueError(
                f"X must have the columns of fit, {', '.join(self._names)}; it has "
                f"{', '.join(series.names)}."
            )
        return series

    def _transition_scores(self):
        """The fitted scores of the transition, each with its step, None for all."""
        score = self.transition_estimator_.score_
        if not isinstance(score, SummedScore):
            return [(None, score)]
        if self._steps is None:
            return [(None, score.parts_[0][0])]
        return [(step, score.parts_[k][0]) for k, step in enumerate(self._steps)]

    def _steps_of(self, X, series):
        """Places of rows in time, as fit has counted them."""
        if self._steps is None:
            return series.step
        steps = series.step
        if self._times is not None:
            # counted from the first time, which here may be another one
            times = times_of(X, self.time)[series.origin]
            steps = np.full(len(times), -1)
            for step, time in self._times.items():
                steps[times == time] = step
        if not np.isin(steps[series.complete(self.n_lags)], self._steps).all():
            raise ValueError(
                "X has times that fit has not seen: without stationary parameters "
                "nothing is known of them."
            )
        return steps

    def _transition_samples(self, n_known=None):
        """Sampled DAGs of the transition, after so many slices, None for enough."""
        samples = self.transition_estimator_.dag_samples_
        if n_known is None:
            return samples
        return without_lags(samples, self._columns, n_known)

    def _past(self, slices):
        """The slices before the next one; the first stands for those before it."""
        last = len(slices) - 1
        return [slices[max(last - lag, 0)] for lag in range(self.n_lags)]

    @property
    def _initial_part(self):
        """Score and sampled DAGs of the first slice."""
        if self._initial == "apart":
            model = self.initial_estimator_
            return model.score_, model.dag_samples_
        model, there = self.transition_estimator_, self._in_first_slice
        dags = model.dag_samples_[:][:, there][:, :, there]
        packed = np.packbits(dags, axis=-1)[None]
        samples = DAGSamples(packed, model.dag_samples_.background[there])
        return model.score_.parts_[-1][0], samples

    def _simulate(self, scores, static, history, dags, which, n_steps, rng):
        """Slices that follow, each row along the network that `which` says.

        The scores are those of the steps; the last one goes on.
        """
        given = given_columns(len(self._columns), len(self.variables_))
        slices = []
        for number, score in enumerate(scores[:n_steps], 1):
            n_alike = n_steps - len(slices) if number == len(scores) else 1
            predictor = _predictive.predictor(score, self._transition_samples())
            networks = predictor.draw_networks(given, dags, rng)
            past = [*slices[::-1], *history][: self.n_lags]
            args = networks, which, n_alike, rng
            slices.extend(simulate(predictor, static, past, *args))
        return slices

    @property
    def _categories(self):
        if not self._coding.has_levels:
            return None
        return [self._coding.levels[j] for j in np.flatnonzero(~self._static)]

    def _decoded(self, slices):
        """Draws as the user gets them."""
        if not self._coding.has_levels:
            return slices
        columns = [
            self._coding.decode(j, slices[..., k])
            for k, j in enumerate(np.flatnonzero(~self._static))
        ]
        if len({column.dtype.kind for column in columns}) > 1:
            columns = [column.astype(object) for column in columns]
        return np.stack(columns, axis=-1)

    @property
    def _reported(self):
        return self.transition_estimator_, self

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        tags.input_tags.string = True
        tags.input_tags.allow_nan = True
        return tags

    def __sklearn_is_fitted__(self):
        return hasattr(self, "graph_")


def resolve_static(static, X, names):
    """Which variables are static; a mask, or indices, count the columns of the data."""
    if static is not None and not isinstance(static, str):
        columns = [str(column) for column in getattr(X, "columns", names)]
        if len(columns) > len(names):  # there are columns of times or series
            mask = resolve_background(static, len(columns), columns)
            chosen = {columns[j] for j in np.flatnonzero(mask)}
            strange = chosen - set(names)
            if strange:
                raise ValueError(
                    f"static has {sorted(strange)[0]!r}, which is the column of times "
                    "or series."
                )
            static = [name for name in names if name in chosen]
    try:
        return resolve_background(static, len(names), names)
    except ValueError as error:
        raise ValueError(str(error).replace("background", "static")) from error


def times_of(X, time):
    """The time of each row."""
    return np.asarray(X[time] if isinstance(time, str) else np.asarray(X)[:, time])


def rows_without_gaps(table, what):
    """Which rows have no missing cells; warn if some have."""
    complete, column = complete_rows(table)
    if not complete.any():
        raise ValueError(
            f"X has no {what} without missing cells, which are first in column "
            f"{table.columns[column]!r}."
        )
    if not complete.all():
        warnings.warn(
            f"{np.sum(~complete)} of {len(complete)} {what} have missing cells, first "
            f"in column {table.columns[column]!r}; they are left out.",
            UserWarning,
            stacklevel=6,
        )
    return complete


def square(value, names, parameter):
    """A matrix that is about the columns of the transition; others stay as they are."""
    is_matrix = hasattr(value, "shape") or (
        isinstance(value, list | tuple) and not is_union(value)
    )
    if not is_matrix:
        return value
    matrix = np.asarray(align_labels(value, names, parameter))
    if matrix.shape != (len(names),) * 2:
        raise ValueError(
            f"{parameter} of the estimator must be about the {len(names)} columns of "
            f"the transition, {', '.join(names)}; got the shape {matrix.shape}."
        )
    return matrix


def check_counts(**counts):
    """Complain about numbers that are not positive integers."""
    for name, value in counts.items():
        if not isinstance(value, Integral) or value < 1:
            raise ValueError(f"{name} must be a positive integer, got {value!r}.")
