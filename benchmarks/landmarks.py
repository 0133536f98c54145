"""What does a classifier with a kernel lose if its landmarks are not rows?

Differences to `WassersteinKernelSVC()`, whose landmarks are training rows, on the same
rows: of `landmarks="means"`, and of a linear classifier of 300 random Fourier features
of the same kernel (Rahimi and Recht, 2007) with the same radius and ridge. Rows are
standardised by `ClippedScaler`. Groups and random points were fixed on splice, phoneme,
spambase, ijcnn1, magic04 and a9a (the people of a5a and adult), and looked at on
german.numer, wilt, jm1, electricity and mammography.
"""

import argparse
import sys
import warnings
from pathlib import Path

import numpy as np
from _common import report, table, use_threads
from joblib import Parallel, delayed
from sklearn.kernel_approximation import RBFSampler
from sklearn.model_selection import train_test_split

from drsvm import ClippedScaler, WassersteinKernelSVC, WassersteinSVC

sys.path.insert(0, str(Path(__file__).parent / "study"))
import cases
from methods import all_figures

DATA = (*cases.DECIDED, *cases.REPORTED)
N_FEATURES = 300
MIN_TESTED = 60
MAX_TESTED = 6000
METHODS = ("rows", 'landmarks="means"', "random Fourier features")


def measured(name: str, size: int, seed: int) -> np.ndarray | None:
    """Return accuracy, balanced accuracy and AUC of each method in percent."""
    warnings.simplefilter("ignore")
    X, y = cases.rows_of(name)
    if len(y) < size + MIN_TESTED:
        return None
    X, X_test, y, y_test = train_test_split(
        X, y, train_size=size, stratify=y, random_state=seed
    )
    scaler = ClippedScaler().fit(X)
    X = scaler.transform(X)
    X_test = scaler.transform(X_test[:MAX_TESTED])
    y_test = y_test[:MAX_TESTED]
    of_rows = WassersteinKernelSVC().fit(X, y)
    of_means = WassersteinKernelSVC(landmarks="means").fit(X, y)
    features = RBFSampler(
        gamma=of_rows.gamma_, n_components=N_FEATURES, random_state=seed
    ).fit(X)
    linear = WassersteinSVC(radius=of_rows.radius_, l2=of_rows.l2_)
    linear.fit(features.transform(X), y)
    return np.array(
        [
            all_figures(of_rows, X_test, y_test),
            all_figures(of_means, X_test, y_test),
            all_figures(linear, features.transform(X_test), y_test),
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[400, 2000])
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--name", default="landmarks", help="of the file in results/")
    parser.add_argument("--data", nargs="+", default=DATA, choices=DATA)
    options = parser.parse_args()
    use_threads(1)
    sections = [__doc__.split("\n\n", 1)[1].strip()]
    for size in options.sizes:
        runs = [
            (name, size, seed) for name in options.data for seed in range(options.seeds)
        ]
        found = Parallel(n_jobs=options.jobs)(delayed(measured)(*run) for run in runs)
        by_data: dict[str, list[np.ndarray]] = {}
        for (name, _, _), figures in zip(runs, found, strict=True):
            if figures is not None:
                by_data.setdefault(name, []).append(figures)
        means = {name: np.mean(parts, axis=0) for name, parts in by_data.items()}
        title = (
            f"## {size:,} rows, {options.seeds} samples of each\n\nAccuracy / balanced "
            "accuracy / AUC in percent, and differences to it in points."
        )
        sections.append(f"{title}\n\n{differences(means)}")
    report(options.name, "Landmarks that are not rows", sections)


def differences(means: dict[str, np.ndarray]) -> str:
    """Return a table with a row per data set, and the mean of all of them."""
    rows = []
    shown = {**means, "mean": np.mean(list(means.values()), axis=0)}
    for name, figures in shown.items():
        row = [name, " / ".join(f"{value:.1f}" for value in figures[0])]
        for other in figures[1:]:
            row.append(" / ".join(f"{value:+.2f}" for value in other - figures[0]))
        rows.append(row)
    return table(["data", *METHODS], rows)


if __name__ == "__main__":
    main()
