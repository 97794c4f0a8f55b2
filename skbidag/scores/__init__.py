"""Decomposable scores: how well parents explain a child.

``base.py`` is the contract of scoring. Two families share their tables and the rest,
:class:`GaussianScore` and :class:`CategoricalScore`; :class:`ConditionalGaussian`, the
score of mixed data, stands beside them. ``capabilities.py`` lists what a
score needs for more than scoring.
"""

from skbidag.scores._categorical import CategoricalScore
from skbidag.scores._gaussian import GaussianScore, GaussianTerms
from skbidag.scores._regression import RegressionPosterior
from skbidag.scores._tabulated import TabulatedScore
from skbidag.scores.base import BaseScore
from skbidag.scores.bde import BDe
from skbidag.scores.bge import BGe
from skbidag.scores.bic import CategoricalBIC, GaussianBIC
from skbidag.scores.capabilities import (
    CategoricalParameterScore,
    CategoricalPredictiveScore,
    CellParameterScore,
    CompletableScore,
    LinearCompletableScore,
    LinearParameterScore,
    LinearPredictiveScore,
    MixedParameterScore,
    MixedPredictiveScore,
    PredictiveScore,
    RegressionScore,
)
from skbidag.scores.conditional_gaussian import ConditionalGaussian

__all__ = [
    "BDe",
    "BGe",
    "BaseScore",
    "CategoricalBIC",
    "CategoricalParameterScore",
    "CategoricalPredictiveScore",
    "CategoricalScore",
    "CellParameterScore",
    "CompletableScore",
    "ConditionalGaussian",
    "GaussianBIC",
    "GaussianScore",
    "GaussianTerms",
    "LinearCompletableScore",
    "LinearParameterScore",
    "LinearPredictiveScore",
    "MixedParameterScore",
    "MixedPredictiveScore",
    "PredictiveScore",
    "RegressionPosterior",
    "RegressionScore",
    "TabulatedScore",
]
