"""``drsvm report``: a page about a classifier, its worst case, and what to do next."""

import shlex
from collections.abc import Mapping
from dataclasses import replace
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from drsvm.cli import options as opt
from drsvm.cli.screen import Payload, Screen, exit_code, in_options

if TYPE_CHECKING:
    from drsvm.cli.training_rows import Parts
    from drsvm.report.inputs import Given, NextStep, Source

EXAMPLES = """drsvm report customers.csv --label churned --output report.html
drsvm report customers.csv --label churned --kernel linear --format md
drsvm report train.csv --test test.csv --radius 0.1 --title "Churn, spring" --output churn.html"""  # noqa: E501

# Longer texts are no names of rows.
MAX_NAME = 40
# Formats of the report and of the file: none is of both kinds.
WRITTEN = ("html", "md", "json")
READ = ("csv", "parquet", "svmlight")
# Options about reading the file, which the command of the next step repeats, and those
# that it does not repeat; all others are settings of the classifier.
READING = (
    "label",
    "delimiter",
    "header",
    "missing",
    "missing_values",
    "features",
    "drop",
    "id",
    "categorical",
    "numeric",
    "decimal",
    "index_base",
    "max_features",
)
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

Formats = Annotated[
    opt.Texts,
    opt.reading(
        help="Of the report: html, md or json; of the file: csv, parquet or svmlight. "
        "Default: by their names."
    ),
]
Title = Annotated[str | None, opt.output(help="Title of the page.", metavar="TEXT")]
ReportFile = Annotated[
    Path | None,
    opt.output(
        help="The file: .html, .md or .json. Default: drsvm-report.html.",
    ),
]


def report(
    context: typer.Context,
    file: opt.DataFile,
    label: opt.Label = None,
    format: Formats = None,
    delimiter: opt.Delimiter = None,
    header: opt.Header = None,
    missing: opt.Missing = None,
    missing_values: opt.MissingValues = None,
    features: opt.Features = None,
    drop: opt.Drop = None,
    id: opt.Id = None,
    categorical: opt.Categorical = None,
    numeric: opt.Numeric = None,
    decimal: opt.Decimal = None,
    index_base: opt.IndexBase = None,
    max_features: opt.MaxFeatures = opt.MAX_FEATURES,
    positive: opt.Positive = None,
    test_size: opt.TestSize = None,
    test: opt.TestFile = None,
    seed: opt.SplitSeed = 0,
    radius: opt.Radius = None,
    flip_cost: opt.FlipCost = None,
    norm: opt.Norm = "2",
    l2: opt.Ridge = None,
    intercept: opt.Intercept = True,
    standardise: opt.Standardise = True,
    class_weight: opt.ClassWeight = None,
    threshold: opt.Threshold = None,
    costs: opt.Costs = None,
    kernel: opt.AutomaticKernel = "auto",
    gamma: opt.Gamma = None,
    solver: opt.Solver = "auto",
    tol: opt.Tol = None,
    max_iter: opt.MaxIter = None,
    max_time: opt.MaxTime = None,
    trust_column: opt.TrustColumn = None,
    increasing: opt.Increasing = None,
    decreasing: opt.Decreasing = None,
    intercept_cost: opt.InterceptCost = None,
    title: Title = None,
    output: ReportFile = None,
    as_json: opt.AsJson = False,
) -> int:
    """Train a classifier and write a report: figures, next step, proof, worst case.

    A quarter of the rows is held out unless --test or --test-size is given (--test-size
    0: none). Rows are named by the id column, otherwise numbered like the rows of the
    file, from 1, as in predict. The exit code is 1 if the tolerance was not reached, 3
    if it was for limited weights only.
    """
    from drsvm.cli.class_labels import by_label, label_called
    from drsvm.cli.command_files import check_outputs, name_of
    from drsvm.cli.training_rows import Split, held_out, load_parts

    screen: Screen = context.obj
    given = context.params
    written, output = _format_and_file(format or [], output)
    read = _one_of(format or [], READ)
    check_outputs([output], [file, test])
    split = Split(test_size, test, seed)
    choice, for_weights = opt.kernel_choice(given)
    settings = opt.classifier_settings(given)
    settings["random_state"] = seed
    options = opt.read_options(
        {**given, "format": read},
        mentioned=opt.mentioned_columns(given),
        name_rows=True,
    )
    whole = load_parts(file, options, screen, test)
    # One of several classes is shown against the rest.
    n_classes = len(set(whole.y.tolist()))
    if n_classes == 2:
        whole = whole.with_positive(positive)
    settings = by_label(settings, whole.y, screen)
    parts = held_out(whole, split, screen) or whole
    shown = parts.positive
    if n_classes > 2 and positive:
        shown = label_called(parts.y, positive)

    reading, repeated = _changed(context)
    if n_classes > 2:
        # Of several classes, `fit` takes no positive one.
        repeated.pop("positive", None)
    reading["format"] = read
    source = _source(file, [str(file), *_typed(reading)], _typed(repeated))
    source = replace(source, leaky_columns=parts.data.leaky_columns)
    made = _report(
        parts,
        settings,
        standardise,
        choice,
        for_weights,
        source,
        title=title or name_of(parts.data.path),
        positive=shown,
        screen=screen,
    )
    made.save(output, written)
    code = exit_code(proof["status"] for proof in made.summary["certificates"])
    payload = {
        "command": "report",
        "file": file,
        "output": output,
        "proven": code == 0,
        "summary": made.summary,
    }
    screen.finish(payload, _text(made.summary, output))
    return code


def _format_and_file(formats: list[str], output: Path | None) -> tuple[str, Path]:
    """Return the format of the report and the file."""
    for name in formats:
        opt.check_choice("--format", name, (*WRITTEN, *READ))
    wanted = _one_of(formats, WRITTEN)
    if output is None:
        wanted = wanted or "html"
        return wanted, Path(f"drsvm-report.{wanted}")
    ending = output.suffix.lower().removeprefix(".")
    named = "html" if ending == "htm" else ending
    if named not in WRITTEN or wanted not in (None, named):
        ends = f".{wanted}" if wanted else ".html, .md or .json"
        raise ValueError(f"{output}: the name of this report must end in {ends}.")
    return named, output


def _one_of(formats: list[str], kinds: tuple[str, ...]) -> str | None:
    for name in formats:
        if name in kinds:
            return name
    return None


def _report(
    parts: "Parts",
    settings: opt.Settings,
    standardise: bool,
    kernel: opt.KernelChoice,
    for_weights: str | None,
    source: "Source",
    *,
    title: str,
    positive: object,
    screen: Screen,
):
    """Choose the kernel if that is wanted, and make the report.

    `for_weights` is an option that asks for a linear classifier, if one was given.
    """
    # Errors in the input come before these imports, which take long.
    from drsvm.cli.choose_kernel import choose_kernel
    from drsvm.cli.training_rows import about_clipped, costs_and_signs, prepare
    from drsvm.report.report import report_on
    from drsvm.utils.clock import TimeLimit

    prepared = prepare(parts, standardise=standardise)
    screen.note(*about_clipped(prepared, parts))
    time = TimeLimit.of(settings["max_time"])
    if kernel.kernel == "auto":
        choice = choose_kernel(
            kernel, for_weights, settings, parts, prepared.X, time, screen
        )
        kernel = replace(kernel, kernel=choice["kernel"])
        source = replace(source, choice=choice)
    if time.limited:
        # The trial is part of the time.
        settings = {**settings, "max_time": max(time.left(), 1e-3)}
    source = replace(source, notes=list(screen.notes))
    kind, settings = kernel.kind_and_settings(settings)
    model = kind(**settings, **costs_and_signs(parts, prepared))
    given = _given(parts, prepared, standardise, source)
    with screen.progress("report"), screen.warnings_as_notes():
        return report_on(model, given, title=title, positive=positive, progress=None)


def _given(parts: "Parts", prepared, standardise: bool, source: "Source") -> "Given":
    """Return the rows of a report with the names of rows and features."""
    from drsvm.report.inputs import Given

    names = prepared.names
    if names is None:
        # As in the svmlight file
        first = parts.data.schema.index_base
        last = first + prepared.X.shape[1]
        names = [f"feature {number}" for number in range(first, last)]
    row_names = [str(row + 1) for row in parts.rows.tolist()]
    row_note = (
        "Rows are numbered like the rows of the file, from 1, not counting the header."
    )
    texts = list(parts.ids.values())
    if texts and max(len(text) for ids in texts for text in ids) <= MAX_NAME:
        row_names = [" / ".join(ids) for ids in zip(*texts, strict=True)]
        row_note = f"Rows are named by {', '.join(parts.ids)}."
    return Given(
        X=prepared.X,
        y=parts.y,
        X_test=prepared.X_test,
        y_test=parts.y_test,
        test_size=0.0,
        feature_names=names,
        row_names=row_names,
        row_note=row_note,
        label=parts.data.schema.label,
        standardise=False,
        scaled=prepared.scaled(standardise),
        columns=prepared.columns,
        source=source,
    )


def _source(file: Path, reading: list[str], settings: list[str]) -> "Source":
    """Return where the data come from, with the command line's words for the report."""
    from drsvm.cli.command_files import STANDARD
    from drsvm.report.inputs import Source

    def command(step: "NextStep") -> str:
        if step.action == "none":
            return ""
        verb, *options = COMMANDS[step.action]
        kept = settings if step.keeps_settings else []
        changes = _typed(step.changes)
        return shlex.join(["drsvm", verb, *reading, *kept, *changes, *options])

    # A pipe is gone.
    is_there = file != STANDARD and (file.is_file() or file.is_dir())
    return Source(
        file if is_there else None,
        wording=in_options,
        command=command,
        setting=attrgetter("typed"),
    )


def _changed(context: typer.Context) -> tuple[opt.Settings, opt.Settings]:
    """Return the options about reading and other ones that are not their defaults."""
    reading: opt.Settings = {}
    settings: opt.Settings = {}
    for option in context.command.params:
        name = str(option.name)
        value = context.params.get(name)
        if name in NOT_REPEATED or value in (option.default, (), None):
            continue
        if name in READING:
            reading[name] = value
        else:
            settings[name] = value
    return reading, settings


def _typed(values: Mapping[str, object]) -> list[str]:
    """Return options as words of a command."""
    words: list[str] = []
    for name, value in values.items():
        if isinstance(value, bool):
            words.append(opt.option_of(name if value else f"no_{name}"))
            continue
        entries = value if isinstance(value, list | tuple) else [value]
        for entry in entries:
            if entry is not None:
                words += [opt.option_of(name), str(entry)]
    return words


def _text(summary: Payload, output: Path) -> str:
    lines = []
    for name in ("warning", "tell_tale", "noise", "guess", "moved"):
        if summary[name]:
            lines.append(summary[name])
    for line in summary["in_plain_words"]:
        lines.append(f"- {line}")
    step = summary["next"]
    lines.append(f"next: {step['command'] or step['why']}")
    lines.append(f"report written to {output.resolve()}")
    return "\n".join(lines)
