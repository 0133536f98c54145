"""The symmetric system of a Newton step in (w, b, λ): factorised and refined.

`TallSystem` factorises a d × d matrix, `WideSystem` an n × n matrix, for n < d, and
`OrthogonalSystem` the rows themselves, if the sums in a matrix would lose too many
digits.
"""

import numpy as np
from scipy import linalg
from scipy.linalg import blas, lapack

from drsvm.compiled.normal_matrix import DAMPING, MAX_REFINEMENTS, REGULARISATIONS
from drsvm.engines.engine import Engine
from drsvm.engines.matrices import WideRows
from drsvm.engines.newton_matrix import (
    Curvature,
    Factorised,
    MatrixFree,
    Scaling,
    newton_matrix,
)
from drsvm.problem.backends import to_numpy
from drsvm.problem.problem import Problem
from drsvm.utils.parallel import blas_threads_for, over, row_blocks


def solve_system(
    system: Factorised, right, right_lam: float
) -> tuple[np.ndarray, float]:
    """Solve a Newton system.

    Parameters
    ----------
    system : Factorised
        The matrix and its factorisation.
    right, right_lam : array, float
        The right-hand side for (w, b), and for λ.

    Returns
    -------
    array, float
        (dw, db) and dλ.
    """
    whole = np.asarray(np.append(right, right_lam), like=system.like)
    solution = to_numpy(system.solve(whole))
    return solution[:-1], float(solution[-1])


def _factorise(matrix) -> tuple[np.ndarray, np.ndarray]:
    """Return the Cholesky factor of diag(scale) · matrix · diag(scale), and the scale.

    Its diagonal is 1. As little is added to it as the factorisation needs. Only the
    upper triangle is used; for a C-ordered matrix it is the lower triangle of LAPACK's
    transposed view.
    """
    diagonal = matrix.diagonal()
    scale = 1.0 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    for added in REGULARISATIONS:
        scaled = _scaled(matrix, scale)
        np.fill_diagonal(scaled, 1.0 + added)
        with blas_threads_for(len(scaled)):
            factor, failed = lapack.dpotrf(scaled.T, lower=1, clean=0, overwrite_a=1)
        if not failed:
            return factor, scale
    raise linalg.LinAlgError("the Newton matrix is numerically singular")


def _scaled(matrix, scale) -> np.ndarray:
    """Return the matrix with its rows and columns scaled."""
    result = np.empty_like(matrix)

    def fill(rows):
        np.multiply(matrix[rows], scale, out=result[rows])
        result[rows] *= scale[rows, None]

    over(row_blocks(matrix), fill)
    return result


class TallSystem(Factorised):
    """The matrix itself, for n ≥ d; only its upper triangle is formed."""

    most_refinements = MAX_REFINEMENTS

    def __init__(self, samples: Curvature, cone: Scaling, ridge):
        self.matrix = newton_matrix(samples, cone, ridge, DAMPING)
        self.factor, self.scale = _factorise(self.matrix)

    def multiply(self, x):
        return blas.dsymv(1.0, self.matrix.T, x, lower=1)

    def apply_inverse(self, right):
        return self.scale * lapack.dpotrs(self.factor, self.scale * right, lower=1)[0]


class OrthogonalSystem(Factorised):
    """The matrix as FᵀF with F = QR.

    Rows of very different sizes lose no digits to each other, as they do in the sum. A
    sample has the rows √(D₁D₂/D) (2z, −κ), √(D₁D₃/D) (z, 0) and √(D₂D₃/D) (z, −κ),
    where D_k is the ratio of multiplier and slack of its k-th constraint, D = ΣD_k and
    z = y (x, 1).

    Parameters
    ----------
    problem : Problem
        The problem.
    state : array of shape (6, n)
        α, β, γ, g₁, g₂ and g₃ of all rows (`Engine.states`).
    cone, ridge : Scaling, array
        What the norm and the ridge add to the matrix.
    """

    most_refinements = 5

    def __init__(self, problem: Problem, state, cone: Scaling, ridge):
        roots = _roots_of_cone(cone, ridge)
        factor = np.vstack((_roots_of_samples(problem, state, len(ridge)), roots))
        self.scale = 1.0 / np.maximum(np.linalg.norm(factor, axis=0), 1e-150)
        # Rows of the size of rounding errors give flat directions a curvature.
        size = len(self.scale)
        factor = np.vstack((self.scale * factor, 1e-15 * np.eye(size)))
        # With the largest rows first, and pivoting, Householder's elimination is
        # accurate for every row (Cox and Higham, 1998).
        self.rows = factor[np.argsort(-np.abs(factor).max(axis=1))]
        if not np.isfinite(self.rows).all():
            raise linalg.LinAlgError("the Newton matrix has overflown")
        triangle, self.order = linalg.qr(
            self.rows, mode="r", pivoting=True, check_finite=False
        )
        self.triangle = triangle[:size]

    def multiply(self, x):
        return self.rows.T @ (self.rows @ (x / self.scale)) / self.scale

    def apply_inverse(self, right):
        half = linalg.solve_triangular(
            self.triangle, (self.scale * right)[self.order], trans=1, check_finite=False
        )
        solution = np.empty_like(right)
        solution[self.order] = linalg.solve_triangular(
            self.triangle, half, check_finite=False
        )
        return self.scale * solution


def _roots_of_samples(problem: Problem, state, size: int) -> np.ndarray:
    """Return the three rows of every sample in F; `size` is that of (w, b)."""
    X = problem.X.toarray() if problem.is_sparse else problem.X
    ones = np.ones((len(X), size - X.shape[1]))
    rows = problem.signs[:, None] * np.hstack((X, ones))
    slopes, flips = problem.price_slopes
    kappa = np.broadcast_to(slopes * flips, len(X))
    radii = np.broadcast_to(slopes * np.logical_not(flips), len(X))
    one, two, three = state[:3] / state[3:]
    pairs = np.concatenate((one * two, one * three, two * three))
    pairs /= np.tile(one + two + three, 3)
    in_point = np.vstack((2.0 * rows, rows, rows))
    in_lam = np.concatenate((-kappa - radii, -radii, -kappa))
    return np.sqrt(pairs)[:, None] * np.column_stack((in_point, in_lam))


def _roots_of_cone(cone: Scaling, ridge) -> np.ndarray:
    """Return rows F with FᵀF = the part of the matrix that is not of the samples.

    They are √(eigenvalue) times eigenvector, for a matrix scaled to the diagonal 1.
    """
    zeros = np.zeros(len(ridge))
    no_gram = np.zeros((len(ridge), len(ridge)))
    no_samples = Curvature(no_gram, zeros, 0.0, zeros, 0.0, zeros)
    matrix = newton_matrix(no_samples, cone, ridge, 0.0)
    sizes = np.sqrt(np.maximum(matrix.diagonal(), 1e-300))
    values, vectors = np.linalg.eigh(matrix / sizes / sizes[:, None], UPLO="U")
    return np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T * sizes


def restored(
    problem: Problem, state, direction, lam: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return α and β after the longest safe step along a direction.

    The direction keeps all products of slack and multiplier to first order: a relative
    change of the slack is the opposite change of the multiplier. Every change is a
    product of small numbers, without cancellation, so a small dual residual can be
    removed exactly.

    Parameters
    ----------
    problem : Problem
        The problem.
    state : array of shape (6, n)
        α, β, γ, g₁, g₂ and g₃ of all rows (`Engine.states`).
    direction, lam : array, float
        (dw, db) and dλ.

    Returns
    -------
    arrays of shape (n,)
        α and β.
    """
    d = problem.n_features
    slopes, flips = problem.price_slopes
    # 1. The changes of m_i − r_i λ, κ_i λ and s_i, which the other two determine
    one, two, three = state[:3] / state[3:]
    dm = problem.margins(direction[:d], float(direction[d:].sum()))
    dm = dm - slopes * np.logical_not(flips) * lam
    kdl = slopes * flips * lam
    ds = -((one - two) * dm + two * kdl) / (one + two + three)
    # 2. Those of the slacks s − 1 + m, s − 1 − m + κλ and s, of which none may change
    # by more than half
    relative = np.stack((ds + dm, flips * (ds - dm + kdl), ds)) / state[3:]
    step = min(1.0, 0.5 / max(float(np.abs(relative).max()), 1e-300))
    alpha, beta = state[:2] - step * (state[:2] * relative[:2])
    return alpha, beta


class WideSystem(MatrixFree):
    """The Woodbury form, for n < d.

    With H the curvatures of the samples and D the diagonal due to cone and ridge, the
    block of w is A = diag(D) + XᵀHX. The unknowns b, λ and (for a cone with a rank-one
    part k·uuᵀ) k·u·(w, λ) form a border of at most three columns around A; A is
    inverted through the n × n matrix I + H^½ X D⁻¹ Xᵀ H^½. Features that cannot shift
    have no D without a ridge: their weights are in the border as well.
    """

    most_refinements = 100

    def __init__(self, samples: Curvature, cone: Scaling, ridge, rows: WideRows):
        super().__init__(samples, cone, ridge, rows)
        self.samples = samples
        self.outside = cone.outside
        diagonal = self.diagonal[: self.d]
        # D is raised where it is almost 0: otherwise the inverse would lose all digits
        # of the other features.
        least = 1e-8 * rows.curvature_of_features(self.h)
        if diagonal.min() == diagonal.max():
            # A constant diagonal stays constant: `gram` is then formed once in a run.
            least = least.mean()
        # D^−½, and 0 for the weights in the border
        self.root = 1.0 / np.sqrt(np.maximum(diagonal, least))
        self.root[self.outside] = 0.0
        self.root_h = np.sqrt(self.h)
        inner = self.rows.gram(self.root)
        inner *= self.root_h
        inner *= self.root_h[:, None]
        inner[np.diag_indices_from(inner)] += 1.0
        self.factor, self.scale = _factorise(inner)
        self._eliminate_border()

    def _eliminate_border(self) -> None:
        """Form the Schur complement of the border.

        The border are the weights outside, b, λ and the rank-one part.
        """
        d = self.d
        n = self.n
        # 1. The columns of the border, in all rows of the matrix
        self.in_border = np.append(self.outside, np.arange(d, n + 1))
        columns = [self._column_of_weight(j) for j in self.outside]
        if n > d:
            intercept = self.samples.border + np.append(np.zeros(d), self.diagonal[d])
            columns.append(np.append(intercept, self.column[d]))
        columns.append(np.append(self.column, self.square))
        if self.rank_one is not None:
            columns.append(self.rank_one)
        whole = np.stack(columns, axis=1)

        # 2. The border's own block; the rank-one part has the unknown k·uᵀ(w, λ).
        corner = np.zeros((len(columns), len(columns)))
        corner[: len(self.in_border)] = whole[self.in_border]
        corner[:, : len(self.in_border)] = whole[self.in_border].T
        if self.rank_one is not None:
            corner[-1, -1] = -1.0 / self.coefficient

        # 3. The complement: corner − borderᵀ A⁻¹ border
        self.border = whole[:d]
        inverses = [self._apply_inner(column) for column in self.border.T]
        self.inverse_border = np.stack(inverses, axis=1)
        self.schur = corner - self.border.T @ self.inverse_border

    def _column_of_weight(self, j: int) -> np.ndarray:
        """Return the column of the matrix that belongs to a weight."""
        unit = np.zeros(self.d)
        unit[j] = 1.0
        column = self.rows.weighted_sum(self.h * self.rows.dot(unit))
        column[j] += self.diagonal[j]
        if self.n > self.d:
            column = np.append(column, self.samples.border[j])
        return np.append(column, self.column[j])

    def _apply_inner(self, right):
        """Return A⁻¹ times a vector."""
        scaled = self.root * right
        inner = self.root_h * self.rows.dot(self.root * scaled)
        inside = self.scale * lapack.dpotrs(self.factor, self.scale * inner, lower=1)[0]
        return self.root * (
            scaled - self.root * self.rows.weighted_sum(self.root_h * inside)
        )

    def apply_inverse(self, right):
        inner = self._apply_inner(right[: self.d])
        outer = np.zeros(len(self.schur))
        outer[: len(self.in_border)] = right[self.in_border]
        outer = np.linalg.solve(self.schur, outer - self.border.T @ inner)
        solution = np.zeros(len(right))
        solution[: self.d] = inner - self.inverse_border @ outer
        solution[self.in_border] = outer[: len(self.in_border)]
        return solution


def newton_system(
    samples: Curvature, cone: Scaling, ridge, engine: Engine
) -> Factorised:
    """Return the system of the engine: wide, its own, or the tall one."""
    if engine.wide is not None:
        return WideSystem(samples, cone, ridge, engine.wide)
    factorised = engine.factorised(samples, cone, ridge)
    if factorised is None:
        return TallSystem(samples, cone, ridge)
    return factorised
