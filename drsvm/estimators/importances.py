"""How much a classifier without weights rests on each column: by how much it ranks worse if the column is shuffled."""

from collections.abc import Sequence

import numpy as np

from drsvm.estimators.scores import scores
from drsvm.problem.kernel_functions import dense
from drsvm.utils.annotations import Matrix

# that are judged, and how often a column is shuffled
MAX_COLUMNS = 100
MAX_ROWS = 1000
REPEATS = 5


def importances(
    classifier, X: Matrix, y: np.ndarray, columns: Sequence[str]
) -> dict[str, float] | None:
    """Return by how much the ROC AUC of unseen rows falls if all features of a column are shuffled together.

    `columns` names the column of every feature. With more than 100 of them the result
    is None.
    """
    if len(set(columns)) > MAX_COLUMNS:
        return None
    rng = np.random.default_rng(0)
    rows = rng.permutation(len(y))[:MAX_ROWS]
    X = dense(X[rows])
    y = y[rows]

    def area(X) -> float:
        return (
            scores(np.asarray(classifier.decision_function(X)), y, classifier.classes_)[
                "roc_auc"
            ]
            or np.nan
        )

    def without(column: str) -> float:
        shuffled = X.copy()
        places = [place for place, name in enumerate(columns) if name == column]
        shuffled[:, places] = X[rng.permutation(len(X))][:, places]
        return area(shuffled)

    whole = area(X)
    falls = {
        name: whole - float(np.mean([without(name) for _ in range(REPEATS)]))
        for name in dict.fromkeys(columns)
    }
    return dict(sorted(falls.items(), key=lambda entry: -entry[1]))
