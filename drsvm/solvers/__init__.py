"""`solve`, and the solvers by name."""

from typing import TYPE_CHECKING

from drsvm.solvers.selection import solver_classes
from drsvm.utils.lazy import lazy_names

if TYPE_CHECKING:
    from drsvm.solvers.api import solve as solve
    from drsvm.solvers.conic.conic_solver import Conic as Conic
    from drsvm.solvers.dual_coordinate.dual_coordinate_solver import (
        DualCoordinate as DualCoordinate,
    )
    from drsvm.solvers.dual_coordinate.feature_working_set import (
        FeatureWorkingSet as FeatureWorkingSet,
    )
    from drsvm.solvers.interior_point.interior_point_solver import (
        InteriorPoint as InteriorPoint,
    )
    from drsvm.solvers.landmarks.landmark_solver import Landmarks as Landmarks
    from drsvm.solvers.many import solve_many as solve_many
    from drsvm.solvers.paper.admm.gs_admm import Admm as Admm
    from drsvm.solvers.paper.federated.federated_solver import Federated as Federated
    from drsvm.solvers.paper.incremental.run import Hybrid as Hybrid
    from drsvm.solvers.paper.incremental.run import Ippa as Ippa
    from drsvm.solvers.paper.incremental.run import Isg as Isg
    from drsvm.solvers.paper.proximal_steps import (
        ProximalBatchStep as ProximalBatchStep,
    )
    from drsvm.solvers.paper.proximal_steps import ProximalStep as ProximalStep
    from drsvm.solvers.paper.proximal_steps import (
        proximal_batch_step as proximal_batch_step,
    )
    from drsvm.solvers.paper.proximal_steps import proximal_step as proximal_step
    from drsvm.solvers.path.radius_max import radius_max as radius_max
    from drsvm.solvers.path.radius_path import RadiusPath as RadiusPath
    from drsvm.solvers.path.radius_path import radius_path as radius_path
    from drsvm.solvers.selection import make_solver as make_solver
    from drsvm.solvers.selection import solver_names as solver_names
else:
    _NAMES = {
        ".api": "solve",
        ".many": "solve_many",
        ".paper.proximal_steps": "ProximalBatchStep ProximalStep proximal_batch_step proximal_step",
        ".path.radius_max": "radius_max",
        ".path.radius_path": "RadiusPath radius_path",
        ".selection": "make_solver solver_names",
    } | solver_classes()
    __getattr__, __dir__, __all__ = lazy_names(__name__, _NAMES)
