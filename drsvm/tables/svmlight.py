"""svmlight files: parsed by scikit-learn.

Errors, and values that it accepts too readily, are located line by line.
"""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from drsvm.tables.dataset import Dataset, ReadOptions, Schema
from drsvm.tables.files import DataFileError, compression_of, invalid, opened
from drsvm.tables.values import LARGEST, parsed, shown, whole_numbers
from drsvm.utils.messages import Message, Parameter

if TYPE_CHECKING:
    from scipy.sparse import csr_array

COLUMN_OPTIONS = ("label", "features", "drop", "id", "categorical", "numeric")
# The last feature looks mistyped if only one row has it and its index is this many
# times the previous one
LONELY = 10


def read_svmlight(
    path: Path, options: ReadOptions, notes: list[str], schema: Schema | None = None
) -> Dataset:
    """Read an svmlight file: a new one, or one for a trained model, with the features that the model has."""
    if schema is None and any(getattr(options, name) for name in COLUMN_OPTIONS):
        what = "{}, {}, {}, {}, {} and {} do not apply to svmlight files: omit them."
        raise invalid(path, Message(what, *map(Parameter, COLUMN_OPTIONS)))
    X, y = _parse(path)
    if schema is None:
        schema, further = _new_schema(path, X, options)
        notes = [*notes, *further]
    else:
        if schema.index_base == 1 and X.nnz and int(X.indices.min()) == 0:
            line = _line_with_index(path, 0)
            raise invalid(
                path,
                f"line {line} has the index 0, but the model was trained with indices from 1.",
            )
        beyond = np.unique(
            X.indices[X.indices >= schema.n_features + schema.index_base]
        )
        what = f"{len(beyond)} features that are not in the training file (up to index {beyond.max(initial=0)})"
        notes = [
            *notes,
            *([f"{path.name} has {what}: they are ignored."] if len(beyond) else []),
        ]
    from scipy import sparse  # it takes long to import

    # The first `n_features` features, counted from 0, with 32-bit indices if possible.
    if max(X.nnz, schema.n_features) <= np.iinfo(np.int32).max:
        kind = np.int32
    else:
        kind = np.int64
    width = max(X.shape[1] - schema.index_base, schema.n_features, 0)
    entries = (
        X.data,
        (X.indices - schema.index_base).astype(kind),
        X.indptr.astype(kind),
    )
    X = sparse.csr_array(entries, shape=(X.shape[0], width))
    if width == schema.n_features:
        X = X
    else:
        X = X[:, : schema.n_features]
    return Dataset(X, whole_numbers(y), schema, notes, path, np.arange(len(y)))


def _parse(path: Path) -> tuple["csr_array", np.ndarray]:
    """Return the matrix with the indices of the file, and the labels."""
    from sklearn.datasets import load_svmlight_file

    with opened(path) as stream:
        # Compressed streams are slow to read line by line, so the content is read at
        # once.
        if compression_of(path) is None:
            lines = stream
        else:
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
    path: Path, X: "csr_array", options: ReadOptions
) -> tuple[Schema, list[str]]:
    """Return the schema of a new file, with notes.

    Unless requested, indices start at 0 only if 0 occurs twice.
    """
    base = int(options.index_base != 0)
    notes = []
    zeros = int(np.count_nonzero(X.indices == 0))
    if zeros and options.index_base != 0:
        if zeros == 1 or options.index_base == 1:
            what = "{}line {} has the index 0: correct it, or use {} if the indices start at 0."
            only = "only " if zeros == 1 else ""
            raise invalid(
                path,
                Message(
                    what, only, _line_with_index(path, 0), Parameter("index_base", 0)
                ),
            )
        base = 0
        notes = ["Indices are assumed to start at 0, because the index 0 occurs."]
    n_features = int(X.indices.max()) + 1 - base if X.nnz else 0
    if n_features == 0:
        raise invalid(path, "no features found: every line has only a label.")
    largest = n_features - 1 + base
    if n_features > options.max_features:
        what = (
            "line {} has the index {}, which gives {:,} features, more than the limit of {:,}: correct the index if it "
            "is mistyped, or allow it with {}."
        )
        where = (_line_with_index(path, largest), largest)
        allowed = Parameter("max_features", n_features)
        raise invalid(
            path, Message(what, *where, n_features, options.max_features, allowed)
        )
    used = np.flatnonzero(np.bincount(X.indices))
    is_far = n_features >= 1000 and len(used) > 1 and largest >= LONELY * used[-2]
    if is_far and np.count_nonzero(X.indices == largest) == 1:
        line = _line_with_index(path, largest)
        notes.append(
            f"Feature {largest} occurs only in line {line}, far from all others: is its index mistyped?"
        )
    return Schema(kind="sparse", n_features=n_features, index_base=base), notes


def _line_with_index(path: Path, wanted: int) -> int:
    return next(
        number
        for number, line in _lines(path)
        if any(
            parsed(int, pair.partition(b":")[0]) == wanted for pair in line.split()[1:]
        )
    )


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    with opened(path) as stream:
        for number, line in enumerate(stream, start=1):
            content = line.partition(b"#")[0].strip()
            if content:
                yield number, content


def _first_error(path: Path, error: Exception) -> DataFileError:
    for number, line in _lines(path):
        message = _error_in(line)
        if message:
            return invalid(path, Message("line {}: {}.", number, message))
    return invalid(path, f"is not an svmlight file ({error}).")


def _shown(text: bytes) -> str:
    return shown(text.decode("utf-8", "backslashreplace"))


def _error_in(line: bytes) -> str | None:
    label, *pairs = line.split()
    value = parsed(float, label)
    before = -1
    if value is None:
        if b"," in label:
            remedy = "several labels per row are not supported"
        else:
            remedy = "a line is 'label index:value ...'"
        what = "the label {} is not a number ({}; for another format use {})"
        return Message(what, _shown(label), remedy, Parameter("format"))
    if not np.isfinite(value):
        return f"the label is {_shown(label)}: delete the line or correct it"
    for pair in pairs:
        name, colon, text = pair.partition(b":")
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
            return f"the index {index} follows {before}: indices must increase along a line"
        if not abs(value) <= LARGEST:
            return f"feature {index} is {_shown(text)}: delete the line or replace the value"
        before = index
    return None
