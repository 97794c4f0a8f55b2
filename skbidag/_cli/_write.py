"""From a fitted estimator to a folder of results, all of it or nothing."""

import csv
import json
import math
import os
import platform
import re
import shlex
import shutil
import sys
import tempfile
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

import numpy as np

from skbidag._cli._errors import InputError

EDGE_FIELDS = (
    "from", "to", "probability", "standard_error", "rhat", "either_direction",
    "in_best_dag",
)  # fmt: skip
PACKAGES = (
    "skbidag", "numpy", "scipy", "scikit-learn", "causal-learn", "pandas", "matplotlib",
)  # fmt: skip
TOP_EDGES = 15


# ------------------------------------------------------------------------ folder


def choose_folder(arguments):
    """Say where the results will be, and complain before any work is done.

    Parameters
    ----------
    arguments : argparse.Namespace
        The options.

    Returns
    -------
    folder : Path
        It does not exist, is empty, or holds results that are to be replaced.
    """
    if arguments.out is None:
        folder = free_folder(arguments.file)
    else:
        folder = Path(arguments.out)
        check_replaceable(folder, arguments.force)
    parent = folder.resolve().parent
    if not parent.is_dir():
        raise InputError(f"--out {folder}: there is no folder {parent}.")
    if not os.access(parent, os.W_OK):
        raise InputError(f"--out {folder}: the folder {parent} is not writable.")
    return folder


def free_folder(file):
    """The first of skbidag-NAME, skbidag-NAME-2, ... that does not exist."""
    stem = "asia" if file is None else "stdin" if file == "-" else Path(file).stem
    stem = re.sub(r"[^\w.-]+", "-", stem).strip("-.") or "data"
    number = 1
    while True:
        folder = Path(f"skbidag-{stem}" + (f"-{number}" if number > 1 else ""))
        if not folder.exists():
            return folder
        number += 1


def check_replaceable(folder, force):
    """Complain if a folder may not be replaced."""
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    if not folder.is_dir():
        raise InputError(f"--out {folder} is a file.")
    if not force:
        raise InputError(f"--out {folder} exists; --force replaces it.")
    if not (folder / "summary.json").is_file():
        raise InputError(
            f"--out {folder} holds something else than earlier results; remove it "
            "yourself."
        )


def write_folder(folder, arguments, summary, edges, estimator):
    """Write all files beside the folder, then give it its name.

    Parameters
    ----------
    folder : Path
        From :func:`choose_folder`.
    arguments : argparse.Namespace
        The options.
    summary : dict
        From :func:`summarize`.
    edges : list of dict
        From :func:`edge_table`.
    estimator : BaseStructure
        The fitted estimator.

    Returns
    -------
    folder : Path
        Where the results are: elsewhere if another process was faster.
    """
    parent = folder.resolve().parent
    try:
        draft = Path(tempfile.mkdtemp(prefix=".skbidag-", dir=parent))
    except OSError as error:
        raise InputError(f"Cannot write to {parent}: {error.strerror}.") from error
    try:
        files = draft / "results"  # with the usual permissions, unlike the draft
        files.mkdir()
        write_files(files, summary, edges, estimator)
        if arguments.out is None:
            folder = free_folder(arguments.file)
        else:
            check_replaceable(folder, arguments.force)
        swap(files, folder, draft / "replaced")
    except OSError as error:
        raise InputError(f"Cannot write {folder}: {error}.") from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return folder


def swap(new, folder, aside):
    """Rename a folder, and put what stood there aside."""
    if folder.exists():
        folder.rename(aside)
    try:
        new.rename(folder)
    except BaseException:
        if aside.exists():
            aside.rename(folder)
        raise


def write_files(folder, summary, edges, estimator):
    """Write the files into a folder that exists."""
    from skbidag._cli._report import make_report

    names = summary["data"]["variables"]
    write_csv(
        folder / "edges.csv",
        EDGE_FIELDS,
        ([cell(edge[field]) for field in EDGE_FIELDS] for edge in edges),
    )
    best = estimator.adjacency_.astype(int).tolist()
    write_csv(
        folder / "map.csv",
        ["", *names],
        ([name, *row] for name, row in zip(names, best, strict=True)),
    )
    np.savez_compressed(
        folder / "samples.npz",
        packed=estimator.dag_samples_.packed,
        log_scores=estimator.log_score_trace_,
        names=np.array(names, dtype=str),
    )
    write_graphml(folder / "graph.graphml", estimator)
    write_text(folder / "graph.dot", dot(summary["data"]["title"], names, estimator))
    write_text(folder / "summary.json", to_json(summary))
    write_text(folder / "report.html", make_report(summary, edges, estimator))


def write_text(path, text):
    """Write UTF-8 with plain line ends on every system."""
    path.write_text(text, encoding="utf-8", newline="\n")


def write_csv(path, header, rows):
    """Write a CSV file."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def cell(value):
    """A value as it stands in a CSV file: six decimals, nothing for NaN."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, float):
        return f"{value:.6g}" if math.isfinite(value) else ""
    return value


# ------------------------------------------------------------------------- edges


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
    order = np.lexsort(
        (pairs[:, 1], pairs[:, 0], ~best[*pairs.T], -either[*pairs.T],
         -probability[*pairs.T])
    )  # fmt: skip
    return [
        {
            "from": names[i],
            "to": names[j],
            "probability": float(probability[i, j]),
            "standard_error": float(diagnostics.mcse[i, j]),
            "rhat": float(diagnostics.rhat[i, j]),
            "either_direction": float(either[i, j]),
            "in_best_dag": bool(best[i, j]),
        }
        for i, j in pairs[order]
    ]


def write_graphml(path, estimator):
    """Write the best DAG with edge probabilities as GraphML."""
    import networkx

    networkx.write_graphml(estimator.to_networkx(), path)


def dot(title, names, estimator):
    """The best DAG with edge probabilities, in the language of Graphviz."""

    def quote(text):
        return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'

    lines = [f"digraph {quote(title)} {{", "  node [shape=box, style=rounded];"]
    lines += [f"  {quote(name)};" for name in names]
    for i, j in np.argwhere(estimator.adjacency_):
        p = float(estimator.adjacency_probabilities_[i, j])
        lines.append(
            f"  {quote(names[i])} -> {quote(names[j])} "
            f'[label="{p:.2f}", probability={p:.6g}, penwidth={0.5 + 2 * p:.2f}];'
        )
    return "\n".join([*lines, "}", ""])


# ----------------------------------------------------------------------- summary


def summarize(arguments, argv, table, variables, result):
    """What was found, and everything that is needed to find it again.

    Parameters
    ----------
    arguments : argparse.Namespace
        The options.
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
    return {
        "command": shlex.join(["skbidag", *argv]),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "data": {
            "title": table.title,
            "source": table.source,
            "sha256": table.sha256,
            "kind": variables.kind,
            "n_rows": variables.n_rows,
            "n_variables": len(variables.names),
            "variables": variables.names,
            "left_out": variables.left_out,
            "notes": variables.notes,
            "standardized": variables.kind == "continuous"
            and not arguments.no_standardize,
        },
        "estimator": type(estimator).__name__,
        "parameters": plain_parameters(estimator),
        "result": result_of(result),
        "warnings": result.warnings,
        "versions": versions(),
    }


def result_of(result):
    """The result in a few numbers."""
    from skbidag._base import FEWEST_DRAWS_FOR_RHAT, LARGEST_RHAT

    estimator = result.estimator
    n_chains, n_draws = estimator.log_score_trace_.shape
    largest = np.nanmax(estimator.rhat_) if n_draws >= 4 else np.nan
    converged = None
    if n_draws >= FEWEST_DRAWS_FOR_RHAT:
        # as the estimator's warning has it
        converged = bool(
            estimator.log_score_rhat_ <= LARGEST_RHAT and largest <= LARGEST_RHAT + 0.1
        )
    return {
        "log_score": estimator.log_score_,
        "n_edges": int(estimator.adjacency_.sum()),
        "converged": converged,
        "log_score_rhat": estimator.log_score_rhat_,
        "largest_edge_rhat": float(largest),
        "n_chains": n_chains,
        "n_draws": n_draws,
        "n_iter": estimator.n_iter_,
        "acceptance_rate": estimator.acceptance_rate_.tolist(),
        "seconds": round(result.seconds, 3),
    }


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
    print(f"\nThe report: {folder / 'report.html'}")


def sample_text(result):
    """The draws and whether the chains agree, in words."""
    text = f"{result['n_chains']} chains of {result['n_draws']} DAGs"
    if result["converged"] is None:
        return text
    agree = "agree" if result["converged"] else "DISAGREE"
    return (
        f"{text}, which {agree} (R-hat {result['log_score_rhat']:.3f} of the score, "
        f"at most {result['largest_edge_rhat']:.3f} of an edge)"
    )
