"""The package as a whole: its public names, and what importing it does not do."""

import ast
import importlib.metadata
import inspect
import json
import re
import subprocess
import sys
import tomllib
import typing
from pathlib import Path

import pytest
from packaging.version import Version

import drsvm
from drsvm.certificate import Certificate
from drsvm.solvers import RadiusPath, Solver, make_solver, solver_names

CHECKOUT = Path(__file__).parent.parent
DOCS = CHECKOUT / "docs"

OPTIONAL = [
    "sklearn",
    "matplotlib",
    "clarabel",
    "highspy",
    "cvxpy",
    "typer",
    "pandas",
    "rich",
    "skops",
    "pyarrow",
]
OPTIONAL += ["dask", "distributed", "jinja2"]

# A program that uses more and more of the package, and prints what each stage has
# imported.
STAGES = f"""
import json, sys

def loaded(names):
    return [name for name in names if name in sys.modules]

def report(names):
    print(json.dumps(names))

import drsvm
report(loaded({[*OPTIONAL, "numpy", "scipy", "numba"]!r}))
import drsvm.solvers
report([name for name in sys.modules if name.startswith("drsvm.solvers")])
problem = drsvm.Problem([[1.0], [-1.0]], [1, -1])
drsvm.certify(problem, [1.0])
drsvm.worst_case_distribution(([1.0], 0.0), [[1.0], [-1.0]], [1, -1], radius=0.1)
report(loaded({OPTIONAL!r}))
from drsvm import *
report(dir())
"""
PACKAGES = [
    drsvm,
    *(
        importlib.import_module(f"drsvm.{name}")
        for name in (
            "audit",
            "certificate",
            "defaults",
            "estimators",
            "problem",
            "solvers",
            "tables",
        )
    ),
]


@pytest.fixture(scope="module")
def imported():
    """Return what a new interpreter has imported after each stage."""
    run = subprocess.run(
        [sys.executable, "-c", STAGES], capture_output=True, text=True, timeout=120
    )
    assert run.returncode == 0, run.stderr
    names = ("package", "solvers", "audit", "everything")
    return dict(zip(names, map(json.loads, run.stdout.splitlines()), strict=True))


def test_no_more_is_imported_than_is_needed(imported):
    assert imported["package"] == []
    assert imported["solvers"] == ["drsvm.solvers"]
    assert imported["audit"] == []  # stating and auditing a problem needs no extra


def test_estimators_are_imported_without_the_compiler():
    look = "import sys, drsvm; drsvm.WassersteinSVC; sys.exit('numba' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", look], timeout=120)
    assert run.returncode == 0


@pytest.mark.parametrize("name", drsvm.__all__)
def test_public_names_resolve(name):
    value = getattr(drsvm, name)
    assert value.__doc__
    assert getattr(drsvm, name) is value


def test_dir_lists_the_public_names_alone_which_can_be_imported_together(imported):
    assert [name for name in dir(drsvm) if not name.startswith("__")] == drsvm.__all__
    assert len(drsvm.__all__) >= 22 and "__version__" in dir(drsvm)
    assert len(set(drsvm.__all__)) == len(drsvm.__all__)
    assert set(drsvm.__all__) <= set(imported["everything"])


def own_types(hints):
    return {
        kind for kind in hints if getattr(kind, "__module__", "").startswith("drsvm.")
    }


def test_what_public_functions_return_is_public():
    public = [
        getattr(package, name) for package in PACKAGES for name in package.__all__
    ]
    returned = [
        typing.get_type_hints(value).get("return")
        for value in public
        if inspect.isfunction(value)
    ]
    assert (
        {drsvm.Result, RadiusPath, Certificate}
        <= own_types(returned)
        <= {*public, Solver}
    )
    assert own_types(typing.get_type_hints(drsvm.Result).values()) <= set(public)


def test_the_settings_of_every_solver_are_public():
    problem = drsvm.Problem([[0.0], [1.0]], [0, 1], norm="inf")
    for name in solver_names()[1:]:
        solver = type(make_solver(name, problem))
        assert (
            getattr(drsvm.solvers, solver.__name__) is solver
            and solver.__name__ in drsvm.solvers.__all__
        )


def test_every_public_name_is_in_the_reference():
    entries = {
        line.strip()
        for line in (DOCS / "api.rst").read_text().splitlines()
        if line.startswith("   ")
    }
    assert set(drsvm.__all__) <= entries
    for package in (drsvm.estimators, drsvm.problem, drsvm.persistence, drsvm.solvers):
        further = (
            set(package.__all__)
            - set(drsvm.__all__)
            - {"Landmarks", "make_solver", "solver_names"}
        )
        assert {
            f"{package.__name__.removeprefix('drsvm.')}.{name}" for name in further
        } <= entries


ROOT = Path(drsvm.__file__).parent
LAZY = [
    ".".join(path.parent.relative_to(ROOT.parent).parts)
    for path in sorted(ROOT.rglob("__init__.py"))
    if "= lazy_names(" in path.read_text()
]


@pytest.mark.parametrize("name", LAZY)
def test_lazy_names_are_those_that_type_checkers_see(name):
    package = importlib.import_module(name)
    tree = ast.parse(Path(package.__file__).read_text())
    (guard,) = (
        node
        for node in tree.body
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    )
    for node in guard.body:
        home = importlib.import_module(node.module)
        for alias in node.names:
            assert getattr(package, alias.name) is getattr(home, alias.name)
            # `import A as A` marks a re-export.
            assert (alias.asname is not None) == (alias.name in package.__all__)
    functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    assert "__getattr__" not in functions  # it would accept every misspelt name


TYPED = """
import math
import drsvm
from drsvm import Problem, WassersteinSVC, WassersteinSVCCV, solve
from drsvm.solvers import proximal_step
from drsvm.solvers import InteriorPoint
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
    settings = {
        "extraPaths": [str(Path(drsvm.__file__).parent.parent)],
        "useLibraryCodeForTypes": False,
    }
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    command = [
        sys.executable,
        "-m",
        "pyright",
        "--outputjson",
        "--pythonpath",
        sys.executable,
        "-p",
        str(tmp_path),
    ]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if not run.stdout.startswith("{"):
        pytest.skip(f"pyright does not run here: {run.stderr or run.stdout}")
    found = {
        entry["range"]["start"]["line"]
        for entry in json.loads(run.stdout)["generalDiagnostics"]
    }
    lines = TYPED.splitlines()
    assert {lines[number] for number in found} == set(lines[-4:])


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(
        AttributeError, match="module 'drsvm' has no attribute 'Solution'"
    ):
        _ = drsvm.Solution
    with pytest.raises(ImportError, match="Solution"):
        exec("from drsvm import Solution")


def test_the_package_is_marked_as_typed_and_has_the_version_that_is_installed():
    assert (Path(drsvm.__file__).parent / "py.typed").exists()
    assert [part.isdigit() for part in drsvm.__version__.split(".")[:2]] == [True, True]
    try:
        installed = importlib.metadata.version("drsvm")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("drsvm is not installed")
    assert drsvm.__version__ == installed


def test_the_newest_entry_of_the_changelog_is_this_release_or_the_one_before_this_development_version():
    root = DOCS.parent
    released = re.search(
        r"^## \[(.+)\]$", (root / "CHANGELOG.md").read_text(), re.MULTILINE
    )[1]
    assert f"\nversion: {released}\n" in (root / "CITATION.cff").read_text()
    if drsvm.__version__ != released:
        assert Version(drsvm.__version__).is_devrelease and Version(
            drsvm.__version__
        ) > Version(released)


def test_the_conda_recipe_has_the_version_and_the_requirements_of_the_package():
    text = (CHECKOUT / "recipe" / "recipe.yaml").read_text()
    with open(CHECKOUT / "pyproject.toml", "rb") as stream:
        project = tomllib.load(stream)
    assert f'version: "{drsvm.__version__}"' in text
    run = text.partition("  run:\n")[2].partition("  run_constraints:")[0]
    needed = project["project"]["dependencies"]
    needed = needed + project["project"]["optional-dependencies"]["cli"]
    listed = re.findall(r"^    - (.*)$", run, re.MULTILINE)
    assert [name.replace(" ", "") for name in listed[1:]] == needed
    assert listed[0].endswith(project["project"]["requires-python"])
    host = text.partition("  host:\n")[2].partition("  run:")[0]
    builds = project["build-system"]["requires"]
    assert all(name.replace(">=", " >=") in host for name in builds)


def test_the_conda_recipe_can_be_rendered():
    rattler = pytest.importorskip("rattler_build")
    recipe = rattler.Stage0Recipe.from_file(str(CHECKOUT / "recipe" / "recipe.yaml"))
    (rendered,) = recipe.render(rattler.VariantConfig())
    assert rendered.recipe.package.version == drsvm.__version__


def test_the_version_switcher_knows_this_version():
    versions = json.loads((DOCS / "_static" / "switcher.json").read_text())
    current = ".".join(drsvm.__version__.split(".")[:2])
    assert current in [one["version"] for one in versions]
    assert all(one["url"] == f"/{one['version']}/" for one in versions)
