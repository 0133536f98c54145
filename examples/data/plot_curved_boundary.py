"""
A curved boundary, wrong labels, and a proof
============================================

No line separates two half-moons. `WassersteinKernelSVC` uses a curve instead, tolerates
wrong labels without tuning, and reports how far its objective is from that of the best
function of the whole feature space.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import make_moons
from sklearn.svm import SVC

from drsvm import RiskCurveDisplay, WassersteinKernelSVC, WassersteinSVC

X, y = make_moons(1300, noise=0.2, random_state=0)
X_test = X[300:]
y_test = y[300:]
X = X[:300]
correct = y[:300]
wrong = np.random.default_rng(1).random(300) < 0.2
y = np.where(wrong, 1 - correct, correct)

few = WassersteinKernelSVC(n_landmarks=15).fit(X, y)
models = {
    "all rows": WassersteinKernelSVC().fit(X, y),
    "15 landmarks": few,
    "linear": WassersteinSVC().fit(X, y),
    "SVC()": SVC().fit(X, y),
}
for name, model in models.items():
    proof = f", gap {model.gap_:.0e}" if hasattr(model, "gap_") else ""
    print(
        f"{name:12} accuracy {model.score(X_test, y_test):.3f} on correct labels{proof}"
    )

# %% On the left, the classifier of 15 landmarks, which are circled: predictions need
# the distances from these rows alone, and the gap shows how much that costs. Crosses
# are wrong labels, which the curve does not follow. The right panel shows the effect of
# shifts of the rows. Shifts of this average size never cause more errors than the lines,
# which are exact for the linear classifier and an upper bound for the curve. Small
# shifts harm the curve less than the line; large ones may harm it more, because it
# bends around the rows.

plt.style.use("drsvm.plotting.quiet")
figure, (plane, curve) = plt.subplots(1, 2, figsize=(10, 4.4))
across, up = np.meshgrid(np.linspace(-1.7, 2.7, 200), np.linspace(-1.2, 1.7, 150))
values = few.decision_function(np.column_stack([across.ravel(), up.ravel()])).reshape(
    across.shape
)
plane.contourf(
    across, up, values, levels=[-np.inf, 0, np.inf], colors=["C0", "C1"], alpha=0.15
)
plane.contour(
    across,
    up,
    values,
    levels=[-1, 0, 1],
    colors="0.3",
    linestyles=["--", "-", "--"],
    linewidths=1,
)
for label in (0, 1):
    for mask, marker in ((~wrong, "o"), (wrong, "x")):
        rows = X[mask & (y == label)]
        plane.scatter(*rows.T, s=14, marker=marker, color=f"C{label}", linewidths=1)
plane.scatter(
    *few.landmarks_.T, s=90, facecolors="none", edgecolors="0.2", label="landmarks"
)
plane.set(title="decisions, and where they are ±1 (dashed)", xticks=[], yticks=[])
plane.legend(loc="lower left")

shifts = np.linspace(0, 0.15, 16)
both = {"15 landmarks": few, "linear": models["linear"]}
RiskCurveDisplay.from_estimators(
    both, X_test, y_test, radii=shifts, loss="zero-one", ax=curve
)
curve.set_title("errors on held-out rows that are shifted")
