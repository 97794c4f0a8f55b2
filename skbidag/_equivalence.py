"""Equivalence classes of DAGs: with a background, and with interventions."""

import numpy as np

from skbidag._core import _graphs


def to_cpdags(dags, background=None, targets=()):
    """CPDAGs of several DAGs, and the first of these that has a cycle.

    Edges between what was set in an experiment and what was not are known by their
    direction, and so are those between the background and other variables.

    Parameters
    ----------
    dags : ndarray of bool, shape (n_dags, n_nodes, n_nodes)
        The DAGs.
    background : ndarray of bool, shape (n_nodes,), default=None
        Nodes without parents in any of the equivalent DAGs.
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
    known = [list(target) for target in targets if len(target)]
    if background is not None and background.any():
        known.append(np.flatnonzero(background))
    size = n + 2 * len(known)
    larger = np.zeros((len(dags), size, size), dtype=bool)
    larger[:, :n, :n] = dags
    for k, nodes in enumerate(known):
        # two nodes of which neither is joined to the other point at them in every DAG
        # of the class: these v-structures stay, and give the directions
        larger[:, n + 2 * k, nodes] = larger[:, n + 2 * k + 1, nodes] = True
    cpdags = np.empty_like(larger)
    cyclic = _graphs.cpdags(larger.view(np.uint8), cpdags.view(np.uint8))
    return np.ascontiguousarray(cpdags[:, :n, :n]), cyclic
