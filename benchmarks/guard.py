"""Regression guard: no hot loop may take twice as long as it did, no result be worse.

    python benchmarks/guard.py             # a minute; exit code 1 if it fails
    python benchmarks/guard.py --only speed
    python benchmarks/guard.py --update    # take the present numbers for the baseline

Speed: every loop is timed in turn with fixed work that no change of skbidag touches:
random numbers, a product of matrices, copies within the cache and in memory. What is
compared with the baseline, ``results/guard.json``, are the ratios to these: on another
processor both change. A loop counts as slower only by the least of its ratios, so
that a machine with, say, slow memory is no regression. The clock is the thread's own:
other work on the machine costs little, and the best of several rounds less.

Accuracy: a small fixed study (``accuracy.py``), whose errors, distances and average
precision must not be worse than in the baseline by more than random states explain:
the baseline has their scatter over several. The study uses the first few of these
states, so that without a change its numbers lie within what the baseline is made of.
"""

import argparse
import json
import sys

import accuracy
from common import RESULTS, Table, circumstances
from kernels import Workload, calibrations

BASELINE = RESULTS / "guard.json"
LARGEST_SLOWDOWN = 2.0
BASELINE_STATES = 8


# -------------------------------------------------------------------------- speed


def measure(rounds):
    """Best times in nanoseconds, of loops and calibrations in turn."""
    loops = list(Workload().loops())
    gauges = list(calibrations())
    best = {}
    for k in range(rounds):
        print(f"\rround {k + 1} of {rounds}", end="", file=sys.stderr, flush=True)
        for loop in loops + gauges:
            best[loop.name] = min(best.get(loop.name, 1e300), loop.nanoseconds(2))
    print(file=sys.stderr)
    return (
        {loop.name: best[loop.name] for loop in loops},
        {gauge.name: best[gauge.name] for gauge in gauges},
        {loop.name: loop.unit for loop in loops},
    )


def slowdown(name, times, gauges, baseline):
    """By how much a loop is slower than the machine explains."""
    slower = times[name] / baseline["times"][name]
    return min(
        slower / (gauges[gauge] / then)
        for gauge, then in baseline["calibrations"].items()
    )


def speed_baseline(rounds):
    """Present speeds, as the baseline holds them."""
    times, gauges, _ = measure(rounds)
    return {
        "circumstances": circumstances(),
        "times": {name: float(f"{t:.4g}") for name, t in times.items()},
        "calibrations": {name: float(f"{t:.4g}") for name, t in gauges.items()},
    }


def check_speed(rounds, baseline):
    """Print the times; the names of loops that have become too slow."""
    times, gauges, units = measure(rounds)
    print("Times in nanoseconds; the baseline is of another time or machine")
    table = Table("loop:>15 now:.3f baseline:.3f unit:>14 slower:.2f verdict:")
    for name, now in gauges.items():
        table.add(
            {
                "loop": name,
                "now": now,
                "baseline": baseline["calibrations"][name],
                "unit": "calibration",
            }
        )
    failed = []
    for name, now in times.items():
        row = {"loop": name, "now": now, "unit": units[name], "verdict": "new"}
        if name in baseline["times"]:
            slower = slowdown(name, times, gauges, baseline)
            ok = slower <= LARGEST_SLOWDOWN
            row.update(
                baseline=baseline["times"][name],
                slower=slower,
                verdict="ok" if ok else "SLOWER",
            )
            if not ok:
                failed.append(name)
        table.add(row)
    if failed:
        print(f"More than {LARGEST_SLOWDOWN:g} times as slow: {', '.join(failed)}")
    return failed


# ----------------------------------------------------------------------- accuracy


def accuracy_baseline():
    """Present accuracy, as the baseline holds it."""
    return {
        "circumstances": circumstances(),
        "numbers": {
            name: {key: float(f"{value:.6g}") for key, value in number.items()}
            for name, number in accuracy.summarize(
                accuracy.measure(BASELINE_STATES)
            ).items()
        },
    }


def check_accuracy(now, baseline):
    """Print a study's numbers; the names of those that are worse."""
    print(
        "Accuracy; `chance` is by how much a number may be worse for another path of "
        "the chains"
    )
    table = Table("what:>30 now:.4f baseline:.4f worse:+.4f chance:.4f verdict:")
    failed = []
    for name, number in now.items():
        row = {"what": name, "now": number["mean"], "verdict": "new"}
        if name in baseline["numbers"]:
            then = baseline["numbers"][name]
            worse, chance = accuracy.worse(name, number, then)
            ok = worse <= chance
            row.update(
                baseline=then["mean"],
                worse=worse,
                chance=chance,
                verdict="ok" if ok else "WORSE",
            )
            if not ok:
                failed.append(name)
        table.add(row)
    if failed:
        print(f"Worse than by chance: {', '.join(failed)}")
    return failed


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=7, help="rounds, the best counts")
    parser.add_argument("--only", choices=["speed", "accuracy"], help="one of the two")
    parser.add_argument("--update", action="store_true", help="write the baseline")
    arguments = parser.parse_args()
    watched = [arguments.only] if arguments.only else ["speed", "accuracy"]

    if arguments.update:
        baseline = json.loads(BASELINE.read_text()) if BASELINE.exists() else {}
        if "speed" in watched:
            baseline["speed"] = speed_baseline(arguments.rounds)
        if "accuracy" in watched:
            baseline["accuracy"] = accuracy_baseline()
        BASELINE.write_text(json.dumps(baseline, indent=2) + "\n")
        print(f"wrote {BASELINE}")
    baseline = json.loads(BASELINE.read_text())
    failed = []
    if "speed" in watched:
        failed += check_speed(arguments.rounds, baseline["speed"])
    if "accuracy" in watched:
        now = accuracy.summarize(accuracy.measure())
        failed += check_accuracy(now, baseline["accuracy"])
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
