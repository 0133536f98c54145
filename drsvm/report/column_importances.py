"""How much a classifier without weights rests on each column."""

from collections.abc import Sequence

import numpy as np
from sklearn.inspection import permutation_importance

from drsvm.audit.performance import scores
from drsvm.problem.memory_rows import dense
from drsvm.utils.annotations import Matrix

# With more columns nothing is computed; of more rows, some are drawn.
MAX_COLUMNS = 100
MAX_ROWS = 1000
# How often each column is shuffled
REPEATS = 5


def column_importances(
    classifier, X: Matrix, y: np.ndarray, columns: Sequence[str]
) -> dict[str, float] | None:
    """Return by how much the ROC AUC falls if a column is shuffled, largest first.

    Parameters
    ----------
    classifier : estimator
        A fitted classifier.
    X, y : matrix and array
        Rows that are new to it, and their labels.
    columns : sequence of str
        The column of every feature. The features of a column, such as the levels of a
        category, are shuffled together.

    Returns
    -------
    dict or None
        The mean falls by the names of the columns; None if these are too many.
    """
    names = list(dict.fromkeys(columns))
    if len(names) > MAX_COLUMNS:
        return None
    chosen = np.random.default_rng(0).permutation(len(y))[:MAX_ROWS]
    X = dense(X[chosen])
    n, d = X.shape
    column_of_feature = [names.index(column) for column in columns]

    def roc_auc(classifier, rows: np.ndarray, y: np.ndarray) -> float:
        shuffled = X[rows[:, column_of_feature], np.arange(d)]
        decisions = np.asarray(classifier.decision_function(shuffled))
        auc = scores(decisions, y, classifier.classes_)["roc_auc"]
        # An AUC of 0 is the lowest there is; None is that of rows of one class.
        return np.nan if auc is None else auc

    # scikit-learn shuffles single columns. In place of the features, it is given the
    # row from which each column takes its features.
    rows = np.tile(np.arange(n)[:, None], len(names))
    found = permutation_importance(
        classifier, rows, y[chosen], scoring=roc_auc, n_repeats=REPEATS, random_state=0
    )
    falls = dict(zip(names, found.importances_mean.tolist(), strict=True))
    return dict(sorted(falls.items(), key=lambda entry: -entry[1]))
