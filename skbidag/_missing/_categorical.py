"""Missing cells of categorical data, given a DAG with drawn probabilities.

Probabilities of each family are drawn from their Dirichlet distributions, cells then
one column after the other: each from its distribution given the others of its row (a
Gibbs sampler), which its own family and those of its children make.
"""

import numpy as np


class CategoricalCells:
    """Draws of missing cells.

    Parameters
    ----------
    score : CategoricalParameterScore
        A score of the data.
    holes : Holes
        Which cells are missing.
    """

    def __init__(self, score, holes):
        self.n_levels = np.asarray(score.n_levels_, dtype=np.int64)
        self.interventions = holes.interventions
        self.at = {
            int(node): np.flatnonzero(holes.missing[:, node]) for node in holes.columns
        }

    def draw(self, score, parents, rows, rng):
        """Draw probabilities, then the missing cells of rows, which are changed.

        Parameters
        ----------
        score : CategoricalParameterScore
            The score of the rows.
        parents : list of ndarray of int
            The parents of each variable.
        rows : ndarray of int32 of shape (n_rows, n_features)
            Completed rows of codes.
        rng : RandomState
            Random numbers.
        """
        tables, strides = {}, {}
        for node, of_node in enumerate(parents):
            members = [node, *of_node]
            if any(member in self.at for member in members):
                counts = score.posterior_counts(node, of_node)
                tables[node] = _draw_log_probabilities(counts, rng).ravel()
                levels = self.n_levels[[*of_node, node]]
                # by how much a code of each parent and of the child moves the place
                moves = np.append(levels[1:], 1)[::-1].cumprod()[::-1]
                strides[node] = dict(zip([*of_node, node], moves, strict=True))
        for node, at in self.at.items():
            codes = np.arange(self.n_levels[node])
            log_p = np.zeros((len(at), len(codes)))
            for child, moves in strides.items():
                if node not in moves:
                    continue
                place = sum(
                    rows[at, member].astype(np.int64) * stride
                    for member, stride in moves.items()
                    if member != node
                )
                place = np.reshape(place, (-1, 1)) + codes * moves[node]
                terms = tables[child][place]
                if self.interventions is not None:
                    terms = np.where(self.interventions[at, child, None], 0.0, terms)
                log_p += terms
            rows[at, node] = draw_levels(log_p, rng)


def _draw_log_probabilities(counts, rng):
    """Logs of probabilities with Dirichlet distributions, a row for each of them."""
    # a gamma variable of a small shape may be rounded to 0, its logarithm is not
    log_weight = np.log(rng.standard_gamma(counts + 1.0))
    log_weight += np.log1p(-rng.random_sample(counts.shape)) / counts
    log_weight -= log_weight.max(axis=1, keepdims=True)
    return log_weight - np.log(np.exp(log_weight).sum(axis=1, keepdims=True))


def draw_levels(log_p, rng):
    """One level for each row of log probabilities, up to a constant."""
    p = np.exp(log_p - log_p.max(axis=1, keepdims=True))
    cumulative = p.cumsum(axis=1)
    drawn = rng.random_sample((len(p), 1)) * cumulative[:, -1:]
    return (cumulative[:, :-1] <= drawn).sum(axis=1)
