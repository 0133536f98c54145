"""Interior point: proven optima, at one small factorisation per iteration.

A primal-dual predictor-corrector method for

    minimise    ε λ + Σ π_i s_i + (c/2) ‖w‖²
    subject to  s_i ≥ 1 − m_i,   s_i ≥ 1 + m_i − κλ,   s_i ≥ 0,   ‖w‖_q ≤ λ.

The slacks s_i and their multipliers are eliminated sample by sample inside the engine; what is left is one symmetric
system in (w, b, λ). Complementarity products are aimed at μ·π_i, so a doubled weight acts as a doubled row.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError

from drsvm.engines.cpu import CpuEngine
from drsvm.problem import Problem
from drsvm.solvers.base import Candidate, Limits, Solver, State
from drsvm.solvers.cones import cone_for
from drsvm.solvers.newton import newton_system

SHORTEST_STEP = 1e-10
"""A direction that allows no more than this is rounding noise."""

RESTORATIONS = 2

MOST_PROOFS = 5
"""A gap that should be small enough, but cannot be proven this many times, is a matter of rounding."""


@dataclass(frozen=True)
class InteriorPoint(Solver):
    """Settings of the interior point.

    Attributes
    ----------
    step_fraction : float
        Share of the way to the boundary that a step may go.
    """

    name = "interior-point"
    default_tol = 1e-8
    default_max_iter = 200

    step_fraction: float = 0.98

    def start(self, problem: Problem, limits: Limits) -> "InteriorPointState":
        """Prepare a run."""
        return InteriorPointState(problem, self, limits)


class InteriorPointState(State):
    """One run: the point (w, b, λ), the cone of the norm, and the engine that holds the samples."""

    def __init__(self, problem: Problem, settings: InteriorPoint, limits: Limits):
        self.problem, self.settings, self.limits = problem, settings, limits
        self.engine = CpuEngine(problem, limits.n_threads)
        self.ridge = np.zeros(self.engine.n_linear)
        self.ridge[: problem.n_features] = problem.l2
        self.samples_weight = 3.0 if self.engine.flips else 2.0
        self.begin(*self._first_point())

    def _first_point(self):
        import os
        n_sub=int(os.environ.get('NSUB','0')); mu_end=float(os.environ.get('MUEND','1e-2')); f=float(os.environ.get('MUF','1'))
        if self.limits.start is None and n_sub and self.problem.n_rows >= 5 * n_sub:
            rows = np.sort(np.random.default_rng(0).choice(self.problem.n_rows, n_sub, replace=False))
            import dataclasses
            sub = InteriorPointState(self.problem.subset(rows), self.settings, self.limits)
            k=0
            while sub.mu > mu_end:
                sub.step(); k+=1
            sh=float(os.environ.get('SH','1')); return sub.point*sh, sub.level*float(os.environ.get('LV','1')), sub.mu*f
        return np.zeros(self.engine.n_linear), 1.0, 1.0

    def begin(self, point, level: float, mu: float) -> None:
        """Start at a point with every complementarity product on its target."""
        self.point, self.level, self.mu = point, level, mu
        w = point[: self.problem.n_features]
        self.cone = cone_for(self.problem.norm, self.problem.radius)(w, level, mu)
        self.engine.center(point, level, mu)
        self.products = mu * self.samples_weight
        self.dual_residual = self._cost_of_dual_residual()
        self.proofs_tried = 0

    def _dual_residual(self) -> tuple[np.ndarray, float]:
        """Return the residuals of the optimality conditions in (w, b) and in λ, computed afresh."""
        total, flipped = self.engine.dual_sum()
        norm, norm_level = self.cone.multipliers()
        residual = total + self.ridge * self.point
        residual[: len(norm)] += norm
        with_level = self.cone.weight > 0
        return residual, (self.problem.radius - self.engine.kappa * flipped + norm_level if with_level else 0.0)

    def _cost_of_dual_residual(self) -> float:
        """Return what the dual residual costs in the lower bound (l2 = 0); every dual step shrinks it in proportion."""
        residual, residual_level = self._dual_residual()
        d = self.problem.n_features
        size = self.problem.norm.dual_value(residual[:d]) + abs(float(residual[d:].sum())) * self.level
        return (size + abs(residual_level)) / max(self.problem.radius, 1e-12)

    def restore_dual(self) -> None:
        """Take the dual residual that rounding has left out of the multipliers."""
        system = newton_system(self.engine.curvature(), self.cone.scaling(), self.ridge)
        for _ in range(RESTORATIONS):
            residual, residual_level = self._dual_residual()
            direction, level = system.solve(-residual, -residual_level)
            if not np.isfinite(direction).all():
                return
            step = self.engine.restore(direction, level)
            self.cone.restore(direction[: self.problem.n_features], level, step)
            self.point = self.point + step * direction
            self.level += step * level

    def step(self) -> None:
        """Do one predictor-corrector step; where arithmetic gives out, stay and say so."""
        try:
            with np.errstate(all="ignore"):
                self._step()
        except (ArithmeticError, LinAlgError):
            self.finished = True

    def _step(self) -> None:
        samples = self.engine.curvature()
        system = newton_system(samples, self.cone.scaling(), self.ridge)

        right, right_level = self._right_hand_side(samples.predictor, samples.predictor_level, 0.0, correct=False)
        predictor, predictor_level = system.solve(right, right_level)
        self.cone.set_direction(predictor[: self.problem.n_features], predictor_level)
        ahead = self.engine.predict(predictor, predictor_level)
        target = self._target(ahead)

        right, right_level = self._right_hand_side(
            samples.predictor + ahead.correction + target * ahead.targeted,
            samples.predictor_level + ahead.correction_level + target * ahead.targeted_level,
            target,
            correct=True,
        )
        direction, level = system.solve(right, right_level)
        self.cone.set_direction(direction[: self.problem.n_features], level)
        rates = self.engine.longest_steps(direction, level, predictor_level, target)
        primal, dual = self._clip_steps(*rates, self.settings.step_fraction)
        self._move(direction, level, primal, dual)

    @property
    def total_weight(self) -> float:
        """Sum of all complementarity targets, over μ."""
        return self.samples_weight + self.cone.weight

    def _right_hand_side(self, samples, samples_level: float, target: float, correct: bool):
        """Return minus the constants of the Newton equations: samples, ridge, norm and radius."""
        norm, norm_level = self.cone.constant(target, correct)
        right = -samples - self.ridge * self.point
        right[: len(norm)] -= norm
        constant = self.problem.radius if self.cone.weight > 0 else 0.0
        return right, -(constant + samples_level + norm_level)

    def _target(self, ahead) -> float:
        """Return σμ with Mehrotra's σ = (μ after the predictor / μ)³."""
        primal, dual = self._clip_steps(ahead.primal_rate, ahead.dual_rate, 1.0)
        after = self.products + primal * ahead.slack_change + dual * ahead.multiplier_change
        after += primal * dual * ahead.both_change + self.cone.products_after(primal, dual)
        ratio = max(after, 0.0) / (self.mu * self.total_weight)
        return min(ratio, 1.0) ** 3 * self.mu

    def _clip_steps(self, primal_rate: float, dual_rate: float, fraction: float) -> tuple[float, float]:
        """Return step lengths that keep samples and cone inside; a ridge ties the two together."""
        cone_primal, cone_dual = self.cone.rates()
        primal = min(1.0, fraction / max(primal_rate, cone_primal, 1e-300))
        dual = min(1.0, fraction / max(dual_rate, cone_dual, 1e-300))
        if self.problem.l2 > 0:
            primal = dual = min(primal, dual)
        if not min(primal, dual) > SHORTEST_STEP:
            raise FloatingPointError("no step is left")
        return primal, dual

    def _move(self, direction, level: float, primal: float, dual: float) -> None:
        self.products = self.engine.move(primal, dual)
        self.cone.move(primal, dual)
        self.point = self.point + primal * direction
        self.level += primal * level
        self.mu = (self.products + self.cone.products()) / self.total_weight
        self.dual_residual *= 1.0 - dual

    def certificate_due(self) -> bool:
        """Say whether the gap may be small enough to be proven."""
        small_residual = self.problem.l2 > 0 or self.dual_residual <= 2.0 * self.limits.tol
        return small_residual and self.mu * self.total_weight <= 2.0 * self.limits.tol

    def candidate(self) -> Candidate:
        """Return the current classifier and multipliers."""
        if self.certificate_due():
            if self.proofs_tried > 0:
                self.restore_dual()
            self.proofs_tried += 1
            self.finished = self.proofs_tried >= MOST_PROOFS
        alpha, beta = self.engine.multipliers()
        d = self.problem.n_features
        return Candidate(self.point[:d], float(self.point[d]) if self.engine.intercept else 0.0, alpha, beta)

    def close(self) -> None:
        """End the engine's threads."""
        self.engine.close()
