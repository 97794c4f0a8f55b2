"""Speed of model-averaged density, prediction and samples.

10,000 rows of 50 variables are looked at through 2000 sampled DAGs: four chains of order
MCMC with 500 draws each, as by default, learned from 500 rows. Continuous data are
scored by BGe, categorical data of two to four levels by BDe. The known cells of
scattered holes differ from row to row, so rows share little; ``--holes`` is their share.
"""

import argparse
import time

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


def report(name, function, n_rows):
    start = time.perf_counter()
    function()
    seconds = time.perf_counter() - start
    print(f"  {name:<42} {n_rows:>6} rows {seconds:8.2f} s")
    return seconds


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
    slowest = 0.0
    for kind in args.kinds:
        model, X = learn(kind, args.n_features, args.n_train, args.n_rows, args.seed)
        parents, membership = model.dag_samples_.families()
        n_dags = len(np.unique(membership, axis=1).T)
        print(
            f"{kind}: {args.n_features} variables, {len(model.dag_samples_)} DAGs, "
            f"{n_dags} of them distinct, {sum(map(len, parents))} families"
        )
        holed = with_holes(X[: args.n_holed], args.holes, args.seed)
        column = with_holes(X, 0.0, args.seed)
        column[:, 0] = np.nan
        times = [
            report("score_samples", lambda: model.score_samples(X), len(X)),
            report("predict, complete rows", lambda: model.predict(X), len(X)),
            report(
                "predict, one column missing", lambda: model.predict(column), len(X)
            ),
            report("sample", lambda: model.sample(len(X), random_state=0), len(X)),
        ]
        if kind == "bde":
            score, samples = model.score_, model.dag_samples_
            times.append(
                report(
                    "predict_probabilities of one variable",
                    lambda: predict_probabilities(score, samples, X, 0),
                    len(X),
                )
            )
        slowest = max(slowest, *times)
        report(
            f"predict, {args.holes:.0%} holes", lambda: model.predict(holed), len(holed)
        )
    if not args.quick:
        verdict = "met" if slowest <= TARGET else "missed"
        print(f"{TARGET:g} s for {args.n_rows} rows: {verdict}, {slowest:.1f} s")


if __name__ == "__main__":
    main()
