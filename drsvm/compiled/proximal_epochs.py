"""Epochs of exact proximal steps on single rows, the paper's IPPA.

A step on row i moves the weights along z = y_i x_i and projects them onto the cone (see
`single_sample_prox.py`). It must not cost more than the nonzeros of the row:

* q = 2: the projection shortens w. It is stored as scale × vector, so that shortening
  it changes one number. The step needs ‖w‖², which is tracked: after w + t z it is
  ‖w‖² + t (2 w·z + t z·z), and it is computed again if that sum has cancelled.
* q = 1: all weights share the soft threshold (`lazy_threshold.py`).
* q = ∞: a step does make passes over all weights, which vector instructions make fast.

A step divides all weights by ρ = 1 + ηc; those without a ridge are multiplied by it
before.
"""

import math
from typing import NamedTuple

import numpy as np

from drsvm.compiled import lazy_threshold as bands
from drsvm.compiled.decorators import FAST, compiled
from drsvm.compiled.epigraph import onto_cone
from drsvm.compiled.geometry import AllWeights, Box, Diamond, Euclidean, threshold
from drsvm.compiled.row_access import (
    add_row,
    at,
    bounds,
    clipped_dots,
    column,
    dot_and_square,
    product,
    room_for_row,
)
from drsvm.compiled.single_sample_prox import EPS, ProximalStep, multipliers

# Accuracy of a step (see `ProximalStep.tolerance`); exact for q = 1, where it costs
# nothing
ROUGH = 2e-12
EXACT = 2.0 * EPS
SMALLEST_SCALE = 1e-60  # below it the vector is rescaled
CANCELLED = 1e-8  # below this share of its terms the squared norm is recomputed


class Terms(NamedTuple):
    """Parameters of the objective, whose losses have the factors g_i = n π_i.

    It is the mean of g_i · max(1 − m_i, 1 + m_i − κλ, 0) + ελ + (c/2)‖w‖². `kappa` and
    `flips` are numbers or arrays with one entry per row.
    """

    radius: float
    kappa: float | np.ndarray  # 0 where labels are trusted
    flips: bool | np.ndarray  # False where labels are trusted
    l2: float
    # Number of columns with a ridge; a constant column, which has none, comes last
    ridged: int
    # 0 without an intercept, otherwise the square of its unit: b moves by η · free
    # times its gradient
    free: float


class Iterate(NamedTuple):
    """The weights, [λ, b, an estimate of λ], and the multipliers σ₁, σ₂ of the rows.

    Epochs update all of them.
    """

    w: np.ndarray
    scalars: np.ndarray
    hinge: np.ndarray
    flip: np.ndarray

    def copy(self) -> "Iterate":
        """Return a copy that shares no memory with this one."""
        return Iterate(*(part.copy() for part in self))


@compiled(inner=True, forceinline=True)
def stiffness(step_size, l2):
    """Return ρ = 1 + ηc, capped to avoid overflow."""
    return min(1.0 + step_size * l2, 1e100)


@compiled(inner=True, forceinline=True)
def read_row(rows, terms, eta, i):
    """Return label, ηg, κ, whether the label can flip, and where the entries are."""
    first, last = bounds(rows.indptr, rows.width, i)
    kappa = at(terms.kappa, i)
    flips = at(terms.flips, i)
    return rows.signs[i], eta * rows.importance[i], kappa, flips, first, last


@compiled(inner=True, forceinline=True)
def average_multipliers(hinge, flip, i, before, delta, sigma2, share):
    """Move the means of a row's multipliers by a share towards the current ones.

    Single steps have multipliers at corners of the triangle most of the time; averages
    over epochs converge to those of the problem, and prove bounds. Callers read
    `before` early in a step because it is rarely in the cache.
    """
    hinge[i] = before[0] + share * (max(delta + sigma2, 0.0) - before[0])
    flip[i] = before[1] + share * (sigma2 - before[1])


@compiled(inner=True, fastmath=FAST)
def norm_of(w, scale, norm_square, terms_square):
    """Return ‖scale·w‖ from its square, a sum whose terms may have cancelled."""
    if norm_square < CANCELLED * terms_square:
        norm_square = scale * scale * product(w, w)
    return math.sqrt(norm_square)


@compiled(inner=True, fastmath=FAST)
def stretched(w, scale, norm_square, first, factor):
    """Multiply the weights from `first` on by a factor; return the new ‖scale·w‖²."""
    for j in range(first, w.size):
        norm_square += (factor * factor - 1.0) * (scale * w[j]) ** 2
        w[j] *= factor
    return norm_square


@compiled(inner=True, fastmath=FAST)
def settled(w, scale, norm_square):
    """Return the scale and ‖scale·w‖²; a scale that is 0 or tiny becomes part of w."""
    if scale < SMALLEST_SCALE:
        w *= scale
        scale = 1.0
        norm_square = product(w, w)
    return scale, norm_square


@compiled(inner=True, fastmath=FAST)
def _likely(margin, lam, kappa, flips):
    """Return δ and σ₂ of the largest piece of the loss before the step."""
    if margin < 1.0:
        return 1.0, 0.0
    if flips and 1.0 + margin > kappa * lam:
        return -1.0, 1.0
    return 0.0, 0.0


@compiled(fastmath=FAST)
def proximal_epoch_l2(rows, order, iterate, terms, eta, share):
    """Take a proximal step on every row in the given order, for q = 2.

    Parameters
    ----------
    rows : Rows
        All rows; `importance` are the g_i.
    order : array of integers
        The rows to visit.
    iterate : Iterate
        Updated in place.
    terms : Terms
    eta : float
        The step size η.
    share : float
        That of the new multipliers in their averages (see `average_multipliers`).
    """
    data = rows.data
    indices = rows.indices
    w, scalars, hinge, flip = iterate
    free = terms.free
    rho = stiffness(eta, terms.l2)
    lam = scalars[0]
    b = scalars[1]
    scale = 1.0
    norm_square = product(w, w)
    for position in range(order.size):
        i = order[position]
        before = (hinge[i], flip[i])
        sign, length, kappa, flips, first, last = read_row(rows, terms, eta, i)
        # 1. What the step depends on: the margin, and how long the part of w is that is
        # orthogonal to the row
        norm_square = stretched(w, scale, norm_square, terms.ridged, rho)
        inner, square = dot_and_square(data, indices, first, last, w)
        along = sign * scale * inner
        bias = sign * b
        base = lam - eta * terms.radius
        across = norm_square
        if square > 0.0:
            across = max(norm_square - along / square * along, 0.0)
        step = ProximalStep(
            length, rho, kappa, flips, base, lam, bias, free, square, abs(along), ROUGH
        )
        # 2. Its multipliers
        delta, sigma2 = _likely(along + bias, lam, kappa, flips)
        delta, sigma2, _, _ = multipliers(step, Euclidean(along, across), delta, sigma2)
        # 3. The move along the row, and the projection
        shift = length * delta
        if shift != 0.0:
            add_row(data, indices, first, last, shift * sign / scale, w)
        new_square = norm_square + shift * (2.0 * along + shift * square)
        norm = norm_of(w, scale, new_square, norm_square + shift * shift * square) / rho
        lam, factor = onto_cone(norm, base + length * kappa * sigma2, rho)
        scale, norm_square = settled(w, scale * factor / rho, (factor * norm) ** 2)
        b += shift * sign * free
        average_multipliers(hinge, flip, i, before, delta, sigma2, share)
    w *= scale
    scalars[0] = lam
    scalars[1] = b


@compiled(inner=True, fastmath=FAST)
def _draw_row(data, indices, first, last, sign, w, row):
    """Move a row's weights into `row`, with z, and write 0 into w.

    Return w·z and x·x.
    """
    along = square = 0.0
    for k in range(first, last):
        z = sign * data[k]
        j = column(indices, k, first)
        row[0, k - first] = w[j]
        row[1, k - first] = z
        along += z * w[j]
        square += z * z
        w[j] = 0.0
    return along, square


@compiled(fastmath=FAST)
def _box_epoch(rows, order, iterate, terms, eta, share, row):
    """Do the epoch for q = ∞, with memory for the entries of a row."""
    data = rows.data
    indices = rows.indices
    w, scalars, hinge, flip = iterate
    free = terms.free
    rho = stiffness(eta, terms.l2)
    lam = scalars[0]
    b = scalars[1]
    for position in range(order.size):
        i = order[position]
        before = (hinge[i], flip[i])
        sign, length, kappa, flips, first, last = read_row(rows, terms, eta, i)
        for j in range(terms.ridged, w.size):
            w[j] *= rho
        # 1. What the step depends on; the row's own weights are held apart
        along, square = _draw_row(data, indices, first, last, sign, w, row)
        bias = sign * b
        base = lam - eta * terms.radius
        step = ProximalStep(
            length, rho, kappa, flips, base, lam, bias, free, square, abs(along), ROUGH
        )
        box = Box(row, np.int64(last - first), AllWeights(w))
        # 2. Its multipliers
        delta, sigma2 = _likely(along + bias, lam, kappa, flips)
        delta, sigma2, point, _ = multipliers(step, box, delta, sigma2)
        # 3. The move along the row, and the projection
        shift = length * delta
        limit = rho * point.lam
        for k in range(first, last):
            value = row[0, k - first] + shift * row[1, k - first]
            w[column(indices, k, first)] = min(max(value, -limit), limit)
        if rho != 1.0 or point.lam < lam:
            inverse = 1.0 / rho
            for j in range(w.size):
                w[j] = min(max(w[j] * inverse, -point.lam), point.lam)
        lam = point.lam
        b += shift * sign * free
        average_multipliers(hinge, flip, i, before, delta, sigma2, share)
    scalars[0] = lam
    scalars[1] = b


def proximal_epoch_linf(rows, order, iterate, terms, eta, share):
    """Do the same as `proximal_epoch_l2` for q = ∞."""
    _box_epoch(rows, order, iterate, terms, eta, share, room_for_row(rows))


@compiled(inner=True)
def common_threshold(band, lam, rho):
    """Return the threshold τ for weights that no sample moves, and Σ |w_j| after it."""
    tau, left, _, _ = threshold(
        Diamond(None, 0, bands.Shrunk(band)), 0.0, 1.0, rho * lam, rho, 0.0
    )
    return tau, left / rho


@compiled(inner=True)
def _take_row(data, indices, first, last, sign, band, row):
    """Move a row's weights into `row`, with z; return x·x and Σ |w_j x_j|."""
    square = size = 0.0
    for k in range(first, last):
        z = sign * data[k]
        value = bands.take_shrunk(band, bands.BASE + column(indices, k, first))
        row[0, k - first] = value
        row[1, k - first] = z
        square += z * z
        size += abs(value * z)
    return square, size


@compiled(inner=True)
def _put_row_back(indices, first, last, shift, tau, rho, band, row):
    """Put a row, moved by shift·z and thresholded, back into the weights.

    Return its Σ |w_j|.
    """
    total = 0.0
    for k in range(first, last):
        moved = row[0, k - first] + shift * row[1, k - first]
        over = max(abs(moved) - tau, 0.0) / rho
        total += over
        bands.put_shrunk(
            band, bands.BASE + column(indices, k, first), math.copysign(over, moved)
        )
    return total


@compiled()
def _shrunk_epoch(rows, order, iterate, terms, eta, share, band, row):
    """Do the epoch for q = 1, with the weights in a band and memory for a row."""
    data = rows.data
    indices = rows.indices
    w, scalars, hinge, flip = iterate
    free = terms.free
    rho = stiffness(eta, terms.l2)
    numbers = band.weights
    lam = scalars[0]
    b = scalars[1]
    bands.renew(band)
    for position in range(order.size):
        i = order[position]
        before = (hinge[i], flip[i])
        sign, length, kappa, flips, first, last = read_row(rows, terms, eta, i)
        base = lam - eta * terms.radius
        bias = sign * b
        bands.stretch(band, terms.ridged, rho)
        # 1. The step as if the row did not move: most rows do not
        tau, left = common_threshold(band, base, rho)
        limit = numbers[bands.OFFSET] + tau / numbers[bands.SCALE]
        _, outside, _ = clipped_dots(
            data, indices, first, last, numbers, bands.BASE, limit
        )
        margin = sign * numbers[bands.SCALE] / rho * outside + bias
        lam = base
        if tau > 0.0:
            lam = left
        own = 0.0
        delta, sigma2 = _likely(margin, lam, kappa, flips)
        # 2. If it moves, its multipliers and the threshold that goes with them
        moves = delta != 0.0
        if moves:
            square, size = _take_row(data, indices, first, last, sign, band, row)
            step = ProximalStep(
                length,
                rho,
                kappa,
                flips,
                base,
                base + tau,
                bias,
                free,
                square,
                size,
                EXACT,
            )
            diamond = Diamond(row, np.int64(last - first), bands.Shrunk(band))
            delta, sigma2, point, _ = multipliers(step, diamond, delta, sigma2)
            lam = point.lam
            tau = point.tau
            left = point.rest
            b += free * length * delta * sign
        # 3. The threshold for all weights, then the row's own
        bands.shrink(band, tau, rho)
        if moves:
            own = _put_row_back(
                indices, first, last, length * delta, tau, rho, band, row
            )
        bands.fold_if_due(band, left + own)
        average_multipliers(hinge, flip, i, before, delta, sigma2, share)
    bands.read_back(band, w)
    scalars[0] = lam
    scalars[1] = b


def proximal_epoch_l1(rows, order, iterate, terms, eta, share):
    """Do the same as `proximal_epoch_l2` for q = 1."""
    _shrunk_epoch(
        rows,
        order,
        iterate,
        terms,
        eta,
        share,
        bands.of(iterate.w, eta),
        room_for_row(rows),
    )
