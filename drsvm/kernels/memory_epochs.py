"""Epochs of exact proximal steps that remember the last contributions of all other rows.

The state, a and scalars = [s, b, an estimate of λ], is the sum of the contributions of all rows before the projection
onto the cone. A step replaces a row's last contribution with a new one, so its cost is proportional to the row's
nonzeros for all norms: for q = 1 and ∞, the projection is computed from a band (`band.py`). Over the epochs, the
projected point converges to that of the proximal step on the whole objective, with the step size
`total_step` = n · `step_size`.
"""

import numpy as np

from drsvm.kernels.band import BASE, STEPS, make_band, put_in, take_out
from drsvm.kernels.compiling import FAST, kernel
from drsvm.kernels.entries import add_row, at, bounds, clipped_dots, column, dot_and_square, longest_row, square_of
from drsvm.kernels.epoch_state import stiffness
from drsvm.kernels.geometry import Box, Diamond, Euclidean, point_at
from drsvm.kernels.triangle import duality_gap, make_step, multipliers, noise

TOLERANCE = 2e-12
"""Accuracy of a step (see `ProximalStep.tolerance`)."""


@kernel(fastmath=FAST)
def memory_epoch_l2(rows, order, iterate, terms, step_size, total_step):
    """Visit the rows in the given order, q = 2; the iterate has the state and the last multipliers."""
    data, indices, indptr, width, signs, importance = rows
    a, scalars, hinge, flip = iterate
    free, rho = terms.free, stiffness(total_step, terms.l2)
    s, b = scalars[0], scalars[1]
    norm_square = square_of(a)
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
        step = make_step(length, rho, kappa, flips, base, 0.0, bias, free, square, abs(along), TOLERANCE)
        delta, sigma2, _, _ = multipliers(step, geometry, old_delta, old_sigma2)
        change = length * (delta - old_delta)
        if change != 0.0:
            add_row(data, indices, first, last, change * sign, a)
            norm_square += change * (2.0 * along + change * square)
            b += change * sign * free
        s += length * kappa * (sigma2 - old_sigma2)
        hinge[i], flip[i] = max(delta + sigma2, 0.0), sigma2
    scalars[0], scalars[1] = s, b


@kernel(inner=True, fastmath=FAST)
def _banded_epoch(make_geometry, boxed, rows, order, iterate, terms, step_size, total_step, band, row):
    data, indices, indptr, width, signs, importance = rows
    _, scalars, hinge, flip = iterate
    free, rho = terms.free, stiffness(total_step, terms.l2)
    s, b = scalars[0], scalars[1]
    still = make_step(0.0, rho, 0.0, False, s, scalars[2], 0.0, 0.0, 0.0, 0.0, TOLERANCE)
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
        now = make_step(length, rho, kappa, flips, s, lam, sign * b, free, 0.0, size, TOLERANCE)
        close = 4.0 * TOLERANCE * noise(now, 0.0, 0.0)
        if duality_gap(now, margin, lam, old_delta, old_sigma2) > close:  # otherwise the last one is still valid
            old, square = length * old_delta, 0.0
            for k in range(first, last):
                z = sign * data[k]
                value = take_out(band, BASE + column(indices, k, first))
                row[0, k - first], row[1, k - first] = value - old * z, z
                square += z * z
            base, bias = s - length * kappa * old_sigma2, sign * b - free * old
            step = make_step(length, rho, kappa, flips, base, lam, bias, free, square, size, TOLERANCE)
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


@kernel()
def memory_epoch_l1(rows, order, iterate, terms, step_size, total_step):
    """Do the same for q = 1."""
    band, row = make_band(iterate.w, step_size), np.empty((2, longest_row(rows.indptr, rows.width)))
    _banded_epoch(Diamond, False, rows, order, iterate, terms, step_size, total_step, band, row)
    iterate.w[:] = band.weights[BASE:]


@kernel()
def memory_epoch_linf(rows, order, iterate, terms, step_size, total_step):
    """Do the same for q = ∞."""
    band, row = make_band(iterate.w, step_size), np.empty((2, longest_row(rows.indptr, rows.width)))
    _banded_epoch(Box, True, rows, order, iterate, terms, step_size, total_step, band, row)
    iterate.w[:] = band.weights[BASE:]
