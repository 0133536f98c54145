"""The demonstration behind ``make demo``: a robust classifier, its proof, and what an adversary can do to it.

It uses scikit-learn's breast-cancer data with some wrong training labels and correct
test labels, and writes a report, with plots, into the current folder.
"""

from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.utils import Bunch

from drsvm.report import make_report

WRONG_LABELS = 0.2
REPORT = Path("drsvm-demo.html")


def load() -> Bunch:
    """Return training data, of which `wrong` marks the rows whose labels were changed, and test data."""
    data = load_breast_cancer()
    names = data.target_names[data.target]
    others = data.target_names[1 - data.target]
    parts = train_test_split(
        data.data, names, others, test_size=0.3, random_state=0, stratify=names
    )
    X, X_test, correct, y_test, other, _ = parts
    wrong = np.random.default_rng(0).random(len(correct)) < WRONG_LABELS
    y = np.where(wrong, other, correct)
    feature_names = data.feature_names.tolist()
    return Bunch(
        X=X, y=y, X_test=X_test, y_test=y_test, wrong=wrong, feature_names=feature_names
    )


def main() -> None:
    """Fit, evaluate, print, and write the report."""
    data = load()
    title = f"Breast cancer, with {WRONG_LABELS:.0%} of the training labels wrong"
    named = {name: data[name] for name in ("X_test", "y_test", "feature_names")}
    report = make_report(None, data.X, data.y, title=title, **named)
    summary = report.summary
    radius = report.summary["radius"]
    print(
        f"Breast-cancer data: {len(data.y)} training rows, {data.wrong.sum()} of them with wrong labels, and"
    )
    print(
        f"{len(data.y_test)} test rows with correct ones. The adversary may shift the features by {radius:.3g}"
    )
    print("standard deviations on average.\n")
    print(
        f"status         {summary['status']}, {summary['solver']}, {summary['n_iter']} iterations"
    )
    print(f"objective      {summary['objective']:.10f}")
    print(
        f"lower bound    {summary['lower_bound']:.10f}  no linear classifier has a smaller objective"
    )
    print(f"gap            {summary['gap']:.1e}\n")
    models = summary["models"]
    print(f"{'':26}" + "".join(f"{name:>20}" for name in models))
    names = ("accuracy, clean test set", "worst-case risk", "worst-case error rate")
    for name, key in zip(
        names, ("accuracy", "worst_case_risk", "worst_case_error"), strict=True
    ):
        # Trees have no worst case
        values = (figures[key] for figures in models.values())
        print(
            f"{name:26}"
            + "".join(
                f"{'-':>20}" if value is None else f"{value:20.4f}" for value in values
            )
        )
    always = next(iter(models.values()))["always"]
    print(f"(always answering {always['label']}: accuracy {always['accuracy']:.4f})")
    suspect = [int(row) for row in summary["labels_to_check"]]
    n_wrong = data.wrong[suspect].sum()
    print(
        f"\nOf the {len(suspect)} training labels that are contradicted most, {n_wrong} are indeed wrong."
    )
    print(f"\nReport: {report.save(REPORT).resolve()}")


if __name__ == "__main__":
    main()
