"""Dual ascent on rows that stay on many machines, for many features: vectors of length d travel, never a matrix.

`block` is what a machine does with its rows, `shared` what all of them know; `solver`
queries all machines in rounds or whenever one is ready.
"""

from typing import TYPE_CHECKING

from drsvm.utils.lazy import lazy_names

# For other folders and for tests
if TYPE_CHECKING:
    from drsvm.solvers.paper.federated.federated_block import Block, Work
    from drsvm.solvers.paper.federated.global_ascent import global_ascent_for
else:
    __getattr__, __dir__, __all__ = lazy_names(__name__)
