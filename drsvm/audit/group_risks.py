"""The worst case of every group of rows, each in a ball of its own.

With confidence, everything is said about the populations of all groups at once. Rows
of different groups are independent: δ is divided so that all K groups together miss
with the probability δ, 1 − (1 − δ)^(1/K) for each. One half of that is for the bound
from above, the other half for one from below, which differences need.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from drsvm.utils.annotations import Costs
from drsvm.utils.messages import counted


@dataclass(frozen=True, repr=False, eq=False)
class GroupRisks:
    r"""Worst-case risks of groups of rows, and how much they differ.

    Attributes
    ----------
    groups : list
        The groups: numbers and dates are sorted, anything else comes in the order of
        its first row.
    rows : list of int
        Their numbers of rows.
    risks : array of shape (n_groups,), or (n_groups, \*shape of the radius)
        The worst case of each group alone; with confidence, what holds for the
        populations of all groups at once.
    difference : float, or array of the shape of the radius
        The largest difference between the worst cases of two groups; with confidence,
        no two populations differ by more.

    Examples
    --------
    >>> import numpy as np
    >>> from drsvm import worst_case_risk
    >>> X = [[-2.0], [-1.0], [1.0], [2.0], [-0.1], [-0.3], [0.1], [0.2]]
    >>> y = [-1, -1, 1, 1, -1, -1, 1, 1]
    >>> site = np.repeat(["A", "B"], 4)
    >>> ball = {"radius": [0.05, 0.2], "loss": "zero-one"}
    >>> found = worst_case_risk(([1.0], 0.0), X, y, groups=site, **ball)
    >>> found.groups, found.rows
    (['A', 'B'], [4, 4])
    >>> found.risks.round(2).tolist(), found.difference.round(2).tolist()
    ([[0.05, 0.2], [0.5, 1.0]], [0.45, 0.8])
    """

    groups: list[Any]
    rows: list[int]
    risks: np.ndarray
    difference: Costs

    def __repr__(self) -> str:
        n = len(self.groups)
        largest = np.max(self.difference, initial=0.0)
        return f"GroupRisks: {counted(n, 'group')}, largest difference {largest:.4g}"


def largest_differences(highest: np.ndarray, lowest: np.ndarray) -> np.ndarray:
    """Return the largest differences between two groups, given bounds on their risks.

    Arrays of shape (number of groups, number of radii).
    """
    differences = highest[:, None] - lowest
    # No group differs from itself, wide as its bounds may be.
    own = np.arange(len(highest))
    differences[own, own] = 0.0
    return differences.max(axis=(0, 1))
