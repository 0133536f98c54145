"""The computations behind a report: one fit, two rivals, a path of radii, the worst case, labels to check."""

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

from drsvm.clock import Stopwatch, TimeLimit
from drsvm.learn import prices
from drsvm.learn.label_issues import find_label_issues, robust_classifier
from drsvm.learn.label_quality import LabelIssues
from drsvm.messages import Message, Parameter
from drsvm.model.linear_model import audit_data
from drsvm.model.problem import Problem
from drsvm.model.result import Result, Status
from drsvm.model.worst_case import worst_case_distribution
from drsvm.report.analysis import ROBUST, Analysis
from drsvm.report.data import Given, Material, prepare
from drsvm.report.provenance import provenance
from drsvm.solvers.path.radius_max import radius_max
from drsvm.solvers.path.radius_path import RadiusPath, radius_path

N_RADII = 16
FOLDS = 5
PATH_TOLERANCE = 1e-5
"""Accurate enough for a plot."""

STARTS = {
    "fitting": 0.0,
    "fitting LinearSVC and LogisticRegression": 0.15,
    "checking the labels": 0.25,
    "following the radius path": 0.35,
    "finding the worst case": 0.75,
    "drawing": 0.8,
}
"""The fraction of the work done when a step starts, as measured with a few hundred and with 30,000 samples."""


class Steps:
    """Reports the progress of the work."""

    def __init__(self, progress: Callable[[float, str], Any] | None):
        if progress is not None and not callable(progress):
            raise TypeError(f"progress must be a function of a fraction and a text, got {progress!r}.")
        self.progress = progress

    def begin(self, name: str, further: float = 0.0) -> None:
        """Report the start of a step, or progress within it."""
        if self.progress is not None:
            self.progress(STARTS[name] + further, name)

    def end(self) -> None:
        """Report that everything is done."""
        if self.progress is not None:
            self.progress(1.0, "done")


def analyse(model, given: Given, *, positive, steps: Steps) -> Analysis:
    """Fit and evaluate."""
    steps.begin("fitting")
    watch = Stopwatch()
    material = prepare(model, given)
    index, positive = _shown_decision(material, positive)
    trained = positive if len(material.linear.classes_) > 2 else material.linear.classes_.tolist()[1]
    steps.begin("fitting LinearSVC and LogisticRegression")
    models = {ROBUST: material.linear, **_rivals(material)}
    steps.begin("checking the labels")
    issues = _label_issues(material, steps, _time_left(material, watch).share(3))
    steps.begin("following the radius path")
    path, largest_radius = _path(material, trained, steps, _time_left(material, watch))
    steps.begin("finding the worst case")
    rows = material.judged
    return Analysis(
        material=material,
        index=index,
        positive=positive,
        models=models,
        path=None if path is None else _on_side_of(positive == trained, _with_own(path, material, index)),
        largest_radius=largest_radius,
        data=audit_data(material.linear, material.X, material.y, material.row_weights(trained), trained),
        distribution=worst_case_distribution(
            material.linear, rows.X, rows.y, positive=positive, **material.ball_of(rows.y)
        ),
        label_issues=issues,
        provenance=provenance(
            material.linear,
            material.X,
            material.y,
            material.X_test,
            material.y_test,
            None if given.shell is None else given.shell.file,
        ),
    )


def _with_own(path: RadiusPath, material: Material, index: int) -> RadiusPath:
    """Return the path with the model itself at its radius, so that no figure of one contradicts the other."""
    found = material.linear.result_
    own = found if isinstance(found, Result) else found[index]
    radius = float(material.ball["radius"])
    pairs = zip(path.radii.tolist(), path.results, strict=True)
    return replace(path, results=[own if at == radius else result for at, result in pairs])


def _on_side_of(trained: bool, path: RadiusPath) -> RadiusPath:
    """Return the path for the class it was trained for, or for the other one of two: with the opposite weights."""
    if trained:
        return path
    turned = [replace(result, weights=-result.weights, intercept=-result.intercept) for result in path.results]
    return replace(path, results=turned)


def _label_issues(material: Material, steps: Steps, time: TimeLimit) -> LabelIssues | None:
    if np.unique(material.y, return_counts=True)[1].min() < 2 or time.over:
        return None
    limit = time.seconds / FOLDS if time.limited else None
    settings = {"class_weight": material.setting("class_weight"), "max_time": limit}
    model = robust_classifier(material.X, standardise=False, **settings)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        issues = find_label_issues(
            material.X,
            material.y,
            estimator=model,
            cv=FOLDS,
            callback=lambda done, total: steps.begin("checking the labels", 0.1 * done / total),
            second_opinion="auto",
        )
    material.warn([warning.message for warning in caught], "Labels worth checking: ")
    return issues


def _shown_decision(material: Material, positive) -> tuple[int, Any]:
    """Return the index of the decision to show and the label of its positive side."""
    classes = material.linear.classes_.tolist()
    if positive is not None and positive not in classes:
        raise ValueError(f"positive={positive!r} is not one of the classes {classes}.")
    if len(classes) == 2:
        return 0, classes[1] if positive is None else positive
    counts = [int((material.y == label).sum()) for label in material.linear.classes_]
    index = int(np.argmax(counts)) if positive is None else classes.index(positive)
    return index, classes[index]


def _rivals(material: Material) -> dict[str, Any]:
    """Return the usual alternatives, fitted with default settings on the same features."""
    weights = material.setting("class_weight")
    logistic = LogisticRegression(class_weight=weights, max_iter=1000)
    rivals = {
        "LinearSVC": LinearSVC(class_weight=weights, random_state=0),
        "LogisticRegression": logistic if len(material.linear.classes_) == 2 else OneVsRestClassifier(logistic),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they keep their default iterations, even if they do not converge
        return {name: rival.fit(material.X, material.y) for name, rival in rivals.items()}


def _time_left(material: Material, watch: Stopwatch) -> TimeLimit:
    """Return what remains of the model's `max_time` after the fit."""
    seconds = material.setting("max_time")
    return TimeLimit() if seconds is None else TimeLimit(seconds - watch.elapsed())


def _path(material: Material, positive, steps: Steps, time: TimeLimit) -> tuple[RadiusPath | None, float]:
    names = ("l2", "fit_intercept", "intercept_cost")
    # Prescribed signs are for two classes.
    features = prices.feature_prices(material.linear)
    original = prices.at_centre(
        Problem(
            material.X,
            material.y == positive,
            sample_weight=material.row_weights(positive),
            **{name: material.setting(name) for name in names},
            **material.ball_of(material.y),
            **{name: value for name, value in features.items() if name != "feature_cost"},
        )
    )
    problem = original.problem
    largest = radius_max(problem, max_time=time.share(2))
    if largest == 0.0:
        return None, largest
    grid = largest * np.logspace(-2.5, 0.0, N_RADII)
    radii = np.unique(np.append(grid, problem.radius))
    done = []

    def advance(index: int, result: Result) -> bool:
        done.append(index)
        steps.begin("following the radius path", 0.4 * len(done) / len(radii))
        return False

    path = radius_path(problem, radii, tol=PATH_TOLERANCE, max_time=time, callback=advance)
    if path.interrupted:
        raise KeyboardInterrupt
    if any(result.status is Status.TIME_LIMIT for result in path.results):
        text = "Time ran out before all radii were solved: increase {} for exact curves."
        material.warn([Message(text, Parameter("max_time"))])
    return replace(path, results=[original.back(result) for result in path.results]), largest
