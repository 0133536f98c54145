"""Where the rows are, and what the interior point needs of them.

`engine` is the protocol and `cpu` the engine of this machine's cores, which forms Gram
`matrices` or, with few rows, those of the rows; one for a working set leaves rows out,
and `newton` assembles the equations. Other places register here: a backend takes X of
some libraries, its rows implement `problem/rows.py`, and its engine works where they
are. `sharded` is for rows in several places, `dask` and `gpu` for a cluster and a
graphics card.
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
