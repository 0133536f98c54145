"""From a file to a table of the columns that are used.

`read` is for a new file, `read_like` for one that fits a model.
"""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from drsvm.tables.arrow_columns import take_rows
from drsvm.tables.arrow_tables import ArrowTable, TableFile
from drsvm.tables.cell_styles import Style
from drsvm.tables.columns import (
    Chosen,
    absent_columns,
    choose_columns,
    found_or_error,
    listed,
)
from drsvm.tables.conversion import converted, kept_rows, truth_of
from drsvm.tables.csv_files import CsvFile, JsonFile
from drsvm.tables.dataset import Dataset, ReadOptions, Schema
from drsvm.tables.decimal_signs import with_numbers
from drsvm.tables.files import files_of, head_and_format, invalid
from drsvm.tables.kinds import (
    FREQUENT_GAPS,
    Kind,
    kinds_of,
    rare_below,
    unclosed_quotes,
)
from drsvm.tables.notes import (
    about_leaky_columns,
    leaky_columns,
    similar_labels,
    what_was_done,
    what_was_filled,
)
from drsvm.tables.svmlight import read_svmlight
from drsvm.tables.values import Coded, coded, labels_of
from drsvm.utils.messages import Message, Parameter

MANY_LEVELS = 200  # with more categories than this, the features are stored sparsely
TYPED = ("json", "excel")  # formats that are read as CSV
FEW_REASONS = 6  # an error lists this many columns that are left out


def read(path: str | Path, options: ReadOptions | None = None) -> Dataset:
    """Read features and labels from a new file.

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
    file, kind, notes = _opened(path, options)
    if file is None:
        return read_svmlight(path, options, notes)
    return read_table(file, with_points(kind, options), notes)


def read_table(
    file: TableFile, options: ReadOptions, notes: Iterable[str] = ()
) -> Dataset:
    """Read features and labels from a table that has been opened.

    Parameters
    ----------
    file : TableFile
        The table.
    options : ReadOptions
        What is not to be detected.
    notes : iterable of str
        What is already known about the file, for the notes of the result.

    Returns
    -------
    Dataset
    """
    # 1. The columns that are used
    chosen = choose_columns(file.names, options)
    label = chosen.label
    empty = options.empty
    table = file.read(
        [label, *chosen.features, *chosen.roles["verified"]], label, empty
    )
    table = with_numbers(table, label, options.decimal)
    if len(table) == 1:
        what = "has only one row; a classifier needs rows of at least two classes."
        raise invalid(file.path, what)

    # 2. What they contain
    labels = coded(table.column(label))
    kinds = kinds_of(table, chosen, options, file)
    # Everything that needs a decision is in one error.
    problems = _problems(file, chosen, labels, kinds)
    if problems:
        raise invalid(file.path, *problems)
    schema = _schema(chosen, kinds, options, len(table))

    # 3. The rows that are used, as numbers and categories
    kept, dropped = kept_rows(file, table, label, schema, options)
    labels = labels._replace(codes=labels.codes[kept])
    y = labels_of(labels)
    if y.dtype == bool:
        truth_labels = sorted(labels.texts(), key=str.lower)
        schema = replace(schema, truth_labels=truth_labels)
    X = take_rows(converted(file, table, schema, empty), kept)
    verified = None
    for name in chosen.roles["verified"]:
        verified = truth_of(file, table, name, options)[kept]
    leaky = leaky_columns(schema, X, y)
    further = chosen.roles["by"] + chosen.roles["test_by"]
    if options.whole:
        further += file.names
    elif options.name_rows:
        further += schema.id
    return Dataset(
        X,
        y,
        schema,
        notes=[
            *notes,
            *file.notes,
            *chosen.notes,
            *dropped,
            *similar_labels(labels),
            *what_was_done(schema, kinds, X),
            *about_leaky_columns(leaky),
        ],
        path=file.path,
        rows=kept,
        verified=verified,
        mentioned=chosen.mentioned,
        kept=file.texts(further, kept),
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
        Only ``format``, ``label``, ``delimiter``, ``header``, ``decimal``, ``missing``,
        ``keep``, ``by``, ``missing_values`` and ``unlabelled`` are used; the schema
        determines the rest.

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
    options = with_points(kind, options)

    # 1. The columns that are used
    names = file.names
    label = schema.label if schema.label in names else None
    if options.label is not None:
        [label] = found_or_error(path, names, [options.label], "label")
    if not schema.columns:
        schema = schema.as_it_is([name for name in names if name != label])
    absent = absent_columns(names, schema.columns)
    if absent:
        raise invalid(path, absent)
    further = found_or_error(path, names, [options.by], "by")
    further += filter(names.__contains__, schema.id)
    further += found_or_error(path, names, listed(names, options.keep), "keep")

    # 2. Their cells, read as in training
    missing_values = (*schema.missing_values, *options.missing_values)
    missing = options.missing or schema.missing
    options = replace(options, missing_values=missing_values, missing=missing)
    empty = options.empty
    wanted = list(schema.columns)
    if label is not None:
        wanted.append(label)
    table = file.read(wanted, label, empty)
    X = converted(file, table, schema.with_decimal(options.decimal), empty)

    # 3. The rows that are used; the labels of some may be missing
    needed = None if options.unlabelled else label
    kept, dropped = kept_rows(file, table, needed, schema, options)
    X = take_rows(X, kept)
    y = None
    labelled = None
    if label is not None:
        labels = coded(take_rows(table.column(label), kept))
        labelled = labels.codes >= 0
        if labelled.any():
            labels = labels._replace(codes=labels.codes[labelled])
            y = labels_of(labels, truth=bool(schema.truth_labels))
    return Dataset(
        X,
        y,
        schema,
        notes=[*notes, *file.notes, *dropped, *what_was_filled(schema, X)],
        path=path,
        rows=kept,
        kept=file.texts(further, kept),
        labelled=labelled,
    )


def _opened(
    path: Path, options: ReadOptions
) -> tuple[TableFile | None, str, list[str]]:
    """Return a table, or None for an svmlight file, with the format and notes on it."""
    head, kind, notes = head_and_format(files_of(path)[0], options.format)
    if kind == "svmlight":
        for name in ("keep", "by", "test_by"):
            if getattr(options, name):
                what = "{}: an svmlight file has no further columns; omit it."
                raise invalid(path, Message(what, Parameter(name)))
        return None, kind, notes
    try:
        if kind == "parquet":
            return ArrowTable(path), kind, notes
        if kind == "json":
            return JsonFile(path, head, ",", True), kind, notes
        delimiter = "," if kind == "excel" else options.delimiter
        return CsvFile(path, head, delimiter, options.header), kind, notes
    except ImportError as error:
        raise invalid(path, str(error)) from None


def with_points(kind: str, options: ReadOptions) -> ReadOptions:
    """Return options for files whose numbers have a type, and so decimal points."""
    if kind in TYPED and options.decimal is None:
        return replace(options, decimal=".")
    return options


def _problems(
    file: TableFile, chosen: Chosen, labels: Coded, kinds: dict[str, Kind]
) -> list[Message]:
    """Return everything that needs a decision."""
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
    problems += unclosed_quotes(labels, chosen.label, file)
    for kind in kinds.values():
        problems += kind.problems
    for role, name in chosen.mentioned:
        if name in kinds and not kinds[name].problems:
            problems += _mentioned_in_vain(role, name, kinds[name])
    reasons = []
    for name, kind in kinds.items():
        if kind.left_out:
            reasons.append(f"{name} ({kind.left_out})")
    if not problems and len(reasons) == len(kinds):
        some = ", ".join(reasons[:FEW_REASONS])
        what = "no column is left to learn from; left out: {}. Keep some with {} or {}."
        roles = (Parameter("numeric"), Parameter("categorical"))
        problems.append(Message(what, some, *roles))
    return problems


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
    """Return what another file needs to be read in the same way."""
    columns = []
    styles = {}
    gaps = []
    left_out = {}
    ids = list(chosen.roles["id"])
    n_levels = 0
    for name, kind in kinds.items():
        if kind.is_id:
            ids.append(name)
        if kind.left_out:
            left_out[name] = kind.left_out
            continue
        columns.append(name)
        n_levels += kind.levels
        if kind.style != Style.PLAIN:
            styles[name] = kind.style
        # Empty categories are a level; an indicator of other empty cells is a feature
        # if there are enough.
        is_frequent = kind.missing >= max(FREQUENT_GAPS * n_rows, 1)
        if is_frequent and kind.style != Style.CATEGORY:
            gaps.append(name)
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
