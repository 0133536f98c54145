"""The names of classes in model files, which do not depend on the module that defines a class.

skops writes the defining module, such as ``drsvm.learn.estimators``, which may change. A model file contains the public
module instead, the one from which users import the class: ``drsvm.WassersteinSVC``.
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
"""The classes that may occur in model files, with their public modules."""

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
"""The modules in files of format 1: those that defined the classes in version 0.1.0."""


def defining_home(name: str) -> str | None:
    """Return the module that currently defines a class of `PUBLIC_HOMES`, as skops writes it; None for other names."""
    home = PUBLIC_HOMES.get(name)
    return None if home is None else getattr(import_module(home), name).__module__


def make_public(node: dict[str, Any], home_of: Callable[[str], str | None]) -> None:
    """Replace the module in a schema node by the public one if `home_of` returns that module for its class."""
    name, module = node.get("__class__"), node.get("__module__")
    if isinstance(name, str) and module is not None and module == home_of(name):
        node["__module__"] = PUBLIC_HOMES[name]
