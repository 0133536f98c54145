"""The risk for fixed margins within the ball: the loss, the optimal price λ of the radius, and the worst case.

For fixed margins the objective is a convex piecewise-linear function of λ,

    ε λ + Σ_i π_i max(a_i, 1 + m_i − κ λ),      a_i = max(1 − m_i, 0),

with slope ε − κ Σ {π_i : λ_i > λ} and breakpoints λ_i = (1 + m_i − a_i)/κ = min(2 m_i, 1 + m_i)/κ. The optimal λ
is a weighted quantile of the breakpoints.
"""

import numpy as np

TIE = 1e-13
"""Relative slack in comparing a sum of weights with the budget ε/κ, so that rounding does not shift a quantile."""

SAMPLE = 4000


def losses(margins, radius_price: float, flip_cost: float) -> np.ndarray:
    """Return max(1 − m_i, 1 + m_i − κλ, 0) for every margin."""
    values = np.maximum(1.0 - margins, 0.0)
    if np.isfinite(flip_cost):
        np.maximum(values, 1.0 + margins - flip_cost * radius_price, out=values)
    return values


def flip_gains(margins) -> np.ndarray:
    """Return κλ_i, the increase in the loss of each sample if its label is flipped: a flip pays if this exceeds κλ."""
    return np.minimum(2.0 * margins, 1.0 + margins)


def smallest_best_price(margins, weights, norm_of_weights: float, radius, flip_cost: float) -> np.ndarray:
    """Return the smallest minimiser λ ≥ ‖w‖_q, for one radius or an array of radii."""
    radius = np.asarray(radius, dtype=np.float64)
    prices = np.full(radius.shape, float(norm_of_weights))
    if flip_cost == 0 or np.isinf(flip_cost):
        return prices
    breakpoints = flip_gains(margins)
    breakpoints /= flip_cost
    affordable = radius / flip_cost * (1.0 + TIE)
    scarce = affordable < weights @ (breakpoints > norm_of_weights)
    if scarce.any():
        low, high = _bracket(breakpoints, weights, affordable[scarce])
        inside = np.flatnonzero((breakpoints > max(low, norm_of_weights)) & (breakpoints <= high))
        # Go down from the largest breakpoint until the mass above exceeds what the budget can flip.
        order = inside[np.argsort(breakpoints[inside])[::-1]]
        mass = np.cumsum(weights[order]) + weights @ (breakpoints > high)
        first_too_many = np.searchsorted(mass, affordable[scarce], side="right")
        prices[scarce] = breakpoints[order[np.minimum(first_too_many, len(order) - 1)]]
    return prices


def _bracket(breakpoints, weights, masses) -> tuple[float, float]:
    """Return bounds on the upper quantiles of the given masses, from a sample; ±inf if in doubt.

    With many breakpoints, only a few per cent of them then need to be sorted.
    """
    stride = len(breakpoints) // SAMPLE
    if stride < 10:
        return -np.inf, np.inf
    order = np.argsort(breakpoints[::stride])[::-1]
    sample, mass = breakpoints[::stride][order], np.cumsum(weights[::stride][order])
    mass /= mass[-1]
    margin = 3.0 / np.sqrt(len(sample))
    high = sample[np.searchsorted(mass, max(masses.min() - margin, 0.0))]
    low = sample[min(np.searchsorted(mass, masses.max() + margin), len(sample) - 1)]
    high = high if weights @ (breakpoints > high) <= masses.min() else np.inf
    low = low if weights @ (breakpoints > low) > masses.max() else -np.inf
    return low, high


def worst_case_hinge(margins, weights, norm_of_weights: float, radii, flip_cost: float) -> np.ndarray:
    """Return the worst-case expected hinge loss for every radius."""
    prices = smallest_best_price(margins, weights, norm_of_weights, radii, flip_cost)
    unmoved = float(weights @ np.maximum(1.0 - margins, 0.0))
    return radii * prices + unmoved + _gains_of_flips(margins, weights, prices, flip_cost)


def _gains_of_flips(margins, weights, prices, flip_cost: float) -> np.ndarray:
    """Return Σ_i π_i (κλ_i − κλ)₊, the increase in the loss through flips, net of their cost, for every price λ.

    The optimal λ is one of the breakpoints λ_i, so that its own term is exactly 0 as a difference of breakpoints.
    Computing 1 + m_i − κλ would leave a rounding error of the size of the margin, while the risk itself may be 0.
    """
    if np.isinf(flip_cost):
        return np.zeros(prices.shape)
    unit, paid = (flip_cost, prices) if flip_cost > 0 else (1.0, np.zeros(prices.shape))
    breakpoints = flip_gains(margins) / unit
    gains = [unit * float(weights @ np.maximum(breakpoints - price, 0.0)) for price in paid.ravel()]
    return np.reshape(gains, prices.shape)


def worst_case_error(margins, weights, norm_of_weights: float, radii, flip_cost: float) -> np.ndarray:
    """Return the worst-case error rate for every radius: a fractional knapsack over the costs of misclassification."""
    costs = np.full(margins.shape, float(flip_cost))
    if norm_of_weights > 0:
        np.minimum(costs, margins / norm_of_weights, out=costs)
    costs[margins <= 0] = 0.0
    sure = float(weights[costs == 0].sum())
    order = np.argsort(costs)
    order = order[(costs[order] > 0) & (weights[order] > 0) & np.isfinite(costs[order])]
    spent = np.concatenate([[0.0], np.cumsum(weights[order] * costs[order])])
    wrong = np.concatenate([[0.0], np.cumsum(weights[order])])
    return np.minimum(sure + np.interp(radii, spent, wrong), 1.0)
