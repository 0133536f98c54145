"""Tables, and progress bars with the time left, on a terminal."""

from collections.abc import Callable

import numpy as np
from rich import box
from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from drsvm.cli.options import Columns

WIDE = 10_000  # the width of a console that is no limit
# Number formats by column; other columns show four decimals
DIGITS = {
    "objective": ".8f",
    "lower_bound": ".8f",
    "radius": ".4g",
    "gap": ".1e",
    "tol": ".0e",
    "time": ".3g",
}


class Bar(Progress):
    """A bar for the stages of some work (see `drsvm.utils.progress`).

    Before the first one, it only moves.
    """

    def __init__(self, console: Console, text: str):
        super().__init__(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TaskProgressColumn(),
            TimeRemainingColumn(),
            TimeElapsedColumn(),
            console=console,
            # The bar disappears when the work is done.
            transient=True,
        )
        # Without a total, the bar only moves.
        self._task = self.add_task(text, total=None)
        self._text = text

    def begin(self, stage: str) -> Callable[[float], None]:
        """Start again from 0 for a stage of the work.

        Return the function that receives the share that is done.
        """
        description = f"{self._text}: {stage}" if stage else self._text
        self.reset(self._task, total=1.0, description=description)

        def receive(share: float) -> None:
            self.update(self._task, completed=share)

        return receive


def tables_of(columns: Columns, console: Console) -> list[Table]:
    """Return columns as one table or, where it is too wide, as several.

    Each of them begins with the first column.
    """
    tables = []
    first, *others = columns
    shown = {first: columns[first]}
    wide = console.options.update(width=WIDE)
    for name in others:
        table = table_of({**shown, name: columns[name]})
        needed = console.measure(table, options=wide).maximum
        if needed > console.width and len(shown) > 1:
            tables.append(table_of(shown))
            shown = {first: columns[first]}
        shown[name] = columns[name]
    return [*tables, table_of(shown)]


def table_of(columns: Columns) -> Table:
    """Return columns as a table, with numbers in the format of their column."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for name, values in columns.items():
        is_number = np.asarray(values).dtype.kind in "fiub"
        justify = "right" if is_number else "left"
        table.add_column(name.replace("_", " "), justify=justify, no_wrap=True)
    for row in zip(*columns.values(), strict=True):
        table.add_row(*map(_cell, columns, row))
    return table


def _cell(name: str, value: object) -> str:
    if not isinstance(value, float | np.floating):
        return str(value)
    if np.isnan(value):
        return ""
    return format(float(value), DIGITS.get(name, ".4f"))
