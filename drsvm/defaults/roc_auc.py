"""The area under the ROC curve as a sum of contributions of rows, and leads in it.

References
----------
DeLong, DeLong, Clarke-Pearson, "Comparing the areas under two or more correlated
receiver operating characteristic curves: a nonparametric approach", Biometrics 1988.
"""

import math

import numpy as np

# Least variance of an AUC: less is a rounding error
MIN_VARIANCE = 1e-24


def auc_parts(
    decisions: np.ndarray, codes: np.ndarray, counts: np.ndarray | None = None
) -> np.ndarray | None:
    """Return how much each row contributes to the ROC AUC, which is their sum.

    A pair that is in order counts half for each of its rows, an equal one a quarter.
    The AUC of several classes is the mean of those of each one against the rest.

    Parameters
    ----------
    decisions : array of shape (n,) or (n, n_classes)
        Decision values for class 1, or for every class.
    codes : array of shape (n,)
        The classes of the rows.
    counts : array of shape (n,), optional
        How many rows each of them stands for. The AUC is then the sum of the counts
        times the contributions.

    Returns
    -------
    array of shape (n,) or None
        The contributions; None if a class has no rows.
    """
    if counts is None:
        counts = np.ones(len(codes))
    columns = np.atleast_2d(decisions.T)
    # The class whose rows should have the higher values: one column is for class 1.
    first = 2 - decisions.ndim
    parts = np.zeros(len(codes))
    for code, column in enumerate(columns, start=first):
        own = codes == code
        if not own.any() or own.all():
            return None
        values, places = np.unique(column, return_inverse=True)
        for mine, is_higher in ((own, True), (~own, False)):
            # The share of the other side's rows that are lower than each value, equal
            # ones half
            others = np.bincount(places[~mine], counts[~mine], len(values))
            up_to = np.cumsum(others)
            in_order = (up_to - 0.5 * others) / up_to[-1]
            if not is_higher:
                in_order = 1.0 - in_order
            parts[mine] += in_order[places[mine]] / counts[mine].sum()
    return parts / (2 * len(columns))


def errors_ahead(
    first: np.ndarray, second: np.ndarray, codes: np.ndarray, counts: np.ndarray
) -> float:
    """Return the lead in ROC AUC of one classifier over another, in standard errors.

    Parameters
    ----------
    first, second : arrays of shape (n,)
        The `auc_parts` of the classifiers.
    codes, counts : arrays of shape (n,)
        The classes of the rows, and how many rows each of them stands for.

    Returns
    -------
    float
        The lead by DeLong's covariances. It is 0 if a class has at most one row.
    """
    # The contributions of the rows of a class are a sample of their own. Each AUC is
    # counted half by either class, hence the factor 2.
    variance = 0.0
    for code in np.unique(codes):
        lead = 2 * (first - second)[codes == code]
        count = counts[codes == code]
        total = float(count.sum())
        if total <= 1.0:
            return 0.0
        squares = float(count @ (lead - count @ lead / total) ** 2)
        variance += total * squares / (total - 1.0)
    return float(counts @ (first - second)) / math.sqrt(max(variance, MIN_VARIANCE))
