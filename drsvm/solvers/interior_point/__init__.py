"""The interior-point method, the default.

Each sample has a slack and three constraints, which compiled functions eliminate in
closed form; the norm adds a diagonal and a rank-one term; one symmetric system in
(w, b, λ) per iteration remains. An iteration takes three passes over the rows: the
predictor, the corrector's step lengths, and the move with curvature and Gram matrix at
the new point. Products of slacks and multipliers are aimed at μ·π_i, so that a doubled
weight equals a doubled row. Near the end rounding errors show up as a residual of the
dual equations; if a proof fails, the multipliers are offered again without it. A run
that breaks down restarts from another λ.

`interior_point_solver` has the settings, `state` the steps of a run, `small` takes them
in compiled code if there are few rows, `working_set` leaves out rows that need no
iterations, `starts` finds a first point, `cones` is the norm with costs and signs,
`newton` is the linear system.
"""

from typing import TYPE_CHECKING

from drsvm.utils.lazy import lazy_names

# For other folders and for tests
if TYPE_CHECKING:
    from drsvm.solvers.interior_point.cones import cone_at
    from drsvm.solvers.interior_point.newton import (
        OrthogonalSystem,
        TallSystem,
        WideSystem,
        newton_system,
        solve_system,
    )
    from drsvm.solvers.interior_point.small import SmallState, is_small
    from drsvm.solvers.interior_point.starts import (
        SUBSET,
        cold_starts,
        rows_to_begin_with,
        start_at,
    )
    from drsvm.solvers.interior_point.state import InteriorPointState
    from drsvm.solvers.interior_point.working_set import (
        Estimate,
        WorkingSetRun,
        WorkingSetState,
        pieces_at,
    )
else:
    __getattr__, __dir__, __all__ = lazy_names(__name__)
