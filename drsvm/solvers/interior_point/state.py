"""A run of the interior-point solver: the point, the cone of the norm, and the steps.

The engine eliminates the slacks s_i and their multipliers sample by sample, which
leaves one symmetric system in (w, b, λ). The complementarity products have the targets
μ·π_i, so a doubled weight acts like a duplicated row. The sequence of an iteration is
described in `engines/engine.py`.

**Centrality.** At a start, and near enough during a run, all products are on the
central path of one μ: every multiplier times its slack is μ times its weight. The gap
of the point is then μ times the sum of these weights, `central_gap`, except for a dual
residual. Steps may differ for slacks and multipliers (with a ridge they must not), keep
a fraction of the distance to the boundary, and aim at a μ that the predictor suggests.
A small weight of samples may be left behind: among many samples some always cross a
kink of their loss, where the linearisation is meaningless, and they would stop all
others. They stop short on their own, and the next steps remove the dual residual that
this causes (`compiled/step_rules.py`).
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError

from drsvm.certificate.dual_bound import best_dual_scaling
from drsvm.certificate.multipliers import DualSums
from drsvm.compiled import step_rules
from drsvm.engines.cpu import engine_for
from drsvm.engines.engine import Engine, Rates, Steps
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

# A direction: (dw, db) and dλ
Direction = tuple[np.ndarray, float]

# The fraction of the distance to the boundary that a step may cover
STEP_FRACTION = 0.98
# A compensated run, whose directions come from an orthogonal factorisation, leaves
# behind at most this share of the weight. It is slow, so n·d² is limited.
NEGLIGIBLE_MASS = 1e-7
MAX_WORK = 3e7
# A numerical breakdown: an invalid number or factorisation
BREAKDOWNS = (ArithmeticError, LinAlgError)
# Certificates are tried at gaps of this size even if the tolerance is smaller.
FINEST_TOL = 1e-10
# When a certificate is tried. It usually proves 55 to 90 % of the expected gap, so that
# may be PROMISING times the tolerance. On few rows, where a certificate costs little,
# the gap on the central path, of which it proves a quarter or more, may be CHEAP times.
PROMISING = 1.5
CHEAP = 2.0
# If the last proof left a gap this many times that on the central path, there is a dual
# residual.
RESIDUAL = 1e3
# With a gap on the central path below DEEP, anything that does not shrink is due to
# rounding: first the dual residual, which is then removed where rows are few, and after
# this many certificates without improvement, the gap itself. A compensated run is more
# patient. No improvement is a gap of more than IMPROVED times the last one.
DEEP = 1e-5
FUTILE_PROOFS = 3
FUTILE_COMPENSATED_PROOFS = 12
IMPROVED = 0.7
# A residual that does not shrink: the expected gap is more than this share of the last
STUCK = 0.5
# If a run ends with a larger gap, more than rounding has gone wrong, and it restarts
# from another point. Restarts on few rows cost nothing, so there they follow any gap
# above the tolerance.
LOST = 1e-6
# A start on few rows ends at this μ: what is left is for the run on all rows.
ROUGH_MU = 0.1
# Early iterations divide the gap by more than late ones: about this power of the share
# of the way is linear in time (0.9 to 1.9 in trials at 1e-6 and 1e-8 with up to a
# million rows, more at looser tolerances).
SLOWER = 1.5


@dataclass(frozen=True)
class StepSettings:
    """What the steps of a run depend on; see `InteriorPoint`."""

    step_fraction: float = STEP_FRACTION
    state_folder: str | None = None


class InteriorPointState(State):
    """One run: the point (w, b, λ), the cone of the norm, and the engine."""

    drawn: Problem | None = None
    """The problem on a few rows, if the start is from there."""

    compensated: bool = False
    """Whether directions come from an orthogonal factorisation of the rows.

    It takes longer than sums over the rows, and loses fewer digits.
    """

    draws_rows: bool = True
    """Whether a start may be computed on a few rows."""

    small: bool
    """Whether certificates cost little, and so do restarts."""

    weight: float
    """The sum of the complementarity targets of the samples, divided by μ."""

    promising: float = PROMISING
    """A certificate is tried if the expected gap is at most this many tolerances."""

    def __init__(
        self,
        problem: Problem,
        limits: Limits,
        start: Start | None = None,
        settings: StepSettings | None = None,
        engine: Engine | None = None,
    ):
        self.problem = problem
        self.limits = limits
        self.settings = settings or StepSettings()
        if engine is None:
            state_folder = self.settings.state_folder
            engine = engine_for(problem, limits.n_threads, state_folder)
        self.engine: Engine = engine
        self.small = engine.small
        self.weight = engine.weight
        self.step_seconds = interior_point_seconds(problem) / ITERATIONS
        self.set_up(start)

    # --- starts

    def set_up(self, start: Start | None = None) -> None:
        """Begin a run on the problem, at a given point or the most promising one."""
        problem = self.problem
        self.ridge = np.zeros(problem.n_features + problem.fit_intercept)
        self.ridge[: problem.n_features] = problem.l2
        self.cold_starts = cold_starts(problem)
        self.compensated = False
        if start is None and self.limits.start is not None:
            start = start_at(problem, self.limits.start)
        elif start is None and self.draws_rows and self._begin_from_few_rows():
            return
        self.begin(*(start or next(self.cold_starts)))

    def _begin_from_few_rows(self) -> bool:
        """Begin at a rough solution of a few rows; return whether that helps.

        If not, the caller begins elsewhere.
        """
        size = rows_to_begin_with(self.problem)
        if size is None:
            return False
        self.drawn = draw_sample(self.problem, size, quickly=True)
        few = InteriorPointState(self.drawn, self.limits, settings=self.settings)
        while few.mu > ROUGH_MU and not few.finished:
            few.step()
        few.close()
        self.begin(few.point, few.lam, few.mu)
        objective = self.problem.radius * self.lam + self.engine.total_slack()
        # A few large rows that were not drawn may turn a good classifier into one that
        # is worse than none, with an objective above 1. Centred slacks exceed the
        # losses, by about 3μ in all.
        return objective - 3.0 * self.mu < 1.0

    def begin(self, point, lam: float, mu: float) -> None:
        """Start at a point, with every complementarity product at its target."""
        self.point = point
        self.lam = lam
        self.mu = mu
        self.cone = cone_at(self.problem, point, lam, mu)
        # Σ of all complementarity targets, divided by μ
        self.total_weight = self.weight + self.cone.weight
        self._center()
        # Σ multiplier · slack of the samples
        self.products = mu * self.weight
        # The smallest proven gap, and how many certificates have not improved it
        self.last_gap = np.inf
        self.futile_proofs = 0
        # See `step_rules`
        self.short_steps = 0
        self.leeway = 1.0
        # For `share_done` and `certificate_due`
        self.first_gap = mu * self.total_weight
        self.expected_gap = np.inf
        self.near_the_end = False
        self.finished = False
        # The equations and the sums of the multipliers at the point, if known
        self.samples: Curvature | None = None
        self.sums: DualSums | None = None

    def _center(self) -> None:
        """Set slacks and multipliers of the samples to the central path of μ."""
        self.engine.center(self.point, self.lam, self.mu)

    # --- one iteration

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
        """Take the six numbered steps of an iteration (see `Engine`)."""
        # 1. Equations
        samples = self._equations()
        system = self._system(samples)

        # 2. Predictor
        predictor = self._solve(system, samples.predictor, samples.predictor_lam, 0.0)
        rates, ahead = self.engine.predict(*predictor)
        primal, dual = self._clip_steps(rates, 1.0)

        # 3. Target
        products = self.products + primal * ahead.slack_change
        products += dual * ahead.multiplier_change
        of_cone = self.cone.products_after(primal, dual)
        products += primal * dual * ahead.both_change + of_cone
        target = step_rules.aim(products, self.mu, self.total_weight)

        # 4. Corrector
        self.cone.correct()
        right = samples.predictor + target * ahead.targeted + ahead.correction
        right_lam = samples.predictor_lam + target * ahead.targeted_lam
        right_lam += ahead.correction_lam
        direction = self._solve(system, right, right_lam, target)

        # 5. Step lengths
        rates = self.engine.longest_steps(*direction, target)
        steps = self._clip_steps(rates, self.settings.step_fraction)

        # 6. Move
        self._move(direction, steps, target)
        self.short_steps = step_rules.short_steps_after(self.short_steps, *steps)
        self.leeway = step_rules.next_leeway(self.leeway, min(steps))
        self.finished = self.short_steps >= step_rules.MAX_SHORT_STEPS
        self.near_the_end = self._gap_may_be_small()

    def _equations(self) -> Curvature:
        """Return the samples' part of the Newton equations at the point."""
        return self.samples or self.engine.curvature()[1]

    def _system(self, samples: Curvature) -> Factorised:
        """Return the factorised Newton matrix."""
        cone = self.cone.scaling()
        if self.compensated:
            states = self.engine.states
            return OrthogonalSystem(self.problem, states, cone, self.ridge)
        return newton_system(samples, cone, self.ridge, self.engine)

    def _solve(
        self, system: Factorised, samples: np.ndarray, samples_lam: float, target: float
    ) -> Direction:
        """Return the direction for the samples' part of the right-hand side.

        The cone keeps what it means for its slacks and multipliers.
        """
        norm, norm_lam = self.cone.constant(target)
        right = -samples - self.ridge * self.point - norm
        right_lam = -(self.problem.radius + samples_lam + norm_lam)
        direction, lam = solve_system(system, right, right_lam)
        self.cone.set_direction(direction, lam)
        return direction, lam

    @property
    def _left_behind(self) -> float:
        """The weight that may stop short of a step."""
        if self.problem.n_rows >= step_rules.MANY_ROWS:
            share = step_rules.LEFT_BEHIND_OF_MANY
        else:
            share = step_rules.LEFT_BEHIND
        if self.compensated:
            most = NEGLIGIBLE_MASS
        else:
            most = step_rules.MAX_LEFT_BEHIND
        behind = step_rules.left_behind(self.leeway, self.mu, share, most)
        return behind * self.engine.mass

    def _clip_steps(self, rates: Rates, fraction: float) -> tuple[float, float]:
        """Return step lengths that keep the cone in the interior.

        They keep all samples there, too, that are not left behind.
        """
        followed = rates.tolerating(self._left_behind)
        equal = self.problem.l2 > 0
        steps = step_rules.longest_steps(followed, self.cone.rates(), fraction, equal)
        if not steps[0] > 0.0:
            raise FloatingPointError("no step is possible")
        return steps

    def _move(
        self, direction: Direction, steps: tuple[float, float], target: float
    ) -> None:
        """Move along the direction: the samples, the cone, the point and λ."""
        primal, dual = steps
        self.samples = None
        self.sums = None
        left = step_rules.STOPPED * (1.0 - self.settings.step_fraction)
        step = min(steps)
        expected_mu = (1.0 - step) * self.mu + step * target
        aim = PROMISING * max(self.limits.tol, FINEST_TOL)
        if not self.small and expected_mu * self.total_weight <= aim:
            # Sums of multipliers are more likely to be wanted than another matrix.
            self.products, self.sums = self.engine.dual_sums(Steps(*steps, left))
        else:
            self.products, self.samples = self.engine.curvature(Steps(*steps, left))
        self.cone.move(primal, dual)
        self.point = self.point + primal * direction[0]
        self.lam += primal * direction[1]
        self.mu = (self.products + self.cone.products()) / self.total_weight

    # --- certificates

    def certificate_due(self) -> bool:
        """Return whether a certificate is worth its cost, that of an iteration."""
        return self.limits.watched or self.near_the_end or self.compensated

    @property
    def central_gap(self) -> float:
        """The gap that there would be on the central path, without a dual residual."""
        return self.mu * self.total_weight

    def share_done(self) -> float:
        tol = max(self.limits.tol, FINEST_TOL)
        return share_of_way(self.first_gap, self.central_gap, tol) ** SLOWER

    def _gap_may_be_small(self) -> bool:
        """Return whether to try a certificate: the looser the tolerance, the sooner."""
        tol = max(self.limits.tol, FINEST_TOL)
        if self.small:
            return self.central_gap <= CHEAP * tol
        if self.central_gap > PROMISING * tol:
            return False
        last = self.expected_gap
        self.expected_gap = self._expected_gap()
        residual_stays = self.central_gap <= DEEP and self.expected_gap > STUCK * last
        return self.expected_gap <= self.promising * tol or residual_stays

    def _sums_of_multipliers(self) -> DualSums:
        """Return the sums of the multipliers at the point."""
        return self.sums or self.engine.dual_sums()[1]

    def _expected_gap(self) -> float:
        """Return the gap that a certificate would find, up to rounding.

        It is that of the current λ and slacks, at half the cost of a certificate.
        """
        problem = self.problem
        rows, masses, flip_costs = self._sums_of_multipliers()
        w, b = weights_and_intercept(problem, self.point)
        v = rows[:, 0] - rows[:, 1]
        v0 = float(masses[0] - masses[1])
        mass = float(masses.sum())
        flip_cost = float(flip_costs.sum())
        # 1. The objective ε λ + Σ π s + (c/2) ‖w‖², where the definition of the slacks
        # gives Σ π s = Σ multiplier · slack + Σ (α + β) − v·w − v₀ b − λ Σ κβ
        objective = self.products + mass - (float(v @ w) + v0 * b)
        objective += 0.5 * problem.l2 * float(w @ w)
        if problem.charges_norm:
            objective += self.lam * (problem.radius - flip_cost)
        elif problem.l2 == 0:
            return objective - mass

        # 2. The best bound of the multipliers, balanced or not
        bound = -np.inf
        if not problem.fit_intercept or problem.has_intercept_cost:
            bound = best_dual_scaling(problem, mass, flip_cost, v, v0, w)[1]
        if problem.fit_intercept:
            # A free intercept requires balance: the larger side is scaled down.
            keep = masses.min() / np.maximum(masses, 1e-300)
            v = rows @ (keep * (1.0, -1.0))
            mass = float((keep * masses).sum())
            flip_cost = float((keep * flip_costs).sum())
            balanced = best_dual_scaling(problem, mass, flip_cost, v, 0.0, w)[1]
            bound = max(bound, balanced)
        return objective - bound

    def candidate(self) -> Candidate:
        """Return the point and its multipliers.

        On few rows a dual residual that counts is removed from them.
        """
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
        """Record the proven gap; if it no longer improves, finish or restart."""
        if self.near_the_end and self.central_gap <= DEEP:
            if gap > IMPROVED * self.last_gap:
                self.futile_proofs += 1
            else:
                self.futile_proofs = 0
            if self.compensated:
                patience = FUTILE_COMPENSATED_PROOFS
            else:
                patience = FUTILE_PROOFS
            self.finished |= self.futile_proofs > patience
            self.last_gap = min(gap, self.last_gap)
        # A run that has ended too early begins again.
        bearable = 0.0 if self.small else LOST
        if self.finished and gap > max(self.limits.accepted, bearable):
            self._restart()

    def _restart(self) -> None:
        """Begin at the next cold start, if there is one, with more care on few rows."""
        start = next(self.cold_starts, None)
        if start is None:
            return
        work = self.problem.n_rows * self.problem.n_features**2
        few = self.small and work <= MAX_WORK
        self.compensated = few and self.engine.states is not None
        self.begin(*start)

    def _restored_multipliers(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the multipliers without the dual residual due to rounding."""
        try:
            with np.errstate(all="ignore"):
                direction, lam = self._direction_of_residual()
                if np.isfinite(direction).all():
                    return restored(self.problem, self.engine.states, direction, lam)
        except BREAKDOWNS:
            pass
        return self._multipliers()

    def _direction_of_residual(self) -> Direction:
        """Return the direction that removes the residuals of the optimality conditions.

        The residuals in (w, b) and in λ are computed from scratch.
        """
        system = self._system(self._equations())
        rows, masses, flip_costs = self._sums_of_multipliers()
        norm, norm_lam = self.cone.multipliers()
        d = self.problem.n_features
        residual = self.ridge * self.point
        residual[:d] -= rows[:, 0] - rows[:, 1]
        residual[d:] -= masses[0] - masses[1]
        residual += norm
        residual_lam = 0.0
        if self.problem.charges_norm:
            residual_lam = self.problem.radius - float(flip_costs.sum()) + norm_lam
        return solve_system(system, -residual, -residual_lam)

    def _multipliers(self) -> tuple[np.ndarray, np.ndarray]:
        """Return α and β of all rows."""
        return self.engine.multipliers()

    # --- the end

    def close(self) -> None:
        """Close the engine, unless it has been released."""
        if "engine" in vars(self):
            self.engine.close()

    def release(self) -> None:
        """Close the run, which takes no further step, and free its memory."""
        self.close()
        del self.engine
        self.samples = None
        self.sums = None
