"""ADMM for the classifier at a fixed λ.

    f(λ) = ε λ + min over ‖w‖_q ≤ λ and b of  Σ_i π_i φ(m_i) + (c/2) ‖w‖²,      φ(t) = max(1 − t, 1 + t − κλ, 0)

The margins are split, t_i = m_i, with multipliers π_i g_i. All samples are weighted by π_i, so a doubled weight acts
like a duplicated row:

    (w, b)  minimises  (c/2) ‖w‖² + Σ π_i (g_i m_i + (ρ/2) (m_i − t_i)²)  over  ‖w‖_q ≤ λ         (`ball_qp`)
    t_i     minimises  φ(t) − g_i t + (ρ/2) (t − m_i)²,     then  g_i += ρ (m_i − t_i)             (`kernels.admm`)

Every g is a slope of φ and represents multipliers α and β. By duality they bound f from below, not only at λ: they
define a line below f everywhere.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from drsvm.kernels import admm as kernel
from drsvm.model.problem import Problem
from drsvm.solvers.admm.ball_qp import Accelerated, BallQP, exact_way
from drsvm.solvers.admm.centred_rows import CentredRows
from drsvm.solvers.base import Candidate
from drsvm.solvers.incremental.epochs import UNLIMITED, affordable_flips
from drsvm.solvers.selection import MULTIPLICATION

FACTORISED_TO = 1000
"""Number of features up to which updates by factorisation are faster than by gradient steps."""

AFFORDABLE = 0.3
"""Share of the remaining time that the Gram matrix and its factorisation may take; updates also work without them."""

UNBALANCED, FIRST_BALANCE, LARGEST_CHANGE = 4.0, 10, 30.0
"""ρ changes if one residual is at least UNBALANCED times the other. The first check is after FIRST_BALANCE iterations,
the others follow at growing intervals. ρ changes by at most the factor LARGEST_CHANGE."""

FIRST_AVERAGE = 10
"""Number of iterations in the first average; each further average is twice as long."""


@dataclass(frozen=True)
class Line:
    """A line below f, proven by slopes g found at one λ."""

    level: float
    height: float  # at that λ
    tilt: float
    slopes: np.ndarray | None  # None: the line ελ, which needs no proof

    def at(self, level: float) -> float:
        """Return the height at another λ."""
        return self.height + self.tilt * (level - self.level)


class Average:
    """Mean of the slopes and their sums over recent iterations; ADMM's oscillations about the solution cancel there."""

    def __init__(self, n_rows: int, size: int):
        self.slopes, self.slope_sum = np.zeros(n_rows), np.zeros(size)
        self.count, self.length = 0, FIRST_AVERAGE

    def add(self, slopes, slope_sum) -> bool:
        """Add one iteration; return whether to evaluate the mean now."""
        if self.count == self.length:
            self.slopes[:], self.slope_sum[:] = 0.0, 0.0
            self.count, self.length = 0, 2 * self.length
        self.slopes += slopes
        self.slope_sum += slope_sum
        self.count += 1
        return self.count % FIRST_AVERAGE == 0


@dataclass
class Point:
    """The state of ADMM at one λ: the iterates, and the interval that contains f(λ)."""

    level: float
    rho: float
    weights: np.ndarray
    intercept: float
    split: np.ndarray  # t
    slopes: np.ndarray  # g
    split_sum: np.ndarray  # Σ π t y (x, 1)
    slope_sum: np.ndarray  # −Σ π g y (x, 1)
    line: Line
    average: Average
    upper: float = math.inf
    accuracy: float = 1.0  # distance of the margins from their split
    iteration: int = 0
    balance_at: int = FIRST_BALANCE

    @property
    def gap(self) -> float:
        """Length of the interval that contains f(λ)."""
        return self.upper - self.line.height


class Subproblem:
    """The data, prepared for ADMM iterations at any λ."""

    def __init__(self, problem: Problem, relaxation: float, update: str, seconds: float = math.inf):
        self.problem, self.relaxation = problem, relaxation
        self.signs, self.sample_weights = np.array(problem.signs, dtype=np.float64), np.array(problem.sample_weight)
        self.kappa, self.flips = affordable_flips(problem.flip_cost, problem.radius)
        self.rows = CentredRows(problem)
        self.decision, self.coefficients = np.empty(problem.n_rows), np.empty((2, problem.n_rows))
        self.quadratic = self._quadratic(update, seconds)
        self.large_weights = 100.0 / problem.typical_row_norm() if problem.radius == 0.0 else math.inf

    def _quadratic(self, update: str, seconds: float) -> BallQP:
        norm, l2, d = self.problem.norm, self.problem.l2, self.problem.n_features
        product = self.rows.curvature
        factorised = update == "auto" and d <= FACTORISED_TO
        affordable = self.rows.gram_seconds() + 5.0 * MULTIPLICATION * factorised * d**3 <= AFFORDABLE * seconds
        exact = update == "exact" or (factorised and affordable)
        if exact or (d * d <= self.rows.stored and affordable):
            matrix, noise = self.rows.gram()
            way = exact_way(norm) if exact else None
            if way is not None:
                return way(matrix, l2, noise)
            product = matrix.__matmul__
        return Accelerated(product, self.rows.largest_eigenvalue(product), l2, norm)

    def first_point(self, level: float, rho: float, start: Candidate | None) -> Point:
        """Return ADMM's starting point at λ: the origin, or a given classifier with its multipliers."""
        n, d = self.problem.X.shape
        weights, intercept = np.zeros(d), 0.0
        split, slopes = np.zeros(n), np.zeros(n)
        if start is not None:
            weights = np.array(start.weights)
            intercept = start.intercept
            split = self.problem.margins(weights, intercept)
            if start.hinge_dual is not None and start.flip_dual is not None:
                slopes = np.clip((start.flip_dual - start.hinge_dual) / self.sample_weights, -1.0, 1.0)
        return self._new_point(level, rho, weights, intercept, split, slopes)

    def moved(self, point: Point, level: float) -> Point:
        """Return a starting point at another λ from a given point; ρ grows for smaller λ, where margins are smaller."""
        rho = point.rho * max(point.level / (3.0 * level), 1.0)
        return self._new_point(level, rho, point.weights, point.intercept, point.split.copy(), point.slopes.copy())

    def _new_point(self, level, rho, weights, intercept, split, slopes) -> Point:
        signed = self.sample_weights * self.signs
        self.coefficients[:] = signed * split, -signed * slopes
        split_sum, slope_sum = self._sums()
        average = Average(len(split), len(split_sum))
        line = Line(level, self._priced(level), self.problem.radius, None)
        return Point(level, rho, weights, intercept, split, slopes, split_sum, slope_sum, line, average)

    def _sums(self) -> tuple[np.ndarray, np.ndarray]:
        """Return Σ c_i (x_i, 1) for both rows of coefficients."""
        total = self.rows.transposed_dot(self.coefficients)
        split_sum, slope_sum = np.vstack([total, self.coefficients.sum(axis=1)]).T
        return split_sum, slope_sum

    def iterate(self, point: Point) -> None:
        """Do one ADMM iteration."""
        right = point.rho * point.split_sum + point.slope_sum
        balance = right[-1] if self.problem.fit_intercept else 0.0
        point.weights = self.quadratic.solve(
            right[:-1] - balance * self.rows.mean, point.rho, point.level, point.weights, point.accuracy
        )
        if self.problem.fit_intercept:
            point.intercept = float(balance / point.rho - self.rows.mean @ point.weights)
        self.rows.dot(point.weights, self.decision)
        sums = kernel.update_samples(
            self.decision,
            point.intercept,
            self.signs,
            self.sample_weights,
            self.kappa,
            self._flip_level(point.level),
            point.rho,
            self.relaxation,
            point.split,
            point.slopes,
            self.coefficients,
        )
        point.split_sum, point.slope_sum = self._sums()
        point.iteration += 1
        self._bound(point, *sums[:3])
        if point.average.add(point.slopes, point.slope_sum):
            self._bound_by_average(point)
        self._balance(point, *np.sqrt(sums[3:]))

    def best_objective(self, point: Point) -> float:
        """Return the objective at the best λ for the classifier of the last iteration."""
        margins = self.signs * (self.decision + point.intercept)
        price = self.problem.radius_price(point.weights, margins)
        return self.problem.objective_at(point.weights, margins, price)

    def _priced(self, level: float) -> float:
        return self.problem.radius * level if self.problem.radius > 0 else 0.0  # λ may be infinite

    def _flip_level(self, level: float) -> Any:
        """Return κλ, inf where no flip is possible: a number, or one per row."""
        with np.errstate(over="ignore"):
            levels = np.where(self.flips, np.multiply(self.kappa, min(level, UNLIMITED)), math.inf)
        return float(levels) if levels.ndim == 0 else levels

    def _bound(self, point: Point, loss: float, mass: float, cost: float) -> None:
        """Update the interval of f(λ) and the line below f."""
        problem, w = self.problem, point.weights
        point.upper = min(point.upper, self._priced(point.level) + loss + 0.5 * problem.l2 * float(w @ w))
        height, tilt = self._line(point, point.slope_sum, mass, cost)
        if height > point.line.height:
            point.line = Line(point.level, height, tilt, point.slopes.copy())

    def _bound_by_average(self, point: Point) -> None:
        mean = point.average.slopes / point.average.count
        masses = kernel.masses(mean, self.sample_weights, self.kappa, self._flip_level(point.level))
        height, tilt = self._line(point, point.average.slope_sum / point.average.count, *masses)
        if height > point.line.height:
            point.line = Line(point.level, height, tilt, mean)

    def _reach(self, point: Point) -> float:
        """Return λ or, for radius = l2 = 0, the norm of the weights up to which a bound is sought."""
        if math.isfinite(point.level) or self.problem.l2 > 0.0:
            return point.level
        return max(2.0 * self.problem.norm.value(point.weights), self.large_weights)

    def _line(self, point: Point, slope_sum, mass: float, cost: float) -> tuple[float, float]:
        """Return the height at λ and the tilt of the line that the given slopes prove."""
        problem, level = self.problem, self._reach(point)
        v, imbalance = slope_sum[:-1], slope_sum[-1] * problem.fit_intercept
        rate = problem.radius - cost
        if problem.l2 > 0.0:
            best = problem.norm.project_ball(v / problem.l2, level)
            gained = float(v @ best) - 0.5 * problem.l2 * float(best @ best)
            pressure = problem.norm.dual.value(v - problem.l2 * best)
        else:
            pressure = problem.norm.dual.value(v)
            gained = level * pressure if pressure > 0.0 else 0.0
        # Without balance no bound holds for all b: assume intercepts of the current size.
        gained += abs(imbalance) * (1.0 + abs(point.intercept) + abs(self.rows.mean @ point.weights))
        return mass + (level * rate if rate != 0.0 else 0.0) - gained, rate - pressure

    def _balance(self, point: Point, apart, moved, margin_size, split_size, slope_size) -> None:
        """Change ρ, at some iterations, if the primal and dual residuals differ too much."""
        point.accuracy = max(min(apart, moved), 1e-12)
        primal = apart / max(margin_size, split_size, 1e-300)
        dual = point.rho * moved / max(slope_size, 1e-300)
        if point.iteration < point.balance_at or primal == dual == 0.0:
            return
        point.balance_at = point.iteration + max(FIRST_BALANCE, point.iteration // 2)
        ratio = min(primal / max(dual, 1e-300), 1e300)
        if not 1.0 / UNBALANCED < ratio < UNBALANCED:
            change = min(max(math.sqrt(ratio), 1.0 / LARGEST_CHANGE), LARGEST_CHANGE)
            point.rho = min(max(point.rho * change, 1e-9), 1e9)

    def add_multipliers(self, line: Line, share: float, hinge_dual, flip_dual) -> None:
        """Add share · (α, β), the multipliers of the slopes of a line."""
        if line.slopes is not None:
            flip_level = self._flip_level(line.level)
            kernel.multipliers(line.slopes, self.sample_weights, flip_level, share, hinge_dual, flip_dual)
