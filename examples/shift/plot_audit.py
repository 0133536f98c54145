"""
Auditing a model from elsewhere
===============================

How little has to change for a logistic regression in use to fail? `worst_case_risk` and
`worst_case_distribution` compute this exactly for any linear classifier, including a
scikit-learn pipeline that standardises its columns first. Nothing is retrained.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from drsvm import worst_case_distribution, worst_case_risk

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(
    X, y, test_size=0.4, stratify=y, random_state=0
)
models = {
    strength: (
        make_pipeline(
            StandardScaler(), LogisticRegression(C=strength, max_iter=1000)
        ).fit(X_train, y_train)
    )
    for strength in (100.0, 0.01)
}
in_use = models[100.0]
for strength, model in models.items():
    print(
        f"C={strength:g}: accuracy {model.score(X_test, y_test):.3f} on held-out rows"
    )

# %% The radius is in the units that the classifier sees: at 0.1, rows move by a tenth
# of a standard deviation on average, some farther and others not at all. With
# ``flip_cost=inf`` the labels stay as they are. What the adversary does at that radius
# can be printed:

ball = {"flip_cost": np.inf, "norm": 2}
worst = worst_case_distribution(in_use, X_test, y_test, radius=0.1, **ball)
print(worst)

# %% The left panel shows the error rate over the size of the shifts. The model in use
# has ``C=100``: tiny shifts cause many errors, and the rows on which it was trained
# conceal part of this, so an audit should use held-out ones. With stronger
# regularisation it would be accurate and hard to mislead. The right panel shows the
# columns through which the model in use can be misled most cheaply.

plt.style.use("drsvm.plotting.quiet")
figure, (curve, bars) = plt.subplots(1, 2, figsize=(10, 4.6))
radii = np.linspace(0, 0.1, 41)
for (strength, model), colour in zip(models.items(), ("C1", "C0"), strict=True):
    for name, rows, labels, stroke in (
        ("held-out rows", X_test, y_test, "-"),
        ("training rows", X_train, y_train, ":"),
    ):
        errors = worst_case_risk(
            model, rows, labels, radius=radii, loss="zero-one", **ball
        )
        curve.plot(radii, errors, stroke, color=colour, label=f"C={strength:g}, {name}")
curve.set(
    xlabel="average shift, in standard deviations",
    ylabel="worst-case error rate",
    ylim=(0, None),
)
curve.legend()

largest = np.argsort(np.abs(worst.direction))[-10:]
bars.barh(
    X.columns[largest],
    worst.direction[largest],
    color=np.where(worst.direction[largest] > 0, "C0", "C1"),
)
bars.axvline(0, color="0.3", linewidth=1)
bars.set(title="from malignant to benign, C=100", xlabel="part of the worst shift")
