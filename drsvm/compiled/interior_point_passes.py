"""Passes of the interior-point method over the rows of one thread, tile by tile.

A tile of rows is read from memory once; everything else about it is in buffers that
stay in the cache. Sums over rows are added up over blocks first, which keeps rounding
errors small. The mathematics is in `interior_point_sample.py`, the sequence of the
passes in `engines/engine.py`.
"""

from typing import Any, NamedTuple

import numpy as np

from drsvm.compiled import interior_point_sample as samples
from drsvm.compiled.decorators import FAST, compiled
from drsvm.compiled.products import TILE, add_gram, add_sums, products

# Number of rows whose sums are added up before they are added to the total
BLOCK = 32 * TILE


class Share(NamedTuple):
    """The rows of one thread and what is known about each.

    The state of a tile of rows is contiguous.
    """

    data: Any  # dense: an array of shape (n, d); sparse: the entries of all rows
    indices: np.ndarray | None
    indptr: np.ndarray | None
    width: int  # number of columns
    signs: np.ndarray
    weights: np.ndarray
    # 1.0 where the label can be flipped, else 0.0: a number or an array
    flips: float | np.ndarray
    # Cost of a flip where it is possible, else the radius of the row: a number or an
    # array
    slopes: float | np.ndarray
    state: np.ndarray  # (tiles, 6, TILE)


class Buffers(NamedTuple):
    """Memory of one thread, for one tile at a time."""

    changes: np.ndarray
    coefficients: np.ndarray  # four rows; they are used in pairs
    rates: np.ndarray
    transposed: np.ndarray  # (d, TILE) if a dense Gram matrix is formed
    scaled: np.ndarray
    block: np.ndarray  # (4, d or d + 1): the sums of a block


class Step(NamedTuple):
    """A corrected direction (dw, db), dλ, its target, and how far to go along it."""

    direction: np.ndarray
    lam_change: float
    target: float
    primal: float = 0.0
    dual: float = 0.0
    left: float = 0.0


@compiled(inner=True)
def _of_tile(share, first, last):
    flips, slopes = samples.flips_of(share.flips, share.slopes, first, last)
    state = share.state[first // TILE]
    weights = share.weights[first:last]
    signs = share.signs[first:last]
    return samples.Tile(state, weights, signs, flips, slopes)


@compiled(fastmath=FAST, inner=True)
def _changes(share, direction, first, last, out):
    """Write the changes of the margins, without the signs of the labels."""
    products(share.data, share.indices, share.indptr, first, last, direction, out)
    if direction.size > share.width:
        for i in range(last - first):
            out[i] += direction[share.width]


@compiled(fastmath=FAST, inner=True)
def _collect(share, coefficients, first, last, out):
    """Add Σ c_i (x_i, 1) to the rows of out, for two rows of coefficients."""
    add_sums(share.data, share.indices, share.indptr, first, last, coefficients, out)
    if out.shape[1] > share.width:
        one = other = 0.0
        for i in range(last - first):
            one += coefficients[0, i]
            other += coefficients[1, i]
        out[0, share.width] += one
        out[1, share.width] += other


@compiled(inner=True)
def _close_block(block, last, n, totals):
    """Add the sums of a block to the totals at its end."""
    if last % BLOCK == 0 or last == n:
        for k in range(totals.shape[0]):
            for j in range(totals.shape[1]):
                totals[k, j] += block[k, j]
                block[k, j] = 0.0


@compiled()
def center(share, buffers, point, lam, mu):
    """Put every sample on the central path of μ."""
    n = share.weights.size
    for first in range(0, n, TILE):
        last = min(first + TILE, n)
        tile = _of_tile(share, first, last)
        _changes(share, point, first, last, buffers.changes)
        for i in range(last - first):
            buffers.changes[i] *= tile.signs[i]
        samples.center(tile, buffers.changes, lam, mu)


@compiled()
def curvature(share, buffers, correction, step, totals, gram, curvatures):
    """Take a step, if there is a correction for it, and form the Newton equations.

    Adds to the rows of `totals` the λ column, the predictor, and the column of the
    intercept if there is one, and to the Gram matrix; instead of that, `curvatures`
    receives the curvature of every row. Returns Σ of the λλ entry, Σ of the predictor's
    λ entry and Σ multiplier · slack (0 without a step).
    """
    n = share.weights.size
    square = linear = moved = 0.0
    for first in range(0, n, TILE):
        last = min(first + TILE, n)
        tile = _of_tile(share, first, last)
        moved += _move_tile(tile, correction, step, first)
        h = buffers.coefficients[2]
        one, other = samples.curvature(tile, h, buffers.coefficients)
        square += one
        linear += other
        _collect(share, buffers.coefficients[:2], first, last, buffers.block[:2])
        if totals.shape[1] > share.width:
            _collect(share, buffers.coefficients[2:], first, last, buffers.block[2:])
        if gram is not None:
            add_gram(
                share.data,
                share.indices,
                share.indptr,
                first,
                last,
                h,
                buffers.transposed,
                buffers.scaled,
                gram,
            )
        if curvatures is not None:
            for i in range(last - first):
                curvatures[first + i] = h[i]
        _close_block(buffers.block, last, n, totals)
    return square, linear, moved


@compiled(inner=True)
def _move_tile(tile, correction, step, first):
    if correction.size == 0:
        return 0.0
    return samples.move(tile, step, correction[first // TILE])


@compiled(inner=True)
def move(share, correction, step):
    """Take a step; return Σ multiplier · slack."""
    n = share.weights.size
    moved = 0.0
    for first in range(0, n, TILE):
        moved += _move_tile(
            _of_tile(share, first, min(first + TILE, n)), correction, step, first
        )
    return moved


@compiled()
def predict(share, buffers, correction, direction, lam_change, totals, smallest, bins):
    """Evaluate the predictor's direction and write the correction of every sample.

    Adds the sums for the corrector's right-hand side to the rows of `totals`, and
    updates the rates of change. Returns Σ multiplier·dg, Σ g·dmultiplier, Σ
    dmultiplier·dg, and the λ entries of the two rows.
    """
    n = share.weights.size
    s0 = s1 = s2 = s3 = s4 = 0.0
    for first in range(0, n, TILE):
        last = min(first + TILE, n)
        tile = _of_tile(share, first, last)
        _changes(share, direction, first, last, buffers.changes)
        t0, t1, t2, t3, t4 = samples.predict(
            tile,
            buffers.changes,
            lam_change,
            correction[first // TILE],
            buffers.coefficients,
            buffers.rates,
        )
        s0 += t0
        s1 += t1
        s2 += t2
        s3 += t3
        s4 += t4
        samples.record_rates(buffers.rates, tile.weights, smallest, bins)
        _collect(share, buffers.coefficients, first, last, buffers.block)
        _close_block(buffers.block, last, n, totals)
    return s0, s1, s2, s3, s4


@compiled()
def longest_steps(share, buffers, correction, step, smallest, bins):
    """Update the rates of change with those of the corrected direction."""
    n = share.weights.size
    for first in range(0, n, TILE):
        last = min(first + TILE, n)
        tile = _of_tile(share, first, last)
        _changes(share, step.direction, first, last, correction[first // TILE, 3])
        samples.longest_steps(tile, step, correction[first // TILE], buffers.rates)
        samples.record_rates(buffers.rates, tile.weights, smallest, bins)


@compiled()
def dual_sums(share, buffers, correction, step, totals):
    """Take a step, if there is a correction for it, and add sums of the multipliers.

    The rows of `totals` are the sums over the two sides that an intercept balances.
    Returns Σ multiplier and Σ κβ − rα of the two sides, and Σ multiplier · slack (0
    without a step).
    """
    n = share.weights.size
    one = other = cost_one = cost_other = moved = 0.0
    for first in range(0, n, TILE):
        last = min(first + TILE, n)
        tile = _of_tile(share, first, last)
        moved += _move_tile(tile, correction, step, first)
        t0, t1, t2, t3 = samples.sides(tile, buffers.coefficients)
        one += t0
        other += t1
        cost_one += t2
        cost_other += t3
        add_sums(
            share.data,
            share.indices,
            share.indptr,
            first,
            last,
            buffers.coefficients,
            buffers.block,
        )
        _close_block(buffers.block, last, n, totals)
    return one, other, cost_one, cost_other, moved
