"""The computations behind a report.

A fit, rivals, labels to check, other radii, and the worst case.
"""

import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

import numpy as np
from sklearn.base import ClassifierMixin, clone
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

from drsvm.audit.label_issues import find_label_issues, robust_classifier
from drsvm.audit.label_scores import LabelIssues
from drsvm.audit.performance import scores
from drsvm.audit.worst_distribution import (
    WorstCaseDistribution,
    worst_case_distribution,
)
from drsvm.estimators.kernel import WassersteinKernelSVC
from drsvm.estimators.other_radii import fitted_at, radii_to_try
from drsvm.problem.result import Status
from drsvm.problem.validation import check_weights
from drsvm.report.analysis import Analysis
from drsvm.report.inputs import Figures, Given, Material, fit_and_collect, results_of
from drsvm.report.provenance import provenance
from drsvm.report.rivals import boosted_trees, costs_of
from drsvm.report.verdict import Alternative, worth_trying
from drsvm.utils.clock import Stopwatch, TimeLimit
from drsvm.utils.messages import Message, Parameter
from drsvm.utils.progress import ReportProgress, capture_progress, following, stage

# How many radii are tried, and into how many folds the labels are judged
N_RADII = 8
FOLDS = 5

# The parts of the work that the stages take, as measured with a few hundred and with
# 30,000 rows.
STAGES = {
    "fitting": (0.0, 0.15),
    "fitting other classifiers": (0.15, 0.25),
    "checking the labels": (0.25, 0.35),
    "trying other radii": (0.35, 0.75),
    "finding the worst case": (0.75, 0.8),
    "drawing": (0.8, 1.0),
    "done": (1.0, 1.0),
}


def following_report(
    progress: Callable[[float, str], object] | None,
) -> AbstractContextManager[None]:
    """Call a function with the progress of a report.

    It receives the fraction of the whole report that is done, and the name of the
    current stage.
    """
    if progress is None:
        return nullcontext()
    if not callable(progress):
        raise TypeError(
            f"progress must be a function of a fraction and a text, got {progress!r}."
        )

    def begin(name: str) -> ReportProgress:
        first, last = STAGES[name]

        def report_progress(share: float) -> None:
            progress(first + share * (last - first), name)

        report_progress(0.0)
        return report_progress

    return following(begin)


@contextmanager
def report_stage(name: str) -> Iterator[ReportProgress]:
    """Begin a stage of the report, and yield the function that reports its progress.

    What the work inside reports is ignored: a stage consists of several fits.
    """
    with stage(name), capture_progress() as report_progress:
        yield report_progress


def analyse(model, given: Given, *, positive) -> Analysis:
    """Fit the model and what it is compared with, and return the analysis of all.

    Once the time limit of the model is reached, what is left is not computed.

    Parameters
    ----------
    model : estimator or None
        As for `make_report`.
    given : Given
        The data, and the names of their rows and features.
    positive : label or None
        The positive class, as for `make_report`.

    Returns
    -------
    Analysis
    """
    watch = Stopwatch()
    with report_stage("fitting"):
        material = fit_and_collect(model, given)
        index, fitted_for = _shown_decision(material, positive)
        if positive is None:
            positive = fitted_for
    with report_stage("fitting other classifiers"):
        name = type(material.classifier).__name__
        models = {name: material.classifier}
        if not _time_left(material, watch).over:
            models |= _rivals(material)
        trees = None
        if material.judged.held_out and not _time_left(material, watch).over:
            costs = costs_of(material.classifier)
            trees = boosted_trees(material.X, material.y, costs)
        others = {}
        if not _time_left(material, watch).over:
            others = _others(material)
    with report_stage("checking the labels") as report_progress:
        # At most a third of the time left: other radii take most of it.
        time = _time_left(material, watch).share(3)
        issues = _label_issues(material, report_progress, time)
    with report_stage("trying other radii") as report_progress:
        path = {}
        if not material.has_kernel:
            path = _path(material, report_progress, _time_left(material, watch))
    with report_stage("finding the worst case"):
        weights = material.row_weights(fitted_for)
        return Analysis(
            material=material,
            index=index,
            positive=positive,
            models=models,
            path=path,
            weights=check_weights(weights, len(material.y)),
            distribution=_worst_distribution(material, positive),
            label_issues=issues,
            provenance=provenance(material),
            trees=trees,
            others=others,
        )


def _shown_decision(material: Material, positive) -> tuple[int, object]:
    """Return the number of the decision to show, and the class that it is fitted for.

    Of two classes, that is the second one, whichever is shown as positive. With several
    classes it is the decision of `positive`, or of the largest class, against the rest.
    """
    classes = material.classifier.classes_.tolist()
    if positive is not None and positive not in classes:
        raise ValueError(f"positive={positive!r} is not one of the classes {classes}.")
    if len(classes) == 2:
        return 0, classes[1]
    if positive is None:
        counts = np.unique(material.y, return_counts=True)[1]
        index = int(np.argmax(counts))
    else:
        index = classes.index(positive)
    return index, classes[index]


def _worst_distribution(material: Material, positive) -> WorstCaseDistribution | None:
    """Return the worst case on the judged rows; with a kernel it is not known."""
    if material.has_kernel:
        return None
    X, y, _ = material.judged
    adversary = material.adversary_of(y)
    return worst_case_distribution(
        material.classifier, X, y, positive=positive, **adversary
    )


def _label_issues(
    material: Material, report_progress: ReportProgress, time: TimeLimit
) -> LabelIssues | None:
    """Return the labels to check, or None if a class has one row or time is up."""
    if np.unique(material.y, return_counts=True)[1].min() < 2 or time.over:
        return None
    settings: Figures = {"max_time": None}
    if time.limited:
        settings["max_time"] = time.seconds / FOLDS
    if material.has_kernel:
        settings |= {"kind": WassersteinKernelSVC, "gamma": material.classifier.gamma_}
    model = robust_classifier(material.X, standardise=False, **settings)

    def after_fold(done: int, total: int) -> None:
        report_progress(done / total)

    with warnings.catch_warnings(record=True, action="always") as caught:
        issues = find_label_issues(
            material.X,
            material.y,
            estimator=model,
            second_opinion="auto",
            cv=FOLDS,
            callback=after_fold,
        )
    material.warn([warning.message for warning in caught], "Labels worth checking: ")
    return issues


def _rivals(material: Material) -> dict[str, ClassifierMixin]:
    """Return the usual linear classifiers, fitted to the same rows."""
    weights = material.setting("class_weight")
    if weights == "auto":
        # Automatic weights are ours: the others have their default.
        weights = None
    # Where errors have costs, rows of the dearer class count more, as a careful user
    # would have it.
    weights = costs_of(material.classifier) or weights
    logistic = LogisticRegression(class_weight=weights, max_iter=1000)
    if len(material.classifier.classes_) > 2:
        logistic = OneVsRestClassifier(logistic)
    linear = LinearSVC(class_weight=weights, random_state=0)
    # They keep their default iterations, even if they do not converge.
    with warnings.catch_warnings(action="ignore"):
        linear.fit(material.X, material.y)
        logistic.fit(material.X, material.y)
    return {"LinearSVC": linear, "LogisticRegression": logistic}


def _others(material: Material) -> dict[Alternative, ClassifierMixin]:
    """Return fits with other settings that find more rows of a missed class."""
    model = material.classifier
    X, y, held_out = material.judged
    if not held_out:
        return {}
    decisions = np.asarray(model.decision_function(X))
    figures = scores(decisions, y, model.classes_, new_rows=True)
    found = {}
    # Their warnings do not matter: they are only offered.
    with warnings.catch_warnings(action="ignore"):
        for alternative in worth_trying(figures, model):
            other = clone(model).set_params(**alternative.settings)
            found[alternative] = other.fit(material.X, material.y)
    return found


def _time_left(material: Material, watch: Stopwatch) -> TimeLimit:
    """Return what is left of the model's time limit; without one, there is none."""
    seconds = material.setting("max_time")
    if seconds is None:
        return TimeLimit()
    return TimeLimit(seconds - watch.elapsed())


def _path(
    material: Material, report_progress: ReportProgress, time: TimeLimit
) -> dict[float, ClassifierMixin]:
    """Return the classifier and others like it by radius.

    The path is empty if w = 0 is optimal for every radius.
    """
    of_fit = material.classifier, material.X, material.y
    radii = radii_to_try(*of_fit, N_RADII, time.share(N_RADII))
    found = {}
    late = False
    for place, model in enumerate(fitted_at(*of_fit, radii, time)):
        if model is None:
            # There was no time for this one.
            late = True
        else:
            found[radii[place]] = model
            for result in results_of(model):
                late = late or result.status is Status.TIME_LIMIT
        report_progress((place + 1) / len(radii))
    if late or len(found) < len(radii):
        text = (
            "Time ran out before the classifiers for all radii were found: increase {} "
            "for exact curves."
        )
        material.warn([Message(text, Parameter("max_time"))])
    return found
