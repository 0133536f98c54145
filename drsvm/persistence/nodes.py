"""Objects as plain data and back: JSON for their structure, NumPy files for arrays.

Each object is a node: a dict that names its class and how to build it (``__loader__``).
Numbers, texts, truth values and None stand for themselves. A list of two numbers is

    {"__module__": "builtins", "__class__": "list", "__loader__": "ListNode",
     "content": [1.0, 2.0]}

and the content of an array is the name of its file in the archive.

Building runs no code that a file names: an object is created without calling its class,
and gets its attributes; a function or a type is looked up in the lists of `names`, and
only types of scalars are called. Nothing is built that is much larger than the text or
the array for it: arrays are views of what was unpacked, each of a file of its own.
"""

import io
import math
from collections import UserList
from collections.abc import Iterable
from importlib.metadata import version
from inspect import signature
from typing import Any
from zipfile import ZipFile

import numpy as np
from numpy.lib import format as npy

from drsvm.persistence.checks import RESERVED, Json, check_scaler, require
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
# the value that is harmless.
HARMLESS = {"memory": None, "input": "content"}
# The states of partial_fit and of a scorer, which a model does not need to predict
UNNEEDED = ("_block_fits", "_metadata_request")
SKLEARN = version("scikit-learn")
LITTLE = 1 << 20  # bytes of one entry of an array, and of its header
# With this many keys of the same hash, which only an attacker would choose, a dict of n
# keys takes O(n²) time.
EQUAL_HASHES = 100


class Writer:
    """Turns objects into nodes and writes their arrays into a zip archive.

    Parameters
    ----------
    archive : ZipFile
        The archive.

    Attributes
    ----------
    foreign : set of str
        What was found in the objects and may not be in a file.
    """

    def __init__(self, archive: ZipFile):
        self.archive = archive
        self.foreign: set[str] = set()
        self._n_files = 0

    def node(self, value: Any) -> Json:
        """Return the node of an object, with those of all that it consists of."""
        if value is None or type(value) in (bool, int, float, str):
            return value
        if isinstance(value, UserList):
            # Columns, in scikit-learn 1.6.
            value = value.data
        if is_remote(value):
            # Vectors on a cluster, with a value for every row, stay there.
            on_cluster = engine_of(value) == "dask"
            value = np.empty(0) if on_cluster else to_numpy(value)
        kind = type(value)
        if kind is list or kind is Results:
            return _node("builtins", "list", "ListNode", self._nodes(value))
        if kind is tuple:
            return _node("builtins", "tuple", "TupleNode", self._nodes(value))
        if kind is slice:
            ends = [value.start, value.stop, value.step]
            return _node("builtins", "slice", "SliceNode", ends)
        if kind is dict:
            return self._dict(value)
        if kind is np.ndarray:
            return self._array(value)
        if isinstance(value, np.dtype):
            return _node("numpy", "dtype", "DTypeNode", value.str)
        return self._named(value)

    def _nodes(self, values: Iterable[object]) -> list[Json]:
        return list(map(self.node, values))

    def _array(self, value: np.ndarray) -> Json:
        """Return the node of an array: one of objects has a node for each of them."""
        if value.dtype.hasobject:
            content = self._nodes(value.ravel().tolist())
            node = _node("numpy", "ndarray", "ObjectArrayNode", content)
            node["shape"] = list(value.shape)
            return node
        content = io.BytesIO()
        np.save(content, value, allow_pickle=False)
        return _node("numpy", "ndarray", "NdArrayNode", self._file(".npy", content))

    def _file(self, ending: str, content: io.BytesIO) -> str:
        """Write a file into the archive, and return its name."""
        self._n_files += 1
        name = f"{self._n_files}{ending}"
        self.archive.writestr(name, content.getvalue())
        return name

    def _dict(self, value: dict) -> Json:
        """Return the node of a dict: as one of JSON if its keys allow that."""
        if all(type(key) is str and key not in RESERVED for key in value):
            content = {key: self.node(entry) for key, entry in value.items()}
            return _node("builtins", "dict", "DictNode", content)
        pairs = list(map(self._nodes, value.items()))
        return _node("builtins", "dict", "PairsNode", pairs)

    def _named(self, value: Any) -> Json:
        """Return the node of anything that is in the tables; note anything else."""
        if name := public_name(type(value), SCALARS):
            return _node(*name, "ScalarNode", value.item())
        if name := public_name(value, PLAIN_TYPES):
            return _node(*name, "TypeNode")
        if name := public_name(value, FUNCTIONS):
            return _node(*name, "FunctionNode")
        if name := public_name(type(value), SPARSE):
            # Not imported before: a quick error in a data file should not wait for it.
            from scipy import sparse

            content = io.BytesIO()
            sparse.save_npz(content, value)
            return _node(*name, "SparseMatrixNode", self._file(".npz", content))
        if name := public_name(type(value), CLASSES):
            return _node(*name, "ObjectNode", self._state(name[1], value))
        thing: Any = value
        if not hasattr(value, "__qualname__"):
            thing = type(value)
        self.foreign.add(f"{thing.__module__}.{thing.__qualname__}")
        return None

    def _state(self, name: str, value: Any) -> Json:
        """Return the node of the attributes of an object."""
        state = dict(value.__getstate__())
        for key in UNNEEDED:
            state.pop(key, None)
        if isinstance(value, Result):
            # What solvers add may be of any type and is not part of the certificate.
            state["info"] = {}
        for key in risky_attributes(state):
            self.foreign.add(f"{name} with {key}={state[key]!r}")
        return self.node(state)


def _node(home: str, name: str, loader: str, content: Json = None) -> dict[str, Json]:
    """Return a node that names a class, how to build the object, and from what."""
    node = {"__module__": home, "__class__": name, "__loader__": loader}
    if content is not None:
        node["content"] = content
    return node


def risky_attributes(state: dict[str, Any]) -> list[str]:
    """Return the attributes with which an estimator would read or write files."""
    risky = []
    for name, harmless in HARMLESS.items():
        if state.get(name, harmless) != harmless:
            risky.append(name)
    return risky


class Builder:
    """Builds objects from nodes whose names have been checked, and from arrays.

    Parameters
    ----------
    members : dict
        The content of each file in the archive by its name.

    Attributes
    ----------
    sklearn_versions : set of str
        The versions of scikit-learn that wrote transformers.
    """

    def __init__(self, members: dict[str, bytearray]):
        # Those that were not read yet: each belongs to one array only.
        self._files = dict(members)
        self.sklearn_versions: set[str] = set()

    def build(self, node: Json) -> Any:
        """Return the object of a node."""
        if not isinstance(node, dict):
            return _one_value(node)
        content: Json = node.get("content")
        match node["__loader__"]:
            case "ObjectNode":
                return self._object(node)
            case "TypeNode" | "FunctionNode":
                return _looked_up(node)
            case "DictNode":
                return {key: self.build(entry) for key, entry in content.items()}
            case "PairsNode":
                return self._pairs(content)
            case "ListNode":
                return self._list(content)
            case "TupleNode":
                return tuple(self._list(content))
            case "SliceNode":
                return slice(*map(_one_value, content))
            case "ScalarNode":
                return _looked_up(node)(_one_value(content))
            case "DTypeNode":
                return _plain(np.dtype(_one_value(content)))
            case "NdArrayNode":
                return self._array(content)
            case "ObjectArrayNode":
                entries = np.fromiter(self._list(content), dtype=object)
                return entries.reshape(node["shape"])
            case "SparseMatrixNode":
                return self._sparse(_looked_up(node), content)
        raise KeyError(node["__loader__"])

    def _list(self, content: Json) -> list:
        return list(map(self.build, content))

    def _pairs(self, content: Json) -> dict:
        """Return the dict with the keys and values of nodes."""
        pairs = list(map(self._list, content))
        hashes = {hash(key) for key, _ in pairs}
        require(
            len(hashes) > len(pairs) - EQUAL_HASHES,
            "a dict in it has keys with the same hash.",
        )
        return dict(pairs)

    def _array(self, file: str) -> np.ndarray:
        """Return a view of an array, never larger than its file, whatever it says."""
        content = self._files.pop(file)
        stream = io.BytesIO(content[:LITTLE])
        if npy.read_magic(stream) == (1, 0):
            header = npy.read_array_header_1_0(stream)
        else:
            header = npy.read_array_header_2_0(stream)
        shape, is_fortran, dtype = header
        # Numpy checks the bytes, but allows any number of entries that have none.
        fits = math.prod(shape) <= len(content)
        require(fits, f"{file} in it is larger than it should be.")
        require(not _plain(dtype).hasobject, f"{file} in it is an array of objects.")
        order = "F" if is_fortran else "C"
        return np.ndarray(shape, dtype, content, stream.tell(), order=order)

    def _sparse(self, cls: type, file: str) -> Any:
        """Return a sparse matrix of a class from the arrays of its file."""
        is_diagonal = cls.__name__.startswith("dia")
        names = ["offsets"] if is_diagonal else ["indices", "indptr"]
        arrays = [self._array(f"{file}/data.npy")]
        for name in names:
            places = self._array(f"{file}/{name}.npy")
            is_index = places.dtype in (np.int32, np.int64)
            require(is_index, "a matrix in it has other indices.")
            arrays.append(places)
        shape = self._array(f"{file}/shape.npy").tolist()
        matrix: Any = cls(tuple(arrays), shape=tuple(shape))
        if not is_diagonal:
            # With wrong indices, scipy would read memory beyond its arrays.
            matrix.check_format(full_check=True)
        return matrix

    def _object(self, node: dict[str, Json]) -> Any:
        """Return an object with the attributes of its node; its class is not called."""
        cls = _looked_up(node)
        state = self.build(node["content"])
        is_harmless = isinstance(state, dict) and not risky_attributes(state)
        require(is_harmless, f"the attributes of {node['__class__']}.")
        written = state.get("_sklearn_version")
        if isinstance(written, str):
            self.sklearn_versions.add(written)
            # Otherwise, it would warn for every object.
            state["_sklearn_version"] = SKLEARN
        if "_fit_dtype" in state:
            # A SimpleImputer before scikit-learn 1.8.
            state.setdefault("_fill_dtype", state["_fit_dtype"])
        if hasattr(cls, "get_params"):
            # The class may have parameters that are younger than the file.
            for name, parameter in signature(cls).parameters.items():
                state.setdefault(name, parameter.default)
        made = object.__new__(cls)
        if hasattr(made, "__setstate__"):
            made.__setstate__(state)
        else:
            made.__dict__.update(state)
        # A list of results prints as a table with the labels.
        results = vars(made).get("result_")
        if isinstance(results, list):
            labels = np.ravel(made.classes_[: len(results)]).tolist()
            made.result_ = Results(results, labels)
        if cls.__name__ == "ClippedScaler":
            check_scaler(made)
        return made


def _looked_up(node: dict[str, Json]) -> Any:
    """Return the class, function or type that a node names."""
    return named(node["__module__"], node["__class__"])


def _one_value(value: Json) -> Json:
    """Return a number, a text, a truth value or None; reject anything else."""
    is_one = value is None or isinstance(value, bool | int | float | str)
    require(is_one, "it contains a list that is not in a node.")
    return value


def _plain(dtype: np.dtype) -> np.dtype:
    """Return a type of numbers, texts or times; reject records and huge entries."""
    is_plain = dtype.kind in "biufOUSmM" and dtype.itemsize <= LITTLE
    require(is_plain, f"it contains values of type {dtype}.")
    return dtype
