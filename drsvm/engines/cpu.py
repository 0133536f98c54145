"""The CPU engine: blocks of rows, threads over groups of blocks."""

import math
import operator
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import reduce
from itertools import chain
from typing import Any

import numpy as np

from drsvm.engines.engine import Curvature, DualSums, Engine, Prediction
from drsvm.engines.rows import FEW_FEATURES, rows_of
from drsvm.engines.threads import available_cores
from drsvm.engines.wide import WideRows
from drsvm.kernels import interior_point as kernel
from drsvm.model.problem import Problem

BLOCK_BYTES = 1 << 21
"""Target size of a block of rows with its state, so that it stays in a core's cache during several products."""

LEAST_ROWS_FOR_BLAS = 512
"""Fewest rows of a block with many features: every block adds to a d × d matrix."""

THREAD_WORK = 50_000
"""Fewest stored entries that make another thread worthwhile."""

WIDE_FROM = 1000
"""With fewer features, the d-sized system is used even if there are fewer rows: it is more accurate."""


MOST_FREE = 300
"""With more weights without norm and ridge than this, the d-sized system is used."""


def is_wide(problem: Problem) -> bool:
    """Return whether to solve the system of the rows instead of that of the features.

    Weights without norm and ridge, those of features that cannot shift, cost as much there as a row.
    """
    n, d = problem.X.shape
    return n < d and d > WIDE_FROM and len(free_features(problem)) <= min(MOST_FREE, d - n)


def free_features(problem: Problem) -> np.ndarray:
    """Return the features that neither norm nor ridge holds, though they hold others."""
    if problem.feature_cost is None or problem.l2 > 0:
        return np.zeros(0, dtype=np.intp)
    return np.flatnonzero(np.isinf(problem.feature_cost))


@dataclass
class _Block:
    first: int
    last: int
    weights: np.ndarray
    signs: np.ndarray
    flips: Any  # 1.0 where the label can be flipped, else 0.0: a number or an array
    kappa: Any  # cost of a flip, 0 where it is not possible: a number or an array
    state: np.ndarray  # α, β, γ, g₁, g₂, g₃
    corrections: list[np.ndarray]  # (3, size) each: the one in use and a spare
    changes: list[np.ndarray]  # margin changes without the labels' signs: the ones in use and spares


def _flips(problem: Problem) -> tuple[Any, Any]:
    """Return whether labels can be flipped (1.0 or 0.0) and at which cost: numbers if all rows have the same."""
    if np.ndim(problem.flip_cost) == 0:
        return float(problem.flips_possible), problem.flip_cost if problem.flips_possible else 0.0
    return problem.can_flip.astype(np.float64), np.where(problem.can_flip, problem.flip_costs, 0.0)


def _part(values, first: int, last: int):
    return values[first:last] if np.ndim(values) else values


class _Rates:
    """How soon samples reach their boundaries: the largest rates, and the weight of samples by longest step.

    A rate is 1 / the longest step; row 0 is for the slacks, row 1 for the multipliers.
    """

    def __init__(self):
        self.smallest_change = np.zeros(2)
        self.bins = np.zeros((2, kernel.BINS + 1))

    def add(self, rates, weights) -> None:
        np.minimum(self.smallest_change, rates.min(axis=1), out=self.smallest_change)
        kernel.count_short_steps(rates, weights, self.bins)

    def __add__(self, other: "_Rates") -> "_Rates":
        total = _Rates()
        total.smallest_change = np.minimum(self.smallest_change, other.smallest_change)
        total.bins = self.bins + other.bins
        return total

    def tolerating(self, share: float) -> tuple[float, float]:
        """Return the primal and dual rates that only samples with the given share of the weight exceed."""
        rates = -self.smallest_change
        for k, behind in enumerate(np.cumsum(self.bins, axis=1)):
            steps = np.searchsorted(behind, share, side="right")  # the first bin that must not be left behind
            if steps > 0:
                rates[k] = min(rates[k], kernel.BINS / steps)
        return float(rates[0]), float(rates[1])


def _add(parts) -> Any:
    """Add the results of the threads, in the order of the rows."""
    return reduce(operator.add, parts)


class CpuEngine(Engine):
    """Blocks of rows with their state, and threads over groups of blocks."""

    def __init__(self, problem: Problem, n_threads: int | None = None):
        self.n_features = problem.n_features
        self.intercept = problem.fit_intercept
        self.n_linear = problem.n_features + problem.fit_intercept
        flips = _flips(problem)[0]
        self.weight = 2.0 + (float(problem.sample_weight @ flips) if np.ndim(flips) else flips)
        self.rows = rows_of(problem.X)
        n, d = problem.X.shape
        stored = problem.X.nnz if hasattr(problem.X, "nnz") else n * d
        self.small = stored < THREAD_WORK
        wanted = n_threads or available_cores()
        self.n_threads = max(1, min(wanted, stored // THREAD_WORK))
        self.blocks = self._cut(problem, stored)
        self._pool = ThreadPoolExecutor(self.n_threads) if self.n_threads > 1 else None
        self.wide = WideRows(self.rows, self.n_threads, self._pool) if is_wide(problem) else None

    def _cut(self, problem: Problem, stored: int) -> list[_Block]:
        """Split the rows into blocks of equal size, the same number for every thread."""
        n = problem.n_rows
        least = LEAST_ROWS_FOR_BLAS if stored > FEW_FEATURES * n else 64
        largest = max(least, int(BLOCK_BYTES / (8 * stored / n + 128)))
        rounds = max(1, math.ceil(n / (largest * self.n_threads)))
        size = math.ceil(n / (rounds * self.n_threads))
        flips, kappa = _flips(problem)
        return [
            _Block(
                first,
                last := min(first + size, n),
                problem.sample_weight[first:last],
                problem.signs[first:last],
                _part(flips, first, last),
                _part(kappa, first, last),
                np.empty((6, last - first)),
                [np.empty((3, last - first)) for _ in range(2)],
                [np.empty(last - first) for _ in range(2)],
            )
            for first in range(0, n, size)
        ]

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown()

    def _over_blocks(self, work: Callable[[list[_Block]], Any]) -> list[Any]:
        """Call work on each thread's share of the blocks; return the results in the order of the rows.

        numpy's warnings are set per thread; they are off here, and the caller handles overflow in the sums.
        """
        work = np.errstate(all="ignore")(work)
        if self._pool is None:
            return [work(self.blocks)]
        share = math.ceil(len(self.blocks) / self.n_threads)
        first, *others = [self.blocks[k : k + share] for k in range(0, len(self.blocks), share)]
        waiting = [self._pool.submit(work, blocks) for blocks in others]
        return [work(first), *(future.result() for future in waiting)]

    def _margin_changes(self, block: _Block, direction, out) -> None:
        self.rows.dot(block.first, block.last, direction[: self.n_features], out)
        if self.intercept:
            out += direction[self.n_features]

    def _collect(self, block: _Block, coefficients, totals) -> None:
        """Add Σ c_i (x_i, 1) to totals, one column per column of coefficients."""
        self.rows.transposed_dot(block.first, block.last, coefficients, totals[: self.n_features])
        if self.intercept:
            totals[self.n_features] += coefficients.sum(axis=1)

    def center(self, point, level: float, mu: float) -> None:

        def work(blocks):
            for block in blocks:
                margins = block.changes[0]
                self._margin_changes(block, point, margins)
                margins *= block.signs
                kernel.center(block.state, block.weights, margins, block.flips, block.kappa, level, mu)

        self._over_blocks(work)

    def curvature(self) -> Curvature:

        def work(blocks):
            matrix = np.zeros((0, 0) if self.wide is not None else (self.n_features, self.n_features))
            totals, border = np.zeros((self.n_linear, 2)), np.zeros((self.n_linear, 2))
            sums, curvatures = np.zeros(2), []
            for block in blocks:
                h = np.empty(block.last - block.first)
                coefficients = np.empty((2, len(h)))
                sums += kernel.curvature(block.state, block.weights, block.signs, block.kappa, h, coefficients)
                if self.intercept:
                    self._collect(block, np.stack([h, h]), border)
                    totals[self.n_features] += coefficients.sum(axis=1)
                sums_of_rows = totals[: self.n_features]
                if self.wide is not None:
                    curvatures.append(h)
                    self.rows.transposed_dot(block.first, block.last, coefficients, sums_of_rows)
                else:
                    self.rows.gram(block.first, block.last, h, coefficients, matrix, sums_of_rows)
            return matrix, totals, border, sums, curvatures

        matrix, totals, border, sums, curvatures = zip(*self._over_blocks(work), strict=True)
        totals, border, sums = _add(totals), _add(border)[:, 0], _add(sums)
        parts = totals[:, 0], sums[0], totals[:, 1], sums[1], border
        if self.wide is not None:
            return Curvature(None, *parts, of_rows=np.concatenate(list(chain(*curvatures))))
        return Curvature(_add(matrix), *parts)

    def predict(self, direction, level_change: float, left_behind: float = 0.0) -> Prediction:

        def work(blocks):
            totals = np.zeros((self.n_linear, 2))
            sums, found = np.zeros(5), _Rates()
            for block in blocks:
                coefficients, rates = np.empty((2, 2, block.last - block.first))
                self._margin_changes(block, direction, block.changes[0])
                sums += kernel.predict(
                    block.state,
                    block.weights,
                    block.signs,
                    block.flips,
                    block.kappa,
                    block.changes[0],
                    level_change,
                    block.corrections[0],
                    coefficients,
                    rates,
                )
                found.add(rates, block.weights)
                self._collect(block, coefficients, totals)
            return totals, sums, found

        totals, sums, found = zip(*self._over_blocks(work), strict=True)
        totals = _add(totals)
        slack, multiplier, both, corrected, targeted = _add(sums)
        primal_rate, dual_rate = _add(found).tolerating(left_behind)
        return Prediction(
            primal_rate,
            dual_rate,
            slack,
            multiplier,
            both,
            totals[:, 0],
            corrected,
            totals[:, 1],
            targeted,
        )

    def longest_steps(
        self, direction, level_change: float, target: float, left_behind: float = 0.0
    ) -> tuple[float, float]:
        self._target, self._level_change = target, level_change

        def work(blocks):
            found = _Rates()
            for block in blocks:
                rates = np.empty((2, block.last - block.first))
                self._margin_changes(block, direction, block.changes[0])
                kernel.longest_steps(*self._direction_of(block), rates=rates)
                found.add(rates, block.weights)
            return found

        return _add(self._over_blocks(work)).tolerating(left_behind)

    def _direction_of(self, block: _Block) -> Any:
        return (
            block.state,
            block.weights,
            block.signs,
            block.flips,
            block.kappa,
            self._target,
            block.corrections[0],
            block.changes[0],
            self._level_change,
        )

    def recorrect(self, primal: float, dual: float) -> tuple[np.ndarray, float]:

        def work(blocks):
            totals, level = np.zeros((self.n_linear, 2)), 0.0
            for block in blocks:
                coefficients = np.empty((2, block.last - block.first))
                level += kernel.recorrect(
                    *self._direction_of(block),
                    primal=primal,
                    dual=dual,
                    new_correction=block.corrections[1],
                    coefficients=coefficients,
                )
                self._collect(block, coefficients, totals)
            return totals[:, 0], level

        totals, levels = zip(*self._over_blocks(work), strict=True)
        self._spare_level_change = self._level_change
        self.swap()
        return _add(totals), float(sum(levels))

    def swap(self) -> None:
        for block in self.blocks:
            block.corrections.reverse()
            block.changes.reverse()
        self._level_change, self._spare_level_change = self._spare_level_change, self._level_change

    def move(self, primal: float, dual: float, left: float = 0.0) -> float:

        def work(blocks):
            return sum(kernel.move(*self._direction_of(block), primal=primal, dual=dual, left=left) for block in blocks)

        return float(sum(self._over_blocks(work)))

    def restored_multipliers(self, direction, level_change: float) -> tuple[np.ndarray, np.ndarray]:
        def restoring(block: _Block) -> Any:
            return block.state, block.signs, block.flips, block.kappa, block.changes[0], level_change

        def rates_of(blocks):
            largest = 0.0
            for block in blocks:
                rates = np.empty(block.last - block.first)
                self._margin_changes(block, direction, block.changes[0])
                kernel.restoring_rates(*restoring(block), rates)
                largest = max(largest, float(rates.max()))
            return largest

        step = min(1.0, 0.5 / max(*self._over_blocks(rates_of), 1e-300))
        alpha, beta = np.empty((2, self.blocks[-1].last))
        for block in self.blocks:
            part = slice(block.first, block.last)
            kernel.restored(*restoring(block), step, alpha[part], beta[part])
        return alpha, beta

    def dual_sums(self) -> DualSums:

        def work(blocks):
            rows, mass, flip_cost = np.zeros((self.n_features, 2)), np.zeros(2), np.zeros(2)
            for block in blocks:
                positive, (alpha, beta) = block.signs > 0, block.state[:2]
                coefficients = np.stack([np.where(positive, alpha, beta), np.where(positive, beta, alpha)])
                self.rows.transposed_dot(block.first, block.last, coefficients, rows)
                mass += coefficients.sum(axis=1)
                costs = block.kappa * beta
                flip_cost += costs.sum(where=~positive), costs.sum(where=positive)
            return rows, mass, flip_cost

        return DualSums(*map(_add, zip(*self._over_blocks(work), strict=True)))

    def save(self) -> list[np.ndarray]:
        return [block.state.copy() for block in self.blocks]

    def load(self, saved: list[np.ndarray]) -> None:
        for block, state in zip(self.blocks, saved, strict=True):
            block.state[:] = state

    def multipliers(self) -> tuple[np.ndarray, np.ndarray]:
        alpha = np.concatenate([block.state[0] for block in self.blocks])
        beta = np.concatenate([block.state[1] for block in self.blocks])
        return alpha, beta
