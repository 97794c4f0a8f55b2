"""Equivalence classes of DAGs, with or without interventions."""

import numpy as np

from skbidag._core import _graphs


def to_cpdags(dags, targets=()):
    """CPDAGs of several DAGs, and the first of these that has a cycle.

    Parameters
    ----------
    dags : ndarray of bool, shape (n_dags, n_nodes, n_nodes)
        The DAGs.
    targets : sequence of sequences of int, default=()
        The nodes that are set in each experiment, see
        :func:`skbidag.graphs.to_cpdag`.

    Returns
    -------
    cpdags : ndarray of bool, shape (n_dags, n_nodes, n_nodes)
        Their classes.
    cyclic : int
        The first that has a cycle, where the work stops; -1 if none has.
    """
    n = dags.shape[1]
    targets = [list(target) for target in targets if len(target)]
    size = n + 2 * len(targets)
    larger = np.zeros((len(dags), size, size), dtype=bool)
    larger[:, :n, :n] = dags
    for k, target in enumerate(targets):
        # two nodes of which neither is joined to the other: they point at the target
        # in every DAG of the class
        larger[:, n + 2 * k, target] = larger[:, n + 2 * k + 1, target] = True
    cpdags = np.empty_like(larger)
    cyclic = _graphs.cpdags(larger.view(np.uint8), cpdags.view(np.uint8))
    return np.ascontiguousarray(cpdags[:, :n, :n]), cyclic
