"""Data set by data set beside the paper's own results; see ``paper.py --data``."""

import re
import warnings

import numpy as np
from common import Table, paper_score, read_results, timed, write_results
from joblib import Parallel, delayed

from skbidag import IterativeSearchStructure, OrderMCMCStructure
from skbidag.graphs import to_cpdag
from skbidag.metrics import structural_hamming_distance

NAME = re.compile(r"n_(\d+)_N_(\d+)_parents_(\d)_type_(\w+)_seed_(\d+)$")
SETTING = ("type", "n", "N", "parents")
# Seeds up to these were taken as they come, others because a search had failed there.
LAST_SEED = {20: 120, 80: 104, 140: 101, 200: 101}
# By the paper's own simulation: limits of the permissible sets.
PAPER_LIMITS = {"max_parents": 16, "soft_limit": 10}
THRESHOLD = 0.6


def read_sets(directory):
    """Data sets of a folder: (where they come from, file), small ones first.

    A data set is ``n_.._N_.._parents_.._type_.._seed_..`` with the ending ``.npz``
    (arrays X and dag), or ``.csv``, with the DAG in ``.._dag.csv`` beside it.
    """
    found = []
    for path in sorted(directory.iterdir()):
        match = NAME.match(path.stem)
        if match and path.suffix in (".npz", ".csv"):
            n, rows, parents, kind, seed = match.groups()
            where = {"type": kind, "n": int(n), "N": int(rows), "parents": int(parents)}
            found.append((where | {"seed": int(seed)}, path))
    if not found:
        raise SystemExit(f"{directory} has no data sets; paper_data.R makes some.")
    return sorted(found, key=lambda one: list(one[0].values())[1:])


def load(path):
    """The data, and the DAG that they come from."""
    if path.suffix == ".npz":
        arrays = np.load(path)
        return arrays["X"], arrays["dag"] != 0
    dag = path.with_name(f"{path.stem}_dag.csv")
    return tuple(np.loadtxt(file, delimiter=",", skiprows=1) for file in (path, dag))


def read_per_seed():
    """The paper's distance on each data set, by where it comes from and method."""
    return {
        (*(row[key] for key in (*SETTING, "seed")), row["method"]): row["SHD"]
        for row in read_results("paper_per_seed")
    }


def settings_of(where):
    """Parameters of the search, by name: ours, the paper's, and its scheme."""
    n = where["n"]
    alpha = min(0.4, 20 / n) / (2 if where["type"] == "BA" else 1)
    paper = {"score": paper_score(), "alpha": alpha, **PAPER_LIMITS}
    return {
        "defaults": {},
        "paper's": paper,
        "letter": {**paper, "scheme": "paper"},
    }


def study_set(where, path, names):
    """All methods by all settings on one data set: a list of rows."""
    X, truth = load(path)
    truth = to_cpdag(truth != 0)
    rows = []

    def add(settings, method, estimate, seconds, **more):
        distance = structural_hamming_distance(truth, estimate, kind="dag")
        row = {"settings": settings, "method": method, "SHD": int(distance)}
        rows.append(where | row | more | {"seconds": seconds})

    for name, options in settings_of(where).items():
        if name not in names:
            continue
        seed = {"random_state": where["seed"]}
        with warnings.catch_warnings():
            # large sets, one chain that is not compared with another
            warnings.simplefilter("ignore")
            search, seconds = timed(
                IterativeSearchStructure(n_draws=0, **options, **seed).fit, X
            )
            add(name, "MAP", search.cpdag_, seconds, log_score=search.log_score_)
            common = {"score": options.get("score", "auto"), "n_chains": 1, **seed}
            limit = {"max_parents": int(search.search_space_.sum(axis=0).max())}
            samplers = {"MCMC": OrderMCMCStructure(search_space=search, **limit)}
            if name == "paper's":
                samplers["iMCMC"] = OrderMCMCStructure(
                    search_space="pc",
                    alpha=options["alpha"],
                    max_parents=options["max_parents"],
                )
            for method, sampler in samplers.items():
                _, seconds = timed(sampler.set_params(**common).fit, X)
                estimate = sampler.edge_probabilities("cpdag") > THRESHOLD
                add(name, method, estimate, seconds)
    return rows


def with_differences(rows):
    """Rows with the paper's distance, and ours less that, over n."""
    paper = read_per_seed()
    out = []
    for row in rows:
        key = (*(row[name] for name in (*SETTING, "seed")), row["method"])
        theirs = paper.get(key)
        if theirs is not None:
            more = (row["SHD"] - theirs) / row["n"]
            out.append(row | {"paper_SHD": theirs, "difference": more})
    return out


def summarize_pairs(rows):
    """Mean difference, its standard error, wins, ties and losses by setting.

    Sets that were chosen because a search had failed there are left out.
    """
    groups = {}
    for row in rows:
        if row["seed"] <= LAST_SEED.get(int(row["n"]), np.inf):
            large = row["n"] > 80
            where = (row["type"], "140, 200" if large else int(row["n"]))
            where += ("" if large else int(row["N"]), int(row["parents"]))
            groups.setdefault((*where, row["settings"], row["method"]), []).append(row)
    summary = []
    for key, group in groups.items():
        differences = np.array([row["difference"] for row in group])
        error = np.nan
        if len(group) > 1:
            error = differences.std(ddof=1) / np.sqrt(len(group))
        names = ("type", "n", "N", "parents", "settings", "method")
        summary.append(
            dict(zip(names, key, strict=True))
            | {
                "sets": len(group),
                "ours": float(np.mean([row["SHD"] / row["n"] for row in group])),
                "paper's": float(
                    np.mean([row["paper_SHD"] / row["n"] for row in group])
                ),
                "difference": float(differences.mean()),
                "error": float(error),
                "wins": int((differences < 0).sum()),
                "ties": int((differences == 0).sum()),
                "losses": int((differences > 0).sum()),
            }
        )
    return summary


def study_data(directory, sizes, names, jobs=1, name="paper_paired"):
    """Run on all data sets of a folder, and print what the pairs say."""
    rows = []
    sets = [one for one in read_sets(directory) if one[0]["n"] in sizes]
    for n in sorted({where["n"] for where, _ in sets}):
        new = Parallel(n_jobs=jobs)(
            delayed(study_set)(where, path, names)
            for where, path in sets
            if where["n"] == n
        )
        rows += [row for each in new for row in each]
        write_results(name, rows)
    table = Table(
        "type:s n:>8 N:>5 parents:d settings:>9 method:>6 sets:d ours:.3f paper's:.3f "
        "difference:+.4f error:.4f wins:d ties:d losses:d"
    )
    for line in summarize_pairs(with_differences(rows)):
        table.add({key: value for key, value in line.items() if value == value})
    print("\nMAP by the paper's settings less that by its scheme: score, distance")
    table = Table("type:s n:d sets:d higher:d lower:d nats:+.2f SHDn:+.4f")
    for line in compare_scores(rows):
        table.add(line)


def compare_scores(rows):
    """How much higher our search scores than the paper's scheme, and its distance."""
    best = {}
    for row in rows:
        if row["method"] == "MAP":
            key = tuple(row[name] for name in (*SETTING, "seed"))
            best.setdefault(key, {})[row["settings"]] = row
    groups = {}
    for key, found in best.items():
        if {"paper's", "letter"} <= set(found):
            wide, plain = found["paper's"], found["letter"]
            gain = wide["log_score"] - plain["log_score"]
            more = (wide["SHD"] - plain["SHD"]) / wide["n"]
            groups.setdefault(key[:2], []).append((gain, more))
    lines = []
    for (kind, n), pairs in groups.items():
        gain, more = np.array(pairs).T
        lines.append(
            {
                "type": kind,
                "n": int(n),
                "sets": len(pairs),
                "higher": int((gain > 1e-6).sum()),
                "lower": int((gain < -1e-6).sum()),
                "nats": float(gain.mean()),
                "SHDn": float(more.mean()),
            }
        )
    return lines
