"""What the benchmarks share: clocks, results as files, tables on the screen."""

import csv
import multiprocessing
import os
import platform
import subprocess
import time
from contextlib import redirect_stderr, redirect_stdout
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from skbidag import IterativeSearchStructure
from skbidag._chains import bit_generator, move_mixture
from skbidag._constraints import resolve_constraints
from skbidag._core._dag import DAGChain
from skbidag._core._order import OrderChain
from skbidag._core._partition import PartitionChain
from skbidag._core._tables import TableViews
from skbidag._dag_walk import dag_moves
from skbidag._partition import partition_moves, partition_of_dag
from skbidag._search_space import make_space
from skbidag._tables import build_tables
from skbidag.scores import BGe

HERE = Path(__file__).parent
RESULTS = HERE / "results"
# Graphs of each setting in the paper.
PAPER_GRAPHS = 100

# Times are of one core unless a script says otherwise.
threadpool_limits(1)


def paper_score():
    """BGe as the paper has it; its data are standardized."""
    return BGe(alpha_mu=0.25, edge_penalty=1.0, prior="paper")


# ------------------------------------------------------------------------- clocks


def best_of(function, repeats, clock=time.perf_counter):
    """Shortest of several runs, in seconds."""
    times = []
    for _ in range(repeats):
        start = clock()
        function()
        times.append(clock() - start)
    return min(times)


def timed(function, *args, **kwargs):
    """What a function returns, and the seconds it took."""
    start = time.perf_counter()
    result = function(*args, **kwargs)
    return result, time.perf_counter() - start


def exponent(sizes, times):
    """Slope of log time over log size."""
    return float(np.polyfit(np.log(sizes), np.log(times), 1)[0])


def peak_megabytes():
    """The most memory this process has held, or NaN where the system is silent.

    Not ``getrusage``: a process inherits that number from the one that started it.
    """
    try:
        with open("/proc/self/status") as file:
            for line in file:
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) / 1024
    except OSError:
        pass
    return float("nan")


def in_process(function, *args, timeout=None, preload=None, **kwargs):
    """Run a function in a process of its own.

    Parameters
    ----------
    function : callable
        A function of a module or script, not of another function.
    *args, **kwargs : objects
        What it is called with.
    timeout : float, default=None
        Seconds after which the process is killed, imports included.
    preload : list of str, default=None
        Modules that processes find imported, for many short calls: they are forked from
        one that has these.

    Returns
    -------
    outcome : dict
        `status`: "ok", "time limit", or the error; with "ok" also `result`,
        `seconds` (of the call) and `peak_mb` (of the process).
    """
    context = multiprocessing.get_context("spawn")
    if preload is not None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(preload)
    ours, theirs = context.Pipe(duplex=False)
    # Not a daemon: those may not start processes, and joblib would use one core.
    process = context.Process(
        target=_call_and_send, args=(theirs, function, args, kwargs)
    )
    process.start()
    theirs.close()
    try:
        outcome = ours.recv() if ours.poll(timeout) else {"status": "time limit"}
    except EOFError:  # killed, for want of memory as a rule
        process.join()
        outcome = {"status": f"ended with code {process.exitcode}"}
    finally:
        process.kill()
        process.join()
    return outcome


def _call_and_send(pipe, function, args, kwargs):
    try:
        # peers are talkative
        with (
            open(os.devnull, "w") as void,
            redirect_stdout(void),
            redirect_stderr(void),
        ):
            result, seconds = timed(function, *args, **kwargs)
        outcome = {
            "status": "ok",
            "result": result,
            "seconds": seconds,
            "peak_mb": peak_megabytes(),
        }
    except ImportError as error:
        outcome = {"status": f"not installed: {error.name}"}
    except Exception as error:
        outcome = {"status": f"{type(error).__name__}: {error}"[:200]}
    pipe.send(outcome)
    pipe.close()


# ------------------------------------------------------------------------- chains


def final_space(score, data, seed=0, **options):
    """The iterative search, which ends with a space and the best DAG in it."""
    return IterativeSearchStructure(score, n_draws=0, random_state=seed, **options).fit(
        data
    )


def tables_of(score, permitted, extended=True):
    """Tables with sums, on the permitted edges."""
    space = make_space(
        permitted, resolve_constraints(len(permitted)), extended=extended
    )
    return build_tables(score, space, sums=True)


def space_of_size(rng, adjacency, n_candidates):
    """Every node has as many candidates: its true parents, and others at random."""
    n = len(adjacency)
    permitted = np.zeros((n, n), dtype=bool)
    for node in range(n):
        # true parents first, the node itself last
        rank = rng.random(n) - adjacency[:, node]
        rank[node] = 2.0
        permitted[np.argsort(rank)[:n_candidates], node] = True
    return permitted


def order_chain(tables, order, seed=0):
    """A chain over orders, parents to the right, with the default moves."""
    n = len(tables)
    return OrderChain(
        TableViews(tables),
        bit_generator((seed,), 0),
        order,
        move_mixture("auto", (6, n, 1)),
    )


def partition_chain(tables, partition, seed=0):
    """A chain over partitions, with the default moves."""
    n = len(tables)
    return PartitionChain(
        TableViews(tables),
        bit_generator((seed,), 0),
        partition,
        move_mixture("auto", partition_moves(n)),
    )


def dag_chain(tables, adjacency, seed=0):
    """A chain over DAGs, with the default moves."""
    n = len(tables)
    return DAGChain(
        TableViews(tables),
        bit_generator((seed,), 0),
        adjacency,
        move_mixture("auto", dag_moves(n)),
    )


def chain_from_dag(kind, tables, adjacency, seed=0):
    """A chain of a kind, "order", "dag" or "partition", that starts at a DAG.

    Over DAGs at the best one of an order of it, for the tables may not have it.
    """
    partition = partition_of_dag(adjacency)
    order = np.argsort(partition, kind="stable")
    if kind == "order":
        return order_chain(tables, order, seed)
    if kind == "dag":
        return dag_chain(tables, tables.best_dag(order), seed)
    return partition_chain(tables, partition, seed)


def draw_dags(chain, n, n_draws, thin):
    """Draw a DAG after every `thin` steps: packed DAGs and their log scores."""
    packed = np.zeros((n_draws, n, -(-n // 8)), dtype=np.uint8)
    log_scores = np.empty(n_draws)
    for draw in range(n_draws):
        chain.run(thin)
        log_scores[draw] = chain.draw_dag(packed[draw])
    return packed, log_scores


def edge_means(packed, n):
    """Share of the packed DAGs that have each edge."""
    counts = np.zeros((n, n))
    for start in range(0, len(packed), 256):
        counts += np.unpackbits(packed[start : start + 256], axis=-1, count=n).sum(
            axis=0, dtype=np.int64
        )
    return counts / max(1, len(packed))


def effective_size(draws):
    """Effective number of draws (Geyer's initial positive sequence)."""
    n = len(draws)
    centered = draws - draws.mean()
    if not centered.any():
        return np.nan
    spectrum = np.fft.rfft(centered, 2 * n)
    acf = np.fft.irfft(np.abs(spectrum) ** 2)[:n]
    acf /= acf[0]
    pairs = acf[: n // 2 * 2].reshape(-1, 2).sum(axis=1)
    stop = np.argmax(pairs < 0) if (pairs < 0).any() else len(pairs)
    return n / max(2.0 * pairs[:stop].sum() - 1.0, 1e-12)


def effective_edges(dags, low=0.05, high=0.95):
    """Median effective number of draws, over the edges that are uncertain."""
    means = dags.mean(axis=0)
    uncertain = np.argwhere((means > low) & (means < high))
    if len(uncertain) == 0:
        return np.nan
    return float(np.median([effective_size(dags[:, i, j]) for i, j in uncertain]))


# -------------------------------------------------------------------------- paper


def read_paper():
    """The paper's own results.

    Returns
    -------
    paper : dict of dict
        Rows by setting (type, n, N, parents), then by (method, value).
    """
    paper = {}
    for row in read_results("paper_reference"):
        setting = tuple(row[key] for key in ("type", "n", "N", "parents"))
        paper.setdefault(setting, {})[row["method"], row["value"]] = row
    return paper


def above_median(sample, median):
    """Standard errors by which a sample's median lies above that of the paper.

    The share of the sample at or below the paper's median is compared with one half.
    The graphs of both are random, so both scatter.
    """
    share = np.mean(np.asarray(sample) <= median + 1e-9)
    return float((0.5 - share) / np.sqrt(0.25 / len(sample) + 0.25 / PAPER_GRAPHS))


def above_mean(sample, mean):
    """The same for means, the paper's values taken to scatter as ours do."""
    deviation = np.std(sample, ddof=1)
    error = deviation * np.sqrt(1 / len(sample) + 1 / PAPER_GRAPHS)
    return float((np.mean(sample) - mean) / error) if error else 0.0


# ------------------------------------------------------------------------ results


def processor():
    """The processor's name."""
    try:
        with open("/proc/cpuinfo") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


@cache
def commit():
    """The checkout's commit, with a plus sign if code has changed since."""
    made = ("benchmarks/results", "docs/images", "docs/tables")  # by the benchmarks

    def git(*arguments):
        return subprocess.run(
            ["git", *arguments], cwd=HERE, capture_output=True, text=True, check=True
        ).stdout.strip()

    try:
        code = [":/", *(f":(exclude,top){path}" for path in made)]
        changed = git("status", "--porcelain", "--untracked-files=no", "--", *code)
        return git("describe", "--always") + ("+" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def installed(package):
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def circumstances(packages=()):
    """What a result depends on beside the code: machine, versions, commit."""
    packages = ("skbidag", "numpy", "scipy", "scikit-learn", "joblib", *packages)
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "commit": commit(),
        "processor": processor(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        **{package: installed(package) for package in packages},
    }


def write_results(name, rows, directory=RESULTS, packages=(), note=""):
    """Write rows, dictionaries, to ``results/<name>.csv``.

    The first lines, which start with ``#``, tell the circumstances; `read_results`
    skips them. A `note` is one of them: that a run was a quick one, for instance.
    Numbers keep six digits. Scripts write after every setting: a run that is cut
    off leaves what it had.
    """
    directory.mkdir(exist_ok=True)
    path = directory / f"{name}.csv"
    columns = list(dict.fromkeys(column for row in rows for column in row))
    about = circumstances(packages)
    if note:
        about["note"] = note
    with open(path, "w", newline="") as file:
        for key, value in about.items():
            file.write(f"# {key}: {value}\n")
        writer = csv.DictWriter(file, columns, restval="", lineterminator="\n")
        writer.writeheader()
        for row in rows:
            cells = (f"{v:.6g}" if isinstance(v, float) else v for v in row.values())
            writer.writerow(dict(zip(row, cells, strict=True)))
    return path


def read_results(name, directory=RESULTS):
    """Rows of ``results/<name>.csv``, numbers as floats."""
    with open(directory / f"{name}.csv", newline="") as file:
        lines = [line for line in file if not line.startswith("#")]
    return [
        {key: number(value) for key, value in row.items()}
        for row in csv.DictReader(lines)
    ]


def read_circumstances(name, directory=RESULTS):
    """What `write_results` noted beside the rows."""
    with open(directory / f"{name}.csv") as file:
        lines = [line[1:].strip() for line in file if line.startswith("#")]
    return dict(line.split(": ", 1) for line in lines if ": " in line)


def earlier_results(name, stays, again):
    """Results that stay as they are when a study is run again in part.

    Parameters
    ----------
    name : str
        Name of the results.
    stays : callable
        Tells of a row whether it stays.
    again : str
        What is run again, for the note.

    Returns
    -------
    rows : list of dict
        The rows that stay.
    note : str
        What the results are of, for `write_results`.
    """
    if not (RESULTS / f"{name}.csv").exists():
        return [], ""
    about = read_circumstances(name)
    note = f"{again}; the rest of commit {about['commit']}"
    if "note" in about:
        note += f", {about['note']}"
    rows = [row for row in read_results(name) if stays(row)]
    return rows, note if rows else ""


def number(text):
    """A float if the text is one, the text otherwise."""
    try:
        return float(text)
    except ValueError:
        return text


class Table:
    """A table that is printed row by row, as the rows come in.

    Parameters
    ----------
    columns : str
        Name and format of each column, as in "n:d seconds:.3f"; ">14" is the format of
        text of up to 14 characters.
    """

    def __init__(self, columns):
        columns = dict(column.split(":") for column in columns.split())
        self.formats = columns
        self.widths = {
            name: max(len(name), 8, int(form[1:]) if form.startswith(">") else 0) + 2
            for name, form in columns.items()
        }
        print("".join(f"{name:>{w}}" for name, w in self.widths.items()), flush=True)

    def add(self, row):
        """Print a row, a dictionary; what it lacks is a dash."""
        line = ""
        for name, width in self.widths.items():
            value = row.get(name)
            lacks = value is None or value == ""
            text = "-" if lacks else format(value, self.formats[name])
            line += f" {text:>{width - 1}}"
        print(line, flush=True)
