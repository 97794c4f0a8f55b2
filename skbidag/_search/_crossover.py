"""Crossover: the better parts of two DAGs in one.

Among many variables two searches each find what the other misses, here and there. Nodes
with other parents in one DAG than in the other fall apart into clusters, between which
no edge of either runs; each cluster has a score of its own in both, and the DAG may
have the better one of each, as far as that makes no cycle.
"""

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from skbidag._core._graphs import topological_order
from skbidag._search._orders import LEAST_GAIN


def crossover(adjacency, other, score):
    """Put into a DAG what is better in another one.

    Parameters
    ----------
    adjacency, other : ndarray of bool, shape (n_features, n_features)
        The DAGs.
    score : BaseScore
        A fitted score.

    Returns
    -------
    adjacency : ndarray of bool, shape (n_features, n_features)
        A DAG that scores more than the first one, or None.
    """
    clusters = [
        (gain, nodes)
        for nodes in clusters_of_difference(adjacency, other)
        if (gain := gain_of(adjacency, other, nodes, score)) > LEAST_GAIN
    ]
    better = None
    for _, nodes in sorted(clusters, key=lambda cluster: -cluster[0]):
        trial = (adjacency if better is None else better).copy()
        trial[:, nodes] = other[:, nodes]
        if topological_order(trial.view(np.uint8)) is not None:
            better = trial
    return better


def best_of_both(adjacency, other, score):
    """The other DAG, or a crossover, whichever is best; None if the first one is."""
    mixed = crossover(adjacency, other, score)
    trials = [other] if mixed is None else [other, mixed]
    best = max(trials, key=lambda trial: gain_of(adjacency, trial, None, score))
    return best if gain_of(adjacency, best, None, score) > LEAST_GAIN else None


def clusters_of_difference(adjacency, other):
    """Nodes with other parents, in groups that no edge of either DAG links."""
    nodes = np.flatnonzero((adjacency != other).any(axis=0))
    links = (adjacency | other)[np.ix_(nodes, nodes)]
    n_clusters, labels = connected_components(csr_array(links), directed=False)
    return [nodes[labels == label] for label in range(n_clusters)]


def gain_of(adjacency, other, nodes, score):
    """By how much nodes, None for all, score more in the other DAG."""
    if nodes is None:
        nodes = np.flatnonzero((adjacency != other).any(axis=0))
    return sum(
        score.local_score(node, np.flatnonzero(other[:, node]))
        - score.local_score(node, np.flatnonzero(adjacency[:, node]))
        for node in nodes
    )
