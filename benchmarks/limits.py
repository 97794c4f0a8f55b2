"""What each hot loop must do at least, what the processor allows, what is reached.

    python benchmarks/limits.py            # half a minute

The least is what the algorithm cannot avoid: bytes that its tables hold or that a
lookup reads, and floating-point operations, with 25 for a logarithm or exponential (a
polynomial and its reduction). The limit is the larger of the two times, at the rates
that are reached on this core in the same run: copies within the cache, where these
tables stay, and half the rate of a product of matrices, since without fused
multiply-add (the price of the same bits on every processor) a multiplication and an
addition are two instructions. The limit knows nothing of latency: of loads that depend
on the one before, of divisions, or of branches on a random number.
"""

import argparse

from common import Table, write_results
from kernels import Workload, calibrations

LOG = 25  # floating-point operations of a logarithm or exponential


def least_work(workload):
    """Bytes and flops of a unit of each loop."""
    n, K = workload.n, workload.n_candidates
    # Order step: the mixture (6, n, 1) / (n + 7) of swaps, which rescore n / 3 nodes,
    # transpositions (2 nodes) and relocations (2 n). One rescoring in n / K reads a
    # row, the others one entry of it, which comes with its cache line.
    share = workload.chain_candidates / n
    rescored = (6 * n / 3 + n * 2 + 2 * n) / (n + 7)
    # Partition step: how many lookups a step takes depends on the blocks: counted.
    chain = workload.chain("partition")
    before = chain.lookup_counts[0]
    chain.run(20_000)
    lookups = (chain.lookup_counts[0] - before) / 20_000
    return {
        # a written entry, whose line is fetched first; three row updates, the
        # residual variance of the child, two logarithms
        "BGe scores": (16, 3 * 2 + 4 + 2 * LOG + 4),
        # 500 rows of one byte per outsider, added up once for each set of candidates
        "BDe scores": (500, 0),
        # scores read and ratios written once in all passes; half of the rows become
        # a combination of two
        "sums": (24 / K, 3 / 2),
        "maxima": (16 / K, 1 / 2),
        "order step": (
            rescored * (share * 8 * n + (1 - share) * 64),
            rescored * (LOG + share * n) + LOG,
        ),
        # two rows per lookup, each entry compared and added, two logarithms
        "partition step": (lookups * 2 * 8 * n, lookups * (2 * 2 * n + 2 * LOG) + LOG),
        # the closed form of a partial correlation and its bound
        "PC test": (3 * 8, 9),
    }


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=7, help="rounds, the best counts")
    parser.add_argument("--quick", action="store_true", help="one round")
    arguments = parser.parse_args()
    rounds = 1 if arguments.quick else arguments.rounds
    note = "quick run, to be replaced" if arguments.quick else ""

    workload = Workload()
    loops, gauges = list(workload.loops()), list(calibrations())
    best = {}
    for _ in range(rounds):
        for loop in loops + gauges:
            best[loop.name] = min(best.get(loop.name, 1e300), loop.nanoseconds(2))
    print(
        f"one core: {1 / best['vector']:.0f} Gflop/s in a product of matrices, "
        f"copies {1 / best['cache']:.0f} GB/s in the cache, "
        f"{1 / best['memory']:.0f} GB/s in memory; "
        f"a random number {best['serial']:.1f} ns"
    )
    table = Table(
        "loop:>15 unit:>14 bytes:.3g flops:.3g limit_ns:.3f reached_ns:.3f share:.0%"
    )
    rows = [
        {"loop": gauge.name, "unit": gauge.unit, "reached_ns": best[gauge.name]}
        for gauge in gauges
    ]
    work = least_work(workload)
    for loop in loops:
        n_bytes, n_flops = work[loop.name]
        limit = max(n_bytes * best["cache"], n_flops * 2 * best["vector"])
        rows.append(
            {
                "loop": loop.name,
                "unit": loop.unit,
                "bytes": float(n_bytes),
                "flops": float(n_flops),
                "limit_ns": limit,
                "reached_ns": best[loop.name],
                "share": limit / best[loop.name],
            }
        )
        table.add(rows[-1])
    write_results("limits", rows, note=note)


if __name__ == "__main__":
    main()
