"""The kernel cache, in separate processes: stale, truncated, damaged or mixed-up code is recompiled."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from thorough import unless_long

import drsvm
from drsvm.compiled.compiling import NOTICE, kernel

NEIGHBOUR = """
from drsvm.compiled.compiling import kernel

@kernel()
def factor():
    return {factor}
"""

PROBE = """
from drsvm.compiled.compiling import kernel
from drsvm.compiled.neighbour import factor

@kernel()
def scaled(x):
    return factor() * x
"""

CHILD = """
import json, logging, time
from drsvm.utils.clock import pauses
from drsvm.utils.progress import following
logging.basicConfig(level=logging.INFO, format="%(levelname)s")
told = []
with following(message=told.append):
    from drsvm.compiled.probe import scaled
    values = [scaled(3.0), scaled(3)]
assert pauses.now() < time.perf_counter()  # for compiling and for loading
print(json.dumps({"values": values, "compiled": sum(scaled.stats.cache_misses.values()), "told": told}))
"""


@pytest.fixture(scope="module")
def compiled_package(tmp_path_factory):
    """Return a folder with the package, two small kernels in it, and their compiled code beside them."""
    site = tmp_path_factory.mktemp("compiled")
    shutil.copytree(
        Path(drsvm.__file__).parent,
        site / "drsvm",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    (site / "drsvm/compiled/probe.py").write_text(PROBE)
    (site / "drsvm/compiled/neighbour.py").write_text(NEIGHBOUR.format(factor=2.0))
    assert run(site) == {"values": [6.0, 6.0], "compiled": 2, "told": [NOTICE]}
    return site


@pytest.fixture
def site(compiled_package, tmp_path):
    """Return a copy of the package with its compiled code."""
    return shutil.copytree(compiled_package, tmp_path / "site")


def started(site, code=CHILD, **variables):
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("NUMBA")
    }
    # A file that is rewritten within a second would not be read again
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    environment |= {
        "PYTHONPATH": str(site),
        **{name: str(value) for name, value in variables.items()},
    }
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", code], cwd=site, env=environment, **pipes
    )


def finished(child):
    out, err = child.communicate(timeout=120)
    assert child.returncode == 0, err
    return json.loads(out)


def run(site, code=CHILD, **variables):
    return finished(started(site, code, **variables))


def stored(folder, pattern):
    files = sorted(Path(folder).rglob(pattern))
    assert files
    return files


def block(site):
    """Put files where numba expects folders, which stops even the superuser."""
    cache = site / "drsvm/compiled/__pycache__"
    shutil.rmtree(cache)
    cache.write_text("no folder")


@pytest.mark.thorough
def test_a_second_process_compiles_nothing_and_is_told_nothing(site):
    assert run(site) == {"values": [6.0, 6.0], "compiled": 0, "told": []}


@pytest.mark.thorough
def test_a_change_in_another_file_is_noticed(site):
    (site / "drsvm/compiled/neighbour.py").write_text(NEIGHBOUR.format(factor=5.0))
    assert run(site)["values"] == [15.0, 15.0]
    assert run(site) == {"values": [15.0, 15.0], "compiled": 0, "told": []}


def flipped(content):
    place = 2 * len(content) // 3
    return content[:place] + bytes([content[place] ^ 0xFF]) + content[place + 1 :]


@pytest.mark.thorough
@pytest.mark.parametrize(
    "damage",
    [lambda content: content[: len(content) // 2], lambda _: b"", flipped],
    ids=["half", "empty", "flipped"],
)
@pytest.mark.parametrize("kind", ["nbi", "nbc"])
def test_a_damaged_file_is_recompiled_and_repaired(site, kind, damage):
    for file in stored(site, f"probe.scaled*.{kind}"):
        file.write_bytes(damage(file.read_bytes()))
    assert run(site)["values"] == [6.0, 6.0]
    assert run(site) == {"values": [6.0, 6.0], "compiled": 0, "told": []}


@pytest.mark.thorough
def test_code_of_another_signature_is_not_run(site):
    one, other = stored(site, "probe.scaled*.nbc")
    content = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(content)
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
@pytest.mark.skipif(sys.platform != "linux", reason="user-wide caches are elsewhere")
def test_a_read_only_package_is_cached_elsewhere(site, tmp_path, variable):
    block(site)
    elsewhere = {variable: tmp_path / "elsewhere"}
    assert run(site, **elsewhere)["compiled"] == 2
    assert run(site, **elsewhere)["compiled"] == 0
    assert stored(tmp_path / "elsewhere", "*.nbi")


@pytest.mark.thorough
def test_without_a_writable_folder_kernels_work_and_a_warning_is_logged(site, tmp_path):
    block(site)
    (tmp_path / "file").write_text("no folder")
    found = run(site, HOME=tmp_path / "file", XDG_CACHE_HOME=tmp_path / "file/cache")
    assert found["values"] == [6.0, 6.0] and "cannot be cached" in found["told"][0]


@pytest.mark.thorough
def test_nothing_is_cached_if_numba_lacks_what_the_cache_needs(site, tmp_path):
    block(site)
    lack = "import numba.core.caching; del numba.core.caching.CompileResultCacheImpl"
    found = run(site, f"{lack}\n{CHILD}", NUMBA_CACHE_DIR=tmp_path / "cache")
    assert (
        found["values"] == [6.0, 6.0]
        and found["compiled"] == 2
        and "cannot be cached" in found["told"][0]
    )
    assert not list((tmp_path / "cache").rglob("*.nb?"))


@pytest.mark.thorough
def test_a_cache_that_does_not_check_seals_is_not_trusted(site):
    code = f"""
from numba.core.caching import CompileResultCacheImpl, Cache
from numba.core.compiler import CompileResult
import pickle
def careless(self, sig, context):
    data = self._cache_file.load(self._index_key(sig, context.codegen()))
    return data and CompileResult._rebuild(context, *pickle.loads(data[1]))
Cache._load_overload = careless
{CHILD}"""
    assert run(site, code)["compiled"] == 2


class Pair(NamedTuple):
    one: float
    other: float


@pytest.mark.parametrize(
    ("function", "argument"),
    [
        (lambda x: np.full(2, x), 1.0),
        (lambda x: x, np.zeros(2)),
        (lambda x: (1, Pair(x, x)), 1.0),
    ],
    ids=["new array", "given array", "pair in a tuple"],
)
def test_kernels_that_python_calls_return_numbers(function, argument):
    """A signal that is pending when numba makes an array or a named tuple for Python would kill the process."""
    with pytest.raises(TypeError, match="return numbers or fill an array"):
        kernel()(function)(argument)


# A kernel with an inner function, for a numba that expects of code what ours lacks
WITHOUT_PRIVATE_PARTS = """
from drsvm.compiled import linked_code

del linked_code.LinkedCode.set_env
from drsvm.compiled.compiling import kernel

@kernel(inner=True)
def doubled(x):
    return 2.0 * x[0]

@kernel()
def quadrupled(x):
    return 2.0 * doubled(x)

import numpy as np
print(quadrupled(np.ones(1)))
"""


def test_inner_functions_are_compiled_as_usual_if_numba_lacks_what_they_need():
    child = subprocess.run(
        [sys.executable, "-c", WITHOUT_PRIVATE_PARTS],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert child.stdout == "4.0\n", child.stderr
