"""
Solvers compared
================

Every solver produces classifiers and multipliers, and one strict function turns them
into an objective and a proven lower bound on the optimum. Their difference, the gap, is
the stopping criterion of all solvers and makes them comparable. Which one is fast
depends on the shape of the data.
"""

import numpy as np
from matplotlib import pyplot as plt
from scipy import sparse
from sklearn.datasets import make_classification

from drsvm import ConvergenceDisplay, Problem

X, y = make_classification(20_000, 30, n_informative=10, flip_y=0.1, random_state=0)
tall = Problem(X, y, radius=0.02, flip_cost=1.0)

rng = np.random.default_rng(0)
X = sparse.random_array((2000, 20_000), density=0.003, rng=rng, format="csr")
wide = Problem(X, np.sign(X @ rng.normal(size=20_000)), radius=0.002, flip_cost=1.0)

# %% On the left 20,000 rows with 30 features, on the right 2,000 sparse rows with
# 20,000 features; each run has one second. With few features the interior point is both
# fast and accurate, and dual coordinate ascent soon hands over to it. With many
# features its matrix is large, and a single step may take longer than that, while a
# step of dual coordinate ascent costs no more than the nonzeros of a row. The
# incremental methods ``hybrid`` and ``isg`` need neither a matrix nor tuning, but do
# not win in either case.

solvers = ["interior-point", "dual-coordinate", "hybrid", "isg"]
figure, axes = plt.subplots(1, 2, figsize=(10, 4.4), layout="constrained", sharey=True)
for ax, problem in zip(axes, (tall, wide), strict=True):
    ConvergenceDisplay.from_problem(
        problem, solvers, max_time=1.0, random_state=0, ax=ax
    )
    ax.set_title(
        f"{problem.n_rows:,} rows, {problem.n_features:,} features",
        loc="left",
        fontsize="medium",
    )
