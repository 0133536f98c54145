# pyright: reportMissingImports=false
"""The GPU engine: rows and the state of the samples are on a GPU.

Each pass has three parts: a product of the rows with a direction, a kernel that does
the arithmetic of every sample, and sums of rows with the coefficients that the kernel
wrote. The Newton matrix is formed and factorised there too or, with many features, only
multiplied by. The sequence of an iteration is that of the protocol
(`engines/engine.py`).
"""

from contextlib import suppress
from typing import Any

import numpy as np

from drsvm.certificate.multipliers import DualSums
from drsvm.compiled.interior_point_passes import Step
from drsvm.compiled.interior_point_sample import BINS
from drsvm.compiled.normal_matrix import DAMPING, REGULARISATIONS
from drsvm.engines.cpu import NO_STEP
from drsvm.engines.engine import Engine, Prediction, Rates, Steps
from drsvm.engines.gpu.cuda_kernels import blocks_for, kernel, launch
from drsvm.engines.gpu.device import cupy, on_device
from drsvm.engines.newton_matrix import (
    Curvature,
    Factorised,
    MatrixFree,
    Scaling,
    newton_matrix,
)
from drsvm.problem.backends import to_numpy
from drsvm.problem.problem import Problem
from drsvm.utils.annotations import Matrix, Vector

# Gram matrices are formed in bfloat16, in a fifth of the time, while complementarity
# products are larger than this on average, in units of the weights: the next steps
# correct what a direction lacks. With 2,000,000 × 1,000 normal rows, 0.49 s in place of
# 0.69 s with products in TF32. Smaller values are faster there, but of 500,000 rows of
# 300 nearly dependent features, 1e-6 doubles the iterations in 2 of 9 cases.
ROUGH = 1e-4
# From a step that is shorter on, matrices are exact: digits may be lacking.
SHORT_STEP = 0.2
# With more, the Newton matrix is not formed: it would cost more than many products
MAX_FEATURES = 10_000
# With no more, the matrix is factorised in main memory, where small steps take less
# time: with 100 features, 0.5 ms of an iteration in place of 2.5.
FEW_FEATURES = 256
# After this many steps of conjugate gradients it is seen whether they have arrived.
STEPS_BETWEEN_LOOKS = 4
# For kernels that evaluate a direction and do not move
_NOWHERE = Steps(0.0, 0.0)


class GpuEngine(Engine):
    """All rows of a problem on one GPU."""

    small = False

    def __init__(self, problem: Problem):
        self.rows = problem.rows
        self.signs = problem.signs
        self.weights = problem.sample_weight
        slopes, flips = problem.price_slopes
        flips_there = on_device(np.atleast_1d(flips))
        slopes_there = on_device(np.atleast_1d(slopes))
        # One number for all samples is an array with a step of 0 from one to the next.
        step = np.int32(np.ndim(slopes))
        self.n, self.n_features = self.rows.shape
        self.n_linear = self.n_features + problem.fit_intercept
        self.mass = float(self.weights.sum())
        self.weight = 2.0 * self.mass + float((self.weights * flips_there).sum())
        self._state = cupy().empty((6, self.n))
        # What all kernels for the samples take first
        self._samples = (
            self._state,
            self.n,
            self.weights,
            self.signs,
            flips_there,
            slopes_there,
            step,
        )
        self._mu = 1.0  # mean complementarity product, in units of the weights
        self._may_be_rough = True  # whether low precision has been enough so far
        # Rows 0 to 2 are the second-order corrections of the three constraints, row 3
        # the changes of the margins in the corrected direction.
        self._corrections: Matrix = None
        self._step = NO_STEP

    def _call(self, name: str, *arguments) -> None:
        """Call a kernel for the samples."""
        launch(kernel(name), self.n, *self._samples, *arguments)

    def _by_block(self, n_values: int) -> np.ndarray:
        """Return room for some values of each block of threads."""
        return cupy().empty((blocks_for(self.n), n_values))

    def _sums(self, n_sums: int, name: str, *arguments) -> list[float]:
        """Return sums over all samples.

        The kernel writes those of each block of threads to its last argument; they are
        added in a fixed order, so that results can be repeated.
        """
        sums = self._by_block(n_sums)
        self._call(name, *arguments, sums)
        return sums.sum(axis=0).tolist()

    def _rates(self, name: str, *arguments) -> Rates:
        """Return the rates of a kernel, whose last arguments it writes them to.

        They are the smallest changes of each block of threads, and the bins of all.
        """
        smallest = self._by_block(2)
        bins = cupy().zeros((2, BINS + 1))
        self._call(name, *arguments, smallest, bins)
        return Rates(np.minimum(to_numpy(smallest.min(axis=0)), 0.0), to_numpy(bins))

    def _products(self, direction: np.ndarray) -> Vector:
        """Return (x_i, 1)·direction for every row, without the 1 if there is no b."""
        shift = float(direction[self.n_features :].sum())
        return self.rows.dot(direction[: self.n_features], shift)

    def _with_intercept(self, sums, coefficients) -> np.ndarray:
        """Return Σ c_i (x_i, 1) for every row of coefficients, given Σ c_i x_i."""
        sums = to_numpy(sums)
        if self.n_linear == self.n_features:
            return sums
        ones = to_numpy(coefficients.sum(axis=1))
        return np.concatenate([sums, ones[:, None]], axis=1)

    def center(self, point, lam, mu) -> None:
        self._mu = mu
        margins = self._products(point) * self.signs
        self._call("center", margins, float(lam), float(mu))

    def total_slack(self) -> float:
        return float(self.weights @ self._state[5])

    def curvature(self, steps=None) -> tuple[float, Curvature]:
        products = self._move(steps)
        # The kernel writes coefficients for the λ column and for the right-hand side,
        # and the curvatures h_i, which are those for the intercept's column, too.
        coefficients = cupy().empty((3, self.n))
        h = coefficients[2]
        square, linear = self._sums(2, "curvature", h, coefficients)
        gram = None
        if steps is not None and min(steps.primal, steps.dual) < SHORT_STEP:
            self._may_be_rough = False
        if self.n_features <= MAX_FEATURES:
            rough = self._may_be_rough and self._mu > ROUGH
            gram, sums = self.rows.gram_and_sums(h, coefficients, rough=rough)
            if self.n_features <= FEW_FEATURES:
                gram = to_numpy(gram)
        else:
            sums = self.rows.device_sums(coefficients)
        column, predictor, border = self._with_intercept(sums, coefficients)
        return products, Curvature(gram, column, square, predictor, linear, border, h)

    def factorised(self, samples, cone, ridge) -> Factorised | None:
        if self.n_features > MAX_FEATURES:
            return GpuMatrixFree(samples, cone, ridge, self.rows, self._mu)
        if self.n_features <= FEW_FEATURES:
            return None
        return GpuFactorised(newton_matrix(samples, cone, ridge, DAMPING))

    def predict(self, direction, lam_change) -> tuple[Rates, Prediction]:
        if self._corrections is None:
            self._corrections = cupy().empty((4, self.n))
        coefficients = cupy().empty((2, self.n))
        sums = self._by_block(5)
        rates = self._rates(
            "predict",
            self._products(direction),
            float(lam_change),
            self._corrections,
            coefficients,
            sums,
        )
        totals = sums.sum(axis=0).tolist()
        slack, multiplier, both, correction_lam, targeted_lam = totals
        sums_of_rows = self.rows.device_sums(coefficients)
        correction, targeted = self._with_intercept(sums_of_rows, coefficients)
        return rates, Prediction(
            slack, multiplier, both, correction, correction_lam, targeted, targeted_lam
        )

    def longest_steps(self, direction, lam_change, target) -> Rates:
        self._step = Step(direction, float(lam_change), float(target))
        self._corrections[3] = self._products(direction)
        return self._rates("longest_steps", *self._along(_NOWHERE), self._corrections)

    def _along(self, steps: Steps) -> tuple[float, ...]:
        """Return the arguments of kernels that follow the corrected direction."""
        step = self._step
        lengths = [float(length) for length in steps]
        return step.target, step.lam_change, *lengths

    def _move(self, steps: Steps | None) -> float:
        """Take steps, if any, and return Σ multiplier · slack then, or 0."""
        if steps is None:
            return 0.0
        [products] = self._sums(1, "move", *self._along(steps), self._corrections)
        self._mu = products / self.weight
        return products

    def dual_sums(self, steps=None) -> tuple[float, DualSums]:
        products = self._move(steps)
        coefficients = cupy().empty((2, self.n))
        sums = self._sums(4, "sides", coefficients)
        rows = to_numpy(self.rows.device_sums(coefficients)).T
        return products, DualSums(rows, np.array(sums[:2]), np.array(sums[2:]))

    def multipliers(self) -> tuple[Vector, Vector]:
        return self._state[0], self._state[1]


class GpuFactorised(Factorised):
    """A matrix, given by its upper triangle, and its Cholesky factorisation."""

    most_refinements = 4

    def __init__(self, matrix: Any):
        from cupyx import errstate

        xp = cupy()
        self.matrix = self.like = xp.triu(matrix) + xp.triu(matrix, 1).T
        diagonal = self.matrix.diagonal()
        self.scale = 1.0 / xp.sqrt(xp.where(diagonal > 0, diagonal, 1.0))
        scaled = self.matrix * self.scale * self.scale[:, None]
        # As little is added to the diagonal of the scaled matrix, which is 1, as the
        # factorisation needs.
        for added in REGULARISATIONS:
            xp.fill_diagonal(scaled, 1.0 + added)
            with suppress(np.linalg.LinAlgError), errstate(linalg="raise"):
                self.factor = xp.linalg.cholesky(scaled)
                return
        raise np.linalg.LinAlgError("the Newton matrix is numerically singular")

    def multiply(self, x):
        return self.matrix @ x

    def apply_inverse(self, right):
        from cupyx.lapack import potrs

        return self.scale * potrs(self.factor, self.scale * right, True).ravel()


class GpuMatrixFree(MatrixFree):
    """The matrix with many features: its diagonal preconditions conjugate gradients."""

    # Inexact directions stop short of a proof: the nearer the optimum, the more steps
    # are needed. In trials with text-like rows, residuals of 1e-2, or at most 100
    # steps, ended at gaps above 1e-4. Residuals a tenth of those below took as many
    # iterations, with 1.3 to 1.7 times as many steps.
    most_refinements = 500

    def __init__(
        self, samples: Curvature, cone: Scaling, ridge: np.ndarray, rows: Any, mu: float
    ):
        if rows.is_sparse:
            rows = rows.rounded
        super().__init__(samples, cone, ridge, rows)
        xp = cupy()
        d = self.d
        n = self.n
        # Far from the optimum, directions need not be accurate (inexact Newton steps).
        self.accurate = min(1e-3, mu)
        # Vectors with an entry for each of (w, b, λ)
        self.diagonal = xp.append(self.diagonal, self.square)
        self.border = xp.zeros((2, n + 1))
        self.border[0, :n] = self.column
        if self.rank_one is not None:
            self.border[1] = self.rank_one
        diagonal = self.diagonal + self.coefficient * self.border[1] ** 2
        diagonal[:d] += on_device(self.rows.sum_of_squares(self.h))
        diagonal[d:n] += self.h.sum()
        self.inverse = 1.0 / xp.maximum(diagonal, 1e-300)

    def multiply(self, x):
        xp = cupy()
        d = self.d
        curved = self.rows.dot(x[:d])
        if self.n > d:
            curved += x[d]
        curved *= self.h
        image = xp.empty(self.n + 1)
        launch(
            kernel("newton_image"),
            self.n + 1,
            self.rows.device_sums(curved[None])[0],
            curved.sum() if self.n > d else curved,
            x,
            self.diagonal,
            self.border,
            self.border @ x,
            float(self.coefficient),
            d,
            self.n,
            image,
        )
        return image

    def apply_inverse(self, right):
        return self.inverse * right

    def solve(self, right):
        # What the next step depends on stays on the GPU: to wait for three numbers in
        # each step, and to combine vectors one by one, took a fifth of the time.
        residual = right.copy()
        wanted = self.accurate * float(abs(residual).max())
        step = self.apply_inverse(residual)
        energy = residual @ step
        solution = cupy().zeros_like(residual)
        correction = cupy().empty_like(residual)
        best = solution.copy()
        smallest = np.inf
        size = len(residual)
        for taken in range(1, self.most_refinements + 1):
            image = self.multiply(step)
            vectors = solution, residual, correction
            arguments = energy, step @ image, step, image, self.inverse, size, *vectors
            launch(kernel("descend"), size, *arguments)
            if taken % STEPS_BETWEEN_LOOKS == 0:
                error = float(abs(residual).max())
                if error < smallest:
                    best = solution.copy()
                    smallest = error
                if not wanted < error < np.inf:
                    break
            last = energy
            energy = residual @ correction
            launch(kernel("turn"), size, energy, last, correction, size, step)
        return best
