"""What was found, in numbers: the edges, and a summary to repeat it by."""

import json
import math
import re
import shlex
import sys
from datetime import UTC, datetime
from textwrap import fill

import numpy as np

from skbidag._cli._wording import in_options
from skbidag._convergence import assess
from skbidag._report import _trust
from skbidag._report._facts import result_of, sample_text, versions

# Columns of edges.csv, those of edges_frame and one more, and what they are called here
EDGE_FIELDS = {
    "parent": "from",
    "child": "to",
    "probability": "probability",
    "error": "standard_error",
    "rhat": "rhat",
    "effect": "effect",
    "either_direction": "either_direction",
    "in_best_dag": "in_best_dag",
    "posterior": "posterior",
}
# What samples from the posterior over DAGs, and what an estimator's posterior_ means.
REMEDY = "--method partition"
POSTERIORS = {
    name: text.format(remedy=REMEDY) for name, text in _trust.POSTERIORS.items()
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
        With the values of `EDGE_FIELDS` as keys, see ``edges_frame``.
    """
    rows = estimator.edges_frame().to_dict("records")
    return [
        {EDGE_FIELDS[name]: value for name, value in row.items()}
        | {"posterior": estimator.posterior_}
        for row in rows
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
    reached = assess(estimator.dag_samples_, estimator.log_score_trace_)
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
            **result_of(estimator, reached),
            **of_first_slice(result.initial),
            "seconds": round(result.seconds, 3),
        },
        "trust": trust_of(estimator, reached, variables.notes),
        "warnings": result.warnings,
        "versions": versions(),
    }


def of_first_slice(initial):
    """What was found of the first slice's network, if there is one."""
    if initial is None:
        return {}
    reached = assess(initial.dag_samples_, initial.log_score_trace_)
    return {"initial": result_of(initial, reached)}


def trust_of(estimator, reached, notes):
    """What speaks for the result and what against it, in the words of the options."""
    points = _trust.trust(estimator, reached, notes, REMEDY)
    return [{**point, "text": in_options(point["text"])} for point in points]


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
