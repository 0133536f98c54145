"""Styles: how programs and countries write numbers, truth values and dates.

A column has one style, which is found once and then used for all files: the names of
the styles are part of model files.
"""

import re
from collections.abc import Callable
from datetime import UTC, date, datetime
from functools import partial
from typing import TypeVar

import numpy as np

Value = TypeVar("Value")

# Texts that denote an empty cell
_WORDS_FOR_NOTHING = """
? NULL null Null None none NA N/A n/a na #N/A <NA> NaN nan NAN -nan -NaN NaT
"""
MISSING = frozenset(["", *_WORDS_FOR_NOTHING.split()])
EXACT = 2.0**53  # integers below this are exact as floats
# What may stand around a number: signs of currencies, per cent, and blanks, of which
# \u00a0 does not break lines. (\u202f, below, is a narrow one.)
SIGNS = "$€£¥% \u00a0"
# What accountants write for an empty cell: in a column of numbers, it is empty.
DASHES = frozenset("-–—")
# For every language, what stands for False and for True. The first pair is that of
# most programs.
TRUTH_WORDS = (
    ("false", "true"),
    ("no", "yes"),
    ("n", "y"),
    ("f", "t"),
    ("off", "on"),
    ("nein", "ja"),
    ("non", "oui"),
    ("no", "si"),
    ("no", "sí"),
    ("não", "sim"),
    ("nao", "sim"),
    ("nie", "tak"),
)
_TRUTH = {"0": 0.0, "1": 1.0}
for _false, _true in TRUTH_WORDS:
    _TRUTH[_false] = 0.0
    _TRUTH[_true] = 1.0

# (12) and -$12
_NEGATIVE = re.compile(
    rf"\((?P<bracketed>[^()]+)\)|-[{SIGNS}]+(?P<signed>[\d.,' \u00a0\u202f]+)"
)
# What may separate thousands, if the decimals have a comma or a point.
_BESIDE_COMMA = "[.' \u00a0\u202f]"
_BESIDE_POINT = "[,' \u00a0\u202f]"
_DECIMAL_COMMA = re.compile(
    rf"[+-]?(\d*|\d{{1,3}}({_BESIDE_COMMA}\d{{3}})+)(,\d+)?([eE][+-]?\d+)?"
)
_THOUSANDS = re.compile(
    rf"[+-]?(\d*|\d{{1,3}}({_BESIDE_POINT}\d{{3}})+)(\.\d*)?([eE][+-]?\d+)?"
)
_TIME = re.compile(r"(\d\d?):(\d\d)(:(\d\d)(\.\d+)?)?")
_ISO = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d.*)?")


class Style:
    """Names of the ways in which the cells of a column may be written.

    A date in another form has a style such as ``date %d.%m.%Y``, with the form as
    `datetime.strptime` takes it.
    """

    PLAIN = "number"
    DECIMAL_COMMA = "decimal comma"
    THOUSANDS = "thousands separators"
    # The end of a style in which cells that are not numbers count as empty.
    OR_EMPTY = " or empty"
    TRUTH = "true or false"
    ISO_DATE = "date"
    TIME = "time of day"
    CATEGORY = "category"
    # Numbers, or texts as they are: for models of other libraries
    AS_IT_IS = "as it is"


NUMBER_STYLES = (Style.PLAIN, Style.DECIMAL_COMMA, Style.THOUSANDS)
# How numbers with a decimal sign are written, if they have separators of thousands
STYLES_BY_SIGN = {",": Style.DECIMAL_COMMA, ".": Style.THOUSANDS}

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
DATE_STYLES = [Style.ISO_DATE]
for _day in _DAYS:
    DATE_STYLES += [f"date {_day}", f"date {_day} %H:%M", f"date {_day} %H:%M:%S"]


def parsed(parse: Callable[..., Value], text: str | bytes) -> Value | None:
    """Return what a function reads from a text, or None if it raises `ValueError`."""
    try:
        return parse(text)
    except ValueError:
        return None


def as_number(text: str) -> float | None:
    """Return the number that a text represents, with a decimal point, or None."""
    # Python reads 1_0 as 10, which data files do not mean.
    if "_" in text:
        return None
    return parsed(float, text)


def days_of(moment: date) -> float:
    """Return the days from 1970 to a date or a moment, in UTC where it has no zone."""
    if not isinstance(moment, datetime):
        moment = datetime(moment.year, moment.month, moment.day)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return moment.timestamp() / 86400.0


def parser_of(style: str) -> Callable[[str], float | None]:
    """Return the function that turns the text of a cell into a number.

    The function returns None for a text of another style.
    """
    style = style.removesuffix(Style.OR_EMPTY)
    if style in _PARSERS:
        return _PARSERS[style]
    return partial(_date, style.removeprefix("date "))


def fits(style: str, texts: list[str]) -> bool:
    """Return True if all texts are numbers in a style."""
    parse = parser_of(style)
    return None not in map(parse, texts)


def description_of(style: str) -> str:
    """Return what cells of a style are, for an error message."""
    if style == Style.TRUTH:
        return "yes or no"
    if style == Style.PLAIN:
        return "numbers"
    if style == Style.DECIMAL_COMMA:
        return "numbers with decimal commas"
    if style == Style.ISO_DATE:
        return "dates such as 2024-12-31"
    if style in DATE_STYLES:
        example = datetime(2024, 12, 31, 17, 30).strftime(style.removeprefix("date "))
        return f"dates such as {example}"
    return f"cells of the kind {style!r}"


def _plain(text: str) -> float | None:
    """Return the number of a text such as 1326.5 or $12."""
    if text in DASHES:
        return np.nan
    number = as_number(text)
    if number is None:
        number = as_number(_bare(text))
    return number


def _bare(text: str) -> str:
    """Return the text of a number without signs of currencies."""
    text = text.strip(SIGNS)
    # -$12, or (12) as accountants write it, becomes -12.
    negative = _NEGATIVE.fullmatch(text)
    if negative is None:
        return text
    size = negative["bracketed"] or negative["signed"]
    return f"-{size.strip(SIGNS)}"


def _with_commas(pattern: re.Pattern, separator: str, text: str) -> float | None:
    """Return the number of a text that has commas or separators of thousands.

    The separators are removed; a comma that remains is the decimal one.
    """
    if text in DASHES:
        return np.nan
    text = _bare(text)
    if not pattern.fullmatch(text):
        return None
    return as_number(re.sub(separator, "", text).replace(",", "."))


def _truth(text: str) -> float | None:
    """Return 0 for words such as no, and 1 for words such as yes."""
    return _TRUTH.get(text.lower())


def _iso_date(text: str) -> float | None:
    """Return the days from 1970 to a date such as 2024-12-31, perhaps with a time."""
    # Python also accepts 20241231, which may be a number.
    if not _ISO.fullmatch(text):
        return None
    moment = parsed(datetime.fromisoformat, text)
    if moment is None:
        return None
    return days_of(moment)


def _date(form: str, text: str) -> float | None:
    """Return the days from 1970 to a date in a form of `datetime.strptime`."""
    try:
        return days_of(datetime.strptime(text, form))
    except ValueError:
        return None


def _hours(text: str) -> float | None:
    """Return a time of day such as 17:30 in hours."""
    time = _TIME.fullmatch(text)
    if time is None:
        return None
    seconds = int(time[4] or 0)
    return int(time[1]) + int(time[2]) / 60.0 + seconds / 3600.0


_PARSERS = {
    Style.PLAIN: _plain,
    Style.DECIMAL_COMMA: partial(_with_commas, _DECIMAL_COMMA, _BESIDE_COMMA),
    Style.THOUSANDS: partial(_with_commas, _THOUSANDS, _BESIDE_POINT),
    Style.TRUTH: _truth,
    Style.ISO_DATE: _iso_date,
    Style.TIME: _hours,
}
