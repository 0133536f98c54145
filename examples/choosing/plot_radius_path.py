"""
The effect of the radius
========================

The radius limits what the adversary may do. At 0 the classifier is an ordinary SVM; at
the radius that `radius_max` returns, all weights are 0. In between, the weights shrink.
With wrong labels in the training data, the accuracy on clean held-out data often rises
over much of the path before it falls. Here odd digits are distinguished from even ones,
with 30 % of the training labels wrong.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from drsvm import ClippedScaler, Problem, RadiusPathDisplay, WassersteinSVC, radius_path

X, y = load_digits(return_X_y=True, as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(
    X, y % 2, train_size=300, random_state=0
)
scaler = ClippedScaler().set_output(transform="pandas").fit(X_train)
X_train = scaler.transform(X_train)
X_test = scaler.transform(X_test)
wrong = np.random.default_rng(0).random(len(y_train)) < 0.3
y_noisy = np.where(wrong, 1 - y_train, y_train)

# %% Every radius has its own fit, here without the ridge (``l2``), which would do a
# part of what the radius does. As the radius grows, the classifier fits the given
# labels less and less (dotted) but the true ones better (solid), until the weights are
# so small that it gets worse at both.

RadiusPathDisplay.from_estimator(
    WassersteinSVC(l2=0.0), X_train, y_noisy, X_test=X_test, y_test=y_test, n_radii=20
)

# %% The same weights as images, one row for each norm of the shifts: orange pixels
# favour odd digits, purple ones even ones, and each image has its own scale. Along the
# rows the radius grows and the images become calmer. With ``norm=2`` all pixels stay;
# with ``norm="inf"``, where a shift is measured by its largest entry, they drop out one
# by one.

figure, axes = plt.subplots(2, 5, figsize=(10, 4.4), layout="constrained")
for norm, row in zip((2, "inf"), axes, strict=True):
    path = radius_path(
        Problem(X_train, y_noisy, 0.0, np.inf, norm, fit_intercept=True), n_radii=30
    )
    for ax, place in zip(row, (29, 17, 11, 7, 4), strict=True):
        image = path.weights[place].reshape(8, 8)
        ax.imshow(
            image, cmap="PuOr_r", vmin=-np.abs(image).max(), vmax=np.abs(image).max()
        )
        ax.set(title=f"radius {path.radii[place]:.2g}", xticks=[], yticks=[])
    row[0].set_ylabel(f"norm={norm}")

# sphinx_gallery_thumbnail_number = 2
