"""The application of typer, with all commands."""

from functools import partial
from typing import Annotated

import typer
from typer.core import TyperGroup

import drsvm
from drsvm.cli import (
    audit_command,
    drift_command,
    export_command,
    fit_command,
    labels_command,
    predict_command,
    report_command,
)
from drsvm.cli.screen import Screen, reported_errors
from drsvm.utils.progress import following

ABOUT = """Train, apply and audit classifiers that are robust to wrong labels and
shifted features.

Files may be CSV, Parquet, svmlight, JSON lines or Excel; text may be compressed (.gz,
.bz2, .xz, .zst), and a folder of CSV or Parquet files is one table. Use - to read from
standard input. Results go to standard output, notes to standard error.
"""

EXAMPLES = """To get started with your own table:

\b
drsvm fit customers.csv --label churned --model churn.drsvm
drsvm predict churn.drsvm new_customers.csv --output predictions.csv
drsvm report customers.csv --label churned --output report.html

Exit codes: 0 done, 1 the tolerance was not reached, 2 bad input, 3 reached for limited
weights only, 4 rows have moved (drift --fail-above), 130 interrupted.
"""


class Commands(TyperGroup):
    """The commands, all of which have a screen, report errors and return exit codes."""

    def parse_args(self, ctx, args):
        # Typer passes the screen on to the function of the command.
        ctx.obj = Screen(tuple(args))
        return super().parse_args(ctx, args)

    def invoke(self, ctx):
        # Delays are explained on standard error, even with --json.
        explain = partial(typer.echo, err=True)
        # The options of the command are parsed in here, so that an error which one of
        # their callbacks raises is reported like any other.
        with reported_errors(ctx.obj), following(message=explain):
            code = super().invoke(ctx)
        if code:
            raise typer.Exit(code)


def _flowing(text: str) -> str:
    """Join each paragraph into one line, for the terminal to wrap."""
    paragraphs = text.split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


app = typer.Typer(
    cls=Commands,
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


Version = Annotated[
    bool,
    typer.Option(
        "--version",
        callback=_show_version,
        is_eager=True,
        help="Print the version.",
        metavar="",
    ),
]


# Options of drsvm itself, in front of the name of a command
@app.callback()
def _common(version: Version = False) -> None:
    pass


for command, examples in (
    (fit_command.fit, fit_command.EXAMPLES),
    (predict_command.predict, predict_command.EXAMPLES),
    (export_command.export, export_command.EXAMPLES),
    (audit_command.audit, audit_command.EXAMPLES),
    (drift_command.drift, drift_command.EXAMPLES),
    (labels_command.labels, labels_command.EXAMPLES),
    (report_command.report, report_command.EXAMPLES),
):
    # \b keeps the lines as they are.
    shown = "\b\nExamples:\n  " + examples.replace("\n", "\n  ")
    app.command(help=_flowing(command.__doc__ or ""), epilog=shown)(command)
