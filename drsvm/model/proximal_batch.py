"""The proximal step for a batch of samples, with their multipliers.

minimise over ‖w‖_q ≤ λ   (1/n) Σ_i g_i max(1 − m_i, 1 + m_i − κ_i λ, 0) + ελ + (c/2)‖w‖²
                          + (1/2η) (‖w − w̄‖² + (b − b̄)² + (λ − λ̄)²),      m_i = y_i (w·x_i + b)
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from drsvm.kernels.epoch_state import Iterate, Terms
from drsvm.kernels.memory_epochs import PASSES, contribute
from drsvm.kernels.triangle import EPS
from drsvm.model.memory_rows import compiled_rows
from drsvm.model.norms import norm_for
from drsvm.model.proximal import finite
from drsvm.model.validation import check_flip_costs, check_number, check_signed_rows, check_weight_vector

MAX_PASSES = 50_000
"""Limit on passes over the samples. Dozens suffice unless steps are hundreds of times longer than those of a run."""

CLOSED = 16.0 * EPS
"""The gap is closed if it is at most this fraction of its first value or of the weights of the samples."""


@dataclass(frozen=True, eq=False)
class ProximalBatchStep:
    """Solution of a proximal step on a batch.

    Attributes
    ----------
    weights, intercept, radius_price : array, float, float
        The minimiser (w, b, λ).
    hinge_dual, flip_dual : arrays of shape (n,)
        Multipliers σ₁ and σ₂ of the pieces 1 − m and 1 + m − κλ of every sample; σ₁, σ₂ ≥ 0 and σ₁ + σ₂ ≤ 1.
    gap : float
        Duality gap of the step; the point is within √(2η·gap) of the exact one.
    n_passes : int
        Number of passes over the samples.

    Examples
    --------
    >>> from drsvm.model import proximal_batch_step
    >>> X, signs = [[1.0, 2.0], [0.5, -1.0]], [1, -1]
    >>> step = proximal_batch_step(X, signs, [0.0, 0.0], 0.5, step=0.01, radius=0.1, flip_cost=5.0)
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
    X,
    signs,
    weights,
    radius_price: float,
    *,
    step: float,
    radius: float,
    flip_cost: Any,
    norm: Any = 2,
    l2: float = 0.0,
    intercept: float | None = None,
    sample_weight=None,
) -> ProximalBatchStep:
    """Take one proximal step on the mean of several samples, by passes over them until rounding errors prevail.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        Features of the samples.
    signs : array of shape (n,)
        Their labels, ±1.
    weights, radius_price : array of shape (d,), float
        The centre (w̄, λ̄).
    step : float
        Step size η > 0.
    radius, flip_cost, norm, l2
        Parameters of the problem, as in `drsvm.Problem`; the flip cost may be one per sample.
    intercept : float, optional
        The centre b̄; None for no intercept.
    sample_weight : array of shape (n,), optional
        Factors g of the losses; 1 by default.

    Returns
    -------
    ProximalBatchStep

    Examples
    --------
    >>> from drsvm.model import proximal_batch_step
    >>> X, signs = [[1.0, 2.0], [0.5, -1.0]], [1, -1]
    >>> step = proximal_batch_step(X, signs, [0.0, 0.0], 0.5, step=0.01, radius=0.1, flip_cost=5.0)
    >>> step.weights.round(4).tolist(), round(step.radius_price, 4)
    ([0.0025, 0.015], 0.499)
    """
    X, signs, importance = check_signed_rows(X, signs, sample_weight)
    n, d = X.shape
    eta = check_number(step, "step")
    if eta == 0:
        raise ValueError("step must be positive, got step=0.")
    kappa = check_flip_costs(flip_cost, n)
    flips = np.isfinite(kappa)
    prices = (
        (float(kappa) if flips else 0.0, bool(flips)) if np.ndim(kappa) == 0 else (np.where(flips, kappa, 0.0), flips)
    )
    free = 0.0 if intercept is None else 1.0
    terms = Terms(check_number(radius, "radius"), *prices, check_number(l2, "l2"), d, free)
    centre = (
        check_weight_vector(weights, d),
        finite(radius_price, "radius_price"),
        finite(intercept or 0.0, "intercept"),
    )
    return _Batch(compiled_rows(X, signs, importance), terms, norm_for(norm), eta, centre).solve(X)


class _Batch:
    """A step, its rows and parameters in the form that the kernels expect."""

    def __init__(self, rows, terms: Terms, norm, eta: float, centre: tuple[np.ndarray, float, float]):
        self.rows, self.terms, self.norm, self.eta, self.centre = rows, terms, norm, eta, centre
        self.n = rows.signs.size
        self.rho, self.everything = 1.0 + eta * terms.l2, np.arange(self.n)

    def solve(self, X) -> ProximalBatchStep:
        """Make passes until the gap is closed."""
        state = self._state(np.ones(self.n), np.zeros(self.n))
        gap, scale, passes = np.inf, float(np.sum(self.rows.importance)), 0
        while passes < MAX_PASSES and gap > CLOSED * scale:
            rest = self.terms, self.eta / self.n, self.eta, 2.0 * EPS
            gap = PASSES[self.norm.q](self.rows, self.everything, state, *rest)
            passes, scale = passes + 1, max(scale, gap)
        state = self._state(state.hinge, state.flip)  # without the rounding errors of all passes
        w, lam = self.norm.project_epigraph(state.w / self.rho, state.scalars[0], self.rho)
        b = float(state.scalars[1])
        return ProximalBatchStep(w, b, lam, state.hinge, state.flip, self._gap(X, w, b, lam, state), passes)

    def _state(self, hinge: np.ndarray, flip: np.ndarray) -> Iterate:
        """Return the state for given multipliers; see `memory_epochs`."""
        w, lam, b = self.centre
        state = Iterate(np.array(w), np.array([lam - self.eta * self.terms.radius, b, lam]), hinge, flip)
        contribute(self.rows, self.everything, state, self.terms, self.eta / self.n)
        return state

    def _gap(self, X, w: np.ndarray, b: float, lam: float, state: Iterate) -> float:
        margins = self.rows.signs * (X @ w + b)
        hinge, flipped = 1.0 - margins, np.where(self.terms.flips, 1.0 + margins - self.terms.kappa * lam, 0.0)
        lost = np.maximum(np.maximum(hinge, flipped), 0.0) - state.hinge * hinge - state.flip * flipped
        return float(np.mean(self.rows.importance * lost))
