"""Names of a package that are imported on first use, so that importing the package is fast."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module


def lazy_names(
    package: str, names: Mapping[str, str]
) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` of a package.

    `names` are separated by spaces, by the module to import them from, relative to the package (".problem").
    """
    homes = {name: module for module, listed in names.items() for name in listed.split()}

    def get(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(homes[name], package), name)
        setattr(sys.modules[package], name, value)
        return value

    def list_names() -> list[str]:
        found = vars(sys.modules[package])
        return sorted({*found["__all__"], *(name for name in found if name.startswith("__"))})

    return get, list_names, sorted(homes)
