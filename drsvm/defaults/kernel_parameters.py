"""The parameters of a kernel, as users state them, and the function that they make.

A kernel function takes *points*: the rows with every feature times the cost of its
shift, or the numbers of rows in a precomputed table of values.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from drsvm.problem import kernel_functions as functions
from drsvm.problem.kernel_functions import KernelFunction, squared_norms
from drsvm.problem.memory_rows import scaled_columns
from drsvm.problem.validation import check_number
from drsvm.solvers.base import check_count
from drsvm.utils.annotations import Matrix

# γ times the mean squared distance of a row from the centre, with gamma="rule"; fixed
# on the data sets on which the study decides
WIDTH = 0.3
# The kernels that have names; "precomputed" takes a table of values in place of rows
NAMES = ("rbf", "laplacian", "poly", "linear", "precomputed")
# The kernels whose γ is a width
WITH_WIDTH = ("rbf", "laplacian")
# Those of which it is known how far φ(x) moves at most when x does
WITH_REACH = ("rbf", "linear")


@dataclass(frozen=True, eq=False)
class KernelParameters:
    """The parameters of a kernel, and the costs of the features that it takes."""

    name: str | Callable[[Matrix, Matrix], np.ndarray]
    """One of NAMES, or a function that returns the values for two sets of rows."""

    gamma: float | str
    """The coefficient γ, or "rule", "scale" or "auto"."""

    degree: int
    coef0: float
    costs: np.ndarray | None
    """The costs of the features; None if all are 1."""

    @property
    def is_table(self) -> bool:
        """Whether X has the values of the kernel."""
        return self.name == "precomputed"

    @property
    def chooses_width(self) -> bool:
        """Whether γ is a width that is chosen by the data."""
        return self.gamma == "rule" and self.name in WITH_WIDTH

    def function(self, gamma: float, table: Matrix | None = None) -> KernelFunction:
        """Return the kernel function.

        Parameters
        ----------
        gamma : float
            The coefficient γ.
        table : array of shape (n, n), optional
            The values of a precomputed kernel.

        Returns
        -------
        KernelFunction
            The function.
        """
        if callable(self.name):
            return functions.Given(self.name)
        degree = check_count(self.degree, "degree")
        coef0 = check_number(self.coef0, "coef0")
        if self.name == "rbf":
            return functions.Rbf(gamma)
        if self.name == "laplacian":
            return functions.Laplacian(gamma)
        if self.name == "poly":
            return functions.Polynomial(gamma, degree, coef0)
        if self.name == "linear":
            return functions.Linear()
        if self.name == "precomputed":
            return functions.Precomputed(table)
        names = ", ".join(map(repr, NAMES))
        message = (
            f"kernel must be one of {names} or a function of two matrices, got "
            f"kernel={self.name!r}."
        )
        if self.name == "sigmoid":
            message += " It is not positive definite."
        raise ValueError(message)

    def scaled(self, X: Matrix) -> Matrix:
        """Return the columns times the costs of their shifts, as floats of 64 bits."""
        X = X.astype(np.float64, copy=False)
        if self.costs is None or self.is_table:
            return X
        if np.isinf(self.costs).any():
            raise ValueError(
                "feature_cost=inf is not possible with a kernel: use WassersteinSVC, "
                "or a large number."
            )
        return scaled_columns(X, self.costs)

    def unscaled(self, points: np.ndarray) -> np.ndarray:
        """Return rows as they are before their columns are multiplied."""
        if self.costs is None:
            return points
        return points / self.costs

    def points(self, X: Matrix) -> Matrix:
        """Return what the function takes: scaled rows, or their numbers in a table."""
        if not self.is_table:
            return self.scaled(X)
        if X.shape[0] != X.shape[1]:
            raise ValueError(
                f"A precomputed kernel needs a square matrix, got X of shape {X.shape}."
            )
        return np.arange(len(X))[:, None]

    def coefficient(self, X: Matrix, sample_weight: np.ndarray | None) -> float:
        """Return γ by the parameter `gamma`.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            The training rows.
        sample_weight : array of shape (n,), optional
            Their weights, which count for "rule" only: "scale" is that of scikit-learn.

        Returns
        -------
        float
            The coefficient.
        """
        gamma = self.gamma
        if not isinstance(gamma, str):
            if not check_number(gamma, "gamma") > 0.0:
                raise ValueError(f"gamma must be above 0, got gamma={gamma!r}.")
            return float(gamma)
        if gamma not in ("rule", "scale", "auto"):
            raise ValueError(
                "gamma must be a number, 'rule', 'scale' or 'auto', got "
                f"gamma={gamma!r}."
            )
        if self.is_table or gamma == "auto":
            return 1.0 / X.shape[1]
        # Of all entries for "scale", and of all rows for "rule": 1 / γ is a multiple of
        # a variance. Where it is 0, any γ will do.
        X = self.scaled(X)
        weights = np.ones(X.shape[0])
        if gamma == "rule" and sample_weight is not None:
            weights = sample_weight
        shares = weights / weights.sum()
        means = np.asarray(shares @ X).ravel()
        mean_square = float(shares @ squared_norms(X))
        if gamma == "rule":
            square = float(mean_square - means @ means)
            if square > 0.0:
                return WIDTH / square
            return 1.0
        variance = float(mean_square / X.shape[1] - means.mean() ** 2)
        if variance > 0.0:
            return 1.0 / (X.shape[1] * variance)
        return 1.0
