"""
Rare classes
============

If one row in twenty is positive, a classifier that always predicts the other class is
right in 95 % of all cases. The hinge loss favours this, and a robust one even more:
protection against shifts costs margin, first in the rare class.
``class_weight="balanced"`` gives both classes the same weight. This example varies the
share of the rare class.
"""

import warnings

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import make_classification
from sklearn.metrics import recall_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from drsvm import ClippedScaler, WassersteinSVC

X, y = make_classification(
    20_000, 20, n_informative=8, n_redundant=4, flip_y=0, random_state=1
)
rare = np.flatnonzero(y == 1)
frequent = np.flatnonzero(y == 0)
shares = [0.5, 0.2, 0.1, 0.05, 0.02]
models = {
    "WassersteinSVC, balanced": WassersteinSVC(class_weight="balanced"),
    "LinearSVC, balanced": LinearSVC(class_weight="balanced"),
    "WassersteinSVC": WassersteinSVC(),
    "LinearSVC": LinearSVC(),
}


def recalls(model, share, seed):
    """Train on 1,000 rows; return the shares of the rare and of the frequent class that
    are recognised elsewhere.
    """
    rng = np.random.default_rng(seed)
    positives = round(1000 * share)
    train = np.concatenate(
        [
            rng.choice(rare, positives, False),
            rng.choice(frequent, 1000 - positives, False),
        ]
    )
    test = np.setdiff1d(np.arange(len(y)), train)
    predicted = (
        make_pipeline(ClippedScaler(), model).fit(X[train], y[train]).predict(X[test])
    )
    return recall_score(y[test], predicted, labels=[1, 0], average=None)


# fit warns that a classifier is constant; this is what the picture shows.
warnings.filterwarnings("ignore", "The fitted classifier is constant")

# %% Without weights both classifiers give up the rare class, the robust one earlier.
# With balanced weights they recognise both classes about equally well at any share, and
# are about equally good: the price of recognising the rare class is false alarms among
# the frequent one.

plt.style.use("drsvm.plotting.quiet")
figure, axes = plt.subplots(1, 2, figsize=(10, 4.4), sharey=True)
for (name, model), marker in zip(models.items(), "os^D", strict=True):
    values = np.mean(
        [[recalls(model, share, seed) for share in shares] for seed in range(4)], axis=0
    )
    for ax, recall in zip(axes, values.T, strict=True):
        ax.plot(shares, recall, marker=marker, label=name)
for ax, title in zip(axes, ("the rare class", "the frequent class"), strict=True):
    ax.set(title=title, xscale="log", xlabel="share of the rare class")
    ax.invert_xaxis()
    ax.minorticks_off()
    ax.set_xticks(shares, labels=[f"{share:.0%}" for share in shares])
axes[0].set_ylabel("recognised among new rows")
axes[1].legend(loc="lower left")
