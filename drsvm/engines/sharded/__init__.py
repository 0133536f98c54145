"""Rows in several shards, wherever these are.

A `shard` has its rows and their state, and replies to messages with values that can be
added; `sharded_rows`, and the `sharded_engine` for them, send `queries` to all shards
through a `coordinator`, which has the log of every run, so that a lost shard can repeat
it, and opens channels to single workers. Vectors stay in the shards, `quantiles` finds
quantiles by histograms, and `chunks` checks data chunk by chunk.
"""

from typing import TYPE_CHECKING

from drsvm.utils.lazy import lazy_names

# For other folders and for tests
if TYPE_CHECKING:
    from drsvm.engines.sharded.chunks import Chunk, Survey
    from drsvm.engines.sharded.coordinator import Coordinator, WorkerChannel, total
    from drsvm.engines.sharded.quantiles import MASS, MOMENT, Bins, Histogram, crossing
    from drsvm.engines.sharded.sharded_rows import ShardedRows
else:
    __getattr__, __dir__, __all__ = lazy_names(__name__)
