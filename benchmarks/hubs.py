"""Hubs: nodes with many parents, and nodes with many children.

    python benchmarks/hubs.py            # all, some minutes on one core
    python benchmarks/hubs.py --quick    # one network with 60 variables of each kind
    python benchmarks/hubs.py --sizes 60 # these alone; the others' results stay

Among variables with 1.5 parents on average, one node has 10 to 50 parents, or three
parents and 40 or 100 children. Weights are from U(0.4, 1) with random signs, the
noise is 1; the columns are standardized. BGe with the default prior. Per setting: how
many of the hub's true parents are found, how many others are taken for such, the
distance from the true CPDAG, by how much the best DAG scores above the generating one,
and the time of a search, all of it as means over the graphs; and beside that the same
with one limit for all nodes, ``max_parents=14``.
"""

import argparse
import time
import warnings

import numpy as np
from common import Table, earlier_results, write_results

from skbidag import IterativeSearchStructure
from skbidag.datasets import make_gaussian_network
from skbidag.metrics import structural_hamming_distance

# kind of the hub, its parents or children, variables, rows
SETTINGS = [
    ("parents", 10, 60, 600),
    ("parents", 15, 60, 600),
    ("parents", 18, 60, 600),
    ("parents", 20, 60, 600),
    ("parents", 15, 120, 600),
    ("parents", 20, 120, 600),
    ("parents", 20, 300, 1000),
    ("parents", 30, 120, 1000),
    ("parents", 50, 120, 1000),
    ("parents", 30, 300, 1000),
    ("children", 40, 120, 600),
    ("children", 40, 300, 1000),
    ("children", 100, 300, 1000),
    ("children", 100, 1000, 1000),
]
N_GRAPHS = 5
LARGEST_GRAPHS = 1  # with 1000 variables
OTHER_PARENTS = 1.5
HUB_PARENTS = 3
USUAL_LIMIT = 14


def make_hub(kind, size, n_features, n_samples, seed):
    """Draw a network with a hub; returns it and the hub."""
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.random((n_features, n_features)), 1)
    edges = (upper > 0) & (upper < 2 * OTHER_PARENTS / n_features)
    hub = 2 * n_features // 3 if kind == "parents" else n_features // 4
    n_parents = size if kind == "parents" else HUB_PARENTS
    edges[:, hub] = False
    edges[rng.choice(hub, n_parents, replace=False), hub] = True
    if kind == "children":
        later = np.arange(hub + 1, n_features)
        edges[hub] = False
        edges[hub, rng.choice(later, size, replace=False)] = True
    labels = rng.permutation(n_features)
    network = make_gaussian_network(
        n_samples,
        graph=edges[np.ix_(labels, labels)],
        strengths=(0.4, 1.0),
        signs="random",
        random_state=seed,
    )
    return network, int(np.flatnonzero(labels == hub)[0])


def measure(network, hub, seed, **options):
    """Search, and compare what is found with the network."""
    model = IterativeSearchStructure(n_draws=0, random_state=seed, **options)
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PC's sets that are too large
        model.fit(network.data)
    seconds = time.process_time() - start
    truth = network.adjacency
    found = model.adjacency_[:, hub]
    return {
        "found": int((found & truth[:, hub]).sum()),
        "false": int((found & ~truth[:, hub]).sum()),
        "children": int((model.adjacency_[hub] & truth[hub]).sum()),
        "SHD": structural_hamming_distance(truth, model.adjacency_, kind="cpdag"),
        "above": model.log_score_ - model.score_.dag_score(truth),
        "seconds": seconds,
    }


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--graphs", type=int, default=N_GRAPHS, help="of each setting")
    parser.add_argument("--sizes", type=int, nargs="+", help="numbers of variables")
    parser.add_argument("--seed", type=int, default=0, help="seed of the graphs")
    parser.add_argument(
        "--quick", action="store_true", help="a graph of 60 variables of each kind"
    )
    args = parser.parse_args()
    settings = SETTINGS
    if args.quick:
        settings = [("parents", 18, 60, 600), ("children", 30, 60, 600)]
        args.graphs = 1
    rows, note = [], ""
    if args.sizes:
        settings = [setting for setting in settings if setting[2] in args.sizes]
        again = f"n = {', '.join(map(str, args.sizes))}"
        rows, note = earlier_results(
            "hubs", lambda row: row["n"] not in args.sizes, again
        )

    table = Table(
        "hub:>8 size:d n:d N:d limit:>8 graphs:d found:.1f false:.1f children:.1f "
        "SHD:.1f above:.1f lowest:.1f seconds:.2f"
    )
    for kind, size, n, n_samples in settings:
        n_graphs = min(args.graphs, LARGEST_GRAPHS) if n >= 1000 else args.graphs
        for limit in ("auto", USUAL_LIMIT):
            results = []
            for graph in range(n_graphs):
                seed = 1000 * args.seed + graph
                network, hub = make_hub(kind, size, n, n_samples, seed)
                results.append(measure(network, hub, seed, max_parents=limit))
            row = {"hub": kind, "size": size, "n": n, "N": n_samples}
            row |= {"limit": str(limit), "graphs": n_graphs}
            row |= {
                key: float(np.mean([r[key] for r in results])) for key in results[0]
            }
            row["lowest"] = float(min(r["above"] for r in results))
            table.add(row)
            rows.append(row)
        if not args.quick:
            rows.sort(key=lambda row: (row["hub"] == "children", row["n"], row["size"]))
            write_results("hubs", rows, note=note)


if __name__ == "__main__":
    main()
