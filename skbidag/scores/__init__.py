"""Decomposable scores: how well parents explain a child."""

from skbidag.scores.base import BaseScore
from skbidag.scores.bge import BGe

__all__ = ["BGe", "BaseScore"]
