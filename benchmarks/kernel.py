"""What a kernel classifier with a proof costs, against scikit-learn's SVC and a Nyström
pipeline on the same rows.

20 % of the training labels are wrong; the width is the same for all (γ = 0.3 / d). What
is proven is the gap to the optimum over the whole feature space. With `--card`, many
rows on a graphics card; the rival is cuML's SVC, if it is installed.
"""

import argparse
import warnings
from functools import partial

import numpy as np
from _common import interleaved, load, report, short, table, usable_cores
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from drsvm import WassersteinKernelSVC
from drsvm.problem.backends import to_numpy

CASES = (("ijcnn1", 3000, 1e-6), ("spambase", 3000, 1e-6), ("ijcnn1", 20_000, 1e-3))
CARD_CASES = (("ijcnn1", 49_990, 1e-4), ("curved", 1_000_000, 1e-3))
WRONG = 0.2
REPEATS = 5
TEST_ROWS = 5000
RIVAL = "SVC()"
MAX_FOR_RIVALS = 100_000
"""Number of rows from which one classifier alone is tried."""


def curved(n: int, d: int = 20):
    """Return two normal distributions that overlap.

    Of different widths, so that the best boundary is curved.
    """
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, size=n)
    widths = np.where(np.arange(d) % 2, 1.3, 1 / 1.3)
    X = rng.normal(size=(n, d))
    X[y == 1] *= widths
    X[y == 1] += 0.25
    return X, y


def rows_of(name: str, n: int):
    """Return training rows with wrong labels, and others with correct ones (of ijcnn1
    there may be none).
    """
    X, y = curved(n + TEST_ROWS) if name == "curved" else load(name)
    rng = np.random.default_rng(0)
    order = rng.permutation(len(y))[: n + TEST_ROWS]
    X = X[order]
    y = y[order]
    X = X if isinstance(X, np.ndarray) else X.toarray()
    X = StandardScaler().fit(X[:n]).transform(X)
    labels = y[:n].copy()
    wrong = rng.permutation(n)[: int(WRONG * n)]
    labels[wrong] = np.where(labels[wrong] == y.max(), y.min(), y.max())
    return X[:n], labels, X[n:], y[n:]


def models(gamma: float, tol: float) -> dict:
    """Return the classifiers by name, the rival last."""
    return {
        "WassersteinKernelSVC, threshold of the optimum": WassersteinKernelSVC(
            gamma=gamma, tol=tol, threshold="optimum"
        ),
        "WassersteinKernelSVC": WassersteinKernelSVC(gamma=gamma, tol=tol),
        "WassersteinKernelSVC, 200 landmarks": WassersteinKernelSVC(
            gamma=gamma, n_landmarks=200
        ),
        "Nystroem, 200 landmarks, and LinearSVC": make_pipeline(
            Nystroem(gamma=gamma, n_components=200, random_state=0), LinearSVC()
        ),
        RIVAL: SVC(gamma=gamma),
    }


def models_on_card(gamma: float, tol: float, n: int) -> dict:
    """Return the classifiers by name."""
    settings = {"gamma": gamma, "tol": tol}
    found: dict = {
        "threshold of the optimum": WassersteinKernelSVC(
            **settings, threshold="optimum", engine="gpu"
        )
    }
    if n > MAX_FOR_RIVALS:
        return found
    found["the defaults"] = WassersteinKernelSVC(**settings, engine="gpu")
    found[f"threshold of the optimum, {usable_cores()} cores"] = WassersteinKernelSVC(
        **settings, threshold="optimum"
    )
    try:
        from cuml.svm import SVC as CardSVC
    except ImportError:
        return found
    return found | {"cuML's SVC()": CardSVC(gamma=gamma)}


def measured(name: str, n: int, fitted: dict, data, repeats: int) -> list[list[str]]:
    """Return a line for every classifier; ratios are to the last one."""
    X, y, X_test, y_test = data
    timings = interleaved(
        {key: partial(model.fit, X, y) for key, model in fitted.items()}, repeats
    )
    lines = []
    last = timings[list(fitted)[-1]].seconds
    for key, model in fitted.items():
        seconds = timings[key].seconds
        auc = (
            f"{roc_auc_score(y_test, to_numpy(model.decision_function(X_test))):.4f}"
            if len(y_test)
            else "–"
        )
        gap = f"{model.gap_:.1e}" if hasattr(model, "gap_") else "–"
        lines.append(
            [
                f"{name}, {n:,} rows",
                key,
                short(seconds),
                f"**{short(seconds / last)}**",
                gap,
                auc,
            ]
        )
        print(lines[-1], flush=True)
    return lines


def on_cores(options) -> None:
    lines = []
    for name, n, tol in CASES[:2] if options.quick else CASES:
        data = rows_of(name, n)
        repeats = 1 if options.quick or n > 5000 else options.repeats
        lines += measured(name, n, models(0.3 / data[0].shape[1], tol), data, repeats)
    head = [
        "data",
        "classifier",
        "s",
        "multiple of SVC's time",
        "proven gap",
        "AUC, correct labels",
    ]
    about = (
        f"{usable_cores()} threads; {int(100 * WRONG)} % of the training labels are"
        " wrong; γ = 0.3 / d, C = 1 for the rivals, which prove nothing. The automatic"
        " radius and ridge, and for the second line the folds of the threshold, are"
        " part of the time."
    )
    report(
        "kernel-quick" if options.quick else "kernel",
        "Kernels",
        [about, table(head, lines)],
    )


def on_card(options) -> None:
    import cupy

    card = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    about = (
        f"{int(100 * WRONG)} % of the training labels are wrong; γ = 0.3 / d. The"
        " automatic radius and ridge, and copying the rows to the GPU, are part of"
        " the time. `curved` are two normal distributions that overlap, with 20"
        " features."
    )
    head = [
        "data",
        "WassersteinKernelSVC",
        "s",
        "proven gap",
        "functions",
        "AUC, correct labels",
    ]
    lines = []
    for name, n, tol in CARD_CASES[:1] if options.quick else CARD_CASES:
        X, y, X_test, y_test = rows_of(name, n)
        data = (X, y, cupy.asarray(X_test), y_test)
        fitted = models_on_card(0.3 / X.shape[1], tol, n)
        for line, model in zip(
            measured(name, n, fitted, data, options.repeats),
            fitted.values(),
            strict=True,
        ):
            functions = (
                model.result_.info["functions"] if hasattr(model, "result_") else "–"
            )
            lines.append([*line[:3], line[4], functions, line[5]])
        report(
            "kernel-gpu",
            f"Kernels on a graphics card: {card}",
            [about, table(head, lines)],
            ["cupy-cuda13x"],
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--repeats",
        type=int,
        default=REPEATS,
        help="runs of each fit; the median counts",
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="one repeat, 3,000 rows; with --card, ijcnn1 alone",
    )
    parser.add_argument(
        "--card", action="store_true", help="many rows, on a graphics card"
    )
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    (on_card if options.card else on_cores)(options)


if __name__ == "__main__":
    main()
