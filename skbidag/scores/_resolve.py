"""Which score a name stands for: the one place where the data's kind decides."""

from sklearn.base import clone

from skbidag._data import kind_of
from skbidag.scores._categorical import CategoricalScore
from skbidag.scores._gaussian import GaussianScore
from skbidag.scores.bde import BDe
from skbidag.scores.bge import BGe
from skbidag.scores.bic import CategoricalBIC, GaussianBIC
from skbidag.scores.capabilities import (
    CategoricalPredictiveScore,
    LinearPredictiveScore,
)

# What a name stands for, whatever the data are
SCORES = {"bge": BGe, "bde": BDe}

# What it stands for depending on their kind
SCORES_BY_KIND = {
    "auto": {"continuous": BGe, "categorical": BDe},
    "bic": {"continuous": GaussianBIC, "categorical": CategoricalBIC},
}

SCORE_NAMES = {*SCORES, *SCORES_BY_KIND}

# The classes whose scores take data of a kind
FAMILIES = {
    "continuous": (GaussianScore, LinearPredictiveScore),
    "categorical": (CategoricalScore, CategoricalPredictiveScore),
}


def score_class(name, kind):
    """Class of the score that a name stands for.

    Parameters
    ----------
    name : {"auto", "bge", "bde", "bic"}
        The name.
    kind : {"continuous", "categorical"}
        What the data are.

    Returns
    -------
    score_class : type
        A subclass of BaseScore.
    """
    return SCORES_BY_KIND[name][kind] if name in SCORES_BY_KIND else SCORES[name]


def resolve_score(score, X, name_of=str):
    """The score to fit.

    Parameters
    ----------
    score : {"auto", "bge", "bde", "bic"} or BaseScore
        A name, or a score.
    X : {array-like, dataframe} of shape (n_samples, n_features)
        The data, whose kind is asked for if the name does not say.
    name_of : callable
        Gives the name of a column, for messages.

    Returns
    -------
    score : BaseScore
        A new score, not fitted.
    """
    if not isinstance(score, str):
        return clone(score)
    kind = kind_of(X, name_of) if score in SCORES_BY_KIND else None
    return score_class(score, kind)()


def kind_for(score, X):
    """Kind of the data as a score sees them: that of its family, or the data's own.

    Parameters
    ----------
    score : {"auto", "bge", "bde", "bic"} or BaseScore
        A name, or a score.
    X : {array-like, dataframe} of shape (n_samples, n_features)
        The data.

    Returns
    -------
    kind : {"continuous", "categorical"}
        The kind.
    """
    score = resolve_score(score, X)
    for kind, family in FAMILIES.items():
        if isinstance(score, family):
            return kind
    return kind_of(X)
