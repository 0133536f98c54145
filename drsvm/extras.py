"""Optional dependencies, imported where they are used.

The error for a missing one names the packages themselves: installing them works for any installation of drsvm, from an
index or from a copy of the repository.
"""

from importlib import import_module
from types import ModuleType


def optional(module: str, purpose: str, *packages: str, remark: str = "") -> ModuleType:
    """Import a module of an optional dependency; if it is missing, the error names the packages to install."""
    try:
        return import_module(module)
    except ImportError:
        raise ImportError(f"{purpose} {missing(*packages or (module,))}{remark}") from None


def missing(*packages: str) -> str:
    """Return the command that installs packages, as the end of a sentence."""
    return f"{' and '.join(packages)}: pip install {' '.join(packages)}."
