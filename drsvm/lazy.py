"""Names of a package that are imported on first use, so that importing the package is fast."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any
from warnings import warn

REMOVAL = "0.5"
"""The version in which the old places of moved names go."""


def lazy_names(
    package: str, names: Mapping[str, str], moved: Mapping[str, str] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` of a package.

    `names` are separated by spaces, by the module to import them from, relative to the package (".problem"). `moved`
    are those that have moved there: the package still has them, with a DeprecationWarning.
    """
    homes = _by_name(names)
    moved_homes = _by_name(moved or {})

    def get(name: str) -> Any:
        if name in homes:
            value = getattr(import_module(homes[name], package), name)
            setattr(sys.modules[package], name, value)
            return value
        if name not in moved_homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = import_module(moved_homes[name], package)
        warn(
            f"{package}.{name} has moved: use `from {module.__name__} import {name}`. The old place goes in version "
            f"{REMOVAL}.",
            DeprecationWarning,
            stacklevel=2,
        )
        return getattr(module, name)

    def list_names() -> list[str]:
        found = vars(sys.modules[package])
        return sorted({*found["__all__"], *(name for name in found if name.startswith("__"))})

    return get, list_names, sorted(homes)


def _by_name(names: Mapping[str, str]) -> dict[str, str]:
    return {name: module for module, listed in names.items() for name in listed.split()}
