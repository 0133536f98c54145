"""Blocks of rows written to files one after another: a matrix that need not fit into memory."""

import json
import shutil
from contextlib import suppress
from pathlib import Path

import numpy as np
from numpy.lib import format as npy
from numpy.typing import ArrayLike, DTypeLike
from scipy import sparse

from drsvm.annotations import Matrix, Vector
from drsvm.datasets.files import DataFileError, invalid
from drsvm.messages import Message, Parameter

RESERVE = 1 << 26  # bytes of disk space that are left free
DESCRIPTION = "rows.json"  # the file in a folder of rows that names their features

LARGEST_INT32 = np.iinfo(np.int32).max


def check_space(folder: Path, needed: int) -> None:
    """Raise an error if a disk has not enough space for so many bytes."""
    free = shutil.disk_usage(folder).free - RESERVE
    if needed > free:
        what = "the rows need {:.3g} GB of disk space, but only {:.3g} GB are free: choose another disk with {}."
        raise invalid(folder, Message(what, needed / 1e9, max(free, 0) / 1e9, Parameter("folder")))


class GrowingArray:
    """A .npy file that grows along its first axis; its header is completed at the end."""

    def __init__(self, path: Path, dtype: DTypeLike, width: int | None = None):
        self.path, self.dtype, self.width, self.length = path, np.dtype(dtype), width, 0
        self.stream = path.open("w+b")
        self._write_header()

    def _write_header(self) -> None:
        # numpy leaves room in the header for a longer first axis.
        shape = (self.length,) if self.width is None else (self.length, self.width)
        description = {"descr": npy.dtype_to_descr(self.dtype), "fortran_order": False, "shape": shape}
        npy.write_array_header_1_0(self.stream, description)

    def append(self, values: ArrayLike) -> None:
        values = np.ascontiguousarray(values, dtype=self.dtype)
        check_space(self.path.parent, values.nbytes)
        self.stream.write(values.data)
        self.length += len(values)

    def complete(self) -> None:
        self.stream.seek(0)
        self._write_header()
        self.stream.close()


class RowWriter:
    """Writes blocks of rows like the first, and vectors such as their labels, into files, complete after ``with``."""

    def __init__(self, folder: Path, names: list[str] | None = None):
        self.folder, self.names = folder, names
        self._arrays: dict[str, GrowingArray] = {}
        self._first: dict[str, int | None] = {}
        self._vectors: dict[str, list[np.ndarray]] = {}
        self._n_blocks = self.n_rows = self._n_entries = 0

    def __enter__(self) -> "RowWriter":
        return self

    def __exit__(self, exception: type | None, *_: object) -> None:
        if exception is None:
            self._complete()
            return
        for array in self._arrays.values():
            with suppress(OSError):  # the disk may be full
                array.stream.close()

    def add(self, X: Matrix, **vectors: Vector | None) -> None:
        """Write a block; vectors have one entry per row, or are None."""
        self._n_blocks += 1
        X = X if sparse.issparse(X) else np.asarray(X)
        form = {"sparse": sparse.issparse(X), "columns": X.shape[1] if X.ndim == 2 else None}
        form |= {name: values is not None for name, values in vectors.items()}
        self._check_like_the_first(X, form)
        if form["sparse"]:
            self._add_sparse(X)
        else:
            self._array("X", _float_type(X), X.shape[1]).append(X)
        n = X.shape[0]
        for name, values in vectors.items():
            if values is not None:
                vector = np.array(values).ravel()
                if len(vector) != n:
                    raise DataFileError(f"block {self._n_blocks} has {n} rows, but {len(vector)} entries in {name}.")
                self._vectors.setdefault(name, []).append(vector)
        self.n_rows += n

    def _check_like_the_first(self, X: Matrix, form: dict[str, int | None]) -> None:
        number = self._n_blocks
        if form["columns"] is None:
            raise DataFileError(f"block {number} has shape {X.shape}: a block must have rows and columns.")
        if X.dtype.kind not in "fiub":
            raise DataFileError(f"block {number} has dtype {X.dtype}: encode text as numbers before.")
        self._first = self._first or form
        for what, value in self._first.items():
            if form[what] != value:
                had = f"{what}: {form[what]}, in the first one {value}"
                raise DataFileError(f"block {number} does not fit the first one ({had}): make all blocks alike.")

    def _add_sparse(self, X: Matrix) -> None:
        rows = sparse.csr_array(X)
        rows.sum_duplicates()
        self._array("data", _float_type(rows)).append(rows.data)
        self._array("indices", np.int32).append(rows.indices)
        starts = self._array("indptr", np.int64)
        starts.append(rows.indptr[min(starts.length, 1) :].astype(np.int64) + self._n_entries)
        self._n_entries += rows.nnz

    def _array(self, name: str, dtype: DTypeLike, width: int | None = None) -> GrowingArray:
        if name not in self._arrays:
            self._arrays[name] = GrowingArray(self.folder / f"{name}.npy", dtype, width)
        return self._arrays[name]

    def _complete(self) -> None:
        for array in self._arrays.values():
            array.complete()
        if self.n_rows == 0:
            return
        if self._first["sparse"]:
            # scipy takes one type for both, and so does the solver: 32 bits wherever they suffice.
            kind = np.int64 if max(self._n_entries, self.n_rows) > LARGEST_INT32 else np.int32
            for name in ("indices", "indptr"):
                _retype(self.folder / f"{name}.npy", kind)
        for name, parts in self._vectors.items():
            np.save(self.folder / f"{name}.npy", np.concatenate(parts))
        description = {"n_features": self._first["columns"], "names": self.names}
        (self.folder / DESCRIPTION).write_text(json.dumps(description))


def _float_type(X: Matrix) -> DTypeLike:
    return X.dtype if X.dtype == np.float32 else np.float64


def _retype(path: Path, dtype: DTypeLike) -> None:
    """Rewrite a .npy file with another type, block by block."""
    given = np.load(path, mmap_mode="r")
    if given.dtype == dtype:
        return
    copy = GrowingArray(path.with_suffix(".new"), dtype)
    for first in range(0, len(given), RESERVE // 64):
        copy.append(given[first : first + RESERVE // 64])
    copy.complete()
    copy.path.replace(path)
