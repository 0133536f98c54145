"""Progress bars on a terminal, with the time left."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.text import Text

from drsvm.progress import Pace

PERCENT = 100
"""The total of a bar that shows shares."""


class TimeLeft(ProgressColumn):
    """The time left at the pace of the last steps, however long these take."""

    def render(self, task: Task) -> Text:
        """Return the time, which runs between two steps, too."""
        left = task.fields["pace"].seconds_left()
        return Text(f"time left {'-:--:--' if left is None else timedelta(seconds=round(left))}")


class Bar:
    """A bar for `total` steps, or something that moves if their number is unknown. Calling it advances it."""

    def __init__(self, console: Console, text: str, total: int | None = None):
        done = TaskProgressColumn() if total == PERCENT else MofNCompleteColumn()
        counted = [BarColumn(), done, TimeLeft()] if total else [SpinnerColumn()]
        columns = [TextColumn("{task.description}", markup=False), *counted, TimeElapsedColumn()]
        self._shown = Progress(*columns, console=console, transient=True)
        self.text, self.total, self._pace = text, total, Pace()
        self._task = self._shown.add_task(text, total=total, pace=self._pace)

    def __enter__(self) -> "Bar":
        self._shown.start()
        return self

    def __exit__(self, *exception: Any) -> None:
        self._shown.stop()

    def __call__(self, description: str | None = None, *, completed: float | None = None) -> None:
        """Advance by one step, or to a number of steps."""
        step: dict[str, Any] = {"advance": 1} if completed is None else {"completed": completed}
        self._shown.update(self._task, description=description or self.text, **step)
        if self.total:
            self._pace.record(self._shown.tasks[0].completed / self.total)

    def begin(self, stage: str) -> Callable[[float], None]:
        """Start again from 0 for a stage of the work; return a function that is told its shares."""
        self._pace, description = Pace(), f"{self.text}: {stage}"
        self._shown.reset(self._task, description=description, pace=self._pace)
        return lambda share: self(description, completed=PERCENT * max(share, self._pace.share))
