"""
==========================================
Quick start: a network and its uncertainty
==========================================

Data are simulated from a known linear Gaussian network. We search for the best DAG,
then sample DAGs from the posterior distribution and ask how probable each edge is.

In every matrix, entry ``[i, j]`` is about the edge i -> j.
"""

# %%
# Data
# ----
# Twelve variables with two parents on average, and 300 rows.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.frozen import FrozenEstimator

from skbidag import IterativeSearchStructure, OrderMCMCStructure
from skbidag.datasets import make_gaussian_network
from skbidag.inspection import EdgeProbabilityDisplay, GraphDisplay
from skbidag.metrics import compare_graphs

network = make_gaussian_network(300, 12, random_state=1)
print(f"{network.data.shape=}, {network.adjacency.sum()} edges")

# %%
# The best DAG
# ------------
# The search returns the DAG with the largest log score it has seen. Data cannot tell
# Markov equivalent DAGs apart, so the truth is compared with its equivalence class,
# the CPDAG.

search = IterativeSearchStructure(random_state=0).fit(network.data)
print(f"log score of the best DAG:  {search.log_score_:.2f}")
print(f"log score of the true DAG:  {search.score_.dag_score(network.adjacency):.2f}")
comparison = compare_graphs(network.adjacency, search.cpdag_, kind="skeleton")
print(f"edges found: {comparison.TP}, wrong: {comparison.FP}, missed: {comparison.FN}")

# %%
# How sure can we be?
# -------------------
# A best DAG does not say which of its edges could as well be others. Order MCMC
# samples DAGs; the share of them that has an edge estimates the edge's probability.
# The chains agree if R-hat is about 1. The search, frozen, says where to look, and
# stays fitted wherever the sampler is cloned.

space = FrozenEstimator(search)
sampler = OrderMCMCStructure(search_space=space, random_state=0).fit(network.data)
probabilities = sampler.adjacency_probabilities_
print(f"R-hat of the log score: {sampler.log_score_rhat_:.3f}")
print("most probable edges:")
for flat in np.argsort(-probabilities, axis=None)[:20]:
    i, j = np.unravel_index(flat, probabilities.shape)
    mark = "true" if network.adjacency[i, j] else "    "
    print(
        f"  {network.feature_names[i]:>3} -> {network.feature_names[j]:<3} "
        f"{probabilities[i, j]:.2f}  {mark}"
    )

# %%
# Frames mark the true edges. Where the data do not tell the direction, an edge's
# probability is shared between [i, j] and [j, i].

EdgeProbabilityDisplay.from_estimator(sampler, true_graph=network.adjacency)
plt.show()

# %%
# The same as a network: the wider a line, the more probable the edge. Colors tell how
# it differs from the CPDAG of the true network; edges without an arrowhead have no
# direction that the data could tell.

GraphDisplay.from_estimator(sampler, true_graph=network.adjacency)
plt.show()
