"""Imports go in one direction only, as described in ARCHITECTURE.md."""

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import drsvm

PACKAGE = Path(__file__).parents[1] / "drsvm"

ROOMS = [
    {"clock", "extras", "interrupts", "messages", "notices", "parallel"},
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
"""Folders (rooms) and single files in order: each may import only from those above it.

Rooms on the same line do not import each other.
"""

FLOOR = {room: floor for floor, rooms in enumerate(ROOMS) for room in rooms}

FOR_READERS_OF_TYPES = ("drsvm",)
"""The package lists all public names for type checkers; at run time it imports none of them."""


def module_name(path: Path) -> str:
    parts = ["drsvm", *path.relative_to(PACKAGE).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}


def imported(name: str) -> set[str]:
    """Return the modules of the package that a module imports, also inside functions."""
    found = set()
    for node in ast.walk(ast.parse(MODULES[name].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name} has a relative import; name the module in full"
            assert node.module is not None
            found |= {home(node.module, alias.name) for alias in node.names}
    return found & MODULES.keys() - {name}


def home(module: str, name: str) -> str:
    """Return the module that an import refers to: one in a room, the room itself, or the home of a public name."""
    if module == "drsvm" and name in drsvm._HOME:
        return f"drsvm.{drsvm._HOME[name]}"
    return inner if (inner := f"{module}.{name}") in MODULES else module


def room(name: str) -> str:
    return name.split(".")[1]


@pytest.mark.parametrize("name", sorted(MODULES.keys() - set(FOR_READERS_OF_TYPES)))
def test_no_room_imports_from_one_below(name):
    others = {other for other in imported(name) if other != "drsvm" and room(other) != room(name)}
    assert not {other for other in others if FLOOR[room(other)] >= FLOOR[room(name)]}


def test_every_file_has_its_place():
    assert {room(name) for name in MODULES if name != "drsvm"} == FLOOR.keys()


def test_no_two_modules_import_each_other():
    modules = MODULES.keys() - set(FOR_READERS_OF_TYPES)
    TopologicalSorter({name: imported(name) for name in modules}).prepare()  # raises on a cycle, and names it
