"""Sign and size of what an edge does: the direct effect of a parent on its child.

An edge's effect is that of the parent while the child's other parents stay as they are,
given the DAG, at the parameters' posterior mean. It is averaged over the sampled DAGs
that have the edge. What it is depends on the kinds of the two:

=================== =================== ==============================================
parent              child               effect
=================== =================== ==============================================
continuous          continuous          the regression coefficient; of mixed data the
                                        mean over cells, by their numbers of rows
two categories      two categories      by how much the second category of the child
                                        is more probable with the second one of the
                                        parent: the mean over what other parents are
two categories      continuous          by how much the child is larger with the
                                        second one, at the means of other parents
=================== =================== ==============================================

Ordinal columns count as continuous, in standard deviations of what is behind them. For
all others the effect is NaN: no single number tells sign and size.
"""

from functools import singledispatch

import numpy as np

from skbidag.scores import (
    CategoricalParameterScore,
    CellParameterScore,
    LinearParameterScore,
)

# Entries of the largest table of probabilities that is looked at for an effect
MAX_TABLE = 1 << 20


def direct_effects(score, samples):
    """Direct effects of all edges, each averaged over the DAGs that have it.

    Parameters
    ----------
    score : BaseScore
        A fitted score.
    samples : DAGSamples
        The sampled DAGs.

    Returns
    -------
    effects : ndarray of shape (n_features, n_features)
        ``effects[i, j]`` is that of i on j; NaN where no DAG has the edge, or where
        sign and size cannot be told.
    """
    n = samples.n_features
    score = score.of_parameters
    total, weight = np.zeros((n, n)), np.zeros((n, n))
    parent_sets, membership = samples.families()
    shares = [np.bincount(of_node) for of_node in membership]
    for parent, child, effect, share in _effects(score, parent_sets, shares):
        told = np.isfinite(effect)
        where = np.asarray(parent)[told], np.asarray(child)[told]
        np.add.at(total, where, effect[told] * np.asarray(share)[told])
        np.add.at(weight, where, np.asarray(share)[told])
    with np.errstate(invalid="ignore"):
        return np.where(weight > 0, total / weight, np.nan)


@singledispatch
def _effects(score, parent_sets, shares):
    """Yield parents, children, effects and numbers of DAGs, arrays of equal length."""
    yield from ()


@_effects.register
def _(score: LinearParameterScore, parent_sets, shares):
    for size in sorted({len(parents) for sets in parent_sets for parents in sets}):
        if not size:
            continue
        # all families with this many parents at once
        family = [
            (node, parents, shares[node][number])
            for node, sets in enumerate(parent_sets)
            for number, parents in enumerate(sets)
            if len(parents) == size
        ]
        nodes, parents, share = map(np.array, zip(*family, strict=True))
        location, *_ = score.coefficient_posterior(nodes, parents)
        yield (
            parents.ravel(),
            np.repeat(nodes, size),
            location.ravel(),
            np.repeat(share, size),
        )


@_effects.register
def _(score: CategoricalParameterScore, parent_sets, shares):
    for node, parents, share in _families(parent_sets, shares):
        effect = _probability_changes(score, node, parents, score.posterior_counts)
        yield parents, np.full(len(parents), node), effect, share


@_effects.register
def _(score: CellParameterScore, parent_sets, shares):
    for node, parents, share in _families(parent_sets, shares):
        if not score.divides_[node]:
            effect = _changes_in_cells(score, node, parents)
        elif score.divides_[parents].all():
            effect = _probability_changes(score, node, parents, score.cell_counts)
        else:
            continue
        yield parents, np.full(len(parents), node), effect, share


def _families(parent_sets, shares):
    """Families that have parents, and how many DAGs have them, for each parent."""
    for node, sets in enumerate(parent_sets):
        for parents, share in zip(sets, shares[node], strict=True):
            if len(parents):
                yield node, parents, np.full(len(parents), share)


def _probability_changes(score, node, parents, counts_of):
    """Changes of a probability, NaN for what has other than two categories."""
    effect = np.full(len(parents), np.nan)
    levels = score.n_levels_[parents]
    if score.n_levels_[node] != 2 or np.prod(levels, dtype=float) > MAX_TABLE:
        return effect
    counts = counts_of(node, parents).reshape(*levels, 2)
    rows = counts.sum(axis=-1)
    probability = counts[..., 1] / rows
    for k in np.flatnonzero(levels == 2):
        change = np.diff(probability, axis=k).ravel()
        effect[k] = np.average(change, weights=rows.sum(axis=k).ravel())
    return effect


def _changes_in_cells(score, node, parents):
    """Changes of a continuous child's expectation."""
    codes, counts, posteriors = score.cell_regressions(node, parents)
    location = np.array([posterior.location for posterior in posteriors])
    categorical = score.divides_[parents]
    effect = np.full(len(parents), np.nan)
    effect[~categorical] = np.average(location[:, 1:], axis=0, weights=counts)
    # what is behind an ordinal column is a standard normal variable
    means = [
        0.0 if score.is_categorical_[number] else score.typical(number)[0]
        for number in parents[~categorical]
    ]
    expected = location @ np.append(1.0, means)
    for k, column in enumerate(np.flatnonzero(categorical)):
        if score.n_levels_[parents[column]] == 2:
            effect[column] = _change_between_cells(codes, counts, expected, k)
    return effect


def _change_between_cells(codes, counts, expected, k):
    """Mean change of an expectation between cells that differ in one category."""
    place = {tuple(cell): number for number, cell in enumerate(codes.tolist())}
    changes, weights = [], []
    for cell, number in place.items():
        other = place.get((*cell[:k], 1, *cell[k + 1 :]))
        if cell[k] == 0 and other is not None:
            changes.append(expected[other] - expected[number])
            weights.append(counts[other] + counts[number])
    return np.average(changes, weights=weights) if changes else np.nan
