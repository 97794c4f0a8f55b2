"""Causal effects averaged over sampled DAGs.

An intervention do(x) cuts the edges into x and sets it; what that does to the other
variables depends on the DAG and on its parameters. Both are uncertain: for every
sampled DAG the parameters are drawn from their exact posterior given the DAG, and each
draw of DAG and parameters gives one effect.

Two facts keep this fast. Nodes' parameters are independent given the DAG, so the draws
for a family (a node with its parents) are made at once for all DAGs that share it. And
an effect is a sum of products with one factor per node: its expectation given the DAG
is the effect at the parameters' posterior means, which needs no draws.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, singledispatch
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy.stats import qmc
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from skbidag._core import _graphs
from skbidag._core._intervene import Elimination, simulate
from skbidag._data import Seed, names_of, resolve_index, unique_rows
from skbidag._frames import make_frame
from skbidag._mixed_effects import MOST_DAGS, simulated_effects
from skbidag._predictive._parameters import draw_dirichlet
from skbidag._sklearn import HasMethods, Interval, validate_params
from skbidag.scores import (
    CategoricalParameterScore,
    LinearParameterScore,
    MixedParameterScore,
)

# Entries of all tables that summing out the ancestors of an outcome may take. From
# there on simulating is faster.
MAX_ENTRIES = 1 << 16

# What the arrays of one slice of DAGs may take, in bytes.
SLICE_BYTES = 1 << 26

# Entries of the largest table of a child's probabilities that is drawn.
MAX_TABLE = 1 << 20


@dataclass(frozen=True)
class CausalEffects:
    """Posterior distribution of causal effects.

    Attributes
    ----------
    draws : ndarray of shape (n_draws, n_interventions, n_outcomes)
        ``draws[d, i, j]`` is the effect of intervention i on outcome j in draw d.
    mean : ndarray of shape (n_interventions, n_outcomes)
        Posterior mean of the effects.
    probability_nonzero : ndarray of shape (n_interventions, n_outcomes)
        Share of sampled DAGs in which a directed path leads from the variable that is
        intervened on to the outcome.
    interventions, outcomes : list
        What the rows and columns are: names, or indices if fit saw no names; of
        categorical data, pairs of these and a category.
    """

    draws: np.ndarray
    mean: np.ndarray
    probability_nonzero: np.ndarray
    interventions: list
    outcomes: list
    _template: Any = field(default=None, repr=False, compare=False)

    def interval(self, level=0.95):
        """Central credible intervals.

        Parameters
        ----------
        level : float, default=0.95
            Posterior probability of the interval, between 0 and 1.

        Returns
        -------
        lower, upper : ndarray of shape (n_interventions, n_outcomes)
            Ends of the intervals. They are quantiles of `draws`, so an effect that is
            absent from some DAGs can have an end at exactly 0.
        """
        if not (isinstance(level, Real) and 0 < level < 1):
            raise ValueError(f"level must be between 0 and 1, got {level!r}.")
        tails = [(1 - level) / 2, (1 + level) / 2]
        lower, upper = np.quantile(self.draws, tails, axis=0)
        return lower, upper

    def to_frame(self, level: float = 0.95) -> Any:
        """The effects as a frame, one to a row.

        Parameters
        ----------
        level : float, default=0.95
            Posterior probability of the intervals.

        Returns
        -------
        frame : dataframe
            With the columns "intervention", "outcome", "mean", "lower", "upper" and
            "probability_nonzero"; a category stands behind its variable, "smoke=yes".
            In the library of the frame that ``fit`` was given, or else pandas.
        """
        lower, upper = self.interval(level)
        n_interventions, n_outcomes = self.mean.shape
        interventions, outcomes = map(_in_words, (self.interventions, self.outcomes))
        return make_frame(
            {
                "intervention": [
                    label for label in interventions for _ in range(n_outcomes)
                ],
                "outcome": outcomes * n_interventions,
                "mean": self.mean.ravel(),
                "lower": lower.ravel(),
                "upper": upper.ravel(),
                "probability_nonzero": self.probability_nonzero.ravel(),
            },
            self._template,
        )

    def __repr__(self):
        n_draws, n_interventions, n_outcomes = self.draws.shape
        return (
            f"{type(self).__name__}(n_draws={n_draws}, "
            f"n_interventions={n_interventions}, n_outcomes={n_outcomes})"
        )


@validate_params(
    {
        "estimator": [HasMethods("fit")],
        "interventions": [None, str, Integral, "array-like", dict],
        "outcomes": [None, str, Integral, "array-like"],
        "draws_per_dag": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def causal_effects(
    estimator: Any,
    interventions: str | int | Sequence | Mapping | None = None,
    outcomes: str | int | Sequence | None = None,
    *,
    draws_per_dag: int = 1,
    random_state: Seed = None,
) -> "CausalEffects":
    """Posterior of the effects of interventions, over DAGs and their parameters.

    Continuous data (BGe): the total effect of x on y, by how much the expectation of y
    grows when x is set one unit higher. Categorical data (BDe): by how much the
    probability of each category of y is higher when x is set to a category instead of
    its first one. Mixed data: both, for each kind of cause and outcome.

    Parameters
    ----------
    estimator : estimator
        A fitted structure learner.
    interventions : str, int, list or dict, default=None
        The variable to intervene on, by name or index, or several; None is all of
        them. For categorical and mixed data also ``{variable: (from, to)}``, the two
        categories or numbers to compare; otherwise each category of a variable is
        compared with the first, and effects of a number are per unit.
    outcomes : str, int or list, default=None
        The variable to look at, by name or index, or several; None is all of them.
    draws_per_dag : int, default=1
        How often parameters are drawn for each sampled DAG.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws.

    Returns
    -------
    effects : CausalEffects
        With `draws`, `mean`, `probability_nonzero` and the method `interval`. The rows
        are interventions and the columns outcomes. A categorical variable with r
        categories has r - 1 columns, one for each category but the first, and as many
        rows unless a dict says what to compare. A variable's effect on itself is that
        it is what it was set to.

    Notes
    -----
    The effects are causal if the edges are: there are no hidden common causes, and the
    directions that data cannot tell are averaged over.

    Continuous: with the regression coefficients B of a DAG, the total effects are the
    entries of (I - B)⁻¹. They are per unit of the data that the estimator was fitted
    on. Given the DAG the residual variances are scaled inverse chi-square and the
    coefficients normal; `mean` is exact given the sampled DAGs.

    Categorical: tables of probabilities are drawn from their Dirichlet distributions.
    The probabilities of an outcome under an intervention are exact: its ancestors are
    summed out one after the other. `mean` is then exact given the sampled DAGs. Only
    where that takes tables with more than 65,536 entries in a DAG are its effects
    simulated, by 1024 quasi-random rows with up to 256 observations and 32,768 with a
    hundred thousand or more: with the same random numbers for all levels of the cause,
    and the outcome given its simulated parents by its probability. That is unbiased
    and adds little to the width of intervals; `mean` is then the mean of the draws.

    Mixed: effects of a number need not be linear. What is told per unit is the change
    from half a standard deviation below the column's mean to half of one above it,
    divided by the standard deviation. Parameters of at most 400 of the sampled DAGs are
    drawn, and effects simulated by 256 quasi-random rows, with the same random numbers
    for all values of the cause; `mean` is the mean of the draws. Combinations of
    categories that the data do not have are as uncertain as the prior makes them.

    Where cells are missing, the parameters of each DAG are drawn given one of several
    completions, so that intervals are as wide as the missing cells make them. The best
    DAG alone has its parameters from the mean of the completions' statistics.

    Examples
    --------
    >>> from skbidag import PartitionMCMCStructure, causal_effects
    >>> from skbidag.datasets import make_gaussian_network
    >>> X = make_gaussian_network(300, 6, random_state=0).data
    >>> model = PartitionMCMCStructure(random_state=0).fit(X)
    >>> effects = causal_effects(model, [0, 1], random_state=0)
    >>> effects.mean.shape
    (2, 6)
    >>> lower, upper = effects.interval(0.9)
    >>> bool((lower <= upper).all())
    True
    """
    check_is_fitted(estimator)
    samples = getattr(estimator, "dag_samples_", None)
    if samples is None or not len(samples):
        raise ValueError(
            f"estimator must have sampled DAGs in dag_samples_, as a fitted "
            f"OrderMCMCStructure has; {type(estimator).__name__} has none."
        )
    n, names = samples.n_features, names_of(estimator)
    question = _Question(
        causes=_indices(interventions, n, names, "interventions"),
        targets=_indices(outcomes, n, names, "outcomes"),
        compared=interventions if isinstance(interventions, Mapping) else None,
        labels=list(range(n)) if names is None else [str(name) for name in names],
        draws_per_dag=draws_per_dag,
    )
    rng = check_random_state(random_state)
    completions = getattr(estimator, "_completions", None)
    if completions is None or len(completions) > len(samples):
        effects = _effects(estimator.score_, samples, question, rng)
    else:
        effects = _effects_given(completions, samples, question, rng)
    return replace(effects, _template=getattr(estimator, "_template", None))


def _effects_given(completions, samples, question, rng):
    """Posterior of the effects where cells are missing.

    Parameters are as uncertain as the cells leave them: those of a DAG are drawn given
    the completion that was drawn at about the same time.
    """
    # chains one after the other, as completions are
    packed = samples.packed.reshape(1, -1, *samples.packed.shape[2:])
    parts = np.array_split(packed, len(completions), axis=1)
    question = replace(question, n_parts=len(parts))
    effects = [
        _effects(score, samples.with_dags(part), question, rng)
        for score, part in zip(completions.scores(), parts, strict=True)
    ]
    shares = [part.shape[1] / len(samples) for part in parts]

    def average(what):
        of_parts = [getattr(part, what) for part in effects]
        return np.average(of_parts, axis=0, weights=shares)

    return replace(
        effects[0],
        draws=np.concatenate([part.draws for part in effects]),
        mean=average("mean"),
        probability_nonzero=average("probability_nonzero"),
    )


def _in_words(labels):
    """Variables, or variables with categories, as a frame has them."""
    if not any(isinstance(label, tuple) for label in labels):
        return labels
    return ["=".join(map(str, x)) if isinstance(x, tuple) else str(x) for x in labels]


@dataclass(frozen=True)
class _Question:
    """Which effects are asked for.

    Attributes
    ----------
    causes, targets : list of int
        The variables to intervene on, and those to look at.
    compared : mapping or None
        For each variable to intervene on, the two categories to compare.
    labels : list of str or int
        What the variables are called.
    draws_per_dag : int
        How often parameters are drawn for each DAG.
    n_parts : int
        How often it is asked, of a part of the DAGs each time.
    """

    causes: list
    targets: list
    compared: Mapping | None
    labels: list
    draws_per_dag: int
    n_parts: int = 1


def _indices(variables, n_features, names, parameter):
    """Indices of variables given by names or indices: all of them, several, or one."""
    if variables is None:
        return list(range(n_features))
    if isinstance(variables, str | Integral):
        variables = [variables]
    indices = [resolve_index(v, n_features, names, parameter) for v in variables]
    if not indices:
        raise ValueError(f"{parameter} must name at least one variable.")
    return indices


@singledispatch
def _effects(score, samples, question, rng):
    """Posterior of the effects that a question asks for, by the type of the score."""
    raise TypeError(
        f"The score {type(score).__name__} has no posterior distribution of parameters "
        "to draw from: it does not subclass skbidag.scores.LinearParameterScore, "
        "skbidag.scores.CategoricalParameterScore or "
        "skbidag.scores.MixedParameterScore, as BGe, BDe and ConditionalGaussian do."
    )


@_effects.register
def _(score: LinearParameterScore, samples, question, rng):
    if question.compared is not None:
        raise ValueError(
            "interventions must be a list of variables for continuous data: effects "
            "are per unit."
        )
    causes, targets, labels = question.causes, question.targets, question.labels
    draws, mean = _linear_effects(
        score, samples, causes, targets, question.draws_per_dag, rng
    )
    return CausalEffects(
        draws,
        mean,
        _share_of_paths(samples)[np.ix_(causes, targets)],
        [labels[i] for i in causes],
        [labels[j] for j in targets],
    )


@_effects.register
def _(score: CategoricalParameterScore, samples, question, rng):
    labels = question.labels
    settings = _settings(score, question)
    columns = [(j, k) for j in question.targets for k in range(1, score.n_levels_[j])]
    if not settings or not columns:
        raise ValueError(
            "interventions and outcomes must have a variable with two categories."
        )
    draws, mean = _categorical_effects(
        score, samples, settings, columns, question.draws_per_dag, rng
    )
    levels = [known.tolist() for known in score.categories_]
    ends = np.ix_([i for i, *_ in settings], [j for j, _ in columns])
    return CausalEffects(
        draws,
        mean,
        _share_of_paths(samples)[ends],
        [(labels[i], levels[i][to]) for i, _, to in settings],
        [(labels[j], levels[j][k]) for j, k in columns],
    )


@_effects.register
def _(score: MixedParameterScore, samples, question, rng):
    labels, levels = question.labels, score.categories_
    settings = _mixed_settings(score, question)
    columns = []
    for j in question.targets:
        codes = range(1, score.n_levels_[j]) if score.is_categorical_[j] else [None]
        columns += [(j, code) for code in codes]
    if not settings or not columns:
        raise ValueError(
            "interventions and outcomes must have a number or a variable with two "
            "categories."
        )
    most = MOST_DAGS // question.n_parts
    draws = simulated_effects(
        score, samples, settings, columns, question.draws_per_dag, rng, most
    )
    ends = np.ix_([i for i, *_ in settings], [j for j, _ in columns])

    def name(variable, code):
        if levels[variable] is None:
            return labels[variable]
        return labels[variable], levels[variable].tolist()[int(code)]

    return CausalEffects(
        draws,
        draws.mean(axis=0),
        _share_of_paths(samples)[ends],
        [name(i, to) for i, _, to, _ in settings],
        [name(j, code) for j, code in columns],
    )


def _mixed_settings(score, question):
    """What is compared: variable, reference, setting, and by what to divide."""
    compared = question.compared
    settings = []
    for k, i in enumerate(question.causes):
        if score.is_categorical_[i]:
            given = None if compared is None else list(compared.values())[k]
            one = {question.labels[i]: given} if compared is not None else None
            part = replace(question, causes=[i], compared=one)
            settings += [(*setting, 1.0) for setting in _settings(score, part)]
        elif compared is None:
            center, spread = score.typical(i)
            settings.append((i, center - spread / 2, center + spread / 2, spread))
        else:
            pair = list(compared.values())[k]
            if not (
                isinstance(pair, tuple | list)
                and len(pair) == 2
                and all(isinstance(v, Real) and np.isfinite(v) for v in pair)
            ):
                raise ValueError(
                    f"interventions must map {question.labels[i]!r} to two numbers, "
                    f"got {pair!r}."
                )
            settings.append((i, float(pair[0]), float(pair[1]), 1.0))
    return settings


def _settings(score, question):
    """What is compared: (variable, code of the reference, code of the setting)."""
    causes, compared = question.causes, question.compared
    if compared is None:
        return [(i, 0, k) for i in causes for k in range(1, score.n_levels_[i])]
    settings = []
    for i, given in zip(causes, compared.values(), strict=True):
        known = score.categories_[i].tolist()
        pair = list(given) if isinstance(given, tuple | list) else [given]
        if len(pair) != 2 or any(value not in known for value in pair):
            raise ValueError(
                f"interventions must map {question.labels[i]!r} to two of its "
                f"categories {known}, got {given!r}."
            )
        settings.append((i, known.index(pair[0]), known.index(pair[1])))
    return settings


# Paths


def _orders(dags):
    """Topological orders of several DAGs."""
    dags = np.ascontiguousarray(dags).view(np.uint8)
    return np.array([_graphs.topological_order(dag) for dag in dags], dtype=np.intp)


def _sums_over_paths(weights, orders):
    """(I - B)⁻¹ for each B of edge weights: products along paths, summed.

    In topological order I - B is triangular, so that entries without a path are
    exactly 0.
    """
    dag = np.arange(len(weights))[:, None, None]
    rows, columns = orders[:, :, None], orders[:, None, :]
    result = np.empty_like(weights)
    result[dag, rows, columns] = np.linalg.inv(
        np.eye(weights.shape[1]) - weights[dag, rows, columns]
    )
    return result


def _share_of_paths(samples):
    """Share of DAGs with a directed path from i to j, 1 from i to i."""
    counts = np.zeros((samples.n_features, samples.n_features))
    for part in _parts(len(samples), samples.n_features**2):
        dags = samples[part]
        counts += (_sums_over_paths(dags.astype(float), _orders(dags)) > 0).sum(axis=0)
    return counts / len(samples)


def _parts(n_dags, size):
    """Slices of DAGs such that `size` numbers for each take little memory."""
    step = max(1, SLICE_BYTES // (8 * max(1, size)))
    return [slice(start, start + step) for start in range(0, n_dags, step)]


def _members(samples):
    """Yield each family: node, parents, and the DAGs that have it."""
    parent_sets, membership = samples.families()
    for node, sets in enumerate(parent_sets):
        order = np.argsort(membership[node], kind="stable")
        ends = np.cumsum(np.bincount(membership[node], minlength=len(sets)))
        for parents, dags in zip(sets, np.split(order, ends[:-1]), strict=True):
            yield node, parents, dags


# Linear Gaussian networks


def _linear_effects(score, samples, causes, targets, repeats, rng):
    """Draws of the total effects, and their mean."""
    n, n_dags = samples.n_features, len(samples)
    coefficients = _draw_coefficients(score, samples, repeats, rng)
    rows, columns = np.ix_(causes, targets)
    draws = np.empty((n_dags, repeats, len(causes), len(targets)))
    mean = np.zeros(draws.shape[2:])
    for part in _parts(n_dags, n * n):
        dags = samples[part]
        orders, first = _orders(dags), part.start
        here = slice(*np.searchsorted(coefficients[0], [first, first + len(dags)]))
        dag, cell, *values = (array[here] for array in coefficients)
        for k, value in enumerate(values):
            weights = np.zeros((len(dags), n * n))
            weights[dag - first, cell] = value
            effects = _sums_over_paths(weights.reshape(-1, n, n), orders)
            effects = effects[:, rows, columns]
            if k:
                draws[part, k - 1] = effects
            else:
                mean += effects.sum(axis=0)
    return draws.reshape(-1, *mean.shape), mean / n_dags


def _draw_coefficients(score, samples, repeats, rng):
    """Coefficients of every edge of every DAG, sorted by DAG.

    Returns
    -------
    columns : list of ndarray of shape (n_coefficients,)
        The DAG, the edge's place in a flat (n, n) matrix, the coefficient's mean, and
        its draws.
    """
    n = samples.n_features
    parent_sets, membership = samples.families()
    sizes = [np.array([len(parents) for parents in sets]) for sets in parent_sets]
    size_of = np.stack([s[m] for s, m in zip(sizes, membership, strict=True)])
    columns = [np.empty((3 + repeats, 0))]
    for size in np.unique(size_of[size_of > 0]):
        # all families with this many parents, and the DAGs that have them
        chosen = [np.flatnonzero(of_node == size) for of_node in sizes]
        nodes = np.repeat(np.arange(n), [len(c) for c in chosen])
        parents = np.array(
            [parent_sets[i][f] for i in range(n) for f in chosen[i]], dtype=np.intp
        )
        location, root, df = score.coefficient_posterior(nodes, parents)
        first = np.cumsum([0, *(len(c) for c in chosen)])
        child, dag = np.nonzero(size_of == size)
        family = np.empty(len(dag), dtype=np.intp)
        for i in range(n):
            of_node = child == i
            places = np.searchsorted(chosen[i], membership[i, dag[of_node]])
            family[of_node] = first[i] + places
        part = np.empty((3 + repeats, len(dag), size))
        part[0] = dag[:, None]
        part[1] = parents[family] * n + child[:, None]
        part[2] = location[family]
        for drawn in part[3:]:
            z = rng.standard_normal((len(dag), size))
            z /= np.sqrt(rng.chisquare(np.broadcast_to(df, len(nodes))[family]))[
                :, None
            ]
            drawn[:] = part[2] + np.einsum("di,dij->dj", z, root[family])
        columns.append(part.reshape(3 + repeats, -1))
    columns = np.concatenate(columns, axis=1)
    columns = columns[:, np.argsort(columns[0], kind="stable")]
    return [*columns[:2].astype(np.intp), *columns[2:]]


# Categorical data


def _categorical_effects(score, samples, settings, columns, repeats, rng):
    """Draws of differences of probabilities, and their mean."""
    counts, networks = _Counts(score), _Networks(score, settings, columns)
    draws = np.empty((len(samples), repeats, len(settings), len(columns)))
    packed = samples.packed.reshape(-1, *samples.packed.shape[2:])
    for part in _parts(len(samples), networks.size):
        few = type(samples)(packed[None, part])
        families = list(_members(few))
        for repeat in range(repeats):
            tables = [
                counts.draw(node, parents, len(dags), rng)
                for node, parents, dags in families
            ]
            draws[part, repeat] = networks.effects(few, families, tables, rng)
    # a DAG's expectation is that of its mean parameters, however often it was drawn
    distinct, _, which = unique_rows(packed.reshape(len(packed), -1))
    distinct = distinct.reshape(1, -1, *packed.shape[1:])
    mean = np.zeros(draws.shape[2:])
    for part in _parts(distinct.shape[1], networks.size):
        few = type(samples)(distinct[:, part])
        families = list(_members(few))
        tables = [
            np.tile(counts.mean(node, parents), (len(dags), 1, 1))
            for node, parents, dags in families
        ]
        share = np.bincount(which)[part] / len(samples)
        effects = networks.effects(few, families, tables, rng)
        mean += np.tensordot(share, effects, axes=1)
    draws = draws.reshape(-1, *mean.shape)
    # errors of simulations average out over the draws
    return draws, np.where(networks.is_simulated, draws.mean(axis=0), mean)


class _Counts:
    """Dirichlet distributions of families, worked out once each."""

    def __init__(self, score):
        self.score = score
        self.known = {}

    def __call__(self, node, parents):
        key = (node, *parents)
        if key not in self.known:
            size = np.prod(self.score.n_levels_[list(key)], dtype=float)
            if size > MAX_TABLE:
                raise ValueError(
                    f"Column {self.score._column_name(node)} has {len(parents)} "
                    f"parents in a sampled DAG, which takes a table of {size:.0f} "
                    f"probabilities; more than {MAX_TABLE} are not drawn. Fit with "
                    "smaller max_parents."
                )
            self.known[key] = self.score.posterior_counts(node, parents)
        return self.known[key]

    def mean(self, node, parents):
        """Expected probabilities, of shape (1, n_configurations, n_levels)."""
        counts = self(node, parents)
        counts = counts / counts.max(axis=1, keepdims=True)  # whose sum is finite
        return (counts / counts.sum(axis=1, keepdims=True))[None]

    def draw(self, node, parents, n_draws, rng):
        """Probabilities, of shape (n_draws, n_configurations, n_levels)."""
        return draw_dirichlet(self(node, parents), n_draws, rng)


class _Networks:
    """Effects in categorical networks, given their probabilities.

    Parameters
    ----------
    score : CategoricalParameterScore
        A fitted score.
    settings : list of tuple of int
        What is compared: (variable, code of the reference, code of the setting).
    columns : list of tuple of int
        What is looked at: (variable, code).

    Attributes
    ----------
    is_simulated : ndarray of bool of shape (n_settings, n_columns)
        Which effects had to be simulated in some DAG.
    """

    def __init__(self, score, settings, columns):
        self.n_levels = np.ascontiguousarray(score.n_levels_, dtype=np.intp)
        self.first_level = np.cumsum(self.n_levels) - self.n_levels
        self.causes, self.before, self.after = np.array(settings, dtype=np.intp).T
        self.targets, self.codes = np.array(columns, dtype=np.intp).T
        self.elimination = Elimination(self.n_levels, MAX_ENTRIES)
        self.is_simulated = np.zeros((len(settings), len(columns)), dtype=bool)
        # numbers of the largest array per DAG, apart from tables
        self.size = max(len(self.n_levels) ** 2, len(settings) * len(columns))
        self.n_rows = _n_simulated(score.posterior_counts(0, np.empty(0, int)).sum())

    def effects(self, samples, families, tables, rng):
        """Effects in each DAG.

        Parameters
        ----------
        samples : DAGSamples
            The DAGs.
        families : list of tuple
            Node, parents, and the DAGs that have the family.
        tables : list of ndarray of shape (n_dags, n_configurations, n_levels)
            Its probabilities in each of these.
        rng : RandomState
            For what is simulated.

        Returns
        -------
        effects : ndarray of shape (n_dags, n_settings, n_columns)
            Exactly 0 where no path leads from the cause to the outcome.
        """
        of_dag = [[None] * samples.n_features for _ in range(len(samples))]
        for (node, parents, dags), table in zip(families, tables, strict=True):
            for dag, probabilities in zip(dags, table, strict=True):
                of_dag[dag][node] = parents, probabilities
        dags = samples[:]
        orders = _orders(dags)
        reach = _sums_over_paths(dags.astype(float), orders) > 0
        shape = (len(samples), len(self.causes), len(self.targets))
        effects = np.zeros(shape)
        for effect, network, order, paths in zip(
            effects, of_dag, orders, reach, strict=True
        ):
            self._add_effects(effect, network, order, paths, rng)
        return effects

    def _add_effects(self, effect, network, order, reach, rng):
        """Fill in the effects in one DAG."""
        parents, tables = zip(*network, strict=True)
        first_parent = np.cumsum([0, *map(len, parents)])
        parents = np.concatenate(parents)
        self.elimination.set_network(
            first_parent,
            parents,
            np.cumsum([0, *(table.size for table in tables)]),
            np.concatenate([table.ravel() for table in tables]),
        )
        for cause in np.unique(self.causes):
            rows = np.flatnonzero(self.causes == cause)
            simulated = None
            for outcome in np.unique(self.targets[reach[cause, self.targets]]):
                places = np.flatnonzero(self.targets == outcome)
                p = np.eye(self.n_levels[cause])
                if outcome != cause:
                    p = np.empty((self.n_levels[cause], self.n_levels[outcome]))
                    done = self.elimination.conditional(cause, outcome, p)
                    if not done and simulated is None:
                        simulated = self._simulate(
                            cause, first_parent, parents, tables, order, reach, rng
                        )
                    if not done:
                        self.is_simulated[np.ix_(rows, places)] = True
                        first = self.first_level[outcome]
                        p = simulated[:-1, first : first + self.n_levels[outcome]]
                change = p[self.after[rows]] - p[self.before[rows]]
                effect[np.ix_(rows, places)] = change[:, self.codes[places]]

    def _simulate(self, cause, first_parent, parents, tables, order, reach, rng):
        """Probabilities of all levels with each level of a cause, and without any.

        The rows' random numbers are points of a Sobol sequence, shifted at random,
        which makes probabilities unbiased. All levels share them, so that in a
        difference most of their error cancels.
        """
        n, n_worlds = len(self.n_levels), self.n_levels[cause]
        below = [np.cumsum(table, axis=1)[:, :-1].ravel() for table in tables]
        probability = np.empty((n_worlds + 1, self.n_levels.sum()))
        simulate(
            order,
            first_parent,
            parents,
            np.cumsum([0, *map(len, below)]),
            np.concatenate([*below, [1.0]]),
            self.n_levels,
            self.first_level,
            (self._points + rng.random_sample((n, 1))) % 1.0,
            np.full(n_worlds, cause),
            np.arange(n_worlds),
            reach.view(np.uint8),
            np.empty((n, n_worlds + 1, self.n_rows), dtype=np.intc),
            probability,
        )
        return probability

    @cached_property
    def _points(self):
        points = qmc.Sobol(len(self.n_levels), rng=np.random.default_rng(0))
        return np.ascontiguousarray(points.random(self.n_rows).T)


def _n_simulated(n_samples):
    """How many rows to simulate: a power of two, as a Sobol sequence has it.

    What is left of their error falls nearly as 1 / rows, the posterior's spread as the
    root of 1 / n_samples. These many make intervals wider by about a hundredth.
    """
    return 1 << int(np.clip(np.ceil(np.log2(64 * np.sqrt(n_samples))), 10, 15))
