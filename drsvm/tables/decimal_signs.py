"""What dots and commas in numbers mean.

1,326 and 1.326 may be a thousand or a decimal fraction. What one column leaves open,
another one or the user decides.
"""

import re

from drsvm.tables.arrow_columns import (
    Column,
    Table,
    as_numbers,
    columns_of,
    is_text,
    pyarrow_or_error,
)
from drsvm.tables.cell_styles import DATE_STYLES, SIGNS, TRUTH_WORDS, Style, fits

AMBIGUOUS_COMMAS = "ambiguous commas"
AMBIGUOUS_DOTS = "ambiguous dots"
AMBIGUOUS_DATE = "ambiguous dates"
# Numbers in which dots may separate thousands: every dot has three digits behind it,
# and numbers without one are below 1000, such as 1.326 beside 312.
_DOTTED_OR_WHOLE = r"[+-]?([1-9]\d{0,2}\.\d{3}|\d{1,3})"


def with_numbers(table: Table, label: str, decimal: str | None) -> Table:
    """Return a table in which texts are numbers where that is clear.

    Texts such as 1.326 stay as they are: `styles_of` finds out what they mean.
    """
    columns = columns_of(table)
    for name, column in columns.items():
        if name == label or not is_text(column) or column.null_count == len(column):
            continue
        numbers = as_numbers(column)
        if numbers is not None and (decimal == "." or not _dots_may_separate(column)):
            columns[name] = numbers
    return pyarrow_or_error().table(columns)


def _dots_may_separate(texts: Column) -> bool:
    """Return True if dots may separate thousands in all texts, and there are dots."""
    from pyarrow import compute  # pyright: ignore[reportMissingImports]

    # One text often settles it, which matters with thousands of columns.
    for first in texts.slice(0, 1).to_pylist():
        if first is not None and not re.fullmatch(_DOTTED_OR_WHOLE, first.strip(SIGNS)):
            return False
    texts = compute.utf8_trim(texts, SIGNS)
    fit = compute.match_substring_regex(texts, f"^{_DOTTED_OR_WHOLE}$")
    if not compute.all(fit).as_py():
        return False
    return compute.any(compute.match_substring(texts, ".")).as_py()


def number_style(values: list[str]) -> str | None:
    """Return the style in which all texts are numbers, truth values or dates.

    None if they are something else.
    """
    if fits(Style.PLAIN, values):
        if _dots_may_separate(pyarrow_or_error().array(values, "string")):
            return AMBIGUOUS_DOTS
        return Style.PLAIN
    with_comma = fits(Style.DECIMAL_COMMA, values)
    with_thousands = fits(Style.THOUSANDS, values)
    if with_comma and with_thousands:
        # 1,326 has both; 1 326, with a blank, has no comma to wonder about.
        if "," in "".join(values):
            return AMBIGUOUS_COMMAS
        return Style.THOUSANDS
    if with_comma:
        return Style.DECIMAL_COMMA
    if with_thousands:
        return Style.THOUSANDS
    words = set(map(str.lower, values))
    # True alone may stand beside empty cells; other words alone are categories.
    if words <= set(TRUTH_WORDS[0]) or words in map(set, TRUTH_WORDS):
        return Style.TRUTH
    forms = [style for style in (Style.TIME, *DATE_STYLES) if fits(style, values)]
    if len(forms) > 1:
        return AMBIGUOUS_DATE
    return forms[0] if forms else None


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

    Returns
    -------
    dict
        The style of every column, one of those that are ambiguous, or None if its texts
        are neither numbers nor truth values nor dates.
    """
    styles = {name: number_style(values) for name, values in texts.items()}

    # 1. Which decimal signs the file has, as columns show that are not ambiguous
    has_commas = Style.DECIMAL_COMMA in styles.values()
    has_points = points
    three_decimals = set()
    for name, style in styles.items():
        values = texts[name]
        # Its thousands are separated by commas, or its decimals by points: 1,326.5 and
        # 1 326.5.
        if style == Style.THOUSANDS and re.search("[,.]", "".join(values)):
            has_points = True
        # Without a number such as 312, which lacks the decimals, all may have three.
        if style == AMBIGUOUS_DOTS and not any(map(_has_hundreds, values)):
            three_decimals.add(name)
    # They are taken for decimals, unless another column has decimal commas.
    if three_decimals and not has_commas:
        has_points = True
    if decimal is None and has_commas and not has_points:
        decimal = ","
    if decimal is None and has_points and not has_commas:
        decimal = "."

    # 2. What they mean in the ambiguous columns
    for name, style in styles.items():
        if decimal == "," and style in (AMBIGUOUS_COMMAS, AMBIGUOUS_DOTS):
            styles[name] = Style.DECIMAL_COMMA
        elif decimal == "." and style == AMBIGUOUS_COMMAS:
            styles[name] = Style.THOUSANDS
        elif style == AMBIGUOUS_DOTS and (decimal == "." or name in three_decimals):
            styles[name] = Style.PLAIN
    return styles


def _has_hundreds(value: str) -> bool:
    """Return True for a whole number of three digits."""
    return "." not in value and len(value.strip(SIGNS + "+-")) == 3
