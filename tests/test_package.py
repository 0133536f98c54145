"""The package as a whole: its public names, and what importing it does not do."""

import ast
import importlib.metadata
import inspect
import json
import subprocess
import sys
import typing
from pathlib import Path

import pytest

import drsvm
from drsvm.solvers import make_solver, solver_names

OPTIONAL = ["sklearn", "matplotlib", "clarabel", "highspy", "cvxpy", "typer", "pandas", "rich", "skops", "pyarrow"]
OPTIONAL += ["dask", "distributed"]


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


def test_what_public_functions_return_is_public():
    public = {name: getattr(drsvm, name) for name in drsvm.__all__}
    returned = [typing.get_type_hints(value).get("return") for value in public.values() if inspect.isfunction(value)]
    own = {kind.__name__: kind for kind in returned if getattr(kind, "__module__", "").startswith("drsvm.")}
    assert {"Result", "RadiusPath", "Certificate"} <= set(own)
    assert own.items() <= public.items()
    fields = typing.get_type_hints(drsvm.Result).values()
    assert {kind for kind in fields if getattr(kind, "__module__", "").startswith("drsvm.")} <= set(public.values())


def test_the_settings_of_every_solver_are_public():
    problem = drsvm.Problem([[0.0], [1.0]], [0, 1], norm="inf")
    for name in solver_names()[1:]:
        solver = type(make_solver(name, problem))
        assert getattr(drsvm, solver.__name__) is solver and solver.__name__ in drsvm.__all__


def test_every_public_name_is_in_the_reference():
    reference = (Path(__file__).parent.parent / "docs" / "api.rst").read_text()
    entries = {line.strip() for line in reference.splitlines() if line.startswith("   ")}
    assert set(drsvm.__all__) <= entries


def what_type_checkers_see():
    """Return the names of the package as a type checker reads them, and the modules that they come from."""
    tree = ast.parse(Path(drsvm.__file__).read_text())
    (guard,) = (node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    seen = [node for node in tree.body if node is not guard] + guard.body
    imports = [node for node in guard.body if isinstance(node, ast.ImportFrom)]
    # `import A as A` marks a re-export.
    names = {alias.asname: node.module for node in imports for alias in node.names if alias.name == alias.asname}
    return names, {node.name for node in seen if isinstance(node, ast.FunctionDef)}


def test_type_checkers_see_the_public_names_and_no_others():
    names, functions = what_type_checkers_see()
    assert names == {name: f"drsvm.{module}" for name, module in drsvm._HOME.items()}
    assert functions == set()  # a __getattr__ among them would accept every misspelt name


TYPED = """
import math
import drsvm
from drsvm import InteriorPoint, Problem, WassersteinSVC, WassersteinSVCCV, proximal_step, solve
WassersteinSVC(radius="auto", norm="inf", class_weight={0: 2.0}, solver=InteriorPoint(), max_time=1)
WassersteinSVCCV(radii=[0.1, 0.2], flip_costs=5, norms=[1, "inf"], class_weight="balanced", selection="best", cv=3)
proximal_step([1.0], 1, [0.0], 0.0, step=1.0, radius=0.1, flip_cost=1.0, norm="inf")
result: drsvm.Result = solve(Problem([[1.0], [2.0]], [0, 1], norm="inf"), "isg", tol=1)
drsvm.Probelm
from drsvm import solev
WassersteinSVC(radius="automatic")
result.wieghts
"""


def test_a_type_checker_finds_misspelt_names_and_nothing_else(tmp_path):
    pytest.importorskip("pyright")
    (tmp_path / "typed.py").write_text(TYPED)
    (tmp_path / "pyrightconfig.json").write_text(
        json.dumps({"extraPaths": [str(Path(drsvm.__file__).parent.parent)], "useLibraryCodeForTypes": False})
    )
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable, "-p", str(tmp_path)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if not run.stdout.startswith("{"):
        pytest.skip(f"pyright does not run here: {run.stderr or run.stdout}")
    found = {entry["range"]["start"]["line"] for entry in json.loads(run.stdout)["generalDiagnostics"]}
    lines = TYPED.splitlines()
    assert {lines[number] for number in found} == set(lines[-4:])


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


def test_the_package_is_marked_as_typed():
    assert (Path(drsvm.__file__).parent / "py.typed").exists()
