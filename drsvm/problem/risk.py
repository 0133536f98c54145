"""The risk for fixed margins within the ball: the loss, the optimal price λ of the radius, and the worst case.

For fixed margins the objective is a convex piecewise-linear function of λ,

    ε λ + Σ_i π_i max(a_i, 1 + m_i − κ_i λ),      a_i = max(1 − m_i, 0),

with slope ε − Σ {π_i κ_i : λ_i > λ} and breakpoints λ_i = (1 + m_i − a_i)/κ_i = min(2
m_i, 1 + m_i)/κ_i. The optimal λ is a weighted quantile of the breakpoints. The flip
cost κ is one number, or an array with one entry per margin.
"""

import math
from typing import Any

import numpy as np

from drsvm.problem.backends import to_numpy
from drsvm.utils.annotations import Costs
from drsvm.utils.parallel import elementwise, over_parts, total

# Relative slack in comparing a sum of weights with the budget ε/κ: rounding shall not
# shift a quantile
TIE = 1e-13
# Least number of breakpoints from which the position of a quantile is estimated
SAMPLE = 1000


def by_row(flip_cost) -> bool:
    """Return whether every row has its own cost of a flip.

    Np.ndim would first turn a number into an array.
    """
    return getattr(flip_cost, "ndim", 0) > 0


def typical_flip_cost(flip_cost: Costs) -> float:
    """Return the median of the costs that are finite and not 0; inf if there are none."""
    costs = np.atleast_1d(flip_cost)
    costs = costs[np.isfinite(costs) & (costs > 0)]
    return float(np.median(costs)) if len(costs) else math.inf


def losses(margins, radius_price: float, flip_cost) -> np.ndarray:
    """Return max(1 − m_i, 1 + m_i − κ_i λ, 0) for every margin."""
    values = np.maximum(1.0 - margins, 0.0)
    if not isinstance(flip_cost, float):
        finite = np.isfinite(flip_cost)
        values[finite] = np.maximum(
            values[finite], 1.0 + margins[finite] - flip_cost[finite] * radius_price
        )
    elif math.isfinite(flip_cost):
        np.maximum(values, 1.0 + margins - flip_cost * radius_price, out=values)
    return values


def expected_loss(margins, weights, radius_price: float, flip_cost) -> float:
    """Return Σ_i π_i max(1 − m_i, 1 + m_i − κ_i λ, 0)."""
    if not isinstance(flip_cost, float):
        return total(
            margins,
            lambda part: (
                weights[part] @ losses(margins[part], radius_price, flip_cost[part])
            ),
        )
    return total(
        margins,
        lambda part: weights[part] @ losses(margins[part], radius_price, flip_cost),
    )


def affordable_flips(flip_cost: Costs, radius: float) -> tuple[Any, Any]:
    """Return the cost of a flip, 0 where none is affordable, and whether one is: numbers, or arrays over the rows."""
    if isinstance(flip_cost, float):
        flips = flip_cost == 0.0 or (math.isfinite(flip_cost) and radius > 0.0)
        return float(flip_cost) if flips else 0.0, bool(flips)
    flips = np.equal(flip_cost, 0.0) | (np.isfinite(flip_cost) & (radius > 0.0))
    return np.where(flips, flip_cost, 0.0), flips


def _mass_above(breakpoints, weights, price: float) -> float:
    return total(breakpoints, lambda part: weights[part] @ (breakpoints[part] > price))


def flip_gains(margins) -> np.ndarray:
    """Return κλ_i, the increase in the loss of each sample if its label is flipped: a flip pays if this exceeds κλ."""
    return np.minimum(2.0 * margins, 1.0 + margins)


def smallest_best_price(
    margins, weights, norm_of_weights: float, radius, flip_cost
) -> np.ndarray:
    """Return the smallest minimiser λ ≥ ‖w‖_q, for one radius or an array of radii."""
    radius = np.asarray(radius, dtype=np.float64)
    prices = np.full(radius.shape, float(norm_of_weights))
    breakpoints, weights, unit = flips_with_price(margins, weights, flip_cost)
    if len(breakpoints) == 0:
        return prices
    affordable = radius / unit * (1.0 + TIE)
    scarce = affordable < _mass_above(breakpoints, weights, norm_of_weights)
    if scarce.any():
        low, high = _bracket(breakpoints, weights, affordable[scarce])
        low = max(low, norm_of_weights)

        def positions_between(part):
            values = breakpoints[part]
            return part.start + np.flatnonzero((values > low) & (values <= high))

        inside = np.concatenate(over_parts(breakpoints, positions_between))
        # Go down from the largest breakpoint until the mass above exceeds what the
        # budget can flip.
        order = inside[np.argsort(breakpoints[inside])[::-1]]
        mass = np.cumsum(weights[order]) + _mass_above(breakpoints, weights, high)
        first_too_many = np.searchsorted(
            mass, np.asarray(affordable[scarce], like=mass), side="right"
        )
        prices[scarce] = to_numpy(
            breakpoints[order[np.minimum(first_too_many, len(order) - 1)]]
        )
    return prices


def flips_with_price(margins, weights, flip_cost):
    """Return the breakpoints of the flips that have a price, their shares of the slope Σ π_i κ_i, and this sum."""
    if not isinstance(flip_cost, float):
        priced = np.isfinite(flip_cost) & (flip_cost > 0) & (weights > 0)
        slopes = weights[priced] * flip_cost[priced]
        total = float(slopes.sum())
        return (
            flip_gains(margins[priced]) / flip_cost[priced],
            slopes / max(total, 1e-300),
            total,
        )
    if flip_cost == 0 or math.isinf(flip_cost):
        return np.zeros(0), np.zeros(0), 1.0
    return (
        elementwise(margins, lambda part: flip_gains(margins[part]) / flip_cost),
        weights,
        flip_cost,
    )


def _bracket(breakpoints, weights, masses) -> tuple[float, float]:
    """Return bounds on the upper quantiles of the given masses, from a sample.

    ±inf if in doubt.

    With many breakpoints, only a few per cent of them then need to be sorted.
    """
    # Then little is sorted in all
    stride = len(breakpoints) // max(SAMPLE, int((3 * len(breakpoints)) ** (2 / 3)))
    if stride < 10 or not isinstance(
        breakpoints, np.ndarray
    ):  # a GPU sorts all of them as quickly
        return -np.inf, np.inf
    order = np.argsort(breakpoints[::stride])[::-1]
    sample = breakpoints[::stride][order]
    mass = np.cumsum(weights[::stride][order])
    mass /= mass[-1]
    margin = 3.0 / np.sqrt(len(sample))
    high = sample[np.searchsorted(mass, max(masses.min() - margin, 0.0))]
    low = sample[min(np.searchsorted(mass, masses.max() + margin), len(sample) - 1)]
    if _mass_above(breakpoints, weights, high) <= masses.min():
        high = high
    else:
        high = np.inf
    if _mass_above(breakpoints, weights, low) > masses.max():
        low = low
    else:
        low = -np.inf
    return low, high


def worst_case_hinge(
    margins, weights, norm_of_weights: float, radii, flip_cost, flip_margins=None
) -> np.ndarray:
    """Return the worst-case expected hinge loss for every radius.

    Flips may have the gains of other margins.
    """
    if flip_margins is None:
        flip_margins = margins
    else:
        flip_margins = flip_margins
    prices = smallest_best_price(
        flip_margins, weights, norm_of_weights, radii, flip_cost
    )
    unmoved = expected_loss(margins, weights, 0.0, np.inf)
    gain_of_free = gain_of_free_flips(flip_margins, weights, flip_cost)
    breakpoints, shares, unit = flips_with_price(flip_margins, weights, flip_cost)

    def gain(price: float) -> float:
        """Return Σ_i π_i (κ_i λ_i − κ_i λ)₊, the increase in the loss through flips, net of their cost.

        The optimal λ is one of the breakpoints λ_i, so that its own term is exactly 0
        as a difference of breakpoints. Computing 1 + m_i − κλ would leave a rounding
        error of the size of the margin, while the risk itself may be 0.
        """
        of_priced = total(
            breakpoints,
            lambda part: shares[part] @ np.maximum(breakpoints[part] - price, 0.0),
        )
        return gain_of_free + unit * of_priced

    return (
        radii * prices
        + unmoved
        + np.reshape([gain(price) for price in prices.ravel()], prices.shape)
    )


def gain_of_free_flips(margins, weights, flip_cost) -> float:
    """Return the increase in the loss through flips that cost nothing."""
    free = np.equal(flip_cost, 0.0)
    if free.any():
        return float((weights * np.maximum(flip_gains(margins), 0.0))[free].sum())
    return 0.0


def worst_case_error(
    margins, weights, norm_of_weights: float, radii, flip_cost
) -> np.ndarray:
    """Return the worst-case error rate for every radius: a fractional knapsack over the costs of misclassification."""
    costs = costs_of_misclassification(margins, norm_of_weights, flip_cost)
    return np.minimum(knapsack(costs, np.ones_like(costs), weights, radii), 1.0)


def knapsack(prices, gains, weights, radii) -> np.ndarray:
    """Return the largest expected gain for every radius: what gains most for its price comes first."""
    free = prices == 0
    useful = np.flatnonzero(~free & (gains > 0) & (weights > 0) & np.isfinite(prices))
    order = useful[np.argsort(prices[useful] / gains[useful])]
    start = np.zeros(1, like=prices)
    spent = np.concatenate([start, np.cumsum(weights[order] * prices[order])])
    gained = np.concatenate([start, np.cumsum(weights[order] * gains[order])])
    return float(weights[free] @ gains[free]) + to_numpy(
        np.interp(np.asarray(radii, like=spent), spent, gained)
    )


def costs_of_misclassification(
    margins, norm_of_weights: float, flip_cost
) -> np.ndarray:
    """Return what it costs to turn each sample wrong, by a shift or a flip.

    0 if it is wrong.
    """
    costs = np.ones_like(margins) * flip_cost
    if norm_of_weights > 0:
        np.minimum(costs, margins / norm_of_weights, out=costs)
    costs[margins <= 0] = 0.0
    return costs
