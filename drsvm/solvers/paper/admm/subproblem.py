"""ADMM for the classifier at a fixed λ.

    f(λ) = ε λ + min over ‖w‖_q ≤ λ and b of  Σ_i π_i φ(m_i) + (c/2) ‖w‖²,
    φ(t) = max(1 − t, 1 + t − κλ, 0)

The margins are split, t_i = m_i, with multipliers π_i g_i. All samples are weighted by
π_i, so a doubled weight acts like a duplicated row:

    (w, b)  minimises  (c/2) ‖w‖² + Σ π_i (g_i m_i + (ρ/2) (m_i − t_i)²)
            over  ‖w‖_q ≤ λ                                            (`ball_qp.py`)
    t_i     minimises  φ(t) − g_i t + (ρ/2) (t − m_i)²
    g_i     increases by  ρ (m_i − t_i)                       (`compiled/admm.py`)

Every g is a slope of φ and represents multipliers α and β. By duality they bound f from
below, not only at λ: they define a line below f everywhere.

The steps are those of the paper's ADMM (Appendix C, "ADMM for solving w-subproblem"),
with over-relaxation, a ridge and an intercept, and with a ρ that balances the residuals
instead of growing steadily.

References
----------
S. Boyd, N. Parikh, E. Chu, B. Peleato, J. Eckstein, Distributed Optimization and
Statistical Learning via the Alternating Direction Method of Multipliers, Foundations
and Trends in Machine Learning 3(1), 2011: sections 3.4.1 (ρ) and 3.4.3
(over-relaxation).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse import linalg as sparse_linalg

from drsvm.compiled import admm as kernel
from drsvm.problem.memory_rows import MemoryRows
from drsvm.problem.problem import Problem
from drsvm.problem.risk import affordable_flips
from drsvm.problem.row_sums import typical_row_norm
from drsvm.solvers.base import Candidate
from drsvm.solvers.paper.admm.ball_qp import EXACT, Accelerated, BallQP
from drsvm.solvers.paper.incremental.epochs import UNLIMITED
from drsvm.solvers.selection import (
    MULTIPLICATION,
    SPARSE_MULTIPLICATION,
)
from drsvm.utils.parallel import row_blocks

# Number of features up to which updates by factorisation are faster than by gradient
# steps
FACTORISED_TO = 1000
# Updates are exact only if preparing them takes at most this share of the time limit
SHARE_OF_TIME = 0.3
# Ratio of the residuals from which ρ changes, and by which factor at most
UNBALANCED = 4.0
LARGEST_CHANGE = 30.0
# Iterations before they are compared first; later, this is done at growing intervals
FIRST_BALANCE = 10
# Number of iterations in the first average; each further average is twice as long
FIRST_AVERAGE = 10


@dataclass(frozen=True, eq=False)
class Line:
    """A line below f, proven by slopes g of the losses that were found at one λ."""

    lam: float
    height: float  # at that λ
    tilt: float  # by how much the line rises per unit of λ
    slopes: np.ndarray | None  # None: the line ελ, which needs no proof

    def at(self, lam: float) -> float:
        """Return the height at λ."""
        return self.height + self.tilt * (lam - self.lam)


class Average:
    """Mean of the slopes and of −Σ π g y (x, 1) over recent iterations.

    ADMM's oscillations about the solution cancel there.
    """

    def __init__(self, n_rows: int, size: int):
        self.slopes = np.zeros(n_rows)
        self.slope_sum = np.zeros(size)
        self.count = 0
        self.length = FIRST_AVERAGE

    def add(self, slopes, slope_sum) -> bool:
        """Add one iteration; return whether to evaluate the mean now."""
        if self.count == self.length:
            self.slopes[:] = 0.0
            self.slope_sum[:] = 0.0
            self.count = 0
            self.length = 2 * self.length
        self.slopes += slopes
        self.slope_sum += slope_sum
        self.count += 1
        return self.count % FIRST_AVERAGE == 0


@dataclass(eq=False)
class Trial:
    """The state of ADMM at one λ: the iterates, and the interval that contains f(λ)."""

    lam: float
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
    """The data, prepared for ADMM iterations at any λ.

    Rows are around their mean x̄, which eliminates an intercept: for given w, the best b
    is a constant minus x̄·w.

    Parameters
    ----------
    problem : Problem
        The problem, with costs as columns.
    relaxation : float
        The factor of over-relaxation.
    update : {"auto", "exact", "accelerated"}
        How the quadratic problem in w is solved.
    seconds : float
        Time that is left for the run.
    """

    def __init__(
        self,
        problem: Problem,
        relaxation: float,
        update: str,
        seconds: float = math.inf,
    ):
        self.problem = problem
        self.relaxation = relaxation
        self.stored = problem.rows.stored
        self.signs = np.array(problem.signs, dtype=np.float64)
        self.sample_weights = np.array(problem.sample_weight)
        self.kappa, self.flips = affordable_flips(problem.flip_cost, problem.radius)
        self.mean = np.zeros(problem.n_features)  # x̄ = 0 without an intercept
        if problem.fit_intercept:
            self.mean += problem.weighted_sum(problem.sample_weight * problem.signs)[0]
        self.coefficients = np.empty((2, problem.n_rows))
        self.quadratic = self._quadratic(update, seconds)
        # Without radius and ridge, bounds are sought for weights up to this norm:
        # typical rows then have margins up to 100.
        self.large_weights = math.inf
        if problem.radius == 0.0:
            self.large_weights = 100.0 / typical_row_norm(problem)

    def gram_seconds(self) -> float:
        """Return an estimate of the time that the Gram matrix takes."""
        n, d = self.problem.X.shape
        if sparse.issparse(self.problem.X):
            return SPARSE_MULTIPLICATION * self.stored**2 / n
        return MULTIPLICATION * n * d * d

    def gram(self) -> tuple[np.ndarray, float]:
        """Return C = Σ π (x − x̄)(x − x̄)ᵀ, and the size of its rounding errors."""
        X = self.problem.X
        weights = self.problem.sample_weight
        gram = np.zeros((X.shape[1], X.shape[1]))
        for block in row_blocks(X):
            gram += MemoryRows(X[block]).squares(weights[block])
        noise = 1e-14 * float(np.trace(gram)) or 1.0
        return gram - np.outer(self.mean, self.mean), noise

    def curvature(self, w) -> np.ndarray:
        """Return C w without forming C."""
        rows = self.problem.rows
        return (
            rows.weighted_sum(self.problem.sample_weight * rows.dot(w))
            - (self.mean @ w) * self.mean
        )

    def _quadratic(self, update: str, seconds: float) -> BallQP:
        """Return the method for the quadratic problem in w."""
        norm = self.problem.norm
        l2 = self.problem.l2
        d = self.problem.n_features
        product = self.curvature
        factorised = update == "auto" and d <= FACTORISED_TO
        # Updates also work without the Gram matrix and its factorisation. An eigenvalue
        # decomposition takes about as long as five products of matrices of its size.
        needed = self.gram_seconds()
        if factorised:
            needed += 5.0 * MULTIPLICATION * d**3
        affordable = needed <= SHARE_OF_TIME * seconds
        exact = update == "exact" or (factorised and affordable)
        # Products with the Gram matrix are also quicker if it has fewer entries than X.
        if exact or (d * d <= self.stored and affordable):
            matrix, noise = self.gram()
            if exact and type(norm) in EXACT:
                return EXACT[type(norm)](matrix, l2, noise)
            product = matrix.__matmul__
        largest = self._largest_eigenvalue(product)
        return Accelerated(product, max(largest, 1e-280), l2, norm)

    def _largest_eigenvalue(self, product: Callable) -> float:
        """Return an estimate for C, more likely too high than too low.

        `product` multiplies a vector by C.
        """
        d = self.problem.n_features
        # Lanczos' method needs more features than it computes eigenvalues.
        if d < 3:
            matrix, noise = self.gram()
            return max(float(np.linalg.eigvalsh(matrix)[-1]), noise)
        start = np.random.default_rng(0).normal(size=d)
        operator = sparse_linalg.LinearOperator(
            (d, d), matvec=product, dtype=np.float64
        )
        values = sparse_linalg.eigsh(
            operator, 1, tol=0.01, v0=start, return_eigenvectors=False
        )
        return 1.02 * float(values[0])

    def first_trial(self, lam: float, rho: float, start: Candidate | None) -> Trial:
        """Return the first trial, at λ.

        It begins at the origin, or at a given classifier with its multipliers.
        """
        n, d = self.problem.X.shape
        weights = np.zeros(d)
        intercept = 0.0
        split = np.zeros(n)
        slopes = np.zeros(n)
        if start is not None:
            weights = np.array(start.weights)
            intercept = start.intercept
            split = self.problem.margins(weights, intercept)
            if start.hinge_dual is not None and start.flip_dual is not None:
                slopes = (start.flip_dual - start.hinge_dual) / self.sample_weights
                slopes = np.clip(slopes, -1.0, 1.0)
        return self._new_trial(lam, rho, weights, intercept, split, slopes)

    def moved(self, trial: Trial, lam: float) -> Trial:
        """Return a starting trial at another λ from a given trial.

        The penalty ρ grows for smaller λ, where margins are smaller.
        """
        rho = trial.rho * max(trial.lam / (3.0 * lam), 1.0)
        return self._new_trial(
            lam,
            rho,
            trial.weights,
            trial.intercept,
            trial.split.copy(),
            trial.slopes.copy(),
        )

    def _new_trial(self, lam, rho, weights, intercept, split, slopes) -> Trial:
        """Return a trial at λ, with its sums and the line ελ."""
        signed = self.sample_weights * self.signs
        self.coefficients[0] = signed * split
        self.coefficients[1] = -signed * slopes
        split_sum, slope_sum = self._sums()
        return Trial(
            lam=lam,
            rho=rho,
            weights=weights,
            intercept=intercept,
            split=split,
            slopes=slopes,
            split_sum=split_sum,
            slope_sum=slope_sum,
            line=Line(lam, self._radius_term(lam), self.problem.radius, None),
            average=Average(len(split), len(split_sum)),
        )

    def _radius_term(self, lam: float) -> float:
        """Return ελ, which is 0 without a radius: λ is then infinite."""
        if self.problem.radius > 0:
            return self.problem.radius * lam
        return 0.0

    def _sums(self) -> tuple[np.ndarray, np.ndarray]:
        """Return Σ π t y (x, 1) and −Σ π g y (x, 1)."""
        split_sum = np.append(*self.problem.signed_sum(self.coefficients[0]))
        slope_sum = np.append(*self.problem.signed_sum(self.coefficients[1]))
        return split_sum, slope_sum

    def iterate(self, trial: Trial) -> None:
        """Do one iteration of ADMM."""
        # 1. The classifier: rows are around their mean, so b follows from w
        right = trial.rho * trial.split_sum + trial.slope_sum
        balance = right[-1] if self.problem.fit_intercept else 0.0
        trial.weights = self.quadratic.solve(
            right[:-1] - balance * self.mean,
            trial.rho,
            trial.lam,
            trial.weights,
            trial.accuracy,
        )
        if self.problem.fit_intercept:
            trial.intercept = float(balance / trial.rho - self.mean @ trial.weights)
        # 2. The split margins and their multipliers
        loss, mass, cost, *squares = kernel.update_samples(
            self.problem.decision_values(trial.weights),
            trial.intercept,
            self.signs,
            self.sample_weights,
            self.kappa,
            self._kappa_lam(trial.lam),
            trial.rho,
            self.relaxation,
            trial.split,
            trial.slopes,
            self.coefficients,
        )
        trial.split_sum, trial.slope_sum = self._sums()
        trial.iteration += 1
        # 3. What that proves about f(λ)
        ridge = 0.5 * self.problem.l2 * float(trial.weights @ trial.weights)
        value = self._radius_term(trial.lam) + loss + ridge
        trial.upper = min(trial.upper, value)
        self._raise_line(trial, trial.slopes, trial.slope_sum, mass, cost)
        average = trial.average
        if average.add(trial.slopes, trial.slope_sum):
            mean = average.slopes / average.count
            alpha, beta = self.multipliers(mean, trial.lam)
            mass = float(alpha.sum() + beta.sum())
            cost = float(np.sum(self.kappa * beta))
            self._raise_line(trial, mean, average.slope_sum / average.count, mass, cost)
        # 4. The penalty for the next iterations
        self._balance(trial, *np.sqrt(squares))

    def _kappa_lam(self, lam: float) -> float | np.ndarray:
        """Return κλ, inf where no flip is possible: a number, or one per row."""
        with np.errstate(over="ignore"):
            finite = np.multiply(self.kappa, min(lam, UNLIMITED))
        kappa_lam = np.where(self.flips, finite, math.inf)
        if kappa_lam.ndim == 0:
            return float(kappa_lam)
        return kappa_lam

    def _raise_line(
        self, trial: Trial, slopes, slope_sum, mass: float, cost: float
    ) -> None:
        """Replace the line of a trial by that of given slopes, if it is higher at λ.

        `mass` is Σ (α + β) and `cost` Σ κβ of the multipliers of the slopes.
        """
        problem = self.problem
        lam = trial.lam
        # Nothing limits the weights: a bound for those up to this norm
        if not math.isfinite(lam) and problem.l2 == 0.0:
            lam = max(2.0 * problem.norm.value(trial.weights), self.large_weights)
        # The bound is mass + λ·rate − max over ‖w‖ ≤ λ of (v·w − (c/2)‖w‖²). The
        # maximum, `gained`, grows with λ at the rate `pressure`.
        v = slope_sum[:-1]
        imbalance = slope_sum[-1] * problem.fit_intercept
        rate = problem.radius - cost
        if problem.l2 > 0.0:
            best = problem.norm.project_ball(v / problem.l2, lam)
            gained = float(v @ best) - 0.5 * problem.l2 * float(best @ best)
            pressure = problem.norm.dual.value(v - problem.l2 * best)
        else:
            pressure = problem.norm.dual.value(v)
            gained = _product(lam, pressure)
        # Without balance no bound holds for all b: assume intercepts of the current
        # size.
        gained += abs(imbalance) * (
            1.0 + abs(trial.intercept) + abs(self.mean @ trial.weights)
        )
        height = mass + _product(lam, rate) - gained
        if height > trial.line.height:
            trial.line = Line(trial.lam, height, rate - pressure, slopes.copy())

    def _balance(
        self, trial: Trial, apart, moved, margin_size, split_size, slope_size
    ) -> None:
        """Change ρ, at some iterations, if primal and dual residual differ too much.

        Parameters
        ----------
        trial : Trial
        apart, moved : float
            Norms of m − t and of the last change of t, weighted by π.
        margin_size, split_size, slope_size : float
            Norms of m, t and g, to which the residuals are relative.
        """
        trial.accuracy = max(min(apart, moved), 1e-12)
        primal = apart / max(margin_size, split_size, 1e-300)
        dual = trial.rho * moved / max(slope_size, 1e-300)
        if trial.iteration < trial.balance_at or primal == dual == 0.0:
            return
        trial.balance_at = trial.iteration + max(FIRST_BALANCE, trial.iteration // 2)
        ratio = min(primal / max(dual, 1e-300), 1e300)
        if not 1.0 / UNBALANCED < ratio < UNBALANCED:
            change = min(max(math.sqrt(ratio), 1.0 / LARGEST_CHANGE), LARGEST_CHANGE)
            trial.rho = min(max(trial.rho * change, 1e-9), 1e9)

    def multipliers(self, slopes, lam: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the multipliers α and β for slopes g at the given λ.

        For κλ < 2 the falling and the rising piece of the loss cross above 0, and all
        slopes are means of theirs. Otherwise slopes are means of one of them and 0.
        """
        between = self._kappa_lam(lam) < 2.0
        alpha = np.where(between, 0.5 * (1.0 - slopes), np.maximum(-slopes, 0.0))
        beta = np.where(between, 0.5 * (1.0 + slopes), np.maximum(slopes, 0.0))
        return self.sample_weights * alpha, self.sample_weights * beta


def _product(lam: float, rate: float) -> float:
    """Return λ times a rate; λ may be infinite, and the product with 0 is 0."""
    if rate == 0.0:
        return 0.0
    return lam * rate
