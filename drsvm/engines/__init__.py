"""Where the rows are, and what the interior point needs of them.

An engine has the rows and the state of every sample, and returns sums over them:
`engine` is the protocol, `cpu` the engine of this machine's cores. `matrices` are its
ways to form Gram matrices, and `newton_matrix` has the equations of a step.

Other places for rows register here. A place has a backend, which takes X of some
libraries, rows, which implement `problem/rows.py`, and an engine, which works where
they are. `sharded` is for rows in several places, `dask` for those on a cluster, and
`gpu` for a GPU.
"""

from typing import TYPE_CHECKING

from drsvm.problem.backends import register
from drsvm.utils.lazy import lazy_names

register(
    ("dask", "distributed"), "dask", "drsvm.engines.dask.dask_backend", "DaskBackend"
)
register(("cupy", "cupyx"), "gpu", "drsvm.engines.gpu.gpu_backend", "GpuBackend")

# For other folders and for tests
if TYPE_CHECKING:
    from drsvm.engines.cpu import (
        CpuEngine,
        WorkingSetEngine,
        engine_for,
        is_wide,
        room_for,
    )
    from drsvm.engines.dask.dask_backend import DaskBackend
    from drsvm.engines.dask.dask_coordinator import DaskChannel, DaskCoordinator
    from drsvm.engines.engine import Steps
    from drsvm.engines.matrices import (
        DENSE_FROM,
        BlasMatrices,
        OwnMatrices,
        SharedMatrix,
        WideRows,
        in_fastest_form,
        matrices_for,
    )
    from drsvm.engines.newton_matrix import Curvature, Scaling
else:
    __getattr__, __dir__, __all__ = lazy_names(__name__)
