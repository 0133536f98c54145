"""From a file to numbers: `read` for a new file, `read_like` for one that a model shall be applied to."""

from dataclasses import replace
from pathlib import Path
from shlex import quote

import numpy as np

from drsvm.datasets.arrow_files import ParquetFile
from drsvm.datasets.columns import check_names, choose_columns, find, no_such_column
from drsvm.datasets.csv_files import CsvFile
from drsvm.datasets.dataset import MAX_CATEGORIES, Dataset, ReadOptions, Schema
from drsvm.datasets.files import (
    DataFileError,
    check_readable,
    check_text,
    detect_format,
    ends_in_mid_line,
    read_head,
    refuse,
)
from drsvm.datasets.notes import empty_categories, suspicions, unknown_categories
from drsvm.datasets.svmlight import read_svmlight, read_svmlight_like
from drsvm.datasets.values import (
    Column,
    as_number,
    has_commas,
    is_missing,
    is_number_with_commas,
    is_text,
    labels_of,
    shown,
)

TableFile = CsvFile | ParquetFile


def read(path: str | Path, options: ReadOptions | None = None) -> Dataset:
    """Read features and labels from a file.

    Parameters
    ----------
    path : str or Path
        An svmlight, CSV or Parquet file; svmlight and CSV may be compressed (.gz, .bz2, .xz, .zst).
    options : ReadOptions, optional
        How to read it.

    Returns
    -------
    Dataset

    Raises
    ------
    DataFileError
        If the file is not what it should be; the message names the place and the remedy.
    """
    path, options = Path(path), options or ReadOptions()
    kind, head, notes = _format(path, options)
    if kind == "svmlight":
        return _with_notes(read_svmlight(path, options), notes)
    file = _table(path, kind, head, options)
    label, columns, taken = choose_columns(path, file.names, options)
    values = file.read([label, *columns], as_text={label})
    kept, left_out = _kept_rows(file, label, columns, values, options.missing)
    categories = _categories(file, columns, values, kept, options.one_hot)
    schema = Schema("table", 0, label, columns, categories)
    schema = replace(schema, n_features=len(schema.feature_names or []))
    X = _matrix(file, schema, values, kept, options.missing, fixed=False)
    found = [*notes, *file.notes, *taken, *left_out, *suspicions(columns, values)]
    found += empty_categories(schema, values, kept)
    return Dataset(X, labels_of(values[label][kept]), schema, found, path, kept)


def read_like(path: str | Path, schema: Schema, options: ReadOptions | None = None) -> Dataset:
    """Read a file in the way of an earlier one; columns are found by name, labels may be missing.

    Parameters
    ----------
    path : str or Path
        The file.
    schema : Schema
        That of the earlier file.
    options : ReadOptions, optional
        ``format``, ``label``, ``delimiter``, ``header`` and ``missing`` count; the rest is the schema's.

    Returns
    -------
    Dataset
        ``y`` is None where the file has no label column.
    """
    path, options = Path(path), options or ReadOptions()
    kind, head, notes = _format(path, options)
    if (kind == "svmlight") != (schema.kind == "sparse"):
        trained = "an svmlight file" if schema.kind == "sparse" else "a table with named columns"
        raise refuse(path, f"is a {kind} file, but the model was trained on {trained}: convert one of them.")
    if kind == "svmlight":
        return _with_notes(read_svmlight_like(path, schema), notes)
    file = _table(path, kind, head, options)
    label = _label_if_there(path, file.names, schema, options)
    for column in schema.columns:
        if column not in file.names:
            raise no_such_column(path, file.names, column, "needed by the model")
    wanted = [*([label] if label else []), *schema.columns]
    values = file.read(wanted, as_text={*schema.categories, *([label] if label else [])})
    kept, left_out = _kept_rows(file, label, schema.columns, values, options.missing)
    X = _matrix(file, schema, values, kept, options.missing, fixed=True)
    y = labels_of(values[label][kept]) if label else None
    unknown = unknown_categories(schema, values, kept)
    found = [*notes, *file.notes, *left_out, *unknown, *empty_categories(schema, values, kept)]
    return Dataset(X, y, schema, found, path, kept)


def _format(path: Path, options: ReadOptions) -> tuple[str, bytes, list[str]]:
    check_readable(path)
    head = read_head(path)
    if options.format is None:
        kind, note = detect_format(path, head)
        notes = [note] if note else []
    else:
        kind, notes = options.format, []
    if kind != "parquet":
        check_text(path, head)
        if ends_in_mid_line(path):
            notes.append(f"{path.name} does not end in a line break: if it was cut off, its last row is incomplete.")
    return kind, head, notes


def _table(path: Path, kind: str, head: bytes, options: ReadOptions) -> TableFile:
    file = ParquetFile(path) if kind == "parquet" else CsvFile(path, head, options.delimiter, options.header)
    check_names(path, file.names)
    return file


def _with_notes(data: Dataset, notes: list[str]) -> Dataset:
    return replace(data, notes=[*notes, *data.notes])


def _label_if_there(path: Path, names: list[str], schema: Schema, options: ReadOptions) -> str | None:
    if options.label is not None:
        return find(path, names, options.label, "--label")
    return schema.label if schema.label in names else None


# --- rows ---------------------------------------------------------------------------------------------------------


def _kept_rows(file: TableFile, label, columns, values, missing: str) -> tuple[np.ndarray, list[str]]:
    """Return the rows to keep; where missing values are not to be dropped, that is all of them."""
    n = len(values[columns[0]])
    if missing == "drop":
        lacking = np.zeros(n, dtype=bool)
        for name in values:
            lacking |= is_missing(values[name])
        kept = np.flatnonzero(~lacking)
        if not len(kept):
            raise refuse(file.path, "every row has a missing value: leave out empty columns with --drop.")
        return kept, [f"{n - len(kept)} of {n} rows have missing values and are left out."] if len(kept) < n else []
    if label is not None and is_missing(values[label]).any():
        row = int(np.argmax(is_missing(values[label])))
        raise refuse(
            file.path,
            f"{file.place(row)} has no label (column {label!r}): fill it in, or give --missing drop.",
        )
    return np.arange(n), []


# --- features -----------------------------------------------------------------------------------------------------


def _categories(file: TableFile, columns, values, kept, one_hot: bool) -> dict[str, list[str]]:
    """Return the categories of text columns; refuse text where it is not to be encoded, and numbers with commas."""
    texts = [name for name in columns if is_text(values[name])]
    with_commas = [name for name in texts if has_commas(values[name])]
    if with_commas:
        raise _commas_found(file, with_commas, values)
    if texts and not one_hot:
        raise _text_found(file, texts, values)
    found = {}
    for name in texts:
        categories = sorted({value for value in values[name][kept] if value is not None})
        if len(categories) > MAX_CATEGORIES:
            raise refuse(
                file.path,
                f"column {name!r} has {len(categories)} different texts, more than {MAX_CATEGORIES}: leave it out "
                f"with --drop {quote(name)}, or group them first.",
            )
        found[name] = categories
    return found


def _text_found(file: TableFile, texts: list[str], values, fixed: bool = False) -> DataFileError:
    """Return an error on the first text column: some wrong cells among numbers, or a column of texts."""
    name = texts[0]
    given = [(row, text) for row, text in enumerate(values[name]) if text is not None]
    odd = [(row, text) for row, text in given if as_number(text) is None]
    if not given:
        return refuse(file.path, f"column {name!r} is empty: leave it out with --drop {quote(name)}.")
    row, text = (odd or given)[0]
    where = f"column {name!r} holds the text {shown(text)} ({file.place(row)})"
    if odd and (len(odd) <= 0.5 * len(given) or fixed):
        remedy = "correct it, or empty the cell and give --missing"
        rest = f"while {len(given) - len(odd)} of {len(given)} values are numbers: {remedy}"
        return refuse(file.path, f"{where}, {rest}{_leave_out(name, fixed)}.")
    others = f"; there is text in {', '.join(map(repr, texts[1:6]))} too" if len(texts) > 1 else ""
    drops = " ".join(f"--drop {quote(column)}" for column in texts[:6])
    return refuse(file.path, f"{where}{others}: leave it out ({drops}), or encode the categories with --one-hot.")


def _commas_found(file: TableFile, names: list[str], values, fixed: bool = False) -> DataFileError:
    """Return an error on columns of numbers with decimal commas, or with commas between thousands."""
    name = names[0]
    row = next(row for row, text in enumerate(values[name]) if text is not None and is_number_with_commas(text))
    others = f" (and likewise in {', '.join(map(repr, names[1:6]))})" if len(names) > 1 else ""
    return refuse(
        file.path,
        f"column {name!r} holds {shown(values[name][row])} ({file.place(row)}){others}: write decimal points, not "
        f"commas, and no separators of thousands, as in 1234.5{_leave_out(name, fixed)}.",
    )


def _leave_out(name: str, fixed: bool) -> str:
    return "" if fixed else f"; or leave the column out with --drop {quote(name)}"


def _matrix(file: TableFile, schema: Schema, values, kept, missing: str, *, fixed: bool) -> np.ndarray:
    """Return the features as one array; `fixed`: a model needs them all, so no column can be left out."""
    X = np.empty((len(kept), schema.n_features))
    place = 0
    for name in schema.columns:
        if missing == "error":
            _refuse_missing(file, name, values[name], kept, fixed)
        if name in schema.categories:
            categories = schema.categories[name]
            X[:, place : place + len(categories)] = _indicators(values[name][kept], categories)
            place += len(categories)
        else:
            X[:, place] = _checked_numbers(file, name, values[name], kept, missing, fixed)
            place += 1
    return X


def _indicators(texts: Column, categories: list[str]) -> np.ndarray:
    codes = {category: code for code, category in enumerate(categories)}
    chosen = np.array([codes.get(text, -1) for text in texts])
    return chosen[:, None] == np.arange(len(categories))


def _refuse_missing(file: TableFile, name: str, column: Column, kept, fixed: bool) -> None:
    lacking = is_missing(column[kept])
    if not lacking.any():
        return
    row = int(kept[np.argmax(lacking)])
    share = f"{np.count_nonzero(lacking)} of {len(lacking)} values are missing"
    fill = "train the model again with --missing median" if fixed else "fill them with --missing median"
    leave_out = "" if fixed else f", or leave the column out with --drop {quote(name)}"
    raise refuse(
        file.path,
        f"column {name!r} has no value at {file.place(row)} ({share}): leave such rows out with --missing drop, "
        f"or {fill}{leave_out}.",
    )


def _checked_numbers(file: TableFile, name: str, column: Column, kept, missing: str, fixed: bool) -> np.ndarray:
    if is_text(column):
        found = _commas_found if has_commas(column) else _text_found
        raise found(file, [name], {name: column}, fixed)
    numbers = column[kept]
    if np.isinf(numbers).any():
        row = int(kept[np.argmax(np.isinf(numbers))])
        raise refuse(file.path, f"column {name!r} is infinite at {file.place(row)}: correct it, or empty the cell.")
    if missing == "median" and not fixed and np.isnan(numbers).all():
        raise refuse(file.path, f"column {name!r} is empty: leave it out with --drop {quote(name)}.")
    return numbers
