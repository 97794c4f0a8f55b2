"""Coverage: whether causal effects lie in their intervals as often as these say.

    python benchmarks/coverage.py            # some minutes on one core
    python benchmarks/coverage.py --quick    # seconds
    python benchmarks/coverage.py --kinds numbers --data holes --cases 500

DAGs with four variables are drawn from the prior, parameters from theirs, and rows from
that network: `observed`, with random perfect `interventions`, or with a fifth of the
cells missing at random (`holes`). Variables are `numbers` (BGe), `categories` of three
levels (BDe), or two of each (`mixed`, ConditionalGaussian; numbers are then no causes
of categories, for otherwise the score is a likelihood for each family and not of a
model). Of the network all effects of one variable on another are worked out exactly;
of the rows `causal_effects` draws their posterior, over DAGs that are exact draws
(ExactStructure) or, with holes, those of a chain (PartitionMCMCStructure).

If all is right, the share of draws below the true effect is uniform (simulation-based
calibration, Talts et al. 2018). An effect is exactly 0 where no path leads from the
cause to the outcome, in draws and in truth: such ties are broken at random. `inside 50`
and `inside 90` are the shares of effects in the middle half, and nine tenths; z is by
how many standard errors they are off. `p` is of Kolmogorov and Smirnov's test that one
effect of each network, drawn at random, has a uniform share. `interval` is the share of
effects in ``effects.interval(0.9)``, which has its ends, and may therefore hold more
than 0.9: `holds` is the share of draws in it.

`all` effects are judged, and those which are `likely` there, for which a path leads
from cause to outcome in more than half of the sampled DAGs. Tables with a column of one
value are left out.
"""

import argparse
import itertools
import warnings

import numpy as np
from calibration import (
    KnownPrior,
    N,
    all_dags,
    draw_cells,
    has_constant,
    n_ancestors,
    with_holes,
)
from common import Table, earlier_results, write_results
from scipy import stats

from skbidag import ExactStructure, PartitionMCMCStructure, causal_effects
from skbidag.scores import BDe, BGe

LEVELS = 3
SHARE_OF_HOLES = 0.2
# Of mixed data at most 400 of them count
N_DRAWS = 1000
# Of the chains that draw missing cells: a hundred completions
CHAIN = {"n_iter": 20_000, "n_draws": N_DRAWS, "n_chains": 1}
LIKELY = 0.5
DIGITS = 9  # of effects
CENTRAL = {"50": 0.5, "90": 0.9}


# Of each kind, which variables are categories, and the score with the prior that
# parameters are drawn from
KINDS = {
    "numbers": (np.zeros(N, dtype=bool), BGe(prior="paper", edge_penalty=1.0)),
    "categories": (
        np.ones(N, dtype=bool),
        BDe(edge_penalty=1.0, categories=[np.arange(LEVELS)] * N),
    ),
    "mixed": (
        np.arange(N) % 2 == 0,
        KnownPrior(
            edge_penalty=1.0,
            continuous_causes=False,
            categories=[np.arange(LEVELS) if j % 2 == 0 else None for j in range(N)],
        ),
    ),
}
DATA = ["observed", "interventions", "holes"]


# ----------------------------------------------------------------------- networks


class Network:
    """A network with parameters from the prior of `ConditionalGaussian`.

    Of numbers alone that is BGe's, and of categories alone BDe's.

    Parameters
    ----------
    rng : Generator
        Source of the parameters.
    dag : ndarray of bool, shape (N, N)
        The DAG, without edges from numbers to categories.
    divides : ndarray of bool, shape (N,)
        Which variables are categories.
    """

    def __init__(self, rng, dag, divides):
        self.dag, self.divides = dag, divides
        self.order = sorted(range(N), key=lambda node: n_ancestors(dag, node))
        draw = {True: draw_shares, False: draw_regressions}
        self.families = [
            draw[bool(divides[j])](
                rng, LEVELS ** len(self.dividers(j)), len(self.numbers(j))
            )
            for j in range(N)
        ]

    def dividers(self, node):
        """The categories among the parents."""
        return np.flatnonzero(self.dag[:, node] & self.divides)

    def numbers(self, node):
        """The numbers among the parents."""
        return np.flatnonzero(self.dag[:, node] & ~self.divides)

    def expectations(self, X, node):
        """Of rows, a number's expectation, or the probabilities of the levels."""
        dividers = self.dividers(node)
        cell = X[:, dividers].astype(int) @ LEVELS ** np.arange(len(dividers))
        if self.divides[node]:
            return self.families[node][cell]
        constant, weights, _ = self.families[node]
        return constant[cell] + (weights[cell] * X[:, self.numbers(node)]).sum(axis=1)

    def draw_rows(self, rng, cells):
        """Rows of which some cells are set, to values that do not depend on others."""
        X = np.zeros(cells.shape)
        for node in self.order:
            expected = self.expectations(X, node)
            if self.divides[node]:
                below = expected.cumsum(axis=1)[:, :-1]
                own = (below < rng.random(len(X))[:, None]).sum(axis=1)
                given = rng.integers(LEVELS, size=len(X))
            else:
                dividers = self.dividers(node)
                cell = X[:, dividers].astype(int) @ LEVELS ** np.arange(len(dividers))
                own = expected + rng.normal(size=len(X)) * self.families[node][2][cell]
                given = rng.normal(size=len(X))
            X[:, node] = np.where(cells[:, node], given, own)
        return X

    def means(self, cause, value):
        """Means of all variables where one is set.

        All combinations of categories are gone through, with their probabilities; a
        number is its expectation in each, which is exact, for it is linear in numbers.
        """
        categories = np.flatnonzero(self.divides)
        X = np.zeros((LEVELS ** len(categories), N))
        X[:, categories] = list(
            itertools.product(range(LEVELS), repeat=len(categories))
        )
        weight = np.ones(len(X))
        for node in self.order:
            if node == cause:
                if self.divides[node]:
                    weight *= X[:, node] == value
                else:
                    X[:, node] = value
                continue
            expected = self.expectations(X, node)
            if self.divides[node]:
                weight *= expected[np.arange(len(X)), X[:, node].astype(int)]
            else:
                X[:, node] = expected
        return [
            [weight @ (X[:, j] == k) for k in range(1, LEVELS)]
            if self.divides[j]
            else [weight @ X[:, j]]
            for j in range(N)
        ]

    def effects(self):
        """All effects, in the order of `causal_effects`, exactly 0 where no path leads.

        Returns
        -------
        effects : ndarray of shape (n_interventions, n_outcomes)
            NaN for those of a variable on itself.
        """
        rows = []
        for cause in range(N):
            reached = [cause != j and cause in ancestors(self.dag, j) for j in range(N)]
            before = self.means(cause, 0)
            for value in range(1, LEVELS if self.divides[cause] else 2):
                after = self.means(cause, value)
                rows.append([])
                for j in range(N):
                    change = np.subtract(after[j], before[j]) * reached[j]
                    rows[-1] += [np.nan] * len(change) if j == cause else [*change]
        return np.array(rows)


def ancestors(dag, node):
    """The nodes from which a path leads to a node."""
    found, new = set(), {node}
    while new:
        new = {int(i) for j in new for i in np.flatnonzero(dag[:, j])} - found
        found |= new
    return found


def draw_shares(rng, n_cells, n_numbers):
    """Probabilities of levels in each cell, from their prior."""
    shares = rng.dirichlet(np.full(LEVELS, 1.0 / (n_cells * LEVELS)), size=n_cells)
    # so small counts may give no number: all on one level, then
    bad = ~np.isfinite(shares).all(axis=1)
    shares[bad] = np.eye(LEVELS)[rng.integers(LEVELS, size=bad.sum())]
    return shares


def draw_regressions(rng, n_cells, n_numbers):
    """Constant, weights and standard deviation in each cell, from their prior."""
    alpha_mu, size = 1.0, n_numbers + 1
    scale, df = alpha_mu**2 / (alpha_mu + 1), alpha_mu + 1 + size
    constant, weights = np.zeros(n_cells), np.zeros((n_cells, n_numbers))
    deviation = np.zeros(n_cells)
    for cell in range(n_cells):
        covariance = stats.invwishart(df, scale * np.eye(size)).rvs(1, rng)
        covariance = np.reshape(covariance, (size, size))
        mean = rng.multivariate_normal(
            np.zeros(size), covariance * n_cells / alpha_mu, method="cholesky"
        )
        weights[cell] = np.linalg.solve(covariance[:-1, :-1], covariance[:-1, -1])
        constant[cell] = mean[-1] - weights[cell] @ mean[:-1]
        deviation[cell] = np.sqrt(
            covariance[-1, -1] - weights[cell] @ covariance[:-1, -1]
        )
    return constant, weights, deviation


# -------------------------------------------------------------------------- cases


def fitted(rng, score, X, data, cells):
    """A fitted estimator with DAGs drawn from the posterior."""
    seed = int(rng.integers(2**31))
    if data == "holes":
        sampler = PartitionMCMCStructure(
            score, search_space="full", random_state=seed, **CHAIN
        )
        return sampler.fit(X)
    exact = ExactStructure(score, n_draws=N_DRAWS, random_state=seed)
    return exact.fit(X, interventions=cells if cells.any() else None)


def one_case(rng, kind, dags, data, n_rows):
    """Effects of one network: what is true, and draws from the posterior.

    Returns
    -------
    true : ndarray of shape (n_effects,)
        The effects of the network.
    draws : ndarray of shape (n_draws, n_effects)
        What the rows tell.
    low, high : ndarray of shape (n_effects,)
        Intervals of 90 %.
    path : ndarray of shape (n_effects,)
        Probability of a path from cause to outcome.
    """
    divides, score = KINDS[kind]
    while True:
        network = Network(rng, dags[rng.integers(len(dags))], divides)
        cells = np.zeros((n_rows, N), dtype=bool)
        if data == "interventions":
            cells = draw_cells(rng, n_rows)
        X = network.draw_rows(rng, cells)
        if data == "holes":
            X = with_holes(rng, X, SHARE_OF_HOLES)
        if not has_constant(X):  # what is left out depends on data alone
            break
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = fitted(rng, score, X, data, cells)
        effects = causal_effects(model, random_state=int(rng.integers(2**31)))
    true = network.effects()
    other = ~np.isnan(true)
    low, high = effects.interval(0.9)
    return (
        true[other],
        effects.draws[:, other],
        low[other],
        high[other],
        effects.probability_nonzero[other],
    )


def judge(rng, true, draws, low, high, path):
    """Of each effect, the share of draws below it, and where its interval is.

    Where prior counts are small, probabilities are often 0 or 1 up to rounding, which
    is not to decide what is below what.
    """
    true, draws, low, high = (
        np.round(values, DIGITS) for values in (true, draws, low, high)
    )
    less = (draws < true).sum(axis=0)
    ties = (draws == true).sum(axis=0)
    share = (less + rng.random(len(true)) * (ties + 1)) / (len(draws) + 1)
    inside = (low <= true) & (true <= high)
    holds = ((low <= draws) & (draws <= high)).mean(axis=0)
    return [
        {"share": s, "inside": float(i), "holds": h, "path": p}
        for s, i, h, p in zip(share, inside, holds, path, strict=True)
    ]


def off(cases, value):
    """Mean of a difference over effects, and over its standard error.

    Effects of one network depend on each other: errors are of networks.
    """
    sums = np.array([sum(value(effect) for effect in case) for case in cases])
    total = sum(len(case) for case in cases)
    error = sums.std(ddof=1) * np.sqrt(len(cases))
    return float(sums.sum() / total), float(sums.sum() / error) if error else 0.0


def summarize(cases, rng):
    """Rows of a table: of all effects, and of those that are likely there."""
    for which in ("all", "likely"):
        chosen = [
            [e for e in case if which == "all" or e["path"] > LIKELY] for case in cases
        ]
        chosen = [case for case in chosen if case]
        if len(chosen) < 2:  # a quick run
            continue
        row = {
            "which": which,
            "networks": len(chosen),
            "effects": sum(map(len, chosen)),
        }
        for name, level in CENTRAL.items():

            def missed(effect, level=level):
                return float(abs(effect["share"] - 0.5) <= level / 2) - level

            difference, row[f"z {name}"] = off(chosen, missed)
            row[f"inside {name}"] = level + difference
        row["holds"] = off(chosen, lambda effect: effect["holds"])[0]
        difference, row["z interval"] = off(
            chosen, lambda effect: effect["inside"] - effect["holds"]
        )
        row["interval"] = row["holds"] + difference
        single = [case[rng.integers(len(case))]["share"] for case in chosen]
        row["p"] = float(stats.kstest(single, "uniform").pvalue)
        yield row


def study(kind, data, n_cases, n_rows, seed):
    """Rows of a table for one kind of variables and data."""
    rng = np.random.default_rng([seed, list(KINDS).index(kind), DATA.index(data)])
    divides, _ = KINDS[kind]
    dags = all_dags()
    dags = dags[~(dags & ~divides[:, None] & divides).any(axis=(1, 2))]
    cases = [
        judge(rng, *one_case(rng, kind, dags, data, n_rows)) for _ in range(n_cases)
    ]
    for row in summarize(cases, rng):
        yield {"kind": kind, "data": data} | row


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", type=int, default=400, help="networks of each kind")
    parser.add_argument("--rows", type=int, default=60, help="rows of each")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kinds", nargs="+", default=list(KINDS), choices=KINDS)
    parser.add_argument("--data", nargs="+", default=DATA, choices=DATA)
    parser.add_argument("--quick", action="store_true", help="to see that it works")
    arguments = parser.parse_args()
    note = f"{arguments.cases} networks of each kind, {arguments.rows} rows"
    if arguments.quick:
        note, arguments.cases = "quick run, to be replaced", 5
    chosen = list(itertools.product(arguments.kinds, arguments.data))
    rows, together = earlier_results(
        "coverage", lambda row: (row["kind"], row["data"]) not in chosen, note
    )
    note = together if rows else note
    table = Table(
        "kind:>10 data:>13 which:>6 networks:d effects:d inside_50:.3f z_50:+.1f "
        "inside_90:.3f z_90:+.1f interval:.3f holds:.3f z_interval:+.1f p:.3f"
    )
    for kind, data in chosen:
        for row in study(kind, data, arguments.cases, arguments.rows, arguments.seed):
            rows.append(row)
            table.add({key.replace(" ", "_"): value for key, value in row.items()})
        order = list(itertools.product(KINDS, DATA))
        rows.sort(key=lambda row: order.index((row["kind"], row["data"])))
        write_results("coverage", rows, note=note)


if __name__ == "__main__":
    main()
