"""
Two adversaries: shifts on average, and of every row
====================================================

One adversary may shift the rows by some distance on average, the other one each of them
by no more than that. This example shows what both do to rows with two features, and
what training against them gives.
"""

import numpy as np
from matplotlib import pyplot as plt

from drsvm import WassersteinSVC, WorstCaseDisplay, worst_case_risk

# The second class has a few rows above the first one.
rng = np.random.default_rng(1)
X = np.concatenate(
    [
        rng.normal([-1.2, 0.0], [0.7, 0.7], (60, 2)),
        rng.normal([1.2, 0.0], [0.4, 0.7], (50, 2)),
        rng.normal([-0.6, 2.0], [0.3, 0.2], (10, 2)),
    ]
)
y = np.repeat(["left", "right", "right"], [60, 50, 10])

# %% On average (on the left), the budget goes where it harms: the rows within the
# margins all move by the same distance, nearly twice the radius, and the others stay.
# If every row has a limit of its own (on the right), none moves farther than 0.3, and
# rows that are farther from the margins need no protection.

trained = {
    "on average": WassersteinSVC(radius=0.3, threshold="optimum"),
    "of every row": WassersteinSVC(radius=0, row_radius=0.3, threshold="optimum"),
}
figure, axes = plt.subplots(1, 2, figsize=(9.6, 4.8), layout="constrained")
for ax, (name, model) in zip(axes, trained.items(), strict=True):
    model.fit(X, y)
    worst = WorstCaseDisplay.from_estimator(model, X, y, ax=ax).distribution_
    share = worst.mass[worst.shift > 0].sum()
    print(f"{name}: {share:.0%} move, up to {worst.shift.max():.2f}")

# %% What is seen: against shifts on average, margins are wide, and the boundary passes
# through the rows at the top, which are few. Against shifts of every row, margins are
# narrow, and the boundary is tilted so that it passes beside them. Each classifier is
# the better one against its own adversary.

for name, model in trained.items():
    average = worst_case_risk(model, X, y, radius=0.3)
    by_row = worst_case_risk(model, X, y, radius=0.3, limit="row")
    print(f"trained against shifts {name}: worst {average:.2f} and {by_row:.2f}")
