"""Epochs of proximal steps on batches of rows.

The step with size η on batch B of b rows minimises the mean of its terms plus the distance from the last point,
(1/b) Σ_{i ∈ B} f_i(w, b, λ) + ‖· − last‖²/2η, by passes over the rows of the batch (`memory_epochs.py`), starting from
their last multipliers. With the duality gap G, the move Δ is −η times a G-subgradient of the mean. Passes end when
ηG ≤ ‖Δ‖²/2, when G is below a given limit, or when there were enough of them. In the first case, as after an exact
step, no minimiser of the mean is farther from the new point than from the last one.
A last batch of fewer rows takes a step shorter in proportion, so that every row has the same influence.
"""

import numpy as np

from drsvm.kernels.band import BASE, FEW_STEPS, HIGH, LOW, STEPS, make_band
from drsvm.kernels.compiling import FAST, by_type, kernel
from drsvm.kernels.entries import add_row, at, bounds, longest_row
from drsvm.kernels.epigraph import INFINITY, ONE, TWO, nearest, shrink
from drsvm.kernels.epoch_state import note, stiffness
from drsvm.kernels.memory_epochs import TOLERANCE, Clipped, Plain, Soft, visit_rows

ENOUGH = 0.5
"""ηG/‖Δ‖² after which passes over a batch end."""


@kernel(inner=True, forceinline=True)
def _renew_nothing(store):
    pass


@kernel(inner=True, forceinline=True)
def _renew_band(store):
    weights = store.band.weights
    weights[LOW], weights[HIGH], weights[STEPS] = -1.0, -1.0, FEW_STEPS  # built when first needed, as wide as before


_renew = by_type({Plain: _renew_nothing, Soft: _renew_band, Clipped: _renew_band})


@kernel(inner=True, fastmath=FAST)
def add_contributions(rows, batch, hinge, flip, terms, length, a, scalars):
    """Add what the rows of a batch contribute to a state with given multipliers."""
    data, indices, indptr, width, signs, importance = rows
    for position in range(batch.size):
        i = batch[position]
        own = length * importance[i]
        shift = own * (hinge[i] - flip[i]) * signs[i]
        if shift != 0.0:
            first, last = bounds(indptr, width, i)
            add_row(data, indices, first, last, shift, a)
        scalars[0] += own * at(terms.kappa, i) * flip[i]
        scalars[1] += shift * terms.free


@kernel()
def contribute(rows, batch, iterate, terms, length):
    """Do this for the state and the multipliers of an iterate."""
    w, scalars, hinge, flip = iterate
    add_contributions(rows, batch, hinge, flip, terms, length, w, scalars)


@kernel(inner=True, allocates=True)
def _nearest_point(q, a, s, rho, out):
    """Write the weights of a state's point into `out` and return λ."""
    for j in range(a.size):
        out[j] = a[j] / rho
    theta, lam = nearest(q, out, s, rho)
    shrink(q, out, theta, lam, out)
    return lam


@kernel(inner=True, fastmath=FAST)
def _distance_square(one, other):
    total = 0.0
    for j in range(one.size):
        total += (one[j] - other[j]) ** 2
    return total


@kernel(inner=True, allocates=True)
def _batch_step(q, store, a, trial, rows, batch, iterate, terms, total, length, latest, limit, most_passes, state):
    """Move the iterate by one step, as accurately as asked."""
    w, scalars, hinge, flip = iterate.w, iterate.scalars, latest[0], latest[1]
    rho, passes, due = stiffness(total, terms.l2), 0, 1
    for j in range(w.size):
        a[j] = w[j] if j < terms.ridged else w[j] * rho
    state[0], state[1], state[2] = scalars[0] - total * terms.radius, scalars[1], scalars[0]
    _renew(store)
    add_contributions(rows, batch, hinge, flip, terms, length, a, state)
    while passes < most_passes:
        gap = visit_rows(store, rows, batch, state, hinge, flip, terms, length, rho, TOLERANCE)
        passes += 1
        if passes == due:  # looking at all weights after every pass would cost more than short passes
            due *= 2
            lam = _nearest_point(q, a, state[0], rho, trial)
            moved = _distance_square(trial, w) + (lam - scalars[0]) ** 2
            if terms.free > 0.0:
                moved += (state[1] - scalars[1]) ** 2 / terms.free
            if gap / batch.size <= max(ENOUGH * moved / total, limit):
                break
    scalars[0], scalars[1] = _nearest_point(q, a, state[0], rho, w), state[1]


@kernel(inner=True, allocates=True)
def _take_batches(q, store, a, rows, order, iterate, terms, eta, share, batch_size, latest, limit, most_passes):
    trial, state = np.empty(a.size), np.zeros(3)
    hinge, flip = iterate.hinge, iterate.flip
    for start in range(0, order.size, batch_size):
        batch = order[start : min(start + batch_size, order.size)]
        length = eta / batch_size
        _batch_step(
            q,
            store,
            a,
            trial,
            rows,
            batch,
            iterate,
            terms,
            length * batch.size,
            length,
            latest,
            limit,
            most_passes,
            state,
        )
        for position in range(batch.size):
            i = batch[position]
            note(hinge, flip, i, (hinge[i], flip[i]), latest[0, i] - latest[1, i], latest[1, i], share)


@kernel()
def batch_epoch_l2(rows, order, iterate, terms, eta, share, batch_size, latest, limit, most_passes):
    """Take a step on every batch of rows in the given order, q = 2; multipliers are averaged (see `note`).

    `latest` has the last multipliers σ₁ and σ₂ of every row in two rows.
    """
    a = np.empty(iterate.w.size)
    _take_batches(TWO, Plain(a), a, rows, order, iterate, terms, eta, share, batch_size, latest, limit, most_passes)


@kernel()
def batch_epoch_l1(rows, order, iterate, terms, eta, share, batch_size, latest, limit, most_passes):
    """Do the same for q = 1."""
    store = Soft(make_band(iterate.w, eta / batch_size), np.empty((2, longest_row(rows.indptr, rows.width))))
    a = store.band.weights[BASE:]
    _take_batches(ONE, store, a, rows, order, iterate, terms, eta, share, batch_size, latest, limit, most_passes)


@kernel()
def batch_epoch_linf(rows, order, iterate, terms, eta, share, batch_size, latest, limit, most_passes):
    """Do the same for q = ∞."""
    store = Clipped(make_band(iterate.w, eta / batch_size), np.empty((2, longest_row(rows.indptr, rows.width))))
    a = store.band.weights[BASE:]
    _take_batches(INFINITY, store, a, rows, order, iterate, terms, eta, share, batch_size, latest, limit, most_passes)
