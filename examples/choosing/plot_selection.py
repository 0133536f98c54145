"""
Choosing the radius when the validation labels are wrong too
============================================================

Cross-validation needs labels, and here 35 % of them are wrong. Scores on such folds lie
close together, so the best mean often belongs to a lucky radius. By default
`WassersteinSVCCV` therefore keeps the automatic radius, which needs no folds, unless
the scores clearly prefer another one.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from drsvm import ClippedScaler, WassersteinSVC, WassersteinSVCCV

X, digit = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(
    X, digit % 2, train_size=400, random_state=0
)
scaler = ClippedScaler().fit(X_train)
X_train = scaler.transform(X_train)
X_test = scaler.transform(X_test)
wrong = np.random.default_rng(0).random(len(y_train)) < 0.35
y_noisy = np.where(wrong, 1 - y_train, y_train)

# %%
# Each rule chooses among the same twelve radii, with the automatic ridge.

radii = np.geomspace(0.6, 0.01, 12)
chosen = {}
for rule in ("auto", "one-standard-error", "best"):
    search = WassersteinSVCCV(radii, l2="auto", selection=rule).fit(X_train, y_noisy)
    chosen[rule] = search.radius_
    print(
        f"{rule:20} radius {search.radius_:.3f}, accuracy on clean rows"
        f" {search.score(X_test, y_test):.3f}"
    )

# %% The scores of the twelve radii on the folds (blue, with standard errors) and on
# clean rows, which would not be available in practice (orange), and the choices of the
# rules. Wrong labels flatten the curve of the folds: the differences between radii are
# smaller than the errors of the scores.

scores = search.cv_results_["mean_test_score"]
errors = search.cv_results_["std_test_score"] / np.sqrt(search.n_splits_)
clean = [
    WassersteinSVC(radius=radius).fit(X_train, y_noisy).score(X_test, y_test)
    for radius in radii
]

plt.style.use("drsvm.plotting.quiet")
figure, ax = plt.subplots(figsize=(7.5, 4.5))
ax.errorbar(
    radii, scores, errors, marker="o", capsize=3, label="folds, wrong labels included"
)
ax.plot(radii, clean, "--", marker="s", label="held-out rows, clean labels")
for (rule, radius), colour, stroke in zip(
    chosen.items(), ("C2", "C3", "C5"), ("-", "-.", ":"), strict=True
):
    ax.axvline(
        radius, color=colour, linestyle=stroke, label=f"choice of “{rule}”", zorder=1
    )
ax.set(xscale="log", xlabel="radius", ylabel="accuracy")
ax.minorticks_off()
ax.set_xticks([0.02, 0.05, 0.1, 0.2, 0.5], labels=["0.02", "0.05", "0.1", "0.2", "0.5"])
ax.legend(fontsize="small")
