"""What a network says of one variable, given others: with the posterior's spread.

A question is P(target | evidence, do(x)) in the population: what is in ``do`` is set,
so that the edges into it are cut, and what is in the evidence is observed then. The
answer depends on the DAG and on its parameters, both uncertain. For each of some
sampled DAGs parameters are drawn from their posterior, and each draw of DAG and
parameters gives one answer: exact for continuous data, where everything is normal, and
for categorical data, where variables are summed out one after the other; by weighted
simulation for mixed data.
"""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import singledispatch
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri
from sklearn.utils import check_random_state

from skbidag._causal import _Counts, _members, _orders, _parts
from skbidag._data import names_of, resolve_index, unique_rows
from skbidag._elimination import elimination_order, reduce_factor, sum_out
from skbidag._frames import make_frame, variable_labels
from skbidag._mixtures import mixture_quantiles
from skbidag._posterior import DAGSamples
from skbidag._simulated_queries import LEAST_EFFECTIVE, needed, simulated_answer
from skbidag.scores import (
    CategoricalParameterScore,
    MixedParameterScore,
    RegressionScore,
)


@dataclass(frozen=True, eq=False)
class QueryResult:
    """Posterior of P(target | evidence, do(x)).

    Attributes
    ----------
    target : str or int
        The variable in question.
    levels : list or None
        Its categories; None if it is continuous.
    draws : ndarray of shape (n_draws, n_levels) or (n_draws,)
        For each draw of a DAG and its parameters, the probabilities of the target's
        categories, or its expectation.
    deviations : ndarray of shape (n_draws,) or None
        The target's standard deviation about its expectation; None for categories.
    mean : ndarray of shape (n_levels,) or float
        The mean of `draws`.
    """

    target: Any
    levels: list | None
    draws: NDArray[np.float64]
    deviations: NDArray[np.float64] | None = None
    _template: Any = field(default=None, repr=False)

    @property
    def mean(self) -> Any:
        """Posterior mean of the probabilities, or of the expectation."""
        return self.draws.mean(axis=0)[()]

    def interval(self, level: float = 0.95) -> tuple[Any, Any]:
        """Central credible intervals of the probabilities, or of the expectation.

        Parameters
        ----------
        level : float, default=0.95
            Posterior probability of the interval, between 0 and 1.

        Returns
        -------
        lower, upper : ndarray of shape (n_levels,) or float
            Ends of the intervals, quantiles of `draws`.
        """
        lower, upper = np.quantile(self.draws, _tails(level), axis=0)
        return lower, upper

    def predictive_interval(self, level: float = 0.95) -> tuple[float, float]:
        """Where a continuous target itself lies: an interval for a new row.

        Parameters
        ----------
        level : float, default=0.95
            Probability of the interval, between 0 and 1.

        Returns
        -------
        lower, upper : float
            Quantiles of the mixture of a normal distribution for each draw.
        """
        if self.deviations is None:
            raise ValueError(
                f"The target {self.target!r} is categorical: probabilities are all "
                "that there is to say about a new row."
            )
        tails = np.array(_tails(level))
        ends = self.draws + ndtri(tails)[:, None] * self.deviations

        def cumulative(x):
            return ndtr((x[:, None] - self.draws) / self.deviations).mean(axis=1)

        return mixture_quantiles(cumulative, tails, ends)

    def to_frame(self, level: float = 0.95) -> Any:
        """The answer as a frame.

        Parameters
        ----------
        level : float, default=0.95
            Posterior probability of the intervals.

        Returns
        -------
        frame : dataframe
            With the columns "target", "mean", "sd", "lower" and "upper" and, for a
            categorical target, "level", of which each has a row. In the library of the
            frame that ``fit`` was given, or else pandas.
        """
        lower, upper = np.atleast_1d(*self.interval(level))
        columns = {"target": [self.target] * len(lower)}
        if self.levels is not None:
            columns["level"] = self.levels
        columns["mean"] = np.atleast_1d(self.mean)
        columns["sd"] = np.atleast_1d(self.draws.std(axis=0))
        return make_frame({**columns, "lower": lower, "upper": upper}, self._template)

    def __repr__(self):
        lower, upper = np.atleast_1d(*self.interval())
        labels = [""] if self.levels is None else [f"={v}" for v in self.levels]
        rows = zip(labels, np.atleast_1d(self.mean), lower, upper, strict=True)
        answers = ", ".join(
            f"{self.target}{label}: {mean:.4g} ({low:.4g} to {high:.4g})"
            for label, mean, low, high in rows
        )
        return f"{type(self).__name__}({answers})"


def _tails(level):
    if not (isinstance(level, Real) and 0 < level < 1):
        raise ValueError(f"level must be between 0 and 1, got {level!r}.")
    return [(1 - level) / 2, (1 + level) / 2]


@dataclass(frozen=True)
class Question:
    """What is asked for, by indices.

    Attributes
    ----------
    target : int
        The variable in question.
    evidence, do : dict
        Values of variables that are observed, and of those that are set; categories
        are codes.
    """

    target: int
    evidence: dict
    do: dict


def answer(estimator, target, evidence, do, n_draws, random_state):
    """Draws of P(target | evidence, do(x)) over sampled DAGs and parameters.

    Parameters
    ----------
    estimator : StructureLearner
        A fitted estimator.
    target : str or int
        The variable in question.
    evidence, do : mapping or None
        Values of variables that are observed, and of those that are set.
    n_draws : int
        How many draws; DAGs are taken evenly spaced among the sampled ones.
    random_state : int, RandomState instance or None
        Source of the draws.

    Returns
    -------
    result : QueryResult
        The draws.
    """
    if not isinstance(n_draws, Integral) or n_draws < 1:
        raise ValueError(f"n_draws must be a positive integer, got {n_draws!r}.")
    n, names = estimator.n_features_in_, names_of(estimator)
    score, samples = estimator.score_, estimator.dag_samples_
    categories = _categories(score, n)
    node = resolve_index(target, n, names, "target")
    known = {}
    for parameter, values in (("evidence", evidence), ("do", do)):
        if values is not None and not isinstance(values, Mapping):
            raise ValueError(
                f"{parameter} must map variables to values, got {values!r}."
            )
        known[parameter] = {
            i: _value(value, categories[i], variable, parameter)
            for variable, value in (values or {}).items()
            for i in [resolve_index(variable, n, names, parameter)]
        }
    question = Question(node, **known)
    _refuse_contradictions(question, variable_labels(names, n))
    chosen = np.arange(n_draws) * len(samples) // n_draws  # equally often, if often
    dags = samples[chosen]
    dags[:, :, list(question.do)] = False
    draws, deviations = _answers(
        score, dags, question, check_random_state(random_state)
    )
    levels = categories[node]
    return QueryResult(
        variable_labels(names, n)[node],
        None if levels is None else levels.tolist(),
        draws,
        deviations,
        getattr(estimator, "_template", None),
    )


def _value(value, levels, variable, parameter):
    """A number, or the code of a category."""
    if levels is None:
        if not (isinstance(value, Real) and np.isfinite(value)):
            raise ValueError(
                f"{parameter} must give {variable!r} a number, got {value!r}."
            )
        return float(value)
    known = levels.tolist()
    if value not in known:
        raise ValueError(
            f"{parameter} must give {variable!r} one of its categories {known}, got "
            f"{value!r}."
        )
    return known.index(value)


def _refuse_contradictions(question, labels):
    for i in question.evidence:
        if i in question.do:
            raise ValueError(
                f"{labels[i]!r} is in evidence and in do: what is set is known already."
            )
    for parameter in ("evidence", "do"):
        if question.target in getattr(question, parameter):
            raise ValueError(
                f"The target {labels[question.target]!r} must not be in {parameter}."
            )


def _categories(score, n_features):
    """The levels of each variable, None for a continuous one."""
    if isinstance(score, RegressionScore):
        return [None] * n_features
    if isinstance(score, CategoricalParameterScore | MixedParameterScore):
        return score.categories_
    raise TypeError(
        f"The score {type(score).__name__} has no posterior distribution of parameters "
        "to draw from: it does not subclass skbidag.scores.RegressionScore, "
        "skbidag.scores.CategoricalParameterScore or "
        "skbidag.scores.MixedParameterScore, as BGe, BDe and ConditionalGaussian do."
    )


@singledispatch
def _answers(score, dags, question, rng):
    """Answers of networks with drawn parameters: probabilities or means, deviations."""
    raise NotImplementedError


# Linear Gaussian networks


@_answers.register
def _(score: RegressionScore, dags, question, rng):
    draws, deviations = np.empty(len(dags)), np.empty(len(dags))
    for part in _parts(len(dags), dags.shape[1] ** 2):
        networks = _draw_regressions(score, dags[part], question.do, rng)
        draws[part], deviations[part] = normal_answer(*networks, question)
    return draws, deviations


def _draw_regressions(score, dags, do, rng):
    """Coefficients, intercepts and variances of all DAGs."""
    weights = np.zeros(dags.shape)
    intercepts, variances = np.zeros(dags.shape[:2]), np.zeros(dags.shape[:2])
    for node, parents, which in _members(_samples(dags)):
        if node in do:
            intercepts[:, node] = do[node]  # and does not vary
            continue
        posterior = score.regression_posterior(node, parents)
        drawn, variances[which, node] = posterior.draw(len(which), rng)
        intercepts[which, node] = drawn[:, 0]
        weights[which[:, None], parents, node] = drawn[:, 1:]
    return weights, intercepts, variances


def normal_answer(weights, intercepts, variances, question):
    """Expectation and deviation of the target in linear Gaussian networks.

    Parameters
    ----------
    weights : ndarray of shape (n_networks, n_features, n_features)
        ``weights[d, i, j]`` is the coefficient of i -> j.
    intercepts, variances : ndarray of shape (n_networks, n_features)
        The rest of the regressions; a variance of 0 is that of what was set.
    question : Question
        What is asked for.

    Returns
    -------
    mean, deviation : ndarray of shape (n_networks,)
        Of the target given the evidence.
    """
    asked = [question.target, *question.evidence]
    # x = (intercepts + noise) (I - B)⁻¹, of which some columns are wanted
    identity = np.eye(weights.shape[1])
    paths = np.linalg.solve(identity - weights, identity[:, asked])
    mean = np.einsum("di,dia->da", intercepts, paths)
    covariance = np.einsum("dia,di,dib->dab", paths, variances, paths, optimize=True)
    values = np.array(list(question.evidence.values()))
    gain = np.linalg.solve(covariance[:, 1:, 1:], covariance[:, 1:, :1])[:, :, 0]
    expected = mean[:, 0] + np.einsum("de,de->d", gain, values - mean[:, 1:])
    left = covariance[:, 0, 0] - np.einsum("de,de->d", gain, covariance[:, 1:, 0])
    return expected, np.sqrt(np.maximum(left, 0.0))


# Categorical networks


@_answers.register
def _(score: CategoricalParameterScore, dags, question, rng):
    counts = _Counts(score)
    known = {**question.evidence, **question.do}
    draws = np.empty((len(dags), score.n_levels_[question.target]))
    # draws whose networks are the same as far as they matter go together
    asked = [question.target, *question.evidence]
    pairs = zip(dags, _orders(dags), strict=True)
    relevant = np.array([needed(dag, order, asked) for dag, order in pairs])
    reduced = dags & relevant[:, None, :]
    keys = np.hstack([relevant, reduced.reshape(len(dags), -1)])
    _, first, group = unique_rows(keys)
    for number, place in enumerate(first):
        which = np.flatnonzero(group == number)
        families = [
            (int(node), np.flatnonzero(reduced[place][:, node]))
            for node in np.flatnonzero(relevant[place])
            if node not in question.do
        ]
        scopes = [[*parents.tolist(), node] for node, parents in families]
        order, size = elimination_order(scopes, score.n_levels_, question.target, known)
        for part in _parts(len(which), size):
            here = which[part]
            factors = []
            for scope, (node, parents) in zip(scopes, families, strict=True):
                table = counts.draw(node, parents, len(here), rng)
                table = table.reshape(len(here), *score.n_levels_[scope])
                factors.append(reduce_factor(scope, table, known))
            draws[here] = sum_out(factors, order, question.target)
    return draws, None


# Networks of mixed data


@_answers.register
def _(score: MixedParameterScore, dags, question, rng):
    pairs = zip(dags, _orders(dags), strict=True)
    results = [simulated_answer(score, *pair, question, rng) for pair in pairs]
    draws, deviations, effective = map(np.array, zip(*results, strict=True))
    if np.median(effective) < LEAST_EFFECTIVE:
        warnings.warn(
            "The evidence is so improbable that few of the simulated rows tell about "
            "it: the answer is not exact. Give less evidence.",
            UserWarning,
            stacklevel=4,
        )
    return draws, None if score.is_categorical_[question.target] else deviations


def _samples(dags):
    return DAGSamples(np.packbits(dags[None], axis=-1))
