"""What sampled DAGs say about rows of data: density, prediction, new samples.

All of it is about one distribution, the mixture of the sampled DAGs, each with the same
weight. A prediction is its conditional: DAGs count there by what they say of the cells
that are given. DAGs that occur more than once are merged, and a family (a node with its
parents) is worked out once however many DAGs share it: a log density of a DAG is a sum
over its families (``_families.py``).

Variables in the background are given: a density is that of the others given them. They
are roots of every DAG, so where they are observed they have no part in what DAGs count.
Where one is not, or is to be predicted or drawn, it is taken as what it is in these
DAGs: independent of the others in the background, with the score's distribution of a
variable without parents.

How that is done depends on the score's type, which is asked here and nowhere else:
``_gaussian.py`` has linear Gaussian networks, ``_categorical.py`` categorical data,
``_mixed.py`` data of both kinds, and ``_predictor.py`` what holds for any
:class:`~skbidag.scores.PredictiveScore`.
"""

from functools import singledispatch

import numpy as np
from sklearn.utils import check_random_state

from skbidag._data import to_frame
from skbidag._predictive._categorical import CategoricalPredictor
from skbidag._predictive._gaussian import (
    ConstantsPredictor,
    LinearPredictor,
    OwnRowsPredictor,
    StudentPredictor,
)
from skbidag._predictive._mixed import MixedPredictor
from skbidag._predictive._predictor import Predictor
from skbidag._predictive._surgery import by_experiment
from skbidag._sklearn import _num_samples
from skbidag.scores import (
    BGe,
    CategoricalPredictiveScore,
    LinearPredictiveScore,
    MixedPredictiveScore,
    PredictiveScore,
)
from skbidag.scores._interventional import (
    InterventionalBGe,
    InterventionalLinearScore,
)


@singledispatch
def _predictor(score, samples):
    """What a score and sampled DAGs say about rows."""
    return Predictor(score, samples)


_predictor.register(LinearPredictiveScore, LinearPredictor)
_predictor.register(BGe, StudentPredictor)
_predictor.register(InterventionalLinearScore, ConstantsPredictor)
_predictor.register(InterventionalBGe, OwnRowsPredictor)
_predictor.register(CategoricalPredictiveScore, CategoricalPredictor)
_predictor.register(MixedPredictiveScore, MixedPredictor)


def log_density(score, samples, X, cells=None):
    """Log posterior predictive density of each row, averaged over DAGs.

    Parameters
    ----------
    score : PredictiveScore
        A fitted score.
    samples : DAGSamples
        The sampled DAGs.
    X : {array-like, dataframe} of shape (n_samples, n_features)
        New rows. A missing cell (NaN, None) is unobserved and is integrated out; with
        mixed data, and scores that know no more than a density, it is an error.
    cells : ndarray of bool of shape (n_samples, n_features), default=None
        Which cells were set. Their own densities do not count.

    Returns
    -------
    log_density : ndarray of shape (n_samples,)
        Log of the mean over DAGs of the row's predictive density, given what is in the
        background, of the cells that are observed.

    Examples
    --------
    >>> import numpy as np
    >>> from skbidag._posterior import DAGSamples
    >>> from skbidag._predictive import log_density
    >>> from skbidag.scores import BGe
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> samples = DAGSamples(np.packbits(np.zeros((1, 2, 3, 3), bool), axis=-1))
    >>> log_density(BGe().fit(X), samples, [[0.0, 0.0, 0.0], [9.0, 9.0, 9.0]]).round(1)
    array([ -2.8, -93.2])
    """
    _require(score, "predictive density", PredictiveScore)
    if cells is None:
        return _predictor(score, samples).log_density(X)
    result = np.empty(_num_samples(X))
    for rows, there, dags in by_experiment(samples, X, cells):
        result[rows] = _predictor(score, dags).log_density(there)
    return result


def predict(score, samples, X, cells=None):
    """Predict every cell from the other cells of its row, averaged over DAGs.

    Parameters
    ----------
    score : LinearPredictiveScore, CategoricalPredictiveScore or MixedPredictiveScore
        A fitted score.
    samples : DAGSamples
        The sampled DAGs.
    X : {array-like, dataframe} of shape (n_samples, n_features)
        The rows. A missing cell (NaN, None) is unobserved: it is predicted as any
        other, and nothing is conditioned on it.
    cells : ndarray of bool of shape (n_samples, n_features), default=None
        Which cells were set. They tell about their effects, not about their causes,
        and their own predictions are those of variables without causes.

    Returns
    -------
    predicted : ndarray of shape (n_samples, n_features)
        Continuous data: the expectation of the variable given the row's other observed
        cells. Categorical data: the category with the largest probability by
        :func:`predict_probabilities`, the first of equals.

    Notes
    -----
    The distribution is that of :func:`log_density`: a mixture over DAGs with the
    parameters integrated out, in which DAGs count by how well they predict the row's
    other observed cells. With BGe that is exact where no other cell of the row is
    unobserved: by numerical integration to eight digits, or, where a variable has more
    than a hundred different Markov blankets, by an expansion to some millionths of a
    standard deviation. Where other cells are unobserved, they are taken as normal given
    the rest in each DAG, at the posterior mean of the parameters. That is right up to
    terms of the order 1 / n_samples: in tests, hundredths of a standard deviation with
    20 rows, thousandths with 200.

    With mixed data other unobserved cells are drawn, given the rest of the row, and
    predictions averaged over 50 draws, with no more than 50 of the DAGs.
    """
    _require(
        score,
        "predictions",
        LinearPredictiveScore,
        CategoricalPredictiveScore,
        MixedPredictiveScore,
    )
    if cells is None:
        return _predictor(score, samples).predict(X)
    result = None
    for rows, there, dags in by_experiment(samples, X, cells):
        predicted = _predictor(score, dags).predict(there)
        if result is None:
            result = np.empty((_num_samples(X), predicted.shape[1]), predicted.dtype)
        result[rows] = predicted
    return result


def predict_missing(score, samples, X):
    """Do as :func:`predict`, for missing cells alone; others get any value.

    Parameters
    ----------
    score : LinearPredictiveScore, CategoricalPredictiveScore or MixedPredictiveScore
        A fitted score.
    samples : DAGSamples
        The sampled DAGs.
    X : {array-like, dataframe} of shape (n_samples, n_features)
        The rows.

    Returns
    -------
    predicted : ndarray of shape (n_samples, n_features)
        Expectations, or categories.
    """
    _require(
        score,
        "predictions",
        LinearPredictiveScore,
        CategoricalPredictiveScore,
        MixedPredictiveScore,
    )
    return _predictor(score, samples).predict_missing(X)


def predict_probabilities(score, samples, X, nodes, cells=None):
    """Probabilities of variables' categories given the rest of each row.

    Parameters
    ----------
    score : CategoricalPredictiveScore
        A fitted score.
    samples : DAGSamples
        The sampled DAGs.
    X : {array-like, dataframe} of shape (n_samples, n_features)
        The rows. A missing cell (NaN, None) is unobserved and is summed over. To the
        prediction of a variable its own column is not looked at.
    nodes : sequence of int
        The variables.
    cells : ndarray of bool of shape (n_samples, n_features), default=None
        Which cells were set, as in :func:`predict`.

    Returns
    -------
    probabilities : list of ndarray of shape (n_samples, n_levels)
        For each variable the probabilities of ``score.categories_[node]``.

    Notes
    -----
    The distribution is that of :func:`log_density`: a mixture over DAGs, in which they
    count by the probability they give to the row's other observed cells.

    The sum over unobserved cells is exact. Those that are linked in the DAG at hand,
    directly or through others of them, are summed over together, where the parents of
    one child are linked as well. Few are summed over by enumerating their joint
    values, more by eliminating one variable after the other, which is slower. An error
    says so if that takes tables too large for memory.
    """
    _require(
        score,
        "category probabilities",
        CategoricalPredictiveScore,
        MixedPredictiveScore,
    )
    if cells is None:
        return _predictor(score, samples).predict_probabilities(X, nodes)
    shapes = [(_num_samples(X), score.n_levels_[node]) for node in nodes]
    result = [np.empty(shape) for shape in shapes]
    for rows, there, dags in by_experiment(samples, X, cells):
        found = _predictor(score, dags).predict_probabilities(there, nodes)
        for mine, of_node in zip(result, found, strict=True):
            mine[rows] = of_node
    return result


def sample(score, samples, n_samples=1, random_state=None):
    """Draw rows from the posterior predictive distribution.

    Parameters
    ----------
    score : PredictiveScore
        A fitted score.
    samples : DAGSamples
        The sampled DAGs.
    n_samples : int, default=1
        Number of rows.
    random_state : int, RandomState instance or None, default=None
        Source of the draws.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        Rows, each from a DAG drawn anew: every variable is drawn from its predictive
        distribution given its parents. Labels in the case of categorical data.
    """
    _require(score, "predictive distribution to draw from", PredictiveScore)
    rng = check_random_state(random_state)
    return _predictor(score, samples).sample(n_samples, rng)


def predictor(score, samples):
    """What draws rows step by step, see :meth:`Predictor.complete`.

    Parameters
    ----------
    score : PredictiveScore
        A fitted score.
    samples : DAGSamples
        The sampled DAGs.

    Returns
    -------
    predictor : Predictor
        Of the score's kind.
    """
    _require(score, "predictive distribution to draw from", PredictiveScore)
    return _predictor(score, samples)


def framed(score, rows, template, index=None):
    """Make predicted or drawn rows a frame, if that is what the data were.

    Parameters
    ----------
    score : PredictiveScore
        The score they come from.
    rows : ndarray of shape (n_samples, n_features)
        The rows.
    template : dataframe or None
        A frame with the columns; None leaves the rows as they are.
    index : pandas.Index, default=None
        The rows' labels, for pandas.

    Returns
    -------
    rows : {ndarray, dataframe} of shape (n_samples, n_features)
        The rows.
    """
    if template is None:
        return rows
    labels = isinstance(score, CategoricalPredictiveScore)
    if isinstance(score, MixedPredictiveScore):
        labels = score.is_categorical_
    return to_frame(rows, template, labels=labels, index=index)


def _require(score, what, *classes):
    """Raise an error that names the classes to subclass, unless it is one of them."""
    if not isinstance(score, classes):
        names = " or ".join(f"skbidag.scores.{needed.__name__}" for needed in classes)
        raise TypeError(
            f"The score {type(score).__name__} has no {what}: it does not subclass "
            f"{names}."
        )
