"""Shards on a Dask cluster.

`dask_blocks` are its data, `dask_coordinator` sends rounds and messages to single
workers, `dask_worker` runs there, and `dask_rows` and `dask_backend` are what a problem
and an estimator see.
"""
