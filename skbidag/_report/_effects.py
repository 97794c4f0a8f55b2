"""Sign and size of the edges' direct effects, where the score knows parameters.

An edge's effect is that in the sampled DAGs that have it, on average, at the posterior
means of the parameters; no parameter is drawn. Each family, a node with its parents, is
worked out once however many DAGs share it.
"""

from functools import singledispatch

import numpy as np

from skbidag.scores import CategoricalParameterScore, LinearParameterScore

LINEAR = (
    "The effect is the regression coefficient: by how much the child grows with one "
    "unit more of the parent, the other parents held fixed. It is averaged over the "
    "sampled DAGs that have the edge."
)
CATEGORICAL = (
    "The effect is the largest change that the parent makes in the probabilities of "
    "the child's categories (total variation), the other parents as they are; of two "
    "variables with two categories each, by how much more probable the child's second "
    "category is with the parent's second. It is averaged over the sampled DAGs that "
    "have the edge."
)
# Entries of the largest table of a child's probabilities that is looked at.
MAX_TABLE = 1 << 16


def direct_effects(estimator):
    """Effects of parents on children.

    Parameters
    ----------
    estimator : estimator instance
        A fitted structure learner.

    Returns
    -------
    effects : ndarray of shape (n_features, n_features)
        ``effects[i, j]`` is that of i on j; NaN where no sampled DAG has the edge, or
        where the score does not tell.
    meaning : str
        What they are; empty if there are none.
    """
    samples = estimator.dag_samples_
    n = samples.n_features
    total, weight = np.zeros((n, n)), np.zeros((n, n))
    groups, meaning = _family_effects(estimator.score_, *_families(samples))
    for nodes, parents, counts, effects in groups:
        for column in range(parents.shape[1]):
            place = parents[:, column], nodes
            np.add.at(total, place, counts * effects[:, column])
            np.add.at(weight, place, counts)
    with np.errstate(invalid="ignore"):
        return np.where(weight > 0, total / weight, np.nan), meaning


def _families(samples):
    """Distinct families with parents: children, parents, and in how many DAGs."""
    parent_sets, membership = samples.families()
    children, parents, counts = [], [], []
    for node, (sets, which) in enumerate(zip(parent_sets, membership, strict=True)):
        for parent_set, count in zip(sets, np.bincount(which), strict=True):
            if len(parent_set):
                children.append(node)
                parents.append(parent_set)
                counts.append(float(count))
    return children, parents, counts


@singledispatch
def _family_effects(score, children, parents, counts):
    """Groups of families with equally many parents, and what their effects mean."""
    return [], ""


@_family_effects.register
def _(score: LinearParameterScore, children, parents, counts):
    groups = []
    sizes = np.array([len(family) for family in parents])
    for size in np.unique(sizes):
        chosen = np.flatnonzero(sizes == size)
        nodes = np.array([children[k] for k in chosen])
        of_size = np.array([parents[k] for k in chosen])
        location, _, _ = score.coefficient_posterior(nodes, of_size)
        groups.append((nodes, of_size, np.array([counts[k] for k in chosen]), location))
    return groups, LINEAR


@_family_effects.register
def _(score: CategoricalParameterScore, children, parents, counts):
    groups = []
    levels = score.n_levels_
    for node, family, count in zip(children, parents, counts, strict=True):
        if np.prod(levels[family], dtype=float) * levels[node] > MAX_TABLE:
            continue
        table = score.posterior_counts(node, family)
        table = table.reshape(*levels[family], levels[node])
        effects = [_change(table, axis) for axis in range(len(family))]
        groups.append(
            (np.array([node]), family[None], np.array([count]), np.array([effects]))
        )
    return groups, CATEGORICAL


def _change(table, axis):
    """What a parent changes in a child's probabilities.

    Configurations of the other parents count by how often they occur.
    """
    table = np.moveaxis(table, axis, 0)
    table = table.reshape(len(table), -1, table.shape[-1])
    share = table.sum(axis=(0, 2))
    probability = table / table.sum(axis=2, keepdims=True)
    given = np.einsum("acl,c->al", probability, share / share.sum())
    if given.shape == (2, 2):
        return given[1, 1] - given[0, 1]
    return np.abs(given[:, None] - given).sum(axis=2).max() / 2
