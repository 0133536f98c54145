"""Kernel functions k(x, z) = φ(x)·φ(z), all that is needed of the feature space H.

Each has a block of values for two sets of points, the squared norms k(x, x) and, where
there is one, a constant L with ‖φ(x) − φ(x′)‖ ≤ L ‖x − x′‖₂. Points are arrays of
numpy, CuPy or scipy (sparse). The values are those that are computed, up to their last
digit: what is proven is about the problem with these values.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist
from scipy.special import erf

from drsvm.problem.memory_rows import dense
from drsvm.utils.annotations import Costs, Matrix, Vector
from drsvm.utils.compensated_sums import ULP, compensated_transposed_dot
from drsvm.utils.lazy import cached_property

# Steps of the search for the shift that turns a row: each bound is valid, the last one
# the best
GROWTHS = 60


def squared_norms(X: Matrix) -> Vector:
    """Return x·x for every row."""
    if sparse.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", X, X)


def _far(t) -> np.ndarray:
    """Return √(1 − k² (1 + 2t)) for k = exp(−t).

    With t = γ ‖x − x′‖² it is the length of the part of φ(x′) that is orthogonal to
    φ(x) and its derivatives.
    """
    return np.sqrt(-np.expm1(np.log1p(2.0 * t) - 2.0 * t))


def _ones(X: Matrix) -> Vector:
    """Return a 1 for every row, in an array of the library of the rows."""
    if sparse.issparse(X):
        return np.ones(X.shape[0])
    return np.ones_like(X[:, 0], dtype=np.float64)


@dataclass(frozen=True, eq=False)
class KernelFunction(ABC):
    """A positive definite function of two points."""

    lipschitz: ClassVar[float | None] = None
    """The L with ‖φ(x) − φ(x′)‖ ≤ L ‖x − x′‖₂, if there is one."""

    proven: ClassVar[bool] = True
    """Whether it is positive definite for all points; otherwise values are checked."""

    precision: ClassVar[float] = 2 * ULP
    """The relative error of the values."""

    def reach(self, shifts: Costs) -> Costs | None:
        """Return how far φ(x) moves at most if x moves by up to given distances.

        None if that is not known.
        """
        if self.lipschitz is None:
            return None
        return self.lipschitz * shifts

    @abstractmethod
    def values(self, X: Matrix, Z: Matrix) -> np.ndarray:
        """Return k(x, z) for all pairs of rows, in a new array of shape (n_x, n_z)."""

    @abstractmethod
    def squares(self, X: Matrix) -> Vector:
        """Return k(x, x) for every row."""

    def exponents(self, X: Matrix, Z: Matrix) -> tuple[np.ndarray, np.ndarray] | None:
        """Return matrices A, B with k(x, z) = exp(min(ABᵀ, 0)) for points in arrays.

        None if there are none. A GPU computes the product of two matrices much faster
        than values one by one.
        """
        return None

    def norm_of_sum(self, X: Matrix, c: Vector) -> float | None:
        """Return ‖Σ c_i φ(x_i)‖, rounded up, if φ itself is known.

        None if it has to be computed from values of the kernel.
        """
        return None


@dataclass(frozen=True)
class Linear(KernelFunction):
    """x·z."""

    lipschitz: ClassVar[float | None] = 1.0

    def values(self, X, Z):
        return dense(X @ Z.T)

    def squares(self, X):
        return squared_norms(X)

    def norm_of_sum(self, X, c):
        # φ(x) is x.
        sums, errors = compensated_transposed_dot(X, c)
        return float(np.linalg.norm(np.abs(sums) + errors))


@dataclass(frozen=True)
class Polynomial(KernelFunction):
    """(γ x·z + c₀)^degree, with c₀ ≥ 0."""

    gamma: float
    degree: int
    coef0: float

    def values(self, X, Z):
        values = dense(X @ Z.T)
        values *= self.gamma
        values += self.coef0
        return values**self.degree

    def squares(self, X):
        return (self.gamma * squared_norms(X) + self.coef0) ** self.degree


@dataclass(frozen=True)
class Radial(KernelFunction):
    """exp(−γ · distance)."""

    gamma: float

    @abstractmethod
    def distances(self, X: Matrix, Z: Matrix) -> np.ndarray:
        """Return the distances of all pairs of rows, in a new array."""

    def values(self, X, Z):
        values = self.distances(X, Z)
        values *= -self.gamma
        return np.exp(values, out=values)

    def squares(self, X):
        return _ones(X)


@dataclass(frozen=True)
class Rbf(Radial):
    """exp(−γ ‖x − z‖₂²)."""

    def distances(self, X, Z):
        # ‖x‖² − 2 x·z + ‖z‖², in place, and not below 0 by rounding
        distances = dense(X @ Z.T)
        distances *= -2.0
        distances += squared_norms(X)[:, None]
        distances += squared_norms(Z)
        return np.maximum(distances, 0.0, out=distances)

    @property
    def lipschitz(self) -> float:  # pyright: ignore[reportIncompatibleVariableOverride]
        return math.sqrt(2.0 * self.gamma)

    def reach(self, shifts):
        # ‖φ(x) − φ(x′)‖² = 2 − 2 exp(−γ‖x − x′‖²), at most (L ‖x − x′‖)²
        return np.sqrt(-2.0 * np.expm1(-self.gamma * np.square(shifts)))

    def exponents(self, X, Z):
        # −γ‖x − z‖² is the product of (−γ‖x‖², 2γx, 1) and (1, z, −γ‖z‖²).
        x_squares = -self.gamma * squared_norms(X)[:, None]
        z_squares = -self.gamma * squared_norms(Z)[:, None]
        left = (x_squares, 2.0 * self.gamma * X, _ones(X)[:, None])
        right = (_ones(Z)[:, None], Z, z_squares)
        return np.concatenate(left, axis=1), np.concatenate(right, axis=1)

    def least_shifts(self, distances) -> np.ndarray:
        """Return how far x must move for φ(x) to move by given distances.

        Inf from √2 on, which no shift reaches.
        """
        # ‖φ(x) − φ(x′)‖² = 2 − 2 exp(−γ‖x − x′‖²)
        halves = np.minimum(0.5 * np.square(distances), 1.0)
        with np.errstate(divide="ignore"):
            return np.sqrt(-np.log1p(-halves) / self.gamma)

    def shifts_to_boundary(self, values, slopes, norms, offsets, start) -> np.ndarray:
        """Return how far x must move at least for f(x) + b > 0 to become 0.

        A shift by u with k = exp(−γu²) leaves f at k f(x) − k ‖∇f(x)‖ u − ‖f⊥‖ √(1 − k²
        (1 + 2γu²)) or above, where f⊥ is orthogonal to φ(x) and its derivatives: ‖f⊥‖²
        = ‖f‖² − f(x)² − ‖∇f(x)‖²/2γ. If b + this is still M > 0, u can grow by M over
        the most that it changes per unit.

        Parameters
        ----------
        values, slopes, norms : arrays of shape (n,)
            f(x), ‖∇f(x)‖ and ‖f‖, for one point and function each.
        offsets : array of shape (n,)
            The intercepts b.
        start : array of shape (n,)
            Shifts that are known to be too short, where the search begins.

        Returns
        -------
        array of shape (n,)
            Lower bounds of the shifts.
        """
        rest = self._rest(values, slopes, norms)
        # With γ = 1, the derivative of k is at most 0.858, that of uk 1, and that of
        # the root 1.042.
        rates = slopes + math.sqrt(self.gamma) * (0.86 * np.abs(values) + 1.05 * rest)
        shifts = start
        for _ in range(GROWTHS):
            t = self.gamma * shifts**2
            k = np.exp(-t)
            left = offsets + k * (values - slopes * shifts) - rest * _far(t)
            shifts = shifts + np.maximum(left, 0.0) / rates
        return shifts

    def lowest_after_shifts(self, values, slopes, norms, offsets, shifts) -> np.ndarray:
        """Return bounds below f + b after shifts of given lengths.

        The bounds are those of `shifts_to_boundary` with every term at its worst;
        beyond the last length, f is above −‖f‖.

        Parameters
        ----------
        values, slopes, norms, offsets : arrays of shape (n,)
            As for `shifts_to_boundary`.
        shifts : array of shape (m,)
            The lengths in increasing order.

        Returns
        -------
        array of shape (n, m)
            Every column is for the shifts between one of the lengths and the next.
        """
        rest = self._rest(values, slopes, norms)[:, None]
        t = self.gamma * shifts**2
        k = np.exp(-t)
        values = values[:, None]
        slopes = slopes[:, None]
        lowest = np.minimum(values * k[:-1], values * k[1:])
        lowest = lowest - slopes * (k[:-1] * shifts[1:]) - rest * _far(t[1:])
        lowest = np.maximum(np.column_stack([lowest, -norms]), -norms[:, None])
        return lowest + offsets[:, None]

    def _rest(self, values, slopes, norms) -> np.ndarray:
        """Return ‖f⊥‖ of `shifts_to_boundary`."""
        squares = norms**2 - values**2 - slopes**2 / (2.0 * self.gamma)
        return np.sqrt(np.maximum(squares, 0.0))

    def gradients(self, X, Z, terms) -> np.ndarray:
        """Return the gradient of Σ_j c_ij k(·, z_j) at every row x_i.

        Parameters
        ----------
        X, Z : arrays of shape (n, d), (m, d)
            The points x_i and z_j.
        terms : array of shape (n, m)
            The terms c_ij k(x_i, z_j).

        Returns
        -------
        array of shape (n, d)
            The gradients.
        """
        return 2.0 * self.gamma * (terms @ Z - terms.sum(axis=1)[:, None] * X)

    def contributions(self, X, Z, start, coef) -> np.ndarray:
        """Return what features contribute to Σ_j c_ij (k(x_i, z_j) − k(start, z_j)).

        These are integrated gradients (Sundararajan, Taly and Yan, ICML 2017): with
        u = x − start, the l-th is u_l ∫ ∂_l f(start + t u) dt from 0 to 1. The integral
        of k along the line is one of a normal density. That of t k follows from the
        change of k, −2γ ∫ ((start − z)·u + t u·u) k dt, so that contributions add up.

        Parameters
        ----------
        X, Z : arrays of shape (n, d), (m, d)
            The points x_i and z_j.
        start : array of shape (1, d)
            The point from which contributions are measured.
        coef : array of shape (n, m)
            The coefficients c_ij.

        Returns
        -------
        array of shape (n, d)
            The contributions.
        """
        steps = X - start
        offsets = start - Z
        products = steps @ offsets.T
        # A row at the start has no contributions, but must not divide by 0.
        least = np.finfo(np.float64).eps ** 2 / self.gamma
        squares = np.maximum(squared_norms(steps), least)[:, None]
        # γ ‖start + t u − z‖² = nearest + (first + t length)²
        length = np.sqrt(self.gamma * squares)
        first = self.gamma * products / length
        nearest = self.gamma * squared_norms(offsets) - first**2
        density = (erf(first + length) - erf(first)) / length
        integrals = 0.5 * math.sqrt(math.pi) * np.exp(-nearest) * density
        changes = self.values(X, Z) - self.values(start, Z)
        moments = -(changes / (2.0 * self.gamma) + products * integrals) / squares
        along = (coef * moments).sum(axis=1)[:, None] * steps
        return -2.0 * self.gamma * steps * ((coef * integrals) @ offsets + along)


@dataclass(frozen=True)
class Laplacian(Radial):
    """exp(−γ ‖x − z‖₁)."""

    def distances(self, X, Z):
        X = dense(X)
        Z = dense(Z)
        if isinstance(X, np.ndarray):
            return cdist(X, Z, "cityblock")
        # On a GPU, column by column
        distances = np.zeros((len(X), len(Z)), like=X)
        for x, z in zip(X.T, Z.T, strict=True):
            distances += np.abs(x[:, None] - z)
        return distances


@dataclass(frozen=True)
class Given(KernelFunction):
    """A function of the user, which returns the values for two matrices."""

    function: Callable[[Matrix, Matrix], Matrix]
    proven: ClassVar[bool] = False

    def values(self, X, Z):
        values = np.array(self.function(X, Z), dtype=np.float64)
        expected = (X.shape[0], Z.shape[0])
        if values.shape != expected:
            raise ValueError(
                "kernel must return one value for every pair of rows, of shape "
                f"{expected}, got {values.shape}."
            )
        return values

    def squares(self, X):
        squares = np.empty(X.shape[0])
        for i in range(len(squares)):
            point = X[i : i + 1]
            squares[i] = self.values(point, point)[0, 0]
        return squares


@dataclass(frozen=True, eq=False)
class Precomputed(KernelFunction):
    """A table of values.

    Points are their numbers in it, as the rows of a matrix with one column.
    """

    table: Matrix
    proven: ClassVar[bool] = False

    @cached_property
    def precision(self) -> float:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The relative error of the values.

        A table may have been rounded to single precision before it became double.
        """
        table = np.asarray(self.table)
        with np.errstate(over="ignore"):
            is_single = np.array_equal(table, table.astype(np.float32))
        # Integers are exact in single precision, too.
        if is_single and not np.array_equal(table, np.rint(table)):
            return float(np.finfo(np.float32).eps)
        return float(np.finfo(np.float64).eps)

    def _at(self, where) -> np.ndarray:
        """Return values at given places of the table, as float64."""
        return np.asarray(self.table)[where].astype(np.float64, copy=False)

    def values(self, X, Z):
        return self._at(np.ix_(X[:, 0], Z[:, 0]))

    def squares(self, X):
        return self._at((X[:, 0], X[:, 0]))
