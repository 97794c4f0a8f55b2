"""Load: long chains, killed workers, interrupts, want of memory, and large files.

    python benchmarks/load.py            # all; two hours on one core
    python benchmarks/load.py --quick    # a minute
    python benchmarks/load.py --what soak --steps 1e8

soak        a chain of --steps steps over orders and one over DAGs, 40 variables, and
            one over partitions with a tenth of that. `drift`: the largest difference
            of a node's running score from one that is looked up afresh, in nats, at
            fifty moments; `grown`: megabytes that the process has at the end beyond
            what it had after a tenth of the steps
workers     chains on a local Dask cluster of two processes, one of which is killed
            while chains run, several times: is every draw the same as without a
            cluster, bit for bit?
interrupts  SIGINT at random moments of many fits with ``warm_start``: an estimator
            then has none of its results or all of them, and fit goes on to the same
            draws, bit for bit, as one that was not interrupted
memory      many fits, each in a process of its own whose address space is limited
            (RLIMIT_AS) to a random number of megabytes beyond what it has, or with a
            random `memory_limit`: a fit ends well, or with a MemoryError (or another
            error that says so), and afterwards, without the limit, all is as ever
rows        the command line on a file of --rows rows: seconds and megabytes

A row of the results is one trial; `bad` ones are listed at the end, and the exit code
is 1 if there are any.
"""

import argparse
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
from common import (
    Table,
    chain_from_dag,
    earlier_results,
    final_space,
    in_process,
    order_chain,
    partition_chain,
    tables_of,
    write_results,
)

from skbidag import OrderMCMCStructure, PartitionMCMCStructure
from skbidag.datasets import make_gaussian_network
from skbidag.scores import BGe

ESTIMATORS = {"orders": OrderMCMCStructure, "DAGs": PartitionMCMCStructure}


def same_draws(first, second):
    """Whether two fits have drawn the same, bit for bit."""
    return np.array_equal(
        first.dag_samples_.packed, second.dag_samples_.packed
    ) and np.array_equal(first.log_score_trace_, second.log_score_trace_)


def resident_megabytes():
    """Memory of this process at present."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / 2**20


# --------------------------------------------------------------------------- soak


def fresh_scores(kind, tables, chain):
    """Scores of the nodes where a chain is, looked up by another one."""
    if kind == "partition":
        return partition_chain(tables, chain.partition).node_scores
    return order_chain(tables, chain.order).node_scores


def soak(kind, n_steps, n=40, moments=50):
    """One long chain: drift and memory."""
    made = make_gaussian_network(400, n, random_state=1)
    score = BGe().fit(made.data)
    found = final_space(BGe(), made.data)
    tables = tables_of(score, found.search_space_)
    chain = chain_from_dag(kind, tables, found.adjacency_)
    drift, early = 0.0, None
    began = time.process_time()
    for moment in range(moments):
        # a number of steps at which no sum has just been added up afresh
        chain.run(int(n_steps) // moments + 4321)
        fresh = fresh_scores(kind, tables, chain)
        drift = max(drift, float(np.abs(chain.node_scores - fresh).max()))
        if moment == moments // 10:
            early = resident_megabytes()
    grown = resident_megabytes() - early
    return {
        "case": f"{kind}, {n_steps:.0e} steps",
        "outcome": "ok" if drift < 1e-6 and grown < 16 else "bad",
        "drift": drift,
        "grown": grown,
        "seconds": time.process_time() - began,
    }


# ------------------------------------------------------------------------ workers


def on_killed_workers(name, n_chains, n_kills, seed):
    """A fit on a cluster whose workers are killed, beside one on this machine."""
    import distributed
    import joblib

    data = make_gaussian_network(200, 30, random_state=seed).data
    # the search is not what is tried here
    settings = {
        "search_space": "pc",
        "n_chains": n_chains,
        "n_iter": 1_000_000,
        "n_draws": 200,
        "random_state": seed,
    }
    warnings.simplefilter("ignore")
    whole = ESTIMATORS[name](**settings).fit(data)
    killed = []
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        done = threading.Event()

        def kill():
            rng = np.random.default_rng(seed)
            while len(killed) < n_kills and not done.wait(2.0 + rng.random()):
                alive = list(client.run(os.getpid, on_error="ignore").values())
                if len(alive) == 2:
                    os.kill(alive[int(rng.integers(2))], signal.SIGKILL)
                    killed.append(time.perf_counter())

        killer = threading.Thread(target=kill)
        killer.start()
        try:
            with joblib.parallel_config(backend="dask", client=client):
                model = ESTIMATORS[name](**settings, n_jobs=n_chains).fit(data)
        finally:
            done.set()
            killer.join()
    return {
        "case": f"{name}, {n_chains} chains, {len(killed)} workers killed",
        "outcome": "ok" if killed and same_draws(model, whole) else "bad",
    }


# --------------------------------------------------------------------- interrupts


def interrupted_fit(name, data, settings, delay):
    """A fit that is interrupted after a delay; where it was, and the estimator."""
    model = ESTIMATORS[name](**settings, warm_start=True)
    signal.setitimer(signal.ITIMER_REAL, delay)
    try:
        model.fit(data)
        where = "not reached"
    except KeyboardInterrupt:
        where = "fitted in part" if hasattr(model, "dag_samples_") else "not fitted"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return where, model


def interrupts(n_fits, n_iter=300_000, seed=0):
    """Many fits that are interrupted at random moments."""
    warnings.simplefilter("ignore")

    # what Ctrl-C does
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    rng = np.random.default_rng(seed)
    for trial in range(n_fits):
        name = list(ESTIMATORS)[trial % 2]
        data = make_gaussian_network(100, 12, random_state=trial % 4).data
        settings = {"n_iter": n_iter, "n_draws": 100, "random_state": trial % 4}
        began = time.perf_counter()
        whole = ESTIMATORS[name](**settings).fit(data)
        took = time.perf_counter() - began
        where, model = interrupted_fit(name, data, settings, rng.uniform(0.001, took))
        try:
            if where != "not fitted":
                model.score_samples(data[:3])
            model.fit(data)
            outcome = "ok" if same_draws(model, whole) else "bad: other draws"
        except Exception as error:
            outcome = f"bad: {type(error).__name__}: {error}"[:200]
        yield {"case": f"{name}: {where}", "outcome": outcome}


# ------------------------------------------------------------------------- memory


def starved_fit(name, megabytes, limited, seed):
    """A fit with little memory, and one without a limit after it."""
    warnings.simplefilter("ignore")
    data = make_gaussian_network(100, 40, random_state=seed).data
    settings = {"n_iter": 20_000, "n_draws": 20, "random_state": seed}
    whole = ESTIMATORS[name](**settings)
    # OpenBLAS takes its memory at the first product, and ends the process otherwise
    ESTIMATORS[name](n_iter=1000, n_draws=2).fit(data[:, :8])
    limit = int(megabytes * 2**20)
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    if limited == "RLIMIT_AS":
        with open("/proc/self/statm") as file:
            present = int(file.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (present + limit, hard))
        model = ESTIMATORS[name](**settings)
    else:
        model = ESTIMATORS[name](**settings, memory_limit=limit)
    try:
        model.fit(data)
        said = "ended well"
    except MemoryError as error:
        said = f"MemoryError: {error}"
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
    resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
    if said != "ended well":
        model.set_params(memory_limit=None).fit(data)
    whole.fit(data)
    # less memory may mean a smaller space, which is said by a warning
    same = limited == "memory_limit" or same_draws(model, whole)
    return said, same


def memory(n_fits, seed=0):
    """Many fits with a random amount of memory."""
    rng = np.random.default_rng(seed)
    for trial in range(n_fits):
        name = list(ESTIMATORS)[trial % 2]
        limited = ["RLIMIT_AS", "memory_limit"][trial // 2 % 2]
        megabytes = float(np.exp(rng.uniform(np.log(0.1), np.log(200))))
        found = in_process(starved_fit, name, megabytes, limited, trial, timeout=300)
        said, same = found.get("result", (found["status"], False))
        clear = said == "ended well" or "emory" in said
        yield {
            "case": f"{name}, {limited}",
            "megabytes": megabytes,
            "outcome": "ok" if clear and same else "bad",
            "said": said[:160],
        }


# --------------------------------------------------------------------------- rows


def large_file(n_rows, n=10):
    """The command line on a large file."""
    made = make_gaussian_network(int(n_rows), n, random_state=0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.csv"
        header = ",".join(f"x{j}" for j in range(n))
        np.savetxt(path, made.data, "%.6f", ",", header=header, comments="")
        megabytes = path.stat().st_size / 2**20
        del made
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run = subprocess.run(
            [
                *(sys.executable, "-m", "skbidag", "learn", str(path)),
                *("--out", str(Path(folder) / "out"), "--seed", "0", "--quiet"),
            ],
            capture_output=True,
            text=True,
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        there = (Path(folder) / "out" / "report.html").exists()
    return {
        "case": f"{n_rows:.0e} rows, {megabytes:.0f} MB",
        "outcome": "ok" if run.returncode == 0 and there else "bad",
        "said": run.stderr[-160:].strip().replace("\n", " "),
        "seconds": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        "megabytes": after.ru_maxrss / 1024,
    }


# --------------------------------------------------------------------------- main


def trials(what, arguments):
    """Rows of one kind of trial."""
    if what == "soak":
        for kind, share in (("order", 1), ("dag", 1), ("partition", 0.1)):
            found = in_process(soak, kind, arguments.steps * share)
            yield found.get("result", {"case": kind, "outcome": found["status"]})
    elif what == "workers":
        for trial in range(arguments.clusters):
            name = list(ESTIMATORS)[trial % 2]
            found = in_process(
                on_killed_workers,
                *(name, arguments.chains, 3, trial),
                timeout=600,
            )
            yield found.get("result", {"case": name, "outcome": found["status"]})
    elif what == "interrupts":
        yield from interrupts(arguments.fits)
    elif what == "memory":
        yield from memory(arguments.starved)
    else:
        yield large_file(arguments.rows)


WHAT = ["soak", "workers", "interrupts", "memory", "rows"]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--what", nargs="+", choices=WHAT, default=WHAT)
    parser.add_argument("--steps", type=float, default=1e9, help="of the soak")
    parser.add_argument("--clusters", type=int, default=4, help="fits on a cluster")
    parser.add_argument("--chains", type=int, default=64, help="of a fit on a cluster")
    parser.add_argument("--fits", type=int, default=100, help="that are interrupted")
    parser.add_argument("--starved", type=int, default=60, help="fits for want of it")
    parser.add_argument("--rows", type=float, default=1e6, help="of the file")
    parser.add_argument("--quick", action="store_true", help="to see that it works")
    arguments = parser.parse_args()
    rows, note = [], ""
    if arguments.quick:
        note = "quick run, to be replaced"
        arguments.what = [what for what in arguments.what if what != "workers"]
        arguments.steps, arguments.fits, arguments.starved = 1e5, 4, 2
        arguments.rows = 1e3
    elif arguments.what != WHAT:
        rows, note = earlier_results(
            "load",
            lambda row: row["what"] not in arguments.what,
            ", ".join(arguments.what),
        )
    table = Table(
        "what:>10 case:>40 outcome:>10 drift:.1e grown:.1f seconds:.1f megabytes:.1f "
        "said:"
    )
    for what in arguments.what:
        for row in trials(what, arguments):
            rows.append({"what": what} | row)
            table.add(rows[-1])
            write_results("load", rows, packages=("dask",), note=note)
    counts = Counter((row["what"], row["outcome"]) for row in rows)
    for (what, outcome), count in counts.items():
        print(f"{what}: {count} {outcome}")
    return int(any(row["outcome"] != "ok" for row in rows))


if __name__ == "__main__":
    sys.exit(main())
