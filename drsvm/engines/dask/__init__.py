"""Shards on a Dask cluster.

`blocks` are its data, `coordinator` sends rounds and messages to single workers,
`worker` runs there, and `rows` and `backend` are what a problem and an estimator see.
"""
