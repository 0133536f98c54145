"""From a file to a table of the columns that are used: `read` for a new file, `read_like` for one that fits a model."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from drsvm.tables import arrow_tables as arrow
from drsvm.tables.arrow_tables import ArrowTable, Table
from drsvm.tables.columns import (
    Chosen,
    absent_columns,
    choose_columns,
    found_or_error,
    listed,
)
from drsvm.tables.csv_files import CsvFile
from drsvm.tables.dataset import Dataset, ReadOptions, Schema
from drsvm.tables.files import files_of, head_and_format, invalid
from drsvm.tables.kinds import (
    FREQUENT_GAPS,
    Kind,
    TableFile,
    dots_as_written,
    kinds_of,
    line_break,
    rare_below,
)
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
    Style,
    coded,
    labels_of,
    levels_of,
    numbers_of,
    shown,
    too_large,
)
from drsvm.utils.messages import Message, Parameter

MANY_LEVELS = 200  # with more categories than this, the features are stored sparsely


def read(path: str | Path, options: ReadOptions | None = None) -> Dataset:
    """Read features and labels from a new file: svmlight, CSV or Parquet.

    Raises a `DataFileError` if the file cannot be used, which names everything that
    needs a decision, and the remedy.
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
    path = file.path
    chosen = choose_columns(file.names, options)
    wanted = [
        chosen.label,
        *chosen.features,
        *([chosen.verified] if chosen.verified else []),
    ]
    table = file.read(wanted, chosen.label, options.empty)
    table = dots_as_written(
        file, table, chosen.features, options.decimal, options.empty
    )
    if len(table) == 1:
        raise invalid(
            path, "has only one row; a classifier needs rows of at least two classes."
        )
    labels = coded(table.column(chosen.label))
    kinds = kinds_of(table, chosen, options, file)
    _check(file, chosen, labels, kinds)
    schema = _schema(chosen, kinds, options, len(table))
    kept, dropped = kept_rows(file, table, chosen.label, schema, options)
    labels = labels._replace(codes=labels.codes[kept])
    y = labels_of(labels)
    if y.dtype == bool:  # the texts for False and True
        used = {str(labels.values[code]) for code in np.unique(labels.codes)}
        schema = replace(schema, truth_labels=sorted(used, key=str.lower))
    X = arrow.taken(converted(file, table, schema, options.empty), kept)
    if chosen.verified is None:
        verified = None
    else:
        verified = truth_of(file, table, chosen.verified, options)[kept]
    leaky = leaky_columns(schema, X, y)
    notes = [*notes, *file.notes, *chosen.notes, *dropped, *similar_labels(labels)]
    notes += [*what_was_done(schema, kinds, X), *about_leaky_columns(leaky)]
    if options.whole:
        listed = file.names
    elif options.name_rows:
        listed = schema.id
    else:
        listed = []
    texts = _written(file, [*chosen.by, *listed], kept)
    return Dataset(
        X,
        y,
        schema,
        notes,
        path,
        kept,
        verified,
        chosen.mentioned,
        texts,
        leaky_columns=leaky,
    )


def read_like(
    path: str | Path, schema: Schema, options: ReadOptions | None = None
) -> Dataset:
    """Read a file in the same way as an earlier one.

    Columns are found by name, labels may be missing.

    Only the options ``format``, ``label``, ``delimiter``, ``header``, ``missing``,
    ``keep`` and ``unlabelled`` are used; the schema of the earlier file determines the
    rest.
    """
    path = Path(path)
    options = options or ReadOptions()
    file, kind, notes = _opened(path, options)
    if (file is None) != (schema.kind == "sparse"):
        if schema.kind == "sparse":
            trained = "an svmlight file"
        else:
            trained = "a table with named columns"
        raise invalid(
            path,
            f"is a {kind} file, but the model was trained on {trained}: convert one of them.",
        )
    if file is None:
        return read_svmlight(path, options, notes, schema)
    label = schema.label if schema.label in file.names else None
    if options.label is not None:
        [label] = found_or_error(path, file.names, [options.label], "label")
    absent = absent_columns(file.names, schema.columns)
    if absent:
        raise invalid(path, absent)
    ids = [name for name in schema.id if name in file.names]
    wanted = found_or_error(path, file.names, listed(file.names, options.keep), "keep")
    by = found_or_error(path, file.names, [options.by] if options.by else [], "by")
    further = list(dict.fromkeys([*by, *ids, *wanted]))
    options = replace(
        options, missing_values=(*schema.missing_values, *options.missing_values)
    )
    table = file.read(
        [*([label] if label else []), *schema.columns], label, options.empty
    )
    # A dot in numbers with decimal commas separates thousands.
    table = file.as_written(table, schema.of_style(Style.DECIMAL_COMMA), options.empty)
    X = converted(file, table, schema, options.empty)
    needed = None if options.unlabelled else label
    kept, dropped = kept_rows(
        file,
        table,
        needed,
        schema,
        replace(options, missing=options.missing or schema.missing),
    )
    y = labelled = None
    if label is not None:
        labels = coded(arrow.taken(table.column(label), kept))
        labelled = labels.codes >= 0
        if labelled.any():
            y = labels_of(
                labels._replace(codes=labels.codes[labelled]),
                truth=bool(schema.truth_labels),
            )
    X = arrow.taken(X, kept)
    notes += [*file.notes, *dropped, *what_was_filled(schema, X)]
    return Dataset(
        X,
        y,
        schema,
        notes,
        path,
        kept,
        kept=_written(file, further, kept),
        labelled=labelled,
    )


def _written(
    file: TableFile, names: list[str], kept: np.ndarray
) -> dict[str, list[str]]:
    return {
        name: [column[row] for row in kept]
        for name, column in file.texts(names).items()
    }


def _opened(
    path: Path, options: ReadOptions
) -> tuple[TableFile | None, str, list[str]]:
    """Return a table, or None for an svmlight file, with the format and notes on it."""
    head, kind, notes = head_and_format(files_of(path)[0], options.format)
    if kind == "svmlight":
        for name in (name for name in ("keep", "by") if getattr(options, name)):
            raise invalid(
                path,
                Message(
                    "{}: an svmlight file has no further columns; omit it.",
                    Parameter(name),
                ),
            )
        return None, kind, notes
    try:
        if kind == "parquet":
            table = ArrowTable(path)
        else:
            table = CsvFile(path, head, options.delimiter, options.header)
    except ImportError as error:
        raise invalid(path, str(error)) from None
    return table, kind, notes


def _check(
    file: TableFile, chosen: Chosen, labels: Coded, kinds: dict[str, Kind]
) -> None:
    problems = list(chosen.problems)
    called = file.renamed.get(chosen.label, chosen.label)
    copies = [
        feature
        for feature in chosen.features
        if file.renamed.get(feature, feature) == called
    ]
    if copies:  # they would betray the label
        what = f"{len(copies) + 1} columns are called {called!r}, like the label: drop the others."
        problems.append(
            Message(what, fixes=[Parameter("drop", copy) for copy in copies])
        )
    found = [
        line_break(labels, chosen.label, file),
        *(kind.problem for kind in kinds.values()),
    ]
    problems += [problem for problem in found if problem]
    for role, name in chosen.mentioned:
        kind = kinds.get(name)
        given = Parameter(role, name)
        if kind is None or kind.problem:
            continue
        if kind.left_out:  # it has no weight
            what = "{}: the column is left out ({}); keep it with {}."
            fixes = [Parameter("numeric", name)]
            problems.append(
                Message(what, given, kind.left_out, Parameter("numeric"), fixes=fixes)
            )
        elif kind.style == Style.CATEGORY and role in ("increasing", "decreasing"):
            what = "{}: the column has categories, which have no order."
            problems.append(Message(what, given, fixes=[Parameter(role, "", name)]))
    if not problems and all(kind.left_out for kind in kinds.values()):
        reasons = ", ".join(
            f"{name} ({kind.left_out})" for name, kind in list(kinds.items())[:6]
        )
        what = "no column is left to learn from; left out: {}. Keep some with {} or {}."
        problems.append(
            Message(what, reasons, Parameter("numeric"), Parameter("categorical"))
        )
    if problems:
        raise invalid(file.path, *problems)


def _schema(
    chosen: Chosen, kinds: dict[str, Kind], options: ReadOptions, n_rows: int
) -> Schema:
    used = {name: kind for name, kind in kinds.items() if not kind.left_out}
    frequent = max(FREQUENT_GAPS * n_rows, 1)
    return Schema(
        kind="table",
        n_features=len(used),
        label=chosen.label,
        columns=list(used),
        styles={
            name: kind.style for name, kind in used.items() if kind.style != Style.PLAIN
        },
        gaps=[
            name
            for name, kind in used.items()
            if kind.style != Style.CATEGORY and kind.missing >= frequent
        ],
        many_levels=sum(kind.levels for kind in used.values()) > MANY_LEVELS,
        rare=rare_below(n_rows),
        left_out={name: kind.left_out for name, kind in kinds.items() if kind.left_out},
        id=[*chosen.ids, *(name for name, kind in kinds.items() if kind.is_id)],
        missing=options.missing or "fill",
        missing_values=list(options.missing_values),
    )


def converted(
    file: TableFile, table: Table, schema: Schema, empty: frozenset[str]
) -> Table:
    """Return the columns of a schema: numbers as floats, categories as text, with nulls for empty cells."""
    pyarrow = arrow.pyarrow_or_error()
    given = arrow.columns_of(table)
    columns = {}
    for name in schema.columns:
        column = given[name]
        style = schema.style(name)
        if style == Style.CATEGORY:
            levels = levels_of(column, empty)
            places = pyarrow.array(levels.codes, mask=levels.codes < 0)
            columns[name] = pyarrow.array(levels.values, "string").take(places)
            continue
        try:
            numbers = numbers_of(column, style, empty)
        except NotANumber as wrong:
            remedy = "write all dates of the column like that."
            fixes = []
            if not wrong.is_date:
                remedy = Message(
                    "correct it, or let it count as empty ({}).",
                    Parameter("missing_values"),
                )
                fixes = [Parameter("missing_values", text) for text in wrong.texts]
            cell = name, shown(wrong.text), file.place(wrong.row), wrong.needed
            what = "column {!r} contains the text {} ({}), but the model needs {}: {}"
            raise invalid(
                file.path, Message(what, *cell, remedy, fixes=fixes)
            ) from None
        large = too_large(name, numbers, file.place)
        if large is not None:
            raise invalid(file.path, f"{large[0]}: correct it, or empty the cell.")
        columns[name] = pyarrow.array(numbers, from_pandas=True)  # NaN becomes null
    return pyarrow.table(columns)


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
    """Return the rows to keep, and notes on the others: rows without a label, or with any empty cell, as wanted."""
    n = len(table)
    kept = np.flatnonzero(~empty_rows(file, table, label, schema, options))
    if not len(kept):
        unlabelled = label is not None and table.column(label).null_count == n
        if unlabelled:
            what = "no row has a label"
        else:
            what = "every row has a missing value"
        remedy = "{}: choose another column with {}, or drop empty ones with {}."
        raise invalid(
            file.path, Message(remedy, what, Parameter("label"), Parameter("drop"))
        )
    if len(kept) == n:
        return kept, []
    lost = n - len(kept)
    has, are = ("has", "is") if lost == 1 else ("have", "are")
    if options.missing == "drop":
        what = f"missing values and {are} dropped"
    else:
        what = f"no label and {are} left out"
    return kept, [f"{lost:,} of {n:,} rows {has} {what}."]


def empty_rows(
    file: TableFile,
    table: Table,
    label: str | None,
    schema: Schema,
    options: ReadOptions,
) -> np.ndarray:
    """Return a mask of the rows that are not used: those without a label or, if so wanted, with any empty cell."""
    given = arrow.columns_of(table)
    empty = {
        name: np.asarray(given[name].is_null())
        for name in schema.columns
        if given[name].null_count
    }
    if label is None:
        unlabelled = np.zeros(len(table), dtype=bool)
    else:
        unlabelled = np.asarray(given[label].is_null())
    problems = []
    for name, mask in (
        {label: unlabelled} | empty if options.missing == "error" else {}
    ).items():
        if mask.any():
            share = f"{np.count_nonzero(mask):,} of {len(mask):,} are empty"
            if name == label:
                what = "has no label"
            else:
                what = "has an empty cell"
            ways = Parameter("missing", "fill", "error"), Parameter("missing", "drop")
            text = "column {!r} {} at {} ({}): use {}, or {}."
            place = file.place(int(np.argmax(mask)))
            problems.append(
                Message(text, name, what, place, share, *ways, fixes=ways[:1])
            )
    if problems:
        raise invalid(file.path, *problems)
    if options.missing == "drop":
        return np.any([*empty.values(), unlabelled], axis=0)
    return unlabelled
