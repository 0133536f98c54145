"""
Verified labels: a better guarantee, a better classifier
========================================================

Some of the labels have been checked; of the others, 35 % are wrong. There are two ways
to use this, with different effects. ``fit(X, y, flip_cost=...)`` informs the adversary:
verified labels cannot be flipped, so the guarantee improves. ``fit(X, y,
sample_weight=...)`` informs the classifier: verified rows count more.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from drsvm import ClippedScaler, WassersteinSVC

X, digit = load_digits(return_X_y=True)
odd = digit % 2
numbers = [0, 40, 80, 120, 180, 240]
seeds = 4
train_size = 300


def partly_verified(number, seed):
    """Return rows and labels to train with, which of the labels were verified, and
    clean rows to test with.
    """
    X_train, X_test, y_train, y_test = train_test_split(
        X, odd, train_size=train_size, random_state=seed
    )
    scaler = ClippedScaler().fit(X_train)
    verified = np.arange(train_size) < number
    wrong = (np.random.default_rng(seed).random(train_size) < 0.35) & ~verified
    given = np.where(wrong, 1 - y_train, y_train)
    return scaler.transform(X_train), given, verified, scaler.transform(X_test), y_test


def guarantees(X, y, verified):
    """Return worst-case risks: the adversary can flip up to 10 % of the labels, those
    that it may flip.
    """
    model = WassersteinSVC(radius=0.1, flip_cost=1.0)
    return {
        "any label can be flipped": model.fit(X, y).objective_,
        "verified labels cannot": (
            model.fit(X, y, flip_cost=np.where(verified, np.inf, 1.0)).objective_
        ),
    }


def classifiers(X, y, verified):
    """Return classifiers that use the knowledge in different ways."""
    model = WassersteinSVC
    fitted = {
        "weight 3 for verified rows": (
            model().fit(X, y, sample_weight=np.where(verified, 3.0, 1.0))
        ),
        "flip cost inf if verified, else 5": (
            model().fit(X, y, flip_cost=np.where(verified, np.inf, 5.0))
        ),
        "all rows alike": model().fit(X, y),
    }
    return fitted | (
        {"verified rows only": model().fit(X[verified], y[verified])}
        if verified.any()
        else {}
    )


risks = {}
accuracies = {}
for number in numbers:
    for seed in range(seeds):
        *train, X_test, y_test = partly_verified(number, seed)
        for name, risk in guarantees(*train).items():
            risks.setdefault(name, {}).setdefault(number, []).append(risk)
        for name, model in classifiers(*train).items():
            accuracies.setdefault(name, {}).setdefault(number, []).append(
                model.score(X_test, y_test)
            )

# %% Every verified label lowers the worst-case risk, and more so if it is passed to the
# adversary. The accuracy on clean rows benefits from weights, hardly from flip costs;
# without weights it can be better to drop the rows that were not verified.

plt.style.use("drsvm.plotting.quiet")
figure, axes = plt.subplots(1, 2, figsize=(10, 4.4))
for ax, lines in zip(axes, (risks, accuracies), strict=True):
    for (name, values), marker in zip(lines.items(), "os^D", strict=False):
        ax.plot(
            list(values),
            [np.mean(one) for one in values.values()],
            marker=marker,
            label=name,
        )
    ax.set_xlabel(f"verified labels, of {train_size}")
    ax.legend()
axes[0].set(title="the guarantee", ylabel="worst-case risk (hinge loss)")
axes[1].set(title="the classifier", ylabel="accuracy on clean rows")
