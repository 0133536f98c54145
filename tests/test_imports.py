"""Imports go in one direction only, as described in ARCHITECTURE.md."""

import ast
from functools import cache
from graphlib import TopologicalSorter
from importlib import import_module
from importlib.util import resolve_name
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "drsvm"

# Folders (rooms) and single files in order: each may import only from those above it,
# not from its own line.
ROOMS = [
    {"annotations", "clock", "interrupts", "lazy", "messages", "parallel", "writing"},
    {"progress"},
    {"kernels"},
    {"model"},
    {"engines"},
    {"solvers"},
    {"learn"},
    {"plotting", "datasets"},
    {"persistence"},
    {"report"},
    {"demo"},
    {"cli"},
    {"__main__"},
]
FLOOR = {room: floor for floor, rooms in enumerate(ROOMS) for room in rooms}
# Packages that list names for type checkers, and import them on first use.
LAZY = ("drsvm", "drsvm.tables", "drsvm.estimators", "drsvm.problem", "drsvm.solvers")


PATHS = {
    path: ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
    for path in PACKAGE.rglob("*.py")
}
MODULES = {name.removesuffix(".__init__"): path for path, name in sorted(PATHS.items())}


@cache
def imported(name: str) -> set[str]:
    """Return the modules of the package that a module imports, also inside functions."""
    found = set()
    tree = ast.parse(MODULES[name].read_text(encoding="utf-8"))
    for_types = [
        node
        for node in tree.body
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node)
    ]
    tree.body = [node for node in tree.body if node not in for_types]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, (
                f"{name} has a relative import; name the module in full"
            )
            assert node.module is not None
            found |= {home(node.module, alias.name) for alias in node.names}
    return found & MODULES.keys() - {name}


def home(module: str, name: str) -> str:
    """Return the module that an import refers to: one in a room, the room itself, or the home of a public name."""
    if module in LAZY:
        for inner, names in import_module(module)._NAMES.items():
            if name in names.split():
                return home(resolve_name(inner, module), name)
    return inner if (inner := f"{module}.{name}") in MODULES else module


def room(name: str) -> str:
    return name.split(".")[1]


@pytest.mark.parametrize("name", sorted(MODULES.keys() - {"drsvm"}))
def test_no_room_imports_from_one_below(name):
    others = {
        other
        for other in imported(name)
        if other != "drsvm" and room(other) != room(name)
    }
    assert not {other for other in others if FLOOR[room(other)] >= FLOOR[room(name)]}


def test_every_file_has_its_place():
    assert {room(name) for name in MODULES if name != "drsvm"} == FLOOR.keys()


def test_no_two_modules_import_each_other():
    # Raises on a cycle, and names it
    TopologicalSorter({name: imported(name) for name in MODULES}).prepare()
