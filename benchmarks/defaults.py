"""The default answer: how near the truth it is, beside the paper's and other choices.

    python benchmarks/defaults.py --data DIR --alone         # on the paper's own data
    python benchmarks/defaults.py --sizes 20 80              # on simulated data
    python benchmarks/defaults.py --categorical              # on benchmark networks
    python benchmarks/defaults.py --columns --sizes 20 80    # held-out density by prior
    python benchmarks/defaults.py --quick                    # does it run? seconds

Distances are structural Hamming distances of the consensus graph over n, between
CPDAGs, at the thresholds 0.5 and 0.6. Beside the default (BGe's prior in units of the
data, ``edge_penalty="auto"``) stand fixed penalties, other rules for a penalty by the
odds against an edge, the fair prior (every number of parents is equally probable) and
the paper's prior. The regret of a choice is its mean distance over the least of all
fixed penalties in that setting, at 0.6.

Where the paper's prior is among the choices, the others are paired with it: ``over`` is
the mean difference of distances over n on the same data, ``se`` its standard error. Of
which kind the errors are, edges per graph tell at 0.6: missing, false, or in both
skeletons but directed otherwise. ``--n-iter`` fixes the length of chains: many graphs
tell more than long chains.

``--data`` takes a folder with the paper's data sets, files such as
``n_20_N_200_parents_2_type_ER_seed_101.npz`` that hold ``X`` and ``dag``; next to it,
in ``paper_per_seed.csv``, the paper's own result on each makes the comparison paired.
``--write NAME`` keeps the table as ``results/NAME.csv``.
"""

import argparse
import csv
import re
import warnings
from collections import defaultdict
from itertools import groupby
from operator import itemgetter
from pathlib import Path

import numpy as np
from common import Table, earlier_results, paper_score, timed, write_results
from paper import SETTINGS
from versus import FairBGe

from skbidag import OrderMCMCStructure, PartitionMCMCStructure
from skbidag.datasets import load_network, make_gaussian_network
from skbidag.metrics import compare_graphs, structural_hamming_distance
from skbidag.scores import BDe, BGe
from skbidag.scores._density import odds_against_an_edge

NAME = re.compile(r"n_(\d+)_N_(\d+)_parents_(\d+)_type_(\w+?)_seed_(\d+)")
SAMPLERS = {"order": OrderMCMCStructure, "partition": PartitionMCMCStructure}
THRESHOLDS = (0.5, 0.6)
PAPERS = "paper's"
# Fixed penalties, by the number of variables
PENALTIES = {
    "1": lambda n: 1.0,
    "2": lambda n: 2.0,
    "sqrt(n)": lambda n: n**0.5,
    "n/4": lambda n: n / 4,
    "n": lambda n: float(n),
}
# Penalties by the odds against an edge
RULES = {
    "odds/4": lambda odds: odds / 4,
    "odds/3": lambda odds: odds / 3,
    "sqrt(odds)": lambda odds: odds**0.5,
    "odds": lambda odds: odds,
}
CHOICES = ["default", *PENALTIES, *RULES, "fair", PAPERS]
# ERs2 stands for ten rows per variable, and for two
TYPES = list(dict.fromkeys(f"{kind}{parents}" for kind, parents, _ in SETTINGS))
NETWORKS = ("asia", "sachs", "child", "insurance", "alarm", "hailfinder")


def paper_data(folder, sizes, seeds):
    """The paper's data sets: setting, seed, data, true DAG."""
    for path in sorted(Path(folder).glob("*.npz")):
        n, n_rows, parents, kind, seed = NAME.match(path.stem).groups()
        if int(n) in sizes and (seeds is None or int(seed) in seeds):
            content = np.load(path)
            setting = kind, int(parents), int(n), int(n_rows)
            yield setting, int(seed), content["X"], content["dag"].astype(bool)


def simulated_data(sizes, seeds, types):
    """Data sets like the paper's."""
    for n in sizes:
        for (kind, parents, factor), options in SETTINGS.items():
            if f"{kind}{parents}" not in types:
                continue
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


def categorical_data(networks, rows, seeds):
    """Samples of the benchmark networks."""
    for name in networks:
        network = load_network(name)
        for n_rows in rows:
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


def choices(X, args):
    """The scores to compare, by name."""
    make = BDe if args.categorical else BGe
    n, scores = X.shape[1], {"default": make()}
    odds = odds_against_an_edge(make(edge_penalty=1.0).fit(X))
    for name, penalty in PENALTIES.items():
        scores[name] = make(edge_penalty=penalty(n))
    for name, penalty in RULES.items():
        scores[name] = make(edge_penalty=max(1.0, penalty(odds)))
    if not args.categorical:
        scores["fair"] = FairBGe(edge_penalty=1.0)
        scores[PAPERS] = paper_score()
    return {name: scores[name] for name in args.choices if name in scores}


def measure(data, args):
    """What is measured in one setting, by sampler and choice: lists over graphs."""
    measured = defaultdict(lambda: defaultdict(list))
    for _, _, X, truth in data:
        for name, score in choices(X, args).items():
            for sampler in args.samplers:
                found = measured[sampler, name]
                model = SAMPLERS[sampler](
                    score, n_iter=args.n_iter or "auto", random_state=0
                )
                _, took = timed(model.fit, X)
                found["seconds"].append(took)
                found["penalty"].append(model.score_.edge_penalty_)
                probabilities = model.edge_probabilities(kind="cpdag")
                for threshold in THRESHOLDS:
                    distance = structural_hamming_distance(
                        truth, probabilities > threshold, kind="cpdag"
                    )
                    found[threshold].append(distance / len(truth))
                edges = compare_graphs(truth, probabilities > threshold, "skeleton")
                found["missing"].append(edges.FN)
                found["false"].append(edges.FP)
                found["turned"].append(distance - edges.FN - edges.FP)
    return measured


def compare(settings, paper, args):
    """Print and write means, the paper's on the same data, and regrets."""
    table = Table(
        "setting:>22 graphs:d sampler:>9 choice:>10 penalty:.1f at_0_5:.3f at_0_6:.3f "
        "paper:.3f over_0_5:+.4f se_0_5:.4f over_0_6:+.4f se_0_6:.4f missing:.2f "
        "false:.2f turned:.2f regret:.3f seconds:.2f"
    )
    rows, keep = [], keeper(args)
    for setting, data in settings:
        n = setting[2]
        theirs = [paper.get((*setting, seed), np.nan) / n for _, seed, _, _ in data]
        measured = measure(data, args)
        for (sampler, choice), found in measured.items():
            row = {
                "setting": title(setting),
                "graphs": len(data),
                "sampler": sampler,
                "choice": choice,
                "at_0_5": float(np.mean(found[0.5])),
                "at_0_6": float(np.mean(found[0.6])),
                "seconds": float(np.median(found["seconds"])),
            }
            for name in ("penalty", "missing", "false", "turned"):
                row[name] = float(np.mean(found[name]))
            if choice != PAPERS and (sampler, PAPERS) in measured:
                row |= paired(found, measured[sampler, PAPERS])
            fixed = [
                np.mean(measured[sampler, name][0.6])
                for name in PENALTIES
                if (sampler, name) in measured
            ]
            if len(fixed) == len(PENALTIES):
                row["regret"] = float(row["at_0_6"] - min(fixed))
            if not np.isnan(theirs).any():
                row["paper"] = float(np.mean(theirs))
            table.add(row)
            rows.append(row)
        keep(rows)
    if all("regret" in row for row in rows):
        regrets(rows)


def paired(found, theirs):
    """Mean differences from another choice on the same graphs, and standard errors."""
    row = {}
    for threshold in THRESHOLDS:
        over = np.subtract(found[threshold], theirs[threshold])
        name = str(threshold).replace(".", "_")
        row[f"over_{name}"] = float(over.mean())
        if len(over) > 1:
            row[f"se_{name}"] = float(over.std(ddof=1) / len(over) ** 0.5)
    return row


def regrets(rows):
    """Print what each choice loses on the best fixed penalty, over all settings."""
    print("\nRegret over all settings, at 0.6")
    table = Table("sampler:>9 choice:>10 mean:.3f largest:.3f")
    for sampler, choice in dict.fromkeys((r["sampler"], r["choice"]) for r in rows):
        lost = [
            row["regret"]
            for row in rows
            if (row["sampler"], row["choice"]) == (sampler, choice)
        ]
        table.add(
            {
                "sampler": sampler,
                "choice": choice,
                "mean": float(np.mean(lost)),
                "largest": float(max(lost)),
            }
        )


def held_out(settings, args):
    """Print and write the mean log density of the second half of the rows, by prior."""
    scores = {
        "default": BGe(),
        "uniform": BGe(edge_penalty=1.0),
        "paper": paper_score(),
        "paper_alpha_1": BGe(prior="paper", edge_penalty=1.0),
    }
    columns = " ".join(f"{choice}:.3f" for choice in scores)
    table = Table(f"setting:>22 graphs:d {columns}")
    rows, keep = [], keeper(args)
    for setting, data in settings:
        row = {"setting": title(setting), "graphs": len(data)}
        for choice, score in scores.items():
            densities = []
            for _, _, X, _ in data:
                half = len(X) // 2
                model = OrderMCMCStructure(score, random_state=0).fit(X[:half])
                densities.append(model.score(X[half:]))
            row[choice] = float(np.mean(densities))
        table.add(row)
        rows.append(row)
        keep(rows)


def keeper(args):
    """What writes the rows, beside earlier ones of other settings."""
    if not args.write:
        return lambda rows: None
    again = f"{args.networks if args.categorical else args.sizes} run again"
    earlier, note = earlier_results(args.write, lambda row: True, again)

    def keep(rows):
        new = {row["setting"] for row in rows}
        others = [row for row in earlier if row["setting"] not in new]
        write_results(args.write, rows + others, note=note if others else "")

    return keep


def title(setting):
    kind, parents, n, n_rows = setting
    return f"{kind}{parents or ''} n={n} N={n_rows}"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", help="folder with the paper's data sets")
    parser.add_argument("--categorical", action="store_true", help="benchmark networks")
    parser.add_argument("--columns", action="store_true", help="held-out density")
    parser.add_argument("--alone", action="store_true", help="the default alone")
    parser.add_argument("--quick", action="store_true", help="one graph, short chains")
    parser.add_argument("--sizes", type=int, nargs="+", default=[20])
    parser.add_argument("--seeds", type=int, nargs="+", help="all by default")
    parser.add_argument("--types", nargs="+", choices=TYPES, default=TYPES)
    parser.add_argument("--choices", nargs="+", choices=CHOICES, default=CHOICES)
    parser.add_argument(
        "--samplers", nargs="+", choices=list(SAMPLERS), default=["order"]
    )
    parser.add_argument("--n-iter", type=int, help="length of the chains")
    parser.add_argument("--networks", nargs="+", choices=NETWORKS, default=NETWORKS)
    parser.add_argument("--rows", type=int, nargs="+", default=[200, 1000])
    parser.add_argument("--write", metavar="NAME", help="keep results/NAME.csv")
    args = parser.parse_args()
    if args.alone:
        args.choices = ["default"]
    if args.quick:
        args.sizes, args.seeds, args.n_iter = [10], [0], 1000
        args.networks, args.rows = ["asia"], [200]
    warnings.simplefilter("ignore")  # of convergence: distances are what is looked at
    if args.categorical:
        data = categorical_data(args.networks, args.rows, args.seeds)
    elif args.data:
        data = paper_data(args.data, args.sizes, args.seeds)
    else:
        data = simulated_data(args.sizes, args.seeds, args.types)
    settings = ((setting, list(sets)) for setting, sets in groupby(data, itemgetter(0)))
    if args.columns:
        held_out(settings, args)
    else:
        compare(settings, paper_results(args.data) if args.data else {}, args)


if __name__ == "__main__":
    main()
