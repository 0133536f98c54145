"""The exact proximal step for one sample, with its multipliers.

minimise over ‖w‖_q ≤ λ   max(1 − m, 1 + m − κλ, 0) + ελ + (c/2)‖w‖²
                          + (1/2η) (‖w − w̄‖² + (b − b̄)² + (λ − λ̄)²),      m = y (w·x + b)
"""

import math
from dataclasses import dataclass
from enum import Flag
from typing import Any

import numpy as np

from drsvm.kernels.triangle import proximal
from drsvm.model.norms import norm_for
from drsvm.model.validation import check_number, check_weight_vector


class Pieces(Flag):
    """The pieces of the loss with a positive multiplier; their combinations are the sub-cases of the step."""

    HINGE = 1
    FLIPPED = 2
    ZERO = 4


@dataclass(frozen=True, eq=False)
class ProximalStep:
    """Solution of one proximal step.

    Attributes
    ----------
    weights, intercept, radius_price : array, float, float
        The minimiser (w, b, λ).
    hinge_dual, flip_dual : float
        Multipliers σ₁ and σ₂ of the pieces 1 − m and 1 + m − κλ; σ₁, σ₂ ≥ 0 and σ₁ + σ₂ ≤ 1.
    pull : float
        σ₁ − σ₂, the multiplier of the margin m; more accurate than the difference of the two if it is tiny.
    gap : float
        Duality gap of the step, relative to the magnitude of its terms: at the level of rounding errors.

    Examples
    --------
    >>> from drsvm.model import proximal_step
    >>> step = proximal_step([1.0, 2.0], 1, [0.0, 0.0], 0.5, step=0.01, radius=0.1, flip_cost=5.0)
    >>> step.pieces
    <Pieces.HINGE: 1>
    >>> step.hinge_dual, step.flip_dual
    (1.0, 0.0)
    """

    weights: np.ndarray
    intercept: float
    radius_price: float
    hinge_dual: float
    flip_dual: float
    pull: float
    gap: float

    @property
    def pieces(self) -> Pieces:
        """The pieces of the loss with a positive multiplier."""
        active = Pieces(0)
        if self.hinge_dual > 0:
            active |= Pieces.HINGE
        if self.flip_dual > 0:
            active |= Pieces.FLIPPED
        if self.hinge_dual + self.flip_dual < 1 - 1e-15:  # the sum is rounded
            active |= Pieces.ZERO
        return active


def proximal_step(
    x,
    sign: float,
    weights,
    radius_price: float,
    *,
    step: float,
    radius: float,
    flip_cost: float,
    norm: Any = 2,
    l2: float = 0.0,
    intercept: float | None = None,
) -> ProximalStep:
    """Take one exact proximal step.

    Parameters
    ----------
    x : array of shape (d,)
        Features of the sample.
    sign : {-1, 1}
        Its label.
    weights, radius_price : array of shape (d,), float
        The centre (w̄, λ̄).
    step : float
        Step size η > 0.
    radius, flip_cost, norm, l2
        Parameters of the problem, as in `drsvm.Problem`.
    intercept : float, optional
        The centre b̄; None for no intercept.

    Returns
    -------
    ProximalStep

    Examples
    --------
    >>> from drsvm.model import proximal_step
    >>> step = proximal_step([1.0, 2.0], 1, [0.0, 0.0], 0.5, step=0.01, radius=0.1, flip_cost=5.0)
    >>> step.weights.round(4).tolist(), round(step.radius_price, 4)
    ([0.01, 0.02], 0.499)
    """
    x = np.ascontiguousarray(check_weight_vector(x, np.size(x), "x"))
    center = np.array(check_weight_vector(weights, x.size))  # a copy: numba would recompile kernels for read-only ones
    if sign not in (-1, 1):
        raise ValueError(f"sign must be -1 or 1, got {sign!r}.")
    eta = check_number(step, "step")
    if eta == 0:
        raise ValueError("step must be positive, got step=0.")
    radius, l2 = check_number(radius, "radius"), check_number(l2, "l2")
    kappa = check_number(flip_cost, "flip_cost", infinite=True)
    lam = finite(radius_price, "radius_price") - eta * radius
    bias = 0.0 if intercept is None else sign * finite(intercept, "intercept")
    new = np.empty_like(center)
    rest = lam, bias, 0.0 if intercept is None else 1.0, eta, 1.0 + eta * l2, kappa
    new_lam, pull, sigma2, gap = proximal(norm_for(norm).code, center, sign * x, *rest, new)
    moved = 0.0 if intercept is None else float(intercept) + eta * pull * sign
    return ProximalStep(new, moved, new_lam, max(sigma2 + pull, 0.0), sigma2, pull, gap)


def finite(value, name: str) -> float:
    """Return `value` as a finite float of either sign."""
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(f"{name} must be finite, got {name}={value!r}.")
    return number
