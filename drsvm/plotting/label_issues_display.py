"""Scores of the labels, and which of them are flagged."""

from typing import Self

import numpy as np

from drsvm.audit.label_scores import LabelIssues
from drsvm.plotting.style import (
    FAINT,
    GREY,
    VERMILLION,
    Display,
    GivenAxes,
    Look,
    title,
)
from drsvm.utils.annotations import Values
from drsvm.utils.arguments import check_kind

# Number of bars: even, so that the score 0.5 is between two of them
BINS = 40


class LabelIssuesDisplay(Display):
    """Histogram of the label scores, with the flagged labels on top.

    Create it with `from_result`.

    Parameters
    ----------
    label_score : array of shape (n,)
        Probabilities of the given labels, low for doubtful ones.
    is_label_issue : array of n bools
        Whether a label is flagged.
    title : str
        Title of the plot.

    Attributes
    ----------
    counts_ : array of shape (2, 40)
        Numbers of labels per bar: not flagged, and flagged.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from drsvm import LabelIssuesDisplay, find_label_issues
    >>> issues = find_label_issues(*load_breast_cancer(return_X_y=True))
    >>> display = LabelIssuesDisplay.from_result(issues)
    """

    def __init__(self, *, label_score: Values, is_label_issue: Values, title: str = ""):
        self.label_score = np.asarray(label_score, dtype=np.float64)
        self.is_label_issue = np.asarray(is_label_issue, dtype=bool)
        self.title = title

    @classmethod
    def from_result(cls, result: LabelIssues, *, ax: GivenAxes = None) -> Self:
        """Plot the result of `find_label_issues`.

        Parameters
        ----------
        result : LabelIssues
            The result.
        ax
            As in `plot`.

        Returns
        -------
        LabelIssuesDisplay
        """
        check_kind(result, LabelIssues, "result")
        n = len(result.ranking)
        return cls(
            label_score=result.label_score,
            is_label_issue=result.is_label_issue,
            title=f"{result.n_contradicted:,} of {n:,} labels contradicted",
        ).plot(ax)

    def _draw(self) -> None:
        edges = np.linspace(0.0, 1.0, BINS + 1)
        kept, _ = np.histogram(self.label_score[~self.is_label_issue], edges)
        flagged, _ = np.histogram(self.label_score[self.is_label_issue], edges)
        self.counts_ = np.array([kept, flagged])
        bars: Look = {
            "width": 1.0 / BINS,
            "align": "edge",
            "edgecolor": "white",
            "linewidth": 0.4,
        }
        label = f"not flagged ({kept.sum():,})"
        self.ax_.bar(edges[:-1], kept, color=FAINT, label=label, **bars)
        # On top of the others, and hatched, so that they are seen without colours
        label = f"flagged ({flagged.sum():,})"
        bars |= {"bottom": kept, "hatch": "///"}
        self.ax_.bar(edges[:-1], flagged, color=VERMILLION, label=label, **bars)
        # On the left, another one of two labels is more probable.
        self.ax_.axvline(0.5, color=GREY, linewidth=1.2, linestyle="--")
        self.ax_.set(
            xlabel="label score (probability of the given label)",
            ylabel="labels",
            xlim=(0.0, 1.0),
        )
        title(self.ax_, self.title)
        self.ax_.legend(frameon=False)
