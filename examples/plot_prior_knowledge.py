"""
====================================================
Prior knowledge: tiers, forbidden and required edges
====================================================

What is known before seeing data (an order in time, a mechanism, an impossibility)
narrows the posterior distribution down, and often settles directions that data alone
cannot.
"""

# %%
# Data
# ----
# A small clinic: exposures come before diseases, diseases before symptoms.

import matplotlib.pyplot as plt
import numpy as np

from skbidag import OrderMCMCStructure
from skbidag.datasets import load_asia
from skbidag.inspection import EdgeProbabilityDisplay

asia = load_asia(as_frame=True)

# %%
# Four posterior distributions
# ----------------------------
# ``tiers`` forbids edges from a later group to an earlier one. Edges are (parent,
# child) pairs of names. ``edge_prior`` is softer: log prior odds that the data may
# outweigh. Here it asks each edge to be worth a factor of ten.

tiers = [["asia", "smoke"], ["tub", "lung", "bronc"], ["either"], ["xray", "dysp"]]
settings = {
    "nothing known": {},
    "tiers": {"tiers": tiers},
    "tiers, required and forbidden": {
        "tiers": tiers,
        "required_edges": [("tub", "either"), ("asia", "tub")],
        "forbidden_edges": [("smoke", "either"), ("smoke", "dysp")],
    },
    "sparse edge prior": {"edge_prior": np.full((8, 8), -np.log(10))},
}
models = {
    title: OrderMCMCStructure(random_state=0, **knowledge).fit(asia.data)
    for title, knowledge in settings.items()
}

# %%
# Frames mark the network that the data come from.

fig, axes = plt.subplots(2, 2, figsize=(9, 8.6), layout="constrained")
for ax, (title, model) in zip(axes.flat, models.items(), strict=True):
    EdgeProbabilityDisplay.from_estimator(model, true_graph=asia.adjacency, ax=ax)
    ax.set_title(title)
plt.show()

# %%
# A contradiction is an error that names the edges:

try:
    OrderMCMCStructure(tiers=tiers, required_edges=[("xray", "lung")]).fit(asia.data)
except ValueError as error:
    print(error)
