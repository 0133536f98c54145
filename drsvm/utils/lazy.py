"""Imports on first use: the names of a package, and optional dependencies."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from types import ModuleType


def lazy_names(
    package: str, names: Mapping[str, str]
) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` of a package.

    Parameters
    ----------
    package : str
        The name of the package.
    names : mapping from str to str
        The names, separated by spaces, by the module to import them from, relative to
        the package (".problem").

    Returns
    -------
    tuple
        The two functions and the sorted names.
    """
    homes = {}
    for module, listed in names.items():
        homes.update(dict.fromkeys(listed.split(), module))

    def get(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(homes[name], package), name)
        setattr(sys.modules[package], name, value)
        return value

    def list_names() -> list[str]:
        found = vars(sys.modules[package])
        special = [name for name in found if name.startswith("__")]
        return sorted({*found["__all__"], *special})

    return get, list_names, sorted(homes)


def optional(module: str, purpose: str, *packages: str, remark: str = "") -> ModuleType:
    """Import a module of an optional dependency.

    If it is missing, the error names the packages to install.
    """
    try:
        return import_module(module)
    except ImportError:
        remedy = missing(*packages or (module,))
        raise ImportError(f"{purpose} {remedy}{remark}") from None


def missing(*packages: str) -> str:
    """Return the command that installs packages, as the end of a sentence."""
    return f"{' and '.join(packages)}: pip install {' '.join(packages)}."
