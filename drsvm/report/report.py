"""A page about a classifier.

It says how well the classifier does, what is proven about it, what an adversary could
do, and what to do next.

    model, X, y → inputs → computations (rivals, path, worst case) → analysis
    analysis → plots → page → Report

The page is one HTML file without scripts or external resources. All formats are written
from the same analysis, HTML and Markdown from the same Jinja templates.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from drsvm.report.computations import analyse, following_report, report_stage
from drsvm.report.inputs import Figures, Given
from drsvm.report.page import document, next_step, plain_words
from drsvm.report.plots import draw_all
from drsvm.utils.lazy import optional
from drsvm.utils.writing import write_files

# By the end of a name.
FORMATS = {".html": "html", ".htm": "html", ".md": "md", ".json": "json"}


@dataclass(frozen=True)
class Report:
    """A finished report.

    Attributes
    ----------
    html : str
        The page.
    markdown : str
        The same as Markdown, without the plots.
    summary : dict
        The same as plain numbers, strings, lists and dicts, ready for JSON.

    Examples
    --------
    >>> from drsvm.report import Report
    >>> report = Report("<p>All is well.</p>", {"all": "well"}, "All is well.")
    >>> report.save("report.md").name
    'report.md'
    >>> report.content("md")
    'All is well.'
    """

    html: str = field(repr=False)
    summary: Figures
    markdown: str = field(default="", repr=False)

    def save(self, path, format: str | None = None) -> Path:
        """Write the report to a file, whole or not at all, and return its path.

        Parameters
        ----------
        path : str or Path
            The file.
        format : {"html", "md", "json"}, optional
            By default what the name of the file ends in, and html for other names.

        Returns
        -------
        Path
            The file.
        """
        path = Path(path)
        if not path.parent.is_dir():
            raise FileNotFoundError(
                f"{path}: the folder {path.parent} does not exist: create it first."
            )
        if format is None:
            format = FORMATS.get(path.suffix.lower(), "html")
        write_files({path: self.content(format).encode("utf-8")})
        return path

    def content(self, format: str) -> str:
        """Return the report as a string.

        Parameters
        ----------
        format : {"html", "md", "json"}
            The page, the same as Markdown, or the summary as JSON.

        Returns
        -------
        str
        """
        if format not in FORMATS.values():
            raise ValueError(f"format must be html, md or json, got {format!r}.")
        if format == "html":
            return self.html
        if format == "md":
            return self.markdown
        text = json.dumps(self.summary, indent=2, ensure_ascii=False, allow_nan=False)
        return text + "\n"


def make_report(
    model,
    X,
    y,
    *,
    X_test=None,
    y_test=None,
    test_size: float = 0.25,
    random_state=0,
    feature_names: Sequence[str] | None = None,
    row_names: Sequence[object] | None = None,
    row_note: str | None = None,
    label: str | None = None,
    title: str | None = None,
    standardise: bool = True,
    positive=None,
    progress: Callable[[float, str], object] | None = None,
) -> Report:
    """Fit a robust classifier, judge it by held-out rows, and create a page about it.

    Warnings of the fit appear on the page and in the summary.

    Parameters
    ----------
    model : WassersteinSVC, WassersteinSVCCV, WassersteinKernelSVC, Pipeline or None
        The classifier, a Pipeline that ends in one, or a search over one. Its kernel,
        if it has one, must be "rbf": the page then has upper bounds in place of exact
        worst cases, importances in place of weights, and no radius path. None for a
        linear one with default settings. A clone of it is fitted, even if it is fitted
        already: the held-out rows must be new to it.
    X, y : array, data frame or sparse matrix, array or series
        The data. The names of a data frame's columns and rows and of a series are used.
    X_test, y_test : optional
        Held-out data. If they are given, all rows of X are for training.
    test_size : float
        The share of the rows that are held out otherwise, stratified by class; 0 for
        none.
    random_state : int, RandomState or None
        Which rows are held out.
    feature_names : sequence of str, optional
        Names of the features.
    row_names : sequence, optional
        Names of the rows, such as ids; by default the index of a data frame, otherwise
        numbers from 0.
    row_note : str, optional
        A sentence for the page that explains these names.
    label : str, optional
        What the labels are called; by default the name of y, if it has one.
    title : str, optional
        Title of the page.
    standardise : bool
        Whether to put a `ClippedScaler` in front of the model. Ignored for a Pipeline,
        which has its own steps.
    positive : label, optional
        With two classes, the one that positive weights speak for; by default the
        second. With more, the one whose decision against the rest is shown; by default
        the largest. The certificates, accuracies and error rates cover all classes.
    progress : callable, optional
        Called with the fraction done and a short description of the next step.

    Returns
    -------
    Report

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from drsvm import WassersteinSVC
    >>> from drsvm.report import make_report
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> report = make_report(WassersteinSVC(), X, y)
    >>> report.save("wine.html").name
    'wine.html'
    """
    given = Given(
        X,
        y,
        X_test=X_test,
        y_test=y_test,
        test_size=test_size,
        random_state=random_state,
        feature_names=feature_names,
        row_names=row_names,
        row_note=row_note,
        label=label,
        standardise=standardise,
    )
    return report_on(model, given, title=title, positive=positive, progress=progress)


def report_on(model, given: Given, *, title: str | None, positive, progress) -> Report:
    """Return the report on data and names that were collected already.

    `make_report` and ``drsvm report`` end here; the parameters are those of the former.
    """
    optional("matplotlib", "make_report needs")
    optional("jinja2", "make_report needs")
    title = title or "A robust classifier"
    with following_report(progress):
        analysis = analyse(model, given, positive=positive)
        with report_stage("drawing"):
            html = document(analysis, title, "page.html", draw_all(analysis))
        with report_stage("done"):
            step = next_step(analysis)
            summary = {
                "title": title,
                **plain_words(analysis),
                "next": {"why": step.why, "command": given.source.command(step)},
                **analysis.summary(),
            }
            return Report(html, summary, document(analysis, title, "page.md"))
