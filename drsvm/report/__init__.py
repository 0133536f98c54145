"""A page about a classifier: what it is, what is proven about it, and what an adversary could do to it.

    X, y ──► work (fit, rivals, path, worst case) ──► analysis ──► figures, words ──► page ──► Report

The page is one HTML file without scripts or external resources.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from drsvm.persistence.model_files import write_whole
from drsvm.plotting.style import need_matplotlib
from drsvm.report.figures import draw_all
from drsvm.report.page import render
from drsvm.report.work import Steps, analyse

__all__ = ["Report", "make_report"]


@dataclass(frozen=True)
class Report:
    """A finished page.

    Attributes
    ----------
    html : str
        The page.
    summary : dict
        The same information as plain numbers, strings, lists and dicts, ready for JSON.
    """

    html: str = field(repr=False)
    summary: dict[str, Any]

    def save(self, path) -> Path:
        """Write the page to a file, whole or not at all, and return its path."""
        path = Path(path)
        if not path.parent.is_dir():
            raise FileNotFoundError(f"{path}: the folder {path.parent} does not exist: create it first.")
        write_whole(path, self.html.encode("utf-8"))
        return path


def make_report(
    X,
    y,
    *,
    model=None,
    X_test=None,
    y_test=None,
    feature_names: Sequence[str] | None = None,
    row_names: Sequence[Any] | None = None,
    row_note: str | None = None,
    title: str | None = None,
    standardise: bool = True,
    positive=None,
    progress: Callable[[float, str], Any] | None = None,
) -> Report:
    """Fit a robust classifier and create a page about it.

    Warnings of the fit appear on the page and in the summary.

    Parameters
    ----------
    X, y : array, data frame or sparse matrix, array
        Training data. The names of a data frame's columns and rows are used.
    model : unfitted WassersteinSVC or WassersteinSVCCV, or Pipeline ending in one, optional
        The classifier; by default one with default settings. It is cloned, not changed.
    X_test, y_test : optional
        Held-out data.
    feature_names : sequence of str, optional
        Names of the features.
    row_names : sequence, optional
        Names of the training rows; by default the index of a data frame, otherwise numbers from 0.
    row_note : str, optional
        A sentence for the page that explains these names.
    title : str, optional
        Title of the page.
    standardise : bool
        Whether to standardise the features (without centring if X is sparse). Ignored for a Pipeline, which has its
        own steps.
    positive : label, optional
        With more than two classes, the one whose decision against the rest is shown; by default the largest. The
        certificates and accuracies cover all classes.
    progress : callable, optional
        Called with the fraction done and a short description of the next step.

    Returns
    -------
    Report

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from drsvm.report import make_report
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> report = make_report(X, y)  # doctest: +SKIP
    >>> report.save("wine.html")  # doctest: +SKIP
    """
    need_matplotlib("make_report")
    steps = Steps(progress)
    analysis = analyse(
        X,
        y,
        model=model,
        X_test=X_test,
        y_test=y_test,
        feature_names=feature_names,
        row_names=row_names,
        row_note=row_note,
        standardise=standardise,
        positive=positive,
        steps=steps,
    )
    steps.begin("drawing")
    figures = draw_all(analysis)
    html = render(analysis, figures, title or "A robust linear classifier")
    steps.end()
    return Report(html=html, summary=analysis.summary())
