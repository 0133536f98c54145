"""Columns as numbers, categories and labels."""

import re
from collections.abc import Callable, Iterable
from datetime import date
from typing import Any, NamedTuple

import numpy as np

from drsvm.tables.arrow_columns import Column, as_numbers, is_text
from drsvm.tables.cell_styles import (
    DATE_STYLES,
    EXACT,
    MISSING,
    NUMBER_STYLES,
    STYLES_BY_SIGN,
    TRUTH_WORDS,
    Style,
    as_number,
    days_of,
    description_of,
    fits,
    parser_of,
)

EMPTY = "(empty)"  # the category of empty cells
# If a column of numbers has up to this many different texts, messages suggest to let
# them count as empty.
FEW_TEXTS = 3
# Larger numbers are refused: their squares overflow, and they are mistakes or stand for
# an empty cell.
LARGEST = 1e100
# Longer values are shown in messages by their first characters only.
LONGEST_SHOWN = 42
FIRST_SHOWN = 38
# Such as a postal code
_LEADING_ZERO = re.compile(r"[+-]?0\d")
# How pyarrow's types of numbers and texts begin.
_NUMBERS = ("int", "uint", "float", "double", "halffloat", "bool", "decimal")
_TEXTS = ("string", "large_string", "dictionary")


class Coded(NamedTuple):
    """A column as its distinct values, and the position of each row's value in them.

    That is what pandas calls a Categorical, and pyarrow a dictionary.
    """

    values: list[Any]
    codes: np.ndarray  # positions in `values`; -1 for an empty cell

    def mapped(
        self, images: Iterable[object], otherwise: object, dtype: type
    ) -> np.ndarray:
        """Return the column with other values.

        Parameters
        ----------
        images : iterable
            What takes the place of each of `values`.
        otherwise : object
            What takes the place of an empty cell.
        dtype : type
            The type of the array.
        """
        table = np.empty(len(self.values) + 1, dtype=dtype)
        for place, image in enumerate(images):
            table[place] = image
        # An empty cell has the position -1, which is that of the last entry.
        table[-1] = otherwise
        return table[self.codes]

    def texts(self) -> list[str]:
        """Return the distinct values that occur, as text."""
        return [str(self.values[code]) for code in np.unique(self.codes)]

    def first_row(self, codes: Any) -> int:
        """Return the first row that has one of some codes."""
        return int(np.argmax(np.isin(self.codes, codes)))


class NotANumber(ValueError):
    """A cell does not have the style of its column.

    Parameters
    ----------
    cells : Coded
        The column.
    numbers : list
        The numbers of its distinct values; None for one that has another style.
    style : str
        The style of the column.

    Attributes
    ----------
    row, text : int and str
        Where the first such cell is, and what it contains.
    texts : list of str
        Those of all such cells, if they are few.
    needed : str
        What the style is, in words.
    is_date : bool
        Whether the column has dates, and this is one in another form.
    signs : list of str
        The decimal signs with which it is a number.
    """

    def __init__(self, cells: Coded, numbers: list[float | None], style: str):
        wrong = [place for place, number in enumerate(numbers) if number is None]
        self.row = cells.first_row(wrong)
        self.text = str(cells.values[cells.codes[self.row]])
        self.texts = []
        if len(wrong) <= FEW_TEXTS:
            self.texts = [str(cells.values[place]) for place in wrong]
        self.needed = description_of(style)
        self.is_date = False
        if style in DATE_STYLES:
            self.is_date = any(fits(form, [self.text]) for form in DATE_STYLES)
        self.signs = []
        if style.removesuffix(Style.OR_EMPTY) in NUMBER_STYLES:
            for sign, form in STYLES_BY_SIGN.items():
                if fits(form, [self.text]):
                    self.signs.append(sign)
        super().__init__(f"row {self.row + 1} contains {shown(self.text)}")


def is_empty(value: object) -> bool:
    """Return True if a cell of a data frame is None, NaN, NaT or pandas.NA."""
    try:
        # NaN and NaT differ from themselves.
        return value is None or bool(value != value)
    except TypeError:
        # Comparisons with pandas.NA are neither true nor false.
        return True


def coded(column: Column) -> Coded:
    """Return a column as its distinct values and their positions.

    Parameters
    ----------
    column : Column, array or column of a data frame
        One of pyarrow, or anything that numpy can read.
    """
    if hasattr(column, "dictionary_encode"):
        if hasattr(column, "combine_chunks"):
            column = column.combine_chunks()
        if not hasattr(column, "dictionary"):
            column = column.dictionary_encode()
        codes = column.indices.cast("int64").fill_null(-1)
        return Coded(column.dictionary.to_pylist(), np.asarray(codes))
    places: dict[object, int] = {}
    codes = []
    for cell in np.asarray(column, dtype=object):
        code = -1
        if not is_empty(cell):
            code = places.setdefault(cell, len(places))
        codes.append(code)
    return Coded(list(places), np.array(codes, dtype=np.intp))


def as_floats(column: Column) -> np.ndarray | None:
    """Return a column whose type is that of numbers, truth values or dates as floats.

    Dates and durations are in days. None for text and mixtures.
    """
    arrow_type = str(getattr(column, "type", ""))
    if arrow_type.startswith(_NUMBERS):
        # With thousands of columns, conversions of floats to floats would take seconds.
        if arrow_type != "double":
            column = column.cast("float64", safe=False)
        return np.asarray(column)
    # Pyarrow would convert texts to objects one by one.
    if arrow_type.startswith(_TEXTS):
        return None
    array = np.asarray(column)
    if array.dtype.kind in "Mm":
        # As numpy counts them: microseconds since 1970, or of a duration
        unit = f"{array.dtype.kind}8[us]"
        days = array.astype(unit).astype(np.int64) / 86400e6
        return np.where(np.isnat(array), np.nan, days)
    if array.dtype.kind in "biuf":
        return array.astype(np.float64)
    return None


def numbers_of(
    column: Column, style: str, missing: frozenset[str] = MISSING
) -> np.ndarray:
    """Return a column as floats, with NaN for empty cells.

    Parameters
    ----------
    column : Column, array or column of a data frame
        The cells.
    style : str
        How they are written, if they are texts.
    missing : frozenset of str
        Texts that count as empty.

    Raises
    ------
    NotANumber
        For a cell of another style.
    """
    # Plain numbers have points, as those with separators of thousands.
    may_be_plain = (Style.PLAIN, Style.TRUTH, Style.THOUSANDS)
    is_plain = style.removesuffix(Style.OR_EMPTY) in may_be_plain
    if is_plain and hasattr(column, "type") and is_text(column):
        # Texts of pyarrow are converted at once if all of them are numbers.
        numbers = as_numbers(column)
        if numbers is not None:
            column = numbers
    array = as_floats(column)
    if array is not None:
        # Numbers, too, may stand for empty cells, such as -999.
        for text in missing - MISSING:
            number = as_number(text)
            if number is not None:
                array = np.where(array == number, np.nan, array)
        return array
    cells = coded(column)
    numbers = _parsed(cells.values, style, missing)
    if None in numbers and style in DATE_STYLES:
        # All dates may have another form than in training, if they fit only one.
        fitting = []
        for form in DATE_STYLES:
            attempt = _parsed(cells.values, form, missing)
            if None not in attempt:
                fitting.append(attempt)
        if len(fitting) == 1:
            [numbers] = fitting
    # As a float, None is NaN.
    array = cells.mapped(numbers, np.nan, np.float64)
    if None in numbers and not style.endswith(Style.OR_EMPTY):
        raise NotANumber(cells, numbers, style)
    return array


def _parsed(
    values: list[Any], style: str, missing: frozenset[str]
) -> list[float | None]:
    """Return cells as numbers: NaN if empty, None if of another style."""
    parse = parser_of(style)
    numbers = []
    for value in values:
        if level_of(value, missing) is None:
            numbers.append(np.nan)
        elif isinstance(value, date):
            numbers.append(days_of(value))
        else:
            numbers.append(parse(str(value).strip()))
    return numbers


def too_large(
    name: str, values: np.ndarray, place: Callable[[int], str]
) -> tuple[str, list[int]] | None:
    """Return what is wrong with a column that has numbers beyond `LARGEST`.

    Parameters
    ----------
    name : str
        The name of the column.
    values : array of shape (n,)
        Its numbers.
    place : callable
        Returns where a row is, for the message.

    Returns
    -------
    tuple of str and list of int, or None
        The message, and the first row with each of these numbers; None if there are
        none.
    """
    beyond = np.flatnonzero(np.abs(values) > LARGEST)
    if len(beyond) == 0:
        return None
    firsts = np.unique(values[beyond], return_index=True)[1]
    rows = sorted(beyond[firsts].tolist())
    first = values[rows[0]]
    size = f"infinite at {place(rows[0])}"
    if np.isfinite(first):
        size = f"{first:g} at {place(rows[0])}, which is too large"
    return f"column {name!r} is {size}", rows


def level_of(value: object, missing: frozenset[str] = MISSING) -> str | None:
    """Return the category of a cell as text, or None if it is empty.

    1, 1.0 and "1" are the same category.
    """
    if is_empty(value):
        return None
    text = str(value).strip()
    if text in missing:
        return None
    number = as_number(text)
    if number is not None and abs(number) < EXACT:
        text = repr(number)
        if number.is_integer():
            text = str(int(number))
    elif text.lower() in TRUTH_WORDS[0]:
        text = text.lower()
    # With -999 as an empty cell, so is -999.0.
    if text in missing:
        return None
    return text


def levels_of(column: Column, missing: frozenset[str] = MISSING) -> Coded:
    """Return the categories of a column as text; empty cells have the code -1."""
    cells = coded(column)
    levels: dict[str, int] = {}
    # The level of each distinct cell, by its position
    places = []
    for value in cells.values:
        level = level_of(value, missing)
        place = -1
        if level is not None:
            place = levels.setdefault(level, len(levels))
        places.append(place)
    return Coded(list(levels), cells.mapped(places, -1, np.intp))


def labels_of(labels: Coded, truth: bool | None = None) -> np.ndarray:
    """Return labels as booleans, integers, floats or text.

    They are integers if all are whole numbers, and floats if all are numbers. Numbers
    that would lose information stay text: 01 next to 1, postal codes, integers that a
    float cannot represent. True and false become booleans: with `truth`, or by default
    if there are these two, each in one spelling.
    """
    words = labels.texts()
    lower = set(map(str.lower, words))
    if truth is None:
        truth = len(lower) == len(words) == 2
    if truth and lower <= set(TRUTH_WORDS[0]):
        values = np.char.lower(words) == "true"
    else:
        values = _numbers_or_texts(words)
    # `words` are the texts of these codes.
    used = np.unique(labels.codes)
    return values[np.searchsorted(used, labels.codes)]


def _numbers_or_texts(words: list[str]) -> np.ndarray:
    """Return texts as numbers, or as they are if numbers would lose information."""
    texts = np.array(words)
    numbers = list(map(as_number, words))
    if None in numbers or any(map(_LEADING_ZERO.match, words)):
        return texts
    values = np.array(numbers, dtype=np.float64)
    if (np.abs(values) >= EXACT).any() or len(np.unique(values)) < len(words):
        return texts
    return whole_numbers(values)


def whole_numbers(values: np.ndarray) -> np.ndarray:
    """Return numbers as integers if all of them are whole."""
    whole = (np.abs(values) < EXACT) & (values == np.trunc(values))
    if whole.all():
        return values.astype(np.int64)
    return values


def shown(value: object) -> str:
    """Return a value for a message, truncated if it is long."""
    text = repr(value)
    if len(text) <= LONGEST_SHOWN:
        return text
    # The last character is the closing quote.
    return f"{text[:FIRST_SHOWN]}...{text[-1]}"


def in_order(names: list[str]) -> list[str] | None:
    """Sort names that are numbers, months or dates of one style; None for others."""
    # What is added to a name before it is read: the first day of a month to 2024-05.
    styles = [(Style.PLAIN, ""), (Style.ISO_DATE, "-01")]
    styles += [(style, "") for style in DATE_STYLES]
    for style, end in styles:
        parse = parser_of(style)
        # Names that cannot be read in this style have no place.
        places = {}
        for name in names:
            place = float("inf") if name == EMPTY else parse(name + end)
            if place is None:
                break
            places[name] = place
        if len(places) == len(names):
            return sorted(names, key=lambda name: (places[name], name))
    return None
