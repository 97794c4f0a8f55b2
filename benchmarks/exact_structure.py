"""How long exact answers take, and how much memory, by the number of variables.

Usage: python benchmarks/exact_structure.py [--quick] [--write]

Continuous data of random networks, 500 rows, BGe, everything permitted; CPU seconds of
a whole fit with 500 draws, and the most memory the process held, each fit in a process
of its own. With --write they become benchmarks/results/exact_structure.csv.
"""

import argparse
import time

from common import Table, in_process, peak_megabytes, write_results

from skbidag import ExactStructure
from skbidag.datasets import make_gaussian_network

SIZES = {
    "best DAG alone": [14, 16, 18, 20, 22],
    "order-weighted": [14, 16, 18, 20],
    "over DAGs": [10, 12, 14, 15, 16, 17],
}


def measure(posterior, n):
    """CPU seconds and megabytes of one fit."""
    X = make_gaussian_network(500, n, random_state=n).data
    model = ExactStructure(posterior=posterior, random_state=0)
    before = time.process_time()
    model.fit(X)
    return {
        "posterior": posterior,
        "n": n,
        "seconds": time.process_time() - before,
        "megabytes": peak_megabytes(),
    }


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="the two smallest alone")
    parser.add_argument("--write", action="store_true", help="keep the results")
    args = parser.parse_args()
    table, rows = Table("posterior:>16 n:.0f seconds:.2f megabytes:.0f"), []
    for posterior, sizes in SIZES.items():
        for n in sizes[:2] if args.quick else sizes:
            row = in_process(measure, posterior, n)["result"]
            table.add(row)
            rows.append(row)
    if args.write:
        write_results("exact_structure", rows)


if __name__ == "__main__":
    main()
