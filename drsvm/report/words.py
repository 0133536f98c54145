"""The sentences of a report, in HTML."""

import math
from html import escape

from drsvm.model.result import Status
from drsvm.report.analysis import Analysis
from drsvm.report.elements import number, percent, power

_SHIFTS = {1.0: "the sum of its changes", 2.0: "its Euclidean length", math.inf: "its largest change in one feature"}


def unit(analysis: Analysis) -> str:
    """Return the units of the features."""
    return "features in standard deviations" if analysis.material.scaled else "features in their original units"


def sentence(analysis: Analysis) -> str:
    """Return a description of the classifier."""
    against, towards = (f"<strong>{escape(name)}</strong>" for name in analysis.side_names)
    if analysis.multiclass:
        what = f"{len(analysis.classes)} classes, each against the rest,"
    else:
        what = f"{towards} and {against}"
    return (
        f"A linear classifier that distinguishes {what} by {len(analysis.data.coef):,} features. It was trained on "
        f"{len(analysis.data.signs):,} samples to do well even if {adversary(analysis, 'an adversary')}."
    )


def adversary(analysis: Analysis, who: str | None = None) -> str:
    """Return what the adversary may do, as a clause with the subject `who` or as a description."""
    ball = analysis.ball
    radius, flip_cost = float(ball["radius"]), float(ball["flip_cost"])
    if radius == 0 and flip_cost > 0:
        powers = "can do nothing: the radius is 0"
    else:
        units = " standard deviations" if analysis.material.scaled else ""
        powers = f"shifts the samples by {number(radius, 3)}{units} on average"
        if math.isfinite(flip_cost):
            share = percent(min(1.0, radius / flip_cost)) if flip_cost > 0 else "100 %"
            powers += f", or spends the same budget on flipping up to {share} of the labels, or on a mix of both"
    return f"{who} {powers}" if who else f"the one it was trained against: it {powers}"


def proof(analysis: Analysis) -> str:
    """Return what is proven."""
    result = analysis.result
    parts = {
        "with the intercept inside the norm": math.isfinite(analysis.material.setting("intercept_cost")),
        "plus ridge term": float(analysis.material.setting("l2")) > 0,
    }
    further = ", ".join(part for part, holds in parts.items() if holds)
    objective = f"objective (worst-case risk {further})" if further else "worst-case risk"
    bound = "" if math.isinf(result.weight_bound) else f" with weights of norm up to {number(result.weight_bound, 3)}"
    # Enough digits to distinguish objective and bound.
    digits = min(max(4, 1 - math.floor(math.log10(max(result.gap, 1e-12)))), 12)
    lines = [
        f"The {objective} of this classifier is <strong>{result.objective:.{digits}f}</strong>.",
        f"No linear classifier{bound} can go below <strong>{result.lower_bound:.{digits}f}</strong>.",
        f"So no method can improve on it by more than <strong>{power(result.gap)}</strong>.",
    ]
    ending = {Status.OPTIMAL: "This is within the requested tolerance."}.get(
        result.status, f"The run ended early: {result.status.message}. The statement above is still valid."
    )
    size = _SHIFTS[float(analysis.ball["norm"])]
    ways = (
        "The lower bound comes from the dual problem and is computed by the same strict function for every solver. "
        f"The size of a shift is {size}; the risk is the mean hinge loss, which is 1 if all decision values are 0."
    )
    return f'<p>{" ".join(lines)} {ending}</p><p class="soft">{ways}</p>'


def adversary_did(analysis: Analysis) -> str:
    """Return what the adversary does to this classifier."""
    distribution = analysis.distribution
    flipped, moving = float(distribution.mass[distribution.flipped].sum()), distribution.shift > 0
    moved = float(distribution.mass[moving].sum())
    deeds = [f"flips {percent(flipped)} of the labels" if flipped > 0 else "flips no label"]
    if moved > 0 and distribution.attained:
        deeds.append(f"moves {percent(moved)} of the samples by {number(distribution.shift.max(), 3)}")
    elif moved > 0:
        deeds.append("moves a tiny part of the samples very far (the worst case is approached but not attained)")
    else:
        deeds.append("moves no sample")
    calm = float(analysis.data.weights @ (1 - analysis.data.margins).clip(min=0))
    return (
        f"The worst distribution for this classifier {' and '.join(deeds)}. This raises its hinge risk from "
        f"{number(calm)} on the training data to {number(distribution.risk)}."
    )
