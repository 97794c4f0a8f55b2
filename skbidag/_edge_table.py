"""The edges of sampled DAGs as a table, the most probable first."""

import numpy as np

from skbidag._data import names_of
from skbidag._edge_effects import direct_effects
from skbidag._frames import variable_labels


def edge_columns(estimator, errors, labels=None):
    """What is known of each edge that was seen.

    Parameters
    ----------
    estimator : StructureLearner
        A fitted estimator.
    errors : tuple of ndarray of shape (n_features, n_features)
        Monte Carlo standard errors of the edges' probabilities, and their R-hat.
    labels : sequence, default=None
        What the variables are called; None is by their names, or else their indices.

    Returns
    -------
    columns : dict
        "parent", "child", "probability", "error", "rhat", "effect",
        "either_direction" and "in_best_dag", arrays or lists of equal length.
    """
    probability = estimator.adjacency_probabilities_
    either = estimator.edge_probabilities("skeleton")
    best = estimator.adjacency_
    effect = direct_effects(estimator.score_, estimator.dag_samples_)
    if labels is None:
        labels = variable_labels(names_of(estimator), len(probability))
    first, second = np.nonzero((probability > 0) | best)
    seen = first, second
    order = np.lexsort((second, first, ~best[seen], -either[seen], -probability[seen]))
    seen = first, second = first[order], second[order]
    return {
        "parent": [labels[i] for i in first],
        "child": [labels[j] for j in second],
        "probability": probability[seen],
        "error": errors[0][seen],
        "rhat": errors[1][seen],
        "effect": effect[seen],
        "either_direction": either[seen],
        "in_best_dag": best[seen],
    }
