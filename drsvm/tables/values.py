"""Cells as numbers, categories and labels.

The text of a number depends on the country and the program that wrote it. A column has
one *style*, which is found once and then used for all files: the names of the styles
are part of model files.
"""

import re
from collections.abc import Callable, Iterable
from datetime import UTC, date, datetime
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np

from drsvm.tables.arrow_tables import Column, is_text

Value = TypeVar("Value")

# Texts that denote a missing value.
_NOTHING = (
    "",
    "?",
    "NULL",
    "null",
    "Null",
    "None",
    "none",
    "NA",
    "N/A",
    "n/a",
    "na",
    "#N/A",
    "<NA>",
)
MISSING = frozenset((*_NOTHING, "NaN", "nan", "NAN", "-nan", "-NaN", "NaT"))
EMPTY = "(empty)"  # the category of empty cells
# Up to this many different texts among numbers are suggested as missing values
NEEDLESS = 3


class Style:
    """How the cells of a column are written.

    A date in another form has the style ``date %d.%m.%Y``.
    """

    PLAIN = "number"
    DECIMAL_COMMA = "decimal comma"
    THOUSANDS = "thousands separators"
    # The end of a style in which cells that are not numbers count as empty
    OR_EMPTY = " or empty"
    TRUTH = "true or false"
    ISO_DATE = "date"
    TIME = "time of day"
    CATEGORY = "category"


EXACT = 2.0**53  # integers below this are exact as floats
# Larger numbers are refused: their squares overflow, and they are mistakes or stand for
# an empty cell
LARGEST = 1e100
SIGNS = "$€£¥% \u00a0"
# What accountants write for an empty cell: in a column of numbers, it is empty
DASHES = frozenset("-–—")
_NEGATIVE = re.compile(
    rf"\((?P<bracketed>[^()]+)\)|-[{SIGNS}]+(?P<signed>[\d.,' \u00a0\u202f]+)"
)
_GAP = "[.' \u00a0\u202f]"
_LEADING_ZERO = re.compile(r"[+-]?0\d")
_DECIMAL_COMMA = re.compile(
    rf"[+-]?(\d*|\d{{1,3}}({_GAP}\d{{3}})+)(,\d+)?([eE][+-]?\d+)?"
)
_COMMA_OR_GAP = _GAP.replace(".", ",")
_THOUSANDS = re.compile(
    rf"[+-]?(\d*|\d{{1,3}}({_COMMA_OR_GAP}\d{{3}})+)(\.\d*)?([eE][+-]?\d+)?"
)
_TIME = re.compile(r"(\d\d?):(\d\d)(:(\d\d)(\.\d+)?)?")
_ISO = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d.*)?")
TRUTH_WORDS = (
    *(("false", "true"), ("no", "yes"), ("n", "y"), ("f", "t"), ("off", "on")),
    *(
        ("nein", "ja"),
        ("non", "oui"),
        ("no", "si"),
        ("no", "sí"),
        ("não", "sim"),
        ("nao", "sim"),
        ("nie", "tak"),
    ),
)
_TRUTH = {
    word: float(value) for words in TRUTH_WORDS for value, word in enumerate(words)
} | {"0": 0.0, "1": 1.0}
_DAYS = (
    "%Y/%m/%d",
    "%d.%m.%Y",
    "%d/%m/%Y",
    "%m/%d/%Y",
    "%d-%m-%Y",
    "%m-%d-%Y",
    "%d %b %Y",
    "%b %d, %Y",
)
DATE_STYLES = (
    Style.ISO_DATE,
    *(f"date {day}{time}" for day in _DAYS for time in ("", " %H:%M", " %H:%M:%S")),
)


class NotANumber(ValueError):
    """A cell does not have the style of its column.

    `texts` are those of all such cells, if they are few.
    """

    def __init__(self, row: int, text: str, texts: list[str], style: str):
        super().__init__(f"row {row + 1} contains {shown(text)}")
        self.row = row
        self.text = text
        self.texts = texts if len(texts) <= NEEDLESS else []
        known = {
            Style.TRUTH: "yes or no",
            Style.PLAIN: "numbers",
            Style.ISO_DATE: "dates such as 2024-12-31",
        }
        day = datetime(2024, 12, 31, 17, 30).strftime(style.removeprefix("date "))
        dates = style in DATE_STYLES
        self.needed = known.get(
            style, f"dates such as {day}" if dates else f"cells of the kind {style!r}"
        )
        self.is_date = dates and any(
            parser_of(form)(text) is not None for form in DATE_STYLES
        )


def as_number(text: str) -> float | None:
    """Return the number that a text represents, with a decimal point, or None."""
    # Python reads 1_0 as 10, which data files do not mean
    return None if "_" in text else parsed(float, text)


def parsed(parse: Callable[..., Value], text: str | bytes) -> Value | None:
    """Return the value that a function reads from a text, or None if it raises a `ValueError`."""
    try:
        return parse(text)
    except ValueError:
        return None


def _bare(text: str) -> str:
    """Return the text of a number without signs of currencies.

    A negative one may be -$12, or (12) in brackets.
    """
    text = text.strip(SIGNS)
    negative = _NEGATIVE.fullmatch(text)
    if negative:
        return f"-{(negative['bracketed'] or negative['signed']).strip(SIGNS)}"
    return text


def _plain(text: str) -> float | None:
    if text in DASHES:
        return np.nan
    number = as_number(text)
    return as_number(_bare(text)) if number is None else number


def _with_commas(pattern: re.Pattern, ignored: str, text: str) -> float | None:
    if text in DASHES:
        return np.nan
    text = _bare(text)
    if not pattern.fullmatch(text):
        return None
    return as_number(re.sub(ignored, "", text).replace(",", "."))


def _days(moment: date | str) -> float:
    if isinstance(moment, str):
        moment = datetime.fromisoformat(moment)
    elif not isinstance(moment, datetime):
        moment = datetime(moment.year, moment.month, moment.day)
    if moment.tzinfo is None:
        known = moment.replace(tzinfo=UTC)
    else:
        known = moment
    return known.timestamp() / 86400.0


def _hours(text: str) -> float | None:
    time = _TIME.fullmatch(text)
    if time is None:
        return None
    return int(time[1]) + int(time[2]) / 60.0 + int(time[4] or 0) / 3600.0


def parser_of(style: str) -> Callable[[str], float | None]:
    """Return the function that turns the text of a cell into a number, or None if it has another style."""
    known = {
        Style.PLAIN: _plain,
        Style.DECIMAL_COMMA: partial(_with_commas, _DECIMAL_COMMA, _GAP),
        Style.THOUSANDS: partial(_with_commas, _THOUSANDS, _COMMA_OR_GAP),
        Style.TRUTH: lambda text: _TRUTH.get(text.lower()),
        Style.ISO_DATE: lambda text: (
            parsed(_days, text) if _ISO.fullmatch(text) else None
        ),
        Style.TIME: _hours,
    }
    style = style.removesuffix(Style.OR_EMPTY)
    if style in known:
        return known[style]
    form = style.removeprefix("date ")
    return partial(parsed, lambda text: _days(datetime.strptime(text, form)))


def level_of(value: object, missing: frozenset[str] = MISSING) -> str | None:
    """Return the category of a cell as text, or None if it is empty: 1, 1.0 and "1" are the same category."""
    text = "" if is_empty(value) else str(value).strip()
    if text in missing:
        return None
    number = as_number(text)
    if number is None or not abs(number) < EXACT:
        if text.lower() in TRUTH_WORDS[0]:
            return text.lower()
        return text
    if number.is_integer():
        text = str(int(number))
    else:
        text = repr(number)
    return None if text in missing else text


def is_empty(value: object) -> bool:
    """Return whether a cell of a data frame is None, NaN, NaT or pandas.NA."""
    try:
        return value is None or bool(value != value)
    except TypeError:  # comparisons with pandas.NA are neither true nor false
        return True


# How pyarrow's types begin
_NUMBERS = (
    "int",
    "uint",
    "float",
    "double",
    "halffloat",
    "bool",
    "decimal",
)


class Coded(NamedTuple):
    """A column as its distinct values and, for every row, the position of its value among them (-1: empty)."""

    values: list[Any]
    codes: np.ndarray

    def mapped(
        self, images: Iterable[object], otherwise: object, dtype: type
    ) -> np.ndarray:
        """Return a column in which every value is replaced by its image."""
        table = np.empty(len(self.values) + 1, dtype=dtype)
        for place, image in enumerate(images):
            table[place] = image
        table[-1] = otherwise
        return table[self.codes]


def coded(column: Column) -> Coded:
    """Return the distinct values of a column: of pyarrow, or anything that numpy can read."""
    if hasattr(column, "dictionary_encode"):
        if hasattr(column, "combine_chunks"):
            whole = column.combine_chunks()
        else:
            whole = column
        if hasattr(whole, "dictionary"):
            encoded = whole
        else:
            encoded = whole.dictionary_encode()
        return Coded(
            encoded.dictionary.to_pylist(),
            np.asarray(encoded.indices.cast("int64").fill_null(-1)),
        )
    places: dict[object, int] = {}
    cells = np.asarray(column, dtype=object)
    known = [
        -1 if is_empty(cell) else places.setdefault(cell, len(places)) for cell in cells
    ]
    return Coded(list(places), np.array(known, dtype=np.intp))


def numbers_of(
    column: Column, style: str, missing: frozenset[str] = MISSING
) -> np.ndarray:
    """Return a column as floats, with NaN for empty cells.

    Raise `NotANumber` for a cell of another style.
    """
    array = typed(column)
    if array is not None:
        numbers = [
            number
            for text in missing - MISSING
            if (number := as_number(text)) is not None
        ]
        if numbers:
            return np.where(np.isin(array, numbers), np.nan, array)
        return array
    values, codes = cells = coded(column)
    # All may have another form than in training
    forms = (
        style,
        *(DATE_STYLES if style in DATE_STYLES else ()),
    )
    parsers = map(parser_of, forms)
    read = ([_number(value, parse, missing) for value in values] for parse in parsers)
    numbers = next(read)
    if (
        None in numbers
        and len(fitting := [others for others in read if None not in others]) == 1
    ):
        [numbers] = fitting
    wrong = [place for place, number in enumerate(numbers) if number is None]
    if wrong and not style.endswith(Style.OR_EMPTY):
        row = int(np.argmax(np.isin(codes, wrong)))
        raise NotANumber(
            row, str(values[codes[row]]), [str(values[place]) for place in wrong], style
        )
    return cells.mapped(
        [np.nan if number is None else number for number in numbers], np.nan, np.float64
    )


def too_large(
    name: str, values: np.ndarray, place: Callable[[int], str]
) -> tuple[str, list[int]] | None:
    """Return a text about the numbers of a column beyond `LARGEST`, and the first row of each of them."""
    beyond = np.flatnonzero(np.abs(values) > LARGEST)
    if len(beyond) == 0:
        return None
    rows = sorted(beyond[np.unique(values[beyond], return_index=True)[1]].tolist())
    first = values[rows[0]]
    where = place(rows[0])
    if np.isinf(first):
        size = f"infinite at {where}"
    else:
        size = f"{first:g} at {where}, which is too large"
    return f"column {name!r} is {size}", rows


def typed(column: Column) -> np.ndarray | None:
    """Return a column of numbers, truth values, dates or durations (in days) as floats.

    None for text and mixtures.
    """
    if hasattr(column, "dictionary_encode"):
        kind = str(getattr(column, "type", ""))
    else:
        kind = ""
    if kind.startswith(_NUMBERS):
        return np.asarray(column.cast("float64", safe=False))
    if kind.startswith("dictionary") or (kind and is_text(column)):
        return None
    array = np.asarray(column)
    if array.dtype.kind in "Mm":
        microseconds = array.astype(
            "datetime64[us]" if array.dtype.kind == "M" else "timedelta64[us]"
        )
        return np.where(
            np.isnat(array), np.nan, microseconds.astype(np.int64) / 86400e6
        )
    if array.dtype.kind in "biuf":
        return array.astype(np.float64)
    return None


def _number(
    value: object, parse: Callable[[str], float | None], missing: frozenset[str]
) -> float | None:
    """Return the number of a cell, NaN if it is empty, None if it is something else."""
    if is_empty(value):
        return np.nan
    if isinstance(value, date):
        return _days(value)
    text = str(value).strip()
    if text in missing or level_of(text, missing) is None:
        return np.nan
    return parse(text)


def levels_of(column: Column, missing: frozenset[str] = MISSING) -> Coded:
    """Return the categories of a column as text; empty cells have the code -1."""
    values, codes = coded(column)
    levels: dict[str, int] = {}
    named = [level_of(value, missing) for value in values]
    places = [
        -1 if level is None else levels.setdefault(level, len(levels))
        for level in named
    ]
    return Coded(list(levels), np.array([*places, -1], dtype=np.intp)[codes])


def labels_of(texts: Coded, truth: bool | None = None) -> np.ndarray:
    """Return labels as integers if all are whole numbers, as floats if all are numbers, otherwise as text.

    Numbers that would lose information stay text: 01 next to 1, postal codes, integers
    that a float cannot represent. True and false become booleans: with `truth`, or by
    default if there are these two, each in one spelling.
    """
    used = np.unique(texts.codes)
    words = [str(texts.values[code]) for code in used]
    lower = {word.lower() for word in words}
    if lower <= set(TRUTH_WORDS[0]) and (
        truth or (truth is None and len(lower) == len(words) == 2)
    ):
        kept = np.array([word.lower() == TRUTH_WORDS[0][1] for word in words])
        return kept[np.searchsorted(used, texts.codes)]
    numbers = [as_number(word) for word in words]
    kept: np.ndarray = np.array(words)
    if None not in numbers and not any(map(_LEADING_ZERO.match, words)):
        values = np.array(numbers, dtype=np.float64)
        if not (np.abs(values) >= EXACT).any() and len(np.unique(values)) == len(words):
            kept = whole_numbers(values)
    return kept[np.searchsorted(used, texts.codes)]


def whole_numbers(values: np.ndarray) -> np.ndarray:
    """Return numbers as integers if all of them are whole."""
    whole = (np.abs(values) < EXACT) & (values == np.trunc(values))
    return values.astype(np.int64) if whole.all() else values


def shown(value: object) -> str:
    """Return a value for a message, truncated if it is long."""
    text = repr(value)
    if len(text) <= 42:
        return text
    return f"{text[:38]}...{text[-1]}"
