"""`solve`, and the solvers by name."""

from typing import TYPE_CHECKING

from drsvm.utils.lazy import lazy_names

# `as` marks what is public; the rest is for other folders and for tests.
if TYPE_CHECKING:
    from drsvm.solvers.api import solve as solve
    from drsvm.solvers.base import (
        EVERY_CAPABILITY,
        POLISHED,
        Candidate,
        DelegatingState,
        Limits,
        Solver,
        State,
        check_limits,
        share_of_way,
    )
    from drsvm.solvers.conic.conic_solver import Conic as Conic
    from drsvm.solvers.conic.conic_solver import build_model, postponed_interrupt
    from drsvm.solvers.dual_coordinate.dual_coordinate_solver import (
        DualCoordinate as DualCoordinate,
    )
    from drsvm.solvers.dual_coordinate.feature_working_set import (
        FeatureWorkingSet as FeatureWorkingSet,
    )
    from drsvm.solvers.incumbent import Incumbent
    from drsvm.solvers.interior_point.interior_point_solver import (
        InteriorPoint as InteriorPoint,
    )
    from drsvm.solvers.landmarks.landmark_solver import Landmarks as Landmarks
    from drsvm.solvers.leave_one_out import (
        MAX_FEATURES,
        can_leave_out,
        decisions_without,
    )
    from drsvm.solvers.many import solve_many as solve_many
    from drsvm.solvers.paper.admm.gs_admm import Admm as Admm
    from drsvm.solvers.paper.federated.federated_solver import Federated as Federated
    from drsvm.solvers.paper.incremental.run import Hybrid as Hybrid
    from drsvm.solvers.paper.incremental.run import Ippa as Ippa
    from drsvm.solvers.paper.incremental.run import Isg as Isg
    from drsvm.solvers.paper.proximal_steps import Pieces
    from drsvm.solvers.paper.proximal_steps import (
        ProximalBatchStep as ProximalBatchStep,
    )
    from drsvm.solvers.paper.proximal_steps import ProximalStep as ProximalStep
    from drsvm.solvers.paper.proximal_steps import (
        proximal_batch_step as proximal_batch_step,
    )
    from drsvm.solvers.paper.proximal_steps import proximal_step as proximal_step
    from drsvm.solvers.path.radius_max import is_useful
    from drsvm.solvers.path.radius_max import radius_max as radius_max
    from drsvm.solvers.path.radius_max import row_radius_max as row_radius_max
    from drsvm.solvers.path.radius_path import RadiusPath as RadiusPath
    from drsvm.solvers.path.radius_path import radius_path as radius_path
    from drsvm.solvers.selection import (
        choose,
        epoch_seconds,
        interior_point_pays,
        interior_point_seconds,
        system_size,
    )
    from drsvm.solvers.selection import make_solver as make_solver
    from drsvm.solvers.selection import solver_names as solver_names
    from drsvm.solvers.tiny_weights import without_rounding
else:
    __getattr__, __dir__, __all__ = lazy_names(__name__)
