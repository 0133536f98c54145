"""Compiles the CUDA kernels, the first time one is needed; CuPy keeps them on disk."""

from functools import cache

from drsvm.compiled.interior_point_sample import BINS
from drsvm.engines.gpu.cuda_translation import cuda_file, samples_source
from drsvm.engines.gpu.device import cupy

THREADS = 256  # threads of a block
MAX_BLOCKS = 2048  # A pass over more rows has blocks that take several times as many
_TYPES = {"float64": "double", "float32": "float"}

# How the samples are shared between threads.
LOOP = """#define FOR_EACH_SAMPLE(i, n) \\
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < (n); \\
         i += (long long)gridDim.x * blockDim.x)"""


def _templates() -> list[str]:
    """Return the templates to compile, each with all its parameters."""
    names = []
    for t in _TYPES.values():
        names += [f"dense_dot<{t}>", f"sparse_gram<{t}>", f"row_norms<{t}>"]
        names += [f"scale_rows<{t}, {scaled}>" for scaled in _TYPES.values()]
        names += [f"sparse_dot<{t}, {lanes}>" for lanes in (8, 32)]
        for k in (1, 2, 3):
            names += [f"dense_sums<{t}, {k}>", f"sparse_sums<{t}, {k}>"]
    return names


@cache
def _module():
    source = f"#define BINS {BINS}\n{samples_source(LOOP)}{cuda_file('kernels.cu')}"
    return cupy().RawModule(
        code=source, options=("--std=c++14",), name_expressions=_templates()
    )


def kernel(name: str, *types):
    """Return a kernel.

    A template is selected by the data types and numbers of its parameters.
    """
    if types:
        chosen = ", ".join(_TYPES.get(str(one), str(one)) for one in types)
        name = f"{name}<{chosen}>"
    return _module().get_function(name)


def blocks_for(n_threads: int) -> int:
    """Return the number of blocks for this many threads."""
    return max(1, min(-(-n_threads // THREADS), MAX_BLOCKS))


def launch(called, n_threads: int, *arguments) -> None:
    """Call a kernel in blocks for this many threads."""
    called((blocks_for(n_threads),), (THREADS,), arguments)
