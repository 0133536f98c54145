"""Where the rows are, and what the interior point needs of them.

`engine` is the protocol and `cpu` the engine of this machine's cores, which forms Gram
`matrices` or, with few rows, those of the rows; one for a working set leaves rows out,
and `newton` assembles the equations. Other places register here: a backend takes X of
some libraries, its rows implement `problem/rows.py`, and its engine works where they
are. `sharded` is for rows in several places, `dask` and `gpu` for a cluster and a
graphics card.
"""

from drsvm.problem.backends import register

register(
    ("dask", "distributed"), "dask", "drsvm.engines.dask.dask_backend", "DaskBackend"
)
register(("cupy", "cupyx"), "gpu", "drsvm.engines.gpu.gpu_backend", "GpuBackend")
