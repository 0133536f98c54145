"""Proximal steps for one sample, exactly, and for a batch, with their multipliers.

    minimise over ‖w‖_q ≤ λ
        (1/n) Σ_i g_i max(1 − m_i, 1 + m_i − κ_i λ, 0) + ελ + (c/2)‖w‖²
        + (1/2η) (‖w − w̄‖² + (b − b̄)² + (λ − λ̄)²),      m_i = y_i (w·x_i + b)

For one sample this is the paper's "single-sample proximal point update" (equation 2 and
section 3). The paper goes through its sub-cases one by one; here one search over the
multipliers finds the right one (`compiled/single_sample_prox.py`).
"""

import math
from dataclasses import dataclass
from enum import Flag

import numpy as np

from drsvm.compiled.memory_epochs import contribute, memory_epoch
from drsvm.compiled.proximal_epochs import Iterate, Terms
from drsvm.compiled.single_sample_prox import EPS, proximal
from drsvm.problem.memory_rows import compiled_rows
from drsvm.problem.norms import norm_for
from drsvm.problem.risk import affordable_flips
from drsvm.problem.validation import (
    check_flip_costs,
    check_number,
    check_signed_rows,
    check_weight_vector,
)
from drsvm.utils.annotations import Costs, Matrix, NormName

# Limit on the passes over a batch; dozens suffice unless steps are hundreds of times
# longer than those of a run
MAX_PASSES = 50_000
# The gap is closed if it is at most this fraction of its first value or of the samples'
# weights
CLOSED = 16.0 * EPS


class Pieces(Flag):
    """The pieces of the loss with a positive multiplier.

    Their combinations are the sub-cases of the step.
    """

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
        Multipliers σ₁ and σ₂ of the pieces 1 − m and 1 + m − κλ; σ₁, σ₂ ≥ 0 and σ₁ + σ₂
        ≤ 1.
    gradient : float
        σ₁ − σ₂, the multiplier of the margin m; more accurate than the difference of
        the two if it is tiny.
    gap : float
        Duality gap of the step, relative to the magnitude of its terms: at the level of
        rounding errors.

    Examples
    --------
    >>> from drsvm.solvers import proximal_step
    >>> parameters = {"step": 0.01, "radius": 0.1, "flip_cost": 5.0}
    >>> step = proximal_step([1.0, 2.0], 1, [0.0, 0.0], 0.5, **parameters)
    >>> step.pieces, step.hinge_dual, step.flip_dual
    (<Pieces.HINGE: 1>, 1.0, 0.0)
    """

    weights: np.ndarray
    intercept: float
    radius_price: float
    hinge_dual: float
    flip_dual: float
    gradient: float
    gap: float

    @property
    def pieces(self) -> Pieces:
        """The pieces of the loss with a positive multiplier."""
        active = Pieces(0)
        if self.hinge_dual > 0:
            active |= Pieces.HINGE
        if self.flip_dual > 0:
            active |= Pieces.FLIPPED
        # The sum is rounded
        if self.hinge_dual + self.flip_dual < 1 - 1e-15:
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
    norm: NormName = 2,
    l2: float = 0.0,
    intercept: float | None = None,
) -> ProximalStep:
    """Take one exact proximal step on one sample.

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
    >>> from drsvm.solvers import proximal_step
    >>> parameters = {"step": 0.01, "radius": 0.1, "flip_cost": 5.0}
    >>> step = proximal_step([1.0, 2.0], 1, [0.0, 0.0], 0.5, **parameters)
    >>> step.weights.round(4).tolist(), round(step.radius_price, 4)
    ([0.01, 0.02], 0.499)
    """
    x = np.ascontiguousarray(check_weight_vector(x, np.size(x), "x"))
    # A copy: numba would recompile kernels for read-only ones
    center = np.array(check_weight_vector(weights, x.size))
    if sign not in (-1, 1):
        raise ValueError(f"sign must be -1 or 1, got {sign!r}.")
    eta = _step_size(step)
    radius = check_number(radius, "radius")
    l2 = check_number(l2, "l2")
    kappa = check_number(flip_cost, "flip_cost", infinite=True)
    # The term ελ moves the centre of λ
    lam = _finite(radius_price, "radius_price") - eta * radius
    free = 0.0
    bias = 0.0
    if intercept is not None:
        free = 1.0
        bias = sign * _finite(intercept, "intercept")
    new_weights = np.empty_like(center)
    new_lam, gradient, sigma2, gap = proximal(
        norm_for(norm).code,
        center,
        sign * x,
        lam,
        bias,
        free,
        eta,
        1.0 + eta * l2,
        kappa,
        new_weights,
    )
    new_intercept = 0.0
    if intercept is not None:
        new_intercept = float(intercept) + eta * gradient * sign
    return ProximalStep(
        weights=new_weights,
        intercept=new_intercept,
        radius_price=new_lam,
        hinge_dual=max(sigma2 + gradient, 0.0),
        flip_dual=sigma2,
        gradient=gradient,
        gap=gap,
    )


def _step_size(step: float) -> float:
    """Return a step size as a float > 0."""
    eta = check_number(step, "step")
    if eta == 0:
        raise ValueError("step must be positive, got step=0.")
    return eta


def _finite(value: float, name: str) -> float:
    """Return `value` as a finite float of either sign."""
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(f"{name} must be finite, got {name}={value!r}.")
    return number


@dataclass(frozen=True, eq=False)
class ProximalBatchStep:
    """Solution of a proximal step on a batch.

    Attributes
    ----------
    weights, intercept, radius_price, hinge_dual, flip_dual
        As in `ProximalStep`, with multipliers in arrays of shape (n,).
    gap : float
        Duality gap of the step; the point is within √(2η·gap) of the exact one.
    n_passes : int
        Number of passes over the samples.

    Examples
    --------
    >>> from drsvm.solvers import proximal_batch_step
    >>> X, signs = [[1.0, 2.0], [0.5, -1.0]], [1, -1]
    >>> parameters = {"step": 0.01, "radius": 0.1, "flip_cost": 5.0}
    >>> step = proximal_batch_step(X, signs, [0.0, 0.0], 0.5, **parameters)
    >>> step.hinge_dual.tolist(), step.flip_dual.tolist()
    ([1.0, 1.0], [0.0, 0.0])
    """

    weights: np.ndarray
    intercept: float
    radius_price: float
    hinge_dual: np.ndarray
    flip_dual: np.ndarray
    gap: float
    n_passes: int


def proximal_batch_step(
    X: Matrix,
    signs,
    weights,
    radius_price: float,
    *,
    step: float,
    radius: float,
    flip_cost: Costs,
    norm: NormName = 2,
    l2: float = 0.0,
    intercept: float | None = None,
    sample_weight=None,
) -> ProximalBatchStep:
    """Take one proximal step on the mean of several samples.

    It takes passes over the samples until rounding errors prevail.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        Features of the samples.
    signs : array of shape (n,)
        Their labels, ±1.
    weights, radius_price, step, radius, flip_cost, norm, l2, intercept
        As in `drsvm.solvers.proximal_step`; the flip cost may be one per sample.
    sample_weight : array of shape (n,), optional
        Factors g of the losses; 1 by default.

    Returns
    -------
    ProximalBatchStep

    Examples
    --------
    >>> from drsvm.solvers import proximal_batch_step
    >>> X, signs = [[1.0, 2.0], [0.5, -1.0]], [1, -1]
    >>> parameters = {"step": 0.01, "radius": 0.1, "flip_cost": 5.0}
    >>> step = proximal_batch_step(X, signs, [0.0, 0.0], 0.5, **parameters)
    >>> step.weights.round(4).tolist(), round(step.radius_price, 4)
    ([0.0025, 0.015], 0.499)
    """
    X, signs, importance = check_signed_rows(X, signs, sample_weight)
    n, d = X.shape
    eta = _step_size(step)
    ball = norm_for(norm)
    # Flips at any finite cost, because λ may be small for a while
    kappa, flips = affordable_flips(check_flip_costs(flip_cost, n), math.inf)
    radius = check_number(radius, "radius")
    l2 = check_number(l2, "l2")
    terms = Terms(radius, kappa, flips, l2, d, 0.0 if intercept is None else 1.0)
    w = np.array(check_weight_vector(weights, d))
    lam = _finite(radius_price, "radius_price")
    b = _finite(intercept or 0.0, "intercept")
    rows = compiled_rows(X, signs, importance)
    all_rows = np.arange(n)
    length = eta / n  # of one row
    # 1. The state is the centre and what rows contribute to it (`memory_epochs.py`); at
    # first, all hinges are active.
    center = Iterate(w, np.array([lam - eta * radius, b, lam]), np.ones(n), np.zeros(n))
    state = center.copy()
    contribute(rows, all_rows, state, terms, length)
    # 2. Passes improve the multipliers until the gap is closed.
    gap = np.inf
    scale = float(np.sum(importance))
    n_passes = 0
    while n_passes < MAX_PASSES and gap > CLOSED * scale:
        gap = memory_epoch(ball.q, rows, all_rows, state, terms, length, eta, 2.0 * EPS)
        n_passes = n_passes + 1
        scale = max(scale, gap)
    # 3. The state for these multipliers, without the rounding errors of all passes
    state = Iterate(center.w, center.scalars, state.hinge, state.flip)
    contribute(rows, all_rows, state, terms, length)
    # 4. Its point, and the gap there
    rho = 1.0 + eta * l2
    w, lam = ball.project_epigraph(state.w / rho, state.scalars[0], rho)
    b = float(state.scalars[1])
    margins = signs * (X @ w + b)
    hinge = 1.0 - margins
    flipped = np.where(flips, 1.0 + margins - kappa * lam, 0.0)
    loss = np.maximum(np.maximum(hinge, flipped), 0.0)
    gaps = loss - state.hinge * hinge - state.flip * flipped
    return ProximalBatchStep(
        weights=w,
        intercept=b,
        radius_price=lam,
        hinge_dual=state.hinge,
        flip_dual=state.flip,
        gap=float(np.mean(importance * gaps)),
        n_passes=n_passes,
    )
