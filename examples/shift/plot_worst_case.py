"""
What an adversary does
======================

A robust classifier is trained against an adversary with a budget. This example shows
what the adversary does to data. If flips are cheap, it flips the labels of the samples
that the classifier is most confident about; if they are expensive, it leaves the labels
alone and moves samples that are inside the margins, or on the wrong side, further in
the wrong direction.
"""

from matplotlib import pyplot as plt
from sklearn.datasets import load_breast_cancer, load_digits, make_moons
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from drsvm import WassersteinSVC, WorstCaseDisplay

X, y = make_moons(150, noise=0.25, random_state=0)
X = StandardScaler().fit_transform(X)

# %% Two features are plotted as they are. On the left a flip costs 1.5, on the right 6;
# the radius is 0.1 in both.

figure, axes = plt.subplots(1, 2, figsize=(9, 4.8), layout="constrained")
for ax, flip_cost in zip(axes, (1.5, 6.0), strict=True):
    model = WassersteinSVC(radius=0.1, flip_cost=flip_cost).fit(X, y)
    WorstCaseDisplay.from_estimator(model, X, y, radius=0.1, flip_cost=flip_cost, ax=ax)

# %% With more features the horizontal axis is the decision value, so the margins are
# vertical lines; the vertical axis is the direction in which the samples vary most. The
# plot works for any linear classifier. With a pipeline the radius is in scaled units:
# the adversary may shift samples by 0.1 standard deviations on average, but prefers to
# flip 2 % of the labels, those of tumours that the logistic regression is sure about.

X, y = load_breast_cancer(return_X_y=True)
logistic = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
WorstCaseDisplay.from_estimator(logistic, X, y, radius=0.1, flip_cost=5.0)

# %% With several classes the adversary can flip a label to any other one. It chooses
# the class that the classifier considers least likely: 2s become 4s, and 4s become 2s
# or 3s. The outline of a sample is its new label; the table counts all samples, also
# those that are not drawn.

X, y = load_digits(return_X_y=True)
digits = make_pipeline(StandardScaler(), LogisticRegression(C=0.001)).fit(X, y)
WorstCaseDisplay.from_estimator(digits, X, y, radius=0.1, flip_cost=1.0)

# %% If labels are trusted, it moves samples between the two classes for which that
# increases the loss fastest. Only those move whose loss grows at once: often few, and
# far. The lead of one class over the other is the horizontal axis.

display = WorstCaseDisplay.from_estimator(digits, X, y, radius=0.1)
print(display.distribution_)
