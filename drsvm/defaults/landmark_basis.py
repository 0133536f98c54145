"""An orthonormal basis of the span of landmarks in the feature space of a kernel.

A landmark is a point z whose function φ(z) = k(·, z) the classifier may use. In an
orthonormal basis of the span of m landmarks, a function is a vector of m weights with
the same norm, and a row becomes the values of the basis functions. So workers map their
rows to m features, once, which leaves the problem of a linear classifier.
"""

from typing import NamedTuple

import numpy as np

from drsvm.defaults.kernel_parameters import KernelParameters
from drsvm.problem.kernel_classifier import KernelClassifier
from drsvm.problem.kernel_rows import FunctionRows, KernelRows
from drsvm.solvers.landmarks.span import Span
from drsvm.utils.annotations import Matrix


class LandmarkBasis(NamedTuple):
    """Landmarks z_j, and an orthonormal basis of their span: Σ_j c_jl φ(z_j)."""

    landmarks: Matrix
    coefficients: np.ndarray
    """The numbers c_jl, of shape (n_landmarks, n_functions)."""

    functions: KernelClassifier
    """The functions; 0 at the centre of the rows, if these have one."""

    @classmethod
    def of(
        cls, given: Matrix, most: int, kernel: KernelParameters, rows: FunctionRows
    ) -> "LandmarkBasis":
        """Choose landmarks, each the farthest from the span of the others.

        Parameters
        ----------
        given : array of shape (n_given, n_features)
            Landmarks to choose from.
        most : int
            How many are chosen at most.
        kernel : KernelParameters
            The kernel.
        rows : FunctionRows
            Rows in its feature space, which may have a centre.

        Returns
        -------
        LandmarkBasis
            The landmarks and the basis of their span.
        """
        # 1. A basis of the span
        points = kernel.scaled(given)
        span = Span(KernelRows(points, rows.function))
        span.add_landmarks(np.arange(points.shape[0]), most)
        chosen = span.landmarks
        coefficients = span.coefficients(np.eye(span.size))[chosen]

        # 2. The mean of its functions over the rows: the centre has a weight for every
        # row, most of them 0 if the rows are many. It becomes the intercept.
        centre = np.zeros(1)
        if rows.centre is not None:
            centre = np.asarray(rows.centre)
        central = np.flatnonzero(centre)
        at_central_rows = KernelRows(points[chosen], rows.function).at(
            rows.points[central], coefficients
        )
        functions = KernelClassifier(
            rows.function,
            points[chosen],
            coefficients.T,
            -(centre[central] @ at_central_rows),
            # There are no classes.
            np.zeros(0),
            kernel.costs,
        )
        return cls(given[chosen], coefficients, functions)
