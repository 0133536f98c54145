"""The names of classes in model files: public ones, so that no file depends on the module in which a class lives.

skops writes the module in which a class is defined, which is nobody's promise. A model file names the module from
which the class is imported instead, ``drsvm.WassersteinSVC`` and not ``drsvm.learn.estimators.WassersteinSVC``.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any

PUBLIC_HOMES = {
    "WassersteinSVC": "drsvm",
    "WassersteinSVCCV": "drsvm",
    "Result": "drsvm",
    "History": "drsvm",
    "Pipeline": "sklearn.pipeline",
    "SimpleImputer": "sklearn.impute",
    "StandardScaler": "sklearn.preprocessing",
    "MaxAbsScaler": "sklearn.preprocessing",
    "csr_array": "scipy.sparse",
    "csr_matrix": "scipy.sparse",
}
"""The classes of model files, each with the module that it is imported from, wherever it is defined."""

HOMES_IN_FORMAT_1 = {
    "WassersteinSVC": "drsvm.estimators",
    "WassersteinSVCCV": "drsvm.model_selection",
    "Result": "drsvm.result",
    "History": "drsvm.result",
    "SimpleImputer": "sklearn.impute._base",
    "StandardScaler": "sklearn.preprocessing._data",
    "MaxAbsScaler": "sklearn.preprocessing._data",
    "csr_array": "scipy.sparse._csr",
    "csr_matrix": "scipy.sparse._csr",
}
"""The modules that files of format 1 name: those in which the classes lived in version 0.1.0."""


def defining_home(name: str) -> str | None:
    """Return the module that defines a class of model files today, as skops writes it; None for other names."""
    home = PUBLIC_HOMES.get(name)
    return None if home is None else getattr(import_module(home), name).__module__


def call_publicly(node: dict[str, Any], home_of: Callable[[str], str | None]) -> None:
    """Let a node of a schema that names the home of its class name the public one; all others stay as they are."""
    name, module = node.get("__class__"), node.get("__module__")
    if isinstance(name, str) and module is not None and module == home_of(name):
        node["__module__"] = PUBLIC_HOMES[name]
