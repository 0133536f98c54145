"""The per-sample part of an ADMM iteration, in one pass without temporaries.

The flip cost κ and `flip_price` = κλ (inf where a label cannot be flipped) are numbers
or arrays over the rows.
"""

from drsvm.compiled.compiling import FAST, compiled
from drsvm.compiled.row_access import at


@compiled(fastmath=FAST)
def nearest_split(v, reach, flip_price):
    """Return argmin over t of max(1 − t, 1 + t − κλ, 0) + (t − v)²/(2·reach).

    `flip_price` is κλ.
    """
    if flip_price < 2.0:  # the two pieces cross above 0
        first = last = 0.5 * flip_price
    else:
        first = 1.0
        last = flip_price - 1.0
    if v < first:
        return min(v + reach, first)
    if v > last:
        return max(v - reach, last)
    return v


@compiled(inner=True, fastmath=FAST)
def _shares(slope, flip_price):
    """Return α/π and β/π of the multipliers that belong to a slope g of the loss."""
    if flip_price < 2.0:
        return 0.5 * (1.0 - slope), 0.5 * (1.0 + slope)
    return max(-slope, 0.0), max(slope, 0.0)


@compiled(fastmath=FAST)
def update_samples(
    decision,
    intercept,
    signs,
    weights,
    kappa,
    flip_price,
    rho,
    relaxation,
    split,
    slopes,
    coefficients,
):
    """Update the split margins t and the slopes g of the loss.

    Write the coefficients of Σ π t y x and −Σ π g y x.

    `decision` contains w·x_i. Returns the loss at the margins m; Σ (α + β) and Σ κβ of
    the multipliers for g; the squares of m − t, of the change of t, of m, of t and of
    g, all weighted by π.
    """
    loss = mass = cost = 0.0
    apart = moved = margin_size = split_size = slope_size = 0.0
    for i in range(decision.size):
        # The split margin: a proximal step from the over-relaxed margin
        margin = signs[i] * (decision[i] + intercept)
        flip = at(flip_price, i)
        old = split[i]
        v = relaxation * margin + (1.0 - relaxation) * old + slopes[i] / rho
        new = nearest_split(v, 1.0 / rho, flip)
        # What the step has moved is a slope of the loss: the new multiplier
        slope = min(max(rho * (v - new), -1.0), 1.0)
        split[i] = new
        slopes[i] = slope
        pi = weights[i]
        coefficients[0, i] = pi * signs[i] * new
        coefficients[1, i] = -pi * signs[i] * slope
        # Sums for the bound, and for the residuals
        loss += pi * max(1.0 - margin, 1.0 + margin - flip, 0.0)
        alpha, beta = _shares(slope, flip)
        mass += pi * (alpha + beta)
        cost += at(kappa, i) * pi * beta
        apart += pi * (margin - new) ** 2
        moved += pi * (new - old) ** 2
        margin_size += pi * margin**2
        split_size += pi * new**2
        slope_size += pi * slope**2
    return loss, mass, cost, apart, moved, margin_size, split_size, slope_size
