"""The kernel of a classifier: its function, and how wide it is if that is left to a rule.

Wide functions serve tables whose classes are nearly separated by a plane, which most are, and there they withstand
wrong labels best. Where classes meet in curves, they miss what narrower ones find. The rule therefore takes the widest,
unless rows that a classifier has not seen are ranked better with narrower ones, by more than chance explains.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from drsvm.annotations import Matrix
from drsvm.model.kernel_functions import (
    Given,
    KernelFunction,
    Laplacian,
    Linear,
    Polynomial,
    Precomputed,
    Rbf,
    squared_norms,
)
from drsvm.model.memory_rows import scaled_columns
from drsvm.model.problem import Problem
from drsvm.model.validation import check_number
from drsvm.solvers.base import check_count

WIDTH = 0.3  # γ times the mean squared distance from the centre; fixed on the data sets on which the study decides
FACTORS = (1.0, 10.0 / 3.0, 10.0)  # of the smallest γ
EVIDENCE = 1.5  # standard errors of the lead in ROC AUC; fixed on the data sets on which the study decides
MAX_JUDGED = 1000  # rows
WITH_WIDTH = ("rbf", "laplacian")  # the kernels whose γ is one


@dataclass(frozen=True, eq=False)
class Kernel:
    """The parameters of a kernel, and the prices of the features that it takes."""

    name: str | Callable[[Matrix, Matrix], np.ndarray]
    gamma: float | str
    degree: int
    coef0: float
    costs: np.ndarray | None

    @property
    def is_table(self) -> bool:
        """Whether X has the values of the kernel."""
        return self.name == "precomputed"

    @property
    def has_automatic_width(self) -> bool:
        """Whether evidence may speak for narrower functions."""
        return self.gamma == "rule" and self.name in WITH_WIDTH

    def function(self, gamma: float, table: Matrix | None = None) -> KernelFunction:
        """Return the function with a coefficient γ; `table` has precomputed values."""
        if callable(self.name):
            return Given(self.name)
        degree, coef0 = check_count(self.degree, "degree"), check_number(self.coef0, "coef0")
        functions: dict[str, Callable[[], KernelFunction]] = {
            "rbf": lambda: Rbf(gamma),
            "laplacian": lambda: Laplacian(gamma),
            "poly": lambda: Polynomial(gamma, degree, coef0),
            "linear": Linear,
            "precomputed": lambda: Precomputed(table),
        }
        if not isinstance(self.name, str) or self.name not in functions:
            known = ", ".join(repr(name) for name in functions)
            raise ValueError(
                f"kernel must be one of {known} or a function of two matrices, got kernel={self.name!r}."
                + (" It is not positive definite." if self.name == "sigmoid" else "")
            )
        return functions[self.name]()

    def priced(self, X: Matrix) -> Matrix:
        """Return the columns times the prices of their shifts, as floats of 64 bits."""
        X = X.astype(np.float64, copy=False)
        if self.costs is None or self.is_table:
            return X
        if np.isinf(self.costs).any():
            raise ValueError("feature_cost=inf is not possible with a kernel: use WassersteinSVC, or a large number.")
        return scaled_columns(X, self.costs)

    def points(self, X: Matrix) -> Matrix:
        """Return the points that the function takes: priced rows, or their numbers in a table."""
        if not self.is_table:
            return self.priced(X)
        if X.shape[0] != X.shape[1]:
            raise ValueError(f"A precomputed kernel needs a square matrix, got X of shape {X.shape}.")
        return np.arange(len(X))[:, None]

    def coefficient(self, X: Matrix, sample_weight: np.ndarray | None) -> float:
        """Return γ by the parameter `gamma`."""
        if not isinstance(self.gamma, str):
            if not check_number(self.gamma, "gamma") > 0.0:
                raise ValueError(f"gamma must be above 0, got gamma={self.gamma!r}.")
            return float(self.gamma)
        if self.gamma not in ("rule", "scale", "auto"):
            raise ValueError(f"gamma must be a number, 'rule', 'scale' or 'auto', got gamma={self.gamma!r}.")
        if self.is_table or self.gamma == "auto":
            return 1.0 / X.shape[1]
        X = self.priced(X)
        weights = sample_weight if self.gamma == "rule" and sample_weight is not None else np.ones(X.shape[0])
        shares = weights / weights.sum()
        means, squares = np.asarray(shares @ X).ravel(), float(shares @ squared_norms(X))
        if self.gamma == "rule":
            distance = float(squares - means @ means)
            return WIDTH / distance if distance > 0 else 1.0
        variance = float(squares / X.shape[1] - means.mean() ** 2)
        return 1.0 / (X.shape[1] * variance) if variance > 0 else 1.0


def some_rows(X, y, weights, most: int = MAX_JUDGED) -> np.ndarray:
    """Return which rows to judge: at most `most`, chosen by their contents, of every class its share."""
    counted = np.arange(len(y)) if weights is None else np.flatnonzero(weights)
    if len(counted) <= most:
        return counted
    order = counted[np.argsort(Problem(X[counted], y[counted] == np.unique(y)[0]).content_groups(), kind="stable")]
    by_class = (order[y[order] == label] for label in np.unique(y))
    places = np.arange(0.0, len(counted), len(counted) / most).astype(int)
    return np.sort(np.concatenate([mine[places[places < len(mine)]] for mine in by_class]))
