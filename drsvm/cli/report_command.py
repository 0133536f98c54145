"""``drsvm report``: a page about a classifier, its worst case, and what to do next."""

from pathlib import Path
from typing import Annotated

import typer

from drsvm.cli import options as opt
from drsvm.cli.screen import Payload, Screen, exit_code

EXAMPLES = """\
drsvm report customers.csv --label churned --output report.html
drsvm report customers.csv --label churned --kernel linear --format md
drsvm report train.csv --test test.csv --radius 0.1 \
--title "Churn, spring" --output churn.html"""

# Formats of the report and of the file: none is of both kinds.
WRITTEN = ("html", "md", "json")
READ = ("csv", "parquet", "svmlight")

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
    opt.output(help="The file: .html, .md or .json. Default: drsvm-report.html."),
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
    test_last: opt.TestLast = None,
    test_by: opt.TestBy = None,
    test: opt.TestFile = None,
    seed: opt.SplitSeed = 0,
    radius: opt.Radius = None,
    row_radius: opt.RowRadius = None,
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
    landmarks: opt.Landmarks = "means",
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
    0: none); the last ones with --test-last or --test-by. Rows are named by the id
    column, otherwise numbered like the rows of the file, from 1, as in predict. The
    exit code is 1 if the tolerance was not reached, 3 if it was for limited weights
    only.
    """
    from drsvm.cli.class_labels import by_label, label_called
    from drsvm.cli.command_files import check_outputs, name_of
    from drsvm.cli.settings import (
        classifier_settings,
        kernel_choice,
        mentioned_columns,
        read_options,
    )
    from drsvm.cli.training_rows import Split, held_out, load_rows

    screen: Screen = context.obj
    given = context.params
    formats = format or []
    for name in formats:
        opt.check_choice("--format", name, (*WRITTEN, *READ))
    written, output = _format_and_file(_first_of(formats, WRITTEN), output)
    check_outputs([output], [file, test])
    split = Split(test_size, test, seed, test_last, test_by)
    kernel_chosen = kernel_choice(given)
    settings = classifier_settings(given)
    settings["random_state"] = seed
    read = {**given, "format": _first_of(formats, READ)}
    options = read_options(read, mentioned=mentioned_columns(given), name_rows=True)
    whole = load_rows(file, options, screen, test)
    # One of several classes is shown against the rest.
    is_binary = len(set(whole.y.tolist())) == 2
    if is_binary:
        whole = whole.with_positive(positive)
    settings = by_label(settings, whole.y, screen)
    parts = held_out(whole, split, screen) or whole
    shown = parts.positive
    if positive and not is_binary:
        shown = label_called(parts.y, positive)

    # Not before: these imports take long, and input errors should come quickly.
    from drsvm.cli.report_on_file import report_on_file, source_of

    page = report_on_file(
        parts,
        settings,
        standardise,
        kernel_chosen,
        source_of(context, read["format"], parts),
        title=title or name_of(parts.data.path),
        positive=shown,
        screen=screen,
    )
    page.save(output, written)
    code = exit_code(page.summary["certificates"])
    payload = {
        "command": "report",
        "file": file,
        "output": output,
        "proven": code == 0,
        "summary": page.summary,
    }
    screen.finish(payload, _text(page.summary, output))
    return code


def _first_of(formats: list[str], kinds: tuple[str, ...]) -> str | None:
    """Return the first format of a kind, if there is one."""
    for name in formats:
        if name in kinds:
            return name
    return None


def _format_and_file(wanted: str | None, output: Path | None) -> tuple[str, Path]:
    """Return the format of the report and the file."""
    if output is None:
        wanted = wanted or "html"
        return wanted, Path(f"drsvm-report.{wanted}")
    ending = output.suffix.lower().removeprefix(".")
    named = "html" if ending == "htm" else ending
    if named not in WRITTEN or wanted not in (None, named):
        ends = f".{wanted}" if wanted else ".html, .md or .json"
        raise ValueError(f"{output}: the name of this report must end in {ends}.")
    return named, output


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
