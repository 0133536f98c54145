"""How many labels are wrong, where this can be told from labels that classifiers merely contradict.

A contradicted label may be wrong, or correct: classes overlap, features are missing, and no model fits everywhere. What
tells them apart is the *depth* of a row, by how clearly its class is predicted. Let u be the share of rows with the
same predicted class that are deeper than a row. Labels that were changed at random are contradicted at every depth,

    P(contradicted | u) = ρ,

while overlap ends where a class is clear. If log-odds are spread like normal variables around the boundary,

    P(contradicted | u) = 1 / (1 + exp(s · h(u))),     h(u) = Φ⁻¹(1 − u / 2).

Both have one parameter per predicted class, and the likelihoods of the deepest rows are compared. All of this is
evaluated on out-of-fold decision values of two classifiers, a linear and a flexible one: a boundary that one of them
cannot follow would look like a share ρ.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import expit
from scipy.stats import fisher_exact, norm, rankdata
from sklearn.linear_model import LogisticRegression

CORE = 0.6  # this share of the rows with the same predicted class, the deepest ones, is far from the boundary
# Classes that are predicted for fewer rows, or for less than this share of the rows per class, are not considered: a
# base rate that no feature explains looks like wrong labels of the larger classes.
FEWEST, FEWEST_SHARE = 50, 0.4
LEAST, CLEAN = 0.02, 0.015  # contradicted labels in the core of a class with wrong labels at least, and without any
PART, PART_OF_ONE = 0.7, 0.65  # of contradicted labels that wrong ones must explain, in several classes or a single one
EVIDENCE, EVIDENCE_OF_ONE, AGAINST = 3.5, 5.0, -4.0  # log-likelihood ratios: of all classes, of one, and the smallest
DEEPEST = (0.04, 0.08, 0.15)
# A core whose deepest part has fewer contradicted labels, with such a p-value, speaks for overlap. The thresholds were
# fixed on 288 generated tables without wrong labels, of which two are said to have some, and 252 with 3 to 35 % of
# them, of which 173 are. `tests/learn/labels/test_label_noise.py` measures them on others.
PURE, PURE_IN_ONE = 0.001, 0.02
LEVEL = 0.95
WIDENING = 1.5  # of intervals, compared with those of binomial shares: overlap adds to the shares
CLIPPED = 8.0  # larger log-odds are no stronger evidence


class Side(NamedTuple):
    """The rows with one predicted class."""

    n: int
    share: float  # of contradicted labels in the core
    evidence: float  # log-likelihood of a constant share minus that of overlap
    purity: float


def wrong_labels(decisions: Sequence[np.ndarray], given: np.ndarray) -> tuple[int, tuple[int, int]] | tuple[None, None]:
    """Return the number of wrong labels by out-of-fold decisions of two classifiers, and its interval, if known."""
    # A logistic regression on both decision values gives log-odds of all classes: the better one counts more. Decisions
    # of a linear classifier have no limit on outliers, hence normal scores of the first one.
    first, second = (values[:, 1:] - values[:, :1] for values in decisions)
    scores = norm.ppf((rankdata(first, axis=0) - 0.5) / len(given))
    columns = np.column_stack([scores, np.clip(second, -CLIPPED, CLIPPED)])
    odds = LogisticRegression(C=10.0, max_iter=1000).fit(columns, given).decision_function(columns)
    odds = np.column_stack([-odds / 2, odds / 2]) if odds.ndim == 1 else odds
    contradicted = odds.argmax(axis=1) != given
    sides = list(_sides((odds, *decisions), contradicted))
    number = sum(side.n * side.share for side in sides)
    noisy = [side for side in sides if side.share >= LEAST]  # labels are contradicted at every depth
    if len(sides) < 2 or not noisy or any(CLEAN <= side.share < LEAST for side in sides):
        return None, None
    part, evidence, pure = (PART_OF_ONE, EVIDENCE_OF_ONE, PURE_IN_ONE) if len(noisy) == 1 else (PART, EVIDENCE, PURE)
    identified = (
        number / max(int(contradicted.sum()), 1) >= part
        and sum(side.evidence for side in noisy) >= evidence
        and min(side.evidence for side in noisy) >= AGAINST
        and min(side.purity for side in noisy) >= pure
    )
    if not identified:
        return None, None
    variance = sum(side.n * side.share * (1.0 - side.share) * (1.0 / CORE) for side in sides)
    half = WIDENING * norm.isf((1.0 - LEVEL) / 2.0) * np.sqrt(variance)
    return round(number), (max(round(number - half), 0), min(round(number + half), len(given)))


def _sides(judges: tuple[np.ndarray, ...], contradicted: np.ndarray) -> Iterator[Side]:
    predicted = [values.argmax(axis=1) for values in judges]
    depths = [np.ptp(np.partition(values, -2, axis=1)[:, -2:], axis=1) for values in judges]
    for label in range(judges[0].shape[1]):
        rows = np.flatnonzero(predicted[0] == label)
        if len(rows) < max(FEWEST, FEWEST_SHARE * len(contradicted) / judges[0].shape[1]):
            continue
        core = _core(rows, depths[0], contradicted)
        purity = _purity(core, len(rows))
        for own, depth in zip(predicted[1:], depths[1:], strict=True):
            agreed = rows[own[rows] == label]
            if 2 * len(agreed) > len(rows):
                purity = min(purity, _purity(_core(agreed, depth, contradicted), len(agreed)))
        yield Side(len(rows), float(core.mean()), _evidence(core, len(rows)), purity)


def _core(rows: np.ndarray, depth: np.ndarray, contradicted: np.ndarray) -> np.ndarray:
    """Return which labels of the deepest rows are contradicted, deepest first."""
    order = rows[np.argsort(-depth[rows], kind="stable")]
    return contradicted[order][: round(CORE * len(rows))]


def _evidence(core: np.ndarray, n: int) -> float:
    """Return the log-likelihood of a constant share minus that of overlap."""
    height = norm.isf((np.arange(len(core)) + 0.5) / n / 2.0)

    def likelihood(share) -> float:
        share = np.clip(share, 1e-9, 1.0 - 1e-9)
        return float(np.log(np.where(core, share, 1.0 - share)).sum())

    overlap = minimize_scalar(lambda s: -likelihood(expit(-s * height)), bounds=(0.0, 12.0), method="bounded")
    return likelihood(core.mean()) + float(overlap.fun)


def _purity(core: np.ndarray, n: int) -> float:
    """Return the smallest p-value of a deepest part with fewer contradicted labels than the rest of the core."""
    found = [1.0]
    for share in DEEPEST:
        deep, rest = np.split(core, [int(share * n)])
        if len(deep) >= 10:
            counts = [[part.sum(), (~part).sum()] for part in (deep, rest)]
            found.append(float(fisher_exact(counts, alternative="less")[1]))  # pyright: ignore[reportArgumentType]
    return min(found)
