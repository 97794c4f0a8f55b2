"""Bayesian network structure learning, and how sure one can be of it.

The hybrid of Kuipers, Suter & Moffa (*Efficient sampling and structure learning of
Bayesian networks*, JCGS 2022): a PC skeleton bounds the search space, every score
the chains need is precomputed into tables, order MCMC and partition MCMC walk on
them, and the space is corrected iteratively.
"""

from importlib import import_module as _import_module

# Where the public names live. They are imported when first asked for: scikit-learn
# takes a second or more, which ``skbidag --help`` should not.
_HOMES = {
    "CausalEffects": "_causal",
    "DAGSamples": "_posterior",
    "DynamicGraph": "_dynamic",
    "DynamicStructure": "_dynamic",
    "ExactStructure": "_exact",
    "Forecast": "_dynamic",
    "GESSkeleton": "_ges",
    "GaussianNetwork": "_gaussian_network",
    "IterativeSearchStructure": "_iterative",
    "MarkovBlanketSelector": "_selection",
    "OrderMCMCStructure": "_order",
    "PCSkeleton": "_skeleton",
    "Parameters": "_parameters",
    "PartitionMCMCStructure": "_partition",
    "QueryResult": "_queries",
    "ScoreSpace": "_score_space",
    "StructureImputer": "_imputer",
    "Summary": "_summary",
    "causal_effects": "_causal",
    "series_from_wide": "_dynamic",
}
_SUBMODULES = {
    "datasets",
    "diagnostics",
    "formats",
    "graphs",
    "inspection",
    "metrics",
    "score_files",
    "scores",
}

__all__ = [
    "CausalEffects",
    "DAGSamples",
    "DynamicGraph",
    "DynamicStructure",
    "ExactStructure",
    "Forecast",
    "GESSkeleton",
    "GaussianNetwork",
    "IterativeSearchStructure",
    "MarkovBlanketSelector",
    "OrderMCMCStructure",
    "PCSkeleton",
    "Parameters",
    "PartitionMCMCStructure",
    "QueryResult",
    "ScoreSpace",
    "StructureImputer",
    "Summary",
    "__version__",
    "causal_effects",
    "series_from_wide",
]


def __getattr__(name):
    if name == "__version__":
        value = _import_module("importlib.metadata").version("skbidag")
    elif name in _HOMES:
        value = getattr(_import_module(f"skbidag.{_HOMES[name]}"), name)
    elif name in _SUBMODULES:
        return _import_module(f"skbidag.{name}")
    else:
        raise AttributeError(f"module 'skbidag' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__():
    return sorted({*globals(), *__all__, *_SUBMODULES})
