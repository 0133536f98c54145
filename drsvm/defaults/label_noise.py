"""How many labels are wrong, where this can be told from labels that classifiers merely contradict.

A contradicted label may be wrong, or correct: classes overlap, features are missing,
and no model fits everywhere. The two differ in the *depth* of a row, that is how
clearly its class is predicted. Let u be the share of rows with the same predicted class
that are deeper than a row. Labels that were changed at random are contradicted at every
depth,

    P(contradicted | u) = ρ,

while overlap ends where a class is clear. If log-odds are spread like normal variables
around the boundary,

    P(contradicted | u) = (k − 1) / (k − 1 + exp(s · h(u))),     h(u) = Φ⁻¹(1 − u / 2),

for k classes: if features do not matter (s = 0), all labels are equally likely. Both
have one parameter per predicted class, and the likelihoods of the deepest rows are
compared. All of this is evaluated on out-of-fold decision values of two classifiers, a
linear and a flexible one: a boundary that one of them cannot follow would look like a
share ρ.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_expit
from scipy.stats import entropy, norm, rankdata
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

# Both were fixed on 120 generated tables with wrong labels and 120 without
# (`tests/learn/label_tables.py`), and on 16 data sets.
# `tests/learn/labels/test_label_noise.py` measures them on new tables.
# Of the rows with one predicted class, the deepest; so much of what is contradicted
# must look like them
CORE = 0.6
# Of every test, and of intervals, which then cover about 95 %: overlap adds to the
# shares
LEVEL = 0.99


class Side(NamedTuple):
    """The rows with one predicted class."""

    n: int
    labels: np.ndarray  # shares of the given labels in the core
    share: float  # of contradicted ones
    evidence: float  # log-likelihood of a constant share minus that of overlap
    # P-value of a constant share, if contradicted labels avoid the deepest rows
    purity: float


def wrong_labels(
    decisions: Sequence[np.ndarray], given: np.ndarray
) -> tuple[int, tuple[int, int]] | tuple[None, None]:
    """Return the number of wrong labels by out-of-fold decisions of two classifiers, and its interval, if known."""
    n, n_classes = decisions[0].shape
    depth, predicted = _combined(decisions, given)
    by_class = ((label, predicted == label) for label in range(n_classes))
    sides = [
        _side(label, depth[rows], given[rows], n_classes) for label, rows in by_class
    ]
    # A base rate that no feature explains looks like wrong labels of the larger
    # classes.
    sides = [side for side in sides if side.n > (1.0 - CORE) * n / n_classes]
    # Otherwise, the fit is poor
    identified = (
        len(sides) > 1
        and sum(side.n * side.share for side in sides)
        > CORE * np.sum(predicted != given)
        and sum(side.evidence for side in sides) > -np.log(1.0 - LEVEL)
        and min(side.purity for side in sides) > 1.0 - LEVEL
    )
    if not identified:
        return None, None
    # Near the boundary, a class with more wrong labels is predicted too rarely. Hence
    # its size by the given labels.
    counts = np.bincount(given, minlength=n_classes)
    sizes = np.clip(
        np.linalg.lstsq(np.column_stack([side.labels for side in sides]), counts)[0],
        0.0,
        n,
    )
    shares = np.array([side.share for side in sides])
    number = float(sizes @ shares)
    low, high = norm.interval(
        LEVEL, number, np.sqrt(sizes @ (shares * (1.0 - shares)) / CORE)
    )
    return round(number), (max(round(low), 0), min(round(high), n))


def _combined(
    decisions: Sequence[np.ndarray], given: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the depths of the rows and their predicted classes, by both classifiers: the better one counts more."""
    first, second = (values[:, 1:] - values[:, :1] for values in decisions)
    # Linear decisions have no limit on outliers
    scores = norm.ppf(rankdata(first, axis=0) / (len(given) + 1))
    columns = np.column_stack([scores, second])
    odds = (
        make_pipeline(StandardScaler(), LogisticRegression())
        .fit(columns, given)
        .decision_function(columns)
    )
    if odds.ndim == 1:
        odds = np.column_stack([np.zeros(len(odds)), odds])
    else:
        odds = odds
    return np.ptp(np.partition(odds, -2, axis=1)[:, -2:], axis=1), odds.argmax(axis=1)


def _side(label: int, depth: np.ndarray, given: np.ndarray, n_classes: int) -> Side:
    deepest = given[np.argsort(-depth, kind="stable")][: round(CORE * len(depth))]
    labels = np.bincount(deepest, minlength=n_classes) / max(len(deepest), 1)
    core = deepest != label
    share = float(1.0 - labels[label])
    if not core.any() or core.all():
        return Side(len(depth), labels, share, evidence=0.0, purity=1.0)
    # Share of rows that are as deep at least
    above = np.arange(1, len(core) + 1) / (len(depth) + 1)
    heights = norm.isf(above / 2.0)
    signs = np.where(core, -1.0, 1.0)
    overlap = minimize_scalar(
        lambda s: -log_expit(signs * (s * heights - np.log(n_classes - 1))).sum()
    ).fun
    constant = -len(core) * entropy([share, 1.0 - share])
    # If the share is constant, the contradicted rows are a sample of the core. The
    # logarithm separates the deepest.
    logs = np.log(above)
    error = logs.std() * np.sqrt((1.0 - share) / core.sum())
    purity = norm.sf((logs[core].mean() - logs.mean()) / error)
    return Side(len(depth), labels, share, float(constant + overlap), float(purity))
