"""The decision functions of a classifier with a kernel, as sums over landmarks."""

from typing import NamedTuple

import numpy as np

from drsvm.problem.kernel_functions import KernelFunction
from drsvm.problem.kernel_rows import KernelRows
from drsvm.problem.memory_rows import scaled_columns
from drsvm.utils.annotations import Matrix


class KernelClassifier(NamedTuple):
    """The decision functions Σ_j c_j k(x, z_j) + b of a model."""

    function: KernelFunction
    # The points z_j, with scaled features
    landmarks: Matrix
    # Of shape (1 or number of classes, number of landmarks)
    coef: np.ndarray
    intercept: np.ndarray
    classes: np.ndarray
    # Factors of the features before the kernel, or None if they are not scaled
    scales: np.ndarray | None

    def scaled(self, X: Matrix) -> Matrix:
        """Return rows with the features that the kernel takes: scaled, as float64."""
        X = X.astype(np.float64, copy=False)
        if self.scales is None:
            return X
        return scaled_columns(X, self.scales)

    def at(self, X: Matrix) -> np.ndarray:
        """Return the decision values of rows, of shape (n, 1 or number of classes)."""
        rows = KernelRows(self.landmarks, self.function)
        return rows.at(self.scaled(X), self.coef.T) + self.intercept

    def decisions(self, X: Matrix) -> np.ndarray:
        """Return decision values in the shape in which classifiers return them.

        This is (n,) for one function, otherwise (n, number of classes).
        """
        values = self.at(X)
        if len(self.coef) == 1:
            return values.ravel()
        return values
