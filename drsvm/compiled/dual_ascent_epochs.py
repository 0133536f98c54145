"""Epochs of dual coordinate ascent: visits of rows in turn, for every norm.

`solvers/dual_coordinate/ascent.py` calls them, and so do the blocks of the federated
solver.
"""

from drsvm.compiled.decorators import by_type, compiled
from drsvm.compiled.dual_ascent_norm2 import (
    Norm2Sums,
    Norm2Terms,
    norm2_answer,
    norm2_sums,
    norm2_visit,
)
from drsvm.compiled.dual_ascent_separable import (
    SeparableSums,
    SeparableTerms,
    separable_answer,
    separable_sums,
    separable_visit,
)
from drsvm.compiled.row_access import at

_sums_at_start = by_type({Norm2Terms: norm2_sums, SeparableTerms: separable_sums})
# Inlined: a call would pass about a hundred numbers for every row.
_visit = by_type(
    {Norm2Sums: norm2_visit, SeparableSums: separable_visit}, forceinline=True
)
_answer = by_type({Norm2Sums: norm2_answer, SeparableSums: separable_answer})


@compiled()
def ascent_epoch(memory, rows, order, active, firm, multipliers, flips, terms):
    """Visit the first `active` rows of `order` and improve their multipliers.

    A row that sits at a corner of its triangle, with more than `firm` between its
    losses, is moved behind the active ones (shrinking).

    Parameters
    ----------
    memory : array
        For q = 2 the x_i·x_i, otherwise memory for the entries of a row.
    rows : Rows
        All rows; `importance` are their weights π.
    order : array of integers
        The rows, the active ones first; its order changes.
    active : int
        Number of active rows.
    firm : float
        Difference of the losses from which a row at a corner is skipped.
    multipliers : Multipliers
        Updated in place; the first of the sums is Σκβ for q = 2, otherwise λ.
    flips : Flips
    terms : Norm2Terms or SeparableTerms
        Its type selects the code.

    Returns
    -------
    tuple
        The number of active rows; over the visited rows, each at its visit, the gap
        between losses and multipliers, Σ πκ² of those near the kink at which they are
        flipped, and the largest violation; and for q = 2 the scale, λ and b of the
        answer, otherwise None.
    """
    sums = _sums_at_start(terms, multipliers)
    gap = near = violation = 0.0
    position = 0
    for _ in range(active):  # every iteration passes or deactivates one row
        i = order[position]
        sums, verdict = _visit(sums, i, memory, rows, firm, multipliers, flips, terms)
        gap += verdict.gap
        if verdict.is_near:
            kappa = at(flips.kappa, i)
            near += rows.importance[i] * kappa * kappa
        if verdict.firmness > firm:
            active -= 1
            order[position] = order[active]
            order[active] = i
        else:
            violation = max(violation, verdict.gap / rows.importance[i])
            position += 1
    return active, gap, near, violation, _answer(sums, multipliers)
