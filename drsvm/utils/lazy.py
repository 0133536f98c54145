"""What is done on first use: imports, and the values of properties."""

import ast
import functools
import sys
from collections.abc import Callable
from contextlib import nullcontext
from importlib import import_module
from types import ModuleType
from typing import Any, TypeVar

T = TypeVar("T")


class cached_property(functools.cached_property[T]):
    """The property of the standard library, without the lock of Python 3.11.

    There, all objects share the lock of a property. A process that is forked while
    another thread computes the property of some object would wait for it forever.
    """

    def __init__(self, function: Callable[[Any], T]):
        super().__init__(function)
        self.lock = nullcontext()


def lazy_names(
    package: str,
) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` of a package.

    Its names are those that it imports for type checkers, under ``if TYPE_CHECKING``:
    they are imported on first use. ``from home import name as name`` makes a name
    public; the others are for other folders and for tests.

    Parameters
    ----------
    package : str
        The name of the package, whose ``__init__.py`` has one ``if`` statement.

    Returns
    -------
    get, list_names : functions
        `__getattr__` and `__dir__`.
    public : list of str
        `__all__`.
    """
    # So that each name is written once, the imports are read from the source.
    module: Any = sys.modules[package]
    tree = ast.parse(module.__loader__.get_source(package))
    homes = {}  # the module of each name
    public = []
    imports: Any
    [imports] = [node.body for node in tree.body if isinstance(node, ast.If)]
    for node in imports:
        for imported in node.names:
            homes[imported.name] = node.module
            if imported.asname is not None:
                public.append(imported.name)

    def get(name: str) -> object:
        # Python calls it for a name that the package does not have.
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(homes[name]), name)
        # Python finds it there the next time.
        setattr(module, name, value)
        return value

    def list_names() -> list[str]:
        found = vars(module)
        special = [name for name in found if name.startswith("__")]
        return sorted({*found["__all__"], *special})

    return get, list_names, sorted(public)


def optional(module: str, purpose: str, *packages: str, remark: str = "") -> ModuleType:
    """Import a module of an optional dependency.

    If it is missing, the error names the packages to install.

    Parameters
    ----------
    module : str
        The module.
    purpose : str
        The begin of the error, such as "reading tables needs".
    *packages : str
        What to install, if that is not called like the module.
    remark : str
        The end of the error.
    """
    try:
        return import_module(module)
    except ImportError:
        remedy = missing(*packages or (module,))
        raise ImportError(f"{purpose} {remedy}{remark}") from None


def missing(*packages: str) -> str:
    """Return the command that installs packages, as the end of a sentence."""
    return f"{' and '.join(packages)}: pip install {' '.join(packages)}."
