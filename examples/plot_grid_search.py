"""
=========================================
Choosing the prior by held-out prediction
=========================================

How strong should the prior be, and how much must an edge be worth? A structure learner
has a predictive density, so scikit-learn's searches can tell: they choose what predicts
rows best that were not learned from.
"""

# %%
# Data
# ----
# Thirteen measurements of wines of three cultivars of one region (M. Forina and others,
# from the UCI repository, as scikit-learn has them). The 59 bottles of the first
# cultivar: forty to learn from, few enough for the prior to matter, the rest to judge.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from skbidag import OrderMCMCStructure
from skbidag.scores import BGe

wine = load_wine(as_frame=True)
bottles = wine.data[wine.target == 0].sample(frac=1, random_state=0)
train, test = bottles[:40], bottles[40:]

# %%
# The search
# ----------
# The estimator sits at the end of a pipeline that standardizes the columns. Edge
# probabilities do not need that, for BGe's prior is in units of the data; densities of
# held-out rows are then in comparable units. ``score__alpha_mu`` is a parameter of the
# score, which is a parameter of the estimator. The score of a candidate is the mean log
# density of held-out rows, averaged over the sampled DAGs.

structure = OrderMCMCStructure(
    score=BGe(),
    search_space="full",
    n_iter=2000,
    n_draws=40,
    n_chains=2,
    random_state=0,
)
pipeline = Pipeline([("scale", StandardScaler()), ("structure", structure)])
strengths = np.geomspace(0.03, 3, 5)
grid = {
    "structure__score__alpha_mu": strengths,
    "structure__score__edge_penalty": [1.0, 5.0, 1e6],
}
folds = KFold(4)
search = GridSearchCV(pipeline, grid, cv=folds).fit(train)
for name, value in search.best_params_.items():
    print(f"{name} = {value:.3g}")

# %%
# What the choice is worth
# ------------------------
# Log density of the other bottles, in units of the training rows' scales.

default = pipeline.fit(train)
print(f"default settings:  {default.score(test):.3f} nats per row")
print(f"chosen settings:   {search.score(test):.3f} nats per row")

# %%
# With a penalty of a million there are no edges, and the columns are predicted as if
# they were independent. Bars are standard errors over the folds; the folds are the same
# for all settings, so that differences are more certain than the bars say.

results = search.cv_results_
fig, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
shape = len(strengths), len(grid["structure__score__edge_penalty"])
mean = results["mean_test_score"].reshape(shape)
error = results["std_test_score"].reshape(shape) / np.sqrt(folds.get_n_splits())
for k, penalty in enumerate(grid["structure__score__edge_penalty"]):
    ax.errorbar(
        strengths * 1.04**k,
        mean[:, k],
        error[:, k],
        marker="o",
        capsize=3,
        label=f"{penalty:g}" if penalty < 1e6 else "no edges",
    )
chosen = search.best_params_["structure__score__alpha_mu"]
ax.axvline(chosen, color="0.8", zorder=0)
ax.annotate(
    "chosen",
    (chosen, ax.get_ylim()[0]),
    xytext=(-4, 6),
    textcoords="offset points",
    color="0.4",
    ha="right",
)
ax.set_xscale("log")
ax.set(
    xlabel="strength of the prior (alpha_mu)",
    ylabel="held-out log density per row",
    title="Which prior predicts best?",
)
fig.legend(title="edge penalty", loc="outside right")
plt.show()
