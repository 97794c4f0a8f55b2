"""What was found, in numbers: the edges, and a summary to repeat it by."""

import json
import math
import platform
import re
import shlex
import sys
from datetime import UTC, datetime
from importlib import metadata
from textwrap import fill

import numpy as np

EDGE_FIELDS = (
    "from",
    "to",
    "probability",
    "standard_error",
    "rhat",
    "either_direction",
    "in_best_dag",
    "posterior",
)
PACKAGES = (
    "skbidag",
    "numpy",
    "scipy",
    "scikit-learn",
    "causal-learn",
    "pandas",
    "matplotlib",
)
# What an estimator's posterior_ means.
POSTERIORS = {
    "order-weighted": "Probabilities are of the order-weighted posterior: a DAG counts "
    "once for each order it fits, which favors sparse DAGs and some directions. "
    "With --method partition every DAG counts once.",
    "over DAGs": "Probabilities are of the posterior over DAGs: every DAG counts once.",
    "best DAG alone": "Nothing was sampled: probabilities are 1 for the edges of the "
    "best DAG's equivalence class and 0 for others.",
}
TOP_EDGES = 15
WIDTH = 80


def edge_table(estimator):
    """All edges that were seen, the most probable first.

    Parameters
    ----------
    estimator : BaseStructure
        The fitted estimator.

    Returns
    -------
    edges : list of dict
        With the fields of `EDGE_FIELDS`; the standard error is that of the
        probability, because it comes from a finite sample of dependent draws.
    """
    from skbidag.diagnostics import edge_diagnostics

    probability = estimator.adjacency_probabilities_
    diagnostics = edge_diagnostics(estimator)
    either = estimator.edge_probabilities("skeleton")
    best = estimator.adjacency_
    names = [str(name) for name in estimator.feature_names_in_]
    pairs = np.argwhere((probability > 0) | best)
    first, second = pairs.T
    keys = (-probability[first, second], -either[first, second], ~best[first, second])
    order = np.lexsort((second, first, *reversed(keys)))
    return [
        {
            "from": names[i],
            "to": names[j],
            "probability": float(probability[i, j]),
            "standard_error": float(diagnostics.mcse[i, j]),
            "rhat": float(diagnostics.rhat[i, j]),
            "either_direction": float(either[i, j]),
            "in_best_dag": bool(best[i, j]),
            "posterior": estimator.posterior_,
        }
        for i, j in pairs[order]
    ]


def summarize(argv, table, variables, result):
    """What was found, and everything that is needed to find it again.

    Parameters
    ----------
    argv : list of str
        The command line.
    table : Table
        The file.
    variables : Variables
        The data.
    result : Fit
        The fitted estimator.

    Returns
    -------
    summary : dict
        Of strings, numbers, lists and dicts, as it stands in ``summary.json``.
    """
    estimator = result.estimator
    names = [str(name) for name in estimator.feature_names_in_]
    given = np.flatnonzero(estimator.dag_samples_.background)
    return {
        "command": shlex.join(["skbidag", *argv]),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "data": {
            "title": table.title,
            "source": table.source,
            "sha256": table.sha256,
            "kind": variables.kind,
            "n_rows": variables.n_rows,
            "n_variables": len(names),
            "variables": names,
            "background": [names[node] for node in given],
            "interventions": [
                [names[node] for node in target]
                for target in estimator.dag_samples_.targets
            ],
            "left_out": variables.left_out,
            "notes": variables.notes,
        },
        "estimator": type(estimator).__name__,
        "parameters": all_parameters(result),
        "result": {
            **result_of(estimator),
            **(
                {} if result.initial is None else {"initial": result_of(result.initial)}
            ),
            "seconds": round(result.seconds, 3),
        },
        "warnings": result.warnings,
        "versions": versions(),
    }


def result_of(estimator):
    """What an estimator has found, in a few numbers."""
    from skbidag._convergence import assess

    n_chains, n_draws = estimator.log_score_trace_.shape
    reached = assess(estimator.dag_samples_, estimator.log_score_trace_)
    return {
        "posterior": estimator.posterior_,
        "log_score": estimator.log_score_,
        "n_edges": int(estimator.adjacency_.sum()),
        "converged": reached.verdict,
        "log_score_rhat": estimator.log_score_rhat_,
        "largest_edge_rhat": reached.edge_rhat,
        "n_chains": n_chains,
        "n_draws": n_draws,
        "n_iter": estimator.n_iter_,
        "acceptance_rate": estimator.acceptance_rate_.tolist(),
    }


def all_parameters(result):
    """The parameters of the estimator and, if it is there, of the dynamic network."""
    if result.dynamic is None:
        return plain_parameters(result.estimator)
    own = result.dynamic.get_params(deep=False)
    learner = own.pop("estimator")
    return {**own, **plain_parameters(learner)}


def plain_parameters(estimator):
    """Parameters as JSON can hold them: a score by its name and parameters."""
    parameters = estimator.get_params()
    parameters["score"] = type(parameters["score"]).__name__
    return parameters


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


def to_json(summary):
    """JSON, with null for what is not finite."""

    def plain(value):
        if isinstance(value, dict):
            return {key: plain(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [plain(item) for item in value]
        if isinstance(value, float) and not math.isfinite(value):
            return None
        return value

    return json.dumps(plain(summary), indent=2, ensure_ascii=False) + "\n"


def print_summary(summary, folder, edges, *, as_json=False):
    """Print the summary to stdout, as a table or as JSON."""
    if as_json:
        sys.stdout.write(to_json({**summary, "folder": str(folder)}))
        return
    result = summary["result"]
    print(f"Best DAG: {result['n_edges']} edges, log score {result['log_score']:.2f}")
    print(f"Sample:   {sample_text(result)}")
    shown = edges[:TOP_EDGES]
    if shown:
        print("\nprobability  (error)  edge")
    for edge in shown:
        error = edge["standard_error"]
        error = f"({error:.3f})" if math.isfinite(error) else ""
        print(
            f"{edge['probability']:>11.3f}  {error:>7}  {edge['from']} -> {edge['to']}"
        )
    if len(edges) > len(shown):
        print(f"... and {len(edges) - len(shown)} less probable ones, see edges.csv")
    if "initial" in result:
        first = result["initial"]
        print(
            f"\nFirst slice: {first['n_edges']} edges, log score "
            f"{first['log_score']:.2f}, see initial_edges.csv"
        )
        print(f"Sample:      {sample_text(first)}")
    sentences = re.split(r"(?<=\.) ", POSTERIORS[result["posterior"]])
    print("", *(fill(sentence, WIDTH) for sentence in sentences), sep="\n")
    print(f"\nThe report: {folder / 'report.html'}")


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
