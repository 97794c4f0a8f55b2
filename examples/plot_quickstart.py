"""
==========================================
Quick start: a network and its uncertainty
==========================================

Ten measurements of 442 patients with diabetes, and how far the disease had come a year
later. What goes with what, and how sure can one be of that?

In every matrix, entry ``[i, j]`` is about the edge i -> j.
"""

# %%
# Data
# ----
# The diabetes study of Efron and others (2004), which scikit-learn has: blood pressure
# and measurements of blood serum. The ratio of total and HDL cholesterol, which follows
# from the two, is left out. The study calls the sexes 1 and 2.

import matplotlib.pyplot as plt
from sklearn.datasets import load_diabetes

from skbidag import PartitionMCMCStructure
from skbidag.inspection import EdgeProbabilityDisplay, GraphDisplay

patients = load_diabetes(as_frame=True, scaled=False).frame
patients = patients.drop(columns="s4").rename(
    columns={
        "bp": "pressure",
        "s1": "cholesterol",
        "s2": "ldl",
        "s3": "hdl",
        "s5": "triglycerides",
        "s6": "glucose",
        "target": "progression",
    }
)
patients["sex"] = patients["sex"].astype("category")
print(patients.head(3))

# %%
# Fit
# ---
# Which DAGs explain the data? There are many, and ``fit`` draws 2000 of them, each as
# often as it is probable. What is known beforehand narrows them down: nothing makes
# anybody older or of another sex, and the progression was measured a year after the
# rest. Numbers and a category in one table get a score of their own.

first, last = ["age", "sex"], ["progression"]
between = [name for name in patients if name not in first + last]
model = PartitionMCMCStructure(tiers=[first, between, last], random_state=0)
model.fit(patients)

# %%
# The network of all edges that are more probable than not. The wider and darker a line,
# the more probable.

GraphDisplay.from_estimator(model)
plt.show()

# %%
# How sure can we be?
# -------------------
# An edge's probability is the share of the DAGs that have it, and its error what comes
# of drawing 2000 DAGs and not all. "Converged: yes" says that chains from different
# starts agree. The effect is by how much the child grows with one unit more of the
# parent, the other parents held fixed.

print(model.summary())

# %%
# All probabilities. Where the data do not tell the direction, as between age and sex,
# an edge's probability is shared between [i, j] and [j, i].

EdgeProbabilityDisplay.from_estimator(model)
plt.show()

# %%
# What may be concluded
# ---------------------
# What tells the progression of the disease, once the rest is known:

edges = model.edges_frame()
into = edges[edges["child"] == "progression"]
print(into[["parent", "probability", "error", "effect"]].round(3).to_string())

# %%
# That is about telling, not yet about causes. What makes people ill may raise both
# triglycerides and the progression, and was not measured. Nor do arrows know better
# than the data: without the tiers, the best networks have an edge from blood pressure
# to age. The page "What may I conclude?" says more.
