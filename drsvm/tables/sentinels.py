"""Numbers that stand for an unknown value, such as 999 for an age."""

import numpy as np

from drsvm.tables.arrow_columns import Table
from drsvm.tables.cell_styles import Style
from drsvm.tables.dataset import Schema
from drsvm.tables.values import numbers_of

# Numbers of nines are one if they are farther from the other cells than this number of
# times the range of those.
FAR = 3.0
NINES = {99.0, 999.0, 9999.0, 99999.0, 999999.0}
# These are, in columns without other negative numbers, if there are at least so many of
# such columns: one may have −1 for a reason.
CODES = range(-9, 0)
COLUMNS = 3
# Such columns have at least this many other numbers: fewer may be the levels of an
# answer, from −1 to 1.
NUMBERS = 10
ROWS = 5  # rarer numbers may be errors


def sentinels(schema: Schema, X: Table) -> dict[str, list[str]]:
    """Return the columns of each number that seems to stand for an unknown value."""
    found: dict[str, list[str]] = {}
    codes: dict[str, list[str]] = {}
    for name in schema.of_style(Style.PLAIN):
        cells = numbers_of(X.column(name), Style.PLAIN)
        low = np.nanmin(cells)
        high = np.nanmax(cells)
        # Most columns need not be sorted.
        has_nines = not NINES.isdisjoint((abs(low), abs(high)))
        if low == high or not (low in CODES or has_nines):
            continue
        values, counts = np.unique(cells[~np.isnan(cells)], return_counts=True)
        below = values[values < 0]
        has_codes = np.isin(below, CODES).all() and len(values) - len(below) >= NUMBERS
        for value in values[counts >= ROWS]:
            others = values[values != value]
            gap = np.abs(others - value).min()
            if abs(value) in NINES and gap > FAR * np.ptp(others):
                found.setdefault(f"{value:g}", []).append(name)
            elif value < 0 and has_codes:
                codes.setdefault(f"{value:g}", []).append(name)
    for text, names in codes.items():
        if len(names) >= COLUMNS:
            found[text] = names
    return found
