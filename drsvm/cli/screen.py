"""Output of a command: results on standard output, notes and progress beside them.

Messages name options in place of parameters, and errors end in the command that the
user should have typed.
"""

import errno
import io
import json
import os
import shlex
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import typer

from drsvm.cli.options import Columns, option_of
from drsvm.utils.messages import Message, Parameter, plain
from drsvm.utils.progress import capture_progress, following, stage
from drsvm.utils.writing import FULL

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

# What a command returns, for --json
Payload: TypeAlias = dict[str, Any]

# Options that do not have the name of the parameter
OPTIONS = {
    "WassersteinSVCCV": "--cv",
    "folder": "--spool",
    "make_pipeline(ClippedScaler(), WassersteinSVC())": "--standardise",
    "make_pipeline(ClippedScaler(), WassersteinKernelSVC())": "--standardise",
}
# Statuses with a proof of what was asked for: with landmarks that are no rows, this is
# the optimum for these.
REACHED = ("optimal", "optimal in span")
# Warnings that are not about the user's data
FOR_DEVELOPERS = (DeprecationWarning, FutureWarning, ResourceWarning)


def exit_code(certificates: Iterable[Payload]) -> int:
    """Return the exit code for the worst status of some certificates."""
    code = 0
    for certificate in certificates:
        if certificate["status"] == "optimal within bounds":
            code = 3
        elif certificate["status"] not in REACHED:
            # The tolerance was not reached.
            return 1
    return code


class Screen:
    """The output of a command, whose arguments say whether it is one JSON document.

    Parameters
    ----------
    arguments : tuple of str, default=()
        The words after ``drsvm``.
    """

    def __init__(self, arguments: tuple[str, ...] = ()):
        self.arguments = arguments
        # Looked for here, because errors in options are reported as JSON, too.
        self.as_json = "--json" in arguments
        self.notes: list[str] = []

    def note(self, *messages: str | Warning) -> None:
        """Print notes, each of them once."""
        for message in messages:
            text = in_options(message)
            # Several fits may have the same to say.
            if text in self.notes:
                continue
            self.notes.append(text)
            if not self.as_json:
                self._print(f"note: {text}", stderr=True, style="yellow")

    def finish(
        self, payload: Payload, *shown: "RenderableType | Columns", stderr: bool = False
    ) -> None:
        """Print the results as JSON, or what is to be shown.

        That is texts, columns of a table, or anything of rich's.
        """
        if self.as_json:
            # Arrays, paths and numbers of numpy as JSON knows them
            document = plain({**payload, "notes": self.notes})
            print(json.dumps(document, indent=2, allow_nan=False))
            return
        from drsvm.cli.terminal import tables_of

        for part in shown:
            if isinstance(part, dict):
                for table in tables_of(part, _console(stderr)):
                    self._print(table, stderr=stderr, soft_wrap=False)
            else:
                self._print(part, stderr=stderr)

    @property
    def on_terminal(self) -> bool:
        """Whether someone sees standard error as it is written."""
        return sys.stderr.isatty()

    @contextmanager
    def progress(self, text: str) -> Iterator[None]:
        """Show a bar on a terminal while the block runs, with its progress."""
        if not self.on_terminal:
            yield
            return
        from drsvm.cli.terminal import Bar

        with Bar(_console(stderr=True), text) as bar, following(bar.begin):
            yield

    @contextmanager
    def whole(self, text: str) -> Iterator[Callable[[float], None]]:
        """Show a bar for the block as a whole, whatever the work inside it reports.

        Yields the function that receives the share that is done.
        """
        with self.progress(text), stage(""), capture_progress() as report_progress:
            yield report_progress

    @contextmanager
    def warnings_as_notes(self) -> Iterator[None]:
        """Print the warnings of the block as notes, at its end."""
        with warnings.catch_warnings(record=True, action="always") as caught:
            try:
                yield
            finally:
                for each in caught:
                    if not issubclass(each.category, FOR_DEVELOPERS):
                        self.note(each.message)

    def _print(self, content: "RenderableType", stderr: bool, **style: Any) -> None:
        # Columns and labels may contain what looks like markup.
        plainly = {"markup": False, "highlight": False, "soft_wrap": True}
        _console(stderr).print(content, **{**plainly, **style})


def _console(stderr: bool) -> "Console":
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    width = None
    if not stream.isatty():
        # There is no width to respect.
        width = 10_000
    return Console(file=stream, width=width)


@contextmanager
def reported_errors(screen: Screen) -> Iterator[None]:
    """Turn errors that the user can fix into a message and an exit code.

    DRSVM_TRACEBACK=1 shows their traceback.
    """
    try:
        yield
        # Standard output is flushed here rather than at the exit, where an error could
        # not be reported.
        print(end="", flush=True)
    except KeyboardInterrupt:
        raise _fail(screen, "interrupted; nothing was written.", 130) from None
    except MemoryError as error:
        raise _fail(screen, f"not enough memory ({error}).", 2) from None
    except (ValueError, TypeError, ImportError, OSError) as error:
        if isinstance(error, OSError) and error.filename is None:
            _check_standard_output(error)
        # The user cannot fix an ImportError without a remedy.
        is_fixable = not isinstance(error, ImportError) or "pip install" in str(error)
        if os.environ.get("DRSVM_TRACEBACK") or not is_fixable:
            raise
        fixes = getattr(error, "fixes", ())
        raise _fail(screen, in_options(error), 2, fixes) from None


def _check_standard_output(error: OSError) -> None:
    """Name standard output in an error in writing to it; stop if the reader is gone."""
    # Only a closed pipe or a full disk: other errors without a file name stay.
    if error.errno not in (errno.EPIPE, *FULL):
        return
    # Python flushes standard output at the exit, which would raise another error: what
    # is still printed goes nowhere.
    sys.stdout = io.StringIO()
    error.filename = "standard output"
    # `drsvm predict ... | head` is no error.
    if isinstance(error, BrokenPipeError):
        raise typer.Exit(0) from None


def _fail(
    screen: Screen, message: str, code: int, fixes: Sequence[Parameter] = ()
) -> typer.Exit:
    """Print an error with the command to try, if known, and return what ends it."""
    remedy = corrected_command(screen.arguments, fixes)
    if screen.as_json:
        document: Payload = {"error": message, "exit_code": code}
        if remedy:
            document["try"] = remedy
        print(json.dumps(document))
    typer.echo(f"error: {message}", err=True)
    if remedy:
        typer.echo(f"Try:\n  {remedy}", err=True)
    return typer.Exit(code)


def in_options(message: str | BaseException) -> str:
    """Return a text, warning or error with options in place of parameters."""
    if isinstance(message, OSError) and message.filename:
        return f"{message.filename}: {message.strerror}"
    text: object = message
    if isinstance(message, BaseException) and message.args:
        text = message.args[0]
    if isinstance(text, Message):
        # It names parameters, which are options here.
        return text.spelled(_typed)
    return str(message)


def _typed(parameter: Parameter) -> str:
    """Return a parameter as an option, with its value if it has one."""
    words = [_option(parameter)]
    if parameter.value is not None:
        words.append(str(parameter.value))
    return shlex.join(words)


def _option(parameter: Parameter) -> str:
    return OPTIONS.get(parameter.name, option_of(parameter.name))


def corrected_command(
    arguments: Sequence[str], fixes: Sequence[Parameter]
) -> str | None:
    """Return the complete command with some changes, for the shell.

    None without any changes.
    """
    if not fixes or not arguments:
        return None
    words = list(arguments)
    for fix in fixes:
        option = _option(fix)
        value = str(fix.value)
        # A value is replaced, or the option is added unless it is there already.
        if fix.old is not None:
            words = _replaced(words, option, fix.old, value)
        elif (option, value) not in pairwise(words):
            words += [option, value]
    return shlex.join(["drsvm", *words])


def _replaced(words: list[str], option: str, old: str, new: str) -> list[str]:
    """Return words with a new value of an option, or without the old one.

    The option is added if it was not given, unless the new value is empty.
    """
    changed: list[str] = []
    found = False
    waiting = iter(words)
    for word in waiting:
        name, equals, value = word.partition("=")
        if name != option:
            changed.append(word)
            continue
        if not equals:
            # --option value, otherwise --option=value
            value = next(waiting, "")
        # A value may be a list, or a single name with a comma in it.
        entries = [value] if value == old else value.split(",")
        kept = []
        for entry in entries:
            if entry.strip() == old:
                found = True
                entry = new
            if entry:
                kept.append(entry)
        if kept:
            changed += [option, ",".join(kept)]
    if found or not new:
        return changed
    return [*changed, option, new]
