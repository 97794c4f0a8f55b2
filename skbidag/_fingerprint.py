"""Fingerprints: whether a fit that is to go on asks for what the last one did.

A fingerprint has an entry for the data and one for each parameter that makes the
posterior or the chains, short digests that are kept with the chains. What differs
can thus be named, without the old data at hand.
"""

from hashlib import blake2b
from numbers import Number

import numpy as np
from sklearn.base import BaseEstimator

from skbidag._score_space import ScoreSpace
from skbidag.scores import BaseScore, CategoricalPredictiveScore, CategoricalScore

# What may differ: it says how far chains go and how they are run, not where.
FREE = {
    "max_iter",
    "max_time",
    "memory_limit",
    "n_chains",
    "n_draws",
    "n_jobs",
    "random_state",
    "verbose",
    "warm_start",
}

# What a fitted estimator knows that a search space is made of
LEARNED = ("search_space_", "adjacency_", "precision_")


def fingerprint(problem, parameters):
    """Digests of what a fit is asked for.

    Parameters
    ----------
    problem : Problem
        Data, names and the fitted score.
    parameters : dict
        The estimator's parameters.

    Returns
    -------
    digests : dict of str
        By what they are of: "X", "score", and the parameters that matter.
    """
    score, levels = problem.score, None
    if isinstance(score, CategoricalScore | CategoricalPredictiveScore):
        levels = score.categories_
    data = [problem.data, problem.weights, problem.names, levels]
    # the score itself and not the parameter, which may be a name for it
    parts = {**_that_matter(parameters), "score": score, "X": data}
    return {name: digest(value) for name, value in parts.items()}


def refuse_another(before, now):
    """Raise an error that names what differs between two fingerprints."""
    different = [
        "X or sample_weight" if name == "X" else name
        for name in now
        if now[name] != before.get(name)
    ]
    if different:
        raise ValueError(
            "warm_start=True goes on with the chains of the last fit and must be given "
            f"the same as that; {', '.join(different)} changed. To start anew, fit "
            "with warm_start=False."
        )


def digest(value):
    """A short digest of a value: equal values have equal ones, in any process."""
    return blake2b(b"".join(_pieces(value)), digest_size=16).hexdigest()


def _pieces(value):
    """Bytes that tell a value: its kind, how long it is, and what it holds."""
    if hasattr(value, "columns") and hasattr(value, "to_numpy"):
        labels = [list(value.columns), list(getattr(value, "index", ()))]
        value = [labels, value.to_numpy()]
    if isinstance(value, np.ndarray) and value.dtype.kind not in "OUT":
        yield f"array {value.dtype.str} {value.shape}:".encode()
        yield blake2b(np.ascontiguousarray(value)).digest()
    elif isinstance(value, BaseScore | BaseEstimator):
        learned = [vars(value).get(name) for name in LEARNED]
        yield f"object {type(value).__qualname__}:".encode()
        yield from _pieces([_that_matter(value.get_params(deep=False)), learned])
    elif isinstance(value, ScoreSpace):
        yield from _pieces([value.made_of, value.search_space_])
    elif isinstance(value, dict):
        yield from _pieces(sorted(value.items()))
    elif isinstance(value, np.ndarray | list | tuple):
        value = value.tolist() if isinstance(value, np.ndarray) else value
        yield f"list {len(value)}:".encode()
        for part in value:
            yield from _pieces(part)
    elif value is None or isinstance(value, str | bytes | Number | np.generic):
        text = repr(value.item() if isinstance(value, np.generic) else value)
        yield f"value {len(text)} {text}:".encode()
    else:
        # by name: the address in memory is another one in the next process
        name = getattr(value, "__qualname__", type(value).__qualname__)
        yield f"object {name}:".encode()


def _that_matter(parameters):
    return {name: value for name, value in parameters.items() if name not in FREE}
