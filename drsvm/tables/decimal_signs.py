"""What dots and commas in numbers mean.

1,326 and 1.326 may be a thousand or a decimal fraction. What one column leaves open,
another one or the user decides.
"""

import re

import numpy as np

from drsvm.tables.arrow_tables import ArrowTable, Table, columns_of, is_text
from drsvm.tables.cell_styles import DATE_STYLES, SIGNS, TRUTH_WORDS, Style, fits
from drsvm.tables.csv_files import CsvFile
from drsvm.tables.values import coded, numbers_of

TableFile = CsvFile | ArrowTable

AMBIGUOUS_COMMAS = "ambiguous commas"
AMBIGUOUS_DOTS = "ambiguous dots"
AMBIGUOUS_DATE = "ambiguous dates"
_DOTTED = re.compile(r"[+-]?[1-9]\d{0,2}\.\d{3}")
_WHOLE = re.compile(r"[+-]?\d{1,3}")


def number_style(values: list[str]) -> str | None:
    """Return the style in which all texts are numbers, truth values or dates.

    None if they are something else.
    """
    if fits(Style.PLAIN, values):
        return AMBIGUOUS_DOTS if _dots_may_separate(values) else Style.PLAIN
    with_comma = fits(Style.DECIMAL_COMMA, values)
    with_thousands = fits(Style.THOUSANDS, values)
    if with_comma and with_thousands:
        has_comma = any("," in value for value in values)
        return AMBIGUOUS_COMMAS if has_comma else Style.THOUSANDS
    if with_comma:
        return Style.DECIMAL_COMMA
    if with_thousands:
        return Style.THOUSANDS
    words = {value.lower() for value in values}
    # True alone may stand beside empty cells; other words alone are categories.
    if words <= set(TRUTH_WORDS[0]) or any(words == set(pair) for pair in TRUTH_WORDS):
        return Style.TRUTH
    forms = [style for style in (Style.TIME, *DATE_STYLES) if fits(style, values)]
    if len(forms) > 1:
        return AMBIGUOUS_DATE
    return forms[0] if forms else None


def _dots_may_separate(values: list[str]) -> bool:
    """Return True if dots may separate thousands: 1.326 beside 312.

    Then every dot is followed by three digits, and all other numbers are below 1000.
    """
    any_dot = False
    for value in values:
        text = value.strip(SIGNS)
        has_dot = "." in text
        any_dot = any_dot or has_dot
        pattern = _DOTTED if has_dot else _WHOLE
        if not pattern.fullmatch(text):
            return False
    return any_dot


def styles_of(
    texts: dict[str, list[str]], points: bool, decimal: str | None
) -> dict[str, str | None]:
    """Return the styles of columns by their different texts.

    Parameters
    ----------
    texts : dict
        The texts of every column.
    points : bool
        Whether other columns have numbers with decimal points.
    decimal : str or None
        The decimal sign, if the user has given it.
    """
    styles = {name: number_style(values) for name, values in texts.items()}
    by_comma = False
    by_point = points
    for name, values in texts.items():
        if any("," in value or "." in value for value in values):
            by_comma = by_comma or styles[name] == Style.DECIMAL_COMMA
            by_point = by_point or styles[name] == Style.THOUSANDS
    if decimal is None and by_comma != by_point:
        decimal = "," if by_comma else "."
    for name, style in styles.items():
        if style not in (AMBIGUOUS_COMMAS, AMBIGUOUS_DOTS):
            continue
        if decimal == ",":
            styles[name] = Style.DECIMAL_COMMA
        elif decimal == ".":
            commas = style == AMBIGUOUS_COMMAS
            styles[name] = Style.THOUSANDS if commas else Style.PLAIN
        elif style == AMBIGUOUS_DOTS and not any(map(_has_hundreds, texts[name])):
            # 312 beside 1.326 is ambiguous, but three decimals alone are ordinary.
            styles[name] = Style.PLAIN
    return styles


def _has_hundreds(value: str) -> bool:
    """Return True for a whole number of three digits."""
    return "." not in value and len(value.strip(SIGNS + "+-")) == 3


def dots_as_written(
    file: TableFile,
    table: Table,
    names: list[str],
    decimal: str | None,
    empty: frozenset[str],
) -> Table:
    """Return a table in which columns are text if dots may separate their thousands.

    `names` are the columns of the table that may be concerned.
    """
    if decimal == ".":
        return table
    columns = columns_of(table)
    suspects = []
    with_hundreds = []
    texts = []
    for name in names:
        if is_text(columns[name]):
            texts.append(name)
        elif str(columns[name].type) == "double":
            sizes = np.abs(numbers_of(columns[name], Style.PLAIN))
            sizes = sizes[~np.isnan(sizes)]
            if _may_be_thousands(sizes):
                suspects.append(name)
                hundreds = sizes[sizes >= 100.0]
                if (hundreds == np.trunc(hundreds)).any():
                    with_hundreds.append(name)
    if not suspects:
        return table
    # Dots in all suspects separate thousands if there are decimal commas, otherwise
    # perhaps in those that also have whole numbers of three digits.
    styles = (number_style(coded(columns[name]).values) for name in texts)
    if decimal is None and Style.DECIMAL_COMMA not in styles:
        suspects = with_hundreds
    return file.as_written(table, suspects, empty)


def _may_be_thousands(sizes: np.ndarray) -> bool:
    """Return True for numbers below 1000 with up to three decimals, and no 0.xyz."""
    parts = sizes[sizes != np.trunc(sizes)]
    if len(parts) == 0 or parts.min() < 1.0 or sizes.max() >= 1000.0:
        return False
    thousandths = 1000.0 * parts
    return bool((np.abs(thousandths - np.round(thousandths)) < 1e-6).all())
