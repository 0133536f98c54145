"""Rules for compiled kernels, checked on their source, and their handling of read-only arrays."""

import ast
from pathlib import Path

import numpy as np
import pytest

import drsvm.compiled
from drsvm.compiled import epigraph

FOLDER = Path(drsvm.compiled.__file__).parent
TOOLS = ("__init__", "compiling", "linked_code", "sealed_cache", "step_rules")
FILES = sorted(path for path in FOLDER.glob("*.py") if path.stem not in TOOLS)
COMPILERS = {
    "kernel",
    "njit",
    "jit",
    "vectorize",
    "guvectorize",
    "stencil",
    "generated_jit",
    "cfunc",
    "jitclass",
}


def compiler_of(decorator):
    """Return the name of the numba compiler that a decorator calls, or None."""
    function = decorator.func if isinstance(decorator, ast.Call) else decorator
    name = (
        function.attr
        if isinstance(function, ast.Attribute)
        else getattr(function, "id", None)
    )
    return name if name in COMPILERS else None


def decorator_faults(decorator):
    """Return what is wrong with a compiler's decorator."""
    if compiler_of(decorator) != "kernel" or not isinstance(decorator, ast.Call):
        return ["only @kernel(...)"]
    options = {
        keyword.arg: getattr(keyword.value, "value", None)
        for keyword in decorator.keywords
    }
    return ["parallel=True breaks forked children"] if options.get("parallel") else []


def kernel_faults(tree):
    """Return (name, fault) for every violation of the rules for compiled functions."""
    faults = []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            compiled = [
                decorator for decorator in node.decorator_list if compiler_of(decorator)
            ]
            faults += [
                (node.name, fault)
                for decorator in compiled
                for fault in decorator_faults(decorator)
            ]
        elif isinstance(node, ast.Assign) and any(
            compiler_of(part) for part in ast.walk(node.value)
        ):
            faults.append((ast.unparse(node.targets[0]), "compile with a decorator"))
    return faults


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_kernels_are_compiled_by_the_decorator_when_called(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert kernel_faults(tree) == []
    assert any(
        compiler_of(decorator)
        for node in tree.body
        for decorator in getattr(node, "decorator_list", ())
    )


@pytest.mark.parametrize(
    ("decorator", "fault"),
    [
        ("@njit", "only @kernel(...)"),
        ("@numba.njit(cache=True)", "only @kernel(...)"),
        ("@numba.vectorize(cache=True)", "only @kernel(...)"),
        ("@kernel", "only @kernel(...)"),
        ("@kernel(parallel=True)", "parallel=True breaks forked children"),
        ("@kernel(fastmath=FAST)", None),
        ("@functools.cache", None),
    ],
)
def test_faulty_decorators_are_detected(decorator, fault):
    source = f"{decorator}\ndef f(x):\n    return x\n"
    assert kernel_faults(ast.parse(source)) == ([("f", fault)] if fault else [])


@pytest.mark.parametrize(
    "line", ["g = njit(f)", "g = kernel()(f)", "g = numba.njit(cache=True)"]
)
def test_compilation_without_a_decorator_is_detected(line):
    assert kernel_faults(ast.parse(line)) == [("g", "compile with a decorator")]


def test_kernels_take_read_only_arrays():
    sizes = np.array([3.0, 1.0, 2.0])
    sizes.flags.writeable = False
    assert epigraph.threshold(sizes, 2.0, 0.0) == pytest.approx(1.5, rel=1e-15)
