"""Speed of model-averaged density, prediction and samples.

10,000 rows of 50 variables are looked at through 2000 sampled DAGs: four chains of
order MCMC with 500 draws each, as by default, learned from 500 rows. Continuous data
are scored by BGe, binary data by BDe. Scattered holes differ from row to row, so rows
share little; ``--holes`` is the share of cells that are missing. Times are of the
processor.
"""

import argparse
import time
from functools import partial

import numpy as np

from skbidag import OrderMCMCStructure
from skbidag._predictive import predict_probabilities
from skbidag.datasets import make_discrete_network, make_gaussian_network

# Seconds that are asked for, with the defaults
TARGET = 10.0


def learn(kind, n, n_train, n_rows, seed):
    """A fitted sampler and new rows."""
    make = {"bge": make_gaussian_network, "bde": make_discrete_network}[kind]
    network = make(n_train + n_rows, n, random_state=seed)
    model = OrderMCMCStructure(kind, random_state=seed)
    model.fit(network.data[:n_train])
    return model, network.data[n_train:]


def with_holes(X, share, seed):
    """Rows with missing cells at random."""
    X = np.array(X, dtype=float)
    X[np.random.default_rng(seed).random(X.shape) < share] = np.nan
    return X


def report(name, function, *args):
    """Time a call, whose last argument holds the rows."""
    start = time.process_time()
    function(*args)
    seconds = time.process_time() - start
    n_rows = args[-1] if isinstance(args[-1], int) else len(args[-1])
    print(f"  {name:<42} {n_rows:>6} rows {seconds:8.2f} s")
    return seconds


def time_all(kind, args):
    """Time everything for one kind of data; the slowest of what has a target."""
    model, X = learn(kind, args.n_features, args.n_train, args.n_rows, args.seed)
    score, samples = model.score_, model.dag_samples_
    parents, membership = samples.families()
    print(
        f"{kind}: {args.n_features} variables, {len(samples)} DAGs, "
        f"{np.unique(membership, axis=1).shape[1]} of them distinct, "
        f"{sum(map(len, parents))} families"
    )
    column = with_holes(X, 0.0, args.seed)
    column[:, 0] = np.nan
    times = [
        report("score_samples", model.score_samples, X),
        report("predict, complete rows", model.predict, X),
        report("predict, one column missing", model.predict, column),
        report("sample", model.sample, len(X)),
    ]
    if kind == "bde":
        of_first = partial(predict_probabilities, score, samples, nodes=[0])
        times.append(report("predict_probabilities of one variable", of_first, X))
    holed = with_holes(X[: args.n_holed], args.holes, args.seed)
    report(f"predict, {args.holes:.0%} holes", model.predict, holed)
    report(f"score_samples, {args.holes:.0%} holes", model.score_samples, holed)
    report("score_samples, one column missing", model.score_samples, column)
    column[:, 1] = np.nan
    report("predict, two columns missing", model.predict, column[:1000])
    report("score_samples, two columns missing", model.score_samples, column)
    return max(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kinds", nargs="+", default=["bge", "bde"])
    parser.add_argument("--n-features", type=int, default=50)
    parser.add_argument("--n-train", type=int, default=500)
    parser.add_argument("--n-rows", type=int, default=10_000)
    parser.add_argument("--n-holed", type=int, default=100, help="rows with holes")
    parser.add_argument("--holes", type=float, default=0.1, help="share of cells")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="20 variables, 500 rows")
    args = parser.parse_args()
    if args.quick:
        args.n_features, args.n_rows, args.n_holed = 20, 500, 10
    slowest = max(time_all(kind, args) for kind in args.kinds)
    if not args.quick:
        verdict = "met" if slowest <= TARGET else "missed"
        print(f"{TARGET:g} s for {args.n_rows} rows: {verdict}, {slowest:.1f} s")


if __name__ == "__main__":
    main()
