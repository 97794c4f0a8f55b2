"""What is to be learned, in one piece: every stage of a fit is a function of it."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from skbidag._constraints import Constraints
from skbidag._interventions import undisturbed_rows
from skbidag._missing import Completion
from skbidag._outsiders import strongest_outsiders
from skbidag._workspace import Workspace
from skbidag.scores import BaseScore


@dataclass(frozen=True)
class Problem:
    """A fitted score, the data for tests of independence, and constraints.

    And the workspace, which the search's tables hand on to those of the chains.

    Attributes
    ----------
    score : BaseScore
        The fitted score.
    data : ndarray of shape (n_samples, n_features)
        The data, categorical data as integer codes.
    weights : ndarray of shape (n_samples,) or None
        How often each row counts.
    names : ndarray of str or None
        Names of the variables.
    constraints : Constraints
        Forbidden and required edges, and the background.
    targets : tuple of tuples of int
        The variables that were set in each experiment.
    cells : ndarray of bool of shape (n_samples, n_features) or None
        Which cells of the data were set.
    completion : Completion or None
        How missing cells are drawn, whose first draws score and data are of; None where
        no cell is missing.
    workspace : Workspace
        Memory of tables.
    n_jobs : int or None
        Number of threads for what is asked of all variables at once.
    """

    score: BaseScore
    data: np.ndarray
    weights: np.ndarray | None
    names: np.ndarray | None
    constraints: Constraints
    targets: tuple = ()
    cells: np.ndarray | None = None
    completion: Completion | None = None
    workspace: Workspace = field(default_factory=Workspace, repr=False)
    n_jobs: int | None = None

    @property
    def n_features(self):
        """Number of variables."""
        return self.data.shape[1]

    @cached_property
    def undisturbed(self):
        """Data and weights for what knows nothing of interventions."""
        if self.cells is None:
            return self.data, self.weights
        rows = undisturbed_rows(self.cells)
        return self.data[rows], None if self.weights is None else self.weights[rows]

    @property
    def n_main(self):
        """Number of variables that are not in the background."""
        return self.constraints.n_main

    def log_score(self, adjacency):
        """Log score of a DAG: what the variables outside of the background have."""
        children, parents = np.nonzero(adjacency.T)
        sets = np.split(parents, np.searchsorted(children, range(1, self.n_features)))
        main = np.flatnonzero(~self.constraints.background)
        return sum(self._local_score(node, sets[node]) for node in main)

    @cached_property
    def _last_scored(self):
        """Of each node, the parents that were last asked for, and its score."""
        return {}

    def _local_score(self, node, parents):
        # most nodes have the same parents in one DAG of a search as in the one before
        asked = parents.tobytes()
        known, log_score = self._last_scored.get(node, (None, None))
        if known != asked:
            log_score = self.score.local_score(node, parents)
            self._last_scored[node] = asked, log_score
        return log_score

    @cached_property
    def outsiders(self):
        """Who may be an additional parent of whom, see `strongest_outsiders`."""
        return strongest_outsiders(self.score, self.constraints.forbidden, self.n_jobs)
