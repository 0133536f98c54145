"""The paper's incremental methods: `run` has their settings and runs, which are sequences of `phases`.

`epochs` is one pass over the rows, `step_sizes` are the schemes; `block_fit` is
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
