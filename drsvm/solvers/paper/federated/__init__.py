"""Dual ascent on rows that stay on many machines, for problems with many features.

Vectors of length d travel, never a matrix. `federated_block` is what a machine does
with its rows, `global_ascent` what all of them know; `federated_solver` queries all
machines in rounds, or each one whenever it is ready.

References
----------
V. Smith, S. Forte, C. Ma, M. Takáč, M. I. Jordan, M. Jaggi, CoCoA: A General Framework
for Communication-Efficient Distributed Optimization, JMLR 18, 2018: blocks of rows that
improve their multipliers at the same time, each as if no other did.
"""

from typing import TYPE_CHECKING

from drsvm.utils.lazy import lazy_names

# For other folders and for tests
if TYPE_CHECKING:
    from drsvm.solvers.paper.federated.federated_block import Block, Work
    from drsvm.solvers.paper.federated.global_ascent import global_ascent_for
else:
    __getattr__, __dir__, __all__ = lazy_names(__name__)
