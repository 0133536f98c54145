"""From a file to a table of the columns that are used.

`read` is for a new file, `read_like` for one that fits a model.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from drsvm.tables.arrow_columns import Table, columns_of, pyarrow_or_error, taken
from drsvm.tables.arrow_tables import ArrowTable, TableFile
from drsvm.tables.cell_styles import Style
from drsvm.tables.columns import (
    Chosen,
    absent_columns,
    choose_columns,
    found_or_error,
    listed,
)
from drsvm.tables.csv_files import CsvFile
from drsvm.tables.dataset import Dataset, ReadOptions, Schema
from drsvm.tables.decimal_signs import with_numbers
from drsvm.tables.files import files_of, head_and_format, invalid
from drsvm.tables.kinds import FREQUENT_GAPS, Kind, kinds_of, line_break, rare_below
from drsvm.tables.notes import (
    about_leaky_columns,
    leaky_columns,
    similar_labels,
    what_was_done,
    what_was_filled,
)
from drsvm.tables.svmlight import read_svmlight
from drsvm.tables.values import (
    Coded,
    NotANumber,
    coded,
    labels_of,
    levels_of,
    numbers_of,
    shown,
    too_large,
)
from drsvm.utils.messages import Message, Parameter

MANY_LEVELS = 200  # with more categories than this, the features are stored sparsely
FEW_REASONS = 6  # an error lists this many columns that are left out


def read(path: str | Path, options: ReadOptions | None = None) -> Dataset:
    """Read features and labels from a new file: svmlight, CSV or Parquet.

    Parameters
    ----------
    path : str or Path
        The file, or a folder of CSV, Parquet or Arrow files.
    options : ReadOptions, optional
        What is not to be detected.

    Returns
    -------
    Dataset

    Raises
    ------
    DataFileError
        If the file cannot be used. It names everything that needs a decision, and the
        remedy.
    """
    path = Path(path)
    options = options or ReadOptions()
    file, _, notes = _opened(path, options)
    if file is None:
        return read_svmlight(path, options, notes)
    return read_table(file, options, notes)


def read_table(
    file: TableFile, options: ReadOptions, notes: Sequence[str] = ()
) -> Dataset:
    """Read features and labels from a table that has been opened."""
    chosen = choose_columns(file.names, options)
    wanted = [chosen.label, *chosen.features]
    if chosen.verified is not None:
        wanted.append(chosen.verified)
    empty = options.empty
    table = file.read(wanted, chosen.label, empty)
    table = with_numbers(table, chosen.label, options.decimal)
    if len(table) == 1:
        what = "has only one row; a classifier needs rows of at least two classes."
        raise invalid(file.path, what)
    labels = coded(table.column(chosen.label))
    kinds = kinds_of(table, chosen, options, file)
    _check(file, chosen, labels, kinds)

    schema = _schema(chosen, kinds, options, len(table))
    kept, dropped = kept_rows(file, table, chosen.label, schema, options)
    labels = labels._replace(codes=labels.codes[kept])
    y = labels_of(labels)
    if y.dtype == bool:
        truth_labels = sorted(labels.texts(), key=str.lower)
        schema = replace(schema, truth_labels=truth_labels)
    X = taken(converted(file, table, schema, empty), kept)
    verified = None
    if chosen.verified is not None:
        verified = truth_of(file, table, chosen.verified, options)[kept]
    leaky = leaky_columns(schema, X, y)
    further = [] if chosen.by is None else [chosen.by]
    if options.whole:
        further += file.names
    elif options.name_rows:
        further += schema.id
    return Dataset(
        X,
        y,
        schema,
        [
            *notes,
            *file.notes,
            *chosen.notes,
            *dropped,
            *similar_labels(labels),
            *what_was_done(schema, kinds, X),
            *about_leaky_columns(leaky),
        ],
        file.path,
        kept,
        verified,
        chosen.mentioned,
        _texts(file, further, kept),
        leaky_columns=leaky,
    )


def read_like(
    path: str | Path, schema: Schema, options: ReadOptions | None = None
) -> Dataset:
    """Read a file in the same way as an earlier one.

    Columns are found by name, labels may be missing.

    Parameters
    ----------
    path : str or Path
        The file, or a folder of CSV, Parquet or Arrow files.
    schema : Schema
        That of the earlier file.
    options : ReadOptions, optional
        Only ``format``, ``label``, ``delimiter``, ``header``, ``missing``, ``keep``,
        ``by``, ``missing_values`` and ``unlabelled`` are used; the schema determines
        the rest.

    Returns
    -------
    Dataset

    Raises
    ------
    DataFileError
        If the file cannot be used, or does not fit.
    """
    path = Path(path)
    options = options or ReadOptions()
    file, kind, notes = _opened(path, options)
    if (file is None) != (schema.kind == "sparse"):
        trained = "a table with named columns"
        if file is not None:
            trained = "an svmlight file"
        what = f"is a {kind} file, but the model was trained on {trained}"
        raise invalid(path, f"{what}: convert one of them.")
    if file is None:
        return read_svmlight(path, options, notes, schema)

    names = file.names
    label = schema.label if schema.label in names else None
    if options.label is not None:
        [label] = found_or_error(path, names, [options.label], "label")
    absent = absent_columns(names, schema.columns)
    if absent:
        raise invalid(path, absent)
    further = [] if options.by is None else [options.by]
    further = found_or_error(path, names, further, "by")
    further += [name for name in schema.id if name in names]
    further += found_or_error(path, names, listed(names, options.keep), "keep")
    further = list(dict.fromkeys(further))

    missing_values = (*schema.missing_values, *options.missing_values)
    missing = options.missing or schema.missing
    options = replace(options, missing_values=missing_values, missing=missing)
    empty = options.empty
    wanted = schema.columns if label is None else [label, *schema.columns]
    table = file.read(wanted, label, empty)
    X = converted(file, table, schema, empty)
    needed = None if options.unlabelled else label
    kept, dropped = kept_rows(file, table, needed, schema, options)
    X = taken(X, kept)
    y = None
    labelled = None
    if label is not None:
        labels = coded(taken(table.column(label), kept))
        labelled = labels.codes >= 0
        if labelled.any():
            labels = labels._replace(codes=labels.codes[labelled])
            y = labels_of(labels, truth=bool(schema.truth_labels))
    notes = [*notes, *file.notes, *dropped, *what_was_filled(schema, X)]
    texts = _texts(file, further, kept)
    return Dataset(X, y, schema, notes, path, kept, kept=texts, labelled=labelled)


def _texts(file: TableFile, names: list[str], kept: np.ndarray) -> dict[str, list[str]]:
    """Return some rows of columns as text."""
    texts = {}
    for name, column in file.texts(names).items():
        texts[name] = [column[row] for row in kept]
    return texts


def _opened(
    path: Path, options: ReadOptions
) -> tuple[TableFile | None, str, list[str]]:
    """Return a table, or None for an svmlight file, with the format and notes on it."""
    head, kind, notes = head_and_format(files_of(path)[0], options.format)
    if kind == "svmlight":
        for name in ("keep", "by"):
            if getattr(options, name):
                what = "{}: an svmlight file has no further columns; omit it."
                raise invalid(path, Message(what, Parameter(name)))
        return None, kind, notes
    try:
        if kind == "parquet":
            return ArrowTable(path), kind, notes
        return CsvFile(path, head, options.delimiter, options.header), kind, notes
    except ImportError as error:
        raise invalid(path, str(error)) from None


def _check(
    file: TableFile, chosen: Chosen, labels: Coded, kinds: dict[str, Kind]
) -> None:
    """Raise an error that lists everything that needs a decision."""
    problems = list(chosen.problems)
    # Columns that have the name of the label would betray it.
    called = file.renamed.get(chosen.label, chosen.label)
    drops = []
    for name in chosen.features:
        if file.renamed.get(name, name) == called:
            drops.append(Parameter("drop", name))
    if drops:
        count = len(drops) + 1
        what = f"{count} columns are called {called!r}, like the label: drop the others"
        problems.append(Message(f"{what}.", fixes=drops))
    found = [line_break(labels, chosen.label, file)]
    found += [kind.problem for kind in kinds.values()]
    problems += [problem for problem in found if problem]
    for role, name in chosen.mentioned:
        if name in kinds and not kinds[name].problem:
            problems += _mentioned_in_vain(role, name, kinds[name])
    if not problems and all(kind.left_out for kind in kinds.values()):
        some = list(kinds.items())[:FEW_REASONS]
        reasons = ", ".join(f"{name} ({kind.left_out})" for name, kind in some)
        what = "no column is left to learn from; left out: {}. Keep some with {} or {}."
        roles = (Parameter("numeric"), Parameter("categorical"))
        problems.append(Message(what, reasons, *roles))
    if problems:
        raise invalid(file.path, *problems)


def _mentioned_in_vain(role: str, name: str, kind: Kind) -> list[Message]:
    """Return the problem with an option for a column that has no weight or no order."""
    given = Parameter(role, name)
    if kind.left_out:
        what = "{}: the column is left out ({}); keep it with {}."
        fixes = [Parameter("numeric", name)]
        return [Message(what, given, kind.left_out, Parameter("numeric"), fixes=fixes)]
    if kind.style == Style.CATEGORY and role in ("increasing", "decreasing"):
        what = "{}: the column has categories, which have no order."
        return [Message(what, given, fixes=[Parameter(role, "", name)])]
    return []


def _schema(
    chosen: Chosen, kinds: dict[str, Kind], options: ReadOptions, n_rows: int
) -> Schema:
    styles = {}
    gaps = []
    left_out = {}
    ids = list(chosen.ids)
    n_levels = 0
    for name, kind in kinds.items():
        if kind.is_id:
            ids.append(name)
        if kind.left_out:
            left_out[name] = kind.left_out
            continue
        n_levels += kind.levels
        if kind.style != Style.PLAIN:
            styles[name] = kind.style
        is_frequent = kind.missing >= max(FREQUENT_GAPS * n_rows, 1)
        if is_frequent and kind.style != Style.CATEGORY:
            gaps.append(name)
    columns = [name for name in kinds if name not in left_out]
    return Schema(
        kind="table",
        n_features=len(columns),
        label=chosen.label,
        columns=columns,
        styles=styles,
        gaps=gaps,
        many_levels=n_levels > MANY_LEVELS,
        rare=rare_below(n_rows),
        left_out=left_out,
        id=ids,
        missing=options.missing or "fill",
        missing_values=list(options.missing_values),
    )


def converted(
    file: TableFile, table: Table, schema: Schema, empty: frozenset[str]
) -> Table:
    """Return the columns of a schema: numbers as floats, categories as text.

    Empty cells are null.
    """
    pyarrow = pyarrow_or_error()
    columns = columns_of(table)
    found = {}
    for name in schema.columns:
        style = schema.style(name)
        if style == Style.CATEGORY:
            levels = levels_of(columns[name], empty)
            places = pyarrow.array(levels.codes, mask=levels.codes < 0)
            found[name] = pyarrow.array(levels.values, "string").take(places)
            continue
        try:
            numbers = numbers_of(columns[name], style, empty)
        except NotANumber as wrong:
            problem = _not_a_number(name, wrong, file.place(wrong.row))
            raise invalid(file.path, problem) from None
        large = too_large(name, numbers, file.place)
        if large is not None:
            raise invalid(file.path, f"{large[0]}: correct it, or empty the cell.")
        # As if from pandas, NaN becomes null.
        found[name] = pyarrow.array(numbers, from_pandas=True)
    return pyarrow.table(found)


def _not_a_number(name: str, wrong: NotANumber, place: str) -> Message:
    """Return the problem that a cell does not have the style of its column."""
    remedy = "write all dates of the column like that."
    fixes = []
    if not wrong.is_date:
        what = "correct it, or let it count as empty ({})."
        remedy = Message(what, Parameter("missing_values"))
        fixes = [Parameter("missing_values", text) for text in wrong.texts]
    what = "column {!r} contains the text {} ({}), but the model needs {}: {}"
    cell = (name, shown(wrong.text), place, wrong.needed)
    return Message(what, *cell, remedy, fixes=fixes)


def truth_of(
    file: TableFile, table: Table, name: str, options: ReadOptions
) -> np.ndarray:
    """Return a yes/no column as booleans; an empty cell is a no."""
    try:
        values = numbers_of(table.column(name), Style.TRUTH, options.empty)
        if np.isin(values[~np.isnan(values)], (0.0, 1.0)).all():
            return values == 1.0
        reason = "it contains other numbers."
    except NotANumber as wrong:
        reason = f"{file.place(wrong.row)} contains {shown(wrong.text)}."
    what = "column {!r} ({}) must contain yes or no, true or false, or 1 or 0; {}"
    raise invalid(file.path, Message(what, name, Parameter("verified"), reason))


def kept_rows(
    file: TableFile,
    table: Table,
    label: str | None,
    schema: Schema,
    options: ReadOptions,
) -> tuple[np.ndarray, list[str]]:
    """Return the rows to keep, and notes on the others.

    Rows without a label are left out, and those with any empty cell if wanted.
    """
    n = len(table)
    kept = np.flatnonzero(~empty_rows(file, table, label, schema, options))
    if not len(kept):
        what = "every row has a missing value"
        if label is not None and table.column(label).null_count == n:
            what = "no row has a label"
        remedy = "{}: choose another column with {}, or drop empty ones with {}."
        roles = (Parameter("label"), Parameter("drop"))
        raise invalid(file.path, Message(remedy, what, *roles))
    lost = n - len(kept)
    if lost == 0:
        return kept, []
    has = "has" if lost == 1 else "have"
    are = "is" if lost == 1 else "are"
    what = f"no label and {are} left out"
    if options.missing == "drop":
        what = f"missing values and {are} dropped"
    return kept, [f"{lost:,} of {n:,} rows {has} {what}."]


def empty_rows(
    file: TableFile,
    table: Table,
    label: str | None,
    schema: Schema,
    options: ReadOptions,
) -> np.ndarray:
    """Return a mask of the rows that are not used.

    These are rows without a label or, if so wanted, with any empty cell.
    """
    names = schema.columns if label is None else [label, *schema.columns]
    columns = columns_of(table)
    unused = np.zeros(len(table), dtype=bool)
    problems = []
    for name in names:
        column = columns[name]
        if column.null_count == 0:
            continue
        is_empty = np.asarray(column.is_null())
        if name == label or options.missing == "drop":
            unused |= is_empty
        if options.missing == "error":
            what = "has no label" if name == label else "has an empty cell"
            place = file.place(int(np.argmax(is_empty)))
            share = f"{column.null_count:,} of {len(column):,} are empty"
            fill = Parameter("missing", "fill", "error")
            drop = Parameter("missing", "drop")
            text = "column {!r} {} at {} ({}): use {}, or {}."
            given = (name, what, place, share, fill, drop)
            problems.append(Message(text, *given, fixes=[fill]))
    if problems:
        raise invalid(file.path, *problems)
    return unused
