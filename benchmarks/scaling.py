"""Time and memory as the problem grows, beside what the algorithms let expect.

    python benchmarks/scaling.py            # 20 minutes, estimated, on one core
    python benchmarks/scaling.py --quick    # a minute
    python benchmarks/scaling.py --grows chains cores    # half a minute
    python benchmarks/scaling.py --what "DAG step"       # a minute
    python benchmarks/scaling.py --what "sparse search" --grows n   # 10 minutes
    python benchmarks/scaling.py --grows threads         # 3 minutes
    python benchmarks/scaling.py --what "search of 100" "sparse search" --grows N cores

One thing grows at a time: the variables n (sparse graphs, one parent on average), the
rows N, the permissible parents K, the chains, the cores and the workers of a Dask
cluster on this machine. Every point runs in a process of its own, whose peak of
resident memory is `peak_mb` (imports take some 150).
Behind each series stands the exponent that its times follow, fitted to the upper half
of the sizes, and what is expected:

- a sparse search (two parents on average, 1000 rows): n² for what looks at all pairs of
  variables, n for tables, and sweeps of n relocations, each among the few that a node
  shares tables with; its seconds are those of the processor, so that other jobs matter
  less; by cores, seconds of the clock, which tell something only on an idle machine;
- the same by threads: seconds of the processor, of the thread that fits and, while it
  waits for others, of the busiest of these. So long as all threads get on alike that is
  what a clock would tell if nothing else ran;
- tables with an extra parent: n² 2^K entries, and K passes over them for the sums, so
  2^(K+1) takes twice the time, and n² it is with K fixed;
- a step over orders: O(1) lookups, each O(n) if the rows of extra parents are added
  up; O(K) here, whatever n; over partitions O(n) and more;
- chains: n² ln n steps, each with the cost of a step;
- a Dask cluster, of processes on this machine: eight long chains, and eight restarts of
  a search, in seconds of the processor: those of the process that fits and of the
  worker that has most to do;
- rows: Gaussian data are read once; categorical tables take time in proportion. The
  search of 100 variables is in seconds of the processor.
"""

import argparse
import math
import os
import threading
import time
import warnings
from collections import defaultdict

import numpy as np
from common import (
    Table,
    best_of,
    chain_from_dag,
    earlier_results,
    exponent,
    in_process,
    paper_score,
    space_of_size,
    tables_of,
    timed,
    write_results,
)

from skbidag import (
    IterativeSearchStructure,
    OrderMCMCStructure,
    PartitionMCMCStructure,
    _parallel,
)
from skbidag._pc import pc_skeleton
from skbidag.datasets import make_discrete_network, make_gaussian_network
from skbidag.scores import BDe


def gaussian(n, N, seed=0):
    return make_gaussian_network(N, n, expected_parents=1.0, random_state=seed)


# Each of these runs in a process of its own and returns seconds.


def search_seconds(n, N):
    """The whole search, PC included."""
    X = gaussian(n, N).data
    warnings.simplefilter("ignore")  # permissible sets that are trimmed
    model = IterativeSearchStructure(paper_score(), n_draws=0, random_state=0)
    return timed(model.fit, X)[1]


def sparse_search_seconds(n, N=1000, n_jobs=1, clock=time.process_time):
    """The whole search among many variables, or with many rows."""
    X = make_gaussian_network(N, n, expected_parents=2.0, random_state=0).data
    warnings.simplefilter("ignore")
    model = IterativeSearchStructure(n_draws=0, random_state=0, n_jobs=n_jobs)
    began = clock()
    model.fit(X)
    return clock() - began


def busiest_seconds(n, n_jobs):
    """The whole search among many variables, whatever else runs on the machine."""
    seconds, waited = defaultdict(float), []
    run_block = _parallel._run_block

    def timed_block(function, items):
        began = time.thread_time()
        results = run_block(function, items)
        seconds[threading.get_ident()] += time.thread_time() - began
        return results

    class Waiting(_parallel.Parallel):
        def __call__(self, blocks):
            seconds.clear()
            results = super().__call__(blocks)
            waited.append(max(seconds.values()))
            return results

    _parallel._run_block, _parallel.Parallel = timed_block, Waiting
    return sparse_search_seconds(n, 1000, n_jobs, time.thread_time) + sum(waited)


def discrete_search_seconds(n, N):
    X = make_discrete_network(N, n, expected_parents=1.0, random_state=0).data
    warnings.simplefilter("ignore")
    model = IterativeSearchStructure(BDe(edge_penalty=1.0), n_draws=0, random_state=0)
    return timed(model.fit, X)[1]


def pc_seconds(n, N):
    X = gaussian(n, N).data
    alpha = min(0.4, 20 / n)
    return timed(pc_skeleton, X, alpha=alpha)[1]


def table_seconds(n, K):
    """Scores and sums of all nodes, K permissible parents each."""
    score, permitted, _ = small_problem(n, K)
    return timed(tables_of, score, permitted)[1]


def step_seconds(kind, n, K):
    """A step in equilibrium."""
    score, permitted, adjacency = small_problem(n, K)
    chain = chain_from_dag(kind, tables_of(score, permitted), adjacency)
    n_steps = 1000
    while (elapsed := timed(chain.run, n_steps)[1]) < 0.1:  # also the burn-in
        n_steps *= 2
    repeats = max(3, min(10, math.ceil(1 / elapsed)))
    return best_of(lambda: chain.run(n_steps), repeats, time.thread_time) / n_steps


def small_problem(n, K):
    network = gaussian(n, 10 * n)
    rng = np.random.default_rng(0)
    permitted = space_of_size(rng, network.adjacency, min(K, n - 1))
    return paper_score().fit(network.data), permitted, network.adjacency


def sampling_seconds(kind, n, n_chains, n_jobs, length=20):
    """Sampling on a given space: tables and chains of `length` n² ln n steps."""
    network = gaussian(n, 10 * n)
    permitted = space_of_size(np.random.default_rng(0), network.adjacency, 6)
    Sampler, walk = {
        "order": (OrderMCMCStructure, {}),
        "dag": (PartitionMCMCStructure, {}),
        "partition": (PartitionMCMCStructure, {"walk": "partitions"}),
    }[kind]
    warnings.simplefilter("ignore")
    model = Sampler(
        paper_score(),
        **walk,
        search_space=permitted,
        n_chains=n_chains,
        n_jobs=n_jobs,
        n_iter=max(25_000, math.ceil(length * n**2 * math.log(n))),
        random_state=0,
    )
    return timed(model.fit, network.data)[1]


def restart_seconds(n, n_restarts):
    """A search with restarts, and one more search on what they found."""
    X = gaussian(n, 2 * n).data
    warnings.simplefilter("ignore")
    model = IterativeSearchStructure(
        paper_score(), n_restarts=n_restarts, n_draws=0, n_jobs=-1, random_state=0
    )
    return timed(model.fit, X)[1]


def cluster_seconds(n_workers, function, *args):
    """What a Dask cluster of processes on this machine takes.

    In seconds of the processor: those of this process, which searches, makes tables and
    sends them, and those of the worker that has most to do.
    """
    import joblib
    from dask.distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=n_workers, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
        joblib.parallel_config(backend="dask"),
    ):
        before, began = client.run(time.process_time), time.process_time()
        function(*args)
        own, after = time.process_time() - began, client.run(time.process_time)
        return own + max(after[worker] - before[worker] for worker in after)


def series(quick):
    """Name, what grows, its sizes, function of a size, its arguments, expectation."""
    cores = sorted({1, 2, os.cpu_count()} - {0})
    # chains for the cores are long: processes take a second to start
    full = [
        ("search", "n", [50, 100, 200, 500, 1000], search_seconds,
         lambda n: (n, 2 * n), "n² 2^K tables, more as K grows"),
        ("sparse search", "n", [300, 500, 1000, 2000, 5000], sparse_search_seconds,
         lambda n: (n,), "n to n²"),
        ("PC", "n", [50, 100, 200, 500, 1000], pc_seconds,
         lambda n: (n, 2 * n), "n² or more"),
        ("tables", "n", [50, 100, 200, 400], table_seconds,
         lambda n: (n, 8), "n²"),
        ("order step", "n", [25, 50, 100, 200, 400, 800], step_seconds,
         lambda n: ("order", n, 6), "constant (n if rows were added up)"),
        ("DAG step", "n", [25, 50, 100, 200, 400], step_seconds,
         lambda n: ("dag", n, 6), "constant, as over orders"),
        ("partition step", "n", [50, 100, 200, 400], step_seconds,
         lambda n: ("partition", n, 6), "n² (blocks grow with n)"),
        ("order chain", "n", [50, 100, 200], sampling_seconds,
         lambda n: ("order", n, 1, 1), "n² ln n"),
        ("DAG chain", "n", [50, 100, 200], sampling_seconds,
         lambda n: ("dag", n, 1, 1), "n² ln n"),
        ("partition chain", "n", [25, 50, 100], sampling_seconds,
         lambda n: ("partition", n, 1, 1), "n⁴ ln n"),
        ("search", "N", [1000, 10_000, 100_000, 1_000_000], search_seconds,
         lambda N: (50, N), "N, from when reading the data is what takes time"),
        ("search of 100", "N", [10_000, 100_000, 1_000_000], sparse_search_seconds,
         lambda N: (100, N), "N, once, from when reading is what takes time"),
        ("discrete search", "N", [1000, 10_000, 100_000], discrete_search_seconds,
         lambda N: (20, N), "N"),
        ("tables", "2^K", [2**K for K in range(8, 19, 2)], table_seconds,
         lambda size: (20, size.bit_length() - 1), "2^K K"),
        ("order step", "K", [2, 4, 6, 8, 10, 12], step_seconds,
         lambda K: ("order", 80, K), "K"),
        ("DAG step", "K", [2, 4, 6, 8, 10, 12], step_seconds,
         lambda K: ("dag", 80, K), "K"),
        ("partition step", "K", [2, 4, 6, 8, 10, 12], step_seconds,
         lambda K: ("partition", 80, K), "constant"),
        ("order sampling", "chains", [1, 2, 4, 8], sampling_seconds,
         lambda chains: ("order", 80, chains, 1), "chains"),
        ("order sampling", "cores", cores, sampling_seconds,
         lambda jobs: ("order", 80, 4, jobs, 400), "1/cores"),
        ("order sampling", "Dask workers", [1, 2, 4], cluster_seconds,
         lambda workers: (workers, sampling_seconds, "order", 80, 8, -1, 200),
         "1/workers, and sending the tables"),
        ("search, 8 restarts", "Dask workers", [1, 2, 4], cluster_seconds,
         lambda workers: (workers, restart_seconds, 200, 8),
         "1/workers, and the last search"),
        ("sparse search", "cores", cores, sparse_search_seconds,
         lambda jobs: (1000, 1000, jobs, time.perf_counter), "1/cores in part"),
        *[(f"sparse search, {n}", "threads", [1, 2], busiest_seconds,
           lambda threads, n=n: (n, threads), "1/threads in part")
          for n in (400, 1000, 2000)],
        ("DAG sampling", "cores", cores, sampling_seconds,
         lambda jobs: ("dag", 80, 4, jobs, 400), "1/cores"),
    ]  # fmt: skip
    if not quick:
        return full
    # the two smallest sizes of a few of them
    wanted = {("tables", "2^K"), ("order step", "n"), ("search", "N")}
    return [(s[0], s[1], s[2][:2], *s[3:]) for s in full if s[:2] in wanted]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--limit", type=float, default=900.0, help="seconds a point may take"
    )
    parser.add_argument(
        "--largest",
        type=float,
        default=math.inf,
        help="leave out larger sizes, whose results stay",
    )
    parser.add_argument(
        "--smallest",
        type=float,
        default=0.0,
        help="the same of smaller ones",
    )
    parser.add_argument(
        "--grows",
        nargs="+",
        metavar="WHAT",
        help="only the series in n, N, 2^K, K, chains, cores, threads or 'Dask "
        "workers'; the others' results stay",
    )
    parser.add_argument(
        "--what",
        nargs="+",
        metavar="SERIES",
        help='only these series, such as "DAG step"; the others\' results stay',
    )
    parser.add_argument("--quick", action="store_true", help="to see that it works")
    arguments = parser.parse_args()
    note = "quick run, to be replaced" if arguments.quick else ""

    def wanted(what, grows):
        return grows in (arguments.grows or [grows]) and what in (
            arguments.what or [what]
        )

    def within(size):
        return arguments.smallest <= size <= arguments.largest

    rows = []
    if arguments.grows or arguments.what or arguments.smallest:
        again = [*(arguments.what or ["the series"]), "in", *(arguments.grows or "")]
        rows, note = earlier_results(
            "scaling",
            lambda row: not (wanted(row["what"], row["grows"]) and within(row["size"])),
            " ".join(again).removesuffix(" in"),
        )

    table = Table(
        "what:>18 grows: size:.0f seconds:.3g peak_mb:.0f exponent:.2f status:>10 "
        "expected:"
    )
    for what, grows, sizes, function, arguments_of, expected in series(arguments.quick):
        if not wanted(what, grows):
            continue
        new = [row for row in rows if (row["what"], row["grows"]) == (what, grows)]
        rows = [row for row in rows if row not in new]
        sizes = [size for size in sizes if within(size)]
        for size in sizes:
            outcome = in_process(function, *arguments_of(size), timeout=arguments.limit)
            row = {
                "what": what,
                "grows": grows,
                "size": size,
                "status": outcome["status"],
            }
            if outcome["status"] == "ok":
                row.update(seconds=outcome["result"], peak_mb=outcome["peak_mb"])
            new = sorted([*new, row], key=lambda row: row["size"])
            if size == sizes[-1]:
                for r in new:
                    r.update(exponent="", expected="")
                done = [r for r in new if r["status"] == "ok"]
                upper = done[min(len(done) // 2, len(done) - 2) :]
                if len(done) > 1:
                    new[-1]["exponent"] = exponent(
                        [r["size"] for r in upper], [r["seconds"] for r in upper]
                    )
                new[-1]["expected"] = expected
            table.add(row)
            write_results("scaling", rows + new, note=note)
        rows += new


if __name__ == "__main__":
    main()
