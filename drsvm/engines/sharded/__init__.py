"""Rows in several shards, wherever these are.

A `shard` has its rows and their state, and replies to messages with values that can be
added; `sharded_rows`, and the `sharded_engine` for them, send `queries` to all shards
through a `coordinator`, which has the log of every run, so that a lost shard can repeat
it, and opens channels to single workers. Vectors stay in the shards, `quantiles` finds
quantiles by histograms, and `chunks` checks data chunk by chunk.
"""
