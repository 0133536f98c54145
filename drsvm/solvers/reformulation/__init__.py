"""Problems in other coordinates, with a way there and a way back.

`reformulation` has the common interface. `shifted_columns` moves columns far from 0,
`span_of_rows` makes few wide rows narrow, and `costs_as_columns` turns costs into
columns, for methods without cones; `constant` has the optimum where flips cost nothing.
"""

from typing import TYPE_CHECKING

from drsvm.utils.lazy import lazy_names

# For other folders and for tests
if TYPE_CHECKING:
    from drsvm.solvers.reformulation.costs_as_columns import (
        CostsAsColumns,
        with_constant,
    )
    from drsvm.solvers.reformulation.span_of_rows import SpanOfRows, in_span_of_rows
else:
    __getattr__, __dir__, __all__ = lazy_names(__name__)
