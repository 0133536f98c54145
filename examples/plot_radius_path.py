"""
The effect of the radius
========================

The radius limits what the adversary may do. At 0 the classifier is an ordinary SVM; at the radius that
`radius_max` returns, all weights are 0. In between, the weights shrink. With wrong labels in the training data, the
accuracy on clean held-out data often rises over much of the path before it falls.
"""

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from drsvm.plotting import RadiusPathDisplay

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.4, random_state=0)
scaler = StandardScaler().set_output(transform="pandas").fit(X_train)
X_train, X_test = scaler.transform(X_train), scaler.transform(X_test)
wrong = np.random.default_rng(0).random(len(y_train)) < 0.3
y_noisy = np.where(wrong, 1 - y_train, y_train)

RadiusPathDisplay.from_data(X_train, y_noisy, X_test=X_test, y_test=y_test, flip_cost=5.0)

# %%
# With ``norm="inf"`` a shift is measured by its largest entry, and the weights become sparse: features drop out one by
# one as the radius grows.

RadiusPathDisplay.from_data(X_train, y_noisy, norm="inf", flip_cost=5.0, kind="weights")
