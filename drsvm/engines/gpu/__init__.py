"""Rows on a GPU.

`gpu_backend` brings data there, `gpu_rows` are products and Gram matrices, `streaming`
is for too many rows, and `gpu_engine` is the interior point. `cuda_kernels` compiles
`kernels.cu`, which has sums and products, together with the mathematics of a sample, to
which `cuda_translation` gives the form of C++.
"""

from typing import TYPE_CHECKING

from drsvm.utils.lazy import lazy_names

# For other folders and for tests
if TYPE_CHECKING:
    from drsvm.engines.gpu.cuda_translation import samples_source
    from drsvm.engines.gpu.device import GpuError, cupy
else:
    __getattr__, __dir__, __all__ = lazy_names(__name__)
