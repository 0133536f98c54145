"""What the columns of a table contain.

Numbers, truth values, dates, categories, or nothing that a model can use. Transformers
of other libraries guess types, too, but silently: here, whatever is ambiguous becomes a
problem that names the cell and the ways to solve it.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from drsvm.tables.arrow_columns import Column, Table, columns_of, is_text
from drsvm.tables.arrow_tables import TableFile
from drsvm.tables.cell_styles import DATE_STYLES, NUMBER_STYLES, Style, fits, parser_of
from drsvm.tables.columns import Chosen
from drsvm.tables.copies import copies_among, first_of_each
from drsvm.tables.dataset import ReadOptions
from drsvm.tables.decimal_signs import (
    AMBIGUOUS_COMMAS,
    AMBIGUOUS_DATE,
    AMBIGUOUS_DOTS,
    styles_of,
)
from drsvm.tables.values import (
    FEW_TEXTS,
    Coded,
    NotANumber,
    coded,
    levels_of,
    numbers_of,
    shown,
    too_large,
)
from drsvm.utils.messages import Message, Parameter

# A column with at least this share of empty cells gets an indicator of them.
FREQUENT_GAPS = 0.05
# A column with more different texts than this share of its rows is an id: no category
# repeats enough.
NEARLY_ALL = 0.9
# A level is rare if it has fewer rows than this or, in a small table, fewer than one in
# this many. Rare levels share one column.
RARE = 5
SMALL_PARTS = 20
FEW_ROWS = 20  # in a table with fewer rows than this nothing is taken for an id
SHORT_TEXT = 40  # texts up to this length may be ids, longer ones are prose
# From this many rows on, columns that may be ids are worth a note: integers that are
# all different, and categories with fewer than RARE rows per level.
MANY_ROWS = 100
# Such as "customer_id", "Row" or "passengerId"; "unnamed: 0" is what pandas writes for
# the row numbers of a table.
ID_NAMES = re.compile(
    r"(.*[\W_])?"
    r"(id|index|row|key|nr|no|number|acct|account|phone|uuid|guid)"
    r"|unnamed: 0|column0|.*[a-z](Id|ID)"
)
# Styles by the start of pyarrow's type.
TYPES = {
    "bool": Style.TRUTH,
    "date": Style.ISO_DATE,
    "timestamp": Style.ISO_DATE,
    "time": Style.TIME,
}
# The ambiguous sign, its name, and the sign that has the other meaning
SIGNS_BY_STYLE = {
    AMBIGUOUS_COMMAS: (",", "comma", "."),
    AMBIGUOUS_DOTS: (".", "dot", ","),
}


@dataclass(frozen=True)
class Kind:
    """What a column contains."""

    style: str = Style.PLAIN  # of its cells
    missing: int = 0  # the number of empty cells
    levels: int = 0  # the number of categories
    left_out: str | None = None  # why the column is not used
    is_id: bool = False  # whether it identifies the rows
    # Whether it has integers that are all different, and may identify the rows.
    all_different: bool = False
    problems: Sequence[Message] = ()  # why it cannot be used


AN_ID = Kind(left_out="an id", is_id=True)
ALWAYS_THE_SAME = Kind(left_out="always the same")


def kinds_of(
    table: Table, chosen: Chosen, options: ReadOptions, file: TableFile
) -> dict[str, Kind]:
    """Return the kinds of the feature columns of a file.

    Parameters
    ----------
    table : Table
        The cells; columns of which all cells are plain numbers have such a type.
    chosen : Chosen
        The columns by role.
    options : ReadOptions
        What the user has stated.
    file : TableFile
        Where the table is from, for error messages.

    Returns
    -------
    dict
        A `Kind` by the name of the column.
    """
    # 1. How texts are written, which all columns together show
    columns = columns_of(table.select(chosen.features))
    texts = {}
    words = {}
    points = False
    for name, column in columns.items():
        if is_text(column):
            texts[name] = coded(column)
            words[name] = texts[name].values
        elif str(column.type) == "double":
            points = True
    styles = styles_of(words, points, options.decimal)

    # 2. The rows in which an id has different values
    rows = slice(None)
    copies = copies_among({**columns, **texts}.values())
    if copies is not None:
        # One of all rows that are copies of each other: in a table of copies, an id
        # repeats, too.
        rows = first_of_each(copies)

    # 3. The kind of every column
    inspection = _Inspection(chosen.roles, options, file, rows)
    kinds = {}
    for name, column in columns.items():
        if name in texts:
            kind = inspection.text_kind(name, column, texts[name], styles[name])
        else:
            kind = inspection.typed_kind(name, column)
        if kind.style != Style.CATEGORY and not kind.left_out and not kind.problems:
            kind = inspection.checked(name, column, kind)
        n_missing = max(int(column.null_count), kind.missing)
        kinds[name] = replace(kind, missing=n_missing)
    return kinds


@dataclass(frozen=True, eq=False)
class _Inspection:
    """What the kinds of single columns are found with."""

    roles: dict[str, list[str]]
    options: ReadOptions
    file: TableFile
    rows: np.ndarray | slice  # rows that are not copies of each other

    def typed_kind(self, name: str, column: Column) -> Kind:
        """Return the kind of a column of numbers, truth values or dates."""
        if name in self.roles["categorical"]:
            return Kind(Style.CATEGORY, levels=len(levels_of(column).values))
        arrow_type = str(column.type)
        for start, style in TYPES.items():
            if arrow_type.startswith(start):
                return Kind(style)
        # Only integers may identify rows.
        is_integer = arrow_type.startswith(("int", "uint"))
        if name in self.roles["numeric"] or not is_integer:
            return Kind()
        numbers = numbers_of(column, Style.PLAIN)[self.rows]
        if _identify(name, numbers):
            return AN_ID
        n_different = len(np.unique(numbers))
        return Kind(all_different=n_different == len(numbers) >= MANY_ROWS)

    def text_kind(
        self, name: str, column: Column, cells: Coded, style: str | None
    ) -> Kind:
        """Return the kind of a column of texts, which may be numbers of a style."""
        if not cells.values:
            return Kind(left_out="empty")
        if name in self.roles["categorical"]:
            return self._category(name, cells)
        if name in self.roles["numeric"]:
            return Kind(_wanted_style(cells.values, style, self.options.decimal))
        if style in SIGNS_BY_STYLE:
            return self._ambiguous(name, cells, *SIGNS_BY_STYLE[style])
        if style == AMBIGUOUS_DATE:
            return Kind(left_out="dates, as day/month or as month/day")
        if style is None:
            return self._words(name, column, cells)
        if style == Style.PLAIN:
            numbers = numbers_of(column, style, self.options.empty)
            if _identify(name, numbers[self.rows]):
                return AN_ID
        return Kind(style)

    def checked(self, name: str, column: Column, kind: Kind) -> Kind:
        """Return the kind of a column of numbers after a look at their values.

        Numbers that are too large are a problem; a column without numbers, or with one
        number only, is left out; one of 0 and 1 has truth values.
        """
        file = self.file
        try:
            values = numbers_of(column, kind.style, self.options.empty)
        except NotANumber as wrong:
            # A type of Parquet that is neither a number nor a date.
            where = f"{file.place(wrong.row)} contains {shown(wrong.text)}"
            what = f"column {name!r} has type {column.type} ({where}): drop it."
            problem = Message(what, fixes=[Parameter("drop", name)])
            return replace(kind, problems=[problem])
        large = too_large(name, values, file.place)
        if large is not None:
            text, rows = large
            fixes = []
            for row in rows[:FEW_TEXTS]:
                cell = str(column[row].as_py())
                fixes.append(Parameter("missing_values", cell))
            what = f"{text}: correct it, or let it count as empty."
            return replace(kind, problems=[Message(what, fixes=fixes)])
        given = values[~np.isnan(values)]
        n_missing = len(values) - len(given)
        if len(given) == 0:
            return Kind(left_out="empty")
        if given.min() == given.max() and n_missing < FREQUENT_GAPS * len(values):
            return ALWAYS_THE_SAME
        style = kind.style
        if style == Style.PLAIN and ((given == 0.0) | (given == 1.0)).all():
            style = Style.TRUTH
        return replace(kind, style=style, missing=n_missing)

    def _ambiguous(
        self, name: str, cells: Coded, sign: str, word: str, other: str
    ) -> Kind:
        """Return the problem that a sign may separate thousands or decimals.

        Parameters
        ----------
        name, cells : str and Coded
            The column.
        sign, word, other : str
            The sign, its name, and the sign that then has the other meaning.
        """
        code = 0
        while sign not in cells.values[code]:
            code += 1
        thousands = Parameter("decimal", other)
        problem = Message(
            "column {!r} contains {} ({}): the {} may separate thousands or decimals; "
            "{} if thousands, {} if decimals.",
            name,
            shown(cells.values[code]),
            self.file.place(cells.first_row(code)),
            word,
            thousands,
            Parameter("decimal", sign),
            fixes=[thousands],
        )
        return Kind(problems=[problem])

    def _words(self, name: str, column: Column, cells: Coded) -> Kind:
        """Return the kind of a column of texts that are not all numbers.

        It has categories if they repeat; if most cells are numbers, the others are a
        problem; if nearly all texts are different, they are ids or prose.
        """
        n = len(cells.codes)
        levels = len(cells.values)
        if levels == 1 and column.null_count < FREQUENT_GAPS * n:
            return ALWAYS_THE_SAME
        counts = np.bincount(cells.codes[cells.codes >= 0], minlength=levels)
        is_number = np.array(list(map(_is_any_number, cells.values)))
        if counts[is_number].sum() >= 0.5 * counts.sum():
            return self._numbers_and_texts(name, cells, is_number, counts)
        n_given = (cells.codes[self.rows] >= 0).sum()
        if n >= FEW_ROWS and levels > NEARLY_ALL * n_given:
            if max(map(len, cells.values)) <= SHORT_TEXT:
                return AN_ID
            remedy = "make features of it first, such as counts of words"
            return Kind(left_out=f"free text: {remedy}", is_id=True)
        if counts.max() < rare_below(n):
            return Kind(left_out=f"{levels:,} levels, all of them rare")
        return self._category(name, cells)

    def _numbers_and_texts(
        self, name: str, cells: Coded, is_number: np.ndarray, counts: np.ndarray
    ) -> Kind:
        """Return the problem that some cells among numbers are texts."""
        odd = np.flatnonzero(~is_number)
        texts = [cells.values[code] for code in odd]
        some = ", ".join(map(shown, texts[:FEW_TEXTS]))
        fixes = [Parameter("missing_values", text) for text in texts]
        if len(odd) > FEW_TEXTS:
            some += ", ..."
            fixes = [Parameter("numeric", name)]
        row = cells.first_row(odd)
        problem = Message(
            "column {!r} contains the text {} ({}), while {:,} of {:,} values are "
            "numbers: let {} count as empty, or treat the column as {}.",
            name,
            shown(cells.values[cells.codes[row]]),
            self.file.place(row),
            counts[is_number].sum(),
            counts.sum(),
            some,
            Parameter("categorical", name),
            fixes=fixes,
        )
        return Kind(problems=[problem])

    def _category(self, name: str, cells: Coded) -> Kind:
        """Return the kind of categories; one that contains other rows is a problem."""
        problems = unclosed_quotes(cells, name, self.file)
        return Kind(Style.CATEGORY, levels=len(cells.values), problems=problems)


def _identify(name: str, numbers: np.ndarray) -> bool:
    """Return True for integers that identify the rows.

    They count the rows, grow from row to row of a large table, or are nearly all
    different under a typical name.
    """
    # Ids are not missing: a column with empty cells, which are NaN, has no ids.
    if len(numbers) < FEW_ROWS or not (numbers == np.trunc(numbers)).all():
        return False
    steps = np.diff(numbers)
    if (steps == 1).all() or (len(numbers) >= MANY_ROWS and (steps > 0).all()):
        return True
    typical = ID_NAMES.fullmatch(name) or ID_NAMES.fullmatch(name.lower())
    n_different = len(np.unique(numbers))
    return typical is not None and n_different > NEARLY_ALL * len(numbers)


def _wanted_style(values: list[str], style: str | None, decimal: str | None) -> str:
    """Return the style of a column that has numbers because the user says so.

    Unless they all have one, it is that of most, and the others count as empty.
    """
    known = (Style.DECIMAL_COMMA, Style.THOUSANDS, Style.TIME, *DATE_STYLES)
    if style is not None and style in known:
        return style
    styles = [Style.PLAIN, Style.THOUSANDS, Style.DECIMAL_COMMA]
    if decimal == ",":
        styles = [Style.PLAIN, Style.DECIMAL_COMMA, Style.THOUSANDS]

    def n_others(candidate: str) -> int:
        """Return how many cells have another style."""
        return list(map(parser_of(candidate), values)).count(None)

    return min(styles, key=n_others) + Style.OR_EMPTY


def _is_any_number(text: str) -> bool:
    """Return True for a number in any of the styles."""
    return any(fits(style, [text]) for style in NUMBER_STYLES)


def rare_below(n_rows: int) -> int:
    """Return the number of rows below which a level is rare."""
    return int(np.clip(n_rows // SMALL_PARTS, 1, RARE))


def unclosed_quotes(cells: Coded, name: str, file: TableFile) -> list[Message]:
    """Return the problem that a cell contains other rows, for want of a closing quote.

    The list is empty if there is no such cell.
    """
    broken = []
    for code, value in enumerate(cells.values):
        if file.contains_rows(name, str(value)):
            broken.append(code)
    if not broken:
        return []
    place = file.place(cells.first_row(broken))
    return [
        Message(
            f"the cell of column {name!r} that starts in {place} spans several lines: "
            "add the missing closing quote, or remove the line break."
        )
    ]
