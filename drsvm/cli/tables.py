"""Tables on the terminal."""

from typing import Any

import numpy as np
from rich import box
from rich.table import Table

DIGITS = {
    **dict.fromkeys(["objective", "lower_bound"], ".8f"),
    **dict.fromkeys(["radius", "radius_price"], ".4g"),
    **{"gap": ".1e", "tol": ".0e", "time": ".3g"},
}
"""Number formats by column; other columns show four decimals."""


def table_of(columns: dict[str, Any]) -> Table:
    """Return columns as a table; numbers are right-aligned, in the format for their column."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for name, values in columns.items():
        is_text = np.asarray(values).dtype.kind not in "fiub"
        table.add_column(name.replace("_", " "), justify="left" if is_text else "right", no_wrap=True)
    for row in zip(*columns.values(), strict=True):
        table.add_row(*(_cell(name, value) for name, value in zip(columns, row, strict=True)))
    return table


def _cell(name: str, value: Any) -> str:
    if isinstance(value, float | np.floating):
        return "" if np.isnan(value) else format(float(value), DIGITS.get(name, ".4f"))
    return str(value)
