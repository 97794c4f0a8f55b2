"""The contract of the estimators that sample by chains: the template of fit.

``fit`` goes through the same stations for all of them, see the methods in order:
pose the problem (score, constraints), find the search space, sample on it, keep what
that gives. What a subclass must say is declared as abstract: how its chains walk, and
where its search space comes from.
"""

import time
import warnings
from abc import abstractmethod
from dataclasses import replace
from numbers import Integral, Real
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from skbidag._augmentation import (
    AugmentedSettings,
    AugmentedWalk,
    Completions,
    best_dag_of,
    completions_of,
    search_with_holes,
)
from skbidag._chains import Stop, entropy_of
from skbidag._data import Rows
from skbidag._fingerprint import fingerprint, refuse_another
from skbidag._given_starts import resolve_starts
from skbidag._learner import StructureLearner
from skbidag._observer import ChainObserver
from skbidag._outside import LARGEST_OUTSIDE_MASS
from skbidag._posterior import split_rhat_of_counts
from skbidag._sampling import Progress, Sampling, SamplingSettings
from skbidag._score_space import ScoreSpace
from skbidag._search import (
    Searcher,
    SearchResult,
    SearchSettings,
    search_structure,
)
from skbidag._search_space import MOST_PARENTS, in_order_of, make_space, start_space
from skbidag._sklearn import (
    CallbackSupportMixin,
    Interval,
    StrOptions,
    _fit_context,
    with_callbacks,
)
from skbidag._tables import build_tables
from skbidag.scores._tempered import TemperedScore


class BaseStructure(CallbackSupportMixin, StructureLearner):
    """Base class of the structure learners that sample by chains."""

    _parameter_constraints = {  # noqa: RUF012 (scikit-learn's convention)
        **StructureLearner._parameter_constraints,
        "extra_parent": ["boolean"],
        "background": [None, "array-like"],
        "start": [None, "array-like"],
        "n_iter": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "n_draws": [Interval(Integral, 1, None, closed="left")],
        "burn_in": [Interval(Real, 0, 1, closed="left")],
        "n_chains": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "max_time": [None, Interval(Real, 0, None, closed="left")],
        "verbose": ["verbose"],
        "warm_start": ["boolean"],
    }

    # --------------------------------------------------- what a subclass must say

    @abstractmethod
    def _walk(self, n_features):
        """How chains walk, a :class:`~skbidag._sampling.Walk`."""

    #: Power of the posterior that chains draw from.
    _power = 1.0

    @abstractmethod
    def _find(self, problem, entropy, stop):
        """The search space, and the best DAG if it is known: a SearchResult."""

    def score_space(self, n_jobs: int | None = None) -> ScoreSpace:
        """Scores of all parent sets that the search space permits.

        Parameters
        ----------
        n_jobs : int, default=None
            Number of threads.

        Returns
        -------
        scores : ScoreSpace
            To look at, or to be given to another estimator as `search_space`.
        """
        check_is_fitted(self)
        space, (names, asked) = self._space, self._posed
        tables = build_tables(
            self.score_,
            space,
            n_jobs=n_jobs,
            memory_limit=self.memory_limit,
            names=names,
        )
        return ScoreSpace(tables, space, names, made_of(asked))

    # ------------------------------------------------------------------- fit

    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=False)
    def fit(
        self,
        X: Rows,
        y: None = None,
        sample_weight: ArrayLike | None = None,
        interventions: ArrayLike | None = None,
    ) -> Self:
        """Learn the structure from data.

        Parameters
        ----------
        X : {array-like, dataframe} of shape (n_samples, n_features)
            The data, continuous or categorical (see `categorical_features`). What
            becomes of missing cells (NaN, None), `missing` says. A column with one
            value has no edges but required ones.
        y : None
            Ignored, present for API consistency.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each row counts. A weight of 2 is the row given twice.
        interventions : array-like, default=None
            Which variables were set in each row, by a perfect intervention: a boolean
            array or frame with the shape of `X`; or for each row a name or an index,
            several names with ";" between them, a collection of these, or None. The
            row then takes no part in the local score of what was set.

        Returns
        -------
        self : object
            The fitted estimator.

        Notes
        -----
        With interventions, equivalence classes (``cpdag_``, edges of the kind
        "cpdag") are the interventional ones, see :func:`skbidag.graphs.to_cpdag`. Tiers
        give directions as well, and so do forbidden edges that leave no way into some
        variables: a class has the DAGs that go along with them. For
        the first search space PC tests each pair on the rows in which neither of the
        two was set.

        With ``warm_start=True`` an interrupt (Ctrl-C) leaves the estimator fitted
        with the draws that are made, and the next ``fit`` goes on from there. Without,
        it is not fitted afterwards.

        A fit that goes on must be given what the last one was: the same data, score,
        constraints, search space and moves. If not, an error says what differs, and
        the estimator stays as it was.
        """
        began = time.perf_counter()
        stop = Stop(self.max_time)
        progress = self._progress_to_go_on_from()
        before = vars(self).copy()
        for name in ("adjacency_", "_progress"):
            vars(self).pop(name, None)  # not fitted until all is done
        try:
            return self._fit(X, sample_weight, interventions, progress, stop)
        except BaseException:
            if progress is not None and not hasattr(self, "adjacency_"):
                vars(self).clear()  # nothing new: as it was before
                vars(self).update(before)
            raise
        finally:
            if vars(self).get("adjacency_") is not before.get("adjacency_"):
                earlier = 0.0 if progress is None else before["fit_seconds_"]
                self.fit_seconds_ = earlier + time.perf_counter() - began

    def _fit(self, X, sample_weight, interventions, progress, stop):
        # chains of no given length run in rounds, of which nobody knows how many
        context = self._init_callback_context(
            max_subtasks=None if self.n_iter == "auto" else self.n_chains,
            sequential_subtasks=False,
        )
        context.call_on_fit_task_begin(estimator=self, X=X)
        problem = self._pose(X, sample_weight, interventions)
        for name in ("missing_draws_", "_completions", "_table_with_holes"):
            vars(self).pop(name, None)
        if problem.completion is not None:
            self._table_with_holes = X
        asked = fingerprint(problem, self.get_params(deep=False))
        self.score_ = problem.score
        problem = self._tempered(problem)
        if progress is None:
            entropy = entropy_of(check_random_state(self.random_state))
            found = self._find_space(problem, entropy, stop)
            if found.cut_short:
                warnings.warn(
                    f"max_time={self.max_time} seconds are up: the search for the best "
                    "DAG ended early, with the best so far.",
                    ConvergenceWarning,
                    stacklevel=3,
                )
            progress = Progress(found, entropy, asked)
        else:
            refuse_another(progress.asked, asked)
        self._posed = problem.names, asked
        self._sample(problem, progress, context, stop)
        context.call_on_fit_task_end(estimator=self, X=X)
        return self

    def _check_problem(self, problem):
        if self._power != 1.0 and problem.completion is not None:
            raise ValueError(
                f"power={self._power:g} does not go with missing='augment': missing "
                "cells are drawn from the posterior itself. Try missing='drop'."
            )
        if self._power != 1.0:
            self.posterior_ += f", to the power {self._power:g}"
        resolve_starts(
            self.start, problem.n_features, problem.names, problem.constraints
        )
        self._walk(problem.n_main)

    def _find_space(self, problem, entropy, stop):
        """The search space; where cells are missing, of several completions."""
        if problem.completion is None:
            return self._find(problem, entropy, stop)

        def find(problem):
            return self._find(problem, entropy, stop)

        found, problem, rows = search_with_holes(problem, find, entropy, stop)
        self._take_completions(problem.completion, problem.score, rows)
        return found

    def _take_completions(self, completion, score, rows):
        """Learned attributes from completed rows, and the score of all of them."""
        self.score_ = score
        self.missing_draws_ = completion.tables(self._table_with_holes, rows)
        missing = completion.holes.missing
        self._completions = Completions(completion, [own[missing] for own in rows])

    def _tempered(self, problem):
        """The problem whose posterior is the power that chains draw from."""
        if self._power == 1.0:
            return problem
        return replace(problem, score=TemperedScore(problem.score, self._power))

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
        settings = SamplingSettings(
            n_iter=None if self.n_iter == "auto" else self.n_iter,
            n_draws=self.n_draws,
            burn_in=self.burn_in,
            n_chains=self.n_chains,
            max_iter=None if self.max_iter == "auto" else self.max_iter,
            n_jobs=self.n_jobs,
            memory_limit=self.memory_limit,
            starts=self._chain_starts(problem),
        )
        walk = self._walk(problem.n_main)
        if problem.completion is not None:
            settings = AugmentedSettings.of(settings)
            walk = AugmentedWalk(
                walk,
                problem.completion,
                progress.found.space,
                settings.stretch(problem.n_main),
            )
        sampling = Sampling(
            problem,
            progress,
            walk,
            settings,
            stop,
            getattr(self, "dag_samples_", None),
            getattr(self, "_drawn_log_scores", None),
        )
        self.table_bytes_ = sum(table.n_bytes for table in sampling.tables)
        try:
            sampling.run(ChainObserver(self, context))
        except KeyboardInterrupt as interrupt:
            if self.warm_start and sampling.has_started:
                self._keep(self._so_far(problem, sampling))
                interrupt.add_note(
                    f"{self._draws_made()} The estimator is fitted with these; "
                    "fit goes on from here."
                )
            raise
        sampled = self._so_far(problem, sampling)
        self._keep(sampled)
        self._warn_if_cut_short(stop)
        self._warn_if_much_is_outside()
        self._warn_unless_converged(sampled.reached, stop)

    def _so_far(self, problem, sampling):
        """What the chains have given; where cells are missing, by several completions.

        The best DAG is then that of the mean of their sufficient statistics.
        """
        sampled, completion = sampling.so_far(), problem.completion
        if completion is None:
            return sampled
        progress = sampled.progress
        rows = completions_of(completion, progress.runs, progress.schedule.burn_in)
        score = completion.score_of_all(rows)
        self._take_completions(completion, score, rows)
        adjacency, log_score = best_dag_of(
            score,
            progress.found.space,
            sampled.samples,
            progress.entropy,
            problem.workspace,
        )
        return replace(sampled, adjacency=adjacency, log_score=log_score)

    def _keep(self, sampled):
        """Learned attributes from the chains' draws, of which some may be new."""
        counts, sizes = sampled.counts
        progress = sampled.progress
        walk = self._walk(int(np.sum(~sampled.samples.background)))
        # all at once, for an interrupt must not leave half of it
        vars(self).update(
            dag_samples_=sampled.samples,
            log_score_trace_=sampled.log_scores / self._power,
            _drawn_log_scores=sampled.log_scores,
            adjacency_probabilities_=counts.sum(axis=(0, 1)) / len(sampled.samples),
            rhat_=split_rhat_of_counts(counts, sizes),
            log_score_rhat_=sampled.reached.log_score_rhat,
            converged_=sampled.reached.verdict is True,
            acceptance_rate_=sampled.acceptance_rate,
            search_space_=progress.found.space.permitted.copy(),
            outside_mass_=sampled.outside_mass,
            n_iter_=sampled.n_steps,
            adjacency_=sampled.adjacency,
            log_score_=sampled.log_score / self._power,
            cpdag_=sampled.samples.as_kind(sampled.adjacency[None], "cpdag")[0],
            _progress=progress,
            _space=progress.found.space,
            **walk.traces(progress.points, progress.point_scores),
        )

    def _chain_starts(self, problem):
        """Where the user wants chains to start, if anywhere."""
        return []

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

    def _warn_if_much_is_outside(self):
        """Warn of a space that a search found; any other is what was asked for."""
        if self._progress.found.is_beyond_tables:
            self._warn_of_dense_network(self._progress.found)
            return
        far = np.flatnonzero(self.outside_mass_ > LARGEST_OUTSIDE_MASS)
        if not len(far) or self._progress.found.expansions is None:
            return
        worst = far[np.argsort(-self.outside_mass_[far], kind="stable")][:3]
        nodes = ", ".join(
            f"{self._column_name(node)} ({self.outside_mass_[node]:.2f})"
            for node in worst
        )
        remedy = "extra_parent=True"
        if self.extra_parent:
            largest = self.search_space_.sum(axis=0).max()
            remedy = (
                f"max_parents={min(MOST_PARENTS, largest + 3)} or more, or a larger "
                "edge_penalty of the score"
            )
        warnings.warn(
            f"The search space leaves out parents that matter for {len(far)} "
            f"variable(s), most for {nodes}: so many of their edges per DAG would come "
            f"from outside (outside_mass_). Edge probabilities there are not reliable; "
            f"try {remedy}.",
            ConvergenceWarning,
            stacklevel=2,
        )

    def _warn_of_dense_network(self, found):
        """Say that the draws are not near the best DAG, and why."""
        largest = found.adjacency.sum(axis=0).max()
        below = (found.log_score - self._drawn_log_scores.max()) / self._power
        warnings.warn(
            f"Variables have up to {largest} parents in the best DAG (adjacency_), "
            "more than tables of scores can hold. The sampled DAGs have fewer, and log "
            f"scores some {below:.0f} below that of the best one: edge "
            "probabilities are not those of the posterior. A larger edge_penalty of "
            "the score makes for fewer parents.",
            ConvergenceWarning,
            stacklevel=2,
        )

    def _warn_unless_converged(self, reached, stop):
        """Say what was reached, and what can be done about it."""
        if reached.verdict is not False:
            return
        advice = "run longer chains (n_iter)."
        if stop:
            advice = "allow more time (max_time)."
        elif self.n_iter == "auto":
            advice = f"allow more than {self.n_iter_} steps (max_iter)."
        if np.isinf(reached.edge_rhat):
            advice += (
                " Some chains stay where they started: there are modes they do not "
                "cross, and more chains (n_chains) may find more of them."
            )
        warnings.warn(
            f"{reached} Edge probabilities are not reliable yet: {advice}",
            ConvergenceWarning,
            stacklevel=2,
        )


class SamplerMixin:
    """What the samplers share: their space may come from a search, and their power."""

    @property
    def _power(self):
        return float(self.power)

    def _chain_starts(self, problem):
        return resolve_starts(
            self.start, problem.n_features, problem.names, problem.constraints
        )

    def _find(self, problem, entropy, stop):
        search = self.search_space
        if isinstance(search, FrozenEstimator):
            search = search.estimator
            check_is_fitted(search)
        if isinstance(search, str) and search == "iterative":
            settings = SearchSettings(
                alpha=self.alpha,
                extra_parent=self.extra_parent,
                max_parents=self.max_parents,
                memory_limit=self.memory_limit,
                n_jobs=self.n_jobs,
            )
            return search_structure(problem, settings, entropy, stop)
        if isinstance(search, Searcher) and not hasattr(search, "search_space_"):
            settings = replace(search.search_settings(), cover=True)
            return search_structure(problem, settings, entropy, stop)
        if isinstance(search, ScoreSpace) and self._power == 1.0:
            return self._with_scores(search, problem)
        space = start_space(
            problem,
            search,
            alpha=self.alpha,
            extended=self.extra_parent,
            max_parents=self.max_parents,
            entropy=entropy,
            n_jobs=self.n_jobs,
        )
        if isinstance(search, StructureLearner):
            best = in_order_of(problem.names, search, search.adjacency_)
            # other constraints than those of the search may rule its DAG out
            if space.contains(best):
                return SearchResult(space, best)
        return SearchResult(space)

    def _with_scores(self, scores, problem):
        """The space of scores that another fit has made of the same problem."""
        mine = made_of(fingerprint(problem, {"edge_prior": self.edge_prior}))
        different = [name for name in mine if mine[name] != scores.made_of[name]]
        if different:
            raise ValueError(
                f"search_space={scores!r} was made with another "
                f"{', '.join(different)}. Give its search_space_ alone."
            )
        space = make_space(
            scores.search_space_,
            problem.constraints,
            extended=self.extra_parent,
            outsiders=problem.outsiders if self.extra_parent else None,
        )
        return SearchResult(space, tables=scores.tables_to_hand_on())


def made_of(digests):
    """What scores depend on, of the fingerprint of a fit."""
    return {name: digests[name] for name in ("X", "score", "edge_prior")}
