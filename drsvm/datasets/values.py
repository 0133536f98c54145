"""Conversion of text columns to numbers or booleans, and of labels to integers or text."""

import re
from typing import Any

import numpy as np

MISSING = frozenset(
    ["", "?", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "-nan", "-NaN", "NULL", "null", "None", "<NA>", "NaT"]
)
"""Texts that denote a missing value."""

LEADING_ZERO = re.compile(r"[+-]?0\d")

DECIMAL_COMMA = re.compile(r"[+-]?(\d*|\d{1,3}([.' ]\d{3})+),\d+([eE][+-]?\d+)?")
THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d*)?")

TRUTH = {"true": 1.0, "false": 0.0}

Column = np.ndarray
"""Floats with NaN for missing values, or objects: texts, with None for missing values."""


def is_text(column: Column) -> bool:
    """Return whether a column contains text."""
    return column.dtype == object


def is_missing(column: Column) -> np.ndarray:
    """Return a mask of the missing values."""
    return np.array([value is None for value in column], dtype=bool) if is_text(column) else np.isnan(column)


def as_number(text: str) -> float | None:
    """Return the number that a text represents, or None."""
    try:
        return _number(text)
    except ValueError:
        return None


def is_number_with_commas(text: str) -> bool:
    """Return whether a text is a number with commas, such as 3,14 or 1.234,5 or 1,234,567."""
    return DECIMAL_COMMA.fullmatch(text) is not None or THOUSANDS.fullmatch(text) is not None


def has_commas(column: Column) -> bool:
    """Return whether most non-numeric texts of a column are numbers with commas."""
    odd = [text for text in set(column) if text is not None and as_number(text) is None]
    return 2 * sum(map(is_number_with_commas, odd)) > len(odd)


def _number(text: str) -> float:
    if "_" in text:  # Python reads 1_0 as 10, which data files do not mean
        raise ValueError(f"not a number: {text!r}")
    return float(text)


def column_of_texts(texts: list[str | None], keep_text: bool = False) -> Column:
    """Return a column of the numbers or booleans that the texts represent, or else of the texts."""
    given = [None if text is None or text.strip() in MISSING else text.strip() for text in texts]
    if not keep_text:
        for convert in (_numbers, _truth_values):
            column = convert(given)
            if column is not None:
                return column
    column = np.empty(len(given), dtype=object)
    column[:] = given
    return column


def _numbers(texts: list[str | None]) -> Column | None:
    try:
        return np.array([np.nan if text is None else _number(text) for text in texts], dtype=np.float64)
    except ValueError:
        return None


def _truth_values(texts: list[str | None]) -> Column | None:
    try:
        return np.array([np.nan if text is None else TRUTH[text.lower()] for text in texts], dtype=np.float64)
    except KeyError:
        return None


def labels_of(column: Column) -> np.ndarray:
    """Return labels as integers if all are whole numbers, as floats if all are numbers, otherwise as text.

    Numbers that would lose information stay text: 01 next to 1, postal codes, integers that a float cannot represent.
    """
    if is_text(column):
        numbers = _numbers(column.tolist())
        if numbers is None or _loses_information(set(column.tolist()), numbers):
            return column.astype(str)
        column = numbers
    return whole_numbers(column)


def _loses_information(texts: set[str], numbers: np.ndarray) -> bool:
    too_large = bool((np.abs(numbers) >= 2**53).any())
    return too_large or len(np.unique(numbers)) < len(texts) or any(map(LEADING_ZERO.match, texts))


def whole_numbers(values: np.ndarray) -> np.ndarray:
    """Return numbers as integers if all of them are whole."""
    whole = (np.abs(values) < 2**53) & (values == np.trunc(values))
    return values.astype(np.int64) if whole.all() else values


def shown(value: Any) -> str:
    """Return a value for a message, truncated if it is long."""
    text = repr(value)
    return text if len(text) <= 42 else f"{text[:38]}...{text[-1]}"
