"""Quadratic minimisation over the ball of a norm: the w-update of ADMM.

    minimise  (1/2) wᵀ(ρC + cI) w − r·w      subject to  ‖w‖_q ≤ λ

for many r, ρ and λ with the same C, which is positive semidefinite. λ may be infinite.
There are four methods:

* `EuclideanBall` (q = 2): C is diagonalised once; each update then finds the root of a
  scalar equation.
* `Box` (q = ∞) and `CrossPolytope` (q = 1): block pivoting on the set of active
  entries. The factorisation is reused while that set and ρ are unchanged, as they are
  towards the end.
* `Accelerated` (any q): accelerated projected gradient with restarts, as in the paper
  (Appendix C); it only needs products with C.

Since C may be singular, the first three add a tiny proximal term (ρτ/2) ‖w − start‖²;
ADMM still converges with it.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np
from scipy import linalg

from drsvm.problem.norms import L1, L2, LInf, Norm, euclidean

PROXIMAL = 1e-9  # τ, relative to the largest eigenvalue of C


class BallQP(ABC):
    """The quadratic problem for fixed C, c (`ridge`) and norm.

    `noise` is the size of the rounding errors in C.
    """

    @abstractmethod
    def solve(self, r, rho: float, lam: float, start, accuracy: float) -> np.ndarray:
        """Return the minimiser.

        Parameters
        ----------
        r : array of shape (d,)
            The linear term.
        rho, lam : float
            The penalty ρ and the radius λ of the ball.
        start : array of shape (d,)
            A guess, in the ball or not.
        accuracy : float
            Methods that iterate end when √(wᵀCw) changes by much less than this.

        Returns
        -------
        array of shape (d,)
        """


class Accelerated(BallQP):
    """Accelerated projected gradient steps, for any q.

    Parameters
    ----------
    product : callable
        Multiplies a vector by C.
    largest : float
        A bound on the largest eigenvalue of C.
    ridge : float
        The factor c.
    norm : Norm
        That of the ball.
    max_steps : int
        Limit on the steps of an update.

    References
    ----------
    B. O'Donoghue, E. Candès, Adaptive Restart for Accelerated Gradient Schemes,
    Foundations of Computational Mathematics 15, 2015: the gradient scheme for restarts.
    """

    def __init__(
        self,
        product: Callable,
        largest: float,
        ridge: float,
        norm: Norm,
        max_steps: int = 100,
    ):
        self.product = product
        self.largest = largest
        self.ridge = ridge
        self.norm = norm
        self.max_steps = max_steps

    def solve(self, r, rho, lam, start, accuracy):
        step = 1.0 / max(rho * self.largest + self.ridge, 1e-300)
        w = self.norm.project_ball(start, lam)
        ahead = w
        momentum = 1.0
        for _ in range(self.max_steps):
            gradient = rho * self.product(ahead) + self.ridge * ahead - r
            new = self.norm.project_ball(ahead - step * gradient, lam)
            change = euclidean(new - ahead)
            # Uphill: reset the momentum
            if (ahead - new) @ (new - w) > 0.0:
                momentum = 1.0
            # The sequence of Nesterov (1983)
            following = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * momentum**2))
            ahead = new + (momentum - 1.0) / following * (new - w)
            w = new
            momentum = following
            if change * math.sqrt(self.largest) <= 0.1 * accuracy:
                break
        return w


class EuclideanBall(BallQP):
    """q = 2, by an eigenvalue decomposition.

    References
    ----------
    J. J. Moré, D. C. Sorensen, Computing a Trust Region Step, SIAM Journal on
    Scientific and Statistical Computing 4(3), 1983: Newton's method for the inverse of
    the norm.
    """

    def __init__(self, matrix, ridge: float, noise: float = 0.0):
        values, self.vectors = linalg.eigh(matrix)
        self.tau = max(PROXIMAL * values[-1], noise, 1e-280)
        self.values = np.maximum(values, 0.0) + self.tau
        self.ridge = ridge

    def solve(self, r, rho, lam, start, accuracy):
        # In the coordinates of the eigenvectors the matrix H is diagonal.
        rotated = (r + rho * self.tau * start) @ self.vectors
        curvature = rho * self.values + self.ridge
        w = rotated / curvature
        mu = 0.0  # the multiplier of the ball
        length = euclidean(w)
        # More steps than are ever needed, except for rounding errors
        for _ in range(50):
            if not length > lam * (1.0 + 1e-12):
                break
            # ‖(H + μ)⁻¹ r‖ = λ, solved for the inverse of the norm, which is concave in
            # μ: Newton converges from below
            unit = w / length
            mu += (length / lam - 1.0) / float(unit @ (unit / (curvature + mu)))
            w = rotated / (curvature + mu)
            length = euclidean(w)
        return L2().project_ball(self.vectors @ w, lam)


class _Pivoting(BallQP):
    """Block pivoting: all entries with the wrong status change it while that helps.

    The status of an entry is −1, 0 or 1, and says where the entry is: at one of the
    bounds of a box or free, or on which side of 0. For a given status the problem is a
    system of linear equations.

    References
    ----------
    J. J. Júdice, F. M. Pires, A Block Principal Pivoting Algorithm for Large-scale
    Strictly Monotone Linear Complementarity Problems, Computers & Operations Research
    21(5), 1994.
    """

    norm: Norm
    # Pivots that do not lower the number of wrong entries, before single entries change
    patience = 3
    max_pivots = 60
    fall_back_steps = 300  # gradient steps if pivoting does not terminate

    def __init__(self, matrix, ridge: float, noise: float = 0.0):
        self.matrix = matrix
        self.ridge = ridge
        last = len(matrix) - 1
        self.largest = max(
            float(linalg.eigvalsh(matrix, subset_by_index=[last, last])[0]),
            noise,
            1e-280,
        )
        self.tau = max(PROXIMAL * self.largest, noise)
        self._factors: dict = {}

    @abstractmethod
    def _first_status(self, r, start, lam) -> np.ndarray:
        """Return the initial status of all entries."""

    @abstractmethod
    def _at_status(self, status, r, rho, lam) -> tuple[np.ndarray, np.ndarray]:
        """Return the best w for a status, and what the status should be for this w."""

    def solve(self, r, rho, lam, start, accuracy):
        # The proximal term keeps the matrix regular.
        try:
            w = self._pivot(r + rho * self.tau * start, rho, lam, start)
        except linalg.LinAlgError:
            w = None
        if w is not None:
            return self.norm.project_ball(w, lam)
        slow = Accelerated(
            lambda w: self.matrix @ w,
            self.largest,
            self.ridge,
            self.norm,
            self.fall_back_steps,
        )
        return slow.solve(r, rho, lam, start, accuracy)

    def _pivot(self, r, rho, lam, start) -> np.ndarray | None:
        """Return the solution, or None if pivoting does not terminate."""
        status = self._first_status(r, start, lam)
        fewest = len(r) + 1
        patience = self.patience
        for _ in range(self.max_pivots):
            w, better = self._at_status(status, r, rho, lam)
            wrong = np.flatnonzero(better != status)
            if len(wrong) == 0:
                return w
            if len(wrong) < fewest:
                fewest = len(wrong)
                patience = self.patience
            elif patience > 0:
                patience -= 1
            # One at a time: slow, but it does not cycle
            else:
                better[wrong[:-1]] = status[wrong[:-1]]
            status = better
        return None

    def _solve_free(self, free, rho, right):
        """Solve with the free rows and columns of ρ(C + τ) + c."""
        key = rho, free.tobytes()
        if key not in self._factors:
            block = rho * self.matrix[np.ix_(free, free)]
            block[np.diag_indices_from(block)] += self.ridge + rho * self.tau
            factor = linalg.cho_factor(
                block, lower=True, overwrite_a=True, check_finite=False
            )
            # Two are enough: for a set of entries, and for all of them
            if len(self._factors) == 2:
                self._factors.pop(next(iter(self._factors)))
            self._factors[key] = factor
        return linalg.cho_solve(self._factors[key], right, check_finite=False)


class Box(_Pivoting):
    """q = ∞; the status of an entry: free (0), or at the lower or upper bound."""

    norm = LInf()

    def _first_status(self, r, start, lam):
        return np.where(np.abs(start) >= lam, np.sign(start), 0.0)

    def _at_status(self, status, r, rho, lam):
        free = status == 0.0
        w = np.zeros_like(r)
        right = r
        if not free.all():
            w[~free] = status[~free] * lam
            right = r - rho * (self.matrix @ w)
        if free.any():
            w[free] = self._solve_free(free, rho, right[free])
        # Free entries that are outside go to their bound, and entries at a bound whose
        # gradient points inwards become free.
        outside = np.where(np.abs(w) > lam * (1.0 + 1e-13), np.sign(w), 0.0)
        slack = 1e-12 * float(np.abs(r).max(initial=0.0))
        gradient = rho * (self.matrix @ w) + (self.ridge + rho * self.tau) * w - r
        inwards = status * gradient > slack
        return w, np.where(free, outside, np.where(inwards, 0.0, status))


class CrossPolytope(_Pivoting):
    """q = 1; the status of an entry: zero, negative or positive.

    With the signs s of the entries that are not 0, the ball is s·w ≤ λ. Its multiplier
    is `_pressure`: if that is negative, the ball does not constrain the solution.
    """

    norm = L1()

    def _pivot(self, r, rho, lam, start):
        if self.norm.value(start) < lam * (1.0 - 1e-12):
            w = self._without_ball(r, rho, lam)
            if w is not None:
                return w
        w = super()._pivot(r, rho, lam, start)
        if w is None or self._pressure >= 0.0:
            return w
        return self._without_ball(r, rho, lam)

    def _without_ball(self, r, rho, lam):
        """Return the unconstrained solution, or None if it is outside the ball."""
        w = self._solve_free(np.ones(len(r), dtype=bool), rho, r)
        return w if self.norm.value(w) <= lam else None

    def _first_status(self, r, start, lam):
        return np.sign(start) if start.any() else self._steepest(r)

    def _steepest(self, r):
        """Return the status with one entry: that of the steepest descent from 0."""
        status = np.zeros_like(r)
        first = int(np.argmax(np.abs(r)))
        status[first] = np.sign(r[first])
        return status

    def _at_status(self, status, r, rho, lam):
        used = status != 0.0
        # r = 0
        if not used.any():
            self._pressure = 0.0
            return np.zeros_like(r), status
        signs = status[used]
        w = np.zeros_like(r)
        along = self._solve_free(used, rho, signs)
        w[used] = self._solve_free(used, rho, r[used])
        self._pressure = float(signs @ w[used] - lam) / float(signs @ along)
        w[used] -= self._pressure * along
        # Entries that have changed sign become 0, and those whose gradient exceeds the
        # pressure become negative or positive.
        gradient = rho * (self.matrix @ w) + (self.ridge + rho * self.tau) * w - r
        slack = 1e-12 * float(np.abs(r).max())
        pushed = np.where(
            np.abs(gradient) > max(self._pressure, 0.0) + slack, -np.sign(gradient), 0.0
        )
        better = np.where(used, np.where(status * w < 0.0, 0.0, status), pushed)
        return w, better if better.any() else self._steepest(r)


# Functions of the matrix C, the ridge c and the noise (see `BallQP`)
EXACT: dict[type[Norm], Callable[..., BallQP]] = {
    L1: CrossPolytope,
    L2: EuclideanBall,
    LInf: Box,
}
