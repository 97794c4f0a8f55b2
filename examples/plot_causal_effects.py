"""
==================================
What would an intervention change?
==================================

Correlation between two variables can come from an effect of one on the other, or from a
common cause. A DAG tells these apart, and where data leave the DAG open, effects can be
averaged over the DAGs they permit. First on numbers that are made up, so that the truth
is known; then on an experiment in which lots were drawn.
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
from statsmodels.datasets import randhie

from skbidag import PartitionMCMCStructure, causal_effects

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
# A real experiment
# -----------------
# The RAND Health Insurance Experiment drew lots for how much of their doctor's bills
# families had to pay: nothing, a share, or all up to a yearly sum (a deductible). The
# table (public domain, it comes with statsmodels) has 20,190 years of people, with
# their health as it was before and how often they then saw a doctor.

raw = randhie.load_pandas().data
plan = np.select(
    [raw["idp"] == 1, raw["lncoins"] == 0], ["deductible", "free"], "share"
)
health = np.select(
    [raw["hlthp"] == 1, raw["hlthf"] == 1, raw["hlthg"] == 1],
    ["poor", "fair", "good"],
    "excellent",
)
people = pd.DataFrame(
    {
        "plan": pd.Categorical(plan, ["free", "share", "deductible"]),
        "limited": pd.Categorical(np.where(raw["physlm"] > 0.5, "yes", "no")),
        "diseases": pd.cut(
            raw["disea"], [-1, 7, 12, 60], labels=["few", "some", "many"]
        ),
        "health": pd.Categorical(health, ["excellent", "good", "fair", "poor"]),
        "visits": pd.cut(
            raw["mdvis"], [-1, 0, 2, 5, 80], labels=["0", "1-2", "3-5", "6+"]
        ),
    }
)

# %%
# A plan that was drawn by lot has no causes among the rest: it is in the background.
# Health may depend on it, as far as the model knows; that it does not is what lots
# should bring about. Visits come last.

experiment = PartitionMCMCStructure(
    background=["plan"],
    tiers=[["plan", "limited", "diseases", "health"], ["visits"]],
    random_state=0,
).fit(people)
edges = experiment.edges_frame()
print(edges[["parent", "child", "probability", "error"]].round(3).to_string())

# %%
# The effect of a plan beside the plain difference between those who got it and those
# with free care. In an experiment that is the same, and so it comes out. Those who pay
# see doctors less often; with free care 22 of a hundred have no visit in a year,
# otherwise 35 or more.

effects = causal_effects(experiment, ["plan", "health"], ["visits"], random_state=0)
lower, upper = effects.interval(0.9)
shares = pd.crosstab(people["plan"], people["visits"], normalize="index")
print(shares.round(2))
fig, axes = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained", sharey=True)
for row, (ax, plan) in enumerate(zip(axes, ["share", "deductible"], strict=True)):
    assert effects.interventions[row] == ("plan", plan)
    mean, places = effects.mean[row], np.arange(3)
    ends = np.abs(np.array([lower[row], upper[row]]) - mean)
    ax.errorbar(places, mean, ends, fmt="o", capsize=4, label="effect, 90 % interval")
    seen = (shares.loc[plan] - shares.loc["free"])[["1-2", "3-5", "6+"]]
    ax.plot(places + 0.15, seen, "x", color="tab:orange", label="plain difference")
    ax.axhline(0, color="0.6", lw=0.8)
    ax.set(title=f"{plan} instead of free", xlabel="visits to a doctor in a year")
    ax.set_xticks(places, ["1-2", "3-5", "6+"])
axes[0].set_ylabel("change of the probability")
axes[0].legend()
plt.show()

# %%
# Nobody drew lots for health. Chronic diseases, limitations and health as people rate
# it go together, and these data do not tell which comes first: so poor health has an
# effect on visits in half of the DAGs, and none in the others.

for row, (_, level) in enumerate(effects.interventions[2:], 2):
    print(
        f"{level} instead of excellent health: 6 visits or more "
        f"{effects.mean[row, 2]:+.3f} [{lower[row, 2]:+.3f}, {upper[row, 2]:+.3f}], "
        f"an effect at all with probability {effects.probability_nonzero[row, 2]:.2f}"
    )

# %%
# What may be concluded: that plans act on visits, for which the lots stand, not the
# model. The sizes are those of this experiment. Rows of one person in several years,
# and of one family, depend on each other, which the model does not know: intervals
# are narrower than they should be. What is said of health rests on there being no
# common cause that was not measured, such as age, which this table does not have.
