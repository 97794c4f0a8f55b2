"""
================
Seeing and doing
================

People with bronchitis have lung cancer more often, because more of them smoke. Giving
someone bronchitis would not give them cancer. A network tells the two apart, and its
posterior says how sure one can be.
"""

# %%
# The asia data are of a fictitious clinic. Data alone leave some directions open; here
# it is known that smoking comes before diseases, and diseases before their signs.

import matplotlib.pyplot as plt

from skbidag import PartitionMCMCStructure
from skbidag.datasets import load_asia

asia = load_asia(as_frame=True)
tiers = [["asia", "smoke"], ["tub", "lung", "bronc"], ["either", "xray", "dysp"]]
model = PartitionMCMCStructure(tiers=tiers, random_state=0).fit(asia.data)
print(model.summary())

# %%
# ``query`` answers P(target | evidence, do(x)). Each answer is a thousand draws, of
# DAGs and of their probabilities.

questions = {
    "lung": {},
    "lung | bronc = yes": {"evidence": {"bronc": "yes"}},
    "lung | do(bronc = yes)": {"do": {"bronc": "yes"}},
    "lung | smoke = yes": {"evidence": {"smoke": "yes"}},
    "lung | do(smoke = yes)": {"do": {"smoke": "yes"}},
    "lung | smoke = yes, xray = no": {"evidence": {"smoke": "yes", "xray": "no"}},
}
answers = {
    label: model.query("lung", **given, random_state=0)
    for label, given in questions.items()
}
for label, answer in answers.items():
    lower, upper = answer.interval(0.9)
    print(f"{label:>30}: {answer.mean[0]:.3f}, 90 % {lower[0]:.3f} to {upper[0]:.3f}")

# %%
# Seeing bronchitis makes cancer more probable, doing does not. With smoking it is the
# same either way: nothing is before it that could cause both.

fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for row, (label, answer) in enumerate(answers.items()):
    color = "tab:orange" if "do(" in label else "tab:blue"
    for level, width in ((0.9, 2), (0.5, 6)):
        ax.plot([end[0] for end in answer.interval(level)], [row, row], color, lw=width)
    ax.plot(answer.mean[0], row, "o", color="k", zorder=3)
ax.set_yticks(range(len(answers)), answers)
ax.invert_yaxis()
ax.set(
    xlabel="probability of lung cancer: mean, 50 % and 90 % intervals", xlim=(0, None)
)
ax.set_title("Seen in blue, done in orange")
plt.show()
