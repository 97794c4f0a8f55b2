"""Densities of rows of which some cells are unobserved: of the cells that are observed.

Unobserved cells are integrated out, or summed over. So a row's density is right if they
are missing at random, and a row of which nothing is observed has a log density of 0.
"""

from abc import abstractmethod

import numpy as np

from skbidag._missing import find_holes
from skbidag._predictive._predictor import Predictor


class HoledPredictor(Predictor):
    """What can integrate out the unobserved cells of a row.

    What is in the background is given as far as it is observed. It has no parents, so
    its density is a factor that all DAGs share.
    """

    def log_density(self, X):
        """Log of the mean over DAGs of the predictive density of observed cells."""
        holed = find_holes(X).any(axis=1)
        if not holed.any():
            return super().log_density(X)
        rows, missing = self._read_holed(X)
        result = np.zeros(len(rows))
        complete = np.flatnonzero(~holed)
        if len(complete):
            result[complete] = self._log_density(rows[complete])
        # where nothing is observed but what is given, nothing is left to be said
        says = (~missing & ~self.samples.background).any(axis=1)
        some = np.flatnonzero(holed & says)
        if len(some):
            rows, missing = rows[some], missing[some]
            result[some] = self._log_observed(rows, missing)
            result[some] -= self._log_given(rows, missing)
        return result

    def predict_missing(self, X):
        """Predictions of unobserved cells; those of others come along."""
        return self.predict(X)

    @abstractmethod
    def predict(self, X):
        """Expectation, or most probable category, of each cell given the others."""

    @abstractmethod
    def _read_holed(self, X):
        """Rows as `_read` gives them but for unobserved cells, and which these are."""

    @abstractmethod
    def _log_observed(self, rows, missing):
        """Log densities of all observed cells, of rows that have unobserved ones."""

    def _log_given(self, rows, missing):
        """Log densities of what is observed of the background."""
        log_given = np.zeros(len(rows))
        for node in np.flatnonzero(self.samples.background):
            here = np.flatnonzero(~missing[:, node])
            if len(here):
                family = self.families.of_dag[node, 0]
                log_given[here] += self._log_local(rows[here], family)
        return log_given
