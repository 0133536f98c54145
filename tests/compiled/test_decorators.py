"""Rules for compiled functions, checked on their source, and their handling of read-only arrays."""

import ast
from pathlib import Path

import numpy as np
import pytest

import drsvm.compiled
from drsvm.compiled import epigraph

FOLDER = Path(drsvm.compiled.__file__).parent
TOOLS = ("__init__", "compiling", "decorators", "step_rules")
FILES = sorted(path for path in FOLDER.glob("*.py") if path.stem not in TOOLS)
COMPILERS = {
    "compiled",
    "njit",
    "jit",
    "vectorize",
    "guvectorize",
    "stencil",
    "cfunc",
    "jitclass",
}


def compiler_of(node):
    """Return the name of the compiler that a decorator or a call names, or None."""
    function = node.func if isinstance(node, ast.Call) else node
    if isinstance(function, ast.Attribute):
        name = function.attr
    else:
        name = getattr(function, "id", None)
    return name if name in COMPILERS else None


def decorator_fault(decorator):
    """Return what is wrong with a decorator, or None."""
    if compiler_of(decorator) is None:
        return None
    if compiler_of(decorator) != "compiled" or not isinstance(decorator, ast.Call):
        return "only @compiled(...)"
    for keyword in decorator.keywords:
        if keyword.arg == "parallel" and keyword.value.value:
            return "parallel=True breaks forked children"
    return None


def faults(tree):
    """Return (name, fault) for every violation of the rules for compiled functions."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            for decorator in node.decorator_list:
                fault = decorator_fault(decorator)
                if fault is not None:
                    found.append((node.name, fault))
        elif isinstance(node, ast.Assign) and any(
            compiler_of(part) for part in ast.walk(node.value)
        ):
            name = ast.unparse(node.targets[0])
            found.append((name, "compile with a decorator"))
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_functions_are_compiled_by_the_decorator_when_called(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert faults(tree) == []
    decorators = []
    for node in tree.body:
        decorators += getattr(node, "decorator_list", ())
    assert any(compiler_of(decorator) for decorator in decorators)


@pytest.mark.parametrize(
    ("decorator", "fault"),
    [
        ("@njit", "only @compiled(...)"),
        ("@numba.njit(cache=True)", "only @compiled(...)"),
        ("@numba.vectorize(cache=True)", "only @compiled(...)"),
        ("@compiled", "only @compiled(...)"),
        ("@compiled(parallel=True)", "parallel=True breaks forked children"),
        ("@compiled(fastmath=FAST)", None),
        ("@functools.cache", None),
    ],
)
def test_faulty_decorators_are_detected(decorator, fault):
    source = f"{decorator}\ndef f(x):\n    return x\n"
    assert faults(ast.parse(source)) == ([("f", fault)] if fault else [])


@pytest.mark.parametrize(
    "line", ["g = njit(f)", "g = compiled()(f)", "g = numba.njit(cache=True)"]
)
def test_compilation_without_a_decorator_is_detected(line):
    assert faults(ast.parse(line)) == [("g", "compile with a decorator")]


def test_compiled_functions_take_read_only_arrays():
    sizes = np.array([3.0, 1.0, 2.0])
    sizes.flags.writeable = False
    assert epigraph.threshold(sizes, 2.0, 0.0) == pytest.approx(1.5, rel=1e-15)
