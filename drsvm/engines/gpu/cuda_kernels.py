"""Compiles the CUDA kernels, the first time one is needed; CuPy keeps them on disk.

The mathematics of a sample is that of `compiled/interior_point_sample.py`, translated
to C++. The functions there do arithmetic with numbers and entries of arrays, and have
one loop over the samples. C++ takes them almost as they are: rows of arrays are objects
with the same indices (`samples.cu`), several values that a function returns are an
object too, and every thread has its share of the loop.
"""

import ast
import inspect
from functools import cache
from itertools import count, product
from pathlib import Path
from typing import Any

from drsvm.compiled import interior_point_sample as interior_point
from drsvm.compiled.interior_point_sample import BINS
from drsvm.engines.gpu.device import cupy

THREADS = 256  # threads of a block
MAX_BLOCKS = 2048  # A pass over more rows has blocks that take several times as many
_TYPES = {"float64": "double", "float32": "float"}
_TEMPLATES = [
    *(
        f"{name}<{t}>"
        for name, t in product(
            ("dense_dot", "sparse_gram", "row_norms"), _TYPES.values()
        )
    ),
    *(
        f"{name}<{t}, {k}>"
        for name, t, k in product(
            ("dense_sums", "sparse_sums"), _TYPES.values(), (1, 2, 3)
        )
    ),
    *(f"scale_rows<{t}, {u}>" for t, u in product(_TYPES.values(), _TYPES.values())),
    *(f"sparse_dot<{t}, {lanes}>" for t, lanes in product(_TYPES.values(), (8, 32))),
]

# The functions to translate, each after those that it calls.
KERNELS = """
    _ratios _direction center curvature _moderate _right_hand_side predict _corrected longest_steps _share_kept
    move sides
"""
OPERATORS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.USub: "-"}
OPERATORS |= {
    ast.And: "&&",
    ast.Or: "||",
    ast.Not: "!",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Lt: "<",
    ast.LtE: "<=",
}

# How the samples are shared between threads.
LOOP = """#define FOR_EACH_SAMPLE(i, n) \\
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < (n); \\
         i += (long long)gridDim.x * blockDim.x)"""


def samples_source(loop: str) -> str:
    """Return the mathematics of a sample in C++, with a macro for the loop over the samples."""
    tree = ast.parse(inspect.getsource(interior_point))
    functions = {
        node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)
    }
    translated = "\n\n".join(
        _Function(functions[name]).source for name in KERNELS.split()
    )
    return f"{loop}\nnamespace samples {{\n{_read('samples.cu')}\n{translated}\n}}\n"


def _read(name: str) -> str:
    return (Path(__file__).parent / name).read_text(encoding="utf-8")


@cache
def _module():
    source = f"#define BINS {BINS}\n{samples_source(LOOP)}{_read('kernels.cu')}"
    return cupy().RawModule(
        code=source, options=("--std=c++14",), name_expressions=_TEMPLATES
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
    """Return the number of blocks for so many threads."""
    return max(1, min(-(-n_threads // THREADS), MAX_BLOCKS))


def launch(called, n_threads: int, *arguments) -> None:
    """Call a kernel in blocks for so many threads."""
    called((blocks_for(n_threads),), (THREADS,), arguments)


class _Function:
    def __init__(self, node: ast.FunctionDef):
        names = [argument.arg for argument in node.args.args]
        self.known = set(names)
        self.numbers = count()
        types = ", ".join(f"class T{k}" for k in range(len(names)))
        arguments = ", ".join(f"T{k} {name}" for k, name in enumerate(names))
        body = node.body[1:] if ast.get_docstring(node) else node.body
        lines = "\n".join(map(self._statement, body))
        self.source = f"template <{types}>\n__device__ auto {node.name}({arguments}) {{\n{lines}\n}}"

    def _statement(self, node: Any) -> str:
        return getattr(self, f"_{type(node).__name__.lower()}")(node)

    def _return(self, node) -> str:
        if not isinstance(node.value, ast.Tuple):
            return f"return {self._value(node.value)};"
        values = list(map(self._value, node.value.elts))
        return f"return Values<{len(values)}>{{{{{', '.join(values)}}}}};"

    def _for(self, node) -> str:
        [end] = node.iter.args
        before = set(self.known)
        self.known.add(node.target.id)
        body = "\n".join(map(self._statement, node.body))
        self.known = before
        if isinstance(end, ast.Constant):
            return f"for (int {node.target.id} = 0; {node.target.id} < {end.value}; {node.target.id}++) {{\n{body}\n}}"
        return f"FOR_EACH_SAMPLE({node.target.id}, tile.n) {{\n{body}\n}}"

    def _if(self, node) -> str:
        # A name that is new inside of a branch would be unknown behind it in C++.
        before = set(self.known)
        yes = "\n".join(map(self._statement, node.body))
        no = "\n".join(map(self._statement, node.orelse))
        if self.known != before:
            new = ", ".join(sorted(self.known - before))
            raise TypeError(f"{new} must have a value before the condition")
        return f"if ({self._value(node.test)}) {{\n{yes}\n}} else {{\n{no}\n}}"

    def _augassign(self, node) -> str:
        return (
            f"{node.target.id} {OPERATORS[type(node.op)]}= {self._value(node.value)};"
        )

    def _assign(self, node) -> str:
        target = node.targets[0]
        value = node.value
        if not isinstance(
            target, ast.Tuple
        ):  # there are several targets in a = b = 0.0
            return "\n".join(self._set(one, self._value(value)) for one in node.targets)
        if isinstance(value, ast.Name):  # the fields of a tile
            fresh = []
            parts = [f"{value.id}.{name}" for name in interior_point.Tile._fields]
        elif isinstance(value, ast.Tuple):  # all values come first
            fresh = parts = [f"t{next(self.numbers)}" for _ in value.elts]
        else:
            fresh = [f"t{next(self.numbers)}"]
            parts = [f"{fresh[0]}.at[{k}]" for k in range(len(target.elts))]
        if isinstance(value, ast.Tuple):
            values = value.elts
        else:
            values = [value]
        lines = [
            f"auto {name} = {self._value(one)};"
            for name, one in zip(fresh, values, strict=False)
        ]
        return "\n".join([*lines, *map(self._set, target.elts, parts)])

    def _set(self, target: Any, value: str) -> str:
        """Return an assignment, which declares a name that is new."""
        if isinstance(target, ast.Subscript):
            return f"{self._value(target.value)}.set({self._index(target)}, {value});"
        if target.id == "_":
            return ""
        declared = target.id in self.known
        self.known.add(target.id)
        return f"{'' if declared else 'auto '}{target.id} = {value};"

    def _value(self, node: Any) -> str:
        match node:
            case ast.Constant():
                return repr(node.value)
            case ast.Name():
                constant = getattr(interior_point, node.id, None)
                if node.id in self.known or not isinstance(constant, float):
                    return node.id
                return repr(constant)
            case ast.Attribute():
                return f"{self._value(node.value)}.{node.attr}"
            case ast.Subscript():
                return f"{self._value(node.value)}({self._index(node)})"
            case ast.Call():
                return f"{self._value(node.func)}({', '.join(map(self._value, node.args))})"
            case ast.UnaryOp():
                return f"({OPERATORS[type(node.op)]}{self._value(node.operand)})"
            case ast.BinOp():
                return f"({self._value(node.left)} {OPERATORS[type(node.op)]} {self._value(node.right)})"
            case ast.Compare():
                return f"({self._value(node.left)} {OPERATORS[type(node.ops[0])]} {self._value(node.comparators[0])})"
            case ast.BoolOp():
                return f"({f' {OPERATORS[type(node.op)]} '.join(map(self._value, node.values))})"
            case ast.IfExp():
                return f"({self._value(node.test)} ? {self._value(node.body)} : {self._value(node.orelse)})"
        raise TypeError(f"{ast.unparse(node)} cannot be translated to C++")

    def _index(self, node) -> str:
        place = node.slice
        return ", ".join(
            map(self._value, place.elts if isinstance(place, ast.Tuple) else [place])
        )
