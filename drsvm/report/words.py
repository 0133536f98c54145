"""The sentences of a report about what was fitted, what is proven, and what the adversary does."""

import math

from drsvm.learn.resolution import weights_that_count
from drsvm.report.analysis import Analysis
from drsvm.report.writers import Plain, number, percent

_SHIFTS = {1.0: "the sum of its changes", 2.0: "its Euclidean length", math.inf: "its largest change in one feature"}


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


def sentence(analysis: Analysis, style: Plain) -> str:
    """Return what the classifier tells apart, and by what it was trained and judged."""
    against, towards = (style.strong(name) for name in analysis.side_names)
    label = analysis.material.label
    of = f"The label is {style.strong(label)}" if label else "The label"
    if analysis.multiclass:
        what = f"has {len(analysis.classes)} classes, each told apart from the rest; {towards} is shown as positive"
    else:
        what = f"is {towards} (the positive class) or {against}"
    subject = f"{of}: it {what}." if label else f"{of} {what}."
    rows, held_out = len(analysis.data.signs), len(analysis.judged.y)
    tested = f" and judged by {held_out:,} others" if analysis.judged.held_out else ""
    return (
        f"{subject} A linear classifier was trained on {rows:,} rows with {len(analysis.data.coef):,} features{tested}"
        f", to do well even if {adversary(analysis, 'an adversary')}."
    )


def adversary(analysis: Analysis, who: str | None = None) -> str:
    """Return what the adversary may do, as a clause with the subject `who` or as a description."""
    radius, flip_cost = analysis.radius, analysis.material.flip_cost
    if radius == 0 and flip_cost > 0:
        powers = "can do nothing: the radius is 0"
    else:
        powers = f"shifts the rows by {shift_of(analysis, radius)} on average"
        if math.isfinite(flip_cost):
            share = percent(min(1.0, radius / flip_cost)) if flip_cost > 0 else "100\u202f%"
            powers += f", or spends the same budget on flipping up to {share} of the labels, or on a mix of both"
    return f"{who} {powers}" if who else f"the one it was trained against: it {powers}"


def proof(analysis: Analysis, style: Plain) -> str:
    """Return what is proven."""
    result = analysis.result
    parts = {
        "with the intercept inside the norm": math.isfinite(analysis.material.setting("intercept_cost")),
        "plus ridge term": float(analysis.material.setting("l2")) > 0,
    }
    further = ", ".join(part for part, holds in parts.items() if holds)
    objective = f"objective (worst-case risk {further})" if further else "worst-case risk"
    bound = f" (only for {result.condition})" if result.condition else ""
    # Enough digits to distinguish objective and bound.
    digits = min(max(4, 1 - math.floor(math.log10(max(result.gap, 1e-12)))), 12)
    ending = "This is within the requested tolerance."
    if not result.status.reached:
        ending = f"The run ended early: {result.status.message}. The statement above is still valid."
    return (
        f"On the training rows the {objective} of this classifier is {style.strong(f'{result.objective:.{digits}f}')}. "
        f"No linear classifier{bound} can go below {style.strong(f'{result.lower_bound:.{digits}f}')}. "
        f"So no method can improve on it by more than {style.power(result.gap)}. {ending}"
    )


def proof_details(analysis: Analysis) -> str:
    """Return how it is proven."""
    size = _SHIFTS[float(analysis.ball["norm"])]
    return (
        "The lower bound comes from the dual problem and is computed by the same strict function for every solver. "
        f"The size of a shift is {size}, with {unit(analysis)}; the risk is the mean hinge loss, which is 1 if all "
        "decision values are 0."
    )


def adversary_did(analysis: Analysis) -> str:
    """Return what the adversary does to this classifier."""
    distribution = analysis.distribution
    flipped, moving = float(distribution.mass[distribution.flipped].sum()), distribution.shift > 0
    moved = float(distribution.mass[moving].sum())
    deeds = [f"flips {percent(flipped)} of the labels" if flipped > 0 else "flips no label"]
    if moved > 0 and distribution.attained:
        deeds.append(f"moves {percent(moved)} of the rows by {number(distribution.shift.max(), 3)}")
    elif moved > 0:
        deeds.append("moves a tiny part of the rows very far (the worst case is approached but not attained)")
    else:
        deeds.append("moves no row")
    calm = float((1 - distribution._data.margins).clip(min=0).mean())
    return (
        f"On the {len(analysis.judged.y):,} {analysis.judged.name}, the worst distribution for this classifier "
        f"{' and '.join(deeds)}. This raises its hinge risk from {number(calm)} to {number(distribution.risk)}, and "
        f"its error rate can reach {percent(analysis.own['worst_case_error'])}."
    )


def end_of_path(analysis: Analysis) -> str:
    """Return what is left of the weights at the largest radius of the path, from the path itself."""
    assert analysis.path is not None
    last = int(analysis.path.radii.argmax())
    left = int(weights_that_count(analysis.path[last], analysis.deviations).sum())
    what = "all weights are 0" if left == 0 else f"{left:,} features still have weights"
    return f"At {number(analysis.path.radii[last], 3)}, the largest radius tried, {what}."
