"""Cells as numbers and categories, and the rows that are used."""

import numpy as np

from drsvm.tables.arrow_columns import (
    Table,
    as_numbers,
    columns_of,
    is_text,
    pyarrow_or_error,
)
from drsvm.tables.arrow_tables import TableFile
from drsvm.tables.cell_styles import Style
from drsvm.tables.dataset import ReadOptions, Schema
from drsvm.tables.files import invalid
from drsvm.tables.values import NotANumber, levels_of, numbers_of, shown, too_large
from drsvm.utils.messages import Message, Parameter


def converted(
    file: TableFile, table: Table, schema: Schema, empty: frozenset[str]
) -> Table:
    """Return the columns of a schema: numbers as floats, categories as text.

    Parameters
    ----------
    file : TableFile
        Where the table is from, for error messages.
    table : Table
        The cells as they are in the file.
    schema : Schema
        The columns, and how their cells are written.
    empty : frozenset of str
        Texts that count as empty.

    Returns
    -------
    Table
        Its empty cells are null.
    """
    pyarrow = pyarrow_or_error()
    columns = {}
    for name, column in columns_of(table.select(schema.columns)).items():
        style = schema.style(name)
        if style == Style.AS_IT_IS:
            columns[name] = column
            if is_text(column):
                columns[name] = as_numbers(column) or column
            continue
        if style == Style.CATEGORY:
            # One text for each way to write the same category
            levels = levels_of(column, empty)
            texts = levels.mapped(levels.values, None, object)
            columns[name] = pyarrow.array(texts, "string")
            continue
        try:
            numbers = numbers_of(column, style, empty)
        except NotANumber as wrong:
            problem = _not_a_number(name, wrong, file.place(wrong.row))
            raise invalid(file.path, problem) from None
        large = too_large(name, numbers, file.place)
        if large is not None:
            raise invalid(file.path, f"{large[0]}: correct it, or empty the cell.")
        # pandas has NaN for empty cells: `from_pandas` turns NaN into null.
        columns[name] = pyarrow.array(numbers, from_pandas=True)
    return pyarrow.table(columns)


def _not_a_number(name: str, wrong: NotANumber, place: str) -> Message:
    """Return the problem that a cell does not have the style of its column."""
    remedy = "write all dates of the column like that."
    fixes = []
    # A date in another form is not empty, nor is a number with another decimal sign.
    if wrong.signs:
        signs = [Parameter("decimal", sign) for sign in wrong.signs]
        ways = " or ".join(["{}"] * len(signs))
        remedy = Message(f"name the decimal sign of the file ({ways}).", *signs)
        if len(signs) == 1:
            fixes = signs
    elif not wrong.is_date:
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
    kept = np.flatnonzero(~unused_rows(file, table, label, schema, options))
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
    has, are = ("has", "is") if lost == 1 else ("have", "are")
    what = f"no label and {are} left out"
    if options.missing == "drop":
        what = f"missing values and {are} dropped"
    return kept, [f"{lost:,} of {n:,} rows {has} {what}."]


def unused_rows(
    file: TableFile,
    table: Table,
    label: str | None,
    schema: Schema,
    options: ReadOptions,
) -> np.ndarray:
    """Return a mask of the rows that are not used.

    These are rows without a label and, with ``missing="drop"``, those with any empty
    cell. With ``missing="error"``, an empty cell is an error.
    """
    unused = np.zeros(len(table), dtype=bool)
    problems = []
    for name in filter(None, [label, *schema.columns]):
        column = table.column(name)
        if column.null_count == 0:
            continue
        is_empty = np.asarray(column.is_null())
        if name == label or options.missing == "drop":
            unused |= is_empty
        # All columns with empty cells are listed in one error.
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
