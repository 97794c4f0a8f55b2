"""
========================================
Categorical data: the asia chest clinic
========================================

Eight yes-or-no variables of a fictitious clinic. Category columns get the BDe score
without being asked for.
"""

# %%
# Data
# ----

import matplotlib.pyplot as plt
import numpy as np

from skbidag import OrderMCMCStructure
from skbidag.datasets import load_asia
from skbidag.graphs import skeleton
from skbidag.inspection import EdgeProbabilityDisplay, GraphDisplay

asia = load_asia(as_frame=True)
print(asia.data.head(3))

# %%
# Sample DAGs
# -----------

model = OrderMCMCStructure(random_state=0).fit(asia.data)
print(model.score_)
names = model.feature_names_in_
adjacent = model.edge_probabilities(kind="skeleton")
direction = model.edge_probabilities(kind="dag")
for i, j in np.argwhere(np.triu(adjacent) > 0.5):
    print(
        f"{names[i]:>6} - {names[j]:<6} {adjacent[i, j]:.2f}   "
        f"-> {direction[i, j]:.2f}, <- {direction[j, i]:.2f}"
    )

# %%
# Being adjacent and being directed are different questions. Left: two variables are
# adjacent. Right: the edge leads from the row's variable to the column's. Frames mark
# the network that the data come from. Two of the 500 patients have visited Asia and
# three have tuberculosis: too few to learn the edge between the two.

fig, axes = plt.subplots(1, 2, figsize=(10, 4.6), layout="constrained")
for ax, kind, truth in [
    (axes[0], "skeleton", skeleton(asia.adjacency)),
    (axes[1], "dag", asia.adjacency),
]:
    EdgeProbabilityDisplay.from_estimator(model, kind=kind, true_graph=truth, ax=ax)
plt.show()

# %%
# The network of what is more probable than not, and how it differs from the truth:

GraphDisplay.from_estimator(model, true_graph=asia.adjacency)
plt.show()

# %%
# Predict
# -------
# Every cell is predicted from the rest of its row, averaged over the sampled DAGs.

predicted = model.predict(asia.data)
observed = asia.data.to_numpy()
for name, share in zip(names, (predicted == observed).mean(axis=0), strict=True):
    print(f"{name:>6}: {share:.3f} of the cells predicted right")
