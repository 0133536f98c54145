"""The cache of compiled code, in separate processes: code of another version is never run. What Python may be given."""

import importlib
import json
import os
import pkgutil
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from numba import types
from thorough import unless_long

import drsvm
import drsvm.compiled
from drsvm.compile import compile_exact_methods, compile_incremental_methods
from drsvm.compiled.compiling import NOTICE
from drsvm.compiled.decorators import CompiledFunction

NEIGHBOUR = """
from drsvm.compiled.decorators import compiled

@compiled()
def factor():
    return {factor}
"""

PROBE = """
from drsvm.compiled.decorators import compiled
from drsvm.compiled.neighbour import factor

@compiled()
def scaled(x):
    return factor() * x
"""

CHILD = """
import json, logging, time
from drsvm.utils.clock import pauses
from drsvm.utils.progress import following
logging.basicConfig(level=logging.INFO, format="%(levelname)s")
messages = []
with following(message=messages.append):
    from drsvm.compiled.probe import scaled
    values = [scaled(3.0), scaled(3)]
assert pauses.now() < time.perf_counter()  # for compiling and for loading
compiled = sum(scaled.dispatcher.stats.cache_misses.values())
print(json.dumps({"values": values, "compiled": compiled, "messages": messages}))
"""

CACHED = {"values": [6.0, 6.0], "compiled": 0, "messages": []}


@pytest.fixture
def site(tmp_path):
    """Return a folder with the package, two small functions in it, and their compiled code beside them."""
    site = tmp_path / "site"
    shutil.copytree(
        Path(drsvm.__file__).parent,
        site / "drsvm",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    (site / "drsvm/compiled/probe.py").write_text(PROBE)
    (site / "drsvm/compiled/neighbour.py").write_text(NEIGHBOUR.format(factor=2.0))
    assert run(site) == {"values": [6.0, 6.0], "compiled": 2, "messages": [NOTICE]}
    return site


def started(site, **variables):
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("NUMBA")
    }
    # A file that is rewritten within a second would not be read again
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    environment["PYTHONPATH"] = str(site)
    for name, value in variables.items():
        environment[name] = str(value)
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", CHILD],
        cwd=site,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finished(child):
    out, err = child.communicate(timeout=120)
    assert child.returncode == 0, err
    return json.loads(out)


def run(site, **variables):
    return finished(started(site, **variables))


def block(site):
    """Put a file where the cache's folder is expected, which stops even the superuser."""
    cache = site / "drsvm/compiled/__pycache__"
    shutil.rmtree(cache)
    cache.write_text("no folder")


@pytest.mark.thorough
def test_a_second_process_compiles_nothing_and_shows_no_notice(site):
    assert run(site) == CACHED


@pytest.mark.thorough
def test_a_change_in_another_file_is_noticed(site):
    neighbour = site / "drsvm/compiled/neighbour.py"
    before = neighbour.read_text()
    neighbour.write_text(NEIGHBOUR.format(factor=5.0))
    assert run(site)["values"] == [15.0, 15.0]
    assert run(site) == {**CACHED, "values": [15.0, 15.0]}
    neighbour.write_text(before)
    assert run(site)["values"] == [6.0, 6.0]


@pytest.mark.thorough
def test_two_processes_with_an_empty_cache(site):
    shutil.rmtree(site / "drsvm/compiled/__pycache__")
    both = [started(site), started(site)]
    assert [finished(child)["values"] for child in both] == [[6.0, 6.0]] * 2
    assert run(site)["compiled"] == 0


@pytest.mark.thorough
@pytest.mark.parametrize(
    "variable", unless_long(["XDG_CACHE_HOME"], ["XDG_CACHE_HOME", "NUMBA_CACHE_DIR"])
)
def test_a_read_only_package_is_cached_elsewhere(site, tmp_path, variable):
    block(site)
    elsewhere = {variable: tmp_path / "elsewhere"}
    assert run(site, **elsewhere)["compiled"] == 2
    assert run(site, **elsewhere)["compiled"] == 0
    assert list((tmp_path / "elsewhere").rglob("*.nbi"))


@pytest.mark.thorough
def test_without_a_writable_folder_functions_work_and_a_warning_is_logged(
    site, tmp_path
):
    block(site)
    (tmp_path / "file").write_text("no folder")
    found = run(site, HOME=tmp_path / "file", XDG_CACHE_HOME=tmp_path / "file/cache")
    assert found["values"] == [6.0, 6.0]
    assert "cannot be cached" in found["messages"][0]


def is_plain(kind):
    """Return whether numba makes Python objects of a returned value without running Python code."""
    if isinstance(kind, types.Tuple | types.UniTuple):
        return all(is_plain(part) for part in kind)
    return isinstance(kind, types.Number | types.Boolean | types.NoneType)


def functions_for_python():
    """Return all compiled functions that Python may call, by name."""
    found = {}
    for module in pkgutil.iter_modules(drsvm.compiled.__path__, "drsvm.compiled."):
        for name, value in vars(importlib.import_module(module.name)).items():
            if isinstance(value, CompiledFunction) and not value.inner:
                found[f"{module.name}.{name}"] = value.dispatcher
    return found


def test_python_is_given_numbers_and_tuples_of_them_only():
    """To make an array or a named tuple for Python, numba runs Python code.

    A Ctrl-C that is pending then raises KeyboardInterrupt, which numba does not expect:
    the process ends with a segmentation fault.
    """
    compile_exact_methods()
    compile_incremental_methods()
    checked = 0
    for name, function in functions_for_python().items():
        for signature in function.nopython_signatures:
            assert is_plain(signature.return_type), (name, signature)
            checked += 1
    assert checked > 50


@pytest.mark.parametrize(
    ("kind", "plain"),
    [
        (types.float64, True),
        (types.Tuple([types.int64, types.UniTuple(types.float64, 2)]), True),
        (types.Array(types.float64, 1, "C"), False),
        (types.Tuple([types.int64, types.Array(types.float64, 1, "C")]), False),
    ],
)
def test_arrays_are_not_plain(kind, plain):
    assert is_plain(kind) == plain
