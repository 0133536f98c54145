"""The per-sample part of an ADMM iteration, in one pass without temporaries.

Row i has its loss φ(t) = max(1 − t, 1 + t − κλ, 0) of a split margin t, which ADMM
makes equal to the margin m in the limit, and a slope g of φ (see
`solvers/paper/admm/subproblem.py`). The flip cost κ and `kappa_lam` = κλ (inf where a
label cannot be flipped) are numbers or arrays over the rows.
"""

from drsvm.compiled.decorators import FAST, compiled
from drsvm.compiled.row_access import at


@compiled(fastmath=FAST)
def nearest_split(v, reach, kappa_lam):
    """Return argmin over t of max(1 − t, 1 + t − κλ, 0) + (t − v)²/(2·reach).

    `kappa_lam` is κλ, and `reach` is the longest move: the slope of a piece is ±1.
    """
    # The loss is smallest between `first` and `last`: where both falling and rising
    # piece are below 0 or, if there is no such place, where they cross
    if kappa_lam < 2.0:
        first = 0.5 * kappa_lam
        last = first
    else:
        first = 1.0
        last = kappa_lam - 1.0
    # A point outside moves towards this interval, but not into it
    if v < first:
        return min(v + reach, first)
    if v > last:
        return max(v - reach, last)
    return v


@compiled(inner=True, fastmath=FAST)
def _shares(slope, kappa_lam):
    """Return α/π and β/π of the multipliers that belong to a slope g of the loss."""
    if kappa_lam < 2.0:
        return 0.5 * (1.0 - slope), 0.5 * (1.0 + slope)
    return max(-slope, 0.0), max(slope, 0.0)


@compiled(fastmath=FAST)
def update_samples(
    decision,
    intercept,
    signs,
    weights,
    kappa,
    kappa_lam,
    rho,
    relaxation,
    split,
    slopes,
    coefficients,
):
    """Update the split margins t and the slopes g of the loss.

    Parameters
    ----------
    decision : array of shape (n,)
        w·x_i.
    intercept, rho, relaxation : float
        b, the penalty ρ and the factor of over-relaxation.
    signs, weights : arrays of shape (n,)
        The labels y, and π.
    kappa, kappa_lam : float or array of shape (n,)
        κ, 0 where a label cannot be flipped, and κλ.
    split, slopes : arrays of shape (n,)
        t and g, which are updated.
    coefficients : array of shape (2, n)
        Receives the coefficients of Σ π t y x and −Σ π g y x.

    Returns
    -------
    tuple of float
        The loss at the margins m; Σ (α + β) and Σ κβ of the multipliers for g; the
        squares of m − t, of the change of t, of m, of t and of g, weighted by π.
    """
    loss = mass = cost = 0.0
    apart = moved = margin_size = split_size = slope_size = 0.0
    for i in range(decision.size):
        # The split margin: a proximal step from the over-relaxed margin
        margin = signs[i] * (decision[i] + intercept)
        flip = at(kappa_lam, i)
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
