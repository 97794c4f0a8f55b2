"""Ordered partitions of the variables into blocks: that of a DAG, and the moves."""

import numpy as np


def partition_moves(n):
    """Weights of the moves: the expensive ones in the order of 1 in n.

    Relocations and reversals carry a chain from mode to mode; with many variables
    hardly a swap or split is accepted.
    """
    return (n, 4 * n, n, 16, 4)


def paper_partition_moves(n):
    """The four moves of partition MCMC alone, and no reversal.

    Swaps of any nodes and relocations, which rescore up to n nodes, have the shares
    that the paper gives them over orders.
    """
    return (6, n, n, 1, 0)


def partition_of_dag(adjacency, background=None):
    """The ordered partition that a DAG belongs to.

    Parameters
    ----------
    adjacency : ndarray of bool, shape (n, n)
        A DAG; ``adjacency[i, j]`` is the edge i -> j.
    background : ndarray of bool, shape (n,), default=None
        Nodes that are in no block, and do not count as parents.

    Returns
    -------
    partition : ndarray of int, shape (n,)
        Number of each node's block, from the left. The roots are in the last block,
        the nodes all of whose parents are roots in the one before, and so on. Nodes in
        the background are told as roots.

    Examples
    --------
    >>> import numpy as np
    >>> from skbidag._blocks import partition_of_dag
    >>> partition_of_dag(np.array([[0, 1, 1], [0, 0, 1], [0, 0, 0]], dtype=bool))
    array([2, 1, 0])
    """
    if background is not None:
        adjacency = adjacency & ~background[:, None]
    depth = np.full(len(adjacency), -1)
    left = np.ones(len(adjacency), dtype=bool)
    layer = 0
    while left.any():
        peeled = left & ~adjacency[left].any(axis=0)
        depth[peeled] = layer
        left &= ~peeled
        layer += 1
    return layer - 1 - depth
