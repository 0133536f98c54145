"""The zero of a decreasing function of one variable, by Newton's method within a bracket.

Start with bracket = between(low, high), then repeat: evaluate the value and slope at t, and set
t, bracket = next_trial(bracket, t, value, slope).
"""

import math
from typing import NamedTuple

from drsvm.kernels.compiling import kernel


class Bracket(NamedTuple):
    """An interval that contains the zero; `tried`: whether the function was evaluated at that end."""

    low: float
    high: float
    low_tried: bool
    high_tried: bool
    width: float  # of the previous bracket


@kernel(inner=True, forceinline=True)
def between(low, high):
    """Return the initial bracket."""
    return Bracket(low, high, False, False, math.inf)


@kernel(inner=True, forceinline=True)
def next_trial(bracket, t, value, slope):
    """Return the next t, and the bracket after the value at t; if t does not change, the search is over.

    It is a Newton step, or the midpoint of the bracket if that step would leave it through an end already tried, or if
    the bracket has not halved: where the slope jumps, Newton's method may cycle.
    """
    low, high, low_tried, high_tried, width = bracket
    if value > 0.0:
        low, low_tried = t, True
    else:
        high, high_tried = t, True
    towards = high if value > 0.0 else low
    new = t - value / slope if slope < 0.0 else towards
    if new >= high:
        new = 0.5 * (low + high) if high_tried else high
    elif new <= low:
        new = 0.5 * (low + high) if low_tried else low
    elif high - low > 0.5 * width:
        new = 0.5 * (low + high)
    return new, Bracket(low, high, low_tried, high_tried, high - low)
