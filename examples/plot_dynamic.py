"""
==========================================
A dynamic network: the economy, by quarter
==========================================

Fifty years of six series of the United States' economy: which of them lead others, how
sure one can be of that, and what comes next.
"""

# %%
# Data
# ----
# The series are in the public domain and come with statsmodels. Growth is in percent of
# the quarter before, unemployment and the interest rate are differences.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from statsmodels.datasets import macrodata

from skbidag import DynamicStructure, PartitionMCMCStructure
from skbidag.inspection import DynamicGraphDisplay

raw = macrodata.load_pandas().data
growth = 100 * np.log(raw[["realgdp", "realcons", "realinv"]]).diff()
change = raw[["unemp", "tbilrate"]].diff()
economy = pd.concat([growth, change, raw["infl"]], axis=1).iloc[1:]
economy.columns = [
    "production",
    "consumption",
    "investment",
    "unemployment",
    "interest",
    "inflation",
]
when = (raw["year"] + (raw["quarter"] - 1) / 4).to_numpy()[1:]
known, later = economy[when < 2005], economy[when >= 2005]
print(f"{len(known)} quarters to learn from, {len(later)} to come")

# %%
# The network
# -----------
# One series, two lags. The first quarter's network is left out: one row says nothing.

model = DynamicStructure(PartitionMCMCStructure(random_state=0), 2, initial=None)
model.fit(known)
DynamicGraphDisplay.from_estimator(model)
plt.show()

# %%
# The most probable lagged edges:

edges = model.edges_frame()
lagged = edges[(edges["lag"] > 0) & (edges["probability"] > 0.5)]
columns = ["parent", "lag", "child", "probability", "error", "effect"]
print(lagged[columns].round(2).to_string(index=False))

# %%
# A forecast
# ----------
# Eight quarters from the beginning of 2005 on, with intervals of 80 %, and what came.

n_steps = 8
forecast = model.forecast(known, n_steps=n_steps, n_samples=500, random_state=0)
lower, upper = forecast.interval(0.8)

fig, axes = plt.subplots(2, 3, figsize=(9, 5), layout="constrained", sharex=True)
for j, (name, ax) in enumerate(zip(model.variables_, axes.flat, strict=True)):
    ax.plot(when[-60:], economy[name].iloc[-60:], color="0.4", lw=1)
    ahead = when[len(known) : len(known) + n_steps]
    ax.fill_between(ahead, lower[0, :, j], upper[0, :, j], alpha=0.3)
    ax.plot(ahead, forecast.mean[0, :, j])
    ax.set_title(name)
plt.show()

# %%
# A forecast of one quarter can be made again and again, with what has come since. How
# often do the intervals hold, until the crisis of 2008 and after?

inside = []
for end in range(len(known), len(economy)):
    ahead = model.forecast(economy[:end], n_samples=200, random_state=0)
    low, high = (side[0, 0] for side in ahead.interval(0.8))
    came = economy.iloc[end].to_numpy()
    inside.append((low <= came) & (came <= high))
inside = np.array(inside)
before = when[len(known) :] < 2008
print(f"until 2007: {inside[before].mean():.2f}, later: {inside[~before].mean():.2f}")

# %%
# The densities of rows tell the same: what came after 2008 was not expected by a model
# with the same parameters and normal noise at all times.

densities = model.score_samples(economy)[len(known) :]
print(f"until 2007: {densities[before].mean():.1f}")
print(f"later: {densities[~before].mean():.1f}")
