"""Epochs of projected subgradient steps on batches of rows, for q = 2 and q = ∞.

A step goes against the mean over the batch of the subgradients of

    f_i(w, b, λ) = g_i · max(1 − m_i, 1 + m_i − κλ, 0) + ελ + (c/2)‖w‖²,      g_i = n π_i,

(the ridge is taken implicitly: w/(1 + ηc)), and then to the nearest point with ‖w‖_q ≤ λ. For q = 2 the weights are
kept as scale × vector with a tracked norm, and a step costs as much as the nonzeros of its rows. For q = ∞ it costs a
few passes over all weights besides.
"""

import math

import numpy as np

from drsvm.kernels.compiling import kernel

FAST = {"reassoc", "contract", "nsz"}

MOST_STEPS = 100
"""Newton steps on a piecewise linear function: it takes three or four."""

SMALLEST_SCALE, CANCELLED = 1e-60, 1e-8
"""The vector is made plain when its scale is smaller; its norm is computed afresh when this little of it is left."""


@kernel(fastmath=FAST)
def _dot(data, indices, first, last, v):
    """Return x·v."""
    inner = 0.0
    for k in range(first, last):
        x = float(data[k])
        inner += x * v[np.uint64(indices[k])]
    return inner


@kernel(fastmath=FAST)
def _square(v):
    total = 0.0
    for j in range(v.size):
        total += v[j] * v[j]
    return total


@kernel(fastmath=FAST)
def _clear_rows(indices, indptr, order, first, last, v):
    """Set v to 0, where only the given stretch of rows has touched it."""
    touched = np.uint64(0)
    for position in range(first, last):
        i = order[position]
        touched += indptr[i + 1] - indptr[i]
        if touched > v.size:
            v[:] = 0.0
            return
    for position in range(first, last):
        i = order[position]
        for k in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            v[np.uint64(indices[k])] = 0.0


@kernel(fastmath=FAST)
def _onto_cone(norm, s):
    """Return λ and the factor of w for q = 2."""
    if norm <= s:
        return s, 1.0
    if norm <= -s:
        return 0.0, 0.0
    level = 0.5 * (norm + s)
    return level, level / norm


@kernel(fastmath=FAST)
def _active_piece(margin, level, kappa, flips):
    """Return σ₁ and σ₂ of the largest piece of the loss; where two or three are equally large, of their mean."""
    hinge = 1.0 - margin
    flipped = 1.0 + margin - kappa * level if flips else -1.0
    largest = max(hinge, flipped, 0.0)
    one = 1.0 if hinge == largest else 0.0
    two = 1.0 if flipped == largest else 0.0
    none = 1.0 if largest == 0.0 else 0.0
    total = one + two + none
    return one / total, two / total


@kernel(fastmath=FAST)
def _pull_of_batch(
    data,
    indices,
    indptr,
    signs,
    importance,
    rows,
    w,
    scale,
    b,
    level,
    price,
    flips,
    hinge_mean,
    flip_mean,
    share,
    pulls,
):
    """Write what each row of a batch pulls the weights scale·w by; return the pulls on b and on λ (over κ)."""
    turned = flipped = 0.0
    for k in range(rows.size):
        i = rows[k]
        inner = _dot(data, indices, np.uint64(indptr[i]), np.uint64(indptr[i + 1]), w)
        sigma1, sigma2 = _active_piece(signs[i] * (scale * inner + b), level, price, flips)
        pulls[k] = importance[i] * (sigma1 - sigma2) * signs[i] / rows.size
        turned += pulls[k]
        flipped += importance[i] * sigma2 / rows.size
        hinge_mean[i] += share * (sigma1 - hinge_mean[i])
        flip_mean[i] += share * (sigma2 - flip_mean[i])
    return turned, flipped


@kernel(fastmath=FAST)
def isg_epoch_l2(
    data,
    indices,
    indptr,
    signs,
    importance,
    order,
    w,
    scalars,
    eta,
    radius,
    kappa,
    l2,
    free,
    hinge_mean,
    flip_mean,
    share,
    batch_size,
):
    """Take a projected subgradient step on every batch of rows in the given order, q = 2."""
    flips = not math.isinf(kappa)
    price = kappa if flips else 0.0
    level, b = scalars[0], scalars[1]
    scale, norm_square = 1.0, _square(w)
    pulls = np.empty(min(batch_size, order.size))
    cleared = -1
    for start in range(0, order.size, batch_size):
        end = min(start + batch_size, order.size)
        rows = order[start:end]
        turned, flipped = _pull_of_batch(
            data,
            indices,
            indptr,
            signs,
            importance,
            rows,
            w,
            scale,
            b,
            level,
            price,
            flips,
            hinge_mean,
            flip_mean,
            share,
            pulls,
        )
        kept = 1.0 / (1.0 + eta * l2)
        # ‖kept·w + ηg‖² = kept²‖w‖² + 2 kept η w·g + η² g·g; g·g comes out while g is added to w.
        square = 0.0
        scale *= kept
        for position in range(start, end):
            factor = eta * pulls[position - start] / scale
            if factor != 0.0:
                i = order[position]
                for k in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
                    j = np.uint64(indices[k])
                    change = factor * data[k]
                    square += change * (change + 2.0 * w[j])
                    w[j] += change
        new_square = kept * kept * norm_square + scale * scale * square
        if new_square < CANCELLED * norm_square:
            new_square = scale * scale * _square(w)
        norm = math.sqrt(new_square)
        b += eta * turned * free
        level, factor = _onto_cone(norm, level - eta * (radius - price * flipped))
        norm_square = (factor * norm) ** 2
        scale *= factor
        if factor == 0.0:
            if cleared < 0:
                w[:] = 0.0
            else:
                _clear_rows(indices, indptr, order, cleared, end, w)
            cleared, scale, norm_square = end, 1.0, 0.0
        elif scale < SMALLEST_SCALE:
            w *= scale
            scale, norm_square = 1.0, _square(w)
    w *= scale
    scalars[0], scalars[1] = level, b


@kernel(fastmath=FAST)
def _onto_box(w, inverse_metric, s, guess):
    """Clip w to the point of the cone nearest to (w, s), where an entry's distances count by the metric; return λ."""
    level = max(guess, s, 0.0)
    before = -1.0
    for _ in range(MOST_STEPS):
        total = clipped = 0.0
        for j in range(w.size):
            over = abs(w[j]) - level
            total += max(over, 0.0) * inverse_metric[j]
            clipped += inverse_metric[j] if over > 0.0 else 0.0
        new = max(level + (s + total - level) / (1.0 + clipped), 0.0)
        if new in (level, before) or (before >= 0.0 and new <= level):
            break
        before, level = level, new
    for j in range(w.size):
        w[j] = min(max(w[j], -level), level)
    return level


@kernel(fastmath=FAST)
def isg_epoch_linf(
    data,
    indices,
    indptr,
    signs,
    importance,
    order,
    w,
    scalars,
    eta,
    radius,
    kappa,
    l2,
    free,
    hinge_mean,
    flip_mean,
    share,
    batch_size,
    metric,
    inverse_metric,
):
    """Take a projected subgradient step on every batch of rows in the given order, q = ∞.

    The step of a weight is η times its entry of the metric, and the projection is that of the metric.
    """
    flips = not math.isinf(kappa)
    price = kappa if flips else 0.0
    level, b = scalars[0], scalars[1]
    pulls = np.empty(min(batch_size, order.size))
    for start in range(0, order.size, batch_size):
        end = min(start + batch_size, order.size)
        rows = order[start:end]
        turned, flipped = _pull_of_batch(
            data,
            indices,
            indptr,
            signs,
            importance,
            rows,
            w,
            1.0,
            b,
            level,
            price,
            flips,
            hinge_mean,
            flip_mean,
            share,
            pulls,
        )
        if l2 > 0.0:
            for j in range(w.size):
                w[j] /= 1.0 + eta * l2 * metric[j]
        for position in range(start, end):
            factor = eta * pulls[position - start]
            if factor != 0.0:
                i = order[position]
                for k in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
                    j = np.uint64(indices[k])
                    w[j] += factor * metric[j] * data[k]
        b += eta * turned * free
        level = _onto_box(w, inverse_metric, level - eta * (radius - price * flipped), level)
    scalars[0], scalars[1] = level, b
