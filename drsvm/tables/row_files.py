"""Rows in memory-mapped files, from any source: nothing copies them into memory.

`rows_on_disk` is for users; `RowWriter` writes such files, block by block.
"""

import json
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import InitVar, dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.lib import format as npy
from numpy.typing import ArrayLike, DTypeLike
from scipy import sparse

from drsvm.tables.arrow_tables import ArrowTable
from drsvm.tables.columns import found_or_error
from drsvm.tables.files import DataFileError, invalid
from drsvm.utils.annotations import Matrix, Vector
from drsvm.utils.messages import Message, Parameter
from drsvm.utils.writing import written

# Rows, labels and weights
Block: TypeAlias = tuple[Matrix, Vector | None, Vector | None]

RESERVE = 1 << 26  # bytes of disk space that are left free
DESCRIPTION = "rows.json"  # the file in a folder of rows that names their features
LARGEST_INT32 = np.iinfo(np.int32).max
VECTORS = ("y", "sample_weight")
# Types of pyarrow: all numbers, and those that single precision holds.
NUMBERS = ("int", "uint", "float", "double", "bool")
NARROW = ("float", "halffloat", "bool", "int8", "uint8")
OR_PREPARED = "or pass an iterable of prepared blocks."


@dataclass(eq=False, repr=False)
class RowsOnDisk:
    """Rows in memory-mapped files, with their labels and weights, if any, in memory.

    It is a context manager: temporary files are removed at the end of a ``with`` block,
    by `close`, or when the object is no longer used. The rows of open files stay valid
    on most systems, but do not rely on it.

    Attributes
    ----------
    X : array or CSR array of shape (n, d)
        The rows; read-only.
    y, sample_weight : arrays of shape (n,), or None
        Labels and weights.
    names : list of str, or None
        Names of the features.
    folder : Path
        Where the files are.

    Examples
    --------
    >>> import numpy as np
    >>> from drsvm.tables import rows_on_disk
    >>> with rows_on_disk([(np.eye(2), [0, 1]), (np.zeros((1, 2)), [0])]) as rows:
    ...     print(rows.X.shape, rows.y.tolist())
    (3, 2) [0, 1, 0]
    """

    folder: Path
    X: Matrix
    y: Vector | None = None
    sample_weight: Vector | None = None
    names: list[str] | None = None
    remove: InitVar[bool] = False

    def __post_init__(self, remove: bool):
        # Without temporary files, there is nothing to remove.
        self._remove = nullcontext
        if remove:
            remove_files = partial(shutil.rmtree, self.folder, ignore_errors=True)
            self._remove = weakref.finalize(self, remove_files)

    def close(self) -> None:
        """Remove temporary files."""
        self.X = None
        self.y = None
        self.sample_weight = None
        self._remove()

    def __enter__(self) -> "RowsOnDisk":
        return self

    def __exit__(self, *exception) -> None:
        self.close()

    def __repr__(self) -> str:
        shape = "closed"
        if self.X is not None:
            n_rows, n_features = self.X.shape
            shape = f"{n_rows:,} × {n_features:,} {self.X.dtype}"
        return f"RowsOnDisk({self.folder}: {shape})"


def rows_on_disk(
    source: Any,
    *,
    label: str | None = None,
    folder: str | Path | None = None,
    progress: Callable[[int], None] | None = None,
) -> RowsOnDisk:
    """Return rows that need not fit into memory.

    Estimators and `Problem` use them without a copy. Arrays in .npy files are opened as
    they are. Everything else is written to files once: into a temporary folder that is
    removed at the end, or into one that is kept and can be opened again. Columns are
    neither standardised nor encoded: pass an iterable of prepared blocks, or use
    ``drsvm fit``, which prepares tables of any size.

    Parameters
    ----------
    source : path, iterable or iterator
        - a .npy file;
        - a folder with ``X.npy``, or with ``data.npy``, ``indices.npy`` and
          ``indptr.npy`` of a CSR matrix, and optionally ``y.npy`` and
          ``sample_weight.npy``: what this function keeps;
        - a Parquet or Arrow file, or a folder of them, with columns of numbers;
        - an iterable of blocks ``X``, ``(X, y)`` or ``(X, y, sample_weight)``, dense
          or sparse;
        - an object with the methods ``next(input_data)`` and ``reset()``, like
          XGBoost's ``DataIter``.
    label : str, optional
        For Parquet and Arrow: the column of the labels. All others are features.
    folder : path, optional
        Where to write the rows and keep them; by default a temporary folder (in
        ``TMPDIR``, if that is set).
    progress : callable, optional
        Called with the number of rows written so far.

    Returns
    -------
    RowsOnDisk

    Examples
    --------
    >>> import numpy as np
    >>> from drsvm import WassersteinSVC
    >>> from drsvm.tables import rows_on_disk
    >>> rng = np.random.default_rng(0)
    >>> def blocks():
    ...     for _ in range(5):
    ...         X = rng.normal(size=(1000, 3))
    ...         yield X, X[:, 0] + rng.normal(size=1000) > 0
    >>> with rows_on_disk(blocks()) as rows:
    ...     model = WassersteinSVC().fit(rows.X, rows.y)
    >>> bool(model.gap_ <= 1e-6)
    True
    """
    if not isinstance(source, str | Path):
        return _written(_blocks_of(source), folder, progress)
    path = Path(source)
    if not path.exists():
        raise invalid(path, "no such file or folder.")
    if path.suffix == ".npy":
        X = _mapped(path)
        if X.ndim != 2:
            raise invalid(path, f"has shape {X.shape}: rows need two dimensions.")
        return RowsOnDisk(path.parent, X)
    if path.is_dir() and ((path / "X.npy").exists() or (path / "data.npy").exists()):
        return opened_folder(path)
    table = ArrowTable(path)
    features = list(table.names)
    if label is not None:
        [label] = found_or_error(path, table.names, [label], "label")
        features.remove(label)
    dtype = np.dtype(np.float32)
    for name in features:
        kind = str(table.schema.field(name).type)
        if not kind.startswith(NUMBERS):
            raise invalid(
                path,
                f"column {name!r} has type {kind}, not numbers: use drsvm fit, which "
                f"encodes it, {OR_PREPARED}",
            )
        if kind not in NARROW:
            dtype = np.dtype(np.float64)
    needed = table.n_rows * len(features) * dtype.itemsize
    blocks = _numbers(table, label, features, dtype)
    return _written(blocks, folder, progress, features, needed)


def opened_folder(folder: Path, remove: bool = False) -> RowsOnDisk:
    """Return the rows in a folder that `rows_on_disk` has written, or one like it.

    If it is temporary, it can be removed when the rows are no longer used.
    """
    known = {}
    if (folder / DESCRIPTION).exists():
        known = json.loads((folder / DESCRIPTION).read_text())
    if (folder / "X.npy").exists():
        X = _mapped(folder / "X.npy")
    else:
        X = _mapped_csr(folder, known.get("n_features"))
    vectors = {}
    for name in VECTORS:
        path = folder / f"{name}.npy"
        if path.exists():
            values = np.array(_mapped(path))
            if len(values) != X.shape[0]:
                raise invalid(
                    folder,
                    f"has {X.shape[0]} rows but {len(values)} entries in {path.name}: "
                    "write them again.",
                )
            vectors[name] = values
    return RowsOnDisk(folder, X, **vectors, names=known.get("names"), remove=remove)


def _mapped_csr(folder: Path, n_features: int | None) -> sparse.csr_array:
    data = _mapped(folder / "data.npy")
    indices = _mapped(folder / "indices.npy")
    indptr = _mapped(folder / "indptr.npy")
    if len(data) != len(indices) or indptr[-1] != len(data):
        raise invalid(
            folder,
            "data.npy, indices.npy and indptr.npy do not fit together: write them "
            "again.",
        )
    shape = (len(indptr) - 1, n_features or int(indices.max()) + 1)
    return sparse.csr_array((data, indices, indptr), shape=shape)


def _mapped(path: Path) -> np.ndarray:
    try:
        return np.load(path, mmap_mode="r")
    except FileNotFoundError:
        raise invalid(path, "no such file.") from None
    except (ValueError, EOFError, OSError) as error:
        raise invalid(
            path,
            f"is truncated, changed or not a .npy file ({error}): write it again.",
        ) from None


def _written(
    blocks: Iterable[Block],
    folder: str | Path | None,
    progress: Callable[[int], None] | None,
    names: list[str] | None = None,
    needed: int = 0,
) -> RowsOnDisk:
    """Return blocks after they have been written to a folder."""
    with new_folder(folder, needed) as where:
        with RowWriter(where, names) as writer:
            for X, y, sample_weight in blocks:
                writer.add(X, y=y, sample_weight=sample_weight)
                if progress is not None:
                    progress(writer.n_rows)
        if writer.n_rows == 0:
            raise DataFileError("no rows found: the source has no blocks.")
        return opened_folder(where, remove=folder is None)


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


def _blocks_of(source: Any) -> Iterator[Block]:
    """Yield the blocks of an iterable, or of an iterator like XGBoost's."""
    if hasattr(source, "next") and hasattr(source, "reset"):
        yield from _blocks_of_iterator(source)
        return
    if not isinstance(source, Iterable):
        raise TypeError(
            "rows come from a path, an iterable of blocks or an object with next and "
            f"reset, not {source!r}."
        )
    for block in source:
        parts = block if isinstance(block, tuple) else (block,)
        if len(parts) > 3:
            raise DataFileError(
                "a block is X, (X, y) or (X, y, sample_weight), got "
                f"{len(parts)} entries."
            )
        X, y, sample_weight = [*parts, None, None][:3]
        yield X, y, sample_weight


def _blocks_of_iterator(source: Any) -> Iterator[Block]:
    received: list[Block] = []

    def input_data(data, label=None, weight=None, **_) -> None:
        received.append((data, label, weight))

    source.reset()
    while source.next(input_data):
        if not received:
            raise DataFileError(
                "next(input_data) returned True without a call of "
                "input_data(data=..., label=...)."
            )
        yield from received
        received.clear()


def _numbers(
    table: ArrowTable, label: str | None, features: list[str], dtype: np.dtype
) -> Iterator[Block]:
    """Yield the blocks of a table of numbers."""
    wanted = list(features)
    if label is not None:
        wanted.append(label)
    for block in table.blocks(wanted):
        X = np.empty((len(block), len(features)), dtype=dtype)
        y = None
        for place, name in enumerate(wanted):
            column = block.column(place)
            if column.null_count:
                where = table.place(int(np.argmax(column.is_null())))
                raise invalid(
                    table.path,
                    f"column {name!r} is empty in {where}: use drsvm fit, which fills "
                    f"empty cells, {OR_PREPARED}",
                )
            if name == label:
                y = column.to_numpy()
            else:
                X[:, place] = column.to_numpy()
        yield X, y, None


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
        values = np.ascontiguousarray(values, dtype=self.dtype)
        check_space(self.path.parent, values.nbytes)
        self.stream.write(values.data)
        self.length += len(values)

    def complete(self) -> None:
        self.stream.seek(0)
        self._write_header()
        self.stream.close()


class RowWriter:
    """Writes blocks of rows like the first, and vectors such as their labels.

    The files are complete after ``with``.
    """

    def __init__(self, folder: Path, names: list[str] | None = None):
        self.folder = folder
        self.names = names
        self.n_rows = 0
        self._n_blocks = 0
        self._form: dict[str, int | None] = {}  # of the first block
        self._arrays: dict[str, GrowingArray] = {}
        self._vectors: dict[str, list[np.ndarray]] = {}
        self._counts: list[np.ndarray] = []  # the number of entries of each row

    def __enter__(self) -> "RowWriter":
        return self

    def __exit__(self, exception: type | None, *_: object) -> None:
        for array in self._arrays.values():
            if exception is None:
                array.complete()
            # The disk may be full.
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
        if name not in self._arrays:
            path = self.folder / f"{name}.npy"
            self._arrays[name] = GrowingArray(path, dtype, *values.shape[1:])
        self._arrays[name].append(values)

    def _complete(self) -> None:
        """Write what is known only at the end."""
        if self._form["sparse"]:
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
