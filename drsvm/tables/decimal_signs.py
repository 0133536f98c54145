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
# Numbers in which dots may separate thousands: 1.326 beside 312
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
        if numbers is not None and (decimal == "." or not _have_such_dots(column)):
            columns[name] = numbers
    return pyarrow_or_error().table(columns)


def _have_such_dots(column: Column) -> bool:
    """Return the same as `_dots_may_separate` for a column of plain numbers."""
    from pyarrow import compute  # pyright: ignore[reportMissingImports]

    fit = compute.match_substring_regex(column, f"^{_DOTTED_OR_WHOLE}$")
    if not compute.all(fit).as_py():
        return False
    return compute.any(compute.match_substring(column, ".")).as_py()


def number_style(values: list[str]) -> str | None:
    """Return the style in which all texts are numbers, truth values or dates.

    None if they are something else.
    """
    if fits(Style.PLAIN, values):
        return AMBIGUOUS_DOTS if _dots_may_separate(values) else Style.PLAIN
    with_comma = fits(Style.DECIMAL_COMMA, values)
    with_thousands = fits(Style.THOUSANDS, values)
    if with_comma and with_thousands:
        return AMBIGUOUS_COMMAS if "," in "".join(values) else Style.THOUSANDS
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


def _dots_may_separate(values: list[str]) -> bool:
    """Return True if dots may separate thousands: 1.326 beside 312.

    Then every dot is followed by three digits, and all other numbers are below 1000.
    """
    texts = [value.strip(SIGNS) for value in values]
    pattern = re.compile(_DOTTED_OR_WHOLE)
    return "." in "".join(texts) and all(map(pattern.fullmatch, texts))


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
    by_comma = Style.DECIMAL_COMMA in styles.values()
    by_point = points
    three_decimals = set()
    for name, style in styles.items():
        values = texts[name]
        if style == Style.THOUSANDS and re.search("[,.]", "".join(values)):
            by_point = True
        # 312 beside 1.326 is ambiguous, but three decimals alone are ordinary, unless
        # another column has decimal commas.
        if style == AMBIGUOUS_DOTS and not any(map(_has_hundreds, values)):
            three_decimals.add(name)
            by_point = by_point or not by_comma
    if decimal is None and by_comma != by_point:
        decimal = "," if by_comma else "."
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
