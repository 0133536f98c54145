"""``drsvm report``: a page about a classifier, what an adversary could do to it, and what to do next."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING

from drsvm.cli import options as opt
from drsvm.cli.screen import Screen, exit_code, in_options

if TYPE_CHECKING:
    from drsvm.report import Report
    from drsvm.report.inputs import Source
    from drsvm.tables import Dataset

EXAMPLES = """drsvm report customers.csv --label churned --output report.html
drsvm report customers.csv --label churned --kernel linear --format md
drsvm report train.csv --test test.csv --radius 0.1 --title "Churn, spring" --output churn.html"""

MAX_NAME = 40  # of a row: longer texts are no ids
WRITTEN = ("html", "md", "json")
READ = ("csv", "parquet", "svmlight")


@dataclass(frozen=True)
class ReportOptions(opt.DataOptions):
    """How to read the file and to write the report: `--format` is either, as no format is of both kinds."""

    format: list[str] | None = opt.reading(  # pyright: ignore[reportIncompatibleVariableOverride]
        "Of the report: html, md or json; of the file: csv, parquet or svmlight. Default: by their names."
    )

    def reading(self) -> opt.DataOptions:
        return opt.DataOptions(**{**vars(self), "format": self._chosen(READ)})

    def written(self, output: Path | None) -> tuple[str, Path]:
        for name in self.format or ():
            opt.check_choice("--format", name, (*WRITTEN, *READ))
        wanted = self._chosen(WRITTEN)
        if output is None:
            return wanted or "html", Path(f"drsvm-report.{wanted or 'html'}")
        ending = output.suffix.lower().removeprefix(".")
        named = "html" if ending == "htm" else ending
        if named not in WRITTEN or wanted not in (None, named):
            ends = f".{wanted}" if wanted else ".html, .md or .json"
            raise ValueError(f"{output}: the name of this report must end in {ends}.")
        return named, output

    def _chosen(self, names: tuple[str, ...]) -> str | None:
        return next((name for name in self.format or () if name in names), None)


def report(
    file: opt.DataFile,
    data: ReportOptions,
    split: opt.SplitOptions,
    ball: opt.BallOptions,
    prices: opt.PriceOptions,
    kernel: opt.KernelChoice,
    screen: Screen,
    radius: str | None = opt.RADIUS,
    positive: str | None = opt.POSITIVE,
    class_weight: str | None = opt.CLASS_WEIGHT,
    threshold: str | None = opt.THRESHOLD,
    costs: str | None = opt.COSTS,
    title: str | None = opt.output("Title of the page."),
    output: Path | None = opt.output(
        "The file: .html, .md or .json. Default: drsvm-report.html.", metavar="OUT"
    ),
) -> int:
    """Train a classifier and write a report: held-out figures, what to do next, proof, worst case, data for auditors.

    A quarter of the rows is held out unless --test or --test-size is given (--test-size
    0: none). Rows are named by the id column, otherwise numbered like the rows of the
    file, from 1, as in predict. The exit code is 1 if the tolerance was not reached, 3
    if it was for limited weights only.
    """
    from drsvm.cli import tasks as work
    from drsvm.cli.files import check_outputs, name_of

    format, output = data.written(output)
    check_outputs([output], [file, split.test])
    split.check()
    for_weights = kernel.check(ball, prices.of_columns(), radius)
    settings = {**ball.ball(radius), **ball.run(), **prices.intercept()}
    settings |= {
        "random_state": split.seed,
        **opt.chosen_classes_and_threshold(class_weight, threshold, costs),
    }
    options = data.reading()
    wanted = options.read_options(mentioned=prices.mentioned(), name_rows=True)
    whole = work.load_parts(file, wanted, screen, split.test)
    several = len(set(whole.y.tolist())) > 2  # one of them is shown against the rest
    if several:
        whole = whole
    else:
        whole = work.with_positive(whole, positive)
    settings = work.by_label(settings, whole.y, screen)
    parts = work.held_out(whole, split, screen) or whole
    if several and positive:
        shown = work.label_called(parts.y, positive)
    else:
        shown = parts.positive
    named = {
        "radius": radius,
        "class_weight": class_weight,
        "threshold": threshold,
        "costs": costs,
    }
    named |= {"positive": None if several else positive}
    typed = [
        *_typed(named),
        *(word for group in (ball, prices, kernel) for word in _typed(_changed(group))),
    ]
    source = _source(file, [str(file), *_typed(_changed(options))], typed, parts.data)
    title = title or name_of(parts.data.path)
    made = _made(
        parts,
        settings,
        ball.standardise,
        kernel,
        for_weights,
        source,
        title,
        shown,
        screen,
    )
    made.save(output, format)
    code = exit_code(
        certificate["status"] for certificate in made.summary["certificates"]
    )
    payload = {
        "command": "report",
        "file": file,
        "output": output,
        "proven": code == 0,
        "summary": made.summary,
    }
    warnings = (
        made.summary[name]
        for name in ("warning", "tell_tale", "noise", "guess", "moved")
    )
    lines = [
        *filter(None, warnings),
        *(f"- {line}" for line in made.summary["in_plain_words"]),
    ]
    step = made.summary["next"]
    lines += [
        f"next: {step['command'] or step['why']}",
        f"report written to {output.resolve()}",
    ]
    screen.finish(payload, "\n".join(lines))
    return code


def _made(
    parts,
    settings,
    standardise: bool,
    kernel: opt.KernelChoice,
    for_weights,
    source,
    title: str,
    positive,
    screen,
) -> "Report":
    """Return the report; input errors come before these imports, which take long.

    `for_weights` is an option that asks for a linear classifier, if one was given.
    """
    from drsvm.cli import tasks as work
    from drsvm.cli.kernel_choice import choose
    from drsvm.report.inputs import Given
    from drsvm.report.report import report_on
    from drsvm.utils.clock import TimeLimit

    prepared = work.prepared(parts, standardise=standardise)
    screen.note(*work.about_clipped(prepared, parts))
    choice = None
    time = TimeLimit.of(settings["max_time"])
    if kernel.kernel == "auto":
        choice = choose(kernel, for_weights, settings, parts, prepared.X, time, screen)
        kernel = replace(kernel, kernel=choice["kernel"])
    # The trial is part of the time
    limit = {"max_time": max(time.left(), 1e-3) if time.limited else None}
    kind, settings = kernel.kind_and_settings({**settings, **limit})
    first = parts.data.schema.index_base
    # As in the svmlight file
    numbered = [f"feature {k}" for k in range(first, first + prepared.X.shape[1])]
    names = [str(row + 1) for row in parts.rows.tolist()]
    note = (
        "Rows are numbered like the rows of the file, from 1, not counting the header."
    )
    if (
        parts.ids
        and max(len(text) for texts in parts.ids.values() for text in texts) <= MAX_NAME
    ):
        names = [" / ".join(texts) for texts in zip(*parts.ids.values(), strict=True)]
        note = f"Rows are named by {', '.join(parts.ids)}."
    given = Given(
        X=prepared.X,
        y=parts.y,
        X_test=prepared.X_test,
        y_test=parts.y_test,
        test_size=0.0,
        feature_names=prepared.names or numbered,
        row_names=names,
        row_note=note,
        label=parts.data.schema.label,
        standardise=False,
        scaled=prepared.scaled(standardise),
        columns=prepared.columns,
        source=replace(source, notes=list(screen.notes), choice=choice),
    )
    model = kind(**settings, **work.feature_prices(parts, prepared))
    with screen.progress("report"), screen.warnings_as_notes():
        return report_on(model, given, title=title, positive=positive, progress=None)


def _source(
    file: Path, reading: list[str], settings: list[str], data: "Dataset"
) -> "Source":
    """Return where the data come from, with the words of the command line for warnings and the next step."""
    from drsvm.cli.files import STANDARD
    from drsvm.report.inputs import Source

    def command(step) -> str:
        if step.action == "none":
            return ""
        verb, *options = COMMANDS[step.action]
        kept = settings if step.keeps_settings else []
        return shlex.join(
            ["drsvm", verb, *reading, *kept, *_typed(step.changes), *options]
        )

    # a pipe is gone
    if file != STANDARD and (file.is_file() or file.is_dir()):
        known = file
    else:
        known = None
    words = {"wording": in_options, "command": command, "setting": attrgetter("typed")}
    return Source(known, leaky_columns=data.leaky_columns, **words)


COMMANDS = {  # for the actions of `drsvm.report.inputs.NextStep`, with their options
    "report": ("report",),
    "fit": ("fit", "--model", "model.drsvm"),
    "cross-validate": ("fit", "--cv", "--model", "model.drsvm"),
    "check labels": ("labels", "--csv", "labels.csv"),
}


def _changed(
    group: opt.DataOptions | opt.BallOptions | opt.PriceOptions | opt.KernelChoice,
) -> opt.Settings:
    return {
        one.name: value
        for one in fields(group)
        if (value := getattr(group, one.name)) != one.default
    }


def _typed(options: Mapping[str, object]) -> list[str]:
    words: list[str] = []
    for name, value in options.items():
        if isinstance(value, bool):
            words.append(opt.option_of(name if value else f"no_{name}"))
        elif value is not None:
            for entry in value if isinstance(value, list) else [value]:
                words += [opt.option_of(name), str(entry)]
    return words
