"""Messages with the options of the command line, and the command that a user should have typed."""

import shlex
from collections.abc import Sequence
from contextvars import ContextVar
from itertools import pairwise

from drsvm.messages import Message, Parameter

ARGUMENTS: ContextVar[tuple[str, ...]] = ContextVar("arguments", default=())  # the arguments of the current command
OPTIONS = {"WassersteinSVCCV": "--cv", "folder": "--spool"}  # options that do not have the name of the parameter


def in_options(message: str | BaseException) -> str:
    """Return a text, warning or error with options in place of parameters."""
    if isinstance(message, OSError) and message.filename:
        return f"{message.filename}: {message.strerror}"
    text = next(iter(message.args), None) if isinstance(message, BaseException) else message
    return text.spelled(_typed) if isinstance(text, Message) else str(message)


def _typed(parameter: Parameter) -> str:
    value = () if parameter.value is None else (str(parameter.value),)
    return shlex.join([_option(parameter), *value])


def _option(parameter: Parameter) -> str:
    return OPTIONS.get(parameter.name, f"--{parameter.name.replace('_', '-')}")


def corrected_command(fixes: Sequence[Parameter]) -> str | None:
    """Return the complete command with some changes, for the shell; None if there are none."""
    arguments = list(ARGUMENTS.get())
    if not fixes or not arguments:
        return None
    for fix in fixes:
        option, value = _option(fix), str(fix.value)
        if fix.old is not None:
            arguments = _replaced(arguments, option, fix.old, value)
        elif (option, value) not in pairwise(arguments):
            arguments += option, value
    return shlex.join(["drsvm", *arguments])


def _replaced(arguments: list[str], option: str, old: str, new: str) -> list[str]:
    """Return arguments in which a value of an option is replaced, or removed if the new one is empty."""
    found: list[str] = []
    waiting = iter(arguments)
    for argument in waiting:
        name, equals, value = argument.partition("=")
        if name != option:
            found.append(argument)
            continue
        value = value if equals else next(waiting, "")
        values = [value] if value == old else value.split(",")
        kept = [new if one.strip() == old else one for one in values]
        if any(kept):
            found += [option, ",".join(one for one in kept if one)]
    return found if option in arguments or f"{option}={old}" in arguments or not new else [*found, option, new]
