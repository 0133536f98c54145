"""The report on a classifier of the rows of a file, with next steps as commands."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from itertools import chain
from pathlib import Path

import typer

from drsvm.cli.choose_kernel import choose_kernel
from drsvm.cli.command_files import STANDARD
from drsvm.cli.options import option_of, typed
from drsvm.cli.screen import Screen, in_options
from drsvm.cli.settings import KernelChoice, Settings
from drsvm.cli.time_order import about_outside, time_order
from drsvm.cli.training_rows import (
    Prepared,
    TrainTestRows,
    about_clipped,
    costs_and_signs,
    names_of_features,
    prepare,
)
from drsvm.report.inputs import Given, NextStep, Source
from drsvm.report.report import Report, report_on
from drsvm.report.verdict import Alternative
from drsvm.tables import ReadOptions
from drsvm.utils.clock import TimeLimit

# Longer texts are no names of rows.
MAX_NAME = 40
# The next command reads the file with the same options, and may have the same settings
# of the classifier, which are all other options but these. `format` may be that of the
# file or that of the report: it is not repeated as it was typed.
READING = {field.name for field in fields(ReadOptions)} - {"format"}
# Rows in the order of time stay in it.
READING.add("test_last")
NOT_REPEATED = (
    "file",
    "format",
    "test_size",
    "test",
    "seed",
    "title",
    "output",
    "as_json",
)
# The command and its options for each action of `drsvm.report.inputs.NextStep`
COMMANDS = {
    "report": ("report",),
    "fit": ("fit", "--model", "model.drsvm"),
    "cross-validate": ("fit", "--cv", "--model", "model.drsvm"),
    "check labels": ("labels", "--csv", "labels.csv"),
}


@dataclass(frozen=True, eq=False, kw_only=True)
class CommandSource(Source):
    """A file, and the words for a reader at the command line.

    Attributes
    ----------
    typed_file : the file as it was typed
    reading : options about how to read it, by name
    settings : options about the classifier
    """

    typed_file: str
    reading: Settings
    settings: Settings

    def wording(self, message: str | BaseException) -> str:
        return in_options(message)

    def command(self, step: NextStep) -> str:
        if step.action == "none":
            return ""
        verb, *options = COMMANDS[step.action]
        reading = dict(self.reading)
        if verb == "labels":
            # Without a test; what is no feature of the others is none here.
            reading.pop("test_last", None)
            not_a_feature = reading.pop("test_by", None)
            reading["drop"] = [*reading.get("drop", ()), not_a_feature]
        words = ["drsvm", verb, self.typed_file, *_typed(reading)]
        if step.keeps_settings:
            words += _typed(self.settings)
        return shlex.join([*words, *_typed(step.changes), *options])

    def setting(self, alternative: Alternative) -> str:
        return typed(alternative.option, alternative.value)


def report_on_file(
    parts: TrainTestRows,
    settings: Settings,
    standardise: bool,
    kernel: KernelChoice,
    source: Source,
    *,
    title: str,
    positive: object,
    screen: Screen,
) -> Report:
    """Choose the kernel if that is wanted, and make the report."""
    prepared = prepare(parts, standardise=standardise)
    screen.note(*about_clipped(prepared, parts))
    order, notes = time_order(parts, prepared)
    screen.note(*notes)
    time = TimeLimit.of(settings["max_time"])
    if kernel.kernel == "auto":
        choice = choose_kernel(kernel, settings, parts, prepared, order, time, screen)
        kernel = replace(kernel, kernel=choice["kernel"])
        source = replace(source, choice=choice)
    if time.limited:
        # What the trial of the kernel took is part of the time.
        settings = {**settings, "max_time": max(time.left(), 1e-3)}
    if kernel.kernel != "linear":
        screen.note(*about_outside(parts, prepared))
    # What was noted about the file so far stands in the report, too.
    source = replace(source, notes=list(screen.notes))
    kind, settings = kernel.kind_and_settings(settings)
    model = kind(**settings, **costs_and_signs(parts, prepared))
    given = _given(parts, prepared, standardise, source)
    with screen.progress("report"), screen.warnings_as_notes():
        return report_on(model, given, title=title, positive=positive, progress=None)


def _given(
    parts: TrainTestRows, prepared: Prepared, standardise: bool, source: Source
) -> Given:
    """Return the rows of a report with the names of rows and features."""
    row_names = list(map(str, parts.row_numbers.tolist()))
    row_note = (
        "Rows are numbered like the rows of the file, from 1, not counting the header."
    )
    ids = parts.ids
    longest = max(map(len, chain(*ids.values())), default=0)
    if ids and longest <= MAX_NAME:
        row_names = [" / ".join(texts) for texts in zip(*ids.values(), strict=True)]
        row_note = f"Rows are named by {', '.join(ids)}."
    return Given(
        X=prepared.X,
        y=parts.y,
        X_test=prepared.X_test,
        y_test=parts.y_test,
        test_size=0.0,
        feature_names=prepared.names or names_of_features(parts.data.schema),
        row_names=row_names,
        row_note=row_note,
        label=parts.data.schema.label,
        standardise=False,
        scaled=prepared.scaled(standardise),
        columns=prepared.columns,
        source=source,
    )


def source_of(
    context: typer.Context, format: str | None, parts: TrainTestRows
) -> CommandSource:
    """Return where the data come from, with the command line's words for the report.

    `format` is that of the file, if it was given.
    """
    # Older versions of typer have the text that was given.
    file = Path(context.params["file"])
    reading: Settings = {}
    settings: Settings = {}
    for option in context.command.params:
        name = str(option.name)
        value = context.params.get(name)
        if name in NOT_REPEATED or value in (option.default, (), None):
            continue
        if name in READING:
            reading[name] = value
        else:
            settings[name] = value
    reading["format"] = format
    if parts.positive is None:
        # Of several classes, `fit` takes no positive one.
        settings.pop("positive", None)

    # A pipe is gone.
    is_there = file != STANDARD and (file.is_file() or file.is_dir())
    return CommandSource(
        file if is_there else None,
        leaky_columns=parts.data.leaky_columns,
        typed_file=str(file),
        reading=reading,
        settings=settings,
    )


def _typed(values: Mapping[str, object]) -> list[str]:
    """Return options as words of a command."""
    words: list[str] = []
    for name, value in values.items():
        if isinstance(value, bool):
            # A switch has no value: --header or --no-header.
            switch = name if value else f"no_{name}"
            words.append(option_of(switch))
            continue
        entries = value if isinstance(value, list | tuple) else [value]
        for entry in entries:
            if entry is not None:
                words += [option_of(name), str(entry)]
    return words
