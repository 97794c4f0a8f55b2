"""Speed of the score tables: scores, sums and maxima, in time per entry.

An entry is one number of a table: one parent set. The passes of the sums and maxima
visit each row once per candidate, so their unit is the entry and pass. Every number
is the best of several runs on one core. Fresh memory costs as much as some of the
arithmetic (the system hands it out page by page), so the single steps run on arrays
that are there; "scores and sums" is a node's table from nothing, memory included.
"""

import argparse
import sys

import numpy as np
from common import best_of, paper_score

from skbidag._core._subsets import subset_maxima, subset_sums
from skbidag._search_space import SearchSpace
from skbidag._tables import score_table
from skbidag._workspace import Workspace


def gaussian_data(rng, n_samples, n):
    """Columns that each depend on two of the columns before."""
    X = rng.normal(size=(n_samples, n))
    for j in range(2, n):
        X[:, j] += X[:, rng.choice(j, 2, replace=False)] @ rng.uniform(0.4, 2.0, 2)
    return X / X.std(axis=0)


def binary_data(rng, n_samples, n):
    """Columns that each copy one of the columns before, four times in five."""
    X = rng.integers(0, 2, size=(n_samples, n))
    for j in range(1, n):
        X[:, j] ^= X[:, rng.integers(j)] ^ (rng.random(n_samples) < 0.2)
    return X


def layout(n, n_candidates, node=0):
    """Candidates, outsiders and an empty table of one node, extra parent allowed."""
    candidates = np.arange(1, n_candidates + 1)
    outsiders = np.setdiff1d(np.arange(n), np.append(node, candidates))
    out = np.full((2**n_candidates, -(-n // 4) * 4), -np.inf)
    return candidates, outsiders, out


def report(what, setting, value, unit, target=None):
    verdict = ""
    if target is not None:
        verdict = f"{target:>6g}  {'ok' if value <= target else 'MISSED'}"
    print(f"{what:<24}{setting:<20}{value:>8.2f} {unit:<18}{verdict}", flush=True)
    return target is None or value <= target


def time_gaussian(score, n_candidates, repeats, targets=False):
    """Time BGe's scores, and their sums and maxima, for one node."""
    n = score.n_features_in_
    candidates, outsiders, out = layout(n, n_candidates)
    entries, setting = out.size, f"n={n} K={n_candidates}"
    seconds = best_of(
        lambda: score.fill_table(0, candidates, outsiders, 0, out), repeats
    )
    ok = report(
        "BGe scores",
        setting,
        1e9 * seconds / entries,
        "ns/entry",
        30.0 if targets else None,
    )

    ratios, log_sums = np.empty_like(out), np.empty(len(out))
    seconds = best_of(lambda: subset_sums(out, 0, ratios, log_sums), repeats)
    ok &= report(
        "sums",
        setting,
        1e9 * seconds / entries / n_candidates,
        "ns/entry and pass",
        10.0 if targets else None,
    )

    alone, sums_alone = np.ascontiguousarray(out[:, :1]), np.empty((len(out), 1))
    seconds = best_of(lambda: subset_sums(alone, 0, sums_alone, log_sums), repeats)
    ok &= report(
        "sums, no extra parent",
        setting,
        1e9 * seconds / len(out) / n_candidates,
        "ns/entry and pass",
        10.0 if targets else None,
    )

    permitted, extra, required = np.zeros((3, n, n), dtype=bool)
    permitted[candidates, 0] = True
    extra[outsiders, 0] = True
    space = SearchSpace(permitted, extra, required, True)
    workspace = Workspace()

    def scores_and_sums():
        table = score_table(score, space, 0, workspace)
        table.add_sums(workspace)
        table.release(workspace)

    seconds = best_of(scores_and_sums, repeats)
    report("scores and sums", setting, 1e9 * seconds / entries, "ns/entry")

    maxima = out.copy()  # a second pass over the maxima takes as long as the first
    seconds = best_of(lambda: subset_maxima(maxima), repeats)
    report(
        "maxima", setting, 1e9 * seconds / entries / n_candidates, "ns/entry and pass"
    )
    return ok


def time_discrete(rng, n, n_candidates, n_samples, repeats):
    """Time BDe's scores for one node."""
    try:
        from skbidag.scores import BDe
    except ImportError:
        print("BDe scores              left out: this version has no BDe")
        return True
    score = BDe(edge_penalty=1.0).fit(binary_data(rng, n_samples, n))
    candidates, outsiders, out = layout(n, n_candidates)
    seconds = best_of(
        lambda: score.fill_table(0, candidates, outsiders, 0, out), repeats
    )
    return report(
        "BDe scores",
        f"n={n} K={n_candidates} N={n_samples}",
        1e6 * seconds / out.size,
        "µs/entry",
        2.0,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=7, help="runs, the best counts")
    parser.add_argument(
        "--largest", type=int, default=16, help="largest number of candidates"
    )
    parser.add_argument(
        "--quick", action="store_true", help="only the settings that have a target"
    )
    arguments = parser.parse_args()
    rng = np.random.default_rng(0)

    print(f"{'what':<24}{'setting':<20}{'time':>8} {'unit':<18}{'target':>6}")
    scores = [paper_score().fit(gaussian_data(rng, 10 * n, n)) for n in (80, 200)]
    ok = time_gaussian(scores[0], 12, arguments.repeats, targets=True)
    ok &= time_discrete(rng, 80, 8, 1000, arguments.repeats)
    if not arguments.quick:
        print("\nWith more entries: a time per entry that stays is linear growth")
        for score in scores:
            for n_candidates in range(8, arguments.largest + 1, 2):
                repeats = max(2, min(arguments.repeats, 2 ** (18 - n_candidates)))
                time_gaussian(score, n_candidates, repeats)
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
