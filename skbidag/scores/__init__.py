"""Decomposable scores: how well parents explain a child."""

from skbidag.scores.base import BaseScore
from skbidag.scores.bde import BDe
from skbidag.scores.bge import BGe
from skbidag.scores.bic import BIC

__all__ = ["BIC", "BDe", "BGe", "BaseScore"]
