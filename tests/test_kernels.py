"""Rules for compiled kernels, checked on their source, and what they promise about arrays and caches."""

import ast
import textwrap
from pathlib import Path

import numpy as np
import pytest
from strategies import run_python

import drsvm.kernels
from drsvm.kernels import epigraph

FOLDER = Path(drsvm.kernels.__file__).parent
FILES = sorted(path for path in FOLDER.glob("*.py") if path.name != "__init__.py")
COMPILERS = {"njit", "jit", "vectorize", "guvectorize", "stencil", "generated_jit", "cfunc", "jitclass"}


def kernel_files_imported(tree):
    """Return what a file imports of drsvm.kernels.

    numba's cache looks at a kernel's own file only: after an upgrade, a cached kernel would go on running the old code
    of a kernel it calls in another file. So kernels that call each other live in one file.
    """
    imported = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imported += [alias.name for alias in node.names if alias.name.startswith("drsvm.kernels")]
        elif isinstance(node, ast.ImportFrom):
            module = "drsvm.kernels" * (node.level == 1) + "drsvm" * (node.level == 2) + "." * bool(node.level)
            module = (module + (node.module or "")).rstrip(".")
            names = [f"{module}.{alias.name}" for alias in node.names]
            imported += [name for name in names if name.startswith("drsvm.kernels")]
    return imported


def compiler_of(decorator):
    """Return the name of the numba compiler that a decorator calls, or None."""
    function = decorator.func if isinstance(decorator, ast.Call) else decorator
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", None)
    return name if name in COMPILERS else None


def decorator_faults(decorator):
    """Return what is wrong with a compiler's decorator."""
    if compiler_of(decorator) != "njit":
        return ["only njit"]
    if not isinstance(decorator, ast.Call):
        return ["cache=True is missing"]
    options = {keyword.arg: getattr(keyword.value, "value", None) for keyword in decorator.keywords}
    faults = []
    if options.get("cache") is not True:
        faults.append("cache=True is missing")
    if decorator.args or "signature_or_function" in options:
        faults.append("eager signatures refuse read-only arrays")
    if options.get("parallel"):
        faults.append("parallel=True breaks forked children")
    return faults


def kernel_faults(tree):
    """Return (name, fault) for every breach of the rules for compiled functions."""
    faults = []
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            compiled = [decorator for decorator in node.decorator_list if compiler_of(decorator)]
            faults += [(node.name, fault) for decorator in compiled for fault in decorator_faults(decorator)]
        elif isinstance(node, ast.Assign) and any(compiler_of(part) for part in ast.walk(node.value)):
            faults.append((ast.unparse(node.targets[0]), "compile with a decorator"))
    return faults


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_no_kernel_calls_one_in_another_file(path):
    assert kernel_files_imported(ast.parse(path.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_kernels_are_cached_and_compiled_when_called(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert kernel_faults(tree) == []
    assert any(compiler_of(decorator) for node in tree.body for decorator in getattr(node, "decorator_list", ()))


@pytest.mark.parametrize(
    "line",
    [
        "from drsvm.kernels import rows",
        "from drsvm.kernels.rows import dot",
        "from drsvm import kernels",
        "import drsvm.kernels.rows",
        "import drsvm.kernels.rows as r",
        "from . import rows",
        "from .rows import dot",
        "from ..kernels import rows",
        "def f():\n    from .rows import dot",
    ],
)
def test_imports_between_kernel_files_are_noticed(line):
    assert kernel_files_imported(ast.parse(line))


@pytest.mark.parametrize("line", ["import numpy as np", "from drsvm.norms import L1", "from ..norms import L1"])
def test_other_imports_are_allowed(line):
    assert kernel_files_imported(ast.parse(line)) == []


@pytest.mark.parametrize(
    ("decorator", "fault"),
    [
        ("@njit", "cache=True is missing"),
        ("@njit()", "cache=True is missing"),
        ("@numba.njit(cache=False)", "cache=True is missing"),
        ("@njit('float64(float64)', cache=True)", "eager signatures refuse read-only arrays"),
        ("@njit(cache=True, parallel=True)", "parallel=True breaks forked children"),
        ("@numba.vectorize(cache=True)", "only njit"),
        ("@njit(cache=True, nogil=True)", None),
        ("@functools.cache", None),
    ],
)
def test_faulty_decorators_are_noticed(decorator, fault):
    source = f"{decorator}\ndef f(x):\n    return x\n"
    assert kernel_faults(ast.parse(source)) == ([("f", fault)] if fault else [])


@pytest.mark.parametrize("line", ["g = njit(f)", "g = njit(cache=True)(f)", "g = numba.njit(cache=True)"])
def test_compilation_without_a_decorator_is_noticed(line):
    assert kernel_faults(ast.parse(line)) == [("g", "compile with a decorator")]


def test_kernels_take_read_only_arrays():
    sizes = np.array([3.0, 1.0, 2.0])
    sizes.flags.writeable = False
    assert epigraph.threshold(sizes, 2.0, 0.0) == pytest.approx(1.5, rel=1e-15)


def test_kernels_work_with_a_cache_elsewhere(tmp_path):
    """As where the package lies in a read-only folder: the cache goes to the folder that the user names."""
    code = """
    import numpy as np
    from drsvm.kernels import epigraph
    print(epigraph.l2_nearest(4.0, 0.0, 1.0))
    """
    printed = run_python(textwrap.dedent(code), timeout=120, NUMBA_CACHE_DIR=str(tmp_path))
    assert printed.strip() == "(2.0, 2.0)"
    assert list(tmp_path.rglob("*.nbi"))


SAMPLES = np.random.default_rng(0).standard_normal((20, 2, 5))


@pytest.mark.parametrize("ball", [-1.0, 0.7], ids=["free level", "held level"])
@pytest.mark.parametrize("line", epigraph.LINES, ids=["hinge", "flipped", "mixed", "mostly hinge", "inside"])
@pytest.mark.parametrize("q", [epigraph.ONE, epigraph.TWO, epigraph.INFINITY])
def test_slopes_of_the_proximal_step_are_derivatives(q, line, ball):
    """The step's equations are solved also with wrong slopes, only slowly: so these are compared with differences."""

    def point_at(t):
        delta, sigma2 = line.delta + line.delta_slope * t, line.sigma2 + line.sigma2_slope * t
        return epigraph._evaluate(q, ball, sample, line, delta, sigma2)

    t, h = 0.2, 1e-6
    for w, z in SAMPLES:
        sample = epigraph.make_sample(w, z, 0.3, 0.1, 1.0, 0.8, 1.5, 1.2)
        before, point, after = point_at(t - h), point_at(t), point_at(t + h)
        assert (after.margin - before.margin) / (2 * h) == pytest.approx(point.margin_slope, rel=1e-6, abs=1e-8)
        if ball < 0:
            assert (after.level - before.level) / (2 * h) == pytest.approx(point.level_slope, rel=1e-6, abs=1e-8)
