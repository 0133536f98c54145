"""Epochs of projected subgradient steps on batches of rows, the paper's ISG.

A step follows the negative mean subgradient of the batch (the ridge term is implicit:
w/(1 + ηc)) and then projects onto ‖w‖_q ≤ λ. For q = 2 the weights are stored as scale
× vector with a tracked norm (see `proximal_epochs.py`), for q = 1 with a shared
threshold (`lazy_threshold.py`): the cost of a step is nearly proportional to the
nonzeros of its rows. For q = ∞, where they are scale × vector as well, it also makes a
few passes over all weights.
"""

import numpy as np

from drsvm.compiled import lazy_threshold as bands
from drsvm.compiled.decorators import FAST, compiled
from drsvm.compiled.epigraph import onto_cone
from drsvm.compiled.geometry import AllWeights, Box, threshold
from drsvm.compiled.proximal_epochs import (
    average_multipliers,
    common_threshold,
    norm_of,
    read_row,
    settled,
    stiffness,
    stretched,
)
from drsvm.compiled.row_access import bounds, clipped_dots, column, dot, product


@compiled(inner=True, fastmath=FAST)
def _active_piece(margin, lam, kappa, flips):
    """Return σ₁ and σ₂ of the largest piece of the loss.

    If two or three are equally large, they are those of the mean of these pieces.
    """
    hinge = 1.0 - margin
    flipped = -1.0
    if flips:
        flipped = 1.0 + margin - kappa * lam
    largest = max(hinge, flipped, 0.0)
    one = 1.0 * (hinge == largest)
    two = 1.0 * (flipped == largest)
    total = one + two + 1.0 * (largest == 0.0)
    return one / total, two / total


@compiled(inner=True, fastmath=FAST)
def _gradient_of_batch(
    rows, batch, w, offset, scale, b, lam, hinge, flip, terms, share, factors
):
    """Write the factor of each row in the negative gradient of a batch.

    Return its entries for b and λ. `w` are scale × vector or, if there is an `offset`,
    weights that share this threshold.
    """
    on_intercept = on_lam = 0.0
    for k in range(batch.size):
        i = batch[k]
        before = hinge[i], flip[i]
        sign, importance, kappa, flips, first, last = read_row(rows, terms, 1.0, i)
        if offset is None:
            inner = dot(rows.data, rows.indices, first, last, w)
        else:
            _, inner, _ = clipped_dots(
                rows.data, rows.indices, first, last, w, bands.BASE, offset
            )
        margin = sign * (scale * inner + b)
        sigma1, sigma2 = _active_piece(margin, lam, kappa, flips)
        factors[k] = importance * (sigma1 - sigma2) * sign / batch.size
        on_intercept += factors[k]
        on_lam += kappa * importance * sigma2 / batch.size
        average_multipliers(hinge, flip, i, before, sigma1 - sigma2, sigma2, share)
    return on_intercept, on_lam


@compiled(allocates=True, fastmath=FAST)
def scaled_epoch(boxed, rows, order, iterate, terms, eta, share, batch_size):
    """Take a step on every batch of rows in the given order, with a scaled vector.

    Parameters
    ----------
    boxed : None or True
        None for q = 2, True for q = ∞: the type, not the value, selects the code.
    rows, order, iterate, terms, eta, share
        As in `proximal_epoch_l2`.
    batch_size : int
        Number of rows per step; the last batch may have fewer.
    """
    data, indices, indptr, width, _, _ = rows
    w, scalars, hinge, flip = iterate
    lam = scalars[0]
    b = scalars[1]
    kept = 1.0 / stiffness(eta, terms.l2)
    scale = 1.0
    norm_square = product(w, w)
    factors = np.empty(min(batch_size, order.size))
    for start in range(0, order.size, batch_size):
        end = min(start + batch_size, order.size)
        # 1. The subgradient
        on_intercept, on_lam = _gradient_of_batch(
            rows,
            order[start:end],
            w,
            None,
            scale,
            b,
            lam,
            hinge,
            flip,
            terms,
            share,
            factors,
        )
        # 2. The step. ‖kept·w + ηg‖² = kept²‖w‖² + 2 kept η w·g + η² g·g; g·g is
        # computed while g is added to w.
        square = 0.0
        norm_square = stretched(w, scale, norm_square, terms.ridged, 1.0 / kept)
        scale *= kept
        for position in range(start, end):
            factor = eta * factors[position - start] / scale
            if factor != 0.0:
                first, last = bounds(indptr, width, order[position])
                for k in range(first, last):
                    j = column(indices, k, first)
                    change = factor * data[k]
                    square += change * (change + 2.0 * w[j])
                    w[j] += change
        b += eta * on_intercept * terms.free
        base = lam - eta * (terms.radius - on_lam)
        # 3. The projection
        if boxed is None:
            norm = norm_of(
                w,
                scale,
                kept * kept * norm_square + scale * scale * square,
                norm_square,
            )
            lam, factor = onto_cone(norm, base, 1.0)
            scale, norm_square = settled(w, scale * factor, (factor * norm) ** 2)
        else:
            guess = max(lam, base) / scale
            limit, _, _, _ = threshold(
                Box(None, 0, AllWeights(w)), 0.0, 1.0, -base / scale, 1.0, guess
            )
            for j in range(w.size):
                w[j] = min(max(w[j], -limit), limit)
            lam = scale * limit
            scale, norm_square = settled(w, scale, 0.0)
    w *= scale
    scalars[0] = lam
    scalars[1] = b


def subgradient_epoch_l1(rows, order, iterate, terms, eta, share, batch_size):
    """Take the same steps for q = 1."""
    _shrunk_epoch(
        bands.of(iterate.w, eta), rows, order, iterate, terms, eta, share, batch_size
    )


@compiled(allocates=True)
def _shrunk_epoch(band, rows, order, iterate, terms, eta, share, batch_size):
    """Take a step on every batch for q = 1, with the weights in a band."""
    data, indices, indptr, width, _, _ = rows
    w, scalars, hinge, flip = iterate
    lam = scalars[0]
    b = scalars[1]
    rho = stiffness(eta, terms.l2)
    bands.renew(band)
    numbers = band.weights
    factors = np.empty(min(batch_size, order.size))
    for start in range(0, order.size, batch_size):
        end = min(start + batch_size, order.size)
        offset = numbers[bands.OFFSET]
        scale = numbers[bands.SCALE]
        on_intercept, on_lam = _gradient_of_batch(
            rows,
            order[start:end],
            numbers,
            offset,
            scale,
            b,
            lam,
            hinge,
            flip,
            terms,
            share,
            factors,
        )
        # The step: along the subgradient, then division by ρ for the ridge, which the
        # weights without one are multiplied by before
        for position in range(start, end):
            factor = eta * factors[position - start]
            if factor != 0.0:
                first, last = bounds(indptr, width, order[position])
                for k in range(first, last):
                    j = bands.BASE + column(indices, k, first)
                    bands.put_shrunk(
                        band, j, bands.take_shrunk(band, j) + factor * data[k]
                    )
        bands.stretch(band, terms.ridged, rho)
        bands.shrink(band, 0.0, rho)
        b += eta * on_intercept * terms.free
        base = lam - eta * (terms.radius - on_lam)
        # The projection: a threshold for all weights
        tau, left = common_threshold(band, base, 1.0)
        bands.shrink(band, tau, 1.0)
        lam = base
        if tau > 0.0:
            lam = left
        bands.fold_if_due(band, left)
    bands.read_back(band, w)
    scalars[0] = lam
    scalars[1] = b
