"""Exact proximal steps on many rows at once, by passes over the rows.

    minimise over ‖w‖_q ≤ λ    Σ_i (step_size / total_step) g_i max(1 − m_i, 1 + m_i − κλ, 0) + ελ + (c/2)‖w‖²
                               + (1/2 total_step) (‖w − w̄‖² + (b − b̄)² / free + (λ − λ̄)²)

The state, the weights a of a store and scalars = [s, b, an estimate of λ], is the sum of the centre and the
contributions of all rows, before the projection onto the cone:

    a = w̄ + step_size Σ_i g_i δ_i y_i x_i,      s = λ̄ − ε total_step + step_size Σ_i g_i κ σ₂_i.

A visit replaces a row's last contribution with the best one. This is an exact maximisation of the dual function over
the row's triangle, a smooth concave function on a product of triangles, so passes converge to the step. The cost of a
visit is proportional to the row's nonzeros for all norms: for q = 1 and ∞, the projection is computed from a band
(`band.py`).
"""

import math
from typing import Any, NamedTuple

import numpy as np

from drsvm.kernels.band import BASE, STEPS, Band, make_band, put_in, take_out
from drsvm.kernels.compiling import FAST, by_type, kernel
from drsvm.kernels.entries import add_row, at, bounds, clipped_dots, column, dot_and_square, longest_row, square_of
from drsvm.kernels.epoch_state import stiffness
from drsvm.kernels.geometry import Box, Diamond, Euclidean, point_at
from drsvm.kernels.triangle import duality_gap, make_step, multipliers, noise

TOLERANCE = 2e-12
"""Accuracy of a visit in a run (see `ProximalStep.tolerance`)."""


class Plain(NamedTuple):
    """The weights of a state for q = 2."""

    weights: np.ndarray


class Soft(NamedTuple):
    """The weights of a state for q = 1, and space for a row."""

    band: Band
    row: Any


class Clipped(NamedTuple):
    """The same for q = ∞."""

    band: Band
    row: Any


@kernel(inner=True, fastmath=FAST)
def _plain_pass(store, rows, order, scalars, hinge, flip, terms, step_size, rho, tolerance):
    data, indices, indptr, width, signs, importance = rows
    a, free = store.weights, terms.free
    s, b = scalars[0], scalars[1]
    norm_square, lacking = square_of(a), 0.0
    for position in range(order.size):
        i = order[position]
        sign, length = signs[i], step_size * importance[i]
        kappa, flips = at(terms.kappa, i), at(terms.flips, i)
        old_delta, old_sigma2 = hinge[i] - flip[i], flip[i]
        first, last = bounds(indptr, width, i)
        inner, square = dot_and_square(data, indices, first, last, a)
        old, along = length * old_delta, sign * inner
        across = max(norm_square - along / square * along, 0.0) if square > 0.0 else norm_square
        geometry = Euclidean(along - old * square, across)
        base, bias = s - length * kappa * old_sigma2, sign * b - free * old
        step = make_step(length, rho, kappa, flips, base, 0.0, bias, free, square, abs(along), tolerance)
        point = point_at(geometry, step, old_delta, old_sigma2, (0.0, 0.0), -1.0)
        gap = duality_gap(step, point.margin, point.lam, old_delta, old_sigma2)
        lacking += importance[i] * max(gap, 0.0)
        if gap > 4.0 * tolerance * noise(step, 0.0, 0.0):  # otherwise the last one is still valid
            delta, sigma2, _, _ = multipliers(step, geometry, old_delta, old_sigma2)
            change = length * (delta - old_delta)
            if change != 0.0:
                add_row(data, indices, first, last, change * sign, a)
                norm_square += change * (2.0 * along + change * square)
                b += change * sign * free
            s += length * kappa * (sigma2 - old_sigma2)
            hinge[i], flip[i] = max(delta + sigma2, 0.0), sigma2
    scalars[0], scalars[1] = s, b
    return lacking


@kernel(inner=True, fastmath=FAST)
def _banded_pass(make_geometry, boxed, store, rows, order, scalars, hinge, flip, terms, step_size, rho, tolerance):
    data, indices, indptr, width, signs, importance = rows
    band, row, free = store.band, store.row, terms.free
    s, b, lacking = scalars[0], scalars[1], 0.0
    still = make_step(0.0, rho, 0.0, False, s, scalars[2], 0.0, 0.0, 0.0, 0.0, tolerance)
    lam = point_at(make_geometry(None, 0, band), still, 0.0, 0.0, (0.0, 0.0), -1.0).lam
    for position in range(order.size):
        i = order[position]
        sign, length = signs[i], step_size * importance[i]
        kappa, flips = at(terms.kappa, i), at(terms.flips, i)
        old_delta, old_sigma2 = hinge[i] - flip[i], flip[i]
        first, last = bounds(indptr, width, i)
        limit = rho * lam if boxed else max(lam - s, 0.0)
        clipped, outside, size = clipped_dots(data, indices, first, last, band.weights, BASE, limit)
        margin = sign * ((clipped if boxed else outside) / rho + b)
        now = make_step(length, rho, kappa, flips, s, lam, sign * b, free, 0.0, size, tolerance)
        gap = duality_gap(now, margin, lam, old_delta, old_sigma2)
        lacking += importance[i] * max(gap, 0.0)
        if gap > 4.0 * tolerance * noise(now, 0.0, 0.0):  # otherwise the last one is still valid
            old, square = length * old_delta, 0.0
            for k in range(first, last):
                z = sign * data[k]
                value = take_out(band, BASE + column(indices, k, first))
                row[0, k - first], row[1, k - first] = value - old * z, z
                square += z * z
            base, bias = s - length * kappa * old_sigma2, sign * b - free * old
            step = make_step(length, rho, kappa, flips, base, lam, bias, free, square, size, tolerance)
            geometry = make_geometry(row, np.int64(last - first), band)
            delta, sigma2, point, _ = multipliers(step, geometry, old_delta, old_sigma2)
            lam, shift = point.lam, length * delta
            for k in range(first, last):
                value = row[0, k - first] + shift * row[1, k - first]
                put_in(band, BASE + column(indices, k, first), value)
            band.weights[STEPS] += 1.0
            b += (shift - old) * sign * free
            s += length * kappa * (sigma2 - old_sigma2)
            hinge[i], flip[i] = max(delta + sigma2, 0.0), sigma2
    scalars[0], scalars[1], scalars[2] = s, b, lam
    return lacking


@kernel(inner=True, fastmath=FAST)
def _soft_pass(store, rows, order, scalars, hinge, flip, terms, step_size, rho, tolerance):
    return _banded_pass(Diamond, False, store, rows, order, scalars, hinge, flip, terms, step_size, rho, tolerance)


@kernel(inner=True, fastmath=FAST)
def _clipped_pass(store, rows, order, scalars, hinge, flip, terms, step_size, rho, tolerance):
    return _banded_pass(Box, True, store, rows, order, scalars, hinge, flip, terms, step_size, rho, tolerance)


visit_rows = by_type({Plain: _plain_pass, Soft: _soft_pass, Clipped: _clipped_pass})
"""Visit rows once in the given order; return Σ g_i times the duality gap of each row before its visit."""


@kernel()
def memory_epoch_l2(rows, order, iterate, terms, step_size, total_step, tolerance):
    """Do this for q = 2 with the state and the multipliers of an iterate."""
    w, scalars, hinge, flip = iterate
    rho = stiffness(total_step, terms.l2)
    return visit_rows(Plain(w), rows, order, scalars, hinge, flip, terms, step_size, rho, tolerance)


@kernel()
def memory_epoch_l1(rows, order, iterate, terms, step_size, total_step, tolerance):
    """Do the same for q = 1."""
    w, scalars, hinge, flip = iterate
    rho = stiffness(total_step, terms.l2)
    store = Soft(make_band(w, step_size), np.empty((2, longest_row(rows.indptr, rows.width))))
    gap = visit_rows(store, rows, order, scalars, hinge, flip, terms, step_size, rho, tolerance)
    w[:] = store.band.weights[BASE:]
    return gap


@kernel()
def memory_epoch_linf(rows, order, iterate, terms, step_size, total_step, tolerance):
    """Do the same for q = ∞."""
    w, scalars, hinge, flip = iterate
    rho = stiffness(total_step, terms.l2)
    store = Clipped(make_band(w, step_size), np.empty((2, longest_row(rows.indptr, rows.width))))
    gap = visit_rows(store, rows, order, scalars, hinge, flip, terms, step_size, rho, tolerance)
    w[:] = store.band.weights[BASE:]
    return gap


PASSES = {1: memory_epoch_l1, 2: memory_epoch_l2, math.inf: memory_epoch_linf}
"""By the norm q."""
