"""Objects as plain data and back: JSON for their structure, NumPy files for arrays.

Each object is a node: a dict that names its class and how to build it (``__loader__``).
Numbers, texts, truth values and None stand for themselves.

Building runs no code that a file names: an object is created without calling its class,
and gets its attributes; a function or a type is looked up in the lists of `names`, and
only types of scalars are called. Nothing is built that is much larger than the text or
the array for it: arrays are views of what was unpacked, each of a file of its own.
"""

import io
import math
from collections import UserList
from collections.abc import Callable, Iterable
from functools import partial
from importlib.metadata import version
from inspect import signature
from typing import Any, BinaryIO
from zipfile import ZipFile

import numpy as np
from numpy.lib import format as npy

from drsvm.persistence.checks import Json, require
from drsvm.persistence.names import (
    CLASSES,
    FUNCTIONS,
    PLAIN_TYPES,
    SCALARS,
    SPARSE,
    named,
    public_name,
)
from drsvm.problem.backends import engine_of, is_remote, to_numpy
from drsvm.problem.result import Result, Results

# Attributes with which an estimator would read or write files when it is used, and
# their harmless values.
HARMLESS = {"memory": (None,), "input": ("content",)}
# The states of partial_fit and of a scorer
UNNEEDED = (
    "_block_fits",
    "_metadata_request",
)
# The keys that make a dict in the archive a node
RESERVED = (
    "__class__",
    "__module__",
    "__loader__",
)
SKLEARN = version("scikit-learn")
LITTLE = 1 << 20  # bytes of one entry of an array, and of its header


class Writer:
    """Turns objects into nodes and writes their arrays into a zip archive.

    `foreign` lists what may not be in it.
    """

    def __init__(self, archive: ZipFile):
        self.archive = archive
        self.foreign: set[str] = set()
        self._files = 0
        self._ways = {
            np.ndarray: self._array,
            dict: self._dict,
            **dict.fromkeys(
                (list, Results),
                lambda value: _node("builtins", "list", "ListNode", self._nodes(value)),
            ),
            tuple: lambda value: _node(
                "builtins", "tuple", "TupleNode", self._nodes(value)
            ),
            slice: lambda value: _node(
                "builtins", "slice", "SliceNode", [value.start, value.stop, value.step]
            ),
        }

    def node(self, value: object) -> Json:
        if value is None or type(value) in (bool, int, float, str):
            return value
        if isinstance(value, np.generic) and (
            name := public_name(type(value), SCALARS)
        ):
            return _node(*name, "ScalarNode", value.item())
        if isinstance(value, np.dtype):
            return _node("numpy", "dtype", "DTypeNode", value.str)
        if isinstance(value, UserList):  # of columns, in scikit-learn 1.6
            value = value.data
        return self._ways.get(type(value), self._named)(value)

    def _nodes(self, values: Iterable[object]) -> list[Json]:
        return [self.node(value) for value in values]

    def _array(self, value: np.ndarray) -> Json:
        if value.dtype.hasobject:
            content = self._nodes(value.ravel().tolist())
            return {
                **_node("numpy", "ndarray", "ObjectArrayNode", content),
                "shape": list(value.shape),
            }
        save = partial(np.save, arr=value, allow_pickle=False)
        return self._file("numpy", "ndarray", "NdArrayNode", ".npy", save)

    def _file(
        self,
        home: str,
        name: str,
        loader: str,
        ending: str,
        write: Callable[[BinaryIO], None],
    ) -> Json:
        self._files += 1
        content = io.BytesIO()
        write(content)
        self.archive.writestr(f"{self._files}{ending}", content.getvalue())
        return _node(home, name, loader, f"{self._files}{ending}")

    def _dict(self, value: dict) -> Json:
        if all(type(key) is str and key not in RESERVED for key in value):
            return _node(
                "builtins",
                "dict",
                "DictNode",
                {key: self.node(each) for key, each in value.items()},
            )
        pairs = [[self.node(key), self.node(each)] for key, each in value.items()]
        return _node("builtins", "dict", "PairsNode", pairs)

    def _named(self, value: Any) -> Json:
        """Return a class, a function, a sparse matrix or an object of a class in the tables; note anything else."""
        if is_remote(
            value
        ):  # vectors on a cluster, with a value for every row, stay there
            return self._array(
                np.empty(0) if engine_of(value) == "dask" else to_numpy(value)
            )
        if name := public_name(value, PLAIN_TYPES):
            return _node(*name, "TypeNode")
        if name := public_name(value, FUNCTIONS):
            return _node(*name, "FunctionNode")
        if name := public_name(type(value), SPARSE):
            from scipy import (
                sparse,
            )  # not before: a quick error in a data file should not wait for it

            return self._file(
                *name,
                "SparseMatrixNode",
                ".npz",
                lambda out: sparse.save_npz(out, value),
            )
        if name := public_name(type(value), CLASSES):
            state = {
                key: each
                for key, each in value.__getstate__().items()
                if key not in UNNEEDED
            }
            if isinstance(
                value, Result
            ):  # what solvers add may be of any type and is not part of the certificate
                state["info"] = {}
            self.foreign |= {
                f"{name[1]} with {one}={state[one]!r}"
                for one in risky_attributes(state)
            }
            return _node(*name, "ObjectNode", self.node(state))
        is_named = isinstance(value, type) or (
            callable(value) and hasattr(value, "__qualname__")
        )
        thing = value if is_named else type(value)
        self.foreign.add(f"{thing.__module__}.{getattr(thing, '__qualname__', thing)}")
        return None


def _node(home: str, name: str, loader: str, content: Json = None) -> dict[str, Json]:
    bare = {"__module__": home, "__class__": name, "__loader__": loader}
    if content is None:
        return bare
    return {**bare, "content": content}


def risky_attributes(state: dict[str, Any]) -> list[str]:
    """Return the names of attributes with which an estimator would read or write files."""
    return [
        name
        for name, harmless in HARMLESS.items()
        if name in state and state[name] not in harmless
    ]


class Builder:
    """Builds objects from nodes whose names have been checked, and from the arrays of their archive."""

    def __init__(self, members: dict[str, bytearray]):
        self._files = dict(members)  # those that were not read yet
        self.sklearn_versions: set[str] = set()  # that wrote transformers
        self._ways: dict[str, Callable[[dict[str, Json]], Any]] = {
            "ScalarNode": lambda node: self._class(node)(_one_value(node["content"])),
            "DictNode": lambda node: {
                key: self.build(value) for key, value in node["content"].items()
            },
            "PairsNode": self._pairs,
            "ListNode": self._list,
            "TupleNode": lambda node: tuple(self._list(node)),
            "SliceNode": lambda node: slice(*map(_one_value, node["content"])),
            **dict.fromkeys(("TypeNode", "FunctionNode"), self._class),
            "DTypeNode": lambda node: _plain(np.dtype(_one_value(node["content"]))),
            "NdArrayNode": lambda node: self._read(node["content"]),
            "ObjectArrayNode": lambda node: np.fromiter(
                self._list(node), dtype=object
            ).reshape(node["shape"]),
            "SparseMatrixNode": self._sparse,
            "ObjectNode": self._object,
        }

    def build(self, node: Json) -> Any:
        if isinstance(node, dict):
            return self._ways[node["__loader__"]](node)
        return _one_value(node)

    def _class(self, node: dict[str, Json]):
        return named(node["__module__"], node["__class__"])

    def _list(self, node: dict[str, Json]) -> list:
        return [self.build(part) for part in node["content"]]

    def _pairs(self, node: dict[str, Json]) -> dict:
        keys, values = (
            [self.build(pair[k]) for pair in node["content"]] for k in (0, 1)
        )
        require(
            len(set(map(hash, keys))) > len(keys) - 100,
            "a dict in it has keys with the same hash.",
        )
        return dict(zip(keys, values, strict=True))

    def _read(self, file: str) -> np.ndarray:
        """Return a view of the array in a file, never larger than it, whatever its header says."""
        content = self._files.pop(file)
        stream = io.BytesIO(memoryview(content)[:LITTLE])
        if npy.read_magic(stream) == (1, 0):
            read = npy.read_array_header_1_0
        else:
            read = npy.read_array_header_2_0
        shape, is_fortran, dtype = read(stream)
        require(
            math.prod(shape) <= len(content),
            f"{file} in it is larger than it should be.",
        )
        require(not _plain(dtype).hasobject, f"{file} in it is an array of objects.")
        return np.ndarray(
            shape,
            dtype,
            content,
            stream.tell(),
            order="F" if is_fortran else "C",
        )

    def _sparse(self, node: dict[str, Json]):
        from scipy import sparse

        if node["__class__"].startswith("dia"):
            names = ["data", "offsets"]
        else:
            names = ["data", "indices", "indptr"]
        *parts, shape = (
            self._read(f"{node['content']}/{name}.npy") for name in [*names, "shape"]
        )
        require(
            all(part.dtype in (np.int32, np.int64) for part in parts[1:]),
            "a matrix in it has other indices.",
        )
        matrix = getattr(sparse, node["__class__"])(
            tuple(parts), shape=tuple(shape.tolist())
        )
        if len(parts) == 3:
            # Scipy would read memory beyond its arrays for others
            matrix.check_format(full_check=True)
        return matrix

    def _object(self, node: dict[str, Json]):
        cls = self._class(node)
        state = self.build(node["content"])
        require(
            isinstance(state, dict) and not risky_attributes(state),
            f"the attributes of {node['__class__']}.",
        )
        if isinstance(written := state.get("_sklearn_version"), str):
            self.sklearn_versions.add(written)
            # Otherwise, it would warn for every object
            state["_sklearn_version"] = SKLEARN
        if "_fit_dtype" in state:  # SimpleImputer before scikit-learn 1.8
            state.setdefault("_fill_dtype", state["_fit_dtype"])
        if hasattr(
            cls, "get_params"
        ):  # which may have parameters that are younger than the file
            state = {
                name: one.default for name, one in signature(cls).parameters.items()
            } | state
        made = object.__new__(cls)
        getattr(made, "__setstate__", made.__dict__.update)(state)
        if isinstance(vars(made).get("result_"), list):
            made.result_ = Results(
                made.result_, np.ravel(made.classes_[: len(made.result_)]).tolist()
            )
        return made


def _one_value(value: Json) -> Json:
    require(
        value is None or isinstance(value, bool | int | float | str),
        "it contains a list that is not in a node.",
    )
    return value


def _plain(dtype: np.dtype) -> np.dtype:
    require(
        dtype.kind in "biufOUSmM" and dtype.itemsize <= LITTLE,
        f"it contains values of type {dtype}.",
    )
    return dtype
