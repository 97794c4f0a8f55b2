"""Planted relations that single parents do not show: what the search finds of them.

    python benchmarks/interactions.py            # about ten minutes
    python benchmarks/interactions.py --quick    # two of each, ten variables

Each data set has one planted relation between `k` parents and a child, beside a random
network of the other variables; columns are shuffled.

parity
    Binary. The child is the parity of `k` fair coins, and one value in twenty is
    flipped: any k of these k + 1 variables are independent.
parity in a network
    The same, of `k` variables of the random network.
cancelling paths
    Gaussian. x has an effect on the child through each of `k` others and a direct one,
    which add up to zero: x and the child are uncorrelated.
deterministic
    Categorical. The child is a function, drawn at random, of `k` variables of the
    network, binary or with three levels.
sum
    Gaussian. The child is a sum of `k` variables of the network, without noise.

A relation is *found* if the DAG has all edges between the child and its parents, in
either direction, or scores at least as high as the generating one; `short` is by how
many nats the worst DAG is short of that. Rows: 500, with four parents 1000.
"""

import argparse
import time

import numpy as np
from common import Table, write_results

from skbidag import IterativeSearchStructure
from skbidag.datasets import make_discrete_network, make_gaussian_network
from skbidag.scores import BDe, BGe

FLIPPED = 0.05


def parity(rng, n, n_rows, k):
    """Fair coins and their parity beside a network."""
    rest, adjacency = network(rng, n - k - 1, n_rows)
    coins = rng.integers(0, 2, (n_rows, k))
    return join(rest, adjacency, coins, flip(rng, coins.sum(axis=1) % 2))


def parity_in_network(rng, n, n_rows, k):
    """The parity of variables of a network."""
    rest, adjacency = network(rng, n - 1, n_rows)
    parents = rng.choice(n - 1, k, replace=False)
    child = flip(rng, rest[:, parents].sum(axis=1) % 2)
    return join(rest, adjacency, np.empty((n_rows, 0)), child, parents)


def cancelling_paths(rng, n, n_rows, k):
    """An effect through `k` variables and a direct one against it."""
    bunch = make_gaussian_network(
        n_rows, n - k - 2, random_state=int(rng.integers(1e6))
    )
    source = rng.normal(size=n_rows)
    middle = source[:, None] + rng.normal(size=(n_rows, k))
    child = middle.sum(axis=1) - k * source + rng.normal(size=n_rows)
    data, adjacency = join(
        bunch.data, bunch.adjacency, np.column_stack([source, middle]), child
    )
    adjacency[-k - 2, -k - 1 : -1] = True
    return data, adjacency


def deterministic(rng, n, n_rows, k):
    """A function of variables of a network with two or three levels."""
    rest, adjacency = network(rng, n - 1, n_rows, (2, 3))
    parents = rng.choice(n - 1, k, replace=False)
    cell = np.ravel_multi_index(tuple(rest[:, parents].T), (3,) * k)
    child = rng.integers(0, 3, 3**k)[cell]
    return join(rest, adjacency, np.empty((n_rows, 0)), child, parents)


def exact_sum(rng, n, n_rows, k):
    """A sum of variables of a Gaussian network, without noise."""
    bunch = make_gaussian_network(n_rows, n - 1, random_state=int(rng.integers(1e6)))
    parents = rng.choice(n - 1, k, replace=False)
    child = bunch.data[:, parents].sum(axis=1)
    return join(bunch.data, bunch.adjacency, np.empty((n_rows, 0)), child, parents)


def network(rng, n, n_rows, n_levels=2):
    """Data of a random network, and its DAG."""
    bunch = make_discrete_network(
        n_rows, n, n_levels=n_levels, random_state=int(rng.integers(1e6))
    )
    return np.asarray(bunch.data), bunch.adjacency


def flip(rng, values):
    return (values + (rng.random(len(values)) < FLIPPED)) % 2


def join(rest, adjacency, parents, child, among_rest=()):
    """Put parents and a child, the last column, beside a network."""
    n_rest, n = len(adjacency), len(adjacency) + parents.shape[1] + 1
    joined = np.zeros((n, n), dtype=bool)
    joined[:n_rest, :n_rest] = adjacency
    joined[n_rest : n - 1, -1] = True
    joined[list(among_rest), -1] = True
    return np.column_stack([rest, parents, child]).astype(rest.dtype), joined


# What is planted, by how many parents, and the score.
KINDS = {
    "parity": (parity, [2, 3, 4], BDe),
    "parity in a network": (parity_in_network, [2, 3, 4], BDe),
    "cancelling paths": (cancelling_paths, [1, 2, 3], BGe),
    "deterministic": (deterministic, [1, 2, 3], BDe),
    "sum": (exact_sum, [2, 3, 4], BGe),
}


def search(kind, k, n, seed):
    """Plant a relation and search; found or not, nats below the truth, and seconds."""
    plant, _, make_score = KINDS[kind]
    rng = np.random.default_rng([seed, n, k, list(KINDS).index(kind)])
    X, adjacency = plant(rng, n, 1000 if k == 4 else 500, k)
    shuffled = rng.permutation(n)
    X, adjacency = X[:, shuffled], adjacency[np.ix_(shuffled, shuffled)]
    child = int(np.flatnonzero(shuffled == n - 1)[0])
    start = time.process_time()
    model = IterativeSearchStructure(make_score(), n_draws=0, random_state=seed).fit(X)
    seconds = time.process_time() - start
    skeleton = model.adjacency_ | model.adjacency_.T
    short = float(model.score_.dag_score(adjacency) - model.log_score_)
    complete = skeleton[adjacency[:, child], child].all()
    return bool(complete or short <= 0), short, seconds


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=20, help="data sets of each")
    parser.add_argument("--n", type=int, nargs="+", default=[10, 20, 30])
    parser.add_argument(
        "--kinds", nargs="+", choices=KINDS, default=list(KINDS), metavar="NAME"
    )
    parser.add_argument("--quick", action="store_true", help="to see that it works")
    arguments = parser.parse_args()
    note = ""
    if arguments.quick:
        note = "quick run, to be replaced"
        arguments.repeats, arguments.n = 2, [10]
    table = Table(
        "kind:>20 parents:.0f n:.0f found:.0f planted:.0f short:.1f seconds:.2f"
    )
    rows = []
    for kind in arguments.kinds:
        for k in KINDS[kind][1]:
            for n in arguments.n:
                outcomes = [
                    search(kind, k, n, seed) for seed in range(arguments.repeats)
                ]
                found, short, seconds = np.array(outcomes).T
                row = {
                    "kind": kind,
                    "parents": k,
                    "n": n,
                    "found": found.sum(),
                    "planted": len(found),
                    "short": max(0.0, short.max()),
                    "seconds": seconds.mean(),
                }
                rows.append(row)
                table.add(row)
                write_results("interactions", rows, note=note)


if __name__ == "__main__":
    main()
