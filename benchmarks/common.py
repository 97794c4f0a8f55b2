"""What the benchmarks share: clocks, results as files, tables on the screen."""

import csv
import os
import platform
import subprocess
import time
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

HERE = Path(__file__).parent
RESULTS = HERE / "results"
# The paper's own figures, where they lie beside the checkout.
PAPER = HERE.parents[1] / "shared" / "paper"


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


def commit():
    """The checkout's commit, with a plus sign if files have changed since."""
    try:
        return subprocess.run(
            ["git", "describe", "--always", "--dirty=+"],
            cwd=HERE,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
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


def write_results(name, rows, directory=RESULTS, packages=()):
    """Write rows, dictionaries, to ``results/<name>.csv``.

    The first lines, which start with ``#``, tell the circumstances; `read_results`
    skips them. Numbers keep six digits.
    """
    directory.mkdir(exist_ok=True)
    path = directory / f"{name}.csv"
    columns = list(dict.fromkeys(column for row in rows for column in row))
    with open(path, "w", newline="") as file:
        for key, value in circumstances(packages).items():
            file.write(f"# {key}: {value}\n")
        writer = csv.DictWriter(file, columns, restval="", lineterminator="\n")
        writer.writeheader()
        for row in rows:
            writer.writerow({
                key: f"{value:.6g}" if isinstance(value, float) else value
                for key, value in row.items()
            })  # fmt: skip
    return path


def read_results(name, directory=RESULTS):
    """Rows of ``results/<name>.csv``, numbers as floats."""
    with open(directory / f"{name}.csv", newline="") as file:
        lines = [line for line in file if not line.startswith("#")]
    return [
        {key: number(value) for key, value in row.items()}
        for row in csv.DictReader(lines)
    ]


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
    **columns : str
        The format of each column's values, as in ``format(value, ".3f")``.
    """

    def __init__(self, **columns):
        self.formats = columns
        self.widths = {name: max(len(name), 7) + 2 for name in columns}
        print("".join(f"{name:>{w}}" for name, w in self.widths.items()), flush=True)

    def add(self, row):
        """Print a row, a dictionary; what it lacks is a dash."""
        line = ""
        for name, width in self.widths.items():
            value = row.get(name)
            text = "-" if value is None or value == "" else (
                format(value, self.formats[name])
            )  # fmt: skip
            line += f"{text:>{width}}"
        print(line, flush=True)
