"""GS-ADMM, the paper's baseline."""

from typing import TYPE_CHECKING

from drsvm.utils.lazy import lazy_names

# For other folders and for tests
if TYPE_CHECKING:
    from drsvm.solvers.paper.admm.ball_qp import EXACT, Accelerated
    from drsvm.solvers.paper.admm.subproblem import Subproblem
else:
    __getattr__, __dir__, __all__ = lazy_names(__name__)
