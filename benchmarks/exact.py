"""Exact edge probabilities of small networks, to measure samplers against.

Every DAG has one layering: the roots, the nodes all of whose parents are roots and
that have at least one, and so on; a node has at least one parent in the layer before
its own. Summing over layers instead of DAGs (Kuipers & Moffa 2017) takes 4^n steps.
With w_i(P) the weight of node i's parent set P, and Z_i(A) the sum over P ⊆ A, the
DAGs on the nodes U that end with the layer T weigh

    F(U, T) = sum over T' ⊆ R of F(R, T') prod over i in T of Z_i(R) − Z_i(R∖T'),

where R = U∖T. No term is negative: nothing cancels, unlike in inclusion–exclusion
over sinks (Tian & He 2009). The probability of an edge is one minus the share that
DAGs without it have. The posterior over orders, where a DAG counts once for each of
its linear extensions, is a sum over last nodes (Koivisto & Sood 2004).
"""

import numpy as np


def local_scores(score):
    """All local scores of a fitted score.

    Parameters
    ----------
    score : BaseScore
        The score, of few variables.

    Returns
    -------
    log_scores : ndarray of shape (n, 2**n)
        ``log_scores[i, mask]`` is that of node i with the parents in `mask`, -inf
        where i itself is among them.
    """
    n = score.n_features_in_
    masks = np.arange(1 << n)
    log_scores = np.full((n, 1 << n), -np.inf)
    for node in range(n):
        others = np.delete(np.arange(n), node)
        table = np.full((1 << (n - 1), 1), -np.inf)
        score.fill_table(node, others, np.array([], dtype=np.intp), 0, table)
        without = masks[masks >> node & 1 == 0]  # in the order of the table's rows
        log_scores[node, without] = table[:, 0]
    return log_scores


def edge_probabilities(log_scores, prior="dag"):
    """Posterior probability of every edge.

    Parameters
    ----------
    log_scores : ndarray of shape (n, 2**n)
        As `local_scores` gives them.
    prior : {"dag", "order"}, default="dag"
        Whether each DAG counts once, or once for each of its linear extensions.

    Returns
    -------
    probabilities : ndarray of shape (n, n)
        ``probabilities[i, j]`` is that of the edge i -> j.
    """
    n = len(log_scores)
    total = {"dag": sum_over_layers, "order": sum_over_orders}[prior]
    # In logarithms, and wide ones: where constraints contradict the data, the best
    # parent sets of all nodes together may weigh e^10000 times what any DAG does.
    log_scores = log_scores.astype(np.longdouble)
    log_scores -= log_scores.max(axis=1, keepdims=True)
    masks = np.arange(1 << n)
    probabilities = np.zeros((n, n))
    for child in range(n):
        # variant i has no edge i -> child; variant `child` has everything
        variants = np.repeat(log_scores[:, :, None], n, axis=2)
        for parent in range(n):
            variants[child, masks >> parent & 1 == 1, parent] = -np.inf
        sums = total(subset_sums(variants))
        probabilities[:, child] = -np.expm1(sums - sums[child])
    return np.clip(probabilities, 0.0, 1.0)


def subset_sums(log_weights):
    """Log sums over the subsets of each mask; masks are the second axis."""
    n = len(log_weights)
    sums = log_weights.copy()
    for bit in range(n):
        halves = sums.reshape(n, -1, 2, 1 << bit, sums.shape[-1])
        halves[:, :, 1] = np.logaddexp(halves[:, :, 1], halves[:, :, 0])
    return sums


def subsets_of(mask):
    """All subsets of a mask, the empty one first."""
    subsets = np.zeros(1, dtype=np.intp)
    for bit in range(int(mask).bit_length()):
        if mask >> bit & 1:
            subsets = np.append(subsets, subsets | 1 << bit)
    return subsets


def log_difference(whole, part):
    """Logarithm of the difference of two sums, of which the first has the second."""
    with np.errstate(invalid="ignore", divide="ignore"):
        share = -np.expm1(part - whole)
        return np.where(share > 0, whole + np.log(share), -np.inf)


def sum_over_layers(sums):
    """Log weight of all DAGs, for each variant (last axis)."""
    n, n_masks, n_variants = sums.shape
    everything = n_masks - 1
    # F(U, T)
    ending_with = np.full((n_masks, n_masks, n_variants), -np.inf, sums.dtype)
    for below in range(everything):
        layers = subsets_of(below)  # the last layers so far, T'
        weights = (
            ending_with[below, layers]
            if below
            else np.zeros((1, n_variants), sums.dtype)
        )
        # every layer T that may come next, one node more at a time
        terms, next_layers = weights[None], np.zeros(1, dtype=np.intp)
        for node in range(n):
            if below >> node & 1:
                continue
            choices = sums[node, below]
            if below:
                choices = log_difference(choices, sums[node, below ^ layers])
            terms = np.concatenate([terms, terms + choices])
            next_layers = np.append(next_layers, next_layers | 1 << node)
        ending_with[below | next_layers[1:], next_layers[1:]] = np.logaddexp.reduce(
            terms[1:], axis=1
        )
    return np.logaddexp.reduce(ending_with[everything], axis=0)


def sum_over_orders(sums):
    """Log weight of all DAGs times their linear extensions, for each variant."""
    n, n_masks, n_variants = sums.shape
    of_first = np.full((n_masks, n_variants), -np.inf, sums.dtype)
    of_first[0] = 0.0
    for mask in range(1, n_masks):
        for node in range(n):
            if mask >> node & 1:
                rest = mask ^ 1 << node
                of_first[mask] = np.logaddexp(
                    of_first[mask], of_first[rest] + sums[node, rest]
                )
    return of_first[-1]
