"""Dynamic networks: are lagged edges found, and in what time, beside others.

    python benchmarks/dynamic.py            # all, about half an hour
    python benchmarks/dynamic.py --quick    # ten variables, one data set each
    python benchmarks/dynamic.py --go-on    # what an earlier run has not done

Series of d variables, N of them with T rows each (after 50 that are dropped). In the
*model*, a variable depends on itself one step before with the coefficient 0.4, on one
other variable one step before on average, and on one of the same time for every two
variables, with coefficients of 0.2 to 0.5 and either sign, and has unit normal noise.
Lagged coefficients are shrunk where the process would not be stable. The other kinds
are where that does not hold, on fewer sizes: *nonlinear*, where every other parent x
acts by 2.5 tanh(x)² - 1, which a linear model hardly sees; *latent*, where a fifth of
the variables is not observed.

What is compared are rankings of the d² lagged edges, by the average precision: the
probabilities of DynamicStructure (one lag, the first slice left out); absolute
coefficients of the lasso (scikit-learn's LassoCV on the standardized lagged
variables); t ratios of least squares on the lagged variables; p-values of PCMCI and
PCMCI+ of tigramite with partial correlations; and, of one series, as they take no more,
absolute coefficients of causal-learn's Granger causality (by the lasso) and of its
VAR-LiNGAM, which counts on noise that is not normal. pgmpy has dynamic networks, but
learns their parameters only, not their structure.

Each runs in a process of its own, for at most `--timeout` seconds; a
method that was not done in time on the first data set of a setting is not run on its
others. `found` and `wrong` count the edges that a user would report: probability above
one half, nonzero coefficients (of VAR-LiNGAM after its pruning), 5 % false discoveries
by Benjamini and Hochberg (least squares and PCMCI), and the graph of PCMCI+ at its
level of 0.01.
"""

import argparse
import warnings

import numpy as np
from common import Table, earlier_results, in_process, write_results
from scipy.stats import false_discovery_control, t
from sklearn.linear_model import LassoCV
from sklearn.metrics import average_precision_score

from skbidag import DynamicStructure, PartitionMCMCStructure

# d, T and N
SIZES = [
    *((10, T, N) for T, N in [(50, 1), (200, 1), (5, 20), (20, 20), (5, 100)]),
    *((20, T, N) for T, N in [(50, 1), (200, 1), (5, 20), (20, 20), (5, 100)]),
    *((50, T, N) for T, N in [(50, 1), (200, 1), (20, 20)]),
]
FEWER_SIZES = [(10, 200, 1), (10, 5, 20), (20, 200, 1), (20, 5, 100)]
KINDS = {"model": SIZES, "nonlinear": FEWER_SIZES, "latent": FEWER_SIZES}


def make_network(d, rng):
    """Lagged and contemporaneous coefficients, [i, j] for i -> j."""
    lagged = np.where(rng.random((d, d)) < 1 / (d - 1), 1.0, 0.0)
    within = np.triu(rng.random((d, d)) < 1 / (d - 1), 1).astype(float)
    for weights in (lagged, within):
        weights *= rng.uniform(0.2, 0.5, (d, d)) * rng.choice([-1, 1], (d, d))
    np.fill_diagonal(lagged, 0.4)
    order = rng.permutation(d)
    within = within[np.ix_(order, order)]
    # x_t = x_{t-1} L + x_t W + noise, so that x_t depends on x_{t-1} by L (1 - W)^-1
    radius = np.abs(np.linalg.eigvals(lagged @ np.linalg.inv(np.eye(d) - within))).max()
    return lagged * min(1.0, 0.9 / radius), within


def make_series(kind, d, n_rows, n_series, seed):
    """Series, and which lagged edges there are."""
    rng = np.random.default_rng([seed, d, n_rows, n_series])
    observed = d
    if kind == "latent":
        d = round(1.25 * d)
    lagged, within = make_network(d, rng)
    bent = (rng.random((d, d)) < 0.5) & ~np.eye(d, dtype=bool) & (kind == "nonlinear")
    order = np.argsort([_depth(within, j) for j in range(d)], kind="stable")

    def effects(x, weights):
        straight = x @ np.where(bent, 0.0, weights)
        return straight + (2.5 * np.tanh(x) ** 2 - 1) @ np.where(bent, weights, 0.0)

    x = np.zeros((n_series, d))
    rows = np.empty((n_series, n_rows, d))
    for step in range(n_rows + 50):
        base = effects(x, lagged) + rng.normal(size=(n_series, d))
        x = base.copy()
        for j in order:
            x[:, j] = base[:, j] + effects(x, within)[:, j]
        if step >= 50:
            rows[:, step - 50] = x
    return rows[:, :, :observed], lagged[:observed, :observed] != 0


def _depth(within, node):
    parents = np.flatnonzero(within[:, node])
    return 1 + max((_depth(within, parent) for parent in parents), default=-1)


def flat(series):
    """Rows of all series, and which one each is of."""
    n_series, n_rows, d = series.shape
    return series.reshape(-1, d), np.repeat(np.arange(n_series), n_rows)


def by_skbidag(series):
    X, groups = flat(series)
    model = DynamicStructure(PartitionMCMCStructure(random_state=0), initial=None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = model.fit(X, groups=groups).transition_probabilities_[1]
    return found, found > 0.5


def lagged_rows(series):
    d = series.shape[2]
    before, after = series[:, :-1].reshape(-1, d), series[:, 1:].reshape(-1, d)
    return before - before.mean(axis=0), after - after.mean(axis=0)


def by_lasso(series):
    before, after = lagged_rows(series)
    before /= before.std(axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fits = [LassoCV(cv=5).fit(before, after[:, j]) for j in range(after.shape[1])]
    strength = np.abs([fit.coef_ for fit in fits]).T / after.std(axis=0)
    return strength, strength > 0


def by_least_squares(series):
    before, after = lagged_rows(series)
    free = len(before) - before.shape[1] - 1
    if free < 1:
        raise ValueError("fewer rows than variables")
    inverse = np.linalg.inv(before.T @ before)
    coefficients = inverse @ before.T @ after
    variance = ((after - before @ coefficients) ** 2).sum(axis=0) / free
    ratios = coefficients / np.sqrt(np.outer(np.diag(inverse), variance))
    p_values = 2 * t.sf(np.abs(ratios), free)
    adjusted = false_discovery_control(p_values.ravel()).reshape(p_values.shape)
    # by the ratios, as p-values may all be zero
    return np.abs(ratios), adjusted < 0.05


def by_pcmci(series, plus=False):
    from tigramite import data_processing
    from tigramite.independence_tests.parcorr import ParCorr
    from tigramite.pcmci import PCMCI

    frame = data_processing.DataFrame(dict(enumerate(series)), analysis_mode="multiple")
    pcmci = PCMCI(dataframe=frame, cond_ind_test=ParCorr(), verbosity=0)
    if plus:
        results = pcmci.run_pcmciplus(tau_min=0, tau_max=1, pc_alpha=0.01)
    else:
        results = pcmci.run_pcmci(
            tau_min=1, tau_max=1, pc_alpha=None, alpha_level=0.05, fdr_method="fdr_bh"
        )
    chosen = results["graph"][:, :, 1] == "-->"
    p_values = results["p_matrix"][:, :, 1]
    strength = np.abs(results["val_matrix"][:, :, 1])
    # of equal p-values, as of zeros, the stronger first
    return -p_values + 1e-9 * strength, chosen


def by_pcmci_plus(series):
    return by_pcmci(series, plus=True)


def by_granger(series):
    from causallearn.search.Granger.Granger import Granger

    (X,) = series  # one series
    strength = np.abs(Granger(maxlag=1).granger_lasso(X)).T
    return strength, strength > 0


def by_var_lingam(series):
    from causallearn.search.FCMBased.lingam import VARLiNGAM

    (X,) = series
    model = VARLiNGAM(lags=1, criterion=None, prune=True, random_state=0).fit(X)
    strength = np.abs(model.adjacency_matrices_[1]).T
    return strength, strength > 0


# what takes seconds to import
PRELOAD = [
    "skbidag",
    "sklearn.linear_model",
    "tigramite.pcmci",
    "tigramite.independence_tests.parcorr",
    "causallearn.search.Granger.Granger",
    "causallearn.search.FCMBased.lingam",
]

# what takes one series only
OF_ONE_SERIES = "granger", "var-lingam"

METHODS = {
    "skbidag": by_skbidag,
    "lasso": by_lasso,
    "least squares": by_least_squares,
    "pcmci": by_pcmci,
    "pcmci+": by_pcmci_plus,
    "granger": by_granger,
    "var-lingam": by_var_lingam,
}


def compare(kind, d, n_rows, n_series, seed, method, timeout):
    """One method on one data set; a row of the table."""
    series, true = make_series(kind, d, n_rows, n_series, seed)
    row = {
        "kind": kind,
        "d": d,
        "T": n_rows,
        "N": n_series,
        "seed": seed,
        "method": method,
    }
    outcome = in_process(METHODS[method], series, timeout=timeout, preload=PRELOAD)
    row["status"] = outcome["status"]
    if outcome["status"] == "ok":
        strength, chosen = outcome["result"]
        row["average_precision"] = float(
            average_precision_score(true.ravel(), strength.ravel())
        )
        row["true"] = int(true.sum())
        row["found"] = int((chosen & true).sum())
        row["wrong"] = int((chosen & ~true).sum())
        row["seconds"] = outcome["seconds"]
    return row


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="ten variables, once each")
    parser.add_argument(
        "--seeds", type=int, default=3, help="data sets from the model, 2 with d = 50"
    )
    parser.add_argument("--first", type=int, default=100, help="seed of the first")
    parser.add_argument("--timeout", type=float, default=45, help="seconds")
    parser.add_argument(
        "--go-on", action="store_true", help="keep the settings that results have"
    )
    arguments = parser.parse_args()
    table = Table(
        "kind:>9 d:d T:d N:d seed:d method:>13 average_precision:.3f true:d found:d "
        "wrong:d seconds:.2f status:>10"
    )
    rows, note = [], ""
    if arguments.go_on:
        rows, note = earlier_results("dynamic", lambda row: True, "the last settings")
    known = {(row["kind"], row["d"], row["T"], row["N"]) for row in rows}
    settings = [(kind, *size) for kind, sizes in KINDS.items() for size in sizes]
    for kind, *size in sorted(settings, key=lambda setting: setting[1]):
        if (arguments.quick and size[0] > 10) or (kind, *size) in known:
            continue
        n_seeds = 1 if arguments.quick else arguments.seeds
        if size[0] > 20 or kind != "model":
            n_seeds = min(n_seeds, 2)
        late = set()
        for seed in range(arguments.first, arguments.first + n_seeds):
            for method in METHODS:
                if method in late or (method in OF_ONE_SERIES and size[2] > 1):
                    continue
                rows.append(compare(kind, *size, seed, method, arguments.timeout))
                table.add(rows[-1])
                if rows[-1]["status"] == "time limit":
                    late.add(method)
        if not arguments.quick:
            rows.sort(key=lambda row: (list(KINDS).index(row["kind"]), row["d"]))
            packages = ("tigramite", "causal-learn")
            write_results("dynamic", rows, packages=packages, note=note)
    print("\nmean average precision")
    for kind in KINDS:
        for method in METHODS:
            values = [
                row["average_precision"]
                for row in rows
                if (row["kind"], row["method"]) == (kind, method)
                and row["status"] == "ok"
            ]
            if values:
                print(f"{kind:>9} {method:>13} {np.mean(values):.3f} of {len(values)}")


if __name__ == "__main__":
    main()
