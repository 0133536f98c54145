"""Rules have few numbers: every one of them is a choice that had to be fixed on something."""

import ast
from collections import Counter
from pathlib import Path

from drsvm import learn

LIMIT = 60
ROOM = Path(learn.__file__).parent


def names_of(target: ast.expr) -> list[str]:
    return [one.id for one in ast.walk(target) if isinstance(one, ast.Name)]


def numbers_in(source: str) -> dict[str, int]:
    """Return how many numbers there are in the value of each constant of a module."""
    found = Counter[str]()
    for statement in ast.parse(source).body:
        targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
        names = [name for target in targets if target is not None for name in names_of(target)]
        if names and all(map(str.isupper, names)):
            values = [one.value for one in ast.walk(statement) if isinstance(one, ast.Constant)]
            found[", ".join(names)] += sum(type(value) in (int, float) for value in values)
    return dict(+found)


def test_numbers_are_counted_wherever_they_are_in_a_constant():
    source = 'A: int = 1\nB, _C = (-2.0, 3), True\nD = {"x": [f(4)]}\nE = B\nD += (5,)\nlower = 6\ndef f(x=7): G = 8'
    assert numbers_in(source) == {"A": 1, "B, _C": 2, "D": 2}


def test_there_are_few_numbers():
    counts = {path.relative_to(ROOM).as_posix(): numbers_in(path.read_text("utf-8")) for path in ROOM.rglob("*.py")}
    total = sum(sum(found.values()) for found in counts.values())
    listed = "\n".join(f"{path}: {found}" for path, found in sorted(counts.items()) if found)
    assert total <= LIMIT, f"{total} numbers in constants of drsvm.learn:\n{listed}"
