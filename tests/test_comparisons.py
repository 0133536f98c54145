"""Dataclasses that hold arrays compare by identity: arrays have no truth value, so
comparing them would raise.
"""

import dataclasses
import importlib
import pkgutil
import typing
from collections.abc import Callable

import numpy as np
import pytest
from scipy import sparse

import drsvm
from drsvm.problem import Precomputed
from drsvm.solvers import Candidate

# Fields for anything (`Any`) that hold what JSON can express
NO_ARRAYS = {"Report.summary"}


def hints_of(kind) -> dict[str, object]:
    """Return the annotations of a class.

    Names that are imported for type checkers only stand for any object.
    """
    names: dict[str, object] = {}
    while True:
        try:
            return typing.get_type_hints(kind, localns=names)
        except NameError as error:
            names[error.name] = object


def may_hold_arrays(kind) -> bool:
    """Return whether an annotation allows arrays; `Any` does."""
    if typing.get_origin(kind) is Callable:
        return False
    if kind is typing.Any or any(map(may_hold_arrays, typing.get_args(kind))):
        return True
    if isinstance(kind, type) and issubclass(kind, tuple):  # a named one
        return any(map(may_hold_arrays, hints_of(kind).values()))
    return isinstance(kind, type) and issubclass(kind, np.ndarray | sparse.sparray)


def arrays_in(kind) -> list[str]:
    """Return the fields of a dataclass that take part in comparisons and may hold
    arrays.
    """
    hints = hints_of(kind)
    names = [
        field.name
        for field in dataclasses.fields(kind)
        if field.compare and may_hold_arrays(hints[field.name])
    ]
    return [name for name in names if f"{kind.__name__}.{name}" not in NO_ARRAYS]


def test_dataclasses_with_arrays_compare_by_identity():
    modules = [
        importlib.import_module(module.name)
        for module in pkgutil.walk_packages(drsvm.__path__, "drsvm.")
    ]
    kinds = {
        found
        for module in modules
        for found in vars(module).values()
        if isinstance(found, type) and dataclasses.is_dataclass(found)
    }
    with_arrays = {
        kind: arrays_in(kind)
        for kind in kinds
        if getattr(kind, "__module__", "").startswith("drsvm.")
    }
    with_arrays = {kind: names for kind, names in with_arrays.items() if names}
    assert Candidate in with_arrays and len(with_arrays) > 30
    assert not {
        kind: names
        for kind, names in with_arrays.items()
        if kind.__eq__ is not object.__eq__
    }


@pytest.mark.parametrize("kind", [Candidate, Precomputed])
def test_comparing_arrays_raises_nothing(kind):
    others = {"intercept": 0.0} if kind is Candidate else {}
    one, other = (kind(np.eye(2), **others) for _ in range(2))
    assert one == one and one != other and len({one, other}) == 2
