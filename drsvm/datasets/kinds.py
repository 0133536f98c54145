"""What the columns of a table contain: numbers, truth values, dates, categories, or nothing that a model can use."""

import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from drsvm.datasets.columns import Chosen
from drsvm.datasets.copies import copies_among, first_of_each
from drsvm.datasets.dataset import ReadOptions
from drsvm.datasets.files import Problem
from drsvm.datasets.number_styles import AMBIGUOUS_COMMAS, AMBIGUOUS_DATE, AMBIGUOUS_DOTS, styles_of
from drsvm.datasets.values import (
    CATEGORY,
    DECIMAL_COMMA,
    ISO_DATE,
    OR_EMPTY,
    PLAIN,
    THOUSANDS,
    TIME,
    TRUTH,
    Coded,
    NotANumber,
    coded,
    levels_of,
    numbers_of,
    parser_of,
    shown,
    too_large,
)
from drsvm.messages import Message, Parameter

FREQUENT_GAPS = 0.05
"""A column with at least this share of empty cells gets an indicator of them."""

NEARLY_ALL = 0.9
"""A column with more different texts than this share of its rows is an id: no category repeats often enough."""

RARE, SMALL_PARTS = 5, 20
"""Levels with fewer rows than this, or than one in this many of a small table, share one column."""

FEW_ROWS = 20
"""In a table with fewer rows than this nothing is taken for an id."""

ID_NAMES = re.compile(
    r"(.*[\W_])?(id|index|row|key|nr|no|number|acct|account|phone|uuid|guid)|unnamed: 0|column0|.*[a-z](Id|ID)"
)

TYPES = {"date": ISO_DATE, "timestamp": ISO_DATE, "time": TIME}
"""Styles by how the names of pyarrow's types begin."""

MANY_ROWS = 100
"""From this many rows on, integers that are all different are worth a note."""

NEEDLESS = 3
"""Up to this many different texts among numbers are suggested as missing values."""


@dataclass(frozen=True)
class Kind:
    """What a column contains.

    Attributes
    ----------
    style : str
        The style of its cells (see `values`).
    missing : int
        The number of empty cells.
    levels : int
        The number of categories.
    left_out : str, optional
        Why the column is not used.
    is_id : bool
        Whether it identifies the rows.
    all_different : bool
        Whether it has integers that are all different, and may identify the rows.
    problem : tuple, optional
        Why it cannot be used, and the remedy.
    """

    style: str = PLAIN
    missing: int = 0
    levels: int = 0
    left_out: str | None = None
    is_id: bool = False
    all_different: bool = False
    problem: Problem | None = None


def kinds_of(table: Any, chosen: Chosen, options: ReadOptions, file: Any) -> dict[str, Kind]:
    """Return what the feature columns of a file contain."""
    columns = dict(zip(table.column_names, table.columns, strict=True))
    columns = {name: columns[name] for name in chosen.features}
    texts = {name: coded(column) for name, column in columns.items() if not _is_typed(column)}
    points = any(str(column.type) == "double" for column in columns.values())
    styles = styles_of({name: cells.values for name, cells in texts.items()}, points, options.decimal)
    rows = _different_rows([texts.get(name, column) for name, column in columns.items()])
    kinds = {}
    for name, column in columns.items():
        given = _Given(name, name in chosen.numeric, name in chosen.categorical, rows)
        if name in texts:
            kind = _text_kind(column, texts[name], styles[name], given, options, file)
        else:
            kind = _numeric_kind(column, given)
        missing = int(column.null_count)
        if kind.style != CATEGORY and not kind.left_out and not kind.problem:
            kind = _checked_numbers(column, kind, name, options, file.place)
            missing = max(missing, kind.missing)
        kinds[name] = replace(kind, missing=missing)
    return kinds


@dataclass(frozen=True)
class _Given:
    name: str
    numeric: bool
    categorical: bool
    rows: Any


def _different_rows(columns: list[Any]) -> Any:
    """Return one of all rows that are copies of each other: in a table of copies, an id repeats, too."""
    try:
        copies = copies_among(columns)
    except NotImplementedError:  # pyarrow cannot compare the cells of some types; these are refused later
        return slice(None)
    return slice(None) if copies is None else first_of_each(copies)


def _is_typed(column: Any) -> bool:
    return str(column.type) not in ("string", "large_string")


# --- columns of numbers -------------------------------------------------------------------------------------------


def _numeric_kind(column: Any, given: _Given) -> Kind:
    if given.categorical:
        return Kind(CATEGORY, levels=len(levels_of(column).values))
    if str(column.type) == "bool":
        return Kind(TRUTH)
    if not str(column.type).startswith(("int", "uint")):
        return Kind(next((style for start, style in TYPES.items() if str(column.type).startswith(start)), PLAIN))
    values = numbers_of(column, PLAIN)[given.rows]
    if not given.numeric and _numbers_the_rows(given.name, values):
        return Kind(left_out="an id", is_id=True)
    return Kind(all_different=not given.numeric and len(np.unique(values)) == len(values) >= MANY_ROWS)


def _numbers_the_rows(name: str, values: np.ndarray) -> bool:
    """Return whether integers count the rows, or are nearly all different under a typical name."""
    if len(values) < FEW_ROWS or not (values == np.trunc(values)).all():  # nor with empty cells
        return False
    if (np.diff(values) == 1).all():
        return True
    typical = ID_NAMES.fullmatch(name) or ID_NAMES.fullmatch(name.lower())
    return typical is not None and len(np.unique(values)) > NEARLY_ALL * len(values)


def _checked_numbers(column: Any, kind: Kind, name: str, options: ReadOptions, place) -> Kind:
    """Return the kind of a column of numbers after a look at its values."""
    try:
        values = numbers_of(column, kind.style, options.empty)
    except NotANumber as wrong:  # a type of Parquet that is neither a number nor a date
        text = f"column {name!r} has type {column.type} ({place(wrong.row)} contains {shown(wrong.text)}): drop it."
        return replace(kind, problem=Problem(text, [Parameter("drop", name)]))
    large = too_large(name, values, place)
    if large is not None:
        fixes = [Parameter("missing_values", str(column[row].as_py())) for row in large[1][:NEEDLESS]]
        return replace(kind, problem=Problem(f"{large[0]}: correct it, or let it count as empty.", fixes))
    given = values[~np.isnan(values)]
    missing = len(values) - len(given)
    if len(given) == 0:
        return Kind(left_out="empty")
    if given.min() == given.max() and missing < FREQUENT_GAPS * len(values):
        return Kind(left_out="always the same")
    truth = kind.style == PLAIN and bool(np.isin(given, (0.0, 1.0)).all())
    return replace(kind, style=TRUTH if truth else kind.style, missing=missing)


# --- columns of text ----------------------------------------------------------------------------------------------


def _text_kind(column: Any, cells: Coded, style: str | None, given: _Given, options: ReadOptions, file: Any) -> Kind:
    levels = len(cells.values)
    if levels == 0:
        return Kind(left_out="empty")
    if given.categorical:
        return _category(cells, given.name, file)
    if given.numeric:
        if style and (style in (DECIMAL_COMMA, THOUSANDS, TIME) or style.startswith("date")):
            return Kind(style)
        return Kind(_coerced(cells, options.decimal))
    if style in (AMBIGUOUS_COMMAS, AMBIGUOUS_DOTS):
        return Kind(problem=_ambiguous_sign(cells, given.name, style, file.place))
    if style == AMBIGUOUS_DATE:
        return Kind(left_out="dates, as day/month or as month/day")
    if style == PLAIN and _numbers_the_rows(given.name, numbers_of(column, PLAIN, options.empty)[given.rows]):
        return Kind(left_out="an id", is_id=True)
    if style is not None:
        return Kind(style)
    if levels == 1 and column.null_count < FREQUENT_GAPS * len(column):
        return Kind(left_out="always the same")
    parsers = [parser_of(style) for style in (PLAIN, DECIMAL_COMMA, THOUSANDS)]
    numbers = [any(parse(value) is not None for parse in parsers) for value in cells.values]
    if sum(np.bincount(cells.codes[cells.codes >= 0], minlength=levels)[numbers]) >= 0.5 * (cells.codes >= 0).sum():
        return Kind(problem=_mixed(cells, np.array(numbers), given.name, file.place))
    present = int((cells.codes[given.rows] >= 0).sum())
    if len(column) >= FEW_ROWS and levels > NEARLY_ALL * present:
        return Kind(left_out="an id" if _is_short(cells.values) else "text, nearly always different", is_id=True)
    if np.bincount(cells.codes[cells.codes >= 0]).max() < rare_below(len(column)):
        return Kind(left_out=f"{levels:,} levels, all of them rare")
    return _category(cells, given.name, file)


def _coerced(cells: Coded, decimal: str | None) -> str:
    """Return the style in which most cells are numbers; the others count as empty."""
    styles = (PLAIN, DECIMAL_COMMA, THOUSANDS) if decimal == "," else (PLAIN, THOUSANDS, DECIMAL_COMMA)
    return max(styles, key=lambda style: sum(parser_of(style)(value) is not None for value in cells.values)) + OR_EMPTY


def rare_below(n_rows: int) -> int:
    """Return the number of rows below which a level is rare."""
    return int(np.clip(n_rows // SMALL_PARTS, 1, RARE))


def _is_short(values: list[str]) -> bool:
    return max(map(len, values)) <= 40


def _category(cells: Coded, name: str, file: Any) -> Kind:
    broken = line_break(cells, name, file)
    return Kind(problem=broken) if broken else Kind(CATEGORY, levels=len(cells.values))


def line_break(cells: Coded, name: str, file: Any) -> Problem | None:
    """Return what is wrong if a cell contains other rows because a closing quote is missing."""
    broken = [code for code, value in enumerate(cells.values) if file.swallowed(name, str(value))]
    if not broken:
        return None
    row = int(np.argmax(np.isin(cells.codes, broken)))
    return Problem(
        f"the cell of column {name!r} that starts in {file.place(row)} spans several lines: add the missing closing "
        "quote, or remove the line break."
    )


# --- what needs a decision ----------------------------------------------------------------------------------------


def _ambiguous_sign(cells: Coded, name: str, style: str, place) -> Problem:
    sign, word, other = (",", "comma", ".") if style == AMBIGUOUS_COMMAS else (".", "dot", ",")
    code = next(code for code, value in enumerate(cells.values) if sign in value)
    text, row = cells.values[code], int(np.argmax(cells.codes == code))
    what = "column {!r} contains {} ({}): the {} may separate thousands or decimals; {} if thousands, {} if decimals."
    thousands, decimals = Parameter("decimal", other), Parameter("decimal", sign)
    return Problem(Message(what, name, shown(text), place(row), word, thousands, decimals), [thousands])


def _mixed(cells: Coded, numbers: np.ndarray, name: str, place) -> Problem:
    counts = np.bincount(cells.codes[cells.codes >= 0], minlength=len(cells.values))
    odd = np.flatnonzero(~numbers)
    row = int(np.argmax(np.isin(cells.codes, odd)))
    some = ", ".join(shown(cells.values[code]) for code in odd[:NEEDLESS]) + (", ..." if len(odd) > NEEDLESS else "")
    where = f"column {name!r} contains the text {shown(cells.values[cells.codes[row]])} ({place(row)})"
    share = f"while {counts[numbers].sum():,} of {counts.sum():,} values are numbers"
    what = "{}, {}: let {} count as empty, or treat the column as {}."
    text = Message(what, where, share, some, Parameter("categorical", name))
    if len(odd) > NEEDLESS:
        return Problem(text, [Parameter("numeric", name)])
    return Problem(text, [Parameter("missing_values", cells.values[code]) for code in odd])
