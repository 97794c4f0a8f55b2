"""
=================================================
Mixed data: numbers and categories in one network
=================================================

944 Americans before the election of 1996: two numbers, seven scales, and for whom they
were going to vote. A frame with all of these gets the conditional Gaussian score, and
its ordered categories are taken for what they are: degrees of something.
"""

# %%
# Data
# ----
# From the American National Election Studies, in the public domain; the table comes
# with statsmodels. The scales run from strong Democrat to strong Republican, from
# extremely liberal to extremely conservative (of oneself and of the two candidates),
# from little school to a PhD, and over 24 classes of income.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from statsmodels.datasets import anes96

from skbidag import PartitionMCMCStructure
from skbidag.inspection import EdgeProbabilityDisplay, GraphDisplay

raw = anes96.load_pandas().data
scales = {
    "educ": "education",
    "income": "income",
    "TVnews": "TV news",
    "PID": "party",
    "selfLR": "self",
    "ClinLR": "Clinton",
    "DoleLR": "Dole",
}
voters = pd.DataFrame({"age": raw["age"], "town": raw["logpopul"]})
for column, name in scales.items():
    voters[name] = pd.Categorical(raw[column].astype(int), ordered=True)
voters["vote"] = pd.Categorical(raw["vote"].map({0: "Clinton", 1: "Dole"}))
print(voters.describe(include="all").loc[["unique", "top", "mean"]].T)

# %%
# Sample DAGs
# -----------
# Age comes before school, school before income, and all of it before opinions; the
# vote is last. The town's size is that of today and stands beside income.

model = PartitionMCMCStructure(
    tiers=[
        ["age"],
        ["education"],
        ["income", "town"],
        ["TV news", "party", "self", "Clinton", "Dole"],
        ["vote"],
    ],
    random_state=0,
).fit(voters)
print(model.summary())

# %%
# Rows are causes, columns effects.

EdgeProbabilityDisplay.from_estimator(model)
plt.show()

# %%
# The tiers direct most edges, and the other directions follow from these.

GraphDisplay.from_estimator(model)
plt.show()

# %%
# What the model says
# -------------------
# The vote, of voters that the model has not seen: every second one.

half = PartitionMCMCStructure(tiers=model.tiers, random_state=0).fit(voters[::2])
others = voters[1::2]
probabilities = half.predict_probabilities(others, ["vote"])["vote"]
predicted = np.array(["Clinton", "Dole"])[probabilities.argmax(axis=1)]
share = np.mean(predicted == others["vote"])
most = others["vote"].value_counts(normalize=True).max()
print(f"the vote is told right in {share:.0%} (the more frequent one: {most:.0%})")

# %%
# The probability of a vote for Dole by where people see themselves, with intervals of
# 90 %. Mixed networks answer by simulation; a hundred draws of DAGs and parameters will
# do for a picture.

places = np.arange(1, 8)
answers = [
    model.query("vote", {"self": place}, n_draws=100, random_state=0)
    for place in places
]
means = np.array([answer.mean[1] for answer in answers])
ends = np.array([[end[1] for end in answer.interval(0.9)] for answer in answers])
fig, ax = plt.subplots(figsize=(6, 3.4), layout="constrained")
ax.errorbar(places, means, abs(ends.T - means), fmt="o", capsize=4)
ax.set(xlabel="self: 1 extremely liberal to 7 extremely conservative", ylim=(0, 1))
ax.set_ylabel("probability of a vote for Dole")
plt.show()

# %%
# What may be concluded: party and one's own place tell the vote, and beside these so
# does where the candidates are seen. That is a description. Opinions may well follow
# the vote that somebody has decided on, which the tiers leave out by assumption.
