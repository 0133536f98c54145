"""Compiles CUDA kernels when one of a kind is needed; CuPy keeps them on disk.

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
SHORT_ROWS = 8  # threads for each row if rows have few entries
# Columns of dense rows that a thread adds up: what it reads for a row serves them all
COLUMNS = 4
_TYPES = {"float64": "double", "float32": "float"}
# What rows are scaled to; numpy, which has no bfloat16, knows it by its bits.
_SCALED_TYPES = {"float64": "double", "uint16": "bfloat16"}

# The loop over the samples: neighbouring threads take neighbouring samples, whose
# numbers are read together, and go on by the number of all threads.
LOOP = """#define FOR_EACH_SAMPLE(i, n) \\
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < (n); \\
         i += (long long)gridDim.x * blockDim.x)"""


def _templates(kind: str, t: str) -> list[str]:
    """Return the templates of a module, each with all its parameters.

    After the type of the rows come that of scaled rows, the number of threads for each
    row, or the number of sums.
    """
    if kind == "plain":
        return [f"row_norms<{each}>" for each in _TYPES.values()]
    names = [f"dot<{t}, {lanes}>" for lanes in (SHORT_ROWS, WARP)]
    names += [f"sums<{t}, {k}>" for k in (1, 2, 3)]
    if kind == "sparse":
        names.append(f"gram<{t}>")
    else:
        names.append(f"squares<{t}>")
        names += [f"scale<{t}, {u}>" for u in _SCALED_TYPES.values()]
    return [f"{kind}_{name}" for name in names]


@cache
def _module(kind: str, t: str):
    """Return a compiled module of CuPy: kernels for dense or sparse rows, or others.

    Each is compiled when it is needed, because that takes a second or two.
    """
    constants = f"#define BINS {BINS}\n#define COLUMNS {COLUMNS}"
    if kind == "plain":
        constants += "\n#define PLAIN"
    source = "\n".join([constants, samples_source(LOOP), cuda_file("kernels.cu")])
    return cupy().RawModule(
        code=source,
        options=("--std=c++14",),
        name_expressions=_templates(kind, t),
    )


def kernel(name: str, *types):
    """Return a kernel or, with types, that of a template for these parameters.

    The parameters are types of data and numbers (`_templates`).
    """
    known = _TYPES | _SCALED_TYPES
    chosen = [known.get(str(one), str(one)) for one in types]
    kind = name.partition("_")[0]
    if kind in ("dense", "sparse"):
        module = _module(kind, chosen[0])
    else:
        module = _module("plain", "")
    if chosen:
        name = f"{name}<{', '.join(chosen)}>"
    return module.get_function(name)


def blocks_for(n_threads: int) -> int:
    """Return the number of blocks for this many threads, up to the most there are."""
    blocks = math.ceil(n_threads / THREADS)
    return max(1, min(blocks, MAX_BLOCKS))


def launch(called, n_threads: int, *arguments) -> None:
    """Call a kernel in blocks for this many threads."""
    called((blocks_for(n_threads),), (THREADS,), arguments)
