"""Functions with groups of options as commands of typer."""

import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import wraps
from typing import Any

import typer

from drsvm.cli.screen import Screen, reported_errors
from drsvm.progress import following


def command(function: Callable[..., int | None]) -> Callable[..., None]:
    """Turn a function with groups of options into one with a parameter per option, as typer needs it."""
    signature = inspect.signature(function)
    groups: dict[str, Any] = {
        name: entry.annotation for name, entry in signature.parameters.items() if is_dataclass(entry.annotation)
    }
    parameters = [
        part
        for name, entry in signature.parameters.items()
        for part in (_parameters(groups[name]) if name in groups else [entry.replace(kind=entry.KEYWORD_ONLY)])
    ]

    @wraps(function)
    def run(**given):
        built = {
            name: group(**{part.name: given.pop(part.name) for part in _parameters(group)})
            for name, group in groups.items()
        }
        screen = next(group for group in built.values() if isinstance(group, Screen))
        with reported_errors(screen), following(message=screen.whisper):
            code = function(**given, **built)
        if code:
            raise typer.Exit(code)

    run.__signature__ = signature.replace(parameters=parameters, return_annotation=None)  # type: ignore[attr-defined]
    run.__annotations__ = {part.name: part.annotation for part in parameters}
    return run


def _parameters(group: Any) -> list[inspect.Parameter]:
    kind = inspect.Parameter.KEYWORD_ONLY
    return [
        inspect.Parameter(entry.name, kind, default=entry.default, annotation=entry.type)
        for entry in fields(group)
        if entry.init
    ]
