"""Rows in memory-mapped files, from any source: nothing copies them into memory."""

import json
import shutil
import weakref
from collections.abc import Callable, Iterable, Iterator
from dataclasses import InitVar, dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from drsvm.tables.arrow_tables import ArrowTable
from drsvm.tables.columns import found_or_error
from drsvm.tables.files import DataFileError, invalid
from drsvm.tables.row_writer import DESCRIPTION, RowWriter, new_folder
from drsvm.utils.annotations import Matrix, Vector

# Rows, labels and weights
Block: TypeAlias = tuple[Matrix, Vector | None, Vector | None]

VECTORS = ("y", "sample_weight")
# How pyarrow's types of numbers begin, and those whose numbers single precision holds
NUMBERS = ("int", "uint", "halffloat", "float", "double", "bool")
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
        self._remove: Callable[[], object] | None = None
        if remove:
            # It is called once: by `close`, or when the object or the process ends.
            remove_files = partial(shutil.rmtree, self.folder, ignore_errors=True)
            self._remove = weakref.finalize(self, remove_files)

    def close(self) -> None:
        """Remove temporary files."""
        self.X = None
        self.y = None
        self.sample_weight = None
        if self._remove is not None:
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

    # Files of numpy are opened as they are.
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

    # Columns of Parquet and Arrow files become rows.
    table = ArrowTable(path)
    features = list(table.names)
    if label is not None:
        [label] = found_or_error(path, table.names, [label], "label")
        features.remove(label)
    dtype = np.dtype(np.float32)
    for name in features:
        arrow_type = str(table.schema.field(name).type)
        if not arrow_type.startswith(NUMBERS):
            raise invalid(
                path,
                f"column {name!r} has type {arrow_type}, not numbers: use drsvm fit, "
                f"which encodes it, {OR_PREPARED}",
            )
        if arrow_type not in NARROW:
            dtype = np.dtype(np.float64)
    needed = table.n_rows * len(features) * dtype.itemsize
    blocks = _blocks_of_table(table, label, features, dtype)
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
    """Return the CSR array in a folder; its width is that of its entries if unknown."""
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
    """Return the array in a file without reading it into memory."""
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
    """Write blocks to a folder, of `needed` bytes if that is known, and open it."""
    with new_folder(folder, needed) as where:
        with RowWriter(where, names) as writer:
            for X, y, sample_weight in blocks:
                writer.add(X, y=y, sample_weight=sample_weight)
                if progress is not None:
                    progress(writer.n_rows)
        if writer.n_rows == 0:
            raise DataFileError("no rows found: the source has no blocks.")
        return opened_folder(where, remove=folder is None)


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
    """Yield what an object with ``next(input_data)`` passes to this function."""
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


def _blocks_of_table(
    table: ArrowTable, label: str | None, features: list[str], dtype: np.dtype
) -> Iterator[Block]:
    """Yield the features of a table of numbers, and its labels if it has any."""
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
