"""How many labels are wrong, and whether this can be known at all.

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

On real tables, overlap fades more slowly than that, and adds to ρ. It shows outside of
the deep rows, where more labels are contradicted than at the rate ρ. In the worst case,
as many of the deep ones are due to overlap: so the interval begins there.
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

# CORE and LEVEL were fixed on 120 generated tables with wrong labels and 120 without,
# and on 16 data sets; `tests/defaults/test_label_noise.py` measures them on new tables.
# The core: the share of the rows with one predicted class that are deepest. Of all
# contradicted labels, the share that must look like those in the cores
CORE = 0.6
# Confidence of every test, and of shares
LEVEL = 0.99
# Labels in the cores that are contradicted because of overlap, as a share of the excess
# outside. Numbers are then 4 % too large on 8 data sets, 2 % too small on 103 generated
# tables, and 9 % too large on 12 with more overlap
REACH = 0.25


class Side(NamedTuple):
    """The rows with one predicted class."""

    n: int
    """Their number."""

    labels: np.ndarray
    """Shares of the given labels among the deepest of them, of shape (n_classes,)."""

    share: float
    """Share of the contradicted labels there."""

    evidence: float
    """Log-likelihood of a constant share ρ minus that of overlap."""

    purity: float
    """P-value of a constant share: small if contradicted labels avoid deep rows."""


def wrong_labels(
    decisions: Sequence[np.ndarray], given: np.ndarray
) -> tuple[int, tuple[int, int]] | tuple[None, None]:
    """Return the number of wrong labels and an interval for it, if they can be known.

    Parameters
    ----------
    decisions : sequence of two arrays of shape (n, n_classes)
        Out-of-fold decision values of a linear and of a flexible classifier.
    given : array of shape (n,)
        The given labels, as numbers.

    Returns
    -------
    number : int or None
        The number of wrong labels; None if it is not known.
    interval : tuple of int or None
        Its lowest and its highest plausible value.
    """
    n, n_classes = decisions[0].shape
    depth, predicted = _depths_and_classes(decisions, given)
    sides = []
    for label in range(n_classes):
        own = predicted == label
        side = _side(label, depth[own], given[own], n_classes)
        # A base rate that no feature explains looks like wrong labels of the larger
        # classes: classes that are hardly predicted say nothing.
        if side.n > (1.0 - CORE) * n / n_classes:
            sides.append(side)
    n_contradicted = float(np.sum(predicted != given))
    if not _are_wrong_labels(sides, n_contradicted):
        return None, None

    # Near the boundary, a class with more wrong labels is predicted too rarely. So its
    # true size is not the number of its predictions: it solves
    # Σ_k size_k · P(given label | class k) = number of given labels, for every label.
    given_by_class = np.column_stack([side.labels for side in sides])
    counts = np.bincount(given, minlength=n_classes)
    sizes = np.clip(np.linalg.lstsq(given_by_class, counts)[0], 0.0, n)
    shares = np.array([side.share for side in sides])
    number = float(sizes @ shares)
    # The variance of a binomial variable, of which only the core is seen
    deviation = np.sqrt(sizes @ (shares * (1.0 - shares)) / CORE)
    low, high = norm.interval(LEVEL, number, deviation)
    # Contradicted labels that these shares do not explain
    overlap = max(n_contradicted - _n_wrong(sides), 0.0)
    number = max(round(number - REACH * overlap), 0)
    return number, (max(round(low - overlap), 0), min(round(high), n))


def _n_wrong(sides: list[Side]) -> float:
    """Return the number of contradicted labels if all shares were constant."""
    return float(sum(side.n * side.share for side in sides))


def _are_wrong_labels(sides: list[Side], n_contradicted: float) -> bool:
    """Return whether contradicted labels are spread over the rows as wrong ones are."""
    if len(sides) < 2:
        return False
    # Most contradicted labels must look like wrong ones: otherwise the fit is poor.
    if _n_wrong(sides) <= CORE * n_contradicted:
        return False
    # A constant share explains the labels better than overlap.
    evidence = sum(side.evidence for side in sides)
    if evidence <= -np.log(1.0 - LEVEL):
        return False
    # In no class do they avoid the rows that are clearest.
    return min(side.purity for side in sides) > 1.0 - LEVEL


def _depths_and_classes(
    decisions: Sequence[np.ndarray], given: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the depths of the rows and their predicted classes, by both classifiers.

    A logistic regression on the decisions of both combines them: the better one has the
    larger coefficients. The depth is the difference of the two largest log-odds.
    """
    linear, flexible = decisions
    # Only differences between classes matter.
    linear = linear[:, 1:] - linear[:, :1]
    flexible = flexible[:, 1:] - flexible[:, :1]
    # Linear decisions about outliers have no limit: hence normal scores by rank.
    scores = norm.ppf(rankdata(linear, axis=0) / (len(given) + 1))
    columns = np.column_stack([scores, flexible])
    combination = make_pipeline(StandardScaler(), LogisticRegression())
    odds = combination.fit(columns, given).decision_function(columns)
    if odds.ndim == 1:
        odds = np.column_stack([np.zeros(len(odds)), odds])
    two_largest = np.partition(odds, -2, axis=1)[:, -2:]
    return np.ptp(two_largest, axis=1), odds.argmax(axis=1)


def _side(label: int, depth: np.ndarray, given: np.ndarray, n_classes: int) -> Side:
    """Compare both explanations of the contradicted labels for one predicted class.

    Parameters
    ----------
    label : int
        The class that is predicted for the rows.
    depth, given : arrays of shape (n,)
        Depths and given labels of the rows.
    n_classes : int
        The number of classes.

    Returns
    -------
    Side
        The comparison.
    """
    n_core = round(CORE * len(depth))
    in_core = given[np.argsort(-depth, kind="stable")][:n_core]
    labels = np.bincount(in_core, minlength=n_classes) / max(n_core, 1)
    contradicted = in_core != label
    share = float(1.0 - labels[label])
    if not contradicted.any() or contradicted.all():
        return Side(len(depth), labels, share, evidence=0.0, purity=1.0)

    # 1. The log-likelihood of overlap, for the best s. u is the share of rows that are
    # deeper, and heights are h(u).
    u = np.arange(1, n_core + 1) / (len(depth) + 1)
    heights = norm.isf(u / 2.0)
    signs = np.where(contradicted, -1.0, 1.0)

    def cost_of_overlap(s: float) -> float:
        return -log_expit(signs * (s * heights - np.log(n_classes - 1))).sum()

    overlap = -minimize_scalar(cost_of_overlap).fun

    # 2. That of a constant share: ρ is the share that is observed.
    constant = -n_core * entropy([share, 1.0 - share])

    # 3. If the share is constant, the contradicted rows are a random sample of the
    # core: the mean of their ln u is that of the core, up to a standard error. The
    # logarithm gives the deepest rows the most influence.
    logs = np.log(u)
    error = logs.std() * np.sqrt((1.0 - share) / contradicted.sum())
    purity = norm.sf((logs[contradicted].mean() - logs.mean()) / error)
    return Side(len(depth), labels, share, float(constant - overlap), float(purity))
