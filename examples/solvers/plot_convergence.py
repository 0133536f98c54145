"""
How solvers converge
====================

Every solver produces classifiers and multipliers, and one strict function turns them into an objective and a proven
lower bound on the optimum. Their difference, the gap, is the stopping criterion and makes solvers comparable.
"""

from matplotlib import pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from drsvm import Problem
from drsvm.plotting import ConvergenceDisplay

X, y = load_breast_cancer(return_X_y=True)
problem = Problem(StandardScaler().fit_transform(X), y, radius=0.05, flip_cost=1.0, fit_intercept=True)

solvers = ["interior-point", "hybrid", "ippa", "isg"]
display = ConvergenceDisplay.from_problem(problem, solvers, max_iter=300, random_state=0)

# %%
# A display stores its data and can be plotted again: here the two bounds that close in on the optimum, over iterations.

figure, ax = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
display.plot(ax, x="iteration", y="bounds")
