"""From out-of-fold decision values to doubtful labels: margins, flags and counts.

With decision values f_c(x), one per class, the margin of class c is f_c(x) − max_{k ≠
c} f_k(x); for two classes it is ±f(x). A row with the label g is judged by two of its
margins: the one of g, by which it is ranked, and the one of the predicted class, by
which it is flagged. Decisions of the classifier of all rows, if they are known, count
for the ranking only: it has seen the labels, which would make too few of them look
wrong.
"""

from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from scipy.special import expit

from drsvm.defaults.label_noise import wrong_labels
from drsvm.defaults.out_of_fold import OutOfFoldDecisions
from drsvm.defaults.threshold import choose_threshold
from drsvm.utils.lazy import optional
from drsvm.utils.messages import right_aligned

# Number of rows that are printed, the most doubtful ones
SHOWN = 10
HEAD = ("row", "given", "predicted", "score", "flagged")


@dataclass(frozen=True, repr=False, eq=False)
class LabelIssues:
    """Labels that classifiers contradict, one entry per row.

    Attributes
    ----------
    given_label, predicted_label : arrays of shape (n,)
        The label in the data, and the one that a classifier predicts which was trained
        without this row.
    label_score : array of shape (n,)
        1 / (1 + exp(−margin)): from 0 to 1, low for doubtful labels. It is not a
        probability.
    margin : array of shape (n,)
        Decision value of the given label minus the largest of the others (for two
        classes ±f), by a classifier trained without this row and the one of all rows
        together, or by the former alone (see `find_label_issues`).
    is_label_issue : array of n bools
        Whether the label is flagged: another one is predicted, by more than the mean
        margin of that class, and the second opinion, if there is one, contradicts the
        given label too.
    ranking : array of n ints
        The rows, most doubtful first; with a second opinion, those that both
        classifiers contradict come first.
    second_label : array of shape (n,) or None
        The label that the second opinion predicts; None without one.
    wrong_labels, wrong_labels_interval : int and tuple of two ints, or None
        Estimated number of wrong labels, and its 95 % interval. None without a second
        opinion, and wherever overlap of the classes or a poor fit may be behind the
        contradicted labels.
    index, library : pandas Index or None, str
        The index of the data frame or series, and whether `to_frame` is for "pandas"
        or, if that was given, "polars".

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
    second_label: np.ndarray | None = None
    wrong_labels: int | None = None
    wrong_labels_interval: tuple[int, int] | None = None
    index: Any = None
    library: str = "pandas"

    @property
    def n_contradicted(self) -> int:
        """Number of rows for which another label is predicted.

        With a second opinion, both classifiers contradict the given label.
        """
        contradicted = self.predicted_label != self.given_label
        if self.second_label is not None:
            contradicted = contradicted & (self.second_label != self.given_label)
        return int(contradicted.sum())

    def to_dict(self) -> dict[str, np.ndarray]:
        """Return the columns, in the order of the rows."""
        columns = {
            "is_label_issue": self.is_label_issue,
            "label_score": self.label_score,
            "given_label": self.given_label,
            "predicted_label": self.predicted_label,
        }
        if self.second_label is not None:
            columns["second_label"] = self.second_label
        return columns

    def to_frame(self) -> Any:
        """Return the columns as a DataFrame, with the index of the data.

        It is one of polars if the data were, otherwise of pandas.
        """
        library = optional(
            self.library, "to_frame needs", remark=" to_dict works without it."
        )
        columns = self.to_dict()
        if self.library == "polars":
            lists = {name: values.tolist() for name, values in columns.items()}
            return library.DataFrame(lists)
        return library.DataFrame(columns, index=self.index)

    def summary(self) -> str:
        """Return the counts in words."""
        n = len(self.ranking)
        flagged = int(self.is_label_issue.sum())
        if self.n_contradicted == 0 and self.wrong_labels is None:
            return f"None of {n:,} labels contradicted."
        who = "both classifiers"
        if self.second_label is None:
            who = "the classifier"
        counts = (
            f"{self.n_contradicted:,} of {n:,} labels contradicted by {who}, "
            f"{flagged:,} of them flagged."
        )
        if self.wrong_labels_interval is None:
            return (
                f"{counts} They are wrong, or the classes overlap or the fit is poor "
                "there."
            )
        low, high = self.wrong_labels_interval
        return (
            f"{counts} About {self.wrong_labels:,} labels are estimated to be wrong "
            f"(95 % interval {low:,} to {high:,})."
        )

    def __repr__(self) -> str:
        return f"LabelIssues: {self.summary()}"

    def __str__(self) -> str:
        lines: list[tuple[str, ...]] = [HEAD]
        for row in self.ranking[:SHOWN].tolist():
            # Rows are named by the index if there is one.
            line = (
                str(row if self.index is None else self.index[row]),
                str(self.given_label[row]),
                str(self.predicted_label[row]),
                f"{self.label_score[row]:.4f}",
                "yes" if self.is_label_issue[row] else "no",
            )
            lines.append(line)
        return "\n".join([repr(self), *right_aligned(lines)])

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"


def judge(
    decisions: np.ndarray, given: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return predicted codes, and the margins of given and predicted ones.

    Ties favour the given label.

    Parameters
    ----------
    decisions : array of shape (n, n_classes)
        The decision values of all classes.
    given : array of shape (n,)
        The codes of the given labels.

    Returns
    -------
    tuple of three arrays of shape (n,)
        The codes of the predicted labels, and the margins of the given and of the
        predicted ones.
    """
    # The two largest values of each row
    second, top = np.partition(decisions, -2, axis=1)[:, -2:].T
    own = decisions[np.arange(len(given)), given]
    predicted = np.where(own == top, given, decisions.argmax(axis=1))
    largest_other = np.where(predicted == given, second, top)
    return predicted, own - largest_other, top - second


def flagged(
    decisions: np.ndarray, given: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """Return which rows belong to another class more clearly than its own rows do.

    Its own rows are those labelled with it, and their mean margin counts.

    Parameters
    ----------
    decisions, given : arrays
        As for `judge`.
    weights : array of shape (n,)
        The weights of the rows in the means.

    Returns
    -------
    array of n bools
        Whether each label is flagged.
    """
    predicted, given_margin, predicted_margin = judge(decisions, given)
    n_classes = decisions.shape[1]
    # The mean margin of the rows of each class, or 0 if that is negative
    totals = np.bincount(given, weights, n_classes)
    sums = np.bincount(given, weights * given_margin, n_classes)
    typical = np.zeros(n_classes)
    np.divide(sums, totals, out=typical, where=totals > 0)
    typical = np.maximum(typical, 0.0)
    return (predicted != given) & (predicted_margin > typical[predicted])


def issues_from(
    decisions: list[np.ndarray],
    own: np.ndarray | None,
    classes: np.ndarray,
    given: np.ndarray,
    weights: np.ndarray | None,
    *,
    index: Any,
    library: str,
) -> LabelIssues:
    """Return the result for out-of-fold decisions of one classifier or two.

    Parameters
    ----------
    decisions : list of arrays of shape (n, n_classes)
        The decisions of each classifier, by folds that were not trained on.
    own : array of shape (n, n_classes) or None
        Those of the first one after training on all rows, if they count.
    classes : array of shape (n_classes,)
        The labels.
    given : array of shape (n,)
        The places of the given labels among the classes.
    weights : array of shape (n,) or None
        The weights of the rows; by default they are equal.
    index, library
        As in `LabelIssues`.

    Returns
    -------
    LabelIssues
    """
    if weights is None:
        weights = np.ones(len(given))
    first = decisions[0]
    predicted, margin, _ = judge(first, given)
    if own is not None:
        margin = _margin_of_both(first, own, given, weights)
    is_label_issue = flagged(first, given, weights)
    # Rows that are not contradicted by both classifiers come later.
    later = np.zeros(len(given), dtype=bool)
    second_label = None
    number = None
    interval = None
    # A constant second opinion has no information.
    if len(decisions) > 1 and decisions[1].any():
        second = judge(decisions[1], given)[0]
        second_label = classes[second]
        is_label_issue &= second != given
        later = (second == given) | (predicted == given)
        counted = np.flatnonzero(weights)
        number, interval = wrong_labels(
            [values[counted] for values in decisions], given[counted]
        )
    return LabelIssues(
        given_label=classes[given],
        predicted_label=classes[predicted],
        label_score=expit(margin),
        margin=margin,
        is_label_issue=is_label_issue,
        ranking=np.lexsort([margin, later]),
        second_label=second_label,
        wrong_labels=number,
        wrong_labels_interval=interval,
        index=index,
        library=library,
    )


def _margin_of_both(
    in_folds: np.ndarray,
    own: np.ndarray,
    given: np.ndarray,
    weights: np.ndarray,
) -> np.ndarray:
    """Return the margins of given labels by the mean of two decisions per row.

    For two classes they are about the threshold of the best accuracy.
    """
    mean = 0.5 * (in_folds + own)
    if mean.shape[1] == 2:
        rows = OutOfFoldDecisions(np.diff(in_folds, axis=1), given, weights)
        threshold = choose_threshold(rows, "accuracy")
        # f becomes f − threshold: half of it is taken from either side.
        mean += 0.5 * threshold * np.array([1.0, -1.0])
    # A constant classifier of a fold has no information about its rows.
    return np.where(in_folds.any(axis=1), judge(mean, given)[1], 0.0)
