"""
==================================
What would an intervention change?
==================================

Correlation between two variables can come from an effect of one on the other, or from a
common cause. A DAG tells these apart, and where data leave the DAG open, effects can be
averaged over the DAGs they permit.
"""

# %%
# A common cause
# --------------
# Exercise lowers weight, weight raises blood pressure, and exercise also lowers blood
# pressure directly. Age has a hand in all of it. The numbers are made up;
# ``coefficients[i, j]`` is the direct effect of i on j.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from skbidag import PartitionMCMCStructure, causal_effects
from skbidag.datasets import load_asia

names = ["age", "exercise", "weight", "pressure"]
coefficients = np.array(
    [[0.0, -0.6, 0.5, 0.6], [0.0, 0.0, -0.7, -0.3], [0.0, 0.0, 0.0, 0.5], [0.0] * 4]
)
total = np.linalg.inv(np.eye(4) - coefficients)  # effects along all paths
noise = np.random.default_rng(0).normal(size=(500, 4))
data = pd.DataFrame(noise @ total, columns=names)

# %%
# These four variables are all linked, so that data alone cannot direct a single edge.
# What we know can: nothing changes one's age, and blood pressure comes last.

model = PartitionMCMCStructure(
    tiers=[["age"], ["exercise", "weight"], ["pressure"]], random_state=0
).fit(data)
effects = causal_effects(model, outcomes=["pressure"], random_state=0)
lower, upper = effects.interval(0.9)
for k, name in enumerate(names[:3]):
    print(
        f"{name:>9} on pressure: {effects.mean[k, 0]:+.2f}, "
        f"90 % between {lower[k, 0]:+.2f} and {upper[k, 0]:+.2f}, "
        f"truly {total[k, 3]:+.2f}"
    )

# %%
# The slope of a regression on one variable alone is no effect: it counts what common
# causes do. Whether exercise acts on weight or weight on exercise stays open, and so
# the effects of both have two peaks: one with the path through the other, one without.

fig, axes = plt.subplots(1, 3, figsize=(10, 3.4), layout="constrained", sharey=True)
for k, (ax, name) in enumerate(zip(axes, names[:3], strict=True)):
    slope = np.polyfit(data[name], data["pressure"], 1)[0]
    ax.hist(effects.draws[:, k, 0], bins=50, density=True, color="tab:blue", alpha=0.6)
    ax.axvline(total[k, 3], color="k", label="true effect")
    ax.axvline(slope, color="tab:orange", linestyle="--", label="slope of regression")
    ax.set(title=f"do({name})", xlabel="effect on pressure")
axes[0].set_ylabel("posterior density")
fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
plt.show()

# %%
# Categorical data
# ----------------
# In the asia data the effect is a difference of probabilities: how much more probable
# is "yes" if a variable is set to "yes" instead of "no"?

asia = load_asia(as_frame=True)
clinic = PartitionMCMCStructure(random_state=0).fit(asia.data)
effects = causal_effects(clinic, random_state=0)
names = [name for name, level in effects.interventions]
on_dysp = names.index("dysp")
lower, upper = (ends[:, on_dysp] for ends in effects.interval(0.9))
for k in np.argsort(-effects.mean[:, on_dysp]):
    if k != on_dysp:
        print(
            f"do({names[k]:>6} = yes): dyspnoea {effects.mean[k, on_dysp]:+.2f} "
            f"[{lower[k]:+.2f}, {upper[k]:+.2f}], an effect at all with probability "
            f"{effects.probability_nonzero[k, on_dysp]:.2f}"
        )

# %%
# All pairs. Effects of rare conditions are uncertain, and where the direction of an
# edge is open, the mean is that of an effect and of none.

fig, ax = plt.subplots(figsize=(6, 5), layout="constrained")
image = ax.imshow(effects.mean, cmap="RdBu_r", vmin=-1, vmax=1)
for (i, j), value in np.ndenumerate(effects.mean):
    if i != j and abs(value) > 0.05:
        ax.text(j, i, f"{value:.1f}", ha="center", va="center", fontsize=8)
ax.set_xticks(range(len(names)), names, rotation=45, ha="right")
ax.set_yticks(range(len(names)), [f"do({name})" for name in names])
ax.set(xlabel="outcome", title="Mean change of the probability of yes")
fig.colorbar(image, label="difference of probabilities")
plt.show()
