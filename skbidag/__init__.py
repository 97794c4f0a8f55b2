"""Bayesian network structure learning, and how sure one can be of it.

The hybrid of Kuipers, Suter & Moffa (*Efficient sampling and structure learning of
Bayesian networks*, JCGS 2022): a PC skeleton bounds the search space, every score
the chains need is precomputed into tables, order MCMC and partition MCMC walk on
them, and the space is corrected iteratively.
"""

from importlib.metadata import version as _version

from skbidag._causal import CausalEffects, causal_effects
from skbidag._iterative import IterativeSearchStructure
from skbidag._order import OrderMCMCStructure
from skbidag._partition import PartitionMCMCStructure
from skbidag._selection import MarkovBlanketSelector
from skbidag._skeleton import PCSkeleton

__version__ = _version("skbidag")

__all__ = [
    "CausalEffects",
    "IterativeSearchStructure",
    "MarkovBlanketSelector",
    "OrderMCMCStructure",
    "PCSkeleton",
    "PartitionMCMCStructure",
    "__version__",
    "causal_effects",
]
