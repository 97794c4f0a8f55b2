"""From a fitted estimator to a folder of results, all of it or nothing."""

import csv
import math
import os
import re
import shutil
import tempfile
from pathlib import Path

import numpy as np

from skbidag._cli._errors import InputError
from skbidag._cli._export import FILES
from skbidag._cli._report import make_report
from skbidag._cli._summary import EDGE_FIELDS, to_json

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
    stem = "asia" if file is None else "stdin" if file == "-" else plain_stem(file)
    stem = re.sub(r"[^\w.-]+", "-", stem).strip("-.") or "data"
    number = 1
    while True:
        folder = Path(f"skbidag-{stem}" + (f"-{number}" if number > 1 else ""))
        if not folder.exists():
            return folder
        number += 1


def plain_stem(file):
    """Name of a file without its endings: data of data.csv.gz."""
    path = Path(file)
    return Path(path.stem).stem if path.suffix.lower() == ".gz" else path.stem


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


def write_folder(folder, arguments, summary, edges, of_first, result):
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
    of_first : list of dict or None
        The same of the first slice's network.
    result : Fit
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
        write_files(files, summary, edges, of_first, result)
        for format in arguments.export:
            write_text(files / FILES[format], result.estimator.export(format))
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


def write_files(folder, summary, edges, of_first, result):
    """Write the files into a folder that exists."""
    names, estimator = summary["data"]["variables"], result.estimator
    write_edges(folder, "", edges, estimator)
    if of_first is not None:
        write_edges(folder, "initial_", of_first, result.initial)
    np.savez_compressed(
        folder / "samples.npz",
        packed=estimator.dag_samples_.packed,
        log_scores=estimator.log_score_trace_,
        names=np.array(names, dtype=str),
    )
    write_graphml(folder / "graph.graphml", estimator)
    write_text(folder / "graph.dot", dot(summary["data"]["title"], names, estimator))
    write_text(folder / "summary.json", to_json(summary))
    write_text(folder / "report.html", make_report(summary, result))


def write_edges(folder, prefix, edges, estimator):
    """Write the edges of a network, and its best DAG, as CSV files."""
    write_csv(
        folder / f"{prefix}edges.csv",
        EDGE_FIELDS,
        ([cell(edge[key]) for key in EDGE_FIELDS.values()] for edge in edges),
    )
    names = [str(name) for name in estimator.feature_names_in_]
    best = estimator.adjacency_.astype(int).tolist()
    write_csv(
        folder / f"{prefix}map.csv",
        ["", *names],
        ([name, *row] for name, row in zip(names, best, strict=True)),
    )


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


def write_graphml(path, estimator):
    """Write the best DAG with what is known of its edges as GraphML."""
    write_text(path, estimator.export("graphml"))


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
