"""``drsvm predict``: labels and decision values for the rows of a file."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from drsvm.cli import options as opt
from drsvm.cli.screen import Payload, Screen

EXAMPLES = """\
drsvm predict churn.drsvm new_customers.csv --output predictions.csv
drsvm predict churn.drsvm new_customers.csv --probability \
--sort probability --keep name,branch
drsvm predict churn.drsvm new_customers.csv --explain 3 --sort distance
drsvm predict churn.drsvm last_year.csv --json
zcat log.csv.gz | drsvm predict churn.drsvm - > predictions.csv"""

Keep = Annotated[
    opt.Texts,
    opt.output(
        help="Columns of the file to write next to the predictions, besides the ids: "
        "a,b,c, or repeat the option.",
        metavar="TEXT",
    ),
]
Probability = Annotated[
    bool,
    opt.output(
        "--probability",
        help="Also write probabilities: of the positive class, or of each of several. "
        "The predicted class has the largest one.",
        metavar="",
    ),
]
Explain = Annotated[
    int | None,
    opt.output(
        help="Also write the largest reasons of each prediction, this many, and how "
        "far the row is from another prediction.",
        metavar="NUMBER",
        min=1,
    ),
]
Sort = Annotated[
    str | None,
    opt.output(
        help="Sort by a column of the output: decisions and probabilities from the "
        "largest, others from the smallest. Default: as in the file.",
        metavar="COLUMN",
    ),
]
PredictionFile = Annotated[
    Path | None, opt.output(help="CSV file for the predictions. Default: print them.")
]


def predict(
    context: typer.Context,
    model: opt.ModelFile,
    file: opt.DataFile,
    label: opt.Label = None,
    format: opt.Format = None,
    delimiter: opt.Delimiter = None,
    header: opt.Header = None,
    missing: opt.Missing = None,
    missing_values: opt.MissingValues = None,
    decimal: opt.Decimal = None,
    keep: Keep = None,
    probability: Probability = False,
    explain: Explain = None,
    sort: Sort = None,
    output: PredictionFile = None,
    as_json: opt.AsJson = False,
) -> None:
    """Apply a saved model to a file: predictions as CSV, and scores if it has labels.

    Rows are numbered from 1, not counting the header, and have the ids that the
    training file had.
    """
    from drsvm.cli.command_files import STANDARD, check_outputs, csv_text
    from drsvm.cli.settings import read_options
    from drsvm.cli.training_rows import load_for_model
    from drsvm.utils.writing import write_files

    screen: Screen = context.obj
    # - is standard output, where predictions go anyway.
    if output == STANDARD:
        output = None
    check_outputs([output], [model, file])
    options = read_options(context.params, unlabelled=True)
    saved, dataset = load_for_model(model, file, options, screen)
    # Not before: errors come quickly.
    from drsvm.cli.prediction_table import Predictions, sorted_by

    if probability and not hasattr(saved.model, "predict_proba"):
        raise ValueError(
            f"{model}: has no probabilities: train it again with drsvm fit, or with "
            "calibration='sigmoid'."
        )
    predictions = Predictions(saved, dataset)
    screen.note(*predictions.notes())
    columns = sorted_by(predictions.columns(probability, explain), sort)
    payload = {
        "command": "predict",
        "model": model,
        "file": file,
        **predictions.summary(),
        "output": output,
    }
    if output is not None:
        write_files({output: csv_text(columns).encode()})
    elif screen.as_json:
        payload["predictions"] = columns
    else:
        sys.stdout.write(csv_text(columns))
    # Text goes to standard error if the predictions go to standard output.
    legend = predictions.legend(probability, explain is not None)
    screen.finish(payload, _text(payload, legend), stderr=output is None)


def _text(payload: Payload, legend: list[str]) -> str:
    from drsvm.audit.performance import IF_NEW, by_class, interval_line, summary
    from drsvm.utils.messages import counted

    counts = payload["predicted"].items()
    predicted = ", ".join(f"{label} ({count:,})" for label, count in counts)
    rows = counted(payload["rows"], "row")
    lines = [f"{rows}, predicted {predicted}", *legend]
    figures = payload["scores"]
    if figures:
        lines += [summary(figures), interval_line(figures, IF_NEW), *by_class(figures)]
    if payload["output"]:
        lines.append(f"predictions in {payload['output']}")
    return "\n".join(lines)
