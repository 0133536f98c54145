"""
Columns that drift, and columns that can be trusted
===================================================

An instrument that will be recalibrated shifts some of the columns later; others cannot
shift. ``feature_cost`` states this as the price of a shift, column by column. Shifts of
expensive columns need not be feared, so the classifier relies on them and uses the
cheap ones little. Here the ten "worst ..." columns of the breast cancer data drift
after training, all in the same direction.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from drsvm import ClippedScaler, WassersteinSVC

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
drifting = X.columns.str.startswith("worst")
models = {
    f"other columns cost {price:g}": WassersteinSVC(
        radius=0.1, feature_cost={name: price for name in X.columns[~drifting]}
    )
    for price in (1, 3, 10, np.inf)
}
drifts = np.linspace(-2, 2, 17)
seeds = 5


def accuracies(model, seed):
    """Return the accuracies on held-out rows whose drifting columns are shifted."""
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, train_size=300, stratify=y, random_state=seed
    )
    scaler = ClippedScaler().set_output(transform="pandas").fit(X_train)
    model.fit(scaler.transform(X_train), y_train)
    return [
        model.score(scaler.transform(X_test) + drift * drifting, y_test)
        for drift in drifts
    ]


# %% With equal prices the classifier is the best one as long as nothing drifts, and
# useless after a drift of two standard deviations. Prices of 3 and 10 trade a little of
# the one for much of the other. A price of infinity goes too far: the weights of
# trusted columns are then not regularised at all.

plt.style.use("drsvm.plotting.quiet")
figure, ax = plt.subplots(figsize=(7.5, 4.5))
for (name, model), stroke in zip(models.items(), ("-", "--", "-.", ":"), strict=True):
    ax.plot(
        drifts,
        np.mean([accuracies(model, seed) for seed in range(seeds)], axis=0),
        stroke,
        label=name,
    )
ax.set(
    xlabel="drift of the “worst ...” columns, in standard deviations",
    ylabel="accuracy on held-out rows",
)
ax.legend()
