"""Epochs of the incremental methods over rows in the arrays that the kernels read.

An epoch that takes long is done in slices, several calls of a kernel one after another: in between Python looks at the
clock and hears Ctrl-C. What a slice leaves behind is a valid point; rows that were not visited keep their multipliers.
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from drsvm.clock import Stopwatch, TimeLimit
from drsvm.kernels import incremental_l1, proximal_epochs, subgradient_epochs
from drsvm.kernels.rows import row_squares
from drsvm.model.norms import Norm
from drsvm.model.problem import Problem

ORDERS = ("shuffled", "cyclic", "with-replacement")

UNLIMITED = 1e200
"""λ where neither radius nor flips hold it: beyond any norm of weights."""

SLICE, SLICE_BY_SIZE = 0.2e9, 50.0
"""A slice is expected to take so many nanoseconds, and so many for each row and feature: a call of a kernel begins with
a pass over them. Slices follow from the data alone, so that the same seed gives the same result every time."""


class Kind(NamedTuple):
    """A kernel, and about how many nanoseconds a step takes for an entry of its rows, and for a feature at worst."""

    kernel: Any
    per_entry: float
    per_feature: float = 0.0


PROXIMAL = {
    1: Kind(incremental_l1.ippa_epoch, 60.0),
    2: Kind(proximal_epochs.ippa_epoch_l2, 10.0),
    math.inf: Kind(proximal_epochs.ippa_epoch_linf, 10.0, 8.0),
}
SUBGRADIENT = {
    1: Kind(incremental_l1.isg_epoch, 25.0),
    2: Kind(subgradient_epochs.isg_epoch_l2, 7.0),
    math.inf: Kind(subgradient_epochs.isg_epoch_linf, 10.0, 3.0),
}
MEMORY = {
    1: Kind(proximal_epochs.remembering_epoch_l1, 30.0, 1.5),
    2: Kind(proximal_epochs.remembering_epoch_l2, 20.0),
    math.inf: Kind(proximal_epochs.remembering_epoch_linf, 30.0, 1.5),
}


@dataclass(frozen=True)
class Cone:
    """Parameters of the problem as the kernels take them."""

    norm: Norm
    radius: float
    kappa: float  # inf where no flip is possible
    l2: float
    with_intercept: bool

    @classmethod
    def of(cls, problem: Problem) -> "Cone":
        """Return the parameters of a problem."""
        kappa = problem.flip_cost if problem.flips_possible else math.inf
        return cls(problem.norm, problem.radius, kappa, problem.l2, problem.fit_intercept)

    @property
    def limits_weights(self) -> bool:
        """Whether a large λ costs anything."""
        return self.radius > 0


class Samples:
    """Rows in the arrays that the kernels read: CSR; dense rows get the indices of a full CSR matrix (4 bytes each)."""

    def __init__(self, X, signs, weights):
        self.n, self.d = X.shape
        self.signs, self.weights = signs, weights
        self.importance = self.n * weights
        if sparse.issparse(X):
            data, indices, indptr = X.data, X.indices, X.indptr
        else:
            kind = np.int32 if X.size < 2**31 else np.int64
            data = X.reshape(-1)
            indices = np.tile(np.arange(self.d, dtype=kind), self.n)
            indptr = np.arange(0, X.size + 1, self.d, dtype=kind)
        unsigned = np.uint32 if indices.dtype == np.int32 else np.uint64
        self.arrays = tuple(
            _read_only(part)
            for part in (data, indices.view(unsigned), indptr.view(unsigned), self.signs, self.importance)
        )
        self.row_squares = row_squares(self.arrays[0], self.arrays[2])
        self.entries_per_row = data.size / self.n

    @property
    def mean_square(self) -> float:
        """Weighted mean of x_i·x_i, 1 where all rows are 0."""
        return float(self.weights @ self.row_squares) or 1.0

    def feature_metric(self) -> np.ndarray:
        """Return steps of the weights in proportion to the inverse mean squares of their features, 1 on average.

        The average is the one that leaves the expected change of a margin as it is.
        """
        data, indices, _, _, importance = self.arrays
        lengths = np.diff(self.arrays[2].astype(np.int64))
        squares = np.bincount(indices, np.repeat(importance, lengths) * data.astype(np.float64) ** 2, minlength=self.d)
        present = squares > 1e-12 * squares.max(initial=0.0)
        metric = np.ones(self.d)
        if present.any():
            metric[present] = squares.sum() / present.sum() / squares[present]
        return metric


def _read_only(array) -> np.ndarray:
    """Return a read-only view: kernels are compiled anew for writable arrays."""
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


@dataclass
class Point:
    """A classifier with its λ, and multipliers σ as shares of the weights of their rows."""

    w: np.ndarray
    scalars: np.ndarray  # λ, b, about λ
    hinge: np.ndarray
    flip: np.ndarray

    def copy(self) -> "Point":
        """Return a point that shares nothing with this one."""
        return Point(self.w.copy(), self.scalars.copy(), self.hinge.copy(), self.flip.copy())


class Epochs:
    """Epochs of all kinds over given rows; each changes a point in place.

    Where there is a time limit, slices that would end too late are left out, but for the very first one.
    """

    def __init__(self, samples: Samples, cone: Cone, order: str, rng, mean_square=None, time: TimeLimit | None = None):
        self.samples, self.cone, self.order, self.rng = samples, cone, order, rng
        self.time = TimeLimit() if time is None else time
        self.begun = False
        kappa = cone.kappa if math.isfinite(cone.kappa) else 0.0
        self.square = samples.mean_square if mean_square is None else mean_square
        self.free = self.square if cone.with_intercept else 0.0
        self.natural_step = 1.0 / (self.square + kappa * min(kappa, cone.radius))
        self._metric: tuple[np.ndarray, ...] | None = None

    def origin(self) -> Point:
        """Return the point 0, with all hinges active."""
        n, d = self.samples.n, self.samples.d
        level = 0.0 if self.cone.limits_weights else UNLIMITED
        return Point(np.zeros(d), np.array([level, 0.0, level]), np.ones(n), np.zeros(n))

    def _next_order(self) -> np.ndarray:
        n = self.samples.n
        if self.order == "shuffled":
            return self.rng.permutation(n)
        return np.arange(n) if self.order == "cyclic" else self.rng.integers(0, n, n)

    def _visit(self, kind: Kind, *arguments, batch_size: int = 1) -> None:
        """Call a kernel for one slice of the rows after another, as long as there is time."""
        order, length = self._next_order(), self._slice_length(kind, batch_size)
        took = 0.0
        for first in range(0, order.size, length):
            if self.begun and self.time.left() <= took:
                return
            watch, self.begun = Stopwatch(), True
            kind.kernel(*self.samples.arrays, order[first : first + length], *arguments)
            took = watch.elapsed()

    def _slice_length(self, kind: Kind, batch_size: int) -> int:
        """Return the number of rows in a slice, which is one of whole batches."""
        samples = self.samples
        per_batch = kind.per_entry * samples.entries_per_row * batch_size + kind.per_feature * samples.d
        work = max(SLICE, SLICE_BY_SIZE * (samples.n + samples.d))
        return batch_size * max(1, int(work / max(per_batch, 1.0)))

    def _common(self, point: Point, step: float, share: float):
        cone = self.cone
        parameters = (step, cone.radius, cone.kappa, cone.l2, self.free, point.hinge, point.flip, share)
        return (point.w, point.scalars, *parameters)

    def proximal(self, point: Point, step: float, share: float) -> None:
        """Take a proximal step on every row; multipliers move towards the present ones by the given share."""
        self._visit(PROXIMAL[self.cone.norm.q], *self._common(point, step, share))

    def subgradient(self, point: Point, step: float, share: float, batch_size: int) -> None:
        """Take a subgradient step on every batch."""
        batch_size = min(batch_size, self.samples.n)
        arguments = (*self._common(point, step, share), batch_size)
        if self.cone.norm.q == math.inf:
            if self._metric is None:
                metric = self.samples.feature_metric()
                self._metric = metric, 1.0 / metric
            arguments += self._metric
        self._visit(SUBGRADIENT[self.cone.norm.q], *arguments, batch_size=batch_size)

    def memory(self, problem: Problem, point: Point, step: float) -> None:
        """Take a step with memory on every row around the point as centre, and move the point to where it leads."""
        cone, samples = self.cone, self.samples
        total = step * samples.n
        weights = samples.weights
        pull, turn = problem.weighted_sum(weights * (point.hinge - point.flip))
        kappa = cone.kappa if math.isfinite(cone.kappa) else 0.0
        a = point.w + total * pull
        level = point.scalars[0] - total * cone.radius + total * kappa * float(weights @ point.flip)
        state = np.array([level, point.scalars[1] + total * self.free * turn, point.scalars[0]])
        parameters = (step, total, cone.kappa, cone.l2, self.free, point.hinge, point.flip)
        self._visit(MEMORY[cone.norm.q], a, state, *parameters)
        stiffness = 1.0 + total * cone.l2
        w, level = cone.norm.project_epigraph(a / stiffness, state[0], stiffness)
        point.w[:] = w
        point.scalars[:] = level, state[1] if cone.with_intercept else 0.0, level
