"""The defaults on all rows with correct labels, and with 2 % positives, against the
defaults of scikit-learn's models.

30 % of the rows are held out; features are standardised on the others, sparse ones are
left as they are. Rare: all rows of the larger class, and of the smaller one as many
as make 2 % positive, at least 8.
"""

import argparse
import sys
import warnings
from pathlib import Path

import numpy as np
from _common import load, report, table, use_threads
from joblib import Parallel, delayed
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from drsvm import WassersteinSVC

sys.path.insert(0, str(Path(__file__).parent / "study"))
from cases import BUILT_IN, DECIDED, REPORTED, is_available
from methods import all_figures

MORE = ("a1a", "a9a")  # the same people as in a5a
DENSE = ("german.numer", "ijcnn1", "spambase", "splice")
MODELS = {
    "WassersteinSVC": WassersteinSVC,
    "LinearSVC": LinearSVC,
    "LogisticRegression": LogisticRegression,
}
RARE = 0.02
MIN_RARE = 8


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=20, help="splits")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    options = parser.parse_args()
    use_threads(1)
    sections = [__doc__.split("\n\n", 1)[1].strip()]
    for title, rare in (("All rows", False), ("2 % positives", True)):
        for group, names in (("decided on", DECIDED), ("reported", (*REPORTED, *MORE))):
            available = [name for name in names if is_available(name)]
            cases = [
                (name, rare, seed)
                for name in available
                for seed in range(options.seeds)
            ]
            found = np.array(
                Parallel(n_jobs=options.jobs)(delayed(figures)(*case) for case in cases)
            )
            found = found.reshape(len(available), options.seeds, len(MODELS), -1)
            sections.append(
                f"## {title}, data sets {group}\n\n{summary(available, found)}"
            )
    report(
        "clean",
        "Correct labels and rare classes, nothing tuned",
        [f"{options.seeds} splits.", *sections],
    )


def rows_of(name: str):
    X, y = BUILT_IN[name]() if name in BUILT_IN else load(name)
    return (X.toarray() if name in DENSE else X), np.unique(y, return_inverse=True)[1]


def with_few_positives(X, y, rng):
    positive = int(y.mean() <= 0.5)
    few, others = (
        rng.permutation(np.flatnonzero(side)) for side in (y == positive, y != positive)
    )
    taken = np.concatenate(
        [few[: max(MIN_RARE, int(len(others) * RARE / (1 - RARE)))], others]
    )
    return X[taken], (y[taken] == positive).astype(int)


def figures(name: str, rare: bool, seed: int) -> list[list[float]]:
    """Return accuracy, balanced accuracy, ROC AUC and whether it is constant, of every
    model.
    """
    warnings.simplefilter("ignore")
    X, y = rows_of(name)
    X, y = with_few_positives(X, y, np.random.default_rng(seed)) if rare else (X, y)
    train, test = train_test_split(
        np.arange(len(y)), test_size=0.3, stratify=y, random_state=seed
    )
    if isinstance(X, np.ndarray):
        X = StandardScaler().fit(X[train]).transform(X)
    found = []
    for kind in MODELS.values():
        model = kind(**({"max_iter": 1000} if kind is LogisticRegression else {})).fit(
            X[train], y[train]
        )
        found.append(
            [
                *all_figures(model, X[test], y[test]),
                len(set(model.predict(X[test]))) == 1,
            ]
        )
    return found


def summary(names, found) -> str:
    means = found.mean(axis=1)
    rows = []
    for name, (ours, *rivals) in zip(names, means, strict=True):
        leads = ours[:3] - np.max(rivals, axis=0)[:3]
        values = [
            " / ".join(f"{model[k]:.2f}" for model in (ours, *rivals)) for k in (0, 2)
        ]
        constant = " / ".join(f"{model[3]:.0%}" for model in (ours, *rivals))
        rows.append([name, *values, *(f"{lead:+.2f}" for lead in leads), constant])
    lead = means[:, 0, :3] - means[:, 1:, :3].max(axis=1)
    rows.append(["mean", "", "", *(f"{one:+.2f}" for one in lead.mean(axis=0)), ""])
    gains = ["accuracy", "balanced accuracy", "AUC"]
    header = ["data", "accuracy", "AUC", *(f"{one}, lead" for one in gains), "constant"]
    return (
        f"{' / '.join(MODELS)}, in percent; lead over the better of the two rivals'"
        f" means.\n\n{table(header, rows)}"
    )


if __name__ == "__main__":
    main()
