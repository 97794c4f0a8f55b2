"""What was learned and how, in a few numbers and words, for pages and terminals."""

import platform
from datetime import UTC, datetime
from importlib import metadata

import numpy as np

from skbidag._convergence import assess
from skbidag._report._network import node_names
from skbidag._report._trust import convergence, trust

PACKAGES = (
    "skbidag",
    "numpy",
    "scipy",
    "scikit-learn",
    "causal-learn",
    "pandas",
    "matplotlib",
)


def facts_of(estimator, title, dynamic=None):
    """All that a page says of a fitted estimator, in Python's words.

    Parameters
    ----------
    estimator : estimator instance
        A fitted structure learner.
    title : str
        What the page is about.
    dynamic : DynamicStructure, default=None
        What the estimator is the transition of.

    Returns
    -------
    facts : dict
        The same entries as the command line's ``summary.json``, but for what only a
        command knows.
    """
    names = node_names(estimator)
    samples = estimator.dag_samples_
    reached = assess(samples, estimator.log_score_trace_)
    parameters, points = estimator.get_params(), trust(estimator, reached)
    if dynamic is not None:
        parameters = {**dynamic.get_params(deep=False), **parameters}
        parameters.pop("estimator")
        points[1:1] = trust_in_first_slice(dynamic)
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "data": {
            "title": title,
            "kind": kind_of(estimator),
            "n_rows": rows_of(estimator.score_),
            "n_variables": len(names),
            "variables": names,
            "background": [names[k] for k in np.flatnonzero(samples.background)],
            "interventions": [[names[k] for k in target] for target in samples.targets],
            "notes": [],
        },
        "estimator": type(estimator).__name__,
        "parameters": {
            name: value if is_plain(value) else repr(value)
            for name, value in parameters.items()
        },
        "result": result_of(estimator, reached),
        "trust": points,
        "warnings": [],
        "versions": versions(),
    }


def trust_in_first_slice(dynamic):
    """Whether the chains of the first slice have converged, if it has some."""
    first = dynamic.initial_estimator_
    if first is None:
        return []
    reached = assess(first.dag_samples_, first.log_score_trace_)
    verdict, text = convergence(first, reached)
    question = "And for the first slice?"
    return [{"question": question, "verdict": verdict, "text": text}]


def result_of(estimator, reached):
    """The result in a few numbers.

    Parameters
    ----------
    estimator : estimator instance
        A fitted structure learner.
    reached : Convergence
        What its chains have reached.

    Returns
    -------
    result : dict
        Of strings and numbers.
    """
    n_chains, n_draws = estimator.log_score_trace_.shape
    sampled = hasattr(estimator, "rhat_")
    return {
        "posterior": estimator.posterior_,
        "log_score": estimator.log_score_,
        "n_edges": int(estimator.adjacency_.sum()),
        "converged": reached.verdict if sampled else None,
        "log_score_rhat": estimator.log_score_rhat_ if sampled else float("nan"),
        "largest_edge_rhat": reached.edge_rhat if sampled else float("nan"),
        "n_chains": n_chains,
        "n_draws": n_draws,
        "n_iter": estimator.n_iter_ if sampled else 0,
        "acceptance_rate": estimator.acceptance_rate_.tolist() if sampled else [],
    }


def kind_of(estimator):
    """Whether the data are continuous, discrete or mixed."""
    kinds = {"continuous": "continuous", "categorical": "discrete"}
    found = sorted({kinds[str(kind)] for kind in estimator.feature_kinds_})
    return found[0] if len(found) == 1 else "mixed"


def rows_of(score):
    """How many rows a score has seen, by their weights; None if it does not tell."""
    score = score.of_all_rows
    if hasattr(score, "counts_"):
        return round(float(np.sum(score.counts_)))
    size = getattr(score, "n_effective_", None)
    return None if size is None else round(size)


def is_plain(value):
    """Whether JSON can hold a parameter."""
    return value is None or isinstance(value, str | bool | int | float)


def versions():
    """Versions of what the result may depend on."""
    found = {
        "skbidag": metadata.version("skbidag"),
        "python": platform.python_version(),
    }
    for package in PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    found["platform"] = platform.platform()
    return found


def sample_text(result):
    """The draws and whether the chains agree, in words."""
    text = f"{result['n_chains']} chains of {result['n_draws']} DAGs"
    if result["converged"] is None:
        return text
    agree = "agree" if result["converged"] else "have NOT CONVERGED"
    return (
        f"{text}, which {agree} (R-hat {result['log_score_rhat']:.3f} of the score, "
        f"at most {result['largest_edge_rhat']:.3f} of an edge)"
    )
