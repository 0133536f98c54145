"""Tables, and progress bars with the time left, on a terminal."""

from collections.abc import Callable
from datetime import timedelta

import numpy as np
from rich import box
from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Table
from rich.text import Text

from drsvm.cli.options import Columns
from drsvm.utils.progress import Pace


class TimeLeft(ProgressColumn):
    """The time left at the pace of the last steps, however long these take."""

    def render(self, task: Task) -> Text:
        # The time runs between two steps, too
        left = task.fields["pace"].seconds_left()
        if left is None:
            shown = "-:--:--"
        else:
            shown = timedelta(seconds=round(left))
        return Text("" if task.total is None else f"time left {shown}")


class Bar(Progress):
    """A bar for the stages of some work (see `drsvm.utils.progress`).

    Before the first one, it only moves.
    """

    def __init__(self, console: Console, text: str):
        columns = [
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TaskProgressColumn(),
            TimeLeft(),
        ]
        super().__init__(*columns, TimeElapsedColumn(), console=console, transient=True)
        self._task = self.add_task(text, total=None, pace=Pace())
        self._text = text

    def begin(self, stage: str) -> Callable[[float], None]:
        """Start again from 0 for a stage of the work.

        Return the function that receives the share that is done.
        """
        pace = Pace()
        if stage:
            description = f"{self._text}: {stage}"
        else:
            description = self._text
        self.reset(self._task, total=100, description=description, pace=pace)

        def report_progress(share: float) -> None:
            pace.record(share)
            self.update(self._task, completed=100 * pace.share)

        return report_progress


DIGITS = {  # number formats by column; other columns show four decimals
    **dict.fromkeys(["objective", "lower_bound"], ".8f"),
    **{"radius": ".4g", "gap": ".1e", "tol": ".0e", "time": ".3g"},
}


def table_of(columns: Columns) -> Table:
    """Return columns as a table.

    Numbers are right-aligned, in the format for their column.
    """
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for name, values in columns.items():
        is_text = np.asarray(values).dtype.kind not in "fiub"
        table.add_column(
            name.replace("_", " "), justify="left" if is_text else "right", no_wrap=True
        )
    for row in zip(*columns.values(), strict=True):
        table.add_row(
            *(_cell(name, value) for name, value in zip(columns, row, strict=True))
        )
    return table


def _cell(name: str, value: object) -> str:
    if isinstance(value, float | np.floating):
        if np.isnan(value):
            return ""
        return format(float(value), DIGITS.get(name, ".4f"))
    return str(value)
