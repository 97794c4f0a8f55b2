"""Decomposable scores."""

from .base import BaseScore
from .bde import BDe
from .bic import BIC

__all__ = ["BIC", "BDe", "BaseScore"]
