"""Where the rows are, and what the interior point needs of them.

`engine` is the protocol and `cpu` the engine of this machine's cores. Other places register here: a backend takes X of
some libraries, its rows implement `model/rows.py`, and its engine works where they are.
"""

from drsvm.model.backends import Backend, register


def _dask() -> Backend:
    from drsvm.engines.dask.backend import DaskBackend

    return DaskBackend()


def _gpu() -> Backend:
    from drsvm.engines.gpu.backend import GpuBackend

    return GpuBackend()


register(("dask", "distributed"), "dask", _dask)
register(("cupy", "cupyx"), "gpu", _gpu)
