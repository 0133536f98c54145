"""A classifier in plain words: what robustness cost and gained, what is guaranteed, and what to try next."""

import math
from collections.abc import Mapping
from typing import Literal, NamedTuple

import numpy as np

from drsvm.learn.scores import compared
from drsvm.report.analysis import Analysis, useful_accuracy
from drsvm.report.inputs import Figures
from drsvm.report.markup import ROBUST, Plain, listed, number, percent

UNEQUAL = 0.7  # from this share of the largest class on, classes of equal weight are worth a try

CHECK_FIRST, CARRIERS = 5, 3

MATTERS = 0.05  # a feature with less than this share of the largest weight carries nothing

FIGURES = {
    "accuracy": ("Accuracy", percent),
    "balanced_accuracy": ("Balanced accuracy", percent),
    "roc_auc": ("ROC AUC", lambda value: f"{value:.3f}"),
}
"""Names and formats of the figures."""


class NextStep(NamedTuple):
    """Something to try, and why."""

    action: Literal["report", "fit", "cross-validate", "check labels"]
    why: str
    python: str  # what to run in Python
    keeps_settings: bool = False  # whether the other settings of the report are kept
    changes: Mapping[str, object] = {}  # parameters with new values; "drop" is a list of columns to leave out


def unit(analysis: Analysis) -> str:
    """Return the units of the features."""
    scaled = analysis.material.scaled
    if scaled.any() and not scaled.all():
        return (
            f"{int(scaled.sum()):,} features in standard deviations and the other {int((~scaled).sum()):,}, which are "
            "not scaled (such as 0/1 columns), in their original units"
        )
    return "features in standard deviations" if scaled.all() else "features in their original units"


def shift_of(analysis: Analysis, size: float) -> str:
    """Return the size of a shift with its unit."""
    scaled = analysis.material.scaled
    units = (" standard deviations" if scaled.all() else " (in units of each feature)") if scaled.any() else ""
    return f"{number(size, 3)}{units}"


def adversary(analysis: Analysis, who: str | None = None) -> str:
    """Return the powers of the adversary, as a clause with the subject `who` or as a description."""
    radius, flip_cost = analysis.radius, analysis.material.flip_cost
    if radius == 0 and flip_cost > 0:
        powers = "can do nothing: the radius is 0"
    else:
        powers = f"shifts the rows by {shift_of(analysis, radius)} on average"
        if math.isfinite(flip_cost):
            share = percent(min(1.0, radius / flip_cost)) if flip_cost > 0 else "100\u202f%"
            powers += f", or spends the same budget on flipping up to {share} of the labels, or on a mix of both"
    return f"{who} {powers}" if who else f"the one it was trained against: it {powers}"


def constant_warning(analysis: Analysis, style: Plain) -> str | None:
    """Return the warning about a classifier that predicts one class, or None."""
    if analysis.constant is None:
        return None
    label, share = analysis.constant
    which = "all" if share == 1.0 else f"{percent(share)} of the"
    actual = float(np.mean(analysis.judged.y == label))
    return (
        f"This classifier predicts {style.strong(label)} for {which} {analysis.judged.counted}, of which "
        f"{percent(actual)} are {style.text(label)}: its accuracy of {percent(analysis.own['accuracy'])} is that of a "
        "constant answer, and no decision should rest on it."
    )


def noise_warning(analysis: Analysis) -> str | None:
    """Return the warning about decisions that are constant up to the accuracy of the solution, or None."""
    if not analysis.noise:
        return None
    which = f"of {listed([str(label) for label in analysis.noise])} against the rest " if analysis.multiclass else ""
    return (
        f"The decision values {which}on the {analysis.judged.name} differ by less than the accuracy of the solution: "
        "there, ranks, ROC AUC and probabilities are noise, and the weights mean nothing."
    )


def tell_tale_warning(analysis: Analysis, style: Plain) -> str | None:
    """Return the warning about columns that determine the label by themselves, or None."""
    names = analysis.material.source.leaky_columns
    if not names:
        return None
    verb = "alone determines" if len(names) == 1 else "each determine"
    return (
        f"{listed([style.strong(name) for name in names])} {verb} the label. If such a column is known only after the "
        "label, the figures below say nothing about new rows: leave it out."
    )


def in_plain_words(analysis: Analysis, style: Plain) -> list[str]:
    """Return the report in plain words, a figure or a statement to a line; the next step follows them."""
    lines = [line for figure in FIGURES if (line := _figure(analysis, figure))]
    lines += [] if analysis.curvature is None else [_curvature(analysis.curvature)]
    if analysis.constant is not None:
        return [*lines, "The proof holds, but no shift can change a constant answer."]
    attack = [_under_attack(analysis, style)] if analysis.radius > 0 else []
    return [*lines, *attack, *(part(analysis, style) for part in (_guarantee, _labels, _features))]


def _figure(analysis: Analysis, figure: str) -> str | None:
    """Return a figure of the robust classifier beside those of its rivals; only held-out rows say how certain it is."""
    if analysis.own[figure] is None or (figure == "roc_auc" and analysis.noise):
        return None
    name, shown = FIGURES[figure]
    value, rivals = f"{name} on {analysis.judged.counted}: {shown(analysis.own[figure])}", analysis.leads
    if not analysis.judged.held_out:
        others = ", ".join(f"{rival} {shown(analysis.comparison[rival][figure])}" for rival in rivals)
        return f"{value} ({others})."
    low, high = map(shown, analysis.own["intervals"][figure])
    verdicts = listed([compared(figure, lead[figure], rival) for rival, lead in rivals.items()])
    return f"{value} (95\u202f%: {low} to {high}); {verdicts}."


def _curvature(found: Figures) -> str:
    """Return whether a linear classifier is enough."""
    auc, low, high = (f"{value:.3f}" for value in (found["roc_auc"], *found["interval"]))
    verdict = "A linear classifier is enough for these data, as far as these rows can tell"
    if not found["linear_is_enough"]:
        verdict = "A linear classifier is not enough for these data"
    lead = compared("roc_auc", found["lead"], "that of the linear classifier")
    return f"{verdict}: with a curved boundary (rbf kernel) the ROC AUC is {auc} (95\u202f%: {low} to {high}), {lead}."


def _under_attack(analysis: Analysis, style: Plain) -> str:
    rival = analysis.best_rival
    mine, others = (analysis.comparison[name]["worst_case_error"] for name in (ROBUST, rival))
    verdict = "as high as" if percent(mine) == percent(others) else "lower than" if mine < others else "higher than"
    return (
        f"Under the attack it was trained against, the error rate on the {analysis.judged.name} can reach "
        f"{percent(mine)}, {verdict} that of {rival} ({percent(others)})."
    )


def _guarantee(analysis: Analysis, style: Plain) -> str:
    if analysis.radius == 0:
        return "With a radius of 0, nothing is guaranteed beyond the training rows themselves."
    trusted = math.isinf(analysis.material.flip_cost)
    flips = "" if trusted else ", and wrong labels paid from the same budget"
    limits = "It assumes that all training labels are correct, and" if trusted else "It"
    whose = "for each class against the rest, " if analysis.multiclass else ""
    gap = max(result.gap for result in analysis.material.results)
    return (
        f"The guarantee covers every shift of the training rows by {shift_of(analysis, analysis.radius)} on "
        f"average{flips}: {whose}no linear classifier has a worst-case objective that is lower by more than "
        f"{style.power(gap)}. {limits} does not cover rows of another kind, such as new categories or a changed "
        "population."
    )


def _labels(analysis: Analysis, style: Plain) -> str:
    issues = analysis.label_issues
    if issues is None:
        return "The labels could not be judged: a class has only one row, or there was no time left."
    n, flagged, names = len(issues.ranking), int(issues.is_label_issue.sum()), analysis.flagged(CHECK_FIRST)
    if issues.wrong_labels is not None and issues.wrong_labels_interval is not None:
        about, low, high = (percent(number / n) for number in (issues.wrong_labels, *issues.wrong_labels_interval))
        return (
            f"About {about} of the training labels ({low} to {high}) seem to be wrong: labels are contradicted however "
            "clearly their rows belong to another class, by a linear classifier and by boosted trees."
            + (f" Check these rows first: {listed([style.text(name) for name in names])}." if names else "")
        )
    if not names:
        return "No training label is clearly contradicted."
    verb, rows, labels = ("is", "row", "its label") if flagged == 1 else ("are", "rows", "their labels")
    some = listed([style.text(name) for name in names])
    which = f"{rows} {some}" if flagged <= CHECK_FIRST else f"{rows} such as {some}"
    these = "this row" if flagged == 1 else "these rows"
    return (
        f"{flagged:,} of {n:,} training labels {verb} clearly contradicted: {which}. The linear classifier does not "
        f"fit {these}; {labels} may well be right."
    )


def _features(analysis: Analysis, style: Plain) -> str:
    if not analysis.features:
        return "No feature carries the decision: no weight exceeds the accuracy of the solution."
    total, largest = len(analysis.features), abs(analysis.features[0][1])
    shown = [pair for pair in analysis.features[:CARRIERS] if abs(pair[1]) >= MATTERS * largest]
    sizes = np.abs([weight for _, weight in analysis.features])
    share = float(sizes[: len(shown)].sum() / sizes.sum())
    speaking = [f"{style.strong(name)} ({'for' if weight > 0 else 'against'})" for name, weight in shown]
    rest = "" if total == len(shown) else f", with {percent(share, 0)} of the weight of all {total:,} in use"
    return f"The decision for {style.text(analysis.positive)} rests most on {listed(speaking)}{rest}."


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
