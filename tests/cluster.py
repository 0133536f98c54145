"""A Dask cluster on this machine, and problems on it."""

import dask
import dask.array as da
import distributed
import numpy as np

from drsvm import Problem

N = 1000
D = 4
CUTS = (300, 1, 699)
BALL = {"radius": 0.05, "flip_cost": 1.0}


def new_cluster(**options):
    """Return a cluster of two processes; nothing leaves this machine."""
    settings = {
        "comm.timeouts.connect": "5s",
        "admin.log-format": "%(message)s",
        "worker.profile.enabled": False,
    }
    dask.config.set({f"distributed.{name}": value for name, value in settings.items()})
    given = {
        "n_workers": 2,
        "threads_per_worker": 1,
        "processes": True,
        "host": "127.0.0.1",
    }
    given["dashboard_address"] = "127.0.0.1:0"  # any free port
    return distributed.LocalCluster(silence_logs=60, **given | options)


def samples(n=N, seed=0):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.4, 1, -1)
    return rng.normal(size=(n, D)) + 0.6 * y[:, None], y


def on_cluster(X, y):
    return da.from_array(X, chunks=(CUTS, 2)), da.from_array(y, chunks=400)


def both(X=None, y=None, **ball):
    """Return the same problem on the cluster and in this process."""
    X, y = samples() if X is None else (X, y)
    return Problem(*on_cluster(X, y), **BALL | ball), Problem(X, y, **BALL | ball)
