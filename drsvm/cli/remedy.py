"""The command that a user should have typed."""

import shlex
from collections.abc import Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # it would import numpy, and take long
    from drsvm.datasets.files import Fix

ARGUMENTS: ContextVar[tuple[str, ...]] = ContextVar("arguments", default=())
"""The arguments of the current command."""


def corrected_command(fixes: "Sequence[Fix]") -> str | None:
    """Return the complete command with some changes, for the shell; None if there are none."""
    arguments = list(ARGUMENTS.get())
    if not fixes or not arguments:
        return None
    for fix in fixes:
        if fix.add:
            arguments += () if _contains(arguments, fix.add) else fix.add
        elif fix.option is not None:
            arguments = _replaced(arguments, fix.option, fix.old, fix.new)
    return shlex.join(["drsvm", *arguments])


def _contains(arguments: list[str], pair: tuple[str, ...]) -> bool:
    width = len(pair)
    return any(tuple(arguments[k : k + width]) == pair for k in range(len(arguments)))


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
