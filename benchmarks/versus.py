"""Samplers side by side: ours over orders, DAGs and partitions, and sumu's Gadget.

    python benchmarks/versus.py            # an hour and a half on one core
    python benchmarks/versus.py --quick    # a minute

Equal time: on data of few variables, whose exact posterior is known (exact.py), the
error of the edge probabilities that a sampler reaches in a given time, scores and
tables included. Effective draws: on more variables, how many independent draws of the
uncertain edges a second of sampling is worth, and how long the set-up takes.

All sample from the same posterior: BGe, and sumu's prior over the number of parents
(1 / C(n-1, k), every number is equally probable), which a score of one's own brings
in here. Chains over orders count a DAG once for each of its linear extensions: their
error against the posterior over DAGs does not vanish, and `bias` says what is left of
it with time; for them, `error_order` is the error against their own target.

sumu is left out where it is not installed (``pip install sumu``). It is called as its
README says, with 16 tempered chains, and with 4 and 1 instead, which leave it more
steps in the same time (``--sumu-chains``). It is given a number of steps, not a time: a
short run tells how many fit into the time, and `took` is what they took. The log scores
of its draws are by our score, so that means can be compared.
"""

import argparse
import time

import numpy as np
from common import (
    Table,
    chain_from_dag,
    draw_dags,
    edge_means,
    effective_edges,
    effective_size,
    final_space,
    in_process,
    installed,
    order_chain,
    tables_of,
    timed,
    write_results,
)
from exact import edge_probabilities, local_scores
from scipy.special import gammaln

from skbidag.datasets import make_gaussian_network
from skbidag.scores import BGe

BURN_IN = 0.2


class FairBGe(BGe):
    """BGe with a prior under which every number of parents is equally probable."""

    def log_marginal_likelihood(self, node, parents):
        """Log marginal likelihood, and the prior."""
        return super().log_marginal_likelihood(node, parents) + self._log_prior(
            len(parents)
        )

    def fill_table(self, node, candidates, outsiders, base_column, out):
        """Write the scores of every subset of `candidates` into a table."""
        super().fill_table(node, candidates, outsiders, base_column, out)
        sizes = np.bitwise_count(np.arange(len(out)))
        out[:, base_column] += self._log_prior(sizes)
        out[:, outsiders] += self._log_prior(sizes + 1)[:, None]

    def addition_scores(self, node, parents):
        """Scores of `node` with one more parent, for each variable in turn."""
        return super().addition_scores(node, parents) + self._log_prior(
            len(parents) + 1
        )

    def pair_scores(self, node, parents, others=None):
        """Scores of `node` with two more parents, for each pair of variables."""
        log_scores = super().pair_scores(node, parents, others)
        if log_scores is None:
            return None
        return log_scores + self._log_prior(len(parents) + 2)

    def _log_prior(self, size):
        """Minus the log number of parent sets of this size."""
        n = self.n_features_in_ - 1
        size = np.minimum(size, n)  # no set is larger
        return gammaln(size + 1) + gammaln(n - size + 1) - gammaln(n + 1)


def adjacency_of(families, n):
    """DAG of sumu, pairs of child and parents, as our matrix."""
    adjacency = np.zeros((n, n), dtype=bool)
    for child, *parents in families:
        if parents:
            adjacency[list(parents[0]), child] = True
    return adjacency


def sumu_chains(method):
    """Number of tempered chains of "sumu 4"; None for our own methods."""
    return int(method.split()[1]) if method.startswith("sumu") else None


def run_sumu(X, n_candidates, n_chains, iterations, thinning, seed):
    """DAGs and scores that sumu samples."""
    import random

    import sumu

    np.random.seed(seed)  # noqa: NPY002 (the one sumu uses)
    random.seed(seed)
    dags, log_scores = sumu.Gadget(
        data=sumu.Data(X, discrete=False),
        scoref="bge",
        max_id=-1,
        K=n_candidates,
        d=min(3, X.shape[1] - 1),
        cp_algo="greedy-lite",
        mc3_chains=n_chains,
        burn_in=int(BURN_IN * iterations),
        iterations=iterations,
        thinning=thinning,
        tolerance=2.0**-32,
    ).sample()
    dags = np.stack([adjacency_of(dag, X.shape[1]) for dag in dags])
    return np.packbits(dags, axis=-1), np.array(log_scores)


def sumu_speed(X, n_candidates, n_chains, limit):
    """Seconds that sumu's set-up and one of its steps take; or why not known.

    A step is timed by the difference of two runs: the set-up is part of both.
    """
    # burn-in comes on top of the steps that are asked for
    few, many = 10, 1010
    runs = [
        in_process(run_sumu, X, n_candidates, n_chains, steps, 1, 0, timeout=limit)
        for steps in (few, many)
    ]
    for run in runs:
        if run["status"] != "ok":
            return run["status"]
    short, long = (run["seconds"] for run in runs)
    # a short run that happened to be slow must not make steps look free
    step = max(long - short, 0.1 * long) / ((1 + BURN_IN) * (many - few))
    return max(0.0, short - (1 + BURN_IN) * few * step), step


def run_ours(kind, X, seconds, seed):
    """Edge means of one chain on all parent sets, after so many seconds.

    Draws of the first fifth of the time are dropped.
    """
    start = time.perf_counter()
    n = X.shape[1]
    score = FairBGe(edge_penalty=1.0, prior="paper").fit(X)
    tables = tables_of(score, ~np.eye(n, dtype=bool))
    rng = np.random.default_rng(seed)
    if kind == "order":
        chain = order_chain(tables, rng.permutation(n), seed)
    else:
        chain = chain_from_dag(kind, tables, np.zeros((n, n), dtype=bool), seed)
    while time.perf_counter() - start < BURN_IN * seconds:
        chain.run(100)
    total, n_draws = np.zeros((n, n)), 0
    while n_draws == 0 or time.perf_counter() - start < seconds:
        packed, _ = draw_dags(chain, n, 16, 10)
        total += 16 * edge_means(packed, n)
        n_draws += 16
    return total / n_draws, n_draws


def errors(means, exact):
    difference = means - exact
    return {
        "rmse": float(np.sqrt(np.mean(difference**2))),
        "largest": float(np.abs(difference).max()),
    }


def compare_errors(arguments, note):
    print("\nError of edge probabilities against the exact ones, by time")
    table = Table(
        "n:.0f seconds:.1f method:>9 repeat:.0f draws:.0f rmse:.5f largest:.4f "
        "error_order:.5f bias:.5f took:.1f status:"
    )
    rows = []
    for n in arguments.exact_sizes:
        X = make_gaussian_network(10 * n, n, strengths=(0.1, 1.0), random_state=n).data
        log_scores = local_scores(FairBGe(edge_penalty=1.0, prior="paper").fit(X))
        exact = edge_probabilities(log_scores)
        exact_order = edge_probabilities(log_scores, "order")
        bias = errors(exact_order, exact)["rmse"]
        speeds = {
            method: sumu_speed(X, n - 1, sumu_chains(method), arguments.limit)
            for method in arguments.methods
            if sumu_chains(method)
        }
        for seconds in arguments.seconds:
            for method in arguments.methods:
                speed = speeds.get(method)
                for repeat in range(arguments.repeats):
                    row = {
                        "n": n,
                        "seconds": float(seconds),
                        "method": method,
                        "repeat": repeat,
                        "bias": bias,
                        "status": "ok",
                    }
                    if speed is None:
                        (means, n_draws), took = timed(
                            run_ours, method, X, seconds, repeat
                        )
                    elif isinstance(speed, str):
                        rows.append({**row, "status": speed})
                        table.add(rows[-1])
                        break
                    else:
                        steps = int((seconds - speed[0]) / speed[1] / (1 + BURN_IN))
                        if steps < 10:
                            rows.append({**row, "status": "set-up takes longer"})
                            table.add(rows[-1])
                            break
                        outcome = in_process(
                            run_sumu,
                            X,
                            n - 1,
                            sumu_chains(method),
                            steps,
                            1,
                            repeat,
                            timeout=arguments.limit,
                        )
                        if outcome["status"] != "ok":
                            rows.append({**row, "status": outcome["status"]})
                            table.add(rows[-1])
                            continue
                        packed, took = outcome["result"][0], outcome["seconds"]
                        means, n_draws = edge_means(packed, n), len(packed)
                    row.update(draws=n_draws, took=took, **errors(means, exact))
                    if method == "order":
                        row["error_order"] = errors(means, exact_order)["rmse"]
                    rows.append(row)
                    table.add(row)
            write_results("versus_error", rows, packages=("sumu",), note=note)


def compare_mixing(arguments, note):
    print("\nEffective draws per second of sampling; set-up: scores, tables, space")
    table = Table(
        "n:.0f method:>9 setup:.2f seconds:.1f draws:.0f ess_score:.1f ess_edges:.1f "
        "score:.1f status:"
    )
    rows = []
    for n in arguments.sizes:
        X = make_gaussian_network(10 * n, n, random_state=n).data
        search, search_seconds = timed(
            final_space, FairBGe(edge_penalty=1.0, prior="paper"), X
        )
        tables, table_seconds = timed(tables_of, search.score_, search.search_space_)
        for method in arguments.methods:
            row = {"n": n, "method": method, "status": "ok"}
            if not sumu_chains(method):
                chain = chain_from_dag(method, tables, search.adjacency_)
                # often enough that the draws depend on each other: independent
                # ones would tell how many were asked for, not how many there are
                thin = 10 * n
                chain.run(arguments.draws * thin // 10)
                (packed, log_scores), seconds = timed(
                    draw_dags, chain, n, arguments.draws, thin
                )
                row["setup"] = search_seconds + table_seconds
            else:
                n_candidates = min(n - 1, 12)
                speed = sumu_speed(
                    X, n_candidates, sumu_chains(method), arguments.limit
                )
                if isinstance(speed, str):
                    rows.append({**row, "status": speed})
                    table.add(rows[-1])
                    continue
                steps = max(10, int(arguments.mixing_seconds / speed[1]))
                outcome = in_process(
                    run_sumu,
                    X,
                    n_candidates,
                    sumu_chains(method),
                    steps,
                    max(1, steps // 10_000),
                    0,
                    timeout=arguments.limit + 4 * arguments.mixing_seconds,
                )
                if outcome["status"] != "ok":
                    rows.append({**row, "status": outcome["status"]})
                    table.add(rows[-1])
                    continue
                packed, _ = outcome["result"]
                # by our own score, to compare
                log_scores = np.array(
                    [
                        search.score_.dag_score(np.unpackbits(dag, axis=-1, count=n))
                        for dag in packed
                    ]
                )
                row["setup"] = speed[0]
                seconds = (outcome["seconds"] - speed[0]) / (1 + BURN_IN)
            dags = np.unpackbits(packed, axis=-1, count=n)
            row.update(
                seconds=float(seconds),
                draws=len(packed),
                ess_score=float(effective_size(log_scores) / seconds),
                ess_edges=effective_edges(dags) / seconds,
                score=float(np.mean(log_scores)),
            )
            rows.append(row)
            table.add(row)
            write_results("versus_mixing", rows, packages=("sumu",), note=note)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--exact-sizes",
        type=int,
        nargs="*",
        default=[6, 8, 10],
        help="variables where the posterior is exact",
    )
    parser.add_argument(
        "--seconds",
        type=float,
        nargs="+",
        default=[1, 3, 10, 30],
        help="times to reach an error in",
    )
    parser.add_argument("--repeats", type=int, default=5, help="chains of each kind")
    parser.add_argument(
        "--sizes",
        type=int,
        nargs="+",
        default=[20, 30, 60],
        help="variables for effective draws",
    )
    parser.add_argument(
        "--draws", type=int, default=20_000, help="draws of ours, for effective draws"
    )
    parser.add_argument(
        "--mixing-seconds",
        type=float,
        default=120.0,
        help="time of sumu, for effective draws",
    )
    parser.add_argument(
        "--sumu-chains",
        type=int,
        nargs="+",
        default=[1, 4, 16],
        help="tempered chains of sumu",
    )
    parser.add_argument(
        "--limit", type=float, default=300.0, help="seconds a run of sumu may take"
    )
    parser.add_argument("--quick", action="store_true", help="to see that it works")
    arguments = parser.parse_args()
    note = ""
    if arguments.quick:
        note = "quick run, to be replaced"
        arguments.exact_sizes, arguments.seconds = [6], [0.5, 2.0]
        arguments.repeats, arguments.sizes = 1, [12]
        arguments.draws, arguments.mixing_seconds, arguments.limit = 2000, 1.0, 60.0
    arguments.methods = ["order", "dag", "partition"]
    if installed("sumu") != "not installed":
        arguments.methods += [f"sumu {k}" for k in arguments.sumu_chains]
    else:
        print("sumu is not installed, and left out")
    compare_errors(arguments, note)
    compare_mixing(arguments, note)


if __name__ == "__main__":
    main()
