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

SHOWN = 10  # rows in the printed text
_HEAD = ("row", "given", "predicted", "score", "flagged")


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
        """Number of rows for which another label is predicted, by both classifiers if there is a second opinion."""
        first = self.predicted_label != self.given_label
        if self.second_label is None:
            both = first
        else:
            both = first & (self.second_label != self.given_label)
        return int(both.sum())

    def to_dict(self) -> dict[str, np.ndarray]:
        """Return the columns, in the order of the rows."""
        names = ("is_label_issue", "label_score", "given_label", "predicted_label")
        columns = {name: getattr(self, name) for name in names}
        if self.second_label is None:
            return columns
        return {**columns, "second_label": self.second_label}

    def to_frame(self) -> Any:
        """Return the columns as a DataFrame (polars if the data were, otherwise pandas), with the index of the data."""
        library = optional(
            self.library, "to_frame needs", remark=" to_dict works without it."
        )
        if self.library == "polars":
            return library.DataFrame(
                {name: values.tolist() for name, values in self.to_dict().items()}
            )
        return library.DataFrame(self.to_dict(), index=self.index)

    def summary(self) -> str:
        """Return the counts in words."""
        n = len(self.ranking)
        flagged = int(self.is_label_issue.sum())
        if self.n_contradicted == 0 and self.wrong_labels is None:
            return f"None of {n:,} labels contradicted."
        if self.second_label is None:
            who = "the classifier"
        else:
            who = "both classifiers"
        counts = f"{self.n_contradicted:,} of {n:,} labels contradicted by {who}, {flagged:,} of them flagged."
        if self.wrong_labels_interval is not None:
            interval = "95 % interval {:,} to {:,}".format(*self.wrong_labels_interval)
            return f"{counts} About {self.wrong_labels:,} labels are estimated to be wrong ({interval})."
        return (
            f"{counts} They are wrong, or the classes overlap or the fit is poor there."
        )

    def __repr__(self) -> str:
        return f"LabelIssues: {self.summary()}"

    def __str__(self) -> str:
        lines = [_HEAD, *self._lines()]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "\n".join(
            [repr(self), *("  ".join(map(str.rjust, line, widths)) for line in lines)]
        )

    def _repr_html_(self) -> str:
        def row(tag: str, cells) -> str:
            return f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in cells)}</tr>"

        rows = "".join(row("td", cells) for cells in self._lines())
        head = f"<thead>{row('th', _HEAD)}</thead>"
        return f"<p>LabelIssues: {escape(self.summary())}</p><table>{head}<tbody>{rows}</tbody></table>"

    def _lines(self) -> list[tuple[str, ...]]:
        """Return the cells of the first rows of the ranking, named by the index if there is one."""
        rows = self.ranking[:SHOWN].tolist()
        if self.index is None:
            names = rows
        else:
            names = [self.index[row] for row in rows]
        scores = [f"{score:.4f}" for score in self.label_score[rows]]
        flags = np.where(self.is_label_issue[rows], "yes", "no")
        columns = (
            names,
            self.given_label[rows],
            self.predicted_label[rows],
            scores,
            flags,
        )
        return [tuple(map(str, cells)) for cells in zip(*columns, strict=True)]


def judge(
    decisions: np.ndarray, given: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return predicted codes, and the margins of given and predicted ones.

    Ties favour the given label.
    """
    second, top = np.partition(decisions, -2, axis=1)[:, -2:].T
    own = decisions[np.arange(len(given)), given]
    predicted = np.where(own == top, given, decisions.argmax(axis=1))
    return predicted, own - np.where(predicted == given, second, top), top - second


def flagged(
    decisions: np.ndarray, given: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """Return a mask of the rows that belong to another class more clearly than its own rows do on average."""
    (predicted, given_margin, predicted_margin) = judge(decisions, given)
    n_classes = decisions.shape[1]
    totals, sums = (
        np.bincount(given, values, n_classes)
        for values in (weights, weights * given_margin)
    )
    typical = np.maximum(
        np.divide(sums, totals, out=np.zeros(n_classes), where=totals > 0), 0.0
    )
    return (predicted != given) & (predicted_margin > typical[predicted])


def issues_from(
    decisions: list[np.ndarray],
    own: np.ndarray | None,
    classes,
    given: np.ndarray,
    weights,
    **source: Any,
) -> LabelIssues:
    """Return the result for out-of-fold decisions of one classifier or two.

    `own`: of the first for all rows.
    """
    predicted, margin, _ = judge(decisions[0], given)
    weights = np.ones(len(given)) if weights is None else weights
    if (
        own is not None
    ):  # the mean of two decisions per row, about the threshold of the default settings
        mean = 0.5 * (decisions[0] + own)
        if mean.shape[1] == 2:
            threshold = choose_threshold(
                OutOfFoldDecisions(np.diff(decisions[0], axis=1), given, weights),
                "accuracy",
            )
            mean += 0.5 * threshold * np.array([1.0, -1.0])
        # A constant classifier of a fold has no information about its rows.
        margin = np.where(decisions[0].any(axis=1), judge(mean, given)[1], 0.0)
    doubted = np.ones(len(given), dtype=bool)
    later = np.zeros(len(given), dtype=bool)
    second_label = None
    number = interval = None
    if (
        len(decisions) > 1 and decisions[1].any()
    ):  # a constant second opinion has no information
        second = judge(decisions[1], given)[0]
        doubted = second != given
        second_label = classes[second]
        later = ~doubted | (predicted == given)
        counted = np.flatnonzero(weights)
        number, interval = wrong_labels(
            [values[counted] for values in decisions], given[counted]
        )
    return LabelIssues(
        given_label=classes[given],
        predicted_label=classes[predicted],
        label_score=expit(margin),
        margin=margin,
        is_label_issue=flagged(decisions[0], given, weights) & doubted,
        ranking=np.lexsort([margin, later]),
        second_label=second_label,
        wrong_labels=number,
        wrong_labels_interval=interval,
        **source,
    )
