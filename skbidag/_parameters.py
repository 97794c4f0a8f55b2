"""Posterior distributions of a network's parameters, family by family.

Given the DAG, parameters of different children are independent, and those of one child
have a distribution in closed form: a regression's coefficients a multivariate t
distribution, probabilities a Dirichlet distribution. Averaged over DAGs they are
mixtures of these: a coefficient is 0 where the edge is not there. A table of
probabilities belongs to its parent set, so there is one for each parent set that was
sampled, beside the probability of the set.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import singledispatch
from itertools import product
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv, chdtrc, chdtri, stdtr, stdtrit

from skbidag._data import names_of
from skbidag._frames import make_frame, names_for_others, variable_labels
from skbidag._gaussian_network import GaussianNetwork
from skbidag._mixtures import mixture_moments, mixture_quantiles
from skbidag._posterior import DAGSamples
from skbidag.datasets import DiscreteNetwork
from skbidag.graphs import check_adjacency, is_dag
from skbidag.scores import (
    CategoricalParameterScore,
    CellParameterScore,
    RegressionPosterior,
    RegressionScore,
)

# Entries of the largest table of probabilities that is told
MAX_TABLE = 1 << 20


class Term(NamedTuple):
    """One parameter: what it is, and its posterior distribution in short."""

    parameter: Any
    given: str
    probability: float
    mean: float
    sd: float
    lower: float
    upper: float


@dataclass(frozen=True, eq=False)
class Parameters:
    """Posterior distribution of a network's parameters.

    Attributes
    ----------
    families : list
        For each child with its parents, its parameters' distribution: with the
        attributes `child` and `parents` (indices) and `probability`, the share of DAGs
        in which these are the child's parents.
    names : list
        Names of the variables, or their indices.
    adjacency : ndarray of bool of shape (n_features, n_features) or None
        The DAG; None if they are averaged over the sampled ones.
    """

    families: list
    names: list
    adjacency: NDArray[np.bool_] | None
    _template: Any = field(default=None, repr=False)

    def to_frame(self, level: float = 0.95) -> Any:
        """All parameters, one to a row.

        Parameters
        ----------
        level : float, default=0.95
            Posterior probability of the intervals, between 0 and 1.

        Returns
        -------
        frame : dataframe
            With the columns

            - "child": the variable whose distribution it is a parameter of;
            - "parameter": "intercept", the name of a parent (its coefficient),
              "residual variance", or a category (its probability);
            - "given": the categories of the parents, "a=1, b=0";
            - "probability": that of the edge, or of the table's parent set; 1 for one
              DAG;
            - "mean", "sd", "lower" and "upper": posterior mean, standard deviation, and
              the ends of a central credible interval.

            In the library of the frame that ``fit`` was given, or else pandas.
        """
        if not (isinstance(level, Real) and 0 < level < 1):
            raise ValueError(f"level must be between 0 and 1, got {level!r}.")
        rows = [
            (self.names[family.child], *term)
            for family in self.families
            for term in family.terms(level, self.names)
        ]
        columns = list(zip(*rows, strict=True))
        names = ["child", *Term._fields]
        mixed = len({type(value) for value in columns[1]}) > 1
        if mixed:  # names and categories of several types
            columns[1] = [str(value) for value in columns[1]]
        return make_frame(
            {name: list(c) for name, c in zip(names, columns, strict=True)},
            self._template,
        )

    def network(self) -> DiscreteNetwork | GaussianNetwork:
        """The network with the parameters' posterior means.

        Returns
        -------
        network : DiscreteNetwork or GaussianNetwork
            The network of a DAG, of categorical or of continuous data; variables
            without names are X0, X1, ... It can be written in other programs'
            formats, see :mod:`skbidag.formats`.
        """
        if self.adjacency is None:
            raise ValueError(
                "A network has one DAG, but these parameters are averaged over the "
                "sampled ones: ask for parameters of a DAG, such as dag='best'."
            )
        names = names_for_others(self.names)
        kinds = {type(family) for family in self.families}
        if kinds == {TableFamily}:
            return _discrete_network(self, names)
        if kinds == {RegressionFamily}:
            return _gaussian_network(self, names)
        raise ValueError("The network of mixed data has no such form.")

    def __repr__(self):
        of = "averaged over DAGs"
        if self.adjacency is not None:
            of = f"n_edges={self.adjacency.sum()}"
        return f"{type(self).__name__}(n_features={len(self.names)}, {of})"


# ------------------------------------------------------------------------ families


@dataclass(frozen=True, eq=False)
class RegressionFamily:
    """A continuous child's regression on its parents."""

    child: int
    parents: NDArray[np.intp]
    probability: float
    posterior: RegressionPosterior

    def terms(self, level, names, given="") -> Iterator[Term]:
        """Intercept, coefficients and residual variance."""
        posterior = self.posterior
        labels = ["intercept", *(names[i] for i in self.parents)]
        columns = (posterior.location, posterior.deviation, *posterior.interval(level))
        for label, *numbers in zip(labels, *columns, strict=True):
            yield Term(label, given, self.probability, *map(float, numbers))
        numbers = (
            posterior.variance,
            posterior.variance_deviation,
            *posterior.variance_interval(level),
        )
        yield Term("residual variance", given, self.probability, *map(float, numbers))


@dataclass(frozen=True, eq=False)
class AveragedFamily:
    """A continuous child's regressions on all its parent sets, a mixture."""

    child: int
    members: list[RegressionFamily]
    probability: float = 1.0

    @property
    def parents(self) -> NDArray[np.intp]:
        """All that are a parent in any DAG."""
        return np.unique(np.concatenate([family.parents for family in self.members]))

    def terms(self, level, names) -> Iterator[Term]:
        """Intercept, coefficients (0 without the edge) and residual variance."""
        yield self._mean_term("intercept", [(f, 0) for f in self.members], level)
        for parent in self.parents:
            places = [
                (family, 1 + int(np.flatnonzero(family.parents == parent)[0]))
                for family in self.members
                if parent in family.parents
            ]
            yield self._mean_term(names[parent], places, level)
        yield self._variance_term(level)

    def _mean_term(self, label, places, level):
        weight = np.array([family.probability for family, _ in places])
        posteriors = [(family.posterior, k) for family, k in places]
        location = np.array([p.location[k] for p, k in posteriors])
        deviation = np.array([p.deviation[k] for p, k in posteriors])
        scale = np.array([p.scale[k] for p, k in posteriors])
        df = np.array([p.df for p, _ in posteriors])
        mean, sd = mixture_moments(weight, location, deviation)
        probability = min(float(weight.sum()), 1.0)
        tails = np.array([(1 - level) / 2, (1 + level) / 2])
        ends = location + scale * stdtrit(df, tails[:, None])
        lower, upper = mixture_quantiles(
            lambda x: stdtr(df, (x[:, None] - location) / scale) @ weight,
            tails,
            ends,
            absent=1 - probability,
        )
        return Term(label, "", probability, mean, sd, lower, upper)

    def _variance_term(self, level):
        weight = np.array([family.probability for family in self.members])
        posteriors = [family.posterior for family in self.members]
        residual = np.array([posterior.residual for posterior in posteriors])
        df = np.array([posterior.df for posterior in posteriors])
        mean, sd = mixture_moments(
            weight,
            np.array([posterior.variance for posterior in posteriors]),
            np.array([posterior.variance_deviation for posterior in posteriors]),
        )
        tails = np.array([(1 - level) / 2, (1 + level) / 2])
        lower, upper = mixture_quantiles(
            lambda x: chdtrc(df, residual / x[:, None]) @ weight,
            tails,
            residual / chdtri(df, tails[:, None]),
        )
        return Term("residual variance", "", 1.0, mean, sd, lower, upper)


@dataclass(frozen=True, eq=False)
class TableFamily:
    """A categorical child's probabilities given its categorical parents.

    ``counts`` has a row for each configuration of the parents, of which the last
    parent's level changes fastest, and a column for each level of the child: the
    parameters of its Dirichlet distribution.
    """

    child: int
    parents: NDArray[np.intp]
    probability: float
    counts: NDArray[np.float64]
    categories: list

    @property
    def mean(self) -> NDArray[np.float64]:
        """Posterior means of the probabilities, in the shape of the counts."""
        counts = self.counts / self.counts.max(axis=1, keepdims=True)
        return counts / counts.sum(axis=1, keepdims=True)

    def terms(self, level, names) -> Iterator[Term]:
        """Probabilities of the child's categories, which have beta distributions."""
        total = self.counts.sum(axis=1, keepdims=True)
        mean = self.mean
        sd = np.sqrt(mean * (1 - mean) / (total + 1))
        tails = (1 - level) / 2, (1 + level) / 2
        lower, upper = (betaincinv(self.counts, total - self.counts, q) for q in tails)
        if len(self.categories[self.child]) == 1:
            lower = upper = mean
        known = [self.categories[i].tolist() for i in self.parents]
        for row, levels in enumerate(product(*known)):
            given = _given(self.parents, levels, names)
            for column, category in enumerate(self.categories[self.child].tolist()):
                numbers = (float(x[row, column]) for x in (mean, sd, lower, upper))
                yield Term(category, given, self.probability, *numbers)


@dataclass(frozen=True, eq=False)
class CellFamily:
    """A child of mixed data: regressions, or probabilities, in cells of categories.

    ``parts`` are families with the terms of each cell, and the categories that make it:
    of which variables they are, and which.
    """

    child: int
    parents: NDArray[np.intp]
    probability: float
    parts: list

    def terms(self, level, names) -> Iterator[Term]:
        """Those of the parts."""
        for part, *cell in self.parts:
            if isinstance(part, TableFamily):
                yield from part.terms(level, names)
                continue
            terms = part.terms(level, names, _given(*cell, names))
            if part.child == self.child:
                yield from terms
            else:
                mean = next(terms)  # the intercept, as nothing else is in there
                yield mean._replace(parameter=f"mean of {names[part.child]}")


def _given(variables, levels, names):
    """Categories of variables in words."""
    pairs = zip(variables, levels, strict=True)
    return ", ".join(f"{names[i]}={value}" for i, value in pairs)


# ---------------------------------------------------------- by the type of the score


def parameters_of(estimator, dag: ArrayLike | str | None = None) -> Parameters:
    """Posterior of the parameters, given a DAG or averaged over sampled ones.

    Parameters
    ----------
    estimator : StructureLearner
        A fitted estimator.
    dag : array-like of shape (n_features, n_features), "best" or None, default=None
        The DAG, the best one, or None to average.

    Returns
    -------
    parameters : Parameters
        The distributions.
    """
    n, names = estimator.n_features_in_, names_of(estimator)
    samples, adjacency = estimator.dag_samples_, None
    if dag is not None:
        adjacency = resolve_dag(estimator, dag)
        samples = DAGSamples(np.packbits(adjacency[None, None], axis=-1))
    parent_sets, membership = samples.families()
    families = []
    for node, sets in enumerate(parent_sets):
        share = np.bincount(membership[node]) / len(samples)
        order = np.argsort(-share, kind="stable")
        families += _families_of(
            estimator.score_, node, [sets[k] for k in order], share[order]
        )
    return Parameters(
        families,
        variable_labels(names, n),
        adjacency,
        getattr(estimator, "_template", None),
    )


def resolve_dag(estimator, dag) -> NDArray[np.bool_]:
    """The DAG that is meant: an adjacency matrix, or "best"."""
    if isinstance(dag, str):
        if dag != "best":
            raise ValueError(f"dag must be 'best' or a matrix, got {dag!r}.")
        return estimator.adjacency_
    n = estimator.n_features_in_
    adjacency = check_adjacency(dag, "dag", names=names_of(estimator))
    if adjacency.shape != (n, n):
        raise ValueError(f"dag must have shape ({n}, {n}), got {adjacency.shape}.")
    if not is_dag(adjacency):
        raise ValueError("dag must be a DAG, but it has a cycle.")
    return adjacency


@singledispatch
def _families_of(score, node, parent_sets, shares):
    """Families of a child with its parent sets, the most probable first."""
    raise TypeError(
        f"The score {type(score).__name__} has no posterior distribution of "
        "parameters: it does not subclass skbidag.scores.RegressionScore, "
        "skbidag.scores.CategoricalParameterScore or "
        "skbidag.scores.CellParameterScore, as BGe, BDe and ConditionalGaussian do."
    )


@_families_of.register
def _(score: RegressionScore, node, parent_sets, shares):
    members = [
        RegressionFamily(
            node, parents, float(share), score.regression_posterior(node, parents)
        )
        for parents, share in zip(parent_sets, shares, strict=True)
    ]
    return members if len(members) == 1 else [AveragedFamily(node, members)]


@_families_of.register
def _(score: CategoricalParameterScore, node, parent_sets, shares):
    return [
        _table(score, node, parents, float(share), score.posterior_counts)
        for parents, share in zip(parent_sets, shares, strict=True)
    ]


@_families_of.register
def _(score: CellParameterScore, node, parent_sets, shares):
    return [
        CellFamily(node, parents, float(share), [*_cells(score, node, parents, share)])
        for parents, share in zip(parent_sets, shares, strict=True)
    ]


def _table(score, node, parents, share, counts_of):
    size = np.prod(score.n_levels_[[*parents, node]], dtype=float)
    if size > MAX_TABLE:
        raise ValueError(
            f"Column {score._column_name(node)} has {len(parents)} parents, which "
            f"takes a table of {size:.0f} probabilities; more than {MAX_TABLE} are not "
            "told. Fit with smaller max_parents."
        )
    return TableFamily(
        node, parents, share, counts_of(node, parents), score.categories_
    )


def _cells(score, node, parents, share):
    """Families with the terms of each cell, and what makes it."""
    share, categorical = float(share), score.divides_[parents]
    dividers, numbers = parents[categorical], parents[~categorical]
    if not score.divides_[node]:
        yield from _regressions(score, node, parents, dividers, share)
        return
    yield _table(score, node, dividers, share, score.cell_counts), (), ()
    # Bayes' rule makes probabilities of how the numbers are in each category.
    cells = np.sort(np.append(dividers, node))
    for number in numbers:
        yield from _regressions(score, number, cells, cells, share)


def _regressions(score, node, parents, dividers, share):
    codes, _, posteriors = score.cell_regressions(node, parents)
    numbers = parents[~score.divides_[parents]]
    for cell, posterior in zip(codes, posteriors, strict=True):
        levels = [
            score.categories_[i][code] for i, code in zip(dividers, cell, strict=True)
        ]
        yield RegressionFamily(node, numbers, share, posterior), dividers, levels


# ------------------------------------------------------------------------ networks


def _discrete_network(parameters, names):
    levels, parents, tables = [], [], []
    for family in parameters.families:
        sizes = [len(family.categories[i]) for i in family.parents]
        # there, the first parent's level changes fastest from column to column
        cube = family.mean.reshape(*sizes, -1)
        tables.append(np.transpose(cube).reshape(cube.shape[-1], -1))
        levels.append([str(value) for value in family.categories[family.child]])
        parents.append(family.parents)
    return DiscreteNetwork(names, levels, parents, tables)


def _gaussian_network(parameters, names):
    n = len(names)
    coefficients = np.zeros((n, n))
    for family in parameters.families:
        coefficients[family.parents, family.child] = family.posterior.location[1:]
    return GaussianNetwork(
        names,
        np.array([family.posterior.location[0] for family in parameters.families]),
        coefficients,
        np.array([family.posterior.variance for family in parameters.families]),
        parameters.adjacency,
    )
