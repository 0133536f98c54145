"""Multipliers on a graphics card."""

from typing import Any

from drsvm.engines.gpu.device import cupy, on_device
from drsvm.engines.gpu.rows import SUM_BLOCKS
from drsvm.model.multipliers import ROUNDING_OF_MASSES, Multipliers, Totals
from drsvm.model.products import ULP


class GpuMultipliers(Multipliers):
    """Multipliers on the card, clipped to their bounds."""

    def __init__(self, problem: Any, hinge_dual, flip_dual):
        xp = cupy()
        self.problem, self.positive = problem, problem.device_signs > 0
        flips, self.kappa = problem.flips()
        weights = problem.device_weights
        alpha = xp.clip(_vector(hinge_dual, problem.n_rows), 0.0, weights)
        beta = xp.clip(_vector(flip_dual, problem.n_rows), 0.0, weights * flips)
        shrink = weights / xp.maximum(alpha + beta, weights)
        self.alpha, self.beta = alpha * shrink, beta * shrink

    def sides(self) -> tuple[float, float]:
        xp = cupy()
        one = xp.where(self.positive, self.alpha, self.beta).sum()
        return float(one), float(xp.where(self.positive, self.beta, self.alpha).sum())

    def shrink(self, one: float, other: float) -> None:
        self.alpha *= cupy().where(self.positive, one, other)
        self.beta *= cupy().where(self.positive, other, one)

    def totals(self, careful: bool = False) -> Totals:
        signed = (self.alpha - self.beta) * self.problem.device_signs
        mass = float(self.alpha.sum() + self.beta.sum())
        rounding = ROUNDING_OF_MASSES + ULP * (SUM_BLOCKS + self.problem.n_rows / SUM_BLOCKS)
        pull, turn = self.problem.signed_sum(signed)
        return Totals(mass, float((self.kappa * self.beta).sum()), pull, turn, rounding)

    def vectors(self) -> tuple[Any, Any]:
        return self.alpha, self.beta


def _vector(values, n: int) -> Any:
    return cupy().zeros(n) if values is None else on_device(values)
