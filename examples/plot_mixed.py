"""
=================================================
Mixed data: numbers and categories in one network
=================================================

The diabetes study that scikit-learn has: ten measurements of 442 patients, and how far
the disease had come a year later. One of the columns, sex, is a category. A frame with
both kinds of columns gets the conditional Gaussian score without being asked for.
"""

# %%
# Data
# ----
# Most columns are blood measurements. The ratio of total and HDL cholesterol, which
# follows from the two, is left out.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes

from skbidag import PartitionMCMCStructure, causal_effects
from skbidag.inspection import EdgeProbabilityDisplay, GraphDisplay

frame = load_diabetes(as_frame=True, scaled=False).frame
frame = frame.drop(columns="s4").rename(
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
frame["sex"] = frame["sex"].map({1.0: "one", 2.0: "other"})  # the study says no more
print(frame.head(3))

# %%
# Sample DAGs
# -----------
# Nothing makes anybody older, or of another sex; and the progression was measured a
# year after the rest.

model = PartitionMCMCStructure(
    tiers=[
        ["age", "sex"],
        [name for name in frame if name not in ("age", "sex", "progression")],
        ["progression"],
    ],
    random_state=0,
).fit(frame)
print(type(model.score_).__name__, model.feature_kinds_)

names = model.feature_names_in_
edges = model.edge_probabilities()
for i, j in np.argwhere(edges > 0.5):
    print(f"{names[i]:>14} -> {names[j]:<14} {edges[i, j]:.2f}")

# %%
# Rows are causes, columns effects:

fig, axes = plt.subplots(1, 2, figsize=(12, 5), layout="constrained")
EdgeProbabilityDisplay.from_estimator(model, ax=axes[0])
GraphDisplay.from_estimator(model, ax=axes[1])
plt.show()

# %%
# What the model says
# -------------------
# Sex from the other measurements, without looking at the column itself:

probabilities = model.predict_probabilities(frame, ["sex"])["sex"]
predicted = model.score_.categories_[1][probabilities.argmax(axis=1)]
share = np.mean(predicted == frame["sex"])
most = frame["sex"].value_counts(normalize=True).max()
print(
    f"sex is told right in {share:.0%} of the rows (the more frequent one: {most:.0%})"
)

# %%
# Effects are in the units of the outcome: of a category against the first, and of a
# number per unit. They are causal only if nothing else has an effect on both.

effects = causal_effects(
    model, ["sex", "bmi", "pressure"], ["progression", "hdl"], random_state=0
)
lower, upper = effects.interval(0.9)
for i, cause in enumerate(effects.interventions):
    for j, outcome in enumerate(effects.outcomes):
        print(
            f"{cause!s:>20} on {outcome:<12} {effects.mean[i, j]:7.2f}  "
            f"({lower[i, j]:.2f} to {upper[i, j]:.2f})"
        )
