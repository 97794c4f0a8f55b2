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

from skbidag import IterativeSearchStructure, OrderMCMCStructure
from skbidag.datasets import make_gaussian_network
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
# The chains agree if R-hat is about 1.

sampler = OrderMCMCStructure(search_space=search, random_state=0).fit(network.data)
probabilities = sampler.adjacency_probabilities_
print(f"R-hat of the log score: {sampler.log_score_rhat_:.3f}")
print("most probable edges:")
for flat in np.argsort(-probabilities, axis=None)[:20]:
    i, j = np.unravel_index(flat, probabilities.shape)
    mark = "true" if network.adjacency[i, j] else "    "
    print(f"  {network.feature_names[i]:>3} -> {network.feature_names[j]:<3} "
          f"{probabilities[i, j]:.2f}  {mark}")  # fmt: skip

# %%
# Circles mark the true edges. Where the data do not tell the direction, an edge's
# probability is shared between [i, j] and [j, i].

fig, ax = plt.subplots(figsize=(6, 5), layout="constrained")
image = ax.imshow(probabilities, cmap="Blues", vmin=0, vmax=1)
child_and_parent = np.argwhere(network.adjacency)[:, ::-1]
ax.scatter(*child_and_parent.T, s=90, facecolors="none", edgecolors="tab:orange")
ticks = range(len(network.feature_names))
ax.set_xticks(ticks, network.feature_names)
ax.set_yticks(ticks, network.feature_names)
ax.set(xlabel="child", ylabel="parent", title="Posterior probability of each edge")
fig.colorbar(image, label="probability")
plt.show()
