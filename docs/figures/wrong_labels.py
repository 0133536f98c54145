"""Accuracy on correct test labels while more and more training labels are wrong; every
method with its defaults.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from drsvm import ClippedScaler, WassersteinSVC

SHARES = np.array([0.0, 0.1, 0.2, 0.3, 0.35, 0.4])
SEEDS = 10
STYLES = {
    WassersteinSVC: ("C0", "-"),
    LogisticRegression: ("C1", "--"),
    LinearSVC: ("C7", ":"),
}


def accuracies(kind, share):
    """Return the accuracy of a method for each of the seeds."""
    X, y = load_breast_cancer(return_X_y=True)
    for seed in range(SEEDS):
        X_train, X_test, y_train, y_test = train_test_split(
            X, y, test_size=0.4, stratify=y, random_state=seed
        )
        wrong = np.random.default_rng(seed).random(len(y_train)) < share
        model = make_pipeline(ClippedScaler(), kind()).fit(
            X_train, np.where(wrong, 1 - y_train, y_train)
        )
        yield model.score(X_test, y_test)


figure, ax = plt.subplots(figsize=(7.2, 3.6), layout="constrained")
for kind, (color, line) in STYLES.items():
    scores = np.array([list(accuracies(kind, share)) for share in SHARES])
    mean = scores.mean(axis=1)
    error = scores.std(axis=1) / np.sqrt(SEEDS)
    ax.plot(
        100 * SHARES, mean, line, color=color, linewidth=2.4, label=f"{kind.__name__}()"
    )
    ax.fill_between(
        100 * SHARES, mean - error, mean + error, color=color, alpha=0.15, linewidth=0
    )
ax.set_xlabel("training labels that are wrong, in per cent")
ax.set_ylabel("accuracy on correct test labels")
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False)
plt.show()
