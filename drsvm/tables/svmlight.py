"""svmlight files: parsed by scikit-learn.

Errors, and values that it accepts too readily, are located line by line.
"""

import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from drsvm.tables.cell_styles import parsed
from drsvm.tables.dataset import Dataset, ReadOptions, Schema
from drsvm.tables.files import DataFileError, compression_of, invalid, opened
from drsvm.tables.values import LARGEST, shown, whole_numbers
from drsvm.utils.annotations import Matrix
from drsvm.utils.messages import Message, Parameter, counted

# Options that name columns, which these files do not have
COLUMN_OPTIONS = ("label", "features", "drop", "id", "categorical", "numeric")
# The largest index looks mistyped if it occurs only once, is at least FAR, and at least
# LONELY times the second largest.
FAR = 1000
LONELY = 10


def read_svmlight(
    path: Path, options: ReadOptions, notes: list[str], schema: Schema | None = None
) -> Dataset:
    """Read an svmlight file: a new one, or one for a trained model.

    Parameters
    ----------
    path : Path
        The file.
    options : ReadOptions
        Of which `index_base` and `max_features` are used.
    notes : list of str
        What is already known about the file, for the notes of the result.
    schema : Schema, optional
        For a trained model: that of its training file, whose features the result has.

    Returns
    -------
    Dataset
    """
    if schema is None and any(map(vars(options).get, COLUMN_OPTIONS)):
        what = "{}, {}, {}, {}, {} and {} do not apply to svmlight files: omit them."
        raise invalid(path, Message(what, *map(Parameter, COLUMN_OPTIONS)))
    X, y = _parse(path)
    if schema is None:
        schema, further = _new_schema(path, X, options)
    else:
        further = _check_fit(path, X, schema)
    X = _first_features(X, schema)
    rows = np.arange(len(y))
    return Dataset(X, whole_numbers(y), schema, [*notes, *further], path, rows)


def _check_fit(path: Path, X: Matrix, schema: Schema) -> list[str]:
    """Return a note on features that a trained model does not know."""
    if schema.index_base == 1 and X.nnz and X.indices.min() == 0:
        raise invalid(
            path,
            f"line {_line_with_index(path, 0)} has the index 0, but the model was "
            "trained with indices from 1.",
        )
    beyond = np.unique(X.indices[X.indices >= schema.n_features + schema.index_base])
    if len(beyond) == 0:
        return []
    return [
        f"{path.name} has {counted(len(beyond), 'feature')} beyond those of the "
        f"training file (up to index {beyond.max()}): ignored."
    ]


def _first_features(X: Matrix, schema: Schema) -> Matrix:
    """Return the features that a schema has, counted from 0.

    The indices have 32 bits if possible, as compiled functions want them.
    """
    from scipy import sparse

    width = max(X.shape[1] - schema.index_base, schema.n_features)
    dtype = sparse.get_index_dtype(maxval=max(X.nnz, width))
    indices = (X.indices - schema.index_base).astype(dtype)
    entries = (X.data, indices, X.indptr.astype(dtype))
    X = sparse.csr_array(entries, shape=(X.shape[0], width))
    if width > schema.n_features:
        X = X[:, : schema.n_features]
    return X


def _parse(path: Path) -> tuple[Matrix, np.ndarray]:
    """Return the matrix with the indices of the file, and the labels."""
    from sklearn.datasets import load_svmlight_file

    with opened(path) as stream:
        lines: Any = stream
        if compression_of(path) is not None:
            # Compressed streams are slow to read line by line.
            lines = io.BytesIO(stream.read())
        try:
            X, y = load_svmlight_file(lines, zero_based=True)
        except (ValueError, OverflowError) as error:
            raise _first_error(path, error) from None
    if len(y) == 0:
        raise invalid(path, "no rows found.")
    if not ((np.abs(X.data) <= LARGEST).all() and np.isfinite(y).all()):
        raise _first_error(path, ValueError("some values are not finite"))
    return X, y


def _new_schema(
    path: Path, X: Matrix, options: ReadOptions
) -> tuple[Schema, list[str]]:
    """Return the schema of a new file, with notes."""
    base, notes = _index_base(path, X, options)
    if X.nnz == 0 or X.indices.max() < base:
        raise invalid(path, "no features found: every line has only a label.")
    largest = int(X.indices.max())
    n_features = largest + 1 - base
    if n_features > options.max_features:
        message = Message(
            "line {} has the index {}, which gives {:,} features, more than the limit "
            "of {:,}: correct the index if it is mistyped, or allow it with {}.",
            _line_with_index(path, largest),
            largest,
            n_features,
            options.max_features,
            Parameter("max_features", n_features),
        )
        raise invalid(path, message)
    used = np.flatnonzero(np.bincount(X.indices))
    is_far = n_features >= FAR and len(used) > 1 and largest >= LONELY * used[-2]
    if is_far and np.count_nonzero(X.indices == largest) == 1:
        notes.append(
            f"Feature {largest} occurs only in line {_line_with_index(path, largest)}, "
            "far from all others: is its index mistyped?"
        )
    return Schema(kind="sparse", n_features=n_features, index_base=base), notes


def _index_base(path: Path, X: Matrix, options: ReadOptions) -> tuple[int, list[str]]:
    """Return the index of the first feature, 1 or 0, with a note if it is 0.

    Unless requested, indices start at 0 only if 0 occurs twice: once may be a mistake.
    """
    if options.index_base == 0:
        return 0, []
    n_zeros = int(np.count_nonzero(X.indices == 0))
    if n_zeros == 0:
        return 1, []
    if n_zeros > 1 and options.index_base is None:
        return 0, ["Indices are assumed to start at 0, because the index 0 occurs."]
    only = "only " if n_zeros == 1 else ""
    message = Message(
        "{}line {} has the index 0: correct it, or use {} if the indices start at 0.",
        only,
        _line_with_index(path, 0),
        Parameter("index_base", 0),
    )
    raise invalid(path, message)


def _line_with_index(path: Path, wanted: int) -> int:
    """Return the number of the first line with an index, which there is."""
    # It may be written as +7 or 007.
    pair = re.compile(rb"\s[+-]?0*%d:" % wanted)
    for number, line in _lines(path):
        if pair.search(line):
            return number
    raise AssertionError(f"no line has the index {wanted}")


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the lines that are not empty, without comments, and their numbers."""
    with opened(path) as stream:
        for number, line in enumerate(stream, start=1):
            content = line.partition(b"#")[0].strip()
            if content:
                yield number, content


def _first_error(path: Path, error: Exception) -> DataFileError:
    """Return an error about the first wrong line, or the given one if there is none."""
    for number, line in _lines(path):
        message = _error_in(line)
        if message:
            return invalid(path, Message("line {}: {}.", number, message))
    return invalid(path, f"is not an svmlight file ({error}).")


def _error_in(line: bytes) -> str | None:
    """Return what is wrong with a line, or None."""
    label, *pairs = line.split()
    value = parsed(float, label)
    if value is None:
        remedy = "a line is 'label index:value ...'"
        if b"," in label:
            remedy = "several labels per row are not supported"
        what = "the label {} is not a number ({}; for another format use {})"
        return Message(what, _shown(label), remedy, Parameter("format"))
    if not np.isfinite(value):
        return f"the label is {_shown(label)}: delete the line or correct it"
    before = -1
    for pair in pairs:
        name, colon, text = pair.partition(b":")
        # The number of a query, as in data for ranking, is not a feature.
        if name == b"qid":
            continue
        index = parsed(int, name)
        value = parsed(float, text)
        if not colon or index is None or value is None:
            return f"{_shown(pair)} is not of the form index:value"
        if index < 0:
            return f"the index {index} is negative: indices start at 1 (or 0)"
        if index >= 2**31:
            return f"the index {index} is too large: correct it if it is mistyped"
        if index <= before:
            return (
                f"the index {index} follows {before}: indices must increase along a "
                "line"
            )
        if not abs(value) <= LARGEST:
            return (
                f"feature {index} is {_shown(text)}: delete the line or replace the "
                "value"
            )
        before = index
    return None


def _shown(text: bytes) -> str:
    """Return a part of a line for a message."""
    return shown(text.decode("utf-8", "backslashreplace"))
