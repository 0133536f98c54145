"""
Sparse text
===========

Which library does a docstring come from, SciPy or scikit-learn? Thousands of words
occur, most of them rarely, and 20 % of the training labels are wrong. The rows stay
sparse, `WassersteinSVC` chooses a solver for very many features, and one fit without
tuning is compared with LinearSVC, both with its defaults and tuned by 30 fits.
"""

import re
from pathlib import Path

import numpy as np
import scipy
import sklearn
from matplotlib import pyplot as plt
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.svm import LinearSVC

from drsvm import WassersteinSVC


def docstrings(package):
    """Return the docstrings of a package that are longer than a line."""
    files = sorted(Path(package.__file__).parent.rglob("*.py"))
    texts = (
        re.findall(r'"""(.*?)"""', path.read_text(encoding="utf-8"), re.DOTALL)
        for path in files
    )
    return [text for found in texts for text in found if len(text) > 120]


texts = [docstrings(scipy), docstrings(sklearn)]
y = np.repeat([0, 1], [len(texts[0]), len(texts[1])])
train, test, y_train, y_test = train_test_split(
    texts[0] + texts[1], y, train_size=2000, random_state=0
)
names = ["scipy", "sklearn", "scikit", "learn"]
words = TfidfVectorizer(
    min_df=2, token_pattern="[a-z]{3,}", sublinear_tf=True, stop_words=names
)
X_train = words.fit_transform(train)
X_test = words.transform(test)
print(
    f"{X_train.shape[0]} rows, {X_train.shape[1]} words,"
    f" {X_train.nnz / X_train.shape[0]:.0f} of them in a row"
)

wrong = np.random.default_rng(0).random(len(y_train)) < 0.2
y_noisy = np.where(wrong, 1 - y_train, y_train)

models = {
    "WassersteinSVC()": WassersteinSVC(),
    'WassersteinSVC(norm="inf")': WassersteinSVC(norm="inf"),
    "LinearSVC, C tuned": GridSearchCV(LinearSVC(), {"C": np.logspace(-4, 1, 6)}),
    "LinearSVC()": LinearSVC(),
}
accuracies = {
    name: model.fit(X_train, y_noisy).score(X_test, y_test)
    for name, model in models.items()
}

# %% On the left, the words with the largest weights for each library, in spite of the
# wrong labels. On the right, the accuracy on clean rows: one robust fit is level with
# the tuned LinearSVC. With ``norm="inf"`` only a few words have a weight; that is too
# few to be accurate, so it is useful only where a short list of words matters more than
# accuracy.

plt.style.use("drsvm.plotting.quiet")
figure, (bars, scores) = plt.subplots(1, 2, figsize=(10, 5))
weights = models["WassersteinSVC()"].coef_[0]
order = np.argsort(weights)
shown = np.concatenate([order[:10], order[-10:]])
bars.barh(
    words.get_feature_names_out()[shown],
    weights[shown],
    color=np.where(weights[shown] > 0, "C4", "C0"),
)
bars.axvline(0, color="0.3", linewidth=1)
bars.set_title("← SciPy      scikit-learn →", loc="center")
bars.set_xlabel("weight")
for place, (name, accuracy) in enumerate(accuracies.items()):
    model = getattr(models[name], "best_estimator_", models[name])
    scores.plot(accuracy, -place, "o", markersize=9)
    scores.annotate(
        f"{np.count_nonzero(model.coef_)} words",
        (accuracy, -place),
        (0, 9),
        textcoords="offset points",
    )
scores.set_yticks(-np.arange(len(models)), labels=models)
scores.set(xlabel="accuracy on clean rows", ylim=(0.6 - len(models), 0.5))
scores.margins(x=0.2)
