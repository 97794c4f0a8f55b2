"""
==========================================
Categorical data: a survey about marriages
==========================================

What 6366 married women answered to a magazine: nine columns, all of them categories.
Category columns get the BDe score without being asked for.
"""

# %%
# Data
# ----
# The survey of Redbook magazine that Fair (1978) wrote about; statsmodels has it with
# permission of the author. Numbers were asked for in classes; "affairs" is whether
# there were any.

import matplotlib.pyplot as plt
import numpy as np
from statsmodels.datasets import fair

from skbidag import PartitionMCMCStructure
from skbidag.inspection import EdgeProbabilityDisplay, GraphDisplay

answers = fair.load_pandas().data
answers = answers.rename(
    columns={
        "rate_marriage": "marriage",
        "yrs_married": "years",
        "educ": "education",
        "occupation_husb": "husband",
    }
)
answers["affairs"] = np.where(answers["affairs"] > 0, "yes", "no")
answers = answers.astype("category")
print(answers.nunique())

# %%
# Sample DAGs
# -----------

model = PartitionMCMCStructure(random_state=0).fit(answers)
print(model.score_)
print(model.summary())

# %%
# Being joined and being directed are different questions. Left: two variables are
# joined. Right: the edge leads from the row's variable to the column's. The data are
# surer of the one than of the other.

fig, axes = plt.subplots(1, 2, figsize=(10.5, 4.6), layout="constrained")
for ax, kind in zip(axes, ["skeleton", "dag"], strict=True):
    EdgeProbabilityDisplay.from_estimator(model, kind=kind, ax=ax)
    ax.set_title({"skeleton": "joined", "dag": "directed"}[kind])
plt.show()

# %%
# Directions that nobody doubts settle others: education comes before work, and age
# before both. That from affairs to the marriage follows only if nothing hidden acts on
# the two, which is much to ask here.

tiers = [["age"], ["education"], [x for x in answers if x not in ("age", "education")]]
model = PartitionMCMCStructure(tiers=tiers, random_state=0).fit(answers)
GraphDisplay.from_estimator(model)
plt.show()

# %%
# Tables of probabilities
# -----------------------
# What a DAG says of a variable is a table, with a posterior distribution for each of
# its entries: here how women rate their marriage.

table = model.parameters("best").to_frame()
table = table[(table["child"] == "marriage") & (table["parameter"] == "5.0")]
print(table[["given", "mean", "lower", "upper"]].round(2).to_string(index=False))

# %%
# Predict
# -------
# Every cell is predicted from the rest of its row, averaged over the sampled DAGs. To
# compare: always the most frequent answer.

predicted = model.predict(answers)
for name in answers:
    right = (predicted[name].to_numpy() == answers[name].to_numpy()).mean()
    most = answers[name].value_counts(normalize=True).max()
    print(f"{name:>10}: {right:.2f} of the cells predicted right ({most:.2f})")

# %%
# What may be concluded: how answers go together among women who read this magazine and
# chose to answer. Whoever is left out by that may differ in just what is asked. And
# whether a poor marriage leads to affairs or comes of them, no such table can tell.
