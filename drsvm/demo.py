"""The demonstration of ``make demo``: a robust classifier, its proof, and an adversary.

It uses scikit-learn's breast-cancer data with some wrong training labels and correct
test labels, and writes a report, with plots, into the current folder.
"""

from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.utils import Bunch

from drsvm.report import make_report

# The share of the training labels that are changed
WRONG_LABELS = 0.2
REPORT = Path("drsvm-demo.html")
# Lines of the table that is printed, by their names in the summary of the report
FIGURES = {
    "accuracy": "accuracy, clean test set",
    "worst_case_risk": "worst-case risk",
    "worst_case_error": "worst-case error rate",
}


def load() -> Bunch:
    """Return training and test data; `wrong` marks the labels that were changed."""
    data = load_breast_cancer()
    names = data.target_names[data.target]
    others = data.target_names[1 - data.target]
    X, X_test, correct, y_test, other, _ = train_test_split(
        data.data, names, others, test_size=0.3, random_state=0, stratify=names
    )
    wrong = np.random.default_rng(0).random(len(correct)) < WRONG_LABELS
    return Bunch(
        X=X,
        y=np.where(wrong, other, correct),
        X_test=X_test,
        y_test=y_test,
        wrong=wrong,
        feature_names=data.feature_names.tolist(),
    )


def main() -> None:
    """Fit, evaluate, print, and write the report."""
    data = load()
    report = make_report(
        None,
        data.X,
        data.y,
        X_test=data.X_test,
        y_test=data.y_test,
        feature_names=data.feature_names,
        title=f"Breast cancer, with {WRONG_LABELS:.0%} of the training labels wrong",
    )
    summary = report.summary
    # The robust classifier comes first, then those of scikit-learn.
    models = summary["models"]
    robust = next(iter(models.values()))
    print(f"""\
Breast-cancer data: {len(data.y)} training rows, {data.wrong.sum()} of them with \
wrong labels, and
{len(data.y_test)} test rows with correct ones. The adversary may shift the features \
by {summary["radius"]:.3g}
standard deviations on average.

status         {summary["status"]}, {summary["solver"]}, {summary["n_iter"]} iterations
objective      {summary["objective"]:.10f}
lower bound    {summary["lower_bound"]:.10f}  no linear classifier has a smaller \
objective
gap            {summary["gap"]:.1e}
""")
    print(" " * 26, *map("{:>19}".format, models))
    for key, name in FIGURES.items():
        print(f"{name:26}", end="")
        for figures in models.values():
            value = "-"  # trees have no worst case
            if figures[key] is not None:
                value = f"{figures[key]:.4f}"
            print(f"{value:>20}", end="")
        print()
    always = robust["always"]
    print(f"(always answering {always['label']}: accuracy {always['accuracy']:.4f})\n")

    # The data have no names of rows, so these are their numbers.
    suspect = list(map(int, summary["labels_to_check"]))
    print(
        f"Of the {len(suspect)} training labels that are contradicted most, "
        f"{data.wrong[suspect].sum()} are indeed wrong.\n"
    )
    print(f"Report: {report.save(REPORT).resolve()}")


if __name__ == "__main__":
    main()
