"""A run of the interior-point solver: the point, the cone of the norm, and the steps.

The engine eliminates the slacks s_i and their multipliers sample by sample, which
leaves one symmetric system in (w, b, λ). The complementarity products have the targets
μ·π_i, so a doubled weight acts like a duplicated row.
"""

from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import LinAlgError

from drsvm.certificate.dual_bound import best_dual_scaling
from drsvm.certificate.multipliers import DualSums
from drsvm.compiled import step_rules
from drsvm.engines.cpu import engine_for
from drsvm.engines.engine import Engine, Rates
from drsvm.engines.newton_matrix import Curvature, Factorised
from drsvm.problem.problem import Problem
from drsvm.problem.sampling import draw_sample
from drsvm.solvers.base import Candidate, Limits, State, share_of_way
from drsvm.solvers.interior_point.cones import cone_at
from drsvm.solvers.interior_point.newton import (
    OrthogonalSystem,
    newton_system,
    restored,
    solve_system,
)
from drsvm.solvers.interior_point.starts import (
    Start,
    cold_starts,
    rows_to_begin_with,
    start_at,
    weights_and_intercept,
)
from drsvm.solvers.selection import ITERATIONS, interior_point_seconds

if TYPE_CHECKING:
    from drsvm.solvers.interior_point.interior_point_solver import InteriorPoint

Direction = tuple[np.ndarray, float]  # (dw, db) and dλ
# what a careful run leaves behind at most, and its limit of n·d²: it is slow
NEGLIGIBLE_MASS = 1e-7
MAX_WORK = 3e7
# A numerical breakdown: an invalid number or factorisation
BREAKDOWNS = (
    ArithmeticError,
    LinAlgError,
)
# Certificates are tried at gaps of this size even if the tolerance is smaller
FINEST_TOL = 1e-10
# A certificate, which usually finds 55 to 90 % of the expected gap, is tried when that
# is at most this many tolerances; for small problems, where it costs little, when the
# gap on the central path, of which it finds a quarter or more, is.
PROMISING = 1.5
CHEAP = 2.0
# If the last proof left a gap so many times that on the central path, there is a dual
# residual
RESIDUAL = 1e3
# With a gap on the central path below DEEP, anything that does not shrink is due to
# rounding: first the dual residual, which is then removed where rows are few, and after
# this many certificates without improvement, the gap itself.
DEEP = 1e-5
FUTILE_PROOFS = 3
# If a run ends with a larger gap, more than rounding has gone wrong, and it restarts
# from another point. Restarts of a small problem cost nothing, so there they follow any
# gap above the tolerance.
LOST = 1e-6
# Early iterations divide the gap by more than late ones: about this power of the share
# of the way is linear in time (0.9 to 1.9 in trials at 1e-6 and 1e-8 with up to a
# million rows, more at looser tolerances).
SLOWER = 1.5


class InteriorPointState(State):
    """One run: the point (w, b, λ), the cone of the norm, and the engine that stores the samples."""

    # The problem on a few rows, if the start is from there
    drawn: Problem | None = None
    # Whether directions take no sums over the rows: that takes longer and loses fewer
    # digits
    compensated: bool = False
    draws_rows: bool = True  # whether a start may be computed on a few rows
    small: bool  # whether certificates cost little, and so do restarts
    weight: float  # sum of the complementarity targets of the samples, divided by μ
    # A certificate is tried when the expected gap is at most this many tolerances
    promising: float = PROMISING

    def __init__(
        self,
        problem: Problem,
        settings: "InteriorPoint",
        limits: Limits,
        engine: Engine | None = None,
        start: Start | None = None,
    ):
        self.problem = problem
        self.settings = settings
        self.limits = limits
        self.engine: Engine = engine or engine_for(
            problem, limits.n_threads, settings.state_folder
        )
        self.small = self.engine.small
        self.weight = self.engine.weight
        self.step_seconds = interior_point_seconds(self.problem) / ITERATIONS
        self.set_up(start)

    def set_up(self, start: Start | None = None) -> None:
        """Begin a run on the problem, at a given point or the most promising one."""
        self.ridge = np.full(
            self.problem.n_features + self.problem.fit_intercept, self.problem.l2
        )
        self.ridge[self.problem.n_features :] = 0.0
        self.cold_starts = cold_starts(self.problem)
        self.compensated = False
        if start is None and self.limits.start is not None:
            start = start_at(self.problem, self.limits.start)
        elif (
            start is None
            and self.draws_rows
            and (size := rows_to_begin_with(self.problem)) is not None
        ):
            self.drawn = draw_sample(self.problem, size)
            few = InteriorPointState(self.drawn, self.settings, self.limits)
            while few.mu > 0.1 and not few.finished:
                few.step()
            few.close()
            self.begin(few.point, few.lam, few.mu)
            objective = self.problem.radius * self.lam + self.engine.total_slack()
            # A few large rows that were not drawn may turn a good classifier into one
            # that is worse than none.
            if objective - 3.0 * self.mu < 1.0:
                return
        self.begin(*(start or next(self.cold_starts)))

    def begin(self, point, lam: float, mu: float) -> None:
        """Start at a point, with every complementarity product at its target."""
        self.point = point
        self.lam = lam
        self.mu = mu
        self.cone = cone_at(self.problem, point, lam, mu)
        # Σ of all complementarity targets, divided by μ
        self.total_weight = self.weight + self.cone.weight
        self._center()
        self.products = mu * self.weight
        self.last_gap = np.inf
        self.futile_proofs = 0
        self.short_steps = 0
        self.leeway = 1.0
        self.first_gap = mu * self.total_weight
        self.expected_gap = np.inf
        self.near_the_end = self.finished = False
        # The equations at the point, if they are known
        self.samples: Curvature | None = None
        self.sums: DualSums | None = None  # likewise the sums of the multipliers

    def _center(self) -> None:
        self.engine.center(self.point, self.lam, self.mu)

    # --- one iteration
    # ----------------------------------------------------------------------------------------------

    def step(self) -> None:
        """Do one predictor-corrector step.

        On numerical breakdown, keep the point and set `finished`.
        """
        try:
            with np.errstate(all="ignore"):
                self._step()
        except BREAKDOWNS:
            self.finished = True

    def _step(self) -> None:
        samples = self.samples or self.engine.curvature()[1]
        system = self._system(samples)

        predictor = self._solve(system, samples.predictor, samples.predictor_lam, 0.0)
        rates, ahead = self.engine.predict(*predictor)
        primal, dual = self._clip_steps(rates, 1.0)
        after = (
            self.products + primal * ahead.slack_change + dual * ahead.multiplier_change
        )
        after += primal * dual * ahead.both_change + self.cone.products_after(
            primal, dual
        )
        target = step_rules.aim(after, self.mu, self.total_weight)

        self.cone.correct()
        right = samples.predictor + target * ahead.targeted + ahead.correction
        right_lam = (
            samples.predictor_lam + target * ahead.targeted_lam + ahead.correction_lam
        )
        direction = self._solve(system, right, right_lam, target)
        rates = self.engine.longest_steps(*direction, target)
        steps = self._clip_steps(rates, self.settings.step_fraction)

        self._move(direction, steps, target)
        self.short_steps = step_rules.short_steps_after(self.short_steps, *steps)
        self.leeway = step_rules.next_leeway(self.leeway, min(steps))
        self.finished = self.short_steps >= step_rules.MAX_SHORT_STEPS
        self.near_the_end = self._gap_may_be_small()

    def _system(self, samples: Curvature) -> Factorised:
        if self.compensated:
            return OrthogonalSystem(
                self.problem, self.engine.of_rows, self.cone.scaling(), self.ridge
            )
        return newton_system(samples, self.cone.scaling(), self.ridge, self.engine)

    @property
    def _left_behind(self) -> float:
        """The weight that may stop short of a step."""
        many = self.problem.n_rows >= step_rules.MANY_ROWS
        if many:
            share = step_rules.LEFT_BEHIND_OF_MANY
        else:
            share = step_rules.LEFT_BEHIND
        if self.compensated:
            most = NEGLIGIBLE_MASS
        else:
            most = step_rules.MAX_LEFT_BEHIND
        return (
            step_rules.left_behind(self.leeway, self.mu, share, most) * self.engine.mass
        )

    def _solve(
        self, system: Factorised, samples: np.ndarray, samples_lam: float, target: float
    ) -> Direction:
        """Return the direction for the samples' part of the right-hand side, and pass it to the cone."""
        norm, norm_lam = self.cone.constant(target)
        right = -samples - self.ridge * self.point - norm
        direction, lam = solve_system(
            system, right, -(self.problem.radius + samples_lam + norm_lam)
        )
        self.cone.set_direction(direction, lam)
        return direction, lam

    def _clip_steps(self, rates: Rates, fraction: float) -> tuple[float, float]:
        """Return step lengths that keep the cone in the interior, and all samples that are not left behind."""
        followed = rates.tolerating(self._left_behind)
        steps = step_rules.longest_steps(
            followed, self.cone.rates(), fraction, self.problem.l2 > 0
        )
        if not steps[0] > 0.0:
            raise FloatingPointError("no step is possible")
        return steps

    def _move(
        self, direction: Direction, steps: tuple[float, float], target: float
    ) -> None:
        self.samples = self.sums = None
        primal, dual = steps
        left = step_rules.STOPPED * (1.0 - self.settings.step_fraction)
        step = min(steps)
        expected = (1.0 - step) * self.mu + step * target
        end_is_near = expected * self.total_weight <= PROMISING * max(
            self.limits.tol, FINEST_TOL
        )
        if (
            end_is_near and not self.small
        ):  # multipliers are more likely to be wanted than another matrix
            self.products, self.sums = self.engine.dual_sums(*steps, left)
        else:
            self.products, self.samples = self.engine.curvature(*steps, left)
        self.cone.move(primal, dual)
        self.point = self.point + primal * direction[0]
        self.lam += primal * direction[1]
        self.mu = (self.products + self.cone.products()) / self.total_weight

    # --- certificates
    # -----------------------------------------------------------------------------------------------

    def certificate_due(self) -> bool:
        """Return True if a certificate is worth its cost, about that of an iteration."""
        return self.limits.watched or self.near_the_end or self.compensated

    @property
    def central_gap(self) -> float:
        """The gap that there would be on the central path, without a dual residual."""
        return self.mu * self.total_weight

    def share_done(self) -> float:
        return (
            share_of_way(
                self.first_gap, self.central_gap, max(self.limits.tol, FINEST_TOL)
            )
            ** SLOWER
        )

    def _gap_may_be_small(self) -> bool:
        """Return True if a certificate should be tried: the looser the tolerance, the sooner."""
        tol = max(self.limits.tol, FINEST_TOL)
        if self.small:
            return self.mu * self.total_weight <= CHEAP * tol
        if self.central_gap > PROMISING * tol:
            return False
        last = self.expected_gap
        self.expected_gap = self._expected_gap()
        residual_stays = self.central_gap <= DEEP and self.expected_gap > 0.5 * last
        return self.expected_gap <= self.promising * tol or residual_stays

    def _expected_gap(self) -> float:
        """Return the gap a certificate would find for the current λ and slacks, up to rounding, at half the cost."""
        problem = self.problem
        rows, mass, flip_cost = self.sums or self.engine.dual_sums()[1]
        w, b = weights_and_intercept(problem, self.point)
        v = rows[:, 0] - rows[:, 1]
        margins = float(v @ w) + float(mass[0] - mass[1]) * b
        objective = (
            self.products
            + float(mass.sum())
            - margins
            + 0.5 * problem.l2 * float(w @ w)
        )
        if problem.radius > 0:
            objective += self.lam * (problem.radius - float(flip_cost.sum()))
        elif problem.l2 == 0:
            return objective - float(mass.sum())
        bound = -np.inf
        if not problem.fit_intercept or problem.prices_intercept:
            v0 = float(mass[0] - mass[1])
            bound = best_dual_scaling(
                problem, float(mass.sum()), float(flip_cost.sum()), v, v0, w
            )[1]
        if problem.fit_intercept:
            keep = mass.min() / np.maximum(mass, 1e-300)
            v = rows @ (keep * (1.0, -1.0))
            mass = keep * mass
            flip_cost = keep * flip_cost
            bound = max(
                bound,
                best_dual_scaling(
                    problem, float(mass.sum()), float(flip_cost.sum()), v, 0.0, w
                )[1],
            )
        return objective - bound

    def candidate(self) -> Candidate:
        residual_counts = (
            self.compensated
            or self.futile_proofs > 0
            or RESIDUAL * self.central_gap < self.last_gap < np.inf
        )
        if self.small and residual_counts:
            alpha, beta = self._restored_multipliers()
        else:
            alpha, beta = self._multipliers()
        return Candidate(*weights_and_intercept(self.problem, self.point), alpha, beta)

    def on_certificate(self, gap: float) -> None:
        """Record the proven gap.

        If it no longer improves, finish or restart from the origin.
        """
        if self.near_the_end and self.central_gap <= DEEP:
            if gap > 0.7 * self.last_gap:
                self.futile_proofs = self.futile_proofs + 1
            else:
                self.futile_proofs = 0
            self.finished |= self.futile_proofs > FUTILE_PROOFS * (
                4 if self.compensated else 1
            )
            self.last_gap = min(gap, self.last_gap)
        if self.finished and gap > max(
            self.limits.accepted, 0.0 if self.small else LOST
        ):
            for start in self.cold_starts:
                few = (
                    self.small
                    and self.problem.n_rows * self.problem.n_features**2 <= MAX_WORK
                )
                self.compensated = few and self.engine.of_rows is not None
                self.begin(*start)
                break

    def _restored_multipliers(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the multipliers without the dual residual due to rounding."""
        try:
            with np.errstate(all="ignore"):
                system = self._system(self.samples or self.engine.curvature()[1])
                # The residuals of the optimality conditions in (w, b) and in λ,
                # computed from scratch.
                rows, mass, flip_cost = self.sums or self.engine.dual_sums()[1]
                norm, norm_lam = self.cone.multipliers()
                residual = self.ridge * self.point
                d = self.problem.n_features
                residual[:d] -= rows[:, 0] - rows[:, 1]
                residual[d:] -= mass[0] - mass[1]
                residual += norm
                radius = self.problem.radius
                if radius > 0:
                    residual_lam = radius - float(flip_cost.sum()) + norm_lam
                else:
                    residual_lam = 0.0
                direction, lam = solve_system(system, -residual, -residual_lam)
                if np.isfinite(direction).all():
                    return restored(self.problem, self.engine.of_rows, direction, lam)
        except BREAKDOWNS:
            pass
        return self._multipliers()

    def _multipliers(self) -> tuple[np.ndarray, np.ndarray]:
        return self.engine.multipliers()

    def close(self) -> None:
        """Close the engine, unless it has been released."""
        if "engine" in vars(self):
            self.engine.close()

    def release(self) -> None:
        """Close the run and free what it knows about the rows: it takes no further step."""
        self.close()
        del self.engine
        self.samples = self.sums = None
