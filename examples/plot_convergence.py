"""
==========================
Have the chains converged?
==========================

Edge probabilities come from chains, and chains need time. Three runs of different
length show what it looks like when they had too little: the traces, R-hat, and how well
the chains agree on the edges.
"""

# %%
# Data
# ----
# 300 rows from the alarm network, which has 37 variables. The search finds the best DAG
# and the space that the chains then walk in.

import warnings

import matplotlib.pyplot as plt
from sklearn.exceptions import ConvergenceWarning

from skbidag import IterativeSearchStructure, OrderMCMCStructure
from skbidag.datasets import load_network
from skbidag.diagnostics import edge_diagnostics, ess, feature_probability, rhat
from skbidag.graphs import has_path
from skbidag.inspection import (
    ConcordanceDisplay,
    ExpansionDisplay,
    GraphDisplay,
    TraceDisplay,
)

alarm = load_network("alarm")
X = alarm.sample(300, random_state=0, as_frame=True)
search = IterativeSearchStructure(n_draws=0, random_state=0).fit(X)
ExpansionDisplay.from_estimator(search)
plt.show()

# %%
# Chains of three lengths
# -----------------------
# Each run has four chains, which start from random orders. The first run is far too
# short, and ``fit`` warns of it.

runs = {}
for n_iter in (3_000, 25_000, 200_000):
    sampler = OrderMCMCStructure(
        search_space=search.search_space_, n_iter=n_iter, n_draws=250, random_state=0
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        runs[n_iter] = sampler.fit(X)
    print(f"{n_iter} steps: {len(caught)} warnings")

# %%
# Traces that have converged look alike and show no trend. Below, each point is an edge:
# its probability by one chain against that by the others.

fig, axes = plt.subplots(2, 3, figsize=(12.5, 7), layout="constrained")
for (n_iter, sampler), (above, below) in zip(runs.items(), axes.T, strict=True):
    TraceDisplay.from_estimator(sampler, ax=above)
    ConcordanceDisplay.from_estimator(sampler, ax=below)
    above.set_title(f"{n_iter} steps, {above.get_title()}")
    below.get_legend().remove()
    if n_iter < 200_000:
        above.get_legend().remove()
plt.show()

# %%
# The numbers behind
# ------------------
# R-hat compares chains with each other: about 1 is good. The effective sample size
# tells how many independent draws the 1000 dependent ones are worth, and the Monte
# Carlo standard error how far an edge's probability may be off.

for n_iter, sampler in runs.items():
    trace = sampler.log_score_trace_
    errors = edge_diagnostics(sampler).mcse
    print(
        f"{n_iter:>8} steps: R-hat {rhat(trace):.2f}, ESS {ess(trace):4.0f}, "
        f"largest error of an edge {errors.max():.3f}"
    )

# %%
# Any feature of the DAG has a probability and an error: does a path lead from the
# failure of the left ventricle to the blood pressure?

for n_iter, sampler in runs.items():
    result = feature_probability(sampler, has_path, "LVFAILURE", "BP")
    print(f"{n_iter:>8} steps: {result.probability:.3f} ± {result.mcse:.3f}")

# %%
# The network
# -----------
# The edges that are more probable than not, by the longest run. Width stands for
# probability, colors for differences to the network that the data come from.

GraphDisplay.from_estimator(runs[200_000], true_graph=alarm.adjacency)
plt.show()
