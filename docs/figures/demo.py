"""What an adversary can do, and accuracy over the radius, in the data of the demo: the
picture of the front page.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.svm import LinearSVC

from drsvm import ClippedScaler, RadiusPathDisplay, RiskCurveDisplay, WassersteinSVC
from drsvm.demo import load

data = load()
scaler = ClippedScaler().fit(data.X)
X = scaler.transform(data.X)
X_test = scaler.transform(data.X_test)
robust = WassersteinSVC().fit(X, data.y)
plain = LinearSVC(random_state=0).fit(X, data.y)

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained")
models = {"WassersteinSVC": robust, "LinearSVC": plain}
radius = float(robust.radius_)
RiskCurveDisplay.from_estimators(
    models, X, data.y, radii=np.linspace(0.0, 4 * radius, 61), radius=radius, ax=left
)
held_out = {"X_test": X_test, "y_test": data.y_test}
RadiusPathDisplay.from_estimator(
    WassersteinSVC(), X, data.y, **held_out, n_radii=25, ax=right, kind="scores"
)
left.set_title("What an adversary can do")
right.set_title("Accuracy over the radius")
