"""What the three estimators share: parameters, the template of fit, methods.

``fit`` goes through the same stations for all of them, see the methods in order:
pose the problem (score, constraints), find the search space, build the tables, run
the chains, keep what they give. A subclass says which chain walks on the tables, and
where the search space comes from if not from ``search_space`` alone.
"""

import warnings
from dataclasses import dataclass, field, replace
from numbers import Integral, Real

import numpy as np
from sklearn.base import BaseEstimator, DensityMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import _safe_indexing, check_array, check_random_state
from sklearn.utils.validation import check_is_fitted

from skbidag import _predictive, graphs
from skbidag._chains import (
    ChainRun,
    Schedule,
    Stop,
    auto_n_iter,
    bit_generator,
    draw_once,
    entropy_of,
    make_schedule,
    run_chains,
)
from skbidag._frames import empty_like, to_frame
from skbidag._observer import ChainObserver
from skbidag._posterior import DAGSamples, graph_counts, split_rhat_of_counts
from skbidag._search import LEAST_GAIN, random_order, starting_orders
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
    CallbackSupportMixin,
    HasMethods,
    Interval,
    StrOptions,
    _check_feature_names,
    _check_n_features,
    _fit_context,
    _num_samples,
    with_callbacks,
)
from skbidag._tables import build_tables
from skbidag._workspace import Workspace
from skbidag.diagnostics import rhat
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
    """What is to be learned: a fitted score, the data for tests, and constraints.

    And the workspace, which the search's tables hand on to those of the chains.
    """

    score: BaseScore
    data: np.ndarray
    weights: np.ndarray | None
    names: np.ndarray | None
    constraints: Constraints
    workspace: Workspace = field(default_factory=Workspace, repr=False)

    @property
    def n_features(self):
        """Number of variables."""
        return self.data.shape[1]


@dataclass(frozen=True)
class Found:
    """A search space, the best DAG known in it, and whether the search was ended."""

    space: SearchSpace
    adjacency: np.ndarray | None = None
    cut_short: bool = False


@dataclass(frozen=True)
class Progress:
    """What a fit with ``warm_start`` goes on from: the space, and the chains.

    Attributes
    ----------
    found : Found
        The search space.
    entropy : tuple of int
        Seed of the chains.
    schedule : Schedule or None
        The chains' burn-in and thinning; None before they have started.
    n_draws : int
        How many draws all chains have made: those of ``dag_samples_``, unless no
        chain has made any and these are something to begin with.
    runs : list of ChainRun or None
        Where the chains stand, with the draws they have made beyond `n_draws`.
    """

    found: Found
    entropy: tuple
    schedule: Schedule | None = None
    n_draws: int = 0
    runs: list[ChainRun] | None = None


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
        "max_time": [None, Interval(Real, 0, None, closed="left")],
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

        Notes
        -----
        With ``warm_start=True`` an interrupt (Ctrl-C) leaves the estimator fitted
        with the draws that are made, and the next ``fit`` goes on from there. Without,
        it is not fitted afterwards.
        """
        stop = Stop(self.max_time)
        progress = self._progress_to_go_on_from()
        fitted = vars(self).pop("adjacency_", None)  # not fitted until all is done
        try:
            return self._fit(X, sample_weight, progress, stop)
        except KeyboardInterrupt:
            if progress is not None and not hasattr(self, "adjacency_"):
                self.adjacency_ = fitted  # nothing new: as it was before
            raise

    def _fit(self, X, sample_weight, progress, stop):
        context = self._init_callback_context(
            max_subtasks=self.n_chains, sequential_subtasks=False
        )
        context.call_on_fit_task_begin(estimator=self, X=X)
        problem = self._pose(X, sample_weight)
        if progress is None:
            entropy = entropy_of(check_random_state(self.random_state))
            found = self._find(problem, entropy, stop)
            if found.cut_short:
                warnings.warn(
                    f"max_time={self.max_time} seconds are up: the search for the best "
                    "DAG ended early, with the best so far.",
                    ConvergenceWarning,
                    stacklevel=3,
                )
            progress = Progress(found, entropy)
        elif progress.found.space.n_features != problem.n_features:
            raise ValueError(
                f"warm_start=True goes on with the same variables: X has "
                f"{problem.n_features}, the last fit had "
                f"{progress.found.space.n_features}."
            )
        self.score_ = problem.score
        self._sample(problem, progress, context, stop)
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

    def _find(self, problem, entropy, stop):
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
        if len(progress.runs) != self.n_chains:
            raise ValueError(
                f"n_chains={self.n_chains} must stay {len(progress.runs)} with "
                "warm_start=True."
            )
        if self.n_draws < progress.n_draws:
            raise ValueError(
                f"n_draws={self.n_draws} must be at least the {progress.n_draws} draws "
                "that were made before, with warm_start=True."
            )
        return progress

    def _sample(self, problem, progress, context, stop):
        """Run the chains and keep what they give."""
        schedule = progress.schedule
        if schedule is None:
            schedule = make_schedule(
                self._sampling_steps(problem), self.burn_in, self.n_draws
            )
        progress = replace(progress, schedule=replace(schedule, n_draws=self.n_draws))
        tables = build_tables(
            problem.score,
            progress.found.space,
            sums=True,
            workspace=problem.workspace,
            n_jobs=self.n_jobs,
            memory_limit=self.memory_limit,
            names=problem.names,
        )
        make_chain = self._chain_maker(problem, progress, tables, stop)
        observer = ChainObserver(self)
        observer.open_chains(context)
        runs = [None] * self.n_chains
        if progress.runs is not None:
            runs = [run.draws(0, 0) for run in progress.runs]
        try:
            run_chains(
                make_chain,
                tables,
                progress.schedule,
                runs,
                observer=observer,
                stop=stop,
                n_jobs=self.n_jobs,
            )
        except KeyboardInterrupt as interrupt:
            if self.warm_start and all(run is not None for run in runs):
                self._keep(progress, tables, make_chain, runs)
                interrupt.add_note(
                    f"{self._draws_made()} The estimator is fitted with these; "
                    "fit goes on from here."
                )
            raise
        observer.close_chains()
        self._keep(progress, tables, make_chain, runs)
        self._warn_if_cut_short(stop)
        self._warn_unless_converged()

    def _starting_orders(self, problem, progress, tables, stop):
        """An order for each chain to start from: of the best DAG, if that is known."""
        generator = np.random.Generator(bit_generator(progress.entropy, 1))
        best = progress.found.adjacency
        fixed = problem.constraints.required if best is None else best
        orders = [random_order(generator, fixed) for _ in range(self.n_chains)]
        if best is not None or progress.runs is not None:
            return orders  # good already, or of no matter to chains that go on
        return starting_orders(tables, orders, progress.entropy, stop, self.n_jobs)

    def _keep(self, progress, tables, make_chain, runs):
        """Learned attributes from the chains' draws, of which some may be new."""
        if progress.runs is not None:
            packed = self.dag_samples_.packed[:, : progress.n_draws]
            log_scores = self.log_score_trace_[:, : progress.n_draws]
            runs = [
                replace(old, packed=packed[k], log_scores=log_scores[k])
                .before(old)
                .before(new)
                for k, (old, new) in enumerate(zip(progress.runs, runs, strict=True))
            ]
        # chains that were stopped may differ in length: what all have is compared
        n_draws = min(len(run.log_scores) for run in runs)
        kept = [run.draws(0, n_draws) for run in runs]
        if n_draws == 0:
            kept = [draw_once(make_chain, tables, k, run) for k, run in enumerate(runs)]
        samples = DAGSamples(np.stack([run.packed for run in kept]))
        trace = np.stack([run.log_scores for run in kept])
        counts, sizes = graph_counts(samples)
        best, log_score = self._best_dag(progress.found, tables, samples, trace, runs)
        # all at once, for an interrupt must not leave half of it
        vars(self).update(
            dag_samples_=samples,
            log_score_trace_=trace,
            adjacency_probabilities_=counts.sum(axis=(0, 1)) / len(samples),
            rhat_=split_rhat_of_counts(counts, sizes),
            log_score_rhat_=rhat(trace, method="split"),
            acceptance_rate_=np.array(
                [
                    run.state["accepted"].sum() / max(1, run.state["proposed"].sum())
                    for run in runs
                ]
            ),
            search_space_=progress.found.space.permitted.copy(),
            n_iter_=max(run.n_steps for run in runs),
            adjacency_=best,
            log_score_=log_score,
            cpdag_=graphs.to_cpdag(best),
            _progress=replace(
                progress, n_draws=n_draws, runs=[run.draws(n_draws) for run in runs]
            ),
        )

    def _best_dag(self, found, tables, samples, trace, runs):
        """The best DAG of the search, the draws, and the chains' best orders.

        Of those that are equally good, the one with the fewest edges: an edge from a
        constant, say, changes no score.
        """
        known = [self._best_dag_of(run, tables) for run in runs]
        if found.adjacency is not None:
            known.append(found.adjacency)
        known.append(samples[int(trace.argmax())])
        values = [dag_log_score(tables, adjacency) for adjacency in known]
        best, value = min(
            (
                (adjacency, value)
                for adjacency, value in zip(known, values, strict=True)
                if value >= max(values) - LEAST_GAIN
            ),
            key=lambda pair: pair[0].sum(),
        )
        return best, float(value)

    def _draws_made(self):
        """Say how many draws there are."""
        made, planned = self._progress.n_draws, self.n_draws
        if made:
            return f"Each chain made {made} of {planned} draws."
        return (
            f"The chains made none of {planned} draws: one DAG is drawn from where "
            "each of them stands in its burn-in."
        )

    def _warn_if_cut_short(self, stop):
        made = self._progress.n_draws
        if made and not (stop.time_is_up and made < self.n_draws):
            return
        reason = "The chains were stopped."
        if stop.time_is_up:
            reason = f"max_time={self.max_time} seconds are up."
        warnings.warn(
            f"{reason} {self._draws_made()} With warm_start=True another fit goes on.",
            ConvergenceWarning,
            stacklevel=2,
        )

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
        return _predictive.log_density(self.score_, self.dag_samples_, X)

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
        rows = _predictive.predict(self.score_, self.dag_samples_, X)
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
                _predictive.predict_probabilities(
                    self.score_, self.dag_samples_, X, node
                )
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
            self.score_, self.dag_samples_, int(n_samples), random_state
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
        counts, _ = graph_counts(self.dag_samples_, kind)
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

    def _find(self, problem, entropy, stop):
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
        if not isinstance(search, IterativeSearchStructure):
            return super()._find(problem, entropy, stop)
        if hasattr(search, "search_space_"):
            found = super()._find(problem, entropy, stop)
            # other constraints than those of the search may rule its DAG out
            known = found.space.contains(search.adjacency_)
            return replace(found, adjacency=search.adjacency_ if known else None)
        search._validate_params()
        result = search._search(problem, entropy, stop)
        return Found(result.space, result.adjacency, result.cut_short)


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
