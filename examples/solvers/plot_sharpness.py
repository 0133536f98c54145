r"""
Why the Euclidean norm is harder: a bowl without a tip
======================================================

The incremental methods converge fastest if the objective is *sharp*: if, away from the optimum, it rises at least in
proportion to the distance. With :math:`\|w\|_1` or :math:`\|w\|_\infty` in the constraint and without a ridge term it
always does, because everything is made of flat pieces. With :math:`\|w\|_2` it need not, and two rows are enough to
show it: :math:`(e_1, +1)` and :math:`(-e_1, -1)`, radius 0.1 and a flip cost of 2. Both rows have the margin
:math:`w_1`, and the problem becomes

.. math:: \min_{w}\ 0.1\, \|w\|_q + \max(1 - w_1, 0),

with an optimum at :math:`w = (1, 0)`. Walk away from it, along the points that have the
same norm.
"""

import numpy as np
from matplotlib import pyplot as plt

from drsvm import Problem, solve, worst_case_risk

X = np.array([[1.0, 0.0], [-1.0, 0.0]])
y = np.array([1, -1])
optimum = np.array([1.0, 0.0])


def objective(weights, norm):
    """Return the worst-case risk of a classifier without intercept."""
    return worst_case_risk((weights, 0.0), X, y, radius=0.1, flip_cost=2.0, norm=norm)


for norm in (2, "inf"):
    result = solve(Problem(X, y, radius=0.1, flip_cost=2.0, norm=norm))
    print(
        f"norm={norm!r}: weights {result.weights.round(6)}, objective"
        f" {result.objective:.6f}, gap {result.gap:.0e}"
    )

# %% For ``norm=2`` the points of equal norm form a circle, for ``norm="inf"`` (whose
# dual norm is :math:`\|w\|_1`) the edge of a diamond:

steps = np.logspace(-4, -0.3, 40)
walks = {
    2: np.column_stack([np.cos(steps), np.sin(steps)]),
    "inf": np.column_stack([1 - steps, steps]),
}

# %% The contours of the objective, with the walk as a dashed line. On the left the
# level sets around the optimum are long and thin, and the smaller the longer in
# proportion; in the middle all have the same shape. On the right, the same in numbers:
# along the diamond the distance is proportional to the excess of the objective (slope
# 1), but along the circle only its square is (slope ½). An excess of a millionth then
# leaves the weights a thousandth away from the optimum.

plt.style.use("drsvm.plotting.quiet")
figure, (*planes, rates) = plt.subplots(1, 3, figsize=(11, 4))
grid = np.linspace(0.6, 1.4, 61), np.linspace(-0.6, 0.6, 61)
for ax, (norm, walk), colour in zip(planes, walks.items(), ("C1", "C0"), strict=True):
    values = np.array(
        [
            [objective(np.array([first, second]), norm) for first in grid[0]]
            for second in grid[1]
        ]
    )
    ax.contourf(
        *grid,
        values - 0.1,
        levels=np.geomspace(0.002, 0.6, 14),
        cmap="Greys",
        extend="both",
        norm="log",
    )
    ax.plot(*walk.T, "--", color=colour)
    ax.plot(*optimum, "*", color=colour, markersize=13)
    ax.set(
        title=f"norm={norm!r}",
        xlabel="$w_1$",
        ylabel="$w_2$",
        xlim=(0.6, 1.4),
        ylim=(-0.6, 0.6),
    )
    excess = [objective(weights, norm) - 0.1 for weights in walk]
    rates.loglog(
        excess,
        np.linalg.norm(walk - optimum, axis=1),
        color=colour,
        label=f"norm={norm!r}",
    )
rates.set(
    title="the walks", xlabel="objective − optimum", ylabel="distance to the optimum"
)
rates.legend()
