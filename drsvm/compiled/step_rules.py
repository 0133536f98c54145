"""The rules of an interior-point step: how far it goes, and what it aims at.

They are plain functions of numbers, which Python calls as they are and compiled code as
part of itself.
"""

import math

from drsvm.compiled.decorators import also_compiled
from drsvm.compiled.interior_point_sample import BINS

# Weights that sum to exactly the share, such as 2 of 40, are left behind however they
# are rounded
TIE = 1.0 + 1e-9
NOISE = 1e-10  # shorter steps are along directions that are rounding noise
# Samples that stop short keep a bit less than those that set the step: rounding must
# not stop these
STOPPED = 0.99
# After this many steps in a row that are all this short, a run starts again elsewhere:
# Newton's directions have lost their meaning, as happens where rows far larger than all
# others meet weights that were found without them.
SHORT_STEP = 0.01
MAX_SHORT_STEPS = 8
# Fraction of the weight that may stop short of a step, divided by μ, and the maximum of
# this fraction. What it adds to the dual residual shrinks with μ; among MANY_ROWS there
# are some to leave behind until μ is tiny, and with as many as among few the residual
# would shorten step after step.
LEFT_BEHIND = 3.0
LEFT_BEHIND_OF_MANY = 1.7
MAX_LEFT_BEHIND = 0.05
MANY_ROWS = 100_000
# After a step below HINDERED, MORE times as much may be left behind in the next one, up
# to MAX_LEEWAY times, and less again after a longer one: where flips use up the radius,
# few rows determine λ, and many would stop every step.
HINDERED = 0.2
MORE = 4.0
MAX_LEEWAY = 16.0


@also_compiled
def larger(a, b):
    """Return the larger number, or NaN if one of them is."""
    if not a <= b and b == b:
        return a
    return b


@also_compiled
def tolerating(smallest, bins, share):
    """Return the rate of change that only samples with a given share of weight exceed.

    `smallest` is the smallest relative change, and `bins` are the weights of samples by
    their longest step.
    """
    rate = -smallest
    behind = 0.0
    if not rate > 1.0:
        return rate
    for step in range(BINS + 1):
        behind += bins[step]
        if not behind <= share * TIE:  # the first bin that must not be left behind
            if step == 0:
                return rate
            return min(rate, BINS / step)
    return min(rate, BINS / (BINS + 1.0))


@also_compiled
def longest_steps(rates, cone_rates, fraction, equal):
    """Return the primal and dual steps that keep a fraction of the way to the boundary.

    With a ridge they must be equal. They are NaN if a rate is, or if they are rounding
    noise.
    """
    primal_rate = larger(rates[0], cone_rates[0])
    dual_rate = larger(rates[1], cone_rates[1])
    primal = 1.0
    if not primal_rate <= fraction:
        primal = fraction / primal_rate
    dual = 1.0
    if not dual_rate <= fraction:
        dual = fraction / dual_rate
    if not (primal > NOISE and dual > NOISE):
        return math.nan, math.nan
    if equal:
        primal = min(primal, dual)
        dual = primal
    return primal, dual


@also_compiled
def aim(products, mu, total_weight):
    """Return σμ with Mehrotra's σ = (μ after the predictor / μ)³.

    `products` are the complementarity products that the predictor leaves.
    """
    ratio = min(max(products, 0.0) / (mu * total_weight), 1.0)
    return ratio * ratio * ratio * mu


@also_compiled
def left_behind(leeway, mu, share, most):
    """Return the fraction of the weight that may stop short of the next step."""
    return min(leeway * share * mu, most)


@also_compiled
def next_leeway(leeway, step):
    """Return by which factor more may stop short than usual, after a step."""
    if step < HINDERED:
        return min(MORE * leeway, MAX_LEEWAY)
    return max(leeway / MORE, 1.0)


@also_compiled
def short_steps_after(short_steps, primal, dual):
    """Return the number of short steps in a row."""
    if max(primal, dual) < SHORT_STEP:
        return short_steps + 1
    return 0
