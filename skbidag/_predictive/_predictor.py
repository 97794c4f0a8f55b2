"""What any score that knows the distribution of a child says about rows."""

from functools import cached_property

import numpy as np
from sklearn.utils import _safe_indexing

from skbidag._core._predictive import add_terms, log_mean_over_dags
from skbidag._predictive._families import Families, padded, row_slices
from skbidag._predictive._parameters import DrawnNetworks
from skbidag._sklearn import _num_samples


class Predictor:
    """Densities and draws of rows, averaged over DAGs.

    Parameters
    ----------
    score : PredictiveScore
        A fitted score.
    samples : DAGSamples
        The sampled DAGs.
    """

    def __init__(self, score, samples):
        self.score = score
        self.samples = samples

    @cached_property
    def families(self):
        """The distinct families of the DAGs."""
        return Families(self.samples)

    def log_density(self, X):
        """Log of the mean over DAGs of each row's predictive density."""
        return self._log_density(self._read(X))

    def _log_density(self, X):
        """The same of rows that are read."""
        families, result = self.families, np.empty(_num_samples(X))
        for rows in self._slices(len(result)):
            terms = self._log_terms(_safe_indexing(X, rows), rows.stop - rows.start)
            terms[self.samples.background[families.node]] = 0.0  # these are given
            log_mean = np.empty(terms.shape[1])
            log_mean_over_dags(
                terms, families.of_dag_by_dag, families.log_shares, log_mean
            )
            result[rows] = log_mean[: rows.stop - rows.start]
        return result

    def _slices(self, n_rows):
        """Slices of rows such that the densities of all families take little memory."""
        return row_slices(n_rows, len(self.families.node))

    def _log_terms(self, X, n_rows):
        """Log densities of all families, of shape (n_families, padded(n_rows))."""
        terms = np.zeros((len(self.families.node), padded(n_rows)))
        for family, term in enumerate(terms):
            term[:n_rows] = self._log_local(X, family)
        return terms

    def _log_weights(self, terms, of_dag=None):
        """Log shares of the DAGs plus their families' terms, row by row.

        Parameters
        ----------
        terms : ndarray of shape (n_families, n_padded)
            Log densities.
        of_dag : ndarray of int32 of shape (n_dags, n), default=None
            The families that count, -1 for others; None is all of them.

        Returns
        -------
        log_weights : ndarray of shape (n_dags, n_padded)
            The sums.
        """
        families = self.families
        of_dag = families.of_dag_by_dag if of_dag is None else of_dag
        shape = (len(of_dag), terms.shape[1])
        log_weights = np.broadcast_to(families.log_shares[:, None], shape).copy()
        add_terms(terms, of_dag, log_weights)
        return log_weights

    def sample(self, n_samples, rng):
        """Draw rows, each from a DAG drawn anew."""
        n = self.samples.n_features
        values = self._blank_rows(n_samples, n)
        dags = rng.randint(len(self.samples), size=n_samples)
        self.complete(values, np.zeros(n, dtype=bool), dags, rng)
        return self._write(values)

    @cached_property
    def _parent_sets(self):
        return self.samples.families()

    def draw_networks(self, given, dags, rng):
        """Draw parameters for DAGs, for rows that are drawn step by step.

        Parameters
        ----------
        given : ndarray of bool, shape (n_features,)
            Which columns will hold values.
        dags : ndarray of int, shape (n_networks,)
            The number of the DAG of each network.
        rng : numpy.random.RandomState
            Random numbers.

        Returns
        -------
        networks : DrawnNetworks
            For `complete`.
        """
        nodes = np.flatnonzero(~given)
        return DrawnNetworks(self.score, self._parent_sets, nodes, dags, rng)

    def complete(self, values, given, dags, rng, networks=None, which=None):
        """Draw the columns of rows that are not given.

        Parameters
        ----------
        values : ndarray of shape (n_rows, n_features)
            The rows, of categorical data as codes. They are filled in.
        given : ndarray of bool, shape (n_features,)
            Which columns hold values.
        dags : ndarray of int, shape (n_rows,)
            The number of the DAG that each row is drawn from. What is given must have
            no parents there that are not.
        rng : numpy.random.RandomState
            Random numbers.
        networks : DrawnNetworks, default=None
            Parameters of the DAGs. None integrates over them, row by row.
        which : ndarray of int, shape (n_rows,), default=None
            The network of each row.
        """
        parent_sets, membership = self._parent_sets
        drawn = membership[:, dags]

        def draw(rows, node, parents):
            here, found = values[rows], None
            if networks is not None:
                found = networks.draw(here, node, parents, which[rows], rng)
            return self._draw(here, node, parents, rng) if found is None else found

        # Rows wait in groups that share a family until the parents have values. Some
        # group always has such rows, as every DAG has a node whose parents are done.
        waiting = [
            (node, parent_sets[node][family], np.flatnonzero(drawn[node] == family))
            for node in np.flatnonzero(~given)
            for family in np.unique(drawn[node])
        ]
        done = np.repeat(given[None], len(values), axis=0)
        while waiting:
            left = []
            for node, parents, rows in waiting:
                ready = done[rows[:, None], parents].all(axis=1)
                now = rows[ready]
                if len(now):
                    values[now, node] = draw(now, node, parents)
                    done[now, node] = True
                if len(now) < len(rows):
                    left.append((node, parents, rows[~ready]))
            waiting = left

    # How rows are looked at: a kind of data may have its own ways.

    def _read(self, X):
        """Rows as `_log_local` takes them."""
        return self.score.check_rows(X)

    def _log_local(self, X, family):
        """Log densities of a family's child given its parents, row by row."""
        node, parents = self.families.node[family], self.families.parents[family]
        return self.score.log_predictive(X, node, parents)

    def _blank_rows(self, n_samples, n_features):
        """Rows to fill with draws."""
        return np.full((n_samples, n_features), np.nan)

    def _draw(self, values, node, parents, rng):
        """Draw a column of rows whose parents have values."""
        return self.score.sample_predictive(values, node, parents, rng)

    def _write(self, values):
        """Drawn rows as the user gets them."""
        return values
