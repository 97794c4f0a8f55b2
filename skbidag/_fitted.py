"""What a fitted structure learner says: about edges, and about rows of data."""

from collections.abc import Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from skbidag import _predictive, graphs
from skbidag._data import (
    Rows,
    Seed,
    check_weights,
    empty_like,
    names_of,
    resolve_index,
)
from skbidag._edge_table import edge_columns
from skbidag._frames import labelled_matrix, make_frame
from skbidag._interventions import resolve_interventions
from skbidag._posterior import graph_counts
from skbidag._sklearn import _check_feature_names, _check_n_features, _num_samples
from skbidag.diagnostics import edge_diagnostics
from skbidag.graphs import Kind

if TYPE_CHECKING:
    import networkx


class ParameterAndMethod:
    """A method with the name of a parameter.

    scikit-learn reads and writes parameters as attributes and calls methods by the
    same names. Setting the attribute sets the parameter, which ``get_params`` gives;
    getting it gives the method.

    Parameters
    ----------
    method : callable
        The method.
    """

    def __init__(self, method):
        self.method = method
        self.__doc__ = method.__doc__

    def __set_name__(self, owner, name):
        self.name = name

    def __get__(self, instance, owner=None):
        return self.method.__get__(instance, owner)

    def __set__(self, instance, value):
        vars(instance)[self.name] = value


class EdgesMixin:
    """Edges of the sampled DAGs."""

    def edge_probabilities(self, kind: Kind = "dag", *, as_frame: bool = False) -> Any:
        """Posterior probabilities of edges.

        Parameters
        ----------
        kind : {"dag", "cpdag", "skeleton"}, default="dag"
            Edges i -> j of the DAGs; edges of their CPDAGs, where an undirected
            edge counts as both i -> j and j -> i; or adjacencies, symmetric.
        as_frame : bool, default=False
            Whether to return a pandas DataFrame, with the variables' names.

        Returns
        -------
        probabilities : {ndarray, DataFrame} of shape (n_features, n_features)
            ``probabilities[i, j]`` is that of the edge i -> j.
        """
        check_is_fitted(self)
        if kind not in ("dag", "cpdag", "skeleton"):
            raise ValueError(
                f"kind must be 'dag', 'cpdag' or 'skeleton', got {kind!r}."
            )
        probabilities = self._edge_probabilities(kind)
        if as_frame:
            return labelled_matrix(probabilities, names_of(self))
        return probabilities

    def _edge_probabilities(self, kind) -> NDArray[np.float64]:
        """Shares of the sampled DAGs, unless a learner knows better."""
        counts, _ = graph_counts(self.dag_samples_, kind)
        return counts.sum(axis=(0, 1)) / len(self.dag_samples_)

    def consensus_graph(
        self, threshold: float = 0.5, kind: Kind = "dag", *, as_frame: bool = False
    ) -> Any:
        """Edges whose posterior probability exceeds a threshold.

        Parameters
        ----------
        threshold : float, default=0.5
            The threshold.
        kind : {"dag", "cpdag", "skeleton"}, default="dag"
            Which edges, see :meth:`edge_probabilities`.
        as_frame : bool, default=False
            Whether to return a pandas DataFrame, with the variables' names.

        Returns
        -------
        graph : {ndarray, DataFrame} of bool, shape (n_features, n_features)
            ``graph[i, j]`` for the edge i -> j.
        """
        return self.edge_probabilities(kind, as_frame=as_frame) > threshold

    def edges_frame(self) -> Any:
        """All edges that were seen, the most probable first.

        Returns
        -------
        edges : dataframe
            In the library of the frame that ``fit`` was given, or else pandas. Its
            columns are

            - "parent" and "child": names, or indices if fit saw no names;
            - "probability": posterior probability of the edge;
            - "error": its Monte Carlo standard error, NaN if that is not known;
            - "rhat": split R-hat of the edge, NaN where nothing was sampled by chains;
            - "effect": sign and size of the direct effect of the parent on the child,
              given that the edge is there;
            - "either_direction": probability that the two are joined at all;
            - "in_best_dag": whether the best DAG has the edge.

        Notes
        -----
        The effect is the posterior mean of what the parent does to the child while the
        child's other parents stay as they are, averaged over the sampled DAGs that have
        the edge: the regression coefficient between two continuous variables, and the
        change of the second category's probability between two variables with two
        categories each; of a variable with two categories on a continuous one, the
        difference that the second one makes. For others it is NaN, see
        :meth:`parameters`. It is causal as far as the edge is.

        Examples
        --------
        >>> from skbidag import PartitionMCMCStructure
        >>> from skbidag.datasets import load_asia
        >>> asia = load_asia(as_frame=True)
        >>> model = PartitionMCMCStructure(random_state=0).fit(asia.data)
        >>> list(model.edges_frame().columns)
        ['parent', 'child', 'probability', 'error', 'rhat', 'effect', \
'either_direction', 'in_best_dag']
        """
        check_is_fitted(self)
        columns = edge_columns(self, self._edge_errors())
        return make_frame(columns, self._template)

    def _edge_errors(self):
        """Monte Carlo standard errors of edge probabilities, and R-hat."""
        diagnostics = edge_diagnostics(self)
        return diagnostics.mcse, diagnostics.rhat

    def to_networkx(self) -> "networkx.DiGraph":
        """The best DAG as a networkx graph, with what is known of its edges.

        Returns
        -------
        graph : networkx.DiGraph
            Nodes carry the variables' names; edges the attributes ``probability``,
            ``error``, ``rhat`` and ``effect`` of :meth:`edges_frame`, as far as they
            are numbers.
        """
        check_is_fitted(self)
        graph = graphs.to_networkx(self.adjacency_, names_of(self))
        columns = edge_columns(self, self._edge_errors())
        ends = zip(columns["parent"], columns["child"], strict=True)
        for row, (parent, child) in enumerate(ends):
            if not columns["in_best_dag"][row]:
                continue
            for name in ("probability", "error", "rhat", "effect"):
                value = float(columns[name][row])
                if np.isfinite(value):
                    graph.edges[parent, child][name] = value
        return graph


class RowsMixin:
    """Densities, predictions and new rows, averaged over the sampled DAGs."""

    def score_samples(
        self, X: Rows, interventions: ArrayLike | None = None
    ) -> NDArray[np.float64]:
        """Log posterior predictive density of each row.

        Averaged over the sampled DAGs, with the parameters integrated out. Variables in
        the background are given: it is the density of the others given these. NaN (or
        None) stands for an unobserved cell, which is integrated out: the density is
        that of the cells that are observed, and its logarithm 0 where none is.

        Parameters
        ----------
        X : {array-like, dataframe} of shape (n_samples, n_features)
            New rows. Those of mixed data must be complete.
        interventions : array-like, default=None
            Which cells were set, as in ``fit``: the density is that of the others.

        Returns
        -------
        log_density : ndarray of shape (n_samples,)
            Log density, or log probability of discrete rows.

        Notes
        -----
        What a row says with cells unobserved is right if they are missing at random,
        see :doc:`/missing`. Sums over categories and integrals of normal densities are
        exact. So are those of :class:`~skbidag.scores.BGe` where one cell is
        unobserved, to eight digits, and where none of the unobserved cells has an
        observed descendant in a DAG. Otherwise, unobserved cells and the families they
        are in are taken for a part of a DAG with all edges, which is right up to terms
        of the order 1 / n_samples.
        """
        X, cells = self._check_new(X, interventions)
        return _predictive.log_density(self.score_, self.dag_samples_, X, cells)

    @ParameterAndMethod
    def score(
        self,
        X: Rows,
        y: None = None,
        sample_weight: ArrayLike | None = None,
        interventions: ArrayLike | None = None,
    ) -> float:
        """Mean log posterior predictive density of the rows.

        Parameters
        ----------
        X : {array-like, dataframe} of shape (n_samples, n_features)
            New rows, also with unobserved cells, see :meth:`score_samples`.
        y : None
            Ignored, present for API consistency.
        sample_weight : array-like of shape (n_samples,), default=None
            How often each row counts.
        interventions : array-like, default=None
            Which cells were set, as in ``fit``: the density is that of the others.

        Returns
        -------
        log_density : float
            The mean of ``score_samples``.
        """
        log_densities = self.score_samples(X, interventions)
        if sample_weight is not None:
            sample_weight = check_weights(sample_weight, len(log_densities))
        return float(np.average(log_densities, weights=sample_weight))

    def predict(self, X: Rows, interventions: ArrayLike | None = None) -> Any:
        """Expectation of every cell given the row's other cells.

        In the distribution that :meth:`score_samples` is the density of, so that DAGs
        count by what they say of these cells. A NaN stands for an unobserved cell,
        which is predicted like the others but not conditioned on. What is in the
        `background` and not observed, or to be predicted, is taken as independent of
        the rest of the background.

        Parameters
        ----------
        X : {array-like, dataframe} of shape (n_samples, n_features)
            New rows.
        interventions : array-like, default=None
            Which cells were set, as in ``fit``. They tell about their effects, not
            about their causes.

        Returns
        -------
        prediction : {ndarray, dataframe} of shape (n_samples, n_features)
            Expectations, or the most probable categories of discrete data. A frame,
            with the same columns, if `X` is one.
        """
        X, cells = self._check_new(X, interventions)
        rows = _predictive.predict(self.score_, self.dag_samples_, X, cells)
        index = getattr(X, "index", None)
        return _predictive.framed(self.score_, rows, empty_like(X), index)

    def predict_probabilities(
        self,
        X: Rows,
        columns: Sequence[str | int] | None = None,
        interventions: ArrayLike | None = None,
    ) -> dict[str | int, NDArray[np.float64]]:
        """Probabilities of every category given the row's other cells.

        In the distribution that :meth:`score_samples` is the density of, for discrete
        data. A missing cell (NaN, None) is predicted like the others and summed over.

        Parameters
        ----------
        X : {array-like, dataframe} of shape (n_samples, n_features)
            New rows.
        columns : sequence of str or int, default=None
            The variables to predict. None is all of them; of mixed data, all
            categorical ones.
        interventions : array-like, default=None
            Which cells were set, as in ``fit``. They tell about their effects, not
            about their causes.

        Returns
        -------
        probabilities : dict
            For each variable, by its name if fit saw names and by its index if not,
            an array of shape (n_samples, n_levels). Its columns are the categories in
            the order of ``score_.categories_``.
        """
        X, cells = self._check_new(X, interventions)
        n, names = self.n_features_in_, names_of(self)
        if isinstance(columns, str):
            raise ValueError(f"columns must be a list of columns, got {columns!r}.")
        if columns is None:
            # all, if none is: the score says that it has no probabilities
            columns = np.flatnonzero(self.feature_kinds_ == "categorical").tolist()
            columns = columns or range(n)
        nodes = [resolve_index(column, n, names, "columns") for column in columns]
        labels = nodes if names is None else [str(names[node]) for node in nodes]
        probabilities = _predictive.predict_probabilities(
            self.score_, self.dag_samples_, X, nodes, cells
        )
        return dict(zip(labels, probabilities, strict=True))

    def sample(self, n_samples: int = 1, random_state: Seed = None) -> Any:
        """Draw new rows from the posterior predictive distribution.

        Variables in the `background` are drawn as well, independent of each other.

        Parameters
        ----------
        n_samples : int, default=1
            Number of rows.
        random_state : int, RandomState instance or None, default=None
            Seed of the draws.

        Returns
        -------
        X : {ndarray, dataframe} of shape (n_samples, n_features)
            The rows; a frame if fit was given one.
        """
        check_is_fitted(self)
        if not isinstance(n_samples, Integral) or n_samples < 1:
            raise ValueError(f"n_samples must be a positive integer, got {n_samples}.")
        rows = _predictive.sample(
            self.score_, self.dag_samples_, int(n_samples), random_state
        )
        return _predictive.framed(self.score_, rows, self._template)

    def _check_new(self, X, interventions=None):
        """Validate new rows, and which of their cells were set."""
        check_is_fitted(self)
        if not hasattr(X, "columns"):
            check_array(X, dtype=None, ensure_all_finite=False, input_name="X")
        _check_feature_names(self, X, reset=False)
        _check_n_features(self, X, reset=False)
        shape = _num_samples(X), self.n_features_in_
        return X, resolve_interventions(interventions, *shape, names_of(self))
