"""Output of a command: results on standard output, notes and progress on standard error, or everything as JSON.

Messages name options in place of parameters, and errors end in the command that the
user should have typed.
"""

import errno
import json
import os
import shlex
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import typer

from drsvm.cli.options import Columns, option_of, output
from drsvm.utils.messages import Message, Parameter, plain
from drsvm.utils.progress import capture_progress, following, stage
from drsvm.utils.writing import FULL

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

Payload: TypeAlias = dict[str, Any]  # what a command returns, for --json

# The arguments of the current command
ARGUMENTS: ContextVar[tuple[str, ...]] = ContextVar("arguments", default=())
# Options that do not have the name of the parameter
OPTIONS = {
    "WassersteinSVCCV": "--cv",
    "folder": "--spool",
}
# Of results by their status, best first; any other is 1
EXIT_CODES = {
    "optimal": 0,
    "optimal within bounds": 3,
}


def exit_code(statuses: Iterable[str], choose: Callable[..., int] = max) -> int:
    """Return the exit code for the worst status, or with `choose=min` for the best."""
    return choose(
        (EXIT_CODES.get(status, 1) for status in statuses), key=(0, 3, 1).index
    )


@dataclass
class Screen:
    """The output of a command."""

    as_json: bool = output("Print one JSON document and nothing else.", False, "--json")
    notes: list[str] = field(default_factory=list, init=False)

    def note(self, *messages: str | Warning) -> None:
        """Print notes, each of them once."""
        new = [
            text
            for text in dict.fromkeys(map(in_options, messages))
            if text not in self.notes
        ]
        self.notes += new
        for text in [] if self.as_json else new:
            console = self._console(stderr=True)
            console.print(
                f"note: {text}",
                style="yellow",
                markup=False,
                highlight=False,
                soft_wrap=True,
            )

    def finish(
        self, payload: Payload, *shown: "RenderableType | Columns", stderr: bool = False
    ) -> None:
        """Print the results: as JSON, or what is to be shown: texts, columns of a table, or anything of rich's."""
        if self.as_json:
            print(
                json.dumps(
                    plain({**payload, "notes": self.notes}), indent=2, allow_nan=False
                )
            )
            return
        from drsvm.cli.terminal import table_of

        console = self._console(stderr)
        for part in shown:
            is_table = isinstance(part, dict)
            content = table_of(part) if is_table else part
            console.print(
                content, markup=False, highlight=False, soft_wrap=not is_table
            )

    @property
    def on_terminal(self) -> bool:
        return sys.stderr.isatty()

    @contextmanager
    def progress(self, text: str) -> Iterator[None]:
        """Show a bar on a terminal while the block runs, with the progress that the library reports."""
        if not self.on_terminal:
            yield
            return
        from drsvm.cli.terminal import Bar

        with Bar(self._console(stderr=True), text) as bar, following(bar.begin):
            yield

    @contextmanager
    def whole(self, text: str) -> Iterator[Callable[[float], None]]:
        """Show a bar for the block as a whole.

        Yields the function that receives the share that is done.
        """
        with self.progress(text), stage(""), capture_progress() as report_progress:
            yield report_progress

    @contextmanager
    def warnings_as_notes(self) -> Iterator[None]:
        with warnings.catch_warnings(record=True, action="always") as caught:
            try:
                yield
            finally:
                ignored = DeprecationWarning | FutureWarning | ResourceWarning
                self.note(
                    *(
                        each.message
                        for each in caught
                        if not issubclass(each.category, ignored)
                    )
                )

    def _console(self, stderr: bool = False) -> "Console":
        from rich.console import Console

        # Without a terminal there is no width to respect.
        stream = sys.stderr if stderr else sys.stdout
        return Console(
            file=stream, width=None if stream.isatty() else 160, soft_wrap=False
        )


@contextmanager
def reported_errors(screen: Screen) -> Iterator[None]:
    """Turn errors that the user can fix into a message and an exit code.

    DRSVM_TRACEBACK=1 shows their traceback.
    """
    try:
        yield
        # Not at the exit, where an error could not be reported
        print(end="", flush=True)
    except KeyboardInterrupt:
        raise _fail(screen, "interrupted; nothing was written.", 130) from None
    except MemoryError as error:
        raise _fail(screen, f"not enough memory ({error}).", 2) from None
    except (ValueError, TypeError, ImportError, OSError) as error:
        if (
            isinstance(error, OSError)
            and error.filename is None
            and error.errno in (errno.EPIPE, *FULL)
        ):
            sys.stdout = open(os.devnull, "w")  # noqa: SIM115  # avoid an error at exit
            error.filename = "standard output"
            if isinstance(error, BrokenPipeError):  # the reader is gone
                raise typer.Exit(0) from None
        # The user cannot fix an ImportError without a remedy.
        if os.environ.get("DRSVM_TRACEBACK") or (
            isinstance(error, ImportError) and "pip install" not in str(error)
        ):
            raise
        raise _fail(screen, in_options(error), 2, getattr(error, "fixes", ())) from None


def _fail(
    screen: Screen, message: str, code: int, fixes: Sequence[Parameter] = ()
) -> typer.Exit:
    remedy = corrected_command(fixes)
    if screen.as_json:
        print(
            json.dumps(
                {
                    "error": message,
                    "exit_code": code,
                    **({"try": remedy} if remedy else {}),
                }
            )
        )
    typer.echo(
        f"error: {message}" + (f"\nTry:\n  {remedy}" if remedy else ""), err=True
    )
    return typer.Exit(code)


def in_options(message: str | BaseException) -> str:
    """Return a text, warning or error with options in place of parameters."""
    if isinstance(message, OSError) and message.filename:
        return f"{message.filename}: {message.strerror}"
    if isinstance(message, BaseException):
        text = next(iter(message.args), None)
    else:
        text = message
    if isinstance(text, Message):
        return text.spelled(_typed)
    return str(message)


def _typed(parameter: Parameter) -> str:
    if parameter.value is None:
        value = ()
    else:
        value = (str(parameter.value),)
    return shlex.join([OPTIONS.get(parameter.name, option_of(parameter.name)), *value])


def corrected_command(fixes: Sequence[Parameter]) -> str | None:
    """Return the complete command with some changes, for the shell.

    None if there are none.
    """
    arguments = list(ARGUMENTS.get())
    if not fixes or not arguments:
        return None
    for fix in fixes:
        option = OPTIONS.get(fix.name, option_of(fix.name))
        value = str(fix.value)
        if fix.old is not None:
            arguments = _replaced(arguments, option, fix.old, value)
        elif (option, value) not in pairwise(arguments):
            arguments += option, value
    return shlex.join(["drsvm", *arguments])


def _replaced(arguments: list[str], option: str, old: str, new: str) -> list[str]:
    """Return arguments in which a value of an option is replaced, or removed if the new one is empty."""
    changed: list[str] = []
    waiting = iter(arguments)
    for argument in waiting:
        name, equals, value = argument.partition("=")
        if name != option:
            changed.append(argument)
            continue
        value = value if equals else next(waiting, "")
        values = [value] if value == old else value.split(",")
        kept = [new if entry.strip() == old else entry for entry in values]
        if any(kept):
            changed += [option, ",".join(filter(None, kept))]
    if option in arguments or f"{option}={old}" in arguments or not new:
        return changed
    return [*changed, option, new]
