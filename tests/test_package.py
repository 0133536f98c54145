"""The package as a whole: its public names, and what importing it leaves alone."""

import importlib.metadata
import json
import subprocess
import sys
from pathlib import Path

import pytest

import drsvm

OPTIONAL = ["sklearn", "matplotlib", "clarabel", "highspy", "cvxpy", "typer", "pandas", "rich", "skops", "pyarrow"]


def in_a_fresh_process(code):
    """Run code in a new interpreter and return what it printed, as JSON."""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def loaded_after(statement):
    """Return which of the optional modules a statement imports."""
    found = f"[name for name in {OPTIONAL!r} if name in sys.modules]"
    return in_a_fresh_process(f"import json, sys\n{statement}\nprint(json.dumps({found}))")


def test_importing_the_package_imports_no_extra():
    assert loaded_after("import drsvm") == []


def test_importing_the_package_does_no_work():
    heavy = ["numpy", "scipy", "numba"]
    code = f"import json, sys, drsvm\nprint(json.dumps([m for m in {heavy!r} if m in sys.modules]))"
    assert in_a_fresh_process(code) == []


def test_stating_and_auditing_a_problem_needs_no_extra():
    used = "import drsvm\np = drsvm.Problem([[1.0], [-1.0]], [1, -1])\ndrsvm.certify(p, [1.0])"
    audited = f"{used}\ndrsvm.worst_case_distribution(([1.0], 0.0), [[1.0], [-1.0]], [1, -1], radius=0.1)"
    assert loaded_after(audited) == []


@pytest.mark.parametrize("name", drsvm.__all__)
def test_public_names_resolve(name):
    value = getattr(drsvm, name)
    assert value.__doc__
    assert getattr(drsvm, name) is value


def test_dir_lists_the_public_names():
    listed = dir(drsvm)
    assert set(drsvm.__all__) <= set(listed) and "__version__" in listed
    assert listed == sorted(listed)


def test_public_names_can_be_imported_together():
    assert len(set(drsvm.__all__)) == len(drsvm.__all__)
    names = in_a_fresh_process(
        "import json\nfrom drsvm import *\nprint(json.dumps([n for n in dir() if not n.startswith('_')]))"
    )
    assert set(drsvm.__all__) <= set(names)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'drsvm' has no attribute 'Solution'"):
        _ = drsvm.Solution
    with pytest.raises(ImportError, match="Solution"):
        exec("from drsvm import Solution")


def test_the_version_is_that_of_the_installed_package():
    try:
        installed = importlib.metadata.version("drsvm")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("drsvm is not installed")
    assert drsvm.__version__ == installed


def test_the_version_is_a_version():
    assert [part.isdigit() for part in drsvm.__version__.split(".")[:2]] == [True, True]


def test_the_package_says_that_it_is_typed():
    assert (Path(drsvm.__file__).parent / "py.typed").exists()
