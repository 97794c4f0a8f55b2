"""The default answer: how near the truth it is, beside the paper's and fixed choices.

    python benchmarks/defaults.py --data DIR       # on the paper's own data sets
    python benchmarks/defaults.py                  # on simulated ones like them
    python benchmarks/defaults.py --categorical    # on samples of benchmark networks
    python benchmarks/defaults.py --columns        # held-out density by prior

Distances are structural Hamming distances of the consensus graph over n, between
CPDAGs, at the thresholds 0.5 and 0.6. Beside the default (BGe's prior in units of the
data, ``edge_penalty="auto"``) stand fixed penalties and the paper's prior. The regret
of a choice is its mean distance over the least of all fixed penalties in that setting.

``--data`` takes a folder with the paper's data sets, files such as
``n_20_N_200_parents_2_type_ER_seed_101.npz`` that hold ``X`` and ``dag``; next to it,
in ``paper_per_seed.csv``, the paper's own result on each makes the comparison paired.
"""

import argparse
import csv
import re
import warnings
from collections import defaultdict
from pathlib import Path

import numpy as np
from common import Table, paper_score, timed
from paper import SETTINGS

from skbidag import OrderMCMCStructure, PartitionMCMCStructure
from skbidag.datasets import load_network, make_gaussian_network
from skbidag.metrics import structural_hamming_distance
from skbidag.scores import BDe, BGe

NAME = re.compile(r"n_(\d+)_N_(\d+)_parents_(\d+)_type_(\w+?)_seed_(\d+)")
SAMPLERS = {"order": OrderMCMCStructure, "partition": PartitionMCMCStructure}
THRESHOLDS = (0.5, 0.6)
# Fixed penalties, by the number of variables
PENALTIES = {
    "1": lambda n: 1.0,
    "2": lambda n: 2.0,
    "sqrt(n)": lambda n: n**0.5,
    "n/4": lambda n: n / 4,
    "n": lambda n: float(n),
}
NETWORKS = ("asia", "sachs", "child", "insurance", "alarm", "hailfinder")


def paper_data(folder, sizes, seeds):
    """The paper's data sets: setting, seed, data, true DAG."""
    for path in sorted(Path(folder).glob("*.npz")):
        n, n_rows, parents, kind, seed = NAME.match(path.stem).groups()
        if int(n) in sizes and (seeds is None or int(seed) in seeds):
            content = np.load(path)
            setting = kind, int(parents), int(n), int(n_rows)
            yield setting, int(seed), content["X"], content["dag"].astype(bool)


def simulated_data(sizes, seeds):
    """Data sets like the paper's."""
    for n in sizes:
        for (kind, parents, factor), options in SETTINGS.items():
            for seed in seeds or range(10):
                network = make_gaussian_network(
                    factor * n,
                    n,
                    expected_parents=parents,
                    random_state=seed,
                    **options,
                )
                setting = kind, parents, n, factor * n
                yield setting, seed, network.data, network.adjacency


def categorical_data(seeds):
    """Samples of the benchmark networks."""
    for name in NETWORKS:
        network = load_network(name)
        for n_rows in (200, 1000):
            for seed in seeds or range(3):
                setting = name, 0, len(network.adjacency), n_rows
                X = network.sample(n_rows, random_state=seed)
                yield setting, seed, X, network.adjacency.astype(bool)


def paper_results(folder):
    """SHD of the paper's order sampling on each of its data sets, at 0.6."""
    path = Path(folder).parent / "paper_per_seed.csv"
    if not path.exists():
        return {}
    with open(path) as file:
        rows = [
            row
            for row in csv.DictReader(file)
            if row["method"] == "MCMC" and float(row["value"]) == 0.6
        ]
    numbers = "parents", "n", "N", "seed"
    return {
        (row["type"], *(int(row[name]) for name in numbers)): float(row["SHD"])
        for row in rows
    }


def choices(n, args):
    """The scores to compare, by name."""
    score = BDe if args.categorical else BGe
    scores = {"default": score()}
    if args.alone:
        return scores
    for name, penalty in PENALTIES.items():
        scores[name] = score(edge_penalty=penalty(n))
    if not args.categorical:
        scores["paper's"] = paper_score()
    return scores


def measure(data, args):
    """Distances by setting, choice, sampler and threshold; and those seeds."""
    distances, seeds = defaultdict(list), defaultdict(list)
    for setting, seed, X, truth in data:
        n = len(truth)
        seeds[setting].append(seed)
        for name, score in choices(n, args).items():
            for sampler in args.samplers:
                model, took = timed(SAMPLERS[sampler](score, random_state=0).fit, X)
                probabilities = model.edge_probabilities(kind="cpdag")
                for threshold in THRESHOLDS:
                    estimate = probabilities > threshold
                    distance = structural_hamming_distance(
                        truth, estimate, kind="cpdag"
                    )
                    key = setting, name, sampler, threshold
                    distances[key].append(distance / n)
                distances[setting, name, sampler, "seconds"].append(took)
    return distances, seeds


def report(distances, seeds, paper, samplers):
    """Print means, the paper's on the same data, and regrets."""
    table = Table(
        "setting:>22 graphs:d sampler:>9 choice:>8 at_0_5:.3f at_0_6:.3f paper:.3f "
        "regret:.3f seconds:.2f"
    )
    for setting, used in seeds.items():
        kind, parents, n, n_rows = setting
        theirs = [paper.get((*setting, seed), np.nan) / n for seed in used]
        for sampler in samplers:
            names = [key[1] for key in distances if key[::2] == (setting, sampler)]
            names = list(dict.fromkeys(names))
            fixed = [
                np.mean(distances[setting, name, sampler, 0.6])
                for name in PENALTIES
                if name in names
            ]
            for name in names:
                means = [
                    np.mean(distances[setting, name, sampler, threshold])
                    for threshold in THRESHOLDS
                ]
                table.add(
                    dict(
                        setting=f"{kind}{parents or ''} n={n} N={n_rows}",
                        graphs=len(used),
                        sampler=sampler,
                        choice=name,
                        at_0_5=means[0],
                        at_0_6=means[1],
                        paper=float(np.mean(theirs)),
                        regret=means[1] - min(fixed, default=np.nan),
                        seconds=float(
                            np.median(distances[setting, name, sampler, "seconds"])
                        ),
                    )
                )


def held_out(data):
    """Mean log density of the second half of the rows, by prior."""
    table = Table("setting:>22 seed:d data:.3f paper:.3f paper_alpha_1:.3f")
    for setting, seed, X, _ in data:
        half = len(X) // 2
        scores = {
            "data": BGe(),
            "paper": paper_score(),
            "paper_alpha_1": BGe(prior="paper", edge_penalty=1.0),
        }
        densities = {
            name: OrderMCMCStructure(score, random_state=0)
            .fit(X[:half])
            .score(X[half:])
            for name, score in scores.items()
        }
        kind, parents, n, n_rows = setting
        named = {"setting": f"{kind}{parents} n={n} N={n_rows}", "seed": seed}
        table.add(named | densities)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", help="folder with the paper's data sets")
    parser.add_argument("--categorical", action="store_true", help="benchmark networks")
    parser.add_argument("--columns", action="store_true", help="held-out density")
    parser.add_argument("--alone", action="store_true", help="the default alone")
    parser.add_argument("--sizes", type=int, nargs="+", default=[20])
    parser.add_argument("--seeds", type=int, nargs="+", help="all by default")
    parser.add_argument(
        "--samplers", nargs="+", choices=list(SAMPLERS), default=["order"]
    )
    args = parser.parse_args()
    warnings.simplefilter("ignore")  # of convergence: distances are what is looked at
    if args.categorical:
        data = categorical_data(args.seeds)
    elif args.data:
        data = paper_data(args.data, args.sizes, args.seeds)
    else:
        data = simulated_data(args.sizes, args.seeds)
    if args.columns:
        held_out(data)
        return
    paper = paper_results(args.data) if args.data else {}
    distances, seeds = measure(data, args)
    report(distances, seeds, paper, args.samplers)


if __name__ == "__main__":
    main()
