"""Wrong labels of adult, found and cleaned by the protocol of AQuA.

The protocol is that of AQuA (Goswami and others, NeurIPS 2023; autonlab/aqua on GitHub,
tables of its README, labels made wrong as by its code):

1. The labels of the training rows are made wrong, those of the test rows stay correct.
2. Uniform: each of them is wrong with probability 0.1 or 0.4.
3. Asymmetric: exactly a tenth or four tenths of them become the next class.
4. Instance-dependent: each row has its own probability, from a normal distribution of
   deviation 0.1 around 0.1 or 0.4, of which the part up to one deviation above is kept.
5. Class-dependent: a network is trained on correct labels. The share of the rows of
   class i that it takes for k, divided by the sum of these over i, is the probability
   with which a label k becomes i.
6. A method names the wrong labels among the training rows: "detection".
7. These rows are left out, a network is trained on the others: "model", on test rows.
8. Both are F1 scores, means over the classes weighted by their sizes, in percent, and
   means over the two probabilities and two draws.

With two classes, 3 is nearly 2, and 4 is 2 with probabilities of 0.146 and 0.446 on
average: no feature plays a part.

What differs: the rows for training and tests are the published ones, but with LIBSVM's
123 columns of 0 and 1 (a9a, a9a.t), while the published runs number the categories and
scale nothing. The network is scikit-learn's `MLPClassifier` with early stopping, on a
tenth of its rows as they are; theirs has three small layers with dropout. "cleanlab" is
confident learning out of five folds, as published, around this network and around a
`LogisticRegression` with C = 1. `find_label_issues` flags with its defaults and with its
second opinion; "2-means" calls the lower part of its scores wrong, as OpenDataVal does.
`WassersteinSVC` and `LogisticRegression` are trained on all rows, with their defaults.
"""

import argparse
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from scipy.stats import truncnorm
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import confusion_matrix, f1_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.neural_network import MLPClassifier

sys.path.insert(0, str(Path(__file__).parents[1]))

from _common import load, reference, report, table, use_threads, version_of
from labels import with_wrong
from value_of_rows import called_wrong as lower_part

from drsvm import WassersteinSVC, find_label_issues

TRAIN, TEST = "a9a", "a9a.t"
N_FEATURES = 123
RATES = (0.1, 0.4)
SPREAD = 0.1
"""Of the probabilities of instance-dependent wrong labels."""
SEEDS = (42, 43)
NONE = "none"
NO_CLEANING = "no cleaning"
CLEANLAB = "cleanlab around "
OURS = "find_label_issues"
WITH_TREES = "find_label_issues, second opinion"
TWO_MEANS = "find_label_issues, 2-means"


# --- wrong labels
# -------------------------------------------------------------------------------------------------


def uniform(y: np.ndarray, rate: float, rng: np.random.Generator) -> np.ndarray:
    """Return labels that are wrong with the same probability each."""
    return np.where(rng.random(len(y)) < rate, 1 - y, y)


def asymmetric(y: np.ndarray, rate: float, rng: np.random.Generator) -> np.ndarray:
    """Return labels of which an exact share is wrong."""
    return with_wrong(y, rate, rng)[0]


def of_instances(y: np.ndarray, rate: float, rng: np.random.Generator) -> np.ndarray:
    """Return labels that are wrong with a probability of their own each."""
    # Bounds are in deviations from the mean.
    rates = truncnorm(0.0, 1.0, loc=rate, scale=SPREAD)
    each = rates.rvs(len(y), random_state=rng)
    return np.where(rng.random(len(y)) < each, 1 - y, y)


def of_classes(
    y: np.ndarray, predicted: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Return labels drawn by a column of a confusion matrix for each class."""
    shares = confusion_matrix(y, predicted, normalize="true").round(3)
    columns = shares / shares.sum(axis=0)
    return np.where(rng.random(len(y)) < columns[1, y], 1, 0)


KINDS: dict[str, tuple[Callable | None, tuple[float, ...]]] = {
    NONE: (None, (0.0,)),
    "asymmetric": (asymmetric, RATES),
    "class-dependent": (None, (0.0,)),
    "instance-dependent": (of_instances, RATES),
    "uniform": (uniform, RATES),
}


# --- methods
# ------------------------------------------------------------------------------------------------------


def network(seed: int) -> MLPClassifier:
    """Return the network that is trained after cleaning."""
    return MLPClassifier(
        (32, 16),
        batch_size=128,
        max_iter=30,
        early_stopping=True,
        n_iter_no_change=3,
        random_state=seed,
    )


def by_cleanlab(model: BaseEstimator, X, y: np.ndarray, seed: int) -> np.ndarray:
    """Return which labels are wrong by confident learning around a classifier."""
    from cleanlab.filter import find_label_issues as by_confidence

    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    shares = cross_val_predict(model, X, y, cv=folds, method="predict_proba")
    return by_confidence(y, shares, n_jobs=1)


def named_wrong(X, y: np.ndarray, seed: int) -> dict[str, np.ndarray]:
    """Return which labels every method calls wrong."""
    found = {NO_CLEANING: np.zeros(len(y), dtype=bool)}
    if version_of("cleanlab") is not None:
        models = [network(seed), LogisticRegression(max_iter=1000)]
        for model in models:
            name = CLEANLAB + type(model).__name__
            found[name] = by_cleanlab(model, X, y, seed)
    issues = find_label_issues(X, y)
    found[OURS] = issues.is_label_issue
    found[TWO_MEANS] = lower_part(issues.label_score)
    both = find_label_issues(X, y, second_opinion="auto")
    found[WITH_TREES] = both.is_label_issue
    return found


def weighted_f1(truth: np.ndarray, called: np.ndarray) -> float:
    """Return the mean F1 of both classes, weighted by their sizes, in percent."""
    return 100.0 * f1_score(truth, called, average="weighted", zero_division=0.0)


def rows_of(name: str, most: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Return dense rows, and labels 0 and 1."""
    X, y = load(name)
    X = X[:most].toarray()
    missing = N_FEATURES - X.shape[1]
    return np.pad(X, ((0, 0), (0, missing))), (y[:most] > 0).astype(int)


def measured(kind: str, rate: float, seed: int, most: int | None) -> dict[str, dict]:
    """Return F1 of detection and of the models for one draw of wrong labels."""
    # Networks that stop before they converge
    warnings.simplefilter("ignore")
    X, y = rows_of(TRAIN, most)
    X_test, y_test = rows_of(TEST, most)
    rng = np.random.default_rng(seed)
    make, _ = KINDS[kind]
    given = y
    if make is not None:
        given = make(y, rate, rng)
    elif kind != NONE:
        given = of_classes(y, network(seed).fit(X, y).predict(X), rng)
    wrong = given != y
    outcome = {"detection": {}, "model": {}, "rate": 100.0 * wrong.mean()}
    for name, called in named_wrong(X, given, seed).items():
        model = network(seed).fit(X[~called], given[~called])
        outcome["detection"][name] = weighted_f1(wrong, called)
        outcome["model"][name] = weighted_f1(y_test, model.predict(X_test))
    for model in (LogisticRegression(max_iter=1000), WassersteinSVC()):
        name = f"{type(model).__name__}, no cleaning"
        score = weighted_f1(y_test, model.fit(X, given).predict(X_test))
        outcome["model"][name] = score
    print(kind, rate, seed, outcome, flush=True)
    return outcome


# --- the page
# -----------------------------------------------------------------------------------------------------


def published(measure: str) -> dict[str, dict[str, str]]:
    """Return published figures by method and kind."""
    figures: dict[str, dict[str, str]] = {}
    for line in reference("aqua.csv"):
        if line["measure"] == measure and line["table"] == "Adult":
            own = figures.setdefault(f"{line['method']}, published", {})
            own[line["noise"]] = line["weighted_f1"]
    return figures


def comparison(found: dict, what: str, kinds: list[str], measure: str) -> str:
    """Return a row for each method: means over draws, and published figures."""
    rows = []
    for name, own in published(measure).items():
        rows.append([name, *(own.get(kind, "–") for kind in kinds)])
    methods = list(next(iter(found.values()))[what])
    for name in methods:
        row = [name]
        for kind in kinds:
            row.append(f"{mean_of(found, kind, what, name):.1f}")
        rows.append(row)
    return table(["method", *kinds], rows)


def mean_of(found: dict, kind: str, what: str, name: str) -> float:
    """Return the mean of a figure over the draws of a kind."""
    return float(
        np.mean([one[what][name] for at, one in found.items() if at[0] == kind])
    )


def each_rate(found: dict, what: str) -> str:
    """Return the figures of every probability by itself."""
    cells = list(dict.fromkeys(at[:2] for at in found))
    methods = list(next(iter(found.values()))[what])
    rows = []
    for kind, rate in cells:
        own = [one for at, one in found.items() if at[:2] == (kind, rate)]
        name = f"{kind}, {rate:g}" if rate else kind
        share = np.mean([one["rate"] for one in own])
        figures = [np.mean([one[what][method] for one in own]) for method in methods]
        rows.append([name, *(f"{figure:.1f}" for figure in (share, *figures))])
    return table(["wrong labels", "share, %", *methods], rows)


def page(found: dict) -> list[str]:
    """Return the sections of the page."""
    kinds = list(KINDS)
    wrong = kinds[1:]
    with_wrong_labels = {at: one for at, one in found.items() if at[0] != NONE}
    measures = "F1 of detection", "F1 of the model"
    return [
        __doc__.split("\n\n", 1)[1].strip(),
        '## Detection\n\n"No cleaning" calls no label wrong.\n\n'
        + comparison(with_wrong_labels, "detection", wrong, measures[0]),
        "## Model on test rows\n\n" + comparison(found, "model", kinds, measures[1]),
        "## Each probability, detection\n\n"
        + each_rate(with_wrong_labels, "detection"),
        "## Each probability, model\n\n" + each_rate(found, "model"),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument(
        "--quick", action="store_true", help="one draw of 2,000 rows each"
    )
    options = parser.parse_args()
    use_threads(1)
    seeds = SEEDS[:1] if options.quick else SEEDS
    most = 2000 if options.quick else None
    cells = [
        (kind, rate, seed)
        for kind, (_, rates) in KINDS.items()
        for rate in rates
        for seed in seeds
    ]
    outcomes = Parallel(n_jobs=options.jobs)(
        delayed(measured)(*cell, most) for cell in cells
    )
    found = dict(zip(cells, outcomes, strict=True))
    name = "aqua-quick" if options.quick else "aqua"
    report(f"public/{name}", "Wrong labels of adult found", page(found), ["cleanlab"])


if __name__ == "__main__":
    main()
