"""The search for the best DAG in the paper's setting: how good, and how fast.

    python benchmarks/search.py               # all, on one core
    python benchmarks/search.py --quick       # fewer and smaller graphs
    python benchmarks/search.py --engines     # ways to search over orders
    python benchmarks/search.py --ablation    # what each ingredient is good for
    python benchmarks/search.py --paired      # beside the paper's scheme
    python benchmarks/search.py --data DIR    # on data sets given as files

The graphs are Erdős–Rényi with two parents on average, weights from U(0.4, 2) and
unit noise; the columns are standardized. BGe with alpha_mu = 0.25, PC with its
default alpha, the time of which counts. Beside the distance from the true CPDAG
stands the paper's own (``results/paper_reference.csv``), and by how many standard
errors of the difference ours is above: the paper's graphs and ours are different ones.
A search has failed for sure where its best DAG scores below the one that the data come
from. Files of data sets, such as the paper's own, are NumPy archives (.npz) with the
rows `X` and the generating `dag`, whose entry [i, j] is the edge i -> j.

The paper's scheme (``scheme="paper"``) is a search by tempered MCMC in which the best
DAG alone enlarges the space. On the same graphs as the whole search it tells what a
better score is worth.
"""

import argparse
import itertools
import time
import warnings
from contextlib import ExitStack, contextmanager
from pathlib import Path
from unittest import mock

import numpy as np
from common import (
    above_mean,
    above_median,
    paper_score,
    peak_megabytes,
    read_paper,
)

from skbidag import IterativeSearchStructure
from skbidag._search import ENGINES, _expansion, _spaces
from skbidag.datasets import load_network, make_gaussian_network
from skbidag.metrics import compare_graphs, structural_hamming_distance
from skbidag.scores import BDe, BGe

# Graphs of each size, and the median seconds to stay below.
N_GRAPHS = {20: 100, 80: 100, 140: 100, 200: 100}
TARGETS = {20: 0.3, 80: 2.0, 200: 20.0}
# More rounding than a sum of local scores has.
ROUNDING = 1e-6


def fit(X, score, seed, clock=time.perf_counter, **options):
    """Search; return the estimator and the seconds it took."""
    model = IterativeSearchStructure(score, n_draws=0, random_state=seed, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PC's sets that are too large
        start = clock()
        return model.fit(X), clock() - start


def make_graphs(n_features, factor, n_graphs, seed):
    for graph in range(n_graphs):
        yield make_gaussian_network(
            factor * n_features,
            n_features,
            random_state=1000 * seed + graph,
        )


def distance(truth, adjacency):
    """SHD of the equivalence classes, per node."""
    return structural_hamming_distance(truth, adjacency, kind="cpdag") / len(truth)


def excess(model, adjacency):
    """By how much the best DAG found scores above the generating one."""
    return model.log_score_ - model.score_.dag_score(adjacency)


def count_of(flags):
    return f"{sum(flags)}/{len(flags)}"


def run_paper_setting(args):
    paper = read_paper()
    print(
        f"{'':>20}{'SHD/n':>16}{'paper':>16}{'above, s.e.':>14}{'score at':>10}"
        f"{'worst':>9}{'seconds':>18}{'':>9}{'peak':>8}"
    )
    print(
        f"{'n':>4}{'N':>6}{'graphs':>10}{'median':>8}{'mean':>8}{'median':>8}"
        f"{'mean':>8}{'median':>8}{'mean':>6}{'least':>10}{'by':>9}{'median':>9}{'max':>9}{'target':>9}"
        f"{'GB':>8}"
    )
    reached = []
    for n in args.sizes:
        for factor in args.factors:
            n_graphs = args.n_graphs[n]
            distances, gains, seconds = [], [], []
            for network in make_graphs(n, factor, n_graphs, args.seed):
                model, took = fit(network.data, paper_score(), args.seed)
                distances.append(distance(network.adjacency, model.adjacency_))
                gains.append(excess(model, network.adjacency))
                seconds.append(took)
            well = [gain >= -ROUNDING for gain in gains]
            reached += well
            theirs, above = "-", "-"
            setting = ("ERs", n, factor * n, 2)
            if setting in paper:
                best = paper[setting]["MAP", 0.25]
                median, mean = best["SHDn_median"], best["SHDn_mean"]
                theirs = f"{median:>8.3f}{mean:>8.3f}"
                above = f"{above_median(distances, median):>8.1f}"
                above += f"{above_mean(distances, mean):>6.1f}"
            target = f"{TARGETS[n]:.1f}" if n in TARGETS else "-"
            print(
                f"{n:>4}{factor * n:>6}{n_graphs:>10}{np.median(distances):>8.3f}"
                f"{np.mean(distances):>8.3f}{theirs:>16}{above:>14}{count_of(well):>10}"
                f"{min(gains):>9.2f}{np.median(seconds):>9.3f}{max(seconds):>9.3f}"
                f"{target:>9}{peak_megabytes() / 1024:>8.2f}",
                flush=True,
            )
    print(f"best DAG scores at least as the generating one: {count_of(reached)}")


def run_files(args):
    """Data sets in files, with the paper's prior and with the default one."""
    scores = {"paper": paper_score, "default": BGe}
    print(f"{'prior':>8}{'above generating DAG':>22}{'SHD':>6}{'seconds':>9}  file")
    for prior, score in scores.items():
        gains, times = [], []
        for path in sorted(Path(args.data).glob(args.pattern)):
            with np.load(path) as file:
                X, truth = file["X"], file["dag"].astype(bool)
            model, took = fit(X, score(), args.seed, clock=time.process_time)
            gains.append(excess(model, truth))
            times.append(took)
            distance = structural_hamming_distance(
                truth, model.adjacency_, kind="cpdag"
            )
            print(
                f"{prior:>8}{gains[-1]:>22.2f}{distance:>6}{took:>9.2f}  {path.name}",
                flush=True,
            )
        well = count_of([gain >= -ROUNDING for gain in gains])
        print(
            f"{prior}: best DAG scores at least as the generating one: {well}, "
            f"{sum(times):.1f} seconds of the processor"
        )


def run_discrete(args):
    print(f"\n{'network':>10}{'rows':>6}{'above generating DAG':>24}{'seconds':>9}")
    networks = [("alarm", 1000), ("andes", 2230)]
    for name, n_samples in networks[: 1 if args.quick else 2]:
        network = load_network(name)
        X = network.sample(n_samples, random_state=args.seed)
        model, took = fit(X, BDe(1.0, edge_penalty=1.0), args.seed)
        print(
            f"{name:>10}{n_samples:>6}{excess(model, network.adjacency):>24.2f}"
            f"{took:>9.2f}",
            flush=True,
        )


def run_engines(args):
    """Searches by each engine on the same graphs, and the best score of any."""
    engines = sorted(ENGINES)
    print("score below the best engine's, mean (times best); median seconds")
    print(f"{'n':>4}{'N':>6}" + "".join(f"{engine:>26}" for engine in engines))
    for n in args.sizes:
        for factor in args.factors:
            n_graphs = args.n_graphs[n]
            scores, seconds = [], []
            for network in make_graphs(n, factor, n_graphs, args.seed):
                fits = [
                    fit(network.data, paper_score(), args.seed, search=engine)
                    for engine in engines
                ]
                scores.append([model.log_score_ for model, _ in fits])
                seconds.append([took for _, took in fits])
            below = np.max(scores, axis=1, keepdims=True) - scores
            line = f"{n:>4}{factor * n:>6}"
            for k in range(len(engines)):
                best = count_of(below[:, k] <= ROUNDING)
                line += f"{below[:, k].mean():>10.2f} ({best}) "
                line += f"{np.median(seconds, axis=0)[k]:>7.3f} s"
            print(line, flush=True)


@contextmanager
def without(ingredient):
    """Run the search with one of its parts made to do nothing."""
    nothing = {
        "forward selection": (
            _spaces,
            "add_selected_parents",
            lambda permitted, problem, soft_limit: permitted,
        ),
        "reversals": (
            _spaces,
            "Reversals",
            lambda problem, max_parents, n_jobs: lambda adjacency: None,
        ),
        "local steps": (
            _spaces,
            "LocalSearch",
            lambda problem, max_parents, pairs, stop: lambda adjacency: None,
        ),
        "turning": (_spaces, "turned_edges", lambda adjacency, *args: None),
        "hubs": (_expansion, "let_in_hubs", lambda permitted, *args: permitted),
        "spouses": (_expansion, "moral_graph", np.zeros_like),
        "pairs": (
            _spaces,
            "paying_pairs",
            lambda adjacency, problem: np.zeros_like(adjacency),
        ),
        "widening": (
            _spaces,
            "widen",
            lambda permitted, adjacency, problem, size: permitted,
        ),
    }
    if ingredient == "nothing":
        yield
        return
    # "all" is the paper's scheme: the best DAG alone enlarges the space
    names = nothing if ingredient == "all" else [ingredient]
    with ExitStack() as stack:
        for name in names:
            stack.enter_context(mock.patch.object(*nothing[name]))
        yield


def run_paired(args):
    """The whole search and the paper's scheme on the same graphs."""
    print(f"{'':>20}{'median SHD/n':>16}{'mean SHD/n':>16}{'of it FP':>16}{'SHD:':>8}")
    print(
        f"{'n':>4}{'N':>6}{'graphs':>10}{'whole':>8}{'scheme':>8}{'whole':>8}"
        f"{'scheme':>8}{'whole':>8}{'scheme':>8}{'more':>8}{'less':>6}"
        f"{'score: more':>13}{'less':>6}"
    )
    for n in args.sizes:
        for factor in args.factors:
            n_graphs = args.n_graphs[n]
            distances, false, scores = [], [], []
            for network in make_graphs(n, factor, n_graphs, args.seed):
                score = paper_score()
                whole, _ = fit(network.data, score, args.seed)
                scheme, _ = fit(network.data, score, args.seed, scheme="paper")
                truth, models = network.adjacency, (whole, scheme)
                distances.append(
                    [distance(truth, model.adjacency_) for model in models]
                )
                false.append([
                    compare_graphs(truth, model.adjacency_, kind="skeleton").FP / n
                    for model in models
                ])  # fmt: skip
                scores.append([model.log_score_ for model in models])
            gain = np.subtract(*np.transpose(scores))
            farther = np.subtract(*np.transpose(distances))
            columns = [
                *np.median(distances, 0),
                *np.mean(distances, 0),
                *np.mean(false, 0),
            ]
            print(
                f"{n:>4}{factor * n:>6}{n_graphs:>10}"
                + "".join(f"{value:>8.3f}" for value in columns)
                + f"{(farther > 1e-9).sum():>8}{(farther < -1e-9).sum():>6}"
                f"{(gain > ROUNDING).sum():>13}{(gain < -ROUNDING).sum():>6}",
                flush=True,
            )


def run_ablation(args):
    ingredients = [
        "nothing",
        "forward selection",
        "reversals",
        "local steps",
        "turning",
        "hubs",
        "spouses",
        "pairs",
        "widening",
        "all",
    ]
    print("without what: graphs below the generating DAG's score, mean log score")
    print("less than with everything, median seconds")
    print(f"{'n':>4}{'N':>6}{'without':>20}{'below':>8}{'less by':>9}{'seconds':>9}")
    for n in args.sizes:
        for factor in args.factors:
            n_graphs = args.n_graphs[n]
            networks = list(make_graphs(n, factor, n_graphs, args.seed))
            whole = None
            for ingredient in ingredients:
                with without(ingredient):
                    fits = [
                        fit(network.data, paper_score(), args.seed)
                        for network in networks
                    ]
                below = [
                    excess(model, network.adjacency) < -ROUNDING
                    for (model, _), network in zip(fits, networks, strict=True)
                ]
                mean = np.mean([model.log_score_ for model, _ in fits])
                whole = mean if whole is None else whole
                print(
                    f"{n:>4}{factor * n:>6}{ingredient:>20}{count_of(below):>8}"
                    f"{whole - mean:>9.2f}{np.median([s for _, s in fits]):>9.3f}",
                    flush=True,
                )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--graphs",
        type=int,
        nargs="+",
        help="graphs per setting, by size",
    )
    parser.add_argument(
        "--sizes", type=int, nargs="+", help="numbers of variables, n (20 80 140 200)"
    )
    parser.add_argument(
        "--factors", type=int, nargs="+", default=[10, 2], help="rows are so many n"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the graphs")
    parser.add_argument(
        "--quick", action="store_true", help="three graphs of 20 variables, and alarm"
    )
    parser.add_argument("--engines", action="store_true", help="compare engines")
    parser.add_argument("--ablation", action="store_true", help="leave out parts")
    parser.add_argument(
        "--paired", action="store_true", help="beside the paper's scheme"
    )
    parser.add_argument("--data", metavar="DIR", help="a folder of data sets")
    parser.add_argument(
        "--pattern", default="*.npz", help="which of them, such as 'n_80_*' (all)"
    )
    args = parser.parse_args()
    if args.quick:
        args.graphs = args.graphs or [3]
        args.sizes = args.sizes or [20]
    if args.engines:
        args.graphs = args.graphs or [5]
    if args.sizes is None:
        args.sizes = [20, 80] if args.engines or args.ablation else [*N_GRAPHS]
    args.n_graphs = {n: N_GRAPHS.get(n, 5) for n in args.sizes}
    if args.graphs:
        args.n_graphs = dict(
            zip(args.sizes, itertools.cycle(args.graphs), strict=False)
        )

    fit(np.random.default_rng(0).normal(size=(50, 17)), BGe(), 0)  # imports
    if args.data:
        run_files(args)
    elif args.engines:
        run_engines(args)
    elif args.ablation:
        run_ablation(args)
    elif args.paired:
        run_paired(args)
    else:
        run_paper_setting(args)
        run_discrete(args)


if __name__ == "__main__":
    main()
