"""Which score a name stands for: the one place where the data's kind decides."""

import numpy as np
from sklearn.base import clone

from skbidag._data import names_of
from skbidag._kinds import column_kinds, warn_of_guesses
from skbidag.scores._categorical import CategoricalScore
from skbidag.scores._gaussian import GaussianScore
from skbidag.scores.bde import BDe
from skbidag.scores.bge import BGe
from skbidag.scores.bic import CategoricalBIC, GaussianBIC
from skbidag.scores.capabilities import (
    CategoricalPredictiveScore,
    LinearPredictiveScore,
    MixedPredictiveScore,
)
from skbidag.scores.conditional_gaussian import ConditionalGaussian

# What a name stands for, whatever the data are
SCORES = {"bge": BGe, "bde": BDe}

# What it stands for depending on their kind
SCORES_BY_KIND = {
    "auto": {
        "continuous": BGe,
        "categorical": BDe,
        "mixed": ConditionalGaussian,
    },
    "bic": {"continuous": GaussianBIC, "categorical": CategoricalBIC},
}

SCORE_NAMES = {*SCORES, *SCORES_BY_KIND}

# The classes whose scores take data of a kind
FAMILIES = {
    "continuous": (GaussianScore, LinearPredictiveScore),
    "categorical": (CategoricalScore, CategoricalPredictiveScore),
    "mixed": (MixedPredictiveScore,),
}


def score_class(name, kind):
    """Class of the score that a name stands for.

    Parameters
    ----------
    name : {"auto", "bge", "bde", "bic"}
        The name.
    kind : {"continuous", "categorical", "mixed"}
        What the data are.

    Returns
    -------
    score_class : type
        A subclass of BaseScore.
    """
    return SCORES_BY_KIND[name][kind] if name in SCORES_BY_KIND else SCORES[name]


def resolve_score(
    score, X, categorical_features="auto", *, sample_weight=None, names=None
):
    """The score to fit.

    Parameters
    ----------
    score : {"auto", "bge", "bde", "bic"} or BaseScore
        A name, or a score.
    X : {array-like, dataframe} of shape (n_samples, n_features)
        The data, whose kind is asked for if the score does not say.
    categorical_features : "auto", None or array-like, default="auto"
        The categorical columns, by names, indices or a mask. "auto" is the rule of
        :func:`~skbidag._kinds.column_kinds`, which warns where it guesses.
    sample_weight : array-like of shape (n_samples,), default=None
        How often each row counts.
    names : sequence of str, default=None
        Names of the columns, for messages.

    Returns
    -------
    score : BaseScore
        A new score, not fitted.
    """
    by_kind = isinstance(score, str) and score in SCORES_BY_KIND
    if not by_kind:
        score = SCORES[score]() if isinstance(score, str) else clone(score)
        if isinstance(categorical_features, str):
            return score
    found = column_kinds(
        X, categorical_features, sample_weight=sample_weight, names=names
    )
    if isinstance(score, ConditionalGaussian):
        return score.set_params(categorical_features=found.kinds == "categorical")
    if by_kind:
        kind = found.kind if "mixed" in SCORES_BY_KIND[score] else found.common(names)
        warn_of_guesses(found, names, stacklevel=7)
        return make_score(score_class(score, kind), found)
    kind = found.kind if family_of(score) in ("mixed", None) else found.common(names)
    if family_of(score) not in (kind, "mixed", None):
        raise ValueError(
            f"categorical_features makes the columns {kind}, but the score "
            f"{type(score).__name__} is one of {family_of(score)} data."
        )
    return score


def make_score(score_type, found):
    """A score with its defaults, which knows the kinds if it takes both."""
    if issubclass(score_type, ConditionalGaussian):
        return score_type(categorical_features=found.kinds == "categorical")
    return score_type()


def family_of(score):
    """Kind of the data that a score takes, None if it is of no family."""
    for kind, family in FAMILIES.items():
        if isinstance(score, family):
            return kind
    return None


def kinds_seen(score, X, categorical_features="auto", sample_weight=None):
    """Kinds of the columns as a fitted score sees them.

    Parameters
    ----------
    score : BaseScore
        The fitted score.
    X : {array-like, dataframe} of shape (n_samples, n_features)
        The data.
    categorical_features : "auto", None or array-like, default="auto"
        As in :func:`resolve_score`.
    sample_weight : array-like of shape (n_samples,), default=None
        How often each row counts.

    Returns
    -------
    kinds : ndarray of str of shape (n_features,)
        That of the score's family; of a score of no family, those of the data.
    """
    kind = family_of(score)
    if kind == "mixed":
        return np.where(score.is_categorical_, "categorical", "continuous")
    if kind is not None:
        return np.full(score.n_features_in_, kind)
    return column_kinds(
        X, categorical_features, sample_weight=sample_weight, names=names_of(score)
    ).kinds


def kind_for(score, X, categorical_features="auto"):
    """Kind of the data as a score sees them: that of its family, or the data's own.

    Parameters
    ----------
    score : {"auto", "bge", "bde", "bic"} or BaseScore
        A name, or a score.
    X : {array-like, dataframe} of shape (n_samples, n_features)
        The data.
    categorical_features : "auto", None or array-like, default="auto"
        As in :func:`resolve_score`; they may name columns that are to join `X`.

    Returns
    -------
    kind : {"continuous", "categorical", "mixed"}
        The kind.
    """
    if isinstance(score, str) and score in SCORES:
        score = SCORES[score]()
    if not isinstance(score, str) and family_of(score) is not None:
        return family_of(score)
    if not isinstance(categorical_features, str):
        chosen = np.asarray(
            [] if categorical_features is None else categorical_features
        )
        some = chosen.any() if chosen.dtype == bool else chosen.size
        return "categorical" if some else "continuous"
    return column_kinds(X).kind
