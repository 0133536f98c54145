"""The worst case for given margins: the loss, and the optimal price λ of the radius.

For given margins the objective is a convex piecewise-linear function of λ,

    ε λ + Σ_i π_i max(a_i, 1 + m_i − κ_i λ),      a_i = max(1 − m_i, 0),

with slope ε − Σ {π_i κ_i : λ_i > λ} and breakpoints λ_i = (1 + m_i − a_i)/κ_i =
min(2 m_i, 1 + m_i)/κ_i. The optimal λ is a weighted quantile of the breakpoints: the
adversary flips the labels with the largest ones, until they have used up the budget ε.
The flip cost κ is one number, or an array with one entry per margin.
"""

import math
from typing import Any

import numpy as np

from drsvm.problem.backends import to_numpy
from drsvm.utils.annotations import Costs
from drsvm.utils.parallel import elementwise, over_parts, total

# Relative slack in comparing a sum of weights with the budget ε/κ: rounding shall not
# shift a quantile.
TIE = 1e-13
# The least number of breakpoints in a sample from which a quantile is estimated
SAMPLE = 1000


def by_row(flip_cost: Costs) -> bool:
    """Return whether every row has its own cost of a flip."""
    # np.ndim would first turn a number into an array.
    return getattr(flip_cost, "ndim", 0) > 0


def typical_flip_cost(flip_cost: Costs) -> float:
    """Return the median of the costs that are finite and not 0; inf without any."""
    costs = np.atleast_1d(flip_cost)
    costs = costs[np.isfinite(costs) & (costs > 0)]
    if len(costs) == 0:
        return math.inf
    return float(np.median(costs))


def affordable_flips(flip_cost: Costs, radius: float) -> tuple[Any, Any]:
    """Return what flips cost that the adversary can afford.

    Parameters
    ----------
    flip_cost : float or array of shape (n,)
        The costs κ.
    radius : float
        The radius ε. With 0, only flips that cost nothing are affordable.

    Returns
    -------
    costs, affordable : float and bool, or arrays of shape (n,)
        The cost of a flip, 0 where none is affordable, and whether one is.
    """
    if by_row(flip_cost):
        is_free = np.equal(flip_cost, 0.0)
        affordable = is_free | (np.isfinite(flip_cost) & (radius > 0.0))
        return np.where(affordable, flip_cost, 0.0), affordable
    if flip_cost == 0.0 or (math.isfinite(flip_cost) and radius > 0.0):
        return float(flip_cost), True
    return 0.0, False


def losses(margins, radius_price: float, flip_cost) -> np.ndarray:
    """Return max(1 − m_i, 1 + m_i − κ_i λ, 0) for every margin."""
    values = np.maximum(1.0 - margins, 0.0)
    # An infinite cost times a price of 0 would be NaN.
    if by_row(flip_cost):
        finite = np.isfinite(flip_cost)
        flipped = 1.0 + margins[finite] - flip_cost[finite] * radius_price
        values[finite] = np.maximum(values[finite], flipped)
    elif math.isfinite(flip_cost):
        np.maximum(values, 1.0 + margins - flip_cost * radius_price, out=values)
    return values


def expected_loss(margins, weights, radius_price: float, flip_cost) -> float:
    """Return Σ_i π_i max(1 − m_i, 1 + m_i − κ_i λ, 0)."""
    has_one_per_row = by_row(flip_cost)

    def loss_of(part: slice) -> float:
        costs = flip_cost
        if has_one_per_row:
            costs = flip_cost[part]
        return weights[part] @ losses(margins[part], radius_price, costs)

    return total(margins, loss_of)


def flip_gains(margins) -> np.ndarray:
    """Return κ_i λ_i, the increase in the loss of each sample if its label is flipped.

    A flip pays if this exceeds κ_i λ.
    """
    return np.minimum(2.0 * margins, 1.0 + margins)


def flips_with_cost(margins, weights, flip_cost):
    """Return the breakpoints of the flips that have a cost.

    Parameters
    ----------
    margins, weights : arrays of shape (n,)
        The margins m, and the weights π.
    flip_cost : float or array of shape (n,)
        The costs κ.

    Returns
    -------
    breakpoints, shares : arrays
        The λ_i of these flips, and π_i κ_i as a share of their sum.
    slope : float
        The sum Σ π_i κ_i.
    """
    if by_row(flip_cost):
        with_cost = np.isfinite(flip_cost) & (flip_cost > 0) & (weights > 0)
        costs = flip_cost[with_cost]
        slopes = weights[with_cost] * costs
        slope = float(slopes.sum())
        # Not 0 / 0 if no flip has a cost
        shares = slopes / max(slope, 1e-300)
        return flip_gains(margins[with_cost]) / costs, shares, slope
    if flip_cost == 0 or math.isinf(flip_cost):
        return np.zeros(0), np.zeros(0), 1.0
    # With one cost for all rows, the weights are the shares: they sum to 1.

    def breakpoints_of(part: slice) -> np.ndarray:
        return flip_gains(margins[part]) / flip_cost

    return elementwise(margins, breakpoints_of), weights, flip_cost


def _mass_above(breakpoints, weights, price: float) -> float:
    """Return the weight of the breakpoints above a price."""
    return total(breakpoints, lambda part: weights[part] @ (breakpoints[part] > price))


def smallest_best_price(
    margins, weights, norm_of_weights: float, radius, flip_cost
) -> np.ndarray:
    """Return the smallest minimiser λ ≥ ‖w‖_q of the worst-case risk.

    Parameters
    ----------
    margins, weights : arrays of shape (n,)
        The margins m, and the weights π.
    norm_of_weights : float
        The norm ‖w‖_q, below which no λ is allowed.
    radius : float or array
        One radius ε or several.
    flip_cost : float or array of shape (n,)
        The costs κ.

    Returns
    -------
    array of the shape of `radius`
        The smallest minimiser for every radius.
    """
    # 1. Where the budget pays for all flips with a breakpoint above the norm, the risk
    # does not fall beyond the norm.
    radius = np.asarray(radius, dtype=np.float64)
    prices = np.full(radius.shape, float(norm_of_weights))
    breakpoints, shares, unit = flips_with_cost(margins, weights, flip_cost)
    if len(breakpoints) == 0:
        return prices
    affordable = radius / unit * (1.0 + TIE)
    scarce = affordable < _mass_above(breakpoints, shares, norm_of_weights)
    if not scarce.any():
        return prices
    affordable = affordable[scarce]

    # 2. Otherwise λ is a breakpoint. Bounds on it limit what has to be sorted.
    low, high = _bracket(breakpoints, shares, affordable)
    low = max(low, norm_of_weights)

    def positions_between(part: slice) -> np.ndarray:
        values = breakpoints[part]
        return part.start + np.flatnonzero((values > low) & (values <= high))

    # 3. Go down from the largest breakpoint until the mass above exceeds what the
    # budget can flip.
    inside = np.concatenate(over_parts(breakpoints, positions_between))
    order = inside[np.argsort(breakpoints[inside])[::-1]]
    mass = np.cumsum(shares[order]) + _mass_above(breakpoints, shares, high)
    affordable = np.asarray(affordable, like=mass)
    first_too_many = np.searchsorted(mass, affordable, side="right")
    last = order[np.minimum(first_too_many, len(order) - 1)]
    prices[scarce] = to_numpy(breakpoints[last])
    return prices


def _bracket(breakpoints, weights, masses) -> tuple[float, float]:
    """Return bounds on the upper quantiles of the given masses, from a sample.

    They are infinite if in doubt. With many breakpoints, only a few per cent of them
    then need to be sorted.
    """
    n = len(breakpoints)
    low = -np.inf
    high = np.inf
    # What lies between the bounds is in proportion to n / √m, where m is the size of
    # the sample: with this size, both are about as many.
    stride = n // max(SAMPLE, int((3 * n) ** (2 / 3)))
    # A GPU sorts all of them as quickly.
    if stride < 10 or not isinstance(breakpoints, np.ndarray):
        return low, high
    order = np.argsort(breakpoints[::stride])[::-1]
    sample = breakpoints[::stride][order]
    mass = np.cumsum(weights[::stride][order])
    mass /= mass[-1]
    # Three standard deviations of a quantile of the sample
    error = 3.0 / np.sqrt(len(sample))
    # A bound from a sample may be wrong: it is used only if the mass above it, over all
    # breakpoints, is on the right side.
    above = sample[np.searchsorted(mass, max(masses.min() - error, 0.0))]
    last = np.searchsorted(mass, masses.max() + error)
    below = sample[min(last, len(sample) - 1)]
    if _mass_above(breakpoints, weights, above) <= masses.min():
        high = above
    if _mass_above(breakpoints, weights, below) > masses.max():
        low = below
    return low, high


def worst_case_hinge(
    margins, weights, norm_of_weights: float, radii, flip_cost, flip_margins=None
) -> np.ndarray:
    """Return the worst-case expected hinge loss for every radius.

    Parameters
    ----------
    margins, weights : arrays of shape (n,)
        The margins m, and the weights π.
    norm_of_weights : float
        The norm ‖w‖_q: by how much a unit of shift changes a margin.
    radii : array
        The radii ε.
    flip_cost : float or array of shape (n,)
        The costs κ.
    flip_margins : array of shape (n,), optional
        Margins that determine what flips gain, if these are others.

    Returns
    -------
    array of the shape of `radii`
        The worst-case risk.
    """
    if flip_margins is None:
        flip_margins = margins
    prices = smallest_best_price(
        flip_margins, weights, norm_of_weights, radii, flip_cost
    )
    unmoved = expected_loss(margins, weights, 0.0, np.inf)
    gain_of_free = gain_of_free_flips(flip_margins, weights, flip_cost)
    breakpoints, shares, unit = flips_with_cost(flip_margins, weights, flip_cost)

    # The increase in the loss through flips, net of their cost: Σ_i π_i (κ_i λ_i −
    # κ_i λ)₊. The optimal λ is one of the breakpoints λ_i, so that its own term is
    # exactly 0 as a difference of breakpoints. Computing 1 + m_i − κλ would leave a
    # rounding error of the size of the margin, while the risk itself may be 0.
    gains = np.empty(prices.size)
    for k, price in enumerate(prices.ravel()):

        def gain_of(part: slice, price=price) -> float:
            return shares[part] @ np.maximum(breakpoints[part] - price, 0.0)

        gains[k] = gain_of_free + unit * total(breakpoints, gain_of)
    return radii * prices + unmoved + gains.reshape(prices.shape)


def gain_of_free_flips(margins, weights, flip_cost) -> float:
    """Return the increase in the loss through flips that cost nothing."""
    free = np.equal(flip_cost, 0.0)
    if not free.any():
        return 0.0
    gains = weights * np.maximum(flip_gains(margins), 0.0)
    return float(gains[free].sum())


def worst_case_error(
    margins, weights, norm_of_weights: float, radii, flip_cost
) -> np.ndarray:
    """Return the worst-case error rate for every radius.

    This is a fractional knapsack over the costs of misclassification.

    Parameters
    ----------
    margins, weights, norm_of_weights, radii, flip_cost
        As for `worst_case_hinge`.

    Returns
    -------
    array of the shape of `radii`
        The worst-case error rate.
    """
    costs = costs_of_misclassification(margins, norm_of_weights, flip_cost)
    every_error_counts_1 = np.ones_like(costs)
    rates = knapsack(costs, every_error_counts_1, weights, radii)
    return np.minimum(rates, 1.0)


def knapsack(costs, gains, weights, radii) -> np.ndarray:
    """Return the largest expected gain for every radius.

    What gains most for its cost comes first; of the last, a part is taken.

    Parameters
    ----------
    costs, gains, weights : arrays of shape (n,)
        The cost of turning a sample, what is gained by that, and its weight.
    radii : array
        The budgets.

    Returns
    -------
    array of the shape of `radii`
        The largest Σ of weights times gains.
    """
    free = costs == 0
    can_be_bought = ~free & np.isfinite(costs)
    useful = np.flatnonzero(can_be_bought & (gains > 0) & (weights > 0))
    order = useful[np.argsort(costs[useful] / gains[useful])]
    start = np.zeros(1, like=costs)
    spent = np.concatenate([start, np.cumsum(weights[order] * costs[order])])
    gained = np.concatenate([start, np.cumsum(weights[order] * gains[order])])
    bought = np.interp(np.asarray(radii, like=spent), spent, gained)
    return float(weights[free] @ gains[free]) + to_numpy(bought)


def costs_of_misclassification(
    margins, norm_of_weights: float, flip_cost
) -> np.ndarray:
    """Return what it costs to misclassify each sample, by a shift or a flip.

    Parameters
    ----------
    margins : array of shape (n,)
        The margins.
    norm_of_weights : float
        By how much a unit of shift changes a margin.
    flip_cost : float or array of shape (n,)
        The costs of flips.

    Returns
    -------
    array of shape (n,)
        The costs, 0 for samples that are misclassified already.
    """
    costs = np.ones_like(margins) * flip_cost
    if norm_of_weights > 0:
        np.minimum(costs, margins / norm_of_weights, out=costs)
    costs[margins <= 0] = 0.0
    return costs
