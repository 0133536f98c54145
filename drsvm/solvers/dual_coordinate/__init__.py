"""Dual coordinate ascent for many features, and working sets of features."""

from typing import TYPE_CHECKING

from drsvm.utils.lazy import lazy_names

# For other folders and for tests
if TYPE_CHECKING:
    from drsvm.solvers.dual_coordinate.ascent import losses_along
    from drsvm.solvers.dual_coordinate.dual_coordinate_solver import DualCoordinateState
else:
    __getattr__, __dir__, __all__ = lazy_names(__name__)
