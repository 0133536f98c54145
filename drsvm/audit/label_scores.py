"""From out-of-fold decision values to doubtful labels: probabilities, flags and counts.

Margins depend on the shares of the classes. If 15 % of the rows are positive and 15 %
of the labels wrong, half of the labels "positive" are wrong, and 3 % of the others: a
row at the threshold is far more doubtful if it is labelled as positive. So decisions
become probabilities, by a sigmoid that is fitted to the given labels, and the mean of
the classifiers' probabilities counts.

Equal rows cannot be distinguished by any classifier, but their labels are known: those
of the other copies are added to the probabilities, as far as there are many.

Decisions of the classifier of all rows, if they are known, count for the scores only:
it has seen the labels, which would make too few of them look wrong.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, NamedTuple

import numpy as np

from drsvm.audit.label_reasons import reason
from drsvm.defaults.label_noise import wrong_labels
from drsvm.defaults.out_of_fold import OutOfFoldDecisions
from drsvm.defaults.probability import sigmoid_probabilities
from drsvm.utils.annotations import Values
from drsvm.utils.lazy import optional
from drsvm.utils.messages import right_aligned

# Number of rows that are printed, the most doubtful ones
SHOWN = 10
HEAD = ("row", "given", "predicted", "score", "flagged")
# Least probability of another label of a flagged row. On 8 data sets with 10 to 30 %
# wrong labels, 80 % of the flagged ones are wrong; 76 % with 0.5, and 85 % with 0.7,
# which flags 42 % of the wrong ones in place of 57 %
CLEAR = 0.6
# Copies of a row that count as much as the classifiers' probabilities: of 3, 10, 30 and
# 100, the best ranking of 5 data sets
COPIES = 10.0
# Who decides unless there is evidence for others
LINEAR = ("linear",)


@dataclass(frozen=True, repr=False, eq=False)
class LabelIssues:
    """Labels that classifiers contradict, one entry per row.

    Attributes
    ----------
    given_label, predicted_label : arrays of shape (n,)
        The label in the data, and the most probable one for classifiers that were
        trained without this row.
    label_score : array of shape (n,)
        Probability of the given label, the mean of all classifiers, low for doubtful
        labels. It is about labels as they are given: if 20 % of them are wrong, few
        labels have less than 0.2.
    margin : array of shape (n,)
        Decision value of the given label minus the largest of the others (for two
        classes ±f), by a classifier trained without this row and the one of all rows
        together, or by the former alone (see `find_label_issues`).
    is_label_issue : array of n bools
        Whether the label is flagged: another one is predicted, with a probability above
        0.6 and above the mean one of that class, and the second opinion, if there is
        one, contradicts the given label too.
    ranking : array of n ints
        The rows, most doubtful first.
    second_label : array of shape (n,) or None
        The label that the second opinion predicts; None without one.
    wrong_labels, wrong_labels_interval : int and tuple of two ints, or None
        Estimated number of wrong labels, and its 90 % interval. None without a second
        opinion, and wherever overlap of the classes or a poor fit may be behind the
        contradicted labels.
    judged_by : tuple of str
        Which of the default classifiers decide: "linear", alone or with others that
        rank labels as well, or "kernel", "trees" or both.

        .. versionadded:: 1.0.0rc2
    leads : dict or None
        By how many standard errors these rank given labels better than the linear ones,
        in the area under the ROC curve: they decide if that is more than 2, and
        otherwise count if it is above −1. It is None with an `estimator` of your own,
        with a splitter as `cv`, and for tables that are too large.

        .. versionadded:: 1.0.0rc2
    decisions, rows : list of arrays of shape (n, n_classes), and array or None
        What all classifiers have decided about rows that they had not seen, and the
        rows with scaled columns, if a kernel and trees have judged them.
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
    judged_by: tuple[str, ...] = LINEAR
    leads: Mapping[str, float] | None = None
    decisions: Sequence[np.ndarray] = ()
    rows: np.ndarray | None = None
    index: Any = None
    library: str = "pandas"

    @property
    def is_contradicted(self) -> np.ndarray:
        """Whether another label is predicted for each row.

        With a second opinion, both classifiers contradict the given label.
        """
        contradicted = self.predicted_label != self.given_label
        if self.second_label is not None:
            contradicted = contradicted & (self.second_label != self.given_label)
        return contradicted

    @property
    def n_contradicted(self) -> int:
        """Number of rows that are contradicted."""
        return int(self.is_contradicted.sum())

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

    def reasons(self, rows: Values = None) -> list[str]:
        """Return what speaks for the predicted label of rows, and against others.

        It is computed here, and takes no time before.

        .. versionadded:: 1.0.0rc2

        Parameters
        ----------
        rows : array of ints, optional
            The rows; by default the ten most doubtful ones, in the order of the
            ranking.

        Returns
        -------
        list of str
            How many of the classifiers, trained without the row, decide for its
            predicted label; how large its margin is, in units of the root mean square
            of all margins, if it is on that side; and how many of the ten other rows
            that are nearest, with scaled columns, have this label.
        """
        if rows is None:
            rows = self.ranking[:SHOWN]
        return [reason(self, row) for row in np.atleast_1d(rows).tolist()]

    def summary(self) -> str:
        """Return the counts in words."""
        n = len(self.ranking)
        flagged = int(self.is_label_issue.sum())
        if self.n_contradicted == 0 and self.wrong_labels is None:
            return f"None of {n:,} labels contradicted."
        who = "both classifiers"
        if self.second_label is None:
            who = "the classifier"
        if LINEAR[0] not in self.judged_by:
            who = f"{' and '.join(self.judged_by)} ({who})"
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
            f"(90 % interval {low:,} to {high:,})."
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


class Opinion(NamedTuple):
    """Decisions of one classifier."""

    in_folds: np.ndarray
    """By folds that were not trained on, of shape (n, n_classes): 0 if constant."""

    own: np.ndarray | None = None
    """Those of the classifier of all rows, if they count."""

    def with_own(self) -> np.ndarray:
        """Return the mean of both decisions of every row."""
        if self.own is None:
            return self.in_folds
        return 0.5 * (self.in_folds + self.own)


class Judged(NamedTuple):
    """Labels that are judged."""

    given: np.ndarray
    """Their places among the classes."""

    weights: np.ndarray
    """The weights of the rows. Those without weight are not learnt from."""

    groups: np.ndarray | None
    """The group of equal rows that each row is in; None if they do not count."""

    @property
    def counted(self) -> np.ndarray:
        """The rows that have a weight."""
        return np.flatnonzero(self.weights)


def opinions_of(
    judges: Mapping[str, list[Opinion]], names: Iterable[str]
) -> list[Opinion]:
    """Return the opinions of some judges."""
    return [opinion for name in names for opinion in judges[name]]


def judge(values: np.ndarray, given: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return predicted codes, and the margins of the given ones.

    Ties favour the given label.

    Parameters
    ----------
    values : array of shape (n, n_classes)
        The decision values or probabilities of all classes.
    given : array of shape (n,)
        The codes of the given labels.

    Returns
    -------
    tuple of two arrays of shape (n,)
        The codes of the predicted labels, and the margins: the value of the given label
        minus the largest of the others.
    """
    # The two largest values of each row
    second, top = np.partition(values, -2, axis=1)[:, -2:].T
    own = values[np.arange(len(given)), given]
    predicted = np.where(own == top, given, values.argmax(axis=1))
    largest_other = np.where(predicted == given, second, top)
    return predicted, own - largest_other


def flagged(
    probabilities: np.ndarray, given: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """Return which rows belong to another class more clearly than its own rows do.

    Its own rows are those labelled with it, and their mean probability counts.

    Parameters
    ----------
    probabilities : array of shape (n, n_classes)
        The probabilities of all classes.
    given : array of shape (n,)
        The codes of the given labels.
    weights : array of shape (n,)
        The weights of the rows in the means.

    Returns
    -------
    array of n bools
        Whether each label is flagged.
    """
    predicted, _ = judge(probabilities, given)
    n_classes = probabilities.shape[1]
    # The mean probability of the given label, for the rows of each class
    own = probabilities[np.arange(len(given)), given]
    totals = np.bincount(given, weights, n_classes)
    sums = np.bincount(given, weights * own, n_classes)
    typical = np.zeros(n_classes)
    np.divide(sums, totals, out=typical, where=totals > 0)
    least = np.maximum(typical, CLEAR)[predicted]
    return (predicted != given) & (probabilities.max(axis=1) > least)


def issues_from(
    judges: dict[str, list[Opinion]],
    judged_by: tuple[str, ...],
    judged: Judged,
    classes: np.ndarray,
    **shown: Any,
) -> LabelIssues:
    """Return the result for out-of-fold decisions.

    Parameters
    ----------
    judges : dict of lists
        The opinions: "linear" has those of linear judges, or of one that was given,
        "second" the second opinion if there is one, and others one each.
    judged_by : tuple of str
        The names of those who decide.
    judged : Judged
        The labels.
    classes : array of shape (n_classes,)
        All labels there are.
    **shown
        Further attributes of the result.

    Returns
    -------
    LabelIssues
    """
    given = judged.given
    opinions = opinions_of(judges, judged_by)
    first = opinions[0]
    # A constant second opinion has no information.
    if not all(one.in_folds.any() for one in judges["second"]):
        judges = {**judges, "second": []}

    # 1. What is predicted, by classifiers that have not seen the row
    unseen = probabilities_of(opinions, judged)
    predicted, _ = judge(unseen, given)
    is_contradicted = predicted != given
    second_label = None
    number = None
    interval = None
    for second in judges["second"]:
        of_second, _ = judge(second.in_folds, given)
        second_label = classes[of_second]
        is_contradicted &= of_second != given
        counted = judged.counted
        linear = judges["linear"][0]
        both = [linear.in_folds[counted], second.in_folds[counted]]
        number, interval = wrong_labels(both, given[counted])
        opinions = [*opinions, second]
        unseen = probabilities_of(opinions, judged)

    # 2. Scores: the classifier of all rows counts too.
    scored = probabilities_of(opinions, judged, with_own=True)
    label_score = scored[np.arange(len(given)), given]
    _, margin = judge(first.with_own(), given)
    return LabelIssues(
        given_label=classes[given],
        predicted_label=classes[predicted],
        label_score=label_score,
        # A constant classifier of a fold has no information about its rows.
        margin=np.where(first.in_folds.any(axis=1), margin, 0.0),
        is_label_issue=flagged(unseen, given, judged.weights) & is_contradicted,
        ranking=np.argsort(label_score, kind="stable"),
        second_label=second_label,
        wrong_labels=number,
        wrong_labels_interval=interval,
        judged_by=judged_by,
        decisions=[opinion.in_folds for opinion in opinions_of(judges, judges)],
        **shown,
    )


def probabilities_of(
    opinions: list[Opinion], judged: Judged, *, with_own: bool = False
) -> np.ndarray:
    """Return the mean probabilities of those who know a row, and of its copies.

    They are equal where all classifiers are constant.
    """
    given, weights, groups = judged
    n_classes = opinions[0].in_folds.shape[1]
    mean = np.zeros((len(given), n_classes))
    n_known = np.zeros((len(given), 1))
    for opinion in opinions:
        is_known = opinion.in_folds.any(axis=1)
        counts = is_known & (weights > 0.0)
        if not counts.any():
            continue
        values = opinion.with_own() if with_own else opinion.in_folds
        # The sigmoid is always that of the folds.
        unseen = OutOfFoldDecisions(
            opinion.in_folds[counts], given[counts], weights[counts]
        )
        mean[is_known] += sigmoid_probabilities(unseen, values[is_known])
        n_known[is_known] += 1.0
    mean /= np.maximum(n_known, 1.0)
    if groups is not None:
        masses = np.zeros((groups.max() + 1, n_classes))
        np.add.at(masses, (groups, given), weights)
        # Without the row itself; a weight of 2 is a row with a copy.
        others = masses[groups]
        others[np.arange(len(given)), given] -= np.minimum(weights, 1.0)
        mean = (COPIES * mean + others) / (COPIES + others.sum(axis=1, keepdims=True))
    return np.where(n_known > 0.0, mean, 1.0 / n_classes)
