"""Compiles the CUDA kernels, the first time one is needed; CuPy keeps them on disk."""

from functools import cache
from itertools import product
from pathlib import Path

from drsvm.engines.gpu.device import cupy
from drsvm.engines.gpu.translation import samples_in_cpp
from drsvm.kernels.interior_point import BINS

THREADS = 256
"""Threads of a block."""

MAX_BLOCKS = 2048
"""A pass over more rows has blocks that take several times as many."""

_TYPES = {"float64": "double", "float32": "float"}

_TEMPLATES = [
    *(f"dense_dot<{t}>" for t in _TYPES.values()),
    *(f"dense_sums<{t}, {k}>" for t, k in product(_TYPES.values(), (1, 2, 3))),
    *(f"scale_rows<{t}, {u}>" for t, u in product(_TYPES.values(), _TYPES.values())),
    *(f"sparse_dot<{t}, {lanes}>" for t, lanes in product(_TYPES.values(), (8, 32))),
    *(f"sparse_sums<{t}, {k}>" for t, k in product(_TYPES.values(), (1, 2, 3))),
    *(f"sparse_gram<{t}>" for t in _TYPES.values()),
    *(f"row_norms<{t}>" for t in _TYPES.values()),
]


LOOP = """#define FOR_EACH_SAMPLE(i, n) \\
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < (n); \\
         i += (long long)gridDim.x * blockDim.x)"""
"""How the samples are shared between threads."""


def samples_source(loop: str) -> str:
    """Return the mathematics of a sample in C++, with a macro for the loop over the samples."""
    return f"{loop}\nnamespace samples {{\n{_read('samples.cu')}\n{samples_in_cpp()}\n}}\n"


def _read(name: str) -> str:
    return (Path(__file__).parent / name).read_text(encoding="utf-8")


@cache
def _module():
    source = f"#define BINS {BINS}\n{samples_source(LOOP)}{_read('kernels.cu')}"
    return cupy().RawModule(code=source, options=("--std=c++14",), name_expressions=_TEMPLATES)


def kernel(name: str, *types):
    """Return a kernel; a template is selected by the data types and numbers of its parameters."""
    if types:
        chosen = ", ".join(_TYPES.get(str(one), str(one)) for one in types)
        name = f"{name}<{chosen}>"
    return _module().get_function(name)


def blocks_for(n_threads: int) -> int:
    """Return the number of blocks for so many threads."""
    return max(1, min(-(-n_threads // THREADS), MAX_BLOCKS))
