"""What the columns of a table contain: numbers, truth values, dates, categories, or nothing that a model can use.

1,326 and 1.326 may be a thousand or a decimal fraction. What one column leaves open,
another one or the user decides.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from drsvm.tables.arrow_tables import ArrowTable, Column, Table, columns_of, is_text
from drsvm.tables.columns import Chosen
from drsvm.tables.copies import copies_among, first_of_each
from drsvm.tables.csv_files import CsvFile
from drsvm.tables.dataset import ReadOptions
from drsvm.tables.values import (
    DATE_STYLES,
    NEEDLESS,
    SIGNS,
    TRUTH_WORDS,
    Coded,
    NotANumber,
    Style,
    coded,
    levels_of,
    numbers_of,
    parser_of,
    shown,
    too_large,
)
from drsvm.utils.messages import Message, Parameter

TableFile = CsvFile | ArrowTable

# A column with at least this share of empty cells gets an indicator of them
FREQUENT_GAPS = 0.05
# A column with more different texts than this share of its rows is an id: no category
# repeats enough
NEARLY_ALL = 0.9
# levels with fewer rows, or than one in this many of a small table, share one column
RARE = 5
SMALL_PARTS = 20
FEW_ROWS = 20  # in a table with fewer rows than this nothing is taken for an id
ID_NAMES = re.compile(
    r"(.*[\W_])?(id|index|row|key|nr|no|number|acct|account|phone|uuid|guid)|unnamed: 0|column0|.*[a-z](Id|ID)"
)
# Styles by the start of pyarrow's type.
TYPES = {
    "bool": Style.TRUTH,
    "date": Style.ISO_DATE,
    "timestamp": Style.ISO_DATE,
    "time": Style.TIME,
}
# From this many rows on, integers that are all different are worth a note
MANY_ROWS = 100
AMBIGUOUS_COMMAS = "ambiguous commas"
AMBIGUOUS_DOTS = "ambiguous dots"
AMBIGUOUS_DATE = "ambiguous dates"
_DOTTED = re.compile(r"[+-]?[1-9]\d{0,2}\.\d{3}")
_WHOLE = re.compile(r"[+-]?\d{1,3}")


def number_style(values: list[str]) -> str | None:
    """Return the only style in which all texts are numbers, truth values or dates.

    None if they are something else.
    """
    if fits(Style.PLAIN, values):
        texts = [value.strip(SIGNS) for value in values]
        dotted = [text for text in texts if "." in text]
        whole = [text for text in texts if "." not in text]
        # Every dot is followed by three digits and all other numbers are below 1000:
        # 1.326 beside 312.
        thousands = (
            dotted
            and all(map(_DOTTED.fullmatch, dotted))
            and all(map(_WHOLE.fullmatch, whole))
        )
        return AMBIGUOUS_DOTS if thousands else Style.PLAIN
    fitting = [
        style for style in (Style.DECIMAL_COMMA, Style.THOUSANDS) if fits(style, values)
    ]
    if len(fitting) > 1:
        if any("," in value for value in values):
            return AMBIGUOUS_COMMAS
        return Style.THOUSANDS
    if fitting:
        return fitting[0]
    words = {value.lower() for value in values}
    if any(words == set(pair) for pair in TRUTH_WORDS):
        return Style.TRUTH
    forms = [style for style in (Style.TIME, *DATE_STYLES) if fits(style, values)]
    if len(forms) > 1:
        return AMBIGUOUS_DATE
    return next(iter(forms), None)


def fits(style: str, values: Iterable[str]) -> bool:
    """Return True if all texts are numbers in a style."""
    parse = parser_of(style)
    return all(parse(value) is not None for value in values)


def styles_of(
    texts: dict[str, list[str]], points: bool, decimal: str | None
) -> dict[str, str | None]:
    """Return the styles of columns by their different texts.

    `points`: others have numbers with decimal points.
    """
    styles = {name: number_style(values) for name, values in texts.items()}
    shown = {
        styles[name]
        for name, values in texts.items()
        if any("," in value or "." in value for value in values)
    }
    by_comma = Style.DECIMAL_COMMA in shown
    by_point = points or Style.THOUSANDS in shown
    if decimal is not None or by_comma != by_point:
        comma = by_comma if decimal is None else decimal == ","
        meanings = {
            AMBIGUOUS_COMMAS: Style.DECIMAL_COMMA if comma else Style.THOUSANDS,
            AMBIGUOUS_DOTS: Style.DECIMAL_COMMA if comma else Style.PLAIN,
        }
        return {
            name: meanings.get(style or "", style) for name, style in styles.items()
        }
    for name, values in texts.items():
        mixed = any(
            "." not in value and len(value.strip(SIGNS + "+-")) == 3 for value in values
        )
        if (
            styles[name] == AMBIGUOUS_DOTS and not mixed
        ):  # 312 beside 1.326; three decimals alone are ordinary
            styles[name] = Style.PLAIN
    return styles


def dots_as_written(
    file: TableFile,
    table: Table,
    names: list[str],
    decimal: str | None,
    empty: frozenset[str],
) -> Table:
    """Return a table of a file in which columns are texts if dots in them may separate thousands."""
    columns = columns_of(table)
    numbers = {
        name: numbers_of(columns[name], Style.PLAIN)
        for name in names
        if str(columns[name].type) == "double"
    }
    # Columns of numbers below 1000 with up to three decimals, none of which is a
    # fraction below 1
    suspect = []
    for name, values in numbers.items():
        sizes = np.abs(values[~np.isnan(values)])
        parts = sizes[sizes != np.trunc(sizes)]
        if len(parts) and parts.min() >= 1.0 and sizes.max() < 1000.0:
            if (np.abs(1000.0 * parts - np.round(1000.0 * parts)) < 1e-6).all():
                suspect += [name]
            else:
                suspect += []
    if decimal == "." or not suspect:
        return table
    cells = (coded(columns[name]).values for name in names if is_text(columns[name]))
    if decimal is None and Style.DECIMAL_COMMA not in map(number_style, cells):
        hundreds = {
            name: numbers[name][np.abs(numbers[name]) >= 100.0] for name in suspect
        }
        suspect = [
            name
            for name in suspect
            if (hundreds[name] == np.trunc(hundreds[name])).any()
        ]
    return file.as_written(table, suspect, empty)


@dataclass(frozen=True)
class Kind:
    """What a column contains."""

    style: str = Style.PLAIN  # of its cells (see `values`)
    missing: int = 0  # the number of empty cells
    levels: int = 0  # the number of categories
    left_out: str | None = None  # why the column is not used
    is_id: bool = False  # whether it identifies the rows
    # Whether it has integers that are all different, and may identify the rows
    all_different: bool = False
    problem: Message | None = None  # why it cannot be used


def kinds_of(
    table: Table, chosen: Chosen, options: ReadOptions, file: TableFile
) -> dict[str, Kind]:
    """Return the kinds of the feature columns of a file."""
    columns = columns_of(table.select(chosen.features))
    texts = {name: coded(column) for name, column in columns.items() if is_text(column)}
    points = any(str(column.type) == "double" for column in columns.values())
    styles = styles_of(
        {name: cells.values for name, cells in texts.items()}, points, options.decimal
    )
    copies = copies_among([texts.get(name, column) for name, column in columns.items()])
    # One of all rows that are copies of each other: in a table of copies, an id
    # repeats, too.
    if copies is None:
        rows = slice(None)
    else:
        rows = first_of_each(copies)
    kinds = {}
    for name, values in columns.items():
        column = _Column(
            name,
            values,
            name in chosen.numeric,
            name in chosen.categorical,
            rows,
            options,
            file,
        )
        if name in texts:
            kind = _text_kind(column, texts[name], styles[name])
        else:
            kind = _numeric_kind(column)
        if kind.style != Style.CATEGORY and not kind.left_out and not kind.problem:
            kind = _checked_numbers(column, kind)
        kinds[name] = replace(kind, missing=max(int(values.null_count), kind.missing))
    return kinds


class _Column(NamedTuple):
    """A column with what the user has stated about it, the different rows, and where it comes from."""

    name: str
    values: Column
    numeric: bool
    categorical: bool
    rows: np.ndarray | slice
    options: ReadOptions
    file: TableFile

    def numbers_the_rows(self, numbers: np.ndarray) -> bool:
        """Return True for integers that count the rows, or are nearly all different under a typical name."""
        numbers = numbers[self.rows]
        if (
            len(numbers) < FEW_ROWS or not (numbers == np.trunc(numbers)).all()
        ):  # nor with empty cells
            return False
        typical = ID_NAMES.fullmatch(self.name) or ID_NAMES.fullmatch(self.name.lower())
        nearly = typical is not None and len(np.unique(numbers)) > NEARLY_ALL * len(
            numbers
        )
        return nearly or bool((np.diff(numbers) == 1).all())


def _numeric_kind(column: _Column) -> Kind:
    if column.categorical:
        return Kind(Style.CATEGORY, levels=len(levels_of(column.values).values))
    kind = str(column.values.type)
    if not kind.startswith(("int", "uint")):
        return Kind(
            next(
                (style for start, style in TYPES.items() if kind.startswith(start)),
                Style.PLAIN,
            )
        )
    if column.numeric:
        return Kind()
    numbers = numbers_of(column.values, Style.PLAIN)
    if column.numbers_the_rows(numbers):
        return Kind(left_out="an id", is_id=True)
    different = numbers[column.rows]
    return Kind(all_different=len(np.unique(different)) == len(different) >= MANY_ROWS)


def _checked_numbers(column: _Column, kind: Kind) -> Kind:
    name = column.name
    place = column.file.place
    try:
        values = numbers_of(column.values, kind.style, column.options.empty)
    except NotANumber as wrong:  # a type of Parquet that is neither a number nor a date
        where = f"{place(wrong.row)} contains {shown(wrong.text)}"
        text = f"column {name!r} has type {column.values.type} ({where}): drop it."
        return replace(kind, problem=Message(text, fixes=[Parameter("drop", name)]))
    large = too_large(name, values, place)
    if large is not None:
        fixes = [
            Parameter("missing_values", str(column.values[row].as_py()))
            for row in large[1][:NEEDLESS]
        ]
        return replace(
            kind,
            problem=Message(
                f"{large[0]}: correct it, or let it count as empty.", fixes=fixes
            ),
        )
    given = values[~np.isnan(values)]
    missing = len(values) - len(given)
    if len(given) == 0:
        return Kind(left_out="empty")
    if given.min() == given.max() and missing < FREQUENT_GAPS * len(values):
        return Kind(left_out="always the same")
    truth = kind.style == Style.PLAIN and bool(np.isin(given, (0.0, 1.0)).all())
    return replace(kind, style=Style.TRUTH if truth else kind.style, missing=missing)


def _text_kind(column: _Column, cells: Coded, style: str | None) -> Kind:
    if not cells.values:
        return Kind(left_out="empty")
    if column.categorical:
        return Kind(
            Style.CATEGORY,
            levels=len(cells.values),
            problem=line_break(cells, column.name, column.file),
        )
    if column.numeric:
        if style and (
            style in (Style.DECIMAL_COMMA, Style.THOUSANDS, Style.TIME)
            or style.startswith("date")
        ):
            return Kind(style)
        with_signs = (Style.THOUSANDS, Style.DECIMAL_COMMA)[
            :: -1 if column.options.decimal == "," else 1
        ]
        styles = (Style.PLAIN, *with_signs)
        fitting = {
            style: sum(parser_of(style)(value) is not None for value in cells.values)
            for style in styles
        }
        return Kind(max(styles, key=lambda style: fitting[style]) + Style.OR_EMPTY)
    if style in (AMBIGUOUS_COMMAS, AMBIGUOUS_DOTS):
        if style == AMBIGUOUS_COMMAS:
            sign = ","
            word = "comma"
            other = "."
        else:
            sign = "."
            word = "dot"
            other = ","
        code = next(code for code, value in enumerate(cells.values) if sign in value)
        cell = (
            column.name,
            shown(cells.values[code]),
            column.file.place(int(np.argmax(cells.codes == code))),
        )
        thousands = Parameter("decimal", other)
        decimals = Parameter("decimal", sign)
        cause = "the {} may separate thousands or decimals; {} if thousands, {} if decimals."
        given = *cell, word, thousands, decimals
        return Kind(
            problem=Message(
                "column {!r} contains {} ({}): " + cause, *given, fixes=[thousands]
            )
        )
    if style == AMBIGUOUS_DATE:
        return Kind(left_out="dates, as day/month or as month/day")
    if style == Style.PLAIN and column.numbers_the_rows(
        numbers_of(column.values, Style.PLAIN, column.options.empty)
    ):
        return Kind(left_out="an id", is_id=True)
    if style is None:
        return _free_text(column, cells)
    return Kind(style)


def _free_text(column: _Column, cells: Coded) -> Kind:
    """Return the kind of a column of texts that are not all numbers: categories, if they repeat."""
    n = len(cells.codes)
    levels = len(cells.values)
    counts = np.bincount(cells.codes[cells.codes >= 0], minlength=levels)
    if levels == 1 and column.values.null_count < FREQUENT_GAPS * n:
        return Kind(left_out="always the same")
    parsers = [
        parser_of(style)
        for style in (Style.PLAIN, Style.DECIMAL_COMMA, Style.THOUSANDS)
    ]
    numbers = np.array(
        [any(parse(value) is not None for parse in parsers) for value in cells.values]
    )
    if counts[numbers].sum() >= 0.5 * counts.sum():
        odd = np.flatnonzero(~numbers)
        row = int(np.argmax(np.isin(cells.codes, odd)))
        listed = [shown(cells.values[code]) for code in odd[:NEEDLESS]]
        some = ", ".join(listed) + (", ..." if len(odd) > NEEDLESS else "")
        text = f"the text {shown(cells.values[cells.codes[row]])} ({column.file.place(row)})"
        share = (
            f"while {counts[numbers].sum():,} of {counts.sum():,} values are numbers"
        )
        what = "column {!r} contains {}, {}: let {} count as empty, or treat the column as {}."
        fixes = [Parameter("missing_values", cells.values[code]) for code in odd]
        if len(odd) > NEEDLESS:
            fixes = [Parameter("numeric", column.name)]
        else:
            fixes = fixes
        given = column.name, text, share, some, Parameter("categorical", column.name)
        return Kind(problem=Message(what, *given, fixes=fixes))
    if n >= FEW_ROWS and levels > NEARLY_ALL * int(
        (cells.codes[column.rows] >= 0).sum()
    ):
        is_short = max(map(len, cells.values)) <= 40
        return Kind(
            left_out="an id"
            if is_short
            else "free text: make features of it first, such as counts of words",
            is_id=True,
        )
    if counts.max() < rare_below(n):
        return Kind(left_out=f"{levels:,} levels, all of them rare")
    return Kind(
        Style.CATEGORY,
        levels=len(cells.values),
        problem=line_break(cells, column.name, column.file),
    )


def rare_below(n_rows: int) -> int:
    """Return the number of rows below which a level is rare."""
    return int(np.clip(n_rows // SMALL_PARTS, 1, RARE))


def line_break(cells: Coded, name: str, file: TableFile) -> Message | None:
    """Return the problem that a cell contains other rows because a closing quote is missing, if there is one."""
    broken = [
        code
        for code, value in enumerate(cells.values)
        if file.swallowed(name, str(value))
    ]
    if not broken:
        return None
    row = int(np.argmax(np.isin(cells.codes, broken)))
    what = f"the cell of column {name!r} that starts in {file.place(row)} spans several lines"
    return Message(f"{what}: add the missing closing quote, or remove the line break.")
