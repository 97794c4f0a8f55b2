"""What the search space costs edge probabilities: the default space and a wider one.

Data from networks that structure learning is measured on. Three spaces: what the search
for the best DAG ends with (*plain*), the default, which is that space widened until
short chains put little mass outside, and a much wider one. On each, two long chains
over orders give edge probabilities, with the same score and from the same DAG. The root
mean square difference to those on the wide space, over all pairs of variables, is the
error of the space plus Monte Carlo error; what the two chains of each space differ by
tells how much the latter is, and is taken off. The prior is the default one unless
``--edge-penalty`` is given. Times are of the processor, and of the search alone, tables
of the chains included.
"""

import argparse
import contextlib
import time

import numpy as np
from common import read_results, write_results

from skbidag._chains import bit_generator
from skbidag._constraints import resolve_constraints
from skbidag._outside import Additions, edges_outside
from skbidag._problem import Problem
from skbidag._search import (
    SearchSettings,
    random_order,
    search_structure,
    short_chain,
)
from skbidag._search._expansion import widen
from skbidag._search_space import make_space
from skbidag._tables import build_tables
from skbidag.datasets import load_network
from skbidag.scores import BDe

NETWORKS = ["child", "insurance", "alarm", "hailfinder"]
SIZES = [500, 1000, 2000]
# Edges with at least this probability come into the wide space, the rest by strength.
WIDE_PROBABILITY = 0.001
WIDE_ROUNDS = 3
N_DRAWS = 5000


def pose(network, n_rows, seed, edge_penalty):
    """Data of a network, and the score."""
    X = load_network(network).sample(n_rows, random_state=seed)
    score = BDe(edge_penalty=edge_penalty).fit(X)
    constraints = resolve_constraints(X.shape[1])
    return Problem(score, *score.test_data(X), None, constraints)


def searched(problem, seed, cover):
    """A search with or without the posterior in its space, and how long it takes."""
    began = time.process_time()
    found = search_structure(problem, SearchSettings(cover=cover), (seed,))
    build_tables(problem.score, found.space, sums=True, previous=found.tables)
    return found, time.process_time() - began


def wide_space(problem, found, size, seed):
    """A space far beyond the default: what long chains hint at, then the strongest."""
    space, n = found.space, problem.n_features
    order = random_order(np.random.default_rng(seed), found.adjacency)
    additions = Additions(problem.score, n)
    tables = ()
    for turn in range(WIDE_ROUNDS):
        tables = build_tables(problem.score, space, sums=True, previous=tables)
        stream = bit_generator((seed,), 20, turn)
        draws = short_chain(tables, order, stream, 300_000, 1000)
        hints = np.maximum(
            edges_outside(additions, space, problem.constraints.forbidden, draws),
            (draws.dags & space.extra).mean(axis=0),
        )
        permitted = space.permitted.copy()
        for node in range(n):
            room = max(0, size - permitted[:, node].sum())
            strongest = np.argsort(-hints[:, node], kind="stable")[:room]
            likely = strongest[hints[strongest, node] > WIDE_PROBABILITY]
            permitted[likely, node] = True
        space = make_space(permitted, problem.constraints, extended=True)
    permitted = widen(space.permitted, found.adjacency, problem, size)
    return make_space(permitted, problem.constraints, extended=True)


def edge_probabilities(problem, space, best, n_iter, seed):
    """Edge probabilities from two chains, and the square of their Monte Carlo error."""
    tables = build_tables(problem.score, space, sums=True)
    each = []
    for chain in range(2):
        stream = bit_generator((seed,), 21, chain)
        order = random_order(np.random.default_rng(chain), best)
        draws = short_chain(tables, order, stream, n_iter, N_DRAWS)
        each.append(draws.dags.mean(axis=0))
    return sum(each) / 2, mean_square(each[0] - each[1]) / 4


def mean_square(differences):
    """Over all pairs of different variables."""
    n = len(differences)
    return (differences**2).sum() / (n * (n - 1))


def penalty(text):
    """The default prior by its word, another by its number."""
    return text if text == "auto" else float(text)


def measure(network, n_rows, seed, edge_penalty, size, n_iter):
    """One row of the results."""
    problem = pose(network, n_rows, seed, edge_penalty)
    plain, plain_seconds = searched(problem, seed, cover=False)
    default, seconds = searched(problem, seed, cover=True)
    wide = wide_space(problem, default, size, seed)
    best = plain.adjacency
    expected, noise = edge_probabilities(problem, wide, best, n_iter, seed)
    row = {
        "network": network,
        "n_rows": n_rows,
        "seed": seed,
        "edge_penalty": edge_penalty,
    }
    for name, found in (("plain", plain), ("default", default)):
        p, own_noise = edge_probabilities(problem, found.space, best, n_iter, seed + 1)
        total = mean_square(p - expected)
        row[f"{name}_error"] = round(
            float(max(0.0, total - noise - own_noise)) ** 0.5, 5
        )
        row[f"{name}_noise"] = round(float(noise + own_noise) ** 0.5, 5)
        row[f"{name}_largest"] = round(float(np.abs(p - expected).max()), 4)
    outside = 0.0 if default.outside_mass is None else default.outside_mass.sum()
    return row | {
        "outside_mass": round(float(outside), 4),
        "plain_seconds": round(plain_seconds, 2),
        "default_seconds": round(seconds, 2),
    }


def main():
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--networks", nargs="+", default=NETWORKS)
    parser.add_argument("--rows", nargs="+", type=int, default=SIZES)
    parser.add_argument("--seeds", nargs="+", type=int, default=[101])
    parser.add_argument(
        "--edge-penalty", type=penalty, default="auto", help="or 1 for a uniform prior"
    )
    parser.add_argument("--size", type=int, default=13, help="candidates, wide space")
    parser.add_argument("--steps", type=int, default=4_000_000, help="of long chains")
    parser.add_argument("--again", action="store_true", help="forget earlier results")
    options = parser.parse_args()
    rows = []
    if not options.again:
        with contextlib.suppress(FileNotFoundError):
            rows = read_results("space")
    for network in options.networks:
        for n_rows in options.rows:
            for seed in options.seeds:
                row = measure(
                    network,
                    n_rows,
                    seed,
                    options.edge_penalty,
                    options.size,
                    options.steps,
                )
                print(row, flush=True)
                rows.append(row)
                write_results("space", rows)


if __name__ == "__main__":
    main()
