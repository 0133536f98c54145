"""Imports go down only, as type checkers see them, too (ARCHITECTURE.md)."""

import ast
import tomllib
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "drsvm"

PROJECT = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text(encoding="utf-8"))
CONTRACT = PROJECT["tool"]["importlinter"]["contracts"][0]
# Each room imports from those on lower floors only.
FLOOR = {}
for floor, rooms in enumerate(reversed(CONTRACT["layers"])):
    FLOOR |= dict.fromkeys(rooms.split(" | "), floor)


def name_of(path: Path) -> str:
    """Return the dotted name of a file; a folder stands for its `__init__`."""
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts).removesuffix(".__init__")


MODULES = {name_of(path): path for path in sorted(PACKAGE.rglob("*.py"))}


@cache
def imported(name: str) -> set[str]:
    """Return the modules that a module imports, wherever the import stands."""
    found = set()
    for node in ast.walk(ast.parse(MODULES[name].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name} has a relative import"
            assert node.module is not None
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                found.add(inner if inner in MODULES else node.module)
    return found & MODULES.keys() - {name}


def room(name: str) -> str:
    return name.split(".")[1]


@pytest.mark.parametrize("name", sorted(MODULES.keys() - {"drsvm"}))
def test_imports_go_down(name):
    above = [
        other
        for other in imported(name) - {"drsvm"}
        if room(other) != room(name) and FLOOR[room(other)] >= FLOOR[room(name)]
    ]
    assert not above


@pytest.mark.parametrize("name", sorted(MODULES.keys() - {"drsvm"}))
def test_only_applications_import_the_package_itself(name):
    # What the package exports is looked up on first use: such an import hides a circle.
    if FLOOR[room(name)] < FLOOR["plotting"]:
        exempt = {"drsvm.__version__"}
        assert "drsvm" not in imported(name) - exempt


def test_every_room_has_a_floor():
    assert {room(name) for name in MODULES if name != "drsvm"} == FLOOR.keys()


def test_no_group_of_files_imports_each_other():
    # The package itself may name everything that it exports.
    arrows = {name: imported(name) for name in MODULES if name != "drsvm"}
    TopologicalSorter(arrows).prepare()  # raises on a circle, and names it
