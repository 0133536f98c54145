"""The demonstration behind ``make demo``: a robust classifier, its proof, and what an adversary can do to it.

It uses scikit-learn's breast-cancer data with some wrong training labels and correct test labels, and writes a report
and a plot into the current folder.
"""

import io
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.svm import LinearSVC

from drsvm.learn.clipped_scaler import ClippedScaler
from drsvm.learn.estimators import WassersteinSVC
from drsvm.plotting import RadiusPathDisplay, RiskCurveDisplay
from drsvm.report import make_report
from drsvm.writing import write_files

WRONG_LABELS = 0.2
REPORT, PLOT = Path("drsvm-demo.html"), Path("drsvm-demo.png")


class Data(NamedTuple):
    """Training data with some wrong labels, test data with correct ones."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    wrong: np.ndarray
    feature_names: list[str]


def load() -> Data:
    """Return the data; `wrong` marks the training rows whose labels were changed."""
    bunch: Any = load_breast_cancer()
    names, others = bunch.target_names[bunch.target], bunch.target_names[1 - bunch.target]
    parts = train_test_split(bunch.data, names, others, test_size=0.3, random_state=0, stratify=names)
    X, X_test, correct, y_test, other, _ = parts
    wrong = np.random.default_rng(0).random(len(correct)) < WRONG_LABELS
    return Data(X, np.where(wrong, other, correct), X_test, y_test, wrong, bunch.feature_names.tolist())


def main() -> None:
    """Fit, evaluate, print, and write the report and the plot."""
    data = load()
    held_out: Any = {"X_test": data.X_test, "y_test": data.y_test}
    title = f"Breast cancer, with {WRONG_LABELS:.0%} of the training labels wrong"
    report = make_report(None, data.X, data.y, **held_out, feature_names=data.feature_names, title=title)
    summary, radius = report.summary, report.summary["radius"]
    print(f"Breast-cancer data: {len(data.y)} training rows, {data.wrong.sum()} of them with wrong labels, and")
    print(f"{len(data.y_test)} test rows with correct ones. The adversary may shift the features by {radius:.3g}")
    print("standard deviations on average.\n")
    print(f"status         {summary['status']}, {summary['solver']}, {summary['n_iter']} iterations")
    print(f"objective      {summary['objective']:.10f}")
    print(f"lower bound    {summary['lower_bound']:.10f}  no linear classifier has a smaller objective")
    print(f"gap            {summary['gap']:.1e}\n")
    models = summary["models"]
    print(f"{'':26}" + "".join(f"{name:>20}" for name in models))
    rows = {"accuracy, clean test set": "accuracy", "worst-case risk": "worst_case_risk"}
    for text, name in {**rows, "worst-case error rate": "worst_case_error"}.items():
        print(f"{text:26}" + "".join(f"{figures[name]:20.4f}" for figures in models.values()))
    suspect = [int(row) for row in summary["labels_to_check"]]
    found = data.wrong[suspect].sum()
    print(f"\nOf the {len(suspect)} training labels that are contradicted most, {found} are indeed wrong.")
    write_files({REPORT: report.html.encode(), PLOT: drawn(data)})
    print(f"\nReport: {REPORT.resolve()}\nPlot:   {PLOT.resolve()}")


def drawn(data: Data) -> bytes:
    """Return a plot of the risk curves of two classifiers and the radius path of the robust one."""
    from matplotlib.figure import Figure

    scaler = ClippedScaler().fit(data.X)
    X, X_test = scaler.transform(data.X), scaler.transform(data.X_test)
    robust, plain = WassersteinSVC().fit(X, data.y), LinearSVC(random_state=0).fit(X, data.y)
    radius = float(robust.radius_)
    figure = Figure(figsize=(11, 4.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    models, radii = {"WassersteinSVC": robust, "LinearSVC": plain}, np.linspace(0.0, 4 * radius, 61)
    RiskCurveDisplay.from_estimators(models, X, data.y, radii=radii, radius=radius, ax=left)
    held_out = {"X_test": X_test, "y_test": data.y_test}
    RadiusPathDisplay.from_data(X, data.y, **held_out, n_radii=25, radius=radius, ax=right, kind="scores")
    left.set_title("What an adversary can do")
    right.set_title("Accuracy along the radius path")
    content = io.BytesIO()
    figure.savefig(content, format="png", dpi=120)
    return content.getvalue()


if __name__ == "__main__":
    main()
