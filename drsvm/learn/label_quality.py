"""From out-of-fold decision values to doubtful labels: margins, flags, and an estimate of how many labels are wrong.

With decision values f_c(x), one per class, the margin of class c is f_c(x) − max_{k ≠ c} f_k(x); for two classes it is
±f(x). A row with the label g is judged by two of its margins: the one of g, by which it is ranked, and the one of the
predicted class, by which it is flagged.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

from drsvm.extras import optional

RESAMPLES = 200
LEVEL = 0.95
SHOWN = 10
"""Rows in the printed text."""


@dataclass(frozen=True, repr=False, eq=False)
class LabelIssues:
    """Labels that may be wrong, one entry per row.

    Attributes
    ----------
    given_label, predicted_label : arrays of shape (n,)
        The label in the data, and the one that a classifier predicts which was trained without this row.
    label_score : array of shape (n,)
        1 / (1 + exp(−margin)): from 0 to 1, low for doubtful labels, below 0.5 if another label is predicted. It is not
        a probability.
    margin : array of shape (n,)
        Decision value of the given label minus the largest of the others (for two classes ±f).
    is_label_issue : array of n bools
        Whether the label is flagged: another one is predicted, by more than the mean margin of that class.
    ranking : array of n ints
        The rows, most doubtful first.
    n_estimated : int
        Estimated number of wrong labels.
    n_estimated_interval : tuple of two ints
        Bootstrap interval of the estimate (95 %), see the notes of `find_label_issues`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from drsvm import find_label_issues
    >>> X, y = load_iris(return_X_y=True)
    >>> y[0] = 2
    >>> issues = find_label_issues(X, y)
    >>> int(issues.ranking[0]), bool(issues.is_label_issue[0])
    (0, True)
    """

    given_label: np.ndarray
    predicted_label: np.ndarray
    label_score: np.ndarray
    margin: np.ndarray
    is_label_issue: np.ndarray
    ranking: np.ndarray
    n_estimated: int
    n_estimated_interval: tuple[int, int]

    def to_dict(self) -> dict[str, np.ndarray]:
        """Return the columns, in the order of the rows."""
        names = ("is_label_issue", "label_score", "given_label", "predicted_label")
        return {name: getattr(self, name) for name in names}

    def to_frame(self) -> Any:
        """Return the columns as a pandas DataFrame, in the order of the rows (pandas must be installed)."""
        pandas = optional("pandas", "to_frame needs", remark=" to_dict works without it.")
        return pandas.DataFrame(self.to_dict())

    def summary(self) -> str:
        """Return the counts as a sentence."""
        low, high = self.n_estimated_interval
        return (
            f"{self.is_label_issue.sum():,} of {len(self.ranking):,} labels flagged; about {self.n_estimated:,} "
            f"estimated to be wrong (95 % interval {low:,} to {high:,})."
        )

    def __repr__(self) -> str:
        return f"LabelIssues: {self.summary()}"

    def __str__(self) -> str:
        head = ("row", "given", "predicted", "score", "flagged")
        lines = [
            (str(row), str(self.given_label[row]), str(self.predicted_label[row]), f"{self.label_score[row]:.4f}", flag)
            for row in self.ranking[:SHOWN].tolist()
            for flag in ["yes" if self.is_label_issue[row] else "no"]
        ]
        widths = [max(len(line[place]) for line in (head, *lines)) for place in range(len(head))]
        cells = ("  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in lines)
        title = "  ".join(cell.rjust(width) for cell, width in zip(head, widths, strict=True))
        return "\n".join([repr(self), title, *cells])


class Judgement(NamedTuple):
    """What the decision values say about every row, in codes of the classes."""

    given: np.ndarray
    predicted: np.ndarray
    given_margin: np.ndarray
    predicted_margin: np.ndarray
    n_classes: int


def judge(decisions: np.ndarray, given: np.ndarray) -> Judgement:
    """Return labels and margins from decision values of shape (n, n_classes); ties favour the given label."""
    rows = np.arange(len(given))
    best = decisions.argmax(axis=1)
    second = np.partition(decisions, -2, axis=1)[:, -2]
    top = decisions[rows, best]
    own = decisions[rows, given]
    predicted = np.where(own == top, given, best)
    given_margin = own - np.where(predicted == given, second, top)
    return Judgement(given, predicted, given_margin, top - second, decisions.shape[1])


def confident(judgement: Judgement, weights: np.ndarray) -> np.ndarray:
    """Return the rows that belong to the predicted class at least as clearly as its own rows do on average.

    A class with a negative mean margin has a threshold of 0.
    """
    given, n_classes = judgement.given, judgement.n_classes
    totals = np.bincount(given, weights, n_classes)
    sums = np.bincount(given, weights * judgement.given_margin, n_classes)
    typical = np.maximum(np.divide(sums, totals, out=np.zeros(n_classes), where=totals > 0), 0.0)
    return judgement.predicted_margin > typical[judgement.predicted]


def flagged(judgement: Judgement, weights: np.ndarray) -> np.ndarray:
    """Return the rows that clearly belong to another class."""
    return (judgement.predicted != judgement.given) & confident(judgement, weights)


def estimated_errors(judgement: Judgement, weights: np.ndarray) -> float:
    """Return the number of wrong labels, if the share among the clear rows of every class is that of all its rows."""
    given, n_classes = judgement.given, judgement.n_classes
    clear = weights * confident(judgement, weights)
    wrong = np.bincount(given, clear * (judgement.predicted != given), n_classes)
    of_all = np.bincount(given, clear, n_classes)
    shares = np.divide(wrong, of_all, out=np.zeros(n_classes), where=of_all > 0)
    return float(np.bincount(given, minlength=n_classes) @ shares)


def bootstrap_interval(judgement: Judgement, weights: np.ndarray, rng: np.random.Generator) -> tuple[float, float]:
    """Return the interval of `estimated_errors` over samples of the rows with replacement."""
    n = len(weights)
    found = [
        estimated_errors(judgement, weights * np.bincount(rng.integers(n, size=n), minlength=n))
        for _ in range(RESAMPLES)
    ]
    low, high = np.quantile(found, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def issues_from(decisions: np.ndarray, classes, given: np.ndarray, weights, rng: np.random.Generator) -> LabelIssues:
    """Return the result for out-of-fold decision values."""
    weights = np.ones(len(given)) if weights is None else weights
    judgement = judge(decisions, given)
    low, high = bootstrap_interval(judgement, weights, rng)
    return LabelIssues(
        given_label=classes[given],
        predicted_label=classes[judgement.predicted],
        label_score=expit(judgement.given_margin),
        margin=judgement.given_margin,
        is_label_issue=flagged(judgement, weights),
        ranking=np.argsort(judgement.given_margin, kind="stable"),
        n_estimated=round(estimated_errors(judgement, weights)),
        n_estimated_interval=(round(low), round(high)),
    )
