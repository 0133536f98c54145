"""Proximal steps on many rows at once, all or a batch of them, by passes over them.

    minimise over ‖w‖_q ≤ λ
        Σ_i (step_size / total_step) g_i max(1 − m_i, 1 + m_i − κλ, 0) + ελ + (c/2)‖w‖²
        + (1/2 total_step) (‖w − w̄‖² + (b − b̄)² / free + (λ − λ̄)²)

The state, an iterate with the weights a and scalars = [s, b, an estimate of λ], is the
sum of the centre and the contributions of all rows, before the projection onto the
cone:

    a = w̄ + step_size Σ_i g_i δ_i y_i x_i,
    s = λ̄ − ε total_step + step_size Σ_i g_i κ σ₂_i.

A visit replaces a row's last contribution, which its multipliers remember ("memory"),
with the best one. This is an exact maximisation of the dual function over the row's
triangle, a smooth concave function on a product of triangles, so passes converge to the
step. The cost of a visit is proportional to the row's nonzeros for all norms: for q = 1
and ∞, the projection is computed from a band (`lazy_threshold.py`), which then has the
weights of the state. A `store` is a geometry with these weights, and without a row.

The step with size η on a batch of b rows minimises the mean of its terms, (1/b) Σ
f_i(w, b, λ) + ‖· − last‖²/2η, starting from the last multipliers of its rows. With the
duality gap G, the move Δ is −η times a G-subgradient of the mean. Passes end when ηG ≤
‖Δ‖²/2 (no minimiser of the mean is then farther from the new point than from the last
one), when G is below a given limit, or when there were enough. A last batch of fewer
rows takes a shorter step in proportion.
"""

import math
from typing import NamedTuple

import numpy as np

from drsvm.compiled import lazy_threshold as bands
from drsvm.compiled.decorators import FAST, by_type, compiled
from drsvm.compiled.epigraph import INFINITY, project
from drsvm.compiled.geometry import AllWeights, Box, Diamond, Euclidean, point_at
from drsvm.compiled.proximal_epochs import (
    Iterate,
    average_multipliers,
    read_row,
    stiffness,
)
from drsvm.compiled.row_access import (
    add_row,
    clipped_dots,
    column,
    dot_and_square,
    product,
    room_for_row,
)
from drsvm.compiled.single_sample_prox import (
    ProximalStep,
    duality_gap,
    multipliers,
    noise,
)

TOLERANCE = 2e-12  # accuracy of a visit in a run (see `ProximalStep.tolerance`)
ENOUGH = 0.5  # ηG/‖Δ‖² after which passes over a batch end


@compiled(inner=True, fastmath=FAST)
def _plain_pass(store, rows, order, state, terms, step_size, rho, tolerance):
    """Do a pass for q = 2; see `visit_rows`."""
    data = rows.data
    indices = rows.indices
    _, scalars, hinge, flip = state
    a = store.weights
    free = terms.free
    s = scalars[0]
    b = scalars[1]
    norm_square = product(a, a)
    lacking = 0.0
    for position in range(order.size):
        i = order[position]
        sign, length, kappa, flips, first, last = read_row(rows, terms, step_size, i)
        old_delta = hinge[i] - flip[i]
        old_sigma2 = flip[i]
        inner, square = dot_and_square(data, indices, first, last, a)
        old = length * old_delta
        along = sign * inner
        across = norm_square
        if square > 0.0:
            across = max(norm_square - along / square * along, 0.0)
        # The state without the last contribution of the row
        geometry = Euclidean(along - old * square, across)
        base = s - length * kappa * old_sigma2
        bias = sign * b - free * old
        step = ProximalStep(
            length,
            rho,
            kappa,
            flips,
            base,
            0.0,
            bias,
            free,
            square,
            abs(along),
            tolerance,
        )
        point = point_at(geometry, step, old_delta, old_sigma2, (0.0, 0.0), -1.0)
        gap = duality_gap(step, point.margin, point.lam, old_delta, old_sigma2)
        lacking += rows.importance[i] * max(gap, 0.0)
        # Otherwise the last contribution is still valid.
        if gap > 4.0 * tolerance * noise(step, 0.0, 0.0):
            delta, sigma2, _, _ = multipliers(step, geometry, old_delta, old_sigma2)
            change = length * (delta - old_delta)
            if change != 0.0:
                add_row(data, indices, first, last, change * sign, a)
                norm_square += change * (2.0 * along + change * square)
                b += change * sign * free
            s += length * kappa * (sigma2 - old_sigma2)
            hinge[i] = max(delta + sigma2, 0.0)
            flip[i] = sigma2
    scalars[0] = s
    scalars[1] = b
    return lacking


@compiled(inner=True, fastmath=FAST)
def _banded_pass(
    make_geometry, boxed, store, rows, order, state, terms, step_size, rho, tolerance
):
    """Do a pass for q = 1 or, if `boxed`, for q = ∞; see `visit_rows`.

    λ is known for the current state, so the margin of a row follows from its entries
    and a limit: for q = 1 it is that of w = soft(a, τ)/ρ with τ = λ − s, for q = ∞ that
    of w = clip(a/ρ, ±λ). Only a row whose multipliers change needs the geometry.
    """
    data = rows.data
    indices = rows.indices
    _, scalars, hinge, flip = state
    row = store.row
    band = store.rest
    free = terms.free
    s = scalars[0]
    b = scalars[1]
    lacking = 0.0
    # λ of the state itself: the point of a step without a row
    still = ProximalStep(
        0.0, rho, 0.0, False, s, scalars[2], 0.0, 0.0, 0.0, 0.0, tolerance
    )
    lam = point_at(store, still, 0.0, 0.0, (0.0, 0.0), -1.0).lam
    for position in range(order.size):
        i = order[position]
        sign, length, kappa, flips, first, last = read_row(rows, terms, step_size, i)
        old_delta = hinge[i] - flip[i]
        old_sigma2 = flip[i]
        limit = max(lam - s, 0.0)
        if boxed:
            limit = rho * lam
        inner, outside, size = clipped_dots(
            data, indices, first, last, band.weights, bands.BASE, limit
        )
        if not boxed:
            inner = outside
        margin = sign * (inner / rho + b)
        now = ProximalStep(
            length, rho, kappa, flips, s, lam, sign * b, free, 0.0, size, tolerance
        )
        gap = duality_gap(now, margin, lam, old_delta, old_sigma2)
        lacking += rows.importance[i] * max(gap, 0.0)
        # Otherwise the last contribution is still valid.
        if gap > 4.0 * tolerance * noise(now, 0.0, 0.0):
            # Take the weights of the row out of the band, without its contribution
            old = length * old_delta
            square = 0.0
            for k in range(first, last):
                z = sign * data[k]
                value = bands.take_out(band, bands.BASE + column(indices, k, first))
                row[0, k - first] = value - old * z
                row[1, k - first] = z
                square += z * z
            base = s - length * kappa * old_sigma2
            bias = sign * b - free * old
            step = ProximalStep(
                length,
                rho,
                kappa,
                flips,
                base,
                lam,
                bias,
                free,
                square,
                size,
                tolerance,
            )
            geometry = make_geometry(row, np.int64(last - first), band)
            delta, sigma2, point, _ = multipliers(step, geometry, old_delta, old_sigma2)
            # Put them back with the new contribution
            lam = point.lam
            shift = length * delta
            for k in range(first, last):
                value = row[0, k - first] + shift * row[1, k - first]
                bands.put_in(band, bands.BASE + column(indices, k, first), value)
            b += (shift - old) * sign * free
            s += length * kappa * (sigma2 - old_sigma2)
            hinge[i] = max(delta + sigma2, 0.0)
            flip[i] = sigma2
    scalars[0] = s
    scalars[1] = b
    scalars[2] = lam
    return lacking


@compiled(inner=True, fastmath=FAST)
def _diamond_pass(store, rows, order, state, terms, step_size, rho, tolerance):
    return _banded_pass(
        Diamond, False, store, rows, order, state, terms, step_size, rho, tolerance
    )


@compiled(inner=True, fastmath=FAST)
def _box_pass(store, rows, order, state, terms, step_size, rho, tolerance):
    return _banded_pass(
        Box, True, store, rows, order, state, terms, step_size, rho, tolerance
    )


# Visit rows once in the given order, and return Σ g_i times the duality gap of each row
# before its visit: of (store, rows, order, state, terms, step_size, rho, tolerance)
visit_rows = by_type(
    {AllWeights: _plain_pass, Diamond: _diamond_pass, Box: _box_pass}, fastmath=FAST
)
_BANDED = {1: Diamond, math.inf: Box}


_renew = by_type(
    {AllWeights: lambda store: None}
    | dict.fromkeys((Diamond, Box), lambda store: bands.renew(store.rest))
)


def _store(q, rows, w, width) -> AllWeights | Box | Diamond:
    """Return the weights of a state as passes take them.

    For q = 1 and ∞ they are in a band, whose half width is `width` at first.
    """
    if q == 2:
        return AllWeights(w)
    return _BANDED[q](room_for_row(rows), 0, bands.of(w, width))


@compiled()
def _memory_epoch(store, rows, order, state, terms, step_size, total_step, tolerance):
    _renew(store)
    return visit_rows(
        store,
        rows,
        order,
        state,
        terms,
        step_size,
        stiffness(total_step, terms.l2),
        tolerance,
    )


def memory_epoch(
    q, rows, order, state, terms, step_size, total_step, tolerance
) -> float:
    """Visit rows once in the given order.

    Parameters
    ----------
    q : {1, 2, inf}
        The norm of the weights.
    rows : Rows
    order : array of integers
        The rows to visit.
    state : Iterate
        Updated in place, before the projection (see the top of this file).
    terms : Terms
    step_size, total_step : float
        The step size for one row, and for all rows of the step together.
    tolerance : float
        Accuracy of a visit (see `ProximalStep.tolerance`).

    Returns
    -------
    float
        Σ g_i times the duality gap of each row before its visit.
    """
    store = _store(q, rows, state.w, step_size)
    gap = _memory_epoch(
        store, rows, order, state, terms, step_size, total_step, tolerance
    )
    if not isinstance(store, AllWeights):
        state.w[:] = store.rest.weights[bands.NUMBERS :]
    return gap


class Batching(NamedTuple):
    """How an epoch divides the rows, and how exact its steps are."""

    size: int  # of a batch
    latest: np.ndarray  # the last multipliers σ₁ and σ₂ of every row in two rows
    limit: float  # a gap that ends the passes over a batch
    most_passes: int


@compiled(fastmath=FAST)
def contribute(rows, batch, state, terms, length):
    """Add what the rows of a batch contribute to a state with its multipliers."""
    a, scalars, hinge, flip = state
    for position in range(batch.size):
        i = batch[position]
        sign, own, kappa, _, first, last = read_row(rows, terms, length, i)
        shift = own * (hinge[i] - flip[i]) * sign
        if shift != 0.0:
            add_row(rows.data, rows.indices, first, last, shift, a)
        scalars[0] += own * kappa * flip[i]
        scalars[1] += shift * terms.free


@compiled(inner=True, allocates=True)
def _nearest_point(code, a, s, rho, out):
    """Write the weights of a state's point into `out` and return λ."""
    for j in range(a.size):
        out[j] = a[j] / rho
    return project(code, out, s, rho, out)


@compiled(inner=True, allocates=True, fastmath=FAST)
def _batch_step(
    code, store, state, trial, rows, batch, iterate, terms, length, batching
):
    """Move the iterate by one step, as accurately as asked."""
    w = iterate.w
    scalars = iterate.scalars
    a = state.w
    sums = state.scalars
    total = length * batch.size
    rho = stiffness(total, terms.l2)
    passes = 0
    due = 1
    for j in range(w.size):
        a[j] = w[j]
        if j >= terms.ridged:
            a[j] *= rho
    sums[0] = scalars[0] - total * terms.radius
    sums[1] = scalars[1]
    sums[2] = scalars[0]
    contribute(rows, batch, state, terms, length)
    _renew(store)
    while passes < batching.most_passes:
        gap = visit_rows(store, rows, batch, state, terms, length, rho, TOLERANCE)
        passes += 1
        # Looking at all weights after every pass would cost more than short passes.
        if passes == due:
            due *= 2
            lam = _nearest_point(code, a, sums[0], rho, trial)
            moved = (lam - scalars[0]) ** 2
            for j in range(w.size):
                moved += (trial[j] - w[j]) ** 2
            if terms.free > 0.0:
                moved += (sums[1] - scalars[1]) ** 2 / terms.free
            if gap / batch.size <= max(ENOUGH * moved / total, batching.limit):
                break
    scalars[0] = _nearest_point(code, a, sums[0], rho, w)
    scalars[1] = sums[1]


@compiled(allocates=True)
def _take_batches(
    code, store, state, trial, rows, order, iterate, terms, eta, share, batching
):
    latest = batching.latest
    hinge = iterate.hinge
    flip = iterate.flip
    for start in range(0, order.size, batching.size):
        batch = order[start : min(start + batching.size, order.size)]
        _batch_step(
            code,
            store,
            state,
            trial,
            rows,
            batch,
            iterate,
            terms,
            eta / batching.size,
            batching,
        )
        for position in range(batch.size):
            i = batch[position]
            average_multipliers(
                hinge,
                flip,
                i,
                (hinge[i], flip[i]),
                latest[0, i] - latest[1, i],
                latest[1, i],
                share,
            )


def batch_epoch(q, rows, order, iterate, terms, eta, share, batching) -> None:
    """Take a step on every batch of rows in the given order.

    Multipliers are averaged (see `average_multipliers`).
    """
    trial = np.empty_like(iterate.w)
    store = _store(q, rows, np.empty_like(trial), eta / batching.size)
    if isinstance(store, AllWeights):
        a = store.weights
    else:
        a = store.rest.weights[bands.NUMBERS :]
    state = Iterate(a, np.zeros(3), *batching.latest)
    _take_batches(
        int(min(q, INFINITY)),
        store,
        state,
        trial,
        rows,
        order,
        iterate,
        terms,
        eta,
        share,
        batching,
    )
