"""Imports on first use: the names of a package, and optional dependencies."""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from types import ModuleType


def lazy_names(
    package: str, public: Mapping[str, str], internal: Mapping[str, str] | None = None
) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` of a package.

    Parameters
    ----------
    package : str
        The name of the package.
    public : mapping from str to str
        The names, separated by spaces, by the module to import them from, relative to
        the package (".problem").
    internal : mapping from str to str, optional
        Names for other folders and for tests, which `__all__` and `dir` leave out.

    Returns
    -------
    tuple
        The two functions and the sorted public names.
    """

    def by_name(names: Mapping[str, str]) -> dict[str, str]:
        homes = {}
        for module, listed in names.items():
            homes.update(dict.fromkeys(listed.split(), module))
        return homes

    listed = by_name(public)
    homes = listed | by_name(internal or {})

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

    return get, list_names, sorted(listed)


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
