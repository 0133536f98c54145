"""Shards on a Dask cluster: `blocks` are its data, `coordinator` sends rounds, `channel` messages to single workers, `worker`
runs there, `rows` and `backend` are what a problem and an estimator see of it.
"""
