"""What a score can do beyond scoring: predict rows, and tell parameters.

Each class here lists what one use of a fitted network needs of its score. A score
takes part by subclassing it beside :class:`~skbidag.scores.BaseScore` (or one of its
families), writing its abstract methods and setting its attributes in ``_fit``:

=================================== ================================================
``score_samples``, ``sample``       :class:`PredictiveScore`
the same and ``predict``            :class:`LinearPredictiveScore`,
                                    :class:`CategoricalPredictiveScore` or
                                    :class:`MixedPredictiveScore`; the latter two
                                    also have ``predict_probabilities``
:func:`skbidag.causal_effects`      :class:`LinearParameterScore`,
                                    :class:`CategoricalParameterScore` or
                                    :class:`MixedParameterScore`
``query``                           :class:`RegressionScore`,
                                    :class:`CategoricalParameterScore` or
                                    :class:`MixedParameterScore`
``parameters``                      :class:`RegressionScore`,
                                    :class:`CategoricalParameterScore` or
                                    :class:`CellParameterScore`
``missing="augment"``               :class:`CompletableScore`
=================================== ================================================

Nobody asks a score for a method by its name: what it is, is what it can do.
"""

from abc import ABC, abstractmethod

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from skbidag._data import check_continuous, columns_of, encode_column, names_of
from skbidag._sklearn import _check_feature_names, _check_n_features
from skbidag.graphs import check_adjacency, is_dag


class PredictiveScore(ABC):
    """A score that knows the distribution of a child given its parents.

    It makes ``score_samples``, ``score`` and ``sample`` of the estimators work.
    """

    @abstractmethod
    def log_predictive(self, X, node, parents):
        """Log predictive density (or probability) of a column, row by row.

        Parameters
        ----------
        X : {array-like, dataframe} of shape (n_samples, n_features)
            New rows, of which the columns of the child and its parents are looked at.
        node : int
            The child.
        parents : ndarray of int
            Its parents.

        Returns
        -------
        log_density : ndarray of shape (n_samples,)
            Log density of each row's entry in column `node` given those in `parents`.
        """

    @abstractmethod
    def sample_predictive(self, X, node, parents, random_state=None):
        """Draw a column from its predictive distribution given its parents.

        Parameters
        ----------
        X : {array-like, dataframe} of shape (n_samples, n_features)
            Rows of which only the columns of the parents are looked at.
        node : int
            The child.
        parents : ndarray of int
            Its parents.
        random_state : int, RandomState instance or None, default=None
            Source of the draws.

        Returns
        -------
        values : ndarray of shape (n_samples,)
            One draw for each row.
        """

    def log_plug_in(self, X, node, parents):
        """Log density of a column at the parameters' posterior mean, row by row.

        Parameters, and what is returned, are those of :meth:`log_predictive`, which it
        is unless a score knows better: the predictive probability of a category is its
        posterior mean.
        """
        return self.log_predictive(X, node, parents)

    def dag_log_density(self, X, adjacency, *, plug_in=False):
        """Log density of rows under one DAG.

        Parameters
        ----------
        X : {array-like, dataframe} of shape (n_samples, n_features)
            New rows.
        adjacency : array-like of shape (n_features, n_features)
            The DAG; ``adjacency[i, j]`` is the edge i -> j.
        plug_in : bool, default=False
            Whether the parameters are their posterior mean, given the data of ``fit``,
            or are integrated out.

        Returns
        -------
        log_density : ndarray of shape (n_samples,)
            Log density, or log probability of discrete rows.

        Notes
        -----
        BiDAG name: ``scoreagainstDAG``.
        """
        check_is_fitted(self)
        n = self.n_features_in_
        dag = check_adjacency(adjacency, "adjacency", names=names_of(self))
        if dag.shape != (n, n):
            raise ValueError(f"adjacency must have shape ({n}, {n}), got {dag.shape}.")
        if not is_dag(dag):
            raise ValueError("adjacency must be a DAG, but it has a cycle.")
        X = self.check_rows(X)
        log_local = self.log_plug_in if plug_in else self.log_predictive
        return sum(
            log_local(X, node, np.flatnonzero(dag[:, node])) for node in range(n)
        )

    def check_rows(self, X):
        """Validate new rows.

        Parameters
        ----------
        X : {array-like, dataframe} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        X : {ndarray, dataframe} of shape (n_samples, n_features)
            The rows as :meth:`log_predictive` gets them.
        """
        if not hasattr(X, "shape"):
            X = np.asarray(X)
        _check_n_features(self, X, reset=False)
        return X


class LinearPredictiveScore(PredictiveScore):
    """A score that predicts by linear regressions, for continuous data.

    It makes ``score_samples``, ``score``, ``sample`` and ``predict`` work. A normal
    distribution about the regression is what rows have, unless the score writes
    another :meth:`log_predictive` and :meth:`sample_predictive`.

    Attributes
    ----------
    posterior_mean_ : ndarray of shape (n_features,)
        The means of the variables, from which regressions take deviations.
    """

    posterior_mean_: np.ndarray

    @abstractmethod
    def regression(self, node, parents):
        """Linear regression of a child on its parents.

        Parameters
        ----------
        node : int
            The child.
        parents : ndarray of int
            Its parents.

        Returns
        -------
        coefficients : ndarray of shape (n_parents,)
            Effect on the child of each parent's deviation from ``posterior_mean_``.
        residual_variance : float
            What the parents leave of the child's variance, positive.
        """

    def log_predictive(self, X, node, parents):
        """Log density of a column given its parents, row by row: a normal one.

        Parameters
        ----------
        X : {array-like, dataframe} of shape (n_samples, n_features)
            New rows.
        node : int
            The child.
        parents : sequence of int
            Its parents.

        Returns
        -------
        log_density : ndarray of shape (n_samples,)
            Log density of each row's entry in column `node`.
        """
        X, parents = self._check_columns(X, node, parents)
        coefficients, variance = self.regression(node, parents)
        deviation = X - self.posterior_mean_[np.append(parents, node)]
        residual = deviation[:, -1] - deviation[:, :-1] @ coefficients
        return -0.5 * (np.log(2 * np.pi * variance) + residual**2 / variance)

    def sample_predictive(self, X, node, parents, random_state=None):
        """Draw a column from its normal distribution given its parents.

        Parameters
        ----------
        X : {array-like, dataframe} of shape (n_samples, n_features)
            Rows of which only the columns of the parents are looked at.
        node : int
            The child.
        parents : sequence of int
            Its parents.
        random_state : int, RandomState instance or None, default=None
            Source of the draws.

        Returns
        -------
        values : ndarray of shape (n_samples,)
            One draw for each row.
        """
        rng = check_random_state(random_state)
        X, parents = self._check_columns(X, None, parents)
        coefficients, variance = self.regression(node, parents)
        deviation = X - self.posterior_mean_[parents]
        location = self.posterior_mean_[node] + deviation @ coefficients
        return location + np.sqrt(variance) * rng.standard_normal(len(X))

    def check_rows(self, X):
        """Validate new rows.

        Parameters
        ----------
        X : {array-like, dataframe} of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        X : ndarray of float64
            The rows, finite.
        """
        # an estimator may hand over an array that has lost its names
        if hasattr(X, "columns") and names_of(self) is not None:
            _check_feature_names(self, X, reset=False)
        X = check_continuous(X, self._column_name)
        _check_n_features(self, X, reset=False)
        return X

    def _check_columns(self, X, node, parents):
        """Validate the columns of the parents and, last, the child."""
        parents = np.asarray(parents, dtype=np.intp)
        columns = parents if node is None else np.append(parents, node)
        # Quick for the many calls on good data: a finite sum has finite terms.
        if isinstance(X, np.ndarray) and X.dtype == np.float64 and X.ndim == 2:
            _check_n_features(self, X, reset=False)
            with np.errstate(over="ignore", invalid="ignore"):
                if len(X) and np.isfinite(X[:, columns].sum()):
                    return X[:, columns], parents
        return self.check_rows(X)[:, columns], parents


class CategoricalPredictiveScore(PredictiveScore):
    """A score that knows the probabilities of categories.

    It makes ``score_samples``, ``score``, ``sample``, ``predict`` and
    ``predict_probabilities`` work.

    Attributes
    ----------
    categories_ : list of ndarray
        The levels of each column; codes are places among them.
    n_levels_ : ndarray of int of shape (n_features,)
        How many there are.
    """

    categories_: list[np.ndarray]
    n_levels_: np.ndarray

    @abstractmethod
    def log_predictive_codes(self, codes, node, parents):
        """Log predictive probability of a column, of data already coded.

        Parameters
        ----------
        codes : ndarray of int32 of shape (n_samples, n_features)
            New rows as :meth:`encode` gives them; -1 is a level never seen.
        node : int
            The child.
        parents : ndarray of int
            Its parents.

        Returns
        -------
        log_probability : ndarray of shape (n_samples,)
            Log probability of the value of `node` given the values of `parents`. Those
            of all levels of the child have probabilities that add up to one.
        """

    def log_predictive(self, X, node, parents):
        """Log predictive probability of a column, row by row.

        Parameters
        ----------
        X : {array-like, dataframe} of shape (n_samples, n_features)
            New rows, without missing cells.
        node : int
            The child.
        parents : sequence of int
            Its parents.

        Returns
        -------
        log_probability : ndarray of shape (n_samples,)
            Log probability of the value of `node` given the values of `parents`.
        """
        return self.log_predictive_codes(self.encode(X), node, parents)

    def sample_predictive(self, X, node, parents, random_state=None):
        """Draw a column from its predictive distribution given its parents.

        Parameters
        ----------
        X : {array-like, dataframe} of shape (n_samples, n_features)
            Rows of which only the columns of the parents are looked at.
        node : int
            The child.
        parents : sequence of int
            Its parents.
        random_state : int, RandomState instance or None, default=None
            Source of the draws.

        Returns
        -------
        values : ndarray of shape (n_samples,)
            One of the child's categories for each row.
        """
        rng = check_random_state(random_state)
        codes = self.sample_predictive_codes(self.encode(X), node, parents, rng)
        return self.categories_[node][codes]

    def sample_predictive_codes(self, codes, node, parents, rng):
        """Do as :meth:`sample_predictive`, of rows already coded.

        Parameters
        ----------
        codes : ndarray of int32 of shape (n_samples, n_features)
            Rows of which only the columns of the parents are looked at.
        node : int
            The child.
        parents : ndarray of int
            Its parents.
        rng : RandomState
            Source of the draws.

        Returns
        -------
        codes : ndarray of int of shape (n_samples,)
            One draw for each row.
        """
        levels = self.n_levels_[node]
        completed = np.tile(codes, (levels, 1))
        completed[:, node] = np.repeat(np.arange(levels), len(codes))
        log_p = self.log_predictive_codes(completed, node, parents)
        cumulative = np.exp(log_p).reshape(levels, -1).cumsum(axis=0)
        drawn = rng.random_sample(len(codes)) * cumulative[-1]
        return (cumulative[:-1] <= drawn).sum(0)

    def encode(self, X, missing="error"):
        """Code new data by the levels seen in fit.

        Parameters
        ----------
        X : {array-like, dataframe} of shape (n_samples, n_features)
            The data.
        missing : {"error", "code"}, default="error"
            Whether a missing cell (NaN, None) is an error or is coded -2.

        Returns
        -------
        codes : ndarray of int32 of shape (n_samples, n_features)
            The codes; -1 for a value that is not a level of its column.
        """
        check_is_fitted(self)
        columns, _ = columns_of(X)
        if len(columns) != self.n_features_in_:
            raise ValueError(
                f"X has {len(columns)} features, but {type(self).__name__} is "
                f"expecting {self.n_features_in_} features as input."
            )
        names = map(self._column_name, range(len(columns)))
        return np.column_stack(
            [
                encode_column(values, levels, name, "code", missing)
                for values, levels, name in zip(
                    columns, self.categories_, names, strict=True
                )
            ]
        )


class MixedPredictiveScore(PredictiveScore):
    """A score that knows the distributions of numbers and of categories.

    It makes ``score_samples``, ``score``, ``sample``, ``predict`` and
    ``predict_probabilities`` (of categorical columns) work on mixed data.

    Attributes
    ----------
    is_categorical_ : ndarray of bool of shape (n_features,)
        Which columns are categorical.
    categories_ : list of (ndarray or None)
        The levels of each column, None for a continuous one.
    n_levels_ : ndarray of int of shape (n_features,)
        How many there are, 0 for a continuous column.
    """

    is_categorical_: np.ndarray
    categories_: list
    n_levels_: np.ndarray

    @abstractmethod
    def encode(self, X, missing="error"):
        """New data as numbers: codes of categories, and the other values as they are.

        Parameters
        ----------
        X : {array-like, dataframe} of shape (n_samples, n_features)
            The data.
        missing : {"error", "code"}, default="error"
            Whether a missing cell (NaN, None) is an error or becomes NaN.

        Returns
        -------
        rows : ndarray of float64 of shape (n_samples, n_features)
            The numbers; -1 for a value that is not a level of its column.
        """

    @abstractmethod
    def log_predictive_rows(self, rows, node, parents):
        """Log predictive density or probability of a column, of encoded rows.

        Parameters
        ----------
        rows : ndarray of float64 of shape (n_samples, n_features)
            New rows as :meth:`encode` gives them.
        node : int
            The child.
        parents : ndarray of int
            Its parents.

        Returns
        -------
        log_density : ndarray of shape (n_samples,)
            Of the value of `node` given those of `parents`.
        """

    def log_predictive_of_values(self, rows, node, parents, varied, values):
        """The same where one column, of the child or of a parent, has many values.

        Parameters
        ----------
        rows : ndarray of float64 of shape (n_samples, n_features)
            New rows, whose entries in column `varied` do not matter.
        node : int
            The child.
        parents : ndarray of int
            Its parents.
        varied : int
            The column, `node` or one of `parents`.
        values : ndarray of float64 of shape (n_values, n_samples)
            Its values.

        Returns
        -------
        log_density : ndarray of shape (n_values, n_samples)
            Of the value of `node` given those of `parents`.
        """
        completed = np.tile(rows, (len(values), 1))
        completed[:, varied] = values.reshape(-1)
        log_density = self.log_predictive_rows(completed, node, parents)
        return log_density.reshape(values.shape)

    @abstractmethod
    def sample_predictive_rows(self, rows, node, parents, rng):
        """Draw a column from its predictive distribution, of encoded rows.

        Parameters
        ----------
        rows : ndarray of float64 of shape (n_samples, n_features)
            Rows of which only the columns of the parents are looked at.
        node : int
            The child.
        parents : ndarray of int
            Its parents.
        rng : RandomState
            Source of the draws.

        Returns
        -------
        values : ndarray of float64 of shape (n_samples,)
            One draw for each row; codes of a categorical child.
        """

    def log_predictive(self, X, node, parents):
        """Log predictive density or probability of a column, row by row.

        Parameters
        ----------
        X : {array-like, dataframe} of shape (n_samples, n_features)
            New rows, without missing cells.
        node : int
            The child.
        parents : sequence of int
            Its parents.

        Returns
        -------
        log_density : ndarray of shape (n_samples,)
            Of the value of `node` given those of `parents`.
        """
        return self.log_predictive_rows(self.encode(X), node, parents)

    def sample_predictive(self, X, node, parents, random_state=None):
        """Draw a column from its predictive distribution given its parents.

        Parameters
        ----------
        X : {array-like, dataframe} of shape (n_samples, n_features)
            Rows of which only the columns of the parents are looked at.
        node : int
            The child.
        parents : sequence of int
            Its parents.
        random_state : int, RandomState instance or None, default=None
            Source of the draws.

        Returns
        -------
        values : ndarray of shape (n_samples,)
            A number or one of the child's categories for each row.
        """
        rng = check_random_state(random_state)
        values = self.sample_predictive_rows(self.encode(X), node, parents, rng)
        return self.decode(node, values)

    @abstractmethod
    def typical(self, node):
        """Where the values of a column are, whatever the others are.

        Parameters
        ----------
        node : int
            The column.

        Returns
        -------
        center, spread : float
            Mean and standard deviation, or the most frequent code and 0.
        """

    def decode(self, node, values):
        """Values of a column as the user has them: the categories of codes.

        Parameters
        ----------
        node : int
            The column.
        values : ndarray of shape (n_samples,)
            Values as :meth:`encode` gives them.

        Returns
        -------
        values : ndarray of shape (n_samples,)
            Labels, or the numbers as they are.
        """
        if self.categories_[node] is None:
            return values
        return self.categories_[node][values.astype(np.intp)]


class EvidenceScore(ABC):
    """A score whose Bayes factors take the place of PC's tests, as of mixed data."""

    @abstractmethod
    def log_bayes_factors(self, node, parents, others):
        """Log Bayes factors of further parents, without the prior of edges.

        Parameters
        ----------
        node : int
            The child.
        parents : sequence of int
            Its parents.
        others : sequence of int
            The further parents, one at a time.

        Returns
        -------
        log_factors : ndarray of shape (n_others,)
            Each positive where the data are for the edge.
        """

    def walks_over(self, rows, weights):
        """What gives Bayes factors of parts of other rows, with the score's prior.

        Parameters
        ----------
        rows : ndarray of float64 of shape (n_samples, n_features)
            Encoded rows.
        weights : ndarray of float64 of shape (n_samples,)
            How often each counts, positive.

        Returns
        -------
        walks : MixedWalks or None
            None where a score has no other factors than those of its own data.
        """
        return None


class CorrelationScore(ABC):
    """A score that has read all that PC's test of partial correlations asks for."""

    @abstractmethod
    def correlations(self):
        """Correlations of the columns, and the number of rows.

        Returns
        -------
        correlation : ndarray of shape (n_features, n_features)
            Symmetric; those of a constant column are 0.
        n_samples : float
            The sum of the rows' weights.
        """


class LinearParameterScore(ABC):
    """A score with a posterior distribution of regression coefficients.

    It makes :func:`skbidag.causal_effects` work on continuous data.
    """

    @abstractmethod
    def coefficient_posterior(self, nodes, parents):
        """Posterior of regression coefficients, of several families at once.

        They have a multivariate t distribution: with z a vector of standard normal
        variables and c an independent chi-square variable, the coefficients are
        ``location + z @ root / sqrt(c)``.

        Parameters
        ----------
        nodes : ndarray of int of shape (n_families,)
            The children.
        parents : ndarray of int of shape (n_families, n_parents)
            Their parents, equally many for each.

        Returns
        -------
        location : ndarray of shape (n_families, n_parents)
            The mean.
        root : ndarray of shape (n_families, n_parents, n_parents)
            See above.
        df : float or ndarray of shape (n_families,)
            The degrees of freedom of c.
        """


class RegressionScore(ABC):
    """A score with a posterior distribution of whole regressions, noise and all.

    It makes ``parameters`` and ``query`` work on continuous data.
    """

    @abstractmethod
    def regression_posterior(self, node, parents):
        """Posterior distribution of a child's regression on its parents.

        Parameters
        ----------
        node : int
            The child.
        parents : ndarray of int
            Its parents.

        Returns
        -------
        posterior : RegressionPosterior
            The distribution of the intercept, the coefficients and the variance of the
            noise.
        """


class CategoricalParameterScore(ABC):
    """A score with posterior Dirichlet distributions of probabilities.

    It makes :func:`skbidag.causal_effects` work on categorical data.

    Attributes
    ----------
    categories_ : list of ndarray
        The levels of each column.
    n_levels_ : ndarray of int of shape (n_features,)
        How many there are.
    """

    categories_: list[np.ndarray]
    n_levels_: np.ndarray

    @abstractmethod
    def posterior_counts(self, node, parents):
        """Parameters of the posterior Dirichlet distributions of a child.

        Parameters
        ----------
        node : int
            The child.
        parents : ndarray of int
            Its parents.

        Returns
        -------
        counts : ndarray of shape (n_configurations, n_levels)
            Positive: a row for each configuration of the parents, of which the last
            parent's level changes fastest, and a column for each level of the child.
        """


class CompletableScore(ABC):
    """A score whose data may have missing cells, which are drawn again and again.

    It makes ``missing="augment"`` work. Rows are encoded: numbers, and codes of
    categories. What completes them is drawn with the parameters of a DAG: a
    :class:`LinearCompletableScore` draws regressions, others are a
    :class:`CategoricalParameterScore` or a :class:`MixedParameterScore` beside.
    """

    #: Whether `with_rows` can add rows to those of another score.
    adds_rows = True

    @abstractmethod
    def with_rows(self, rows, weights, which=None, beside=None):
        """The same score of other rows: levels, prior and penalty stay.

        Parameters
        ----------
        rows : ndarray of shape (n_rows, n_features)
            Encoded rows without missing cells.
        weights : ndarray of shape (n_rows,)
            How often each of them counts.
        which : ndarray of int of shape (n_rows,), default=None
            The rows of ``fit`` that they complete; None if these in turn.
        beside : CompletableScore, default=None
            A score, made in the same way, of further rows that count as well.

        Returns
        -------
        score : BaseScore
            A fitted score.
        """

    @abstractmethod
    def with_prior_of(self, rows, weights):
        """The score of other rows, from which the prior is taken as in fit.

        Parameters
        ----------
        rows : ndarray of shape (n_rows, n_features)
            Encoded rows without missing cells, those of ``fit`` in turn.
        weights : ndarray of shape (n_rows,)
            How often each of them counts.

        Returns
        -------
        score : BaseScore
            A fitted score, with the same penalty.
        """

    def renewed(self, rows, weights):
        """The score of other rows, from which prior and penalty are taken as in fit.

        Parameters
        ----------
        rows : ndarray of shape (n_rows, n_features)
            Encoded rows without missing cells, those of ``fit`` in turn.
        weights : ndarray of shape (n_rows,)
            How often each of them counts.

        Returns
        -------
        score : BaseScore
            A fitted score.
        """
        score = self.with_prior_of(rows, weights)
        score.log_prior_odds_ = self.log_prior_odds_ + np.log(self.edge_penalty_)
        score._take_penalty()
        return score


class LinearCompletableScore(CompletableScore):
    """A score of continuous data that may have missing cells."""

    @abstractmethod
    def draw_regression(self, node, parents, rng):
        """Draw the regression of a child on its parents from its posterior.

        Parameters
        ----------
        node : int
            The child.
        parents : ndarray of int
            Its parents.
        rng : Generator
            Source of the draws.

        Returns
        -------
        constant : float
            What the child is where its parents are zero.
        coefficients : ndarray of shape (n_parents,)
            Effects of the parents.
        variance : float
            What the parents leave of the child's variance.
        """


class MixedParameterScore(ABC):
    """A score whose parameters can be drawn from their posterior distribution.

    It makes :func:`skbidag.causal_effects` work on mixed data.

    Attributes
    ----------
    is_categorical_ : ndarray of bool of shape (n_features,)
        Which columns are categorical.
    categories_ : list of (ndarray or None)
        The levels of each column, None for a continuous one.
    n_levels_ : ndarray of int of shape (n_features,)
        How many there are, 0 for a continuous column.
    """

    is_categorical_: np.ndarray
    categories_: list
    n_levels_: np.ndarray

    @abstractmethod
    def draw_family(self, node, parents, rng):
        """Draw the parameters of a child given its parents.

        Parameters
        ----------
        node : int
            The child.
        parents : ndarray of int
            Its parents.
        rng : RandomState
            Source of the draws.

        Returns
        -------
        expect : callable
            Of rows, an array of shape (n_rows, n_features) with codes of categories: it
            gives the child's expectation in each, or the probabilities of its levels,
            an array of shape (n_rows, n_levels).
        deviation : callable or None
            Of rows, too: a continuous child's standard deviation in each.
        """

    @abstractmethod
    def typical(self, node):
        """Where the values of a column are, whatever the others are.

        Parameters
        ----------
        node : int
            The column.

        Returns
        -------
        center, spread : float
            Mean and standard deviation, or the most frequent code and 0.
        """


class CellParameterScore(ABC):
    """A score whose parameters are regressions and probabilities in cells.

    The categorical ones among a child's parents divide the rows into cells. It makes
    ``parameters`` work on mixed data.

    Attributes
    ----------
    is_categorical_ : ndarray of bool of shape (n_features,)
        Which columns are categorical.
    divides_ : ndarray of bool of shape (n_features,)
        Which of them divide the rows into cells; ordinal ones do not, they count as
        numbers that are not seen.
    categories_ : list of (ndarray or None)
        The levels of each column, None for a continuous one.
    n_levels_ : ndarray of int of shape (n_features,)
        How many there are, 0 for a continuous column.
    """

    is_categorical_: np.ndarray
    divides_: np.ndarray
    categories_: list
    n_levels_: np.ndarray

    @abstractmethod
    def cell_regressions(self, node, parents):
        """Posterior distributions of a continuous child's regressions, cell by cell.

        Parameters
        ----------
        node : int
            The child.
        parents : ndarray of int
            Its parents.

        Returns
        -------
        codes : ndarray of int of shape (n_cells, n_dividing_parents)
            The levels of the parents that divide, in each cell that has rows.
        counts : ndarray of shape (n_cells,)
            How many rows it has.
        posteriors : list of RegressionPosterior
            The child's regression on the continuous parents there.
        """

    @abstractmethod
    def cell_counts(self, node, parents):
        """Parameters of the posterior Dirichlet distributions of a categorical child.

        Parameters
        ----------
        node : int
            The child.
        parents : ndarray of int
            Categorical ones of its parents.

        Returns
        -------
        counts : ndarray of shape (n_configurations, n_levels)
            As :meth:`CategoricalParameterScore.posterior_counts` has them.
        """
