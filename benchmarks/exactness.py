"""Exactness: errors of sampled edge probabilities over their Monte Carlo errors.

    python benchmarks/exactness.py            # two hundred problems, five minutes
    python benchmarks/exactness.py --quick    # seconds

Random problems of 8 variables, every eleventh of 10 to 12, each with a score of its own
(BGe, BDe, BIC of continuous and of categorical data, conditional Gaussian for mixed
data), a space (everything; random permitted edges; the same with one more parent from
outside) and constraints (none; forbidden edges; required ones; tiers; a background;
log prior odds of edges). Chains over orders, DAGs and partitions sample edge
probabilities p; dynamic programming (ExactStructure) has the exact ones, from a list of
parent sets that is made here, one by one, and not by the tables that the chains use.
Over orders a DAG counts once for each order that it fits, there as here.

With R draws worth `ess` independent ones, the error of p is about normal with standard
error sqrt(p (1 - p) / ess): z is the error over that. If the sampler is exact and knows
how exact it is, z is standard normal over problems; a bias that matters beside the
Monte Carlo error widens or shifts it. Of rare edges shares are not normal: z is of
those of whose rarer side at least 30 effective draws are expected. The edges of one
problem depend on each other, so the test that z is standard normal (Kolmogorov and
Smirnov, on the uniformity of the quantiles) takes one edge of each run, drawn at
random.

`beyond` is the share of edges with |z| above 1.96, 0.05 if z is normal; `p` is that of
the test; `largest` is the largest |z|.
"""

import argparse
import time
import warnings
from functools import partial

import numpy as np
from common import Table, write_results
from mixed import make_network
from scipy import stats

from skbidag import ExactStructure, OrderMCMCStructure, PartitionMCMCStructure
from skbidag.datasets import make_discrete_network, make_gaussian_network
from skbidag.diagnostics import edge_diagnostics
from skbidag.scores import (
    BDe,
    BGe,
    CategoricalBIC,
    ConditionalGaussian,
    GaussianBIC,
    TabulatedScore,
)

SCORES = {
    "BGe": BGe(),
    "BDe": BDe(),
    "Gaussian BIC": GaussianBIC(),
    "categorical BIC": CategoricalBIC(),
    "conditional Gaussian": ConditionalGaussian(ordinal=None),
}
SPACES = ("full", "permitted", "one more parent")
CONSTRAINTS = ("none", "forbidden", "required", "tiers", "background", "edge prior")
WALKS = {
    "orders": OrderMCMCStructure,
    "DAGs": PartitionMCMCStructure,
    "partitions": partial(PartitionMCMCStructure, walk="partitions"),
}
# An edge is judged from so many expected effective draws of its rarer side on
FEWEST = 30


# ----------------------------------------------------------------------- problems


def make_data(score, n, rng):
    """Rows for a score, no column with one value: estimators give those no edges."""
    while True:
        data = draw_data(score, n, rng)
        if all(len(set(column)) > 1 for column in np.asarray(data, dtype=object).T):
            return data


def draw_data(score, n, rng):
    """Rows for a score; effects are weak and rows few, so that edges are uncertain."""
    seed = int(rng.integers(2**31))
    n_rows = int(rng.integers(30, 120))
    if score == "conditional Gaussian":
        return make_network("conditional", n, 3 * n_rows, seed)[0]
    if score in ("BDe", "categorical BIC"):
        return make_discrete_network(
            2 * n_rows, n, n_levels=(2, 3), random_state=seed
        ).data
    return make_gaussian_network(
        n_rows, n, strengths=(0.1, 0.8), signs="random", random_state=seed
    ).data


def draw_constraints(kind, n, rng):
    """What the user says about edges, as parameters of the estimators."""
    order = rng.permutation(n)
    above = np.argsort(order)[:, None] < np.argsort(order)  # edges along an order
    if kind == "forbidden":
        return {"forbidden_edges": rng.random((n, n)) < 0.2}
    if kind == "required":
        chosen = rng.permutation(np.argwhere(above))[:2]
        return {"required_edges": [tuple(map(int, edge)) for edge in chosen]}
    if kind == "tiers":
        cut = int(rng.integers(2, n - 1))
        return {"tiers": [order[:cut].tolist(), order[cut:].tolist()]}
    if kind == "background":
        return {"background": order[:2].tolist()}
    if kind == "edge prior":
        return {"edge_prior": rng.normal(size=(n, n)) * (1 - np.eye(n))}
    return {}


def draw_space(kind, n, constraints, rng):
    """Permitted edges, and whether one more parent may come from outside."""
    if kind == "full":
        return "full", False
    permitted = rng.random((n, n)) < 0.5
    np.fill_diagonal(permitted, False)
    for edge in constraints.get("required_edges", []):
        permitted[edge] = True
    return permitted, kind == "one more parent"


# -------------------------------------------------------------------------- exact


def listed_sets(score, permitted, extra_parent, constraints):
    """Scores of all parent sets that the problem has, one by one.

    Parameters
    ----------
    score : BaseScore
        The fitted score.
    permitted : ndarray of bool, shape (n, n)
        ``permitted[i, j]`` is the edge i -> j.
    extra_parent : bool
        Whether one parent may be another.
    constraints : dict
        As `draw_constraints` makes them.

    Returns
    -------
    tables : list of dict
        Of each node, log scores by its parents.
    """
    n = len(permitted)
    forbidden = np.eye(n, dtype=bool)
    forbidden |= constraints.get("forbidden_edges", forbidden)
    first, second = constraints.get("tiers", ([], []))
    forbidden[np.ix_(second, first)] = True
    required = constraints.get("required_edges", [])
    tables = []
    for node in range(n):
        needed = {parent for parent, child in required if child == node}
        table = {}
        for mask in range(1 << n):
            parents = [i for i in range(n) if mask >> i & 1]
            outside = sum(not permitted[i, node] for i in parents)
            if (
                forbidden[parents, node].any()
                or outside > extra_parent
                or not needed <= set(parents)
            ):
                continue
            table[tuple(parents)] = score.local_score(node, parents)
        tables.append(table)
    for node in constraints.get("background", []):
        tables[node] = {(): 0.0}
    return tables


def exact_probabilities(score, space, extra_parent, constraints):
    """Exact probabilities of edges, by what they are of."""
    n = score.n_features_in_
    permitted = ~np.eye(n, dtype=bool) if isinstance(space, str) else space
    tables = listed_sets(score, permitted, extra_parent, constraints)
    tabulated = TabulatedScore(tables)
    exact = {}
    for posterior in ("order-weighted", "over DAGs"):
        model = ExactStructure(
            tabulated,
            background=constraints.get("background"),
            posterior=posterior,
            n_draws=1,
        )
        model.fit(tabulated.stand_in_rows())
        exact[posterior] = model.adjacency_probabilities_
    return exact


# ------------------------------------------------------------------------- errors


def judge(sampler, exact):
    """Errors of a fitted sampler over their standard errors, of the edges judged."""
    found = edge_diagnostics(sampler)
    rarer = np.minimum(exact, 1 - exact)
    with np.errstate(invalid="ignore"):
        judged = np.argwhere(rarer * found.ess >= FEWEST)
    for i, j in judged:
        p = exact[i, j]
        error = np.sqrt(p * (1 - p) / found.ess[i, j])
        yield {
            "parent": int(i),
            "child": int(j),
            "exact": float(p),
            "sampled": float(found.probability[i, j]),
            "ess": float(found.ess[i, j]),
            "z": float((found.probability[i, j] - p) / error),
        }


def one_problem(number, n_draws=1000):
    """All edges of one problem that are judged, by each walk."""
    rng = np.random.default_rng([number, 8])
    # all pairs of a score and a space come up equally often
    score = list(SCORES)[number % 5]
    space_kind = SPACES[number // 5 % 3]
    constraint = str(rng.choice(CONSTRAINTS))
    n = int(rng.integers(10, 13)) if number % 11 == 10 else 8
    data = make_data(score, n, rng)
    constraints = draw_constraints(constraint, n, rng)
    space, extra_parent = draw_space(space_kind, n, constraints, rng)
    exact = None
    for walk, sampler in WALKS.items():
        model = sampler(
            SCORES[score],
            search_space=space,
            extra_parent=extra_parent,
            max_parents=n,
            n_draws=n_draws,
            random_state=number,
            **constraints,
        )
        began = time.process_time()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model.fit(data)
        seconds = time.process_time() - began
        if exact is None:
            exact = exact_probabilities(model.score_, space, extra_parent, constraints)
        about = {
            "problem": number,
            "n": n,
            "score": score,
            "space": space_kind,
            "constraints": constraint,
            "walk": walk,
            "warned": int(any("converge" in str(w.message) for w in caught)),
            "seconds": seconds,
        }
        posterior = "order-weighted" if walk == "orders" else "over DAGs"
        for row in judge(model, exact[posterior]):
            yield about | row


# ------------------------------------------------------------------------ summary


def one_of_each_run(rows):
    """The z of one edge of each run, drawn at random."""
    rng = np.random.default_rng(0)
    runs = {}
    for row in rows:
        runs.setdefault((row["problem"], row["walk"]), []).append(row["z"])
    return np.array([rng.choice(z) for z in runs.values()])


def summarize(rows):
    """Rows of a table: the distribution of z, in all and by what problems are."""
    groups = [("all", "", rows)]
    for what in ("walk", "score", "space", "constraints"):
        for value in dict.fromkeys(row[what] for row in rows):
            groups.append((what, value, [row for row in rows if row[what] == value]))
    for what, value, group in groups:
        z = np.array([row["z"] for row in group])
        single = one_of_each_run(group)
        yield {
            "by": what,
            "value": value,
            "runs": len(single),
            "edges": len(z),
            "mean": float(z.mean()),
            "deviation": float(z.std()),
            "beyond": float(np.mean(np.abs(z) > stats.norm.ppf(0.975))),
            "largest": float(np.abs(z).max()),
            "p": float(stats.kstest(single, "norm").pvalue),
        }


def bins_of(rows, width=0.25, largest=4.0):
    """How many z lie in each bin, by walk; the outermost have all beyond."""
    edges = np.arange(-largest, largest + width / 2, width)
    for walk in WALKS:
        z = np.array([row["z"] for row in rows if row["walk"] == walk])
        inside = np.clip(z, edges[0], edges[-1] - width / 2)
        for left, count in zip(edges, np.histogram(inside, edges)[0], strict=False):
            yield {"walk": walk, "from": float(left), "edges": int(count)}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--problems", type=int, default=200, help="how many")
    parser.add_argument("--quick", action="store_true", help="to see that it works")
    arguments = parser.parse_args()
    note = f"{arguments.problems} problems"
    if arguments.quick:
        note, arguments.problems = "quick run, to be replaced", 6
    rows = []
    for number in range(arguments.problems):
        rows += one_problem(number)
    summary = list(summarize(rows))
    write_results("exactness", summary, note=note)
    write_results("exactness_bins", list(bins_of(rows)), note=note)
    table = Table(
        "by:>12 value:>22 runs:d edges:d mean:+.3f deviation:.3f beyond:.3f "
        "largest:.2f p:.3f"
    )
    for row in summary:
        table.add(row)


if __name__ == "__main__":
    main()
