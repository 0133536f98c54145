"""An average radius, a radius of every row, or both: clean, shifted and mislabelled rows.

Up to 2,000 rows of each data set are divided into halves for training and testing, five
times at random; features are standardised by the training rows. Figures are accuracies
on the test rows in percent, averaged over the divisions. `clean` is that of the rows as
they are, `shifted` the certified one: the share of rows that no change of every cell by
up to 0.1 standard deviations turns into an error (the worst case of a linear classifier
is exact). In the columns `20 % wrong`, a fifth of the training labels were flipped; the
labels of test rows are right.

The classifiers are `WassersteinSVC(norm=inf)` with radius, ridge and threshold by their
rules, which is the `average` radius; with `radius=1e-6, row_radius=0.1`, `every row`;
with the automatic radius and `row_radius=0.1`, `both`; and LinearSVC with its defaults.
Nothing was tuned.
"""

import math
import warnings

import numpy as np
from _common import load, report, table, use_threads
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from drsvm import WassersteinSVC, certified_accuracy

NAMES = (
    "breast_cancer (scikit-learn)",
    "rows-diabetes",
    "german.numer",
    "splice",
    "spambase",
    "phoneme",
    "magic04",
)
MOST_ROWS = 2000
DIVISIONS = 5
SHIFT = 0.1
WRONG = 0.2
MODELS = {
    "average": WassersteinSVC(norm=math.inf),
    "every row": WassersteinSVC(1e-6, norm=math.inf, row_radius=SHIFT),
    "both": WassersteinSVC(norm=math.inf, row_radius=SHIFT),
    "LinearSVC": LinearSVC(),
}
HEADER = ["classifier", "clean", "shifted", "20 % wrong: clean", "20 % wrong: shifted"]


def rows_of(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return dense rows and their labels, 0 and 1."""
    if name == NAMES[0]:
        return load_breast_cancer(return_X_y=True)
    X, y = load(name)
    if hasattr(X, "toarray"):
        X = X.toarray()
    classes = np.unique(y)
    return X, (y == classes[1]).astype(int)


def accuracies(model, train, test) -> list[float]:
    """Return the accuracy on test rows, and the one after the worst shifts."""
    pipeline = make_pipeline(StandardScaler(), model)
    with warnings.catch_warnings():
        # LinearSVC may stop before its tolerance; all rows may be of one class.
        warnings.simplefilter("ignore")
        pipeline.fit(*train)
    shifted = certified_accuracy(pipeline, *test, radius=SHIFT, norm=math.inf)
    return [100.0 * pipeline.score(*test), 100.0 * shifted]


def measured(name: str) -> np.ndarray:
    """Return the figures of every classifier, averaged over the divisions."""
    X, y = rows_of(name)
    found = np.zeros((DIVISIONS, len(MODELS), 4))
    for division in range(DIVISIONS):
        random = np.random.default_rng(division)
        some = random.permutation(len(y))[:MOST_ROWS]
        X_train, X_test, y_train, y_test = train_test_split(
            X[some], y[some], stratify=y[some], test_size=0.5, random_state=division
        )
        wrong = random.random(len(y_train)) < WRONG
        labels = np.where(wrong, 1 - y_train, y_train)
        test = X_test, y_test
        for k, model in enumerate(MODELS.values()):
            right = accuracies(model, (X_train, y_train), test)
            noisy = accuracies(model, (X_train, labels), test)
            found[division, k] = right + noisy
    return found.mean(axis=0)


def section(title: str, figures: np.ndarray) -> list[str]:
    """Return a heading and a table."""
    rows = []
    for model, values in zip(MODELS, figures, strict=True):
        rows.append([model, *(f"{value:.1f}" for value in values)])
    return [f"## {title}", table(HEADER, rows)]


def main() -> None:
    use_threads(1)
    by_name = {name: measured(name) for name in NAMES}
    sections = [__doc__.split("\n\n", 1)[1].strip()]
    mean = np.mean(list(by_name.values()), axis=0)
    sections += section(f"mean of the {len(NAMES)} data sets", mean)
    for name, figures in by_name.items():
        sections += section(name, figures)
    report("row_shifts", "An average radius, a radius of every row, or both", sections)


if __name__ == "__main__":
    main()
