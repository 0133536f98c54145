"""From a file to numbers: `read` for a new file, `read_like` for a file that a model is applied to."""

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
    invalid,
    read_head,
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
        If the file cannot be used; the message names the position and the remedy.
    """
    path, options = Path(path), options or ReadOptions()
    kind, head, notes = _format(path, options)
    if kind == "svmlight":
        return _with_notes(read_svmlight(path, options), notes)
    file = _table(path, kind, head, options)
    label, columns, assumed = choose_columns(path, file.names, options)
    values = file.read([label, *columns], as_text={label})
    kept, dropped = _kept_rows(file, label, columns, values, options.missing)
    categories = _categories(file, columns, values, kept, options.one_hot)
    schema = Schema("table", 0, label, columns, categories)
    schema = replace(schema, n_features=len(schema.feature_names or []))
    X = _matrix(file, schema, values, kept, options.missing, fixed=False)
    found = [*notes, *file.notes, *assumed, *dropped, *suspicions(columns, values)]
    found += empty_categories(schema, values, kept)
    return Dataset(X, labels_of(values[label][kept]), schema, found, path, kept)


def read_like(path: str | Path, schema: Schema, options: ReadOptions | None = None) -> Dataset:
    """Read a file in the same way as an earlier one; columns are found by name, labels may be missing.

    Parameters
    ----------
    path : str or Path
        The file.
    schema : Schema
        Schema of the earlier file.
    options : ReadOptions, optional
        Only ``format``, ``label``, ``delimiter``, ``header`` and ``missing`` are used; the schema determines the rest.

    Returns
    -------
    Dataset
        ``y`` is None if the file has no label column.
    """
    path, options = Path(path), options or ReadOptions()
    kind, head, notes = _format(path, options)
    if (kind == "svmlight") != (schema.kind == "sparse"):
        trained = "an svmlight file" if schema.kind == "sparse" else "a table with named columns"
        raise invalid(path, f"is a {kind} file, but the model was trained on {trained}: convert one of them.")
    if kind == "svmlight":
        return _with_notes(read_svmlight_like(path, schema), notes)
    file = _table(path, kind, head, options)
    label = _label_if_present(path, file.names, schema, options)
    for column in schema.columns:
        if column not in file.names:
            raise no_such_column(path, file.names, column, "needed by the model")
    wanted = [*([label] if label else []), *schema.columns]
    values = file.read(wanted, as_text={*schema.categories, *([label] if label else [])})
    kept, dropped = _kept_rows(file, label, schema.columns, values, options.missing)
    X = _matrix(file, schema, values, kept, options.missing, fixed=True)
    y = labels_of(values[label][kept]) if label else None
    unknown = unknown_categories(schema, values, kept)
    found = [*notes, *file.notes, *dropped, *unknown, *empty_categories(schema, values, kept)]
    return Dataset(X, y, schema, found, path, kept)


def read_cells(path: str | Path, options: ReadOptions | None = None) -> dict[str, list[str]]:
    """Return all columns of a file as text, also those that are not used; svmlight files have none.

    Parameters
    ----------
    path : str or Path
        The file.
    options : ReadOptions, optional
        Only ``format``, ``delimiter`` and ``header`` are used.

    Returns
    -------
    dict from str to list
    """
    path, options = Path(path), options or ReadOptions()
    kind, head, _ = _format(path, options)
    if kind == "svmlight":
        return {}
    file = _table(path, kind, head, options)
    return {name: list(column) for name, column in zip(file.names, zip(*file.cells(), strict=True), strict=True)}


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
            notes.append(f"{path.name} does not end in a line break: if it is truncated, its last row is incomplete.")
    return kind, head, notes


def _table(path: Path, kind: str, head: bytes, options: ReadOptions) -> TableFile:
    file = ParquetFile(path) if kind == "parquet" else CsvFile(path, head, options.delimiter, options.header)
    check_names(path, file.names)
    return file


def _with_notes(data: Dataset, notes: list[str]) -> Dataset:
    return replace(data, notes=[*notes, *data.notes])


def _label_if_present(path: Path, names: list[str], schema: Schema, options: ReadOptions) -> str | None:
    if options.label is not None:
        return find(path, names, options.label, "--label")
    return schema.label if schema.label in names else None


# --- rows ---------------------------------------------------------------------------------------------------------


def _kept_rows(file: TableFile, label, columns, values, missing: str) -> tuple[np.ndarray, list[str]]:
    """Return the rows to keep: all of them unless missing values are to be dropped."""
    n = len(values[columns[0]])
    if missing == "drop":
        lacking = np.zeros(n, dtype=bool)
        for name in values:
            lacking |= is_missing(values[name])
        kept = np.flatnonzero(~lacking)
        if not len(kept):
            raise invalid(file.path, "every row has a missing value: drop empty columns with --drop.")
        return kept, [f"{n - len(kept)} of {n} rows have missing values and are dropped."] if len(kept) < n else []
    if label is not None and is_missing(values[label]).any():
        row = int(np.argmax(is_missing(values[label])))
        raise invalid(
            file.path,
            f"{file.place(row)} has no label (column {label!r}): fill it in, or use --missing drop.",
        )
    return np.arange(n), []


# --- features -----------------------------------------------------------------------------------------------------


def _categories(file: TableFile, columns, values, kept, one_hot: bool) -> dict[str, list[str]]:
    """Return the categories of text columns; raise an error for unencoded text and for numbers with commas."""
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
            raise invalid(
                file.path,
                f"column {name!r} has {len(categories)} different texts, more than {MAX_CATEGORIES}: drop it "
                f"with --drop {quote(name)}, or group them first.",
            )
        found[name] = categories
    return found


def _text_found(file: TableFile, texts: list[str], values, fixed: bool = False) -> DataFileError:
    """Return an error for the first text column: a few wrong cells among numbers, or a column of text."""
    name = texts[0]
    given = [(row, text) for row, text in enumerate(values[name]) if text is not None]
    odd = [(row, text) for row, text in given if as_number(text) is None]
    if not given:
        return invalid(file.path, f"column {name!r} is empty: drop it with --drop {quote(name)}.")
    row, text = (odd or given)[0]
    where = f"column {name!r} contains the text {shown(text)} ({file.place(row)})"
    if odd and (len(odd) <= 0.5 * len(given) or fixed):
        remedy = "correct it, or empty the cell and use --missing"
        rest = f"while {len(given) - len(odd)} of {len(given)} values are numbers: {remedy}"
        return invalid(file.path, f"{where}, {rest}{_or_drop(name, fixed)}.")
    others = f"; {', '.join(map(repr, texts[1:6]))} also contain text" if len(texts) > 1 else ""
    drops = " ".join(f"--drop {quote(column)}" for column in texts[:6])
    return invalid(file.path, f"{where}{others}: drop text columns ({drops}), or encode them with --one-hot.")


def _commas_found(file: TableFile, names: list[str], values, fixed: bool = False) -> DataFileError:
    """Return an error for columns of numbers with decimal commas, or with commas as thousands separators."""
    name = names[0]
    row = next(row for row, text in enumerate(values[name]) if text is not None and is_number_with_commas(text))
    others = f" (similarly in {', '.join(map(repr, names[1:6]))})" if len(names) > 1 else ""
    return invalid(
        file.path,
        f"column {name!r} contains {shown(values[name][row])} ({file.place(row)}){others}: use decimal points and no "
        f"thousands separators, as in 1234.5{_or_drop(name, fixed)}.",
    )


def _or_drop(name: str, fixed: bool) -> str:
    return "" if fixed else f"; or drop the column with --drop {quote(name)}"


def _matrix(file: TableFile, schema: Schema, values, kept, missing: str, *, fixed: bool) -> np.ndarray:
    """Return the features as one array; `fixed`: a model needs all of them, so no column can be dropped."""
    X = np.empty((len(kept), schema.n_features))
    place = 0
    for name in schema.columns:
        if missing == "error":
            _check_missing(file, name, values[name], kept, fixed)
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


def _check_missing(file: TableFile, name: str, column: Column, kept, fixed: bool) -> None:
    lacking = is_missing(column[kept])
    if not lacking.any():
        return
    row = int(kept[np.argmax(lacking)])
    share = f"{np.count_nonzero(lacking)} of {len(lacking)} values are missing"
    fill = "retrain the model with --missing median" if fixed else "fill them with --missing median"
    drop = "" if fixed else f", or drop the column with --drop {quote(name)}"
    raise invalid(
        file.path,
        f"column {name!r} has no value at {file.place(row)} ({share}): drop such rows with --missing drop, "
        f"or {fill}{drop}.",
    )


def _checked_numbers(file: TableFile, name: str, column: Column, kept, missing: str, fixed: bool) -> np.ndarray:
    if is_text(column):
        found = _commas_found if has_commas(column) else _text_found
        raise found(file, [name], {name: column}, fixed)
    numbers = column[kept]
    if np.isinf(numbers).any():
        row = int(kept[np.argmax(np.isinf(numbers))])
        raise invalid(file.path, f"column {name!r} is infinite at {file.place(row)}: correct it, or empty the cell.")
    if missing == "median" and not fixed and np.isnan(numbers).all():
        raise invalid(file.path, f"column {name!r} is empty: drop it with --drop {quote(name)}.")
    return numbers
