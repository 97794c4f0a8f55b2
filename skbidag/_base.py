"""What the three estimators share: parameters, the template of fit, methods.

``fit`` goes through the same stations for all of them, see the methods in order:
pose the problem (score, constraints), find the search space, build the tables, run
the chains, keep what they give. A subclass says which chain walks on the tables, and
where the search space comes from if not from ``search_space`` alone.
"""

import warnings
from dataclasses import dataclass, replace
from numbers import Integral, Real

import numpy as np
from sklearn.base import BaseEstimator, DensityMixin, clone
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import _safe_indexing, check_array, check_random_state
from sklearn.utils.validation import check_is_fitted

from skbidag import _predictive, graphs
from skbidag._chains import (
    Schedule,
    auto_n_iter,
    entropy_of,
    make_schedule,
    run_chains,
)
from skbidag._frames import empty_like, to_frame
from skbidag._observer import ChainObserver
from skbidag._posterior import (
    DAGSamples,
    graph_counts,
    split_rhat,
    split_rhat_of_counts,
)
from skbidag._search_space import (
    Constraints,
    SearchSpace,
    make_space,
    permitted_edges,
    resolve_constraints,
    resolve_index,
    trim_space,
)
from skbidag._skeleton import PCSkeleton
from skbidag._sklearn import (
    HasMethods,
    Interval,
    StrOptions,
    _check_feature_names,
    _check_n_features,
    _fit_context,
    _num_samples,
)
from skbidag._tables import build_tables
from skbidag.scores import BIC, BaseScore, BDe, BGe
from skbidag.scores._categories import complete_rows, is_discrete
from skbidag.scores._validation import check_continuous
from skbidag.scores._weights import check_weights

SCORES = {"bge": BGe, "bde": BDe, "bic": BIC}

# Chains with a larger R-hat than this disagree.
LARGEST_RHAT = 1.1
# R-hat of fewer draws per chain says little.
FEWEST_DRAWS_FOR_RHAT = 50


@dataclass(frozen=True)
class Problem:
    """What is to be learned: a fitted score, the data for tests, and constraints."""

    score: BaseScore
    data: np.ndarray
    weights: np.ndarray | None
    names: np.ndarray | None
    constraints: Constraints

    @property
    def n_features(self):
        """Number of variables."""
        return self.data.shape[1]


@dataclass(frozen=True)
class Found:
    """A search space, and the best DAG known in it, if a search was made."""

    space: SearchSpace
    adjacency: np.ndarray | None = None


@dataclass(frozen=True)
class Progress:
    """What a fit with ``warm_start`` goes on from: the space, and the chains."""

    found: Found
    entropy: tuple
    thin: int = 1
    n_iter: int = 0
    states: list | None = None


class ParameterAndMethod:
    """A method with the name of a parameter.

    scikit-learn reads and writes parameters as attributes and calls methods by the
    same names. Setting the attribute sets the parameter, which ``get_params`` gives;
    getting it gives the method.

    Parameters
    ----------
    method : callable
        The method.
    """

    def __init__(self, method):
        self.method = method
        self.__doc__ = method.__doc__

    def __set_name__(self, owner, name):
        self.name = name

    def __get__(self, instance, owner=None):
        return self.method.__get__(instance, owner)

    def __set__(self, instance, value):
        vars(instance)[self.name] = value


class BaseStructure(CallbackSupportMixin, DensityMixin, BaseEstimator):
    """Base class of the structure learners."""

    _parameter_constraints = {  # noqa: RUF012 (scikit-learn's convention)
        "score": [StrOptions({"auto", *SCORES}), BaseScore],
        "search_space": [
            StrOptions({"pc", "glasso", "iterative", "full"}),
            "array-like",
            callable,
            HasMethods("fit"),
            list,
        ],
        "alpha": [StrOptions({"auto"}), Interval(Real, 0, 1, closed="neither")],
        "extra_parent": ["boolean"],
        "max_parents": [Interval(Integral, 0, 26, closed="both")],
        "forbidden_edges": [None, "array-like", list, tuple],
        "required_edges": [None, "array-like", list, tuple],
        "tiers": [None, list, tuple],
        "edge_prior": [None, "array-like"],
        "n_iter": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "n_draws": [Interval(Integral, 1, None, closed="left")],
        "burn_in": [Interval(Real, 0, 1, closed="left")],
        "n_chains": [Interval(Integral, 1, None, closed="left")],
        "memory_limit": [None, Interval(Real, 0, None, closed="neither")],
        "n_jobs": [None, Integral],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
        "warm_start": ["boolean"],
    }

    # ------------------------------------------------------------------- fit

    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y=None, sample_weight=None):
        """Learn the structure from data.

        Parameters
        ----------
        X : {array-like, dataframe} of shape (n_samples, n_features)
            The data: floats, or integers, booleans, strings or categories. Rows
            with missing cells are left out, with a warning.
        y : None
            Ignored, present for API consistency.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each row counts. A weight of 2 is the row given twice.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        progress = self._progress_to_go_on_from()
        self.__dict__.pop("adjacency_", None)  # not fitted until all is done
        context = self._init_callback_context(
            max_subtasks=self.n_chains, sequential_subtasks=False
        )
        context.call_on_fit_task_begin(estimator=self, X=X)
        problem = self._pose(X, sample_weight)
        if progress is None:
            entropy = entropy_of(check_random_state(self.random_state))
            progress = Progress(self._find(problem, entropy), entropy)
        elif progress.found.space.n_features != problem.n_features:
            raise ValueError(
                f"warm_start=True goes on with the same variables: X has "
                f"{problem.n_features}, the last fit had "
                f"{progress.found.space.n_features}."
            )
        self.score_ = problem.score
        self._sample(problem, progress, context)
        context.call_on_fit_task_end(estimator=self, X=X)
        return self

    def _pose(self, X, sample_weight):
        """Fit the score and resolve the constraints; all input errors arise here."""
        _check_feature_names(self, X, reset=True)
        self._template = empty_like(X)
        X, sample_weight = self._complete_rows(X, sample_weight)
        score = vars(self)["score"]
        if isinstance(score, str):
            if score == "auto":
                score = "bde" if is_discrete(X, self._column_name) else "bge"
            score = SCORES[score]()
        score = clone(score).fit(
            X, sample_weight=sample_weight, edge_prior=self.edge_prior
        )
        self.n_features_in_ = score.n_features_in_
        names = getattr(self, "feature_names_in_", None)
        constraints = resolve_constraints(
            self.n_features_in_,
            names,
            forbidden_edges=self.forbidden_edges,
            required_edges=self.required_edges,
            tiers=self.tiers,
            max_parents=self.max_parents,
        )
        if hasattr(score, "codes_"):
            data, weights = score.codes_, score.counts_
        else:
            data = check_continuous(X, self._column_name)
            weights = sample_weight
            if sample_weight is not None:
                weights = check_weights(sample_weight, len(data))
        return Problem(score, data, weights, names, constraints)

    def _complete_rows(self, X, sample_weight):
        """Leave out rows with missing cells, with a warning."""
        if _num_samples(X) == 0:
            return X, sample_weight  # the score's complaint
        complete, column = complete_rows(X)
        if complete.all():
            return X, sample_weight
        if not complete.any():
            raise ValueError(
                "Input X contains NaN or missing cells in every row, first in column "
                f"{self._column_name(column)}: there is no complete row to learn from."
            )
        warnings.warn(
            f"{np.sum(~complete)} of {len(complete)} rows of X have missing cells, "
            f"first in column {self._column_name(column)}; they are left out.",
            UserWarning,
            stacklevel=4,
        )
        if sample_weight is not None:
            sample_weight = check_weights(sample_weight, len(complete))[complete]
        return _safe_indexing(X, np.flatnonzero(complete)), sample_weight

    def _column_name(self, column):
        names = getattr(self, "feature_names_in_", None)
        return repr(str(names[column])) if names is not None else str(column)

    def _start_space(self, problem, search_space):
        """The space that `search_space` stands for, cut down to `max_parents`."""
        permitted = permitted_edges(
            search_space,
            problem.data,
            pc=PCSkeleton(alpha=self.alpha, n_jobs=self.n_jobs),
            names=problem.names,
            sample_weight=problem.weights,
            constraints=problem.constraints,
        )
        plain = make_space(permitted, problem.constraints, extended=False)
        plain = trim_space(plain, problem.score, self.max_parents, problem.names)
        # after trimming: who falls out of a full space is then outside
        return make_space(
            plain.permitted, problem.constraints, extended=self.extra_parent
        )

    def _find(self, problem, entropy):
        """The search space, and where chains start."""
        return Found(self._start_space(problem, self.search_space))

    def _sampling_steps(self, problem):
        if self.n_iter == "auto":
            return auto_n_iter(problem.n_features, 5.0)
        return self.n_iter

    def _progress_to_go_on_from(self):
        """Where the last fit's chains stand, if this fit is to go on with them."""
        if not (self.warm_start and hasattr(self, "adjacency_")):
            return None
        progress = getattr(self, "_progress", None)
        if progress is None:
            return None
        if len(progress.states) != self.n_chains:
            raise ValueError(
                f"n_chains={self.n_chains} must stay {len(progress.states)} with "
                "warm_start=True."
            )
        made = self.log_score_trace_.shape[1]
        if self.n_draws < made:
            raise ValueError(
                f"n_draws={self.n_draws} must be at least the {made} draws that were "
                "made before, with warm_start=True."
            )
        return progress

    def _schedule(self, problem, progress):
        """A first burn-in and draws, or the draws that are missing."""
        if progress.states is None:
            return make_schedule(
                self._sampling_steps(problem), self.burn_in, self.n_draws
            )
        missing = self.n_draws - self.log_score_trace_.shape[1]
        return Schedule(0, progress.thin, missing)

    def _sample(self, problem, progress, context):
        """Run the chains and keep what they give."""
        found = progress.found
        schedule = self._schedule(problem, progress)
        tables = build_tables(
            problem.score,
            found.space,
            sums=True,
            n_jobs=self.n_jobs,
            memory_limit=self.memory_limit,
            names=problem.names,
        )
        observer = ChainObserver(self)
        observer.open_chains(context)
        runs = run_chains(
            self._chain_maker(problem, found, progress.entropy),
            tables,
            schedule,
            self.n_chains,
            states=progress.states,
            observer=observer,
            n_jobs=self.n_jobs,
        )
        observer.close_chains()
        self.n_iter_ = schedule.n_iter
        if progress.states is not None:
            self.n_iter_ += progress.n_iter
            for k, run in enumerate(runs):
                run.packed = np.concatenate([self.dag_samples_.packed[k], run.packed])
                run.log_scores = np.append(self.log_score_trace_[k], run.log_scores)
        self._progress = replace(
            progress,
            thin=schedule.thin,
            n_iter=self.n_iter_,
            states=[run.state for run in runs],
        )
        self._keep(found, tables, runs)

    def _keep(self, found, tables, runs):
        """Learned attributes from the chains' draws."""
        n_draws = min(len(run.log_scores) for run in runs)
        samples = DAGSamples(np.stack([run.packed[:n_draws] for run in runs]))
        self.dag_samples_ = samples
        self.log_score_trace_ = np.stack([run.log_scores[:n_draws] for run in runs])
        counts, sizes = graph_counts(samples)
        self.adjacency_probabilities_ = counts.sum(axis=(0, 1)) / max(1, len(samples))
        self.rhat_ = split_rhat_of_counts(counts, sizes)
        self.log_score_rhat_ = split_rhat(self.log_score_trace_)
        self.acceptance_rate_ = np.array(
            [
                run.state["accepted"].sum() / max(1, run.state["proposed"].sum())
                for run in runs
            ]
        )
        self.search_space_ = found.space.permitted.copy()
        self._keep_best(found, tables, runs)
        self._warn_unless_converged()

    def _keep_best(self, found, tables, runs):
        """The best DAG of the search, the draws, and the chains' best orders."""
        flat = self.log_score_trace_.ravel()
        best, log_score = None, -np.inf
        if flat.size:
            best, log_score = self.dag_samples_[int(flat.argmax())], flat.max()
        known = [self._best_dag_of(run, tables) for run in runs]
        if found.adjacency is not None:
            known.append(found.adjacency)
        for adjacency in known:
            value = dag_log_score(tables, adjacency)
            if best is None or value > log_score:
                best, log_score = adjacency, value
        self.adjacency_ = best
        self.log_score_ = float(log_score)
        self.cpdag_ = graphs.to_cpdag(best)

    def _warn_unless_converged(self):
        if self.log_score_trace_.shape[1] < FEWEST_DRAWS_FOR_RHAT:
            return
        worst = np.nanmax(self.rhat_)
        if self.log_score_rhat_ <= LARGEST_RHAT and worst <= LARGEST_RHAT + 0.1:
            return
        warnings.warn(
            f"The chains disagree: R-hat is {self.log_score_rhat_:.2f} for the score "
            f"and up to {worst:.2f} for an edge (log_score_rhat_, rhat_). Edge "
            "probabilities are not reliable yet: run longer chains (n_iter) and see "
            "log_score_trace_; with few variables try search_space='full'.",
            ConvergenceWarning,
            stacklevel=2,
        )

    # --------------------------------------------------------------- methods

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

    def score_samples(self, X):
        """Log posterior predictive density of each row.

        Averaged over the sampled DAGs, with the parameters integrated out.

        Parameters
        ----------
        X : {array-like, dataframe} of shape (n_samples, n_features)
            New rows.

        Returns
        -------
        log_density : ndarray of shape (n_samples,)
            Log density, or log probability of discrete rows.
        """
        X = self._check_new(X)
        return _predictive.log_density(self.score_, self._draws(), X)

    @ParameterAndMethod
    def score(self, X, y=None):
        """Mean log posterior predictive density of the rows.

        Parameters
        ----------
        X : {array-like, dataframe} of shape (n_samples, n_features)
            New rows.
        y : None
            Ignored, present for API consistency.

        Returns
        -------
        log_density : float
            The mean of ``score_samples``.
        """
        return float(np.mean(self.score_samples(X)))

    def predict(self, X):
        """Expectation of every cell given the row's other cells.

        Averaged over the sampled DAGs. A NaN stands for an unobserved cell, which
        is predicted like the others but not conditioned on.

        Parameters
        ----------
        X : {array-like, dataframe} of shape (n_samples, n_features)
            New rows.

        Returns
        -------
        prediction : {ndarray, dataframe} of shape (n_samples, n_features)
            Expectations, or the most probable categories of discrete data. A frame,
            with the same columns, if `X` is one.
        """
        X = self._check_new(X)
        rows = _predictive.predict(self.score_, self._draws(), X)
        return self._like(empty_like(X), rows, getattr(X, "index", None))

    def predict_probabilities(self, X, columns=None):
        """Probabilities of every category given the row's other cells.

        Averaged over the sampled DAGs, for discrete data. A missing cell (NaN, None)
        is predicted like the others and summed over.

        Parameters
        ----------
        X : {array-like, dataframe} of shape (n_samples, n_features)
            New rows.
        columns : sequence of str or int, default=None
            The variables to predict. None is all of them.

        Returns
        -------
        probabilities : dict
            For each variable, by its name if fit saw names and by its index if not,
            an array of shape (n_samples, n_levels). Its columns are the categories in
            the order of ``score_.categories_``.
        """
        X = self._check_new(X)
        n, names = self.n_features_in_, getattr(self, "feature_names_in_", None)
        if isinstance(columns, str):
            raise ValueError(f"columns must be a list of columns, got {columns!r}.")
        columns = range(n) if columns is None else columns
        nodes = [resolve_index(column, n, names, "columns") for column in columns]
        return {
            node if names is None else str(names[node]): (
                _predictive.predict_probabilities(self.score_, self._draws(), X, node)
            )
            for node in nodes
        }

    def sample(self, n_samples=1, random_state=None):
        """Draw new rows from the posterior predictive distribution.

        Parameters
        ----------
        n_samples : int, default=1
            Number of rows.
        random_state : int, RandomState instance or None, default=None
            Seed of the draws.

        Returns
        -------
        X : {ndarray, dataframe} of shape (n_samples, n_features)
            The rows; a frame if fit was given one.
        """
        check_is_fitted(self)
        if not isinstance(n_samples, Integral) or n_samples < 1:
            raise ValueError(f"n_samples must be a positive integer, got {n_samples}.")
        rows = _predictive.sample(
            self.score_, self._draws(), int(n_samples), random_state
        )
        return self._like(self._template, rows)

    def _like(self, template, rows, index=None):
        """Make rows a frame, if that is what the data were."""
        if template is None:
            return rows
        labels = hasattr(self.score_, "categories_")
        return to_frame(rows, template, labels=labels, index=index)

    def edge_probabilities(self, kind="dag"):
        """Posterior probabilities of edges.

        Parameters
        ----------
        kind : {"dag", "cpdag", "skeleton"}, default="dag"
            Edges i -> j of the DAGs; edges of their CPDAGs, where an undirected
            edge counts as both i -> j and j -> i; or adjacencies, symmetric.

        Returns
        -------
        probabilities : ndarray of shape (n_features, n_features)
            ``probabilities[i, j]`` is that of the edge i -> j.
        """
        check_is_fitted(self)
        if kind not in ("dag", "cpdag", "skeleton"):
            raise ValueError(
                f"kind must be 'dag', 'cpdag' or 'skeleton', got {kind!r}."
            )
        counts, _ = graph_counts(self._draws(), kind)
        return counts.sum(axis=(0, 1)) / len(self.dag_samples_)

    def consensus_graph(self, threshold=0.5, kind="cpdag"):
        """Edges whose posterior probability exceeds a threshold.

        Parameters
        ----------
        threshold : float, default=0.5
            The threshold.
        kind : {"dag", "cpdag", "skeleton"}, default="cpdag"
            Which edges, see :meth:`edge_probabilities`.

        Returns
        -------
        graph : ndarray of bool, shape (n_features, n_features)
            ``graph[i, j]`` for the edge i -> j.
        """
        return self.edge_probabilities(kind) > threshold

    def to_networkx(self):
        """The best DAG as a networkx graph, with edge probabilities.

        Returns
        -------
        graph : networkx.DiGraph
            Nodes carry the variables' names; edges the attribute ``probability``.
        """
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        graph = graphs.to_networkx(self.adjacency_, names)
        nodes = list(graph.nodes)
        for i, j in np.argwhere(self.adjacency_):
            probability = float(self.adjacency_probabilities_[i, j])
            graph.edges[nodes[i], nodes[j]]["probability"] = probability
        return graph

    def _draws(self):
        """The sampled DAGs, of which there must be some."""
        if not len(self.dag_samples_):
            raise ValueError(
                "There are no sampled DAGs: a callback stopped fit before the first "
                "draw. adjacency_ is the best DAG seen until then."
            )
        return self.dag_samples_

    def _check_new(self, X):
        check_is_fitted(self)
        if not hasattr(X, "columns"):
            check_array(X, dtype=None, ensure_all_finite=False, input_name="X")
        _check_feature_names(self, X, reset=False)
        _check_n_features(self, X, reset=False)
        return X

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        tags.input_tags.string = True
        tags.input_tags.allow_nan = True  # in predict: an unobserved cell
        return tags

    def __sklearn_is_fitted__(self):
        return hasattr(self, "adjacency_")


class SamplerMixin:
    """What the samplers share: their space may come from a search."""

    def _find(self, problem, entropy):
        # here, because the search is itself built on this module
        from skbidag._iterative import IterativeSearchStructure

        search = self.search_space
        if isinstance(search, str) and search == "iterative":
            search = IterativeSearchStructure(
                alpha=self.alpha,
                extra_parent=self.extra_parent,
                max_parents=self.max_parents,
                memory_limit=self.memory_limit,
                n_jobs=self.n_jobs,
            )
        if not isinstance(search, IterativeSearchStructure) or hasattr(
            search, "search_space_"
        ):
            return super()._find(problem, entropy)
        search._validate_params()
        result = search._search(problem, entropy)
        return Found(result.space, result.adjacency)


def dag_log_score(tables, adjacency):
    """Log score of a DAG whose parent sets all stand in the tables; -inf if not."""
    total = 0.0
    for table in tables:
        parents = np.flatnonzero(adjacency[:, table.node])
        outside = np.setdiff1d(parents, table.candidates)
        if len(outside) > 1 or not np.isin(outside, table.outsiders).all():
            return -np.inf
        mask = int((np.isin(table.candidates, parents) << np.arange(
            table.n_candidates)).sum())  # fmt: skip
        column = int(outside[0]) if len(outside) else table.base_column
        total += table.scores[mask, column]
    return total
