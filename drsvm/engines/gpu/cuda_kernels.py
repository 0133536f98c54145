"""Compiles the CUDA kernels, the first time one is needed; CuPy keeps them on disk.

A kernel runs in blocks of threads, and a block in warps of threads, which can exchange
numbers without memory.
"""

import math
from functools import cache

from drsvm.compiled.interior_point_sample import BINS
from drsvm.engines.gpu.cuda_translation import cuda_file, samples_source
from drsvm.engines.gpu.device import cupy

THREADS = 256  # threads of a block
WARP = 32  # threads of a warp: what a GPU runs at a time
# Blocks of a launch: with more samples than threads, each thread takes several, so that
# there are few sums of blocks to add
MAX_BLOCKS = 2048
SHORT_ROWS = 8  # threads for each sparse row if rows have few entries
_TYPES = {"float64": "double", "float32": "float"}
# What rows are scaled to; numpy, which has no bfloat16, knows it by its bits.
_SCALED_TYPES = {"float64": "double", "uint16": "bfloat16"}

# The loop over the samples: neighbouring threads take neighbouring samples, whose
# numbers are read together, and go on by the number of all threads.
LOOP = """#define FOR_EACH_SAMPLE(i, n) \\
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < (n); \\
         i += (long long)gridDim.x * blockDim.x)"""


def _templates() -> list[str]:
    """Return the templates to compile, each with all its parameters.

    These are the type of the rows, and then that of scaled rows, the number of threads
    for each row, or the number of sums.
    """
    names = []
    for t in _TYPES.values():
        names += [f"dense_dot<{t}>", f"sparse_gram<{t}>", f"row_norms<{t}>"]
        names += [f"scale_rows<{t}, {u}>" for u in _SCALED_TYPES.values()]
        names += [f"sparse_dot<{t}, {SHORT_ROWS}>", f"sparse_dot<{t}, {WARP}>"]
        for k in (1, 2, 3):
            names += [f"dense_sums<{t}, {k}>", f"sparse_sums<{t}, {k}>"]
    return names


@cache
def _module():
    """Return the compiled module of CuPy, with all kernels."""
    bins = f"#define BINS {BINS}"
    source = "\n".join([bins, samples_source(LOOP), cuda_file("kernels.cu")])
    return cupy().RawModule(
        code=source,
        options=("--std=c++14",),
        name_expressions=_templates(),
    )


def kernel(name: str, *types):
    """Return a kernel or, with types, that of a template for these parameters.

    The parameters are types of data and numbers (`_templates`).
    """
    if types:
        known = _TYPES | _SCALED_TYPES
        chosen = ", ".join(known.get(str(one), str(one)) for one in types)
        name = f"{name}<{chosen}>"
    return _module().get_function(name)


def blocks_for(n_threads: int) -> int:
    """Return the number of blocks for this many threads, up to the most there are."""
    blocks = math.ceil(n_threads / THREADS)
    return max(1, min(blocks, MAX_BLOCKS))


def launch(called, n_threads: int, *arguments) -> None:
    """Call a kernel in blocks for this many threads."""
    called((blocks_for(n_threads),), (THREADS,), arguments)
