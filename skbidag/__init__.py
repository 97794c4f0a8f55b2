"""Bayesian network structure learning, and how sure one can be of it."""

from importlib.metadata import version as _version

__version__ = _version("skbidag")

__all__ = ["__version__"]
