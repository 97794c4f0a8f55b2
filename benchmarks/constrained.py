"""Constrained problems against exact posteriors: what is off, and whether it is told.

    python benchmarks/constrained.py            # 300 problems
    python benchmarks/constrained.py --quick    # 30 problems

Forbidden edges that contradict the data part the posterior: what is left are modes far
from each other, between which chains hardly cross. Each problem is a random network
with 4 to 10 variables, continuous or categorical, and 100 to 10,000 rows, of whose
edges some are forbidden, with others; some have tiers. Both samplers are fitted with
their defaults. A row says how far the probability of an edge is off at most, whether
the chains are said to have converged, and the steps they took. An error above 0.1
that is not warned of is a failure, and the last line counts them.
"""

import argparse
import itertools
import time
import warnings

import numpy as np
from common import Table, write_results
from exact import edge_probabilities, local_scores
from sklearn.exceptions import ConvergenceWarning

from skbidag import OrderMCMCStructure, PartitionMCMCStructure
from skbidag.scores import BDe, BGe

# A larger error of an edge's probability must not go without a warning.
LARGEST_ERROR = 0.1
SAMPLERS = {"order": OrderMCMCStructure, "dag": PartitionMCMCStructure}


def random_problem(seed, n):
    """Data of a random network, and constraints that it contradicts in part.

    Parameters
    ----------
    seed : int
        Of the problem.
    n : int
        Number of variables.

    Returns
    -------
    X : ndarray of shape (n_samples, n)
        Floats, or integers.
    forbidden : ndarray of bool, shape (n, n)
        Entry [i, j] concerns i -> j.
    """
    rng = np.random.default_rng([seed, n])
    adjacency = np.triu(rng.random((n, n)) < rng.choice([0.3, 0.6, 0.9]), 1)
    n_samples = int(rng.choice([100, 1000, 10_000, 10_000]))
    X = rng.normal(size=(n_samples, n))
    weights = adjacency * rng.choice([-1, 1], (n, n)) * rng.uniform(0.4, 2.0, (n, n))
    for node in range(n):
        X[:, node] += X @ weights[:, node]
    if rng.random() < 0.3:
        X = (X > 0).astype(int)
    forbidden = adjacency & (rng.random((n, n)) < rng.choice([0.3, 0.6]))
    forbidden |= ~adjacency & (rng.random((n, n)) < rng.choice([0.0, 0.2, 0.4]))
    if rng.random() < 0.2:  # two tiers
        late = rng.random(n) < 0.5
        forbidden |= late[:, None] & ~late
    np.fill_diagonal(forbidden, False)
    return X, forbidden


def exact_probabilities(score, forbidden, prior):
    """Exact edge probabilities, given the fitted score and the constraints."""
    log_scores = local_scores(score)
    masks = np.arange(log_scores.shape[1])
    for i, j in np.argwhere(forbidden):
        log_scores[j, masks >> i & 1 == 1] = -np.inf
    return edge_probabilities(log_scores, prior)


def solve(kind, seed, n, **params):
    """Fit a sampler to a problem and compare; a row of the table."""
    X, forbidden = random_problem(seed, n)
    score = BDe() if X.dtype.kind == "i" else BGe()
    model = SAMPLERS[kind](score, forbidden_edges=forbidden, random_state=0, **params)
    began = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X)
    seconds = time.perf_counter() - began
    exact = exact_probabilities(model.score_, forbidden, kind)
    error = float(np.abs(model.adjacency_probabilities_ - exact).max())
    warned = any(issubclass(one.category, ConvergenceWarning) for one in caught)
    return {
        "n": n,
        "rows": len(X),
        "seed": seed,
        "sampler": kind,
        "error": error,
        "warned": int(warned),
        "steps": model.n_iter_,
        "seconds": seconds,
        "failed": int(error > LARGEST_ERROR and not warned),
    }


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="30 problems")
    parser.add_argument("--first", type=int, default=0, help="seed of the first")
    arguments = parser.parse_args()
    # layers of ten variables take a while to sum over: most are smaller
    sizes = itertools.cycle([4, 4, 5, 5, 6, 6, 7, 8, 4, 9] + [4, 5, 6, 7, 8] * 2 + [10])
    seeds = range(arguments.first, arguments.first + (30 if arguments.quick else 300))
    rows = []
    table = Table(
        "n:d rows:d seed:d sampler:>8 error:.3f warned:d steps:d seconds:.2f failed:d"
    )
    for seed, n in zip(seeds, sizes, strict=False):
        for kind in SAMPLERS:
            rows.append(solve(kind, seed, n))
            table.add(rows[-1])
        if not arguments.quick:
            write_results("constrained", rows)
    failed = sum(row["failed"] for row in rows)
    warned = sum(row["warned"] for row in rows)
    print(f"{len(rows)} fits: {warned} with a warning, {failed} wrong without one")


if __name__ == "__main__":
    main()
