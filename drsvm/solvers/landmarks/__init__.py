"""Kernel problems, in a growing span of functions.

`landmark_solver` has the solver, and rough solutions without a proof; `span` is a
subspace of the feature space with an orthonormal basis.
"""

from typing import TYPE_CHECKING

from drsvm.utils.lazy import lazy_names

# For other folders and for tests
if TYPE_CHECKING:
    from drsvm.solvers.landmarks.landmark_solver import linear_problems
    from drsvm.solvers.landmarks.span import Span
else:
    __getattr__, __dir__, __all__ = lazy_names(__name__)
