"""A Dask cluster on this machine."""

import dask
import distributed


def new_cluster(**options):
    """Return a cluster of two processes; nothing leaves this machine."""
    dask.config.set({"distributed.comm.timeouts.connect": "5s", "distributed.admin.log-format": "%(message)s"})
    given = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None, "host": "127.0.0.1"}
    return distributed.LocalCluster(silence_logs=60, **given | options)
