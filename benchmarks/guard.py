"""Regression guard: no hot loop may take twice as long as it did.

    python benchmarks/guard.py             # half a minute; exit code 1 if it fails
    python benchmarks/guard.py --update    # take the present speeds for the baseline

Every loop is timed in turn with fixed work that no change of skbidag touches: random
numbers, a product of matrices, copies within the cache and in memory. What is compared
with the baseline, ``results/guard.json``, are the ratios to these: on another
processor both change. A loop counts as slower only by the least of its ratios, so
that a machine with, say, slow memory is no regression. The clock is the thread's own:
other work on the machine costs little, and the best of several rounds less.
"""

import argparse
import json
import sys

from common import RESULTS, Table, circumstances
from kernels import Workload, calibrations

BASELINE = RESULTS / "guard.json"
LARGEST_SLOWDOWN = 2.0


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


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=7, help="rounds, the best counts")
    parser.add_argument("--update", action="store_true", help="write the baseline")
    arguments = parser.parse_args()

    times, gauges, units = measure(arguments.rounds)
    if arguments.update:
        BASELINE.parent.mkdir(exist_ok=True)
        BASELINE.write_text(
            json.dumps(
                {
                    "circumstances": circumstances(),
                    "times": {name: float(f"{t:.4g}") for name, t in times.items()},
                    "calibrations": {
                        name: float(f"{t:.4g}") for name, t in gauges.items()
                    },
                },
                indent=2,
            )
            + "\n"
        )
        print(f"wrote {BASELINE}")
    baseline = json.loads(BASELINE.read_text())

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
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
