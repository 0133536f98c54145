"""Writing rows to files block by block, as `row_files` opens them."""

import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
from numpy.lib import format as npy
from numpy.typing import ArrayLike, DTypeLike
from scipy import sparse

from drsvm.tables.files import DataFileError, invalid
from drsvm.utils.annotations import Matrix, Vector
from drsvm.utils.messages import Message, Parameter
from drsvm.utils.writing import written

RESERVE = 1 << 26  # bytes of disk space that are left free
DESCRIPTION = "rows.json"  # the file in a folder of rows that names their features
LARGEST_INT32 = np.iinfo(np.int32).max


@contextmanager
def new_folder(folder: str | Path | None, needed: int) -> Iterator[Path]:
    """Create a folder for `needed` bytes, a temporary one by default.

    If the block fails, nothing of it remains.
    """
    if folder is None:
        folder = tempfile.mkdtemp(prefix="drsvm-")
    path = Path(folder)
    if path.is_dir() and any(path.iterdir()):
        raise invalid(
            path,
            "is not empty: name a new folder, or give this one as the source of the "
            "rows.",
        )
    path.mkdir(parents=True, exist_ok=True)
    try:
        check_space(path, needed)
        with written(path):
            yield path
    except BaseException:
        shutil.rmtree(path, ignore_errors=True)
        raise


def check_space(folder: Path, needed: int) -> None:
    """Raise an error if a disk does not have space for `needed` bytes."""
    free = shutil.disk_usage(folder).free - RESERVE
    if needed > free:
        what = (
            "the rows need {:.3g} GB of disk space, but only {:.3g} GB are free: "
            "choose another disk with {}."
        )
        sizes = (needed / 1e9, max(free, 0) / 1e9)
        raise invalid(folder, Message(what, *sizes, Parameter("folder")))


class GrowingArray:
    """A .npy file that grows along its first axis.

    Its header is completed at the end.

    Parameters
    ----------
    path : Path
        The file.
    dtype : dtype
        The type of its numbers.
    *entry_shape : int
        The shape of the array without its first axis.
    """

    def __init__(self, path: Path, dtype: DTypeLike, *entry_shape: int):
        self.path = path
        self.dtype = np.dtype(dtype)
        self.entry_shape = entry_shape
        self.length = 0
        self.stream = path.open("w+b")
        self._write_header()

    def _write_header(self) -> None:
        # numpy leaves room in the header for a longer first axis.
        description = {
            "descr": npy.dtype_to_descr(self.dtype),
            "fortran_order": False,
            "shape": (self.length, *self.entry_shape),
        }
        npy.write_array_header_1_0(self.stream, description)

    def append(self, values: ArrayLike) -> None:
        """Write an array of shape (n, *entry_shape) behind what is there."""
        values = np.ascontiguousarray(values, dtype=self.dtype)
        check_space(self.path.parent, values.nbytes)
        self.stream.write(values.data)
        self.length += len(values)

    def complete(self) -> None:
        """Write the length into the header, and close the file."""
        self.stream.seek(0)
        self._write_header()
        self.stream.close()


class RowWriter:
    """Writes blocks of rows like the first, and vectors such as their labels.

    It is a context manager, and the files are complete at the end of the ``with``
    block. Dense rows are in ``X.npy``, those of a CSR array in ``data.npy``,
    ``indices.npy`` and ``indptr.npy``, and each vector in a file with its name.

    Parameters
    ----------
    folder : Path
        The folder of the files.
    names : list of str, optional
        The names of the features.
    """

    def __init__(self, folder: Path, names: list[str] | None = None):
        self.folder = folder
        self.names = names
        self.n_rows = 0
        self._n_blocks = 0
        # What all blocks must share with the first one: whether they are sparse, their
        # number of columns, and which vectors they have
        self._form: dict[str, int | None] = {}
        # Rows are written at once; vectors are kept in memory until the end.
        self._arrays: dict[str, GrowingArray] = {}
        self._vectors: dict[str, list[np.ndarray]] = {}
        self._counts: list[np.ndarray] = []  # the number of entries of each row

    def __enter__(self) -> "RowWriter":
        return self

    def __exit__(self, exception: type | None, *_: object) -> None:
        for array in self._arrays.values():
            if exception is None:
                array.complete()
            # If the disk is full, closing fails, too: only the first error is raised.
            with suppress(OSError):
                array.stream.close()
        if exception is None and self.n_rows:
            self._complete()

    def add(self, X: Matrix, **vectors: Vector | None) -> None:
        """Write a block; vectors have one entry per row, or are None."""
        self._n_blocks += 1
        is_sparse = sparse.issparse(X)
        if not is_sparse:
            X = np.asarray(X)
        self._check(X, is_sparse, vectors)
        dtype = np.float32 if X.dtype == np.float32 else np.float64
        if is_sparse:
            # Several entries in one place, which scipy allows, become one.
            rows = sparse.csr_array(X)
            rows.sum_duplicates()
            self._append("data", rows.data, dtype)
            self._append("indices", rows.indices, np.int32)
            self._counts.append(np.diff(rows.indptr))
        else:
            self._append("X", X, dtype)
        n = X.shape[0]
        for name, values in vectors.items():
            if values is None:
                continue
            vector = np.array(values).ravel()
            if len(vector) != n:
                raise DataFileError(
                    f"block {self._n_blocks} has {n} rows, but {len(vector)} entries "
                    f"in {name}."
                )
            self._vectors.setdefault(name, []).append(vector)
        self.n_rows += n

    def _check(
        self, X: Matrix, is_sparse: bool, vectors: dict[str, Vector | None]
    ) -> None:
        """Raise an error for a block that has no numbers, or is not like the first."""
        block = f"block {self._n_blocks}"
        if X.ndim != 2:
            raise DataFileError(
                f"{block} has shape {X.shape}: a block must have rows and columns."
            )
        if X.dtype.kind not in "fiub":
            raise DataFileError(
                f"{block} has dtype {X.dtype}: encode text as numbers before."
            )
        form = {"sparse": is_sparse, "columns": X.shape[1]}
        for name, values in vectors.items():
            form[name] = values is not None
        self._form = self._form or form
        for what, value in self._form.items():
            if form[what] != value:
                raise DataFileError(
                    f"{block} does not fit the first one ({what}: {form[what]}, in the "
                    f"first one {value}): make all blocks alike."
                )

    def _append(self, name: str, values: np.ndarray, dtype: DTypeLike) -> None:
        """Write values to a file, which the first ones create."""
        if name not in self._arrays:
            path = self.folder / f"{name}.npy"
            self._arrays[name] = GrowingArray(path, dtype, *values.shape[1:])
        self._arrays[name].append(values)

    def _complete(self) -> None:
        """Write what is known only at the end."""
        if self._form["sparse"]:
            # Where the entries of each row begin
            starts = np.concatenate([[0], *self._counts]).cumsum()
            if max(starts[-1], self.n_rows) <= LARGEST_INT32:
                starts = starts.astype(np.int32)
            else:
                # Scipy takes one type for both, and so does the solver.
                self._widen_indices()
            np.save(self.folder / "indptr.npy", starts)
        for name, parts in self._vectors.items():
            np.save(self.folder / f"{name}.npy", np.concatenate(parts))
        description = {"n_features": self._form["columns"], "names": self.names}
        (self.folder / DESCRIPTION).write_text(json.dumps(description))

    def _widen_indices(self) -> None:
        """Rewrite the indices with 64 bits, from file to file."""
        path = self.folder / "indices.npy"
        wide = path.with_suffix(".new")
        given = np.load(path, mmap_mode="r")
        check_space(self.folder, 2 * given.nbytes)
        npy.open_memmap(wide, "w+", np.int64, given.shape)[:] = given
        wide.replace(path)
