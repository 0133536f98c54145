"""The paper's incremental methods (sections 2 and 3): ISG, IPPA and Hybrid.

`run` has their settings and runs, which are sequences of `phases`; `epochs` is one pass
over the rows, and `step_sizes` has the schemes. `block_fit` does the work of
`partial_fit`.
"""

from typing import TYPE_CHECKING

from drsvm.utils.lazy import lazy_names

# For other folders and for tests
if TYPE_CHECKING:
    from drsvm.solvers.paper.incremental.block_fit import BlockFit
    from drsvm.solvers.paper.incremental.epochs import MEMORY, Epochs
    from drsvm.solvers.paper.incremental.step_sizes import (
        SPAN,
        Cycles,
        Descent,
        Schedule,
    )
else:
    __getattr__, __dir__, __all__ = lazy_names(__name__)
