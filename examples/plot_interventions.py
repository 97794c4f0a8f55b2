"""
===========================================
Knock-outs, and compounds with unknown aims
===========================================

Observed data leave directions open; experiments tell them. First an experimenter sets
one variable after the other. Then compounds are given of which nobody knows what they
act on.
"""

# %%
# A screen of knock-outs
# ----------------------
# Eight genes, some of which regulate others. There are 60 cells in which nothing was
# done, and for each gene 10 in which it was knocked out: its activity is then low,
# whatever its regulators do.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from skbidag import PartitionMCMCStructure
from skbidag.inspection import GraphDisplay
from skbidag.metrics import structural_hamming_distance

genes = list("ABCDEFGH")
rng = np.random.default_rng(7)
true = np.triu(rng.random((8, 8)) < 0.25, 1)
effects = true * rng.choice([-1, 1], (8, 8)) * rng.uniform(0.5, 1.0, (8, 8))


def grow(n_cells, knocked_out=None, effects=effects, shift=None):
    """Activities of all genes in some cells."""
    X = rng.normal(size=(n_cells, 8))
    for gene in range(8):
        X[:, gene] += X @ effects[:, gene] + (0 if shift is None else shift[gene])
        if gene == knocked_out:
            X[:, gene] = rng.normal(-3, 0.2, size=n_cells)
    return X


parts = [grow(60)] + [grow(10, knocked_out=gene) for gene in range(8)]
screen = pd.DataFrame(np.vstack(parts), columns=genes)
knocked_out = np.repeat(["", *genes], [60] + [10] * 8)

# %%
# ``interventions`` says for each row what was set in it. The same cells are taken for
# observed ones as well, and those without a knock-out alone.

observed = knocked_out == ""
models = {
    "observed cells alone": PartitionMCMCStructure(random_state=0).fit(
        screen[observed]
    ),
    "all, as if observed": PartitionMCMCStructure(random_state=0).fit(screen),
    "all, with interventions": PartitionMCMCStructure(random_state=0).fit(
        screen, interventions=knocked_out
    ),
}
for name, model in models.items():
    wrong = structural_hamming_distance(true, model.consensus_graph())
    print(f"{name}: {wrong} of {true.sum()} edges missing, too many or turned")

# %%
# Where a knock-out settles a direction, the probability of the other one is zero.

fig, axes = plt.subplots(1, 3, figsize=(10, 3.6), layout="constrained")
for ax, (name, model) in zip(axes, models.items(), strict=True):
    probabilities = model.adjacency_probabilities_
    image = ax.imshow(probabilities, cmap="Blues", vmin=0, vmax=1)
    parents, children = np.nonzero(true)
    ax.plot(children, parents, "o", mfc="none", mec="tab:red", ms=11)
    ax.set(title=name, xlabel="child", xticks=range(8), xticklabels=genes)
    ax.set(yticks=range(8), yticklabels=genes)
axes[0].set_ylabel("parent")
fig.colorbar(image, ax=axes, label="probability (circles: edges of the network)")
plt.show()

# %%
# Seeing and doing
# ----------------
# A cell in which D is low: what are its other activities? If it was seen to be low, its
# regulator A is likely what makes it so, and G, which A regulates as well, goes along.
# If D was knocked out, these are as ever. H, which D regulates, follows it either way.

model = models["all, with interventions"]
cell = pd.DataFrame(np.nan, index=["seen", "knocked out"], columns=genes)
cell["D"] = -3.0
print(model.predict(cell, interventions=["", "D"]).round(2))

# %%
# Compounds with unknown targets
# ------------------------------
# Three compounds. What they do is unknown to the model: the first silences what
# regulates E, the second raises B and G, the third does nothing. These are no perfect
# interventions: the rest of a target's regulators still have their say.

inhibited = effects.copy()
inhibited[:, 4] = 0.0
raised = np.zeros(8)
raised[[1, 6]] = 1.5
cells = np.vstack([grow(200), grow(60, effects=inhibited), grow(60, shift=raised)])
cells = np.vstack([cells, grow(60)])
given = np.repeat(["none", "first", "second", "third"], [200, 60, 60, 60])

# %%
# Each compound is one more variable. It is in the background: it may be a parent of
# anything, and has no parents. Edges from it are to its targets.

compounds = ["first", "second", "third"]
data = pd.DataFrame(cells, columns=genes)
for compound in compounds:
    data[compound] = pd.Categorical(np.where(given == compound, "given", "not"))
model = PartitionMCMCStructure(background=compounds, random_state=0).fit(data)
targets = model.adjacency_probabilities_[8:, :8]
print(pd.DataFrame(targets, index=compounds, columns=genes).round(2))

# %%
# B and G depend on the second compound, and E on the first. What these regulate changes
# as well, and is no target. Without knock-outs, one direction is left open.

GraphDisplay.from_estimator(model)
plt.show()
