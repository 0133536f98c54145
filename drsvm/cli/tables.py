"""Tables on the terminal and as CSV files."""

import csv
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from drsvm.persistence.model_files import write_whole

DIGITS = {
    **dict.fromkeys(["objective", "lower_bound"], ".8f"),
    **dict.fromkeys(["radius", "radius_price"], ".4g"),
    **{"gap": ".1e", "tol": ".0e", "time": ".3g"},
}
"""Number formats by column; other columns show four decimals."""


def show_table(console, columns: dict[str, Any], title: str | None = None) -> None:
    """Print columns; numbers are right-aligned, in the format for their column."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for name, values in columns.items():
        table.add_column(name.replace("_", " "), justify="left" if _is_text(values) else "right", no_wrap=True)
    for row in zip(*columns.values(), strict=True):
        table.add_row(*(_cell(name, value) for name, value in zip(columns, row, strict=True)))
    if title:
        console.print(title, highlight=False, markup=False, soft_wrap=True)
    console.print(table, highlight=False, markup=False)


def csv_text(columns: dict[str, Any]) -> str:
    """Return columns as the text of a CSV file, numbers with all digits."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*(np.asarray(values).tolist() for values in columns.values()), strict=True))
    return out.getvalue()


def save_outputs(columns: dict[str, Any], table: Path | None, plot: Path | None, draw: Callable[[Path], bytes]) -> None:
    """Write a table and a plot; the plot is drawn first, so that a failure leaves no file."""
    contents = {} if table is None else {table: csv_text(columns).encode()}
    if plot is not None:
        contents[plot] = draw(plot)
    for target, content in contents.items():
        write_whole(target, content)


def _is_text(values) -> bool:
    return np.asarray(values).dtype.kind not in "fiub"


def _cell(name: str, value: Any) -> str:
    if isinstance(value, float | np.floating):
        return "" if np.isnan(value) else format(float(value), DIGITS.get(name, ".4f"))
    return str(value)
