"""In which style the texts of a column are numbers, and what dots and commas mean in a file.

1,326 and 1.326 may be a thousand or a decimal fraction. What one column leaves open, another one or the user decides.
"""

import re
from collections.abc import Iterable

import numpy as np

from drsvm.datasets.arrow_arrays import Table, columns_of, is_text
from drsvm.datasets.arrow_tables import ArrowTable
from drsvm.datasets.csv_files import CsvFile
from drsvm.datasets.values import DATE_FORMATS, SIGNS, TRUTH_WORDS, Style, coded, numbers_of, parser_of

TableFile = CsvFile | ArrowTable

AMBIGUOUS_COMMAS, AMBIGUOUS_DOTS, AMBIGUOUS_DATE = "ambiguous commas", "ambiguous dots", "ambiguous dates"

_DOTTED = re.compile(r"[+-]?[1-9]\d{0,2}\.\d{3}")
_WHOLE = re.compile(r"[+-]?\d{1,3}")


def number_style(values: list[str]) -> str | None:
    """Return the only style in which all texts are numbers, truth values or dates; None if they are something else."""
    if fits(Style.PLAIN, values):
        return AMBIGUOUS_DOTS if _may_be_thousands(values) else Style.PLAIN
    fitting = [style for style in (Style.DECIMAL_COMMA, Style.THOUSANDS) if fits(style, values)]
    if len(fitting) > 1:
        return AMBIGUOUS_COMMAS if any("," in value for value in values) else Style.THOUSANDS
    if fitting:
        return fitting[0]
    words = {value.lower() for value in values}
    if any(words == set(pair) for pair in TRUTH_WORDS):
        return Style.TRUTH
    for style in (Style.ISO_DATE, Style.TIME):
        if fits(style, values):
            return style
    forms = [form for form in DATE_FORMATS if fits(f"date {form}", values)]
    return AMBIGUOUS_DATE if len(forms) > 1 else f"date {forms[0]}" if forms else None


def fits(style: str, values: Iterable[str]) -> bool:
    """Return True if all texts are numbers in a style."""
    parse = parser_of(style)
    return all(parse(value) is not None for value in values)


def _may_be_thousands(values: Iterable[str]) -> bool:
    """Return True if every dot is followed by three digits and all other numbers are below 1000: 1.326 beside 312."""
    texts = [value.strip(SIGNS) for value in values]
    dotted = [text for text in texts if "." in text]
    whole = [text for text in texts if "." not in text]
    return bool(dotted) and all(map(_DOTTED.fullmatch, dotted)) and all(map(_WHOLE.fullmatch, whole))


def styles_of(texts: dict[str, list[str]], points: bool, decimal: str | None) -> dict[str, str | None]:
    """Return the styles of columns by their different texts; `points`: others have numbers with decimal points."""
    styles = {name: number_style(values) for name, values in texts.items()}
    shown = {styles[name] for name, values in texts.items() if any("," in value or "." in value for value in values)}
    by_comma, by_point = Style.DECIMAL_COMMA in shown, points or Style.THOUSANDS in shown
    if decimal is not None or by_comma != by_point:
        comma = by_comma if decimal is None else decimal == ","
        meanings = {
            AMBIGUOUS_COMMAS: Style.DECIMAL_COMMA if comma else Style.THOUSANDS,
            AMBIGUOUS_DOTS: Style.DECIMAL_COMMA if comma else Style.PLAIN,
        }
        return {name: meanings.get(style or "", style) for name, style in styles.items()}
    for name, values in texts.items():
        mixed = any("." not in value and len(value.strip(SIGNS + "+-")) == 3 for value in values)
        if styles[name] == AMBIGUOUS_DOTS and not mixed:  # 312 beside 1.326; three decimals alone are ordinary
            styles[name] = Style.PLAIN
    return styles


def with_dots_as_written(
    file: TableFile, table: Table, names: list[str], decimal: str | None, empty: frozenset[str]
) -> Table:
    """Return a table of a file in which columns are texts if dots in them may separate thousands."""
    columns = columns_of(table)
    numbers = {name: numbers_of(columns[name], Style.PLAIN) for name in names if str(columns[name].type) == "double"}
    suspect = [name for name, values in numbers.items() if _are_below_thousand(values)]
    if decimal == "." or not suspect:
        return table
    cells = (coded(columns[name]).values for name in names if is_text(columns[name]))
    if decimal is None and Style.DECIMAL_COMMA not in map(number_style, cells):
        hundreds = {name: numbers[name][np.abs(numbers[name]) >= 100.0] for name in suspect}
        suspect = [name for name in suspect if (hundreds[name] == np.trunc(hundreds[name])).any()]
    return file.as_written(table, suspect, empty)


def _are_below_thousand(values: np.ndarray) -> bool:
    """Return True for numbers below 1000 with up to three decimals, none of which is a fraction below 1."""
    sizes = np.abs(values[~np.isnan(values)])
    parts = sizes[sizes != np.trunc(sizes)]
    if not len(parts) or parts.min() < 1.0 or sizes.max() >= 1000.0:
        return False
    return bool((np.abs(1000.0 * parts - np.round(1000.0 * parts)) < 1e-6).all())
