"""The zero of a decreasing function of one variable, by Newton's method within a bracket.

bracket = between(low, high)
repeat    evaluate value and slope at t
t, bracket = next_trial(bracket, t, value, slope)
"""

import math
from typing import NamedTuple

from drsvm.kernels.compiling import kernel


class Bracket(NamedTuple):
    """An interval that holds the zero; `tried` tells that the function was evaluated at that end."""

    low: float
    high: float
    low_tried: bool
    high_tried: bool
    width: float  # of the bracket before


@kernel(inner=True, forceinline=True)
def between(low, high):
    """Return the bracket to start with."""
    return Bracket(low, high, False, False, math.inf)


@kernel(inner=True, forceinline=True)
def next_trial(bracket, t, value, slope):
    """Return where to evaluate next, and the bracket that the value at t leaves; a t that comes back is the end.

    Newton's step, but the middle of the bracket where that step would leave it through an end already tried, or where
    the bracket has not become half as wide: where the slope jumps, Newton's method may go back and forth for ever.
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
