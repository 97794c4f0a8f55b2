"""Protein signaling in T cells (Sachs et al. 2005): what nine conditions tell.

    pip install --no-deps cdt              # has the data; gies is compared if installed
    python benchmarks/sachs.py             # two minutes on one core
    python benchmarks/sachs.py --quick     # a few seconds

The data are read from the package cdt: 7466 cells, 11 proteins and lipids, nine
conditions one after the other. Two are stimuli of the whole pathway and count as
observed, five set something that was measured, activators of PKC and PKA two more of
these, and one inhibits PI3K, which was not measured. What was measured are activities;
an inhibitor may well change another thing than the activity that it is named after.

Concentrations are used as logarithms (`log`, with BGe, or with mixed columns where the
condition is one), and cut into three levels with as many cells in each (`levels`, with
BDe). The same cells are

- `first`: those of the first condition alone, observed ones,
- `observed`: those of the first two,
- `pooled`: all, as if nothing had been done,
- `perfect`: all, with `interventions=`, as if the target alone had been set by each,
- `condition`: all, with the condition as one more variable in the background, which may
  be a parent of anything: what it does is left to the data,
- `activity`: as `perfect`, but with what was set in the place of what was measured: the
  lowest level where a reagent inhibits, the highest where it activates (`levels` only,
  as a concentration would have to be made up),
- `gies`: all, given to GIES (`pip install gies`) with the targets of `perfect`. It has
  a graph and no probabilities; an undirected edge counts one half each way.

Edge probabilities are compared with two networks: `inferred`, the 17 edges that Sachs
et al. found and checked against the literature, and `known`, the 18 edges that cdt has
as the known ones, which include a cycle. `auroc` and `precision` are the area under the
ROC curve and the average precision of the 110 directed edges, `undirected` the area of
the 55 pairs; `edges` have a probability above one half, and `right` of them are in the
network. Means over random states.
"""

import argparse
import time
import warnings
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
from common import Table, installed, write_results
from interventions import gies_graph
from sklearn.metrics import average_precision_score, roc_auc_score

from skbidag import PartitionMCMCStructure
from skbidag.datasets import load_network

# cdt's names of the columns, and those of skbidag's network
COLUMNS = {
    "praf": "Raf",
    "pmek": "Mek",
    "plcg": "Plcg",
    "PIP2": "PIP2",
    "PIP3": "PIP3",
    "p44/42": "Erk",
    "pakts473": "Akt",
    "PKA": "PKA",
    "PKC": "PKC",
    "P38": "P38",
    "pjnk": "Jnk",
}

# What was added, how many cells there are, what it is to act on, and which way
CONDITIONS = [
    ("CD3, CD28", 853, "", ""),
    ("CD3, CD28, ICAM-2", 902, "", ""),
    ("Akt inhibitor", 911, "Akt", "low"),
    ("G0076", 723, "PKC", "low"),
    ("psitectorigenin", 810, "PIP2", "low"),
    ("U0126", 799, "Mek", "low"),
    ("LY294002", 848, "", ""),
    ("PMA", 913, "PKC", "high"),
    ("beta2cAMP", 707, "PKA", "high"),
]
NAMES, SIZES, TARGETS, WAYS = (
    np.array(column) for column in zip(*CONDITIONS, strict=True)
)
LEVELS = ["low", "medium", "high"]


def read():
    """The data in the order of the conditions, and the edges that cdt has as known."""
    package = find_spec("cdt")
    if package is None:
        raise SystemExit("The data are in a package: pip install --no-deps cdt")
    folder = Path(package.submodule_search_locations[0]) / "data" / "resources"
    data = pd.read_csv(folder / "cyto_full_data.csv").rename(columns=COLUMNS)
    edges = pd.read_csv(folder / "cyto_full_target.csv").replace(COLUMNS)
    if len(data) != SIZES.sum():
        raise SystemExit(f"cdt has {len(data)} cells, not the {SIZES.sum()} expected")
    return data, edges


def networks(data, known):
    """The networks to compare with, as adjacency matrices in the order of columns."""
    place = {name: k for k, name in enumerate(data.columns)}
    network = load_network("sachs")
    pairs = {
        "inferred": [
            (network.names[i], network.names[j])
            for i, j in np.argwhere(network.adjacency)
        ],
        "known": list(known.itertuples(index=False, name=None)),
    }
    result = {}
    for name, edges in pairs.items():
        result[name] = np.zeros((len(place), len(place)), dtype=bool)
        for parent, child in edges:
            result[name][place[parent], place[child]] = True
    return result


def probabilities(data, seed, background=None, interventions=None):
    """Edge probabilities among the proteins by the defaults."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = PartitionMCMCStructure(background=background, random_state=seed)
        model.fit(data, interventions=interventions)
    n = len(COLUMNS)
    return model.adjacency_probabilities_[:n, :n]


def gies_shares(data, targets):
    """The graph of GIES, with a half for each way of an undirected edge."""
    cells = targets[:, None] == np.array(data.columns)
    graph = gies_graph(data.to_numpy(), cells)
    return graph - 0.5 * (graph & graph.T)


def with_activities(levels):
    """Levels as they were set, where something was."""
    result = levels.copy()
    ends = np.cumsum(SIZES)
    for begin, end, target, way in zip(ends - SIZES, ends, TARGETS, WAYS, strict=True):
        if target:
            result.loc[begin : end - 1, target] = way
    return result


def methods(data, scale):
    """What is tried, by name: functions of a seed."""
    targets = np.repeat(TARGETS, SIZES)
    condition = pd.Categorical(np.repeat(NAMES, SIZES), categories=NAMES)
    with_condition = data.assign(condition=condition)
    tried = {
        "first": lambda seed: probabilities(data[: SIZES[0]], seed),
        "observed": lambda seed: probabilities(data[: SIZES[:2].sum()], seed),
        "pooled": lambda seed: probabilities(data, seed),
        "perfect": lambda seed: probabilities(data, seed, interventions=targets),
        "condition": lambda seed: probabilities(
            with_condition, seed, background=["condition"]
        ),
    }
    if scale == "levels":
        changed = with_activities(data)
        tried["activity"] = lambda seed: probabilities(
            changed, seed, interventions=targets
        )
    elif installed("gies") != "not installed":
        tried["gies"] = lambda seed: gies_shares(data, targets)
    return tried


def compare(true, found):
    """How well edges are ranked."""
    directed = ~np.eye(len(true), dtype=bool)
    pairs = np.triu(directed)
    either = true | true.T
    return {
        "auroc": roc_auc_score(true[directed], found[directed]),
        "precision": average_precision_score(true[directed], found[directed]),
        "undirected": roc_auc_score(either[pairs], (found + found.T)[pairs]),
        "edges": np.count_nonzero(found > 0.5),
        "right": np.count_nonzero(true & (found > 0.5)),
    }


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=5, help="random states")
    parser.add_argument("--quick", action="store_true", help="to see that it works")
    arguments = parser.parse_args()
    note = "quick run, to be replaced" if arguments.quick else ""
    data, known = read()
    true = networks(data, known)
    log = np.log(data)
    levels = data.apply(lambda column: pd.qcut(column, 3, labels=LEVELS))
    table = Table(
        "scale:>8 method:>10 network:>9 auroc:.3f precision:.3f undirected:.3f "
        "edges:.1f right:.1f seconds:.1f"
    )
    rows = []
    for scale, scaled in {"log": log, "levels": levels}.items():
        for method, learn in methods(scaled, scale).items():
            began = time.process_time()
            n_seeds = 1 if arguments.quick or method == "gies" else arguments.seeds
            found = [learn(seed) for seed in range(n_seeds)]
            seconds = (time.process_time() - began) / n_seeds
            for network, adjacency in true.items():
                scores = pd.DataFrame([compare(adjacency, one) for one in found])
                row = {"scale": scale, "method": method, "network": network}
                row |= scores.mean().to_dict() | {"seconds": seconds}
                rows.append(row)
                table.add(row)
            write_results("sachs", rows, note=note)


if __name__ == "__main__":
    main()
