"""Wrong labels among 1,000 rows, by the protocol of OpenDataVal.

OpenDataVal (Jiang, Liang, Zou and Kwon, NeurIPS 2023) draws 1,000 training rows of a
table, with one column per category, and gives 20 % of them another label. Each method
values every row. The values are split in two by 2-means, the rows of the lower part are
called wrong, and the F1 score of that is compared; the published figures are single
runs, from the notebooks of its repository. Here the value of a row is the
`label_score`, and Data-OOB is written from its description: trees on rows that are
drawn with replacement, and for each row the share of the trees that left it out and
predict its label. What differs: other draws of the rows and labels (means, if there are
several), our own loader of adult, and no rows for validation and tests, which only
other methods need.

Our rules were chosen on the tables of the second list, with other draws of them. They
are reported on adult and on those of the first. "before" are the linear classifiers
alone, which decided by default up to now.
"""

import argparse
import sys
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from sklearn.cluster import KMeans
from sklearn.datasets import (
    load_breast_cancer,
    load_digits,
    make_circles,
    make_classification,
    make_friedman1,
    make_hastie_10_2,
    make_moons,
)
from sklearn.metrics import f1_score, roc_auc_score
from sklearn.tree import DecisionTreeClassifier

sys.path.insert(0, str(Path(__file__).parents[1]))

from _common import (
    interleaved,
    load,
    reference,
    report,
    short,
    table,
    use_clock,
    use_threads,
)
from labels import with_wrong

from drsvm import find_label_issues
from drsvm.audit import curved_judges

ROWS = 1000
SHARE = 0.2
TREES = 200
FIRST_SEED = 100
CELLS = curved_judges.MOST_CELLS


def circles(seed: int):
    return make_circles(ROWS, noise=0.12, factor=0.5, random_state=seed)


def friedman(seed: int):
    X, y = make_friedman1(ROWS, noise=1.0, random_state=seed)
    return X, (y > np.median(y)).astype(int)


def moons(seed: int):
    return make_moons(ROWS, noise=0.25, random_state=seed)


def spheres(seed: int):
    X, y = make_hastie_10_2(ROWS, random_state=seed)
    return X, (y > 0).astype(int)


def clusters(seed: int):
    return make_classification(
        ROWS,
        20,
        n_informative=8,
        n_clusters_per_class=3,
        flip_y=0,
        random_state=seed,
    )


def checkerboard(seed: int):
    X = np.random.default_rng(seed).uniform(-1, 1, (ROWS, 6))
    return X, (X[:, 0] * X[:, 1] > 0).astype(int)


def digits(seed: int):
    del seed
    X, y = load_digits(return_X_y=True)
    return X, y % 2


def breast_cancer(seed: int):
    del seed
    return load_breast_cancer(return_X_y=True)


def from_file(name: str) -> Callable:
    return lambda seed: load(name)


REPORTED = {
    "adult": from_file("adult"),
    "magic04": from_file("magic04"),
    "electricity": from_file("electricity"),
    "jm1": from_file("jm1"),
    "mammography": from_file("mammography"),
    "w1a": from_file("w1a"),
    "titanic": from_file("titanic"),
    "diabetes": from_file("rows-diabetes"),
    "digits, odd or even": digits,
    "circles": circles,
    "friedman": friedman,
}
CHOSEN_ON = {
    "breast_cancer": breast_cancer,
    "phoneme": from_file("phoneme"),
    "german.numer": from_file("german.numer"),
    "wilt": from_file("wilt"),
    "ijcnn1": from_file("ijcnn1"),
    "spambase": from_file("spambase"),
    "splice": from_file("splice"),
    "moons": moons,
    "spheres": spheres,
    "clusters": clusters,
    "checkerboard": checkerboard,
}
TABLES = REPORTED | CHOSEN_ON


def drawn(name: str, seed: int, n_rows: int = ROWS):
    """Return random rows of a table, their labels, and the generator."""
    rng = np.random.default_rng(FIRST_SEED + seed)
    X, y = TABLES[name](FIRST_SEED + seed)
    rows = rng.permutation(len(y))[:n_rows]
    X = X[rows]
    if not isinstance(X, np.ndarray):
        X = X.toarray()
    return X, np.asarray(y)[rows], rng


def called_wrong(values: np.ndarray) -> np.ndarray:
    """Return which rows are in the lower part by 2-means."""
    parts = KMeans(2, n_init=10, random_state=0).fit_predict(values[:, None])
    means = [values[parts == part].mean() for part in (0, 1)]
    return parts == int(np.argmin(means))


def data_oob(X, y, seed: int) -> np.ndarray:
    """Return how many of the trees that left a row out predict its label, as a share."""
    rng = np.random.default_rng(seed)
    right = np.zeros(len(y))
    left_out = np.zeros(len(y))
    for number in range(TREES):
        rows = rng.integers(0, len(y), len(y))
        out = np.setdiff1d(np.arange(len(y)), rows)
        tree = DecisionTreeClassifier(random_state=number).fit(X[rows], y[rows])
        right[out] += tree.predict(X[out]) == y[out]
        left_out[out] += 1
    return right / np.maximum(left_out, 1)


def judged(X, y, *, before: bool = False, **options):
    """Return the label issues, as they were before if wanted."""
    curved_judges.MOST_CELLS = 0 if before else CELLS
    return find_label_issues(X, y, **options)


def measured(name: str, seed: int) -> dict:
    """Return the figures of every method on one draw."""
    warnings.simplefilter("ignore")
    X, y, rng = drawn(name, seed)
    given, wrong = with_wrong(y, SHARE, rng)
    outcome = {}
    for method, before in (("before", True), ("now", False)):
        issues = judged(X, given, before=before)
        score = issues.label_score
        outcome[method] = [
            f1_score(wrong, called_wrong(score)),
            f1_score(wrong, issues.is_label_issue),
            roc_auc_score(wrong, -score),
        ]
    outcome["judges"] = " and ".join(issues.judged_by)
    value = data_oob(X, given, seed)
    outcome["Data-OOB"] = [
        f1_score(wrong, called_wrong(value)),
        np.nan,
        roc_auc_score(wrong, -value),
    ]
    # The labels as they are
    outcome["flags"] = [
        int(judged(X, y, before=before).is_label_issue.sum())
        for before in (True, False)
    ]
    print(name, seed, outcome, flush=True)
    return outcome


def comparison(names, found: dict, seeds: int) -> str:
    """Return the table of some data sets, with their means."""
    methods = ("before", "now", "Data-OOB")
    header = [
        "table",
        *(f"F1, {method}" for method in methods),
        "F1 of flags, before",
        "now",
        *(f"AUC, {method}" for method in methods),
        "decided by",
    ]
    rows = []
    means = []
    for name in names:
        own = [found[name, seed] for seed in range(seeds)]
        mean = {one: np.mean([cell[one] for cell in own], axis=0) for one in methods}
        figures = [mean[one][0] for one in methods]
        figures += [mean[one][1] for one in methods[:2]]
        figures += [mean[one][2] for one in methods]
        means.append(figures)
        judges = ", ".join(cell["judges"] for cell in own)
        rows.append([name, *(f"{figure:.3f}" for figure in figures), judges])
    average = [f"{figure:.3f}" for figure in np.mean(means, axis=0)]
    rows.append(["mean", *average, ""])
    return table(header, rows)


def compare(seeds: int, jobs: int, quick: bool) -> None:
    """Write how well wrong labels are found."""
    cells = [(name, seed) for seed in range(seeds) for name in TABLES]
    outcomes = Parallel(n_jobs=jobs)(delayed(measured)(*cell) for cell in cells)
    found = dict(zip(cells, outcomes, strict=True))
    published = {}
    for line in reference("opendataval.csv"):
        if line["table"] == "adult":
            published[line["method"]] = line["f1"]
    flags = np.sum([outcome["flags"] for outcome in outcomes], axis=0)
    sections = [
        __doc__.split("\n\n", 1)[1].strip(),
        f"Draws of every table: {seeds}; {TREES} trees of Data-OOB.",
        "## Reported on\n\n" + comparison(REPORTED, found, seeds),
        "## adult, published F1\n\n" + table(["method", "F1"], published.items()),
        "## Chosen on\n\n" + comparison(CHOSEN_ON, found, seeds),
        "## Labels as they are\n\n"
        f"Flagged labels in {len(cells)} draws: {flags[0]:,} before, {flags[1]:,} now. "
        "The number of wrong labels does not depend on the choice of judges: it goes "
        "by the first linear classifier and the second opinion, as before "
        "(`labels.py --tables`: no number for 64 tables as they are).",
    ]
    name = "value_of_rows-quick" if quick else "value_of_rows"
    report(f"public/{name}", "The value of rows with wrong labels", sections)


def compare_times(repeats: int) -> None:
    """Write what the choice costs, in the time of this process."""
    use_clock("cpu")
    rows = []
    for name in REPORTED:
        for n_rows in (ROWS, 2 * ROWS):
            X, y, rng = drawn(name, 0, n_rows)
            if len(y) < n_rows and n_rows > ROWS:
                continue
            y, _ = with_wrong(y, SHARE, rng)
            calls = {
                "before": partial(judged, X, y, before=True),
                "now": partial(judged, X, y),
            }
            times = interleaved(calls, repeats)
            before, now = (times[method].seconds for method in calls)
            rows.append(
                [name, len(y), X.shape[1], short(before), f"{now / before:.2f}"]
            )
            print(rows[-1], flush=True)
    sections = [
        "Time of `find_label_issues` as a multiple of that of linear classifiers alone:"
        f" medians of {repeats} alternating runs, in seconds of processor time, one"
        " thread.",
        table(["table", "rows", "columns", "linear, s", "times as long"], rows),
    ]
    report("public/value_of_rows-times", "What the choice of judges costs", sections)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=1, help="draws of every table")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--quick", action="store_true", help="one draw")
    parser.add_argument("--times", action="store_true", help="only what it costs")
    options = parser.parse_args()
    use_threads(1)
    if options.times:
        compare_times(3)
        return
    compare(1 if options.quick else options.seeds, options.jobs, options.quick)


if __name__ == "__main__":
    main()
