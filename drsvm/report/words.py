"""Phrases that several sentences of a report have in common, and what to try next."""

import math

import numpy as np

from drsvm.report.analysis import Analysis, useful_accuracy
from drsvm.report.inputs import NextStep
from drsvm.report.markup import number, percent

UNEQUAL = 0.7  # from this share of the largest class on, classes of equal weight are worth a try


def unit(analysis: Analysis) -> str:
    """Return the units of the features."""
    scaled = analysis.material.scaled
    if scaled.any() and not scaled.all():
        return (
            f"{int(scaled.sum()):,} features in standard deviations and the other {int((~scaled).sum()):,}, which are "
            "not scaled (such as 0/1 columns), in their original units"
        )
    return "features in standard deviations" if scaled.all() else "features in their original units"


def shift(analysis: Analysis) -> str:
    """Return the radius with its unit."""
    scaled = analysis.material.scaled
    units = (" standard deviations" if scaled.all() else " (in units of each feature)") if scaled.any() else ""
    return f"{number(analysis.radius, 3)}{units}"


def adversary(analysis: Analysis) -> str:
    """Return the powers of the adversary, without a subject."""
    radius, flip_cost = analysis.radius, analysis.material.flip_cost
    if radius == 0 and flip_cost > 0:
        return "can do nothing: the radius is 0"
    shifts = f"shifts the rows by {shift(analysis)} on average"
    if math.isinf(flip_cost):
        return shifts
    share = percent(min(1.0, radius / flip_cost)) if flip_cost > 0 else percent(1.0, 0)
    return f"{shifts}, or spends the same budget on flipping up to {share} of the labels, or on a mix of both"


def next_step(analysis: Analysis) -> NextStep:
    """Return the most useful thing to try next."""
    names = list(analysis.material.source.leaky_columns)
    if not names and analysis.curvature is not None and not analysis.curvature["linear_is_enough"]:
        why = "Save a classifier with a curved boundary, fitted to all rows, and apply it to new ones."
        python = 'save_model(make_pipeline(ClippedScaler(), WassersteinKernelSVC()).fit(X, y), "model.drsvm")'
        return NextStep("fit", why, python, changes={"kernel": "rbf"})
    if analysis.constant is not None or (analysis.noise and not analysis.multiclass):
        return _away_from_constant(analysis)
    if names:
        why = "Leave out what is known only after the label, and make this report again."
        python = f"make_report(model, X.drop(columns={names!r}), y)"
        return NextStep("report", why, python, keeps_settings=True, changes={"drop": names})
    rival = analysis.best_rival
    lead = analysis.leads[rival]["accuracy"]
    if lead["difference"] < -0.01 and lead["interval"][1] < 0:
        return _cross_validation(f"{rival} is more accurate here: let cross-validation choose the parameters.")
    if getattr(analysis.label_issues, "wrong_labels", None) is not None:
        why = "Check the doubtful labels first; correct those that are wrong, and make this report again."
        return NextStep("check labels", why, 'find_label_issues(X, y, second_opinion="auto").to_frame()')
    why = "Save the classifier, fitted to all rows, and apply it to new ones."
    return NextStep("fit", why, 'save_model(model.fit(X, y), "model.drsvm")', keeps_settings=True)


def _away_from_constant(analysis: Analysis) -> NextStep:
    best = analysis.best_radius
    if best is not None and best.radius < analysis.radius and best.accuracy > useful_accuracy(2):
        radius = f"{best.radius:.3g}"
        why = (
            f"The radius of {number(analysis.radius, 3)} is too large for these data. On the radius path, {radius} has "
            f"the highest balanced accuracy, {percent(best.accuracy)} on the {analysis.judged.name}."
        )
        python = f"make_report(WassersteinSVC({radius}), X, y)"
        return NextStep("report", why, python, changes={"radius": radius})
    largest = max(np.unique(analysis.material.y, return_counts=True)[1]) / len(analysis.material.y)
    if largest >= UNEQUAL and analysis.material.setting("class_weight") in (None, "auto"):
        why = f"{percent(largest)} of the rows are of one class: give the classes equal weight."
        python = 'make_report(WassersteinSVC(class_weight="balanced"), X, y)'
        return NextStep("report", why, python, changes={"class_weight": "balanced"})
    return _cross_validation("Let cross-validation choose the parameters, and look for more informative features.")


def _cross_validation(why: str) -> NextStep:
    return NextStep("cross-validate", why, "WassersteinSVCCV().fit(X, y)")
