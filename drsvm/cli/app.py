"""The application, with all commands: functions whose groups of options become parameters, as typer needs them."""

import inspect
from collections.abc import Callable
from dataclasses import Field, fields, is_dataclass
from functools import partial, wraps
from typing import Annotated, Any

import typer

import drsvm
from drsvm.cli import audit, compare, drift, export, fit, labels, predict, report
from drsvm.cli.screen import Screen, reported_errors
from drsvm.utils.progress import following

ABOUT = """Train, apply and audit classifiers that are robust to wrong labels and shifted features.

Files may be CSV, Parquet or svmlight; CSV and svmlight may be compressed (.gz, .bz2, .xz, .zst), and a folder of CSV or
Parquet files is one table. Use - to read from standard input. Results go to standard output, notes to standard error.
"""

EXAMPLES = """To get started with your own table:

\b
drsvm fit customers.csv --label churned --model churn.drsvm
drsvm predict churn.drsvm new_customers.csv --output predictions.csv
drsvm report customers.csv --label churned --output report.html

Exit codes: 0 done, 1 the tolerance was not reached, 2 bad input, 3 reached for limited weights only,
4 rows have moved (drift --fail-above), 130 interrupted.
"""

# What help calls them, in place of the types
VALUES = {
    "bool": "",
    "str": "TEXT",
    "int": "NUMBER",
    "float": "NUMBER",
}


def _flowing(text: str) -> str:
    """Join each paragraph into one line, for the terminal to wrap."""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n"))


app = typer.Typer(
    help=_flowing(ABOUT),
    epilog=EXAMPLES,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"drsvm {drsvm.__version__}")
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_show_version,
            is_eager=True,
            help="Print the version.",
            metavar="",
        ),
    ] = False,
) -> None:
    pass


def _command(function: Callable[..., int | None]) -> Callable[..., None]:
    signature = inspect.signature(function)
    parameters = {
        name: _parameters(entry) for name, entry in signature.parameters.items()
    }
    annotations = {
        name: entry.annotation for name, entry in signature.parameters.items()
    }
    groups: dict[str, Any] = {
        name: kind for name, kind in annotations.items() if is_dataclass(kind)
    }

    @wraps(function)
    def run(**given):
        built = {
            name: group(
                **{part.name: given.pop(part.name) for part in parameters[name]}
            )
            for name, group in groups.items()
        }
        screen = next(group for group in built.values() if isinstance(group, Screen))
        # Delays are explained on standard error, even with --json.
        with reported_errors(screen), following(message=partial(typer.echo, err=True)):
            code = function(**given, **built)
        if code:
            raise typer.Exit(code)

    flat = [part for parts in parameters.values() for part in parts]
    run.__signature__ = signature.replace(parameters=flat, return_annotation=None)  # type: ignore[attr-defined]
    run.__annotations__ = {part.name: part.annotation for part in flat}
    return run


def _parameters(entry: inspect.Parameter) -> list[inspect.Parameter]:
    if is_dataclass(entry.annotation):
        declared = [
            (part.name, part.type, part)
            for part in fields(entry.annotation)
            if part.init
        ]
    elif isinstance(entry.default, Field):
        declared = [(entry.name, entry.annotation, entry.default)]
    else:
        return [entry.replace(kind=entry.KEYWORD_ONLY)]
    options = []
    for name, kind, part in declared:
        default = entry.empty if part.default is ... else part.default
        option = part.metadata["option"]
        if option.metavar is None:
            option.metavar = next(
                word for known, word in VALUES.items() if known in str(kind)
            )
        annotation = Annotated[kind, option]
        options.append(
            inspect.Parameter(
                name, entry.KEYWORD_ONLY, default=default, annotation=annotation
            )
        )
    return options


for module in (fit, predict, export, audit, drift, labels, compare, report):
    function = getattr(module, module.__name__.rpartition(".")[2])
    examples = "\b\nExamples:\n" + "\n".join(
        f"  {line}" for line in module.EXAMPLES.splitlines()
    )
    app.command(help=_flowing(function.__doc__), epilog=examples)(_command(function))
