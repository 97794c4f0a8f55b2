"""Search spaces: which parents each node may have."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class SearchSpace:
    """The parent sets that are permitted.

    A node's parents are any subset of its permissible parents that contains the
    required ones, plus, where the space is extended, at most one of its outsiders.

    Attributes
    ----------
    permitted : ndarray of bool, shape (n_features, n_features)
        ``permitted[i, j]``: i is a permissible parent of j.
    extra : ndarray of bool, shape (n_features, n_features)
        ``extra[i, j]``: i may be the one additional parent of j.
    required : ndarray of bool, shape (n_features, n_features)
        ``required[i, j]``: i is in every parent set of j.
    extended : bool
        Whether nodes may take a parent from outside their permissible set.
    """

    permitted: np.ndarray
    extra: np.ndarray
    required: np.ndarray
    extended: bool

    @property
    def n_features(self):
        """Number of variables."""
        return len(self.permitted)

    def candidates(self, node):
        """Permissible parents of a node, sorted."""
        return np.flatnonzero(self.permitted[:, node])

    def outsiders(self, node):
        """Variables that may be a node's one additional parent, sorted."""
        return np.flatnonzero(self.extra[:, node])

    def required_mask(self, node):
        """Return the required parents as a mask over the candidates."""
        bits = self.required[self.candidates(node), node]
        return int(bits @ (1 << np.arange(len(bits), dtype=np.int64)))
