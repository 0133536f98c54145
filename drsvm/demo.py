"""The demonstration behind ``make demo``: a robust classifier, its proof, and what an adversary can do to it.

The breast-cancer data of scikit-learn, standardised; a part of the training labels is wrong, the test labels are not.
"""

from pathlib import Path

import numpy as np

from drsvm.path import radius_path
from drsvm.problem import Problem
from drsvm.solvers import solve
from drsvm.worst_case import worst_case_distribution, worst_case_risk

WRONG_LABELS = 0.2
RADIUS, FLIP_COST, NORM = 0.05, 1.0, 2
PICTURE = "drsvm-demo.png"


def load():
    """Return standardised training and test data, with wrong labels in the training part."""
    from sklearn.datasets import load_breast_cancer
    from sklearn.model_selection import train_test_split
    from sklearn.preprocessing import StandardScaler

    X, y = load_breast_cancer(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=0, stratify=y)
    scaler = StandardScaler().fit(X_train)
    wrong = np.random.default_rng(0).random(len(y_train)) < WRONG_LABELS
    return scaler.transform(X_train), np.where(wrong, 1 - y_train, y_train), scaler.transform(X_test), y_test


def accuracy(model, X, y) -> float:
    """Return the share of correct labels."""
    coef, intercept = model
    return float(np.mean((X @ coef + intercept > 0) == (y == 1)))


def main() -> None:
    """Solve, print, draw."""
    from sklearn.svm import LinearSVC

    X, y, X_test, y_test = load()
    problem = Problem(X, y, radius=RADIUS, flip_cost=FLIP_COST, norm=NORM, fit_intercept=True)
    result = solve(problem)
    robust = (result.weights, result.intercept)
    plain_svm = LinearSVC(random_state=0).fit(X, y)
    plain = (plain_svm.coef_[0], float(plain_svm.intercept_[0]))

    ball = {"radius": RADIUS, "flip_cost": FLIP_COST, "norm": NORM}
    print(f"Breast-cancer data, {len(y)} training rows, {WRONG_LABELS:.0%} of their labels wrong.")
    print(f"An adversary may shift the features by {RADIUS} on average, or flip labels for {FLIP_COST} each.\n")
    print(result, end="\n\n")
    print(worst_case_distribution(robust, X, y, **ball), end="\n\n")
    print(f"{'':26}{'drsvm':>10}{'LinearSVC':>12}")
    rows = {
        "worst-case risk": lambda model: worst_case_risk(model, X, y, **ball),
        "worst-case error rate": lambda model: worst_case_risk(model, X, y, loss="zero-one", **ball),
        "accuracy, clean test set": lambda model: accuracy(model, X_test, y_test),
    }
    for name, figure in rows.items():
        print(f"{name:26}{figure(robust):10.4f}{figure(plain):12.4f}")
    print(f"\nPicture: {draw(problem, X, y, X_test, y_test, robust, plain)}")


def draw(problem, X, y, X_test, y_test, robust, plain) -> Path:
    """Save the risk curves of both classifiers and the path of the robust one."""
    try:
        import matplotlib
    except ImportError:
        raise ImportError("the demonstration draws with matplotlib: pip install 'drsvm[plot]'.") from None
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
    radii = np.linspace(0.0, 0.3, 61)
    for name, model, color, style in (("drsvm", robust, "#0072B2", "-"), ("LinearSVC", plain, "#D55E00", "--")):
        risks = worst_case_risk(model, X, y, radius=radii, flip_cost=FLIP_COST, norm=NORM)
        left.plot(radii, risks, style, color=color, label=name, linewidth=2)
    left.axvline(RADIUS, color="0.6", linewidth=1)
    left.annotate(
        "trained for", (RADIUS, 0.02), xycoords=("data", "axes fraction"), color="0.4", rotation=90, ha="right"
    )
    left.set(xlabel="radius of the ball", ylabel="worst-case risk (hinge)", title="What an adversary can do")
    left.legend(frameon=False)

    path = radius_path(problem, n_radii=25, smallest=1e-2)
    train = [accuracy((r.weights, r.intercept), X, y) for r in path.results]
    test = [accuracy((r.weights, r.intercept), X_test, y_test) for r in path.results]
    right.semilogx(path.radii, test, "-", color="#0072B2", label="clean test set", linewidth=2)
    right.semilogx(path.radii, train, ":", color="#009E73", label="training set, as labelled", linewidth=2)
    right.axhline(accuracy(plain, X_test, y_test), color="#D55E00", linestyle="--", label="LinearSVC, clean test set")
    right.set(xlabel="radius", ylabel="accuracy", title="Along the radius path")
    right.legend(frameon=False, loc="best")
    target = Path(PICTURE).resolve()
    figure.savefig(target, dpi=120)
    plt.close(figure)
    return target


if __name__ == "__main__":
    main()
